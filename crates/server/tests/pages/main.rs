//! The pages, with curl: what they contain, whom they are for, and what they refuse.

mod card;
#[path = "../common/mod.rs"]
mod common;
mod curators;
mod curl;
mod incidents;
mod proposals;
mod receipts;
mod releases;
mod requests;
mod synthetic;

use accounting::{Epsilon, Event, Guarantee, Neighbors, PrivacyUnit, Promise};
use common::{Running, catalog, people, quick};
use curl::{Browser, PASSWORD};
use mechanism::Charge;
use server::accounts::{self, NewAccount, Role};

const COUNT: &str = "SELECT COUNT(*) AS n FROM people";

fn with_password(running: &Running, name: &str, role: Role) {
    let new = NewAccount::new(name, role);
    running.on(move |store| {
        accounts::add(store, "test", &new)?;
        accounts::set_password(store, "test", &new.name, PASSWORD)
    });
}

#[test]
fn people_sign_in_and_out_and_nobody_else_is_let_in() {
    let running = Running::start();
    with_password(&running, "ann", Role::Analyst);
    let browser = Browser::of_analysts(&running);

    let sent_away = browser.get("/history?x=1");
    assert_eq!(sent_away.status, 303);
    assert_eq!(
        sent_away.header("location"),
        Some("/sign-in?next=/history%3Fx%3D1")
    );
    let form = browser.get("/sign-in?next=/history");
    assert_eq!(form.status, 200);
    // A visitor who did not sign in is not told what the data is.
    assert!(!form.body.contains("town"), "{}", form.body);
    let curators = Browser::at(&running, running.addresses.curators.unwrap().port());
    for body in [curators.get("/sign-in").body, curators.sign_in("x", "y").body] {
        assert!(
            body.contains("For those who keep the data") && !body.contains("town"),
            "{body}"
        );
    }
    assert!(
        form.body.contains(r#"name="next" value="/history""#),
        "{}",
        form.body
    );

    for (name, secret) in [
        ("ann", "wrong wrong wrong"),
        ("nobody", PASSWORD),
        ("", ""),
        ("a/b", "x"),
    ] {
        let refused = browser.sign_in(name, secret);
        assert_eq!(refused.status, 401, "{}", refused.body);
        assert!(
            refused.body.contains("Wrong name or password."),
            "{}",
            refused.body
        );
        assert!(refused.header("set-cookie").is_none());
    }
    let taken = browser.sign_in("ann", PASSWORD);
    assert_eq!((taken.status, taken.header("location")), (303, Some("/tables")));
    let cookie = taken.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-deniable=dnb_"), "{cookie}");
    for attribute in ["Path=/", "Secure", "HttpOnly", "SameSite=Strict", "Max-Age=28800"] {
        assert!(cookie.split("; ").any(|part| part == attribute), "{cookie}");
    }
    assert!(!cookie.contains("Domain"));
    assert_eq!(browser.get("/tables").status, 200);

    // The cookie is for pages: programs send a header.
    assert_eq!(browser.get("/v1/budget").status, 401);

    // Nobody is led elsewhere.
    let led = browser.post(
        "/sign-in",
        &[("name", "ann"), ("secret", PASSWORD), ("next", "//evil.example")],
    );
    assert_eq!(led.header("location"), Some("/"));

    // Signing out ends the session itself, and not only the cookie.
    let token = cookie.split(['=', ';']).nth(1).unwrap().to_owned();
    let led_token = led
        .header("set-cookie")
        .unwrap()
        .split(['=', ';'])
        .nth(1)
        .unwrap()
        .to_owned();
    let out = browser.post("/sign-out", &[]);
    assert_eq!(out.status, 303);
    assert!(out.header("set-cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(browser.get("/").status, 303);
    assert_eq!(running.curl(Some(&led_token), "/v1/budget", &[]).0, 401);
    // What a browser keeps is good for pages alone.
    assert_eq!(running.curl(Some(&token), "/v1/budget", &[]).0, 401);

    // A person with only a token signs in with it, under the name of its account.
    let bob = running.account("bob", Role::Analyst);
    let other = Browser::of_analysts(&running);
    assert_eq!(other.sign_in("ann", &bob).status, 401);
    assert_eq!(other.sign_in("bob", &bob).status, 303);
    assert_eq!(other.get("/").status, 200);
    // It stays good for his programs when he signs out here.
    assert_eq!(other.post("/sign-out", &[]).status, 303);
    assert_eq!(running.curl(Some(&bob), "/v1/budget", &[]).0, 200);
}

#[test]
fn every_page_says_what_a_browser_may_do_with_it() {
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    let browser = Browser::of_analysts(&running);
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; form-action 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'";
    let sign_in = browser.get("/sign-in");
    assert_eq!(sign_in.header("content-security-policy"), Some(policy));
    browser.sign_in("ann", &ann);
    let number = browser.ask(
        "SELECT age, COUNT(*) AS n FROM people WHERE age < 9 GROUP BY age",
        "1",
    );
    for path in [
        "/",
        "/tables",
        "/history",
        &format!("/answers/{number}"),
        "/answers/999",
    ] {
        let page = browser.get(path);
        assert_eq!(page.header("content-security-policy"), Some(policy), "{path}");
        assert_eq!(page.header("cache-control"), Some("no-store"));
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
        // Nothing that the policy would refuse.
        for inline in ["<style", " style=", "<script>", " onclick=", "javascript:"] {
            assert!(!page.body.contains(inline), "{path} has {inline}");
        }
    }
    // The interface for programs keeps its own.
    let problem = browser.get("/v1/tables");
    assert_eq!(
        problem.header("content-security-policy"),
        Some("default-src 'none'; frame-ancestors 'none'")
    );
    // The style and the script are kept by their hash, and there are no others.
    for (before, kind) in [
        ("href=\"/console/style-", "text/css"),
        ("src=\"/console/script-", "text/javascript"),
    ] {
        let at = sign_in.body.find(before).unwrap() + before.find('/').unwrap();
        let path = sign_in.body[at..].split('"').next().unwrap();
        let asset = browser.get(path);
        assert_eq!(asset.status, 200, "{path}");
        assert!(asset.header("content-type").unwrap().starts_with(kind));
        assert!(asset.header("cache-control").unwrap().contains("immutable"));
    }
    assert_eq!(browser.get("/console/other.js").status, 404);
}

#[test]
fn an_address_of_nothing_is_a_page_for_people_and_a_problem_for_programs() {
    let running = Running::start();
    let curators = running.addresses.curators.unwrap().port();
    for browser in [Browser::of_analysts(&running), Browser::at(&running, curators)] {
        let page = browser.send(
            "/nowhere",
            &["--header", "Accept: text/html,application/xhtml+xml"],
        );
        assert_eq!(page.status, 404);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(
            page.header("content-security-policy")
                .unwrap()
                .contains("style-src 'self'")
        );
        assert!(
            page.body.contains("There is no page at this address.")
                && page.body.contains("<a href=\"/\">Back"),
            "{}",
            page.body
        );
        let problem = browser.get("/nowhere");
        assert_eq!(problem.status, 404);
        assert_eq!(problem.header("content-type"), Some("application/problem+json"));
    }
}

#[test]
fn empty_pages_say_what_to_do_next() {
    let running = Running::start();
    let (ann, carol) = (
        running.account("ann", Role::Analyst),
        running.account("carol", Role::Curator),
    );
    let analyst = Browser::of_analysts(&running);
    analyst.sign_in("ann", &ann);
    let history = analyst.get("/history").body;
    assert!(
        history.contains("You have asked nothing yet.")
            && history.contains("<a href=\"/\">ask something</a>"),
        "{history}"
    );
    assert!(history.contains("more questions at ε = 1"), "{history}");
    let curator = Browser::at(&running, running.addresses.curators.unwrap().port());
    curator.sign_in("carol", &carol);
    let budget = curator.get("/").body;
    assert!(budget.contains("deniable user add NAME"), "{budget}");
    assert!(budget.contains("Spent</dt><dd>ε = 0"), "{budget}");
    let log = curator.get("/log?show=incident").body;
    assert!(log.contains("Nothing of this kind happened yet."), "{log}");
}

/// A charge without an answer, as a server leaves it that is killed after the charge.
#[test]
fn what_was_paid_for_and_not_answered_is_finished_from_the_history() {
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    let epsilon = Epsilon::parse("0.5").unwrap();
    let unit = PrivacyUnit::new("person", Neighbors::AddRemove);
    let charge = Charge {
        event: Event::Pure {
            epsilon: epsilon.clone(),
        },
        guarantee: Guarantee::new(Promise::Pure(epsilon), unit),
        purpose: COUNT.to_owned(),
    };
    running.on(move |store| {
        store.charge("ann", "digest", charge).unwrap();
        Ok(())
    });
    let browser = Browser::of_analysts(&running);
    browser.sign_in("ann", &ann);
    let history = browser.get("/history").body;
    let link = "<a href=\"/?sql=SELECT%20COUNT%28%2A%29%20AS%20n%20FROM%20people&amp;epsilon=0.5\"";
    assert!(
        history.contains(link) && history.contains("finish it, free"),
        "{history}"
    );
}

#[test]
fn forms_of_other_sites_are_refused() {
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    let browser = Browser::of_analysts(&running);
    browser.sign_in("ann", &ann);
    let fields = [("sql", COUNT), ("epsilon", "1"), ("key", "k")];
    let ours = format!("https://localhost:{}", running.addresses.http.port());
    let curators = format!("https://localhost:{}", running.addresses.curators.unwrap().port());
    for path in ["/ask", "/price", "/try", "/sign-in", "/sign-out"] {
        for (origin, more) in [
            ("https://evil.example", vec![]),
            ("null", vec![]),
            (curators.as_str(), vec![]),
            (ours.as_str(), vec!["--header", "Sec-Fetch-Site: cross-site"]),
            (ours.as_str(), vec!["--header", "Sec-Fetch-Site: same-site"]),
        ] {
            assert_eq!(
                browser.post_from(path, &fields, origin, &more).status,
                403,
                "{path} {origin} {more:?}"
            );
        }
        assert_eq!(browser.send(path, &["--data", "sql=x"]).status, 403, "{path}");
    }
    assert_eq!(running.charges(), 0);
    // She is still signed in.
    assert_eq!(browser.get("/").status, 200);
    let from_here = browser.post_from(
        "/price",
        &fields,
        &ours,
        &["--header", "Sec-Fetch-Site: same-origin"],
    );
    assert_eq!(from_here.status, 200);
}

#[test]
fn a_question_is_priced_tried_asked_once_and_found_again() {
    let running = Running::start();
    let (ann, bob) = (
        running.account("ann", Role::Analyst),
        running.account("bob", Role::Analyst),
    );
    let browser = Browser::of_analysts(&running);
    browser.sign_in("ann", &ann);

    // The price, as a part of a page and as a page.
    let sql = "SELECT region, COUNT(*) AS n FROM people GROUP BY region";
    let fields = [("sql", sql), ("epsilon", "0.5"), ("error", ""), ("key", "one")];
    let origin = format!("https://localhost:{}", running.addresses.http.port());
    let part = browser.post_from("/price", &fields, &origin, &["--header", "deniable-fragment: 1"]);
    assert_eq!(part.status, 200);
    assert!(
        !part.body.contains("<html") && part.body.contains("ε = 0.5"),
        "{}",
        part.body
    );
    assert!(part.body.contains("± "), "{}", part.body);
    // What it costs, what is left then, and how many more; the columns by the names that the question gives
    // them.
    for words in [
        "Cost</dt><dd>ε = 0.5</dd>",
        "Left after it</dt><dd>ε = ",
        "More like it</dt><dd>",
        "<th scope=\"row\"><bdi>n</bdi></th>",
    ] {
        assert!(part.body.contains(words), "{words}: {}", part.body);
    }
    let page = browser.post("/price", &fields);
    assert!(
        page.body.contains("<html") && page.body.contains("GROUP BY region"),
        "{}",
        page.body
    );
    // The other way round, and nobody pays what they have not seen.
    let wanted = [("sql", sql), ("epsilon", ""), ("error", "5"), ("key", "one")];
    let found = browser.post("/ask", &wanted);
    assert_eq!(found.status, 200);
    assert!(
        found.body.contains("Not asked yet.") && running.charges() == 0,
        "{}",
        found.body
    );
    // While it is written, a button says which of the two it would spend.
    let offered = browser.post(
        "/price",
        &[("sql", sql), ("epsilon", "0.5"), ("error", "5"), ("key", "one")],
    );
    let spends = offered
        .body
        .split("formaction=\"/ask\" name=\"use\" value=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .unwrap_or_else(|| panic!("{}", offered.body));
    assert!(
        offered.body.contains("The error that you want takes ε = ")
            && offered.body.contains(&format!("Ask for ε = {spends}</button>"))
            && spends != "0.5",
        "{}",
        offered.body
    );
    assert!(
        !found
            .body
            .contains(r#"id="epsilon" name="epsilon" inputmode="decimal" autocomplete="off" value="""#)
    );
    // On invented rows.
    let tried = browser.post("/try", &fields);
    assert_eq!(tried.status, 200, "{}", tried.body);
    assert!(
        tried.body.contains("Invented rows") && tried.body.contains("whisker"),
        "{}",
        tried.body
    );
    assert_eq!(running.charges(), 0);

    // Sent twice, charged once, and shown at its own address.
    let first = browser.post("/ask", &fields);
    let second = browser.post("/ask", &fields);
    assert_eq!((first.status, second.status), (303, 303), "{}", first.body);
    let location = first.header("location").unwrap().to_owned();
    assert_eq!(second.header("location"), Some(location.as_str()));
    assert_eq!(running.charges(), 1);
    let answer = browser.get(&location);
    assert_eq!(answer.status, 200, "{}", answer.body);
    for part in [
        "north",
        "south",
        "west",
        "whisker",
        "95 % interval",
        "Receipt",
        "number ",
        "from curl",
        "PGPASSWORD",
        "<h1 class=\"asked\"><bdi>SELECT region, COUNT(*) AS n FROM people GROUP BY region</bdi></h1>",
        "<title>SELECT region, COUNT(*) AS n FROM people",
        "What was limited",
        "Use it from psql, Python or curl",
        "data-label=\"n\"",
    ] {
        assert!(answer.body.contains(part), "{part}: {}", answer.body);
    }
    // Another question from the same page is another request.
    assert_eq!(
        browser
            .post("/ask", &[("sql", COUNT), ("epsilon", "0.5"), ("key", "one")])
            .status,
        303
    );
    assert_eq!(running.charges(), 2);

    // The files hold the same.
    let csv = browser.get(&format!("{location}/csv"));
    assert_eq!(
        (csv.status, csv.body.lines().next()),
        (200, Some("region,n,n_low,n_high"))
    );
    assert!(
        csv.header("content-disposition")
            .unwrap()
            .starts_with("attachment")
    );
    let json = browser.get(&format!("{location}/json"));
    assert_eq!(common::json(&json.body)["columns"][1]["name"], "n");
    let parquet = browser.get(&format!("{location}/parquet"));
    assert!(parquet.body.starts_with("PAR1"));
    assert_eq!(browser.get(&format!("{location}/exe")).status, 404);

    // Another analyst has another history, and asks the same for free.
    let other = Browser::of_analysts(&running);
    other.sign_in("bob", &bob);
    let refused = other.get(&location);
    assert_eq!(refused.status, 404);
    assert!(
        refused.body.contains("asking what was answered before is free"),
        "{}",
        refused.body
    );
    assert_eq!(other.get(&format!("{location}/csv")).status, 404);
    let link = format!(
        "/?sql={}&epsilon=0.5",
        sql.replace(' ', "%20").replace('*', "%2A")
    );
    assert!(other.get(&link).body.contains("Cost</dt><dd>nothing"));
    other.ask(sql, "0.5");
    assert_eq!(running.charges(), 2);
    let again = other.get(&location);
    assert_eq!(again.status, 200);
    assert!(other.get("/history").body.contains("free"));
    assert!(
        browser
            .get("/history")
            .body
            .contains(&format!("href=\"{location}\""))
    );

    // A query about the catalog is answered on the same page.
    let shown = browser.post("/ask", &[("sql", "SHOW TABLES"), ("key", "two")]);
    assert!(
        shown.status == 200 && shown.body.contains("regions"),
        "{}",
        shown.body
    );
}

#[test]
fn refusals_stand_at_the_words_that_caused_them() {
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    let browser = Browser::of_analysts(&running);
    browser.sign_in("ann", &ann);
    let price = |sql: &str, epsilon: &str| browser.post("/price", &[("sql", sql), ("epsilon", epsilon)]);
    for (sql, marked) in [
        ("SELECT COUNT(*) FROM nobody", "<mark>nobody</mark>"),
        ("SELECT COUNT(*) FORM people", "<mark>people</mark>"),
        ("SELECT AVG(ages) FROM people", "<mark>ages</mark>"),
    ] {
        let refused = price(sql, "1");
        assert!(refused.body.contains(marked), "{sql}: {}", refused.body);
        assert!(refused.body.contains("class=\"hint\""), "{}", refused.body);
    }
    // A question without an ε, and one with an ε that is no number.
    assert!(price(COUNT, "").body.contains("does not say what it may cost"));
    assert!(
        price(COUNT, "much")
            .body
            .contains("is no number that can be used")
    );
    assert_eq!(running.charges(), 0);
}

#[test]
fn a_share_that_is_spent_is_refused_with_what_fits() {
    let text = catalog().replace("epsilon = 1000", "epsilon = 4");
    let running = Running::with(quick(), &people(&[]), &text);
    running.add_with_share("ann", Role::Analyst, Some("1/4"));
    let ann = running.on(|store| {
        Ok(accounts::add_token(store, "test", "ann", "default", None)?
            .reveal()
            .to_owned())
    });
    let browser = Browser::of_analysts(&running);
    browser.sign_in("ann", &ann);
    assert!(browser.get("/").body.contains("your share is 0.25 of the budget"));
    browser.ask(COUNT, "0.75");
    let fields = [
        ("sql", "SELECT AVG(age) AS a FROM people"),
        ("epsilon", "0.75"),
        ("key", "k"),
    ];
    let priced = browser.post("/price", &fields);
    assert!(
        priced.body.contains("It does not fit what is left"),
        "{}",
        priced.body
    );
    let refused = browser.post("/ask", &fields);
    assert_eq!(refused.status, 402);
    assert!(
        refused.body.contains("role=\"alert\"")
            && refused.body.contains("Use it")
            && !refused.body.contains("--epsilon"),
        "{}",
        refused.body
    );
    assert_eq!(running.charges(), 1);
    // The curators see what was spent and what is left, of everybody and of each.
    let carol = running.account("carol", Role::Curator);
    running.add_with_share("bob", Role::Analyst, Some("1/2"));
    let curator = Browser::at(&running, running.addresses.curators.unwrap().port());
    curator.sign_in("carol", &carol);
    let budget = curator.get("/").body;
    assert!(budget.contains("Spent</dt><dd>ε = 0."), "{budget}");
    let row = |name: &str| {
        let row = budget
            .split("<tr")
            .find(|row| row.contains(&format!("<bdi>{name}</bdi></th>")));
        row.unwrap_or_else(|| panic!("{budget}")).to_owned()
    };
    let (ann, bob) = (row("ann"), row("bob"));
    assert!(ann.contains(">0.7500<") && ann.contains(">ε = 0.2"), "{ann}");
    assert!(ann.contains(">none<"), "{ann}");
    assert!(
        bob.contains(">0.5<") && bob.contains(">ε = 2") && bob.contains(">about "),
        "{bob}"
    );
}

#[test]
fn names_of_others_are_inert() {
    let hostile = "<img src=x onerror=alert(1)>";
    let text = catalog()
        .replace(
            r#""north", "south", "west""#,
            r#""<img src=x onerror=alert(1)>", "=HYPERLINK(\"x\")", "\u202Eright\"'>""#,
        )
        .replace("[tables.regions]", "[tables.\"<b>odd</b>\"]")
        .replace("[tables.regions.columns]", "[tables.\"<b>odd</b>\".columns]");
    let people = people(&[])
        .replace("north", "\"<img src=x onerror=alert(1)>\"")
        .replace("south", "\"=HYPERLINK(\"\"x\"\")\"");
    let running = Running::with(quick(), &people, &text);
    let name = "<script>alert('ann')</script>".replace('/', "");
    let ann = running.account(&name, Role::Analyst);
    let browser = Browser::of_analysts(&running);
    assert_eq!(browser.sign_in(&name, &ann).status, 303);
    let number = browser.ask(
        "SELECT region AS \"<svg onload=alert(1)>\", COUNT(*) AS \"=n\" FROM people GROUP BY region",
        "2",
    );
    let location = format!("/answers/{number}");
    for path in ["/", "/tables", "/history", location.as_str()] {
        let page = browser.get(path);
        assert_eq!(page.status, 200, "{path}: {}", page.body);
        for live in [hostile, "<script>alert", "<svg onload", "<b>odd"] {
            assert!(!page.body.contains(live), "{path} has {live}");
        }
    }
    let answer = browser.get(&location).body;
    assert!(
        answer.contains("<bdi>&lt;img src=x onerror=alert(1)&gt;</bdi>"),
        "{answer}"
    );
    assert!(answer.contains("<bdi>\u{202e}right&quot;'&gt;</bdi>"), "{answer}");
    let csv = browser.get(&format!("{location}/csv")).body;
    assert!(csv.contains("'=n") && csv.contains("'=HYPERLINK"), "{csv}");
    assert!(
        !csv.lines()
            .any(|line| line.starts_with('=') || line.contains(",=") || line.starts_with("\"=")),
        "{csv}"
    );
    // In a figure too.
    let line = browser.ask(
        "SELECT age AS \"<i>\", COUNT(*) AS \"</svg><script>\" FROM people WHERE age < 9 GROUP BY age",
        "2",
    );
    let page = browser.get(&format!("/answers/{line}")).body;
    assert!(
        page.contains("<svg xmlns") && !page.contains("<script>") && !page.contains("<i>"),
        "{page}"
    );
}

#[test]
fn who_may_not_ask_sees_nothing_to_ask() {
    let running = Running::start();
    let (auditor, operator) = (
        running.account("audrey", Role::Auditor),
        running.account("oscar", Role::Operator),
    );
    for (name, token) in [("audrey", auditor), ("oscar", operator)] {
        let browser = Browser::of_analysts(&running);
        assert_eq!(browser.sign_in(name, &token).status, 303);
        for path in ["/", "/tables", "/history"] {
            let refused = browser.get(path);
            assert_eq!(refused.status, 403, "{name} {path}");
            let whom = "<h1>This page is for analysts and curators.</h1>";
            assert!(refused.body.contains(whom), "{}", refused.body);
        }
        assert_eq!(
            browser.post("/ask", &[("sql", COUNT), ("epsilon", "1")]).status,
            403
        );
    }
    assert_eq!(running.charges(), 0);
}
