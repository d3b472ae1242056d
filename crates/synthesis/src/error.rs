/// Why there is no plan or no model. Depends on declarations, never on data.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The mechanism refused its parameters.
    #[error(transparent)]
    Mechanism(#[from] mechanism::Error),
    /// A quantity of the accounting does not exist.
    #[error(transparent)]
    Accounting(#[from] accounting::Error),
    /// No attributes.
    #[error("there are no attributes to make rows of\nhint: declare `values` or `bounds` of the columns")]
    NoAttributes,
    /// More attributes than a model has.
    #[error("{count} attributes are more than the {most} that a model may have\nhint: name fewer columns")]
    TooManyAttributes {
        /// How many.
        count: usize,
        /// How many may be.
        most: usize,
    },
    /// A wanted table that the domain does not have.
    #[error(
        "a wanted table names an attribute that is not there, or one twice\nhint: name each attribute once"
    )]
    NoSuchTable,
    /// A table larger than the model may be.
    #[error(
        "one attribute has {cells} values, and the whole model may have {most} cells\nhint: use wider bins, or a larger model"
    )]
    TooLarge {
        /// How many cells.
        cells: u64,
        /// How many may be.
        most: u64,
    },
    /// A rule of impossible rows that the domain does not have.
    #[error(
        "rows that cannot be are declared of an attribute or a value that is not there\nhint: name declared values of columns that rows are made with"
    )]
    NoSuchRule,
    /// Rules that hold too many attributes together.
    #[error(
        "the rows that cannot be are declared by columns that need a model of {cells:.0} cells, and it may have {most}\nhint: allow {cells:.0} cells, use wider bins, or declare fewer columns together"
    )]
    RulesTooLarge {
        /// How many cells they need.
        cells: f64,
        /// How many may be.
        most: u64,
        /// The attributes of the rule that needs the most.
        widest: Vec<usize>,
    },
    /// Rules that every row breaks.
    #[error(
        "no row is possible: each one is declared impossible\nhint: drop or narrow a rule under `impossible`"
    )]
    NoRowIsPossible,
    /// Every wanted table was measured.
    #[error(
        "every table that matters was measured, so none is left to check the rows with\nhint: the report without a check says how far the rows are from what was measured; name more tables with --workload, for another charge"
    )]
    NothingHeldOut,
    /// The price of a check that no noise has.
    #[error("a check at this ε would be nothing but noise\nhint: say a larger ε for it, such as 0.1")]
    CheckTooSmall,
    /// What was released does not fit its domain.
    #[error("this release is not of this domain\nhint: read it with the domain that it was made with")]
    OtherDomain,
}
