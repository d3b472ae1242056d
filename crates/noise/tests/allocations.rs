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

/// The counter counts: the first draw makes the table, and noise that is never drawn has none.
#[test]
fn the_first_draw_makes_the_table() {
    let scale = parse_decimal("12345.678").unwrap();
    let mut laplace = None;
    let made = allocation_counter::measure(|| laplace = Some(DiscreteLaplace::new(&scale).unwrap()));
    assert!(made.bytes_total < 1000, "{made:?}");
    let drawn = allocation_counter::measure(|| laplace.unwrap().fill(&mut [0], &mut tape()));
    assert!(drawn.bytes_total > 100_000, "{drawn:?}");
}
