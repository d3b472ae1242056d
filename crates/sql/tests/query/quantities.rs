//! ε and δ that no noise fits: the mistake of whoever asks, in words that say so, and nothing is charged.

use crate::harness::{Bench, CATALOG};
use accounting::{Delta, Epsilon};
use sql::{Error, QueryRequest};

const QUESTIONS: [&str; 4] = [
    "SELECT COUNT(*) FROM people",
    "SELECT education, COUNT(*), AVG(age) FROM people GROUP BY education",
    "SELECT age, COUNT(*) FROM people GROUP BY age",
    "SELECT MEDIAN(age), SUM(age), STDDEV(age) FROM people",
];

fn bench() -> Bench {
    Bench::with(&CATALOG.replace("EPSILON", "1").replace("NEIGHBORS", "add_remove"))
}

fn request(sql: &str, epsilon: &str, delta: &str) -> QueryRequest {
    QueryRequest {
        epsilon: Some(Epsilon::parse(epsilon).unwrap()),
        delta: Some(Delta::parse(delta).unwrap()),
        ..QueryRequest::new(sql, "ann")
    }
}

fn is_the_askers(error: &Error) -> bool {
    matches!(error, Error::Quantity { .. } | Error::Refused { .. }) && error.to_string().contains("hint: ")
}

#[test]
fn no_epsilon_and_tiny_ones_are_refused_with_a_hint() {
    let bench = bench();
    for sql in QUESTIONS {
        for epsilon in ["0", "-0", "1e-300", "1e-100", "1e-30", "1e-15"] {
            for delta in ["0", "1e-9", "1e-300"] {
                let asked = request(sql, epsilon, delta);
                let error = bench.dataset.query(&asked).unwrap_err();
                assert!(
                    is_the_askers(&error),
                    "{sql}, ε = {epsilon}, δ = {delta}: {error:?}"
                );
                let error = bench.dataset.preview(&asked, 1000).unwrap_err();
                assert!(
                    is_the_askers(&error),
                    "{sql}, ε = {epsilon}, δ = {delta}: {error:?}"
                );
            }
        }
    }
    assert!(bench.dataset.ledger().unwrap().charges().unwrap().is_empty());
}

#[test]
fn any_delta_is_priced_or_refused_with_a_hint() {
    let bench = bench();
    for sql in QUESTIONS {
        for delta in ["1e-300", "1e-100", "1e-60", "1e-40", "1e-20", "0.5", "0.999999"] {
            for epsilon in ["1e-9", "1e-3", "1", "1e3"] {
                let asked = request(sql, epsilon, delta);
                if let Err(error) = bench.dataset.explain(&asked, 1000) {
                    assert!(
                        is_the_askers(&error),
                        "{sql}, ε = {epsilon}, δ = {delta}: {error:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn what_the_sql_states_is_looked_at_alike() {
    let bench = bench();
    for stated in [
        "epsilon = 0",
        "epsilon = -0",
        "epsilon = 1e-300",
        "epsilon = 1e300",
        "epsilon = 1, delta = 1e-300",
        "epsilon = 1, delta = 1e-400",
        "epsilon = 1, delta = 1",
    ] {
        let sql = format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({stated}) COUNT(*) FROM people");
        let error = bench.dataset.query(&QueryRequest::new(sql, "ann")).unwrap_err();
        let mistake = is_the_askers(&error) || matches!(error, Error::Syntax { .. });
        assert!(mistake, "{stated}: {error:?}");
    }
    assert!(bench.dataset.ledger().unwrap().charges().unwrap().is_empty());
}
