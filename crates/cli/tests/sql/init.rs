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

/// Bare, `--public` is about all files, as it ever was; with a file, about that one.
#[test]
fn one_of_several_files_is_public() {
    let folder = Folder::new();
    folder.write("departments.csv", "department,beds\neyes,20\nskin,10\n");
    folder.write("visits.csv", "patient_id,department,cost\n7,eyes,424242\n");
    let draft = |arguments: &[&str]| {
        let arguments = [&["init", "--force", "--output", "x.toml"], arguments].concat();
        let next = folder.stdout(&arguments);
        let draft = std::fs::read_to_string(folder.path("x.toml")).expect("written");
        (draft, next)
    };
    let (mixed, next) = draft(&["visits.csv", "--public", "departments.csv"]);
    assert!(
        mixed.contains("bounds = [10, 20]") && !mixed.contains("424242"),
        "{mixed}"
    );
    assert!(
        mixed.contains("unit = \"patient_id\"  # FILL IN: confirm"),
        "{mixed}"
    );
    assert!(next.contains("FROM visits\""), "{next}");
    // Wherever it stands, and however often.
    assert_eq!(
        draft(&["--public", "departments.csv", "visits.csv"])
            .0
            .matches("public = true\n")
            .count(),
        1
    );
    assert_eq!(
        draft(&["departments.csv", "visits.csv", "--public", "departments.csv"])
            .0
            .matches("public = true\n")
            .count(),
        1
    );
    let (both, _) = draft(&["--public", "departments.csv", "--public", "visits.csv"]);
    assert!(
        both.matches("public = true\n").count() == 2 && both.contains("424242"),
        "{both}"
    );
    let (all, _) = draft(&["departments.csv", "visits.csv", "--public"]);
    assert_eq!(all, both, "all of them");
    let refused = folder.refused(&["init", "--public", "--output", "y.toml"], 2);
    assert!(refused.contains("no file is named"), "{refused}");
}

#[test]
fn kinds_are_guessed_where_the_curator_asks_for_it() {
    let folder = Folder::new();
    folder.write(
        "visits.csv",
        "patient_id,seen,cost,note\n7,2026-01-01,424242,Lovelace\n008,2026-01-02,NA,Byron\n",
    );
    folder.write("sample.csv", "seen,cost\n2020-01-01,1.5\n");
    let drafted = |arguments: &[&str]| {
        let arguments = [
            &["init", "visits.csv", "--force", "--output", "x.toml"],
            arguments,
        ]
        .concat();
        let output = folder.run(&arguments);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{said}");
        let draft = std::fs::read_to_string(folder.path("x.toml")).expect("written");
        assert!(
            !draft.contains("424242") && !draft.contains("Lovelace"),
            "{draft}"
        );
        (said, draft)
    };
    // Without being asked, nobody looks.
    let (said, draft) = drafted(&[]);
    assert!(
        !said.contains("NOT PRIVATE") && draft.contains("cost = { kind = \"text\" }"),
        "{draft}"
    );
    let (said, draft) = drafted(&["--kinds-from", "sample.csv"]);
    assert!(!said.contains("NOT PRIVATE"), "{said}");
    for line in [
        "seen = { kind = \"date\" }",
        "cost = { kind = \"float\" }",
        "note = { kind = \"text\" }  # FILL IN its kind",
    ] {
        assert!(draft.contains(line), "{line}: {draft}");
    }
    let (said, draft) = drafted(&["--kinds-from-data"]);
    assert!(said.starts_with("NOT PRIVATE: reading the data"), "{said}");
    for line in [
        "# NOT PRIVATE: kinds of CSV columns",
        "patient_id = { kind = \"text\" }",
        "seen = { kind = \"date\" }",
        "cost = { kind = \"int\" }  # FILL IN bounds",
        "nulls = [\"NA\"]  # CHECK",
    ] {
        assert!(draft.contains(line), "{line}: {draft}");
    }
    // It can be asked, and is what the catalog says.
    let confirmed = draft.replace("FILL IN", "filled in");
    folder.write("x.toml", &confirmed);
    folder.stdout(&["check", "x.toml"]);
    folder.stdout(&["explain", "--catalog", "x.toml", "SELECT COUNT(*) FROM visits"]);
    let both = folder.run(&[
        "init",
        "visits.csv",
        "--kinds-from-data",
        "--kinds-from",
        "sample.csv",
    ]);
    assert_eq!(both.status.code(), Some(2));
}
