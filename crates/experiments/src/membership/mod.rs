//! Was she in the data? Traces members and strangers from published means, beside the most that (ε, δ)
//! allows.
//!
//! ```
//! use attack::membership::{Experiment, Noise, Population};
//! use experiments::membership::Report;
//!
//! let (people, attributes, noises) = (20, 400, [Noise::None]);
//! let population = Population::uniform(attributes, 1);
//! let experiment = Experiment { population: &population, people, noises: &noises, trials: 50, seed: 1 };
//! let found = experiment.run(&|_| true)?;
//! let report = Report { people, attributes, seed: 1, noises: &noises, found: &found, stopped: false };
//! let (findings, within) = report.findings()?;
//! assert!(within, "nothing is promised without noise");
//! assert!(findings.text.contains("50 studies of 20 people"));
//! # Ok::<(), attack::Error>(())
//! ```

mod report;
mod suspects;

pub use report::Report;
pub use suspects::suspects_findings;
