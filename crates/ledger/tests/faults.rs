//! A disk that fills up in every block of a charge, and a process that dies in every step of a checkpoint.
//! Nothing is lost, nothing is charged twice, and the message says what to do. Everything goes on once there
//! is room, also in the process that ran into it.
//!
//! A limit on the size of files stands for the full disk: it needs no rights, and fails at exactly the byte
//! that a test wants. It holds for the file, its log, the log's index and the head. The children are this
//! program again, as its test `child`; their parent lifts the limit while they run. `full_file_system` does
//! the same on a small file system of its own.
#![cfg(target_os = "linux")]

mod places;

use ledger::{Place, Store};
use mechanism::Charge;
use places::{charge, pure, pure_rules};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const FILE: &str = "DENIABLE_FAULTS_FILE";
/// Set where the child closes the ledger before there is room.
const CLOSES: &str = "DENIABLE_FAULTS_CLOSES";
/// What the child deletes to make room, where its parent does not.
const BALLAST: &str = "DENIABLE_FAULTS_BALLAST";
/// Set where the child charges under this name until it is killed.
const PURPOSE: &str = "DENIABLE_FAULTS_PURPOSE";
/// Charges that a child tries before it gives up filling the disk.
const TRIES: usize = 6;

fn opened(path: &Path) -> Result<Store, ledger::Error> {
    Store::open(&Place::File(path.to_owned()), &pure_rules("100"))
}

/// A question of some length, so that a few of them need new pages.
fn asked(purpose: &str) -> Charge {
    Charge {
        purpose: format!("{purpose} {}", "because ".repeat(100)),
        ..charge(pure("0.01"))
    }
}

/// What a child tells its parent: one line, written at once.
fn tell(line: &str) {
    let line = format!("{}\n", line.replace('\n', " | "));
    std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
}

/// Charges for ever, and closes the ledger after every second charge.
fn charge_and_close(path: &Path, purpose: &str) -> ! {
    for number in 0_u64.. {
        let mut store = opened(path).unwrap();
        for half in ["a", "b"] {
            let purpose = format!("{purpose}/{number}{half}");
            let receipt = store.charge("ann", &purpose, asked(&purpose)).unwrap();
            tell(&format!("yes {} {purpose}", receipt.number));
        }
    }
    unreachable!("it is killed")
}

/// Charges until there is no room, reports what it gets, waits for room, and charges again.
#[test]
#[ignore = "a part of the others"]
fn child() {
    let Some(path) = std::env::var_os(FILE).map(PathBuf::from) else {
        return;
    };
    if let Ok(purpose) = std::env::var(PURPOSE) {
        charge_and_close(&path, &purpose);
    }
    let mut store = opened(&path).map_err(|error| tell(&format!("no {error}"))).ok();
    let ask = |store: &mut Store, purpose: &str| match store.charge("ann", purpose, asked(purpose)) {
        Ok(receipt) => {
            tell(&format!("yes {} {purpose}", receipt.number));
            true
        }
        Err(refusal) => {
            assert!(refusal.to_string().ends_with("Nothing was charged"), "{refusal}");
            tell(&format!("no {refusal}"));
            false
        }
    };
    for round in 0..TRIES {
        if let Some(store) = &mut store {
            ask(store, &format!("full-{round}"));
        }
    }
    if std::env::var_os(CLOSES).is_some() {
        // This writes the log to the file, for which there is no room either. The next process to open it
        // finds a part of the pages in each.
        drop(store.take());
        drop(opened(&path).map_err(|error| tell(&format!("no {error}"))));
    }
    tell("room?");
    match std::env::var_os(BALLAST) {
        Some(ballast) => fs::remove_file(ballast).unwrap(),
        None => {
            let mut line = String::new();
            std::io::stdin().read_line(&mut line).unwrap();
        }
    }
    // The store that ran into it goes on, and so does a new one.
    if let Some(store) = &mut store {
        assert!(ask(store, "again"), "there is room again");
    }
    drop(store);
    let mut store = opened(&path).unwrap();
    assert!(ask(&mut store, "after"), "there is room again");
    store.verify().unwrap();
    tell("done");
}

/// The result of a child.
#[derive(Default)]
struct Told {
    receipts: Vec<(u64, String)>,
    refusals: Vec<String>,
}

/// Listens to a child, and makes room when it asks for it.
fn listen(mut child: Child, make_room: impl FnOnce(&Child)) -> Told {
    let mut told = Told::default();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut make_room = Some(make_room);
    let mut done = false;
    for line in lines {
        let line = line.unwrap();
        match line.split_once(' ') {
            Some(("yes", _)) => told.receipts.extend(receipt(&line)),
            Some(("no", words)) => told.refusals.push(words.to_owned()),
            // The first line of a test's output has its name before it.
            _ if line.ends_with("room?") => {
                make_room.take().unwrap()(&child);
                let _ = child.stdin.take().unwrap().write_all(b"go on\n");
            }
            _ => done |= line.ends_with("done"),
        }
    }
    let ended = child.wait().unwrap();
    assert!(done && ended.success(), "{:?}", told.refusals);
    told
}

/// Afterwards, in another process: the ledger is whole, and holds exactly what there are receipts for.
fn check(path: &Path, before: usize, told: &Told) {
    let mut store = opened(path).unwrap();
    let charges = store.charges().unwrap();
    store.verify().unwrap();
    let found: Vec<(u64, String)> = charges[before..]
        .iter()
        .map(|entry| (entry.number, entry.question.clone()))
        .collect();
    assert_eq!(found, told.receipts);
    for words in &told.refusals {
        for said in ["no room", "make room", "intact", "nothing was added"] {
            assert!(words.contains(said), "{words}");
        }
        for never in ["malformed", "damaged", "another file", "restore", "copy"] {
            assert!(!words.contains(never), "{words}");
        }
    }
}

/// A ledger with some charges, closed.
fn made(folder: &Path) -> (PathBuf, usize) {
    let path = folder.join("ledger.db");
    let mut store = opened(&path).unwrap();
    for number in 0..8 {
        store
            .charge("ann", "before", asked(&format!("before {number}")))
            .unwrap();
    }
    (path, 8)
}

fn copied(from: &Path, to: &Path, endings: &[&str]) {
    for ending in endings {
        let name = |path: &Path| format!("{}{ending}", path.display());
        fs::copy(name(from), name(to)).unwrap();
    }
}

fn this_program(before: &[&str]) -> Command {
    let mut words = before.iter().map(ToString::to_string);
    let program = std::env::current_exe().unwrap().display().to_string();
    let mut command = match words.next() {
        Some(first) => Command::new(first),
        None => Command::new(&program),
    };
    if !before.is_empty() {
        command.args(words).arg(&program);
    }
    command
        .args([
            "--ignored",
            "--exact",
            "child",
            "--nocapture",
            "--test-threads=1",
            "--quiet",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// The limit is on the size of every file, in KiB: it is met in the log by the first charges, in the index of
/// the log by opening it, and in the file itself by the checkpoint of closing it.
fn fills_up_at(limit: u64, closes: bool, original: &Path, before: usize) -> Told {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    copied(original, &path, &["", ".head"]);
    let limited = format!("trap '' XFSZ; ulimit -S -f {limit}; exec \"$0\" \"$@\"");
    let mut command = this_program(&["bash", "-c", &limited]);
    if closes {
        command.env(CLOSES, "");
    }
    let told = listen(command.env(FILE, &path).spawn().unwrap(), |child| {
        let lifted = Command::new("prlimit")
            .args(["--pid", &child.id().to_string(), "--fsize=unlimited"])
            .status();
        assert!(
            lifted.is_ok_and(|status| status.success()),
            "prlimit lifts the limit"
        );
    });
    check(&path, before, &told);
    told
}

/// Some KiB of the index of the log, which has 32, and every KiB of the first charges in the log, of which
/// each takes several pages.
fn fills_up(closes: bool) {
    let folder = tempfile::tempdir().unwrap();
    let (original, before) = made(folder.path());
    let (mut refused, mut charged) = (0, 0);
    for limit in (1..32).step_by(6).chain(32..76) {
        let told = fills_up_at(limit, closes, &original, before);
        refused += usize::from(!told.refusals.is_empty());
        charged += usize::from(told.receipts.len() > 2);
    }
    assert!(
        refused > 40 && charged > 10,
        "{refused} were full, {charged} charged before that"
    );
}

#[test]
fn a_disk_that_is_full_in_any_block_of_a_charge_loses_nothing() {
    fills_up(false);
}

#[test]
fn a_ledger_that_is_closed_on_a_full_disk_is_opened_again() {
    fills_up(true);
}

/// The same on a file system of its own that a file fills up, which the child deletes to make room.
#[test]
#[ignore = "mounts a small file system, as root: scripts/hammer-ledger runs it"]
fn full_file_system() {
    let folder = tempfile::tempdir().unwrap();
    let (original, before) = made(folder.path());
    let size = 512;
    let mut refused = 0;
    for left in (0..120).step_by(4) {
        for closes in [false, true] {
            let mounted = tempfile::tempdir().unwrap();
            let script = format!(
                "mount -t tmpfs -o size={size}k none '{0}' && cp '{1}' '{0}/ledger.db' && cp '{1}.head' '{0}/ledger.db.head' && \
                 head -c $(( ($(stat -f -c %a '{0}') * 4 - {left}) * 1024 )) /dev/zero > '{0}/ballast' && \
                 {{ \"$0\" \"$@\"; code=$?; cp '{0}'/ledger.db* '{2}'; exit $code; }}",
                mounted.path().display(),
                original.display(),
                folder.path().join("after").display(),
            );
            fs::create_dir_all(folder.path().join("after")).unwrap();
            let mut command = this_program(&["unshare", "-m", "bash", "-c", &script]);
            command.env(FILE, mounted.path().join("ledger.db"));
            command.env(BALLAST, mounted.path().join("ballast"));
            if closes {
                command.env(CLOSES, "");
            }
            let told = listen(command.spawn().unwrap(), |_| ());
            check(&folder.path().join("after/ledger.db"), before, &told);
            refused += usize::from(!told.refusals.is_empty());
            fs::remove_dir_all(folder.path().join("after")).unwrap();
        }
    }
    assert!(refused > 20, "{refused} were full");
}

/// A checkpoint writes pages of the log to the file, the first pages first. A crash after any of them leaves
/// the file with a part of them, and the log whole.
#[test]
fn a_crash_in_any_step_of_a_checkpoint_leaves_the_ledger_whole() {
    const PAGE: usize = 4096;
    const IN_THE_LOG: usize = 20;
    let folder = tempfile::tempdir().unwrap();
    let (path, before) = made(folder.path());
    let mut store = opened(&path).unwrap();
    let during = folder.path().join("during.db");
    for number in 0..IN_THE_LOG {
        let purpose = format!("in the log {number}");
        store.charge("ann", &purpose, asked(&purpose)).unwrap();
    }
    copied(&path, &during, &["", "-wal", ".head"]);
    drop(store);
    let (old, new) = (fs::read(&during).unwrap(), fs::read(&path).unwrap());
    assert!(new.len() > old.len() + 2 * PAGE, "the log had new pages");
    for pages in 0..=new.len() / PAGE {
        let crashed = folder.path().join(format!("crashed-{pages}.db"));
        copied(&during, &crashed, &["-wal", ".head"]);
        let mut torn = new[..pages * PAGE].to_vec();
        torn.extend(old.iter().skip(torn.len()));
        fs::write(&crashed, torn).unwrap();
        let found = Store::open_existing(&Place::File(crashed.clone())).unwrap();
        assert_eq!(
            found.unwrap().charges().unwrap().len(),
            before + IN_THE_LOG,
            "{pages} pages"
        );
        let mut store = opened(&crashed).unwrap();
        store.verify().unwrap();
        store.charge("ann", "q", asked("after")).unwrap();
    }
}

/// The same with a process that is killed for certain while it charges and closes, again and again.
#[test]
fn a_process_that_is_killed_while_it_closes_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (path, before) = made(folder.path());
    let mut receipts = Vec::new();
    for round in 0..24 {
        let mut command = this_program(&[]);
        command
            .env(FILE, &path)
            .env(CLOSES, "")
            .env(PURPOSE, format!("round-{round}"));
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let wanted = receipts.len() + 1 + round % 4;
        while receipts.len() < wanted {
            receipts.extend(receipt(&lines.next().unwrap().unwrap()));
        }
        // It is somewhere between this charge and the next, where it closes the ledger.
        std::thread::sleep(Duration::from_micros(round as u64 * 400));
        child.kill().unwrap();
        child.wait().unwrap();
        receipts.extend(lines.filter_map(|line| receipt(&line.ok()?)));
        let mut store = opened(&path).unwrap();
        store.verify().unwrap();
    }
    let charges = opened(&path).unwrap().charges().unwrap();
    assert!(receipts.len() >= 24 && charges.len() >= before + receipts.len());
    for (number, purpose) in receipts {
        let found = charges.iter().filter(|entry| entry.question == purpose);
        assert_eq!(found.map(|entry| entry.number).collect::<Vec<_>>(), [number]);
    }
}

fn receipt(line: &str) -> Option<(u64, String)> {
    let (number, purpose) = line.strip_prefix("yes ")?.split_once(' ')?;
    Some((number.parse().ok()?, purpose.to_owned()))
}

/// A ledger that is damaged for certain. What is in it is all that anybody knows of what was spent.
#[test]
fn no_words_about_damage_let_anybody_forget_what_was_spent() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = made(folder.path());
    let whole = fs::read(&path).unwrap();
    for first in [0, 4096] {
        let mut damaged = whole.clone();
        damaged[first..].fill(0xff);
        fs::write(&path, damaged).unwrap();
        let place = Place::File(path.clone());
        for refusal in [
            opened(&path).map(|_| ()).unwrap_err(),
            Store::open_existing(&place).map(|_| ()).unwrap_err(),
        ] {
            let words = refusal.to_string();
            assert!(words.contains("release nothing"), "{words}");
            for never in ["another file", "name a", "restore", "from a copy"] {
                assert!(!words.contains(never), "{words}");
            }
        }
    }
    fs::write(&path, whole).unwrap();
    opened(&path).unwrap().verify().unwrap();
}

/// A file without bytes is no database, and SQLite deletes the log of such a file. That log is all that is
/// left.
#[test]
fn the_log_of_an_emptied_file_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let mut store = opened(&path).unwrap();
    store.charge("ann", "q", asked("one")).unwrap();
    let emptied = folder.path().join("emptied.db");
    copied(&path, &emptied, &["-wal", ".head"]);
    fs::write(&emptied, "").unwrap();
    let log = folder.path().join("emptied.db-wal");
    let bytes = fs::read(&log).unwrap();
    for refusal in [
        opened(&emptied).map(|_| ()).unwrap_err(),
        Store::open_existing(&Place::File(emptied))
            .map(|_| ())
            .unwrap_err(),
    ] {
        assert!(refusal.to_string().contains("keep the log"), "{refusal}");
    }
    assert!(fs::read(&log).unwrap() == bytes);
}
