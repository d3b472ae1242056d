//! L1, L2, L7: how wide Laplace noise is, that it is private, and how large the largest of many errors is.

use super::local::{FALSE_ALARM, auditor, count, person, plenty};
use super::{Claim, Fault, Outcome};
use accounting::Epsilon;
use audit::binomial;
use audit::black_box::{Feature, FindingVerdict, Side};
use audit::exact_audit::{Lattice, satisfies};
use exact::{Rational, ratio};
use mechanism::{Aggregate, Laplace, Sensitive, Sensitivity};
use noise::{DiscreteLaplace, Grid, OsEntropy};
use report::{Figure, Scale, significant};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "L1",
        claim: "Laplace(σ): RMS error σ√2, mean absolute error σ",
        run: widths,
    },
    Claim {
        id: "L2",
        claim: "the Laplace mechanism is ε-DP, scalar and vector",
        run: private,
    },
    Claim {
        id: "L7",
        claim: "P(largest of K errors ≥ ln(K/δ)·B/ε) ≤ δ",
        run: largest_error,
    },
];

fn widths() -> Result<Outcome, Fault> {
    // On a grid of 1/1000 the discrete distribution is the continuous one up to 1e-7.
    let (scale, draws) = (1000.0, 2_000_000);
    let mut noise = vec![0i64; draws];
    DiscreteLaplace::new(&ratio(1000, 1))?.fill(&mut noise, &mut OsEntropy::new()?);
    let mean = |power: i32| {
        noise
            .iter()
            .map(|value| (*value as f64 / scale).abs().powi(power))
            .sum::<f64>()
            / draws as f64
    };
    let (absolute, root) = (mean(1), mean(2).sqrt());
    // Standard errors for 2 million draws: 1/√n for |x|, and √5/2·√2/√n for the root of the mean square; 6.2
    // of them are missed with probability under 1e-9.
    let standard = 1.0 / (draws as f64).sqrt();
    let pass = (absolute - 1.0).abs() < 6.2 * standard && (root - 2f64.sqrt()).abs() < 6.2 * 1.6 * standard;
    let measured = format!("{} σ and {} σ", significant(root, 5), significant(absolute, 5));
    Ok(Outcome::new("1.4142 σ and 1 σ", measured, pass)
        .note("Fu 2022 (\"Gaussian mechanism as protection from sensitive input memorization\", lemma 4.4) calls σ√2 the expected error; it is the root of the mean square. The mean absolute error is σ."))
}

fn private() -> Result<Outcome, Fault> {
    let epsilon = Epsilon::parse("1")?;
    // Scalar, exactly: the distribution keeps ε and not a twentieth less.
    let here = Lattice::discrete_laplace(&ratio(1, 1))?;
    let there = here.clone().shifted(&ratio(1, 1));
    let (here, there) = (here.into(), there.into());
    let keeps = satisfies(&here, &there, &Rational::ONE, &Rational::ZERO)?;
    let tight = !satisfies(&here, &there, &ratio(19, 20), &Rational::ZERO)?;
    // Scalar and vector, as black boxes. One person moves both coordinates by one: Δ₁ = 2.
    let one = Sensitivity::scalar(1)?;
    let scalar = Laplace::new(epsilon.clone(), one.clone(), Grid::new(0))?;
    let mut account = plenty(person())?;
    let draw = |side: Side| {
        account
            .release_by(&scalar, count(i64::from(side == Side::Second), &one), "audit")
            .expect("budget")
            .into_value()
    };
    let first = auditor(200_000).audit(draw, &Feature::<i64>::standard())?;
    let two = Sensitivity::vector(2, 1)?;
    let vector = Laplace::new(epsilon, two.clone(), Grid::new(0))?;
    let mut account = plenty(person())?;
    let draw = |side: Side| {
        let moved = i64::from(side == Side::Second);
        let input = Aggregate::claimed(
            Sensitive::new(vec![moved, moved]),
            two.clone(),
            person(),
            Grid::new(0),
        );
        account
            .release_by(&vector, input, "audit")
            .expect("budget")
            .into_value()
    };
    let features = [
        Feature::ordered("the sum", |answer: &Vec<i64>| answer.iter().sum()),
        Feature::values("both signs", |answer: &Vec<i64>| {
            i64::from(answer[0] > 0) * 2 + i64::from(answer[1] > 0)
        }),
    ];
    let second = auditor(200_000).audit(draw, &features)?;
    let consistent =
        |finding: &audit::black_box::Finding| finding.verdict(1.0, 0.0) == FindingVerdict::Consistent;
    // An audit that finds next to nothing shows next to nothing.
    let pass = keeps
        && tight
        && consistent(&first)
        && consistent(&second)
        && first.epsilon_lower > 0.8
        && second.epsilon_lower > 0.6;
    let measured = format!(
        "exact: ε = 1 holds, 0.95 does not{}; audits: ε ≥ {} (scalar), ≥ {} (vector)",
        if keeps && tight { "" } else { " (NOT SO)" },
        significant(first.epsilon_lower, 3),
        significant(second.epsilon_lower, 3)
    );
    Ok(Outcome::new("ε = 1 exactly; audits at most 1", measured, pass)
        .note(format!("The audits' false-alarm rate is {FALSE_ALARM:e}.")))
}

fn largest_error() -> Result<Outcome, Fault> {
    let (delta, epsilon, runs) = (0.05, 0.5, 4_000u64);
    let mut entropy = OsEntropy::new()?;
    let (mut pass, mut rates, mut worst) = (true, Vec::new(), 0.0f64);
    for coordinates in [1usize, 10, 100, 1000] {
        // B = K: one person moves every coordinate by one, so the scale is K/ε; on a grid of 1/64 of it.
        let scale = Rational::from(coordinates as u64) / ratio(1, 2);
        let noise = DiscreteLaplace::new(&(&scale * ratio(64, 1)))?;
        let bound = (coordinates as f64 / delta).ln() * coordinates as f64 / epsilon;
        let mut answers = vec![0i64; coordinates];
        let beyond = (0..runs)
            .filter(|_| {
                noise.fill(&mut answers, &mut entropy);
                answers
                    .iter()
                    .any(|error| error.unsigned_abs() as f64 / 64.0 >= bound)
            })
            .count() as u64;
        // As many as this would be a surprise of less than 1e-9 if the claim held.
        pass &= binomial::at_least(beyond, runs, delta) > FALSE_ALARM;
        // Nor is the bound loose: with independent errors it is reached with probability 1 − (1 − δ/K)^K,
        // about 0.049.
        pass &= binomial::at_most(beyond, runs, 0.04) > FALSE_ALARM;
        let rate = beyond as f64 / runs as f64;
        worst = worst.max(rate);
        rates.push((coordinates as f64, rate));
    }
    let figure = Figure::new("How often the largest of K errors reaches ln(K/δ)·B/ε")
        .x_axis("K", Scale::Log10)
        .y_axis("share of runs", Scale::Linear)
        .line("measured", &rates)
        .points("measured", &rates)
        .horizontal("δ = 0.05", delta)
        .horizontal("", 0.0);
    let shares: Vec<String> = rates
        .iter()
        .map(|(_, rate)| significant(rate * 100.0, 3))
        .collect();
    // What the draws prove about the true shares, at confidence 1 − 1e-9.
    let proved = binomial::lower_limit((worst * runs as f64) as u64, runs, FALSE_ALARM);
    let measured = format!(
        "{} % of {runs} runs: the largest true share is at least {} %",
        shares.join(", "),
        significant(proved * 100.0, 2)
    );
    Ok(Outcome::new("at most 5 % for K = 1, 10, 100, 1000", measured, pass)
        .note("True shares are 1 − (1 − δ/K)^K, between 4.9 and 5 %, so a measured share may be above 5 % by chance. The row fails when one is so far above, or \
               so far below 4 %, that chance explains it with probability under 1e-9.")
        .figure(figure))
}
