//! The record of the registry, compared with what the registry asks for: its fields and choices, in our
//! words, as of 2026-07.

use super::*;

/// Fields that every record has, and those of tiers 1 to 3, by their paths.
const FIELDS: &[&str] = &[
    "url_slug",
    "status",
    "tier",
    "deployment/basic/name",
    "deployment/basic/data_curators",
    "deployment/basic/intended_use",
    "deployment/basic/data_product_type",
    "deployment/basic/data_product_region",
    "deployment/basic/description",
    "deployment/basic/publication_date",
    "deployment/dp_variant/variant_name",
    "deployment/dp_variant/data_domain",
    "deployment/dp_variant/unprotected_quantities",
    "deployment/privacy_loss/privacy_unit",
    "deployment/privacy_loss/privacy_unit_details",
    "deployment/privacy_loss/privacy_parameters/epsilon",
    "deployment/privacy_loss/privacy_parameters/delta",
    "deployment/privacy_loss/privacy_parameters_details",
    "deployment/deployment_model/model_name",
    "deployment/deployment_model/model_name_details",
    "deployment/deployment_model/actors",
    "deployment/deployment_model/release_type",
    "deployment/deployment_model/release_type_details",
    "deployment/deployment_model/data_source_type",
    "deployment/deployment_model/data_source_type_details",
    "deployment/deployment_model/access_type",
    "deployment/deployment_model/access_type_details",
    "deployment/accounting/post_processing",
    "deployment/accounting/composition",
    "deployment/implementation/preprocessing_and_hyperparameter_tuning",
    "deployment/implementation/mechanisms",
    "deployment/implementation/justification",
    "deployment/administrative/sources",
    "deployment/administrative/notes",
    "deployment/administrative/registry_authors",
];

/// Fields whose values are chosen from a list.
const CHOICES: &[(&str, &[&str])] = &[
    (
        "status",
        &[
            "Converted",
            "Draft",
            "Pending",
            "Changes Required",
            "Approved",
            "Approved (Update Requested)",
            "Approved (Pending)",
        ],
    ),
    ("tier", &["1", "2", "3"]),
    (
        "deployment/basic/data_product_type",
        &[
            "Summary statistics",
            "Machine learning model",
            "Dataset",
            "Synthetic data",
            "Interactive API",
            "SQL queries",
        ],
    ),
    (
        "deployment/dp_variant/variant_name",
        &[
            "Pure DP",
            "Approximate DP",
            "Zero-concentrated DP",
            "Renyi DP",
            "Custom",
        ],
    ),
    (
        "deployment/deployment_model/model_name",
        &["Local", "Central", "Shuffle", "Federated", "Varies"],
    ),
    (
        "deployment/deployment_model/release_type",
        &["One release", "Many releases"],
    ),
    (
        "deployment/deployment_model/data_source_type",
        &["Static", "Dynamic"],
    ),
    (
        "deployment/deployment_model/access_type",
        &["Interactive", "Non-interactive"],
    ),
];

/// Our YAML, read back: a reader of just what is written, which refuses anything else. Lists have the path of
/// their key.
pub(super) fn read(yaml: &str) -> Vec<(String, String)> {
    let mut keys: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    for line in yaml.lines() {
        let content = line.trim_start_matches(' ');
        let depth = (line.len() - content.len()) / 2;
        if let Some(item) = content.strip_prefix("- ") {
            found.push((keys.join("/"), text(item)));
            continue;
        }
        let (key, value) = content.split_once(':').unwrap();
        assert!(
            key.chars()
                .all(|letter| letter.is_ascii_lowercase() || letter == '_'),
            "{line}"
        );
        keys.truncate(depth);
        keys.push(key);
        assert_eq!(keys.len(), depth + 1, "{line}");
        if let Some(value) = value.strip_prefix(' ') {
            let value = if value.starts_with('"') {
                text(value)
            } else {
                value.to_owned()
            };
            found.push((keys.join("/"), value));
        } else {
            assert_eq!(value, "", "{line}");
        }
    }
    found
}

/// A text in double quotes, which ends with its line.
fn text(quoted: &str) -> String {
    let inner = quoted
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap();
    let mut text = String::new();
    let mut rest = inner.chars();
    while let Some(character) = rest.next() {
        assert!(character != '"' && !character.is_control(), "{quoted}");
        if character != '\\' {
            text.push(character);
            continue;
        }
        let digits = match rest.next().unwrap() {
            'n' => {
                text.push('\n');
                continue;
            }
            't' => {
                text.push('\t');
                continue;
            }
            'x' => 2,
            'u' => 4,
            'U' => 8,
            plain => {
                assert!(plain == '"' || plain == '\\');
                text.push(plain);
                continue;
            }
        };
        let code: String = rest.by_ref().take(digits).collect();
        text.push(char::from_u32(u32::from_str_radix(&code, 16).unwrap()).unwrap());
    }
    text
}

#[test]
fn a_record_has_every_field_of_the_highest_tier() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = catalog(CATALOG, folder.path());
    let mut store = store(&catalog, folder.path());
    let record = read(&card(&catalog, &mut store, None).to_registry_yaml().unwrap());
    let paths: Vec<&str> = record.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, FIELDS);
    assert!(
        record.iter().all(|(_, value)| !value.trim().is_empty()),
        "{record:?}"
    );
    let of = |wanted: &str| record.iter().find(|(path, _)| path == wanted).unwrap().1.as_str();
    for (path, choices) in CHOICES {
        assert!(choices.contains(&of(path)), "{path}: {}", of(path));
    }
    assert_eq!((of("tier"), of("status")), ("3", "Draft"));
    let date: Vec<usize> = of("deployment/basic/publication_date")
        .split('-')
        .map(str::len)
        .collect();
    assert_eq!(date, [4, 2, 2]);
    assert_eq!(of("deployment/privacy_loss/privacy_parameters/epsilon"), "3");
    assert!(
        of("url_slug").starts_with("clinic-the-clinics-of-ashford-20"),
        "{}",
        of("url_slug")
    );
}

#[test]
fn a_budget_of_any_kind_has_its_parameters() {
    let folder = tempfile::tempdir().unwrap();
    let pure = catalog(&CATALOG.replace("delta = 1e-6\n", ""), folder.path());
    let mut store = Store::open(&Place::File(folder.path().join("pure")), &rules(&pure)).unwrap();
    charge(&mut store, &pure, laplace("0.5"));
    let record = read(&card(&pure, &mut store, None).to_registry_yaml().unwrap());
    let names: Vec<&str> = record
        .iter()
        .filter_map(|(path, _)| path.strip_prefix("deployment/privacy_loss/privacy_parameters/"))
        .collect();
    assert_eq!(names, ["epsilon"]);
    assert!(record.contains(&(
        "deployment/dp_variant/variant_name".to_owned(),
        "Pure DP".to_owned()
    )));
}

#[test]
fn what_nobody_said_is_not_made_up() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = catalog(CATALOG, folder.path());
    let past = store(&catalog, folder.path()).past(None).unwrap();
    let error = Card::new(&catalog, Ledger::Until(&past), &Words::none())
        .unwrap()
        .to_registry_yaml()
        .unwrap_err();
    for key in [
        "curators",
        "description",
        "intended_use",
        "region",
        "epsilon_chosen",
        "exact_releases",
        "security",
        "authors",
    ] {
        assert!(error.what.contains(key), "{error}");
    }
    let words = Words::parse(WORDS).unwrap();
    let nothing = Card::new(&catalog, Ledger::NotYet(&rules(&catalog)), &words).unwrap();
    assert!(nothing.to_registry_yaml().unwrap_err().what.contains("no ledger"));
}
