use crate::sources::tests_support::run;
use crate::sources::typed::converted;
use crate::values::facts::Kind;
use datafusion::arrow::array::*;
use datafusion::arrow::datatypes::{DataType, i256};
use datafusion::common::Column;
use datafusion::logical_expr::Expr;
use datafusion::prelude::SessionContext;
use proptest::prelude::*;
use std::sync::Arc;

const KINDS: [Kind; 6] = [
    Kind::Bool,
    Kind::Int,
    Kind::Float,
    Kind::Text,
    Kind::Date,
    Kind::Timestamp,
];

/// Converts an array into every kind that makes sense of it; how many do.
fn into_all(array: ArrayRef) -> usize {
    run(async {
        let session = SessionContext::new();
        let batch = RecordBatch::try_from_iter([("x", Arc::clone(&array))]).unwrap();
        let mut possible = 0;
        for kind in KINDS {
            let column = Expr::Column(Column::from_name("x"));
            let Some(expression) = converted(column, array.data_type(), kind).unwrap() else {
                continue;
            };
            possible += 1;
            let rows = session.read_batch(batch.clone()).unwrap();
            let batches = rows.select(vec![expression.alias("y")]).unwrap().collect().await;
            let batches = batches.unwrap_or_else(|error| panic!("{} as {kind}: {error}", array.data_type()));
            assert_eq!(
                batches.iter().map(RecordBatch::num_rows).sum::<usize>(),
                array.len()
            );
            assert_eq!(*batches[0].schema().field(0).data_type(), kind.data_type());
        }
        possible
    })
}

#[test]
fn no_value_of_any_type_raises_an_error() {
    let ends = vec![i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
    let floats = vec![
        f64::MIN,
        f64::NEG_INFINITY,
        f64::NAN,
        -0.0,
        f64::MIN_POSITIVE,
        1e19,
        f64::MAX,
        f64::INFINITY,
    ];
    let zone = "Pacific/Apia";
    let days = vec![i32::MIN, -1, 0, i32::MAX];
    let arrays: Vec<(ArrayRef, usize)> = vec![
        (Arc::new(BooleanArray::from(vec![true, false])), 4),
        (Arc::new(Int8Array::from(vec![i8::MIN, i8::MAX])), 4),
        (Arc::new(Int16Array::from(vec![i16::MIN, i16::MAX])), 4),
        (Arc::new(Int32Array::from(days.clone())), 4),
        (Arc::new(Int64Array::from(ends.clone())), 4),
        (Arc::new(UInt8Array::from(vec![0, u8::MAX])), 4),
        (Arc::new(UInt16Array::from(vec![0, u16::MAX])), 4),
        (Arc::new(UInt32Array::from(vec![0, u32::MAX])), 4),
        (Arc::new(UInt64Array::from(vec![0, u64::MAX])), 4),
        (Arc::new(Float64Array::from(floats.clone())), 3),
        (
            Arc::new(Float32Array::from_iter(
                floats.iter().map(|&value| Some(value as f32)),
            )),
            3,
        ),
        (
            Arc::new(
                Decimal128Array::from(vec![i128::MAX, i128::MIN, 0])
                    .with_data_type(DataType::Decimal128(38, 38)),
            ),
            3,
        ),
        (
            Arc::new(
                Decimal128Array::from(vec![i128::MAX, i128::MIN, 0])
                    .with_data_type(DataType::Decimal128(38, -10)),
            ),
            3,
        ),
        (
            Arc::new(
                Decimal128Array::from(vec![i128::MAX, i128::MIN, 0])
                    .with_data_type(DataType::Decimal128(38, 0)),
            ),
            3,
        ),
        (
            Arc::new(
                Decimal256Array::from(vec![i256::MAX, i256::MIN]).with_data_type(DataType::Decimal256(76, 5)),
            ),
            3,
        ),
        (
            Arc::new(Decimal64Array::from(ends.clone()).with_data_type(DataType::Decimal64(18, 3))),
            3,
        ),
        (
            Arc::new(Decimal32Array::from(days.clone()).with_data_type(DataType::Decimal32(9, 2))),
            3,
        ),
        (Arc::new(Date32Array::from(days)), 2),
        (Arc::new(Date64Array::from(ends.clone())), 2),
        (Arc::new(TimestampSecondArray::from(ends.clone())), 2),
        (Arc::new(TimestampMillisecondArray::from(ends.clone())), 2),
        (Arc::new(TimestampMicrosecondArray::from(ends.clone())), 2),
        (Arc::new(TimestampNanosecondArray::from(ends.clone())), 2),
        (
            Arc::new(TimestampSecondArray::from(ends.clone()).with_timezone(zone)),
            2,
        ),
        (
            Arc::new(TimestampMillisecondArray::from(ends.clone()).with_timezone(zone)),
            2,
        ),
        (
            Arc::new(TimestampMicrosecondArray::from(ends.clone()).with_timezone(zone)),
            2,
        ),
        (
            Arc::new(TimestampNanosecondArray::from(ends.clone()).with_timezone(zone)),
            2,
        ),
        (
            Arc::new(TimestampSecondArray::from(ends).with_timezone("no/such zone")),
            2,
        ),
        (Arc::new(BinaryArray::from_vec(vec![b"\xff"])), 0),
        (Arc::new(Time32SecondArray::from(vec![1])), 0),
        // Nothing is known of it, and all of it is NULL.
        (Arc::new(NullArray::new(2)), 6),
    ];
    for (array, expected) in arrays {
        let name = array.data_type().to_string();
        assert_eq!(into_all(array), expected, "{name}");
    }
}

#[test]
fn days_round_down_within_the_calendar() {
    run(async {
        let session = SessionContext::new();
        let day = 86_400_000_000;
        let (first, last) = (-719_162 * day, 2_932_897 * day - 1);
        let moments = vec![
            0,
            day - 1,
            day,
            -1,
            -day,
            -day - 1,
            first,
            last,
            first - 1,
            last + 1,
            i64::MIN,
            i64::MAX,
        ];
        let array: ArrayRef = Arc::new(TimestampMicrosecondArray::from(moments));
        let batch = RecordBatch::try_from_iter([("x", Arc::clone(&array))]).unwrap();
        let expression = converted(
            Expr::Column(Column::from_name("x")),
            array.data_type(),
            Kind::Date,
        )
        .unwrap()
        .unwrap();
        let rows = session
            .read_batch(batch)
            .unwrap()
            .select(vec![expression.alias("y")])
            .unwrap();
        let found = rows.collect().await.unwrap();
        let days: &Date32Array = found[0].column(0).as_primitive();
        let days: Vec<_> = days.iter().collect();
        let within = [0, 0, 1, -1, -1, -2, -719_162, 2_932_896].map(Some);
        assert_eq!(days[..8], within);
        assert_eq!(days[8..], [None; 4], "outside of the years 1 to 9999");
    });
}

fn odd_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[-+]?[0-9]{1,25}(\\.[0-9]{0,30})?([eE][-+]?[0-9]{1,6})?",
        "[-+]?[0-9]{1,7}-[0-9]{1,2}-[0-9]{1,2}([T ][0-9]{1,2}:[0-9]{1,2}(:[0-9]{1,2}(\\.[0-9]{0,12})?)?)?([Z+-][0-9:]{0,6})?",
        "[0-9TZ:. +-]{0,30}",
        "\\PC{0,40}",
        "(?i)(true|false|yes|no|on|off|t|f|nan|inf|infinity|epoch|now)",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_text_raises_an_error(texts in prop::collection::vec(prop::option::of(odd_text()), 1..200)) {
        prop_assert_eq!(into_all(Arc::new(StringViewArray::from_iter(texts.clone()))), 6);
        prop_assert_eq!(into_all(Arc::new(StringArray::from_iter(texts))), 6);
    }
}
