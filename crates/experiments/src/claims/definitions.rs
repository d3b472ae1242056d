//! D1 to D4: databases, the definition, what it means for one person, and post-processing.

use super::local::{FALSE_ALARM, auditor, count, person, plenty};
use super::{Claim, Fault, Outcome};
use accounting::{Delta, Epsilon, Neighbors, distance, what_it_means_for_one_person};
use audit::black_box::{Feature, FindingVerdict, Side};
use audit::exact_audit::{Distribution, Finite, Piecewise, smallest_delta};
use exact::{Interval, Rational, parse_decimal, ratio};
use mechanism::{Laplace, Sensitivity};
use noise::Grid;
use report::{Figure, Scale, significant};
use std::collections::BTreeMap;

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "D1",
        claim: "databases are histograms; a changed record is 2 apart, or 1",
        run: distances,
    },
    Claim {
        id: "D2",
        claim: "the smallest δ for an ε is Σ max(p − e^ε q, 0)",
        run: smallest_delta_is_the_definition,
    },
    Claim {
        id: "D3",
        claim: "Alice: 2 % risk, ε = 0.01, premium at most $2,020",
        run: alice,
    },
    Claim {
        id: "D4",
        claim: "post-processing keeps the guarantee and costs nothing",
        run: post_processing,
    },
];

fn distances() -> Result<Outcome, Fault> {
    let database = |records: &[&'static str]| {
        let mut histogram = BTreeMap::new();
        for record in records {
            *histogram.entry(*record).or_insert(0u64) += 1;
        }
        histogram
    };
    let here = database(&["ann", "ben", "ben", "cho"]);
    let (removed, changed) = (
        database(&["ann", "ben", "cho"]),
        database(&["ann", "ben", "dee", "cho"]),
    );
    let measured = [
        distance(&here, &removed, Neighbors::AddRemove)?,
        distance(&here, &changed, Neighbors::AddRemove)?,
        distance(&here, &changed, Neighbors::ChangeOne)?,
    ];
    let say = |[removed, changed, swapped]: [u128; 3]| {
        format!("removed: {removed}; changed: {changed} under add/remove, {swapped} under change-one")
    };
    // Databases of different size are never neighbours when records only change.
    let apart = distance(&here, &removed, Neighbors::ChangeOne).is_err();
    Ok(Outcome::new(
        say([1, 2, 1]),
        say(measured),
        measured == [1, 2, 1] && apart,
    ))
}

/// The definition says: for every event S, P(S) ≤ e^ε Q(S) + δ. So the smallest δ is a maximum over all 2^n
/// events.
fn by_definition(p: &[Rational], q: &[Rational], epsilon: &Rational) -> Interval {
    let factor = Interval::exp_of(epsilon, 128);
    let worst = |p: &[Rational], q: &[Rational]| {
        (0u32..1 << p.len())
            .map(|event| {
                let mass = |distribution: &[Rational]| {
                    let inside = distribution
                        .iter()
                        .enumerate()
                        .filter(|(index, _)| event >> index & 1 == 1);
                    Interval::from_rational(&inside.fold(Rational::ZERO, |sum, (_, mass)| sum + mass), 128)
                };
                mass(p).sub(&factor.mul(&mass(q)))
            })
            .reduce(|best, next| best.max(&next))
            .expect("there are events")
    };
    worst(p, q).max(&worst(q, p))
}

fn smallest_delta_is_the_definition() -> Result<Outcome, Fault> {
    let p: Vec<Rational> = [10, 25, 5, 30, 20, 8, 2].map(|part| ratio(part, 100)).into();
    let q: Vec<Rational> = [20, 15, 5, 10, 35, 5, 10].map(|part| ratio(part, 100)).into();
    let (here, there): (Distribution, Distribution) = (
        Finite::from_rationals(p.clone())?.into(),
        Finite::from_rationals(q.clone())?.into(),
    );
    let mut agree = true;
    let mut curve = Vec::new();
    for step in 0..=20 {
        let epsilon = ratio(step, 10);
        let (formula, definition) = (
            smallest_delta(&here, &there, &epsilon)?,
            by_definition(&p, &q, &epsilon),
        );
        agree &= formula.lower() <= definition.upper() && definition.lower() <= formula.upper();
        curve.push((f64::from(step as i32) / 10.0, formula.to_f64_nearest()));
    }
    // A density, too: Laplace of scale 1 moved by 1 has δ(ε) = 1 − e^((ε−1)/2).
    let (left, right) = (
        Piecewise::laplace(&ratio(0, 1), &ratio(1, 1))?,
        Piecewise::laplace(&ratio(1, 1), &ratio(1, 1))?,
    );
    let density = smallest_delta(&left.into(), &right.into(), &ratio(1, 2))?;
    let closed = Interval::from_integer(1, 128).sub(&Interval::exp_of(&ratio(-1, 4), 128));
    agree &= density.lower() <= closed.upper() && closed.lower() <= density.upper();
    let figure = Figure::new("The smallest δ for each ε of a mechanism with seven answers")
        .x_axis("ε", Scale::Linear)
        .y_axis("δ", Scale::Linear)
        .line("δ(ε)", &curve);
    let measured = if agree {
        "equal at 21 values of ε, and for a Laplace density"
    } else {
        "they differ"
    };
    Ok(Outcome::new("equal to the maximum over all 128 events", measured, agree).figure(figure))
}

fn alice() -> Result<Outcome, Fault> {
    let risk = what_it_means_for_one_person(&ratio(2, 100), &Epsilon::parse("0.01")?, &Delta::ZERO)?;
    let premium = risk.fair_price_at_most(&ratio(100_000, 1));
    // 2,000·e^0.01 = 2,020.1003…, rounded up to the cent.
    let pass = premium == parse_decimal("2020.11")?;
    let measured = format!("at most ${}", exact::format_decimal(&premium));
    Ok(Outcome::new("at most 2,000·e^0.01 = $2,020.11 (to the dollar, $2,020)", measured, pass)
        .note("Whatever the study finds about her, the insurer's estimate of Alice's risk is at most e^ε times what it would be without her."))
}

fn post_processing() -> Result<Outcome, Fault> {
    // Exactly: no function of five outcomes to three makes δ larger.
    let here = Finite::from_rationals([10, 25, 5, 40, 20].map(|part| ratio(part, 100)).into())?;
    let there = Finite::from_rationals([20, 15, 10, 20, 35].map(|part| ratio(part, 100)).into())?;
    let epsilon = ratio(1, 5);
    let before = smallest_delta(&here.clone().into(), &there.clone().into(), &epsilon)?;
    let mut larger = 0;
    for number in 0..3usize.pow(5) {
        let digit = |outcome: usize| number / 3usize.pow(outcome as u32) % 3;
        let after = smallest_delta(&here.map(3, digit).into(), &there.map(3, digit).into(), &epsilon)?;
        larger += usize::from(after.lower() > before.upper());
    }
    // And as it is used: a release is mapped, the ledger sees one charge, and the mapped answer keeps ε.
    let mut account = plenty(person())?;
    let sensitivity = Sensitivity::scalar(1)?;
    let laplace = Laplace::new(Epsilon::parse("1")?, sensitivity.clone(), Grid::new(0))?;
    let release = account
        .release_by(&laplace, count(3, &sensitivity), "a count")?
        .map(|value| value.max(0) / 2);
    let charges = account.ledger().charges().len();
    drop(release);
    let draw = |side: Side| {
        let input = count(i64::from(side == Side::Second), &sensitivity);
        let release = account
            .release_by(&laplace, input, "audit")
            .expect("budget for the audit");
        release.map(|value| value.clamp(-2, 3) * 7).into_value()
    };
    let finding = auditor(100_000).audit(draw, &Feature::<i64>::standard())?;
    let kept = finding.verdict(1.0, 0.0) == FindingVerdict::Consistent;
    let pass = larger == 0 && charges == 1 && kept && finding.epsilon_lower > 0.5;
    let measured = format!(
        "{larger} of 243 functions raise δ; {charges} charge; audit of the mapped answer: ε ≥ {}",
        significant(finding.epsilon_lower, 3)
    );
    Ok(
        Outcome::new("0 raise δ; 1 charge; audit at most 1", measured, pass)
            .note(format!("The audit's false-alarm rate is {FALSE_ALARM:e}.")),
    )
}
