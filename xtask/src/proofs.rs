//! `cargo xtask proofs`: Coq accepts the proofs of the verifier's rules, nothing in them is taken for granted, and the rules in Rust and the rules that are proved are the same.
//!
//! Coq is installed by `scripts/proofs` where it is missing.

use crate::finding::{Finding, Outcome, outcome};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// So long may all proofs together be.
const MOST_LINES: usize = 1500;
/// Words by which a proof is left open, or taken for granted.
const OPEN: [&str; 6] = ["Admitted", "admit", "Axiom", "Parameter", "Conjecture", "Abort"];
/// What the proofs say of totals: theorems that stand beside the relation of rules.
const THEOREMS: [&str; 5] = ["native", "sums", "distincts", "lengths_one", "lengths_two"];
const RELATION: &str = "proofs/Verified.v";
const TABLE: &str = "crates/verify/src/rule.rs";

pub(crate) fn run(root: &Path) -> Outcome {
    let read = |path: &str| {
        std::fs::read_to_string(root.join(path))
            .map_err(|error| Finding::new(path, error.to_string(), "the check reads this file"))
    };
    let mut findings = Vec::new();
    let mut lines = 0;
    let unreadable =
        |error: std::io::Error| Finding::new("proofs", error.to_string(), "the folder must be there");
    for entry in std::fs::read_dir(root.join("proofs")).map_err(unreadable)? {
        let name = entry
            .map_err(unreadable)?
            .file_name()
            .to_string_lossy()
            .into_owned();
        if name.ends_with(".v") {
            let text = read(&format!("proofs/{name}"))?;
            lines += text.lines().count();
            findings.extend(open_proofs(&name, &text));
        }
    }
    if lines > MOST_LINES {
        let what = format!("the proofs have {lines} lines, and may have {MOST_LINES}");
        findings.push(Finding::new(
            "proofs",
            what,
            "shorten them, or argue for more in xtask/src/proofs.rs",
        ));
    }
    let (relation, table) = (read(RELATION)?, read(TABLE)?);
    let (proved, used) = (proved(&relation), used(&table));
    for name in proved.difference(&used) {
        findings.push(Finding::new(
            RELATION,
            format!("the rule `{name}` is proved, and no rule of the verifier"),
            format!("name it in {TABLE}, or remove it"),
        ));
    }
    for name in used.difference(&proved) {
        findings.push(Finding::new(
            TABLE,
            format!("the rule `{name}` has no proof"),
            format!("prove it: `j_{name}` in {RELATION}"),
        ));
    }
    if findings.is_empty() {
        findings.extend(compiled(root));
    }
    outcome(findings, || {
        format!(
            "proofs: {} rules are proved in {lines} lines, and the verifier has the same",
            proved.len()
        )
    })
}

/// Words by which something is left open.
fn open_proofs(name: &str, text: &str) -> Vec<Finding> {
    let word = |line: &str, word: &str| {
        line.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .any(|other| other == word)
    };
    let found = |(place, line): (usize, &str)| {
        let open = OPEN.iter().find(|open| word(line, open))?;
        Some(Finding::new(
            format!("proofs/{name}:{}", place + 1),
            format!("`{open}` leaves something unproved"),
            "prove it",
        ))
    };
    text.lines().enumerate().filter_map(found).collect()
}

/// The rules of the relation, and the theorems beside it.
fn proved(relation: &str) -> BTreeSet<String> {
    let constructor = |line: &str| {
        let rest = line.trim_start().strip_prefix("| j_")?;
        Some(rest.split([' ', ':']).next()?.to_owned())
    };
    let theorem = |name: &&&str| relation.contains(&format!("Print Assumptions {name}."));
    let theorems = THEOREMS.iter().filter(theorem).map(|name| (*name).to_owned());
    relation.lines().filter_map(constructor).chain(theorems).collect()
}

/// The names of proofs that the verifier's rules have: lines of a rule and its proof.
fn used(table: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        let (rule, proof) = line.trim().split_once(' ')?;
        let proof = proof.strip_prefix('"')?.strip_suffix('"')?;
        rule.chars().all(char::is_alphanumeric).then(|| proof.to_owned())
    };
    table.lines().filter_map(name).collect()
}

/// Has Coq check them, and say what they rest on.
fn compiled(root: &Path) -> Option<Finding> {
    let failed = |what: String| {
        Some(Finding::new(
            "scripts/proofs",
            what,
            "`scripts/proofs` shows what Coq says",
        ))
    };
    let output = match Command::new(root.join("scripts/proofs"))
        .current_dir(root)
        .output()
    {
        Ok(output) => output,
        Err(error) => return failed(error.to_string()),
    };
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return failed(format!(
            "Coq does not accept them: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    let closed = said
        .lines()
        .filter(|line| *line == "Closed under the global context")
        .count();
    if closed != THEOREMS.len() || said.contains("Axioms") {
        return failed(format!("{closed} of {} theorems rest on nothing", THEOREMS.len()));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_found_on_both_sides() {
        let relation = "Inductive judged :=\n  | j_owned_filter : forall p q, x\n\nPrint Assumptions sums.\n";
        let table = "rules! {\n    OwnedFilter \"owned_filter\"\n    Sums \"sums\"\n}\n";
        assert_eq!(proved(relation), used(table));
        assert_eq!(used(table).len(), 2);
    }

    #[test]
    fn what_is_left_open_is_found() {
        assert_eq!(
            open_proofs("a.v", "Lemma x : y.\nProof. admit.\nAdmitted.\n").len(),
            2
        );
        assert!(open_proofs("a.v", "Lemma admitted_rows : y. Proof. trivial. Qed.\n").is_empty());
    }
}
