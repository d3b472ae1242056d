//! Which groups of a unit count: those of smallest keyed hash, the same whoever computes it.
//!
//! With `a`, `c` nine decimal digits each of MD5(secret, unit) and `b` nine of MD5(secret, group), the hash is
//! (a·b + c) mod (2³¹ − 1): an affine map of the group, drawn afresh for each unit. Built-in functions express it, so a cluster or a database
//! can choose the same groups, and the native operators compute a digest once a unit and once a group instead of once a row.
//! MD5 is broken as a commitment; here it only has to spread, and privacy holds for any choice (see [`super`]).

use super::md5::{Digests, MOST_BYTES};
use crate::Kind;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Int64Type, SchemaRef};
use datafusion::common::{Column, DFSchema, ExprSchema, Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::{Expr, cast, try_cast, when};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::prelude::{character_length, concat, lit, md5, substring, translate};
use std::sync::Arc;

/// −2⁶³ in decimal.
const LONGEST_INTEGER: usize = 20;
/// 2³¹ − 1, a prime.
const MODULUS: i64 = 2_147_483_647;

/// The key of a query's choices, in hexadecimal digits. Prints as `Secret(..)`.
/// ```
/// use bound::Secret;
///
/// let secret = Secret::new("00112233445566778899aabbccddeeff")?;
/// assert_eq!(format!("{secret:?}"), "Secret(..)");
/// assert!(Secret::new("not hexadecimal").is_err());
/// # Ok::<(), datafusion::error::DataFusionError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret {
    digits: Arc<str>,
    modulus: i64,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret(..)")
    }
}

impl Secret {
    /// The key that these hexadecimal digits spell.
    pub fn new(digits: impl Into<String>) -> Result<Self> {
        let digits = digits.into();
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return plan_err!(
                "the key that chooses groups is not hexadecimal\nhint: pass 32 random hexadecimal digits"
            );
        }
        Ok(Self {
            digits: digits.into(),
            modulus: MODULUS,
        })
    }

    /// The digits themselves, for who passes them on to another engine: as a parameter, so that they are in no text of a query.
    pub fn digits(&self) -> &str {
        &self.digits
    }

    /// What precedes a unit, a group or a value that is digested, behind the digits: the constants of a plan that hold the key.
    pub fn purpose_of<'a>(&self, constant: &'a str) -> Option<&'a str> {
        let rest = constant.strip_prefix(&*self.digits)?;
        [":u:", ":g:", ":v:"].contains(&rest).then_some(rest)
    }

    /// A hash of few values, so that ties are common.
    #[cfg(test)]
    pub(crate) fn with_ties(mut self, modulus: i64) -> Self {
        self.modulus = modulus;
        self
    }

    /// A number for hash tables.
    pub(crate) fn key(&self) -> u64 {
        let fold = |key: u64, byte: u8| (key ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        let key = self.digits.bytes().fold(0xcbf2_9ce4_8422_2325, fold);
        (key ^ (key >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }

    /// The digest of a unit.
    pub(crate) fn of_unit(&self, unit: Expr, data_type: &DataType) -> Expr {
        self.digest("u", vec![text(unit, data_type)])
    }

    /// The digest of a group, whose name is read without ambiguity: each part is preceded by its length, and NULL is not a length.
    pub(crate) fn of_group(&self, keys: impl IntoIterator<Item = (Expr, DataType)>) -> Result<Expr> {
        let parts: Result<Vec<Expr>> = keys
            .into_iter()
            .map(|(key, data_type)| {
                let name = text(key.clone(), &data_type);
                let length = cast(character_length(name.clone()), DataType::Utf8);
                when(key.is_null(), lit("n")).otherwise(concat(vec![length, lit(":"), name]))
            })
            .collect();
        Ok(self.digest("g", parts?))
    }

    /// The digest of a value that is not NULL.
    pub(crate) fn of_value(&self, value: Expr, data_type: &DataType) -> Expr {
        self.digest("v", vec![text(value, data_type)])
    }

    fn digest(&self, what: &str, mut parts: Vec<Expr>) -> Expr {
        parts.insert(0, lit(self.prefix(what)));
        md5(concat(parts))
    }

    /// What precedes whatever is digested.
    fn prefix(&self, what: &str) -> String {
        format!("{}:{what}:", self.digits)
    }

    /// What precedes a unit that is digested.
    pub(crate) fn unit_prefix(&self) -> String {
        self.prefix("u")
    }

    /// The hash of a group (or of a value) for a unit, from their digests.
    pub(crate) fn hash(&self, unit: &Expr, group: &Expr) -> Expr {
        (digits(unit, 1) * digits(group, 1) + digits(unit, 10)) % lit(self.modulus)
    }

    /// The same on numbers.
    #[inline]
    pub(crate) fn mix(&self, unit: Affine, group: u32) -> u32 {
        // Both factors are below 10⁹, so nothing overflows.
        let sum = u64::from(unit.factor) * u64::from(group) + u64::from(unit.offset);
        if self.modulus == MODULUS {
            remainder(sum)
        } else {
            (sum % (self.modulus as u64)) as u32
        }
    }
}

/// The remainder modulo 2³¹ − 1 of a number below 2⁶¹: 2³¹ is 1, so its upper bits count as much as the lower.
#[inline]
fn remainder(number: u64) -> u32 {
    let modulus = MODULUS as u64;
    let folded = (number & modulus) + (number >> 31);
    (if folded >= modulus {
        folded - modulus
    } else {
        folded
    }) as u32
}

/// The affine map of one unit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Affine {
    pub(crate) factor: u32,
    pub(crate) offset: u32,
}

/// Nine decimal digits out of a digest: the letters a to f become 0 to 5, so every digest spells a number. Nobody has to take our word for that: what spells none would be NULL, and never an error.
fn digits(digest: &Expr, from: i64) -> Expr {
    let letters = substring(digest.clone(), lit(from), lit(9i64));
    try_cast(translate(letters, lit("abcdef"), lit("012345")), DataType::Int64)
}

/// The same on the digest itself, from a position counted from zero.
fn number(digest: &[u8], from: usize) -> u32 {
    digest[from..from + 9].iter().fold(0, |number, byte| {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            letter => letter - b'a',
        };
        number * 10 + u32::from(digit)
    })
}

/// The affine map of a unit whose digest is these words: two hexadecimal digits a byte, the upper one first.
fn affine(words: [u32; 4]) -> Affine {
    let mut numbers = [0u32; 2];
    for place in 0..18 {
        let byte = words[place / 8] >> (place % 8 / 2 * 8);
        let digit = if place % 2 == 0 { byte >> 4 } else { byte } & 15;
        let decimal = if digit < 10 { digit } else { digit - 10 };
        numbers[place / 9] = numbers[place / 9] * 10 + decimal;
    }
    let [factor, offset] = numbers;
    Affine { factor, offset }
}

/// How a value is spelled. Days and moments go through their number, because no calendar names all of them.
fn text(value: Expr, data_type: &DataType) -> Expr {
    match data_type {
        DataType::Utf8View => value,
        DataType::Date32 => cast(cast(value, DataType::Int32), DataType::Utf8),
        DataType::Timestamp(..) => cast(cast(value, DataType::Int64), DataType::Utf8),
        _ => cast(value, DataType::Utf8),
    }
}

/// One spelling a number: −0.0 is 0.0, and every NaN is the same, whether or not the input is canonical. With built-in functions alone.
fn one_spelling(value: Expr, kind: Kind) -> Result<Expr> {
    if kind != Kind::Float {
        return Ok(value);
    }
    let infinite = |sign: f64| lit(f64::INFINITY * sign);
    let nan = value
        .clone()
        .gt(infinite(1.0))
        .or(value.clone().lt(infinite(-1.0)));
    let zero = value
        .clone()
        .gt_eq(lit(-0.0f64))
        .and(value.clone().lt_eq(lit(0.0f64)));
    when(nan, lit(f64::NAN)).when(zero, lit(0.0f64)).otherwise(value)
}

/// The same by the type of a column.
pub(crate) fn normalised(value: Expr, data_type: &DataType) -> Result<Expr> {
    match Kind::of(data_type) {
        Some(kind) => one_spelling(value, kind),
        None => Ok(value),
    }
}

/// The type of a column that may name units, groups or values: one of those that every column is read as.
pub(crate) fn known_type(schema: &DFSchema, column: &Column) -> Result<DataType> {
    let data_type = schema.field_from_column(column)?.data_type().clone();
    match Kind::of(&data_type) {
        Some(kind) if kind.data_type() == data_type => Ok(data_type),
        _ => plan_err!(
            "column {} is {data_type}, which cannot name a group or a person\nhint: cast it to int, float, text, bool, date or timestamp",
            column.name
        ),
    }
}

/// A digest as the operators evaluate it: the very expression of the relational plan, over new units or groups alone.
#[derive(Clone)]
pub(crate) struct Digest {
    expression: Arc<dyn PhysicalExpr>,
    schema: SchemaRef,
}

impl std::fmt::Debug for Digest {
    /// The expression holds the key.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Digest(..)")
    }
}

impl Digest {
    pub(crate) fn new(expression: Arc<dyn PhysicalExpr>, schema: SchemaRef) -> Self {
        Self { expression, schema }
    }

    /// The affine maps of units. There may be millions of them, so that integers and short texts are digested here.
    pub(crate) fn units(&self, unit: ArrayRef, secret: &Secret) -> Result<Vec<Affine>> {
        let mut text = secret.unit_prefix().into_bytes();
        let prefix = text.len();
        let mut affines = Vec::with_capacity(unit.len());
        let mut digests = Digests::new(|words| affines.push(affine(words)));
        if let Some(integers) = unit.as_primitive_opt::<Int64Type>()
            && prefix + LONGEST_INTEGER <= MOST_BYTES
        {
            let mut decimal = itoa::Buffer::new();
            for integer in integers.values() {
                text.truncate(prefix);
                text.extend_from_slice(decimal.format(*integer).as_bytes());
                digests.push(&text);
            }
            digests.flush();
            return Ok(affines);
        }
        if let Some(texts) = unit.as_string_view_opt()
            && texts
                .views()
                .iter()
                .all(|view| prefix + *view as u32 as usize <= MOST_BYTES)
        {
            for row in 0..texts.len() {
                text.truncate(prefix);
                text.extend_from_slice(texts.value(row).as_bytes());
                digests.push(&text);
            }
            digests.flush();
            return Ok(affines);
        }
        self.map(vec![unit], |digest| Affine {
            factor: number(digest, 0),
            offset: number(digest, 9),
        })
    }

    /// The numbers of groups.
    pub(crate) fn groups(&self, keys: Vec<ArrayRef>) -> Result<Vec<u32>> {
        self.map(keys, |digest| number(digest, 0))
    }

    fn map<T>(&self, columns: Vec<ArrayRef>, read: impl Fn(&[u8]) -> T) -> Result<Vec<T>> {
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        let digests = self.expression.evaluate(&batch)?.into_array(batch.num_rows())?;
        match digests.as_string_view_opt() {
            Some(digests) if digests.null_count() == 0 => Ok((0..digests.len())
                .map(|row| read(digests.value(row).as_bytes()))
                .collect()),
            _ => exec_err!("a digest is missing\nhint: this is a defect of Deniable; please report it"),
        }
    }
}

/// NULL of an integer: what a clamp leaves where there is nothing to clamp.
pub(crate) fn null_integer() -> Expr {
    lit(ScalarValue::Int64(None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_read_as_the_expression_reads_them() {
        assert_eq!(number(b"0123456789abcdef0123456789abcdef", 0), 12_345_678);
        assert_eq!(number(b"0123456789abcdef0123456789abcdef", 9), 901_234_501);
        assert_eq!(number(b"ffffffffffffffffffffffffffffffff", 9), 555_555_555);
    }

    #[test]
    fn remainders_are_those_of_a_division() {
        let largest = 999_999_999 * 999_999_999 + 999_999_999;
        let modulus = MODULUS as u64;
        for number in [0, 1, modulus - 1, modulus, modulus + 1, 2 * modulus, largest] {
            assert_eq!(u64::from(remainder(number)), number % modulus);
        }
        let mut number = 1u64;
        for _ in 0..10_000 {
            number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
            assert_eq!(u64::from(remainder(number >> 3)), (number >> 3) % modulus);
        }
    }

    #[test]
    fn a_secret_is_hexadecimal_and_does_not_print() {
        assert!(Secret::new("").is_err());
        assert!(Secret::new("x").is_err());
        assert!(Secret::new("a'b").is_err());
        assert_eq!(format!("{:?}", Secret::new("a1").unwrap()), "Secret(..)");
    }
}
