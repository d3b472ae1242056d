//! Models from planned releases that were really made, with exact noise: by tables of two columns, and by the table of all.

mod support;

use accounting::{Budget, Epsilon, Neighbors, PrivacyUnit, Promise, Rho};
use mechanism::{Account, MemoryLedger, Sensitive};
use noise::{Keyed, Seeded};
use regression::hypothesis::{TwoWay, independence};
use regression::{Error, Family, Fit, Formula, Listed, Variable, fit_release};
use support::{listed, scored, six_errors};
use tables::{Attribute, Cells, Domain, Limits, Measurements, Plan, Shape, Weights, Workload};

const SCORES: [f64; 8] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];

/// g, x, y in an order that is not that of the formula.
fn domain() -> Domain {
    let names = |letters: &[&str]| letters.iter().map(|letter| (*letter).to_owned()).collect();
    Domain::new(vec![
        Attribute::new("y", 8).unwrap(),
        Attribute::with_labels("g", names(&["a", "b", "∅"])).unwrap(),
        Attribute::new("x", 8).unwrap(),
        Attribute::with_labels("sick", names(&["no", "yes"])).unwrap(),
    ])
    .unwrap()
}

fn plan(shapes: &[&[usize]], promise: Promise) -> Plan {
    let domain = domain();
    let shapes = shapes.iter().map(|shape| Shape::of(shape).unwrap()).collect();
    let workload = Workload::listed(shapes, &domain, Weights::Cells).unwrap();
    let unit = PrivacyUnit::new("person", Neighbors::AddRemove);
    Plan::new(domain, workload, promise, 1, &unit, Limits::default()).unwrap()
}

fn released(plan: &Plan, rows: u32, seed: u32) -> Measurements {
    let mut seeded = Seeded::new(u64::from(seed));
    let mut columns = vec![Vec::new(); 4];
    for _ in 0..rows {
        let (g, x) = (seeded.below(2) as u32, seeded.below(8) as u32);
        // Of two and a half, rounded: y is linear in the mean.
        let y = 1.0 + 0.4 * f64::from(x) + 1.5 * f64::from(g) + seeded.unit() + seeded.unit() - 1.0;
        let y = (y.floor() + f64::from(u8::from(seeded.chance(y - y.floor())))).clamp(0.0, 7.0);
        let eta = -1.0 + 0.3 * f64::from(x) + 0.5 * f64::from(g);
        let sick = seeded.chance(1.0 / (1.0 + f64::exp(-eta)));
        for (column, code) in columns.iter_mut().zip([y as u32, g, x, u32::from(sick)]) {
            column.push(code);
        }
    }
    let unit = PrivacyUnit::new("person", Neighbors::AddRemove);
    let mut key = [0; 32];
    key[..4].copy_from_slice(&seed.to_le_bytes());
    let ledger = MemoryLedger::new(Budget::new(plan.promise().clone(), unit.clone()));
    let mut account = Account::with_entropy(ledger, Keyed::new(key, 0));
    let cells = Sensitive::new(Cells::of_rows(columns));
    let request = plan.request(cells, unit).unwrap();
    plan.measurements(account.release(request).unwrap()).unwrap()
}

fn variables() -> Vec<(String, Variable)> {
    let mut g = listed(&["a", "b", "∅"]);
    if let Variable::Listed(Listed { missing, .. }) = &mut g {
        *missing = Some(2);
    }
    let named = [
        ("x", scored(&SCORES)),
        ("y", scored(&SCORES)),
        ("g", g),
        ("sick", listed(&["no", "yes"])),
    ];
    named.map(|(name, variable)| (name.to_owned(), variable)).to_vec()
}

fn fitted(measurements: &Measurements, formula: &str, family: Family) -> Result<Fit, Error> {
    fit_release(
        &Formula::parse(formula).unwrap(),
        family,
        measurements,
        &variables(),
        &[],
    )
}

const RUNS: u32 = 400;

/// How often the intervals of x and g hold, and those without their part for noise.
fn held(plan: &Plan, formula: &str, family: Family, truth: [f64; 2]) -> (f64, f64) {
    let (mut all, mut naive) = (0, 0);
    for seed in 0..RUNS {
        let fit = fitted(&released(plan, 2_500, seed), formula, family).unwrap();
        for (name, truth) in [("x", truth[0]), ("g b", truth[1])] {
            let known = fit.coefficients.iter().find(|known| known.name == name).unwrap();
            all += usize::from((known.low..=known.high).contains(&truth));
            naive += usize::from((known.estimate - truth).abs() <= 1.96 * known.sampling_error);
        }
    }
    let count = f64::from(2 * RUNS);
    (all as f64 / count, naive as f64 / count)
}

fn covers(name: &str, (coverage, naive): (f64, f64)) {
    println!("{name}: {coverage}, without noise {naive}");
    let allowed = six_errors(0.95, RUNS as usize) + 0.005;
    assert!((coverage - 0.95).abs() < allowed, "{name}: {coverage}");
    assert!(naive < 0.95 - allowed, "{name}: without noise {naive}");
}

const PAIRS: [&[usize]; 6] = [&[0, 1], &[0, 2], &[1, 2], &[0, 3], &[1, 3], &[2, 3]];

#[test]
fn least_squares_from_tables_of_two_columns() {
    let plan = plan(&PAIRS, Promise::Concentrated(Rho::parse("0.01").unwrap()));
    covers("pairs", held(&plan, "y ~ x + g", Family::Linear, [0.4, 1.5]));
    let measurements = released(&plan, 2_500, 1);
    // More than pairs tell is refused, with what would do.
    for (formula, family) in [("sick ~ x + g", Family::Logistic), ("y ~ x * g", Family::Linear)] {
        let error = fitted(&measurements, formula, family).unwrap_err();
        assert!(matches!(error, Error::NotCovered { .. }), "{error}");
    }
    assert!(fitted(&measurements, "y ~ z", Family::Linear).is_err());
    // g has no effect on itself: x and g are drawn apart, y and g are not.
    let apart = independence(&TwoWay::of_release(&measurements, "g", "x", "∅").unwrap()).unwrap();
    let together = independence(&TwoWay::of_release(&measurements, "g", "y", "∅").unwrap()).unwrap();
    assert!(apart.p > 1e-6 && together.p < 1e-6, "{apart:?} {together:?}");
}

#[test]
fn least_squares_and_logistic_from_the_table_of_all() {
    let rho = Promise::Concentrated(Rho::parse("0.01").unwrap());
    let linear = plan(&[&[0, 1, 2]], rho.clone());
    covers(
        "all, linear",
        held(&linear, "y ~ x + g", Family::Linear, [0.4, 1.5]),
    );
    let logistic = plan(&[&[1, 2, 3]], rho);
    covers(
        "all, logistic",
        held(&logistic, "sick ~ x + g", Family::Logistic, [0.3, 0.5]),
    );
    let pure = plan(&[&[1, 2, 3]], Promise::Pure(Epsilon::parse("0.15").unwrap()));
    covers(
        "all, Laplace",
        held(&pure, "sick ~ x + g", Family::Logistic, [0.3, 0.5]),
    );
}
