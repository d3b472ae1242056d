use super::Strategy;
use super::*;
use crate::trial::{black_box, claimed, keeps};
use crate::{Account, MemoryLedger, Sensitive};
use accounting::{Budget, Delta, PrivacyUnit, epsilon_of_concentrated};
use audit::black_box::FindingVerdict;
use audit::exact_audit::Finite;
use exact::ratio;
use proptest::prelude::*;

/// Defects that the audits must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// Scores are taken to move half as far as they do.
    HalfTheSensitivity,
    /// Choices cost nothing.
    ChoicesAreFree,
    /// However many distances there are, they are charged as one.
    DistancesAreOne,
}

/// What a round asks for, whatever was released.
#[derive(Clone, Debug)]
struct Always(Vec<Round>);

impl Strategy for Always {
    fn begin(&self) -> Box<dyn Asking + '_> {
        Box::new(self.0.iter().cycle())
    }
}

impl Asking for std::iter::Cycle<std::slice::Iter<'_, Round>> {
    fn next(&mut self, _: &[RoundResult], _: &Rho) -> Option<Round> {
        Iterator::next(self).cloned()
    }
}

fn rho(text: &str) -> Rho {
    Rho::parse(text).unwrap()
}

fn mechanism(cost: &str, rows: u64, rounds: Vec<Round>) -> AdaptiveTables {
    AdaptiveTables::new(
        rho(cost),
        vec![2, 2],
        rows,
        Neighbors::AddRemove,
        Arc::new(Always(rounds)),
    )
    .unwrap()
}

/// Of so many rows in each cell of both attributes.
fn cells(counts: [u32; 4]) -> Cells {
    Cells::new(vec![vec![0, 0, 1, 1], vec![0, 1, 0, 1]], counts.to_vec())
}

fn measure(variance: Rational) -> Round {
    Round::Measure {
        attributes: vec![1],
        variance,
    }
}

/// Two tables of one attribute, with different weights, expected to be as these counts say.
fn choose(epsilon: &str, expected: [i64; 4]) -> Round {
    let candidate = |place: usize, weight: u32| Candidate {
        attributes: vec![place],
        expected: expected[2 * place..2 * place + 2]
            .iter()
            .map(|rows| rows * STEPS_PER_ROW)
            .collect(),
        weight,
        penalty: 40,
    };
    Round::Choose {
        candidates: vec![candidate(0, 3), candidate(1, 2)],
        epsilon: Epsilon::parse(epsilon).unwrap(),
    }
}

/// How often each candidate is chosen, exactly.
fn distribution(mechanism: &AdaptiveTables, round: &Round, counts: [u32; 4]) -> Finite {
    let Round::Choose { candidates, epsilon } = round else {
        panic!("a choice")
    };
    let input = cells(counts);
    let mut tables = Tables::new(&input, &mechanism.sizes);
    let scale = mechanism.scale(candidates, epsilon).unwrap();
    let exponents: Vec<Rational> = candidates
        .iter()
        .map(|candidate| Rational::from(tables.score(candidate)) / &scale)
        .collect();
    Finite::from_exponents(&exponents).unwrap()
}

fn chosen(rounds: &Rounds) -> i64 {
    let choices = rounds.results.iter().map(|result| match result {
        RoundResult::Chosen { place, .. } => *place as i64,
        RoundResult::Measured { .. } | RoundResult::Compared { .. } => 0,
    });
    choices.sum()
}

/// How far four tables are from no rows at all.
fn compare(variance: Rational) -> Round {
    let table = |attributes: &[usize]| Expected {
        attributes: attributes.to_vec(),
        counts: vec![0; 1 << attributes.len()],
    };
    Round::Compare {
        tables: vec![table(&[]), table(&[0]), table(&[1]), table(&[0, 1])],
        variance,
    }
}

fn compared(rounds: &Rounds) -> i64 {
    let distances = rounds.results.iter().map(|result| match result {
        RoundResult::Compared { distances, .. } => distances.iter().sum(),
        _ => 0,
    });
    distances.sum()
}

fn measured(rounds: &Rounds) -> i64 {
    let counts = rounds.results.iter().map(|result| match result {
        RoundResult::Measured { counts, .. } => counts[1],
        RoundResult::Chosen { .. } | RoundResult::Compared { .. } => 0,
    });
    counts.sum()
}

/// The ε that ρ gives at δ = 0.05.
fn claim(cost: &str) -> (f64, f64) {
    let delta = Delta::parse("0.05").unwrap();
    let epsilon = epsilon_of_concentrated(&rho(cost), &delta).unwrap();
    (epsilon.to_f64_up(), 0.05)
}

#[test]
fn audit_adaptive_tables() {
    // Measuring: two rounds of half of ρ each.
    let (epsilon, delta) = claim("0.5");
    let (still, moved) = (cells([0; 4]), cells([0, 1, 0, 0]));
    let right = mechanism("0.5", 1, vec![measure(ratio(2, 1))]);
    let found = black_box(&right, [&still, &moved], 12_000, delta, measured);
    assert_eq!(
        found.verdict(epsilon, delta),
        FindingVerdict::Consistent,
        "{found:?}"
    );
    // The mutant has half of σ for the same ρ.
    let less = mechanism("2", 1, vec![measure(ratio(1, 2))]);
    let found = black_box(&less, [&still, &moved], 12_000, delta, measured);
    assert_eq!(
        found.verdict(epsilon, delta),
        FindingVerdict::Refuted,
        "{found:?}"
    );

    // Comparing: a row moves each of four distances by one. Their sum moves by 4, and has noise of 4σ², so it is as telling as all of them.
    let right = mechanism("0.5", 1, vec![compare(ratio(4, 1))]);
    let found = black_box(&right, [&still, &moved], 4_000, delta, compared);
    assert_eq!(
        found.verdict(epsilon, delta),
        FindingVerdict::Consistent,
        "{found:?}"
    );
    let mutant = AdaptiveTables {
        mutant: Some(Mutant::DistancesAreOne),
        ..mechanism("0.5", 1, vec![compare(ratio(1, 1))])
    };
    let found = black_box(&mutant, [&still, &moved], 8_000, delta, compared);
    assert_eq!(
        found.verdict(epsilon, delta),
        FindingVerdict::Refuted,
        "{found:?}"
    );

    // Choosing: exact, on neighbours. The scores of both candidates move, one up and one down.
    let round = choose("1", [0, 4, 9, 0]);
    let one = mechanism("1", 1, vec![round.clone()]);
    let (p, q) = (
        distribution(&one, &round, [0, 2, 1, 0]),
        distribution(&one, &round, [0, 2, 1, 1]),
    );
    assert!(keeps(&p, &q, &ratio(1, 1)));
    let mutant = AdaptiveTables {
        mutant: Some(Mutant::HalfTheSensitivity),
        ..one.clone()
    };
    // Where one candidate is far ahead, both factors of the exponential mechanism are close to their bounds.
    let round = choose("1", [0, 0, 0, 30]);
    let (near, next) = ([20, 0, 0, 0], [21, 0, 0, 0]);
    let of = |mechanism: &AdaptiveTables| {
        (
            distribution(mechanism, &round, near),
            distribution(mechanism, &round, next),
        )
    };
    let (p, q) = of(&one);
    assert!(keeps(&p, &q, &ratio(1, 1)));
    let opposite = choose("1", [0, 0, 40, 0]);
    let (p, q) = (
        distribution(&one, &opposite, [20, 0, 0, 0]),
        distribution(&one, &opposite, [21, 0, 0, 0]),
    );
    assert!(keeps(&p, &q, &ratio(1, 1)));
    let (p, q) = (
        distribution(&mutant, &opposite, [20, 0, 0, 0]),
        distribution(&mutant, &opposite, [21, 0, 0, 0]),
    );
    assert!(!keeps(&p, &q, &ratio(1, 1)), "half of the sensitivity is refuted");

    // Rounds that are not charged: choices go on for ever, and their sum tells neighbours apart.
    let endless = vec![choose("0.5", [0, 0, 14, 0])];
    let (still, moved) = (cells([10, 0, 0, 0]), cells([11, 0, 0, 0]));
    let (epsilon, delta) = claim("0.1");
    let right = mechanism("0.1", 1, endless.clone());
    let found = black_box(&right, [&still, &moved], 2_000, delta, chosen);
    assert_eq!(
        found.verdict(epsilon, delta),
        FindingVerdict::Consistent,
        "{found:?}"
    );
    let free = AdaptiveTables {
        mutant: Some(Mutant::ChoicesAreFree),
        ..mechanism(
            "0.1",
            1,
            vec![endless[0].clone(); 100]
                .into_iter()
                .chain([measure(ratio(1, 1))])
                .collect(),
        )
    };
    let found = black_box(&free, [&still, &moved], 2_000, delta, chosen);
    assert_eq!(
        found.verdict(epsilon, delta),
        FindingVerdict::Refuted,
        "{found:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever is expected, and whichever rows a person has.
    #[test]
    fn choices_keep_their_claim_on_neighbours(
        counts in prop::array::uniform4(0u32..12),
        expected in prop::array::uniform4(0i64..12),
        added in prop::collection::vec(0usize..4, 0..3),
    ) {
        let round = choose("0.7", expected);
        let mechanism = mechanism("1", 2, vec![round.clone()]);
        let mut more = counts;
        added.iter().for_each(|cell| more[*cell] += 1);
        let (p, q) = (distribution(&mechanism, &round, counts), distribution(&mechanism, &round, more));
        prop_assert!(keeps(&p, &q, &ratio(7, 10)) && keeps(&q, &p, &ratio(7, 10)));
    }

    /// A unit moves a distance by no more than its rows, though the distance is rounded.
    #[test]
    fn distances_move_as_far_as_rows(
        counts in prop::array::uniform4(0u32..9),
        expected in prop::array::uniform4(-2_000i64..2_000),
        added in prop::collection::vec(0usize..4, 0..4),
    ) {
        let mut more = counts;
        added.iter().for_each(|cell| more[*cell] += 1);
        let distance = |counts: [u32; 4]| {
            let input = cells(counts);
            let table = Expected { attributes: vec![0, 1], counts: expected.to_vec() };
            Tables::new(&input, &[2, 2]).distance(&table)
        };
        prop_assert!((distance(counts) - distance(more)).unsigned_abs() <= added.len() as u64);
    }
}

#[test]
fn distances_are_charged_for_all_tables_together() {
    let round = compare(ratio(4, 1));
    // K·Δ₁²/2σ²: four tables; two rows; rows that go and rows that come.
    assert_eq!(mechanism("1", 1, vec![]).cost(&round), Some(rho("0.5")));
    assert_eq!(mechanism("1", 2, vec![]).cost(&round), Some(rho("2")));
    let changed = AdaptiveTables::new(
        rho("1"),
        vec![2, 2],
        1,
        Neighbors::ChangeOne,
        Arc::new(Always(vec![])),
    );
    assert_eq!(changed.unwrap().cost(&round), Some(rho("2")));
    // Hardly any noise: the distances of 3, 1, 0 and 2 rows from none, and from a row and a half.
    let run = |round: Round| mechanism("1e9", 1, vec![round]).run(&cells([3, 1, 0, 2]), [1; 32]);
    let RoundResult::Compared {
        distances, tables, ..
    } = &run(compare(ratio(1, 1_000_000))).results[0]
    else {
        panic!("distances")
    };
    assert_eq!((&distances[..], tables.len()), (&[6, 6, 6, 6][..], 4));
    let half = Expected {
        attributes: vec![0],
        counts: vec![STEPS_PER_ROW * 3 / 2, 2 * STEPS_PER_ROW],
    };
    let of = |tables: Vec<Expected>| {
        let rounds = run(Round::Compare {
            tables,
            variance: ratio(1, 1_000_000),
        });
        match rounds.results.into_iter().next() {
            Some(RoundResult::Compared { distances, .. }) => distances,
            _ => Vec::new(),
        }
    };
    assert_eq!(of(vec![half.clone()]), [2], "2.5 and 0, rounded down");
    let short = Expected {
        counts: vec![0],
        ..half.clone()
    };
    let nowhere = Expected {
        attributes: vec![2],
        ..half
    };
    assert!(of(vec![]).is_empty() && of(vec![short]).is_empty() && of(vec![nowhere]).is_empty());
}

#[test]
fn rounds_are_charged_exactly() {
    // ε²/8 = 1/8 and Δ²/2σ² = 1/8: a pair of rounds is a quarter.
    let pair = vec![choose("1", [0; 4]), measure(ratio(4, 1))];
    for (cost, rounds) in [("1", 8), ("1.1", 8), ("0.99", 7), ("0.1", 0)] {
        let mechanism = mechanism(cost, 1, pair.clone());
        let mut account = crate::trial::account(Neighbors::AddRemove);
        let release = account
            .release_by(&mechanism, claimed(&mechanism, cells([5; 4])), "test")
            .unwrap();
        let run = release.value();
        assert_eq!(run.results.len(), rounds, "{cost}");
        assert_eq!(*run.spent.as_rational(), ratio(rounds as i64, 8));
        assert_eq!(
            release.receipt().charge.event,
            Event::Concentrated { rho: rho(cost) }
        );
    }
    // Two rows of a person cost four times as much to measure, and as much to choose by.
    let two = mechanism("1", 2, pair.clone());
    assert_eq!(two.cost(&pair[0]), Some(rho("0.125")));
    assert_eq!(two.cost(&pair[1]), Some(rho("0.5")));
    let changed = AdaptiveTables::new(
        rho("1"),
        vec![2, 2],
        1,
        Neighbors::ChangeOne,
        Arc::new(Always(pair.clone())),
    );
    assert_eq!(changed.unwrap().cost(&pair[1]), Some(rho("0.25")));
}

#[test]
fn rounds_that_make_no_sense_end_the_run() {
    let good = measure(ratio(1, 1));
    let of = |round: Round| {
        let mechanism = mechanism("5", 1, vec![good.clone(), round]);
        mechanism.run(&cells([1; 4]), [3; 32]).results.len()
    };
    let by = |attributes: Vec<usize>| Round::Measure {
        attributes,
        variance: ratio(1, 1),
    };
    assert_eq!(of(good.clone()), 10);
    for bad in [
        by(vec![2]),
        by(vec![1, 0]),
        by(vec![0, 0]),
        measure(Rational::ZERO),
    ] {
        assert_eq!(of(bad), 1);
    }
    let Round::Choose { candidates, .. } = choose("1", [0; 4]) else {
        panic!("a choice")
    };
    let with = |change: &dyn Fn(&mut Candidate)| {
        let mut candidates = candidates.clone();
        candidates.iter_mut().for_each(change);
        Round::Choose {
            candidates,
            epsilon: Epsilon::parse("1").unwrap(),
        }
    };
    assert_eq!(of(with(&|candidate| candidate.weight = 0)), 1);
    assert_eq!(of(with(&|candidate| candidate.expected.clear())), 1);
    assert_eq!(
        of(Round::Choose {
            candidates: Vec::new(),
            epsilon: Epsilon::parse("1").unwrap()
        }),
        1
    );
    // Extreme expectations are cut, not refused.
    assert!(of(with(&|candidate| candidate.expected.fill(i64::MIN))) > 1);
    assert!(
        AdaptiveTables::new(
            Rho::ZERO,
            vec![2],
            1,
            Neighbors::AddRemove,
            Arc::new(Always(vec![]))
        )
        .is_err()
    );
}

#[test]
fn lines_that_are_in_no_cell_count_nowhere() {
    let mechanism = mechanism(
        "1",
        1,
        vec![Round::Measure {
            attributes: vec![],
            variance: ratio(1, 1),
        }],
    );
    let odd = Cells::new(vec![vec![0, 7], vec![u32::MAX, 0]], vec![5, 9]);
    let mut tables = Tables::new(&odd, mechanism.sizes());
    assert_eq!(tables.counts(&[]), [0]);
    assert_eq!(tables.counts(&[0, 1]), [0; 4]);
    let good = cells([1, 2, 3, 4]);
    let mut tables = Tables::new(&good, mechanism.sizes());
    assert_eq!(tables.counts(&[0, 1]), [1, 2, 3, 4]);
    assert_eq!(tables.counts(&[1]), [4, 6]);
}

#[test]
fn the_same_key_gives_the_same_rounds_and_other_claims_are_refused() {
    let mechanism = mechanism("3", 1, vec![choose("1", [9, 1, 0, 2]), measure(ratio(4, 1))]);
    let input = cells([8, 1, 0, 4]);
    assert_eq!(mechanism.run(&input, [5; 32]), mechanism.run(&input, [5; 32]));
    assert_ne!(mechanism.run(&input, [5; 32]), mechanism.run(&input, [6; 32]));
    let json = serde_json::to_string(&mechanism.run(&input, [5; 32])).unwrap();
    assert_eq!(
        serde_json::from_str::<Rounds>(&json).unwrap(),
        mechanism.run(&input, [5; 32])
    );
    let unit = PrivacyUnit::new("person", Neighbors::AddRemove);
    let budget = Budget::new(mechanism.terms.promise().clone(), unit.clone());
    let mut account = Account::open(MemoryLedger::new(budget)).unwrap();
    let two = Aggregate::of_rows(Sensitive::new(cells([1; 4])), 2, unit).unwrap();
    assert_eq!(
        account.release_by(&mechanism, two, "test").unwrap_err(),
        Error::SensitivityMismatch
    );
}
