//! How many numbers of a release vary together: what regressions need of its noise.

use crate::measurements::{Factors, Measurements, SumPart, dot};
use crate::scheme::{Kind, residual_of};
use crate::ways::Reading;
use crate::{Error, Estimate, Shape};

impl Measurements {
    /// Several sums as [`Measurements::sum`] tells them, and the covariances of all pairs of them, row by row.
    ///
    /// # Errors
    /// As [`Measurements::sum`].
    pub fn sums(&self, factors: &[Factors<'_>]) -> Result<(Vec<Estimate>, Vec<f64>), Error> {
        let parts: Vec<Vec<SumPart>> = factors
            .iter()
            .map(|factors| self.parts_of(factors))
            .collect::<Result<_, Error>>()?;
        let size = factors.len();
        let mut covariances = vec![0.0; size * size];
        for (row, one) in parts.iter().enumerate() {
            for (column, other) in parts.iter().enumerate().take(row + 1) {
                let covariance = self.covariance_of_parts(one, other);
                covariances[row * size + column] = covariance;
                covariances[column * size + row] = covariance;
            }
        }
        let sums = parts.iter().enumerate().map(|(place, parts)| Estimate {
            value: parts.iter().map(|part| self.contracted(part)).sum(),
            variance: covariances[place * size + place],
            gaussian: self.scheme.kind == Kind::Gaussian,
        });
        Ok((sums.collect(), covariances))
    }

    /// The covariances of all pairs of weighted sums of the numbers of one table, row by row. Each list of weights has one for each number of the table, in its order.
    ///
    /// Residuals are measured with independent noise of variance v. Along each axis, what a weighted sum takes of step 0 (the total), 1, 2, … is a vector
    /// ([`crate::ways::Ways::pull`]); along all axes together it is a tensor T for each residual. So the covariance of two sums is Σ v·⟨T, T′⟩ over residuals.
    ///
    /// # Errors
    /// When the table does not follow from the measurements, or weights are not one for each of its numbers.
    pub fn covariances(&self, shape: &Shape, weights: &[&[f64]]) -> Result<Vec<f64>, Error> {
        let readings = self.scheme.readings(shape)?;
        let numbers: usize = readings.iter().map(|reading| reading.size).product();
        if weights.iter().any(|weights| weights.len() != numbers) {
            return Err(Error::OtherHierarchy);
        }
        let size = weights.len();
        let mut covariances = vec![0.0; size * size];
        let mut add = |variance: f64, tensors: &[&[f64]]| {
            for (row, one) in tensors.iter().enumerate() {
                for (column, other) in tensors.iter().enumerate().take(row + 1) {
                    covariances[row * size + column] += variance * dot(one, other);
                }
            }
        };
        match self.scheme.kind {
            Kind::Gaussian => {
                let pulled: Vec<Vec<(Vec<usize>, Vec<f64>)>> = weights
                    .iter()
                    .map(|weights| self.pulled(shape, &readings, weights))
                    .collect();
                for residual in 0..pulled.first().map_or(0, Vec::len) {
                    let set = self.scheme.find(&residual_of(shape, &pulled[0][residual].0));
                    let set = set.ok_or(Error::NotCovered)?;
                    let tensors: Vec<&[f64]> = pulled.iter().map(|of| of[residual].1.as_slice()).collect();
                    add(self.scheme.sets[set].variance, &tensors);
                }
            }
            Kind::Laplace => {
                let (place, dropped) = self.scheme.best_table(shape, &readings)?;
                let based: Vec<Vec<f64>> = weights
                    .iter()
                    .map(|weights| {
                        let mut values = weights.to_vec();
                        let mut inner = 1;
                        for reading in readings.iter().rev() {
                            values = to_base(reading, &values, inner);
                            inner *= reading.base;
                        }
                        values
                    })
                    .collect();
                let tensors: Vec<&[f64]> = based.iter().map(Vec::as_slice).collect();
                add(self.scheme.sets[place].variance * dropped, &tensors);
            }
        }
        for row in 0..size {
            for column in 0..row {
                covariances[column * size + row] = covariances[row * size + column];
            }
        }
        Ok(covariances)
    }

    /// What a weighted sum takes of each residual: its steps along the axes, and its tensor.
    fn pulled(
        &self,
        shape: &Shape,
        readings: &[Reading<'_>],
        weights: &[f64],
    ) -> Vec<(Vec<usize>, Vec<f64>)> {
        let mut begun: Vec<(Vec<usize>, Vec<f64>)> = vec![(Vec::new(), weights.to_vec())];
        // The last axis first: what lies inside is pulled already.
        for (axis, reading) in shape.axes().iter().zip(readings).rev() {
            let ways = &self.scheme.ways[usize::from(axis.attribute)];
            let mut next = Vec::new();
            for (steps, tensor) in begun {
                let inner: usize = shape.axes()[shape.axes().len() - steps.len()..]
                    .iter()
                    .zip(&steps)
                    .map(|(axis, step)| self.scheme.ways[usize::from(axis.attribute)].taken(*step))
                    .product();
                let based = to_base(reading, &tensor, inner);
                let outer = based.len() / (reading.base * inner);
                let mut parts: Vec<Vec<f64>> = (0..=reading.reach)
                    .map(|step| vec![0.0; outer * ways.taken(step) * inner])
                    .collect();
                for before in 0..outer {
                    for within in 0..inner {
                        let line: Vec<f64> = (0..reading.base)
                            .map(|cell| based[(before * reading.base + cell) * inner + within])
                            .collect();
                        for (step, taken) in ways.pull(reading.reach, &line).into_iter().enumerate() {
                            let width = ways.taken(step);
                            for (place, value) in taken.into_iter().enumerate() {
                                parts[step][(before * width + place) * inner + within] = value;
                            }
                        }
                    }
                }
                for (step, part) in parts.into_iter().enumerate() {
                    let mut longer = vec![step];
                    longer.extend(&steps);
                    next.push((longer, part));
                }
            }
            begun = next;
        }
        begun
    }
}

/// From weights of the numbers on an axis to those of its cells.
fn to_base(reading: &Reading<'_>, weights: &[f64], inner: usize) -> Vec<f64> {
    let of: Vec<Vec<f64>> = (0..reading.size).map(|output| reading.weights(output)).collect();
    let outer = weights.len() / (reading.size * inner);
    let mut based = vec![0.0; outer * reading.base * inner];
    for before in 0..outer {
        for (output, of) in of.iter().enumerate() {
            for (cell, factor) in of.iter().enumerate() {
                if *factor == 0.0 {
                    continue;
                }
                for within in 0..inner {
                    based[(before * reading.base + cell) * inner + within] +=
                        factor * weights[(before * reading.size + output) * inner + within];
                }
            }
        }
    }
    based
}
