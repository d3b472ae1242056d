//! An event in words.

use super::cells::Partition;
use super::subject::Teller;
use super::view::{ABSENT, INFINITY, View};

/// Parts of an event that are shown to a person.
const MOST_TOLD: usize = 6;

/// The cells of an event, and those that anything was ever seen in.
pub(super) struct Cells {
    pub(super) chosen: Vec<bool>,
    pub(super) seen: Vec<bool>,
}

/// An event, for a person. `rows` lend examples of keys that say nothing by themselves.
pub(super) fn describe(
    partition: &Partition,
    cells: &Cells,
    rows: &[Vec<f64>],
    teller: &Teller<'_>,
) -> String {
    let Cells { chosen: cells, seen } = cells;
    let is_seen = |run: &(usize, usize)| seen[run.0..run.1].contains(&true);
    match partition {
        Partition::Score { model, cuts } => {
            let parts =
                runs(cells, 0..cells.len()).map(|(from, to)| match (from.checked_sub(1), cuts.get(to - 1)) {
                    (Some(low), None) => format!("≥ {:.4}", cuts[low]),
                    (None, Some(high)) => format!("< {high:.4}"),
                    (Some(low), Some(high)) => format!("from {:.4} to {high:.4}", cuts[low]),
                    (None, None) => "anything".to_string(),
                });
            let name = format!("learned log-likelihood ratio of {}", model.name());
            format!("{name} {}", few(parts.collect(), " or "))
        }
        Partition::Keys { view, cuts } => {
            let keys = Keys {
                view: *view,
                cuts,
                rows,
                teller,
            };
            let name = view.name(rows, teller);
            let Some((numbers, others)) = partition.in_order() else {
                return format!("{name} in {{{}}}", few(keys.set(cells), ", "));
            };
            let intervals = runs(cells, numbers.into_iter())
                .filter(is_seen)
                .map(|(from, to)| keys.interval(from, to));
            let chosen = others.into_iter().filter(|cell| cells[*cell] && seen[*cell]);
            let words = chosen
                .filter_map(|cell| keys.single(cell))
                .map(|key| format!("= {}", keys.words(key)));
            format!("{name} {}", few(intervals.chain(words).collect(), " or "))
        }
    }
}

/// A partition by keys, as it is reported.
struct Keys<'a> {
    view: View,
    cuts: &'a [i64],
    rows: &'a [Vec<f64>],
    teller: &'a Teller<'a>,
}

impl Keys<'_> {
    fn words(&self, key: i64) -> String {
        let example = self.rows.iter().find(|row| self.view.key(row) == key);
        self.view.words(key, example.map(Vec::as_slice), self.teller)
    }

    /// The key of a cell that holds one only: it ends where the next key begins.
    fn single(&self, cell: usize) -> Option<i64> {
        let first_of_all = cell == 0 && self.cuts.first() == Some(&(ABSENT + 1));
        let low = if first_of_all {
            ABSENT
        } else {
            *self.cuts.get(cell.checked_sub(1)?)?
        };
        (self.cuts.get(cell) == Some(&(low + 1))).then_some(low)
    }

    /// The cells from one to below another.
    fn interval(&self, from: usize, to: usize) -> String {
        let low = from
            .checked_sub(1)
            .map(|before| self.cuts[before])
            .filter(|low| *low > ABSENT + 1);
        let high = self.cuts.get(to - 1).filter(|high| **high <= INFINITY);
        let above = |low: i64| match from.checked_sub(1).and_then(|before| self.single(before)) {
            Some(key) if key + 1 == low => format!("> {}", self.words(key)),
            _ => format!("≥ {}", self.words(low)),
        };
        let below = |high: i64| match self.single(to - 1) {
            Some(key) => format!("≤ {}", self.words(key)),
            None => format!("< {}", self.words(high)),
        };
        match (low, high, self.single(from)) {
            (_, _, Some(key)) if to == from + 1 => format!("= {}", self.words(key)),
            (Some(low), Some(high), _) => format!("{} and {}", above(low), below(*high)),
            (Some(low), None, _) => above(low),
            (None, Some(high), _) => below(*high),
            (None, None, _) => "any number".to_string(),
        }
    }

    /// Keys without an order, one by one.
    fn set(&self, cells: &[bool]) -> Vec<String> {
        let chosen = || (0..cells.len()).filter(|cell| cells[*cell]);
        let mut parts: Vec<String> = chosen()
            .filter_map(|cell| self.single(cell))
            .map(|key| self.words(key))
            .collect();
        if chosen().any(|cell| self.single(cell).is_none()) {
            parts.push("some that were rare".to_string());
        }
        parts
    }
}

fn few(mut parts: Vec<String>, between: &str) -> String {
    if parts.len() > MOST_TOLD {
        let more = format!("… ({} more)", parts.len() - MOST_TOLD);
        parts.truncate(MOST_TOLD);
        parts.push(more);
    }
    parts.join(between)
}

/// [from, to) of each run of chosen cells, among those that are given in order.
fn runs(cells: &[bool], order: impl Iterator<Item = usize>) -> impl Iterator<Item = (usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for cell in order.filter(|cell| cells[*cell]) {
        match runs.last_mut() {
            Some((_, to)) if *to == cell => *to += 1,
            _ => runs.push((cell, cell + 1)),
        }
    }
    runs.into_iter()
}

#[cfg(test)]
mod tests {
    use super::super::subject::word;
    use super::*;

    fn reported(rows: &[Vec<f64>], view: View, chosen: impl Fn(f64) -> bool, gaps: bool) -> String {
        let teller = Teller {
            entry: &|_| "value".to_string(),
            text: &|value| (value.to_bits() == word(b"yes").to_bits()).then(|| "yes".to_string()),
        };
        let partition = Partition::of_keys(view, rows.iter().map(|row| view.key(row)).collect());
        let mut cells = vec![false; partition.size()];
        rows.iter()
            .filter(|row| chosen(row[0]))
            .for_each(|row| cells[partition.cell(row)] = true);
        if gaps {
            // A half-line has the cells between keys too.
            let (first, last) = (
                cells.iter().position(|cell| *cell),
                cells.iter().rposition(|cell| *cell),
            );
            (first.unwrap()..=last.unwrap()).for_each(|cell| cells[cell] = true);
        }
        let mut seen = vec![false; partition.size()];
        rows.iter().for_each(|row| seen[partition.cell(row)] = true);
        describe(&partition, &Cells { chosen: cells, seen }, rows, &teller)
    }

    #[test]
    fn events_are_reported_in_words() {
        let rows: Vec<Vec<f64>> = (0..400).map(|i| vec![f64::from(i % 4)]).collect();
        let value = |chosen: fn(f64) -> bool, gaps| reported(&rows, View::Value(0), chosen, gaps);
        assert_eq!(value(|value| value == 2.0, false), "value = 2");
        assert_eq!(
            value(|value| (1.0..=2.0).contains(&value), true),
            "value ≥ 1 and ≤ 2"
        );
        assert_eq!(
            value(|value| value == 0.0 || value == 3.0, false),
            "value = 0 or = 3"
        );
        let whole = reported(&rows, View::Whole, |value| value >= 2.0, false);
        assert!(
            ["output in {(2), (3)}", "output in {(3), (2)}"].contains(&whole.as_str()),
            "{whole}"
        );
        let words: Vec<Vec<f64>> = (0..400)
            .map(|i| vec![[word(b"yes"), word(b"no")][i % 2]])
            .collect();
        let yes = reported(
            &words,
            View::Value(0),
            |value| value.to_bits() == word(b"yes").to_bits(),
            false,
        );
        assert_eq!(yes, "value = “yes”");
        // A half-line that holds no number is not reported as one.
        let yes = reported(
            &words,
            View::Value(0),
            |value| value.to_bits() == word(b"yes").to_bits(),
            true,
        );
        assert_eq!(yes, "value = “yes”");
    }

    #[test]
    fn wide_values_are_reported_as_half_lines() {
        let rows: Vec<Vec<f64>> = (0..100_000).map(|i| vec![f64::from(i)]).collect();
        let below = reported(&rows, View::Value(0), |value| value < 50_000.0, true);
        assert!(below.starts_with("value < ") && !below.contains("and"), "{below}");
        let above = reported(&rows, View::Value(0), |value| value > 50_000.0, true);
        assert!(above.starts_with("value ≥ ") && !above.contains("and"), "{above}");
    }
}
