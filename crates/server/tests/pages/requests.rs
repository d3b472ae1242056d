//! Requests for more budget, on pages and over HTTP: nothing moves without two other curators.

use crate::common::{self, Running, catalog, people, quick};
use crate::curl::Browser;
use server::accounts::{self, Role};

/// Accounts and their tokens; ann and carol have a share of a quarter of ε = 4.
fn started() -> (Running, Vec<String>) {
    let text = catalog().replace("epsilon = 1000", "epsilon = 4");
    let running = Running::with(quick(), &people(&[]), &text);
    let tokens = [
        ("ann", Role::Analyst, Some("1/4")),
        ("carol", Role::Curator, Some("1/4")),
        ("dan", Role::Curator, None),
        ("erin", Role::Curator, None),
    ]
    .into_iter()
    .map(|(name, role, share)| {
        running.add_with_share(name, role, share);
        running.on(move |store| {
            let secret = accounts::add_token(store, "test", name, "default", None)?;
            Ok(secret.reveal().to_owned())
        })
    })
    .collect();
    (running, tokens)
}

fn share(running: &Running, name: &'static str) -> Option<String> {
    running.on(move |store| Ok(accounts::find(store, name)?.unwrap().share))
}

#[test]
fn a_page_files_a_request_and_two_curators_grant_it() {
    let (running, tokens) = started();
    let port = running.addresses.curators.unwrap().port();
    let ann = Browser::of_analysts(&running);
    ann.sign_in("ann", &tokens[0]);
    let decide = |name: &str, number: &str, decision: &str| {
        let place = ["ann", "carol", "dan", "erin"]
            .iter()
            .position(|known| *known == name);
        let browser = Browser::at(&running, port);
        browser.sign_in(name, &tokens[place.unwrap()]);
        browser
            .post("/requests/decide", &[("number", number), ("decision", decision)])
            .status
    };

    // If a question does not fit, the page says where to ask; what cannot be taken stays in the form.
    let refused = ann.post(
        "/ask",
        &[
            ("sql", "SELECT COUNT(*) FROM people"),
            ("epsilon", "2"),
            ("key", "k"),
        ],
    );
    assert!(
        refused.body.contains("href=\"/history#more\""),
        "{}",
        refused.body
    );
    for (epsilon, reason) in [("much", "why"), ("0", "why"), ("1", " "), ("1", &"x".repeat(501))] {
        let refused = ann.post("/budget/requests", &[("epsilon", epsilon), ("reason", reason)]);
        assert_eq!(refused.status, 400, "{epsilon} {reason}");
        assert!(
            refused.body.contains("role=\"alert\"") && refused.body.contains(&format!("value=\"{epsilon}\"")),
            "{}",
            refused.body
        );
    }
    let reason = "<b>more</b> \"of it\"";
    assert_eq!(
        ann.post("/budget/requests", &[("epsilon", "0.5"), ("reason", reason)])
            .status,
        303
    );
    let page = ann.get("/history").body;
    assert!(
        page.contains("waits for a curator") && page.contains("&lt;b&gt;more&lt;/b&gt;"),
        "{page}"
    );

    // Analysts decide nothing, one curator is not two, and nothing has moved.
    assert_eq!(decide("ann", "1", "propose"), 403);
    assert_eq!(decide("carol", "1", "approve"), 400);
    assert_eq!(decide("carol", "1", "propose"), 303);
    assert_eq!(decide("carol", "1", "approve"), 400);
    assert_eq!(share(&running, "ann").as_deref(), Some("0.25"));
    assert!(ann.get("/history").body.contains("a second has to"));
    assert_eq!(decide("dan", "1", "grant"), 400);
    assert_eq!(decide("dan", "1", "approve"), 303);
    assert_eq!(share(&running, "ann").as_deref(), Some("0.375"));
    assert_eq!(decide("erin", "1", "approve"), 400);
    assert_eq!(share(&running, "ann").as_deref(), Some("0.375"));
    assert!(ann.get("/history").body.contains("your share is now 0.375"));

    // A curator's own request is for two others.
    let carol = Browser::of_analysts(&running);
    carol.sign_in("carol", &tokens[1]);
    carol.post("/budget/requests", &[("epsilon", "1"), ("reason", "mine")]);
    assert_eq!(decide("carol", "2", "propose"), 400);
    assert_eq!(decide("dan", "2", "propose"), 303);
    assert_eq!(decide("carol", "2", "approve"), 400);
    assert_eq!(decide("dan", "2", "approve"), 400);
    assert_eq!(share(&running, "carol").as_deref(), Some("0.25"));
    assert_eq!(decide("erin", "2", "approve"), 303);
    assert_eq!(share(&running, "carol").as_deref(), Some("0.5"));

    // Withdrawn by the analyst who made it, and by no other.
    ann.post("/budget/requests", &[("epsilon", "1"), ("reason", "perhaps")]);
    carol.post("/budget/requests", &[("epsilon", "1"), ("reason", "another")]);
    let withdraw = |number: &str| {
        ann.post("/budget/requests/withdraw", &[("number", number)])
            .status
    };
    assert_eq!((withdraw("4"), withdraw("9"), withdraw("3")), (400, 400, 303));
    assert!(ann.get("/history").body.contains("withdrawn"));
    assert!(!ann.get("/history").body.contains("another"));
    running.on(|store| Ok(store.verify()?));
}

#[test]
fn programs_file_and_decide_requests() {
    let (running, tokens) = started();
    let send = |body: &str| {
        let arguments = [
            "--header",
            "Content-Type: application/json",
            "--data-binary",
            body,
        ];
        running.curl(Some(&tokens[0]), "/v1/budget/requests", &arguments)
    };
    assert_eq!(send("{}").0, 400);
    assert_eq!(send(r#"{ "epsilon": "x", "reason": "y" }"#).0, 400);
    let (status, made) = send(r#"{ "epsilon": "0.5", "reason": "the spring report" }"#);
    assert_eq!(status, 200, "{made}");
    let made = common::json(&made);
    assert_eq!(
        (&made["number"], &made["state"]["is"]),
        (&1.into(), &"open".into())
    );
    for _ in 0..2 {
        assert_eq!(send(r#"{ "epsilon": "0.5", "reason": "again" }"#).0, 200);
    }
    assert_eq!(send(r#"{ "epsilon": "0.5", "reason": "a fourth" }"#).0, 400);

    let decide = |who: usize, path: &str| {
        let path = format!("/v1/budget/requests/{path}");
        running.curl_curator(Some(&tokens[who]), &path, &["--request", "POST"])
    };
    assert_eq!(decide(0, "1/propose").0, 403);
    assert_eq!(decide(1, "9/propose").0, 400);
    let (status, proposed) = decide(1, "1/propose");
    assert_eq!(status, 200, "{proposed}");
    assert_eq!(common::json(&proposed)["state"]["change"]["to"], "0.375");
    assert_eq!(decide(1, "1/approve").0, 400);
    assert_eq!(share(&running, "ann").as_deref(), Some("0.25"));
    assert_eq!(common::json(&decide(2, "1/approve").1)["state"]["is"], "granted");
    assert_eq!(share(&running, "ann").as_deref(), Some("0.375"));
    assert_eq!(common::json(&decide(2, "2/decline").1)["state"]["is"], "closed");
    let delete = ["--request", "DELETE"];
    assert_eq!(
        running.curl(Some(&tokens[0]), "/v1/budget/requests/3", &delete).0,
        200
    );

    // One's own for analysts, everybody's for curators.
    let of = |body: String| common::json(&body)["requests"].as_array().unwrap().len();
    assert_eq!(
        of(running.curl(Some(&tokens[0]), "/v1/budget/requests", &[]).1),
        3
    );
    assert_eq!(
        of(running.curl(Some(&tokens[1]), "/v1/budget/requests", &[]).1),
        0
    );
    assert_eq!(
        of(running
            .curl_curator(Some(&tokens[1]), "/v1/budget/requests", &[])
            .1),
        3
    );
    assert_eq!(
        running
            .curl_curator(Some(&tokens[0]), "/v1/budget/requests", &[])
            .0,
        403
    );
    let auditor = running.account("audrey", Role::Auditor);
    assert_eq!(
        of(running.curl_curator(Some(&auditor), "/v1/budget/requests", &[]).1),
        3
    );
    assert_eq!(running.curl(Some(&auditor), "/v1/budget/requests", &[]).0, 403);
}

/// One curator makes accounts, and gives none of them a share alone.
#[test]
fn a_share_takes_two_curators_on_pages_and_over_http() {
    let (running, tokens) = started();
    let port = running.addresses.curators.unwrap().port();
    let post = |who: usize, path: &str, body: &str| {
        let json = ["--header", "Content-Type: application/json", "--data", body];
        running.curl_curator(Some(&tokens[who]), path, &json)
    };
    for share in ["2", "-1", "much"] {
        let body = format!(r#"{{"name": "eve", "role": "analyst", "share": "{share}"}}"#);
        assert_eq!(post(1, "/v1/accounts", &body).0, 400, "{share}");
    }
    let (status, made) = post(
        1,
        "/v1/accounts",
        r#"{"name": "eve", "role": "analyst", "share": "1"}"#,
    );
    assert_eq!(status, 200, "{made}");
    let made = common::json(&made);
    assert_eq!((&made["share"], &made["share_request"]), (&().into(), &1.into()));
    let (_, token) = post(1, "/v1/accounts/eve/tokens", "{}");
    let eve = common::json(&token)["token"].as_str().unwrap().to_owned();
    let count = r#"{"sql": "SELECT COUNT(*) FROM people", "epsilon": "1"}"#;
    assert_eq!(running.query(&eve, count, &[]).0, 403);

    // The curator who made it does not approve it, nor does the account that gets it. Another curator can.
    assert_eq!(post(1, "/v1/budget/requests/1/approve", "").0, 400);
    assert_eq!(post(0, "/v1/budget/requests/1/approve", "").0, 403);
    assert_eq!(running.query(&eve, count, &[]).0, 403);
    let dan = Browser::at(&running, port);
    dan.sign_in("dan", &tokens[2]);
    let page = dan.get("/requests").body;
    assert!(
        page.contains("a share for <bdi>eve</bdi>") && page.contains("the share of ε = 4 becomes"),
        "{page}"
    );
    let decided = dan.post("/requests/decide", &[("number", "1"), ("decision", "approve")]);
    assert_eq!(decided.status, 303, "{}", decided.body);
    assert_eq!(share(&running, "eve").as_deref(), Some("1"));
    assert_eq!(running.query(&eve, count, &[]).0, 200);
    assert!(dan.get("/requests").body.contains("approved by <bdi>dan</bdi>"));
}
