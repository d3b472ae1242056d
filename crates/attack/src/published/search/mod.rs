//! Every solution, what they share, and which numbers make the difference.

use super::encoding::Encoding;
use super::solver::{Engine, Satisfiability};
use super::table::{Record, StatisticKind, Table};
use crate::{Error, Patience};
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// How long to look, and with what.
#[derive(Clone, Debug)]
pub struct Effort {
    /// Stop after this many solutions.
    pub limit: usize,
    /// Stop when it is over, and keep what was found.
    pub patience: Patience,
    /// The solver.
    pub engine: Engine,
}

impl Effort {
    /// This many solutions at most, however long it takes, with the default solver.
    pub fn up_to(limit: usize) -> Self {
        Self {
            limit,
            patience: Patience::endless(),
            engine: Engine::default(),
        }
    }
}

/// What the table gives away.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The solutions that were found: people in order, each multiset once.
    pub solutions: Vec<Vec<Record>>,
    /// There are no others: the solver proved it.
    pub complete: bool,
    /// Time ran out before the limit was reached or a proof found.
    pub out_of_time: bool,
    /// Records that are in every solution, found or not: proved. As often as they are in all of them.
    pub certain: Vec<Record>,
    /// The size of the formula.
    pub clauses: usize,
    /// How long writing the clauses and searching took.
    pub elapsed: Duration,
}

/// The name of one published number, such as `2A.median`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// The group's id.
    pub group: String,
    /// What it is of.
    pub kind: StatisticKind,
}

impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.group, self.kind)
    }
}

/// What is left to say when one number is suppressed.
#[derive(Clone, Debug)]
pub struct Influence {
    /// The number.
    pub cell: Cell,
    /// How many solutions there are without it, up to the limit; `None` when nothing bounds the number of
    /// people any more.
    pub solutions: Option<usize>,
    /// That is all of them.
    pub complete: bool,
}

/// Numbers that cannot all be true.
#[derive(Clone, Debug)]
pub struct Conflict {
    /// The numbers.
    pub cells: Vec<Cell>,
    /// Proved: without any one of them the rest can be true.
    pub minimal: bool,
}

impl Table {
    /// The published numbers, in the order of the table.
    pub fn cells(&self) -> Vec<Cell> {
        let cells = self.groups.iter().flat_map(|group| {
            group.statistics.iter().map(|statistic| Cell {
                group: group.id.clone(),
                kind: statistic.kind(),
            })
        });
        cells.collect()
    }

    /// The table without one number.
    pub fn without(&self, cell: &Cell) -> Table {
        let mut table = self.clone();
        table.suppress(&cell.group, Some(cell.kind));
        table
    }
}

/// Every solution of the table, up to the limit.
pub fn reconstruct(table: &Table, effort: &Effort) -> Result<Findings, Error> {
    let start = Instant::now();
    table.check()?;
    let most_people = table.most_people()?;
    let encoding = Encoding::new(table, most_people);
    let mut solver = effort.engine.start(&encoding.formula, &effort.patience)?;
    let mut findings = Findings {
        solutions: Vec::new(),
        complete: false,
        out_of_time: false,
        certain: Vec::new(),
        clauses: encoding.formula.clauses().len(),
        elapsed: Duration::ZERO,
    };
    // One search more than the limit: it may prove that there are no others.
    loop {
        // Easy tables have solutions without end, each found before a solver would look at its watch.
        let verdict = if effort.patience.is_over() {
            Satisfiability::OutOfTime
        } else {
            solver.search()?
        };
        match verdict {
            Satisfiability::Impossible => findings.complete = true,
            Satisfiability::OutOfTime => findings.out_of_time = true,
            Satisfiability::Model if findings.solutions.len() < effort.limit => {
                let people = encoding.people(|lit| solver.holds(lit));
                // The clauses are clever and this check is not.
                if !table.allows(&people) {
                    return Err(Error::solver(&"it gave people whom the table does not allow"));
                }
                solver.add(&encoding.not_these(&people))?;
                findings.solutions.push(people);
                continue;
            }
            Satisfiability::Model => {}
        }
        break;
    }
    findings.certain = certain(table, &findings, most_people, effort)?;
    findings.elapsed = start.elapsed();
    Ok(findings)
}

/// Records that no solution lacks. What all found solutions share is a candidate; where the list is not
/// complete, the solver must also fail to find a solution with fewer of it.
fn certain(
    table: &Table,
    findings: &Findings,
    most_people: u32,
    effort: &Effort,
) -> Result<Vec<Record>, Error> {
    let mut certain = Vec::new();
    for (record, count) in shared(&findings.solutions) {
        // Several copies may be certain only in part.
        for count in (1..=count).rev() {
            let proved = findings.complete || {
                let mut encoding = Encoding::new(table, most_people);
                encoding.fewer_than(count, &record);
                let mut solver = effort.engine.start(&encoding.formula, &effort.patience)?;
                solver.search()? == Satisfiability::Impossible
            };
            if proved {
                certain.extend(std::iter::repeat_n(record.clone(), count));
                break;
            }
        }
    }
    Ok(certain)
}

/// The records that are in all of the solutions, and how often at least.
fn shared(solutions: &[Vec<Record>]) -> BTreeMap<Record, usize> {
    let tally = |people: &Vec<Record>| {
        let mut counts: BTreeMap<Record, usize> = BTreeMap::new();
        for record in people {
            *counts.entry(record.clone()).or_default() += 1;
        }
        counts
    };
    let mut counts = solutions.first().map(tally).unwrap_or_default();
    for other in solutions.iter().skip(1).map(tally) {
        counts.retain(|record, count| {
            *count = (*count).min(other.get(record).copied().unwrap_or(0));
            *count > 0
        });
    }
    counts
}

/// For each published number: how many solutions there are without it. `reported` hears of each as soon as it
/// is known.
pub fn influence(
    table: &Table,
    effort: &Effort,
    mut reported: impl FnMut(&Influence),
) -> Result<Vec<Influence>, Error> {
    table.check()?;
    let mut influences = Vec::new();
    for cell in table.cells() {
        let rest = table.without(&cell);
        let influence = if rest.most_people().is_err() {
            Influence {
                cell,
                solutions: None,
                complete: false,
            }
        } else {
            let findings = reconstruct(&rest, effort)?;
            Influence {
                cell,
                solutions: Some(findings.solutions.len()),
                complete: findings.complete,
            }
        };
        reported(&influence);
        influences.push(influence);
    }
    Ok(influences)
}

/// For a table without solutions: numbers that already contradict each other. They are found by leaving out
/// one number after the other for as long as the rest has no solution either. `None` if the table has a
/// solution, or too little time was given to tell.
pub fn conflict(table: &Table, effort: &Effort) -> Result<Option<Conflict>, Error> {
    table.check()?;
    let impossible = |table: &Table| -> Result<Satisfiability, Error> {
        // If nothing bounds the people any more, nothing is proved impossible.
        let Ok(most_people) = table.most_people() else {
            return Ok(Satisfiability::Model);
        };
        let encoding = Encoding::new(table, most_people);
        effort.engine.start(&encoding.formula, &effort.patience)?.search()
    };
    if impossible(table)? != Satisfiability::Impossible {
        return Ok(None);
    }
    let mut rest = table.clone();
    let mut minimal = true;
    for cell in hardest_first(table) {
        let fewer = rest.without(&cell);
        match impossible(&fewer)? {
            Satisfiability::Impossible => rest = fewer,
            Satisfiability::Model => {}
            Satisfiability::OutOfTime => minimal = false,
        }
    }
    Ok(Some(Conflict {
        cells: rest.cells(),
        minimal,
    }))
}

/// For a table with one solution: numbers that already leave no other, none of which can be left out. `None`
/// if there are more solutions, or too little time was given to tell.
pub fn enough(table: &Table, effort: &Effort) -> Result<Option<Vec<Cell>>, Error> {
    let one = Effort {
        limit: 1,
        ..effort.clone()
    };
    let unique = |table: &Table| -> Result<bool, Error> {
        if table.most_people().is_err() {
            return Ok(false);
        }
        let findings = reconstruct(table, &one)?;
        Ok(findings.complete && findings.solutions.len() == 1)
    };
    table.check()?;
    if !unique(table)? {
        return Ok(None);
    }
    let mut rest = table.clone();
    for cell in hardest_first(table) {
        let fewer = rest.without(&cell);
        if unique(&fewer)? {
            rest = fewer;
        }
    }
    Ok(Some(rest.cells()))
}

/// The published numbers, those that are harder to see through first: what is left when some are taken away
/// is then easier to understand.
fn hardest_first(table: &Table) -> Vec<Cell> {
    let mut cells = table.cells();
    cells.reverse();
    cells.sort_by_key(|cell| std::cmp::Reverse(cell.kind));
    cells
}

#[cfg(test)]
mod tests;
