use accounting::Epsilon;
use std::path::PathBuf;

/// Why nothing was trained, saved or read. No message carries a value of the data, and each says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The trainer refuses: the plan, the model, the checkpoint or the charge.
    #[error(transparent)]
    Train(#[from] train::Error),
    /// Text or a vocabulary that cannot be used.
    #[error(transparent)]
    Text(#[from] train::text::TextError),
    /// A catalog or a table that cannot be used.
    #[error(transparent)]
    Sql(#[from] sql::Error),
    /// The ledger refuses, or cannot be opened.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
    /// There is no such GPU.
    #[error(transparent)]
    Device(#[from] device::CudaError),
    /// The run costs more than is left. Nothing was charged.
    #[error("{0}")]
    OverBudget(Box<OverBudget>),
    /// The number of units is needed, and nobody stated it.
    #[error(
        "about how many {whose}s are there?\nhint: state a number that is public anyway, or declare that the number of units of a text is no secret"
    )]
    UnknownSize {
        /// Whom the guarantee protects.
        whose: String,
    },
    /// A row of the text, which is the privacy unit, would not be what the model sees as one.
    #[error(
        "the privacy unit is a row of {unit} tokens, and the model reads rows of {model}\nhint: give the source and the description of the model the same length"
    )]
    OtherLength {
        /// The length of the source.
        unit: usize,
        /// The length of the model.
        model: usize,
    },
    /// The curator decides whether the number of units is a secret, not the person who trains.
    #[error(
        "how many units a declared table has is private: its catalog says that units come and go\nhint: state about how many there are"
    )]
    PrivateSize,
    /// A model was paid for, and cannot be made again.
    #[error(
        "there is a file already where the model goes: {}\nhint: name another place for the model, or allow it to be overwritten; nothing was charged", path.display()
    )]
    ModelExists {
        /// Which file.
        path: PathBuf,
    },
    /// The steps of a saved run are paid for.
    #[error(
        "the checkpoint {} already exists\nhint: resume it, name another place for the checkpoint, or delete it if it is of no more use", path.display()
    )]
    CheckpointExists {
        /// Which file.
        path: PathBuf,
    },
    /// The ledger of a text is about other units than the run.
    #[error(
        "the ledger {} is about each {recorded}, and this run about each {asked}\nhint: guarantees for different units do not add up: train on the units that the ledger is about", path.display()
    )]
    OtherUnit {
        /// Which ledger.
        path: PathBuf,
        /// Whom it protects.
        recorded: String,
        /// Whom the run protects.
        asked: String,
    },
    /// The ledger of a text has another budget than was stated.
    #[error("{0}")]
    OtherRules(ledger::Error),
    /// A resumed run has no ledger to look its charge up in.
    #[error(
        "there is no ledger at {}\nhint: a run is resumed where it was charged: put its ledger back", path.display()
    )]
    NoLedger {
        /// Where it should be.
        path: PathBuf,
    },
    /// Something else about the input.
    #[error("{what}\nhint: {hint}")]
    Input {
        /// What is wrong.
        what: String,
        /// What to do about it.
        hint: &'static str,
    },
}

impl Error {
    pub(crate) fn input(what: impl Into<String>, hint: &'static str) -> Self {
        Self::Input {
            what: what.into(),
            hint,
        }
    }
}

impl From<accounting::Error> for Error {
    fn from(error: accounting::Error) -> Self {
        Self::Train(error.into())
    }
}

impl From<mechanism::Error> for Error {
    fn from(error: mechanism::Error) -> Self {
        Self::Train(error.into())
    }
}

impl From<train::models::ModelError> for Error {
    fn from(error: train::models::ModelError) -> Self {
        Self::Train(error.into())
    }
}

/// What to do where the budget has no δ.
const NEEDS_DELTA: &str =
    "private training needs a budget with a δ, such as delta = 1e-6: ask the curator; nothing was charged";

/// A run that costs more than is left: what it costs, what there is, and what would fit.
#[derive(Clone, Debug)]
pub struct OverBudget {
    /// What the run costs, in words.
    pub cost: String,
    /// ε that is left for one further release that is ε-DP.
    pub left: Epsilon,
    /// What the ledger would count with the run, and how much it may; `None` if the budget admits nothing of
    /// the kind.
    pub excess: Option<ledger::Excess>,
    /// The largest target ε with which such a run would fit.
    pub fits: Option<Epsilon>,
}

impl std::fmt::Display for OverBudget {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}\nhint: {}", self.what(), self.hint())
    }
}

impl OverBudget {
    /// What it costs, and which number is above which limit.
    pub fn what(&self) -> String {
        match &self.excess {
            Some(excess) => format!("this run costs {}, and does not fit: {excess}", self.cost),
            None => format!("this run costs {}, which the budget does not allow", self.cost),
        }
    }

    /// Whether no target would fit, because the budget has no δ.
    pub fn needs_delta(&self) -> bool {
        self.excess.as_ref().is_some_and(ledger::Excess::needs_delta)
    }

    fn hint(&self) -> String {
        match &self.fits {
            Some(fits) => format!("a target ε of {fits} would fit, with more noise; nothing was charged"),
            None if self.needs_delta() => NEEDS_DELTA.to_owned(),
            None => "nothing of the kind fits any more, and nothing was charged; ask the curator".to_owned(),
        }
    }
}
