//! Statistics that look at single rows: histograms (for quantiles) and distinct counts.

use super::choice::{Secret, known_type, normalised};
use super::relational::{order_of_groups, somebody, under_own_names, with_hash};
use super::{Rule, key_columns, named};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Column, ExprSchema, Result, plan_err};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::functions_window::expr_fn::{dense_rank, row_number};
use datafusion::logical_expr::{Expr, ExprFunctionExt, LogicalPlan, LogicalPlanBuilder};
use datafusion::prelude::{col, lit};

/// How many rows, or distinct values, of one unit count in a group, and how many of its groups.
///
/// The groups of a unit are those that [`super::Bounding`] chooses under the same key: a group is one of the unit's as soon as the unit has any
/// row in it, whether its value is NULL or not.
#[derive(Clone, Debug)]
pub struct RowBounding {
    /// The rows.
    pub input: LogicalPlan,
    /// Whose row it is. Rows where it is NULL are dropped.
    pub unit: Column,
    /// What groups are called.
    pub keys: Vec<Column>,
    /// What is counted; NULL is not.
    pub value: Column,
    /// How many rows (or distinct values) of a unit count in a group: those of smallest hash.
    pub rows: u64,
    /// How many groups of a unit count. `None`: all of them.
    pub groups: Option<u64>,
    /// How many rows (or distinct values of groups) of a unit count in all groups together: of those that count in their groups, those of smallest hash. `None`: all of them.
    pub in_all: Option<u64>,
    /// Chooses which.
    pub secret: Secret,
}

impl RowBounding {
    /// How many counted rows have each value: the key columns, `value`, and `rows`. The value is a 64-bit integer, such as a bin.
    ///
    /// A unit changes `rows` by at most [`RowBounding::rows`] in total in each of the groups that count for it, and by at most [`RowBounding::in_all`] in all of them.
    pub fn histogram(self, one_row_per_unit: bool) -> Result<LogicalPlan> {
        if self.input.schema().field_from_column(&self.value)?.data_type() != &DataType::Int64 {
            return plan_err!("a histogram counts 64-bit integers\nhint: put the value in bins first");
        }
        let rule = self.rule()?;
        let mut rows = self.prepared(&rule)?;
        if !one_row_per_unit {
            rows = self.chosen_rows(self.chosen_groups(rows, &rule)?, &rule)?;
        }
        let mut by = key_columns(&rule);
        by.push(col("value"));
        let mut columns = under_own_names(&self.keys);
        columns.extend([col("value"), col("rows")]);
        LogicalPlanBuilder::from(rows)
            .filter(col("value").is_not_null())?
            .aggregate(by, vec![count(lit(1i64)).alias("rows")])?
            .project(columns)?
            .build()
    }

    /// How many distinct values the counted rows have: the key columns, and `distinct`; one row if there are no keys.
    ///
    /// A unit changes `distinct` by at most [`RowBounding::rows`] in each of the groups that count for it, and by at most [`RowBounding::in_all`] in all of them.
    pub fn distinct(self, one_row_per_unit: bool) -> Result<LogicalPlan> {
        let rule = self.rule()?;
        let mut rows = self.prepared(&rule)?;
        if !one_row_per_unit {
            let mut by = vec![col("unit")];
            by.extend(key_columns(&rule));
            by.push(col("value"));
            let values = LogicalPlanBuilder::from(rows)
                .aggregate(by, Vec::<Expr>::new())?
                .build()?;
            rows = self.chosen_rows(self.chosen_groups(values, &rule)?, &rule)?;
        }
        // One row for each value of a group, and then their number: both steps go to disk where the engine's own distinct count would not.
        let mut by = key_columns(&rule);
        by.push(col("value"));
        let mut columns = under_own_names(&self.keys);
        columns.push(col("distinct"));
        LogicalPlanBuilder::from(rows)
            .aggregate(by, Vec::<Expr>::new())?
            .aggregate(key_columns(&rule), vec![count(col("value")).alias("distinct")])?
            .project(columns)?
            .build()
    }

    fn rule(&self) -> Result<Rule> {
        let schema = self.input.schema();
        if self.groups == Some(0) || self.rows == 0 || self.in_all == Some(0) {
            return plan_err!("no row of a unit would count\nhint: let at least one group and one row count");
        }
        let keys: Result<Vec<DataType>> = self.keys.iter().map(|key| known_type(schema, key)).collect();
        Ok(Rule {
            unit: known_type(schema, &self.unit)?,
            keys: keys?,
            partials: Vec::new(),
            groups: self.groups,
            lengths: Vec::new(),
            beside: None,
            secret: self.secret.clone(),
        })
    }

    /// The rows that are somebody's: `unit`, `key0…`, `value`.
    fn prepared(&self, rule: &Rule) -> Result<LogicalPlan> {
        let mut columns = named(&self.unit, &self.keys, rule)?;
        let value = normalised(Expr::Column(self.value.clone()), &self.value_type()?)?;
        columns.push(value.alias("value"));
        let rows = LogicalPlanBuilder::from(self.input.clone())
            .project(columns)?
            .build()?;
        somebody(rows)
    }

    fn value_type(&self) -> Result<DataType> {
        known_type(self.input.schema(), &self.value)
    }

    /// The rows in groups that count for their unit. All rows of a group have one rank, so rows are not joined to a list of groups.
    fn chosen_groups(&self, rows: LogicalPlan, rule: &Rule) -> Result<LogicalPlan> {
        let ranked = with_hash(rows, rule)?;
        let Some(limit) = rule.limit() else {
            return Ok(ranked);
        };
        let place = dense_rank()
            .partition_by(vec![col("unit")])
            .order_by(order_of_groups(rule))
            .build()?
            .alias("group_place");
        LogicalPlanBuilder::from(ranked)
            .window(vec![place])?
            .filter(col("group_place").lt_eq(lit(limit)))?
            .build()
    }

    /// Of a unit's rows in a group those of smallest hash, then of smallest value; NULL comes last, so it takes no place from a value.
    fn chosen_rows(&self, rows: LogicalPlan, rule: &Rule) -> Result<LogicalPlan> {
        let mut within = vec![col("unit")];
        within.extend(key_columns(rule));
        let digest = rule.secret.of_value(col("value"), &self.value_type()?);
        let mut columns = within.clone();
        columns.extend([col("value"), col("unit_digest"), digest.alias("value_digest")]);
        let mut hashed = within.clone();
        let hash = rule.secret.hash(&col("unit_digest"), &col("value_digest"));
        hashed.extend([col("value"), hash.alias("value_hash")]);
        let place = row_number()
            .partition_by(within)
            .order_by(vec![
                col("value").is_null().sort(true, false),
                col("value_hash").sort(true, false),
                col("value").sort(true, false),
            ])
            .build()?
            .alias("row_place");
        let in_groups = LogicalPlanBuilder::from(rows)
            .project(columns)?
            .project(hashed)?
            .window(vec![place])?
            .filter(col("row_place").lt_eq(lit(self.rows)))?;
        let Some(in_all) = self.in_all else {
            return in_groups.build();
        };
        // Equal values of several groups have one hash; the groups' names tell them apart.
        let mut order = vec![
            col("value").is_null().sort(true, false),
            col("value_hash").sort(true, false),
        ];
        order.extend(key_columns(rule).into_iter().map(|key| key.sort(true, false)));
        order.push(col("value").sort(true, false));
        let place = row_number()
            .partition_by(vec![col("unit")])
            .order_by(order)
            .build()?
            .alias("place_in_all");
        in_groups
            .window(vec![place])?
            .filter(col("place_in_all").lt_eq(lit(in_all)))?
            .build()
    }
}
