//! Noise that is exactly what its name says.
//!
//! The guarantee of a private answer is a statement about the distribution of its noise. A sampler that computes
//! `-b·ln(u)` in floating point has another distribution: some outputs are possible on one database and impossible on its
//! neighbour, and a reader of the low bits sees which (Mironov 2012). The samplers here have their distribution *exactly*: every bit they
//! output is decided by integer arithmetic on random bits, or by intervals that provably enclose a real number and are
//! refined until they decide. Floating point appears nowhere in a decision.
//!
//! Exact samplers are usually slow. These are not: a table made once for a scale holds certified bounds, 31 bits wide, on the
//! cumulative probabilities; thirty-one random bits decide a draw unless they hit a bound (about once in a million draws or
//! less), and only then does exact arithmetic step in. See [`Inversion`] for the argument.
//!
//! - Bits come from one place: a type that implements [`Entropy`]. [`OsEntropy`] is the real one, [`Keyed`] goes on where a crashed run was, [`Tape`] replays bytes.
//! - Scales are [`exact::Rational`]s.
//! - The number of instructions does not depend on the noise drawn; THREAT-MODEL.md says what that covers.
//! ```
//! use exact::ratio;
//! use noise::{DiscreteLaplace, Keyed, OsEntropy};
//!
//! // A count at ε = ½: one person moves it by 1, so the scale is 2.
//! let noise = DiscreteLaplace::new(&ratio(2, 1))?;
//!
//! // What is released draws from the operating system.
//! let mut entropy = OsEntropy::new()?;
//! let mut counts = [120, 0, 7];
//! noise.add_to(&mut counts, &mut entropy);
//!
//! // A run that has to be repeated keeps a key, which is as secret as the data: the same key, the same noise.
//! let key = [7; 32];
//! assert_eq!(noise.sample(&mut Keyed::new(key, 0)), noise.sample(&mut Keyed::new(key, 0)));
//! # Ok::<(), noise::Error>(())
//! ```

mod bernoulli;
mod by_place;
mod chacha;
mod entropy;
mod error;
mod exponential;
mod gaussian;
mod geometric;
mod grid;
mod inversion;
mod keyed;
mod real;
mod seeded;
mod subset;
mod uniform;
mod weights;

pub use bernoulli::{Bernoulli, BernoulliExp};
pub use by_place::{PlacedGaussian, PlacedTables};
pub use entropy::{Entropy, OsEntropy, Tape};
pub use error::Error;
pub use gaussian::{DiscreteGaussian, RoundedGaussian};
pub use geometric::{DiscreteLaplace, Geometric};
pub use grid::Grid;
pub use inversion::{Distribution, Inversion};
pub use keyed::Keyed;
pub use real::{RoundedCauchy, UniformReal};
pub use seeded::Seeded;
pub use subset::{RandomSubset, random_choice, random_order};
pub use uniform::UniformInteger;
pub use weights::ExponentialWeights;
