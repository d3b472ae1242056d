//! Asking the engine for exact statistics. What comes back is private; it goes from here into `Sensitive` values and nowhere else.

use crate::catalog::Catalog;
use crate::run::engines::Engines;
use crate::run::publics::Publics;
use crate::run::scans::over_data;
use crate::understand::aggregation::{Aggregation, Measure, Statistic, TREE_LEAVES};
use crate::understand::mistakes::unplannable;
use crate::understand::relation::Rows;
use crate::values::facts::{Kind, Range, Value};
use crate::values::group_name::encode;
use crate::values::steps::Steps;
use crate::{Error, sources};
use bound::{Bounding, Form, RowBounding, Secret, is_not_clustered, on_grid, rows_of_texts, texts_in};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{Date32Type, Float64Type, Int64Type, TimestampMicrosecondType};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Column, DFSchema};
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, lit};
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionContext;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Exact statistics: private. No Debug, so that it cannot be printed by accident.
pub(crate) struct Measured {
    /// The groups that occur, by name, and where they are in the vectors below.
    pub(crate) groups: HashMap<Vec<u8>, usize>,
    /// For each statistic that is one number a group, its values; empty for the others.
    pub(crate) numbers: Vec<Vec<i64>>,
    /// For each statistic that is a tree, rows by (group, bin).
    pub(crate) bins: Vec<BTreeMap<(usize, i64), i64>>,
}

/// How the bounding step is done, from what the catalog knows. There is none only where the catalog itself promises one row a unit.
pub(crate) fn form(rows: &Rows) -> Form {
    if !rows.has_unit || (rows.promised && rows.rows_per_unit == Some(1)) {
        Form::Plain
    } else if rows.clustered {
        Form::Clustered
    } else {
        Form::Partitioned
    }
}

/// The engine's plans for an aggregation, over scans that are not bound to data yet.
pub(crate) struct BoundedPlans {
    /// Groups and numbers, and which statistic each `partial…` is.
    totals: (LogicalPlan, Vec<usize>),
    /// The same for rows in any order, where the catalog promises that they are sorted by unit.
    unsorted: Option<LogicalPlan>,
    /// One for each statistic that looks at single rows.
    single: Vec<(LogicalPlan, usize)>,
    keys: usize,
}

impl BoundedPlans {
    /// The plans, for people.
    pub(crate) fn plans(&self) -> impl Iterator<Item = &LogicalPlan> {
        std::iter::once(&self.totals.0).chain(self.single.iter().map(|(plan, _)| plan))
    }
}

/// Plans an aggregation.
pub(crate) fn bounded_plans(
    aggregation: &Aggregation,
    form: Form,
    secret: &Secret,
) -> Result<BoundedPlans, Error> {
    let rows = &aggregation.rows;
    let native = form != Form::Relational;
    let keys = aggregation.keys.len();
    let key_columns: Vec<Column> = (0..keys)
        .map(|place| Column::from_name(format!("group{place}")))
        .collect();
    let base = || -> Vec<Expr> {
        let unit = if rows.has_unit {
            rows.unit_expr()
        } else {
            lit(1i64)
        };
        let mut columns = vec![unit.alias("owner")];
        columns.extend(
            aggregation
                .keys
                .iter()
                .enumerate()
                .map(|(place, key)| key.expr.clone().unalias().alias(format!("group{place}"))),
        );
        columns
    };
    let project = |columns: Vec<Expr>| {
        LogicalPlanBuilder::from(rows.plan.clone())
            .project(columns)
            .and_then(LogicalPlanBuilder::build)
            .map_err(unplannable)
    };
    let groups = (keys > 0).then_some(aggregation.groups.per_unit);
    let mut columns = base();
    let mut arguments: Vec<Expr> = Vec::new();
    let mut partials = Vec::new();
    let mut places = Vec::new();
    for (place, statistic) in aggregation.statistics.iter().enumerate() {
        let argument = statistic
            .argument()
            .map(|argument| argument.column(native))
            .transpose()?;
        let at = match argument {
            Some(expr) => arguments
                .iter()
                .position(|other| *other == expr)
                .unwrap_or_else(|| {
                    arguments.push(expr);
                    arguments.len() - 1
                }),
            None => 0,
        };
        if let Some(partial) = statistic.partial(at) {
            partials.push(partial);
            places.push(place);
        }
    }
    if partials.is_empty() {
        // Nothing but statistics of single rows: the totals then only tell which groups there are.
        partials.push(bound::Partial::Units);
    }
    columns.extend(
        arguments
            .iter()
            .enumerate()
            .map(|(place, expr)| expr.clone().alias(format!("argument{place}"))),
    );
    let bounding = Bounding {
        input: project(columns)?,
        unit: Column::from_name("owner"),
        keys: key_columns.clone(),
        arguments: (0..arguments.len())
            .map(|place| Column::from_name(format!("argument{place}")))
            .collect(),
        partials,
        groups,
        secret: secret.clone(),
    };
    let unsorted = (form == Form::Clustered)
        .then(|| bounding.clone().plan(Form::Partitioned))
        .transpose()
        .map_err(unplannable)?;
    let totals = (bounding.plan(form).map_err(unplannable)?, places);
    let mut single = Vec::new();
    for (place, statistic) in aggregation.statistics.iter().enumerate() {
        let (value, most) = match &statistic.measure {
            Measure::Tree {
                value,
                kind,
                range,
                most,
            } => (bin(value.clone(), *kind, *range, native)?, *most),
            Measure::Distinct { value, most } => (value.clone(), *most),
            Measure::Histogram { place, most, .. } => (place.clone(), *most),
            _ => continue,
        };
        let mut columns = base();
        columns.push(value.alias("single"));
        let bounding = RowBounding {
            input: project(columns)?,
            unit: Column::from_name("owner"),
            keys: key_columns.clone(),
            value: Column::from_name("single"),
            rows: most,
            groups,
            secret: secret.clone(),
        };
        let one = self::form(rows) == Form::Plain;
        let plan = match &statistic.measure {
            Measure::Tree { .. } | Measure::Histogram { .. } => bounding.histogram(one),
            _ => bounding.distinct(one),
        };
        single.push((plan.map_err(unplannable)?, place));
    }
    Ok(BoundedPlans {
        totals,
        unsorted,
        single,
        keys,
    })
}

/// The leaf of the tree in which a value lies, from 0.
fn bin(value: Expr, kind: Kind, range: Range, native: bool) -> Result<Expr, Error> {
    let leaf = leaf_steps(kind, range);
    let low = leaf.round(range.low);
    let placed = on_grid(value, kind, leaf.exponent(), low, low + TREE_LEAVES - 1, native);
    Ok(placed.map_err(unplannable)? - lit(low))
}

/// Leaves are a power of two wide, so that values fall into them exactly; integers at least 1.
pub(crate) fn leaf_steps(kind: Kind, range: Range) -> Steps {
    let width = (range.high - range.low) / (TREE_LEAVES - 2) as f64;
    let exponent = if width > 0.0 {
        width.log2().ceil() as i32
    } else {
        -900
    };
    Steps::of(if kind == Kind::Int {
        exponent.max(0)
    } else {
        exponent.max(-900)
    })
}

/// Plans over data, ready to run: nothing about them can be refused any more.
pub(crate) struct Prepared {
    totals: Step,
    places: Vec<usize>,
    single: Vec<(Step, usize)>,
    keys: usize,
}

#[cfg(test)]
impl Prepared {
    /// How many rows each plan handles at once.
    pub(crate) fn batch_sizes(&self) -> Vec<usize> {
        let steps = std::iter::once(&self.totals).chain(self.single.iter().map(|(step, _)| step));
        steps
            .map(|step| step.context.session_config().batch_size())
            .collect()
    }
}

impl BoundedPlans {
    /// Binds the plans to data and has the engine plan their execution. Reads schemas, and no rows of private tables.
    ///
    /// # Errors
    /// When a table cannot be opened, or the engine's plan has an operator that is not on the closed list: before anything is charged.
    pub(crate) async fn prepare(
        self,
        publics: &Publics,
        engines: &Engines,
        catalog: &Catalog,
    ) -> Result<Prepared, Error> {
        let session = engines.first()?;
        let over = async |plan: &LogicalPlan| over_data(&publics.put_into(plan)?, &session, catalog).await;
        let unsorted = match &self.unsorted {
            Some(plan) => Some(over(plan).await?),
            None => None,
        };
        let totals = Step::new(over(&self.totals.0).await?, unsorted, &session).await?;
        let mut single = Vec::new();
        for (plan, place) in &self.single {
            single.push((Step::new(over(plan).await?, None, &session).await?, *place));
        }
        Ok(Prepared {
            totals,
            places: self.totals.1,
            single,
            keys: self.keys,
        })
    }
}

/// Runs the plans.
pub(crate) async fn measure(
    prepared: Prepared,
    statistics: &[Statistic],
    engines: &Engines,
) -> Result<Measured, Error> {
    let mut measured = Measured {
        groups: HashMap::new(),
        numbers: vec![Vec::new(); statistics.len()],
        bins: vec![BTreeMap::new(); statistics.len()],
    };
    let keys = prepared.keys;
    for batch in prepared.totals.run(engines).await? {
        let names = names(&batch, keys)?;
        for (row, name) in names.into_iter().enumerate() {
            let group = measured.groups.len();
            measured.groups.insert(name, group);
            for (column, place) in prepared.places.iter().enumerate() {
                let values = batch.column(keys + column).as_primitive::<Int64Type>();
                measured.numbers[*place].push(number(values, row));
            }
        }
    }
    for (step, place) in prepared.single {
        let tree = matches!(
            statistics[place].measure,
            Measure::Tree { .. } | Measure::Histogram { .. }
        );
        let known = measured.groups.len();
        if !tree {
            measured.numbers[place] = vec![0; known];
        }
        for batch in step.run(engines).await? {
            for (row, name) in names(&batch, keys)?.into_iter().enumerate() {
                // Every group with a row is in the totals, which count units; a group that is not was cut.
                let Some(group) = measured.groups.get(&name).copied() else {
                    continue;
                };
                let column = |at: usize| batch.column(keys + at).as_primitive::<Int64Type>();
                if tree {
                    measured.bins[place].insert((group, number(column(0), row)), number(column(1), row));
                } else {
                    measured.numbers[place][group] = number(column(0), row);
                }
            }
        }
    }
    Ok(measured)
}

fn number(values: &datafusion::arrow::array::PrimitiveArray<Int64Type>, row: usize) -> i64 {
    if values.is_null(row) { 0 } else { values.value(row) }
}

/// The names of a batch's groups.
fn names(batch: &RecordBatch, keys: usize) -> Result<Vec<Vec<u8>>, Error> {
    let columns: Vec<&ArrayRef> = batch.columns()[..keys].iter().collect();
    (0..batch.num_rows())
        .map(|row| {
            let values = columns
                .iter()
                .map(|column| value(column, row))
                .collect::<Result<Vec<Value>, Error>>()?;
            Ok(encode(&values))
        })
        .collect()
}

/// One value of a column of a kind that we know.
pub(crate) fn value(column: &ArrayRef, row: usize) -> Result<Value, Error> {
    use datafusion::arrow::datatypes::DataType;
    if column.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match column.data_type() {
        DataType::Boolean => Value::Bool(column.as_boolean().value(row)),
        DataType::Int64 => Value::Int(column.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => Value::Float(column.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8View => Value::Text(column.as_string_view().value(row).to_owned()),
        DataType::Utf8 => Value::Text(column.as_string::<i32>().value(row).to_owned()),
        DataType::Date32 => Value::Date(column.as_primitive::<Date32Type>().value(row)),
        DataType::Timestamp(datafusion::arrow::datatypes::TimeUnit::Microsecond, _) => {
            Value::Timestamp(column.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        _ => {
            return Err(Error::refused(
                "groups of this type are not understood",
                "CAST the key to a number, text, a date or a timestamp",
            ));
        }
    })
}

/// A plan over data that the engine, or the closed list of operators, does not take. Of what is said about it the first line alone is reported: the rest may print the plan,
/// in which are the places of the curator's files.
fn unexecutable(error: DataFusionError) -> Error {
    let said = error.strip_backtrace();
    Error::refused(
        format!(
            "the engine cannot execute this: {}",
            said.lines().next().unwrap_or_default()
        ),
        "write it in a simpler way, for example with a subquery for each step; nothing was charged",
    )
}

/// A step of a query has this many texts at once at most.
const MOST_TEXTS: usize = 1024;

/// The most texts that any step of a plan has of one row: those that it gives, and those that it computes on the way. What the texts of a batch take is bounded by how many rows it has.
fn most_texts(plan: &LogicalPlan) -> Result<usize, Error> {
    let mut most = 0;
    let walked = plan.apply_with_subqueries(|node| {
        let inputs: Vec<_> = node
            .inputs()
            .iter()
            .map(|input| input.schema().as_ref().clone())
            .collect();
        let mut known = DFSchema::empty();
        inputs.iter().for_each(|input| known.merge(input));
        let computed = node
            .expressions()
            .iter()
            .map(|expr| texts_of(expr, &known))
            .sum::<usize>();
        most = most.max(computed.max(texts_in(node.schema().as_arrow())));
        Ok(TreeNodeRecursion::Continue)
    });
    walked.map_err(unplannable)?;
    if most > MOST_TEXTS {
        return Err(Error::refused(
            format!(
                "a step of this query handles {most} texts of each row, and at most {MOST_TEXTS} are allowed"
            ),
            "ask for fewer columns of text at once",
        ));
    }
    Ok(most)
}

/// Whether an expression, or what an aggregate is computed of, is text.
fn texts_of(expr: &Expr, known: &DFSchema) -> usize {
    let is_text = |expr: &Expr| {
        let data_type = expr.get_type(known);
        usize::from(data_type.is_ok_and(|data_type| Kind::of(&data_type) == Some(Kind::Text)))
    };
    match expr.clone().unalias() {
        Expr::AggregateFunction(call) => call.params.args.iter().map(is_text).sum(),
        expr => is_text(&expr),
    }
}

/// One plan over data, and what to do when it does not run to its end.
///
/// Whether there is an answer must not depend on any one person. So rows that are not sorted as the catalog promises are read again in any order, and a plan that
/// ran out of memory is given more. The result is the same to the last bit, since every attempt uses the same key; that there was more than one shows in the time alone.
struct Step {
    plan: LogicalPlan,
    /// The same for rows in any order.
    unsorted: Option<LogicalPlan>,
    planned: Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
}

impl Step {
    async fn new(
        plan: LogicalPlan,
        unsorted: Option<LogicalPlan>,
        session: &SessionContext,
    ) -> Result<Self, Error> {
        let mut state = session.state();
        let needed = state.optimize(&plan).map_err(unplannable)?;
        let texts = most_texts(&needed)?;
        let rows = state.config().batch_size().min(rows_of_texts(texts));
        *state.config_mut() = state.config().clone().with_batch_size(rows);
        let planner = Arc::clone(state.query_planner());
        let planned = planner.create_physical_plan(&needed, &state).await;
        Ok(Self {
            planned: planned.map_err(unexecutable)?,
            context: state.task_ctx(),
            plan,
            unsorted,
        })
    }

    async fn run(mut self, engines: &Engines) -> Result<Vec<RecordBatch>, Error> {
        let mut attempt = 0;
        loop {
            let failure = match collect(self.planned, self.context).await {
                Ok(batches) => return Ok(batches),
                Err(failure) => failure,
            };
            if is_not_clustered(&failure)
                && let Some(unsorted) = self.unsorted.take()
            {
                self.plan = unsorted;
            } else if matches!(failure.find_root(), DataFusionError::ResourcesExhausted(_)) {
                attempt += 1;
            } else {
                return Err(sources::incident("the tables", &failure));
            }
            let Some(session) = engines.private(attempt)? else {
                return Err(sources::incident("the tables", &failure));
            };
            self = Self::new(self.plan, self.unsorted, &session).await?;
        }
    }
}
