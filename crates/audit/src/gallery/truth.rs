//! The exact ε of an exhibit, by certified integration.
//!
//! A Laplace or exponential density, and its distribution function, are on either side of their centre sums
//! of one or two terms c·w^m with w = e^(z/80) and a whole m (all rates of the gallery are whole eightieths).
//! So is every product of them, between two centres, and
//!
//! ```text
//! ∫ w^m dz from a to b = 80/m · (e^(mb/80) − e^(ma/80)),  or b − a for m = 0.
//! ```
//!
//! With intervals for the coefficients that is an enclosure of the probability of an answer, not an
//! approximation of it.

use super::mechanism::{Noise, Rate, SparseVector, THRESHOLD};
use exact::{Integer, Interval, ratio};
use std::collections::BTreeMap;

/// An exact ε.
#[derive(Clone, Debug)]
pub enum Exactly {
    /// It lies in this interval.
    Finite(Interval),
    /// No finite ε holds.
    Infinite,
}

impl Exactly {
    /// The ε as a float, rounded up; infinite if it is.
    pub fn to_f64_up(&self) -> f64 {
        match self {
            Self::Finite(epsilon) => epsilon.to_f64_up(),
            Self::Infinite => f64::INFINITY,
        }
    }

    /// A rate of 80 is an ε of one.
    pub(super) fn of_rate(rate: Rate) -> Self {
        Self::Finite(Interval::from_rational(&ratio(i64::from(rate), 80), BITS))
    }
}

const BITS: u32 = 256;

/// A sum of c·w^m.
type Terms = BTreeMap<i64, Interval>;

/// One factor of an integrand.
#[derive(Clone, Copy, Debug)]
struct Factor {
    kind: FactorKind,
    noise: Noise,
    rate: i64,
    center: i64,
}

#[derive(Clone, Copy, Debug)]
enum FactorKind {
    Density,
    /// P(noise < z − center).
    Below,
    /// P(noise ≥ z − center).
    Above,
}

impl Factor {
    /// Its terms left or right of its centre.
    fn terms(&self, left: bool) -> Vec<(i64, Interval)> {
        let (rate, center) = (self.rate, self.center);
        let one = || (0, Interval::from_integer(1, BITS));
        // c·e^(±rate·(z − center)/80): rising left of the centre, falling right of it.
        let direction = if left { 1 } else { -1 };
        let tail = |numerator: i64, denominator: u64| {
            let shift = Interval::exp_of(&ratio(-direction * rate * center, 80), BITS);
            let size = Interval::from_rational(&ratio(numerator, denominator), BITS);
            (direction * rate, shift.mul(&size))
        };
        match (self.noise, self.kind, left) {
            (Noise::Laplace, FactorKind::Density, _) => vec![tail(rate, 160)],
            (Noise::Laplace, FactorKind::Below, true) | (Noise::Laplace, FactorKind::Above, false) => {
                vec![tail(1, 2)]
            }
            (Noise::Laplace, _, _) => vec![one(), tail(-1, 2)],
            (Noise::Exponential, FactorKind::Density, true)
            | (Noise::Exponential, FactorKind::Below, true) => vec![],
            (Noise::Exponential, FactorKind::Above, true) => vec![one()],
            (Noise::Exponential, FactorKind::Density, false) => vec![tail(rate, 80)],
            (Noise::Exponential, FactorKind::Below, false) => vec![one(), tail(-1, 1)],
            (Noise::Exponential, FactorKind::Above, false) => vec![tail(1, 1)],
        }
    }
}

/// The integral of a product over all z. The first factor is a density, so that it converges.
fn integrate(factors: &[Factor]) -> Interval {
    let mut centers: Vec<i64> = factors.iter().map(|factor| factor.center).collect();
    centers.sort_unstable();
    centers.dedup();
    let mut sum = Interval::from_integer(0, BITS);
    for piece in 0..=centers.len() {
        let (from, to) = (
            piece.checked_sub(1).map(|before| centers[before]),
            centers.get(piece).copied(),
        );
        let mut product: Terms = [(0, Interval::from_integer(1, BITS))].into();
        for factor in factors {
            let terms = factor.terms(to.is_some_and(|to| to <= factor.center));
            let mut next = Terms::new();
            for (power, coefficient) in &product {
                for (more, other) in &terms {
                    let part = coefficient.mul(other);
                    next.entry(power + more)
                        .and_modify(|sum| *sum = sum.add(&part))
                        .or_insert(part);
                }
            }
            product = next;
        }
        for (power, coefficient) in &product {
            sum = sum.add(&coefficient.mul(&integral_of_power(*power, from, to)));
        }
    }
    sum
}

/// ∫ w^power; an end that is missing is infinite, and the power falls towards it.
fn integral_of_power(power: i64, from: Option<i64>, to: Option<i64>) -> Interval {
    let at = |end: Option<i64>| match end {
        Some(end) if power == 0 => Interval::from_integer(end, BITS),
        Some(end) => Interval::exp_of(&ratio(power * end, 80), BITS),
        None => Interval::from_integer(0, BITS),
    };
    let difference = at(to).sub(&at(from));
    if power == 0 {
        return difference;
    }
    let scaled = difference.scale(&Integer::from(80 * power.signum()));
    scaled.div_integer(&Integer::from(power.abs()))
}

/// max |ln(p/q)| over outputs with these probabilities on either side.
fn largest_loss(outputs: impl Iterator<Item = (Interval, Interval)>) -> Exactly {
    let mut largest = Interval::from_integer(0, BITS);
    for (first, second) in outputs {
        match (first.ln(), second.ln()) {
            (Some(first), Some(second)) => {
                let loss = first.sub(&second);
                largest = largest.max(&loss).max(&loss.neg());
            }
            // An interval that is not above zero is zero here: probabilities are far above the width of an
            // interval.
            (None, None) => {}
            _ => return Exactly::Infinite,
        }
    }
    Exactly::Finite(largest)
}

/// Noisy max that releases the place of the largest.
pub(super) fn noisy_max(noise: Noise, rate: Rate, first: &[i64], second: &[i64]) -> Exactly {
    let chance = |input: &[i64], winner: usize| {
        let factor = |kind, place: usize| Factor {
            kind,
            noise,
            rate: i64::from(rate),
            center: input[place],
        };
        let others = (0..input.len())
            .filter(|place| *place != winner)
            .map(|place| factor(FactorKind::Below, place));
        let factors: Vec<Factor> = [factor(FactorKind::Density, winner)]
            .into_iter()
            .chain(others)
            .collect();
        integrate(&factors)
    };
    largest_loss((0..first.len()).map(|winner| (chance(first, winner), chance(second, winner))))
}

/// A sparse-vector variant with noisy queries that releases answers only.
pub(super) fn sparse_vector(
    variant: &SparseVector,
    query_rate: Rate,
    first: &[i64],
    second: &[i64],
) -> Exactly {
    let mut known = BTreeMap::new();
    let mut chance = |input: &[i64], answers: &[bool]| {
        // With a fresh threshold after each answer above it, the runs between them are independent.
        let mut product = Interval::from_integer(1, BITS);
        let mut run: Vec<(i64, bool)> = Vec::new();
        for (place, (center, above)) in input.iter().zip(answers).enumerate() {
            run.push((*center, *above));
            if variant.refresh && *above || place + 1 == answers.len() {
                // Queries of equal value are exchangeable.
                run.sort_unstable();
                let integral = known.entry(run.clone()).or_insert_with(|| {
                    let rate = i64::from(query_rate);
                    let threshold = Factor {
                        kind: FactorKind::Density,
                        noise: Noise::Laplace,
                        rate: i64::from(variant.threshold_rate),
                        center: THRESHOLD,
                    };
                    let queries = run.iter().map(|(center, above)| Factor {
                        // The query is above where its noise is at least z − center.
                        kind: if *above {
                            FactorKind::Above
                        } else {
                            FactorKind::Below
                        },
                        noise: Noise::Laplace,
                        rate,
                        center: *center,
                    });
                    integrate(&[threshold].into_iter().chain(queries).collect::<Vec<_>>())
                });
                product = product.mul(integral);
                run.clear();
            }
        }
        product
    };
    let outputs: Vec<(Interval, Interval)> = answers(first.len(), variant.cutoff)
        .iter()
        .map(|answers| (chance(first, answers), chance(second, answers)))
        .collect();
    largest_loss(outputs.into_iter())
}

/// All answers there are: until the cutoff is reached, or to the end.
fn answers(queries: usize, cutoff: Option<usize>) -> Vec<Vec<bool>> {
    let mut complete = Vec::new();
    let mut open = vec![Vec::new()];
    while let Some(answers) = open.pop() {
        let above = answers.iter().filter(|above| **above).count();
        if answers.len() == queries || cutoff == Some(above) {
            complete.push(answers);
            continue;
        }
        for next in [false, true] {
            let mut longer = answers.clone();
            longer.push(next);
            open.push(longer);
        }
    }
    complete
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(interval: &Interval, value: f64, slack: f64) -> bool {
        interval.to_f64_down() > value - slack && interval.to_f64_up() < value + slack
    }

    #[test]
    fn probabilities_add_up_to_one() {
        let input = [1i64, 2, 0, 1, 1];
        for (noise, rate) in [(Noise::Laplace, 4), (Noise::Exponential, 4), (Noise::Laplace, 7)] {
            let mut total = Interval::from_integer(0, BITS);
            for winner in 0..input.len() {
                let factor = |kind, place: usize| Factor {
                    kind,
                    noise,
                    rate,
                    center: input[place],
                };
                let mut factors = vec![factor(FactorKind::Density, winner)];
                factors.extend(
                    (0..input.len())
                        .filter(|place| *place != winner)
                        .map(|place| factor(FactorKind::Below, place)),
                );
                total = total.add(&integrate(&factors));
            }
            assert!(
                total.contains(&ratio(1, 1)) && close(&total, 1.0, 1e-30_f64.max(1e-15)),
                "{total:?}"
            );
        }
        assert_eq!(answers(10, Some(1)).len(), 11);
        assert_eq!(answers(10, Some(2)).len(), 56);
        assert_eq!(answers(10, None).len(), 1024);
    }

    /// Against Simpson's rule on the integrand as floats: another formula, another rounding.
    #[test]
    fn integrals_agree_with_plain_quadrature() {
        let (threshold_rate, query_rate) = (2i64, 6i64);
        let input = [2i64, 2, 0];
        let answers = [false, true, false];
        let laplace = |z: f64, rate: i64| 0.5 * (-z.abs() * rate as f64 / 80.0).exp();
        let below = |z: f64| {
            if z < 0.0 {
                laplace(z, query_rate)
            } else {
                1.0 - laplace(z, query_rate)
            }
        };
        let integrand = |z: f64| {
            let density = laplace(z - 1.0, threshold_rate) * threshold_rate as f64 / 80.0;
            input
                .iter()
                .zip(answers)
                .fold(density, |product, (center, above)| {
                    let share = below(z - *center as f64);
                    product * if above { 1.0 - share } else { share }
                })
        };
        // Kinks are at whole numbers, which are nodes.
        let (from, to, steps) = (-2000i32, 2000i32, 16i32);
        let step = 1.0 / f64::from(steps);
        let simpson: f64 = (from * steps..to * steps)
            .filter(|node| node % 2 == 0)
            .map(|node| {
                let z = f64::from(node) * step;
                (integrand(z) + 4.0 * integrand(z + step) + integrand(z + 2.0 * step)) * step / 3.0
            })
            .sum();
        let mut factors = vec![Factor {
            kind: FactorKind::Density,
            noise: Noise::Laplace,
            rate: threshold_rate,
            center: 1,
        }];
        factors.extend(input.iter().zip(answers).map(|(center, above)| Factor {
            kind: if above {
                FactorKind::Above
            } else {
                FactorKind::Below
            },
            noise: Noise::Laplace,
            rate: query_rate,
            center: *center,
        }));
        assert!(close(&integrate(&factors), simpson, 1e-9), "{simpson}");
    }
}
