//! The legend: above the plot, where it can cover no data, in as many rows as it takes.

use std::fmt::Write as _;

use super::draw::{lines_of_text, marker, number};
use super::marks::Shape;
use super::style::{class_of, colour_class};
use super::text::{LINE_HEIGHT, width, wrap};

const SWATCH: f64 = 22.0;
const AFTER_SWATCH: f64 = 7.0;
const BETWEEN: f64 = 22.0;
const ROW_GAP: f64 = 4.0;

/// A name and the shapes that go by it.
pub(super) struct Entry<'a> {
    pub(super) name: &'a str,
    pub(super) colour: usize,
    pub(super) shapes: Vec<&'a Shape>,
}

/// Entries with their places, relative to the legend's top left corner.
pub(super) struct Legend<'a> {
    placed: Vec<Placed<'a>>,
    size: f64,
    height: f64,
}

struct Placed<'a> {
    x: f64,
    y: f64,
    lines: Vec<String>,
    colour: usize,
    shapes: Vec<&'a Shape>,
}

impl<'a> Legend<'a> {
    /// Puts the entries side by side within `room`, and below each other when they do not fit.
    pub(super) fn lay_out(entries: &[Entry<'a>], size: f64, room: f64) -> Self {
        let mut placed = Vec::new();
        let (mut x, mut y, mut row_height) = (0.0, 0.0, 0.0_f64);
        for entry in entries {
            let lines = wrap(entry.name, size, room - SWATCH - AFTER_SWATCH);
            let text = lines.iter().map(|line| width(line, size)).fold(0.0, f64::max);
            let taken = SWATCH + AFTER_SWATCH + text;
            if x > 0.0 && x + taken > room {
                x = 0.0;
                y += row_height;
                row_height = 0.0;
            }
            row_height = row_height.max(size * LINE_HEIGHT * lines.len().max(1) as f64 + ROW_GAP);
            let mut shapes = entry.shapes.clone();
            shapes.sort_by_key(|shape| shape.layer());
            placed.push(Placed {
                x,
                y,
                lines,
                colour: entry.colour,
                shapes,
            });
            x += taken + BETWEEN;
        }
        Self {
            placed,
            size,
            height: y + row_height,
        }
    }

    /// The room it takes, zero when there is nothing to explain.
    pub(super) fn height(&self) -> f64 {
        self.height
    }

    /// Draws it with its top left corner at `left`, `top`.
    pub(super) fn draw(&self, out: &mut String, left: f64, top: f64) {
        for entry in &self.placed {
            let (x, y) = (left + entry.x, top + entry.y);
            let _ = write!(out, "<g class=\"{}\">", colour_class(entry.colour));
            for shape in &entry.shapes {
                let path = swatch(shape, x, y + self.size * 0.65, entry.colour);
                let _ = write!(out, "<path class=\"{}\" d=\"{path}\"/>", class_of(shape));
            }
            out.push_str("</g>");
            let text = x + SWATCH + AFTER_SWATCH;
            lines_of_text(out, &entry.lines, text, y + self.size, self.size, "class=\"ink\"");
        }
    }
}

fn swatch(shape: &Shape, x: f64, middle: f64, colour: usize) -> String {
    match shape {
        Shape::Points(_) => marker(x + SWATCH / 2.0, middle, 4.0, colour),
        Shape::Lines(_)
        | Shape::Whiskers(_)
        | Shape::Beyond(_)
        | Shape::Vertical(_)
        | Shape::Horizontal(_) => {
            format!("M{} {}h{}", number(x), number(middle), number(SWATCH))
        }
        Shape::Bars(_) | Shape::Bands(_) => {
            format!("M{} {}h{SWATCH}v11h-{SWATCH}z", number(x), number(middle - 5.5))
        }
    }
}
