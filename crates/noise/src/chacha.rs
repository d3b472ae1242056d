//! Sixteen blocks of ChaCha12 at once, lane by lane, in plain Rust that compilers turn into wide instructions.

// Lanes and words are reported by their place.
#![allow(clippy::needless_range_loop)]

/// Blocks that are made at once.
pub(crate) const LANES: usize = 16;

/// One word of each of these blocks.
pub(crate) type Row = [u32; LANES];

/// The key as words.
pub(crate) fn words(key: &[u8; 32]) -> [u32; 8] {
    let (words, _) = key.as_chunks::<4>();
    std::array::from_fn(|place| u32::from_le_bytes(words[place]))
}

/// Adds the state that blocks begin with: constants, the key, the number of each block, and stream 0. It is not kept anywhere, so that there is no copy of the key to wipe.
#[inline(always)]
fn add_start(key: &[u32; 8], first: u64, rows: &mut [Row; 16]) {
    const WORDS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];
    for lane in 0..LANES {
        for word in 0..4 {
            rows[word][lane] = rows[word][lane].wrapping_add(WORDS[word]);
        }
        for word in 0..8 {
            rows[4 + word][lane] = rows[4 + word][lane].wrapping_add(key[word]);
        }
        let number = first.wrapping_add(lane as u64);
        rows[12][lane] = rows[12][lane].wrapping_add(number as u32);
        rows[13][lane] = rows[13][lane].wrapping_add((number >> 32) as u32);
    }
}

/// Writes the blocks of stream 0 from `first` on: row w has word w of each. The same bits as [`crate::Keyed`], in another order.
#[inline(always)]
pub(crate) fn write_blocks(key: &[u32; 8], first: u64, rows: &mut [Row; 16]) {
    *rows = [[0; LANES]; 16];
    add_start(key, first, rows);
    for _ in 0..6 {
        quarter::<0, 4, 8, 12>(rows);
        quarter::<1, 5, 9, 13>(rows);
        quarter::<2, 6, 10, 14>(rows);
        quarter::<3, 7, 11, 15>(rows);
        quarter::<0, 5, 10, 15>(rows);
        quarter::<1, 6, 11, 12>(rows);
        quarter::<2, 7, 8, 13>(rows);
        quarter::<3, 4, 9, 14>(rows);
    }
    add_start(key, first, rows);
}

#[inline(always)]
fn quarter<const A: usize, const B: usize, const C: usize, const D: usize>(rows: &mut [Row; 16]) {
    let (mut a, mut b, mut c, mut d) = (rows[A], rows[B], rows[C], rows[D]);
    for lane in 0..LANES {
        a[lane] = a[lane].wrapping_add(b[lane]);
        d[lane] = (d[lane] ^ a[lane]).rotate_left(16);
        c[lane] = c[lane].wrapping_add(d[lane]);
        b[lane] = (b[lane] ^ c[lane]).rotate_left(12);
        a[lane] = a[lane].wrapping_add(b[lane]);
        d[lane] = (d[lane] ^ a[lane]).rotate_left(8);
        c[lane] = c[lane].wrapping_add(d[lane]);
        b[lane] = (b[lane] ^ c[lane]).rotate_left(7);
    }
    (rows[A], rows[B], rows[C], rows[D]) = (a, b, c, d);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Keyed;

    #[test]
    fn they_are_the_blocks_of_a_keyed_stream() {
        let key: [u8; 32] = std::array::from_fn(|place| 7 * place as u8 + 3);
        // The second has counters on both sides of 2^32.
        for first in [0, (1 << 32) - 5] {
            let mut rows = [[0; LANES]; 16];
            write_blocks(&words(&key), first, &mut rows);
            let mut stream = Keyed::new(key, 0);
            stream.go_to(0, first);
            for lane in 0..LANES {
                let mut block = [[0u8; 4]; 16];
                stream.bytes(block.as_flattened_mut());
                let found = rows.map(|row| row[lane]);
                assert_eq!(found, block.map(u32::from_le_bytes), "{first} {lane}");
            }
        }
    }
}
