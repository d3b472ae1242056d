use crate::{Error, Sensitive, Sensitivity};
use accounting::{Neighbors, PrivacyUnit};
use exact::{Integer, Rational, from_f64};
use noise::Grid;

/// One integer or many: what additive noise is added to.
pub trait Points: sealed::Sealed {
    /// The integers, in place.
    #[doc(hidden)]
    fn as_mut_slice(&mut self) -> &mut [i64];
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for i64 {}
    impl Sealed for Vec<i64> {}
}

impl Points for i64 {
    fn as_mut_slice(&mut self) -> &mut [i64] {
        std::slice::from_mut(self)
    }
}

impl Points for Vec<i64> {
    fn as_mut_slice(&mut self) -> &mut [i64] {
        self
    }
}

/// A private value, together with what a neighbour can change about it, and whom that protects.
///
/// Numbers are integers in steps of a [`Grid`]; counts live on the grid of step 1.
#[derive(Debug)]
pub struct Aggregate<T> {
    value: Sensitive<T>,
    sensitivity: Sensitivity,
    unit: PrivacyUnit,
    grid: Grid,
}

impl<T> Aggregate<T> {
    /// States that neighbours under `unit` move `value` by at most `sensitivity`, in steps of `grid`.
    ///
    /// This is a claim that nothing checks; the constructors below derive it. Use it where the derivation is done elsewhere.
    pub fn claimed(value: Sensitive<T>, sensitivity: Sensitivity, unit: PrivacyUnit, grid: Grid) -> Self {
        Self {
            value,
            sensitivity,
            unit,
            grid,
        }
    }

    /// How far one unit can move it.
    pub fn sensitivity(&self) -> &Sensitivity {
        &self.sensitivity
    }

    /// Whom it protects.
    pub fn unit(&self) -> &PrivacyUnit {
        &self.unit
    }

    /// The grid it lives on.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    pub(crate) fn open(self) -> T {
        self.value.into_inner()
    }
}

impl Aggregate<i64> {
    /// How many of the answers are `true`. One unit is one answer, so it moves by at most 1.
    pub fn count(answers: &Sensitive<Vec<bool>>, unit: PrivacyUnit) -> Self {
        let count = answers.as_ref().iter().filter(|answer| **answer).count();
        let sensitivity = Sensitivity::scalar(1).expect("one is positive");
        Self::claimed(Sensitive::new(count as i64), sensitivity, unit, Grid::new(0))
    }

    /// The sum of numbers, one a unit, each cut to [lower, upper] and put on the grid before it is added.
    ///
    /// A number added or removed moves the sum by at most the larger end in magnitude; a changed one by at most upper − lower.
    /// NaN counts as zero before it is cut. The sum saturates at the ends of `i64`, which moves no two sums apart.
    pub fn bounded_sum(
        values: &Sensitive<Vec<f64>>,
        lower: f64,
        upper: f64,
        grid: Grid,
        unit: PrivacyUnit,
    ) -> Result<Self, Error> {
        let ordered = lower <= upper && from_f64(lower).is_some() && from_f64(upper).is_some();
        let (low, high) = (grid.round(lower), grid.round(upper));
        if !ordered || low == i64::MIN || high == i64::MAX {
            return Err(Error::OutOfRange {
                what: "the bounds of a sum",
                range: "finite, in order, and within the grid",
            });
        }
        let sum: i128 = values
            .as_ref()
            .iter()
            .map(|value| i128::from(grid.round(*value).clamp(low, high)))
            .sum();
        let sum = sum.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
        let step = match unit.neighbors {
            Neighbors::AddRemove => u128::from(low.unsigned_abs().max(high.unsigned_abs())),
            Neighbors::ChangeOne => (i128::from(high) - i128::from(low)) as u128,
        };
        // Bounds of [0, 0] make the sum a constant; one step of sensitivity keeps the noise well-defined.
        let sensitivity = Sensitivity::scalar(Rational::from(Integer::from(step.max(1))))?;
        Ok(Self::claimed(Sensitive::new(sum), sensitivity, unit, grid))
    }
}

impl Aggregate<Vec<i64>> {
    /// How many of the answers fall in each of `bins` bins; an answer outside all of them is not counted.
    ///
    /// An answer added or removed moves one bin by 1; a changed one moves two.
    pub fn histogram(answers: &Sensitive<Vec<u32>>, bins: u32, unit: PrivacyUnit) -> Result<Self, Error> {
        let mut counts = vec![0i64; bins as usize];
        for answer in answers.as_ref() {
            if let Some(count) = counts.get_mut(*answer as usize) {
                *count += 1;
            }
        }
        let moved = match unit.neighbors {
            Neighbors::AddRemove => 1,
            Neighbors::ChangeOne => 2,
        };
        Ok(Self::claimed(
            Sensitive::new(counts),
            Sensitivity::vector(moved, 1)?,
            unit,
            Grid::new(0),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exact::ratio;
    use proptest::prelude::*;

    fn unit(neighbors: Neighbors) -> PrivacyUnit {
        PrivacyUnit::new("person", neighbors)
    }

    #[test]
    fn slide_example() {
        // x in {−1..60}: Δ = 61 when one changes, 60 when one is added or removed; the sum is 71.
        let values = Sensitive::new(vec![1.0, 3.0, 4.0, 4.0, 3.0, 55.0, 1.0]);
        let changed =
            Aggregate::bounded_sum(&values, -1.0, 60.0, Grid::new(0), unit(Neighbors::ChangeOne)).unwrap();
        assert_eq!(*changed.sensitivity().l1(), ratio(61, 1));
        assert_eq!(changed.open(), 71);
        let added =
            Aggregate::bounded_sum(&values, -1.0, 60.0, Grid::new(0), unit(Neighbors::AddRemove)).unwrap();
        assert_eq!(*added.sensitivity().l1(), ratio(60, 1));
    }

    #[test]
    fn strange_values_move_nothing() {
        let values = Sensitive::new(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300]);
        let sum =
            Aggregate::bounded_sum(&values, -1.0, 2.0, Grid::new(0), unit(Neighbors::AddRemove)).unwrap();
        assert_eq!(sum.open(), 2 - 1 + 2);
        for (lower, upper) in [(f64::NAN, 1.0), (0.0, f64::INFINITY), (2.0, 1.0), (0.0, 1e300)] {
            assert!(
                Aggregate::bounded_sum(&values, lower, upper, Grid::new(0), unit(Neighbors::AddRemove))
                    .is_err()
            );
        }
    }

    proptest! {
        #[test]
        fn neighbours_move_no_further_than_stated(
            values in prop::collection::vec(-1e4f64..1e4, 0..20),
            other in -1e6f64..1e6,
            lower in -50f64..0.0,
            upper in 0.0f64..50.0,
            exponent in -6i32..3,
        ) {
            let grid = Grid::new(exponent);
            let sum = |values: &[f64], neighbors| {
                let aggregate = Aggregate::bounded_sum(&Sensitive::new(values.to_vec()), lower, upper, grid, unit(neighbors)).unwrap();
                (aggregate.sensitivity().l1().clone(), aggregate.open())
            };
            let (step, before) = sum(&values, Neighbors::AddRemove);
            let mut more = values.clone();
            more.push(other);
            let (_, after) = sum(&more, Neighbors::AddRemove);
            prop_assert!(Rational::from(after.abs_diff(before)) <= step);
            if !values.is_empty() {
                let mut changed = values.clone();
                changed[0] = other;
                let (step, after) = sum(&changed, Neighbors::ChangeOne);
                prop_assert!(Rational::from(after.abs_diff(before)) <= step);
            }
        }
    }
}
