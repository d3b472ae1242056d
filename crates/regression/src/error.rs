/// Why there is no fit. Depends on declarations and on what was released, never on data that was not.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A formula that is none.
    #[error("{what}\nhint: {hint}")]
    Formula {
        /// What is wrong.
        what: String,
        /// What to do.
        hint: String,
    },
    /// A variable that cannot be used as the formula uses it.
    #[error("{what}\nhint: {hint}")]
    Variable {
        /// What is wrong.
        what: String,
        /// What to do.
        hint: String,
    },
    /// More than is fitted.
    #[error("{what}\nhint: {hint}")]
    TooLarge {
        /// What is too large.
        what: String,
        /// What to do.
        hint: String,
    },
    /// The noise is larger than what would be estimated.
    #[error(
        "the noise is too large for this model: {what}\nhint: fit fewer or coarser regressors (free, from the same release), or spend about {times} times the ε"
    )]
    TooNoisy {
        /// What cannot be told.
        what: String,
        /// How many times the ε would do.
        times: String,
    },
    /// An iteration that does not end.
    #[error(
        "the fit does not converge: some group has only one outcome, or the noise makes it look so\nhint: leave that regressor out, merge its values, or spend a larger ε"
    )]
    Diverges,
    /// A release that does not tell what the model needs.
    #[error("{what}\nhint: {hint}")]
    NotCovered {
        /// What is missing.
        what: String,
        /// What to do.
        hint: String,
    },
    /// Numbers that do not fit the cells.
    #[error(
        "these numbers are not those of these cells\nhint: pass one list for each statistic, with a number for each cell"
    )]
    OtherCells,
}

impl Error {
    pub(crate) fn variable(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Variable {
            what: what.into(),
            hint: hint.into(),
        }
    }

    /// The noise is `ratio` standard deviations from what is estimated, and has to be `needed`.
    pub(crate) fn noisy(what: impl Into<String>, ratio: f64, needed: f64) -> Self {
        let times = match ratio > 0.0 {
            true => format!("{:.0}", (needed / ratio).ceil().clamp(2.0, 1e6)),
            false => "10".to_owned(),
        };
        Self::TooNoisy {
            what: what.into(),
            times,
        }
    }
}
