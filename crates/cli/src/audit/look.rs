//! What an audit looks at.

use audit::black_box::Lens;
use clap::ValueEnum;
use std::fmt;

/// What an audit looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Look {
    /// Values and raw bits
    #[default]
    Everything,
    /// Values only: their size, their order, what repeats
    Values,
    /// The raw bits of floats only
    Bits,
}

impl From<Look> for Lens {
    fn from(look: Look) -> Self {
        match look {
            Look::Everything => Lens::Everything,
            Look::Values => Lens::Values,
            Look::Bits => Lens::Bits,
        }
    }
}

/// As it is written on the command line.
impl fmt::Display for Look {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Look::Everything => "everything",
            Look::Values => "values",
            Look::Bits => "bits",
        })
    }
}
