//! What makes two questions the same: that they release the same statistics of the same rows.
//!
//! A question is compared by what it means below the frontier, not by how it is written: names given with AS are gone, columns are what they are of the tables, and
//! whatever may stand in any order is put in one. What is above the frontier is no part of it, since it is computed anew from what was released.
//!
//! Every part of a plan gets a [`Mark`], a hash of what it computes. A relation has the mark of its rows and one for each of its columns, which says what function
//! of a row the column is. So a projection changes marks of columns alone, and an alias changes nothing.
//!
//! Each rule keeps the meaning of SQL over total expressions, of which no order of evaluation can be seen: AND and OR are associative, commutative and idempotent
//! in three-valued logic; `=`, `<>`, `+` and `*` are commutative, on floats too (and not associative, so sums are not flattened); `a > b` is `b < a`; a list of constants of one
//! type after IN is a chain of OR, and after NOT IN one of AND (constants of several types are compared in a type of their own, so such a list is a set of its own); BETWEEN is two
//! comparisons; NOT turns a comparison, whose order is total, into its opposite, AND into OR, and IS NULL into IS NOT NULL; ORDER BY without LIMIT keeps rows; keys of
//! GROUP BY are a set. What no rule knows is compared as it is written, names and
//! all: two questions that are the same may be taken for different ones and paid twice. Should two that differ be taken for the same, the second gets the answer of
//! the first: wrong, but paid for.

use crate::aggregation::{Aggregation, Argument, Measure, Selection, Statistic};
use crate::catalog::{Catalog, Source, Table};
use crate::expression::commutes;
use crate::price::Price;
use crate::relation::{select_marker, table_of};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchemaRef, ScalarValue};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::expr::{AggregateFunction, Between, InList};
use datafusion::logical_expr::{BinaryExpr, Distinct, Expr, Join, JoinType, LogicalPlan, Operator, lit};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// A hash of what something computes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark([u8; 32]);

impl Mark {
    pub(crate) fn hexadecimal(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl std::fmt::Debug for Mark {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.hexadecimal()[..8])
    }
}

/// Parts of a hash, each after its length, so that no two lists of parts are hashed alike.
struct Parts(Sha256);

impl Parts {
    fn of(what: &str) -> Self {
        Self(Sha256::new()).text(what)
    }

    fn text(mut self, text: &str) -> Self {
        self.0.update((text.len() as u64).to_be_bytes());
        self.0.update(text.as_bytes());
        self
    }

    fn debug(self, value: impl std::fmt::Debug) -> Self {
        self.text(&format!("{value:?}"))
    }

    fn mark(mut self, mark: Mark) -> Self {
        self.0.update(mark.0);
        self
    }

    fn marks(self, marks: impl IntoIterator<Item = Mark>) -> Self {
        let marks: Vec<Mark> = marks.into_iter().collect();
        let counted = self.debug(marks.len());
        marks.into_iter().fold(counted, Self::mark)
    }

    fn end(self) -> Mark {
        Mark(self.0.finalize().into())
    }
}

/// What a table is, apart from its columns, and which version of its data is meant.
fn table_mark(name: &str, table: &Table, catalog: &Catalog) -> Mark {
    // Where the catalog lies is not part of what it says.
    let source = match &table.source {
        Source::Csv(path) | Source::Parquet(path) => {
            let path = path.strip_prefix(&catalog.directory).unwrap_or(path);
            format!("file {}", path.display())
        }
        Source::Postgres { connection, table } => format!("{connection} {table}"),
        Source::Memory(_) => "memory".to_owned(),
    };
    let rest = Table {
        source: Source::Csv("".into()),
        columns: Vec::new(),
        version: None,
        // Limits decide how many rows, groups and how large sums count, and these numbers are marked where they are used.
        limits: crate::catalog::Limits::default(),
        ..table.clone()
    };
    Parts::of("table")
        .text(name)
        .text(&source)
        .text(&catalog.version_of(table))
        .debug(rest)
        .end()
}

/// Rows, and what each of their columns is.
pub(crate) struct Relation {
    /// The rows before conditions on them.
    base: Mark,
    /// What holds of each row.
    conditions: BTreeSet<Mark>,
    columns: Vec<Mark>,
    schema: DFSchemaRef,
}

impl Relation {
    /// The relation that a plan makes.
    pub(crate) fn of(plan: &LogicalPlan, catalog: &Catalog) -> Result<Self, DataFusionError> {
        Reading { catalog }.relation(plan)
    }

    fn rows(&self) -> Mark {
        Parts::of("rows")
            .mark(self.base)
            .marks(self.conditions.iter().copied())
            .end()
    }

    /// The same rows and columns under other names.
    fn named_as(self, schema: &DFSchemaRef) -> Self {
        Self {
            schema: schema.clone(),
            ..self
        }
    }
}

/// What an expression over these rows computes.
fn mark(expr: &Expr, rows: &Relation, catalog: &Catalog) -> Result<Mark, DataFusionError> {
    Reading { catalog }.expression(expr, rows)
}

struct Reading<'a> {
    catalog: &'a Catalog,
}

impl Reading<'_> {
    fn relation(&self, plan: &LogicalPlan) -> Result<Relation, DataFusionError> {
        let schema = plan.schema();
        let read = match plan {
            LogicalPlan::TableScan(scan) if scan.filters.is_empty() && scan.fetch.is_none() => {
                let Some((name, table)) = table_of(self.catalog, &scan.table_name) else {
                    return self.as_written(plan);
                };
                let column = |field: &str| {
                    Parts::of("column")
                        .text(name)
                        .text(field)
                        .debug(table.column(field))
                        .end()
                };
                Relation {
                    base: table_mark(name, table, self.catalog),
                    conditions: BTreeSet::new(),
                    columns: schema.fields().iter().map(|field| column(field.name())).collect(),
                    schema: schema.clone(),
                }
            }
            LogicalPlan::SubqueryAlias(alias) => self.relation(&alias.input)?.named_as(schema),
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => self.relation(&sort.input)?,
            LogicalPlan::Projection(projection) => {
                let input = self.relation(&projection.input)?;
                let columns = self.expressions(&projection.expr, &input)?;
                Relation { columns, ..input }.named_as(schema)
            }
            LogicalPlan::Filter(filter) => {
                let mut input = self.relation(&filter.input)?;
                let conditions = self.links(&filter.predicate, false, Operator::And, &input)?;
                input.conditions.extend(conditions);
                input
            }
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let input = self.relation(input)?;
                let base = Parts::of("distinct")
                    .mark(input.rows())
                    .marks(input.columns.iter().copied())
                    .end();
                Relation {
                    base,
                    conditions: BTreeSet::new(),
                    ..input
                }
            }
            LogicalPlan::Aggregate(aggregate) => {
                let sets = |expr: &Expr| matches!(expr, Expr::GroupingSet(_));
                if aggregate.group_expr.iter().any(sets) {
                    return self.as_written(plan);
                }
                let input = self.relation(&aggregate.input)?;
                let keys = self.expressions(&aggregate.group_expr, &input)?;
                let set: BTreeSet<Mark> = keys.iter().copied().collect();
                let base = Parts::of("groups").mark(input.rows()).marks(set).end();
                let of_group = |what: Mark| Parts::of("of a group").mark(base).mark(what).end();
                let results = self.expressions(&aggregate.aggr_expr, &input)?;
                Relation {
                    base,
                    conditions: BTreeSet::new(),
                    columns: keys.into_iter().chain(results).map(of_group).collect(),
                    schema: schema.clone(),
                }
            }
            LogicalPlan::Union(union) => {
                let sides = union.inputs.iter().map(|side| self.relation(side));
                let sides: Vec<Relation> = sides.collect::<Result<_, _>>()?;
                let base = sides.iter().fold(Parts::of("union"), |parts, side| {
                    parts.mark(side.rows()).marks(side.columns.iter().copied())
                });
                let column = |place: usize| {
                    let parts = sides.iter().map(|side| side.columns.get(place).copied());
                    Parts::of("united").marks(parts.flatten()).end()
                };
                Relation {
                    base: base.end(),
                    conditions: BTreeSet::new(),
                    columns: (0..schema.fields().len()).map(column).collect(),
                    schema: schema.clone(),
                }
            }
            LogicalPlan::Join(join) => self.join(join)?,
            _ => return self.as_written(plan),
        };
        if read.columns.len() == schema.fields().len() {
            Ok(read)
        } else {
            self.as_written(plan)
        }
    }

    /// Of one owner a public number of rows is joined, the first in the order of their values: so all columns of a side matter, in their order.
    fn join(&self, join: &Join) -> Result<Relation, DataFusionError> {
        let (left, right) = (self.relation(&join.left)?, self.relation(&join.right)?);
        let side = |which: &str, relation: &Relation| -> Vec<Mark> {
            let columns = relation.columns.iter();
            columns
                .map(|column| Parts::of(which).mark(*column).end())
                .collect()
        };
        let (left_columns, right_columns) = (side("left", &left), side("right", &right));
        // Conditions speak of both sides, whichever the join keeps.
        let both = Relation {
            base: left.base,
            conditions: BTreeSet::new(),
            columns: left_columns.iter().chain(&right_columns).copied().collect(),
            schema: std::sync::Arc::new(join.left.schema().join(join.right.schema())?),
        };
        let mut conditions = BTreeSet::new();
        for (a, b) in &join.on {
            conditions.insert(symmetric(
                Operator::Eq,
                self.expression(a, &both)?,
                self.expression(b, &both)?,
            ));
        }
        if let Some(filter) = &join.filter {
            conditions.extend(self.links(filter, false, Operator::And, &both)?);
        }
        let base = Parts::of("join")
            .debug(join.join_type)
            .debug(join.null_equality)
            .mark(left.rows())
            .marks(left.columns.iter().copied())
            .mark(right.rows())
            .marks(right.columns.iter().copied())
            .marks(conditions)
            .end();
        let columns = match join.join_type {
            JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full => both.columns,
            JoinType::LeftSemi | JoinType::LeftAnti => left_columns,
            JoinType::RightSemi | JoinType::RightAnti => right_columns,
            _ => Vec::new(),
        };
        Ok(Relation {
            base,
            conditions: BTreeSet::new(),
            columns,
            schema: join.schema.clone(),
        })
    }

    /// What no rule knows: operators and expressions as they are written, and everything that is declared of the tables.
    fn as_written(&self, plan: &LogicalPlan) -> Result<Relation, DataFusionError> {
        let mut parts = Parts::of("as written").mark(as_written(plan)?);
        plan.apply_with_subqueries(|node| {
            if let LogicalPlan::TableScan(scan) = node
                && let Some((name, table)) = table_of(self.catalog, &scan.table_name)
            {
                let whole = std::mem::replace(&mut parts, Parts::of(""));
                parts = whole
                    .mark(table_mark(name, table, self.catalog))
                    .debug(&table.columns);
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        let base = parts.end();
        let column = |place: usize| Parts::of("column as written").mark(base).debug(place).end();
        Ok(Relation {
            base,
            conditions: BTreeSet::new(),
            columns: (0..plan.schema().fields().len()).map(column).collect(),
            schema: plan.schema().clone(),
        })
    }

    fn expressions(&self, exprs: &[Expr], rows: &Relation) -> Result<Vec<Mark>, DataFusionError> {
        exprs.iter().map(|expr| self.expression(expr, rows)).collect()
    }

    fn expression(&self, expr: &Expr, rows: &Relation) -> Result<Mark, DataFusionError> {
        let of = |expr: &Expr| self.expression(expr, rows);
        Ok(match expr {
            Expr::Alias(alias) => of(&alias.expr)?,
            Expr::Column(column) => match rows.schema.maybe_index_of_column(column) {
                Some(place) => rows.columns[place],
                None => Parts::of("name").debug(column).end(),
            },
            Expr::Literal(value, _) => Parts::of("constant")
                .text(&value.data_type().to_string())
                .debug(value.is_null())
                .text(&value.to_string())
                .end(),
            Expr::Not(inner) => self.signed(inner, true, rows)?,
            Expr::BinaryExpr(BinaryExpr {
                op: Operator::And | Operator::Or,
                ..
            })
            | Expr::Between(_)
            | Expr::InList(_) => self.signed(expr, false, rows)?,
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => compared(*op, of(left)?, of(right)?),
            Expr::ScalarFunction(call) if commutes(call.func.name()) => {
                let mut operands = self.expressions(&call.args, rows)?;
                operands.sort();
                Parts::of("call").text(call.func.name()).marks(operands).end()
            }
            // Every constant that is not NULL counts all rows.
            Expr::AggregateFunction(AggregateFunction { func, params })
                if func.name() == "count"
                    && !params.distinct
                    && params.filter.is_none()
                    && params.order_by.is_empty()
                    && matches!(params.args.as_slice(), [] | [Expr::Literal(_, _)])
                    && !matches!(params.args.first(), Some(Expr::Literal(value, _)) if value.is_null()) =>
            {
                Parts::of("count of rows").end()
            }
            other => self.as_written_above(other, rows)?,
        })
    }

    /// A condition, or the opposite of one.
    fn signed(&self, expr: &Expr, negated: bool, rows: &Relation) -> Result<Mark, DataFusionError> {
        let of = |expr: &Expr| self.expression(expr, rows);
        if let Some(op) = chain(expr, negated) {
            let links = self.links(expr, negated, op, rows)?;
            return Ok(match links.first() {
                Some(only) if links.len() == 1 => *only,
                _ => Parts::of("logic").debug(op).marks(links).end(),
            });
        }
        Ok(match expr {
            Expr::Alias(alias) => self.signed(&alias.expr, negated, rows)?,
            Expr::Not(inner) => self.signed(inner, !negated, rows)?,
            Expr::InList(InList {
                expr,
                list,
                negated: not_in,
            }) => {
                let values = list.iter().map(of);
                let values: BTreeSet<Mark> = values.collect::<Result<_, _>>()?;
                let negated = *not_in != negated;
                Parts::of("in").debug(negated).mark(of(expr)?).marks(values).end()
            }
            // Ends of several types: see [`chain`].
            Expr::Between(Between {
                expr,
                negated: not_between,
                low,
                high,
            }) => Parts::of("between")
                .debug(*not_between != negated)
                .marks([of(expr)?, of(low)?, of(high)?])
                .end(),
            plain if !negated => of(plain)?,
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if opposite(*op).is_some() => {
                compared(opposite(*op).unwrap_or(*op), of(left)?, of(right)?)
            }
            Expr::IsNull(inner) => self.as_written_above(&Expr::IsNotNull(inner.clone()), rows)?,
            Expr::IsNotNull(inner) => self.as_written_above(&Expr::IsNull(inner.clone()), rows)?,
            other => self.as_written_above(&Expr::Not(Box::new(other.clone())), rows)?,
        })
    }

    /// The links of a chain of AND, or of OR: see [`chain`].
    fn links(
        &self,
        expr: &Expr,
        negated: bool,
        op: Operator,
        rows: &Relation,
    ) -> Result<BTreeSet<Mark>, DataFusionError> {
        let of = |expr: &Expr| self.expression(expr, rows);
        let mut links = BTreeSet::new();
        for (part, negated) in parts_of(expr, negated, op) {
            match part {
                Expr::Between(Between { expr, low, high, .. }) if chain(part, negated) == Some(op) => {
                    let [value, low, high] = [of(expr)?, of(low)?, of(high)?];
                    links.extend(if op == Operator::Or {
                        [
                            binary(Operator::Lt, value, low),
                            binary(Operator::Lt, high, value),
                        ]
                    } else {
                        [
                            binary(Operator::LtEq, low, value),
                            binary(Operator::LtEq, value, high),
                        ]
                    });
                }
                Expr::InList(InList { expr, list, .. }) if chain(part, negated) == Some(op) => {
                    let value = of(expr)?;
                    let equal = match op {
                        Operator::Or => Operator::Eq,
                        _ => Operator::NotEq,
                    };
                    for member in list {
                        links.insert(symmetric(equal, value, of(member)?));
                    }
                }
                // Where the options of a SELECT are found is no condition.
                marker if !negated && select_marker(marker).is_some() => {}
                other => {
                    links.insert(self.signed(other, negated, rows)?);
                }
            }
        }
        Ok(links)
    }

    /// An expression that no rule is about: itself as it is written, and what its parts compute.
    fn as_written_above(&self, expr: &Expr, rows: &Relation) -> Result<Mark, DataFusionError> {
        let mut below = Vec::new();
        expr.apply_children(|part| {
            below.push(self.expression(part, rows)?);
            Ok(TreeNodeRecursion::Continue)
        })?;
        let alone = expr
            .clone()
            .map_children(|_| Ok(Transformed::yes(lit(ScalarValue::Null))))?
            .data;
        let mut parts = Parts::of("expression")
            .text(alone.variant_name())
            .text(&alone.to_string());
        match expr {
            // A function may have parameters that its name does not show.
            Expr::ScalarFunction(call) => parts = parts.debug(&call.func),
            Expr::ScalarSubquery(inner) => parts = parts.marks(self.subquery(&inner.subquery, rows)?),
            Expr::InSubquery(inner) => {
                parts = parts.marks(self.subquery(&inner.subquery.subquery, rows)?);
            }
            Expr::Exists(inner) => parts = parts.marks(self.subquery(&inner.subquery.subquery, rows)?),
            Expr::SetComparison(inner) => {
                parts = parts.marks(self.subquery(&inner.subquery.subquery, rows)?);
            }
            _ => {}
        }
        Ok(parts.marks(below).end())
    }

    /// A subquery as it is written, and what the columns of the outer rows that it names are: by their names alone one could not tell.
    fn subquery(&self, plan: &LogicalPlan, rows: &Relation) -> Result<Vec<Mark>, DataFusionError> {
        let mut marks = vec![self.as_written(plan)?.base];
        plan.apply_with_subqueries(|node| {
            node.apply_expressions(|expr| {
                expr.apply(|part| {
                    if let Expr::OuterReferenceColumn(_, column) = part {
                        marks.push(self.expression(&Expr::Column(column.clone()), rows)?);
                    }
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        })?;
        Ok(marks)
    }
}

/// Whether a condition, or the opposite of one, is a chain of AND or of OR, and of which. BETWEEN and IN are short for chains.
fn chain(expr: &Expr, negated: bool) -> Option<Operator> {
    let (plain, turned) = match expr {
        Expr::BinaryExpr(BinaryExpr { op, .. }) => match op {
            Operator::And => (Operator::And, Operator::Or),
            Operator::Or => (Operator::Or, Operator::And),
            _ => return None,
        },
        // The value of a BETWEEN is compared with both ends in one type, which is that of two comparisons where the ends have the same.
        Expr::Between(between) if !of_one_type(&[(*between.low).clone(), (*between.high).clone()]) => {
            return None;
        }
        Expr::Between(between) if between.negated => (Operator::Or, Operator::And),
        Expr::Between(_) => (Operator::And, Operator::Or),
        // The operand of a list of constants of several types is compared in a type of its own.
        Expr::InList(list) if !of_one_type(&list.list) => return None,
        Expr::InList(list) if list.negated => (Operator::And, Operator::Or),
        Expr::InList(_) => (Operator::Or, Operator::And),
        _ => return None,
    };
    Some(if negated { turned } else { plain })
}

/// Whether these are constants of one type, and not NULL. One alone is compared as `=` does in any case.
fn of_one_type(list: &[Expr]) -> bool {
    let data_type = |expr: &Expr| match expr {
        Expr::Literal(value, _) if !value.is_null() => Some(value.data_type()),
        _ => None,
    };
    match list {
        [] => false,
        [_] => true,
        [first, rest @ ..] => {
            let first = data_type(first);
            first.is_some() && rest.iter().all(|expr| data_type(expr) == first)
        }
    }
}

/// The links of a chain of AND, or of OR, and whether the opposite of each is meant.
fn parts_of(expr: &Expr, negated: bool, op: Operator) -> Vec<(&Expr, bool)> {
    let mut parts = Vec::new();
    let mut waiting = vec![(expr, negated)];
    while let Some((expr, negated)) = waiting.pop() {
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, right, .. }) if chain(expr, negated) == Some(op) => {
                waiting.extend([(&**left, negated), (&**right, negated)]);
            }
            Expr::Alias(alias) => waiting.push((&alias.expr, negated)),
            Expr::Not(inner) => waiting.push((inner, !negated)),
            other => parts.push((other, negated)),
        }
    }
    parts
}

/// What holds where a comparison does not, NULL being neither. The order of values is total, of floats too.
fn opposite(op: Operator) -> Option<Operator> {
    Some(match op {
        Operator::Eq => Operator::NotEq,
        Operator::NotEq => Operator::Eq,
        Operator::Lt => Operator::GtEq,
        Operator::LtEq => Operator::Gt,
        Operator::Gt => Operator::LtEq,
        Operator::GtEq => Operator::Lt,
        Operator::IsDistinctFrom => Operator::IsNotDistinctFrom,
        Operator::IsNotDistinctFrom => Operator::IsDistinctFrom,
        _ => return None,
    })
}

/// An operator over two values, in one of the ways to write it.
fn compared(op: Operator, left: Mark, right: Mark) -> Mark {
    match op {
        Operator::Eq
        | Operator::NotEq
        | Operator::Plus
        | Operator::Multiply
        | Operator::IsDistinctFrom
        | Operator::IsNotDistinctFrom => symmetric(op, left, right),
        Operator::Gt => binary(Operator::Lt, right, left),
        Operator::GtEq => binary(Operator::LtEq, right, left),
        op => binary(op, left, right),
    }
}

fn binary(op: Operator, left: Mark, right: Mark) -> Mark {
    Parts::of("operator").debug(op).mark(left).mark(right).end()
}

fn symmetric(op: Operator, left: Mark, right: Mark) -> Mark {
    binary(op, left.min(right), left.max(right))
}

/// A plan as it is written, so that no two plans have one mark. What the engine prints of a plan is for people: it cuts long lists, and does not escape texts. So operators
/// and expressions are told one by one, each part with its length before it, and expressions from their leaves up, as in a postfix notation: what was told already
/// stands as NULL in what is told next. So each part is told once, however deep it lies.
pub(crate) fn as_written(plan: &LogicalPlan) -> Result<Mark, DataFusionError> {
    let mut parts = Parts::of("plan");
    let mut add = |text: &str| {
        let before = std::mem::replace(&mut parts, Parts(Sha256::new()));
        parts = before.text(text);
    };
    plan.apply_with_subqueries(|node| {
        let expressions = node.expressions();
        add(&node.display().to_string());
        add(&format!("{} {}", node.inputs().len(), expressions.len()));
        for expression in expressions {
            expression.transform_up(|part| {
                let mut below = 0u64;
                part.apply_children(|_| {
                    below += 1;
                    Ok(TreeNodeRecursion::Continue)
                })?;
                add(&format!("{} {below}", part.variant_name()));
                add(&part.to_string());
                Ok(Transformed::yes(lit(ScalarValue::Null)))
            })?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(parts.end())
}

/// What an aggregation releases, with the order of its keys and statistics in the query.
#[derive(Clone, Debug)]
pub(crate) struct Marks {
    /// The rows, and everything declared of the tables that they come from.
    rows: Mark,
    /// A mark for each key, in the order of the query.
    pub(crate) keys: Vec<Mark>,
    /// A mark for each statistic, in the order of the query.
    pub(crate) statistics: Vec<Mark>,
}

impl Marks {
    /// Of an aggregation over the rows of this plan, as it was written.
    pub(crate) fn of(
        aggregation: &Aggregation,
        rows: &LogicalPlan,
        catalog: &Catalog,
    ) -> Result<Self, DataFusionError> {
        let relation = Relation::of(rows, catalog)?;
        let mut keys = Vec::new();
        for key in &aggregation.keys {
            let listed = match aggregation.groups.selection {
                Selection::Listed(_) => Some((key.enumerable(), key.facts.nullable)),
                Selection::Threshold => None,
            };
            let value = mark(&key.expr, &relation, catalog)?;
            keys.push(Parts::of("key").mark(value).debug(listed).end());
        }
        let statistics = aggregation.statistics.iter();
        let statistics = statistics.map(|statistic| statistic_mark(statistic, &relation, catalog));
        // Also tables through which owners are reached.
        let mut tables = BTreeSet::new();
        aggregation.rows.plan.apply_with_subqueries(|node| {
            if let LogicalPlan::TableScan(scan) = node
                && let Some((name, table)) = table_of(catalog, &scan.table_name)
            {
                tables.insert(table_mark(name, table, catalog));
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(Self {
            rows: Parts::of("private rows")
                .mark(relation.rows())
                .marks(tables)
                .debug((aggregation.rows.rows_per_unit, aggregation.rows.has_unit))
                .end(),
            keys,
            statistics: statistics.collect::<Result<_, _>>()?,
        })
    }

    /// Of the overview of what the limits of this aggregation cut. The names of its columns tell nothing apart, so it is known by what it is about.
    pub(crate) fn of_overview(&self, about: &Aggregation, overview: &Aggregation) -> Self {
        let whole = Parts::of("overview")
            .mark(self.rows)
            .marks(self.keys.iter().copied().collect::<BTreeSet<_>>())
            .marks(self.statistics.iter().copied().collect::<BTreeSet<_>>())
            .debug((about.groups.per_unit, about.groups.sampled))
            .end();
        let statistic = |(place, one): (usize, &Statistic)| {
            Parts::of("of an overview")
                .mark(whole)
                .debug((place, one.steps, one.low, one.high, one.weight))
                .end()
        };
        Self {
            rows: whole,
            keys: Vec::new(),
            statistics: overview.statistics.iter().enumerate().map(statistic).collect(),
        }
    }

    /// Whether both release the same, in the same order.
    pub(crate) fn same_in_order(&self, other: &Self) -> bool {
        self.rows == other.rows && self.keys == other.keys && self.statistics == other.statistics
    }

    /// Everything that decides what is released, and how precisely.
    pub(crate) fn release(&self, aggregation: &Aggregation, price: &Price, catalog: &Catalog) -> Mark {
        let sorted = |marks: &[Mark]| {
            let mut marks = marks.to_vec();
            marks.sort();
            marks
        };
        let groups = &aggregation.groups;
        Parts::of("release, format 2")
            .debug(&catalog.unit)
            .mark(self.rows)
            .marks(sorted(&self.keys))
            .marks(sorted(&self.statistics))
            .debug((
                groups.selection == Selection::Threshold,
                groups.per_unit,
                groups.sampled,
            ))
            .debug(aggregation.options.min_privacy_units_per_group)
            .text(&price.epsilon.to_string())
            .text(&price.delta.to_string())
            .debug(price.noise.first().map(crate::price::Noise::name))
            .end()
    }
}

fn statistic_mark(
    statistic: &Statistic,
    rows: &Relation,
    catalog: &Catalog,
) -> Result<Mark, DataFusionError> {
    let argument = |argument: &Argument| -> Result<Mark, DataFusionError> {
        let Argument {
            value,
            kind,
            steps,
            low,
            high,
            centre,
        } = argument;
        Ok(Parts::of("argument")
            .mark(mark(value, rows, catalog)?)
            .debug((kind, steps, low, high, centre))
            .end())
    };
    let parts = match &statistic.measure {
        Measure::Units => Parts::of("units"),
        Measure::Rows { most } => Parts::of("rows").debug(most),
        Measure::Present { argument: of, most } => Parts::of("present").mark(argument(of)?).debug(most),
        Measure::Sum {
            argument: of,
            low,
            high,
        } => Parts::of("sum").mark(argument(of)?).debug((low, high)),
        Measure::Mean { argument: of, most } => Parts::of("mean").mark(argument(of)?).debug(most),
        Measure::Tree {
            value,
            kind,
            range,
            most,
        } => Parts::of("tree")
            .mark(mark(value, rows, catalog)?)
            .debug((kind, range, most)),
        Measure::Histogram { place, bins, most } => Parts::of("histogram")
            .mark(mark(place, rows, catalog)?)
            .debug((bins, most)),
        Measure::Distinct { value, most } => Parts::of("distinct")
            .mark(mark(value, rows, catalog)?)
            .debug(most),
    };
    Ok(parts
        .debug((statistic.steps, statistic.low, statistic.high, statistic.weight))
        .end())
}

/// Which meaning of SQL a saved answer is of: raised when the same words come to mean something else, as when integers were first divided without a fraction. That
/// further ways to write a question are taken for the same is no reason: what was answered under a mark that is still made is still the answer.
const MEANING: &str = "3";

/// The mark of a whole question: what its parts release, in any order.
pub(crate) fn together(mut releases: Vec<Mark>) -> Mark {
    releases.sort();
    Parts::of("question").text(MEANING).marks(releases).end()
}
