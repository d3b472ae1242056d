//! The aggregates over private rows, by name: the list that calls are looked up in, and that the reference is made of.

use crate::understand::dialect;

/// How an aggregate is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Called {
    Count,
    Sum,
    Average,
    Variance {
        sample: bool,
        root: bool,
    },
    /// The value of a rank that the name says.
    Rank(f64),
    /// The value of a rank that the call says.
    Fraction,
    Mode,
    /// Whether a condition holds in all rows, or in some.
    Truth {
        all: bool,
    },
    Pairs(Pairs),
}

/// What is asked of pairs (y, x), in this order as SQL has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pairs {
    Count,
    AverageX,
    AverageY,
    SquaresX,
    SquaresY,
    Products,
    Covariance { sample: bool },
    Correlation,
    Slope,
    Intercept,
    Determination,
}

/// One aggregate.
pub(crate) struct Aggregate {
    /// As the engine, or a marker, calls it; also its other names there.
    names: &'static [&'static str],
    called: Called,
    /// How people write it.
    pub(crate) written: &'static str,
    /// What it says.
    pub(crate) meaning: &'static str,
    /// A query of the sample.
    pub(crate) example: &'static str,
}

const fn aggregate(
    names: &'static [&'static str],
    called: Called,
    written: &'static str,
    meaning: &'static str,
    example: &'static str,
) -> Aggregate {
    Aggregate {
        names,
        called,
        written,
        meaning,
        example,
    }
}

/// Everything that can be called.
pub(crate) const AGGREGATES: [Aggregate; 26] = [
    aggregate(
        &["count"],
        Called::Count,
        "COUNT(*), COUNT(x), COUNT(DISTINCT x)",
        "rows, rows in which x is not NULL, distinct values; also COUNTIF(condition), APPROX_COUNT_DISTINCT(x). COUNT(DISTINCT person_id) counts people",
        "SELECT COUNT(*), COUNT(income), APPROX_COUNT_DISTINCT(occupation), COUNTIF(age >= 18) FROM people",
    ),
    aggregate(
        &["sum"],
        Called::Sum,
        "SUM(x)",
        "the sum; x needs bounds",
        "SELECT department, SUM(cost) FROM visits GROUP BY department",
    ),
    aggregate(
        &["avg", "mean"],
        Called::Average,
        "AVG(x)",
        "the average; also MEAN",
        "SELECT AVG(age) FROM people",
    ),
    aggregate(
        &["var_pop", "var_population"],
        Called::Variance {
            sample: false,
            root: false,
        },
        "VAR_POP(x)",
        "the variance",
        "SELECT VAR_POP(hours) FROM people",
    ),
    aggregate(
        &["var", "var_samp", "variance", "var_sample"],
        Called::Variance {
            sample: true,
            root: false,
        },
        "VAR_SAMP(x)",
        "the variance of a sample, divided by n − 1; also VARIANCE",
        "SELECT VARIANCE(hours) FROM people",
    ),
    aggregate(
        &["stddev_pop"],
        Called::Variance {
            sample: false,
            root: true,
        },
        "STDDEV_POP(x)",
        "the standard deviation",
        "SELECT STDDEV_POP(hours) FROM people",
    ),
    aggregate(
        &["stddev", "stddev_samp"],
        Called::Variance {
            sample: true,
            root: true,
        },
        "STDDEV_SAMP(x)",
        "that of a sample; also STDDEV",
        "SELECT STDDEV(hours) FROM people",
    ),
    aggregate(
        &["min"],
        Called::Rank(0.0),
        "MIN(x)",
        "a value near the least: as near as the noise allows; also of dates and timestamps with `bounds`, without an interval",
        "SELECT MIN(age) FROM people",
    ),
    aggregate(
        &["max"],
        Called::Rank(1.0),
        "MAX(x)",
        "a value near the largest; also of dates",
        "SELECT MAX(day), MAX(cost) FROM visits",
    ),
    aggregate(
        &["median"],
        Called::Rank(0.5),
        "MEDIAN(x)",
        "the value in the middle; also of dates",
        "SELECT MEDIAN(income) FROM people",
    ),
    aggregate(
        &[dialect::QUANTILE],
        Called::Fraction,
        "PERCENTILE_CONT(f) WITHIN GROUP (ORDER BY x)",
        "the value below which a part f lies; also PERCENTILE_CONT(x, f), PERCENTILE_DISC, QUANTILE, and APPROX_QUANTILES(x, n) for n + 1 of them; an ARRAY of parts gives a column for each. of dates it is a date",
        "SELECT PERCENTILE_CONT(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY income), APPROX_QUANTILES(age, 4)[OFFSET(1)] FROM people",
    ),
    aggregate(
        &[dialect::MODE],
        Called::Mode,
        "MODE() WITHIN GROUP (ORDER BY x)",
        "the value that most rows have, of public ones: declared `values`, or whole numbers between bounds; also MODE(x). It has no interval",
        "SELECT sex, MODE() WITHIN GROUP (ORDER BY occupation) FROM people GROUP BY sex",
    ),
    aggregate(
        &["bool_or"],
        Called::Truth { all: false },
        "BOOL_OR(condition)",
        "true where it is sure that some row holds it, by a noisy count; false where none does, or too few to tell. It has no interval",
        "SELECT department, BOOL_OR(cost > 900) FROM visits GROUP BY department",
    ),
    aggregate(
        &["bool_and"],
        Called::Truth { all: true },
        "BOOL_AND(condition)",
        "false where it is sure that some row does not hold it; true where every row does, or too few do not to tell; also EVERY",
        "SELECT EVERY(age >= 0) FROM people",
    ),
    aggregate(
        &["corr"],
        Called::Pairs(Pairs::Correlation),
        "CORR(y, x)",
        "Pearson's correlation, from −1 to 1, of rows in which both are not NULL; both need bounds",
        "SELECT CORR(income, hours) FROM people",
    ),
    aggregate(
        &["covar_pop"],
        Called::Pairs(Pairs::Covariance { sample: false }),
        "COVAR_POP(y, x)",
        "the covariance",
        "SELECT COVAR_POP(income, hours) FROM people",
    ),
    aggregate(
        &["covar_samp", "covar"],
        Called::Pairs(Pairs::Covariance { sample: true }),
        "COVAR_SAMP(y, x)",
        "the covariance of a sample, divided by n − 1; also COVAR",
        "SELECT COVAR_SAMP(income, hours) FROM people",
    ),
    aggregate(
        &["regr_slope"],
        Called::Pairs(Pairs::Slope),
        "REGR_SLOPE(y, x)",
        "how much y grows with x: the slope of the line through the points",
        "SELECT REGR_SLOPE(cost, minutes), REGR_INTERCEPT(cost, minutes) FROM visits",
    ),
    aggregate(
        &["regr_intercept"],
        Called::Pairs(Pairs::Intercept),
        "REGR_INTERCEPT(y, x)",
        "where the line is at x = 0",
        "SELECT REGR_INTERCEPT(cost, minutes) FROM visits",
    ),
    aggregate(
        &["regr_r2"],
        Called::Pairs(Pairs::Determination),
        "REGR_R2(y, x)",
        "the square of the correlation",
        "SELECT REGR_R2(cost, minutes) FROM visits",
    ),
    aggregate(
        &["regr_count"],
        Called::Pairs(Pairs::Count),
        "REGR_COUNT(y, x)",
        "rows in which both are not NULL",
        "SELECT REGR_COUNT(income, hours) FROM people",
    ),
    aggregate(
        &["regr_avgx"],
        Called::Pairs(Pairs::AverageX),
        "REGR_AVGX(y, x)",
        "the average of x in them",
        "SELECT REGR_AVGX(income, hours) FROM people",
    ),
    aggregate(
        &["regr_avgy"],
        Called::Pairs(Pairs::AverageY),
        "REGR_AVGY(y, x)",
        "the average of y in them",
        "SELECT REGR_AVGY(income, hours) FROM people",
    ),
    aggregate(
        &["regr_sxx"],
        Called::Pairs(Pairs::SquaresX),
        "REGR_SXX(y, x)",
        "squared deviations of x, summed",
        "SELECT REGR_SXX(income, hours) FROM people",
    ),
    aggregate(
        &["regr_syy"],
        Called::Pairs(Pairs::SquaresY),
        "REGR_SYY(y, x)",
        "squared deviations of y, summed",
        "SELECT REGR_SYY(income, hours) FROM people",
    ),
    aggregate(
        &["regr_sxy"],
        Called::Pairs(Pairs::Products),
        "REGR_SXY(y, x)",
        "products of deviations, summed",
        "SELECT REGR_SXY(income, hours) FROM people",
    ),
];

/// How an aggregate of this name is read.
pub(crate) fn called(name: &str) -> Option<Called> {
    aggregate_named(name).map(|aggregate| aggregate.called)
}

/// The aggregate that the engine, or a marker, calls so.
pub(crate) fn aggregate_named(name: &str) -> Option<&'static Aggregate> {
    AGGREGATES
        .iter()
        .find(|aggregate| aggregate.names.contains(&name))
}
