//! Bounding what one privacy unit can do to a grouped result.
//!
//! A unit (a person) may have many rows in many groups. Before anything is summed, at most k of its groups are kept and what it adds to each is
//! clamped; the integer totals then have a known sensitivity, whatever the data. Several plans do this, with the same result to the last bit:
//! [`Form::Relational`] with built-in operators alone, for a cluster or a database, and native operators in one pass for the embedded engine.
//!
//! # Privacy
//! Claim: let D and D′ differ in all rows of one unit. Then the exact outputs differ in at most k groups, and in each of them every partial
//! result differs by at most its bound ([`Partial::bound`]); a group of one output that the other lacks counts as zeros there. Under
//! [`RowBounding`] a histogram differs by at most r counted rows in each of at most k groups, and a distinct count by at most r in each; by no more than [`RowBounding::in_all`] in all
//! groups together, where that is said.
//!
//! Proof: what a unit contributes is a function of its own rows (as a multiset) and of the query's key alone. The groups are ranked by a hash of
//! key, unit and group, ties by the group's name: a total order on groups that neither other units, nor row order, nor the split into batches,
//! files and threads enters; the first k that the unit has rows in are kept. Registers are sums modulo 2⁶⁴, which commute, so they too depend on
//! the multiset alone. The output is the sum of contributions over units, modulo 2⁶⁴. So the outputs on D and D′ differ by one unit's
//! contribution: it is nonzero in at most k groups, and each number in it lies within its clamp. A distinct count adds, per group, the values
//! that this unit and no other kept: at most r. Where the length of a unit's numbers over all groups is bounded too ([`Length`]), `length` has the proof.
//! Nothing above used that the hash is random: a bad hash or a known key costs accuracy (which groups are dropped), never privacy.
//!
//! Assumes: the unit column names the person, injectively: an added person is a new unit, with none of anybody else's rows, and all of their rows are that unit's (in `sql` a closed
//! table of conversions sees to it, `sources::identifier`; were the added person somebody who is there, a clamped part could move from one end of its range to the other, by twice
//! its bound; were they several units, each would have the limits of one); arguments are per-row functions; [`Form::Plain`] is given only where the catalog promises one row
//! a unit; totals stay below 2⁶³, so that the wrapped sum is the sum (a wrapped total still differs by at most its bound modulo 2⁶⁴).
//! [`Form::Clustered`] checks its promise and fails rather than answer.
//!
//! Audited by: `one_unit_moves_at_most_its_bounds` and `all_forms_agree`.

mod beside;
mod canonical;
mod carried;
mod choice;
mod clustered;
mod distinct;
mod exec;
mod given;
mod grid;
mod groups;
mod integers;
mod kind;
mod label;
mod length;
mod md5;
mod node;
pub mod operators;
mod owner_join;
mod owner_window;
mod partitioned;
mod planner;
mod registers;
mod relational;
pub mod remote;
mod rows;
mod rules;
mod runs;
mod single;
mod spill;
mod sums;
mod totals;
mod units;
mod work;

#[cfg(test)]
mod tests;

pub use beside::{AmountOfVector, Beside, Coarse};
pub use canonical::{
    CanonicalForm, MOST_TEXT, MOST_TEXT_BYTES, NEWER, canonical, canonical_float, canonical_form_of,
    canonical_identifier, canonical_integer, canonical_text, canonical_within, rows_of_texts, texts_in,
};
pub use choice::Secret;
pub use distinct::{MOST_DISTINCT, count_distinct_within};
pub use given::GivenRows;
pub use grid::{ValueGrid, grid_of, grid_of_expression, on_grid, shiftable};
pub use kind::Kind;
pub use label::{Labelled, without_labels};
pub use length::{Follower, Length, MOST_GROUPS_OF_A_VECTOR, Norm, VectorStep};
pub use node::to_relational;
pub use owner_join::{CUT_BY_OWNER, Meeting, OwnerJoin};
pub use owner_window::{Frame, Ordered, OwnerWindow, WindowValue};
pub use planner::{rows_joined, session, session_with_all_rules};
pub use registers::ScaledSum;
pub use rows::RowBounding;
pub use runs::is_not_clustered;
pub use sums::{exact_average_of_floats, exact_sum_of_floats, exact_sum_of_integers};
pub use units::MOST_GROUPS_HELD;

use choice::{known_type, normalised};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Column, ExprSchema, Result, plan_err};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, col};
use node::{ContributionBound, Native};
use registers::{Registers, argument_name};
use serde::{Deserialize, Serialize};

/// One number per group, summed over units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Partial {
    /// 1 for each unit in the group.
    Units,
    /// The unit's rows in the group, at most this many.
    Rows {
        /// The most that count.
        most: i64,
    },
    /// The unit's rows in the group where the argument is not NULL, at most this many.
    Present {
        /// Which argument.
        argument: usize,
        /// The most that count.
        most: i64,
    },
    /// The sum of the unit's arguments in the group, clamped; 0 if all are NULL.
    Sum {
        /// Which argument.
        argument: usize,
        /// The least a unit with a value adds.
        low: i64,
        /// The most it adds.
        high: i64,
    },
    /// The sum for a mean: with n > `most` values it is scaled by `most`/n and floored, so that it fits a [`Partial::Present`] of the same
    /// `most`; then clamped; 0 if all are NULL.
    Mean {
        /// Which argument.
        argument: usize,
        /// The most values that count.
        most: i64,
        /// The least a unit with a value adds.
        low: i64,
        /// The most it adds.
        high: i64,
    },
}

impl Partial {
    /// How far one unit, added or removed, can move this number in one group.
    pub fn bound(&self) -> u64 {
        match *self {
            Self::Units => 1,
            Self::Rows { most } | Self::Present { most, .. } => most.unsigned_abs(),
            Self::Sum { low, high, .. } | Self::Mean { low, high, .. } => {
                low.unsigned_abs().max(high.unsigned_abs())
            }
        }
    }

    /// The least and the most that a unit adds to one group.
    fn ends(&self) -> (i64, i64) {
        match *self {
            Self::Units => (0, 1),
            Self::Rows { most } | Self::Present { most, .. } => (0, most),
            Self::Sum { low, high, .. } | Self::Mean { low, high, .. } => (low.min(0), high.max(0)),
        }
    }

    fn argument(&self) -> Option<usize> {
        match *self {
            Self::Units | Self::Rows { .. } => None,
            Self::Present { argument, .. } | Self::Sum { argument, .. } | Self::Mean { argument, .. } => {
                Some(argument)
            }
        }
    }

    fn makes_sense(&self) -> bool {
        match *self {
            Self::Units => true,
            Self::Rows { most } | Self::Present { most, .. } => most >= 1,
            Self::Sum { low, high, .. } => low <= high,
            Self::Mean { most, low, high, .. } => most >= 1 && low <= high,
        }
    }
}

/// Which plan bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// The catalog promises one row a unit: nothing to bound but the values.
    Plain,
    /// The catalog promises that the file is sorted by the unit, ascending: rows of a unit lie next to each other, also across the boundary
    /// between two parts of the file that are read at the same time. One pass, in memory of the size of the result. A broken promise is
    /// noticed, and the query fails.
    Clustered,
    /// Rows anywhere: rows are sent to threads by unit, and each unit's few groups are held in memory, or on disk when that is full.
    /// Where all groups count, or very many, this is [`Form::Relational`].
    Partitioned,
    /// Rows anywhere, built-in operators and functions alone, and [`VectorStep`] where lengths are bounded. Whoever executes it sees the key.
    Relational,
}

/// What is summed, and how much of one unit counts.
/// ```
/// use bound::{Bounding, Form, Partial, Secret, session};
/// use datafusion::arrow::array::{AsArray, RecordBatch, StringViewArray};
/// use datafusion::arrow::datatypes::{DataType, Field, Int64Type, Schema};
/// use datafusion::datasource::MemTable;
/// use datafusion::prelude::SessionConfig;
/// use std::sync::Arc;
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// # runtime.block_on(async {
/// // Ada came to the eye ward four times, Bob once.
/// let field = |name| Field::new(name, DataType::Utf8View, true);
/// let schema = Arc::new(Schema::new(vec![field("person"), field("ward")]));
/// let people = StringViewArray::from(vec!["ada", "ada", "ada", "ada", "bob"]);
/// let wards = StringViewArray::from(vec!["eyes"; 5]);
/// let rows = RecordBatch::try_new(schema.clone(), vec![Arc::new(people), Arc::new(wards)])?;
///
/// let context = session(SessionConfig::new(), Arc::default());
/// context.register_table("visits", Arc::new(MemTable::try_new(schema, vec![vec![rows]])?))?;
/// let bounding = Bounding {
///     input: context.table("visits").await?.into_unoptimized_plan(),
///     unit: "visits.person".into(),
///     keys: vec!["visits.ward".into()],
///     arguments: Vec::new(),
///     partials: vec![Partial::Units, Partial::Rows { most: 2 }],
///     groups: Some(1),
///     lengths: Vec::new(),
///     beside: None,
///     // Drawn for each query; whatever it is, nobody moves a number by more than its bound.
///     secret: Secret::new("00112233445566778899aabbccddeeff")?,
/// };
/// let bounds: Vec<u64> = bounding.partials.iter().map(Partial::bound).collect();
/// let plan = bounding.plan(Form::Partitioned)?;
/// let batches = context.execute_logical_plan(plan).await?.collect().await?;
/// let group = batches.iter().find(|batch| batch.num_rows() == 1).unwrap();
/// let number = |place: usize| group.column(place).as_primitive::<Int64Type>().value(0);
/// // Two people, and three visits: two of Ada's count, and one of Bob's.
/// assert_eq!((number(1), number(2)), (2, 3));
/// assert_eq!(bounds, [1, 2]);
/// # Ok::<(), datafusion::error::DataFusionError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Bounding {
    /// The rows.
    pub input: LogicalPlan,
    /// Whose row it is. Rows where it is NULL are nobody's and are dropped.
    pub unit: Column,
    /// What groups are called. NULL is a name; so is NaN, and −0.0 is 0.0.
    pub keys: Vec<Column>,
    /// What is summed: integers, in steps of a grid; may be NULL.
    pub arguments: Vec<Column>,
    /// The numbers of each group.
    pub partials: Vec<Partial>,
    /// How many groups of a unit count. `None`: all of them.
    pub groups: Option<u64>,
    /// Bounds on what a unit adds to all groups together. Where there are any, a unit has at most [`MOST_GROUPS_OF_A_VECTOR`] groups.
    pub lengths: Vec<Length>,
    /// What else is read of the units in the same pass.
    pub beside: Option<Beside>,
    /// Chooses which: fresh for each query, so that it is not always the same groups of a unit that are dropped. The same key chooses the same
    /// groups in every form.
    pub secret: Secret,
}

/// How the rows of one unit are cut down, without the rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Rule {
    pub(crate) unit: DataType,
    pub(crate) keys: Vec<DataType>,
    pub(crate) partials: Vec<Partial>,
    pub(crate) groups: Option<u64>,
    pub(crate) lengths: Vec<Length>,
    pub(crate) beside: Option<Beside>,
    pub(crate) secret: Secret,
}

impl Rule {
    pub(crate) fn registers(&self) -> Registers {
        Registers::new(&self.partials, &self.lengths, self.beside.as_ref())
    }

    /// How many numbers each group has: the totals, and what is read beside them.
    pub(crate) fn numbers(&self) -> usize {
        self.partials.len() + self.beside.as_ref().map_or(0, Beside::numbers)
    }

    /// In how many groups a unit's state is kept, where that can be fewer than there are.
    pub(crate) fn limit(&self) -> Option<u64> {
        match &self.beside {
            _ if self.keys.is_empty() => None,
            Some(beside) => beside.groups,
            None => self.groups,
        }
    }

    /// How many of these count for the totals, where that can be fewer than there are.
    pub(crate) fn counted(&self) -> Option<u64> {
        if self.keys.is_empty() { None } else { self.groups }
    }

    /// Whether arguments exist and bounds are in order.
    fn makes_sense(&self, arguments: usize) -> bool {
        let beside = self.beside.iter().flat_map(Beside::read);
        let partials =
            self.partials.iter().chain(beside).all(|partial| {
                partial.makes_sense() && partial.argument().is_none_or(|place| place < arguments)
            });
        let grouped = !self.keys.is_empty();
        let few = self
            .groups
            .is_some_and(|groups| groups <= MOST_GROUPS_OF_A_VECTOR);
        partials
            && Length::all_make_sense(&self.lengths, &self.partials)
            && (self.lengths.is_empty() || (few && grouped))
            && self
                .beside
                .as_ref()
                .is_none_or(|beside| beside.makes_sense(self.groups, &self.lengths, grouped))
    }
}

impl Bounding {
    /// The plan: the key columns by their names, then `partial0`, `partial1`, … as 64-bit integers, those of [`Self::partials`] and then those of [`Self::beside`], one row a group, in no
    /// order; one row if there are no keys. A group is there if it counts for at least one unit, under the wider limits where there are any.
    pub fn plan(self, form: Form) -> Result<LogicalPlan> {
        let rule = self.rule()?;
        let prepared = self.prepared(&rule)?;
        let numbers = rule.numbers();
        let contributions = match form {
            Form::Plain if rule.beside.is_some() || !rule.lengths.is_empty() => {
                return plan_err!("where each unit has one row, no limit leaves anything out");
            }
            Form::Plain => ContributionBound::plan(prepared, rule, Native::Single)?,
            Form::Relational => relational::contributions(prepared, &rule)?,
            Form::Partitioned if !units::holds(&rule) => relational::contributions(prepared, &rule)?,
            Form::Partitioned => ContributionBound::plan(prepared, rule, Native::Partitioned)?,
            Form::Clustered => ContributionBound::plan(prepared, rule, Native::Clustered)?,
        };
        relational::totals(contributions, &self.keys, numbers)
    }

    fn rule(&self) -> Result<Rule> {
        let schema = self.input.schema();
        if self.groups == Some(0) {
            return plan_err!("no group of a unit would count\nhint: let at least one group count");
        }
        for argument in &self.arguments {
            if schema.field_from_column(argument)?.data_type() != &DataType::Int64 {
                return plan_err!(
                    "argument {} is not a 64-bit integer\nhint: put it on a grid first",
                    argument.name
                );
            }
        }
        let keys: Result<Vec<DataType>> = self.keys.iter().map(|key| known_type(schema, key)).collect();
        let rule = Rule {
            unit: known_type(schema, &self.unit)?,
            keys: keys?,
            partials: self.partials.clone(),
            groups: self.groups,
            lengths: self.lengths.clone(),
            beside: self.beside.clone(),
            secret: self.secret.clone(),
        };
        if !rule.makes_sense(self.arguments.len()) {
            return plan_err!(
                "these numbers have no meaning here\nhint: bounds are in order, at least one row counts, arguments exist, and what is wider is not narrower"
            );
        }
        Ok(rule)
    }

    /// The rows as every form reads them: `unit`, `key0…`, `argument0…`.
    fn prepared(&self, rule: &Rule) -> Result<LogicalPlan> {
        let mut columns = named(&self.unit, &self.keys, rule)?;
        columns.extend(
            (self.arguments.iter().enumerate())
                .map(|(place, argument)| Expr::Column(argument.clone()).alias(argument_name(place))),
        );
        LogicalPlanBuilder::from(self.input.clone())
            .project(columns)?
            .build()
    }
}

/// The unit and the keys under our own names, each value with one spelling.
pub(crate) fn named(unit: &Column, keys: &[Column], rule: &Rule) -> Result<Vec<Expr>> {
    let mut columns = vec![normalised(Expr::Column(unit.clone()), &rule.unit)?.alias("unit")];
    for (place, (key, data_type)) in keys.iter().zip(&rule.keys).enumerate() {
        columns.push(normalised(Expr::Column(key.clone()), data_type)?.alias(key_name(place)));
    }
    Ok(columns)
}

pub(crate) fn key_name(place: usize) -> String {
    format!("key{place}")
}

pub(crate) fn key_columns(rule: &Rule) -> Vec<Expr> {
    (0..rule.keys.len()).map(|place| col(key_name(place))).collect()
}
