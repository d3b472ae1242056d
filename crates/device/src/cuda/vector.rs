//! Memory of the GPU.

use super::open::Gpu;
use crate::OutOfMemory;
use cudarc::driver::sys::{CUdeviceptr, CUresult};
use cudarc::driver::{CudaSlice, DevicePtr, DeviceRepr, DriverError, ValidAsZeroBits};
use std::ops::Range;

/// A vector that lives on a GPU.
pub struct Vector<T> {
    // None where it is empty: making and dropping empty ones costs nothing.
    memory: Option<CudaSlice<T>>,
    address: CUdeviceptr,
    len: usize,
}

// Without the numbers, which may be private.
impl<T> std::fmt::Debug for Vector<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Vector({} numbers on a GPU)", self.len)
    }
}

impl<T> Vector<T> {
    pub(super) fn empty() -> Self {
        Self {
            memory: None,
            address: 0,
            len: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Where the `len` numbers from `start` on are; they are all within the vector.
    pub(super) fn at(&self, start: usize, len: usize) -> CUdeviceptr {
        let end = start.checked_add(len);
        assert!(
            end.is_some_and(|end| end <= self.len),
            "a kernel would reach over the end of its vector"
        );
        self.address + (start * size_of::<T>()) as CUdeviceptr
    }
}

/// Stops: the GPU failed, and nothing it holds can be believed.
pub(super) fn done<T>(result: Result<T, DriverError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!(
            "the GPU failed: {error}\nhint: `nvidia-smi` tells its state; if its memory is full, take fewer examples at a time"
        ),
    }
}

impl Gpu {
    pub(super) fn zeros<T: DeviceRepr + ValidAsZeroBits>(&self, len: usize) -> Vector<T> {
        if len == 0 {
            return Vector::empty();
        }
        let memory = match self.stream.alloc_zeros::<T>(len) {
            Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                let free = self.context.mem_get_info().map_or(0, |(free, _)| free);
                let asked = len.saturating_mul(size_of::<T>());
                OutOfMemory { asked, free }.end()
            }
            other => done(other),
        };
        let address = memory.device_ptr(&self.stream).0;
        Vector {
            memory: Some(memory),
            address,
            len,
        }
    }

    /// Makes a vector at least this long.
    pub(super) fn reserve<T: DeviceRepr + ValidAsZeroBits>(&self, vector: &mut Vector<T>, len: usize) {
        if vector.len < len {
            *vector = Vector::empty();
            *vector = self.zeros(len);
        }
    }

    /// A copy on the GPU.
    pub(super) fn sent<T: DeviceRepr + ValidAsZeroBits>(&self, values: &[T]) -> Vector<T> {
        let mut vector = self.zeros(values.len());
        self.write(values, 0, &mut vector);
        vector
    }

    pub(super) fn write<T: DeviceRepr>(&self, values: &[T], start: usize, into: &mut Vector<T>) {
        if values.is_empty() {
            return;
        }
        let end = start + values.len();
        let memory = into.memory.as_mut().filter(|memory| memory.len() >= end);
        let memory = memory.expect("a vector that is at least as long");
        done(self.stream.memcpy_htod(values, &mut memory.slice_mut(start..end)));
    }

    pub(super) fn read<T: DeviceRepr + Copy + Default>(
        &self,
        from: &Vector<T>,
        range: Range<usize>,
    ) -> Vec<T> {
        let mut values = vec![T::default(); range.len()];
        if let Some(memory) = from.memory.as_ref().filter(|_| !range.is_empty()) {
            done(self.stream.memcpy_dtoh(&memory.slice(range), &mut values));
            done(self.stream.synchronize());
        } else {
            assert!(
                range.is_empty(),
                "a kernel would reach over the end of its vector"
            );
        }
        values
    }

    pub(super) fn clear<T: DeviceRepr + ValidAsZeroBits>(&self, vector: &mut Vector<T>, range: Range<usize>) {
        if let Some(memory) = vector.memory.as_mut().filter(|_| !range.is_empty()) {
            done(self.stream.memset_zeros(&mut memory.slice_mut(range)));
        } else {
            assert!(
                range.is_empty(),
                "a kernel would reach over the end of its vector"
            );
        }
    }

    pub(super) fn copy(
        &self,
        from: &Vector<f32>,
        start: usize,
        to: &mut Vector<f32>,
        into: usize,
        len: usize,
    ) {
        if len == 0 {
            return;
        }
        match (&from.memory, &mut to.memory) {
            (Some(from), Some(to)) => {
                let (from, mut to) = (from.slice(start..start + len), to.slice_mut(into..into + len));
                done(self.stream.memcpy_dtod(&from, &mut to));
            }
            _ => panic!("a kernel would reach over the end of its vector"),
        }
    }
}
