//! Noise added to numbers: Laplace and the two Gaussians.

use crate::subject::{Plan, Subject, words};
use crate::{Error, explained};
use accounting::{Delta, Epsilon, Neighbors, Rho, epsilon_of_discrete_gaussian, smallest_multiplier};
use audit::black_box::Feature;
use audit::exact_audit::{Finite, LaplaceTable, Lattice};
use audit::report::{Claim, Distributions};
use exact::{Interval, Rational, ratio};
use mechanism::{Gaussian, GaussianOnIntegers, Laplace, Sensitivity, SquaredMultiplier};
use noise::Grid;

/// Cells reach from −END to END; all beyond counts with the ends.
const END: i64 = 60;

fn scalar(step: i64) -> Result<Sensitivity, Error> {
    Sensitivity::scalar(step).map_err(explained)
}

fn shifted(distribution: &Lattice, pair: &[i64; 2]) -> Distributions {
    Distributions::new(
        words(pair),
        pair.map(|value| distribution.clone().shifted(&Rational::from(value))),
    )
}

/// The cell of a value.
fn place(value: i64) -> usize {
    (value.clamp(-END, END) + END) as usize
}

/// Masses of −end..=end from P[output ≥ k], all beyond in the ends.
pub(crate) fn from_tail(
    end: i64,
    tail: impl Fn(i64, u32) -> Interval + Send + Sync + 'static,
) -> Result<Finite, Error> {
    let recipe = move |bits: u32| {
        let zero = Interval::from_integer(0, bits);
        let mut at_least = vec![Interval::from_integer(1, bits)];
        at_least.extend((1 - end..=end).map(|k| tail(k, bits)));
        at_least.push(zero.clone());
        at_least
            .windows(2)
            .map(|pair| pair[0].sub(&pair[1]).max(&zero))
            .collect()
    };
    Finite::from_recipe((2 * end + 1) as usize, recipe).map_err(explained)
}

/// A count with Laplace noise.
#[derive(Clone)]
pub(crate) struct LaplaceNoise;

impl Subject for LaplaceNoise {
    const NAME: &'static str = "Laplace";
    const NEIGHBORS: Neighbors = Neighbors::AddRemove;
    type Data = i64;
    type Input = i64;
    type Output = i64;
    type Mechanism = Laplace;

    fn claim(&self) -> Result<Claim, Error> {
        Ok(Claim::pure(Rational::ONE))
    }

    fn build(&self, stretch: &Rational) -> Result<Laplace, Error> {
        let epsilon = Epsilon::exactly_or_up(stretch).map_err(explained)?;
        Laplace::new(epsilon, scalar(2)?, Grid::new(0)).map_err(explained)
    }

    fn input(&self, data: &i64) -> i64 {
        *data
    }

    fn pairs(&self) -> Vec<[i64; 2]> {
        vec![[0, 2], [0, 1], [7, 5], [-1_000_000, -1_000_002]]
    }

    /// In closed form, so that equality is decided.
    fn distributions(&self, mechanism: &Laplace, pair: &[i64; 2]) -> Result<Distributions, Error> {
        let distribution = Lattice::discrete_laplace(mechanism.scale()).map_err(explained)?;
        Ok(shifted(&distribution, pair))
    }

    fn drawn(&self) -> [i64; 2] {
        [0, 2]
    }

    fn features(&self) -> Vec<Feature<i64>> {
        Feature::<i64>::standard()
    }

    fn cells(&self, mechanism: &Laplace, data: &i64) -> Result<Finite, Error> {
        let (scale, center) = (mechanism.scale().clone(), *data);
        let table = move |bits| LaplaceTable::new(&scale, END + center.abs() + 1, bits);
        from_tail(END, move |k, bits| table(bits).tail(k - center))
    }

    fn cell(&self, _: &Laplace, output: &i64) -> usize {
        place(*output)
    }

    fn plan(&self) -> Plan {
        Plan {
            exact_lack: 5,
            drawn_lack: [10, 5],
            draws: [60_000, 1_000_000],
            fitted: [50_000, 500_000],
        }
    }
}

/// A number with Gaussian noise, rounded.
#[derive(Clone)]
pub(crate) struct GaussianNoise;

/// ε = ½, δ = 0.01 for numbers that move by 4.
const GAUSSIAN_STEP: i64 = 4;

fn gaussian_parameters() -> Result<(Epsilon, Delta), Error> {
    Ok((
        Epsilon::parse("0.5").map_err(explained)?,
        Delta::parse("0.01").map_err(explained)?,
    ))
}

impl Subject for GaussianNoise {
    const NAME: &'static str = "Gaussian";
    const NEIGHBORS: Neighbors = Neighbors::AddRemove;
    type Data = i64;
    type Input = i64;
    type Output = i64;
    type Mechanism = Gaussian;

    fn claim(&self) -> Result<Claim, Error> {
        Ok(Claim::new(ratio(1, 2), ratio(1, 100)))
    }

    fn build(&self, stretch: &Rational) -> Result<Gaussian, Error> {
        let (epsilon, delta) = gaussian_parameters()?;
        let (sensitivity, grid) = (scalar(GAUSSIAN_STEP)?, Grid::new(0));
        if *stretch == Rational::ONE {
            return Gaussian::analytic(epsilon, delta, sensitivity, grid).map_err(explained);
        }
        let multiplier = smallest_multiplier(&epsilon, &delta).map_err(explained)? / stretch;
        Gaussian::with_squared_multiplier(&SquaredMultiplier::of(&multiplier), sensitivity, grid)
            .map_err(explained)
    }

    fn input(&self, data: &i64) -> i64 {
        *data
    }

    fn pairs(&self) -> Vec<[i64; 2]> {
        vec![[0, GAUSSIAN_STEP], [0, 1], [3, 1]]
    }

    fn drawn(&self) -> [i64; 2] {
        [0, GAUSSIAN_STEP]
    }

    fn features(&self) -> Vec<Feature<i64>> {
        Feature::<i64>::standard()
    }

    /// P[x + round(Z) ≥ k] = Φ(−(k−½−x)/σ).
    fn cells(&self, mechanism: &Gaussian, data: &i64) -> Result<Finite, Error> {
        let (variance, center) = (mechanism.variance().clone(), *data);
        from_tail(END, move |k, bits| rounded_tail(&variance, k - center, bits))
    }

    fn cell(&self, _: &Gaussian, output: &i64) -> usize {
        place(*output)
    }

    fn plan(&self) -> Plan {
        Plan {
            exact_lack: 5,
            drawn_lack: [40, 10],
            draws: [60_000, 1_000_000],
            fitted: [50_000, 500_000],
        }
    }
}

/// P[round(Z) ≥ k] for Z normal of this variance.
pub(crate) fn rounded_tail(variance: &Rational, k: i64, bits: u32) -> Interval {
    let work = bits + 16;
    let edge = Rational::from(k) - ratio(1, 2);
    let deviations = Interval::sqrt_of(&(&edge * &edge / variance), work);
    let point = if edge > Rational::ZERO {
        deviations.neg()
    } else {
        deviations
    };
    point.normal_cdf().with_bits(bits)
}

/// An integer with discrete Gaussian noise.
#[derive(Clone)]
pub(crate) struct DiscreteGaussianNoise;

/// ρ = ½ for integers that move by 3: σ² = 9.
const DISCRETE_STEP: i64 = 3;

impl Subject for DiscreteGaussianNoise {
    const NAME: &'static str = "GaussianOnIntegers";
    const NEIGHBORS: Neighbors = Neighbors::AddRemove;
    type Data = i64;
    type Input = i64;
    type Output = i64;
    type Mechanism = GaussianOnIntegers;

    /// The (ε, δ) that the accountant reads off its curve.
    fn claim(&self) -> Result<Claim, Error> {
        let mechanism = self.build(&Rational::ONE)?;
        let delta = Delta::parse("0.01").map_err(explained)?;
        let epsilon = epsilon_of_discrete_gaussian(mechanism.variance(), DISCRETE_STEP as u64, &delta);
        let epsilon = epsilon.map_err(explained)?;
        Ok(Claim::new(
            epsilon.as_rational().clone(),
            delta.as_rational().clone(),
        ))
    }

    fn build(&self, stretch: &Rational) -> Result<GaussianOnIntegers, Error> {
        // σ shrinks by the stretch, ρ grows by its square.
        let rho = Rho::exactly_or_up(&(ratio(1, 2) * stretch * stretch)).map_err(explained)?;
        GaussianOnIntegers::concentrated(rho, scalar(DISCRETE_STEP)?, Grid::new(0)).map_err(explained)
    }

    fn input(&self, data: &i64) -> i64 {
        *data
    }

    fn pairs(&self) -> Vec<[i64; 2]> {
        vec![[0, DISCRETE_STEP], [0, 1], [5, 3]]
    }

    fn distributions(&self, mechanism: &GaussianOnIntegers, pair: &[i64; 2]) -> Result<Distributions, Error> {
        let distribution = Lattice::discrete_gaussian(mechanism.variance()).map_err(explained)?;
        Ok(shifted(&distribution, pair))
    }

    fn drawn(&self) -> [i64; 2] {
        [0, DISCRETE_STEP]
    }

    fn features(&self) -> Vec<Feature<i64>> {
        Feature::<i64>::standard()
    }

    /// What lies beyond the ends is next to nothing, and counts with the first cell.
    fn cells(&self, mechanism: &GaussianOnIntegers, data: &i64) -> Result<Finite, Error> {
        let distribution = Lattice::discrete_gaussian(mechanism.variance()).map_err(explained)?;
        let center = *data;
        let recipe = move |bits: u32| {
            let inside: Vec<Interval> = (1 - END..=END)
                .map(|k| distribution.mass(k - center, bits))
                .collect();
            let (zero, one) = (Interval::from_integer(0, bits), Interval::from_integer(1, bits));
            let rest = inside.iter().fold(one, |rest, mass| rest.sub(mass)).max(&zero);
            std::iter::once(rest).chain(inside).collect()
        };
        Finite::from_recipe((2 * END + 1) as usize, recipe).map_err(explained)
    }

    fn cell(&self, _: &GaussianOnIntegers, output: &i64) -> usize {
        if output.abs() > END { 0 } else { place(*output) }
    }

    fn plan(&self) -> Plan {
        Plan {
            exact_lack: 5,
            drawn_lack: [30, 10],
            draws: [60_000, 1_000_000],
            fitted: [50_000, 500_000],
        }
    }
}
