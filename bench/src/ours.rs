//! Deniable's own samplers, through the calls a mechanism makes: build once, then `fill`.

use crate::Failure;
use crate::measure::{GRID_EXPONENT, Label, Row, SCALES, Scale, measure};
use exact::Rational;
use noise::{DiscreteGaussian, DiscreteLaplace, Grid, OsEntropy, RoundedGaussian};

const LIBRARY: &str = "Deniable";

fn rational(scale: &Scale) -> Result<Rational, Failure> {
    let numerator = exact::parse_decimal(&scale.numerator.to_string())?;
    let denominator = exact::parse_decimal(&scale.denominator.to_string())?;
    Ok(numerator / denominator)
}

/// A sampler behind the call a mechanism makes.
type Fill = Box<dyn Fn(&mut [i64], &mut OsEntropy)>;

/// The integer samplers at every scale. The table is built before the clock starts, as a mechanism does.
pub fn samplers() -> Result<Vec<Row>, Failure> {
    let mut entropy = OsEntropy::new()?;
    let mut rows = Vec::new();
    for scale in &SCALES {
        let exact = rational(scale)?;
        let laplace = DiscreteLaplace::new(&exact)?;
        let discrete = DiscreteGaussian::with_scale(&exact)?;
        let rounded = RoundedGaussian::with_scale(&exact)?;
        let samplers: [(&'static str, &'static str, Fill); 3] = [
            (
                "DiscreteLaplace",
                "laplace",
                Box::new(move |samples, entropy| laplace.fill(samples, entropy)),
            ),
            (
                "DiscreteGaussian",
                "gaussian",
                Box::new(move |samples, entropy| discrete.fill(samples, entropy)),
            ),
            (
                "RoundedGaussian",
                "gaussian",
                Box::new(move |samples, entropy| rounded.fill(samples, entropy)),
            ),
        ];
        for (sampler, noise, fill) in samplers {
            let label = Label {
                library: LIBRARY,
                sampler,
                noise,
            };
            rows.push(measure(
                label,
                scale.text,
                |samples: &mut [i64]| -> Result<(), Failure> {
                    fill(samples, &mut entropy);
                    Ok(())
                },
            )?);
        }
    }
    Ok(rows)
}

/// Real values released on the grid 2^[`crate::measure::GRID_EXPONENT`]·ℤ: value to grid, noise, back to a float.
pub fn real_releases() -> Result<Vec<Row>, Failure> {
    let mut entropy = OsEntropy::new()?;
    let grid = Grid::new(GRID_EXPONENT);
    let mut rows = Vec::new();
    let mut steps = vec![0i64; 4096];
    for scale in &SCALES {
        let exact = grid.scale(&rational(scale)?);
        let laplace = DiscreteLaplace::new(&exact)?;
        let gaussian = RoundedGaussian::with_scale(&exact)?;
        for (sampler, noise) in [
            ("Grid + DiscreteLaplace", "real laplace"),
            ("Grid + RoundedGaussian", "real gaussian"),
        ] {
            let label = Label {
                library: LIBRARY,
                sampler,
                noise,
            };
            rows.push(measure(
                label,
                scale.text,
                |samples: &mut [f64]| -> Result<(), Failure> {
                    for batch in samples.chunks_mut(steps.len()) {
                        let steps = &mut steps[..batch.len()];
                        for (step, value) in steps.iter_mut().zip(&*batch) {
                            *step = grid.round(*value);
                        }
                        match noise {
                            "real laplace" => laplace.add_to(steps, &mut entropy),
                            _ => gaussian.add_to(steps, &mut entropy),
                        }
                        for (value, step) in batch.iter_mut().zip(&*steps) {
                            *value = grid.value(*step);
                        }
                    }
                    Ok(())
                },
            )?);
        }
    }
    Ok(rows)
}
