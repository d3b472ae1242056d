//! `survey randomize`: answers in, reports out.

use clap::Args;
use csv::{ByteRecord, Writer};
use mechanism::{Questionnaire, Receipt, Sensitive};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::json_text;
use super::method::{MethodArguments, catch_all_words};
use crate::terminal::{CliError, explained, fail, print, print_bytes, write_file_atomically};
use ::report::significant;
use files::sheet::{Row, Sheet};

/// The confidence of the accuracy that is reported before anything is estimated.
const CONFIDENCE: f64 = 0.95;

const NOTES: &str = "\
Every row after the first is one respondent: a quoted field may hold commas and line breaks, and a quote that is not \
closed ends with its line. Their report is drawn from their answer alone, so that any two answers could have led to it: \
that is what protects them, whoever reads the reports. The number of rows is not protected.

An answer that is not in --answers, spelled exactly so but for spaces around it, counts as the last of them, so that no error \
can tell what somebody answered. In a file of one column an empty line is an empty answer.

All other columns are dropped. Those in --keep are copied as they are, WITHOUT noise: keep only what may be published. They \
must be left of the answers: a comma or a quote in an answer would move its text into columns to its right. In a row in which \
a field left of the answer is missing or opens a quote that it does not close, they are left empty. A line break in an answer \
that is not in quotes begins a further row: let a program write the file, which puts such answers in quotes.

Running this twice on the same answers releases twice as much: ε adds up. Keep the reports, and delete the answers.

Example:
  deniable survey randomize answers.csv --column cheated --epsilon 1 --output reports.csv";

#[derive(Args, Debug)]
#[command(after_help = NOTES)]
pub(super) struct Arguments {
    /// The CSV file with the true answers; its first line names the columns.
    file: PathBuf,
    /// The column with the answers.
    #[arg(long, value_name = "NAME")]
    column: String,
    #[command(flatten)]
    method: MethodArguments,
    /// Columns to copy WITHOUT any noise, separated by commas; all of them left of the answers.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    keep: Vec<String>,
    /// Where to write the reports. Without it they are printed.
    #[arg(long, value_name = "OUT.csv")]
    output: Option<PathBuf>,
    /// Print what was done as JSON; needs --output.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    if arguments.json && arguments.output.is_none() {
        return fail(
            "--json needs --output",
            "without it the reports themselves are printed",
        );
    }
    let method = arguments.method.method()?;
    let sheet = Sheet::read(&arguments.file)?;
    let column = sheet.column(&arguments.column)?;
    let kept: Vec<usize> = arguments
        .keep
        .iter()
        .map(|name| sheet.column(name))
        .collect::<Result<_, files::document::Mistake>>()?;
    let repeated = |(index, place)| kept[..index].contains(place);
    if kept.iter().enumerate().any(repeated) {
        return fail("--keep names a column twice", "name each column to keep once");
    }
    if kept.contains(&column) {
        return fail(
            "--keep names the column of answers",
            "it would be published without noise",
        );
    }
    // Decided by the first line alone. Right of an answer no field can be distinguished from the answer's own
    // text.
    if kept.iter().any(|place| *place > column) {
        return fail(
            "--keep names a column to the right of the answers",
            "a comma or a quote in an answer would move its text there: put the columns to keep left of the answers",
        );
    }
    if arguments
        .output
        .as_ref()
        .is_some_and(|output| same_file(&arguments.file, output))
    {
        return fail(
            "--output is the file of answers itself",
            "write the reports to another file",
        );
    }
    let numbers = method.numbers();
    let catch_all = numbers[method.catch_all().as_bytes()];
    let number = |row: Row| {
        let answer = row.field(column).trim_ascii();
        numbers.get(answer).copied().unwrap_or(catch_all)
    };
    let answers = Sensitive::new(sheet.rows().map(number).collect::<Vec<u32>>());
    // The number of rows is public, so it may be reported.
    let count = sheet.rows().count();
    if count == 0 {
        let name = arguments.file.display();
        return fail(
            format!("`{name}` has no row of answers"),
            "there must be a row for each respondent",
        );
    }
    let purpose = format!("survey of column `{}`", arguments.column);
    let (reports, receipt) = method.randomize(answers, &purpose).map_err(explained)?;
    let text = written(arguments, &sheet, column, &kept, &reports)?;
    let done = Done {
        arguments,
        method: &method,
        receipt: &receipt,
        count: count as u64,
    };
    match &arguments.output {
        Some(path) => {
            write_file_atomically(path, &text)?;
            print(&if arguments.json {
                json_text(&done.json()?)
            } else {
                done.text()?
            })
        }
        None => {
            // What was done is about the run, not its result; and a closed standard error is no reason to
            // stop.
            let _ = std::io::stderr().write_all(done.text()?.as_bytes());
            print_bytes(&text)
        }
    }
}

/// Whether both paths lead to one file that exists.
fn same_file(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// The reports as CSV, after the columns to keep.
fn written(
    arguments: &Arguments,
    sheet: &Sheet,
    column: usize,
    kept: &[usize],
    reports: &[String],
) -> Result<Vec<u8>, CliError> {
    let mut writer = Writer::from_writer(Vec::new());
    let failed = |_| CliError::bad_input("the reports could not be written");
    let mut header = ByteRecord::new();
    for name in arguments.keep.iter().chain([&arguments.column]) {
        header.push_field(name.trim().as_bytes());
    }
    writer.write_byte_record(&header).map_err(failed)?;
    for (row, report) in sheet.rows().zip(reports) {
        let mut record = ByteRecord::new();
        let left = row.left_of(column);
        for place in kept {
            record.push_field(left.map_or(&[], |left| &left[*place]));
        }
        record.push_field(report.as_bytes());
        writer.write_byte_record(&record).map_err(failed)?;
    }
    writer
        .into_inner()
        .map_err(|_| CliError::bad_input("the reports could not be written"))
}

/// What was done.
struct Done<'run> {
    arguments: &'run Arguments,
    method: &'run Questionnaire,
    receipt: &'run Receipt,
    count: u64,
}

impl Done<'_> {
    fn half_width(&self) -> Result<f64, CliError> {
        self.method
            .frequencies()
            .half_width(self.count, CONFIDENCE)
            .map_err(explained)
    }

    fn text(&self) -> Result<String, CliError> {
        let place = match &self.arguments.output {
            Some(path) => format!(" in `{}`", path.display()),
            None => String::new(),
        };
        let unprotected = match self.arguments.keep.len() {
            0 => String::new(),
            _ => format!("Copied without noise: {}.\n", self.arguments.keep.join(", ")),
        };
        Ok(format!(
            "{} reports{place}.\nGuarantee: {}, whoever reads the reports.\n{unprotected}{}\n\
             Estimates from them will be off by at most {} (all of them together, with probability {CONFIDENCE}).\n",
            self.count,
            self.receipt.charge.guarantee,
            catch_all_words(self.method),
            significant(self.half_width()?, 2),
        ))
    }

    fn json(&self) -> Result<serde_json::Value, CliError> {
        Ok(serde_json::json!({
            "command": "survey randomize",
            "reports": self.count,
            "column": self.arguments.column,
            "kept": self.arguments.keep,
            "output": self.arguments.output.as_ref().map(|path| path.display().to_string()),
            "mechanism": self.arguments.method.mechanism_name(),
            "answers": self.method.answers(),
            "other_answers_count_as": self.method.catch_all(),
            "epsilon": self.method.epsilon().to_string(),
            "guarantee": self.receipt.charge.guarantee.to_string(),
            "confidence": CONFIDENCE,
            "half_width": self.half_width()?,
        }))
    }
}
