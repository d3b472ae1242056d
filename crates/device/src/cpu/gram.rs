//! Sixteen inner products at once, by AVX-512 instructions that the compiler does not find by itself.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m512, _mm512_add_ps, _mm512_castpd_ps, _mm512_castps_pd, _mm512_fmadd_ps, _mm512_loadu_ps,
    _mm512_maskz_loadu_ps, _mm512_setzero_ps, _mm512_shuffle_f32x4, _mm512_storeu_ps, _mm512_unpackhi_pd,
    _mm512_unpackhi_ps, _mm512_unpacklo_pd, _mm512_unpacklo_ps,
};

/// ⟨a_i, b_j⟩ of four rows and four rows, all of one length, in row-major order; `None` on processors without AVX-512.
#[inline]
pub(super) fn sixteen(a: [&[f32]; 4], b: [&[f32]; 4]) -> Option<[f32; 16]> {
    let len = a[0].len();
    assert!(
        a.iter().chain(&b).all(|row| row.len() == len),
        "rows of different lengths"
    );
    #[cfg(target_arch = "x86_64")]
    if super::lanes::width() == super::lanes::Width::Widest {
        // SAFETY: the processor has AVX-512, as `width` found, and all eight rows have `len` numbers.
        return Some(unsafe { products(a.map(<[f32]>::as_ptr), b.map(<[f32]>::as_ptr), len) });
    }
    None
}

/// # Safety
///
/// All eight pointers are to `len` readable numbers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn products(a: [*const f32; 4], b: [*const f32; 4], len: usize) -> [f32; 16] {
    let mut sums = [_mm512_setzero_ps(); 16];
    let mut at = 0;
    while at + 16 <= len {
        // SAFETY: `at` + 16 numbers are within `len`.
        let right = unsafe {
            [
                _mm512_loadu_ps(b[0].add(at)),
                _mm512_loadu_ps(b[1].add(at)),
                _mm512_loadu_ps(b[2].add(at)),
                _mm512_loadu_ps(b[3].add(at)),
            ]
        };
        for i in 0..4 {
            // SAFETY: the same.
            let left = unsafe { _mm512_loadu_ps(a[i].add(at)) };
            for j in 0..4 {
                sums[4 * i + j] = _mm512_fmadd_ps(left, right[j], sums[4 * i + j]);
            }
        }
        at += 16;
    }
    if at < len {
        let mask = (1u16 << (len - at)) - 1;
        // SAFETY: the mask leaves out what is past `len`, and what a mask leaves out is not read.
        let rest = |row: *const f32| unsafe { _mm512_maskz_loadu_ps(mask, row.add(at)) };
        let right = [rest(b[0]), rest(b[1]), rest(b[2]), rest(b[3])];
        for i in 0..4 {
            let left = rest(a[i]);
            for j in 0..4 {
                sums[4 * i + j] = _mm512_fmadd_ps(left, right[j], sums[4 * i + j]);
            }
        }
    }
    let mut result = [0.0; 16];
    // SAFETY: `result` has room for sixteen numbers.
    unsafe { _mm512_storeu_ps(result.as_mut_ptr(), fold(sums)) };
    result
}

/// Lane k of the result is the sum of the lanes of vector k: sums of halves that are brought together, four times.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn fold(sums: [__m512; 16]) -> __m512 {
    let one = |a: __m512, b: __m512| _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
    let two = |a: __m512, b: __m512| {
        let (a, b) = (_mm512_castps_pd(a), _mm512_castps_pd(b));
        _mm512_add_ps(
            _mm512_castpd_ps(_mm512_unpacklo_pd(a, b)),
            _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)),
        )
    };
    let four = |a: __m512, b: __m512| {
        _mm512_add_ps(
            _mm512_shuffle_f32x4::<0x88>(a, b),
            _mm512_shuffle_f32x4::<0xdd>(a, b),
        )
    };
    let quad = |k: usize| two(one(sums[k], sums[k + 1]), one(sums[k + 2], sums[k + 3]));
    four(four(quad(0), quad(4)), four(quad(8), quad(12)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_products_are_those_of_the_rows() {
        for len in [0, 1, 15, 16, 17, 50, 100, 985] {
            let rows: Vec<Vec<f32>> = (0..8)
                .map(|row| (0..len).map(|i| ((row * 31 + i * 7) % 13) as f32 - 6.0).collect())
                .collect();
            let (a, b) = (
                [&rows[0][..], &rows[1], &rows[2], &rows[3]],
                [&rows[4][..], &rows[5], &rows[6], &rows[7]],
            );
            let Some(products) = sixteen(a, b) else {
                eprintln!("no AVX-512 here: nothing to hold against the definition");
                return;
            };
            for i in 0..4 {
                for j in 0..4 {
                    // Small integers: exact in any order.
                    let truth: f32 = a[i].iter().zip(b[j]).map(|(x, y)| x * y).sum();
                    assert_eq!(products[4 * i + j], truth, "{len}: {i}, {j}");
                }
            }
        }
    }
}
