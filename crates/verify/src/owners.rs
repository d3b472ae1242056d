//! Rules for our own operators: joins by owner, windows over one owner's rows, and the bounding step.

use super::Plan;
use super::defect::{Defect, Kind};
use super::expression::{check, place};
use super::judgement::{Bound, Contributions, Judgement, Owned, Owner, Placed, Places, Rows};
use super::rule::Rule;
use bound::operators::{Operator, Way};
use bound::{Beside, Length, Meeting, Norm, Partial};
use datafusion::arrow::datatypes::Schema;
use datafusion::physical_expr::PhysicalExpr;
use std::sync::Arc;

/// Whether all rows are in one part, sorted by this column first.
fn is_by(placed: &Placed, column: usize) -> bool {
    placed.single && placed.order.first().and_then(|(expr, _)| place(expr)) == Some(column)
}

/// How many rows of an owner meet, and what else is asked of a pair.
pub(crate) fn paired(
    plan: &Plan,
    (keys, meeting, most): ((usize, usize), &Meeting, (u64, u64)),
    filter: Option<&Arc<dyn PhysicalExpr>>,
    (left, right): (Judgement, Judgement),
) -> Result<Judgement, Defect> {
    let wrong = |what: &str| Err(Defect::new(Kind::Join, what));
    let children = plan.children();
    let [one, other] = children.as_slice() else {
        return wrong("a join of one side");
    };
    if !is_by(&left.placed, keys.0) || !is_by(&right.placed, keys.1) {
        return Err(Defect::new(
            Kind::Place,
            "a join of owners over rows that are not sorted by owner",
        ));
    }
    // Where not all rows of an owner are taken, which are is a matter of all their values.
    let complete = |placed: &Placed, most: u64, width: usize| {
        let sorted: Places = placed.order.iter().filter_map(|(expr, _)| place(expr)).collect();
        most == u64::MAX || sorted.len() == width
    };
    let widths = (one.schema().fields().len(), other.schema().fields().len());
    if !complete(&left.placed, most.0, widths.0) || !complete(&right.placed, most.1, widths.1) {
        return Err(Defect::new(
            Kind::Place,
            "a join of owners that takes some rows in the order in which they come",
        ));
    }
    let (mine, theirs, link) = match (&left.rows, &right.rows) {
        (Rows::Owned(mine), Rows::Owned(theirs)) => (mine, theirs, None),
        (Rows::Linked(mine, key), Rows::Owned(theirs)) => (mine, theirs, Some(key)),
        _ => return wrong("a join of owners and others"),
    };
    let met = match link {
        None => theirs.is_owner(keys.1),
        Some(key) => {
            theirs.keys.contains(&(keys.1, key.clone())) && *meeting == Meeting::Pairs && most.0 == u64::MAX
        }
    };
    if !mine.is_owner(keys.0) || !met {
        return wrong("a join of owners by another column");
    }
    if one.schema().field(keys.0).data_type() != other.schema().field(keys.1).data_type() {
        return wrong("owners that are spelled in two ways");
    }
    if let Some(filter) = filter {
        let both = one
            .schema()
            .fields()
            .iter()
            .chain(other.schema().fields().iter())
            .cloned()
            .collect::<Vec<_>>();
        check(filter, &Schema::new(both), &[])?;
    }
    if link.is_some() {
        return Ok(linked(mine, theirs, widths));
    }
    let mut owners = mine.owners().cloned().unwrap_or_default();
    // A row of the left side that finds no partner has NULL for the owner of the right.
    if *meeting == Meeting::Pairs {
        owners.extend(
            theirs
                .owners()
                .into_iter()
                .flatten()
                .map(|column| column + widths.0),
        );
    }
    // Each row of the left side is there once at most, where it is only asked whether it meets one.
    let at_most = match meeting {
        Meeting::Whether(_) => mine.at_most.clone(),
        Meeting::Pairs | Meeting::PairsAndRest => Vec::new(),
    };
    let rows = Owned {
        at_most,
        // Rows of nobody meet nobody, and do not stay.
        named: true,
        ..Owned::by(Owner::Columns(owners), plan.schema().fields().len())
    };
    let placed = Placed::single();
    Ok(Judgement {
        rows: Rows::Owned(rows),
        placed,
        rule: Rule::OwnedPaired,
    })
}

/// Rows that lead to their owners by the key of the other side. As no two rows have one key, each row has the owner of one row, and the rows of an owner are found by that owner's keys: they are a
/// table whose rows carry their owner, as every scan in the model does.
fn linked(mine: &Owned, theirs: &Owned, (left, right): (usize, usize)) -> Judgement {
    let owners = theirs
        .owners()
        .map(|owners| owners.iter().map(|column| column + left).collect());
    let rows = Owned {
        named: theirs.named,
        // Each row is there once at most.
        keys: mine.keys.clone(),
        ..Owned::by(owners.map_or(Owner::Hidden, Owner::Columns), left + right)
    };
    Judgement {
        rows: Rows::Owned(rows),
        placed: Placed::single(),
        rule: Rule::OwnedScan,
    }
}

/// Windows over one owner's rows: the columns of the input, and then what is computed.
pub(crate) fn windowed(plan: &Plan, owner: usize, input: Judgement) -> Result<Judgement, Defect> {
    let Judgement {
        rows: Rows::Owned(rows),
        placed,
        ..
    } = input
    else {
        return Err(Defect::new(Kind::Window, "a window over rows that nobody owns"));
    };
    if !rows.is_owner(owner) {
        return Err(Defect::new(
            Kind::Window,
            "a window that is not partitioned by the owner",
        ));
    }
    let sorted: Places = placed.order.iter().filter_map(|(expr, _)| place(expr)).collect();
    if !is_by(&placed, owner) || sorted.len() != rows.columns.len() {
        return Err(Defect::new(
            Kind::Place,
            "a window over rows that are not sorted by everything",
        ));
    }
    let owned = Owned {
        named: rows.named,
        ..Owned::by(rows.owner.clone(), plan.schema().fields().len())
    };
    let placed = Placed::single();
    Ok(Judgement {
        rows: Rows::Owned(owned),
        placed,
        rule: Rule::OwnedPartitioned,
    })
}

/// What one unit adds to a number of one group.
fn ends(partial: &Partial) -> (i128, i128) {
    match *partial {
        Partial::Units => (0, 1),
        Partial::Rows { most } | Partial::Present { most, .. } => (0, i128::from(most)),
        Partial::Sum { low, high, .. } | Partial::Mean { low, high, .. } => {
            (i128::from(low.min(0)), i128::from(high.max(0)))
        }
    }
}

/// The bounding step: k groups of each unit, and in each of them numbers that are clamped.
pub(crate) fn bounded(operator: &Operator<'_>, input: Judgement) -> Result<Judgement, Defect> {
    let Operator::Bounding {
        way,
        keys,
        partials,
        groups,
        lengths,
        beside,
    } = operator
    else {
        return Err(Defect::new(Kind::Operator, "another operator"));
    };
    let Judgement {
        rows: Rows::Owned(rows),
        ..
    } = input
    else {
        return Err(Defect::new(
            Kind::Owner,
            "a bounding step over rows that nobody owns",
        ));
    };
    let grouped = *keys > 0;
    let unlimited = || {
        Defect::new(
            Kind::Unbounded,
            "a bounding step in which all groups of a unit count",
        )
    };
    let limit = |most: Option<u64>| match grouped {
        true => most.ok_or_else(unlimited),
        false => Ok(1),
    };
    let counted = match way {
        // Each row is a unit, as the table says; or a unit has no second row.
        Way::OneRow if rows.rows_in(&Places::new()) == Some(1) && beside.is_none() => 1,
        Way::OneRow => {
            return Err(Defect::new(
                Kind::OneRow,
                "a bounding step over one row of each unit",
            ));
        }
        Way::AllRows => limit(*groups)?,
        Way::SomeRows => return Err(Defect::new(Kind::Operator, "a bounding step on several machines")),
    };
    if *way == Way::AllRows && !rows.is_owner(0) {
        return Err(Defect::new(Kind::Owner, "a bounding step by another column"));
    }
    let mut numbers = of_groups(counted, partials.iter().map(ends).collect(), lengths);
    if let Some(beside) = beside {
        numbers.extend(beside_it(beside, limit(beside.groups)?, grouped));
    }
    let placed = Placed::single();
    let rows = Rows::Contributions(Contributions { keys: *keys, numbers });
    Ok(Judgement {
        rows,
        placed,
        rule: Rule::Native,
    })
}

/// Numbers of so many groups, between these ends. Those whose length is bounded, and those that are scaled with them, have a length; the first of them are in finer steps.
fn of_groups(groups: u64, ends: Vec<(i128, i128)>, lengths: &[Length]) -> Vec<Bound> {
    let one = |(place, (low, high)): (usize, (i128, i128))| {
        let bound = |finer: u32, norm: Norm, most: u64| Bound::Groups {
            groups,
            low: (low << finer).max(-i128::from(most)),
            high: (high << finer).min(i128::from(most)),
            length: Some((norm, most)),
        };
        let of = lengths.iter().find(|length| length.of == place);
        let with = lengths
            .iter()
            .flat_map(|length| length.with.iter().map(move |one| (length, one)));
        match (of, with.into_iter().find(|(_, follower)| follower.place == place)) {
            (Some(length), _) => bound(length.finer, length.norm, length.most),
            (None, Some((length, follower))) => bound(follower.finer, length.norm, length.follows(follower)),
            (None, None) => Bound::Groups {
                groups,
                low,
                high,
                length: None,
            },
        }
    };
    ends.into_iter().enumerate().map(one).collect()
}

/// In steps that are coarser by so many bits: the nearest, upwards in the middle.
fn coarse(number: i128, bits: u32) -> i128 {
    (number + ((1i128 << bits) >> 1)) >> bits
}

/// The numbers under wider limits, and the four of all units.
fn beside_it(beside: &Beside, groups: u64, grouped: bool) -> Vec<Bound> {
    let partials = beside.partials.iter();
    let mut numbers = of_groups(
        groups,
        partials.map(|one| ends(&one.partial)).collect(),
        &beside.lengths,
    );
    for (number, one) in numbers.iter_mut().zip(&beside.partials) {
        if let Bound::Groups {
            low, high, length, ..
        } = number
        {
            // At the farther side, whichever way a number of a vector is rounded, and no farther than the nearest step of the ends of any other.
            (*low, *high) = (coarse(*low, one.bits), coarse(*high, one.bits));
            *length = length.map(|(norm, most)| (norm, most.div_ceil(1 << one.bits)));
        }
    }
    let (low, high) = ends(&beside.amount.1);
    let most = match &beside.vector {
        Some(vector) => coarse(i128::from(vector.most), beside.bits),
        None => coarse(high.max(-low), beside.bits) * i128::from(if grouped { groups } else { 1 }),
    };
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    numbers.extend([1, 1, most, most].map(|most| Bound::All { most }));
    numbers
}
