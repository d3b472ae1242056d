//! The device that models are trained on.

use crate::terminal::{CliError, explained};
use clap::ValueEnum;
use device::Cuda;

/// Where to compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeviceName {
    /// This machine's processor
    #[default]
    Cpu,
    /// An NVIDIA GPU
    Cuda,
}

/// The first GPU.
pub(crate) fn cuda() -> Result<Cuda, CliError> {
    Cuda::new().map_err(explained)
}

/// How many threads this machine runs at once.
pub(crate) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
