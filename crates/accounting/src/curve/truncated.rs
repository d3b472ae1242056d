//! A Poisson-sampled step without its far tails, prepared for a contour.
//!
//! The loss of a sampled step grows for ever, and so does e^(cL): far out, where no probability is left, the tilt outweighs it, and the
//! moments of the whole step are those of outputs that never occur. So the step is cut: outputs σs with s outside [`low`, `high`] are
//! counted as revealing everything. With β at least their probability, T steps have δ_cut ≤ δ ≤ δ_cut + Tβ, where δ_cut is
//! E_P[(1 − e^(ε−L))₊] over the outputs that are left: dropping mass of P only lowers it, and what is dropped adds at most its probability.
//!
//! # The integral
//! With X, L, λ = α ± it as in `sampled`, M(z) = ∫ φX^λ ds over [low, high]. Since ∫ φ = ∫ φX = 1 over all s,
//!
//! ```text
//! M(c) − 1 = ∫ φ·(X^α − 1 − α(X − 1)) ds − (tails of φ) − α·(tails of φ(X − 1)),    M(c + it) − M(c) = ∫ φX^α·(e^(±itL) − 1) ds.
//! ```
//!
//! Both integrals are taken by Gauss's rule on panels. With N nodes and an integrand bounded by B on the ellipse of parameter ρ around
//! the panel, the rule errs by at most 64/15·B·ρ^(−2(N−1))/(1 − ρ^(−2)) times half the panel (Trefethen 2013, "Approximation theory and
//! approximation practice"). With |Im s| ≤ b and θ = b/σ on that ellipse, u = 1 − q and v = qe^w:
//! - |φ(s+ib)| ≤ φ(s)·e^(b²/2);
//! - the argument of u + v·e^(iθ) grows with v and, for θ ≤ π/2, with θ; it is never above θ;
//! - |u + v·e^(iθ)|² = (u+v)²·(1 − 4p(1−p)·sin²(θ/2)) with p = v/(u+v), so |X(s+ib)| ≤ X(s), and not much less where p is small.

use super::ball::Ball;
use super::decay::Decay;
use super::fixed_size::rule;
use super::log_add;
use super::sampled::{Direction, Sampled};
use super::waves::{Grid, Waves};

/// Nodes in a panel.
pub(super) const NODES: usize = 40;
/// Parameters of the ellipses that are tried.
pub(super) const ELLIPSES: [f64; 5] = [1.7, 2.3, 3.2, 4.5, 7.0];
/// More panels than this are refused.
pub(super) const MOST_PANELS: usize = 8000;
/// Covers the rounding of exponents computed in plain floats, as a part of them.
pub(super) const SLACK: f64 = 1e-9;

/// Coarse cells of a bound on moments.
const COARSE: f64 = 240.0;

/// As many steps are few.
const FEW: f64 = 300.0;

/// A sampled step without its tails.
#[derive(Clone, Copy, Debug)]
pub(super) struct Truncated {
    pub(super) step: Sampled,
    pub(super) low: f64,
    pub(super) high: f64,
    /// At least P[N(0, 1) < low], below which the mixture has less.
    under: f64,
    /// P[N(0, 1) > high] and P[N(1/σ, 1) > high].
    over: (Ball, Ball),
}

/// The step on the line Re z = c.
pub(super) struct TruncatedLine {
    direction: Direction,
    /// M(c) − 1.
    real: Ball,
    waves: Option<Waves>,
    error: f64,
}

/// A part of the line.
pub(super) struct Panel {
    pub(super) middle: f64,
    pub(super) half: f64,
}

impl Truncated {
    /// Without tails of more than `tiny`, and a bound on their mass under the true database.
    pub(super) fn new(step: &Sampled, tiny: f64) -> (Self, f64) {
        let tail = |s: f64| Ball::exact(s).normal_tail().upper();
        let (rate, inverse) = (step.rate.upper(), 1.0 / step.sigma.lower());
        let low = {
            let mut s = 1.0;
            while tail(s) > tiny / 4.0 {
                s += 0.125;
            }
            -s
        };
        let above = |s: f64| tail(s) + rate * tail((s - inverse).next_down());
        // Where the mixture's second part weighs at all, it ends beyond its middle, at 1/σ: the search begins a little before that.
        let mut high = if rate > 0.24 * tiny {
            1.0 + ((inverse - 41.0).max(0.0) * 8.0).floor() / 8.0
        } else {
            1.0
        };
        while above(high) > tiny / 4.0 {
            high += 0.125;
        }
        let lost = match step.direction {
            Direction::Remove => (tail(-low) + above(high)) * (1.0 + SLACK),
            Direction::Add => (tail(-low) + tail(high)) * (1.0 + SLACK),
        };
        (Self::between(step, low, high), lost)
    }

    /// Outputs from σ·`low` < 0 to σ·`high` alone. Both are short binary fractions.
    fn between(step: &Sampled, low: f64, high: f64) -> Self {
        let moved = Ball::exact(high) - Ball::ONE.over(step.sigma);
        Self {
            step: *step,
            low,
            high,
            under: Ball::exact(-low).normal_tail().upper(),
            over: (Ball::exact(high).normal_tail(), moved.normal_tail()),
        }
    }

    /// The same, without all outputs above σ·`high` as well, which are counted by themselves (see `jumps`).
    pub(super) fn below(&self, high: f64) -> Self {
        Self::between(&self.step, self.low, high.min(self.high))
    }

    /// What is above the upper end: the mass of N(0, σ²) and of the mixture.
    pub(super) fn above(&self) -> (Ball, Ball) {
        let (plain, moved) = self.over;
        (plain, plain + self.step.rate * (moved - plain))
    }

    /// The real part of λ.
    fn exponent(&self, c: f64) -> f64 {
        match self.step.direction {
            Direction::Remove => 1.0 + c,
            Direction::Add => -c,
        }
    }

    /// At least ln of the bound on both integrands over the ellipse around a panel.
    fn log_height(&self, alpha: f64, tau: f64, panel: &Panel, rho: f64) -> f64 {
        let step = &self.step;
        let reach = panel.half * (rho + 1.0 / rho) / 2.0;
        let up = panel.half * (rho - 1.0 / rho) / 2.0;
        let theta = up / step.sigma.lower();
        if theta >= 3.0 {
            return f64::INFINITY;
        }
        let (left, right) = (panel.middle - reach, panel.middle + reach);
        let nearest = left.max(-right).max(0.0);
        let density = (up * up - nearest * nearest) / 2.0 - 0.91;
        let sigma = step.sigma.middle;
        let w = right / sigma - 0.5 / (sigma * sigma);
        let (u, v) = (1.0 - step.rate.middle, step.rate.middle * libm::exp(w.min(690.0)));
        let p = v / (u + v);
        let angle = if theta <= std::f64::consts::FRAC_PI_2 && w < 690.0 {
            let (sine, cosine) = libm::sincos(theta);
            libm::atan2(v * sine, u + v * cosine)
        } else {
            theta
        };
        let power = if alpha >= 0.0 {
            alpha * step.rough_loss(right)
        } else {
            let spread = if p < 0.5 { 4.0 * p * (1.0 - p) } else { 1.0 };
            let sine = libm::sin(theta / 2.0);
            alpha * (step.rough_loss(left) + 0.5 * libm::log1p(-spread * (1.0 + 1e-12) * sine * sine))
        };
        // X^λ and X^α, and 1 + |α|·|X − 1| with |X − 1| ≤ q(e^w + 1).
        let turned = power + libm::log1p(libm::exp(tau * angle)).min(tau * angle + 0.7);
        let turned = if turned.is_nan() {
            power + tau * angle + 0.7
        } else {
            turned
        };
        let rest = libm::log1p(alpha.abs() * (v + step.rate.middle));
        let sum = log_add(turned, rest);
        density + sum + SLACK * (1.0 + density.abs() + power.abs() + tau * angle)
    }

    /// At least the error of the rule on a panel.
    fn panel_error(&self, alpha: f64, tau: f64, panel: &Panel) -> f64 {
        let best = ELLIPSES
            .iter()
            .map(|rho| {
                let rate = -2.0 * (NODES as f64 - 1.0) * libm::log(*rho) - libm::log1p(-1.0 / (rho * rho));
                self.log_height(alpha, tau, panel, *rho) + rate
            })
            .fold(f64::INFINITY, f64::min);
        64.0 / 15.0 * 1.001 * libm::exp(best) * panel.half
    }

    /// Panels on which the rule errs by at most `tolerance` in all, and their errors.
    fn panels(&self, alpha: f64, tau: f64, tolerance: f64) -> Option<(Vec<Panel>, f64)> {
        let wide = self.high - self.low;
        let mut stack = vec![Panel {
            middle: f64::midpoint(self.low, self.high),
            half: 0.5 * wide,
        }];
        let (mut panels, mut sum) = (Vec::new(), 0.0);
        while let Some(panel) = stack.pop() {
            let error = self.panel_error(alpha, tau, &panel);
            if error <= tolerance * 0.5 * (panel.half / wide + 0.01) {
                sum += error;
                panels.push(panel);
                if panels.len() > MOST_PANELS {
                    return None;
                }
                continue;
            }
            let half = 0.5 * panel.half;
            if half < 1e-7 {
                return None;
            }
            for sign in [1.0, -1.0] {
                // Ends are halves of halves of eighths: exact.
                stack.push(Panel {
                    middle: panel.middle + sign * half,
                    half,
                });
            }
        }
        Some((panels, sum))
    }

    /// The step on the line Re z = c, at Im z = kη for k ≤ `count`, with M known to `tolerance`.
    pub(super) fn line(&self, c: f64, eta: f64, count: usize, tolerance: f64) -> Option<TruncatedLine> {
        let alpha = self.exponent(c);
        let (panels, error) = self.panels(alpha, eta * count as f64, tolerance)?;
        let number = match self.step.direction {
            // 1 + c is rounded.
            Direction::Remove => Ball::exact(alpha).widened(f64::EPSILON * alpha),
            Direction::Add => Ball::exact(alpha),
        };
        let mut grid = (count > 0).then(|| Grid::new(eta, count));
        let root = Ball::ONE.over((Ball::exact(2.0) * Ball::pi()).sqrt());
        let mut real = Ball::ZERO;
        for panel in &panels {
            let norm = root * Ball::exact(panel.half);
            for (x, weight) in rule(NODES) {
                let s = Ball::exact(panel.middle) + Ball::exact(panel.half) * *x;
                let loss = self.step.loss(s);
                let log_weight = -(s.square() * Ball::exact(0.5));
                let weight = norm * *weight;
                let tilt = number * loss;
                let plain = weight * log_weight.exp();
                let tilted = weight * (log_weight + tilt).exp();
                // ψ(αL) − αψ(L), see `sampled`.
                let power = if tilt.magnitude() > 0.5 {
                    tilted - plain - plain * tilt
                } else {
                    plain * tilt.exp_m1_less()
                };
                real = real + (power - number * (plain * loss.exp_m1_less()));
                if let Some(grid) = &mut grid {
                    grid.put(loss, tilted);
                }
            }
        }
        // The tails of φ and of φ(X − 1) above, and a bound on those below, where |X − 1| ≤ q.
        let (plain, mixture) = self.above();
        let real = real - plain - number * (mixture - plain);
        let tails = self.under * (1.0 + alpha.abs());
        let real = real.widened((error + tails) * (1.0 + SLACK));
        real.is_finite()
            .then(|| TruncatedLine::new(self.step.direction, real, grid.map(Grid::waves), error))
    }

    /// ln M(c), or more where M is too large for a float.
    pub(super) fn log_moment(&self, c: f64, tolerance: f64) -> Option<Ball> {
        let alpha = self.exponent(c);
        if alpha * self.step.rough_loss(self.high) < 300.0 {
            let found = self.line(c, 0.0, 0, tolerance).map(|line| line.real.ln_1p());
            if let Some(log_moment) = found.filter(|log_moment| log_moment.is_finite()) {
                return Some(log_moment);
            }
        }
        // Cell by cell, each at its end where φ and where X^α is largest; in fine cells where it matters.
        let exponent = |left: f64, right: f64| {
            let nearest = left.max(-right).max(0.0);
            let loss = self.step.rough_loss(if alpha >= 0.0 { right } else { left });
            alpha * loss - nearest * nearest / 2.0
        };
        let fine = 0.25 / (1.0 + alpha.abs() / self.step.sigma.lower());
        bound_by_cells((self.low, self.high), fine, exponent)
    }

    /// How fast |M(c + it)| falls, where M(c) ≤ `moment`; with more care where it is raised to a small power.
    pub(super) fn decay(&self, c: f64, moment: f64, times: f64) -> Decay {
        let (alpha, ends) = (self.exponent(c), (self.low, self.high));
        let decay = Decay::new(&self.step, alpha, moment, ends);
        if times < FEW {
            decay.moved_up(&self.step, alpha, ends)
        } else {
            decay
        }
    }
}

impl TruncatedLine {
    /// From M(c) − 1, the masses spread over their losses, and the quadrature's error.
    pub(super) fn new(direction: Direction, real: Ball, waves: Option<Waves>, error: f64) -> Self {
        Self {
            direction,
            real,
            waves,
            error: error * (1.0 + SLACK),
        }
    }

    /// M(c) − 1.
    pub(super) fn real(&self) -> Ball {
        self.real
    }

    /// M(c + ikη) − 1, and at least how far it is off.
    pub(super) fn less_one(&self, k: usize) -> ((f64, f64), f64) {
        let Some(waves) = &self.waves else {
            return ((self.real.middle, 0.0), self.real.radius);
        };
        let (re, im) = waves.values[k];
        let im = if self.direction == Direction::Remove {
            im
        } else {
            -im
        };
        let real = self.real.middle + re;
        let rounding = f64::EPSILON * (self.real.middle.abs() + re.abs());
        let off = waves.error(k) + self.real.radius + self.error + rounding;
        ((real, im), off * (1.0 + SLACK))
    }
}

/// At least ln ∫ φX^α over [low, high], from the largest exponent over [left, right] without φ's constant.
pub(super) fn bound_by_cells(
    (low, high): (f64, f64),
    fine: f64,
    exponent: impl Fn(f64, f64) -> f64,
) -> Option<Ball> {
    let fine = fine.max(1e-4);
    let coarse = (high - low) / COARSE;
    let ends = |i: u32| (low + coarse * f64::from(i), low + coarse * f64::from(i + 1));
    let peak = (0..COARSE as u32)
        .map(|i| {
            let middle = f64::midpoint(ends(i).0, ends(i).1);
            exponent(middle, middle)
        })
        .fold(f64::NEG_INFINITY, f64::max);
    let mut sum = f64::NEG_INFINITY;
    for i in 0..COARSE as u32 {
        let (left, right) = ends(i);
        let parts = if exponent(left, right) < peak - 50.0 {
            1.0
        } else {
            (coarse / fine).ceil()
        };
        let width = (right - left) / parts;
        for part in 0..parts as u32 {
            let from = left + width * f64::from(part);
            sum = log_add(
                sum,
                exponent(from, from + width * (1.0 + SLACK)) + libm::log(width),
            );
        }
    }
    let bound = sum - 0.91;
    let bound = bound + SLACK * (1.0 + bound.abs());
    bound.is_finite().then(|| Ball::exact(bound))
}
