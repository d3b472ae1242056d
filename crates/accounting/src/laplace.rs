//! Laplace noise on a grid, and the real Laplace noise that dominates it.

use crate::NoiseSupport;
use exact::{Rational, ratio};

/// The Δ/b of real Laplace noise on one number whose curve is nowhere below that of this noise; `None` where only ε is known.
///
/// Claim: discrete Laplace noise with Δ/b = ε on one number that changes by D grid steps is dominated by real Laplace noise with
/// Δ/b = ε + ε²/4D².
/// Proof: as a function of x = e^ε', real Laplace noise has δ = 1 − e^(−ε/2)·√x for |ε'| ≤ ε. Discrete noise has the same δ at
/// ε' = ε − 2jε/D, j = 0, …, D, and is linear in x between those points: its δ is the chord of the real one (see
/// [`rho_of_laplace`](crate::rho_of_laplace) for the formula). Over an interval of x from 1 to e^(2u), u = ε/D, the chord of √x is
/// (e^u + x)/(e^u + 1), and its ratio to √x is least at √x = e^(u/2), where it is 1/cosh(u/2). So the chord of δ is at most
/// 1 − e^(−ε/2)·√x/cosh(u/2), the curve for ε + 2·ln cosh(u/2), and ln cosh(y) ≤ y²/2. Beyond ε the discrete δ is 0, and below −ε it is
/// 1 − x, which no curve undercuts.
pub(crate) fn dominating_ratio(epsilon: &Rational, on: NoiseSupport) -> Option<Rational> {
    match on {
        NoiseSupport::Rounded => Some(epsilon.clone()),
        // With one step this is randomized response, and with a loss above 1 a step the bound gives too much away.
        NoiseSupport::DiscreteScalar { sensitivity }
            if sensitivity >= 2 && *epsilon <= Rational::from(sensitivity) =>
        {
            let step = epsilon / Rational::from(sensitivity);
            Some(epsilon + &step * &step * ratio(1, 4))
        }
        NoiseSupport::DiscreteScalar { .. } | NoiseSupport::Discrete => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delta_of_discrete_laplace;
    use exact::{Interval, to_f64_nearest};

    #[test]
    fn the_dominating_curve_is_above_and_the_real_one_is_not() {
        for (epsilon, steps) in [
            (ratio(1, 10), 2u64),
            (ratio(1, 1), 2),
            (ratio(1, 1), 5),
            (ratio(3, 1), 4),
            (ratio(1, 2), 100),
        ] {
            let on = NoiseSupport::DiscreteScalar { sensitivity: steps };
            let dominating = dominating_ratio(&epsilon, on).unwrap();
            let scale = Rational::from(steps) / &epsilon;
            let mut below_somewhere = false;
            for i in 0i64..20 {
                let asked = &epsilon * ratio(i, 20);
                let discrete = delta_of_discrete_laplace(&asked, &scale, steps, 128);
                let real = |epsilon: &Rational| {
                    let one = Interval::from_integer(1, 128);
                    one.sub(&Interval::exp_of(&((&asked - epsilon) * ratio(1, 2)), 128))
                };
                assert!(
                    discrete.lower() <= real(&dominating).upper(),
                    "{epsilon} {steps} {}",
                    to_f64_nearest(&asked)
                );
                below_somewhere |= real(&epsilon).upper() < discrete.lower();
            }
            // The planted error: real noise with the same ε does not dominate.
            assert!(below_somewhere || steps == 100);
        }
    }
}
