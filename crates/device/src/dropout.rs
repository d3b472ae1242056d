//! Which activations are dropped: a pure function of a seed and a place, so that a mask is never stored.

/// A mask of dropout. It depends on an example's own key and the place within the example, and not on where the example lies in a batch: splitting a batch
/// changes nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mask {
    /// Differs between steps and layers.
    pub seed: u64,
    /// The probability with which a number stays, more than 0 and at most 1. What stays is divided by it.
    pub keep: f64,
}

impl Mask {
    /// Words below this stay.
    pub fn threshold(&self) -> u64 {
        (self.keep * 4_294_967_296.0) as u64
    }

    /// Whether the number at `place` = step·width + column of the example with this key stays.
    #[inline(always)]
    pub fn keeps(&self, key: u32, place: u64) -> bool {
        // Two rounds of multiply and xor-shift over a counter: independent enough to drop activations, and nothing secret.
        let mut word = (self.seed ^ (u64::from(key) << 32 | 0x5bd1_e995))
            .wrapping_add(place.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) >> 32) < self.threshold()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kept_share_is_what_was_asked_for() {
        let mask = Mask { seed: 3, keep: 0.8 };
        let count = 200_000;
        let kept = (0..count)
            .filter(|&place| mask.keeps((place % 7) as u32, place))
            .count() as f64;
        // Six standard deviations of a binomial count: false alarm 2e-9 if words were uniform, and the seed is fixed.
        let deviation = (count as f64 * 0.8 * 0.2).sqrt();
        assert!((kept - 0.8 * count as f64).abs() < 6.0 * deviation);
    }

    #[test]
    fn seeds_and_keys_change_the_mask() {
        let pattern = |seed, key| {
            (0..64)
                .map(|place| Mask { seed, keep: 0.5 }.keeps(key, place))
                .collect::<Vec<_>>()
        };
        assert_ne!(pattern(1, 0), pattern(2, 0));
        assert_ne!(pattern(1, 0), pattern(1, 1));
        assert_eq!(pattern(1, 1), pattern(1, 1));
    }

    #[test]
    fn a_mask_that_keeps_all_keeps_all() {
        assert!((0..1000).all(|place| Mask { seed: 9, keep: 1.0 }.keeps(1, place)));
    }
}
