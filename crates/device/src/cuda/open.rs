//! Opening a GPU: libraries found when it is asked for, kernels compiled for what it is.

use super::CudaError;
use super::vector::Vector;
use cudarc::cublas::CudaBlas;
use cudarc::driver::{CudaContext, CudaFunction, CudaStream};
use cudarc::nvrtc::{CompileOptions, compile_ptx_with_opts};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// What runs on it besides products.
pub(super) const KERNELS: &str = concat!(
    include_str!("kernels.cu"),
    include_str!("norms.cu"),
    include_str!("attention.cu"),
    include_str!("tiles.cu"),
    include_str!("grid.cu")
);

/// A GPU with one stream: work is done in the order in which it was asked for.
pub(super) struct Gpu {
    pub(super) context: Arc<CudaContext>,
    pub(super) stream: Arc<CudaStream>,
    /// Whether its tensor cores multiply bf16.
    pub(super) has_halves: bool,
    pub(super) functions: BTreeMap<&'static str, CudaFunction>,
    /// Held while kernels that share memory are queued, so that two threads do not mix theirs.
    pub(super) work: Mutex<Work>,
}

/// What clones share.
pub(super) struct Work {
    pub(super) blas: CudaBlas,
    /// Memory for kernels that need some, kept between calls; it only grows.
    pub(super) scratch: [Vector<f32>; 2],
    /// The same, for factors rounded to 16 bits.
    pub(super) halves: [Vector<u16>; 4],
    /// Parts of sums.
    pub(super) doubles: Vector<f64>,
}

/// How many threads a block of some kernels has, and how many blocks are to be at work side by side.
const BOUNDS: &str = "__launch_bounds__(256, 2) ";

/// The names of all kernels: what follows `void` in each of their first lines.
fn names() -> impl Iterator<Item = &'static str> {
    KERNELS.lines().filter_map(|line| {
        let rest = line.strip_prefix("extern \"C\" __global__ void ")?;
        rest.trim_start_matches(BOUNDS).split('(').next()
    })
}

impl Gpu {
    pub(super) fn open(number: usize) -> Result<Self, CudaError> {
        find_libraries()?;
        let no_device = |error: cudarc::driver::DriverError| CudaError::NoDevice(error.to_string());
        let context = CudaContext::new(number).map_err(no_device)?;
        // SAFETY: events would order work on several streams; here everything, allocation and release of memory too, is on the one stream made below.
        #[allow(unsafe_code)]
        unsafe {
            context.disable_event_tracking();
        }
        let stream = context.new_stream().map_err(no_device)?;
        let (major, minor) = context.compute_capability().map_err(no_device)?;
        let no_kernels = |error: &dyn std::fmt::Display| CudaError::NoKernels(error.to_string());
        let options = CompileOptions {
            options: vec![format!("--gpu-architecture=compute_{major}{minor}")],
            ..CompileOptions::default()
        };
        let compiled = compile_ptx_with_opts(KERNELS, options).map_err(|error| no_kernels(&error))?;
        let module = context
            .load_module(compiled)
            .map_err(|error| no_kernels(&error))?;
        let function = |name| match module.load_function(name) {
            Ok(function) => Ok((name, function)),
            Err(error) => Err(no_kernels(&error)),
        };
        let functions = names().map(function).collect::<Result<_, _>>()?;
        let blas = CudaBlas::new(stream.clone()).map_err(|error| CudaError::NoProducts(error.to_string()))?;
        Ok(Self {
            work: Mutex::new(Work {
                blas,
                scratch: [Vector::empty(), Vector::empty()],
                halves: std::array::from_fn(|_| Vector::empty()),
                doubles: Vector::empty(),
            }),
            context,
            stream,
            has_halves: major >= 8,
            functions,
        })
    }
}

/// Asks for each library before anything is called in it: a call into one that is not there panics.
fn find_libraries() -> Result<(), CudaError> {
    // SAFETY: opens and closes shared libraries by their names, which runs NVIDIA's own code for loading and unloading.
    #[allow(unsafe_code)]
    let (driver, nvrtc, cublas) = unsafe {
        (
            cudarc::driver::sys::is_culib_present(),
            cudarc::nvrtc::sys::is_culib_present(),
            cudarc::cublas::sys::is_culib_present(),
        )
    };
    if !driver {
        return Err(CudaError::NoDriver);
    }
    for (found, library) in [(nvrtc, "nvrtc"), (cublas, "cublas")] {
        if !found {
            return Err(CudaError::NoLibrary { library });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_is_known_by_name_once() {
        let mut all: Vec<_> = names().collect();
        assert_eq!(all.len(), KERNELS.matches("__global__").count());
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
