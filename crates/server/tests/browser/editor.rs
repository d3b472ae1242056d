//! The editor: words in colour, and names to choose from and to click. None of it is in the way of a
//! keyboard.

use crate::driver::{BACKSPACE, CONTROL, DOWN, Driver, END, ENTER, ESCAPE, TAB};
use crate::{analysts, sign_in, town, with_password};
use serde_json::json;
use server::accounts::Role;

const VALUE: &str = "return document.getElementById('sql').value";
const CHOICES: &str = "const list = document.getElementById('sql-choices'); return list.hidden ? [] : [...list.children].map((item) => item.textContent)";

#[test]
fn words_are_coloured_names_are_completed_and_a_column_is_inserted() {
    let running = town("4");
    with_password(&running, "ann", Role::Analyst, None);
    let driver = Driver::start();
    let browser = driver.browser();
    browser.open(&analysts(&running));
    sign_in(&browser, "ann");
    browser.tab_to("#sql");

    // What begins like a name is offered, and Enter takes what was chosen.
    browser.keys("select sco");
    assert_eq!(browser.run(CHOICES), json!(["score"]));
    browser.picture("completion");
    browser.keys(&format!("{DOWN}{ENTER}"));
    assert_eq!(browser.run(VALUE), "select score");
    assert_eq!(browser.run(CHOICES), json!([]));
    // It is undone like what was typed.
    browser.chord(CONTROL, "z");
    assert_eq!(browser.run(VALUE), "select sco");
    browser.keys(&format!("{END}re, 'selec"));
    // Not in a text, which is no name.
    assert_eq!(browser.run(CHOICES), json!([]));
    browser.keys("t -- it''s' FROM peo");
    assert_eq!(browser.run(CHOICES), json!(["people"]));
    // If nothing was chosen, Enter begins a line.
    browser.keys(ENTER);
    assert_eq!(browser.run(VALUE), "select score, 'select -- it''s' FROM peo\n");
    browser.keys(&format!("{BACKSPACE}p"));
    browser.keys(ESCAPE);
    assert_eq!(browser.run(CHOICES), json!([]));
    browser.keys("le -- of 2024 select");

    // The words over the field are those in it, in the same places.
    let painted = browser.run(
        "const painted = document.querySelector('.painted'); const field = document.getElementById('sql');
         const [one, other] = [painted, field].map((part) => part.getBoundingClientRect());
         return [painted.textContent, one.width - other.width, one.top - other.top, getComputedStyle(painted).font === getComputedStyle(field).font]",
    );
    assert_eq!(
        painted,
        json!([
            "select score, 'select -- it''s' FROM people -- of 2024 select\n",
            0,
            0,
            true
        ])
    );
    let coloured = browser.run(
        "return [...document.querySelectorAll('.painted span')].map((word) => [word.className, word.textContent])",
    );
    assert_eq!(
        coloured,
        json!([
            ["keyword", "select"],
            ["literal", "'select -- it''s'"],
            ["keyword", "FROM"],
            ["comment", "-- of 2024 select"]
        ])
    );
    browser.picture("coloured");

    // A clicked column appears at the cursor, apart from the word before.
    browser.chord(CONTROL, "a");
    browser.keys("SELECT");
    browser.click("aside button.insert:has([data-insert='region'])");
    assert_eq!(browser.run(VALUE), "SELECT region");
    assert_eq!(browser.run("return document.activeElement.id"), "sql");
    // Tab goes on, also while names are offered.
    browser.keys(" FROM peo");
    assert_eq!(browser.run(CHOICES), json!(["people"]));
    browser.keys(TAB);
    assert_eq!(browser.run("return document.activeElement.id"), "epsilon");
    assert_eq!(browser.run(CHOICES), json!([]));
    browser.has_no_errors();
}
