//! The published margins of a block as a document in TOML.
//!
//! ```
//! use attack::blocks::document;
//!
//! let block = document::parse(document::TEMPLATE)?;
//! assert_eq!((block.cells(), block.margins.len()), (12, 3));
//! # Ok::<(), document::Mistake>(())
//! ```

pub use files::document::Mistake;

use super::{Block, Category, Margin};
use crate::documents;
use files::document::{Document, Node, Section};
use std::path::Path;

/// A small example of such a document.
pub const TEMPLATE: &str = include_str!("template.toml");

/// A larger error or unit is a mistake.
const MOST_ERROR: i64 = 1_000_000_000;

/// Reads a block from a file.
pub fn read(path: &Path) -> Result<Block, Mistake> {
    documents::read(path, parse)
}

/// Reads a block.
pub fn parse(text: &str) -> Result<Block, Mistake> {
    let document = Document::parse(text).map_err(documents::not_toml)?;
    let mut root = document.root();
    let categories = root
        .need(
            "categories",
            "declare what people are sorted by, as sex = [\"F\", \"M\"]",
        )?
        .section()?
        .named()
        .iter()
        .map(category)
        .collect::<Result<Vec<_>, _>>()?;
    let margins = root
        .need(
            "margin",
            "each [[margin]] has `by`, a list of categories, and `counts`",
        )?
        .list()?;
    root.finish()?;
    let mut block = Block {
        categories,
        margins: Vec::new(),
    };
    for node in margins {
        let margin = margin(&block, &node)?;
        block.margins.push(margin);
    }
    Ok(block)
}

fn category(node: &Node<'_>) -> Result<Category, Mistake> {
    let mut values = Vec::new();
    for value in node.list()? {
        values.push(value.text()?.to_owned());
    }
    if values.is_empty() {
        return Err(node.wrong(
            format!("the category `{}` has no values", node.key()),
            "name at least one",
        ));
    }
    Ok(Category {
        name: node.key().to_owned(),
        values,
    })
}

fn margin(block: &Block, node: &Node<'_>) -> Result<Margin, Mistake> {
    let mut section = node.section()?;
    let hint = "a margin is by = [\"sex\", \"age\"] and counts = [[3, 12], [4, 10]]";
    let by_node = section.need("by", hint)?;
    let mut by: Vec<usize> = Vec::new();
    for name in by_node.list()? {
        let text = name.text()?;
        let place = block.categories.iter().position(|category| category.name == text);
        let Some(place) = place else {
            let names: Vec<&str> = block
                .categories
                .iter()
                .map(|category| category.name.as_str())
                .collect();
            return Err(name.wrong(
                format!("there is no category `{text}`"),
                format!("[categories] declares {}", names.join(", ")),
            ));
        };
        if by.contains(&place) {
            return Err(name.wrong(format!("`{text}` is there twice"), "name each category once"));
        }
        by.push(place);
    }
    // A count rounded to a multiple of b is off by at most b/2; a tie may have gone either way.
    let rounded = distance(&mut section, "rounded_to")?.map(|unit| unit / 2);
    let error = distance(&mut section, "error")?;
    let width = rounded.unwrap_or(0) + error.unwrap_or(0);
    let counts_node = section.need("counts", hint)?;
    section.finish()?;
    let sizes: Vec<usize> = by
        .iter()
        .map(|&category| block.categories[category].values.len())
        .collect();
    let mut counts = Vec::new();
    if sizes.is_empty() {
        counts.push(count(&counts_node, width)?);
    } else {
        collect(&counts_node, &sizes, width, &mut counts)?;
    }
    Ok(Margin { by, counts })
}

fn distance(section: &mut Section<'_>, key: &'static str) -> Result<Option<i64>, Mistake> {
    let Some(node) = section.take(key) else {
        return Ok(None);
    };
    let value = node.integer()?;
    if !(0..=MOST_ERROR).contains(&value) {
        return Err(node.wrong(format!("`{key}` must not be negative"), "write it as 5"));
    }
    Ok(Some(value))
}

/// Nested lists, as deep as there are categories and as long as they have values.
fn collect(
    node: &Node<'_>,
    sizes: &[usize],
    width: i64,
    counts: &mut Vec<Option<(i64, i64)>>,
) -> Result<(), Mistake> {
    let Some((size, rest)) = sizes.split_first() else {
        counts.push(count(node, width)?);
        return Ok(());
    };
    let elements = node.list()?;
    if elements.len() != *size {
        return Err(node.wrong(
            format!(
                "this list has {} elements, and its category has {size} values",
                elements.len()
            ),
            "nest the lists in the order of `by`, with one element for each value",
        ));
    }
    elements
        .iter()
        .try_for_each(|element| collect(element, rest, width, counts))
}

/// A number, a range, or nothing.
fn count(node: &Node<'_>, width: i64) -> Result<Option<(i64, i64)>, Mistake> {
    let wrong = || {
        node.wrong(
            "this is not a count",
            "write a number of people, a range such as \"10..15\", or \"(D)\"",
        )
    };
    let (low, high) = match node.as_text() {
        Some(text) if documents::suppressed(text) => return Ok(None),
        Some(text) => {
            let (low, high) = text.split_once("..").ok_or_else(wrong)?;
            let end = |text: &str| text.trim().parse::<i64>().map_err(|_| wrong());
            (end(low)?, end(high)?)
        }
        None => {
            let value = node.integer().map_err(|_| wrong())?;
            (value, value)
        }
    };
    if low < 0 || high < low || high > MOST_ERROR {
        return Err(wrong());
    }
    Ok(Some(((low - width).max(0), high + width)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_can_be_read() {
        let block = parse(TEMPLATE).unwrap();
        assert_eq!((block.cells(), block.margins.len()), (12, 3));
        assert_eq!(block.margins[0].counts[3], Some((4, 4)));
        assert_eq!(block.margins[2].counts[3], None);
    }

    #[test]
    fn mistakes_are_reported_by_their_line() {
        for (from, to, line, what) in [
            ("[categories]", "[categories", 3, "this is not TOML"),
            (
                "by = [\"sex\", \"age\"]",
                "by = [\"sex\", \"years\"]",
                11,
                "no category `years`",
            ),
            (
                "by = [\"sex\", \"age\"]",
                "by = [\"sex\", \"sex\"]",
                11,
                "there twice",
            ),
            (
                "[[3, 12, 2], [4, 10, 1]]",
                "[[3, 12], [4, 10, 1]]",
                12,
                "2 elements",
            ),
            ("[[5, 12], [6, 9]]", "[[5, -12], [6, 9]]", 19, "not a count"),
            ("[[5, 12], [6, 9]]", "[[5, \"9..3\"], [6, 9]]", 19, "not a count"),
        ] {
            assert!(TEMPLATE.contains(from), "{from}");
            let error = parse(&TEMPLATE.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("line {line}: "))
                    && error.contains(what)
                    && error.contains("hint: "),
                "{to}: {error}"
            );
        }
    }

    #[test]
    fn rounding_and_errors_widen() {
        let with = |line: &str| {
            let text = TEMPLATE.replacen("counts = [[5", &format!("{line}\ncounts = [[5"), 1);
            parse(&text).unwrap().margins[1].counts[0]
        };
        assert_eq!(with("rounded_to = 5"), Some((3, 7)));
        assert_eq!(with("rounded_to = 10"), Some((0, 10)));
        assert_eq!(with("error = 2"), Some((3, 7)));
    }
}
