use super::*;
use crate::survey::testing::{FALSE_ALARM, SHARE, epsilon, judge, release};
use audit::goodness::{categorical_test, frequency_test};
use exact::to_f64_nearest;
use noise::Tape;
use proptest::prelude::*;

type Constructor = fn(Epsilon, u32) -> Result<UnaryEncoding, Error>;

/// The distribution of one report for each answer, over all 2^k reports, bit by bit from the definition.
fn distributions(encoding: &UnaryEncoding) -> Vec<Vec<Rational>> {
    let answers = encoding.answers();
    let bit = |answer: u32, index: u32, report: u32| {
        let frequencies = encoding.frequencies();
        let set = if index == answer {
            frequencies.true_support()
        } else {
            frequencies.false_support()
        };
        if report >> index & 1 == 1 {
            set.clone()
        } else {
            Rational::ONE - set
        }
    };
    let mass = |answer, report| {
        (0..answers).fold(Rational::ONE, |product, index| {
            product * bit(answer, index, report)
        })
    };
    (0..answers)
        .map(|answer| (0..1 << answers).map(|report| mass(answer, report)).collect())
        .collect()
}

#[test]
fn audit_unary_encoding() {
    // Exact: no chance of a false alarm.
    for build in [UnaryEncoding::symmetric as Constructor, UnaryEncoding::optimized] {
        for (text, answers) in [("1", 2), ("0.1", 3), ("2", 5), ("7.25", 3), ("0.001", 4)] {
            let encoding = build(epsilon(text), answers).unwrap();
            let claim = encoding.epsilon().as_rational();
            assert!(
                judge(&distributions(&encoding), claim, true),
                "ε = {text}, {answers} answers"
            );
            let mutant = build(
                Epsilon::exactly_or_up(&(claim * ratio(105, 100))).unwrap(),
                answers,
            )
            .unwrap();
            assert!(
                !judge(&distributions(&mutant), claim, false),
                "1.05 ε must be noticed"
            );
        }
    }
}

#[test]
fn unary_encoding_fits() {
    for build in [UnaryEncoding::symmetric as Constructor, UnaryEncoding::optimized] {
        let (encoding, mutant) = (
            build(epsilon("1"), 3).unwrap(),
            build(epsilon("1.05"), 3).unwrap(),
        );
        for answer in 0..3 {
            let reports = release(&encoding, vec![answer; 600_000]);
            let mut counts = vec![0u64; 8];
            for report in reports.iter() {
                counts[report
                    .enumerate()
                    .map(|(index, bit)| usize::from(bit) << index)
                    .sum::<usize>()] += 1;
            }
            let distribution = |of: &UnaryEncoding| -> Vec<f64> {
                distributions(of)[answer as usize]
                    .iter()
                    .map(to_f64_nearest)
                    .collect()
            };
            categorical_test(&counts, &distribution(&encoding), SHARE).assert_consistent();
            categorical_test(&counts, &distribution(&mutant), SHARE).assert_rejected();
            // What the estimate and its variance rest on: how often each answer is supported.
            let frequencies = encoding.frequencies();
            for (other, support) in encoding.supports(&reports).into_iter().enumerate() {
                let rate = match other == answer as usize {
                    true => to_f64_nearest(frequencies.true_support()),
                    false => to_f64_nearest(frequencies.false_support()),
                };
                frequency_test(support, 600_000, rate, SHARE).assert_consistent();
                frequency_test(support, 600_000, rate * 1.05, SHARE).assert_rejected();
            }
        }
    }
}

#[test]
fn estimates_lie_in_their_intervals() {
    let truth = [0.5, 0.3, 0.2, 0.0];
    let answers: Vec<u32> = (0..100_000)
        .map(|person| [0, 0, 0, 0, 0, 1, 1, 1, 2, 2][person % 10])
        .collect();
    for build in [UnaryEncoding::symmetric as Constructor, UnaryEncoding::optimized] {
        let encoding = build(epsilon("2"), 4).unwrap();
        let reports = release(&encoding, answers.clone());
        // False alarm 1e-9 in all, by what the interval promises; a truth that is off by 0.1 is far outside.
        for (estimate, truth) in encoding
            .estimate(&reports, 1.0 - FALSE_ALARM / 2.0)
            .unwrap()
            .iter()
            .zip(truth)
        {
            assert!(
                estimate.low <= truth && truth <= estimate.high,
                "{estimate:?} against {truth}"
            );
            assert!(truth + 0.1 > estimate.high);
        }
    }
}

#[test]
fn optimized_is_better_for_rare_answers() {
    let variance = |encoding: UnaryEncoding| encoding.frequencies().variance(&ratio(1, 100), 1000).unwrap();
    let of = |build: Constructor| variance(build(epsilon("2"), 50).unwrap());
    assert!(of(UnaryEncoding::optimized) < of(UnaryEncoding::symmetric));
}

#[test]
fn reports_are_packed_and_read_back() {
    let mut reports = BitReports::new(130).unwrap();
    assert!(reports.is_empty());
    let bits = |offset: usize| (0..130).map(move |index| (index + offset).is_multiple_of(3));
    reports.push(bits(0).collect::<Vec<_>>().into_iter()).unwrap();
    reports.push(bits(1).collect::<Vec<_>>().into_iter()).unwrap();
    assert!(reports.push([true].into_iter()).is_err());
    assert_eq!(reports.len(), 2);
    for (offset, report) in reports.iter().enumerate() {
        assert!(report.eq(bits(offset)));
    }
    assert!(BitReports::new(1).is_err());
    let encoding = UnaryEncoding::optimized(epsilon("1"), 3).unwrap();
    assert!(
        encoding.estimate(&reports, 0.9).is_err(),
        "reports of another length"
    );
}

proptest! {
    #[test]
    fn bits_taken_do_not_depend_on_the_answer(
        tape in prop::collection::vec(any::<u8>(), 256),
        first in any::<u32>(),
        second in 0u32..20,
    ) {
        let encoding = UnaryEncoding::optimized(epsilon("0.7"), 20).unwrap();
        let (mut one, mut other) = (Tape::new(tape.clone()), Tape::new(tape));
        let mut reports = BitReports::new(20).unwrap();
        encoding.respond(first, &mut reports, &mut one);
        encoding.respond(second, &mut reports, &mut other);
        prop_assert_eq!(one.position(), other.position());
        prop_assert_eq!(reports.len(), 2);
    }
}
