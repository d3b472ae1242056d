//! The privacy card as a page of the curators, and as files.

use crate::common::{Running, catalog, json, people, quick};
use crate::curl::Browser;
use server::accounts::Role;

const WORDS: &str = r#"
title = "Visits <b>"
curators = ["The Clinics of Ashford"]
description = "Answers to questions of researchers."
intended_use = "Planning."
region = "Ashford"
epsilon_chosen = "By the ethics board."
exact_releases = "Nothing."
security = "Encrypted disk."
authors = ["Ann Lee"]
"#;

fn curator(running: &Running) -> Browser<'_> {
    let carol = running.account("carol", Role::Curator);
    let browser = Browser::at(running, running.addresses.curators.unwrap().port());
    assert_eq!(browser.sign_in("carol", &carol).status, 303);
    // Signing in is an entry of the ledger, which is written a moment later.
    std::thread::sleep(std::time::Duration::from_millis(600));
    browser
}

fn ask(running: &Running, token: &str, sql: &str) {
    let body = serde_json::json!({ "sql": sql, "epsilon": "0.25" }).to_string();
    assert_eq!(running.query(token, &body, &[]).0, 200);
}

#[test]
fn the_card_is_a_page_and_a_file_that_can_be_checked() {
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    let sql = "SELECT COUNT(*) AS secret_name FROM people WHERE age < 37";
    ask(&running, &ann, sql);
    let browser = curator(&running);

    let page = browser.get("/card");
    assert_eq!(page.status, 200, "{}", page.body);
    for wanted in [
        "<h1>Privacy card of town</h1>",
        "NIST SP 800-226",
        "ε = 1000",
        "aria-current=\"page\">Card</a>",
        "There is no record for the registry of deployments yet",
        "deniable card draft",
        "href=\"/card/json\"",
    ] {
        assert!(page.body.contains(wanted), "{wanted}: {}", page.body);
    }
    assert!(!page.body.contains("href=\"/card/yaml\""), "{}", page.body);
    // Neither who asked nor what is in a card, and no file of the data.
    let card = page.body.split("<article").nth(1).unwrap();
    for hidden in ["ann", "secret_name", "people.csv"] {
        let word = |text: &str| {
            text.split(|character: char| !character.is_alphanumeric() && character != '.' && character != '_')
                .any(|word| word == hidden)
        };
        assert!(!word(card), "{hidden}: {card}");
    }

    let document = browser.get("/card/json");
    assert_eq!(
        document.header("content-disposition"),
        Some("attachment; filename=\"card.json\"")
    );
    let stated = json(&document.body);
    assert_eq!(stated["spent"]["charges"], 1);
    // What the command computes for the entry that it names is the same.
    let (catalog, entry) = (
        running.dataset.catalog().clone(),
        stated["as_of"]["entry"].as_u64(),
    );
    let recomputed = running.on(move |store| {
        let past = store.past(entry)?;
        Ok(card::Card::new(&catalog, card::Ledger::Until(&past), &card::Words::none()).unwrap())
    });
    assert_eq!(card::differences(&stated, &recomputed), []);

    let alone = browser.get("/card/html");
    assert!(alone.header("content-disposition").unwrap().contains("card.html"));
    assert!(
        alone.body.starts_with("<!DOCTYPE html>") && alone.body.contains("<style>"),
        "{}",
        alone.body
    );
    let refused = browser.get("/card/yaml");
    assert!(
        refused.status == 422 && refused.body.contains("role=\"alert\""),
        "{}",
        refused.body
    );
    assert_eq!(browser.get("/card/exe").status, 404);

    // The same while nothing happens, and another one when something is charged.
    assert_eq!(browser.get("/card/json").body, document.body);
    ask(&running, &ann, "SELECT COUNT(*) AS n FROM people WHERE age < 38");
    let later = json(&browser.get("/card/json").body);
    assert_eq!(later["spent"]["charges"], 2);
    assert!(later["as_of"]["entry"].as_u64() > stated["as_of"]["entry"].as_u64());
}

#[test]
fn what_people_say_is_read_beside_the_catalog() {
    let running = Running::start();
    let ann = running.account("ann", Role::Analyst);
    ask(&running, &ann, "SELECT COUNT(*) AS n FROM people");
    let browser = curator(&running);
    assert!(browser.get("/card").body.contains("deniable card draft"));
    let file = running.path().join("card.toml");
    std::fs::write(&file, WORDS).unwrap();
    let page = browser.get("/card").body;
    assert!(
        page.contains("Visits &lt;b&gt;") && page.contains("href=\"/card/yaml\""),
        "{page}"
    );
    assert!(!page.contains("There is no record"), "{page}");
    let record = browser.get("/card/yaml");
    assert_eq!(record.status, 200, "{}", record.body);
    assert!(record.body.contains("The Clinics of Ashford"), "{}", record.body);

    // The page names a file that cannot be read, and shows the card without it; nothing of the file is
    // published.
    std::fs::write(&file, "titel = \"Hidden words\"\n").unwrap();
    let page = browser.get("/card");
    assert_eq!(page.status, 200);
    assert!(
        page.body.contains("role=\"alert\"") && page.body.contains("<h1>Privacy card of town</h1>"),
        "{}",
        page.body
    );
    assert!(
        !page.body.contains("Hidden words") && !page.body.contains("Visits"),
        "{}",
        page.body
    );
    for format in ["json", "html", "yaml"] {
        assert!(!page.body.contains(&format!("href=\"/card/{format}\"")));
        assert_eq!(browser.get(&format!("/card/{format}")).status, 422, "{format}");
    }

    // The page gives its name, and not its place: neither for a file with a mistake, nor for one that is no
    // text, nor for one that is too long.
    let folder = running.path().display().to_string();
    let long = format!("# {}\n", "x".repeat(1 << 20)).into_bytes();
    for written in [b"titel = \"Visits\"\n".to_vec(), vec![0xff, 0xfe], long] {
        std::fs::write(&file, &written).unwrap();
        for path in ["/card", "/card/json"] {
            let page = browser.get(path).body;
            let alert = page.split("role=\"alert\"").nth(1).expect("it is wrong");
            assert!(alert.contains("<bdi>card.toml</bdi>"), "{path}: {page}");
            assert!(!page.contains(&folder), "{path}: {page}");
        }
    }
}

#[test]
fn names_in_a_card_are_inert() {
    let text = catalog().replace("name = \"town\"", "name = \"<script>alert(1)</script>\"");
    let running = Running::with(quick(), &people(&[]), &text);
    let browser = curator(&running);
    for path in ["/card", "/card/html", "/meaning"] {
        let page = browser.get(path);
        assert_eq!(page.status, 200, "{path}");
        assert!(!page.body.contains("<script>alert"), "{path}: {}", page.body);
    }
}

#[test]
fn the_attacks_are_on_invented_people_and_the_same_for_everybody() {
    let of = |without: &[usize], epsilon: &str| {
        let text = catalog().replace("epsilon = 1000", &format!("epsilon = {epsilon}"));
        let running = Running::with(quick(), &people(without), &text);
        let browser = curator(&running);
        let page = browser.get("/meaning");
        assert_eq!(page.status, 200, "{}", page.body);
        assert_eq!(browser.get("/meaning").body, page.body);
        assert_eq!(running.charges(), 0);
        page.body
    };
    let page = of(&[], "8");
    for wanted in [
        "Asking about everybody at once",
        "<bdi>member</bdi></code> in <code><bdi>people</bdi></code> is true",
        "the budget ends it after",
        "noise, and no ledger",
    ] {
        assert!(page.contains(wanted), "{wanted}: {page}");
    }
    // Not a byte of it depends on who is in the data.
    assert_eq!(of(&[0, 7, 1999], "8"), page);
    let large = of(&[], "100000");
    assert!(large.contains("the ledger does not end this attack"), "{large}");
}
