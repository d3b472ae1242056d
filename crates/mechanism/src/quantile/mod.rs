use crate::column::one_row;
use crate::{Accuracy, Aggregate, Bounds, Column, Error, Mechanism, Permit, Stated, Terms};
use accounting::{Epsilon, Event, Neighbors, Promise};
use exact::{Integer, Interval, Rational, ratio, to_f64_up};
use noise::{Distribution, Entropy, Inversion, UniformInteger};

#[cfg(test)]
mod tests;

/// Chooses a grid point of a public range whose rank is near a target, such as the median: the exponential mechanism over *all* points.
///
/// A point v of data x₁, …, xₙ has all ranks from L(v) = #{xᵢ < v} to R(v) = #{xᵢ ≤ v}; its score is minus the distance of αn to them,
/// u(v) = −max(L(v) − αn, αn − R(v), 0). So a value that many rows share has score 0 when αn falls among them, whatever ties there are.
/// Between two neighbouring values of the data the score is constant, and there the points are taken together: with 2n+1 cells, a draw takes
/// about 7 µs a row however many points the range has. Values outside the bounds are cut to them.
///
/// # Privacy
/// Claim: ε-DP for one value of each unit, when one unit is added or removed, or when one is changed, as the constructor was reported.
/// Proof: v is drawn with P(v) ∝ e^(ε·u(v)/2Δ). When a value y is added, L(v) − αn grows by 1{y < v} − α and αn − R(v) by α − 1{y ≤ v}, so each moves by at most
/// max(α, 1−α), and so does the largest of them and 0: Δ = max(α, 1−α); removing is the reverse. When a value is changed, n stays, L and R move by at most 1,
/// and Δ = 1. Then each numerator moves by a factor of at most e^(ε/2), and so does the normalizing sum. The choice is exact: first a cell, with the sum
/// of the probabilities of its points, all equal, then one of its points uniformly.
/// Source: McSherry and Talwar 2007; over intervals of equal score, Smith 2011. Assumes: exact sampler; bounds and α are public.
/// Audited by: `audit_quantile`, `quantile_verified_exactly` (false alarm 1e-9, rejects 3 ε, exactly a Δ without the 2).
#[derive(Clone, Debug)]
pub struct Quantile {
    terms: Terms,
    selector: Selector,
}

impl Quantile {
    /// The point of rank α·n, for 0 < α < 1: one half is the median.
    pub fn new(
        epsilon: Epsilon,
        fraction: &Rational,
        bounds: Bounds,
        neighbors: Neighbors,
    ) -> Result<Self, Error> {
        let selector = Selector::new(&epsilon, fraction, bounds, neighbors)?;
        let event = Event::Exponential {
            epsilon: epsilon.clone(),
        };
        let terms = terms(event, epsilon, bounds, neighbors);
        Ok(Self { terms, selector })
    }

    /// How far the rank of the answer may be from its target. (How far its value is depends on the data.)
    pub fn rank_accuracy(&self) -> Accuracy {
        let scale = to_f64_up(&(Rational::ONE / &self.selector.rate));
        Accuracy::Choice {
            count: self.selector.bounds.width() as u64 + 1,
            scale,
        }
    }
}

impl Stated for Quantile {
    fn terms(&self) -> &Terms {
        &self.terms
    }
}

impl Mechanism<Column> for Quantile {
    type Output = i64;

    fn draw(&self, input: Aggregate<Column>, permit: Permit<'_>) -> i64 {
        let sorted = input.open().sorted(self.selector.bounds);
        self.selector.choose(&sorted, permit.entropy())
    }
}

/// Several quantiles of the same column, each with an equal share of ε.
///
/// # Privacy
/// Claim: ε-DP in all for k quantiles, each ε/k-DP.
/// Proof: each answer is a [`Quantile`] with ε/k rounded down, and their ε add up (Dwork and Roth 2014). Putting the answers into the order of
/// their targets is post-processing.
/// Source: McSherry and Talwar 2007; basic composition. Assumes: exact sampler; bounds and targets are public.
/// Audited by: `audit_quantiles` (false alarm 1e-9, rejects 6 ε for each).
#[derive(Clone, Debug)]
pub struct Quantiles {
    terms: Terms,
    bounds: Bounds,
    selectors: Vec<Selector>,
}

impl Quantiles {
    /// The points of ranks α·n, for each 0 < α < 1 of `fractions`; the answers come in the same order.
    pub fn new(
        epsilon: &Epsilon,
        fractions: &[Rational],
        bounds: Bounds,
        neighbors: Neighbors,
    ) -> Result<Self, Error> {
        if fractions.is_empty() {
            return Err(Error::OutOfRange {
                what: "the number of quantiles",
                range: "at least 1",
            });
        }
        let share = Epsilon::rounded_down(&(epsilon.as_rational() / Rational::from(fractions.len())))?;
        let selectors: Result<Vec<Selector>, Error> = fractions
            .iter()
            .map(|fraction| Selector::new(&share, fraction, bounds, neighbors))
            .collect();
        let times = fractions.len() as u64;
        let epsilon = share.times(times);
        let one = Event::Exponential { epsilon: share };
        let event = Event::Repeated {
            event: Box::new(one),
            times,
        };
        Ok(Self {
            terms: terms(event, epsilon, bounds, neighbors),
            bounds,
            selectors: selectors?,
        })
    }
}

impl Stated for Quantiles {
    fn terms(&self) -> &Terms {
        &self.terms
    }
}

impl Mechanism<Column> for Quantiles {
    type Output = Vec<i64>;

    fn draw(&self, input: Aggregate<Column>, permit: Permit<'_>) -> Vec<i64> {
        let sorted = input.open().sorted(self.bounds);
        let entropy = permit.entropy();
        let mut values: Vec<i64> = self
            .selectors
            .iter()
            .map(|selector| selector.choose(&sorted, entropy))
            .collect();
        values.sort_unstable();
        // A larger target gets a larger answer.
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|a, b| self.selectors[*a].fraction.cmp(&self.selectors[*b].fraction));
        let mut answers = vec![0; values.len()];
        for (place, value) in order.into_iter().zip(values) {
            answers[place] = value;
        }
        answers
    }
}

/// How far a value is from the true one depends on the data.
fn terms(event: Event, epsilon: Epsilon, bounds: Bounds, neighbors: Neighbors) -> Terms {
    Terms::new(one_row(), event, Promise::Pure(epsilon), Accuracy::DependsOnData)
        .on(bounds.grid())
        .only_for(neighbors)
}

/// One target, and how fast the probability falls with the distance of ranks.
#[derive(Clone, Debug)]
struct Selector {
    fraction: Rational,
    /// ε/2Δ.
    rate: Rational,
    bounds: Bounds,
}

impl Selector {
    fn new(
        epsilon: &Epsilon,
        fraction: &Rational,
        bounds: Bounds,
        neighbors: Neighbors,
    ) -> Result<Self, Error> {
        if *epsilon == Epsilon::ZERO {
            return Err(Error::NoEpsilon);
        }
        if *fraction <= Rational::ZERO || *fraction >= Rational::ONE {
            let what = "the fraction of a quantile";
            return Err(Error::OutOfRange {
                what,
                range: "strictly between 0 and 1",
            });
        }
        let step = match neighbors {
            Neighbors::AddRemove => fraction.clone().max(Rational::ONE - fraction),
            Neighbors::ChangeOne => Rational::ONE,
        };
        let rate = epsilon.as_rational() * ratio(1, 2) / step;
        Ok(Self {
            fraction: fraction.clone(),
            rate,
            bounds,
        })
    }

    fn choose(&self, sorted: &[i64], entropy: &mut dyn Entropy) -> i64 {
        let cells = self.cells(sorted);
        let starts: Vec<(i64, u64)> = cells.cells.iter().map(|cell| (cell.first, cell.points)).collect();
        let (first, points) = starts[Inversion::new(cells).sample(entropy)];
        let inside = UniformInteger::new(points).expect("a cell without points has probability zero");
        first + inside.sample(entropy) as i64
    }

    /// The gaps and the values in ascending order: 2n+1 cells for n rows. A row that ties with the one before it stands for no point.
    fn cells(&self, sorted: &[i64]) -> Cells {
        let rows = sorted.len();
        let mut cells = Vec::with_capacity(2 * rows + 1);
        // Up to here all points have their cell; wider than the data, so that one step beyond its end is a number.
        let mut done = i128::from(self.bounds.lower()) - 1;
        let mut rank = 0;
        while rank < rows {
            let value = i128::from(sorted[rank]);
            let after = rank
                + sorted[rank..]
                    .iter()
                    .take_while(|other| **other == sorted[rank])
                    .count();
            cells.push(Cell::new(done + 1, value - done - 1, rank, rank));
            cells.push(Cell::new(value, 1, rank, after));
            cells.resize(2 * after, Cell::new(value, 0, after, after));
            done = value;
            rank = after;
        }
        cells.push(Cell::new(
            done + 1,
            i128::from(self.bounds.upper()) - done,
            rows,
            rows,
        ));
        let target = &self.fraction * Rational::from(rows);
        Cells {
            cells,
            rate: self.rate.clone(),
            target,
        }
    }
}

/// Points of equal score: from `first` on, `points` of them, with ranks `low` to `high`.
#[derive(Clone, Debug)]
struct Cell {
    first: i64,
    points: u64,
    low: usize,
    high: usize,
}

impl Cell {
    fn new(first: i128, points: i128, low: usize, high: usize) -> Self {
        // An empty gap at the end of the range may begin one step beyond it.
        let first = first.min(i128::from(i64::MAX)) as i64;
        Self {
            first,
            points: points as u64,
            low,
            high,
        }
    }
}

/// F over cells, whose weights are points·e^(−rate·distance).
#[derive(Clone, Debug)]
struct Cells {
    cells: Vec<Cell>,
    rate: Rational,
    target: Rational,
}

impl Distribution for Cells {
    /// A distance is a fraction, the same for all cells on one side of the target, and whole ranks: weights are products of a few exponentials and
    /// the powers of e^−rate, which cost one multiplication each.
    fn cumulative(&self, bits: u32) -> Vec<Interval> {
        // Some cell has distance 0 (the values' ranks cover 0 to n), so the total is at least 1 and absolute precision is relative
        // precision enough. Powers are off by a unit or two each step, a weight by that times its points, below 2^63; sums add up.
        let count = self.cells.len() as u32;
        let work = bits + 72 + 2 * (32 - count.leading_zeros()) + 8;
        let (below, above) = (self.target.floor(), self.target.ceil());
        let exp = |distance: Rational| Interval::exp_of(&-(&self.rate * distance), work);
        let down = exp(&self.target - Rational::from(below.clone()));
        let up = exp(Rational::from(above.clone()) - &self.target);
        let ratio = exp(Rational::ONE);
        let reach = self.cells.iter().map(|cell| cell.high).max().unwrap_or(0);
        let mut power = Interval::from_integer(1, work);
        let mut powers = Vec::with_capacity(reach + 1);
        for _ in 0..=reach {
            powers.push(power.clone());
            power = power.mul(&ratio);
        }
        let rank = |whole: Integer| usize::try_from(whole).expect("0 ≤ αn ≤ n");
        let (below, above) = (rank(below), rank(above));
        let mut sum = Interval::from_integer(0, work);
        let sums: Vec<Interval> = self
            .cells
            .iter()
            .map(|cell| {
                // high < αn means high ≤ ⌊αn⌋ and not αn itself; low > αn likewise. Where αn is whole, the fractions are zero and both agree.
                let weight = if Rational::from(cell.high) < self.target {
                    powers[below - cell.high].mul(&down)
                } else if Rational::from(cell.low) > self.target {
                    powers[cell.low - above].mul(&up)
                } else {
                    powers[0].clone()
                };
                sum = sum.add(&weight.scale(&Integer::from(cell.points)));
                sum.clone()
            })
            .collect();
        let bounds = sums[..sums.len() - 1].iter();
        bounds
            .map(|part| part.div(&sum).expect("a positive total").with_bits(bits))
            .collect()
    }
}
