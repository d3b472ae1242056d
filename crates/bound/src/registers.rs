//! The few running numbers that the partial results of one unit in one group are made of.
//!
//! All of them add up, whatever the order and however the rows were split: that is why states merge. Additions wrap around by name (`wrapping_add`), so they cannot fail, in a build that checks for numbers that run over too.
//!
//! These are the only numbers that data can make large. What one unit's rows add up to is a function of these rows, wrapped or not, and is clamped before it leaves the unit. A total of units is one of
//! clamped numbers, and fits where the caller's bounds say so (in `sql` a unit adds at most 2³⁰ steps, so 2³² units fit). All other arithmetic of this crate counts rows, groups and places in memory.

use super::beside::{Beside, BesideReadings, OfUnit};
use super::length::LengthReadings;
use super::{Length, Partial, choice::null_integer};
use datafusion::arrow::array::{Array, AsArray, Int64Array, RecordBatch};
use datafusion::arrow::buffer::{NullBuffer, ScalarBuffer};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::functions_aggregate::expr_fn::{count, sum};
use datafusion::logical_expr::{Expr, cast, when};
use datafusion::prelude::{col, floor, greatest, least, lit};

/// The floats between these are those that an `i64` can hold once they are floored.
const LOWEST: f64 = -9_223_372_036_854_775_808.0;
const HIGHEST: f64 = 9_223_372_036_854_774_784.0;

/// One running number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Register {
    /// Rows.
    Rows,
    /// Rows where the argument is not NULL.
    Present(usize),
    /// The sum of the argument.
    Sum(usize),
}

/// A partial result, read from registers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reading {
    One,
    AtMost {
        count: usize,
        most: i64,
    },
    Clamped {
        sum: usize,
        present: Option<usize>,
        low: i64,
        high: i64,
    },
    Scaled {
        sum: usize,
        present: usize,
        most: i64,
        low: i64,
        high: i64,
    },
}

/// Which registers a query keeps, and how its partial results are read from them.
#[derive(Clone, Debug)]
pub(crate) struct Registers {
    list: Vec<Register>,
    readings: Vec<Reading>,
    lengths: LengthReadings,
    beside: Option<BesideReadings>,
}

/// What the lengths of a unit's vectors are, over all groups that count for them.
#[derive(Default)]
pub(crate) struct Norms {
    own: Vec<u128>,
    wide: Vec<u128>,
}

/// Where a register is; it is kept from then on.
pub(crate) type Place<'a> = dyn FnMut(Register) -> usize + 'a;

impl Registers {
    pub(crate) fn new(partials: &[Partial], lengths: &[Length], beside: Option<&Beside>) -> Self {
        let mut list: Vec<Register> = Vec::new();
        let mut place = |register| match list.iter().position(|other| *other == register) {
            Some(place) => place,
            None => {
                list.push(register);
                list.len() - 1
            }
        };
        let readings = partials
            .iter()
            .map(|partial| Reading::new(partial, &mut place))
            .collect();
        let beside = beside.map(|beside| BesideReadings::new(beside, &mut place));
        Self {
            list,
            lengths: LengthReadings::new(lengths, partials.len()),
            readings,
            beside,
        }
    }

    /// How many registers a unit has in a group.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// How many numbers are read from them: those of the totals, and those beside them.
    pub(crate) fn numbers(&self) -> usize {
        self.readings.len() + self.beside.as_ref().map_or(0, BesideReadings::len)
    }

    /// What is read beside the totals.
    pub(crate) fn beside(&self) -> Option<&BesideReadings> {
        self.beside.as_ref()
    }

    /// Measures the vectors of one unit, given each of its groups and whether it counts for the totals. Says whether one of them is too long.
    pub(crate) fn measure<'a>(
        &self,
        kept: impl Iterator<Item = (bool, &'a [i64])>,
        norms: &mut Norms,
    ) -> bool {
        let wide = self.beside.as_ref().map(BesideReadings::vectors);
        if self.lengths.is_empty() && wide.is_none_or(|(lengths, _)| lengths.is_empty()) {
            return false;
        }
        self.lengths.start(&mut norms.own);
        if let Some((lengths, _)) = wide {
            lengths.start(&mut norms.wide);
        }
        for (counts, registers) in kept {
            if counts {
                self.lengths.measure(&self.readings, registers, &mut norms.own);
            }
            if let Some((lengths, readings)) = wide {
                lengths.measure(readings, registers, &mut norms.wide);
            }
        }
        if let Some((lengths, _)) = wide {
            lengths.finish(&mut norms.wide);
        }
        self.lengths.finish(&mut norms.own)
    }

    /// Adds what one unit's registers in a group say to the numbers of the group, and to what is known of the unit. `counts`: whether the group counts for the totals.
    #[inline]
    pub(crate) fn fold(
        &self,
        registers: &[i64],
        counts: bool,
        norms: &Norms,
        numbers: &mut [i64],
        unit: &mut OfUnit,
    ) {
        let (totals, numbers) = numbers.split_at_mut(self.readings.len());
        if counts {
            if self.lengths.is_empty() {
                for (reading, total) in self.readings.iter().zip(totals) {
                    *total = total.wrapping_add(reading.of(registers));
                }
            } else {
                for (place, total) in totals.iter_mut().enumerate() {
                    *total = total.wrapping_add(self.counted(place, registers, norms));
                }
            }
        }
        if let Some(beside) = &self.beside {
            let counted = |place: usize| match counts {
                true => self.counted(place, registers, norms),
                false => 0,
            };
            beside.fold(registers, counts, &norms.wide, counted, numbers, unit);
        }
    }

    /// What counts of a unit in a group that counts.
    fn counted(&self, place: usize, registers: &[i64], norms: &Norms) -> i64 {
        self.lengths.scaled(place, &self.readings, registers, &norms.own)
    }

    /// Adds one unit to the numbers that describe all units.
    #[inline]
    pub(crate) fn count(&self, unit: &OfUnit, numbers: &mut [i64]) {
        if let Some(beside) = &self.beside {
            beside.count(unit, &mut numbers[self.readings.len()..]);
        }
    }

    /// The bounds on lengths of the totals.
    pub(crate) fn lengths(&self) -> (&LengthReadings, &[Reading]) {
        (&self.lengths, &self.readings)
    }

    /// Adds what rows say to the totals of their groups, where each row is a unit. One partial result after the other, so that what it is
    /// made of is looked up once.
    pub(crate) fn fold_rows(&self, groups: &[usize], addends: &[Addend], totals: &mut [i64]) {
        if groups.is_empty() {
            return;
        }
        let width = self.numbers();
        for (place, reading) in self.readings.iter().enumerate() {
            let totals = &mut totals[place..];
            match *reading {
                Reading::One => add_each(totals, width, groups, |_| 1),
                Reading::AtMost { count, most } => match &addends[count] {
                    Addend::One => add_each(totals, width, groups, |_| 1),
                    other => add_each(totals, width, groups, |row| other.of(row).min(most)),
                },
                // One value is never more than count.
                Reading::Clamped { sum, low, high, .. } | Reading::Scaled { sum, low, high, .. } => {
                    match &addends[sum] {
                        Addend::Value(values) => {
                            add_each(totals, width, groups, |row| values[row].clamp(low, high));
                        }
                        Addend::Nullable(values, nulls) => {
                            add_each(totals, width, groups, |row| match nulls.is_valid(row) {
                                true => values[row].clamp(low, high),
                                false => 0,
                            });
                        }
                        // The sum of an argument is one of the two above.
                        other => add_each(totals, width, groups, |row| other.of(row).clamp(low, high)),
                    }
                }
            }
        }
    }

    /// The registers as aggregates over a unit's rows in a group, named `register0…`.
    pub(crate) fn aggregates(&self) -> Vec<Expr> {
        let aggregate = |(place, register): (usize, &Register)| {
            match *register {
                Register::Rows => count(lit(1i64)),
                Register::Present(argument) => count(col(argument_name(argument))),
                Register::Sum(argument) => sum(col(argument_name(argument))),
            }
            .alias(register_name(place))
        };
        self.list.iter().enumerate().map(aggregate).collect()
    }

    /// What one unit adds to each partial result of a group, from the columns `register0…`. NULL adds nothing.
    pub(crate) fn contributions(&self) -> Result<Vec<Expr>> {
        self.readings.iter().map(Reading::expression).collect()
    }

    /// What a batch of rows adds to the registers, row by row.
    pub(crate) fn of_rows(&self, batch: &RecordBatch, arguments_from: usize) -> Result<Vec<Addend>> {
        let column = |argument: usize| batch.column(arguments_from + argument);
        Ok(self
            .list
            .iter()
            .map(|register| match *register {
                Register::Rows => Addend::One,
                Register::Present(argument) => match column(argument).nulls() {
                    Some(nulls) if nulls.null_count() > 0 => Addend::Valid(nulls.clone()),
                    _ => Addend::One,
                },
                Register::Sum(argument) => Addend::new(column(argument).as_primitive::<Int64Type>()),
            })
            .collect())
    }

    /// What a batch of states adds: the registers themselves.
    pub(crate) fn of_states(&self, batch: &RecordBatch, registers_from: usize) -> Vec<Addend> {
        (0..self.len())
            .map(|place| Addend::new(batch.column(registers_from + place).as_primitive::<Int64Type>()))
            .collect()
    }
}

impl Reading {
    pub(crate) fn new(partial: &Partial, place: &mut Place<'_>) -> Self {
        match *partial {
            Partial::Units => Self::One,
            Partial::Rows { most } => Self::AtMost {
                count: place(Register::Rows),
                most,
            },
            Partial::Present { argument, most } => Self::AtMost {
                count: place(Register::Present(argument)),
                most,
            },
            Partial::Sum { argument, low, high } => Self::Clamped {
                sum: place(Register::Sum(argument)),
                // Without a value the sum is zero, which only a range without zero tells from a unit without values.
                present: (low > 0 || high < 0).then(|| place(Register::Present(argument))),
                low,
                high,
            },
            Partial::Mean {
                argument,
                most,
                low,
                high,
            } => Self::Scaled {
                sum: place(Register::Sum(argument)),
                present: place(Register::Present(argument)),
                most,
                low,
                high,
            },
        }
    }

    #[inline]
    pub(crate) fn of(self, registers: &[i64]) -> i64 {
        match self {
            Self::One => 1,
            Self::AtMost { count, most } => registers[count].min(most),
            Self::Clamped {
                sum,
                present,
                low,
                high,
            } => match present {
                Some(present) if registers[present] == 0 => 0,
                _ => registers[sum].clamp(low, high),
            },
            Self::Scaled {
                sum,
                present,
                most,
                low,
                high,
            } => match (registers[present], registers[sum]) {
                (0, _) => 0,
                (rows, sum) if rows > most => {
                    let scaled = (sum as f64 * (most as f64 / rows as f64)).floor();
                    (scaled.clamp(LOWEST, HIGHEST) as i64).clamp(low, high)
                }
                (_, sum) => sum.clamp(low, high),
            },
        }
    }

    /// The same from the columns `register0…`. NULL adds nothing.
    pub(crate) fn expression(&self) -> Result<Expr> {
        let register = |place: usize| col(register_name(place));
        match *self {
            Self::One => Ok(lit(1i64)),
            Self::AtMost { count, most } => {
                when(register(count).gt(lit(most)), lit(most)).otherwise(register(count))
            }
            // The sum of no values is NULL.
            Self::Clamped { sum, low, high, .. } => clamped(register(sum), low, high),
            Self::Scaled {
                sum,
                present,
                most,
                low,
                high,
            } => ScaledSum {
                sum: register(sum),
                present: register(present),
                most,
                low,
                high,
            }
            .expression(),
        }
    }
}

/// What a unit adds to a sum for a mean ([`Partial::Mean`]), as an expression of two registers.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaledSum {
    /// The sum of its values.
    pub sum: Expr,
    /// How many there are.
    pub present: Expr,
    /// So many count.
    pub most: i64,
    /// The least it adds.
    pub low: i64,
    /// The most it adds.
    pub high: i64,
}

impl ScaledSum {
    /// With built-in functions alone: the sum, scaled by `most`/n and floored where n > `most`, then clamped; NULL where there are no values.
    fn expression(&self) -> Result<Expr> {
        let float = |register: &Expr| cast(register.clone(), DataType::Float64);
        let scaled = floor(float(&self.sum) * (lit(self.most as f64) / float(&self.present)));
        // Within what a cast can hold, so that it cannot fail wherever it is evaluated.
        let held = least(vec![greatest(vec![scaled, lit(LOWEST)]), lit(HIGHEST)]);
        let more = self.present.clone().gt(lit(self.most));
        let whole = when(more, cast(held, DataType::Int64)).otherwise(self.sum.clone())?;
        let some = self.present.clone().gt(lit(0i64));
        when(some, clamped(whole, self.low, self.high)?).otherwise(null_integer())
    }

    /// Reads such an expression back, for who writes a plan in another language. What is read says the same expression again, or it is none.
    pub fn of(expression: &Expr) -> Option<Self> {
        type Branch = (Box<Expr>, Box<Expr>);
        fn case(expr: &Expr) -> Option<(&[Branch], &Expr)> {
            match expr {
                Expr::Case(case) => Some((&case.when_then_expr, case.else_expr.as_deref()?)),
                _ => None,
            }
        }
        fn sides(expr: &Expr) -> Option<(&Expr, &Expr)> {
            match expr {
                Expr::BinaryExpr(binary) => Some((&binary.left, &binary.right)),
                _ => None,
            }
        }
        fn integer(expr: &Expr) -> Option<i64> {
            match expr {
                Expr::Literal(ScalarValue::Int64(value), _) => *value,
                _ => None,
            }
        }
        let ([(some, inside)], _) = case(expression)? else {
            return None;
        };
        let ([(_, low), (_, high)], whole) = case(inside)? else {
            return None;
        };
        let ([(more, _)], sum) = case(whole)? else {
            return None;
        };
        let found = Self {
            sum: sum.clone(),
            present: sides(some)?.0.clone(),
            most: integer(sides(more)?.1)?,
            low: integer(low)?,
            high: integer(high)?,
        };
        (found.expression().ok()? == *expression).then_some(found)
    }
}

/// Adds a number for each row to every `width`-th total, by the row's group.
#[inline]
fn add_each(totals: &mut [i64], width: usize, groups: &[usize], of: impl Fn(usize) -> i64) {
    for (row, group) in groups.iter().enumerate() {
        let total = &mut totals[group * width];
        *total = total.wrapping_add(of(row));
    }
}

/// An integer cut to a range; NULL stays NULL.
pub(crate) fn clamped(value: Expr, low: i64, high: i64) -> Result<Expr> {
    when(value.clone().lt(lit(low)), lit(low))
        .when(value.clone().gt(lit(high)), lit(high))
        .otherwise(value)
}

pub(crate) fn register_name(place: usize) -> String {
    format!("register{place}")
}

pub(crate) fn argument_name(place: usize) -> String {
    format!("argument{place}")
}

/// What the rows of a batch add to one register.
pub(crate) enum Addend {
    One,
    Valid(NullBuffer),
    Value(ScalarBuffer<i64>),
    Nullable(ScalarBuffer<i64>, NullBuffer),
}

impl Addend {
    fn new(values: &Int64Array) -> Self {
        match values.nulls() {
            Some(nulls) if nulls.null_count() > 0 => Self::Nullable(values.values().clone(), nulls.clone()),
            _ => Self::Value(values.values().clone()),
        }
    }

    /// What these rows add, put into as many places.
    pub(crate) fn put<'a>(&self, rows: &[u32], places: impl Iterator<Item = &'a mut i64>) {
        // What it is made of is looked up once.
        let rows = rows.iter().map(|row| *row as usize).zip(places);
        match self {
            Self::Value(values) => rows.for_each(|(row, place)| *place = values[row]),
            other => rows.for_each(|(row, place)| *place = other.of(row)),
        }
    }

    /// What this row adds.
    #[inline]
    pub(crate) fn of(&self, row: usize) -> i64 {
        match self {
            Self::One => 1,
            Self::Valid(nulls) => i64::from(nulls.is_valid(row)),
            Self::Value(values) => values[row],
            Self::Nullable(values, nulls) => {
                if nulls.is_valid(row) {
                    values[row]
                } else {
                    0
                }
            }
        }
    }
}
