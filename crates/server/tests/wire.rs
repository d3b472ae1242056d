//! The PostgreSQL entrance, with psql and with bytes that no client sends.

mod common;

use common::{PEOPLE, Running, text};
use server::accounts::{self, Role};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

const COUNT: &str = "SELECT COUNT(*) AS n FROM people";
const EPSILON: &str = "options='-c deniable.epsilon=1'";

#[test]
fn psql_asks_and_is_told_what_it_cost() {
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    let conninfo = running.conninfo("ann", EPSILON);
    let output = running.psql(
        &conninfo,
        &ann,
        &["--tuples-only", "--no-align", "--command", COUNT],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let first = text(&output.stdout);
    let counted: i64 = first.trim().parse().unwrap();
    assert!((counted - PEOPLE as i64).abs() < 200);
    let notice = text(&output.stderr);
    assert!(
        notice.contains("NOTICE:  charge 2") || notice.contains("NOTICE:  charge"),
        "{notice}"
    );
    assert!(notice.contains("left"), "{notice}");
    assert_eq!(running.charges(), 1);

    // Again, with the ends of the interval, in a transaction that is rolled back.
    let script = format!("BEGIN; SET deniable.intervals = on; {COUNT}; ROLLBACK;");
    let output = running.psql(&conninfo, &ann, &["--csv", "--command", &script]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let answer = text(&output.stdout);
    let mut lines = answer.lines();
    assert_eq!(lines.next(), Some("n,n_low,n_high"), "{answer}");
    assert!(
        lines.next().unwrap().starts_with(&format!("{counted},")),
        "{answer}"
    );
    let notices = text(&output.stderr);
    assert!(
        notices.contains("costs nothing") && notices.contains("nothing that was charged is given back"),
        "{notices}"
    );
    assert_eq!(running.charges(), 1);

    // Copies.
    let copy = "\\copy (SELECT region, COUNT(*) AS n FROM people GROUP BY region ORDER BY region) TO 'regions.out' WITH CSV HEADER";
    let output = running.psql(&conninfo, &ann, &["--command", copy]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let copied = std::fs::read_to_string(running.path().join("regions.out")).unwrap();
    assert_eq!(copied.lines().next(), Some("region,n"), "{copied}");
    assert!(copied.contains("north,") && copied.contains("west,"), "{copied}");
    assert_eq!(running.charges(), 2);
}

#[test]
fn psql_lists_what_there_is_and_nothing_of_its_size() {
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    let conninfo = running.conninfo("ann", "");
    let said = |command: &str| {
        let output = running.psql(&conninfo, &ann, &["--command", command]);
        assert!(output.status.success(), "{command}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    let tables = said("\\dt");
    assert!(
        tables.contains("people") && tables.contains("regions"),
        "{tables}"
    );
    let columns = said("\\d people");
    for expected in [
        "person_id",
        "bigint",
        "region",
        "text",
        "score",
        "double precision",
        "joined",
        "date",
        "member",
        "boolean",
    ] {
        assert!(columns.contains(expected), "{expected}: {columns}");
    }
    assert!(said("\\dt+").contains("0 bytes"));
    assert!(said("SELECT reltuples FROM pg_class WHERE relname = 'people'").contains("-1"));
    assert!(said("SELECT 1 AS one, version()").contains("Deniable"));
    assert!(said("\\l").contains("town"));
    for command in ["\\dn", "\\du", "\\df", "\\dv", "\\di"] {
        said(command);
    }
    assert_eq!(running.charges(), 0);
}

#[test]
fn nothing_is_spent_unless_an_epsilon_is_stated() {
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    let conninfo = running.conninfo("ann", "");
    let output = running.psql(&conninfo, &ann, &["--command", COUNT]);
    assert!(!output.status.success());
    let said = text(&output.stderr);
    assert!(
        said.contains("does not say what it may cost")
            && said.contains("HINT:")
            && said.contains("SET deniable.epsilon"),
        "{said}"
    );
    let stated = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) COUNT(*) AS n FROM people";
    let output = running.psql(&conninfo, &ann, &["--command", stated]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(running.charges(), 1);
}

#[test]
fn psql_explains_for_nothing() {
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    let conninfo = running.conninfo("ann", EPSILON);
    let sql = "EXPLAIN SELECT region, COUNT(*) FROM people GROUP BY region";
    let output = running.psql(&conninfo, &ann, &["--command", sql]);
    let plan = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(
        plan.contains("QUERY PLAN") && plan.contains("95 % within ±") && plan.contains(" cost: ε = "),
        "{plan}"
    );
    let json = running.psql(
        &conninfo,
        &ann,
        &[
            "-At",
            "--command",
            "EXPLAIN (FORMAT JSON) SELECT COUNT(*) FROM people",
        ],
    );
    let plan: serde_json::Value = serde_json::from_str(&text(&json.stdout)).unwrap();
    assert!(plan["explanation"]["parts"].is_array(), "{plan}");
    let refused = running.psql(
        &conninfo,
        &ann,
        &["--command", "EXPLAIN ANALYZE SELECT COUNT(*) FROM people"],
    );
    assert!(
        text(&refused.stderr).contains("HINT:"),
        "{}",
        text(&refused.stderr)
    );
    // Prepared as well, which asks for the columns first.
    let script = running.path().join("describe.sql");
    std::fs::write(&script, "EXPLAIN SELECT COUNT(*) FROM people \\gdesc\n").unwrap();
    let described = running.psql(&conninfo, &ann, &["--file", &script.display().to_string()]);
    assert!(
        text(&described.stdout).contains("QUERY PLAN"),
        "{}",
        text(&described.stderr)
    );
    assert_eq!(running.charges(), 0);
}

#[test]
fn what_is_not_on_the_list_is_refused() {
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    let conninfo = running.conninfo("ann", EPSILON);
    for sql in [
        "SELECT * FROM people",
        "TABLE people",
        "EXPLAIN ANALYZE SELECT COUNT(*) FROM people",
        "CREATE TABLE x (y int)",
        "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/etc/passwd'",
        "COPY people TO STDOUT",
        "COPY people FROM STDIN",
        "COPY (SELECT COUNT(*) FROM people) TO '/tmp/deniable-test'",
        "COPY (SELECT COUNT(*) FROM people) TO PROGRAM 'id'",
        "INSERT INTO people VALUES (1)",
        "DROP TABLE people",
        "SET statement_timeout = 10",
        "SET lock_timeout = 10",
        "SET ROLE carol",
        "SELECT pg_sleep(1) FROM people",
        "SELECT pg_read_file('/etc/passwd')",
        "DECLARE c CURSOR FOR SELECT COUNT(*) FROM people",
        "PREPARE p AS SELECT COUNT(*) FROM people",
        "LISTEN x",
        "DO $$ BEGIN END $$",
        "SELECT COUNT(*) FROM people; SELECT SUM(age) FROM people",
        "SELECT COUNT(*) FROM people, pg_catalog.pg_class",
        "SELECT COUNT(*) FROM 'people.csv'",
    ] {
        let output = running.psql(&conninfo, &ann, &["--command", sql]);
        assert!(!output.status.success(), "{sql}: {}", text(&output.stdout));
        let said = text(&output.stderr);
        assert!(said.contains("ERROR:"), "{sql}: {said}");
    }
    assert_eq!(running.charges(), 0);
}

/// Statements to the system catalogs that do as much as one may end with an error, and nobody else waits for
/// them.
#[test]
fn nobody_waits_for_anothers_statements_to_the_catalogs() {
    let running = Running::start();
    let (ann, eve) = (
        running.account("ann", Role::Analyst),
        running.account("eve", Role::Analyst),
    );
    let attack = "SELECT count(*) FROM pg_attribute a, pg_attribute b, pg_attribute c WHERE a.attname || b.attname LIKE '%' || c.attname || '%x';\n";
    let (conninfo, ended) = (
        running.conninfo("eve", ""),
        std::sync::atomic::AtomicBool::new(false),
    );
    std::thread::scope(|scope| {
        // Three connections send it again and again.
        let attacking: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut told = String::new();
                    while !ended.load(std::sync::atomic::Ordering::SeqCst) || told.is_empty() {
                        let arguments = ["--set", "VERBOSITY=verbose", "--command", attack];
                        let output = running.psql(&conninfo, &eve, &arguments);
                        assert!(!output.status.success());
                        told = text(&output.stderr);
                    }
                    told
                })
            })
            .collect();
        for _ in 0..5 {
            let output = running.psql(&running.conninfo("ann", ""), &ann, &["--command", "SELECT 1"]);
            assert!(output.status.success(), "{}", text(&output.stderr));
        }
        ended.store(true, std::sync::atomic::Ordering::SeqCst);
        for attacking in attacking {
            let told = attacking.join().unwrap();
            assert!(told.contains("54000") && told.contains("HINT"), "{told}");
        }
    });
    assert_eq!(running.charges(), 0);
}

#[test]
fn only_who_has_a_good_token_gets_in_and_only_encrypted() {
    let mut running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    let adam = running.account("adam", Role::Auditor);
    let notebook = running.on(|store| {
        let secret = accounts::add_token(store, "test", "ann", "notebook", None)?;
        Ok(secret.reveal().to_owned())
    });
    let enters = |conninfo: &str, token: &str| {
        let output = running.psql(conninfo, token, &["--command", "SHOW deniable.epsilon"]);
        (output.status.success(), text(&output.stderr))
    };
    let at = |user: &str, more: &str| running.conninfo(user, more);
    assert!(enters(&at("ann", ""), &ann).0);
    assert!(enters(&at("ann", "channel_binding=require"), &ann).0);
    assert!(enters(&at("ann/notebook", ""), &notebook).0);
    assert!(!enters(&at("ann", ""), &notebook).0);
    let (entered, said) = enters(&at("adam", ""), &adam);
    assert!(!entered && said.contains("role does not allow"), "{said}");

    // An unknown name and a wrong password look alike.
    let (entered, wrong) = enters(&at("ann", ""), "dnb_wrong");
    let (unknown_entered, unknown) = enters(&at("eve", ""), "dnb_wrong");
    assert!(!entered && !unknown_entered);
    let same = |said: &str, name: &str| said.lines().last().unwrap_or_default().replace(name, "X");
    assert_eq!(same(&wrong, "ann"), same(&unknown, "eve"), "{wrong} {unknown}");

    // Nobody gets in without encryption, and the refusal says why.
    let plain = at("ann", "").replace("sslmode=verify-full", "sslmode=disable");
    let (entered, said) = enters(&plain, &ann);
    assert!(
        !entered && said.contains("encrypted") && said.contains("HINT"),
        "{said}"
    );

    // Revoked and expired ones do not get in.
    running.on(|store| accounts::revoke(store, "test", "ann", Some("notebook")));
    assert!(!enters(&at("ann/notebook", ""), &notebook).0);
    let expired = running.on(|store| {
        let secret = accounts::add_token(store, "test", "ann", "old", Some(1))?;
        Ok(secret.reveal().to_owned())
    });
    assert!(!enters(&at("ann/old", ""), &expired).0);
    running.end();
    let logged = running.on(|store| Ok(store.logged()?));
    let count = |what: &str| logged.iter().filter(|logged| logged.entry.what == what).count();
    assert!(count("login") > 0 && count("login-failed") > 0, "{logged:?}");
}

/// Nobody's password is at fault when the accounts cannot be read.
#[test]
fn a_ledger_that_cannot_be_used_is_not_a_wrong_password() {
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    let enters = |token: &str| {
        let conninfo = running.conninfo("ann", "");
        let output = running.psql(&conninfo, token, &["--command", "SHOW deniable.epsilon"]);
        (output.status.success(), text(&output.stderr))
    };
    let owner = rusqlite::Connection::open(running.folder.path().join("town.ledger")).unwrap();
    owner
        .execute_batch("ALTER TABLE deniable_documents RENAME COLUMN body TO gone")
        .unwrap();
    for token in [ann.as_str(), "dnb_wrong"] {
        let (entered, said) = enters(token);
        assert!(!entered && !said.contains("password authentication"), "{said}");
        assert!(
            said.contains("cannot be used now") && said.contains("HINT"),
            "{said}"
        );
    }
    owner
        .execute_batch("ALTER TABLE deniable_documents RENAME COLUMN gone TO body")
        .unwrap();
    assert!(enters(&ann).0);
    assert!(enters("dnb_wrong").1.contains("password authentication failed"));
}

#[test]
fn a_token_that_is_revoked_ends_connections_that_are_open() {
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    let conninfo = running.conninfo("ann", EPSILON);
    let mut psql = std::process::Command::new("psql")
        .args(["--no-psqlrc", "--tuples-only", "--no-align", &conninfo])
        .env("PGPASSWORD", &ann)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = psql.stdin.take().unwrap();
    writeln!(stdin, "{COUNT};\n\\echo ready").unwrap();
    let mut stdout = psql.stdout.take().unwrap();
    let mut seen = String::new();
    while !seen.contains("ready") {
        let mut byte = [0];
        assert_eq!(stdout.read(&mut byte).unwrap(), 1);
        seen.push(char::from(byte[0]));
    }
    running.on(|store| accounts::revoke(store, "test", "ann", Some("default")));
    std::thread::sleep(Duration::from_millis(1100));
    writeln!(stdin, "SELECT SUM(age) FROM people;").unwrap();
    drop(stdin);
    let output = psql.wait_with_output().unwrap();
    assert!(text(&output.stderr).contains("not signed in"), "{output:?}");
    assert_eq!(running.charges(), 1);
}

/// Bytes to both ports: broken, hostile, cut off. The server answers the next question all the same, and no
/// thread of it panics.
#[test]
fn hostile_bytes_do_no_harm() {
    let panics = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Arc::clone(&panics);
    std::panic::set_hook(Box::new(move |_| {
        counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }));
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    let mut state = 99_u64;
    let mut next = move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as usize
    };
    let ssl = [0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f];
    let starts: [&[u8]; 10] = [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST /v1/query HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n{",
        &[0xff; 64],
        &[0; 64],
        &ssl,
        &[0, 0, 0, 8, 4, 0xd2, 0x16, 0x30],
        &[0, 0, 0, 16, 4, 0xd2, 0x16, 0x2e, 0, 0, 0, 1, 0, 0, 0, 2],
        &[0, 0, 0, 9, 0, 3, 0, 0, 0],
        &[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc],
    ];
    for port in [running.addresses.wire.port(), running.addresses.http.port()] {
        for round in 0..120 {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
            let mut bytes = starts[round % starts.len()].to_vec();
            for _ in 0..next() % 40 {
                bytes.push(next() as u8);
            }
            if round % 3 == 0 {
                bytes.truncate(next() % (bytes.len() + 1));
            }
            let _ = stream.write_all(&bytes);
            let mut answer = [0; 64];
            let _ = stream.read(&mut answer);
        }
    }
    // After a real handshake of TLS too: messages of the protocol, mutated.
    for round in 0..100 {
        let mut stream = TcpStream::connect(("127.0.0.1", running.addresses.wire.port())).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        stream.write_all(&ssl).unwrap();
        let mut accepted = [0];
        stream.read_exact(&mut accepted).unwrap();
        assert_eq!(&accepted, b"S");
        let mut client = encrypted(&running);
        let mut tls = rustls::Stream::new(&mut client, &mut stream);
        let mut startup = b"\0\x03\0\0user\0ann\0database\0town\0\0".to_vec();
        let mut bytes = ((startup.len() + 4) as u32).to_be_bytes().to_vec();
        bytes.append(&mut startup);
        for _ in 0..round % 7 {
            let place = next() % bytes.len();
            bytes[place] = next() as u8;
        }
        if round % 2 == 0 {
            bytes.extend_from_slice(b"p\0\0\0\x18SCRAM-SHA-256\0\xff\xff\xff\xff");
            bytes.extend((0..next() % 64).map(|_| next() as u8));
        }
        let _ = tls.write_all(&bytes);
        let _ = tls.flush();
        let mut answer = [0; 256];
        let _ = tls.read(&mut answer);
    }
    assert_eq!(panics.load(std::sync::atomic::Ordering::SeqCst), 0);
    let output = running.psql(&running.conninfo("ann", EPSILON), &ann, &["--command", COUNT]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// A client of TLS that trusts the server's certificate.
fn encrypted(running: &Running) -> rustls::ClientConnection {
    use rustls::pki_types::pem::PemObject as _;
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(rustls::pki_types::CertificateDer::from_pem_file(&running.certificate).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    rustls::ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap()
}

use tokio_rustls::rustls;
