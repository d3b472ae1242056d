use super::*;
use crate::trial::account;
use crate::trial::black_box;
use crate::{Account, MemoryLedger, Sensitive};
use accounting::{Budget, Epsilon};
use audit::black_box::FindingVerdict;
use audit::exact_audit::{Distribution, Finite, satisfies};

const STEP: i64 = 4;

fn person(neighbors: Neighbors) -> PrivacyUnit {
    PrivacyUnit::new("person", neighbors)
}

fn delta() -> Delta {
    Delta::parse("0.01").unwrap()
}

fn poisson(rate: &str) -> Sampling {
    Sampling::Poisson {
        rate: Ratio::parse(rate).unwrap(),
    }
}

/// Sums of one number to which a unit adds at most 4.
fn scalar(sampling: Sampling, multiplier_squared: &str, steps: u64) -> SampledGaussian {
    let step = match sampling.neighbors() {
        Neighbors::AddRemove => STEP,
        Neighbors::ChangeOne => 2 * STEP,
    };
    let multiplier = Ratio::parse(multiplier_squared).unwrap();
    let sensitivity = Sensitivity::scalar(step).unwrap();
    SampledGaussian::new(sampling, &multiplier, steps, &delta(), sensitivity, Grid::new(0)).unwrap()
}

fn claimed(mechanism: &SampledGaussian) -> f64 {
    match mechanism.terms.promise() {
        Promise::Approximate(epsilon, _) => epsilon.to_f64_up(),
        _ => unreachable!("an (ε, δ) promise"),
    }
}

/// With probability `rate` around `mean`, otherwise around 0; all beyond ±40 as one outcome each.
fn mixture(rate: Rational, mean: i64, deviation: Rational) -> Distribution {
    const END: i64 = 40;
    let distribution = Finite::from_recipe((2 * END + 1) as usize, move |bits| {
        let work = bits + 8;
        let below = |k: i64, mean: i64| {
            let place = (Rational::from(k - mean) + ratio(1, 2)) / &deviation;
            Interval::from_rational(&place, work).normal_cdf()
        };
        let (none, all) = (Interval::from_integer(0, work), Interval::from_integer(1, work));
        let inside = Interval::from_rational(&rate, work);
        let outside = all.sub(&inside);
        let mut sums = vec![none.clone()];
        sums.extend((-END..END).map(|k| inside.mul(&below(k, mean)).add(&outside.mul(&below(k, 0)))));
        sums.push(all);
        sums.windows(2)
            .map(|pair| pair[1].sub(&pair[0]).max(&none).with_bits(bits))
            .collect()
    });
    distribution.unwrap().into()
}

#[test]
fn audit_sampled_gaussian() {
    // The distribution of one step on nobody and on one unit, in both directions.
    let one = scalar(poisson("1/2"), "1", 1);
    let (epsilon, delta) = (exact::from_f64(claimed(&one)).unwrap(), ratio(1, 100));
    let holds = |rate: Rational, deviation: Rational, moved: i64| {
        let (without, with) = (
            mixture(Rational::ZERO, 0, deviation.clone()),
            mixture(rate, moved, deviation),
        );
        satisfies(&with, &without, &epsilon, &delta).unwrap()
            && satisfies(&without, &with, &epsilon, &delta).unwrap()
    };
    assert!(holds(ratio(1, 2), ratio(STEP, 1), STEP));
    assert!(!holds(ratio(1, 2), ratio(STEP, 2), STEP), "half the noise");
    assert!(
        !holds(ratio(1, 2), ratio(STEP, 1), 2 * STEP),
        "twice the sensitivity"
    );
    assert!(!holds(ratio(1, 1), ratio(STEP, 1), STEP), "not sampled");

    // What is drawn, all steps together.
    let first = |outputs: &Vec<Vec<i64>>| outputs.iter().map(|sum| sum[0]).sum();
    for steps in [1, 3] {
        let right = scalar(poisson("1/2"), "1", steps);
        let (nobody, somebody) = (Vec::new(), vec![vec![STEP]]);
        let found = black_box(&right, [&nobody, &somebody], 20_000, 0.01, first);
        assert_eq!(
            found.verdict(claimed(&right), 0.01),
            FindingVerdict::Consistent,
            "{found:?}"
        );
        let mutant = scalar(poisson("1/2"), "1/4", steps);
        let found = black_box(&mutant, [&nobody, &somebody], 20_000, 0.01, first);
        assert_eq!(
            found.verdict(claimed(&right), 0.01),
            FindingVerdict::Refuted,
            "{found:?}"
        );
    }
    // A unit that says more than it may adds nothing.
    let right = scalar(poisson("1/2"), "1", 1);
    let too_loud = vec![vec![3 * STEP]];
    let found = black_box(&right, [&Vec::new(), &too_loud], 5_000, 0.01, first);
    assert_eq!(found.verdict(0.0, 0.01), FindingVerdict::Consistent, "{found:?}");
}

#[test]
fn parts_are_as_their_name_says() {
    let key = [9; 32];
    let fixed = Sampling::FixedSize { batch: 3, of: 10 };
    let drawn = |sampling: &Sampling, units, number| sampling.parts().unwrap().members(units, number, &key);
    for number in 0..50 {
        let members = drawn(&fixed, 10, number);
        assert_eq!(members.len(), 3);
        assert!(members.windows(2).all(|pair| pair[0] < pair[1]) && members[2] < 10);
        assert_eq!(members, drawn(&fixed, 10, number), "the same step, the same part");
    }
    let shuffled = Sampling::Shuffled { batch: 3, of: 10 };
    for epoch in 0..5 {
        let mut all: Vec<u64> = (0..4)
            .flat_map(|place| drawn(&shuffled, 10, 4 * epoch + place))
            .collect();
        all.sort_unstable();
        assert_eq!(all, (0..10).collect::<Vec<_>>(), "everybody once an epoch");
    }
    assert_eq!((shuffled.times(4), shuffled.times(5), fixed.times(5)), (1, 2, 5));
    let sizes: Vec<usize> = (0..200)
        .map(|number| drawn(&poisson("1/10"), 100, number).len())
        .collect();
    assert!(
        sizes.iter().any(|size| *size != sizes[0]),
        "a Poisson sample has no fixed size"
    );
    let total: usize = sizes.iter().sum();
    let (low, high) = audit::binomial::clopper_pearson(total as u64, 20_000, 1.0 - 1e-9);
    assert!(low < 0.1 && 0.1 < high, "{total}");
}

fn ledger(neighbors: Neighbors) -> MemoryLedger {
    let limit = Promise::Approximate(Epsilon::parse("50").unwrap(), Delta::parse("0.5").unwrap());
    MemoryLedger::new(Budget::new(limit, person(neighbors)))
}

fn sum(mechanism: &SampledGaussian, values: Vec<i64>) -> Aggregate<Vec<i64>> {
    Aggregate::claimed(
        Sensitive::new(values),
        mechanism.terms.sensitivity().clone(),
        person(mechanism.sampling.neighbors()),
        Grid::new(0),
    )
}

#[test]
fn steps_end_and_a_run_goes_on() {
    let mechanism = scalar(poisson("1/2"), "1", 4);
    let mut account = Account::open(ledger(Neighbors::AddRemove)).unwrap();
    let mut run = account.begin_training(&mechanism, "a test", "subject").unwrap();
    assert_eq!(account.ledger().charges().len(), 1);
    let take = |run: &mut Training| {
        let step = run.step(20).unwrap();
        let total = step.members().len() as i64;
        step.release(sum(&mechanism, vec![total])).unwrap()
    };
    let first = take(&mut run);
    let saved = run.save();
    let rest: Vec<_> = (0..3).map(|_| take(&mut run)).collect();
    assert_eq!(run.step(20).unwrap_err(), Error::NotReserved, "no fifth step");

    let text = saved.to_secret_text();
    let saved = SavedTraining::from_secret_text(&text).unwrap();
    let mut again = account.resume_training(&mechanism, &saved, "subject").unwrap();
    let repeated: Vec<_> = (0..3).map(|_| take(&mut again)).collect();
    assert_eq!(repeated, rest, "the same noise for the same sums");
    assert_eq!(again.step(20).unwrap_err(), Error::NotReserved);
    assert_eq!(account.ledger().charges().len(), 1, "charged once");
    assert!(first.len() == 1);
    // A step that is refused or dropped is not counted.
    let mut again = account.resume_training(&mechanism, &saved, "subject").unwrap();
    let wrong = Aggregate::claimed(
        Sensitive::new(vec![0]),
        Sensitivity::scalar(2 * STEP).unwrap(),
        person(Neighbors::AddRemove),
        Grid::new(0),
    );
    assert_eq!(
        again.step(20).unwrap().release(wrong).unwrap_err(),
        Error::SensitivityMismatch
    );
    drop(again.step(20).unwrap());
    assert_eq!(again.drawn(), 1);
    assert!(
        !format!("{run:?} {saved:?}").contains(&text[4..20]),
        "no key is printed"
    );
}

#[test]
fn one_charge_has_one_key() {
    let mechanism = scalar(poisson("1/2"), "1", 4);
    let mut account = Account::open(ledger(Neighbors::AddRemove)).unwrap();
    let run = account.begin_training(&mechanism, "a test", "subject").unwrap();
    let text = run.save().to_secret_text();
    let refused = |account: &mut Account<MemoryLedger>, mechanism: &SampledGaussian, text: &str| {
        let saved = SavedTraining::from_secret_text(text).unwrap();
        assert_eq!(
            account.resume_training(mechanism, &saved, "subject").unwrap_err(),
            Error::NotCharged
        );
    };
    // The same run about something else.
    assert_eq!(
        account
            .resume_training(&mechanism, &run.save(), "another subject")
            .unwrap_err(),
        Error::NotCharged
    );
    // Another key, another number, more steps, less noise, another ledger: none was charged.
    let key = text.split(' ').nth(2).unwrap();
    refused(&mut account, &mechanism, &text.replace(key, &"0".repeat(64)));
    refused(&mut account, &mechanism, &format!("2{}", &text[1..]));
    refused(&mut account, &scalar(poisson("1/2"), "1", 5), &text);
    refused(&mut account, &scalar(poisson("1/2"), "1/2", 4), &text);
    refused(&mut account, &mechanism, &text.replacen("1 0", "1 5", 1));
    let mut other = Account::open(ledger(Neighbors::AddRemove)).unwrap();
    refused(&mut other, &mechanism, &text);
    other.begin_training(&mechanism, "a test", "subject").unwrap();
    refused(&mut other, &mechanism, &text);
    for text in ["", "1 0 00 x", "1 0", &text[..40]] {
        assert!(SavedTraining::from_secret_text(text).is_none());
    }
    let changed = scalar(Sampling::FixedSize { batch: 1, of: 10 }, "1", 4);
    assert_eq!(
        account
            .begin_training(&changed, "other neighbours", "subject")
            .unwrap_err(),
        Error::NeighborsMismatch
    );
}

/// The same sum gets the same noise, whatever the number of threads; a sum that differs anywhere gets other noise everywhere.
#[test]
fn noise_belongs_to_its_sum() {
    let noise = RoundedGaussian::new(&ratio(1 << 40, 1)).unwrap();
    let noised = |place: usize, value: i64, number: u64, threads: usize| {
        let mut values = vec![0i64; 150_000];
        values[place] = value;
        run::add_noise(&noise, &mut values, number, &[5; 32], threads);
        values[place] -= value;
        values
    };
    let plain = noised(0, 0, 3, 1);
    assert_eq!(plain, noised(0, 0, 3, 2));
    assert_eq!(plain, noised(0, 0, 3, 7));
    for other in [noised(149_999, 1, 3, 1), noised(0, 1, 3, 1), noised(0, 0, 4, 1)] {
        let equal = plain.iter().zip(&other).filter(|(a, b)| a == b).count();
        // Equal by chance with probability below 2^-20 each.
        assert!(equal < 20, "{equal}");
    }
}

#[test]
fn what_is_refused() {
    let build = |sampling, multiplier: &str, steps, delta: &str| {
        SampledGaussian::new(
            sampling,
            &Ratio::parse(multiplier).unwrap(),
            steps,
            &Delta::parse(delta).unwrap(),
            Sensitivity::scalar(1 << 20).unwrap(),
            Grid::new(-20),
        )
    };
    assert!(build(poisson("1/2"), "1", 10, "1e-5").is_ok());
    assert!(build(poisson("1/2"), "1", 0, "1e-5").is_err());
    assert!(build(poisson("1/2"), "0", 10, "1e-5").is_err());
    assert!(build(poisson("1/2"), "1", 10, "0").is_err());
    assert!(build(poisson("3/2"), "1", 10, "1e-5").is_err());
    assert!(build(poisson("0"), "1", 10, "1e-5").is_err());
    assert!(build(Sampling::FixedSize { batch: 11, of: 10 }, "1", 10, "1e-5").is_err());
    assert!(build(Sampling::Shuffled { batch: 0, of: 10 }, "1", 10, "1e-5").is_err());
    let mut account = account(Neighbors::AddRemove);
    assert!(
        account
            .begin_training(&build(poisson("1/2"), "1", 2, "1e-5").unwrap(), "x", "subject")
            .is_ok()
    );
}
