//! The privacy loss of a Poisson-sampled Gaussian step, through its moments.
//!
//! One step releases N(0, σ²) without the unit, and (1−q)·N(0, σ²) + q·N(1, σ²) with it. Write s for a standard normal number,
//! w = s/σ − 1/2σ² and X = 1 − q + q·e^w, the ratio of the two densities at σs. The loss of removing the unit is ln X under
//! the mixture, that of adding it −ln X under N(0, σ²), and their moments are one integral,
//!
//! ```text
//! M(z) = E[e^(z·loss)] = E[X^λ],   λ = 1 + z when the unit is removed, λ = −z when it is added.
//! ```
//!
//! Since E[X] = 1, M − 1 = E[X^λ − 1 − λ(X−1)], an integrand of order q² that computes M − 1 to relative precision, whatever the
//! number of steps. With L = ln X it is ψ(λL) − λψ(L), where ψ(y) = e^y − 1 − y.
//!
//! # The integral
//! It is taken by the trapezoidal rule with nodes kh. For f analytic in |Im s| < a with ∫|f(s+ib)|ds ≤ N for all |b| < a, the rule
//! is within 2N/(e^(2πa/h) − 1) (Trefethen and Weideman 2014, "The exponentially convergent trapezoidal rule").
//! X has its zeros at Im w = ±π, so f is analytic for θ = a/σ < π. On the strip, with α = Re λ and τ = |Im λ|,
//! - |φ(s+ib)| ≤ φ(s)·e^(a²/2);
//! - |X^λ| ≤ |X|^α·e^(τθ), because the argument of 1−q+q·e^w lies between 0 and that of e^w;
//! - |X(s+ib)| ≤ X(s), and ≥ cos(θ/2)·X(s): |u + v·e^(iθ)| ≥ (u+v)·cos(θ/2) for u, v ≥ 0;
//! - E|X−1| ≤ 2q on the strip, up to the factor e^(a²/2) above.
//!
//! Hence N ≤ e^(a²/2)·(e^(τθ)·S·M̄(α) + 1 + 2q|λ|), S = 1 for α ≥ 0 and cos(θ/2)^α below, M̄(α) ≥ E[X^α].
//! Nodes beyond [−s₋, s₊] are left out; there ln X grows by at most 1/σ per unit of s, which bounds them by Gaussian tails.

use super::ball::{Ball, Complex};
use super::contour::LEAST_SIGMA;
use super::decay::Decay;
use super::log_add;

/// More nodes than this are refused: the caller has another way.
const MOST_NODES: f64 = 20_000.0;
/// Relative slack that covers the rounding of bounds computed in plain floats, whose logarithms are below 1e6.
const SLACK: f64 = 1e-6;

/// Which neighbour is the true database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// The unit is there, and is removed.
    Remove,
    /// The unit is not there, and is added.
    Add,
}

/// One Poisson-sampled Gaussian step, 0 < q < 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sampled {
    pub(super) rate: Ball,
    pub(super) sigma: Ball,
    pub(super) direction: Direction,
}

/// The step prepared for z = c + it with |t| up to a stated limit.
pub(super) struct Line {
    pub(super) direction: Direction,
    /// M(c) − 1.
    pub(super) real: Ball,
    /// Σ wψ(L).
    pub(super) drift: Ball,
    pub(super) nodes: Vec<Node>,
    /// The rest of the integral: quadrature and truncation.
    pub(super) error: f64,
}

/// A node, in the form the sums over t need.
pub(super) struct Node {
    /// L.
    pub(super) loss: Ball,
    /// w, the weight.
    pub(super) weight: Ball,
    /// w·e^(αL).
    pub(super) tilted: Ball,
    /// w·(e^(αL) − 1).
    pub(super) excess: Ball,
}

impl Sampled {
    /// λ at z = c + it: its real part, and ± its imaginary part.
    fn exponent(&self, c: f64) -> f64 {
        match self.direction {
            Direction::Remove => 1.0 + c,
            Direction::Add => -c,
        }
    }

    /// L = ln(1 − q + q·e^w) at s.
    pub(super) fn loss(&self, s: Ball) -> Ball {
        let inverse = Ball::ONE.over(self.sigma);
        let w = inverse * (s - inverse * Ball::exact(0.5));
        (self.rate * w.exp_m1()).ln_1p()
    }

    /// The same in plain floats, for bounds that carry their own slack, and for choosing.
    pub(super) fn rough_loss(&self, s: f64) -> f64 {
        let w = s / self.sigma.middle - 0.5 / (self.sigma.middle * self.sigma.middle);
        if w > 700.0 {
            return w + libm::log(self.rate.middle);
        }
        libm::log1p(self.rate.middle * libm::expm1(w))
    }

    /// At least ln E[X^α], for α ≥ 1 or α ≤ 0.
    ///
    /// Above 1: x^α is convex, so X^α ≤ 1−q + q·e^(αw) in the mean; and ln E[X^α] is convex in α, so it lies under the chord between the
    /// whole numbers next to α, where the binomial theorem gives it exactly. Below 0: X ≥ 1 − q.
    pub(super) fn log_moment_bound(&self, alpha: f64) -> f64 {
        let (q, sigma) = (self.rate.upper(), self.sigma.lower());
        let pair = |j: f64| j * (j - 1.0) / (2.0 * sigma * sigma);
        let convex = log_add(0.0, libm::log(q) + pair(alpha));
        let binomial = |n: f64| {
            let (mut sum, mut choose) = (f64::NEG_INFINITY, 0.0);
            for j in 0..=n as u32 {
                let j = f64::from(j);
                sum = log_add(
                    sum,
                    choose + (n - j) * libm::log1p(-q) + j * libm::log(q) + pair(j),
                );
                choose += libm::log((n - j).max(0.5)) - libm::log(j + 1.0);
            }
            sum.max(0.0)
        };
        let other = if alpha <= 0.0 {
            alpha * libm::log1p(-q)
        } else if alpha <= 1.0 {
            0.0
        } else if alpha < 1000.0 {
            let below = alpha.floor();
            let part = alpha - below;
            let chord = if part > 0.0 {
                part * binomial(below + 1.0)
            } else {
                0.0
            };
            (1.0 - part) * binomial(below) + chord
        } else {
            f64::INFINITY
        };
        // A thousand terms, each with logarithms in the thousands, are off by 1e-9 of themselves at most.
        convex.min(other) * (1.0 + 1e-9) + 1e-12
    }

    /// At least ln E[X^(−θ)] for θ > 0, in a hundredth of the time of the integral: cell by cell.
    ///
    /// E[X^(−θ)] = 1 + E[g(X − 1)] with g(y) = (1+y)^(−θ) − 1 + θy, since E[X] = 1. It is convex with g(0) = 0 ≤ g, so over a cell it is at most its larger
    /// end; where θ|y| is small it is at most θ(θ+1)y²/2·(1+min(y,0))^(−θ−2). Above the cells g(y) ≤ θy ≤ θqe^w, whose integral is a normal tail, and below
    /// them y ≥ −q.
    pub(super) fn log_moment_of_adding(&self, theta: f64) -> f64 {
        const CELLS: u32 = 300;
        let (q, sigma) = (self.rate.upper(), self.sigma.lower());
        if sigma < LEAST_SIGMA {
            // Cells would have to hold e^w where it is more than a float; X ≥ 1 − q.
            return -theta * libm::log1p(-q) * (1.0 + SLACK);
        }
        let g = |y: f64| {
            if theta * y.abs() < 1e-3 && y.abs() < 1e-3 {
                let last = libm::exp(-(theta + 2.0) * libm::log1p(y.min(0.0)));
                return 0.5 * theta * (theta + 1.0) * y * y * last;
            }
            // Each part is known to a few units in the last place, and g is at least a millionth of them.
            (libm::expm1(-theta * libm::log1p(y)) + theta * y) * (1.0 + 1e-8)
        };
        let (low, high) = (-9.0, 10.0 + 1.0 / sigma);
        let width = (high - low) / f64::from(CELLS);
        let y = |s: f64| q * libm::expm1((s / sigma - 0.5 / (sigma * sigma)).min(600.0));
        let mut last = g(y(low));
        let mut sum = 0.0;
        for i in 0..CELLS {
            let (left, right) = (low + width * f64::from(i), low + width * f64::from(i + 1));
            let next = g(y(right));
            let nearest = left.max(-right).max(0.0);
            sum += last.max(next) * libm::exp(-nearest * nearest / 2.0) * 0.3990 * width;
            last = next;
        }
        let above = theta * q * Ball::exact(high - 1.0 / sigma).normal_tail().upper();
        let below = g(-q) * Ball::exact(-low).normal_tail().upper();
        libm::log1p((sum + above + below) * (1.0 + SLACK)) * (1.0 + SLACK)
    }

    /// At least the error of the trapezoidal rule with step `h` that a strip of half-width `a` proves, as a logarithm.
    fn log_quadrature_error(&self, (alpha, moment): (f64, f64), tau: f64, h: f64, a: f64) -> f64 {
        let theta = a / self.sigma.lower();
        let shrunk = if alpha < 0.0 {
            alpha * libm::log(libm::cos(theta / 2.0))
        } else {
            0.0
        };
        let power = tau * theta + shrunk + moment;
        let rest = libm::log(1.0 + 2.0 * self.rate.upper() * (alpha.abs() + tau));
        let norm = a * a / 2.0 + log_add(power, rest);
        let decay = std::f64::consts::TAU * a / h;
        // 2N/(e^x − 1) ≤ 2N·e^(−x)·1.6 for x ≥ 1.
        libm::log(3.2) + (norm - decay) + SLACK * (norm.abs() + decay)
    }

    /// The step and the strip for which the rule errs by at most `tolerance`.
    fn step(&self, alpha: f64, tau: f64, tolerance: f64) -> Option<(f64, f64)> {
        let widest = 0.98 * std::f64::consts::PI * self.sigma.lower();
        let wanted = libm::log(tolerance);
        let alpha = (alpha, self.log_moment_bound(alpha));
        let mut best: Option<(f64, f64)> = None;
        for part in 1..=24 {
            let a = widest.min(12.0) * f64::from(part) / 24.0;
            // The error is e^(norm − 2πa/h): solve for h, then ask again.
            let norm = self.log_quadrature_error(alpha, tau, f64::INFINITY, a) - wanted;
            let h = std::f64::consts::TAU * a * (1.0 - 4.0 * SLACK) / (norm + 1.0).max(2.0);
            // A short binary fraction, so that every kh is exact.
            let h = (h.min(1.0) * 16_777_216.0).floor() / 16_777_216.0;
            if h > 0.0
                && self.log_quadrature_error(alpha, tau, h, a) <= wanted
                && best.is_none_or(|(largest, _)| h > largest)
            {
                best = Some((h, a));
            }
        }
        best
    }

    /// At least what nodes above `s` add, both parts of λ included.
    pub(super) fn right_tail(&self, alpha: f64, size: f64, s: f64) -> f64 {
        let slope = 1.0 / self.sigma.lower();
        let steepest = slope * alpha.max(1.0);
        if s <= steepest + 0.5 {
            return f64::INFINITY;
        }
        let density = -s * s / 2.0 - 0.918_938_533_204_672_7;
        let loss = self.rough_loss(s);
        let power = if alpha >= 0.0 {
            libm::exp((density + alpha * loss) + SLACK) / (s - slope * alpha)
        } else {
            libm::exp(density + alpha * libm::log1p(-self.rate.upper()) + SLACK) / s
        };
        // q|e^w − 1| ≤ X + 1.
        let rest = libm::exp(density) / s * (1.0 + size) + size * libm::exp(density + loss) / (s - slope);
        (power + rest) * (1.0 + SLACK)
    }

    /// At least what nodes below −`s` add: there e^w ≤ 1, so X ≤ 1, X ≥ 1−q and |X − 1| ≤ q.
    fn left_tail(&self, alpha: f64, size: f64, s: f64) -> f64 {
        let largest = libm::exp(alpha.min(0.0) * libm::log1p(-self.rate.upper()));
        libm::exp(-s * s / 2.0) / s * (largest + 1.0 + size) * (1.0 + SLACK)
    }

    /// The step on the line Re z = c, for |Im z| ≤ `t`, with M known up to `tolerance`. `None` when that takes too many nodes.
    pub(super) fn line(&self, c: f64, t: f64, tolerance: f64) -> Option<Line> {
        let alpha = self.exponent(c);
        let size = alpha.abs() + t;
        let (h, _) = self.step(alpha, t, tolerance / 3.0)?;
        let mut right = 1.0;
        while self.right_tail(alpha, size, right) > tolerance / 3.0 {
            right += 0.25;
            if right / h > MOST_NODES {
                return None;
            }
        }
        let mut left = 1.0;
        while self.left_tail(alpha, size, left) > tolerance / 3.0 {
            left += 0.25;
            if left / h > MOST_NODES {
                return None;
            }
        }
        let (first, last) = (-(left / h).ceil(), (right / h).ceil());
        let alpha = Ball::exact(alpha);
        let alpha = match self.direction {
            // 1 + c is rounded.
            Direction::Remove => alpha.widened(f64::EPSILON * alpha.middle),
            Direction::Add => alpha,
        };
        let scale = Ball::exact(h).over((Ball::exact(2.0) * Ball::pi()).sqrt());
        let mut line = Line {
            direction: self.direction,
            real: Ball::ZERO,
            drift: Ball::ZERO,
            nodes: Vec::with_capacity((last - first) as usize + 1),
            error: tolerance,
        };
        let mut k = first;
        while k <= last {
            let s = k * h;
            let loss = self.loss(Ball::exact(s));
            let log_weight = -(Ball::exact(s).square() * Ball::exact(0.5));
            let weight = scale * log_weight.exp();
            let tilt = alpha * loss;
            let tilted = scale * (log_weight + tilt).exp();
            let (excess, power) = if tilt.magnitude() > 0.5 {
                (tilted - weight, tilted - weight - weight * tilt)
            } else {
                (weight * tilt.exp_m1(), weight * tilt.exp_m1_less())
            };
            let drift = weight * loss.exp_m1_less();
            line.real = line.real + (power - alpha * drift);
            line.drift = line.drift + drift;
            line.nodes.push(Node {
                loss,
                weight,
                tilted,
                excess,
            });
            k += 1.0;
        }
        line.real.is_finite().then_some(line)
    }

    /// How fast |M(c + it)| falls, where M(c) ≤ `moment`.
    pub(super) fn decay(&self, c: f64, moment: f64) -> Decay {
        Decay::new(self, self.exponent(c), moment, (-9.0, f64::INFINITY))
    }
}

/// Plain-float moments of the tilted loss, for choosing a contour. A bad choice costs tightness, never truth.
pub(super) struct Rough {
    distribution: Sampled,
    /// Whether outputs end somewhere: then all are among `nodes`.
    ends: bool,
    /// For a sample of fixed size, the losses above 0 count in both directions and those below not at all.
    fixed_size: bool,
    step: f64,
    /// (s, what it stands for, L) from −9 on.
    nodes: Vec<(f64, f64, f64)>,
}

impl Rough {
    const FIRST: f64 = -9.0;

    pub(super) fn new(distribution: &Sampled, fixed_size: bool, end: f64) -> Self {
        let step = (distribution.sigma.middle * 0.4).clamp(1e-3, 0.25);
        let mut nodes = Vec::new();
        let mut fill = |from: f64, to: f64, count: usize, middle: f64| {
            let width = (to - from) / count as f64;
            nodes.extend((0..count).map(|i| {
                let s = from + width * (i as f64 + middle);
                (s, width, distribution.rough_loss(s))
            }));
        };
        let ends = end.is_finite();
        if ends {
            // The tilted mass may sit at the end, where it rises steeply.
            let last = end - (0.3 * (end - Self::FIRST)).min(6.0 * step.max(0.1));
            fill(
                Self::FIRST,
                last,
                ((last - Self::FIRST) / step).ceil() as usize,
                0.5,
            );
            fill(last, end, 120, 0.5);
        } else {
            let count = (50.0 / step) as usize;
            fill(Self::FIRST, Self::FIRST + step * count as f64, count, 0.0);
        }
        Self {
            distribution: *distribution,
            ends,
            fixed_size,
            step,
            nodes,
        }
    }

    /// ln M(c), and the mean and variance of the loss tilted by c.
    pub(super) fn at(&self, c: f64) -> (f64, f64, f64) {
        let alpha = self.distribution.exponent(c);
        let hump = 9.0 + alpha.max(0.0) / self.distribution.sigma.middle;
        // In units of e^shift, so that nothing overflows.
        let (mut sum, mut first, mut second, mut shift, mut peak) = (0.0, 0.0, 0.0, 0.0, f64::NEG_INFINITY);
        let norm = 1.0 / (2.0 * std::f64::consts::PI).sqrt();
        for i in 0.. {
            let (s, width, loss) = match self.nodes.get(i as usize) {
                Some(node) => *node,
                None if self.ends => break,
                None => {
                    let s = Self::FIRST + self.step * f64::from(i);
                    (s, self.step, self.distribution.rough_loss(s))
                }
            };
            let exponent = alpha * loss - s * s / 2.0;
            peak = peak.max(exponent);
            // The tilted distribution may have a second hump, at most α/σ away.
            if (exponent < peak - 60.0 && s > hump) || i > 100_000 {
                break;
            }
            if exponent > shift + 300.0 {
                let factor = libm::exp(shift - exponent);
                (sum, first, second, shift) = (sum * factor, first * factor, second * factor, exponent);
            }
            let weight = norm * width * libm::exp(exponent - shift);
            let plain = norm * width * libm::exp(-s * s / 2.0 - shift);
            // M − 1 rather than M, whose digits the number of steps would need.
            let tilt = alpha * loss;
            if self.fixed_size {
                if loss > 0.0 {
                    let back = plain * libm::exp(-c * loss);
                    sum += (weight - plain - plain * libm::expm1(loss)) - plain * -libm::expm1(-c * loss);
                    first += (weight - back) * loss;
                    second += (weight + back) * loss * loss;
                }
                continue;
            }
            sum += if tilt.abs() < 1e-3 && loss.abs() < 1e-3 {
                let small = |y: f64| y * y * (0.5 + y / 6.0 + y * y / 24.0);
                plain * (small(tilt) - alpha * small(loss))
            } else {
                weight - plain - alpha * plain * libm::expm1(loss)
            };
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
        let sign = if self.distribution.direction == Direction::Remove {
            1.0
        } else {
            -1.0
        };
        (log_moment, sign * mean, (second / moment - mean * mean).max(0.0))
    }
}

impl Line {
    /// M(c) − 1.
    pub(super) fn real(&self) -> Ball {
        self.real.widened(self.error)
    }

    /// M(c + it) − 1.
    pub(super) fn less_one(&self, t: f64) -> Complex {
        // λ = α ± it. The conjugate of M − 1 belongs to the conjugate of λ.
        let half = Ball::exact(0.5 * t);
        let two = Ball::exact(2.0);
        let (mut lost, mut im) = (Ball::ZERO, Ball::ZERO);
        for node in &self.nodes {
            let angle = half * node.loss;
            let (sine_half, cosine_half) = angle.sin_cos();
            let sine = two * sine_half * cosine_half;
            lost = lost + node.tilted * sine_half.square();
            im = im + (node.excess * sine - node.weight * (two * angle).less_sine(sine));
        }
        im = im - Ball::exact(t) * self.drift;
        let re = self.real - two * lost;
        let im = if self.direction == Direction::Remove {
            im
        } else {
            -im
        };
        Complex::new(re, im).widened(self.error)
    }

    /// How many nodes it has: what one t costs.
    pub(super) fn nodes(&self) -> usize {
        self.nodes.len()
    }
}
