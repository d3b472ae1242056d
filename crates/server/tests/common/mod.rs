//! A server on loopback with a small dataset, and the programs that speak to it.

#![allow(dead_code, reason = "each test file uses a part of it")]

use server::accounts::{self, NewAccount, Role};
use server::requests;
use server::tls::Certificate;
use server::{Addresses, Schedule, Server, Service, Settings};
use sql::{Catalog, Dataset};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

pub(crate) const PEOPLE: usize = 2000;

const CATALOG: &str = r#"
name = "town"
[unit]
whose = "person"
neighbors = "add_remove"
[budget]
epsilon = 1000
delta = 1e-6
ledger = "town.ledger"
[budget.query]
epsilon = 1
[limits]
groups = 2
rows_per_group = 2
[tables.people]
source = "people.csv"
unit = "person_id"
rows_per_unit = 1
[tables.people.columns]
person_id = { kind = "int", nullable = false }
age = { kind = "int", bounds = [0, 100], nullable = false }
region = { kind = "text", values = ["north", "south", "west"] }
score = { kind = "float", bounds = [0, 10] }
joined = { kind = "date", bounds = ["2024-01-01", "2024-12-31"] }
member = { kind = "bool", nullable = false }
[tables.regions]
source = "regions.csv"
public = true
[tables.regions.columns]
region = { kind = "text" }
label = { kind = "text" }
"#;

/// The catalog of the dataset.
pub(crate) fn catalog() -> String {
    CATALOG.to_owned()
}

/// Rows of people, without those of these persons.
pub(crate) fn people(without: &[usize]) -> String {
    let mut rows = "person_id,age,region,score,joined,member\n".to_owned();
    for person in (0..PEOPLE).filter(|person| !without.contains(person)) {
        let region = ["north", "south", "west"][person % 3];
        let month = 1 + person % 12;
        let _ = writeln!(
            rows,
            "{person},{},{region},{},2024-{month:02}-15,{}",
            person % 100,
            person % 11,
            person % 2 == 0
        );
    }
    rows
}

/// A server that runs while this lives.
pub(crate) struct Running {
    pub(crate) runtime: tokio::runtime::Runtime,
    server: Option<Server>,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) certificate: PathBuf,
    pub(crate) dataset: Dataset,
    pub(crate) addresses: Addresses,
}

/// Answers leave when they are ready, and nobody is slowed down.
pub(crate) fn quick() -> Settings {
    Settings {
        schedule: Schedule::off(),
        rate: NonZeroU32::new(10_000).unwrap(),
        burst: NonZeroU32::new(10_000).unwrap(),
        ..Settings::default()
    }
}

impl Running {
    pub(crate) fn start() -> Self {
        Self::with(quick(), &people(&[]), CATALOG)
    }

    pub(crate) fn with(settings: Settings, people: &str, catalog: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("people.csv"), people).unwrap();
        std::fs::write(
            folder.path().join("regions.csv"),
            "region,label\nnorth,N\nsouth,S\nwest,W\n",
        )
        .unwrap();
        std::fs::write(folder.path().join("deniable.toml"), catalog).unwrap();
        let dataset = Dataset::new(Catalog::parse(catalog, folder.path()).unwrap());
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap();
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let (certificate, path) = Certificate::kept_in(folder.path(), &names).unwrap();
        let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let asked = Addresses {
            http: anywhere,
            wire: anywhere,
            curators: Some(anywhere),
        };
        let server = runtime
            .block_on(Server::start(dataset.clone(), settings, &certificate, asked))
            .unwrap();
        Self {
            addresses: server.addresses(),
            server: Some(server),
            certificate: path,
            folder,
            dataset,
            runtime,
        }
    }

    /// Does something with the accounts.
    pub(crate) fn on<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut ledger::Store) -> Result<T, accounts::Error> + Send + 'static,
    ) -> T {
        let done = self.dataset.with_ledger(move |store| Ok(work(store).unwrap()));
        self.runtime.block_on(done).unwrap()
    }

    /// A new account with a token, which is returned.
    pub(crate) fn account(&self, name: &str, role: Role) -> String {
        let new = NewAccount::new(name, role);
        self.on(move |store| {
            accounts::add(store, "test", &new)?;
            let secret = accounts::add_token(store, "test", &new.name, "default", None)?;
            Ok(secret.reveal().to_owned())
        })
    }

    /// A new account with a share of the budget, which one person gives: there is at most one curator.
    pub(crate) fn add_with_share(&self, name: &str, role: Role, share: Option<&str>) {
        let share = share.map(|share| exact::parse_decimal(share).unwrap());
        let new = NewAccount::new(name, role);
        let done = self.dataset.with_ledger(move |store| {
            let kept = requests::add_account(store, "test", &new, share.as_ref()).unwrap();
            assert!(kept.waits.is_none(), "it takes two curators");
            Ok(())
        });
        self.runtime.block_on(done).unwrap();
    }

    /// The service behind the entrances.
    pub(crate) fn service(&self) -> &Arc<Service> {
        self.server.as_ref().expect("it runs").service()
    }

    /// Ends the server as it ends in use.
    pub(crate) fn end(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.end());
        }
    }

    /// What is left of the dataset's budget.
    pub(crate) fn charges(&self) -> usize {
        self.on(|store| Ok(store.charges()?)).len()
    }

    /// curl with these arguments, to the analysts' address: the status and the body.
    pub(crate) fn curl(&self, token: Option<&str>, path: &str, arguments: &[&str]) -> (u16, String) {
        self.curl_at(self.addresses.http, token, path, arguments)
    }

    pub(crate) fn curl_curator(&self, token: Option<&str>, path: &str, arguments: &[&str]) -> (u16, String) {
        self.curl_at(self.addresses.curators.unwrap(), token, path, arguments)
    }

    fn curl_at(&self, at: SocketAddr, token: Option<&str>, path: &str, arguments: &[&str]) -> (u16, String) {
        let mut command = Command::new("curl");
        command.args([
            "--silent",
            "--show-error",
            "--write-out",
            "\n%{http_code}",
            "--cacert",
        ]);
        command.arg(&self.certificate).args(arguments);
        if let Some(token) = token {
            command.args(["--header", &format!("Authorization: Bearer {token}")]);
        }
        command.arg(format!("https://localhost:{}{path}", at.port()));
        let output = command.output().expect("these tests need curl in PATH");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (body, status) = text.rsplit_once('\n').unwrap_or_else(|| panic!("{output:?}"));
        (status.parse().unwrap(), body.to_owned())
    }

    /// A question over HTTP.
    pub(crate) fn query(&self, token: &str, body: &str, more: &[&str]) -> (u16, String) {
        let mut arguments = vec![
            "--header",
            "Content-Type: application/json",
            "--data-binary",
            body,
        ];
        arguments.extend(more);
        self.curl(Some(token), "/v1/query", &arguments)
    }

    /// The address of the PostgreSQL wire, for libpq.
    pub(crate) fn conninfo(&self, user: &str, more: &str) -> String {
        format!(
            "host=localhost port={} user={user} dbname=town sslmode=verify-full sslrootcert={} {more}",
            self.addresses.wire.port(),
            self.certificate.display()
        )
    }

    /// psql with these arguments.
    pub(crate) fn psql(&self, conninfo: &str, token: &str, arguments: &[&str]) -> Output {
        Command::new("psql")
            .args(["--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", conninfo])
            .args(arguments)
            .env("PGPASSWORD", token)
            .env("LC_ALL", "C.UTF-8")
            .current_dir(self.folder.path())
            .output()
            .expect("these tests need psql in PATH: run them with scripts/with-postgres")
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn json(body: &str) -> serde_json::Value {
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}"))
}
