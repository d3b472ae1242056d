//! One bar with its whisker, for a cell of a table: the table has the words, so that they keep their size on every screen.

use super::draw::number;
use super::style::colour_class;
use std::fmt::Write as _;

/// How wide the drawing is in its own units; it is stretched to the cell.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 20.0;

/// A bar from zero to `value` with a whisker from `low` to `high`, on a scale that all bars of a column share. What is no number is not drawn.
///
/// It needs [`figure_style`](super::figure_style) around it. The number itself belongs beside it: it is hidden from those who hear the page.
/// ```
/// let svg = report::bar(5.0, Some((3.0, 7.0)), (0.0, 10.0), 0);
/// assert!(svg.starts_with("<svg") && svg.contains("whisker"));
/// ```
pub fn bar(value: f64, interval: Option<(f64, f64)>, scale: (f64, f64), series: usize) -> String {
    let (least, most) = (scale.0.min(0.0), scale.1.max(0.0));
    // Halved first: the width of a scale may be more than any float.
    let across = |at: f64| {
        let part = (at / 2.0 - least / 2.0) / (most / 2.0 - least / 2.0);
        (part.is_finite()).then(|| number(WIDTH * part.clamp(0.0, 1.0)))
    };
    let mut out = format!(
        "<svg class=\"deniable-figure bar\" viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><g class=\"{}\">",
        number(WIDTH),
        number(HEIGHT),
        colour_class(series)
    );
    if let (Some(zero), Some(end)) = (across(0.0), across(value)) {
        let _ = write!(out, "<path class=\"bars\" d=\"M{zero} 4H{end}V16H{zero}z\"/>");
    }
    if let Some((low, high)) = interval
        && let (Some(low), Some(high)) = (across(low), across(high))
    {
        let _ = write!(
            out,
            "<path class=\"whisker\" d=\"M{low} 5V15M{low} 10H{high}M{high} 5V15\"/>"
        );
    }
    out.push_str("</g></svg>");
    out
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn a_bar_and_its_whisker_are_on_the_shared_scale() {
        let svg = bar(50.0, Some((25.0, 75.0)), (0.0, 100.0), 0);
        assert!(svg.contains("M0 4H500V16H0z"), "{svg}");
        assert!(svg.contains("M250 5V15M250 10H750M750 5V15"), "{svg}");
        let below = bar(-50.0, None, (-100.0, 100.0), 1);
        assert!(below.contains("M500 4H250V16H500z"), "{below}");
        assert!(!below.contains("whisker"));
    }

    #[test]
    fn what_is_no_number_is_not_drawn() {
        for svg in [
            bar(f64::NAN, Some((f64::NEG_INFINITY, 1.0)), (0.0, 1.0), 0),
            bar(0.0, Some((0.0, 0.0)), (0.0, 0.0), 0),
            bar(1.0, None, (f64::NAN, f64::NAN), 0),
        ] {
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
