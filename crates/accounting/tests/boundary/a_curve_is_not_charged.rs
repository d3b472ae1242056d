// refused: E0308
use accounting::{Curve, RenyiFilter};

fn continue_with(filter: &mut RenyiFilter, curve: &Curve) {
    filter.charge(curve).unwrap();
}

fn main() {}
