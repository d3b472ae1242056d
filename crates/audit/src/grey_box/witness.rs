//! Where two runs differ.

use super::movement::{Input, Norm, factor, number};
use super::recorder::Call;
use exact::Rational;
use std::fmt;

/// Why a transcript is bad. Calls are counted from 1.
#[derive(Clone, Debug, PartialEq)]
pub enum Witness {
    /// An input moved further than was declared.
    Moved {
        /// Which call.
        call: usize,
        /// What it called.
        mechanism: String,
        /// In which norm.
        norm: Norm,
        /// How far it may move.
        declared: Rational,
        /// How far it did.
        moved: Rational,
        /// The two inputs.
        inputs: Box<[Input; 2]>,
    },
    /// An input has another shape: more numbers, or names in the place of numbers.
    Shape {
        /// Which call.
        call: usize,
        /// What it called.
        mechanism: String,
        /// The two inputs.
        inputs: Box<[Input; 2]>,
    },
    /// The runs called different things, or with different parameters.
    Stated {
        /// Which call.
        call: usize,
        /// What the two runs called.
        calls: Box<[Call; 2]>,
    },
    /// One run made a call that the other did not.
    Extra {
        /// Which call.
        call: usize,
        /// What it called.
        mechanism: String,
        /// Whether the run that was recorded made it, or its replay.
        recorded: bool,
    },
    /// The answers were the same and the results were not: something private went around the mechanisms.
    Result,
    /// The calls cost more than is claimed for all of them.
    Cost {
        /// The sums of ε and δ.
        stated: [Rational; 2],
        /// The ε and δ claimed.
        claimed: [Rational; 2],
    },
}

impl Witness {
    /// By what factor an input moved too far, or a cost was too large; infinite if the runs parted.
    pub fn severity(&self) -> f64 {
        match self {
            Self::Moved { declared, moved, .. } => factor(declared, moved),
            Self::Cost { stated, claimed } => {
                let pairs = claimed.iter().zip(stated).filter(|(_, stated)| !stated.is_zero());
                pairs
                    .map(|(claimed, stated)| factor(claimed, stated))
                    .fold(1.0, f64::max)
            }
            Self::Shape { .. } | Self::Stated { .. } | Self::Extra { .. } | Self::Result => f64::INFINITY,
        }
    }

    /// The number of the call at which the runs parted, if it is one call.
    pub fn call(&self) -> Option<usize> {
        match self {
            Self::Moved { call, .. }
            | Self::Shape { call, .. }
            | Self::Stated { call, .. }
            | Self::Extra { call, .. } => Some(*call),
            Self::Result | Self::Cost { .. } => None,
        }
    }
}

impl fmt::Display for Witness {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Moved {
                call,
                mechanism,
                norm,
                declared,
                moved,
                inputs,
            } => write!(
                formatter,
                "call {call} ({mechanism}): its input moves by {} in {norm}, declared was {}; it is {} on one input and {} on the other",
                number(moved),
                number(declared),
                inputs[0],
                inputs[1]
            ),
            Self::Shape {
                call,
                mechanism,
                inputs,
            } => write!(
                formatter,
                "call {call} ({mechanism}): its input has another shape on the other input: {} and {}",
                inputs[0], inputs[1]
            ),
            Self::Stated { call, calls } => {
                let [here, there] = &**calls;
                write!(formatter, "call {call}: {here} on one input and {there} on the other")
            }
            Self::Extra {
                call,
                mechanism,
                recorded,
            } => {
                let which = if *recorded { "recorded" } else { "replayed" };
                write!(formatter, "call {call} ({mechanism}): only the {which} run makes it")
            }
            Self::Result => formatter.write_str(
                "the results differ though every answer is the same: something private went around the mechanisms",
            ),
            Self::Cost { stated, claimed } => write!(
                formatter,
                "the calls cost ε = {}, δ = {} together, claimed was ε = {}, δ = {}",
                number(&stated[0]),
                number(&stated[1]),
                number(&claimed[0]),
                number(&claimed[1])
            ),
        }
    }
}
