use super::contour::{Aim, Contour};
use super::lattice::Lattice;
use super::profile::Profile;
use super::*;
use exact::{Interval, ratio};
use proptest::prelude::*;

/// What 128-bit intervals say, against what a ball says: the ball must contain it, and be small.
fn agree(ball: Ball, truth: &Interval, name: &str, x: f64) {
    let (low, high) = (from_f64(ball.lower()).unwrap(), from_f64(ball.upper()).unwrap());
    assert!(
        low <= truth.lower() && truth.upper() <= high,
        "{name}({x}): {ball:?} misses {}",
        truth.to_f64_nearest()
    );
    assert!(
        ball.radius <= 64.0 * f64::EPSILON * ball.middle.abs() + 1e-299,
        "{name}({x}): {ball:?} is wide"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn functions_are_as_precise_as_assumed(x in -40.0f64..40.0, tiny in -1e-3f64..1e-3) {
        let exact = |x: f64| from_f64(x).unwrap();
        let one = Interval::from_integer(1, 192);
        for x in [x, tiny] {
            let exp = Interval::exp_of(&exact(x), 192);
            agree(Ball::exact(x).exp(), &exp, "exp", x);
            agree(Ball::exact(x).exp_m1(), &exp.sub(&one), "exp_m1", x);
            agree(Ball::exact(x).exp_m1_less(), &exp.sub(&one).sub(&Interval::from_rational(&exact(x), 192)), "ψ", x);
            let positive = x.abs() + 1e-9;
            agree(Ball::exact(positive).ln_1p(), &Interval::ln_of(&(exact(positive) + Rational::ONE), 192), "ln_1p", positive);
        }
        let positive = x.abs() + 1.5;
        agree(Ball::exact(positive).ln(), &Interval::ln_of(&exact(positive), 192), "ln", positive);
        let normal = 0.2 * x;
        let tail = Interval::from_rational(&exact(-normal), 192).normal_cdf();
        let ball = Ball::exact(normal).normal_tail();
        prop_assert!(from_f64(ball.lower()).unwrap() <= tail.lower() && tail.upper() <= from_f64(ball.upper()).unwrap());
    }

    /// sin and cos of x through those of 2x and through their squares, which pins both down.
    #[test]
    fn sine_and_cosine_fit_together(x in -1e5f64..1e5) {
        let (sine, cosine) = Ball::exact(x).sin_cos();
        let (double_sine, double_cosine) = Ball::exact(2.0 * x).sin_cos();
        let two = Ball::exact(2.0);
        for zero in [
            sine.square() + cosine.square() - Ball::ONE,
            two * sine * cosine - double_sine,
            Ball::ONE - two * sine.square() - double_cosine,
        ] {
            prop_assert!(zero.lower() <= 0.0 && 0.0 <= zero.upper(), "{zero:?}");
        }
    }
}

#[test]
fn a_ball_that_lies_is_caught() {
    // The planted error: e^1 with its last digits wrong and the radius of a right one.
    let right = Ball::exact(1.0).exp();
    let wrong = Ball {
        middle: right.middle * (1.0 + 1e-14),
        ..right
    };
    let truth = Interval::exp_of(&Rational::ONE, 192);
    assert!(std::panic::catch_unwind(|| agree(wrong, &truth, "exp", 1.0)).is_err());
}

#[test]
fn narrow_normal_masses_are_relative() {
    for (x, width) in [
        (0.0, 1e-6),
        (3.0, 1e-3),
        (-7.0, 1e-2),
        (9.0, 1e-9),
        (1.0, 0.5),
        (-0.2, 0.4),
        (20.0, 1e-4),
    ] {
        let ball = Ball::exact(x).normal_mass(Ball::exact(width));
        let cdf = |x: f64| Interval::from_rational(&from_f64(x).unwrap(), 1200).normal_cdf();
        // x + width as the ball adds it: exactly.
        let end =
            Interval::from_rational(&(from_f64(x).unwrap() + from_f64(width).unwrap()), 1200).normal_cdf();
        let truth = end.sub(&cdf(x));
        assert!(
            from_f64(ball.lower()).unwrap() <= truth.lower()
                && truth.upper() <= from_f64(ball.upper()).unwrap()
        );
        assert!(ball.radius < 1e-12 * ball.middle, "{ball:?}");
    }
}

fn step(q: f64, sigma: f64, direction: Direction) -> Sampled {
    Sampled {
        rate: Ball::exact(q),
        sigma: Ball::exact(sigma),
        direction,
    }
}

/// Both ways to the same ε, which must overlap; the lattice's lower end is loose for many events.
fn overlap(distributions: &LossDistributions, delta: f64, loose: f64) {
    let aim = libm::log(delta);
    let contour = Contour::new(distributions, Aim::Delta(aim))
        .map(Profile::Contour)
        .and_then(|profile| profile.solve((aim, aim)));
    let lattice = Lattice::new(distributions, Aim::Delta(aim), lattice::POINTS)
        .map(|lattice| Profile::Lattice(Box::new(lattice)));
    let lattice = lattice.and_then(|profile| profile.solve((aim, aim)));
    let (contour, lattice) = (contour.expect("a contour"), lattice.expect("a lattice"));
    assert!(
        contour.1 - contour.0 < 1e-8 * (1.0 + contour.1),
        "{distributions:?}: {contour:?}"
    );
    assert!(
        lattice.0 <= contour.1 && contour.0 <= lattice.1,
        "{distributions:?}: {contour:?} and {lattice:?}"
    );
    assert!(
        lattice.1 - contour.1 < loose,
        "{distributions:?}: {contour:?} and {lattice:?}"
    );
}

#[test]
fn the_contour_and_the_lattice_agree() {
    let ball = Ball::exact;
    for (distribution, times, loose) in [
        (
            LossDistribution::Gaussian {
                mu_squared: ball(0.01),
            },
            10.0,
            1e-6,
        ),
        (LossDistribution::Laplace { epsilon: ball(0.1) }, 1000.0, 1e-4),
        (LossDistribution::BoundedRange { epsilon: ball(0.2) }, 30.0, 1e-6),
        (
            LossDistribution::Sampled(step(0.01, 1.0, Direction::Remove)),
            300.0,
            1e-3,
        ),
        (
            LossDistribution::Sampled(step(0.01, 1.0, Direction::Add)),
            300.0,
            1e-4,
        ),
        (
            LossDistribution::Sampled(step(0.2, 3.0, Direction::Remove)),
            100.0,
            1e-3,
        ),
        (
            LossDistribution::FixedSize(step(0.01, 1.0, Direction::Remove)),
            300.0,
            1e-3,
        ),
        (
            LossDistribution::FixedSize(step(0.1, 2.0, Direction::Remove)),
            100.0,
            1e-3,
        ),
    ] {
        overlap(&vec![(distribution, times)], 1e-6, loose);
    }
}

#[test]
fn they_agree_on_mixtures_and_at_tiny_deltas() {
    let mixture = vec![
        (
            LossDistribution::Laplace {
                epsilon: Ball::exact(0.3),
            },
            5.0,
        ),
        (
            LossDistribution::Response {
                epsilon: Ball::exact(0.1),
                indifferent: Ball::exact(3.0),
            },
            4.0,
        ),
        (
            LossDistribution::Sampled(step(0.05, 1.5, Direction::Remove)),
            50.0,
        ),
        (
            LossDistribution::Gaussian {
                mu_squared: Ball::exact(0.3),
            },
            1.0,
        ),
    ];
    for delta in [1e-3, 1e-9, 1e-20, 1e-30] {
        overlap(&mixture, delta, 1e-2);
    }
}

/// A lattice in place of its distribution: the transform of masses at two points is a binomial distribution.
#[test]
fn randomized_response_is_the_binomial_distribution() {
    // Kairouz, Oh and Viswanath 2015, to 50 digits.
    for (epsilon, times, delta, truth) in [
        (0.1, 10.0, 1e-6, 0.999_370_905_721_758_7),
        (1.0, 1.0, 1e-6, 0.999_998_632_119_623_1),
    ] {
        let distributions = vec![(
            LossDistribution::Response {
                epsilon: Ball::exact(epsilon),
                indifferent: Ball::ZERO,
            },
            times,
        )];
        let aim = libm::log(delta);
        let profile = Profile::Lattice(Box::new(
            Lattice::new(&distributions, Aim::Delta(aim), lattice::POINTS).unwrap(),
        ));
        let (low, high) = profile.solve((aim, aim)).unwrap();
        assert!(low <= truth && truth <= high && high - low < 1e-8, "{low} {high}");
    }
}

#[test]
fn one_step_has_a_closed_form() {
    // δ(ε) of one sampled step is q·δ of the Gaussian at ln(1 + (e^ε − 1)/q).
    let (q, sigma) = (0.25, 1.0);
    for epsilon in [0.1, 0.5, 1.0] {
        let base = libm::log1p(libm::expm1(epsilon) / q);
        let truth =
            q * crate::delta_of_gaussian(&from_f64(base).unwrap(), &ratio(1, 1), 128).to_f64_nearest();
        let between = delta_between(
            &vec![(LossDistribution::Sampled(step(q, sigma, Direction::Remove)), 1.0)],
            (epsilon, epsilon),
        );
        assert!(
            between.0 <= truth * (1.0 + 1e-12) && truth * (1.0 - 1e-12) <= between.1,
            "{between:?} {truth}"
        );
        assert!(between.1 < truth * 1.001);
        let fixed = delta_between(
            &vec![(
                LossDistribution::FixedSize(step(q, sigma, Direction::Remove)),
                1.0,
            )],
            (epsilon, epsilon),
        );
        assert!(
            fixed.0 <= truth * (1.0 + 1e-12) && truth * (1.0 - 1e-12) <= fixed.1,
            "{fixed:?} {truth}"
        );
    }
}

#[test]
fn falling_bounds_hold_and_only_fall() {
    for distribution in [
        LossDistribution::Laplace {
            epsilon: Ball::exact(0.5),
        },
        LossDistribution::BoundedRange {
            epsilon: Ball::exact(0.5),
        },
        LossDistribution::Sampled(step(0.01, 0.7, Direction::Remove)),
        LossDistribution::Sampled(step(0.3, 2.0, Direction::Add)),
        LossDistribution::FixedSize(step(0.05, 1.0, Direction::Remove)),
        LossDistribution::Truncated(truncated::Truncated::new(&step(0.01, 0.7, Direction::Remove), 1e-20).0),
        LossDistribution::Truncated(truncated::Truncated::new(&step(0.3, 2.0, Direction::Add), 1e-20).0),
        LossDistribution::CutChanged(changed::Changed::new(&step(0.1, 1.3, Direction::Remove), 1e-20).0),
    ] {
        for c in [0.5, 3.0, 10.0] {
            let falling = distribution.decay(c, distribution.log_moment(c, 1e-15).unwrap().upper(), 2.0);
            let line = distribution.line(c, 0.25, 160, 1e-13).unwrap();
            let mut last = f64::INFINITY;
            for k in 1..=160 {
                let t = 0.25 * k as f64;
                let (bound, ((truth, _), off)) = (falling.log_bound(t), line.ln(k, 0.25));
                assert!(
                    truth - off <= bound,
                    "{distribution:?} at {c} + {t}i: {truth:?} above {bound}"
                );
                assert!(bound <= last, "{distribution:?} rises at {t}");
                last = bound;
            }
        }
    }
}

/// δ(ε) of one sampled step: q·δ_G(w) with e^ε = 1 + q(e^w − 1), in exact arithmetic.
fn one_step(q: &Rational, sigma: &Rational, w: &Rational) -> (f64, f64) {
    let grown = Interval::exp_of(w, 256).sub(&Interval::from_integer(1, 256));
    let sum = Interval::from_integer(1, 256).add(&Interval::from_rational(q, 256).mul(&grown));
    let delta = delta_of_gaussian(w, &(sigma * sigma), 200);
    let delta = Interval::from_rational(q, 256).mul(&delta.with_bits(256));
    (sum.ln().unwrap().to_f64_nearest(), delta.to_f64_nearest())
}

/// Contours of one step, which are smoothed, against the closed form; and that the cost of smoothing is taken off the lower end, not claimed.
#[test]
fn a_smoothed_step_keeps_its_closed_form() {
    for (q, sigma, w) in [
        (ratio(1, 100), ratio(1, 1), ratio(4, 1)),
        (ratio(1, 1000), ratio(2, 1), ratio(2, 1)),
        (ratio(1, 10), ratio(1, 2), ratio(9, 1)),
        (ratio(1, 2), ratio(4, 1), ratio(1, 1)),
    ] {
        let (epsilon, delta) = one_step(&q, &sigma, &w);
        let number = |value: &Rational| exact::to_f64_nearest(value);
        let sampled = step(number(&q), number(&sigma), Direction::Remove);
        let distributions = vec![(LossDistribution::Sampled(sampled), 1.0)];
        let contour = Contour::new(&distributions, Aim::Epsilon(epsilon)).unwrap();
        let (low, high) = contour.log_delta(epsilon).unwrap();
        let truth = libm::log(delta);
        assert!(
            low <= truth + 1e-12 && truth - 1e-12 <= high,
            "{q} {sigma}: {truth} not in {low}..{high}"
        );
        assert!(high - low < 1e-4, "{q} {sigma}: {low}..{high}");
        // The planted error: δ_v for δ. It is above by about vf/2, half of what is taken off.
        assert!(
            high > truth + 0.25 * (high - low),
            "{q} {sigma}: {truth} in {low}..{high}"
        );

        // The same through the curve: for this δ, this ε.
        let event = Event::SampledGaussian {
            sampler: Sampler::Poisson {
                rate: crate::Ratio::at_least(&q),
            },
            multiplier_squared: crate::Ratio::at_most(&(&sigma * &sigma)),
        };
        let unit = PrivacyUnit::new("person", crate::Neighbors::AddRemove);
        let asked = Delta::rounded_down(&from_f64(delta).unwrap()).unwrap();
        let found = Curve::of(&event, &unit).unwrap().epsilon(&asked).unwrap();
        let (lower, upper) = (found.lower.to_f64_down(), found.upper.to_f64_up());
        assert!(lower <= epsilon * (1.0 + 1e-11) && epsilon * (1.0 - 1e-11) <= upper);
        assert!(upper - lower < 1e-9 * upper, "{lower}..{upper}");
    }
}

/// Few steps at a small rate, in both directions: the contour and the lattice know nothing of each other.
#[test]
fn few_sampled_steps_agree_with_the_lattice() {
    for (q, sigma, steps, delta) in [
        (0.01, 1.0, 2.0, 1e-6),
        (0.05, 0.7, 7.0, 1e-5),
        (0.2, 3.0, 3.0, 1e-7),
        (0.001, 0.8, 40.0, 1e-6),
    ] {
        for direction in [Direction::Remove, Direction::Add] {
            let distributions = vec![(LossDistribution::Sampled(step(q, sigma, direction)), steps)];
            let aim = libm::log(delta);
            let solve = |profile: Profile| profile.solve((aim, aim));
            let contour = Contour::new(&distributions, Aim::Delta(aim)).map(Profile::Contour);
            let Some(contour) = contour.and_then(solve) else {
                // Close to the largest loss there is no saddle point, and the lattice is the way.
                assert!(direction == Direction::Add);
                continue;
            };
            let lattice = Lattice::new(&distributions, Aim::Delta(aim), lattice::POINTS);
            let lattice = lattice.map(|lattice| Profile::Lattice(Box::new(lattice)));
            let Some(lattice) = lattice.and_then(solve) else {
                assert!(direction == Direction::Add);
                continue;
            };
            assert!(
                contour.0 <= lattice.1 && lattice.0 <= contour.1,
                "{q} {sigma} {steps}: {contour:?} and {lattice:?}"
            );
            assert!(
                contour.1 - contour.0 < 1e-4 * contour.1,
                "{q} {sigma} {steps} {direction:?}: {contour:?}"
            );
        }
    }
}

/// A lattice made for one ε and asked about another, below its window: still an upper bound.
#[test]
fn a_window_above_epsilon_is_no_excuse() {
    let distributions = vec![(
        LossDistribution::Response {
            epsilon: Ball::exact(0.1),
            indifferent: Ball::ZERO,
        },
        100.0,
    )];
    let far = Lattice::new(&distributions, Aim::Epsilon(9.9), lattice::POINTS).unwrap();
    for asked in [0.0, 0.5, 1.0, 2.0, 4.0] {
        let (least, most) = delta_between(&distributions, (asked, asked));
        let reported = far.log_delta(asked).unwrap();
        assert!(
            reported.1 >= libm::log(least),
            "δ({asked}) is at least {least}, reported e^{}",
            reported.1
        );
        assert!(reported.0 <= libm::log(most));
    }
}
