//! A private classifier of synthetic people, charged before its first step: `cargo run -p deniable --example classifier`.

use deniable::device::{Activation, Cpu};
use deniable::noise::Seeded;
use deniable::prelude::*;
use deniable::train::models::{Features, Mlp, MlpShape, Targets, Task as Predicted};
use deniable::train::private::{
    Dataset as Rows, Ended, Parameters, PrivateData, Recipe, Task, Trainer, Units,
};

/// Trains with ε ≤ 2 for each person, and prints how often the model is right about other people.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Everything that decides about privacy, in one plan: whom it protects, batches, clipping norm, steps, δ. The noise follows from ε.
    let people = 4000;
    let parameters = Parameters::poisson("person", 200, people, 1.0, 60, Delta::parse("1e-6")?)?;
    let plan = parameters.for_target(&Epsilon::parse("2")?)?;

    // Private data: nothing reads it but the trainer.
    let data = PrivateData::new(
        Rows::new("synthetic people", synthetic(people, 1)?),
        Units::each_example(people as usize),
    );
    let shape = MlpShape {
        inputs: 2,
        hidden: vec![8],
        activation: Activation::Relu,
        task: Predicted::Classes(2),
        dropout: 0.0,
    };
    let task = Task {
        device: Cpu::<f32>::new(),
        model: Mlp::new(Cpu::new(), shape)?,
        data,
    };

    // The whole run is charged before its first step.
    let budget = Budget::new(plan.guarantee().promise().clone(), plan.unit());
    let mut account = Account::open(MemoryLedger::new(budget))?;
    let recipe = Recipe::adam(0.05);
    let mut trainer = Trainer::begin(&mut account, task, plan, recipe, None, "a classifier")?;
    let ended = trainer.run(|| true, |_, _| Ok::<(), deniable::train::Error>(()))?;
    assert_eq!(ended, Ended::Finished);

    // The model is public from here on. It is evaluated on other synthetic people.
    let others = synthetic(1000, 2)?;
    let (model, weights) = trainer.model();
    let scores = model.predict(weights, &others);
    let Targets::Classes(classes) = others.targets() else {
        return Err("the labels are classes".into());
    };
    let right = scores
        .iter()
        .zip(classes)
        .filter(|(score, class)| (score[1] > score[0]) == (**class == 1));
    let accuracy = right.count() as f64 / classes.len() as f64;
    let receipt = trainer
        .saved_model()?
        .receipt
        .ok_or("a private model has a receipt")?;
    println!(
        "right about {:.1} % of other people; {}",
        100.0 * accuracy,
        receipt.plan.guarantee()
    );
    assert!(accuracy > 0.8);
    Ok(())
}

/// People of two numbers each; the class says on which side of a line they are.
fn synthetic(count: u64, seed: u64) -> Result<Features, Box<dyn std::error::Error>> {
    let mut seeded = Seeded::new(seed);
    let values: Vec<f32> = (0..2 * count).map(|_| seeded.unit() as f32 * 2.0 - 1.0).collect();
    let classes = values
        .chunks(2)
        .map(|person| u32::from(person[0] > 0.5 * person[1]));
    let targets = Targets::Classes(classes.collect());
    Ok(Features::new(2, 2, values, targets)?)
}
