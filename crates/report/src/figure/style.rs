//! How figures look, in light and in dark.
//!
//! Colours are set by class and used through `currentColor`, so one set of rules paints both schemes, also in
//! renderers that know no CSS variables.

use std::fmt::Write as _;

use super::draw::FIGURE_WIDTH;
use super::marks::Shape;

/// The colours of one scheme.
struct Theme {
    paper: &'static str,
    ink: &'static str,
    quiet: &'static str,
    grid: &'static str,
    series: [&'static str; SERIES_COLOURS],
}

const SERIES_COLOURS: usize = 6;

/// After Okabe and Ito, whose colours readers with any common colour blindness tell apart: without the
/// yellow, which vanishes on white, and with the purple and orange darker for the same reason.
const LIGHT: Theme = Theme {
    paper: "#fff",
    ink: "#1f2328",
    quiet: "#59636e",
    grid: "#e2e5e9",
    series: ["#0072b2", "#d55e00", "#009e73", "#b0568a", "#c78500", "#5b6570"],
};

/// The same hues, lighter.
const DARK: Theme = Theme {
    paper: "#14171c",
    ink: "#e6e8eb",
    quiet: "#9aa4af",
    grid: "#2d333b",
    series: ["#56b4e9", "#ff9054", "#37cfa2", "#e8a5cb", "#f2c14e", "#b4bcc6"],
};

impl Theme {
    fn rules(&self) -> String {
        let Theme {
            paper,
            ink,
            quiet,
            grid,
            series,
        } = self;
        let mut rules = format!(
            ".deniable-figure .paper{{fill:{paper}}}.deniable-figure .ink{{fill:{ink}}}\
             .deniable-figure .quiet{{fill:{quiet}}}.deniable-figure .grid{{stroke:{grid}}}\
             .deniable-figure .axis{{stroke:{quiet}}}"
        );
        for (index, colour) in series.iter().enumerate() {
            let _ = write!(rules, ".deniable-figure .series-{index}{{color:{colour}}}");
        }
        rules
    }
}

/// The class that sets the colour of series number `colour`.
pub(super) fn colour_class(colour: usize) -> String {
    format!("series-{}", colour % SERIES_COLOURS)
}

/// How marks of this shape are painted.
pub(super) fn class_of(shape: &Shape) -> &'static str {
    match shape {
        Shape::Bars(_) => "bars",
        Shape::Lines(_) => "line",
        Shape::Points(_) => "points",
        Shape::Bands(_) => "band",
        Shape::Whiskers(_) => "whisker",
        Shape::Beyond(_) => "whisker beyond",
        Shape::Vertical(_) | Shape::Horizontal(_) => "reference",
    }
}

/// The style of figures, for a style sheet of the page around them.
///
/// Every rule is scoped to our class, because a style inside an inline SVG applies to the page around it.
pub fn style_sheet() -> String {
    let (light, dark) = (LIGHT.rules(), DARK.rules());
    format!(
        ".deniable-figure{{max-width:{FIGURE_WIDTH}px;height:auto;\
         font-family:system-ui,-apple-system,'Segoe UI',sans-serif}}\
         .deniable-figure path{{fill:none}}\
         .deniable-figure .bars{{fill:currentColor;fill-opacity:.4;stroke:currentColor;stroke-width:1.1}}\
         .deniable-figure .band{{fill:currentColor;fill-opacity:.2;stroke:currentColor;stroke-opacity:.3}}\
         .deniable-figure .line{{stroke:currentColor;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}}\
         .deniable-figure .whisker{{stroke:currentColor;stroke-width:1.4;vector-effect:non-scaling-stroke}}\
         .deniable-figure .beyond{{stroke-dasharray:3 3}}\
         .deniable-figure .points{{fill:currentColor;fill-opacity:.85}}\
         .deniable-figure .reference{{stroke:currentColor;stroke-width:1.8;stroke-dasharray:6 4}}\
         {light}@media screen and (prefers-color-scheme:dark){{{dark}}}"
    )
}
