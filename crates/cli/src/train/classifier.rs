//! `deniable train classifier`.

use super::examples::Numbers;
use super::model_file::{Described, shape};
use super::options::{DeviceName, Files, Learning, Privacy};
use super::origin::{Origin, Source, absolute};
use super::session::{self, Shown};
use crate::dataset::CatalogArguments;
use crate::terminal::{CliError, explained, fail};
use device::{Cpu, Device};
use mechanism::Account;
use std::path::Path;
use train::model::Model;
use train::models::{Mlp, Sharded};
use train::private::{Checkpoint, Task, Trainer};

/// Train a classifier or a regressor on a declared table
///
/// Numbers are scaled by their declared bounds and values counted off in their declared lists, so nothing is learned from the data before the first private
/// step. A label with declared values, or true and false, makes a classifier; a number makes a regressor. Rows of one unit are clipped together.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  deniable train classifier --table people --label employed --size 300000
  deniable train classifier --table people --label income --features age,education --hidden 32 --size 300000
  deniable train evaluate model.safetensors --table people

Without --hidden it is logistic or linear regression.

Exit code: 0 when the model was written, also after Ctrl-C; 2 when nothing was trained or charged.")]
pub(super) struct Arguments {
    /// The table
    #[arg(long, value_name = "NAME")]
    table: String,
    /// The column that is learned
    #[arg(long, value_name = "NAME")]
    label: String,
    /// The columns that it is learned from [default: all others that the catalog says enough about]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    features: Vec<String>,
    /// The widths of the layers between
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
    session::check_free(&files.checkpoint())?;
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
        budget: (String::new(), String::new()),
        analyst: files.analyst.name(),
        device: arguments.learning.device,
        out: absolute(&files.out),
        every: files.every,
        validation: None,
        plot: None,
    };
    let described = Described::Table {
        encoding,
        hidden: arguments.hidden.clone(),
    };
    let shown = Shown {
        json: files.json,
        quiet: files.quiet,
    };
    train_on_device(
        &Begun::New(arguments),
        &described,
        &origin,
        &files.checkpoint(),
        shown,
    )
}

/// A new run, or one that goes on.
pub(super) enum Begun<'a> {
    New(&'a Arguments),
    Resumed,
}

/// Trains where it was asked to.
pub(super) fn train_on_device(
    begun: &Begun<'_>,
    described: &Described,
    origin: &Origin,
    checkpoint: &Path,
    shown: Shown,
) -> Result<(), CliError> {
    match origin.device {
        DeviceName::Cpu => train(Cpu::<f32>::default(), begun, described, origin, checkpoint, shown),
        DeviceName::Cuda => train(super::cuda()?, begun, described, origin, checkpoint, shown),
    }
}

fn train<D: Device<Scalar = f32> + 'static>(
    device: D,
    begun: &Begun<'_>,
    described: &Described,
    origin: &Origin,
    checkpoint: &Path,
    shown: Shown,
) -> Result<(), CliError>
where
    D::Buffer: Sync,
{
    let (Described::Table { encoding, hidden }, Source::Table { table, .. }) = (described, &origin.source)
    else {
        return fail(
            "this run is not about a table",
            "resume it with its own checkpoint",
        );
    };
    let dataset = origin.source.dataset()?.expect("a table has a catalog");
    let (numbers, units) = Numbers::read(&origin.source, &dataset, table, encoding)?;
    let shape = shape(encoding, hidden);
    let layout = Mlp::new(Cpu::<f32>::default(), shape.clone()).map_err(explained)?;
    let resumed = match begun {
        Begun::New(_) => None,
        Begun::Resumed => Some(Checkpoint::read(layout.layout(), checkpoint).map_err(explained)?),
    };
    let threads = match (begun, &resumed, origin.device) {
        (_, _, DeviceName::Cuda) => 1,
        (Begun::New(arguments), _, _) => arguments.learning.threads(),
        (Begun::Resumed, Some(kept), _) => kept.recipe().threads,
        (Begun::Resumed, None, _) => 1,
    };
    let copies = (0..threads)
        .map(|_| Mlp::new(device.clone(), shape.clone()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(explained)?;
    let task = Task {
        device: device.clone(),
        model: Sharded::new(device, copies),
        examples: &numbers,
        units: &units,
    };
    let keeping = Some(session::keeping(origin, described, checkpoint));
    let question = format!("training on {}", origin.source.name());
    // What is refused leaves no trace, not even an empty ledger.
    let planned = match begun {
        Begun::New(arguments) => {
            let unit = &dataset.catalog().unit;
            arguments.privacy.for_declared_table(unit)?;
            let plan = arguments.privacy.plan(unit, None, units.count() as u64)?;
            let recipe = arguments.learning.recipe(plan.parameters().steps, 1e-2);
            Some((plan, recipe))
        }
        Begun::Resumed => None,
    };
    let mut store = dataset.ledger().map_err(explained)?;
    let session = store.session(&origin.analyst, &question).map_err(explained)?;
    let mut account = Account::open(session).map_err(explained)?;
    let trainer = match (planned, resumed) {
        (Some((plan, recipe)), _) => Trainer::begin(&mut account, task, plan, recipe, keeping, &question),
        (None, Some(kept)) => Trainer::resume(&mut account, task, kept, keeping),
        (None, None) => unreachable!("a run that goes on has a checkpoint"),
    };
    session::finish(
        trainer.map_err(explained)?,
        described,
        origin,
        checkpoint,
        shown,
        "nothing",
        |_: &mut Sharded<D, Mlp<D>>, _| None,
    )
}
