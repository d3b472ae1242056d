//! The budget: charged first, shared, never overspent, and free for what was asked before.

use crate::harness::{Bench, CATALOG};
use sql::{Error, QueryRequest, Stage, State};

fn tight(analysts: &str) -> Bench {
    let catalog = CATALOG
        .replace("EPSILON", "0.4")
        .replace("NEIGHBORS", "add_remove")
        .replace("epsilon = 1000000000\ndelta = 1e-6", "epsilon = 1")
        .replace("[limits]", &format!("{analysts}\n[limits]"))
        .replace("delta = 1e-9", "");
    Bench::with(&catalog)
}

fn ask(bench: &Bench, sql: &str, analyst: &str) -> Result<sql::Answered, Error> {
    bench.dataset.query(&QueryRequest::new(sql, analyst))
}

#[test]
fn a_repeated_question_is_free_for_everybody() {
    let bench = tight("");
    let first = ask(&bench, "SELECT COUNT(*) FROM people", "alice").unwrap();
    assert!(!first.repeated);
    for analyst in ["alice", "bob", "carol"] {
        let again = ask(&bench, "select   count(*)\nfrom people", analyst).unwrap();
        assert!(again.repeated);
        assert_eq!(again.answer, first.answer);
    }
    assert_eq!(bench.dataset.ledger().unwrap().charges().unwrap().len(), 1);
}

/// That it costs nothing for another ε is derived from the ledger alone.
#[test]
fn an_answer_for_another_price_is_pointed_at() {
    let bench = Bench::new("0.4");
    let asked = |sql: &str, epsilon: &str| QueryRequest {
        epsilon: Some(accounting::Epsilon::parse(epsilon).unwrap()),
        ..QueryRequest::new(sql, "alice")
    };
    // With an estimate of what is cut, and private names of groups: the price is split in several parts.
    let sql = "SELECT region, department, AVG(cost) FROM visits JOIN people USING (person) GROUP BY region, department";
    let charge = bench
        .dataset
        .query(&asked(sql, "0.7"))
        .unwrap()
        .answer
        .cost
        .unwrap()
        .charge;
    bench
        .dataset
        .query(&asked("SELECT COUNT(*) FROM visits", "0.7"))
        .unwrap();
    let reported = bench.dataset.forecast(&asked(sql, "0.3")).unwrap();
    assert!(!reported.free);
    let found: Vec<(String, u64)> = reported
        .answered_for
        .iter()
        .map(|before| (before.epsilon.to_string(), before.charge))
        .collect();
    assert_eq!(found, [("0.7".to_owned(), charge)]);
    assert!(bench.dataset.query(&asked(sql, "0.7")).unwrap().repeated);
    // Nothing to point at: the same price, another question, a price that the query states itself.
    for other in [
        asked(sql, "0.7"),
        asked("SELECT COUNT(*) FROM visits WHERE cost > 20", "0.3"),
        asked(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.3) COUNT(*) FROM visits",
            "0.3",
        ),
    ] {
        assert!(
            bench.dataset.forecast(&other).unwrap().answered_for.is_empty(),
            "{}",
            other.sql
        );
    }
}

/// Who watches sees the charge in the ledger before the data is read, and no charge at all where the answer was stored.
#[test]
fn the_charge_comes_before_the_data() {
    let bench = tight("");
    let charges = || bench.dataset.ledger().unwrap().charges().unwrap().len();
    let mut reported = Vec::new();
    for _ in 0..2 {
        let asked = QueryRequest::new(
            "SELECT education, COUNT(*) AS n FROM people GROUP BY education ORDER BY n",
            "alice",
        );
        let mut watch = |stage| reported.push((stage, charges()));
        bench.dataset.query_watched(&asked, &mut watch).unwrap();
    }
    // What is computed of a release is another question about the same one.
    let asked = QueryRequest::new(
        "SELECT education, COUNT(*) * 2 AS n FROM people GROUP BY education",
        "alice",
    );
    let mut watch = |stage| reported.push((stage, charges()));
    bench.dataset.query_watched(&asked, &mut watch).unwrap();
    use Stage::{Begun, Charged, Computing, Drawn, Measured, Understood};
    let once = [
        (Understood, 0),
        (Begun, 0),
        (Charged, 1),
        (Measured, 1),
        (Drawn, 1),
        (Understood, 1),
        (Begun, 1),
        (Understood, 1),
        (Begun, 1),
        (Computing, 1),
    ];
    assert_eq!(reported, once);
}

#[test]
fn the_budget_is_shared_and_ends() {
    let bench = tight("");
    assert!(ask(&bench, "SELECT COUNT(*) FROM people", "alice").is_ok());
    assert!(ask(&bench, "SELECT COUNT(*) FROM people WHERE age > 30", "bob").is_ok());
    let third = ask(&bench, "SELECT COUNT(*) FROM people WHERE age > 31", "carol").unwrap_err();
    assert!(third.to_string().contains("hint: "), "{third}");
    assert_eq!(bench.dataset.ledger().unwrap().charges().unwrap().len(), 2);
    let cheap = QueryRequest {
        epsilon: Some(accounting::Epsilon::parse("0.2").unwrap()),
        ..QueryRequest::new("SELECT COUNT(*) FROM people WHERE age > 31", "carol")
    };
    assert!(bench.dataset.query(&cheap).is_ok(), "what is left can be spent");
}

#[test]
fn shares_hold_single_analysts_back() {
    let bench = tight("[budget.analysts]\nAlice = 0.5\nbob = 1");
    assert!(ask(&bench, "SELECT COUNT(*) FROM people", "alice").is_ok());
    assert!(ask(&bench, "SELECT COUNT(*) FROM people WHERE age > 30", "alice").is_err());
    assert!(ask(&bench, "SELECT COUNT(*) FROM people WHERE age > 30", "bob").is_ok());
    let stranger = ask(&bench, "SELECT COUNT(*) FROM people WHERE age > 40", "carol").unwrap_err();
    assert!(stranger.to_string().contains("hint: "), "{stranger}");
}

/// Whether a file changed is about the data: an analyst learns nothing of it, and the curator does.
#[test]
fn a_changed_file_is_the_same_question_until_the_curator_says_otherwise() {
    let bench = tight("");
    let states = |bench: &Bench| bench.dataset.check_fingerprints().unwrap();
    assert!(states(&bench).iter().all(|(_, state)| *state == State::Unknown));
    bench.dataset.take_fingerprints().unwrap();
    assert!(states(&bench).iter().all(|(_, state)| *state == State::Same));
    let first = ask(&bench, "SELECT COUNT(*) FROM people", "alice").unwrap();
    let path = bench.directory.path().join("people.csv");
    let mut text = std::fs::read_to_string(&path).unwrap();
    let touched = std::time::SystemTime::now() + std::time::Duration::from_secs(100);
    let file = std::fs::File::options().append(true).open(&path).unwrap();
    file.set_modified(touched).unwrap();
    assert!(states(&bench).iter().all(|(_, state)| *state == State::Same));
    let second = ask(&bench, "SELECT COUNT(*) FROM people", "alice").unwrap();
    text.push_str("400,30,none,1000,north,true\n");
    std::fs::write(&path, text).unwrap();
    let third = ask(&bench, "SELECT COUNT(*) FROM people", "alice").unwrap();
    assert!(!first.repeated && second.repeated && third.repeated);
    assert_eq!(third.answer, first.answer);
    let changed: Vec<_> = states(&bench)
        .into_iter()
        .filter(|(_, state)| *state == State::Changed)
        .collect();
    assert_eq!(changed, [("people".to_owned(), State::Changed)]);
    // A new version is a new question.
    let mut catalog = bench.dataset.catalog().clone();
    catalog.data.word = "2".to_owned();
    let next = sql::blocking::Dataset::new(catalog).unwrap();
    let asked = QueryRequest::new("SELECT COUNT(*) FROM people", "alice");
    let fourth = next.query(&asked).unwrap();
    assert!(!fourth.repeated);
    assert!(
        next.check_fingerprints()
            .unwrap()
            .iter()
            .all(|(_, state)| *state == State::Unknown)
    );
}

/// Other names, another order and other uses of what was released are free, and are made of the same noisy numbers.
#[test]
fn the_same_question_in_other_words_is_free() {
    let bench = tight("");
    let first = ask(
        &bench,
        "SELECT education, COUNT(*) AS n, AVG(age) AS a FROM people WHERE smoker AND age > 30 GROUP BY education ORDER BY education",
        "alice",
    )
    .unwrap();
    assert!(!first.repeated);
    let again = ask(
        &bench,
        "SELECT AVG(p.age) AS mean, COUNT(1) AS k, p.education AS e FROM people AS p WHERE 30 < p.age AND p.smoker GROUP BY p.education ORDER BY k DESC",
        "bob",
    )
    .unwrap();
    assert!(again.repeated);
    let names: Vec<&str> = again
        .answer
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(names, ["mean", "k", "e"]);
    assert_eq!(again.answer.cost, first.answer.cost);
    for row in &first.answer.rows {
        let same = again
            .answer
            .rows
            .iter()
            .find(|other| other[2].value == row[0].value)
            .unwrap();
        assert_eq!(same[1], row[1], "the count and its interval");
        assert_eq!(same[0].value, row[2].value, "the average");
    }
    let largest = ask(
        &bench,
        "SELECT MAX(n) AS m FROM (SELECT education, COUNT(*) AS n, AVG(age) FROM people WHERE smoker AND age > 30 GROUP BY education) AS s",
        "alice",
    )
    .unwrap();
    assert!(largest.repeated);
    let counts = first.answer.rows.iter().map(|row| row[1].value.as_i64().unwrap());
    assert_eq!(largest.answer.rows[0][0].value.as_i64(), counts.max());
    // Two keys in another order.
    let pairs = ask(
        &bench,
        "SELECT education, smoker, COUNT(*) FROM people GROUP BY education, smoker",
        "alice",
    )
    .unwrap();
    let turned = ask(
        &bench,
        "SELECT smoker, education, COUNT(*) FROM people GROUP BY smoker, education",
        "alice",
    )
    .unwrap();
    assert!(!pairs.repeated && turned.repeated);
    for row in &pairs.answer.rows {
        let same = |other: &&Vec<sql::Cell>| other[0] == row[1] && other[1] == row[0];
        assert_eq!(turned.answer.rows.iter().find(same).unwrap()[2], row[2]);
    }
    assert_eq!(bench.dataset.ledger().unwrap().charges().unwrap().len(), 2);
}

/// A refusal says what it costs, what is left and what would fit; and what would fit does.
#[test]
fn a_refusal_tells_what_would_fit() {
    let bench = tight("");
    assert!(ask(&bench, "SELECT COUNT(*) FROM people", "alice").is_ok());
    assert!(ask(&bench, "SELECT COUNT(*) FROM people WHERE age > 30", "bob").is_ok());
    let sql = "SELECT COUNT(*) FROM people WHERE age > 31";
    let asked = QueryRequest::new(sql, "carol");
    let forecast = bench.dataset.forecast(&asked).unwrap();
    assert_eq!(
        (forecast.more, forecast.at_least, forecast.free),
        (0, false, false)
    );
    let refusal = ask(&bench, sql, "carol").unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "this question costs ε = 0.4, and you have ε = 0.2 left\nhint: --epsilon 0.2 would fit, with a larger error; nothing was charged"
    );
    let Error::OverBudget(over) = refusal else {
        panic!("{refusal}")
    };
    assert_eq!(over.fits, forecast.fits);
    let stated = ask(
        &bench,
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) COUNT(*) FROM people",
        "carol",
    )
    .unwrap_err();
    assert!(stated.to_string().contains("OPTIONS (epsilon = 0.2)"), "{stated}");
    let cheaper = QueryRequest {
        epsilon: over.fits,
        ..asked
    };
    assert!(bench.dataset.query(&cheaper).is_ok());
    let forecast = bench
        .dataset
        .forecast(&QueryRequest::new("SELECT COUNT(*) FROM people", "eve"))
        .unwrap();
    assert!(forecast.free);
    let nothing = ask(&bench, "SELECT COUNT(*) FROM people WHERE age > 32", "carol").unwrap_err();
    assert!(
        nothing.to_string().contains("nothing of the kind fits any more"),
        "{nothing}"
    );
}

/// A question whose run ends after the charge, by whatever cause, is finished under it.
#[test]
fn what_was_charged_and_not_answered_is_finished_without_a_further_charge() {
    let bench = tight("");
    let sql = "SELECT education, COUNT(*) FROM people GROUP BY education";
    let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut watch = |stage| assert_ne!(stage, Stage::Charged, "killed here");
        let _ = bench
            .dataset
            .query_watched(&QueryRequest::new(sql, "alice"), &mut watch);
    }));
    assert!(killed.is_err());
    let charges = || bench.dataset.ledger().unwrap().charges().unwrap();
    assert!(charges().len() == 1 && !charges()[0].answered);
    // That is known before, to who was charged.
    let forecast = |analyst| bench.dataset.forecast(&QueryRequest::new(sql, analyst)).unwrap();
    let (own, other) = (forecast("alice"), forecast("bob"));
    assert_eq!(own.unfinished, Some(charges()[0].number));
    assert_eq!(own.left_after.as_ref(), Some(&own.left));
    assert_eq!(other.unfinished, None);
    assert!(other.left_after.unwrap() < other.left);
    // In other words, and by somebody who was not charged: a charge of their own.
    let finished = ask(
        &bench,
        "SELECT COUNT(1) AS n, p.education FROM people AS p GROUP BY p.education",
        "alice",
    )
    .unwrap();
    assert!(finished.resumed && !finished.repeated);
    assert!(charges().len() == 1 && charges()[0].answered);
    assert!(forecast("alice").unfinished.is_none() && forecast("alice").free);
    let again = ask(&bench, sql, "bob").unwrap();
    assert!(again.repeated && !again.resumed);
    assert_eq!(bench.dataset.ledger().unwrap().verify().unwrap().charges, 1);
}

/// Two who finish one charge at the same time show the one answer that was saved.
#[test]
fn two_who_finish_one_charge_show_one_answer() {
    let bench = tight("");
    let asked = QueryRequest::new("SELECT COUNT(*) FROM people", "alice");
    let mut inner = None;
    let outer = {
        let mut watch = |stage| {
            if stage == Stage::Charged {
                inner = Some(bench.dataset.query(&asked).unwrap());
            }
        };
        bench.dataset.query_watched(&asked, &mut watch)
    };
    let (outer, inner) = (outer.unwrap(), inner.unwrap());
    assert!(inner.resumed && outer.repeated);
    assert_eq!(outer.answer, inner.answer);
    let charges = bench.dataset.ledger().unwrap().charges().unwrap();
    assert_eq!(charges.len(), 1);
}

/// Many who ask the same at the same time pay once, and see the same.
#[test]
fn many_who_ask_the_same_at_once_pay_once() {
    let bench = tight("");
    let asked = QueryRequest::new(
        "SELECT education, COUNT(*) FROM people GROUP BY education",
        "alice",
    );
    let answers: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| bench.dataset.query(&asked).unwrap().answer))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    assert_eq!(bench.dataset.ledger().unwrap().charges().unwrap().len(), 1);
}

#[test]
fn refused_queries_and_failing_engines() {
    let bench = tight("");
    assert!(ask(&bench, "SELECT SUM(person) FROM people", "alice").is_err());
    assert!(
        bench.dataset.ledger().unwrap().charges().unwrap().is_empty(),
        "a refusal costs nothing"
    );
    std::fs::remove_file(bench.directory.path().join("people.csv")).unwrap();
    let gone = ask(&bench, "SELECT COUNT(*) FROM people", "alice").unwrap_err();
    assert!(gone.to_string().contains("hint: "), "{gone}");
}

/// What the analyst's own SQL does with released numbers may take long or be stopped, as it depends on them. So they are saved before it begins, and a run that is stopped after
/// it has begun to draw is not repeated under the same charge: otherwise each attempt would show a little of another draw.
#[test]
fn a_charge_is_drawn_under_once() {
    let bench = Bench::new("1");
    let ask = |sql: &str| bench.ask(sql).unwrap();
    let first = ask("SELECT SQRT(COUNT(*)) AS root FROM people");
    let again = ask("SELECT COUNT(*) AS n FROM people");
    assert_eq!(
        again.cost.unwrap().charge,
        first.cost.unwrap().charge,
        "what was drawn is found again"
    );
    // A run that is stopped while it reads is finished under its charge; one that is stopped after it began to draw is not.
    let asked = |sql: &str| QueryRequest::new(sql, "ann");
    let stopped = |sql: &str, at: Stage| {
        let run = || {
            let mut watch = |stage: Stage| assert!(stage != at, "stopped");
            bench.dataset.query_watched(&asked(sql), &mut watch)
        };
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
    };
    let charges = || bench.dataset.ledger().unwrap().charges().unwrap().len();
    let reading = "SELECT COUNT(*) FROM people WHERE age > 30";
    stopped(reading, Stage::Charged);
    stopped(reading, Stage::Measured);
    assert_eq!(charges(), 2);
    assert!(bench.dataset.query(&asked(reading)).unwrap().resumed);
    assert_eq!(charges(), 2);
    let drawing = "SELECT COUNT(*) FROM people WHERE age > 40";
    stopped(drawing, Stage::Drawn);
    assert_eq!(charges(), 3);
    let again = bench.dataset.query(&asked(drawing)).unwrap();
    assert!(!again.resumed && !again.repeated);
    assert_eq!(
        charges(),
        4,
        "what was drawn and not saved is paid for, and drawn anew for another charge"
    );
    bench.dataset.ledger().unwrap().verify().unwrap();
}
