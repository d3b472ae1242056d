// compiles
use accounting::{Budget, Curve, Delta, Epsilon, Event, Neighbors, PrivacyUnit, Promise};
use accounting::{RenyiFilter, RenyiOdometer, RenyiOrders};

fn main() {
    let unit = PrivacyUnit::new("person", Neighbors::AddRemove);
    let (epsilon, delta) = (Epsilon::parse("1").unwrap(), Delta::parse("1e-6").unwrap());
    let event = Event::Pure { epsilon: Epsilon::parse("0.1").unwrap() };
    let orders = RenyiOrders::suited_to(&epsilon, &delta).unwrap();
    let budget = Budget::new(Promise::Approximate(epsilon, delta.clone()), unit.clone());
    let mut filter = RenyiFilter::new(budget, orders.clone()).unwrap();
    let mut odometer = RenyiOdometer::new(delta, unit.clone(), orders);
    filter.charge(&event).unwrap();
    odometer.charge(&event).unwrap();
    // A plan that is fixed beforehand is one event, and has one curve.
    let plan = Event::Composed(vec![event.clone(), event]);
    let _ = Curve::of(&plan, &unit);
}
