//! The text of a statement in the making: a list of steps, each a named subquery of the one before it.
//!
//! Names are numbers of ours. Nothing that a query or a catalog calls something gets into the text, but for the names of tables and columns of the database, which are quoted.

use super::NotWritten;
use crate::sources::Parameter;
use crate::values::facts::Kind;
use bound::Secret;

/// A statement of more steps than this is not written.
const MOST_STEPS: usize = 400;
/// Nor one of more bytes.
const MOST_BYTES: usize = 1 << 20;

/// Integers of 64 bits.
pub(super) const INTEGERS: (i128, i128) = (i64::MIN as i128, i64::MAX as i128);

/// An expression in SQL.
///
/// It is total: it has a value for every row and raises no error, wherever it is evaluated. Floats are finite and have one zero, and texts are compared by their bytes: each has
/// the collation "C".
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) sql: String,
    pub(super) kind: Kind,
    /// Where an integer lies, whatever the data are.
    pub(super) range: (i128, i128),
    /// Whether it is the digest of something: 32 hexadecimal digits.
    pub(super) digest: bool,
    /// Whether it costs nothing to write it again: a column or a constant.
    pub(super) atom: bool,
    /// The step after which all that it is made of is there: see [`super::expression`].
    pub(super) layer: usize,
}

impl Cell {
    /// Something computed of other cells.
    pub(super) fn of(sql: String, kind: Kind, parts: &[&Cell]) -> Self {
        Self {
            sql,
            kind,
            range: INTEGERS,
            digest: false,
            atom: false,
            layer: parts.iter().map(|part| part.layer).max().unwrap_or(0),
        }
    }

    pub(super) fn within(self, low: i128, high: i128) -> Self {
        Self {
            range: (low.max(INTEGERS.0), high.min(INTEGERS.1)),
            ..self
        }
    }

    /// The same as the column of this name.
    pub(super) fn named(&self, name: String) -> Self {
        Self {
            sql: name,
            atom: true,
            layer: 0,
            ..self.clone()
        }
    }
}

/// Rows in the making: the name of a step, and its columns by their places in the plan's schema. Those that nobody needs are left out.
pub(super) struct Relation {
    pub(super) name: String,
    pub(super) columns: Vec<Option<Cell>>,
}

/// The steps so far.
pub(super) struct Writer {
    steps: Vec<String>,
    bytes: usize,
    names: usize,
    pub(super) parameters: Vec<Parameter>,
    key: Option<usize>,
}

impl Writer {
    /// None yet.
    pub(super) fn new() -> Self {
        Self {
            steps: Vec::new(),
            bytes: 0,
            names: 0,
            parameters: Vec::new(),
            key: None,
        }
    }

    /// What stands for the key that chooses groups: one parameter, wherever it is used.
    pub(super) fn key(&mut self, secret: &Secret) -> String {
        let number = match self.key {
            Some(number) => number,
            None => {
                self.parameters.push(Parameter::Text(secret.digits().to_owned()));
                self.parameters.len()
            }
        };
        self.key = Some(number);
        format!("${number}::text")
    }

    /// A name for a column that no other has.
    pub(super) fn name(&mut self) -> String {
        self.names += 1;
        format!("c{}", self.names)
    }

    /// The name of a step that does this.
    pub(super) fn step(&mut self, body: String) -> Result<String, NotWritten> {
        self.bytes += body.len();
        if self.steps.len() == MOST_STEPS || self.bytes > MOST_BYTES {
            return Err(NotWritten::new("it is too large to be written as one statement"));
        }
        let name = format!("r{}", self.steps.len());
        self.steps.push(format!("{name} AS (\n  {body}\n)"));
        Ok(name)
    }

    /// A step that gives these cells new names, and the rows it makes. `from` is what stands behind FROM.
    pub(super) fn select(
        &mut self,
        cells: Vec<Option<Cell>>,
        from: &str,
        rest: &str,
    ) -> Result<Relation, NotWritten> {
        let mut columns = Vec::new();
        let mut list = Vec::new();
        for cell in cells {
            columns.push(cell.map(|cell| {
                let name = self.name();
                list.push(format!("{} AS {name}", cell.sql));
                cell.named(name)
            }));
        }
        let name = self.step(format!("SELECT {} FROM {from}{rest}", list.join(", ")))?;
        Ok(Relation { name, columns })
    }

    /// The whole statement, which shows these columns of the last step.
    pub(super) fn finish(self, last: &Relation) -> (String, Vec<Parameter>) {
        let shown: Vec<&str> = last
            .columns
            .iter()
            .flatten()
            .map(|cell| cell.sql.as_str())
            .collect();
        let text = format!(
            "WITH {}\nSELECT {} FROM {}",
            self.steps.join(", "),
            shown.join(", "),
            last.name
        );
        (text, self.parameters)
    }
}
