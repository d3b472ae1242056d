//! The most that differential privacy lets anybody learn, whatever the attack. Measured success is compared
//! with it.

/// How often a guess of one secret bit can be right, at most, when both values are equally likely beforehand
/// and the data was released with (ε, δ)-differential privacy towards changing that bit.
///
/// A guess says 1 with probability t where the bit is 1, and f where it is 0. Privacy gives t ≤ e^ε·f + δ,
/// and for the opposite guess 1 − f ≤ e^ε·(1 − t) + δ. Added up, with p = (t + 1 − f)/2 the chance to be
/// right: 2p ≤ e^ε·(2 − 2p) + 2δ, so p ≤ (e^ε + δ)/(1 + e^ε).
///
/// With δ = 0 the number of right guesses among many independent bits is no larger, in distribution, than a
/// binomial one with this p (Steinke, Nasr and Jagielski 2023, "Privacy auditing with one (1) training run").
///
/// ```
/// use attack::bound::right_guesses;
///
/// assert_eq!(right_guesses(0.0, 0.0), 0.5);
/// assert!((right_guesses(1.0, 0.0) - 0.731).abs() < 1e-3);
/// assert_eq!(right_guesses(1000.0, 0.0), 1.0);
/// ```
pub fn right_guesses(epsilon: f64, delta: f64) -> f64 {
    // Written so that a large ε gives 1 and not ∞/∞.
    (1.0 - (1.0 - delta) / (1.0 + epsilon.exp())).min(1.0)
}

/// The smallest mean error that an estimate of a count can have, for the count where it is worst, when
/// everything it is computed from was released with ε-differential privacy towards adding or removing a
/// person: 1/sinh ε.
///
/// For an output o let f(c) be its probability when the count is c. Privacy gives f(c ± 1) ≥ e^−ε·f(c), so
/// the counts around o that o may stand for cannot be closer to it than with the weights e^(−ε|c−o|), whose
/// mean distance is 2e^−ε/(1 − e^−2ε) = 1/sinh ε for whole o, and more between whole numbers. Summed over all
/// outputs, no estimate has a smaller error on average over a long range of counts. Discrete Laplace noise
/// attains it (Gupte and Sundararajan 2010, "Universally optimal privacy mechanisms for minimax agents").
pub fn count_error(epsilon: f64) -> f64 {
    1.0 / epsilon.sinh()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_are_bounded_between_a_coin_and_certainty() {
        assert_eq!(right_guesses(0.0, 0.0), 0.5);
        assert!((right_guesses(3f64.ln(), 0.0) - 0.75).abs() < 1e-15);
        assert!((right_guesses(0.0, 0.5) - 0.75).abs() < 1e-15);
        assert_eq!(right_guesses(1e4, 1e-6), 1.0);
        assert_eq!(right_guesses(1.0, 1.0), 1.0);
    }

    #[test]
    fn randomized_response_attains_the_bound_on_guesses() {
        // Said truly with probability p = e^ε/(1 + e^ε), the best guess is to believe it.
        for epsilon in [0.1f64, 1.0, 3.0] {
            let truly = epsilon.exp() / (1.0 + epsilon.exp());
            assert!((right_guesses(epsilon, 0.0) - truly).abs() < 1e-15);
        }
    }

    #[test]
    fn discrete_laplace_noise_attains_the_bound_on_errors() {
        for epsilon in [0.2f64, 1.0, 2.5] {
            let decay = (-epsilon).exp();
            let weight = |distance: f64| (1.0 - decay) / (1.0 + decay) * decay.powf(distance);
            let mean: f64 = (1..2000).map(|j| 2.0 * f64::from(j) * weight(f64::from(j))).sum();
            assert!((count_error(epsilon) / mean - 1.0).abs() < 1e-12);
        }
    }
}
