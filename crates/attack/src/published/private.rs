//! The same table released with differential privacy, and what an attacker can learn from it.

use super::table::{Group, Record, Statistic, StatisticKind, Table};
use crate::Error;
use accounting::{Budget, Epsilon, Neighbors, PrivacyUnit, Promise};
use exact::{Rational, ratio};
use mechanism::{
    Account, Aggregate, Bounds, Column, Laplace, MemoryLedger, Quantile, Sensitive, Sensitivity, Stated,
};
use noise::{Entropy, Grid};

/// A table with noise, read in two ways.
#[derive(Clone, Debug)]
pub struct Noisy {
    /// As it was printed: an attacker who believes that the numbers are exact tries to solve this.
    pub at_face_value: Table,
    /// As a careful attacker reads it: counts and sums within their margins of error, all of them at once
    /// with the stated confidence; noisy medians, whose error depends on the data, left out.
    pub with_margins: Table,
    /// The confidence of the margins.
    pub confidence: f64,
}

/// The probability that all margins of error hold.
const CONFIDENCE: f64 = 0.95;

/// Releases the table's numbers about these people with total privacy loss ε, in equal parts.
///
/// One person's whole record is protected; how many people there are is public. A count moves by at most 1
/// when a record changes, and the sum behind a mean by at most the largest value or the width of the domain:
/// both get Laplace noise. A median is chosen by the exponential mechanism, whose score moves by at most 1,
/// whether somebody changes within the group, enters or leaves. Printing (clamping, rounding, dividing) is
/// post-processing.
pub fn privately(
    table: &Table,
    people: &[Record],
    epsilon: &Epsilon,
    entropy: impl Entropy + Send + 'static,
) -> Result<Noisy, Error> {
    table.check()?;
    let unit = PrivacyUnit::new("person", Neighbors::ChangeOne);
    // A mean is a sum divided by a noisy count, which a group that publishes none needs of its own.
    let alone = |group: &&Group| {
        group.statistic(StatisticKind::Mean).is_some() && group.statistic(StatisticKind::Count).is_none()
    };
    let cells = (table.cells().len() + table.groups.iter().filter(alone).count()).max(1) as u64;
    let share = Epsilon::rounded_down(&(epsilon.as_rational() / Rational::from(cells))).map_err(refused)?;
    let budget = Budget::new(Promise::Pure(epsilon.clone()), unit.clone());
    let mut printer = Printer {
        account: Account::with_entropy(MemoryLedger::new(budget), entropy),
        unit,
        share,
        // By the union bound all margins hold at once.
        each: 1.0 - (1.0 - CONFIDENCE) / cells as f64,
    };
    let mut noisy = Noisy {
        at_face_value: table.clone(),
        with_margins: table.clone(),
        confidence: CONFIDENCE,
    };
    for table in [&mut noisy.at_face_value, &mut noisy.with_margins] {
        table.people = Some(people.len() as u32);
    }
    for (place, group) in table.groups.iter().enumerate() {
        let members: Vec<&Record> = people.iter().filter(|record| group.has(record)).collect();
        let mut printed = Vec::new();
        let mut margins = Vec::new();
        let counted = group.statistic(StatisticKind::Count).is_some();
        let mut count = 0;
        if counted || group.statistic(StatisticKind::Mean).is_some() {
            let within = |value: i64| value.clamp(0, people.len() as i64);
            let (value, error) = printer.number(members.len() as i64, 1)?;
            count = within(value);
            if counted {
                printed.push(Statistic::count(count as u32));
                margins.push(Statistic::Count {
                    low: within(value - error) as u32,
                    high: within(value + error) as u32,
                });
            }
        }
        for statistic in &group.statistics {
            let Some(of) = statistic.attribute() else {
                continue;
            };
            let (least, greatest) = table.attributes[of].domain.bounds();
            if statistic.kind() == StatisticKind::Median {
                let values: Vec<i64> = members.iter().map(|record| record[of]).collect();
                let value = printer.middle(values, least, greatest)?;
                printed.push(Statistic::median(of, 2 * value));
                continue;
            }
            let moved = (greatest - least).max(least.abs()).max(greatest.abs()).max(1);
            let sum: i64 = members.iter().map(|record| record[of]).sum();
            let (value, error) = printer.number(sum, moved)?;
            margins.push(Statistic::Sum {
                of,
                low: value - error,
                high: value + error,
            });
            match (statistic.kind(), count) {
                (StatisticKind::Sum, _) => printed.push(Statistic::Sum {
                    of,
                    low: value,
                    high: value,
                }),
                // A mean of nobody is not printed.
                (_, 0) => {}
                (_, count) => {
                    let tenths = (Rational::from(10 * value) / Rational::from(count)).round();
                    printed.push(Statistic::mean(
                        of,
                        &(Rational::from(tenths) / Rational::from(10)),
                        1,
                    ));
                }
            }
        }
        noisy.at_face_value.groups[place].statistics = printed;
        noisy.with_margins.groups[place].statistics = margins;
    }
    Ok(noisy)
}

/// Releases one number after the other, each for the same share of ε.
struct Printer {
    account: Account<MemoryLedger>,
    unit: PrivacyUnit,
    share: Epsilon,
    each: f64,
}

impl Printer {
    /// A number that one record moves by at most `moved`, and its margin of error.
    fn number(&mut self, value: i64, moved: i64) -> Result<(i64, i64), Error> {
        let sensitivity = Sensitivity::scalar(moved).map_err(refused)?;
        let grid = Grid::new(0);
        let laplace = Laplace::new(self.share.clone(), sensitivity.clone(), grid).map_err(refused)?;
        let margin = laplace
            .terms()
            .accuracy()
            .half_width(self.each, 1)
            .map_or(i64::MAX / 4, |width| width.ceil() as i64);
        let input = Aggregate::claimed(Sensitive::new(value), sensitivity, self.unit.clone(), grid);
        let release = self
            .account
            .release_by(&laplace, input, "a number of the table")
            .map_err(refused)?;
        Ok((release.into_value(), margin))
    }

    /// The median of values between bounds.
    fn middle(&mut self, values: Vec<i64>, least: i64, greatest: i64) -> Result<i64, Error> {
        let grid = Grid::new(0);
        let bounds = Bounds::new(least, greatest, grid).map_err(refused)?;
        let quantile =
            Quantile::new(self.share.clone(), &ratio(1, 2), bounds, Neighbors::ChangeOne).map_err(refused)?;
        let one = Sensitivity::scalar(1).map_err(refused)?;
        let input = Aggregate::claimed(Sensitive::new(Column::new(values)), one, self.unit.clone(), grid);
        let release = self
            .account
            .release_by(&quantile, input, "a median of the table")
            .map_err(refused)?;
        Ok(release.into_value())
    }
}

/// What the mechanisms refuse here is a setting: ε of zero, or a domain without room.
fn refused(error: impl std::fmt::Display) -> Error {
    let text = error.to_string();
    let (what, hint) = text
        .split_once("\nhint: ")
        .unwrap_or((&text, "choose an ε above 0, such as 1"));
    Error::bad_setting(what, hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seeded;
    use crate::published::{Effort, census, reconstruct};

    #[test]
    fn with_noise_nobody_is_rebuilt() {
        let table = census();
        let people = reconstruct(&table, &Effort::up_to(1))
            .unwrap()
            .solutions
            .remove(0);
        let epsilon = Epsilon::parse("1").unwrap();
        // Fixed seeds: the outcome is the same every time.
        for seed in 0..5 {
            let noisy = privately(&table, &people, &epsilon, Seeded::new(seed)).unwrap();
            let naive = reconstruct(&noisy.at_face_value, &Effort::up_to(1)).unwrap();
            assert!(naive.complete && naive.solutions.is_empty(), "seed {seed}");
            let careful = reconstruct(&noisy.with_margins, &Effort::up_to(3)).unwrap();
            assert_eq!(
                (careful.solutions.len(), careful.complete),
                (3, false),
                "seed {seed}"
            );
            assert!(careful.certain.is_empty(), "seed {seed}");
        }
    }

    #[test]
    fn margins_hold_the_truth_and_shrink_with_epsilon() {
        let table = census();
        let people = reconstruct(&table, &Effort::up_to(1))
            .unwrap()
            .solutions
            .remove(0);
        // With so much budget noise vanishes, and the printed table is the true one but for medians that were
        // halves.
        let much = Epsilon::parse("100000").unwrap();
        let noisy = privately(&table, &people, &much, Seeded::new(1)).unwrap();
        assert!(noisy.with_margins.allows(&people));
        for (group, printed) in table.groups.iter().zip(&noisy.at_face_value.groups) {
            for kind in [StatisticKind::Count, StatisticKind::Mean] {
                assert_eq!(group.statistic(kind), printed.statistic(kind), "{}", group.id);
            }
        }
        // 0.95 of all tables lie within their margins: of 40, 30 or fewer with probability 6e-5 at most; the
        // seeds are fixed.
        let little = Epsilon::parse("1").unwrap();
        let held = (0..40).filter(|seed| {
            let noisy = privately(&table, &people, &little, Seeded::new(*seed)).unwrap();
            noisy.with_margins.allows(&people)
        });
        assert!(held.count() > 30);
    }
}
