//! What is charged and drawn, held against what a plan enforces.

use crate::common::{Plan, bounded, bounded_as, bounding, closed, leaves, meant, planned};
use accounting::{Delta, Epsilon, Neighbors, PrivacyUnit};
use bound::{Form, Partial};
use mechanism::{Charge, Laplace, LaplaceThreshold, Sensitivity, Stated};
use noise::Grid;
use verify::{Defect, Kind, Number, Part, Release, Verified, verify};

fn one() -> Epsilon {
    Epsilon::parse("1").unwrap()
}

fn laplace(sensitivity: &Sensitivity) -> Laplace {
    Laplace::new(one(), sensitivity.clone(), Grid::new(0)).unwrap()
}

fn person(neighbors: Neighbors) -> PrivacyUnit {
    PrivacyUnit::new("person", neighbors)
}

fn charge(mechanisms: &[&dyn Stated], neighbors: Neighbors) -> Charge {
    let delta = Delta::parse("1e-6").unwrap();
    Charge::for_all(mechanisms, &person(neighbors), &delta, "a test").unwrap()
}

fn checked(plan: &Plan, releases: Vec<Release<'_>>, charge: &Charge) -> Result<Verified, Defect> {
    let part = Part {
        plans: vec![plan],
        releases,
    };
    verify(&[part], &leaves, charge)
}

fn plan() -> Plan {
    bounded("SELECT * FROM visits")
}

/// What is refused, for noise made for one sensitivity and claimed for another, in the third column.
fn refused(plan: &Plan, claimed: &Sensitivity, made_for: &Sensitivity) -> Option<Kind> {
    let noise = laplace(made_for);
    let release = Release {
        drawn: 0,
        number: Number::OfGroups(3),
        sensitivity: claimed,
        noise: &noise,
    };
    let charge = charge(&[&noise], Neighbors::AddRemove);
    checked(plan, vec![release], &charge)
        .err()
        .map(|defect| defect.kind)
}

#[test]
fn noise_for_what_the_plan_enforces_is_accepted() {
    let enforced = Sensitivity::vector(2, 10u64).unwrap();
    assert_eq!(refused(&plan(), &enforced, &enforced), None);
    let more = Sensitivity::vector(3, 12u64).unwrap();
    assert_eq!(refused(&plan(), &more, &more), None, "larger is fine");
}

#[test]
fn a_clamp_that_was_widened_after_pricing_is_refused() {
    let priced = Sensitivity::vector(2, 9u64).unwrap();
    assert_eq!(refused(&plan(), &priced, &priced), Some(Kind::Sensitivity));
}

#[test]
fn a_clamp_that_was_widened_below_is_refused() {
    let context = closed();
    let mut asked = bounding(meant(&context, "SELECT * FROM visits"));
    asked.partials[2] = Partial::Sum {
        argument: 0,
        low: -11,
        high: 10,
    };
    let plan = planned(&context, &asked.plan(Form::Partitioned).unwrap());
    let priced = Sensitivity::vector(2, 10u64).unwrap();
    assert_eq!(refused(&plan, &priced, &priced), Some(Kind::Sensitivity));
}

#[test]
fn one_group_more_than_was_priced_is_refused() {
    let priced = Sensitivity::vector(1, 10u64).unwrap();
    assert_eq!(refused(&plan(), &priced, &priced), Some(Kind::Sensitivity));
    let relational = bounded_as(&closed(), "SELECT * FROM visits", Form::Relational);
    assert_eq!(refused(&relational, &priced, &priced), Some(Kind::Sensitivity));
}

#[test]
fn norms_that_are_too_small_are_refused() {
    let claimed = Sensitivity::vector(2, 10u64).unwrap();
    let claimed = claimed
        .with_norms(&exact::ratio(19, 1), &exact::ratio(200, 1))
        .unwrap();
    assert_eq!(refused(&plan(), &claimed, &claimed), Some(Kind::Sensitivity));
}

#[test]
fn noise_of_a_smaller_scale_is_refused() {
    let claimed = Sensitivity::vector(2, 10u64).unwrap();
    let half = Sensitivity::vector(1, 10u64).unwrap();
    assert_eq!(refused(&plan(), &claimed, &half), Some(Kind::Noise));
}

#[test]
fn a_threshold_that_was_made_for_fewer_groups_is_refused() {
    let (delta, unit) = (
        Delta::parse("1e-9").unwrap(),
        Sensitivity::vector(1, 1u64).unwrap(),
    );
    let noise = LaplaceThreshold::new(one(), delta, unit).unwrap();
    let claimed = Sensitivity::vector(2, 1u64).unwrap();
    let release = Release {
        drawn: 0,
        number: Number::OfGroups(1),
        sensitivity: &claimed,
        noise: &noise,
    };
    let charge = charge(&[&noise], Neighbors::AddRemove);
    let defect = checked(&plan(), vec![release], &charge).unwrap_err();
    assert_eq!(defect.kind, Kind::Noise);
}

#[test]
fn a_changed_unit_needs_more_than_one_that_is_added() {
    let claimed = Sensitivity::vector(2, 10u64).unwrap();
    let noise = laplace(&claimed);
    let release = Release {
        drawn: 0,
        number: Number::OfGroups(3),
        sensitivity: &claimed,
        noise: &noise,
    };
    let charge = charge(&[&noise], Neighbors::ChangeOne);
    let defect = checked(&plan(), vec![release], &charge).unwrap_err();
    assert_eq!(defect.kind, Kind::Sensitivity);
}

#[test]
fn two_draws_for_one_charge_are_refused() {
    let claimed = Sensitivity::vector(2, 10u64).unwrap();
    let noise = laplace(&claimed);
    let release = Release {
        drawn: 0,
        number: Number::OfGroups(3),
        sensitivity: &claimed,
        noise: &noise,
    };
    let once = charge(&[&noise], Neighbors::AddRemove);
    let second = Release { drawn: 1, ..release };
    let twice = vec![release, second];
    let in_one_place = checked(
        &plan(),
        vec![release, release],
        &charge(&[&noise, &noise], Neighbors::AddRemove),
    );
    assert_eq!(in_one_place.unwrap_err().kind, Kind::Charge);
    assert_eq!(
        checked(&plan(), twice.clone(), &once).unwrap_err().kind,
        Kind::Charge
    );
    let both = charge(&[&noise, &noise], Neighbors::AddRemove);
    let verified = checked(&plan(), twice, &both).unwrap();
    assert_eq!(verified.sensitivities().next().unwrap().len(), 2);
}

#[test]
fn a_cheaper_event_than_what_is_drawn_is_refused() {
    let claimed = Sensitivity::vector(2, 10u64).unwrap();
    let noise = laplace(&claimed);
    let cheap = Laplace::new(Epsilon::parse("0.5").unwrap(), claimed.clone(), Grid::new(0)).unwrap();
    let release = Release {
        drawn: 0,
        number: Number::OfGroups(3),
        sensitivity: &claimed,
        noise: &noise,
    };
    let charge = charge(&[&cheap], Neighbors::AddRemove);
    let defect = checked(&plan(), vec![release], &charge).unwrap_err();
    assert_eq!(defect.kind, Kind::Charge);
}

#[test]
fn what_is_no_number_is_not_released() {
    let claimed = Sensitivity::vector(2, 10u64).unwrap();
    let noise = laplace(&claimed);
    let charge = charge(&[&noise], Neighbors::AddRemove);
    for number in [
        Number::OfGroups(0),
        Number::OfGroups(4),
        Number::OfAll(3),
        Number::Bins { column: 3, levels: 1 },
    ] {
        let release = Release {
            drawn: 0,
            number,
            sensitivity: &claimed,
            noise: &noise,
        };
        let defect = checked(&plan(), vec![release], &charge).unwrap_err();
        assert_eq!(defect.kind, Kind::Number, "{number:?}");
    }
}
