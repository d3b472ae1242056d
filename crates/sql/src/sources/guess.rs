//! Which kind fits what the columns of a text file hold.
//!
//! **Nothing here is private.** Every value is looked at, and one row decides whether all of them are whole numbers. It is for data that is public, and for a curator who has been told.

use super::{incident, provider};
use crate::Error;
use crate::catalog::Table;
use crate::values::facts::{Facts, Kind};
use bound::canonical_integer;
use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::Column;
use datafusion::error::DataFusionError;
use datafusion::functions::unicode::expr_fn::substr;
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::{Expr, lit, try_cast, when};
use datafusion::prelude::SessionContext;

/// What people write where a number or a day is missing.
const MARKERS: [&str; 7] = ["NA", "N/A", "NULL", "null", "?", "-", "."];
/// Kinds in the order in which they are tried; whatever fits none of them is text.
const TRIED: [Kind; 5] = [Kind::Int, Kind::Float, Kind::Date, Kind::Timestamp, Kind::Bool];
/// Columns of one pass: more at once make a plan that takes longer than the rows.
const AT_ONCE: usize = 12;

/// What a column was found to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Guess {
    /// The column.
    pub(crate) column: String,
    /// The first kind into which all values go that there are.
    pub(crate) kind: Kind,
    /// Whether there are any.
    pub(crate) has_values: bool,
    /// What has to be declared to stand for NULL, so that they do.
    pub(crate) nulls: Vec<&'static str>,
}

/// The kinds of these columns, which are of text where they lie. Those that tell whose rows these are, as `table` says, are whole numbers if each is written as identifiers have to be, and
/// text otherwise.
///
/// # Errors
/// When the table cannot be read.
pub(crate) async fn guess(
    session: &SessionContext,
    name: &str,
    table: &Table,
    columns: &[String],
) -> Result<Vec<Guess>, Error> {
    let wrong = |error: DataFusionError| incident(format!("table `{name}`"), error);
    // Declared as something else than text, spaces around values and empty values mean nothing.
    let mut read = table.clone();
    read.columns = columns
        .iter()
        .map(|column| (column.clone(), Facts::unknown(Kind::Int)))
        .collect();
    let rows = session
        .read_table(provider(&session.state(), name, &read).await?)
        .map_err(wrong)?;
    let mut found = Vec::new();
    for columns in columns.chunks(AT_ONCE) {
        let mut counts = Vec::new();
        for column in columns {
            let counted = match table.identifies(column) {
                true => of_identifier(column),
                false => of_values(column).map_err(wrong)?,
            };
            counts.extend(counted.into_iter().map(|expression| (column, expression)));
        }
        let aliased = counts.iter().enumerate();
        let aliased = aliased.map(|(place, (_, expression))| expression.clone().alias(format!("c{place}")));
        let counted = rows
            .clone()
            .aggregate(vec![], aliased.collect())
            .map_err(wrong)?
            .collect()
            .await
            .map_err(wrong)?;
        let counted = counted.into_iter().find(|batch| batch.num_rows() == 1);
        let counted =
            counted.ok_or_else(|| incident(format!("table `{name}`"), "an aggregate without a row"))?;
        let mut place = 0;
        for column in columns {
            let own = counts.iter().filter(|(of, _)| *of == column).count();
            let numbers: Vec<i64> = (place..place + own)
                .map(|index| integer(&counted, index))
                .collect();
            place += own;
            found.push(match table.identifies(column) {
                true => identifier(column, &numbers),
                false => value(column, &numbers),
            });
        }
    }
    Ok(found)
}

fn of_identifier(column: &str) -> Vec<Expr> {
    let own = Expr::Column(Column::from_name(column));
    let text = try_cast(own.clone(), Kind::Text.data_type());
    vec![count(own), count(canonical_integer(text))]
}

fn identifier(column: &str, counts: &[i64]) -> Guess {
    let (all, canonical) = (counts[0], counts[1]);
    Guess {
        column: column.to_owned(),
        kind: match all > 0 && canonical == all {
            true => Kind::Int,
            false => Kind::Text,
        },
        has_values: all > 0,
        nulls: Vec::new(),
    }
}

/// How many values there are, how many begin with a zero that numbers do not begin with, how many of them fit each kind, and how often each marker occurs.
fn of_values(column: &str) -> Result<Vec<Expr>, DataFusionError> {
    let own = Expr::Column(Column::from_name(column));
    let counted =
        |condition: Expr| -> Result<Expr, DataFusionError> { Ok(count(when(condition, lit(1)).end()?)) };
    let begins = |place: i64| substr(own.clone(), lit(place));
    // `007` and `01234` are codes: as numbers they would lose their zeros.
    let second = begins(2);
    let code = own
        .clone()
        .like(lit("0%"))
        .and(second.clone().gt_eq(lit("0")))
        .and(second.lt(lit(":")));
    let mut counts = vec![count(own.clone()), counted(code)?];
    for kind in TRIED {
        let cast = try_cast(own.clone(), kind.data_type()).is_not_null();
        counts.push(counted(match kind {
            // What has a time is a moment, and a day is ten characters long.
            Kind::Date => begins(11)
                .eq(lit(""))
                .and(try_cast(own.clone(), DataType::Date32).is_not_null()),
            _ => cast,
        })?);
    }
    for marker in MARKERS {
        counts.push(counted(own.clone().eq(lit(marker)))?);
    }
    Ok(counts)
}

fn value(column: &str, counts: &[i64]) -> Guess {
    let (all, codes) = (counts[0], counts[1]);
    let (fits, markers) = counts[2..].split_at(TRIED.len());
    let marked: i64 = markers.iter().sum();
    // No marker is a value of any of these kinds.
    let kind = TRIED.into_iter().zip(fits).find(|(kind, fits)| {
        **fits > 0 && **fits + marked == all && !(codes > 0 && matches!(kind, Kind::Int | Kind::Float))
    });
    let nulls = match kind {
        Some(_) => MARKERS
            .into_iter()
            .zip(markers)
            .filter(|(_, times)| **times > 0)
            .map(|(marker, _)| marker)
            .collect(),
        None => Vec::new(),
    };
    Guess {
        column: column.to_owned(),
        kind: kind.map_or(Kind::Text, |(kind, _)| kind),
        has_values: all > marked,
        nulls,
    }
}

fn integer(batch: &RecordBatch, index: usize) -> i64 {
    batch
        .column(index)
        .as_primitive_opt::<Int64Type>()
        .map_or(0, |column| column.value(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Owner, Source};
    use crate::sources::tests_support::run;

    /// What columns of these values are taken for; the last is said to name the unit.
    fn guessed(header: &str, rows: &[&str]) -> Vec<(Kind, Vec<&'static str>)> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        std::fs::write(&path, format!("{header}\n{}\n", rows.join("\n"))).unwrap();
        let columns: Vec<String> = header.split(',').map(str::to_owned).collect();
        let mut table = Table::undeclared(Source::Csv(path));
        table.owner = Owner::Column(columns[columns.len() - 1].clone());
        let found = run(guess(&SessionContext::new(), "table", &table, &columns)).unwrap();
        assert!(
            found
                .iter()
                .zip(&columns)
                .all(|(guess, column)| guess.column == *column)
        );
        found.into_iter().map(|guess| (guess.kind, guess.nulls)).collect()
    }

    #[test]
    fn a_kind_is_guessed_only_if_every_value_fits() {
        let found = guessed(
            "whole,half,day,moment,truth,code,word,marked,words,negative,id",
            &[
                " 7 ,1.5,2020-01-31,2020-01-31 10:00:00,true,01234,7,NA,NA,-3,12",
                "0,1e3,1999-12-01,2021-01-01 00:00:00,false,98765,x,12,why,+4,-7",
                ",,,,,,,?,,,",
                "10,0.5,2000-02-29,2022-01-01T11:30:00,true,00001,8,0,?,0,0",
            ],
        );
        let kinds: Vec<Kind> = found.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(
            kinds,
            [
                Kind::Int,
                Kind::Float,
                Kind::Date,
                Kind::Timestamp,
                Kind::Bool,
                Kind::Text,
                Kind::Text,
                Kind::Int,
                Kind::Text,
                Kind::Int,
                Kind::Int
            ]
        );
        assert_eq!(found[7].1, ["NA", "?"]);
        assert!(found[8].1.is_empty(), "of text, a marker may be a value");
    }

    /// A number as which two identifiers would be one, or one would be nobody's, is not proposed.
    #[test]
    fn identifiers_stay_text_unless_each_is_a_whole_number_in_its_one_spelling() {
        for (identifier, kind) in [
            ("7", Kind::Int),
            ("007", Kind::Text),
            ("+7", Kind::Text),
            ("7.0", Kind::Text),
            ("1e3", Kind::Text),
            ("-0", Kind::Text),
            ("NA", Kind::Text),
            ("9223372036854775808", Kind::Text),
            ("2020-01-01", Kind::Text),
            ("true", Kind::Text),
            ("ann", Kind::Text),
        ] {
            let found = guessed("x,id", &["1,1", &format!("2,{identifier}")]);
            assert_eq!(found[1], (kind, Vec::new()), "{identifier}");
        }
        assert_eq!(guessed("x,id", &["1,", ","])[1].0, Kind::Text, "there is none");
    }

    #[test]
    fn columns_beyond_one_pass_are_guessed_too() {
        let names: Vec<String> = (0..3 * AT_ONCE).map(|place| format!("c{place}")).collect();
        let row: Vec<String> = (0..3 * AT_ONCE)
            .map(|place| ["5", "5.5", "word"][place % 3].to_owned())
            .collect();
        let found = guessed(&names.join(","), &[&row.join(",")]);
        for (place, (kind, _)) in found.iter().enumerate() {
            assert_eq!(*kind, [Kind::Int, Kind::Float, Kind::Text][place % 3], "{place}");
        }
    }
}
