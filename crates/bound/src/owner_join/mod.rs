//! Joins of two private tables: only rows of the same owner meet, and everything else that a query demands is a filter on the pair.
//!
//! # Privacy
//! Claim: the rows that come out for an owner are a function of that owner's rows on both sides, as multisets, and there are at most
//! `most_left · most_right` of them (`most_left` more for a left join, and `most_left` in all where it is only asked which rows find a partner).
//! Proof: both sides are sorted by the key and then by all their other columns. Of each key the first `most` rows of each side are taken: equal rows
//! are interchangeable, so which values are taken is a function of the multiset of that key's rows. Pairs are formed inside one key, and the filter looks
//! at one pair. Keys are compared by their bytes in the engine's row format, in which canonical values ([`super::canonical`]) are equal exactly when
//! they are the same, for the sort and for the join alike.
//! A merge joins on nothing but the key, so no property of another owner's rows decides where it stops or what it skips.
//!
//! One owner's rows of the right side are held in memory, at most `most_right` of them; the left side is streamed; the sorts before it go to disk.
//! Audited by: `owners_meet_nobody_else` and the hunter of the crate `sql`.

mod any_order;
mod exec;
mod pairs;

pub(crate) use any_order::AnyOrderExec;
pub(crate) use exec::{OwnerJoinExec, Rule as JoinRule};

use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{Column, DFSchema, DFSchemaRef, JoinType, Result, internal_err, plan_err};
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::utils::expr_to_columns;
use datafusion::logical_expr::{
    Expr, ExprFunctionExt, Extension, LogicalPlan, LogicalPlanBuilder, SortExpr, UserDefinedLogicalNodeCore,
    build_join_schema,
};
use datafusion::prelude::{col, lit};
use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt::Formatter;
use std::sync::Arc;

/// In a plan of built-in operators alone: the place of a row among those of its owner, by which a side of a join is cut.
pub const CUT_BY_OWNER: &str = "__place_among_the_owner's_rows";

/// What becomes of two sides whose rows meet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Meeting {
    /// A row for each pair.
    Pairs,
    /// The same, and a row of the left side that finds no partner stays, with NULLs: a left join.
    PairsAndRest,
    /// Each row of the left side once, with a further column of this name: whether it found a partner.
    Whether(String),
}

/// A join of two private tables on the column that names the owner, or the key that leads to one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OwnerJoin {
    /// One side, which is streamed.
    pub left: LogicalPlan,
    /// The other side, of which one owner's rows are held in memory.
    pub right: LogicalPlan,
    /// Whose row it is, on the left.
    pub left_key: Column,
    /// Whose row it is, on the right: of the same type.
    pub right_key: Column,
    /// What else has to hold of a pair of rows.
    pub filter: Option<Expr>,
    /// What becomes of them.
    pub meeting: Meeting,
    /// Of one owner at most this many rows of the left side are joined.
    pub most_left: u64,
    /// Likewise of the right side.
    pub most_right: u64,
}

impl OwnerJoin {
    /// The plan: the columns of the left side, then those of the right.
    pub fn plan(self) -> Result<LogicalPlan> {
        let node = Arc::new(OwnerJoinNode::new(self)?);
        Ok(LogicalPlan::Extension(Extension { node }))
    }

    /// The columns of a pair of rows, which the filter looks at.
    fn of_pairs(&self) -> Result<DFSchema> {
        let kind = match self.meeting {
            Meeting::PairsAndRest => JoinType::Left,
            Meeting::Pairs | Meeting::Whether(_) => JoinType::Inner,
        };
        build_join_schema(self.left.schema(), self.right.schema(), &kind)
    }

    /// The same with built-in operators alone.
    pub(crate) fn relational(&self) -> Result<LogicalPlan> {
        const PLACE: &str = CUT_BY_OWNER;
        let cut = |side: &LogicalPlan, key: &Column, most: u64| -> Result<LogicalPlan> {
            if most == u64::MAX {
                return Ok(side.clone());
            }
            let columns = side.schema().columns();
            let place = row_number()
                .partition_by(vec![Expr::Column(key.clone())])
                .order_by(columns.iter().cloned().map(ascending).collect())
                .build()?
                .alias(PLACE);
            LogicalPlanBuilder::from(side.clone())
                .window(vec![place])?
                .filter(col(Column::from_name(PLACE)).lt_eq(lit(most)))?
                .project(columns.into_iter().map(Expr::Column))?
                .build()
        };
        let right = cut(&self.right, &self.right_key, self.most_right)?;
        let keys = (vec![self.left_key.clone()], vec![self.right_key.clone()]);
        let kind = match self.meeting {
            Meeting::Pairs => JoinType::Inner,
            Meeting::PairsAndRest => JoinType::Left,
            Meeting::Whether(_) => JoinType::LeftMark,
        };
        // Rows of nobody meet nobody, and do not stay either.
        let joined = LogicalPlanBuilder::from(cut(&self.left, &self.left_key, self.most_left)?)
            .filter(Expr::Column(self.left_key.clone()).is_not_null())?
            .join(right, kind, keys, self.filter.clone())?;
        let Meeting::Whether(name) = &self.meeting else {
            return joined.build();
        };
        let mut columns: Vec<Expr> = joined.schema().columns().into_iter().map(Expr::Column).collect();
        let found = columns.pop().map(|found| found.alias(name));
        joined.project(columns.into_iter().chain(found))?.build()
    }
}

/// How rows of one owner are put in order: any order will do, as long as it is one of values.
fn ascending(column: Column) -> SortExpr {
    Expr::Column(column).sort(true, false)
}

/// The join as one node of a logical plan.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct OwnerJoinNode {
    pub(crate) join: OwnerJoin,
    pairs: DFSchemaRef,
    schema: DFSchemaRef,
}

impl OwnerJoinNode {
    fn new(join: OwnerJoin) -> Result<Self> {
        let (left, right) = (join.left.schema(), join.right.schema());
        let key = |schema: &DFSchema, column: &Column| {
            schema
                .maybe_index_of_column(column)
                .map(|place| schema.field(place).data_type().clone())
        };
        match (key(left, &join.left_key), key(right, &join.right_key)) {
            (Some(one), Some(other)) if one == other => {}
            _ => {
                return plan_err!(
                    "the columns that name the owner are not of one kind on both sides of a join\nhint: declare the same kind for both"
                );
            }
        }
        let pairs = Arc::new(join.of_pairs()?);
        let schema = match &join.meeting {
            Meeting::Whether(name) => {
                let found = Arc::new(Field::new(name, DataType::Boolean, false));
                let columns = left
                    .iter()
                    .map(|(table, field)| (table.cloned(), Arc::clone(field)));
                let columns = columns.chain([(None, found)]).collect();
                Arc::new(DFSchema::new_with_metadata(columns, left.metadata().clone())?)
            }
            _ => Arc::clone(&pairs),
        };
        Ok(Self { join, pairs, schema })
    }

    /// The places of the two keys in their inputs.
    pub(crate) fn keys(&self) -> Result<(usize, usize)> {
        let (left, right) = (self.join.left.schema(), self.join.right.schema());
        Ok((
            left.index_of_column(&self.join.left_key)?,
            right.index_of_column(&self.join.right_key)?,
        ))
    }

    pub(crate) fn joined_schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    /// The columns of a pair of rows.
    pub(crate) fn pair_schema(&self) -> &DFSchemaRef {
        &self.pairs
    }
}

impl PartialOrd for OwnerJoinNode {
    /// Plans have no order that means anything.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for OwnerJoinNode {
    fn name(&self) -> &str {
        "OwnerJoin"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.join.left, &self.join.right]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        let keys = [&self.join.left_key, &self.join.right_key];
        let keys = keys.into_iter().cloned().map(Expr::Column);
        keys.chain(self.join.filter.clone()).collect()
    }

    fn fmt_for_explain(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        let OwnerJoin {
            left_key, right_key, ..
        } = &self.join;
        write!(formatter, "OwnerJoin: {left_key} = {right_key}")
    }

    fn with_exprs_and_inputs(&self, expressions: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let Ok([left, right]) = <[LogicalPlan; 2]>::try_from(inputs) else {
            return internal_err!("a join of owners reads two inputs");
        };
        let mut expressions = expressions.into_iter();
        match (expressions.next(), expressions.next()) {
            (Some(Expr::Column(left_key)), Some(Expr::Column(right_key))) => Self::new(OwnerJoin {
                left,
                right,
                left_key,
                right_key,
                filter: expressions.next(),
                ..self.join.clone()
            }),
            _ => internal_err!("the keys of a join of owners are columns"),
        }
    }

    /// The columns of each side that are needed for these columns of the result: themselves, the key, and what the filter reads.
    fn necessary_children_exprs(&self, output: &[usize]) -> Option<Vec<Vec<usize>>> {
        let width = self.join.left.schema().fields().len();
        let mut read = HashSet::new();
        if let Some(filter) = &self.join.filter {
            expr_to_columns(filter, &mut read).ok()?;
        }
        // Whether a partner was found is no column of either side.
        let of_sides = match self.join.meeting {
            Meeting::Whether(_) => width,
            _ => usize::MAX,
        };
        let mut needed: Vec<usize> = output.iter().copied().filter(|place| *place < of_sides).collect();
        for column in &read {
            needed.push(self.pairs.maybe_index_of_column(column)?);
        }
        let (left, right) = self.keys().ok()?;
        needed.extend([left, width + right]);
        needed.sort_unstable();
        needed.dedup();
        let (left, right): (Vec<usize>, Vec<usize>) = needed.into_iter().partition(|place| *place < width);
        Some(vec![left, right.into_iter().map(|place| place - width).collect()])
    }
}
