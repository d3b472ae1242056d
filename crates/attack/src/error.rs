//! What can go wrong.

/// Why an attack could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A setting makes no sense.
    #[error("{what}\nhint: {hint}")]
    BadSetting {
        /// What is wrong.
        what: String,
        /// What to do about it.
        hint: String,
    },
    /// A mechanism of ours could not be built or run.
    #[error(transparent)]
    Mechanism(#[from] mechanism::Error),
    /// A quantity of the accounting does not exist.
    #[error(transparent)]
    Accounting(#[from] accounting::Error),
    /// A solver failed, or gave an answer that its input does not allow.
    #[error(
        "the solver failed: {0}\nhint: nothing it found is believed; another solver or a smaller table may do"
    )]
    Solver(String),
}

impl From<Error> for files::document::Mistake {
    fn from(error: Error) -> Self {
        Self::of(&error)
    }
}

impl Error {
    /// A setting that makes no sense, and what to do about it.
    pub fn bad_setting(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::BadSetting {
            what: what.into(),
            hint: hint.into(),
        }
    }
    /// What a solver says of its own failure.
    pub(crate) fn solver(cause: &impl std::fmt::Display) -> Self {
        Self::Solver(cause.to_string())
    }
}
