//! Ctrl-C, and the signal with which systems ask a program to end: both mean a wish to see the results so
//! far.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Whether somebody pressed Ctrl-C, or a system that shuts down or a scheduler sent SIGTERM. The first time
/// is a wish to end well; the second ends the program at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt {
    pressed: Arc<AtomicBool>,
}

impl Interrupt {
    /// Listens from now on. Where signals cannot be listened to, Ctrl-C ends the program as ever.
    pub(crate) fn listen() -> Self {
        let interrupt = Self::default();
        // Exit codes as shells tell them: 128 and the number of the signal.
        for (signal, code) in [(SIGINT, 130), (SIGTERM, 143)] {
            // In this order: the first signal finds the flag down and only raises it.
            let _ = flag::register_conditional_shutdown(signal, code, Arc::clone(&interrupt.pressed));
            let _ = flag::register(signal, Arc::clone(&interrupt.pressed));
        }
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
