//! Releases in words, for a person to read.

use crate::{Event, NoiseSupport, Runs, Sampler};
use exact::{Interval, Rational, format_decimal};

/// One release, in words.
pub(super) fn event(event: &Event) -> String {
    match event {
        Event::Laplace { ratio, on } => format!("{}Laplace noise at ε = {ratio}", grid(*on)),
        Event::Gaussian {
            multiplier_squared,
            on,
        } => format!(
            "{}Gaussian noise at σ/Δ₂ = {}",
            grid(*on),
            root(multiplier_squared.as_rational())
        ),
        Event::SampledGaussian {
            sampler,
            multiplier_squared,
        } => format!(
            "Gaussian noise at σ/Δ₂ = {} on {}",
            root(multiplier_squared.as_rational()),
            sampled(sampler)
        ),
        Event::RandomizedResponse { answers, epsilon } => {
            format!("randomized response among {answers} answers at ε = {epsilon}")
        }
        Event::Exponential { epsilon } => format!("exponential mechanism at ε = {epsilon}"),
        Event::Pure { epsilon } => format!("any mechanism with ε = {epsilon}"),
        Event::Approximate { epsilon, delta } => format!("any mechanism with ε = {epsilon}, δ = {delta}"),
        Event::Concentrated { rho } => format!("any mechanism with ρ = {rho}"),
        Event::Composed(events) => events.iter().map(self::event).collect::<Vec<_>>().join(" and "),
        Event::Selected { event, runs } => {
            let runs = match runs {
                Runs::Poisson { mean } => format!("Poisson runs, {mean} on average,"),
                Runs::Geometric { stop } => format!("geometric runs, each the last with probability {stop},"),
                Runs::NegativeBinomial { shape, stop } => {
                    format!("negative binomial runs (η = {shape}, γ = {stop})")
                }
            };
            let parts: Vec<String> = event
                .leaves()
                .into_iter()
                .map(|(leaf, times)| format!("{times} × {}", self::event(leaf)))
                .collect();
            format!("the best of {runs} of [{}]", parts.join("; "))
        }
        _ => "another release".to_owned(),
    }
}

fn grid(on: NoiseSupport) -> &'static str {
    match on {
        NoiseSupport::Rounded => "",
        NoiseSupport::Discrete | NoiseSupport::DiscreteScalar { .. } => "discrete ",
    }
}

fn sampled(sampler: &Sampler) -> String {
    match sampler {
        Sampler::Poisson { rate } => format!("a Poisson sample at rate {rate}"),
        Sampler::PoissonChangeOne { rate } => {
            format!("a Poisson sample at rate {rate}, of which a unit may change")
        }
        Sampler::FixedSize { batch, of } => format!("{batch} drawn from {of}"),
        Sampler::Shuffled => "each batch of a shuffled epoch".to_owned(),
    }
}

/// A square root to read: exact where it is a short decimal.
fn root(square: &Rational) -> String {
    let root = Interval::sqrt_of(square, 128);
    let near = exact::decimal_at_most(&root.upper(), 12);
    let exactly = &near * &near == *square;
    format!("{}{}", if exactly { "" } else { "about " }, format_decimal(&near))
}
