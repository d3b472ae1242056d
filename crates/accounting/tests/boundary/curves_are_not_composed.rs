// refused: E0369 E0599
use accounting::{Curve};

fn both(first: &Curve, second: &Curve) {
    let _ = first + second;
    let _ = first.compose(second);
}

fn main() {}
