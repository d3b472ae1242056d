//! Choosing the event to test, from the first half of the draws.

use super::{Feature, Side};
use std::collections::{BTreeMap, BTreeSet};

/// No feature keeps counts of more keys than this: more keys than that have too few draws each to say
/// anything.
const MOST_KEYS: usize = 1 << 16;

/// Draws of one key: [ranking, choosing] × [first side, second side].
type Tally = [[u64; 2]; 2];

/// Counts of one feature's keys.
pub(super) struct Learner {
    ordered: bool,
    tallies: BTreeMap<i64, Tally>,
    draws: u64,
}

#[derive(Debug)]
enum Keys {
    Among(BTreeSet<i64>),
    AtMost(i64),
    AtLeast(i64),
}

/// An event, the side where it is likelier, and how good it looked.
#[derive(Debug)]
pub(super) struct Event {
    keys: Keys,
    pub(super) likely_side: Side,
    pub(super) score: f64,
}

impl Event {
    pub(super) fn contains(&self, key: i64) -> bool {
        match &self.keys {
            Keys::Among(keys) => keys.contains(&key),
            Keys::AtMost(limit) => key <= *limit,
            Keys::AtLeast(limit) => key >= *limit,
        }
    }

    pub(super) fn describe<O>(&self, feature: &Feature<O>) -> String {
        let name = feature.name();
        match &self.keys {
            Keys::AtMost(limit) => format!("{name} ≤ {}", feature.words(*limit)),
            Keys::AtLeast(limit) => format!("{name} ≥ {}", feature.words(*limit)),
            Keys::Among(keys) => {
                let shown: Vec<String> = keys.iter().take(8).map(|key| feature.words(*key)).collect();
                let more = if keys.len() > 8 {
                    format!(", … ({} keys)", keys.len())
                } else {
                    String::new()
                };
                format!("{name} in {{{}{more}}}", shown.join(", "))
            }
        }
    }
}

impl Learner {
    pub(super) fn new(ordered: bool) -> Self {
        Self {
            ordered,
            tallies: BTreeMap::new(),
            draws: 0,
        }
    }

    pub(super) fn count(&mut self, key: i64, side: Side, ranking: bool) {
        self.draws += 1;
        let full = self.tallies.len() >= MOST_KEYS;
        let tally = match self.tallies.get_mut(&key) {
            Some(tally) => tally,
            // A key that comes late is not common enough to matter.
            None if full => return,
            None => self.tallies.entry(key).or_default(),
        };
        tally[usize::from(!ranking)][side.index()] += 1;
    }

    /// The event with the largest estimate of the bound that the test will give.
    pub(super) fn best_event(&self, delta: f64, failure: f64) -> Event {
        let mut best = Event {
            keys: Keys::Among(BTreeSet::new()),
            likely_side: Side::First,
            score: f64::NEG_INFINITY,
        };
        for side in [Side::First, Side::Second] {
            let among = self.best_set(side, delta, failure);
            if among.score > best.score {
                best = among;
            }
            if self.ordered {
                for line in self.half_lines(side, delta, failure) {
                    if line.score > best.score {
                        best = line;
                    }
                }
            }
        }
        best
    }

    /// Keys ranked by likelihood ratio on the ranking draws (Neyman and Pearson: the best events are such
    /// prefixes), and the prefix with the best score on the choosing draws. Two sets of draws, because a key
    /// seen once on one side would otherwise look like proof.
    fn best_set(&self, side: Side, delta: f64, failure: f64) -> Event {
        let (likely, unlikely) = (side.index(), side.other().index());
        let ratio = |tally: &Tally| (tally[0][likely] as f64 + 0.5) / (tally[0][unlikely] as f64 + 0.5);
        let mut ranked: Vec<(&i64, &Tally)> = self.tallies.iter().collect();
        ranked.sort_by(|a, b| ratio(b.1).total_cmp(&ratio(a.1)));
        let draws = self.draws as f64 / 4.0;
        let (mut hits, mut other, mut length, mut score) = (0u64, 0u64, 0usize, f64::NEG_INFINITY);
        for (position, (_, tally)) in ranked.iter().enumerate() {
            hits += tally[1][likely];
            other += tally[1][unlikely];
            let candidate = estimate(hits as f64, other as f64, draws, delta, failure);
            if candidate > score {
                (length, score) = (position + 1, candidate);
            }
        }
        let keys = ranked[..length].iter().map(|(key, _)| **key).collect();
        Event {
            keys: Keys::Among(keys),
            likely_side: side,
            score,
        }
    }

    /// {key ≤ t} and {key ≥ t} for every t seen. Thresholds need no ranking, so both sets of draws choose.
    fn half_lines(&self, side: Side, delta: f64, failure: f64) -> Vec<Event> {
        let (likely, unlikely) = (side.index(), side.other().index());
        let draws = self.draws as f64 / 2.0;
        let scan = |tallies: &mut dyn Iterator<Item = (&i64, &Tally)>, line: fn(i64) -> Keys| {
            let (mut hits, mut other) = (0u64, 0u64);
            let mut best: Option<Event> = None;
            for (key, tally) in tallies {
                hits += tally[0][likely] + tally[1][likely];
                other += tally[0][unlikely] + tally[1][unlikely];
                let score = estimate(hits as f64, other as f64, draws, delta, failure);
                if best.as_ref().is_none_or(|best| score > best.score) {
                    best = Some(Event {
                        keys: line(*key),
                        likely_side: side,
                        score,
                    });
                }
            }
            best
        };
        let up = scan(&mut self.tallies.iter(), Keys::AtMost);
        let down = scan(&mut self.tallies.iter().rev(), Keys::AtLeast);
        up.into_iter().chain(down).collect()
    }
}

/// The bound that these counts would give, by Wilson's score limits: shrunk towards ½, cheap, and near enough
/// to the exact limits for choosing. z² = 2 ln(1/failure) is at least the squared normal quantile.
fn estimate(likely: f64, unlikely: f64, draws: f64, delta: f64, failure: f64) -> f64 {
    let square = -2.0 * failure.ln();
    let center = |hits: f64| (hits + square / 2.0) / (draws + square);
    let spread = |hits: f64| {
        (square * (hits * (draws - hits) / draws + square / 4.0))
            .max(0.0)
            .sqrt()
            / (draws + square)
    };
    let low = center(likely) - spread(likely) - delta;
    let high = center(unlikely) + spread(unlikely);
    // A negative bound is still worth comparing, so that a hopeless choice is the least hopeless one.
    if low <= 0.0 { low - 1e3 } else { (low / high).ln() }
}
