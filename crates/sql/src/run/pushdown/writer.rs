//! The text of a statement in the making: steps, each a named subquery over others.
//!
//! Several plans are written into one statement. A step is known by where its rows come from and what is done to them; whoever asks for the same rows gets the same step, with the columns
//! that he needs added to it. More columns change no rows, since none of them is a set. So plans that group the same rows by the same keys share one scan and one hash table.
//!
//! Names are numbers of ours. Nothing that a query or a catalog calls something gets into the text, but for the names of tables and columns of the database, which are quoted.

use super::NotWritten;
#[cfg(test)]
use crate::mutants::{Mutant, planted};
use crate::sources::Parameter;
use crate::values::facts::Kind;
use bound::Secret;
use std::collections::HashMap;
use std::sync::Arc;

/// A statement of more steps than this is not written.
const MOST_STEPS: usize = 400;
/// Nor one of more bytes.
const MOST_BYTES: usize = 1 << 20;

/// Integers of 64 bits.
pub(super) const INTEGERS: (i128, i128) = (i64::MIN as i128, i64::MAX as i128);

/// An expression in SQL over the columns of a step.
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
    /// Whether it is computed already, so that PostgreSQL does nothing for writing it again: a column of a step that it does not take apart, or a constant.
    pub(super) atom: bool,
    /// Whether it is NULL for no row.
    pub(super) never_null: bool,
    /// Something that is NULL for the same rows and takes less to compute.
    pub(super) null_with: Option<String>,
    /// The float of which this is the canonical form, which takes nothing to compute, and what stands for infinities.
    pub(super) canonical_of: Option<(String, Option<[f64; 2]>)>,
    /// The column of which this is a function, where it takes much more than that column does.
    pub(super) function_of: Option<String>,
    /// The layer of its step after which all that it is made of is there: see [`Writer::bound`].
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
            never_null: false,
            null_with: None,
            canonical_of: None,
            function_of: None,
            layer: parts.iter().map(|part| part.layer).max().unwrap_or(0),
        }
    }

    pub(super) fn within(self, low: i128, high: i128) -> Self {
        Self {
            range: (low.max(INTEGERS.0), high.min(INTEGERS.1)),
            ..self
        }
    }

    /// The same value, as a column of this name of the first layer of a step.
    pub(super) fn named(&self, name: String) -> Self {
        Self {
            sql: name,
            layer: 0,
            null_with: None,
            canonical_of: None,
            function_of: None,
            ..self.clone()
        }
    }
}

/// Whether this is the name of a column.
pub(super) fn is_column(sql: &str) -> bool {
    let digits = sql.strip_prefix('c').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Rows in the making: a step, and what is made of its columns, by places in the plan's schema. Those that nobody needs are left out.
#[derive(Clone)]
pub(super) struct Relation {
    pub(super) step: usize,
    pub(super) columns: Vec<Option<Cell>>,
    /// Columns of the step in which no two rows agree.
    pub(super) unique: Option<Vec<String>>,
}

/// Where the rows of a step come from.
#[derive(Clone, PartialEq)]
pub(super) enum From {
    /// A table of the database, or an expression that stands for one.
    Table(String),
    /// A step before.
    Step(usize),
    /// Two steps, called `l` and `r`, and how they are joined.
    Join(usize, &'static str, usize),
}

/// What a step does.
#[derive(Clone)]
pub(super) enum Body {
    Select {
        from: From,
        shape: Shape,
        /// What stands behind FROM: a condition, or keys.
        rest: String,
        /// Names, and what they stand for. Rows of one step that are kept or numbered have all of its columns too, under their names.
        columns: Vec<(String, String)>,
    },
    /// UNION ALL: the steps, and what of each stands in the columns.
    Union {
        sides: Vec<(usize, Vec<String>)>,
        names: Vec<String>,
    },
}

#[derive(Clone)]
pub(super) struct Step {
    pub(super) body: Body,
    /// Columns that are computed of those before, layer by layer. Each layer is a fence: PostgreSQL computes its columns once.
    pub(super) layers: Vec<Vec<(String, String)>>,
    /// Whether its rows are those of tables, with nothing grouped yet. They are read again by whoever shares them, and not written down.
    pub(super) single_rows: bool,
}

/// What a step makes of its rows.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Shape {
    /// Rows with new columns: PostgreSQL computes one wherever it is used.
    Rows,
    /// Some of the rows.
    Kept,
    /// The rows, with numbers that a window gives them. PostgreSQL does not take it apart: a column of it is computed once.
    Numbered,
    /// One row a group; not taken apart either.
    Grouped,
}

/// The steps so far.
#[derive(Clone)]
pub(super) struct Writer {
    pub(super) steps: Vec<Step>,
    bytes: usize,
    names: usize,
    pub(super) parameters: Vec<Arc<Parameter>>,
    /// The numbers of keys that choose groups.
    keys: HashMap<String, usize>,
    /// Public rows that travel with the statement, by what they are called and which of their columns are needed.
    held: HashMap<(String, Vec<usize>), Relation>,
}

/// The same cells over another step that has all columns of theirs.
fn moved(rows: Relation, step: usize) -> Relation {
    let first = |cell: Cell| Cell { layer: 0, ..cell };
    Relation {
        step,
        columns: rows.columns.into_iter().map(|cell| cell.map(first)).collect(),
        unique: rows.unique,
    }
}

impl Writer {
    /// None yet.
    pub(super) fn new() -> Self {
        Self {
            steps: Vec::new(),
            bytes: 0,
            names: 0,
            parameters: Vec::new(),
            keys: HashMap::new(),
            held: HashMap::new(),
        }
    }

    /// What stands for a key that chooses groups: one parameter, wherever it is used.
    pub(super) fn key(&mut self, secret: &Secret) -> String {
        let number = match self.keys.get(secret.digits()) {
            Some(number) => *number,
            None => {
                let digits = secret.digits().to_owned();
                let number = self.parameter(Parameter::Text(digits.clone()));
                self.keys.insert(digits, number);
                number
            }
        };
        format!("${number}::text")
    }

    /// The number of a new parameter.
    pub(super) fn parameter(&mut self, parameter: Parameter) -> usize {
        self.parameters.push(Arc::new(parameter));
        self.parameters.len()
    }

    /// Public rows, if they were written before.
    pub(super) fn held(&self, name: &str, columns: &[usize]) -> Option<Relation> {
        self.held.get(&(name.to_owned(), columns.to_vec())).cloned()
    }

    /// Remembers how public rows were written.
    pub(super) fn hold(&mut self, name: &str, columns: &[usize], relation: &Relation) {
        self.held
            .insert((name.to_owned(), columns.to_vec()), relation.clone());
    }

    /// A name for a column that no other has.
    fn name(&mut self) -> String {
        self.names += 1;
        format!("c{}", self.names)
    }

    fn grown(&mut self, by: usize) -> Result<(), NotWritten> {
        self.bytes += by;
        match self.steps.len() > MOST_STEPS || self.bytes > MOST_BYTES {
            true => Err(NotWritten::new("it is too large to be written as one statement")),
            false => Ok(()),
        }
    }

    /// The same cell, computed once: as a column of a layer of its step, unless it is an atom already.
    ///
    /// A layer ends in `OFFSET 0`, which keeps PostgreSQL from writing what it computes into all places where it is used, so that the text, and PostgreSQL's work, grow with an expression
    /// and no faster. Whoever reads the step reads its last layer.
    pub(super) fn bound(&mut self, step: usize, cell: Cell) -> Result<Cell, NotWritten> {
        if cell.atom {
            return Ok(cell);
        }
        let layers = &self.steps[step].layers;
        let known = layers.get(cell.layer).and_then(|layer| {
            let same = layer.iter().find(|(_, definition)| *definition == cell.sql);
            same.map(|(name, _)| name.clone())
        });
        let name = match known {
            Some(name) => name,
            None => {
                let name = self.name();
                self.grown(cell.sql.len())?;
                let layers = &mut self.steps[step].layers;
                while layers.len() <= cell.layer {
                    layers.push(Vec::new());
                }
                layers[cell.layer].push((name.clone(), cell.sql.clone()));
                name
            }
        };
        Ok(Cell {
            layer: cell.layer + 1,
            atom: true,
            ..cell.named(name)
        })
    }

    fn single_rows(&self, from: &From) -> bool {
        match from {
            From::Table(_) => true,
            From::Step(step) => self.steps[*step].single_rows,
            From::Join(left, _, right) => self.steps[*left].single_rows && self.steps[*right].single_rows,
        }
    }

    /// The step with these rows: a new one, unless there is one already.
    fn step(&mut self, from: From, rest: &str, shape: Shape) -> Result<usize, NotWritten> {
        #[cfg(test)]
        let unequal_are_shared = planted(Mutant::SharedCondition) && shape == Shape::Kept;
        #[cfg(not(test))]
        let unequal_are_shared = false;
        let same = |step: &Step| match &step.body {
            Body::Select {
                from: other,
                shape: made,
                rest: behind,
                ..
            } => *other == from && *made == shape && (behind == rest || unequal_are_shared),
            Body::Union { .. } => false,
        };
        if let Some(step) = self.steps.iter().position(same) {
            return Ok(step);
        }
        self.steps.push(Step {
            single_rows: matches!(shape, Shape::Rows | Shape::Kept) && self.single_rows(&from),
            body: Body::Select {
                from,
                shape,
                rest: rest.to_owned(),
                columns: Vec::new(),
            },
            layers: Vec::new(),
        });
        self.grown(rest.len())?;
        Ok(self.steps.len() - 1)
    }

    /// Rows with these cells as columns.
    pub(super) fn select(
        &mut self,
        cells: Vec<Option<Cell>>,
        from: From,
        rest: &str,
    ) -> Result<Relation, NotWritten> {
        self.named(cells, from, rest, Shape::Rows)
    }

    /// The groups of a step's rows by keys, with these cells as columns, of which the keys come first.
    pub(super) fn grouped(
        &mut self,
        cells: Vec<Option<Cell>>,
        step: usize,
        by: &[String],
    ) -> Result<Relation, NotWritten> {
        let rest = match by.is_empty() {
            true => String::new(),
            false => format!(" GROUP BY {}", by.join(", ")),
        };
        let mut groups = self.named(cells, From::Step(step), &rest, Shape::Grouped)?;
        groups.unique = (!by.is_empty()).then(|| {
            let names = groups.columns[..by.len()].iter().flatten();
            names.map(|cell| cell.sql.clone()).collect()
        });
        Ok(groups)
    }

    /// The rows that meet a condition. All columns of the step keep their names, so that cells mean the same over the rows that are left.
    pub(super) fn kept(&mut self, rows: Relation, condition: &str) -> Result<Relation, NotWritten> {
        let step = self.step(From::Step(rows.step), &format!(" WHERE {condition}"), Shape::Kept)?;
        Ok(moved(rows, step))
    }

    /// The rows with the number that a window gives each, as the last column.
    pub(super) fn numbered(&mut self, rows: Relation, window: Cell) -> Result<Relation, NotWritten> {
        let step = self.step(From::Step(rows.step), "", Shape::Numbered)?;
        let name = self.column(step, &window.sql)?;
        let mut rows = moved(rows, step);
        rows.columns.push(Some(Cell {
            atom: true,
            ..window.named(name)
        }));
        Ok(rows)
    }

    fn named(
        &mut self,
        cells: Vec<Option<Cell>>,
        from: From,
        rest: &str,
        shape: Shape,
    ) -> Result<Relation, NotWritten> {
        let step = self.step(from, rest, shape)?;
        let mut columns = Vec::new();
        for cell in cells {
            columns.push(match cell {
                None => None,
                Some(cell) => {
                    let name = self.column(step, &cell.sql)?;
                    Some(Cell {
                        atom: cell.atom || shape == Shape::Grouped,
                        ..cell.named(name)
                    })
                }
            });
        }
        Ok(Relation {
            step,
            columns,
            unique: None,
        })
    }

    /// The name of a column of a step. What is a column of the step before keeps its name.
    fn column(&mut self, step: usize, sql: &str) -> Result<String, NotWritten> {
        if let Body::Select { columns, .. } = &self.steps[step].body
            && let Some((name, _)) = columns.iter().find(|(_, other)| other == sql)
        {
            return Ok(name.clone());
        }
        let name = match is_column(sql) {
            true => sql.to_owned(),
            false => self.name(),
        };
        self.grown(sql.len())?;
        if let Body::Select { columns, .. } = &mut self.steps[step].body {
            columns.push((name.clone(), sql.to_owned()));
        }
        Ok(name)
    }

    /// The same rows, with a column of a step for each cell, each computed once: behind a name it could grow without limit as PostgreSQL puts it in place of the name.
    pub(super) fn with_names(&mut self, mut relation: Relation) -> Result<Relation, NotWritten> {
        for cell in &mut relation.columns {
            if let Some(value) = cell.take() {
                *cell = Some(self.bound(relation.step, value)?);
            }
        }
        if relation.columns.iter().flatten().all(|cell| is_column(&cell.sql)) {
            return Ok(relation);
        }
        self.select(relation.columns, From::Step(relation.step), "")
    }

    /// The rows of all of these, which have columns of the same kinds.
    pub(super) fn union(&mut self, sides: &[Relation]) -> Result<Vec<String>, NotWritten> {
        let texts = |side: &Relation| -> Vec<String> {
            side.columns
                .iter()
                .flatten()
                .map(|cell| cell.sql.clone())
                .collect()
        };
        let sides: Vec<(usize, Vec<String>)> = sides.iter().map(|side| (side.step, texts(side))).collect();
        let bytes = sides.iter().flat_map(|(_, texts)| texts).map(String::len).sum();
        let width = sides.first().map_or(0, |(_, texts)| texts.len());
        let names: Vec<String> = (0..width).map(|_| self.name()).collect();
        self.steps.push(Step {
            single_rows: sides.iter().all(|(step, _)| self.steps[*step].single_rows),
            body: Body::Union {
                sides,
                names: names.clone(),
            },
            layers: Vec::new(),
        });
        self.grown(bytes)?;
        Ok(names)
    }

    /// The step that was written last.
    pub(super) fn last(&self) -> usize {
        self.steps.len().saturating_sub(1)
    }
}
