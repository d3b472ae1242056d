//! A published table as a document in TOML.
//!
//! ```
//! use attack::published::document;
//!
//! let described = document::parse(document::CENSUS)?;
//! assert_eq!(described.table, attack::published::census());
//! let mistake = document::parse("people = 7\n").unwrap_err();
//! assert_eq!(mistake.message(), "line 1: `attributes` is missing");
//! # Ok::<(), document::Mistake>(())
//! ```

pub use files::document::Mistake;

use super::{Attribute, Condition, Domain, Group, Rule, Statistic, StatisticKind, Table};
use crate::documents;
use exact::{Rational, parse_decimal};
use files::document::{Document, Node};
use std::collections::BTreeMap;
use std::path::Path;

/// The built-in example, as such a document.
pub const CENSUS: &str = include_str!("census.toml");

/// A table, and the line of each of its groups and numbers.
#[derive(Debug)]
pub struct Described {
    /// What was published.
    pub table: Table,
    /// By the name of a group (`2A`) or of a number (`2A.mean`).
    pub lines: BTreeMap<String, usize>,
}

/// Means are printed with fewer decimals than this.
const MOST_DECIMALS: u32 = 18;

/// Reads a table from a file.
pub fn read(path: &Path) -> Result<Described, Mistake> {
    documents::read(path, parse)
}

/// Reads a table.
pub fn parse(text: &str) -> Result<Described, Mistake> {
    let document = Document::parse(text).map_err(documents::not_toml)?;
    let mut root = document.root();
    let people = root.take("people").map(|node| count(&node)).transpose()?;
    let decimals = root.take("decimals").map(|node| decimals(&node)).transpose()?;
    let below = root
        .take("suppressed_below")
        .map(|node| count(&node))
        .transpose()?;
    let attributes = root
        .need(
            "attributes",
            "declare what is known about every person, as age = { from = 1, to = 125 } or sex = [\"F\", \"M\"]",
        )?
        .section()?;
    let attributes = attributes
        .named()
        .iter()
        .map(attribute)
        .collect::<Result<Vec<_>, _>>()?;
    let rules = root.take("rule").map_or(Ok(Vec::new()), |node| node.list())?;
    let groups = root
        .need(
            "group",
            "each group of the table is a [[group]] with an id and its numbers",
        )?
        .list()?;
    root.finish()?;

    let mut described = Described {
        table: Table {
            attributes,
            rules: Vec::new(),
            groups: Vec::new(),
            people,
        },
        lines: BTreeMap::new(),
    };
    for node in rules {
        let mut section = node.section()?;
        let hint = "a rule is when = { status = \"married\" } and then = { age = { from = 15 } }";
        let rule = Rule {
            when: conditions(&described.table, section.need("when", hint)?)?,
            then: conditions(&described.table, section.need("then", hint)?)?,
        };
        section.finish()?;
        described.table.rules.push(rule);
    }
    for node in groups {
        described.group(&node, decimals, below)?;
    }
    Ok(described)
}

impl Described {
    fn group(&mut self, node: &Node<'_>, decimals: Option<u32>, below: Option<u32>) -> Result<(), Mistake> {
        let mut section = node.section()?;
        let id_node = section.need("id", "number the groups, as id = \"2A\"")?;
        let id = id_node.text()?.trim().to_owned();
        if id.is_empty() || id.contains('.') {
            return Err(id_node.wrong(
                "this is no id for a group",
                "choose a short name without a dot, as 2A",
            ));
        }
        if let Some(first) = self.lines.insert(id.clone(), id_node.line()) {
            return Err(id_node.wrong(
                format!("the group `{id}` is already on line {first}"),
                "give each group an id of its own",
            ));
        }
        let name = section
            .take("name")
            .map_or(Ok(id.as_str()), |node| node.text())?
            .to_owned();
        let members = match section.take("where") {
            Some(node) => conditions(&self.table, node)?,
            None => Vec::new(),
        };
        let of = section.take("of").map(|node| self.measured(&node)).transpose()?;
        let mut statistics = Vec::new();
        for kind in StatisticKind::ALL {
            let key = match kind {
                StatisticKind::Count => "count",
                StatisticKind::Median => "median",
                StatisticKind::Mean => "mean",
                StatisticKind::Sum => "sum",
            };
            let found = section.take(key);
            let cell = found.as_ref().filter(|node| !suppressed(node));
            if let Some(node) = cell {
                self.lines.insert(format!("{id}.{kind}"), node.line());
                let of = || of.map_or_else(|| self.only_measure(node), Ok);
                statistics.push(statistic(kind, node, of, decimals)?);
            } else if let (StatisticKind::Count, Some(below)) = (kind, below) {
                self.lines.insert(
                    format!("{id}.{kind}"),
                    found.as_ref().map_or(node.line(), Node::line),
                );
                statistics.push(Statistic::Count {
                    low: 0,
                    high: below.saturating_sub(1),
                });
            }
        }
        section.finish()?;
        self.table.groups.push(Group {
            id,
            name,
            members,
            statistics,
        });
        Ok(())
    }

    /// The numeric attribute of this name.
    fn measured(&self, node: &Node<'_>) -> Result<usize, Mistake> {
        let of = known(&self.table, node, node.text()?)?;
        match self.table.attributes[of].domain {
            Domain::Integers { .. } => Ok(of),
            Domain::Categories(_) => Err(node.wrong(
                "medians and means are of numbers, and this attribute is a category",
                "name an attribute with a range, as age",
            )),
        }
    }

    /// The one attribute that can have a median or a mean.
    fn only_measure(&self, node: &Node<'_>) -> Result<usize, Mistake> {
        let mut numeric = (0..self.table.attributes.len())
            .filter(|place| matches!(self.table.attributes[*place].domain, Domain::Integers { .. }));
        match (numeric.next(), numeric.next()) {
            (Some(only), None) => Ok(only),
            _ => Err(node.wrong(
                format!("`{}` does not say of which attribute", node.key()),
                "add of = \"age\" to the group",
            )),
        }
    }
}

fn suppressed(node: &Node<'_>) -> bool {
    node.as_text().is_some_and(documents::suppressed)
}

fn count(node: &Node<'_>) -> Result<u32, Mistake> {
    u32::try_from(node.integer()?).map_err(|_| {
        node.wrong(
            format!("`{}` is not a number of people", node.key()),
            "write it as 7",
        )
    })
}

fn decimals(node: &Node<'_>) -> Result<u32, Mistake> {
    let decimals = count(node)?;
    if decimals > MOST_DECIMALS {
        return Err(node.wrong("too many decimals", format!("at most {MOST_DECIMALS} are read")));
    }
    Ok(decimals)
}

fn attribute(node: &Node<'_>) -> Result<Attribute, Mistake> {
    let name = node.key().to_owned();
    let domain = match node.is_list() {
        true => {
            let values = node.list()?;
            let mut names: Vec<String> = Vec::new();
            for value in values {
                let name = value.text()?.to_owned();
                if names.contains(&name) {
                    return Err(value.wrong(
                        format!("the category `{name}` of `{}` is there twice", node.key()),
                        "name each once",
                    ));
                }
                names.push(name);
            }
            if names.is_empty() {
                return Err(node.wrong(
                    format!("the attribute `{name}` has no values"),
                    "name at least one category",
                ));
            }
            Domain::Categories(names)
        }
        false => {
            let mut section = node.section()?;
            let hint =
                format!("without both ends the solutions have no end: {name} = {{ from = 1, to = 125 }}");
            let unbounded =
                |end: &str| node.wrong(format!("the attribute `{name}` has no {end}"), hint.clone());
            let low = section
                .take("from")
                .ok_or_else(|| unbounded("least value (`from`)"))?
                .integer()?;
            let high = section
                .take("to")
                .ok_or_else(|| unbounded("greatest value (`to`)"))?
                .integer()?;
            section.finish()?;
            if low > high {
                return Err(node.wrong(
                    format!("the attribute `{name}` ends before it begins"),
                    "give the least value as `from` and the greatest as `to`",
                ));
            }
            Domain::Integers { low, high }
        }
    };
    Ok(Attribute { name, domain })
}

fn known(table: &Table, node: &Node<'_>, name: &str) -> Result<usize, Mistake> {
    let names = || -> Vec<&str> {
        table
            .attributes
            .iter()
            .map(|attribute| attribute.name.as_str())
            .collect()
    };
    table
        .attributes
        .iter()
        .position(|attribute| attribute.name == name)
        .ok_or_else(|| {
            node.wrong(
                format!("there is no attribute `{name}`"),
                format!("[attributes] declares {}", names().join(", ")),
            )
        })
}

fn conditions(table: &Table, node: Node<'_>) -> Result<Vec<Condition>, Mistake> {
    let entries = node.section()?.named();
    entries
        .iter()
        .map(|node| {
            let attribute = known(table, node, node.key())?;
            let domain = &table.attributes[attribute].domain;
            let one = |value: &Node<'_>| match value.is_table() {
                true => range(value, domain),
                false => single(value, domain),
            };
            let ranges = match node.is_list() {
                true => node.list()?.iter().map(one).collect::<Result<Vec<_>, _>>()?,
                false => vec![one(node)?],
            };
            Ok(Condition { attribute, ranges })
        })
        .collect()
}

/// One value, as a range.
fn single(node: &Node<'_>, domain: &Domain) -> Result<(i64, i64), Mistake> {
    let value = match domain {
        Domain::Integers { .. } => node.integer()?,
        Domain::Categories(names) => {
            let text = node.text()?;
            let place = names.iter().position(|name| name == text).ok_or_else(|| {
                node.wrong(
                    format!("`{text}` is no value of `{}`", node.key()),
                    format!("its values are {}", names.join(", ")),
                )
            })?;
            place as i64
        }
    };
    Ok((value, value))
}

/// `{ from, to }`, of which one may be left out.
fn range(node: &Node<'_>, domain: &Domain) -> Result<(i64, i64), Mistake> {
    let Domain::Integers { low, high } = domain else {
        return Err(node.wrong(
            format!("`{}` is a category, which has no range", node.key()),
            "write a value in quotes, or a list of them",
        ));
    };
    let mut section = node.section()?;
    let from = section.take("from").map_or(Ok(*low), |node| node.integer())?;
    let to = section.take("to").map_or(Ok(*high), |node| node.integer())?;
    section.finish()?;
    if from > to {
        return Err(node.wrong(
            "this range ends before it begins",
            "give the least value as `from`",
        ));
    }
    Ok((from.max(*low), to.min(*high)))
}

/// A number that was printed, or [least, greatest].
fn statistic(
    kind: StatisticKind,
    node: &Node<'_>,
    of: impl Fn() -> Result<usize, Mistake>,
    decimals: Option<u32>,
) -> Result<Statistic, Mistake> {
    let is_range = node.is_list();
    let ends = match is_range {
        true => node.list()?,
        false => vec![node.clone(), node.clone()],
    };
    let [low, high] = ends.as_slice() else {
        return Err(node.wrong(
            "a margin of error has two ends",
            "write [least, greatest], or the number alone",
        ));
    };
    let ordered = |in_order: bool| {
        if in_order {
            Ok(())
        } else {
            Err(node.wrong("the greater end comes first", "write [least, greatest]"))
        }
    };
    match kind {
        StatisticKind::Count => {
            let (low, high) = (count(low)?, count(high)?);
            ordered(low <= high)?;
            Ok(Statistic::Count { low, high })
        }
        StatisticKind::Median => {
            let (low, high) = (doubled(low)?, doubled(high)?);
            ordered(low <= high)?;
            Ok(Statistic::Median {
                of: of()?,
                twice_low: low,
                twice_high: high,
            })
        }
        StatisticKind::Mean => {
            let (low_value, low_decimals) = exactly(low)?;
            let (high_value, _) = exactly(high)?;
            ordered(low_value <= high_value)?;
            if is_range {
                return Ok(Statistic::Mean {
                    of: of()?,
                    low: low_value,
                    high: high_value,
                });
            }
            let decimals = decimals.unwrap_or(low_decimals);
            if low_decimals > decimals {
                return Err(node.wrong(
                    format!(
                        "this mean has {low_decimals} decimals, and the table says that means have {decimals}"
                    ),
                    "change `decimals`, or leave it out to take each mean as it is written",
                ));
            }
            Ok(Statistic::mean(of()?, &low_value, decimals))
        }
        StatisticKind::Sum => {
            let (low, high) = (low.integer()?, high.integer()?);
            ordered(low <= high)?;
            Ok(Statistic::Sum { of: of()?, low, high })
        }
    }
}

/// A decimal as it is written, and how many decimals it has.
fn exactly(node: &Node<'_>) -> Result<(Rational, u32), Mistake> {
    let text = node.decimal()?;
    let decimals = text
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len() as u32);
    let plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+'));
    match parse_decimal(text) {
        Ok(value) if plain && decimals <= MOST_DECIMALS => Ok((value, decimals)),
        _ => Err(node.wrong(
            format!("`{}` is not a decimal number", node.key()),
            format!("write it as it was printed, as 36.7, with at most {MOST_DECIMALS} decimals"),
        )),
    }
}

/// Twice a median, which is whole.
fn doubled(node: &Node<'_>) -> Result<i64, Mistake> {
    let (value, _) = exactly(node)?;
    let twice = value * Rational::from(2);
    twice
        .is_int()
        .then(|| i64::try_from(twice.numerator()).ok())
        .flatten()
        .ok_or_else(|| {
            node.wrong(
                "a median of whole numbers is whole or a half",
                "write it as 30 or 30.5; a median that was rounded is a range: [30, 31]",
            )
        })
}

#[cfg(test)]
mod tests;
