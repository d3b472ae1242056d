//! Joins: with public tables freely, between private ones on the unit only.

use super::repeats::Repeats;
use super::{Name, PublicSide, Rows, UNIT, is_private, resolve, rows, table_of, tighter};
use crate::Error;
use crate::catalog::{Catalog, Owner};
#[cfg(test)]
use crate::mutants::{Mutant, planted};
use crate::understand::expression::{Scope, accept};
use crate::understand::mistakes::unplannable;
use crate::values::facts::{Facts, Kind};
use bound::{Meeting, OwnerJoin, canonical, rows_joined, texts_in};
use datafusion::arrow::datatypes::Field;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Column, JoinType, TableReference};
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{Expr, Join, LogicalPlan, LogicalPlanBuilder, Operator, cast};

pub(super) type Columns = Vec<(Option<TableReference>, String, Facts)>;

/// A join of private tables makes at most this many pairs of one owner's rows.
const MOST_PAIRS: u64 = 1_000_000;
/// A left join of private tables looks at this many rows of one owner on its right side at most.
const MOST_HELD: u64 = 10_000;

/// Reads a join that has a private side.
pub(super) fn joined(join: &Join, catalog: &Catalog) -> Result<Rows, Error> {
    match (is_private(&join.left, catalog), is_private(&join.right, catalog)) {
        (true, true) => both_private(join, catalog),
        (true, false) => with_public(join, &join.left, &join.right, JoinType::Left, catalog),
        (false, true) => with_public(join, &join.right, &join.left, JoinType::Right, catalog),
        (false, false) => unreachable!("the caller saw a private table in it"),
    }
}

/// All conditions of a join as one list.
pub(super) fn conditions(join: &Join) -> Vec<Expr> {
    let pairs = join.on.iter().map(|(left, right)| left.clone().eq(right.clone()));
    let filter = join
        .filter
        .iter()
        .flat_map(|filter| split_conjunction(filter).into_iter().cloned());
    pairs.chain(filter).collect()
}

/// A private side and a public one. A row of the result belongs to the owner of its private row, so whatever the condition says, it depends on
/// that row and on public knowledge. How often a row is repeated is known only where the public side has a key.
fn with_public(
    join: &Join,
    private: &LogicalPlan,
    public: &LogicalPlan,
    outer: JoinType,
    catalog: &Catalog,
) -> Result<Rows, Error> {
    if join.join_type != JoinType::Inner && join.join_type != outer {
        return Err(Error::refused(
            "this outer join would make rows that belong to nobody",
            "use an inner join, or an outer join that keeps the private table's rows",
        ));
    }
    if depends_on_outside(public) {
        return Err(Error::refused(
            "a LATERAL subquery over private rows has no private version",
            "join the public table itself, and put the conditions into ON",
        ));
    }
    let mine = rows(private, catalog)?;
    let public = &of_known_types(public)?;
    let theirs = public_columns(public, catalog);
    let optional = join.join_type == outer;
    let mut columns: Columns = mine.columns.clone();
    columns.extend(theirs.iter().cloned().map(|(qualifier, name, mut facts)| {
        facts.nullable |= optional;
        (qualifier, name, facts)
    }));
    let scope = Scope {
        columns: columns.clone(),
    };
    let mut accepted = Vec::new();
    let mut matched = Vec::new();
    let mut by_unit = true;
    for condition in conditions(join) {
        let typed = accept(&condition, &scope)?;
        if typed.facts.kind != Kind::Bool {
            return Err(Error::refused(
                "a join condition must be true or false",
                "compare two columns",
            ));
        }
        by_unit &=
            typed.facts.of_unit || equality(&condition).is_some_and(|(a, b)| unit_side(&mine, &theirs, a, b));
        if let Some((a, b)) = equality(&condition) {
            name_as_matched(&mut columns, &mine, &theirs, (a, b));
            matched.extend(determined(&mine, &theirs, a, b));
            matched.extend(determined(&mine, &theirs, b, a));
        }
        accepted.push(typed.expr);
    }
    let key = key_among(public, &matched, catalog);
    let unique = key.is_some();
    let rows_per_unit = mine.rows_per_unit.filter(|_| unique);
    if !mine.has_unit && rows_per_unit.is_none() {
        return Err(Error::refused(
            format!(
                "this join may repeat rows, and no column names the {} they belong to",
                catalog.unit.whose
            ),
            "declare `keys` of the public table in the catalog, so that each row finds at most one partner",
        ));
    }
    // A public column is a property of the unit where the columns that select it are, and select one row.
    let from = mine.columns.len();
    for (_, _, facts) in &mut columns[from..] {
        facts.of_unit = unique && by_unit;
    }
    // The engine holds the left side of a join in memory. That is the public one, so that what it takes tells nothing of private rows.
    let side = match join.join_type {
        JoinType::Inner => JoinType::Inner,
        _ => JoinType::Right,
    };
    let plan = LogicalPlanBuilder::from(public.clone())
        .join_on(mine.plan.clone(), side, accepted)
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)?;
    let mut joined = Rows {
        plan,
        columns,
        rows_per_unit,
        promised: mine.promised && unique,
        clustered: false,
        whole: false,
        // A row that finds several partners is there several times.
        repeats: if unique { mine.repeats } else { Repeats::default() },
        ..mine
    };
    joined.publics.push(PublicSide {
        plan: public.clone(),
        repeats: key.is_none(),
        key,
    });
    joined.story.push(if unique {
        "each row joined to at most one public row".to_owned()
    } else {
        "each row joined to any number of public rows".to_owned()
    });
    in_order_of(join, joined)
}

/// Whether a plan reads columns of a query around it. A subquery inside of it that does is taken for one as well: nobody needs it.
pub(super) fn depends_on_outside(plan: &LogicalPlan) -> bool {
    let mut found = false;
    let walked = plan.apply_with_subqueries(|node| {
        found |= matches!(node, LogicalPlan::Subquery(subquery) if !subquery.outer_ref_columns.is_empty());
        node.apply_expressions(|expr| {
            found |= expr.contains_outer();
            Ok(TreeNodeRecursion::Continue)
        })
    });
    found || walked.is_err()
}

/// The public column that one side of an equality is, if the other side is made of private columns and constants, and of the same kind: then
/// a private row determines what the column holds. Converted values, and floats, may be equal without being the same.
fn determined(mine: &Rows, theirs: &Columns, public: &Expr, private: &Expr) -> Option<String> {
    let Expr::Column(column) = public else { return None };
    let (qualifier, name) = resolve(theirs, column)?;
    let found = theirs
        .iter()
        .find(|(table, other, _)| *table == qualifier && *other == name);
    let kind = found?.2.kind;
    let same = mine.accept(private).is_ok_and(|typed| typed.facts.kind == kind);
    (same && kind != Kind::Float).then_some(name)
}

/// The columns in the order of the original join, the hidden one last.
fn in_order_of(join: &Join, mut rows: Rows) -> Result<Rows, Error> {
    let mut ordered = Columns::new();
    for (qualifier, field) in join.schema.iter() {
        let found = rows
            .columns
            .iter()
            .find(|(table, name, _)| table.as_ref() == qualifier && name == field.name());
        ordered.push(found.expect("a join has the columns of its sides").clone());
    }
    rows.columns = ordered;
    let plan = LogicalPlanBuilder::from(rows.plan.clone())
        .project(rows.all())
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)?;
    rows.plan = plan;
    Ok(rows)
}

/// A public column that is equal to a private one has its values, where the catalog declares these and not its own: then groups by it are public.
fn name_as_matched(columns: &mut Columns, mine: &Rows, theirs: &Columns, (a, b): (&Expr, &Expr)) {
    for (private, public) in [(a, b), (b, a)] {
        let (Expr::Column(private), Expr::Column(public)) = (private, public) else {
            continue;
        };
        let declared = resolve(&mine.columns, private).and_then(|name| facts_of(&mine.columns, &name));
        let (Some(declared), Some(name)) = (declared, resolve(theirs, public)) else {
            continue;
        };
        let known = declared.values.clone().map(|values| (declared.kind, values));
        let found = columns.iter_mut().skip(mine.columns.len());
        let found = found.map(|(qualifier, column, facts)| ((qualifier.clone(), column.clone()), facts));
        let column = found.into_iter().find(|(other, _)| *other == name);
        if let (Some((kind, values)), Some((_, facts))) = (known, column)
            && facts.kind == kind
            && facts.values.is_none()
            && facts.range.is_none()
        {
            facts.values = Some(values);
        }
    }
}

fn facts_of<'a>(columns: &'a Columns, name: &Name) -> Option<&'a Facts> {
    let found = columns
        .iter()
        .find(|(qualifier, column, _)| (qualifier, column) == (&name.0, &name.1));
    found.map(|(_, _, facts)| facts)
}

/// The public side with its columns in the types that declared columns have. What VALUES holds is text of another type, which could name no group.
fn of_known_types(public: &LogicalPlan) -> Result<LogicalPlan, Error> {
    let schema = public.schema();
    let known =
        |field: &Field| Kind::of(field.data_type()).filter(|kind| kind.data_type() != *field.data_type());
    if schema.fields().iter().all(|field| known(field).is_none()) {
        return Ok(public.clone());
    }
    let columns = schema.iter().map(|(qualifier, field)| {
        let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
        match known(field) {
            Some(kind) => canonical(cast(column, kind.data_type()), kind)
                .alias_qualified(qualifier.cloned(), field.name()),
            None => column,
        }
    });
    LogicalPlanBuilder::from(public.clone())
        .project(columns.collect::<Vec<_>>())
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)
}

/// What is known of a public plan's columns: the catalog's facts where it is a table, possibly renamed; else the kind alone.
pub(super) fn public_columns(plan: &LogicalPlan, catalog: &Catalog) -> Columns {
    let declared = declared(plan, catalog);
    plan.schema()
        .iter()
        .enumerate()
        .map(|(place, (qualifier, field))| {
            let known = declared.as_ref().and_then(|columns| columns.get(place).cloned());
            // A column of a kind that no expression reads is unusable, and may stay.
            let kind = Kind::of(field.data_type()).unwrap_or(Kind::Text);
            let facts = known.unwrap_or_else(|| Facts::unknown(kind));
            (qualifier.cloned(), field.name().clone(), facts)
        })
        .collect()
}

fn declared(plan: &LogicalPlan, catalog: &Catalog) -> Option<Vec<Facts>> {
    match plan {
        LogicalPlan::TableScan(scan) => {
            let (_, table) = table_of(catalog, &scan.table_name)?;
            let facts = |facts: &Facts| Facts {
                of_unit: false,
                ..facts.clone()
            };
            Some(table.columns.iter().map(|(_, one)| facts(one)).collect())
        }
        LogicalPlan::SubqueryAlias(alias) => declared(&alias.input, catalog),
        LogicalPlan::Filter(filter) => declared(&filter.input, catalog),
        _ => None,
    }
}

/// A key of a public plan that is among these columns: at most one row agrees with given values in it.
pub(super) fn key_among(plan: &LogicalPlan, columns: &[String], catalog: &Catalog) -> Option<Vec<String>> {
    match plan {
        LogicalPlan::TableScan(scan) => {
            let (_, table) = table_of(catalog, &scan.table_name)?;
            let has =
                |key: &&Vec<String>| !key.is_empty() && key.iter().all(|column| columns.contains(column));
            table.keys.iter().find(has).cloned()
        }
        LogicalPlan::SubqueryAlias(alias) => key_among(&alias.input, columns, catalog),
        LogicalPlan::Filter(filter) => key_among(&filter.input, columns, catalog),
        _ => None,
    }
}

/// The two sides of an equality.
pub(super) fn equality(expr: &Expr) -> Option<(&Expr, &Expr)> {
    match expr {
        Expr::BinaryExpr(binary) if binary.op == Operator::Eq => Some((&binary.left, &binary.right)),
        _ => None,
    }
}

fn column_of(columns: &Columns, expr: &Expr) -> Option<String> {
    let Expr::Column(column) = expr else { return None };
    resolve(columns, column).map(|(_, name)| name)
}

/// Whether one side of an equality is a public column and the other a property of the unit.
fn unit_side(mine: &Rows, theirs: &Columns, a: &Expr, b: &Expr) -> bool {
    let of_unit = |expr: &Expr| mine.accept(expr).is_ok_and(|typed| typed.facts.of_unit);
    let public = |expr: &Expr| column_of(theirs, expr).is_some();
    (of_unit(a) && public(b)) || (public(a) && of_unit(b))
}

/// Two private sides: joined rows have one owner only if both rows have the same, so the condition must say so.
fn both_private(join: &Join, catalog: &Catalog) -> Result<Rows, Error> {
    let (left, right) = (rows(&join.left, catalog)?, rows(&join.right, catalog)?);
    let whose = &catalog.unit.whose;
    let off_the_unit = || {
        Error::refused(
            format!(
                "a join of private tables must match rows of the same {whose}: otherwise one {whose} touches rows of others"
            ),
            format!("add a condition that the columns naming the {whose} are equal on both sides"),
        )
    };
    let kept_left = matches!(join.join_type, JoinType::Inner | JoinType::Left);
    if !kept_left || !left.has_unit || !right.has_unit {
        return Err(if kept_left {
            off_the_unit()
        } else {
            Error::refused(
                "only inner and left joins of private tables are understood",
                "swap the tables to make a right join a left one",
            )
        });
    }
    let conditions = conditions(join);
    let on_unit = conditions.iter().filter_map(equality).any(|(a, b)| {
        (left.names_unit(a) && right.names_unit(b)) || (left.names_unit(b) && right.names_unit(a))
    });
    if !on_unit {
        return Err(off_the_unit());
    }
    let mut columns = left.columns.clone();
    columns.extend(right.columns.iter().cloned().map(|(qualifier, name, mut facts)| {
        facts.nullable |= join.join_type == JoinType::Left;
        (qualifier, name, facts)
    }));
    let scope = Scope {
        columns: columns.clone(),
    };
    let mut accepted = Vec::new();
    let mut by_unit = true;
    for condition in &conditions {
        let typed = accept(condition, &scope)?;
        if typed.facts.kind != Kind::Bool {
            return Err(Error::refused(
                "a join condition must be true or false",
                "compare two columns",
            ));
        }
        by_unit &= typed.facts.of_unit;
        accepted.push(typed.expr);
    }
    if join.join_type == JoinType::Left && !by_unit {
        // Some rows of a unit may find a partner and others not: what the right side adds is NULL in these alone.
        for (_, _, facts) in &mut columns[left.columns.len()..] {
            facts.of_unit = false;
        }
    }
    // The right side's hidden column gets another name, and goes. Rows meet by the hidden columns alone: were the catalog's columns converted on the
    // way, equality of what is shown must not join different owners. Everything that the query says is a filter on the pair.
    const OTHER: &str = "__deniable_unit_right";
    let mut exprs: Vec<Expr> = right.all();
    exprs.pop();
    exprs.push(right.unit_expr().alias(OTHER));
    let renamed = LogicalPlanBuilder::from(right.plan.clone())
        .project(exprs)
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)?;
    #[cfg(test)]
    let merged = planted(Mutant::SignedZero).then(|| {
        let owners = left.unit_expr().eq(Expr::Column(column_named(&renamed, OTHER)));
        let conditions = accepted.iter().cloned().chain([owners]);
        LogicalPlanBuilder::from(left.plan.clone())
            .join_on(renamed.clone(), join.join_type, conditions)
            .and_then(LogicalPlanBuilder::build)
            .expect("a join")
    });
    let keep_left = join.join_type == JoinType::Left;
    let (most_left, most_right) = most_joined(&left, &right, keep_left);
    let left_side = (left.plan.clone(), left.unit_column(), most_left);
    let right_side = (renamed.clone(), column_named(&renamed, OTHER), most_right);
    // The side of which fewer rows of an owner are joined is the one that is held in memory.
    let (one, other) = if keep_left || most_right <= most_left {
        (left_side, right_side)
    } else {
        (right_side, left_side)
    };
    let plan = OwnerJoin {
        left: one.0,
        right: other.0,
        left_key: one.1,
        right_key: other.1,
        filter: conjunction(accepted),
        meeting: if keep_left {
            Meeting::PairsAndRest
        } else {
            Meeting::Pairs
        },
        most_left: one.2,
        most_right: other.2,
    }
    .plan()
    .map_err(unplannable)?;
    #[cfg(test)]
    let plan = merged.unwrap_or(plan);
    let rows_per_unit = left
        .rows_per_unit
        .zip(right.rows_per_unit)
        .and_then(|(a, b)| a.checked_mul(b));
    let mut story = left.story.clone();
    story.extend(right.story.clone());
    story.push(format!("joined on the {whose}, so each pair has one owner"));
    let mut unit_columns: Vec<Name> = left.unit_columns.clone();
    if join.join_type == JoinType::Inner {
        unit_columns.extend(right.unit_columns.clone());
    }
    let mut selects = left.selects.clone();
    selects.extend(&right.selects);
    let mut publics = left.publics.clone();
    publics.extend(right.publics.clone());
    story.push(format!(
        "of one {whose} at most {most_left} rows are joined to at most {most_right}"
    ));
    let mut left_out = left.left_out.clone();
    left_out.extend(right.left_out.clone());
    let (sure_left, sure_right) = surely_joined(&left, &right, (most_left, most_right));
    if left.may_exceed(sure_left) || right.may_exceed(sure_right) {
        left_out.push(format!(
            "the join uses at most {most_left} rows of each {whose} on its left side and {most_right} on its right{}",
            fewer((most_left, most_right), (sure_left, sure_right))
        ));
    }
    let joined = Rows {
        plan,
        columns,
        unit_columns,
        has_unit: true,
        rows_per_unit,
        promised: false,
        publics,
        clustered: false,
        whole: false,
        limits: tighter(&left.limits, &right.limits),
        selects,
        story,
        sums_inside: left.sums_inside || right.sums_inside,
        left_out,
        repeats: Repeats::default(),
    };
    in_order_of(join, joined)
}

/// How many rows of one owner are joined, of each side. Pairs of one owner are counted by a public number, whatever that owner's rows are; what is known
/// of the sides says how it is divided between them.
pub(super) fn most_joined(left: &Rows, right: &Rows, keep_left: bool) -> (u64, u64) {
    // A left join holds the right side's rows of one owner in memory, however many of the left side there are.
    let held = if keep_left { MOST_HELD } else { u64::MAX };
    let least = MOST_PAIRS.isqrt();
    let (one, other) = (
        left.rows_per_unit.unwrap_or(u64::MAX).max(1),
        right.rows_per_unit.unwrap_or(u64::MAX).clamp(1, held),
    );
    match (one, other) {
        _ if one.saturating_mul(other) <= MOST_PAIRS => (one, other),
        _ if one <= least => (one, (MOST_PAIRS / one).min(other)),
        _ if other <= least => (MOST_PAIRS / other, other),
        _ => (least, least),
    }
}

/// How many are joined even if every column of text is needed: fewer rows of one owner are held where they hold many texts.
pub(super) fn surely_joined(left: &Rows, right: &Rows, most: (u64, u64)) -> (u64, u64) {
    let texts = |rows: &Rows| texts_in(rows.plan.schema().as_arrow());
    rows_joined(most, texts(right), texts(left) + texts(right))
}

/// What is said of that, where it is fewer.
pub(super) fn fewer(most: (u64, u64), sure: (u64, u64)) -> String {
    match sure == most {
        true => String::new(),
        false => format!(", or {} and {} if all columns of text are needed", sure.0, sure.1),
    }
}

/// The column of a plan that has this name.
pub(super) fn column_named(plan: &LogicalPlan, name: &str) -> Column {
    let found = plan.schema().iter().find(|(_, field)| field.name() == name);
    let (qualifier, field) = found.expect("it was just named");
    Column::new(qualifier.cloned(), field.name().clone())
}

/// Rows of a table that reaches its unit through another table's key.
pub(super) fn through(
    mine: Rows,
    name: &TableReference,
    column: &str,
    other: &str,
    key: &str,
    catalog: &Catalog,
) -> Result<Rows, Error> {
    let table = &catalog.tables[other];
    let scan = crate::understand::planner::scan(other, table)?;
    let owners = rows(&scan, catalog)?;
    let (Owner::Column(_) | Owner::Through { .. }) = &table.owner else {
        return Err(Error::catalog(
            format!(
                "table {other} has no column that names the {}",
                catalog.unit.whose
            ),
            "`unit_through` must lead to a table with `unit`",
        ));
    };
    // Owners under a name that no query can write, so that a query may join the same table as well.
    const ALIAS: &str = "__deniable_owners";
    let shown = Column::new(Some(TableReference::bare(other)), key);
    let owners = LogicalPlanBuilder::from(owners.plan.clone())
        .project([Expr::Column(shown), owners.unit_expr().alias(UNIT)])
        .and_then(|plan| plan.alias(ALIAS))
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)?;
    let mut exprs = mine.all();
    exprs.push(Expr::Column(Column::new(Some(TableReference::bare(ALIAS)), UNIT)).alias(UNIT));
    let plan = OwnerJoin {
        left: mine.plan.clone(),
        right: owners,
        left_key: Column::new(Some(name.clone()), column),
        right_key: Column::new(Some(TableReference::bare(ALIAS)), key),
        filter: None,
        meeting: Meeting::Pairs,
        most_left: u64::MAX,
        // The catalog says that the key is unique.
        most_right: 1,
    }
    .plan()
    .and_then(|plan| LogicalPlanBuilder::from(plan).project(exprs))
    .and_then(LogicalPlanBuilder::build)
    .map_err(unplannable)?;
    let mut rows = Rows {
        plan,
        has_unit: true,
        promised: false,
        clustered: false,
        ..mine
    };
    rows.story
        .push(format!("{name}: rows owned through {column} and {other}.{key}"));
    Ok(rows)
}
