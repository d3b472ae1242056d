//! A bound on the length of what one unit adds to all groups together.
//!
//! A limit of k groups with r rows in each pays for k × r rows, whoever has them. Most units have far fewer, so a bound on the length of a unit's numbers over all groups costs less noise:
//! the sum of their distances from zero for Laplace noise, the square root of the sum of their squares for Gaussian noise. A vector that is longer is scaled down as a whole.
//!
//! # Privacy
//! Claim: let v be what a unit adds to the number [`Length::of`] in its groups, in steps that are finer by [`Length::finer`] bits. Then ‖v‖ ≤ [`Length::most`], in the norm of the
//! length. What it adds to a number of [`Length::with`], in its own finer steps, has a norm of at most [`Length::follows`], which is `each` × `most` in these steps. Both are functions of the unit's own rows and of the query's key.
//! Proof: let w be the unit's vector before, and r its norm, rounded up to an integer. Where r ≤ `most`, v = w. Else each number is w·`most`/r, rounded toward zero, so that its
//! distance from zero is at most that of w·`most`/r, and norms keep the order of distances: ‖v‖ ≤ ‖w‖·`most`/r ≤ `most`. A number of [`Length::with`] is clamped to `each` × the
//! number of [`Length::of`] in its own steps, and scaled by the same factor: its norm is at most `each` times that of the first, in those steps. r is a function of the numbers of this unit in
//! the groups that count, which are a function of its rows and of the key ([`super`]).
//! Nothing overflows: a number is at most 2⁵² steps from zero, so that its square times [`MOST_GROUPS_OF_A_VECTOR`] groups is below 2¹¹⁴, and what is scaled is below 2¹⁰⁴ before it is divided.
//! Audited by: `a_vector_is_no_longer_than_its_bound` and `all_forms_agree`, and in `sql` by the hunter and `a_vector_that_is_not_scaled_is_noticed`.

use super::Partial;
use super::registers::Reading;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, Int64Array};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Int64Type};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How a length is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Norm {
    /// The sum of distances from zero.
    One,
    /// The square root of the sum of squares.
    Two,
}

/// A bound on the length of a unit's numbers over all groups that count.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Length {
    /// Whose length it is, by its place among the numbers of a group.
    pub of: usize,
    /// How it is measured.
    pub norm: Norm,
    /// By how many bits the steps of this number are finer than those of its argument, so that a part of a row can count.
    pub finer: u32,
    /// How long it may be, in these finer steps.
    pub most: u64,
    /// Numbers that are scaled by the same factor.
    pub with: Vec<Follower>,
}

/// A number that is scaled with another.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Follower {
    /// Its place among the numbers of a group.
    pub place: usize,
    /// How far it is from zero at most, for each 1 of the number whose length is bounded.
    pub each: u64,
    /// By how many bits its steps are finer than those of its argument.
    pub finer: u32,
}

/// In how many groups a unit may be whose vector is bounded.
pub const MOST_GROUPS_OF_A_VECTOR: u64 = 1024;

/// No number of a vector is farther from zero.
const FARTHEST: u64 = 1 << 52;
/// No number is clamped farther from zero because of the number that it goes with.
const MOST_WITH: u64 = 1 << 62;

impl Length {
    /// How long the numbers are that are scaled with the one whose length is bounded.
    pub fn follows(&self, follower: &Follower) -> u64 {
        let longest = u128::from(follower.each) * u128::from(self.most);
        let longest = longest.checked_mul(1 << follower.finer);
        let longest = longest.map(|longest| longest.div_ceil(1 << self.finer));
        longest
            .and_then(|longest| u64::try_from(longest).ok())
            .unwrap_or(u64::MAX)
    }

    /// Whether there are such numbers, none of them twice, and nothing overflows.
    pub(crate) fn all_make_sense(lengths: &[Self], partials: &[Partial]) -> bool {
        let mut places: Vec<usize> = lengths
            .iter()
            .flat_map(|length| {
                let with = length.with.iter().map(|follower| follower.place);
                std::iter::once(length.of).chain(with)
            })
            .collect();
        let named = places.len();
        places.sort_unstable();
        places.dedup();
        let near = |place: usize, finer: u32| {
            let (low, high) = partials[place].ends();
            finer < 52 && low.unsigned_abs().max(high.unsigned_abs()) <= FARTHEST >> finer
        };
        places.len() == named
            && places.last().is_none_or(|last| *last < partials.len())
            && lengths.iter().all(|length| {
                let (low, high) = partials[length.of].ends();
                let farthest = low.unsigned_abs().max(high.unsigned_abs());
                let follows = |follower: &Follower| {
                    let product = follower.each.checked_mul(farthest);
                    near(follower.place, follower.finer)
                        && product.is_some_and(|product| product <= MOST_WITH)
                };
                near(length.of, length.finer)
                    && (1..=FARTHEST).contains(&length.most)
                    && length.with.iter().all(follows)
            })
    }
}

/// How a number of a unit in a group is scaled.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scaling {
    /// It is not.
    None,
    /// By the length of its own vector, this one of the lengths.
    Own { length: usize },
    /// By that of another number.
    With { length: usize, each: u64, finer: u32 },
}

/// How lengths are read from registers.
#[derive(Clone, Debug, Default)]
pub(crate) struct LengthReadings {
    lengths: Vec<Length>,
    /// For each number of a group.
    scalings: Vec<Scaling>,
}

impl LengthReadings {
    pub(crate) fn new(lengths: &[Length], numbers: usize) -> Self {
        let mut scalings = vec![Scaling::None; numbers];
        for (place, length) in lengths.iter().enumerate() {
            scalings[length.of] = Scaling::Own { length: place };
            for follower in &length.with {
                scalings[follower.place] = Scaling::With {
                    length: place,
                    each: follower.each,
                    finer: follower.finer,
                };
            }
        }
        Self {
            lengths: lengths.to_vec(),
            scalings,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    pub(crate) fn list(&self) -> &[Length] {
        &self.lengths
    }

    pub(crate) fn scaling(&self, place: usize) -> Scaling {
        self.scalings[place]
    }

    /// No group was seen yet.
    pub(crate) fn start(&self, sums: &mut Vec<u128>) {
        sums.clear();
        sums.resize(self.lengths.len(), 0);
    }

    /// Adds a group to what lengths are made of.
    #[inline]
    pub(crate) fn measure(&self, readings: &[Reading], registers: &[i64], sums: &mut [u128]) {
        for (length, sum) in self.lengths.iter().zip(sums) {
            *sum += length
                .norm
                .part(readings[length.of].of(registers) << length.finer);
        }
    }

    /// Makes factors of the sums, and says whether one of them shortens a vector.
    pub(crate) fn finish(&self, sums: &mut [u128]) -> bool {
        let mut over = false;
        for (length, sum) in self.lengths.iter().zip(sums) {
            *sum = length.norm.of(*sum);
            over |= *sum > u128::from(length.most);
        }
        over
    }

    /// What counts of a number in a group.
    #[inline]
    pub(crate) fn scaled(
        &self,
        place: usize,
        readings: &[Reading],
        registers: &[i64],
        norms: &[u128],
    ) -> i64 {
        let number = readings[place].of(registers);
        match self.scalings[place] {
            Scaling::None => number,
            Scaling::Own { length } => {
                let one = &self.lengths[length];
                shortened(number << one.finer, one.most, norms[length])
            }
            Scaling::With { length, each, finer } => {
                let one = &self.lengths[length];
                let most = most_with(readings[one.of].of(registers), each);
                shortened(number.clamp(-most, most) << finer, one.most, norms[length])
            }
        }
    }
}

/// How far a number may be from zero that goes with another.
#[inline]
fn most_with(number: i64, each: u64) -> i64 {
    number.unsigned_abs().saturating_mul(each).min(MOST_WITH) as i64
}

impl Norm {
    /// What a number adds to the sum that a length is made of.
    #[inline]
    fn part(self, number: i64) -> u128 {
        let distance = u128::from(number.unsigned_abs());
        match self {
            Self::One => distance,
            Self::Two => distance * distance,
        }
    }

    /// The length, rounded up, from the sum of distances or squares.
    fn of(self, sum: u128) -> u128 {
        match self {
            Self::One => sum,
            Self::Two => {
                let root = sum.isqrt();
                root + u128::from(root * root < sum)
            }
        }
    }
}

/// A number of a vector that is so long, where it may be `most` long: rounded toward zero.
#[inline]
fn shortened(number: i64, most: u64, length: u128) -> i64 {
    if length <= u128::from(most) {
        return number;
    }
    let part = u128::from(number.unsigned_abs()) * u128::from(most) / length;
    // No more than the number itself.
    let part = part as i64;
    if number < 0 { -part } else { part }
}

/// What the built-in form computes of vectors, as functions that have an equal in other languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VectorStep {
    /// What a number adds to the sum that a length is made of: its distance from zero, or its square.
    Part(Norm),
    /// 1 where the sum says that the vector is longer than this, and 0 elsewhere.
    TooLong(Norm, u64),
    /// What counts of a number, given the sum, where the vector may be so long.
    Shortened(Norm, u64),
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct VectorFunction {
    step: VectorStep,
    signature: Signature,
}

/// A sum of distances or squares.
const SUM: DataType = DataType::Decimal128(38, 0);

impl VectorStep {
    pub(crate) fn call(self, arguments: Vec<Expr>) -> Expr {
        let types = match self {
            Self::Part(_) => vec![DataType::Int64],
            Self::TooLong(..) => vec![SUM],
            Self::Shortened(..) => vec![DataType::Int64, SUM],
        };
        let function = VectorFunction {
            step: self,
            signature: Signature::exact(types, Volatility::Immutable),
        };
        ScalarUDF::from(function).call(arguments)
    }

    /// Reads such a function back, for who writes a plan in another language.
    pub fn of(function: &ScalarUDF) -> Option<Self> {
        let function = function.inner().downcast_ref::<VectorFunction>()?;
        Some(function.step)
    }
}

impl ScalarUDFImpl for VectorFunction {
    fn name(&self) -> &str {
        match self.step {
            VectorStep::Part(_) => "part_of_length",
            VectorStep::TooLong(..) => "too_long",
            VectorStep::Shortened(..) => "shortened",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.step {
            VectorStep::Part(_) => SUM,
            VectorStep::TooLong(..) | VectorStep::Shortened(..) => DataType::Int64,
        })
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns = arguments.args.iter();
        let columns = columns.map(|column| column.to_array(arguments.number_rows));
        let columns: Vec<ArrayRef> = columns.collect::<Result<_>>()?;
        let integer = |place: usize, row: usize| {
            let values = columns[place].as_primitive::<Int64Type>();
            values.is_valid(row).then(|| values.value(row))
        };
        let sum = |place: usize, row: usize| {
            let sums = columns[place].as_primitive::<Decimal128Type>();
            if sums.is_valid(row) {
                sums.value(row).unsigned_abs()
            } else {
                0
            }
        };
        let rows = 0..arguments.number_rows;
        let result: ArrayRef = match self.step {
            VectorStep::Part(norm) => {
                let parts = rows.map(|row| integer(0, row).map(|number| norm.part(number) as i128));
                Arc::new(Decimal128Array::from_iter(parts).with_data_type(SUM))
            }
            VectorStep::TooLong(norm, most) => Arc::new(Int64Array::from_iter_values(
                rows.map(|row| i64::from(norm.of(sum(0, row)) > u128::from(most))),
            )),
            VectorStep::Shortened(norm, most) => {
                Arc::new(Int64Array::from_iter(rows.map(|row| {
                    integer(0, row).map(|number| shortened(number, most, norm.of(sum(1, row))))
                })))
            }
        };
        Ok(ColumnarValue::Array(result))
    }
}
