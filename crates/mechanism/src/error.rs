use crate::Refusal;

/// Why nothing was released. Depends on parameters, never on data.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The ledger did not take the charge; nothing was drawn.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A quantity of the accounting does not exist.
    #[error(transparent)]
    Accounting(#[from] accounting::Error),
    /// No sampler with these parameters.
    #[error(transparent)]
    Noise(#[from] noise::Error),
    /// ε of zero allows no information at all.
    #[error("ε must be positive: at ε = 0 the answer may not depend on the data\nhint: try 0.1 or 1")]
    NoEpsilon,
    /// δ of zero where the mechanism needs one.
    #[error(
        "this mechanism needs δ > 0\nhint: a common choice is well below one over the number of people, such as 1e-6"
    )]
    NoDelta,
    /// A sensitivity of zero or less, or norms that contradict each other.
    #[error(
        "a sensitivity must be positive, and ℓ∞ ≤ ℓ2 ≤ ℓ1\nhint: it is how far one unit can move the value, in grid steps; for a count it is 1"
    )]
    BadSensitivity,
    /// The aggregate moves further than the mechanism was calibrated for.
    #[error(
        "the mechanism was calibrated for a smaller sensitivity than the aggregate has\nhint: build it with the aggregate's own sensitivity"
    )]
    SensitivityMismatch,
    /// The aggregate protects another unit than the account.
    #[error(
        "the aggregate is about another privacy unit than the account\nhint: an account's budget protects one kind of unit; open another account"
    )]
    UnitMismatch,
    /// The aggregate lives on another grid than the mechanism's noise.
    #[error(
        "the mechanism was calibrated for another grid than the aggregate's\nhint: build it with the aggregate's own grid"
    )]
    GridMismatch,
    /// The mechanism's proof needs another relation of neighbours.
    #[error(
        "this mechanism is proved for other neighbours than the aggregate's\nhint: mechanisms that answer for each unit protect a changed unit, not an added one"
    )]
    NeighborsMismatch,
    /// A session that was copied into a forked process.
    #[error(
        "the process forked since this session was charged\nhint: one charge answers one session; open another in the child"
    )]
    Forked,
    /// A draw that was not charged for, or was made already.
    #[error(
        "this draw was not reserved, or was made already\nhint: what was charged together is drawn once each, with the mechanisms that were charged"
    )]
    NotReserved,
    /// A saved run that this ledger was never charged for.
    #[error(
        "this ledger holds no charge for the saved run\nhint: resume it with the ledger and the plan that it began with; a new run is a new charge"
    )]
    NotCharged,
    /// A period of a series that is not the next one, nor the one before it.
    #[error(
        "period {asked} cannot be released now: the next period of this series is {next}\nhint: periods are released in order, each once; what was released before is in the saved answers"
    )]
    NotTheNextPeriod {
        /// Which period was asked for.
        asked: u64,
        /// Which one is next.
        next: u64,
    },
    /// The state of a series could not be saved, so nothing was drawn.
    #[error(
        "the series could not be saved, and nothing was released: {0}\nhint: make room or mend the place where it is kept, and release the same period again"
    )]
    NotSaved(String),
    /// A list of answers that a survey cannot ask for.
    #[error("the list of answers {what}\nhint: {hint}")]
    BadAnswers {
        /// What is wrong with it.
        what: &'static str,
        /// What to do about it.
        hint: &'static str,
    },
    /// γ where it has no meaning.
    #[error("γ is for randomized response between two answers\nhint: say how much noise with ε instead")]
    GammaIsBinary,
    /// A parameter outside its range.
    #[error("{what} must be {range}")]
    OutOfRange {
        /// Which parameter.
        what: &'static str,
        /// What it may be.
        range: &'static str,
    },
}
