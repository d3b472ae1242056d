//! Aggregates of pairs: covariance, correlation and the straight line through points, from six sums.
//!
//! Of each row in which both numbers are there, x and y are clamped to their ranges and moved to the middle of them; then n, Σx, Σy, Σx², Σy² and Σxy are all that is needed.
//! A row without one of the two counts in none of them, so all sums are over the same rows. Each is a bounded sum of its own, with noise of its own; what is made of them is
//! post-processing. A unit with more rows than count weighs as many rows of its own averages, in all six alike.

use super::call::{Output, Request, shown};
use super::statistic::{Argument, Statistic};
use crate::Error;
use crate::understand::aggregates::Pairs;
use crate::understand::expression::Typed;
use crate::understand::mistakes::unplannable;
use crate::values::facts::{Kind, Range};
use datafusion::common::ScalarValue;
use datafusion::functions::core::expr_fn::{greatest, least};
use datafusion::logical_expr::{Expr, cast, lit, when};

/// The sums that are needed, by their places. Those that are not are where the count is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Moments {
    pub(crate) count: usize,
    pub(crate) x: Option<Moment>,
    pub(crate) y: Option<Moment>,
    pub(crate) xx: Option<Moment>,
    pub(crate) yy: Option<Moment>,
    pub(crate) xy: Option<Moment>,
    /// The middles from which deviations are counted.
    pub(crate) middle_x: f64,
    pub(crate) middle_y: f64,
}

/// A sum, and what was taken from each of its terms to make both ends equally far from zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moment {
    pub(crate) sum: usize,
    pub(crate) centre: f64,
}

impl Moments {
    pub(super) fn uses(&mut self) -> Vec<&mut usize> {
        let moments = [&mut self.x, &mut self.y, &mut self.xx, &mut self.yy, &mut self.xy];
        let sums = moments.into_iter().flatten().map(|moment| &mut moment.sum);
        std::iter::once(&mut self.count).chain(sums).collect()
    }

    /// The places, the count first.
    pub(crate) fn places(&self) -> Vec<usize> {
        self.clone().uses().into_iter().map(|place| *place).collect()
    }
}

impl Request<'_> {
    /// Reads an aggregate of (y, x).
    pub(super) fn pairs(
        &mut self,
        function: Pairs,
        args: &[Expr],
        kept: Option<Expr>,
    ) -> Result<Output, Error> {
        let what = "an aggregate of pairs";
        let (y, stated_y) = self.argument(args.first(), kept.as_ref(), what)?;
        let (x, stated_x) = self.argument(args.get(1), kept.as_ref(), what)?;
        let (range_y, range_x) = (self.range(&y, stated_y, what)?, self.range(&x, stated_x, what)?);
        let most = self.most_rows(what)?;
        let of = (shown(&args[1]), shown(&args[0]));
        let both = |typed: &Typed| cast(typed.expr.clone(), Kind::Float.data_type()).is_not_null();
        let there = both(&x).and(both(&y));
        // Clamped first, so that a product is one of numbers in their ranges; deviations are from the middle. It is a function of the row, and NULL where a side is.
        let deviation = |typed: &Typed, range: Range| {
            let middle = f64::midpoint(range.low, range.high);
            let value = cast(typed.expr.clone(), Kind::Float.data_type());
            let clamped = greatest(vec![least(vec![value, lit(range.high)]), lit(range.low)]);
            (clamped - lit(middle), middle, range.high - middle)
        };
        let (dx, middle_x, far_x) = deviation(&x, range_x);
        let (dy, middle_y, far_y) = deviation(&y, range_y);
        let only = |value: Expr| {
            when(there.clone(), value)
                .otherwise(lit(ScalarValue::Float64(None)))
                .map_err(unplannable)
        };
        let bounded = |low: f64, high: f64| {
            Range::new(low, high).ok_or_else(|| {
                Error::refused(
                    "these bounds are too far apart for products",
                    "declare tighter bounds",
                )
            })
        };
        let moment = |request: &mut Self, value: Expr, low: f64, high: f64, name: String| {
            let argument = Argument::new(only(value)?, Kind::Float, bounded(low, high)?, most)?.centred();
            let centre = argument.centre as f64 * argument.steps.size();
            let sum = request.place(Statistic::mean(argument, most, &name));
            Ok::<_, Error>(Some(Moment { sum, centre }))
        };
        let one = Range::new(1.0, 1.0).expect("finite");
        let pair = when(there.clone(), lit(1i64))
            .otherwise(lit(ScalarValue::Int64(None)))
            .map_err(unplannable)?;
        let pair = Argument::new(pair, Kind::Int, one, 1)?;
        let count = self.place(Statistic::present(pair, most, &format!("{} and {}", of.0, of.1)));
        let mut moments = Moments {
            count,
            x: None,
            y: None,
            xx: None,
            yy: None,
            xy: None,
            middle_x,
            middle_y,
        };
        let needs = Needs::of(function);
        if needs.x {
            moments.x = moment(self, dx.clone(), -far_x, far_x, of.0.clone())?;
        }
        if needs.y {
            moments.y = moment(self, dy.clone(), -far_y, far_y, of.1.clone())?;
        }
        if needs.xx {
            let name = format!("squares of {}", of.0);
            moments.xx = moment(self, dx.clone() * dx.clone(), 0.0, far_x * far_x, name)?;
        }
        if needs.yy {
            let name = format!("squares of {}", of.1);
            moments.yy = moment(self, dy.clone() * dy.clone(), 0.0, far_y * far_y, name)?;
        }
        if needs.xy {
            let (name, far) = (format!("products of {} and {}", of.0, of.1), far_x * far_y);
            moments.xy = moment(self, dx * dy, -far, far, name)?;
        }
        Ok(Output::Pairs { function, moments })
    }
}

/// Which sums a function is made of.
struct Needs {
    x: bool,
    y: bool,
    xx: bool,
    yy: bool,
    xy: bool,
}

impl Needs {
    fn of(function: Pairs) -> Self {
        let needs = |x, y, xx, yy, xy| Self { x, y, xx, yy, xy };
        match function {
            Pairs::Count => needs(false, false, false, false, false),
            Pairs::AverageX => needs(true, false, false, false, false),
            Pairs::AverageY => needs(false, true, false, false, false),
            Pairs::SquaresX => needs(true, false, true, false, false),
            Pairs::SquaresY => needs(false, true, false, true, false),
            Pairs::Products | Pairs::Covariance { .. } => needs(true, true, false, false, true),
            Pairs::Slope | Pairs::Intercept => needs(true, true, true, false, true),
            Pairs::Correlation | Pairs::Determination => needs(true, true, true, true, true),
        }
    }
}
