//! Times steps of training on one thread, with and without privacy; for `bench/train-run`.
//!
//! `train_bench MODEL WHAT` prints one JSON object: CPU milliseconds of each step, and the most memory that the process had.
//! A step without privacy is the backward pass and the sum of gradients; one with privacy makes the norms in between, and clips. `pairs` runs both in turn in one process and prints the quartiles of their
//! ratio. `whole` does so with whole steps, as trainers take them: with a batch drawn from many rows, Adam and, where there is privacy, exact noise; `whole-exact` has exact sums too. `pins` times the scoring of ten thousand continuations.

use accounting::{Budget, Delta, Ratio};
use cpu_time::ProcessTime;
use device::{Cpu, Device};
use mechanism::{Account, MemoryLedger};
use std::time::Duration;
use train::PlainTrainer;
use train::models::{
    GruLanguageModel, LanguageModel, LstmLanguageModel, RecurrentShape, Tokens, TransformerLanguageModel,
    TransformerShape,
};
use train::private::{Dataset, Parameters, PrivateData, Recipe, Summation, Task, Trainer, Units};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (Some(model), Some(what)) = (arguments.first(), arguments.get(1)) else {
        eprintln!(
            "error: no model or no kind of step\nhint: train_bench lstm|gru|transformer|transformer-tied plain|private|pairs|whole|whole-exact|pins"
        );
        std::process::exit(2);
    };
    let device = Cpu::<f32>::new();
    let recurrent = RecurrentShape {
        vocabulary: 985,
        embedding: 50,
        hidden: 100,
        dropout: 0.0,
    };
    let transformer = TransformerShape {
        vocabulary: 1000,
        context: 128,
        width: 256,
        heads: 4,
        blocks: 4,
        tied: model == "transformer-tied",
        dropout: 0.0,
    };
    match model.as_str() {
        "lstm" => {
            let built = || LstmLanguageModel::new(device.clone(), recurrent).expect("a shape");
            measure(model, what, built, (985, 100, 20));
        }
        "gru" => {
            let built = || GruLanguageModel::new(device.clone(), recurrent).expect("a shape");
            measure(model, what, built, (985, 100, 20));
        }
        _ => {
            let built = || TransformerLanguageModel::new(device.clone(), transformer).expect("a shape");
            measure(model, what, built, (1000, 16, 128));
        }
    }
}

/// Synthetic text: what it says does not change what a step costs.
fn tokens(vocabulary: usize, examples: usize, steps: usize) -> Tokens {
    let mut state = 1u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 % vocabulary as u32
    };
    Tokens::full(
        vocabulary,
        steps + 1,
        (0..examples * (steps + 1)).map(|_| next()).collect(),
    )
    .expect("tokens of the vocabulary")
}

/// CPU milliseconds of all threads of this process. Not from `/proc`, which is brought up to date every few milliseconds only.
fn time(work: impl FnOnce()) -> f64 {
    let start = ProcessTime::now();
    work();
    start.elapsed().as_secs_f64() * 1e3
}

/// The most memory that this process had, in bytes.
fn peak_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap_or("0");
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024
}

/// `size` is tokens of the vocabulary, rows of a batch, tokens of a row.
fn measure<M: LanguageModel<Cpu<f32>>>(
    name: &str,
    what: &str,
    build: impl Fn() -> M,
    size: (usize, usize, usize),
) {
    match what {
        "whole" => return whole(name, what, build, size, Summation::Float),
        "whole-exact" => return whole(name, what, build, size, Summation::Exact),
        _ => {}
    }
    let (device, mut model) = (Cpu::<f32>::new(), build());
    let batch = tokens(size.0, size.1, size.2);
    let parameters = device.upload(&model.initial(1));
    let mut gradient = device.zeros(parameters.len());
    if what == "pins" {
        // All continuations of four digits after five tokens: what an attack on memorized numbers asks.
        let pins: Vec<[u32; 4]> = (0..10_000)
            .map(|pin| [1000, 100, 10, 1].map(|place| pin / place % 10))
            .collect();
        let milliseconds = time(|| {
            let scores = model.score_continuations(&parameters, &[17, 18, 19, 20, 21], &pins);
            assert_eq!(scores.expect("tokens of the vocabulary").len(), pins.len());
        });
        println!(r#"{{ "model": "{name}", "what": "{what}", "scored": 10000, "ms": {milliseconds:.1} }}"#);
        return;
    }
    let mut step = |private: bool| {
        time(|| {
            device.clear(&mut gradient);
            model.backward(&parameters, &batch);
            let weights: Vec<f64> = if private {
                let norms = model.squared_norms().into_iter();
                norms.map(|norm| (1.0 / norm.sqrt()).min(1.0)).collect()
            } else {
                vec![1.0; model.examples(&batch)]
            };
            model.accumulate(&weights, &mut gradient);
        })
    };
    if what == "pairs" {
        step(true);
        let pairs = if name.starts_with("transformer") { 15 } else { 300 };
        return quartiles(
            name,
            what,
            (0..pairs).map(|_| (step(true), step(false))).collect(),
        );
    }
    let private = what == "private";
    let mut milliseconds = Vec::new();
    let begun = ProcessTime::now();
    step(private);
    while milliseconds.len() < 10 || (begun.elapsed() < Duration::from_secs(6) && milliseconds.len() < 200) {
        milliseconds.push(step(private));
    }
    milliseconds.sort_by(f64::total_cmp);
    let (best, median) = (milliseconds[0], milliseconds[milliseconds.len() / 2]);
    let memory = peak_memory();
    println!(
        r#"{{ "model": "{name}", "library": "deniable", "what": "{what}", "best_ms": {best:.2}, "median_ms": {median:.2}, "steps": {}, "peak_bytes": {memory} }}"#,
        milliseconds.len()
    );
}

/// Whole steps with and without privacy, in turn.
fn whole<M: LanguageModel<Cpu<f32>>>(
    name: &str,
    what: &str,
    build: impl Fn() -> M,
    (vocabulary, batch, length): (usize, usize, usize),
    summation: Summation,
) {
    let rows = 2000 * batch;
    let data = Dataset::new("synthetic tokens", tokens(vocabulary, rows, length));
    let recipe = Recipe::adam(1e-3);
    let mut plain =
        PlainTrainer::new(Cpu::new(), build(), &data, recipe.clone(), batch, 1000).expect("a run");
    let delta = Delta::parse("1e-6").expect("a number");
    let mut parameters =
        Parameters::poisson("row", batch as u64, rows as u64, 1.0, 1000, delta).expect("parameters");
    parameters.summation = summation;
    let plan = parameters
        .with_multiplier(Ratio::parse("1").expect("a number"))
        .expect("a plan");
    let budget = Budget::new(plan.guarantee().promise().clone(), plan.unit());
    let mut account = Account::open(MemoryLedger::new(budget)).expect("an account");
    let units = Units::each_example(rows);
    let task = Task {
        device: Cpu::new(),
        model: build(),
        data: PrivateData::new(&data, units),
    };
    let mut private = Trainer::begin(&mut account, task, plan, recipe, None, "a measurement").expect("a run");
    let mut step = || {
        let noised = time(|| {
            private.step().expect("a step");
        });
        let ordinary = time(|| {
            plain.step();
        });
        (noised, ordinary)
    };
    step();
    // Samples of few rows differ in size, so that they need many.
    let pairs = match summation {
        Summation::Float if name.starts_with("transformer") => 60,
        Summation::Float => 300,
        Summation::Exact | Summation::Microbatches { .. } => 15,
    };
    quartiles(name, what, (0..pairs).map(|_| step()).collect());
}

/// Prints how many times as long the first of each pair took. Batches of a sample differ in size, so each side's median is reported as well.
fn quartiles(name: &str, what: &str, pairs: Vec<(f64, f64)>) {
    let quantile = |mut numbers: Vec<f64>, share: f64| {
        numbers.sort_by(f64::total_cmp);
        numbers[(share * (numbers.len() - 1) as f64).round() as usize]
    };
    let ratio = |share| {
        quantile(
            pairs.iter().map(|(first, second)| first / second).collect(),
            share,
        )
    };
    println!(
        r#"{{ "model": "{name}", "library": "deniable", "what": "{what}", "pairs": {}, "lower_quartile": {:.3}, "median": {:.3}, "upper_quartile": {:.3}, "private_ms": {:.2}, "plain_ms": {:.2} }}"#,
        pairs.len(),
        ratio(0.25),
        ratio(0.5),
        ratio(0.75),
        quantile(pairs.iter().map(|pair| pair.0).collect(), 0.5),
        quantile(pairs.iter().map(|pair| pair.1).collect(), 0.5),
    );
}
