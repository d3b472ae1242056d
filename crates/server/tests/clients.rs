//! The clients that analysts use: psycopg 3, asyncpg, SQLAlchemy with pandas and ADBC, installed by
//! `scripts/with-clients`; and R.

mod common;

use common::{Running, text};
use server::accounts::Role;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

#[test]
fn python_clients_ask() {
    let python = std::env::var_os("DENIABLE_TEST_PYTHON").unwrap_or_else(|| {
        panic!("this test needs Python clients\nhint: run the tests as `scripts/with-clients cargo nextest run …`")
    });
    assert_eq!(said_by(&python, "tests/python/clients.py").lines().count(), 6);
}

#[test]
#[ignore = "R is large: apt-get install r-cran-rpostgresql, then run with --run-ignored all"]
fn r_asks() {
    assert_eq!(said_by(OsStr::new("Rscript"), "tests/r/client.R").trim(), "ok");
}

/// What a script prints that asks a server on loopback.
fn said_by(interpreter: &OsStr, script: &str) -> String {
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    let output = Command::new(interpreter)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(script))
        .args(["localhost", &running.addresses.wire.port().to_string(), "ann"])
        .arg(&running.certificate)
        .env("PGPASSWORD", ann)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}
