//! R1 to R4: randomized response, its ε, its estimator, the simulation of a survey, and how its error falls
//! beside Laplace noise.

use super::local::{FALSE_ALARM, plenty, respondent};
use super::{Claim, Fault, Outcome};
use accounting::{Accountant, Curve, Delta, Event};
use audit::exact_audit::{Answer, Finite, smallest_epsilon};
use audit::goodness::mean_test;
use exact::{Interval, Rational, ratio};
use mechanism::{Aggregate, RandomizedResponse, Sensitive};
use noise::{DiscreteLaplace, OsEntropy};
use report::{Figure, Scale, significant};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "R1",
        claim: "randomized response γ: ε = ln((1+2γ)/(1−2γ)); γ = 1/4 gives ln 3",
        run: closed_form,
    },
    Claim {
        id: "R2",
        claim: "the estimator 2·p_yes − 1/2 is unbiased, with variance at most 1/(16γ²n)",
        run: estimator,
    },
    Claim {
        id: "R3",
        claim: "10,000 surveys of 100 people, true fraction 0.2",
        run: simulation,
    },
    Claim {
        id: "R4",
        claim: "error O(1/(γ√n)) against O(1/(εn)) for Laplace",
        run: slopes,
    },
];

/// The ε of `times` answers at γ = 1/4 and δ = 1e-6: the certified interval, and the closed form that is
/// optimal for it.
fn composed(times: u64) -> Result<[f64; 3], Fault> {
    let event = Event::Repeated {
        event: Box::new(Event::RandomizedResponse {
            answers: 2,
            epsilon: RandomizedResponse::binary(&ratio(1, 4))?.epsilon().clone(),
        }),
        times,
    };
    let (unit, delta) = (respondent(), Delta::parse("1e-6")?);
    let certified = Curve::of(&event, &unit)?.epsilon(&delta)?;
    let optimal = Accountant::Optimal.epsilon(&event, &unit, &delta)?;
    Ok([
        certified.lower.to_f64_down(),
        optimal.to_f64_up(),
        certified.upper.to_f64_up(),
    ])
}

fn closed_form() -> Result<Outcome, Fault> {
    let mut pass = true;
    let mut quarter = String::new();
    for gamma in [
        ratio(1, 20),
        ratio(1, 8),
        ratio(1, 4),
        ratio(2, 5),
        ratio(49, 100),
    ] {
        let (truth, lie) = (ratio(1, 2) + &gamma, ratio(1, 2) - &gamma);
        let yes = Finite::from_rationals(vec![truth.clone(), lie.clone()])?;
        let no = Finite::from_rationals(vec![lie.clone(), truth.clone()])?;
        let Answer::Finite(verified) = smallest_epsilon(&yes.into(), &no.into(), &Rational::ZERO)? else {
            return Ok(Outcome::new("ln 3", "no finite ε", false));
        };
        let closed = Interval::ln_of(
            &((Rational::ONE + &gamma * ratio(2, 1)) / (Rational::ONE - &gamma * ratio(2, 1))),
            128,
        );
        // What the mechanism claims is at least that, and no more than a rounding above it.
        let claimed = RandomizedResponse::binary(&gamma)?
            .epsilon()
            .as_rational()
            .clone();
        pass &= verified.lower() <= closed.upper() && closed.lower() <= verified.upper();
        pass &= claimed >= closed.lower() && claimed < closed.upper() + ratio(1, 1_000_000_000);
        if gamma == ratio(1, 4) {
            quarter = significant(verified.to_f64_nearest(), 8);
            pass &= verified.lower() <= Interval::ln_of(&ratio(3, 1), 128).upper();
        }
    }
    let verdict = if pass { "equal for five γ" } else { "DIFFER" };
    let (mut certified, mut optimal) = (Vec::new(), Vec::new());
    let mut hundred = 0.0;
    for times in [1u64, 2, 5, 10, 20, 50, 100] {
        let [lower, closed, upper] = composed(times)?;
        // The same number twice, and the interval is narrow: within a hundred-thousandth of it.
        pass &= lower <= closed && closed <= upper * (1.0 + 1e-9) && upper - lower <= closed * 1e-5;
        certified.push((times as f64, upper));
        optimal.push((times as f64, closed));
        hundred = upper;
    }
    // The binomial closed form at k = 100, in floating point by hand.
    pass &= (hundred - 94.289_868).abs() < 1e-3;
    let figure = Figure::new("k answers of one person at γ = 1/4, δ = 1e-6")
        .x_axis("k", Scale::Log10)
        .y_axis("ε of all together", Scale::Log10)
        .line("closed form", &optimal)
        .points("certified numerical", &certified);
    let measured = format!(
        "{quarter} at γ = 1/4; verifier and formula {verdict}; 100 answers at δ = 1e-6: certified {}",
        significant(hundred, 7)
    );
    Ok(Outcome::new(
        "1.0986123 at γ = 1/4; verifier and formula equal; 100 answers at δ = 1e-6: closed form 94.28987",
        measured,
        pass,
    )
    .figure(figure))
}

/// The fraction of `yes` that randomized answers of these people give, in each of many surveys.
fn surveys(people: usize, yes: usize, runs: usize) -> Result<Vec<f64>, Fault> {
    let response = RandomizedResponse::binary(&ratio(1, 4))?;
    let mut account = plenty(respondent())?;
    // All surveys at once: each person answers once in each.
    let answers: Vec<u32> = (0..people).map(|person| u32::from(person < yes)).collect();
    let input = Aggregate::answers(Sensitive::new(answers.repeat(runs)), respondent());
    let reports = account.release_by(&response, input, "simulation")?.into_value();
    reports
        .chunks(people)
        .map(|survey| Ok(response.estimate(survey, 0.95)?[1].fraction))
        .collect()
}

fn estimator() -> Result<Outcome, Fault> {
    let (people, yes, runs) = (100usize, 20, 20_000);
    let estimates = surveys(people, yes, runs)?;
    let mean = estimates.iter().sum::<f64>() / runs as f64;
    let spread: Vec<f64> = estimates
        .iter()
        .map(|estimate| (estimate - 0.2).powi(2))
        .collect();
    let variance = spread.iter().sum::<f64>() / runs as f64;
    // Each answer is yes with probability 1/4 or 3/4: exactly 1/(4γ²n)·3/16 = 0.0075; the bound is 1/(16γ²n) =
    // 0.01.
    let unbiased = mean_test(&estimates, -0.5, 1.5, 0.2, FALSE_ALARM).is_consistent();
    let exact = 0.0075;
    let bounded = variance < 0.01 && (variance / exact - 1.0).abs() < 6.2 * (2.0 / runs as f64).sqrt();
    let measured = format!(
        "mean {}, variance {}",
        significant(mean, 4),
        significant(variance, 3)
    );
    Ok(Outcome::new(
        "mean 0.2, variance 0.0075, at most 0.01",
        measured,
        unbiased && bounded,
    ))
}

fn simulation() -> Result<Outcome, Fault> {
    let estimates = surveys(100, 20, 10_000)?;
    let mean = estimates.iter().sum::<f64>() / estimates.len() as f64;
    let negative = estimates.iter().filter(|estimate| **estimate < 0.0).count();
    let unbiased = mean_test(&estimates, -0.5, 1.5, 0.2, FALSE_ALARM).is_consistent();
    // An estimate is negative when fewer than 25 of 100 say yes: about 0.8 % of surveys.
    let pass = unbiased && (10..400).contains(&negative);
    // Estimates are multiples of 1/50: a bar for each, or the figure shows gaps that are not there.
    let mut counts = std::collections::BTreeMap::<i64, f64>::new();
    for estimate in &estimates {
        *counts.entry((estimate * 50.0).round() as i64).or_default() += 1.0;
    }
    let bars: Vec<(f64, f64, f64)> = counts
        .into_iter()
        .map(|(step, count)| (step as f64 / 50.0 - 0.01, step as f64 / 50.0 + 0.01, count))
        .collect();
    let figure = Figure::new("10,000 surveys of 100 people, γ = 1/4, true fraction 0.2")
        .x_axis("estimated fraction", Scale::Linear)
        .y_axis("surveys", Scale::Linear)
        .bars("surveys", &bars)
        .vertical("true fraction", 0.2);
    let measured = format!("mean {}, {negative} negative", significant(mean, 4));
    Ok(Outcome::new("mean 0.2, some negative", measured, pass)
        .note("Negative estimates are no mistake: cutting them to zero would bias the mean.")
        .figure(figure))
}

fn slopes() -> Result<Outcome, Fault> {
    let sizes = [100usize, 1_000, 10_000, 100_000, 1_000_000];
    let mut entropy = OsEntropy::new()?;
    let (mut response, mut laplace) = (Vec::new(), Vec::new());
    for people in sizes {
        // Root mean square errors of the fraction; fewer surveys for large ones, as many people in all.
        let runs = (2_000_000 / people).clamp(20, 400);
        let estimates = surveys(people, people / 5, runs)?;
        let square = estimates
            .iter()
            .map(|estimate| (estimate - 0.2).powi(2))
            .sum::<f64>()
            / runs as f64;
        response.push((people as f64, square.sqrt()));
        // The Laplace mechanism on the fraction: a count with noise of scale 1/ε, over n, at the same ε = ln 3.
        let scale = Rational::ONE / Interval::ln_of(&ratio(3, 1), 64).lower();
        let mut noise = vec![0i64; 4000];
        DiscreteLaplace::new(&scale)?.fill(&mut noise, &mut entropy);
        let square = noise
            .iter()
            .map(|error| (*error as f64 / people as f64).powi(2))
            .sum::<f64>()
            / noise.len() as f64;
        laplace.push((people as f64, square.sqrt()));
    }
    let (first, second) = (slope(&response), slope(&laplace));
    let figure = Figure::new("Root mean square error of a fraction at ε = ln 3")
        .x_axis("people", Scale::Log10)
        .y_axis("error", Scale::Log10)
        .line("randomized response", &response)
        .points("randomized response", &response)
        .line("Laplace", &laplace)
        .points("Laplace", &laplace);
    // With 20 surveys a root mean square is within a factor of 5 but for less than one in 1e9; at an end of
    // four decades that is a slope off by 0.14.
    let pass = (first + 0.5).abs() < 0.15 && (second + 1.0).abs() < 0.1;
    let measured = format!("{} and {}", significant(first, 3), significant(second, 3));
    Ok(Outcome::new("slopes −1/2 and −1", measured, pass).figure(figure))
}

/// The slope of a straight line through points on logarithmic axes, by least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let logarithms: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.log10(), y.log10())).collect();
    let count = logarithms.len() as f64;
    let (x, y) = (
        logarithms.iter().map(|point| point.0).sum::<f64>() / count,
        logarithms.iter().map(|point| point.1).sum::<f64>() / count,
    );
    let along: f64 = logarithms.iter().map(|point| (point.0 - x).powi(2)).sum();
    logarithms
        .iter()
        .map(|point| (point.0 - x) * (point.1 - y))
        .sum::<f64>()
        / along
}
