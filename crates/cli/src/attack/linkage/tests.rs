use super::*;
use crate::delivery::parsed;
use std::path::Path;

fn ask(words: &str) -> Result<Findings, CliError> {
    findings(&parsed::<Arguments>(words)?)
}

fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file");
    path.display().to_string()
}

/// Six people; zip and sex make one pair and four who are alone, age alone makes nobody alone but the last.
const PEOPLE: &str = "\
zip,sex,age
1,f,30
1,f,30
1,m,30
2,f,40
2,m,40
3,m,50
";

#[test]
fn a_table_is_reported_in_groups_and_sets() {
    let folder = tempfile::tempdir().expect("a folder");
    let people = file(folder.path(), "people.csv", PEOPLE);
    let findings = ask(&format!("{people} --delta 1e-12")).expect("an answer");
    insta::assert_snapshot!(findings.text, @r"
    6 rows, by zip, sex, age: 66.7 % are singled out; the smallest group is 1 (k-anonymity).

    rows that agree  groups  rows  share of rows  a private release shows a group  shown in one
    ───────────────  ──────  ────  ─────────────  ───────────────────────────────  ────────────
    1 (singled out)       4     4         66.7 %                  at most 1.0e-12             0
             2 to 4       1     2         33.3 %                  at most 3.7e-12             0

    A release of these groups with (1, 1e-12) differential privacy shows a group of one with probability at most δ; one was drawn: 0 of 5 groups shown, none of a single row.

    Sets of at most 3 columns that single out 50.0 % of the rows:

    columns that suffice, none to spare  rows singled out   share
    ───────────────────────────────────  ────────────────  ──────
    zip, sex                                            4  66.7 %
    sex, age                                            4  66.7 %
    ");
    assert_eq!(findings.json["smallest_group"], 1);
    assert_eq!(
        findings.json["identifying_sets"],
        serde_json::json!([
            { "columns": ["zip", "sex"], "rows_singled_out": 4 },
            { "columns": ["sex", "age"], "rows_singled_out": 4 },
        ])
    );
    // One column alone singles out the last row; asked for less, it is enough.
    let findings = ask(&format!("{people} --columns age --identifying 0.1")).expect("an answer");
    assert_eq!(
        findings.json["identifying_sets"][0]["columns"],
        serde_json::json!(["age"])
    );
    let findings = ask(&format!("{people} --identifying 1")).expect("an answer");
    assert!(
        findings
            .text
            .contains("No set of at most 3 columns singles out 100 %"),
        "{}",
        findings.text
    );
}

#[test]
fn two_tables_are_linked_and_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let hospital = file(
        folder.path(),
        "hospital.csv",
        "zip,sex,illness,who\n1,f,flu,a\n1,m,cold,b\n2,f,gout,c\n2,f,flu,d\n9,m,flu,e\n",
    );
    let voters = file(
        folder.path(),
        "voters.csv",
        "name,sex,zip,who\nAnn,f,1,a\nBen,m,1,x\nCid,f,2,c\nDan,m,7,y\n",
    );
    let matches = folder.path().join("found.csv").display().to_string();
    let findings = ask(&format!(
        "{hospital} --with {voters} --names name --truth who --matches {matches}"
    ))
    .expect("an answer");
    insta::assert_snapshot!(findings.text, @r"
    5 rows linked to 4 rows with names on zip, sex.

    rows of the first table        rows   share
    ─────────────────────────────  ────  ──────
    singled out in it                 3  60.0 %
    linked to one row with a name     2  40.0 %
    with several candidates           2  40.0 %
    without a candidate               1  20.0 %

    Of these 1 are right and 1 are wrong: precision 50.0 %, recall 50.0 % of the 2 who could be found.
    A release with (1, 1e-9) differential privacy has no rows to link, and whoever guesses between two equally likely facts about a person from it is right with probability at most 73.1 %.
    ");
    assert_eq!(findings.json["judged"]["precision"], 0.5);
    let written = std::fs::read_to_string(&matches).expect("the matches");
    assert_eq!(written, "row,row_with_name,name\n1,1,Ann\n2,2,Ben\n");
    // Without the truth nothing is claimed.
    let findings = ask(&format!("{hospital} --with {voters} --columns zip")).expect("an answer");
    assert!(findings.json["judged"].is_null());
    assert_eq!(findings.json["linked"], 0);
}

#[test]
fn ratings_are_matched_and_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    // Thirty users rated the same four films, and user 9 three that hardly anybody knows.
    let mut ratings = String::from("user,film,stars,day\n");
    for user in 0..30 {
        for film in 0..4 {
            let (stars, day) = (1 + (user + film) % 5, 1 + user % 28);
            ratings += &format!("u{user},f{film},{stars},2005-01-{day:02}\n");
        }
    }
    for film in 90..93 {
        ratings += &format!("u9,f{film},4,2005-02-10\n");
    }
    let ratings = file(folder.path(), "ratings.csv", &ratings);
    // Those three, a star and two days off, and a film that everybody knows.
    let mut reviews = String::from("user,film,stars,day\nu9,f0,5,2005-01-10\n");
    for film in 90..93 {
        reviews += &format!("u9,f{film},5,2005-02-12\n");
    }
    let reviews = file(folder.path(), "reviews.csv", &reviews);
    let matches = folder.path().join("found.csv").display().to_string();
    let findings = ask(&format!(
        "{ratings} --with {reviews} --ratings user,film,stars,day --truth user --matches {matches}"
    ))
    .expect("an answer");
    assert_eq!(findings.json["accepted"], 1, "{}", findings.json);
    assert_eq!(findings.json["judged"]["right"], 1);
    let written = std::fs::read_to_string(&matches).expect("the matches");
    assert!(written.starts_with("who,name,eccentricity\nu9,u9,"), "{written}");
    // So far ahead is nobody.
    let findings = ask(&format!(
        "{ratings} --with {reviews} --ratings user,film,stars --eccentricity 50"
    ))
    .expect("an answer");
    assert_eq!(findings.json["accepted"], 0);
    assert!(findings.json["judged"].is_null());
}

#[test]
fn synthetic_people_are_found() {
    let findings = ask("--people 40000 --identifying 0.7").expect("an answer");
    assert!(findings.json["census"]["singled_out"].as_f64().expect("a number") > 0.5);
    assert!(
        findings.json["hospital"]["judged"]["precision"]
            .as_f64()
            .expect("a number")
            > 0.8
    );
    assert!(
        findings.json["ratings"]["judged"]["recall"]
            .as_f64()
            .expect("a number")
            > 0.8
    );
    assert_eq!(
        findings.json["census"]["identifying_sets"][0]["columns"],
        serde_json::json!(["zip", "sex", "birth_date"])
    );
    assert_eq!((findings.rows.len(), findings.figures.len()), (3, 2));
    // The same people again.
    let again = ask("--people 40000 --identifying 0.7").expect("an answer");
    assert_eq!(again.json["hospital"], findings.json["hospital"]);
}

#[test]
fn nonsense_is_refused_without_quoting_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let people = file(folder.path(), "people.csv", PEOPLE);
    let empty = file(folder.path(), "empty.csv", "");
    let header = file(folder.path(), "header.csv", "zip,sex\n");
    let twice = file(folder.path(), "twice.csv", "zip,zip\n1,2\n");
    let apart = file(folder.path(), "apart.csv", "height\nsecret\n");
    let ratings = file(folder.path(), "ratings.csv", "who,film,stars,day\na,x,secret,1\n");
    let days = file(folder.path(), "days.csv", "who,film,stars,day\na,x,1,secret\n");
    for (words, expected) in [
        (format!("{people} --columns height"), "no column `height`"),
        (format!("{people} --columns zip,zip"), "names `zip` twice"),
        (twice.clone(), "more than one column `zip`"),
        (empty.clone(), "is empty"),
        (header.clone(), "has no rows"),
        ("/nowhere.csv".to_owned(), "cannot read `/nowhere.csv`"),
        (format!("{people} --identifying 0"), "--identifying"),
        (format!("{people} --largest 0"), "--largest"),
        (format!("{people} --eccentricity -1"), "unexpected argument"),
        (format!("{people} --epsilon 0"), "ε must be positive"),
        (format!("{people} --delta 0"), "needs δ > 0"),
        ("--people 3".to_owned(), "--people must lie"),
        (format!("--with {people}"), "required"),
        (format!("{people} --with {apart}"), "no column of the same name"),
        (
            format!("{people} --with {people} --columns zip,age --truth zip"),
            "--truth is one of --columns",
        ),
        (format!("{people} --with {people} --names who"), "no column `who`"),
        (
            format!("{ratings} --with {ratings} --ratings who,film"),
            "three or four columns",
        ),
        (
            format!("{ratings} --with {ratings} --ratings who,film,stars,day"),
            "line 2: `stars` is not a number",
        ),
        (
            format!("{days} --with {days} --ratings who,film,stars,day"),
            "line 2: `day` is not a day",
        ),
        (
            format!("{days} --with {days} --ratings who,film,points"),
            "no column `points`",
        ),
    ] {
        let error = ask(&words).expect_err(&words);
        assert_eq!(error.code, 2);
        let said = error.to_string();
        assert!(
            said.contains(expected) && !said.contains("secret"),
            "{words}: {said}"
        );
    }
}
