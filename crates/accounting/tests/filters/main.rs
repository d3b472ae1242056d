//! Filters and odometers against the worst analyst, found exactly; and against mutants that the worst analyst defeats.

mod analyst;
mod budgets;
mod state;
mod worst;

use accounting::{
    Budget, Delta, Epsilon, Event, Neighbors, NoiseSupport, PrivacyUnit, Promise, Ratio, RenyiFilter,
    RenyiOdometer, RenyiOrders,
};

fn person() -> PrivacyUnit {
    PrivacyUnit::new("person", Neighbors::AddRemove)
}

fn epsilon(text: &str) -> Epsilon {
    Epsilon::parse(text).unwrap()
}

fn delta(text: &str) -> Delta {
    Delta::parse(text).unwrap()
}

fn filter(e: &str, d: &str, orders: &[f64]) -> RenyiFilter {
    let limit = Promise::Approximate(epsilon(e), delta(d));
    RenyiFilter::new(Budget::new(limit, person()), RenyiOrders::new(orders).unwrap()).unwrap()
}

fn suited(e: &str, d: &str) -> RenyiFilter {
    let orders = RenyiOrders::suited_to(&epsilon(e), &delta(d)).unwrap();
    filter(e, d, orders.as_slice())
}

fn odometer(d: &str, orders: &[f64]) -> RenyiOdometer {
    RenyiOdometer::new(delta(d), person(), RenyiOrders::new(orders).unwrap())
}

fn gaussian(multiplier_squared: &str) -> Event {
    Event::Gaussian {
        multiplier_squared: Ratio::parse(multiplier_squared).unwrap(),
        on: NoiseSupport::Rounded,
    }
}
