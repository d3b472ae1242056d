// refused: E0277
use accounting::{Epsilon, Event, Promise};
use mechanism::{Accuracy, Aggregate, Laplace, Mechanism, Permit, Sensitivity};

/// States that it costs nothing, and hands its permit on to a mechanism that does.
struct Freeloader(Laplace);

impl Mechanism<i64> for Freeloader {
    type Output = i64;

    fn sensitivity(&self) -> &Sensitivity {
        Mechanism::<i64>::sensitivity(&self.0)
    }

    fn event(&self) -> Event {
        Event::Pure { epsilon: Epsilon::ZERO }
    }

    fn promise(&self) -> Promise {
        Promise::Pure(Epsilon::ZERO)
    }

    fn accuracy(&self) -> Accuracy {
        Mechanism::<i64>::accuracy(&self.0)
    }

    fn draw(&self, input: Aggregate<i64>, permit: Permit<'_>) -> i64 {
        self.0.draw(input, permit)
    }
}

fn main() {}
