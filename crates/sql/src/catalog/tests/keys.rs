//! The table of keys, the parser and the document say the same.

use super::{WHOLE, read};
use crate::catalog::document::TAKEN;
use crate::catalog::keys::KEYS;
use crate::catalog::reference;
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn every_key_of_the_table_is_read_and_no_other() {
    // Sections that are named by columns are read where there are some.
    let more = "by = { age = { groups = 1, rows_per_group = 2, sums = { income = [0, 9] } } }\n";
    let limited = WHOLE.replace("[limits]\n", &format!("[limits]\n{more}")).replace(
        "[tables.People.limits]\n",
        &format!("[tables.People.limits]\n{more}"),
    );
    // So are the values that rules name.
    let rules = "clustered = true\nimpossible = [{ age = { from = 0, below = 16 }, zodiac = \"fish\" }, { rank = { not = [3, -1] }, income = { null = false } }]\n";
    read(&limited.replace("clustered = true\n", rules)).unwrap();
    let taken: BTreeSet<(String, &str)> = TAKEN.with_borrow(Clone::clone);
    let listed: BTreeSet<(String, &str)> = KEYS
        .iter()
        .filter(|key| key.name != "*")
        .map(|key| (key.section.to_owned(), key.name))
        .collect();
    assert_eq!(listed, taken);
    assert_eq!(
        KEYS.len() - KEYS.iter().filter(|key| key.name == "*").count(),
        listed.len(),
        "no key is listed twice"
    );
}

#[test]
fn every_example_is_such_a_line() {
    for key in KEYS {
        let document: toml::Table = key.example.parse().unwrap_or_else(|_| panic!("{}", key.example));
        let name = document.keys().next().unwrap();
        let fits = match key.name {
            "*" => true,
            "tables" => name == "tables",
            expected => name == expected,
        };
        assert!(fits, "{}", key.example);
        assert!(
            !key.meaning.is_empty() && key.meaning.ends_with('.'),
            "{}",
            key.meaning
        );
    }
}

#[test]
fn the_reference_is_the_document() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/catalog.md");
    if std::env::var_os("DENIABLE_WRITE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, reference()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == reference(),
        "docs/catalog.md is not what the table of keys makes\nhint: DENIABLE_WRITE_DOCS=1 cargo nextest run --workspace -E 'test(the_reference_is_the_document)'"
    );
}
