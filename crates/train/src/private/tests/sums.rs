//! What one unit can do to the sum of a step, however it is computed.

use super::*;

#[test]
fn batches_that_are_split_give_the_same_result() {
    let table = Table::new(300);
    let units = Units::each_example(300);
    let run = |at_once| {
        let recipe = Recipe { at_once, ..recipe() };
        all(begin(&table, &units, plan(12, Summation::Exact), recipe))
    };
    let whole = run(1000);
    for at_once in [1, 7, 64] {
        assert_eq!(run(at_once), whole);
    }
    // Noise on any number of threads is the same noise.
    let threads = Recipe {
        threads: 3,
        ..recipe()
    };
    assert_eq!(
        all(begin(&table, &units, plan(12, Summation::Exact), threads)),
        whole
    );
    // In floats too, here where each example is added by itself.
    let run = |at_once| {
        all(begin(
            &table,
            &units,
            plan(12, Summation::Float),
            Recipe { at_once, ..recipe() },
        ))
    };
    assert_eq!(run(5), run(300));
}

#[test]
fn exact_sums_do_not_depend_on_order() {
    let (table, units) = (Table::new(40), Units::each_example(40));
    let device = Cpu::<f32>::new();
    let mut work = super::summation::Work::new(device, Logistic::new(), &table, units.clone(), 16);
    let parameters = vec![0.3f32, -0.2, 0.1, 0.7, 0.05];
    let plan = plan(1, Summation::Exact);
    let members: Vec<u64> = (0..40).collect();
    let backwards: Vec<u64> = members.iter().rev().copied().collect();
    let mut summed = |plan: &TrainingPlan, members: &[u64]| {
        work.clipped_sum(plan, &parameters, members, 0.3);
        work.sum.numbers()
    };
    let sum = summed(&plan, &members);
    assert_eq!(sum, summed(&plan, &backwards));
    // Without one unit the sum moves by at most C, exactly.
    for left_out in 0..40 {
        let rest: Vec<u64> = members
            .iter()
            .filter(|unit| **unit != left_out)
            .copied()
            .collect();
        let less = summed(&plan, &rest);
        let square: u128 = sum
            .iter()
            .zip(&less)
            .map(|(a, b)| u128::from(a.abs_diff(*b)).pow(2))
            .sum();
        assert!(square <= 1 << 60);
    }
    // The float sum is near, and within the margin that it leaves.
    let float = super::tests::plan(1, Summation::Float);
    let near = summed(&float, &members);
    for (near, exact) in near.iter().zip(&sum) {
        assert!(near.abs_diff(*exact) < 40 * (1 << 30) / 900, "{near} {exact}");
    }
}

/// What is not finite counts as zero, in a unit and among others.
#[test]
fn strange_rows_add_nothing() {
    let good = Table::new(20);
    let mut bad = Table::new(20);
    bad.0.push((vec![f32::NAN; WIDTH], true));
    bad.0.push((vec![f32::INFINITY, 0.0, 0.0, 0.0], false));
    let members: Vec<u64> = (0..20).collect();
    let strange: Vec<u64> = (0..22).collect();
    for summation in [Summation::Float, Summation::Exact] {
        let sum = |table: &Table, members: &[u64]| {
            let units = Units::each_example(table.0.len());
            let device = Cpu::<f32>::new();
            let mut work = super::summation::Work::new(device, Logistic::new(), table, units.clone(), 6);
            work.clipped_sum(&plan(1, summation), &vec![0.1; WIDTH + 1], members, 0.5);
            work.sum.numbers()
        };
        assert_eq!(sum(&good, &members), sum(&bad, &strange));
    }
}

/// How long a step takes does not show a unit with very many rows: no more of them are looked at than the plan says, in a run and in one that goes on.
#[test]
fn a_very_large_unit_is_as_much_work_as_the_plan_allows() {
    /// Remembers which rows were looked at.
    struct Watched(Table, std::sync::Mutex<std::collections::BTreeSet<usize>>);
    impl Examples for Watched {
        type Batch = <Table as Examples>::Batch;

        fn count(&self) -> usize {
            self.0.count()
        }

        fn gather(&self, chosen: &[usize]) -> Self::Batch {
            self.1.lock().unwrap().extend(chosen);
            self.0.gather(chosen)
        }

        fn bytes(&self, example: usize) -> Vec<u8> {
            self.0.bytes(example)
        }

        fn name(&self) -> String {
            self.0.name()
        }

        fn digest(&self) -> String {
            self.0.digest()
        }
    }
    // Unit 0 has 400 rows, the others one each.
    let keys: Vec<usize> = (0..430).map(|row: usize| row.saturating_sub(399)).collect();
    let units = Units::by_key(&keys, PerUnit::Sum);
    let capped = |most| {
        let delta = Delta::parse("1e-5").unwrap();
        let mut parameters = Parameters::poisson("row", 15, 31, 1.0, 20, delta).unwrap();
        parameters.examples_per_unit = most;
        parameters.with_multiplier(Ratio::parse("3").unwrap()).unwrap()
    };
    let run = |most: Option<u64>, stop: Option<u64>| {
        let watched = Watched(Table::new(430), Default::default());
        let task = || Task {
            device: Cpu::new(),
            model: Logistic::new(),
            data: PrivateData::new(&watched, units.clone()),
        };
        let mut account = account(Neighbors::AddRemove);
        let mut trainer =
            Trainer::begin(&mut account, task(), capped(most), recipe(), None, "a test").unwrap();
        for _ in 0..stop.unwrap_or(0) {
            trainer.step().unwrap();
        }
        if stop.is_some() {
            let kept = trainer.checkpoint();
            drop(trainer);
            trainer = Trainer::resume(&mut account, task(), kept, None).unwrap();
        }
        while trainer.step().unwrap().is_some() {}
        let weights: Vec<u32> = trainer.parameters().iter().map(|value| value.to_bits()).collect();
        let looked_at = watched.1.lock().unwrap().iter().filter(|row| **row < 400).count();
        (looked_at, weights)
    };
    // Unit 0 is in about half of the steps; the key is fixed.
    assert_eq!(run(None, None).0, 400, "without a limit all rows are looked at");
    let (looked_at, weights) = run(Some(10), None);
    assert_eq!(looked_at, 10);
    assert_eq!(
        run(Some(10), Some(7)),
        (10, weights),
        "a run that goes on keeps the same rows"
    );
}

#[test]
fn people_with_many_rows_are_clipped_as_one() {
    let table = Table::new(60);
    let keys: Vec<usize> = (0..60).map(|row| if row < 30 { 0 } else { row }).collect();
    let units = Units::by_key(&keys, PerUnit::Sum);
    assert_eq!(units.count(), 31);
    let device = Cpu::<f32>::new();
    let mut work = super::summation::Work::new(device, Logistic::new(), &table, units.clone(), 8);
    work.clipped_sum(&plan(1, Summation::Float), &vec![0.0; WIDTH + 1], &[0], 0.01);
    let numbers = work.sum.numbers();
    let square: u128 = numbers
        .iter()
        .map(|value| u128::from(value.unsigned_abs()).pow(2))
        .sum();
    assert!(square <= 1 << 60, "thirty rows are one unit");
    assert!(square > (1 << 60) - (1 << 40), "and use all that one may");
    let mut parameters = Parameters::poisson("row", 5, 31, 1.0, 5, Delta::parse("1e-5").unwrap()).unwrap();
    parameters.summation = Summation::Exact;
    let plan = parameters.with_multiplier(Ratio::parse("1").unwrap()).unwrap();
    all(begin(&table, &units, plan, recipe()));
}

#[test]
fn a_clip_finds_its_quantile() {
    let table = Table::new(1000);
    let units = Units::each_example(1000);
    let mut parameters =
        Parameters::poisson("row", 200, 1000, 1.0, 60, Delta::parse("1e-5").unwrap()).unwrap();
    parameters.clip = Clip::Adaptive {
        start: 20.0,
        quantile: 0.5,
        rate: 0.3,
        share: 0.01,
    };
    let plan = parameters.with_multiplier(Ratio::parse("1").unwrap()).unwrap();
    // Nothing moves, so norms stay: |error| = ½ times the length of the features.
    let still = Recipe {
        rate: 0.0,
        ..recipe()
    };
    let mut trainer = begin(&table, &units, plan, still);
    let mut clip = 20.0;
    while let Some(progress) = trainer.step().unwrap() {
        clip = progress.clip;
    }
    let short = table.0.iter().filter(|(features, _)| {
        0.5 * (1.0 + features.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>()).sqrt() <= clip
    });
    let share = short.count() as f64 / 1000.0;
    assert!((0.3..0.7).contains(&share), "{clip} {share}");
}

/// A linear layer whose inputs and gradients of two steps are given: the second step takes back what the first gave, but for a little.
struct Cancelling {
    layer: crate::layers::Linear,
    layout: Vec<Parameter>,
    input: Vec<f32>,
    gradient: Vec<f32>,
    /// The mutant: norms by the same inner products in `f32`, with no bound on what they err by.
    without_bound: bool,
}

impl Cancelling {
    const WIDTH: usize = 16;
    const SEQUENCES: device::Sequences = device::Sequences {
        examples: 1,
        steps: 2,
        order: device::Order::Examples,
    };

    fn new(seed: u64, remainder: f32, without_bound: bool) -> Self {
        let mut bits = Keyed::new([7; 32], seed);
        let mut number = || bits.bits(20) as f32 / (1 << 19) as f32 - 1.0;
        let mut parameters = crate::layers::Parameters::default();
        let layer = crate::layers::Linear::new(&mut parameters, "layer", Self::WIDTH, Self::WIDTH);
        let input: Vec<f32> = (0..Self::WIDTH).map(|_| number()).collect();
        let gradient: Vec<f32> = (0..Self::WIDTH).map(|_| number()).collect();
        let back = gradient.iter().map(|value| -value + remainder * number());
        let gradient = gradient.iter().copied().chain(back).collect();
        Self {
            layer,
            layout: parameters.layout().to_vec(),
            input: input.repeat(2),
            gradient,
            without_bound,
        }
    }
}

impl Model<Cpu<f32>> for Cancelling {
    type Batch = Vec<(Vec<f32>, bool)>;

    fn layout(&self) -> &[Parameter] {
        &self.layout
    }

    fn initial(&self, _: u64) -> Vec<f32> {
        vec![0.0; super::summation::coordinates(&self.layout)]
    }

    fn examples(&self, batch: &Self::Batch) -> usize {
        batch.len()
    }

    fn backward(&mut self, _: &Vec<f32>, batch: &Self::Batch) -> Vec<f64> {
        vec![0.0; batch.len()]
    }

    fn squared_norms(&mut self) -> Vec<f64> {
        if self.without_bound {
            let inner = |rows: &[f32], t: usize, s: usize| -> f32 {
                let row = |step: usize| rows.chunks(Self::WIDTH).nth(step).expect("two steps");
                row(t).iter().zip(row(s)).map(|(x, y)| x * y).sum()
            };
            let pairs = [(0, 0), (0, 1), (1, 0), (1, 1)];
            let product =
                |(t, s)| f64::from(inner(&self.input, t, s) + 1.0) * f64::from(inner(&self.gradient, t, s));
            return vec![pairs.map(product).iter().sum::<f64>().max(0.0)];
        }
        let mut sums = vec![0.0];
        let device = Cpu::<f32>::new();
        let mut norms = crate::layers::Norms::new(&device, Self::SEQUENCES, &mut sums);
        let input = device::Rows::new(&self.input, Self::WIDTH);
        self.layer.squared_norms(&mut norms, input, &self.gradient);
        sums
    }

    fn accumulate(&mut self, weights: &[f64], gradient: &mut Vec<f32>) {
        let weights: Vec<f32> = weights.iter().map(|weight| *weight as f32).collect();
        let mut total = crate::layers::Total {
            device: &Cpu::<f32>::new(),
            sequences: Self::SEQUENCES,
            weights: &weights,
            gradient,
        };
        let input = device::Rows::new(&self.input, Self::WIDTH);
        self.layer.accumulate(&mut total, input, &self.gradient);
    }

    fn losses(&mut self, _: &Vec<f32>, batch: &Self::Batch) -> Vec<f64> {
        vec![0.0; batch.len()]
    }
}

/// What one unit adds to the sum of a step is at most C long, also where its steps cancel and C is small: the length of the sum of that unit alone, on its grid. Without the bound on
/// the error of norms it is hundreds of times as long.
#[test]
fn a_unit_whose_steps_cancel_adds_at_most_c() {
    let (table, units) = (Table::new(1), Units::each_example(1));
    let plan = plan(1, Summation::Float);
    let longest = |clip: f64, without_bound: bool| -> f64 {
        let mut longest = 0.0f64;
        for seed in 0..300 {
            let remainder = [1e-3, 3e-4, 1e-4, 1e-5, 1e-6][seed as usize % 5];
            let model = Cancelling::new(seed, remainder, without_bound);
            let parameters = model.initial(0);
            let units = units.clone();
            let mut work = super::summation::Work::new(Cpu::<f32>::new(), model, &table, units, 16);
            work.clipped_sum(&plan, &parameters, &[0], clip);
            let square: f64 = work
                .sum
                .numbers()
                .iter()
                .map(|point| (*point as f64).powi(2))
                .sum();
            longest = longest.max(square.sqrt() / f64::from(1u32 << 30));
        }
        longest
    };
    for clip in [1.0, 1e-2, 1e-4, 1e-6, 1e-8] {
        let longest = longest(clip, false);
        assert!(longest <= 1.0, "{clip}: {longest} C");
    }
    let mutant = [longest(1e-4, true), longest(1e-6, true)];
    assert!(mutant[0] > 2.0 && mutant[1] > 200.0, "{mutant:?}");
}

/// One row more moves a sum of clipped rows by at most C, and one of clipped microbatch means by more than C, up to 2C: what the plans say. Who counted C for microbatches would be wrong.
#[test]
fn one_row_more_moves_microbatches_by_up_to_twice_the_clipping_norm() {
    let microbatches = |number| Summation::Microbatches { number };
    // A certified ε takes a moment, so each plan is made once.
    let plans = [Summation::Exact, microbatches(1), microbatches(3)].map(|summation| plan(1, summation));
    let mut largest = [0.0f64; 3];
    for seed in 0..60u8 {
        let mut bits = Keyed::new([seed; 32], 1);
        let mut row = || {
            let features = (0..WIDTH).map(|_| bits.bits(20) as f32 / (1 << 17) as f32 - 4.0);
            (features.collect::<Vec<f32>>(), bits.bits(1) == 1)
        };
        let rows: Vec<(Vec<f32>, bool)> = (0..4).map(|_| row()).collect();
        let sum = |rows: &[(Vec<f32>, bool)], plan: &TrainingPlan| {
            let table = Table(rows.to_vec());
            let units = Units::each_example(rows.len());
            let device = Cpu::<f32>::new();
            let mut work = super::summation::Work::new(device, Logistic::new(), &table, units, 6);
            let members: Vec<u64> = (0..rows.len() as u64).collect();
            work.clipped_sum(plan, &vec![0.1; WIDTH + 1], &members, 0.5);
            work.sum.numbers()
        };
        for (largest, plan) in largest.iter_mut().zip(&plans) {
            let whole = sum(&rows, plan);
            // Whichever row goes, also where all that follow get other numbers.
            for gone in 0..rows.len() {
                let mut fewer = rows.clone();
                fewer.remove(gone);
                let squares = whole
                    .iter()
                    .zip(sum(&fewer, plan))
                    .map(|(one, other)| ((one - other) as f64 / f64::from(1 << 30)).powi(2));
                *largest = largest.max(squares.sum::<f64>().sqrt());
            }
        }
    }
    assert!(largest[0] <= 1.0 && largest[0] > 0.9, "{largest:?}");
    for moved in &largest[1..] {
        assert!(*moved <= 2.0 && *moved > 1.2, "{largest:?}");
    }
}
