//! Inputs that every device gets, and what it made of them.

use device::{Device, Scalar};

/// Names of kernels with what they gave.
pub(crate) type Outputs = Vec<(String, Vec<f64>)>;

/// Inputs that are the same on every device: numbers that `f32` holds.
pub(crate) struct Inputs<'a, D: Device> {
    pub(crate) device: &'a D,
    pub(crate) state: u64,
    /// Whether factors are of 8 bits from the start, and lie where the device keeps factors.
    pub(crate) rounded: bool,
    pub(crate) outputs: Outputs,
}

/// To 8 bits, to the nearest.
fn rounded(value: f64) -> f64 {
    let bits = (value as f32).to_bits();
    let bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff_0000;
    if value.is_nan() {
        value
    } else {
        f64::from(f32::from_bits(bits))
    }
}

impl<D: Device> Inputs<'_, D> {
    pub(crate) fn word(&mut self) -> u32 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as u32
    }

    pub(crate) fn values(&mut self, len: usize) -> Vec<f64> {
        (0..len)
            .map(|_| f64::from((f64::from(self.word()) / f64::from(1u32 << 30) - 1.0) as f32))
            .collect()
    }

    pub(crate) fn upload(&self, values: &[f64]) -> D::Buffer {
        let values: Vec<_> = values.iter().map(|&value| D::Scalar::from_f64(value)).collect();
        self.device.upload(&values)
    }

    pub(crate) fn vector(&mut self, len: usize) -> D::Buffer {
        let values = self.values(len);
        self.upload(&values)
    }

    /// A vector that products may take.
    pub(crate) fn factors(&self, values: &[f64]) -> D::Buffer {
        if !self.rounded {
            return self.upload(values);
        }
        let values: Vec<_> = values
            .iter()
            .map(|&value| D::Scalar::from_f64(rounded(value)))
            .collect();
        let mut factors = self.device.factors(values.len());
        self.device.write(&values, &mut factors);
        factors
    }

    pub(crate) fn factor(&mut self, len: usize) -> D::Buffer {
        let values = self.values(len);
        self.factors(&values)
    }

    pub(crate) fn tokens(&mut self, len: usize, below: u32) -> D::Indices {
        let tokens: Vec<u32> = (0..len).map(|_| self.word() % below).collect();
        let mut indices = self.device.indices(len);
        self.device.write_indices(&tokens, &mut indices);
        indices
    }

    pub(crate) fn keep(&mut self, name: impl Into<String>, buffer: &D::Buffer) {
        let values = self
            .device
            .download(buffer)
            .into_iter()
            .map(Scalar::to_f64)
            .collect();
        self.outputs.push((name.into(), values));
    }

    pub(crate) fn keep_sums(&mut self, name: impl Into<String>, sums: &D::Sums, len: usize) {
        let values = self.device.download_sums(sums, len);
        self.outputs.push((name.into(), values));
    }
}
