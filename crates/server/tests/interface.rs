//! The HTTP entrance, with curl.

mod common;

use common::{PEOPLE, Running, json};
use ledger::Caps;
use server::Code;
use server::accounts::{self, NewAccount, Role};
use server::http::{Audience, routes};

const COUNT: &str = r#"{"sql": "SELECT COUNT(*) AS n FROM people", "epsilon": "1"}"#;

#[test]
fn a_question_is_answered_once_and_is_free_after_that() {
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    let bob = running.account("bob", Role::Analyst);

    let (status, explained) = running.curl(
        Some(&ann),
        "/v1/explain",
        &[
            "--header",
            "Content-Type: application/json",
            "--data-binary",
            COUNT,
        ],
    );
    assert_eq!(status, 200, "{explained}");
    let explained = json(&explained);
    assert_eq!(explained["forecast"]["free"], false);
    assert_eq!(explained["columns"][0]["kind"], "int");
    assert_eq!(running.charges(), 0);

    let (status, body) = running.query(&ann, COUNT, &[]);
    assert_eq!(status, 200, "{body}");
    let answer = json(&body);
    assert_eq!(answer["repeated"], false);
    let cell = &answer["rows"][0]["n"];
    let value = cell["value"].as_i64().unwrap();
    assert!((value - PEOPLE as i64).abs() < 200, "{body}");
    assert!(cell["low"].as_i64().unwrap() <= value && value <= cell["high"].as_i64().unwrap());
    assert_eq!(running.charges(), 1);

    // For everybody, in these words or in others.
    let (_, again) = running.query(&bob, COUNT, &[]);
    assert_eq!(json(&again)["rows"], answer["rows"]);
    assert_eq!(json(&again)["repeated"], true);
    let other_words = r#"{"sql": "select count(*) n from people -- again", "epsilon": 1}"#;
    let (_, again) = running.query(&bob, other_words, &[]);
    assert_eq!(json(&again)["rows"], answer["rows"]);
    assert_eq!(running.charges(), 1);

    // In other formats.
    let (status, csv) = running.query(&ann, COUNT, &["--header", "Accept: text/csv"]);
    assert_eq!((status, csv.lines().next()), (200, Some("n,n_low,n_high")));
    let file = running.path().join("answer.arrow");
    let name = file.display().to_string();
    let arrow = "Accept: application/vnd.apache.arrow.stream";
    let (status, _) = running.query(&ann, COUNT, &["--header", arrow, "--output", &name]);
    assert_eq!(status, 200);
    let bytes = std::fs::read(&file).unwrap();
    let mut batches = arrow_ipc::reader::StreamReader::try_new(std::io::Cursor::new(bytes), None).unwrap();
    let batch = batches.next().unwrap().unwrap();
    assert_eq!((batch.num_rows(), batch.num_columns()), (1, 3));
    assert_eq!(
        running.query(&ann, COUNT, &["--header", "Accept: image/png"]).0,
        400
    );

    // By the number of its charge: for the account that paid, and for curators.
    std::thread::sleep(std::time::Duration::from_millis(600));
    let number = answer["cost"]["charge"].as_u64().unwrap();
    let path = format!("/v1/answers/{number}");
    let (status, saved) = running.curl(Some(&ann), &path, &[]);
    assert_eq!(status, 200, "{saved}");
    assert_eq!(json(&saved)["rows"], answer["rows"]);
    // With the receipt that it had, which says what it was charged and is signed.
    assert_eq!(json(&saved)["receipt"], answer["receipt"]);
    let receipt: ledger::Receipt = serde_json::from_value(answer["receipt"].clone()).unwrap();
    assert!(receipt.is_signed() && receipt.entry.number == number);
    assert_eq!(
        sql::Answer::table_sha256_of(&json(&saved)),
        Some(receipt.table_sha256)
    );
    assert_eq!(running.curl(Some(&bob), &path, &[]).0, 404);
    assert_eq!(running.curl(Some(&ann), "/v1/answers/999", &[]).0, 404);
    assert_eq!(running.curl(Some(&ann), "/v1/answers/x", &[]).0, 400);
    let carol = running.account("carol", Role::Curator);
    assert_eq!(running.curl(Some(&carol), &path, &[]).0, 200);
}

#[test]
fn refusals_say_what_is_wrong_by_a_stable_name_and_charge_nothing() {
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    for (body, status, code) in [
        (r#"{"sql": "SELECT COUNT(*) FROM people"}"#, 422, Code::NoEpsilon),
        (
            r#"{"sql": "SELECT FROM WHERE", "epsilon": "1"}"#,
            400,
            Code::Syntax,
        ),
        (
            r#"{"sql": "SELECT * FROM people", "epsilon": "1"}"#,
            422,
            Code::Refused,
        ),
        (
            r#"{"sql": "SELECT COUNT(*) FROM nobody", "epsilon": "1"}"#,
            422,
            Code::Refused,
        ),
        (
            r#"{"sql": "DROP TABLE people", "epsilon": "1"}"#,
            422,
            Code::Refused,
        ),
        (
            r#"{"sql": "SELECT COUNT(*) FROM people", "epsilon": "1e9"}"#,
            402,
            Code::OverBudget,
        ),
        (
            r#"{"sql": "SELECT COUNT(*) FROM people", "epsilon": "-1"}"#,
            400,
            Code::BadRequest,
        ),
        (
            r#"{"sql": "SELECT COUNT(*) FROM people", "epsilon": "0"}"#,
            400,
            Code::BadRequest,
        ),
        (
            r#"{"sql": "SELECT COUNT(*) FROM people", "epsilon": -0.0}"#,
            400,
            Code::BadRequest,
        ),
        (
            r#"{"sql": "SELECT COUNT(*) FROM people", "epsilon": "1e-300"}"#,
            400,
            Code::BadRequest,
        ),
        (
            r#"{"sql": "SELECT age, COUNT(*) FROM people GROUP BY age", "epsilon": "1", "delta": "1e-300"}"#,
            400,
            Code::BadRequest,
        ),
        (
            r#"{"sql": "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1e300) COUNT(*) FROM people"}"#,
            400,
            Code::BadRequest,
        ),
        (
            r#"{"sql": "SELECT COUNT(*) FROM people", "epsilon": "NaN"}"#,
            400,
            Code::BadRequest,
        ),
        (
            r#"{"sql": "SELECT COUNT(*) FROM people", "epsilon": "1", "analyst": "bob"}"#,
            400,
            Code::BadRequest,
        ),
        (r#"{"sql": 1}"#, 400, Code::BadRequest),
        ("not json", 400, Code::BadRequest),
        ("", 400, Code::BadRequest),
    ] {
        let (answered, problem) = running.query(&ann, body, &[]);
        let problem = json(&problem);
        assert_eq!(
            problem["type"],
            format!("urn:deniable:{}", code.name()),
            "{body}: {problem}"
        );
        assert_eq!(
            (answered, problem["status"].as_u64()),
            (status, Some(u64::from(status))),
            "{problem}"
        );
        assert!(!problem["hint"].as_str().unwrap().is_empty(), "{problem}");
    }
    assert_eq!(running.charges(), 0);
    let long = format!(r#"{{"sql": "{}", "epsilon": "1"}}"#, "x".repeat(2 << 20));
    let file = running.path().join("long.json");
    std::fs::write(&file, long).unwrap();
    let long = format!("@{}", file.display());
    // Whether or not a client asks first and says how much there is, it comes to read why.
    let ways: [&[&str]; 3] = [
        &[],
        &["--header", "Expect:"],
        &["--header", "Expect:", "--header", "Transfer-Encoding: chunked"],
    ];
    for way in ways.into_iter().cycle().take(12) {
        let (status, problem) = running.query(&ann, &long, way);
        assert_eq!(status, 400, "{way:?}: {problem}");
        assert!(problem.contains("longer than 1 MiB"), "{way:?}: {problem}");
    }
    // What is announced to be far longer than that is not waited for.
    let endless = ["--header", "Content-Length: 99999999999"];
    assert_eq!(running.query(&ann, COUNT, &endless).0, 400);
    let (status, _) = running.curl(Some(&ann), "/v1/nothing", &[]);
    assert_eq!(status, 404);
    let (status, _) = running.curl(Some(&ann), "/v1/query", &[]);
    assert_eq!(status, 405);
}

#[test]
fn who_asks_is_who_the_token_belongs_to() {
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    let expired = running.on(|store| {
        let secret = accounts::add_token(store, "test", "ann", "old", Some(1))?;
        Ok(secret.reveal().to_owned())
    });
    let (status, body) = running.curl(
        Some(&ann),
        "/v1/budget?account=carol",
        &["--header", "X-User: carol"],
    );
    assert_eq!(status, 200, "{body}");
    assert_eq!(json(&body)["account"], "ann");

    // Whatever is wrong with a token, the answer is the same.
    let wrong = [
        None,
        Some("".to_owned()),
        Some("dnb_unknown".to_owned()),
        Some(expired),
        Some(format!("{ann}x")),
    ];
    let said: Vec<_> = wrong
        .iter()
        .map(|token| running.curl(token.as_deref(), "/v1/budget", &[]))
        .collect();
    assert_eq!(said[0].0, 401);
    assert!(said.iter().all(|other| *other == said[0]), "{said:?}");

    // A revoked one, a moment later.
    running.on(|store| accounts::revoke(store, "test", "ann", Some("default")));
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(running.curl(Some(&ann), "/v1/budget", &[]), said[0]);

    // People sign in with a password.
    running.on(|store| accounts::set_password(store, "test", "ann", "correct horse battery"));
    let sign_in = |name: &str, password: &str| {
        let body = format!(r#"{{"name": "{name}", "password": "{password}"}}"#);
        running.curl(
            None,
            "/v1/sign-in",
            &["--header", "Content-Type: application/json", "--data", &body],
        )
    };
    let (status, body) = sign_in("Ann", "correct horse battery");
    assert_eq!(status, 200, "{body}");
    let token = json(&body)["token"].as_str().unwrap().to_owned();
    assert_eq!(running.curl(Some(&token), "/v1/budget", &[]).0, 200);
    assert_eq!(sign_in("ann", "correct horse batterx"), said[0]);
    assert_eq!(sign_in("nobody", "correct horse battery"), said[0]);
}

/// The ledger is never cut, so who signs in and fails to all the time adds little to it.
#[test]
fn signing_in_often_adds_few_entries() {
    let mut running = Running::start();
    running.account("ann", Role::Analyst);
    running.on(|store| accounts::set_password(store, "test", "ann", "correct horse battery"));
    let entries = |running: &Running| running.on(|store| Ok(store.head()?)).number;
    let before = entries(&running);
    let attempts = [
        ("ann", 200),
        ("eve", 401),
        ("ann", 200),
        ("adam", 401),
        ("ann", 200),
        ("ann", 200),
    ];
    for (name, status) in attempts {
        let body = format!(r#"{{"name": "{name}", "password": "correct horse battery"}}"#);
        let arguments = ["--header", "Content-Type: application/json", "--data", &body];
        assert_eq!(running.curl(None, "/v1/sign-in", &arguments).0, status);
    }
    running.end();
    let logged = running.on(|store| Ok(store.logged()?));
    let times = |what: &str| {
        let of_kind = logged.iter().filter(|logged| logged.entry.what == what);
        of_kind.map(|logged| logged.entry.times).sum::<u64>()
    };
    assert_eq!((times("login"), times("login-failed")), (4, 2), "{logged:?}");
    // The first of each at once, the others together; and that the server started and ended. On a slow
    // machine a minute may have passed.
    assert!(entries(&running) - before < 9, "{logged:?}");
}

#[test]
fn roles_do_what_they_may_and_nothing_else() {
    let running = Running::start();
    let tokens = [Role::Analyst, Role::Curator, Role::Auditor, Role::Operator]
        .map(|role| (role, running.account(role.name(), role)));
    let post = ["--header", "Content-Type: application/json", "--data"];
    for (role, token) in &tokens {
        let asks = matches!(role, Role::Analyst | Role::Curator);
        let reads = matches!(role, Role::Curator | Role::Auditor);
        let expected = |allowed: bool| if allowed { 200 } else { 403 };
        let bearer = token.as_str();
        let token = Some(bearer);
        assert_eq!(running.query(bearer, COUNT, &[]).0, expected(asks), "{role:?}");
        assert_eq!(
            running.curl(token, "/v1/budget", &[]).0,
            expected(asks),
            "{role:?}"
        );
        for path in [
            "/v1/accounts",
            "/v1/ledger/charges",
            "/v1/ledger/log",
            "/v1/ledger/verify",
        ] {
            assert_eq!(
                running.curl_curator(token, path, &[]).0,
                expected(reads),
                "{role:?} {path}"
            );
        }
        let watches = matches!(role, Role::Curator | Role::Operator);
        assert_eq!(
            running.curl_curator(token, "/metrics", &[]).0,
            expected(watches),
            "{role:?}"
        );
        let new = format!(
            r#"{{"name": "made by {}", "role": "analyst", "share": "1/4"}}"#,
            role.name()
        );
        let arguments = [post[0], post[1], post[2], &new];
        let curates = *role == Role::Curator;
        assert_eq!(
            running.curl_curator(token, "/v1/accounts", &arguments).0,
            expected(curates),
            "{role:?}"
        );
        assert_eq!(
            running
                .curl_curator(token, "/v1/accounts/analyst", &["--request", "DELETE"])
                .0,
            expected(curates),
            "{role:?}"
        );
        // Analysts' routes are not on the curators' address, nor theirs on the analysts'.
        assert_eq!(running.curl_curator(token, "/v1/budget", &[]).0, 404);
        assert_eq!(running.curl(token, "/v1/accounts", &[]).0, 404);
    }
    let metrics = running.curl_curator(Some(&tokens[3].1), "/metrics", &[]).1;
    assert!(
        metrics.contains("deniable_questions_total{outcome=\"answered\"}"),
        "{metrics}"
    );
    for word in ["second", "duration", "bytes", "rows", "people", "analyst"] {
        assert!(!metrics.contains(word), "{word}: {metrics}");
    }
    let verified = running
        .curl_curator(Some(&tokens[2].1), "/v1/ledger/verify", &[])
        .1;
    assert!(json(&verified)["head"]["hash"].is_string(), "{verified}");
}

/// Lower bounds alone, which a busy machine does not break: without the wait before saving, or the one before
/// leaving, each comes too early.
#[test]
fn nothing_leaves_or_is_seen_before_its_moment() {
    let unit = std::time::Duration::from_secs(4);
    let settings = server::Settings {
        schedule: server::Schedule::every(unit),
        ..common::quick()
    };
    let running = Running::with(settings, &common::people(&[]), &common::catalog());
    let ann = running.account("ann", Role::Analyst);
    let explain = [
        "--header",
        "Content-Type: application/json",
        "--data-binary",
        COUNT,
    ];
    std::thread::scope(|scope| {
        let since = std::time::Instant::now();
        let asked = scope.spawn(|| running.query(&ann, COUNT, &[]));
        // A saved answer shows in the price for the next account that asks.
        let mut free = false;
        while !free && !asked.is_finished() {
            let (_, explained) = running.curl(Some(&ann), "/v1/explain", &explain);
            free = json(&explained)["forecast"]["free"] == true;
        }
        assert!(since.elapsed() >= unit * 3 / 4, "it was saved too early");
        assert_eq!(asked.join().unwrap().0, 200);
        assert!(since.elapsed() >= unit, "the answer left too early");
    });
    // A saved answer and a refusal wait as well.
    for (body, status) in [
        (COUNT, 200),
        (
            r#"{"sql": "SELECT SUM(age) FROM people", "epsilon": "5000"}"#,
            402,
        ),
    ] {
        let since = std::time::Instant::now();
        assert_eq!(running.query(&ann, body, &[]).0, status);
        assert!(since.elapsed() >= unit, "{body}");
    }
}

#[test]
fn one_curator_cannot_become_two() {
    let running = Running::start();
    let carol = running.account("carol", Role::Curator);
    running.account("dan", Role::Curator);
    let post = |path: &str, body: &str| {
        let arguments = ["--header", "Content-Type: application/json", "--data", body];
        running.curl_curator(Some(&carol), path, &arguments).0
    };
    assert_eq!(
        post("/v1/accounts", r#"{"name": "sock", "role": "curator"}"#),
        403
    );
    assert_eq!(post("/v1/accounts/dan/tokens", "{}"), 403);
    assert_eq!(post("/v1/accounts/DAN/tokens", "{}"), 403);
    let delete = ["--request", "DELETE"];
    assert_eq!(
        running.curl_curator(Some(&carol), "/v1/accounts/dan", &delete).0,
        403
    );
    assert_eq!(
        running
            .curl_curator(Some(&carol), "/v1/accounts/dan/tokens/default", &delete)
            .0,
        403
    );
    assert_eq!(post("/v1/accounts/carol/tokens", r#"{"name": "laptop"}"#), 200);
}

#[test]
fn what_is_done_with_released_values_has_a_limit() {
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    // Four groups to the tenth power: a million rows and more.
    let joined: Vec<String> = (0..10).map(|number| format!("a AS a{number}")).collect();
    let sql = format!(
        "WITH a AS (SELECT region, COUNT(*) AS n FROM people GROUP BY region) SELECT a0.n FROM {}",
        joined.join(", ")
    );
    let body = serde_json::json!({ "sql": sql, "epsilon": "1" }).to_string();
    let (status, answer) = running.query(&ann, &body, &[]);
    assert!(answer.len() < 100_000, "{status}: {} bytes", answer.len());
    // The server goes on.
    assert_eq!(running.query(&ann, COUNT, &[]).0, 200);
}

#[test]
fn a_request_under_one_key_is_charged_once() {
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    let key = ["--header", "Idempotency-Key: 7b0c"];
    let (_, first) = running.query(&ann, COUNT, &key);
    let (_, second) = running.query(&ann, COUNT, &key);
    assert_eq!(json(&first)["rows"], json(&second)["rows"]);
    let other = r#"{"sql": "SELECT SUM(age) FROM people", "epsilon": "1"}"#;
    let (status, problem) = running.query(&ann, other, &key);
    assert_eq!(
        (status, json(&problem)["type"].as_str()),
        (422, Some("urn:deniable:idempotency-key-reused"))
    );
    assert_eq!(running.charges(), 1);
}

#[test]
fn limits_of_an_account_hold() {
    let mut running = Running::start();
    let ann = running.on(|store| {
        let epsilon = |text| Some(accounting::Epsilon::parse(text).unwrap());
        let caps = Caps {
            per_question: epsilon("0.5"),
            per_day: epsilon("0.8"),
        };
        let new = NewAccount {
            caps,
            ..NewAccount::new("ann", Role::Analyst)
        };
        accounts::add(store, "test", &new)?;
        Ok(accounts::add_token(store, "test", "ann", "default", None)?
            .reveal()
            .to_owned())
    });
    let ask = |sql: &str, epsilon: &str| {
        let body = format!(r#"{{"sql": "{sql}", "epsilon": "{epsilon}"}}"#);
        let (status, body) = running.query(&ann, &body, &[]);
        (status, json(&body)["type"].as_str().map(str::to_owned))
    };
    assert_eq!(
        ask("SELECT COUNT(*) FROM people", "0.6"),
        (402, Some("urn:deniable:question-cap".to_owned()))
    );
    assert_eq!(ask("SELECT COUNT(*) FROM people", "0.5").0, 200);
    assert_eq!(
        ask("SELECT SUM(age) FROM people", "0.5"),
        (402, Some("urn:deniable:day-cap".to_owned()))
    );
    assert_eq!(ask("SELECT SUM(age) FROM people", "0.3").0, 200);
    assert_eq!(running.charges(), 2);
    // Refusals are in the ledger: the first at once, the others of a minute summed up, or when the server
    // ends. Two that come at once are one entry.
    running.end();
    let logged = running.on(|store| Ok(store.logged()?));
    let refused = logged
        .iter()
        .filter(|logged| logged.entry.what == "refused" && logged.entry.by == "ann");
    assert_eq!(
        refused.map(|logged| logged.entry.times).sum::<u64>(),
        2,
        "{logged:?}"
    );
}

#[test]
fn a_waiting_client_that_goes_away_loses_nothing() {
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    // It gives up at once; what it asked is finished.
    let (_, _) = {
        let mut command = std::process::Command::new("curl");
        command
            .args(["--silent", "--max-time", "0.02", "--cacert"])
            .arg(&running.certificate);
        command.args([
            "--header",
            "Content-Type: application/json",
            "--data",
            COUNT,
            "--header",
        ]);
        command.arg(format!("Authorization: Bearer {ann}"));
        command.arg(format!(
            "https://localhost:{}/v1/query",
            running.addresses.http.port()
        ));
        let output = command.output().unwrap();
        (output.status, output.stdout)
    };
    let (status, body) = running.query(&ann, COUNT, &[]);
    assert_eq!(status, 200, "{body}");
    assert!(running.charges() <= 1);
}

#[test]
fn ending_finishes_what_was_charged_and_writes_the_log() {
    let mut running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    assert_eq!(running.query(&ann, COUNT, &[]).0, 200);
    running.end();
    let logged = running.on(|store| Ok(store.logged()?));
    let whats: Vec<&str> = logged.iter().map(|logged| logged.entry.what.as_str()).collect();
    assert!(
        whats.contains(&"server-started") && whats.contains(&"server-ended"),
        "{whats:?}"
    );
    assert!(
        whats.contains(&"account-added") && whats.contains(&"token-made"),
        "{whats:?}"
    );
}

/// The documents in `docs/` are what the routes say of themselves: `DENIABLE_WRITE_DOCS=1` writes them.
#[test]
fn the_description_is_that_of_the_routes() {
    for (audience, name) in [
        (Audience::Analysts, "openapi.json"),
        (Audience::Curators, "openapi-curators.json"),
    ] {
        let described = serde_json::to_value(routes(audience).1).unwrap();
        let text = format!("{}\n", serde_json::to_string_pretty(&described).unwrap());
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../docs")
            .join(name);
        if std::env::var_os("DENIABLE_WRITE_DOCS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            written == text,
            "docs/{name} is not what the routes say: DENIABLE_WRITE_DOCS=1 writes it"
        );
    }
    // Each route that is described is there, and asks who one is.
    let running = Running::start();
    for (audience, description) in
        [Audience::Analysts, Audience::Curators].map(|audience| (audience, routes(audience).1))
    {
        for (path, item) in &description.paths.paths {
            let methods = serde_json::to_value(item).unwrap();
            for method in methods.as_object().unwrap().keys() {
                let path = path
                    .replace("{charge}", "1")
                    .replace("{name}", "x")
                    .replace("{token}", "y")
                    .replace("{digest}", "z");
                let method = method.to_uppercase();
                let arguments = ["--request", method.as_str()];
                let (status, body) = match audience {
                    Audience::Analysts => running.curl(None, &path, &arguments),
                    Audience::Curators => running.curl_curator(None, &path, &arguments),
                };
                let open = path == "/v1/openapi.json" || path == "/healthz";
                let signs_in = path == "/v1/sign-in";
                assert_eq!(
                    status,
                    if open {
                        200
                    } else if signs_in {
                        400
                    } else {
                        401
                    },
                    "{method} {path}: {body}"
                );
            }
        }
    }
}
