//! The properties that any verifier must have, on random distributions.

use audit::exact_audit::{
    Answer, Distribution, Finite, Piece, Piecewise, Real, smallest_delta_at, smallest_epsilon,
};
use exact::{Interval, Rational, parse_decimal, ratio};
use proptest::prelude::*;

fn finite_epsilon(p: &Distribution, q: &Distribution, delta: &Rational) -> Interval {
    match smallest_epsilon(p, q, delta).unwrap() {
        Answer::Finite(epsilon) => epsilon,
        Answer::NoFinite { .. } => panic!("no finite epsilon"),
    }
}

fn masses(weights: &[u64]) -> Finite {
    Finite::from_weights(
        weights
            .iter()
            .map(|&weight| Real::Exact(Rational::from(weight)))
            .collect(),
    )
    .unwrap()
}

proptest! {
    /// D4: merging outcomes never raises δ.
    #[test]
    fn post_processing_never_hurts(
        p in prop::collection::vec(0u64..50, 6), q in prop::collection::vec(0u64..50, 6),
        targets in prop::collection::vec(0usize..3, 6), epsilon in 0i64..300,
    ) {
        prop_assume!(p.iter().sum::<u64>() > 0 && q.iter().sum::<u64>() > 0);
        let (p, q, epsilon) = (masses(&p), masses(&q), ratio(epsilon, 100));
        let before = smallest_delta_at(&p.clone().into(), &q.clone().into(), &epsilon, 128).unwrap();
        let merge = |distribution: &Finite| Distribution::from(distribution.map(3, |outcome| targets[outcome]));
        let after = smallest_delta_at(&merge(&p), &merge(&q), &epsilon, 128).unwrap();
        prop_assert!(after.lower() <= before.upper());
    }

    /// (ε₁, δ₁) and (ε₂, δ₂) compose to at most (ε₁+ε₂, δ₁+δ₂).
    #[test]
    fn products_compose(
        p in prop::collection::vec(1u64..50, 4), q in prop::collection::vec(1u64..50, 4), epsilon in 0i64..200,
    ) {
        let (p, q, epsilon) = (masses(&p), masses(&q), ratio(epsilon, 100));
        let single = smallest_delta_at(&p.clone().into(), &q.clone().into(), &epsilon, 128).unwrap();
        let twice = (Distribution::from(p.power(2)), Distribution::from(q.power(2)));
        let double = smallest_delta_at(&twice.0, &twice.1, &(&epsilon + &epsilon), 128).unwrap();
        prop_assert!(double.lower() <= single.upper() + single.upper());
    }

    /// The two questions answer each other.
    #[test]
    fn epsilon_undoes_delta(
        p in prop::collection::vec(1u64..50, 4), q in prop::collection::vec(1u64..50, 4), delta in 1i64..500,
    ) {
        let (p, q, delta) = (Distribution::from(masses(&p)), Distribution::from(masses(&q)), ratio(delta, 1000));
        let epsilon = finite_epsilon(&p, &q, &delta);
        let high = smallest_delta_at(&p, &q, &epsilon.lower(), 128).unwrap();
        let low = smallest_delta_at(&p, &q, &epsilon.upper(), 128).unwrap();
        prop_assert!(low.lower() <= delta);
        prop_assert!(epsilon.upper() == Rational::ZERO || high.upper() >= delta);
        prop_assert!(epsilon.upper() - epsilon.lower() < parse_decimal("1e-12").unwrap());
    }

    /// Piecewise densities against the same distribution as finitely many rational cells.
    #[test]
    fn steps_agree_with_cells(
        p in prop::collection::vec(1u64..50, 5), q in prop::collection::vec(1u64..50, 5), epsilon in 0i64..200,
    ) {
        let steps = |weights: &[u64]| {
            let total: u64 = weights.iter().sum();
            let pieces = weights.iter().enumerate().map(|(index, &weight)| Piece {
                left: Some(ratio(index as i64, 1)),
                right: Some(ratio(index as i64 + 1, 1)),
                coefficient: Real::Exact(ratio(weight as i64, total)),
                slope: Rational::ZERO,
                intercept: Rational::ZERO,
            });
            Distribution::from(Piecewise::new(pieces.collect()).unwrap())
        };
        let epsilon = ratio(epsilon, 100);
        let density = smallest_delta_at(&steps(&p), &steps(&q), &epsilon, 128).unwrap();
        let cells = smallest_delta_at(&masses(&p).into(), &masses(&q).into(), &epsilon, 128).unwrap();
        prop_assert!(density.lower() <= cells.upper() && cells.lower() <= density.upper());
        let loss = finite_epsilon(&steps(&p), &steps(&q), &Rational::ZERO);
        prop_assert_eq!(loss, finite_epsilon(&masses(&p).into(), &masses(&q).into(), &Rational::ZERO));
    }
}
