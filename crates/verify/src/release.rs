//! What is released of a plan's numbers: sensitivities are computed here from what the plan enforces, and compared with those that are claimed, those that noise is made for, and what is charged.

use super::defect::{Defect, Kind};
use super::judgement::{Bound, Rows, Total};
use accounting::{Event, Neighbors};
use bound::Norm;
use exact::{Integer, Rational};
use mechanism::{Charge, Sensitivity, Stated};
use std::collections::BTreeSet;

/// Which number of a plan is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// A column, in each group.
    OfGroups(usize),
    /// A column, added up over all groups.
    OfAll(usize),
    /// A column of counts of rows by bin, the last key, where each row is counted once in each of so many levels of bins.
    Bins {
        /// The column.
        column: usize,
        /// Levels of bins.
        levels: u64,
    },
}

/// One release: a number, how far it moves as is claimed, and the noise that it gets.
#[derive(Clone, Copy)]
pub struct Release<'a> {
    /// Its place among the releases of the question: each is drawn once.
    pub drawn: usize,
    /// What is released.
    pub number: Number,
    /// How far one unit moves it, as the value is bound to it.
    pub sensitivity: &'a Sensitivity,
    /// What draws the noise.
    pub noise: &'a dyn Stated,
}

/// The sensitivity of a number of a plan, as the plan enforces it.
pub(crate) fn sensitivity(rows: &Rows, number: Number, neighbors: Neighbors) -> Result<Sensitivity, Defect> {
    let none = |what: &str| Defect::new(Kind::Number, what);
    let Rows::Totals(totals) = rows else {
        return Err(Defect::new(
            Kind::Unbounded,
            "a plan that does not end with a sum over units",
        ));
    };
    let column = |place: usize| match totals.columns.get(place) {
        Some(Total::Number { groups, bins }) => Ok((groups, bins)),
        _ => Err(none("a column that is no number")),
    };
    let computed = match number {
        Number::OfGroups(place) => match column(place)?.0 {
            Some(Bound::Groups {
                groups,
                low,
                high,
                length,
            }) => of_groups(*groups, (*low, *high), totals.grouped, neighbors)
                .and_then(|known| shorter(known, *length, neighbors)),
            Some(Bound::Values { groups, most, all }) => {
                // A value that one unit alone has moves the count by one, whoever else has others: no more than so many.
                of_groups(*groups, (0, i128::from(*most)), totals.grouped, neighbors)
                    .and_then(|known| shorter(known, all.map(|all| (Norm::One, all)), neighbors))
            }
            _ => return Err(none("a number of groups that was not bounded by group")),
        },
        Number::OfAll(place) => match column(place)?.0 {
            // Between 0 and so much, whether the unit is added, removed or changed.
            Some(Bound::All { most }) => Sensitivity::scalar(whole(i128::from(*most))),
            _ => return Err(none("a number of all units that was not bounded")),
        },
        Number::Bins {
            column: place,
            levels,
        } => match column(place)?.1 {
            Some(Bound::Bins { groups, most, all }) => of_bins((*groups, *most, *all), levels, neighbors),
            _ => return Err(none("bins of rows that were not bounded")),
        },
    };
    computed.map_err(|_| none("a number that moves without bound"))
}

/// How many vectors of a unit a change is made of.
fn sides(neighbors: Neighbors) -> u64 {
    match neighbors {
        Neighbors::AddRemove => 1,
        Neighbors::ChangeOne => 2,
    }
}

/// What does not move at all gets one step, as every sensitivity does.
fn whole(value: i128) -> Rational {
    Rational::from(Integer::from(value.max(1)))
}

/// The theorems `native`, `sums` and `distincts`: with A the farther end and W the width, k groups, A in each and kA in all for a unit that is added or removed; 2k groups, W in each, 2kA in all and
/// k·max(W², 2A²) in squares for one that is changed; W in the one group where nothing is grouped by.
fn of_groups(
    groups: u64,
    (low, high): (i128, i128),
    grouped: bool,
    neighbors: Neighbors,
) -> Result<Sensitivity, mechanism::Error> {
    let (far, wide) = (high.max(-low).max(0), high - low);
    let count = Rational::from(groups);
    match neighbors {
        Neighbors::AddRemove => Sensitivity::vector(groups, whole(far)),
        Neighbors::ChangeOne if !grouped => Sensitivity::scalar(whole(wide)),
        Neighbors::ChangeOne => {
            let [far, wide] = [far, wide].map(|end| Rational::from(Integer::from(end)));
            let two = Rational::from(2u64);
            let squares = (&wide * &wide).max(&two * &far * &far);
            let l1 = (&two * &count * &far).max(Rational::ONE);
            let most = groups.checked_mul(2).ok_or(mechanism::Error::BadSensitivity)?;
            Sensitivity::vector(most, wide.max(far).max(Rational::ONE))?
                .with_norms(&l1, &(&count * squares).max(Rational::ONE))
        }
    }
}

/// The theorems `lengths_one` and `lengths_two`: no more than the length of one vector for a unit that is added or removed, and of two for one that is changed.
fn shorter(
    known: Sensitivity,
    length: Option<(Norm, u64)>,
    neighbors: Neighbors,
) -> Result<Sensitivity, mechanism::Error> {
    let Some((norm, most)) = length else {
        return Ok(known);
    };
    let most = Rational::from(sides(neighbors)) * whole(i128::from(most));
    let squared = &most * &most;
    match norm {
        // Σd² ≤ Σ|d| · max|d|.
        Norm::One => {
            let squared = squared.min(&most * known.l_infinity());
            known.with_norms(&most, &squared)
        }
        Norm::Two => {
            let l1 = known.l1().clone();
            known.with_norms(&l1, &squared)
        }
    }
}

/// Each row is in one bin of each level. In one level of one group a unit's rows move bins by at most `most` in ℓ₁ and none by more, so by at most as many squares times `most`, and no more bins than
/// there are rows.
fn of_bins(
    (groups, most, all): (u64, u64, Option<u64>),
    levels: u64,
    neighbors: Neighbors,
) -> Result<Sensitivity, mechanism::Error> {
    let most = most.max(1);
    let rows = u128::from(groups) * u128::from(most);
    let rows = all.map_or(rows, |all| rows.min(u128::from(all)));
    let rows = rows.saturating_mul(u128::from(levels) * u128::from(sides(neighbors)));
    let l1 = whole(i128::try_from(rows).unwrap_or(i128::MAX));
    let most = Rational::from(most);
    Sensitivity::vector(u64::try_from(rows.max(1)).unwrap_or(u64::MAX), most.clone())?
        .with_norms(&l1, &(&l1 * &most))
}

/// Whether the noise of a release is made for what the plan enforces.
pub(crate) fn check(rows: &Rows, release: &Release<'_>, neighbors: Neighbors) -> Result<Sensitivity, Defect> {
    let computed = sensitivity(rows, release.number, neighbors)?;
    if !release.sensitivity.covers(&computed) {
        let at = format!(
            "{:?}: {computed:?}, not {:?}",
            release.number, release.sensitivity
        );
        return Err(Defect::new(Kind::Sensitivity, at));
    }
    let terms = release.noise.terms();
    if !terms.sensitivity().covers(release.sensitivity) {
        return Err(Defect::new(Kind::Noise, format!("{:?}", release.number)));
    }
    if terms.requires().is_some_and(|only| only != neighbors) {
        return Err(Defect::new(
            Kind::Neighbors,
            "a mechanism that is proved for other neighbours",
        ));
    }
    Ok(computed)
}

/// Whether what is charged is what is drawn: the same events, each as often.
pub(crate) fn check_charge(releases: &[Release<'_>], charge: &Charge) -> Result<(), Defect> {
    let places: BTreeSet<usize> = releases.iter().map(|release| release.drawn).collect();
    if places.len() != releases.len() {
        return Err(Defect::new(Kind::Charge, "two releases in one place"));
    }
    let mut drawn = Vec::new();
    for release in releases {
        flatten(release.noise.terms().event(), &mut drawn);
    }
    let mut charged = Vec::new();
    flatten(&charge.event, &mut charged);
    for event in drawn {
        match charged.iter().position(|other| *other == event) {
            Some(place) => charged.swap_remove(place),
            None => return Err(Defect::new(Kind::Charge, "a release that is not charged")),
        };
    }
    Ok(())
}

fn flatten<'a>(event: &'a Event, into: &mut Vec<&'a Event>) {
    match event {
        Event::Composed(parts) => parts.iter().for_each(|part| flatten(part, into)),
        event => into.push(event),
    }
}
