//! The range of every cell, by linear programs and whole points.

use super::simplex::{Overflow, Simplex};
use super::{Block, Effort, Found, MOST_PEOPLE, Range, Sum};
use crate::{Error, Patience};

/// Parts to look through for a first whole point at least.
const MOST_FOR_A_FIRST: usize = 10_000;
/// Conflicts of more counts than this are reported as they were found.
const MOST_TO_REDUCE: usize = 60;

/// The whole points met on the way: each proves that its numbers are possible.
struct Seen {
    ranges: Vec<(i64, i64)>,
    example: Option<Vec<i64>>,
}

impl Seen {
    fn note(&mut self, point: &Simplex) {
        if !point.is_whole() {
            return;
        }
        let whole = |cell| {
            let (scaled, denominator) = point.value(cell);
            scaled / denominator
        };
        for (cell, range) in self.ranges.iter_mut().enumerate() {
            *range = (range.0.min(whole(cell)), range.1.max(whole(cell)));
        }
        if self.example.is_none() {
            self.example = Some((0..self.ranges.len()).map(whole).collect());
        }
    }

    fn widen(&mut self, ranges: &[(i64, i64)]) {
        for (own, other) in self.ranges.iter_mut().zip(ranges) {
            *own = (own.0.min(other.0), own.1.max(other.1));
        }
    }

    /// The best value of a cell so far; none yet is worse than any.
    fn best(&self, cell: usize, up: bool) -> i64 {
        if up {
            self.ranges[cell].1
        } else {
            self.ranges[cell].0
        }
    }
}

/// What each cell can be when all others stay as they are in this block: every number in between has a block
/// with these margins. `None` if this block does not have them.
///
/// Exact margins leave no room for that, and margins with errors leave much.
pub fn around(block: &Block, cells: &[i64]) -> Option<Vec<(i64, i64)>> {
    if !block.allows(cells) {
        return None;
    }
    let mut room: Vec<(i64, i64)> = cells.iter().map(|count| (*count, i64::MAX)).collect();
    for sum in block.sums() {
        let total: i64 = sum.cells.iter().map(|&cell| cells[cell]).sum();
        for cell in sum.cells {
            let (down, up) = &mut room[cell];
            *down = (*down).min(total - sum.bounds.0);
            *up = (*up).min(sum.bounds.1 - total);
        }
    }
    let ranges = cells.iter().zip(room);
    Some(
        ranges
            .map(|(count, (down, up))| (count - down, count.saturating_add(up)))
            .collect(),
    )
}

/// The range of every cell. `reported` hears how many cells are done.
pub fn ranges(block: &Block, effort: &Effort, mut reported: impl FnMut(usize)) -> Result<Found, Error> {
    block.check()?;
    let sums = block.sums();
    let cells = block.cells();
    let mut bounds = block.cell_bounds(&sums)?;
    // A count that excludes its own cells' zeros contradicts itself; anything else needs the program.
    if let Some(sum) = sums.iter().find(|sum| sum.bounds.1 < 0) {
        return Ok(Found::Contradiction(vec![block.label(sum)]));
    }
    let mut possible = bounds.clone();
    // Zeros are within these bounds; each sum is then raised to where it must be.
    bounds.extend(sums.iter().map(|sum| (0, sum.bounds.1)));
    let members: Vec<Vec<usize>> = sums.iter().map(|sum| sum.cells.clone()).collect();
    let too_large = |_| Error::solver(&"the numbers of the program no longer fit in 64 bits");
    let mut program = Simplex::new(bounds, &members).map_err(too_large)?;
    for (number, sum) in sums.iter().enumerate() {
        let variable = cells + number;
        let bounds = (sum.bounds.0.max(0), sum.bounds.1);
        if !program.confine(variable, bounds, |_| {}).map_err(too_large)? {
            return Ok(Found::Contradiction(conflict(block, &sums, &program, variable)));
        }
    }
    program.drop_fixed().map_err(too_large)?;
    let mut seen = Seen {
        ranges: vec![(i64::MAX, i64::MIN); cells],
        example: None,
    };
    seen.note(&program);
    let mut search = Search {
        seen,
        splits: effort.splits.max(MOST_FOR_A_FIRST),
        patience: Patience::endless(),
        any: true,
    };
    if search.seen.example.is_none() {
        // Any whole point will do; without one even an empty range would be a guess.
        if search.whole_point(program.clone()) == Ok(Answer::No) {
            return Ok(Found::Contradiction(Vec::new()));
        }
    }
    search.patience = effort.patience.clone();
    search.any = false;
    if let Some(around) = search
        .seen
        .example
        .as_ref()
        .and_then(|example| around(block, example))
    {
        search.seen.widen(&around);
    }
    let ends = || (0..cells).flat_map(|cell| [(cell, true), (cell, false)]);
    // First what linear programs say, because the whole points they meet settle most of the rest.
    for (cell, up) in ends() {
        if !up {
            reported(cell + 1);
        }
        if *end(&mut possible[cell], up) == search.seen.best(cell, up) || search.late() {
            continue;
        }
        // An overflow leaves the program between two points and the bound as it was: it happens to a copy.
        let mut copy = program.clone();
        if copy.optimize(cell, up, |point| search.seen.note(point)).is_ok() {
            program = copy;
            *end(&mut possible[cell], up) = whole_bound(program.value(cell), up);
        }
    }
    // Then whole points for the bounds that no point has met.
    for (cell, up) in ends() {
        search.splits = effort.splits;
        let bound = end(&mut possible[cell], up);
        while *bound != search.seen.best(cell, up) {
            match search.attained(&program, cell, *bound) {
                Ok(Answer::No) => *bound += if up { -1 } else { 1 },
                Ok(Answer::Yes) => {}
                Ok(Answer::Unknown) | Err(Overflow) => break,
            }
        }
    }
    finish(block, search.seen, possible)
}

/// Names counts that contradict each other: those that keep one from being as large as it must be, less those
/// without which the others still do.
fn conflict(block: &Block, sums: &[Sum], program: &Simplex, stuck: usize) -> Vec<String> {
    let cells = block.cells();
    let mut counts: Vec<usize> = Vec::new();
    for variable in program.holders(stuck) {
        let count = if variable >= cells {
            Some(variable - cells)
        } else if program.value(variable).0 == 0 {
            // Nothing published is needed to know that counts are not negative.
            None
        } else {
            // A cell is at its upper bound because of the smallest count that includes it.
            let including = (0..sums.len()).filter(|&count| sums[count].cells.contains(&variable));
            including.min_by_key(|&count| sums[count].bounds.1)
        };
        counts.extend(count.filter(|count| !counts.contains(count)));
    }
    // Large conflicts are not read by anybody anyway.
    if counts.len() <= MOST_TO_REDUCE {
        for count in counts.clone() {
            let fewer: Vec<usize> = counts.iter().copied().filter(|other| *other != count).collect();
            if contradict(cells, fewer.iter().map(|&count| &sums[count])) == Ok(true) {
                counts = fewer;
            }
        }
    }
    counts.sort_unstable();
    counts.iter().map(|&count| block.label(&sums[count])).collect()
}

/// Whether no cells at all, not even fractions, have these sums.
fn contradict<'s>(cells: usize, sums: impl Iterator<Item = &'s Sum>) -> Result<bool, Overflow> {
    let sums: Vec<&Sum> = sums.collect();
    let mut bounds = vec![(0, MOST_PEOPLE); cells];
    bounds.extend(sums.iter().map(|sum| (0, sum.bounds.1)));
    let members: Vec<Vec<usize>> = sums.iter().map(|sum| sum.cells.clone()).collect();
    let mut program = Simplex::new(bounds, &members)?;
    for (number, sum) in sums.iter().enumerate() {
        let bounds = (sum.bounds.0.max(0), sum.bounds.1);
        if !program.confine(cells + number, bounds, |_| {})? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn finish(block: &Block, seen: Seen, possible: Vec<(i64, i64)>) -> Result<Found, Error> {
    let Some(example) = seen.example else {
        return Err(Error::solver(
            &"no block of whole numbers was found, and none was ruled out",
        ));
    };
    // Arithmetic was exact; this trusts not even that.
    if !block.allows(&example) {
        return Err(Error::solver(&"it gave a block that the margins do not allow"));
    }
    let ranges = seen.ranges.into_iter().zip(possible);
    Ok(Found::Consistent {
        example,
        ranges: ranges.map(|(seen, possible)| Range { seen, possible }).collect(),
    })
}

/// The best whole number that is no better than a fraction.
fn whole_bound((scaled, denominator): (i64, i64), up: bool) -> i64 {
    if up {
        scaled.div_euclid(denominator)
    } else {
        -(-scaled).div_euclid(denominator)
    }
}

/// One end of a range.
fn end(range: &mut (i64, i64), up: bool) -> &mut i64 {
    if up { &mut range.1 } else { &mut range.0 }
}

/// Whether there is a whole point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
    /// It was not looked for long enough.
    Unknown,
}

/// Looks for whole points, and keeps count.
struct Search {
    seen: Seen,
    /// How many more parts may be looked at.
    splits: usize,
    patience: Patience,
    /// Any whole point will do, and there may be many: see [`Simplex::fraction`].
    any: bool,
}

impl Search {
    fn late(&self) -> bool {
        self.patience.is_over()
    }

    /// Whether there is a whole point at which the cell has this value.
    fn attained(&mut self, program: &Simplex, cell: usize, value: i64) -> Result<Answer, Overflow> {
        if self.splits == 0 || self.late() {
            return Ok(Answer::Unknown);
        }
        let mut part = program.clone();
        if !part.confine(cell, (value, value), |point| self.seen.note(point))? {
            return Ok(Answer::No);
        }
        self.whole_point(part)
    }

    /// Whether there is a whole point in this part of the program, by splitting it at a fraction: below, and
    /// above.
    fn whole_point(&mut self, part: Simplex) -> Result<Answer, Overflow> {
        self.seen.note(&part);
        let Some((variable, floor, above_first)) = part.fraction(self.any) else {
            return Ok(Answer::Yes);
        };
        if self.splits == 0 || self.late() {
            return Ok(Answer::Unknown);
        }
        self.splits -= 1;
        let (low, high) = part.bounds(variable);
        let mut halves = [(low, floor), (floor + 1, high)];
        if above_first {
            halves.reverse();
        }
        let [first, second] = halves;
        let mut half = part.clone();
        let mut answer = Answer::No;
        if half.confine(variable, first, |point| self.seen.note(point))? {
            answer = self.whole_point(half)?;
        }
        if answer == Answer::Yes {
            return Ok(answer);
        }
        let mut half = part;
        if half.confine(variable, second, |point| self.seen.note(point))? {
            let rest = self.whole_point(half)?;
            // Neither half has one only if both surely have none.
            answer = if rest == Answer::No { answer } else { rest };
        }
        Ok(answer)
    }
}
