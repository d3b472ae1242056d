//! Gradients and norms of every model, in `f64`, against central differences and against naive gradients of one example at a time.

mod kit;
mod language;
mod tables;
