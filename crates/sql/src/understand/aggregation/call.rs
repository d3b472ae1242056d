//! The aggregates that a query may call, and the statistics that each is made of. The list is closed.

use super::Groups;
use super::pairs::Moments;
use super::statistic::{Argument, Measure, Statistic, UNLIMITED};
use crate::Error;
use crate::catalog::{Catalog, Limits};
use crate::understand::aggregates::{Called, Pairs, called};
use crate::understand::dialect;
use crate::understand::expression::Typed;
use crate::understand::mistakes;
use crate::understand::mistakes::unplannable;
use crate::understand::relation::Rows;
use crate::values::facts::{Kind, Range, Value};
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{Expr, Operator, cast, lit, when};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How an aggregate's answer is made of statistics, by their places.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Output {
    /// The statistic itself.
    Plain { statistic: usize },
    /// (sum + centre·count) / count.
    Average { sum: usize, count: usize, centre: f64 },
    /// From the first two moments around a centre.
    Variance {
        first: usize,
        second: usize,
        count: usize,
        second_centre: f64,
        sample: bool,
        root: bool,
    },
    /// The value of a rank. Dates and timestamps are measured as numbers, and `kind` says what these stand for.
    Quantile { tree: usize, fraction: f64, kind: Kind },
    /// Whether a condition holds in some rows, or in all: by how many hold it, or do not.
    Truth { count: usize, all: bool },
    /// From the moments of pairs.
    Pairs { function: Pairs, moments: Moments },
    /// The value that most rows have.
    Mode { histogram: usize, values: Arc<[Value]> },
}

impl Output {
    /// Whether its values may be numbers with fractions.
    pub(crate) fn has_fractions(&self, statistics: &[Statistic]) -> bool {
        let kind = match self {
            Self::Plain { statistic: place } => match &statistics[*place].measure {
                Measure::Sum { argument, .. } => argument.kind,
                _ => return false,
            },
            Self::Quantile { kind, .. } => *kind,
            Self::Truth { .. } => return false,
            Self::Average { .. } | Self::Variance { .. } => return true,
            Self::Pairs { function, .. } => return *function != Pairs::Count,
            Self::Mode { values, .. } => return matches!(values.first(), Some(Value::Float(_))),
        };
        kind == Kind::Float
    }

    /// The places of the statistics that it is made of.
    pub(crate) fn uses(&mut self) -> Vec<&mut usize> {
        match self {
            Self::Plain { statistic } | Self::Truth { count: statistic, .. } => vec![statistic],
            Self::Average { sum, count, .. } => vec![sum, count],
            Self::Variance {
                first, second, count, ..
            } => vec![first, second, count],
            Self::Quantile { tree, .. } => vec![tree],
            Self::Pairs { moments, .. } => moments.uses(),
            Self::Mode { histogram, .. } => vec![histogram],
        }
    }
}

/// What an aggregate is asked about.
pub(crate) struct Request<'a> {
    pub(crate) rows: &'a Rows,
    /// The most that a unit can have in a group, where something says so.
    pub(crate) rows_in_group: Option<u64>,
    pub(crate) limits: Limits,
    pub(crate) grouped: bool,
    /// Where there are groups: how large one unit's sums of columns are in all of them together, and which groups there are.
    pub(crate) in_all_groups: Option<(&'a BTreeMap<String, Range>, &'a Groups)>,
    pub(crate) catalog: &'a Catalog,
    pub(crate) statistics: &'a mut Vec<Statistic>,
}

/// Bounds that a query states itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stated {
    per_group: Option<Range>,
    per_row: Option<Range>,
}

impl Request<'_> {
    /// Reads one aggregate.
    pub(crate) fn output(&mut self, expr: &Expr) -> Result<Output, Error> {
        let Expr::AggregateFunction(AggregateFunction { func, params }) = expr.clone().unalias() else {
            return Err(Error::refused(
                "this is no aggregate that is understood",
                "use COUNT, SUM, AVG, VAR_POP, STDDEV_POP, CORR, REGR_SLOPE, MEDIAN, PERCENTILE_CONT, MODE, MIN or MAX",
            ));
        };
        if !params.order_by.is_empty() {
            return Err(Error::refused(
                "ORDER BY inside an aggregate is refused",
                "leave it out",
            ));
        }
        let kept = match &params.filter {
            Some(filter) => Some(self.rows.accept(filter)?.expr),
            None => None,
        };
        let name = func.name().to_lowercase();
        match called(&name) {
            Some(Called::Count) => self.count(&params.args, params.distinct, kept),
            _ if params.distinct => Err(Error::refused(
                format!("{name}(DISTINCT …) is refused: equal values of different people would count once"),
                "use COUNT(DISTINCT …), or leave DISTINCT out",
            )),
            Some(Called::Sum) => self.sum(&params.args, kept),
            Some(Called::Average) => self.average(&params.args, kept),
            Some(Called::Variance { sample, root }) => self.variance(&params.args, kept, sample, root),
            Some(Called::Rank(fraction)) => self.quantile(&params.args, kept, fraction, &name.to_uppercase()),
            Some(Called::Fraction) => {
                let fraction = params
                    .args
                    .get(1)
                    .and_then(number)
                    .filter(|f| (0.0..=1.0).contains(f));
                let fraction = fraction.ok_or_else(|| {
                    Error::refused(
                        "a quantile needs a number from 0 to 1",
                        "for example PERCENTILE_CONT(x, 0.5)",
                    )
                })?;
                self.quantile(&params.args[..1], kept, fraction, "a quantile")
            }
            Some(Called::Mode) => self.mode(&params.args, kept),
            Some(Called::Truth { all }) => self.truth(&params.args, kept, all, &name.to_uppercase()),
            Some(Called::Pairs(function)) => self.pairs(function, &params.args, kept),
            None => Err(Error::refused(
                format!("the aggregate {name} has no private version"),
                "use COUNT, SUM, AVG, VAR_POP, STDDEV_POP, CORR, COVAR_POP, REGR_SLOPE, MEDIAN, PERCENTILE_CONT, APPROX_QUANTILES, MODE, MIN or MAX; docs/sql.md lists all",
            )),
        }
    }

    /// A statistic, once.
    pub(super) fn place(&mut self, statistic: Statistic) -> usize {
        let same = |other: &Statistic| other.measure == statistic.measure;
        if let Some(place) = self.statistics.iter().position(same) {
            self.statistics[place].weight += 1;
            return place;
        }
        self.statistics.push(statistic);
        self.statistics.len() - 1
    }

    /// How many rows of a unit count in a group.
    pub(super) fn most_rows(&self, what: &str) -> Result<u64, Error> {
        if self.rows_in_group == Some(1) {
            return Ok(1);
        }
        let stated = self.limits.rows_per_group;
        let most = match (stated, self.rows_in_group) {
            (Some(a), Some(b)) => a.min(b),
            (a, b) => a.or(b).ok_or_else(|| {
                let whose = &self.catalog.unit.whose;
                let group = if self.grouped { " in one group" } else { "" };
                Error::refused(
                    format!("nothing says how many rows of one {whose} count{group}, so {what} is unbounded"),
                    "set `rows_per_group` under [limits] in the catalog, or OPTIONS(max_rows_contributed = …), or contribution_bounds_per_group => (low, high)",
                )
            })?,
        };
        if most == 0 || most > 1 << 20 {
            return Err(Error::refused(
                "the number of rows of one unit that count must be between 1 and 1048576",
                "most uses are served by 1 to 100",
            ));
        }
        Ok(most)
    }

    /// The argument, with the bounds that the query states and its filter.
    pub(super) fn argument(
        &self,
        expr: Option<&Expr>,
        kept: Option<&Expr>,
        what: &str,
    ) -> Result<(Typed, Stated), Error> {
        let expr =
            expr.ok_or_else(|| Error::refused(format!("{what} needs an argument"), "name a column"))?;
        let (inner, stated) = marked(expr)?;
        let mut typed = self.rows.accept(&inner)?;
        typed.expr = typed.expr.unalias();
        if let Some(kept) = kept {
            let null = cast(lit(ScalarValue::Null), typed.facts.kind.data_type());
            typed.expr = when(kept.clone(), typed.expr)
                .otherwise(null)
                .map_err(unplannable)?;
            typed.facts.nullable = true;
        }
        Ok((typed, stated))
    }

    fn count(&mut self, args: &[Expr], distinct: bool, kept: Option<Expr>) -> Result<Output, Error> {
        let (inner, stated) = match args.first() {
            Some(expr) => marked(expr)?,
            None => (lit(1i64), Stated::default()),
        };
        let counts_rows = matches!(&inner, Expr::Literal(value, _) if !value.is_null());
        let most = |request: &Self| match stated.per_group {
            Some(range) if range.high >= 1.0 => Ok(range.high.min((1u64 << 20) as f64) as u64),
            Some(_) => Err(Error::refused(
                "the upper bound of a count is below 1",
                "contribution_bounds_per_group => (0, n) with n of 1 or more",
            )),
            None => request.most_rows("COUNT"),
        };
        let most = |request: &Self| {
            Ok::<u64, Error>(match request.rows_in_group {
                Some(rows) => rows.min(most(request)?),
                None => most(request)?,
            })
        };
        if distinct {
            if self.rows.names_unit(&inner) && kept.is_none() {
                return Ok(Output::Plain {
                    statistic: self.place(Statistic::units()),
                });
            }
            let (typed, _) = self.argument(Some(&inner), kept.as_ref(), "COUNT")?;
            // A unit whose rows all have the same value brings one.
            let most = if typed.facts.of_unit { 1 } else { most(self)? };
            let statistic = Statistic::distinct(typed.expr, most, &shown(&inner));
            return Ok(Output::Plain {
                statistic: self.place(statistic),
            });
        }
        let most = most(self)?;
        if counts_rows && kept.is_none() {
            return Ok(Output::Plain {
                statistic: self.place(Statistic::rows(most)),
            });
        }
        let (value, of) = match (counts_rows, kept) {
            (true, Some(kept)) => (one_where(kept)?, "a condition".to_owned()),
            (_, kept) => {
                let (typed, _) = self.argument(Some(&inner), kept.as_ref(), "COUNT")?;
                let statistic = self.present(&typed, most, &shown(&inner))?;
                return Ok(Output::Plain { statistic });
            }
        };
        let statistic = self.ones(value, most, &of)?;
        Ok(Output::Plain { statistic })
    }

    /// Rows in which something is there: the same statistic for COUNT(x) and for what AVG(x) and VARIANCE(x) are divided by. A float that is declared never to be
    /// NULL may be NaN in the data, which is NULL, so only other kinds need no look.
    fn present(&mut self, typed: &Typed, most: u64, of: &str) -> Result<usize, Error> {
        if !typed.facts.nullable && typed.facts.kind != Kind::Float {
            return Ok(self.place(Statistic::rows(most)));
        }
        self.ones(one_where(typed.expr.clone().is_not_null())?, most, of)
    }

    /// Rows in which a value is 1; elsewhere it is NULL.
    fn ones(&mut self, value: Expr, most: u64, of: &str) -> Result<usize, Error> {
        let one = Range::new(1.0, 1.0).expect("finite");
        let argument = Argument::new(value, Kind::Int, one, 1)?;
        Ok(self.place(Statistic::present(argument, most, of)))
    }

    /// The range of a number, from the query or the catalog.
    pub(super) fn range(&self, typed: &Typed, stated: Stated, what: &str) -> Result<Range, Error> {
        check_number(typed, what)?;
        stated.per_row.or(typed.facts.range).ok_or_else(|| {
            if divides(&typed.expr) {
                return Error::refused(
                    format!("{what} of a quotient whose divisor may come close to zero is unbounded: one person could move it by any amount"),
                    "state its bounds: AVG(a / b, contribution_bounds_per_row => (low, high)), or clamp it: AVG(LEAST(GREATEST(a / b, low), high)), or declare `bounds` of the divisor in the catalog that leave zero out",
                );
            }
            Error::refused(
                format!("{what} of a column without bounds is unbounded: one person could move it by any amount"),
                "declare `bounds` of the column in the catalog, or contribution_bounds_per_row => (low, high), or clamp it at both ends: GREATEST(0, LEAST(x, 100))",
            )
        })
    }

    fn sum(&mut self, args: &[Expr], kept: Option<Expr>) -> Result<Output, Error> {
        let (typed, stated) = self.argument(args.first(), kept.as_ref(), "SUM")?;
        let of = shown(&args[0]);
        check_number(&typed, "SUM")?;
        // What the catalog says of one unit's sum holds where the query says nothing of it.
        let declared = self.limits.sums.get(&of).copied();
        let declared = declared.filter(|_| stated.per_row.is_none() && self.rows.rows_per_unit != Some(1));
        if let Some(group) = stated.per_group.or(declared) {
            let steps = crate::values::steps::Steps::holding(group, typed.facts.kind, 1)?;
            let mut argument = Argument {
                value: typed.expr,
                kind: typed.facts.kind,
                steps,
                low: -UNLIMITED,
                high: UNLIMITED,
                centre: 0,
            };
            let (low, high) = (steps.round(group.low), steps.round(group.high));
            if let Some(row) = stated.per_row.or(typed.facts.range) {
                // Both ends, so that a range far outside the group's bounds is not one of numbers whose sum runs over.
                argument.low = steps.round(row.low).clamp(-UNLIMITED, UNLIMITED);
                argument.high = steps.round(row.high).clamp(-UNLIMITED, UNLIMITED);
            }
            if self.rows.rows_per_unit == Some(1) {
                (argument.low, argument.high) =
                    (low.max(argument.low).min(high), high.min(argument.high).max(low));
            }
            let mut sum = Statistic::sum(argument, low, high, &of);
            if stated.per_group.is_none() {
                self.bound_in_all(&mut sum, &of);
            }
            return Ok(Output::Plain {
                statistic: self.place(sum),
            });
        }
        let range = self.range(&typed, stated, "SUM")?;
        let most = self.most_rows("SUM")?;
        let argument = Argument::new(typed.expr, typed.facts.kind, range, most)?;
        let times = most as i64;
        // A unit of several rows may have none with a value in a group, and then adds nothing.
        let (low, high) = if self.rows.rows_per_unit == Some(1) {
            (argument.low, argument.high)
        } else {
            (argument.low.min(0) * times, argument.high.max(0) * times)
        };
        let mut sum = Statistic::sum(argument, low, high, &of);
        if stated.per_row.is_none() {
            self.bound_in_all(&mut sum, &of);
        }
        Ok(Output::Plain {
            statistic: self.place(sum),
        })
    }

    /// Bounds a sum in all groups together, where the catalog says how large one unit's sum of this column is.
    fn bound_in_all(&self, sum: &mut Statistic, of: &str) {
        let Some((sums, groups)) = self.in_all_groups else {
            return;
        };
        if let Some(all) = sums.get(of) {
            super::in_all::bound_sum(sum, groups, *all);
        }
    }

    fn average(&mut self, args: &[Expr], kept: Option<Expr>) -> Result<Output, Error> {
        let (typed, stated) = self.argument(args.first(), kept.as_ref(), "AVG")?;
        let of = shown(&args[0]);
        let range = match stated.per_group {
            // The average of a unit's rows in a group lies where its rows do.
            Some(group) if stated.per_row.is_none() => {
                check_number(&typed, "AVG")?;
                group
            }
            _ => self.range(&typed, stated, "AVG")?,
        };
        let most = self.most_rows("AVG")?;
        let count = self.present(&typed, most, &of)?;
        let argument = Argument::new(typed.expr, typed.facts.kind, range, most)?.centred();
        let centre = argument.centre as f64 * argument.steps.size();
        let sum = self.place(Statistic::mean(argument, most, &of));
        Ok(Output::Average { sum, count, centre })
    }

    fn variance(
        &mut self,
        args: &[Expr],
        kept: Option<Expr>,
        sample: bool,
        root: bool,
    ) -> Result<Output, Error> {
        let (typed, stated) = self.argument(args.first(), kept.as_ref(), "a variance")?;
        let of = shown(&args[0]);
        let range = self.range(&typed, stated, "a variance")?;
        let most = self.most_rows("a variance")?;
        let argument = Argument::new(typed.expr.clone(), typed.facts.kind, range, most)?.centred();
        let middle = argument.centre as f64 * argument.steps.size();
        let count = self.present(&typed, most, &of)?;
        let deviation = cast(typed.expr, Kind::Float.data_type()) - lit(middle);
        let farthest = (range.high - middle).max(middle - range.low);
        let squares = Range::new(0.0, farthest * farthest).ok_or_else(|| {
            Error::refused(
                "these bounds are too far apart for a variance",
                "declare tighter bounds",
            )
        })?;
        let second = Argument::new(deviation.clone() * deviation, Kind::Float, squares, most)?.centred();
        let second_centre = second.centre as f64 * second.steps.size();
        let first = self.place(Statistic::mean(argument, most, &of));
        let second = self.place(Statistic::mean(second, most, &format!("squares of {of}")));
        Ok(Output::Variance {
            first,
            second,
            count,
            second_centre,
            sample,
            root,
        })
    }

    fn quantile(
        &mut self,
        args: &[Expr],
        kept: Option<Expr>,
        fraction: f64,
        what: &str,
    ) -> Result<Output, Error> {
        let (typed, stated) = self.argument(args.first(), kept.as_ref(), what)?;
        let of = shown(&args[0]);
        let kind = typed.facts.kind;
        let (value, number, range) = match kind {
            Kind::Date | Kind::Timestamp => {
                if stated.per_row.is_some() || stated.per_group.is_some() {
                    return Err(Error::refused(
                        "contribution bounds are numbers, and this is a date",
                        "leave them out; `bounds` of the column in the catalog count",
                    ));
                }
                let range = typed.facts.range.ok_or_else(|| {
                    Error::refused(
                        format!("{what} of a date without bounds is unbounded: it could be any day"),
                        "declare `bounds` of the column in the catalog, for example bounds = [\"2020-01-01\", \"2029-12-31\"]",
                    )
                })?;
                // Days, or microseconds, since 1970: whole numbers, whatever the value is.
                (cast(typed.expr, Kind::Int.data_type()), Kind::Int, range)
            }
            _ => {
                let range = self.range(&typed, stated, what)?;
                (typed.expr, kind, range)
            }
        };
        let most = self.most_rows(what)?;
        let statistic = Statistic::tree(value, number, range, most, &of);
        Ok(Output::Quantile {
            tree: self.place(statistic),
            fraction,
            kind,
        })
    }

    /// BOOL_OR by a count of the rows that hold the condition, BOOL_AND by one of those that do not.
    fn truth(&mut self, args: &[Expr], kept: Option<Expr>, all: bool, what: &str) -> Result<Output, Error> {
        let (typed, _) = self.argument(args.first(), kept.as_ref(), what)?;
        if typed.facts.kind != Kind::Bool {
            return Err(Error::refused(
                format!(
                    "{what} needs a condition, and this is {}",
                    mistakes::kind_word(typed.facts.kind)
                ),
                format!("compare it with something: {what}(x > 3)"),
            ));
        }
        let most = self.most_rows(what)?;
        let counted = if all { !typed.expr } else { typed.expr };
        let count = self.ones(one_where(counted)?, most, "a condition")?;
        Ok(Output::Truth { count, all })
    }

    /// The value that most rows have: of a public list, by noisy counts of each.
    fn mode(&mut self, args: &[Expr], kept: Option<Expr>) -> Result<Output, Error> {
        /// More values than this would take too long to tell apart.
        const MOST: usize = 1_000;
        let (typed, _) = self.argument(args.first(), kept.as_ref(), "MODE")?;
        let values = typed
            .enumerable()
            .filter(|values| (1..=MOST).contains(&values.len()));
        let Some(values) = values else {
            return Err(Error::refused(
                format!(
                    "MODE chooses among public values, and nothing declares the values of this, or there are more than {MOST}"
                ),
                "declare `values` of the column in the catalog; for a number with `bounds`, round it or use width_bucket",
            ));
        };
        // The place of a row's value in the list; NULL for NULL and for what is not on it.
        let mut cases = when(lit(false), lit(ScalarValue::Int64(None)));
        for (place, value) in values.iter().enumerate() {
            let same = typed.expr.clone().eq(lit(literal(value)));
            cases = cases.when(same, lit(place as i64));
        }
        let place = cases.end().map_err(unplannable)?;
        let most = self.most_rows("MODE")?;
        let statistic = Statistic::histogram(place, values.len(), most, &shown(&args[0]));
        Ok(Output::Mode {
            histogram: self.place(statistic),
            values: values.into(),
        })
    }
}

/// A public value as a constant of the engine.
pub(crate) fn literal(value: &Value) -> ScalarValue {
    match value {
        Value::Null => ScalarValue::Null,
        Value::Bool(value) => ScalarValue::Boolean(Some(*value)),
        Value::Int(value) => ScalarValue::Int64(Some(*value)),
        Value::Float(value) => ScalarValue::Float64(Some(*value)),
        Value::Text(value) => ScalarValue::Utf8View(Some(value.clone())),
        Value::Date(value) => ScalarValue::Date32(Some(*value)),
        Value::Timestamp(value) => ScalarValue::TimestampMicrosecond(Some(*value), None),
    }
}

/// Where AVG and SUM of the same column are asked, one sum serves both, if each unit has one row.
pub(crate) fn share(statistics: &mut Vec<Statistic>, outputs: &mut [Output], one_row_per_unit: bool) {
    for output in outputs.iter_mut().filter(|_| one_row_per_unit) {
        let Output::Average { sum, centre, .. } = output else {
            continue;
        };
        let Measure::Mean { argument, most: 1 } = &statistics[*sum].measure else {
            continue;
        };
        let plain = Argument {
            centre: 0,
            ..argument.clone()
        };
        let same = |other: &Statistic| {
            matches!(&other.measure, Measure::Sum { argument, low, high }
                if *argument == plain && *low == plain.low && *high == plain.high)
        };
        if let Some(place) = statistics.iter().position(same) {
            (*sum, *centre) = (place, 0.0);
            statistics[place].weight += 1;
        }
    }
    // What nobody waits for any more goes.
    let mut used = vec![false; statistics.len()];
    for output in outputs.iter_mut() {
        for place in output.uses() {
            used[*place] = true;
        }
    }
    let moved: Vec<usize> = used
        .iter()
        .scan(0, |next, used| {
            let here = *next;
            *next += usize::from(*used);
            Some(here)
        })
        .collect();
    for output in outputs.iter_mut() {
        for place in output.uses() {
            *place = moved[*place];
        }
    }
    let mut place = 0;
    statistics.retain(|_| {
        place += 1;
        used[place - 1]
    });
}

fn check_number(typed: &Typed, what: &str) -> Result<(), Error> {
    if typed.facts.kind.is_number() {
        return Ok(());
    }
    let columns: Vec<String> = typed
        .expr
        .column_refs()
        .iter()
        .map(|column| column.name.clone())
        .collect();
    let of = match columns.as_slice() {
        [only] => format!("`{only}`"),
        _ => "this".to_owned(),
    };
    let (what, hint) = mistakes::needs_number(what, &of, mistakes::kind_word(typed.facts.kind));
    Err(Error::refused(what, hint))
}

/// Whether floats are divided anywhere in an expression. Of integers the divisor is at least one in size, so their quotients have bounds where the dividend has.
fn divides(expr: &Expr) -> bool {
    let divides = |part: &Expr| Ok(matches!(part, Expr::BinaryExpr(binary) if binary.op == Operator::Divide));
    expr.exists(divides).unwrap_or(false)
}

/// 1 where a condition holds, else NULL.
fn one_where(condition: Expr) -> Result<Expr, Error> {
    when(condition, lit(1i64))
        .otherwise(lit(ScalarValue::Int64(None)))
        .map_err(unplannable)
}

/// How an argument is called in explanations.
pub(super) fn shown(expr: &Expr) -> String {
    match expr {
        Expr::Column(column) => column.name.clone(),
        Expr::Alias(alias) => shown(&alias.expr),
        Expr::ScalarFunction(call) if call.name().starts_with(dialect::RESERVED) => {
            call.args.first().map_or_else(String::new, shown)
        }
        other => other.human_display().to_string(),
    }
}

/// A number that the query states.
fn number(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Literal(value, _) => match value {
            ScalarValue::Int64(Some(value)) => Some(*value as f64),
            ScalarValue::UInt64(Some(value)) => Some(*value as f64),
            ScalarValue::Float64(Some(value)) if value.is_finite() => Some(*value),
            ScalarValue::Decimal128(Some(value), _, scale) => {
                Some(*value as f64 / 10f64.powi(i32::from(*scale)))
            }
            _ => None,
        },
        Expr::Negative(inner) => number(inner).map(|value| -value),
        Expr::Cast(cast) => number(&cast.expr),
        _ => None,
    }
}

/// The expression inside markers, and the bounds that they state.
fn marked(expr: &Expr) -> Result<(Expr, Stated), Error> {
    let Expr::ScalarFunction(call) = expr else {
        return Ok((expr.clone(), Stated::default()));
    };
    if call.name() != dialect::PER_GROUP && call.name() != dialect::PER_ROW {
        return Ok((expr.clone(), Stated::default()));
    }
    let (inner, mut stated) = marked(&call.args[0])?;
    let ends = call
        .args
        .get(1)
        .and_then(number)
        .zip(call.args.get(2).and_then(number));
    let range = ends
        .and_then(|(low, high)| Range::new(low, high))
        .ok_or_else(|| {
            Error::refused(
                "contribution bounds must be two numbers in order",
                "for example contribution_bounds_per_group => (0, 100)",
            )
        })?;
    let slot = if call.name() == dialect::PER_GROUP {
        &mut stated.per_group
    } else {
        &mut stated.per_row
    };
    if slot.replace(range).is_some() {
        return Err(Error::refused(
            "contribution bounds are stated twice",
            "state them once",
        ));
    }
    Ok((inner, stated))
}
