//! Integers mean what they mean in PostgreSQL, and the groups of an expression are those that it can have.

use crate::harness::{Bench, NEARLY_EXACT, PEOPLE};

fn ages() -> impl Iterator<Item = i64> {
    (0..PEOPLE).map(|person| 18 + (person as i64 * 7) % 70)
}

/// The keys of an answer as they are printed, and the counts beside them.
fn groups(bench: &Bench, sql: &str) -> Vec<(String, f64)> {
    let answer = bench.ask(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let group = |row: &Vec<sql::Cell>| (row[0].value.to_string(), row[1].value.as_f64().unwrap().round());
    answer.rows.iter().map(group).collect()
}

fn expected(key: impl Fn(i64) -> i64, keys: impl IntoIterator<Item = i64>) -> Vec<(String, f64)> {
    let count = |wanted: i64| ages().filter(|age| key(*age) == wanted).count() as f64;
    keys.into_iter()
        .map(|wanted| (wanted.to_string(), count(wanted)))
        .collect()
}

#[test]
fn integers_are_divided_without_a_fraction() {
    let bench = Bench::new(NEARLY_EXACT);
    assert_eq!(
        groups(
            &bench,
            "SELECT age/10 AS d, COUNT(*) FROM people GROUP BY d ORDER BY d"
        ),
        expected(|age| age / 10, 0..=12)
    );
    assert_eq!(
        groups(
            &bench,
            "SELECT age % 7, COUNT(*) FROM people GROUP BY 1 ORDER BY 1"
        ),
        expected(|age| age % 7, 0..7)
    );
    // Born in the thirties, from 1930 to 1939, not in 1930 alone.
    let sql = "SELECT COUNT(*) FROM (SELECT 1998 - age AS birth_year FROM people) AS born WHERE birth_year/10 = 193";
    let born = ages().filter(|age| (1930..1940).contains(&(1998 - age))).count();
    assert!(born > 10);
    assert!((bench.numbers(sql)[0][0] - born as f64).abs() < 0.5);
}

#[test]
fn only_groups_that_can_be_are_listed() {
    let bench = Bench::new(NEARLY_EXACT);
    let tens: Vec<i64> = (0..=12).map(|ten| ten * 10).collect();
    for sql in [
        "SELECT FLOOR(age/10)*10, COUNT(*) FROM people GROUP BY 1 ORDER BY 1",
        "SELECT age/10*10, COUNT(*) FROM people GROUP BY 1 ORDER BY 1",
        "SELECT age - age % 10, COUNT(*) FROM people GROUP BY 1 ORDER BY 1",
        "SELECT d * 10, COUNT(*) FROM (SELECT age/10 AS d FROM people) AS q GROUP BY 1 ORDER BY 1",
    ] {
        assert_eq!(
            groups(&bench, sql),
            expected(|age| age / 10 * 10, tens.clone()),
            "{sql}"
        );
    }
    // A float with bounds, cut to whole thousands: 0 to 100, and NULL.
    let sql = "SELECT FLOOR(income/10000)*10000 AS k, COUNT(*) FROM people GROUP BY k ORDER BY k";
    let keys: Vec<String> = groups(&bench, sql).into_iter().map(|(key, _)| key).collect();
    let mut wanted: Vec<String> = (0..=10)
        .map(|ten| format!("{:?}", f64::from(ten) * 10_000.0))
        .collect();
    wanted.push("null".to_owned());
    assert_eq!(keys, wanted);
    // Both keys are of one column, so 121 pairs are possible and not 13 · 121.
    let sql = "SELECT age/10, age, COUNT(*) FROM people GROUP BY 1, 2";
    assert_eq!(bench.ask(sql).unwrap().rows.len(), 121);
    // What cannot be is not asked about: nobody is older than the bound.
    let sql = "SELECT CASE WHEN age < 30 THEN 'young' WHEN age > 200 THEN 'never' ELSE 'old' END, COUNT(*) FROM people GROUP BY 1";
    let keys: Vec<String> = groups(&bench, sql).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["young", "old"]);
}

/// The planner takes a power of integers for an integer, which would cut these keys to 1, 0, 0 and so on.
#[test]
fn keys_are_not_cut() {
    let bench = Bench::new(NEARLY_EXACT);
    let sql = "SELECT power(2, 0 - age/30) AS k, COUNT(*) FROM people GROUP BY k ORDER BY k";
    let keys: Vec<String> = groups(&bench, sql).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["0.0625", "0.125", "0.25", "0.5", "1.0"]);
    let sql = "SELECT k * 2, n FROM (SELECT power(2, 0 - age/30) AS k, COUNT(*) AS n FROM people GROUP BY k) AS q ORDER BY k";
    let keys: Vec<String> = groups(&bench, sql).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["0.125", "0.25", "0.5", "1.0", "2.0"]);
}

#[test]
fn averages_of_quotients_have_bounds_where_the_divisor_is_whole() {
    let bench = Bench::new(NEARLY_EXACT);
    let average = |of: &dyn Fn(i64) -> Option<f64>| {
        let values: Vec<f64> = ages().filter_map(of).collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    let close = |sql: &str, expected: f64| {
        let found = bench.numbers(sql)[0][0];
        assert!((found - expected).abs() < 0.01, "{sql}: {found}, not {expected}");
    };
    close(
        "SELECT AVG(age / 7) FROM people",
        average(&|age| Some((age / 7) as f64)),
    );
    close(
        "SELECT AVG(age / 8.0) FROM people",
        average(&|age| Some(age as f64 / 8.0)),
    );
    // By zero there is no quotient.
    close(
        "SELECT AVG(age / (age - 18)) FROM people",
        average(&|age| (age != 18).then(|| (age / (age - 18)) as f64)),
    );
    close(
        "SELECT AVG(age::float / (age - 18)) FROM people",
        average(&|age| (age != 18).then(|| age as f64 / (age - 18) as f64)),
    );
    let refusal = bench.refusal("SELECT AVG(age / income) FROM people");
    assert!(refusal.contains("divisor may come close to zero"), "{refusal}");
    assert!(refusal.contains("contribution_bounds_per_row"), "{refusal}");
    for fixed in [
        "SELECT AVG(age / income, contribution_bounds_per_row => (0, 1)) FROM people",
        "SELECT AVG(LEAST(GREATEST(age / income, 0), 1)) FROM people",
        "SELECT AVG(age / (income + 1)) FROM people",
    ] {
        bench.numbers(fixed);
    }
}
