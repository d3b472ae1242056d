//! From counts to what leaves.

use super::{Cells, Kind, PlannedPart, PlannedSet, PlannedTables};
use crate::Error;
use noise::{DiscreteLaplace, Keyed, RoundedGaussian};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Noise of one scale; its tables are made by the first draw.
#[derive(Debug)]
enum Noise {
    Gaussian(RoundedGaussian),
    Laplace(DiscreteLaplace),
}

/// The noise of every set: many have the same.
#[derive(Debug)]
pub(super) struct Noises(BTreeMap<(u64, i32, u32), Noise>);

impl Noises {
    pub(super) fn of(sets: &[PlannedSet], kind: Kind) -> Result<Self, Error> {
        let mut noises = BTreeMap::new();
        for set in sets {
            if let Entry::Vacant(entry) = noises.entry(key_of(set)) {
                entry.insert(match kind {
                    Kind::Gaussian => Noise::Gaussian(RoundedGaussian::new(&set.in_steps())?),
                    Kind::Laplace => Noise::Laplace(DiscreteLaplace::new(&set.variance())?),
                });
            }
        }
        Ok(Self(noises))
    }
}

fn key_of(set: &PlannedSet) -> (u64, i32, u32) {
    (set.mantissa, set.exponent, set.shift)
}

/// Less work than this is done by the thread that asks.
const SMALL: usize = 1 << 16;

/// Every set, on as many threads as there are cores. The noise of a set is a stream of the key, so threads do not change what is drawn.
pub(super) fn all(plan: &PlannedTables, cells: &Cells, key: [u8; 32]) -> Vec<Vec<i64>> {
    let counts = valid_counts(plan, cells);
    let one = |place: usize| {
        let set = &plan.sets[place];
        let mut entropy = Keyed::new(key, place as u64);
        measure(
            plan,
            set,
            (cells.columns(), &counts),
            &plan.noises.0[&key_of(set)],
            &mut entropy,
        )
    };
    if plan.numbers.saturating_add(counts.len() * plan.sets.len()) < SMALL {
        return (0..plan.sets.len()).map(one).collect();
    }
    let next = AtomicUsize::new(0);
    let done = Mutex::new(vec![Vec::new(); plan.sets.len()]);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(plan.sets.len()) {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    if place >= plan.sets.len() {
                        return;
                    }
                    let values = one(place);
                    done.lock().expect("no thread panicked")[place] = values;
                }
            });
        }
    });
    done.into_inner().expect("no thread panicked")
}

/// One set: the marginal, in steps, combined, with noise, without what is not released.
fn measure(
    plan: &PlannedTables,
    set: &PlannedSet,
    lines: Lines<'_>,
    noise: &Noise,
    entropy: &mut Keyed,
) -> Vec<i64> {
    let parts: Vec<&PlannedPart> = set
        .parts
        .iter()
        .map(|(place, part)| &plan.attributes[*place][*part])
        .collect();
    let mut sizes: Vec<usize> = parts.iter().map(|part| marginal_size(part)).collect();
    let mut values = marginal(set, &parts, &sizes, lines);
    for value in &mut values {
        *value = value.wrapping_shl(set.shift);
    }
    for (axis, part) in parts.iter().enumerate() {
        if let PlannedPart::Combinations(rows) = part {
            values = combine(&values, &sizes, axis, rows);
            sizes[axis] = rows.len();
        }
    }
    match noise {
        Noise::Gaussian(noise) => noise.add_wrapping(&mut values, entropy),
        Noise::Laplace(noise) => noise.add_to(&mut values, entropy),
    }
    for (axis, part) in parts.iter().enumerate() {
        if let PlannedPart::Differences { groups, .. } = part {
            values = subtract(&values, &sizes, axis, groups);
            sizes[axis] = part.released();
        }
    }
    values
}

fn marginal_size(part: &PlannedPart) -> usize {
    match part {
        PlannedPart::Combinations(_) => part.values(),
        _ => part.noised(),
    }
}

/// Columns of codes, with as many counts.
type Lines<'a> = (&'a [Vec<u32>], &'a [u32]);

/// The count of each line, but 0 for a line with a code that is no value, so that it counts nowhere.
fn valid_counts(plan: &PlannedTables, cells: &Cells) -> Vec<u32> {
    let mut counts = cells.counts().to_vec();
    if cells.columns().len() != plan.attributes.len() {
        counts.fill(0);
    }
    for (column, attribute) in cells.columns().iter().zip(&plan.attributes) {
        let Some(values) = attribute.first().map(PlannedPart::values) else {
            continue;
        };
        for (count, code) in counts.iter_mut().zip(column) {
            *count *= u32::from((*code as usize) < values);
        }
    }
    counts
}

/// Counts by the cells of the set.
fn marginal(
    set: &PlannedSet,
    parts: &[&PlannedPart],
    sizes: &[usize],
    (columns, counts): Lines<'_>,
) -> Vec<i64> {
    let mut values = vec![0i64; sizes.iter().product()];
    // For each axis, the offset of each value's cell.
    let mut stride = 1;
    let mut offsets: Vec<Vec<usize>> = Vec::new();
    for (part, size) in parts.iter().zip(sizes).rev() {
        offsets.push(match part {
            PlannedPart::Differences { cells, .. } | PlannedPart::Cells { cells, .. } => {
                cells.iter().map(|cell| *cell as usize * stride).collect()
            }
            PlannedPart::Combinations(_) => (0..*size).map(|value| value * stride).collect(),
        });
        stride *= size;
    }
    offsets.reverse();
    let empty: &[u32] = &[];
    let columns: Vec<&[u32]> = set
        .parts
        .iter()
        .map(|(place, _)| columns.get(*place).map_or(empty, |column| &column[..]))
        .collect();
    // Without the columns, no line counts.
    let counts = if columns.iter().all(|column| column.len() == counts.len()) {
        counts
    } else {
        &[]
    };
    match (&columns[..], &offsets[..]) {
        ([], _) => values[0] = counts.iter().map(|count| i64::from(*count)).sum(),
        ([a], [x]) => {
            for (a, count) in a.iter().zip(counts) {
                if let Some(x) = x.get(*a as usize) {
                    values[*x] += i64::from(*count);
                }
            }
        }
        ([a, b], [x, y]) => {
            for ((a, b), count) in a.iter().zip(*b).zip(counts) {
                if let (Some(x), Some(y)) = (x.get(*a as usize), y.get(*b as usize)) {
                    values[x + y] += i64::from(*count);
                }
            }
        }
        ([a, b, c], [x, y, z]) => {
            for (((a, b), c), count) in a.iter().zip(*b).zip(*c).zip(counts) {
                if let (Some(x), Some(y), Some(z)) =
                    (x.get(*a as usize), y.get(*b as usize), z.get(*c as usize))
                {
                    values[x + y + z] += i64::from(*count);
                }
            }
        }
        (columns, offsets) => {
            for (line, count) in counts.iter().enumerate() {
                let place = columns
                    .iter()
                    .zip(offsets)
                    .try_fold(0, |place, (column, offsets)| {
                        offsets.get(column[line] as usize).map(|offset| place + offset)
                    });
                if let Some(place) = place {
                    values[place] += i64::from(*count);
                }
            }
        }
    }
    values
}

/// Applies integer rows along one axis, modulo 2⁶⁴.
fn combine(values: &[i64], sizes: &[usize], axis: usize, rows: &[Vec<i32>]) -> Vec<i64> {
    let (size, inner) = (sizes[axis], sizes[axis + 1..].iter().product::<usize>());
    let mut combined = Vec::with_capacity(values.len() / size * rows.len());
    for slab in values.chunks_exact(size * inner) {
        for row in rows {
            let start = combined.len();
            combined.resize(start + inner, 0i64);
            for (factor, line) in row.iter().zip(slab.chunks_exact(inner)) {
                let factor = i64::from(*factor);
                for (sum, value) in combined[start..].iter_mut().zip(line) {
                    *sum = sum.wrapping_add(factor.wrapping_mul(*value));
                }
            }
        }
    }
    combined
}

/// Takes the first cell of each group from the others along one axis, modulo 2⁶⁴, and drops it.
fn subtract(values: &[i64], sizes: &[usize], axis: usize, groups: &[u32]) -> Vec<i64> {
    let (size, inner) = (sizes[axis], sizes[axis + 1..].iter().product::<usize>());
    let mut first = BTreeMap::new();
    for (cell, group) in groups.iter().enumerate() {
        first.entry(*group).or_insert(cell);
    }
    let pairs: Vec<(usize, usize)> = groups
        .iter()
        .enumerate()
        .map(|(cell, group)| (cell, first[group]))
        .filter(|(cell, first)| cell != first)
        .collect();
    let mut differences = Vec::with_capacity(values.len() / size * pairs.len());
    for slab in values.chunks_exact(size * inner) {
        for (cell, first) in &pairs {
            let (cell, first) = (&slab[cell * inner..][..inner], &slab[first * inner..][..inner]);
            differences.extend(
                cell.iter()
                    .zip(first)
                    .map(|(cell, first)| cell.wrapping_sub(*first)),
            );
        }
    }
    differences
}
