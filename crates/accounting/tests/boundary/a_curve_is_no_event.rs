// refused: E0277 E0308
use accounting::{Curve, Event};

fn hidden_in_a_plan(curve: Curve, next: Event) -> Event {
    let event: Event = curve.clone().into();
    Event::Composed(vec![event, next, curve])
}

fn main() {}
