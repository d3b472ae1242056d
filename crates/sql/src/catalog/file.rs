//! Catalogs are read from TOML files.

use super::document::{Document, Node, Section};
use super::quantity::{delta, epsilon};
use super::release::{Known, releases};
use super::table::{Surroundings, connection, is_postgres, limits, table};
use super::{Budgets, Catalog, DataVersion, Engine, LedgerPlace, check};
use crate::Error;
use accounting::{Delta, Neighbors, PrivacyUnit};
use exact::{Rational, ratio};
use std::collections::BTreeMap;
use std::path::Path;

impl Catalog {
    /// Reads a catalog. Relative paths in it start at the directory it is in.
    ///
    /// # Errors
    /// When the file cannot be read, or is no catalog: reported by line and key, never by what else is written there.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|error| Error::File {
            what: format!("the catalog {} cannot be read", path.display()),
            why: error.kind(),
            hint: "`deniable init` writes a first catalog".to_owned(),
        })?;
        let text = String::from_utf8(bytes).map_err(|_| {
            Error::catalog(
                format!("{}: this is not text", path.display()),
                "a catalog is a TOML file; is this a data file?",
            )
        })?;
        // An absolute directory, so that a later change of the working directory moves nothing.
        let directory = path.parent().unwrap_or(Path::new(""));
        let directory = std::path::absolute(directory.join(".")).map_err(|error| Error::File {
            what: format!("the directory of {} cannot be found", path.display()),
            why: error.kind(),
            hint: "is the working directory still there?".to_owned(),
        })?;
        Self::parse(&text, &directory).map_err(|error| match error {
            Error::Catalog { what, hint } => Error::Catalog {
                what: format!("{}, {what}", path.display()),
                hint,
            },
            other => other,
        })
    }

    /// Reads a catalog from its text. Relative paths in it start at `directory`.
    ///
    /// # Errors
    /// As for [`Catalog::read`].
    pub fn parse(text: &str, directory: &Path) -> Result<Self, Error> {
        let surroundings = Surroundings {
            directory,
            variable: &|name| std::env::var(name).ok(),
        };
        parse(text, &surroundings)
    }
}

/// [`Catalog::parse`] with the environment as a parameter.
pub(super) fn parse(text: &str, surroundings: &Surroundings<'_>) -> Result<Catalog, Error> {
    let document = Document::parse(text)?;
    let mut root = document.root();
    let name = root
        .need("name", "give the dataset a name: name = \"clinic\"")?
        .name()?
        .to_owned();
    let unit = unit(root.section("unit")?)?;
    let budget = budgets(root.section("budget")?, surroundings)?;
    let limits = limits(root.section("limits")?)?;
    let data = DataVersion::read(root.section("data")?)?;
    let engine = Engine::read(root.section("engine")?, surroundings.directory)?;
    let node = root.need("tables", "declare at least one table, as [tables.people]")?;
    let mut tables = BTreeMap::new();
    for (name, entry) in node.section()?.named() {
        if name.trim().is_empty() || name.contains('.') || name.chars().any(char::is_control) {
            return Err(entry.wrong(
                "this cannot be the name of a table",
                "use letters, digits and underscores",
            ));
        }
        if tables.contains_key(&name.to_lowercase()) {
            return Err(entry.wrong(
                "another table differs from this one in upper and lower case only",
                "SQL would confuse them: rename one of them",
            ));
        }
        tables.insert(name.to_lowercase(), table(&entry, surroundings)?);
    }
    if tables.is_empty() {
        return Err(node.wrong("no tables", "declare at least one, as [tables.people]"));
    }
    let planned = root.section("releases")?;
    root.finish()?;
    check::units(&tables)?;
    check::identifiers(&mut tables);
    check::partitions(&tables)?;
    check::others(&tables)?;
    let known = Known {
        tables: &tables,
        budget: &budget,
    };
    let releases = releases(planned, &known)?;
    Ok(Catalog {
        name,
        unit,
        tables: tables
            .into_iter()
            .map(|(name, declared)| (name, declared.table))
            .collect(),
        releases,
        limits,
        budget,
        engine,
        data,
        directory: surroundings.directory.to_owned(),
    })
}

fn unit(mut section: Section<'_>) -> Result<PrivacyUnit, Error> {
    let whose = section
        .need(
            "whose",
            "say whose privacy it is: [unit] with whose = \"person\", \"patient\" or \"household\"",
        )?
        .name()?
        .to_owned();
    let neighbors = match section.take("neighbors") {
        None => Neighbors::AddRemove,
        Some(node) => match node.text()? {
            "add_remove" => Neighbors::AddRemove,
            "change_one" => Neighbors::ChangeOne,
            _ => {
                return Err(node.wrong(
                    "there are no such neighbours",
                    "expected \"add_remove\" or \"change_one\"",
                ));
            }
        },
    };
    section.finish()?;
    Ok(PrivacyUnit::new(whose, neighbors))
}

fn budgets(mut section: Section<'_>, surroundings: &Surroundings<'_>) -> Result<Budgets, Error> {
    let total = epsilon(&section.need(
        "epsilon",
        "say how much may be spent in all: [budget] with epsilon = 1",
    )?)?;
    let total_delta = section
        .take("delta")
        .map(|node| delta(&node))
        .transpose()?
        .unwrap_or(Delta::ZERO);
    let ledger = match section.take("ledger") {
        None => LedgerPlace::File(surroundings.directory.join("deniable.ledger")),
        Some(node) if is_postgres(node.text()?) => LedgerPlace::Postgres(connection(&node, surroundings)?),
        Some(node) => LedgerPlace::File(surroundings.directory.join(node.name()?)),
    };
    let mut query = section.section("query")?;
    let query_epsilon = match query.take("epsilon") {
        None => None,
        Some(node) => {
            let wanted = epsilon(&node)?;
            if wanted > total {
                return Err(node.wrong(
                    "one query would take more than there is in all",
                    "make it smaller, or budget.epsilon larger",
                ));
            }
            Some(wanted)
        }
    };
    let query_delta = match query.take("delta") {
        None => Delta::ZERO,
        Some(node) => {
            let wanted = delta(&node)?;
            if wanted > total_delta {
                return Err(node.wrong(
                    "one query would take more than there is in all",
                    "make it smaller, or budget.delta larger",
                ));
            }
            wanted
        }
    };
    let find_limits = query
        .take("find_limits")
        .map(|node| share_to_find(&node))
        .transpose()?;
    query.finish()?;
    let mut shares = BTreeMap::new();
    for (analyst, node) in section.section("analysts")?.named() {
        if analyst.trim().is_empty() {
            return Err(node.wrong("an analyst without a name", "name each analyst"));
        }
        shares.insert(analyst.to_owned(), share(&node)?);
    }
    section.finish()?;
    Ok(Budgets {
        epsilon: total,
        delta: total_delta,
        query_epsilon,
        query_delta,
        find_limits,
        shares,
        ledger,
    })
}

fn share_to_find(node: &Node<'_>) -> Result<Rational, Error> {
    exact::parse_decimal(node.decimal()?)
        .ok()
        .filter(|share| *share > Rational::ZERO && *share <= ratio(1, 2))
        .ok_or_else(|| {
            node.wrong(
                "expected a share above 0 and at most 0.5",
                "the rest of a query's ε answers it: 0.1 is a tenth",
            )
        })
}

fn share(node: &Node<'_>) -> Result<Rational, Error> {
    exact::parse_decimal(node.decimal()?)
        .ok()
        .filter(|share| *share > Rational::ZERO && *share <= Rational::ONE)
        .ok_or_else(|| {
            node.wrong(
                "expected a share above 0 and at most 1",
                "write it as 0.25 or \"1/3\"; a half of the budget is 0.5",
            )
        })
}
