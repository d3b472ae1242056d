use super::*;
use crate::survey::testing::{FALSE_ALARM, SHARE, epsilon, judge, release};
use audit::goodness::{categorical_test, frequency_test};
use exact::to_f64_nearest;
use noise::Tape;
use proptest::prelude::*;

/// h(x) by its definition, one bit after the other.
fn hash(hashing: &LocalHashing, seed: u128, answer: u32) -> u32 {
    let coefficients = hashing.unpack(seed);
    let sum: u32 = (0..32)
        .filter(|bit| answer >> bit & 1 == 1)
        .map(|bit| coefficients[bit])
        .sum();
    sum % hashing.buckets()
}

/// The distribution of one report for each answer, over all seeds and buckets.
fn distributions(hashing: &LocalHashing) -> Vec<Vec<Rational>> {
    let response = hashing.response.frequencies();
    let seeds = Rational::from(hashing.seeds());
    let distribution = |answer| {
        let outcomes =
            (0..hashing.seeds()).flat_map(|seed| (0..hashing.buckets()).map(move |bucket| (seed, bucket)));
        let mass = |(seed, bucket)| match hash(hashing, seed, answer) == bucket {
            true => response.true_support() / &seeds,
            false => response.false_support() / &seeds,
        };
        outcomes.map(mass).collect()
    };
    (0..hashing.answers()).map(distribution).collect()
}

#[test]
fn audit_local_hashing() {
    // Exact: no chance of a false alarm.
    for (text, answers) in [("1", 2), ("1", 5), ("0.1", 4), ("2", 3), ("0.5", 8)] {
        let hashing = LocalHashing::new(epsilon(text), answers).unwrap();
        let claim = hashing.epsilon().as_rational();
        assert!(
            judge(&distributions(&hashing), claim, true),
            "ε = {text}, {answers} answers"
        );
        let mutant = LocalHashing::new(
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

#[test]
fn collisions_are_exactly_as_likely_as_stated() {
    // Every seed, every pair of answers, and every bucket: the hashes of two answers differ by each number modulo g equally often.
    for (text, answers) in [("1", 9), ("0.2", 17), ("1.7", 4), ("2.2", 5)] {
        let hashing = LocalHashing::new(epsilon(text), answers).unwrap();
        let buckets = hashing.buckets();
        let collisions = |first: u32, second: u32| -> Vec<u128> {
            let mut differences = vec![0u128; buckets as usize];
            for seed in 0..hashing.seeds() {
                let (a, b) = (hash(&hashing, seed, first), hash(&hashing, seed, second));
                differences[((a + buckets - b) % buckets) as usize] += 1;
            }
            differences
        };
        for first in 0..answers {
            for second in 0..first {
                let even = hashing.seeds() / u128::from(buckets);
                assert!(
                    collisions(first, second).iter().all(|times| *times == even),
                    "{first}, {second}"
                );
            }
        }
    }
}

#[test]
fn local_hashing_fits() {
    let (hashing, mutant) = (
        LocalHashing::new(epsilon("1"), 3).unwrap(),
        LocalHashing::new(epsilon("1.05"), 3).unwrap(),
    );
    assert_eq!((hashing.buckets(), mutant.buckets(), hashing.seeds()), (4, 4, 16));
    for answer in 0..3 {
        let reports = release(&hashing, vec![answer; 600_000]);
        let mut counts = vec![0u64; 64];
        for report in &reports {
            counts[report.seed as usize * 4 + report.bucket as usize] += 1;
        }
        let distribution = |of: &LocalHashing| -> Vec<f64> {
            distributions(of)[answer as usize]
                .iter()
                .map(to_f64_nearest)
                .collect()
        };
        categorical_test(&counts, &distribution(&hashing), SHARE).assert_consistent();
        // What the estimate and its variance rest on: how often each answer is supported.
        let frequencies = hashing.frequencies();
        for (other, support) in hashing.supports(&reports).into_iter().enumerate() {
            let of = |frequencies: &Frequencies| match other == answer as usize {
                true => to_f64_nearest(frequencies.true_support()),
                false => to_f64_nearest(frequencies.false_support()),
            };
            frequency_test(support, 600_000, of(frequencies), SHARE).assert_consistent();
            frequency_test(support, 600_000, of(frequencies) * 1.05, SHARE).assert_rejected();
            if other == answer as usize {
                frequency_test(support, 600_000, of(mutant.frequencies()), SHARE).assert_rejected();
            }
        }
    }
}

#[test]
fn estimates_lie_in_their_intervals() {
    let answers: Vec<u32> = (0..100_000)
        .map(|person| [700, 700, 700, 700, 700, 3, 3, 3, 999, 999][person % 10])
        .collect();
    let hashing = LocalHashing::new(epsilon("3"), 1000).unwrap();
    let reports = release(&hashing, answers);
    let estimates = hashing.estimate(&reports, 1.0 - FALSE_ALARM).unwrap();
    // False alarm 1e-9, by what the intervals promise together; a truth that is off by 0.1 is far outside.
    for (answer, estimate) in estimates.iter().enumerate() {
        let truth = [(700, 0.5), (3, 0.3), (999, 0.2)]
            .iter()
            .find(|known| known.0 == answer)
            .map_or(0.0, |known| known.1);
        assert!(
            estimate.low <= truth && truth <= estimate.high,
            "{answer}: {estimate:?} against {truth}"
        );
        assert!(truth + 0.1 > estimate.high);
    }
}

#[test]
fn buckets_suit_epsilon_and_the_seed_fits() {
    let buckets = |text: &str, answers| LocalHashing::new(epsilon(text), answers).unwrap().buckets();
    assert_eq!(buckets("1", 100), 4);
    assert_eq!(buckets("2", 100), 8);
    assert_eq!(buckets("1e-9", 100), 2);
    for answers in [2, 3, 1000, 1 << 20] {
        let hashing = LocalHashing::new(epsilon("64"), answers).unwrap();
        assert!(hashing.seeds() <= 1 << 127);
        // The last seed is read back whole.
        let last = hashing.seeds() - 1;
        let digits = hashing.unpack(last);
        assert!(
            digits[..hashing.coefficients as usize]
                .iter()
                .all(|digit| *digit == hashing.buckets() - 1)
        );
    }
    assert!(LocalHashing::new(epsilon("65"), 10).is_err() && LocalHashing::new(epsilon("1"), 1).is_err());
}

proptest! {
    #[test]
    fn bits_taken_do_not_depend_on_the_answer(
        tape in prop::collection::vec(any::<u8>(), 256),
        first in any::<u32>(),
        second in 0u32..100,
    ) {
        let hashing = LocalHashing::new(epsilon("1.3"), 100).unwrap();
        let (mut one, mut other) = (Tape::new(tape.clone()), Tape::new(tape));
        let (a, b) = (hashing.respond(first, &mut one), hashing.respond(second, &mut other));
        prop_assert_eq!(one.position(), other.position());
        prop_assert_eq!(a.seed, b.seed);
        prop_assert!(a.seed < hashing.seeds() && a.bucket < hashing.buckets());
        // Both ways to compute a hash agree: the report supports what its definition says.
        let supports = hashing.supports(&[a]);
        for answer in 0..100 {
            prop_assert_eq!(supports[answer as usize] == 1, hash(&hashing, a.seed, answer) == a.bucket);
        }
    }
}
