//! How much memory a plan takes, and what would fit.

use crate::{Domain, Error, Shape, Workload};
use std::collections::BTreeSet;

/// Bytes of one number.
const NUMBER: u64 = 8;

/// Every table is at once measured and reconstructed, and while one is worked on, there are four copies of it on each of a few threads.
const AT_WORK: u64 = 16;

/// Bytes that measurements and tables take together, at most.
pub(super) fn needed(domain: &Domain, workload: &Workload) -> u64 {
    of(domain, workload.wanted().iter().map(|wanted| &wanted.shape))
}

fn of<'a>(domain: &Domain, shapes: impl Iterator<Item = &'a Shape>) -> u64 {
    let (mut tables, mut measured, mut largest) = (0u64, 0u64, 0u64);
    let mut seen = BTreeSet::new();
    for shape in shapes {
        let cells = shape.cells(domain);
        tables = tables.saturating_add(cells);
        // A residual has fewer numbers than the table of its attributes.
        for residual in parts(shape) {
            let numbers = residual.cells(domain);
            largest = largest.max(numbers);
            if seen.insert(residual) {
                measured = measured.saturating_add(numbers);
            }
        }
        largest = largest.max(cells);
    }
    NUMBER.saturating_mul(
        tables
            .saturating_add(measured)
            .saturating_add(AT_WORK.saturating_mul(largest)),
    )
}

/// The shape without any of its axes, as cells; of shapes with many axes only the whole, which is most of it.
fn parts(shape: &Shape) -> Vec<Shape> {
    let axes: Vec<_> = shape
        .axes()
        .iter()
        .map(|axis| axis.in_form(crate::Form::Cells))
        .collect();
    let all = if axes.len() <= 6 {
        0..1usize << axes.len()
    } else {
        0..1
    };
    all.map(|left_out| {
        let kept = axes
            .iter()
            .enumerate()
            .filter(|(place, _)| left_out >> place & 1 == 0)
            .map(|(_, axis)| *axis);
        Shape::new(kept.collect()).expect("axes of a shape")
    })
    .collect()
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
