//! Measures the server beside the library in one process, for `bench/serve-run`:
//!
//! - how long a query takes through each, and how many are answered in a second
//! - how long the price takes that a page shows after each letter
//! - with a server's schedule, how long a lone analyst waits beside 64 others who have 36 queries each under
//!   way.
//!
//! Prints one JSON object. The client is in the same process, on the same cores, and speaks TLS: the figures
//! include both.

use server::accounts::{self, NewAccount, Role};
use server::tls::Certificate;
use server::{Addresses, Question, Schedule, Server, Service, Settings};
use sql::{Catalog, Dataset, QueryRequest};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

const CATALOG: &str = r#"
name = "bench"
[unit]
whose = "person"
neighbors = "add_remove"
[budget]
epsilon = 100000
ledger = "bench.ledger"
[limits]
groups = 1
rows_per_group = 1
[tables.people]
source = "people.csv"
unit = "person_id"
rows_per_unit = 1
[tables.people.columns]
person_id = { kind = "int", nullable = false }
age = { kind = "int", bounds = [0, 100], nullable = false }
"#;
const CONNECTIONS: usize = 64;
/// Analysts who are busy beside a lone one, and questions that each of them has under way.
const BUSY: usize = 64;
const BACKLOG: usize = 36;

type Connection = TlsStream<TcpStream>;

/// `serve_bench [SECONDS] [crowd]`: with `crowd`, that part alone.
fn main() {
    let mut arguments = std::env::args().skip(1);
    let seconds: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(10);
    let lasts = Duration::from_secs(seconds);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    match arguments.next().as_deref() {
        Some("crowd") => {
            let crowd = runtime.block_on(async {
                let own = own().await;
                beside_a_crowd(lasts, own).await
            });
            println!("{crowd}");
        }
        _ => runtime.block_on(measure(lasts)),
    }
}

/// How long a question takes by itself, in milliseconds.
async fn own() -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let (dataset, number) = (dataset(folder.path()), AtomicU64::new(0));
    let mut times = Vec::new();
    for _ in 0..50 {
        let request = QueryRequest {
            epsilon: Some(accounting::Epsilon::parse("0.01").unwrap()),
            ..QueryRequest::new(sql_of(&number), "ann")
        };
        let start = Instant::now();
        dataset.query(&request).await.unwrap();
        times.push(start.elapsed());
    }
    median(times)
}

fn dataset(folder: &std::path::Path) -> Dataset {
    let mut rows = "person_id,age\n".to_owned();
    for person in 0..1000 {
        let _ = writeln!(rows, "{person},{}", person % 100);
    }
    std::fs::write(folder.join("people.csv"), rows).unwrap();
    Dataset::new(Catalog::parse(CATALOG, folder).unwrap())
}

/// A new analyst with a token, which is returned.
async fn account(dataset: &Dataset, name: String) -> String {
    dataset
        .with_ledger(move |store| {
            accounts::add(store, "bench", &NewAccount::new(&name, Role::Analyst)).unwrap();
            Ok(accounts::add_token(store, "bench", &name, "default", None)
                .unwrap()
                .reveal()
                .to_owned())
        })
        .await
        .unwrap()
}

/// How long a lone analyst's queries take, one after the other, while others have many under way. They go
/// through the service that all entrances share, since fewer connections are open at once than queries here.
/// Its own time, in milliseconds, is that of a query alone.
async fn beside_a_crowd(lasts: Duration, own: f64) -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    // As `deniable serve` does: questions run on threads of their own.
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let engine = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores.saturating_sub(1).max(1))
        .enable_all()
        .build()
        .unwrap();
    let dataset = dataset(folder.path()).on_runtime(engine.handle().clone());
    let settings = Settings {
        rate: NonZeroU32::new(1_000_000).unwrap(),
        burst: NonZeroU32::new(1_000_000).unwrap(),
        ..Settings::default()
    };
    let unit = settings.schedule.slot(Duration::ZERO).as_secs_f64() * 1e3;
    let (service, _writing) = Service::start(dataset.clone(), settings).await.unwrap();
    let number = Arc::new(AtomicU64::new(0));
    let mut identities = Vec::new();
    for name in (0..BUSY)
        .map(|busy| format!("busy{busy}"))
        .chain(["lone".to_owned()])
    {
        let token = account(&dataset, name).await;
        identities.push(service.sign_in_with_token(&token).await.unwrap());
    }
    let alone = identities.pop().expect("the last one");
    let end = Instant::now() + lasts;
    let mut crowd = tokio::task::JoinSet::new();
    for who in &identities {
        for _ in 0..BACKLOG {
            let (service, who, number) = (Arc::clone(&service), who.clone(), Arc::clone(&number));
            crowd.spawn(async move {
                let (mut answered, mut refused) = (0_u64, 0_u64);
                while Instant::now() < end {
                    match service.ask(&who, &question(&number), None).await {
                        Ok(_) => answered += 1,
                        Err(_) => refused += 1,
                    }
                }
                (answered, refused)
            });
        }
    }
    let mut lone = Vec::new();
    while lone.is_empty() || Instant::now() < end {
        let start = Instant::now();
        service.ask(&alone, &question(&number), None).await.unwrap();
        lone.push(start.elapsed());
    }
    service.end().await;
    let crowd = crowd.join_all().await;
    engine.shutdown_background();
    serde_json::json!({
        "busy_analysts": BUSY,
        "questions_of_each": BACKLOG,
        "their_answers": crowd.iter().map(|(answered, _)| answered).sum::<u64>(),
        "their_refusals": crowd.iter().map(|(_, refused)| refused).sum::<u64>(),
        "questions": lone.len(),
        "unit_of_the_schedule": unit,
        "own": own,
        "median": median(lone.clone()),
        "p99": percentile(lone, 99),
        "goal": 2.0 * unit + own,
    })
}

fn question(number: &AtomicU64) -> Question {
    Question {
        epsilon: Some("0.01".to_owned()),
        ..Question::new(sql_of(number))
    }
}

async fn measure(lasts: Duration) {
    let folder = tempfile::tempdir().unwrap();
    let dataset = dataset(folder.path());
    let certificate = Certificate::self_signed(&["localhost".to_owned()]).unwrap();
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let settings = Settings {
        schedule: Schedule::off(),
        rate: NonZeroU32::new(1_000_000).unwrap(),
        burst: NonZeroU32::new(1_000_000).unwrap(),
        ..Settings::default()
    };
    let asked = Addresses {
        http: anywhere,
        wire: anywhere,
        curators: None,
    };
    let server = Server::start(dataset.clone(), settings, &certificate, asked)
        .await
        .unwrap();
    let token = account(&dataset, "ann".to_owned()).await;
    let config = client_config(&certificate);
    let connector = TlsConnector::from(Arc::new(config.clone()));
    let address = server.addresses().http;
    let wire = wire(config, server.addresses().wire, &token).await;
    let number = Arc::new(AtomicU64::new(0));

    // One after the other.
    let count = 200;
    let mut library_new = Vec::new();
    let (mut http_new, mut wire_new) = (Vec::new(), Vec::new());
    let mut connection = connect(&connector, address).await;
    for _ in 0..count {
        let request = QueryRequest {
            epsilon: Some(accounting::Epsilon::parse("0.01").unwrap()),
            ..QueryRequest::new(sql_of(&number), "ann")
        };
        let start = Instant::now();
        dataset.query(&request).await.unwrap();
        library_new.push(start.elapsed());
        let body = body(&sql_of(&number));
        let start = Instant::now();
        ask(&mut connection, &token, &body).await;
        http_new.push(start.elapsed());
        let sql = sql_of(&number);
        let start = Instant::now();
        wire.simple_query(&sql).await.unwrap();
        wire_new.push(start.elapsed());
    }
    let saved = sql_of(&number);
    let (mut library_saved, mut http_saved, mut wire_saved) = (Vec::new(), Vec::new(), Vec::new());
    let request = QueryRequest {
        epsilon: Some(accounting::Epsilon::parse("0.01").unwrap()),
        ..QueryRequest::new(saved.clone(), "ann")
    };
    dataset.query(&request).await.unwrap();
    let saved_body = body(&saved);
    for _ in 0..count {
        let start = Instant::now();
        dataset.query(&request).await.unwrap();
        library_saved.push(start.elapsed());
        let start = Instant::now();
        ask(&mut connection, &token, &saved_body).await;
        http_saved.push(start.elapsed());
        let start = Instant::now();
        wire.simple_query(&saved).await.unwrap();
        wire_saved.push(start.elapsed());
    }

    let (letters, priced) = keystrokes(&mut connection, &token).await;

    // Many at once.
    let many = |fresh: bool| {
        let (connector, token, number, saved_body) = (
            connector.clone(),
            token.clone(),
            Arc::clone(&number),
            saved_body.clone(),
        );
        async move {
            let end = Instant::now() + lasts;
            let mut tasks = tokio::task::JoinSet::new();
            for _ in 0..CONNECTIONS {
                let (connector, token, number, saved_body) = (
                    connector.clone(),
                    token.clone(),
                    Arc::clone(&number),
                    saved_body.clone(),
                );
                tasks.spawn(async move {
                    let mut connection = connect(&connector, address).await;
                    let mut answered = 0_u64;
                    while Instant::now() < end {
                        let body = if fresh {
                            body(&sql_of(&number))
                        } else {
                            saved_body.clone()
                        };
                        ask(&mut connection, &token, &body).await;
                        answered += 1;
                    }
                    answered
                });
            }
            let answered: u64 = tasks.join_all().await.into_iter().sum();
            answered as f64 / lasts.as_secs_f64()
        }
    };
    let saved_a_second = many(false).await;
    let new_a_second = many(true).await;
    server.end().await;
    let crowd = beside_a_crowd(lasts, median(library_new.clone())).await;
    println!(
        "{}",
        serde_json::json!({
            "connections": CONNECTIONS,
            "seconds": lasts.as_secs(),
            "milliseconds": {
                "library_new": median(library_new),
                "http_new": median(http_new),
                "wire_new": median(wire_new),
                "library_saved": median(library_saved),
                "http_saved": median(http_saved),
                "wire_saved": median(wire_saved),
            },
            "keystroke_milliseconds": {
                "letters": letters.len(),
                "median": median(letters.clone()),
                "p99": percentile(letters, 99),
                "priced": priced.len(),
                "priced_median": median(priced.clone()),
                "priced_p99": percentile(priced, 99),
            },
            "beside_a_crowd": crowd,
            "saved_a_second": saved_a_second.round(),
            "new_a_second": new_a_second.round(),
        })
    );
}

/// A question that nobody asked before.
fn sql_of(number: &AtomicU64) -> String {
    let number = number.fetch_add(1, Ordering::Relaxed);
    format!(
        "SELECT COUNT(*) AS n FROM people WHERE age < 50 AND person_id <> {}",
        1_000_000 + number
    )
}

fn body(sql: &str) -> String {
    serde_json::json!({ "sql": sql, "epsilon": "0.01" }).to_string()
}

fn client_config(certificate: &Certificate) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(certificate.pem().as_bytes()).unwrap())
        .unwrap();
    ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// A connection of the PostgreSQL protocol whose questions cost what those over HTTP cost.
async fn wire(config: ClientConfig, address: SocketAddr, token: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::Config::new()
        .host("localhost")
        .hostaddr(address.ip())
        .port(address.port())
        .user("ann")
        .password(token)
        .dbname("bench")
        .ssl_mode(tokio_postgres::config::SslMode::Require)
        .connect(MakeRustlsConnect::new(config))
        .await
        .unwrap();
    tokio::spawn(connection);
    client
        .batch_execute("SET deniable.epsilon = '0.01'")
        .await
        .unwrap();
    client
}

async fn connect(connector: &TlsConnector, address: SocketAddr) -> Connection {
    let stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    connector
        .connect("localhost".try_into().unwrap(), stream)
        .await
        .unwrap()
}

async fn ask(connection: &mut Connection, token: &str, body: &str) {
    let request = format!(
        "POST /v1/query HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let reply = send(connection, &request).await;
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
}

/// Types a query on a page, which asks for its price after each letter. Returns all of these times, and those
/// of texts that are queries already.
///
/// The page waits a moment and leaves letters out that follow each other at once; here each one is asked for,
/// one after the other.
async fn keystrokes(connection: &mut Connection, token: &str) -> (Vec<Duration>, Vec<Duration>) {
    const ROUNDS: usize = 5;
    let signed_in = send(
        connection,
        &form("/sign-in", "", &format!("name=ann&secret={token}")),
    )
    .await;
    let cookie = signed_in
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: ")?.split(';').next())
        .unwrap_or_else(|| panic!("{signed_in}"))
        .to_owned();
    let (mut letters, mut priced) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let text = format!(
            "SELECT age / 10 AS decade, COUNT(*) AS people, AVG(age) AS age FROM people WHERE person_id <> {} GROUP BY age / 10 ORDER BY people DESC",
            2_000_000 + round
        );
        for (end, letter) in text.char_indices() {
            let written = encoded(&text[..end + letter.len_utf8()]);
            let request = form(
                "/price",
                &cookie,
                &format!("sql={written}&epsilon=0.01&error=&key=k"),
            );
            let start = Instant::now();
            let reply = send(connection, &request).await;
            let took = start.elapsed();
            assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
            letters.push(took);
            if reply.contains("Left after it") {
                priced.push(took);
            }
        }
    }
    assert!(!priced.is_empty(), "no text was a question");
    (letters, priced)
}

/// A form as the script of a page sends it.
fn form(path: &str, cookie: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nOrigin: https://localhost\r\nSec-Fetch-Site: same-origin\r\nCookie: {cookie}\r\ndeniable-fragment: 1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

/// Sends a request, and reads the whole reply.
async fn send(connection: &mut Connection, request: &str) -> String {
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut received = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        let read = connection.read(&mut buffer).await.unwrap();
        assert!(read > 0, "the server hung up");
        received.extend_from_slice(&buffer[..read]);
        let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&received[..end]).to_lowercase();
        let length: usize = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())
            .unwrap();
        if received.len() >= end + 4 + length {
            return String::from_utf8_lossy(&received).into_owned();
        }
    }
}

fn median(times: Vec<Duration>) -> f64 {
    percentile(times, 50)
}

/// The time that this many of a hundred are not above.
fn percentile(mut times: Vec<Duration>, of_hundred: usize) -> f64 {
    times.sort();
    let place = (times.len() * of_hundred / 100).min(times.len() - 1);
    times[place].as_secs_f64() * 1e3
}
