// refused: E0308
use accounting::{Curve, Spending};

fn continue_with(spending: &mut Spending, curve: &Curve) {
    spending.charge(curve).unwrap();
}

fn main() {}
