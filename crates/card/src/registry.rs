//! The card as a record of the registry of deployments (github.com/opendp/deployments-registry-data, schema
//! of 2026-07): one YAML file with the fields of all three tiers.
//!
//! The registry shows every text as Markdown with LaTeX. The words of people are kept as they are, markup
//! included. Names from the catalog are written so that nothing in them is markup.

use crate::yaml::{Node, write};
use crate::{Card, Error};
use std::fmt::Write as _;

/// As many releases are told one by one.
const MOST_TOLD: usize = 5;

pub(crate) fn record(card: &Card) -> Result<String, Error> {
    let missing = card.asserted.missing();
    if !missing.is_empty() {
        return Err(Error::new(
            format!(
                "the registry asks what only people can say, and nobody has said: {}",
                missing.join(", ")
            ),
            format!(
                "`deniable card draft` writes the questions; answer them in {} beside the catalog",
                crate::FILE_NAME
            ),
        ));
    }
    let Some(as_of) = &card.as_of else {
        return Err(Error::new(
            "there is no ledger yet, so nothing was released that could be registered",
            "ask something first; --format html and json describe what will hold",
        ));
    };
    let words = &card.asserted;
    let name = tamed(&words.of("title").unwrap_or_else(|| plain(&card.dataset)));
    let curators = words.list("curators");
    let date = as_of.published();
    let map = Node::Map;
    let mut basic = vec![
        ("name", Node::Text(name.clone())),
        ("data_curators", Node::List(curators.clone())),
        ("intended_use", said(card, "intended_use")),
        (
            "data_product_type",
            Node::Text(words.of("product").unwrap_or_else(|| "SQL queries".to_owned())),
        ),
        ("data_product_region", said(card, "region")),
        ("description", said(card, "description")),
        ("publication_date", Node::Text(date.to_owned())),
    ];
    if let Some(sector) = words.of("sector") {
        basic.push(("data_product_sector", Node::Text(sector)));
    }
    let deployment = vec![
        ("basic", map(basic)),
        ("dp_variant", map(variant(card))),
        ("privacy_loss", map(loss(card))),
        ("deployment_model", map(model(card))),
        ("accounting", map(accounting(card))),
        ("implementation", map(implementation(card))),
        ("administrative", map(administrative(card))),
    ];
    let deployment = deployment
        .into_iter()
        .map(|(key, node)| (key, tame(node)))
        .collect();
    Ok(write(&[
        ("url_slug", Node::Plain(slug(&name, &curators, date))),
        ("status", Node::Text("Draft".to_owned())),
        ("tier", Node::Plain("3".to_owned())),
        ("deployment", Node::Map(deployment)),
    ]))
}

/// The registry takes two backslashes for one that was escaped twice, except before a bracket of LaTeX, and
/// refuses them: they are written as numbers, which look the same when shown.
fn tamed(text: &str) -> String {
    let mut tamed = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(r"\\") {
        tamed.push_str(before);
        tamed.push_str(if after.starts_with(['(', ')']) {
            r"\\"
        } else {
            "&#92;&#92;"
        });
        rest = after;
    }
    tamed.push_str(rest);
    tamed
}

fn tame(node: Node) -> Node {
    match node {
        Node::Text(text) => Node::Text(tamed(&text)),
        Node::List(texts) => Node::List(texts.iter().map(|text| tamed(text)).collect()),
        Node::Map(fields) => Node::Map(fields.into_iter().map(|(key, node)| (key, tame(node))).collect()),
        Node::Plain(text) => Node::Plain(text),
    }
}

type Fields = Vec<(&'static str, Node)>;

fn variant(card: &Card) -> Fields {
    let mut domain = String::new();
    for table in card.declared.private_tables() {
        let columns: Vec<String> = table.columns.iter().map(|column| plain(&column.name)).collect();
        let _ = write!(
            domain,
            "Table {}, any rows with the columns {}; {}. ",
            plain(&table.name),
            columns.join(", "),
            plain(&table.owner)
        );
    }
    let public: Vec<String> = card
        .declared
        .tables
        .iter()
        .filter(|table| table.public)
        .map(|table| plain(&table.name))
        .collect();
    let public = if public.is_empty() {
        "none".to_owned()
    } else {
        public.join(", ")
    };
    vec![
        ("variant_name", Node::Text(card.promise.variant.to_owned())),
        ("data_domain", Node::Text(domain.trim().to_owned())),
        (
            "unprotected_quantities",
            Node::Text(format!(
                "{} Public by declaration: names of tables and columns, bounds, listed values, the text of questions and what they cost; public tables: {public}.",
                sentence(card.asserted.of("exact_releases"))
            )),
        ),
    ]
}

fn loss(card: &Card) -> Fields {
    let promise = &card.promise;
    let limit = &promise.limit;
    let parameters = [
        ("epsilon", &limit.epsilon),
        ("delta", &limit.delta),
        ("rho", &limit.rho),
    ];
    let parameters = parameters
        .into_iter()
        .filter_map(|(name, value)| Some((name, Node::Plain(number(value.as_ref()?)))));
    let neighbors = match promise.unit.neighbors {
        accounting::Neighbors::AddRemove => {
            "one has all rows of one such unit, in every private table, and the other has none of them"
        }
        accounting::Neighbors::ChangeOne => {
            "all rows of one such unit, in every private table, are replaced by other ones; how many units there are is public"
        }
    };
    let owners: Vec<String> = card
        .declared
        .private_tables()
        .map(|table| format!("{}: {}", plain(&table.name), plain(&table.owner)))
        .collect();
    vec![
        ("privacy_unit", Node::Text(plain(&promise.unit.whose))),
        (
            "privacy_unit_details",
            Node::Text(format!(
                "Two datasets are adjacent if {neighbors}. {}. Contributions are bounded: {}.",
                owners.join("; "),
                plain(&card.declared.limits.in_words())
            )),
        ),
        ("privacy_parameters", Node::Map(parameters.collect())),
        ("privacy_parameters_details", Node::Text(spent(card))),
    ]
}

fn spent(card: &Card) -> String {
    let spent = &card.spent;
    let mut text = format!(
        "The limit for everything that is ever released. After {} charges the ledger counts {}",
        spent.charges,
        spent.enforced.as_ref().map_or_else(
            || "more than the limit, under earlier rules".to_owned(),
            |used| used.in_words()
        ),
    );
    if let Some(rho) = &spent.rho {
        let _ = write!(
            text,
            "; as zCDP they are ρ = {rho}, beside a δ of {}",
            spent.curves_beside_delta
        );
    }
    if let Some(certified) = spent
        .accountants
        .iter()
        .find(|line| line.accountant == "numerical")
        && let Some(epsilon) = &certified.epsilon
    {
        let _ = write!(
            text,
            "; had they been fixed in advance, ε = {epsilon} at δ = {}",
            spent.at_delta
        );
    }
    text.push_str(". How it was chosen: ");
    text.push_str(&sentence(card.asserted.of("epsilon_chosen")));
    text
}

fn model(card: &Card) -> Fields {
    let dynamic = card.declared.data_version_every.is_some();
    let source = card.asserted.of("data_source");
    let source = source.unwrap_or_else(|| if dynamic { "Dynamic" } else { "Static" }.to_owned());
    let shares = match card.promise.shares {
        0 => "Analysts share one budget and have no parts of their own.".to_owned(),
        shares => format!("{shares} analysts have shares of the one budget; nobody else may spend anything."),
    };
    vec![
        ("model_name", Node::Text("Central".to_owned())),
        (
            "model_name_details",
            Node::Text("A trusted curator holds the data; noise is added where it is kept, before anything leaves.".to_owned()),
        ),
        (
            "actors",
            Node::Text(format!(
                "Curator, machine and operating system: trusted with the data. Analysts and whoever else sees answers, costs and errors: not trusted, may know everything else about everybody and work together. {}",
                sentence(card.asserted.of("actors"))
            ).trim().to_owned()),
        ),
        ("release_type", Node::Text("Many releases".to_owned())),
        (
            "release_type_details",
            Node::Text("Answers are released one by one. The budget never starts anew: all of them count under one limit, and what does not fit is refused.".to_owned()),
        ),
        ("data_source_type", Node::Text(source)),
        (
            "data_source_type_details",
            Node::Text(format!(
                "The curator declares versions of the data (now: {}); charges count over all versions.",
                plain(&card.declared.data_version)
            )),
        ),
        ("access_type", Node::Text("Interactive".to_owned())),
        (
            "access_type_details",
            Node::Text(format!(
                "Analysts ask in SQL. {shares} The guarantee holds for analysts who share what they see. The same question again returns what was released, for nothing."
            )),
        ),
    ]
}

fn accounting(card: &Card) -> Fields {
    vec![
        (
            "post_processing",
            Node::Text("Whatever a question does with its aggregates (HAVING, ORDER BY, LIMIT, arithmetic), and 95 % intervals. Noisy numbers are not rounded up to zero or made consistent.".to_owned()),
        ),
        (
            "composition",
            Node::Text(format!("Charges are admitted by {}. Statistics of one question are charged together.", card.spent.counted_by)),
        ),
    ]
}

fn implementation(card: &Card) -> Fields {
    let mut ran: Vec<String> = card
        .mechanisms
        .iter()
        .take(MOST_TOLD)
        .map(crate::numbers::Mechanism::in_words)
        .collect();
    if ran.is_empty() {
        ran.push("none yet".to_owned());
    }
    let mechanisms = format!(
        "Ran so far: {}. Implemented by {}, with exact discrete samplers. {}",
        ran.join("; "),
        card.made_by,
        card.side_channels.join(" ")
    );
    vec![
        (
            "preprocessing_and_hyperparameter_tuning",
            Node::Text(format!(
                "Bounds, groups and limits are declared in a catalog whose draft is made from names and types alone; limits that are found from data are found privately and charged. {}",
                sentence(card.asserted.of("preprocessing"))
            ).trim().to_owned()),
        ),
        ("mechanisms", Node::Text(format!("{mechanisms} Security of the data: {}", sentence(card.asserted.of("security"))))),
        (
            "justification",
            Node::Text(format!(
                "{} {} Each mechanism has its claim, proof and audit beside its code.",
                sentence(card.asserted.of("justification")),
                sentence(card.asserted.of("epsilon_chosen"))
            ).trim().to_owned()),
        ),
    ]
}

fn administrative(card: &Card) -> Fields {
    let mut notes = String::new();
    if let Some(as_of) = &card.as_of {
        let _ = write!(
            notes,
            "Made from the ledger that begins with {}, up to its entry {} with hash {}. ",
            as_of.ledger, as_of.entry, as_of.hash
        );
    }
    notes.push_str(&sentence(card.asserted.of("notes")));
    vec![
        (
            "sources",
            Node::Text(card.asserted.of("sources").unwrap_or_else(|| "None.".to_owned())),
        ),
        ("notes", Node::Text(notes.trim().to_owned())),
        ("registry_authors", Node::List(card.asserted.list("authors"))),
    ]
}

fn said(card: &Card, key: &str) -> Node {
    Node::Text(card.asserted.of(key).unwrap_or_default())
}

/// What was said, with a full stop; nothing if nothing was.
fn sentence(said: Option<String>) -> String {
    let said = said.unwrap_or_default();
    let said = said.trim();
    match said.chars().last() {
        Some('.' | '!' | '?') | None => said.to_owned(),
        Some(_) => format!("{said}."),
    }
}

/// A name with every character that Markdown or LaTeX might read as markup written as its number, which
/// neither does.
fn plain(name: &str) -> String {
    let mut text = String::new();
    for character in name.chars() {
        if matches!(
            character,
            '\\' | '`'
                | '*'
                | '['
                | ']'
                | '('
                | ')'
                | '<'
                | '>'
                | '#'
                | '!'
                | '|'
                | '$'
                | '~'
                | '&'
                | '{'
                | '}'
                | '"'
                | '\''
                | '@'
                | '/'
        ) || character.is_control()
        {
            let _ = write!(text, "&#{};", u32::from(character));
        } else {
            text.push(character);
        }
    }
    text
}

/// A decimal as YAML takes it for a number: one with an exponent has a point and a sign.
fn number(decimal: &str) -> String {
    let Some((digits, exponent)) = decimal.split_once('e') else {
        return decimal.to_owned();
    };
    let point = if digits.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with(['-', '+']) { "" } else { "+" };
    format!("{digits}{point}e{sign}{exponent}")
}

/// As the registry makes it: name, curators and year in small letters, whatever is no letter or digit as one
/// dash.
fn slug(name: &str, curators: &[String], date: &str) -> String {
    let clean = |text: &str| {
        let (mut clean, mut within) = (String::new(), true);
        for character in text.to_lowercase().chars() {
            let word = character.is_alphanumeric() || character == '_';
            if character.is_alphanumeric() {
                clean.push(character);
            } else if word || within {
                clean.push('-');
            }
            within = word;
        }
        clean
    };
    let year = date.split('-').next().unwrap_or_default();
    [clean(name), clean(&curators.join("-")), clean(year)].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_numbers_in_yaml() {
        for (decimal, yaml) in [
            ("10", "10"),
            ("0.5", "0.5"),
            ("1e-9", "1.0e-9"),
            ("1.5e-9", "1.5e-9"),
            ("2e12", "2.0e+12"),
        ] {
            assert_eq!(number(decimal), yaml);
        }
    }

    #[test]
    fn names_are_no_markup() {
        assert_eq!(plain("person_id"), "person_id");
        assert_eq!(
            plain("<b>*[x](y)\\\\$"),
            "&#60;b&#62;&#42;&#91;x&#93;&#40;y&#41;&#92;&#92;&#36;"
        );
    }

    #[test]
    fn slugs() {
        let curators = ["The Clinics".to_owned(), "B & C".to_owned()];
        assert_eq!(slug("a_ b", &[], "2026"), "a--b--2026");
        assert_eq!(
            slug("Visits: 2", &curators, "2026-01-02"),
            "visits-2-the-clinics-b-c-2026"
        );
    }
}
