//! Linear programs in exact arithmetic.
//!
//! The tableau writes each basic variable as a combination of the others, with integer coefficients over one
//! denominator a row: dᵢ·xᵢ = Σⱼ aᵢⱼ·xⱼ + cᵢ. Nonbasic variables sit at one of their bounds, which are
//! integers, so dᵢ·xᵢ is an integer too and nothing is ever rounded. Margins of a table of counts keep the
//! numbers small: most pivots are ±1. If a number does not fit in 64 bits, [`Overflow`] says so, and what was
//! proved before stands.
//!
//! There is one way to move: from a point within all bounds, [`Simplex::optimize`] walks along edges to the
//! largest or smallest value of one variable (the primal simplex method with bounds, where the variable's own
//! row is the objective). A first point is found in the same way. With all cells zero, no sum is too large;
//! [`Simplex::confine`] then raises one sum after the other to what it must be.

/// A coefficient no longer fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overflow;

/// A system of linear equations over bounded integer variables.
#[derive(Clone)]
pub(super) struct Simplex {
    bounds: Vec<(i64, i64)>,
    place: Vec<Place>,
    basic: Vec<Row>,
    nonbasic: Vec<Column>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Row(usize),
    Column(usize),
    /// A nonbasic variable that cannot move: its value is part of the constants.
    Fixed(i64),
}

/// One basic variable: denominator · variable = Σ coefficients · nonbasic + constant.
#[derive(Clone)]
struct Row {
    variable: usize,
    denominator: i64,
    coefficients: Vec<i64>,
    constant: i64,
    /// denominator · value, at the present values of the nonbasic variables.
    scaled: i64,
}

#[derive(Clone, Copy)]
struct Column {
    variable: usize,
    value: i64,
}

/// After this many steps without progress, choices follow Bland's rule, which cannot cycle.
const PATIENCE: usize = 50;

impl Simplex {
    /// Variables 0..bounds.len(), of which the last `sums.len()` are the sums of the others that `sums`
    /// lists.
    pub(super) fn new(bounds: Vec<(i64, i64)>, sums: &[Vec<usize>]) -> Result<Self, Overflow> {
        let cells = bounds.len() - sums.len();
        let nonbasic: Vec<Column> = (0..cells)
            .map(|variable| Column {
                variable,
                value: bounds[variable].0,
            })
            .collect();
        let mut simplex = Self {
            place: (0..cells)
                .map(Place::Column)
                .chain((0..sums.len()).map(Place::Row))
                .collect(),
            basic: Vec::with_capacity(sums.len()),
            nonbasic,
            bounds,
        };
        for (number, members) in sums.iter().enumerate() {
            let mut coefficients = vec![0; cells];
            for &member in members {
                coefficients[member] = 1;
            }
            let mut row = Row {
                variable: cells + number,
                denominator: 1,
                coefficients,
                constant: 0,
                scaled: 0,
            };
            row.evaluate(&simplex.nonbasic)?;
            simplex.basic.push(row);
        }
        Ok(simplex)
    }

    /// Twofold: the variable's value times the denominator, and the denominator.
    pub(super) fn value(&self, variable: usize) -> (i64, i64) {
        match self.place[variable] {
            Place::Row(row) => (self.basic[row].scaled, self.basic[row].denominator),
            Place::Column(column) => (self.nonbasic[column].value, 1),
            Place::Fixed(value) => (value, 1),
        }
    }

    /// A variable's least and greatest value.
    pub(super) fn bounds(&self, variable: usize) -> (i64, i64) {
        self.bounds[variable]
    }

    /// A variable whose value is no integer, the integer below it, and whether the one above is closer. The
    /// first there is, which is good for proofs; or the one closest to an integer (`closest`), which is good
    /// for finding a whole point if there are many.
    pub(super) fn fraction(&self, closest: bool) -> Option<(usize, i64, bool)> {
        let mut broken = self
            .basic
            .iter()
            .filter(|row| row.denominator != 1 && row.scaled % row.denominator != 0);
        let distance = |row: &&Row| {
            let above = row.scaled.rem_euclid(row.denominator);
            above.min(row.denominator - above) as f64 / row.denominator as f64
        };
        let row = if closest {
            broken.min_by(|one, other| distance(one).total_cmp(&distance(other)))
        } else {
            broken.next()
        }?;
        let above = row.scaled.rem_euclid(row.denominator);
        Some((
            row.variable,
            row.scaled.div_euclid(row.denominator),
            above > row.denominator - above,
        ))
    }

    /// Whether all values are integers.
    pub(super) fn is_whole(&self) -> bool {
        self.basic
            .iter()
            .all(|row| row.denominator == 1 || row.scaled % row.denominator == 0)
    }

    /// From a point within all bounds, walks to one where the variable lies between tighter bounds, which are
    /// its own from then on. Otherwise there is none, and the variable's own row says why.
    pub(super) fn confine(
        &mut self,
        variable: usize,
        (low, high): (i64, i64),
        seen: impl FnMut(&Self),
    ) -> Result<bool, Overflow> {
        let (scaled, denominator) = self.value(variable);
        let below = scaled < times(low, denominator)?;
        let above = scaled > times(high, denominator)?;
        if below || above {
            // The walk ends at the first point that will do.
            let bounds = &mut self.bounds[variable];
            *bounds = if below { (bounds.0, low) } else { (high, bounds.1) };
            self.optimize(variable, below, seen)?;
            let (scaled, denominator) = self.value(variable);
            if scaled != times(if below { low } else { high }, denominator)? {
                return Ok(false);
            }
        }
        self.bounds[variable] = (low, high);
        Ok(true)
    }

    /// The variables whose bounds keep this one from moving further, itself included.
    pub(super) fn holders(&self, variable: usize) -> Vec<usize> {
        let mut holders = vec![variable];
        if let Place::Row(row) = self.place[variable] {
            let held = self.basic[row].coefficients.iter().zip(&self.nonbasic);
            holders.extend(
                held.filter(|(coefficient, _)| **coefficient != 0)
                    .map(|(_, column)| column.variable),
            );
        }
        holders
    }

    /// From a point within all bounds, walks to one where the variable is largest (`up`) or smallest. `seen`
    /// is shown every point on the way.
    pub(super) fn optimize(
        &mut self,
        variable: usize,
        up: bool,
        mut seen: impl FnMut(&Self),
    ) -> Result<(), Overflow> {
        let mut idle = 0;
        loop {
            let bland = idle > PATIENCE;
            let entering = match self.place[variable] {
                Place::Fixed(_) => return Ok(()),
                Place::Column(column) => self.can_move(column, up).then_some((column, up)),
                Place::Row(row) => {
                    let candidates = self.basic[row]
                        .coefficients
                        .iter()
                        .enumerate()
                        .filter(|(_, coefficient)| **coefficient != 0)
                        .map(|(column, coefficient)| {
                            (column, (*coefficient > 0) == up, coefficient.unsigned_abs())
                        })
                        .filter(|(column, direction, _)| self.can_move(*column, *direction));
                    let best = if bland {
                        candidates.min_by_key(|(column, ..)| self.nonbasic[*column].variable)
                    } else {
                        candidates.max_by_key(|(column, _, rate)| {
                            (*rate, std::cmp::Reverse(self.nonbasic[*column].variable))
                        })
                    };
                    best.map(|(column, direction, _)| (column, direction))
                }
            };
            let Some((entering, direction)) = entering else {
                return Ok(());
            };
            let moved = self.step(entering, direction, bland)?;
            idle = if moved { 0 } else { idle + 1 };
            seen(self);
        }
    }

    /// Moves a nonbasic variable as far as all bounds allow; whether it moved at all.
    fn step(&mut self, entering: usize, direction: bool, bland: bool) -> Result<bool, Overflow> {
        let column = self.nonbasic[entering];
        let (low, high) = self.bounds[column.variable];
        let own = if direction {
            high - column.value
        } else {
            column.value - low
        };
        // The smallest ratio of room to rate, as (room, rate): the room of a row is what its scaled value is
        // from its bound.
        let mut least = (own, 1i64);
        let mut leaving: Option<(usize, i64)> = None;
        for (place, row) in self.basic.iter().enumerate() {
            let coefficient = row.coefficients[entering];
            if coefficient == 0 {
                continue;
            }
            let (low, high) = self.bounds[row.variable];
            let (room, bound) = if (coefficient > 0) == direction {
                (times(high, row.denominator)? - row.scaled, high)
            } else {
                (row.scaled - times(low, row.denominator)?, low)
            };
            let rate = coefficient.abs();
            let (left, right) = (
                i128::from(room) * i128::from(least.1),
                i128::from(least.0) * i128::from(rate),
            );
            let better = left < right
                || left == right
                    && leaving.is_some_and(|(other, _)| {
                        let other = &self.basic[other];
                        let unit = |row: &Row| row.coefficients[entering].abs() != row.denominator;
                        if bland {
                            row.variable < other.variable
                        } else {
                            (unit(row), row.variable) < (unit(other), other.variable)
                        }
                    });
            if better {
                least = (room, rate);
                leaving = Some((place, bound));
            }
        }
        match leaving {
            Some((row, bound)) => self.pivot(row, entering, bound)?,
            None => self.shift(entering, if direction { high } else { low })?,
        }
        Ok(least.0 != 0)
    }

    fn can_move(&self, column: usize, up: bool) -> bool {
        let Column { variable, value } = self.nonbasic[column];
        let (low, high) = self.bounds[variable];
        if up { value < high } else { value > low }
    }

    /// Sets a nonbasic variable.
    fn shift(&mut self, column: usize, value: i64) -> Result<(), Overflow> {
        let change = value - self.nonbasic[column].value;
        self.nonbasic[column].value = value;
        for row in &mut self.basic {
            if row.coefficients[column] != 0 {
                row.scaled = plus(row.scaled, times(row.coefficients[column], change)?)?;
            }
        }
        Ok(())
    }

    /// Exchanges a basic and a nonbasic variable, and leaves the former at `bound`.
    fn pivot(&mut self, leaving: usize, entering: usize, bound: i64) -> Result<(), Overflow> {
        let mut pivot = self.basic.swap_remove(leaving);
        if let Some(moved) = self.basic.get(leaving) {
            self.place[moved.variable] = Place::Row(leaving);
        }
        let left = pivot.variable;
        // d·x = p·y + rest becomes |p|·y = ±(d·x − rest).
        let coefficient = pivot.coefficients[entering];
        let sign = coefficient.signum();
        for other in &mut pivot.coefficients {
            *other *= -sign;
        }
        pivot.constant *= -sign;
        pivot.coefficients[entering] = sign * pivot.denominator;
        pivot.denominator = coefficient.abs();
        pivot.variable = self.nonbasic[entering].variable;
        pivot.scaled = 0;
        pivot.reduce();
        let entered = self.nonbasic[entering].value;
        self.nonbasic[entering] = Column {
            variable: left,
            value: bound,
        };
        self.place[left] = Place::Column(entering);
        pivot.evaluate(&self.nonbasic)?;
        let nonzero: Vec<(usize, i64)> = pivot
            .coefficients
            .iter()
            .copied()
            .enumerate()
            .filter(|(_, coefficient)| *coefficient != 0)
            .collect();
        for row in &mut self.basic {
            if row.coefficients[entering] != 0 {
                row.substitute(entering, entered, &pivot, &nonzero)?;
            }
        }
        self.place[pivot.variable] = Place::Row(self.basic.len());
        self.basic.push(pivot);
        Ok(())
    }

    /// Takes the variables that can never move out of the tableau, which makes every later step cheaper.
    pub(super) fn drop_fixed(&mut self) -> Result<(), Overflow> {
        for column in (0..self.nonbasic.len()).rev() {
            let (low, high) = self.bounds[self.nonbasic[column].variable];
            if low == high {
                self.freeze(column)?;
            }
        }
        Ok(())
    }

    fn freeze(&mut self, column: usize) -> Result<(), Overflow> {
        let Column { variable, value } = self.nonbasic.swap_remove(column);
        self.place[variable] = Place::Fixed(value);
        if let Some(moved) = self.nonbasic.get(column) {
            self.place[moved.variable] = Place::Column(column);
        }
        for row in &mut self.basic {
            let coefficient = row.coefficients.swap_remove(column);
            row.constant = plus(row.constant, times(coefficient, value)?)?;
        }
        Ok(())
    }
}

impl Row {
    fn evaluate(&mut self, nonbasic: &[Column]) -> Result<(), Overflow> {
        let mut total = i128::from(self.constant);
        for (coefficient, column) in self.coefficients.iter().zip(nonbasic) {
            if *coefficient != 0 {
                total += i128::from(*coefficient) * i128::from(column.value);
            }
        }
        self.scaled = i64::try_from(total).map_err(|_| Overflow)?;
        Ok(())
    }

    /// Puts the pivot row in place of its variable y, whose value was `entered`: d·x = c·y + rest and q·y =
    /// other give q·d·x = c·other + q·rest. Both sides lose the common divisor of c and q first.
    fn substitute(
        &mut self,
        column: usize,
        entered: i64,
        pivot: &Row,
        nonzero: &[(usize, i64)],
    ) -> Result<(), Overflow> {
        let coefficient = self.coefficients[column];
        let rest = plus(self.scaled, times(-coefficient, entered)?)?;
        let common = gcd(coefficient, pivot.denominator);
        let (coefficient, scale) = (coefficient / common, pivot.denominator / common);
        self.coefficients[column] = 0;
        if scale != 1 {
            for own in self.coefficients.iter_mut().filter(|own| **own != 0) {
                *own = times(*own, scale)?;
            }
        }
        for (place, other) in nonzero {
            let own = &mut self.coefficients[*place];
            *own = plus(*own, times(coefficient, *other)?)?;
        }
        self.constant = plus(times(self.constant, scale)?, times(coefficient, pivot.constant)?)?;
        self.scaled = plus(times(rest, scale)?, times(coefficient, pivot.scaled)?)?;
        self.denominator = times(self.denominator, scale)?;
        self.reduce();
        Ok(())
    }

    /// Divides by what all numbers of the row have in common; the value is a combination of the others.
    fn reduce(&mut self) {
        if self.denominator == 1 {
            return;
        }
        let mut common = gcd(self.denominator, self.constant);
        for coefficient in &self.coefficients {
            if common == 1 {
                return;
            }
            common = gcd(common, *coefficient);
        }
        self.denominator /= common;
        self.constant /= common;
        self.scaled /= common;
        for coefficient in &mut self.coefficients {
            *coefficient /= common;
        }
    }
}

fn times(one: i64, other: i64) -> Result<i64, Overflow> {
    one.checked_mul(other).ok_or(Overflow)
}

fn plus(one: i64, other: i64) -> Result<i64, Overflow> {
    one.checked_add(other).ok_or(Overflow)
}

/// The greatest common divisor, which is positive; of zero and x it is |x|.
fn gcd(one: i64, other: i64) -> i64 {
    let (mut one, mut other) = (one.unsigned_abs(), other.unsigned_abs());
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one as i64
}
