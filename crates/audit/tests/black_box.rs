//! Broken mechanisms are caught, correct ones pass. Seeds are fixed; the false-alarm rate is 1e-9 a test.

mod common;

use audit::Error;
use audit::black_box::{BlackBox, Feature, Finding, FindingVerdict, Side};
use common::SplitMix64;

const CONFIDENCE: f64 = 1.0 - 1e-9;

fn audit<O>(samples: u64, draw: impl FnMut(Side) -> O, features: &[Feature<O>]) -> Finding {
    let black_box = BlackBox {
        samples_per_side: samples,
        delta: 0.0,
        confidence: CONFIDENCE,
    };
    let finding = black_box.audit(draw, features).unwrap();
    println!("{finding:?}");
    finding
}

/// A count of 0 or 1.
fn count(side: Side) -> f64 {
    match side {
        Side::First => 0.0,
        Side::Second => 1.0,
    }
}

/// Laplace noise on a count, rounded so coarsely that the float's low bits are gone.
fn rounded_laplace(generator: &mut SplitMix64, side: Side, scale: f64) -> i64 {
    ((count(side) + generator.laplace(scale)) * 8.0).round() as i64
}

#[test]
fn correct_laplace_passes() {
    let mut generator = SplitMix64::new(11);
    let finding = audit(
        400_000,
        |side| rounded_laplace(&mut generator, side, 1.0),
        &Feature::<i64>::standard(),
    );
    assert_eq!(finding.verdict(1.0, 0.0), FindingVerdict::Consistent);
    // Not idly: the bound is close to the truth.
    assert!(finding.epsilon_lower > 0.9, "{}", finding.epsilon_lower);
}

#[test]
fn sensitivity_understated_by_two_is_caught() {
    let mut generator = SplitMix64::new(12);
    // The scale is 1 for a claim of ε = 1 with sensitivity 1; a neighbour moves the sum by 2.
    let draw = |side| (2.0 * count(side) * 8.0 + generator.laplace(1.0) * 8.0).round() as i64;
    let finding = audit(200_000, draw, &Feature::<i64>::standard());
    assert_eq!(finding.verdict(1.0, 0.0), FindingVerdict::Refuted);
    assert_eq!(finding.verdict(1.5, 0.01), FindingVerdict::Refuted);
    assert_eq!(finding.verdict(2.0, 0.0), FindingVerdict::Consistent);
    assert_eq!(finding.verdict(1.0, 0.5), FindingVerdict::Consistent);
}

#[test]
fn doubled_budget_is_caught() {
    // Two answers of ε = 1 each, charged once. Their sum is enough to tell.
    let mut generator = SplitMix64::new(13);
    let draw = |side| {
        let answer = |generator: &mut SplitMix64| rounded_laplace(generator, side, 1.0);
        (answer(&mut generator), answer(&mut generator))
    };
    let features = [
        Feature::ordered("first answer", |pair: &(i64, i64)| pair.0),
        Feature::ordered("larger answer", |pair: &(i64, i64)| pair.0.max(pair.1)),
        Feature::ordered("sum of answers", |pair: &(i64, i64)| pair.0 + pair.1),
    ];
    let finding = audit(400_000, draw, &features);
    assert_eq!(finding.verdict(1.0, 0.0), FindingVerdict::Refuted);
    assert_eq!(finding.verdict(2.0, 0.0), FindingVerdict::Consistent);
}

#[test]
fn textbook_float_laplace_is_caught_by_its_low_bits() {
    let mut generator = SplitMix64::new(14);
    let finding = audit(
        100_000,
        |side| count(side) + generator.laplace(1.0),
        &Feature::<f64>::standard(),
    );
    assert_eq!(finding.verdict(1.0, 0.0), FindingVerdict::Refuted);
    assert!(finding.epsilon_lower > 4.0);
    assert!(finding.event.contains("lowest set bit"), "{}", finding.event);
}

#[test]
fn float_laplace_on_a_coarse_grid_passes() {
    let mut generator = SplitMix64::new(15);
    let draw = |side| ((count(side) + generator.laplace(1.0)) * 1024.0).round() / 1024.0;
    let finding = audit(200_000, draw, &Feature::<f64>::standard());
    assert_eq!(finding.verdict(1.0, 0.0), FindingVerdict::Consistent);
}

/// Answers truthfully with the given probability.
fn response(generator: &mut SplitMix64, side: Side, truth: f64) -> bool {
    let honest = generator.uniform() < truth;
    honest == (side == Side::Second)
}

#[test]
fn randomized_response() {
    // ε = ln 3 needs 3/4; the mutant answers truthfully with 0.8, which is ln 4.
    let claimed = 3f64.ln();
    let mut generator = SplitMix64::new(16);
    let correct = audit(
        200_000,
        |side| response(&mut generator, side, 0.75),
        &Feature::<bool>::standard(),
    );
    assert_eq!(correct.verdict(claimed, 0.0), FindingVerdict::Consistent);
    assert!(correct.epsilon_lower > 1.0);
    let mutant = audit(
        200_000,
        |side| response(&mut generator, side, 0.8),
        &Feature::<bool>::standard(),
    );
    assert_eq!(mutant.verdict(claimed, 0.0), FindingVerdict::Refuted);
}

#[test]
fn one_sided_mechanisms_are_caught_in_either_direction() {
    // One side never gives the output 7: no finite ε, δ = 1/8 for certain.
    for silent in [Side::First, Side::Second] {
        let mut generator = SplitMix64::new(17);
        let draw = |side: Side| {
            let value = (generator.bits() >> 61) as i64;
            if side == silent && value == 7 { 0 } else { value }
        };
        let features = [Feature::values("value", |value: &i64| *value)];
        let finding = audit(50_000, draw, &features);
        assert_eq!(finding.event, "value in {7}");
        assert_ne!(finding.likely_side, silent);
        assert_eq!(finding.verdict(3.0, 0.05), FindingVerdict::Refuted);
        assert_eq!(finding.verdict(3.0, 0.13), FindingVerdict::Consistent);
    }
}

/// Equal sides, many features to choose from, a modest confidence: the false-alarm rate must be what it says
/// although the best of thousands of events is picked. 300 audits at 5 % would give more than 40 false alarms
/// with probability below 1e-8.
#[test]
fn false_alarms_are_as_rare_as_stated() {
    let mut generator = SplitMix64::new(18);
    let black_box = BlackBox {
        samples_per_side: 2_000,
        delta: 0.0,
        confidence: 0.95,
    };
    let alarms = (0..300)
        .filter(|_| {
            let finding = black_box
                .audit(|_| generator.laplace(1.0), &Feature::<f64>::standard())
                .unwrap();
            finding.verdict(0.0, 0.0) == FindingVerdict::Refuted
        })
        .count();
    assert!(alarms <= 40, "{alarms} false alarms");
}

#[test]
fn questions_without_sense_are_refused() {
    let good = BlackBox {
        samples_per_side: 100,
        delta: 0.0,
        confidence: 0.99,
    };
    let features = Feature::<bool>::standard();
    let ask =
        |black_box: BlackBox, features: &[Feature<bool>]| black_box.audit(|_| true, features).unwrap_err();
    assert_eq!(ask(good, &[]), Error::NoFeatures);
    assert_eq!(
        ask(
            BlackBox {
                confidence: 1.0,
                ..good
            },
            &features
        ),
        Error::ConfidenceOutOfRange
    );
    assert_eq!(
        ask(BlackBox { delta: -1.0, ..good }, &features),
        Error::DeltaOutOfRange
    );
    let few = Error::TooFewSamples {
        samples: 3,
        least: 16,
    };
    assert_eq!(
        ask(
            BlackBox {
                samples_per_side: 3,
                ..good
            },
            &features
        ),
        few
    );
}
