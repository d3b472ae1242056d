//! The privacy card of a dataset: one document that says whose privacy is protected, how, and how anybody can
//! tell.
//!
//! Three sources are kept apart in it, because they are believed for different reasons:
//!
//! - *Numbers* are computed from the ledger's events and the catalog. [`differences`] computes them again, as
//!   of the entry that the card names, and says which differ.
//! - *Words* are what only people can say ([`Words`], a file `card.toml`): how ε was chosen, what was
//!   published without noise. They are marked as asserted.
//! - *What the catalog declares* is split into what is enforced (bounds clamp, limits cut) and what is a
//!   curator's word that nobody checked (that a column names people).
//!
//! Nothing in a card is read from data, and nothing in it names a file, a row count, an analyst or a query.
//! So a card says nothing about the data that the catalog and the ledger's charges do not say, and those are
//! public. It is the same for neighbouring data under the same ledger.
//!
//! ```
//! use card::{Card, Ledger, Words};
//!
//! # let catalog = sql::Catalog::parse("name = \"clinic\"\n[unit]\nwhose = \"person\"\n[budget]\nepsilon = 1\nledger = \"x.ledger\"\n\
//! #   [tables.people]\nsource = \"people.csv\"\nunit = \"id\"\n[tables.people.columns]\nid = { kind = \"int\" }\n", "/nowhere".as_ref())?;
//! # let rules = sql::blocking::Dataset::new(catalog.clone())?.rules()?;
//! let card = Card::new(&catalog, Ledger::NotYet(&rules), &Words::none())?;
//! assert_eq!(card.to_json()["promise"]["limit"]["epsilon"], "1");
//! assert!(card.to_html().contains("<h1>Privacy card of clinic</h1>"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod checking;
mod declared;
mod html;
mod nist;
mod numbers;
mod registry;
#[cfg(test)]
mod tests;
mod words;
mod yaml;

pub use checking::{Difference, differences};
pub use words::{FILE_NAME, Words};

use declared::Declared;
use ledger::{Past, Rules};
use nist::Point;
use numbers::{AsOf, PromisePart, Release, SpentPart};
use serde::Serialize;
use sql::Catalog;

/// Of the card itself. Another format is another program's.
const FORMAT: u32 = 1;

/// Why there is no card.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}\nhint: {hint}")]
pub struct Error {
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: String,
}

impl Error {
    fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: hint.into(),
        }
    }
}

impl From<files::document::Mistake> for Error {
    fn from(mistake: files::document::Mistake) -> Self {
        Self::new(mistake.message(), mistake.hint())
    }
}

impl From<ledger::Error> for Error {
    fn from(error: ledger::Error) -> Self {
        let text = error.to_string();
        match text.split_once("\nhint: ") {
            Some((what, hint)) => Self::new(what, hint),
            None => Self::new(text, "verify the ledger with `deniable budget verify`"),
        }
    }
}

/// What was spent.
#[derive(Clone, Copy, Debug)]
pub enum Ledger<'a> {
    /// What a ledger says up to one of its entries ([`ledger::Store::past`]).
    Until(&'a Past),
    /// There is none yet, and these are the rules that it will have.
    NotYet(&'a Rules),
}

impl<'a> Ledger<'a> {
    fn rules(self) -> &'a Rules {
        match self {
            Self::Until(past) => &past.rules,
            Self::NotYet(rules) => rules,
        }
    }

    fn past(self) -> Option<&'a Past> {
        match self {
            Self::Until(past) => Some(past),
            Self::NotYet(_) => None,
        }
    }
}

/// The card of a dataset. Its fields are those of the JSON document.
#[derive(Clone, Debug, Serialize)]
pub struct Card {
    format: u32,
    made_by: String,
    dataset: String,
    as_of: Option<AsOf>,
    promise: PromisePart,
    spent: SpentPart,
    mechanisms: Vec<numbers::Mechanism>,
    releases: Vec<Release>,
    declared: Declared,
    side_channels: Vec<&'static str>,
    asserted: Words,
    nist_sp_800_226: Vec<Point>,
}

impl Card {
    /// The card of a dataset.
    ///
    /// # Errors
    /// When no ledger can keep the rules.
    pub fn new(catalog: &Catalog, ledger: Ledger<'_>, words: &Words) -> Result<Self, Error> {
        let mut card = Self {
            format: FORMAT,
            made_by: format!("deniable {}", env!("CARGO_PKG_VERSION")),
            dataset: catalog.name.clone(),
            as_of: ledger.past().map(AsOf::of),
            promise: PromisePart::of(ledger.rules()),
            spent: SpentPart::of(ledger)?,
            mechanisms: numbers::mechanisms(ledger),
            releases: numbers::releases(catalog, ledger),
            declared: Declared::of(catalog, ledger.rules()),
            side_channels: declared::SIDE_CHANNELS.to_vec(),
            asserted: words.clone(),
            nist_sp_800_226: Vec::new(),
        };
        card.nist_sp_800_226 = nist::points(&card);
        Ok(card)
    }

    /// The card as of the last entry of a ledger that is open already, with what the file beside the catalog
    /// says. It takes some tenths of a second, and changes only with the ledger's head.
    ///
    /// # Errors
    /// When the chain is broken, or the file cannot be read.
    pub fn now(catalog: &Catalog, store: &mut ledger::Store) -> Result<Self, Error> {
        Self::new(
            catalog,
            Ledger::Until(&store.past(None)?),
            &Words::beside(catalog)?,
        )
    }

    /// One object with everything: what `deniable card verify` reads.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("a card is plain data")
    }

    /// A page of its own, without any external asset.
    pub fn to_html(&self) -> String {
        html::page(self)
    }

    /// The same without the page around it, for a page that has a style of its own: elements with classes
    /// that begin with `card`, no styles and no scripts. Whatever is in it is escaped.
    pub fn to_html_fragment(&self) -> String {
        html::fragment(self).into_string()
    }

    /// What the fragment looks like, for a style sheet.
    pub fn style() -> &'static str {
        html::STYLE
    }

    /// A record for the registry of deployments (opendp/deployments-registry-data), with the fields of all
    /// three tiers. Its status is that of a draft: a person submits it.
    ///
    /// # Errors
    /// When words are missing that nobody can compute, or nothing was ever asked.
    pub fn to_registry_yaml(&self) -> Result<String, Error> {
        registry::record(self)
    }
}
