//! In a browser that runs no script: everything is links and forms.

use crate::driver::Driver;
use crate::keyboard::waited_for;
use crate::{BY_REGION, analysts, sign_in, town, with_password, write};
use server::accounts::Role;

#[test]
fn an_analyst_needs_no_script() {
    let running = town("4");
    with_password(&running, "ann", Role::Analyst, Some("1/4"));
    let driver = Driver::start();
    let browser = driver.browser_without_script();
    let files = tempfile::tempdir().unwrap();
    browser.keeps_files_in(files.path());
    browser.open(&analysts(&running));
    sign_in(&browser, "ann");
    browser.click("nav a[href='/tables']");
    browser.see("Privacy is that of one person");
    browser.click("nav a[href='/']");
    browser.see("Left:");
    // Checks that no script ran: parts that a script shows stay hidden, and the price does not follow the
    // typing.
    assert_eq!(browser.count("[data-slider][hidden]"), 1);
    browser.click("#sql");
    write(&browser, BY_REGION);
    browser.click("#epsilon");
    write(&browser, "0.5");
    std::thread::sleep(std::time::Duration::from_millis(600));
    assert!(!browser.text().contains("Left after it"));
    browser.click("button[formaction='/price']");
    browser.see("Left after it");
    assert!(browser.address().ends_with("/price"), "{}", browser.address());
    browser.pictures("without-script");
    browser.click("button[formaction='/try']");
    browser.see("Invented rows.");
    assert_eq!(running.charges(), 0);
    browser.click("button.primary");
    browser.see("Receipt");
    assert_eq!(running.charges(), 1);
    assert_eq!(browser.count("[data-copy]:not([hidden])"), 0);
    browser.click("a[href$='/csv']");
    assert!(waited_for(files.path(), "csv").starts_with("region,people"));
    browser.click("a[href$='/receipt.json']");
    assert!(waited_for(files.path(), "receipt.json").contains("\"signature\""));
    // What does not fit is refused with what fits, as a button of the same form.
    browser.click("nav a[href='/']");
    browser.click("#sql");
    write(&browser, "SELECT SUM(age) AS years FROM people");
    browser.click("#epsilon");
    write(&browser, "0.9");
    browser.click("button.primary");
    browser.see("of your share");
    browser.click("button[name='use']");
    browser.see("Left after it");
    assert_eq!(running.charges(), 1);
    // More budget is asked for by a form too.
    browser.click("nav a[href='/history']");
    browser.click("#more summary");
    browser.click("#more-epsilon");
    browser.keys("0.5");
    browser.click("#more-reason");
    browser.keys("the spring report");
    browser.click("#more button.primary");
    browser.see("waits for a curator");
    browser.click(".who button");
    browser.see("Password or token");
}
