//! How the results of an attack are told: text or JSON, a figure, a page.

use crate::account::figure;
use crate::terminal::{self, CliError, Interrupt, Progress, fail};
use report::{Figure, Page, Row};
use serde_json::Value;
use std::path::PathBuf;

/// Where results go.
#[derive(clap::Args, Clone, Debug, Default)]
pub(super) struct Outputs {
    /// Draw the figure
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Write a page with what was found and the figures
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

/// What was found.
pub(super) struct Told {
    /// For a person at a terminal.
    pub(super) text: String,
    /// For a program.
    pub(super) json: Value,
    /// The title of the page, and what it says first.
    pub(super) title: &'static str,
    pub(super) introduction: String,
    /// What was found beside what is allowed, one row each.
    pub(super) rows: Vec<Row>,
    /// The first is the one that --plot draws.
    pub(super) figures: Vec<Figure>,
}

impl Outputs {
    /// Refuses places where nothing can be put, before anything is computed for them.
    pub(super) fn check(&self) -> Result<(), CliError> {
        figure::check(self.plot.as_deref())?;
        let Some(page) = &self.html else { return Ok(()) };
        let folder = page.parent().filter(|folder| !folder.as_os_str().is_empty());
        if page.is_dir() || folder.is_some_and(|folder| !folder.is_dir()) {
            return fail(
                "--html names no file in a folder that exists",
                "make the folder first, or name another file",
            );
        }
        Ok(())
    }

    /// A bar that shows to a person only.
    pub(super) fn progress(&self, label: &str, steps: u64) -> Progress {
        Progress::new(label, steps, self.json || self.quiet)
    }

    /// Prints, draws and writes.
    pub(super) fn give(&self, told: Told) -> Result<(), CliError> {
        terminal::print(&if self.json {
            format!("{}\n", told.json)
        } else {
            told.text
        })?;
        match (&self.plot, told.figures.first()) {
            (Some(path), Some(drawn)) => figure::save(path, drawn)?,
            (Some(_), None) => {
                return fail(
                    "there is nothing to draw here",
                    "leave out --plot: the text has it all",
                );
            }
            _ => {}
        }
        if let Some(path) = &self.html {
            let mut report = Page::new(told.title, told.introduction);
            let last = told.rows.len().saturating_sub(1);
            for (place, mut row) in told.rows.into_iter().enumerate() {
                // All figures are about all rows; they stand with the last.
                if place == last {
                    row = told.figures.iter().cloned().fold(row, Row::figure);
                }
                report.row(row);
            }
            terminal::write_file_atomically(path, report.to_html().as_bytes())?;
            eprintln!("wrote {}", path.display());
        }
        Ok(())
    }
}

/// Moves a bar, and stops when somebody presses Ctrl-C.
pub(super) fn watched<'work>(
    progress: &'work Progress,
    interrupt: &'work Interrupt,
) -> impl Fn(u64) -> bool + Sync + 'work {
    |pieces| {
        progress.advance(pieces);
        !interrupt.was_pressed()
    }
}

/// A whole number that may be written as `1e9`.
pub(super) fn count(text: &str) -> Result<u64, String> {
    exact::parse_decimal(text)
        .ok()
        .filter(|value| value.is_int())
        .and_then(|value| u64::try_from(value.numerator()).ok())
        .ok_or_else(|| "it must be a whole number, such as 1000 or 1e6".to_owned())
}

/// `12.3 %`.
pub(super) fn percent(share: f64) -> String {
    format!("{} %", ::report::significant(100.0 * share, 3))
}

/// `66.8 to 67.0 %`.
pub(super) fn interval(ends: (f64, f64)) -> String {
    format!(
        "{} to {}",
        ::report::significant(100.0 * ends.0, 3),
        percent(ends.1)
    )
}

/// `1234567` as `1,234,567`.
pub(super) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The arguments of a command from a line of words without spaces in them.
#[cfg(test)]
pub(super) fn parsed<A: clap::Args>(words: &str) -> Result<A, CliError> {
    let command = A::augment_args(clap::Command::new("attack").no_binary_name(true));
    let matches = command
        .try_get_matches_from(words.split_whitespace())
        .map_err(terminal::explained)?;
    A::from_arg_matches(&matches).map_err(terminal::explained)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_may_be_written_short() {
        assert_eq!(count("1e9"), Ok(1_000_000_000));
        assert_eq!(count("1000"), Ok(1000));
        for bad in ["", "1.5", "-3", "ten", "1e40", "NaN"] {
            assert!(count(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn figures_and_pages_are_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let outputs = Outputs {
            plot: Some(folder.path().join("figure.svg")),
            html: Some(folder.path().join("page.html")),
            json: true,
            quiet: true,
        };
        let told = |figures| Told {
            text: String::new(),
            json: serde_json::json!({}),
            title: "What was found",
            introduction: "Synthetic people.".to_owned(),
            rows: vec![
                Row::new("first", "links", "none", "3", false),
                Row::new("second", "links", "none", "0", true),
            ],
            figures,
        };
        let figure = Figure::new("Links").line("found", &[(0.0, 1.0), (1.0, 2.0)]);
        assert_eq!(outputs.check(), Ok(()));
        assert_eq!(outputs.give(told(vec![figure])), Ok(()));
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a file");
        assert!(read("figure.svg").contains("Links"));
        let page = read("page.html");
        assert!(
            page.contains("1 of 2 claims hold") && page.contains("<svg"),
            "{page}"
        );
        assert_eq!(outputs.give(told(Vec::new())).expect_err("no figure").code, 2);
        let elsewhere = Outputs {
            plot: Some("figure.png".into()),
            ..outputs
        };
        assert_eq!(elsewhere.check().expect_err("not SVG").code, 2);
    }

    #[test]
    fn ctrl_c_stops_work() {
        let (progress, interrupt) = (Progress::new("working", 3, true), Interrupt::default());
        let watch = watched(&progress, &interrupt);
        assert!(watch(1));
        interrupt.press();
        assert!(!watch(1));
    }

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(percent(0.66912), "66.9 %");
        assert_eq!(interval((0.668, 0.67)), "66.8 to 67.0 %");
    }
}
