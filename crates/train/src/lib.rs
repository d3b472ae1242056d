//! Private training.
//!
//! A step of private training needs the norm of each example's gradient, and a sum in which each is scaled down to a fixed length. Making those
//! gradients one by one is what makes other libraries slow. Here one backward pass leaves, per layer, its inputs and the gradients of its outputs; norms
//! follow from their inner products, and the clip factor is folded into the one product that sums gradients anyway.

pub mod layers;
pub mod model;
pub mod models;
mod optimizer;
mod plain;
pub mod private;
mod safetensors;
mod error;

pub use error::Error;
pub use optimizer::{Rule, Schedule};
pub use plain::PlainTrainer;
