//! The table as clauses.
//!
//! Each person is a row of numbers in order encoding, and may be absent. Rows are in lexicographic order,
//! with the attribute that most numbers are about first, and absent people last with the greatest record, so
//! that each multiset of people is one model of the rows. Everything else in the formula constrains the rows.

use super::formula::{Formula, Number, TRUE};
use super::table::{Condition, Group, Record, Statistic, StatisticKind, Table};
use exact::{Integer, Rational};
use rustsat::types::Lit;
use std::collections::BTreeMap;

/// The clauses of a table, and where the people are in them.
pub(super) struct Encoding<'t> {
    table: &'t Table,
    pub(super) formula: Formula,
    people: Vec<Person>,
    /// The order in which attributes are compared; medians of the first are found by position.
    order: Vec<usize>,
}

struct Person {
    present: Lit,
    values: Vec<Number>,
    /// The values in binary, for those that sums are made of.
    bits: BTreeMap<usize, Vec<Lit>>,
}

impl<'t> Encoding<'t> {
    /// Writes the clauses, for at most this many people.
    pub(super) fn new(table: &'t Table, most_people: u32) -> Self {
        let mut formula = Formula::new();
        let people = (0..most_people)
            .map(|_| Person {
                present: match table.people {
                    Some(_) => TRUE,
                    None => formula.free(),
                },
                values: table
                    .attributes
                    .iter()
                    .map(|attribute| {
                        let (low, high) = attribute.domain.bounds();
                        formula.number(low, high)
                    })
                    .collect(),
                bits: BTreeMap::new(),
            })
            .collect();
        let mut encoding = Self {
            table,
            formula,
            people,
            order: comparison_order(table),
        };
        encoding.absent_people_come_last();
        for pair in 1..encoding.people.len() {
            encoding.keep_in_order(pair);
        }
        encoding.obey_rules();
        for group in &table.groups {
            encoding.publish(group);
        }
        encoding
    }

    fn absent_people_come_last(&mut self) {
        for place in 0..self.people.len() {
            let person = &self.people[place];
            if place > 0 {
                let before = self.people[place - 1].present;
                self.formula.implies(&[person.present], before);
            }
            for value in &person.values {
                for cut in value.cuts() {
                    self.formula.implies(&[!person.present], !value.at_most(cut));
                }
            }
        }
    }

    /// The person at this place does not come before the one at the place before.
    ///
    /// `tied` says that all attributes so far are equal; it may only be false where an earlier one is
    /// strictly smaller.
    fn keep_in_order(&mut self, place: usize) {
        let mut tied = TRUE;
        for (depth, &attribute) in self.order.iter().enumerate() {
            let still = if depth + 1 < self.order.len() {
                self.formula.free()
            } else {
                TRUE
            };
            let before = &self.people[place - 1].values[attribute];
            let after = &self.people[place].values[attribute];
            for cut in before.cuts() {
                self.formula
                    .implies(&[tied, after.at_most(cut)], before.at_most(cut));
                self.formula
                    .clause(&[!tied, still, !after.at_most(cut), before.at_most(cut - 1)]);
            }
            // At the greatest value nothing is greater, so a tie there is a tie whatever comes after.
            let greatest = before.cuts().end;
            self.formula.clause(&[!tied, still, before.at_most(greatest - 1)]);
            tied = still;
        }
    }

    fn obey_rules(&mut self) {
        for rule in &self.table.rules {
            for place in 0..self.people.len() {
                let premise = self.belongs(place, &rule.when);
                let conclusion = self.belongs(place, &rule.then);
                self.formula.implies(&[premise], conclusion);
            }
        }
    }

    /// The person is present and meets all conditions.
    fn belongs(&mut self, place: usize, conditions: &[Condition]) -> Lit {
        let person = &self.people[place];
        let mut all = vec![person.present];
        for condition in conditions {
            // One range is two literals; only several need one of their own.
            match condition.ranges.as_slice() {
                [(low, high)] => {
                    let value = &person.values[condition.attribute];
                    all.extend([value.at_least(*low), value.at_most(*high)]);
                }
                ranges => {
                    let within = self.formula.within(&person.values[condition.attribute], ranges);
                    all.push(within);
                }
            }
        }
        self.formula.and(&all)
    }

    /// States what was published about a group.
    fn publish(&mut self, group: &Group) {
        if group.statistics.is_empty() {
            return;
        }
        let members: Vec<Lit> = (0..self.people.len())
            .map(|place| self.belongs(place, &group.members))
            .collect();
        let (low, high) = match group.statistic(StatisticKind::Count) {
            Some(Statistic::Count { low, high }) => (*low as usize, *high as usize),
            _ => (0, members.len()),
        };
        // A median or a mean of nobody does not exist.
        let least = low.max(usize::from(
            group
                .statistic(StatisticKind::Median)
                .or(group.statistic(StatisticKind::Mean))
                .is_some(),
        ));
        let most = high.min(members.len());
        let counter = self.formula.counter(&members, most + 1);
        let total = |count: usize| match (count, counter.last()) {
            (0, _) => TRUE,
            (count, Some(row)) => row.get(count - 1).copied().unwrap_or(!TRUE),
            (_, None) => !TRUE,
        };
        self.formula.clause(&[total(least)]);
        self.formula.clause(&[!total(most + 1)]);
        // "There are exactly this many members", for every number that is left. One that is alone in being
        // left needs no saying.
        let sizes: Vec<(usize, Lit)> = (least..=most)
            .map(|count| {
                let exactly = if least == most {
                    TRUE
                } else {
                    self.formula.and(&[total(count), !total(count + 1)])
                };
                (count, exactly)
            })
            .collect();
        for statistic in &group.statistics {
            match statistic {
                Statistic::Count { .. } => {}
                // A mean within bounds is a sum within bounds times the number of members, and sums are
                // whole.
                Statistic::Mean { of, low, high } => self.sum(&members, &sizes, *of, |count| {
                    let count = Rational::from(count as u64);
                    (whole((low * &count).ceil()), whole((high * &count).floor()))
                }),
                Statistic::Sum { of, low, high } => {
                    self.sum(&members, &sizes, *of, |_| (i128::from(*low), i128::from(*high)));
                }
                Statistic::Median {
                    of,
                    twice_low,
                    twice_high,
                } => self.median(&members, &counter, &sizes, *of, (*twice_low, *twice_high)),
            }
        }
    }

    /// For each number of members, the sum of `of` over them lies between the bounds.
    fn sum(
        &mut self,
        members: &[Lit],
        sizes: &[(usize, Lit)],
        of: usize,
        bounds: impl Fn(usize) -> (i128, i128),
    ) {
        let least = self.table.attributes[of].domain.bounds().0;
        let mut numbers = Vec::new();
        for (place, &member) in members.iter().enumerate() {
            let Person { values, bits, .. } = &mut self.people[place];
            let bits = bits.entry(of).or_insert_with(|| self.formula.bits(&values[of]));
            numbers.push(bits.iter().map(|bit| self.formula.and(&[member, *bit])).collect());
        }
        let sum = self.formula.sum(&numbers);
        for (count, exactly) in sizes {
            let (from, to) = bounds(*count);
            // The bits are of value − least, so the sum is short of the true one by least·count.
            let shift = i128::from(least) * *count as i128;
            if from > to {
                self.formula.clause(&[!*exactly]);
                continue;
            }
            self.formula.at_least(&[*exactly], &sum, from - shift);
            self.formula.at_most(&[*exactly], &sum, to - shift);
        }
    }

    /// Twice the median of `of` over the members lies between the bounds.
    ///
    /// `below` and `above` are the values of the two members in the middle; with an odd number they are the
    /// same member.
    fn median(
        &mut self,
        members: &[Lit],
        counter: &[Vec<Lit>],
        sizes: &[(usize, Lit)],
        of: usize,
        (twice_low, twice_high): (i64, i64),
    ) {
        let (least, greatest) = self.table.attributes[of].domain.bounds();
        // below ≤ above and below + above within the bounds leave no more than this.
        let odd = sizes.iter().all(|(count, _)| count % 2 == 1);
        let (mut lower, mut upper) = ((least, greatest), (least, greatest));
        lower.1 = lower.1.min(twice_high.div_euclid(2));
        upper.0 = upper.0.max(-(-twice_low).div_euclid(2));
        if odd {
            lower.0 = lower.0.max(upper.0);
            upper.1 = upper.1.min(lower.1);
        }
        if lower.0 > lower.1 || upper.0 > upper.1 {
            self.formula.clause(&[]);
            return;
        }
        let below = self.formula.number(lower.0, lower.1);
        let above = self.formula.number(upper.0, upper.1);
        for value in least..=greatest {
            // below ≤ v forces above ≥ low − v; below ≥ v forces above ≤ high − v; and above ≤ v forces below
            // ≤ v.
            self.formula
                .implies(&[below.at_most(value)], above.at_least(twice_low - value));
            self.formula
                .implies(&[below.at_least(value)], above.at_most(twice_high - value));
            self.formula
                .implies(&[above.at_most(value)], below.at_most(value));
        }
        if self.order.first() == Some(&of) {
            self.middle_by_position(members, counter, sizes, of, &below, &above);
        } else {
            self.middle_by_halves(members, sizes, of, &below, &above);
        }
    }

    /// The rows are sorted by `of`, so the r-th member in the order of rows is the r-th smallest.
    fn middle_by_position(
        &mut self,
        members: &[Lit],
        counter: &[Vec<Lit>],
        sizes: &[(usize, Lit)],
        of: usize,
        below: &Number,
        above: &Number,
    ) {
        for (place, &member) in members.iter().enumerate() {
            // Person `place` is the r-th member: belongs, and r − 1 belong before.
            let before = |rank: usize| match (rank, place) {
                (0, _) => TRUE,
                (_, 0) => !TRUE,
                (rank, place) => counter[place - 1].get(rank - 1).copied().unwrap_or(!TRUE),
            };
            for (middle, rank_of) in [
                (below, (|count| count.div_ceil(2)) as fn(usize) -> usize),
                (above, |count| count / 2 + 1),
            ] {
                let each: Vec<Lit> = sizes
                    .iter()
                    .map(|(count, exactly)| {
                        let rank = rank_of(*count);
                        self.formula
                            .and(&[*exactly, member, before(rank - 1), !before(rank)])
                    })
                    .collect();
                let holds = self.formula.or(&each);
                self.equal_if(holds, place, of, middle);
            }
        }
    }

    /// Two halves of the members, each of ⌈n/2⌉, which cover all: nobody in the lower one is above `below`,
    /// nobody in the upper one under `above`, and both values are somebody's. With `below` ≤ `above` these
    /// are the middle values: if n is even the halves are disjoint and split the sorted members; if it is odd
    /// they share one member z, with above ≤ z ≤ below, so all three are equal.
    fn middle_by_halves(
        &mut self,
        members: &[Lit],
        sizes: &[(usize, Lit)],
        of: usize,
        below: &Number,
        above: &Number,
    ) {
        let half = |formula: &mut Formula| -> Vec<Lit> {
            let half: Vec<Lit> = members.iter().map(|_| formula.free()).collect();
            for (chosen, member) in half.iter().zip(members) {
                formula.implies(&[*chosen], *member);
            }
            let counter = formula.counter(&half, members.len());
            let total = |count: usize| match (count, counter.last()) {
                (0, _) => TRUE,
                (count, Some(row)) => row.get(count - 1).copied().unwrap_or(!TRUE),
                (_, None) => !TRUE,
            };
            for (count, exactly) in sizes {
                formula.implies(&[*exactly], total(count.div_ceil(2)));
                formula.implies(&[*exactly], !total(count.div_ceil(2) + 1));
            }
            half
        };
        let lower = half(&mut self.formula);
        let upper = half(&mut self.formula);
        let mut holders = [Vec::new(), Vec::new()];
        for (place, &member) in members.iter().enumerate() {
            self.formula.implies(&[member, !lower[place]], upper[place]);
            let value = self.people[place].values[of].clone();
            for cut in value.cuts() {
                self.formula
                    .implies(&[lower[place], below.at_most(cut)], value.at_most(cut));
                self.formula
                    .implies(&[upper[place], value.at_most(cut)], above.at_most(cut));
            }
            for ((half, middle), holders) in [(&lower, below), (&upper, above)].into_iter().zip(&mut holders)
            {
                let holds = self.formula.free();
                self.formula.implies(&[holds], half[place]);
                self.equal_if(holds, place, of, middle);
                holders.push(holds);
            }
        }
        for holders in &holders {
            self.formula.clause(holders);
        }
    }

    /// If `holds`, the person's value of `of` is this number.
    fn equal_if(&mut self, holds: Lit, place: usize, of: usize, number: &Number) {
        let value = self.people[place].values[of].clone();
        for cut in value.cuts() {
            self.formula
                .implies(&[holds, value.at_most(cut)], number.at_most(cut));
            self.formula
                .implies(&[holds, number.at_most(cut)], value.at_most(cut));
        }
    }

    /// Fewer than this many of the people have this record.
    pub(super) fn fewer_than(&mut self, count: usize, record: &Record) {
        let conditions: Vec<Condition> = record
            .iter()
            .enumerate()
            .map(|(attribute, value)| Condition {
                attribute,
                ranges: vec![(*value, *value)],
            })
            .collect();
        let same: Vec<Lit> = (0..self.people.len())
            .map(|place| self.belongs(place, &conditions))
            .collect();
        let counter = self.formula.counter(&same, count);
        if let Some(most) = counter.last().and_then(|row| row.get(count - 1)) {
            self.formula.clause(&[!*most]);
        }
    }

    /// The people of a model, in order.
    pub(super) fn people(&self, holds: impl Fn(Lit) -> bool) -> Vec<Record> {
        let present = self.people.iter().filter(|person| holds(person.present));
        present
            .map(|person| person.values.iter().map(|value| value.value(&holds)).collect())
            .collect()
    }

    /// The clause that rules exactly these people out. They must be in the order of the rows, as
    /// [`Encoding::people`] gives them.
    pub(super) fn not_these(&self, people: &[Record]) -> Vec<Lit> {
        let mut clause = Vec::new();
        for (person, record) in self.people.iter().zip(people) {
            clause.push(!person.present);
            for (number, value) in person.values.iter().zip(record) {
                clause.extend([!number.at_most(*value), number.at_most(value - 1)]);
            }
        }
        // The next person in the rows is absent, and with that all who follow.
        clause.extend(self.people.get(people.len()).map(|person| person.present));
        clause.retain(|lit| *lit != !TRUE);
        clause
    }
}

/// Attributes by how many numbers are about them, most first.
fn comparison_order(table: &Table) -> Vec<usize> {
    let measured = |attribute: usize| {
        let statistics = table.groups.iter().flat_map(|group| &group.statistics);
        statistics
            .filter(|statistic| statistic.attribute() == Some(attribute))
            .count()
    };
    let mut order: Vec<usize> = (0..table.attributes.len()).collect();
    order.sort_by_key(|&attribute| std::cmp::Reverse(measured(attribute)));
    order
}

/// A whole number that fits. Bounds on domains and people keep sums far below this.
fn whole(value: Integer) -> i128 {
    i128::try_from(&value).unwrap_or(if value > Integer::ZERO {
        i128::MAX / 4
    } else {
        i128::MIN / 4
    })
}
