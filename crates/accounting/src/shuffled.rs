//! Reports of many people that nobody can tell apart: what shuffling adds to what each report hides by itself.

use crate::curve::Ball;
use crate::{Delta, Epsilon, Error, Event, Neighbors, PrivacyUnit};
use exact::{Rational, from_f64};

/// More reports than this take seconds.
const MOST: u64 = 1_000_000_000;
/// Into so many parts the number of clones is divided.
const PARTS: u64 = 256;
/// Up to so many draws a binomial coefficient is a product.
const SMALL: u64 = 64;
/// The parts cover so many deviations on both sides.
const DEVIATIONS: f64 = 11.0;

impl Event {
    /// The shuffled reports of `of` units, of which each makes one with the same randomizer that is ε-DP by itself (ε = `local`), as something
    /// (ε', δ)-DP with this δ. For a unit that changes: one that comes or goes changes the number of reports, which everybody sees.
    ///
    /// # Errors
    /// As [`shuffled_epsilon`], and for a unit that is added or removed.
    pub fn shuffled(local: &Epsilon, of: u64, delta: &Delta, unit: &PrivacyUnit) -> Result<Self, Error> {
        if unit.neighbors != Neighbors::ChangeOne {
            return Err(Error::OtherNeighbors {
                demanded: "a unit that changes",
                unit: unit.to_string(),
                hint: "account for a unit whose data may change: the number of reports is public",
            });
        }
        Ok(Event::Approximate {
            epsilon: shuffled_epsilon(local, of, delta)?,
            delta: delta.clone(),
        })
    }
}

/// A δ with which the shuffled reports of `of` units are (`epsilon`, δ)-DP, for neighbours that change one unit, when each unit makes one report with the same
/// randomizer that is `local`-DP.
///
/// # Privacy
/// Let R₀ and R₁ be the report of the unit on both databases, and x = e^`local`. Every pair of ε-DP outputs comes from randomized response on one bit
/// (Kairouz, Oh and Viswanath 2015): there are G₀ and G₁ with R₀ = (xG₀ + G₁)/(x+1) and R₁ = (G₀ + xG₁)/(x+1). Every other unit's report is at least R₀/x and R₁/x, so
/// at least (R₀+R₁)/2x = (G₀+G₁)/2x: with probability 1/x it is a clone, which draws from G₀ or G₁ with equal probability, and otherwise it draws from
/// something that does not know the unit. Which of the others are clones is independent of the unit, so the multiset of reports is a post-processing of how many
/// draws there are from G₀ and G₁, with C ~ Binomial(n−1, 1/x) clones, A ~ Binomial(C, ½):
///
/// ```text
/// P = (A + Δ, C − A + 1 − Δ),    Q = (A + 1 − Δ, C − A + Δ),    Δ ~ Bernoulli(x/(x+1)).
/// ```
///
/// (Feldman, McMillan and Talwar 2021, "Hiding among the clones", with the decomposition of their numerical analysis. The paper of 2023 has clones with
/// probability 2/(x+1), and an erratum that withdraws it for randomizers in general.) P and Q mirror each other, so one direction is both.
///
/// Given m = C + 1 draws, a of them from G₀, the loss exceeds ε when a/m > (xy−1)/((x−1)(y+1)), y = e^ε. With k the least such a, that part of δ is
/// (x−y)/(x+1)·P[A = k−1] − (y−1)·P[A ≥ k], A ~ Binomial(m−1, ½). It falls with m, since one more clone is a post-processing; so the numbers of clones are taken
/// in parts, and each counts as its smallest. Everything is rounded up.
/// Audited by: `shuffled_randomized_response_keeps_its_delta`, `the_numbers_are_those_of_the_sum`.
///
/// # Errors
/// When there are no reports, or more than a billion.
pub fn shuffled_delta(local: &Epsilon, of: u64, epsilon: &Epsilon) -> Result<Delta, Error> {
    if epsilon >= local {
        return Ok(Delta::ZERO);
    }
    let reports = Reports::new(local, of)?;
    let delta = reports.delta(Ball::from_rational(epsilon.as_rational()));
    // A δ of 1 promises nothing, and is refused.
    let rational = from_f64(delta).ok_or(Error::Undecided { what: "δ" })?;
    Delta::rounded_up(&rational)
}

/// An ε with which the same reports are (ε, `delta`)-DP: hardly more than the smallest at which [`shuffled_delta`] is at most `delta`, and at most `local`.
///
/// # Errors
/// As [`shuffled_delta`].
pub fn shuffled_epsilon(local: &Epsilon, of: u64, delta: &Delta) -> Result<Epsilon, Error> {
    let reports = Reports::new(local, of)?;
    let asked = delta.to_f64_down();
    let (mut low, mut high) = (0.0, local.to_f64_down());
    let mut found = None;
    for _ in 0..48 {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high || high - low < 1e-12 * high {
            break;
        }
        if reports.delta(Ball::exact(middle)) <= asked {
            (high, found) = (middle, Some(middle));
        } else {
            low = middle;
        }
    }
    match found.and_then(from_f64) {
        Some(epsilon) => Ok(Epsilon::rounded_up(&epsilon)?.min(local.clone())),
        None => Ok(local.clone()),
    }
}

/// The clones of one kind of reports.
struct Reports {
    /// e^local.
    x: Ball,
    /// (The least number of clones, at least the probability of that part.)
    parts: Vec<(u64, f64)>,
}

impl Reports {
    fn new(local: &Epsilon, of: u64) -> Result<Self, Error> {
        let others = match of.checked_sub(1) {
            Some(others) if of <= MOST => others,
            _ => {
                return Err(Error::NoReports { count: of });
            }
        };
        if *local.as_rational() > Rational::from(100u8) {
            return Err(Error::OutOfRange {
                quantity: "ε",
                text: local.to_string(),
            });
        }
        let x = Ball::from_rational(local.as_rational()).exp();
        let share = Ball::ONE.over(x);
        Ok(Self {
            x,
            parts: parts(others, share, (x - Ball::ONE).over(x)),
        })
    }

    /// At least δ(ε).
    fn delta(&self, epsilon: Ball) -> f64 {
        let y = epsilon.exp();
        let sum: f64 = self
            .parts
            .iter()
            .map(|(clones, mass)| mass * self.given(*clones, y))
            .sum();
        (sum * (1.0 + 1e-12)).min(1.0)
    }

    /// At least δ given the number of clones.
    fn given(&self, clones: u64, y: Ball) -> f64 {
        let one = Ball::ONE;
        let (gain, lost) = ((self.x - y).over(self.x + one), y - one);
        let bound = (self.x * y - one).over((self.x - one) * (y + one));
        let place = (bound * Ball::exact(clones as f64 + 1.0)).middle;
        if !bound.is_finite() || place.is_nan() {
            return 1.0;
        }
        // Where rounding decides which draw is the first above the bound, the best of its neighbours is.
        let first = (place.floor().max(0.0) as u64).saturating_sub(1);
        let mut tail = fair_tail(clones, first + 4);
        let mut most = 0.0f64;
        for k in (first..first + 4).rev() {
            // From P[A ≥ k + 1] to P[A ≥ k].
            tail = tail + fair(clones, k);
            let before = match k.checked_sub(1) {
                Some(before) => fair(clones, before),
                None => Ball::ZERO,
            };
            most = most.max((gain * before - lost * tail).upper());
        }
        most
    }
}

/// P[Binomial(n, q) = k], with p = 1 − q, by Stirling's formula with Robbins' bounds (1955).
fn binomial(n: u64, k: u64, q: Ball, p: Ball) -> Ball {
    if k > n {
        return Ball::ZERO;
    }
    let rest = n - k;
    if k.min(rest) <= SMALL {
        // ln of the binomial coefficient, factor by factor.
        let factor = |i: u64| Ball::exact((n - i) as f64).over(Ball::exact((i + 1) as f64)).ln();
        let choose: Ball = (0..k.min(rest)).map(factor).sum();
        let power = |base: Ball, count: u64| {
            if count == 0 {
                Ball::ZERO
            } else {
                base.ln() * Ball::exact(count as f64)
            }
        };
        return (choose + power(q, k) + power(p, rest)).exp();
    }
    // n·KL(k/n ‖ q) loses less to rounding than factorials do: their large parts are taken together.
    let part = |count: u64, q: Ball| {
        let count = Ball::exact(count as f64);
        count * (q * Ball::exact(n as f64)).over(count).ln()
    };
    let small = |n: u64| {
        // ln n! − n·ln n + n, less ½·ln 2πn between 1/(12n+1) and 1/12n.
        let twelve = 12.0 * n as f64;
        let (low, high) = (1.0 / (twelve + 1.0), 1.0 / twelve);
        let rest = Ball::exact(f64::midpoint(low, high)).widened(0.5 * (high - low) + 1e-16 * high);
        (Ball::exact(2.0) * Ball::pi() * Ball::exact(n as f64)).ln() * Ball::exact(0.5) + rest
    };
    (part(k, q) + part(rest, p) + small(n) - small(k) - small(rest)).exp()
}

/// P[Binomial(n, ½) = k].
fn fair(n: u64, k: u64) -> Ball {
    binomial(n, k, Ball::exact(0.5), Ball::exact(0.5))
}

/// P[Binomial(n, ½) ≥ k], for k beyond the middle.
fn fair_tail(n: u64, k: u64) -> Ball {
    if k > n {
        return Ball::ZERO;
    }
    let mut term = fair(n, k);
    let mut sum = Ball::ZERO;
    for i in k..=n {
        sum = sum + term;
        let ratio = Ball::exact((n - i) as f64).over(Ball::exact(i as f64 + 1.0));
        term = term * ratio;
        // What is left is at most a geometric series.
        let left = term.upper() / (1.0 - ratio.upper()).max(1e-300);
        if ratio.upper() < 1.0 && left < 1e-17 * sum.middle {
            return sum.widened(left);
        }
    }
    sum
}

/// The numbers of clones in parts: the least of each, and at least its probability.
fn parts(others: u64, share: Ball, rest: Ball) -> Vec<(u64, f64)> {
    let mean = others as f64 * share.middle;
    let reach = DEVIATIONS * (mean * rest.middle.max(0.0)).sqrt() + 4.0 * DEVIATIONS;
    let first = (mean - reach).max(0.0) as u64;
    let last = ((mean + reach).ceil() as u64).min(others);
    let mass = |k: u64| binomial(others, k, share, rest).upper();
    let mut parts = Vec::new();
    // Below the first: fewer and fewer, by at least this factor.
    if first > 0 {
        let k = first as f64;
        let factor = k * rest.upper() / ((others as f64 - k + 1.0) * share.lower()) * (1.0 + 1e-12);
        let below = if factor < 1.0 {
            mass(first) * factor / (1.0 - factor)
        } else {
            1.0
        };
        parts.push((0, below * (1.0 + 1e-12)));
    }
    let width = ((last - first) / PARTS).max(1);
    let mut start = first;
    while start <= last {
        let end = (start + width).min(last + 1);
        let sum: f64 = (start..end).map(mass).sum();
        parts.push((start, (sum * (1.0 + 1e-9)).min(1.0)));
        start = end;
    }
    if last < others {
        let k = last as f64;
        let factor =
            (others as f64 - k) * share.upper() / ((k + 1.0) * rest.lower().max(1e-300)) * (1.0 + 1e-12);
        let above = if factor < 1.0 {
            mass(last) * factor / (1.0 - factor)
        } else {
            1.0
        };
        parts.push((last, above * (1.0 + 1e-12)));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epsilon(value: f64) -> Epsilon {
        Epsilon::rounded_down(&from_f64(value).unwrap()).unwrap()
    }

    fn choose(n: u64, k: u64) -> f64 {
        (0..k).fold(1.0, |product, i| product * (n - i) as f64 / (i + 1) as f64)
    }

    /// δ from the definition of P and Q, by summing over all clones and all draws.
    fn by_sum(local: f64, of: u64, epsilon: f64, share: f64) -> f64 {
        let (x, y, others) = (local.exp(), epsilon.exp(), of - 1);
        let own = x / (x + 1.0);
        let mut sum = 0.0;
        for c in 0..=others {
            let weight = choose(others, c) * share.powi(c as i32) * (1.0 - share).powi((others - c) as i32);
            let fair = |a: i64| {
                if a < 0 || a > c as i64 {
                    0.0
                } else {
                    choose(c, a as u64) * 0.5f64.powi(c as i32)
                }
            };
            for a in 0..=c as i64 + 1 {
                let p = own * fair(a - 1) + (1.0 - own) * fair(a);
                let q = (1.0 - own) * fair(a - 1) + own * fair(a);
                sum += weight * (p - y * q).max(0.0);
            }
        }
        sum
    }

    #[test]
    fn the_numbers_are_those_of_the_sum() {
        for (local, of, asked) in [
            (1.0, 2, 0.5),
            (1.0, 30, 0.3),
            (2.0, 60, 0.9),
            (0.5, 100, 0.05),
            (3.0, 80, 2.5),
            (0.2, 1, 0.1),
            (1.5, 200, 0.0),
        ] {
            let truth = by_sum(local, of, asked, (-local).exp());
            let found = shuffled_delta(&epsilon(local), of, &epsilon(asked))
                .unwrap()
                .to_f64_up();
            assert!(
                found >= truth * (1.0 - 1e-9) && found <= truth * (1.0 + 1e-5) + 1e-15,
                "{local} {of} {asked}: {found} {truth}"
            );
        }
    }

    /// Randomized response on one bit, shuffled: the number of ones, exactly, for every number of ones among the others.
    #[test]
    fn shuffled_randomized_response_keeps_its_delta() {
        let (local, of) = (1.2f64, 24u64);
        let yes = local.exp() / (1.0 + local.exp());
        let law = |ones: u64, others: u64| -> Vec<f64> {
            let mut law = vec![1.0];
            for i in 0..others {
                let p = if i < ones { yes } else { 1.0 - yes };
                let mut next = vec![0.0; law.len() + 1];
                for (k, mass) in law.iter().enumerate() {
                    next[k] += mass * (1.0 - p);
                    next[k + 1] += mass * p;
                }
                law = next;
            }
            law
        };
        for asked in [0.0f64, 0.2, 0.5, 0.9] {
            let claimed = shuffled_delta(&epsilon(local), of, &epsilon(asked))
                .unwrap()
                .to_f64_up();
            let mut worst = 0.0f64;
            for ones in 0..of {
                let others = law(ones, of - 1);
                let with = |p: f64| -> Vec<f64> {
                    (0..=of as usize)
                        .map(|k| {
                            let here = others.get(k).copied().unwrap_or(0.0);
                            let below = if k > 0 { others[k - 1] } else { 0.0 };
                            here * (1.0 - p) + below * p
                        })
                        .collect()
                };
                let (zero, one) = (with(1.0 - yes), with(yes));
                let delta = |a: &[f64], b: &[f64]| -> f64 {
                    a.iter().zip(b).map(|(a, b)| (a - asked.exp() * b).max(0.0)).sum()
                };
                worst = worst.max(delta(&zero, &one)).max(delta(&one, &zero));
            }
            assert!(
                claimed >= worst * (1.0 - 1e-9),
                "{asked}: {claimed} below {worst}"
            );
            // The planted error: a clone where each of the others is one.
            let wrong = by_sum(local, of, asked, 1.0);
            assert!(wrong < worst, "{asked}: {wrong} {worst}");
        }
    }

    #[test]
    fn shuffling_amplifies_and_never_harms() {
        let delta = Delta::parse("1e-6").unwrap();
        let of = |n: u64| shuffled_epsilon(&epsilon(1.0), n, &delta).unwrap().to_f64_up();
        // Alone, a millionth may go wrong, and that is all.
        assert!(of(1) <= 1.0 && of(1) > 0.99999);
        let (some, many) = (of(1_000), of(100_000));
        assert!(some < 0.6 && many < 0.05 && many > 0.01, "{some} {many}");
        // What is found keeps δ.
        let found = shuffled_epsilon(&epsilon(1.0), 1_000, &delta).unwrap();
        assert!(shuffled_delta(&epsilon(1.0), 1_000, &found).unwrap() <= delta);
        let changes = PrivacyUnit::new("person", Neighbors::ChangeOne);
        let event = Event::shuffled(&epsilon(1.0), 1_000, &delta, &changes).unwrap();
        assert!(matches!(event, Event::Approximate { .. }));
        let comes = PrivacyUnit::new("person", Neighbors::AddRemove);
        assert!(Event::shuffled(&epsilon(1.0), 1_000, &delta, &comes).is_err());
        // tanh(50) is less than 1 by 7e-44, which no float tells: rounded up it promises nothing.
        assert!(shuffled_delta(&epsilon(100.0), 1, &Epsilon::ZERO).is_err());
        assert!(shuffled_epsilon(&epsilon(1.0), 0, &delta).is_err());
        assert!(shuffled_epsilon(&epsilon(1.0), MOST + 1, &delta).is_err());
        assert!(shuffled_epsilon(&epsilon(101.0), 10, &delta).is_err());
    }
}
