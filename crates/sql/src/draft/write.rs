//! What a draft says, line by line.

use super::find::Sketch;
use super::measure::Measured;
use super::{Described, KindsFrom, UnitColumn};
use crate::Facts;
use crate::catalog::toml_text::{key, text, value};
use crate::catalog::{CsvFormat, Source, declared_format, names_something};
use crate::sources::{Guess, kind_that_keeps};
use crate::values::facts::Kind;
use datafusion::arrow::datatypes::Field;
use std::fmt::Write;

/// What a draft says of itself when its kinds follow from private rows.
const FROM_DATA: &str = "
# NOT PRIVATE: kinds of CSV columns, and what stands for NULL in them, were guessed from the data itself (init --kinds-from-data). A single row may have decided them.
# Publish this file only if you would have written the same without looking. Bounds and values were not taken from the data.";

/// What is known of the columns of a private table beyond its schema.
#[derive(Default)]
pub(super) struct Known {
    kinds: Vec<(String, Kind)>,
    /// What has to be declared to stand for NULL.
    nulls: Vec<&'static str>,
}

impl Known {
    /// What was guessed. Where two samples disagree about a column, nothing is known of it.
    pub(super) fn of(guesses: Vec<Guess>) -> Self {
        let guesses: Vec<Guess> = guesses.into_iter().filter(|guess| guess.has_values).collect();
        let mut known = Self::default();
        for guess in &guesses {
            let mut alike = guesses.iter().filter(|other| other.column == guess.column);
            if alike.any(|other| other.kind != guess.kind) || known.kind(&guess.column).is_some() {
                continue;
            }
            known.kinds.push((guess.column.clone(), guess.kind));
        }
        for null in guesses.iter().flat_map(|guess| &guess.nulls) {
            if !known.nulls.contains(null) {
                known.nulls.push(null);
            }
        }
        known
    }

    pub(super) fn kind(&self, column: &str) -> Option<Kind> {
        let found = self.kinds.iter().find(|(name, _)| name == column);
        found.map(|(_, kind)| *kind)
    }
}

pub(super) fn head(name: &str, whose: &str, kinds: &KindsFrom, public: bool) -> String {
    format!(
        r#"# What is protected, what may be asked, and how much the answers may reveal.
# CHECK marks guesses. FILL IN marks what only you can know.{read}

name = {name}

[unit]
# Whose privacy: answers are nearly the same whether or not any one of them is in the data.
whose = {whose}  # CHECK
# "add_remove": how many there are is protected too. "change_one": only what is said of each.
neighbors = "add_remove"

[budget]
# The most that all answers together may reveal. 1 is strict, 10 is lenient.  CHECK
epsilon = 1
# How likely more may be revealed: well below one in the number of units. 0 forbids it.  CHECK
delta = 1e-6
# Where spending is written down. Without this file, everything could be spent again.
ledger = "deniable.ledger"

[budget.query]
# What a query takes that does not say.
epsilon = 0.1
delta = 1e-9

# [budget.analysts]
# alice = 0.25  # of the budget; where some are listed, others may spend nothing

[limits]
# Of one unit, at most this many groups of a query count, and in each at most this many rows. More keeps more data; fewer needs less noise.
# These are placeholders: `deniable limits TABLE --epsilon 0.1` finds limits for a table privately, and writes them here.
groups = 4
rows_per_group = 4
"#,
        read = match kinds {
            _ if public => "",
            KindsFrom::Curator => " Of the data, only names and types of columns were looked at.",
            KindsFrom::Samples(_) => {
                " Of the data, only names of columns were looked at; kinds were guessed from a public sample."
            }
            KindsFrom::Data => FROM_DATA,
        },
        name = text(name),
        whose = text(whose),
    )
}

/// A private table, and what is to be said of it.
pub(super) struct Written<'d> {
    pub(super) clustered: bool,
    pub(super) unit: Option<&'d UnitColumn>,
    /// As what all tables can name units, where that is not what each would say alone.
    pub(super) unit_kind: Option<Kind>,
    pub(super) known: Known,
    pub(super) kinds: &'d KindsFrom,
}

impl Written<'_> {
    /// The lines about the table.
    pub(super) fn private(&self, described: &Described) -> String {
        let name = key(&described.sketch.name);
        let csv = described.is_csv();
        let mut section = opening(&described.sketch, &described.table.csv);
        match self.unit {
            Some(unit) => section += &unit_line(unit),
            None => section.push_str(
                "# FILL IN whose rows these are, by one of these four lines:\n\
                 # unit = \"…\"                  # the column that tells whose row it is\n\
                 # unit_through = { column = \"…\", table = \"…\", key = \"…\" }  # the row of another table leads there\n\
                 # each_row = true             # each row is somebody, and nobody has two\n\
                 # public = true               # nobody's\n",
            ),
        }
        section.push_str(
            "# rows_per_unit = 1           # if nobody has two rows: answers are then more exact\n",
        );
        if self.clustered && self.unit.is_some() {
            section.push_str("# The rows lie sorted by that column.\nclustered = true\n");
        } else {
            section.push_str("# clustered = true            # if the rows lie sorted by that column: queries are then faster\n");
        }
        if csv {
            section += &nulls_line(&self.known.nulls, self.source_of_kinds());
            section.push_str("# decimal = \",\"               # if numbers are written like 1.234,5\n");
        }
        let kinds = match self.kinds {
            _ if !csv => "",
            KindsFrom::Curator => "  FILL IN: a CSV file does not say.",
            KindsFrom::Samples(_) => "  CHECK: they were guessed from a public sample.",
            KindsFrom::Data => "  CHECK: they were guessed from the data itself.",
        };
        let _ = writeln!(
            section,
            "\n[tables.{name}.columns]\n# What queries may use; leave out what they need not.\n# kind: bool, int, float, text, date or timestamp. What does not fit is read as NULL.{kinds}\n\
             # bounds = [low, high]: sums and averages need them, and count values beyond as the nearest bound; a WHERE sees those as they are. From what you know, not from the data.\n\
             # values = [\"…\", \"…\"]: groups that are always shown; a row with another value is in none of them, and a WHERE sees it as it is. From what you know, not from the data.\n\
             # other = \"other\", beside values: a group for all other texts.\n\
             # bounds = [\"2020-01-01\", \"2029-12-31\"], of dates and timestamps: the months, weeks and the like between them are groups that are always shown.",
        );
        for field in described.schema.fields() {
            let line = match self.unit.is_some_and(|unit| unit.name == *field.name()) {
                true => self.identifier(field),
                false => self.column(field, csv),
            };
            section.push_str(&line);
        }
        section
    }

    /// Where kinds come from, for people.
    fn source_of_kinds(&self) -> &'static str {
        match self.kinds {
            KindsFrom::Samples(_) => "the sample",
            KindsFrom::Curator | KindsFrom::Data => "the data",
        }
    }

    /// The column that tells whose rows these are, as a kind that keeps all identifiers apart.
    fn identifier(&self, field: &Field) -> String {
        let name = key(field.name());
        let known = self.known.kind(field.name()).or_else(|| kind_that_keeps(field));
        match known.map(|own| self.unit_kind.unwrap_or(own)) {
            Some(kind) => format!("{name} = {{ kind = \"{kind}\" }}\n"),
            None => format!(
                "# FILL IN another unit: {name} holds values of type {}, and two persons could be read as one. Write them anew as whole numbers or text.\n",
                field.data_type()
            ),
        }
    }

    fn column(&self, field: &Field, csv: bool) -> String {
        let name = key(field.name());
        let known = match csv {
            true => self.known.kind(field.name()),
            false => Kind::of(field.data_type()),
        };
        let Some(kind) = known else {
            return self.unknown(&name, csv);
        };
        let hint = match kind {
            // Nobody sums numbers of things.
            Kind::Float if names_something(field.name()) => {
                "  # cannot be the unit: floats may be equal and look different"
            }
            Kind::Int if names_something(field.name()) => "",
            Kind::Int | Kind::Float => "  # FILL IN bounds = [low, high] to sum it",
            Kind::Text => "  # values = [\"…\", \"…\"], other = \"other\" to group by it",
            Kind::Date | Kind::Timestamp => {
                "  # bounds = [\"2020-01-01\", \"2029-12-31\"] to group by its months, weeks and the like"
            }
            Kind::Bool => "",
        };
        format!("{name} = {{ kind = \"{kind}\" }}{hint}\n")
    }

    /// A column whose kind is not known.
    fn unknown(&self, name: &str, csv: bool) -> String {
        match self.kinds {
            _ if !csv => format!("# {name}: left out, because queries cannot use values of this type\n"),
            // Of a CSV file, every column is text as yet; one line above says that kinds are to be filled in.
            KindsFrom::Curator => format!("{name} = {{ kind = \"text\" }}\n"),
            KindsFrom::Samples(_) => {
                format!("{name} = {{ kind = \"text\" }}  # FILL IN its kind: the sample does not tell\n")
            }
            KindsFrom::Data => {
                format!("{name} = {{ kind = \"text\" }}  # FILL IN its kind: it has no values\n")
            }
        }
    }
}

/// The header of a table, where it is, and how its files are written.
fn opening(sketch: &Sketch, csv: &CsvFormat) -> String {
    let mut lines = format!("\n[tables.{}]\n{}", key(&sketch.name), sketch.lines);
    if let Source::Csv(path) = &sketch.source {
        let tabs = path.extension().is_some_and(|extension| extension == "tsv");
        lines += &declared_format(csv, tabs);
    }
    lines
}

fn unit_line(unit: &UnitColumn) -> String {
    let name = text(&unit.name);
    if !unit.guessed {
        return format!("unit = {name}\n");
    }
    let several = match unit.tables {
        0 | 1 => String::new(),
        tables => format!(" It is in {tables} tables."),
    };
    format!(
        "unit = {name}  # FILL IN: confirm that this column tells whose row it is, and delete this mark.{several} A wrong one protects the wrong thing.\n"
    )
}

/// The line about what stands for NULL: what was found, or how it would be said.
fn nulls_line(found: &[&str], whence: &str) -> String {
    if found.is_empty() {
        return "# nulls = [\"\", \"NA\"]         # if these stand for NULL in the file, in every column\n"
            .to_owned();
    }
    let found: Vec<String> = found.iter().map(|null| text(null)).collect();
    format!(
        "nulls = [{}]  # CHECK: in {whence} they stand among numbers, days or truth values. They are NULL in every column\n",
        found.join(", ")
    )
}

/// The lines about a public table.
pub(super) fn public(sketch: &Sketch, measured: &Measured) -> String {
    let name = &sketch.name;
    let mut section = opening(sketch, &measured.csv);
    if !measured.nulls.is_empty() {
        section += &nulls_line(&measured.nulls, "the file");
    }
    section.push_str("# Public, as was said: read and suggested from the data.\npublic = true\n");
    if !measured.keys.is_empty() {
        let keys: Vec<_> = measured
            .keys
            .iter()
            .map(|column| format!("[{}]", text(column)))
            .collect();
        let _ = writeln!(
            section,
            "# Columns in which no two rows agree.  CHECK that this is no accident\nkeys = [{}]",
            keys.join(", ")
        );
    }
    let _ = writeln!(section, "\n[tables.{}.columns]", key(name));
    for (column, facts) in &measured.columns {
        let _ = writeln!(section, "{} = {{ {} }}", key(column), declared(facts));
    }
    for column in &measured.left_out {
        let _ = writeln!(
            section,
            "# {}: left out, because queries cannot use values of this type",
            key(column)
        );
    }
    section
}

fn declared(facts: &Facts) -> String {
    let mut parts = vec![format!("kind = \"{}\"", facts.kind)];
    match facts.range {
        Some(range) if facts.kind == Kind::Int => {
            parts.push(format!("bounds = [{}, {}]", range.low, range.high))
        }
        Some(range) if facts.kind == Kind::Float => {
            parts.push(format!("bounds = [{:?}, {:?}]", range.low, range.high))
        }
        Some(_) => {}
        None => {}
    }
    if let Some(values) = &facts.values {
        let values: Vec<_> = values.iter().map(value).collect();
        parts.push(format!("values = [{}]", values.join(", ")));
    }
    if !facts.nullable {
        parts.push("nullable = false".to_owned());
    }
    parts.join(", ")
}
