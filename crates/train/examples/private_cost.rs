//! What privacy adds to a whole step of the paper's LSTM: `cargo run --release -p deniable-train --example private_cost`.
//!
//! 209,135 parameters, batches of 100 out of 200,000 rows of 20 tokens, Adam; CPU time of this process, one thread.

use accounting::{Budget, Delta, Ratio};
use device::Cpu;
use mechanism::{Account, MemoryLedger};
use train::PlainTrainer;
use train::models::{LstmLanguageModel, RecurrentShape, Tokens};
use train::private::{Dataset, Parameters, Recipe, Summation, Task, Trainer, Units};

/// Seconds of CPU that this process has used.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let first = stat.split(' ').next();
    first.and_then(|time| time.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// The median time of a step, in milliseconds.
fn median(steps: usize, mut step: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..steps)
        .map(|_| {
            let before = cpu();
            step();
            (cpu() - before) * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[steps / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows = 200_000;
    let tokens = (0..rows * 21).map(|place: usize| (place.wrapping_mul(2_654_435_761) >> 7) as u32 % 985);
    let data = Dataset::new("made-up tokens", Tokens::full(985, 21, tokens.collect())?, "");
    let model = || {
        let shape = RecurrentShape {
            vocabulary: 985,
            embedding: 50,
            hidden: 100,
            dropout: 0.0,
        };
        LstmLanguageModel::new(Cpu::<f32>::new(), shape)
    };
    let mut plain = PlainTrainer::new(Cpu::new(), model()?, &data, Recipe::adam(1e-3), 100, 1000)?;
    plain.step();
    let ordinary = median(60, || {
        plain.step();
    });
    println!("without privacy: {ordinary:.1} ms a step");
    for (summation, steps) in [(Summation::Float, 60), (Summation::Exact, 5)] {
        let mut parameters = Parameters::poisson("row", 100, rows as u64, 1.0, 1000, Delta::parse("1e-6")?)?;
        parameters.summation = summation;
        let plan = parameters.with_multiplier(Ratio::parse("1")?)?;
        let budget = Budget::new(plan.guarantee().promise().clone(), plan.unit());
        let mut account = Account::open(MemoryLedger::new(budget))?;
        let units = Units::each_example(rows);
        let task = Task {
            device: Cpu::new(),
            model: model()?,
            examples: &data,
            units: &units,
        };
        let mut trainer = Trainer::begin(
            &mut account,
            task,
            plan,
            Recipe::adam(1e-3),
            None,
            "a measurement",
        )?;
        trainer.step()?;
        let mut failed = None;
        let time = median(steps, || failed = trainer.step().err());
        if let Some(error) = failed {
            return Err(error.into());
        }
        println!(
            "{summation:?} sums: {time:.1} ms a step, {:.2} times",
            time / ordinary
        );
    }
    Ok(())
}
