//! Ctrl-C while a query runs.

use crate::terminal::{self, CliError, Interrupt, exit_code};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// How soon after Ctrl-C it is noticed.
const SOON: Duration = Duration::from_millis(50);

/// How far a query has come, as far as it matters to the person who interrupts it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Reached {
    /// It was not charged, or its answer was saved.
    Nothing,
    /// It was charged, and nothing was drawn.
    Charged,
    /// Noise is drawn for it.
    Drawing,
}

/// What the question's thread tells the listener.
#[derive(Clone)]
pub(crate) struct Watched(Arc<AtomicU8>);

impl Watched {
    pub(super) fn reached(&self, reached: Reached) {
        self.0.store(reached as u8, Ordering::SeqCst);
    }

    fn is(&self, reached: Reached) -> bool {
        self.0.load(Ordering::SeqCst) == reached as u8
    }
}

/// Listens from now on. Ctrl-C prints what it means at this stage of the query. Ending here is as safe as a
/// crash: an answer is shown after it is saved, and asking again finishes a query that is charged and not
/// drawn.
pub(crate) fn listen(as_json: bool) -> Watched {
    let watched = Watched(Arc::new(AtomicU8::new(Reached::Nothing as u8)));
    let seen = watched.clone();
    let interrupt = Interrupt::listen();
    // It ends with the program, whoever ends that first.
    std::thread::spawn(move || {
        while !interrupt.was_pressed() {
            std::thread::sleep(SOON);
        }
        terminal::tell(&interrupted(&seen), as_json);
        std::process::exit(i32::from(exit_code::INTERRUPTED));
    });
    watched
}

fn interrupted(watched: &Watched) -> CliError {
    let charged = !watched.is(Reached::Nothing);
    let error = if watched.is(Reached::Charged) {
        CliError::bad_input("interrupted after the question was charged; what was charged stays charged")
            .with_hint("ask the same question again: it is finished under the same charge, and nothing is charged again")
    } else if watched.is(Reached::Drawing) {
        CliError::bad_input("interrupted while noise was drawn; what was charged stays charged").with_hint(
            "ask the same question again: a saved answer costs nothing, but if it was not saved yet, it is charged again, since noise is drawn once under a charge",
        )
    } else {
        CliError::bad_input("interrupted").with_hint(
            "`deniable budget` tells whether anything was charged; asking the same question again charges it once at most",
        )
    };
    error
        .with_code(exit_code::INTERRUPTED)
        .with_detail("charged", charged)
}
