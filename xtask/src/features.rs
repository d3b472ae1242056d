//! `cargo xtask features`: the binary alone, the Python extension alone and the tests ask for the same features of every library.
//!
//! Cargo builds a library once for each set of its features that somebody asks for. Where the dependencies of tests ask for one more, `cargo run` and `cargo nextest run --workspace` each
//! build the query engine, which takes longer than everything else together.

use crate::finding::{Finding, Outcome, outcome};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const HINT: &str = "ask for the same features in [workspace.dependencies] of Cargo.toml, where the binary's own crates use it";

/// Libraries with their versions, and the sets of features that each is built with.
type Built = BTreeMap<String, Vec<String>>;

/// Compares what `cargo run` and the wheel build with what the tests build.
pub(crate) fn run(root: &Path) -> Outcome {
    let tests = parse(&tree(root, &["--workspace", "--edges", "normal,build,dev"])?);
    let mut said = Vec::new();
    for (package, name) in [("deniable-cli", "the binary"), ("deniable-python", "the wheel")] {
        let alone = tree(root, &["--package", package, "--edges", "normal,build"])?;
        said.push(compare(name, &parse(&alone), &tests)?);
    }
    Ok(said.join("\n"))
}

fn tree(root: &Path, selection: &[&str]) -> Result<String, Finding> {
    let failed = |what: String| {
        Finding::new(
            "Cargo.toml",
            what,
            "`cargo tree --workspace` must work: see what it says",
        )
    };
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["tree", "--locked", "--prefix", "none", "--format", "{p}|{f}"])
        .args(selection)
        .current_dir(root)
        .output()
        .map_err(|error| failed(format!("cannot start cargo: {error}")))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(failed(format!("cargo tree failed: {}", said.trim())))
    }
}

/// Lines such as `serde v1.0.0|default,derive (*)`.
fn parse(tree: &str) -> Built {
    let mut built = Built::new();
    for line in tree.lines() {
        if let Some((library, features)) = line.trim_end_matches(" (*)").split_once('|') {
            // Our own crates are built anew anyway.
            if !library.starts_with("deniable") && !library.starts_with("xtask") {
                built
                    .entry(library.to_owned())
                    .or_default()
                    .push(features.to_owned());
            }
        }
    }
    for sets in built.values_mut() {
        sets.sort();
        sets.dedup();
    }
    built
}

/// `name` is what `alone` makes.
fn compare(name: &str, alone: &Built, tests: &Built) -> Outcome {
    let mut findings = Vec::new();
    if alone.is_empty() {
        let hint = "a check that looks at nothing passes always: what does `cargo tree` print?";
        findings.push(Finding::new(
            "Cargo.toml",
            format!("{name} has no dependency"),
            hint,
        ));
    }
    for (library, sets) in alone {
        let others = tests.get(library).map(Vec::as_slice).unwrap_or_default();
        if let Some(features) = sets.iter().find(|features| !others.contains(features)) {
            let what = format!(
                "{library} is built twice: with the features {features} for {name}, and with {} for tests",
                others.join(" or ")
            );
            findings.push(Finding::new("Cargo.toml", what, HINT));
        }
    }
    outcome(findings, || {
        format!(
            "features: {} libraries of {name}, all built as the tests build them",
            alone.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BINARY: &str = "deniable-cli v0.1.0 (somewhere)|\nserde v1.0.0|default,derive\nsyn v2.0.0|full\nserde v1.0.0|default,derive (*)\n";

    #[test]
    fn equal_features_pass() {
        let tests = format!("{BINARY}insta v1.0.0|default\nsyn v2.0.0|full,visit\n");
        let said = compare("the binary", &parse(BINARY), &parse(&tests)).unwrap();
        assert!(said.starts_with("features: 2 libraries"), "{said}");
    }

    #[test]
    fn one_more_feature_for_tests_is_caught() {
        let tests = BINARY.replace("default,derive", "default,derive,rc");
        let said = compare("the binary", &parse(BINARY), &parse(&tests))
            .unwrap_err()
            .to_string();
        assert!(said.contains("serde v1.0.0 is built twice"), "{said}");
        assert!(!said.contains("syn"), "{said}");
    }

    #[test]
    fn a_check_of_nothing_fails() {
        assert!(compare("the binary", &Built::new(), &parse(BINARY)).is_err());
    }
}
