//! `deniable serve`: the same budgeted data for many analysts, over HTTP and the PostgreSQL wire.

use crate::dataset::{CatalogArguments, of_the_ledger, sample_in, take_over, unanswered};
use crate::terminal::{self, CliError, explained, fail};
use clap::Args;
use ledger::Store;
use server::accounts::{self, DEFAULT_TOKEN, NewAccount, Role};
use server::tls::Certificate;
use server::{Addresses, Connections, Schedule, Server, Settings};
use sql::{Catalog, Dataset, blocking};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  Try it: sample data, a certificate that signs itself, one analyst; prints lines that work
    deniable serve --demo
  Your own data: accounts first, then the server
    deniable user add carol --role curator
    deniable user add ann --share 1/4 --per-day 0.5
    deniable user token ann
    deniable serve --http 0.0.0.0:8443 --wire 0.0.0.0:5433 --certificate server.crt --key server.key

Analysts ask in a browser, over HTTP (POST /v1/query) and with anything that speaks to PostgreSQL: psql, psycopg, pandas, SQLAlchemy, R,
BI tools. All connections are encrypted, and everybody signs in with a token or password of their own. A question that states no ε is
refused, so that a tool that asks on its own spends nothing.

Answers leave at T, 2T, 4T, … after a question began (--schedule), so that how long it ran says little about the data. Nothing of a
run's time, rows or memory is in any answer, notice or metric.

Accounts take turns. A question waits in line for at most --patience seconds, and is then refused and not charged.

Each of the three addresses takes 1,024 connections, or fewer where the system allows fewer open files. Whoever comes gets in: where there
is no place left, the address that has most connections of strangers loses its oldest. Connections on which somebody has signed in are kept.

Ctrl-C and SIGTERM end the server. Questions that wait are refused, and those that were charged are answered and saved, within --drain
seconds; the log names the accounts of those that took longer. Asking again finishes them without a further charge.
docs/server.md tells how to deploy it.";

/// Serve the data to analysts with accounts, over HTTP and to any PostgreSQL client
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    catalog: CatalogArguments,
    /// Serve sample data with everything made on the spot: for trying it out
    #[arg(long, conflicts_with_all = ["catalog", "certificate", "self_signed"])]
    demo: bool,
    /// Where analysts reach HTTP
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8443")]
    http: SocketAddr,
    /// Where PostgreSQL clients connect
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:5433")]
    wire: SocketAddr,
    /// Where curators, auditors and operators reach HTTP
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8444")]
    curators: SocketAddr,
    /// The certificate, with its chain, in PEM format
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// The private key of the certificate, in PEM format
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Make a certificate that signs itself for this host name, and keep it beside the catalog
    #[arg(long, value_name = "HOST", conflicts_with = "certificate")]
    self_signed: Option<String>,
    /// Answers leave this many milliseconds after a question began, or twice as many, or four times, …; 0 sends them when they are ready, for who has the data anyway
    #[arg(long, value_name = "MILLISECONDS", default_value = "250")]
    schedule: u64,
    /// Questions that run at once
    #[arg(long, value_name = "N", default_value = "4")]
    at_once: NonZeroU32,
    /// Seconds that a question waits in line before it is refused
    #[arg(long, value_name = "SECONDS", default_value = "30")]
    patience: u32,
    /// Seconds that questions which were charged are given when the server is asked to end
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    drain: u32,
    /// Requests of one account in a second, on average
    #[arg(long, value_name = "N", default_value = "50")]
    rate: NonZeroU32,
    /// Connections from one address on which nobody has signed in, at each address of the server. Behind a proxy all come from the proxy's: give it as many as it opens
    #[arg(long, value_name = "N", default_value = "64")]
    connections_by_address: NonZeroU32,
    /// Keep browsers signed in when their address changes. Otherwise a session is good only at the address where it began
    #[arg(long)]
    roaming: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CliError> {
    // Floods come and go; what they took is not kept.
    device::give_memory_back();
    let runtime = threads(2)?;
    let catalog = match arguments.demo {
        true => {
            // Before anything that takes long, in a build that is not optimised above all.
            eprintln!("demo: making sample data, unless it is there from before");
            sample_in("demo", false)?
        }
        false => arguments.catalog.path(false)?,
    };
    // Before anything is served, and outside of the runtime: a ledger in PostgreSQL waits for its answers.
    {
        if arguments.demo {
            eprintln!("demo: opening its ledger in {}", folder_of(&catalog).display());
        }
        let dataset =
            blocking::Dataset::new(Catalog::read(&catalog).map_err(explained)?).map_err(explained)?;
        let mut store = match Store::open_existing(&dataset.place()).map_err(of_the_ledger)? {
            Some(store) => store,
            None => dataset.ledger().map_err(unanswered)?,
        };
        take_over(&mut store, &catalog)?;
    }
    // Queries have threads of their own, one fewer than there are cores: a client that waits for a connection
    // must not feel how long a query takes.
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let engine = threads(cores.saturating_sub(1).max(1))?;
    let served = runtime.block_on(serve(arguments, &catalog, engine.handle().clone()));
    engine.shutdown_background();
    served
}

pub(crate) fn threads(count: usize) -> Result<tokio::runtime::Runtime, CliError> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(count)
        .enable_all()
        .build()
        .map_err(|cause| {
            CliError::bad_input(format!("no threads can be started: {}", cause.kind()))
                .with_hint("does the system allow more threads?")
                .with_code(terminal::exit_code::INTERNAL)
        })
}

/// Where the catalog lies, and what belongs to it.
fn folder_of(catalog: &Path) -> &Path {
    catalog.parent().unwrap_or(Path::new("."))
}

async fn serve(
    arguments: &Arguments,
    catalog: &Path,
    engine: tokio::runtime::Handle,
) -> Result<(), CliError> {
    if arguments.demo {
        eprintln!("demo: making a certificate that signs itself, and a token for one analyst");
    }
    let (certificate, shown) = certificate(arguments, folder_of(catalog))?;
    let dataset = Dataset::new(Catalog::read(catalog).map_err(explained)?).on_runtime(engine);
    let settings = Settings {
        schedule: match arguments.schedule {
            0 => Schedule::off(),
            unit => Schedule::every(Duration::from_millis(unit)),
        },
        at_once: arguments.at_once.get() as usize,
        patience: Duration::from_secs(arguments.patience.into()),
        drains: Duration::from_secs(arguments.drain.into()),
        rate: arguments.rate,
        burst: arguments
            .rate
            .saturating_mul(const { NonZeroU32::new(4).unwrap() }),
        connections: Connections {
            by_address: arguments.connections_by_address.get() as usize,
            ..Connections::default()
        },
        roaming: arguments.roaming,
        ..Settings::default()
    };
    let token = match arguments.demo {
        true => Some(demo_token(&dataset).await?),
        false => None,
    };
    let asked = Addresses {
        http: arguments.http,
        wire: arguments.wire,
        curators: Some(arguments.curators),
    };
    let server = match Server::start(dataset.clone(), settings.clone(), &certificate, asked).await {
        // Somebody who tries it out wants any address that works.
        Err(server::Error::Address { .. }) if arguments.demo => {
            let free = |address: SocketAddr| SocketAddr::new(address.ip(), 0);
            let asked = Addresses {
                http: free(asked.http),
                wire: free(asked.wire),
                curators: asked.curators.map(free),
            };
            Server::start(dataset, settings, &certificate, asked).await
        }
        started => started,
    };
    let server = server.map_err(explained)?;
    let addresses = server.addresses();
    let name = server.service().dataset().catalog().name.clone();
    eprintln!(
        "serving {name}: https://{}, PostgreSQL wire {}",
        addresses.http, addresses.wire
    );
    if let Some(curators) = addresses.curators {
        eprintln!("for curators, auditors and operators: https://{curators}");
    }
    if let Some(token) = token {
        terminal::print(&lines(addresses, &name, &shown, token.reveal()))?;
    }
    until_asked_to_end().await;
    eprintln!("ending: questions that wait are refused, and those that were charged are finished first");
    server.end().await;
    Ok(())
}

fn certificate(arguments: &Arguments, folder: &Path) -> Result<(Certificate, PathBuf), CliError> {
    if let (Some(certificate), Some(key)) = (&arguments.certificate, &arguments.key) {
        let read = Certificate::read(certificate, key).map_err(explained)?;
        return Ok((read, certificate.clone()));
    }
    let names = match (&arguments.self_signed, arguments.demo) {
        (Some(host), _) => vec![host.clone()],
        (None, true) => vec!["localhost".to_owned(), "127.0.0.1".to_owned()],
        (None, false) => {
            return fail(
                "a server needs a certificate: connections are always encrypted",
                "name one with --certificate and --key, or have one made with --self-signed HOST; --demo needs nothing",
            );
        }
    };
    Certificate::kept_in(folder, &names).map_err(explained)
}

/// A token of the analyst of the demonstration, made anew each time.
async fn demo_token(dataset: &Dataset) -> Result<server::Secret, CliError> {
    let made = dataset
        .with_ledger(|store| {
            Ok((|| {
                if accounts::find(store, "demo")?.is_none() {
                    accounts::add(store, "demo", &NewAccount::new("demo", Role::Analyst))?;
                }
                accounts::add_token(store, "demo", "demo", DEFAULT_TOKEN, Some(accounts::in_days(1)))
            })())
        })
        .await;
    made.map_err(explained)?.map_err(explained)
}

/// What works in another terminal.
fn lines(addresses: Addresses, name: &str, certificate: &Path, token: &str) -> String {
    let host = |address: SocketAddr| match address.ip() {
        IpAddr::V4(Ipv4Addr::LOCALHOST) => "localhost".to_owned(),
        other => other.to_string(),
    };
    let certificate = certificate.display();
    let (http, wire) = (addresses.http, addresses.wire);
    format!(
        "\
In another terminal:

  export PGPASSWORD={token}
  psql \"host={} port={} user=demo dbname={name} sslmode=verify-full sslrootcert={certificate} options='-c deniable.epsilon=0.1'\" \\
    -c \"SELECT region, COUNT(*) AS people FROM people GROUP BY region\"

  curl --cacert {certificate} https://{}:{}/v1/query \\
    -H \"Authorization: Bearer $PGPASSWORD\" -H \"Content-Type: application/json\" \\
    -d '{{\"sql\": \"SELECT AVG(age) AS age FROM people\", \"epsilon\": \"0.1\"}}'

Or in a browser: https://{}:{} as demo, with the token in place of a password. The certificate signs itself, which the browser will ask about.

The token is good for a day. Ctrl-C ends the server.
",
        host(wire),
        wire.port(),
        host(http),
        http.port(),
        host(http),
        http.port(),
    )
}

pub(crate) async fn until_asked_to_end() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminated) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminated.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}
