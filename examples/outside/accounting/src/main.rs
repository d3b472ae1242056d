//! What a hundred noisy counts cost together.

use deniable::accounting::{NoiseSupport, Ratio};
use deniable::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count = Event::Laplace {
        ratio: Ratio::parse("0.1")?,
        on: NoiseSupport::Rounded,
    };
    let plan = Event::Repeated {
        event: Box::new(count),
        times: 100,
    };
    let person = PrivacyUnit::new("person", Neighbors::AddRemove);
    let epsilon = Accountant::Numerical.epsilon(&plan, &person, &Delta::parse("1e-6")?)?;
    println!("ε = {epsilon}");
    Ok(())
}
