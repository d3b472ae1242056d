//! The deep search catches what it should, claims no more than is true, and may be stopped at any moment.
//! Seeds are fixed.

mod common;

use audit::Error;
use audit::black_box::{FindingVerdict, Hunt, Lens, Pair, Subject, Witness, word};
use audit::gallery::{Allowance, AuditPlan, Draws, EXHIBITS, Exhibit, Standing};
use common::SplitMix64;

const CONFIDENCE: f64 = 1.0 - 1e-9;
const PAIR: Pair = Pair { first: 0, second: 1 };

/// A closure as a subject, with a generator for its noise and one for the coins.
struct Closure<F>(F, SplitMix64, SplitMix64);

impl<F: FnMut(&mut SplitMix64, usize) -> Vec<f64> + Send> Subject for Closure<F> {
    type Error = Error;

    fn draw(&mut self, input: usize, times: u64, mut each: impl FnMut(&[f64])) -> Result<(), Error> {
        (0..times).for_each(|_| each(&self.0(&mut self.1, input)));
        Ok(())
    }

    fn bits(&mut self) -> u64 {
        self.2.bits()
    }

    fn text(&self, value: f64) -> Option<String> {
        (value.to_bits() == word(b"yes").to_bits()).then(|| "yes".to_string())
    }
}

fn subject<F: FnMut(&mut SplitMix64, usize) -> Vec<f64> + Send>(seed: u64, draw: F) -> [Closure<F>; 1] {
    [Closure(draw, SplitMix64::new(seed), SplitMix64::new(seed + 1000))]
}

fn hunt(draws: u64, confidence: f64) -> Hunt {
    Hunt {
        choosing: draws,
        testing: draws,
        delta: 0.0,
        confidence,
        lens: Lens::Everything,
    }
}

fn find<S: Subject<Error = Error>>(workers: &mut [S], draws: u64) -> Witness {
    let chosen = hunt(draws, CONFIDENCE).choose(workers, &[PAIR]).unwrap();
    let witness = chosen.test(workers, draws).unwrap();
    println!("{witness:?}");
    witness
}

fn plan(draws: u64, lens: Lens) -> AuditPlan {
    AuditPlan {
        seed: 5,
        draws: Draws::of(draws),
        workers: 2,
        confidence: CONFIDENCE,
        lens,
    }
}

#[test]
fn a_mechanism_with_ten_entries_is_caught_by_all_of_them_together() {
    // ε = 2 in all: no single entry tells more than 0.2.
    let draw = |generator: &mut SplitMix64, input: usize| {
        (0..10)
            .map(|_| ((input as f64 + generator.laplace(5.0)) * 64.0).round() / 64.0)
            .collect()
    };
    let witness = find(&mut subject(1, draw), 300_000);
    assert!(
        witness.epsilon_lower > 0.8 && witness.epsilon_lower < 2.0,
        "{}",
        witness.epsilon_lower
    );
    assert!(witness.event.contains("all values"), "{}", witness.event);
}

#[test]
fn words_are_reported_as_they_were_read() {
    let draw = |generator: &mut SplitMix64, input: usize| {
        let yes = generator.uniform() < [0.2, 0.8][input];
        vec![if yes { word(b"yes") } else { word(b"no") }]
    };
    let witness = find(&mut subject(2, draw), 40_000);
    assert_eq!(witness.verdict(1.0, 0.0), FindingVerdict::Refuted);
    assert_eq!(witness.verdict(1.387, 0.0), FindingVerdict::Consistent);
    assert!(
        [
            "value = “yes”",
            "value = a word",
            "output in {(“yes”)}",
            "output in {(a word)}"
        ]
        .contains(&witness.event.as_str()),
        "{}",
        witness.event
    );
}

#[test]
fn raw_bits_and_values_are_audited_apart() {
    let exhibit = Exhibit::named("float-laplace").unwrap();
    let bits = plan(400_000, Lens::Bits).audit(exhibit).unwrap();
    assert!(bits.epsilon_lower > 4.0, "{bits:?}");
    assert!(bits.event.contains("bit"), "{}", bits.event);
    let values = plan(400_000, Lens::Values).audit(exhibit).unwrap();
    assert_eq!(values.verdict(0.1, 0.0), FindingVerdict::Consistent);
    // Rounded, nothing is left to see.
    let rounded = plan(400_000, Lens::Bits)
        .audit(Exhibit::named("laplace").unwrap())
        .unwrap();
    assert_eq!(rounded.verdict(0.1, 0.0), FindingVerdict::Consistent);
}

#[test]
fn the_pair_that_gives_most_away_is_found() {
    // Inputs 0 and 1 differ by little, 2 and 3 by nothing, 4 and 5 by much.
    let centers = [0.0, 0.5, 3.0, 3.0, 1.0, 5.0];
    let draw = |generator: &mut SplitMix64, input: usize| {
        vec![((centers[input] + generator.laplace(1.0)) * 4.0).round()]
    };
    let pairs = [0, 2, 4].map(|first| Pair {
        first,
        second: first + 1,
    });
    let mut workers = subject(3, draw);
    let chosen = hunt(60_000, CONFIDENCE).choose(&mut workers, &pairs).unwrap();
    assert_eq!(chosen.pair(), pairs[2]);
    let witness = chosen.test(&mut workers, 60_000).unwrap();
    assert!(
        witness.epsilon_lower > 2.0 && witness.epsilon_lower < 4.0,
        "{witness:?}"
    );
}

/// Laplace noise of scale 4 on 0, 1 and 2, of which neighbours differ by one: exactly ε = 1/4 for a step. The
/// ends show twice that, and it is reported for one step. The mutant, which forgets that there are two,
/// claims more than is true. And at a level of 5 % the exact ε is refuted as rarely as stated: among 200
/// audits more than 30 times with probability below 1e-7.
#[test]
fn inputs_two_steps_apart_prove_what_one_step_loses() {
    let draw = |generator: &mut SplitMix64, input: usize| {
        vec![((input as f64 + generator.laplace(4.0)) * 4.0).round()]
    };
    let pairs = [Pair { first: 0, second: 1 }, Pair { first: 2, second: 1 }];
    let mut workers = subject(9, draw);
    let chosen = hunt(400_000, CONFIDENCE).choose(&mut workers, &pairs).unwrap();
    let witness = chosen.test(&mut workers, 400_000).unwrap();
    assert_eq!((witness.pair, witness.steps), (Pair { first: 0, second: 2 }, 2));
    let found = witness.epsilon_lower;
    assert!(found > 0.22 && found < 0.25 && 2.0 * found > 0.25, "{witness:?}");
    for delta in [0.0, 1e-6, 0.01] {
        assert!(witness.epsilon_at(delta) < 0.25, "{witness:?} at δ = {delta}");
    }
    // Noise that is symmetric shows as much on the other side.
    assert!(witness.mirror.is_some(), "{witness:?}");
    let (mut alarms, mut distant) = (0, 0);
    for _ in 0..200 {
        let chosen = hunt(3_000, 0.95).choose(&mut workers, &pairs).unwrap();
        let witness = chosen.test(&mut workers, 3_000).unwrap();
        distant += u32::from(witness.steps == 2);
        alarms += u32::from(witness.verdict(0.25, 0.0) == FindingVerdict::Refuted);
    }
    assert!(
        alarms <= 30 && distant > 50,
        "{alarms} false alarms, {distant} on the ends"
    );
    // For a δ above zero only neighbours are searched.
    let curious = Hunt {
        delta: 0.01,
        ..hunt(40_000, CONFIDENCE)
    };
    let chosen = curious.choose(&mut workers, &pairs).unwrap();
    assert_eq!(chosen.test(&mut workers, 1000).unwrap().steps, 1);
}

#[test]
fn it_may_stop_at_any_moment() {
    let draw = |generator: &mut SplitMix64, input: usize| {
        vec![f64::from(u8::from(generator.uniform() < [0.2, 0.4][input]))]
    };
    let mut workers = subject(4, draw);
    let chosen = hunt(20_000, CONFIDENCE).choose(&mut workers, &[PAIR]).unwrap();
    let mut looks = 0;
    let witness = chosen
        .test_until(&mut workers, 1024, |witness| {
            looks += 1;
            assert!(witness.epsilon_lower < 2f64.ln());
            witness.verdict(0.5, 0.0) == FindingVerdict::Refuted || looks > 500
        })
        .unwrap();
    assert!(
        witness.anytime && witness.verdict(0.5, 0.0) == FindingVerdict::Refuted,
        "{witness:?}"
    );
    assert!(looks < 100, "{looks} rounds");
}

#[test]
fn the_curve_bounds_every_delta() {
    // A value of its own with probability 1/4 on one side: no finite ε, and δ = 1/4 settles it.
    let draw = |generator: &mut SplitMix64, input: usize| {
        let value = (generator.bits() >> 61) as f64;
        vec![if input == 1 && value < 2.0 { 9.0 } else { value }]
    };
    let mut workers = subject(5, draw);
    let found = Hunt {
        delta: 0.05,
        ..hunt(100_000, CONFIDENCE)
    };
    let witness = found
        .choose(&mut workers, &[PAIR])
        .unwrap()
        .test(&mut workers, 100_000)
        .unwrap();
    assert!(
        witness.epsilon_at(0.0) > 5.0 && witness.epsilon_at(0.05) > 4.0,
        "{witness:?}"
    );
    let curve: Vec<f64> = (0..30)
        .map(|step| witness.epsilon_at(f64::from(step) / 100.0))
        .collect();
    assert!(curve.windows(2).all(|pair| pair[1] <= pair[0]));
    assert_eq!(curve[26], 0.0);
}

#[test]
fn the_gallery_is_reported_apart_with_few_draws() {
    // Enough for those that are badly broken; the bench shows the rest.
    let badly = [
        "histogram-wrong-scale",
        "noisy-max-value-exponential",
        "sparse-vector-5",
        "local-median",
        "float-laplace",
        "reused-noise",
    ];
    for exhibit in EXHIBITS {
        let exact = exhibit.exact_epsilon().to_f64_up();
        let witness = plan(160_000, Lens::Everything).audit(exhibit).unwrap();
        println!(
            "{}: {} of {exact}, {}",
            exhibit.name, witness.epsilon_lower, witness.event
        );
        assert!(witness.epsilon_lower < exact, "{}: {witness:?}", exhibit.name);
        if exhibit.standing == Standing::Correct {
            assert_eq!(
                witness.verdict(0.1, 0.0),
                FindingVerdict::Consistent,
                "{}",
                exhibit.name
            );
        }
        if badly.contains(&exhibit.name) {
            assert_eq!(
                witness.verdict(0.1, 0.0),
                FindingVerdict::Refuted,
                "{}",
                exhibit.name
            );
        }
    }
}

#[test]
fn the_same_plan_gives_the_same_witness() {
    let exhibit = Exhibit::named("sparse-vector-5").unwrap();
    let audit = |seed| {
        AuditPlan {
            seed,
            ..plan(20_000, Lens::Everything)
        }
        .audit(exhibit)
        .unwrap()
    };
    assert_eq!(audit(1), audit(1));
    assert_ne!(audit(1).hits, audit(2).hits);
}

/// Equal sides, everything to look at, a modest confidence: 200 audits at 5 % would give more than 30 false
/// alarms with probability below 1e-7. The mutant is the bound that the draws which chose the event promise:
/// it is above zero most of the time.
#[test]
fn false_alarms_are_as_rare_as_stated() {
    let draw = |generator: &mut SplitMix64, _| vec![generator.laplace(1.0), generator.laplace(2.0)];
    let mut workers = subject(6, draw);
    let mut alarms = 0;
    for _ in 0..200 {
        let chosen = hunt(3_000, 0.95).choose(&mut workers, &[PAIR]).unwrap();
        let witness = chosen.test(&mut workers, 3_000).unwrap();
        alarms += u32::from(
            witness.verdict(0.0, 0.0) == FindingVerdict::Refuted
                || witness.verdict(0.0, 0.02) == FindingVerdict::Refuted,
        );
    }
    assert!(alarms <= 30, "{alarms} false alarms");
}

/// The goal of the gallery: at most the stated rate over 1,000 audits of each correct exhibit. Minutes;
/// `bench/audit-run --false-alarms 1000` prints it.
#[test]
#[ignore = "minutes"]
fn a_thousand_audits_of_each_correct_exhibit() {
    for exhibit in EXHIBITS
        .iter()
        .filter(|exhibit| exhibit.standing == Standing::Correct)
    {
        let exact = exhibit.exact_epsilon().to_f64_up();
        let refuted = (0..1000)
            .filter(|seed| {
                let plan = AuditPlan {
                    seed: *seed,
                    draws: Draws::of(40_000),
                    workers: 1,
                    confidence: 0.95,
                    lens: Lens::Everything,
                };
                plan.audit(exhibit).unwrap().verdict(exact, 0.0) == FindingVerdict::Refuted
            })
            .count();
        println!("{}: {refuted} of 1000", exhibit.name);
        assert!(refuted <= 50, "{}: {refuted} of 1000", exhibit.name);
    }
}

#[test]
fn questions_without_sense_are_refused() {
    let mut workers = subject(7, |_: &mut SplitMix64, _| vec![0.0]);
    let good = hunt(1000, 0.99);
    let ask =
        |hunt: Hunt, workers: &mut [_], pairs: &[Pair]| -> Error { hunt.choose(workers, pairs).unwrap_err() };
    assert_eq!(ask(good, &mut workers, &[]), Error::NoPairs);
    assert_eq!(
        ask(
            Hunt {
                confidence: 1.0,
                ..good
            },
            &mut workers,
            &[PAIR]
        ),
        Error::ConfidenceOutOfRange
    );
    assert_eq!(
        ask(Hunt { delta: -0.1, ..good }, &mut workers, &[PAIR]),
        Error::DeltaOutOfRange
    );
    assert!(matches!(
        ask(Hunt { choosing: 10, ..good }, &mut workers, &[PAIR]),
        Error::TooFewSamples { .. }
    ));
    // A constant says nothing, and is no error.
    let witness = good
        .choose(&mut workers, &[PAIR])
        .unwrap()
        .test(&mut workers, 1000)
        .unwrap();
    assert_eq!(witness.verdict(0.0, 0.0), FindingVerdict::Consistent);
}

/// Stopped early or not, a true claim is refuted as rarely as stated. 200 audits at 5 % would give more than
/// 30 false alarms with probability below 1e-7.
#[test]
fn a_test_that_is_stopped_says_what_holds_at_any_moment() {
    let draw = |generator: &mut SplitMix64, _| vec![f64::from(u8::from(generator.uniform() < 0.5))];
    let mut workers = subject(8, draw);
    let (mut alarms, mut stopped) = (0, 0);
    for audit in 0..200 {
        let chosen = hunt(500, 0.95).choose(&mut workers, &[PAIR]).unwrap();
        let mut questions = 0;
        let witness = chosen
            .test_unless(&mut workers, 100_000, || {
                questions += 1;
                questions > 1 + audit % 9
            })
            .unwrap();
        let drawn = witness.draws[0] + witness.draws[1];
        assert!(
            if witness.anytime {
                drawn < 60_000
            } else {
                [59_968, 80_000, 89_984, 94_976, 100_032].contains(&drawn)
            },
            "{drawn}"
        );
        stopped += u32::from(drawn < 100_000);
        alarms += u32::from(witness.verdict(0.0, 0.0) == FindingVerdict::Refuted);
    }
    assert!(stopped > 100 && stopped < 200, "{stopped} were stopped");
    assert!(alarms <= 30, "{alarms} false alarms");
    // Stopped before the first draw it says nothing, and that is no error.
    let chosen = hunt(500, 0.95).choose(&mut workers, &[PAIR]).unwrap();
    let witness = chosen.test_unless(&mut workers, 100_000, || true).unwrap();
    assert_eq!((witness.draws, witness.epsilon_at(0.0)), ([0, 0], 0.0));
}

#[test]
fn an_allowance_is_kept_and_its_plan_can_be_replayed() {
    let exhibit = Exhibit::named("reused-noise").unwrap();
    let within = |clock: &dyn Fn() -> f64, seconds| {
        let allowance = Allowance { seconds, clock };
        plan(0, Lens::Everything)
            .audit_within(exhibit, allowance)
            .unwrap()
    };
    // A clock that goes on whenever it is looked at, ever faster, until the plan is made.
    let looks = std::cell::Cell::new(0u32);
    let look = || looks.replace(looks.get() + 1);
    let outcome = within(&|| (f64::from(look()).powi(2) / 4000.0).min(1.1), 1.3);
    assert!(
        !outcome.witness.anytime && outcome.witness.epsilon_lower > 5.0,
        "{outcome:?}"
    );
    assert_eq!(outcome.plan.audit(exhibit).unwrap(), outcome.witness);
    // One that never rests: the test is stopped before it begins.
    let outcome = within(&|| f64::from(look()), 1.3);
    assert!(
        outcome.witness.anytime && outcome.witness.draws == [0, 0],
        "{outcome:?}"
    );
}

/// What made the search for the pair and the event a race: the worst event of the third sparse vector has a
/// probability of a two-hundredth on two of eight pairs, and gives away three times as much as anything
/// common does.
#[test]
#[ignore = "a minute"]
fn a_rare_event_of_few_pairs_is_found() {
    let exhibit = Exhibit::named("sparse-vector-3").unwrap();
    let draws = Draws {
        choosing: 60_000_000,
        testing: 60_000_000,
    };
    let audit = |seed| {
        let witness = AuditPlan {
            seed,
            draws,
            ..plan(0, Lens::Everything)
        }
        .audit(exhibit)
        .unwrap();
        println!("{witness:?}");
        witness.epsilon_lower
    };
    let found: Vec<f64> = (1..=3).map(audit).collect();
    assert!(found.iter().all(|found| *found < 0.15), "{found:?}");
    assert!(found.iter().all(|found| *found > 0.12), "{found:?}");
}

/// The same in small: the third sparse vector with a third of its noise, on five pairs of which two have the
/// event. Common events show an ε of 0.3 at most. So only a search that finds the event of probability 1/200
/// finds more, and that must not depend on the seed.
#[test]
fn a_rare_event_is_found_with_every_seed() {
    const QUERIES: [[f64; 3]; 10] = [
        [1.0; 3],
        [2.0; 3],
        [1.0; 3],
        [0.0; 3],
        [1.0; 3],
        [2.0, 0.0, 0.0],
        [1.0; 3],
        [0.0, 2.0, 2.0],
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 1.0],
    ];
    let draw = |generator: &mut SplitMix64, input: usize| {
        let threshold = 1.0 + generator.laplace(20.0 / 3.0);
        let mut row = Vec::new();
        for query in QUERIES[input] {
            let noisy = query + generator.laplace(20.0 / 3.0);
            if noisy >= threshold {
                row.push((noisy * 1024.0).round() / 1024.0);
                break;
            }
            row.push(word(b"below"));
        }
        row
    };
    let pairs = [0, 2, 4, 6, 8].map(|first| Pair {
        first,
        second: first + 1,
    });
    for seed in [4711, 31337, 987_654] {
        let mut workers = subject(seed, draw);
        let hunt = Hunt {
            testing: 20_000_000,
            ..hunt(4_000_000, 1.0 - 1e-4)
        };
        let chosen = hunt.choose(&mut workers, &pairs).unwrap();
        let witness = chosen.test(&mut workers, 2_500_000).unwrap();
        println!("{witness:?}");
        assert!(pairs[..2].contains(&witness.pair), "{witness:?}");
        assert!(
            witness.epsilon_lower > 0.3 && witness.epsilon_lower < 0.45,
            "{witness:?}"
        );
    }
}
