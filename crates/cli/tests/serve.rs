//! `deniable serve` as a process: many analysts at once, killed in the middle, started again.
//! `scripts/hammer-server` does the same for longer.

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const CATALOG: &str = r#"
name = "town"
[unit]
whose = "person"
neighbors = "add_remove"
[budget]
epsilon = BUDGET
ledger = "town.ledger"
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
const EPSILON: &str = "0.125";

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

fn deniable(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_deniable"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("DENIABLE_CATALOG")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// A server that listens.
struct Serving {
    child: Child,
    port: u16,
}

fn serve(folder: &Path) -> Serving {
    let mut child = Command::new(env!("CARGO_BIN_EXE_deniable"))
        .args([
            "serve",
            "--self-signed",
            "localhost",
            "--schedule",
            "0",
            "--rate",
            "100000",
        ])
        .args([
            "--http",
            "127.0.0.1:0",
            "--wire",
            "127.0.0.1:0",
            "--curators",
            "127.0.0.1:0",
        ])
        .current_dir(folder)
        .env_remove("DENIABLE_CATALOG")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = lines
        .find_map(|line| line.ok().filter(|line| line.starts_with("serving ")))
        .expect("it serves");
    let port = line
        .split("https://127.0.0.1:")
        .nth(1)
        .and_then(|rest| rest.split(',').next())
        .unwrap()
        .parse()
        .unwrap();
    // Its later output is read too, so that it never waits for a reader.
    thread::spawn(move || lines.for_each(drop));
    Serving { child, port }
}

/// One request of one analyst, sent until it has an answer.
#[derive(Clone, Debug)]
struct Request {
    analyst: String,
    sql: String,
    key: String,
}

fn curl(folder: &Path, port: u16, token: &str, request: &Request) -> Option<(u16, Value)> {
    let body = serde_json::json!({ "sql": request.sql, "epsilon": EPSILON }).to_string();
    let output = Command::new("curl")
        .args([
            "--silent",
            "--max-time",
            "60",
            "--write-out",
            "\n%{http_code}",
            "--cacert",
            "server.crt",
        ])
        .args(["--header", "Content-Type: application/json", "--data", &body])
        .args(["--header", &format!("Authorization: Bearer {token}")])
        .args(["--header", &format!("Idempotency-Key: {}", request.key)])
        .arg(format!("https://localhost:{port}/v1/query"))
        .current_dir(folder)
        .output()
        .expect("this test needs curl in PATH");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (body, status) = text.rsplit_once('\n')?;
    Some((status.parse().ok()?, serde_json::from_str(body).ok()?))
}

#[test]
fn killed_servers_overspend_nothing_and_lose_no_answer() {
    let analysts = number("DENIABLE_HAMMER_ANALYSTS", 4);
    let lasts = Duration::from_secs(number("DENIABLE_HAMMER_SECONDS", 9));
    let folder = tempfile::tempdir().unwrap();
    let folder: PathBuf = folder.path().to_owned();
    // Enough for some of what is asked, and not for all of it.
    let charges = 8 * analysts;
    let budget = charges as f64 * 0.125;
    std::fs::write(
        folder.join("deniable.toml"),
        CATALOG.replace("BUDGET", &budget.to_string()),
    )
    .unwrap();
    let rows: String = (0..500)
        .map(|person| format!("{person},{}\n", person % 100))
        .collect();
    std::fs::write(folder.join("people.csv"), format!("person_id,age\n{rows}")).unwrap();
    let tokens: BTreeMap<String, String> = (0..analysts)
        .map(|number| {
            let name = format!("analyst{number}");
            deniable(&folder, &["user", "add", &name]);
            let token = deniable(&folder, &["user", "token", &name]).trim().to_owned();
            (name, token)
        })
        .collect();

    let port = Mutex::new(0);
    let over = AtomicBool::new(false);
    let answered: Mutex<Vec<(Request, Value)>> = Mutex::default();
    let lost: Mutex<Vec<Request>> = Mutex::default();
    let refused = Mutex::new(0);
    let mut serving = serve(&folder);
    *port.lock().unwrap() = serving.port;
    thread::scope(|scope| {
        for (name, token) in &tokens {
            let (port, over, answered, lost, refused, folder) =
                (&port, &over, &answered, &lost, &refused, &folder);
            scope.spawn(move || {
                for number in 0.. {
                    let request = Request {
                        analyst: name.clone(),
                        sql: format!(
                            "SELECT COUNT(*) AS n FROM people WHERE age < 50 AND person_id <> {}",
                            hash(name, number)
                        ),
                        key: format!("{name}-{number}"),
                    };
                    loop {
                        if over.load(Ordering::SeqCst) {
                            return;
                        }
                        let at = *port.lock().unwrap();
                        match curl(folder, at, token, &request) {
                            Some((200, answer)) => {
                                answered.lock().unwrap().push((request, answer));
                                break;
                            }
                            Some((402, _)) => {
                                *refused.lock().unwrap() += 1;
                                break;
                            }
                            Some((409, problem)) => {
                                assert_eq!(problem["type"], "urn:deniable:answer-lost", "{problem}");
                                lost.lock().unwrap().push(request);
                                break;
                            }
                            // Killed, ending, or busy: the same request again, under the same key.
                            Some((500.., _)) | None => thread::sleep(Duration::from_millis(50)),
                            Some((status, problem)) => panic!("{status}: {problem}"),
                        }
                    }
                }
            });
        }
        let end = Instant::now() + lasts;
        let between = lasts / 4;
        while Instant::now() + between < end {
            thread::sleep(between);
            // SIGKILL: nothing is finished, nothing is cleaned up.
            serving.child.kill().unwrap();
            serving.child.wait().unwrap();
            serving = serve(&folder);
            *port.lock().unwrap() = serving.port;
        }
        thread::sleep(between);
        over.store(true, Ordering::SeqCst);
    });
    let ended = Command::new("kill")
        .arg(serving.child.id().to_string())
        .status()
        .unwrap();
    assert!(ended.success() && serving.child.wait().unwrap().success());

    let answered = answered.into_inner().unwrap();
    assert!(!answered.is_empty());
    deniable(&folder, &["budget", "verify"]);
    let spent: Value = serde_json::from_str(&deniable(&folder, &["budget", "--json"])).unwrap();
    let entries = spent["charges"].as_array().unwrap();
    assert!(
        entries.len() as u64 <= charges,
        "{} charges, and {charges} fit",
        entries.len()
    );
    // Each question is another one, so each is charged once at most, whatever happened to it.
    let mut of_question: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in entries {
        *of_question.entry(entry["purpose"].as_str().unwrap()).or_default() += 1;
    }
    assert!(of_question.values().all(|count| *count == 1), "{of_question:?}");
    // Every answer that left is in the ledger: asked again it is the same, and free.
    let serving = serve(&folder);
    for (request, answer) in &answered {
        let charge = answer["cost"]["charge"].as_u64().unwrap();
        assert!(
            entries
                .iter()
                .any(|entry| entry["number"].as_u64() == Some(charge)),
            "{answer}"
        );
        let (status, again) = curl(&folder, serving.port, &tokens[&request.analyst], request).unwrap();
        assert_eq!(
            (status, &again["rows"], &again["repeated"]),
            (200, &answer["rows"], &Value::Bool(true))
        );
    }
    let mut child = serving.child;
    child.kill().unwrap();
    child.wait().unwrap();
    println!(
        "{} answers, {} lost, {} refused, {} charges",
        answered.len(),
        lost.into_inner().unwrap().len(),
        refused.into_inner().unwrap(),
        entries.len()
    );
}

/// On the machine itself the same rule holds as on the server: with two curators, a larger share waits for
/// one of them.
#[test]
fn shares_wait_for_a_curator_once_there_are_two() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("deniable.toml"), CATALOG.replace("BUDGET", "4")).unwrap();
    std::fs::write(folder.join("people.csv"), "person_id,age\n1,20\n").unwrap();
    let share_of = |name: &str| {
        let listed: Value = serde_json::from_str(&deniable(folder, &["user", "list", "--json"])).unwrap();
        let accounts = listed["accounts"].as_array().unwrap();
        let account = accounts.iter().find(|account| account["name"] == name);
        account.unwrap()["share"].clone()
    };
    deniable(folder, &["user", "add", "carol", "--role", "curator"]);
    deniable(folder, &["user", "add", "ann", "--share", "1/4"]);
    deniable(folder, &["user", "add", "bob", "--share", "1/4"]);
    assert_eq!((share_of("ann"), share_of("bob")), ("0.25".into(), "0.25".into()));
    deniable(folder, &["user", "add", "dan", "--role", "curator"]);
    for arguments in [
        ["user", "add", "eve", "--share", "1"],
        ["user", "set", "ann", "--share", "1/2"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_deniable"))
            .args(arguments)
            .current_dir(folder)
            .env_remove("DENIABLE_CATALOG")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && said.contains("waits as request"),
            "{said}"
        );
    }
    assert_eq!((share_of("eve"), share_of("ann")), (Value::Null, "0.25".into()));
    // Less takes nobody else.
    deniable(folder, &["user", "set", "ann", "--share", "1/8"]);
    assert_eq!(share_of("ann"), "0.125");
}

/// A number that no other query has. A person who tries it out sees at once that something happens, and what:
/// making sample data takes half a minute where nothing is optimised.
#[test]
fn a_demonstration_says_what_it_does() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_deniable"))
        .args([
            "serve",
            "--demo",
            "--http",
            "127.0.0.1:0",
            "--wire",
            "127.0.0.1:0",
        ])
        .args(["--curators", "127.0.0.1:0"])
        .current_dir(folder.path())
        .env("XDG_DATA_HOME", folder.path())
        .env_remove("DENIABLE_CATALOG")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said: Vec<String> = Vec::new();
    for line in lines.map_while(Result::ok) {
        let serves = line.starts_with("serving ");
        said.push(line);
        if serves {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(
        said[0], "demo: making sample data, unless it is there from before",
        "{said:#?}"
    );
    assert!(
        said.last().is_some_and(|line| line.starts_with("serving ")),
        "{said:#?}"
    );
    assert!(said[1..].iter().all(|line| !line.contains("token=")), "{said:#?}");
}

fn hash(name: &str, number: u64) -> u64 {
    let analyst: u64 = name.trim_start_matches("analyst").parse().unwrap();
    1_000_000 + analyst * 1_000_000 + number
}
