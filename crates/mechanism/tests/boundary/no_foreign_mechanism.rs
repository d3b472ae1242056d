// refused: E0277
use mechanism::{Aggregate, Laplace, Mechanism, Permit, Stated, Terms};

/// States the terms of a mechanism that costs nearly nothing, and hands its permit on to one that does.
struct Freeloader {
    stated: Laplace,
    drawn: Laplace,
}

impl Stated for Freeloader {
    fn terms(&self) -> &Terms {
        self.stated.terms()
    }
}

impl Mechanism<i64> for Freeloader {
    type Output = i64;

    fn draw(&self, input: Aggregate<i64>, permit: Permit<'_>) -> i64 {
        self.drawn.draw(input, permit)
    }
}

fn main() {}
