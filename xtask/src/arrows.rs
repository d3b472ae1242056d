//! `cargo xtask arrows`: dependencies between the workspace's crates only point down (and those between the stages of `sql`: see `stages`).
//!
//! Reads the manifests through `cargo metadata --no-deps`, which fetches nothing, and compares them with [`LEVELS`].

use crate::finding::{Finding, Outcome, outcome};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Every crate and its level. A normal dependency goes to a lower level; equal levels do not know each other.
const LEVELS: &[(&str, u8)] = &[
    ("deniable-exact", 0),
    ("deniable-files", 0),
    ("deniable-device", 0),
    ("deniable-report", 0),
    ("deniable-noise", 1),
    ("deniable-accounting", 1),
    (AUDIT, 1),
    ("deniable-mechanism", 2),
    ("deniable-ledger", 3),
    ("deniable-bound", 2),
    ("deniable-cluster", 3),
    ("deniable-verify", 3),
    ("deniable-tables", 3),
    ("deniable-synthesis", 4),
    ("deniable-regression", 4),
    ("deniable-sql", 5),
    ("deniable-train", 4),
    ("deniable-attack", 4),
    (CONFORMANCE, 4),
    ("deniable-card", 6),
    ("deniable-training", 6),
    (EXPERIMENTS, 6),
    (FACADE, 8),
    (FUZZED, 8),
    ("deniable-cli", LEAF),
    ("deniable-server", 7),
    ("deniable-python", LEAF + 1),
];

/// The judge. It is everyone's test kit, so a dev-dependency on it is fine even from its own level; but only a
/// leaf, the conformance checks, the experiments and the library of all may ship it, because what is judged must not be built from its judge.
const AUDIT: &str = "deniable-audit";

/// Where every mechanism is judged, and every claim of the theory.
const CONFORMANCE: &str = "deniable-conformance";
const EXPERIMENTS: &str = "deniable-experiments";

/// Every crate under one name, for programs of others.
const FACADE: &str = "deniable";

/// What a fuzzer calls, and the tests replay: every reader of bytes, the auditor's too.
const FUZZED: &str = "deniable-fuzzed";

/// The level of the leaves: the command line, and above it the Python package, which brings it along.
const LEAF: u8 = 9;

/// The checks themselves: outside the picture.
const OUTSIDE: &str = "xtask";

const CRATE_NOT_IN_TABLE: &str =
    "give the crate its level in LEVELS in xtask/src/arrows.rs, and its line in ARCHITECTURE.md";

/// One dependency between two crates of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Arrow {
    from: String,
    to: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Compiled into what we ship, directly or through a build script.
    Shipped,
    /// Tests and examples only.
    Development,
}

/// The crates of the workspace and the arrows between them.
#[derive(Debug, Default)]
struct Graph {
    crates: Vec<String>,
    arrows: Vec<Arrow>,
}

/// Reads the workspace at `root` and checks it.
pub(crate) fn run(root: &Path) -> Outcome {
    let graph = read(root).map_err(|what| {
        Finding::new(
            "Cargo.toml",
            what,
            "`cargo metadata --no-deps` must work: see what it says",
        )
    })?;
    let crates = check(&graph)?;
    let stages = crate::stages::run(root)?;
    Ok(format!("{crates}\n{stages}"))
}

fn read(root: &Path) -> Result<Graph, String> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
            "--manifest-path",
        ])
        .arg(root.join("Cargo.toml"))
        .output()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "cargo metadata failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    let metadata =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    graph_from(&metadata).ok_or_else(|| "cargo metadata has an unknown form".to_owned())
}

/// The arrows in cargo's JSON. A dependency is ours when it has a path, or is named like a crate of the workspace
/// (a published version of one of our crates would be a back boundary around this check).
fn graph_from(metadata: &Value) -> Option<Graph> {
    let packages = metadata.get("packages")?.as_array()?;
    let name_of = |value: &Value| Some(value.get("name")?.as_str()?.to_owned());
    let crates = packages.iter().map(name_of).collect::<Option<Vec<_>>>()?;
    let mut arrows = Vec::new();
    for (package, from) in packages.iter().zip(&crates) {
        for dependency in package.get("dependencies")?.as_array()? {
            let to = name_of(dependency)?;
            let has_path = dependency.get("path").is_some_and(|path| !path.is_null());
            if has_path || crates.contains(&to) {
                let development = dependency.get("kind").and_then(Value::as_str) == Some("dev");
                let kind = if development {
                    Kind::Development
                } else {
                    Kind::Shipped
                };
                arrows.push(Arrow {
                    from: from.clone(),
                    to,
                    kind,
                });
            }
        }
    }
    Some(Graph { crates, arrows })
}

fn level(name: &str) -> Option<u8> {
    LEVELS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, level)| *level)
}

fn check(graph: &Graph) -> Outcome {
    let mut findings = Vec::new();
    if graph.crates.iter().all(|name| name == OUTSIDE) {
        let hint = "a check that looks at nothing passes always: what does `members` in Cargo.toml say?";
        findings.push(Finding::new("Cargo.toml", "the workspace has no crate", hint));
    }
    for name in graph.crates.iter().filter(|name| *name != OUTSIDE) {
        if level(name).is_none() {
            findings.push(Finding::new(
                name,
                "this crate is not in the table of levels",
                CRATE_NOT_IN_TABLE,
            ));
        }
    }
    let inside = || graph.arrows.iter().filter(|arrow| arrow.from != OUTSIDE);
    findings.extend(inside().filter_map(judge));
    outcome(findings, || {
        let crates = graph.crates.iter().filter(|name| *name != OUTSIDE).count();
        format!(
            "arrows: {crates} crates, {} dependencies between them, all pointing down",
            inside().count()
        )
    })
}

/// What is wrong with one arrow, if anything.
fn judge(arrow: &Arrow) -> Option<Finding> {
    let Arrow { from, to, kind } = arrow;
    let Some(to_level) = level(to) else {
        let what = format!("depends on `{to}`, which is not in the table of levels");
        return Some(Finding::new(from, what, CRATE_NOT_IN_TABLE));
    };
    // A crate without a level is reported once, by name.
    let from_level = level(from)?;

    if to == AUDIT && from_level > 0 {
        let allowed = *kind == Kind::Development
            || from_level >= LEAF
            || [CONFORMANCE, EXPERIMENTS, FACADE, FUZZED].contains(&from.as_str());
        return (!allowed || from == AUDIT).then(|| {
            let hint = "move it to [dev-dependencies]: what is judged must not be built from its judge";
            Finding::new(
                from,
                format!("ships `{AUDIT}`, which only tests, conformance checks, experiments, the library of all and the leaves may use"),
                hint,
            )
        });
    }
    let direction = match to_level.cmp(&from_level) {
        std::cmp::Ordering::Less => return None,
        std::cmp::Ordering::Equal => "sideways",
        std::cmp::Ordering::Greater => "up",
    };
    let what =
        format!("its dependency on `{to}` points {direction} (level {from_level} to level {to_level})");
    let hint = "move what both need into a lower crate, or pass it in as an argument; the picture is in ARCHITECTURE.md";
    Some(Finding::new(from, what, hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Kind::{Development, Shipped};

    fn graph(arrows: &[(&str, &str, Kind)]) -> Graph {
        let crates = LEVELS
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .chain([OUTSIDE.to_owned()])
            .collect();
        let arrows = arrows.iter().map(|(from, to, kind)| Arrow {
            from: (*from).into(),
            to: (*to).into(),
            kind: *kind,
        });
        Graph {
            crates,
            arrows: arrows.collect(),
        }
    }

    /// The one finding for a planted arrow.
    fn caught(from: &str, to: &str, kind: Kind) -> Finding {
        let findings = check(&graph(&[(from, to, kind)])).expect_err("the planted arrow was not caught");
        let found: Vec<_> = findings.iter().cloned().collect();
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].clone()
    }

    #[test]
    fn the_intended_picture_passes() {
        let picture = graph(&[
            ("deniable-noise", "deniable-exact", Shipped),
            ("deniable-noise", AUDIT, Development),
            ("deniable-accounting", AUDIT, Development),
            (AUDIT, "deniable-exact", Shipped),
            ("deniable-mechanism", "deniable-noise", Shipped),
            ("deniable-mechanism", "deniable-accounting", Shipped),
            ("deniable-mechanism", AUDIT, Development),
            ("deniable-sql", "deniable-ledger", Shipped),
            ("deniable-cli", AUDIT, Shipped),
            ("deniable-cli", "deniable-mechanism", Shipped),
            ("xtask", "deniable-cli", Shipped),
        ]);
        let summary = check(&picture).unwrap();
        assert_eq!(
            summary,
            format!(
                "arrows: {} crates, 10 dependencies between them, all pointing down",
                LEVELS.len()
            )
        );
    }

    #[test]
    fn an_upward_arrow_is_caught() {
        assert!(
            caught("deniable-noise", "deniable-mechanism", Shipped)
                .what
                .contains("points up")
        );
        assert!(
            caught("deniable-exact", "deniable-noise", Development)
                .what
                .contains("points up")
        );
        assert!(
            caught("deniable-exact", AUDIT, Development)
                .what
                .contains("points up")
        );
        assert!(
            caught("deniable-exact", AUDIT, Shipped)
                .what
                .contains("points up")
        );
    }

    #[test]
    fn a_sideways_arrow_is_caught() {
        assert!(
            caught("deniable-noise", "deniable-accounting", Shipped)
                .what
                .contains("points sideways")
        );
        assert!(
            caught(AUDIT, "deniable-noise", Shipped)
                .what
                .contains("points sideways")
        );
        assert!(
            caught(AUDIT, "deniable-noise", Development)
                .what
                .contains("points sideways")
        );
        assert!(
            caught("deniable-train", "deniable-synthesis", Shipped)
                .what
                .contains("points sideways")
        );
    }

    #[test]
    fn a_shipped_judge_is_caught() {
        let finding = caught("deniable-mechanism", AUDIT, Shipped);
        assert!(finding.what.contains("only tests, conformance checks"));
        assert!(finding.hint.contains("[dev-dependencies]"));
        assert!(
            caught("deniable-noise", AUDIT, Shipped)
                .what
                .contains("only tests")
        );
    }

    #[test]
    fn an_unknown_crate_is_caught() {
        let mut unknown = graph(&[]);
        unknown.crates.push("deniable-helpers".to_owned());
        let findings = check(&unknown).unwrap_err().to_string();
        assert!(
            findings.contains("deniable-helpers: this crate is not in the table"),
            "{findings}"
        );
        assert!(findings.contains("hint: give the crate its level"), "{findings}");

        assert!(
            caught("deniable-noise", "elsewhere", Shipped)
                .what
                .contains("not in the table")
        );
        assert!(
            caught("deniable-noise", OUTSIDE, Development)
                .what
                .contains("not in the table")
        );
    }

    #[test]
    fn a_check_of_nothing_fails() {
        assert!(check(&Graph::default()).is_err());
    }

    #[test]
    fn arrows_are_read_from_cargo_metadata() {
        let metadata = serde_json::json!({ "packages": [
            { "name": "deniable-noise", "dependencies": [
                { "name": "deniable-exact", "kind": null, "path": "/somewhere" },
                { "name": "deniable-audit", "kind": "dev", "path": "/somewhere" },
                { "name": "serde", "kind": null },
                { "name": "elsewhere", "kind": "build", "path": "/elsewhere" },
            ]},
            { "name": "deniable-exact", "dependencies": [{ "name": "deniable-noise", "kind": null }] },
        ]});
        let graph = graph_from(&metadata).unwrap();
        let arrow = |from: &str, to: &str, kind| Arrow {
            from: from.into(),
            to: to.into(),
            kind,
        };
        let expected = [
            arrow("deniable-noise", "deniable-exact", Shipped),
            arrow("deniable-noise", AUDIT, Development),
            arrow("deniable-noise", "elsewhere", Shipped),
            arrow("deniable-exact", "deniable-noise", Shipped),
        ];
        assert_eq!(graph.arrows, expected);
    }
}
