//! Long work: it releases the interpreter's lock and reacts to Ctrl-C.

use crate::errors::Class;
use pyo3::prelude::*;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Runs `work` on a thread of its own and waits for it. When Python has a signal to handle and its handler
/// raises, as for Ctrl-C, that is returned at once and the work goes on by itself: a question that was
/// charged is finished and saved, and asking it again finds it.
pub(crate) fn waiting<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    watching(py, work, || Ok(()))
}

/// The same; `look` is called again and again while it waits, to show how far the work is.
pub(crate) fn watching<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
    mut look: impl FnMut() -> PyResult<()>,
) -> PyResult<T> {
    let (done, mut waits) = channel();
    std::thread::spawn(move || {
        // Nobody waits any more after Ctrl-C.
        let _ = done.send(work());
    });
    loop {
        // Borrowed mutably: a receiver may be sent to another thread, and not shared.
        let waits = &mut waits;
        match py.detach(move || waits.recv_timeout(BETWEEN_LOOKS)) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals()?;
                look()?;
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Class::Engine.raise(
                    "this failed inside, which is a defect of Deniable; what was charged stays charged\nhint: what it said may quote data and is not shown; set DENIABLE_PANICS=1 to see it, on data of your own",
                ));
            }
        }
    }
}

/// Keeps the words of a panic, which may quote data, out of notebooks and logs.
pub(crate) fn keep_panics_quiet() {
    if std::env::var_os("DENIABLE_PANICS").is_none() {
        std::panic::set_hook(Box::new(|_| ()));
    }
}
