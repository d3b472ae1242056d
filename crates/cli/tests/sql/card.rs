//! The privacy card as curators and readers meet it.

use super::Folder;
use serde_json::{Value, json};

fn asked() -> Folder {
    let folder = Folder::new();
    for question in [
        "SELECT city, COUNT(*) AS n FROM people GROUP BY city",
        "SELECT AVG(age) AS age FROM people",
    ] {
        folder.stdout(&["query", question]);
    }
    folder
}

fn words(folder: &Folder) {
    folder.write(
        "card.toml",
        "curators = [\"The Clinics\"]\ndescription = \"Answers.\"\nintended_use = \"Research.\"\nregion = \"Ashford\"\nepsilon_chosen = \"By the board.\"\n\
         exact_releases = \"Nothing.\"\nsecurity = \"A locked room.\"\nauthors = [\"Ann\"]\n",
    );
}

#[test]
fn a_card_is_true_and_stays_so_while_more_is_asked() {
    let folder = asked();
    folder.stdout(&["card", "--format", "json", "--output", "card.json"]);
    let said = folder.stdout(&["card", "verify", "card.json"]);
    assert!(said.starts_with("the card is true: all "), "{said}");
    folder.stdout(&["query", "SELECT COUNT(*) AS n FROM people WHERE age > 50"]);
    let found = folder.object(&["card", "verify", "card.json", "--json"]);
    assert_eq!(
        (&found["verified"], &found["words_compared"]),
        (&json!(true), &json!(false))
    );
    // Numbers are those of the ledger.
    let card: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path("card.json")).expect("a card"))
            .expect("JSON");
    assert_eq!(
        (&card["spent"]["charges"], &card["spent"]["enforced"]["epsilon"]),
        (&json!(2), &json!("1"))
    );
    let budget = folder.object(&["budget", "--json"]);
    assert_eq!(
        folder.object(&["card", "--json"])["spent"]["enforced"]["epsilon"],
        budget["summary"]["epsilon_spent"]
    );
    // Words are compared if they are at hand.
    words(&folder);
    let said = folder.refused(&["card", "verify", "card.json"], 4);
    assert!(said.contains("asserted."), "{said}");
}

#[test]
fn numbers_that_were_changed_are_named() {
    let folder = asked();
    let card = folder.object(&["card", "--json"]);
    for (path, value, named) in [
        (
            "/spent/enforced/epsilon",
            json!("0.5"),
            "spent.enforced.epsilon: the card says 0.5, and it is 1",
        ),
        (
            "/promise/limit/epsilon",
            json!("1"),
            "promise.limit.epsilon: the card says 1, and it is 2",
        ),
        (
            "/spent/charges",
            json!(1),
            "spent.charges: the card says 1, and it is 2",
        ),
        (
            "/declared/tables/0/rows_per_unit",
            json!(9),
            "declared.tables[0].rows_per_unit",
        ),
        (
            "/declared/tables/0/columns/1/high",
            json!("90"),
            "declared.tables[0].columns[1].high",
        ),
        (
            "/releases/0/charged/epsilon",
            json!("0.4"),
            "releases[0].charged.epsilon",
        ),
        ("/mechanisms/0/times", json!(1), "mechanisms[0].times"),
        ("/as_of/ledger", json!("0"), "as_of.ledger"),
        ("/as_of/hash", json!("0"), "is not in this ledger"),
        ("/as_of/entry", json!(99), "is not in this ledger"),
    ] {
        let mut changed = card.clone();
        *changed.pointer_mut(path).unwrap_or_else(|| panic!("{path}")) = value;
        folder.write("changed.json", &changed.to_string());
        let said = folder.refused(&["card", "verify", "changed.json"], 4);
        assert!(said.contains(named), "{path}: {said}");
    }
    // Not a card, and nothing of it is repeated.
    folder.write("other.json", "{\"secret\": 1}");
    let said = folder.refused(&["card", "verify", "other.json"], 2);
    assert!(!said.contains("secret"), "{said}");
    folder.refused(&["card", "verify", "people.csv"], 2);
}

#[test]
fn a_cut_ledger_has_no_card() {
    let folder = asked();
    folder.write("card.json", &folder.stdout(&["card", "--json"]));
    let old = std::fs::read(folder.path("clinic.ledger")).expect("a ledger");
    folder.stdout(&["query", "SELECT COUNT(*) AS n FROM people WHERE age > 50"]);
    std::fs::write(folder.path("clinic.ledger"), old).expect("restored");
    assert!(folder.refused(&["card"], 4).contains("went back"));
    assert!(
        folder
            .refused(&["card", "verify", "card.json"], 4)
            .contains("went back")
    );
}

#[test]
fn the_formats() {
    let folder = asked();
    let page = folder.stdout(&["card"]);
    assert!(
        page.starts_with("<!DOCTYPE html>") && page.contains("Privacy card of clinic"),
        "{page}"
    );
    assert!(
        !page.contains("http://")
            && !page.contains("https://")
            && !page.contains("people.csv")
            && !page
                .split(|letter: char| !letter.is_alphanumeric())
                .any(|word| word == "300"),
        "{page}"
    );
    let said = folder.refused(&["card", "--format", "yaml"], 2);
    assert!(
        said.contains("curators") && said.contains("deniable card draft"),
        "{said}"
    );
    words(&folder);
    let yaml = folder.stdout(&["card", "--format", "yaml"]);
    assert!(
        yaml.starts_with("url_slug: clinic-the-clinics-20") && yaml.contains("\ntier: 3\n"),
        "{yaml}"
    );
    assert!(folder.stdout(&["card", "draft"]).contains("# curators = "));
    let before = std::fs::read(folder.path("card.toml")).expect("words");
    folder.refused(&["card", "--output", "card.toml"], 2);
    assert_eq!(std::fs::read(folder.path("card.toml")).expect("words"), before);
    // Before anything is asked there is a card, too, and nothing is made for it.
    let fresh = Folder::new();
    let names = fresh.names();
    let card = fresh.object(&["card", "--json"]);
    assert_eq!(
        (&card["as_of"], &card["spent"]["charges"]),
        (&Value::Null, &json!(0))
    );
    fresh.refused(&["card", "--format", "yaml"], 2);
    assert_eq!(fresh.names(), names);
}
