//! Previews of queries: the plan and the cost.

use super::Folder;

#[test]
fn it_is_reported_before_it_is_spent() {
    let folder = Folder::new();
    let before = folder.names();
    let reported = folder.stdout(&[
        "explain",
        "SELECT city, COUNT(*), SUM(age) FROM people GROUP BY city",
    ]);
    for word in [
        "protects each person",
        "rows:",
        "groups: ",
        "sum of age",
        "Laplace",
        "in a group of 1000 rows",
        "cost: ε = 0.5 ",
    ] {
        assert!(reported.contains(word), "{word}: {reported}");
    }
    assert!(!reported.contains("TableScan"), "{reported}");
    let verbose = folder.stdout(&["explain", "--verbose", "SELECT COUNT(*) FROM people"]);
    assert!(
        verbose.contains("what the engine is asked:") && verbose.contains("TableScan"),
        "{verbose}"
    );
    assert_eq!(folder.names(), before, "no ledger was made");
}

#[test]
fn no_data_is_read() {
    let folder = Folder::new();
    std::fs::remove_file(folder.path("people.csv")).expect("removed");
    let reported = folder.object(&["explain", "--json", "SELECT SUM(age) FROM people"]);
    let line = &reported["parts"][0]["statistics"][0];
    assert_eq!(
        (line["l1"].as_f64(), line["noise"].as_str()),
        (Some(100.0), Some("Laplace"))
    );
    // √2·Δ/ε.
    let deviation = line["deviation"].as_f64().expect("a number");
    assert!((deviation - 2f64.sqrt() * 200.0).abs() < 0.01, "{deviation}");
    assert_eq!(reported["group_size"], 1000);
}

#[test]
fn the_price_of_an_error_is_found() {
    let folder = Folder::new();
    // The expected error of a count at ε is about 1/ε, a little less on whole numbers.
    let reported = folder.object(&[
        "explain",
        "--json",
        "--error",
        "10",
        "SELECT COUNT(*) FROM people",
    ]);
    let epsilon: f64 = reported["epsilon"]
        .as_str()
        .expect("text")
        .parse()
        .expect("a number");
    assert!((epsilon - 0.1).abs() < 0.001, "{epsilon}");
    assert_eq!(reported["wanted_error"], "10");
    let expected = reported["parts"][0]["outputs"][0]["expected_error"]
        .as_f64()
        .expect("a number");
    assert!(expected <= 10.0 && expected > 9.9, "{expected}");
    // The same for groups of 500, in per cent.
    let words = folder.stdout(&[
        "explain",
        "--error",
        "2%",
        "--group-size",
        "500",
        "SELECT COUNT(*) FROM people",
    ]);
    assert!(words.contains("at most 2% of the largest value"), "{words}");
    assert!(words.contains("if a group has 500 rows"), "{words}");
    assert!(words.contains("deniable query --epsilon 0."), "{words}");
    let stated = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) FROM people";
    let refusal = folder.refused(&["explain", "--error", "10", stated], 2);
    assert!(
        refusal.contains("the query itself says what it costs"),
        "{refusal}"
    );
    let hopeless = folder.refused(&["explain", "--error", "1e-9", "SELECT AVG(age) FROM people"], 2);
    assert!(hopeless.contains("even ε = 999"), "{hopeless}");
    folder.refused(
        &["explain", "--error", "nothing", "SELECT COUNT(*) FROM people"],
        2,
    );
}

/// Asking what may be asked prints the reference, without a catalog, and `query` says where it is.
#[test]
fn the_reference_of_sql_is_printed() {
    let folder = Folder::new();
    let printed = folder.stdout(&["sql"]);
    assert!(printed.starts_with("# The SQL that is understood\n"), "{printed}");
    assert_eq!(printed, include_str!("../../../../docs/sql.md"));
    assert!(folder.stdout(&["query", "--help"]).contains("`deniable sql`"));
}
