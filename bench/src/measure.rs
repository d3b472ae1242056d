//! Timing: how long one repetition runs, how many there are, and what a row keeps of them.

use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// Repetitions of each measurement; the best counts, because everything that disturbs a run only slows it down.
pub const REPETITIONS: usize = 5;

/// A repetition lasts at least this long, so that the clock's resolution and the first cache misses do not show.
const REPETITION: Duration = Duration::from_millis(200);

/// Samples a sampler writes between two looks at the clock: a batch fits the second-level cache.
const BATCH: usize = 1 << 14;

/// The noise scales we measure: small, middling, large, and two that no table was made for.
pub const SCALES: [Scale; 5] = [
    Scale {
        text: "1",
        numerator: 1,
        denominator: 1,
    },
    Scale {
        text: "10",
        numerator: 10,
        denominator: 1,
    },
    Scale {
        text: "1000",
        numerator: 1000,
        denominator: 1,
    },
    Scale {
        text: "12345.678",
        numerator: 12_345_678,
        denominator: 1000,
    },
    Scale {
        text: "1e9/7",
        numerator: 1_000_000_000,
        denominator: 7,
    },
];

/// The grid of the real-valued releases is 2^GRID_EXPONENT·ℤ: about a millionth.
pub const GRID_EXPONENT: i32 = -20;

/// A noise scale as the fraction it is, and as people write it.
#[derive(Clone, Copy)]
pub struct Scale {
    /// As people write it; rows of the same scale are compared by this text.
    pub text: &'static str,
    /// The fraction's numerator.
    pub numerator: u64,
    /// The fraction's denominator.
    pub denominator: u64,
}

impl Scale {
    /// The nearest float, for the peers that take one.
    #[expect(
        clippy::cast_precision_loss,
        reason = "the scales above have fewer than 53 bits"
    )]
    pub fn nearest_f64(&self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

/// One measured line. The Python peers print the same object.
#[derive(Clone, Serialize, Deserialize)]
pub struct Row {
    /// Whose code: `Deniable`, `OpenDP Rust`, `OpenDP Python`, `numpy`, `ChaCha12`.
    pub library: String,
    /// What was called, in the library's own words.
    pub sampler: String,
    /// The noise that came out; rows of one noise and scale do the same job.
    pub noise: String,
    /// The noise scale, as in [`SCALES`].
    pub scale: String,
    /// Samples of each repetition.
    pub samples: u64,
    /// Seconds of each repetition.
    pub seconds: Vec<f64>,
}

impl Row {
    /// Million samples per second in the best repetition.
    #[expect(clippy::cast_precision_loss, reason = "a count of samples is far below 2^53")]
    pub fn rate(&self) -> f64 {
        let best = self.seconds.iter().copied().fold(f64::INFINITY, f64::min);
        self.samples as f64 / best / 1e6
    }
}

/// Who is measured, what is called, which noise comes out.
#[derive(Clone, Copy)]
pub struct Label {
    /// See [`Row::library`].
    pub library: &'static str,
    /// See [`Row::sampler`].
    pub sampler: &'static str,
    /// See [`Row::noise`].
    pub noise: &'static str,
}

/// Measures `fill`, which overwrites a whole slice with fresh samples. The batch grows or shrinks until one
/// repetition takes [`REPETITION`]; then [`REPETITIONS`] repetitions of that many batches are timed.
pub fn measure<T: Clone + Default, E>(
    label: Label,
    scale: &str,
    mut fill: impl FnMut(&mut [T]) -> Result<(), E>,
) -> Result<Row, E> {
    // A slow sampler must not need seconds for its first batch.
    let mut small = vec![T::default(); 64];
    let start = Instant::now();
    fill(&mut small)?;
    let batch = if start.elapsed() > REPETITION / 32 {
        small.len()
    } else {
        BATCH
    };

    let mut samples = vec![T::default(); batch];
    let mut batches = 0_u32;
    let start = Instant::now();
    while start.elapsed() < REPETITION {
        fill(std::hint::black_box(&mut samples))?;
        batches += 1;
    }
    let mut seconds = Vec::with_capacity(REPETITIONS);
    for _ in 0..REPETITIONS {
        let start = Instant::now();
        for _ in 0..batches {
            fill(std::hint::black_box(&mut samples))?;
            std::hint::black_box(&samples);
        }
        seconds.push(start.elapsed().as_secs_f64());
    }
    let row = Row {
        library: label.library.into(),
        sampler: label.sampler.into(),
        noise: label.noise.into(),
        scale: scale.into(),
        samples: u64::from(batches) * batch as u64,
        seconds,
    };
    eprintln!(
        "  {:<14} {:<32} {:>10} {:>10.3} M/s",
        row.library,
        row.sampler,
        row.scale,
        row.rate()
    );
    Ok(row)
}
