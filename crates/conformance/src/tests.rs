//! The gate is about every mechanism there is, and it can fail.

use super::check::{self, Check, Effort, Expected};
use super::{all_checks, chosen};
use crate::terminal::{CliError, Interrupt, Progress};
use audit::exact_audit::Lattice;
use audit::report::{Claim, Judgement, Laws, Method};
use exact::{Rational, ratio};
use std::collections::BTreeSet;

/// The closed list of mechanisms, as the crate `mechanism` has it.
const CLOSED_LIST: &str = include_str!("../../../../mechanism/src/account.rs");

fn listed() -> BTreeSet<&'static str> {
    let lines = CLOSED_LIST.lines().map(str::trim);
    let named = lines.filter_map(|line| line.strip_prefix("impl Sealed for crate::")?.strip_suffix(" {}"));
    named.collect()
}

#[test]
fn every_mechanism_in_the_closed_list_is_in_the_gate() {
    let listed = listed();
    assert!(listed.len() >= 17, "the list is not read any more: {listed:?}");
    for effort in [Effort::Quick, Effort::Full] {
        let checks = all_checks(effort);
        let audited: BTreeSet<&str> = checks.iter().map(|check| check.mechanism).collect();
        assert_eq!(
            listed, audited,
            "a mechanism without an audit in the gate, or an audit of none: add it to crates/cli/src/audit/gate.rs"
        );
        for mechanism in &listed {
            let of = |method: Method, mutant: bool| {
                checks.iter().any(|check| {
                    check.mechanism == *mechanism
                        && check.method == method
                        && mutant == (check.expected != Expected::Holds)
                })
            };
            for method in [Method::Exact, Method::BlackBox] {
                assert!(
                    of(method, false) && of(method, true),
                    "{mechanism}: {method} with a mutant"
                );
            }
            assert!(of(Method::Fit, false), "{mechanism}: a fit");
        }
    }
}

#[test]
fn names_are_found_whatever_their_case() {
    let laplace = chosen(Effort::Quick, &["laplace".to_string()]).unwrap_or_default();
    assert_eq!(laplace.len(), 7, "five checks, and a computation right and wrong");
    let error = chosen(Effort::Quick, &["Laplacian".to_string()])
        .err()
        .expect("no such mechanism");
    assert_eq!(error.code, 2);
    assert!(
        error
            .hint
            .is_some_and(|hint| hint.contains("ExponentialMechanism"))
    );
}

/// An exact check of Laplace noise of this scale on a count, claimed to be ε = 1.
fn planted(scale: Rational, expected: Expected) -> Check {
    let work = move |_| {
        let law = Lattice::discrete_laplace(&scale).expect("a law");
        let moved = law.clone().shifted(&Rational::ONE);
        Ok(
            Judgement::exact(Claim::pure(Rational::ONE), &[Laws::new(["0", "1"], [law, moved])])
                .expect("judged"),
        )
    };
    Check::new("planted", Method::Exact, expected, Box::new(work))
}

#[test]
fn a_wrong_verdict_is_noticed() {
    let mutant = || Expected::Refuted("less noise".to_string());
    let broken: fn(u64) -> Result<Judgement, CliError> = |_| Err(CliError::bad_input("no"));
    let checks = vec![
        planted(ratio(1, 1), Expected::Holds),
        planted(ratio(9, 10), Expected::Holds),
        planted(ratio(9, 10), mutant()),
        planted(ratio(1, 1), mutant()),
        Check::new("planted", Method::Fit, Expected::Holds, Box::new(broken)),
    ];
    let progress = Progress::new("", 5, true);
    let done = check::run(checks, 1, 2, &progress, &Interrupt::default());
    let right: Vec<bool> = done.iter().map(check::Done::is_right).collect();
    assert_eq!(
        right,
        [true, false, true, false, false],
        "in the order of the list"
    );
}

#[test]
fn an_interruption_keeps_what_there_is() {
    let interrupt = Interrupt::default();
    interrupt.press();
    let checks = vec![planted(ratio(1, 1), Expected::Holds)];
    let done = check::run(checks, 1, 1, &Progress::new("", 1, true), &interrupt);
    assert!(done.is_empty(), "nobody waits");
}

#[test]
fn a_check_draws_the_same_alone_as_among_others() {
    let run = |only: &[String], threads| {
        let checks = chosen(Effort::Quick, only).unwrap_or_default();
        let fits = checks.into_iter().filter(|check| check.method == Method::Fit);
        let done = check::run(
            fits.collect(),
            5,
            threads,
            &Progress::new("", 1, true),
            &Interrupt::default(),
        );
        let response = done.into_iter().find(|one| one.mechanism == "RandomizedResponse");
        response.expect("it ran").judgement.expect("a judgement").evidence
    };
    let names = ["RandomizedResponse", "UnaryEncoding"].map(str::to_string);
    assert_eq!(run(&names, 2), run(&names[..1], 1));
}
