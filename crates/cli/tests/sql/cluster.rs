//! Queries on workers that are real processes: they answer, they are killed, they are missing.

use super::{Folder, command, stderr, text};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;

/// A worker that runs while this lives.
struct Worker {
    child: Child,
    address: String,
}

impl Worker {
    fn start(folder: &Folder) -> Self {
        let mut child = command(&folder.path(""))
            .args([
                "worker",
                "--listen",
                "127.0.0.1:0",
                "--data",
                ".",
                "--threads",
                "2",
            ])
            .args([
                "--authority",
                "keys/authority.pem",
                "--certificate",
                "keys/worker.pem",
            ])
            .args(["--key", "keys/worker.key", "--scratch", "."])
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut said = String::new();
        let mut lines = BufReader::new(child.stderr.take().expect("piped"));
        lines.read_line(&mut said).expect("a line");
        let port = said.trim().strip_prefix("worker: https://127.0.0.1:");
        let port = port.unwrap_or_else(|| panic!("{said}")).to_owned();
        Self {
            child,
            address: format!("https://localhost:{port}"),
        }
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Forty visits of each of 300 persons, in no order of persons: one in every minute below 40.
fn visits(folder: &Folder) {
    let mut csv = "minutes,user_id\n".to_owned();
    for minute in 0..40 {
        for user in 0..300 {
            csv += &format!("{minute},u{user}\n");
        }
    }
    folder.write("visits.csv", &csv);
    // Sorted by minute, as far as persons are concerned in no order.
    folder.stdout(&[
        "init",
        "visits.csv",
        "--unit",
        "minutes",
        "--cluster",
        "--output",
        "draft.toml",
    ]);
}

/// The catalog of the visits, with these workers.
fn on(folder: &Folder, workers: &[Worker]) {
    let addresses: Vec<String> = workers
        .iter()
        .map(|worker| format!("{:?}", worker.address))
        .collect();
    folder.write(
        "visits.toml",
        &format!(
            "name = \"visits\"\n[unit]\nwhose = \"person\"\n[budget]\nepsilon = 1000000000\n\
             [engine]\nkind = \"cluster\"\nworkers = [{}]\nauthority = \"keys/authority.pem\"\n\
             certificate = \"keys/coordinator.pem\"\nkey = \"keys/coordinator.key\"\n\
             [limits]\nrows_per_group = 40\n\
             [tables.visits]\nsource = \"visits.clustered.parquet\"\nunit = \"user_id\"\n\
             [tables.visits.columns]\nuser_id = {{ kind = \"text\" }}\nminutes = {{ kind = \"int\", bounds = [0, 60] }}\n",
            addresses.join(", ")
        ),
    );
}

/// How many visits were shorter; a question that costs so much that there is no noise to speak of.
fn question(minutes: u64) -> [String; 7] {
    let sql = format!("SELECT COUNT(*) AS n FROM visits WHERE minutes < {minutes}");
    [
        "query",
        "--catalog",
        "visits.toml",
        "--json",
        "--epsilon",
        "1000000",
        &sql,
    ]
    .map(str::to_owned)
}

fn releases(folder: &Folder) -> u64 {
    let budget = folder.object(&["budget", "--catalog", "visits.toml", "--json"]);
    budget["summary"]["releases"].as_u64().unwrap_or(0)
}

fn certificates(folder: &Folder) {
    folder.stdout(&["worker", "certificates", "keys", "--host", "localhost"]);
}

#[test]
fn workers_answer_and_one_of_them_may_be_killed() {
    let folder = Folder::new();
    certificates(&folder);
    let mut workers: Vec<Worker> = (0..3).map(|_| Worker::start(&folder)).collect();
    visits(&folder);
    on(&folder, &workers);
    let explained = folder.stdout(&[
        "explain",
        "--catalog",
        "visits.toml",
        "--epsilon",
        "1",
        "SELECT COUNT(*) AS n FROM visits",
    ]);
    assert!(explained.contains("the workers of the cluster"), "{explained}");
    let asked = |minutes: u64| {
        let question = question(minutes);
        let answer = folder.object(&question.each_ref().map(String::as_str));
        answer["rows"][0]["n"]["value"].as_f64()
    };
    assert_eq!(asked(10), Some(3000.0));
    // One is gone before the question, and others while it is asked, at some moment of it.
    workers[0].kill();
    assert_eq!(asked(20), Some(6000.0));
    for (run, delay) in [(0, 20), (1, 60), (2, 150)] {
        let before = releases(&folder);
        let running = command(&folder.path(""))
            .args(question(30 + run))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        std::thread::sleep(Duration::from_millis(delay));
        let victim = 1 + run as usize % 2;
        workers[victim].kill();
        let output = running.wait_with_output().expect("it ends");
        let said = text(&output.stdout) + &stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{said}");
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let expected = 300.0 * (30 + run) as f64;
        assert_eq!(answer["rows"][0]["n"]["value"].as_f64(), Some(expected), "{said}");
        assert_eq!(releases(&folder), before + 1);
        // Another one in its place, at its own address.
        workers[victim] = Worker::start(&folder);
        on(&folder, &workers);
    }
    // What those that were killed left on disk goes when another one starts, and of that one its own
    // directory is left.
    workers.iter_mut().for_each(Worker::kill);
    drop(Worker::start(&folder));
    let left = folder
        .names()
        .into_iter()
        .filter(|name| name.starts_with("deniable-worker-"));
    assert_eq!(left.count(), 1);
}

/// One that neither computes nor closes its connections is left out.
#[test]
fn a_worker_that_hangs_is_left_out() {
    let folder = Folder::new();
    certificates(&folder);
    let workers: Vec<Worker> = (0..2).map(|_| Worker::start(&folder)).collect();
    visits(&folder);
    on(&folder, &workers);
    let stopped = workers[0].child.id().to_string();
    let status = std::process::Command::new("kill")
        .args(["-STOP", &stopped])
        .status();
    assert!(status.expect("kill runs").success());
    let question = question(10);
    let answer = folder.object(&question.each_ref().map(String::as_str));
    assert_eq!(answer["rows"][0]["n"]["value"].as_f64(), Some(3000.0));
    assert_eq!(releases(&folder), 1);
}

#[test]
fn without_workers_nothing_is_charged() {
    let folder = Folder::new();
    certificates(&folder);
    let mut workers = vec![Worker::start(&folder)];
    visits(&folder);
    on(&folder, &workers);
    workers[0].kill();
    let output = command(&folder.path(""))
        .args(question(10))
        .output()
        .expect("the binary runs");
    let said = text(&output.stdout) + &stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("no worker is there") && said.contains("nothing was charged"),
        "{said}"
    );
    assert_eq!(releases(&folder), 0);
}

#[test]
fn certificates_are_not_written_over() {
    let folder = Folder::new();
    certificates(&folder);
    let key = std::fs::read(folder.path("keys/worker.key")).expect("a key");
    let again = command(&folder.path(""))
        .args(["worker", "certificates", "keys", "--host", "localhost"])
        .output()
        .expect("the binary runs");
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("exists already") && stderr(&again).contains("hint: "));
    assert_eq!(std::fs::read(folder.path("keys/worker.key")).expect("a key"), key);
    // Those of two clusters do not fit together.
    folder.stdout(&["worker", "certificates", "other", "--host", "localhost"]);
    let worker = Worker::start(&folder);
    visits(&folder);
    on(&folder, std::slice::from_ref(&worker));
    let catalog = std::fs::read_to_string(folder.path("visits.toml")).expect("written");
    folder.write("visits.toml", &catalog.replace("keys/", "other/"));
    let output = command(&folder.path(""))
        .args(question(10))
        .output()
        .expect("the binary runs");
    let said = text(&output.stdout) + &stderr(&output);
    assert!(said.contains("1 refusing, or not to be reached"), "{said}");
}
