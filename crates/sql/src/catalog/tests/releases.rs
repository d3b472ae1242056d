//! Planned releases are read, and what cannot be planned is refused with what would fit.

use super::{WHOLE, read};
use crate::catalog::{Catalog, Objective, PlannedRelease, ReleasePrice};
use accounting::{Delta, Epsilon, Rho};
use exact::Rational;

const TABLES: &str = r#"
name = "clinic"
[unit]
whose = "patient"
[budget]
epsilon = 10
delta = 1e-6
[budget.query]
delta = 1e-9
[tables.people]
source = "people.csv"
unit = "id"
rows_per_unit = 1
[tables.people.columns]
id = { kind = "int" }
sex = { kind = "text", values = ["f", "m"], nullable = false }
age = { kind = "int", bounds = [0, 99], nullable = false }
height = { kind = "float", bounds = [0.5, 2.5] }
free = { kind = "text" }
seen = { kind = "date", bounds = ["2024-01-15", "2024-03-02"], nullable = false }
moment = { kind = "timestamp", bounds = ["2024-01-15", "2024-03-02"] }
[tables.visits]
source = "visits.csv"
unit = "id"
[tables.visits.columns]
id = { kind = "int" }
ward = { kind = "text", values = ["a", "b"], nullable = false }
[tables.places]
source = "places.csv"
public = true
[tables.places.columns]
sex = { kind = "text" }
group = { kind = "text" }
code = { kind = "int" }
"#;

fn release(text: &str) -> Result<PlannedRelease, String> {
    let text = format!("{TABLES}[releases.r]\n{text}");
    let mut catalog: Catalog = read(&text).map_err(|error| error.to_string())?;
    Ok(catalog.releases.remove("r").expect("it was declared"))
}

fn people(text: &str) -> Result<PlannedRelease, String> {
    release(&format!("table = \"people\"\nepsilon = 1\n{text}"))
}

#[test]
fn everything_can_be_said() {
    let catalog = read(WHOLE).unwrap();
    let census = &catalog.releases["census"];
    assert_eq!(
        (census.table.as_str(), census.condition.as_deref()),
        ("people", Some("age >= 18"))
    );
    assert_eq!(census.objective, Objective::Worst);
    let (epsilon, delta) = (Epsilon::parse("1").unwrap(), Delta::parse("1e-8").unwrap());
    assert_eq!(census.price, ReleasePrice::Approximate(epsilon, delta));
    let sizes: Vec<usize> = census.attributes.iter().map(|one| one.cells.len()).collect();
    // Bins of 50,000 between -1.5 and 200,000 are five, with two beyond and one of NULL.
    assert_eq!(sizes, [2, 3, 8, 3]);
    assert_eq!(
        census.attributes[0].hierarchy.as_ref().unwrap().levels,
        ["name", "code"]
    );
    // All of up to two of four attributes; and those of two others, each with the sign.
    let three = census.marginals.iter().filter(|one| one.attributes.len() == 3);
    assert_eq!((census.marginals.len(), three.count()), (1 + 4 + 6 + 3, 3));
    let weight = |names: &[&str]| census.marginal(names).map(|one| one.weight.clone());
    assert_eq!(weight(&["sign", "AGE"]), Some(Rational::from(4u8)));
    assert_eq!(weight(&[]), Some(exact::ratio(1, 2)));
    assert_eq!(weight(&["member"]), Some(Rational::ONE));
    assert_eq!(weight(&["member", "age", "income"]), None);
    assert_eq!(census.name_of(&[0, 2]), "sign × income");
}

#[test]
fn cells_are_those_that_are_declared() {
    let labels = |attribute: &str| -> Vec<String> {
        let release = people(&format!("up_to = 1\nattributes = {{ {attribute} }}")).unwrap();
        let labels = release.attributes[0].cells.labels().into_iter();
        labels.map(|label| label.text).collect()
    };
    assert_eq!(labels("sex = {}"), ["f", "m"]);
    assert_eq!(labels("age = {}").len(), 100);
    assert_eq!(
        labels("age = { width = 40 }"),
        ["0 to 39", "40 to 79", "80 to 99"]
    );
    assert_eq!(
        labels("h = { column = \"height\", bins = [1, 1.5], beyond = true }"),
        ["below 1", "1 to below 1.5", "1.5 and more", "∅"]
    );
    assert_eq!(
        labels("seen = { period = \"month\" }"),
        ["2024-01", "2024-02", "2024-03"]
    );
    assert_eq!(labels("moment = { period = \"quarter\" }"), ["2024-Q1", "∅"]);
    let rho = release("table = \"people\"\nrho = 0.1\nup_to = 1\nattributes = { sex = {} }").unwrap();
    let price = (Rho::parse("0.1").unwrap(), Delta::parse("1e-9").unwrap());
    assert_eq!(rho.price, ReleasePrice::Concentrated(price.0, price.1));
}

#[test]
fn what_cannot_be_planned_is_refused() {
    let sex = "attributes = { sex = {} }";
    let cases = [
        ("up_to = 1\nattributes = { free = {} }".to_owned(), "nothing says which values"),
        ("up_to = 1\nattributes = { height = {} }".to_owned(), "say bins ="),
        ("up_to = 1\nattributes = { seen = {} }".to_owned(), "say period ="),
        ("up_to = 1\nattributes = { id = {} }".to_owned(), "whose row it is"),
        ("up_to = 1\nattributes = { nobody = {} }".to_owned(), "declares no column `nobody`"),
        ("up_to = 1\nattributes = { age = { bins = [0, 18, 18] } }".to_owned(), "not above the one before"),
        ("up_to = 1\nattributes = { age = { bins = [0] } }".to_owned(), "at least two edges"),
        ("up_to = 1\nattributes = { age = { bins = [0, 1.5] } }".to_owned(), "no whole number"),
        ("up_to = 1\nattributes = { age = { width = 1e-9 } }".to_owned(), "more than 10000 such bins"),
        ("up_to = 1\nattributes = { age = { width = 1, period = \"day\" } }".to_owned(), "three ways to say"),
        ("up_to = 1\nattributes = { sex = { bins = [0, 1] } }".to_owned(), "bins are for numbers"),
        ("up_to = 1\nattributes = { sex = { beyond = true } }".to_owned(), "`beyond` is for bins"),
        ("up_to = 1\nattributes = { seen = { period = \"age\" } }".to_owned(), "no such period"),
        ("up_to = 1\nattributes = { sex = {}, SEX = {} }".to_owned(), "upper and lower case only"),
        ("up_to = 1\nattributes = {}".to_owned(), "no attributes"),
        (sex.to_owned(), "nothing says which tables"),
        (format!("marginals = [[\"age\"]]\n{sex}"), "no such attribute"),
        (format!("up_to = 1\ncross = \"age\"\n{sex}"), "no such attribute"),
        (format!("up_to = 1\nweights = {{ age = 1 }}\n{sex}"), "no such attribute"),
        (format!("up_to = 1\nweights = {{ sex = 0 }}\n{sex}"), "a number above 0"),
        (format!("marginals = [[\"sex\"]]\nweights = {{ total = 2 }}\n{sex}"), "not among those"),
        (format!("up_to = 1\nobjective = \"best\"\n{sex}"), "no such objective"),
        (format!("up_to = 1\nrho = 1\n{sex}"), "both `rho` and `epsilon`"),
        (format!("up_to = 1\ndelta = 0.1\n{sex}"), "more than there is in all"),
        (
            "up_to = 1\nattributes = { sex = { hierarchy = \"visits\", levels = [\"a\", \"b\"] } }".to_owned(),
            "no such public table",
        ),
        (
            "up_to = 1\nattributes = { sex = { hierarchy = \"places\", levels = [\"group\"] } }".to_owned(),
            "at least two levels",
        ),
        (
            "up_to = 1\nattributes = { sex = { hierarchy = \"places\", levels = [\"group\", \"code\"] } }".to_owned(),
            "of its kind",
        ),
        (
            "up_to = 1\nattributes = { age = { width = 5, hierarchy = \"places\", levels = [\"group\", \"code\"] } }"
                .to_owned(),
            "a hierarchy is over values",
        ),
    ];
    for (text, expected) in cases {
        let error = people(&text).unwrap_err();
        assert!(
            error.contains(expected) && error.contains("\nhint: "),
            "{text}: {error}"
        );
    }
    let visits = |text: &str| {
        release(&format!(
            "table = \"visits\"\nup_to = 1\nattributes = {{ ward = {{}} }}\n{text}"
        ))
    };
    assert!(
        visits("epsilon = 1")
            .unwrap_err()
            .contains("how many rows of one unit")
    );
    assert_eq!(visits("epsilon = 1\nrows = 5").unwrap().rows, Some(5));
    assert!(
        visits("rows = 5")
            .unwrap_err()
            .contains("what the release may cost")
    );
    assert!(
        release("table = \"places\"")
            .unwrap_err()
            .contains("this table is public")
    );
    assert!(
        release("table = \"nowhere\"")
            .unwrap_err()
            .contains("no such table")
    );
}

#[test]
fn what_does_not_fit_is_refused_with_what_would() {
    let ages: Vec<String> = (0..5)
        .map(|place| format!("a{place} = {{ column = \"age\" }}"))
        .collect();
    let attributes = format!("attributes = {{ {} }}", ages.join(", "));
    let error = people(&format!("up_to = 5\n{attributes}")).unwrap_err();
    assert!(
        error.contains("a0 × a1 × a2 × a3 alone has 100000000 cells")
            && error.contains("all tables by up to 3 attributes have 10100501 cells"),
        "{error}"
    );
    assert!(people(&format!("up_to = 3\n{attributes}")).is_ok());
}
