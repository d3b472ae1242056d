//! δ against ε, drawn.

use super::description::Pair;
use crate::plot::{Figure, Scale};
use audit::exact_audit::{Answer, smallest_delta_at, smallest_epsilon};
use exact::{Interval, Rational, from_f64, ratio};

/// How many points the curve is drawn through.
const POINTS: u32 = 64;
/// Precision of each; the line is thicker than its error.
const BITS: u32 = 128;
/// The axis ends here whatever is asked for: beyond it nothing is protected.
const FARTHEST: f64 = 4000.0;
/// Where a curve that never reaches its end is followed to.
const SMALL_DELTA: u64 = 1_000_000;

/// The figure, with the points to mark as (name, ε, δ).
pub(super) fn draw(pair: &Pair, highlights: &[(&'static str, f64, f64)]) -> Figure {
    let pure = smallest_epsilon(&pair.first, &pair.second, &Rational::ZERO);
    // A δ that falls towards zero and never gets there is worth following down its decades.
    let endless =
        matches!(&pure, Ok(Answer::NoFinite { smallest_delta }) if smallest_delta.upper().is_zero());
    let marked = highlights.iter().map(|highlight| highlight.1).fold(0.0, f64::max);
    let reach = end_of_curve(pair, pure.ok()).max(marked) * 1.15;
    let end = if reach > 0.0 { reach.min(FARTHEST) } else { 1.0 };
    let curve: Vec<(f64, f64)> = (0..=POINTS)
        .filter_map(|step| {
            let epsilon = end * f64::from(step) / f64::from(POINTS);
            let delta = smallest_delta_at(&pair.first, &pair.second, &from_f64(epsilon)?, BITS).ok()?;
            Some((epsilon, delta.to_f64_nearest()))
        })
        .collect();
    let scale = if endless { Scale::Log10 } else { Scale::Linear };
    let figure = Figure::new(pair.words.clone())
        .x_axis("ε", Scale::Linear)
        .y_axis("smallest δ", scale)
        .line("smallest δ at each ε", &curve);
    highlights.iter().fold(figure, |figure, (name, epsilon, delta)| {
        figure.points(*name, &[(*epsilon, *delta)])
    })
}

/// An ε by which the curve has come down, near enough.
fn end_of_curve(pair: &Pair, pure: Option<Answer>) -> f64 {
    let near = |gap: &Interval| {
        let delta = (gap.upper() + ratio(1, SMALL_DELTA)).min(Rational::ONE);
        match smallest_epsilon(&pair.first, &pair.second, &delta) {
            Ok(Answer::Finite(epsilon)) => epsilon.to_f64_nearest(),
            _ => 10.0,
        }
    };
    match pure {
        Some(Answer::Finite(epsilon)) => epsilon.to_f64_nearest(),
        Some(Answer::NoFinite { smallest_delta }) => near(&smallest_delta),
        None => near(&Interval::from_integer(0, BITS)),
    }
}
