// refused: E0061
use accounting::{Epsilon, Guarantee, Promise};

fn main() {
    // A guarantee without a unit is not a guarantee.
    let guarantee = Guarantee::new(Promise::Pure(Epsilon::parse("1").unwrap()));
    let _ = guarantee;
}
