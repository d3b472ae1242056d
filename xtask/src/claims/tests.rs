//! Planted gaps: each must be found, at its line, and nothing else.

use super::*;

const LAPLACE: &str = "\
/// Adds noise.
///
/// # Privacy
/// Claim: ε-DP for inputs that differ by at most Δ.
/// Proof: the ratio of the densities
/// is at most e^ε.
///
/// * and this for every output.
/// Source: Dwork and Roth 2014, Theorem 3.6.
/// Audited by: `audit_laplace`, `tests::audit_again` (false alarm 1e-9,
/// rejects `1.05 ε`).
pub struct Laplace<T>(T);

impl<T: Clone> Mechanism for Laplace<T> {}

#[cfg(test)]
mod tests {
    struct Mutant;
    impl Mechanism for Mutant {}

    #[test]
    fn audit_laplace() {}

    proptest! {
        #[test]
        fn audit_again(x in 0..3) {}
    }
}
";

fn source(path: &str, text: &str) -> Source {
    Source {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

fn noise() -> Vec<Source> {
    let samplers = REQUIRED_SAMPLERS.map(|name| {
        format!("/// # Exactness\n/// Proof: so.\n/// Tested by: `exactly`.\npub struct {name};\n")
    });
    let tests = source("crates/noise/tests/exact.rs", "#[test]\nfn exactly() {}\n");
    vec![source("crates/noise/src/lib.rs", &samplers.concat()), tests]
}

fn check_laplace(text: &str) -> Outcome {
    check(&[source("crates/mechanism/src/laplace.rs", text)], &noise())
}

/// The places and sentences found after `from` in the good mechanism was replaced by `to`.
fn planted(from: &str, to: &str) -> Vec<String> {
    assert!(
        LAPLACE.contains(from),
        "the planted change does not apply: {from}"
    );
    found(check_laplace(&LAPLACE.replace(from, to)))
}

fn found(outcome: Outcome) -> Vec<String> {
    let findings = outcome.expect_err("the planted gap was not found");
    findings
        .iter()
        .map(|finding| format!("{}: {}", finding.place, finding.what))
        .collect()
}

#[test]
fn a_complete_mechanism_passes() {
    let summary = check_laplace(LAPLACE).unwrap();
    assert_eq!(
        summary,
        "claims: 1 mechanisms, 9 samplers, all with claim, proof, source and audit"
    );
}

#[test]
fn each_missing_line_is_found() {
    let section = "crates/mechanism/src/laplace.rs:12: the `# Privacy` section of `Laplace`";
    for label in PRIVACY.labels {
        let missing = planted(&format!("/// {label}"), "/// Otherwise:");
        assert_eq!(missing, [format!("{section} has no line starting `{label}`")]);
    }
    let empty = planted("Source: Dwork and Roth 2014, Theorem 3.6.", "Source:");
    assert_eq!(empty, [format!("{section} says nothing after `Source:`")]);
    let postponed = planted("Dwork and Roth 2014, Theorem 3.6.", "TODO");
    assert_eq!(postponed, [format!("{section} says nothing after `Source:`")]);
}

#[test]
fn a_missing_section_is_found() {
    let place = "crates/mechanism/src/laplace.rs:12";
    let renamed = planted("# Privacy", "# Secrecy");
    assert_eq!(
        renamed,
        [format!(
            "{place}: `Laplace` has no `# Privacy` section in its doc comment"
        )]
    );
    let bare = found(check_laplace(
        "pub struct Bare;\nimpl crate::Mechanism for Bare {}\n",
    ));
    assert_eq!(
        bare,
        ["crates/mechanism/src/laplace.rs:1: `Bare` has no `# Privacy` section in its doc comment"]
    );
}

#[test]
fn a_privacy_section_owes_its_lines_without_an_implementation_too() {
    let extra = format!("{LAPLACE}\n/// # Privacy\n/// Claim: much.\npub enum Other {{}}\n");
    let findings = found(check_laplace(&extra));
    assert_eq!(findings.len(), 3, "{findings:?}");
    assert!(
        findings
            .iter()
            .all(|finding| finding.contains("section of `Other` has no line starting"))
    );
}

#[test]
fn a_test_that_does_not_exist_or_run_is_found() {
    let place = "crates/mechanism/src/laplace.rs:12";
    let gone = format!(
        "{place}: `Laplace` relies on the test `audit_laplace`, and no `#[test] fn audit_laplace` exists"
    );
    assert_eq!(
        planted("fn audit_laplace", "fn something_else"),
        std::slice::from_ref(&gone)
    );
    assert_eq!(
        planted("#[test]\n    fn audit_laplace", "fn audit_laplace"),
        std::slice::from_ref(&gone)
    );
    assert_eq!(
        planted(
            "#[test]\n    fn audit_laplace() {}",
            "// #[test] fn audit_laplace() {}"
        ),
        [gone]
    );

    let ignored = planted("#[test]\n    fn", "#[test]\n    #[ignore = \"slow\"]\n    fn");
    assert_eq!(
        ignored,
        [format!(
            "{place}: `Laplace` relies on the test `audit_laplace`, which is #[ignore]d"
        )]
    );
    let ignored = planted("#[test]\n        fn", "#[test]\n        #[ignore]\n        fn");
    assert_eq!(
        ignored,
        [format!(
            "{place}: `Laplace` relies on the test `audit_again`, which is #[ignore]d"
        )]
    );

    let unnamed = planted("`audit_laplace`, `tests::audit_again`", "hand");
    assert_eq!(
        unnamed,
        [format!(
            "{place}: `Audited by:` of `Laplace` names no test in backticks"
        )]
    );
}

#[test]
fn an_audit_without_its_error_rates_is_found() {
    let place = "crates/mechanism/src/laplace.rs:12";
    let silent = planted("false alarm 1e-9", "1e-9");
    assert_eq!(
        silent,
        [format!(
            "{place}: `Audited by:` of `Laplace` does not say `false alarm`"
        )]
    );
    let toothless = planted("rejects", "with");
    assert_eq!(
        toothless,
        [format!(
            "{place}: `Audited by:` of `Laplace` does not say `rejects`"
        )]
    );
    // Rejection in the proof is no rejection by the audit.
    let text = LAPLACE
        .replace("rejects", "with")
        .replace("is at most e^ε.", "it rejects the rest.");
    assert_eq!(found(check_laplace(&text)), toothless);
}

#[test]
fn implementations_out_of_sight_are_found() {
    let extra = |code: &str| found(check_laplace(&format!("{LAPLACE}{code}\n")));
    let line = LAPLACE.lines().count() + 1;
    let nameless = [format!(
        "crates/mechanism/src/laplace.rs:{line}: `Mechanism` is implemented for no type with a name"
    )];
    assert_eq!(extra("impl<M: Inner> Mechanism for M {}"), nameless);
    assert_eq!(extra("impl<M: Mechanism> Mechanism for &M {}"), nameless);
    assert_eq!(
        extra("macro_rules! make { ($name:ident) => { impl Mechanism for $name {} } }"),
        nameless
    );
    let stranger = extra("impl Mechanism for Stranger {}");
    assert!(stranger[0].contains("no `struct Stranger`"), "{stranger:?}");
}

#[test]
fn test_modules_in_files_of_their_own_owe_nothing() {
    let sources = [
        source(
            "crates/mechanism/src/lib.rs",
            &format!("{LAPLACE}\n#[cfg(test)]\nmod mutants;\n"),
        ),
        source(
            "crates/mechanism/src/mutants.rs",
            "struct Mutant;\nimpl Mechanism for Mutant {}\n",
        ),
        source("crates/mechanism/tests/ui/bad.rs", "this is not Rust"),
    ];
    assert!(check(&sources, &noise()).is_ok());
}

#[test]
fn a_check_of_nothing_fails() {
    let findings = found(check(&[], &noise()));
    assert_eq!(
        findings,
        ["crates/mechanism/src: no `impl Mechanism for` was found"]
    );
    assert_eq!(found(check_laplace("fn broken( {")).len(), 2);
}

#[test]
fn a_sampler_without_proof_or_test_is_found() {
    let laplace = source("crates/mechanism/src/laplace.rs", LAPLACE);
    let with = |from: &str, to: &str| {
        let mut noise = noise();
        noise[0].text = noise[0].text.replacen(from, to, 1);
        found(check(std::slice::from_ref(&laplace), &noise))
    };
    let place = "crates/noise/src/lib.rs:4";
    let gap = format!("{place}: the `# Exactness` section of `Inversion`");
    assert_eq!(
        with("/// Proof: so.", "///"),
        [format!("{gap} has no line starting `Proof:`")]
    );
    assert_eq!(
        with("/// Tested by: `exactly`.", "///"),
        [format!("{gap} has no line starting `Tested by:`")]
    );
    let section = format!("{place}: `Inversion` has no `# Exactness` section in its doc comment");
    assert_eq!(with("# Exactness", ""), [section]);
    let gone =
        format!("{place}: `Inversion` relies on the test `roughly`, and no `#[test] fn roughly` exists");
    assert_eq!(with("exactly", "roughly"), [gone]);
    let renamed = ["crates/noise/src: the sampler `pub struct Bernoulli` is missing"];
    assert_eq!(with("struct Bernoulli", "struct Coin"), renamed);
    assert_eq!(with("pub struct Bernoulli", "struct Bernoulli"), renamed);
}
