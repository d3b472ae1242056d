//! Curators' pages: where they are, and for whom.

use crate::common::Running;
use crate::curl::Browser;
use server::accounts::Role;

#[test]
fn curators_pages_are_on_their_address_and_for_their_roles() {
    let running = Running::start();
    let catalog = std::fs::read_to_string(running.path().join("deniable.toml")).unwrap();
    let in_force = catalog.clone();
    running
        .runtime
        .block_on(running.dataset.with_ledger(move |store| {
            server::governance::take_over(store, "test", &in_force).unwrap();
            Ok(())
        }))
        .unwrap();
    let tokens: Vec<(&str, String)> = [
        ("ann", Role::Analyst),
        ("carol", Role::Curator),
        ("dan", Role::Curator),
        ("audrey", Role::Auditor),
        ("oscar", Role::Operator),
    ]
    .into_iter()
    .map(|(name, role)| (name, running.account(name, role)))
    .collect();
    let port = running.addresses.curators.unwrap().port();
    let browsers: std::collections::BTreeMap<&str, Browser<'_>> = tokens
        .iter()
        .map(|(name, token)| {
            let browser = Browser::at(&running, port);
            assert_eq!(browser.sign_in(name, token).status, 303, "{name}");
            (*name, browser)
        })
        .collect();

    for (path, allowed) in [
        ("/", &["carol", "dan", "audrey", "oscar"][..]),
        ("/accounts", &["carol", "dan", "audrey"]),
        ("/requests", &["carol", "dan", "audrey"]),
        ("/log", &["carol", "dan", "audrey"]),
        ("/meaning", &["carol", "dan", "audrey"]),
        ("/card", &["carol", "dan", "audrey"]),
        ("/card/json", &["carol", "dan", "audrey"]),
        ("/card/html", &["carol", "dan", "audrey"]),
        ("/catalog", &["carol", "dan"]),
    ] {
        for (name, browser) in &browsers {
            let expected = if allowed.contains(name) { 200 } else { 403 };
            let page = browser.get(path);
            assert_eq!(page.status, expected, "{name} {path}");
            let whom = page.body.contains("<h1>This page is for curators");
            assert_eq!(whom, expected == 403, "{name} {path}: {}", page.body);
        }
        assert_eq!(Browser::at(&running, port).get(path).status, 303, "{path}");
    }
    // They are not on the analysts' address, and analysts' pages are not here.
    let there = Browser::of_analysts(&running);
    there.sign_in("carol", &tokens[1].1);
    for path in [
        "/accounts",
        "/requests",
        "/log",
        "/catalog",
        "/meaning",
        "/card",
        "/card/json",
    ] {
        assert_eq!(there.get(path).status, 404, "{path}");
    }
    assert_eq!(browsers["carol"].get("/history").status, 404);

    // An account that may only read changes nothing, and the account of another curator is kept on the
    // machine alone.
    let revoke = |name: &str, account: &str| {
        browsers[name]
            .post("/accounts/revoke", &[("account", account), ("token", "default")])
            .status
    };
    for name in ["ann", "audrey", "oscar"] {
        assert_eq!(revoke(name, "ann"), 403, "{name}");
        assert_eq!(
            browsers[name].post("/catalog/approve", &[("digest", "x")]).status,
            403
        );
    }
    assert_eq!(revoke("carol", "dan"), 403);
    assert_eq!(browsers["ann"].post("/verify", &[]).status, 403);
    for name in ["carol", "audrey"] {
        let verified = browsers[name].post("/verify", &[]);
        assert!(
            verified.status == 200 && verified.body.contains("Verified:"),
            "{}",
            verified.body
        );
    }
    assert_eq!(revoke("carol", "ann"), 303);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(browsers["ann"].get("/").status, 303);

    // A catalog is checked before anybody is asked, and one curator is not two.
    let carol = &browsers["carol"];
    let broken = carol.post("/catalog/check", &[("catalog", "name = ")]);
    assert!(
        broken.status == 422 && broken.body.contains("role=\"alert\""),
        "{}",
        broken.body
    );
    assert_eq!(
        carol.post("/catalog/propose", &[("catalog", "name = ")]).status,
        422
    );
    let raised = catalog.replace("epsilon = 1000", "epsilon = 2000");
    let checked = carol.post("/catalog/check", &[("catalog", &raised)]);
    assert!(
        checked.body.contains("budget.epsilon</code> changes"),
        "{}",
        checked.body
    );
    assert!(
        checked.body.contains("<ins>+ epsilon = 2000</ins>"),
        "{}",
        checked.body
    );
    assert_eq!(
        carol.post("/catalog/propose", &[("catalog", &raised)]).status,
        303
    );
    let page = browsers["dan"].get("/catalog").body;
    let digest = page
        .split("name=\"digest\" value=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    assert_eq!(carol.post("/catalog/approve", &[("digest", digest)]).status, 400);
    assert_eq!(
        browsers["dan"]
            .post("/catalog/approve", &[("digest", digest)])
            .status,
        303
    );
    assert!(carol.get("/catalog").body.contains("Approved by <bdi>dan</bdi>"));
    // Nothing of the data itself is on any of these pages.
    for path in [
        "/",
        "/accounts",
        "/requests",
        "/log",
        "/catalog",
        "/meaning",
        "/card",
    ] {
        let page = carol.get(path);
        assert!(!page.body.contains("people.csv") || path == "/catalog", "{path}");
        for inline in [" style=", "<style", "<script>"] {
            assert!(!page.body.contains(inline), "{path} has {inline}");
        }
    }
}
