//! Whose rows? A plan over private tables, rewritten so that it cannot raise and so that every row keeps its owner.
//!
//! The walk takes the logical plan as the SQL says it, before any optimiser saw it, and knows a closed list of operators. Of each relation
//! it carries what the catalog and the query tell: which columns name the unit, how many rows one unit has, and the [`Facts`] of each column.
//! The owner of a row travels in a hidden column, so a projection cannot lose it.

mod comma;
mod distinct_on;
mod join;
mod per_unit;
mod repeats;
mod subquery;
mod union;
mod window;

pub(crate) use subquery::{ONE_ROW, attached, contains_subquery};

use crate::Error;
use crate::catalog::{Catalog, Limits, Owner, Table};
use crate::understand::expression::{Scope, Typed, accept, narrowed};
use crate::understand::mistakes::unplannable;
use crate::values::facts::{Facts, Kind};
use datafusion::common::{Column, ScalarValue, TableReference};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    Distinct, Expr, Filter, LogicalPlan, LogicalPlanBuilder, Projection, SubqueryAlias, TableScan, col,
};
use repeats::Repeats;

/// The hidden column that names a row's owner.
pub(crate) const UNIT: &str = "__deniable_unit";

/// Of a filter this many conditions say something about columns; all of them filter.
const MOST_CONDITIONS: usize = 64;

/// A column's name in a relation.
pub(crate) type Name = (Option<TableReference>, String);

/// Rows of private tables.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    /// How to get them: total, so that no value of the data can make it fail. Has the columns below and, unless each row is a unit, [`UNIT`].
    pub(crate) plan: LogicalPlan,
    /// The columns that the query sees.
    pub(crate) columns: Vec<(Option<TableReference>, String, Facts)>,
    /// Columns that name the owner.
    pub(crate) unit_columns: Vec<Name>,
    /// Whether there is a hidden column; if not, each row is a unit.
    pub(crate) has_unit: bool,
    /// One unit has at most this many rows. Derived, so it is enforced by the bounding step: a mistake costs accuracy.
    pub(crate) rows_per_unit: Option<u64>,
    /// The catalog itself promises what `rows_per_unit` says, and no step since could repeat a row: no bounding step is needed.
    pub(crate) promised: bool,
    /// The public sides of joins.
    pub(crate) publics: Vec<PublicSide>,
    /// The rows come sorted by owner.
    pub(crate) clustered: bool,
    /// Every unit of the table is in it, whatever its values: no filter, no join.
    pub(crate) whole: bool,
    /// The tightest limits of the tables in it.
    pub(crate) limits: Limits,
    /// SELECTs whose options apply: see `dialect`.
    pub(crate) selects: Vec<usize>,
    /// What was done, for people.
    pub(crate) story: Vec<String>,
    /// Whether values of one unit are summed or averaged on the way. Releases of such rows have a mark of their own: earlier versions clamped these values.
    pub(crate) sums_inside: bool,
    /// What of a unit may be left out before anything is counted, for people. Empty: nothing is.
    pub(crate) left_out: Vec<String>,
    /// How many rows of a unit can agree in some columns. Derived, so it is enforced by the bounding step: a mistake costs accuracy.
    pub(crate) repeats: Repeats,
}

/// The public side of a join.
#[derive(Clone, Debug)]
pub(crate) struct PublicSide {
    /// How to get it.
    pub(crate) plan: LogicalPlan,
    /// Columns that the join matches and in which no two rows may agree; `None` where a private row may find any number of partners.
    pub(crate) key: Option<Vec<String>>,
    /// Whether a private row becomes as many rows as it finds partners.
    pub(crate) repeats: bool,
}

impl Rows {
    /// Whether a unit may have more rows than this.
    pub(crate) fn may_exceed(&self, rows: u64) -> bool {
        self.rows_per_unit.is_none_or(|most| most > rows)
    }

    /// For reading expressions over these rows.
    pub(crate) fn scope(&self) -> Scope {
        Scope {
            columns: self.columns.clone(),
        }
    }

    /// The expression over these rows, total and typed.
    pub(crate) fn accept(&self, expr: &Expr) -> Result<Typed, Error> {
        accept(expr, &self.scope())
    }

    /// Whether an expression is the owner's name itself.
    pub(crate) fn names_unit(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Alias(alias) => self.names_unit(&alias.expr),
            Expr::Column(column) => {
                resolve(&self.columns, column).is_some_and(|name| self.unit_columns.contains(&name))
            }
            _ => false,
        }
    }

    /// The hidden owner.
    pub(crate) fn unit_column(&self) -> Column {
        let schema = self.plan.schema();
        let found = schema.iter().find(|(_, field)| field.name() == UNIT);
        let (qualifier, field) = found.expect("whoever asks has looked at has_unit");
        Column::new(qualifier.cloned(), field.name().clone())
    }

    /// The hidden owner, as an expression.
    pub(crate) fn unit_expr(&self) -> Expr {
        Expr::Column(self.unit_column())
    }

    /// Takes note of what a condition says that all of these rows fulfil.
    fn learn(&mut self, condition: &Expr) {
        let mut columns = condition.column_refs().into_iter();
        let (Some(column), None) = (columns.next(), columns.next()) else {
            return;
        };
        let Some(name) = resolve(&self.columns, column) else {
            return;
        };
        let told = self
            .columns
            .iter_mut()
            .find(|(table, other, _)| (table, other) == (&name.0, &name.1));
        if let Some((_, _, facts)) = told
            && let Some(better) = narrowed(condition, column, facts)
        {
            *facts = better;
        }
        if let Some((rows, same)) = self.repeats.up_to(&name, condition) {
            self.at_most(rows, same);
        }
    }

    /// Takes note that one unit has at most so many rows that agree in these columns.
    fn at_most(&mut self, rows: u64, mut same: Vec<Name>) {
        // All rows of a unit agree in what is a property of it.
        same.retain(|name| {
            let found = self
                .columns
                .iter()
                .find(|(table, other, _)| (table, other) == (&name.0, &name.1));
            !self.unit_columns.contains(name) && found.is_none_or(|(_, _, facts)| !facts.of_unit)
        });
        if !same.is_empty() {
            self.repeats.add(rows, same);
        } else if self.may_exceed(rows) {
            self.rows_per_unit = Some(rows);
            // That is no word of the catalog.
            self.promised = false;
        }
    }

    /// How many rows of a unit there can be in one group, where these are grouped by; `None` if nothing says so.
    pub(crate) fn rows_in_group(&self, keys: &[Expr]) -> Option<u64> {
        let of_column = |key: &Expr| match key.clone().unalias() {
            Expr::Column(column) => resolve(&self.columns, &column),
            _ => None,
        };
        let keys: Vec<Name> = keys.iter().filter_map(of_column).collect();
        let agreeing = self.repeats.within(&keys);
        agreeing.into_iter().chain(self.rows_per_unit).min()
    }

    /// The same rows with the first columns alone.
    fn narrowed(mut self, width: usize) -> Result<Self, Error> {
        if self.columns.len() > width {
            self.columns.truncate(width);
            self.plan = LogicalPlanBuilder::from(self.plan.clone())
                .project(self.all())
                .and_then(LogicalPlanBuilder::build)
                .map_err(unplannable)?;
        }
        Ok(self)
    }

    /// All columns and the hidden one, as expressions.
    pub(crate) fn all(&self) -> Vec<Expr> {
        let mut all: Vec<Expr> = self
            .columns
            .iter()
            .map(|(qualifier, name, _)| Expr::Column(Column::new(qualifier.clone(), name.clone())))
            .collect();
        if self.has_unit {
            all.push(self.unit_expr());
        }
        all
    }
}

/// The column that a name means; `None` where there is none, or more than one.
pub(crate) fn resolve(columns: &[(Option<TableReference>, String, Facts)], column: &Column) -> Option<Name> {
    let mut found = columns.iter().filter(|(qualifier, name, _)| {
        *name == column.name && (column.relation.is_none() || column.relation == *qualifier)
    });
    let (qualifier, name, _) = found.next()?;
    found.next().is_none().then(|| (qualifier.clone(), name.clone()))
}

/// Whether a plan reads private tables, in subqueries of its expressions too.
pub(crate) fn is_private(plan: &LogicalPlan, catalog: &Catalog) -> bool {
    let mut private = false;
    let _ = plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            private |= !matches!(
                table_of(catalog, &scan.table_name).map(|(_, table)| &table.owner),
                Some(Owner::Public)
            );
        }
        Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
    });
    private
}

/// The catalog's table behind a scan.
pub(crate) fn table_of<'a>(catalog: &'a Catalog, name: &TableReference) -> Option<(&'a str, &'a Table)> {
    catalog
        .tables
        .get_key_value(name.table())
        .map(|(name, table)| (name.as_str(), table))
}

/// Reads a plan over private tables.
pub(crate) fn rows(plan: &LogicalPlan, catalog: &Catalog) -> Result<Rows, Error> {
    match plan {
        LogicalPlan::TableScan(scan) => scanned(scan, catalog),
        LogicalPlan::SubqueryAlias(alias) => aliased(alias, catalog),
        LogicalPlan::Filter(filter) => filtered(filter, catalog),
        LogicalPlan::Projection(projection) => projected(projection, catalog),
        LogicalPlan::Join(join) => join::joined(join, catalog),
        LogicalPlan::Aggregate(aggregate) => per_unit::aggregated(aggregate, catalog),
        LogicalPlan::Union(union) => union::united(union, catalog),
        LogicalPlan::Distinct(Distinct::All(input)) => distinct(input, catalog),
        LogicalPlan::Distinct(Distinct::On(on)) => distinct_on::first_of_each(on, catalog),
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => {
            // The order of rows means nothing to an aggregate.
            let mut rows = rows(&sort.input, catalog)?;
            rows.story.push("ORDER BY has no effect here".to_owned());
            Ok(rows)
        }
        LogicalPlan::Sort(_) | LogicalPlan::Limit(_) => Err(Error::refused(
            "LIMIT over private rows is refused: which rows stay depends on everybody's, so one person could move all of them",
            "limit the result of an aggregate instead, or filter by a condition on each row",
        )),
        LogicalPlan::Window(window) => window::windowed(window, catalog),
        other => Err(Error::refused(
            format!("{} over private rows has no private version", operator(other)),
            "use filters, projections, joins on the privacy unit, GROUP BY, UNION ALL and subqueries",
        )),
    }
}

/// What a query calls an operator, for messages.
pub(crate) fn operator(plan: &LogicalPlan) -> String {
    match plan {
        LogicalPlan::Unnest(_) => return "UNNEST".to_owned(),
        LogicalPlan::RecursiveQuery(_) => return "WITH RECURSIVE".to_owned(),
        LogicalPlan::Values(_) => return "VALUES".to_owned(),
        LogicalPlan::EmptyRelation(_) => return "SELECT without FROM".to_owned(),
        _ => {}
    }
    let text = plan.display().to_string();
    let end = text
        .find(|letter: char| !letter.is_ascii_alphabetic())
        .unwrap_or(text.len());
    text[..end].to_owned()
}

fn scanned(scan: &TableScan, catalog: &Catalog) -> Result<Rows, Error> {
    let (name, table) = table_of(catalog, &scan.table_name).ok_or_else(|| {
        Error::refused(
            "this table is not in the catalog",
            "`deniable explain` lists the tables",
        )
    })?;
    let qualifier = Some(scan.table_name.clone());
    let columns: Vec<(Option<TableReference>, String, Facts)> = table
        .columns
        .iter()
        .map(|(column, facts)| (qualifier.clone(), column.clone(), facts.clone()))
        .collect();
    let bare = LogicalPlan::TableScan(TableScan {
        projection: None,
        ..scan.clone()
    });
    let mut rows = Rows {
        plan: bare,
        columns,
        unit_columns: Vec::new(),
        has_unit: false,
        rows_per_unit: table.rows_per_unit,
        promised: true,
        publics: Vec::new(),
        clustered: table.clustered,
        whole: true,
        limits: table.limits.clone(),
        selects: Vec::new(),
        story: Vec::new(),
        sums_inside: false,
        left_out: Vec::new(),
        repeats: Repeats::default(),
    };
    let whose = &catalog.unit.whose;
    match &table.owner {
        Owner::Public => {
            return Err(Error::refused(
                "a public table has no owners",
                "join it to a private one",
            ));
        }
        Owner::EachRow => {
            rows.rows_per_unit = Some(1);
            rows.story.push(format!("{name}: each row is one {whose}"));
        }
        Owner::Column(column) => {
            rows.unit_columns.push((qualifier.clone(), column.clone()));
            let mut all = rows.all();
            let unit = Expr::Column(Column::new(qualifier, column.clone()));
            all.push(unit.clone().alias(UNIT));
            rows.plan = LogicalPlanBuilder::from(rows.plan)
                .filter(unit.is_not_null())
                .and_then(|plan| plan.project(all))
                .and_then(LogicalPlanBuilder::build)
                .map_err(unplannable)?;
            rows.has_unit = true;
            let many = match table.rows_per_unit {
                Some(most) => format!("at most {most} a {whose}"),
                None => format!("any number a {whose}"),
            };
            rows.story.push(format!("{name}: rows owned by {column}, {many}"));
        }
        Owner::Through {
            column,
            table: other,
            key,
        } => {
            rows = join::through(rows, &scan.table_name, column, other, key, catalog)?;
        }
    }
    Ok(rows)
}

fn aliased(alias: &SubqueryAlias, catalog: &Catalog) -> Result<Rows, Error> {
    let mut rows = rows(&alias.input, catalog)?;
    // Two columns of one name under one alias could not be distinguished.
    let names: std::collections::BTreeSet<&String> = rows.columns.iter().map(|(_, name, _)| name).collect();
    if names.len() != rows.columns.len() {
        return Err(Error::refused(
            "two columns of a subquery have the same name",
            "give each its own name with AS",
        ));
    }
    let qualifier = Some(alias.alias.clone());
    for (table, name, _) in &mut rows.columns {
        let _ = std::mem::replace(table, qualifier.clone());
        debug_assert!(!name.is_empty());
    }
    for (table, _) in &mut rows.unit_columns {
        *table = qualifier.clone();
    }
    rows.repeats = rows
        .repeats
        .renamed(|(_, name)| Some((qualifier.clone(), name.clone())));
    rows.plan = LogicalPlanBuilder::from(rows.plan)
        .alias(alias.alias.clone())
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)?;
    Ok(rows)
}

fn filtered(filter: &Filter, catalog: &Catalog) -> Result<Rows, Error> {
    let (input, conjuncts) = comma::understood(filter, catalog)?;
    let mut rows = rows(&input, catalog)?;
    let mut kept = Vec::new();
    for conjunct in conjuncts {
        match select_marker(&conjunct) {
            Some(select) => rows.selects.push(select),
            None => kept.push(conjunct),
        }
    }
    let width = rows.columns.len();
    let (mut rows, kept) = subquery::attached_to_filter(rows, kept, catalog)?;
    let Some(predicate) = datafusion::logical_expr::utils::conjunction(kept) else {
        return Ok(rows);
    };
    let predicate = rows.accept(&predicate)?;
    if predicate.facts.kind != Kind::Bool {
        return Err(Error::refused(
            format!(
                "a filter must be true or false, and this one is {}",
                predicate.facts.kind
            ),
            "compare it with something",
        ));
    }
    rows.story
        .push("rows that a condition on the row itself keeps".to_owned());
    for condition in split_conjunction(&predicate.expr)
        .into_iter()
        .take(MOST_CONDITIONS)
    {
        rows.learn(condition);
    }
    rows.plan = LogicalPlanBuilder::from(rows.plan)
        .filter(predicate.expr)
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)?;
    rows.whole = false;
    rows.narrowed(width)
}

/// The place of the SELECT's options, if this is the marker that the reader of the dialect left.
pub(crate) fn select_marker(expr: &Expr) -> Option<usize> {
    let Expr::ScalarFunction(call) = expr else {
        return None;
    };
    match call.args.first() {
        Some(Expr::Literal(ScalarValue::Int64(Some(place)), _))
            if call.name() == crate::understand::dialect::SELECT =>
        {
            usize::try_from(*place).ok()
        }
        _ => None,
    }
}

fn projected(projection: &Projection, catalog: &Catalog) -> Result<Rows, Error> {
    let rows = rows(&projection.input, catalog)?;
    let (rows, written) = attached(rows, projection.expr.clone(), catalog)?;
    let mut columns = Vec::new();
    let mut unit_columns = Vec::new();
    let mut exprs = Vec::new();
    let mut kept: Vec<(Name, Name)> = Vec::new();
    for (expr, (qualifier, field)) in written.iter().zip(projection.schema.iter()) {
        let typed = rows.accept(expr)?;
        let name = (qualifier.cloned(), field.name().clone());
        if rows.names_unit(expr) {
            unit_columns.push(name.clone());
        }
        if let Expr::Column(column) = expr.clone().unalias()
            && let Some(before) = resolve(&rows.columns, &column)
        {
            kept.push((before, name.clone()));
        }
        exprs.push(
            typed
                .expr
                .unalias()
                .alias_qualified(name.0.clone(), name.1.clone()),
        );
        columns.push((name.0, name.1, typed.facts));
    }
    if rows.has_unit {
        exprs.push(rows.unit_expr());
    }
    let plan = LogicalPlanBuilder::from(rows.plan)
        .project(exprs)
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)?;
    let renamed = |name: &Name| {
        kept.iter()
            .find(|(before, _)| before == name)
            .map(|(_, now)| now.clone())
    };
    Ok(Rows {
        plan,
        columns,
        unit_columns,
        repeats: rows.repeats.renamed(renamed),
        ..rows
    })
}

/// `SELECT DISTINCT` keeps one row of each unit and value, if the unit is among the values; otherwise it would merge rows of different owners.
fn distinct(input: &LogicalPlan, catalog: &Catalog) -> Result<Rows, Error> {
    let mut rows = rows(input, catalog)?;
    if rows.unit_columns.is_empty() {
        return Err(Error::refused(
            format!(
                "SELECT DISTINCT over private rows merges rows of different {}s",
                catalog.unit.whose
            ),
            "use COUNT(DISTINCT …), GROUP BY, or keep the privacy unit among the columns",
        ));
    }
    // A GROUP BY of all columns and the owner: values are canonical, so those that are equal are the same.
    rows.plan = LogicalPlanBuilder::from(rows.plan.clone())
        .aggregate(rows.all(), Vec::<Expr>::new())
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)?;
    rows.clustered = false;
    rows.story.push("distinct rows of each owner".to_owned());
    let all = rows
        .columns
        .iter()
        .map(|(table, name, _)| (table.clone(), name.clone()));
    rows.at_most(1, all.collect());
    Ok(rows)
}

/// The smaller of two limits, where both are stated.
pub(crate) fn tighter(one: &Limits, other: &Limits) -> Limits {
    let least = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    // Of what is stated of columns by name, the first table's word counts.
    let mut sums = other.sums.clone();
    sums.extend(one.sums.clone());
    let mut by = other.by.clone();
    by.extend(one.by.clone());
    Limits {
        groups: least(one.groups, other.groups),
        rows_per_group: least(one.rows_per_group, other.rows_per_group),
        rows: least(one.rows, other.rows),
        sums,
        by,
    }
}

/// A column by its bare name, for what is not used as an expression.
pub(crate) fn bare(name: &str) -> Expr {
    col(Column::from_name(name))
}
