//! `deniable query`, `explain`, `budget`, `check`, `init` and `shell` as a person or a program uses them: the
//! built binary, real files, exit codes.

mod budget;
mod card;
mod check;
mod cluster;
mod explain;
mod files;
mod init;
mod ledger;
mod limits;
mod objects;
mod query;
mod receipt;
mod regress;
mod shell;
mod synthesize;
mod tables;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A folder with a table of people and a catalog of it, gone after the test.
struct Folder(TempDir);

const CATALOG: &str = "\
name = \"clinic\"
[unit]
whose = \"person\"
[budget]
epsilon = 2
ledger = \"clinic.ledger\"
[budget.query]
epsilon = 0.5
[budget.analysts]
ann = 1
bob = 0.25
[tables.people]
source = \"people.csv\"
unit = \"id\"
rows_per_unit = 1
[tables.people.columns]
id = { kind = \"int\" }
age = { kind = \"int\", bounds = [0, 100] }
city = { kind = \"text\", values = [\"Ash\", \"=Bree, \\\"old\\\"\"] }
weight = { kind = \"float\" }
";

impl Folder {
    /// Three hundred people; two thirds of them live in Ash.
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().expect("a folder"));
        let mut csv = "id,age,city,weight\n".to_owned();
        for id in 0..300 {
            let city = if id % 3 == 0 {
                "\"=Bree, \"\"old\"\"\""
            } else {
                "Ash"
            };
            csv += &format!("{id},{},{city},{}.5\n", id % 90, 40 + id % 60);
        }
        folder.write("people.csv", &csv);
        folder.write("deniable.toml", CATALOG);
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("written");
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).expect("the folder");
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.expect("an entry").file_name().into_string().expect("text")
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    /// Runs the binary in the folder, as `ann`.
    fn run(&self, arguments: &[&str]) -> Output {
        command(self.0.path())
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .expect("the binary runs")
    }

    /// A command that must succeed: what it printed.
    fn stdout(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{arguments:?}: {}",
            stderr(&output)
        );
        text(&output.stdout)
    }

    /// A command that must succeed and print one object.
    fn object(&self, arguments: &[&str]) -> Value {
        let text = self.stdout(arguments);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// A command that must be refused with this exit code: what it said.
    fn refused(&self, arguments: &[&str], code: i32) -> String {
        let output = self.run(arguments);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.starts_with("error: "), "{said}");
        assert!(said.contains("\nhint: ") && !said.contains("panicked"), "{said}");
        said
    }
}

/// The binary, with an environment in which nothing of the tester's is left.
fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deniable"));
    command
        .current_dir(folder)
        .env_remove("DENIABLE_CATALOG")
        .env("DENIABLE_ANALYST", "ann")
        .env("XDG_DATA_HOME", folder.join("data"));
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn stderr(output: &Output) -> String {
    text(&output.stderr)
}
