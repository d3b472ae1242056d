//! Symmetric matrices: eigenvectors, square roots, inverses. Nothing here decides a guarantee.

/// Eigenvalues and eigenvectors.
pub(super) struct Symmetric {
    size: usize,
    values: Vec<f64>,
    /// A row for each eigenvector.
    vectors: Vec<f64>,
}

impl Symmetric {
    /// By Householder reflections to three diagonals, then by implicit QL steps.
    pub(super) fn of(matrix: Vec<f64>, size: usize) -> Self {
        let (mut values, mut beside, mut vectors) = tridiagonal(matrix, size);
        diagonal(&mut values, &mut beside, &mut vectors, size);
        Self {
            size,
            values,
            vectors,
        }
    }

    /// The positive semidefinite root.
    pub(super) fn square_root(&self) -> Vec<f64> {
        let mut root = vec![0.0; self.size * self.size];
        for (value, vector) in self.values.iter().zip(self.vectors.chunks_exact(self.size)) {
            let value = value.max(0.0).sqrt();
            for (row, left) in root.chunks_exact_mut(self.size).zip(vector) {
                let left = value * left;
                for (entry, right) in row.iter_mut().zip(vector) {
                    *entry += left * right;
                }
            }
        }
        root
    }

    /// √λ·v for the `count` largest eigenvalues.
    pub(super) fn roots_of_largest(&self, count: usize) -> Vec<Vec<f64>> {
        let mut places: Vec<usize> = (0..self.size).collect();
        places.sort_by(|one, other| self.values[*other].total_cmp(&self.values[*one]));
        places
            .into_iter()
            .take(count)
            .map(|place| {
                let value = self.values[place].max(0.0).sqrt();
                let vector = &self.vectors[place * self.size..][..self.size];
                vector.iter().map(|entry| value * entry).collect()
            })
            .collect()
    }
}

/// Householder: the diagonal, the entries beside it, and the rows of the transformation.
fn tridiagonal(mut a: Vec<f64>, n: usize) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let mut q = vec![0.0; n * n];
    for place in 0..n {
        q[place * n + place] = 1.0;
    }
    let mut v = vec![0.0; n];
    let mut p = vec![0.0; n];
    for k in 0..n.saturating_sub(2) {
        // Reflects column k below the diagonal onto its first entry.
        let norm = (k + 1..n)
            .map(|row| a[row * n + k] * a[row * n + k])
            .sum::<f64>()
            .sqrt();
        if norm == 0.0 {
            continue;
        }
        let first = a[(k + 1) * n + k];
        let target = if first > 0.0 { -norm } else { norm };
        for row in k + 1..n {
            v[row] = a[row * n + k];
        }
        v[k + 1] -= target;
        let square: f64 = v[k + 1..].iter().map(|entry| entry * entry).sum();
        if square == 0.0 {
            continue;
        }
        let beta = 2.0 / square;
        for row in k + 1..n {
            let line = &a[row * n + k + 1..row * n + n];
            p[row] = beta
                * line
                    .iter()
                    .zip(&v[k + 1..])
                    .map(|(entry, v)| entry * v)
                    .sum::<f64>();
        }
        let half = beta / 2.0
            * v[k + 1..]
                .iter()
                .zip(&p[k + 1..])
                .map(|(v, p)| v * p)
                .sum::<f64>();
        for row in k + 1..n {
            p[row] -= half * v[row];
        }
        for row in k + 1..n {
            let (left_v, left_p) = (v[row], p[row]);
            let line = &mut a[row * n + k + 1..row * n + n];
            for ((entry, v), p) in line.iter_mut().zip(&v[k + 1..]).zip(&p[k + 1..]) {
                *entry -= left_v * p + left_p * v;
            }
        }
        a[(k + 1) * n + k] = target;
        a[k * n + k + 1] = target;
        // Rows of q are the basis: q ← H·q.
        p[..n].fill(0.0);
        for row in k + 1..n {
            for (sum, entry) in p.iter_mut().zip(&q[row * n..][..n]) {
                *sum += v[row] * entry;
            }
        }
        for row in k + 1..n {
            let factor = beta * v[row];
            for (entry, sum) in q[row * n..][..n].iter_mut().zip(&p) {
                *entry -= factor * sum;
            }
        }
    }
    let values = (0..n).map(|place| a[place * n + place]).collect();
    let beside = (0..n).map(|place| {
        if place + 1 < n {
            a[(place + 1) * n + place]
        } else {
            0.0
        }
    });
    (values, beside.collect(), q)
}

/// Implicit QL with shifts; rotates the rows of `vectors` along.
fn diagonal(values: &mut [f64], beside: &mut [f64], vectors: &mut [f64], n: usize) {
    for start in 0..n {
        for _ in 0..100 {
            let end = (start..n - 1)
                .find(|place| {
                    let size = values[*place].abs() + values[place + 1].abs();
                    beside[*place].abs() <= f64::EPSILON * size
                })
                .unwrap_or(n - 1);
            if end == start {
                break;
            }
            let mut g = (values[start + 1] - values[start]) / (2.0 * beside[start]);
            let mut r = g.hypot(1.0);
            g = values[end] - values[start] + beside[start] / (g + r.copysign(g));
            let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
            let mut deflated = false;
            for place in (start..end).rev() {
                let f = s * beside[place];
                let b = c * beside[place];
                r = f.hypot(g);
                beside[place + 1] = r;
                if r == 0.0 {
                    values[place + 1] -= p;
                    beside[end] = 0.0;
                    deflated = true;
                    break;
                }
                s = f / r;
                c = g / r;
                g = values[place + 1] - p;
                r = (values[place] - g) * s + 2.0 * c * b;
                p = s * r;
                values[place + 1] = g + p;
                g = c * r - b;
                let (upper, lower) = vectors[place * n..(place + 2) * n].split_at_mut(n);
                for (upper, lower) in upper.iter_mut().zip(lower) {
                    let f = *lower;
                    *lower = s * *upper + c * f;
                    *upper = c * *upper - s * f;
                }
            }
            if deflated {
                continue;
            }
            values[start] -= p;
            beside[start] = g;
            beside[end] = 0.0;
        }
    }
}

/// The inverse of a positive definite matrix, by Cholesky.
pub(super) fn inverse(mut a: Vec<f64>, n: usize) -> Vec<f64> {
    for column in 0..n {
        for row in column..n {
            let sum: f64 = (0..column).map(|k| a[row * n + k] * a[column * n + k]).sum();
            let rest = a[row * n + column] - sum;
            a[row * n + column] = if row == column {
                rest.max(f64::MIN_POSITIVE).sqrt()
            } else {
                rest / a[column * n + column]
            };
        }
    }
    let mut inverse = vec![0.0; n * n];
    let mut solution = vec![0.0; n];
    for column in 0..n {
        for row in 0..n {
            let sum: f64 = (0..row).map(|k| a[row * n + k] * solution[k]).sum();
            let unit = if row == column { 1.0 } else { 0.0 };
            solution[row] = (unit - sum) / a[row * n + row];
        }
        for row in (0..n).rev() {
            let sum: f64 = (row + 1..n).map(|k| a[k * n + row] * solution[k]).sum();
            solution[row] = (solution[row] - sum) / a[row * n + row];
            inverse[row * n + column] = solution[row];
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_and_inverses_are_what_they_say() {
        let n = 7;
        let entry = |row: usize, column: usize| {
            1.0 / (1.0 + row as f64 + column as f64) + if row == column { 0.5 } else { 0.0 }
        };
        let matrix: Vec<f64> = (0..n * n).map(|place| entry(place / n, place % n)).collect();
        let root = Symmetric::of(matrix.clone(), n).square_root();
        let inverse = inverse(matrix.clone(), n);
        for row in 0..n {
            for column in 0..n {
                let square: f64 = (0..n).map(|k| root[row * n + k] * root[k * n + column]).sum();
                assert!((square - matrix[row * n + column]).abs() < 1e-12);
                let unit: f64 = (0..n)
                    .map(|k| inverse[row * n + k] * matrix[k * n + column])
                    .sum();
                assert!((unit - if row == column { 1.0 } else { 0.0 }).abs() < 1e-10);
            }
        }
    }
}
