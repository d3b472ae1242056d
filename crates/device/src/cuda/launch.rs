//! Starting kernels.

#![allow(unsafe_code)]

use super::open::Gpu;
use super::vector::done;
use cudarc::driver::{LaunchConfig, PushKernelArg};

/// Threads of a block, in nearly every kernel.
pub(super) const THREADS: usize = 256;
/// Blocks that fill any GPU; kernels that go through vectors take strides of as many.
const BLOCKS: usize = 4096;

/// A parameter of a kernel, in eight bytes. CUDA's hosts are little-endian, so that a `float` is read from the first four.
#[derive(Clone, Copy)]
pub(super) struct Argument(u64);

impl From<usize> for Argument {
    fn from(value: usize) -> Self {
        Self(value as u64)
    }
}

impl From<bool> for Argument {
    fn from(value: bool) -> Self {
        Self(u64::from(value))
    }
}

// An address, or a word of bits.
impl From<u64> for Argument {
    fn from(value: u64) -> Self {
        Self(value)
    }
}

impl From<f32> for Argument {
    fn from(value: f32) -> Self {
        Self(u64::from(value.to_bits()))
    }
}

impl From<f64> for Argument {
    fn from(value: f64) -> Self {
        Self(value.to_bits())
    }
}

/// Parameters of a kernel, in its order: numbers as `f32` or `f64` as it declares them.
macro_rules! arguments {
    ($($value:expr),* $(,)?) => { &[$($crate::cuda::launch::Argument::from($value)),*] };
}

pub(super) use arguments;

impl Gpu {
    /// Over a vector.
    pub(super) fn over(&self, name: &str, len: usize, arguments: &[Argument]) {
        self.launch(name, (len.div_ceil(THREADS).min(BLOCKS), 1), arguments);
    }

    /// A block for each of `rows`, or several where rows are wide.
    pub(super) fn over_rows(&self, name: &str, rows: usize, width: usize, arguments: &[Argument]) {
        self.launch(name, (rows, width.div_ceil(THREADS).min(64)), arguments);
    }

    /// A block for each number of `grid`.
    pub(super) fn launch(&self, name: &str, grid: (usize, usize), arguments: &[Argument]) {
        self.launch_of(THREADS, name, grid, arguments);
    }

    /// The same, with blocks of so many threads.
    pub(super) fn launch_of(&self, threads: usize, name: &str, grid: (usize, usize), arguments: &[Argument]) {
        if grid.0 == 0 || grid.1 == 0 {
            return;
        }
        assert!(
            grid.0 < 1 << 31 && grid.1 < 1 << 16,
            "a batch too large for one kernel"
        );
        let mut launch = self.stream.launch_builder(&self.functions[name]);
        for argument in arguments {
            launch.arg(&argument.0);
        }
        let shape = LaunchConfig {
            grid_dim: (grid.0 as u32, grid.1 as u32, 1),
            block_dim: (threads as u32, 1, 1),
            shared_mem_bytes: 0,
        };
        // SAFETY: the callers pass each kernel its parameters in order, with addresses from `Vector::at`, which checked that all that the kernel reaches lies within
        // one vector; tokens, which only the GPU sees, are checked there. Vectors are released on the same stream, so after the kernel.
        done(unsafe { launch.launch(shape) });
    }
}
