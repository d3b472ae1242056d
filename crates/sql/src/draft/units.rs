//! Whose rows these may be, by the names of columns alone.

use super::Described;
use super::write::Known;
use crate::catalog::{NamesPersons, holds_persons, names_persons};
use crate::sources::kind_that_keeps;
use crate::values::facts::Kind;
use datafusion::arrow::datatypes::Field;
use std::cmp::Reverse;

/// The column that tells whose rows those of a table are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnitColumn {
    pub(super) name: String,
    /// Whether nobody said so.
    pub(super) guessed: bool,
    /// How many tables have a column of that unit.
    pub(super) tables: usize,
}

/// One unit for all private tables: that of two would protect neither.
#[derive(Debug, Default)]
pub(super) struct Units {
    /// Whom they name.
    pub(super) whose: Option<&'static str>,
    /// Of each table, in order; public ones have none.
    pub(super) columns: Vec<Option<UnitColumn>>,
}

impl Units {
    /// The column that was said, and beside it those that are named after the same persons; where none was said, the persons whom most tables name.
    pub(super) fn of(tables: &[Described], said: Option<&str>) -> Self {
        let private = || tables.iter().filter(|table| !table.public);
        let whose = match said {
            Some(said) => {
                let by_table = private()
                    .filter(|table| field(table, said).is_some())
                    .find_map(|table| holds_persons(&table.sketch.name));
                names_persons(said).map(|named| named.whose).or(by_table)
            }
            None => most_named(private()),
        };
        let chosen = |table: &Described| -> Option<(String, bool)> {
            let said = said.and_then(|said| field(table, said));
            if let Some(said) = said {
                return Some((said.name().clone(), false));
            }
            let named = candidates(table).filter(|(named, _)| Some(named.whose) == whose);
            let (_, column) = named.min_by_key(|(named, _)| named.rank)?;
            Some((column.to_owned(), true))
        };
        let chosen: Vec<_> = tables
            .iter()
            .map(|table| chosen(table).filter(|_| !table.public))
            .collect();
        let count = chosen.iter().flatten().count();
        let column = |(name, guessed)| UnitColumn {
            name,
            guessed,
            tables: count,
        };
        Self {
            whose,
            columns: chosen.into_iter().map(|chosen| chosen.map(column)).collect(),
        }
    }
}

/// The persons whom most tables name; of those, the likeliest.
fn most_named<'t>(tables: impl Iterator<Item = &'t Described>) -> Option<&'static str> {
    let mut found: Vec<(NamesPersons, usize)> = Vec::new();
    for table in tables {
        let mut seen = Vec::new();
        for (named, _) in candidates(table) {
            match found.iter_mut().find(|(other, _)| other.whose == named.whose) {
                Some((other, tables)) => {
                    other.rank = other.rank.min(named.rank);
                    *tables += usize::from(!seen.contains(&named.whose));
                }
                None => found.push((named, 1)),
            }
            seen.push(named.whose);
        }
    }
    let most = found
        .into_iter()
        .max_by_key(|(named, tables)| (*tables, Reverse(named.rank)));
    most.map(|(named, _)| named.whose)
}

/// Less likely than any name that says whom.
const OF_THE_TABLE: usize = 1000;

/// Columns that may name a unit by their name, and of a type that keeps all identifiers apart.
fn candidates(table: &Described) -> impl Iterator<Item = (NamesPersons, &str)> {
    let by_table = holds_persons(&table.sketch.name).map(|whose| NamesPersons {
        whose,
        rank: OF_THE_TABLE,
    });
    let fields = table.schema.fields().iter();
    fields
        .filter(|field| kind_that_keeps(field).is_some())
        .filter_map(move |field| {
            let named = match field.name().eq_ignore_ascii_case("id") {
                true => by_table,
                false => names_persons(field.name()),
            };
            named.map(|named| (named, field.name().as_str()))
        })
}

/// The column of this name that queries can use.
fn field<'t>(table: &'t Described, name: &str) -> Option<&'t Field> {
    let fields = table.schema.fields().iter();
    let mut usable = fields.filter(|field| Kind::of(field.data_type()).is_some());
    let found = usable.find(|field| field.name().eq_ignore_ascii_case(name));
    found.map(|field| field.as_ref())
}

/// Text, where units are whole numbers in some tables and text in others: the same person is then the same unit in all of them, and every number is a text.
pub(super) fn common_kind(tables: &[Described], units: &Units, known: &[Known]) -> Option<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    for ((table, unit), known) in tables.iter().zip(&units.columns).zip(known) {
        let Some(unit) = unit else { continue };
        let field = table.schema.field_with_name(&unit.name).ok()?;
        let own = known.kind(&unit.name).or_else(|| kind_that_keeps(field));
        kinds.extend(own);
    }
    let both = kinds.contains(&Kind::Int) && kinds.contains(&Kind::Text);
    let only = kinds.iter().all(|kind| matches!(kind, Kind::Int | Kind::Text));
    (both && only).then_some(Kind::Text)
}
