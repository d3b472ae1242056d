//! Distributions with finitely many outcomes.

use super::real::{from_zero, magnification, positive_part};
use super::table::Table;
use super::{Direction, Gap, Real, Supremum};
use crate::Error;
use exact::{Integer, Interval, Natural, Rational};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// A common denominator of masses has at most this many bits.
const DENOMINATOR_BITS: usize = 8192;

type Recipe = Arc<dyn Fn(u32) -> Vec<Interval> + Send + Sync>;

/// Masses `counts[i] / whole`.
#[derive(Clone)]
struct Shares {
    counts: Vec<Integer>,
    whole: Natural,
}

#[derive(Clone)]
enum Masses {
    Exact(Shares),
    Computed(usize, Recipe),
}

impl Shares {
    /// All of it in one outcome.
    fn constant() -> Self {
        Self {
            counts: vec![Integer::ONE],
            whole: Natural::ONE,
        }
    }

    /// Over a common denominator, or that there is none of a size to compute with.
    fn new(masses: &[Rational]) -> Result<Self, Error> {
        let mut whole = Natural::ONE;
        for mass in masses {
            whole = least_common_multiple(&whole, mass.denominator());
            if whole > Natural::ONE << DENOMINATOR_BITS {
                return Err(Error::DenominatorTooLarge {
                    bits: DENOMINATOR_BITS,
                });
            }
        }
        let count = |mass: &Rational| mass.numerator() * Integer::from(&whole / mass.denominator());
        Ok(Self {
            counts: masses.iter().map(count).collect(),
            whole,
        })
    }

    /// The same masses over a multiple of the denominator.
    fn over(&self, whole: &Natural) -> Vec<Integer> {
        let factor = Integer::from(whole / &self.whole);
        self.counts.iter().map(|count| count * &factor).collect()
    }

    fn enclose(&self, bits: u32) -> Vec<Interval> {
        let whole = Integer::from(self.whole.clone());
        let mass = |count: &Integer| Interval::from_integer(count.clone(), bits).div_integer(&whole);
        self.counts.iter().map(mass).collect()
    }
}

fn least_common_multiple(a: &Natural, b: &Natural) -> Natural {
    if a == b {
        return a.clone();
    }
    // a/b in lowest terms has the part of b that a lacks as its denominator.
    a * Rational::from_parts(Integer::from(a.clone()), b.clone()).denominator()
}

/// A distribution over outcomes `0 .. outcomes()`. Two distributions are compared index by index.
#[derive(Clone)]
pub struct Finite {
    masses: Masses,
    /// When masses are in proportion to e^exponent, the exponents: between distributions with the same
    /// normalizing sum they tell ratios exactly.
    exponents: Option<Vec<Rational>>,
}

impl Finite {
    /// Rational masses, which must add up to exactly one and have a common denominator below 2^8192.
    pub fn from_rationals(masses: Vec<Rational>) -> Result<Self, Error> {
        if masses.iter().any(|mass| *mass < Rational::ZERO) {
            return Err(Error::NotADistribution {
                reason: "a mass is negative",
            });
        }
        let shares = Shares::new(&masses)?;
        let total = shares.counts.iter().fold(Integer::ZERO, |sum, count| sum + count);
        if total != Integer::from(shares.whole.clone()) {
            return Err(Error::NotADistribution {
                reason: "the masses do not add up to 1",
            });
        }
        Ok(Self {
            masses: Masses::Exact(shares),
            exponents: None,
        })
    }

    /// Masses in proportion to weights, at least one of which is positive.
    pub fn from_weights(weights: Vec<Real>) -> Result<Self, Error> {
        let exact: Option<Vec<Rational>> = weights
            .iter()
            .map(|weight| {
                if let Real::Exact(value) = weight {
                    Some(value.clone())
                } else {
                    None
                }
            })
            .collect();
        if let Some(values) = exact {
            let total = values.iter().fold(Rational::ZERO, |sum, value| sum + value);
            if total <= Rational::ZERO {
                return Err(Error::NotADistribution {
                    reason: "no weight is positive",
                });
            }
            return Self::from_rationals(values.into_iter().map(|value| value / &total).collect());
        }
        Self::from_computed_weights(weights.len(), move |work| {
            weights.iter().map(|weight| weight.enclose(work)).collect()
        })
    }

    /// Masses in proportion to weights that are enclosed on demand.
    fn from_computed_weights(
        outcomes: usize,
        weights: impl Fn(u32) -> Vec<Interval> + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        Self::from_recipe(outcomes, move |bits| {
            let work = bits + 16;
            let values = weights(work);
            let total = values
                .iter()
                .fold(Interval::from_integer(0, work), |sum, value| sum.add(value));
            let one = Interval::from_integer(1, work);
            let unknown = from_zero(&one);
            values
                .iter()
                .map(|value| {
                    value
                        .div(&total)
                        .unwrap_or_else(|| unknown.clone())
                        .min(&one)
                        .with_bits(bits)
                })
                .collect()
        })
    }

    /// Masses in proportion to `e^exponent`: the exponential mechanism, or randomized response with exponents
    /// 0 and ε.
    pub fn from_exponents(exponents: &[Rational]) -> Result<Self, Error> {
        // Only differences matter, and e^(w − largest) ≤ 1 is a number one can hold.
        let largest = exponents.iter().max().ok_or(Error::NotADistribution {
            reason: "there is no outcome",
        })?;
        let differences: Vec<Rational> = exponents.iter().map(|exponent| exponent - largest).collect();
        let distribution = Self::from_computed_weights(exponents.len(), move |work| {
            // Many are often alike, as in randomized response.
            let mut known: BTreeMap<&Rational, Interval> = BTreeMap::new();
            let mut weight = |exponent| {
                known
                    .entry(exponent)
                    .or_insert_with(|| Interval::exp_of(exponent, work))
                    .clone()
            };
            differences.iter().map(&mut weight).collect()
        })?;
        Ok(Self {
            exponents: Some(exponents.to_vec()),
            ..distribution
        })
    }

    /// Masses that are enclosed on demand: `recipe(bits)` gives one enclosure for each of the outcomes. An
    /// outcome of mass zero must be enclosed by exactly zero.
    pub fn from_recipe(
        outcomes: usize,
        recipe: impl Fn(u32) -> Vec<Interval> + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let distribution = Self {
            masses: Masses::Computed(outcomes, Arc::new(recipe)),
            exponents: None,
        };
        let sample = distribution.enclose(128);
        if sample.len() != outcomes {
            return Err(Error::DifferentOutcomes {
                left: outcomes,
                right: sample.len(),
            });
        }
        if sample.iter().any(|mass| *mass.hi() < Integer::ZERO) {
            return Err(Error::NotADistribution {
                reason: "a mass is negative",
            });
        }
        let total = sample
            .iter()
            .fold(Interval::from_integer(0, 128), |sum, mass| sum.add(mass));
        if !total.contains(&Rational::ONE) {
            return Err(Error::NotADistribution {
                reason: "the masses do not add up to 1",
            });
        }
        Ok(distribution)
    }

    /// How many outcomes there are.
    pub fn outcomes(&self) -> usize {
        match &self.masses {
            Masses::Exact(shares) => shares.counts.len(),
            Masses::Computed(outcomes, _) => *outcomes,
        }
    }

    /// Enclosures of all masses with `bits` fractional bits.
    pub fn enclose(&self, bits: u32) -> Vec<Interval> {
        match &self.masses {
            Masses::Exact(shares) => shares.enclose(bits),
            Masses::Computed(_, recipe) => recipe(bits).iter().map(|mass| mass.with_bits(bits)).collect(),
        }
    }

    /// Two independent releases seen together: outcome `(i, j)` becomes `i · other.outcomes() + j`.
    pub fn product(&self, other: &Finite) -> Finite {
        if let (Masses::Exact(left), Masses::Exact(right)) = (&self.masses, &other.masses) {
            let pairs = left.counts.iter();
            let counts = pairs.flat_map(|a| right.counts.iter().map(move |b| a * b));
            return Finite {
                masses: Masses::Exact(Shares {
                    counts: counts.collect(),
                    whole: &left.whole * &right.whole,
                }),
                exponents: None,
            };
        }
        let (left, right) = (self.clone(), other.clone());
        let recipe = move |bits: u32| {
            // Each factor is at most one, so a product is off by two units of the work precision at most.
            let (a, b) = (left.enclose(bits + 2), right.enclose(bits + 2));
            a.iter()
                .flat_map(|x| b.iter().map(|y| x.mul(y).with_bits(bits)))
                .collect()
        };
        Finite {
            masses: Masses::Computed(self.outcomes() * other.outcomes(), Arc::new(recipe)),
            exponents: None,
        }
    }

    /// `times` independent releases seen together; none at all is the distribution of a constant.
    pub fn power(&self, times: u32) -> Finite {
        let constant = Finite {
            masses: Masses::Exact(Shares::constant()),
            exponents: None,
        };
        (0..times).fold(constant, |product, _| product.product(self))
    }

    /// Post-processing: outcome `i` is reported as `merge(i)`, one of `outcomes` new outcomes.
    ///
    /// # Panics
    /// If `merge` gives an outcome out of range.
    pub fn map(&self, outcomes: usize, merge: impl Fn(usize) -> usize) -> Finite {
        let target: Vec<usize> = (0..self.outcomes()).map(merge).collect();
        assert!(
            target.iter().all(|&outcome| outcome < outcomes),
            "an outcome is mapped out of range"
        );
        if let Masses::Exact(shares) = &self.masses {
            let mut counts = vec![Integer::ZERO; outcomes];
            for (count, &outcome) in shares.counts.iter().zip(&target) {
                counts[outcome] += count;
            }
            return Finite {
                masses: Masses::Exact(Shares {
                    counts,
                    whole: shares.whole.clone(),
                }),
                exponents: None,
            };
        }
        let distribution = self.clone();
        let recipe = move |bits: u32| {
            let mut merged = vec![Interval::from_integer(0, bits); outcomes];
            for (mass, &outcome) in distribution.enclose(bits).iter().zip(&target) {
                merged[outcome] = merged[outcome].add(mass);
            }
            merged
        };
        Finite {
            masses: Masses::Computed(outcomes, Arc::new(recipe)),
            exponents: None,
        }
    }
}

impl fmt::Debug for Finite {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Finite({} outcomes)", self.outcomes())
    }
}

/// P against Q, outcome by outcome.
pub(crate) struct FinitePair<'a> {
    p: &'a Finite,
    q: &'a Finite,
    kept: RefCell<Option<Rc<Table>>>,
    /// ln(p/q) of each outcome, if it is known exactly.
    losses: Option<Vec<Rational>>,
    /// Both distributions over one denominator, if they are rational.
    shares: Option<SharedPair>,
}

/// Masses `p/whole` and `q/whole`.
struct SharedPair {
    counts: Vec<(Integer, Integer)>,
    whole: Integer,
}

impl SharedPair {
    fn new(p: &Shares, q: &Shares) -> Self {
        let whole = least_common_multiple(&p.whole, &q.whole);
        Self {
            counts: p.over(&whole).into_iter().zip(q.over(&whole)).collect(),
            whole: Integer::from(whole),
        }
    }

    /// P(S) − e^ε Q(S) for S = {p > e^ε q}: the counts of S are added up exactly, and e^ε is multiplied once.
    /// As e^ε Q(S) ≤ P(S) ≤ 1, it does not magnify round-off. An outcome that may be in S or not adds between
    /// 0 and the most that p exceeds.
    fn delta(&self, epsilon: &Rational, bits: u32) -> Interval {
        let work = bits + 32;
        let factor = Interval::exp_of(epsilon, work);
        let (mut ours, mut theirs, mut doubt) = (Integer::ZERO, Integer::ZERO, Integer::ZERO);
        for (p, q) in self.counts.iter().filter(|(p, q)| p > q) {
            let scaled = p << work as usize;
            if scaled > factor.hi() * q {
                ours += p;
                theirs += q;
            } else {
                let most = scaled - factor.lo() * q;
                if most > Integer::ZERO {
                    doubt += most;
                }
            }
        }
        let exceeding = Interval::from_integer(ours, work).sub(&factor.scale(&theirs));
        let doubt = Interval::from_ends(Integer::ZERO, doubt, work);
        positive_part(&exceeding)
            .add(&doubt)
            .div_integer(&self.whole)
            .with_bits(bits)
    }

    /// ln of the largest p/q where both are positive, or zero if that is below.
    fn supremum(&self, bits: u32) -> Interval {
        let shared = self.counts.iter().filter(|(p, q)| p > q && *q > Integer::ZERO);
        let largest = shared.reduce(|a, b| if &a.0 * &b.1 >= &b.0 * &a.1 { a } else { b });
        largest.map_or(Interval::from_integer(0, bits), |(p, q)| {
            Interval::ln_of(&(Rational::from(p.clone()) / Rational::from(q.clone())), bits)
        })
    }

    /// P(q = 0).
    fn gap(&self) -> Rational {
        let lonely = self.counts.iter().filter(|(_, q)| *q == Integer::ZERO);
        let sum = lonely.fold(Integer::ZERO, |sum, (p, _)| sum + p);
        Rational::from(sum) / Rational::from(self.whole.clone())
    }
}

/// When the exponents of two distributions are the same numbers in another order, their normalizing sums are
/// equal and cancel: ln(p/q) is the difference of the exponents, a rational.
fn exact_losses(p: &Finite, q: &Finite) -> Option<Vec<Rational>> {
    let (p, q) = (p.exponents.as_ref()?, q.exponents.as_ref()?);
    let sorted = |exponents: &[Rational]| {
        let mut exponents = exponents.to_vec();
        exponents.sort();
        exponents
    };
    (sorted(p) == sorted(q)).then(|| p.iter().zip(q).map(|(p, q)| p - q).collect())
}

impl<'a> FinitePair<'a> {
    pub(crate) fn new(p: &'a Finite, q: &'a Finite) -> Result<Self, Error> {
        if p.outcomes() != q.outcomes() {
            return Err(Error::DifferentOutcomes {
                left: p.outcomes(),
                right: q.outcomes(),
            });
        }
        let shares = match (&p.masses, &q.masses) {
            (Masses::Exact(p), Masses::Exact(q)) => Some(SharedPair::new(p, q)),
            _ => None,
        };
        Ok(Self {
            p,
            q,
            kept: RefCell::new(None),
            losses: exact_losses(p, q),
            shares,
        })
    }

    fn table(&self, bits: u32) -> Rc<Table> {
        let mut kept = self.kept.borrow_mut();
        match &*kept {
            Some(table) if table.bits == bits => Rc::clone(table),
            _ => {
                let pairs = self
                    .p
                    .enclose(bits)
                    .into_iter()
                    .zip(self.q.enclose(bits))
                    .collect();
                let table = Rc::new(Table {
                    pairs,
                    unseen: Interval::from_integer(0, bits),
                    bits,
                });
                *kept = Some(Rc::clone(&table));
                table
            }
        }
    }

    /// The masses, with it certain for each whether it is zero: at growing precision until it is.
    fn settled(&self, bits: u32) -> Result<Rc<Table>, Error> {
        let undecided = |mass: &Interval| *mass.lo() <= Integer::ZERO && *mass.hi() != Integer::ZERO;
        let mut work = bits;
        while work <= 8192 {
            let table = self.table(work);
            if !table.pairs.iter().any(|(p, q)| undecided(p) || undecided(q)) {
                return Ok(table);
            }
            work *= 2;
        }
        Err(Error::Undecided { bits: work / 2 })
    }
}

impl Direction for FinitePair<'_> {
    fn delta(&self, epsilon: &Rational, bits: u32) -> Result<Interval, Error> {
        if let Some(shares) = &self.shares {
            return Ok(shares.delta(epsilon, bits));
        }
        let Some(losses) = &self.losses else {
            return Ok(self
                .table(bits + magnification(epsilon))
                .delta(epsilon)
                .with_bits(bits));
        };
        if losses.iter().all(|loss| loss <= epsilon) {
            return Ok(Interval::from_integer(0, bits));
        }
        let table = self.table(bits + magnification(epsilon));
        // p ≤ e^ε·q exactly where ln(p/q) ≤ ε: those outcomes add nothing, which no enclosure could tell at
        // equality.
        let exceeding = table.pairs.iter().zip(losses).filter(|(_, loss)| *loss > epsilon);
        let exceeding = Table {
            pairs: exceeding.map(|(pair, _)| pair.clone()).collect(),
            unseen: table.unseen.clone(),
            bits: table.bits,
        };
        Ok(exceeding.delta(epsilon).with_bits(bits))
    }

    fn gap(&self, bits: u32) -> Result<Gap, Error> {
        if self.losses.is_some() {
            // No power of e is zero.
            return Ok(Gap::Exact(Rational::ZERO));
        }
        if let Some(shares) = &self.shares {
            return Ok(Gap::Exact(shares.gap()));
        }
        let table = self.settled(bits)?;
        let (lonely, shared): (Vec<_>, Vec<_>) = table
            .pairs
            .iter()
            .filter(|(p, _)| *p.hi() > Integer::ZERO)
            .partition(|(_, q)| *q.hi() == Integer::ZERO);
        Ok(match (lonely.is_empty(), shared.is_empty()) {
            (true, _) => Gap::Exact(Rational::ZERO),
            (_, true) => Gap::Exact(Rational::ONE),
            _ => Gap::Within(
                lonely
                    .iter()
                    .fold(Interval::from_integer(0, table.bits), |sum, (p, _)| sum.add(p)),
            ),
        })
    }

    fn supremum(&self, bits: u32) -> Result<Supremum, Error> {
        if let Some(shares) = &self.shares {
            return Ok(Supremum::Bounded(shares.supremum(bits)));
        }
        if let Some(losses) = &self.losses {
            // They come in both signs or are all zero, since both distributions add up to one.
            let loss = losses.iter().max().cloned().unwrap_or_default();
            return Ok(Supremum::Bounded(Interval::from_rational(&loss, bits)));
        }
        let mut largest = Interval::from_integer(0, bits);
        for (p, q) in self
            .settled(bits + 32)?
            .pairs
            .iter()
            .filter(|(p, q)| *p.lo() > Integer::ZERO && *q.lo() > Integer::ZERO)
        {
            let loss = p
                .ln()
                .zip(q.ln())
                .map(|(p, q)| p.sub(&q))
                .ok_or(Error::Undecided { bits })?;
            largest = largest.max(&loss.with_bits(bits));
        }
        Ok(Supremum::Bounded(largest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact_audit::{satisfies, smallest_delta};
    use exact::ratio;

    /// Randomized response with three answers at ε = 0.1, which no binary fraction is: the claim is proved at
    /// 0.1, and refuted just below.
    #[test]
    fn ratios_of_exponents_are_exact() {
        let epsilon = ratio(1, 10);
        let zero = Rational::ZERO;
        let yes = Finite::from_exponents(&[epsilon.clone(), zero.clone(), zero.clone()]).unwrap();
        let no = Finite::from_exponents(&[zero.clone(), epsilon.clone(), zero.clone()]).unwrap();
        let (yes, no) = (yes.into(), no.into());
        assert!(satisfies(&yes, &no, &epsilon, &zero).unwrap());
        assert!(!satisfies(&yes, &no, &(&epsilon * ratio(999_999, 1_000_000)), &zero).unwrap());
        assert!(
            smallest_delta(&yes, &no, &epsilon)
                .unwrap()
                .certainly_at_most(&zero)
        );
        assert!(smallest_delta(&yes, &no, &ratio(1, 20)).unwrap().lower() > zero);
    }
}
