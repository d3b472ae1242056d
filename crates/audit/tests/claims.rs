//! What the theory claims about given mechanisms.

use audit::Error;
use audit::exact_audit::{
    Answer, Distribution, Finite, Gaussian, Lattice, Piece, Piecewise, Real, satisfies, smallest_delta,
    smallest_epsilon,
};
use exact::{Interval, Rational, parse_decimal, ratio};

fn decimal(text: &str) -> Rational {
    parse_decimal(text).unwrap()
}

fn finite_epsilon(p: &Distribution, q: &Distribution, delta: &Rational) -> Interval {
    match smallest_epsilon(p, q, delta).unwrap() {
        Answer::Finite(epsilon) => epsilon,
        Answer::NoFinite { .. } => panic!("no finite epsilon"),
    }
}

fn infimum(p: &Distribution, q: &Distribution, delta: &Rational) -> Interval {
    match smallest_epsilon(p, q, delta).unwrap() {
        Answer::NoFinite { smallest_delta } => smallest_delta,
        Answer::Finite(_) => panic!("a finite epsilon"),
    }
}

fn exactly(interval: &Interval, value: Rational) {
    assert_eq!((interval.lower(), interval.upper()), (value.clone(), value));
}

fn uniform(left: i64, right: i64) -> Distribution {
    Piecewise::uniform(&ratio(left, 1), &ratio(right, 1))
        .unwrap()
        .into()
}

/// V1: sum + Uniform[−1, 1].
#[test]
fn uniform_noise_has_no_finite_epsilon() {
    let (p, q) = (uniform(-1, 1), uniform(0, 2));
    exactly(&infimum(&p, &q, &Rational::ZERO), ratio(1, 2));
    exactly(&infimum(&p, &q, &decimal("0.4999")), ratio(1, 2));
    // At δ = 1/2 itself, ε = 0 does.
    exactly(&finite_epsilon(&p, &q, &ratio(1, 2)), Rational::ZERO);
    exactly(&smallest_delta(&p, &q, &ratio(30, 1)).unwrap(), ratio(1, 2));
    assert!(!satisfies(&p, &q, &ratio(100, 1), &ratio(1, 4)).unwrap());
    assert!(satisfies(&p, &q, &Rational::ZERO, &ratio(1, 2)).unwrap());
    // Thirds have no finite binary expansion; the gap is exact all the same.
    let (p, q) = (uniform(0, 3), uniform(1, 4));
    exactly(&finite_epsilon(&p, &q, &ratio(1, 3)), Rational::ZERO);
}

/// V2: a real sum + Geo(5/n): sums 0 and 1/2 have no output in common.
#[test]
fn integer_noise_on_a_real_sum() {
    let noise = Lattice::discrete_laplace(&ratio(5, 100)).unwrap();
    let (p, q) = (
        Distribution::from(noise.clone()),
        Distribution::from(noise.clone().shifted(&ratio(1, 2))),
    );
    exactly(&smallest_delta(&p, &q, &ratio(3, 1)).unwrap(), Rational::ONE);
    exactly(&infimum(&p, &q, &Rational::ZERO), Rational::ONE);
    // On the grid it would have been 20.
    exactly(
        &finite_epsilon(&p, &noise.shifted(&Rational::ONE).into(), &Rational::ZERO),
        ratio(20, 1),
    );
}

/// V3: (⌈100 s⌉ + Geo(4))/100.
#[test]
fn integer_noise_on_a_rounded_sum() {
    let noise = Lattice::discrete_laplace(&ratio(4, 1))
        .unwrap()
        .on_grid(&Rational::ZERO, &ratio(1, 100))
        .unwrap();
    let (p, q) = (
        Distribution::from(noise.clone()),
        Distribution::from(noise.clone().shifted(&Rational::ONE)),
    );
    exactly(&finite_epsilon(&p, &q, &Rational::ZERO), ratio(25, 1));
    assert!(satisfies(&p, &q, &ratio(25, 1), &Rational::ZERO).unwrap());
    assert!(!satisfies(&p, &q, &decimal("24.999999"), &Rational::ZERO).unwrap());
    let mutant = Lattice::discrete_laplace(&decimal("3.99"))
        .unwrap()
        .on_grid(&Rational::ZERO, &ratio(1, 100))
        .unwrap();
    let (p, q) = (
        Distribution::from(mutant.clone()),
        Distribution::from(mutant.shifted(&Rational::ONE)),
    );
    assert!(!satisfies(&p, &q, &ratio(25, 1), &Rational::ZERO).unwrap());
}

/// R1: randomized response with γ: ε = ln((1+2γ)/(1−2γ)); γ = 1/4 gives ln 3.
#[test]
fn randomized_response() {
    let distribution =
        |a: i64, b: i64| Distribution::from(Finite::from_rationals(vec![ratio(a, 4), ratio(b, 4)]).unwrap());
    let epsilon = finite_epsilon(&distribution(3, 1), &distribution(1, 3), &Rational::ZERO);
    let expected = Interval::ln_of(&ratio(3, 1), 192);
    assert_eq!(epsilon, expected);
}

/// D5: a group of k under Laplace noise costs exactly kε, and under Gaussian noise no more than the group
/// bound.
#[test]
fn groups() {
    let epsilon = decimal("0.3");
    let noise = |center: i64| {
        Distribution::from(Piecewise::laplace(&ratio(center, 1), &(Rational::ONE / &epsilon)).unwrap())
    };
    let normal = |mean: i64| Distribution::from(Gaussian::new(&ratio(mean, 1), &ratio(4, 1)).unwrap());
    let single = smallest_delta(&normal(0), &normal(1), &epsilon).unwrap();
    for k in 1i64..=5 {
        let total = &epsilon * Rational::from(k);
        assert_eq!(
            finite_epsilon(&noise(0), &noise(k), &Rational::ZERO),
            Interval::from_rational(&total, 192)
        );
        // δ_k = k e^((k−1)ε) δ.
        let growth = Interval::exp_of(&(&epsilon * Rational::from(k - 1)), 128).scale(&k.into());
        let bound = growth.mul(&single.with_bits(128));
        let measured = smallest_delta(&normal(0), &normal(k), &total).unwrap();
        assert!(measured.upper() <= bound.upper(), "{k}");
    }
}

#[test]
fn exponential_noise_is_private_one_way_only() {
    let distribution =
        |start: i64| Distribution::from(Piecewise::exponential(&ratio(start, 1), &ratio(2, 1)).unwrap());
    // P(0 ≤ X < 1) = 1 − e^(−1/2) is where the other distribution has no density.
    let expected = Interval::from_integer(1, 128).sub(&Interval::exp_of(&ratio(-1, 2), 128));
    for (p, q) in [
        (distribution(0), distribution(1)),
        (distribution(1), distribution(0)),
    ] {
        let gap = infimum(&p, &q, &Rational::ZERO);
        assert!(gap.lower() <= expected.upper() && expected.lower() <= gap.upper());
    }
}

#[test]
fn distributions_of_unlike_shape() {
    let laplace = Lattice::discrete_laplace(&ratio(3, 1)).unwrap();
    let wider = Distribution::from(Lattice::discrete_laplace(&ratio(4, 1)).unwrap());
    let gaussian = Distribution::from(Lattice::discrete_gaussian(&ratio(9, 1)).unwrap());
    let halves = Distribution::from(laplace.clone().on_grid(&Rational::ZERO, &ratio(1, 2)).unwrap());
    let laplace = Distribution::from(laplace);
    // A heavier tail has an unbounded loss, but any δ above 0 has a finite ε.
    for other in [&wider, &gaussian] {
        exactly(&infimum(&laplace, other, &Rational::ZERO), Rational::ZERO);
        let delta = decimal("1e-6");
        let epsilon = finite_epsilon(&laplace, other, &delta);
        assert!(smallest_delta(&laplace, other, &epsilon.upper()).unwrap().lower() <= delta);
        assert!(smallest_delta(&laplace, other, &epsilon.lower()).unwrap().upper() >= delta);
    }
    // Odd multiples of 1/2 are possible on one side only: their mass is Σ_{odd k} c a^|k| = 2ca/(1−a²).
    let a = Interval::exp_of(&ratio(-1, 3), 128);
    let one = Interval::from_integer(1, 128);
    let c = one.sub(&a).div(&one.add(&a)).unwrap();
    let odd = c.mul(&a).scale(&2.into()).div(&one.sub(&a.square())).unwrap();
    let gap = infimum(&laplace, &halves, &Rational::ZERO);
    assert!(gap.lower() <= odd.upper() && odd.lower() <= gap.upper());
    // Grids against densities, and kinds that do not compare.
    let density = Distribution::from(Piecewise::laplace(&Rational::ZERO, &Rational::ONE).unwrap());
    exactly(
        &smallest_delta(&laplace, &density, &Rational::ONE).unwrap(),
        Rational::ONE,
    );
    let coin = Distribution::from(Finite::from_rationals(vec![ratio(1, 2), ratio(1, 2)]).unwrap());
    assert_eq!(
        smallest_delta(&laplace, &coin, &Rational::ONE).unwrap_err(),
        Error::Incomparable
    );
}

/// Normal distributions of unlike variance: total variation of N(0,1) and N(0,4), computed with mpmath from
/// the two crossings.
#[test]
fn unequal_variances() {
    let distribution =
        |variance: i64| Distribution::from(Gaussian::new(&Rational::ZERO, &ratio(variance, 1)).unwrap());
    let distance = smallest_delta(&distribution(1), &distribution(4), &Rational::ZERO).unwrap();
    assert!((distance.to_f64_nearest() - 0.3226745688347687).abs() < 1e-14);
    exactly(
        &infimum(&distribution(1), &distribution(4), &Rational::ZERO),
        Rational::ZERO,
    );
    // At ε = 1/2, δ of both directions from mpmath; the larger is from the wide distribution to the narrow
    // one.
    let delta = smallest_delta(&distribution(1), &distribution(4), &ratio(1, 2)).unwrap();
    assert!((delta.to_f64_nearest() - 0.2496890647883897).abs() < 1e-14);
}

/// A discrete Gaussian with σ = 1000 is close to the continuous one; its sum is taken term by term over a
/// wide window.
#[test]
fn wide_discrete_gaussian() {
    let noise = Lattice::discrete_gaussian(&decimal("1e6")).unwrap();
    let discrete = (
        Distribution::from(noise.clone()),
        Distribution::from(noise.shifted(&decimal("1e3"))),
    );
    let normal = |mean: &str| Distribution::from(Gaussian::new(&decimal(mean), &decimal("1e6")).unwrap());
    let delta = decimal("1e-5");
    let near = finite_epsilon(&normal("0"), &normal("1e3"), &delta).to_f64_nearest();
    let epsilon = finite_epsilon(&discrete.0, &discrete.1, &delta);
    assert!((epsilon.to_f64_nearest() - near).abs() < 1e-5);
    exactly(
        &infimum(&discrete.0, &discrete.1, &Rational::ZERO),
        Rational::ZERO,
    );
}

#[test]
fn wide_distributions_are_no_slower() {
    let noise = Lattice::discrete_laplace(&decimal("1e9")).unwrap();
    let (p, q) = (
        Distribution::from(noise.clone()),
        Distribution::from(noise.shifted(&decimal("1e9"))),
    );
    exactly(&finite_epsilon(&p, &q, &Rational::ZERO), Rational::ONE);
    // The continuous distribution is near: δ(½) = 1 − e^(−1/4).
    let delta = smallest_delta(&p, &q, &ratio(1, 2)).unwrap().to_f64_nearest();
    assert!((delta - (1.0 - (-0.25f64).exp())).abs() < 1e-8);
}

#[test]
fn enormous_numbers_are_no_trap() {
    let noise = Lattice::discrete_laplace(&decimal("1e-12")).unwrap();
    let (p, q) = (
        Distribution::from(noise.clone()),
        Distribution::from(noise.shifted(&Rational::ONE)),
    );
    exactly(&finite_epsilon(&p, &q, &Rational::ZERO), decimal("1e12"));
    assert!(
        smallest_delta(&p, &q, &decimal("1e13"))
            .unwrap()
            .contains(&Rational::ZERO)
    );
    assert!(satisfies(&p, &q, &decimal("1e13"), &Rational::ZERO).unwrap());
    assert!(!satisfies(&p, &q, &decimal("1e11"), &Rational::ZERO).unwrap());
    exactly(
        &smallest_delta(&uniform(-1, 1), &uniform(0, 2), &decimal("1e15")).unwrap(),
        ratio(1, 2),
    );
    let choice = |winner: usize| {
        let exponents: Vec<Rational> = (0..3)
            .map(|index| decimal(if index == winner { "1e15" } else { "0" }))
            .collect();
        Distribution::from(Finite::from_exponents(&exponents).unwrap())
    };
    assert!(
        smallest_delta(&choice(0), &choice(1), &Rational::ONE)
            .unwrap()
            .contains(&Rational::ONE)
    );
}

#[test]
fn what_is_no_distribution_is_refused() {
    let thirds = vec![ratio(1, 3), ratio(1, 3)];
    assert!(matches!(
        Finite::from_rationals(thirds),
        Err(Error::NotADistribution { .. })
    ));
    assert!(matches!(
        Lattice::discrete_laplace(&Rational::ZERO),
        Err(Error::NotPositive { .. })
    ));
    let flat = |left: Option<Rational>, right: Option<Rational>| Piece {
        left,
        right,
        coefficient: Real::Exact(Rational::ONE),
        slope: Rational::ZERO,
        intercept: Rational::ZERO,
    };
    assert_eq!(
        Piecewise::new(vec![flat(None, Some(Rational::ONE))]).unwrap_err(),
        Error::PieceNeverEnds
    );
    let backwards = flat(Some(Rational::ONE), Some(Rational::ZERO));
    assert_eq!(
        Piecewise::new(vec![backwards]).unwrap_err(),
        Error::PiecesOutOfOrder
    );
    let long = flat(Some(Rational::ZERO), Some(ratio(2, 1)));
    assert!(matches!(
        Piecewise::new(vec![long]),
        Err(Error::NotADistribution { .. })
    ));
    let distribution = uniform(0, 1);
    assert_eq!(
        smallest_delta(&distribution, &distribution, &ratio(-1, 1)).unwrap_err(),
        Error::NegativeEpsilon
    );
    assert_eq!(
        smallest_epsilon(&distribution, &distribution, &ratio(2, 1)).unwrap_err(),
        Error::DeltaOutOfRange
    );
    let custom = Lattice::custom(
        |k, bits| Interval::from_integer(i64::from(k == 0), bits),
        |bits| audit::exact_audit::Window {
            first: 0,
            last: 0,
            outside: Interval::from_integer(0, bits),
        },
    );
    let distribution = Distribution::from(custom);
    exactly(
        &smallest_delta(&distribution, &distribution, &Rational::ZERO).unwrap(),
        Rational::ZERO,
    );
}
