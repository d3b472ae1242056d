use super::*;
use crate::trial::{account, black_box, person};
use crate::{Account, MemoryLedger, Sensitive};
use accounting::Budget;
use audit::black_box::FindingVerdict;
use audit::exact_audit::{self, Distribution, satisfies};
use exact::{Integer, to_f64_nearest};
use noise::{Entropy, OsEntropy};

const STEP: i64 = 4;
/// Enough to refute a quarter of the noise.
const DRAWS: u64 = 8_000;
/// Enough to refute less than half of it.
const MORE_DRAWS: u64 = 25_000;

fn epsilon(text: &str) -> Epsilon {
    Epsilon::parse(text).unwrap()
}

fn delta(text: &str) -> Delta {
    Delta::parse(text).unwrap()
}

fn scalar(step: i64) -> Sensitivity {
    Sensitivity::scalar(step).unwrap()
}

fn once(periods: u64) -> RunningTotals {
    let participation = Participation::ONCE;
    RunningTotals::analytic(
        epsilon("0.5"),
        delta("0.01"),
        periods,
        participation,
        scalar(STEP),
        Grid::new(0),
    )
    .unwrap()
}

/// C(2i,i)/4ⁱ.
fn root(place: usize) -> Rational {
    (1..=place as u64).fold(Rational::ONE, |root, i| root * ratio(2 * i as i64 - 1, 2 * i))
}

fn squares(entries: impl Iterator<Item = Rational>) -> Rational {
    entries.fold(Rational::ZERO, |sum, entry| sum + &entry * &entry)
}

#[test]
fn a_year_of_totals_needs_three_units_of_noise() {
    let factor = Factor::new(365, 24);
    let square = factor.largest_square(1, 1);
    // How far one unit moves C·x, times how much of its noise reaches the last total.
    let units = (to_f64_nearest(&square) * factor.energy(364)).sqrt();
    let in_theory = to_f64_nearest(&squares((0..365).map(|i| {
        Rational::from((to_f64_nearest(&root(i)) * 1e15) as u64) * ratio(1, 1_000_000_000_000_000)
    })));
    assert!((units - in_theory).abs() < 1e-5, "{units} against {in_theory}");
    assert!(units < 2.945 && (365f64).sqrt() > 19.1, "{units}");
}

#[test]
fn the_factors_multiply_to_running_totals() {
    for bits in [8, 16, 24] {
        let factor = Factor::new(40, bits);
        // 8·24 = 192 bits and more: exact. Then C·B is A, with ones.
        let precise = factor.precisely_for_tests(9, 256);
        for place in 0..9 {
            let sum: Integer = (0..=place)
                .map(|i| Integer::from(factor.entry(i)) * &precise[place - i])
                .sum();
            assert_eq!(sum, Integer::ONE << (256 + bits as usize), "{bits}: {place}");
        }
        assert!(factor.is_within_slack(40), "{bits}");
        for place in 0..40 {
            let off = Rational::from(factor.entry(place)) * power_of_two(-(bits as i32)) - root(place);
            assert!(
                off.clone().max(-off) <= power_of_two(-(bits as i32)),
                "{bits}: {place}"
            );
        }
    }
}

/// All ways to choose at most `times` places of `periods`, `apart` from each other.
fn choices(periods: usize, times: usize, apart: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    if times > 0 {
        for first in 0..periods {
            let rest = choices(periods.saturating_sub(first + apart), times - 1, apart);
            all.extend(rest.into_iter().map(|rest| {
                let later = rest.into_iter().map(|place| place + first + apart);
                std::iter::once(first).chain(later).collect()
            }));
        }
    }
    all
}

#[test]
fn no_choice_of_periods_and_signs_moves_further() {
    let factor = Factor::new(7, 24);
    let square = |places: &[usize], signs: usize| {
        let moved = (0..7).map(|row| {
            let entries = places.iter().enumerate().filter(|(_, place)| **place <= row);
            let signed = entries.map(|(number, place)| {
                factor.entry(row - place) * if signs >> number & 1 == 1 { -1 } else { 1 }
            });
            Rational::from(signed.sum::<i64>()) * power_of_two(-24)
        });
        squares(moved)
    };
    for (times, apart) in [(1, 1), (2, 1), (3, 1), (7, 1), (2, 3), (3, 2), (9, 1)] {
        let largest = factor.largest_square(times as u64, apart as u64);
        let all = choices(7, times, apart);
        let found = all
            .iter()
            .flat_map(|places| (0..1usize << places.len()).map(|signs| square(places, signs)));
        assert_eq!(found.max().unwrap(), largest, "{times} times, {apart} apart");
    }
}

#[test]
fn rounding_is_decided_exactly() {
    let mut entropy = OsEntropy::new().unwrap();
    for bits in [8u32, 24] {
        let factor = Factor::new(12, bits);
        for round in 0..300u32 {
            let length = 1 + entropy.bits(8) as usize % 12;
            // Ties, small noise and wide noise.
            let size = [bits, 30, 45, 58][round as usize % 4];
            let noise: Vec<i64> = (0..length)
                .map(|_| (entropy.bits(size + 1) as i64) - (1 << size))
                .collect();
            let mut sum = [Accumulated::default()];
            for (place, one) in noise.iter().enumerate() {
                factor.accumulate(length - 1 - place, &[*one], &mut sum);
            }
            let exactly = factor.rounded_exactly(&noise);
            if let Some(rounded) = factor.rounded(&sum[0], length - 1) {
                assert_eq!(rounded, exactly);
            } else {
                assert!(size >= 45, "{noise:?}");
            }
            // By its definition, in rational numbers.
            let mut second: Vec<Rational> = Vec::new();
            for place in 0..length {
                let rest = (1..=place).fold(Rational::ONE, |rest, i| {
                    rest - Rational::from(factor.entry(i)) * power_of_two(-(bits as i32)) * &second[place - i]
                });
                second.push(rest);
            }
            let value = noise
                .iter()
                .enumerate()
                .fold(Rational::ZERO, |sum, (place, one)| {
                    sum + Rational::from(*one) * &second[length - 1 - place]
                });
            let truth = (value * power_of_two(-(bits as i32)) + ratio(1, 2)).floor();
            assert_eq!(truth, Integer::from(exactly));
        }
    }
    // A tie at the first period goes up.
    let factor = Factor::new(1, 8);
    assert_eq!(factor.rounded_exactly(&[128]), 1);
    assert_eq!(factor.rounded_exactly(&[-128]), 0);
}

/// ⟨C·e₀, W⟩·64 from three totals: what tells most about a unit in the first period. C is 1, 1/2, 3/8.
fn telling(totals: &[Vec<i64>]) -> i64 {
    let total = |period: usize| totals[period][0];
    let x = [total(0), total(1) - total(0), total(2) - total(1)];
    let w = [8 * x[0], 8 * x[1] + 4 * x[0], 8 * x[2] + 4 * x[1] + 3 * x[0]];
    8 * w[0] + 4 * w[1] + 3 * w[2]
}

#[test]
fn audit_running_totals() {
    // On the line along which a unit moves C·x: ⟨C·u, W⟩ is normal around ⟨C·u, C·x⟩ with variance ‖C·u‖²σ².
    let right = once(3);
    let (one, length) = (Rational::from(STEP), squares((0..3).map(root)));
    let (claimed, share) = (ratio(1, 2), ratio(1, 100));
    let holds = |variance: &Rational, moved: &Rational, length: &Rational| {
        let normal = |mean: &Rational| -> Distribution {
            exact_audit::Gaussian::new(mean, &(variance * length))
                .unwrap()
                .into()
        };
        satisfies(
            &normal(&Rational::ZERO),
            &normal(&(moved * length)),
            &claimed,
            &share,
        )
        .unwrap()
    };
    assert!(holds(right.variance(), &one, &length));
    assert!(!holds(&(right.variance() * ratio(90, 100)), &one, &length));
    assert!(!holds(&(right.variance() * ratio(1, 4)), &one, &length));
    // A unit in two periods, next to each other: u = (1, 1, 0), C·u = (1, 3/2, 7/8).
    let twice = squares([ratio(1, 1), ratio(3, 2), ratio(7, 8)].into_iter());
    assert!(!holds(right.variance(), &one, &twice));
    // Noise as for A·x without the factor: σ² = multiplier²·Δ².
    assert!(!holds(&(right.variance() / &length), &one, &length));

    // What is drawn.
    let feature = |totals: &Vec<Vec<i64>>| telling(totals);
    let nobody = vec![vec![0i64]; 3];
    let joins = vec![vec![STEP], vec![0], vec![0]];
    let found = black_box(&right, [&nobody, &joins], DRAWS, 0.01, feature);
    assert_eq!(found.verdict(0.5, 0.01), FindingVerdict::Consistent, "{found:?}");
    let quarter = SquaredMultiplier::from_square(right.variance() / (&one * &one * &length) * ratio(1, 16));
    let mutant =
        RunningTotals::with_squared_multiplier(&quarter, 3, Participation::ONCE, scalar(STEP), Grid::new(0))
            .unwrap();
    let found = black_box(&mutant, [&nobody, &joins], DRAWS, 0.01, feature);
    assert_eq!(
        found.verdict(0.5, 0.01),
        FindingVerdict::Refuted,
        "a quarter of the noise: {found:?}"
    );
    let often = vec![vec![STEP], vec![STEP], vec![STEP]];
    let found = black_box(&right, [&nobody, &often], MORE_DRAWS, 0.01, feature);
    assert_eq!(
        found.verdict(0.5, 0.01),
        FindingVerdict::Refuted,
        "three periods: {found:?}"
    );
    // Where it is stated, noise covers it.
    let stated = Participation::at_most(3).unwrap();
    let wider = RunningTotals::analytic(
        epsilon("0.5"),
        delta("0.01"),
        3,
        stated,
        scalar(STEP),
        Grid::new(0),
    )
    .unwrap();
    let found = black_box(&wider, [&nobody, &often], DRAWS, 0.01, feature);
    assert_eq!(found.verdict(0.5, 0.01), FindingVerdict::Consistent, "{found:?}");
}

/// The noise of the last of three totals, and that of all three taken apart again, has the distribution that it should.
#[test]
fn noise_is_that_of_the_factorization() {
    let square = SquaredMultiplier::from_square(ratio(1_000_000, 1));
    let series =
        RunningTotals::with_squared_multiplier(&square, 3, Participation::ONCE, scalar(1), Grid::new(0))
            .unwrap();
    let mut account = account(Neighbors::AddRemove);
    let mut drawn = Vec::new();
    for _ in 0..8_000 {
        let zeros = crate::trial::claimed(&series, vec![vec![0i64]; 3]);
        drawn.push(account.release_by(&series, zeros, "noise").unwrap().into_value());
    }
    let normal = |deviation: f64| {
        move |k: i64| {
            let point = exact::from_f64((k as f64 + 0.5) / deviation).unwrap();
            Interval::from_rational(&point, 64).normal_cdf().to_f64_nearest()
        }
    };
    let step = to_f64_nearest(series.variance()).sqrt();
    let last: Vec<i64> = drawn.iter().map(|totals| totals[2][0]).collect();
    audit::goodness::cdf_test(&last, normal(series.deviation(2)), 1e-9).assert_consistent();
    audit::goodness::cdf_test(&last, normal(series.deviation(2) * 1.3), 1e-9).assert_rejected();
    // Taken apart: 8·(C·x̂) of the third period, which is white.
    let third: Vec<i64> = drawn
        .iter()
        .map(|totals| {
            let x = [
                totals[0][0],
                totals[1][0] - totals[0][0],
                totals[2][0] - totals[1][0],
            ];
            8 * x[2] + 4 * x[1] + 3 * x[0]
        })
        .collect();
    audit::goodness::cdf_test(&third, normal(8.0 * step), 1e-9).assert_consistent();
    audit::goodness::cdf_test(&third, normal(8.0 * step * 1.3), 1e-9).assert_rejected();
    // The deviation of a window is that of the difference.
    let window: Vec<i64> = drawn.iter().map(|totals| totals[2][0] - totals[0][0]).collect();
    audit::goodness::cdf_test(&window, normal(series.window_deviation(2, 2)), 1e-9).assert_consistent();
}

fn ledger() -> MemoryLedger {
    let limit = Promise::Approximate(epsilon("2"), delta("0.02"));
    MemoryLedger::new(Budget::new(limit, person(Neighbors::AddRemove)))
}

fn counts(values: Vec<i64>) -> Aggregate<Vec<i64>> {
    let sensitivity = Sensitivity::vector(3, 1).unwrap();
    Aggregate::claimed(
        Sensitive::new(values),
        sensitivity,
        person(Neighbors::AddRemove),
        Grid::new(0),
    )
}

fn three_cells(periods: u64) -> RunningTotals {
    let sensitivity = Sensitivity::vector(3, 1).unwrap();
    RunningTotals::analytic(
        epsilon("0.5"),
        delta("0.01"),
        periods,
        Participation::ONCE,
        sensitivity,
        Grid::new(0),
    )
    .unwrap()
}

fn kept(_: &SavedSeries) -> Result<(), String> {
    Ok(())
}

#[test]
fn a_crash_and_a_second_run_release_the_same() {
    let mechanism = three_cells(5);
    let mut account = Account::with_entropy(ledger(), noise::Keyed::new([3; 32], 0));
    let mut series = account
        .begin_series(&mechanism, "members", "members by sex")
        .unwrap();
    assert_eq!(account.ledger().charges().len(), 1);
    let days = [vec![10, 0, 5], vec![0, 0, 1], vec![7, 7, 7]];
    let mut released = Vec::new();
    let mut texts = vec![series.save().to_secret_text()];
    for (number, day) in days.iter().enumerate() {
        let keep = |state: &SavedSeries| {
            texts.push(state.to_secret_text());
            Ok(())
        };
        let release = series.release(number as u64, counts(day.clone()), keep).unwrap();
        assert!(release.intervals(0.95).is_some());
        released.push(release.into_value());
    }
    // Crashed after it was saved: the state alone releases the period again, whatever the data are now.
    for number in 0..3u64 {
        let saved = SavedSeries::from_secret_text(&texts[number as usize + 1]).unwrap();
        let mut again = account
            .resume_series(&mechanism, &saved, "members by sex")
            .unwrap();
        assert_eq!(again.next(), number + 1);
        let changed = counts(vec![999, 0, 0]);
        let untouched = |_: &SavedSeries| -> Result<(), String> { panic!("nothing new is kept") };
        assert_eq!(
            *again.release(number, changed, untouched).unwrap().value(),
            released[number as usize]
        );
        // And the day after comes out as it did.
        if let Some(day) = days.get(number as usize + 1) {
            let next = again.release(number + 1, counts(day.clone()), kept).unwrap();
            assert_eq!(*next.value(), released[number as usize + 1]);
        }
    }
    // Crashed before: the same data release the same; other data have other noise, and not the difference of the data.
    let saved = SavedSeries::from_secret_text(&texts[2]).unwrap();
    let mut again = account
        .resume_series(&mechanism, &saved, "members by sex")
        .unwrap();
    let other = again
        .release(2, counts(vec![8, 7, 7]), kept)
        .unwrap()
        .into_value();
    assert_ne!(
        other[1], released[2][1],
        "cells that did not change have new noise, too"
    );
    assert_eq!(account.ledger().charges().len(), 1, "charged once");
}

#[test]
fn what_a_series_refuses() {
    let mechanism = three_cells(2);
    let mut account = Account::with_entropy(ledger(), noise::Keyed::new([4; 32], 0));
    let mut series = account.begin_series(&mechanism, "p", "s").unwrap();
    let refused = |error: Error, next| {
        assert!(
            matches!(error, Error::NotTheNextPeriod { next: n, .. } if n == next),
            "{error}"
        )
    };
    refused(series.release(1, counts(vec![0; 3]), kept).unwrap_err(), 0);
    refused(series.release(u64::MAX, counts(vec![0; 3]), kept).unwrap_err(), 0);
    let failed = series.release(0, counts(vec![0; 3]), |_| Err("disk full".to_owned()));
    assert_eq!(failed.unwrap_err(), Error::NotSaved("disk full".to_owned()));
    assert_eq!(series.next(), 0, "as before");
    let wide = Aggregate::claimed(
        Sensitive::new(vec![0; 3]),
        Sensitivity::vector(3, 2).unwrap(),
        person(Neighbors::AddRemove),
        Grid::new(0),
    );
    assert_eq!(
        series.release(0, wide, kept).unwrap_err(),
        Error::SensitivityMismatch
    );
    // Too few numbers and too many: the release has as many as were stated.
    assert_eq!(series.release(0, counts(vec![1]), kept).unwrap().value().len(), 3);
    assert_eq!(
        series.release(1, counts(vec![1; 9]), kept).unwrap().value().len(),
        3
    );
    refused(series.release(2, counts(vec![0; 3]), kept).unwrap_err(), 2);
    refused(series.release(0, counts(vec![0; 3]), kept).unwrap_err(), 2);
    // A state goes on under its own charge, mechanism and subject only.
    let saved = series.save();
    assert!(account.resume_series(&mechanism, &saved, "s").is_ok());
    for (other, subject) in [(three_cells(2), "t"), (three_cells(3), "s")] {
        let refused = account.resume_series(&other, &saved, subject);
        assert_eq!(refused.unwrap_err(), Error::NotCharged);
    }
    let mut stranger = Account::with_entropy(ledger(), noise::Keyed::new([5; 32], 0));
    assert_eq!(
        stranger.resume_series(&mechanism, &saved, "s").unwrap_err(),
        Error::NotCharged
    );
    // Text that is not whole.
    let text = saved.to_secret_text();
    assert_eq!(SavedSeries::from_secret_text(&text).as_ref(), Some(&saved));
    for end in [0, 1, text.len() / 2, text.len() - 1] {
        assert_eq!(SavedSeries::from_secret_text(&text[..end]), None);
    }
    assert_eq!(SavedSeries::from_secret_text(&text.replacen(" ", "1 ", 1)), None);
    assert_eq!(
        format!("{saved:?} {series:?}"),
        "SavedSeries(2 periods, ..) Series(2 of 2 periods released)"
    );
}

#[test]
fn parameters_without_a_series() {
    let made = |rho: &str, periods, step: i64| {
        let rho = Rho::parse(rho).unwrap();
        RunningTotals::concentrated(&rho, periods, Participation::ONCE, scalar(step), Grid::new(0))
    };
    assert!(made("0.5", 1, 1).is_ok());
    assert!(made("0.5", 0, 1).is_err() && made("0.5", 10_001, 1).is_err() && made("0", 3, 1).is_err());
    assert!(Participation::at_most(0).is_err() && Participation::spaced(2, 0).is_err());
    // Much noise is on a coarser grid, and too much on none.
    assert_eq!(made("0.5", 3, 1 << 30).unwrap().fraction_bits, 8);
    assert!(made("0.5", 3, 1 << 45).is_err());
    // Only for units that come or go: one that is replaced may count in two periods.
    let limit = Promise::Approximate(epsilon("2"), delta("0.02"));
    let mut account = Account::open(MemoryLedger::new(Budget::new(
        limit,
        person(Neighbors::ChangeOne),
    )))
    .unwrap();
    assert_eq!(
        account.begin_series(&once(3), "p", "s").unwrap_err(),
        Error::NeighborsMismatch
    );
    // One period is one Gaussian mechanism.
    let gaussian =
        crate::Gaussian::analytic(epsilon("0.5"), delta("0.01"), scalar(STEP), Grid::new(0)).unwrap();
    assert_eq!(once(1).variance(), gaussian.variance());
    assert_eq!(once(1).terms().event(), gaussian.terms().event());
}
