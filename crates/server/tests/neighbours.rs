//! Everything that a client can see of a query besides its noisy numbers is the same on neighbouring data:
//! statuses, headers, problems, columns, groups, notices. Tested for more than a hundred queries, answered
//! and refused, through both entrances.

mod common;

use common::{Running, json, people, quick, text};
use serde_json::Value;
use server::accounts::Role;

/// Somebody who stands out: the only one of their kind in more ways than one.
const OUTLIER: &str = "9999,100,,10,2024-06-30,true\n";

fn questions() -> Vec<String> {
    let mut questions = Vec::new();
    let aggregates = [
        "COUNT(*)",
        "SUM(age)",
        "AVG(score)",
        "COUNT(DISTINCT age)",
        "MIN(age)",
        "MAX(score)",
        "MEDIAN(age)",
        "STDDEV(age)",
    ];
    let filters = [
        "",
        "WHERE age > 99",
        "WHERE region IS NULL",
        "WHERE score / (age - 100) > 1",
        "WHERE age = 1000",
    ];
    for aggregate in aggregates {
        for filter in filters {
            questions.push(format!("SELECT {aggregate} AS x FROM people {filter}"));
        }
        questions.push(format!(
            "SELECT region, {aggregate} AS x FROM people GROUP BY region ORDER BY region"
        ));
        questions.push(format!(
            "SELECT member, {aggregate} AS x FROM people WHERE age >= 50 GROUP BY member ORDER BY member"
        ));
        questions.push(format!("SELECT date_trunc('month', joined) AS month, {aggregate} AS x FROM people GROUP BY month ORDER BY month"));
        questions.push(format!("SELECT {aggregate} AS x FROM people GROUP BY age"));
        questions.push(format!("SELECT label, {aggregate} AS x FROM people JOIN regions ON people.region = regions.region GROUP BY label ORDER BY label"));
    }
    for refused in [
        "SELECT * FROM people",
        "SELECT age FROM people",
        "SELECT age FROM people LIMIT 1",
        "SELECT DISTINCT region FROM people",
        "SELECT COUNT(*) FROM nobody",
        "SELECT nothing FROM people",
        "SELECT COUNT(* FROM people",
        "SELECT 1/0 FROM people",
        "SELECT SUM(person_id) FROM people",
        "SELECT COUNT(*) FROM people WHERE age > 'x'",
        "SELECT COUNT(*) FROM people WHERE CAST(region AS int) > 1",
        "SELECT random() FROM people",
        "INSERT INTO people VALUES (1)",
        "SELECT COUNT(*), person_id FROM people GROUP BY person_id",
        "SELECT region, COUNT(*) FROM people GROUP BY region HAVING COUNT(*) > 100",
        "SELECT SUM(age) / COUNT(*) FROM people",
        "SELECT SUM(age) / (COUNT(*) - COUNT(*)) FROM people",
        "WITH r AS (SELECT region, COUNT(*) AS n FROM people GROUP BY region) SELECT MAX(n) FROM r",
        "SELECT COUNT(*) FROM people WHERE person_id IN (SELECT person_id FROM people WHERE age > 99)",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 5000) COUNT(*) FROM people",
    ] {
        questions.push(refused.to_owned());
    }
    questions
}

/// A JSON text with every number gone, and rows that noise may leave out.
fn masked(value: &mut Value) {
    match value {
        Value::Number(_) => *value = Value::Null,
        Value::Array(items) => items.iter_mut().for_each(masked),
        Value::Object(fields) => fields.iter_mut().for_each(|(key, field)| {
            match key.as_str() {
                // The estimate of what was cut is noisy, and so is whether it notices anything.
                "cut" => *field = Value::Null,
                // Of two servers, hence of two keys; it signs what is compared beside it.
                "receipt" => *field = Value::Bool(field.is_object()),
                _ => masked(field),
            }
        }),
        Value::String(text) => *text = without_numbers(text),
        Value::Null | Value::Bool(_) => {}
    }
}

/// A text with its numbers gone, signs and all: NULL, which noise may leave of one, is written as nothing.
fn without_numbers(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars().peekable();
    let mut inside = false;
    while let Some(character) = characters.next() {
        let next_is_digit = characters.peek().is_some_and(char::is_ascii_digit);
        inside = character.is_ascii_digit()
            || character == '-' && next_is_digit
            || inside && (character == '.' || character == 'e');
        if !inside {
            plain.push(character);
        }
    }
    plain
}

#[test]
fn behaviour_is_equal_on_neighbouring_data() {
    let catalog = common::catalog();
    let one = Running::with(quick(), &people(&[]), &catalog);
    let with_outlier = format!("{}{OUTLIER}", people(&[]));
    let other = Running::with(quick(), &with_outlier, &catalog);
    let tokens = [&one, &other].map(|running| running.account("ann", Role::Analyst));
    let questions = questions();
    assert!(questions.len() >= 100, "{}", questions.len());
    let (mut answered, mut refused) = (0, 0);
    for sql in &questions {
        let body = serde_json::json!({ "sql": sql, "epsilon": "1" }).to_string();
        let seen = [(&one, &tokens[0]), (&other, &tokens[1])].map(|(running, token)| {
            let (status, said) = running.query(token, &body, &["--include"]);
            let (head, body) = said.split_once("\r\n\r\n").unwrap();
            // The number of a charge counts every entry of the ledger, and that of a login over the wire is
            // written a moment later.
            let mut headers: Vec<String> = head
                .lines()
                .filter(|line| !line.starts_with("date:") && !line.starts_with("content-length:"))
                .map(|line| match line.starts_with("link:") {
                    true => without_numbers(line),
                    false => line.to_owned(),
                })
                .collect();
            headers.sort_unstable();
            let mut body = json(body);
            masked(&mut body);
            let psql = running.psql(
                &running.conninfo("ann", "options='-c deniable.epsilon=1'"),
                token,
                &["--csv", "--command", sql],
            );
            let wire = (
                psql.status.code(),
                without_numbers(&text(&psql.stdout)),
                without_numbers(&text(&psql.stderr)),
            );
            (status, headers.join("\n"), body, wire)
        });
        assert_eq!(seen[0], seen[1], "{sql}");
        match seen[0].0 {
            200 => answered += 1,
            _ => refused += 1,
        }
    }
    assert!(
        answered >= 60 && refused >= 10,
        "{answered} answered, {refused} refused"
    );
    // As many charges, in the same order, at the same prices.
    let charges = [&one, &other].map(|running| running.on(|store| Ok(store.charges()?)));
    let prices = |place: usize| {
        charges[place]
            .iter()
            .map(|charge| (charge.purpose.clone(), charge.guarantee.to_string()))
            .collect::<Vec<_>>()
    };
    assert_eq!(prices(0), prices(1));
}
