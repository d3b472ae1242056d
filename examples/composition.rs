//! What a plan of many releases costs together: `cargo run -p deniable --example composition`.

use deniable::accounting::{NoiseSupport, Ratio};
use deniable::prelude::*;

/// Prints the ε of the plan by three accountants.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A hundred noisy counts at ε = 0.1 each, and one vector with Gaussian noise of multiplier 5.
    let count = Event::Laplace {
        ratio: Ratio::parse("0.1")?,
        on: NoiseSupport::Rounded,
    };
    let vector = Event::Gaussian {
        multiplier_squared: Ratio::parse("25")?,
        on: NoiseSupport::Rounded,
    };
    let counts = Event::Repeated {
        event: Box::new(count),
        times: 100,
    };
    let plan = Event::Composed(vec![counts, vector]);

    let person = PrivacyUnit::new("person", Neighbors::AddRemove);
    let delta = Delta::parse("1e-6")?;
    for accountant in [Accountant::Basic, Accountant::Renyi, Accountant::Numerical] {
        println!(
            "{accountant:?}: ε = {}",
            accountant.epsilon(&plan, &person, &delta)?
        );
    }
    Ok(())
}
