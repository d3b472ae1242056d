//! An audit of one's own mechanism: `cargo run -p deniable --example audit`.

use deniable::audit::black_box::{BlackBox, Feature, FindingVerdict, Side};
use deniable::exact::ratio;
use deniable::noise::{DiscreteLaplace, Entropy, OsEntropy};

/// Refutes a claim by experiment.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Whoever wrote this halved the noise: it claims ε = 1, and adds Laplace noise of scale 1/2 to a count.
    let noise = DiscreteLaplace::new(&ratio(1, 2))?;
    let mut entropy = OsEntropy::new()?;
    let noisy_count = |count: i64, entropy: &mut dyn Entropy| count + noise.sample(entropy);

    // Neighbouring inputs: one person more or less.
    let draw = |side| noisy_count(i64::from(side == Side::Second), &mut entropy);
    let auditor = BlackBox {
        samples_per_side: 20_000,
        delta: 0.0,
        confidence: 1.0 - 1e-9,
    };
    let finding = auditor.audit(draw, &[Feature::ordered("the count", |count: &i64| *count)])?;
    println!("ε is at least {:.2}: {}", finding.epsilon_lower, finding.event);
    assert_eq!(finding.verdict(1.0, 0.0), FindingVerdict::Refuted);
    Ok(())
}
