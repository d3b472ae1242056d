//! Columns that name privacy units, or lead to them, are read so that two persons never become one and one never becomes two.
//!
//! # Privacy
//! Claim: an added person is a new unit. Every row of theirs belongs to that unit or to nobody, and no row of anybody else belongs to it.
//! Proof: an identifier is read by a function of that one cell, from the closed table below (of a database: `postgres::sent_as_identifier` before it), which is injective where its
//! result is not NULL: `read(a) = read(b)` only if `a = b` as the column compares values. After it comes `canonical_identifier`, which makes some texts NULL and changes none. So
//! persons with different identifiers there are different units here. And the function depends on the value and not on its spelling: values that the column calls equal (1.0 and 1.00 of
//! a `numeric`) are read as one identifier, so one person is one unit. Where the result is NULL, the row has no owner and is in no table, whatever else is in the data.
//! Assumes: identifiers are what the source says they are: in a CSV file the text of a field as its declared format reads it (`trim`, quotes, encoding), in a Parquet file the value that its
//! reader makes of it (old moments of 96 bits are of microseconds there), in Python the type that a data frame gave its column. An identifier that two sources write in two ways is two.
//! Why it is needed: what one unit adds is clamped. If an added person became one unit with somebody who is there, the clamped part of both could move from one end of its
//! range to the other, by twice the stated sensitivity; if one person became several units, each of them would have the limits of one.
//! Audited by: `identifiers_are_read_injectively` (types that tables have against every kind), `tests::hunter::identifiers` (files and databases, with planted defects).
//!
//! Types that no such function exists for are refused when the table is opened, which depends on its schema alone: floats (0 and −0, and what rounding made equal), decimals with a
//! scale, moments as days, moments of nanoseconds, texts as days or truth values, numbers as truth values.

use super::typed;
use crate::Error;
#[cfg(test)]
use crate::mutants::{Mutant, planted};
use crate::values::facts::Kind;
use bound::canonical_integer;
use datafusion::arrow::datatypes::{DataType, Field, TimeUnit};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Expr, try_cast};

/// What a field says of a column that a database keeps as `numeric`: read as a float it would lose digits, and as text it keeps them.
pub(super) const NUMERIC: &str = "numeric";

/// `column`, which is of type `from`, as an identifier of this kind; `None` where that could make two persons one, or one person two.
pub(super) fn converted(column: Expr, from: &DataType, kind: Kind) -> Result<Option<Expr>, DataFusionError> {
    #[cfg(test)]
    if planted(Mutant::LossyIdentifiers) {
        return typed::converted(column, from, kind);
    }
    match from {
        DataType::Dictionary(_, values) => converted(try_cast(column, values.as_ref().clone()), values, kind),
        _ if is_text(from) && kind == Kind::Int => {
            Ok(Some(canonical_integer(try_cast(column, Kind::Text.data_type()))))
        }
        // By way of a whole number of 64 bits: a decimal that has more digits than its type says is written without some of them.
        _ if has_scale_zero(from) && kind == Kind::Text => {
            let number = Kind::Int.data_type();
            typed::converted(try_cast(column, number.clone()), &number, kind)
        }
        _ if keeps(from, kind) => typed::converted(column, from, kind),
        _ => Ok(None),
    }
}

/// Whether the conversion of [`typed::converted`] is injective where it is not NULL.
fn keeps(from: &DataType, kind: Kind) -> bool {
    match from {
        // Nobody's rows.
        DataType::Null => true,
        DataType::Boolean => matches!(kind, Kind::Bool | Kind::Int | Kind::Text),
        // What does not fit into 64 bits is NULL (as text too, for decimals); digits are written in one way.
        _ if from.is_integer() || has_scale_zero(from) => matches!(kind, Kind::Int | Kind::Text),
        _ if is_text(from) => kind == Kind::Text,
        // A day is the moment at which it begins.
        DataType::Date32 => matches!(kind, Kind::Date | Kind::Timestamp),
        // Times 1,000 or 1,000,000, or NULL. The time zone of a column says how its moments are shown, and not which they are.
        DataType::Timestamp(TimeUnit::Second | TimeUnit::Millisecond | TimeUnit::Microsecond, _) => {
            kind == Kind::Timestamp
        }
        _ => false,
    }
}

fn is_text(of: &DataType) -> bool {
    matches!(of, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// Whether these are decimals without a fraction. Not those of 256 bits: the engine's cast to 64 bits looks at the wrong half of them, and takes 2⁶⁴ + 7 for 7.
fn has_scale_zero(of: &DataType) -> bool {
    matches!(
        of,
        DataType::Decimal32(_, 0) | DataType::Decimal64(_, 0) | DataType::Decimal128(_, 0)
    )
}

/// The kind as which a column should be declared that names units: one that keeps every identifier apart, and loses none. `None` where there is no such kind.
pub(crate) fn kind_that_keeps(field: &Field) -> Option<Kind> {
    if field.metadata().contains_key(NUMERIC) {
        return Some(Kind::Text);
    }
    let of = match field.data_type() {
        DataType::Dictionary(_, values) => values.as_ref(),
        of => of,
    };
    match of {
        // More digits than an integer of 64 bits has.
        DataType::UInt64 => Some(Kind::Text),
        _ if has_scale_zero(of) => Some(Kind::Int),
        _ => Kind::of(of).filter(|kind| keeps(of, *kind)),
    }
}

/// Why a column cannot name units as this kind. Depends on types alone.
pub(super) fn refused(what: &str, column: &str, of: &str, kind: Kind) -> Error {
    Error::catalog(
        format!(
            "{what}: column `{column}` tells whose rows these are, and its values of type {of} cannot be read as {kind} without making two persons one, or one person two"
        ),
        "name units by whole numbers (kind = \"int\" or \"text\") or by text (kind = \"text\"); a column of floats, of decimals with a scale or of nanoseconds has to be written anew as one of these",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::tests_support::run;
    use datafusion::arrow::array::*;
    use datafusion::arrow::datatypes::i256;
    use datafusion::common::{Column, ScalarValue};
    use datafusion::prelude::SessionContext;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    const KINDS: [Kind; 6] = [
        Kind::Bool,
        Kind::Int,
        Kind::Float,
        Kind::Text,
        Kind::Date,
        Kind::Timestamp,
    ];

    /// What each value of an array is read as; `None` where the type is refused.
    fn read(array: &ArrayRef, kind: Kind) -> Option<Vec<ScalarValue>> {
        let column = Expr::Column(Column::from_name("x"));
        let expression = converted(column, array.data_type(), kind).unwrap()?;
        let batch = RecordBatch::try_from_iter([("x", Arc::clone(array))]).unwrap();
        let read = run(async {
            let rows = SessionContext::new().read_batch(batch).unwrap();
            rows.select(vec![expression.alias("y")]).unwrap().collect().await
        });
        let read = read.unwrap_or_else(|error| panic!("{} as {kind}: {error}", array.data_type()));
        let values = read.iter().flat_map(|batch| {
            let column = batch.column(0);
            assert_eq!(*column.data_type(), kind.data_type());
            (0..column.len()).map(|row| ScalarValue::try_from_array(column, row).unwrap())
        });
        Some(values.collect())
    }

    /// Arrays of different values of every type, those among them that a careless conversion takes for one.
    fn hostile() -> Vec<ArrayRef> {
        let ends = vec![
            i64::MIN,
            i64::MIN + 1,
            -86_400_000,
            -1,
            0,
            1,
            2,
            999,
            1000,
            1001,
            86_400_000,
            i64::MAX - 1,
            i64::MAX,
        ];
        let days = vec![i32::MIN, -719_162, -1, 0, 1, 2_932_896, i32::MAX];
        let texts = vec![
            "7",
            "07",
            "007",
            "+7",
            " 7",
            "7 ",
            "7.0",
            "70e-1",
            "-0",
            "0",
            "",
            "true",
            "t",
            "TRUE",
            "1",
            "yes",
            "2024-01-01",
            "2024-1-1",
            "2024-01-01T00:00:00",
            "2024-01-01 00:00:00",
            "é",
            "e\u{301}",
            "E",
            "e",
            "٧",
            "9223372036854775808",
        ];
        let wide = vec![i128::MAX, i128::MIN, 0, 1, 10, 70, 700, 1 << 64];
        let floats = vec![0.0, 0.1, 1.0, 1.5, 9_007_199_254_740_993.0, f64::NAN];
        let zone = "Europe/Berlin";
        // One hour before the clocks go back, and one hour after: one time of the day.
        let fold = vec![1_698_537_600_i64, 1_698_541_200];
        let mut arrays: Vec<ArrayRef> = vec![
            Arc::new(BooleanArray::from(vec![true, false])),
            Arc::new(Int8Array::from(vec![i8::MIN, 0, 1, i8::MAX])),
            Arc::new(Int16Array::from(vec![i16::MIN, 0, 1, 2])),
            Arc::new(Int32Array::from(days.clone())),
            Arc::new(Int64Array::from(ends.clone())),
            Arc::new(UInt8Array::from(vec![0, 1, 2, u8::MAX])),
            Arc::new(UInt16Array::from(vec![0, 1, u16::MAX])),
            Arc::new(UInt32Array::from(vec![0, 1, u32::MAX])),
            Arc::new(UInt64Array::from(vec![0, 1, u64::MAX - 1, u64::MAX])),
            Arc::new(Float32Array::from_iter(
                floats.iter().map(|&float| Some(float as f32)),
            )),
            Arc::new(Float64Array::from(floats)),
            Arc::new(StringArray::from(texts.clone())),
            Arc::new(LargeStringArray::from(texts.clone())),
            Arc::new(StringViewArray::from(texts.clone())),
            Arc::new(
                texts
                    .into_iter()
                    .collect::<DictionaryArray<datafusion::arrow::datatypes::Int32Type>>(),
            ),
            Arc::new(Date32Array::from(days)),
            Arc::new(Date64Array::from(ends.clone())),
            Arc::new(TimestampSecondArray::from(fold.clone()).with_timezone(zone)),
            Arc::new(TimestampSecondArray::from([ends.clone(), fold].concat())),
            Arc::new(TimestampMillisecondArray::from(ends.clone())),
            Arc::new(TimestampMicrosecondArray::from(ends.clone()).with_timezone(zone)),
            Arc::new(TimestampNanosecondArray::from(ends)),
            Arc::new(NullArray::new(3)),
        ];
        for scale in [0, 1, 2, -1] {
            let of = DataType::Decimal128(38, scale);
            arrays.push(Arc::new(Decimal128Array::from(wide.clone()).with_data_type(of)));
        }
        // More digits than they say they have, and 7 beyond 2⁶⁴.
        arrays.push(Arc::new(
            Decimal128Array::from(vec![7, 12_345, 123_456]).with_data_type(DataType::Decimal128(5, 0)),
        ));
        arrays.push(Arc::new(
            Decimal64Array::from(vec![7, i64::MAX, i64::MIN]).with_data_type(DataType::Decimal64(18, 0)),
        ));
        arrays.push(Arc::new(
            Decimal32Array::from(vec![7, i32::MAX, i32::MIN]).with_data_type(DataType::Decimal32(9, 0)),
        ));
        let beyond = i256::from_i128((1 << 64) + 7);
        arrays.push(Arc::new(
            Decimal256Array::from(vec![i256::from_i128(7), beyond])
                .with_data_type(DataType::Decimal256(76, 0)),
        ));
        arrays
    }

    /// The places of two values that are read as one.
    fn merged(array: &ArrayRef, kind: Kind) -> Option<(usize, usize)> {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let values = read(array, kind)?;
        assert_eq!(values.len(), array.len());
        for (place, value) in values.iter().enumerate().filter(|(_, value)| !value.is_null()) {
            if let Some(first) = seen.insert(format!("{value:?}"), place) {
                return Some((first, place));
            }
        }
        None
    }

    #[test]
    fn identifiers_are_read_injectively() {
        for array in hostile() {
            for kind in KINDS {
                assert_eq!(merged(&array, kind), None, "{} as {kind}", array.data_type());
            }
        }
        // The conversion of other columns makes one of several, and this test would see it.
        let lossy = crate::mutants::with(Mutant::LossyIdentifiers, || {
            let arrays = hostile();
            let pairs = arrays
                .iter()
                .flat_map(|array| KINDS.map(|kind| merged(array, kind)));
            pairs.flatten().count()
        });
        assert!(lossy >= 10, "only {lossy} pairs of a type and a kind");
    }

    /// A kind that is suggested loses nobody, and there is one for every type that can name units.
    #[test]
    fn the_kind_that_is_suggested_keeps_every_identifier() {
        for array in hostile() {
            let field = Field::new("id", array.data_type().clone(), true);
            let possible = KINDS.iter().any(|kind| read(&array, *kind).is_some());
            match kind_that_keeps(&field) {
                None => assert!(
                    !possible || *array.data_type() == DataType::Null,
                    "{}",
                    array.data_type()
                ),
                Some(kind) => {
                    let read = read(&array, kind).unwrap();
                    // Days that no calendar has, and more than 64 bits of a decimal, are nobody's.
                    let calendar =
                        matches!(kind, Kind::Date | Kind::Timestamp) || has_scale_zero(field.data_type());
                    assert!(
                        calendar || read.iter().all(|value| !value.is_null()),
                        "{}",
                        array.data_type()
                    );
                }
            }
        }
        let numeric = Field::new("id", DataType::Float64, true)
            .with_metadata([(NUMERIC.to_owned(), String::new())].into());
        assert_eq!(kind_that_keeps(&numeric), Some(Kind::Text));
    }
}
