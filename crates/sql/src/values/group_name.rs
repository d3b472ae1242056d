//! The names of groups as bytes, one way only: equal names are equal bytes, and bytes are in the order of names.

use crate::values::facts::Value;

/// One name, from the values of its keys.
pub(crate) fn encode(values: &[Value]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in values {
        match value {
            Value::Bool(value) => bytes.extend([1, u8::from(*value)]),
            Value::Int(value) => signed(&mut bytes, 2, *value),
            Value::Float(value) => {
                bytes.push(3);
                // Zero has one sign, NaN one pattern; the order of the bits is then made that of the numbers.
                let value = if *value == 0.0 { 0.0 } else { *value };
                let bits = if value.is_nan() {
                    f64::NAN.to_bits()
                } else {
                    value.to_bits()
                };
                let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
                bytes.extend(ordered.to_be_bytes());
            }
            Value::Text(text) => {
                bytes.push(4);
                for byte in text.bytes() {
                    bytes.push(byte);
                    if byte == 0 {
                        bytes.push(255);
                    }
                }
                bytes.extend([0, 0]);
            }
            Value::Date(days) => signed(&mut bytes, 5, i64::from(*days)),
            Value::Timestamp(moment) => signed(&mut bytes, 6, *moment),
            Value::Null => bytes.push(7),
        }
    }
    bytes
}

fn signed(bytes: &mut Vec<u8>, tag: u8, value: i64) {
    bytes.push(tag);
    bytes.extend(((value as u64) ^ (1 << 63)).to_be_bytes());
}

/// The values of a name that `encode` wrote.
pub(crate) fn decode(bytes: &[u8]) -> Vec<Value> {
    let mut values = Vec::new();
    let mut rest = bytes;
    while let Some((tag, tail)) = rest.split_first() {
        let number = |tail: &[u8]| {
            let (head, after) = tail.split_at(8);
            (
                u64::from_be_bytes(head.try_into().expect("eight bytes")),
                after.len(),
            )
        };
        let (value, left) = match tag {
            1 => (Value::Bool(tail[0] == 1), tail.len() - 1),
            2 | 5 | 6 => {
                let (bits, left) = number(tail);
                let value = (bits ^ (1 << 63)) as i64;
                let value = match tag {
                    2 => Value::Int(value),
                    5 => Value::Date(value as i32),
                    _ => Value::Timestamp(value),
                };
                (value, left)
            }
            3 => {
                let (ordered, left) = number(tail);
                let bits = if ordered >> 63 == 1 {
                    ordered & !(1 << 63)
                } else {
                    !ordered
                };
                (Value::Float(f64::from_bits(bits)), left)
            }
            4 => {
                let mut text = Vec::new();
                let mut at = 0;
                while tail[at] != 0 || tail[at + 1] != 0 {
                    text.push(tail[at]);
                    at += if tail[at] == 0 { 2 } else { 1 };
                }
                let text = String::from_utf8(text).expect("it was text");
                (Value::Text(text), tail.len() - at - 2)
            }
            _ => (Value::Null, tail.len()),
        };
        values.push(value);
        rest = &tail[tail.len() - left..];
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::Int),
            any::<f64>()
                .prop_filter("one zero, no NaN", |v| !v.is_nan()
                    && (*v != 0.0 || v.is_sign_positive()))
                .prop_map(Value::Float),
            "\\PC{0,6}|a\0b|\0|\0\0".prop_map(Value::Text),
            any::<i32>().prop_map(Value::Date),
            any::<i64>().prop_map(Value::Timestamp),
        ]
    }

    proptest! {
        #[test]
        fn names_come_back_and_differ(a in prop::collection::vec(value(), 0..4), b in prop::collection::vec(value(), 0..4)) {
            prop_assert_eq!(&decode(&encode(&a)), &a);
            prop_assert_eq!(encode(&a) == encode(&b), a == b);
        }

        #[test]
        fn numbers_keep_their_order(a in any::<i64>(), b in any::<i64>(), x in -1e300f64..1e300, y in -1e300f64..1e300) {
            prop_assert_eq!(encode(&[Value::Int(a)]).cmp(&encode(&[Value::Int(b)])), a.cmp(&b));
            if x != 0.0 && y != 0.0 {
                prop_assert_eq!(encode(&[Value::Float(x)]).cmp(&encode(&[Value::Float(y)])), x.total_cmp(&y));
            }
        }
    }

    #[test]
    fn equal_floats_have_one_name() {
        let name = |value| encode(&[Value::Float(value)]);
        assert_eq!(name(0.0), name(-0.0));
        assert_eq!(name(f64::NAN), name(-f64::NAN));
    }
}
