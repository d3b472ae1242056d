use exact::Rational;

/// (σ/Δ₂)²: the square of a noise multiplier.
///
/// It is a type of its own so that a multiplier cannot be given where its square is wanted: for multipliers above 1 that would be less noise than was paid for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SquaredMultiplier(Rational);

impl SquaredMultiplier {
    /// The square of this multiplier.
    pub fn of(multiplier: &Rational) -> Self {
        Self(multiplier * multiplier)
    }

    /// This is the square already.
    pub fn from_square(square: Rational) -> Self {
        Self(square)
    }

    /// The square, as a number.
    pub fn as_rational(&self) -> &Rational {
        &self.0
    }
}
