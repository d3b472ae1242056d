// compiles
use accounting::{Budget, Epsilon, Neighbors, PrivacyUnit, Promise};
use mechanism::{Account, Aggregate, Laplace, MemoryLedger, Sensitive};

fn main() {
    let unit = PrivacyUnit::new("person", Neighbors::AddRemove);
    let one = Epsilon::parse("1").unwrap();
    let mut account = Account::open(MemoryLedger::new(Budget::new(Promise::Pure(one.clone()), unit.clone()))).unwrap();
    let count = Aggregate::count(&Sensitive::new(vec![true]), unit);
    let laplace = Laplace::new(one, count.sensitivity().clone(), count.grid()).unwrap();
    let release = account.release_by(&laplace, count, "a count").unwrap();
    println!("{:?} {}", Sensitive::new(42), release.value());
}
