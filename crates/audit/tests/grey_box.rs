//! A program that spends what it says passes. Each way of spending more is caught, with the call that shows
//! it. Seeds are fixed; at δ = 0 a refutation is certain and has no false alarm.

mod common;

use audit::grey_box::{Call, Finding, GreyBox, Input, Limits, Neighbours, Norm, Recorder, Witness};
use audit::report::ClaimVerdict;
use common::SplitMix64;
use exact::{Rational, ratio};
use std::cell::RefCell;

/// One person: an income and a city.
type Person = (i64, u8);

const PEOPLE: [Person; 6] = [(20, 0), (95, 1), (30, 0), (0, 2), (70, 1), (100, 2)];
/// Extremes, and a city that nobody lives in.
const STRANGE: [Person; 4] = [(0, 0), (100, 1), (1_000_000, 2), (-1_000_000, 3)];

/// Noise from a seed, shared by the calls of a program.
struct Noise(RefCell<SplitMix64>);

impl Noise {
    fn new(seed: u64) -> Self {
        Self(RefCell::new(SplitMix64::new(seed)))
    }

    /// Discrete Laplace noise on a number that moves by at most `step`, for ε.
    fn laplace(&self, recorder: &mut Recorder, value: i64, step: i64, epsilon: Rational) -> i64 {
        let scale = Rational::from(step) / &epsilon;
        let call = Call::new("Laplace", epsilon)
            .with("scale", &scale)
            .moving(Limits::l1(Rational::from(step)));
        let scale = exact::to_f64_nearest(&scale);
        recorder.draw(call, value, || {
            value + self.0.borrow_mut().discrete_laplace(scale)
        })
    }
}

fn clipped_sum(people: &[Person]) -> i64 {
    people.iter().map(|person| person.0.clamp(0, 100)).sum()
}

/// ε = 1: half for a count, half for a sum, and only if the noisy count is large enough to make the sum worth
/// asking for.
fn careful(noise: &Noise) -> impl Fn(&[Person], &mut Recorder) -> Option<i64> {
    |people, recorder| {
        let count = noise.laplace(recorder, people.len() as i64, 1, ratio(1, 2));
        (count >= 3).then(|| noise.laplace(recorder, clipped_sum(people), 100, ratio(1, 2)))
    }
}

fn auditor() -> GreyBox {
    GreyBox::new(Rational::ONE, Rational::ZERO)
}

/// What a program that adds one rich person is caught with.
fn caught<R: PartialEq>(mut program: impl FnMut(&[Person], &mut Recorder) -> R) -> Witness {
    let found = auditor().search(&PEOPLE, &STRANGE, Neighbours::AddRemove, |people, recorder| {
        program(people, recorder)
    });
    assert_eq!(found.verdict(), ClaimVerdict::Refuted);
    let worst = found.worst.expect("a pair");
    assert_eq!(
        worst.first.len().abs_diff(worst.second.len()),
        1,
        "still neighbours"
    );
    println!("{:?} {:?}: {}", worst.first, worst.second, worst.finding.words());
    worst.finding.witness.expect("a witness")
}

#[test]
fn a_careful_program_passes() {
    let noise = Noise::new(1);
    for neighbours in [Neighbours::AddRemove, Neighbours::ChangeOne] {
        let found = auditor()
            .with_runs(50)
            .search(&PEOPLE, &STRANGE, neighbours, careful(&noise));
        assert_eq!(found.verdict(), ClaimVerdict::Consistent);
        assert_eq!(
            found.pairs,
            match neighbours {
                Neighbours::AddRemove => 6 + 4,
                Neighbours::ChangeOne => 6 * 4,
            }
        );
        let finding = found.worst.unwrap().finding;
        assert_eq!((finding.epsilon.clone(), finding.calls), (Rational::ONE, 2));
        // 50 runs without a bad one: (2·10⁹)^(1/50) − 1 or so.
        assert!(
            (0.3..0.4).contains(&finding.unseen_at_most()),
            "{}",
            finding.words()
        );
    }
}

#[test]
fn a_branch_on_private_data_is_caught() {
    let noise = Noise::new(2);
    let witness = caught(|people, recorder| {
        let count = noise.laplace(recorder, people.len() as i64, 1, ratio(1, 2));
        // The exact count decides, not the noisy one.
        let enough = people.len() >= 6;
        (
            count,
            enough.then(|| noise.laplace(recorder, clipped_sum(people), 100, ratio(1, 2))),
        )
    });
    assert!(matches!(witness, Witness::Extra { call: 2, .. }), "{witness}");
}

#[test]
fn an_understated_sensitivity_is_caught() {
    let noise = Noise::new(3);
    let witness = caught(|people, recorder| {
        let sum: i64 = people.iter().map(|person| person.0).sum();
        noise.laplace(recorder, sum, 100, Rational::ONE)
    });
    let Witness::Moved {
        call,
        norm,
        declared,
        moved,
        inputs,
        ..
    } = witness
    else {
        panic!("{witness}")
    };
    assert_eq!(
        (call, norm, declared, moved),
        (1, Norm::L1, ratio(100, 1), ratio(1_000_000, 1))
    );
    // Shrunk to nothing but the one who does not fit.
    let alone = [&Input::from(0), &Input::from(1_000_000), &Input::from(-1_000_000)];
    assert!(inputs.iter().all(|input| alone.contains(&input)), "{inputs:?}");
}

#[test]
fn a_call_too_many_is_caught() {
    let noise = Noise::new(4);
    let witness = caught(|people, recorder| {
        // One call for each city that occurs: their number is private.
        let mut cities: Vec<u8> = people.iter().map(|person| person.1).collect();
        cities.sort_unstable();
        cities.dedup();
        let count = |city: &u8| people.iter().filter(|person| person.1 == *city).count() as i64;
        let mut answers = Vec::new();
        for city in &cities {
            answers.push(noise.laplace(recorder, count(city), 1, ratio(1, 10)));
        }
        answers
    });
    assert!(matches!(witness, Witness::Extra { .. }), "{witness}");
}

#[test]
fn reused_noise_is_caught() {
    let noise = Noise::new(5);
    let witness = caught(|people, recorder| {
        let sum = clipped_sum(people);
        let noisy = noise.laplace(recorder, sum, 100, Rational::ONE);
        let used = noisy - sum;
        // A second answer for the noise of the first: it is not a function of the answers.
        (noisy, people.len() as i64 + used)
    });
    assert_eq!(witness, Witness::Result);
}

#[test]
fn noise_that_depends_on_the_data_is_caught() {
    let noise = Noise::new(6);
    let witness = caught(|people, recorder| {
        // Local sensitivity: the richest of these people, not the richest there can be.
        let richest = people
            .iter()
            .map(|person| person.0.clamp(0, 100))
            .max()
            .unwrap_or(0);
        noise.laplace(recorder, clipped_sum(people), richest.max(1), Rational::ONE)
    });
    let Witness::Stated { call: 1, calls } = &witness else {
        panic!("{witness}")
    };
    assert_ne!(calls[0], calls[1]);
    assert!(witness.to_string().contains("scale = "), "{witness}");
}

#[test]
fn a_result_that_goes_around_the_mechanisms_is_caught() {
    let noise = Noise::new(7);
    let witness = caught(|people, recorder| {
        let count = noise.laplace(recorder, people.len() as i64, 1, Rational::ONE);
        // "Negative counts look strange": corrected with the exact one.
        if count < 0 {
            people.len() as i64
        } else {
            count.max(people.len() as i64)
        }
    });
    assert_eq!(witness, Witness::Result);
}

#[test]
fn costs_that_add_up_to_more_are_caught() {
    let noise = Noise::new(8);
    let witness = caught(|people, recorder| {
        let ask = |recorder: &mut Recorder| noise.laplace(recorder, people.len() as i64, 1, ratio(1, 2));
        (ask(recorder), ask(recorder), ask(recorder))
    });
    assert_eq!(
        witness.to_string(),
        "the calls cost ε = 1.5, δ = 0 together, claimed was ε = 1, δ = 0"
    );
}

/// A private binary search: each question depends on the answers before it.
fn binary_search(values: &[i64], recorder: &mut Recorder, step: i64, peek: bool) -> (i64, i64) {
    let (mut low, mut high) = (0, 16);
    while high - low > 1 {
        let middle = (low + high) / 2;
        let below = values.iter().filter(|value| **value < middle).count() as i64;
        let score = 2 * below - values.len() as i64;
        let call = Call::new("noisy sign", ratio(1, 4)).moving(Limits::l_infinity(Rational::from(step)));
        let up = recorder.choose(call, score, &[false, true], || score < 0);
        // The mutant looks at the exact count when that seems clear enough.
        let up = if peek && below == 0 { true } else { up };
        if up { low = middle } else { high = middle }
    }
    (low, high)
}

#[test]
fn with_listed_answers_every_transcript_is_tried() {
    let values = [1, 3, 3, 8, 15];
    let search = |step: i64, peek: bool| {
        auditor().search(&values, &[0, 15], Neighbours::AddRemove, |values, recorder| {
            binary_search(values, recorder, step, peek)
        })
    };
    // A score moves by 1 when a value is added: up by 1 if it is below, down by 1 if not.
    let found = search(1, false);
    assert_eq!(
        (found.verdict(), found.pairs, found.proved),
        (ClaimVerdict::Proved, 7, 7)
    );
    let finding = found.worst.unwrap().finding;
    assert_eq!(
        (finding.runs, finding.calls, finding.unseen_at_most()),
        (16, 4, 0.0)
    );
    assert_eq!(finding.words(), "all 16 transcripts of up to 4 calls cost ε ≤ 1");
    // The branch that peeks is taken on few transcripts; all of them are tried, so it is found.
    let found = search(1, true);
    assert_eq!(found.verdict(), ClaimVerdict::Refuted);
    let worst = found.worst.unwrap();
    assert_eq!(
        worst.first.len() + worst.second.len(),
        1,
        "one value against none is enough"
    );
    // Change-one moves by 2.
    let changed = auditor().search(&values, &[0, 15], Neighbours::ChangeOne, |values, recorder| {
        binary_search(values, recorder, 1, false)
    });
    assert_eq!(changed.verdict(), ClaimVerdict::Refuted);
}

/// A test that lets through with probability `leak` what it should not, and then a value without noise to
/// speak of.
fn leaking(noise: &Noise, leak: f64, values: &[i64], recorder: &mut Recorder) -> Option<i64> {
    let call = Call::new("test", ratio(1, 2)).moving(Limits::l1(Rational::ZERO));
    let passes = recorder.choose(call, 0, &[false, true], || noise.0.borrow_mut().uniform() < leak);
    let sum = values.iter().sum();
    passes.then(|| noise.laplace(recorder, sum, 1, ratio(1, 2)))
}

#[test]
fn delta_makes_room_for_some_bad_transcripts() {
    let noise = Noise::new(9);
    let judge = |leak: f64, delta: Rational| -> Finding {
        GreyBox::new(Rational::ONE, delta).with_runs(20_000).compare(
            &[1][..],
            &[1, 50][..],
            |values: &[i64], recorder| leaking(&noise, leak, values, recorder),
        )
    };
    // The false alarm is 1e-9 here: 0.01 ± 0.004 of 20,000 runs.
    let right = judge(0.01, ratio(1, 100));
    assert_eq!(right.verdict(), ClaimVerdict::Consistent, "{}", right.words());
    assert!(right.bad > 100 && right.unseen_at_most() < 0.016);
    assert_eq!(judge(0.02, ratio(1, 100)).verdict(), ClaimVerdict::Refuted);
    assert_eq!(judge(0.01, Rational::ZERO).verdict(), ClaimVerdict::Refuted);
}

#[test]
fn vectors_and_names_have_their_norms() {
    let judge = |limits: Limits, inputs: [Input; 2]| {
        let found = auditor().compare(&inputs[0], &inputs[1], |input: &Input, recorder| {
            let call = Call::new("vector", Rational::ONE).moving(limits.clone());
            recorder.choose(call, input.clone(), &[0], || 0)
        });
        found.verdict()
    };
    let moved = || [Input::from(vec![1, 2, 3]), Input::from(vec![2, 3, 3])];
    assert_eq!(
        judge(Limits::l2_squared(ratio(2, 1)), moved()),
        ClaimVerdict::Proved
    );
    assert_eq!(
        judge(Limits::l2_squared(ratio(19, 10)), moved()),
        ClaimVerdict::Refuted
    );
    assert_eq!(
        judge(Limits::l_infinity(ratio(1, 1)), moved()),
        ClaimVerdict::Proved
    );
    assert_eq!(judge(Limits::coordinates(1), moved()), ClaimVerdict::Refuted);
    assert_eq!(judge(Limits::default(), moved()), ClaimVerdict::Refuted);
    let lengths = [Input::from(vec![1]), Input::from(vec![1, 0])];
    assert_eq!(judge(Limits::l1(ratio(9, 1)), lengths), ClaimVerdict::Refuted);
    let groups = || {
        let one: Input = [("Ann Arbor", 3)].into_iter().collect();
        let other: Input = [("Ann Arbor", 3), ("Bergen", 1)].into_iter().collect();
        [one, other]
    };
    assert_eq!(judge(Limits::l1(ratio(1, 1)), groups()), ClaimVerdict::Proved);
    assert_eq!(judge(Limits::l1(ratio(1, 2)), groups()), ClaimVerdict::Refuted);
}

#[test]
fn answers_of_another_kind_part_the_runs() {
    let found = auditor().compare(&1, &2, |data: &i64, recorder| {
        let call = || Call::new("same words", ratio(1, 2));
        if *data == 1 {
            recorder.draw(call(), 0, || 7i64)
        } else {
            i64::from(recorder.draw(call(), 0, || 7u8))
        }
    });
    assert_eq!(found.verdict(), ClaimVerdict::Refuted);
    assert!(matches!(found.witness, Some(Witness::Extra { call: 1, .. })));
}

/// In one direction the only transcript is listed; in the other an answer is drawn.
#[test]
fn a_direction_that_is_proved_says_nothing_of_the_other() {
    let found = auditor().compare(&false, &true, |drawn: &bool, recorder| {
        let call = Call::new("coin", ratio(1, 2));
        if *drawn {
            recorder.draw(call, 0, || 1)
        } else {
            recorder.choose(call, 0, &[1], || 1)
        }
    });
    assert_eq!(
        (found.verdict(), found.exhaustive, found.runs),
        (ClaimVerdict::Consistent, false, 16)
    );
    assert!(
        found.unseen_at_most() > 0.5,
        "16 runs tell little: {}",
        found.words()
    );
}
