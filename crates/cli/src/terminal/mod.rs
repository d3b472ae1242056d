//! What every command shares at the terminal: how it fails, prints, shows progress and writes files.
//!
//! Results go to standard output, and everything about the run to standard error. So a pipe carries results
//! alone.

mod file;
mod interrupt;

pub(crate) use file::{write_file_atomically, write_new_secret_file};
pub(crate) use interrupt::Interrupt;

use std::fmt;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The exit codes, all of them; 0 is done.
pub(crate) mod exit_code {
    /// Something went wrong in the program or the machine.
    pub(crate) const INTERNAL: u8 = 1;
    /// The command could not run as asked.
    pub(crate) const BAD_INPUT: u8 = 2;
    /// The budget or its ledger does not allow it.
    pub(crate) const REFUSED: u8 = 3;
    /// A check ran and failed.
    pub(crate) const CHECK_FAILED: u8 = 4;
    /// Somebody pressed Ctrl-C.
    pub(crate) const INTERRUPTED: u8 = 130;

    /// What programs call them.
    pub(crate) fn kind(code: u8) -> &'static str {
        match code {
            INTERNAL => "internal",
            REFUSED => "refused",
            CHECK_FAILED => "check_failed",
            INTERRUPTED => "interrupted",
            _ => "bad_input",
        }
    }
}

/// Why a command stops, in the words the person at the terminal reads. It never holds a data value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CliError {
    /// What went wrong and why.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
    /// The exit code: see [`exit_code`].
    pub(crate) code: u8,
    /// What a program may want to know besides, by name.
    pub(crate) details: Box<serde_json::Map<String, serde_json::Value>>,
}

impl CliError {
    /// Input that cannot be used: the command did not do what it was asked (exit code 2).
    pub(crate) fn bad_input(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
            code: exit_code::BAD_INPUT,
            details: Box::default(),
        }
    }

    /// A check that ran to its end and failed (exit code 4).
    pub(crate) fn check_failed(message: impl Into<String>) -> Self {
        Self::bad_input(message).with_code(exit_code::CHECK_FAILED)
    }

    /// The same error with another exit code.
    pub(crate) fn with_code(self, code: u8) -> Self {
        Self { code, ..self }
    }

    /// The same error, and one more thing for programs.
    pub(crate) fn with_detail(mut self, name: &str, value: impl Into<serde_json::Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// One object for a program to read.
    pub(crate) fn json(&self) -> String {
        let mut error = serde_json::Map::new();
        error.insert("kind".to_owned(), exit_code::kind(self.code).into());
        error.insert("exit_code".to_owned(), self.code.into());
        error.insert("message".to_owned(), self.message.clone().into());
        error.insert("hint".to_owned(), self.hint.clone().into());
        error.extend((*self.details).clone());
        serde_json::json!({ "error": error }).to_string()
    }

    /// The same error, with what to do about it.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "error: {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(formatter, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for CliError {}

impl From<files::document::Mistake> for CliError {
    fn from(mistake: files::document::Mistake) -> Self {
        Self::bad_input(mistake.message()).with_hint(mistake.hint())
    }
}

impl From<experiments::people::Error> for CliError {
    fn from(error: experiments::people::Error) -> Self {
        explained(error)
    }
}

impl From<experiments::memorization::Error> for CliError {
    fn from(error: experiments::memorization::Error) -> Self {
        explained(error)
    }
}

/// An error of one of our crates, which has its hint in its text. Parameters are in it at most, never data.
pub(crate) fn explained(error: impl fmt::Display) -> CliError {
    let text = error.to_string();
    let (message, hint) = text
        .split_once("\nhint: ")
        .unwrap_or((&text, "add --help to the command to see examples"));
    CliError::bad_input(message).with_hint(hint)
}

/// Stops because of the input: what is wrong with it, and what to do about it.
pub(crate) fn fail<T>(what: impl Into<String>, hint: impl Into<String>) -> Result<T, CliError> {
    Err(CliError::bad_input(what).with_hint(hint))
}

/// Ends `main`: says what went wrong, if anything did, and turns it into the exit code. People read it on
/// standard error. A program that asked for JSON finds one object where it looks for the result.
pub(crate) fn exit(outcome: Result<(), CliError>, as_json: bool) -> u8 {
    match outcome {
        Ok(()) => 0,
        Err(error) => {
            tell(&error, as_json);
            error.code
        }
    }
}

/// Whether anything was written to standard output.
static PRINTED: AtomicBool = AtomicBool::new(false);

/// Says what went wrong. Nobody is left to be told when the output itself is closed; the exit code still says
/// it. A check that failed has printed its result before, and a program reads one object: then the words go
/// to standard error.
pub(crate) fn tell(error: &CliError, as_json: bool) {
    let _ = if as_json && !PRINTED.load(Ordering::SeqCst) {
        writeln!(std::io::stdout(), "{}", error.json())
    } else {
        writeln!(std::io::stderr(), "{error}")
    };
}

/// Whether the command line asks for JSON, derived from its words, because an error must be reported also
/// when they are not understood.
pub(crate) fn asks_for_json(words: &[String]) -> bool {
    let words: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .take_while(|word| *word != "--")
        .collect();
    words.contains(&"--json")
        || words.contains(&"--format=json")
        || words.windows(2).any(|two| two == ["--format", "json"])
}

/// Writes `text` to standard output. A reader that has seen enough, such as `head`, is no error.
pub(crate) fn print(text: &str) -> Result<(), CliError> {
    print_bytes(text.as_bytes())
}

/// The same for bytes that need not be text: they are written as they are.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), CliError> {
    PRINTED.store(true, Ordering::SeqCst);
    print_to(std::io::stdout().lock(), bytes)
}

fn print_to(mut output: impl Write, bytes: &[u8]) -> Result<(), CliError> {
    match output.write_all(bytes).and_then(|()| output.flush()) {
        Err(cause) if cause.kind() != ErrorKind::BrokenPipe => Err(CliError::bad_input(format!(
            "cannot write to standard output: {cause}"
        ))),
        _ => Ok(()),
    }
}

/// Columns of standard output that a person sees; if nobody looks, enough for most lines.
pub(crate) fn width() -> usize {
    const NOBODY: usize = 160;
    let size = terminal_size::terminal_size_of(std::io::stdout());
    size.map_or(NOBODY, |(width, _)| usize::from(width.0))
}

/// A progress bar on standard error that leaves no trace when it ends.
///
/// It shows only to a person: never when standard error is not a terminal.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar of this many steps. `hidden` is for `--json` and `--quiet`.
    pub(crate) fn new(label: impl Into<String>, steps: u64, hidden: bool) -> Self {
        let template = "{msg} {bar:30} {pos}/{len} {elapsed} (about {eta} left)";
        Self::shown(template, label.into(), Some(steps), hidden)
    }

    /// A clock beside the current step, if nothing can be counted.
    pub(crate) fn waiting(label: impl Into<String>, hidden: bool) -> Self {
        Self::shown("{spinner} {msg} {elapsed}", label.into(), None, hidden)
    }

    /// A count of steps of which nobody knows how many there will be.
    pub(crate) fn counting(label: impl Into<String>) -> Self {
        Self::shown("{msg} {spinner} {pos} {elapsed}", label.into(), None, false)
    }

    fn shown(template: &str, label: String, steps: Option<u64>, hidden: bool) -> Self {
        if hidden || !std::io::stderr().is_terminal() {
            return Self {
                bar: ProgressBar::hidden(),
            };
        }
        let bar = ProgressBar::with_draw_target(steps, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╾─"));
        }
        bar.set_message(label);
        // The clock moves during a long step too, so that it does not look stuck.
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar }
    }

    /// Whether anybody sees it.
    pub(crate) fn is_shown(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// Moves the bar on.
    pub(crate) fn advance(&self, steps: u64) {
        self.bar.inc(steps);
    }

    /// Says what is being done now.
    pub(crate) fn label(&self, label: impl Into<String>) {
        self.bar.set_message(label.into());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_and_what_to_do() {
        let error = fail::<()>("the file has no column `age`", "name one with --column").unwrap_err();
        assert_eq!(
            error.to_string(),
            "error: the file has no column `age`\nhint: name one with --column"
        );
        assert_eq!(error.code, 2);
        let failed = CliError::check_failed("3 of 20 claims do not hold");
        assert_eq!(failed.to_string(), "error: 3 of 20 claims do not hold");
        assert_eq!(failed.code, 4);
    }

    #[test]
    fn the_exit_code_is_the_errors() {
        assert_eq!(exit(Ok(()), false), 0);
        let failed = CliError::check_failed("expected in this test");
        assert_eq!(exit(Err(failed), false), 4);
    }

    #[test]
    fn a_program_reads_an_object() {
        let refused = CliError::bad_input("too much")
            .with_hint("ask for less")
            .with_code(exit_code::REFUSED)
            .with_detail("left", "0.2");
        let read: serde_json::Value = serde_json::from_str(&refused.json()).unwrap();
        assert_eq!(
            read,
            serde_json::json!({ "error": {
                "kind": "refused", "exit_code": 3, "message": "too much", "hint": "ask for less", "left": "0.2",
            } })
        );
        let asks = |line: &str| asks_for_json(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert!(asks("query --json x") && asks("query x --format json") && asks("query --format=json x"));
        assert!(!asks("query x --format csv") && !asks("query -- --json"));
    }

    #[test]
    fn a_reader_that_leaves_is_no_error_and_a_full_disk_is() {
        struct Refusing(ErrorKind);
        impl Write for Refusing {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(self.0.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        assert_eq!(print_to(Refusing(ErrorKind::BrokenPipe), b"text"), Ok(()));
        assert!(print_to(Refusing(ErrorKind::StorageFull), b"text").is_err());
        let mut written = Vec::new();
        assert_eq!(print_to(&mut written, b"text\n"), Ok(()));
        assert_eq!(written, b"text\n");
    }

    #[test]
    fn hidden_progress_counts_and_draws_nothing() {
        let progress = Progress::new("drawing", 3, true);
        assert!(!progress.is_shown());
        progress.label("still drawing");
        progress.advance(2);
        assert_eq!(progress.bar.position(), 2);
    }
}
