//! The privacy loss of a Gaussian step on a sample of fixed size, for neighbours that change one unit.
//!
//! Let (P, Q) be the Gaussian pair for a changed unit. Sampling m of n without replacement has, for ε ≥ 0, δ(ε) at most that of
//! (1−q)Q + qP against Q with q = m/n (Balle, Barthe and Gaboardi 2018, "Privacy amplification by subsampling"). Changing
//! is symmetric, so for ε < 0, δ(ε) = 1 − e^ε + e^ε·δ(−ε) is bounded as well. The curve so bounded belongs to a symmetric pair: its
//! losses above 0 are those of the mixture against Q (see `sampled`: L = ln X for s > 1/2σ), with the mixture's mass under P and Q's
//! mass under Q; below 0 it is their mirror image; and what is left, 1 − (the mixture's mass above 0) − (Q's mass above 0)
//! = (1−q)(2Φ(1/2σ) − 1) ≥ 0, has loss 0. Hence
//!
//! ```text
//! M(z) − 1 = ∫ over s > 1/2σ of φ(s)·(X^(1+z) + X^(−z) − X − 1) ds,
//! ```
//!
//! and the bracket is ψ((1+z)L) + ψ(−zL) − ψ(L). The integral starts where it is not small, so it is cut into panels and each is
//! integrated by Gauss's rule. With N nodes and an integrand bounded by B on the ellipse of parameter ρ around the panel, the rule errs
//! by at most 64/15·B·ρ^(−2(N−1))/(1 − ρ^(−2)) times half the panel (Trefethen 2013, "Approximation theory and approximation
//! practice"). The bounds on φ and X off the real line are those of `sampled`.

use super::ball::Ball;
use super::decay::Decay;
use super::masses::{Cells, Collector};
use super::sampled::{Direction, Line, Node, Sampled};
use std::sync::OnceLock;

/// Nodes in a panel, and the ellipse.
const NODES: usize = 24;
const RHO: f64 = 4.0;
/// More panels than this are refused.
const MOST_PANELS: f64 = 400.0;

/// Gauss's nodes and weights on [−1, 1], for 24 or 40 nodes.
pub(super) fn rule(nodes: usize) -> &'static [(Ball, Ball)] {
    static RULES: [OnceLock<Vec<(Ball, Ball)>>; 2] = [OnceLock::new(), OnceLock::new()];
    let place = usize::from(nodes != NODES);
    RULES[place].get_or_init(|| {
        (0..nodes)
            .map(|i| {
                // Newton's iteration on the Legendre polynomial, from the classic guess.
                let mut x = libm::cos(std::f64::consts::PI * (i as f64 + 0.75) / (nodes as f64 + 0.5));
                let mut slope = 1.0;
                for _ in 0..8 {
                    let (mut last, mut here) = (1.0, x);
                    for n in 2..=nodes {
                        let n = n as f64;
                        (last, here) = (here, ((2.0 * n - 1.0) * x * here - (n - 1.0) * last) / n);
                    }
                    slope = nodes as f64 * (x * here - last) / (x * x - 1.0);
                    x -= here / slope;
                }
                let weight = 2.0 / ((1.0 - x * x) * slope * slope);
                // Far more than Newton's last step leaves; `tests` checks the rule on every monomial it must integrate.
                (
                    Ball::exact(x).widened(4e-15),
                    Ball::exact(weight).widened(4e-14 * weight),
                )
            })
            .collect()
    })
}

/// Where X = 1.
fn start(distribution: &Sampled) -> Ball {
    Ball::exact(0.5).over(distribution.sigma)
}

/// At least the error of Gauss's rule on the panel of half-width `half` around `middle`.
fn panel_error(distribution: &Sampled, c: f64, t: f64, middle: f64, half: f64) -> f64 {
    let reach = half * (RHO + 1.0 / RHO) / 2.0;
    let up = half * (RHO - 1.0 / RHO) / 2.0;
    let theta = up / distribution.sigma.lower();
    if theta >= 3.0 {
        return f64::INFINITY;
    }
    let (left, right) = (middle - reach, middle + reach);
    let nearest = if left > 0.0 {
        left
    } else if right < 0.0 {
        -right
    } else {
        0.0
    };
    let density = (up * up - nearest * nearest) / 2.0;
    let (low, high) = (distribution.rough_loss(left), distribution.rough_loss(right));
    let turned = t * theta;
    let back = -c * (low + libm::log(libm::cos(theta / 2.0)));
    let bracket = libm::exp(density + (1.0 + c) * high + turned)
        + libm::exp(density + back + turned)
        + libm::exp(density + high)
        + libm::exp(density);
    // φ brings 1/√2π < 0.4, and a thousandth covers the rounding of exponents.
    let rate = libm::pow(RHO, -2.0 * (NODES as f64 - 1.0)) / (1.0 - 1.0 / (RHO * RHO));
    64.0 / 15.0 * 0.4 * 1.001 * bracket * rate * half
}

/// The distribution on the line Re z = c, for |Im z| ≤ `t`, with M known up to `tolerance`. `None` when that takes too many nodes.
pub(super) fn line(distribution: &Sampled, c: f64, t: f64, tolerance: f64) -> Option<Line> {
    let from = start(distribution);
    let mut end = from.upper() + 1.0;
    while distribution.right_tail(1.0 + c, 1.0 + c + t, end) > tolerance / 2.0 {
        end += 0.25;
        if end > 1e4 {
            return None;
        }
    }
    let width = end - from.middle;
    let mut panels = (width / distribution.sigma.lower().min(1.0)).ceil();
    let half = loop {
        if panels.is_nan() || panels > MOST_PANELS {
            return None;
        }
        let half = 0.5 * width / panels;
        let error: f64 = (0..panels as u32)
            .map(|i| {
                panel_error(
                    distribution,
                    c,
                    t,
                    from.middle + half * (2.0 * f64::from(i) + 1.0),
                    half,
                )
            })
            .sum();
        if error <= tolerance / 2.0 {
            break half;
        }
        panels = (panels * 1.25).ceil();
    };
    let alpha = Ball::exact(1.0 + c).widened(f64::EPSILON * (1.0 + c));
    let minus = Ball::exact(-c);
    let norm = Ball::exact(half).over((Ball::exact(2.0) * Ball::pi()).sqrt());
    let mut line = Line {
        direction: Direction::Remove,
        real: Ball::ZERO,
        drift: Ball::ZERO,
        nodes: Vec::with_capacity(panels as usize * NODES),
        // The start is known to a rounding error only, and the integrand there is nothing: X = 1.
        error: tolerance + from.radius,
    };
    for panel in 0..panels as u32 {
        let middle = from.middle + half * (2.0 * f64::from(panel) + 1.0);
        for (x, weight) in rule(NODES) {
            let s = Ball::exact(middle) + Ball::exact(half) * *x;
            let loss = distribution.loss(s);
            let log_weight = -(s.square() * Ball::exact(0.5));
            let weight = norm * *weight;
            let (up, down) = (alpha * loss, minus * loss);
            let plain = weight * log_weight.exp();
            let (grown, shrunk) = (
                weight * (log_weight + up).exp(),
                weight * (log_weight + down).exp(),
            );
            let power = if up.magnitude() > 0.5 {
                grown - plain - plain * up
            } else {
                plain * up.exp_m1_less()
            };
            line.real = line.real + (power + plain * (down.exp_m1_less() - loss.exp_m1_less()));
            line.nodes.push(Node {
                loss,
                weight: Ball::ZERO,
                tilted: grown + shrunk,
                excess: if up.magnitude() > 0.5 {
                    grown - shrunk
                } else {
                    plain * (up.exp_m1() - down.exp_m1())
                },
            });
        }
    }
    line.real.is_finite().then_some(line)
}

/// How fast |M(c + it)| falls, where M(c) ≤ `moment`: the losses above 0 turn, the others are counted whole.
pub(super) fn decay(distribution: &Sampled, c: f64, moment: f64) -> Decay {
    Decay::new(
        distribution,
        1.0 + c,
        moment,
        (start(distribution).upper(), f64::INFINITY),
    )
}

/// The distribution on a lattice.
pub(super) fn cells(distribution: &Sampled, step: f64, reach: f64) -> Option<Cells> {
    let (last, tail) = super::cells::top(distribution, step, reach);
    let high = last as f64 * step;
    let mut cells = Collector::new(step, -high, high)?;
    super::cells::each_cell(distribution, step, Some(0), last, |index, mixture, plain| {
        cells.cell(index, mixture, plain);
        cells.cell(-index - 1, plain, mixture);
    });
    let atom =
        (Ball::ONE - distribution.rate) * (Ball::ONE - Ball::exact(2.0) * start(distribution).normal_tail());
    cells.atom(Ball::ZERO, atom);
    Some(cells.finish(tail, tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_integrates_every_power_it_must() {
        for nodes in [NODES, 40] {
            for power in 0..2 * nodes as i32 {
                let sum: Ball = rule(nodes)
                    .iter()
                    .map(|(x, weight)| *weight * Ball::exact(x.middle.powi(power)).widened(1e-14))
                    .sum();
                let truth = if power % 2 == 0 {
                    2.0 / f64::from(power + 1)
                } else {
                    0.0
                };
                assert!(
                    (sum.middle - truth).abs() < 1e-15 + 4e-15 * truth,
                    "x^{power}: {sum:?}"
                );
            }
        }
    }
}
