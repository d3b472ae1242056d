//! Generated neighbouring databases with hostile values, and queries of every shape.

use super::movement::{Database, check};
use crate::catalog::Catalog;
use crate::mutants::{Mutant, with};
use proptest::prelude::*;
use std::fmt::Write;
use std::path::Path;

/// One row of the table with many rows a unit.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) group: &'static str,
    pub(super) other: i64,
    pub(super) x: &'static str,
    pub(super) y: &'static str,
    pub(super) day: &'static str,
}

/// One unit: its rows, and its row in the table with one row a unit (or none).
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) rows: Vec<Row>,
    pub(super) own: Option<(&'static str, &'static str)>,
}

const GROUPS: &[&str] = &["a", "b", "c", "d", "", "A", "é", "zz top", "7", "NaN"];
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "5",
    "2.5",
    "-3.25",
    "100",
    "1e300",
    "-1e300",
    "NaN",
    "inf",
    "-inf",
    "",
    "no number",
    "9223372036854775807",
    "-9223372036854775808",
    "1e-320",
    "-0",
];
const DAYS: &[&str] = &[
    "2024-01-31",
    "1970-01-01",
    "9999-12-31",
    "0001-01-01",
    "",
    "tomorrow",
    "2024-02-29",
];

fn row() -> impl Strategy<Value = Row> {
    let pick = |from: &'static [&'static str]| prop::sample::select(from);
    (pick(GROUPS), -2i64..6, pick(NUMBERS), pick(NUMBERS), pick(DAYS)).prop_map(
        |(group, other, x, y, day)| Row {
            group,
            other,
            x,
            y,
            day,
        },
    )
}

fn unit() -> impl Strategy<Value = Unit> {
    let own = prop::option::of((prop::sample::select(GROUPS), prop::sample::select(NUMBERS)));
    // Some units are in every group many times over.
    let flood: Vec<Row> = GROUPS
        .iter()
        .flat_map(|group| {
            (0..3).map(|other| Row {
                group,
                other,
                x: "1e300",
                y: "9223372036854775807",
                day: "2024-01-31",
            })
        })
        .collect();
    let rows = prop_oneof![4 => prop::collection::vec(row(), 0..8), 1 => Just(flood)];
    (rows, own).prop_map(|(rows, own)| Unit { rows, own })
}

const CATALOG: &str = r#"
name = "attacked"
[unit]
whose = "person"
neighbors = "NEIGHBORS"
[budget]
epsilon = 1000
delta = 1e-6
ledger = "unused.ledger"
[budget.query]
delta = 1e-9
[limits]
groups = 2
rows_per_group = 3
[tables.t]
source = "t"
format = "csv"
unit = "u"
[tables.t.columns]
u = { kind = "int" }
g = { kind = "text" }
o = { kind = "int", bounds = [0, 3] }
x = { kind = "float", bounds = [-10, 50] }
y = { kind = "int", bounds = [-5, 1000] }
day = { kind = "date" }
[tables.own]
source = "own.csv"
unit = "u"
rows_per_unit = 1
[tables.own.columns]
u = { kind = "int" }
g = { kind = "text", values = ["a", "b", "c"] }
x = { kind = "float", bounds = [-1, 1] }
[tables.keyed]
source = "keyed.csv"
public = true
keys = [["g"]]
[tables.keyed.columns]
g = { kind = "text" }
c = { kind = "text", values = ["p", "q"] }
[tables.many]
source = "many.csv"
public = true
[tables.many.columns]
g = { kind = "text" }
w = { kind = "int", bounds = [0, 9] }
[tables.numbered]
source = "numbered.csv"
public = true
keys = [["n"]]
[tables.numbered.columns]
n = { kind = "int" }
"#;

/// Writes a database: the rows in the order of `shuffle`, in several files.
pub(super) fn write(directory: &Path, units: &[(usize, &Unit)], shuffle: usize, files: usize) {
    let mut lines = Vec::new();
    let mut own = String::from("u,g,x\n");
    for (id, unit) in units {
        for row in &unit.rows {
            lines.push(format!(
                "{id},{},{},{},{},{}\n",
                row.group, row.other, row.x, row.y, row.day
            ));
        }
        if let Some((group, x)) = unit.own {
            writeln!(own, "{id},{group},{x}").unwrap();
        }
    }
    let count = lines.len().max(1);
    // A fixed permutation: steps of a number prime to the length.
    let step = (shuffle % count..)
        .find(|step| gcd(*step, count) == 1)
        .unwrap_or(1);
    std::fs::create_dir_all(directory.join("t")).unwrap();
    let mut parts = vec![String::from("u,g,o,x,y,day\n"); files];
    for place in 0..lines.len() {
        parts[place % files].push_str(&lines[place * step % count]);
    }
    for (place, part) in parts.iter().enumerate() {
        std::fs::write(directory.join(format!("t/{place}.csv")), part).unwrap();
    }
    std::fs::write(directory.join("own.csv"), own).unwrap();
    std::fs::write(directory.join("keyed.csv"), "g,c\na,p\nb,q\nc,p\n").unwrap();
    std::fs::write(
        directory.join("numbered.csv"),
        "n\n0\n1\n9007199254740992\n9007199254740993\n",
    )
    .unwrap();
    std::fs::write(directory.join("many.csv"), "g,w\na,1\na,2\na,3\nb,4\nb,5\n").unwrap();
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

pub(super) const QUERIES: &[&str] = &[
    "SELECT COUNT(*), COUNT(x), SUM(x), AVG(x), SUM(y), AVG(y) FROM t",
    "SELECT g, COUNT(*), SUM(x), AVG(y) FROM t GROUP BY g",
    "SELECT g, o, COUNT(*), SUM(y) FROM t WHERE x > 0 GROUP BY g, o",
    "SELECT o, COUNT(*) FROM t GROUP BY o",
    "SELECT g, COUNT(DISTINCT x), COUNT(DISTINCT u) FROM t GROUP BY g",
    "SELECT COUNT(DISTINCT g) FROM t",
    "SELECT MEDIAN(x), PERCENTILE_CONT(y, 0.25), MIN(y) FROM t",
    "SELECT g, MEDIAN(y) FROM t GROUP BY g",
    "SELECT VAR_POP(x), STDDEV_SAMP(y) FROM t",
    "SELECT SUM(x, contribution_bounds_per_group => (-5, 5)) FROM t",
    "SELECT g, SUM(y, contribution_bounds_per_row => (0, 7)), COUNT(*, contribution_bounds_per_group => (0, 2)) FROM t GROUP BY g",
    "SELECT keyed.c, COUNT(*), SUM(t.x) FROM t JOIN keyed ON t.g = keyed.g GROUP BY keyed.c",
    "SELECT many.w, COUNT(*), SUM(t.x) FROM t JOIN many ON t.g = many.g GROUP BY many.w",
    "SELECT AVG(s, contribution_bounds_per_row => (-10, 100)), COUNT(*) FROM (SELECT u, SUM(x) AS s FROM t GROUP BY u) AS by_person",
    "SELECT g, AVG(m) FROM (SELECT u, g, MAX(x) AS m FROM t GROUP BY u, g) AS by_person GROUP BY g",
    "SELECT own.g, COUNT(*), SUM(t.y) FROM t JOIN own ON t.u = own.u GROUP BY own.g",
    "SELECT a.g, COUNT(*), SUM(a.x + b.x) FROM t AS a JOIN t AS b ON a.u = b.u GROUP BY a.g",
    "SELECT SUM(CASE WHEN u = 3 THEN x * 1000 ELSE x END) FROM t",
    "SELECT COUNT(*) FROM t WHERE 10 / (y - 5) > 1 OR y % (y - 1) = 0",
    "SELECT CAST(g AS INT) AS k, COUNT(*) FROM t GROUP BY CAST(g AS INT)",
    "SELECT SUM(y * y * y), SUM(y + 9223372036854775807) FROM t",
    "SELECT EXTRACT(month FROM day) AS m, COUNT(*) FROM t GROUP BY EXTRACT(month FROM day)",
    "SELECT day, COUNT(*) FROM t GROUP BY day",
    "SELECT width_bucket(x, -10, 50, 6) AS b, COUNT(*) FROM t GROUP BY width_bucket(x, -10, 50, 6)",
    "SELECT COUNT(*), SUM(x) FROM (SELECT u, x FROM t UNION ALL SELECT u, x FROM own) AS both",
    "SELECT COUNT(*) FROM (SELECT DISTINCT u, g FROM t) AS pairs",
    "SELECT g, COUNT(*), AVG(x), SUM(x) FROM own GROUP BY g",
    "SELECT MEDIAN(x), AVG(x) FROM own",
    "WITH rich AS (SELECT * FROM t WHERE y > 3) SELECT g, COUNT(*) FROM rich GROUP BY g",
    "SELECT upper(g) AS k, COUNT(*) FILTER (WHERE x > 1), SUM(x) FILTER (WHERE g = 'a') FROM t GROUP BY upper(g)",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, delta = 1e-9, max_groups_contributed = 1) g, COUNT(*) FROM t GROUP BY g",
    "SELECT x, COUNT(*) FROM t GROUP BY x",
    "SELECT COUNT(*), SUM(own.x) FROM own JOIN keyed ON keyed.g = keyed.g",
    "SELECT COUNT(*) FROM own JOIN numbered ON numbered.n = own.x",
    "SELECT keyed.c, COUNT(*) FROM own LEFT JOIN keyed ON keyed.g = own.g GROUP BY keyed.c",
    "SELECT c, COUNT(*) FROM (SELECT t.u AS u, own.g AS c FROM t LEFT JOIN own ON t.u = own.u AND t.x < 5) AS e GROUP BY c",
    "SELECT COUNT(*) FROM (SELECT u, c, COUNT(*) AS k FROM (SELECT t.u AS u, own.g AS c FROM t LEFT JOIN own ON t.u = own.u AND t.x < 5) AS e GROUP BY u, c) AS s",
    "SELECT CORR(y, x), REGR_INTERCEPT(x, y), COVAR_SAMP(x, y) FROM t",
    "SELECT g, REGR_R2(x, y), MODE(o) FROM t GROUP BY g",
    "SELECT MODE(g), CORR(x, -x) FROM own",
    "SELECT to_char(day, 'YYYY-MM') AS m, COUNT(*), APPROX_COUNT_DISTINCT(regexp_substr(g, '[a-z]')) FROM t WHERE g !~ '^z' GROUP BY m",
    "SELECT date_bin(INTERVAL '36 hours', day, DATE '2000-01-01') AS m, COUNT(*) FROM t GROUP BY m",
    "SELECT SUM(m, contribution_bounds_per_row => (-10, 50)), COUNT(DISTINCT l) FROM (SELECT u, MAX(x) AS m, MIN(x) AS l FROM t GROUP BY u) AS s",
];

pub(super) fn catalog(directory: &Path, neighbors: &str) -> Catalog {
    Catalog::parse(&CATALOG.replace("NEIGHBORS", neighbors), directory).unwrap()
}

/// The same where a unit counts in this many groups, and with this many rows in all of them together.
fn limited(mut catalog: Catalog, limits: Option<(u64, u64)>) -> Catalog {
    if let Some((groups, rows)) = limits {
        catalog.limits.groups = Some(groups);
        catalog.limits.rows = Some(rows);
        let table = catalog.tables.get_mut("t").unwrap();
        let all = crate::Range::new(-5.0, rows as f64 * 20.0).unwrap();
        table.limits.sums.insert("y".to_owned(), all);
    }
    catalog
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn one_unit_more_moves_no_further_than_priced(
        units in prop::collection::vec(unit(), 1..9),
        more in unit(),
        query in prop::sample::select(QUERIES),
        (shuffle, other) in (0usize..1000, 0usize..1000),
        (files, threads, batch) in (1usize..4, 1usize..5, 1usize..9),
        limits in prop::option::of((1u64..5, 1u64..9)),
    ) {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let numbered: Vec<(usize, &Unit)> = units.iter().enumerate().collect();
        write(here.path(), &numbered, shuffle, files);
        let mut larger = numbered.clone();
        larger.push((units.len(), &more));
        write(there.path(), &larger, other, 4 - files);
        let catalogs = [here.path(), there.path()].map(|place| limited(catalog(place, "add_remove"), limits));
        let catalogs = [&catalogs[0], &catalogs[1]];
        let databases = [
            &Database { directory: here.path(), threads, batch },
            &Database { directory: there.path(), threads: 5 - threads, batch: 9 - batch },
        ];
        prop_assert_eq!(check(query, catalogs, databases), Ok(()));
    }

    #[test]
    fn one_unit_changed_moves_no_further_than_priced(
        units in prop::collection::vec(unit(), 1..9),
        changed in unit(),
        query in prop::sample::select(QUERIES),
        (shuffle, other) in (0usize..1000, 0usize..1000),
        (files, threads, batch) in (1usize..4, 1usize..5, 1usize..9),
        limits in prop::option::of((1u64..5, 1u64..9)),
    ) {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let numbered: Vec<(usize, &Unit)> = units.iter().enumerate().collect();
        write(here.path(), &numbered, shuffle, files);
        let mut replaced = numbered.clone();
        replaced[0].1 = &changed;
        write(there.path(), &replaced, other, 4 - files);
        let catalogs = [here.path(), there.path()].map(|place| limited(catalog(place, "change_one"), limits));
        let catalogs = [&catalogs[0], &catalogs[1]];
        let databases = [
            &Database { directory: here.path(), threads, batch },
            &Database { directory: there.path(), threads: 5 - threads, batch: 9 - batch },
        ];
        match check(query, catalogs, databases) {
            // Groups with private names are for units that are added or removed.
            Err(refused) if refused.contains("change_one") => {}
            outcome => prop_assert_eq!(outcome, Ok(())),
        }
    }
}

/// What was cut of a unit is clamped too: without that, one unit with very many rows would move the estimate as far as it likes.
#[test]
fn an_overview_without_its_clamp_is_noticed() {
    let row = Row {
        group: "a",
        other: 1,
        x: "5",
        y: "9223372036854775807",
        day: "",
    };
    let few = Unit {
        rows: vec![row.clone()],
        own: None,
    };
    let many = Unit {
        rows: vec![row; 500],
        own: None,
    };
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(here.path(), &[(0, &few)], 0, 1);
    write(there.path(), &[(0, &few), (1, &many)], 0, 1);
    let catalogs = [
        &catalog(here.path(), "add_remove"),
        &catalog(there.path(), "add_remove"),
    ];
    let database = |directory| Database {
        directory,
        threads: 2,
        batch: 8,
    };
    let databases = [&database(here.path()), &database(there.path())];
    for query in [
        "SELECT COUNT(*) FROM t",
        "SELECT SUM(y) FROM t",
        "SELECT g, COUNT(*) FROM t GROUP BY g",
    ] {
        assert_eq!(check(query, catalogs, databases), Ok(()), "{query}");
        let planted = with(Mutant::UnclampedCut, || check(query, catalogs, databases));
        assert!(
            planted.is_err_and(|why| why.contains("further than its sensitivity")),
            "{query}"
        );
    }
}

/// The question and its estimate share the states of units, and not how many of them count.
#[test]
fn a_question_in_the_groups_of_its_estimate_is_noticed() {
    let row = |group| Row {
        group,
        other: 1,
        x: "5",
        y: "5",
        day: "",
    };
    let few = Unit {
        rows: vec![row("a")],
        own: None,
    };
    let many = Unit {
        rows: GROUPS.iter().copied().map(row).collect(),
        own: None,
    };
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(here.path(), &[(0, &few)], 0, 1);
    write(there.path(), &[(0, &few), (1, &many)], 0, 1);
    let catalogs = [
        &catalog(here.path(), "add_remove"),
        &catalog(there.path(), "add_remove"),
    ];
    let database = |directory| Database {
        directory,
        threads: 2,
        batch: 8,
    };
    let databases = [&database(here.path()), &database(there.path())];
    let query = "SELECT g, COUNT(*) FROM t GROUP BY g";
    assert_eq!(check(query, catalogs, databases), Ok(()));
    let planted = with(Mutant::GroupsOfTheEstimate, || check(query, catalogs, databases));
    assert!(planted.is_err_and(|why| why.contains("moves in")));
}

/// What is priced for all groups together has to be bounded there.
#[test]
fn a_vector_that_is_not_scaled_is_noticed() {
    let row = |group| Row {
        group,
        other: 1,
        x: "5",
        y: "100",
        day: "",
    };
    let few = Unit {
        rows: vec![row("a")],
        own: None,
    };
    let many = Unit {
        rows: GROUPS.iter().copied().map(row).collect(),
        own: None,
    };
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(here.path(), &[(0, &few)], 0, 1);
    write(there.path(), &[(0, &few), (1, &many)], 0, 1);
    let catalogs =
        [here.path(), there.path()].map(|place| limited(catalog(place, "add_remove"), Some((8, 3))));
    let catalogs = [&catalogs[0], &catalogs[1]];
    let database = |directory| Database {
        directory,
        threads: 2,
        batch: 8,
    };
    let databases = [&database(here.path()), &database(there.path())];
    for query in [
        "SELECT g, COUNT(*) FROM t GROUP BY g",
        "SELECT g, AVG(x), SUM(y) FROM t GROUP BY g",
        "SELECT g, SUM(y) FROM t GROUP BY g",
        "SELECT g, SUM(x), COUNT(*) FROM t GROUP BY g",
        "SELECT g, COUNT(y) FROM t GROUP BY g",
    ] {
        assert_eq!(check(query, catalogs, databases), Ok(()), "{query}");
        let planted = with(Mutant::UnscaledVector, || check(query, catalogs, databases));
        assert!(planted.is_err(), "{query}");
    }
}

/// A check that cannot fail is none: two units more move a count by more than one unit may.
#[test]
fn two_units_more_are_noticed() {
    let row = |group| Row {
        group,
        other: 1,
        x: "5",
        y: "5",
        day: "",
    };
    let unit = Unit {
        rows: vec![row("a"), row("b"), row("c")],
        own: Some(("a", "1")),
    };
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(here.path(), &[(0, &unit)], 0, 1);
    write(there.path(), &[(0, &unit), (1, &unit), (2, &unit)], 0, 1);
    let catalogs = [
        &catalog(here.path(), "add_remove"),
        &catalog(there.path(), "add_remove"),
    ];
    let databases = [
        &Database {
            directory: here.path(),
            threads: 2,
            batch: 8,
        },
        &Database {
            directory: there.path(),
            threads: 2,
            batch: 8,
        },
    ];
    for query in [
        "SELECT COUNT(*) FROM own",
        "SELECT g, COUNT(*) FROM t GROUP BY g",
        "SELECT MEDIAN(x) FROM t",
    ] {
        assert!(check(query, catalogs, databases).is_err(), "{query}");
    }
}
