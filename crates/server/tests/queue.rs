//! Many queries at once: in line, in turn, in time, and once.

mod common;

use common::{Running, json, people, quick};
use ledger::Caps;
use server::accounts::{self, NewAccount, Role};
use server::{Schedule, Settings};
use std::time::{Duration, Instant};

fn body(sql: &str) -> String {
    serde_json::json!({ "sql": sql, "epsilon": "0.1" }).to_string()
}

/// A question that differs from others by its number.
fn numbered(number: usize) -> String {
    body(&format!(
        "SELECT COUNT(*) AS n FROM people WHERE person_id <> {}",
        1_000_000 + number
    ))
}

fn scheduled(unit: Duration) -> Settings {
    Settings {
        schedule: Schedule::every(unit),
        ..quick()
    }
}

fn with(settings: Settings) -> Running {
    Running::with(settings, &people(&[]), &common::catalog())
}

/// Before, answers of one analyst's 36 queries came at 2, 4, 8, … 64 seconds, and another's single query
/// after all of them.
#[test]
fn one_analysts_backlog_is_answered_soon_and_anothers_question_sooner() {
    const BACKLOG: usize = 36;
    let running = with(scheduled(Duration::from_millis(250)));
    let ann = running.account("ann", Role::Analyst);
    let bob = running.account("bob", Role::Analyst);
    let start = Instant::now();
    let (of_ann, of_bob) = std::thread::scope(|scope| {
        let (running, ann) = (&running, &ann);
        let backlog: Vec<_> = (0..BACKLOG)
            .map(|number| scope.spawn(move || running.query(ann, &numbered(number), &[])))
            .collect();
        while running.charges() == 0 {
            std::thread::sleep(Duration::from_millis(20));
        }
        let (status, said) = running.query(&bob, &numbered(BACKLOG), &[]);
        assert_eq!(status, 200, "{said}");
        let of_bob = start.elapsed();
        for asked in backlog {
            let (status, said) = asked.join().unwrap();
            assert_eq!(status, 200, "{said}");
        }
        (start.elapsed(), of_bob)
    });
    // This takes seconds and took minutes before, on a slow machine too.
    assert!(of_ann < Duration::from_secs(40), "{of_ann:?}");
    assert!(of_bob < Duration::from_secs(20), "{of_bob:?}");
    assert_eq!(running.charges(), BACKLOG + 1);
}

#[test]
fn who_waits_too_long_is_refused_and_not_charged() {
    let running = with(Settings {
        at_once: 1,
        patience: Duration::from_millis(200),
        ..scheduled(Duration::from_secs(3))
    });
    let ann = running.account("ann", Role::Analyst);
    // One account has two places here, each of them for more than two seconds.
    let said: Vec<(u16, String)> = std::thread::scope(|scope| {
        let (running, ann) = (&running, &ann);
        let asked: Vec<_> = (0..8)
            .map(|number| scope.spawn(move || running.query(ann, &numbered(number), &["--include"])))
            .collect();
        asked.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    let refused: Vec<&String> = said
        .iter()
        .filter(|(status, _)| *status == 503)
        .map(|(_, said)| said)
        .collect();
    assert!(!refused.is_empty() && refused.len() < 8, "{said:?}");
    for said in &refused {
        assert!(said.contains("retry-after: 1"), "{said}");
        assert!(
            said.contains("urn:deniable:busy") && said.contains("nothing was charged"),
            "{said}"
        );
    }
    assert_eq!(running.charges(), 8 - refused.len());
}

#[test]
fn ending_refuses_those_that_wait_and_answers_those_that_were_charged() {
    let mut running = with(Settings {
        at_once: 1,
        ..scheduled(Duration::from_secs(3))
    });
    let ann = running.account("ann", Role::Analyst);
    let certificate = running.certificate.clone();
    let address = running.addresses.http;
    let ask = |number: usize| {
        let (certificate, ann) = (certificate.clone(), ann.clone());
        std::thread::spawn(move || {
            std::process::Command::new("curl")
                .args(["--silent", "--cacert"])
                .arg(certificate)
                .args(["--header", &format!("Authorization: Bearer {ann}")])
                .args(["--header", "Content-Type: application/json"])
                .args(["--data-binary", &numbered(number)])
                .arg(format!("https://localhost:{}/v1/query", address.port()))
                .output()
                .unwrap()
        })
    };
    let asked: Vec<_> = (0..6).map(ask).collect();
    while running.charges() < 2 {
        std::thread::sleep(Duration::from_millis(20));
    }
    running.end();
    let said: Vec<String> = asked
        .into_iter()
        .map(|asked| common::text(&asked.join().unwrap().stdout))
        .collect();
    let answered = said.iter().filter(|said| said.contains("\"rows\"")).count();
    let refused = said
        .iter()
        .filter(|said| said.contains("urn:deniable:ending"))
        .count();
    assert_eq!((answered, running.charges()), (2, 2), "{said:?}");
    // A client that came when nobody listened any more has no answer at all.
    assert!(refused >= 1, "{said:?}");
}

#[test]
fn ending_takes_no_longer_than_it_says_and_names_what_it_drops() {
    let mut running = with(Settings {
        drains: Duration::from_millis(50),
        ..scheduled(Duration::from_secs(5))
    });
    let ann = running.account("ann", Role::Analyst);
    let mut curl = std::process::Command::new("curl")
        .args(["--silent", "--cacert"])
        .arg(&running.certificate)
        .args(["--header", &format!("Authorization: Bearer {ann}")])
        .args(["--header", "Content-Type: application/json"])
        .args(["--data-binary", &numbered(0)])
        .arg(format!(
            "https://localhost:{}/v1/query",
            running.addresses.http.port()
        ))
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while running.charges() == 0 {
        std::thread::sleep(Duration::from_millis(20));
    }
    // The clients that waited are gone, so that no connection is waited for either.
    curl.kill().unwrap();
    curl.wait().unwrap();
    running.end();
    let logged = running.on(|store| Ok(store.logged()?));
    let dropped = logged
        .iter()
        .find(|logged| logged.entry.what == "questions-dropped");
    assert_eq!(dropped.expect("it is in the log").entry.by, "ann");
}

/// Before, each of them was charged.
#[test]
fn six_who_ask_the_same_at_once_pay_once() {
    let running = with(scheduled(Duration::from_millis(1000)));
    let words = [
        "SELECT COUNT(*) AS n FROM people WHERE age < 40",
        "SELECT COUNT(*) AS n FROM people WHERE age < 40",
        "select count(*) as n from people where age < 40",
        "SELECT COUNT(1) AS n FROM people p WHERE p.age < 40",
        "SELECT COUNT(*) AS n FROM people WHERE 40 > age",
        "SELECT COUNT(*) AS n FROM people WHERE age < 40",
    ];
    let tokens: Vec<String> = (0..words.len())
        .map(|number| running.account(&format!("analyst{number}"), Role::Analyst))
        .collect();
    let said: Vec<(u16, String)> = std::thread::scope(|scope| {
        let running = &running;
        let asked: Vec<_> = tokens
            .iter()
            .zip(words)
            .map(|(token, sql)| scope.spawn(move || running.query(token, &body(sql), &[])))
            .collect();
        asked.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    for (status, said) in &said {
        assert_eq!(*status, 200, "{said}");
    }
    let answers: Vec<_> = said.iter().map(|(_, said)| json(said)).collect();
    assert!(answers.iter().all(|answer| answer["rows"] == answers[0]["rows"]));
    let paid = answers
        .iter()
        .filter(|answer| answer["repeated"] == false)
        .count();
    assert_eq!((paid, running.charges()), (1, 1));
}

/// An account that waits for another's answer is not refused what only the other is refused.
#[test]
fn a_refusal_of_one_is_not_that_of_another_who_asks_the_same() {
    let running = with(scheduled(Duration::from_millis(500)));
    let mut tokens = Vec::new();
    for number in 0..4 {
        let mut new = NewAccount::new(format!("analyst{number}"), Role::Analyst);
        if number % 2 == 0 {
            new.caps = Caps {
                per_question: Some(accounting::Epsilon::parse("0.01").unwrap()),
                ..Caps::default()
            };
        }
        tokens.push(running.on(move |store| {
            accounts::add(store, "test", &new)?;
            let secret = accounts::add_token(store, "test", &new.name, "default", None)?;
            Ok(secret.reveal().to_owned())
        }));
    }
    let said: Vec<(u16, String)> = std::thread::scope(|scope| {
        let running = &running;
        let asked: Vec<_> = tokens
            .iter()
            .map(|token| scope.spawn(move || running.query(token, &numbered(0), &[])))
            .collect();
        asked.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    for (number, (status, said)) in said.iter().enumerate() {
        // A saved answer is free, so it has no limit; the first to ask has one.
        let allowed: &[u16] = if number % 2 == 0 { &[200, 402] } else { &[200] };
        assert!(allowed.contains(status), "{number}: {said}");
    }
    assert_eq!(running.charges(), 1);
}
