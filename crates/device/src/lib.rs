//! Where training computes.
//!
//! Layers are written once, against [`Device`]: vectors of scalars that live somewhere, and a closed list of dense kernels over them.
//! [`Cpu`] runs them here, in `f32` for training and in `f64` for tests that hold gradients against naive differentiation; [`Cuda`] runs them on an NVIDIA GPU, if
//! there is one where the program runs.
//!
//! Kernels take sizes, not vectors of exactly those sizes: a vector may be longer than what is used of it, so that batches of changing size (Poisson samples)
//! share memory that only grows. Zero examples or rows are allowed everywhere and do nothing. Kernels panic where a size does not fit its vector: that is a mistake
//! in a layer, never in data.

// A kernel says all it reads and writes; bundling that into structs for one call each would hide it.
#![allow(clippy::too_many_arguments)]

mod allocator;
mod cpu;
mod cuda;
mod device;
mod dropout;
mod memory;
mod numbers;
mod optimize;
mod rounding;
mod scalar;
mod shape;

pub use allocator::give_memory_back;
pub use cpu::{Cpu, one_row};
pub use cuda::{Cuda, CudaError, Floats, Products, Vector};
pub use device::{Activation, Device};
pub use dropout::Mask;
pub use memory::{OutOfMemory, or_out_of_memory};
pub use numbers::{Elsewhere, Numbers, QuickNoise};
pub use optimize::{Adam, Momentum};
pub use scalar::Scalar;
pub use shape::{Heads, Matrix, MatrixMut, Order, Product, Rows, Sequences, Span, SpanMut};
