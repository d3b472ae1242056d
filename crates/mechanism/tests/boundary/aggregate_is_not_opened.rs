// refused: E0624
use accounting::{Neighbors, PrivacyUnit};
use mechanism::{Aggregate, Sensitive};

fn main() {
    let unit = PrivacyUnit::new("person", Neighbors::AddRemove);
    let count = Aggregate::count(&Sensitive::new(vec![true]), unit);
    let truth: i64 = count.open();
    let _ = truth;
}
