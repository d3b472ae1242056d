/// Why there is no plan or no table. Depends on declarations, never on data.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The mechanism refused its parameters.
    #[error(transparent)]
    Mechanism(#[from] mechanism::Error),
    /// A quantity of the accounting does not exist.
    #[error(transparent)]
    Accounting(#[from] accounting::Error),
    /// Two attributes of one name.
    #[error("two attributes are called {name}\nhint: give each attribute a name of its own")]
    NameTwice {
        /// The name.
        name: String,
    },
    /// More attributes than are counted.
    #[error(
        "{count} attributes are more than the 65,535 that a domain may have\nhint: leave out what no table needs"
    )]
    TooManyAttributes {
        /// How many.
        count: usize,
    },
    /// An attribute without values.
    #[error("{name} has no values\nhint: list its values, or give it bins")]
    NoValues {
        /// The attribute.
        name: String,
    },
    /// One label for two values.
    #[error("{name} has the value {label} twice\nhint: remove one of them")]
    LabelTwice {
        /// The attribute or level.
        name: String,
        /// The declared value.
        label: String,
    },
    /// Not every value has a parent.
    #[error(
        "level {level} gives {given} parents for {values} values\nhint: each value of the level below needs exactly one parent"
    )]
    ParentsMissing {
        /// The level.
        level: String,
        /// How many there are.
        given: usize,
        /// How many are needed.
        values: u32,
    },
    /// A parent that does not exist.
    #[error(
        "level {level} has {size} values, and a parent is none of them\nhint: parents are codes from 0 to one less than the number of values"
    )]
    ParentOutOfRange {
        /// The level.
        level: String,
        /// How many values it has.
        size: u32,
    },
    /// A parent without children.
    #[error("level {level} has a value without a child\nhint: remove it from the level")]
    Childless {
        /// The level.
        level: String,
    },
    /// Another number of labels than values.
    #[error("level {level} gives {given} labels for {values} values\nhint: give each value one label")]
    LabelsMissing {
        /// The level.
        level: String,
        /// How many there are.
        given: usize,
        /// How many are needed.
        values: u32,
    },
    /// An attribute twice in one table.
    #[error("a table has an attribute twice\nhint: use it once, at the finest level that is wanted")]
    AttributeTwice,
    /// An attribute that does not exist.
    #[error("there is no attribute {place}\nhint: attributes are counted from 0 in the order of the domain")]
    NoAttribute {
        /// Its place.
        place: usize,
    },
    /// A level that does not exist.
    #[error(
        "{name} has no level {level}\nhint: level 0 is the finest; further ones are those that were declared"
    )]
    NoLevel {
        /// The attribute.
        name: String,
        /// The level.
        level: usize,
    },
    /// Ranges of values without an order.
    #[error(
        "ranges and prefixes of {name} need values in an order, at the finest level\nhint: declare {name} as ordered"
    )]
    NotOrdered {
        /// The attribute.
        name: String,
    },
    /// Another number of factors than values.
    #[error(
        "{given} factors are given for the {values} values of {name}\nhint: give each value one factor: 1 counts its rows, 0 leaves them out"
    )]
    FactorsMissing {
        /// The attribute.
        name: String,
        /// How many there are.
        given: usize,
        /// How many are needed.
        values: u32,
    },
    /// Too many values for ranges.
    #[error(
        "{name} has {values} values, and ranges are planned for up to {most}\nhint: put the values in bins, or ask for cells at coarser levels"
    )]
    TooManyForRanges {
        /// The attribute.
        name: String,
        /// How many it has.
        values: u32,
        /// How many it may have.
        most: usize,
    },
    /// No tables.
    #[error("no table is wanted\nhint: list a table, or ask for all up to 2 attributes")]
    NothingWanted,
    /// A weight that is no positive number.
    #[error("a weight must be a positive number\nhint: 1 counts a table once, 2 twice")]
    BadWeight,
    /// More memory than is allowed.
    #[error("this plan needs {needed} bytes of memory, and {allowed} are allowed\nhint: {fits}")]
    TooLarge {
        /// What it needs.
        needed: u64,
        /// What it may have.
        allowed: u64,
        /// What would fit.
        fits: String,
    },
    /// A shape that the measurements do not cover.
    #[error(
        "this table does not follow from what was measured\nhint: it needs attributes, or levels, that no table of the plan has together"
    )]
    NotCovered,
    /// A promise that a plan cannot keep.
    #[error("{what}\nhint: {hint}")]
    BadPromise {
        /// What is wrong.
        what: &'static str,
        /// What to do.
        hint: &'static str,
    },
    /// Measurements that do not fit their plan.
    #[error(
        "these measurements are not of this plan\nhint: read them with the plan that they were made with"
    )]
    OtherPlan,
}
