//! If outputs repeat, the decision for one is looked up, and not computed a billion times.

/// A hash table from whole rows to what was decided for them.
#[derive(Clone, Debug)]
pub(super) struct Shortcut<D> {
    /// Key and decision, at the key's place or after it; a key of zero is free. Empty if outputs hardly
    /// repeat.
    slots: Vec<(i64, D)>,
}

/// Rows that are remembered, and slots for them.
const MOST_ROWS: usize = 2048;
const BITS: u32 = 13;

impl<D: Copy + Default> Shortcut<D> {
    /// Remembers rows, unless there are too many different ones.
    pub(super) fn new<'a>(rows: impl Iterator<Item = (&'a [f64], D)>) -> Self {
        let mut slots = vec![(0, D::default()); 1 << BITS];
        let mut known = 0;
        for (row, decision) in rows {
            let key = key_of(row);
            let place = find(&slots, key);
            if key != 0 && slots[place].0 == 0 {
                slots[place] = (key, decision);
                known += 1;
            }
            if known > MOST_ROWS {
                return Self { slots: Vec::new() };
            }
        }
        Self { slots }
    }

    /// Whether nothing is remembered.
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// What was decided for this row, if it is known. Rows with equal keys share a decision, which is as
    /// fixed an event as any.
    pub(super) fn decided(&self, row: &[f64]) -> Option<D> {
        if self.slots.is_empty() {
            return None;
        }
        let key = key_of(row);
        let (found, decision) = self.slots[find(&self.slots, key)];
        (found == key && key != 0).then_some(decision)
    }
}

/// Two products at a time, as a long chain of them is what a draw would wait for.
fn key_of(row: &[f64]) -> i64 {
    let (mut even, mut odd) = (row.len() as u64, 0x2545_f491_4f6c_dd1d);
    let mut pairs = row.chunks_exact(2);
    for pair in &mut pairs {
        even = (even ^ pair[0].to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        odd = (odd ^ pair[1].to_bits()).wrapping_mul(0xd134_2543_de82_ef95);
        even ^= even >> 32;
        odd ^= odd >> 32;
    }
    for last in pairs.remainder() {
        even = (even ^ last.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        even ^= even >> 32;
    }
    (even ^ odd.rotate_left(29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) as i64
}

/// The slot of a key, or the free one where it would be. There are four times as many slots as keys, so there
/// is one.
fn find<D>(slots: &[(i64, D)], key: i64) -> usize {
    let mut place = (key as u64 >> (64 - BITS)) as usize;
    while slots[place].0 != 0 && slots[place].0 != key {
        place = (place + 1) % slots.len();
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_decided_is_found_again() {
        let rows: Vec<Vec<f64>> = (0..2000)
            .map(|i| vec![f64::from(i % 7), f64::from(i / 7)])
            .collect();
        let table = Shortcut::new(
            rows.iter()
                .enumerate()
                .map(|(i, row)| (row.as_slice(), (i % 5) as u8)),
        );
        for (i, row) in rows.iter().enumerate() {
            assert_eq!(table.decided(row), Some((i % 5) as u8));
        }
        assert_eq!(table.decided(&[0.5]), None);
        let many: Vec<[f64; 1]> = (0..5000).map(|i| [f64::from(i)]).collect();
        assert_eq!(
            Shortcut::new(many.iter().map(|row| (row.as_slice(), 1u8))).decided(&[3.0]),
            None
        );
    }
}
