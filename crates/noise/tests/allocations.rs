//! Vector calls allocate nothing once a sampler's table is made.

use exact::parse_decimal;
use noise::{DiscreteGaussian, DiscreteLaplace, Entropy, RoundedGaussian, Tape};

/// A tape of fixed bytes that look random, so that the draws, and with them the path taken, are the same in every run.
fn tape() -> Tape {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let bytes = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    });
    Tape::new(bytes.take(1 << 17).collect::<Vec<u8>>())
}

fn allocations(mut fill: impl FnMut(&mut [i64], &mut dyn Entropy)) -> u64 {
    let mut values = vec![0i64; 5000];
    fill(&mut values, &mut tape());
    let mut tape = tape();
    let counted = allocation_counter::measure(|| fill(&mut values, &mut tape));
    assert!(
        !tape.exhausted() && values.iter().any(|value| *value != 0),
        "something was drawn"
    );
    counted.count_total
}

#[test]
fn filling_a_slice_allocates_nothing() {
    for scale in ["1", "10", "1000", "12345.678"] {
        let scale = parse_decimal(scale).unwrap();
        let laplace = DiscreteLaplace::new(&scale).unwrap();
        assert_eq!(allocations(|values, entropy| laplace.fill(values, entropy)), 0);
        let discrete = DiscreteGaussian::with_scale(&scale).unwrap();
        assert_eq!(allocations(|values, entropy| discrete.fill(values, entropy)), 0);
        let rounded = RoundedGaussian::with_scale(&scale).unwrap();
        assert_eq!(allocations(|values, entropy| rounded.fill(values, entropy)), 0);
    }
}

/// The counter counts: a table that is not made yet has to be.
#[test]
fn making_a_table_allocates() {
    let scale = parse_decimal("3").unwrap();
    let counted = allocation_counter::measure(|| drop(DiscreteLaplace::new(&scale).unwrap()));
    assert!(counted.count_total > 0);
}
