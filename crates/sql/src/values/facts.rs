//! What is known of a column before anybody looks at data.

pub use bound::Kind;
use std::sync::Arc;

/// A closed range of numbers. Ends are finite and in order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The smallest value.
    pub low: f64,
    /// The largest value.
    pub high: f64,
}

impl Range {
    /// `None` unless both ends are finite and in order.
    pub fn new(low: f64, high: f64) -> Option<Self> {
        // There is one zero, as among values.
        (low.is_finite() && high.is_finite() && low <= high).then_some(Self {
            low: low + 0.0,
            high: high + 0.0,
        })
    }

    /// The smallest range that holds both.
    pub fn hull(self, other: Self) -> Self {
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }
}

/// One public value: what a group may be called.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// SQL's NULL.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A finite float.
    Float(f64),
    /// Text.
    Text(String),
    /// A day, in days since 1970-01-01.
    Date(i32),
    /// A moment, in microseconds since 1970-01-01.
    Timestamp(i64),
}

/// What is known of a column or of an expression over private rows: public knowledge, from the catalog and the query alone.
///
/// A range is what the query will clamp to, not a promise about data, so a wrong one costs accuracy and never privacy.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// What kind of value it is.
    pub kind: Kind,
    /// Numbers are clamped to this before they count. `None`: unknown, so it cannot be summed. Of dates and timestamps these are the first and the last for which
    /// groups are listed, as days or microseconds since 1970.
    pub range: Option<Range>,
    /// Where no range is known: the least that this number can be, as 0 of a count.
    pub at_least: Option<f64>,
    /// All values it can take (without NULL), if they are public. A row with another value is in no group; elsewhere the value is what it is.
    pub values: Option<Arc<[Value]>>,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// Whether all rows of one unit have the same value, so that it is a property of the unit.
    pub of_unit: bool,
    /// Whether PostgreSQL would call this number `numeric`: divided it has a fraction even where it is whole, and its halves are rounded away from zero.
    pub numeric: bool,
    /// Whether PostgreSQL would call this integer a `double precision`, as `floor` gives it: divided it has a fraction too.
    pub double: bool,
}

impl Facts {
    /// Nothing known but the kind.
    pub fn unknown(kind: Kind) -> Self {
        Self {
            kind,
            range: None,
            at_least: None,
            values: None,
            nullable: true,
            of_unit: false,
            numeric: false,
            double: false,
        }
    }
}
