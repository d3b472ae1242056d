//! Tables, whose rows are made one by one: what a unit adds is its own.

use super::*;
use crate::models::{Features, Mlp, MlpShape, Targets, Task as Predicted};
use crate::private::row_by_row::Sizes;
use crate::private::summation::Work;
use device::Activation;

const INPUTS: usize = 20;
const ROWS: usize = 400;

/// Rows most of whose numbers are 0. Those of `strange` have a gradient that is not finite.
fn table(strange: &[usize]) -> Dataset<Features> {
    let mut bits = Keyed::new([9; 32], 0);
    let mut value = || match bits.bits(2) {
        0 => bits.bits(20) as f32 / (1 << 19) as f32 - 1.0,
        _ => 0.0,
    };
    let mut values: Vec<f32> = (0..ROWS * INPUTS).map(|_| value()).collect();
    for (turn, row) in strange.iter().enumerate() {
        values[row * INPUTS + turn % INPUTS] = [f32::NAN, f32::INFINITY][turn % 2];
    }
    let classes = (0..ROWS).map(|row| (row % 2) as u32).collect();
    Dataset::new(
        "rows",
        Features::new(INPUTS, 2, values, Targets::Classes(classes)).unwrap(),
    )
}

/// Unit 0 has 33 rows and unit 1 has 32; units 2 to 21 have three each, all others one, and the last has none.
fn units(per_unit: PerUnit) -> Units {
    let owners: Vec<u32> = (0..ROWS as u32)
        .map(|row| match row {
            0..33 => 0,
            33..65 => 1,
            65..125 => 2 + (row - 65) / 3,
            _ => row,
        })
        .collect();
    Units::of_owners(ROWS + 1, &owners, per_unit)
}

const LAST: u64 = ROWS as u64;

/// Units of more than 32 rows go through the model, and blocks and shares of threads are small.
fn sizes(threads: usize) -> Sizes {
    Sizes {
        small: 32,
        block: 50,
        work: 1.0,
        threads,
    }
}

fn shape(hidden: &[usize], task: Predicted) -> MlpShape {
    MlpShape {
        inputs: INPUTS,
        hidden: hidden.to_vec(),
        activation: Activation::Relu,
        task,
        dropout: 0.0,
    }
}

fn adaptive(summation: Summation, clip: f64) -> TrainingPlan {
    let mut parameters = plan(1, summation).parameters().clone();
    parameters.clip = Clip::Adaptive {
        start: clip,
        quantile: 0.5,
        rate: 0.2,
        share: 0.01,
    };
    TrainingPlan::try_from(parameters).unwrap()
}

fn sum(
    plan: &TrainingPlan,
    table: &Dataset<Features>,
    units: &Units,
    members: &[u64],
    sizes: Sizes,
) -> Vec<i64> {
    let model = Mlp::new(Cpu::<f32>::new(), shape(&[6], Predicted::Classes(2))).unwrap();
    let parameters = model.initial(1);
    let work = Work::new(Cpu::<f32>::new(), model, table, units.clone(), 8);
    let mut work = work.with_sizes(sizes);
    work.clipped_sum(plan, &parameters, members, plan.parameters().clip.start());
    work.sum.numbers()
}

fn square(points: &[i64]) -> u128 {
    points
        .iter()
        .map(|point| u128::from(point.unsigned_abs()).pow(2))
        .sum()
}

/// One unit more adds to the sum what it adds by itself, bit for bit, and no more than C: on any number of threads, whether it goes row by row or through the model, whatever its rows are.
#[test]
fn what_a_unit_adds_is_its_own() {
    // In units of very many rows, of three, and of one.
    let table = table(&[3, 40, 66, 70, 71, 130, 131, 399]);
    let everybody: Vec<u64> = (0..=LAST).collect();
    for (summation, clip) in [(Summation::Exact, 0.05), (Summation::Float, 5.0)] {
        let plan = adaptive(summation, clip);
        let steps = plan.parameters().clip.count_steps().unwrap();
        for units in [units(PerUnit::Sum), units(PerUnit::MeanOver(40))] {
            let sum = |members: &[u64], threads| sum(&plan, &table, &units, members, sizes(threads));
            let whole = sum(&everybody, 1);
            for threads in [2, 3, 16] {
                assert_eq!(sum(&everybody, threads), whole);
            }
            for unit in [0, 1, 2, 3, 5, 21, 125, 130, 131, 200, 399, LAST] {
                let others: Vec<u64> = everybody
                    .iter()
                    .filter(|other| **other != unit)
                    .copied()
                    .collect();
                let (less, alone) = (sum(&others, 3), sum(&[unit], 1));
                let moved: Vec<i64> = whole.iter().zip(&less).map(|(one, other)| one - other).collect();
                assert_eq!(moved, alone, "unit {unit}");
                let (gradient, sign) = moved.split_at(moved.len() - 1);
                assert!(square(gradient) <= 1 << 60, "unit {unit}");
                // Whose only row is not finite adds nothing and counts as short, and so does who has no row.
                let nothing = [130, 131, 399, LAST].contains(&unit);
                assert_eq!(square(gradient) == 0, nothing, "unit {unit}");
                assert!(sign[0] == steps || sign[0] == -steps && !nothing, "unit {unit}");
            }
        }
    }
}

/// Of a unit with several rows, those that are not finite count as 0: it adds what the others add.
#[test]
fn rows_that_are_not_finite_count_as_nothing() {
    let plan = adaptive(Summation::Exact, 0.05);
    let whole = |strange: &[usize]| sum(&plan, &table(strange), &units(PerUnit::Sum), &[2], sizes(1));
    // Unit 2 has the rows 65 to 67.
    let without = Units::of_owners(
        ROWS + 1,
        &(0..ROWS as u32)
            .map(|row| if row == 65 || row == 67 { 2 } else { 9 })
            .collect::<Vec<_>>(),
        PerUnit::Sum,
    );
    let others = sum(&plan, &table(&[]), &without, &[2], sizes(1));
    assert_eq!(whole(&[66]), others);
    assert_ne!(whole(&[]), others);
}

/// Microbatches of rows: one unit more changes one of them, so the sum moves by at most 2C, and is the same on any number of threads.
#[test]
fn microbatches_of_rows_move_by_at_most_twice_the_clipping_norm() {
    let plan = plan(1, Summation::Microbatches { number: 7 });
    let (table, units) = (table(&[66, 130]), units(PerUnit::Sum));
    let sum = |members: &[u64], threads| sum(&plan, &table, &units, members, sizes(threads));
    let everybody: Vec<u64> = (0..=LAST).collect();
    let whole = sum(&everybody, 1);
    assert_eq!(whole, sum(&everybody, 5));
    for unit in [0, 2, 130, 200, LAST] {
        let others: Vec<u64> = everybody
            .iter()
            .filter(|other| **other != unit)
            .copied()
            .collect();
        let moved: Vec<i64> = whole
            .iter()
            .zip(sum(&others, 2))
            .map(|(one, other)| one - other)
            .collect();
        assert!(square(&moved) <= 1 << 62, "unit {unit}");
    }
}

/// How many threads there are follows from public numbers.
#[test]
fn threads_are_for_large_steps() {
    let sizes = Sizes::on_threads(8);
    assert_eq!(sizes.threads_for(1000.0, 200), 1);
    assert_eq!(sizes.threads_for(10_000.0, 300), 2);
    assert_eq!(sizes.threads_for(1e9, 1_000_000), 8);
    assert_eq!(Sizes::on_threads(0).threads_for(1e9, 1_000_000), 1);
}

/// A run on rows that is resumed is the run that was not interrupted, on another number of threads too; a model that computes something else cannot resume it.
#[test]
fn a_resumed_run_on_rows_is_the_same_run() {
    let table = table(&[66, 130]);
    let task = |activation| Task {
        device: Cpu::<f32>::new(),
        model: Mlp::new(
            Cpu::new(),
            MlpShape {
                activation,
                ..shape(&[6], Predicted::Classes(2))
            },
        )
        .unwrap(),
        data: PrivateData::new(&table, units(PerUnit::Sum)),
    };
    let mut account = account(Neighbors::AddRemove);
    let plan = plan(6, Summation::Exact);
    let mut whole = Trainer::begin(
        &mut account,
        task(Activation::Relu),
        plan,
        recipe(),
        None,
        "a test",
    )
    .unwrap();
    whole.step().unwrap();
    whole.step().unwrap();
    let mut saved = whole.checkpoint();
    while whole.step().unwrap().is_some() {}
    let other = Trainer::resume(&mut account, task(Activation::Tanh), whole.checkpoint(), None);
    assert!(other.is_err(), "another activation is another model");
    saved.set_threads(3);
    let mut resumed = Trainer::resume(&mut account, task(Activation::Relu), saved, None).unwrap();
    while resumed.step().unwrap().is_some() {}
    assert_eq!(resumed.parameters(), whole.parameters());
}
