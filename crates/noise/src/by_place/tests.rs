use super::*;
use crate::OsEntropy;
use audit::goodness;
use exact::{Interval, parse_decimal, ratio};

const SCALES: [&str; 9] = [
    "0.4",
    "1",
    "3.7",
    "17.5",
    "1000",
    "12345.678",
    "1e9/7",
    "3e9",
    "1e13",
];

fn key(entropy: &mut OsEntropy) -> [u8; 32] {
    let mut key = [0; 32];
    for part in key.chunks_exact_mut(8) {
        part.copy_from_slice(&entropy.bits(64).to_le_bytes());
    }
    key
}

#[test]
fn placed_noise_fits() {
    let mut entropy = OsEntropy::new().unwrap();
    let mut samples = vec![0i64; 1_000_000];
    for scale in SCALES {
        let scale = parse_decimal(scale).unwrap();
        let noise = RoundedGaussian::with_scale(&scale).unwrap();
        samples.fill(0);
        PlacedGaussian::new(&noise, key(&mut entropy)).add_to(0, &mut samples);
        goodness::cdf_test(&samples, goodness::rounded_gaussian_cdf(&scale), 1e-9).assert_consistent();
        let mutant = goodness::rounded_gaussian_cdf(&(&scale * ratio(21, 20)));
        if scale > ratio(1, 2) {
            goodness::cdf_test(&samples, mutant, 1e-9).assert_rejected();
        }
    }
}

/// The noise at each place, with every attempt judged exactly: what all verdicts are held against.
fn exactly(noise: &PlacedGaussian<'_>, places: std::ops::Range<u64>) -> Vec<i64> {
    let at = |place: u64| {
        let (group, row, lane) = (place / 256, place / 16 % 16, place % 16);
        let mut stream = Keyed::new(noise.key, 0);
        let mut attempt = Attempt::new([0, 16, 32].map(|block| {
            let mut words = [[0u8; 4]; 16];
            stream.go_to(0, 48 * group + block + lane);
            stream.bytes(words.as_flattened_mut());
            words[row as usize]
        }));
        let mut later = Keyed::new(noise.key, 2 * place + 1);
        let mut number = 0;
        loop {
            if let Some(value) = noise.judged_exactly(place, number, attempt, 0) {
                return value;
            }
            let mut words = [[0u8; 4]; 3];
            later.bytes(words.as_flattened_mut());
            attempt = Attempt::new(words);
            number += 1;
        }
    };
    places.map(at).collect()
}

/// Quick verdicts or exact ones, at once or place by place, from the start or from the middle: it is the same noise. A judge of steeper blocks is found out.
#[test]
fn who_computes_does_not_matter() {
    let mut entropy = OsEntropy::new().unwrap();
    for scale in SCALES {
        let noise = RoundedGaussian::with_scale(&parse_decimal(scale).unwrap()).unwrap();
        let mut placed = PlacedGaussian::new(&noise, key(&mut entropy));
        let mut values = vec![0i64; 50_001];
        placed.add_to(0, &mut values);
        assert!(values == exactly(&placed, 0..50_001), "{scale}");
        let mut part = vec![0i64; 1003];
        placed.add_to(40_960, &mut part);
        assert!(part == values[40_960..41_963]);
        for place in [0u64, 1, 15, 16, 255, 256, 777, 50_000] {
            assert_eq!(placed.added(place, 5), values[place as usize] + 5);
            assert_eq!(
                placed.added(place, i64::MAX),
                i64::MAX.saturating_add(values[place as usize])
            );
        }
        placed.tables.steepness += placed.tables.steepness / 10;
        let mut mutant = vec![0i64; 50_001];
        placed.add_to(0, &mut mutant);
        assert!(mutant != values, "{scale}");
    }
}

/// How many verdicts of each kind there are right at the threshold, and how many of them are wrong for some number that begins with the attempt's bits: kept means that the last place
/// and the largest coin are kept, dropped that the first place and the smallest coin are not.
fn verdicts(placed: &PlacedGaussian<'_>, entropy: &mut OsEntropy) -> ([u32; 3], u32) {
    let (mut seen, mut wrong) = ([0; 3], 0);
    for _ in 0..5_000 {
        let (word, place) = (entropy.bits(32) as u32, entropy.bits(32) as u32);
        let (cell, open) = placed.blocks.table.search(word >> 1);
        if open || cell + 1 == placed.blocks.distribution.cells {
            continue;
        }
        let position = ratio(place.into(), 1 << 32);
        let gamma = &placed.blocks.steepness * &position * (ratio(2 * i64::from(cell), 1) + &position);
        let threshold = u32::try_from(Interval::exp_of(&-gamma, 16).lo())
            .unwrap()
            .min(0xffff);
        for coin in threshold.saturating_sub(1)..=(threshold + 1).min(0xffff) {
            let kept = |rest: u64| {
                let place = (u64::from(place) << 32) | (rest >> 32);
                let coin = (u64::from(coin) << 48) | (rest >> 16);
                let mut tape = crate::Tape::new([0; 64]);
                placed
                    .blocks
                    .keep_exactly(cell.into(), place, coin, true, &mut tape)
            };
            let coin = coin << 16;
            match placed.judged(Attempt { word, place, coin }) {
                AttemptOutcome::Kept(found) => {
                    seen[0] += 1;
                    wrong += u32::from(found != cell || !kept(u64::MAX));
                }
                AttemptOutcome::Dropped => {
                    seen[1] += 1;
                    wrong += u32::from(kept(0));
                }
                AttemptOutcome::Open => seen[2] += 1,
            }
        }
    }
    (seen, wrong)
}

#[test]
fn verdicts_hold_for_all_continuations() {
    let mut entropy = OsEntropy::new().unwrap();
    for scale in ["17", "1000.5", "1e9/7", "3e9"] {
        let noise = RoundedGaussian::with_scale(&parse_decimal(scale).unwrap()).unwrap();
        let mut placed = PlacedGaussian::new(&noise, [0; 32]);
        let (seen, wrong) = verdicts(&placed, &mut entropy);
        assert_eq!(wrong, 0, "{scale}");
        assert!(
            seen.iter().all(|times| *times > 1_000),
            "each kind was looked at: {seen:?}"
        );
        // Blocks a thousandth steeper, or less steep, than they are.
        let right = placed.tables.steepness;
        for mutant in [right - right / 1000, right + right / 1000] {
            placed.tables.steepness = mutant;
            assert!(verdicts(&placed, &mut entropy).1 > 0, "{scale}");
        }
    }
}

/// What an entry tells is what a search finds, around every bound.
#[test]
fn entries_tell_what_a_search_finds() {
    for scale in SCALES {
        let noise = RoundedGaussian::with_scale(&parse_decimal(scale).unwrap()).unwrap();
        let blocks = &noise.narrow().blocks;
        let mut known = 0;
        for (part, entry) in (0u32..).zip(&noise.narrow().entries) {
            let (first, last) = (part << REST_BITS, ((part + 1) << REST_BITS) - 1);
            let bound = first + (entry & 0xf_ffff);
            for key in [
                first,
                first + 1,
                bound - u32::from(bound > first),
                bound,
                bound + 1,
                last,
            ] {
                let key = key.clamp(first, last);
                let (cell, reported) = reported(*entry, key << 1);
                if cell < OPEN && reported {
                    known += 1;
                    assert_eq!((cell, false), blocks.table.search(key), "{scale} {key}");
                    assert!(cell + 1 < blocks.distribution.cells);
                }
            }
        }
        assert!(known > 4 * 4000, "{known}");
    }
}

#[test]
fn few_are_left_open() {
    let mut entropy = OsEntropy::new().unwrap();
    let noise = RoundedGaussian::with_scale(&ratio(1 << 30, 1)).unwrap();
    let placed = PlacedGaussian::new(&noise, [0; 32]);
    let open = (0..1_000_000).filter(|_| {
        let mut bits = [0u32; 3];
        entropy.fill(&mut bits, 32);
        let [word, place, coin] = bits;
        placed.judged(Attempt { word, place, coin }) == AttemptOutcome::Open
    });
    let (_, high) = audit::binomial::clopper_pearson(open.count() as u64, 1_000_000, 1.0 - 1e-9);
    assert!(high < 1e-4, "{high}");
}

/// A run that goes on with a later version must draw what it drew: these numbers never change.
#[test]
fn the_noise_of_a_key_is_for_ever() {
    let noise = RoundedGaussian::with_scale(&ratio(1000, 1)).unwrap();
    let mut values = [0i64; 6];
    PlacedGaussian::new(&noise, [7; 32]).add_to(256, &mut values);
    assert_eq!(values, [817, 300, 24, 1257, 987, 1025]);
    assert_eq!(
        format!("{:?}", PlacedGaussian::new(&noise, [7; 32])),
        "PlacedGaussian(..)"
    );
}
