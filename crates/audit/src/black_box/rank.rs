//! Which cells make the best event: ranked on some draws, chosen on others.

use super::cells::Partition;
use super::effort::Hunt;
use super::{Side, epsilon_bound};

/// Hits of each cell on the first and on the second side, and draws of each.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) hits: Vec<[u64; 2]>,
    pub(super) drawn: [u64; 2],
}

impl Tally {
    /// Of this many cells.
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
/// The same for an event that one fold chooses and the other values.
const APART: f64 = 2.0;
/// This many of them are named for each side.
const MOST_ALONE: usize = 8;
/// Hits on the likely side of the smallest half-line that is named for its size.
const FEWEST_HITS: f64 = 256.0;

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

    /// What these draws say that the test can be expected to give, when their counts are moved this many
    /// standard errors against the event.
    pub(super) fn judged(&self, hunt: &Hunt, tally: &Tally, caution: f64) -> f64 {
        let drawn = [self.likely, self.likely.other()].map(|side| tally.drawn[side.index()]);
        self.priced(expected_bound(hunt, self.hits(tally), drawn, caution))
    }

    /// The same for this event together with one of the other side, as one coin. Each has a way to look of
    /// its own, which counted the same draws.
    pub(super) fn judged_with(&self, mirror: &Self, hunt: &Hunt, tallies: [&Tally; 2], caution: f64) -> f64 {
        let drawn = [self.likely, self.likely.other()].map(|side| tallies[0].drawn[side.index()]);
        let (one, other) = (self.hits(tallies[0]), mirror.hits(tallies[1]));
        let value = expected_bound(hunt, [one[0] + other[0], one[1] + other[1]], drawn, caution);
        self.priced(value).min(mirror.priced(value))
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

/// What a partition is worth: the bound that a test of its best event can be expected to give, without the
/// luck of the choice.
///
/// Of thousands of events the one that looks best in some draws is a lucky one, the luckier the rarer it is.
/// So an event is chosen on one fold, order and length, and valued on the other, where it is one event and no
/// longer the best of many; then the other way round, and the mean counts. What is left is the luck of the
/// few ways to look that are compared, against which counts are moved by `caution` standard errors of a fold.
pub(super) fn worth(hunt: &Hunt, partition: &Partition, folds: &[Tally; 2], caution: f64) -> f64 {
    let orders = partition.orders();
    let mut best = f64::NEG_INFINITY;
    for likely in [Side::First, Side::Second] {
        let sides = [likely.index(), likely.other().index()];
        let valued = |order: &[usize], length: usize, fold: &Tally| {
            let cells = || order[..length].iter().map(|cell| fold.hits[*cell]);
            let hits = sides.map(|side| cells().map(|hits| hits[side]).sum());
            expected_bound(hunt, hits, sides.map(|side| fold.drawn[side]), caution)
        };
        let chosen = |order: &[usize], choosing: &Tally, judging: &Tally| {
            let [(length, _)] = best_lengths(hunt, order, choosing, sides, [APART]);
            valued(order, length, judging)
        };
        let by_ratio = |choosing: &Tally, judging: &Tally| {
            let order = by_ratio(choosing, sides);
            chosen(&order, choosing, judging)
        };
        let alone = |choosing: &Tally, judging: &Tally| {
            let value = |hits: &[u64; 2]| {
                let drawn = sides.map(|side| choosing.drawn[side]);
                expected_bound(hunt, sides.map(|side| hits[side]), drawn, APART)
            };
            let cells = choosing.hits.iter().map(value).zip(0..);
            let first = cells.max_by(|left, right| left.0.total_cmp(&right.0));
            first.map_or(f64::NEG_INFINITY, |(_, cell)| valued(&[cell], 1, judging))
        };
        let mut both = |of: &dyn Fn(&Tally, &Tally) -> f64| {
            let mean = f64::midpoint(of(&folds[0], &folds[1]), of(&folds[1], &folds[0]));
            best = best.max(mean);
        };
        // A learned score is a ratio already, and a better one than that of single cells.
        if matches!(partition, Partition::Keys { .. }) {
            both(&by_ratio);
        }
        if !partition.is_ordered() {
            both(&alone);
        }
        for order in &orders {
            both(&|choosing: &Tally, judging: &Tally| chosen(order, choosing, judging));
        }
    }
    best
}

/// The best event of a partition at each of some cautions: the standard errors that counts are moved against
/// an event before they are carried to the size of the test. Of thousands of events the one that looks best
/// is a lucky one, the luckier the rarer it is; a lower confidence bound is what luck does not reach.
///
/// Cells are ordered by how much likelier they are on a side (Neyman and Pearson: the best events begin such
/// an order) and, where keys have an order, along it and against it. Orders that the draws had no part in are
/// measured on all draws. Those by ratio are made on one fold and measured on the other, and the other way
/// round: a cell that is first because it was lucky is not lucky again.
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

/// What is worth judging on draws of its own. Luck chooses here as well, and draws that judge do away with
/// it; but the lucky must not crowd out the others, so each kind has places of its own: the best beginnings
/// of every order at every caution; along an order of keys half-lines of all sizes, in steps of half an
/// octave; and, where cells have no order, the most promising single ones, as each of them is an output, a
/// beginning of one or a pattern in it.
pub(super) fn candidates(
    hunt: &Hunt,
    partition: &Partition,
    folds: &[Tally; 2],
    cautions: [f64; 4],
) -> Vec<Choice> {
    let mut both = folds[0].clone();
    both.add(&folds[1]);
    let mut found: Vec<Choice> = best_choices(hunt, partition, folds, cautions).to_vec();
    for likely in [Side::First, Side::Second] {
        let sides = [likely.index(), likely.other().index()];
        let drawn = sides.map(|side| both.drawn[side]);
        let by_ratio = by_ratio(&both, sides);
        let mut name = |order: &[usize], length: usize, is_set: bool| {
            let order = order.to_vec();
            found.push(Choice {
                order,
                length,
                likely,
                value: f64::NEG_INFINITY,
                is_set,
            });
        };
        if matches!(partition, Partition::Keys { .. }) {
            let lengths = best_lengths(hunt, &by_ratio, &both, sides, cautions);
            lengths
                .into_iter()
                .for_each(|(length, _)| name(&by_ratio, length, true));
        }
        for order in partition.orders() {
            let lengths = best_lengths(hunt, &order, &both, sides, cautions);
            lengths
                .into_iter()
                .for_each(|(length, _)| name(&order, length, false));
            let (mut hits, mut next) = (0, FEWEST_HITS);
            for (position, cell) in order.iter().enumerate() {
                hits += both.hits[*cell][sides[0]];
                if hits as f64 >= next {
                    name(&order, position + 1, false);
                    next = hits as f64 * std::f64::consts::SQRT_2;
                }
            }
        }
        if !partition.is_ordered() {
            let value = |hits: &[u64; 2]| expected_bound(hunt, sides.map(|side| hits[side]), drawn, ALONE);
            let mut alone: Vec<(f64, usize)> = both.hits.iter().map(value).zip(0..).collect();
            alone.sort_by(|left, right| right.0.total_cmp(&left.0));
            for (_, first) in alone.into_iter().take(MOST_ALONE) {
                // The family around it is made of the others by their ratio.
                let others = by_ratio.iter().filter(|cell| **cell != first);
                let order: Vec<usize> = [first].into_iter().chain(others.copied()).collect();
                name(&order, 1, true);
            }
        }
    }
    let mut different: Vec<Choice> = Vec::new();
    for choice in found {
        if !different.iter().any(|other| other.is_same(&choice)) {
            different.push(choice);
        }
    }
    different
}

/// Cells by a cautious logarithm of the ratio: one standard error below the estimate, so that a cell hit once
/// says little.
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

/// The bound on ε that a test of `hunt.testing` draws can be expected to give, from counts on the likely side
/// and the other: the counts are moved against us, carried to the size of the test, and bounded by Wilson's
/// limits, which are cheap and near enough to the exact ones for choosing.
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

    /// Half-lines of all sizes are named, however many cells were luckier than they are.
    #[test]
    fn the_lucky_do_not_crowd_out_half_lines() {
        let keys = (0..4000i64).map(|key| key / 10).collect();
        let partition = Partition::of_keys(super::super::view::View::Length, keys);
        // Each cell is lucky in a fold of its own, and the first hundred are likelier on the first side.
        let fold = |fold: usize| {
            let mut tally = Tally::of(partition.size());
            for cell in 0..partition.size() {
                let lucky = if cell % 7 == fold { 40 } else { 0 };
                tally.hits[cell] = [100 + lucky + if cell < 100 { 16 } else { 0 }, 100];
            }
            tally.drawn = [100 * partition.size() as u64; 2];
            tally
        };
        let folds = [fold(0), fold(1)];
        let named = candidates(&hunt(100_000_000), &partition, &folds, [0.7, 1.5, 2.5, 4.0]);
        let [along, ..] = partition.orders().try_into().unwrap_or([vec![], vec![]]);
        let is_near = |choice: &Choice| {
            let half_line =
                choice.length.abs_diff(100) < 25 && choice.order[..choice.length] == along[..choice.length];
            half_line && choice.likely == Side::First
        };
        assert!(named.iter().any(is_near), "none of {}", named.len());
        assert!(named.iter().any(|choice| choice.is_set) && named.len() < 100);
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
