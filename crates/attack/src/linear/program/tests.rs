use super::*;
use crate::Seeded;
use crate::linear::{Model, Noise, interrogate, secrets};
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};

fn answered(people: usize, count: usize, noise: Noise, seed: u64) -> (Queries, Vec<f64>) {
    let mut seeded = Seeded::new(seed);
    let bits = secrets(people, &mut seeded);
    let queries = Queries::random(people, count, &mut seeded).unwrap();
    let answers = interrogate(&mut Model::new(&bits, noise, seeded), &queries, || ()).unwrap();
    (queries, answers)
}

fn residuals(queries: &Queries, answers: &[f64], bits: &[f64]) -> Vec<f64> {
    queries
        .by_query
        .times(bits)
        .iter()
        .zip(answers)
        .map(|(sum, answer)| answer - sum)
        .collect()
}

/// The least sum of distances that a general solver finds: minimize Σw over (x, w) with ±(A·x − answers) ≤ w
/// and 0 ≤ x ≤ 1.
fn least_distance_by_clarabel(queries: &Queries, answers: &[f64]) -> f64 {
    let (people, count) = (queries.people(), answers.len());
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let mut entry = |row: usize, column: usize, value: f64| {
        rows.push(row);
        columns.push(column);
        values.push(value);
    };
    for index in 0..count {
        for person in queries.subset(index).people() {
            entry(index, person, 1.0);
            entry(count + index, person, -1.0);
        }
        entry(index, people + index, -1.0);
        entry(count + index, people + index, -1.0);
    }
    for person in 0..people {
        entry(2 * count + person, person, 1.0);
        entry(2 * count + people + person, person, -1.0);
    }
    let inequalities = 2 * count + 2 * people;
    let matrix = CscMatrix::new_from_triplets(inequalities, people + count, rows, columns, values);
    let mut bounds = answers.to_vec();
    bounds.extend(answers.iter().map(|answer| -answer));
    bounds.extend(vec![1.0; people]);
    bounds.extend(vec![0.0; people]);
    let mut costs = vec![0.0; people];
    costs.extend(vec![1.0; count]);
    let settings = DefaultSettings {
        verbose: false,
        ..DefaultSettings::default()
    };
    let quadratic = CscMatrix::zeros((people + count, people + count));
    let cones = [SupportedConeT::NonnegativeConeT(inequalities)];
    let mut solver = DefaultSolver::new(&quadratic, &costs, &matrix, &bounds, &cones, settings).unwrap();
    solver.solve();
    assert_eq!(solver.solution.status, SolverStatus::Solved);
    solver.solution.obj_val
}

#[test]
fn the_least_distance_is_that_of_another_solver() {
    for (people, count, noise) in [
        (12, 5, Noise::Laplace { scale: 3.0 }),
        (20, 60, Noise::Gaussian { deviation: 2.0 }),
        (24, 100, Noise::Laplace { scale: 20.0 }),
        (16, 64, Noise::None),
    ] {
        let (queries, answers) = answered(people, count, noise, 17);
        let bits = solve(&queries, &answers, Fit::LeastAbsolute).unwrap();
        assert!(bits.iter().all(|bit| (0.0..=1.0).contains(bit)));
        let ours: f64 = residuals(&queries, &answers, &bits)
            .iter()
            .map(|residual| residual.abs())
            .sum();
        let theirs = least_distance_by_clarabel(&queries, &answers);
        assert!(
            (ours - theirs).abs() <= 2e-6 * (1.0 + theirs),
            "{noise:?}: {ours} and {theirs}"
        );
    }
}

#[test]
fn the_centre_is_where_no_bound_pushes_harder_than_the_others() {
    let most = 4.0;
    let (queries, answers) = answered(20, 70, Noise::Uniform { most }, 18);
    let bits = solve(&queries, &answers, Fit::Within(most)).unwrap();
    let residuals = residuals(&queries, &answers, &bits);
    assert!(residuals.iter().all(|residual| residual.abs() < most));
    // The slope of Σ ln x + ln(1 − x) + 2·Σ ln(E + r) + ln(E − r), since each residual is split in u and v.
    let pushes: Vec<f64> = residuals
        .iter()
        .map(|residual| 2.0 / (most - residual) - 2.0 / (most + residual))
        .collect();
    for (bit, push) in bits.iter().zip(queries.by_person.times(&pushes)) {
        let slope = 1.0 / bit - 1.0 / (1.0 - bit) + push;
        assert!(
            slope.abs() < 0.05 * (1.0 / bit + 1.0 / (1.0 - bit)),
            "{slope} at {bit}"
        );
    }
}

#[test]
fn what_nothing_fits_is_said() {
    let (queries, answers) = answered(10, 80, Noise::Uniform { most: 5.0 }, 19);
    for most in [0.0, 0.01] {
        let error = solve(&queries, &answers, Fit::Within(most)).unwrap_err();
        assert!(error.to_string().contains("hint: "), "{error}");
    }
}

#[test]
fn one_person_and_one_answer_suffice() {
    let mut seeded = Seeded::new(20);
    let queries = Queries::random(1, 3, &mut seeded).unwrap();
    for fit in [Fit::LeastAbsolute, Fit::Within(0.5)] {
        let bits = solve(&queries, &[0.0; 3], fit).unwrap();
        assert!(bits[0] <= 0.5, "{fit:?}: {bits:?}");
    }
}
