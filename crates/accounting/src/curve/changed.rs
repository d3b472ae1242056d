//! The privacy loss of a Gaussian step on a Poisson sample, for neighbours that change one unit.
//!
//! # The worst pair
//! Given who else is in the sample, one step releases (1−q)·N(v, σ²) + q·N(v+x, σ²) on one database and (1−q)·N(v, σ²) + q·N(v+x', σ²) on the
//! other, with contributions |x|, |x'| ≤ 1 of the unit. Claim: at every ε the δ of that is largest for x' = −x, |x| = 1, so that
//!
//! ```text
//! P = (1−q)·N(0, σ²) + q·N(1, σ²),    Q = (1−q)·N(0, σ²) + q·N(−1, σ²)
//! ```
//!
//! is a dominating pair, and it is attained. Proof: let a = e^ε ≥ 1 and b = 1 + (a−1)/q ≥ a. Then P − aQ = q·(P₁ − aQ₁ − (b−a)P₀), with P₁, Q₁, P₀ the
//! densities N(v+x), N(v+x') and N(v), so
//!
//! ```text
//! δ(ε) = q·E[(1 − a·e^V − (b−a)·e^U)₊] under P₁,    U = ln(P₀/P₁), V = ln(Q₁/P₁).
//! ```
//!
//! Under P₁, U and V are jointly Gaussian, with e^U and e^V of mean 1 and covariances |x|²/σ², |x−x'|²/σ² and x·(x−x')/σ². These are at most
//! 1/σ², 4/σ² and 2/σ², which are those of x' = −x. By Kahane's inequality (1985: for a convex function of a sum of lognormal numbers of mean 1
//! with weights that are not negative, the expectation grows with each covariance) the expectation of y ↦ (1 − y)₊ is largest there. For ε < 0,
//! δ(ε) = 1 − e^ε + e^ε·δ'(−ε), with δ' that of Q against P, and the same bound holds for it.
//!
//! # Its moments
//! With s standard normal, X± = 1 − q + q·e^(±s/σ − 1/2σ²) and L± = ln X±, the loss is L₊ − L₋, which grows with s, and
//! M(z) = ∫ φ·X₊^(1+z)·X₋^(−z) ds. Changing back is turning s around: both directions are one. Outputs beyond ±σh are cut off as in `truncated`.
//! Since ∫φX± = 1 and the tails of φX₊ and φX₋ beyond ±h have the same mass,
//!
//! ```text
//! M(c) − 1 = ∫ φ·(X₊^(1+c)·X₋^(−c) − 1 − (1+c)(X₊−1) + c(X₋−1)) ds − (tails of φX₊),
//! ```
//!
//! and with y = (1+c)L₊ − cL₋ the bracket is ψ(y) − (1+c)ψ(L₊) + cψ(L₋). The integrals are taken by Gauss's rule on panels, as in `truncated`: X± of a
//! complex s are bounded as there, and their arguments have opposite signs, so |X₊^(it)·X₋^(−it)| ≤ e^(|t|·(|arg X₊| + |arg X₋|)).

use super::ball::Ball;
use super::decay::{Decay, Shift};
use super::fixed_size::rule;
use super::log_add;
use super::sampled::{Direction, Sampled};
use super::truncated::{ELLIPSES, MOST_PANELS, NODES, Panel, SLACK, TruncatedLine, bound_by_cells};
use super::waves::Grid;

/// A step without its far tails.
#[derive(Clone, Copy, Debug)]
pub(super) struct Changed {
    /// q, and σ over the norm of one contribution.
    pub(super) step: Sampled,
    pub(super) high: f64,
}

/// |u + v·e^(iθ)| over u + v, squared, at least, and its argument, at most, for 0 ≤ v.
fn turned(u: f64, v: f64, theta: f64) -> (f64, f64) {
    let (sine, cosine) = libm::sincos(theta);
    let angle = if theta <= std::f64::consts::FRAC_PI_2 {
        libm::atan2(v * sine, u + v * cosine)
    } else {
        theta
    };
    let p = v / (u + v);
    let spread = if p < 0.5 { 4.0 * p * (1.0 - p) } else { 1.0 };
    let half = libm::sin(theta / 2.0);
    (1.0 - (spread * (1.0 + 1e-12)).min(1.0) * half * half, angle)
}

impl Changed {
    /// Without tails of more than about `tiny`, and a bound on their mass.
    pub(super) fn new(step: &Sampled, tiny: f64) -> (Self, f64) {
        let mut high = 1.0;
        while Self::between(step, high).lost().upper() > tiny && high < 400.0 {
            high += 0.125;
        }
        let cut = Self::between(step, high);
        (cut, cut.lost().upper())
    }

    fn between(step: &Sampled, high: f64) -> Self {
        Self { step: *step, high }
    }

    /// The mass of P beyond both ends.
    fn lost(&self) -> Ball {
        let (end, mean) = (Ball::exact(self.high), Ball::ONE.over(self.step.sigma));
        let plain = end.normal_tail() * Ball::exact(2.0);
        let moved = (end - mean).normal_tail() + (end + mean).normal_tail();
        plain + self.step.rate * (moved - plain)
    }

    fn losses(&self, s: Ball) -> (Ball, Ball) {
        (self.step.loss(s), self.step.loss(-s))
    }

    /// (1+c)·L₊ − c·L₋ in plain floats, which grows: at its largest up to `right`.
    fn rough_power(&self, c: f64, right: f64) -> f64 {
        (1.0 + c) * self.step.rough_loss(right) - c * self.step.rough_loss(-right)
    }

    /// qe^w at s.
    fn share(&self, s: f64) -> f64 {
        let sigma = self.step.sigma.middle;
        self.step.rate.middle * libm::exp((s / sigma - 0.5 / (sigma * sigma)).min(600.0))
    }

    /// At least ln of the bound on both integrands over the ellipse around a panel.
    fn log_height(&self, c: f64, tau: f64, panel: &Panel, rho: f64) -> f64 {
        let reach = panel.half * (rho + 1.0 / rho) / 2.0;
        let up = panel.half * (rho - 1.0 / rho) / 2.0;
        let theta = up / self.step.sigma.lower();
        if theta >= 3.0 {
            return f64::INFINITY;
        }
        let (left, right) = (panel.middle - reach, panel.middle + reach);
        let nearest = left.max(-right).max(0.0);
        let density = (up * up - nearest * nearest) / 2.0 - 0.91;
        let u = 1.0 - self.step.rate.middle;
        // X₊ has its largest v at the right end, X₋ at the left.
        let (v_up, v_down) = (self.share(right), self.share(-left));
        let (_, angle_up) = turned(u, v_up, theta);
        let (shrunk, angle_down) = turned(u, v_down, theta);
        let power = self.rough_power(c, right) - 0.5 * c * libm::log(shrunk);
        let angle = tau * (angle_up + angle_down);
        // X^λ and X^α, and 1 + (1+c)·|X₊ − 1| + c·|X₋ − 1|.
        let moving = power + angle + std::f64::consts::LN_2;
        let rest =
            libm::log1p((1.0 + c) * (v_up + self.step.rate.middle) + c * (v_down + self.step.rate.middle));
        density + log_add(moving, rest) + SLACK * (1.0 + density.abs() + power.abs() + angle)
    }

    fn panel_error(&self, c: f64, tau: f64, panel: &Panel) -> f64 {
        let best = ELLIPSES
            .iter()
            .map(|rho| {
                let rate = -2.0 * (NODES as f64 - 1.0) * libm::log(*rho) - libm::log1p(-1.0 / (rho * rho));
                self.log_height(c, tau, panel, *rho) + rate
            })
            .fold(f64::INFINITY, f64::min);
        64.0 / 15.0 * 1.001 * libm::exp(best) * panel.half
    }

    /// Panels on which the rule errs by at most `tolerance` in all, and their errors.
    fn panels(&self, c: f64, tau: f64, tolerance: f64) -> Option<(Vec<Panel>, f64)> {
        let mut stack = vec![Panel {
            middle: 0.0,
            half: self.high,
        }];
        let (mut panels, mut sum) = (Vec::new(), 0.0);
        while let Some(panel) = stack.pop() {
            let error = self.panel_error(c, tau, &panel);
            if error <= tolerance * 0.5 * (0.5 * panel.half / self.high + 0.01) {
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
        let (panels, error) = self.panels(c, eta * count as f64, tolerance)?;
        let up = Ball::exact(1.0 + c).widened(f64::EPSILON * (1.0 + c));
        let down = Ball::exact(c);
        let mut grid = (count > 0).then(|| Grid::new(eta, count));
        let root = Ball::ONE.over((Ball::exact(2.0) * Ball::pi()).sqrt());
        let mut real = Ball::ZERO;
        for panel in &panels {
            let norm = root * Ball::exact(panel.half);
            for (x, weight) in rule(NODES) {
                let s = Ball::exact(panel.middle) + Ball::exact(panel.half) * *x;
                let (gain, loss) = self.losses(s);
                let log_weight = -(s.square() * Ball::exact(0.5));
                let weight = norm * *weight;
                let tilt = up * gain - down * loss;
                let plain = weight * log_weight.exp();
                let tilted = weight * (log_weight + tilt).exp();
                let power = if tilt.magnitude() > 0.5 {
                    tilted - plain - plain * tilt
                } else {
                    plain * tilt.exp_m1_less()
                };
                let straight = up * gain.exp_m1_less() - down * loss.exp_m1_less();
                real = real + (power - plain * straight);
                if let Some(grid) = &mut grid {
                    grid.put(gain - loss, tilted);
                }
            }
        }
        let real = (real - self.lost()).widened(error * (1.0 + SLACK));
        real.is_finite()
            .then(|| TruncatedLine::new(Direction::Remove, real, grid.map(Grid::waves), error))
    }

    /// ln M(c), or more where M is too large for a float.
    pub(super) fn log_moment(&self, c: f64, tolerance: f64) -> Option<Ball> {
        if self.rough_power(c, self.high) < 300.0 {
            let found = self.line(c, 0.0, 0, tolerance).map(|line| line.real().ln_1p());
            if let Some(log_moment) = found.filter(|log_moment| log_moment.is_finite()) {
                return Some(log_moment);
            }
        }
        let fine = 0.125 / (1.0 + c / self.step.sigma.lower());
        bound_by_cells((-self.high, self.high), fine, |left, right| {
            let nearest = left.max(-right).max(0.0);
            self.rough_power(c, right) - nearest * nearest / 2.0
        })
    }

    /// How fast |M(c + it)| falls, where M(c) ≤ `moment`: the line of integration moved up, where X₊ turns one way and X₋ the other.
    pub(super) fn decay(&self, c: f64, moment: f64) -> Decay {
        let u = 1.0 - self.step.rate.middle;
        Decay::of_shifts(&self.step, moment, |height, theta| {
            let log_size = |left: f64, right: f64| {
                let nearest = left.max(-right).max(0.0);
                let density = (height * height - nearest * nearest) / 2.0 - 0.918;
                let (shrunk, _) = turned(u, self.share(-left), theta);
                let power = self.rough_power(c, right) - 0.5 * c * libm::log(shrunk);
                density + power + 1e-9 * (1.0 + density.abs() + power.abs())
            };
            let argument = |left: f64, right: f64| {
                let (sine, cosine) = libm::sincos(theta);
                let least = |v: f64| libm::atan2(v * sine, u + v * cosine);
                least(self.share(left)) + least(self.share(-right))
            };
            Shift::over((-self.high, self.high), height, log_size, argument)
        })
    }
}

/// At least ln M(c) of the whole step.
pub(super) fn log_moment(step: &Sampled, c: f64, tolerance: f64) -> Option<Ball> {
    // Beyond h > 0, X₋ ≥ 1 − q, and the mass of φX₊^(1+c) is bounded as for a unit that comes; below −h, X₊ ≤ 1 ≤ X₋.
    let shrunk = libm::exp(-c * libm::log1p(-step.rate.upper())) * (1.0 + 1e-9);
    let mut high = 1.0;
    let tail = |s: f64| shrunk * step.right_tail(1.0 + c, 0.0, s) + Ball::exact(s).normal_tail().upper();
    while tail(high) > tolerance {
        high += 0.125;
        if high > 200.0 {
            return whole_bound(step, c);
        }
    }
    let cut = Changed::between(step, high);
    if cut.rough_power(c, high) < 300.0
        && let Some(line) = cut.line(c, 0.0, 0, tolerance)
    {
        let found = line.real().widened(tail(high)).ln_1p();
        if found.is_finite() {
            return Some(found);
        }
    }
    whole_bound(step, c)
}

/// Given whether the unit is in the sample, two Gaussians at most 2 apart; and a divergence of mixtures is at most the largest within.
fn whole_bound(step: &Sampled, c: f64) -> Option<Ball> {
    let mu_squared = 4.0 / (step.sigma.lower() * step.sigma.lower());
    let bound = 0.5 * c * (c + 1.0) * mu_squared * (1.0 + 1e-12);
    bound.is_finite().then(|| Ball::exact(bound))
}

/// Plain-float moments for choosing a contour: (s, width, L₊, L₋).
pub(super) struct RoughChanged(Vec<(f64, f64, f64, f64)>);

impl RoughChanged {
    pub(super) fn new(step: &Sampled, high: f64) -> Self {
        let count = ((2.0 * high) / (step.sigma.middle * 0.2).clamp(1e-2, 0.1)).ceil();
        let width = 2.0 * high / count;
        let nodes = (0..count as u32).map(|i| {
            let s = -high + width * (f64::from(i) + 0.5);
            (s, width, step.rough_loss(s), step.rough_loss(-s))
        });
        Self(nodes.collect())
    }

    /// ln M(c), and the mean and variance of the loss tilted by c.
    pub(super) fn at(&self, c: f64) -> (f64, f64, f64) {
        let exponent = |(s, _, up, down): &(f64, f64, f64, f64)| (1.0 + c) * up - c * down - s * s / 2.0;
        let shift = self.0.iter().map(exponent).fold(0.0f64, f64::max);
        let (mut sum, mut first, mut second) = (0.0, 0.0, 0.0);
        let norm = 1.0 / (2.0 * std::f64::consts::PI).sqrt();
        for node in &self.0 {
            let (s, width, up, down) = *node;
            let weight = norm * width * libm::exp(exponent(node) - shift);
            let plain = norm * width * libm::exp(-s * s / 2.0 - shift);
            let tilt = (1.0 + c) * up - c * down;
            let psi = |y: f64| {
                if y.abs() < 1e-3 {
                    y * y * (0.5 + y / 6.0 + y * y / 24.0)
                } else {
                    libm::expm1(y) - y
                }
            };
            sum += if tilt.abs() < 1e-3 {
                plain * (psi(tilt) - (1.0 + c) * psi(up) + c * psi(down))
            } else {
                weight - plain - plain * ((1.0 + c) * libm::expm1(up) - c * libm::expm1(down))
            };
            let loss = up - down;
            first += weight * loss;
            second += weight * loss * loss;
        }
        let moment = libm::exp(-shift) + sum;
        let log_moment = if shift == 0.0 {
            libm::log1p(sum)
        } else {
            shift + libm::log(moment)
        };
        let mean = first / moment;
        (log_moment, mean, (second / moment - mean * mean).max(0.0))
    }
}
