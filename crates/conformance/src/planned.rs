//! Many tables at once: the residual of one attribute of two values, which is one difference of two noisy counts.
//!
//! It is where dropping what both counts have in common shows most: the distribution of the difference is that of two rounded Gaussians, convolved.

use crate::noise::rounded_tail;
use crate::subject::{Plan, Subject};
use crate::{Error, explained};
use accounting::{Delta, Epsilon, Neighbors, Promise, Rho};
use audit::black_box::Feature;
use audit::exact_audit::Finite;
use audit::report::Claim;
use exact::{Interval, Rational, power_of_two, ratio};
use mechanism::{Cells, PlannedPart, PlannedSet, PlannedTables};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Differences reach from −END to END; all beyond counts with the ends.
const END: i64 = 40;
/// Beyond this a single noise is all or nothing: some ten deviations.
const BEYOND: i64 = 60;
/// Tails are asked for up to this: both, and what data moves.
const REACH: i64 = END + BEYOND + 10;
/// Counts are multiplied by 2^SHIFT.
const SHIFT: u32 = 1;
/// A variance is a whole number of 4^-6.
const FINENESS: i32 = 6;

/// P[round(Z) ≥ k] for k from −REACH to REACH.
type Tails = Arc<Vec<Interval>>;

/// Counts of two values, of which a person has one row.
#[derive(Clone, Default)]
pub(crate) struct Planned {
    tails: Arc<Mutex<BTreeMap<(Rational, u32), Tails>>>,
}

impl Planned {
    /// Of this variance, at this precision. Both sides of every pair ask for the same.
    fn tails(&self, variance: &Rational, bits: u32) -> Tails {
        let mut known = self.tails.lock().expect("no thread panicked");
        let tails = known.entry((variance.clone(), bits)).or_insert_with(|| {
            let one = Interval::from_integer(1, bits);
            let above: Vec<Interval> = (1..=REACH + 1).map(|k| rounded_tail(variance, k, bits)).collect();
            // P[round(Z) ≥ −k] = 1 − P[round(Z) ≥ k + 1].
            let below = (0..=REACH).rev().map(|k| one.sub(&above[k as usize]));
            Arc::new(below.chain(above[..REACH as usize].iter().cloned()).collect())
        });
        Arc::clone(tails)
    }
}

/// So much noise that a mutant with six tenths of it is still fine enough for its plan to be made.
fn promise() -> Result<Promise, Error> {
    Ok(Promise::Approximate(
        Epsilon::parse("0.4").map_err(explained)?,
        Delta::parse("0.005").map_err(explained)?,
    ))
}

impl Subject for Planned {
    const NAME: &'static str = "PlannedTables";
    const NEIGHBORS: Neighbors = Neighbors::AddRemove;
    type Data = [usize; 2];
    type Input = Cells;
    type Output = Vec<Vec<i64>>;
    type Mechanism = PlannedTables;

    fn claim(&self) -> Result<Claim, Error> {
        Ok(Claim::new(ratio(2, 5), ratio(1, 200)))
    }

    fn build(&self, stretch: &Rational) -> Result<PlannedTables, Error> {
        let needed = PlannedTables::squared_multiplier(&promise()?).map_err(explained)?;
        let needed = needed.ok_or_else(|| Error::new("a promise of Gaussian noise"))?;
        // A row moves half of a difference: its square is 1 − ½. What the proof adds is below one part in 2^39.
        let variance = needed * ratio(1, 2) * (Rational::ONE + power_of_two(-39)) / (stretch * stretch);
        let mantissa = (variance * power_of_two(2 * FINENESS)).ceil();
        let set = PlannedSet {
            parts: vec![(0, 0)],
            mantissa: u64::try_from(mantissa).map_err(|_| Error::new("too much noise"))?,
            exponent: -FINENESS,
            shift: SHIFT,
        };
        let promise = if *stretch == Rational::ONE {
            promise()?
        } else {
            let loss = ratio(1, 2) / set.variance();
            Promise::Concentrated(Rho::rounded_up(&loss).map_err(explained)?)
        };
        let pair = PlannedPart::Differences {
            cells: vec![0, 1],
            groups: vec![0, 0],
        };
        PlannedTables::gaussian(promise, vec![vec![pair]], vec![set], 1, Neighbors::AddRemove)
            .map_err(explained)
    }

    fn input(&self, data: &[usize; 2]) -> Cells {
        let mut column = vec![0; data[0]];
        column.extend(vec![1; data[1]]);
        Cells::of_rows(vec![column])
    }

    fn pairs(&self) -> Vec<[[usize; 2]; 2]> {
        vec![[[0, 0], [0, 1]], [[3, 2], [2, 2]]]
    }

    fn drawn(&self) -> [[usize; 2]; 2] {
        [[0, 0], [0, 1]]
    }

    fn features(&self) -> Vec<Feature<Vec<Vec<i64>>>> {
        vec![Feature::ordered("difference", |output: &Vec<Vec<i64>>| {
            output[0][0]
        })]
    }

    /// P[moved + W₁ − W₀ ≥ k] = Σ_w P[W₀ = w]·P[W₁ ≥ k − moved + w].
    fn cells(&self, mechanism: &PlannedTables, data: &[usize; 2]) -> Result<Finite, Error> {
        let variance = mechanism.sets()[0].variance() * power_of_two(2 * SHIFT as i32);
        let moved = (data[1] as i64 - data[0] as i64) << SHIFT;
        let subject = self.clone();
        let recipe = move |bits: u32| {
            let work = bits + 16;
            let tails = subject.tails(&variance, work);
            let tail = |k: i64| &tails[(k + REACH) as usize];
            let masses: Vec<Interval> = (-BEYOND..=BEYOND).map(|w| tail(w).sub(tail(w + 1))).collect();
            let (zero, one) = (Interval::from_integer(0, work), Interval::from_integer(1, work));
            // What is beyond is between zero and the mass that is there.
            let beyond = zero.hull(&tail(BEYOND + 1).add(tail(BEYOND + 1)));
            let at_least = |k: i64| {
                let terms = (-BEYOND..=BEYOND).zip(&masses);
                let terms = terms.map(|(w, mass)| mass.mul(tail(k - moved + w)));
                terms.fold(beyond.clone(), |sum, term| sum.add(&term))
            };
            let mut sums = vec![one];
            sums.extend((1 - END..=END).map(at_least));
            sums.push(zero.clone());
            sums.windows(2)
                .map(|pair| pair[0].sub(&pair[1]).max(&zero).with_bits(bits))
                .collect()
        };
        Finite::from_recipe((2 * END + 1) as usize, recipe).map_err(explained)
    }

    fn cell(&self, _: &PlannedTables, output: &Vec<Vec<i64>>) -> usize {
        (output[0][0].clamp(-END, END) + END) as usize
    }

    fn plan(&self) -> Plan {
        Plan {
            exact_lack: 5,
            drawn_lack: [40, 10],
            draws: [60_000, 1_000_000],
            fitted: [50_000, 500_000],
        }
    }
}
