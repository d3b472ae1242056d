//! E1 and E2: the exponential mechanism on the choice of a meeting date, noisy max, and permute-and-flip
//! beside them.

use super::local::{FALSE_ALARM, auditor, person, plenty};
use super::{Claim, Fault, Outcome};
use accounting::Epsilon;
use audit::black_box::{Feature, FindingVerdict, Side};
use audit::exact_audit::{Finite, satisfies};
use audit::goodness::categorical_test;
use exact::{Rational, ratio};
use mechanism::{
    Aggregate, ExponentialMechanism, Mechanism, NoisyMax, PermuteAndFlip, Sensitive, Sensitivity,
};
use noise::Grid;
use report::{Figure, Scale, significant};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "E1",
        claim: "the exponential mechanism ∝ exp(εu/2Δu) picks a meeting date",
        run: meeting,
    },
    Claim {
        id: "E2",
        claim: "noisy max releases only the winner; permute-and-flip is never worse",
        run: winners,
    },
];

/// How many of eleven people are free on each of five days, and what one person less makes of it.
const FREE: [i64; 5] = [6, 9, 3, 10, 7];
const FREE_WITHOUT_ONE: [i64; 5] = [5, 9, 2, 9, 7];

fn calendars(free: [i64; 5], sensitivity: &Sensitivity) -> Aggregate<Vec<i64>> {
    Aggregate::claimed(
        Sensitive::new(free.to_vec()),
        sensitivity.clone(),
        person(),
        Grid::new(0),
    )
}

/// One person can change the score of every day, by one.
fn one_person() -> Result<Sensitivity, Fault> {
    Ok(Sensitivity::vector(5, 1)?)
}

fn exact_distribution(scores: [i64; 5], epsilon: &Rational) -> Result<Finite, Fault> {
    let exponents: Vec<Rational> = scores
        .iter()
        .map(|score| Rational::from(*score) * epsilon * ratio(1, 2))
        .collect();
    Ok(Finite::from_exponents(&exponents)?)
}

fn meeting() -> Result<Outcome, Fault> {
    let epsilon = Rational::ONE;
    let (here, there) = (
        exact_distribution(FREE, &epsilon)?,
        exact_distribution(FREE_WITHOUT_ONE, &epsilon)?,
    );
    let probabilities: Vec<f64> = here
        .enclose(96)
        .iter()
        .map(exact::Interval::to_f64_nearest)
        .collect();
    let private = satisfies(&here.into(), &there.into(), &epsilon, &Rational::ZERO)?;
    let sensitivity = one_person()?;
    let mechanism = ExponentialMechanism::new(Epsilon::parse("1")?, sensitivity.clone(), 5)?;
    let mut account = plenty(person())?;
    let mut chosen = [0u64; 5];
    for _ in 0..20_000 {
        chosen[account
            .release_by(&mechanism, calendars(FREE, &sensitivity), "a date")?
            .into_value()] += 1;
    }
    let follows = categorical_test(&chosen, &probabilities, FALSE_ALARM).is_consistent();
    let bars = |values: &[f64], shift: f64| -> Vec<(f64, f64, f64)> {
        values
            .iter()
            .enumerate()
            .map(|(day, value)| (day as f64 + shift, day as f64 + shift + 0.4, *value))
            .collect()
    };
    let shares: Vec<f64> = chosen.iter().map(|times| *times as f64 / 20_000.0).collect();
    let figure = Figure::new("Which of five days is chosen, ε = 1")
        .x_axis("day", Scale::Linear)
        .y_axis("probability", Scale::Linear)
        .bars("exact", &bars(&probabilities, 0.1))
        .bars("20,000 draws", &bars(&shares, 0.5));
    let say = |best: f64| format!("the best day with probability {}", significant(best, 4));
    // e^(10/2)/(e^3 + e^4.5 + e^1.5 + e^5 + e^3.5), by hand.
    let by_hand = 5f64.exp() / [3.0, 4.5, 1.5, 5.0, 3.5].map(f64::exp).iter().sum::<f64>();
    let pass = private && follows && (probabilities[3] - by_hand).abs() < 1e-12;
    Ok(Outcome::new(say(by_hand), say(shares[3]), pass).figure(figure))
}

/// Average shortfall from the best score over many choices.
fn shortfall<M: Mechanism<Vec<i64>, Output = usize>>(mechanism: &M, runs: usize) -> Result<f64, Fault> {
    let mut account = plenty(person())?;
    let sensitivity = one_person()?;
    let mut total = 0i64;
    for _ in 0..runs {
        total += 10
            - FREE[account
                .release_by(mechanism, calendars(FREE, &sensitivity), "a date")?
                .into_value()];
    }
    Ok(total as f64 / runs as f64)
}

fn winners() -> Result<Outcome, Fault> {
    let (epsilon, sensitivity) = (Epsilon::parse("1")?, one_person()?);
    let noisy = NoisyMax::new(epsilon.clone(), sensitivity.clone(), 5)?;
    let flip = PermuteAndFlip::new(epsilon.clone(), sensitivity.clone(), 5)?;
    let exponential = ExponentialMechanism::new(epsilon, sensitivity.clone(), 5)?;
    let mut account = plenty(person())?;
    let draw = |side: Side| {
        let free = if side == Side::First {
            FREE
        } else {
            FREE_WITHOUT_ONE
        };
        account
            .release_by(&noisy, calendars(free, &sensitivity), "audit")
            .expect("budget")
            .into_value() as i64
    };
    let finding = auditor(100_000).audit(draw, &Feature::<i64>::standard())?;
    let private = finding.verdict(1.0, 0.0) == FindingVerdict::Consistent;
    // Drawn: the mechanism's own tests compare the two distributions exactly.
    let runs = 40_000;
    let (flipped, weighed) = (shortfall(&flip, runs)?, shortfall(&exponential, runs)?);
    // Shortfalls lie in [0, 7]: by Hoeffding each mean is within 0.12 of its expectation but for 1e-9.
    let margin = 7.0 * ((2.0 / FALSE_ALARM).ln() / (2.0 * runs as f64)).sqrt();
    let pass = private && flipped < weighed + 2.0 * margin;
    let measured = format!(
        "audit ε ≥ {}; shortfall {} (permute-and-flip), {} (exponential)",
        significant(finding.epsilon_lower, 3),
        significant(flipped, 3),
        significant(weighed, 3)
    );
    Ok(Outcome::new(
        "audit at most 1; permute-and-flip no worse",
        measured,
        pass,
    ))
}
