//! Times steps of training on one thread, with and without privacy; for `bench/train-run`.
//!
//! `train_bench MODEL WHAT` prints one JSON object: CPU milliseconds of each step, and the most memory that the process had.
//! `pairs` runs both kinds of step in turn in one process and prints the quartiles of their ratio; `pins` times the scoring of ten thousand continuations instead. A step without privacy is the backward pass and the sum of gradients; one with privacy makes the norms in between, and clips.

use device::{Cpu, Device};
use std::time::Duration;
use train::models::{
    GruLanguageModel, LanguageModel, LstmLanguageModel, RecurrentShape, Tokens, TransformerLanguageModel,
    TransformerShape,
};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (Some(model), Some(what)) = (arguments.first(), arguments.get(1)) else {
        eprintln!(
            "error: no model or no kind of step\nhint: train_bench lstm|gru|transformer|transformer-tied plain|private|pairs|pins"
        );
        std::process::exit(2);
    };
    let device = Cpu::<f32>::new();
    let private = what == "private";
    match model.as_str() {
        "lstm" | "gru" => {
            let shape = RecurrentShape {
                vocabulary: 985,
                embedding: 50,
                hidden: 100,
                dropout: 0.0,
            };
            let batch = tokens(985, 100, 20);
            if model == "lstm" {
                measure(
                    model,
                    what,
                    private,
                    LstmLanguageModel::new(device, shape).expect("a shape"),
                    &batch,
                );
            } else {
                measure(
                    model,
                    what,
                    private,
                    GruLanguageModel::new(device, shape).expect("a shape"),
                    &batch,
                );
            }
        }
        _ => {
            let tied = model == "transformer-tied";
            let shape = TransformerShape {
                vocabulary: 1000,
                context: 128,
                width: 256,
                heads: 4,
                blocks: 4,
                tied,
                dropout: 0.0,
            };
            let batch = tokens(1000, 16, 128);
            measure(
                model,
                what,
                private,
                TransformerLanguageModel::new(device, shape).expect("a shape"),
                &batch,
            );
        }
    }
}

/// Made-up text: what it says does not change what a step costs.
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

/// CPU time of this process.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    Duration::from_nanos(
        text.split(' ')
            .next()
            .and_then(|field| field.parse().ok())
            .unwrap_or(0),
    )
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

fn measure<M: LanguageModel<Cpu<f32>>>(name: &str, what: &str, private: bool, mut model: M, batch: &Tokens) {
    let device = Cpu::<f32>::new();
    let parameters = device.upload(&model.initial(1));
    let mut gradient = device.zeros(parameters.len());
    if what == "pins" {
        // All continuations of four digits after five tokens: what an attack on memorized numbers asks.
        let pins: Vec<[u32; 4]> = (0..10_000)
            .map(|pin| [1000, 100, 10, 1].map(|place| pin / place % 10))
            .collect();
        let start = cpu_time();
        let scores = model
            .score_continuations(&parameters, &[17, 18, 19, 20, 21], &pins)
            .expect("tokens of the vocabulary");
        let milliseconds = (cpu_time() - start).as_secs_f64() * 1e3;
        println!(
            r#"{{ "model": "{name}", "what": "{what}", "scored": {}, "ms": {milliseconds:.1} }}"#,
            scores.len()
        );
        return;
    }
    let mut step = |private: bool| {
        let start = cpu_time();
        device.clear(&mut gradient);
        model.backward(&parameters, batch);
        let weights: Vec<f64> = if private {
            model
                .squared_norms()
                .into_iter()
                .map(|norm| (1.0 / norm.sqrt()).min(1.0))
                .collect()
        } else {
            vec![1.0; model.examples(batch)]
        };
        model.accumulate(&weights, &mut gradient);
        (cpu_time() - start).as_secs_f64() * 1e3
    };
    if what == "pairs" {
        step(true);
        let pairs = if name.starts_with("transformer") { 15 } else { 300 };
        let mut ratios: Vec<f64> = (0..pairs).map(|_| step(true) / step(false)).collect();
        ratios.sort_by(f64::total_cmp);
        let quantile = |share: f64| ratios[(share * (pairs - 1) as f64).round() as usize];
        println!(
            r#"{{ "model": "{name}", "library": "deniable", "what": "{what}", "pairs": {pairs}, "lower_quartile": {:.3}, "median": {:.3}, "upper_quartile": {:.3} }}"#,
            quantile(0.25),
            quantile(0.5),
            quantile(0.75)
        );
        return;
    }
    let mut milliseconds = Vec::new();
    let begun = cpu_time();
    step(private);
    while milliseconds.len() < 10 || (cpu_time() - begun < Duration::from_secs(6) && milliseconds.len() < 200)
    {
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
