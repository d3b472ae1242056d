//! What was fixed beforehand cannot be continued. Programs in `boundary/` that the compiler must refuse, for the
//! stated reason.
//!
//! The first line of each says which error codes it gets. One program must compile: without it, a broken set-up would look like success.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

type Codes = BTreeSet<String>;

#[test]
fn what_must_not_compile_does_not() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    // The folder is shared with other crates' tests, and so is not called `boundary`.
    let project = Path::new(env!("CARGO_TARGET_TMPDIR")).join("accounting-boundary");
    let expected = lay_out(here, &project);
    assert!(
        expected.len() > 8 && expected.values().any(Codes::is_empty),
        "cases and a control"
    );
    let found = compile(&project);
    for (case, codes) in &expected {
        let found = found.get(case).cloned().unwrap_or_default();
        assert_eq!(
            found, *codes,
            "{case}: the compiler's errors are not the expected ones"
        );
    }
}

/// A project with one binary a case, and the codes that each states.
fn lay_out(here: &Path, project: &Path) -> BTreeMap<String, Codes> {
    let binaries = project.join("src/bin");
    let _ = std::fs::remove_dir_all(&binaries);
    std::fs::create_dir_all(&binaries).unwrap();
    let mut expected = BTreeMap::new();
    for entry in std::fs::read_dir(here.join("tests/boundary")).unwrap() {
        let path = entry.unwrap().path();
        let source = std::fs::read_to_string(&path).unwrap();
        let codes = match source.lines().next().unwrap().split_once("// refused: ") {
            Some((_, codes)) => codes.split_whitespace().map(str::to_owned).collect(),
            None => Codes::new(),
        };
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        std::fs::copy(&path, binaries.join(path.file_name().unwrap())).unwrap();
        expected.insert(name, codes);
    }
    let path = serde_json::to_string(here.to_str().unwrap()).unwrap();
    let manifest = format!(
        "[package]\nname = \"boundary\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\naccounting = {{ package = \"deniable-accounting\", path = {path} }}\n",
    );
    std::fs::write(project.join("Cargo.toml"), manifest).unwrap();
    let lock = here.parent().unwrap().parent().unwrap().join("Cargo.lock");
    std::fs::copy(lock, project.join("Cargo.lock")).unwrap();
    expected
}

/// The error codes of each binary.
fn compile(project: &Path) -> BTreeMap<String, Codes> {
    let output = Command::new(env!("CARGO"))
        .args([
            "check",
            "--offline",
            "--keep-going",
            "--bins",
            "--message-format=json",
        ])
        .current_dir(project)
        .env("CARGO_TARGET_DIR", project.join("target"))
        .output()
        .unwrap();
    let mut found: BTreeMap<String, Codes> = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: serde_json::Value = serde_json::from_str(line).unwrap();
        let case = message["target"]["name"].as_str().unwrap_or_default().to_owned();
        if message["message"]["level"] == "error" {
            // The closing "aborting due to …" has no code of its own.
            if let Some(code) = message["message"]["code"]["code"].as_str() {
                found.entry(case).or_default().insert(code.to_owned());
            }
        } else if message["reason"] == "compiler-artifact" {
            found.entry(case).or_default();
        }
    }
    assert!(
        found.contains_key("a_filter_takes_events"),
        "the control did not compile:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    found
}
