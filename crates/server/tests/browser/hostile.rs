//! Names and values that would be markup, formulas or another direction of writing, in a real browser: they
//! are text and nothing else.

use crate::common::{Running, catalog, people, quick};
use crate::driver::{Browser, Driver};
use crate::{PASSWORD, analysts, curators, sign_in, write};
use server::accounts::{self, Role};

const IMAGE: &str = "<img src=x onerror=alert(1)>";
const NAME: &str = "<script>alert('ann')<script>\"'";
const REASON: &str = "\u{202e}<iframe srcdoc='<script>alert(1)</script>'></iframe>\"'><b>";

/// Checks that nothing on the page came from a name.
fn is_inert(browser: &Browser<'_>, page: &str) {
    assert!(!browser.is_interrupted(), "{page} has an alert");
    let found = browser.run(
        r#"
        const wrong = [];
        const drawn = new Set(["svg", "title", "desc", "g", "path", "text", "tspan", "rect", "line", "circle", "polyline", "polygon"]);
        for (const element of document.querySelectorAll("*")) {
            const name = element.localName;
            if (["img", "iframe", "object", "embed", "style", "base", "b", "i", "video", "marquee"].includes(name)) wrong.push(name);
            if (name === "script" && !element.getAttribute("src")?.startsWith("/console/")) wrong.push("script");
            for (const attribute of element.attributes) if (attribute.name.startsWith("on")) wrong.push(name + " " + attribute.name);
            if (element.closest("svg") && !drawn.has(name)) wrong.push("svg " + name);
        }
        // Another direction of writing ends with the name: it is in an element that keeps it to itself, or in a block of its own.
        const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
            const text = texts.currentNode;
            if (text.data.includes("\u202e") && !text.parentElement.closest("bdi, pre, textarea, text, title, td code")) wrong.push("direction " + text.parentElement.localName);
        }
        return wrong"#,
    );
    assert_eq!(found, serde_json::json!([]), "{page}");
}

fn account(running: &Running, name: &str, role: Role, share: Option<&str>) {
    running.add_with_share(name, role, share);
    let name = name.to_owned();
    running.on(move |store| {
        accounts::add_token(store, "test", &name, "default", None)?;
        accounts::set_password(store, "test", &name, PASSWORD)
    });
}

#[test]
fn names_and_values_of_others_are_text_in_the_browser() {
    let text = catalog()
        .replace("name = \"town\"", "name = \"<u onclick=alert(2)>town\"")
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
    account(&running, NAME, Role::Analyst, Some("1/2"));
    account(&running, "carol", Role::Curator, None);
    crate::keyboard::in_force(&running);
    let driver = Driver::start();
    let browser = driver.browser();
    browser.open(&analysts(&running));
    sign_in(&browser, NAME);
    is_inert(&browser, "/");

    // A refusal repeats words of the query. An answer has columns that the query named, and values of the
    // data.
    write(&browser, "SELECT COUNT(*) FROM \"<b>x</b>\u{202e}\"");
    browser.see("There is no table");
    is_inert(&browser, "refusal");
    for (sql, page) in [
        (
            "SELECT region AS \"<svg onload=alert(1)>\", COUNT(*) AS \"=n\" FROM people GROUP BY region",
            "table",
        ),
        (
            "SELECT age AS \"<i>\u{202e}\", COUNT(*) AS \"</svg><script>alert(1)</script>\" FROM people WHERE age < 9 GROUP BY age ORDER BY age",
            "figure",
        ),
        (
            "SELECT joined AS \"</title><img src=x onerror=alert(1)>\", COUNT(*) AS \"</text><b>\" FROM people GROUP BY joined",
            "dates",
        ),
    ] {
        browser.open(&analysts(&running));
        browser.tab_to("#sql");
        write(&browser, sql);
        browser.tab_to("#epsilon");
        write(&browser, "2");
        browser.see("Left after it");
        is_inert(&browser, page);
        browser.press("button[formaction='/try']");
        browser.see("Invented rows.");
        is_inert(&browser, page);
        browser.press("button.primary");
        browser.see("Receipt");
        is_inert(&browser, page);
        let drawn = browser.count("figure svg text");
        assert_eq!(drawn > 0, page != "table", "{page}");
        browser.picture(&format!("hostile-{page}"));
        if page == "table" {
            assert!(browser.text().contains(IMAGE), "{}", browser.text());
            the_file_holds_no_formula(&browser);
        }
    }

    // The reason of a request, on the analyst's page and on the curators'.
    browser.open(&format!("{}/history", analysts(&running)));
    browser.press("#more summary");
    browser.tab_to("#more-epsilon");
    browser.keys("1");
    browser.tab_to("#more-reason");
    browser.keys(REASON);
    browser.press("#more button.primary");
    browser.see("waits for a curator");
    is_inert(&browser, "/history");
    browser.picture("hostile-history");
    browser.open(&format!("{}/tables", analysts(&running)));
    browser.see("Privacy is that of one person");
    is_inert(&browser, "/tables");
    browser.has_no_errors();

    let browser = driver.browser();
    browser.open(&curators(&running));
    sign_in(&browser, "carol");
    for path in ["/", "/accounts", "/requests", "/log", "/catalog", "/meaning"] {
        browser.open(&format!("{}{path}", curators(&running)));
        browser.see("Sign out");
        is_inert(&browser, path);
        if path == "/requests" {
            assert!(browser.text().contains("<iframe srcdoc="), "{}", browser.text());
            browser.picture("hostile-requests");
        }
    }
    browser.has_no_errors();
}

/// A browser keeps the file, and a spreadsheet that opens it finds text.
fn the_file_holds_no_formula(browser: &Browser<'_>) {
    let file = browser.run(
        "const request = new XMLHttpRequest(); request.open('GET', location.pathname + '/csv', false); request.send();
         return [request.getResponseHeader('content-disposition'), request.getResponseHeader('content-type'), request.getResponseHeader('x-content-type-options'), request.responseText]",
    );
    assert!(file[0].as_str().unwrap().starts_with("attachment"), "{file}");
    assert!(file[1].as_str().unwrap().starts_with("text/csv"), "{file}");
    assert_eq!(file[2], "nosniff");
    let text = file[3].as_str().unwrap();
    assert!(text.contains("'=n") && text.contains("'=HYPERLINK"), "{text}");
    // Each field, after the quotes that a reader takes away.
    let formula = text
        .lines()
        .flat_map(|line| line.split(','))
        .find(|field| field.trim_start_matches('"').starts_with(['=', '+', '@']));
    assert_eq!(formula, None, "{text}");
}
