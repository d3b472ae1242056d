//! How much memory a plan takes, and what would fit.

use crate::{Domain, Error, Shape, Workload};

/// Bytes of one number.
const NUMBER: u64 = 8;

/// While a table is worked on, there are up to four copies of it on each of a few threads.
const AT_WORK: u64 = 16;

/// Bytes that measurements and tables take together, at most.
pub(super) fn needed(domain: &Domain, workload: &Workload) -> u64 {
    of(domain, workload.wanted().iter().map(|wanted| &wanted.shape))
}

/// The residuals of a table have as many numbers as it: (n₁ − 1 + 1)·(n₂ − 1 + 1)·… Tables that share residuals measure less.
fn of<'a>(domain: &Domain, shapes: impl Iterator<Item = &'a Shape>) -> u64 {
    let (tables, largest) = shapes
        .map(|shape| shape.cells(domain))
        .fold((0u64, 0), |(sum, largest), cells| {
            (sum.saturating_add(cells), largest.max(cells))
        });
    let numbers = tables
        .saturating_mul(2)
        .saturating_add(AT_WORK.saturating_mul(largest));
    NUMBER.saturating_mul(numbers)
}

/// Says what is too large and what would fit.
pub(super) fn refusal(domain: &Domain, workload: &Workload, needed: u64, allowed: u64) -> Error {
    let shapes = || workload.wanted().iter().map(|wanted| &wanted.shape);
    let most = shapes().map(|shape| shape.axes().len()).max().unwrap_or(0);
    let fitting = (1..most)
        .rev()
        .find(|ways| of(domain, shapes().filter(|shape| shape.axes().len() <= *ways)) <= allowed);
    let largest = shapes()
        .max_by_key(|shape| shape.cells(domain))
        .expect("a table is wanted");
    let named: Vec<&str> = largest
        .axes()
        .iter()
        .map(|axis| domain.attributes()[usize::from(axis.attribute)].name())
        .collect();
    let largest = format!(
        "the largest table, {}, has {} numbers",
        named.join(" by "),
        largest.cells(domain)
    );
    Error::TooLarge {
        needed,
        allowed,
        fits: match fitting {
            Some(ways) => format!("tables of at most {ways} attributes fit; {largest}"),
            None => format!("{largest}; use coarser levels or fewer attributes, or allow more memory"),
        },
    }
}
