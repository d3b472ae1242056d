//! Runs a program that somebody else wrote, many times and without trusting it.
//!
//! In batch mode the program is started once for each input. It reads that input on every line, and prints
//! one line for each. In one-shot mode it is started once for each draw. A thread of its own writes the
//! input, so a program may answer before it has read everything, or only after: nothing blocks. Its standard
//! error goes to ours.
//!
//! The program has a process group of its own, so Ctrl-C at a terminal does not reach it; and if we are
//! stopped, its pipes close.
//!
//! ```
//! use audit::program::{Output, Program, Runner};
//! use audit::black_box::Subject;
//!
//! let program = Program { words: vec!["cat".into()], one_shot: false };
//! let mut runner = Runner::new(program, vec!["1 2".to_owned(), "3 4".to_owned()], Output::Number, 10, || 0, &|_| {});
//! let mut seen = Vec::new();
//! runner.draw(1, 2, |row| seen.push(row.to_vec()))?;
//! assert_eq!(seen, [[3.0, 4.0], [3.0, 4.0]]);
//! # Ok::<(), audit::program::Error>(())
//! ```

mod error;
mod output;
mod runner;

pub use error::Error;
pub use output::Output;
pub use runner::Runner;

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Hears of each this many outputs that were read.
pub type Watch<'a> = &'a (dyn Fn(u64) + Sync);

/// A longer line is not an answer.
const LONGEST_LINE: u64 = 64 * 1024;
/// The observer is told every this many lines.
const STRIDE: u64 = 1024;

/// What to run, and how.
#[derive(Debug)]
pub struct Program {
    /// The executable and its arguments.
    pub words: Vec<OsString>,
    /// Whether it is started once for each draw.
    pub one_shot: bool,
}

/// Which input an error is about. Inputs and outputs themselves are in no message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input<'a> {
    /// `first` or `second`.
    pub(super) name: &'static str,
    /// The line to write.
    pub(super) text: &'a str,
}

impl Program {
    /// Collects `samples` outputs on one input. `read` turns a line into an output, or refuses it.
    pub(super) fn draw<O>(
        &self,
        input: Input<'_>,
        samples: u64,
        watch: Watch<'_>,
        mut read: impl FnMut(&[u8]) -> Result<O, Error>,
    ) -> Result<Vec<O>, Error> {
        let mut outputs = Vec::new();
        if !self.one_shot {
            self.batch(input, samples, watch, &mut read, &mut outputs)?;
            return Ok(outputs);
        }
        for _ in 0..samples {
            self.batch(input, 1, watch, &mut read, &mut outputs)?;
        }
        Ok(outputs)
    }

    /// One start of the program, which answers `lines` times.
    fn batch<O>(
        &self,
        input: Input<'_>,
        lines: u64,
        watch: Watch<'_>,
        read: &mut impl FnMut(&[u8]) -> Result<O, Error>,
        outputs: &mut Vec<O>,
    ) -> Result<(), Error> {
        let mut running = self.start()?;
        let (stdin, stdout) = running.pipes()?;
        let text = input.text.to_string();
        // Not joined: it ends when all is written or when the program stops reading, and what it failed to
        // write is missing from the answers, which are counted.
        std::thread::spawn(move || feed(stdin, &text, lines));
        let mut reader = BufReader::new(stdout);
        let mut line = Vec::new();
        for number in 0..lines {
            if !next_line(&mut reader, &mut line).map_err(|cause| unreadable(input, &cause))? {
                running.finish(input)?;
                return Err(Error::TooFewLines {
                    printed: number,
                    lines,
                    input: input.name,
                    protocol: self.protocol(),
                });
            }
            if line.len() as u64 > LONGEST_LINE {
                return Err(Error::LineTooLong {
                    line: number + 1,
                    input: input.name,
                    protocol: self.protocol(),
                });
            }
            outputs.push(read(&line)?);
            if (number + 1) % STRIDE == 0 || number + 1 == lines {
                watch(number % STRIDE + 1);
            }
        }
        if !reader
            .fill_buf()
            .map_err(|cause| unreadable(input, &cause))?
            .is_empty()
        {
            return Err(Error::TooManyLines {
                lines,
                input: input.name,
                protocol: self.protocol(),
            });
        }
        running.finish(input)
    }

    fn start(&self) -> Result<Running, Error> {
        let Some((executable, arguments)) = self.words.split_first() else {
            return Err(Error::NothingToRun);
        };
        let started = Command::new(executable)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Ctrl-C is for us: it may only mean that enough was seen.
            .process_group(0)
            .spawn();
        started
            .map(Running)
            .map_err(|cause| Error::cannot_start(executable, &cause))
    }

    fn protocol(&self) -> &'static str {
        if self.one_shot {
            "with --one-shot the program must print exactly one line each time it is run"
        } else {
            "the program must print one line for each line it reads, until its input ends; if it answers once and exits, use --one-shot"
        }
    }
}

fn unreadable(input: Input<'_>, cause: &io::Error) -> Error {
    Error::Unreadable {
        input: input.name,
        cause: cause.to_string(),
    }
}

/// A program that is stopped when we lose interest in it.
struct Running(Child);

impl Running {
    fn pipes(&mut self) -> Result<(ChildStdin, ChildStdout), Error> {
        match (self.0.stdin.take(), self.0.stdout.take()) {
            (Some(stdin), Some(stdout)) => Ok((stdin, stdout)),
            _ => Err(Error::NoPipes),
        }
    }

    /// Waits for it to end by itself, and well.
    fn finish(&mut self, input: Input<'_>) -> Result<(), Error> {
        let status = self.0.wait().map_err(|cause| unreadable(input, &cause))?;
        if status.success() {
            return Ok(());
        }
        Err(Error::Failed {
            input: input.name,
            status: status.to_string(),
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail when it has ended already, which is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Writes the input on this many lines. A program that stops reading is no error here.
fn feed(stdin: ChildStdin, text: &str, lines: u64) {
    let mut writer = BufWriter::with_capacity(1 << 16, stdin);
    for _ in 0..lines {
        if writeln!(writer, "{text}").is_err() {
            return;
        }
    }
    let _ = writer.flush();
}

/// Reads a line without its end, at most a little more than the longest allowed. `false` when there is none.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let length = reader.by_ref().take(LONGEST_LINE + 2).read_until(b'\n', line)?;
    if line.last() == Some(&b'\n') {
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
    }
    Ok(length > 0)
}

#[cfg(test)]
mod tests {
    use super::next_line;

    #[test]
    fn lines_end_in_any_way_and_never_grow_without_bound() {
        let mut text: &[u8] = b"1\n\n2\r\n3";
        let mut line = Vec::new();
        let mut lines = Vec::new();
        while next_line(&mut text, &mut line).expect("memory does not fail") {
            lines.push(String::from_utf8(line.clone()).expect("ASCII"));
        }
        assert_eq!(lines, ["1", "", "2", "3"]);

        let mut endless = std::io::BufReader::new(std::io::repeat(b'7'));
        assert!(next_line(&mut endless, &mut line).expect("memory does not fail"));
        assert!(line.len() < 70_000);
    }
}
