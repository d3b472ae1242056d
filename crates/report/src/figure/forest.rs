//! A forest plot: an estimate and its interval in each line, around a line that means no effect.

use super::axis::{Axis, Floor, Scale};
use super::draw::{FIGURE_WIDTH, marker, number};
use super::style::style_sheet;
use super::text::width;
use crate::markup::escape;
use std::fmt::Write as _;

const MARGIN: f64 = 16.0;
const TITLE: f64 = 16.0;
const SIZE: f64 = 12.0;
const HEIGHT: f64 = 22.0;
/// No more of the width than this is for names.
const NAMES: f64 = 250.0;

/// One line of a [`forest`].
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// What it is of.
    pub name: String,
    /// The estimate.
    pub value: f64,
    /// The interval around it.
    pub interval: (f64, f64),
    /// The part of it that is noise alone, drawn thicker, where that is told.
    pub noise: Option<(f64, f64)>,
}

/// A forest plot of these effects on one scale, with a dashed line at `none`. Effects that are no finite numbers are named and not drawn.
/// ```
/// use report::Effect;
///
/// let effect = Effect { name: "age".to_owned(), value: 2.0, interval: (1.0, 3.0), noise: Some((1.8, 2.2)) };
/// let svg = report::forest("income by age", "income", 0.0, &[effect]);
/// assert!(svg.starts_with("<svg") && svg.contains("age") && svg.contains("whisker"));
/// ```
pub fn forest(title: &str, scale: &str, none: f64, effects: &[Effect]) -> String {
    let longest = effects
        .iter()
        .map(|effect| width(&effect.name, SIZE))
        .fold(0.0, f64::max);
    let left = MARGIN + (longest + 12.0).min(NAMES);
    let across = FIGURE_WIDTH - MARGIN - left;
    let top = MARGIN + TITLE + HEIGHT;
    let bottom = top + HEIGHT * effects.len() as f64;
    let height = bottom + 4.0 * SIZE + MARGIN;
    let ends = effects
        .iter()
        .flat_map(|effect| [effect.value, effect.interval.0, effect.interval.1]);
    let coordinates: Vec<f64> = ends.chain([none]).filter(|end| end.is_finite()).collect();
    let axis = Axis::fit(Scale::Linear, Floor::Free, None, &coordinates, across, |label| {
        width(label, SIZE) + 12.0
    });
    let place = |value: f64| left + across * axis.fraction(value);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"deniable-figure\" viewBox=\"0 0 {} {}\" width=\"100%\" role=\"img\" aria-label=\"{}\">\n\
         <style>{}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n\
         <text class=\"ink\" x=\"{MARGIN}\" y=\"{}\" font-size=\"{TITLE}\" font-weight=\"600\">{}</text>\n",
        number(FIGURE_WIDTH),
        number(height),
        escape(title),
        style_sheet(),
        number(MARGIN + TITLE),
        escape(title)
    );
    for tick in &axis.ticks {
        let x = number(place(tick.at));
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{x} {}V{}\"/><text class=\"quiet\" x=\"{x}\" y=\"{}\" font-size=\"{SIZE}\" text-anchor=\"middle\">{}</text>",
            number(top),
            number(bottom),
            number(bottom + 1.4 * SIZE),
            escape(&tick.label)
        );
    }
    let _ = writeln!(
        svg,
        "<text class=\"ink\" x=\"{}\" y=\"{}\" font-size=\"{SIZE}\" text-anchor=\"middle\">{}</text>",
        number(left + across / 2.0),
        number(bottom + 3.0 * SIZE),
        escape(scale)
    );
    let zero = number(place(none));
    let _ = writeln!(
        svg,
        "<g class=\"series-5\"><path class=\"reference\" d=\"M{zero} {}V{}\"/></g>\n<g class=\"series-0\">",
        number(top),
        number(bottom)
    );
    for (line, effect) in effects.iter().enumerate() {
        let y = top + HEIGHT * (line as f64 + 0.5);
        let _ = writeln!(
            svg,
            "<text class=\"ink\" x=\"{}\" y=\"{}\" font-size=\"{SIZE}\" text-anchor=\"end\">{}</text>",
            number(left - 8.0),
            number(y + 0.35 * SIZE),
            escape(&shortened(&effect.name))
        );
        let (low, high) = effect.interval;
        if !(effect.value.is_finite() && low.is_finite() && high.is_finite()) {
            continue;
        }
        let (from, to, at) = (number(place(low)), number(place(high)), number(y));
        let _ = write!(
            svg,
            "<g><title>{}: {} ({} to {})</title><path class=\"whisker\" d=\"M{from} {}v8M{from} {at}H{to}M{to} {}v8\"/>",
            escape(&effect.name),
            crate::significant(effect.value, 4),
            crate::significant(low, 4),
            crate::significant(high, 4),
            number(y - 4.0),
            number(y - 4.0)
        );
        if let Some((low, high)) = effect
            .noise
            .filter(|(low, high)| low.is_finite() && high.is_finite())
        {
            let _ = write!(
                svg,
                "<path class=\"bars\" d=\"M{} {}H{}V{}H{}z\"/>",
                number(place(low)),
                number(y - 3.0),
                number(place(high)),
                number(y + 3.0),
                number(place(low))
            );
        }
        let _ = writeln!(
            svg,
            "<path class=\"points\" d=\"{}\"/></g>",
            marker(place(effect.value), y, 3.5, 0)
        );
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// A name that fits, its end kept: that is where values differ.
fn shortened(name: &str) -> String {
    let mut letters: Vec<char> = name.chars().collect();
    if width(name, SIZE) <= NAMES - 12.0 {
        return name.to_owned();
    }
    while letters.len() > 1 && width(&format!("…{}", letters.iter().collect::<String>()), SIZE) > NAMES - 12.0
    {
        letters.remove(0);
    }
    format!("…{}", letters.iter().collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(name: &str, value: f64, interval: (f64, f64)) -> Effect {
        Effect {
            name: name.to_owned(),
            value,
            interval,
            noise: None,
        }
    }

    #[test]
    fn each_effect_has_a_line_and_what_is_no_number_has_no_mark() {
        let effects = [
            effect("a <b>", 1.0, (0.5, 1.5)),
            effect("none", f64::NAN, (0.0, 1.0)),
            effect(&"long ".repeat(40), -1.0, (-2.0, f64::INFINITY)),
        ];
        let svg = forest("title & all", "scale", 0.0, &effects);
        assert_eq!(svg.matches("class=\"whisker\"").count(), 1, "{svg}");
        assert!(svg.contains("a &lt;b&gt;") && svg.contains("title &amp; all") && svg.contains('…'));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        assert!(forest("", "", 0.0, &[]).ends_with("</svg>\n"));
    }
}
