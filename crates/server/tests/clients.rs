//! The clients that analysts use, each installed by `scripts/with-clients`: psycopg 3, SQLAlchemy with pandas, ADBC.

mod common;

use common::{Running, text};
use server::accounts::Role;
use std::path::Path;
use std::process::Command;

#[test]
fn python_clients_ask() {
    let python = std::env::var_os("DENIABLE_TEST_PYTHON").unwrap_or_else(|| {
        panic!("this test needs Python clients\nhint: run the tests as `scripts/with-clients cargo nextest run …`")
    });
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/clients.py");
    let output = Command::new(python)
        .arg(script)
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
    assert_eq!(text(&output.stdout).lines().count(), 3);
}
