//! One line as somebody types it: editing, history and completion, drawn anew with every key.
//!
//! It is written here and not taken from a library: the existing libraries switch on features of crates that
//! the query engine is built on, and nothing else of them is needed.

use super::completion::Words;
use console::{Key, measure_text_width};
use std::io;

/// How a line break inside a question of the history is shown.
const BREAK: char = '⏎';

/// A terminal, or its stand-in in a test.
pub(super) trait Terminal {
    /// A line begins: keys are to come one by one.
    fn begin(&mut self) -> io::Result<()>;
    /// It ended: all is as it was before.
    fn end(&mut self);
    /// Waits for the next key.
    fn key(&mut self) -> io::Result<Key>;
    /// Writes this, as it is.
    fn show(&mut self, text: &str) -> io::Result<()>;
    /// How many columns it has.
    fn columns(&self) -> usize;
}

/// How a line ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// With the Enter key.
    Line(String),
    /// Ctrl-C: what was typed is dropped.
    Dropped,
    /// Ctrl-D on an empty line.
    Left,
}

/// Reads a line behind this prompt. The arrows go through `history`, the oldest first, and Tab completes.
pub(super) fn read_line(
    terminal: &mut impl Terminal,
    prompt: &str,
    history: &[String],
    words: Option<&Words>,
) -> io::Result<Ended> {
    terminal.begin()?;
    let ended = type_line(terminal, prompt, history, words);
    terminal.end();
    ended
}

fn type_line(
    terminal: &mut impl Terminal,
    prompt: &str,
    history: &[String],
    words: Option<&Words>,
) -> io::Result<Ended> {
    let mut typed = Typed::new(history);
    terminal.show(&typed.drawn(prompt, terminal.columns()))?;
    loop {
        let key = terminal.key()?;
        match typed.press(&key) {
            Effect::Ended(ended) => {
                let mark = if ended == Ended::Dropped { "^C" } else { "" };
                terminal.show(&format!("{mark}\r\n"))?;
                return Ok(ended);
            }
            Effect::Completed => {
                if let Some(words) = words {
                    let offered = typed.complete(words);
                    if !offered.is_empty() {
                        terminal.show(&format!("\r\n{}\r\n", offered.join("  ")))?;
                    }
                }
            }
            Effect::Edited => {}
        }
        terminal.show(&typed.drawn(prompt, terminal.columns()))?;
    }
}

/// What a key did.
#[derive(Debug, PartialEq, Eq)]
enum Effect {
    Edited,
    /// The Tab key.
    Completed,
    Ended(Ended),
}

/// The line so far.
struct Typed<'h> {
    text: Vec<char>,
    cursor: usize,
    history: &'h [String],
    /// Which line of the history this is; its length while it is none of them.
    place: usize,
    /// What was typed before the history was looked through.
    own: Vec<char>,
}

impl<'h> Typed<'h> {
    fn new(history: &'h [String]) -> Self {
        Self {
            text: Vec::new(),
            cursor: 0,
            history,
            place: history.len(),
            own: Vec::new(),
        }
    }

    fn press(&mut self, key: &Key) -> Effect {
        match key {
            Key::Enter => return Effect::Ended(Ended::Line(self.text.iter().collect())),
            Key::CtrlC | Key::Char('\x03') => return Effect::Ended(Ended::Dropped),
            Key::Char('\x04') if self.text.is_empty() => return Effect::Ended(Ended::Left),
            Key::Tab => return Effect::Completed,
            Key::Char('\x04') | Key::Del => self.remove(self.cursor, self.cursor + 1),
            Key::Backspace => self.remove(self.cursor.saturating_sub(1), self.cursor),
            // Ctrl and B, F, A, E, K, U, W, P, N, as in other shells.
            Key::ArrowLeft | Key::Char('\x02') => self.cursor = self.cursor.saturating_sub(1),
            Key::ArrowRight | Key::Char('\x06') => self.cursor = (self.cursor + 1).min(self.text.len()),
            Key::Home | Key::Char('\x01') => self.cursor = 0,
            Key::End | Key::Char('\x05') => self.cursor = self.text.len(),
            Key::Char('\x0b') => self.remove(self.cursor, self.text.len()),
            Key::Char('\x15') => self.remove(0, self.cursor),
            Key::Char('\x17') => self.remove(self.start_of_word(), self.cursor),
            Key::ArrowUp | Key::Char('\x10') => self.recall(self.place.checked_sub(1)),
            Key::ArrowDown | Key::Char('\x0e') => self.recall(self.place.checked_add(1)),
            Key::Char(letter) if !letter.is_control() => {
                self.text.insert(self.cursor, *letter);
                self.cursor += 1;
            }
            _ => {}
        }
        Effect::Edited
    }

    /// Takes these characters out; the cursor stands where they were.
    fn remove(&mut self, from: usize, to: usize) {
        let to = to.min(self.text.len());
        if from < to {
            self.text.drain(from..to);
            self.cursor = from;
        }
    }

    /// Where the word behind the cursor begins, with the blanks after it.
    fn start_of_word(&self) -> usize {
        let before = &self.text[..self.cursor];
        let end = before.iter().rposition(|letter| !letter.is_whitespace());
        let word = &before[..end.map_or(0, |end| end + 1)];
        let blank = word.iter().rposition(|letter| letter.is_whitespace());
        blank.map_or(0, |blank| blank + 1)
    }

    /// Another line of the history, or behind the newest what was typed before.
    fn recall(&mut self, place: Option<usize>) {
        let Some(place) = place.filter(|place| *place <= self.history.len()) else {
            return;
        };
        if self.place == self.history.len() {
            self.own.clone_from(&self.text);
        }
        self.text = match self.history.get(place) {
            Some(line) => line
                .chars()
                .filter(|letter| *letter == '\n' || !letter.is_control())
                .collect(),
            None => self.own.clone(),
        };
        self.place = place;
        self.cursor = self.text.len();
    }

    /// Writes the beginning that all possible words here have in common. If that is no more than was typed,
    /// it lists the words to choose from.
    fn complete(&mut self, words: &Words) -> Vec<String> {
        let before: String = self.text[..self.cursor].iter().collect();
        let (start, offered) = words.complete(&before, before.len());
        let Some(first) = offered.first() else {
            return Vec::new();
        };
        let common = offered.iter().skip(1).fold(first.clone(), |common, other| {
            let alike = common
                .chars()
                .zip(other.chars())
                .take_while(|(one, another)| one == another);
            alike.map(|(letter, _)| letter).collect()
        });
        let typed = before.get(start..).unwrap_or_default();
        // What is common must not undo what was typed.
        let is_more = common.chars().count() > typed.chars().count();
        if offered.len() > 1 && !is_more {
            return offered;
        }
        let start = before.get(..start).unwrap_or_default().chars().count();
        self.text.splice(start..self.cursor, common.chars());
        self.cursor = start + common.chars().count();
        Vec::new()
    }

    /// The line as it is drawn over what was there: of one that is too long, the part around the cursor.
    fn drawn(&self, prompt: &str, columns: usize) -> String {
        let shown = |letter: &char| if *letter == '\n' { BREAK } else { *letter };
        let width = |letters: &[char]| measure_text_width(&letters.iter().map(shown).collect::<String>());
        let room = columns.saturating_sub(measure_text_width(prompt) + 1).max(1);
        let mut start = 0;
        while width(&self.text[start..self.cursor]) > room {
            start += 1;
        }
        let mut end = self.text.len();
        while end > self.cursor && width(&self.text[start..end]) > room {
            end -= 1;
        }
        let text: String = self.text[start..end].iter().map(shown).collect();
        let to_cursor = measure_text_width(prompt) + width(&self.text[start..self.cursor]);
        let forward = match to_cursor {
            0 => String::new(),
            columns => format!("\x1b[{columns}C"),
        };
        format!("\r{prompt}{text}\x1b[K\r{forward}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// Keys that are pressed one after the other, and what is seen.
    struct Scripted {
        keys: VecDeque<Key>,
        seen: String,
    }

    impl Terminal for Scripted {
        fn begin(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn end(&mut self) {}

        fn key(&mut self) -> io::Result<Key> {
            self.keys
                .pop_front()
                .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
        }

        fn show(&mut self, text: &str) -> io::Result<()> {
            self.seen += text;
            Ok(())
        }

        fn columns(&self) -> usize {
            20
        }
    }

    /// How a line ends for which these keys are pressed, and everything that is seen.
    fn typed(script: &[Key], history: &[&str]) -> (Ended, String) {
        let history: Vec<String> = history.iter().map(|line| (*line).to_owned()).collect();
        let mut terminal = Scripted {
            keys: script.iter().cloned().collect(),
            seen: String::new(),
        };
        let words = Words::named(&[("people", &["age", "age_then", "region"])]);
        let ended = read_line(&mut terminal, "> ", &history, Some(&words)).expect("it ends");
        (ended, terminal.seen)
    }

    fn keys(text: &str) -> Vec<Key> {
        text.chars()
            .map(|letter| match letter {
                '\n' => Key::Enter,
                '\t' => Key::Tab,
                '←' => Key::ArrowLeft,
                '→' => Key::ArrowRight,
                '↑' => Key::ArrowUp,
                '↓' => Key::ArrowDown,
                '⌫' => Key::Backspace,
                '⌦' => Key::Del,
                other => Key::Char(other),
            })
            .collect()
    }

    #[test]
    fn a_line_is_edited_as_in_other_shells() {
        for (pressed, line) in [
            ("SELECT 1;\n", "SELECT 1;"),
            ("ab←c⌫d→e\n", "adbe"),
            ("ab←⌦c\n", "ac"),
            ("abc←←\x0bx\n", "ax"),
            ("abc\x02\x02\x15x\n", "xbc"),
            ("one two  \x17x\n", "one x"),
            ("bc\x01a\x05d\n", "abcd"),
            ("⌫←→⌦\x17é←ß\n", "ßé"),
            ("a\x04b\x07\n", "ab"),
            ("\n", ""),
        ] {
            assert_eq!(
                typed(&keys(pressed), &[]).0,
                Ended::Line(line.to_owned()),
                "{pressed:?}"
            );
        }
        assert_eq!(typed(&keys("ab\x03"), &[]).0, Ended::Dropped);
        assert_eq!(typed(&[Key::Char('a'), Key::CtrlC], &[]).0, Ended::Dropped);
        assert_eq!(typed(&keys("a⌫\x04"), &[]).0, Ended::Left);
    }

    #[test]
    fn arrows_go_through_what_was_typed_before() {
        let history = ["first", "second\nhas two lines"];
        for (pressed, line) in [
            ("↑\n", "second\nhas two lines"),
            ("↑↑↑\n", "first"),
            ("own↑↑↓↓\n", "own"),
            ("own↓\n", "own"),
            ("↑↑!\n", "first!"),
        ] {
            let (ended, seen) = typed(&keys(pressed), &history);
            assert_eq!(ended, Ended::Line(line.to_owned()), "{pressed:?}");
            assert!(!seen.contains("second\n"), "a line break would spoil the picture");
        }
    }

    #[test]
    fn tab_completes_as_far_as_there_is_no_choice() {
        let line = |pressed: &str| typed(&keys(pressed), &[]);
        assert_eq!(line("FROM \t\n").0, Ended::Line("FROM people".to_owned()));
        assert_eq!(line("SELECT r\t\n").0, Ended::Line("SELECT region".to_owned()));
        let (ended, seen) = line("SELECT ag\t\t\n");
        assert_eq!(ended, Ended::Line("SELECT age".to_owned()));
        assert!(seen.contains("\r\nage  age_then\r\n"), "{seen:?}");
        // Nothing is offered, and nothing is lost.
        assert_eq!(line("SELECT zz\t\n").0, Ended::Line("SELECT zz".to_owned()));
        assert_eq!(line("é FROM pe←\t\n").0, Ended::Line("é FROM peoplee".to_owned()));
    }

    #[test]
    fn of_a_long_line_the_part_around_the_cursor_is_drawn() {
        let mut line = Typed::new(&[]);
        for letter in "abcdefghijklmnopqrstuvwxyz".chars() {
            line.press(&Key::Char(letter));
        }
        // Of 20 columns, two are the prompt's and one is the cursor's behind the last letter.
        assert_eq!(line.drawn("> ", 20), "\r> jklmnopqrstuvwxyz\x1b[K\r\x1b[19C");
        line.press(&Key::Home);
        assert_eq!(line.drawn("> ", 20), "\r> abcdefghijklmnopq\x1b[K\r\x1b[2C");
        // Letters that are two columns wide, and a terminal that is too narrow for anything.
        let mut wide = Typed::new(&[]);
        for letter in "漢字漢字".chars() {
            wide.press(&Key::Char(letter));
        }
        assert_eq!(wide.drawn("> ", 9), "\r> 字漢字\x1b[K\r\x1b[8C");
        assert!(
            line.drawn("> ", 0).starts_with("\r> a"),
            "{}",
            line.drawn("> ", 0)
        );
    }
}
