//! The signed receipt, more budget by two curators, and lines over time, as people use them.

use crate::common::Running;
use crate::driver::{Browser, Driver};
use crate::keyboard::waited_for;
use crate::{analysts, curators, sign_in, town, with_password, write};
use ledger::Receipt;
use server::accounts::Role;

/// A line of two parts: what is left out is left out of what was released.
pub(crate) const BY_MONTH: &str = "SELECT * FROM (SELECT date_trunc('month', joined) AS month, COUNT(*) AS people, AVG(score) AS score FROM people GROUP BY 1) AS months WHERE month < TIMESTAMP '2024-05-01 00:00:00' OR month > TIMESTAMP '2024-07-15 00:00:00'";

/// Asks what was not asked before: an answer that is kept costs nothing, and the page shows no price to wait
/// for.
fn ask(browser: &Browser<'_>, running: &Running, sql: &str, epsilon: &str) {
    browser.open(&analysts(running));
    browser.tab_to("#sql");
    write(browser, sql);
    browser.tab_to("#epsilon");
    write(browser, epsilon);
    browser.see(&format!("ε = {epsilon}"));
    browser.press("button.primary");
}

/// From the page that shows what is left, by keyboard.
pub(crate) fn ask_for_more(browser: &Browser<'_>, running: &Running, epsilon: &str, reason: &str) {
    browser.open(&format!("{}/history", analysts(running)));
    browser.press("#more summary");
    browser.tab_to("#more-epsilon");
    browser.keys(epsilon);
    browser.tab_to("#more-reason");
    browser.keys(reason);
    browser.press("#more button.primary");
    browser.see("waits for a curator");
}

#[test]
fn dates_are_a_line_and_the_receipt_is_a_file() {
    let running = town("1000");
    with_password(&running, "ann", Role::Analyst, None);
    let driver = Driver::start();
    let browser = driver.browser();
    let files = tempfile::tempdir().unwrap();
    browser.keeps_files_in(files.path());
    browser.open(&analysts(&running));
    sign_in(&browser, "ann");
    ask(&browser, &running, BY_MONTH, "8");
    let text = browser.see("Receipt");
    // Two figures, with whiskers, and no bars in the table.
    assert_eq!(browser.count("figure.line .roomy svg"), 2, "{text}");
    assert!(browser.count("figure.line path.whisker") >= 2);
    assert_eq!(browser.count("svg.bar"), 0);
    let ticks = browser
        .run("return [...document.querySelectorAll('figure.line text')].map((text) => text.textContent)");
    assert!(ticks.to_string().contains("2024-"), "{ticks}");
    assert!(
        text.contains("There is no row between 2024-04-01 and 2024-08-01"),
        "{text}"
    );
    browser.pictures("dates");
    let by_month = browser.address();
    // Day by day there are too many for whiskers.
    ask(
        &browser,
        &running,
        "SELECT joined, COUNT(*) AS people FROM people GROUP BY joined",
        "8",
    );
    browser.see("Receipt");
    assert_eq!(browser.count("figure.line .roomy path.band"), 1);
    browser.open(&by_month);
    browser.see("Receipt");

    // The receipt: what is signed, by which key, and as a file that the ledger confirms.
    browser.press(".receipt summary");
    let text = browser.see("Signature");
    browser.press("a[href$='/receipt.json']");
    let receipt: Receipt = serde_json::from_str(&waited_for(files.path(), "receipt.json")).unwrap();
    assert!(receipt.is_signed());
    for part in [
        &receipt.key,
        &receipt.signature,
        &receipt.table_sha256,
        &receipt.entry.hash,
    ] {
        assert!(text.contains(part.as_str()), "{part}: {text}");
    }
    let held = receipt.clone();
    assert_eq!(
        running.on(move |store| Ok(store.check_receipt(&held)?)),
        Vec::<String>::new()
    );
    browser.run("document.querySelector('.receipt').scrollIntoView()");
    browser.pictures("receipt");

    // Numbers in order are a line; a ranking is bars.
    ask(
        &browser,
        &running,
        "SELECT age, COUNT(*) AS people FROM people WHERE age < 60 GROUP BY age ORDER BY age",
        "8",
    );
    browser.see("Receipt");
    assert_eq!(browser.count("figure.line .roomy path.band"), 1);
    browser.pictures("numbers");
    ask(
        &browser,
        &running,
        "SELECT age, COUNT(*) AS people FROM people WHERE age < 4 GROUP BY age ORDER BY age DESC",
        "8",
    );
    browser.see("Receipt");
    assert_eq!(browser.count("figure.line"), 0);
    assert!(browser.count("svg.bar") >= 4);
    browser.has_no_errors();
}

#[test]
fn more_budget_takes_a_reason_and_two_curators() {
    let running = town("4");
    with_password(&running, "ann", Role::Analyst, Some("1/4"));
    for name in ["carol", "dan"] {
        with_password(&running, name, Role::Curator, None);
    }
    let driver = Driver::start();
    let browser = driver.browser();
    browser.open(&analysts(&running));
    sign_in(&browser, "ann");
    // If a question does not fit, the way is offered.
    ask(&browser, &running, "SELECT COUNT(*) AS n FROM people", "1.25");
    browser.see("of your share");
    browser.pictures("no-budget");
    browser.press("a[href='/history#more']");
    browser.see("More budget");
    ask_for_more(
        &browser,
        &running,
        "0.5",
        "The spring report needs one more table, by region.",
    );
    browser.pictures("requested");

    // One curator is not two.
    let first = driver.browser();
    first.open(&format!("{}/requests", curators(&running)));
    sign_in(&first, "carol");
    first.see("The spring report needs one more table");
    first.pictures("request");
    first.press("button[value='propose']");
    first.see("Another curator has to approve it");
    assert_eq!(first.count("button[value='approve']"), 0);
    browser.open(&format!("{}/history", analysts(&running)));
    browser.see("one curator agrees, a second has to");
    assert!(browser.text().contains("ε = 1 "), "{}", browser.text());

    let second = driver.browser();
    second.open(&format!("{}/requests", curators(&running)));
    sign_in(&second, "dan");
    second.see("Proposed by carol");
    second.pictures("proposed-request");
    second.press("button[value='approve']");
    second.see("approved by dan");
    second.pictures("granted");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    browser.open(&format!("{}/history", analysts(&running)));
    browser.see("your share is now 0.375");
    ask(&browser, &running, "SELECT COUNT(*) AS n FROM people", "1.25");
    browser.see("Receipt");

    // A curator who made the request finds no button, and a declined request says so.
    let asking = driver.browser();
    asking.open(&analysts(&running));
    sign_in(&asking, "carol");
    ask_for_more(&asking, &running, "1", "for myself");
    first.open(&format!("{}/requests", curators(&running)));
    first.see("Two other curators decide about it");
    assert_eq!(first.count("form[action='/requests/decide']"), 0);
    second.open(&format!("{}/requests", curators(&running)));
    second.press("button[value='decline']");
    second.see("declined by dan");
    asking.open(&format!("{}/history", analysts(&running)));
    asking.see("declined");
    second.open(&format!("{}/log?show=budget", curators(&running)));
    second.see("budget approved");
    for window in [&browser, &first, &second, &asking] {
        window.has_no_errors();
    }
}
