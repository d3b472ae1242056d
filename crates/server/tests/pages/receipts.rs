//! The signed receipt of an answer, on its page, as a file and over HTTP. It is checked with what
//! `deniable receipt verify` calls.

use crate::common::{self, Running};
use crate::curl::Browser;
use ledger::Receipt;
use server::accounts::Role;
use sql::{Answer, canonical_sql};

const SQL: &str = "SELECT region, COUNT(*) AS n FROM people GROUP BY region";

/// Checks a receipt: its signature, its query, the key beside the ledger, and its entry in a whole chain.
fn holds(running: &Running, receipt: &Receipt) {
    assert!(receipt.is_signed());
    assert_eq!(receipt.sql_sha256, ledger::sha256_of(&canonical_sql(SQL)));
    let held = receipt.clone();
    let (wrong, key) = running.on(move |store| {
        store.verify()?;
        Ok((store.check_receipt(&held)?, store.receipt_key()?))
    });
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(key.unwrap().to_string(), receipt.key);
}

#[test]
fn a_page_has_the_signed_receipt_of_its_answer() {
    let running = Running::start();
    let (ann, bob) = (
        running.account("ann", Role::Analyst),
        running.account("bob", Role::Analyst),
    );
    let browser = Browser::of_analysts(&running);
    browser.sign_in("ann", &ann);
    let number = browser.ask(SQL, "1");
    let path = format!("/answers/{number}/receipt.json");

    let file = browser.get(&path);
    assert_eq!(file.status, 200, "{}", file.body);
    assert_eq!(file.header("content-type"), Some("application/json"));
    assert_eq!(
        file.header("content-disposition"),
        Some(format!("attachment; filename=\"answer-{number}-receipt.json\"").as_str())
    );
    let receipt: Receipt = serde_json::from_str(&file.body).unwrap();
    holds(&running, &receipt);
    // A changed one does not.
    let mut changed = receipt.clone();
    changed.epsilon = Some(accounting::Epsilon::parse("0.5").unwrap());
    assert!(!changed.is_signed());

    // The page says what is signed, and by which key, in words that are all on the receipt.
    let page = browser.get(&format!("/answers/{number}")).body;
    for part in [
        "What is signed",
        &receipt.key,
        &receipt.signature,
        &receipt.entry.hash,
        &receipt.ledger,
        &receipt.release_sha256,
        &receipt.table_sha256,
        &receipt.sql_sha256,
        &format!("href=\"{path}\""),
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    // The table of the JSON file is the one that was signed, and carries the same receipt.
    let json = common::json(&browser.get(&format!("/answers/{number}/json")).body);
    assert_eq!(Answer::table_sha256_of(&json), Some(receipt.table_sha256.clone()));
    assert_eq!(json["receipt"], serde_json::to_value(&receipt).unwrap());

    // It is for the account whose answer it is. An account that was given the same answer on a page has it
    // too.
    let other = Browser::of_analysts(&running);
    other.sign_in("bob", &bob);
    assert_eq!(other.get(&path).status, 404);
    other.ask(SQL, "1");
    let same: Receipt = serde_json::from_str(&other.get(&path).body).unwrap();
    assert_eq!(same, receipt);
    assert_eq!(running.charges(), 1);
}

#[test]
fn programs_find_the_receipt_whatever_format_they_took() {
    let running = Running::start();
    let (ann, bob) = (
        running.account("ann", Role::Analyst),
        running.account("bob", Role::Analyst),
    );
    let body = serde_json::json!({ "sql": SQL, "epsilon": "1" }).to_string();
    // CSV has no place for it; a header says where it is.
    let csv = ["--header", "Accept: text/csv", "--include"];
    let (status, reply) = running.query(&ann, &body, &csv);
    assert_eq!(status, 200, "{reply}");
    let link = reply
        .lines()
        .find_map(|line| {
            line.trim()
                .strip_prefix("link: <")?
                .strip_suffix(">; rel=\"describedby\"")
        })
        .unwrap_or_else(|| panic!("{reply}"))
        .to_owned();
    let receipt = eventually(&running, &ann, &link);
    holds(&running, &receipt);
    assert_eq!(link, format!("/v1/answers/{}/receipt", receipt.entry.number));
    // In JSON it is part of the answer.
    let answer = format!("/v1/answers/{}", receipt.entry.number);
    let json = common::json(&running.curl(Some(&ann), &answer, &[]).1);
    assert_eq!(json["receipt"], serde_json::to_value(&receipt).unwrap());
    for kind in ["text/csv", "application/vnd.apache.arrow.stream"] {
        let accept = format!("Accept: {kind}");
        let dump = running.path().join("head");
        let (status, _) = running.curl(
            Some(&ann),
            &answer,
            &[
                "--header",
                &accept,
                "--dump-header",
                dump.to_str().unwrap(),
                "--output",
                "/dev/null",
            ],
        );
        assert_eq!(status, 200);
        let head = std::fs::read_to_string(dump).unwrap();
        assert!(head.contains(&format!("link: <{link}>")), "{kind}: {head}");
    }
    // Others have none of it, and no link to what they could not open.
    assert_eq!(running.curl(Some(&bob), &link, &[]).0, 404);
    let (_, reply) = running.query(&bob, &body, &csv);
    assert!(!reply.contains("link: "), "{reply}");
    assert_eq!(running.curl(Some(&ann), "/v1/answers/999/receipt", &[]).0, 404);
    assert_eq!(running.curl(None, &link, &[]).0, 401);
}

/// What was asked is kept for its number a moment after the answer has left.
fn eventually(running: &Running, token: &str, path: &str) -> Receipt {
    for _ in 0..100 {
        let (status, body) = running.curl(Some(token), path, &[]);
        if status == 200 {
            return serde_json::from_str(&body).unwrap();
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("there is no {path}");
}
