//! Ctrl-C while a question runs.

use crate::terminal::{self, CliError, Interrupt, exit_code};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How soon after Ctrl-C it is noticed.
const SOON: Duration = Duration::from_millis(50);

/// Listens from now on. The flag says that the question was charged and its answer not yet shown; who presses Ctrl-C is told what that means. Ending here is as
/// safe as a crash: an answer is shown after it is saved, and what is charged and not saved is finished by whoever asks again.
pub(super) fn listen(as_json: bool) -> Arc<AtomicBool> {
    let charged = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&charged);
    let interrupt = Interrupt::listen();
    // It ends with the program, whoever ends that first.
    std::thread::spawn(move || {
        while !interrupt.was_pressed() {
            std::thread::sleep(SOON);
        }
        terminal::tell(&interrupted(flag.load(Ordering::SeqCst)), as_json);
        std::process::exit(i32::from(exit_code::INTERRUPTED));
    });
    charged
}

fn interrupted(charged: bool) -> CliError {
    let error = if charged {
        CliError::bad_input("interrupted after the question was charged; what was charged stays charged")
            .with_hint("ask the same question again: it is finished under the same charge, and nothing is charged again")
    } else {
        CliError::bad_input("interrupted").with_hint(
            "`deniable budget` tells whether anything was charged; asking the same question again charges it once at most",
        )
    };
    error
        .with_code(exit_code::INTERRUPTED)
        .with_detail("charged", charged)
}
