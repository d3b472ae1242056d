//! Deniable's own samplers, through the calls a mechanism makes: build once, then `fill`.

use crate::Failure;
use crate::measure::{Label, Row, SCALES, Scale, measure};
use exact::Rational;
use noise::{DiscreteGaussian, DiscreteLaplace, OsEntropy, RoundedGaussian};

const LIBRARY: &str = "Deniable";

fn rational(scale: &Scale) -> Result<Rational, Failure> {
    let numerator = exact::parse_decimal(&scale.numerator.to_string())?;
    let denominator = exact::parse_decimal(&scale.denominator.to_string())?;
    Ok(numerator / denominator)
}

/// The integer samplers at every scale. The table is built before the clock starts, as a mechanism does.
pub fn samplers() -> Result<Vec<Row>, Failure> {
    let mut entropy = OsEntropy::new()?;
    let mut rows = Vec::new();
    for scale in &SCALES {
        let exact = rational(scale)?;

        let sampler = DiscreteLaplace::new(&exact)?;
        let label = Label {
            library: LIBRARY,
            sampler: "DiscreteLaplace",
            noise: "laplace",
        };
        rows.push(measure(
            label,
            scale.text,
            |samples: &mut [i64]| -> Result<(), Failure> {
                sampler.fill(samples, &mut entropy);
                Ok(())
            },
        )?);

        let sampler = DiscreteGaussian::with_scale(&exact)?;
        let label = Label {
            library: LIBRARY,
            sampler: "DiscreteGaussian",
            noise: "gaussian",
        };
        rows.push(measure(
            label,
            scale.text,
            |samples: &mut [i64]| -> Result<(), Failure> {
                sampler.fill(samples, &mut entropy);
                Ok(())
            },
        )?);

        let sampler = RoundedGaussian::with_scale(&exact)?;
        let label = Label {
            library: LIBRARY,
            sampler: "RoundedGaussian",
            noise: "gaussian",
        };
        rows.push(measure(
            label,
            scale.text,
            |samples: &mut [i64]| -> Result<(), Failure> {
                sampler.fill(samples, &mut entropy);
                Ok(())
            },
        )?);
    }
    Ok(rows)
}

/// Real values released on the grid 2^[`crate::measure::GRID_EXPONENT`]·ℤ: value to grid, noise, back to a float.
///
/// TO FILL IN once `noise::Grid` stands. The rows must be named like OpenDP's to be compared with them:
/// `Label { library: LIBRARY, sampler: "Grid + DiscreteLaplace", noise: "real laplace" }`, and the same with
/// `"real gaussian"`; `measure` takes a closure over `&mut [f64]`.
pub fn real_releases() -> Result<Vec<Row>, Failure> {
    Ok(Vec::new())
}
