//! Axes: which range to show, and where the ticks go.
//!
//! Everything here is in coordinates, which are values on a linear axis and their decimal logarithms on a
//! logarithmic one. A decade is then a step of one, and both kinds of axis share one way of choosing ticks.

mod time;

use super::label;

/// How values are laid out along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences take equal room.
    Linear,
    /// The same for things that are numbered: ticks are whole numbers.
    Whole,
    /// Moments, in seconds since the beginning of 1970 (UTC): ticks are those of the calendar.
    Time,
    /// Equal ratios take equal room; only positive values have a place.
    Log10,
}

impl Scale {
    /// Where `value` lies along this scale, if it has a place there.
    pub(super) fn coordinate(self, value: f64) -> Option<f64> {
        let value = plottable(value)?;
        match self {
            Scale::Linear | Scale::Whole | Scale::Time => Some(value),
            Scale::Log10 => (value > 0.0).then(|| value.log10()),
        }
    }
}

/// `value` if it can be drawn, with anything beyond the reach of ordinary arithmetic cut off.
///
/// Near the ends of `f64` a difference overflows or a quotient underflows, and a NaN would appear in the
/// figure. No figure of ours gets there, so values past ±1e300 count as infinite and values within ±1e-290 as
/// zero.
pub(super) fn plottable(value: f64) -> Option<f64> {
    if value.abs() < 1e-290 {
        Some(0.0)
    } else {
        (value.abs() <= 1e300).then_some(value)
    }
}

/// What the marks of a figure ask of the lower end of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Floor {
    /// Nothing: leave some air below the data.
    Free,
    /// Bars stand on it, and the length of a bar must be readable.
    Bars,
}

/// A labelled position on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    /// The coordinate of the tick.
    pub(super) at: f64,
    /// What is written beside it.
    pub(super) label: String,
}

/// An axis with its range fixed and its ticks chosen.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    /// The labelled ticks, ascending.
    pub(super) ticks: Vec<Tick>,
    /// Unlabelled positions inside decades, which show that an axis is logarithmic.
    pub(super) minor: Vec<f64>,
}

/// The share of the data's range that is left empty at a free end.
const AIR: f64 = 0.04;
const MOST_TICKS: i32 = 8;

impl Axis {
    /// The axis of `length` that shows all `coordinates`, with as many ticks as fit.
    ///
    /// It ends at the `ceiling`, if there is one above its low end. `extent` says how much of the length the
    /// label of a tick covers.
    pub(super) fn fit(
        scale: Scale,
        floor: Floor,
        ceiling: Option<f64>,
        coordinates: &[f64],
        length: f64,
        extent: impl Fn(&str) -> f64,
    ) -> Self {
        let (low, high) = match scale {
            Scale::Linear | Scale::Whole | Scale::Time => linear_range(coordinates, floor),
            Scale::Log10 => decade_range(coordinates, floor),
        };
        let high = ceiling
            .filter(|most| *most > low)
            .map_or(high, |most| high.min(most));
        let mut axis = Self {
            low,
            high,
            ticks: Vec::new(),
            minor: Vec::new(),
        };
        for most in (1..=MOST_TICKS).rev() {
            axis.ticks = match scale {
                Scale::Time => time::ticks(most, low, high),
                _ => Step::at_most(most, low, high, scale).ticks(low, high, scale),
            };
            let apart = |pair: &[Tick]| {
                let distance = (axis.fraction(pair[1].at) - axis.fraction(pair[0].at)) * length;
                distance >= (extent(&pair[0].label) + extent(&pair[1].label)) / 2.0
            };
            if axis.ticks.windows(2).all(apart) {
                break;
            }
        }
        if scale == Scale::Log10 && high - low <= 6.0 {
            let decades = low.floor() as i32..=high.floor() as i32;
            let inside = |decade: i32| (2..=9).map(move |digit| f64::from(decade) + f64::from(digit).log10());
            axis.minor = decades
                .flat_map(inside)
                .filter(|at| (low..=high).contains(at))
                .collect();
        }
        axis
    }

    /// How far along the axis a coordinate lies, from 0 at the low end to 1 at the high end.
    ///
    /// Minus infinity stands for the low end, where a bar or interval begins that has no finite beginning.
    pub(super) fn fraction(&self, coordinate: f64) -> f64 {
        ((coordinate - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }
}

fn extremes(coordinates: &[f64]) -> Option<(f64, f64)> {
    let finite = || {
        coordinates
            .iter()
            .copied()
            .filter(|coordinate| coordinate.is_finite())
    };
    let low = finite().reduce(f64::min)?;
    let high = finite().reduce(f64::max)?;
    Some((low, high))
}

fn linear_range(coordinates: &[f64], floor: Floor) -> (f64, f64) {
    let Some((mut low, mut high)) = extremes(coordinates) else {
        return (0.0, 1.0);
    };
    if floor == Floor::Bars {
        low = low.min(0.0);
        high = high.max(0.0);
    }
    let size = low.abs().max(high.abs());
    if high - low <= 1e-9 * size {
        // One value, or several that print alike: show it in the middle.
        let reach = if size == 0.0 { 1.0 } else { size * 0.1 };
        return if floor == Floor::Bars {
            (0.0, 1.0)
        } else {
            (low - reach, high + reach)
        };
    }
    let air = (high - low) * AIR;
    let stands_on = |end: f64| floor == Floor::Bars && end == 0.0;
    (
        if stands_on(low) { low } else { low - air },
        if stands_on(high) { high } else { high + air },
    )
}

fn decade_range(coordinates: &[f64], floor: Floor) -> (f64, f64) {
    let Some((low, high)) = extremes(coordinates) else {
        return (0.0, 1.0);
    };
    let air = (high - low) * AIR;
    // On a logarithmic axis bars have no natural foot; the next decade down leaves even the smallest one
    // visible.
    let low = if floor == Floor::Bars {
        low.ceil() - 1.0
    } else {
        low - air
    };
    let high = high + air;
    if high.floor() - low.ceil() >= 1.0 {
        return (low, high);
    }
    // Fewer than two decades would be labelled, and one number does not make a scale.
    let (low, high) = (low.floor(), high.ceil());
    if low == high {
        (low - 1.0, high + 1.0)
    } else {
        (low, high)
    }
}

/// A distance between ticks: `digit` × 10^`exponent`, with a digit of 1, 2 or 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    digit: i32,
    exponent: i32,
}

impl Step {
    /// The smallest step that puts no more than about `most` steps between `low` and `high`.
    fn at_most(most: i32, low: f64, high: f64, scale: Scale) -> Self {
        let least = (high - low) / f64::from(most);
        if scale != Scale::Linear && least <= 1.0 {
            return Self {
                digit: 1,
                exponent: 0,
            };
        }
        let exponent = least.log10().floor() as i32;
        // The tolerance keeps a quotient such as 0.30000000000000004 / 0.1 from skipping to the next digit.
        let fits = |digit: i32| Self { digit, exponent }.size() >= least * (1.0 - 1e-9);
        match [1, 2, 5].into_iter().find(|digit| fits(*digit)) {
            Some(digit) => Self { digit, exponent },
            None => Self {
                digit: 1,
                exponent: exponent + 1,
            },
        }
    }

    fn size(self) -> f64 {
        self.times(1)
    }

    /// `count` steps. Dividing by a power of ten is correctly rounded where multiplying by its inverse is
    /// not.
    fn times(self, count: i64) -> f64 {
        let digits = (count * i64::from(self.digit)) as f64;
        let power = 10_f64.powi(self.exponent.abs());
        if self.exponent < 0 {
            digits / power
        } else {
            digits * power
        }
    }

    fn ticks(self, low: f64, high: f64, scale: Scale) -> Vec<Tick> {
        let first = (low / self.size() - 1e-9).ceil() as i64;
        let last = (high / self.size() + 1e-9).floor() as i64;
        let places: Vec<f64> = (first..=last).map(|count| self.times(count)).collect();
        let largest = places.iter().fold(0.0_f64, |most, place| most.max(place.abs()));
        let written = |at: f64| match scale {
            Scale::Linear | Scale::Whole | Scale::Time => label::linear(at, self.exponent, largest),
            // A whole axis between 0.001 and 10,000 reads more easily as plain numbers.
            Scale::Log10 if (-3.0..=4.0).contains(&low.ceil()) && (-3.0..=4.0).contains(&high.floor()) => {
                label::plain_decade(at as i32)
            }
            Scale::Log10 => label::decade(at as i32),
        };
        places
            .iter()
            .map(|at| Tick {
                at: *at,
                label: written(*at),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
