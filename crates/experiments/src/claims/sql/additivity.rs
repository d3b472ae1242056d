//! Each person adds their own part to an answer, and changes nothing of anybody else's.

use super::super::{Fault, Outcome};
use accounting::Epsilon;
use sql::blocking::Dataset;
use sql::{Catalog, QueryRequest};

const PEOPLE: usize = 200;
/// The person who is added.
const ADDED: usize = 9;
/// So large that an answer, rounded, is the exact number: noise of scale 3/ε reaches ½ with probability below
/// e⁻¹⁰⁰⁰⁰.
const EPSILON: &str = "100000";

/// Questions whose answers once moved by everybody's rows when one person came.
const QUESTIONS: [(&str, &str); 5] = [
    (
        "signed zeros in a join",
        "SELECT COUNT(*) FROM visits a JOIN visits b ON (CASE WHEN a.name = 'n9' THEN -0.0 ELSE 0.0 END) = (CASE WHEN b.x < 1 THEN -0.0 ELSE 0.0 END) AND a.person = b.person",
    ),
    (
        "NaN in a comparison",
        "SELECT COUNT(*) FROM visits WHERE NOT (x <= 5)",
    ),
    (
        "texts that grow",
        "SELECT COUNT(*) FROM (SELECT person, MAX(s || s || s || s || s || s || s || s) AS s FROM (SELECT person, MAX(s || s || s || s || s || s || s || s) AS s FROM (SELECT person, CASE WHEN name = 'n9' THEN repeated ELSE '' END AS s FROM visits) AS a GROUP BY person) AS b GROUP BY person) AS c WHERE character_length(s) >= 0",
    ),
    (
        "rows that multiply",
        "SELECT COUNT(*) FROM (SELECT a.person AS person, COUNT(DISTINCT a.x + b.x) AS n FROM (SELECT person, x FROM visits UNION ALL SELECT person, x FROM visits) AS a JOIN visits AS b ON a.person = b.person GROUP BY a.person) AS c WHERE n > 0",
    ),
    (
        "one row a value",
        "SELECT COUNT(*) FROM (SELECT DISTINCT person, x * 0 AS z FROM visits) AS a WHERE z = 0.0",
    ),
];

/// Two rows of each of these people.
fn rows(people: impl Iterator<Item = usize>) -> String {
    const VALUES: [&str; 7] = ["NaN", "-0.0", "0.0", "1", "50", "inf", "-inf"];
    let mut csv = "person,name,x\n".to_owned();
    for person in people {
        for row in 0..2 {
            let value = VALUES[(person * 5 + row * 3) % VALUES.len()];
            csv += &format!("{person},n{person},{value}\n");
        }
    }
    csv
}

/// The exact numbers, one a question.
fn answers(csv: &str) -> Result<Vec<i64>, Fault> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("visits.csv"), csv)?;
    let catalog = "name = \"reproduced\"\n\
         [unit]\nwhose = \"person\"\nneighbors = \"add_remove\"\n\
         [budget]\nepsilon = \"1000000000\"\n\
         [limits]\nrows_per_group = 3\n\
         [tables.visits]\nsource = \"visits.csv\"\nunit = \"person\"\n\
         [tables.visits.columns]\nperson = { kind = \"int\" }\nname = { kind = \"text\" }\nx = { kind = \"float\", bounds = [-10, 50] }\n";
    let dataset = Dataset::new(Catalog::parse(catalog, folder.path())?)?;
    let exact = |sql: &str| -> Result<i64, Fault> {
        let ask = QueryRequest {
            epsilon: Some(Epsilon::parse(EPSILON)?),
            cut_estimate: false,
            ..QueryRequest::new(sql, "reader")
        };
        let (value, _, _) = super::data::number(&dataset.query(&ask)?)?;
        Ok(value.round() as i64)
    };
    QUESTIONS
        .iter()
        .map(|(_, sql)| exact(&sql.replace("repeated", &format!("'{}'", "x".repeat(100)))))
        .collect()
}

pub(super) fn additive() -> Result<Outcome, Fault> {
    let everybody = answers(&rows(0..PEOPLE))?;
    let others = answers(&rows((0..PEOPLE).filter(|person| *person != ADDED)))?;
    let one = answers(&rows(std::iter::once(ADDED)))?;
    let held = |place: &usize| everybody[*place] == others[*place] + one[*place];
    let broken: Vec<&str> = (0..QUESTIONS.len())
        .filter(|place| !held(place))
        .map(|place| QUESTIONS[place].0)
        .collect();
    let reported: Vec<String> = (0..QUESTIONS.len())
        .map(|place| format!("{} = {} + {}", everybody[place], others[place], one[place]))
        .collect();
    let vacuous = everybody.iter().all(|number| *number == 0);
    Ok(Outcome::new(
        "exact numbers: everybody = everybody else + this person, for each question",
        reported.join("; "),
        broken.is_empty() && !vacuous,
    )
    .note(format!(
        "{PEOPLE} synthetic people with NaN, infinities and zeros of both signs; {} questions: {}. Noise at ε = {EPSILON} is far below a half, so answers are the exact numbers. \
         `scripts/hunt` looks for a query that is not additive.",
        QUESTIONS.len(),
        QUESTIONS.map(|(name, _)| name).join(", ")
    )))
}
