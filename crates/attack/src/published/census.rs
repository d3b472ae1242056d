//! The well-known example: seven people behind a table of the kind that censuses publish.

use super::table::{Attribute, Condition, Domain, Group, Rule, Statistic, Table};
use exact::{Rational, ratio};

const AGE: usize = 0;
const SEX: usize = 1;
const RACE: usize = 2;
const STATUS: usize = 3;

/// Counts, medians and means of age of fourteen groups of seven people, with the cells of small groups
/// suppressed.
///
/// Garfinkel, Abowd and Martindale, "Understanding Database Reconstruction Attacks on Public Data", 2018.
/// Means have one decimal, of which a trailing zero is not printed.
pub fn census() -> Table {
    let category = |name: &str, values: [&str; 2]| Attribute {
        name: name.to_owned(),
        domain: Domain::Categories(values.map(str::to_owned).to_vec()),
    };
    let is = |attribute, value| Condition {
        attribute,
        ranges: vec![(value, value)],
    };
    let aged = |low, high| Condition {
        attribute: AGE,
        ranges: vec![(low, high)],
    };
    let (female, male) = (|| is(SEX, 0), || is(SEX, 1));
    let (black, white) = (|| is(RACE, 0), || is(RACE, 1));
    let (single, married) = (|| is(STATUS, 0), || is(STATUS, 1));
    // Count, twice the median, ten times the mean.
    let shown = |count, twice_median, tenths: i64| {
        vec![
            Statistic::count(count),
            Statistic::median(AGE, twice_median),
            Statistic::mean(AGE, &ratio(tenths, 10), 1),
        ]
    };
    let groups = [
        ("1A", "total population", vec![], shown(7, 60, 380)),
        ("2A", "female", vec![female()], shown(4, 60, 335)),
        ("2B", "male", vec![male()], shown(3, 60, 440)),
        (
            "2C",
            "black or African American",
            vec![black()],
            shown(4, 102, 485),
        ),
        ("2D", "white", vec![white()], shown(3, 48, 240)),
        ("3A", "single adults", vec![single(), aged(18, 125)], vec![]),
        (
            "3B",
            "married adults",
            vec![married(), aged(18, 125)],
            shown(4, 102, 540),
        ),
        (
            "4A",
            "black or African American female",
            vec![black(), female()],
            shown(3, 72, 367),
        ),
        (
            "4B",
            "black or African American male",
            vec![black(), male()],
            vec![],
        ),
        ("4C", "white male", vec![white(), male()], vec![]),
        ("4D", "white female", vec![white(), female()], vec![]),
        ("5A", "persons under 5 years", vec![aged(1, 4)], vec![]),
        ("5B", "persons under 18 years", vec![aged(1, 17)], vec![]),
        ("5C", "persons 64 years or over", vec![aged(64, 125)], vec![]),
    ];
    Table {
        attributes: vec![
            Attribute {
                name: "age".to_owned(),
                domain: Domain::Integers { low: 1, high: 125 },
            },
            category("sex", ["F", "M"]),
            category("race", ["B", "W"]),
            category("status", ["single", "married"]),
        ],
        rules: vec![Rule {
            when: vec![married()],
            then: vec![aged(15, 125)],
        }],
        groups: groups
            .into_iter()
            .map(|(id, name, members, statistics)| Group {
                id: id.to_owned(),
                name: name.to_owned(),
                members,
                statistics,
            })
            .collect(),
        people: None,
    }
}

/// The three men of the same table, of whom only count, median and mean are known.
pub fn males_of_the_census() -> Table {
    Table {
        attributes: vec![Attribute {
            name: "age".to_owned(),
            domain: Domain::Integers { low: 1, high: 125 },
        }],
        rules: Vec::new(),
        groups: vec![Group {
            id: "2B".to_owned(),
            name: "male".to_owned(),
            members: Vec::new(),
            statistics: vec![
                Statistic::count(3),
                Statistic::median(AGE, 60),
                Statistic::mean(AGE, &Rational::from(44), 1),
            ],
        }],
        people: None,
    }
}
