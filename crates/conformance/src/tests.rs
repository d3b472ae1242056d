//! There are checks of every mechanism, and they can fail.

use crate::check::{self, Check, Effort, Expected};
use crate::{Error, all_checks, checks};
use audit::exact_audit::Lattice;
use audit::report::{Claim, Distributions, Judgement, Method};
use exact::{Rational, ratio};
use std::collections::BTreeSet;

#[test]
fn every_mechanism_in_the_closed_list_has_its_checks() {
    let listed: BTreeSet<&str> = mechanism::MECHANISMS.iter().copied().collect();
    for effort in [Effort::Quick, Effort::Full] {
        let checks = all_checks(effort);
        let audited: BTreeSet<&str> = checks.iter().map(|check| check.mechanism).collect();
        assert_eq!(
            listed, audited,
            "a mechanism without checks, or checks of none: add it to `all_checks` in crates/conformance/src/lib.rs"
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
    let laplace = checks(Effort::Quick, &["laplace".to_string()]).unwrap_or_default();
    assert_eq!(laplace.len(), 7, "five checks, and a computation right and wrong");
    let error = checks(Effort::Quick, &["Laplacian".to_string()])
        .err()
        .expect("no such mechanism");
    assert!(
        error
            .to_string()
            .contains("hint: the names are AboveThreshold, AdaptiveTables"),
        "{error}"
    );
}

/// An exact check of Laplace noise of this scale on a count, claimed to be ε = 1.
fn planted(scale: Rational, expected: Expected) -> Check {
    let work = move |_| {
        let distribution = Lattice::discrete_laplace(&scale).expect("a distribution");
        let moved = distribution.clone().shifted(&Rational::ONE);
        Ok(Judgement::exact(
            Claim::pure(Rational::ONE),
            &[Distributions::new(["0", "1"], [distribution, moved])],
        )
        .expect("judged"))
    };
    Check::new("planted", Method::Exact, expected, Box::new(work))
}

#[test]
fn a_wrong_verdict_is_noticed() {
    let mutant = || Expected::Refuted("less noise".to_string());
    let broken: fn(u64) -> Result<Judgement, Error> = |_| Err(Error::new("no"));
    let checks = vec![
        planted(ratio(1, 1), Expected::Holds),
        planted(ratio(9, 10), Expected::Holds),
        planted(ratio(9, 10), mutant()),
        planted(ratio(1, 1), mutant()),
        Check::new("planted", Method::Fit, Expected::Holds, Box::new(broken)),
    ];
    let mut heard = 0;
    let done = check::run(checks, 1, 2, &mut |_| heard += 1, &|| false);
    assert_eq!(heard, 5);
    let right: Vec<bool> = done.iter().map(check::Done::is_right).collect();
    assert_eq!(
        right,
        [true, false, true, false, false],
        "in the order of the list"
    );
}

#[test]
fn an_interruption_keeps_what_there_is() {
    let checks = vec![planted(ratio(1, 1), Expected::Holds)];
    let done = check::run(checks, 1, 1, &mut |_| (), &|| true);
    assert!(done.is_empty(), "nobody waits");
}

#[test]
fn a_check_draws_the_same_alone_as_among_others() {
    let run = |only: &[String], threads| {
        let checks = crate::checks(Effort::Quick, only).unwrap_or_default();
        let fits = checks.into_iter().filter(|check| check.method == Method::Fit);
        let done = check::run(fits.collect(), 5, threads, &mut |_| (), &|| false);
        let response = done.into_iter().find(|one| one.mechanism == "RandomizedResponse");
        response.expect("it ran").judgement.expect("a judgement").evidence
    };
    let names = ["RandomizedResponse", "UnaryEncoding"].map(str::to_string);
    assert_eq!(run(&names, 2), run(&names[..1], 1));
}

/// The gate as a whole is run by `deniable audit self`; this one is exact where others draw.
#[test]
fn planned_tables_are_proved_and_their_mutant_is_refuted() {
    let names = ["plannedtables".to_string()];
    let exact = checks(Effort::Quick, &names).expect("its checks");
    let exact = exact
        .into_iter()
        .filter(|check| check.method == Method::Exact)
        .collect();
    let done = check::run(exact, 3, 1, &mut |_| (), &|| false);
    assert_eq!(done.len(), 2);
    assert!(done.iter().all(|done| done.is_right()), "{done:?}");
}
