//! Why a plan is not run. Each reason has a number, which is all that an analyst is told: it is a defect of Deniable, and never of the question.

use std::fmt;

/// What a plan does that no rule allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// Which kind.
    pub kind: Kind,
    /// The operator at which it was found, and what it was about, for people who look for the defect. Names of columns, types and numbers of the plan; no value of the data.
    pub at: String,
}

/// The kinds of defects. Their numbers do not change from version to version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// The operator has no rule.
    Operator = 1,
    /// Nobody says whose rows a scan reads.
    Scan = 2,
    /// The operator keeps some rows by what other rows are: a limit, or a filter that is learned.
    Limit = 3,
    /// A column that names the owner is lost, replaced or converted so that two owners may become one.
    Owner = 4,
    /// The sides of a union do not name the owner in the same column.
    Union = 5,
    /// A join in which private rows meet rows of others.
    Join = 6,
    /// A window or a ranking that is not inside of one owner's rows, or depends on the order of equal rows.
    Window = 7,
    /// A GROUP BY over one owner's rows and others, where what each owner adds is not bounded.
    Unbounded = 8,
    /// Rows of one group are not in one place, or rows are not in the order that an operator relies on.
    Place = 9,
    /// An aggregate function that is not on the list.
    Aggregate = 10,
    /// An expression that is not on the list: not a function of one row, or one that may raise an error.
    Expression = 11,
    /// One row a unit is relied on, and nobody promised it.
    OneRow = 12,
    /// Rows of nobody would be counted.
    Nobody = 13,
    /// What is done with totals after they were made.
    Totals = 14,
    /// There is no such number in what the plan gives.
    Number = 15,
    /// One unit can move a number further than is claimed.
    Sensitivity = 16,
    /// The noise is made for less than is claimed.
    Noise = 17,
    /// What is charged is not what is drawn.
    Charge = 18,
    /// The neighbours that the charge speaks of are not those of the noise.
    Neighbors = 19,
}

impl Defect {
    pub(crate) fn new(kind: Kind, at: impl Into<String>) -> Self {
        Self { kind, at: at.into() }
    }

    /// The number by which it is reported.
    pub fn number(&self) -> u8 {
        self.kind as u8
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "this query is not run, because it could not be verified (V{:02}); nothing was charged\nhint: this is a defect of Deniable; please report the query and the number",
            self.number()
        )
    }
}

impl std::error::Error for Defect {}
