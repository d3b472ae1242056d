//! Where training computes.
//!
//! Layers are written once, against [`Device`]: vectors of scalars that live somewhere, and a closed list of dense kernels over them.
//! [`Cpu`] runs them here, in `f32` for training and in `f64` for tests that hold gradients against naive differentiation.

mod cpu;

pub use cpu::Cpu;

/// A number that a device computes with.
pub trait Scalar: Copy + PartialOrd + Send + Sync + std::fmt::Debug + 'static {
    /// Rounded to this type.
    fn from_f64(value: f64) -> Self;
    /// Without loss.
    fn to_f64(self) -> f64;
}

impl Scalar for f32 {
    fn from_f64(value: f64) -> Self {
        value as f32
    }

    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Scalar for f64 {
    fn from_f64(value: f64) -> Self {
        value
    }

    fn to_f64(self) -> f64 {
        self
    }
}

/// A place with memory and arithmetic.
pub trait Device: Clone + Send {
    /// What its vectors hold.
    type Scalar: Scalar;
    /// A vector that lives on the device.
    type Buffer: Send;

    /// A vector of zeros.
    fn zeros(&self, len: usize) -> Self::Buffer;
    /// A copy on the device.
    fn upload(&self, values: &[Self::Scalar]) -> Self::Buffer;
    /// Overwrites a vector of the same length.
    fn write(&self, values: &[Self::Scalar], into: &mut Self::Buffer);
    /// A copy here; waits for all work that it depends on.
    fn download(&self, buffer: &Self::Buffer) -> Vec<Self::Scalar>;
    /// How many numbers it holds.
    fn len(&self, buffer: &Self::Buffer) -> usize;
    /// All zeros again.
    fn clear(&self, buffer: &mut Self::Buffer);
}
