//! Every flow by keyboard alone, without a click.

use crate::common::Running;
use crate::driver::{BACKSPACE, CONTROL, DOWN, Driver, END, ENTER, HOME};
use crate::{BY_REGION, analysts, curators, sign_in, town, with_password, write};
use server::accounts::Role;
use server::governance;

/// The catalog of the test is the one in force.
pub(crate) fn in_force(running: &Running) {
    let text = std::fs::read_to_string(running.path().join("deniable.toml")).unwrap();
    running
        .runtime
        .block_on(running.dataset.with_ledger(move |store| {
            governance::take_over(store, "test", &text).unwrap();
            Ok(())
        }))
        .unwrap();
}

#[test]
fn an_analyst_needs_no_mouse() {
    let running = town("4");
    with_password(&running, "ann", Role::Analyst, Some("1/2"));
    let driver = Driver::start();
    let browser = driver.browser();
    let files = tempfile::tempdir().unwrap();
    browser.keeps_files_in(files.path());
    browser.open(&analysts(&running));
    sign_in(&browser, "ann");

    // The first Tab offers a way past the navigation.
    browser.press("a.skip");
    assert!(browser.address().ends_with("#content"), "{}", browser.address());
    browser.tab_to("#sql");
    write(&browser, BY_REGION);
    browser.tab_to("#epsilon");
    write(&browser, "0.5");
    browser.see("ε = 0.5");
    // Tried on invented rows.
    browser.press("button[formaction='/try']");
    browser.see("Invented rows.");
    assert_eq!(running.charges(), 0);
    // What is hidden behind a summary is opened, also the price's.
    browser.press("button[formaction='/price']");
    browser.see("How it is understood");
    browser.press(".below summary");
    browser.see("What it promises");
    // Asked by the button.
    browser.press("button.primary");
    browser.see("Receipt");
    assert_eq!(running.charges(), 1);
    // A file.
    browser.press("a[href$='/csv']");
    let csv = waited_for(files.path(), "csv");
    assert!(csv.starts_with("region,people,people_low,people_high"), "{csv}");
    // How to ask from elsewhere, and copied.
    browser.press(".elsewhere summary");
    browser.press("[data-copy='as-psql']");
    browser.see("Copied");
    // Around, and out.
    browser.press("nav a[href='/history']");
    browser.see("Asked before");
    browser.press("td a");
    browser.see("Receipt");
    browser.press("nav a[href='/tables']");
    browser.see("Privacy is that of one person");
    browser.press("main summary");
    browser.see("Invented from what is declared");
    browser.has_no_errors();
    browser.press(".who button");
    browser.see("Password or token");
    browser.open(&format!("{}/history", analysts(&running)));
    browser.see("Password or token");
}

/// A file with this ending that the browser has written.
pub(crate) fn waited_for(folder: &std::path::Path, ending: &str) -> String {
    for _ in 0..200 {
        let found = std::fs::read_dir(folder).unwrap().find_map(|entry| {
            let path = entry.unwrap().path();
            let whole = path.to_string_lossy().ends_with(ending);
            whole.then(|| std::fs::read_to_string(path).unwrap())
        });
        if let Some(text) = found.filter(|text| !text.is_empty()) {
            return text;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("no {ending} was kept");
}

#[test]
fn curators_need_no_mouse() {
    let running = town("4");
    for name in ["carol", "dan"] {
        with_password(&running, name, Role::Curator, None);
    }
    in_force(&running);
    let ann = running.account("ann", Role::Analyst);
    let driver = Driver::start();
    let browser = driver.browser();
    browser.open(&curators(&running));
    sign_in(&browser, "carol");
    browser.press("form[action='/verify'] button");
    browser.see("Verified:");

    // A token is revoked.
    browser.press("nav a[href='/accounts']");
    browser.see("Tokens of programs");
    browser.press("button[aria-label='Revoke default of ann']");
    browser.see("not good any more");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(running.curl(Some(&ann), "/v1/budget", &[]).0, 401);

    // The catalog is changed in place, letter by letter.
    browser.press("nav a[href='/catalog']");
    browser.see("Propose another one");
    browser.tab_to("#catalog");
    let text = browser.run("return document.getElementById('catalog').value");
    let line = text
        .as_str()
        .unwrap()
        .lines()
        .position(|line| line == "epsilon = 4");
    browser.chord(CONTROL, HOME);
    browser.keys(&DOWN.repeat(line.unwrap()));
    browser.keys(&format!("{END}{BACKSPACE}6"));
    browser.press("button[formaction='/catalog/check']");
    browser.see("Two curators have to agree: budget.epsilon changes");
    browser.press("button[formaction='/catalog/propose']");
    browser.see("Another curator has to approve it");
    browser.press("nav a[href='/log']");
    browser.see("catalog proposed");
    browser.press("a[href='/log?show=login']");
    browser.see("login");
    browser.has_no_errors();
    browser.press(".who button");
    browser.see("Password or token");

    // The same window, the second curator.
    sign_in(&browser, "dan");
    browser.press("nav a[href='/catalog']");
    browser.see("epsilon = 6");
    browser.press("form[action='/catalog/approve'] button");
    browser.see("Approved by dan");
    browser.tab_to(".who button");
    browser.keys(ENTER);
    browser.see("Password or token");
    browser.has_no_errors();
}
