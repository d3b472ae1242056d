//! `deniable train classifier`.

use super::options::{Files, Learning, Privacy};
use super::places;
use super::report::{self, Shown};
use crate::dataset::CatalogArguments;
use crate::terminal::{CliError, explained, fail};
use training::{Description, Origin, Session, Source, absolute};

/// Train a classifier or a regressor on a declared table
///
/// Numbers are scaled by their declared bounds and values counted off in their declared lists, so nothing is learned from the data before the first private
/// step. A label with declared values, or true and false, makes a classifier; a number makes a regressor. Rows of one unit are clipped together.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  deniable train classifier --table people --label smoker --size 300000 --target-epsilon 4
  deniable train classifier --table people --label income --features age,education --hidden 32 --size 300000 --target-epsilon 4
  deniable train evaluate model.safetensors --public-file held_out.csv

Without --hidden it is logistic or linear regression.

Exit code: 0 when the model was written; 2 when the run cannot begin; 3 when the budget or the ledger refuses it; 130 when it was interrupted (Ctrl-C or SIGTERM)
and is saved. A run that was begun is charged, and is resumed with `deniable train resume`.")]
pub(super) struct Arguments {
    /// The table
    #[arg(long, value_name = "NAME")]
    table: String,
    /// The label: the column to predict
    #[arg(long, value_name = "NAME")]
    label: String,
    /// The feature columns [default: all others whose bounds or values the catalog declares]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    features: Vec<String>,
    /// The hidden layer sizes
    #[arg(long, value_name = "N,N,…", value_delimiter = ',')]
    hidden: Vec<usize>,
    #[command(flatten)]
    catalog: CatalogArguments,
    #[command(flatten)]
    privacy: Privacy,
    #[command(flatten)]
    learning: Learning,
    #[command(flatten)]
    files: Files,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    let files = &arguments.files;
    places::check_new_checkpoint(&files.checkpoint())?;
    if files.plot.is_some() {
        return fail(
            "there is no public data to measure a classifier on during its run",
            "leave out --plot, and look at the model with `deniable train evaluate`",
        );
    }
    let source = Source::Table {
        catalog: absolute(&arguments.catalog.path(files.json || files.quiet)?),
        table: arguments.table.clone(),
    };
    let dataset = source.dataset()?.expect("a table has a catalog");
    let encoding = sql::encoding(
        dataset.catalog(),
        &arguments.table,
        &arguments.label,
        &arguments.features,
    )
    .map_err(explained)?;
    let origin = Origin {
        source,
        ledger: None,
        budget: None,
        analyst: files.analyst.name(),
        device: arguments.learning.device(),
        out: absolute(&files.out),
        every: files.every,
        validation: None,
        plot: None,
    };
    let description = Description::Table {
        encoding,
        hidden: arguments.hidden.clone(),
    };
    let session = Session::new(
        description,
        origin,
        files.checkpoint(),
        arguments.privacy.settings()?,
        arguments.learning.settings(),
    );
    let shown = Shown {
        json: files.json,
        quiet: files.quiet,
    };
    report::run(session.overwriting(files.force), shown)
}
