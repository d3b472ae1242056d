//! Numbers of privacy as a catalog writes them.

use super::document::Node;
use crate::Error;
use accounting::{Delta, Epsilon};

pub(super) fn epsilon(node: &Node<'_>) -> Result<Epsilon, Error> {
    Epsilon::parse(node.decimal()?)
        .ok()
        .filter(|epsilon| *epsilon > Epsilon::ZERO)
        .ok_or_else(|| node.wrong("expected a number above 0", "write it as 1, 0.5 or \"0.1\""))
}

pub(super) fn delta(node: &Node<'_>) -> Result<Delta, Error> {
    Delta::parse(node.decimal()?).map_err(|_| {
        node.wrong(
            "expected a number of at least 0 and below 1",
            "write it as 1e-6; 0 is pure differential privacy",
        )
    })
}
