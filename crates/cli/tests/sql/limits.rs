//! Limits that are found, written into the catalog and used.

use super::Folder;

/// 600 persons with 1 to 12 visits in 1 to 3 wards.
fn clinic() -> Folder {
    let folder = Folder::new();
    let mut csv = "person,ward,minutes\n".to_owned();
    for person in 0..600 {
        for visit in 0..=person % 12 {
            let ward = ["eyes", "heart", "skin"][visit % 3];
            csv += &format!("{person},{ward},{}\n", 20 + visit);
        }
    }
    folder.write("visits.csv", &csv);
    folder.write(
        "deniable.toml",
        "\
name = \"clinic\"  # ours
[unit]
whose = \"person\"
[budget]
epsilon = 100
ledger = \"clinic.ledger\"
[budget.query]
epsilon = 1
[limits]
groups = 1
rows_per_group = 1
[tables.visits]
source = \"visits.csv\"
unit = \"person\"
[tables.visits.columns]
person = { kind = \"int\" }
ward = { kind = \"text\", values = [\"eyes\", \"heart\", \"skin\"], nullable = false }
minutes = { kind = \"int\", bounds = [0, 240], nullable = false }
",
    );
    folder
}

#[test]
fn limits_are_written_and_used() {
    let folder = clinic();
    let before = folder.stdout(&["explain", "SELECT COUNT(*) FROM visits"]);
    assert!(
        before.contains(
            "hint: the limits of `visits` were never tuned: run `deniable limits visits --epsilon 0.1`"
        ),
        "{before}"
    );
    let dry = folder.stdout(&["limits", "visits", "--epsilon", "10", "--dry-run"]);
    assert!(
        dry.contains("rows; ") && dry.contains("groups by ward") && dry.contains("for ε = 10 in all"),
        "{dry}"
    );
    assert!(
        !folder.names().iter().any(|name| name.contains("ledger")),
        "nothing was spent"
    );
    let reported = folder.object(&["limits", "visits", "--epsilon", "10", "--json"]);
    let rows = reported["limits"]["rows"].as_u64().expect("a number");
    // Nobody has more than 12.
    assert!((8..=20).contains(&rows), "{reported}");
    let price: f64 = reported["cost"]["epsilon"]
        .as_str()
        .expect("text")
        .parse()
        .expect("a number");
    assert!(price <= 10.0 && price > 9.5, "{reported}");
    let catalog = std::fs::read_to_string(folder.path("deniable.toml")).expect("written");
    assert!(
        catalog.contains("name = \"clinic\"  # ours") && catalog.contains(&format!("rows = {rows}")),
        "{catalog}"
    );
    let after = folder.stdout(&["explain", "SELECT COUNT(*) FROM visits"]);
    assert!(
        after.contains(&format!("each person counts with at most {rows} rows")) && !after.contains("hint: "),
        "{after}"
    );
    let budget = folder.object(&["budget", "--json"]);
    assert_eq!(budget["charges"].as_array().map(Vec::len), Some(1));
    for (table, why) in [("people", "no table"), ("", "no table")] {
        assert!(
            folder
                .refused(&["limits", table, "--epsilon", "1"], 2)
                .contains(why)
        );
    }
    folder.refused(&["limits", "visits", "--epsilon", "0"], 2);
    folder.refused(
        &["limits", "visits", "--epsilon", "1", "--group-by", "nothing"],
        2,
    );
}

/// What does not fit is refused with an ε that does, and not with advice about a query that nobody wrote.
#[test]
fn limits_over_the_budget_say_what_would_fit() {
    let folder = clinic();
    let said = folder.refused(&["limits", "visits", "--epsilon", "101"], 3);
    assert!(said.contains("--epsilon 100 would fit"), "{said}");
    assert!(!said.contains("OPTIONS"), "{said}");
    let budget = folder.object(&["budget", "--json"]);
    assert_eq!(budget["charges"].as_array().map(Vec::len), Some(0));
}

/// Nothing changed but the catalog that it wrote itself: what was released is used again.
#[test]
fn looking_again_is_free() {
    let folder = clinic();
    let columns = "minutes = { kind = \"int\", bounds = [0, 240], nullable = false }\n";
    let mut csv = "person,ward,minutes,cost,change,note\n".to_owned();
    for person in 0..600 {
        for visit in 0..=person % 12 {
            let ward = ["eyes", "heart", "skin"][visit % 3];
            csv += &format!("{person},{ward},{},{},{},x\n", 20 + visit, 3 * visit, visit);
        }
    }
    folder.write("visits.csv", &csv);
    let catalog = std::fs::read_to_string(folder.path("deniable.toml")).expect("there");
    let more = format!(
        "{columns}cost = {{ kind = \"int\" }}  # in money\nchange = {{ kind = \"int\", bounds = [-9, 20] }}\nnote = {{ kind = \"text\" }}\n"
    );
    folder.write("deniable.toml", &catalog.replace(columns, &more));
    let arguments = ["limits", "visits", "--epsilon", "20", "--json"];
    let first = folder.object(&arguments);
    let written = std::fs::read_to_string(folder.path("deniable.toml")).expect("there");
    assert_eq!(first["repeated"], false);
    // 33 is the most that anything costs.
    assert_eq!(first["bounds"]["cost"][1].as_u64(), Some(64), "{first}");
    let again = folder.object(&arguments);
    assert_eq!(again["repeated"], true, "{again}");
    for part in ["limits", "bounds", "profiles", "left_out", "cost"] {
        assert_eq!(first[part], again[part], "{part}");
    }
    let rewritten = std::fs::read_to_string(folder.path("deniable.toml")).expect("there");
    assert_eq!(written, rewritten);
    // Other limits of the table, stated by hand, do not make it another question either.
    folder.write(
        "deniable.toml",
        &rewritten.replace("rows_per_group = ", "rows_per_group = 1"),
    );
    assert_eq!(folder.object(&arguments)["repeated"], true);
    // A new version of the data does.
    folder.write(
        "deniable.toml",
        &format!("data = {{ version = \"2\" }}\n{rewritten}"),
    );
    assert_eq!(folder.object(&arguments)["repeated"], false);

    let ward = &first["limits"]["by"]["ward"];
    assert!(
        ward["groups"].as_u64().is_some_and(|groups| groups <= 3),
        "{first}"
    );
    assert!(first["limits"]["sums"]["minutes"][1].is_u64(), "{first}");
    for profile in first["profiles"].as_array().expect("a list") {
        assert!(profile["limit"].is_i64(), "{profile}");
        let units = &profile["units_over"];
        let end = |end: &str| units[end].as_f64().expect("a number");
        assert!(
            end("low") <= end("estimate") && end("estimate") <= end("high"),
            "{profile}"
        );
    }
    let left_out: Vec<_> = first["left_out"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|left| left["column"].as_str().expect("a name"))
        .collect();
    assert_eq!(left_out, ["change", "note"]);
    let reported = folder.stdout(&arguments[..4]);
    assert!(
        reported.contains("no limit of change: its `bounds` reach below 0"),
        "{reported}"
    );
    let rows = reported
        .lines()
        .find(|line| line.starts_with("rows "))
        .expect("a line");
    let limit = rows.split_whitespace().nth(1).expect("a number");
    assert!(limit.parse::<u64>().is_ok(), "{reported}");
    let budget = folder.stdout(&["budget"]);
    assert!(
        budget.contains("limits of visits") && !budget.contains("SELECT"),
        "{budget}"
    );
}

#[test]
fn what_was_cut_is_said_and_predicted() {
    let folder = clinic();
    let question = "SELECT COUNT(*) AS n FROM visits";
    let reported = folder.object(&["query", "--json", "--epsilon", "20", question]);
    assert_eq!(reported["bounds"][0]["rows_per_unit"], 1);
    assert_eq!(reported["bounds"][0]["interval_of"], "whole_data");
    // 3,900 visits, of which 600 count.
    let value = &reported["rows"][0]["n"];
    let number = |end: &str| value[end].as_f64().expect("a number");
    assert!((number("value") - 3900.0).abs() < 300.0, "{value}");
    // The noise on what they have is of scale 78, so that a part of 0.85 is off by 0.3 with probability below
    // 1e-6.
    let part = reported["cut"][0]["cut"]["estimate"].as_f64().expect("a number");
    assert!((part - 0.85).abs() < 0.3, "{reported}");
    let said = folder.run(&["query", "--epsilon", "20", question]);
    let said = super::stderr(&said);
    assert!(said.contains("\ncut: about "), "{said}");
    let predicted = folder.stdout(&["explain", "--epsilon", "3", question]);
    assert!(
        predicted.contains("cut, as an earlier answer says: about "),
        "{predicted}"
    );
    // The predicted interval, and the one that the answer states if it notices the cut.
    let reported = folder.object(&["explain", "--json", question]);
    let output = &reported["parts"][0]["outputs"][0];
    assert_eq!(output["interval_of"], "bounded_data", "{output}");
    let half = |name: &str| output[name].as_f64().expect("a number");
    assert!(half("half_width_if_cut") > half("half_width"), "{output}");
    let reported = folder.stdout(&["explain", question]);
    assert!(
        reported.contains("the truth of the bounded data") && reported.contains("include what was cut"),
        "{reported}"
    );
    let without = folder.object(&[
        "query",
        "--json",
        "--epsilon",
        "20",
        "--no-cut-estimate",
        question,
    ]);
    assert_eq!(without["cut"].as_array().map(Vec::len), Some(0));
    assert_eq!(without["bounds"][0]["interval_of"], "bounded_data");
    assert!(
        (without["rows"][0]["n"]["value"].as_f64().expect("a number") - 600.0).abs() < 20.0,
        "{without}"
    );
}

/// The sum of numbers of visits means nothing, and asking for it would take a part of what the rest is seen
/// with.
#[test]
fn numbers_of_things_get_no_limits() {
    let folder = clinic();
    let mut csv = "person,visit_id,ward,minutes\n".to_owned();
    for visit in 0..100 {
        csv += &format!("{},{visit},eyes,20\n", visit % 10);
    }
    folder.write("visits.csv", &csv);
    let catalog = std::fs::read_to_string(folder.path("deniable.toml")).expect("there");
    folder.write(
        "deniable.toml",
        &format!("{catalog}visit_id = {{ kind = \"int\" }}\n"),
    );
    let dry = folder.stdout(&["limits", "visits", "--epsilon", "1", "--dry-run"]);
    assert!(
        dry.contains("sum of minutes") && dry.contains("\nno limit of visit_id: by its name it only tells"),
        "{dry}"
    );
    assert!(
        !dry.contains("largest visit_id") && !dry.contains("sum of visit_id"),
        "{dry}"
    );
    let refused = folder.refused(&["limits", "visits", "--epsilon", "1", "--group-by", "person"], 2);
    assert!(
        refused.contains("no answer has a group for each person"),
        "{refused}"
    );
    // A curator who wants to sum it says so.
    let summed = format!("{catalog}visit_id = {{ kind = \"int\", bounds = [0, 1000] }}\n");
    folder.write("deniable.toml", &summed);
    let dry = folder.stdout(&["limits", "visits", "--epsilon", "1", "--dry-run"]);
    assert!(dry.contains("sum of visit_id"), "{dry}");
}
