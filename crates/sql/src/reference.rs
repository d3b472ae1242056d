//! The reference of the SQL that is understood, made of the tables that the code itself looks names up in.

use crate::understand::aggregates::AGGREGATES;
use crate::understand::expression::{OPERATORS, PARTS, allowed_functions, function_names};
use crate::values::scalar::to_char::WORDS;

/// The names of everything that may be called over private rows, aggregates first: for whoever completes what people type.
///
/// ```
/// let names = sql::called_names();
/// assert!(names.iter().any(|name| name == "COUNT") && names.iter().any(|name| name == "date_trunc"));
/// ```
pub fn called_names() -> Vec<String> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let aggregates = AGGREGATES.iter().map(|aggregate| {
        let end = aggregate.written.find(|letter| !is_part(letter));
        &aggregate.written[..end.unwrap_or(aggregate.written.len())]
    });
    let mut names: Vec<String> = Vec::new();
    for name in aggregates.chain(function_names()) {
        if !name.is_empty() && !names.iter().any(|other| other == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Clauses of a query, what they mean over private rows, and a query of the sample that has them.
const CLAUSES: [(&str, &str, &str); 40] = [
    (
        "SELECT … FROM … WHERE",
        "rows that the condition keeps; each row is looked at alone",
        "SELECT COUNT(*) FROM people WHERE age >= 18 AND region IN ('Ashford', 'Dunmere')",
    ),
    (
        "GROUP BY",
        "columns and expressions. Groups with public names all appear, empty ones too; others appear where enough people are in them, which costs δ",
        "SELECT region, sex, COUNT(*) FROM people GROUP BY region, sex",
    ),
    (
        "GROUP BY of dates",
        "with `bounds` on the column, months and other periods are public groups",
        "SELECT date_trunc('month', day) AS month, COUNT(*) FROM visits GROUP BY month ORDER BY month",
    ),
    (
        "GROUP BY 1, GROUP BY ALL",
        "by the first column of SELECT, or by all that hold no aggregate; a name that SELECT gives works too",
        "SELECT width_bucket(age, 0, 100, 10), COUNT(*) FROM people GROUP BY 1 ORDER BY 1",
    ),
    (
        "GROUP BY ROLLUP (a, b)",
        "groups of a and b, of a, and all together. Counts by public values of a table with one row a unit share their noise: totals are the sums of their parts, and err less. Else each set has noise of its own, for an equal part of ε; EXPLAIN says which",
        "SELECT region, sex, COUNT(*), GROUPING(region), GROUPING(sex) FROM people GROUP BY ROLLUP (region, sex)",
    ),
    (
        "GROUP BY CUBE (a, b)",
        "groups of every set of the keys, at most 64 sets",
        "SELECT sex, smoker, AVG(age), GROUPING(sex, smoker) FROM people GROUP BY CUBE (sex, smoker)",
    ),
    (
        "GROUP BY GROUPING SETS ((a), (b), ())",
        "groups of the sets that are named; also after other keys, as in GROUP BY a, ROLLUP (b)",
        "SELECT sex, region, COUNT(*) FROM people GROUP BY GROUPING SETS ((sex), (region), ())",
    ),
    (
        "GROUPING(a), GROUPING(a, b)",
        "1 in rows of subtotals over a, in which a is NULL, and 0 where NULL is a group of the data; of several keys a number whose bits these are",
        "SELECT sex, COUNT(*) AS n FROM people GROUP BY ROLLUP (sex) ORDER BY GROUPING(sex), sex",
    ),
    (
        "FILTER (WHERE …)",
        "an aggregate of some of the rows",
        "SELECT COUNT(*) FILTER (WHERE smoker), COUNT(*) FROM people",
    ),
    (
        "HAVING, ORDER BY, LIMIT, OFFSET",
        "over released results, so they are free",
        "SELECT occupation, AVG(hours) AS hours FROM people GROUP BY occupation HAVING COUNT(*) > 100 ORDER BY hours DESC LIMIT 3",
    ),
    (
        "arithmetic over aggregates",
        "free, and intervals come along: by arithmetic where one or two noisy numbers meet, and by simulating their noise where more do",
        "SELECT department, SUM(cost) / COUNT(*) AS average FROM visits GROUP BY department",
    ),
    (
        "FETCH FIRST … ROWS ONLY",
        "the same as LIMIT",
        "SELECT region, COUNT(*) AS n FROM people GROUP BY region ORDER BY n DESC OFFSET 1 ROWS FETCH FIRST 3 ROWS ONLY",
    ),
    (
        "f(…) OVER (…), over released results",
        "every window function of the engine, and QUALIFY, for nothing. SUM, AVG, LAG, LEAD and ranks have intervals, which are simulated",
        "SELECT sex, COUNT(*) AS n, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS percent, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM people GROUP BY sex",
    ),
    (
        "f(…) OVER (PARTITION BY person_id …), over private rows",
        "ROW_NUMBER, RANK, DENSE_RANK, PERCENT_RANK, CUME_DIST, NTILE, LAG, LEAD, FIRST_VALUE, LAST_VALUE, COUNT, SUM, AVG, MIN and MAX of one person's rows: the column that names the unit has to be among the partition's. Frames are counted in ROWS; at most 10,000 rows of one person are put in order",
        "SELECT department, COUNT(*) FROM (SELECT person_id, department, ROW_NUMBER() OVER (PARTITION BY person_id ORDER BY day) AS visit FROM visits) AS numbered WHERE visit = 1 GROUP BY department",
    ),
    (
        "WINDOW w AS (…)",
        "names of windows, over released results and over one person's rows",
        "SELECT region, COUNT(*) AS n, RANK() OVER w AS place, NTILE(4) OVER w AS quarter FROM people GROUP BY region WINDOW w AS (ORDER BY COUNT(*) DESC)",
    ),
    (
        "WITH, subqueries in FROM",
        "views of private rows, or of released results",
        "WITH adults AS (SELECT * FROM people WHERE age >= 18) SELECT education, AVG(income) FROM adults GROUP BY education",
    ),
    (
        "GROUP BY the privacy unit, in a subquery",
        "one row a person, or a person and other keys, computed of the person's own rows, exactly and without clamping: COUNT, COUNT(DISTINCT …), SUM, AVG, MIN, MAX, BOOL_AND and BOOL_OR",
        "SELECT AVG(visits, contribution_bounds_per_row => (0, 20)) FROM (SELECT person_id, COUNT(*) AS visits FROM visits GROUP BY person_id) AS of_person",
    ),
    (
        "SELECT DISTINCT, in a subquery",
        "with the column that names the unit",
        "SELECT department, COUNT(*) FROM (SELECT DISTINCT person_id, department FROM visits) AS once GROUP BY department",
    ),
    (
        "SELECT DISTINCT ON (person_id, …) … ORDER BY, in a subquery",
        "the first row of each person and value; the column that names the unit has to be among the expressions",
        "SELECT department, COUNT(*) FROM (SELECT DISTINCT ON (person_id) person_id, department FROM visits ORDER BY person_id, day) AS first GROUP BY department",
    ),
    (
        "SELECT DISTINCT of declared values",
        "lists what the catalog declares, whether rows have it or not, for nothing; without a condition",
        "SELECT DISTINCT education FROM people ORDER BY education",
    ),
    (
        "public tables alone",
        "all of the engine's SQL, for nothing",
        "SELECT country, SUM(population) FROM regions GROUP BY country",
    ),
    (
        "HAVING, in a subquery by the unit",
        "people whose own rows, taken together, fulfil a condition",
        "SELECT COUNT(*) FROM (SELECT person_id, SUM(cost) AS total FROM visits GROUP BY person_id HAVING COUNT(*) >= 3) AS frequent WHERE total > 500",
    ),
    (
        "EXISTS, NOT EXISTS (SELECT …)",
        "whether the same person has such a row: the subquery is tied to the row by the column that names the unit. Over a public table by any condition",
        "SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM visits WHERE visits.person_id = people.person_id AND visits.department = 'cardiology')",
    ),
    (
        "IN, NOT IN (SELECT …)",
        "by the column that names the unit, or tied to it inside; of a public table by any column",
        "SELECT COUNT(*) FROM people WHERE person_id IN (SELECT person_id FROM visits WHERE cost > 500) AND region IN (SELECT region FROM regions WHERE population > 100000)",
    ),
    (
        "= ANY, > ALL (SELECT …)",
        "comparisons with all such rows of the same person, or of a public table; SOME is ANY",
        "SELECT COUNT(*) FROM people WHERE hours > ALL (SELECT minutes FROM visits WHERE visits.person_id = people.person_id)",
    ),
    (
        "= ANY, > ALL (ARRAY[…])",
        "comparisons with a list",
        "SELECT COUNT(*) FROM people WHERE region = ANY (ARRAY['Ashford', 'Dunmere']) AND age > ALL (ARRAY[18, 21])",
    ),
    (
        "(SELECT …) as a value, for each row",
        "an aggregate of the same person's rows in another table, or one row of a public table",
        "SELECT AVG(income) FROM people WHERE (SELECT COUNT(*) FROM visits WHERE visits.person_id = people.person_id) >= 3",
    ),
    (
        "(SELECT …) as a value, over released results",
        "a release of its own, with which the others compute for nothing",
        "SELECT COUNT(*) * 1.0 / (SELECT COUNT(*) FROM people) AS visits_of_one FROM visits",
    ),
    (
        "JOIN of private tables",
        "on the columns that name the unit, and further conditions: INNER and LEFT, with ON, USING, NATURAL, or as FROM a, b WHERE",
        "SELECT people.sex, AVG(visits.cost) FROM visits JOIN people ON visits.person_id = people.person_id GROUP BY people.sex",
    ),
    (
        "JOIN with a public table",
        "on any condition; (VALUES …) AS name (a, b) is a public table too",
        "SELECT regions.country, COUNT(*) FROM people JOIN regions ON people.region = regions.region GROUP BY regions.country",
    ),
    (
        "public LEFT JOIN private … GROUP BY",
        "by columns of the public table: each of its rows has a group, one without a partner too. Count a column of the private table, not COUNT(*)",
        "SELECT regions.region, COUNT(people.person_id) FROM regions LEFT JOIN people ON people.region = regions.region AND people.smoker GROUP BY regions.region",
    ),
    (
        "EXPLAIN SELECT …",
        "what the query would do and cost, how far off it would be, and what is left; free. Also EXPLAIN (FORMAT JSON) and EXPLAIN VERBOSE",
        "EXPLAIN SELECT region, AVG(income) FROM people GROUP BY region",
    ),
    (
        "generate_series(a, b, step), in FROM",
        "a public table of whole numbers, or of timestamps with an INTERVAL between them; at most 10,000 rows",
        "SELECT m, COALESCE(n, 0) AS n FROM generate_series(0, 240, 10) AS g (m) LEFT JOIN (SELECT minutes / 10 * 10 AS m, COUNT(*) AS n FROM visits GROUP BY 1) AS v USING (m) ORDER BY m",
    ),
    (
        "CURRENT_DATE, now(), EXTRACT(YEAR FROM age(a, b))",
        "today is the day of the data, where the catalog declares one: `version` under [data] is a day or a month. Of age, which counts to today where b is left out, whole years are understood, and the months beyond them (MONTH)",
        "SELECT AVG(EXTRACT(YEAR FROM age(DATE '2025-12-31', born)), contribution_bounds_per_row => (0, 110)) FROM people",
    ),
    (
        "UNION ALL, UNION",
        "of private rows that have owners, in a subquery",
        "SELECT COUNT(*) FROM (SELECT person_id FROM people UNION ALL SELECT person_id FROM visits) AS both_tables",
    ),
    (
        "UNION, INTERSECT, EXCEPT of results",
        "of released results, each of which is a release of its own",
        "SELECT 'people' AS what, COUNT(*) AS n FROM people UNION ALL SELECT 'visits', COUNT(*) FROM visits",
    ),
    (
        "contribution_bounds_per_group => (low, high)",
        "what one person may add to one group, stated in the call",
        "SELECT department, SUM(cost, contribution_bounds_per_group => (0, 500)) FROM visits GROUP BY department",
    ),
    (
        "contribution_bounds_per_row => (low, high)",
        "what one row may add",
        "SELECT AVG(cost, contribution_bounds_per_row => (0, 100)) FROM visits",
    ),
    (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (…)",
        "epsilon, delta, max_groups_contributed, max_rows_contributed, min_privacy_units_per_group, group_selection_strategy and privacy_unit_column, as in GoogleSQL; cut_share is the part of ε for an estimate of what the limits cut; unknown_values = true allows constants that are no declared values of their columns",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.2, max_groups_contributed = 1) department, COUNT(*) FROM visits GROUP BY department",
    ),
    (
        "group_selection_strategy = PUBLIC_GROUPS",
        "refused unless all names of groups are public",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (group_selection_strategy = PUBLIC_GROUPS) to_char(day, 'YYYY-MM') AS month, COUNT(*) FROM visits GROUP BY month",
    ),
];

/// An example of each function, over the columns of the sample's people (`p`) or visits (`v`).
const EXAMPLES: [(&str, char, &str); 45] = [
    ("abs", 'p', "abs(age - 40)"),
    ("ceil", 'v', "ceil(cost / 100)"),
    ("floor", 'v', "floor(cost / 100)"),
    ("round", 'v', "round(cost, 1)"),
    ("trunc", 'v', "trunc(cost)"),
    ("signum", 'p', "sign(hours - 40)"),
    ("sqrt", 'v', "sqrt(minutes)"),
    ("ln", 'p', "ln(income)"),
    ("log", 'p', "log(2, income)"),
    ("log10", 'p', "log10(income)"),
    ("log2", 'p', "log2(income)"),
    ("exp", 'p', "exp(age / 100)"),
    ("power", 'p', "power(age, 2)"),
    ("width_bucket", 'p', "width_bucket(age, 0, 100, 10)"),
    ("coalesce", 'p', "coalesce(income, 0)"),
    ("nvl", 'p', "nvl(income, 0)"),
    ("nvl2", 'p', "nvl2(income, 'reported', 'not reported')"),
    ("nullif", 'p', "nullif(hours, 0)"),
    ("greatest", 'v', "greatest(cost, 10)"),
    ("least", 'v', "least(cost, 500)"),
    ("lower", 'p', "lower(region)"),
    ("upper", 'p', "upper(region)"),
    ("reverse", 'p', "reverse(region)"),
    ("btrim", 'p', "trim(region)"),
    ("ltrim", 'p', "ltrim(region, 'A')"),
    ("rtrim", 'p', "rtrim(region, 'd')"),
    ("character_length", 'p', "length(region)"),
    ("strpos", 'p', "strpos(region, 'r')"),
    ("starts_with", 'p', "starts_with(region, 'A')"),
    ("ends_with", 'p', "ends_with(region, 'd')"),
    ("contains", 'p', "contains(region, 'ford')"),
    ("substr", 'p', "substr(region, 1, 3)"),
    ("left", 'p', "left(region, 1)"),
    ("right", 'p', "right(region, 4)"),
    ("concat", 'p', "concat(sex, ' of ', region)"),
    ("replace", 'p', "replace(region, ' ', '-')"),
    ("split_part", 'p', "split_part(region, ' ', 1)"),
    ("regexp_like", 'p', "regexp_like(region, '^[a-f]', 'i')"),
    ("regexp_substr", 'p', "regexp_substr(region, '[a-z]+')"),
    ("regexp_count", 'p', "regexp_count(region, '[aeiou]')"),
    (
        "regexp_replace",
        'p',
        "regexp_replace(region, '[aeiou]', '', 'g')",
    ),
    ("date_part", 'v', "EXTRACT(YEAR FROM day)"),
    ("date_trunc", 'v', "date_trunc('quarter', day)"),
    (
        "date_bin",
        'v',
        "date_bin(INTERVAL '7 days', day, DATE '2024-01-01')",
    ),
    ("to_char", 'v', "to_char(day, 'YYYY-\"Q\"Q')"),
];

/// How matching differs from PostgreSQL's.
const REGULAR: &str = "\
Patterns are constants of at most 1,000 bytes, compiled before anything is charged; a match takes time linear in the text, whatever the pattern and the text are.
They are written as for PostgreSQL: `.` is any character, lines mean nothing, `\\m`, `\\M`, `\\y`, `\\Y` are edges of words, `\\A` and `\\Z` those of the text, and
`[[:alpha:]]` and its like hold letters of any script. What differs:

- Look-around, `(?=…)` and `(?<!…)`, and backreferences, `\\1` in a pattern, are refused: they do not allow linear time.
- `\\b` is the edge of a word, as everywhere but in PostgreSQL.
- Of alternatives the first that fits is taken, and not the longest; `(?i)` at the start of a pattern and `{m,n}` work, `***` and `(?n)` do not.
- `regexp_count` and `regexp_replace` with `g` look at the first 1,000 characters of a text, and give nothing of what comes after.
- The flags are `i`, `c` and `g`.
";

/// What is known before anybody looks at data.
const PUBLIC: &str = "\
Names of groups are public, and cost nothing, where the catalog and the query tell all of them: a column with `values` or `periods`, a boolean, a whole number with `bounds`, a date with
`bounds`; a `CASE` of constants; and an expression of one such column. Of a timestamp with `bounds` they are public where the expression goes in steps: `date_trunc`, `date_bin`, `to_char`,
`EXTRACT`, `CAST(x AS DATE)`. At most 100,000 groups are listed, and of these the ones that the query's WHERE leaves. Where a WHERE names values of a column that declares none, as in `team IN ('red', 'blue')`, their names are public. Rows whose value lies outside of `bounds` and is not among `values` are in none of them.

A column of text with `values = [\"red\", \"green\"], other = \"other\"` reads every other text as `other`, which has a group of its own, the last; NULL stays NULL.
";

/// Every query of the reference that must be accepted, over the sample.
#[cfg(test)]
fn examples() -> Vec<String> {
    let clauses = CLAUSES.iter().map(|(_, _, example)| (*example).to_owned());
    let aggregates = AGGREGATES.iter().map(|aggregate| aggregate.example.to_owned());
    let functions = EXAMPLES
        .iter()
        .map(|(_, table, expression)| query(*table, expression));
    clauses.chain(aggregates).chain(functions).collect()
}

/// A query that groups by an expression.
#[cfg(test)]
fn query(table: char, expression: &str) -> String {
    let table = if table == 'p' { "people" } else { "visits" };
    format!("SELECT {expression} AS k, COUNT(*) FROM {table} GROUP BY k")
}

/// A row of a table in Markdown.
fn row(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// The reference, as Markdown: `docs/sql.md`.
pub fn reference() -> String {
    let mut text = String::from(
        "# The SQL that is understood\n\n\
         <!-- Made from the tables in crates/sql/src. Do not edit: change the tables, and run\n     \
         DENIABLE_WRITE_DOCS=1 cargo nextest run --workspace -E 'test(the_reference_of_sql_is_the_document)' -->\n\n\
         `deniable sql` prints this page. The dialect is that of PostgreSQL, with GoogleSQL's words for differential privacy. Over private rows, what is not on these lists is refused before anything is charged, with a hint.\n\
         The examples are about the built-in sample, and a test asks each of them. After the noise, over released results, the engine's whole SQL is free.\n\n\
         Intervals come along. Of one or two noisy numbers they follow by arithmetic. Of more, as in shares, growth, running totals and ranks, the noise is simulated: each released number moves as far as its interval reaches, 400 times and more, and the interval of the result holds the middle of what comes out.\n\
         That suits what changes smoothly with each number. It says nothing about the largest of many noisy numbers, about totals of the rows that noise put first, or about ABS of a difference; those have no interval, and the answer says so.\n\n\
         ## Clauses\n\n| clause | meaning | example |\n|---|---|---|\n",
    );
    let code = |example: &str| format!("`{example}`");
    for (clause, meaning, example) in CLAUSES {
        text += &row(&[&code(clause), meaning, &code(example)]);
    }
    text += "\n## Aggregates\n\nNumbers need bounds, from the catalog or the call. Each comes with an interval that holds the truth with 95 % confidence, unless it says otherwise.\n\n| aggregate | meaning | example |\n|---|---|---|\n";
    for aggregate in &AGGREGATES {
        text += &row(&[
            &code(aggregate.written),
            aggregate.meaning,
            &code(aggregate.example),
        ]);
    }
    text += "\n## Groups with public names\n\n";
    text += PUBLIC;
    text += "\n## Operators over private rows\n\nNo value of the data makes an expression fail: what is undefined is NULL.\n\n| operator | meaning |\n|---|---|\n";
    for (operator, meaning) in OPERATORS {
        text += &row(&[&code(operator), meaning]);
    }
    text += "\n## Functions over private rows\n\n| function | meaning | example |\n|---|---|---|\n";
    let functions = allowed_functions();
    for name in function_names() {
        let meaning = functions.iter().find(|(other, _)| *other == name);
        let example = EXAMPLES.iter().find(|(other, ..)| *other == name);
        text += &row(&[
            &code(name),
            meaning.map_or("", |(_, meaning)| meaning),
            &example.map_or_else(String::new, |(_, _, example)| code(example)),
        ]);
    }
    text += "\n### Parts of dates\n\n`EXTRACT(part FROM x)`: ";
    let parts: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
    text += &parts.join(", ");
    text += ".\n\n### Patterns of to_char\n\nFM before a word leaves out zeros and blanks; other letters go in double quotes.\n\n| pattern | writes |\n|---|---|\n";
    for (word, meaning) in WORDS {
        text += &row(&[&code(word), meaning]);
    }
    text += "\n### Regular expressions\n\n";
    text += REGULAR;
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::price::question::{QueryRequest, Question};
    use crate::understand::planner::Planner;
    use std::path::Path;

    #[test]
    fn the_reference_of_sql_is_the_document() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sql.md");
        if std::env::var_os("DENIABLE_WRITE_DOCS").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, reference()).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            written == reference(),
            "docs/sql.md is not what the tables make\nhint: DENIABLE_WRITE_DOCS=1 cargo nextest run --workspace -E 'test(the_reference_of_sql_is_the_document)'"
        );
    }

    #[test]
    fn every_example_is_accepted() {
        let catalog = crate::Catalog::parse(crate::sample::CATALOG, Path::new("sample")).unwrap();
        let planner = Planner::new(&catalog).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut refused = Vec::new();
        for sql in examples() {
            let ask = crate::dataset::without_explain(&QueryRequest::new(&sql, "reader")).unwrap();
            if let Err(error) = runtime.block_on(Question::new(&ask, &catalog, &planner)) {
                refused.push(format!("{sql}: {error}"));
            }
        }
        assert!(refused.is_empty(), "{}", refused.join("\n"));
    }

    /// A reader who looks for one of these finds it.
    #[test]
    fn what_is_understood_is_listed() {
        let text = reference();
        for word in [
            "ROLLUP (",
            "CUBE (",
            "GROUPING SETS (",
            "GROUPING(",
            "NOT EXISTS (",
            "NOT IN (SELECT",
            "ANY, > ALL (SELECT",
            "ARRAY[",
            "(SELECT …) as a value",
            "FETCH FIRST",
            "OVER (PARTITION BY",
            "FILTER (WHERE",
            "QUALIFY",
            "USING",
            "INTERSECT",
            "(VALUES",
            "cut_share",
        ] {
            assert!(text.contains(word), "{word}");
        }
    }

    #[test]
    fn every_function_has_an_example() {
        for name in function_names() {
            assert!(
                EXAMPLES.iter().any(|(other, ..)| *other == name),
                "{name}: add a row to EXAMPLES"
            );
        }
    }
}
