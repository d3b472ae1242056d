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
    /// What was released does not fit its domain.
    #[error("this release is not of this domain\nhint: read it with the domain that it was made with")]
    OtherDomain,
}
