//! An incident, from the query that causes it to the curators' log.

use crate::common::{Running, catalog, people, quick};
use crate::curl::Browser;
use server::accounts::Role;
use std::time::{Duration, Instant};

const SECRET: &str = "Ada Lovelace";

#[test]
fn an_incident_is_in_the_log_without_a_word_of_the_data() {
    let text = catalog().replace("source = \"people.csv\"", "source = \"people.parquet\"");
    let running = Running::with(quick(), &people(&[]), &text);
    // What the engine would say about such a file may quote it.
    std::fs::write(
        running.path().join("people.parquet"),
        format!("{SECRET}, 36, not Parquet at all"),
    )
    .unwrap();
    let (ann, carol) = (
        running.account("ann", Role::Analyst),
        running.account("carol", Role::Curator),
    );

    let analyst = Browser::of_analysts(&running);
    analyst.sign_in("ann", &ann);
    let asked = analyst.post(
        "/ask",
        &[
            ("sql", "SELECT COUNT(*) AS n FROM people"),
            ("epsilon", "1"),
            ("key", "k"),
        ],
    );
    assert_eq!(asked.status, 500, "{}", asked.body);
    let number = asked
        .body
        .split("(incident ")
        .nth(1)
        .unwrap()
        .split(')')
        .next()
        .unwrap()
        .to_owned();
    assert!(
        number.len() == 16 && number.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{number}"
    );

    let curator = Browser::at(&running, running.addresses.curators.unwrap().port());
    curator.sign_in("carol", &carol);
    let since = Instant::now();
    let log = loop {
        let log = curator.get("/log?show=incident");
        assert_eq!(log.status, 200);
        if log.body.contains(&number) {
            break log.body;
        }
        assert!(since.elapsed() < Duration::from_secs(20), "{}", log.body);
        std::thread::sleep(Duration::from_millis(100));
    };
    // The account that met it and what was read; the number is the analyst's.
    let row = log.split("<tr").find(|row| row.contains(&number)).unwrap();
    for wanted in [
        ">incident<",
        "<bdi>ann</bdi>",
        "people",
        "what was charged stays charged",
    ] {
        assert!(row.contains(wanted), "{wanted}: {row}");
    }
    assert_eq!(log.matches(&number).count(), 1);
    let budget = curator.get("/").body;
    assert!(
        budget.contains("<a href=\"/log?show=incident\">1</a>"),
        "{budget}"
    );
    for shown in [&asked.body, &log, &curator.get("/log").body, &budget] {
        for secret in [SECRET, "Lovelace", "not Parquet"] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }
    // It is one kind of entry among others: refusals are elsewhere.
    assert!(!curator.get("/log?show=refused").body.contains(&number));
}
