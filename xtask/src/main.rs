//! What a compiler cannot check but this project promises: the crates' arrows point down, every mechanism has
//! its claim, proof, source and audit beside its code, the documents' links lead somewhere, and dependencies are such as deny.toml allows. `test` runs these
//! with everything else that must hold before a change goes in.

mod arrows;
mod claims;
mod deny;
mod doc_section;
mod features;
mod finding;
mod links;
mod packages;
mod proofs;
mod source;
mod stages;
mod steps;
mod trusted;

use finding::Outcome;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

  test     everything that must hold: fmt, clippy, arrows, features, claims, proofs, trusted, links, deny, packages, workflows, tests, doc tests
  arrows   dependencies between the crates, and between the stages inside `sql`, only point down
  features the binary and the tests build every library with the same features
  claims   every mechanism and sampler has its proof, and the tests it names exist
  proofs   the proofs of the verifier's rules hold, and its rules and these proofs are the same
  trusted  the modules that TRUSTED-BASE.md lists name none that it does not list, and are as long as it says; --write writes how long they are
  links    every relative link in the documents resolves, and the book's contents list its pages
  packages every public crate can be published, and accounting alone builds alone
  deny     licences, versions and sources of all dependencies are those that deny.toml allows";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let command = match words.as_slice() {
        [command] => command.as_str(),
        [command, option] if command == "trusted" && option == "--write" => "write trusted",
        _ => "help",
    };
    let root = match workspace_root() {
        Ok(root) => root,
        Err(message) => return failed(&message),
    };
    match command {
        "arrows" => print_outcome(arrows::run(&root)),
        "features" => print_outcome(features::run(&root)),
        "claims" => print_outcome(claims::run(&root)),
        "proofs" => print_outcome(proofs::run(&root)),
        "trusted" => print_outcome(trusted::run(&root)),
        "write trusted" => print_outcome(trusted::write(&root)),
        "links" => print_outcome(links::run(&root)),
        "packages" => print_outcome(packages::run(&root)),
        "deny" => print_outcome(deny::run(&root)),
        "test" => match steps::run_all(&root) {
            Ok(()) => ExitCode::SUCCESS,
            Err(message) => failed(&message),
        },
        "help" | "--help" | "-h" if words.len() <= 1 => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => failed(&format!("unknown command `{}`\nhint: {USAGE}", words.join(" "))),
    }
}

/// The folder above this package; cargo tells it at run time, so a moved checkout needs no rebuild.
fn workspace_root() -> Result<PathBuf, String> {
    let manifest = std::env::var("CARGO_MANIFEST_DIR")
        .map_err(|_| "xtask does not know where the workspace is\nhint: start it with `cargo xtask`")?;
    let root = Path::new(&manifest).parent();
    root.map(Path::to_path_buf)
        .ok_or_else(|| format!("{manifest} has no parent folder"))
}

fn print_outcome(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(findings) => {
            eprint!("{findings}");
            ExitCode::FAILURE
        }
    }
}

fn failed(message: &str) -> ExitCode {
    eprintln!("error: {message}");
    ExitCode::FAILURE
}
