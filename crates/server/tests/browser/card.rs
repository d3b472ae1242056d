//! The privacy card and what ε means, in a real browser: wide and narrow, light and dark.

use crate::common::Running;
use crate::driver::{Browser, Driver, ENTER};
use crate::{BY_REGION, curators, sign_in, town, with_password};
use server::accounts::Role;

const WORDS: &str = "title = \"The people of the town\"\ncurators = [\"The town's statistical office\"]\nepsilon_chosen = \"By the council, in public.\"\n";

fn with_questions(epsilon: &str) -> Running {
    let running = town(epsilon);
    with_password(&running, "audrey", Role::Auditor, None);
    let ann = running.account("ann", Role::Analyst);
    for (sql, epsilon) in [(BY_REGION, "0.5"), ("SELECT AVG(score) AS s FROM people", "0.25")] {
        let body = serde_json::json!({ "sql": sql, "epsilon": epsilon }).to_string();
        assert_eq!(running.query(&ann, &body, &[]).0, 200);
    }
    running
}

/// Looks at the page at all sizes and in all colours. Nothing is wider than the window but what scrolls by
/// itself.
fn pictures(browser: &Browser<'_>, name: &str) {
    for (size, width, height) in [("wide", 1280, 960), ("phone", 390, 844)] {
        for (colours, dark) in [("light", false), ("dark", true)] {
            browser.size(width, height);
            browser.is_dark(dark);
            let fits = "return document.documentElement.scrollWidth <= innerWidth";
            assert_eq!(browser.run(fits), true, "{name} {size} {colours}");
            let height = browser
                .run("return document.documentElement.scrollHeight")
                .as_u64()
                .unwrap();
            // The whole of it, for people who look at the pictures.
            browser.size(width, u32::try_from(height).unwrap().min(12_000));
            browser.picture(&format!("{name}-{size}-{colours}"));
        }
    }
    browser.size(1280, 960);
    browser.is_dark(false);
}

/// The colour of the page and of its text, as the browser computed them.
fn colours(browser: &Browser<'_>, selector: &str) -> (String, String) {
    let of = |element: &str, property: &str| {
        let script = format!("return getComputedStyle(document.querySelector('{element}')).{property}");
        browser.run(&script).as_str().unwrap().to_owned()
    };
    (of("body", "backgroundColor"), of(selector, "color"))
}

#[test]
fn the_card_is_read_downloaded_and_looks_like_the_other_pages() {
    let running = with_questions("4");
    std::fs::write(running.path().join("card.toml"), WORDS).unwrap();
    let driver = Driver::start();
    let browser = driver.browser();
    browser.open(&curators(&running));
    sign_in(&browser, "audrey");

    // By keyboard, as everything else.
    browser.tab_to("nav a[href='/card']");
    browser.keys(ENTER);
    let text = browser.see("Privacy card of town");
    for wanted in [
        "The town's statistical office",
        "NIST SP 800-226",
        "There is no record for the registry of deployments yet",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    browser.tab_to("a[href='/card/json']");
    assert_eq!(browser.count("article.card h1"), 1);
    assert_eq!(browser.count("h1"), 1);
    // The card's own style is there, and that of the page around it is not changed by it.
    assert_eq!(
        browser.run("return getComputedStyle(document.querySelector('.card dl')).display"),
        "grid"
    );
    let widths = "return [document.querySelector('main').clientWidth, parseFloat(getComputedStyle(document.body).lineHeight)]";
    let with_card = browser.run(widths);
    // What is downloaded is whole, and is the card of this page.
    let file = "return fetch('/card/json').then(reply => reply.json()).then(card => [card.dataset, card.spent.charges, card.format])";
    assert_eq!(browser.run(file), serde_json::json!(["town", 2, 1]));
    browser.is_dark(true);
    let dark = colours(&browser, ".card td");
    browser.is_dark(false);
    let light = colours(&browser, ".card td");
    assert!(dark.0 != light.0 && dark.1 != light.1, "{dark:?} {light:?}");
    pictures(&browser, "card");
    browser.open(&format!("{}/accounts", curators(&running)));
    browser.see("Everybody");
    assert_eq!(browser.run(widths), with_card);
    browser.has_no_errors();
}

#[test]
fn the_attacks_are_drawn_and_end_where_the_budget_does() {
    let running = with_questions("8");
    let driver = Driver::start();
    let browser = driver.browser();
    browser.open(&format!("{}/meaning", curators(&running)));
    sign_in(&browser, "audrey");
    let text = browser.see("Asking about everybody at once");
    assert!(text.contains("the budget ends it after"), "{text}");
    // Each line of the last figure is drawn, in a colour of its own that comes from the style sheet.
    let lines = "const figure = [...document.querySelectorAll('figure.line svg')].pop(); \
                 const lines = [...figure.querySelectorAll('path.line')].filter(line => line.getAttribute('d').includes('L')); \
                 return new Set(lines.map(line => getComputedStyle(line).stroke)).size";
    assert_eq!(browser.run(lines), 3);
    pictures(&browser, "meaning");
    browser.has_no_errors();
}
