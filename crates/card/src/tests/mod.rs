mod hostile;
mod registry;

use super::*;
use ::ledger::{Place, Store, composed};
use accounting::{
    Accountant, Delta, Epsilon, Event, Guarantee, Neighbors, NoiseSupport, PrivacyUnit, Promise, Ratio,
};
use mechanism::Charge;
use serde_json::Value;
use std::path::Path;

const CATALOG: &str = "\
name = \"clinic\"
[unit]
whose = \"person\"
[budget]
epsilon = 3
delta = 1e-6
ledger = \"secret-file.ledger\"
[budget.analysts]
\"secret-analyst\" = 1
[limits]
groups = 4
rows_per_group = 3
[tables.people]
source = \"secret-file.csv\"
unit = \"id\"
rows_per_unit = 1
[tables.people.columns]
id = { kind = \"int\" }
age = { kind = \"int\", bounds = [0, 100] }
city = { kind = \"text\", values = [\"Ash\", \"Bree\"] }
born = { kind = \"date\", bounds = [\"1900-01-01\", \"2025-12-31\"] }
[tables.visits]
source = \"secret-visits.csv\"
unit = \"id\"
[tables.visits.columns]
id = { kind = \"int\" }
minutes = { kind = \"float\", bounds = [0, 240] }
[tables.codes]
source = \"secret-codes.csv\"
public = true
[tables.codes.columns]
code = { kind = \"text\" }
";

/// What a record of the registry needs.
const WORDS: &str = "\
curators = [\"The Clinics of Ashford\"]
description = \"Answers about visits.\"
intended_use = \"Research.\"
region = \"Ashford\"
epsilon_chosen = \"By the ethics board\"
exact_releases = \"Nothing.\"
security = \"Encrypted disk.\"
authors = [\"Ann Lee\"]
";

fn catalog(text: &str, folder: &Path) -> Catalog {
    Catalog::parse(text, folder).unwrap()
}

fn rules(catalog: &Catalog) -> Rules {
    sql::blocking::Dataset::new(catalog.clone())
        .unwrap()
        .rules()
        .unwrap()
}

fn laplace(ratio: &str) -> (Event, Promise) {
    let event = Event::Laplace {
        ratio: Ratio::parse(ratio).unwrap(),
        on: NoiseSupport::Rounded,
    };
    (event, Promise::Pure(Epsilon::parse(ratio).unwrap()))
}

/// A ledger with three charges of two mechanisms.
fn store(catalog: &Catalog, folder: &Path) -> Store {
    let mut store = Store::open(&Place::File(folder.join("ledger")), &rules(catalog)).unwrap();
    let gaussian = Event::Gaussian {
        multiplier_squared: Ratio::parse("100").unwrap(),
        on: NoiseSupport::Rounded,
    };
    let bounded = Promise::Approximate(Epsilon::parse("0.5").unwrap(), Delta::parse("1e-7").unwrap());
    charge(&mut store, catalog, laplace("0.5"));
    charge(&mut store, catalog, laplace("0.25"));
    charge(&mut store, catalog, (gaussian, bounded));
    store
}

fn charge(store: &mut Store, catalog: &Catalog, (event, promise): (Event, Promise)) {
    let charge = Charge {
        event,
        guarantee: Guarantee::new(promise, catalog.unit.clone()),
        purpose: "SELECT secret-purpose".to_owned(),
    };
    store.charge("secret-analyst", "q", charge).unwrap();
}

fn card(catalog: &Catalog, store: &mut Store, until: Option<u64>) -> Card {
    let past = store.past(until).unwrap();
    Card::new(catalog, Ledger::Until(&past), &Words::parse(WORDS).unwrap()).unwrap()
}

/// Every value of a document, by its path.
fn leaves(path: String, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                leaves(format!("{path}/{key}"), value, found);
            }
        }
        Value::Array(values) => {
            for (place, value) in values.iter().enumerate() {
                leaves(format!("{path}/{place}"), value, found);
            }
        }
        _ => found.push(path),
    }
}

#[test]
fn the_numbers_are_those_of_the_accountants() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = catalog(CATALOG, folder.path());
    let mut store = store(&catalog, folder.path());
    let card = card(&catalog, &mut store, None).to_json();
    let unit = PrivacyUnit::new("person", Neighbors::AddRemove);
    let charges = store.charges().unwrap();
    let events: Vec<&Event> = charges.iter().map(|charge| &charge.event).collect();
    let all = composed(&events);
    let delta = Delta::parse("1e-6").unwrap();
    for line in card["spent"]["accountants"].as_array().unwrap() {
        let accountant = Accountant::ALL
            .into_iter()
            .find(|accountant| accountant.name() == line["accountant"])
            .unwrap();
        let stated = line["epsilon"].as_str().map(|text| Epsilon::parse(text).unwrap());
        // Rounded up to six digits, never down.
        match accountant.epsilon(&all, &unit, &delta) {
            Ok(epsilon) => {
                let stated = stated.unwrap();
                assert!(stated >= epsilon && stated.to_f64_up() <= epsilon.to_f64_up() * 1.00002);
            }
            Err(_) => assert_eq!(stated, None),
        }
    }
    let divergence = accounting::renyi_divergence(&all, &unit, 2.0).unwrap();
    let stated = card["spent"]["renyi"][1].clone();
    assert_eq!(stated["order"], "2");
    let stated: f64 = stated["divergence"].as_str().unwrap().parse().unwrap();
    assert!(stated >= divergence && stated <= divergence * 1.00002);
    let rho: f64 = card["spent"]["rho"].as_str().unwrap().parse().unwrap();
    let sum = exact::to_f64_up(all.concentrated().unwrap().as_rational());
    assert!(rho >= sum && rho <= sum * 1.00002);
    assert_eq!(card["spent"]["charges"], 3);
    assert_eq!(card["releases"].as_array().unwrap().len(), 3);
    assert_eq!(card["promise"]["limit"]["epsilon"], "3");
    assert_eq!(card["promise"]["limit"]["delta"], "0.000001");
    assert_eq!(card["mechanisms"][0]["mechanism"], "Gaussian noise");
    assert_eq!(
        (&card["mechanisms"][1]["times"], &card["mechanisms"][1]["largest"]),
        (&Value::from(2), &Value::from("0.5"))
    );
    assert_eq!(card["declared"]["limits"]["groups"], 4);
    let columns = &card["declared"]["tables"][1]["columns"];
    assert_eq!(
        (&columns[1]["high"], &columns[1]["declared_groups"]),
        (&"100".into(), &101.into())
    );
    assert_eq!(
        (&columns[3]["low"], &columns[2]["declared_groups"]),
        (&"1900-01-01".into(), &2.into())
    );
}

#[test]
fn a_card_stays_true_when_more_is_charged_and_every_change_in_it_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = catalog(CATALOG, folder.path());
    let mut store = store(&catalog, folder.path());
    let stated = card(&catalog, &mut store, None).to_json();
    charge(&mut store, &catalog, laplace("0.125"));
    let entry = stated["as_of"]["entry"].as_u64().unwrap();
    let again = card(&catalog, &mut store, Some(entry));
    assert_eq!(differences(&stated, &again), []);
    assert!(!differences(&stated, &card(&catalog, &mut store, None)).is_empty());
    let mut paths = Vec::new();
    leaves(String::new(), &stated, &mut paths);
    assert!(paths.len() > 200, "{}", paths.len());
    for path in paths.iter().filter(|path| *path != "/made_by") {
        let mut changed = stated.clone();
        let value = changed.pointer_mut(path).unwrap();
        *value = match value {
            Value::String(text) => format!("{text}0").into(),
            Value::Number(number) => (number.as_f64().unwrap() + 1.0).into(),
            Value::Bool(flag) => (!*flag).into(),
            _ => 1.into(),
        };
        let found = differences(&changed, &again);
        assert_eq!(found.len(), 1, "{path}: {found:?}");
    }
    let mut longer = stated.clone();
    longer["releases"].as_array_mut().unwrap().pop();
    longer["secret-key"] = 1.into();
    let found = differences(&longer, &again);
    assert_eq!(found.len(), 2, "{found:?}");
    // The file may be the wrong one: nothing of it is repeated but numbers.
    assert!(!format!("{found:?}").contains("secret"));
}

#[test]
fn nothing_but_the_catalog_and_the_ledger_is_in_it() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let catalogs = [catalog(CATALOG, one.path()), catalog(CATALOG, other.path())];
    let mut store = store(&catalogs[0], one.path());
    // A person more, and another weight: whatever the files hold, the card is the same to the last byte.
    std::fs::write(
        one.path().join("secret-file.csv"),
        "id,age,city,born\n1,2,Ash,2000-01-01\n",
    )
    .unwrap();
    std::fs::write(other.path().join("secret-file.csv"), "id,age,city,born\n").unwrap();
    let cards = catalogs.each_ref().map(|catalog| card(catalog, &mut store, None));
    let written = cards.each_ref().map(|card| {
        [
            card.to_json().to_string(),
            card.to_html(),
            card.to_html_fragment(),
            card.to_registry_yaml().unwrap(),
        ]
    });
    assert_eq!(written[0], written[1]);
    for text in &written[0] {
        assert!(
            !text.contains("secret"),
            "a name of a file, an analyst or a question: {text}"
        );
        assert!(!text.contains(one.path().to_str().unwrap()));
    }
}

#[test]
fn twenty_three_points_are_computed_and_five_are_asked() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = catalog(CATALOG, folder.path());
    let rules = rules(&catalog);
    for (words, asserted) in [(Words::none(), 0), (Words::parse(WORDS).unwrap(), 3)] {
        let card = Card::new(&catalog, Ledger::NotYet(&rules), &words).unwrap();
        let points = &card.nist_sp_800_226;
        assert_eq!(points.len(), 28);
        assert!(
            points.iter().all(|point| !point.answer.trim().is_empty()),
            "{points:?}"
        );
        let how = |how: &str| points.iter().filter(|point| point.how == how).count();
        assert_eq!(
            (how("computed"), how("asserted"), how("not answered")),
            (23, asserted, 5 - asserted)
        );
    }
}

#[test]
fn what_is_asserted_is_told_from_what_is_enforced() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = catalog(CATALOG, folder.path());
    let card = Card::new(&catalog, Ledger::NotYet(&rules(&catalog)), &Words::none()).unwrap();
    let how = |part: &str| {
        let found = card
            .declared
            .statements
            .iter()
            .find(|line| line.says.contains(part));
        found.unwrap_or_else(|| panic!("{part}")).how
    };
    assert_eq!(how("column id of people names the person"), "asserted");
    assert_eq!(how("at most 1 rows in people"), "asserted");
    assert_eq!(how("the rows of codes are public"), "asserted");
    assert_eq!(how("values of people lie within the declared bounds"), "enforced");
    assert_eq!(how("limits on groups"), "enforced");
    assert_eq!(how("the budget"), "enforced");
}

#[test]
fn the_draft_is_read_when_its_marks_are_taken_away() {
    let filled: String = Words::draft()
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest) if rest.split_once(" = ").is_some_and(|(key, _)| !key.contains(' ')) => {
                format!("{rest}\n")
            }
            _ => format!("{line}\n"),
        })
        .collect();
    let words = Words::parse(&filled).unwrap();
    assert!(words.missing().is_empty());
    assert_eq!(words.all().count(), crate::words::QUESTIONS.len());
    assert_eq!(
        Words::from_json(&serde_json::to_value(&words).unwrap()).unwrap(),
        words
    );
    assert_eq!(Words::parse(&Words::draft()).unwrap(), Words::none());
    for wrong in [
        "secret = 1",
        "sector = \"secret\"",
        "region = \"\"",
        "curators = \"secret\"",
        "curators = []",
    ] {
        let error = Words::parse(wrong).unwrap_err().to_string();
        assert!(error.contains("line 1") && error.contains("\nhint: "), "{error}");
        assert!(
            wrong.starts_with("secret") || !error.contains("secret"),
            "{error}"
        );
    }
}

#[test]
fn rules_that_were_changed_later_are_not_those_of_an_earlier_card() {
    let folder = tempfile::tempdir().unwrap();
    let before = catalog(CATALOG, folder.path());
    let mut store = store(&before, folder.path());
    let earlier = card(&before, &mut store, None).to_json();
    let entry = earlier["as_of"]["entry"].as_u64();
    drop(store);
    let after = catalog(&CATALOG.replace("epsilon = 3", "epsilon = 5"), folder.path());
    let mut store = Store::adopt(&Place::File(folder.path().join("ledger")), &rules(&after)).unwrap();
    assert_eq!(differences(&earlier, &card(&before, &mut store, entry)), []);
    std::fs::write(folder.path().join(FILE_NAME), WORDS).unwrap();
    let now = Card::now(&after, &mut store).unwrap().to_json();
    assert_eq!(
        (
            &now["promise"]["limit"]["epsilon"],
            &now["spent"]["rules_changed"]
        ),
        (&Value::from("5"), &Value::from(1))
    );
    assert_eq!(now["asserted"]["region"][0], "Ashford");
    assert!(store.past(Some(99)).is_err());
}

/// Groups whose names are private carry a δ and no ε: the curves are those of everything else, beside that δ.
#[test]
fn a_delta_that_charges_carry_stands_beside_the_curves() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = catalog(CATALOG, folder.path());
    let mut store = store(&catalog, folder.path());
    let before = card(&catalog, &mut store, None).to_json();
    let delta = Delta::parse("1e-9").unwrap();
    let threshold = Event::Approximate {
        epsilon: Epsilon::ZERO,
        delta: delta.clone(),
    };
    let (noise, _) = laplace("0.125");
    let both = Promise::Approximate(Epsilon::parse("0.125").unwrap(), delta);
    charge(
        &mut store,
        &catalog,
        (Event::Composed(vec![noise, threshold]), both),
    );
    let after = card(&catalog, &mut store, None).to_json();
    assert_eq!(before["spent"]["curves_beside_delta"], "0");
    assert_eq!(after["spent"]["curves_beside_delta"], "1e-9");
    assert_eq!(after["spent"]["carried_delta"], "1e-9");
    let rho = |card: &Value| card["spent"]["rho"].as_str().unwrap().parse::<f64>().unwrap();
    let one = exact::to_f64_up(laplace("0.125").0.concentrated().unwrap().as_rational());
    assert!((rho(&after) - rho(&before) - one).abs() < 1e-5);
    assert_eq!(after["spent"]["renyi"].as_array().unwrap().len(), 8);
}

/// A planned release is listed by its name in the catalog, with what paid for it; other words of a charge are
/// not.
#[test]
fn planned_releases_are_listed_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let planned = format!(
        "{CATALOG}[releases.census]\ntable = \"people\"\nup_to = 2\nepsilon = 1\ndelta = 1e-9\n[releases.census.attributes]\ncity = {{}}\nage = {{ width = 10 }}\n"
    );
    let catalog = catalog(&planned, folder.path());
    let mut store = store(&catalog, folder.path());
    let before = card(&catalog, &mut store, None);
    assert!(before.to_html().contains("not made yet"));
    for purpose in [
        "release census of people",
        "release census of secret",
        "release secret of people",
    ] {
        let (event, promise) = laplace("0.125");
        let charge = Charge {
            event,
            guarantee: Guarantee::new(promise, catalog.unit.clone()),
            purpose: purpose.to_owned(),
        };
        store.charge("secret-analyst", purpose, charge).unwrap();
    }
    let made = card(&catalog, &mut store, None);
    let object = made.to_json();
    let planned: Vec<Option<&str>> = object["releases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|release| release["planned"].as_str())
        .collect();
    assert_eq!(planned, [None, None, None, Some("census"), None, None]);
    let entry = &object["releases"][3]["entry"];
    assert_eq!(object["declared"]["releases"][0]["tables"], 4);
    let page = made.to_html();
    assert!(
        page.contains(&format!("entry {entry}")) && page.contains("Planned releases"),
        "{page}"
    );
    assert!(!page.contains("secret") && !object.to_string().contains("secret"));
    assert_eq!(differences(&object, &made), []);
}
