//! First drafts of catalogs.

use super::{Folder, stderr};

#[test]
fn a_draft_is_written_and_never_overwritten() {
    let folder = Folder::new();
    std::fs::remove_file(folder.path("deniable.toml")).expect("removed");
    let next = folder.stdout(&["init", "people.csv", "--unit", "id"]);
    assert!(
        next.contains("deniable.toml:") && next.contains("FILL IN"),
        "{next}"
    );
    assert!(
        next.contains("deniable explain \"SELECT COUNT(*) FROM people\""),
        "{next}"
    );
    let draft = std::fs::read_to_string(folder.path("deniable.toml")).expect("written");
    assert!(
        draft.contains("unit = \"id\"") && draft.contains("[tables.people.columns]"),
        "{draft}"
    );
    // Of private data nothing but names: no age, no city.
    assert!(!draft.contains("Ash") && !draft.contains("Bree"), "{draft}");
    // It can be used as it is, for counting, with a warning.
    let counted = folder.run(&["explain", "SELECT COUNT(DISTINCT id) FROM people"]);
    assert!(counted.status.success());
    let said = stderr(&counted);
    assert!(said.contains("warning: deniable.toml is a draft: line"), "{said}");
    let filled = draft.replace("FILL IN", "filled in");
    folder.write("deniable.toml", &filled);
    let counted = folder.run(&["explain", "SELECT COUNT(DISTINCT id) FROM people"]);
    assert!(!stderr(&counted).contains("is a draft"), "{}", stderr(&counted));
    folder.write("deniable.toml", "mine");
    let refusal = folder.refused(&["init", "people.csv"], 2);
    assert!(refusal.contains("--force"), "{refusal}");
    assert_eq!(
        std::fs::read_to_string(folder.path("deniable.toml")).expect("there"),
        "mine"
    );
    folder.stdout(&["init", "people.csv", "--force"]);
    assert_ne!(
        std::fs::read_to_string(folder.path("deniable.toml")).expect("there"),
        "mine"
    );
    folder.refused(&["init", "people.xlsx", "--output", "other.toml"], 2);
    folder.refused(&["init", "no.csv", "--output", "other.toml"], 2);
    folder.refused(&["init", "people.csv", "--output", "no/other.toml"], 2);
    assert!(!folder.path("other.toml").exists());
}

#[test]
fn public_data_is_described() {
    let folder = Folder::new();
    folder.write("cities.csv", "city,people\nAsh,200\nBree,100\n");
    let next = folder.stdout(&["init", "cities.csv", "--public", "--output", "cities.toml"]);
    // What is suggested works.
    assert!(
        next.contains("then: deniable query --catalog cities.toml \"DESCRIBE cities\""),
        "{next}"
    );
    folder.stdout(&["query", "--catalog", "cities.toml", "DESCRIBE cities"]);
    let draft = std::fs::read_to_string(folder.path("cities.toml")).expect("written");
    assert!(
        draft.contains("public = true") && draft.contains("bounds = [100, 200]"),
        "{draft}"
    );
}

#[test]
fn a_sorted_copy_keeps_the_tables_name() {
    let folder = Folder::new();
    let mut csv = "user_id,minutes\n".to_owned();
    for row in 0..1000 {
        csv += &format!("u{},{}\n", row * 7 % 50, row % 60);
    }
    folder.write("visits.csv", &csv);
    folder.stdout(&["init", "visits.csv", "--cluster", "--output", "visits.toml"]);
    assert!(folder.path("visits.clustered.parquet").is_file());
    let draft = std::fs::read_to_string(folder.path("visits.toml")).expect("written");
    assert!(
        draft.contains("[tables.visits]\n") && draft.contains("clustered = true"),
        "{draft}"
    );
    assert!(
        draft.contains("source = \"visits.clustered.parquet\"") && draft.contains("name = \"visits\""),
        "{draft}"
    );
    let question = [
        "query",
        "--catalog",
        "visits.toml",
        "--json",
        "--epsilon",
        "0.9",
        "SELECT COUNT(DISTINCT user_id) AS n FROM visits",
    ];
    let answer = folder.object(&question);
    let units = answer["rows"][0]["n"]["value"].as_f64().expect("a number");
    // 50 of them; off by more than 25 with probability e^-22.
    assert!((units - 50.0).abs() < 25.0, "{units}");
    let refusal = folder.refused(&["init", "visits.csv", "--cluster", "--output", "again.toml"], 2);
    assert!(refusal.contains("visits.clustered.parquet"), "{refusal}");
    let public = folder.run(&[
        "init",
        "visits.csv",
        "--cluster",
        "--public",
        "--output",
        "x.toml",
    ]);
    assert_eq!(public.status.code(), Some(2));
}
