//! The pages in a real browser: what people of both roles do, by keyboard and by mouse, with no error in its
//! log.

mod card;
#[path = "../common/mod.rs"]
mod common;
mod contrast;
mod driver;
mod editor;
mod flows;
mod hostile;
mod keyboard;
mod without_script;

use common::{Running, catalog, people, quick};
use driver::{Browser, CONTROL, Driver, ENTER, RIGHT, TAB};
use server::accounts::{self, Role};
use server::governance;

const PASSWORD: &str = "correct horse battery";
const BY_REGION: &str =
    "SELECT region, COUNT(*) AS people, AVG(age) AS age FROM people GROUP BY region ORDER BY people DESC";

fn with_password(running: &Running, name: &str, role: Role, share: Option<&str>) {
    running.add_with_share(name, role, share);
    let name = name.to_owned();
    running.on(move |store| accounts::set_password(store, "test", &name, PASSWORD));
}

fn analysts(running: &Running) -> String {
    format!("https://localhost:{}", running.addresses.http.port())
}

fn curators(running: &Running) -> String {
    format!("https://localhost:{}", running.addresses.curators.unwrap().port())
}

/// By keyboard alone: the name has the focus when the page opens.
fn sign_in(browser: &Browser<'_>, name: &str) {
    browser.see("Sign in");
    browser.keys(name);
    browser.keys(TAB);
    browser.keys(PASSWORD);
    browser.keys(ENTER);
    browser.see("Sign out");
}

/// Writes a question where the focus is, in place of what is there.
fn write(browser: &Browser<'_>, text: &str) {
    browser.chord(CONTROL, "a");
    browser.keys(text);
}

fn town(epsilon: &str) -> Running {
    let text = catalog().replace("epsilon = 1000", &format!("epsilon = {epsilon}"));
    Running::with(quick(), &people(&[]), &text)
}

#[test]
fn an_analyst_explores_prices_asks_and_runs_out() {
    let running = town("4");
    with_password(&running, "ann", Role::Analyst, Some("1/2"));
    with_password(&running, "bob", Role::Analyst, Some("1/2"));
    let driver = Driver::start();
    let browser = driver.browser();
    browser.open(&analysts(&running));
    browser.picture("sign-in");
    sign_in(&browser, "ann");

    // Explore, by keyboard.
    browser.tab_to("nav a[href='/tables']");
    browser.keys(ENTER);
    browser.see("Privacy is that of one person");
    browser.picture("tables");
    browser.tab_to("nav a[href='/']");
    browser.keys(ENTER);
    browser.see("Left:");

    // The price follows what is typed, and nothing around it moves.
    browser.tab_to("#sql");
    let place = "return document.querySelector('.buttons').getBoundingClientRect().top";
    let before = browser.run(place);
    write(&browser, "SELECT COUNT(*) AS n FROM peopel");
    browser.see("There is no table");
    assert_eq!(browser.count("mark"), 1);
    assert_eq!(browser.run(place), before);
    browser.picture("refusal");
    write(&browser, BY_REGION);
    browser.see("Left after it");
    browser.tab_to("#epsilon");
    write(&browser, "0.5");
    browser.see("ε = 0.5");
    assert_eq!(browser.run(place), before);
    let shown = browser.text();
    // The slider is a way to the same number.
    browser.tab_to("[data-slider]");
    browser.keys(&RIGHT.repeat(5));
    let chosen = browser.run("return document.getElementById('epsilon').value");
    assert_ne!(chosen, "0.5");
    browser.see(&format!("ε = {}", chosen.as_str().unwrap()));
    assert_ne!(browser.text(), shown);
    // The other way round.
    browser.tab_to("#error");
    write(&browser, "20");
    browser.see("The error that you want takes ε =");
    browser.tab_to("[data-fill='epsilon']");
    browser.keys(ENTER);
    browser.see("Left after it");
    assert_eq!(browser.run("return document.getElementById('error').value"), "");
    browser.click("#epsilon");
    write(&browser, "0.5");
    browser.see("ε = 0.5");
    browser.picture("editor");
    browser.is_dark(true);
    browser.picture("editor-dark");
    browser.is_dark(false);
    browser.size(390, 844);
    browser.picture("editor-phone");
    browser.fits("the editor on a phone");
    browser.size(1280, 960);

    // On invented rows, for free.
    browser.click("button[formaction='/try']");
    browser.see("Invented rows.");
    assert!(browser.count("path.whisker") >= 3);
    browser.picture("dummy");
    assert_eq!(running.charges(), 0);

    // Asked by keyboard; a second press on the way changes nothing.
    browser.click("#sql");
    browser.chord(CONTROL, ENTER);
    browser.see("Receipt");
    assert!(browser.count("path.whisker") >= 3);
    assert_eq!(running.charges(), 1);
    let permalink = browser.address();
    assert!(permalink.contains("/answers/"), "{permalink}");
    browser.picture("answer");
    browser.is_dark(true);
    browser.picture("answer-dark");
    browser.is_dark(false);
    browser.size(390, 844);
    browser.picture("answer-phone");
    browser.fits("an answer on a phone");
    // Each value stands below the other beside its heading, and the bars are as wide as the screen.
    let stacked = "const cells = [...document.querySelector('table.answer tbody tr').cells].map((cell) => cell.getBoundingClientRect()); return cells.every((cell, place) => place === 0 || cell.top >= cells[place - 1].bottom - 1)";
    assert_eq!(browser.run(stacked), true);
    assert_eq!(
        browser.run("return getComputedStyle(document.querySelector('td.number'), '::before').content"),
        "\"people\""
    );
    assert_eq!(
        browser.run("return document.querySelector('svg.bar').getBoundingClientRect().width > 300"),
        true
    );
    browser.size(1280, 960);
    browser.open(&permalink);
    browser.see("Receipt");
    assert_eq!(running.charges(), 1);

    // A line, if there is an order.
    browser.open(&analysts(&running));
    write(
        &browser,
        "SELECT age / 10 AS decade, COUNT(*) AS people FROM people GROUP BY 1 ORDER BY 1",
    );
    browser.see("Left after it");
    browser.chord(CONTROL, ENTER);
    browser.see("Receipt");
    browser.picture("line");

    // Another analyst gets the query, and not somebody else's answer. Asking it is free.
    let other = driver.browser();
    other.open(&permalink);
    sign_in(&other, "bob");
    other.see("You have no answer of this number");
    other.open(&format!(
        "{}/?sql={}&epsilon=0.5",
        analysts(&running),
        BY_REGION.replace(' ', "%20").replace('*', "%2A")
    ));
    other.see("asking it again is free");
    let paid = running.charges();
    other.click("button.primary");
    other.see("Receipt");
    assert_eq!(other.address(), permalink);
    assert_eq!(running.charges(), paid);
    other.has_no_errors();

    // Until the share is spent.
    browser.open(&analysts(&running));
    write(&browser, "SELECT SUM(age) AS years FROM people");
    browser.tab_to("#epsilon");
    write(&browser, "1.9");
    browser.see("It does not fit what is left");
    browser.click("button.primary");
    browser.see("of your share");
    browser.picture("spent");
    assert_eq!(running.charges(), paid);
    browser.open(&format!("{}/history", analysts(&running)));
    browser.see(BY_REGION);
    browser.picture("history");
    browser.has_no_errors();
    browser.click(".who button");
    browser.see("Password or token");
}

#[test]
fn curators_see_revoke_agree_and_verify() {
    let running = town("4");
    for (name, role) in [("carol", Role::Curator), ("dan", Role::Curator)] {
        with_password(&running, name, role, None);
    }
    let text = std::fs::read_to_string(running.path().join("deniable.toml")).unwrap();
    running
        .runtime
        .block_on(running.dataset.with_ledger(move |store| {
            governance::take_over(store, "test", &text).unwrap();
            Ok(())
        }))
        .unwrap();
    let ann = running.account("ann", Role::Analyst);
    for (sql, epsilon) in [
        (BY_REGION, "0.5"),
        ("SELECT AVG(score) AS s FROM people", "0.25"),
        ("SELECT COUNT(*) FROM people", "9"),
    ] {
        running.query(
            &ann,
            &serde_json::json!({ "sql": sql, "epsilon": epsilon }).to_string(),
            &[],
        );
    }
    let driver = Driver::start();
    let browser = driver.browser();
    browser.open(&curators(&running));
    sign_in(&browser, "carol");
    browser.see("By analyst");
    browser.pictures("budget");

    // Verify, by keyboard.
    browser.tab_to("form[action='/verify'] button");
    browser.keys(ENTER);
    browser.see("Verified:");
    browser.picture("verified");

    // A token is revoked, and is not good any more.
    browser.open(&format!("{}/accounts", curators(&running)));
    browser.see("Tokens of programs");
    browser.pictures("accounts");
    assert_eq!(running.curl(Some(&ann), "/v1/budget", &[]).0, 200);
    browser.tab_to("button[aria-label='Revoke default of ann']");
    browser.keys(ENTER);
    browser.see("not good any more");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(running.curl(Some(&ann), "/v1/budget", &[]).0, 401);

    // More budget: proposed by one, approved by another.
    browser.open(&format!("{}/catalog", curators(&running)));
    browser.run("const text = document.getElementById('catalog'); text.value = text.value.replace('epsilon = 4', 'epsilon = 6')");
    browser.click("button[formaction='/catalog/check']");
    browser.see("Two curators have to agree: budget.epsilon changes");
    browser.picture("catalog");
    browser.click("button[formaction='/catalog/propose']");
    browser.see("Another curator has to approve it");
    let second = driver.browser();
    second.open(&format!("{}/catalog", curators(&running)));
    sign_in(&second, "dan");
    second.see("epsilon = 6");
    second.tab_to("form[action='/catalog/approve'] button");
    second.keys(ENTER);
    second.see("Approved by dan");
    second.picture("approved");
    second.has_no_errors();

    for (path, wanted, name) in [
        ("/log", "catalog approved", "log"),
        ("/log?show=refused", "over-budget", "refusals"),
        ("/meaning", "The best attacker", "meaning"),
    ] {
        browser.open(&format!("{}{path}", curators(&running)));
        browser.see(wanted);
        browser.pictures(name);
    }
    browser.has_no_errors();
}

/// A budget of ε = 3 without δ is a sum: of six questions at ε = 1, asked at once through two browsers and
/// psql, three are answered.
#[test]
fn two_browsers_and_psql_share_one_budget_exactly() {
    let text = catalog().replace("epsilon = 1000\ndelta = 1e-6\n", "epsilon = 3\n");
    let running = Running::with(quick(), &people(&[]), &text);
    with_password(&running, "ann", Role::Analyst, None);
    with_password(&running, "bob", Role::Analyst, None);
    let eve = running.account("eve", Role::Analyst);
    let driver = Driver::start();
    let browsers = [driver.browser(), driver.browser()];
    for (browser, name) in browsers.iter().zip(["ann", "bob"]) {
        browser.open(&analysts(&running));
        sign_in(browser, name);
        browser.see("Left:");
    }
    let question = |number: usize| format!("SELECT COUNT(*) AS n FROM people WHERE age > {number}");
    let answered: usize = std::thread::scope(|scope| {
        let (running, eve) = (&running, &eve);
        let mut all = Vec::new();
        for (place, browser) in browsers.iter().enumerate() {
            all.push(scope.spawn(move || {
                let asked = |turn: usize| {
                    browser.open(&analysts(running));
                    browser.click("#sql");
                    write(browser, &question(10 * place + turn));
                    browser.click("#epsilon");
                    write(browser, "1");
                    browser.click("button.primary");
                    let since = std::time::Instant::now();
                    while !browser.address().contains("/answers/") && !browser.address().ends_with("/ask") {
                        assert!(since.elapsed().as_secs() < 30, "{}", browser.text());
                        std::thread::sleep(std::time::Duration::from_millis(50));
                    }
                    usize::from(browser.address().contains("/answers/"))
                };
                (0..2).map(asked).sum::<usize>()
            }));
        }
        all.push(scope.spawn(move || {
            let conninfo = running.conninfo("eve", "options='-c deniable.epsilon=1'");
            (0..2)
                .filter(|turn| {
                    running
                        .psql(&conninfo, eve, &["-c", &question(50 + turn)])
                        .status
                        .success()
                })
                .count()
        }));
        all.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(answered, 3);
    assert_eq!(running.charges(), 3);
}
