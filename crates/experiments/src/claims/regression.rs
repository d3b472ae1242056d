//! Y10 and Y11: what regressions and tests of noisy tables promise holds, noise included.

use super::{Claim, Fault, Outcome};
use noise::Seeded;
use regression::hypothesis::{TwoWay, independence};
use regression::{Cells, Family, Formula, Listed, Model, Variable, fit};
use report::percent;

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "Y10",
        claim: "95 % intervals of a regression hold the truth in 95 % of samples, noise included",
        run: coverage,
    },
    Claim {
        id: "Y11",
        claim: "a test of independence rejects what is true in 5 % of tables, noise included",
        run: size,
    },
];

const CASES: u32 = 2_000;

/// How far a share of so many cases is from its probability by chance of 1e-9 at most (6.2 standard errors), and half a percent for what the first order leaves out.
fn allowed(probability: f64, cases: u32) -> f64 {
    6.2 * (probability * (1.0 - probability) / f64::from(cases)).sqrt() + 0.005
}

/// y = 2 + 1.5·x + 4 in group b, ± 5, of 2,000 people, with Gaussian noise of deviation 8 on each sum.
fn coverage() -> Result<Outcome, Fault> {
    const DEVIATION: f64 = 8.0;
    let bounded = |low, high| Variable::Bounded { low, high };
    let groups = Variable::Listed(Listed {
        labels: vec!["a".to_owned(), "b".to_owned()],
        scores: None,
        missing: None,
        binned: false,
    });
    let variables = [
        ("x".to_owned(), bounded(0.0, 10.0)),
        ("g".to_owned(), groups),
        ("y".to_owned(), bounded(-50.0, 50.0)),
    ];
    let model = Model::new(Formula::parse("y ~ x + g")?, Family::Linear, &variables, &[])?;
    let truth = [2.0, 1.5, 4.0];
    let (mut held, mut without) = (0u32, 0u32);
    for case in 0..CASES {
        let mut seeded = Seeded::numbered(10, u64::from(case));
        let mut numbers = vec![vec![0.0; 2]; model.statistics().len()];
        for _ in 0..2_000 {
            let (x, group) = (10.0 * seeded.unit(), seeded.index(2));
            let y = truth[0] + truth[1] * x + truth[2] * group as f64 + 5.0 * seeded.normal();
            let scaled = [(x - 5.0) / 5.0, y.clamp(-50.0, 50.0) / 50.0];
            for (numbers, (one, other)) in numbers.iter_mut().zip(model.statistics()) {
                let factor = |place: Option<usize>| place.map_or(1.0, |place| scaled[place]);
                numbers[group] += factor(one) * factor(other);
            }
        }
        for number in numbers.iter_mut().flatten() {
            *number += DEVIATION * seeded.normal();
        }
        let variances = vec![DEVIATION * DEVIATION; numbers.len()];
        let fit = fit(&model, &Cells::new(&model, numbers, variances)?)?;
        let slope = &fit.coefficients[1];
        held += u32::from((slope.low..=slope.high).contains(&truth[1]));
        without += u32::from((slope.estimate - truth[1]).abs() <= 1.96 * slope.sampling_error);
    }
    let (share, naive) = (
        f64::from(held) / f64::from(CASES),
        f64::from(without) / f64::from(CASES),
    );
    let allowed = allowed(0.95, CASES);
    let pass = (share - 0.95).abs() < allowed && naive < 0.95 - allowed;
    Ok(Outcome::new(
        format!("95 % ± {}, and less if noise is forgotten", percent(allowed)),
        format!("{}, and {} if noise is forgotten", percent(share), percent(naive)),
        pass,
    ))
}

/// 2,000 people in a table of 3 × 4 independent values, with Gaussian noise of deviation 8 on each cell.
fn size() -> Result<Outcome, Fault> {
    const DEVIATION: f64 = 8.0;
    let names = |count: usize| (0..count).map(|place| place.to_string()).collect::<Vec<_>>();
    let (mut rejected, mut without) = (0u32, 0u32);
    for case in 0..CASES {
        let mut seeded = Seeded::numbered(11, u64::from(case));
        let mut counts = vec![0.0; 12];
        for _ in 0..2_000 {
            counts[seeded.index(3) * 4 + seeded.index(4)] += 1.0;
        }
        for count in &mut counts {
            *count += DEVIATION * seeded.normal();
        }
        let p = |variance: f64| -> Result<f64, Fault> {
            let table = TwoWay::new(names(3), names(4), counts.clone(), variance, true)?;
            Ok(independence(&table)?.p)
        };
        rejected += u32::from(p(DEVIATION * DEVIATION)? < 0.05);
        without += u32::from(p(0.0)? < 0.05);
    }
    let (share, naive) = (
        f64::from(rejected) / f64::from(CASES),
        f64::from(without) / f64::from(CASES),
    );
    let allowed = allowed(0.05, CASES);
    Ok(Outcome::new(
        format!("5 % ± {}, and more if noise is forgotten", percent(allowed)),
        format!("{}, and {} if noise is forgotten", percent(share), percent(naive)),
        (share - 0.05).abs() < allowed && naive > 0.05 + allowed,
    ))
}
