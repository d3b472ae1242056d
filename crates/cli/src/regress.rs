//! `deniable regress`: models and tests whose errors count the noise.

use crate::dataset::{AnalystArguments, CatalogArguments, unanswered};
use crate::outputs;
use crate::query::{self, listen};
use crate::terminal::{self, CliError, Progress, explained, fail};
use accounting::{Delta, Epsilon};
use clap::{Args, ValueEnum};
use serde_json::json;
use sql::{Regressed, RegressionRequest, TestOf, readable};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  How does income go with age and education? (of the built-in sample when there is no catalog here)
    deniable regress 'income ~ age + education' --table people --epsilon 1
  What would it cost, and which query is measured? Spends nothing
    deniable regress 'income ~ age + education' --explain
  Who smokes? Log odds, by bins of 20 years
    deniable regress 'smoker ~ age + sex' --family logistic --bins age=20 --reference sex=female
  Means of groups and all their differences
    deniable regress 'income ~ education' --epsilon 0.5
  An interaction; numbers by value; only some rows
    deniable regress 'hours ~ age * sex' --where \"age >= 18\"
  From a planned release that was made: free
    deniable tables release census
    deniable regress 'smoker = true ~ age + education' --release census
  Tests, with p-values that count the noise
    deniable regress 'smoker ~ education' --test independence
    deniable regress 'smoker = true ~ sex' --test proportions --groups female,male
    deniable regress 'income ~ sex' --test means --groups female,male --epsilon 0.5
  For a paper, and for a program
    deniable regress 'income ~ age' --latex table.tex --plot forest.svg
    deniable regress 'income ~ age' --json

A formula is R's: what is explained, ~, and what explains it. a + b are two terms, a:b their interaction, a * b all three.
Columns with declared `values` are factors: one coefficient for each value but the first, or the one that --reference names.
Numbers need declared `bounds`: what lies beyond is clamped. factor(age) has a coefficient for each value or bin.

What is measured is one ordinary query: counts, and sums of products of numbers, by the factors. It is charged once; the same
model again is free. Rows with NULL in one of its columns are left out, as in R.

The standard error counts two things: that the rows are a sample, and the noise. What of it is noise stands beside it. If the
rows are everybody you want to speak of, that part alone is the error. Logistic and Poisson models, and models from a release,
take a number for the middle of its bin: how far that is off, no interval says.";

/// Fit a model to a table, or test a hypothesis: standard errors and p-values that count the noise
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// What is explained by what: 'income ~ age + education'
    #[arg(value_name = "FORMULA")]
    formula: String,
    /// The table [default: the only private one, or that of the release]
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
    #[command(flatten)]
    catalog: CatalogArguments,
    #[command(flatten)]
    analyst: AnalystArguments,
    /// What it may cost [default: the catalog's]
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    epsilon: Option<String>,
    /// The δ that it may cost [default: the catalog's]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    delta: Option<String>,
    /// What the response is like
    #[arg(long, value_enum, default_value = "linear")]
    family: Family,
    /// A test in place of a model
    #[arg(long, value_enum)]
    test: Option<Test>,
    /// The two groups that a test compares, with a comma between [default: the only two]
    #[arg(long, value_name = "A,B", requires = "test")]
    groups: Option<String>,
    /// Only rows that fulfil this SQL condition
    #[arg(long = "where", value_name = "CONDITION")]
    condition: Option<String>,
    /// The value that others of a factor are compared with; may be repeated
    #[arg(long, value_name = "COLUMN=VALUE")]
    reference: Vec<String>,
    /// How wide the bins of a number are, where rows are counted by it; may be repeated
    #[arg(long, value_name = "COLUMN=WIDTH")]
    bins: Vec<String>,
    /// Read it from a planned release that was made: nothing is charged
    #[arg(long, value_name = "NAME", conflicts_with_all = ["condition", "bins", "delta"])]
    release: Option<String>,
    /// Say which query is measured and what it would cost; spends nothing
    #[arg(long, conflicts_with_all = ["release", "latex", "plot"])]
    explain: bool,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
    /// Write the table of coefficients for LaTeX
    #[arg(long, value_name = "FILE.tex", conflicts_with = "test")]
    latex: Option<PathBuf>,
    /// Write a forest plot of the coefficients
    #[arg(long, value_name = "FILE.svg", conflicts_with = "test")]
    plot: Option<PathBuf>,
    /// Say nothing besides the result
    #[arg(long, short)]
    quiet: bool,
}

/// What the response is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Family {
    /// Least squares: a number
    Linear,
    /// Whether something happens: coefficients are log odds
    Logistic,
    /// A count: coefficients are logs of means
    Poisson,
}

/// Which test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Test {
    /// Whether two columns are independent (χ²)
    Independence,
    /// Whether a share is the same in two groups
    Proportions,
    /// Whether a mean is the same in two groups (Welch)
    Means,
}

impl Arguments {
    fn request(&self, table: String) -> Result<RegressionRequest, CliError> {
        let groups = match &self.groups {
            None => None,
            Some(text) => match text.split_once(',') {
                Some((one, other)) => Some((one.trim().to_owned(), other.trim().to_owned())),
                None => return fail("--groups names two values", "write --groups female,male"),
            },
        };
        let mut bins = Vec::new();
        for (column, width) in pairs(&self.bins, "--bins age=10")? {
            match width.parse::<f64>() {
                Ok(width) => bins.push((column, width)),
                Err(_) => return fail(format!("{width} is no width"), "write --bins age=10"),
            }
        }
        Ok(RegressionRequest {
            family: match self.family {
                Family::Linear => sql::Family::Linear,
                Family::Logistic => sql::Family::Logistic,
                Family::Poisson => sql::Family::Poisson,
            },
            test: self.test.map(|test| match test {
                Test::Independence => TestOf::Independence,
                Test::Proportions => TestOf::Proportions(groups),
                Test::Means => TestOf::Means(groups),
            }),
            condition: self.condition.clone(),
            references: pairs(&self.reference, "--reference sex=female")?,
            bins,
            release: self.release.clone(),
            epsilon: self
                .epsilon
                .as_deref()
                .map(Epsilon::parse)
                .transpose()
                .map_err(explained)?,
            delta: self
                .delta
                .as_deref()
                .map(Delta::parse)
                .transpose()
                .map_err(explained)?,
            ..RegressionRequest::new(&self.formula, table, self.analyst.name())
        })
    }
}

fn pairs(texts: &[String], shown: &str) -> Result<Vec<(String, String)>, CliError> {
    let mut pairs = Vec::new();
    for text in texts {
        match text.split_once('=') {
            Some((column, value)) => pairs.push((column.trim().to_owned(), value.trim().to_owned())),
            None => return fail(format!("{text} has no ="), format!("write {shown}")),
        }
    }
    Ok(pairs)
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CliError> {
    let dataset = arguments.catalog.open_to_ask(arguments.json || arguments.quiet)?;
    let (table, release) = (arguments.table.as_deref(), arguments.release.as_deref());
    let table = sql::table_of_model(dataset.catalog(), table, release).map_err(unanswered)?;
    let request = arguments.request(table)?;
    if arguments.explain {
        let (sql, explanation) = dataset.explain_regression(&request).map_err(unanswered)?;
        if arguments.json {
            return terminal::print(&format!(
                "{}\n",
                json!({ "sql": sql, "explanation": explanation })
            ));
        }
        return terminal::print(&format!(
            "measured by this query, and nothing else:\n  {sql}\n\n{}\nnothing was spent\n",
            explanation.to_text(&[], false)
        ));
    }
    let files = [("--latex", &arguments.latex), ("--plot", &arguments.plot)];
    let written: Vec<_> = files
        .iter()
        .filter_map(|(name, path)| Some((*name, path.as_deref()?)))
        .collect();
    if !written.is_empty() {
        outputs::check(&dataset, &arguments.catalog.path(true)?, &[], &written)?;
    }
    let watched = listen(arguments.json);
    let progress = Progress::waiting("understanding the formula", arguments.json || arguments.quiet);
    let regressed = dataset.regress(&request, &mut query::watching(&progress, &watched));
    query::reached_nothing(&watched);
    let regressed = regressed.map_err(unanswered)?;
    drop(progress);
    for (path, text) in [
        (&arguments.latex, regressed.to_latex()),
        (&arguments.plot, regressed.to_plot()),
    ] {
        if let (Some(path), Some(text)) = (path, text) {
            terminal::write_file_atomically(path, text.as_bytes())?;
            if !arguments.quiet {
                eprintln!("wrote {}", path.display());
            }
        }
    }
    if arguments.json {
        return terminal::print(&format!("{}\n", regressed.to_json()));
    }
    terminal::print(&regressed.to_text())?;
    if !arguments.quiet {
        eprint!("{}", cost(&regressed));
    }
    Ok(())
}

/// What it cost, for standard error.
fn cost(regressed: &Regressed) -> String {
    let Some(cost) = &regressed.cost else {
        return String::new();
    };
    let guarantee = readable(&cost.guarantee);
    let charge = cost.charge;
    let mut text = match (&regressed.release, regressed.repeated) {
        (Some(release), _) => {
            format!("free: from the release {release}, made for {guarantee} (charge {charge})\n")
        }
        (None, true) => format!(
            "free: this was measured before, for {guarantee} (charge {charge}); nothing was charged now\n"
        ),
        (None, false) => format!("cost: {guarantee} (charge {charge}); the same model again is free\n"),
    };
    text += &format!(
        "left: ε = {} (if spent in one more query)\n",
        regressed.left.epsilon
    );
    text
}
