//! Private training.
//!
//! A step of private training needs the norm of each example's gradient, and a sum in which each is scaled down to a fixed length. Making those
//! gradients one by one is what makes other libraries slow. Here one backward pass leaves, per layer, its inputs and the gradients of its outputs; norms
//! follow from their inner products, and the clip factor is folded into the one product that sums gradients anyway.
//!
//! ```
//! use accounting::{Budget, Delta, Epsilon};
//! use device::{Activation, Cpu};
//! use mechanism::{Account, MemoryLedger};
//! use train::models::{Features, Mlp, MlpShape, Targets, Task as Predicted};
//! use train::private::{Dataset, Ended, Parameters, PrivateData, Recipe, Task, Trainer, Units};
//!
//! // Private rows: one number each, and whether it is positive.
//! let values: Vec<f32> = (0..1000).map(|row| (row % 100) as f32 / 50.0 - 1.0).collect();
//! let classes = values.iter().map(|value| u32::from(*value > 0.0)).collect();
//! let rows = Features::new(1, 2, values, Targets::Classes(classes))?;
//!
//! // What decides about privacy: batches of about 100 of 1,000 people, clipping norm 1, 20 steps; the noise follows from ε and δ.
//! let parameters = Parameters::poisson("person", 100, 1000, 1.0, 20, Delta::parse("1e-5")?)?;
//! let plan = parameters.for_target(&Epsilon::parse("3")?)?;
//!
//! let shape = MlpShape { inputs: 1, hidden: vec![], activation: Activation::Relu, task: Predicted::Classes(2), dropout: 0.0 };
//! let task = Task {
//!     device: Cpu::<f32>::new(),
//!     model: Mlp::new(Cpu::new(), shape)?,
//!     data: PrivateData::new(Dataset::new("people", rows), Units::each_example(1000)),
//! };
//! let budget = Budget::new(plan.guarantee().promise().clone(), plan.unit());
//! let mut account = Account::open(MemoryLedger::new(budget))?;
//!
//! // Charged for all steps, then taken step by step.
//! let mut trainer = Trainer::begin(&mut account, task, plan, Recipe::adam(0.1), None, "an example")?;
//! assert_eq!(account.ledger().charges().len(), 1);
//! assert_eq!(trainer.run(|| true, |_, _| Ok::<(), train::Error>(()))?, Ended::Finished);
//! let model = trainer.saved_model()?;
//! assert!(model.receipt.is_some_and(|receipt| receipt.epsilon <= Epsilon::parse("3").unwrap()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod case_study;
mod error;
pub mod layers;
pub mod model;
pub mod models;
mod optimizer;
mod plain;
pub mod private;
mod safetensors;
pub mod text;

pub use error::Error;
pub use optimizer::{Rule, Schedule};
pub use plain::PlainTrainer;
