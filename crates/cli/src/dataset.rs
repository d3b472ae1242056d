//! Shared by `query`, `explain` and `budget`: which catalog is meant, who asks, and what is asked.

use crate::terminal::{CliError, Progress, exit_code, explained, fail};
use accounting::{Delta, Epsilon};
use clap::Args;
use ledger::{Analyst, Store};
use sql::blocking::Dataset;
use sql::draft::{FILL_IN, marked};
use sql::{Catalog, QueryRequest};
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A longer query is refused anyway.
const LONGEST: u64 = 2 << 20;
/// The catalog that is meant when none is named, if it is there.
const HERE: &str = "deniable.toml";

/// Where the catalog is.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct CatalogArguments {
    /// The catalog [default: $DENIABLE_CATALOG, else ./deniable.toml, else the built-in sample data]
    #[arg(long, value_name = "FILE")]
    catalog: Option<PathBuf>,
}

/// Which catalog is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Chosen {
    /// This one.
    File(PathBuf),
    /// None was named and none is here: the built-in sample.
    Sample,
}

impl CatalogArguments {
    /// This catalog.
    pub(crate) fn of(path: PathBuf) -> Self {
        Self { catalog: Some(path) }
    }

    /// Opens the dataset; the sample is made when it is first used. `quiet` says nothing about that.
    pub(crate) fn open(&self, quiet: bool) -> Result<Dataset, CliError> {
        let catalog = Catalog::read(self.path(quiet)?).map_err(explained)?;
        Dataset::new(catalog).map_err(explained)
    }

    /// The same for a command that asks a query, with a warning if the catalog is a draft that is not filled
    /// in.
    pub(crate) fn open_to_ask(&self, quiet: bool) -> Result<Dataset, CliError> {
        let path = self.path(quiet)?;
        let dataset = Dataset::new(Catalog::read(&path).map_err(explained)?).map_err(explained)?;
        if !quiet && let Some(warning) = unfilled(&path, &std::fs::read_to_string(&path).unwrap_or_default())
        {
            eprintln!("{warning}");
        }
        Ok(dataset)
    }

    /// The catalog that is named or lies here; `None` where the sample would be meant.
    pub(crate) fn named(&self) -> Option<PathBuf> {
        let named = std::env::var_os("DENIABLE_CATALOG");
        match chosen(self.catalog.clone(), named, Path::new(HERE).exists()) {
            Chosen::File(path) => Some(path),
            Chosen::Sample => None,
        }
    }

    /// The catalog that is meant, if it is there already: nothing is made.
    pub(crate) fn existing(&self) -> Option<PathBuf> {
        let home = || data_directory(std::env::var_os("XDG_DATA_HOME"), std::env::var_os("HOME"));
        let path = self
            .named()
            .or_else(|| Some(home().ok()?.join("sample").join(HERE)))?;
        path.is_file().then_some(path)
    }

    /// Whether a catalog is named on the command line.
    pub(crate) fn is_given(&self) -> bool {
        self.catalog.is_some()
    }

    /// Where the catalog is; the sample is made when it is first used.
    pub(crate) fn path(&self, quiet: bool) -> Result<PathBuf, CliError> {
        let named = std::env::var_os("DENIABLE_CATALOG");
        match chosen(self.catalog.clone(), named, Path::new(HERE).exists()) {
            Chosen::File(path) => Ok(path),
            Chosen::Sample => sample(quiet),
        }
    }
}

/// What a draft still lacks.
fn unfilled(path: &Path, text: &str) -> Option<String> {
    let lines: Vec<String> = marked(text, FILL_IN)
        .iter()
        .map(|mark| mark.line.to_string())
        .collect();
    let at = match lines.as_slice() {
        [] => return None,
        [line] => format!("line {line} is"),
        lines => format!("lines {} are", lines.join(", ")),
    };
    Some(format!(
        "warning: {} is a draft: {at} marked {FILL_IN}. A column without its kind, bounds or values is not what a query expects: text is not a number, \
         what has no bounds cannot be summed, and groups that are not listed appear only if they are large\nhint: fill in what is marked, and delete the mark",
        path.display()
    ))
}

fn chosen(flag: Option<PathBuf>, variable: Option<OsString>, one_is_here: bool) -> Chosen {
    // An empty variable is how a shell unsets one for a single command.
    let variable = variable.filter(|name| !name.is_empty()).map(PathBuf::from);
    match flag.or(variable) {
        Some(path) => Chosen::File(path),
        None if one_is_here => Chosen::File(PathBuf::from(HERE)),
        None => Chosen::Sample,
    }
}

/// The catalog of the sample, which is made if it is not there yet.
fn sample(quiet: bool) -> Result<PathBuf, CliError> {
    let directory = data_directory(std::env::var_os("XDG_DATA_HOME"), std::env::var_os("HOME"))?;
    if !quiet {
        eprintln!(
            "no catalog is named and there is no {HERE} here: using the built-in sample in {}",
            directory.join("sample").display()
        );
    }
    sample_in("sample", quiet)
}

/// The catalog of a sample of this name, with a ledger of its own; made if it is not there yet.
pub(crate) fn sample_in(name: &str, quiet: bool) -> Result<PathBuf, CliError> {
    let directory = data_directory(std::env::var_os("XDG_DATA_HOME"), std::env::var_os("HOME"))?.join(name);
    let mut bar: Option<Progress> = None;
    let mut before = 0;
    sql::sample::ensure(&directory, |done, all| {
        let bar = bar.get_or_insert_with(|| Progress::new("making the sample", all, quiet));
        bar.advance(done.saturating_sub(before));
        before = done;
    })
    .map_err(explained)
}

fn data_directory(data_home: Option<OsString>, home: Option<OsString>) -> Result<PathBuf, CliError> {
    // What is not absolute is to be ignored, by the specification of these variables.
    let absolute = |name: OsString| Some(PathBuf::from(name)).filter(|path| path.is_absolute());
    let data = data_home
        .and_then(absolute)
        .or_else(|| Some(home.and_then(absolute)?.join(".local/share")));
    match data {
        Some(data) => Ok(data.join("deniable")),
        None => fail(
            "there is no place for the built-in sample: neither XDG_DATA_HOME nor HOME is set",
            "name a catalog with --catalog, or set one of them",
        ),
    }
}

/// Who asks, as the ledger will call them.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct AnalystArguments {
    /// Who asks, as the ledger calls them [default: $DENIABLE_ANALYST, else the login name]
    #[arg(long, value_name = "NAME")]
    analyst: Option<String>,
}

impl AnalystArguments {
    /// The name, in its one spelling.
    pub(crate) fn name(&self) -> String {
        let variables = ["DENIABLE_ANALYST", "USER", "LOGNAME"];
        named(
            self.analyst.clone(),
            variables.map(|variable| std::env::var(variable).ok()),
        )
    }
}

fn named(flag: Option<String>, variables: [Option<String>; 3]) -> String {
    // A flag is meant as it is given, and the ledger refuses one that is no name; an empty variable is none.
    let variables = variables.into_iter().flatten();
    let name = flag.or_else(|| variables.into_iter().find(|name| !name.trim().is_empty()));
    let name = name.unwrap_or_else(|| "analyst".to_owned());
    match Analyst::named(&name) {
        Ok(analyst) => analyst.name().to_owned(),
        Err(_) => name,
    }
}

/// What is asked, and for how much.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct AskArguments {
    /// The query; `-` reads it from standard input
    #[arg(value_name = "SQL", required_unless_present = "file")]
    sql: Option<String>,
    /// Read the query from a file
    #[arg(long, value_name = "FILE", conflicts_with = "sql")]
    file: Option<PathBuf>,
    /// What the query may cost, where it does not say itself [default: the catalog's]
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    epsilon: Option<String>,
    /// The δ that the query may take, where it does not say itself [default: the catalog's]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    delta: Option<String>,
    /// Spend nothing on an estimate of what the limits cut, which otherwise takes a twentieth of ε where something can be cut
    #[arg(long)]
    no_cut_estimate: bool,
    /// Ask the data even if a planned release that was made (`deniable tables`) tells the answer for nothing
    #[arg(long)]
    fresh: bool,
}

impl AskArguments {
    /// The file that the query is read from, if it is one.
    pub(crate) fn read_from(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The question, asked by `analyst`.
    pub(crate) fn ask(&self, analyst: String) -> Result<QueryRequest, CliError> {
        let epsilon = self.epsilon.as_deref().map(Epsilon::parse).transpose();
        let delta = self.delta.as_deref().map(Delta::parse).transpose();
        let (epsilon, delta) = (epsilon.map_err(explained)?, delta.map_err(explained)?);
        let sql = match (&self.sql, &self.file) {
            (Some(text), _) if text == "-" => read(std::io::stdin().lock(), "standard input")?,
            (Some(text), _) => text.clone(),
            (None, Some(path)) => {
                let name = format!("`{}`", path.display());
                let file = std::fs::File::open(path).map_err(|cause| {
                    CliError::bad_input(format!("cannot read {name}: {}", cause.kind()))
                        .with_hint("name a file that holds one SELECT query")
                })?;
                read(file, &name)?
            }
            (None, None) => String::new(),
        };
        Ok(QueryRequest {
            epsilon,
            delta,
            cut_estimate: !self.no_cut_estimate,
            fresh: self.fresh,
            ..QueryRequest::new(sql, analyst)
        })
    }
}

fn read(input: impl Read, name: &str) -> Result<String, CliError> {
    let mut bytes = Vec::new();
    let cannot = |what: String| CliError::bad_input(what).with_hint("give it one SELECT query as text");
    input
        .take(LONGEST)
        .read_to_end(&mut bytes)
        .map_err(|cause| cannot(format!("cannot read {name}: {}", cause.kind())))?;
    String::from_utf8(bytes).map_err(|_| cannot(format!("{name} is not text")))
}

/// Takes over the text of a catalog that is about to be used: where curators have accounts, what loosens it
/// needs two of them.
pub(crate) fn take_over(store: &mut Store, catalog: &Path) -> Result<(), CliError> {
    use server::governance::{self, Error};
    let text = std::fs::read_to_string(catalog).map_err(|cause| {
        CliError::bad_input(format!("cannot read {}: {}", catalog.display(), cause.kind()))
            .with_hint("is the catalog still there?")
    })?;
    let by = AnalystArguments::default().name();
    governance::take_over(store, &by, &text).map_err(|error| match error {
        Error::NeedsTwo { .. } => explained(error).with_code(exit_code::REFUSED),
        error => explained(error),
    })
}

/// Why a question has no answer, with the exit code of its kind.
pub(crate) fn unanswered(error: sql::Error) -> CliError {
    use mechanism::Error::Refused;
    match error {
        sql::Error::OverBudget(over) => CliError::bad_input(over.what)
            .with_hint(over.hint)
            .with_code(exit_code::REFUSED)
            .with_detail("cost", over.cost)
            .with_detail("left_epsilon", over.left.to_string())
            .with_detail("fits_epsilon", over.fits.map(|fits| fits.to_string())),
        sql::Error::Ledger(error) => of_the_ledger(error),
        sql::Error::Mechanism(Refused(_)) => explained(error).with_code(exit_code::REFUSED),
        sql::Error::Engine { .. } => explained(error).with_code(exit_code::INTERNAL),
        other => explained(other),
    }
}

/// Why a ledger takes nothing, with the exit code of its kind: what it refuses is no mistake in the input.
pub(crate) fn of_the_ledger(error: ledger::Error) -> CliError {
    use ledger::Error::{Broken, NoShare, OtherRules, Rewound, Snapshot, Vanished};
    let refuses = matches!(
        error,
        Broken { .. }
            | NoShare { .. }
            | OtherRules { .. }
            | Rewound { .. }
            | Snapshot { .. }
            | Vanished { .. }
    );
    let reported = explained(error);
    if refuses {
        reported.with_code(exit_code::REFUSED)
    } else {
        reported
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalog_that_is_meant() {
        let path = |text: &str| Some(PathBuf::from(text));
        let variable = |text: &str| Some(OsString::from(text));
        let file = |text: &str| Chosen::File(PathBuf::from(text));
        assert_eq!(chosen(path("a.toml"), variable("b.toml"), true), file("a.toml"));
        assert_eq!(chosen(None, variable("b.toml"), true), file("b.toml"));
        assert_eq!(chosen(None, variable(""), true), file("deniable.toml"));
        assert_eq!(chosen(None, None, true), file("deniable.toml"));
        assert_eq!(chosen(None, None, false), Chosen::Sample);
    }

    #[test]
    fn the_sample_lies_where_data_lies() {
        let text = |text: &str| Some(OsString::from(text));
        let directory = |data, home| data_directory(data, home).map(|path| path.display().to_string());
        assert_eq!(
            directory(text("/data"), text("/home/ann")).unwrap(),
            "/data/deniable"
        );
        let at_home = "/home/ann/.local/share/deniable";
        assert_eq!(directory(None, text("/home/ann")).unwrap(), at_home);
        assert_eq!(directory(text("relative"), text("/home/ann")).unwrap(), at_home);
        assert_eq!(directory(text(""), text("")).unwrap_err().code, 2);
    }

    #[test]
    fn a_draft_is_called_one() {
        let path = Path::new("deniable.toml");
        let head = "# CHECK marks guesses. FILL IN marks what only you can know.\nname = \"FILL IN\"\n";
        assert_eq!(unfilled(path, head), None);
        let one = unfilled(
            path,
            &format!("{head}age = {{ kind = \"int\" }}  # FILL IN bounds\n"),
        )
        .unwrap();
        assert!(
            one.starts_with("warning: deniable.toml is a draft: line 3 is marked FILL IN. ")
                && one.contains("\nhint: "),
            "{one}"
        );
        let two = unfilled(path, "# FILL IN whose\n\n# FILL IN: kinds\n").unwrap();
        assert!(two.contains("lines 1, 3 are marked"), "{two}");
    }

    #[test]
    fn who_asks() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(named(text("ann"), [text("bob"), None, None]), "ann");
        assert_eq!(named(None, [text(" bob "), text("root"), None]), "bob");
        assert_eq!(named(None, [text(""), None, text("root")]), "root");
        assert_eq!(named(None, [None, None, None]), "analyst");
        assert_eq!(named(text(" Ann\u{200b}  LEE"), [None, None, None]), "ann lee");
        // What is no name is left for the ledger to refuse.
        assert_eq!(named(text(" "), [text("bob"), None, None]), " ");
    }

    #[test]
    fn what_is_no_text_is_refused_without_a_word_of_it() {
        let error = read([0xff, 0xfe].as_slice(), "standard input").unwrap_err();
        assert_eq!(
            (error.message.as_str(), error.code),
            ("standard input is not text", 2)
        );
    }
}
