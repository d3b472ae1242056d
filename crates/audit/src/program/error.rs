//! Errors of a program that somebody else wrote.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};

/// Why a program cannot be audited. Neither inputs nor outputs are in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No executable is named.
    #[error("no program to run\nhint: write it after --, as in: -- ./my-mechanism")]
    NothingToRun,
    /// The executable does not start.
    #[error("cannot start `{name}`: {cause}\nhint: {hint}")]
    CannotStart {
        /// The executable.
        name: String,
        /// What the operating system says.
        cause: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// It has no standard input or no standard output.
    #[error("the program has no input or no output\nhint: try again")]
    NoPipes,
    /// It stopped answering.
    #[error("the program printed {printed} lines for {lines} of the {input} input\nhint: {protocol}")]
    TooFewLines {
        /// How many lines it printed.
        printed: u64,
        /// How many it should have printed.
        lines: u64,
        /// Which input.
        input: &'static str,
        /// What it should do.
        protocol: &'static str,
    },
    /// It went on answering.
    #[error("the program printed more than {lines} lines on the {input} input\nhint: {protocol}")]
    TooManyLines {
        /// How many it should have printed.
        lines: u64,
        /// Which input.
        input: &'static str,
        /// What it should do.
        protocol: &'static str,
    },
    /// A line that is no answer.
    #[error("line {line} on the {input} input is longer than 64 KiB\nhint: {protocol}")]
    LineTooLong {
        /// Which line.
        line: u64,
        /// Which input.
        input: &'static str,
        /// What it should do.
        protocol: &'static str,
    },
    /// Its output cannot be read.
    #[error("cannot read what the program prints on the {input} input: {cause}\nhint: try to run it by hand")]
    Unreadable {
        /// Which input.
        input: &'static str,
        /// What the operating system says.
        cause: String,
    },
    /// It ended with another exit code than 0.
    #[error(
        "the program failed on the {input} input ({status})\nhint: run it by hand on that input: it must end with exit code 0 when its input ends"
    )]
    Failed {
        /// Which input.
        input: &'static str,
        /// How it ended.
        status: String,
    },
    /// A line without a number, where numbers are read.
    #[error(
        "a line that the program printed on the {input} input is not a number\nhint: print numbers with all their digits (%.17g), or say --output text"
    )]
    NotANumber {
        /// Which input.
        input: &'static str,
    },
    /// Its answers are not independent.
    #[error(
        "the program gave the same answers again when it was started again on the {input} input\nhint: its answers must be independent: seed it from the clock or the operating system, not with a constant"
    )]
    RepeatsItself {
        /// Which input.
        input: &'static str,
    },
    /// The audit itself cannot be made.
    #[error(transparent)]
    Audit(#[from] crate::Error),
}

impl Error {
    pub(super) fn cannot_start(executable: &OsStr, cause: &io::Error) -> Self {
        Self::CannotStart {
            name: executable.to_string_lossy().into_owned(),
            cause: cause.to_string(),
            hint: match cause.kind() {
                ErrorKind::NotFound => "write the path of an executable after --, as in: -- ./my-mechanism",
                ErrorKind::PermissionDenied => {
                    "make it executable, or name its interpreter first: -- sh my-mechanism.sh"
                }
                _ => "try to run it by hand",
            },
        }
    }
}
