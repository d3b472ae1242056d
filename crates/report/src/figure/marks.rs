//! From data to coordinates: which part of a series can be drawn, and the room it takes.

use super::axis::Scale;

/// A named set of marks, as the caller gave it.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) marks: Marks,
}

/// Data in the caller's units, some of which may have no place on the axes.
#[derive(Clone, Debug)]
pub(super) enum Marks {
    Bars(Vec<(f64, f64, f64)>),
    Line(Vec<(f64, f64)>),
    Points(Vec<(f64, f64)>),
    Band(Vec<(f64, f64, f64)>),
    Whiskers(Vec<(f64, f64, f64)>),
    Beyond(Vec<(f64, f64, f64)>),
    Vertical(f64),
    Horizontal(f64),
}

/// Marks in coordinates, all of which can be drawn.
///
/// A vertical coordinate of minus infinity is the bottom of the axis. Lines and bands are runs: where a value
/// was left out the run ends, because joining its neighbours would draw something that was not measured.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    Bars(Vec<Bar>),
    Lines(Vec<Vec<(f64, f64)>>),
    Points(Vec<(f64, f64)>),
    Bands(Vec<Vec<(f64, f64, f64)>>),
    Whiskers(Vec<(f64, f64, f64)>),
    Beyond(Vec<(f64, f64, f64)>),
    Vertical(f64),
    Horizontal(f64),
}

/// One bar in coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bar {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) foot: f64,
    pub(super) top: f64,
}

impl Marks {
    /// The part of these marks that has a place on the axes, or `None` when nothing has.
    pub(super) fn shape(&self, horizontal: Scale, vertical: Scale) -> Option<Shape> {
        let point = |&(x, y): &(f64, f64)| Some((horizontal.coordinate(x)?, vertical.coordinate(y)?));
        let interval = |&(x, low, high): &(f64, f64, f64)| {
            let bottomless = vertical == Scale::Log10 && low <= 0.0 && low.is_finite();
            let low = if bottomless {
                f64::NEG_INFINITY
            } else {
                vertical.coordinate(low)?
            };
            Some((horizontal.coordinate(x)?, low, vertical.coordinate(high)?))
        };
        let shape = match self {
            Marks::Bars(bars) => {
                let foot = vertical.coordinate(0.0).unwrap_or(f64::NEG_INFINITY);
                let bar = |&(from, to, height): &(f64, f64, f64)| {
                    let (from, to) = (horizontal.coordinate(from)?, horizontal.coordinate(to)?);
                    Some(Bar {
                        left: from.min(to),
                        right: from.max(to),
                        foot,
                        top: vertical.coordinate(height)?,
                    })
                };
                Shape::Bars(bars.iter().filter_map(bar).collect())
            }
            Marks::Line(points) => Shape::Lines(runs(points.iter().map(point))),
            Marks::Points(points) => Shape::Points(points.iter().filter_map(point).collect()),
            Marks::Band(intervals) => Shape::Bands(runs(intervals.iter().map(interval))),
            Marks::Whiskers(intervals) => Shape::Whiskers(intervals.iter().filter_map(interval).collect()),
            Marks::Beyond(intervals) => Shape::Beyond(intervals.iter().filter_map(interval).collect()),
            Marks::Vertical(x) => Shape::Vertical(horizontal.coordinate(*x)?),
            Marks::Horizontal(y) => Shape::Horizontal(vertical.coordinate(*y)?),
        };
        let empty = match &shape {
            Shape::Bars(bars) => bars.is_empty(),
            Shape::Lines(runs) => runs.is_empty(),
            Shape::Points(points) => points.is_empty(),
            Shape::Bands(runs) => runs.is_empty(),
            Shape::Whiskers(intervals) | Shape::Beyond(intervals) => intervals.is_empty(),
            Shape::Vertical(_) | Shape::Horizontal(_) => false,
        };
        (!empty).then_some(shape)
    }
}

impl Shape {
    /// Every horizontal coordinate the axis must show.
    pub(super) fn horizontal_coordinates(&self) -> Vec<f64> {
        match self {
            Shape::Bars(bars) => bars.iter().flat_map(|bar| [bar.left, bar.right]).collect(),
            Shape::Lines(runs) => runs.iter().flatten().map(|point| point.0).collect(),
            Shape::Points(points) => points.iter().map(|point| point.0).collect(),
            Shape::Bands(runs) => runs.iter().flatten().map(|interval| interval.0).collect(),
            Shape::Whiskers(intervals) | Shape::Beyond(intervals) => {
                intervals.iter().map(|interval| interval.0).collect()
            }
            Shape::Vertical(x) => vec![*x],
            Shape::Horizontal(_) => Vec::new(),
        }
    }

    /// Every vertical coordinate the axis must show.
    pub(super) fn vertical_coordinates(&self) -> Vec<f64> {
        match self {
            Shape::Bars(bars) => bars.iter().flat_map(|bar| [bar.foot, bar.top]).collect(),
            Shape::Lines(runs) => runs.iter().flatten().map(|point| point.1).collect(),
            Shape::Points(points) => points.iter().map(|point| point.1).collect(),
            Shape::Bands(runs) => runs
                .iter()
                .flatten()
                .flat_map(|interval| [interval.1, interval.2])
                .collect(),
            Shape::Whiskers(intervals) | Shape::Beyond(intervals) => intervals
                .iter()
                .flat_map(|interval| [interval.1, interval.2])
                .collect(),
            Shape::Vertical(_) => Vec::new(),
            Shape::Horizontal(y) => vec![*y],
        }
    }

    /// What is drawn first lies underneath: areas, then references, then lines, then points.
    pub(super) fn layer(&self) -> u8 {
        match self {
            Shape::Bands(_) => 0,
            Shape::Bars(_) => 1,
            Shape::Vertical(_) | Shape::Horizontal(_) => 2,
            Shape::Lines(_) | Shape::Whiskers(_) | Shape::Beyond(_) => 3,
            Shape::Points(_) => 4,
        }
    }
}

fn runs<T>(marks: impl Iterator<Item = Option<T>>) -> Vec<Vec<T>> {
    let mut runs = vec![Vec::new()];
    for mark in marks {
        match (mark, runs.last_mut()) {
            (Some(mark), Some(run)) => run.push(mark),
            _ => runs.push(Vec::new()),
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_value_breaks_the_line() {
        let line = Marks::Line(vec![
            (0.0, 1.0),
            (1.0, f64::NAN),
            (2.0, 3.0),
            (3.0, 4.0),
            (f64::INFINITY, 5.0),
        ]);
        let expected = Shape::Lines(vec![vec![(0.0, 1.0)], vec![(2.0, 3.0), (3.0, 4.0)]]);
        assert_eq!(line.shape(Scale::Linear, Scale::Linear), Some(expected));
    }

    #[test]
    fn an_interval_that_reaches_zero_reaches_the_bottom_of_a_logarithmic_axis() {
        let band = Marks::Band(vec![(1.0, 0.0, 10.0), (2.0, f64::NEG_INFINITY, 10.0)]);
        let expected = Shape::Bands(vec![vec![(1.0, f64::NEG_INFINITY, 1.0)]]);
        assert_eq!(band.shape(Scale::Linear, Scale::Log10), Some(expected));
    }

    #[test]
    fn bars_stand_on_zero_and_may_be_given_backwards() {
        let bars = Marks::Bars(vec![(2.0, 1.0, -3.0), (1.0, 2.0, f64::NAN), (f64::NAN, 2.0, 3.0)]);
        let expected = Shape::Bars(vec![Bar {
            left: 1.0,
            right: 2.0,
            foot: 0.0,
            top: -3.0,
        }]);
        assert_eq!(bars.shape(Scale::Linear, Scale::Linear), Some(expected));
    }

    #[test]
    fn nothing_to_draw_is_no_shape() {
        assert_eq!(
            Marks::Points(vec![(0.0, f64::NAN)]).shape(Scale::Linear, Scale::Linear),
            None
        );
        assert_eq!(Marks::Vertical(-1.0).shape(Scale::Log10, Scale::Linear), None);
        assert_eq!(Marks::Bars(Vec::new()).shape(Scale::Linear, Scale::Linear), None);
    }
}
