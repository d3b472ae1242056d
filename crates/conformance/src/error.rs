//! Why a check could not be made.

/// Why a check could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A name that no mechanism has.
    #[error("no mechanism is called `{name}`\nhint: the names are {known}")]
    NoSuchMechanism {
        /// The name.
        name: String,
        /// All names there are.
        known: String,
    },
    /// A mechanism, or a method, refused to run.
    #[error("{0}")]
    Failed(String),
}

impl Error {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self::Failed(what.into())
    }
}

/// An error of another crate, which has its hint in its text.
pub(crate) fn explained(error: impl std::fmt::Display) -> Error {
    Error::new(error.to_string())
}
