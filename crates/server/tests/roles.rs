//! Every route, for every role and without an account, allows what the table of rights says and nothing else.
//! Runs in this process, without a network.

mod common;

use Audience::{Analysts, Curators};
use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use common::Running;
use server::accounts::{Right, Role};
use server::http::{Audience, routes};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tower::ServiceExt as _;

/// What somebody needs for a route: one of these rights; if there are none, to be signed in.
enum Needs {
    Nothing,
    AnyOf(&'static [Right]),
}
use Needs::{AnyOf, Nothing};

const ASK: Needs = AnyOf(&[Right::Ask]);
const READ: Needs = AnyOf(&[Right::ReadLedger]);
const KEEP: Needs = AnyOf(&[Right::Keep]);

const QUESTION: &str = r#"{"sql": "SELECT COUNT(*) FROM people", "epsilon": "1"}"#;
const ROWS: &str = r#"{"table": "people", "epsilon": "1", "method": "independent"}"#;
const MODEL: &str = r#"{"formula": "age ~ member", "epsilon": "1"}"#;
const FORM: &str = "sql=SELECT+COUNT(*)+FROM+people&epsilon=1&key=k";

type Route = (Audience, &'static str, &'static str, &'static str, Needs);

/// The interfaces for programs: method, path, body.
const INTERFACES: &[Route] = &[
    (
        Analysts,
        "POST",
        "/v1/sign-in",
        r#"{"name": "x", "password": ""}"#,
        Nothing,
    ),
    (Analysts, "GET", "/v1/openapi.json", "", Nothing),
    (Analysts, "POST", "/v1/explain", QUESTION, ASK),
    (Analysts, "POST", "/v1/query", QUESTION, ASK),
    (Analysts, "GET", "/v1/answers/{charge}", "", ASK),
    (Analysts, "GET", "/v1/answers/{charge}/receipt", "", ASK),
    (Analysts, "GET", "/v1/tables", "", ASK),
    (Analysts, "GET", "/v1/budget", "", ASK),
    (Analysts, "GET", "/v1/budget/requests", "", ASK),
    (
        Analysts,
        "POST",
        "/v1/budget/requests",
        r#"{"epsilon": "1", "reason": "r"}"#,
        ASK,
    ),
    (Analysts, "DELETE", "/v1/budget/requests/{number}", "", ASK),
    (Analysts, "GET", "/v1/releases", "", ASK),
    (Analysts, "GET", "/v1/releases/{name}", "", ASK),
    (Analysts, "GET", "/v1/releases/{name}/plan", "", ASK),
    (Analysts, "GET", "/v1/releases/{name}/table", "", ASK),
    (Analysts, "GET", "/v1/releases/{name}/receipt", "", ASK),
    (Analysts, "GET", "/v1/synthetic", "", ASK),
    (Analysts, "POST", "/v1/synthetic/explain", ROWS, ASK),
    (Analysts, "GET", "/v1/synthetic/{id}", "", ASK),
    (Analysts, "GET", "/v1/synthetic/{id}/rows.csv", "", ASK),
    (Analysts, "GET", "/v1/synthetic/{id}/rows.parquet", "", ASK),
    (Analysts, "GET", "/v1/synthetic/{id}/receipt", "", ASK),
    (Analysts, "POST", "/v1/regress/explain", MODEL, ASK),
    (Analysts, "POST", "/v1/regress", MODEL, ASK),
    (Curators, "GET", "/healthz", "", Nothing),
    (Curators, "GET", "/v1/openapi.json", "", Nothing),
    (Curators, "GET", "/metrics", "", AnyOf(&[Right::ReadCounters])),
    (Curators, "GET", "/v1/accounts", "", READ),
    (
        Curators,
        "POST",
        "/v1/accounts",
        r#"{"name": "made", "role": "analyst"}"#,
        KEEP,
    ),
    (Curators, "DELETE", "/v1/accounts/{name}", "", KEEP),
    (Curators, "POST", "/v1/accounts/{name}/tokens", "{}", KEEP),
    (Curators, "DELETE", "/v1/accounts/{name}/tokens/{token}", "", KEEP),
    (Curators, "GET", "/v1/ledger/charges", "", READ),
    (Curators, "GET", "/v1/ledger/log", "", READ),
    (Curators, "GET", "/v1/ledger/verify", "", READ),
    (Curators, "GET", "/v1/proposals", "", READ),
    (Curators, "POST", "/v1/proposals", r#"{"catalog": ""}"#, KEEP),
    (Curators, "POST", "/v1/proposals/{digest}/approve", "", KEEP),
    (Curators, "GET", "/v1/budget/requests", "", READ),
    (Curators, "GET", "/v1/releases", "", READ),
    (Curators, "GET", "/v1/releases/{name}/plan", "", READ),
    (Curators, "POST", "/v1/releases/{name}", "", KEEP),
    (Curators, "GET", "/v1/synthetic", "", READ),
    (Curators, "POST", "/v1/synthetic/explain", ROWS, KEEP),
    (Curators, "POST", "/v1/synthetic", ROWS, KEEP),
    (Curators, "POST", "/v1/budget/requests/{number}/propose", "", KEEP),
    (Curators, "POST", "/v1/budget/requests/{number}/approve", "", KEEP),
    (Curators, "POST", "/v1/budget/requests/{number}/decline", "", KEEP),
];

/// Pages: method, path, form.
const PAGES: &[Route] = &[
    (Analysts, "GET", "/", "", ASK),
    (Analysts, "POST", "/price", FORM, ASK),
    (Analysts, "POST", "/try", FORM, ASK),
    (Analysts, "POST", "/ask", FORM, ASK),
    (Analysts, "GET", "/answers/{charge}", "", ASK),
    (Analysts, "GET", "/answers/{charge}/{format}", "", ASK),
    (Analysts, "GET", "/tables", "", ASK),
    (Analysts, "GET", "/releases", "", ASK),
    (Analysts, "GET", "/releases/{name}", "", ASK),
    (Analysts, "GET", "/releases/{name}/file/{format}", "", ASK),
    (Analysts, "GET", "/synthetic", "", ASK),
    (Analysts, "GET", "/synthetic/{id}", "", ASK),
    (Analysts, "GET", "/synthetic/{id}/file/{format}", "", ASK),
    (Analysts, "GET", "/models", "", ASK),
    (
        Analysts,
        "POST",
        "/models",
        "formula=age+~+member&epsilon=1&act=explain",
        ASK,
    ),
    (Analysts, "GET", "/history", "", ASK),
    (Analysts, "POST", "/budget/requests", "epsilon=1&reason=r", ASK),
    (Analysts, "POST", "/budget/requests/withdraw", "number=99", ASK),
    (
        Curators,
        "GET",
        "/",
        "",
        AnyOf(&[Right::ReadLedger, Right::ReadCounters]),
    ),
    (Curators, "POST", "/verify", "", READ),
    (Curators, "GET", "/accounts", "", READ),
    (
        Curators,
        "POST",
        "/accounts/revoke",
        "account=nobody&token=t",
        KEEP,
    ),
    (Curators, "GET", "/requests", "", READ),
    (
        Curators,
        "POST",
        "/requests/decide",
        "number=99&decision=approve",
        KEEP,
    ),
    (Curators, "GET", "/releases", "", READ),
    (Curators, "GET", "/releases/{name}", "", READ),
    (Curators, "POST", "/releases", "name=nobody", KEEP),
    (Curators, "GET", "/synthetic", "", READ),
    (
        Curators,
        "POST",
        "/synthetic",
        "table=nobody&epsilon=1&act=make",
        KEEP,
    ),
    (Curators, "GET", "/log", "", READ),
    (Curators, "GET", "/catalog", "", KEEP),
    (Curators, "POST", "/catalog/check", "catalog=x", KEEP),
    (Curators, "POST", "/catalog/propose", "catalog=x", KEEP),
    (Curators, "POST", "/catalog/approve", "digest=x", KEEP),
    (Curators, "GET", "/meaning", "", READ),
    (Curators, "GET", "/card", "", READ),
    (Curators, "GET", "/card/{format}", "", READ),
];

/// How somebody is known to a route.
enum Who<'a> {
    Nobody,
    Program(&'a str),
    Browser(&'a str),
}

/// Sends one request, and the status with where it leads.
async fn send(router: &Router, route: &Route, who: &Who<'_>) -> (StatusCode, String) {
    let (_, method, path, body, _) = route;
    let path = path
        .replace("{charge}", "999")
        .replace("{format}", "json")
        .replace("{name}", "nobody")
        .replace("{token}", "t")
        .replace("{digest}", "x")
        .replace("{number}", "99")
        .replace("{id}", "99");
    let request = Request::builder()
        .method(Method::from_bytes(method.as_bytes()).unwrap())
        .uri(path)
        .header(header::HOST, "localhost")
        .header(header::ORIGIN, "https://localhost");
    let kind = match body.starts_with('{') {
        true => "application/json",
        false => "application/x-www-form-urlencoded",
    };
    let request = request.header(header::CONTENT_TYPE, kind);
    let request = match who {
        Who::Nobody => request,
        Who::Program(token) => request.header(header::AUTHORIZATION, format!("Bearer {token}")),
        Who::Browser(cookie) => request.header(header::COOKIE, *cookie),
    };
    let request = request.body(Body::from(*body)).unwrap();
    let response = router.clone().oneshot(request).await.unwrap();
    let location = response.headers().get(header::LOCATION);
    let location = location.map_or("", |location| location.to_str().unwrap());
    (response.status(), location.to_owned())
}

/// The cookie that a browser gets for a token.
async fn sign_in(router: &Router, name: &str, token: &str) -> String {
    let request = Request::post("/sign-in")
        .header(header::HOST, "localhost")
        .header(header::ORIGIN, "https://localhost")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Body::from(format!("name={name}&secret={token}")))
        .unwrap();
    let response = router.clone().oneshot(request).await.unwrap();
    let cookie = response.headers()[header::SET_COOKIE].to_str().unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

#[test]
fn every_route_does_for_every_role_what_the_table_says() {
    let running = Running::start();
    let tokens = Role::ALL.map(|role| (role, running.account(role.name(), role)));
    running.runtime.block_on(async {
        for audience in [Analysts, Curators] {
            let router = routes(audience).0.with_state(Arc::clone(running.service()));
            let of = |routes: &'static [Route]| routes.iter().filter(move |route| route.0 == audience);
            for (role, token) in &tokens {
                let cookie = sign_in(&router, role.name(), token).await;
                let programs = of(INTERFACES).map(|route| (route, Who::Program(token)));
                let browsers = of(PAGES).map(|route| (route, Who::Browser(&cookie)));
                for (route, who) in programs.chain(browsers) {
                    let may = match &route.4 {
                        AnyOf(rights) => rights.iter().any(|right| role.may(*right)),
                        Nothing => continue,
                    };
                    let (status, led_to) = send(&router, route, &who).await;
                    let what = format!("{role:?} {audience:?} {} {}: {status}", route.1, route.2);
                    assert_ne!(status, StatusCode::UNAUTHORIZED, "{what}");
                    assert!(!led_to.starts_with("/sign-in"), "{what}");
                    assert!(!status.is_server_error(), "{what}");
                    assert_eq!(status != StatusCode::FORBIDDEN, may, "{what}");
                }
            }
            // Who is not signed in gets in nowhere, by any door.
            for route in of(INTERFACES).chain(of(PAGES)) {
                let (status, led_to) = send(&router, route, &Who::Nobody).await;
                let let_in = status != StatusCode::UNAUTHORIZED && !led_to.starts_with("/sign-in");
                let open = matches!(route.4, Nothing) && route.2 != "/v1/sign-in";
                assert_eq!(let_in, open, "{audience:?} {} {}: {status}", route.1, route.2);
            }
        }
    });
}

/// An answer is for the account that asked, and for those that may read any.
#[test]
fn answers_of_others_are_for_those_who_may_read_any() {
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    let (status, answer) = running.query(&ann, QUESTION, &[]);
    assert_eq!(status, 200, "{answer}");
    let charge = common::json(&answer)["cost"]["charge"].as_u64().unwrap();
    let path = format!("/v1/answers/{charge}");
    // What was asked is written down a moment later.
    let mut tries = 0;
    while running.curl(Some(&ann), &path, &[]).0 != 200 {
        tries += 1;
        assert!(tries < 100);
        std::thread::sleep(Duration::from_millis(100));
    }
    for role in Role::ALL {
        let other = running.account(role.name(), role);
        let expected = match (role.may(Right::ReadAnyAnswer), role.may(Right::Ask)) {
            (true, _) => 200,
            (false, true) => 404,
            (false, false) => 403,
        };
        for path in [&path, &format!("{path}/receipt")] {
            assert_eq!(
                running.curl(Some(&other), path, &[]).0,
                expected,
                "{role:?} {path}"
            );
        }
    }
}

/// No route is missing above: those of programs describe themselves, and those of pages are in their sources.
#[test]
fn every_route_is_walked() {
    let walked = |routes: &'static [Route]| -> BTreeSet<(String, String, String)> {
        routes
            .iter()
            .map(|(audience, method, path, ..)| {
                (format!("{audience:?}"), (*method).to_owned(), (*path).to_owned())
            })
            .collect()
    };
    let mut described = BTreeSet::new();
    for audience in [Analysts, Curators] {
        for (path, item) in &routes(audience).1.paths.paths {
            let item = serde_json::to_value(item).unwrap();
            for method in item.as_object().unwrap().keys() {
                described.insert((format!("{audience:?}"), method.to_uppercase(), path.clone()));
            }
        }
    }
    assert_eq!(walked(INTERFACES), described);

    let mut written = BTreeSet::new();
    for (audience, source) in [
        (Analysts, include_str!("../src/console/analyst/mod.rs")),
        (Curators, include_str!("../src/console/curator/mod.rs")),
    ] {
        for line in source.lines() {
            let Some(rest) = line.trim().strip_prefix(".route(\"") else {
                continue;
            };
            let (path, handlers) = rest.split_once('"').unwrap();
            for (word, method) in [("get(", "GET"), ("post(", "POST")] {
                if handlers.contains(word) {
                    written.insert((format!("{audience:?}"), method.to_owned(), path.to_owned()));
                }
            }
        }
    }
    assert_eq!(walked(PAGES), written);
}

/// The table in `docs/server.md` is the one in the code.
#[test]
fn the_table_in_the_documents_is_the_one_in_the_code() {
    let names: Vec<&str> = Role::ALL.iter().map(|role| role.name()).collect();
    let mut table = format!("| may | {} |\n|---|---|---|---|---|\n", names.join(" | "));
    for right in Right::ALL {
        let marks = Role::ALL.map(|role| if role.may(right) { "yes" } else { "–" });
        table += &format!("| {} | {} |\n", right.words(), marks.join(" | "));
    }
    let document = include_str!("../../../docs/server.md");
    assert!(
        document.contains(&table),
        "docs/server.md lacks this table:\n{table}"
    );
}
