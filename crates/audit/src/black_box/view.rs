//! What to look at in a row.

use super::feature::{lowest_bit_exponent, lowest_bit_words, ordered_bits, size_and_lowest_bit_words};
use super::subject::Teller;
use std::collections::BTreeMap;

/// What an audit may look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lens {
    /// Values and raw bits.
    #[default]
    Everything,
    /// Values only: their size, their order, what repeats. Low bits cannot be seen this way.
    Values,
    /// The raw bits of floats only.
    Bits,
}

/// One number about a row, as an integer key. Keys of values are in the order of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum View {
    Value(usize),
    Difference(usize),
    Length,
    Sum,
    Largest,
    Smallest,
    WhereLargest,
    WhereSmallest,
    /// How often this very entry occurs.
    Occurrences(f64),
    /// Where it occurs first.
    FirstOccurrence(f64),
    /// The order of all entries.
    Order,
    /// Which entries are equal.
    Equalities,
    /// All entries at once.
    Whole,
    /// The first this many entries; every number that is no symbol is one and the same.
    Prefix(usize, Symbols),
    /// This entry, where those before it are a given prefix.
    After(usize, i64, Symbols),
    LowestBit(usize),
    SizeAndLowestBit(usize),
    LowBits(usize),
    /// The lowest set bit of all entries together.
    LowestBits,
}

/// The entries that answers are made of (above, below, yes, no), as bits; others are measurements.
pub(super) type Symbols = [u64; MOST_SYMBOLS];
const MOST_SYMBOLS: usize = 4;
/// Prefixes that an entry is looked at after, for each entry and in all.
const MOST_PREFIXES: usize = 2;
const MOST_AFTER: usize = 12;

/// The key of an entry that is not there.
pub(super) const ABSENT: i64 = i64::MIN;
/// The key of an infinite value; those above are of what is not a number.
pub(super) const INFINITY: i64 = f64::INFINITY.to_bits() as i64;
/// Multiples of this power of two are on a grid that somebody chose.
const COARSE: i64 = -16;
/// Rows longer than this are looked at as a whole, and in their first entries.
const MOST_ENTRIES: usize = 24;

impl View {
    /// The views worth trying on rows like these.
    pub(super) fn of(rows: &[Vec<f64>], lens: Lens) -> Vec<View> {
        let longest = rows.iter().map(Vec::len).max().unwrap_or(0).min(MOST_ENTRIES);
        let shortest = rows.iter().map(Vec::len).min().unwrap_or(0);
        let mut views = Vec::new();
        if lens != Lens::Bits {
            // First, because of equally good events the last is reported.
            let common = if longest > 1 {
                common_entries(rows)
            } else {
                Vec::new()
            };
            views.extend(sequential(rows, longest, &common));
            views.push(View::Whole);
            views.extend((0..longest).map(View::Value));
            if longest > 1 {
                views.extend((1..longest).map(View::Difference));
                views.extend([View::Sum, View::Largest, View::Smallest]);
                views.extend([
                    View::WhereLargest,
                    View::WhereSmallest,
                    View::Order,
                    View::Equalities,
                ]);
                for common in common {
                    views.extend([View::Occurrences(common), View::FirstOccurrence(common)]);
                }
            }
            if shortest < longest {
                views.push(View::Length);
            }
        }
        if lens != Lens::Values {
            // Whole numbers and words have no bits that rounding could have left; what lies on a coarse grid
            // has few.
            let finite = || rows.iter().flatten().filter(|value| value.is_finite());
            if finite().any(|value| value.fract() != 0.0) {
                let coarse = finite().all(|value| lowest_bit_exponent(*value) >= COARSE);
                for j in 0..longest {
                    views.push(View::LowestBit(j));
                    if !coarse {
                        views.extend([View::SizeAndLowestBit(j), View::LowBits(j)]);
                    }
                }
                if longest > 1 {
                    views.push(View::LowestBits);
                }
            }
        }
        views
    }

    /// Whether half-lines of keys mean something.
    pub(super) fn is_ordered(self) -> bool {
        !matches!(
            self,
            View::Order
                | View::Equalities
                | View::Whole
                | View::Prefix(..)
                | View::LowestBit(_)
                | View::SizeAndLowestBit(_)
                | View::LowBits(_)
                | View::LowestBits
        )
    }

    pub(super) fn key(self, row: &[f64]) -> i64 {
        let entry = |j: usize, of: fn(f64) -> i64| row.get(j).map_or(ABSENT, |value| of(*value));
        let position = |best: fn(f64, f64) -> bool| {
            let mut place = 0;
            for (j, value) in row.iter().enumerate() {
                if best(*value, row[place]) {
                    place = j;
                }
            }
            place as i64
        };
        match self {
            View::Value(j) => entry(j, ordered_bits),
            View::Difference(j) => match row.get(j) {
                Some(value) => ordered_bits(value - row[j - 1]),
                None => ABSENT,
            },
            View::Length => row.len() as i64,
            View::Sum => ordered_bits(row.iter().sum()),
            View::Largest => ordered_bits(row.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
            View::Smallest => ordered_bits(row.iter().copied().fold(f64::INFINITY, f64::min)),
            View::WhereLargest => position(|value, best| value > best),
            View::WhereSmallest => position(|value, best| value < best),
            View::Occurrences(common) => row.iter().filter(|value| same(**value, common)).count() as i64,
            View::FirstOccurrence(common) => row
                .iter()
                .position(|value| same(*value, common))
                .map_or(ABSENT, |place| place as i64),
            View::Order => pairs(row, |left, right| ordered_bits(left) < ordered_bits(right)),
            View::Equalities => pairs(row, same),
            View::Whole => row
                .iter()
                .fold(row.len() as i64, |hash, value| mix(hash, value.to_bits() as i64)),
            View::Prefix(places, symbols) => prefix(row, places, &symbols),
            View::After(j, before, symbols) if row.len() > j && prefix(row, j, &symbols) == before => {
                ordered_bits(row[j])
            }
            View::After(..) => ABSENT,
            View::LowestBit(j) => entry(j, lowest_bit_exponent),
            View::SizeAndLowestBit(j) => entry(j, |value| {
                ((value.to_bits() >> 52) as i64) << 16 | (lowest_bit_exponent(value) + (1 << 14))
            }),
            View::LowBits(j) => entry(j, |value| (value.to_bits() & 0xff) as i64),
            View::LowestBits => row.iter().fold(row.len() as i64, |hash, value| {
                mix(hash, lowest_bit_exponent(*value))
            }),
        }
    }

    /// What it is, for a person. `rows` lend an example where it needs one.
    pub(super) fn name(self, rows: &[Vec<f64>], teller: &Teller<'_>) -> String {
        let entry = teller.entry;
        match self {
            View::Value(j) => entry(j),
            View::Difference(j) => format!("{} − {}", entry(j), entry(j - 1)),
            View::Length => "length".to_string(),
            View::Sum => "sum".to_string(),
            View::Largest => "largest value".to_string(),
            View::Smallest => "smallest value".to_string(),
            View::WhereLargest => "place of the largest".to_string(),
            View::WhereSmallest => "place of the smallest".to_string(),
            View::Occurrences(common) => format!("number of times {}", teller.value(common)),
            View::FirstOccurrence(common) => format!("first place of {}", teller.value(common)),
            View::Order => "order of the values".to_string(),
            View::Equalities => "which values are equal".to_string(),
            View::Whole => "output".to_string(),
            View::Prefix(places, _) => format!("first {places} values"),
            View::After(j, _, symbols) => {
                let example = rows.iter().find(|row| self.key(row) != ABSENT);
                let before = example.map(|row| beginning(&row[..j], &symbols, teller));
                format!("{} after {}", entry(j), before.unwrap_or_default())
            }
            View::LowestBit(j) => format!("lowest set bit of {}", entry(j)),
            View::SizeAndLowestBit(j) => format!("size and lowest set bit of {}", entry(j)),
            View::LowBits(j) => format!("low 8 bits of {}", entry(j)),
            View::LowestBits => "lowest set bits".to_string(),
        }
    }

    /// A key in words; `example` is a row that has it.
    pub(super) fn words(self, key: i64, example: Option<&[f64]>, teller: &Teller<'_>) -> String {
        let row = |row: &[f64]| {
            let each: Vec<String> = row.iter().map(|value| teller.value(*value)).collect();
            format!("({})", each.join(" "))
        };
        match self {
            _ if key == ABSENT => "nothing".to_string(),
            View::Value(_)
            | View::Difference(_)
            | View::Sum
            | View::Largest
            | View::Smallest
            | View::After(..) => teller.value(from_ordered(key)),
            View::WhereLargest | View::WhereSmallest | View::FirstOccurrence(_) => (key + 1).to_string(),
            View::Length | View::Occurrences(_) | View::LowBits(_) => key.to_string(),
            View::LowestBit(_) => lowest_bit_words(key),
            View::SizeAndLowestBit(_) => size_and_lowest_bit_words(key),
            View::Order | View::Equalities => example.map_or_else(
                || "another".to_string(),
                |example| format!("as in {}", row(example)),
            ),
            View::Prefix(places, symbols) => example.map_or_else(
                || "another".to_string(),
                |row| beginning(&row[..row.len().min(places)], &symbols, teller),
            ),
            View::Whole | View::LowestBits => example.map_or_else(|| "another".to_string(), row),
        }
    }
}

/// Equal as outputs: the same number, or the same word.
fn same(left: f64, right: f64) -> bool {
    left == right || left.to_bits() == right.to_bits()
}

/// How a mechanism that answers one query after the other can be looked at: each beginning of its answers,
/// and each number after the most common beginnings of answers before it. Where it stops, and how the last
/// number compares, are among these.
fn sequential(rows: &[Vec<f64>], longest: usize, common: &[f64]) -> Vec<View> {
    let Some(first) = common.first() else {
        return Vec::new();
    };
    let mut symbols = [first.to_bits(); MOST_SYMBOLS];
    symbols
        .iter_mut()
        .zip(common)
        .for_each(|(symbol, value)| *symbol = value.to_bits());
    let mut views: Vec<View> = (2..=longest)
        .map(|places| View::Prefix(places, symbols))
        .collect();
    let mut counts: BTreeMap<(usize, i64), usize> = BTreeMap::new();
    for row in rows.iter().take(10_000) {
        for j in 1..row.len().min(longest) {
            if !symbols.contains(&row[j].to_bits()) {
                *counts.entry((j, prefix(row, j, &symbols))).or_default() += 1;
            }
        }
    }
    let mut after: Vec<(usize, usize, i64)> = counts
        .into_iter()
        .map(|((j, before), count)| (count, j, before))
        .collect();
    after.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
    let mut seen = [0; MOST_ENTRIES];
    after.retain(|(_, j, _)| {
        seen[*j] += 1;
        seen[*j] <= MOST_PREFIXES
    });
    let after = after.into_iter().take(MOST_AFTER);
    views.extend(after.map(|(_, j, before)| View::After(j, before, symbols)));
    views
}

/// The first entries in words.
fn beginning(entries: &[f64], symbols: &Symbols, teller: &Teller<'_>) -> String {
    let reported = |value: &f64| {
        if symbols.contains(&value.to_bits()) {
            teller.value(*value)
        } else {
            "a number".to_string()
        }
    };
    let each: Vec<String> = entries.iter().map(reported).collect();
    format!("({})", each.join(" "))
}

/// The first this many entries as one key.
fn prefix(row: &[f64], places: usize, symbols: &Symbols) -> i64 {
    let entries = &row[..row.len().min(places)];
    entries.iter().fold(entries.len() as i64, |hash, value| {
        let bits = value.to_bits();
        mix(hash, if symbols.contains(&bits) { bits as i64 } else { 1 })
    })
}

/// Entries that make up a good part of all: symbols rather than measurements.
fn common_entries(rows: &[Vec<f64>]) -> Vec<f64> {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    let mut all = 0;
    for value in rows.iter().take(10_000).flatten() {
        *counts.entry(value.to_bits()).or_default() += 1;
        all += 1;
    }
    let mut common: Vec<(u64, usize)> = counts.into_iter().filter(|(_, count)| count * 50 > all).collect();
    common.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    common
        .iter()
        .take(MOST_SYMBOLS)
        .map(|(bits, _)| f64::from_bits(*bits))
        .collect()
}

/// One bit for each pair of entries, hashed where they are more than fit.
fn pairs(row: &[f64], holds: impl Fn(f64, f64) -> bool) -> i64 {
    let row = &row[..row.len().min(MOST_ENTRIES)];
    let mut hash = row.len() as i64;
    for (j, right) in row.iter().enumerate() {
        let bits = row[..j]
            .iter()
            .fold(0i64, |bits, left| bits << 1 | i64::from(holds(*left, *right)));
        hash = mix(hash, bits);
    }
    hash
}

fn mix(hash: i64, next: i64) -> i64 {
    let mixed = (hash as u64 ^ (next as u64)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // Never the key of what is absent.
    ((mixed ^ (mixed >> 29)) as i64).max(ABSENT + 1)
}

/// The float with this place in the order of [`ordered_bits`].
fn from_ordered(key: i64) -> f64 {
    f64::from_bits((if key < 0 { key ^ i64::MAX } else { key }) as u64)
}

#[cfg(test)]
mod tests {
    use super::super::subject::word;
    use super::*;

    #[test]
    fn keys_say_what_they_should() {
        let row = [1.0, 4.0, 4.0, -2.0];
        assert_eq!(View::WhereLargest.key(&row), 1);
        assert_eq!(View::WhereSmallest.key(&row), 3);
        assert_eq!(View::Occurrences(4.0).key(&row), 2);
        assert_eq!(View::FirstOccurrence(-2.0).key(&row), 3);
        assert_eq!(View::FirstOccurrence(7.0).key(&row), ABSENT);
        assert_eq!(View::Value(9).key(&row), ABSENT);
        assert_eq!(from_ordered(View::Sum.key(&row)), 7.0);
        assert_eq!(from_ordered(View::Difference(3).key(&row)), -6.0);
        assert_eq!(View::Order.key(&row), View::Order.key(&[0.0, 5.0, 5.0, -1.0]));
        assert_ne!(View::Order.key(&row), View::Order.key(&[0.0, 5.0, 6.0, -1.0]));
        assert_eq!(
            View::Equalities.key(&row),
            View::Equalities.key(&[9.0, 1.0, 1.0, 2.0])
        );
        assert_ne!(View::Whole.key(&row), View::Whole.key(&row[..3]));
        for value in [-3.5, 0.0, 1e300, f64::INFINITY] {
            assert_eq!(from_ordered(ordered_bits(value)), value);
        }
    }

    /// Answers one after the other, a number where one is above and the end: beginnings are distinguished,
    /// and the number after each.
    #[test]
    fn beginnings_of_answers_are_looked_at() {
        let below = word(b"below");
        let rows: Vec<Vec<f64>> = (0..300)
            .map(|i| {
                let number = f64::from(i) / 8.0 + 0.0625;
                [vec![below; (i % 3) as usize], vec![number, below, number]].concat()
            })
            .collect();
        let views = View::of(&rows, Lens::Values);
        let prefix = |places: usize, row: &[f64]| {
            let view = views
                .iter()
                .find(|view| matches!(view, View::Prefix(p, _) if *p == places));
            view.expect("a beginning").key(row)
        };
        assert_eq!(prefix(2, &[below, 1.5]), prefix(2, &[below, 2.5, below]));
        assert_ne!(prefix(2, &[below, 1.5]), prefix(2, &[1.5, below]));
        assert_ne!(prefix(3, &[below, 1.5]), prefix(3, &[below, 1.5, below]));
        let teller = Teller {
            entry: &|j| format!("answer {}", j + 1),
            text: &|_| Some("below".to_string()),
        };
        let after = |row: &[f64]| -> Vec<(String, i64)> {
            let views = views.iter().filter(|view| matches!(view, View::After(..)));
            views
                .map(|view| (view.name(&rows, &teller), view.key(row)))
                .collect()
        };
        let reported = after(&[below, 3.5, below, 3.5]);
        let there = |(_, key): &&(String, i64)| *key != ABSENT;
        let names: Vec<&str> = reported
            .iter()
            .filter(there)
            .map(|(name, _)| name.as_str())
            .collect();
        assert!(names.contains(&"answer 2 after (“below”)"), "{reported:?}");
        assert!(
            names.contains(&"answer 4 after (“below” a number “below”)"),
            "{reported:?}"
        );
        assert!(
            after(&[3.5, below, 3.5])
                .iter()
                .all(|(name, key)| { (*key == ABSENT) != (name == "answer 3 after (a number “below”)") })
        );
    }

    #[test]
    fn rows_decide_which_views_are_tried() {
        let floats = vec![vec![0.1, 0.7], vec![0.3, -0.2]];
        let views = View::of(&floats, Lens::Everything);
        assert!(views.contains(&View::LowestBit(1)) && views.contains(&View::Difference(1)));
        assert!(!View::of(&floats, Lens::Values).contains(&View::LowestBit(0)));
        assert!(!View::of(&floats, Lens::Bits).contains(&View::Value(0)));
        let symbols = vec![vec![word(b"below"), word(b"above")], vec![word(b"above")]];
        let views = View::of(&symbols, Lens::Everything);
        assert!(views.contains(&View::Length) && !views.contains(&View::LowestBit(0)));
        let occurrences = |view: &View| matches!(view, View::Occurrences(_));
        assert_eq!(views.iter().filter(|view| occurrences(view)).count(), 2);
    }
}
