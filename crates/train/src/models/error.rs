//! What is wrong with a model's shape or a batch.

/// A shape that makes no model, or examples that do not fit one. Never a value of the data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// A size that must be at least 1, or is too large.
    #[error("{what} is {value}\nhint: it must be between {low} and {high}")]
    Size {
        /// Which size.
        what: &'static str,
        /// What was asked for.
        value: usize,
        /// The least.
        low: usize,
        /// The most.
        high: usize,
    },
    /// Heads that do not divide the width.
    #[error(
        "{heads} heads do not divide a width of {width}\nhint: take a width that is a multiple of the number of heads"
    )]
    Heads {
        /// How many heads.
        heads: usize,
        /// The width.
        width: usize,
    },
    /// A share of activations to drop that is not one.
    #[error("the share of activations to drop is not at least 0 and less than 1")]
    Dropout,
    /// Examples whose parts disagree in length.
    #[error("{what}: expected {expected} entries, found {found}")]
    Length {
        /// Which part.
        what: &'static str,
        /// As the other parts have it.
        expected: usize,
        /// As given.
        found: usize,
    },
    /// A token or label outside its range. Which one is not said: it is data.
    #[error(
        "a {what} is not below {limit}\nhint: it must come from the vocabulary or the list of labels that the model was made for"
    )]
    Range {
        /// A token or a label.
        what: &'static str,
        /// How many there are.
        limit: usize,
    },
    /// Text without a token to predict from.
    #[error("nothing to continue: the text before has no token")]
    NoContext,
}

/// Sizes above this are mistakes, and would overflow products.
pub(super) const LARGEST: usize = 1 << 24;

/// Checks a size.
pub(super) fn size(what: &'static str, value: usize) -> Result<(), ModelError> {
    if (1..=LARGEST).contains(&value) {
        return Ok(());
    }
    Err(ModelError::Size {
        what,
        value,
        low: 1,
        high: LARGEST,
    })
}

/// Checks a share to drop.
pub(super) fn share(share: f64) -> Result<(), ModelError> {
    if (0.0..1.0).contains(&share) {
        Ok(())
    } else {
        Err(ModelError::Dropout)
    }
}
