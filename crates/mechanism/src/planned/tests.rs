use super::*;
use crate::trial::{account, black_box, claimed};
use crate::{Account, MemoryLedger, Sensitive};
use accounting::{Budget, PrivacyUnit, Rho, delta_of_gaussian};
use audit::black_box::FindingVerdict;
use exact::to_f64_nearest;
use noise::Keyed;

/// Two attributes of 2 and 3 values: the total, both alone, and both together.
fn attributes() -> Vec<PlannedAttribute> {
    let flat = |values: u32| {
        vec![PlannedPart::Differences {
            cells: (0..values).collect(),
            groups: vec![0; values as usize],
        }]
    };
    vec![flat(2), flat(3)]
}

/// Variances of 1 to 4 rows, on a grid of eighths.
fn sets() -> Vec<PlannedSet> {
    let set = |parts: &[(usize, usize)], mantissa| PlannedSet {
        parts: parts.to_vec(),
        mantissa,
        exponent: -1,
        shift: 3,
    };
    vec![
        set(&[], 16),
        set(&[(0, 0)], 8),
        set(&[(0, 0), (1, 0)], 4),
        set(&[(1, 0)], 6),
    ]
}

/// Whatever its noise costs, as ρ.
fn built(sets: Vec<PlannedSet>, rows: u64, neighbors: Neighbors) -> PlannedTables {
    let loss = cost::squared_loss(&attributes(), &sets, rows, neighbors) * slack();
    let rho = Rho::rounded_up(&(loss * ratio(1, 2))).unwrap();
    PlannedTables::gaussian(Promise::Concentrated(rho), attributes(), sets, rows, neighbors).unwrap()
}

/// The numbers of a set over all its cells, each less the mean over every axis: P of what was released.
fn projected(set: &PlannedSet, released: &[i64]) -> Vec<f64> {
    let sizes: Vec<usize> = set.parts.iter().map(|(place, _)| place + 2).collect();
    let count: usize = sizes.iter().product();
    let code = |cell: usize, axis: usize| cell / sizes[axis + 1..].iter().product::<usize>() % sizes[axis];
    let mut next = released.iter();
    let mut values: Vec<f64> = (0..count)
        .map(|cell| {
            let first = (0..sizes.len()).any(|axis| code(cell, axis) == 0);
            if first {
                0.0
            } else {
                *next.next().unwrap() as f64 / f64::from(1 << set.shift)
            }
        })
        .collect();
    for axis in 0..sizes.len() {
        let stride: usize = sizes[axis + 1..].iter().product();
        let line =
            |cell: usize| (0..sizes[axis]).map(move |at| cell - code(cell, axis) * stride + at * stride);
        let means: Vec<f64> = (0..count)
            .map(|cell| line(cell).map(|other| values[other]).sum::<f64>() / sizes[axis] as f64)
            .collect();
        values
            .iter_mut()
            .zip(&means)
            .for_each(|(value, mean)| *value -= mean);
    }
    values
}

/// The statistic by which rows at (1, 2) are told from none best: Σ ⟨P·e, P·released⟩/σ², in thousandths. With Gaussian noise its mean is μ² for one
/// row, and its variance is μ².
fn statistic(sets: &[PlannedSet], released: &[Vec<i64>]) -> i64 {
    let part = |(set, released): (&PlannedSet, &Vec<i64>)| {
        projected(set, released).last().unwrap() / to_f64_nearest(&set.variance())
    };
    (1000.0 * sets.iter().zip(released).map(part).sum::<f64>()) as i64
}

fn delta_at(loss: &Rational, epsilon: &Rational) -> f64 {
    delta_of_gaussian(epsilon, &(Rational::ONE / loss), 64).to_f64_up()
}

fn none() -> Cells {
    Cells::of_rows(vec![Vec::new(), Vec::new()])
}

fn rows_at_end(count: usize) -> Cells {
    Cells::of_rows(vec![vec![1; count], vec![2; count]])
}

#[test]
fn audit_planned_tables() {
    let plan = built(sets(), 1, Neighbors::AddRemove);
    let loss = cost::squared_loss(&attributes(), &sets(), 1, Neighbors::AddRemove);
    // Exactly 1/4 + (1/2)/2 + (1/2)(2/3)/1 + (2/3)/1.5, up to the rounding of the sum.
    let exactly = ratio(1, 4) + ratio(1, 4) + ratio(1, 3) + ratio(4, 9);
    assert!(loss >= exactly && loss < &exactly + power_of_two(-150));
    let epsilon = ratio(1, 10);
    let (claimed_epsilon, delta) = (0.1, delta_at(&(&loss * slack()), &epsilon));
    let best = |released: &Vec<Vec<i64>>| statistic(&sets(), released);
    let (still, moved) = (none(), rows_at_end(1));
    let found = black_box(&plan, [&still, &moved], 60_000, delta, best);
    assert_eq!(
        found.verdict(claimed_epsilon, delta),
        FindingVerdict::Consistent,
        "{found:?}"
    );
    // The mutant has 0.9 σ: 81 hundredths of each variance. The gate refutes 0.95 σ from the distribution.
    let less: Vec<PlannedSet> = sets()
        .into_iter()
        .map(|set| PlannedSet {
            mantissa: set.mantissa * 4096 * 81 / 100,
            exponent: set.exponent - 6,
            ..set
        })
        .collect();
    let less = built(less, 1, Neighbors::AddRemove);
    let found = black_box(&less, [&still, &moved], 80_000, delta, best);
    assert_eq!(
        found.verdict(claimed_epsilon, delta),
        FindingVerdict::Refuted,
        "{found:?}"
    );
    // A residual that is not charged: the pair, which costs the most.
    let uncharged: Vec<PlannedSet> = sets().into_iter().filter(|set| set.parts.len() < 2).collect();
    let cheaper = cost::squared_loss(&attributes(), &uncharged, 1, Neighbors::AddRemove);
    let too_small = delta_at(&cheaper, &epsilon);
    let found = black_box(&plan, [&still, &moved], 60_000, too_small, best);
    assert_eq!(
        found.verdict(claimed_epsilon, too_small),
        FindingVerdict::Refuted,
        "{found:?}"
    );
    // Noise that is dropped along one axis: the same for all values of the second attribute, it vanishes from their differences.
    let dropped = |released: &Vec<Vec<i64>>| i64::from(released[2].iter().sum::<i64>() != 0);
    let mutant = |cells: &Cells| {
        let set = &sets()[2];
        let columns = cells.columns();
        let moved = i64::from(columns[0].contains(&1) && columns[1].contains(&2)) << set.shift;
        vec![Vec::new(), Vec::new(), vec![0, moved]]
    };
    let mut sides = [&still, &moved].into_iter().map(|cells| dropped(&mutant(cells)));
    assert_ne!(
        sides.next(),
        sides.next(),
        "outputs that tell neighbours apart with certainty"
    );
    // As it is, neither side is told apart.
    let seen: Vec<i64> = (0..50)
        .map(|_| {
            let release = account(Neighbors::AddRemove).release_by(&plan, claimed(&plan, none()), "audit");
            dropped(release.unwrap().value())
        })
        .collect();
    assert!(seen.contains(&1));
}

/// Rows that come and rows that go, for all neighbours of one row, by brute force.
#[test]
fn losses_bound_all_neighbours() {
    let hierarchy = vec![
        PlannedPart::Differences {
            cells: vec![0, 0, 0, 1, 2, 2],
            groups: vec![0, 0, 0],
        },
        PlannedPart::Differences {
            cells: (0..6).collect(),
            groups: vec![0, 0, 0, 1, 2, 2],
        },
    ];
    let ranges = vec![PlannedPart::Combinations(vec![vec![3, 1, -2], vec![-1, 2, -3]])];
    let attributes = vec![hierarchy, ranges, attributes().remove(1)];
    let all = [
        vec![(0, 0)],
        vec![(0, 1)],
        vec![(0, 1), (1, 0)],
        vec![(0, 0), (2, 0)],
        vec![(0, 1), (1, 0), (2, 0)],
        vec![],
    ];
    for parts in all {
        let set = PlannedSet {
            parts,
            mantissa: 1,
            exponent: 0,
            shift: 0,
        };
        let moved: Vec<Vec<f64>> = (0..6 * 3 * 3)
            .map(|row| vector(&attributes, &set, [row / 9, row / 3 % 3, row % 3]))
            .collect();
        let square = |vector: &[f64]| vector.iter().map(|value| value * value).sum::<f64>();
        let one = moved.iter().map(|vector| square(vector)).fold(0.0, f64::max);
        let bound = |neighbors| {
            to_f64_nearest(&cost::squared_loss(
                &attributes,
                std::slice::from_ref(&set),
                1,
                neighbors,
            ))
        };
        assert!((bound(Neighbors::AddRemove) - one).abs() < 1e-9, "{set:?}");
        let mut two = one;
        for left in &moved {
            for right in &moved {
                let difference: Vec<f64> = left.iter().zip(right).map(|(left, right)| left - right).collect();
                two = two.max(square(&difference));
            }
        }
        assert!(bound(Neighbors::ChangeOne) >= two - 1e-9, "{set:?}: {two}");
        assert!(bound(Neighbors::ChangeOne) <= 4.0 * one + 1e-9);
    }
}

/// P·M·e of a row: the product of what its value contributes on each axis.
fn vector(attributes: &[PlannedAttribute], set: &PlannedSet, row: [usize; 3]) -> Vec<f64> {
    let axis = |(place, part): &(usize, usize)| -> Vec<f64> {
        match &attributes[*place][*part] {
            PlannedPart::Differences { cells, groups } => {
                let cell = cells[row[*place]] as usize;
                let size = groups.iter().filter(|group| **group == groups[cell]).count() as f64;
                (0..groups.len())
                    .map(|other| {
                        let mean = if groups[other] == groups[cell] {
                            1.0 / size
                        } else {
                            0.0
                        };
                        f64::from(u8::from(other == cell)) - mean
                    })
                    .collect()
            }
            PlannedPart::Combinations(rows) => rows
                .iter()
                .map(|factors| f64::from(factors[row[*place]]))
                .collect(),
            PlannedPart::Cells { .. } => unreachable!("not here"),
        }
    };
    set.parts.iter().map(axis).fold(vec![1.0], |product, factor| {
        product
            .iter()
            .flat_map(|left| factor.iter().map(move |right| left * right))
            .collect()
    })
}

#[test]
fn what_is_refused() {
    let rho = |text: &str| Promise::Concentrated(Rho::parse(text).unwrap());
    let build = |promise, sets| PlannedTables::gaussian(promise, attributes(), sets, 1, Neighbors::AddRemove);
    assert!(build(rho("1"), sets()).is_ok());
    // Too little noise for the promise.
    assert!(build(rho("0.01"), sets()).is_err());
    assert!(build(Promise::Pure(Epsilon::parse("1").unwrap()), sets()).is_err());
    // A grid so coarse that the proof does not hold: it wants a variance of six squared steps for each of three cells.
    let coarse = |shift| {
        sets()
            .into_iter()
            .map(|set| PlannedSet { shift, ..set })
            .collect::<Vec<_>>()
    };
    assert!(build(rho("1"), coarse(2)).is_err() && build(rho("1"), coarse(3)).is_ok());
    // What is not there.
    let unknown = PlannedSet {
        parts: vec![(2, 0)],
        ..sets().remove(0)
    };
    assert!(build(rho("1"), vec![unknown]).is_err());
    let twice = PlannedSet {
        parts: vec![(0, 0), (0, 0)],
        ..sets().remove(0)
    };
    assert!(build(rho("1"), vec![twice]).is_err());
    assert!(build(rho("1"), Vec::new()).is_err());
}

#[test]
fn inputs_of_other_claims_are_refused() {
    let plan = built(sets(), 1, Neighbors::AddRemove);
    let unit = |neighbors| PrivacyUnit::new("person", neighbors);
    let release = |rows, neighbors| {
        let budget = Budget::new(plan.terms.promise().clone(), unit(neighbors));
        let mut account = Account::with_entropy(MemoryLedger::new(budget), Keyed::new([1; 32], 0));
        let input = Aggregate::of_rows(Sensitive::new(none()), rows, unit(neighbors)).unwrap();
        account
            .release_by(&plan, input, "test")
            .map(|release| release.into_value().len())
    };
    assert_eq!(release(1, Neighbors::AddRemove).unwrap(), 4);
    assert_eq!(
        release(2, Neighbors::AddRemove).unwrap_err(),
        Error::SensitivityMismatch
    );
    assert!(release(1, Neighbors::ChangeOne).is_err());
}
