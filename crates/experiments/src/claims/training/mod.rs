//! P1 to P4: private training, what it costs, and what a model remembers.

mod canary;
mod pin;

use super::{Claim, Fault, Outcome};
use accounting::{Curve, Delta, Epsilon, Event, PrivacyUnit, Ratio, Sampler, smallest_training_multiplier};
use exact::{Rational, ratio};
use report::{Figure, Scale, significant};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "P1",
        claim: "an LSTM on text with \"my pin number is 3456\": the PIN ranks first of 10,000",
        run: pin::memorized,
    },
    Claim {
        id: "P2",
        claim: "DP-Adam with clip 1.0 and noise 0.3: the PIN is far down; what that costs, and a recipe with ε ≤ 8",
        run: || pin::hidden(recipe()?),
    },
    Claim {
        id: "P3",
        claim: "how accurate the two models are",
        run: pin::useful,
    },
    Claim {
        id: "P4",
        claim: "DP-SGD: sample, clip each example, Gaussian noise, accountant",
        run: canary::loop_keeps_its_promise,
    },
];

const STEPS: u64 = 1000;

/// Poisson samples of 100 expected examples among 10,000.
fn sampler() -> Result<Sampler, Fault> {
    Ok(Sampler::Poisson {
        rate: Ratio::parse("100/10000")?,
    })
}

fn steps(sigma: &Rational, steps: u64) -> Result<Event, Fault> {
    Ok(Event::Repeated {
        event: Box::new(Event::SampledGaussian {
            sampler: sampler()?,
            multiplier_squared: Ratio::at_most(&(sigma * sigma)),
        }),
        times: steps,
    })
}

fn recipe() -> Result<Outcome, Fault> {
    let sampler = sampler()?;
    let unit = PrivacyUnit::new("example", sampler.neighbors());
    let delta = Delta::parse("1e-5")?;
    let certified = |sigma: &Rational, count: u64| -> Result<_, Fault> {
        Ok(Curve::of(&steps(sigma, count)?, &unit)?.epsilon(&delta)?)
    };
    let stated = certified(&ratio(3, 10), STEPS)?;
    let (lower, upper) = (stated.lower.to_f64_down(), stated.upper.to_f64_up());
    // 69.8157107…, computed beforehand by other means.
    let right = lower <= 69.815_711 && upper >= 69.815_710 && upper - lower < 1e-3;

    let target = Epsilon::parse("8")?;
    let sigma = smallest_training_multiplier(&sampler, STEPS, &target, &delta)?;
    let calibrated = certified(sigma.as_rational(), STEPS)?.upper;
    let with_less = certified(&(sigma.as_rational() * ratio(999, 1000)), STEPS)?.lower;
    let tight = calibrated <= target && with_less > target;

    let mut curves = [const { Vec::new() }; 2];
    for count in [1u64, 3, 10, 30, 100, 300, STEPS] {
        for (curve, sigma) in curves.iter_mut().zip([&ratio(3, 10), sigma.as_rational()]) {
            curve.push((count as f64, certified(sigma, count)?.upper.to_f64_up()));
        }
    }
    let [stated_curve, calibrated_curve] = curves;
    let figure = Figure::new("Private training with Poisson batches of 100 of 10,000, δ = 1e-5")
        .x_axis("steps", Scale::Log10)
        .y_axis("ε", Scale::Log10)
        .line("noise multiplier 0.3", &stated_curve)
        .line("calibrated to ε = 8", &calibrated_curve);
    let measured = format!(
        "ε = {}; ε ≤ 8 from σ = {} on (there {}; with 0.1 % less noise {})",
        significant(upper, 9),
        significant(exact::to_f64_up(sigma.as_rational()), 5),
        significant(calibrated.to_f64_up(), 6),
        significant(with_less.to_f64_down(), 6),
    );
    Ok(Outcome::new(
        "ε = 69.8157107 at δ = 1e-5, which protects little; the smallest σ for ε ≤ 8 keeps it, 0.1 % less does not",
        measured,
        right && tight,
    )
    .figure(figure))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is trained follows from seeds; the canary's false alarms have a rate of 1e-9.
    #[test]
    fn every_claim_about_training_holds() {
        for claim in CLAIMS {
            let outcome = (claim.run)().unwrap();
            assert!(outcome.pass, "{}: {}", claim.id, outcome.measured);
        }
    }
}
