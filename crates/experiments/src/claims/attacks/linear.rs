//! A1: noise below √n reveals nearly everybody; above it, and under a promise, hardly anybody.

use crate::claims::{Fault, Outcome};
use accounting::{Delta, Epsilon};
use attack::linear::{
    Fit, Method, Model, Noise, Queries, estimate, expected_of_least_squares, interrogate, right, rounded,
    secrets,
};
use noise::Seeded;
use report::{Figure, Scale, significant};

const PEOPLE: usize = 128;
const QUERIES: usize = 4 * PEOPLE;
const RUNS: u64 = 4;

/// The part of the bits that comes out right. Seeds are fixed: chance has been.
fn recovered(noise: Noise, method: Method) -> Result<f64, Fault> {
    let mut all_right = 0;
    for run in 0..RUNS {
        let mut seeded = Seeded::new(run);
        let bits = secrets(PEOPLE, &mut seeded);
        let queries = Queries::random(PEOPLE, QUERIES, &mut seeded)?;
        let Ok(answers) = interrogate(&mut Model::new(&bits, noise, seeded), &queries, || ());
        all_right += right(&rounded(&estimate(&queries, &answers, method)?), &bits);
    }
    Ok(all_right as f64 / (PEOPLE as u64 * RUNS) as f64)
}

pub(super) fn rebuilt() -> Result<Outcome, Fault> {
    let root = (PEOPLE as f64).sqrt();
    let (mut squares, mut programs, mut theory, mut agrees) = (Vec::new(), Vec::new(), Vec::new(), true);
    for alpha in [0.1, 0.2, 0.5, 1.0, 2.0, 5.0] {
        let noise = Noise::uniform(alpha, PEOPLE);
        let by_squares = recovered(noise, Method::LeastSquares)?;
        let by_program = recovered(noise, Method::LinearProgram(Fit::Within(alpha * root)))?;
        let expected = expected_of_least_squares(PEOPLE, QUERIES, noise.deviation());
        // 512 bits: four standard errors at one half, and what the formula leaves out for so few people.
        agrees &= (by_squares - expected).abs() < 0.09;
        squares.push((alpha, by_squares));
        programs.push((alpha, by_program));
        theory.push((alpha, expected));
    }
    // Private noise, and the most that it allows.
    let (epsilon, delta) = (Epsilon::parse("1")?, Delta::parse("1e-6")?);
    let private = recovered(
        Noise::gaussian_for(&epsilon, &delta, QUERIES as u64)?,
        Method::LeastSquares,
    )?;
    let most = attack::bound::right_guesses(1.0, 1e-6);
    let first = |points: &[(f64, f64)]| points[0].1;
    let last = |points: &[(f64, f64)]| points[points.len() - 1].1;
    let pass = first(&squares) > 0.99
        && first(&programs) > 0.99
        && last(&squares) < 0.7
        && last(&programs) < 0.8
        && agrees
        && private < most;
    let figure = Figure::new(format!("{PEOPLE} bits from {QUERIES} noisy sums"))
        .x_axis("α: noise up to ±α√n", Scale::Log10)
        .y_axis("part of the bits recovered", Scale::Linear)
        .y_at_most(1.0)
        .line("least squares", &squares)
        .points("least squares", &squares)
        .line("linear program", &programs)
        .points("linear program", &programs)
        .line("least squares in theory", &theory)
        .horizontal("at most, ε = 1 in all", most)
        .horizontal("a coin", 0.5);
    let say = |points: &[(f64, f64)]| {
        format!(
            "{} and {}",
            significant(first(points), 3),
            significant(last(points), 3)
        )
    };
    let measured = format!(
        "α = 0.1 and 5: {} by least squares, {} by linear program; as in theory{}; under ε = 1: {}",
        say(&squares),
        say(&programs),
        if agrees { "" } else { " (NOT SO)" },
        significant(private, 3)
    );
    Ok(Outcome::new(
        format!(
            "all at α = 0.1, few beyond a half at 5, between them Φ(√(m−n)/4σ); under ε = 1 in all at most {}",
            significant(most, 3)
        ),
        measured,
        pass,
    )
    .note(format!(
        "{PEOPLE} people, {QUERIES} random sets, {RUNS} data sets from fixed seeds. On larger ones, and on Deniable itself: deniable attack reconstruct linear --help."
    ))
    .figure(figure))
}
