use crate::Kind;
use crate::on_grid;
use datafusion::arrow::array::{ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch};
use datafusion::arrow::datatypes::Int64Type;
use datafusion::common::DFSchema;
use datafusion::prelude::{SessionContext, col};
use exact::{Integer, Rational, from_f64};
use proptest::prelude::*;
use std::sync::Arc;

fn evaluate(
    values: ArrayRef,
    kind: Kind,
    exponent: i32,
    low: i64,
    high: i64,
    native: bool,
) -> Vec<Option<i64>> {
    let batch = RecordBatch::try_from_iter_with_nullable([("x", values, true)]).unwrap();
    let schema = DFSchema::try_from(batch.schema()).unwrap();
    let expression = on_grid(col("x"), kind, exponent, low, high, native).unwrap();
    let expression = SessionContext::new()
        .create_physical_expr(expression, &schema)
        .unwrap();
    let steps = expression
        .evaluate(&batch)
        .unwrap()
        .into_array(batch.num_rows())
        .unwrap();
    steps.as_primitive::<Int64Type>().iter().collect()
}

fn exactly(value: Rational, exponent: i32, low: i64, high: i64) -> i64 {
    let step = Rational::from(2u8).pow(exponent as isize);
    let steps: Integer = (value / step + Rational::from(1u8) / Rational::from(2u8)).floor();
    i64::try_from(steps.clamp(Integer::from(low), Integer::from(high))).unwrap()
}

fn floats() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits),
        -1000.0..1000.0f64,
        (-4000i64..4000).prop_map(|halves| halves as f64 / 4.0),
        (any::<i64>(), -2i64..3)
            .prop_map(|(value, bits)| f64::from_bits((value as f64).to_bits().wrapping_add_signed(bits))),
        prop::sample::select(vec![
            0.0,
            -0.0,
            0.49999999999999994,
            -0.5,
            -0.5000000000000001,
            4503599627370497.5,
            9223372036854775807.0,
            -9223372036854775808.0,
            f64::MAX,
            f64::MIN_POSITIVE,
            5e-324,
            -5e-324,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            -f64::NAN,
        ]),
    ]
}

fn integers() -> impl Strategy<Value = i64> {
    prop_oneof![
        any::<i64>(),
        -1000i64..1000,
        prop::sample::select(vec![i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX]),
        (0u32..63, -2i64..3).prop_map(|(shift, near)| (1i64 << shift).wrapping_add(near)),
    ]
}

fn exponents() -> impl Strategy<Value = i32> {
    prop_oneof![
        4 => -70i32..70,
        2 => -1200i32..1200,
        1 => prop::sample::select(vec![i32::MIN, -3000, 63, 64, 65, -63, -64, -65, 3000, i32::MAX]),
    ]
}

fn ranges() -> impl Strategy<Value = (i64, i64)> {
    (integers(), integers()).prop_map(|(one, other)| (one.min(other), one.max(other)))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn floats_are_put_on_the_grid_exactly(
        values in prop::collection::vec(prop::option::weighted(0.9, floats()), 1..40),
        exponent in exponents(), (low, high) in ranges(),
    ) {
        let array: ArrayRef = Arc::new(Float64Array::from(values.clone()));
        let native = evaluate(Arc::clone(&array), Kind::Float, exponent, low, high, true);
        prop_assert_eq!(&native, &evaluate(array, Kind::Float, exponent, low, high, false));
        // Beyond this the exact powers of two are only large.
        let near = exponent.clamp(-2000, 2000);
        for (value, steps) in values.iter().zip(native) {
            let expected = match value {
                None => None,
                Some(value) if value.is_nan() => None,
                Some(value) if *value == f64::INFINITY => Some(high),
                Some(value) if *value == f64::NEG_INFINITY => Some(low),
                Some(value) => Some(exactly(from_f64(*value).unwrap(), near, low, high)),
            };
            prop_assert_eq!(steps, expected);
        }
    }

    #[test]
    fn integers_are_put_on_the_grid_exactly(
        values in prop::collection::vec(prop::option::weighted(0.9, integers()), 1..40),
        exponent in exponents(), (low, high) in ranges(),
    ) {
        let array: ArrayRef = Arc::new(Int64Array::from(values.clone()));
        let native = evaluate(Arc::clone(&array), Kind::Int, exponent, low, high, true);
        prop_assert_eq!(&native, &evaluate(array, Kind::Int, exponent, low, high, false));
        let near = exponent.clamp(-2000, 2000);
        for (value, steps) in values.iter().zip(native) {
            prop_assert_eq!(steps, value.map(|value| exactly(Rational::from(value), near, low, high)));
        }
    }
}

#[test]
fn text_is_not_put_on_a_grid() {
    assert!(on_grid(col("x"), Kind::Text, 0, 0, 1, true).is_err());
    assert!(on_grid(col("x"), Kind::Int, 0, 1, 0, true).is_err());
}
