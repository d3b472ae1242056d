//! Exact and interval arithmetic.
//!
//! A privacy guarantee is an inequality between real numbers: `e^ε`, `ln 3`, `Φ(x)`. Computed in floating point it is
//! an inequality between *other* numbers, and nobody is reported by how much. In this crate a real number is either
//!
//! - a [`Rational`], exact; or
//! - an [`Interval`], two dyadic ends that certainly enclose it, as close together as asked for.
//!
//! Everything above draws bits and states bounds only from these. An `f64` appears only where a person or a
//! program reads a result, and its rounding direction is in the name: [`to_f64_up`], [`to_f64_down`].
//! ```
//! use exact::{Interval, decide, from_f64, parse_decimal, ratio};
//! use std::cmp::Ordering;
//!
//! // One tenth, and not the float next to it.
//! let tenth = parse_decimal("0.1")?;
//! assert_eq!(tenth, ratio(1, 10));
//! assert_ne!(Some(tenth), from_f64(0.1));
//!
//! // Is e^½ below 1.6488? At a precision at which it can be reported.
//! let bound = parse_decimal("1.6488")?;
//! let answer = decide(8, |bits| Interval::from_rational(&ratio(1, 2), bits).exp().compare(&bound));
//! assert_eq!(answer, Some(Ordering::Less));
//! # Ok::<(), exact::DecimalError>(())
//! ```

mod functions;
mod interval;
mod rational;

pub use dashu_int::{IBig as Integer, Sign, UBig as Natural};
pub use dashu_ratio::RBig as Rational;
pub use interval::Interval;
pub use rational::{
    DecimalError, decimal_at_least, decimal_at_most, floor_log2, format_decimal, from_f64, parse_decimal,
    power_of_two, ratio, to_f64_down, to_f64_nearest, to_f64_up,
};

/// Ask `question` at growing precision until it can answer.
///
/// `question(bits)` computes with intervals of `bits` fractional bits and returns `None` while they are too wide to
/// tell. Precision doubles from `start`. Returns `None` only when 2^20 bits do not suffice, which for the questions
/// asked here means that the two reals compared are equal; a caller treats that as the conservative answer.
pub fn decide<T>(start: u32, mut question: impl FnMut(u32) -> Option<T>) -> Option<T> {
    let mut bits = start.max(32);
    while bits <= 1 << 20 {
        if let Some(answer) = question(bits) {
            return Some(answer);
        }
        bits *= 2;
    }
    None
}
