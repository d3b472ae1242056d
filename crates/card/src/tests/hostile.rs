//! Hostile names, in the catalog and in words: they do nothing wherever a card is shown, and are the same
//! text wherever it is read back.

use super::registry::read;
use super::*;

const NAMES: [&str; 6] = [
    "<script>alert(1)</script>",
    "\" onload=\"x\" '",
    "a: b # - [c] {d} & *e | > %f @g `h`",
    "\u{202e}evil\u{2028}\u{0}\u{85}\u{feff}",
    "null\n  tier: 1\n---",
    "\\\\[x](javascript:y) $z$ \\x41",
];

fn hostile(name: &str) -> String {
    let quoted = toml_text(name);
    format!(
        "name = {quoted}\n[unit]\nwhose = {quoted}\n[budget]\nepsilon = 1\nledger = \"x.ledger\"\n[data]\nversion = {quoted}\n\
         [limits.sums]\n{quoted} = [0, 1]\n[tables.{quoted}]\nsource = \"x.csv\"\nunit = {quoted}\n[tables.{quoted}.columns]\n{quoted} = {{ kind = \"int\", bounds = [0, 9] }}\n"
    )
}

/// In TOML's double quotes.
fn toml_text(name: &str) -> String {
    let escaped: String = name
        .chars()
        .map(|letter| match letter {
            '"' | '\\' => format!("\\{letter}"),
            letter if letter.is_ascii_alphanumeric() || letter == ' ' => letter.to_string(),
            letter => format!("\\U{:08x}", u32::from(letter)),
        })
        .collect();
    format!("\"{escaped}\"")
}

#[test]
fn they_are_text_and_nothing_else() {
    let mut taken = 0;
    for name in NAMES {
        let folder = tempfile::tempdir().unwrap();
        // What the reader of catalogs refuses cannot get here; what it takes must do no harm.
        let Ok(catalog) = Catalog::parse(&hostile(name), folder.path()) else {
            continue;
        };
        taken += 1;
        let mut store = Store::open(&Place::File(folder.path().join("ledger")), &rules(&catalog)).unwrap();
        charge(&mut store, &catalog, laplace("0.5"));
        let past = store.past(None).unwrap();
        let said = format!("{WORDS}notes = {0}\ntitle = {0}\n", toml_text(name));
        let card = Card::new(&catalog, Ledger::Until(&past), &Words::parse(&said).unwrap()).unwrap();

        let html = card.to_html();
        let body = html.split_once("<body>").unwrap().1;
        // Every tag is one of ours.
        for tag in body.split('<').skip(1) {
            let tag: String = tag
                .trim_start_matches('/')
                .chars()
                .take_while(char::is_ascii_alphanumeric)
                .collect();
            let ours = [
                "main", "article", "section", "h1", "h2", "h3", "p", "ul", "li", "dl", "dt", "dd", "div",
                "table", "thead", "tbody", "tr", "th", "td", "code", "body", "html",
            ];
            assert!(ours.contains(&tag.as_str()), "{tag} of {name:?}");
        }
        assert!(!body.contains('\0') && !body.contains("=\"x\""), "{name:?}");
        assert!(!card.to_html_fragment().contains("style"));

        let json: Value = serde_json::from_str(&card.to_json().to_string()).unwrap();
        assert_eq!(json["dataset"], catalog.name);
        assert_eq!(differences(&json, &card), []);

        let yaml = card.to_registry_yaml().unwrap();
        let record = read(&yaml);
        let of = |wanted: &str| record.iter().find(|(path, _)| path == wanted).unwrap().1.clone();
        assert_eq!(of("tier"), "3");
        let shown = name.replace(r"\\", "&#92;&#92;");
        assert_eq!(of("deployment/basic/name"), shown);
        assert!(
            of("deployment/administrative/notes").contains(shown.trim()),
            "{name:?}"
        );
        // Names of the catalog are no markup for a program that shows the record as Markdown.
        let unit = of("deployment/privacy_loss/privacy_unit");
        assert!(!unit.contains(['<', '[', '`', '$', '\\', '\n']), "{unit}");
        // For other readers of YAML, such as the registry's own checks.
        if let Some(folder) = std::env::var_os("DENIABLE_KEEP_HOSTILE_YAML") {
            std::fs::write(Path::new(&folder).join(format!("hostile_{taken}.yaml")), yaml).unwrap();
        }
    }
    assert!(taken >= 3, "the catalog takes {taken} of the names");
}
