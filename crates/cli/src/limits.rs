//! `deniable limits`: how much of one unit should count, found privately and written into the catalog.

use crate::dataset::{AnalystArguments, CatalogArguments, readable};
use crate::terminal::{self, CliError, Progress, explained, fail, write_file_atomically};
use accounting::Epsilon;
use clap::Args;
use report::{Column, Table, significant};
use serde_json::json;
use sql::blocking::Dataset;
use sql::{Catalog, FindLimits, FoundLimits, Stage, with_limits};
use std::path::Path;

const EXAMPLES: &str = "\
Examples:
  How many rows, how many groups and how large sums of one person should count?
    deniable limits visits --epsilon 0.1
  For questions that group by these columns
    deniable limits visits --epsilon 0.1 --group-by department --group-by month
  What would be looked at? Spends nothing
    deniable limits visits --epsilon 0.1 --dry-run

Whatever is over a limit is cut: a low limit loses data, a high one needs more noise. This looks, privately, at how many persons
have so many rows, are in so many groups and have so large sums, and chooses the limits for which a question that takes the
catalog's default ε errs least. It costs ε like a question, once; then the limits are written into the catalog as
[tables.TABLE.limits], everything else of it is left as it is, and queries use them from then on. Columns of numbers without
`bounds` get bounds.";

/// Find the limits of a table privately, and write them into the catalog
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The table
    table: String,
    /// What it may cost
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    epsilon: String,
    /// A column that questions group by; several may be named [default: those with declared `values`]
    #[arg(long, value_name = "COLUMN")]
    group_by: Vec<String>,
    #[command(flatten)]
    catalog: CatalogArguments,
    #[command(flatten)]
    analyst: AnalystArguments,
    /// Say what would be looked at, and stop: nothing is spent, read or written
    #[arg(long)]
    dry_run: bool,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CliError> {
    let find = FindLimits {
        table: arguments.table.clone(),
        epsilon: Epsilon::parse(&arguments.epsilon).map_err(explained)?,
        group_by: arguments.group_by.clone(),
        analyst: arguments.analyst.name(),
    };
    let path = arguments.catalog.path(arguments.json)?;
    let dataset = Dataset::new(Catalog::read(&path).map_err(explained)?).map_err(explained)?;
    if arguments.dry_run {
        let asked = dataset.limits_asked(&find).map_err(explained)?;
        if arguments.json {
            return terminal::print(&format!(
                "{}\n",
                json!({ "asked": asked, "epsilon": find.epsilon })
            ));
        }
        return terminal::print(&format!(
            "would look at how many there are with so large: {}\nfor ε = {} in all\n",
            asked.join("; "),
            find.epsilon
        ));
    }
    // What cannot be written shall not be paid for.
    let text = readable_text(&path)?;
    let writable = std::fs::metadata(&path).is_ok_and(|metadata| !metadata.permissions().readonly());
    if !writable {
        return fail(
            format!("`{}` may not be written", path.display()),
            "copy the catalog to where you may write, and name it with --catalog; nothing was charged",
        );
    }
    let found = {
        let progress = Progress::waiting("understanding the question", arguments.json);
        let mut watch = |stage| match stage {
            Stage::Understood => progress.label("charging"),
            Stage::Charged => progress.label("charged; reading the data"),
            Stage::Measured => progress.label("adding noise"),
            Stage::Drawn => progress.label("saving what was found"),
        };
        dataset.find_limits(&find, &mut watch).map_err(explained)?
    };
    let directory = path.parent().unwrap_or(Path::new("."));
    let edited = with_limits(&text, &found, directory).map_err(explained)?;
    write_file_atomically(&path, edited.as_bytes())?;
    if arguments.json {
        return terminal::print(&format!("{}\n", object(&found)));
    }
    terminal::print(&table(&found))?;
    let cost = &found.answer.cost;
    let charged = if found.repeated {
        "free: found before for"
    } else {
        "cost:"
    };
    eprintln!("{charged} {} (charge {})", readable(&cost.guarantee), cost.charge);
    eprintln!(
        "wrote [tables.{}.limits] into {}; for questions of ε = {}",
        found.table,
        path.display(),
        found.question_epsilon
    );
    Ok(())
}

fn readable_text(path: &Path) -> Result<String, CliError> {
    std::fs::read_to_string(path).map_err(|cause| {
        CliError::bad_input(format!("cannot read `{}`: {}", path.display(), cause.kind()))
            .with_hint("name the catalog with --catalog")
    })
}

/// What was chosen, for people.
fn table(found: &FoundLimits) -> String {
    let mut table = Table::new([
        Column::Left("of one unit"),
        Column::Right("limit"),
        Column::Right("units over it, about"),
        Column::Right("cut, about"),
    ]);
    for profile in &found.profiles {
        table.row([
            profile.of.clone(),
            significant(profile.limit, 6),
            significant(profile.units_over, 2),
            format!("{} %", significant(profile.cut * 100.0, 2)),
        ]);
    }
    let mut text = table.to_string();
    for (column, range) in &found.bounds {
        text += &format!("bounds of {column}: {} to {}\n", range.low, range.high);
    }
    text
}

/// The same for programs.
fn object(found: &FoundLimits) -> serde_json::Value {
    let limits = &found.limits;
    let sums = |limits: &sql::catalog::Limits| -> serde_json::Value {
        limits
            .sums
            .iter()
            .map(|(column, range)| (column.clone(), json!([range.low, range.high])))
            .collect()
    };
    let by: serde_json::Map<String, serde_json::Value> = limits
        .by
        .iter()
        .map(|(column, by)| {
            let told = json!({ "groups": by.groups, "rows_per_group": by.rows_per_group, "sums": sums(by) });
            (column.clone(), told)
        })
        .collect();
    let bounds: serde_json::Map<String, serde_json::Value> = found
        .bounds
        .iter()
        .map(|(column, range)| (column.clone(), json!([range.low, range.high])))
        .collect();
    json!({
        "table": found.table,
        "limits": {
            "rows": limits.rows,
            "groups": limits.groups,
            "rows_per_group": limits.rows_per_group,
            "sums": sums(limits),
            "by": by,
        },
        "bounds": bounds,
        "profiles": found.profiles,
        "question_epsilon": found.question_epsilon,
        "cost": found.answer.cost,
        "repeated": found.repeated,
    })
}
