// refused: E0599
use accounting::{Curve, Event};

fn one_more(curve: &mut Curve, event: &Event) {
    curve.charge(event);
    curve.push(event);
    curve.extend([event.clone()]);
}

fn main() {}
