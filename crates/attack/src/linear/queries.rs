//! Which people each query counts.

use super::matrix::BitMatrix;
use crate::{Error, Seeded};

/// Subset queries over the same people.
#[derive(Clone, Debug)]
pub struct Queries {
    /// A row a query.
    pub(super) by_query: BitMatrix,
    /// A row a person: the same, turned.
    pub(super) by_person: BitMatrix,
}

/// The people of one query.
#[derive(Clone, Copy, Debug)]
pub struct Subset<'a> {
    words: &'a [u64],
}

/// More people than this are not attacked in one piece: the bits of 4n queries would take n²/2 bytes, twice.
const MOST_PEOPLE: usize = 16_384;
/// Neither are more queries.
const MOST_QUERIES: usize = 131_072;

impl Queries {
    /// Sets into which each person comes with probability one half, independently.
    ///
    /// # Errors
    /// When there is nobody, nothing is asked, or there are too many.
    pub fn random(people: usize, count: usize, seeded: &mut Seeded) -> Result<Self, Error> {
        if people == 0 || people > MOST_PEOPLE {
            return Err(Error::bad_setting(
                format!("{people} people cannot be attacked"),
                format!("take from 1 to {MOST_PEOPLE}"),
            ));
        }
        if count == 0 || count > MOST_QUERIES {
            return Err(Error::bad_setting(
                format!("{count} queries cannot be asked"),
                format!("take from 1 to {MOST_QUERIES}: a few times as many as people"),
            ));
        }
        Ok(Self::new(BitMatrix::random(count, people, seeded)))
    }

    fn new(by_query: BitMatrix) -> Self {
        let by_person = by_query.turned();
        Self { by_query, by_person }
    }

    /// How many people there are.
    pub fn people(&self) -> usize {
        self.by_query.columns()
    }

    /// How many queries there are.
    pub fn count(&self) -> usize {
        self.by_query.rows()
    }

    /// The people of one query.
    pub fn subset(&self, index: usize) -> Subset<'_> {
        Subset {
            words: self.by_query.row(index),
        }
    }

    /// The first queries alone.
    pub(super) fn first(&self, count: usize) -> std::borrow::Cow<'_, Self> {
        if count >= self.count() {
            std::borrow::Cow::Borrowed(self)
        } else {
            std::borrow::Cow::Owned(Self::new(self.by_query.first_rows(count)))
        }
    }
}

impl<'a> Subset<'a> {
    /// The places of its people, in order.
    pub fn people(self) -> impl Iterator<Item = usize> + 'a {
        self.words.iter().enumerate().flat_map(|(place, word)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| 64 * place + bit)
        })
    }

    /// How many of them have their bit set among bits packed as its own are.
    pub(super) fn count_of(self, packed: &[u64]) -> u64 {
        self.words
            .iter()
            .zip(packed)
            .map(|(mine, theirs)| u64::from((mine & theirs).count_ones()))
            .sum()
    }
}
