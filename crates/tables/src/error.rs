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
    /// A node with a parent that is not there.
    #[error(
        "a node of level {level} has a parent that does not exist\nhint: parents are places in the level above, from 0 on; the root is level 0"
    )]
    NoSuchParent {
        /// The level of the node.
        level: usize,
    },
    /// A node with nothing below it.
    #[error(
        "a node of level {level} has no child\nhint: all nodes of a hierarchy reach the last level; give it one child that is the same"
    )]
    NoChildren {
        /// The level of the node.
        level: usize,
    },
    /// Numbers that do not fit a hierarchy or a table.
    #[error(
        "these numbers are not those of this hierarchy\nhint: pass one number for each node and cell, level by level"
    )]
    OtherHierarchy,
    /// A variance that no measurement has.
    #[error(
        "a variance must be at least 0, and finite on the last level\nhint: 0 is for what is exact, infinity for what was not measured, which the last level has to be"
    )]
    BadVariance,
    /// A confidence that is none.
    #[error(
        "joint intervals need a confidence between 0 and 1 and at least one cell\nhint: 0.95 is a common choice"
    )]
    BadConfidence,
    /// Too few simulations to tell.
    #[error("so few simulations do not tell the largest error\nhint: take at least {needed}")]
    TooFewSimulations {
        /// How many it takes.
        needed: u64,
    },
    /// More combinations of values than are held.
    #[error(
        "the full table has more than {allowed} cells\nhint: leave out an attribute, or publish the unbiased tables, which agree as they are"
    )]
    FullTableTooLarge {
        /// How many it may have.
        allowed: u64,
    },
    /// A series that was begun before.
    #[error(
        "this series was begun already, and nothing was charged\nhint: go on with it, or give the new one another file"
    )]
    SeriesExists,
    /// A series that another process has open.
    #[error(
        "another process has this series open\nhint: wait until it ends; a second release would be another one that nobody paid for"
    )]
    SeriesInUse,
    /// The state of a series is not whole.
    #[error(
        "the file of this series is damaged, and nothing was released\nhint: put back the last copy of it, and no older one: an older one would release periods again, with other noise"
    )]
    SeriesDamaged,
    /// The state of a series cannot be read or written.
    #[error(
        "the file of this series cannot be used: {0}\nhint: nothing was released; make room or mend the folder, and run the same period again"
    )]
    SeriesFile(String),
    /// Totals of another series, or in the wrong order.
    #[error(
        "a window is between two totals of one series, the later one first\nhint: pass the totals as they were released"
    )]
    OtherSeries,
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
