/// Why nothing was trained, or no further. No message carries a value of the data.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The privacy boundary refuses: the ledger took no charge, or there is no noise.
    #[error(transparent)]
    Mechanism(#[from] mechanism::Error),
    /// A quantity of the accounting does not exist.
    #[error(transparent)]
    Accounting(#[from] accounting::Error),
    /// A model that cannot be, or examples that do not fit it.
    #[error(transparent)]
    Model(#[from] crate::models::ModelError),
    /// No noise reaches the target.
    #[error(
        "no noise multiplier keeps ε = {epsilon}: {source}\nhint: give δ > 0 and a larger ε, take fewer steps, or smaller batches"
    )]
    Unreachable {
        /// What was asked for.
        epsilon: String,
        /// Why not.
        source: accounting::Error,
    },
    /// A batch that cannot be taken.
    #[error(
        "batches of {batch} out of {of} units\nhint: a batch has at least one unit and no more than there are"
    )]
    BatchTooLarge {
        /// What was asked for.
        batch: u64,
        /// The public number of units.
        of: u64,
    },
    /// A parameter outside its range.
    #[error("{what} must be {range}")]
    OutOfRange {
        /// Which parameter.
        what: &'static str,
        /// What it may be.
        range: &'static str,
    },
    /// Nothing to learn from.
    #[error(
        "there is nothing to train on: {found}\nhint: at least two units are needed, and privacy needs many more to be of use"
    )]
    TooFewUnits {
        /// `no examples`, `one unit`.
        found: &'static str,
    },
    /// The public number of units is not the real one.
    #[error(
        "the plan is for another number of units than the data has\nhint: with fixed-size or shuffled batches the number of units is public and must be right; Poisson sampling needs none"
    )]
    OtherNumberOfUnits,
    /// A device has too little memory for a batch.
    #[error(
        "the memory of the device cannot hold {at_once} examples at a time: {free} MiB were free where {asked} MiB more were needed\nhint: {}; results differ from those of larger parts by rounding alone",
        match fits {
            0 => "free memory on it, or take a smaller model or shorter texts".to_owned(),
            fits => format!("{fits} at a time fit: `--at-once {fits}`"),
        }
    )]
    OutOfMemory {
        /// How many were to be taken.
        at_once: usize,
        /// How many fit; 0 where that is not known, or not even one does.
        fits: usize,
        /// MiB that were asked for.
        asked: usize,
        /// MiB that were free.
        free: usize,
    },
    /// A saved run about other data, another model or another version.
    #[error(
        "the checkpoint is about another {what}\nhint: resume with what the run began with; a new run is a new charge"
    )]
    OtherRun {
        /// What differs.
        what: &'static str,
    },
    /// A model was asked for between two steps at which the run may end.
    #[error(
        "the run was interrupted, and there is no model of it: how far it came depends on how fast it was, and so on the data\nhint: resume it, to its end or to a step that is named beforehand"
    )]
    Interrupted,
    /// A step at which a run cannot end.
    #[error(
        "the run cannot end at step {step}: it is planned for {steps} steps, and those that were taken stay taken\nhint: name a later step, and no later than the last that is planned"
    )]
    NoSuchEnd {
        /// What was asked for.
        step: u64,
        /// Planned steps.
        steps: u64,
    },
    /// A file that is not what it should be.
    #[error("{path} is no {what}: {reason}\nhint: use a file that `deniable train` wrote, whole")]
    BadFile {
        /// Which file.
        path: String,
        /// `checkpoint`, `model`.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A file that could not be read.
    #[error(
        "the {what} {path} cannot be read: {source}\nhint: name a file that `deniable train` wrote and that you may read; the last lines of a run say where its model and its checkpoint are"
    )]
    Unreadable {
        /// Which file.
        path: String,
        /// `checkpoint`, `model`.
        what: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file that could not be written.
    #[error(
        "{path}: {source}\nhint: what was there before, if anything, is as it was; look at the name and at the room on the disk. A run that was begun can be resumed"
    )]
    File {
        /// Which file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
}
