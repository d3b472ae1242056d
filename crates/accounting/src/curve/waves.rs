//! Σ uⱼ·(e^(itLⱼ) − 1) for all t = kη at once, from masses uⱼ ≥ 0 at losses Lⱼ that lie anywhere.
//!
//! A contour of ten thousand points over ten thousand nodes would take a hundred million sines. Instead each mass is spread over the
//! points of a grid near it, and one Fourier transform of the grid has all sums.
//!
//! # Spreading
//! The grid is mΔ with Δ = 2π/(Nη), so that e^(ikη·mΔ) = e^(2πikm/N), and losses beyond the grid come back into it with the same phase.
//! As a function of x, e^(itx) is replaced by its interpolating polynomial in the n = 2w+1 grid points nearest to x. That errs, for
//! the real and the imaginary part, by at most t^n·|Π(x − xᵢ)|/n! (the nth derivative of each is at most t^n), which with x = x₀ + dΔ is
//! (tΔ)^n·|Π(d − i)|/n!. The grid is so fine that tΔ ≤ π/4 for every t asked for, and the product is summed mass by mass: masses
//! close to a grid point, such as the many losses near 0 of a small sampling rate, hardly err at all.
//!
//! The mass on the grid point 0 turns nothing and is left out, so that the transform's rounding is relative to the rest.
//!
//! # Small losses
//! Where t|L| ≤ 2 for all t, e^(itL) − 1 is its Taylor polynomial, whose coefficients are sums over all such masses: they err relative to
//! Σ u·t|L|, which is what millions of steps with a small sampling rate need.

use super::ball::Ball;
use super::fourier::Fourier;

/// Grid points on each side of the nearest one.
const SIDE: usize = 14;
const SPREAD: usize = 2 * SIDE + 1;
/// Grid points for each point of the contour: tΔ ≤ 2π/8.
const FINER: usize = 8;
/// Losses that turn by at most this much have a Taylor polynomial with so many terms, which leaves out less than 2^29/29!·1.1 < 7e-23 times
/// (tL/2)^29 ≤ tL/2.
const SMALL: f64 = 2.0;
const TERMS: usize = 28;
/// Covers the rounding of one weight of the polynomial: thirty products and quotients.
const WEIGHT: f64 = 70.0 * f64::EPSILON;

/// Masses spread over the grid.
pub(super) struct Grid {
    eta: f64,
    /// 1/Δ, and at least its relative error.
    inverse: f64,
    masses: Vec<f64>,
    /// 1/Π over m ≠ i of (i − m).
    weights: [f64; SPREAD],
    /// Σ of what interpolation errs by at tΔ = 1.
    interpolation: f64,
    /// Σ of the absolute masses put on the grid, and of what stood there after each addition, which rounds by half a unit of it.
    absolute: f64,
    added: f64,
    /// Σ of what is not known of u, where the loss turns, and Σ of u times what is not known of L.
    doubt: f64,
    moved: f64,
    /// Σ u·(L·highest)^p/p! over small losses, and Σ u·|L|·highest.
    moments: [f64; TERMS],
    turned: f64,
    small: f64,
}

/// The sums, and how far each may be off.
pub(super) struct Waves {
    /// At kη, from k = 0 on.
    pub(super) values: Vec<(f64, f64)>,
    points: f64,
    eta: f64,
    interpolation: f64,
    fixed: f64,
    moved: f64,
    /// Σ u·|L|·t at the largest t over small losses, and how many there were.
    turned: f64,
    small: f64,
}

impl Grid {
    /// For k = 0, …, `count`.
    pub(super) fn new(eta: f64, count: usize) -> Self {
        let points = (FINER * (count + 1)).next_power_of_two();
        let mut weights = [1.0; SPREAD];
        for (i, weight) in weights.iter_mut().enumerate() {
            for m in (0..SPREAD).filter(|m| *m != i) {
                *weight /= i as f64 - m as f64;
            }
        }
        Self {
            eta,
            inverse: points as f64 * eta / std::f64::consts::TAU,
            masses: vec![0.0; points],
            weights,
            interpolation: 0.0,
            absolute: 0.0,
            added: 0.0,
            doubt: 0.0,
            moved: 0.0,
            moments: [0.0; TERMS],
            turned: 0.0,
            small: 0.0,
        }
    }

    /// The largest t asked for, or a little more.
    fn highest(&self) -> f64 {
        self.eta * (self.masses.len() / FINER) as f64
    }

    pub(super) fn put(&mut self, loss: Ball, mass: Ball) {
        let turn = loss.middle * self.highest();
        if turn.abs() <= SMALL {
            let mut power = mass.middle;
            for (p, moment) in self.moments.iter_mut().enumerate() {
                power *= turn / (p + 1) as f64;
                *moment += power;
            }
            let size = mass.middle.abs();
            self.turned += size * turn.abs();
            self.small += 1.0;
            self.doubt += mass.radius * (self.highest() * loss.magnitude()).min(2.0);
            self.moved += size * (loss.radius + 4.0 * f64::EPSILON * loss.middle.abs());
            return;
        }
        let place = loss.middle * self.inverse;
        let nearest = place.round();
        let d = place - nearest;
        let mass_size = mass.middle.abs();
        self.doubt += mass.radius * (self.highest() * loss.magnitude()).min(2.0);
        // The place is rounded three times: 1/Δ, and the product. That moves the loss.
        self.moved += mass_size * (loss.radius + 4.0 * f64::EPSILON * loss.middle.abs());
        let last = self.masses.len() - 1;
        let centre = nearest as i64;
        if d == 0.0 {
            let place = (centre & last as i64) as usize;
            self.masses[place] += mass.middle;
            if place != 0 {
                self.absolute += mass_size;
                self.added += self.masses[place].abs();
            }
            return;
        }
        let mut product = d;
        for i in 1..=SIDE {
            product *= d * d - (i * i) as f64;
        }
        // Π(d − i)/(d − i)·weight.
        let mut parts = [0.0; SPREAD];
        let scale = mass.middle * product;
        let mut sum = 0.0;
        for (i, (part, weight)) in parts.iter_mut().zip(&self.weights).enumerate() {
            *part = scale * weight / (d + SIDE as f64 - i as f64);
            sum += part.abs();
        }
        self.interpolation += (mass_size * product.abs()) * (1.0 + WEIGHT);
        let start = ((centre - SIDE as i64) & last as i64) as usize;
        let mut added = 0.0;
        if start + SPREAD <= self.masses.len() {
            for (place, part) in self.masses[start..start + SPREAD].iter_mut().zip(&parts) {
                *place += part;
                added += place.abs();
            }
        } else {
            for (i, part) in parts.iter().enumerate() {
                let place = &mut self.masses[(start + i) & last];
                *place += part;
                added += place.abs();
            }
        }
        // What stays at the grid point 0 is left out.
        let origin = start.wrapping_neg() & last;
        if let Some(part) = parts.get(origin) {
            // The differences may have lost what rounding lost of the sums.
            sum = (sum - part.abs()).max(0.0) + 64.0 * f64::EPSILON * sum;
            added = (added - self.masses[0].abs()).max(0.0) + 64.0 * f64::EPSILON * added;
        }
        self.absolute += sum;
        self.added += added;
    }

    /// The sums.
    pub(super) fn waves(mut self) -> Waves {
        self.masses[0] = 0.0;
        let points = self.masses.len();
        let part = points / FINER;
        let plan = Fourier::new(part);
        let mut values = vec![(0.0, 0.0); part];
        let turns: Vec<(f64, f64)> = (0..part)
            .map(|k| {
                let (sine, cosine) = libm::sincos(std::f64::consts::TAU * k as f64 / points as f64);
                (cosine, sine)
            })
            .collect();
        let times = |a: (f64, f64), b: (f64, f64)| (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0);
        // With m = 8p + r: Σ over r of ω^(kr) times the transform over p, by Horner's scheme in ω^k. Two real sequences are one complex one.
        for r in (0..FINER).rev().step_by(2) {
            let mut wave: Vec<(f64, f64)> = (0..part)
                .map(|p| (self.masses[FINER * p + r - 1], self.masses[FINER * p + r]))
                .collect();
            plan.transform(&mut wave);
            for k in 0..part {
                let (here, back) = (wave[k], wave[(part - k) & (part - 1)]);
                let even = (0.5 * (here.0 + back.0), 0.5 * (here.1 - back.1));
                let odd = (0.5 * (here.1 + back.1), 0.5 * (back.0 - here.0));
                let sum = times(values[k], turns[k]);
                let sum = times((sum.0 + odd.0, sum.1 + odd.1), turns[k]);
                values[k] = (sum.0 + even.0, sum.1 + even.1);
            }
        }
        let whole = values[0];
        for (k, value) in values.iter_mut().enumerate() {
            // Σ (ix)^p times the pth moment, from the highest power on.
            let x = k as f64 / part as f64;
            let small = self
                .moments
                .iter()
                .rev()
                .fold((0.0, 0.0), |sum, moment| (-x * sum.1, x * (sum.0 + moment)));
            *value = (value.0 - whole.0 + small.0, value.1 - whole.1 + small.1);
        }
        // Transforms, Horner's scheme in eight steps with its turns (each a few roundings), and the difference: of sums that are at most `absolute`.
        let rounding = 2.0 * (plan.error() * 2.0 + 120.0 * f64::EPSILON) + WEIGHT * 2.0;
        let mut factorial = 1.0;
        for n in 1..=SPREAD {
            factorial *= n as f64;
        }
        Waves {
            values,
            points: points as f64,
            eta: self.eta,
            interpolation: 1.5 * self.interpolation / factorial,
            // A rounding that is off turns by at most 2. Sums of so many numbers are themselves off by less than a half.
            fixed: 1.5 * (self.absolute * rounding + self.added * 2.0 * f64::EPSILON + self.doubt),
            moved: self.moved,
            turned: self.turned,
            small: self.small,
        }
    }
}

impl Waves {
    /// At least the distance of the kth sum from the truth.
    pub(super) fn error(&self, k: usize) -> f64 {
        let turn = std::f64::consts::TAU * k as f64 / self.points;
        let t = k as f64 * self.eta;
        // Terms of a Taylor polynomial are together at most e²·u·t|L|, each of three dozen roundings, as a sum of so many. At k they are k/K smaller.
        let rounding = (self.small + 100.0) * f64::EPSILON * 8.0;
        let small = self.turned * rounding * k as f64 / (self.points / FINER as f64);
        (self.interpolation * turn.powi(SPREAD as i32) + self.fixed + self.moved * t + small) * (1.0 + 1e-6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the sums themselves, near 0, far away, and beyond the grid.
    #[test]
    fn waves_are_the_sums() {
        let (eta, count) = (0.75, 1000);
        let mut grid = Grid::new(eta, count);
        let masses: Vec<(f64, f64)> = (0..400)
            .map(|i| {
                let x = f64::from(i) / 400.0;
                (
                    1e-3 * x - 1e-4 + if i % 7 == 0 { 9.0 * x * x } else { 0.0 },
                    (-8.0 * x).exp(),
                )
            })
            .collect();
        for (loss, mass) in &masses {
            grid.put(Ball::exact(*loss), Ball::exact(*mass));
        }
        let waves = grid.waves();
        for k in [0, 1, 2, 10, 333, 999, 1000] {
            let t = k as f64 * eta;
            let turned = |loss: f64| ((t * loss).cos() - 1.0, (t * loss).sin());
            let sum = masses.iter().fold((0.0, 0.0), |sum, (loss, mass)| {
                let turned = turned(*loss);
                (sum.0 + mass * turned.0, sum.1 + mass * turned.1)
            });
            let found = waves.values[k];
            let off = (found.0 - sum.0).hypot(found.1 - sum.1);
            assert!(
                off <= waves.error(k) + 1e-13,
                "{k}: {off:e} above {:e}",
                waves.error(k)
            );
            assert!(waves.error(k) < 1e-9, "{k}: {:e}", waves.error(k));
        }
        // The planted error: a loss that is off by a ten-thousandth is noticed.
        let mut wrong = Grid::new(eta, count);
        for (loss, mass) in &masses {
            wrong.put(Ball::exact(loss * 1.0001), Ball::exact(*mass));
        }
        let wrong = wrong.waves();
        let off = (wrong.values[500].0 - waves.values[500].0).abs();
        assert!(off > 100.0 * (waves.error(500) + wrong.error(500)), "{off:e}");
    }
}
