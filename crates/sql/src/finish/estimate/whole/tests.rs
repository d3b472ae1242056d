use super::*;

/// Deviations of an interval of 95 %.
const WITHIN: f64 = 1.96;

/// A generator of numbers for simulations: SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn part(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.part()).ln()).sqrt() * (std::f64::consts::TAU * self.part()).cos()
    }

    /// A number with noise, and half of its 95 % interval.
    fn noisy(&mut self, value: f64, deviation: f64) -> Noisy {
        Noisy {
            value: value + deviation * self.normal(),
            half: 1.96 * deviation,
        }
    }
}

const GROUPS: usize = 12;

/// Rows of each person in each group, with a heavy tail. `liking`: how much more a person with many rows comes to the first group.
fn people(random: &mut Random, liking: f64) -> Vec<[f64; GROUPS]> {
    let person = |random: &mut Random| {
        let rows = (0.5 + (1.2 + 0.9 * random.normal()).exp()) as usize;
        let mut groups = [0.0; GROUPS];
        for _ in 0..rows {
            let group = (random.part() * GROUPS as f64) as usize;
            let first = random.part() < liking * rows as f64 / 100.0;
            groups[if first { 0 } else { group.min(GROUPS - 1) }] += 1.0;
        }
        groups
    };
    (0..10_000).map(|_| person(random)).collect()
}

/// What a release tells if a person's rows in all groups are scaled down to `limit`.
fn released(random: &mut Random, people: &[[f64; GROUPS]], limit: f64) -> (CutShare, Vec<Pair>, Vec<f64>) {
    let (mut near, mut truth) = ([0.0; GROUPS], vec![0.0; GROUPS]);
    let mut over = 0.0;
    for person in people {
        let rows: f64 = person.iter().sum();
        let scale = (limit / rows.max(1.0)).min(1.0);
        over += f64::from(u8::from(scale < 1.0));
        for group in 0..GROUPS {
            near[group] += scale * person[group];
            truth[group] += person[group];
        }
    }
    let everything: f64 = truth.iter().sum();
    let kept: f64 = near.iter().sum();
    let share = CutShare {
        statistic: 0,
        over: random.noisy(over, 40.0),
        everything: random.noisy(everything, 20.0 * limit),
        cut: random.noisy(everything - kept, 15.0 * limit),
    };
    let pairs = near.iter().zip(&truth);
    let pairs = pairs.map(|(near, truth)| Pair {
        near: Some(random.noisy(*near, 3.0 * limit)),
        far: Some(random.noisy(*truth, 200.0 * limit)),
    });
    (share, pairs.collect(), truth)
}

/// How many of the intervals hold the truth, and half of their width beside it, in the median.
fn covered(seed: u64, limit: f64, liking: f64) -> (f64, f64) {
    let mut random = Random(seed);
    let (mut held, mut widths) = (0, Vec::new());
    for _ in 0..20 {
        let people = people(&mut random, liking);
        let (share, pairs, truth) = released(&mut random, &people, limit);
        let best = corrected(&share, &pairs, true).expect("the part is telling");
        for (best, truth) in best.into_iter().zip(truth) {
            let (low, high) = best.interval(WITHIN);
            held += usize::from(low <= truth && truth <= high);
            widths.push((high - low) / 2.0 / truth);
        }
    }
    widths.sort_by(f64::total_cmp);
    (held as f64 / widths.len() as f64, widths[widths.len() / 2])
}

/// Of 240 intervals that each hold with 95 %, fewer than 93 % hold in one run of eleven; with this seed they do not.
#[test]
fn nearly_all_intervals_hold_the_truth() {
    for (limit, widest) in [(12.0, 0.15), (20.0, 0.08), (6.0, 0.35)] {
        let (held, width) = covered(7, limit, 0.0);
        assert!(held >= 0.93, "limit {limit}: {held}");
        assert!(width < widest, "limit {limit}: ± {width} of the truth");
    }
}

/// Persons with many rows come to one group more than to others, so that more of it is cut.
#[test]
fn groups_that_lose_unequally_are_noticed() {
    for liking in [0.5, 1.0] {
        let (held, width) = covered(8, 12.0, liking);
        assert!(held >= 0.90, "liking {liking}: {held}, ± {width}");
    }
    // Two groups differ from the rest by more than errors explain, so all are less sure.
    let alike: Vec<(f64, f64, f64)> = (0..12).map(|place| (f64::from(place % 3), 4.0, 1.0)).collect();
    assert_eq!(seen_unequal(&alike), UNEQUAL);
    let mut unlike = alike;
    (unlike[3].0, unlike[7].0) = (20.0, -20.0);
    assert!(seen_unequal(&unlike) > 2.0, "{}", seen_unequal(&unlike));
}

#[test]
fn a_part_that_says_little_is_not_used() {
    let noisy = |value: f64, half: f64| Noisy { value, half };
    let share = |cut: Noisy, everything: Noisy| CutShare {
        statistic: 0,
        over: noisy(10.0, 1.0),
        everything,
        cut,
    };
    let pair = Pair {
        near: Some(noisy(100.0, 1.0)),
        far: Some(noisy(120.0, 300.0)),
    };
    let used = |share: CutShare| corrected(&share, &[pair; 3], true);
    assert!(used(share(noisy(100.0, 10.0), noisy(1000.0, 10.0))).is_some());
    assert_eq!(used(share(noisy(100.0, 10.0), noisy(1000.0, 1001.0))), None);
    assert_eq!(used(share(noisy(100.0, 900.0), noisy(1000.0, 10.0))), None);
    assert_eq!(used(share(noisy(900.0, 10.0), noisy(1000.0, 10.0))), None);
    // A group without a value has no estimate.
    let nothing = Pair { near: None, ..pair };
    assert_eq!(
        corrected(
            &share(noisy(100.0, 10.0), noisy(1000.0, 10.0)),
            &[pair, nothing],
            true
        ),
        None
    );
}

/// Without groups, what is cut of everything is what is cut of the number.
#[test]
fn without_groups_what_is_cut_is_added() {
    let noisy = |value: f64, half: f64| Noisy { value, half };
    let share = CutShare {
        statistic: 0,
        over: noisy(10.0, 1.0),
        everything: noisy(1000.0, 10.0),
        cut: noisy(100.0, 4.0),
    };
    let pair = Pair {
        near: Some(noisy(900.0, 3.0)),
        far: None,
    };
    let best = corrected(&share, &[pair], false).unwrap()[0];
    let (low, high) = best.interval(WITHIN);
    assert_eq!(best.value, 1000.0);
    assert!(
        (low - 995.0).abs() < 0.01 && (high - 1005.0).abs() < 0.01,
        "{low} {high}"
    );
    // It is at least what the question saw.
    let surely = Best {
        value: 10.0,
        deviation: 5.0,
        least: (12.0, 1.0),
    };
    assert!((surely.interval(WITHIN).0 - 9.59).abs() < 0.01);
}

/// An upper end that says nothing is left open.
#[test]
fn an_upper_end_that_says_nothing_is_open() {
    let near = (Some(1000.0), Some((900.0, 1100.0)));
    let far = |width: f64| (Some(5000.0), Some((5000.0 - width, 5000.0 + width)));
    let (value, interval) = by_far(near, far(400_000.0), true);
    assert_eq!((value, interval), (Some(1000.0), Some((900.0, f64::INFINITY))));
    // A sum that may fall has no such end.
    assert_eq!(
        by_far(near, far(400_000.0), false).1,
        Some((-395_000.0, 405_000.0))
    );
    // A precise value stands in for one that was cut short.
    assert_eq!(
        by_far(near, far(100.0), true),
        (Some(5000.0), Some((4900.0, 5100.0)))
    );
}
