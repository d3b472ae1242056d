//! Planned releases through every entrance: listed and planned for nothing, made once by curators, read by
//! those who may ask, and by nobody else.

mod common;

use common::{Running, catalog, json, people, quick, text};
use serde_json::Value;
use server::accounts::{NewAccount, Role};
use std::time::{Duration, Instant};

const RELEASE: &str = "
[releases.census]
table = \"people\"
up_to = 2
epsilon = 1
delta = 1e-9
[releases.census.attributes]
region = { hierarchy = \"regions\", levels = [\"label\", \"region\"] }
age = { bins = [0, 25, 50, 75, 101] }
member = {}
";

const TABLES: [&str; 10] = [
    "total",
    "label",
    "region",
    "age",
    "member",
    "label × age",
    "region × age",
    "label × member",
    "region × member",
    "age × member",
];

fn start() -> Running {
    Running::with(quick(), &people(&[]), &(catalog() + RELEASE))
}

fn make(running: &Running, token: &str, more: &[&str]) -> (u16, Value) {
    let arguments = [&["--request", "POST"], more].concat();
    let (status, body) = running.curl_curator(Some(token), "/v1/releases/census", &arguments);
    (status, json(&body))
}

/// The count of the first cell, with its interval.
fn first(table: &Value) -> (f64, f64, f64) {
    let cell = &table["rows"][0]["rows"];
    let number = |name: &str| cell[name].as_f64().unwrap_or_else(|| panic!("{name}: {table}"));
    (number("value"), number("low"), number("high"))
}

#[test]
fn a_release_is_planned_for_nothing_made_once_and_read_by_analysts() {
    let running = start();
    let ann = running.account("ann", Role::Analyst);
    let carol = running.account("carol", Role::Curator);
    let get = |path: &str| {
        let (status, body) = running.curl(Some(&ann), path, &[]);
        (status, json(&body))
    };

    // Before it is made.
    let (status, listed) = get("/v1/releases");
    assert_eq!(status, 200, "{listed}");
    let listed = &listed["releases"][0];
    assert_eq!(
        (&listed["name"], &listed["tables"], &listed["made_by_charge"]),
        (&json("\"census\""), &json("10"), &Value::Null),
        "{listed}"
    );
    assert_eq!(listed["attributes"][0]["levels"], json("[\"region\", \"label\"]"));
    let (status, plan) = get("/v1/releases/census/plan");
    assert_eq!(status, 200, "{plan}");
    let names: Vec<&str> = plan["tables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|table| table["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, TABLES);
    assert!(plan["tables"][0]["expected_error"].as_f64().unwrap() > 0.0);
    // For another price, and for an error.
    let worst = |plan: &Value| {
        let tables = plan["tables"].as_array().unwrap().iter();
        let errors = tables.map(|table| table["expected_error"].as_f64().unwrap());
        errors.fold(0.0, f64::max)
    };
    let (_, dearer) = get("/v1/releases/census/plan?epsilon=2");
    assert!(worst(&dearer) < worst(&plan), "{dearer}");
    let (_, found) = get("/v1/releases/census/plan?error=2%25&cell_size=500");
    assert!(
        worst(&found) <= 10.0 && found["found_epsilon"].is_string(),
        "{found}"
    );
    for (path, expected) in [
        ("/v1/releases/census/plan?epsilon=2&error=2%25", 400),
        ("/v1/releases/census/plan?epsilon=much", 400),
        ("/v1/releases/census/plan?error=0", 400),
        ("/v1/releases/census/plan?analyst=bob", 400),
        ("/v1/releases/nobody/plan", 404),
        ("/v1/releases/nobody", 404),
        ("/v1/releases/census", 404),
        ("/v1/releases/census/table", 404),
        ("/v1/releases/census/receipt", 404),
    ] {
        let (status, problem) = get(path);
        assert_eq!(status, expected, "{path}: {problem}");
        assert!(problem["hint"].as_str().is_some_and(|hint| !hint.is_empty()));
    }
    assert_eq!(running.charges(), 0);

    // An analyst makes none, on neither address.
    assert_eq!(make(&running, &ann, &[]).0, 403);
    let there = running.curl(Some(&ann), "/v1/releases/census", &["--request", "POST"]);
    assert_eq!(there.0, 405);
    assert_eq!(running.charges(), 0);

    // Made, again with its key, again without, and with the key for something else: charged once.
    let key = ["--header", "Idempotency-Key: monthly"];
    let (status, made) = make(&running, &carol, &key);
    assert_eq!(status, 200, "{made}");
    assert_eq!(
        (&made["repeated"], &made["resumed"]),
        (&Value::Bool(false), &Value::Bool(false))
    );
    assert_eq!(made["tables"].as_array().map(Vec::len), Some(10));
    assert!(made["receipt"].is_object() && made["left"]["epsilon"].is_string());
    for more in [&key[..], &[]] {
        let (status, again) = make(&running, &carol, more);
        assert_eq!((status, &again["repeated"]), (200, &Value::Bool(true)), "{again}");
        assert_eq!(again["charge"], made["charge"]);
    }
    assert_eq!(running.charges(), 1);
    let long = format!("Idempotency-Key: {}", "x".repeat(300));
    assert_eq!(make(&running, &carol, &["--header", &long]).0, 400);

    // Read.
    let (_, listed) = get("/v1/releases");
    assert_eq!(listed["releases"][0]["made_by_charge"], made["charge"]);
    assert_eq!(
        get("/v1/releases/census/plan").1["made_by_charge"],
        made["charge"]
    );
    assert_eq!(
        get("/v1/releases/census/plan?epsilon=2").1["made_by_charge"],
        Value::Null
    );
    let (status, everything) = get("/v1/releases/census");
    assert_eq!(status, 200, "{everything}");
    let tables = everything["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 10);
    let (total, low, high) = first(&tables[0]);
    assert!(low < total && total < high && (total - 2000.0).abs() < 100.0);
    for table in tables {
        let rows = table["rows"].as_array().unwrap().iter();
        let sum: f64 = rows.map(|row| row["rows"]["value"].as_f64().unwrap()).sum();
        assert!((sum - total).abs() < 1e-6, "{}: {sum}", table["name"]);
    }
    assert!(everything["measurements"].is_object() && everything["receipt"].is_object());
    let (status, table) = get("/v1/releases/census/table?by=age,label");
    assert_eq!(status, 200, "{table}");
    assert_eq!(table["columns"].as_array().map(Vec::len), Some(3));
    assert_eq!(table["cost"]["charge"], made["charge"]);
    assert_eq!(
        get("/v1/releases/census/table").1["rows"][0]["rows"]["value"],
        total
    );
    assert_eq!(get("/v1/releases/census/table?by=weight").0, 422);
    assert_eq!(get("/v1/releases/census/table?by=age,age").0, 422);
    assert_eq!(get("/v1/releases/census/table?by=age,region,member").0, 422);
    let csv = ["--header", "Accept: text/csv", "--include"];
    let (status, sent) = running.curl(Some(&ann), "/v1/releases/census/table?by=label", &csv);
    let (head, csv) = sent.split_once("\r\n\r\n").unwrap();
    assert_eq!(status, 200, "{sent}");
    assert!(
        head.to_lowercase()
            .contains("link: </v1/releases/census/receipt>; rel=\"describedby\""),
        "{head}"
    );
    let mut lines = csv.lines();
    let comment = lines.next().unwrap();
    assert!(
        comment.starts_with("# release census of people: ε = ") && comment.contains("each person"),
        "{comment}"
    );
    assert_eq!(lines.next(), Some("label,rows,rows_low,rows_high"));
    assert_eq!(lines.count(), 4, "{csv}");
    let (status, receipt) = get("/v1/releases/census/receipt");
    assert_eq!(status, 200, "{receipt}");
    let receipt: ledger::Receipt = serde_json::from_value(receipt).unwrap();
    assert!(receipt.is_signed() && Some(receipt.entry.number) == made["charge"].as_u64());

    // A question that it tells is answered from it, for nothing.
    let asked = r#"{"sql": "SELECT region, COUNT(*) AS n FROM people WHERE age < 50 GROUP BY region", "epsilon": "1"}"#;
    let (status, told) = running.query(&ann, asked, &[]);
    assert_eq!((status, &json(&told)["repeated"]), (200, &Value::Bool(true)));
    assert_eq!(running.charges(), 1);
}

/// Whoever may not ask sees nothing of a release, whether it was made or not, and nobody without an account.
#[test]
fn a_release_is_for_those_who_may_see_it() {
    let running = start();
    let tokens = Role::ALL.map(|role| (role, running.account(role.name(), role)));
    let curator = tokens.iter().find(|(role, _)| *role == Role::Curator);
    let curator = curator.map(|(_, token)| token.clone()).unwrap();
    for made in [false, true] {
        for (role, token) in &tokens {
            let asks = matches!(role, Role::Analyst | Role::Curator);
            let reads = matches!(role, Role::Curator | Role::Auditor);
            for path in ["/v1/releases", "/v1/releases/census/plan"] {
                let (status, body) = running.curl(Some(token), path, &[]);
                assert_eq!(status, if asks { 200 } else { 403 }, "{role:?} {path}: {body}");
                let (status, body) = running.curl_curator(Some(token), path, &[]);
                assert_eq!(status, if reads { 200 } else { 403 }, "{role:?} {path}: {body}");
            }
            for path in [
                "/v1/releases/census",
                "/v1/releases/census/table",
                "/v1/releases/census/receipt",
            ] {
                let (status, body) = running.curl(Some(token), path, &[]);
                let expected = match (asks, made) {
                    (true, true) => 200,
                    (true, false) => 404,
                    (false, _) => 403,
                };
                assert_eq!(status, expected, "{role:?} {path}: {body}");
            }
            if *role != Role::Curator {
                assert_eq!(make(&running, token, &[]).0, 403, "{role:?}");
            }
        }
        for path in ["", "/census", "/census/plan", "/census/table", "/census/receipt"] {
            let path = format!("/v1/releases{path}");
            let (status, body) = running.curl(None, &path, &[]);
            assert_eq!(status, 401, "{path}: {body}");
            assert!(!body.contains("census") && !body.contains("people"), "{body}");
        }
        assert_eq!(running.charges(), usize::from(made));
        if !made {
            assert_eq!(make(&running, &curator, &[]).0, 200);
        }
    }
}

/// Several curators at once, one of whom hangs up: one charge, one release.
#[test]
fn a_release_that_is_made_by_many_at_once_is_charged_once() {
    let running = start();
    let tokens = ["carol", "dan", "erin"].map(|name| running.account(name, Role::Curator));
    std::thread::scope(|scope| {
        let all: Vec<_> = tokens
            .iter()
            .map(|token| scope.spawn(|| make(&running, token, &[])))
            .collect();
        let hung_up = scope.spawn(|| {
            let impatient = ["--request", "POST", "--max-time", "0.05"];
            let port = running.addresses.curators.unwrap().port();
            std::process::Command::new("curl")
                .args(["--silent", "--cacert"])
                .arg(&running.certificate)
                .args(impatient)
                .args(["--header", &format!("Authorization: Bearer {}", tokens[0])])
                .arg(format!("https://localhost:{port}/v1/releases/census"))
                .status()
                .unwrap()
        });
        let made: Vec<(u16, Value)> = all.into_iter().map(|one| one.join().unwrap()).collect();
        hung_up.join().unwrap();
        assert!(made.iter().all(|(status, _)| *status == 200), "{made:?}");
        let first = made.iter().filter(|(_, made)| made["repeated"] == false);
        assert!(first.count() <= 1, "{made:?}");
    });
    assert_eq!(running.charges(), 1);
}

#[test]
fn limits_of_an_account_hold_for_releases() {
    let running = start();
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
    let (status, problem) = make(&running, &token, &[]);
    assert_eq!(
        (status, problem["type"].as_str()),
        (402, Some("urn:deniable:question-cap"))
    );
    assert_eq!(running.charges(), 0);
}

/// When a release is saved, and when it leaves, tells no more about the data than the schedule says.
#[test]
fn a_release_leaves_on_the_schedule() {
    let unit = Duration::from_secs(4);
    let settings = server::Settings {
        schedule: server::Schedule::every(unit),
        ..quick()
    };
    let running = Running::with(settings, &people(&[]), &(catalog() + RELEASE));
    let ann = running.account("ann", Role::Analyst);
    let carol = running.account("carol", Role::Curator);
    std::thread::scope(|scope| {
        let since = Instant::now();
        let asked = scope.spawn(|| make(&running, &carol, &[]));
        let mut made = false;
        while !made && !asked.is_finished() {
            let (_, listed) = running.curl(Some(&ann), "/v1/releases", &[]);
            made = json(&listed)["releases"][0]["made_by_charge"].is_u64();
        }
        assert!(since.elapsed() >= unit * 3 / 4, "it was saved too early");
        assert_eq!(asked.join().unwrap().0, 200);
        assert!(since.elapsed() >= unit, "it left too early");
    });
    let since = Instant::now();
    assert_eq!(make(&running, &ann, &[]).0, 403);
    assert!(since.elapsed() >= unit, "a refusal left too early");
}

/// A release of more numbers than are sent at once is read table by table.
#[test]
fn what_is_too_large_is_refused_before_it_is_put_together() {
    let many = "
[releases.wide]
table = \"people\"
marginals = [[\"age\", \"score\", \"joined\"], [\"age\"]]
epsilon = 1
delta = 1e-9
[releases.wide.attributes]
age = { width = 1 }
score = { width = 1 }
joined = { period = \"day\" }
";
    let running = Running::with(quick(), &people(&[]), &(catalog() + many));
    let ann = running.account("ann", Role::Analyst);
    let carol = running.account("carol", Role::Curator);
    let made = running.curl_curator(Some(&carol), "/v1/releases/wide", &["--request", "POST"]);
    assert_eq!(made.0, 200, "{}", made.1);
    let get = |path: &str| running.curl(Some(&ann), path, &[]);
    for path in ["/v1/releases/wide", "/v1/releases/wide/table?by=age,score,joined"] {
        let (status, problem) = get(path);
        assert_eq!(
            json(&problem)["type"],
            "urn:deniable:too-large",
            "{status} {problem}"
        );
    }
    assert_eq!(get("/v1/releases/wide/table?by=age,score").0, 200);
    let (_, coarse) = get("/v1/releases/wide/table?by=age");
    assert_eq!(json(&coarse)["rows"].as_array().map(Vec::len), Some(100));
}

/// In psql, released tables are tables of the schema `releases`, from the moment in which they are made.
#[test]
fn psql_reads_released_tables_for_nothing() {
    let running = start();
    let ann = running.account("ann", Role::Analyst);
    let carol = running.account("carol", Role::Curator);
    let conninfo = running.conninfo("ann", "");
    let said = |command: &str| {
        let output = running.psql(&conninfo, &ann, &["--csv", "--command", command]);
        assert!(output.status.success(), "{command}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    let refused = |command: &str| {
        let output = running.psql(&conninfo, &ann, &["--command", command]);
        assert!(!output.status.success(), "{command}");
        text(&output.stderr)
    };
    let total = "SELECT * FROM releases.census_total";
    assert!(!said("\\dt").contains("census"));
    assert!(refused(total).contains("does not exist"));
    assert_eq!(make(&running, &carol, &[]).0, 200);
    let listed = said("\\dt");
    for name in [
        "releases,census_total",
        "releases,census_region_age",
        "public,people",
    ] {
        assert!(listed.contains(name), "{name}: {listed}");
    }
    let described = said("\\d releases.census_label_age");
    assert!(described.contains("rows_low,double precision"), "{described}");
    let answer = said(total);
    let mut lines = answer.lines();
    assert_eq!(lines.next(), Some("rows,rows_low,rows_high"));
    let (_, sent) = running.curl(Some(&ann), "/v1/releases/census/table", &[]);
    let (value, low, high) = first(&json(&sent));
    assert_eq!(lines.next(), Some(format!("{value},{low},{high}").as_str()));
    let sum = said(
        "SELECT sum(rows) AS n FROM releases.census_region_age WHERE age = '25 to 49' AND region IS NOT NULL",
    );
    let sum: f64 = sum.lines().nth(1).unwrap().parse().unwrap();
    assert!((sum - 500.0).abs() < 100.0, "{sum}");
    let script = running.path().join("described.sql");
    std::fs::write(&script, format!("{total} \\gdesc\n")).unwrap();
    let output = running.psql(
        &conninfo,
        &ann,
        &["--csv", "--file", &script.display().to_string()],
    );
    let described = text(&output.stdout);
    assert!(described.contains("rows_high,double precision"), "{described}");
    let copied = said("COPY (SELECT * FROM releases.census_member) TO STDOUT WITH CSV HEADER");
    assert!(copied.starts_with("member,rows,rows_low,rows_high\n"), "{copied}");
    for sql in [
        "SELECT * FROM releases.census_total, people",
        "DELETE FROM releases.census_total",
        "INSERT INTO releases.census_total VALUES (1)",
    ] {
        refused(sql);
    }
    // Who may not ask gets no connection, and so nothing of it.
    for role in [Role::Auditor, Role::Operator] {
        let token = running.account(role.name(), role);
        let conninfo = running.conninfo(role.name(), "");
        let output = running.psql(&conninfo, &token, &["--command", total]);
        assert!(!output.status.success() && output.stdout.is_empty(), "{role:?}");
    }
    assert_eq!(running.charges(), 1);
}

/// What was made before the server started, by another program, is there when somebody comes.
#[test]
fn releases_of_other_programs_are_seen() {
    let running = start();
    let ann = running.account("ann", Role::Analyst);
    let wanted = sql::ReleaseRequest::new("census", "cli");
    let made = running.dataset.release_tables(&wanted, |_| ());
    running.runtime.block_on(made).unwrap();
    let conninfo = running.conninfo("ann", "");
    let output = running.psql(
        &conninfo,
        &ann,
        &["-At", "--command", "SELECT count(*) FROM releases.census_region"],
    );
    assert_eq!(text(&output.stdout).trim(), "4", "{}", text(&output.stderr));
    assert_eq!(running.curl(Some(&ann), "/v1/releases/census", &[]).0, 200);
}
