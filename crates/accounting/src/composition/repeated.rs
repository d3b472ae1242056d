//! The same randomized response k times: the exact curve, summed from the top.
//!
//! One run has loss ε₀ with probability p = e^ε₀/(1 + e^ε₀) and −ε₀ otherwise. After k runs, l of them with the unlikely answer, the loss is
//! (k−2l)·ε₀ with probability w(l) = C(k,l)·p^(k−l)·(1−p)^l. Hence (Kairouz, Oh and Viswanath 2015)
//!
//! δ(ε) = Σ_l w(l)·[1 − e^(ε − (k−2l)·ε₀)]₊, and for ε = (k−2m)·ε₀ − s with 0 ≤ s ≤ 2ε₀ the sum is over l ≤ m:
//!
//! δ(ε) = G + (1 − e^−s)·H, with q = e^−2ε₀, G = Σ_{l<m} w(l)·(1 − q^(m−l)) and H = Σ_{l≤m} w(l)·q^(m−l).
//!
//! Everything is computed relative to w(m), whose neighbours are a simple factor away, so no binomial coefficient is ever held: w(m) itself
//! is one over the sum of all weights relative to it, since they add up to 1. Only an upper bound on δ is needed, hence upper bounds on G and H
//! relative to w(m), and a lower bound on the sum of all, for which it is no error to leave some out.

use exact::{Integer, Interval, Rational, ratio, to_f64_nearest};

/// More runs than this are not summed.
pub(super) const MOST_RUNS: u64 = 1_000_000;
/// Beyond this ε a run hides nothing, and its powers are too large to be held.
const LARGEST: u32 = 700;
/// Sums in which one weight is 2^4096 times another are given up.
const WIDEST: usize = 4096;

/// The sums around m, relative to w(m).
struct Sums {
    /// Certainly at most the sum of all weights.
    total: Rational,
    /// Certainly at least G.
    above: Rational,
    /// Certainly at least H.
    at: Rational,
}

fn bits_for(k: u64, epsilon: &Rational) -> u32 {
    // G is made of differences 1 − q^i, which may be as small as ε₀, and round-off grows with the number of terms.
    160 + 2 * exact::floor_log2(epsilon).unsigned_abs() + k.ilog2()
}

fn sums(k: u64, epsilon: &Rational, m: u64) -> Option<Sums> {
    let bits = bits_for(k, epsilon);
    let rise = Interval::exp_of(epsilon, bits);
    let fall = Interval::exp_of(&-epsilon.clone(), bits);
    let (wide, narrow) = (Integer::ONE << (bits as usize + WIDEST), Integer::ONE << 16usize);
    // Factors that bring w(l) to w(l−1), and w(l)·q^(m−l) to w(l−1)·q^(m−l+1).
    let down = |weight: &Interval, l: u64, by: &Interval| {
        weight
            .scale(&Integer::from(l))
            .div_integer(&Integer::from(k - l + 1))
            .mul(by)
    };
    let one = Interval::from_integer(1, bits);
    let (mut weight, mut moved) = (one.clone(), one.clone());
    let (mut weights, mut all_moved) = (one.clone(), one.clone());
    let mut rest = Integer::ZERO;
    for l in (1..=m).rev() {
        weight = down(&weight, l, &rise);
        moved = down(&moved, l, &fall);
        weights = weights.add(&weight);
        all_moved = all_moved.add(&moved);
        if *weight.hi() > wide {
            return None;
        }
        // The factors l·e^ε₀/(k−l+1) fall with l: once the next one is below 1, the rest is below a geometric series.
        if l > 1 && *weight.hi() < narrow {
            let next = rise
                .scale(&Integer::from(l - 1))
                .div_integer(&Integer::from(k - l + 2));
            if let Some(series) = next.div(&one.sub(&next)).filter(|_| *next.hi() < *one.lo()) {
                rest = weight.mul(&series).hi().clone();
                break;
            }
        }
    }
    let mut total = weights.clone();
    let mut weight = one;
    for l in m..k {
        weight = weight
            .scale(&Integer::from(k - l))
            .div_integer(&Integer::from(l + 1))
            .mul(&fall);
        total = total.add(&weight);
        // What is left out makes the sum smaller, which is safe; and after this, negligibly so.
        let is_small = &(weight.hi() << 128usize) < total.lo();
        if is_small || *weight.hi() > wide {
            break;
        }
    }
    let rest = Interval::from_ends(rest.clone(), rest, bits);
    Some(Sums {
        total: total.lower(),
        // What was left out adds at most itself to either sum, because 0 ≤ q^i ≤ 1.
        above: weights.sub(&all_moved).add(&rest).upper().max(Rational::ZERO),
        at: all_moved.add(&rest).upper(),
    })
}

/// The m in whose range the ε lies at which δ(ε) is about e^`logarithm`. Floats may choose it: the sums tell what holds there.
fn guess(k: u64, epsilon: f64, logarithm: f64) -> u64 {
    let (q, lost) = ((-2.0 * epsilon).exp(), -(-2.0 * epsilon).exp_m1());
    // ln w(m), and G and H relative to w(m).
    let mut weight = -(k as f64) * (-epsilon).exp().ln_1p();
    let (mut above, mut at) = (0.0, 1.0);
    let mut m = 0;
    // Floats do not tell a δ of 1 from one just below.
    let logarithm = logarithm.min(-1e-7);
    while 2 * (m + 1) <= k {
        let factor = ((k - m) as f64 / (m + 1) as f64).ln() - epsilon;
        let inverse = (-factor).exp();
        // The G of m + 1: δ at the lower end of the range of m.
        above = (above + lost * at) * inverse;
        at = q * at * inverse + 1.0;
        weight += factor;
        if above.ln() + weight > logarithm {
            break;
        }
        m += 1;
    }
    m
}

/// An ε that k runs of what is ε₀-DP keep with a δ of `target`: certainly enough, and the smallest up to round-off.
///
/// The caller keeps ε₀ above 0 and k between 1 and [`MOST_RUNS`].
pub(super) fn epsilon_of_repeated(k: u64, epsilon: &Rational, target: &Rational) -> Rational {
    let lattice = |runs: u64| epsilon * Rational::from(runs);
    let mut best = lattice(k);
    // No δ below 1e-300 can be written down, and ε₀ beyond any use is not worth the powers.
    if *epsilon > Rational::from(LARGEST) || *target < exact::power_of_two(-1000) {
        return best;
    }
    let logarithm = to_f64_nearest(&Interval::ln_of(target, 64).upper());
    let mut m = guess(k, to_f64_nearest(epsilon), logarithm);
    // The guess is right up to round-off, or next to it.
    for _ in 0..4 {
        let Some(sums) = sums(k, epsilon, m) else {
            break;
        };
        // δ ≤ target when 1 − e^−s ≤ (target − G)/H; both sides relative to w(m).
        let room = (target * &sums.total - &sums.above) / &sums.at;
        if room < Rational::ZERO {
            if m == 0 {
                break;
            }
            m -= 1;
            continue;
        }
        let whole = lattice(2);
        let bits = bits_for(k, epsilon);
        let step = if room < Rational::ONE {
            -Interval::ln_of(&(Rational::ONE - room), bits).upper()
        } else {
            whole.clone()
        };
        let is_whole = step >= whole;
        best = best.min(lattice(k - 2 * m) - step.max(Rational::ZERO).min(whole));
        if !is_whole || 2 * (m + 1) > k {
            break;
        }
        m += 1;
    }
    best.max(Rational::ZERO)
}

/// A δ with which k runs of what is ε₀-DP keep `asked`: certainly enough, and the smallest up to round-off. `None` when
/// it is too close to 1 to be distinguished.
pub(super) fn delta_of_repeated(k: u64, epsilon: &Rational, asked: &Rational) -> Option<Rational> {
    let room = Rational::from(k) - asked / epsilon;
    if room <= Rational::ZERO {
        return Some(Rational::ZERO);
    }
    if *epsilon > Rational::from(LARGEST) {
        return None;
    }
    // The largest m with a loss above ε: 0 < s ≤ 2ε₀.
    let m = u64::try_from((room * ratio(1, 2)).ceil() - Integer::ONE).ok()?;
    let sums = sums(k, epsilon, m)?;
    let step = epsilon * (Rational::from(k) - Rational::from(2 * m)) - asked;
    let bits = bits_for(k, epsilon) + 2 * exact::floor_log2(&step).unsigned_abs();
    let part = Rational::ONE - Interval::exp_of(&-step, bits).lower();
    let delta = (sums.above + part * sums.at) / sums.total;
    (delta < Rational::ONE).then_some(delta)
}
