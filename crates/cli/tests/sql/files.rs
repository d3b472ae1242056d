//! Files as other programs write them, and columns with capitals.

use super::Folder;
use serde_json::Value;

const HEAD: &str = "name = \"raw\"\n[unit]\nwhose = \"person\"\n[budget]\nepsilon = 100000000\n";

/// The rows of an answer at an ε so large that the noise is 0: 360 or more for each unit of the sensitivity,
/// which is at most 100 here, leaves another value a probability below 1e-150.
fn rows(folder: &Folder, sql: &str) -> Vec<Value> {
    let answer = folder.object(&["query", "--json", "--epsilon", "40000", sql]);
    answer["rows"].as_array().expect("rows").clone()
}

/// The last value of the first row.
fn first(folder: &Folder, sql: &str) -> f64 {
    let row = rows(folder, sql).swap_remove(0);
    let last = row.as_object().and_then(|row| row.values().next_back());
    last.and_then(|cell| cell["value"].as_f64())
        .unwrap_or_else(|| panic!("{row}"))
}

/// The raw file of the UCI's Adult data: blanks after commas, which names lost and values kept, so that
/// nobody was counted and everybody charged.
#[test]
fn a_raw_file_counts_everybody() {
    let folder = Folder::new();
    let mut data = String::new();
    for row in 0..30 {
        let sex = if row % 3 == 0 { "Female" } else { "Male" };
        let age = if row == 5 {
            "?".to_owned()
        } else {
            (20 + row).to_string()
        };
        data += &format!("{age}, Private, {sex}, {}\n", ["<=50K", ">50K."][row % 2]);
    }
    data.push('\n');
    folder.write("adult.data", &data);
    let columns = "[tables.adult.columns]\nage = { kind = \"int\", bounds = [0, 100] }\nwork = { kind = \"text\" }\nsex = { kind = \"text\", values = [\"Male\", \"Female\"] }\nincome = { kind = \"text\", values = [\"<=50K\", \">50K.\"] }\n";
    let table = "[tables.adult]\nsource = \"adult.data\"\nformat = \"csv\"\nheader = false\nnulls = [\"?\"]\neach_row = true\n";
    folder.write("deniable.toml", &format!("{HEAD}{table}{columns}"));
    let counted: Vec<_> = rows(&folder, "SELECT sex, COUNT(*) AS n FROM adult GROUP BY sex")
        .iter()
        .map(|row| (row["sex"]["value"].clone(), row["n"]["value"].as_f64()))
        .collect();
    assert!(counted.contains(&("Male".into(), Some(20.0))), "{counted:?}");
    assert!(counted.contains(&("Female".into(), Some(10.0))), "{counted:?}");
    assert_eq!(first(&folder, "SELECT COUNT(age) AS n FROM adult"), 29.0);
    assert_eq!(
        first(&folder, "SELECT COUNT(*) AS n FROM adult WHERE income = '>50K.'"),
        15.0
    );
    folder.stdout(&["check"]);
    // With a header and no word of how it is written, the same.
    folder.write("adult.data", &format!("age, work, sex, income\n{data}"));
    folder.write(
        "deniable.toml",
        &format!("{HEAD}{}{columns}", table.replace("header = false\n", "")),
    );
    assert_eq!(
        first(&folder, "SELECT COUNT(*) AS n FROM adult WHERE sex = 'Male'"),
        20.0
    );
}

#[test]
fn columns_with_capitals_work_everywhere() {
    let folder = Folder::new();
    folder.write("People.csv", "ID,Age,Home City\n1,30,Ash\n2,40,Bree\n3,50,Ash\n");
    let catalog = format!(
        "{HEAD}[tables.People]\nsource = \"People.csv\"\nunit = \"ID\"\nrows_per_unit = 1\n[tables.People.columns]\nID = {{ kind = \"int\" }}\nAge = {{ kind = \"int\", bounds = [0, 100] }}\n\"Home City\" = {{ kind = \"text\", values = [\"Ash\", \"Bree\"] }}\n"
    );
    folder.write("deniable.toml", &catalog);
    for (sql, expected) in [
        ("SELECT SUM(Age) AS s FROM People", 120.0),
        ("SELECT sum(age) AS s FROM people", 120.0),
        ("SELECT SUM(\"Age\") AS s FROM \"People\"", 120.0),
        ("SELECT SUM(\"People\".AGE) AS s FROM \"People\"", 120.0),
        ("SELECT SUM(p.Age) AS Age FROM People AS p", 120.0),
        (
            "SELECT SUM(p.Age) AS age FROM People AS p ORDER BY age LIMIT 1",
            120.0,
        ),
        ("SELECT COUNT(DISTINCT ID) AS n FROM People WHERE Age > 35", 2.0),
        (
            "SELECT COUNT(*) AS n FROM (SELECT id, MAX(age) AS Oldest FROM People GROUP BY Id) t WHERE oldest > 30",
            2.0,
        ),
        (
            "WITH w AS (SELECT ID, AGE FROM People) SELECT COUNT(*) AS n FROM w WHERE age >= 40",
            2.0,
        ),
        ("SELECT COUNT(*) AS n FROM People a JOIN People b USING (ID)", 3.0),
        (
            "SELECT COUNT(*) AS n FROM People a JOIN People b ON a.Id = b.ID WHERE a.AGE = 30",
            1.0,
        ),
        (
            "SELECT \"Home City\", COUNT(*) AS n FROM People GROUP BY \"Home City\"",
            2.0,
        ),
    ] {
        assert_eq!(first(&folder, sql), expected, "{sql}");
    }
    // What the query calls a column is what it is called.
    let answer = folder.object(&[
        "query",
        "--json",
        "--epsilon",
        "1",
        "SELECT SUM(Age) AS age FROM People",
    ]);
    assert_eq!(answer["columns"][0]["name"], "age", "{answer}");
    // A name in quotes means itself.
    folder.refused(&["query", "--epsilon", "1", "SELECT SUM(\"age\") FROM People"], 2);
    folder.stdout(&[
        "query",
        "--epsilon",
        "1",
        "SELECT \"Home City\" AS \"age\", COUNT(*) FROM People GROUP BY \"Home City\" ORDER BY age",
    ]);
    folder.stdout(&["check"]);
}

#[test]
fn a_draft_says_how_a_file_is_written() {
    let folder = Folder::new();
    std::fs::write(folder.path("kunden.csv"), b"Kunde;Gr\xf6\xdfe\n1;1,80\n").expect("written");
    folder.write("adult.data", "39, State-gov, 77516\n50, Private, 83311\n");
    folder.stdout(&["init", "kunden.csv", "--unit", "kunde", "--output", "kunden.toml"]);
    let draft = std::fs::read_to_string(folder.path("kunden.toml")).expect("written");
    assert!(
        draft.contains("delimiter = \";\"\nencoding = \"latin1\""),
        "{draft}"
    );
    assert!(draft.contains("\"Größe\" = "), "{draft}");
    folder.stdout(&[
        "explain",
        "--catalog",
        "kunden.toml",
        "SELECT COUNT(*) FROM kunden WHERE Kunde = '1'",
    ]);
    let refused = folder.refused(&["init", "adult.data", "--output", "adult.toml"], 2);
    assert!(
        refused.contains("looks like data") && refused.contains("--no-header"),
        "{refused}"
    );
    folder.stdout(&["init", "adult.data", "--no-header", "--output", "adult.toml"]);
    let draft = std::fs::read_to_string(folder.path("adult.toml")).expect("written");
    assert!(
        draft.contains("header = [\"column_1\", \"column_2\", \"column_3\"]"),
        "{draft}"
    );
    assert!(
        !draft.contains("State-gov") && !draft.contains("77516"),
        "{draft}"
    );
}
