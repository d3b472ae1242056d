//! Synthetic rows and models over HTTP: rows made once by curators and taken along by those who may ask, models
//! charged to whoever asks, and neither for anybody else.

mod common;

use common::{Running, json, people, quick};
use serde_json::Value;
use server::accounts::{NewAccount, Role};
use std::time::{Duration, Instant};

const ROWS: &str = r#"{"table": "people", "epsilon": "5", "delta": "1e-9", "columns": ["age", "region", "member"], "rows": 500}"#;

fn post(
    running: &Running,
    curator: bool,
    token: &str,
    path: &str,
    body: &str,
    more: &[&str],
) -> (u16, Value) {
    let arguments = [
        &["--header", "Content-Type: application/json", "--data", body],
        more,
    ]
    .concat();
    let (status, body) = match curator {
        true => running.curl_curator(Some(token), path, &arguments),
        false => running.curl(Some(token), path, &arguments),
    };
    (status, json(&body))
}

fn make(running: &Running, token: &str, body: &str, more: &[&str]) -> (u16, Value) {
    post(running, true, token, "/v1/synthetic", body, more)
}

#[test]
fn rows_are_explained_made_once_and_taken_along() {
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    let carol = running.account("carol", Role::Curator);
    let get = |path: &str| {
        let (status, body) = running.curl(Some(&ann), path, &[]);
        (status, json(&body))
    };

    // Before.
    assert_eq!(get("/v1/synthetic"), (200, json(r#"{"synthetic": []}"#)));
    let (status, explained) = post(&running, false, &ann, "/v1/synthetic/explain", ROWS, &[]);
    assert_eq!(status, 200, "{explained}");
    assert_eq!(explained["columns"].as_array().map(Vec::len), Some(3));
    assert!(
        explained["text"]
            .as_str()
            .is_some_and(|text| text.contains("cost: ε = 5"))
    );
    for path in ["", "/rows.csv", "/rows.parquet", "/receipt"] {
        let (status, problem) = get(&format!("/v1/synthetic/1{path}"));
        assert_eq!(status, 404, "{path}: {problem}");
    }
    // An analyst makes none, on neither address.
    assert_eq!(make(&running, &ann, ROWS, &[]).0, 403);
    // Nothing is said to what an address does not take.
    assert_eq!(
        running.curl(Some(&ann), "/v1/synthetic", &["--data", ROWS]).0,
        405
    );
    // What cannot be made is refused, and nothing is charged for it.
    for (body, expected) in [
        (r#"{"table": "people", "delta": "1e-9"}"#, 422),
        (r#"{"table": "people", "epsilon": "much"}"#, 400),
        (r#"{"table": "people", "epsilon": "1", "delta": "much"}"#, 400),
        (r#"{"table": "nobody", "epsilon": "1", "delta": "1e-9"}"#, 422),
        (r#"{"table": "regions", "epsilon": "1", "delta": "1e-9"}"#, 422),
        (r#"{"table": "people", "epsilon": "1"}"#, 422),
        (
            r#"{"table": "people", "epsilon": "1", "delta": "1e-9", "rows": 1000001}"#,
            422,
        ),
        (
            r#"{"table": "people", "epsilon": "1", "delta": "1e-9", "rows": 0}"#,
            422,
        ),
        // Five columns of them have more cells than are sent at once.
        (
            r#"{"table": "people", "epsilon": "1", "delta": "1e-9", "rows": 400000}"#,
            422,
        ),
        (
            r#"{"table": "people", "epsilon": "1", "delta": "1e-9", "model_cells": 5000000}"#,
            422,
        ),
        (r#"{"table": "people", "epsilon": "1", "analyst": "bob"}"#, 422),
        (r#"{"table": "people", "epsilon": "5000", "delta": "1e-9"}"#, 402),
    ] {
        let (status, problem) = make(&running, &carol, body, &[]);
        assert!(
            status == expected || (status == 400 && expected == 422),
            "{status} {body}: {problem}"
        );
        let hint = problem["hint"].as_str().unwrap_or_default();
        assert!(!hint.is_empty() && !hint.contains("--"), "{body}: {problem}");
    }
    assert_eq!(running.charges(), 0);

    // Made, again with its key and without, and another number of them: charged once.
    let key = ["--header", "Idempotency-Key: monthly"];
    let (status, made) = make(&running, &carol, ROWS, &key);
    assert_eq!(status, 200, "{made}");
    assert_eq!(
        (&made["repeated"], &made["rows"]),
        (&Value::Bool(false), &json("500"))
    );
    assert!(made["receipt"].is_object() && made["left"].is_string());
    let id = made["id"].as_u64().unwrap();
    let (status, again) = make(&running, &carol, ROWS, &[]);
    assert_eq!(
        (status, &again["repeated"], again["id"].as_u64()),
        (200, &Value::Bool(true), Some(id))
    );
    assert_eq!(make(&running, &carol, ROWS, &key).0, 200);
    assert_eq!(running.charges(), 1);

    // Read.
    let (_, listed) = get("/v1/synthetic");
    let listed = &listed["synthetic"][0];
    assert_eq!(
        (listed["id"].as_u64(), &listed["by"], &listed["rows"]),
        (Some(id), &json("\"carol\""), &json("500"))
    );
    assert_eq!(listed["asked"]["columns"], json(r#"["age", "region", "member"]"#));
    let (status, report) = get(&format!("/v1/synthetic/{id}"));
    assert_eq!(status, 200, "{report}");
    assert!(
        report["report"]["measured"]
            .as_array()
            .is_some_and(|tables| tables.len() >= 3)
    );
    assert!(
        report["left"].is_null(),
        "what others may spend is not told: {report}"
    );
    let estimated = report["report"]["estimated_rows"].as_f64().unwrap();
    assert!((estimated - 2000.0).abs() < 100.0, "{estimated}");
    let (status, receipt) = get(&format!("/v1/synthetic/{id}/receipt"));
    assert_eq!(status, 200, "{receipt}");
    let receipt: ledger::Receipt = serde_json::from_value(receipt).unwrap();
    assert!(receipt.is_signed() && receipt.entry.number == id);
    let csv_of = || {
        let path = format!("/v1/synthetic/{id}/rows.csv");
        let (status, sent) = running.curl(Some(&ann), &path, &["--include"]);
        let (head, csv) = sent
            .split_once("\r\n\r\n")
            .map(|(head, csv)| (head.to_lowercase(), csv.to_owned()))
            .unwrap();
        assert_eq!(status, 200, "{sent}");
        assert!(
            head.contains(&format!(
                "link: </v1/synthetic/{id}/receipt>; rel=\"describedby\""
            )),
            "{head}"
        );
        csv
    };
    let csv = csv_of();
    assert_eq!(csv.lines().next(), Some("age,region,member"));
    assert_eq!(csv.lines().count(), 501);
    let file = running.folder.path().join("rows.parquet");
    let path = format!("/v1/synthetic/{id}/rows.parquet");
    let saved = ["--output", file.to_str().unwrap()];
    assert_eq!(running.curl(Some(&ann), &path, &saved).0, 200);
    let batches = sql::batches_of_parquet(std::fs::File::open(&file).unwrap()).unwrap();
    assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 500);

    // Another number of them takes their place, and the first number gives the same rows again.
    let (status, more) = make(&running, &carol, &ROWS.replace("500", "700"), &[]);
    assert_eq!(
        (status, &more["repeated"], &more["rows"]),
        (200, &Value::Bool(true), &json("700"))
    );
    assert_eq!(csv_of().lines().count(), 701);
    assert_eq!(make(&running, &carol, ROWS, &[]).0, 200);
    assert_eq!(csv_of(), csv);
    assert_eq!(running.charges(), 1);
}

/// Who made rows asked with an account of their own: its limits hold, and a key is for one request.
#[test]
fn limits_of_an_account_and_keys_hold_for_rows() {
    let running = Running::start();
    let carol = NewAccount {
        caps: ledger::Caps {
            per_question: Some(accounting::Epsilon::parse("0.5").unwrap()),
            per_day: None,
        },
        ..NewAccount::new("carol", Role::Curator)
    };
    let token = running.on(move |store| {
        server::accounts::add(store, "test", &carol)?;
        let secret = server::accounts::add_token(store, "test", "carol", "default", None)?;
        Ok(secret.reveal().to_owned())
    });
    let (status, problem) = make(&running, &token, ROWS, &[]);
    assert_eq!(
        (status, problem["type"].as_str()),
        (422, Some("urn:deniable:refused")),
        "{problem}"
    );
    assert_eq!(running.charges(), 0);
    let dan = running.account("dan", Role::Curator);
    let small =
        r#"{"table": "people", "epsilon": "1", "delta": "1e-9", "method": "independent", "rows": 10}"#;
    let key = ["--header", "Idempotency-Key: one"];
    assert_eq!(make(&running, &dan, small, &key).0, 200);
    let (status, problem) = make(&running, &dan, &small.replace("\"1\"", "\"2\""), &key);
    assert_eq!(
        (status, problem["type"].as_str()),
        (422, Some("urn:deniable:idempotency-key-reused")),
        "{problem}"
    );
    assert_eq!(running.charges(), 1);
}

/// Rows are saved, and leave, at moments of the schedule, however long their rounds take.
#[test]
fn rows_leave_on_the_schedule() {
    let unit = Duration::from_secs(4);
    let settings = server::Settings {
        schedule: server::Schedule::every(unit),
        ..quick()
    };
    let running = Running::with(settings, &people(&[]), &common::catalog());
    let carol = running.account("carol", Role::Curator);
    let ann = running.account("ann", Role::Analyst);
    let since = Instant::now();
    assert_eq!(make(&running, &carol, ROWS, &[]).0, 200);
    assert!(since.elapsed() >= unit, "they left too early");
    let since = Instant::now();
    assert_eq!(make(&running, &ann, ROWS, &[]).0, 403);
    assert!(since.elapsed() >= unit, "a refusal left too early");
}

#[test]
fn models_are_charged_to_whoever_asks() {
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    let bob = running.account("bob", Role::Analyst);
    let model = r#"{"formula": "age ~ member + score", "epsilon": "20"}"#;
    let regress =
        |token: &str, body: &str, more: &[&str]| post(&running, false, token, "/v1/regress", body, more);

    let (status, explained) = post(&running, false, &ann, "/v1/regress/explain", model, &[]);
    assert_eq!(status, 200, "{explained}");
    assert!(
        explained["sql"]
            .as_str()
            .is_some_and(|sql| sql.starts_with("SELECT"))
    );
    for (body, expected) in [
        (r#"{"formula": "age ~ member"}"#, 422),
        (r#"{"formula": "age", "epsilon": "1"}"#, 422),
        (r#"{"formula": "age ~ nothing", "epsilon": "1"}"#, 422),
        (r#"{"formula": "age ~ member", "epsilon": "much"}"#, 400),
        (
            r#"{"formula": "age ~ member", "epsilon": "1", "release": "census"}"#,
            422,
        ),
        (
            r#"{"formula": "age ~ region", "epsilon": "1", "test": "means"}"#,
            422,
        ),
        (
            r#"{"formula": "age ~ member", "epsilon": "1", "groups": ["a", "b"]}"#,
            422,
        ),
        (r#"{"formula": "age ~ member", "epsilon": "5000"}"#, 402),
    ] {
        let (status, problem) = regress(&ann, body, &[]);
        assert_eq!(status, expected, "{body}: {problem}");
        let hint = problem["hint"].as_str().unwrap_or_default();
        assert!(!hint.is_empty() && !hint.contains("--"), "{body}: {problem}");
    }
    let long = format!(r#"{{"formula": "age ~ {}", "epsilon": "1"}}"#, "a".repeat(20_000));
    assert_eq!(regress(&ann, &long, &[]).0, 400);
    assert_eq!(running.charges(), 0);

    let key = ["--header", "Idempotency-Key: once"];
    let (status, fitted) = regress(&ann, model, &key);
    assert_eq!(status, 200, "{fitted}");
    let names: Vec<&str> = fitted["coefficients"]
        .as_array()
        .unwrap()
        .iter()
        .map(|coefficient| coefficient["name"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert_eq!(fitted["repeated"], Value::Bool(false));
    assert_eq!(fitted["sql"], explained["sql"]);
    assert!(
        fitted["text"]
            .as_str()
            .is_some_and(|text| text.contains("Pr(>|t|)"))
    );
    assert!(
        fitted["latex"]
            .as_str()
            .is_some_and(|latex| latex.contains("tabular"))
    );
    assert!(fitted["receipt"].is_object());
    // Again, by the key, by somebody else, and in another order: free.
    let turned = r#"{"formula": "age ~ score + member", "epsilon": "20"}"#;
    for (token, body, more) in [(&ann, model, &key[..]), (&bob, model, &[]), (&bob, turned, &[])] {
        let (status, again) = regress(token, body, more);
        assert_eq!((status, &again["repeated"]), (200, &Value::Bool(true)), "{again}");
        assert_eq!(again["cost"]["charge"], fitted["cost"]["charge"]);
    }
    assert_eq!(running.charges(), 1);
    // Its numbers are an answer of whoever paid.
    let charge = fitted["cost"]["charge"].as_u64().unwrap();
    let (status, body) = running.curl(Some(&ann), &format!("/v1/answers/{charge}"), &[]);
    assert_eq!(status, 200, "{body}");
    assert_eq!(
        running
            .curl(Some(&ann), &format!("/v1/answers/{charge}/receipt"), &[])
            .0,
        200
    );
    assert_eq!(
        running.curl(Some(&bob), &format!("/v1/answers/{charge}"), &[]).0,
        404
    );
    // A test.
    let test = r#"{"formula": "member ~ region", "epsilon": "5", "test": "independence"}"#;
    let (status, tested) = regress(&bob, test, &[]);
    assert_eq!(status, 200, "{tested}");
    assert!(tested["p"].as_f64().is_some_and(|p| (0.0..=1.0).contains(&p)));
}

/// A share is spent by models as by queries.
#[test]
fn a_model_does_not_fit_into_a_share_that_is_spent() {
    let running = Running::start();
    running.add_with_share("ann", Role::Analyst, Some("0.01"));
    let ann = running.on(|store| {
        let secret = server::accounts::add_token(store, "test", "ann", "default", None)?;
        Ok(secret.reveal().to_owned())
    });
    let body = r#"{"formula": "age ~ member", "epsilon": "20"}"#;
    let (status, problem) = post(&running, false, &ann, "/v1/regress", body, &[]);
    assert_eq!(status, 402, "{problem}");
    assert_eq!(running.charges(), 0);
}
