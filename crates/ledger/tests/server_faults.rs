//! A database server whose disk is full, whose connection breaks around a commit, or that is replaced by one
//! that lacks the last commit. No noise is drawn without a durable charge, and nothing is charged twice
//! without a word.

mod places;

use ledger::{Error, Place, Store};
use mechanism::{Ledger as _, Refusal};
use places::{Fresh, charge, pure, pure_rules};
use postgres::{Client, NoTls};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What happens to the next commit on its way.
#[derive(Clone, Copy, PartialEq)]
enum Cut {
    Never,
    /// The connection is cut before the server hears of it.
    Before,
    /// It is cut after the server has committed, and before the client hears of it.
    After,
    /// The same, and nobody can connect from then on.
    AfterForGood,
    /// Nobody can connect.
    Down,
    /// Commits succeed with the warning that a standby may lack them, as when somebody cancels the wait for
    /// one that is gone.
    Doubted,
}

/// Between a store and its server.
struct Proxy {
    address: SocketAddr,
    cut: Arc<Mutex<Cut>>,
}

impl Proxy {
    fn to(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Self {
            address: listener.local_addr().unwrap(),
            cut: Arc::new(Mutex::new(Cut::Never)),
        };
        let (server, cut) = (server.to_owned(), Arc::clone(&proxy.cut));
        // It ends with the test's process.
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                if *cut.lock().unwrap() != Cut::Down {
                    forward(client, TcpStream::connect(&server).unwrap(), &cut);
                }
            }
        });
        proxy
    }

    fn cut(&self, cut: Cut) {
        *self.cut.lock().unwrap() = cut;
    }
}

fn forward(client: TcpStream, server: TcpStream, cut: &Arc<Mutex<Cut>>) {
    let sides = || (client.try_clone().unwrap(), server.try_clone().unwrap());
    let ((from_client, to_server), (to_client, from_server)) = (sides(), sides());
    // Set when the answer to a commit must not arrive. Answers to earlier messages still do: cutting at the
    // first of them might cut before the server has committed.
    let unheard = Arc::new(Mutex::new(false));
    let (cut, silence) = (Arc::clone(cut), Arc::clone(&unheard));
    let doubted = Arc::clone(&cut);
    thread::spawn(move || {
        pump(from_client, to_server, |bytes| {
            let mut cut = cut.lock().unwrap();
            let commits = says_commit(bytes);
            let (next, passes) = match *cut {
                Cut::Before if commits => (Cut::Never, false),
                Cut::After if commits => (Cut::Never, true),
                Cut::AfterForGood if commits => (Cut::Down, true),
                other => (other, true),
            };
            *silence.lock().unwrap() |= next != *cut;
            *cut = next;
            passes
        });
    });
    thread::spawn(move || {
        pump(from_server, to_client, |bytes| {
            if *doubted.lock().unwrap() == Cut::Doubted
                && let Some(place) = commit_in(bytes)
            {
                // Before the message that confirms it, whose text begins after a letter and a length.
                bytes.splice(place - 5..place - 5, warning());
            }
            !(*unheard.lock().unwrap() && says_commit(bytes))
        });
    });
}

/// The client asks for a commit with these bytes, and the server confirms it with the same.
fn commit_in(bytes: &[u8]) -> Option<usize> {
    bytes.windows(7).position(|window| window == b"COMMIT\0")
}

fn says_commit(bytes: &[u8]) -> bool {
    commit_in(bytes).is_some()
}

/// What a server says when somebody cancels the wait for a standby.
fn warning() -> Vec<u8> {
    let fields =
        b"SWARNING\0VWARNING\0C01000\0Mcanceling wait for synchronous replication due to user request\0\0";
    let length = u32::try_from(fields.len() + 4).unwrap().to_be_bytes();
    [b"N", &length[..], fields].concat()
}

/// Passes on what comes, as long as `passes` says so; then both ends are closed.
fn pump(mut from: TcpStream, mut to: TcpStream, mut passes: impl FnMut(&mut Vec<u8>) -> bool) {
    let mut buffer = [0; 1 << 16];
    loop {
        let mut bytes = match from.read(&mut buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Ok(read) if read > 0 => buffer[..read].to_vec(),
            _ => break,
        };
        if !passes(&mut bytes) || to.write_all(&bytes).is_err() {
            break;
        }
    }
    for side in [from, to] {
        let _ = side.shutdown(Shutdown::Both);
    }
}

/// A ledger behind a proxy.
fn proxied() -> (Fresh, Proxy, Place) {
    let fresh = places::postgres();
    let Place::Postgres(address) = fresh.place() else {
        unreachable!("a database")
    };
    let (user, rest) = address.split_once('@').unwrap();
    let (server, rest) = rest.split_once('/').unwrap();
    let proxy = Proxy::to(server);
    let place = Place::Postgres(format!("{user}@{}/{rest}", proxy.address));
    (fresh, proxy, place)
}

#[test]
fn a_commit_whose_answer_is_lost_is_looked_up() {
    let (fresh, proxy, place) = proxied();
    let mut store = Store::open(&place, &pure_rules("1")).unwrap();
    for expected in 2..5 {
        proxy.cut(Cut::After);
        let receipt = store.charge("ann", "q", charge(pure("0.1"))).unwrap();
        assert_eq!(receipt.number, expected, "it was charged, once");
    }
    store.record_answer(2, "q", "ann", "17").unwrap();
    let mut other = Store::open(fresh.place(), &pure_rules("1")).unwrap();
    assert_eq!(other.verify().unwrap().charges, 3);
}

/// Nobody knows whether it was charged, so nothing may be drawn. Asking the same again uses the charge, if it
/// is there.
#[test]
fn a_commit_of_which_nobody_learns_is_charged_once_and_draws_nothing() {
    for (cut, then) in [(Cut::AfterForGood, 1), (Cut::Before, 0)] {
        let (fresh, proxy, place) = proxied();
        let mut store = Store::open(&place, &pure_rules("1")).unwrap();
        let mut ask = || {
            let since = store
                .head()
                .map_err(|error| Refusal::NotRecorded(error.to_string()))?
                .number;
            let mut session = store.resumable_session("ann", "q", since).unwrap();
            session.charge(charge(pure("0.1")))
        };
        proxy.cut(Cut::Never);
        let mut direct = Store::open(fresh.place(), &pure_rules("1")).unwrap();
        proxy.cut(cut);
        let Err(Refusal::NotRecorded(words)) = ask() else {
            panic!("nothing is known")
        };
        assert!(
            words.contains("did not confirm") && words.contains("not made twice"),
            "{words}"
        );
        assert_eq!(direct.charges().unwrap().len(), then);
        if then == 1 {
            assert!(
                matches!(ask(), Err(Refusal::NotRecorded(_))),
                "the server is down"
            );
        }
        proxy.cut(Cut::Never);
        assert_eq!(ask().unwrap().number, 2);
        assert_eq!(direct.verify().unwrap().charges, 1);
    }
}

/// Such a commit may be gone after a failover, so it counts for nothing until a later one is confirmed:
/// neither a charge nor the word that drawing begins.
#[test]
fn a_commit_that_a_standby_may_lack_is_not_taken_for_one() {
    let (fresh, proxy, place) = proxied();
    let mut store = Store::open(&place, &pure_rules("1")).unwrap();
    let mut ask = |draw: bool| {
        let since = store.head().unwrap().number;
        let mut session = store.resumable_session("ann", "q", since).unwrap();
        let number = session
            .charge(charge(pure("0.1")))
            .map_err(|refusal| refusal.to_string())?
            .number;
        if draw {
            session.begin_drawing(number).map_err(|error| error.to_string())?;
        }
        Ok::<u64, String>(number)
    };
    proxy.cut(Cut::Doubted);
    let words = ask(false).unwrap_err();
    assert!(words.contains("standby may lack"), "{words}");
    // It is there and is found again, but nothing is drawn under it.
    assert_eq!(ask(false), Ok(2));
    let words = ask(true).unwrap_err();
    assert!(words.contains("standby may lack"), "{words}");
    proxy.cut(Cut::Never);
    // Whether drawing had begun nobody knows, so it is not begun again: that costs budget, and no privacy.
    assert!(ask(true).is_err());
    let mut direct = Store::open(fresh.place(), &pure_rules("1")).unwrap();
    assert_eq!(direct.verify().unwrap().charges, 1);
}

/// As when the disk of the server is full: in the entry, in the sums, and in the commit itself.
#[test]
fn a_server_whose_disk_is_full_says_so_and_charges_nothing() {
    let full = "CREATE OR REPLACE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = '53100'; END $$;";
    for (table, trigger) in [
        (
            "deniable_entries",
            "CREATE TRIGGER full_disk BEFORE INSERT ON deniable_entries FOR EACH ROW EXECUTE FUNCTION full_disk()",
        ),
        (
            "deniable_snapshot",
            "CREATE TRIGGER full_disk BEFORE UPDATE ON deniable_snapshot FOR EACH ROW EXECUTE FUNCTION full_disk()",
        ),
        (
            "deniable_entries",
            "CREATE CONSTRAINT TRIGGER full_disk AFTER INSERT ON deniable_entries
             DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION full_disk()",
        ),
    ] {
        let fresh = places::postgres();
        let mut store = Store::open(fresh.place(), &pure_rules("1")).unwrap();
        store.charge("ann", "q", charge(pure("0.1"))).unwrap();
        fresh.as_owner(&format!("{full} {trigger}")).unwrap();
        for _ in 0..2 {
            let refusal = store.charge("ann", "q", charge(pure("0.1"))).unwrap_err();
            let Refusal::NoRoom(words) = &refusal else {
                panic!("{refusal}")
            };
            for said in ["53100", "make room", "intact", "Nothing was charged"] {
                assert!(words.contains(said), "{words}");
            }
        }
        let unsaved = store.record_answer(2, "q", "ann", "17");
        assert!(matches!(unsaved, Err(Error::NoRoom { .. })), "{unsaved:?}");
        fresh
            .as_owner(&format!("DROP TRIGGER full_disk ON {table}"))
            .unwrap();
        assert_eq!(store.charge("ann", "q", charge(pure("0.1"))).unwrap().number, 3);
        store.record_answer(2, "q", "ann", "17").unwrap();
        assert_eq!(store.verify().unwrap().charges, 2);
    }
}

/// The server that takes over was copied before the last commit.
#[test]
fn a_standby_that_lacks_the_last_commit_is_refused() {
    let Ok(server) = std::env::var("DENIABLE_TEST_POSTGRES") else {
        panic!(
            "this test needs a PostgreSQL server\nhint: run the tests as `scripts/with-postgres cargo nextest run …`"
        )
    };
    let name = |role: &str| format!("failover_{}_{role}", std::process::id());
    let (primary, standby, old) = (name("primary"), name("standby"), name("old"));
    let owner = || Client::connect(&server, NoTls).unwrap();
    // A database is copied and renamed while nobody is connected to it.
    let disconnect = |database: &str| {
        owner()
            .execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1::text",
                &[&database],
            )
            .unwrap();
    };
    let run = |sql: &str| owner().batch_execute(sql).unwrap();
    run(&format!("CREATE DATABASE {primary}"));
    let folder = tempfile::tempdir().unwrap();
    let place = Place::PostgresKeepingHead {
        address: server.replace("/postgres", &format!("/{primary}")),
        head: folder.path().join("head"),
    };
    let open = || Store::open(&place, &pure_rules("1"));
    let mut running = open().unwrap();
    running.charge("ann", "q", charge(pure("0.1"))).unwrap();
    disconnect(&primary);
    run(&format!("CREATE DATABASE {standby} TEMPLATE {primary}"));
    assert_eq!(running.charge("ann", "q", charge(pure("0.1"))).unwrap().number, 3);

    disconnect(&primary);
    run(&format!("ALTER DATABASE {primary} RENAME TO {old}"));
    run(&format!("ALTER DATABASE {standby} RENAME TO {primary}"));
    let refusal = running.charge("ann", "q", charge(pure("0.1"))).unwrap_err();
    assert!(refusal.to_string().contains("went back"), "{refusal}");
    assert!(running.stored_answer("q").is_err());
    assert_eq!(open().unwrap_err(), Error::Rewound { number: 3 });

    // The one that has everything comes back.
    disconnect(&primary);
    run(&format!("ALTER DATABASE {primary} RENAME TO {standby}"));
    run(&format!("ALTER DATABASE {old} RENAME TO {primary}"));
    assert_eq!(running.charge("ann", "q", charge(pure("0.1"))).unwrap().number, 4);
    assert_eq!(open().unwrap().verify().unwrap().charges, 3);
    drop(running);
    for database in [&primary, &standby] {
        disconnect(database);
        run(&format!("DROP DATABASE {database}"));
    }
}
