use super::*;
use crate::MemoryLedger;
use crate::trial::{FALSE_ALARM, LaplaceTable, black_box, claimed, keeps, loss};
use crate::trial::{account, person};
use accounting::Budget;
use audit::black_box::FindingVerdict;
use audit::exact_audit::Finite;
use exact::Interval;
use proptest::prelude::*;

fn epsilon(text: &str) -> Epsilon {
    Epsilon::parse(text).unwrap()
}

fn mechanism(text: &str, positives: u32, step: i64) -> AboveThreshold {
    let sensitivity = Sensitivity::vector(1000, step).unwrap();
    AboveThreshold::new(epsilon(text), 0, positives, sensitivity, Grid::new(0)).unwrap()
}

/// The famous mistake: stops after c positives, with noise for one.
fn ignoring_c(text: &str, positives: u32) -> AboveThreshold {
    AboveThreshold {
        positives,
        ..mechanism(text, 1, 1)
    }
}

/// All sequences of answers to `queries` queries that stop at the c-th positive.
fn transcripts(queries: usize, positives: u32) -> Vec<Vec<bool>> {
    let mut done = Vec::new();
    let mut open = vec![Vec::new()];
    while let Some(answers) = open.pop() {
        let found = answers.iter().filter(|answer| **answer).count() as u32;
        if answers.len() == queries || found == positives {
            done.push(answers);
        } else {
            open.extend([false, true].map(|answer| [answers.as_slice(), &[answer]].concat()));
        }
    }
    done
}

/// Σ_z P[ρ=z]·Π P[answerᵢ | z], for every sequence of answers.
fn distribution(mechanism: &AboveThreshold, queries: &[i64]) -> Finite {
    let answers = transcripts(queries.len(), mechanism.positives);
    let (first, second) = mechanism.scales();
    let (first, second) = (first.clone(), second.clone());
    let (queries, threshold) = (queries.to_vec(), mechanism.threshold);
    Finite::from_recipe(answers.len(), move |bits| {
        let reach = LaplaceTable::enough(&first, bits);
        let noise = LaplaceTable::new(&first, reach, bits);
        let farthest = queries
            .iter()
            .map(|query| (threshold - query).abs())
            .max()
            .unwrap();
        let query_noise = LaplaceTable::new(&second, reach + farthest + 1, bits);
        let one = Interval::from_integer(1, bits);
        noise.mean(answers.len(), reach, |z| {
            let above: Vec<Interval> = queries
                .iter()
                .map(|query| query_noise.tail(threshold + z - query))
                .collect();
            let probability = |answers: &Vec<bool>| {
                answers
                    .iter()
                    .zip(&above)
                    .fold(one.clone(), |product, (answer, above)| {
                        product.mul(&if *answer { above.clone() } else { one.sub(above) })
                    })
            };
            answers.iter().map(probability).collect()
        })
    })
    .unwrap()
}

/// How far the answers agree with ⊥⊤⊥⊤….
fn agreement(answers: &[bool]) -> i64 {
    let agree = |(place, answer): (usize, &bool)| if *answer == (place % 2 == 1) { 1 } else { -1 };
    answers.iter().enumerate().map(agree).sum()
}

#[test]
fn audit_above_threshold() {
    let one = Rational::ONE;
    // Alternating: what is low on one side is high on the other, so that every answer counts.
    let (queries, neighbour) = (vec![0, 1, 0, 1, 0, 1], vec![1, 0, 1, 0, 1, 0]);
    for positives in [1, 3] {
        let right = mechanism("1", positives, 1);
        assert!(keeps(
            &distribution(&right, &queries),
            &distribution(&right, &neighbour),
            &one
        ));
        let right = right.monotone();
        let above: Vec<i64> = queries.iter().map(|query| query + 1).collect();
        assert!(keeps(
            &distribution(&right, &queries),
            &distribution(&right, &above),
            &one
        ));
        assert!(keeps(
            &distribution(&right, &queries),
            &distribution(&right, &[1; 6]),
            &one
        ));
    }
    let wrong = ignoring_c("1", 3);
    assert!(loss(&distribution(&wrong, &queries), &distribution(&wrong, &neighbour)).lower() > ratio(13, 10));
    // No noise on the threshold: each negative answer costs as well, without end.
    let wrong = AboveThreshold {
        threshold_noise: WideLaplace::new(ratio(1, 100)).unwrap(),
        ..mechanism("1", 1, 1)
    };
    assert!(loss(&distribution(&wrong, &[0; 6]), &distribution(&wrong, &[1; 6])).lower() > ratio(13, 10));

    let (queries, neighbour) = ([0, 1].repeat(20), [1, 0].repeat(20));
    let find = |mechanism: &AboveThreshold| {
        black_box(mechanism, [&queries, &neighbour], 20_000, 0.0, |answers| {
            agreement(answers)
        })
    };
    let found = find(&mechanism("1", 20, 1));
    assert_eq!(found.verdict(1.0, 0.0), FindingVerdict::Consistent, "{found:?}");
    let found = find(&ignoring_c("1", 20));
    assert_eq!(found.verdict(1.0, 0.0), FindingVerdict::Refuted, "{found:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn above_threshold_keeps_its_claim_on_neighbours(
        pairs in prop::collection::vec((-4i64..5, -2i64..=2), 1..5),
        positives in 1u32..4,
        rises in any::<bool>(),
    ) {
        let queries: Vec<i64> = pairs.iter().map(|(query, _)| *query).collect();
        let anyhow: Vec<i64> = pairs.iter().map(|(query, by)| query + by).collect();
        let together: Vec<i64> =
            pairs.iter().map(|(query, by)| query + if rises { by.abs() } else { -by.abs() }).collect();
        let plain = mechanism("3", positives, 2);
        prop_assert!(keeps(&distribution(&plain, &queries), &distribution(&plain, &anyhow), &ratio(3, 1)));
        let monotone = plain.monotone();
        prop_assert!(keeps(&distribution(&monotone, &queries), &distribution(&monotone, &together), &ratio(3, 1)));
    }
}

/// What is drawn is what the exact audit judged.
#[test]
fn draws_follow_the_distribution() {
    let watch = mechanism("4", 2, 1);
    let queries = vec![0, 1, -1, 2];
    let answers = transcripts(4, 2);
    let masses = distribution(&watch, &queries).enclose(128);
    let trials = 60_000;
    let mut account = account(Neighbors::AddRemove);
    let mut seen = vec![0u64; answers.len()];
    for _ in 0..trials {
        let drawn = account
            .release_by(&watch, claimed(&watch, queries.clone()), "")
            .unwrap()
            .into_value();
        seen[answers.iter().position(|answers| *answers == drawn).unwrap()] += 1;
    }
    let alarm = FALSE_ALARM / answers.len() as f64;
    for (count, mass) in seen.iter().zip(&masses) {
        audit::goodness::frequency_test(*count, trials, mass.to_f64_nearest(), alarm).assert_consistent();
    }
    let largest = (0..seen.len()).max_by_key(|i| seen[*i]).unwrap();
    let wrong = masses[largest].to_f64_nearest() * 1.2;
    audit::goodness::frequency_test(seen[largest], trials, wrong, alarm).assert_rejected();
}

#[test]
fn a_session_charges_once_and_stops() {
    let unit = person(Neighbors::AddRemove);
    let budget = Budget::new(Promise::Pure(epsilon("1e6")), unit.clone());
    let mut account = Account::open(MemoryLedger::new(budget)).unwrap();
    let query = |value: i64, step: i64, unit: &PrivacyUnit, grid: Grid| {
        let sensitivity = Sensitivity::scalar(step).unwrap();
        Aggregate::claimed(Sensitive::new(value), sensitivity, unit.clone(), grid)
    };
    // With this much ε the noise is next to nothing.
    let sensitivity = Sensitivity::scalar(1).unwrap();
    let watch = AboveThreshold::new(epsilon("1e6"), 100, 2, sensitivity, Grid::new(0)).unwrap();
    let mut session = account.above_threshold(&watch, "alarms").unwrap();
    let ask = |session: &mut ThresholdSession<'_>, value| session.ask(query(value, 1, &unit, Grid::new(0)));
    assert_eq!(ask(&mut session, 99), Ok(Some(false)));
    assert_eq!(ask(&mut session, 100), Ok(Some(true)));
    let other = person(Neighbors::ChangeOne);
    assert_eq!(
        session.ask(query(0, 2, &unit, Grid::new(0))),
        Err(Error::SensitivityMismatch)
    );
    assert_eq!(
        session.ask(query(0, 1, &unit, Grid::new(1))),
        Err(Error::GridMismatch)
    );
    assert_eq!(
        session.ask(query(0, 1, &other, Grid::new(0))),
        Err(Error::UnitMismatch)
    );
    assert_eq!(
        (session.left(), format!("{session:?}").as_str()),
        (1, "ThresholdSession(1 left)")
    );
    assert_eq!(ask(&mut session, i64::MIN), Ok(Some(false)));
    assert_eq!(ask(&mut session, i64::MAX), Ok(Some(true)));
    assert_eq!(ask(&mut session, i64::MAX), Ok(None));
    assert_eq!(session.receipt().charge.purpose, "alarms");
    assert_eq!(account.ledger().charges().len(), 1);
    assert!(matches!(
        account.above_threshold(&watch, "more"),
        Err(Error::Refused(_))
    ));

    let budget = Budget::new(Promise::Pure(epsilon("1e6")), other);
    let mut account = Account::open(MemoryLedger::new(budget)).unwrap();
    let monotone = watch.monotone();
    assert_eq!(
        account.above_threshold(&monotone, "").unwrap_err(),
        Error::NeighborsMismatch
    );
}

#[test]
fn noise_is_split_exactly() {
    for positives in [1, 7, 1000, u32::MAX] {
        let watch = mechanism("0.3", positives, 2);
        for (watch, moves) in [(watch.clone(), 2u64), (watch.monotone(), 1)] {
            let (first, second) = watch.scales();
            let step = Rational::from(2u8);
            let factor = Rational::from(moves * u64::from(positives));
            assert_eq!(&step / first + factor * &step / second, ratio(3, 10));
        }
    }
    let sensitivity = Sensitivity::scalar(1).unwrap();
    assert!(AboveThreshold::new(epsilon("1"), 0, 0, sensitivity.clone(), Grid::new(0)).is_err());
    assert!(AboveThreshold::new(Epsilon::ZERO, 0, 1, sensitivity, Grid::new(0)).is_err());
}
