// refused: E0061
use accounting::{Epsilon, Neighbors, PrivacyUnit};
use mechanism::{Aggregate, Laplace, Mechanism, Sensitive};

fn main() {
    let unit = PrivacyUnit::new("person", Neighbors::AddRemove);
    let count = Aggregate::count(&Sensitive::new(vec![true]), unit);
    let laplace = Laplace::new(Epsilon::parse("1").unwrap(), count.sensitivity().clone(), count.grid()).unwrap();
    // A draw needs a permit, and nothing here can make one.
    let answer = laplace.draw(count);
    let _ = answer;
}
