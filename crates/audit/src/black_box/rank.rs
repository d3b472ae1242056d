//! Which cells make the best event: ranked on some draws, chosen on others.

use super::cells::Partition;
use super::hunt::Hunt;
use super::{Side, epsilon_bound};

/// Hits of each cell on the first and on the second side, and draws of each.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) hits: Vec<[u64; 2]>,
    pub(super) drawn: [u64; 2],
}

impl Tally {
    /// Of so many cells.
    pub(super) fn of(cells: usize) -> Self {
        Self {
            hits: vec![[0; 2]; cells],
            drawn: [0; 2],
        }
    }

    pub(super) fn add(&mut self, part: &Self) {
        self.hits.resize(part.hits.len(), [0; 2]);
        let hits = self.hits.iter_mut().zip(&part.hits);
        for (sum, part) in hits.chain([(&mut self.drawn, &part.drawn)]) {
            sum[0] += part[0];
            sum[1] += part[1];
        }
    }
}

/// A set of more cells than these is hard to understand, and must be better than a simple event by this part.
const SIMPLE: usize = 4;
const PRICE_OF_MANY: f64 = 0.01;
/// Standard errors that counts of single cells are moved against them before they are named.
const ALONE: f64 = 1.0;

/// An order of cells, and how many of them from its beginning make the event.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) order: Vec<usize>,
    pub(super) length: usize,
    pub(super) likely: Side,
    /// The bound that the test can be expected to give.
    pub(super) value: f64,
    /// Whether the order is that of the cells' ratios.
    is_set: bool,
}

impl Choice {
    /// An event that nothing is known of.
    #[cfg(test)]
    pub(super) fn new(order: Vec<usize>, length: usize, likely: Side) -> Self {
        Self {
            order,
            length,
            likely,
            value: 0.0,
            is_set: true,
        }
    }

    /// What these draws say that the test can be expected to give, when their counts are moved so many standard errors against the event.
    pub(super) fn judged(&self, hunt: &Hunt, tally: &Tally, caution: f64) -> f64 {
        let drawn = [self.likely, self.likely.other()].map(|side| tally.drawn[side.index()]);
        self.priced(expected_bound(hunt, self.hits(tally), drawn, caution))
    }

    /// How often these draws hit it: on the likely side and on the other.
    pub(super) fn hits(&self, tally: &Tally) -> [u64; 2] {
        let cells = || self.order[..self.length].iter().map(|cell| tally.hits[*cell]);
        [self.likely, self.likely.other()].map(|side| cells().map(|hits| hits[side.index()]).sum())
    }

    /// Whether the two hold the same cells.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let cells = |choice: &Self| {
            let mut cells = choice.order[..choice.length].to_vec();
            cells.sort_unstable();
            cells
        };
        self.likely == other.likely && self.length == other.length && cells(self) == cells(other)
    }

    /// Half-lines are preferred where little is lost by it: they are simple, and say why.
    fn priced(&self, value: f64) -> f64 {
        if self.is_set && self.length > SIMPLE {
            value - PRICE_OF_MANY * value.abs()
        } else {
            value
        }
    }
}

/// The best event of a partition at each of some cautions: the standard errors that counts are moved against an event before they are carried to the size of the
/// test. Of thousands of events the one that looks best is a lucky one, the luckier the rarer it is; a lower confidence bound is what luck does not reach.
///
/// Cells are ordered by how much likelier they are on a side (Neyman and Pearson: the best events begin such an order) and, where keys have an order, along it and against
/// it. Orders that the draws had no part in are measured on all draws. Those by ratio are made on one fold and measured on the other, and the other way round: a cell
/// that is first because it was lucky is not lucky again.
pub(super) fn best_choices<const N: usize>(
    hunt: &Hunt,
    partition: &Partition,
    folds: &[Tally; 2],
    cautions: [f64; N],
) -> [Choice; N] {
    let mut both = folds[0].clone();
    both.add(&folds[1]);
    let natural: Vec<usize> = (0..both.hits.len()).collect();
    let nothing = Choice {
        length: natural.len(),
        order: natural.clone(),
        likely: Side::First,
        value: f64::NEG_INFINITY,
        is_set: false,
    };
    let mut best = cautions.map(|_| nothing.clone());
    for likely in [Side::First, Side::Second] {
        let sides = [likely.index(), likely.other().index()];
        let mut orders: Vec<(bool, Vec<usize>, &Tally)> = Vec::new();
        // A learned score is a ratio already, and a better one than that of single cells.
        if matches!(partition, Partition::Keys { .. }) {
            orders.push((true, by_ratio(&folds[0], sides), &folds[1]));
            orders.push((true, by_ratio(&folds[1], sides), &folds[0]));
        }
        orders.extend(partition.orders().into_iter().map(|order| (false, order, &both)));
        for (is_set, order, tally) in orders {
            let lengths = best_lengths(hunt, &order, tally, sides, cautions);
            for ((length, value), best) in lengths.into_iter().zip(&mut best) {
                let mut choice = Choice {
                    order: Vec::new(),
                    length,
                    likely,
                    value,
                    is_set,
                };
                choice.value = choice.priced(value);
                // Half-lines come last, so of equals they are chosen.
                if choice.value >= best.value {
                    choice.order.clone_from(&order);
                    *best = choice;
                }
            }
        }
    }
    best
}

/// What is worth judging on draws of its own: the best beginnings of every order at every caution, and single cells where cells have no order, as each of them is an
/// output, a beginning of one or a pattern in it. Luck chooses here as well, and draws that judge do away with it; so there are many, the most promising of each kind.
pub(super) fn candidates(
    hunt: &Hunt,
    partition: &Partition,
    folds: &[Tally; 2],
    cautions: &[f64; 4],
    most: usize,
) -> Vec<Choice> {
    let mut both = folds[0].clone();
    both.add(&folds[1]);
    let mut found: Vec<Choice> = Vec::new();
    let mut name = |choice: Choice| {
        if choice.value > f64::NEG_INFINITY && !found.iter().any(|other| other.is_same(&choice)) {
            found.push(choice);
        }
    };
    // The best of all comes first, whatever else there is.
    best_choices(hunt, partition, folds, *cautions)
        .into_iter()
        .for_each(&mut name);
    let mut others: Vec<Choice> = Vec::new();
    for likely in [Side::First, Side::Second] {
        let sides = [likely.index(), likely.other().index()];
        let drawn = sides.map(|side| both.drawn[side]);
        let mut orders: Vec<(bool, Vec<usize>)> = Vec::new();
        if matches!(partition, Partition::Keys { .. }) {
            orders.push((true, by_ratio(&both, sides)));
        }
        orders.extend(partition.orders().into_iter().map(|order| (false, order)));
        for (is_set, order) in orders {
            for (length, value) in best_lengths(hunt, &order, &both, sides, *cautions) {
                let order = order.clone();
                others.push(Choice {
                    order,
                    length,
                    likely,
                    value,
                    is_set,
                });
            }
        }
        if !partition.is_ordered() {
            for (cell, hits) in both.hits.iter().enumerate() {
                let hits = sides.map(|side| hits[side]);
                let value = expected_bound(hunt, hits, drawn, ALONE);
                // The family around a single cell: the others by their ratio.
                let order = vec![cell];
                others.push(Choice {
                    order,
                    length: 1,
                    likely,
                    value,
                    is_set: true,
                });
            }
        }
    }
    others.sort_by(|left, right| right.value.total_cmp(&left.value));
    others.into_iter().take(4 * most).for_each(&mut name);
    found.truncate(most);
    // An event of one cell has no order yet that a family around it could be made of.
    for choice in found.iter_mut().filter(|choice| choice.order.len() == 1) {
        let sides = [choice.likely.index(), choice.likely.other().index()];
        let first = choice.order[0];
        choice
            .order
            .extend(by_ratio(&both, sides).into_iter().filter(|cell| *cell != first));
    }
    found
}

/// Cells by a cautious logarithm of the ratio: one standard error below the estimate, so that a cell hit once says little.
fn by_ratio(tally: &Tally, sides: [usize; 2]) -> Vec<usize> {
    let ratio = |cell: &[u64; 2]| {
        let [hits, others] = sides.map(|side| cell[side] as f64 + 0.5);
        (hits / others).ln() - (1.0 / hits + 1.0 / others).sqrt()
    };
    let mut ratios: Vec<(f64, usize)> = tally.hits.iter().map(ratio).zip(0..).collect();
    ratios.sort_by(|left, right| right.0.total_cmp(&left.0));
    ratios.into_iter().map(|(_, cell)| cell).collect()
}

/// For each caution how many cells from the beginning of an order make the best event, and how good it looks.
fn best_lengths<const N: usize>(
    hunt: &Hunt,
    order: &[usize],
    tally: &Tally,
    sides: [usize; 2],
    cautions: [f64; N],
) -> [(usize, f64); N] {
    let drawn = sides.map(|side| tally.drawn[side]);
    let mut best = [(order.len(), f64::NEG_INFINITY); N];
    let mut hits = [0; 2];
    for (position, cell) in order.iter().enumerate() {
        let more = sides.map(|side| tally.hits[*cell][side]);
        if more == [0; 2] {
            continue;
        }
        hits = [hits[0] + more[0], hits[1] + more[1]];
        for (best, caution) in best.iter_mut().zip(cautions) {
            let expected = expected_bound(hunt, hits, drawn, caution);
            if expected > best.1 {
                *best = (position + 1, expected);
            }
        }
    }
    best
}

/// The bound on ε that a test of `hunt.testing` draws can be expected to give, from counts on the likely side and the other: the
/// counts are moved against us, carried to the size of the test, and bounded by Wilson's limits, which are cheap and near enough to the exact
/// ones for choosing.
fn expected_bound(hunt: &Hunt, hits: [u64; 2], drawn: [u64; 2], caution: f64) -> f64 {
    let scale = hunt.testing as f64 / (drawn[0] + drawn[1]).max(1) as f64;
    let half = caution * caution / 2.0;
    let [likely, unlikely] = hits.map(|hits| hits as f64);
    let likely = scale * (likely + half - caution * (likely + half / 2.0).sqrt()).max(0.0);
    let unlikely = scale * (unlikely + half + caution * (unlikely + half / 2.0).sqrt());
    let failure = (1.0 - hunt.confidence) / 2.0;
    if hunt.delta > 0.0 {
        let trials = hunt.testing as f64 / 2.0;
        let (low, high) = (
            wilson(likely, trials, failure).0,
            wilson(unlikely, trials, failure).1,
        );
        return if low > hunt.delta {
            epsilon_bound(low, high, hunt.delta)
        } else {
            low - 1e3
        };
    }
    // A negative bound is still worth comparing, so that a hopeless choice is the least hopeless one.
    let low = wilson(likely, likely + unlikely, failure).0;
    if low <= 0.0 {
        -1e3
    } else {
        (low / (1.0 - low)).ln()
    }
}

/// Wilson's score limits.
fn wilson(hits: f64, trials: f64, failure: f64) -> (f64, f64) {
    if trials <= 0.0 {
        return (0.0, 1.0);
    }
    // The squared normal quantile, to first order in its tail.
    let twice = -2.0 * failure.ln();
    let square = (twice - (twice * std::f64::consts::TAU).max(1.0).ln()).max(1.0);
    let share = hits / trials;
    let center = share + square / (2.0 * trials);
    let spread = (square * (share * (1.0 - share) + square / (4.0 * trials)) / trials)
        .max(0.0)
        .sqrt();
    let whole = 1.0 + square / trials;
    ((center - spread) / whole, (center + spread) / whole)
}

#[cfg(test)]
mod tests {
    use super::super::Lens;
    use super::*;

    fn hunt(testing: u64) -> Hunt {
        Hunt {
            choosing: 1000,
            testing,
            delta: 0.0,
            confidence: 1.0 - 1e-6,
            lens: Lens::Everything,
        }
    }

    /// What is expected is near what exact limits give, and below it.
    #[test]
    fn expectations_are_near_the_exact_limits() {
        for (likely, unlikely) in [(50_000u64, 40_000u64), (5_000, 20), (1_000, 0)] {
            let expected = expected_bound(&hunt(2_000_000), [likely, unlikely], [1_000_000; 2], 1.0);
            let coin = crate::binomial::lower_limit(likely, likely + unlikely, 5e-7);
            let exact = (coin / (1.0 - coin)).ln();
            assert!(
                expected < exact && expected > exact - 0.7,
                "{likely} {unlikely}: {expected} {exact}"
            );
        }
    }

    #[test]
    fn rare_events_pay_only_with_many_draws() {
        // A rare cell with ratio 4 and a common one with ratio 2.
        let tally = Tally {
            hits: vec![[40u64, 10], [4_000, 2_000], [5_960, 7_990]],
            drawn: [10_000; 2],
        };
        let partition = Partition::of_keys(super::super::view::View::Length, vec![]);
        let length = |testing| {
            let folds = [tally.clone(), tally.clone()];
            let [choice] = best_choices(&hunt(testing), &partition, &folds, [1.0]);
            choice.length
        };
        assert_eq!((length(20_000), length(1_000_000_000)), (2, 1));
    }
}
