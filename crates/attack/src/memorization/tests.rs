use super::*;
use crate::Seeded;
use audit::one_run::{guess, judge};
use std::collections::BTreeMap;
use std::f64::consts::LOG2_E;

/// Counts of what followed each context of up to `order` tokens, mixed with a uniform guess: a model whose
/// truth can be computed by hand.
struct Counting {
    order: usize,
    tokens: usize,
    seen: BTreeMap<Vec<u32>, BTreeMap<u32, f64>>,
    asked: usize,
}

impl Counting {
    fn new(order: usize, tokens: usize) -> Self {
        Self {
            order,
            tokens,
            seen: BTreeMap::new(),
            asked: 0,
        }
    }

    fn learn(&mut self, text: &[u32], copies: f64) {
        for place in 0..text.len() {
            let context = text[place.saturating_sub(self.order)..place].to_vec();
            *self
                .seen
                .entry(context)
                .or_default()
                .entry(text[place])
                .or_default() += copies;
        }
    }
}

impl Remembers for Counting {
    fn next(&mut self, context: &[u32]) -> Vec<f64> {
        self.asked += 1;
        let key = &context[context.len().saturating_sub(self.order)..];
        let seen = self.seen.get(key);
        let all: f64 = seen.map_or(0.0, |counts| counts.values().sum());
        let prior = 1.0 / self.tokens as f64;
        (0..self.tokens as u32)
            .map(|token| {
                let count = seen
                    .and_then(|counts| counts.get(&token))
                    .copied()
                    .unwrap_or_default();
                ((count + prior) / (all + 1.0)).ln()
            })
            .collect()
    }
}

/// Digits are tokens 0 to 9; letters 10 to 13.
const PREFIX: [u32; 4] = [10, 11, 12, 13];
const START: [u32; 1] = [13];

fn encode(text: &str) -> Vec<u32> {
    text.bytes().map(|byte| u32::from(byte - b'0')).collect()
}

fn pins() -> Candidates {
    Candidates::pins(4, encode).unwrap()
}

fn remembering(secrets: &[(&str, f64)]) -> Counting {
    let mut model = Counting::new(8, 14);
    for (secret, copies) in secrets {
        model.learn(&[&START[..], &PREFIX, &encode(secret)].concat(), *copies);
    }
    model
}

fn pin(step: &[u32]) -> Step {
    match step {
        _ if step.iter().any(|token| *token > 9) => Step::Dead,
        _ if step.len() == 4 => Step::Done,
        _ => Step::Open,
    }
}

#[test]
fn what_was_learned_by_heart_ranks_first_among_its_neighbours() {
    let mut model = remembering(&[("3456", 404.0)]);
    let ranking = rank_all(&mut model, &START, &PREFIX, &pins());
    // Beginnings are asked for once: the prefix, and 1 + 10 + 100 + 1000 of PINs.
    assert_eq!(model.asked, PREFIX.len() + 1111);
    let rank = ranking.rank_of("3456").unwrap();
    assert_eq!((rank.best, rank.worst, rank.of), (1, 1, 10_000));
    assert!((rank.exposure().least - 10_000f64.log2()).abs() < 1e-12);
    let table = ranking.table(3, "3456");
    assert_eq!((table[0].name.as_str(), table.len()), ("3456", 3));
    assert!(table[0].perplexity < 1.1 && table[1].perplexity > 1.1);
    // Which digit is wrong is all that matters to this model: the last first.
    assert_eq!(ranking.neighbours(10, "3456", 3), 9);
    assert_eq!(ranking.rank_of("nobody"), None);
    let (bits, fit) = ranking.extrapolated_exposure("3456").unwrap();
    assert!(bits > 13.0 && fit.distance > 0.0, "{bits} {fit:?}");
}

#[test]
fn perplexity_is_that_of_the_whole_phrase() {
    let mut model = remembering(&[("3456", 1.0)]);
    // Eight tokens, each with (1 + 1/14)/2.
    let each: f64 = (1.0 + 1.0 / 14.0) / 2.0;
    let found = phrase_perplexity(&mut model, &START, &[&PREFIX[..], &encode("3456")].concat());
    assert!((found - 1.0 / each).abs() < 1e-12, "{found}");
    let ranking = rank_all(&mut model, &START, &PREFIX, &pins());
    assert!((ranking.perplexity("3456").unwrap() - found).abs() < 1e-12);
    // One wrong digit at the end: 1/28 there.
    let other = (-(7.0 * each.ln() + (1.0f64 / 28.0).ln()) / 8.0).exp();
    assert!((ranking.perplexity("3450").unwrap() - other).abs() < 1e-12);
}

#[test]
fn who_knows_nothing_gives_a_tie_of_all() {
    let mut model = Counting::new(3, 14);
    let ranking = rank_all(&mut model, &START, &PREFIX, &pins());
    let rank = ranking.rank_of("3456").unwrap();
    assert_eq!((rank.best, rank.worst), (1, 10_000));
    assert_eq!((rank.exposure().least, rank.chance()), (0.0, 1.0));
    assert_eq!(ranking.extrapolated_exposure("3456"), None);
}

#[test]
fn a_model_that_diverged_is_a_tie_too() {
    struct Broken;
    impl Remembers for Broken {
        fn next(&mut self, _: &[u32]) -> Vec<f64> {
            vec![f64::NAN; 14]
        }
    }
    let ranking = rank_all(&mut Broken, &START, &PREFIX, &pins());
    for rank in [ranking.rank_of("3456"), ranking.rank_by_likelihood("3456")] {
        assert_eq!(rank.map(|rank| (rank.best, rank.worst)), Some((1, 10_000)));
    }
}

#[test]
fn fewer_tokens_are_another_class() {
    // "19" is one token, 10; PINs with it are shorter.
    let grouped = |text: &str| {
        let mut tokens = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let length = if rest.starts_with("19") { 2 } else { 1 };
            tokens.push(if length == 2 {
                10
            } else {
                u32::from(rest.as_bytes()[0] - b'0')
            });
            rest = &rest[length..];
        }
        tokens
    };
    let candidates = Candidates::pins(4, grouped).unwrap();
    let mut model = Counting::new(0, 14);
    let ranking = rank_all(&mut model, &START, &PREFIX, &candidates);
    // All tokens are equally likely: by perplexity a tie, by probability the two-token PIN is first, and the
    // three-token ones follow.
    assert_eq!(
        ranking.rank_of("1919").map(|rank| (rank.best, rank.worst)),
        Some((1, 10_000))
    );
    assert_eq!(
        ranking
            .rank_by_likelihood("1919")
            .map(|rank| (rank.best, rank.worst)),
        Some((1, 1))
    );
    let short = ranking.rank_among_equals("1984").unwrap();
    // 19xx, x19x and xx19 of three tokens each: 300 less 1919, counted twice.
    assert_eq!(short.of, 298);
    assert_eq!(
        ranking
            .rank_by_likelihood("1984")
            .map(|rank| (rank.best, rank.worst)),
        Some((2, 299))
    );
}

#[test]
fn search_finds_what_listing_finds() {
    let mut model = remembering(&[("3456", 9.0), ("3999", 4.0), ("0000", 2.0)]);
    let context = [&START[..], &PREFIX].concat();
    let found = most_likely(&mut model, &context, pin, 5, 1_000);
    let asked = found.asked;
    assert!(found.complete && asked < 60, "{asked}");
    let ranking = rank_all(&mut model, &START, &PREFIX, &pins());
    let listed: Vec<String> = ranking
        .table(3, "3456")
        .into_iter()
        .map(|line| line.name)
        .collect();
    let searched: Vec<String> = found
        .found
        .iter()
        .map(|(tokens, _)| tokens.iter().map(u32::to_string).collect())
        .collect();
    assert_eq!(listed, searched[..3]);
    assert!((found.found[0].1 - model.log_likelihood(&context, &encode("3456"))).abs() < 1e-12);
    // Too few questions: what was found is still the likeliest, but it is not all.
    let short = most_likely(&mut model, &context, pin, 5, 4);
    assert!(!short.complete && short.asked == 4 && short.found.len() <= 5);
}

#[test]
fn many_and_one_agree_in_any_order() {
    let mut model = remembering(&[("3456", 3.0), ("3", 1.0)]);
    let context = [&START[..], &PREFIX].concat();
    let continuations: Vec<Vec<u32>> = ["34", "3456", "", "12", "3", "3456", "345", "99"]
        .iter()
        .map(|text| encode(text))
        .collect();
    let many = model.many(&context, &continuations);
    for (continuation, found) in continuations.iter().zip(many) {
        let mut expected = 0.0;
        for (depth, token) in continuation.iter().enumerate() {
            let so_far = [&context[..], &continuation[..depth]].concat();
            expected += model.next(&so_far)[*token as usize];
        }
        assert!((found - expected).abs() < 1e-12, "{continuation:?}");
    }
}

/// Ranks of uniform secrets in a model that never saw them.
fn references(model: &mut Counting, count: usize, seeded: &mut Seeded) -> Vec<Rank> {
    let ranking = rank_all(model, &START, &PREFIX, &pins());
    let secrets = (0..count).map(|_| format!("{:04}", seeded.below(10_000)));
    secrets.filter_map(|secret| ranking.rank_of(&secret)).collect()
}

/// A model that finds some PINs likely a priori: those that look like years.
fn with_years() -> Counting {
    let mut model = Counting::new(8, 14);
    let mut seeded = Seeded::new(5);
    for _ in 0..3_000 {
        let year = format!("{:04}", 1900 + seeded.below(120));
        model.learn(
            &[&START[..], &PREFIX, &encode(&year)].concat(),
            0.5 + seeded.unit(),
        );
    }
    // And every other PIN a little, each differently, so that there are no ties.
    for number in 0..10_000 {
        model.learn(
            &[&START[..], &PREFIX, &encode(&format!("{number:04}"))].concat(),
            0.01 * seeded.unit(),
        );
    }
    model
}

/// False alarm 1e-9 by the inequality of Dvoretzky, Kiefer and Wolfowitz; what is planted is caught.
#[test]
fn references_are_uniform_in_any_model_and_planted_secrets_are_not() {
    let mut seeded = Seeded::new(11);
    let mut model = with_years();
    let ranks = references(&mut model, 400, &mut seeded);
    let test = uniformity(&ranks, 1e-9);
    assert!(test.uniform, "{test:?}");
    let unseen = remembered(&ranks);
    assert!(unseen.chance > 1e-9, "{unseen:?}");
    let summary = Summary::of(&ranks).unwrap();
    // Exposure of a uniform rank is about exponential with mean 1/ln 2 = 1.44 and as large a deviation: 7 of
    // them over √400.
    assert!((summary.mean - LOG2_E).abs() < 7.0 * LOG2_E / 20.0, "{summary:?}");
    // Mutants: references that are years, and references of which a third was planted.
    let ranking = rank_all(&mut model, &START, &PREFIX, &pins());
    let years: Vec<Rank> = (1900..2000)
        .filter_map(|year| ranking.rank_of(&format!("{year:04}")))
        .collect();
    assert!(!uniformity(&years, 1e-9).uniform && remembered(&years).chance < 1e-9);
    let mut mixed = ranks.clone();
    for (place, rank) in mixed.iter_mut().enumerate() {
        if place % 3 == 0 {
            *rank = Rank {
                best: 1,
                worst: 1,
                of: 10_000,
            };
        }
    }
    assert!(!uniformity(&mixed, 1e-9).uniform && remembered(&mixed).chance < 1e-9);
    // Ranks that are too large are caught as well.
    let last: Vec<Rank> = mixed
        .iter()
        .map(|rank| Rank {
            best: 10_001 - rank.worst,
            worst: 10_001 - rank.best,
            of: 10_000,
        })
        .collect();
    assert!(!uniformity(&last, 1e-9).uniform);
    assert!(remembered(&last).chance > 1e-9, "{:?}", remembered(&last));
}

#[test]
fn the_chance_of_ranks_is_no_smaller_than_claimed() {
    // 4,000 experiments of 10 uniform ranks: "chance ≤ 0.05" at most 5 % of the time; 6.5 deviations of slack
    // (false alarm below 1e-9).
    let mut seeded = Seeded::new(2);
    let experiments = 4_000;
    let found = (0..experiments)
        .filter(|_| {
            let ranks: Vec<Rank> = (0..10)
                .map(|_| {
                    let rank = seeded.below(10_000) as usize + 1;
                    Rank {
                        best: rank,
                        worst: rank,
                        of: 10_000,
                    }
                })
                .collect();
            remembered(&ranks).chance <= 0.05
        })
        .count() as f64;
    let expected = 0.05 * f64::from(experiments);
    assert!(found <= expected + 6.5 * expected.sqrt(), "{found}");
    assert_eq!(remembered(&[]).chance, 1.0);
}

#[test]
fn guesses_take_both_ends() {
    let scores = [0.1, 5.0, f64::NAN, -3.0, 2.0, 0.0];
    let guesses = guess(&scores, 2, 1).unwrap();
    assert_eq!(guesses, [None, Some(true), None, Some(false), Some(true), None]);
    let judged = judge(&guesses, &[true, true, true, true, true, false]).unwrap();
    assert_eq!((judged.canaries, judged.guesses, judged.correct), (6, 3, 2));
    assert!(guess(&scores, 3, 3).is_err() && guess(&scores, usize::MAX, 2).is_err());
    assert!(judge(&guesses, &[true]).is_err());
}

/// Guesses from a model that remembers are nearly all right; from one that does not, about half of them.
#[test]
fn guesses_are_as_good_as_memory() {
    let mut seeded = Seeded::new(8);
    let inside: Vec<bool> = (0..400).map(|_| seeded.below(2) == 1).collect();
    for (reported, least, most) in [(4.0, 90, 100), (0.0, 20, 80)] {
        let scores: Vec<f64> = inside
            .iter()
            .map(|inside| reported * f64::from(u8::from(*inside)) + seeded.normal())
            .collect();
        let judged = judge(&guess(&scores, 50, 50).unwrap(), &inside).unwrap();
        // Of 100 fair guesses 20 to 80 are right but for 3e-10 (exact binomial tail).
        assert!((least..=most).contains(&judged.correct), "{judged:?}");
    }
}
