//! Attacks of strangers and greedy analysts on others: connections that are not read, messages that no client
//! sends, and bytes that the server should keep.

mod common;

use bytes::BytesMut;
use common::{Running, catalog, people, quick, text};
use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256};
use postgres_protocol::message::frontend;
use server::accounts::Role;
use server::{Connections, Settings};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{self, ClientConnection, StreamOwned};

const MIB: usize = 1 << 20;
const SSL: [u8; 8] = [0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f];
/// Longer than anything here takes: a test that waits so long has failed.
const LONG: Duration = Duration::from_secs(60);

type Tls = StreamOwned<ClientConnection, TcpStream>;

fn start(connections: Connections) -> Running {
    let settings = Settings {
        connections,
        ..quick()
    };
    Running::with(settings, &people(&[]), &catalog())
}

/// A connection that is encrypted, at an address that speaks HTTP or, after asking for it, PostgreSQL's
/// protocol.
fn encrypted(running: &Running, at: SocketAddr) -> io::Result<Tls> {
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(&running.certificate).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let client = ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap();
    let mut stream = TcpStream::connect(at)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LONG))?;
    stream.set_write_timeout(Some(LONG))?;
    if at == running.addresses.wire {
        stream.write_all(&SSL)?;
        let mut accepted = [0];
        stream.read_exact(&mut accepted)?;
        assert_eq!(&accepted, b"S");
    }
    Ok(StreamOwned::new(client, stream))
}

/// What is answered to one request over HTTP, with this head.
fn asked(running: &Running, head: &str) -> String {
    let mut stream = encrypted(running, running.addresses.http).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    text(&answer)
}

/// Sends requests and reads nothing, until the server takes no more.
fn without_reading(stream: &mut Tls, request: &str) {
    stream.flush().unwrap();
    stream
        .sock
        .set_write_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    while stream.write_all(request.as_bytes()).is_ok() {}
}

/// Connections that are open at an entrance, as the operator sees it.
fn open_at(running: &Running, operator: &str, entrance: &str) -> usize {
    let (status, metrics) = running.curl_curator(Some(operator), "/metrics", &[]);
    assert_eq!(status, 200, "{metrics}");
    let line = format!("deniable_connections{{entrance=\"{entrance}\"}} ");
    let count = metrics.lines().find_map(|metric| metric.strip_prefix(&line));
    count.map_or(0, |count| count.parse().unwrap())
}

fn until(mut holds: impl FnMut() -> bool) -> bool {
    let since = Instant::now();
    while since.elapsed() < LONG {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

/// More connections than there are places, at each entrance, that send and never read, or never say anything.
#[test]
fn strangers_who_do_not_read_keep_nobody_out() {
    let running = start(Connections {
        most: 24,
        by_address: 16,
        ..Connections::default()
    });
    let ann = running.account("ann", Role::Analyst);
    let olga = running.account("olga", Role::Operator);
    let curators = running.addresses.curators.unwrap();
    let mut early = signed_in(&running, "ann", &ann);
    let request = "GET /v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(50);
    let mut held = Vec::new();
    let mut silent = Vec::new();
    for round in 0..30 {
        for at in [running.addresses.http, curators] {
            let mut stream = encrypted(&running, at).unwrap();
            if round % 15 == 0 {
                without_reading(&mut stream, &request);
            } else {
                let _ = stream.write_all(request.as_bytes());
            }
            held.push(stream);
        }
        silent.push(TcpStream::connect(running.addresses.wire).unwrap());
    }
    // Every newcomer gets in, everywhere, and everybody who was signed in still is.
    assert_eq!(running.curl(Some(&ann), "/v1/tables", &[]).0, 200);
    assert!(open_at(&running, &olga, "curator") <= 24);
    assert!(open_at(&running, &olga, "http") <= 24);
    assert!(open_at(&running, &olga, "wire") <= 24);
    early.ask("SELECT 1");
    signed_in(&running, "ann", &ann).ask("SELECT 1");
}

/// Also of somebody who is signed in: a connection does not hold what nobody takes.
#[test]
fn what_nobody_takes_is_not_held() {
    let running = start(Connections {
        patience: Duration::from_millis(200),
        ..Connections::default()
    });
    let ann = running.account("ann", Role::Analyst);
    let olga = running.account("olga", Role::Operator);
    let mut stream = encrypted(&running, running.addresses.http).unwrap();
    let request =
        format!("GET /v1/tables HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {ann}\r\n\r\n");
    without_reading(&mut stream, &request.repeat(50));
    let mut wire = signed_in(&running, "ann", &ann);
    let mut query = BytesMut::new();
    frontend::query("SELECT * FROM pg_catalog.pg_type", &mut query).unwrap();
    without_reading(&mut wire.0, &text(&query).repeat(20));
    assert!(until(
        || open_at(&running, &olga, "http") == 0 && open_at(&running, &olga, "wire") == 0
    ));
    assert!(until(|| running.service().bytes_kept() == 0));
}

#[test]
fn a_request_names_one_host_and_browsers_stay_with_encryption() {
    let running = Running::start();
    let get = |hosts: &str| {
        asked(
            &running,
            &format!("GET /sign-in HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n"),
        )
    };
    for hosts in ["", "Host: data.example\r\nHost: data.example\r\n"] {
        let answer = get(hosts);
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        assert!(answer.contains("one host"), "{answer}");
    }
    let policy = "strict-transport-security: max-age=31536000";
    let answer = get("Host: data.example\r\n");
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains(policy),
        "{answer}"
    );
    // What else listens on the machine that somebody tries it out on may not be encrypted.
    let answer = get("Host: localhost:8443\r\n");
    assert!(
        answer.starts_with("HTTP/1.1 200") && !answer.contains(policy),
        "{answer}"
    );
}

/// Bodies are kept for those who are signed in alone.
#[test]
fn strangers_send_little() {
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    let file = running.path().join("long.json");
    let sql = format!("SELECT COUNT(*) FROM people -- {}", "x".repeat(100 << 10));
    std::fs::write(&file, format!(r#"{{"sql": "{sql}", "epsilon": "1"}}"#)).unwrap();
    let long = format!("@{}", file.display());
    for way in [&[][..], &["--header", "Transfer-Encoding: chunked"]] {
        assert_eq!(running.query(&ann, &long, way).0, 200);
        let (status, problem) = running.query("dnb_wrong", &long, way);
        assert_eq!(status, 401, "{problem}");
        assert!(problem.contains("16 KiB"), "{problem}");
    }
    let form = ["--data-binary", &long];
    assert_eq!(running.curl(None, "/sign-in", &form).0, 401);
    assert!(until(|| running.service().bytes_kept() < MIB));
}

/// Messages of a mechanism that are cut, or say that they are longer than they are: an error, and no panic.
#[test]
fn malformed_passwords_do_no_harm() {
    let panics = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&panics);
    std::panic::set_hook(Box::new(move |info| {
        eprintln!("{info}");
        counted.fetch_add(1, Ordering::SeqCst);
    }));
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    let bodies: [&[u8]; 8] = [
        b"",
        b"\0\0",
        b"SCRAM-SHA-256",
        b"SCRAM-SHA-256\0",
        b"SCRAM-SHA-256\0\0\0",
        b"SCRAM-SHA-256\0\0\0\x01\0n,,n=ann,r=x",
        b"SCRAM-SHA-256\0\x7f\xff\xff\xffn,,n=ann,r=x",
        b"SCRAM-SHA-256\0\x80\0\0\0n,,n=ann,r=x",
    ];
    for body in bodies {
        let mut stream = encrypted(&running, running.addresses.wire).unwrap();
        let mut bytes = BytesMut::new();
        frontend::startup_message([("user", "ann"), ("database", "town")], &mut bytes).unwrap();
        bytes.extend_from_slice(&message(b'p', body));
        stream.write_all(&bytes).unwrap();
        let mut said = Vec::new();
        let _ = stream.read_to_end(&mut said);
        let said = text(&said);
        assert!(said.contains("08P01"), "{}: {said}", body.escape_ascii());
    }
    signed_in(&running, "ann", &ann).ask("SELECT 1");
    assert_eq!(panics.load(Ordering::SeqCst), 0);
}

/// Sends names and statements that a connection is to keep, as large as messages may be, on some connections,
/// which are returned.
fn fill(running: &Running, user: &str, token: &str) -> Vec<Client> {
    let long = "x".repeat(MIB - 1000);
    // Portals and statements with long names: refused by name.
    for (name, statement) in [(long.as_str(), ""), ("", long.as_str())] {
        let mut client = signed_in(running, user, token);
        let mut bytes = BytesMut::new();
        frontend::parse("", "", [], &mut bytes).unwrap();
        let bind = format!("{name}\0{statement}\0\0\0\0\0\0\0");
        bytes.extend_from_slice(&message(b'B', bind.as_bytes()));
        frontend::sync(&mut bytes);
        assert_eq!(client.said(&bytes).as_deref(), Some("42622"));
    }
    // Statements that are long themselves: until the connection or the account has enough.
    let sql = format!("SELECT '{}'", &long[..200 << 10]);
    let filled = |connection: usize| {
        let mut client = signed_in(running, user, token);
        let refused = (0..90).any(|number| {
            let mut bytes = BytesMut::new();
            frontend::parse(&format!("s{connection}_{number}"), &sql, [], &mut bytes).unwrap();
            frontend::sync(&mut bytes);
            client.said(&bytes).is_some()
        });
        assert!(refused);
        client
    };
    (0..3).map(filled).collect()
}

/// What is kept stays within the limits of the account, and is free when its connections end.
#[test]
fn one_analyst_does_not_fill_memory() {
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    let ben = running.account("ben", Role::Analyst);
    let clients = fill(&running, "ann", &ann);
    assert!(running.service().bytes_kept() <= 32 * MIB);
    // Others are not affected.
    signed_in(&running, "ben", &ben).ask("SELECT 1");
    drop(clients);
    assert!(until(|| running.service().bytes_kept() == 0));
}

/// What the process takes under all of this at once, with the clients that do it, which are in the same
/// process.
#[test]
#[ignore = "measures the memory of the process: run it alone"]
#[cfg(target_os = "linux")]
fn the_process_stays_small() {
    let memory_of = |what: &str| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(what)).unwrap();
        let kilobytes: usize = line.split_whitespace().next().unwrap().parse().unwrap();
        kilobytes << 10
    };
    let running = start(Connections {
        by_address: 1024,
        ..Connections::default()
    });
    // As many as fill all that is kept for accounts.
    let names: Vec<String> = (0..4).map(|number| format!("analyst{number}")).collect();
    let tokens: Vec<String> = names
        .iter()
        .map(|name| running.account(name, Role::Analyst))
        .collect();
    signed_in(&running, &names[0], &tokens[0]).ask("SELECT COUNT(*) FROM pg_catalog.pg_type");
    let idle = memory_of("VmRSS:");
    let clients: Vec<_> = names
        .iter()
        .zip(&tokens)
        .map(|(name, token)| fill(&running, name, token))
        .collect();
    let request = "GET /v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(50);
    let unread: Vec<_> = (0..500)
        .map(|_| {
            let mut stream = encrypted(&running, running.addresses.http).unwrap();
            let _ = stream.write_all(request.as_bytes());
            stream
        })
        .collect();
    let peak = memory_of("VmHWM:");
    drop((clients, unread));
    let above = peak.saturating_sub(idle) / MIB;
    assert!(above <= 256, "{above} MiB above idle");
}

/// Somebody who has signed in over the PostgreSQL wire, and says what they like.
struct Client(Tls);

fn signed_in(running: &Running, user: &str, token: &str) -> Client {
    let stream = encrypted(running, running.addresses.wire).unwrap();
    let mut client = Client(stream);
    let mut scram = ScramSha256::new(token.as_bytes(), ChannelBinding::unsupported());
    let mut bytes = BytesMut::new();
    frontend::startup_message([("user", user), ("database", "town")], &mut bytes).unwrap();
    client.0.write_all(&bytes).unwrap();
    loop {
        let (kind, body) = client.next().expect("hung up while signing in");
        let mut answer = BytesMut::new();
        match (kind, body.get(3)) {
            (b'R', Some(10)) => {
                frontend::sasl_initial_response("SCRAM-SHA-256", scram.message(), &mut answer).unwrap();
            }
            (b'R', Some(11)) => {
                scram.update(&body[4..]).unwrap();
                frontend::sasl_response(scram.message(), &mut answer).unwrap();
            }
            (b'Z', _) => return client,
            (b'E', _) => panic!("{}", text(&body)),
            _ => {}
        }
        client.0.write_all(&answer).unwrap();
    }
}

impl Client {
    /// What the server says next, its kind and its body; `None` if it hung up.
    fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.0.read_exact(&mut head).ok()?;
        let [kind, length @ ..] = head;
        let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
        self.0.read_exact(&mut body).ok()?;
        Some((kind, body))
    }

    /// Sends messages that end in a Sync, and reads to its answer: the state of the error, if there was one.
    fn said(&mut self, bytes: &[u8]) -> Option<String> {
        let _ = self.0.write_all(bytes);
        let mut state = None;
        while let Some((kind, body)) = self.next() {
            match kind {
                b'Z' => break,
                b'E' => {
                    let fields = text(&body);
                    let code = fields.split('\0').find_map(|field| field.strip_prefix('C'));
                    state = state.or(code.map(str::to_owned));
                }
                _ => {}
            }
        }
        state
    }

    /// A query that must be answered.
    fn ask(&mut self, sql: &str) {
        let mut bytes = BytesMut::new();
        frontend::query(sql, &mut bytes).unwrap();
        self.0.write_all(&bytes).unwrap();
        let mut rows = 0;
        loop {
            match self.next().expect("hung up") {
                (b'D', _) => rows += 1,
                (b'E', body) => panic!("{}", text(&body)),
                (b'Z', _) => break,
                _ => {}
            }
        }
        assert!(rows > 0, "{sql}");
    }
}

/// A message of this kind.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}
