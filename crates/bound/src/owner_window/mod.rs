//! Windows over one owner's rows: ROW_NUMBER, LAG, running sums and their like, inside of a partition that the owner is part of.
//!
//! # Privacy
//! Claim: the rows that come out for an owner are a function of that owner's rows, as a multiset, and there are at most `most` of them.
//! Proof: rows are sorted by the owner, the further keys of the partition, the query's order, and then by all their other columns. Rows that are equal in all columns
//! are interchangeable, so the sequence of one owner's rows is a function of their multiset, and so are its first `most` rows, which are taken. Whatever is computed
//! of a row is computed of that sequence: places in it, values at places of it, least and largest of canonical values, and exact sums ([`super::sums`]). No row
//! of another owner enters, since a partition ends where the owner changes; owners are compared by their bytes in the engine's row format, as in
//! [`super::owner_join`].
//!
//! One owner's rows are held in memory, at most `most` of them; the sort before goes to disk.
//! Audited by: `windows_look_at_one_owner` and the hunter of the crate `sql`, which finds ties that are broken by the order of rows in a file.

mod exec;
mod frames;

pub(crate) use exec::{OwnerWindowExec, WindowRule};

use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{Column, DFSchema, DFSchemaRef, Result, internal_err};
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};
use std::cmp::Ordering;
use std::fmt::Formatter;
use std::sync::Arc;

/// Which rows of the partition a function looks at, from a row's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Frame {
    /// From this many rows before it (`None`: from the first) to this many after it (`None`: to the last); negative ones lie on the other side.
    Rows(Option<i64>, Option<i64>),
    /// From the first to the last that is its equal in the query's order.
    UpToPeers,
}

/// What is computed of each row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WindowValue {
    /// The row's place in its partition, from 1.
    RowNumber,
    /// One more than the number of rows before its equals.
    Rank,
    /// The same without gaps.
    DenseRank,
    /// The column this many rows earlier; later, if negative. NULL where there is none.
    Lag(Column, i64),
    /// The column in the first row of the frame.
    First(Column, Frame),
    /// The column in the last row of the frame.
    Last(Column, Frame),
    /// The least value of the column in the frame.
    Least(Column, Frame),
    /// The largest.
    Largest(Column, Frame),
    /// How many values are not NULL.
    Count(Column, Frame),
    /// The sum of a column of integers, cut to 64 bits; NULL where all are NULL.
    Sum(Column, Frame),
    /// The sum of a column of floats, rounded once; NULL where all are NULL.
    FloatSum(Column, Frame),
    /// The average of a column of floats, rounded once; NULL where all are NULL.
    FloatAverage(Column, Frame),
}

impl WindowValue {
    fn column(&self) -> Option<&Column> {
        match self {
            Self::RowNumber | Self::Rank | Self::DenseRank => None,
            Self::Lag(column, _)
            | Self::First(column, _)
            | Self::Last(column, _)
            | Self::Least(column, _)
            | Self::Largest(column, _)
            | Self::Count(column, _)
            | Self::Sum(column, _)
            | Self::FloatSum(column, _)
            | Self::FloatAverage(column, _) => Some(column),
        }
    }

    fn column_mut(&mut self) -> Option<&mut Column> {
        match self {
            Self::RowNumber | Self::Rank | Self::DenseRank => None,
            Self::Lag(column, _)
            | Self::First(column, _)
            | Self::Last(column, _)
            | Self::Least(column, _)
            | Self::Largest(column, _)
            | Self::Count(column, _)
            | Self::Sum(column, _)
            | Self::FloatSum(column, _)
            | Self::FloatAverage(column, _) => Some(column),
        }
    }

    fn data_type(&self, input: &DFSchema) -> Result<DataType> {
        Ok(match self {
            Self::RowNumber | Self::Rank | Self::DenseRank | Self::Count(..) | Self::Sum(..) => {
                DataType::Int64
            }
            Self::FloatSum(..) | Self::FloatAverage(..) => DataType::Float64,
            Self::Lag(column, _)
            | Self::First(column, _)
            | Self::Last(column, _)
            | Self::Least(column, _)
            | Self::Largest(column, _) => input.field(input.index_of_column(column)?).data_type().clone(),
        })
    }
}

/// A column of the query's order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ordered {
    /// Which.
    pub column: Column,
    /// Largest first.
    pub descending: bool,
    /// NULL before all others.
    pub nulls_first: bool,
}

/// Functions of one owner's rows in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OwnerWindow {
    /// The rows.
    pub input: LogicalPlan,
    /// Whose row it is.
    pub owner: Column,
    /// What else partitions.
    pub partition: Vec<Column>,
    /// The query's order. Ties are broken by all other columns.
    pub order: Vec<Ordered>,
    /// What is computed, and what it is called.
    pub values: Vec<(WindowValue, String)>,
    /// Of one owner at most this many rows are looked at; the others are left out.
    pub most: u64,
}

impl OwnerWindow {
    /// The plan: the columns of the input, then what is computed.
    pub fn plan(self) -> Result<LogicalPlan> {
        let node = Arc::new(OwnerWindowNode::new(self)?);
        Ok(LogicalPlan::Extension(Extension { node }))
    }

    fn columns(&self) -> impl Iterator<Item = &Column> {
        std::iter::once(&self.owner)
            .chain(&self.partition)
            .chain(self.order.iter().map(|ordered| &ordered.column))
            .chain(self.values.iter().filter_map(|(value, _)| value.column()))
    }
}

/// The windows as one node of a logical plan.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct OwnerWindowNode {
    pub(crate) window: OwnerWindow,
    schema: DFSchemaRef,
}

impl OwnerWindowNode {
    fn new(window: OwnerWindow) -> Result<Self> {
        let input = window.input.schema();
        let mut columns: Vec<_> = input
            .iter()
            .map(|(table, field)| (table.cloned(), Arc::clone(field)))
            .collect();
        for (value, name) in &window.values {
            columns.push((None, Arc::new(Field::new(name, value.data_type(input)?, true))));
        }
        let schema = DFSchema::new_with_metadata(columns, input.metadata().clone())?;
        Ok(Self {
            window,
            schema: Arc::new(schema),
        })
    }

    /// The operator's rule, by places in the input.
    pub(crate) fn rule(&self, most: u64) -> Result<WindowRule> {
        let input = self.window.input.schema();
        let place = |column: &Column| input.index_of_column(column);
        let places = |columns: &[Column]| columns.iter().map(place).collect::<Result<Vec<_>>>();
        Ok(WindowRule {
            owner: place(&self.window.owner)?,
            partition: places(&self.window.partition)?,
            order: (self.window.order.iter())
                .map(|ordered| Ok((place(&ordered.column)?, ordered.descending, ordered.nulls_first)))
                .collect::<Result<_>>()?,
            values: (self.window.values.iter())
                .map(|(value, _)| Ok((value.clone(), value.column().map(place).transpose()?)))
                .collect::<Result<_>>()?,
            most,
            schema: Arc::clone(self.schema.inner()),
        })
    }
}

impl PartialOrd for OwnerWindowNode {
    /// Plans have no order that means anything.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for OwnerWindowNode {
    fn name(&self) -> &str {
        "OwnerWindow"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.window.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        self.window.columns().cloned().map(Expr::Column).collect()
    }

    fn fmt_for_explain(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "OwnerWindow: partitioned by {}", self.window.owner)
    }

    fn with_exprs_and_inputs(&self, expressions: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        let mut window = self.window.clone();
        let (Some(input), true) = (inputs.pop(), inputs.is_empty()) else {
            return internal_err!("windows read one input");
        };
        window.input = input;
        let mut columns = expressions.into_iter();
        let places = std::iter::once(&mut window.owner)
            .chain(&mut window.partition)
            .chain(window.order.iter_mut().map(|ordered| &mut ordered.column))
            .chain(
                window
                    .values
                    .iter_mut()
                    .filter_map(|(value, _)| value.column_mut()),
            );
        for place in places {
            match columns.next() {
                Some(Expr::Column(column)) => *place = column,
                _ => return internal_err!("windows look at columns"),
            }
        }
        Self::new(window)
    }

    fn necessary_children_exprs(&self, output: &[usize]) -> Option<Vec<Vec<usize>>> {
        let input = self.window.input.schema();
        let width = input.fields().len();
        let mut needed: Vec<usize> = output.iter().copied().filter(|place| *place < width).collect();
        for column in self.window.columns() {
            needed.push(input.maybe_index_of_column(column)?);
        }
        needed.sort_unstable();
        needed.dedup();
        Some(vec![needed])
    }
}
