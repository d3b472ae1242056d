//! The contrast of text with its background, measured in the browser from computed styles, on every page, in
//! light and in dark. It is at least 4.5 to 1, and 3 to 1 for large text, as WCAG 2 demands for level AA.

use crate::driver::{Browser, Driver};
use crate::flows::{BY_MONTH, ask_for_more};
use crate::{BY_REGION, analysts, curators, sign_in, town, with_password, write};
use server::accounts::Role;

/// What is too faint: a list of words with their ratio.
const MEASURE: &str = r#"
    const parsed = (text) => {
        const numbers = text.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
        return { r: numbers[0], g: numbers[1], b: numbers[2], a: numbers[3] ?? 1 };
    };
    const over = (top, below) => ({
        r: top.r * top.a + below.r * (1 - top.a),
        g: top.g * top.a + below.g * (1 - top.a),
        b: top.b * top.a + below.b * (1 - top.a),
        a: 1,
    });
    const luminance = ({ r, g, b }) => {
        const [x, y, z] = [r, g, b].map((value) => {
            const part = value / 255;
            return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const ratio = (one, other) => {
        const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
        return (light + 0.05) / (dark + 0.05);
    };
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const canvas = dark ? { r: 18, g: 18, b: 18, a: 1 } : { r: 255, g: 255, b: 255, a: 1 };
    const behind = (element) => {
        const layers = [];
        for (let at = element; at; at = at.parentElement) layers.push(parsed(getComputedStyle(at).backgroundColor));
        return layers.reverse().reduce((below, top) => over(top, below), canvas);
    };
    // As faint as all that it is in.
    const opacity = (element) => {
        let product = 1;
        for (let at = element; at; at = at.parentElement) product *= Number(getComputedStyle(at).opacity);
        return product;
    };
    const wrong = [];
    let seen = 0;
    const check = (element, colour, style, words) => {
        seen += 1;
        const below = behind(element);
        const ink = over({ ...colour, a: colour.a * opacity(element) }, below);
        const size = parseFloat(style.fontSize);
        const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
        const found = ratio(ink, below);
        if (found < (large ? 3 : 4.5)) wrong.push(`${found.toFixed(2)} ${element.localName}.${element.getAttribute("class") ?? ""}: ${words.trim().slice(0, 40)}`);
    };
    document.querySelectorAll("details").forEach((details) => { details.open = true; });
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const element = texts.currentNode.parentElement;
        if (!texts.currentNode.data.trim() || ["SCRIPT", "STYLE", "TITLE", "title", "desc"].includes(element.tagName)) continue;
        if (element.closest(".unseen, .skip, [hidden], :disabled") || !element.getClientRects().length) continue;
        const style = getComputedStyle(element);
        if (style.visibility === "hidden") continue;
        check(element, parsed(element.closest("svg") ? style.fill : style.color), style, texts.currentNode.data);
    }
    for (const field of document.querySelectorAll("input, textarea")) {
        if (field.type === "hidden" || field.type === "range" || !field.getClientRects().length) continue;
        // The words of the editor are those that are painted over it, which are texts of the page.
        if (!field.classList.contains("under")) check(field, parsed(getComputedStyle(field).color), getComputedStyle(field), field.value || "field");
        if (field.placeholder) check(field, parsed(getComputedStyle(field, "::placeholder").color), getComputedStyle(field), field.placeholder);
    }
    return { seen, wrong }"#;

fn is_readable(browser: &Browser<'_>, page: &str) {
    for (dark, scheme) in [(true, "dark"), (false, "light")] {
        browser.is_dark(dark);
        let measured = browser.run(MEASURE);
        assert!(measured["seen"].as_u64().unwrap() >= 5, "{page}: {measured}");
        assert_eq!(measured["wrong"], serde_json::json!([]), "{page}, {scheme}");
    }
}

#[test]
fn text_stands_out_on_every_page_in_light_and_in_dark() {
    let running = town("4");
    with_password(&running, "ann", Role::Analyst, Some("1/2"));
    with_password(&running, "carol", Role::Curator, None);
    with_password(&running, "dan", Role::Curator, None);
    crate::keyboard::in_force(&running);
    let driver = Driver::start();
    let browser = driver.browser();
    let home = analysts(&running);
    browser.open(&home);
    browser.see("Sign in");
    is_readable(&browser, "/sign-in");
    // The measure can fail: words that are too faint are found.
    browser.run("const faint = document.createElement('p'); faint.id = 'faint'; faint.style.setProperty('color', '#808890'); faint.textContent = 'too faint'; document.querySelector('main').append(faint)");
    browser.is_dark(false);
    let measured = browser.run(MEASURE);
    assert!(measured["wrong"].to_string().contains("too faint"), "{measured}");

    browser.open(&home);
    browser.keys("ann");
    browser.keys(crate::TAB);
    browser.keys("wrong password");
    browser.keys(crate::ENTER);
    browser.see("Wrong name or password.");
    is_readable(&browser, "refused sign-in");
    browser.open(&home);
    sign_in(&browser, "ann");
    is_readable(&browser, "/");
    write(&browser, "SELECT COUNT(*) FROM peopel");
    browser.see("There is no table");
    is_readable(&browser, "refusal");
    write(&browser, BY_REGION);
    browser.see("Left after it");
    is_readable(&browser, "price");
    browser.tab_to("#epsilon");
    write(&browser, "3");
    browser.see("It does not fit");
    is_readable(&browser, "price that does not fit");
    write(&browser, "0.5");
    browser.see("ε = 0.5");
    browser.press("button[formaction='/try']");
    browser.see("Invented rows.");
    is_readable(&browser, "/try");
    browser.press("button.primary");
    browser.see("Receipt");
    is_readable(&browser, "answer");
    browser.open(&home);
    write(&browser, BY_REGION);
    browser.tab_to("#epsilon");
    write(&browser, "0.5");
    browser.see("asking it again is free");
    is_readable(&browser, "price of what was answered");
    browser.open(&home);
    write(&browser, BY_MONTH);
    browser.tab_to("#epsilon");
    write(&browser, "0.5");
    browser.see("ε = 0.5");
    browser.press("button.primary");
    browser.see("Receipt");
    is_readable(&browser, "answer over time");
    ask_for_more(&browser, &running, "0.5", "the spring report");
    is_readable(&browser, "/history");
    for path in ["/tables", "/answers/999"] {
        browser.open(&format!("{home}{path}"));
        browser.see("Sign out");
        is_readable(&browser, path);
    }

    let browser = driver.browser();
    let home = curators(&running);
    browser.open(&home);
    sign_in(&browser, "carol");
    browser.press("form[action='/verify'] button");
    browser.see("Verified:");
    for path in ["/", "/accounts", "/requests", "/log", "/catalog", "/meaning"] {
        browser.open(&format!("{home}{path}"));
        browser.see("Sign out");
        is_readable(&browser, path);
    }
    browser.open(&format!("{home}/requests"));
    browser.press("button[value='propose']");
    browser.see("Another curator has to approve it");
    is_readable(&browser, "proposed request");
    browser.open(&format!("{home}/catalog"));
    browser.run("const text = document.getElementById('catalog'); text.value = text.value.replace('epsilon = 4', 'epsilon = 6')");
    browser.press("button[formaction='/catalog/check']");
    browser.see("Two curators have to agree");
    is_readable(&browser, "checked catalog");
    browser.press("button[formaction='/catalog/propose']");
    browser.see("Another curator has to approve it");
    is_readable(&browser, "proposed catalog");
}
