//! Each distribution cut into the cells of a lattice: its mass under P and under Q, cell by cell.

use super::ball::Ball;
use super::distribution::LossDistribution;
use super::masses::{Cells, Collector};
use super::sampled::{Direction, Sampled};

/// Discrete noise wider than this is left to other accountants.
const WIDEST: f64 = 2e4;

impl LossDistribution {
    /// The distribution on the multiples of `step`, with at most about `tiny` of its mass beyond the cells.
    pub(super) fn cells(&self, step: f64, tiny: f64) -> Option<Cells> {
        // A standard normal number exceeds this with probability below `tiny`.
        let reach = (-2.0 * libm::log(tiny.clamp(1e-305, 0.1))).sqrt() + 0.5;
        match self {
            LossDistribution::Gaussian { mu_squared } => gaussian(*mu_squared, step, reach),
            LossDistribution::Laplace { epsilon } => {
                let mut cells = Collector::new(step, -epsilon.upper(), epsilon.upper())?;
                let half = Ball::exact(0.5);
                cells.atom(*epsilon, half);
                cells.atom(-*epsilon, half * (-*epsilon).exp());
                let height = half * (-(*epsilon * half)).exp();
                exponential(&mut cells, *epsilon, height, step);
                Some(cells.finish(0.0, 0.0))
            }
            LossDistribution::BoundedRange { epsilon } => {
                let mut cells = Collector::new(step, -epsilon.upper(), epsilon.upper())?;
                let half = *epsilon * Ball::exact(0.5);
                let height = Ball::ONE.over(half.exp_m1() - (-half).exp_m1());
                exponential(&mut cells, *epsilon, height, step);
                Some(cells.finish(0.0, 0.0))
            }
            LossDistribution::Response { epsilon, indifferent } => {
                let mut cells = Collector::new(step, -epsilon.upper(), epsilon.upper())?;
                // In units that cannot overflow: e^ε/(e^ε + k − 1) = 1/(1 + (k−1)e^(−ε)).
                let shrunk = (-*epsilon).exp();
                let whole = Ball::ONE + (*indifferent + Ball::ONE) * shrunk;
                cells.atom(*epsilon, Ball::ONE.over(whole));
                cells.atom(-*epsilon, shrunk.over(whole));
                if indifferent.middle > 0.0 {
                    cells.atom(Ball::ZERO, (*indifferent * shrunk).over(whole));
                }
                Some(cells.finish(0.0, 0.0))
            }
            LossDistribution::Sampled(distribution) => {
                sampled(distribution, distribution.direction, step, reach)
            }
            // Only contours are made of these.
            LossDistribution::Truncated(_) | LossDistribution::CutChanged(_) => None,
            LossDistribution::Changed(_) => None,
            LossDistribution::FixedSize(distribution) => super::fixed_size::cells(distribution, step, reach),
            LossDistribution::DiscreteGaussian {
                variance,
                sensitivity,
            } => discrete_gaussian(*variance, *sensitivity, step, reach),
        }
    }

    /// A length of which all atoms are multiples, where there is one.
    pub(super) fn spacing(&self) -> Option<f64> {
        match self {
            LossDistribution::Laplace { epsilon } | LossDistribution::Response { epsilon, .. } => {
                Some(epsilon.middle)
            }
            LossDistribution::DiscreteGaussian {
                variance,
                sensitivity,
            } => Some(0.5 * sensitivity / variance.middle),
            _ => None,
        }
    }
}

/// P[N(0, 1) > x] is at most this.
fn tail_bound(x: f64) -> f64 {
    0.4 * libm::exp(-x * x / 2.0) / x.max(0.8) * 1.001
}

fn gaussian(mu_squared: Ball, step: f64, reach: f64) -> Option<Cells> {
    let mu = mu_squared.sqrt();
    let mean = 0.5 * mu_squared.middle;
    let (low, high) = (mean - reach * mu.middle, mean + reach * mu.middle);
    let mut cells = Collector::new(step, low, high)?;
    let width = Ball::exact(step).over(mu);
    let half = mu * Ball::exact(0.5);
    let (first, last) = ((low / step).floor() as i64, (high / step).ceil() as i64);
    for index in first..last {
        // Under P, L = μ²/2 + μs; under Q, L = −μ²/2 + μs.
        let start = (Ball::exact(index as f64) * Ball::exact(step)).over(mu);
        cells.cell(
            index,
            (start - half).normal_mass(width),
            (start + half).normal_mass(width),
        );
    }
    let tail = tail_bound(reach - 1e-6);
    Some(cells.finish(tail, tail))
}

/// Losses with density `height`·e^(l/2)/2 on [−ε, ε].
fn exponential(cells: &mut Collector, epsilon: Ball, height: Ball, step: f64) {
    let (first, last) = (
        (-epsilon.middle / step).floor() as i64,
        (epsilon.middle / step).ceil() as i64,
    );
    let half = Ball::exact(0.5);
    let edge = |index: i64| {
        let at = index as f64 * step;
        if at <= -epsilon.middle {
            -epsilon
        } else if at >= epsilon.middle {
            epsilon
        } else {
            Ball::exact(index as f64) * Ball::exact(step)
        }
    };
    for index in first..last {
        let (from, to) = (edge(index), edge(index + 1));
        let whole = index > first && index + 1 < last;
        let width = if whole { Ball::exact(step) } else { to - from };
        let grown = (width * half).exp_m1();
        let p = height * (from * half).exp() * grown;
        let q = height * (-(to * half)).exp() * grown;
        cells.cell(index, p, q);
    }
}

/// The mass of ln X in each cell, under the mixture and under N(0, σ²): calls `put(index, mixture, plain)`.
pub(super) fn each_cell(
    distribution: &Sampled,
    step: f64,
    from: Option<i64>,
    last: i64,
    mut put: impl FnMut(i64, Ball, Ball),
) {
    let (q, sigma) = (distribution.rate, distribution.sigma);
    let least = (-q).ln_1p();
    let bottom = (least.lower() / step).floor() as i64;
    let inverse = Ball::ONE.over(sigma);
    let half = inverse * Ball::exact(0.5);
    let masses = |s: Ball, width: Ball| {
        let plain = s.normal_mass(width);
        let moved = (s - inverse).normal_mass(width);
        (plain + q * (moved - plain), plain)
    };
    for index in from.unwrap_or(bottom)..last {
        let loss = Ball::exact(index as f64) * Ball::exact(step);
        // e^l − 1 + q, which is q·e^w.
        let excess = loss.exp_m1() + q;
        let (mixture, plain) = if excess.lower() > 1e-3 * q.middle {
            // w from cell to cell grows by ln(1 + e^l(e^h − 1)/(e^l − 1 + q)).
            let s = sigma * excess.over(q).ln() + half;
            let grown = (loss.exp() * Ball::exact(step).exp_m1()).over(excess).ln_1p();
            masses(s, sigma * grown)
        } else {
            // The cells at the lower end, where X is nearly 1 − q: from far out, or from the start of the cell.
            let next = (loss + Ball::exact(step)).exp_m1() + q;
            if next.lower() <= 0.0 {
                continue;
            }
            let end = sigma * next.over(q).ln() + half;
            let (high_plain, high_moved) = ((-end).normal_tail(), (inverse - end).normal_tail());
            let (low_plain, low_moved) = if excess.lower() > 0.0 {
                let start = sigma * excess.over(q).ln() + half;
                ((-start).normal_tail(), (inverse - start).normal_tail())
            } else {
                // ln(1−q) may lie in this cell or so close to its start that it does not matter: all of the tail.
                (Ball::ZERO, Ball::ZERO)
            };
            let (plain, moved) = (high_plain - low_plain, high_moved - low_moved);
            (plain + q * (moved - plain), plain)
        };
        put(index, mixture, plain);
    }
}

/// The cell after the one that holds the loss at s, and a bound on the mass of the mixture above it.
pub(super) fn top(distribution: &Sampled, step: f64, reach: f64) -> (i64, f64) {
    let s = reach + 1.0 / distribution.sigma.lower();
    let w = s / distribution.sigma.middle - 0.5 / (distribution.sigma.middle * distribution.sigma.middle);
    let loss = if w > 700.0 {
        w + libm::log(distribution.rate.middle)
    } else {
        libm::log1p(distribution.rate.middle * libm::expm1(w))
    };
    // The cells end above `loss`, whose s was rounded by far less than 1e-6.
    (
        (loss / step).ceil().min(1e13) as i64 + 1,
        tail_bound(reach - 1e-6),
    )
}

fn sampled(distribution: &Sampled, direction: Direction, step: f64, reach: f64) -> Option<Cells> {
    let (last, tail) = top(distribution, step, reach);
    let least = (-distribution.rate).ln_1p().lower();
    let high = last as f64 * step;
    let removing = direction == Direction::Remove;
    let mut cells = if removing {
        Collector::new(step, least, high)?
    } else {
        Collector::new(step, -high, -least)?
    };
    each_cell(distribution, step, None, last, |index, mixture, plain| {
        if removing {
            cells.cell(index, mixture, plain);
        } else {
            // The loss changes its sign, and the neighbours their places.
            cells.cell(-index - 1, plain, mixture);
        }
    });
    Some(if removing {
        cells.finish(tail, 0.0)
    } else {
        cells.finish(0.0, tail)
    })
}

fn discrete_gaussian(variance: Ball, sensitivity: f64, step: f64, reach: f64) -> Option<Cells> {
    let sigma = variance.middle.sqrt();
    if !(sigma <= WIDEST && sensitivity <= 1e9) {
        return None;
    }
    let far = (reach * sigma).ceil() + 1.0;
    let exponent = |k: f64| -(Ball::exact(k * k).over(variance) * Ball::exact(0.5));
    // Σ over |k| > far of e^(−k²/2σ²) ≤ 2∫ ≤ 2σ²/far·e^(−far²/2σ²).
    let rest = 2.001 * variance.upper() / far * exponent(far).exp().upper();
    let count = far as i64;
    let weights: Vec<Ball> = (0..=count).map(|k| exponent(k as f64).exp()).collect();
    let sum: Ball = weights.iter().skip(1).copied().sum();
    let norm = (Ball::ONE + Ball::exact(2.0) * sum).widened(rest);
    let slope = Ball::exact(sensitivity).over(variance);
    let loss = |k: i64| slope * Ball::exact(k as f64 + 0.5 * sensitivity);
    let mut cells = Collector::new(step, loss(-count).lower(), loss(count).upper())?;
    for k in -count..=count {
        cells.atom(loss(k), weights[k.unsigned_abs() as usize].over(norm));
    }
    let tail = (rest / norm.lower()).max(0.0);
    Some(cells.finish(tail, tail))
}
