//! A grid of numbers, of which larger ones are darker.

use super::draw::FIGURE_WIDTH;
use super::style::{colour_class, style_sheet};
use super::text::width;
use crate::markup::escape;
use crate::number::significant;
use std::fmt::Write as _;

const SIZE: f64 = 12.0;
const TITLE: f64 = 16.0;
const HEIGHT: f64 = 28.0;
const MARGIN: f64 = 16.0;
/// Names take at most this much of the width.
const NAMES: f64 = 200.0;
/// The lightest and the darkest cell.
const OPACITY: (f64, f64) = (0.06, 0.85);

/// A grid of numbers by rows and columns. What is no number is left empty.
///
/// ```
/// use report::HeatMap;
///
/// let names = || vec!["age".to_owned(), "sex".to_owned()];
/// let map = HeatMap::new("errors", names(), names(), vec![Some(1.0), Some(3.0), Some(3.0), None]);
/// assert!(map.to_svg().contains("age × sex: 3"));
/// ```
#[derive(Clone, Debug)]
pub struct HeatMap {
    title: String,
    rows: Vec<String>,
    columns: Vec<String>,
    values: Vec<Option<f64>>,
}

impl HeatMap {
    /// A grid with these names, and its numbers row by row.
    ///
    /// # Panics
    /// If there are not as many numbers as cells.
    pub fn new(
        title: impl Into<String>,
        rows: Vec<String>,
        columns: Vec<String>,
        values: Vec<Option<f64>>,
    ) -> Self {
        assert_eq!(values.len(), rows.len() * columns.len(), "a number for each cell");
        Self {
            title: title.into(),
            rows,
            columns,
            values,
        }
    }

    /// The grid as SVG, with its style.
    pub fn to_svg(&self) -> String {
        self.svg(&format!("<style>{}</style>", style_sheet()))
    }

    /// The same without its style, for a page that has [`figure_style`](crate::figure_style) in a style sheet
    /// of its own.
    pub fn to_svg_without_style(&self) -> String {
        self.svg("")
    }

    fn svg(&self, style: &str) -> String {
        let longest = self.rows.iter().map(|name| width(name, SIZE)).fold(0.0, f64::max);
        let names = (longest + 8.0).min(NAMES);
        let across = (FIGURE_WIDTH - 2.0 * MARGIN - names) / self.columns.len().max(1) as f64;
        let top = MARGIN + TITLE + HEIGHT;
        let height = top + HEIGHT * self.rows.len() as f64 + MARGIN;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"deniable-figure\" viewBox=\"0 0 {FIGURE_WIDTH} {height}\" role=\"img\">\
             {style}<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\
             <text class=\"ink\" x=\"{MARGIN}\" y=\"{}\" font-size=\"{TITLE}\" font-weight=\"600\">{}</text>",
            MARGIN + TITLE,
            escape(&self.title)
        );
        let left = MARGIN + names;
        for (place, name) in self.columns.iter().enumerate() {
            let x = left + across * (place as f64 + 0.5);
            text(&mut svg, (x, top - 8.0), "middle", &cut(name, across));
        }
        let most = self
            .values
            .iter()
            .flatten()
            .copied()
            .filter(|value| value.is_finite())
            .fold(0.0, f64::max);
        for (row, name) in self.rows.iter().enumerate() {
            let y = top + HEIGHT * row as f64;
            text(
                &mut svg,
                (left - 8.0, y + 0.62 * HEIGHT),
                "end",
                &cut(name, names),
            );
            for (column, other) in self.columns.iter().enumerate() {
                let value = self.values[row * self.columns.len() + column];
                if let Some(value) = value.filter(|value| value.is_finite()) {
                    let part = if most > 0.0 { (value / most).max(0.0) } else { 0.0 };
                    cell(
                        &mut svg,
                        (left + across * column as f64, y),
                        across,
                        part,
                        (name, other, value),
                    );
                }
            }
        }
        svg.push_str("</svg>");
        svg
    }
}

/// A name, cut to a width.
fn cut(name: &str, most: f64) -> String {
    if width(name, SIZE) <= most {
        return name.to_owned();
    }
    let mut kept = String::new();
    for letter in name.chars() {
        if width(&kept, SIZE) + width("m…", SIZE) > most {
            break;
        }
        kept.push(letter);
    }
    kept + "…"
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, what: &str) {
    let _ = write!(
        svg,
        "<text class=\"ink\" x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{SIZE}\" text-anchor=\"{anchor}\">{}</text>",
        escape(what)
    );
}

/// A cell, with what it is for those who point at it or hear the page.
fn cell(
    svg: &mut String,
    (x, y): (f64, f64),
    across: f64,
    part: f64,
    (row, column, value): (&str, &str, f64),
) {
    let opacity = OPACITY.0 + (OPACITY.1 - OPACITY.0) * part.min(1.0);
    let number = significant(value, 3);
    let of = if row == column {
        row.to_owned()
    } else {
        format!("{row} × {column}")
    };
    let _ = write!(
        svg,
        "<g class=\"{}\"><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"currentColor\" fill-opacity=\"{opacity:.2}\"><title>{}: {number}</title></rect></g>",
        colour_class(0),
        across - 2.0,
        HEIGHT - 2.0,
        escape(&of)
    );
    if width(&number, SIZE) < across - 4.0 {
        text(svg, (x + across / 2.0, y + 0.62 * HEIGHT), "middle", &number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_drawn_and_gaps_are_not() {
        let names = |count: usize| (0..count).map(|place| format!("<{place}>")).collect::<Vec<_>>();
        let values = vec![
            Some(1.0),
            None,
            Some(f64::NAN),
            Some(0.0),
            Some(f64::INFINITY),
            Some(4.0),
        ];
        let svg = HeatMap::new("a & b", names(2), names(3), values).to_svg();
        assert_eq!(svg.matches("<title>").count(), 3);
        assert!(
            svg.contains("a &amp; b") && svg.contains("&lt;1&gt; × &lt;2&gt;: 4"),
            "{svg}"
        );
        assert!(svg.contains("fill-opacity=\"0.85\"") && svg.contains("fill-opacity=\"0.06\""));
        assert!(svg.contains("<style>"));
        let bare = HeatMap::new("", names(1), names(1), vec![Some(1.0)]).to_svg_without_style();
        assert!(bare.starts_with("<svg") && !bare.contains("style"), "{bare}");
        let many = HeatMap::new("", names(1), names(200), vec![Some(1.0); 200]).to_svg();
        assert!(many.contains('…') && !many.contains("NaN"));
    }
}
