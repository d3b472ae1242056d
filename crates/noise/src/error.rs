/// Why a sampler could not be made. Drawing itself never fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system gave no random bytes.
    #[error(
        "the operating system gave no random bytes ({0})\nhint: noise is never made from a weaker source; try again when the system has booted"
    )]
    NoEntropy(String),
    /// A scale of zero or less.
    #[error(
        "a noise scale must be positive (and for rounded Gaussian noise at least 2^-20 grid steps)\nhint: a scale of zero would be no noise at all; use a finer grid for less noise"
    )]
    ScaleNotPositive,
    /// A scale beyond what integers hold.
    #[error(
        "a noise scale of at most 2^50 grid steps is supported\nhint: use a coarser grid, or a smaller sensitivity"
    )]
    ScaleTooLarge,
    /// A probability below 0 or above 1.
    #[error("a probability must be between 0 and 1\nhint: percentages are hundredths: 20 % is 0.2")]
    NotAProbability,
    /// An exponent below 0 where e^-x must be a probability.
    #[error("the exponent of e^-x must not be negative\nhint: e^-x is a probability only for x of 0 or more")]
    NegativeExponent,
    /// Nothing to choose from.
    #[error(
        "a choice needs at least one candidate\nhint: give each candidate an exponent and a multiplicity, not all of which may be zero"
    )]
    NoCandidates,
    /// More candidates than a table can index.
    #[error("a choice among more than 2^26 candidates\nhint: choose a group first, then inside it")]
    TooManyCandidates,
    /// An empty range.
    #[error(
        "a uniform integer needs a positive number of values\nhint: the values are 0 up to one less than that number"
    )]
    EmptyRange,
}
