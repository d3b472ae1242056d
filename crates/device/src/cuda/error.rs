//! Why there is no GPU to compute on.

/// Why a GPU could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum CudaError {
    /// The driver's library is not there.
    #[error(
        "no NVIDIA driver was found\nhint: compute on the processor, or install the driver; in a container, start it with access to the GPU"
    )]
    NoDriver,
    /// The driver is there and sees no GPU that it can use.
    #[error(
        "the NVIDIA driver offers no GPU: {0}\nhint: `nvidia-smi` lists what it sees; CUDA_VISIBLE_DEVICES may hide it"
    )]
    NoDevice(String),
    /// A library that comes with CUDA is not there.
    #[error(
        "the library {library} of CUDA was not found\nhint: install CUDA 12 or newer, or put the directory of lib{library}.so into LD_LIBRARY_PATH"
    )]
    NoLibrary {
        /// Its name without `lib` and `.so`.
        library: &'static str,
    },
    /// The kernels were refused.
    #[error(
        "the GPU's kernels could not be compiled: {0}\nhint: CUDA's libraries must not be newer than what the driver supports"
    )]
    NoKernels(String),
    /// cuBLAS did not start.
    #[error(
        "cuBLAS did not start: {0}\nhint: the GPU may have no memory left; `nvidia-smi` tells who uses it"
    )]
    NoProducts(String),
}
