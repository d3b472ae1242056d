//! What privacy adds to a step, apart from the model: `cargo run --release -p deniable-train --example private_cost`.
//!
//! The model here costs next to nothing, so what is measured is clipping, the grid, noise and the optimizer on 209,135 parameters and batches of about 100, in CPU time of this process.

use accounting::{Budget, Delta, Ratio};
use device::{Cpu, Device};
use mechanism::{Account, MemoryLedger};
use train::model::{Model, Parameter};
use train::private::{Examples, Parameters, Recipe, Summation, Task, Trainer, Units};

const WIDTH: usize = 209_135;

struct Cheap(Vec<Parameter>, Vec<f32>, usize);

impl Model<Cpu<f32>> for Cheap {
    type Batch = usize;
    fn layout(&self) -> &[Parameter] {
        &self.0
    }
    fn initial(&self, _: u64) -> Vec<f32> {
        vec![0.0; WIDTH]
    }
    fn examples(&self, batch: &usize) -> usize {
        *batch
    }
    fn backward(&mut self, _: &Vec<f32>, batch: &usize) -> Vec<f64> {
        self.2 = *batch;
        vec![1.0; *batch]
    }
    fn squared_norms(&mut self) -> Vec<f64> {
        vec![4.0; self.2]
    }
    fn accumulate(&mut self, weights: &[f64], gradient: &mut Vec<f32>) {
        let weight = weights.iter().sum::<f64>() as f32;
        for (total, value) in gradient.iter_mut().zip(&self.1) {
            *total += weight * value;
        }
    }
    fn losses(&mut self, _: &Vec<f32>, batch: &usize) -> Vec<f64> {
        vec![1.0; *batch]
    }
}

struct Rows;

impl Examples for Rows {
    type Batch = usize;
    fn count(&self) -> usize {
        200_000
    }
    fn gather(&self, chosen: &[usize]) -> usize {
        chosen.len()
    }
    fn name(&self) -> String {
        "rows".to_owned()
    }
    fn digest(&self) -> String {
        String::new()
    }
}

/// Seconds of CPU that this process has used.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|time| time.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (summation, steps) in [(Summation::Float, 100), (Summation::Exact, 10)] {
        let mut parameters = Parameters::poisson("row", 100, 200_000, 1.0, 1000, Delta::parse("1e-6")?)?;
        parameters.summation = summation;
        let plan = parameters.with_multiplier(Ratio::parse("1")?)?;
        let budget = Budget::new(plan.guarantee().promise().clone(), plan.unit());
        let mut account = Account::open(MemoryLedger::new(budget))?;
        let units = Units::each_example(200_000);
        let layout = vec![Parameter {
            name: "all".to_owned(),
            shape: vec![WIDTH],
            start: 0,
        }];
        let values = (0..WIDTH).map(|place| ((place * 37 % 101) as f32 - 50.0) * 1e-4).collect();
        let task = Task {
            device: Cpu::new(),
            model: Cheap(layout, values, 0),
            examples: &Rows,
            units: &units,
        };
        let mut trainer = Trainer::begin(&mut account, task, plan, Recipe::adam(1e-3), None, "a measurement")?;
        trainer.step()?;
        let before = cpu();
        for _ in 0..steps {
            trainer.step()?;
        }
        println!("{summation:?}: {:.2} ms a step", (cpu() - before) * 1e3 / f64::from(steps));
    }
    let device = Cpu::<f32>::new();
    let mut buffers = [device.zeros(WIDTH), device.zeros(WIDTH)];
    let gradient = device.zeros(WIDTH);
    let before = cpu();
    for _ in 0..100 {
        let [parameters, velocity] = &mut buffers;
        let step = device::Momentum {
            rate: 0.1,
            momentum: 0.9,
            decay: 0.0,
        };
        device.momentum(step, &gradient, parameters, velocity);
    }
    println!("momentum alone: {:.2} ms", (cpu() - before) * 10.0);
    Ok(())
}
