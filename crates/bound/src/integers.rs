//! Integers numbered in the order in which they came: units are mostly integers, and there are many.
//!
//! The table is larger than a processor's nearest memory, so what counts is how many places of it are fetched at once. A first pass looks
//! at the one place where each row's integer most likely is, without a branch; a second deals with the few that were not there.

const EMPTY: u32 = u32::MAX;
const FIRST_PLACES: usize = 1 << 6;

#[derive(Clone, Copy)]
struct Place {
    value: i64,
    number: u32,
}

const FREE: Place = Place {
    value: 0,
    number: EMPTY,
};

/// The table: at most half of its places are taken, and one is searched from where its hash points on.
pub(crate) struct Integers {
    places: Vec<Place>,
    /// Hashes are keyed, so that nobody who chooses integers can choose them to collide.
    key: u64,
    /// The integers by number.
    values: Vec<i64>,
}

/// The numbers of rows, and room to find them: one for many tables, so that it stays in the nearest memory.
#[derive(Default)]
pub(crate) struct Numbers {
    rows: usize,
    numbers: Vec<u32>,
    /// The rows whose integers were not where they most likely are.
    missed: Vec<u32>,
}

impl Numbers {
    /// By row.
    pub(crate) fn of_rows(&self) -> &[u32] {
        &self.numbers[..self.rows]
    }

    /// Room for this many rows. What was there before is overwritten.
    fn make_room(&mut self, rows: usize) {
        self.rows = rows;
        if self.missed.len() <= rows {
            self.numbers.resize(rows + 1, 0);
            self.missed.resize(rows + 1, 0);
        }
    }

    pub(crate) fn size(&self) -> usize {
        (self.numbers.capacity() + self.missed.capacity()) * size_of::<u32>()
    }
}

impl Integers {
    pub(crate) fn new(key: u64) -> Self {
        Self {
            places: vec![FREE; FIRST_PLACES],
            key: key | 1,
            values: Vec::new(),
        }
    }

    /// Numbers the rows, and says how many integers were known before: new ones have the numbers from there on.
    pub(crate) fn number(&mut self, column: &[i64], found: &mut Numbers) -> usize {
        let known = self.values.len();
        found.make_room(column.len());
        let (mut missed, shift, key) = (0, self.shift(), self.key);
        for (row, (value, number)) in column.iter().zip(&mut found.numbers).enumerate() {
            let place = self.places[hash(*value, key, shift)];
            *number = place.number;
            found.missed[missed] = row as u32;
            missed += usize::from(place.value != *value || place.number == EMPTY);
        }
        for row in &found.missed[..missed] {
            let row = *row as usize;
            let value = column[row];
            let mut at = self.place_of(value);
            if self.places[at].number == EMPTY {
                // Not before it is needed: most rows are of integers that are known.
                if (self.values.len() + 1) * 2 > self.places.len() {
                    self.grow();
                    at = self.place_of(value);
                }
                let number = self.values.len() as u32;
                self.places[at] = Place { value, number };
                self.values.push(value);
            }
            found.numbers[row] = self.places[at].number;
        }
        known
    }

    /// Where an integer is, or would be.
    fn place_of(&self, value: i64) -> usize {
        let mut at = hash(value, self.key, self.shift());
        while self.places[at].number != EMPTY && self.places[at].value != value {
            at = (at + 1) & (self.places.len() - 1);
        }
        at
    }

    /// The integers, in the order of their numbers.
    pub(crate) fn values(&self) -> &[i64] {
        &self.values
    }

    pub(crate) fn size(&self) -> usize {
        self.places.capacity() * size_of::<Place>() + self.values.capacity() * size_of::<i64>()
    }

    fn shift(&self) -> u32 {
        64 - self.places.len().trailing_zeros()
    }

    fn grow(&mut self) {
        let mut places = vec![FREE; self.places.len() * 2];
        let shift = self.shift() - 1;
        for (number, value) in self.values.iter().enumerate() {
            let mut at = hash(*value, self.key, shift);
            while places[at].number != EMPTY {
                at = (at + 1) & (places.len() - 1);
            }
            places[at] = Place {
                value: *value,
                number: number as u32,
            };
        }
        self.places = places;
    }
}

/// The high bits of a product depend on all lower bits of its factors; folded over, a second product mixes all of them.
#[inline]
fn hash(value: i64, key: u64, shift: u32) -> usize {
    let product = (value as u64 ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((product ^ (product >> 32)).wrapping_mul(key) >> shift) as usize
}

/// Thirty-two bits that say where an integer is dealt with: others than those that say where it is in a table.
#[inline]
pub(crate) fn spread(value: i64, key: u64) -> u32 {
    let product = (value as u64 ^ key.rotate_left(29)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    ((product ^ (product >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32) as u32
}
