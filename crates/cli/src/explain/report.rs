//! Reports to a person what was found for a wanted error.

use super::{Explanation, Found};
use sql::{IntervalOf, WantedError};

/// The ε that was found, and what it rests on.
pub(super) fn found(found: &Found, explanation: &Explanation, group_size: u64) -> String {
    let (what, of) = match found.wanted {
        WantedError::Relative(_) => (
            found.wanted.to_string(),
            " of the largest value that a group can have",
        ),
        WantedError::Absolute(_) => (found.wanted.to_string(), ""),
    };
    let mut outputs = explanation.parts.iter().flat_map(|part| &part.outputs);
    let bounded = if outputs.any(|line| line.interval_of == IntervalOf::BoundedData) {
        "\nThese are errors of the noise, about the bounded data: what the limits cut comes on top, and the answer estimates how much that is.\n"
    } else {
        "\n"
    };
    let whence = match &found.known {
        Some(known) => format!("{}; --group-size says another number", known.words()),
        None => "--group-size".to_owned(),
    };
    format!(
        "ε = {} is the smallest, to three digits, for which every expected error is at most {what}{of},\nif a group has {group_size} rows \
         ({whence}); ask with: deniable query --epsilon {} …{bounded}",
        found.epsilon, found.epsilon
    )
}
