//! Errors in questions to an audit.

/// Why an audit could not be made. No message carries an output or a sample.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Masses or densities that cannot add up to one, or are negative.
    #[error(
        "not a probability distribution: {reason}\nhint: masses are at least 0 and their total is exactly 1"
    )]
    NotADistribution {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Masses whose sum would be a fraction of enormous numbers.
    #[error(
        "the masses have no common denominator below 2^{bits}\nhint: write them with one denominator, such as 1000000"
    )]
    DenominatorTooLarge {
        /// How many bits it may have.
        bits: usize,
    },
    /// A scale, variance or spacing that must be above zero.
    #[error(
        "{parameter} must be positive\nhint: a mechanism without noise has no distribution to audit; check the units"
    )]
    NotPositive {
        /// Which one.
        parameter: &'static str,
    },
    /// Pieces of a density that overlap, are empty or are out of order.
    #[error(
        "the pieces of the density are out of order\nhint: each piece is [left, right) with left < right, and begins where the one before ended or later"
    )]
    PiecesOutOfOrder,
    /// An outer piece that does not fall off.
    #[error(
        "a piece of the density extends to infinity without falling off\nhint: use a positive slope towards minus infinity and a negative one towards plus infinity"
    )]
    PieceNeverEnds,
    /// Two finite distributions over different numbers of outcomes.
    #[error(
        "the two distributions have {left} and {right} outcomes\nhint: give both distributions the same outcomes in the same order, with mass 0 for the impossible"
    )]
    DifferentOutcomes {
        /// Outcomes of the first.
        left: usize,
        /// Outcomes of the second.
        right: usize,
    },
    /// Distributions of kinds that no rule here compares.
    #[error(
        "distributions of these two kinds cannot be compared\nhint: describe both sides with the same kind of distribution"
    )]
    Incomparable,
    /// An ε below zero.
    #[error("epsilon must not be negative\nhint: epsilon = 0 asks for the total variation distance")]
    NegativeEpsilon,
    /// A smallest ε beyond any use, and beyond what is computed.
    #[error(
        "the smallest epsilon is at least {largest}, and a larger one is not looked for\nhint: so large an epsilon protects nobody; ask for a larger delta, or for the smallest delta at an epsilon"
    )]
    EpsilonTooLarge {
        /// The largest that is looked for.
        largest: u32,
    },
    /// A δ outside [0, 1].
    #[error("delta must lie between 0 and 1\nhint: write 1e-6, not -6")]
    DeltaOutOfRange,
    /// The supremum of the privacy loss of a distribution known only through a function.
    #[error(
        "the largest privacy loss of these distributions is not known in closed form\nhint: ask for a delta above 0"
    )]
    NoClosedForm,
    /// Numbers so close that no precision tried could tell them apart.
    #[error(
        "undecided at {bits} bits: two numbers are too close to tell apart\nhint: give masses as exact rationals, or move delta or epsilon a little"
    )]
    Undecided {
        /// The highest precision tried.
        bits: u32,
    },
    /// So wide a distribution that summing over it would take too long.
    #[error(
        "the distribution is too wide to be summed term by term\nhint: use a coarser spacing; two discrete Laplace distributions on the same grid have no such limit"
    )]
    TooWide,
    /// A confidence or false-alarm rate that is not one.
    #[error("confidence must lie strictly between 0 and 1\nhint: 1 - 1e-9 is a good confidence")]
    ConfidenceOutOfRange,
    /// Counts of guesses that cannot be.
    #[error(
        "more right guesses than guesses, more guesses than canaries, or 2^32 canaries\nhint: the order is canaries, guesses, right ones"
    )]
    Miscounted,
    /// Too few draws to learn an event and test it.
    #[error("{samples} samples per side are too few\nhint: use at least {least}")]
    TooFewSamples {
        /// What was given.
        samples: u64,
        /// What would do.
        least: u64,
    },
    /// Nothing to run, or nothing to run it on.
    #[error(
        "no pair of inputs to compare, or nothing to run\nhint: give at least one pair of neighbouring inputs"
    )]
    NoPairs,
    /// Nothing to look at.
    #[error("no feature to look for differences in\nhint: start with Feature::standard()")]
    NoFeatures,
}
