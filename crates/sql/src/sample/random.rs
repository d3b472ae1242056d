//! The generator of the sample: the same numbers everywhere, for ever. It has nothing to do with privacy, whose bits come from `noise` alone.

/// SplitMix64 (Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub(super) struct SplitMix64(u64);

impl SplitMix64 {
    /// Begins with this number.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Between 0 and 1, in steps of 2^-53.
    pub(super) fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A whole number below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(end)) >> 64) as u64
    }

    /// Whether something of this probability happens.
    pub(super) fn happens(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// One of the choices, each as often as its weight says.
    pub(super) fn choose<T: Copy>(&mut self, choices: &[(T, u64)]) -> T {
        let mut left = self.below(choices.iter().map(|(_, weight)| weight).sum());
        for &(choice, weight) in choices {
            if left < weight {
                return choice;
            }
            left -= weight;
        }
        choices[0].0
    }

    /// A positive factor of mean 1, close to log-normal with deviation `spread` of the logarithm. Made by multiplication alone, which every machine rounds alike.
    pub(super) fn factor(&mut self, spread: f64) -> f64 {
        // The logarithm of 1 + w (u − ½) has about the variance w²/12, and eight of them add up to spread².
        let width = spread * 1.5f64.sqrt();
        (0..8).fold(1.0, |product, _| product * (1.0 + width * (self.uniform() - 0.5)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The first outputs for the seed 1234567, as in the reference implementation.
    #[test]
    fn it_is_splitmix64() {
        let mut random = SplitMix64::new(1_234_567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
        assert_eq!(random.bits(), 9_817_491_932_198_370_423);
    }

    #[test]
    fn choices_follow_weights() {
        let mut random = SplitMix64::new(1);
        let mut counts = [0i32; 3];
        for _ in 0..6000 {
            counts[random.choose(&[(0usize, 1), (1, 2), (2, 3)])] += 1;
        }
        for (count, expected) in counts.into_iter().zip([1000, 2000, 3000]) {
            assert!((count - expected).abs() < 200, "{counts:?}");
        }
    }
}
