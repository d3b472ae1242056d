//! Tables in an object store: the one that `scripts/with-object-store` runs.

use super::{Folder, command, stderr, text};
use std::path::{Path, PathBuf};

/// A bucket with the visits of fifty persons in two years, each year a directory.
fn bucket(folder: &Folder, name: &str) -> PathBuf {
    let store = std::env::var_os("DENIABLE_TEST_OBJECTS").expect(
        "DENIABLE_TEST_OBJECTS is not set: run the tests as `scripts/with-object-store cargo nextest run --workspace`",
    );
    let bucket = Path::new(&store).join(name);
    for (year, rows) in [(2025, 1000), (2026, 2000)] {
        let mut csv = "user_id,minutes\n".to_owned();
        for row in 0..rows {
            csv += &format!("u{},{}\n", row * 7 % 50, row % 60);
        }
        let table = format!("visits{year}");
        folder.write(&format!("{table}.csv"), &csv);
        let draft = format!("{table}.toml");
        folder.stdout(&["init", &format!("{table}.csv"), "--cluster", "--output", &draft]);
        let place = bucket.join(format!("visits/year={year}"));
        std::fs::create_dir_all(&place).expect("a directory");
        let sorted = folder.path(&format!("{table}.clustered.parquet"));
        std::fs::copy(sorted, place.join("part-0.parquet")).expect("copied");
    }
    bucket
}

#[test]
fn a_table_in_an_object_store_is_drafted_and_asked() {
    let folder = Folder::new();
    bucket(&folder, "clinic");
    folder.stdout(&["init", "s3://clinic/visits", "--output", "visits.toml"]);
    let draft = std::fs::read_to_string(folder.path("visits.toml")).expect("written");
    for line in [
        "[tables.visits]\n",
        "source = \"s3://clinic/visits\"\n",
        "partitions = [\"year\"]\n",
        "unit = \"user_id\"",
    ] {
        assert!(draft.contains(line), "{draft}");
    }
    let users = |condition: &str| {
        let sql = format!("SELECT COUNT(DISTINCT user_id) AS n FROM visits {condition}");
        let answer = folder.object(&[
            "query",
            "--catalog",
            "visits.toml",
            "--json",
            "--epsilon",
            "0.5",
            &sql,
        ]);
        answer["rows"][0]["n"]["value"].as_f64().expect("a number")
    };
    // 50 of them in each year, and nobody in another; off by more than 40 with a probability of about e^-18.
    assert!((users("WHERE year = '2026'") - 50.0).abs() < 40.0);
    assert!(users("WHERE year = '2027'").abs() < 40.0);
}

#[test]
fn keys_of_a_store_are_in_no_error() {
    let folder = Folder::new();
    bucket(&folder, "secrets");
    let catalog = "name = \"x\"\n[unit]\nwhose = \"person\"\n[budget]\nepsilon = 1\n[tables.visits]\nsource = \"s3://secrets/visits\"\npartitions = [\"year\"]\nunit = \"user_id\"\nrows_per_unit = 100\n[tables.visits.columns]\nuser_id = { kind = \"text\" }\nyear = { kind = \"int\" }\n";
    folder.write("visits.toml", catalog);
    let question = [
        "query",
        "--catalog",
        "visits.toml",
        "--epsilon",
        "0.5",
        "SELECT COUNT(*) FROM visits",
    ];
    let (key, secret) = ("AKIAWRONGKEY", "a-wrong-secret-that-nobody-prints");
    let closed = "http://127.0.0.1:1";
    let incidents = folder.path("incidents");
    std::fs::create_dir(&incidents).expect("a directory");
    for (variable, value, said) in [
        ("AWS_SECRET_ACCESS_KEY", secret, "does not let us read there"),
        ("AWS_ACCESS_KEY_ID", key, "object store"),
        ("AWS_ENDPOINT_URL", closed, "cannot be read"),
    ] {
        let output = command(&folder.path(""))
            .args(question)
            .env("DENIABLE_INCIDENTS", &incidents)
            .env(variable, value)
            .output()
            .expect("the binary runs");
        let words = stderr(&output) + &text(&output.stdout);
        assert_ne!(output.status.code(), Some(0), "{words}");
        assert!(words.contains(said) && words.contains("hint: "), "{words}");
        for entry in std::fs::read_dir(&incidents).expect("a directory") {
            let kept = std::fs::read_to_string(entry.expect("a file").path()).expect("text");
            assert!(!kept.contains(key) && !kept.contains(secret), "{kept}");
        }
        let real = std::env::var("AWS_SECRET_ACCESS_KEY").expect("the store's own");
        for hidden in [key, secret, real.as_str()] {
            assert!(!words.contains(hidden), "{words}");
        }
    }
    // Nothing was charged.
    let spent = folder.stdout(&["budget", "--catalog", "visits.toml"]);
    assert!(spent.contains("nothing was charged yet"), "{spent}");
}
