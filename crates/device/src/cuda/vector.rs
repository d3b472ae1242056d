//! Memory of the GPU, and of the host where the GPU can reach it.

#![allow(unsafe_code)]

use super::open::Gpu;
use cudarc::driver::result::memcpy_dtoh_async;
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{
    CudaEvent, CudaSlice, DevicePtr, DeviceRepr, DriverError, HostSlice, PinnedHostSlice, ValidAsZeroBits,
};
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
        let memory = done(self.stream.alloc_zeros::<T>(len));
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

    pub(super) fn write<T: DeviceRepr>(&self, values: &[T], into: &mut Vector<T>) {
        if values.is_empty() {
            return;
        }
        let memory = into.memory.as_mut().filter(|memory| memory.len() >= values.len());
        let memory = memory.expect("a vector that is at least as long");
        done(
            self.stream
                .memcpy_htod(values, &mut memory.slice_mut(..values.len())),
        );
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

/// Whole numbers of the host, in memory that the GPU copies from and to by itself.
pub struct Pinned {
    memory: Option<PinnedHostSlice<i64>>,
    /// Recorded after each copy; whoever touches the memory waits for it. The memory's own event is not recorded, because the context does not track events.
    copied: Option<CudaEvent>,
}

impl std::fmt::Debug for Pinned {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Pinned(..)")
    }
}

// A copy under way must not meet memory that is somebody else's by then.
impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.copied.as_ref().map(CudaEvent::synchronize) {
            // Nobody knows whether the GPU still writes there, so it stays where it is.
            std::mem::forget(self.memory.take());
            eprintln!("the GPU failed: {error}");
        }
    }
}

impl Pinned {
    pub(super) fn new(gpu: &Gpu, len: usize) -> Self {
        if len == 0 {
            return Self {
                memory: None,
                copied: None,
            };
        }
        // SAFETY: it is filled with zeros before anybody sees it, and any bits are an integer anyway.
        let mut memory = done(unsafe { gpu.context.alloc_pinned_with_flags::<i64>(len, 0) });
        done(memory.as_mut_slice()).fill(0);
        Self {
            memory: Some(memory),
            copied: Some(done(gpu.context.new_event(None))),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.memory.as_ref().map_or(0, PinnedHostSlice::len)
    }

    /// Waits until the GPU has copied what it was told to.
    pub(super) fn numbers(&mut self) -> &mut [i64] {
        let Self { memory, copied } = self;
        match (memory, copied) {
            (Some(memory), Some(copied)) => {
                done(copied.synchronize());
                done(memory.as_mut_slice())
            }
            _ => &mut [],
        }
    }

    /// Copies all of it to the GPU.
    pub(super) fn send(&self, gpu: &Gpu, into: &mut Vector<i64>) {
        gpu.reserve(into, self.len());
        if let (Some(memory), Some(copied), Some(into)) = (&self.memory, &self.copied, &mut into.memory) {
            done(
                gpu.stream
                    .memcpy_htod(memory, &mut into.slice_mut(..memory.len())),
            );
            done(copied.record(&gpu.stream));
        }
    }

    /// Copies the first `len` numbers of a vector here, which is at least as long.
    pub(super) fn fetch(&mut self, gpu: &Gpu, from: &Vector<i64>, len: usize) {
        let (Some(memory), Some(copied)) = (&mut self.memory, &self.copied) else {
            return;
        };
        let (stream, address) = (&gpu.stream, from.at(0, len));
        assert!(memory.len() >= len, "fewer whole numbers than values");
        done(gpu.context.bind_to_thread());
        // SAFETY: `len` numbers are on both sides, and whoever reads them waits for the event first.
        unsafe {
            let (numbers, _) = memory.stream_synced_mut_slice(stream);
            done(memcpy_dtoh_async(
                &mut numbers[..len],
                address,
                stream.cu_stream(),
            ));
        }
        done(copied.record(stream));
    }
}
