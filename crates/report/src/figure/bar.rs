//! One bar with its whisker, for a cell of a table. The table has the words, so they keep their size on every
//! screen.

use super::draw::number;
use super::style::colour_class;
use std::fmt::Write as _;

/// How wide the drawing is in its own units; it is stretched to the cell.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 20.0;

/// An interval as it is drawn over a bar: what is noise in one stroke, and how much farther it goes for other
/// reasons in another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Whisker {
    whole: (f64, f64),
    noise: (f64, f64),
}

impl Whisker {
    /// All of it is noise.
    pub fn of(interval: (f64, f64)) -> Self {
        Self {
            whole: interval,
            noise: interval,
        }
    }

    /// Of an interval that also holds what limits may have cut. Noise goes as far on both sides, so what the
    /// farther end has more than the nearer one is no noise.
    /// ```
    /// use report::Whisker;
    ///
    /// let whisker = Whisker::apart(10.0, (8.0, 50.0));
    /// assert_eq!((whisker.noise(), whisker.beyond()), ((8.0, 12.0), Some((12.0, 50.0))));
    /// assert_eq!(Whisker::of((8.0, 50.0)).beyond(), None);
    /// ```
    pub fn apart(value: f64, interval: (f64, f64)) -> Self {
        let half = (value - interval.0).min(interval.1 - value).max(0.0);
        Self {
            whole: interval,
            noise: (value - half, value + half),
        }
    }

    /// Where noise alone begins and ends.
    pub fn noise(&self) -> (f64, f64) {
        self.noise
    }

    /// From the end of the noise to the farther end of the interval, if that is farther.
    pub fn beyond(&self) -> Option<(f64, f64)> {
        if self.whole.1 > self.noise.1 {
            Some((self.noise.1, self.whole.1))
        } else if self.whole.0 < self.noise.0 {
            Some((self.noise.0, self.whole.0))
        } else {
            None
        }
    }
}

/// A bar from zero to `value` with its whisker, on a scale that all bars of a column share. What is no number
/// is not drawn, and what goes beyond the scale has no end there.
///
/// It needs [`figure_style`](super::figure_style) around it. The number itself belongs beside it: it is
/// hidden from those who hear the page.
/// ```
/// use report::Whisker;
///
/// let svg = report::bar(5.0, Some(Whisker::of((3.0, 7.0))), (0.0, 10.0), 0);
/// assert!(svg.starts_with("<svg") && svg.contains("whisker"));
/// ```
pub fn bar(value: f64, whisker: Option<Whisker>, scale: (f64, f64), series: usize) -> String {
    let (least, most) = (scale.0.min(0.0), scale.1.max(0.0));
    // Halved first: the width of a scale may be more than any float.
    let across = |at: f64| {
        let part = (at / 2.0 - least / 2.0) / (most / 2.0 - least / 2.0);
        (part.is_finite()).then(|| number(WIDTH * part.clamp(0.0, 1.0)))
    };
    let end = |at: f64, place: &str| match (least..=most).contains(&at) {
        true => format!("M{place} 5V15"),
        false => String::new(),
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
    if let Some(whisker) = whisker {
        let (low, high) = whisker.noise;
        if let (Some(from), Some(to)) = (across(low), across(high)) {
            let (first, last) = (end(low, &from), end(high, &to));
            let _ = write!(
                out,
                "<path class=\"whisker\" d=\"{first}M{from} 10H{to}{last}\"/>"
            );
        }
        if let Some((near, far)) = whisker.beyond()
            && let (Some(from), Some(to)) = (across(near), across(far))
        {
            let last = end(far, &to);
            let _ = write!(
                out,
                "<path class=\"whisker beyond\" d=\"M{from} 10H{to}{last}\"/>"
            );
        }
    }
    out.push_str("</g></svg>");
    out
}

#[cfg(test)]
mod tests {
    use super::{Whisker, bar};

    fn whisker(low: f64, high: f64) -> Option<Whisker> {
        Some(Whisker::of((low, high)))
    }

    #[test]
    fn a_bar_and_its_whisker_are_on_the_shared_scale() {
        let svg = bar(50.0, whisker(25.0, 75.0), (0.0, 100.0), 0);
        assert!(svg.contains("M0 4H500V16H0z"), "{svg}");
        assert!(svg.contains("M250 5V15M250 10H750M750 5V15"), "{svg}");
        let below = bar(-50.0, None, (-100.0, 100.0), 1);
        assert!(below.contains("M500 4H250V16H500z"), "{below}");
        assert!(!below.contains("whisker"));
    }

    #[test]
    fn noise_and_what_was_cut_are_strokes_apart() {
        let svg = bar(40.0, Some(Whisker::apart(40.0, (30.0, 90.0))), (0.0, 100.0), 0);
        assert!(
            svg.contains("class=\"whisker\" d=\"M300 5V15M300 10H500M500 5V15\""),
            "{svg}"
        );
        assert!(
            svg.contains("class=\"whisker beyond\" d=\"M500 10H900M900 5V15\""),
            "{svg}"
        );
        // To the left as well, and not where both sides are alike.
        let left = Whisker::apart(40.0, (0.0, 50.0));
        assert_eq!((left.noise(), left.beyond()), ((30.0, 50.0), Some((30.0, 0.0))));
        assert_eq!(Whisker::apart(40.0, (30.0, 50.0)).beyond(), None);
        // A value at the end of its interval has no noise that could be told apart.
        assert_eq!(Whisker::apart(40.0, (40.0, 50.0)).beyond(), Some((40.0, 50.0)));
    }

    #[test]
    fn what_goes_beyond_the_scale_has_no_end_there() {
        let svg = bar(40.0, whisker(20.0, 900.0), (0.0, 100.0), 0);
        assert!(svg.contains("d=\"M200 5V15M200 10H1000\""), "{svg}");
    }

    #[test]
    fn what_is_no_number_is_not_drawn() {
        for svg in [
            bar(f64::NAN, whisker(f64::NEG_INFINITY, 1.0), (0.0, 1.0), 0),
            bar(0.0, whisker(0.0, 0.0), (0.0, 0.0), 0),
            bar(1.0, None, (f64::NAN, f64::NAN), 0),
        ] {
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
