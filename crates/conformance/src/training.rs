//! Sums over random parts of the data, as private training takes them.

use crate::noise::rounded_tail;
use crate::subject::{Plan, Subject};
use crate::{Error, explained};
use accounting::{Curve, Delta, Neighbors, PrivacyUnit, Ratio};
use audit::black_box::Feature;
use audit::exact_audit::Finite;
use audit::report::Claim;
use exact::{Interval, Rational};
use mechanism::{SampledGaussian, Sampling, Sensitivity};
use noise::Grid;

/// Cells reach from −END to END; all beyond counts with the ends.
const END: i64 = 60;
/// What one unit adds at most.
const STEP: i64 = 4;

/// One step over a half of the units, each of which adds one number, with noise of their size.
#[derive(Clone)]
pub(crate) struct SampledSum;

fn half() -> Result<Sampling, Error> {
    Ok(Sampling::Poisson {
        rate: Ratio::parse("1/2").map_err(explained)?,
    })
}

fn delta() -> Result<Delta, Error> {
    Delta::parse("0.01").map_err(explained)
}

impl Subject for SampledSum {
    const NAME: &'static str = "SampledGaussian";
    const NEIGHBORS: Neighbors = Neighbors::AddRemove;
    type Data = Vec<i64>;
    type Input = Vec<Vec<i64>>;
    type Output = Vec<Vec<i64>>;
    type Mechanism = SampledGaussian;

    /// The (ε, δ) that the accountant reads off its curve.
    fn claim(&self) -> Result<Claim, Error> {
        let one = Ratio::parse("1").map_err(explained)?;
        let event = half()?.event(&one, 1).map_err(explained)?;
        let unit = PrivacyUnit::new("person", Neighbors::AddRemove);
        let curve = Curve::of(&event, &unit).map_err(explained)?;
        let delta = delta()?;
        let epsilon = curve.epsilon(&delta).map_err(explained)?.upper;
        Ok(Claim::new(
            epsilon.as_rational().clone(),
            delta.as_rational().clone(),
        ))
    }

    fn build(&self, stretch: &Rational) -> Result<SampledGaussian, Error> {
        let multiplier_squared = Ratio::at_most(&(Rational::ONE / (stretch * stretch)));
        let sensitivity = Sensitivity::scalar(STEP).map_err(explained)?;
        SampledGaussian::new(
            half()?,
            &multiplier_squared,
            1,
            &delta()?,
            sensitivity,
            Grid::new(0),
        )
        .map_err(explained)
    }

    fn input(&self, data: &Vec<i64>) -> Vec<Vec<i64>> {
        data.iter().map(|value| vec![*value]).collect()
    }

    fn pairs(&self) -> Vec<[Vec<i64>; 2]> {
        vec![
            [vec![], vec![STEP]],
            [vec![STEP], vec![]],
            [vec![1], vec![1, -STEP]],
        ]
    }

    fn drawn(&self) -> [Vec<i64>; 2] {
        [vec![], vec![STEP]]
    }

    fn features(&self) -> Vec<Feature<Vec<Vec<i64>>>> {
        vec![Feature::ordered("the sum", |sums: &Vec<Vec<i64>>| sums[0][0])]
    }

    /// Over all parts, each as likely as any other: P[sum of the part + round(Z) ≥ k].
    fn cells(&self, mechanism: &SampledGaussian, data: &Vec<i64>) -> Result<Finite, Error> {
        let (variance, data) = (mechanism.variance().clone(), data.clone());
        let parts = 1u64 << data.len();
        let sum = move |part: u64| -> i64 {
            let inside = data
                .iter()
                .enumerate()
                .filter(|(place, _)| part >> place & 1 == 1);
            inside.map(|(_, value)| *value).sum()
        };
        let recipe = move |bits: u32| {
            let (zero, one) = (Interval::from_integer(0, bits), Interval::from_integer(1, bits));
            let share = Interval::from_rational(&(Rational::ONE / Rational::from(parts)), bits);
            let tail = |k: i64| {
                let tails = (0..parts).map(|part| rounded_tail(&variance, k - sum(part), bits));
                tails.fold(zero.clone(), |total, tail| total.add(&share.mul(&tail)))
            };
            let mut at_least = vec![one];
            at_least.extend((1 - END..=END).map(tail));
            at_least.push(zero.clone());
            at_least
                .windows(2)
                .map(|pair| pair[0].sub(&pair[1]).max(&zero))
                .collect()
        };
        Finite::from_recipe((2 * END + 1) as usize, recipe).map_err(explained)
    }

    fn cell(&self, _: &SampledGaussian, output: &Vec<Vec<i64>>) -> usize {
        (output[0][0].clamp(-END, END) + END) as usize
    }

    fn plan(&self) -> Plan {
        Plan {
            exact_lack: 20,
            drawn_lack: [50, 40],
            draws: [40_000, 400_000],
            fitted: [50_000, 300_000],
        }
    }
}
