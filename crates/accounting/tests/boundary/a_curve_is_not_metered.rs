// refused: E0308
use accounting::{Curve, RenyiOdometer};

fn continue_with(odometer: &mut RenyiOdometer, curve: &Curve) {
    odometer.charge(curve).unwrap();
}

fn main() {}
