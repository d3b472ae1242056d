//! `cargo xtask test`: everything that must hold before a change goes in, in the order in which it fails fastest.

use crate::finding::Outcome;
use crate::{arrows, claims, deny, features, links, packages, proofs, trusted};
use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One thing to do: a cargo command, or one of our own checks.
enum Step {
    Cargo {
        name: &'static str,
        arguments: &'static [&'static str],
        hint: &'static str,
    },
    Check {
        name: &'static str,
        check: fn(&Path) -> Outcome,
    },
    Script {
        name: &'static str,
        path: &'static str,
        hint: &'static str,
    },
}

/// All of them, also after one has failed: a run takes long, and the next failure would cost another.
const NEXTEST: Step = Step::Cargo {
    name: "tests",
    arguments: &["nextest", "run", "--workspace", "--locked", "--no-fail-fast"],
    hint: "`cargo nextest run --workspace <name>` runs one test alone",
};

/// The same tests where cargo-nextest cannot be had.
const PLAIN_TESTS: Step = Step::Cargo {
    name: "tests",
    arguments: &["test", "--workspace", "--tests", "--locked", "--no-fail-fast"],
    hint: "`cargo test --workspace <name>` runs one test alone",
};

fn steps(have_nextest: bool) -> [Step; 14] {
    [
        Step::Cargo {
            name: "fmt",
            arguments: &["fmt", "--all", "--", "--check"],
            hint: "`cargo fmt --all` formats",
        },
        Step::Cargo {
            name: "clippy",
            arguments: &[
                "clippy",
                "--workspace",
                "--all-targets",
                "--locked",
                "--",
                "-D",
                "warnings",
            ],
            hint: "no warning is left standing; if Cargo.lock is stale, `cargo check` renews it",
        },
        Step::Check {
            name: "arrows",
            check: arrows::run,
        },
        Step::Check {
            name: "features",
            check: features::run,
        },
        Step::Check {
            name: "claims",
            check: claims::run,
        },
        Step::Check {
            name: "proofs",
            check: proofs::run,
        },
        Step::Check {
            name: "trusted",
            check: trusted::run,
        },
        Step::Check {
            name: "links",
            check: links::run,
        },
        Step::Check {
            name: "deny",
            check: deny::run,
        },
        Step::Check {
            name: "packages",
            check: packages::run,
        },
        Step::Script {
            name: "workflows",
            path: "scripts/check-workflows",
            hint: "it looks at .github/workflows with actionlint",
        },
        if have_nextest { NEXTEST } else { PLAIN_TESTS },
        Step::Cargo {
            name: "doc tests",
            arguments: &["test", "--workspace", "--doc", "--locked"],
            hint: "an example in a doc comment does not do what it says",
        },
        // After the tests, which build what it packs.
        Step::Script {
            name: "python",
            path: "scripts/test-python",
            hint: "`scripts/test-python -k <name>` runs one test alone",
        },
    ]
}

/// Runs every step at `root`, and stops at the first that fails.
pub(crate) fn run_all(root: &Path) -> Result<(), String> {
    let mut times: Vec<(&str, Duration)> = Vec::new();
    for step in steps(ensure_nextest(root)) {
        let (Step::Cargo { name, .. } | Step::Check { name, .. } | Step::Script { name, .. }) = step;
        println!("── {name}");
        let start = Instant::now();
        let result = run_step(root, &step);
        let elapsed = start.elapsed();
        result.map_err(|reason| format!("{name} failed after {:.1} s: {reason}", elapsed.as_secs_f64()))?;
        println!("── {name}: ok, {:.1} s", elapsed.as_secs_f64());
        times.push((name, elapsed));
    }
    println!("\nall passed");
    for (name, time) in &times {
        println!("  {name:<10} {:>7.1} s", time.as_secs_f64());
    }
    let total: Duration = times.iter().map(|(_, time)| time).sum();
    println!("  {:<10} {:>7.1} s", "total", total.as_secs_f64());
    Ok(())
}

fn run_step(root: &Path, step: &Step) -> Result<(), String> {
    match step {
        Step::Cargo {
            arguments,
            hint,
            name,
        } => {
            // Tests of the ledger and of tables need a PostgreSQL server, and those of our server need clients and a browser; the scripts install them, and remove the server.
            let mut command = if *name == "tests" {
                with_postgres(root)
            } else {
                cargo(root)
            };
            let status = command.args(*arguments).status();
            let status = status.map_err(|error| format!("cannot start cargo: {error}"))?;
            let shown = arguments.join(" ");
            status
                .success()
                .then_some(())
                .ok_or_else(|| format!("`cargo {shown}` did not pass\nhint: {hint}"))
        }
        Step::Script { path, hint, .. } => {
            let status = program(root.join(path), root).status();
            let status = status.map_err(|error| format!("cannot start {path}: {error}"))?;
            status
                .success()
                .then_some(())
                .ok_or_else(|| format!("`{path}` did not pass\nhint: {hint}"))
        }
        Step::Check { check, name } => match check(root) {
            Ok(summary) => {
                println!("{summary}");
                Ok(())
            }
            Err(findings) => {
                eprint!("{findings}");
                Err(format!(
                    "see above\nhint: `cargo xtask {name}` repeats this check alone"
                ))
            }
        },
    }
}

/// Whether `cargo nextest` can be used; installs it where it is missing.
fn ensure_nextest(root: &Path) -> bool {
    let present = || {
        let mut version = cargo(root);
        version
            .args(["nextest", "--version"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        version.status().is_ok_and(|status| status.success())
    };
    if present() {
        return true;
    }
    if !may_install() {
        println!("── without cargo-nextest the tests run under plain `cargo test`");
        return false;
    }
    println!("── cargo-nextest is missing: installing it (once, some minutes)");
    let installed = cargo(root)
        .args(["install", "--locked", "cargo-nextest"])
        .status();
    if installed.is_ok_and(|status| status.success()) && present() {
        return true;
    }
    println!("── cargo-nextest could not be installed: the tests run under plain `cargo test`");
    false
}

/// Whoever sits at a terminal is asked before something is installed; CI, and whoever pipes this, wants it to run.
fn may_install() -> bool {
    if std::env::var_os("CI").is_some() || !std::io::stdin().is_terminal() {
        return true;
    }
    print!("cargo-nextest is missing: install it with cargo? [y/N] ");
    let mut answer = String::new();
    let asked = std::io::stdout()
        .flush()
        .and_then(|()| std::io::stdin().read_line(&mut answer));
    asked.is_ok() && answer.trim_start().to_lowercase().starts_with('y')
}

/// Cargo beside a throw-away PostgreSQL server and object store.
fn with_postgres(root: &Path) -> Command {
    let mut command = program(root.join("scripts/with-postgres"), root);
    command.arg(root.join("scripts/with-clients"));
    command.arg(root.join("scripts/with-browser"));
    command.arg(root.join("scripts/with-object-store"));
    command.arg(cargo_program());
    command
}

fn cargo_program() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"))
}

fn cargo(root: &Path) -> Command {
    program(cargo_program(), root)
}

/// A program in the root of the project, without what `cargo xtask` tells this one about the package it is. There are build scripts that run again where such a variable changes, and the engine depends on
/// one (of ring, through object storage): it would be built once for `cargo xtask` and once for who calls cargo by hand.
fn program(path: impl AsRef<OsStr>, root: &Path) -> Command {
    let mut command = Command::new(path);
    for (name, _) in std::env::vars_os() {
        let about_package = ["CARGO_PKG_", "CARGO_MANIFEST_"];
        if name
            .to_str()
            .is_some_and(|name| about_package.iter().any(|start| name.starts_with(start)))
        {
            command.env_remove(&name);
        }
    }
    command.current_dir(root);
    command
}
