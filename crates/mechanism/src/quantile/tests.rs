use super::*;
use crate::trial::{account, person, sample};
use crate::{Sensitive, column};
use audit::black_box::{Feature, FindingVerdict, Side};
use audit::exact_audit::{Answer, Distribution as OutputDistribution, Finite, smallest_epsilon};
use exact::power_of_two;
use noise::Grid;

fn bounds(lower: i64, upper: i64) -> Bounds {
    Bounds::new(lower, upper, Grid::new(0)).unwrap()
}

fn one() -> Epsilon {
    Epsilon::parse("1").unwrap()
}

fn aggregate(values: &[i64], neighbors: Neighbors) -> Aggregate<Column> {
    let values = Sensitive::new(Column::new(values.to_vec()));
    Aggregate::claimed(values, column::one_row(), person(neighbors), Grid::new(0))
}

/// −rate·distance for each point of the range, by the definition.
fn exponents(selector: &Selector, sorted: &[i64]) -> Vec<Rational> {
    let target = &selector.fraction * Rational::from(sorted.len());
    let score = |point: i64| {
        let low = sorted.iter().filter(|value| **value < point).count();
        let high = sorted.iter().filter(|value| **value <= point).count();
        let distance = (Rational::from(low) - &target)
            .max(&target - Rational::from(high))
            .max(Rational::ZERO);
        -(&selector.rate * distance)
    };
    (selector.bounds.lower()..=selector.bounds.upper())
        .map(score)
        .collect()
}

fn loss(selector: &Selector, first: &[i64], second: &[i64]) -> Interval {
    let distribution =
        |data: &[i64]| OutputDistribution::from(Finite::from_exponents(&exponents(selector, data)).unwrap());
    match smallest_epsilon(&distribution(first), &distribution(second), &Rational::ZERO).unwrap() {
        Answer::Finite(epsilon) => epsilon,
        Answer::NoFinite { .. } => unreachable!("every point is possible"),
    }
}

/// All ascending data of at most `rows` rows in 0..=upper.
fn all_data(rows: usize, upper: i64) -> Vec<Vec<i64>> {
    let mut all = vec![vec![]];
    let mut start = 0;
    for _ in 0..rows {
        let end = all.len();
        for place in start..end {
            let least = all[place].last().copied().unwrap_or(0);
            for value in least..=upper {
                all.push([all[place].clone(), vec![value]].concat());
            }
        }
        start = end;
    }
    all
}

fn sorted(mut data: Vec<i64>) -> Vec<i64> {
    data.sort_unstable();
    data
}

/// The largest loss over all neighbours on a small range.
fn largest_loss(selector: &Selector, neighbors: Neighbors) -> Interval {
    let mut largest = Interval::from_integer(0, 192);
    for data in all_data(3, 3) {
        for value in 0..=3 {
            let others = match neighbors {
                Neighbors::AddRemove => vec![sorted([data.clone(), vec![value]].concat())],
                Neighbors::ChangeOne => (0..data.len())
                    .filter(|row| data[*row] < value)
                    .map(|row| {
                        let mut other = data.clone();
                        other[row] = value;
                        sorted(other)
                    })
                    .collect(),
            };
            for other in others {
                largest = largest.max(&loss(selector, &data, &other).with_bits(192));
            }
        }
    }
    largest
}

#[test]
fn quantile_verified_exactly() {
    for neighbors in [Neighbors::AddRemove, Neighbors::ChangeOne] {
        for fraction in [ratio(1, 2), ratio(9, 10)] {
            let quantile = Quantile::new(one(), &fraction, bounds(0, 3), neighbors).unwrap();
            let found = largest_loss(&quantile.selector, neighbors);
            assert!(
                found.upper() <= Rational::ONE,
                "{fraction}: {}",
                found.to_f64_up()
            );
        }
    }
    // Most points lose a rank and a few gain one: all of ε is needed.
    let quantile = Quantile::new(one(), &ratio(1, 2), bounds(0, 200), Neighbors::ChangeOne).unwrap();
    let (before, after) = ([0, 0, 195, 200], [0, 195, 200, 200]);
    let found = loss(&quantile.selector, &before, &after);
    assert!(
        found.upper() <= Rational::ONE && found.lower() > ratio(9, 10),
        "{}",
        found.to_f64_up()
    );
    let rate = &quantile.selector.rate * ratio(2, 1);
    assert!(
        loss(
            &Selector {
                rate,
                ..quantile.selector
            },
            &before,
            &after
        )
        .lower()
            > ratio(3, 2)
    );
}

/// The cells are the distribution of the definition, taken together where the score is the same.
#[test]
fn cells_follow_the_definition() {
    let fractions = [ratio(1, 2), ratio(1, 7), ratio(99, 100)];
    for (fraction, neighbors) in
        fractions
            .iter()
            .zip([Neighbors::AddRemove, Neighbors::ChangeOne, Neighbors::AddRemove])
    {
        let selector = Selector::new(&one(), fraction, bounds(-3, 6), neighbors).unwrap();
        for data in [
            vec![],
            vec![0],
            vec![-3, -3, 6],
            vec![1, 1, 1, 1],
            vec![-2, 0, 1, 4, 4, 5],
            vec![-3, 6],
        ] {
            let cells = selector.cells(&data);
            assert_eq!(cells.cells.len(), 2 * data.len() + 1);
            let weights = exponents(&selector, &data);
            let weights: Vec<Interval> = weights
                .iter()
                .map(|exponent| Interval::exp_of(exponent, 160))
                .collect();
            let zero = Interval::from_integer(0, 160);
            let sum = |weights: &[Interval]| weights.iter().fold(zero.clone(), |sum, weight| sum.add(weight));
            let mut points = 0usize;
            for (cell, bound) in cells.cells.iter().zip(cells.cumulative(140)) {
                assert!(cell.points == 0 || cell.first == -3 + points as i64);
                points += cell.points as usize;
                let expected = sum(&weights[..points])
                    .div(&sum(&weights))
                    .unwrap()
                    .with_bits(140);
                let apart = bound.sub(&expected);
                assert!(apart.contains(&Rational::ZERO) && apart.upper() < power_of_two(-120));
            }
            points += cells.cells[2 * data.len()].points as usize;
            assert_eq!(points, 10);
        }
    }
}

#[test]
fn audit_quantile() {
    let quantile = Quantile::new(one(), &ratio(1, 2), bounds(0, 24), Neighbors::ChangeOne).unwrap();
    let find = |mechanism: &Quantile| {
        let input = |side| {
            let data = if side == Side::First {
                [0, 0, 20, 24]
            } else {
                [0, 20, 24, 24]
            };
            aggregate(&data, Neighbors::ChangeOne)
        };
        sample(
            mechanism,
            Neighbors::ChangeOne,
            input,
            &Feature::<i64>::standard(),
            6_000,
            0.0,
        )
    };
    assert_eq!(find(&quantile).verdict(1.0, 0.0), FindingVerdict::Consistent);
    let rate = &quantile.selector.rate * ratio(3, 1);
    let selector = Selector {
        rate,
        ..quantile.selector.clone()
    };
    let found = find(&Quantile { selector, ..quantile });
    assert_eq!(found.verdict(1.0, 0.0), FindingVerdict::Refuted, "{found:?}");
}

#[test]
fn audit_quantiles() {
    let fractions = [ratio(1, 2), ratio(1, 2), ratio(1, 2)];
    let quantiles = Quantiles::new(&one(), &fractions, bounds(0, 1), Neighbors::ChangeOne).unwrap();
    assert_eq!(
        *quantiles.terms().promise(),
        Promise::Pure(Epsilon::parse("0.999999999999999").unwrap())
    );
    let find = |mechanism: &Quantiles| {
        let input = |side| {
            let data: &[i64] = if side == Side::First { &[0, 0] } else { &[1, 0] };
            aggregate(data, Neighbors::ChangeOne)
        };
        let sum = vec![Feature::ordered("sum", |answers: &Vec<i64>| answers.iter().sum())];
        sample(mechanism, Neighbors::ChangeOne, input, &sum, 2_000, 0.0)
    };
    assert_eq!(find(&quantiles).verdict(1.0, 0.0), FindingVerdict::Consistent);
    let selectors = fractions
        .map(|fraction| Selector {
            rate: ratio(3, 1),
            fraction,
            bounds: bounds(0, 1),
        })
        .to_vec();
    let found = find(&Quantiles {
        selectors,
        ..quantiles
    });
    assert_eq!(found.verdict(1.0, 0.0), FindingVerdict::Refuted, "{found:?}");
}

#[test]
fn answers_are_near_and_in_order() {
    let values: Vec<f64> = (0..2_000).map(|row| f64::from(row) / 10.0).collect();
    let grid = Grid::new(-4);
    let column = || {
        Aggregate::column(
            &Sensitive::new(values.clone()),
            grid,
            person(Neighbors::AddRemove),
        )
    };
    let bounds = Bounds::new(-(1 << 40), 1 << 40, grid).unwrap();
    let fractions = [ratio(9, 10), ratio(1, 10), ratio(1, 2)];
    let quantiles = Quantiles::new(
        &Epsilon::parse("3").unwrap(),
        &fractions,
        bounds,
        Neighbors::AddRemove,
    )
    .unwrap();
    let mut account = account(Neighbors::AddRemove);
    let release = account.release_by(&quantiles, column(), "quantiles").unwrap();
    for (answer, expected) in release.reals().into_iter().zip([180.0, 20.0, 100.0]) {
        assert!((answer - expected).abs() < 20.0, "{answer} for {expected}");
    }
    let quantile = Quantile::new(one(), &ratio(1, 2), bounds, Neighbors::AddRemove).unwrap();
    // The range has 2^41 points: ranks are off by 2Δ/ε·(ln 2^41 + ln 1000) = 35.3 at most, with probability 0.999.
    let width = quantile.rank_accuracy().half_width(0.999, 1).unwrap();
    assert!((35.3..35.4).contains(&width), "{width}");
    assert!(
        account
            .release_by(&quantile, column(), "median")
            .unwrap()
            .interval(0.9)
            .is_none()
    );
}

#[test]
fn extreme_ranges_and_data() {
    let mut account = account(Neighbors::AddRemove);
    for (lower, upper) in [
        (i64::MIN, i64::MIN + 5),
        (i64::MAX - 5, i64::MAX),
        (7, 7),
        (-(1 << 61), 1 << 61),
    ] {
        let quantile =
            Quantile::new(one(), &ratio(1, 2), bounds(lower, upper), Neighbors::AddRemove).unwrap();
        for data in [
            vec![],
            vec![i64::MIN],
            vec![i64::MAX; 3],
            vec![i64::MIN, i64::MAX],
        ] {
            let input = aggregate(&data, Neighbors::AddRemove);
            let release = account.release_by(&quantile, input, "extremes").unwrap();
            assert!((lower..=upper).contains(release.value()));
        }
    }
    let new = |fraction| Quantile::new(one(), &fraction, bounds(0, 1), Neighbors::AddRemove);
    assert!(new(ratio(0, 1)).is_err() && new(ratio(1, 1)).is_err());
    assert!(Quantiles::new(&one(), &[], bounds(0, 1), Neighbors::AddRemove).is_err());
    let changed = aggregate(&[1], Neighbors::ChangeOne);
    let refused =
        crate::trial::account(Neighbors::ChangeOne).release_by(&new(ratio(1, 2)).unwrap(), changed, "");
    assert_eq!(refused.unwrap_err(), Error::NeighborsMismatch);
}

/// Takes a second or so with optimizations: `cargo test --release -- --ignored`.
#[test]
#[ignore = "a measurement"]
fn many_rows() {
    let data: Vec<i64> = (0..100_000).map(|row| row * 37 % 1_000_003).collect();
    let quantile = Quantile::new(one(), &ratio(1, 3), bounds(0, 1 << 40), Neighbors::AddRemove).unwrap();
    let start = std::time::Instant::now();
    let answer = *account(Neighbors::AddRemove)
        .release_by(&quantile, aggregate(&data, Neighbors::AddRemove), "speed")
        .unwrap()
        .value();
    println!("{answer} in {:?}", start.elapsed());
}
