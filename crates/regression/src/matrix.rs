//! Small dense matrices, in floats: what is computed here is after the noise.

/// A square matrix.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Matrix {
    size: usize,
    entries: Vec<f64>,
}

impl Matrix {
    pub(crate) fn zero(size: usize) -> Self {
        Self {
            size,
            entries: vec![0.0; size * size],
        }
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn at(&self, row: usize, column: usize) -> f64 {
        self.entries[row * self.size + column]
    }

    pub(crate) fn set(&mut self, row: usize, column: usize, value: f64) {
        self.entries[row * self.size + column] = value;
    }

    pub(crate) fn add(&mut self, row: usize, column: usize, value: f64) {
        self.entries[row * self.size + column] += value;
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.entries[row * self.size..][..self.size]
    }

    pub(crate) fn times(&self, vector: &[f64]) -> Vec<f64> {
        (0..self.size).map(|row| dot(self.row(row), vector)).collect()
    }

    pub(crate) fn quadratic(&self, vector: &[f64]) -> f64 {
        dot(&self.times(vector), vector)
    }

    pub(crate) fn sum(&self, other: &Self) -> Self {
        let pairs = self.entries.iter().zip(&other.entries);
        Self {
            size: self.size,
            entries: pairs.map(|(one, other)| one + other).collect(),
        }
    }

    pub(crate) fn scaled(&self, factor: f64) -> Self {
        Self {
            size: self.size,
            entries: self.entries.iter().map(|entry| entry * factor).collect(),
        }
    }

    pub(crate) fn product(&self, other: &Self) -> Self {
        let mut product = Self::zero(self.size);
        for row in 0..self.size {
            for (place, factor) in self.row(row).iter().enumerate() {
                if *factor == 0.0 {
                    continue;
                }
                for (column, entry) in other.row(place).iter().enumerate() {
                    product.entries[row * self.size + column] += factor * entry;
                }
            }
        }
        product
    }

    pub(crate) fn transposed(&self) -> Self {
        let mut transposed = Self::zero(self.size);
        for row in 0..self.size {
            for column in 0..self.size {
                transposed.set(column, row, self.at(row, column));
            }
        }
        transposed
    }

    /// `outer · self · outerᵀ`.
    pub(crate) fn between(&self, outer: &Self) -> Self {
        outer.product(self).product(&outer.transposed())
    }

    /// The rows and columns at these places.
    pub(crate) fn kept(&self, places: &[usize]) -> Self {
        let mut kept = Self::zero(places.len());
        for (row, from) in places.iter().enumerate() {
            for (column, other) in places.iter().enumerate() {
                kept.set(row, column, self.at(*from, *other));
            }
        }
        kept
    }

    /// L with L·Lᵀ the matrix; `None` where it is not positive definite.
    pub(crate) fn cholesky(&self) -> Option<Self> {
        let mut lower = Self::zero(self.size);
        for row in 0..self.size {
            for column in 0..=row {
                let known = dot(&lower.row(row)[..column], &lower.row(column)[..column]);
                let left = self.at(row, column) - known;
                if row == column {
                    if left.is_nan() || left <= 1e-13 * self.at(row, row).abs() {
                        return None;
                    }
                    lower.set(row, row, left.sqrt());
                } else {
                    lower.set(row, column, left / lower.at(column, column));
                }
            }
        }
        Some(lower)
    }

    /// The inverse of a positive definite matrix.
    pub(crate) fn inverse(&self) -> Option<Self> {
        let lower = self.cholesky()?;
        let size = self.size;
        let mut inverse = Self::zero(size);
        for unit in 0..size {
            let mut solved = vec![0.0; size];
            for row in 0..size {
                let right = if row == unit { 1.0 } else { 0.0 };
                solved[row] = (right - dot(&lower.row(row)[..row], &solved[..row])) / lower.at(row, row);
            }
            for row in (0..size).rev() {
                let above: f64 = (row + 1..size)
                    .map(|place| lower.at(place, row) * solved[place])
                    .sum();
                solved[row] = (solved[row] - above) / lower.at(row, row);
            }
            for (row, value) in solved.iter().enumerate() {
                inverse.set(row, unit, *value);
            }
        }
        Some(inverse)
    }

    /// The inverse of a lower triangular matrix.
    pub(crate) fn inverse_of_lower(&self) -> Self {
        let mut inverse = Self::zero(self.size);
        for unit in 0..self.size {
            for row in unit..self.size {
                let known: f64 = (unit..row)
                    .map(|place| self.at(row, place) * inverse.at(place, unit))
                    .sum();
                let right = if row == unit { 1.0 } else { 0.0 };
                inverse.set(row, unit, (right - known) / self.at(row, row));
            }
        }
        inverse
    }

    /// The eigenvalues of a symmetric matrix, and its eigenvectors as columns, by Jacobi's rotations.
    pub(crate) fn symmetric_parts(&self) -> (Vec<f64>, Self) {
        const MOST_SWEEPS: usize = 30;
        let (mut matrix, mut vectors) = (self.clone(), Self::zero(self.size));
        (0..self.size).for_each(|place| vectors.set(place, place, 1.0));
        let whole = dot(&matrix.entries, &matrix.entries);
        for _ in 0..MOST_SWEEPS {
            let off: f64 = (0..self.size)
                .map(|row| dot(&matrix.row(row)[..row], &matrix.row(row)[..row]))
                .sum();
            if off <= 1e-28 * whole {
                break;
            }
            for row in 1..self.size {
                for column in 0..row {
                    matrix.rotate(row, column, &mut vectors);
                }
            }
        }
        let diagonal = (0..self.size).map(|place| matrix.at(place, place)).collect();
        (diagonal, vectors)
    }

    /// The rotation that makes one pair of entries zero.
    fn rotate(&mut self, one: usize, other: usize, vectors: &mut Self) {
        let off = self.at(one, other);
        if off == 0.0 {
            return;
        }
        let half = (self.at(other, other) - self.at(one, one)) / (2.0 * off);
        let tangent = half.signum() / (half.abs() + (half * half + 1.0).sqrt());
        let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
        let sine = tangent * cosine;
        for place in 0..self.size {
            let (first, second) = (self.at(place, one), self.at(place, other));
            self.set(place, one, cosine * first - sine * second);
            self.set(place, other, sine * first + cosine * second);
        }
        for place in 0..self.size {
            let (first, second) = (self.at(one, place), self.at(other, place));
            self.set(one, place, cosine * first - sine * second);
            self.set(other, place, sine * first + cosine * second);
        }
        for place in 0..self.size {
            let (first, second) = (vectors.at(place, one), vectors.at(place, other));
            vectors.set(place, one, cosine * first - sine * second);
            vectors.set(place, other, sine * first + cosine * second);
        }
    }

    /// The vector b for which bᵀ·M·b is least, b scaled by the diagonal, so that all regressors count alike. `None` where M is not positive definite.
    pub(crate) fn weakest(&self) -> Option<Vec<f64>> {
        let scale: Vec<f64> = (0..self.size).map(|place| self.at(place, place).sqrt()).collect();
        if scale.iter().any(|scale| scale.is_nan() || *scale <= 0.0) {
            return None;
        }
        let mut even = self.clone();
        for row in 0..self.size {
            for column in 0..self.size {
                even.set(row, column, self.at(row, column) / (scale[row] * scale[column]));
            }
        }
        let inverse = even.inverse()?;
        let mut vector: Vec<f64> = (0..self.size).map(|place| 1.0 + place as f64 / 7.0).collect();
        for _ in 0..200 {
            vector = inverse.times(&vector);
            let length = dot(&vector, &vector).sqrt();
            vector.iter_mut().for_each(|entry| *entry /= length);
        }
        Some(
            vector
                .iter()
                .zip(&scale)
                .map(|(entry, scale)| entry / scale)
                .collect(),
        )
    }
}

pub(crate) fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_inverts_and_the_weakest_direction_is_found() {
        let mut matrix = Matrix::zero(3);
        for (row, line) in [[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]]
            .iter()
            .enumerate()
        {
            for (column, entry) in line.iter().enumerate() {
                matrix.set(row, column, *entry);
            }
        }
        let one = matrix.product(&matrix.inverse().unwrap());
        for row in 0..3 {
            for column in 0..3 {
                let expected = f64::from(u8::from(row == column));
                assert!((one.at(row, column) - expected).abs() < 1e-12);
            }
        }
        let (values, vectors) = matrix.symmetric_parts();
        for (place, value) in values.iter().enumerate() {
            let vector: Vec<f64> = (0..3).map(|row| vectors.at(row, place)).collect();
            for (row, entry) in matrix.times(&vector).iter().enumerate() {
                assert!((entry - value * vector[row]).abs() < 1e-12);
            }
        }
        let lower = matrix.cholesky().unwrap();
        let one = lower.product(&lower.inverse_of_lower());
        assert!((one.at(2, 0).abs() + one.at(1, 0).abs() + (one.at(2, 2) - 1.0).abs()) < 1e-12);
        let weakest = matrix.weakest().unwrap();
        assert!(matrix.quadratic(&weakest) < 1.0);
        matrix.set(2, 2, -1.0);
        assert!(matrix.inverse().is_none() && matrix.weakest().is_none());
    }
}
