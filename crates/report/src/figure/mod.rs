//! Figures, drawn by us as self-contained SVG.
//!
//! The figures need bars, lines, points, bands and reference lines, and they must be trusted. So a value that
//! has no place on the axis (not a number, infinite, or not positive on a logarithmic axis) is left out and
//! breaks the line it was on: nothing is drawn that was not measured. Plotting crates clamp or skip such
//! values silently. They also bring fonts and bitmaps that a page without external assets has no use for.
//!
//! ```text
//! Figure ── marks: data to coordinates ──► axis: range and ticks ──► draw: SVG text
//! ```

mod axis;
mod bar;
mod draw;
mod forest;
mod heat_map;
mod histogram;
mod label;
mod legend;
mod marks;
mod style;
mod text;

pub use axis::Scale;
pub use bar::{Whisker, bar};
pub use forest::{Effect, forest};
pub use heat_map::HeatMap;
pub use histogram::histogram;
pub use style::style_sheet as figure_style;

use marks::{Marks, Series};

/// A figure under construction: two axes and the series on them.
///
/// Series with the same name share a colour and a legend entry, as a line and its band should. An empty name
/// keeps a series out of the legend, and the legend appears only when there are two names to tell apart.
#[derive(Clone, Debug)]
pub struct Figure {
    title: String,
    horizontal: Dimension,
    vertical: Dimension,
    series: Vec<Series>,
}

/// What an axis is about, before any data has fixed its range.
#[derive(Clone, Debug)]
struct Dimension {
    label: String,
    scale: Scale,
    /// Nothing beyond this is possible, so the axis ends there.
    most: Option<f64>,
}

impl Figure {
    /// An empty figure with linear, unlabelled axes.
    pub fn new(title: impl Into<String>) -> Self {
        let unlabelled = Dimension {
            label: String::new(),
            scale: Scale::Linear,
            most: None,
        };
        Self {
            title: title.into(),
            horizontal: unlabelled.clone(),
            vertical: unlabelled,
            series: Vec::new(),
        }
    }

    /// Labels the horizontal axis and sets its scale.
    pub fn x_axis(mut self, label: impl Into<String>, scale: Scale) -> Self {
        self.horizontal = Dimension {
            label: label.into(),
            scale,
            most: None,
        };
        self
    }

    /// Labels the vertical axis and sets its scale.
    pub fn y_axis(mut self, label: impl Into<String>, scale: Scale) -> Self {
        self.vertical = Dimension {
            label: label.into(),
            scale,
            most: None,
        };
        self
    }

    /// Ends the vertical axis at `most`, beyond which no value is possible.
    pub fn y_at_most(mut self, most: f64) -> Self {
        self.vertical.most = Some(most);
        self
    }

    /// Bars `(x0, x1, height)`, standing on zero, or on the bottom of a logarithmic axis.
    pub fn bars(self, name: impl Into<String>, bars: &[(f64, f64, f64)]) -> Self {
        self.with(name, Marks::Bars(bars.to_vec()))
    }

    /// A line through `(x, y)` in the order given.
    pub fn line(self, name: impl Into<String>, points: &[(f64, f64)]) -> Self {
        self.with(name, Marks::Line(points.to_vec()))
    }

    /// One marker at each `(x, y)`.
    pub fn points(self, name: impl Into<String>, points: &[(f64, f64)]) -> Self {
        self.with(name, Marks::Points(points.to_vec()))
    }

    /// A shaded interval from `low` to `high` at each `(x, low, high)`.
    ///
    /// A `low` of zero or less on a logarithmic axis reaches the bottom: the interval does not end above it.
    pub fn band(self, name: impl Into<String>, intervals: &[(f64, f64, f64)]) -> Self {
        self.with(name, Marks::Band(intervals.to_vec()))
    }

    /// A dashed reference line at `x`.
    pub fn vertical(self, name: impl Into<String>, x: f64) -> Self {
        self.with(name, Marks::Vertical(x))
    }

    /// A dashed reference line at `y`.
    pub fn horizontal(self, name: impl Into<String>, y: f64) -> Self {
        self.with(name, Marks::Horizontal(y))
    }

    /// A line from `low` to `high` with a stroke at each end, at each `(x, low, high)`.
    pub fn whiskers(self, name: impl Into<String>, intervals: &[(f64, f64, f64)]) -> Self {
        self.with(name, Marks::Whiskers(intervals.to_vec()))
    }

    /// A dashed line from `from` to `to` with a stroke at its end, at each `(x, from, to)`: how much farther
    /// a whisker goes for other reasons than noise ([`Whisker::beyond`]).
    pub fn beyond(self, name: impl Into<String>, intervals: &[(f64, f64, f64)]) -> Self {
        self.with(name, Marks::Beyond(intervals.to_vec()))
    }

    /// The figure as one SVG element without external assets: a file of its own, or inline in HTML.
    pub fn to_svg(&self) -> String {
        draw::svg(self, Some(&style::style_sheet()), draw::FIGURE_WIDTH)
    }

    /// The same without its style, for a page that has [`figure_style`] in a style sheet of its own: where a
    /// content security policy forbids inline styles, one in the figure would be ignored.
    pub fn to_svg_without_style(&self) -> String {
        draw::svg(self, None, draw::FIGURE_WIDTH)
    }

    /// The same for a narrow screen: half as wide, with letters of the same size.
    pub fn to_narrow_svg_without_style(&self) -> String {
        draw::svg(self, None, draw::NARROW_WIDTH)
    }

    fn with(mut self, name: impl Into<String>, marks: Marks) -> Self {
        self.series.push(Series {
            name: name.into(),
            marks,
        });
        self
    }
}

#[cfg(test)]
mod tests;
