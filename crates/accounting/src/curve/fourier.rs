//! The discrete Fourier transform, with a bound on its rounding.

/// The discrete Fourier transform of N numbers, N a power of two.
pub(super) struct Fourier {
    /// e^(2πij/N) for j < N/2.
    roots: Vec<(f64, f64)>,
}

impl Fourier {
    pub(super) fn points(&self) -> usize {
        2 * self.roots.len()
    }

    /// At least the error of each output, relative to the sum of the inputs' sizes.
    ///
    /// A butterfly u ± ωv errs by at most 12·2⁻⁵³·(|u|+|v|): a rounded product (√5), a rounded sum (1), and the root of unity, whose
    /// angle below π was rounded twice (2π) and whose parts were rounded (1). That, once a level.
    pub(super) fn error(&self) -> f64 {
        f64::from(self.points().trailing_zeros()) * 12.0 * 1.01 * f64::EPSILON / 2.0
    }

    pub(super) fn new(points: usize) -> Self {
        let turn = std::f64::consts::TAU / points as f64;
        let roots = (0..points / 2)
            .map(|j| {
                let (sine, cosine) = libm::sincos(turn * j as f64);
                (cosine, sine)
            })
            .collect();
        Self { roots }
    }

    pub(super) fn transform(&self, values: &mut [(f64, f64)]) {
        let points = values.len();
        let bits = points.trailing_zeros();
        for i in 0..points {
            let j = i.reverse_bits() >> (usize::BITS - bits);
            if i < j {
                values.swap(i, j);
            }
        }
        let mut half = 1;
        while half < points {
            let stride = points / (2 * half);
            for block in values.chunks_exact_mut(2 * half) {
                let (left, right) = block.split_at_mut(half);
                for (k, (u, v)) in left.iter_mut().zip(right).enumerate() {
                    let (cosine, sine) = self.roots[k * stride];
                    let turned = (v.0 * cosine - v.1 * sine, v.0 * sine + v.1 * cosine);
                    *v = (u.0 - turned.0, u.1 - turned.1);
                    *u = (u.0 + turned.0, u.1 + turned.1);
                }
            }
            half *= 2;
        }
    }
}
