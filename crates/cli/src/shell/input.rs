//! Where the lines of the shell come from: a person at a terminal, or a pipe.

use super::completion::Words;
use super::editor::{Ended, Terminal, read_line};
use super::history::History;
use super::line::is_whole;
use crate::terminal::{CliError, fail};
use console::{Key, Term};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{self, BufRead, IsTerminal, Read, StdinLock, stdin};

/// A longer question is refused anyway.
const LONGEST: u64 = 2 << 20;
/// Before the second line of a question and those behind it.
const GOES_ON: &str = "...> ";

/// Where lines come from.
pub(super) enum Input {
    Person(Box<Person<Keyboard>>),
    Pipe(StdinLock<'static>),
}

/// Somebody who types.
pub(super) struct Person<T> {
    terminal: T,
    words: Words,
    history: History,
    /// What was typed before, the oldest first.
    lines: Vec<String>,
    /// Whether it was said that lines cannot be kept.
    warned: bool,
}

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A command, or a whole question.
    Line(String),
    /// Ctrl-C: what was typed is dropped.
    Dropped,
    /// Ctrl-D, or the end of the pipe.
    End,
}

impl Input {
    /// A person, if standard input and standard error are a terminal: answers may go elsewhere.
    pub(super) fn open(words: Words, history: History) -> Self {
        if !(stdin().is_terminal() && io::stderr().is_terminal()) {
            return Self::Pipe(stdin().lock());
        }
        Self::Person(Box::new(Person::new(Keyboard::new(), words, history)))
    }

    pub(super) fn is_person(&self) -> bool {
        matches!(self, Self::Person(_))
    }

    /// The next line. A person sees the prompt.
    pub(super) fn next(&mut self, prompt: &str) -> Result<Next, CliError> {
        match self {
            Self::Person(person) => person.next(prompt).map_err(no_terminal),
            Self::Pipe(pipe) => from_pipe(pipe),
        }
    }

    /// Whether a person says yes. Anything but a yes is a no; a pipe cannot be asked.
    pub(super) fn agrees(&mut self, asked: &str) -> Result<bool, CliError> {
        match self {
            Self::Person(person) => person.agrees(asked).map_err(no_terminal),
            Self::Pipe(_) => Ok(false),
        }
    }
}

/// What can go wrong at a terminal says nothing about data.
fn no_terminal(error: io::Error) -> CliError {
    CliError::bad_input(format!("the terminal cannot be used: {}", error.kind()))
        .with_hint("send questions through a pipe: echo 'SHOW TABLES;' | deniable shell")
}

impl<T: Terminal> Person<T> {
    fn new(terminal: T, words: Words, history: History) -> Self {
        Self {
            terminal,
            words,
            lines: history.lines(),
            history,
            warned: false,
        }
    }

    /// Lines until they make a whole one.
    fn next(&mut self, prompt: &str) -> io::Result<Next> {
        let mut text = String::new();
        loop {
            let prompt = if text.is_empty() { prompt } else { GOES_ON };
            match read_line(&mut self.terminal, prompt, &self.lines, Some(&self.words))? {
                Ended::Line(line) => text += &line,
                Ended::Dropped => return Ok(Next::Dropped),
                Ended::Left => return Ok(Next::End),
            }
            if is_whole(&text) {
                break;
            }
            text.push('\n');
        }
        self.keep(text.trim());
        Ok(Next::Line(text))
    }

    fn keep(&mut self, line: &str) {
        if line.is_empty() || self.lines.last().is_some_and(|last| last == line) {
            return;
        }
        self.lines.push(line.to_owned());
        if let Err(cause) = self.history.add(line)
            && !self.warned
        {
            self.warned = true;
            eprintln!(
                "warning: what is typed cannot be kept for the next time: {}",
                cause.kind()
            );
        }
    }

    fn agrees(&mut self, asked: &str) -> io::Result<bool> {
        Ok(match read_line(&mut self.terminal, asked, &[], None)? {
            Ended::Line(said) => means_yes(&said),
            Ended::Dropped | Ended::Left => false,
        })
    }
}

/// The terminal. While a line is typed, it sends every key at once and echoes none.
pub(super) struct Keyboard {
    terminal: Term,
    /// How it was before the line that is typed now.
    before: Option<Termios>,
}

impl Keyboard {
    fn new() -> Self {
        Self {
            terminal: Term::stderr(),
            before: None,
        }
    }
}

impl Terminal for Keyboard {
    fn begin(&mut self) -> io::Result<()> {
        let before = tcgetattr(stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        // What is written goes on looking as ever.
        raw.output_modes = before.output_modes;
        self.before = Some(before);
        Ok(tcsetattr(stdin(), OptionalActions::Drain, &raw)?)
    }

    fn end(&mut self) {
        if let Some(before) = self.before.take() {
            // A terminal that is gone needs nothing any more.
            let _ = tcsetattr(stdin(), OptionalActions::Drain, &before);
        }
    }

    fn key(&mut self) -> io::Result<Key> {
        self.terminal.read_key_raw()
    }

    fn show(&mut self, text: &str) -> io::Result<()> {
        self.terminal.write_str(text)
    }

    fn columns(&self) -> usize {
        usize::from(self.terminal.size().1)
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.end();
    }
}

fn means_yes(said: &str) -> bool {
    matches!(said.trim().to_lowercase().as_str(), "y" | "yes")
}

/// Lines until they make a whole one. Text before the end of the pipe is whole.
fn from_pipe(pipe: &mut impl BufRead) -> Result<Next, CliError> {
    let mut text = String::new();
    loop {
        let room = LONGEST.saturating_sub(text.len() as u64);
        let read = pipe.by_ref().take(room).read_line(&mut text);
        let Ok(read) = read else {
            return fail(
                "standard input cannot be read, or is not text",
                "send it questions as text, each with a semicolon at its end",
            );
        };
        if room == 0 {
            return fail(
                "a question is longer than 2 MiB",
                "end each question with a semicolon",
            );
        }
        if read == 0 {
            return Ok(match text.trim().is_empty() {
                true => Next::End,
                false => Next::Line(text),
            });
        }
        // Without the end of the line that came last: behind it, nothing was left empty yet.
        let came = text.strip_suffix('\n').unwrap_or(&text);
        if !came.trim().is_empty() && is_whole(came) {
            return Ok(Next::Line(text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::io::Cursor;

    fn lines(text: &[u8]) -> Vec<Next> {
        let mut pipe = Cursor::new(text);
        let mut found = Vec::new();
        loop {
            let next = from_pipe(&mut pipe).expect("text");
            if next == Next::End {
                return found;
            }
            found.push(next);
        }
    }

    #[test]
    fn a_pipe_is_cut_into_questions_and_commands() {
        let text = "\\tables\n\n\nSELECT COUNT(*)\r\n  FROM people;\nSELECT 1\n\n\\epsilon 1\nSELECT 2";
        let expected = [
            "\\tables\n",
            "SELECT COUNT(*)\r\n  FROM people;\n",
            "SELECT 1\n\n",
            "\\epsilon 1\n",
            "SELECT 2",
        ];
        let found: Vec<String> = lines(text.as_bytes())
            .into_iter()
            .map(|next| match next {
                Next::Line(line) => line.trim_start().to_owned(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(found, expected);
        assert!(lines(b"\n \n").is_empty());
    }

    #[test]
    fn what_is_no_text_or_never_ends_is_refused() {
        assert_eq!(from_pipe(&mut Cursor::new(b"\xff\xfe\n")).unwrap_err().code, 2);
        let endless = std::io::repeat(b'x');
        let refused = from_pipe(&mut std::io::BufReader::new(endless)).unwrap_err();
        assert!(refused.message.contains("longer than 2 MiB"), "{refused}");
    }

    /// Keys that are pressed one after the other.
    struct Scripted(VecDeque<Key>);

    impl Terminal for Scripted {
        fn begin(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn end(&mut self) {}

        fn key(&mut self) -> io::Result<Key> {
            self.0
                .pop_front()
                .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
        }

        fn show(&mut self, _: &str) -> io::Result<()> {
            Ok(())
        }

        fn columns(&self) -> usize {
            80
        }
    }

    fn person(typed: &str) -> Person<Scripted> {
        let key = |letter| match letter {
            '\n' => Key::Enter,
            '↑' => Key::ArrowUp,
            other => Key::Char(other),
        };
        let keys = Scripted(typed.chars().map(key).collect());
        Person::new(keys, Words::named(&[]), History::forgotten())
    }

    #[test]
    fn a_person_types_questions_of_several_lines_and_agrees_to_them() {
        let mut person = person("SELECT 1\nFROM people;\nyes\n\n\\budget\nSEL\x03↑↑\n\x04");
        let line = |text: &str| Next::Line(text.to_owned());
        let next = |person: &mut Person<Scripted>| person.next("> ").expect("typed");
        assert_eq!(next(&mut person), line("SELECT 1\nFROM people;"));
        assert!(person.agrees("ask it? [y/N] ").expect("typed"));
        assert_eq!(next(&mut person), line(""));
        assert_eq!(next(&mut person), line("\\budget"));
        assert_eq!(next(&mut person), Next::Dropped);
        // Neither an answer to the question back nor an empty line is in the history.
        assert_eq!(next(&mut person), line("SELECT 1\nFROM people;"));
        assert_eq!(next(&mut person), Next::End);
        assert_eq!(
            person.lines,
            ["SELECT 1\nFROM people;", "\\budget", "SELECT 1\nFROM people;"]
        );
    }

    #[test]
    fn who_presses_ctrl_c_does_not_agree() {
        for typed in ["\x03", "\x04", "\n", "no\n"] {
            assert!(
                !person(typed).agrees("ask it? [y/N] ").expect("typed"),
                "{typed:?}"
            );
        }
    }

    #[test]
    fn only_a_yes_is_a_yes() {
        for said in ["y", " Yes ", "Y"] {
            assert!(means_yes(said), "{said}");
        }
        for said in ["", "n", "no", "yep", "y es", "SELECT 1;"] {
            assert!(!means_yes(said), "{said}");
        }
    }
}
