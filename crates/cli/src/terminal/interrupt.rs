//! Ctrl-C as a wish to see what there is so far.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::SIGINT;
use signal_hook::flag;

/// Whether somebody pressed Ctrl-C. The first time is a wish to end well; the second ends the program at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt {
    pressed: Arc<AtomicBool>,
}

impl Interrupt {
    /// Listens from now on. Where signals cannot be listened to, Ctrl-C ends the program as ever.
    pub(crate) fn listen() -> Self {
        let interrupt = Self::default();
        // In this order: the first Ctrl-C finds the flag down and only raises it.
        let _ = flag::register_conditional_shutdown(SIGINT, 130, Arc::clone(&interrupt.pressed));
        let _ = flag::register(SIGINT, Arc::clone(&interrupt.pressed));
        interrupt
    }

    /// Whether it was pressed.
    pub(crate) fn was_pressed(&self) -> bool {
        self.pressed.load(Ordering::Relaxed)
    }

    /// The flag itself, for what knows nothing of terminals.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.pressed)
    }

    /// Raises the flag by hand.
    #[cfg(test)]
    pub(crate) fn press(&self) {
        self.pressed.store(true, Ordering::Relaxed);
    }
}
