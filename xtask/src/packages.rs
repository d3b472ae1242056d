//! `cargo xtask packages`: every public crate can be published, and a program that needs one part of the library builds that part alone.
//!
//! Four things are looked at. What crates.io asks of a manifest. Whether cargo can make the packages. How many crates `accounting` alone takes. And whether a program outside of the
//! workspace, `examples/outside/accounting`, builds with that and prints its answer.

use crate::finding::{Finding, Outcome, outcome};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Crates that nobody installs from a registry.
const PRIVATE: [&str; 3] = ["deniable-fuzzed", "deniable-python", "xtask"];

/// So many crates accounting alone may take, ours among them. There were 34 on 2026-11-19.
const MOST_FOR_ACCOUNTING: usize = 36;

const MANIFESTS: &str =
    "see what the other crates say in their [package], and [workspace.package] in Cargo.toml";

/// Checks the workspace at `root`.
pub(crate) fn run(root: &Path) -> Outcome {
    let metadata = cargo(root, &["metadata", "--no-deps", "--format-version", "1"])?;
    let metadata: Value = serde_json::from_str(&metadata)
        .map_err(|error| Finding::new("Cargo.toml", format!("cargo metadata: {error}"), MANIFESTS))?;
    let manifests = check(&metadata)?;
    let wheel = check_wheel(root, &metadata)?;
    let crates = count(root)?;
    make(root)?;
    let said = run_outside(root)?;
    Ok(format!(
        "packages: {manifests}, all packed; {wheel}\n\
         packages: accounting alone takes {crates} crates, and a program that uses it said `{said}`"
    ))
}

/// What crates.io asks for, and what people look for there.
fn check(metadata: &Value) -> Outcome {
    let packages = metadata["packages"].as_array().cloned().unwrap_or_default();
    let mut findings = Vec::new();
    let mut public = 0;
    for package in &packages {
        let name = package["name"].as_str().unwrap_or_default();
        let closed = package["publish"].as_array().is_some_and(Vec::is_empty);
        if closed != PRIVATE.contains(&name) {
            let what = match closed {
                true => "says `publish = false`, and is not in the list of private crates",
                false => "is in the list of private crates, and does not say `publish = false`",
            };
            findings.push(Finding::new(
                name,
                what,
                "the list is PRIVATE in xtask/src/packages.rs",
            ));
        }
        if !closed {
            public += 1;
            findings.extend(missing(name, package));
        }
    }
    if public == 0 {
        let hint = "a check that looks at nothing passes always: what does `cargo metadata` print?";
        findings.push(Finding::new("Cargo.toml", "no crate is public", hint));
    }
    outcome(findings, || format!("{public} public crates"))
}

fn missing(name: &str, package: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut say = |what: String| findings.push(Finding::new(name, what, MANIFESTS));
    for field in ["description", "repository", "readme", "license", "rust_version"] {
        if package[field].as_str().is_none_or(str::is_empty) {
            say(format!("has no `{}`", field.replace('_', "-")));
        }
    }
    for field in ["keywords", "categories"] {
        let given = package[field].as_array().map_or(0, Vec::len);
        if !(1..=5).contains(&given) {
            say(format!("has {given} `{field}`, and may have 1 to 5"));
        }
    }
    for keyword in package["keywords"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        if keyword.len() > 20 {
            say(format!(
                "has the keyword `{keyword}`, which is longer than 20 characters"
            ));
        }
    }
    for dependency in package["dependencies"].as_array().into_iter().flatten() {
        let to = dependency["name"].as_str().unwrap_or_default();
        if dependency["path"].is_string() && dependency["req"] == "*" {
            say(format!("depends on `{to}` by its path alone, without a version"));
        }
        if PRIVATE.contains(&to) {
            say(format!("depends on `{to}`, which is not published"));
        }
    }
    findings
}

/// The wheel says the same of itself in a manifest of its own.
fn check_wheel(root: &Path, metadata: &Value) -> Outcome {
    const PLACE: &str = "python/pyproject.toml";
    let read = std::fs::read_to_string(root.join(PLACE)).unwrap_or_default();
    let wheel: toml::Table = read.parse().unwrap_or_default();
    let project = wheel.get("project").and_then(toml::Value::as_table);
    let text = |path: [&str; 2]| project?.get(path[0])?.get(path[1])?.as_str();
    let packages = metadata["packages"].as_array();
    let facade = packages
        .into_iter()
        .flatten()
        .find(|package| package["name"] == "deniable");
    let repository = facade.and_then(|package| package["repository"].as_str());
    let mut findings = Vec::new();
    if repository.is_none() || text(["urls", "Repository"]) != repository {
        let what = "names another repository than the crates";
        findings.push(Finding::new(
            PLACE,
            what,
            "repeat `repository` of Cargo.toml under [project.urls]",
        ));
    }
    if text(["scripts", "deniable"]).is_none() {
        let what = "installs no command `deniable`";
        findings.push(Finding::new(
            PLACE,
            what,
            "[project.scripts] names the function that the command calls",
        ));
    }
    outcome(findings, || "the wheel says the same".to_owned())
}

/// How many crates a program builds that asks for accounting alone.
fn count(root: &Path) -> Result<usize, Finding> {
    let selection = [
        "--package",
        "deniable",
        "--no-default-features",
        "--features",
        "accounting",
    ];
    let tree = cargo(
        root,
        &[
            &["tree", "--locked", "--edges", "normal", "--prefix", "none"],
            selection.as_slice(),
        ]
        .concat(),
    )?;
    let crates: BTreeSet<&str> = tree.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    let hint =
        "`cargo tree --package deniable --no-default-features --features accounting` shows who asks for it";
    if !(4..=MOST_FOR_ACCOUNTING).contains(&crates.len()) {
        let what = format!(
            "accounting alone takes {} crates, and at most {MOST_FOR_ACCOUNTING} are allowed",
            crates.len()
        );
        return Err(Finding::new("crates/deniable/Cargo.toml", what, hint));
    }
    Ok(crates.len())
}

/// Makes the packages as for publishing. What is in them was built already, so it is not built again.
fn make(root: &Path) -> Result<(), Finding> {
    let mut words = vec![
        "package",
        "--workspace",
        "--no-verify",
        "--allow-dirty",
        "--quiet",
        "--target-dir",
    ];
    let folder = target(root).join("packages");
    let folder = folder.to_string_lossy();
    words.push(&folder);
    for name in PRIVATE {
        words.extend(["--exclude", name]);
    }
    cargo(root, &words).map(drop)
}

/// Builds and runs the program outside of the workspace, with the versions that the workspace has, and returns what it prints.
fn run_outside(root: &Path) -> Result<String, Finding> {
    const PLACE: &str = "examples/outside/accounting";
    let manifest = root.join(PLACE).join("Cargo.toml");
    let copied = std::fs::copy(root.join("Cargo.lock"), root.join(PLACE).join("Cargo.lock"));
    copied.map_err(|error| Finding::new(PLACE, error.to_string(), "the folder must be writable"))?;
    let folder = target(root).join("outside");
    let (manifest, folder) = (manifest.to_string_lossy(), folder.to_string_lossy());
    let printed = cargo(
        root,
        &[
            "run",
            "--quiet",
            "--manifest-path",
            &manifest,
            "--target-dir",
            &folder,
        ],
    )?;
    let said = printed.trim();
    // A hundred Laplace noises at ε = 0.1 and δ = 1e-6.
    if !said.starts_with("ε = 4.69") {
        let what = format!("printed `{said}`, and not its ε");
        return Err(Finding::new(PLACE, what, "run it with `cargo run`"));
    }
    Ok(said.to_owned())
}

fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

fn cargo(root: &Path, words: &[&str]) -> Result<String, Finding> {
    let said = words.join(" ");
    let failed = |what: String| Finding::new("Cargo.toml", what, format!("`cargo {said}` must work"));
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(words)
        .current_dir(root)
        .output()
        .map_err(|error| failed(format!("cannot start cargo: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str) -> Value {
        serde_json::json!({
            "name": name, "description": "d", "repository": "r", "readme": "README.md", "license": "MIT",
            "rust_version": "1.94", "keywords": ["privacy"], "categories": ["science"], "publish": null,
            "dependencies": [{ "name": "deniable-exact", "path": "/somewhere", "req": "^0.1.0" }],
        })
    }

    /// What is found in a workspace of this one package.
    fn found(package: Value) -> String {
        let outcome = check(&serde_json::json!({ "packages": [package] }));
        outcome.unwrap_or_else(|findings| findings.to_string())
    }

    #[test]
    fn a_whole_manifest_passes() {
        assert_eq!(found(package("deniable-noise")), "1 public crates");
    }

    #[test]
    fn what_is_missing_is_named() {
        for field in [
            "description",
            "repository",
            "readme",
            "license",
            "rust_version",
            "keywords",
            "categories",
        ] {
            let mut without = package("deniable-noise");
            without[field] = Value::Null;
            assert!(
                found(without).contains(&format!("`{}`", field.replace('_', "-"))),
                "{field}"
            );
        }
        let mut by_path = package("deniable-noise");
        by_path["dependencies"][0]["req"] = "*".into();
        assert!(found(by_path).contains("without a version"));
        let mut on_private = package("deniable-noise");
        on_private["dependencies"][0]["name"] = "xtask".into();
        assert!(found(on_private).contains("which is not published"));
    }

    #[test]
    fn a_private_crate_says_so() {
        assert!(found(package("xtask")).contains("does not say `publish = false`"));
        let mut closed = package("deniable-noise");
        closed["publish"] = serde_json::json!([]);
        assert!(found(closed).contains("is not in the list"));
    }

    #[test]
    fn a_check_of_nothing_fails() {
        assert!(check(&serde_json::json!({ "packages": [] })).is_err());
    }
}
