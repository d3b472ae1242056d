//! Rules for what looks at one row at a time, and for what moves rows.

use super::defect::{Defect, Kind};
use super::expression::{
    between, check, elsewhere, integer, is_constant, is_false, keeps, names_owner, place, same,
};
use super::judgement::{AtMost, Judgement, Known, Owned, Owner, Place, Placed, Places, Rows, Total, Totals};
use super::rule::Rule;
use super::{Leaf, Leaves, Naming, Plan};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::memory::{DataSourceExec, MemorySourceConfig};
use datafusion::common::{JoinSide, JoinType, NullEquality};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, CaseExpr, Column, IsNotNullExpr};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, PartitionMode};
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::streaming::StreamingTableExec;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type Expr = Arc<dyn PhysicalExpr>;

/// A leaf: a scan, of which somebody says whose rows it reads, or nothing at all.
pub(crate) fn scan(plan: &Plan, leaves: &Leaves<'_>) -> Result<Judgement, Defect> {
    let nothing = plan.is::<EmptyExec>() || plan.is::<PlaceholderRowExec>();
    let Some(leaf) = leaves(plan) else {
        return match nothing {
            true => Ok(Judgement {
                rows: Rows::Public { unique: Vec::new() },
                placed: Placed::single(),
                rule: Rule::PublicGiven,
            }),
            false => Err(Defect::new(Kind::Scan, plan.name())),
        };
    };
    let (schema, exprs) = match plan.is::<EmptyExec>() {
        true => (plan.schema(), None),
        false => source(plan)?,
    };
    let (rows, rule) = read(leaf, &schema)?;
    let placed = Placed::default();
    let read = Judgement { rows, placed, rule };
    match exprs {
        Some(exprs) => projected(read, &exprs, &schema),
        None => Ok(read),
    }
}

/// The columns that a scan reads, and what it computes of them.
fn source(plan: &Plan) -> Result<(SchemaRef, Option<Vec<Expr>>), Defect> {
    if let Some(scan) = plan.downcast_ref::<StreamingTableExec>() {
        let places = scan.projection().as_ref().map(|places| columns(places));
        return Ok((Arc::clone(scan.partition_schema()), places));
    }
    // Whose it is was said; what it does with rows is not known here.
    let unknown = || Defect::new(Kind::Operator, plan.name());
    let source = plan
        .downcast_ref::<DataSourceExec>()
        .ok_or_else(unknown)?
        .data_source();
    if let Some(memory) = source.downcast_ref::<MemorySourceConfig>() {
        let places = memory.projection().as_ref().map(|places| columns(places));
        return Ok((memory.original_schema(), places));
    }
    let files = source.downcast_ref::<FileScanConfig>().ok_or_else(unknown)?;
    let file = files.file_source();
    if file.filter().is_some() || files.limit.is_some() {
        return Err(Defect::new(Kind::Limit, "a scan that passes rows over"));
    }
    let exprs = file.projection().map(|projection| {
        let exprs = projection.as_ref().iter();
        exprs.map(|one| Arc::clone(&one.expr)).collect()
    });
    Ok((Arc::clone(file.table_schema().table_schema()), exprs))
}

/// What is said of a table, of its columns in this schema. A column that is not read is nowhere.
fn read(leaf: Leaf, schema: &Schema) -> Result<(Rows, Rule), Defect> {
    let (owner, rows, keys) = match leaf {
        Leaf::Public { unique } => {
            let places = |key: &BTreeSet<String>| key.iter().map(|name| schema.index_of(name).ok()).collect();
            let unique = unique.iter().filter_map(places).collect();
            return Ok((Rows::Public { unique }, Rule::PublicGiven));
        }
        Leaf::Private { owner, rows, keys } => (owner, rows, keys),
    };
    let names = schema.fields().iter().map(|field| field.name());
    if names.collect::<BTreeSet<_>>().len() != schema.fields().len() {
        return Err(Defect::new(Kind::Scan, "columns of one name"));
    }
    let named = match &owner {
        Naming::EachRow => None,
        Naming::Column(column) | Naming::Through { column, .. } => schema.index_of(column).ok(),
    };
    let each = owner == Naming::EachRow;
    let place = |(column, key): (String, String)| Some((schema.index_of(&column).ok()?, key));
    let mut owned = Owned {
        named: each,
        read: true,
        keys: keys.into_iter().filter_map(place).collect(),
        ..Owned::by(
            named.map_or(Owner::Hidden, |column| Owner::Columns(Places::from([column]))),
            schema.fields().len(),
        )
    };
    if let Naming::Through { key, .. } = owner {
        return Ok((Rows::Linked(owned, key), Rule::OwnedScan));
    }
    if let Some(most) = if each { Some(1) } else { rows } {
        owned.add_rows(most, &Places::new());
    }
    Ok((Rows::Owned(owned), Rule::OwnedScan))
}

/// Rows of which some stay, by a condition on each.
pub(crate) fn filtered(plan: &FilterExec, input: Judgement) -> Result<Judgement, Defect> {
    let schema = plan.input().schema();
    let Judgement { rows, placed, .. } = input;
    check(plan.predicate(), &schema, known(&rows))?;
    let (rows, rule) = match rows {
        Rows::Public { unique } => (Rows::Public { unique }, Rule::PublicFilter),
        Rows::Owned(mut owned) => {
            let conditions = conjuncts(plan.predicate()).into_iter();
            conditions.for_each(|condition| learn(&mut owned, condition, &schema));
            (Rows::Owned(owned), Rule::OwnedFilter)
        }
        Rows::Linked(..) => (rows, Rule::OwnedFilter),
        _ => return Err(Defect::new(Kind::Totals, "a filter after the sum over units")),
    };
    let kept = Judgement { rows, placed, rule };
    match plan.projection() {
        None => Ok(kept),
        Some(places) => projected(kept, &columns(places), &schema),
    }
}

/// What is known of the columns of rows.
fn known(rows: &Rows) -> &[Known] {
    match rows {
        Rows::Owned(rows) | Rows::Linked(rows, _) => &rows.columns,
        _ => &[],
    }
}

/// Columns, by their places.
fn columns(places: &[usize]) -> Vec<Expr> {
    let column = |place: &usize| Arc::new(Column::new("", *place)) as Expr;
    places.iter().map(column).collect()
}

/// The conditions that all have to hold.
fn conjuncts(expr: &Expr) -> Vec<&Expr> {
    match expr.downcast_ref::<BinaryExpr>() {
        Some(both) if *both.op() == Operator::And => {
            let mut all = conjuncts(both.left());
            all.extend(conjuncts(both.right()));
            all
        }
        _ => vec![expr],
    }
}

/// What a condition says of all rows that fulfil it: that they have an owner, or that they are among the first.
fn learn(rows: &mut Owned, condition: &Expr, schema: &Schema) {
    // Of no rows each is somebody's.
    rows.named |= is_false(condition);
    if let Some(present) = condition.downcast_ref::<IsNotNullExpr>() {
        // What a conversion of the owner's name makes of NULL is NULL.
        rows.named |= names_owner(present.arg(), rows, schema);
        let column = place(present.arg());
        let computed = rows.computed.iter().filter(|(at, _)| Some(*at) == column);
        rows.present.push(Arc::clone(present.arg()));
        rows.present.extend(computed.map(|(_, expr)| Arc::clone(expr)));
    }
    let Some(asked) = condition.downcast_ref::<BinaryExpr>() else {
        return;
    };
    let (Some(column), Some(end)) = (place(asked.left()), integer(asked.right())) else {
        return;
    };
    let first = match asked.op() {
        Operator::LtEq => end,
        Operator::Lt => end - 1,
        Operator::Eq if end == 1 => 1,
        _ => return,
    };
    let (Ok(first), Some(known)) = (u64::try_from(first), rows.columns.get(column)) else {
        return;
    };
    match known.place.clone() {
        Some(Place::Row(within)) => rows.add_rows(first, &within),
        Some(Place::Group(of)) => rows.add_kinds(first, &of),
        None => {}
    }
}

/// A projection by an operator.
pub(crate) fn projection(plan: &ProjectionExec, input: Judgement) -> Result<Judgement, Defect> {
    let exprs: Vec<Expr> = plan.expr().iter().map(|one| Arc::clone(&one.expr)).collect();
    projected(input, &exprs, &plan.input().schema())
}

/// Rows of other columns, each computed of one row.
pub(crate) fn projected(input: Judgement, exprs: &[Expr], schema: &Schema) -> Result<Judgement, Defect> {
    let Judgement { rows, placed, .. } = input;
    (exprs.iter()).try_for_each(|expr| check(expr, schema, known(&rows)))?;
    // Where a column goes to.
    let mut moved: BTreeMap<usize, usize> = BTreeMap::new();
    for (to, from) in exprs
        .iter()
        .enumerate()
        .filter_map(|(to, expr)| Some((to, place(expr)?)))
    {
        moved.entry(from).or_insert(to);
    }
    let all = |of: &Places| -> Option<Places> { of.iter().map(|from| moved.get(from).copied()).collect() };
    let (rows, rule) = match rows {
        Rows::Public { unique } => {
            let unique = unique.iter().filter_map(all).collect();
            (Rows::Public { unique }, Rule::PublicProject)
        }
        Rows::Owned(owned) => (
            Rows::Owned(owned_columns(&owned, exprs, schema, &moved)?),
            Rule::OwnedProject,
        ),
        Rows::Linked(linked, key) => (
            Rows::Linked(owned_columns(&linked, exprs, schema, &moved)?, key),
            Rule::OwnedProject,
        ),
        Rows::Totals(totals) => (Rows::Totals(total_columns(&totals, exprs)?), Rule::Sums),
        _ => {
            return Err(Defect::new(
                Kind::Totals,
                "a projection between the bounding step and the sum over units",
            ));
        }
    };
    let order = (placed.order.iter())
        .map_while(|(expr, options)| {
            let to = moved.get(&place(expr)?)?;
            Some((Arc::new(Column::new("", *to)) as Expr, *options))
        })
        .collect();
    let placed = Placed {
        single: placed.single,
        together: placed.together.as_ref().and_then(all),
        order,
    };
    Ok(Judgement { rows, placed, rule })
}

fn owned_columns(
    rows: &Owned,
    exprs: &[Expr],
    schema: &Schema,
    moved: &BTreeMap<usize, usize>,
) -> Result<Owned, Defect> {
    let owner = match &rows.owner {
        Owner::Hidden => Owner::Hidden,
        Owner::Columns(_) => {
            let named = exprs
                .iter()
                .enumerate()
                .filter(|(_, expr)| names_owner(expr, rows, schema));
            let named: Places = named.map(|(to, _)| to).collect();
            let as_before: Places = (named.iter().copied())
                .filter(|to| place(&exprs[*to]).is_some())
                .collect();
            // Columns that spell the owner in two ways could not be told apart: those of one conversion.
            let first = named.first().map(|first| &exprs[*first]);
            let alike = named
                .iter()
                .copied()
                .filter(|to| first.is_some_and(|first| same(&exprs[*to], first)));
            match as_before.is_empty() {
                true if named.is_empty() => Owner::Hidden,
                true => Owner::Columns(alike.collect()),
                false => Owner::Columns(as_before),
            }
        }
    };
    // A conversion makes some owners nobody.
    let named = match &owner {
        Owner::Hidden => rows.named,
        Owner::Columns(columns) => columns.iter().all(|to| {
            let expr = &exprs[*to];
            rows.present.iter().any(|present| same(present, expr)) || (rows.named && place(expr).is_some())
        }),
    };
    let to = |from: usize| moved.get(&from).copied();
    let present = rows.present.iter().filter_map(|present| {
        let computed = exprs.iter().position(|expr| same(expr, present));
        match computed {
            Some(to) => Some(Arc::new(Column::new("", to)) as Expr),
            None => elsewhere(present, to),
        }
    });
    let here = exprs.iter().enumerate().filter(|(_, expr)| place(expr).is_none());
    let computed = here.filter_map(|(at, expr)| Some((at, elsewhere(expr, to)?)));
    let all = |of: &Places| -> Option<Places> { of.iter().map(|from| moved.get(from).copied()).collect() };
    let some = |of: &Places| -> Places { of.iter().filter_map(|from| moved.get(from).copied()).collect() };
    let known = |expr: &Expr| {
        let of = place(expr).and_then(|from| rows.columns.get(from)?.place.clone());
        let place = of.and_then(|place| match place {
            Place::Row(within) => all(&within).map(Place::Row),
            // Rows of one place agree in fewer columns too, and so there are no more kinds of these.
            Place::Group(of) => Some(Place::Group(some(&of))),
        });
        Known {
            between: between(expr, &rows.columns),
            constant: is_constant(expr, &rows.columns),
            place,
        }
    };
    let (at_most, kinds) = rows.limits(&to);
    let keys = rows.keys.iter().flat_map(|(from, key)| {
        let kept = (exprs.iter().enumerate())
            .filter(|(_, expr)| keeps(expr, &|column| column == *from, rows.read, schema));
        kept.map(|(to, _)| (to, key.clone()))
    });
    Ok(Owned {
        keys: keys.collect(),
        named,
        present: present.collect(),
        computed: computed.collect(),
        at_most,
        kinds,
        columns: exprs.iter().map(known).collect(),
        read: rows.read && as_they_are(&owner, exprs),
        owner,
    })
}

/// Whether the owner is in columns that were not converted.
fn as_they_are(owner: &Owner, exprs: &[Expr]) -> bool {
    matches!(owner, Owner::Columns(columns) if columns.iter().all(|to| place(&exprs[*to]).is_some()))
}

/// Of totals nothing may be computed but themselves, with zero where there is nothing: as a COALESCE, or what the engine makes of it.
fn total_columns(totals: &Totals, exprs: &[Expr]) -> Result<Totals, Defect> {
    let column = |expr: &Expr| -> Result<Total, Defect> {
        let zero = |call: &ScalarFunctionExpr| match call.args() {
            [of, zero] if call.fun().name() == "coalesce" && integer(zero) == Some(0) => place(of),
            _ => None,
        };
        let asked = |case: &CaseExpr| match (case.expr(), case.when_then_expr(), case.else_expr()) {
            (None, [(when, then)], Some(zero)) if integer(zero) == Some(0) => {
                let present = when.downcast_ref::<IsNotNullExpr>()?;
                place(then).filter(|column| place(present.arg()) == Some(*column))
            }
            _ => None,
        };
        let from = place(expr)
            .or_else(|| expr.downcast_ref::<ScalarFunctionExpr>().and_then(zero))
            .or_else(|| expr.downcast_ref::<CaseExpr>().and_then(asked));
        let from = from.and_then(|from| totals.columns.get(from));
        from.cloned().ok_or_else(|| {
            Defect::new(
                Kind::Totals,
                "an expression of numbers that were summed over units",
            )
        })
    };
    Ok(Totals {
        columns: exprs.iter().map(column).collect::<Result<_, _>>()?,
        grouped: totals.grouped,
    })
}

/// The rows of several inputs together.
pub(crate) fn united(inputs: Vec<Judgement>) -> Result<Judgement, Defect> {
    let placed = Placed::default();
    if inputs
        .iter()
        .all(|input| matches!(input.rows, Rows::Public { .. }))
    {
        let rows = Rows::Public { unique: Vec::new() };
        return Ok(Judgement {
            rows,
            placed,
            rule: Rule::PublicUnion,
        });
    }
    let mut owners: Option<Places> = None;
    let (mut named, mut width) = (true, 0);
    for input in &inputs {
        let Rows::Owned(rows) = &input.rows else {
            return Err(Defect::new(Kind::Union, "a union of owned rows and others"));
        };
        let Some(own) = rows.owners() else {
            return Err(Defect::new(
                Kind::Union,
                "a union of tables in which each row is one unit",
            ));
        };
        owners = Some(match owners {
            Some(so_far) => so_far.intersection(own).copied().collect(),
            None => own.clone(),
        });
        named &= rows.named;
        width = rows.columns.len();
    }
    let Some(owners) = owners.filter(|owners| !owners.is_empty()) else {
        return Err(Defect::new(
            Kind::Union,
            "sides that name the owner in different columns",
        ));
    };
    let rows = Owned {
        named,
        ..Owned::by(Owner::Columns(owners), width)
    };
    Ok(Judgement {
        rows: Rows::Owned(rows),
        placed,
        rule: Rule::OwnedUnion,
    })
}

/// The same rows in other places.
pub(crate) fn moved(input: Judgement, placed: Placed) -> Judgement {
    let rule = match &input.rows {
        Rows::Public { .. } => Rule::PublicMove,
        Rows::Owned(_) | Rows::Linked(..) | Rows::Values(_) | Rows::States(_) => Rule::OwnedMove,
        _ => input.rule,
    };
    Judgement {
        rows: input.rows,
        placed,
        rule,
    }
}

/// A join as the rule sees it: the public side is held, and each private row meets it.
struct Met<'a> {
    kind: JoinType,
    /// Equalities of columns, of the public side and of the private one.
    equal: Vec<(&'a Expr, &'a Expr)>,
    filter: Option<&'a JoinFilter>,
    projection: Option<Vec<usize>>,
    widths: (usize, usize),
}

/// A join of public rows, which are the left side, and private ones.
pub(crate) fn met(plan: &Plan, left: Judgement, right: Judgement) -> Result<Judgement, Defect> {
    let wrong = |what: &str| Err(Defect::new(Kind::Join, what));
    let children = plan.children();
    let [one, other] = children.as_slice() else {
        return wrong("a join of one side");
    };
    let widths = (one.schema().fields().len(), other.schema().fields().len());
    let join = if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        if *join.partition_mode() != PartitionMode::CollectLeft {
            return wrong("a join that holds private rows");
        }
        for (of_left, of_right) in join.on() {
            check(of_left, &one.schema(), &[])?;
            check(of_right, &other.schema(), &[])?;
        }
        Met {
            kind: *join.join_type(),
            // Where NULL meets NULL, no key of the public side is one.
            equal: match join.null_equality() {
                NullEquality::NullEqualsNothing => {
                    join.on().iter().map(|(left, right)| (left, right)).collect()
                }
                NullEquality::NullEqualsNull => Vec::new(),
            },
            filter: join.filter(),
            projection: join.projection.as_ref().map(|places| places.to_vec()),
            widths,
        }
    } else if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        Met {
            kind: *join.join_type(),
            equal: Vec::new(),
            filter: join.filter(),
            projection: join.projection().as_ref().map(|places| places.to_vec()),
            widths,
        }
    } else if plan.is::<CrossJoinExec>() {
        Met {
            kind: JoinType::Inner,
            equal: Vec::new(),
            filter: None,
            projection: None,
            widths,
        }
    } else {
        return Err(Defect::new(Kind::Operator, plan.name()));
    };
    if let Some(filter) = join.filter {
        check(filter.expression(), filter.schema(), &[])?;
        if filter
            .column_indices()
            .iter()
            .any(|index| index.side == JoinSide::None)
        {
            return wrong("a filter on neither side");
        }
    }
    let joined = match (&left.rows, &right.rows) {
        (Rows::Public { .. }, Rows::Public { .. }) => Judgement {
            rows: Rows::Public { unique: Vec::new() },
            placed: Placed::default(),
            rule: Rule::PublicFilter,
        },
        (Rows::Public { unique }, Rows::Owned(rows)) => met_rows(&join, unique, rows, right.placed)?,
        (Rows::Owned(_), Rows::Owned(_)) => return wrong("rows of different owners"),
        _ => return wrong("a private side that is held, or numbers that were summed"),
    };
    let Some(places) = &join.projection else {
        return Ok(joined);
    };
    // As many columns as there may be before the projection; their types are not asked for.
    let any = Field::new("", DataType::Null, true);
    projected(
        joined,
        &columns(places),
        &Schema::new(vec![any; widths.0 + widths.1 + 1]),
    )
}

fn met_rows(join: &Met<'_>, unique: &[Places], rows: &Owned, placed: Placed) -> Result<Judgement, Defect> {
    let (left, right) = join.widths;
    // Where the columns of the private side are in the result, and how many columns are added.
    let (offset, width) = match join.kind {
        JoinType::Inner | JoinType::Right => (left, left + right),
        JoinType::RightSemi | JoinType::RightAnti => (0, right),
        JoinType::RightMark => (0, right + 1),
        // A row of the public side that finds no partner would tell that nobody has one; a held row that finds one is given once for all.
        kind => {
            return Err(Defect::new(
                Kind::Join,
                format!("a {kind} join in which public rows stay"),
            ));
        }
    };
    let matched: Places = join.equal.iter().filter_map(|(held, _)| place(held)).collect();
    let once = matches!(
        join.kind,
        JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark
    ) || unique.iter().any(|key| key.is_subset(&matched));
    let shifted = |of: &Places| -> Places { of.iter().map(|place| place + offset).collect() };
    let at_most = match once {
        true => (rows.at_most.iter())
            .map(|fact| AtMost {
                most: fact.most,
                of: shifted(&fact.of),
            })
            .collect(),
        false => Vec::new(),
    };
    let owner = match &rows.owner {
        Owner::Hidden => Owner::Hidden,
        Owner::Columns(columns) => Owner::Columns(shifted(columns)),
    };
    let owned = Owned {
        named: rows.named,
        at_most,
        ..Owned::by(owner, width)
    };
    let placed = Placed {
        single: placed.single,
        together: placed.together.as_ref().map(shifted),
        order: Vec::new(),
    };
    Ok(Judgement {
        rows: Rows::Owned(owned),
        placed,
        rule: Rule::OwnedMeet,
    })
}
