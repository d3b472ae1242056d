//! MD5 of many short texts at once: the built-in function takes them one by one, and hands each digest on as a text.
//!
//! One digest is a chain of steps in which each waits for the one before; eight chains side by side keep a processor busy.

/// Chains side by side.
const LANES: usize = 8;
/// A text of at most this many bytes is one block, with the bit that ends it and its length.
pub(crate) const MOST_BYTES: usize = 55;
const BLOCK: usize = 64;

const START: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
/// ⌊2³²·|sin(step + 1)|⌋.
const SINES: [u32; 64] = [
    0xd76a_a478,
    0xe8c7_b756,
    0x2420_70db,
    0xc1bd_ceee,
    0xf57c_0faf,
    0x4787_c62a,
    0xa830_4613,
    0xfd46_9501,
    0x6980_98d8,
    0x8b44_f7af,
    0xffff_5bb1,
    0x895c_d7be,
    0x6b90_1122,
    0xfd98_7193,
    0xa679_438e,
    0x49b4_0821,
    0xf61e_2562,
    0xc040_b340,
    0x265e_5a51,
    0xe9b6_c7aa,
    0xd62f_105d,
    0x0244_1453,
    0xd8a1_e681,
    0xe7d3_fbc8,
    0x21e1_cde6,
    0xc337_07d6,
    0xf4d5_0d87,
    0x455a_14ed,
    0xa9e3_e905,
    0xfcef_a3f8,
    0x676f_02d9,
    0x8d2a_4c8a,
    0xfffa_3942,
    0x8771_f681,
    0x6d9d_6122,
    0xfde5_380c,
    0xa4be_ea44,
    0x4bde_cfa9,
    0xf6bb_4b60,
    0xbebf_bc70,
    0x289b_7ec6,
    0xeaa1_27fa,
    0xd4ef_3085,
    0x0488_1d05,
    0xd9d4_d039,
    0xe6db_99e5,
    0x1fa2_7cf8,
    0xc4ac_5665,
    0xf429_2244,
    0x432a_ff97,
    0xab94_23a7,
    0xfc93_a039,
    0x655b_59c3,
    0x8f0c_cc92,
    0xffef_f47d,
    0x8584_5dd1,
    0x6fa8_7e4f,
    0xfe2c_e6e0,
    0xa301_4314,
    0x4e08_11a1,
    0xf753_7e82,
    0xbd3a_f235,
    0x2ad7_d2bb,
    0xeb86_d391,
];

/// A number in each lane.
type Lanes = [u32; LANES];

/// Texts that wait until there is one in each lane.
pub(crate) struct Digests<F: FnMut([u32; 4])> {
    blocks: [[u8; BLOCK]; LANES],
    waiting: usize,
    /// Gets the digests in the order of the texts: four words each, whose bytes are to be read from the lowest up.
    take: F,
}

impl<F: FnMut([u32; 4])> Digests<F> {
    pub(crate) fn new(take: F) -> Self {
        Self {
            blocks: [[0; BLOCK]; LANES],
            waiting: 0,
            take,
        }
    }

    /// One more text, of at most [`MOST_BYTES`].
    pub(crate) fn push(&mut self, text: &[u8]) {
        let block = &mut self.blocks[self.waiting];
        block[..text.len()].copy_from_slice(text);
        block[text.len()] = 0x80;
        block[text.len() + 1..BLOCK - 8].fill(0);
        block[BLOCK - 8..].copy_from_slice(&(8 * text.len() as u64).to_le_bytes());
        self.waiting += 1;
        if self.waiting == LANES {
            self.flush();
        }
    }

    /// There are no more texts for now.
    pub(crate) fn flush(&mut self) {
        let [a, b, c, d] = digests(&self.blocks);
        let lanes = a.into_iter().zip(b).zip(c).zip(d);
        for (((a, b), c), d) in lanes.take(self.waiting) {
            (self.take)([a, b, c, d]);
        }
        self.waiting = 0;
    }
}

fn digests(blocks: &[[u8; BLOCK]; LANES]) -> [Lanes; 4] {
    let mut words = [[0u32; LANES]; 16];
    for (lane, block) in blocks.iter().enumerate() {
        for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
            word[lane] = u32::from_le_bytes(*bytes);
        }
    }
    let mut state = START.map(|word| [word; LANES]);
    round::<0, 7, 12, 17, 22>(&mut state, &words, |step| step, |b, c, d| d ^ (b & (c ^ d)));
    round::<16, 5, 9, 14, 20>(
        &mut state,
        &words,
        |step| (5 * step + 1) % 16,
        |b, c, d| c ^ (d & (b ^ c)),
    );
    round::<32, 4, 11, 16, 23>(
        &mut state,
        &words,
        |step| (3 * step + 5) % 16,
        |b, c, d| b ^ c ^ d,
    );
    round::<48, 6, 10, 15, 21>(&mut state, &words, |step| (7 * step) % 16, |b, c, d| c ^ (b | !d));
    for (words, start) in state.iter_mut().zip(START) {
        for word in words {
            *word = word.wrapping_add(start);
        }
    }
    state
}

/// Sixteen steps, which turn by four numbers of bits in turn.
#[inline(always)]
fn round<const FIRST: usize, const A: u32, const B: u32, const C: u32, const D: u32>(
    state: &mut [Lanes; 4],
    words: &[Lanes; 16],
    place: impl Fn(usize) -> usize,
    mix: impl Fn(u32, u32, u32) -> u32,
) {
    let [mut a, mut b, mut c, mut d] = *state;
    for step in (FIRST..FIRST + 16).step_by(4) {
        a = turn::<A>(a, b, c, d, SINES[step], &words[place(step)], &mix);
        d = turn::<B>(d, a, b, c, SINES[step + 1], &words[place(step + 1)], &mix);
        c = turn::<C>(c, d, a, b, SINES[step + 2], &words[place(step + 2)], &mix);
        b = turn::<D>(b, c, d, a, SINES[step + 3], &words[place(step + 3)], &mix);
    }
    *state = [a, b, c, d];
}

/// One step in all lanes.
#[inline(always)]
fn turn<const BITS: u32>(
    a: Lanes,
    b: Lanes,
    c: Lanes,
    d: Lanes,
    sine: u32,
    words: &Lanes,
    mix: &impl Fn(u32, u32, u32) -> u32,
) -> Lanes {
    std::array::from_fn(|lane| {
        let sum = a[lane]
            .wrapping_add(mix(b[lane], c[lane], d[lane]))
            .wrapping_add(sine)
            .wrapping_add(words[lane]);
        b[lane].wrapping_add(sum.rotate_left(BITS))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hexadecimal(texts: &[&[u8]]) -> Vec<String> {
        let mut found = Vec::new();
        let mut digests = Digests::new(|words: [u32; 4]| {
            let bytes = words.into_iter().flat_map(u32::to_le_bytes);
            found.push(bytes.map(|byte| format!("{byte:02x}")).collect());
        });
        for text in texts {
            digests.push(text);
        }
        digests.flush();
        found
    }

    /// The test suite of RFC 1321, as far as its texts are short, and more texts than lanes.
    #[test]
    fn digests_are_those_of_the_standard() {
        let suite: [(&str, &str); 5] = [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("a", "0cc175b9c0f1b6a831c399e269772661"),
            ("abc", "900150983cd24fb0d6963f7d28e17f72"),
            ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
        ];
        let repeated = || suite.iter().cycle().take(2 * LANES + 3);
        let texts: Vec<&[u8]> = repeated().map(|(text, _)| text.as_bytes()).collect();
        let expected: Vec<&str> = repeated().map(|(_, digest)| *digest).collect();
        assert_eq!(hexadecimal(&texts), expected);
    }

    #[test]
    fn the_longest_text_is_one_block() {
        assert_eq!(
            hexadecimal(&[&[b'1'; MOST_BYTES]]),
            ["1e817ad27a934e9db7239bc92a4e0932"]
        );
    }
}
