//! What was found, stated once for every reader: a person at a terminal, a program, or a browser.

use crate::{Figure, Page, Row};
use serde_json::Value;

/// What was found. The text is for a terminal, the object for a program; rows and figures make a page.
///
/// ```
/// use report::{Findings, Row};
/// use serde_json::json;
///
/// let findings = Findings {
///     text: "3 links\n".to_owned(),
///     json: json!({ "links": 3 }),
///     title: "Links",
///     introduction: "Synthetic people.".to_owned(),
///     rows: vec![Row::new("1", "links", "none", "3", false)],
///     figures: Vec::new(),
/// };
/// assert_eq!(findings.to_line(), "{\"links\":3}\n");
/// assert!(findings.to_html().contains("0 of 1 claims hold"));
/// ```
#[derive(Clone, Debug)]
pub struct Findings {
    /// For a person at a terminal.
    pub text: String,
    /// For a program.
    pub json: Value,
    /// The title of the page.
    pub title: &'static str,
    /// What the page says first.
    pub introduction: String,
    /// What was found beside what is allowed, one row each.
    pub rows: Vec<Row>,
    /// The first is the one that is drawn alone.
    pub figures: Vec<Figure>,
}

impl Findings {
    /// The object on a line of its own.
    pub fn to_line(&self) -> String {
        format!("{}\n", self.json)
    }

    /// The page. All figures are about all rows; they stand with the last, and after the introduction if
    /// there are no rows.
    pub fn to_html(&self) -> String {
        let mut page = Page::new(self.title, self.introduction.clone());
        if self.rows.is_empty() {
            self.figures.iter().for_each(|figure| page.figure(figure.clone()));
        }
        let last = self.rows.len().saturating_sub(1);
        for (place, row) in self.rows.iter().enumerate() {
            let mut row = row.clone();
            if place == last {
                row = self.figures.iter().cloned().fold(row, Row::figure);
            }
            page.row(row);
        }
        page.to_html()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_on_the_page_with_and_without_rows() {
        let mut findings = Findings {
            text: String::new(),
            json: Value::Null,
            title: "Costs",
            introduction: "Ten releases.".to_owned(),
            rows: Vec::new(),
            figures: vec![Figure::new("Drift").line("certified", &[(1.0, 1.0), (2.0, 2.0)])],
        };
        let page = findings.to_html();
        assert_eq!(page.matches("<figure>").count(), 1, "{page}");
        assert!(!page.contains("claims hold"), "{page}");
        findings.rows = vec![
            Row::new("1", "a", "b", "c", true),
            Row::new("2", "a", "b", "c", true),
        ];
        assert_eq!(findings.to_html().matches("<figure>").count(), 1);
    }
}
