//! `deniable limits`: finds privately how much of one unit should count, and writes it into the catalog.

use crate::dataset::{AnalystArguments, CatalogArguments, unanswered};
use crate::terminal::{self, CliError, Progress, explained, fail, write_file_atomically};
use accounting::Epsilon;
use clap::Args;
use report::{Column, Table, significant};
use serde_json::json;
use sql::blocking::Dataset;
use sql::{Between, Catalog, FindLimits, FoundLimits, Stage, Untuned, with_limits, without_found_bounds};
use std::path::Path;

const EXAMPLES: &str = "\
Examples:
  How many rows, how many groups and how large sums of one person should count?
    deniable limits visits --epsilon 0.1
  For questions that group by these columns
    deniable limits visits --epsilon 0.1 --group-by department --group-by \"date_trunc('month', day)\"
  What would be looked at? Spends nothing
    deniable limits visits --epsilon 0.1 --dry-run

Whatever is over a limit is cut: a low limit loses data, a high one needs more noise. This measures, privately, how the
numbers of rows and groups and the sums of persons are distributed, and chooses the limits for which a question that takes the
catalog's default ε errs least. It costs ε like a question, once; then the limits are written into the catalog as
[tables.TABLE.limits], everything else of it is left as it is, and queries use them from then on. Columns of numbers without
`bounds` get bounds, which are marked as found. Looking again at the same version of the data is free, also after the catalog
was written: what was released is used again. Remove the mark of bounds to make them yours; sums of that column are then looked
at too, which is a new question.";

/// Find the limits of a table privately, and write them into the catalog
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The table
    table: String,
    /// What it may cost
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    epsilon: String,
    /// A column, or an expression of columns, that queries group by; may be repeated [default: columns with declared `values`]
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
    let catalog = Catalog::read(&path).map_err(explained)?;
    let text = readable_text(&path)?;
    // As it was before bounds were found, so that the same is asked again.
    let before = without_found_bounds(&text, &find.table.to_lowercase());
    let catalog = Catalog::parse(&before, &catalog.directory).unwrap_or(catalog);
    let dataset = Dataset::new(catalog).map_err(explained)?;
    if arguments.dry_run {
        let (asked, left_out) = dataset.limits_asked(&find).map_err(explained)?;
        if arguments.json {
            return terminal::print(&format!(
                "{}\n",
                json!({ "asked": asked, "left_out": left_out, "epsilon": find.epsilon })
            ));
        }
        return terminal::print(&format!(
            "would measure, unit by unit, the distribution of: {}\nfor ε = {} in all\n{}",
            asked.join("; "),
            find.epsilon,
            not_looked_at(&left_out)
        ));
    }
    // What cannot be written shall not be paid for.
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
            Stage::Understood | Stage::Begun => progress.label("charging"),
            Stage::Charged => progress.label("charged; reading the data"),
            Stage::Measured => progress.label("adding noise"),
            Stage::Drawn | Stage::Computing => progress.label("saving what was found"),
        };
        dataset.find_limits(&find, &mut watch).map_err(unanswered)?
    };
    let directory = path.parent().unwrap_or(Path::new("."));
    let edited = with_limits(&text, &found, directory).map_err(explained)?;
    write_file_atomically(&path, edited.as_bytes())?;
    if arguments.json {
        return terminal::print(&format!("{}\n", found.to_json()));
    }
    terminal::print(&table(&found))?;
    let charged = if found.repeated {
        "free: found before for"
    } else {
        "cost:"
    };
    if let Some(cost) = &found.answer.cost {
        eprintln!(
            "{charged} {} (charge {})",
            sql::readable(&cost.guarantee),
            cost.charge
        );
    }
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
        Column::Right("units over it (95 %)"),
        Column::Right("cut, about (likely)"),
    ]);
    for profile in &found.profiles {
        let units = |units: f64| significant(units.round(), 2);
        let per_cent = |part: f64| significant(part * 100.0, 2);
        table.row([
            profile.of.clone(),
            shown(profile.limit),
            between(&profile.units_over, units),
            match &profile.cut {
                Some(cut) => format!("{} %", between(cut, per_cent)),
                None => String::new(),
            },
        ]);
    }
    let mut text = table.to_string();
    for (column, range) in &found.bounds {
        text += &format!(
            "bounds of {column}: {} to {}\n",
            shown(range.low),
            shown(range.high)
        );
    }
    text += &not_looked_at(&found.left_out);
    text
}

/// Columns that are missing, and why.
fn not_looked_at(left_out: &[Untuned]) -> String {
    left_out
        .iter()
        .map(|left| format!("no limit of {}: {}\n", left.column, left.why))
        .collect()
}

fn between(numbers: &Between, shown: impl Fn(f64) -> String) -> String {
    format!(
        "{} ({} to {})",
        shown(numbers.estimate),
        shown(numbers.low),
        shown(numbers.high)
    )
}

/// A whole number without a point, any other with six digits.
fn shown(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e15 {
        format!("{value:.0}")
    } else {
        significant(value, 6)
    }
}
