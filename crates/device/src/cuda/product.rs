//! Products of matrices by cuBLAS.

#![allow(unsafe_code)]

use super::open::Gpu;
use super::vector::{Vector, done};
use crate::Product;
use cudarc::cublas::{CudaBlas, result::gemm_strided_batched_ex, sys};
use std::ffi::{c_int, c_longlong, c_void};

/// How exactly products are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Products {
    /// In `f32`.
    Full,
    /// Those of activations with factors rounded to 11 bits (TF32) on tensor cores, sums in `f32`. Norms and sums of gradients in full `f32`.
    Rounded,
    /// All with factors rounded once to 8 bits (bf16) on tensor cores, sums in `f32`: an example's gradient *is* the product of its rounded factors.
    Half,
}

/// What a factor holds.
pub(super) trait Number {
    const KIND: sys::cudaDataType;
}

impl Number for f32 {
    const KIND: sys::cudaDataType = sys::cudaDataType::CUDA_R_32F;
}

/// The 16 bits of a bf16.
impl Number for u16 {
    const KIND: sys::cudaDataType = sys::cudaDataType::CUDA_R_16BF;
}

/// Where a factor is: entry (i, j) of product b at `start + b·batch + i·row + j·column`.
pub(super) struct Factor<'a, T = f32> {
    pub(super) vector: &'a Vector<T>,
    pub(super) start: usize,
    pub(super) row: usize,
    pub(super) column: usize,
    pub(super) batch: usize,
}

impl<T> Clone for Factor<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Factor<'_, T> {}

impl<T> Factor<'_, T> {
    pub(super) fn transposed(self) -> Self {
        Self {
            row: self.column,
            column: self.row,
            ..self
        }
    }

    /// Some rows and columns from these on.
    pub(super) fn from(self, row: usize, column: usize) -> Self {
        Self {
            start: self.start + row * self.row + column * self.column,
            ..self
        }
    }

    /// As cuBLAS, which goes by columns, sees it: whether to transpose what it reads as the transposed matrix, and the stride.
    fn layout(&self, rows: usize, columns: usize) -> (sys::cublasOperation_t, usize) {
        if self.column == 1 && (self.row >= columns || rows <= 1) {
            (sys::cublasOperation_t::CUBLAS_OP_N, self.row.max(columns).max(1))
        } else if self.row == 1 && (self.column >= rows || columns <= 1) {
            (sys::cublasOperation_t::CUBLAS_OP_T, self.column.max(rows).max(1))
        } else {
            panic!("neither rows nor columns of a factor are contiguous")
        }
    }

    pub(super) fn address(&self, rows: usize, columns: usize, count: usize) -> u64 {
        if rows == 0 || columns == 0 {
            return self.vector.at(0, 0);
        }
        let reach = (count - 1) * self.batch + (rows - 1) * self.row + (columns - 1) * self.column + 1;
        self.vector.at(self.start, reach)
    }
}

/// Where a product goes: entry (i, j) of product b at `start + b·batch + i·row + j`.
pub(super) struct Into<'a, T = f32> {
    vector: &'a mut Vector<T>,
    start: usize,
    row: usize,
    batch: usize,
}

impl<'a, T> Into<'a, T> {
    pub(super) fn new(vector: &'a mut Vector<T>, start: usize, row: usize, batch: usize) -> Self {
        Self {
            vector,
            start,
            row,
            batch,
        }
    }
}

fn size(value: usize) -> c_int {
    c_int::try_from(value).expect("a matrix too large for one product")
}

impl Gpu {
    /// C ← α·A·B + β·C for each of a batch, with sums in `f32`; with β = 0, C is not read. Where C is rounded, so is what it becomes, once.
    pub(super) fn multiply<T: Number, C: Number>(
        &self,
        blas: &CudaBlas,
        products: Products,
        product: Product,
        alpha: f32,
        a: Factor<'_, T>,
        b: Factor<'_, T>,
        beta: f32,
        c: Into<'_, C>,
    ) {
        let Product {
            count,
            rows,
            columns,
            inner,
        } = product;
        if rows == 0 || columns == 0 || count == 0 {
            return;
        }
        let reach = (rows - 1) * c.row + columns;
        assert!(rows == 1 || c.row >= columns, "rows of the product overlap");
        assert!(count == 1 || c.batch >= reach, "products of a batch overlap");
        let into = c.vector.at(c.start, (count - 1) * c.batch + reach);
        let (a_op, a_stride) = a.layout(rows, inner);
        let (b_op, b_stride) = b.layout(inner, columns);
        let exactness = match products {
            Products::Full | Products::Half => sys::cublasComputeType_t::CUBLAS_COMPUTE_32F,
            Products::Rounded => sys::cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32,
        };
        done(self.context.bind_to_thread());
        // By columns everything is transposed: Cᵀ ← α·Bᵀ·Aᵀ + β·Cᵀ.
        // SAFETY: `Factor::address` and `Vector::at` checked that the last entry of each matrix, and so every entry, lies within its vector, and strides are
        // at least as long as what they step over. C is borrowed mutably, so it overlaps neither. α and β are read before the call returns.
        let result = unsafe {
            gemm_strided_batched_ex(
                *blas.handle(),
                b_op,
                a_op,
                size(columns),
                size(rows),
                size(inner),
                (&raw const alpha).cast::<c_void>(),
                b.address(inner, columns, count) as *const c_void,
                T::KIND,
                size(b_stride),
                b.batch as c_longlong,
                a.address(rows, inner, count) as *const c_void,
                T::KIND,
                size(a_stride),
                a.batch as c_longlong,
                (&raw const beta).cast::<c_void>(),
                into as *mut c_void,
                C::KIND,
                size(c.row.max(columns)),
                c.batch as c_longlong,
                size(count),
                exactness,
                sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
            )
        };
        if let Err(error) = result {
            panic!("the GPU failed at a product of matrices: {error}");
        }
    }
}
