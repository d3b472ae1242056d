//! Rebuilds cells of thousands of people from their margins.
//!
//! A block of people is a table of counts, one cell for each combination of a few categories. Margins are
//! published: counts by some of the categories. The cells are unknown whole numbers whose sums are the
//! margins. For every cell, [`ranges`] finds the least and the greatest number that the margins allow, each
//! with a block that has it. It solves one integer program for each bound, in exact arithmetic. A cell whose
//! range is one number has been published, whether its publisher meant to or not.
//!
//! A bound comes from linear programming, where cells may be fractions. If the best point is whole, it is the
//! answer, and the proof. Otherwise the program is split at a fraction, below and above, until whole points
//! meet the bound. If that takes too long for a range, the result states what was seen and what is proved,
//! and says so.
//! ```
//! use attack::blocks::{Block, Category, Effort, Found, Margin, ranges};
//!
//! let category = |name: &str, values: [&str; 2]| Category {
//!     name: name.to_owned(),
//!     values: values.map(str::to_owned).to_vec(),
//! };
//! let margin = |by, counts: [i64; 2]| Margin {
//!     by: vec![by],
//!     counts: counts.map(|count| Some((count, count))).to_vec(),
//! };
//! let mut block = Block {
//!     categories: vec![category("sex", ["F", "M"]), category("age", ["young", "old"])],
//!     margins: vec![margin(0, [1, 3]), margin(1, [4, 0])],
//! };
//! // Nobody is old, so two harmless margins are the whole table.
//! let Found::Consistent { ranges: known, .. } = ranges(&block, &Effort::default(), |_| ())? else {
//!     unreachable!("there is such a block");
//! };
//! let cells: Vec<_> = known.iter().map(|range| range.only()).collect();
//! assert_eq!(cells, [Some(1), Some(0), Some(3), Some(0)]);
//! // Counts that no four people have contradict each other.
//! block.margins[1] = margin(1, [5, 0]);
//! assert!(matches!(ranges(&block, &Effort::default(), |_| ())?, Found::Contradiction(_)));
//! # Ok::<(), attack::Error>(())
//! ```

pub mod document;
mod search;
mod simplex;
mod synthetic;

pub use search::{around, ranges};
pub use synthetic::{privately, synthetic};

use crate::{Error, Patience};

/// Something that people are sorted by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Category {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Vec<String>,
}

/// Published counts by some of the categories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Margin {
    /// By which categories, by their places in the block.
    pub by: Vec<usize>,
    /// At least and at most this many, in the order of the categories' values, the last varying fastest.
    /// `None` is suppressed.
    pub counts: Vec<Option<(i64, i64)>>,
}

/// A block of people: its categories, and what was published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// What people are sorted by.
    pub categories: Vec<Category>,
    /// What was published.
    pub margins: Vec<Margin>,
}

/// What the margins say about one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The least and the greatest number that were seen: for each there is a block with these margins.
    pub seen: (i64, i64),
    /// The least and the greatest number that are not ruled out.
    pub possible: (i64, i64),
}

impl Range {
    /// Whether both ends are exact.
    pub fn proved(&self) -> bool {
        self.seen == self.possible
    }

    /// The number, if only one is possible.
    pub fn only(&self) -> Option<i64> {
        (self.possible.0 == self.possible.1).then_some(self.possible.0)
    }
}

/// What became of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// There are blocks with these margins.
    Consistent {
        /// One of them.
        example: Vec<i64>,
        /// What each cell can be.
        ranges: Vec<Range>,
    },
    /// There is no block with these margins; these counts of theirs contradict each other. None are named
    /// where fractions of people would do.
    Contradiction(Vec<String>),
}

/// How hard to try.
#[derive(Clone, Debug)]
pub struct Effort {
    /// How many parts a program is split into at most before its bound is left unproved.
    pub splits: usize,
    /// When to stop: what is not proved by then is left so.
    pub patience: Patience,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            splits: 200,
            patience: Patience::endless(),
        }
    }
}

/// More cells than this are for a solver of another kind.
const MOST_CELLS: usize = 20_000;
/// Counts above this are no block.
const MOST_PEOPLE: i64 = 1 << 40;

/// One published count: its cells, its bounds, its name.
struct Sum {
    cells: Vec<usize>,
    bounds: (i64, i64),
    margin: usize,
    place: usize,
}

impl Block {
    /// How many cells there are.
    pub fn cells(&self) -> usize {
        self.categories
            .iter()
            .map(|category| category.values.len())
            .product()
    }

    /// The places of a cell's values in their categories.
    fn values(&self, mut cell: usize) -> Vec<usize> {
        let mut values = vec![0; self.categories.len()];
        for (place, category) in self.categories.iter().enumerate().rev() {
            values[place] = cell % category.values.len();
            cell /= category.values.len();
        }
        values
    }

    /// A cell's values, in words.
    pub fn name(&self, cell: usize) -> Vec<&str> {
        let values = self.values(cell).into_iter().zip(&self.categories);
        values
            .map(|(value, category)| category.values[value].as_str())
            .collect()
    }

    /// The place in a margin that a cell counts towards.
    fn place(&self, margin: &Margin, values: &[usize]) -> usize {
        margin.by.iter().fold(0, |place, &category| {
            place * self.categories[category].values.len() + values[category]
        })
    }

    /// The exact counts of these cells, in the shape of the margin by these categories.
    pub fn margin(&self, cells: &[i64], by: Vec<usize>) -> Margin {
        let size = by
            .iter()
            .map(|&category| self.categories[category].values.len())
            .product();
        let mut margin = Margin {
            by,
            counts: Vec::new(),
        };
        let mut counts = vec![0; size];
        for (cell, count) in cells.iter().enumerate() {
            counts[self.place(&margin, &self.values(cell))] += count;
        }
        margin.counts = counts.into_iter().map(|count| Some((count, count))).collect();
        margin
    }

    /// Whether these cells have the published margins: the definition.
    pub fn allows(&self, cells: &[i64]) -> bool {
        cells.len() == self.cells()
            && cells.iter().all(|count| *count >= 0)
            && self.sums().iter().all(|sum| {
                let total: i64 = sum.cells.iter().map(|&cell| cells[cell]).sum();
                (sum.bounds.0..=sum.bounds.1).contains(&total)
            })
    }

    fn sums(&self) -> Vec<Sum> {
        let mut sums = Vec::new();
        for (number, margin) in self.margins.iter().enumerate() {
            let mut cells = vec![Vec::new(); margin.counts.len()];
            for cell in 0..self.cells() {
                cells[self.place(margin, &self.values(cell))].push(cell);
            }
            for (place, (cells, bounds)) in cells.into_iter().zip(&margin.counts).enumerate() {
                if let Some(bounds) = *bounds {
                    sums.push(Sum {
                        cells,
                        bounds,
                        margin: number,
                        place,
                    });
                }
            }
        }
        sums
    }

    /// `sex F, age 20-24` for a place in a margin.
    fn label(&self, sum: &Sum) -> String {
        let margin = &self.margins[sum.margin];
        if margin.by.is_empty() {
            return "everybody".to_owned();
        }
        let mut place = sum.place;
        let mut words = Vec::new();
        for &category in margin.by.iter().rev() {
            let Category { name, values } = &self.categories[category];
            words.push(format!("{name} {}", values[place % values.len()]));
            place /= values.len();
        }
        words.reverse();
        words.join(", ")
    }

    fn check(&self) -> Result<(), Error> {
        let cells = self.categories.iter().try_fold(1usize, |product, category| {
            product.checked_mul(category.values.len())
        });
        match cells {
            Some(1..=MOST_CELLS) => {}
            Some(0) => {
                return Err(Error::bad_setting(
                    "a category has no values",
                    "give each category the list of its values",
                ));
            }
            _ => {
                return Err(Error::bad_setting(
                    format!("the block has more than {MOST_CELLS} cells"),
                    "leave a category out, or give it fewer values",
                ));
            }
        }
        for margin in &self.margins {
            let known = margin.by.iter().all(|category| *category < self.categories.len());
            let once = (1..margin.by.len()).all(|place| !margin.by[..place].contains(&margin.by[place]));
            let size = || -> usize {
                margin
                    .by
                    .iter()
                    .map(|category| self.categories[*category].values.len())
                    .product()
            };
            if !known || !once || margin.counts.len() != size() {
                return Err(Error::bad_setting(
                    "a margin does not have one count for each combination of its categories",
                    "list the counts in the order of the categories' values, the last category varying fastest",
                ));
            }
            let wrong = |bounds: &(i64, i64)| {
                bounds.0 > bounds.1 || bounds.1 > MOST_PEOPLE || bounds.0 < -MOST_PEOPLE
            };
            if margin.counts.iter().flatten().any(wrong) {
                return Err(Error::bad_setting(
                    "a count has no possible value",
                    "give the smaller bound first, and counts of people",
                ));
            }
        }
        Ok(())
    }

    /// Each cell lies between zero and the least count that includes it.
    fn cell_bounds(&self, sums: &[Sum]) -> Result<Vec<(i64, i64)>, Error> {
        let mut bounds = vec![(0, i64::MAX); self.cells()];
        for sum in sums {
            for &cell in &sum.cells {
                bounds[cell].1 = bounds[cell].1.min(sum.bounds.1);
            }
        }
        match bounds.iter().position(|(_, high)| *high == i64::MAX) {
            Some(cell) => Err(Error::bad_setting(
                format!(
                    "no published count includes the cell {}",
                    self.name(cell).join(", ")
                ),
                "publish at least the number of all people: a margin by nothing",
            )),
            None => Ok(bounds),
        }
    }
}

#[cfg(test)]
mod tests;
