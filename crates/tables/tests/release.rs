//! From rows to tables: counts come back, tables agree, and errors are as predicted.

use accounting::{Budget, Delta, Epsilon, Neighbors, PrivacyUnit, Promise, Rho};
use mechanism::{Account, MemoryLedger, Sensitive};
use noise::{Keyed, Seeded};
use tables::{
    Attribute, Axis, Cells, Domain, Error, Form, Limits, Measurements, Objective, Plan, Shape, Weights,
    Workload,
};

fn person(neighbors: Neighbors) -> PrivacyUnit {
    PrivacyUnit::new("person", neighbors)
}

fn rho(text: &str) -> Promise {
    Promise::Concentrated(Rho::parse(text).unwrap())
}

/// A hierarchy of 7 places in 3 regions in 2 countries, one region with a single place; a sex; an age in order.
fn domain() -> Domain {
    let place = Attribute::new("place", 7)
        .unwrap()
        .with_level("region", 3, vec![0, 0, 0, 1, 2, 2, 2], None)
        .unwrap()
        .with_level("country", 2, vec![0, 0, 1], None)
        .unwrap();
    let sex = Attribute::with_labels("sex", vec!["f".into(), "m".into()]).unwrap();
    let age = Attribute::new("age", 9).unwrap().ordered();
    Domain::new(vec![place, sex, age]).unwrap()
}

fn workload(domain: &Domain) -> Workload {
    let others = [Shape::total(), Shape::of(&[1]).unwrap()];
    let mut shapes: Vec<Shape> = Workload::by_levels_of(domain, 0, &others, Weights::Cells)
        .unwrap()
        .wanted()
        .iter()
        .map(|wanted| wanted.shape.clone())
        .collect();
    let age = |form| Axis::of(2).in_form(form);
    shapes.push(Shape::new(vec![age(Form::Prefixes)]).unwrap());
    shapes.push(Shape::new(vec![Axis::of(1), age(Form::Ranges)]).unwrap());
    shapes.push(Shape::new(vec![Axis::at(0, 1), age(Form::Cells)]).unwrap());
    Workload::listed(shapes, domain, Weights::Cells).unwrap()
}

fn rows(count: usize, seed: u64) -> Vec<Vec<u32>> {
    let mut seeded = Seeded::new(seed);
    let mut columns = vec![Vec::new(); 3];
    for _ in 0..count {
        columns[0].push(seeded.below(7) as u32);
        columns[1].push(seeded.below(2) as u32);
        columns[2].push((seeded.below(9) * seeded.below(9) / 9) as u32);
    }
    columns
}

fn release(plan: &Plan, columns: Vec<Vec<u32>>, unit: &PrivacyUnit, key: u8) -> Measurements {
    let budget = Budget::new(plan.promise().clone(), unit.clone());
    let mut account = Account::with_entropy(MemoryLedger::new(budget), Keyed::new([key; 32], 0));
    let cells = Sensitive::new(Cells::of_rows(columns));
    let request = plan.request(cells, unit.clone()).unwrap();
    plan.measurements(account.release(request).unwrap()).unwrap()
}

/// Whether a row is in a number on an axis.
fn is_in(domain: &Domain, axis: &Axis, number: usize, code: u32) -> bool {
    let attribute = &domain.attributes()[usize::from(axis.attribute)];
    let code = attribute.codes_at(usize::from(axis.level))[code as usize] as usize;
    match axis.form {
        Form::Cells => code == number,
        Form::Prefixes => code <= number,
        Form::Ranges => {
            let size = attribute.size() as usize;
            let ranges: Vec<(usize, usize)> = (0..size)
                .flat_map(|first| (first..size).map(move |last| (first, last)))
                .collect();
            (ranges[number].0..=ranges[number].1).contains(&code)
        }
    }
}

fn counted(domain: &Domain, shape: &Shape, cell: &[usize], columns: &[Vec<u32>]) -> f64 {
    let row =
        |row: &usize| {
            shape.axes().iter().zip(cell).all(|(axis, number)| {
                is_in(domain, axis, *number, columns[usize::from(axis.attribute)][*row])
            })
        };
    (0..columns[0].len()).filter(row).count() as f64
}

#[test]
fn counts_come_back_within_their_errors() {
    let (domain, unit) = (domain(), person(Neighbors::AddRemove));
    let columns = rows(500, 3);
    for objective in [Objective::Sum, Objective::Worst] {
        let workload = workload(&domain).minimizing(objective);
        // So much budget that any mistake in a transformation is larger than the noise.
        let plan = Plan::new(
            domain.clone(),
            workload,
            rho("100000"),
            2,
            &unit,
            Limits::default(),
        )
        .unwrap();
        let measurements = release(&plan, columns.clone(), &unit, 1);
        for table in measurements.tables() {
            for place in 0..table.values().len() {
                let estimate = table.estimate(place);
                let truth = counted(&domain, table.shape(), &table.cell_at(place), &columns);
                assert!(estimate.deviation() < 0.1 && estimate.deviation() > 0.0);
                // Beyond 8 deviations: below 1e-14 for each of some 200 numbers.
                assert!(
                    (estimate.value - truth).abs() < 8.0 * estimate.deviation(),
                    "{:?} {place}: {estimate:?} against {truth}",
                    table.shape()
                );
            }
        }
    }
}

#[test]
fn lines_with_undeclared_values_count_nowhere() {
    let (domain, unit) = (domain(), person(Neighbors::AddRemove));
    let plan = Plan::new(
        domain.clone(),
        workload(&domain),
        rho("100000"),
        1,
        &unit,
        Limits::default(),
    )
    .unwrap();
    let mut columns = rows(50, 4);
    let clean = columns.clone();
    columns[0].extend([7, 0, u32::MAX]);
    columns[1].extend([0, 2, 1]);
    columns[2].extend([0, 0, 0]);
    assert_eq!(
        release(&plan, columns, &unit, 2).values(),
        release(&plan, clean, &unit, 2).values()
    );
}

#[test]
fn tables_agree_with_each_other() {
    let (domain, unit) = (domain(), person(Neighbors::ChangeOne));
    let plan = Plan::new(
        domain.clone(),
        workload(&domain),
        rho("0.01"),
        3,
        &unit,
        Limits::default(),
    )
    .unwrap();
    let measurements = release(&plan, rows(100, 5), &unit, 3);
    let total = measurements.table(&Shape::total()).unwrap().values()[0];
    let by = |axes: Vec<Axis>| measurements.table(&Shape::new(axes).unwrap()).unwrap();
    for level in 0..3 {
        let table = by(vec![Axis::at(0, level)]);
        assert!((table.values().iter().sum::<f64>() - total).abs() < 1e-6);
        let crossed = by(vec![Axis::at(0, level), Axis::of(1)]);
        for (pair, value) in crossed.values().chunks(2).zip(table.values()) {
            assert!((pair.iter().sum::<f64>() - value).abs() < 1e-6);
        }
    }
    let places = by(vec![Axis::of(0)]);
    let regions = by(vec![Axis::at(0, 1)]);
    assert!((places.values()[..3].iter().sum::<f64>() - regions.values()[0]).abs() < 1e-6);
    let prefixes = by(vec![Axis::of(2).in_form(Form::Prefixes)]);
    assert!((prefixes.values()[8] - total).abs() < 1e-6);
}

/// Chi-squared: with n numbers in all, none of the sums leaves ±7·√(2n)·(a little) by chance; below 1e-9 for each.
#[test]
fn errors_are_as_predicted() {
    const RUNS: u16 = 200;
    let (domain, unit) = (domain(), person(Neighbors::AddRemove));
    let plan = Plan::new(
        domain.clone(),
        workload(&domain),
        rho("0.5"),
        1,
        &unit,
        Limits::default(),
    )
    .unwrap();
    let shapes: Vec<Shape> = plan.predicted().iter().map(|table| table.shape.clone()).collect();
    let (mut squares, mut ratios) = (vec![0.0; shapes.len()], vec![0.0; shapes.len()]);
    let mut pair = (0.0, 0.0, 0.0);
    let ages = |from: usize, to: usize| {
        (
            2,
            (0..9).map(|age| f64::from((from..to).contains(&age))).collect(),
        )
    };
    let one = [ages(2, 6), (1, vec![1.0, 0.0])];
    let other = [ages(4, 9)];
    for run in 0..RUNS {
        let budget = Budget::new(plan.promise().clone(), unit.clone());
        let entropy = Keyed::new([99; 32], u64::from(run));
        let mut account = Account::with_entropy(MemoryLedger::new(budget), entropy);
        let cells = Sensitive::new(Cells::of_rows(vec![Vec::new(); 3]));
        let released = account
            .release(plan.request(cells, unit.clone()).unwrap())
            .unwrap();
        let measurements = plan.measurements(released).unwrap();
        for (place, shape) in shapes.iter().enumerate() {
            let table = measurements.table(shape).unwrap();
            // One number a table, another in each run, so that what is added up is independent.
            let number = usize::from(run) % table.values().len();
            let estimate = table.estimate(number);
            squares[place] += estimate.value * estimate.value / estimate.variance;
            assert!(
                (plan.variance(shape, &table.cell_at(number)).unwrap() / estimate.variance - 1.0).abs()
                    < 1e-9
            );
            ratios[place] = table.estimate(0).variance;
        }
        let (first, second) = (measurements.sum(&one).unwrap(), measurements.sum(&other).unwrap());
        let covariance = measurements.covariance(&one, &other).unwrap();
        let sum = first.value + second.value;
        pair.0 += sum * sum / (first.variance + second.variance + 2.0 * covariance);
        let difference = first.value - second.value;
        pair.1 += difference * difference / (first.variance + second.variance - 2.0 * covariance);
        pair.2 = covariance;
    }
    let runs = f64::from(RUNS);
    // P[χ²(200) outside 200 ± 140] is below 1e-9 (Laurent and Massart: 2√(200·x) + 2x at x = 21 is 172 above, 2√(200·x) = 130 below).
    let holds = |square: f64| square < runs + 172.0 && square > runs - 130.0;
    for (square, shape) in squares.iter().zip(&shapes) {
        assert!(holds(*square), "{shape:?}: {square} of {runs}");
    }
    assert!(holds(pair.0) && holds(pair.1), "{pair:?}");
    assert!(pair.2.abs() > 0.1, "these two sums do vary together");
}

#[test]
fn sums_are_those_of_tables() {
    let (domain, unit) = (domain(), person(Neighbors::AddRemove));
    let plan = Plan::new(
        domain.clone(),
        workload(&domain),
        rho("0.5"),
        1,
        &unit,
        Limits::default(),
    )
    .unwrap();
    let measurements = release(&plan, rows(300, 8), &unit, 4);
    let table = measurements
        .table(&Shape::new(vec![Axis::of(0), Axis::of(1)]).unwrap())
        .unwrap();
    for cell in [[0, 0], [3, 1], [6, 0]] {
        let unit_at =
            |size: usize, at: usize| (0..size).map(|code| f64::from(code == at)).collect::<Vec<f64>>();
        let sum = measurements
            .sum(&[(1, unit_at(2, cell[1])), (0, unit_at(7, cell[0]))])
            .unwrap();
        let estimate = table.estimate(table.place_of(&cell));
        assert!((sum.value - estimate.value).abs() < 1e-6);
        assert!((sum.variance / estimate.variance - 1.0).abs() < 1e-9);
    }
    let whole = measurements.sum(&[(2, vec![1.0; 9])]).unwrap();
    assert!((whole.value - measurements.table(&Shape::total()).unwrap().values()[0]).abs() < 1e-6);
    // Place by age was measured by region only.
    let asked = [
        (0, vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        (2, vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ];
    assert_eq!(measurements.sum(&asked).unwrap_err(), Error::NotCovered);
    let short = measurements.sum(&[(1, vec![1.0])]).unwrap_err();
    assert!(matches!(short, Error::FactorsMissing { .. }), "{short}");
    let region = [
        (0, vec![1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]),
        (2, vec![1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ];
    let crossed = measurements
        .table(&Shape::new(vec![Axis::at(0, 1), Axis::of(2)]).unwrap())
        .unwrap();
    assert!(
        (measurements.sum(&region).unwrap().value - crossed.values()[0] - crossed.values()[1]).abs() < 1e-6
    );
}

#[test]
fn measurements_come_back_from_text() {
    let (domain, unit) = (domain(), person(Neighbors::AddRemove));
    let plan = Plan::new(
        domain.clone(),
        workload(&domain),
        rho("1"),
        1,
        &unit,
        Limits::default(),
    )
    .unwrap();
    let measurements = release(&plan, rows(10, 9), &unit, 5);
    let text = serde_json::to_string(&measurements).unwrap();
    let read: Measurements = serde_json::from_str(&text).unwrap();
    assert_eq!(read, measurements);
    assert_eq!(plan.measured(read.values().to_vec()).unwrap(), measurements);
    assert_eq!(plan.measured(vec![vec![0]]).unwrap_err(), Error::OtherPlan);
}

/// A table that is wanted alone is one query: Gaussian noise on its cells, or Laplace noise where that errs less.
#[test]
fn one_table_is_never_worse_than_one_query() {
    let unit = person(Neighbors::AddRemove);
    for sizes in [vec![2u32], vec![50], vec![7, 3], vec![2, 2, 2]] {
        let attributes = sizes
            .iter()
            .enumerate()
            .map(|(place, size)| Attribute::new(format!("{place}"), *size).unwrap())
            .collect();
        let domain = Domain::new(attributes).unwrap();
        let ways = sizes.len();
        for (epsilon, delta) in [("0.1", "1e-6"), ("1", "1e-6"), ("5", "1e-9"), ("1", "0.01")] {
            let workload = Workload::all_ways(&domain, ways, ways, &[], Weights::Cells).unwrap();
            let (epsilon, delta) = (Epsilon::parse(epsilon).unwrap(), Delta::parse(delta).unwrap());
            let multiplier = accounting::smallest_multiplier(&epsilon, &delta).unwrap();
            let gaussian = exact::to_f64_nearest(&(&multiplier * &multiplier)) * 9.0;
            let scale = 3.0 / exact::to_f64_nearest(epsilon.as_rational());
            let laplace = 0.5 / (0.5 / scale).sinh().powi(2);
            let promise = Promise::Approximate(epsilon, delta);
            let plan = Plan::new(domain.clone(), workload, promise, 3, &unit, Limits::default()).unwrap();
            let variance = plan.predicted()[0].worst_variance;
            assert!(
                variance <= gaussian.min(laplace) * 1.0005,
                "{sizes:?}: {variance} against {gaussian} and {laplace}"
            );
        }
    }
}

#[test]
fn pure_promises_are_kept_with_laplace_noise() {
    let (domain, unit) = (domain(), person(Neighbors::AddRemove));
    let shapes = vec![
        Shape::total(),
        Shape::of(&[0]).unwrap(),
        Shape::of(&[0, 1]).unwrap(),
    ];
    let workload = Workload::listed(shapes.clone(), &domain, Weights::Cells).unwrap();
    let pure = |epsilon: &str| Promise::Pure(Epsilon::parse(epsilon).unwrap());
    let plan = Plan::new(
        domain.clone(),
        workload.clone(),
        pure("1"),
        1,
        &unit,
        Limits::default(),
    )
    .unwrap();
    assert!(
        !plan.is_gaussian()
            && matches!(plan.promise(), Promise::Pure(epsilon) if *epsilon <= Epsilon::parse("1").unwrap())
    );
    let columns = rows(400, 6);
    let plan = Plan::new(
        domain.clone(),
        workload,
        pure("1000"),
        1,
        &unit,
        Limits::default(),
    )
    .unwrap();
    let measurements = release(&plan, columns.clone(), &unit, 7);
    for shape in &shapes {
        let table = measurements.table(shape).unwrap();
        for place in 0..table.values().len() {
            let truth = counted(&domain, shape, &table.cell_at(place), &columns);
            assert!((table.values()[place] - truth).abs() < 1.0);
        }
    }
    let sum = measurements.sum(&[(1, vec![1.0, 0.0])]).unwrap();
    assert!((sum.value - columns[1].iter().filter(|sex| **sex == 0).count() as f64).abs() < 1.0);
}

#[test]
fn what_is_too_large_is_refused_with_what_fits() {
    let attributes = (0..5)
        .map(|place| Attribute::new(format!("a{place}"), 1000).unwrap())
        .collect();
    let domain = Domain::new(attributes).unwrap();
    let workload = Workload::all_ways(&domain, 1, 3, &[], Weights::Cells).unwrap();
    let unit = person(Neighbors::AddRemove);
    let error = Plan::new(domain, workload, rho("1"), 1, &unit, Limits::default()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("tables of at most 2 attributes fit") && text.contains("a2 by a3 by a4"),
        "{text}"
    );
}

/// Weighted sums of the cells of a table vary as the single sums and the covariances of products say.
#[test]
fn covariances_of_many_sums_are_those_of_each_pair() {
    let domain = domain();
    let unit = person(Neighbors::AddRemove);
    for promise in [rho("0.5"), Promise::Pure(Epsilon::parse("1").unwrap())] {
        let plan = Plan::new(
            domain.clone(),
            workload(&domain),
            promise,
            1,
            &unit,
            Limits::default(),
        );
        let Ok(plan) = plan else {
            // Ranges have no plan with Laplace noise.
            continue;
        };
        let measurements = release(&plan, rows(500, 3), &unit, 5);
        let shape = Shape::of(&[1, 2]).unwrap();
        let age: Vec<f64> = (0..9).map(|age| f64::from(age) - 3.5).collect();
        let (one, other) = (vec![1.0, -0.5], vec![0.25, 2.0]);
        let weights = |sex: &[f64]| -> Vec<f64> {
            sex.iter()
                .flat_map(|sex| age.iter().map(move |age| sex * age))
                .collect()
        };
        let factors = [
            [(1, one.clone()), (2, age.clone())],
            [(1, other.clone()), (2, age.clone())],
        ];
        let (sums, covariances) = measurements.sums(&[&factors[0], &factors[1]]).unwrap();
        let tables = measurements
            .covariances(&shape, &[&weights(&one), &weights(&other)])
            .unwrap();
        for (row, factors_of_row) in factors.iter().enumerate() {
            assert!((sums[row].value - measurements.sum(factors_of_row).unwrap().value).abs() < 1e-9);
            for (column, factors_of_column) in factors.iter().enumerate() {
                let expected = measurements
                    .covariance(factors_of_row, factors_of_column)
                    .unwrap();
                for found in [covariances[row * 2 + column], tables[row * 2 + column]] {
                    assert!(
                        (found - expected).abs() < 1e-9 * expected.abs(),
                        "{found} {expected}"
                    );
                }
            }
        }
        assert!(measurements.covariances(&shape, &[&[1.0]]).is_err());
    }
}
