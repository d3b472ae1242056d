//! With a huge ε the private answer is the plain one.

use crate::harness::{Bench, CATALOG, NEARLY_EXACT, PEOPLE};
use sql::{CellKind, QueryRequest, WantedError};

#[track_caller]
fn close(actual: f64, expected: f64) {
    assert!(
        (actual - expected).abs() <= 1e-2 + expected.abs() * 1e-3,
        "{actual} is not {expected}"
    );
}

#[test]
fn counts_sums_and_averages_of_all() {
    let bench = Bench::new(NEARLY_EXACT);
    let rows = bench.numbers("SELECT COUNT(*), COUNT(income), SUM(age), AVG(age), AVG(income) FROM people");
    close(rows[0][0], PEOPLE as f64);
    close(rows[0][1], 392.0);
    let ages: Vec<f64> = (0..PEOPLE)
        .map(|person| (18 + (person * 7) % 70) as f64)
        .collect();
    close(rows[0][2], ages.iter().sum());
    close(rows[0][3], ages.iter().sum::<f64>() / PEOPLE as f64);
    let incomes: Vec<f64> = (0..PEOPLE)
        .filter(|person| person % 50 != 49)
        .map(|person| 1000.0 + (person * 37 % 900) as f64 * 100.0)
        .collect();
    close(rows[0][4], incomes.iter().sum::<f64>() / incomes.len() as f64);
}

#[test]
fn declared_groups_appear_even_empty() {
    let bench = Bench::new(NEARLY_EXACT);
    let answer = bench
        .ask("SELECT education, COUNT(*) AS n FROM people GROUP BY education ORDER BY education")
        .unwrap();
    let names: Vec<_> = answer
        .rows
        .iter()
        .map(|row| row[0].value.as_str().map(str::to_owned))
        .collect();
    let expected = ["bachelor", "doctor", "master", "none", "school"];
    assert_eq!(names[..5], expected.map(|name| Some(name.to_owned())));
    let counts: Vec<f64> = answer
        .rows
        .iter()
        .map(|row| row[1].value.as_f64().unwrap())
        .collect();
    for (count, expected) in counts.iter().zip([100.0, 0.0, 100.0, 100.0, 100.0, 0.0]) {
        close(*count, expected);
    }
    assert!(answer.columns[1].noisy && !answer.columns[0].noisy);
}

#[test]
fn undeclared_groups_are_selected() {
    let bench = Bench::new(NEARLY_EXACT);
    let rows = bench.numbers("SELECT region, COUNT(*) FROM people GROUP BY region");
    assert_eq!(rows.len(), 4);
    close(rows.iter().map(|row| row[0]).sum(), PEOPLE as f64);
}

#[test]
fn several_rows_a_person() {
    let bench = Bench::new(NEARLY_EXACT);
    let rows = bench.numbers("SELECT COUNT(*), COUNT(DISTINCT person), SUM(minutes), AVG(cost) FROM visits");
    close(rows[0][0], 800.0);
    close(rows[0][1], 320.0);
    let minutes: f64 = (0..PEOPLE)
        .flat_map(|person| (0..person % 5).map(|visit| (10 + visit * 5) as f64))
        .sum();
    close(rows[0][2], minutes);
    let by_department = bench.numbers("SELECT department, COUNT(*) FROM visits GROUP BY department");
    close(by_department.iter().map(|row| row[0]).sum(), 800.0);
}

/// Names with capitals are found as they are declared, in any case where all tables spell them alike, and in quotes always.
#[test]
fn columns_with_capitals_need_no_quotes() {
    let catalog = CATALOG
        .replace("EPSILON", NEARLY_EXACT)
        .replace("NEIGHBORS", "add_remove")
        .replace("\"person\"\n", "\"Person\"\n")
        .replace("whose = \"Person\"", "whose = \"person\"")
        .replace("\nperson =", "\nPerson =")
        .replace("\nincome =", "\nIncome =")
        .replacen("\nregion =", "\nRegion =", 1);
    let bench = Bench::with(&catalog);
    let path = |name: &str| bench.directory.path().join(name);
    for (file, before, after) in [
        (
            "people.csv",
            "person,age,education,income,region",
            "Person,age,education,Income,Region",
        ),
        ("visits.csv", "person", "Person"),
    ] {
        let text = std::fs::read_to_string(path(file)).unwrap();
        std::fs::write(path(file), text.replacen(before, after, 1)).unwrap();
    }
    let expected = Bench::new(NEARLY_EXACT).numbers("SELECT AVG(income) FROM people");
    let near = |sql: &str| {
        let found = bench.numbers(sql);
        assert!(
            (found[0][0] - expected[0][0]).abs() < 1.0,
            "{sql}: {found:?} {expected:?}"
        );
    };
    for sql in [
        "SELECT AVG(Income) FROM people",
        "SELECT avg(income) FROM People",
        "SELECT AVG(\"Income\") FROM people",
        "SELECT AVG(P.INCOME) FROM people AS p",
        "SELECT AVG(income) FROM (SELECT Income FROM people)",
        "SELECT AVG(Income) FROM (SELECT Income AS income FROM people) AS t",
        "WITH t (income) AS (SELECT INCOME FROM people) SELECT AVG(t.Income) FROM t",
        "SELECT AVG(Income) AS income FROM people ORDER BY INCOME",
    ] {
        near(sql);
    }
    // The owner too, and in USING.
    let joined = "SELECT COUNT(*) FROM people JOIN visits USING (person)";
    assert!(bench.numbers(joined)[0][0] > 100.0);
    let counted = "SELECT COUNT(DISTINCT person) FROM people";
    assert!((bench.numbers(counted)[0][0] - PEOPLE as f64).abs() < 1.0);
    // Two tables spell it differently: it is that of the table in the query, and where both are there quotes say which is meant.
    let spelled = "SELECT COUNT(*) FROM people WHERE Region = 'north'";
    assert!(bench.numbers(spelled)[0][0] > 50.0);
    let quoted = "SELECT COUNT(*) FROM people JOIN regions ON people.\"Region\" = regions.region";
    assert!((bench.numbers(quoted)[0][0] - PEOPLE as f64).abs() < 1.0);
    assert_eq!(
        bench
            .ask("SELECT COUNT(Income) AS Counted FROM people")
            .unwrap()
            .columns[0]
            .name,
        "counted",
        "what the catalog does not name is as it was"
    );
}

/// Days stay days in an answer, for whoever reads it as a table.
#[test]
fn days_stay_days() {
    let bench = Bench::new(NEARLY_EXACT);
    let answer = bench
        .ask("SELECT day, COUNT(*) AS visits FROM visits GROUP BY day")
        .unwrap();
    assert_eq!(answer.columns[0].kind, CellKind::Date);
    let types: Vec<String> = answer
        .to_batch()
        .unwrap()
        .schema()
        .fields()
        .iter()
        .map(|field| field.data_type().to_string())
        .collect();
    assert_eq!(types, ["Date32", "Int64", "Int64", "Int64"]);
}

/// The ε for a wanted error is the least of three digits: that of the next smaller number is larger.
#[test]
fn the_smallest_epsilon_for_an_error_is_found() {
    let bench = Bench::new("0.5");
    let found = |sql: &str, wanted: &str| {
        let wanted: WantedError = wanted.parse().unwrap();
        bench
            .dataset
            .epsilon_for(&QueryRequest::new(sql, "tester"), wanted, 1000)
    };
    let error = |sql: &str, epsilon: &str| {
        let ask = QueryRequest {
            epsilon: Some(accounting::Epsilon::parse(epsilon).unwrap()),
            ..QueryRequest::new(sql, "tester")
        };
        let reported = bench.dataset.explain(&ask, 1000).unwrap();
        reported.parts[0].outputs[0].expected_error.unwrap()
    };
    let count = "SELECT COUNT(*) AS n FROM people";
    // The mean distance of discrete Laplace noise is 1/sinh ε.
    assert_eq!(found(count, "0.3").unwrap().to_string(), "1.92");
    assert!(error(count, "1.92") <= 0.3 && error(count, "1.91") > 0.3);
    let relative = found(count, "2%").unwrap().to_string();
    assert_eq!(
        relative,
        found(count, "20").unwrap().to_string(),
        "2 % of 1000 rows"
    );
    assert_eq!(found(count, "1e9").unwrap().to_string(), "0.0001");
    let refusal = |sql: &str, wanted: &str| found(sql, wanted).unwrap_err().to_string();
    let sum = "SELECT SUM(minutes) AS m FROM visits";
    assert!(refusal(sum, "1e-9").contains("even ε = 999"));
    let priced = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) FROM people";
    assert!(refusal(priced, "1").contains("the query itself says what it costs"));
    assert!(bench.dataset.ledger().unwrap().charges().unwrap().is_empty());
}

/// Of a UNION and of a CASE the engine's planner takes the type of the first part.
#[test]
fn numbers_with_fractions_in_any_part_are_shown_with_fractions() {
    let bench = Bench::new(NEARLY_EXACT);
    let kind = |sql: &str| {
        let answer = bench.ask(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        (answer.columns[0].kind, answer.rows[0][0].value.as_f64().unwrap())
    };
    for (parts, expected) in [
        (["minutes", "cost"], CellKind::Float),
        (["cost", "minutes"], CellKind::Float),
        (["minutes", "minutes"], CellKind::Int),
    ] {
        let [first, second] = parts;
        let united = format!(
            "(SELECT person, {first} AS x FROM visits WHERE person = 1 UNION ALL SELECT person, {second} AS x FROM visits WHERE person = 1) AS u"
        );
        // A median of whole numbers may lie between two of them.
        let aggregates: &[&str] = match expected {
            CellKind::Float => &["SUM(x)", "MAX(x)", "MEDIAN(x)"],
            _ => &["SUM(x)", "MAX(x)"],
        };
        for aggregate in aggregates {
            let sql = format!("SELECT {aggregate} AS a FROM {united}");
            assert_eq!(kind(&sql).0, expected, "{sql}");
        }
        let sql =
            format!("SELECT SUM(CASE WHEN person > 200 THEN {first} ELSE {second} END) AS a FROM visits");
        assert_eq!(kind(&sql).0, expected, "{sql}");
        let sql = format!("SELECT SUM({first}) AS a FROM visits UNION ALL SELECT SUM({second}) FROM visits");
        assert_eq!(kind(&sql).0, expected, "{sql}");
    }
    // Person 1 has one visit of 10 minutes that cost 21.5.
    let (_, sum) = kind(
        "SELECT SUM(x) AS a FROM (SELECT person, minutes AS x FROM visits WHERE person = 1 UNION ALL SELECT person, cost AS x FROM visits WHERE person = 1) AS u",
    );
    assert!((sum - 31.5).abs() < 0.1, "{sum}");
}

/// What groups have is taken from what was released, of the same rows, and costs nothing.
#[test]
fn sizes_of_groups_are_known_from_earlier_answers() {
    let bench = Bench::new(NEARLY_EXACT);
    let asked = |sql: &str| QueryRequest::new(sql, "tester");
    let known = |sql: &str| bench.dataset.known_sizes(&asked(sql)).unwrap();
    let ages = "SELECT education, AVG(age) FROM people GROUP BY 1 ORDER BY 2";
    assert_eq!(known(ages), None);
    bench
        .dataset
        .query(&asked("SELECT COUNT(*) FROM people"))
        .unwrap();
    let all = known(ages).unwrap();
    assert!(all.all_alike && all.groups > 4, "{all:?}");
    assert_eq!(all.rows, 400 / all.groups as u64);
    let counts = "SELECT education AS e, COUNT(*) AS n FROM people GROUP BY e";
    let charge = bench
        .dataset
        .query(&asked(counts))
        .unwrap()
        .answer
        .cost
        .unwrap()
        .charge;
    let found = known(ages).unwrap();
    assert_eq!((found.rows, found.charge, found.all_alike), (100, charge, false));
    // A question that counts its own groups, asked before for another ε.
    let both = QueryRequest {
        epsilon: Some(accounting::Epsilon::parse("50000").unwrap()),
        ..asked("SELECT smoker, SUM(age), COUNT(*) FROM people GROUP BY smoker")
    };
    bench.dataset.query(&both).unwrap();
    let found = known(&both.sql).unwrap();
    assert!(
        [133, 134, 266, 267].contains(&found.rows) && found.groups == 2,
        "{found:?}"
    );
    for other in [
        "SELECT education, AVG(age) FROM people WHERE age > 30 GROUP BY education",
        "SELECT department, AVG(cost) FROM visits GROUP BY department",
    ] {
        assert_eq!(known(other), None, "{other}");
    }
    assert_eq!(bench.dataset.ledger().unwrap().charges().unwrap().len(), 3);
}
