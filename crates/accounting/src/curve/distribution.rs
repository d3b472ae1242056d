//! The distributions of privacy loss that a curve is composed of.
//!
//! For outputs P on one database and Q on its neighbour, the loss is L = ln(dP/dQ) under P, and its moments are M(z) = E[e^(zL)].
//! Each distribution below is a *dominating pair* of its event: at every ε its δ is at least that of the event for any neighbours. The loss
//! of a composition is dominated by the sum of independent losses of dominating pairs (Zhu, Dong and Wang 2022, "Optimal accounting
//! of differential privacy via characteristic function"), so moments multiply.

use super::ball::{Ball, Complex};
use super::changed::{self, Changed, RoughChanged};
use super::decay::Decay;
use super::fixed_size;
use super::log_add;
use super::sampled::{Direction, Line as SampledLine, Rough, Sampled};
use super::truncated::{Truncated, TruncatedLine};

/// One distribution of loss.
#[derive(Clone, Copy, Debug)]
pub(super) enum LossDistribution {
    /// Gaussian noise, or several together: L is normal with variance μ² and mean μ²/2. M = e^(z(z+1)μ²/2).
    Gaussian {
        /// Δ²/σ², summed.
        mu_squared: Ball,
    },
    /// Laplace noise: L has an atom at ε (1/2) and at −ε (e^−ε/2) and the density e^((l−ε)/2)/4 between them.
    Laplace {
        /// Δ/b.
        epsilon: Ball,
    },
    /// Randomized response: L = ε with probability e^ε/(e^ε+k−1), −ε with 1/(e^ε+k−1), and 0 otherwise. With k = 2 it dominates
    /// every ε-DP mechanism (Kairouz, Oh and Viswanath 2015).
    Response {
        /// Its ε.
        epsilon: Ball,
        /// k − 2.
        indifferent: Ball,
    },
    /// Bounded range ε: L has the density e^(l/2)/(4·sinh(ε/2)) on [−ε, ε].
    ///
    /// A mechanism whose losses lie in an interval of length ε has, for some t in [0, ε], no larger δ than the two losses t and t−ε
    /// (Dong, Durfee and Rogers 2020). At ε' that pair has δ = (e^ε − e^t)(1 − e^(ε'−t))/(e^ε − 1), largest for t = (ε+ε')/2:
    /// δ(ε') ≤ (e^(ε/2) − e^(ε'/2))²/(e^ε − 1). As a function of x = e^ε' this is convex, joins 1 − x at e^−ε and 0 at e^ε with
    /// equal slopes, so it is the profile of a pair, whose distribution of loss is x·δ''(x)·x dl = the density above.
    BoundedRange {
        /// Its ε.
        epsilon: Ball,
    },
    /// A step of training on a Poisson sample.
    Sampled(Sampled),
    /// The same without its far tails: what a contour is made of.
    Truncated(Truncated),
    /// A step of training on a sample of fixed size.
    FixedSize(Sampled),
    /// A step of training on a Poisson sample, for a unit that changes.
    Changed(Sampled),
    /// The same without its far tails.
    CutChanged(Changed),
    /// Discrete Gaussian noise on one number: lattice only.
    DiscreteGaussian {
        /// σ² in grid steps.
        variance: Ball,
        /// Δ in grid steps.
        sensitivity: f64,
    },
}

/// A distribution prepared on the line Re z = c.
pub(super) enum Line {
    Closed(LossDistribution, f64),
    Sampled(SampledLine),
    Truncated(TruncatedLine),
}

impl LossDistribution {
    /// Whether its moments can be had on a line at all.
    pub(super) fn has_lines(&self) -> bool {
        !matches!(self, LossDistribution::DiscreteGaussian { .. })
    }

    /// The distribution on the line Re z = c at Im z = kη for k ≤ `count`, with M known to `tolerance` where it is an integral.
    pub(super) fn line(&self, c: f64, eta: f64, count: usize, tolerance: f64) -> Option<Line> {
        let t = eta * count as f64;
        match self {
            LossDistribution::Truncated(step) => step.line(c, eta, count, tolerance).map(Line::Truncated),
            LossDistribution::CutChanged(step) => step.line(c, eta, count, tolerance).map(Line::Truncated),
            // Contours are made of what is cut.
            LossDistribution::Changed(_) => None,
            LossDistribution::Sampled(distribution) => distribution.line(c, t, tolerance).map(Line::Sampled),
            LossDistribution::FixedSize(distribution) => {
                fixed_size::line(distribution, c, t, tolerance).map(Line::Sampled)
            }
            LossDistribution::DiscreteGaussian { .. } => None,
            other => Some(Line::Closed(*other, c)),
        }
    }

    /// ln M(c), or more where the distribution has no closed form. `None` when it could not be had.
    pub(super) fn log_moment(&self, c: f64, tolerance: f64) -> Option<Ball> {
        if let LossDistribution::DiscreteGaussian {
            variance,
            sensitivity,
        } = self
        {
            // It has no larger moments than Gaussian noise (Canonne, Kamath and Steinke 2020).
            let mu_squared = Ball::exact(*sensitivity).square().over(*variance);
            return LossDistribution::Gaussian { mu_squared }.log_moment(c, tolerance);
        }
        match self {
            LossDistribution::Truncated(step) => return step.log_moment(c, tolerance),
            LossDistribution::CutChanged(step) => return step.log_moment(c, tolerance),
            LossDistribution::Changed(step) => return changed::log_moment(step, c, tolerance),
            _ => {}
        }
        let found = self.line(c, 0.0, 0, tolerance).map(|line| match line {
            Line::Sampled(line) => line.real().ln_1p(),
            closed => {
                let ((middle, _), off) = closed.ln(0, 0.0);
                Ball::exact(middle).widened(off)
            }
        });
        found
            .filter(|log_moment| log_moment.is_finite())
            .or_else(|| self.log_moment_bound(c))
    }

    /// At least ln M(c), for moments too large for a float.
    fn log_moment_bound(&self, c: f64) -> Option<Ball> {
        let bound = match (self, self.largest_loss()) {
            (_, Some(largest)) => (Ball::exact(c) * largest).upper(),
            (LossDistribution::Sampled(distribution), _) => distribution.log_moment_bound(1.0 + c),
            // M − 1 is at most the integral of φX^(1+c) over all s.
            (LossDistribution::FixedSize(distribution), _) => {
                log_add(0.0, distribution.log_moment_bound(1.0 + c)) * (1.0 + 1e-15)
            }
            _ => return None,
        };
        bound.is_finite().then(|| Ball::exact(bound))
    }

    /// The largest loss, where there is one.
    pub(super) fn largest_loss(&self) -> Option<Ball> {
        match self {
            LossDistribution::Laplace { epsilon }
            | LossDistribution::Response { epsilon, .. }
            | LossDistribution::BoundedRange { epsilon } => Some(*epsilon),
            // Whoever adds a unit loses at most what its absence could have shown: X ≥ 1 − q.
            LossDistribution::Sampled(distribution) if distribution.direction == Direction::Add => {
                Some(-(-distribution.rate).ln_1p())
            }
            LossDistribution::Gaussian { .. }
            | LossDistribution::Sampled(_)
            | LossDistribution::Truncated(_)
            | LossDistribution::FixedSize(_)
            | LossDistribution::Changed(_)
            | LossDistribution::CutChanged(_)
            | LossDistribution::DiscreteGaussian { .. } => None,
        }
    }

    /// M(z) − 1 for closed forms; for Gaussian noise, whose logarithm is simpler, ln M(z).
    fn closed(&self, z: Complex) -> Complex {
        let one = Complex::ONE;
        let real = |ball: Ball| Complex::new(ball, Ball::ZERO);
        match self {
            LossDistribution::Gaussian { mu_squared } => {
                (z * (z + one)).scale(*mu_squared * Ball::exact(0.5))
            }
            // M − 1 = [(z+1)ψ(zε) + zψ(−(z+1)ε)]/(2z+1).
            LossDistribution::Laplace { epsilon } => {
                let up = (z + one) * z.scale(*epsilon).exp_m1_less();
                let down = z * (-(z + one).scale(*epsilon)).exp_m1_less();
                (up + down).over(z + z + one)
            }
            // M − 1 = [e^ε·ψ(zε) + ψ(−zε) + zε(e^ε − 1)]/(e^ε + k − 1).
            LossDistribution::Response { epsilon, indifferent } => {
                let turned = z.scale(*epsilon);
                let weight = epsilon.exp();
                let sum = turned.exp_m1_less().scale(weight)
                    + (-turned).exp_m1_less()
                    + turned.scale(epsilon.exp_m1());
                sum.over(real(weight + Ball::ONE + *indifferent))
            }
            LossDistribution::BoundedRange { epsilon } => {
                // M = [e^((z+½)ε) − e^(−(z+½)ε)]/((2z+1)·2·sinh(ε/2)), and the bracket is e^(ε/2)·e^(zε) − e^(−ε/2)·e^(−zε)
                // = e^(ε/2)ψ(zε) − e^(−ε/2)ψ(−zε) + 2·sinh(ε/2) + 2zε·cosh(ε/2). Taking 1 away leaves the first two terms and
                // z·(2ε·cosh(ε/2) − 4·sinh(ε/2)).
                let half = *epsilon * Ball::exact(0.5);
                let (grown, shrunk) = (half.exp(), (-half).exp());
                let turned = z.scale(*epsilon);
                let two = Ball::exact(2.0);
                let double_sine = half.exp_m1() - (-half).exp_m1();
                // With y = ε/2: cosh y = 1 + (ψ(y) + ψ(−y))/2 and sinh y = y + (ψ(y) − ψ(−y))/2.
                let (up, down) = (half.exp_m1_less(), (-half).exp_m1_less());
                let linear = *epsilon * (up + down) - two * (up - down);
                let sum = turned.exp_m1_less().scale(grown) - (-turned).exp_m1_less().scale(shrunk)
                    + z.scale(linear);
                sum.over((z + z + one).scale(double_sine))
            }
            LossDistribution::Sampled(_)
            | LossDistribution::Truncated(_)
            | LossDistribution::FixedSize(_)
            | LossDistribution::Changed(_)
            | LossDistribution::CutChanged(_)
            | LossDistribution::DiscreteGaussian { .. } => Complex::ZERO,
        }
    }

    /// At least ln|M(c + it')| for all t' ≥ t, to be raised to this power.
    pub(super) fn decay(&self, c: f64, log_moment: f64, times: f64) -> Falling {
        match self {
            LossDistribution::Gaussian { mu_squared } => Falling::Gaussian {
                log_moment,
                mu_squared: mu_squared.lower().max(0.0),
            },
            LossDistribution::Laplace { epsilon } => {
                let epsilon = epsilon.middle;
                let beta = c + 0.5;
                let slack = 1e-9 + 1e-15 * beta * epsilon;
                let atoms = libm::log(0.5) + c * epsilon + libm::log1p(libm::exp(-(1.0 + 2.0 * c) * epsilon));
                Falling::Density {
                    log_moment,
                    atoms: atoms + slack,
                    beta,
                    // ∫ ¼e^(−ε/2)·e^((β+it)l) dl over [−ε, ε] is at most ½e^(−ε/2)·cosh(βε)/|β+it|.
                    edges: libm::log(0.25)
                        + (beta - 0.5) * epsilon
                        + libm::log1p(libm::exp(-2.0 * beta * epsilon))
                        + slack,
                }
            }
            LossDistribution::BoundedRange { epsilon } => {
                let epsilon = epsilon.middle;
                let beta = c + 0.5;
                // C = 1/(4·sinh(ε/2)) and ∫ C·e^((β+it)l) dl is at most 2C·cosh(βε)/|β+it|.
                let cosh = beta * epsilon + libm::log1p(libm::exp(-2.0 * beta * epsilon));
                Falling::Density {
                    log_moment,
                    atoms: f64::NEG_INFINITY,
                    beta,
                    edges: cosh - libm::log(4.0 * libm::sinh(epsilon / 2.0)) + 1e-9 + 1e-15 * beta * epsilon,
                }
            }
            LossDistribution::Response { .. }
            | LossDistribution::DiscreteGaussian { .. }
            | LossDistribution::Changed(_) => Falling::Never { log_moment },
            LossDistribution::Sampled(_) | LossDistribution::FixedSize(_) if log_moment > 600.0 => {
                Falling::Never { log_moment }
            }
            LossDistribution::Truncated(_) | LossDistribution::CutChanged(_) if log_moment > 600.0 => {
                Falling::Never { log_moment }
            }
            LossDistribution::Truncated(step) => {
                Falling::Sampled(step.decay(c, libm::exp(log_moment), times))
            }
            LossDistribution::CutChanged(step) => Falling::Sampled(step.decay(c, libm::exp(log_moment))),
            LossDistribution::Sampled(distribution) => {
                Falling::Sampled(distribution.decay(c, libm::exp(log_moment)))
            }
            LossDistribution::FixedSize(distribution) => {
                Falling::Sampled(fixed_size::decay(distribution, c, libm::exp(log_moment)))
            }
        }
    }
}

impl Line {
    /// ln M(c + ikη), up to full turns, and at least how far it is off.
    pub(super) fn ln(&self, k: usize, eta: f64) -> ((f64, f64), f64) {
        let t = k as f64 * eta;
        let logarithm = match self {
            Line::Closed(distribution @ LossDistribution::Gaussian { .. }, c) => {
                distribution.closed(Complex::at(*c, t))
            }
            Line::Closed(distribution, c) => distribution.closed(Complex::at(*c, t)).ln_1p(),
            Line::Sampled(line) => line.less_one(t).ln_1p(),
            Line::Truncated(line) => {
                let (value, off) = line.less_one(k);
                return ln_1p(value, off);
            }
        };
        let off = logarithm.re.radius + logarithm.im.radius;
        ((logarithm.re.middle, logarithm.im.middle), off)
    }

    /// What one t costs, in nodes of a sampled step.
    pub(super) fn work(&self) -> usize {
        match self {
            // Two complex exponentials: about six nodes of a sampled step.
            Line::Closed(..) => 6,
            Line::Sampled(line) => line.nodes(),
            Line::Truncated(_) => 1,
        }
    }
}

/// ln(1 + w), and at least how far it is off, for a w that may be off by `off`. Where 1 + w may be 0, the logarithm of its largest
/// possible size, with any direction.
fn ln_1p((x, y): (f64, f64), off: f64) -> ((f64, f64), f64) {
    let square = 2.0 * x + x * x + y * y;
    let size = libm::hypot(1.0 + x, y);
    if off.is_nan() || off + 2.0 * f64::EPSILON * (1.0 + y.abs()) >= 0.25 * size {
        return ((libm::log(size + off) + 1e-12, 0.0), f64::INFINITY);
    }
    // |ln(w + d) − ln w| ≤ |d|/(|w| − |d|). The rounding of the square is that of its three parts.
    let (re, rounding) = if size > 0.5 {
        let rounding = 3.0 * f64::EPSILON * (2.0 * x.abs() + x * x + y * y) / (size * size);
        (0.5 * libm::log1p(square), rounding)
    } else {
        (libm::log(size), 0.0)
    };
    let im = libm::atan2(y, 1.0 + x);
    let logarithms = 4.0 * f64::EPSILON * (re.abs() + im.abs() + if size > 0.5 { 0.0 } else { 1.0 });
    let moved = (off + f64::EPSILON * (1.0 + y.abs())) / (size - off);
    ((re, im), (moved + rounding + logarithms) * (1.0 + 1e-9))
}

/// How |M(c + it)| falls with t.
pub(super) enum Falling {
    Gaussian {
        log_moment: f64,
        mu_squared: f64,
    },
    Density {
        log_moment: f64,
        atoms: f64,
        beta: f64,
        edges: f64,
    },
    Never {
        log_moment: f64,
    },
    Sampled(Decay),
}

impl Falling {
    /// At least ln|M(c + it')| for all t' ≥ t.
    pub(super) fn log_bound(&self, t: f64) -> f64 {
        match self {
            Falling::Gaussian {
                log_moment,
                mu_squared,
            } => log_moment - 0.5 * mu_squared * t * t * (1.0 - 1e-9),
            Falling::Density {
                log_moment,
                atoms,
                beta,
                edges,
            } => {
                let smooth = edges - libm::log(libm::hypot(*beta, t));
                let high = atoms.max(smooth);
                let bound = high + libm::log1p(libm::exp(atoms.min(smooth) - high));
                bound.min(*log_moment)
            }
            Falling::Never { log_moment } => *log_moment,
            Falling::Sampled(decay) => decay.log_bound(t),
        }
    }
}

/// Plain-float moments for choosing a contour.
pub(super) enum RoughLoss {
    Closed(LossDistribution),
    Sampled(Rough),
    Changed(RoughChanged),
}

impl RoughLoss {
    pub(super) fn new(distribution: &LossDistribution) -> Self {
        match distribution {
            LossDistribution::Sampled(sampled) => Self::Sampled(Rough::new(sampled, false, f64::INFINITY)),
            LossDistribution::Truncated(cut) => Self::Sampled(Rough::new(&cut.step, false, cut.high)),
            LossDistribution::FixedSize(sampled) => Self::Sampled(Rough::new(sampled, true, f64::INFINITY)),
            LossDistribution::Changed(step) => Self::Changed(RoughChanged::new(step, 12.0)),
            LossDistribution::CutChanged(cut) => Self::Changed(RoughChanged::new(&cut.step, cut.high)),
            LossDistribution::DiscreteGaussian {
                variance,
                sensitivity,
            } => Self::Closed(LossDistribution::Gaussian {
                mu_squared: Ball::exact(sensitivity * sensitivity / variance.middle),
            }),
            other => Self::Closed(*other),
        }
    }

    /// ln M(c) and the mean and variance of the loss tilted by c.
    pub(super) fn at(&self, c: f64) -> (f64, f64, f64) {
        match self {
            Self::Sampled(rough) => rough.at(c),
            Self::Changed(rough) => rough.at(c),
            Self::Closed(LossDistribution::Gaussian { mu_squared }) => {
                let mu = mu_squared.middle;
                (0.5 * mu * c * (c + 1.0), mu * (c + 0.5), mu)
            }
            Self::Closed(LossDistribution::Laplace { epsilon }) => {
                // In units of e^(cε): atoms 1/2 and E/2, and the density e^(β(l−ε))/4.
                let (epsilon, beta) = (epsilon.middle, c + 0.5);
                let back = libm::exp(-2.0 * beta * epsilon);
                let [all, first, second] =
                    exponential_moments(epsilon, beta, back).map(|moment| 0.25 * moment);
                let moment = 0.5 + 0.5 * back + all;
                let mean = (0.5 * epsilon * (1.0 - back) + first) / moment;
                let square = (0.5 * epsilon * epsilon * (1.0 + back) + second) / moment;
                (
                    c * epsilon + libm::log(moment),
                    mean,
                    (square - mean * mean).max(0.0),
                )
            }
            Self::Closed(LossDistribution::Response { epsilon, indifferent }) => {
                // In units of e^((1+c)ε).
                let epsilon = epsilon.middle;
                let back = libm::exp(-(1.0 + 2.0 * c) * epsilon);
                let moment = 1.0 + back + indifferent.middle * libm::exp(-(1.0 + c) * epsilon);
                let whole = epsilon + libm::log1p((1.0 + indifferent.middle) * libm::exp(-epsilon));
                let mean = epsilon * (1.0 - back) / moment;
                let square = epsilon * epsilon * (1.0 + back) / moment;
                (
                    (1.0 + c) * epsilon + libm::log(moment) - whole,
                    mean,
                    (square - mean * mean).max(0.0),
                )
            }
            Self::Closed(LossDistribution::BoundedRange { epsilon }) => {
                let (epsilon, beta) = (epsilon.middle, c + 0.5);
                let back = libm::exp(-2.0 * beta * epsilon);
                let [all, first, second] = exponential_moments(epsilon, beta, back);
                let mean = first / all;
                let whole = libm::log(4.0 * libm::sinh(epsilon / 2.0));
                (
                    beta * epsilon + libm::log(all) - whole,
                    mean,
                    (second / all - mean * mean).max(0.0),
                )
            }
            Self::Closed(
                LossDistribution::Sampled(_)
                | LossDistribution::Truncated(_)
                | LossDistribution::FixedSize(_)
                | LossDistribution::Changed(_)
                | LossDistribution::CutChanged(_)
                | LossDistribution::DiscreteGaussian { .. },
            ) => (0.0, 0.0, 0.0),
        }
    }
}

/// ∫ l^n·e^(β(l−ε)) dl over [−ε, ε] for n = 0, 1, 2, given `back` = e^(−2βε).
fn exponential_moments(epsilon: f64, beta: f64, back: f64) -> [f64; 3] {
    let (less, more) = (1.0 - back, 1.0 + back);
    let x = beta * epsilon;
    if x < 0.05 {
        let cube = 2.0 * libm::exp(-x) * epsilon * epsilon * epsilon / 3.0;
        return [
            2.0 * libm::exp(-x) * epsilon * (1.0 + x * x / 6.0),
            beta * cube,
            cube,
        ];
    }
    [
        less / beta,
        (epsilon * more - less / beta) / beta,
        (epsilon * epsilon * less - 2.0 * (epsilon * more - less / beta) / beta) / beta,
    ]
}
