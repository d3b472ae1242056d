//! Why there is no answer. Depends on the query, the catalog and the budget, never on the data.

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The catalog cannot be used.
    #[error("{what}\nhint: {hint}")]
    Catalog {
        /// What is wrong, with the place in the file.
        what: String,
        /// What to do.
        hint: String,
    },
    /// The SQL is not SQL.
    #[error("this is not SQL that Deniable reads: {what}\nhint: {hint}")]
    Syntax {
        /// What the parser said.
        what: String,
        /// What to do.
        hint: String,
    },
    /// The SQL was understood and cannot be answered privately.
    #[error("{what}\nhint: {hint}")]
    Refused {
        /// What cannot be done, and why.
        what: String,
        /// What to do instead.
        hint: String,
    },
    /// The question must state what it may cost, and does not.
    #[error(
        "this question does not say what it may cost, and nothing is spent unasked\nhint: send an ε with it, or write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1) …; over the PostgreSQL wire, SET deniable.epsilon = 0.1 holds for the connection"
    )]
    NoEpsilon,
    /// The ε or δ of the question is a number for which there is no noise.
    #[error("{what}\nhint: {hint}; nothing was charged")]
    Quantity {
        /// What is wrong with it.
        what: String,
        /// What to ask with instead.
        hint: String,
    },
    /// The ledger said no, or could not be reached.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
    /// The budget does not allow this question.
    #[error("{}\nhint: {}", .0.what, .0.hint)]
    OverBudget(Box<OverBudget>),
    /// A mechanism cannot be built.
    #[error(transparent)]
    Mechanism(#[from] mechanism::Error),
    /// A quantity does not exist.
    #[error(transparent)]
    Accounting(#[from] accounting::Error),
    /// The engine failed on the way. What it said may quote data, so it is not reported.
    #[error(
        "the engine failed while it read {what} (incident {id}); what was charged stays charged\nhint: the curator finds the engine's own words under this id when DENIABLE_INCIDENTS names a directory"
    )]
    Engine {
        /// Which table or step, by its public name.
        what: String,
        /// A random name of this failure.
        id: String,
    },
    /// What was about to run could not be verified: a defect of ours. Nothing was charged.
    #[error(transparent)]
    Unverified(#[from] verify::Defect),
    /// A file cannot be read or written.
    #[error("{what}: {why}\nhint: {hint}")]
    File {
        /// What was tried.
        what: String,
        /// What the system said.
        why: std::io::ErrorKind,
        /// What to do.
        hint: String,
    },
}

/// What was asked for, what is left, and what would fit. Derived from parameters and earlier charges alone.
#[derive(Clone, Debug, PartialEq)]
pub struct OverBudget {
    /// In words.
    pub what: String,
    /// What to do, in words.
    pub hint: String,
    /// What the question costs.
    pub cost: String,
    /// The largest ε of one further release of any kind.
    pub left: accounting::Epsilon,
    /// The largest ε with which the same question fits now; `None` when none does.
    pub fits: Option<accounting::Epsilon>,
}

impl Error {
    pub(crate) fn refused(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused {
            what: what.into(),
            hint: hint.into(),
        }
    }

    pub(crate) fn catalog(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Catalog {
            what: what.into(),
            hint: hint.into(),
        }
    }
}
