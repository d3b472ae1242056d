use crate::Error;
use exact::Rational;

/// How far one unit can move a value, in grid steps: in how many coordinates, by how much in each, and in which norm in all.
///
/// ℓ₂ is kept squared, because √k is no rational and the squares add up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sensitivity {
    coordinates: u64,
    l1: Rational,
    l2_squared: Rational,
    l_infinity: Rational,
}

impl Sensitivity {
    /// One number moves by at most `step`.
    pub fn scalar(step: impl Into<Rational>) -> Result<Self, Error> {
        Self::vector(1, step)
    }

    /// At most `coordinates` numbers of a vector move, each by at most `step`: ℓ₁ = k·s, ℓ₂² = k·s², ℓ∞ = s.
    pub fn vector(coordinates: u64, step: impl Into<Rational>) -> Result<Self, Error> {
        let step = step.into();
        if coordinates == 0 || step <= Rational::ZERO {
            return Err(Error::BadSensitivity);
        }
        let count = Rational::from(coordinates);
        Ok(Self {
            coordinates,
            l1: &count * &step,
            l2_squared: &count * &step * &step,
            l_infinity: step,
        })
    }

    /// With norms known better than [`Sensitivity::vector`] gives them: each is replaced by the smaller of the two.
    pub fn with_norms(self, l1: &Rational, l2_squared: &Rational) -> Result<Self, Error> {
        let l1 = self.l1.min(l1.clone());
        let l2_squared = self.l2_squared.min(l2_squared.clone()).min(&l1 * &l1);
        if l1 <= Rational::ZERO || l2_squared <= Rational::ZERO {
            return Err(Error::BadSensitivity);
        }
        // No coordinate moves further than all of them together.
        let l_infinity = self.l_infinity.min(l1.clone());
        Ok(Self {
            l1,
            l2_squared,
            l_infinity,
            ..self
        })
    }

    /// How many coordinates one unit can move: ℓ₀.
    pub fn coordinates(&self) -> u64 {
        self.coordinates
    }

    /// The sum of all moves: ℓ₁.
    pub fn l1(&self) -> &Rational {
        &self.l1
    }

    /// The sum of the squares of all moves: ℓ₂².
    pub fn l2_squared(&self) -> &Rational {
        &self.l2_squared
    }

    /// The largest move of one coordinate: ℓ∞.
    pub fn l_infinity(&self) -> &Rational {
        &self.l_infinity
    }

    /// Whether everything within `other` is within this.
    pub fn covers(&self, other: &Self) -> bool {
        self.coordinates >= other.coordinates
            && self.l1 >= other.l1
            && self.l2_squared >= other.l2_squared
            && self.l_infinity >= other.l_infinity
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exact::ratio;

    #[test]
    fn norms_follow_from_coordinates() {
        let sensitivity = Sensitivity::vector(9, 2).unwrap();
        assert_eq!(*sensitivity.l1(), ratio(18, 1));
        assert_eq!(*sensitivity.l2_squared(), ratio(36, 1));
        assert_eq!(*sensitivity.l_infinity(), ratio(2, 1));
        assert_eq!(Sensitivity::scalar(0).unwrap_err(), Error::BadSensitivity);
        assert_eq!(Sensitivity::vector(0, 1).unwrap_err(), Error::BadSensitivity);
    }

    #[test]
    fn better_norms_only_improve() {
        let sensitivity = Sensitivity::vector(4, 1)
            .unwrap()
            .with_norms(&ratio(2, 1), &ratio(100, 1))
            .unwrap();
        assert_eq!(
            (sensitivity.l1(), sensitivity.l2_squared()),
            (&ratio(2, 1), &ratio(4, 1))
        );
        assert!(Sensitivity::vector(4, 1).unwrap().covers(&sensitivity));
        assert!(!sensitivity.covers(&Sensitivity::vector(4, 1).unwrap()));
    }
}
