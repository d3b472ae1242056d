use super::*;
use crate::survey::testing::{FALSE_ALARM, SHARE, epsilon, judge, release, respondent};
use crate::{Account, MemoryLedger, Sensitive, Sensitivity};
use accounting::{Budget, Neighbors, PrivacyUnit, Promise};
use audit::black_box::{BlackBox, Feature, FindingVerdict, Side};
use audit::goodness::{categorical_test, cdf_test};
use exact::{parse_decimal, to_f64_nearest};
use noise::Tape;
use proptest::prelude::*;

/// The distribution of one report for each answer, by the definition.
fn distributions(response: &RandomizedResponse) -> Vec<Vec<Rational>> {
    let frequencies = response.frequencies();
    let mass = |answer, report| match answer == report {
        true => frequencies.true_support().clone(),
        false => frequencies.false_support().clone(),
    };
    (0..response.answers())
        .map(|answer| {
            (0..response.answers())
                .map(|report| mass(answer, report))
                .collect()
        })
        .collect()
}

fn gamma(text: &str) -> RandomizedResponse {
    RandomizedResponse::binary(&parse_decimal(text).unwrap()).unwrap()
}

#[test]
fn audit_randomized_response() {
    // Exact: no chance of a false alarm.
    for text in ["0.25", "1/3", "0.001", "0.4999", "1e-6"] {
        let response = gamma(text);
        let claim = response.epsilon().as_rational();
        assert!(judge(&distributions(&response), claim, true), "γ = {text}");
    }
    for (text, answers) in [
        ("1", 2),
        ("0.1", 3),
        ("2", 10),
        ("5.5", 4),
        ("0.001", 7),
        ("20", 5),
    ] {
        let response = RandomizedResponse::new(epsilon(text), answers).unwrap();
        let claim = response.epsilon().as_rational();
        assert!(
            judge(&distributions(&response), claim, true),
            "ε = {text}, {answers} answers"
        );
        let spent_more = Epsilon::exactly_or_up(&(claim * ratio(105, 100))).unwrap();
        let mutant = RandomizedResponse::new(spent_more, answers).unwrap();
        assert!(
            !judge(&distributions(&mutant), claim, false),
            "1.05 ε must be noticed"
        );
    }
}

#[test]
fn a_quarter_is_the_logarithm_of_three() {
    let response = gamma("0.25");
    assert_eq!(response.frequencies().true_support(), &ratio(3, 4));
    let epsilon = response.epsilon().to_f64_up();
    assert!(epsilon >= 3f64.ln() && epsilon < 3f64.ln() + 1e-14);
    // Claim R2: the bound on the variance is 1/(16γ²n).
    assert_eq!(response.frequencies().variance_at_most(7).unwrap(), ratio(1, 7));
    // By way of ε, the same coin but for rounding.
    let same = RandomizedResponse::new(response.epsilon().clone(), 2).unwrap();
    let difference = same.frequencies().true_support() - ratio(3, 4);
    assert!(difference >= Rational::ZERO && difference < ratio(1, 1_000_000_000_000));
}

#[test]
fn black_box_randomized_response() {
    // One respondent's report on two neighbouring inputs, a thousand independent respondents at a time, through an account.
    let audit = |response: &RandomizedResponse| {
        let mut waiting = [Vec::new(), Vec::new()];
        let draw = |side: Side| {
            let (queue, answer) = match side {
                Side::First => (&mut waiting[0], 0),
                Side::Second => (&mut waiting[1], 2),
            };
            if queue.is_empty() {
                *queue = release(response, vec![answer; 1000]);
            }
            queue.pop().expect("just filled")
        };
        let black_box = BlackBox {
            samples_per_side: 800_000,
            delta: 0.0,
            confidence: 1.0 - FALSE_ALARM,
        };
        let features = [Feature::values("report", |report: &u32| i64::from(*report))];
        black_box.audit(draw, &features).unwrap()
    };
    let claim = 1.2;
    let right = audit(&RandomizedResponse::new(epsilon("1.2"), 3).unwrap());
    assert_eq!(right.verdict(claim, 0.0), FindingVerdict::Consistent);
    assert!(right.epsilon_lower > 0.95 * claim, "{}", right.epsilon_lower);
    let mutant = audit(&RandomizedResponse::new(epsilon("1.26"), 3).unwrap());
    assert_eq!(mutant.verdict(claim, 0.0), FindingVerdict::Refuted);
}

#[test]
fn randomized_response_fits() {
    let response = RandomizedResponse::new(epsilon("1"), 4).unwrap();
    let mutant = RandomizedResponse::new(epsilon("1.05"), 4).unwrap();
    for answer in 0..4 {
        let counts = response.supports(&release(&response, vec![answer; 300_000]));
        let distribution = |of: &RandomizedResponse| -> Vec<f64> {
            distributions(of)[answer as usize]
                .iter()
                .map(to_f64_nearest)
                .collect()
        };
        categorical_test(&counts, &distribution(&response), SHARE).assert_consistent();
        categorical_test(&counts, &distribution(&mutant), SHARE).assert_rejected();
    }
}

/// The distribution of how many of the reports say "yes", by convolution.
fn count_distribution(response: &RandomizedResponse, yes: u32, no: u32) -> Vec<Rational> {
    let mut distribution = vec![Rational::ONE];
    let frequencies = response.frequencies();
    let coins = std::iter::repeat_n(frequencies.true_support(), yes as usize);
    for bias in coins.chain(std::iter::repeat_n(frequencies.false_support(), no as usize)) {
        let mut next = vec![Rational::ZERO; distribution.len() + 1];
        for (count, mass) in distribution.iter().enumerate() {
            next[count] += mass * (Rational::ONE - bias);
            next[count + 1] += mass * bias;
        }
        distribution = next;
    }
    distribution
}

#[test]
fn estimates_have_the_stated_mean_and_variance() {
    let (yes, no, runs) = (10u32, 40u32, 20_000);
    let response = gamma("0.25");
    let frequencies = response.frequencies();
    let distribution = count_distribution(&response, yes, no);
    // Exactly: the mean is the fraction, and the variance the formula's.
    let people = Rational::from(yes + no);
    let estimate = |count: usize| {
        (Rational::from(count as u64) / &people - frequencies.false_support())
            / (frequencies.true_support() - frequencies.false_support())
    };
    let mean = |value: &dyn Fn(usize) -> Rational| {
        distribution
            .iter()
            .enumerate()
            .fold(Rational::ZERO, |sum, (count, mass)| sum + mass * value(count))
    };
    let fraction = Rational::from(yes) / &people;
    assert_eq!(mean(&estimate), fraction);
    let spread = mean(&|count| (estimate(count) - &fraction) * (estimate(count) - &fraction));
    assert_eq!(spread, frequencies.variance(&fraction, 50).unwrap());
    assert!(spread <= frequencies.variance_at_most(50).unwrap());
    // Statistically: the surveys that run have that distribution, and not that of a γ of 1.05 times as much.
    let answers: Vec<u32> = (0..runs)
        .flat_map(|_| (0..yes + no).map(|person| u32::from(person < yes)))
        .collect();
    let reports = release(&response, answers);
    let counts: Vec<i64> = reports
        .chunks(50)
        .map(|survey| i64::from(survey.iter().sum::<u32>()))
        .collect();
    let cdf = |distribution: &[Rational]| {
        let mut sum = 0.0;
        let sums: Vec<f64> = distribution
            .iter()
            .map(|mass| {
                sum += to_f64_nearest(mass);
                sum
            })
            .collect();
        move |count: i64| {
            if count < 0 {
                0.0
            } else {
                sums[(count as usize).min(sums.len() - 1)]
            }
        }
    };
    cdf_test(&counts, cdf(&distribution), SHARE).assert_consistent();
    cdf_test(
        &counts,
        cdf(&count_distribution(&gamma("0.2625"), yes, no)),
        SHARE,
    )
    .assert_rejected();
}

#[test]
fn intervals_hold_at_their_confidence() {
    let response = RandomizedResponse::new(epsilon("1.5"), 5).unwrap();
    let answers: Vec<u32> = (0..100_000)
        .map(|person| if person % 10 < 6 { 0 } else { person % 4 + 1 })
        .collect();
    let truth = [0.6, 0.1, 0.1, 0.1, 0.1];
    let reports = release(&response, answers);
    // False alarm 1e-9, by what the interval promises.
    let estimates = response.estimate(&reports, 1.0 - FALSE_ALARM).unwrap();
    let half = response
        .frequencies()
        .half_width(100_000, 1.0 - FALSE_ALARM)
        .unwrap();
    for (estimate, truth) in estimates.iter().zip(truth) {
        assert!(
            estimate.low <= truth && truth <= estimate.high,
            "{estimate:?} against {truth}"
        );
        assert!((estimate.fraction - truth).abs() <= half);
    }
    // A mutant that forgets to undo the noise, and gives the share of reports for that of answers, is outside.
    let share = response.supports(&reports)[0] as f64 / reports.len() as f64;
    assert!(share < estimates[0].low);
}

#[test]
fn strange_parameters_are_refused() {
    for text in ["0", "0.5", "-0.25", "1", "1e-12"] {
        let error = RandomizedResponse::binary(&parse_decimal(text).unwrap()).unwrap_err();
        assert!(
            matches!(error, Error::OutOfRange { what: "γ", .. }),
            "{text}: {error}"
        );
    }
    let nearly = parse_decimal("0.49999999999999999999999999999999999999").unwrap();
    assert!(RandomizedResponse::binary(&nearly).is_err());
    assert_eq!(
        RandomizedResponse::new(Epsilon::ZERO, 2).unwrap_err(),
        Error::NoEpsilon
    );
    for (text, answers) in [("1", 0), ("1", 1), ("1", u32::MAX), ("1e-10", 2), ("65", 2)] {
        assert!(
            RandomizedResponse::new(epsilon(text), answers).is_err(),
            "{text}, {answers}"
        );
    }
}

#[test]
fn neighbours_must_have_equally_many_answers() {
    let person = PrivacyUnit::new("person", Neighbors::AddRemove);
    let budget = Budget::new(Promise::Pure(epsilon("10")), person.clone());
    let mut account = Account::open(MemoryLedger::new(budget)).unwrap();
    let input = Aggregate::answers(Sensitive::new(vec![0, 1]), person);
    assert_eq!(
        account.release_by(&gamma("0.25"), input, "test").unwrap_err(),
        Error::NeighborsMismatch
    );
    // Two answers from each unit are more than the claim covers.
    let input = Aggregate::claimed(
        Sensitive::new(vec![0, 1]),
        Sensitivity::vector(2, 1).unwrap(),
        respondent(),
        noise::Grid::new(0),
    );
    let budget = Budget::new(Promise::Pure(epsilon("10")), respondent());
    let mut account = Account::open(MemoryLedger::new(budget)).unwrap();
    assert_eq!(
        account.release_by(&gamma("0.25"), input, "test").unwrap_err(),
        Error::SensitivityMismatch
    );
}

proptest! {
    #[test]
    fn bits_taken_do_not_depend_on_the_answer(
        tape in prop::collection::vec(any::<u8>(), 64),
        answers in 2u32..40,
        first in any::<u32>(),
        second in any::<u32>(),
    ) {
        let response = RandomizedResponse::new(epsilon("0.7"), answers).unwrap();
        let (mut one, mut other) = (Tape::new(tape.clone()), Tape::new(tape));
        let (a, b) = (response.respond(first, &mut one), response.respond(second, &mut other));
        prop_assert_eq!(one.position(), other.position());
        prop_assert!(a < answers && b < answers);
        // The same coins move every answer equally far, and what is no answer counts as answer 0.
        let known = |answer: u32| if answer < answers { answer } else { 0 };
        prop_assert_eq!((a + answers - known(first)) % answers, (b + answers - known(second)) % answers);
    }
}
