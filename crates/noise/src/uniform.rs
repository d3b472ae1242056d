use crate::{Entropy, Error};

/// A uniform integer in `0..count`.
///
/// # Exactness
/// Proof: b = ⌈log₂ count⌉ bits are a uniform number in 0..2^b; given that it is below `count`, it is uniform there.
/// Fewer than two tries are needed on average, and their number is independent of the number returned.
/// Tested by: `uniform_enumerated`, `uniform_fits`.
#[derive(Clone, Copy, Debug)]
pub struct UniformInteger {
    count: u64,
    bits: u32,
}

impl UniformInteger {
    /// Over `0..count`.
    pub fn new(count: u64) -> Result<Self, Error> {
        if count == 0 {
            return Err(Error::EmptyRange);
        }
        Ok(Self {
            count,
            bits: 64 - (count - 1).leading_zeros(),
        })
    }

    /// One draw.
    pub fn sample(&self, entropy: &mut (impl Entropy + ?Sized)) -> u64 {
        entropy.refresh();
        if self.bits == 0 {
            return 0;
        }
        loop {
            let candidate = entropy.bits(self.bits);
            if candidate < self.count {
                return candidate;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OsEntropy, Tape};

    #[test]
    fn uniform_enumerated() {
        for count in 1..=9u64 {
            let uniform = UniformInteger::new(count).unwrap();
            let mut seen = vec![0u32; count as usize];
            for tape in 0..=u16::MAX {
                let mut tape = Tape::new(tape.to_be_bytes());
                let value = uniform.sample(&mut tape);
                if !tape.exhausted() {
                    seen[value as usize] += 1;
                }
            }
            assert!(seen.iter().all(|times| *times == seen[0]), "{count}: {seen:?}");
        }
        assert_eq!(UniformInteger::new(0).unwrap_err(), Error::EmptyRange);
    }

    #[test]
    fn uniform_fits() {
        let uniform = UniformInteger::new(1000).unwrap();
        let mut entropy = OsEntropy::new().unwrap();
        let samples: Vec<i64> = (0..200_000)
            .map(|_| uniform.sample(&mut entropy) as i64)
            .collect();
        let cdf = |count: f64| move |value: i64| ((value + 1) as f64 / count).clamp(0.0, 1.0);
        audit::goodness::cdf_test(&samples, cdf(1000.0), 1e-9).assert_consistent();
        audit::goodness::cdf_test(&samples, cdf(1050.0), 1e-9).assert_rejected();
    }
}
