//! Which cells make the best event: ranked on some draws, chosen on others.

use super::cells::Partition;
use super::hunt::Hunt;
use super::{Side, epsilon_bound};

/// Hits of each cell on the first and on the second side.
pub(super) type Tally = Vec<[u64; 2]>;

/// A set of more cells than these is hard to understand, and must be better than a simple event by this part.
const SIMPLE: usize = 4;
const PRICE_OF_MANY: f64 = 0.01;

/// An order of cells, and how many of them from its beginning make the event.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) order: Vec<usize>,
    pub(super) length: usize,
    pub(super) likely: Side,
    /// The bound that the test can be expected to give.
    pub(super) value: f64,
}

/// The best event of a partition. Cells are ordered by how much likelier they are on a side (Neyman and Pearson: the best events begin
/// such an order) and, where keys have an order, along it and against it. Beginnings are judged on the choosing draws.
///
/// `caution` is how many standard errors the counts are moved against us before they are carried to the size of the test: much where few draws
/// must decide between many pairs, little where many choose one event.
pub(super) fn best_choice(
    hunt: &Hunt,
    partition: &Partition,
    ranking: &Tally,
    choosing: &Tally,
    drawn: [u64; 2],
    caution: f64,
) -> Choice {
    let natural: Vec<usize> = (0..ranking.len()).collect();
    let mut best = Choice {
        order: natural.clone(),
        length: ranking.len(),
        likely: Side::First,
        value: f64::NEG_INFINITY,
    };
    for likely in [Side::First, Side::Second] {
        let (side, other) = (likely.index(), likely.other().index());
        // A cautious logarithm of the ratio: one standard error below the estimate, so that a cell hit once says little.
        let ratio = |cell: &usize| {
            let (hits, others) = (
                ranking[*cell][side] as f64 + 0.5,
                ranking[*cell][other] as f64 + 0.5,
            );
            (hits / others).ln() - (1.0 / hits + 1.0 / others).sqrt()
        };
        let mut by_ratio: Vec<(f64, usize)> = natural.iter().map(|cell| (ratio(cell), *cell)).collect();
        by_ratio.sort_by(|left, right| right.0.total_cmp(&left.0));
        let mut orders = Vec::new();
        // A learned score is a ratio already, and a better one than that of single cells.
        if matches!(partition, Partition::Keys { .. }) {
            orders.push((true, by_ratio.into_iter().map(|(_, cell)| cell).collect()));
        }
        orders.extend(partition.orders().into_iter().map(|order| (false, order)));
        for (is_set, order) in orders {
            let (mut hits, mut others) = (0, 0);
            let (mut length, mut value) = (0, f64::NEG_INFINITY);
            for (position, cell) in order.iter().enumerate() {
                hits += choosing[*cell][side];
                others += choosing[*cell][other];
                let expected = expected_bound(hunt, [hits, others], [drawn[side], drawn[other]], caution);
                if expected > value {
                    (length, value) = (position + 1, expected);
                }
            }
            // Half-lines come last, and are preferred where little is lost by it: they are simple, and say why.
            if is_set && length > SIMPLE {
                value -= PRICE_OF_MANY * value.abs();
            }
            if value >= best.value {
                best = Choice {
                    order,
                    length,
                    likely,
                    value,
                };
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
        let tally = vec![[40u64, 10], [4_000, 2_000], [5_960, 7_990]];
        let partition = Partition::of_keys(super::super::view::View::Length, vec![]);
        let length =
            |testing| best_choice(&hunt(testing), &partition, &tally, &tally, [10_000; 2], 1.0).length;
        assert_eq!((length(20_000), length(1_000_000_000)), (2, 1));
    }
}
