//! What released statistics say about the truth: values and intervals. Post-processing: nothing here sees data.

mod pairs;
mod whole;

pub(crate) use whole::{CutShare, Noisy, expected_half_width, whole_data};

use crate::finish::release::{Released, TREE_NODES};
use crate::price::{Noise, Price};
use crate::run::engine::leaf_steps;
use crate::understand::aggregation::{Aggregation, Measure, Output, Statistic, TREE_BRANCHES, TREE_LEAVES};
use crate::values::facts::{Kind, Range};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// How sure an interval is.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// A value and the interval that holds the truth of the bounded data with the stated probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    /// `None` where there is nothing to tell, as the average of no rows.
    pub(crate) value: Option<f64>,
    /// With probability 95 %.
    pub(crate) interval: Option<(f64, f64)>,
    /// With probability 97.5 %, for expressions of two columns.
    pub(crate) wide: Option<(f64, f64)>,
}

/// The estimates of one output, a group each.
pub(crate) fn estimates(
    aggregation: &Aggregation,
    price: &Price,
    released: &Released,
    output: &Output,
) -> Vec<Estimate> {
    let reader = Reader {
        aggregation,
        price,
        released,
        widths: RefCell::default(),
    };
    (0..released.groups.len())
        .map(|group| {
            let (value, interval) = reader.read(output, group, CONFIDENCE);
            let (_, wide) = reader.read(output, group, f64::midpoint(1.0, CONFIDENCE));
            Estimate {
                value,
                interval,
                wide,
            }
        })
        .collect()
}

/// An aggregation that was released.
pub(crate) struct Seen<'a> {
    pub(crate) aggregation: &'a Aggregation,
    pub(crate) price: &'a Price,
    pub(crate) released: &'a Released,
}

impl Seen<'_> {
    fn reader(&self) -> Reader<'_> {
        Reader {
            aggregation: self.aggregation,
            price: self.price,
            released: self.released,
            widths: RefCell::default(),
        }
    }
}

struct Reader<'a> {
    aggregation: &'a Aggregation,
    price: &'a Price,
    released: &'a Released,
    /// Half-widths that were needed before, by statistic and the bits of the confidence: they are the same for all groups.
    widths: RefCell<BTreeMap<(usize, u64), f64>>,
}

type Reading = (Option<f64>, Option<(f64, f64)>);

impl Reader<'_> {
    /// A statistic's value and half-width, as real numbers. One to which no unit can add anything, as deviations from the only value of a range, is zero whatever the data are: that
    /// follows from the query, and its noise says nothing.
    fn number(&self, statistic: usize, group: usize, confidence: f64) -> (f64, f64) {
        let Statistic { steps, low, high, .. } = self.aggregation.statistics[statistic];
        if low == 0 && high == 0 {
            return (0.0, 0.0);
        }
        let size = steps.size();
        let value = self.released.numbers[statistic][group] as f64 * size;
        let half = *self
            .widths
            .borrow_mut()
            .entry((statistic, confidence.to_bits()))
            .or_insert_with(|| half_width(&self.price.noise[statistic], confidence));
        (value, half * size)
    }

    fn read(&self, output: &Output, group: usize, confidence: f64) -> Reading {
        // Each of n parts may fail with an n-th of the probability.
        let shared = |parts: f64| 1.0 - (1.0 - confidence) / parts;
        match output {
            Output::Plain { statistic } => {
                let (value, half) = self.number(*statistic, group, confidence);
                (Some(value), Some((value - half, value + half)))
            }
            Output::Average { sum, count, centre } => {
                let (sum, sum_half) = self.number(*sum, group, shared(2.0));
                let (count, count_half) = self.number(*count, group, shared(2.0));
                let range = self.average_range(output);
                average((sum, sum_half), (count, count_half), *centre, range)
            }
            Output::Variance {
                first,
                second,
                count,
                second_centre,
                sample,
                root,
            } => {
                let count = self.number(*count, group, shared(3.0));
                let widest = Range {
                    low: f64::MIN,
                    high: f64::MAX,
                };
                let first = average(self.number(*first, group, shared(3.0)), count, 0.0, widest);
                let second = average(
                    self.number(*second, group, shared(3.0)),
                    count,
                    *second_centre,
                    widest,
                );
                let (Some(mean), Some(square)) = (first.0, second.0) else {
                    return (None, None);
                };
                let bessel = match sample {
                    true if count.0 > 1.0 => count.0 / (count.0 - 1.0),
                    _ => 1.0,
                };
                let finish = |variance: f64| {
                    let variance = (variance * bessel).max(0.0);
                    if *root { variance.sqrt() } else { variance }
                };
                let value = finish(square - mean * mean);
                let interval = first.1.zip(second.1).map(|(means, squares)| {
                    let largest = means.0.powi(2).max(means.1.powi(2));
                    let least = if means.0 <= 0.0 && means.1 >= 0.0 {
                        0.0
                    } else {
                        means.0.powi(2).min(means.1.powi(2))
                    };
                    (finish(squares.0 - largest), finish(squares.1 - least))
                });
                (Some(value), interval)
            }
            Output::Quantile { tree, fraction, .. } => self.quantile(*tree, *fraction, group, confidence),
            // One row is enough, or one too many; what the noise may have made up is none.
            Output::Truth { count, all } => {
                let (count, half) = self.number(*count, group, CONFIDENCE);
                let some = count - half > 0.0;
                (Some(f64::from(u8::from(some != *all))), None)
            }
            Output::Pairs { function, moments } => pairs::read(self, *function, moments, group, confidence),
            // The place of the most frequent value among the public ones. A value has no interval.
            Output::Mode { histogram, values } => {
                let bins = values.len();
                let counts = &self.released.numbers[*histogram][group * bins..(group + 1) * bins];
                let most = counts.iter().max();
                let place = counts.iter().position(|count| Some(count) == most);
                (place.map(|place| place as f64), None)
            }
        }
    }

    /// Where an average can lie at all.
    fn average_range(&self, output: &Output) -> Range {
        let Output::Average { sum, .. } = output else {
            return Range {
                low: f64::MIN,
                high: f64::MAX,
            };
        };
        let statistic = &self.aggregation.statistics[*sum];
        let argument = statistic.argument().expect("a sum has an argument");
        let size = argument.steps.size();
        Range {
            low: argument.low as f64 * size,
            high: argument.high as f64 * size,
        }
    }

    fn quantile(&self, tree: usize, fraction: f64, group: usize, confidence: f64) -> Reading {
        let Measure::Tree { kind, range, .. } = self.aggregation.statistics[tree].measure else {
            return (None, None);
        };
        let nodes = &self.released.numbers[tree][group * TREE_NODES..(group + 1) * TREE_NODES];
        let deviation = self.price.noise[tree].deviation();
        let ranks = Ranks::of(nodes);
        // A rank is a sum of at most 15 nodes of each level; by their deviation it is about normal.
        let z = normal_quantile(1.0 - (1.0 - confidence) / 2.0);
        let blur = z * deviation * f64::from(45u8).sqrt();
        if ranks.total <= 0.0 {
            return (None, Some((range.low, range.high)));
        }
        // The extreme ranks are as far inside as the noise is wide: beyond that only noise would be seen.
        let inside = |rank: f64| {
            rank.clamp(
                (blur / 2.0).min(ranks.total / 2.0),
                (ranks.total - blur / 2.0).max(ranks.total / 2.0),
            )
        };
        let target = fraction * ranks.total;
        // Too few rows for this noise: nothing is known but the range, and a number would repeat one of its ends.
        if target - blur <= 0.0 && target + blur >= ranks.total {
            return (None, Some((range.low, range.high)));
        }
        let place = |rank: f64| value_of(ranks.leaf(rank), kind, range);
        let low = if target - blur <= 0.0 {
            range.low
        } else {
            place(target - blur)
        };
        let high = if target + blur >= ranks.total {
            range.high
        } else {
            place(target + blur)
        };
        let value = place(inside(target));
        (Some(value), Some((low.min(value), high.max(value))))
    }
}

/// A distance that the noise exceeds with at most the remaining probability, in steps.
pub(crate) fn half_width(noise: &Noise, confidence: f64) -> f64 {
    noise
        .accuracy()
        .half_width(confidence, 1)
        .unwrap_or(f64::INFINITY)
}

/// centre + sum/count, where both are noisy. By the union bound the interval holds when both parts hold.
fn average(sum: (f64, f64), count: (f64, f64), centre: f64, range: Range) -> Reading {
    let within = |value: f64| value.clamp(range.low, range.high);
    let ends = (count.0 - count.1, count.0 + count.1);
    if count.0 < 1.0 {
        let whole = (range.low > f64::MIN).then_some((range.low, range.high));
        return (None, whole);
    }
    let value = within(centre + sum.0 / count.0);
    if ends.0 < 1.0 {
        // There may be hardly any rows: nothing is known but the range.
        let whole = (range.low > f64::MIN).then_some((range.low, range.high));
        return (Some(value), whole);
    }
    let corners = [sum.0 - sum.1, sum.0 + sum.1]
        .into_iter()
        .flat_map(|sum| [sum / ends.0, sum / ends.1]);
    let (low, high) = corners.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), corner| {
        (low.min(corner), high.max(corner))
    });
    (Some(value), Some((within(centre + low), within(centre + high))))
}

/// Cumulative counts of the leaves, from a noisy tree.
struct Ranks {
    cumulative: Vec<f64>,
    total: f64,
}

impl Ranks {
    /// Children are made to sum to their parent, level by level, none below zero.
    fn of(nodes: &[i64]) -> Self {
        let branches = TREE_BRANCHES as usize;
        let total: f64 = nodes[..branches]
            .iter()
            .map(|count| *count as f64)
            .sum::<f64>()
            .max(0.0);
        let mut parents = vec![total];
        let mut offset = 0;
        while parents.len() < TREE_LEAVES as usize {
            let mut children = Vec::with_capacity(parents.len() * branches);
            for (place, parent) in parents.iter().enumerate() {
                let from = offset + place * branches;
                let noisy = nodes[from..from + branches].iter().map(|count| *count as f64);
                children.extend(summing_to(*parent, noisy.collect()));
            }
            offset += children.len();
            parents = children;
        }
        let cumulative = parents
            .iter()
            .scan(0.0, |sum, count| {
                *sum += count;
                Some(*sum)
            })
            .collect();
        Self { cumulative, total }
    }

    /// Where a rank is reached: a leaf, and how far through it.
    fn leaf(&self, rank: f64) -> f64 {
        let place = self
            .cumulative
            .partition_point(|sum| *sum < rank)
            .min(self.cumulative.len() - 1);
        let before = if place == 0 {
            0.0
        } else {
            self.cumulative[place - 1]
        };
        let count = self.cumulative[place] - before;
        let through = if count > 0.0 {
            ((rank - before) / count).clamp(0.0, 1.0)
        } else {
            0.5
        };
        place as f64 + through
    }
}

/// The nearest numbers that are not negative and have this sum: the same is taken from each until what is left suffices.
fn summing_to(parent: f64, children: Vec<f64>) -> Vec<f64> {
    if parent <= 0.0 {
        return vec![0.0; children.len()];
    }
    let mut sorted = children.clone();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let mut sum = 0.0;
    let mut level = 0.0;
    for (place, value) in sorted.iter().enumerate() {
        sum += value;
        let candidate = (sum - parent) / (place + 1) as f64;
        if *value - candidate > 0.0 {
            level = candidate;
        }
    }
    children.iter().map(|value| (value - level).max(0.0)).collect()
}

/// The value at a place among the leaves. Leaf j is around its grid point; integers are their grid points.
fn value_of(leaf: f64, kind: Kind, range: Range) -> f64 {
    let steps = leaf_steps(kind, range);
    let first = steps.round(range.low) as f64;
    let place = if kind == Kind::Int && steps.exponent() == 0 {
        leaf.min(4095.99).floor()
    } else {
        leaf - 0.5
    };
    ((first + place) * steps.size()).clamp(range.low, range.high)
}

/// z with Φ(z) = p, for p in (½, 1): Abramowitz and Stegun 26.2.23, within 4.5e-4. For people.
fn normal_quantile(p: f64) -> f64 {
    let t = (-2.0 * (1.0 - p).ln()).sqrt();
    t - (2.515517 + 0.802853 * t + 0.010328 * t * t)
        / (1.0 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_sum_to_their_parent() {
        let children = summing_to(10.0, vec![8.0, 5.0, -3.0, 0.5]);
        assert!((children.iter().sum::<f64>() - 10.0).abs() < 1e-9, "{children:?}");
        assert!(children.iter().all(|child| *child >= 0.0));
        assert_eq!(summing_to(0.0, vec![3.0, 1.0]), [0.0, 0.0]);
        assert_eq!(summing_to(4.0, vec![3.0, 1.0]), [3.0, 1.0]);
    }

    #[test]
    fn exact_trees_give_exact_ranks() {
        let mut nodes = vec![0i64; TREE_NODES];
        for leaf in [0usize, 100, 100, 4095] {
            nodes[leaf / 256] += 1;
            nodes[16 + leaf / 16] += 1;
            nodes[272 + leaf] += 1;
        }
        let ranks = Ranks::of(&nodes);
        assert_eq!(ranks.total, 4.0);
        assert_eq!(ranks.leaf(0.5).floor(), 0.0);
        assert_eq!(ranks.leaf(2.0).floor(), 100.0);
        assert_eq!(ranks.leaf(3.9).floor(), 4095.0);
    }

    #[test]
    fn an_average_of_hardly_any_rows_says_so() {
        let range = Range::new(0.0, 10.0).unwrap();
        assert_eq!(
            average((3.0, 1.0), (0.2, 5.0), 5.0, range),
            (None, Some((0.0, 10.0)))
        );
        assert_eq!(average((3.0, 1.0), (4.0, 5.0), 5.0, range).1, Some((0.0, 10.0)));
        let (value, interval) = average((100.0, 10.0), (100.0, 10.0), 5.0, range);
        assert_eq!(value, Some(6.0));
        let (low, high) = interval.unwrap();
        assert!((low - (5.0 + 90.0 / 110.0)).abs() < 1e-12 && (high - (5.0 + 110.0 / 90.0)).abs() < 1e-12);
    }

    #[test]
    fn every_place_in_any_range_is_a_number_in_it() {
        let ends = [0.0, 5e-324, 0.1, 5.0, 5.0f64.next_up(), 1e300, f64::MAX];
        let ends: Vec<f64> = ends.into_iter().flat_map(|end| [end, -end]).collect();
        for (low, high) in ends
            .iter()
            .flat_map(|low| ends.iter().map(move |high| (*low, *high)))
        {
            let Some(range) = Range::new(low, high) else {
                continue;
            };
            for kind in [Kind::Int, Kind::Float] {
                for leaf in [0.0, 0.5, 1.0, 2047.5, 4095.0, 4096.0] {
                    let value = value_of(leaf, kind, range);
                    assert!((low..=high).contains(&value), "{range:?} {kind} {leaf}: {value}");
                }
            }
        }
    }

    #[test]
    fn normal_quantiles() {
        assert!((normal_quantile(0.975) - 1.95996).abs() < 1e-3);
    }
}
