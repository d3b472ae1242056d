//! Repeat and select: run something a random number of times, and publish the best outcome alone, as tuning of hyperparameters does.

use crate::curve::Ball;
use crate::{Curve, Epsilon, Error, Event, PrivacyUnit, Ratio, renyi_divergence};
use exact::{Rational, from_f64};
use serde::{Deserialize, Serialize};

/// How often a selection runs its mechanism: a number drawn anew, independently of the data, and not published. A fixed number of runs has no
/// such guarantee.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Runs {
    /// Poisson with this mean. With 0 runs, something that does not depend on the data is published.
    Poisson {
        /// The mean, above 0.
        mean: Ratio,
    },
    /// Geometric on 1, 2, …: after each run it is the last with this probability.
    Geometric {
        /// The probability, in (0, 1).
        stop: Ratio,
    },
    /// Negative binomial, without 0 (Papernot and Steinke 2022): P(k) ∝ (1−γ)^k·Π_{l<k} (l+η)/(l+1). With η = 1 it is geometric, with η = 0 the
    /// logarithmic distribution; the larger η, the better the mean is kept.
    NegativeBinomial {
        /// η, at least 0.
        shape: Ratio,
        /// γ, in (0, 1).
        stop: Ratio,
    },
}

impl Runs {
    /// η and γ; `None` for the Poisson distribution.
    fn negative_binomial(&self) -> Option<(Rational, &Rational)> {
        match self {
            Runs::Poisson { .. } => None,
            Runs::Geometric { stop } => Some((Rational::ONE, stop.as_rational())),
            Runs::NegativeBinomial { shape, stop } => Some((shape.as_rational().clone(), stop.as_rational())),
        }
    }

    /// Refuses parameters that are no distribution.
    ///
    /// # Errors
    /// When the mean is 0, or the probability to stop is not between 0 and 1.
    pub fn check(&self) -> Result<(), Error> {
        let good = match self {
            Runs::Poisson { mean } => !mean.as_rational().is_zero(),
            Runs::Geometric { stop } | Runs::NegativeBinomial { stop, .. } => {
                !stop.as_rational().is_zero() && *stop.as_rational() < Rational::ONE
            }
        };
        if good { Ok(()) } else { Err(Error::NoRuns) }
    }

    /// The mean number of runs.
    ///
    /// Of the negative binomial distribution it is η(1−γ)/(γ(1−γ^η)), and (1/γ − 1)/ln(1/γ) for η = 0.
    pub fn mean(&self) -> f64 {
        self.log_mean().exp().middle
    }

    fn log_mean(&self) -> Ball {
        let Some((shape, stop)) = self.negative_binomial() else {
            let Runs::Poisson { mean } = self else {
                return Ball::ZERO;
            };
            return Ball::from_rational(mean.as_rational()).ln();
        };
        let log_stop = Ball::from_rational(stop).ln();
        let odds = Ball::from_rational(&(Rational::ONE / stop - Rational::ONE));
        let over = if shape.is_zero() {
            -log_stop
        } else {
            let shape = Ball::from_rational(&shape);
            (-(shape * log_stop).exp_m1()).over(shape)
        };
        odds.over(over).ln()
    }
}

/// Orders λ̂ that are tried for what the number of runs costs.
const HELPERS: [f64; 14] = [
    1.25, 1.6, 2.2, 3.0, 4.5, 7.0, 11.0, 18.0, 30.0, 50.0, 90.0, 180.0, 500.0, 2000.0,
];

/// At least the Rényi divergence of order λ of the best of `runs` outcomes of `event`.
///
/// The best is the largest of a total order in which outcomes hold their own score. Runs are independent of each other.
///
/// # Privacy
/// Let f be the generating function of the number of runs, K, and let Q and Q' be one run on neighbouring databases. With x_t = Q(below y) + t·Q(y),
/// the best is y with probability f(Q(up to y)) − f(Q(below y)) = Q(y)·∫₀¹ f'(x_t) dt. Since (a, b) ↦ a^λ·b^(1−λ) is convex and homogeneous,
///
/// ```text
/// Σ_y best(y)^λ·best'(y)^(1−λ) ≤ Σ_y Q(y)^λ·Q'(y)^(1−λ)·∫ f'(x_t)^λ·f'(x'_t)^(1−λ) dt ≤ e^((λ−1)·D_λ)·sup f'(x)^λ·f'(x')^(1−λ)
/// ```
///
/// with x and x' the probabilities of one event under Q and Q', randomized by t.
///
/// *Negative binomial*: f'(x) = E[K]·γ^(η+1)·(1 − (1−γ)x)^(−η−1). Let p = 1 − (1−γ)x, again the probability of an event, at least γ. By a divergence R of
/// order λ̂, p'^λ̂·p^(1−λ̂) ≤ e^((λ̂−1)R), so p^(−λ)·p'^(λ−1) ≤ p^(−1−(λ−1)/λ̂)·e^((λ−1)(1−1/λ̂)R), and p ≥ γ. Raised to the power η+1 and
/// multiplied by E[K]·γ^(η+1), that is at most E[K]·γ^(−(η+1)(λ−1)/λ̂)·e^((η+1)(λ−1)(1−1/λ̂)R): the divergence is at most
/// D_λ + (1+η)((1−1/λ̂)R + ln(1/γ)/λ̂) + ln E[K]/(λ−1), for every λ̂ > 1 (Papernot and Steinke 2022, Theorem 2).
///
/// *Poisson* with mean m: f'(x) = m·e^(−m(1−x)), and f'(x)^λ·f'(x')^(1−λ) = m·e^(m((λ−1)(1−x') − λ(1−x))). If one run is (ε̂, δ̂)-DP with e^ε̂ ≤ λ/(λ−1),
/// then 1−x' ≤ e^ε̂·(1−x) + δ̂, and the exponent is at most m(λ−1)δ̂. No runs, which have probability e^(−m) on both sides, add e^(−m): the divergence
/// is at most ln(e^(−m) + m·e^((λ−1)(D_λ + mδ̂)))/(λ−1) (Theorem 6 there, with the term of no runs).
/// Audited by: `the_best_of_randomized_responses_is_within_the_bound`, `the_best_of_many_has_the_values_computed_elsewhere`.
///
/// # Errors
/// As [`renyi_divergence`], or when the number of runs has no distribution.
pub(crate) fn divergence_of_best(
    event: &Event,
    runs: &Runs,
    unit: &PrivacyUnit,
    order: f64,
) -> Result<f64, Error> {
    runs.check()?;
    let one = Ball::exact(renyi_divergence(event, unit, order)?);
    let beta = Ball::exact(order) - Ball::ONE;
    let log_mean = runs.log_mean();
    let bound = if let Some((shape, stop)) = runs.negative_binomial() {
        let log_stop = -Ball::from_rational(stop).ln();
        let mut least: Option<Ball> = None;
        for helper in HELPERS {
            let Ok(divergence) = renyi_divergence(event, unit, helper) else {
                continue;
            };
            let share = Ball::ONE.over(Ball::exact(helper));
            let cost = (Ball::ONE - share) * Ball::exact(divergence) + share * log_stop;
            if least.is_none_or(|least| cost.upper() < least.upper()) {
                least = Some(cost);
            }
        }
        let cost = least.ok_or(Error::NoDivergence)?;
        one + Ball::from_rational(&(shape + Rational::ONE)) * cost + log_mean.over(beta)
    } else {
        // Rounded down: a smaller ε̂ is allowed, too.
        let rational = |value: f64| from_f64(value).filter(|value| *value > Rational::ZERO);
        let epsilon = rational(Ball::ONE.over(beta).ln_1p().lower()).ok_or(Error::Undecided {
            what: "a Rényi divergence",
        })?;
        let delta = Curve::of(event, unit)?
            .delta(&Epsilon::rounded_down(&epsilon)?)?
            .upper;
        let mean = log_mean.exp();
        let some = beta * (one + mean * Ball::exact(delta.to_f64_up())) + log_mean;
        // ln(e^(−m) + e^some).
        let none = -mean;
        let sum = if some.middle >= none.middle {
            some + (none - some).exp().ln_1p()
        } else {
            none + (some - none).exp().ln_1p()
        };
        sum.over(beta)
    };
    let upper = bound.upper();
    if upper.is_finite() && bound.is_finite() {
        Ok(upper.max(0.0))
    } else {
        Err(Error::Undecided {
            what: "a Rényi divergence",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Delta, Neighbors, Sampler, epsilon_of_renyi};

    fn unit() -> PrivacyUnit {
        PrivacyUnit::new("person", Neighbors::AddRemove)
    }

    fn ratio(text: &str) -> Ratio {
        Ratio::parse(text).unwrap()
    }

    fn best(event: Event, runs: Runs) -> Event {
        Event::Selected {
            event: Box::new(event),
            runs,
        }
    }

    /// P(k) for k = 0, 1, …, from the definitions.
    fn probabilities(runs: &Runs) -> Vec<f64> {
        let number = |value: &Ratio| exact::to_f64_nearest(value.as_rational());
        let weights: Vec<f64> = match runs {
            Runs::Poisson { mean } => {
                let mean = number(mean);
                (0..400)
                    .scan((-mean).exp(), |weight, k| {
                        let here = *weight;
                        *weight *= mean / f64::from(k + 1);
                        Some(here)
                    })
                    .collect()
            }
            Runs::Geometric { stop } => (0..4000)
                .map(|k| {
                    if k == 0 {
                        0.0
                    } else {
                        (1.0 - number(stop)).powi(k - 1)
                    }
                })
                .collect(),
            Runs::NegativeBinomial { shape, stop } => {
                let (eta, gamma) = (number(shape), number(stop));
                let mut weight = 1.0;
                let mut all = vec![0.0];
                for k in 1..4000 {
                    // For η = 0 the factor l = 0 is common to all.
                    let l = f64::from(k - 1);
                    let factor = if k == 1 { 1.0 } else { (l + eta) / (l + 1.0) };
                    weight *= (1.0 - gamma) * factor;
                    all.push(weight);
                }
                all
            }
        };
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| weight / sum).collect()
    }

    fn kinds() -> Vec<Runs> {
        vec![
            Runs::Poisson { mean: ratio("0.5") },
            Runs::Poisson { mean: ratio("10") },
            Runs::Geometric { stop: ratio("0.1") },
            Runs::NegativeBinomial {
                shape: ratio("0"),
                stop: ratio("0.05"),
            },
            Runs::NegativeBinomial {
                shape: ratio("2.5"),
                stop: ratio("0.2"),
            },
        ]
    }

    #[test]
    fn means_are_those_of_the_distributions() {
        for runs in kinds() {
            let mean: f64 = probabilities(&runs)
                .iter()
                .enumerate()
                .map(|(k, p)| k as f64 * p)
                .sum();
            assert!(
                (mean / runs.mean() - 1.0).abs() < 1e-9,
                "{runs:?}: {mean} {}",
                runs.mean()
            );
        }
        assert!((Runs::Geometric { stop: ratio("0.1") }.mean() - 10.0).abs() < 1e-12);
    }

    /// One run answers 0 or 1 by randomized response; the best is 1 if any run says so. Exact in both directions, so the bound may not be below.
    #[test]
    fn the_best_of_randomized_responses_is_within_the_bound() {
        let epsilon = 0.7f64;
        let yes = epsilon.exp() / (1.0 + epsilon.exp());
        for runs in kinds() {
            let chances = probabilities(&runs);
            // Outcomes of the selection: nothing ran, the best is 0, the best is 1.
            let outcome = |yes: f64| {
                let none = chances[0];
                let zero: f64 = chances
                    .iter()
                    .enumerate()
                    .skip(1)
                    .map(|(k, p)| p * (1.0 - yes).powi(k as i32))
                    .sum();
                [none, zero, 1.0 - none - zero]
            };
            let event = best(
                Event::RandomizedResponse {
                    answers: 2,
                    epsilon: Epsilon::parse("0.7").unwrap(),
                },
                runs.clone(),
            );
            for order in [1.1, 1.5, 2.0, 4.0, 16.0] {
                let divergence = |a: [f64; 3], b: [f64; 3]| {
                    let sum: f64 = a
                        .iter()
                        .zip(b)
                        .filter(|(a, _)| **a > 0.0)
                        .map(|(a, b)| a.powf(order) * b.powf(1.0 - order))
                        .sum();
                    sum.ln() / (order - 1.0)
                };
                let (here, there) = (outcome(yes), outcome(1.0 - yes));
                let truth = divergence(here, there).max(divergence(there, here));
                let bound = renyi_divergence(&event, &unit(), order).unwrap();
                assert!(bound >= truth, "{runs:?} at {order}: {bound} below {truth}");
            }
        }
        // The planted error: the cost of one run, as if the others were not looked at.
        let runs = Runs::Geometric { stop: ratio("0.01") };
        let chances = probabilities(&runs);
        let zero = |yes: f64| -> f64 {
            chances
                .iter()
                .enumerate()
                .map(|(k, p)| p * (1.0 - yes).powi(k as i32))
                .sum()
        };
        let loss = (zero(1.0 - yes) / zero(yes)).ln();
        assert!(loss > epsilon, "{loss}");
    }

    /// The formulas of the paper's theorems, in floats.
    #[test]
    fn the_best_of_many_has_the_values_computed_elsewhere() {
        // Gaussian noise with ρ = 1/50: D_λ = λ/50.
        let gaussian = Event::Gaussian {
            multiplier_squared: ratio("25"),
            on: crate::NoiseSupport::Rounded,
        };
        let event = best(gaussian.clone(), Runs::Geometric { stop: ratio("0.1") });
        for order in [2.0, 8.0, 30.0] {
            let helped = HELPERS
                .iter()
                .map(|helper| 2.0 * ((1.0 - 1.0 / helper) * helper / 50.0 + 10f64.ln() / helper))
                .fold(f64::INFINITY, f64::min);
            let truth = order / 50.0 + helped + 10f64.ln() / (order - 1.0);
            let found = renyi_divergence(&event, &unit(), order).unwrap();
            assert!((found / truth - 1.0).abs() < 1e-9, "{order}: {found} {truth}");
            // The best λ̂ is √(50·ln 10) = 10.7, and one of those tried is near it.
            let least = 2.0 * (2.0 * (10f64.ln() / 50.0).sqrt() - 1.0 / 50.0);
            assert!(helped < least + 0.01);
        }
        // Poisson: λ = 5 allows ε̂ = ln 1.25.
        let poisson = best(gaussian.clone(), Runs::Poisson { mean: ratio("20") });
        let allowed = Epsilon::rounded_down(&from_f64(1.25f64.ln()).unwrap()).unwrap();
        let delta = Curve::of(&gaussian, &unit())
            .unwrap()
            .delta(&allowed)
            .unwrap()
            .upper
            .to_f64_up();
        let theorem = 5.0 / 50.0 + 20.0 * delta + 20f64.ln() / 4.0;
        let found = renyi_divergence(&poisson, &unit(), 5.0).unwrap();
        assert!(
            found >= theorem * (1.0 - 1e-9) && found < theorem * (1.0 + 1e-6),
            "{found} {theorem}"
        );
    }

    #[test]
    fn tuning_a_training_run_has_an_epsilon() {
        let step = Event::SampledGaussian {
            sampler: Sampler::Poisson { rate: ratio("0.01") },
            multiplier_squared: ratio("1"),
        };
        let training = Event::Repeated {
            event: Box::new(step),
            times: 1000,
        };
        let delta = Delta::parse("1e-6").unwrap();
        let epsilon = |event: &Event| epsilon_of_renyi(event, &unit(), &delta).unwrap().0.to_f64_up();
        let once = epsilon(&training);
        let tuned = epsilon(&best(training.clone(), Runs::Geometric { stop: ratio("0.1") }));
        assert!(tuned > 1.5 * once && tuned < 3.5 * once, "{once} {tuned}");
        let poisson = epsilon(&best(training, Runs::Poisson { mean: ratio("10") }));
        assert!(poisson > once && poisson < tuned, "{poisson} {tuned}");
    }

    #[test]
    fn what_is_no_number_of_runs_is_refused() {
        let pure = Event::Pure {
            epsilon: Epsilon::parse("0.1").unwrap(),
        };
        for runs in [
            Runs::Poisson { mean: ratio("0") },
            Runs::Geometric { stop: ratio("0") },
            Runs::Geometric { stop: ratio("1") },
            Runs::NegativeBinomial {
                shape: ratio("1"),
                stop: ratio("1.5"),
            },
        ] {
            let refused = renyi_divergence(&best(pure.clone(), runs), &unit(), 2.0).unwrap_err();
            assert!(refused.to_string().contains("hint:"));
        }
        let event = best(pure, Runs::Geometric { stop: ratio("0.5") });
        assert!(Curve::of(&event, &unit()).is_err());
        assert!(event.concentrated().is_err());
        let written = serde_json::to_string(&event).unwrap();
        assert_eq!(
            written,
            r#"{"selected":{"event":{"pure":{"epsilon":"0.1"}},"runs":{"geometric":{"stop":"0.5"}}}}"#
        );
        assert_eq!(serde_json::from_str::<Event>(&written).unwrap(), event);
    }
}
