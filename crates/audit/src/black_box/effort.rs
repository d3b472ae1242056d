//! How much to search, and for what.

use super::view::Lens;

/// How to search for an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hunt {
    /// Draws, on both sides together, that serve to choose the pair and the event.
    pub choosing: u64,
    /// Draws that the test is expected to make: rare events pay only if there are many.
    pub testing: u64,
    /// The δ to choose an event for.
    pub delta: f64,
    /// One minus the probability that anything the test says is false.
    pub confidence: f64,
    /// What to look at.
    pub lens: Lens,
}
