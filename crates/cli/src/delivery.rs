//! Where findings go: text or JSON, a figure, a page.

use crate::account::figure;
use crate::terminal::{self, CliError, Interrupt, Progress, fail};
use attack::csv_file::CsvFile;
use report::Findings;
use std::path::PathBuf;

/// Where results go.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Outputs {
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

impl Outputs {
    /// Refuses places where nothing can be put, before anything is computed for them.
    pub(crate) fn check(&self) -> Result<(), CliError> {
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
    pub(crate) fn progress(&self, label: &str, steps: u64) -> Progress {
        Progress::new(label, steps, self.is_quiet())
    }

    /// A bar that follows the bytes of these files.
    pub(crate) fn reading(&self, sheets: &[CsvFile]) -> Progress {
        self.progress("reading", sheets.iter().map(CsvFile::bytes).sum())
    }

    /// A page and an object alone, for what has nothing to draw.
    pub(crate) fn without_figure(html: Option<PathBuf>, json: bool) -> Self {
        Self {
            html,
            json,
            ..Self::default()
        }
    }

    /// Whether a figure is asked for, which may take long to compute.
    pub(crate) fn is_drawn(&self) -> bool {
        self.plot.is_some() || self.html.is_some()
    }

    /// Whether a program reads the results.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Whether progress is shown to nobody.
    pub(crate) fn is_quiet(&self) -> bool {
        self.json || self.quiet
    }

    /// Prints.
    pub(crate) fn print(&self, findings: &Findings) -> Result<(), CliError> {
        terminal::print(&if self.json {
            findings.to_line()
        } else {
            findings.text.clone()
        })
    }

    /// Prints, draws and writes.
    pub(crate) fn give(&self, findings: &Findings) -> Result<(), CliError> {
        self.print(findings)?;
        match (&self.plot, findings.figures.first()) {
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
            terminal::write_file_atomically(path, findings.to_html().as_bytes())?;
            eprintln!("wrote {}", path.display());
        }
        Ok(())
    }
}

/// Moves a bar, and stops when somebody presses Ctrl-C.
pub(crate) fn watched<'work>(
    progress: &'work Progress,
    interrupt: &'work Interrupt,
) -> impl Fn(u64) -> bool + Sync + 'work {
    |pieces| {
        progress.advance(pieces);
        !interrupt.was_pressed()
    }
}

/// The same for work that says what it is at.
pub(crate) fn labelled<'work>(
    progress: &'work Progress,
    interrupt: &'work Interrupt,
) -> impl Fn(&'static str, u64) -> bool + 'work {
    |label, pieces| {
        if pieces > 0 {
            progress.label(label);
            progress.advance(pieces);
        }
        !interrupt.was_pressed()
    }
}

/// A whole number that may be written as `1e9`.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    exact::parse_decimal(text)
        .ok()
        .filter(|value| value.is_int())
        .and_then(|value| u64::try_from(value.numerator()).ok())
        .ok_or_else(|| "it must be a whole number, such as 1000 or 1e6".to_owned())
}

/// The arguments of a command from a line of words without spaces in them.
#[cfg(test)]
pub(crate) fn parsed<A: clap::Args>(words: &str) -> Result<A, CliError> {
    let command = A::augment_args(clap::Command::new("attack").no_binary_name(true));
    let matches = command
        .try_get_matches_from(words.split_whitespace())
        .map_err(terminal::explained)?;
    A::from_arg_matches(&matches).map_err(terminal::explained)
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::{Figure, Row};

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
        let findings = |figures| Findings {
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
        assert_eq!(outputs.give(&findings(vec![figure])), Ok(()));
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a file");
        assert!(read("figure.svg").contains("Links"));
        let page = read("page.html");
        assert!(
            page.contains("1 of 2 claims hold") && page.contains("<svg"),
            "{page}"
        );
        assert_eq!(
            outputs.give(&findings(Vec::new())).expect_err("no figure").code,
            2
        );
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
}
