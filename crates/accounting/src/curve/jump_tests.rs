//! Few sampled steps, and steps whose unit changes, against sums over their outputs.

use super::contour::{Aim, Contour, Smooth};
use super::distribution::LossDistribution;
use super::jumps::Jumps;
use super::profile::{delta_between, smallest_epsilon};
use super::*;

fn tail(x: f64) -> f64 {
    0.5 * libm::erfc(x * std::f64::consts::FRAC_1_SQRT_2)
}

fn density(s: f64) -> f64 {
    libm::exp(-s * s / 2.0) * 0.398_942_280_401_432_7
}

fn step(q: f64, sigma: f64) -> Sampled {
    Sampled {
        rate: Ball::exact(q),
        sigma: Ball::exact(sigma),
        direction: Direction::Remove,
    }
}

/// The loss of a step at σs, where the unit is removed.
fn loss(q: f64, sigma: f64, s: f64) -> f64 {
    libm::log1p(q * libm::expm1(s / sigma - 0.5 / (sigma * sigma)))
}

/// δ(ε) of one step, for every ε: q·δ_G(w) where e^ε = 1 + q(e^w − 1), and 1 − e^ε below the least loss.
fn one(q: f64, sigma: f64, epsilon: f64) -> f64 {
    let grown = libm::expm1(epsilon) / q;
    if grown <= -1.0 {
        return -libm::expm1(epsilon);
    }
    let w = libm::log1p(grown);
    q * (tail(w * sigma - 0.5 / sigma) - libm::exp(w) * tail(w * sigma + 0.5 / sigma))
}

/// δ(ε) of two steps: of one, where the other has taken its loss.
fn two(q: f64, sigma: f64, epsilon: f64) -> f64 {
    let (low, high) = (-9.0, 9.0 + 1.0 / sigma);
    let width = (high - low) / 200_000.0;
    (0..200_000)
        .map(|i| {
            let s = low + width * (f64::from(i) + 0.5);
            let l = loss(q, sigma, s);
            width * density(s) * libm::exp(l) * one(q, sigma, epsilon - l)
        })
        .sum()
}

#[test]
fn two_steps_at_tiny_rates_have_their_delta() {
    for (q, sigma, epsilon) in [
        (1e-3, 0.8, 0.3),
        (1e-4, 0.6, 0.05),
        (1e-5, 1.0, 2e-3),
        (1e-6, 0.4, 1.5),
        (1e-2, 2.0, 0.02),
    ] {
        let truth = libm::log(two(q, sigma, epsilon));
        let jumps = Jumps::new(&step(q, sigma), 2.0, (epsilon, truth), Smooth::Width(4e-7)).expect("jumps");
        let (low, high) = jumps.log_delta(epsilon).expect("δ");
        assert!(
            low <= truth + 2e-8 && truth - 2e-8 <= high,
            "{q} {sigma} {epsilon}: {truth} not in {low}..{high}"
        );
        assert!(high - low < 1e-5, "{q} {sigma} {epsilon}: {low}..{high}");
        // And the ε of this δ.
        let distributions = vec![(LossDistribution::Sampled(step(q, sigma)), 2.0)];
        let (low, high) = smallest_epsilon(&distributions, (truth, truth)).unwrap();
        assert!(
            low <= epsilon * (1.0 + 1e-7) && epsilon * (1.0 - 1e-7) <= high && high - low < 1e-6 * high,
            "{q} {sigma} {epsilon}: {low}..{high}"
        );
        // The planted error: δ of the steps that are left when the jumps are cut off.
        let cut = jumps.without_jumps(epsilon).unwrap();
        assert!(cut.1 < truth - 1e-3, "{q} {sigma} {epsilon}: {cut:?}");
    }
}

#[test]
fn quick_moments_are_above_the_integral_and_near_it() {
    for (q, sigma) in [(1e-6, 0.4), (1e-3, 1.0), (0.05, 3.0), (0.3, 0.7)] {
        let adding = Sampled {
            direction: Direction::Add,
            ..step(q, sigma)
        };
        for theta in [0.5, 3.0, 40.0, 0.1 / q, 2.0 / q] {
            let quick = adding.log_moment_of_adding(theta);
            let distribution = LossDistribution::Sampled(adding);
            let truth = distribution.log_moment(theta, 1e-15).unwrap();
            // Where the integral cannot be taken, what is said is a bound, too.
            if truth.radius == 0.0 {
                continue;
            }
            assert!(
                quick >= truth.lower(),
                "{q} {sigma} {theta}: {quick} below {truth:?}"
            );
            assert!(
                quick <= 1.5 * truth.upper() + 1e-12,
                "{q} {sigma} {theta}: {quick} far above {truth:?}"
            );
        }
    }
}

/// Where there is hardly any noise, X without the unit is 1 − q but for outputs that never come, so E[X^(−θ)] is (1 − q)^(−θ).
#[test]
fn quick_moments_hold_where_there_is_hardly_any_noise() {
    for (q, sigma) in [(0.01f64, 0.02), (0.01, 0.029), (0.3, 1e-3)] {
        let adding = Sampled {
            direction: Direction::Add,
            ..step(q, sigma)
        };
        for theta in [1.0, 5.0] {
            let truth = -theta * libm::log1p(-q);
            let quick = adding.log_moment_of_adding(theta);
            assert!(quick >= truth, "{q} {sigma} {theta}: {quick} below {truth}");
        }
    }
}

/// What jumps say, against contours that know nothing of them.
#[test]
fn jumps_and_contours_agree() {
    for (q, sigma, times, delta) in [
        (5e-3, 1.0, 20.0, 1e-6),
        (1e-3, 0.9, 400.0, 1e-7),
        (2e-3, 1.5, 60.0, 1e-5),
    ] {
        let aim = libm::log(delta);
        let distributions = vec![(LossDistribution::Sampled(step(q, sigma)), times)];
        let contour = Contour::new(&distributions, Aim::Delta(aim)).unwrap();
        let epsilon = contour.guess();
        let (low, high) = contour.log_delta(epsilon).unwrap();
        let jumps = Jumps::new(&step(q, sigma), times, (epsilon, high), Smooth::Width(4e-7)).expect("jumps");
        let found = jumps.log_delta(epsilon).unwrap();
        assert!(
            found.0 <= high && low <= found.1,
            "{q} {sigma} {times}: {found:?} and {low}..{high}"
        );
        assert!(found.1 - found.0 < 1e-5, "{q} {sigma} {times}: {found:?}");
    }
}

/// P[L > ε] and Q[L > ε] where one unit changes: the loss grows with the output, so it exceeds ε from one output on.
fn one_changed(q: f64, sigma: f64, epsilon: f64) -> f64 {
    let at = |s: f64| loss(q, sigma, s) - loss(q, sigma, -s);
    let (mut low, mut high) = (-60.0, 60.0);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if at(middle) > epsilon {
            high = middle;
        } else {
            low = middle;
        }
    }
    let above = |mean: f64| (1.0 - q) * tail(high) + q * tail(high - mean / sigma);
    above(1.0) - libm::exp(epsilon) * above(-1.0)
}

#[test]
fn a_changed_unit_has_its_delta() {
    for (q, sigma, epsilon) in [
        (0.1, 1.0, 0.5),
        (0.01, 0.7, 0.2),
        (0.4, 3.0, 0.6),
        (0.002, 1.5, 0.01),
    ] {
        let distributions = vec![(LossDistribution::Changed(step(q, sigma)), 1.0)];
        let truth = one_changed(q, sigma, epsilon);
        let (low, high) = delta_between(&distributions, (epsilon, epsilon));
        assert!(
            low <= truth * (1.0 + 1e-11) && truth * (1.0 - 1e-11) <= high,
            "{q} {sigma}: {truth} not in {low}..{high}"
        );
        // The planted error: a unit that comes or goes. At small rates one contribution far out decides, and the other is hardly seen.
        assert!(q < 0.1 || high > 1.2 * one(q, sigma, epsilon), "{q} {sigma}");
        // Two steps: one, where the other has taken its loss.
        let width = 18.0 / 20_000.0;
        let truth: f64 = (0..20_000)
            .map(|i| {
                let s = -9.0 + 1.0 / sigma + width * (f64::from(i) + 0.5);
                let gain = loss(q, sigma, s);
                let left = epsilon - gain + loss(q, sigma, -s);
                width * density(s) * libm::exp(gain) * one_changed(q, sigma, left)
            })
            .sum();
        let distributions = vec![(LossDistribution::Changed(step(q, sigma)), 2.0)];
        let (low, high) = delta_between(&distributions, (epsilon, epsilon));
        assert!(
            low <= truth * (1.0 + 1e-6) && truth * (1.0 - 1e-6) <= high,
            "{q} {sigma} twice: {truth} not in {low}..{high}"
        );
    }
}

/// Contributions that point elsewhere, or are shorter, tell less: sums over a plane of outputs.
#[test]
fn opposite_contributions_are_the_worst() {
    let (q, sigma, epsilon) = (0.2f64, 0.8f64, 0.4f64);
    let claimed = one_changed(q, sigma, epsilon);
    let delta = |x: (f64, f64), y: (f64, f64)| -> f64 {
        let normal = |u: f64, v: f64, mean: (f64, f64)| {
            let square = (u - mean.0).powi(2) + (v - mean.1).powi(2);
            (-square / (2.0 * sigma * sigma)).exp() / (std::f64::consts::TAU * sigma * sigma)
        };
        let width = 0.04;
        let mut sum = 0.0;
        for i in -150..150 {
            for j in -150..150 {
                let (u, v) = (width * (f64::from(i) + 0.5), width * (f64::from(j) + 0.5));
                let none = (1.0 - q) * normal(u, v, (0.0, 0.0));
                let (here, there) = (none + q * normal(u, v, x), none + q * normal(u, v, y));
                sum += width * width * (here - epsilon.exp() * there).max(0.0);
            }
        }
        sum
    };
    for turn in [0.0f64, 0.5, 1.2, 2.0, 2.8, std::f64::consts::PI] {
        for length in [0.0, 0.6, 1.0] {
            let there = (length * turn.cos(), length * turn.sin());
            for here in [(1.0, 0.0), (0.5, 0.0)] {
                let found = delta(here, there);
                assert!(
                    found <= claimed * (1.0 + 1e-4),
                    "{here:?} {there:?}: {found} above {claimed}"
                );
            }
        }
    }
    let worst = delta((1.0, 0.0), (-1.0, 0.0));
    assert!((worst / claimed - 1.0).abs() < 1e-3, "{worst} {claimed}");
}
