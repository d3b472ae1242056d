//! Numbers of layers on a GPU, in one of two widths.

use super::half;
use super::open::Gpu;
use super::vector::Vector;

/// A vector of numbers that lives on a GPU: as `f32`, or rounded to bf16, which products take as they are.
///
/// Which of the two it is was decided when it was made, so a number has one value: what was rounded is nowhere else in full. A kernel that knows one width only does not take the other.
#[derive(Debug)]
pub struct Floats(Kept);

#[derive(Debug)]
enum Kept {
    Single(Vector<f32>),
    Half(Vector<u16>),
    /// Weights of examples, as the host sent them; no kernel writes to them. `all_count`: none is so small that its example is left out.
    Weights {
        weights: Vector<f32>,
        all_count: bool,
    },
}

/// As in `rounding.rs`: weights up to this are taken for 0.
const LEAST_WEIGHT: f32 = 1.0 / (1u64 << 50) as f32;

/// Marks the address of rounded numbers, for kernels that take both kinds: no address of a GPU reaches it.
const HALF: u64 = 1 << 63;

impl Floats {
    pub(super) fn single(numbers: Vector<f32>) -> Self {
        Self(Kept::Single(numbers))
    }

    pub(super) fn half(numbers: Vector<u16>) -> Self {
        Self(Kept::Half(numbers))
    }

    pub(super) fn len(&self) -> usize {
        match &self.0 {
            Kept::Single(numbers) => numbers.len(),
            Kept::Half(numbers) => numbers.len(),
            Kept::Weights { weights, .. } => weights.len(),
        }
    }

    /// As `f32`.
    pub(super) fn singles(&self) -> &Vector<f32> {
        match &self.0 {
            Kept::Single(numbers) => numbers,
            _ => panic!("a kernel that takes numbers in full"),
        }
    }

    /// The same, to write to.
    pub(super) fn singles_mut(&mut self) -> &mut Vector<f32> {
        match &mut self.0 {
            Kept::Single(numbers) => numbers,
            _ => panic!("a kernel that writes numbers in full"),
        }
    }

    /// Rounded, if it is.
    pub(super) fn halves(&self) -> Option<&Vector<u16>> {
        match &self.0 {
            Kept::Half(numbers) => Some(numbers),
            _ => None,
        }
    }

    /// The same, to write to.
    pub(super) fn halves_mut(&mut self) -> Option<&mut Vector<u16>> {
        match &mut self.0 {
            Kept::Half(numbers) => Some(numbers),
            _ => None,
        }
    }

    /// Where `len` numbers from `start` on are, as `f32`.
    pub(super) fn at(&self, start: usize, len: usize) -> u64 {
        self.singles().at(start, len)
    }

    /// The same for a kernel that takes both widths (`Place` in `kernels.cu`).
    pub(super) fn place(&self, start: usize, len: usize) -> u64 {
        match &self.0 {
            Kept::Half(numbers) => {
                let address = numbers.at(start, len);
                assert!(address < HALF, "an address that looks like a mark");
                address | HALF
            }
            _ => self.at(start, len),
        }
    }

    /// Where the first `len` are, as weights.
    pub(super) fn weights(&self, len: usize) -> u64 {
        match &self.0 {
            Kept::Weights { weights, .. } => weights.at(0, len),
            _ => self.at(0, len),
        }
    }

    /// Whether it is known of all weights that none leaves its example out.
    pub(super) fn all_count(&self) -> bool {
        matches!(self.0, Kept::Weights { all_count: true, .. })
    }
}

impl Gpu {
    pub(super) fn write_floats(&self, values: &[f32], into: &mut Floats) {
        match into.halves_mut() {
            Some(halves) => {
                let values: Vec<u16> = values.iter().map(|value| half::rounded(*value)).collect();
                self.write(&values, 0, halves);
            }
            None => self.write(values, 0, into.singles_mut()),
        }
    }

    pub(super) fn read_floats(&self, from: &Floats, range: std::ops::Range<usize>) -> Vec<f32> {
        match &from.0 {
            Kept::Half(halves) => {
                let values = self.read(halves, range);
                values.into_iter().map(half::widened).collect()
            }
            Kept::Single(numbers) | Kept::Weights { weights: numbers, .. } => self.read(numbers, range),
        }
    }

    pub(super) fn clear_floats(&self, floats: &mut Floats, range: std::ops::Range<usize>) {
        match &mut floats.0 {
            Kept::Half(halves) => self.clear(halves, range),
            _ => self.clear(floats.singles_mut(), range),
        }
    }

    /// Weights of examples. They are looked at here, where all of them are known.
    pub(super) fn weigh(&self, values: &[f32], into: &mut Floats) {
        let mut weights = match std::mem::replace(&mut into.0, Kept::Single(Vector::empty())) {
            Kept::Weights { weights, .. } | Kept::Single(weights) => weights,
            Kept::Half(_) => Vector::empty(),
        };
        self.reserve(&mut weights, values.len());
        self.write(values, 0, &mut weights);
        into.0 = Kept::Weights {
            weights,
            all_count: values.iter().all(|weight| weight.abs() > LEAST_WEIGHT),
        };
    }
}
