//! A count with an error bar: `cargo run -p deniable --example count`.

use deniable::prelude::*;

/// Prints a count, its interval and what is left of the budget.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Whom the guarantee protects, and how much all releases together may cost.
    let person = PrivacyUnit::new("person", Neighbors::AddRemove);
    let budget = Budget::new(Promise::Pure(Epsilon::parse("1")?), person.clone());
    let mut account = Account::open(MemoryLedger::new(budget))?;

    // A sensitive value cannot be printed, compared or serialized.
    let answers = (0..1000).map(|number| number % 4 == 0).collect();
    let smokers = Sensitive::new(answers);

    // A count knows how far one person can move it, so the noise follows from ε alone.
    let count = Aggregate::count(&smokers, person);
    let request = count
        .laplace(Epsilon::parse("0.5")?)?
        .for_purpose("how many smoke");

    // Charged first, then drawn.
    let release = account.release(request)?;
    let (low, high) = release.interval(0.95).ok_or("Laplace noise has an interval")?;
    println!(
        "{} smoke; with 95 % confidence between {low} and {high}",
        release.real()
    );
    println!("left of the budget: {}", account.ledger().remaining());
    Ok(())
}
