//! The peers that are Rust: ChaCha12 itself, and OpenDP.
//!
//! OpenDP draws its bits from OpenSSL when built with `use-openssl` (its default, and what its wheels ship), and
//! from `rand`'s thread generator without, which its documentation calls not secure. We build without: no C
//! toolchain is needed, and it is the faster of the two, about four times, so the comparison favours the peer.
//! `bench/run` with `BENCH_OPENSSL=1` measures OpenDP as it ships.

use crate::Failure;
use crate::measure::{GRID_EXPONENT, Label, Row, SCALES, Scale, measure};
use chacha20::ChaCha12Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;
use opendp::core::{Measure, Measurement};
use opendp::domains::{AtomDomain, VectorDomain};
use opendp::error::Fallible;
use opendp::measurements::{make_gaussian, make_laplace};
use opendp::measures::{MaxDivergence, ZeroConcentratedDivergence};
use opendp::metrics::{L1Distance, L2Distance, LpDistance};
use opendp::traits::samplers::{sample_discrete_gaussian, sample_discrete_laplace};
use std::convert::Infallible;

/// The library name that the table's last column divides by.
pub const OPENDP: &str = "OpenDP Rust";
/// The library name of the floor.
pub const FLOOR: &str = "ChaCha12";
/// The sampler name of the floor: one 64-bit word for each sample, which is what a sample is stored in.
pub const FLOOR_SAMPLER: &str = "64 random bits";

/// Values in one real-valued release; `measure` asks for multiples of it.
const RELEASE_LENGTH: usize = 64;

/// Random words alone: no sampler that spends as many bits can be faster.
pub fn floor() -> Vec<Row> {
    let mut generator = ChaCha12Rng::from_seed([7; 32]);
    let label = |sampler| Label {
        library: FLOOR,
        sampler,
        noise: "bits",
    };
    let Ok(words_64) = measure(label(FLOOR_SAMPLER), "", |words: &mut [[u8; 8]]| {
        generator.fill_bytes(words.as_flattened_mut());
        Ok::<(), Infallible>(())
    });
    let Ok(words_32) = measure(label("32 random bits"), "", |words: &mut [[u8; 4]]| {
        generator.fill_bytes(words.as_flattened_mut());
        Ok::<(), Infallible>(())
    });
    vec![words_64, words_32]
}

fn rational(scale: &Scale) -> RBig {
    RBig::from_parts(IBig::from(scale.numerator), UBig::from(scale.denominator))
}

/// OpenDP's two discrete samplers, called without the measurement around them.
pub fn opendp_samplers() -> Result<Vec<Row>, Failure> {
    type Sampler = fn(RBig) -> Fallible<IBig>;
    let samplers: [(&str, &str, Sampler); 2] = [
        ("sample_discrete_laplace", "laplace", sample_discrete_laplace),
        ("sample_discrete_gaussian", "gaussian", sample_discrete_gaussian),
    ];
    let mut rows = Vec::new();
    for (sampler, noise, draw) in samplers {
        for scale in &SCALES {
            let exact = rational(scale);
            let label = Label {
                library: OPENDP,
                sampler,
                noise,
            };
            rows.push(measure(
                label,
                scale.text,
                |samples: &mut [i64]| -> Result<(), Failure> {
                    for sample in samples {
                        *sample = i64::try_from(draw(exact.clone())?)?;
                    }
                    Ok(())
                },
            )?);
        }
    }
    Ok(rows)
}

/// OpenDP's release of a vector of floats: on the grid 2^[`GRID_EXPONENT`], and on its default grid, which is the
/// finest that a float has (2^-1074).
pub fn opendp_real_releases() -> Result<Vec<Row>, Failure> {
    // Off its finest grid OpenDP rounds its input, and must know the length to bound what that does.
    let domain = || VectorDomain::new(AtomDomain::<f64>::new_non_nan()).with_size(RELEASE_LENGTH);
    let grids = [
        (
            "make_laplace, k=-20",
            "make_gaussian, k=-20",
            "",
            Some(GRID_EXPONENT),
        ),
        (
            "make_laplace, default k",
            "make_gaussian, default k",
            ", finest grid",
            None,
        ),
    ];
    let mut rows = Vec::new();
    for (laplace, gaussian, finest, k) in grids {
        for scale in &SCALES {
            let float = scale.nearest_f64();
            let noise = if finest.is_empty() {
                "real laplace"
            } else {
                "real laplace, finest grid"
            };
            let label = Label {
                library: OPENDP,
                sampler: laplace,
                noise,
            };
            let measurement =
                make_laplace::<_, _, MaxDivergence>(domain(), L1Distance::<f64>::default(), float, k)?;
            rows.push(release_row(label, scale, &measurement)?);

            let noise = if finest.is_empty() {
                "real gaussian"
            } else {
                "real gaussian, finest grid"
            };
            let label = Label {
                library: OPENDP,
                sampler: gaussian,
                noise,
            };
            let measurement = make_gaussian::<_, _, ZeroConcentratedDivergence>(
                domain(),
                L2Distance::<f64>::default(),
                float,
                k,
            )?;
            rows.push(release_row(label, scale, &measurement)?);
        }
    }
    Ok(rows)
}

fn release_row<const P: usize, MO: Measure>(
    label: Label,
    scale: &Scale,
    measurement: &Measurement<VectorDomain<AtomDomain<f64>>, LpDistance<P, f64>, MO, Vec<f64>>,
) -> Result<Row, Failure> {
    let values = vec![1234.5; RELEASE_LENGTH];
    measure(label, scale.text, |released: &mut [f64]| -> Result<(), Failure> {
        for chunk in released.chunks_exact_mut(RELEASE_LENGTH) {
            chunk.copy_from_slice(&measurement.invoke(&values)?);
        }
        Ok(())
    })
}
