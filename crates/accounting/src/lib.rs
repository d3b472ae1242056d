//! What a release costs, as data that always says whose privacy it is about.
//!
//! "ε = 1" is not a promise. One whose? A person's or a row's? Added, removed or changed? With which δ, for how many
//! questions, and was the number rounded before or after it was promised? Systems that pass a bare `f64` around answer
//! these by convention, and the conventions of two places meet in a wrong guarantee. Here the answers are types:
//!
//! - [`Epsilon`], [`Delta`] and [`Rho`] are exact decimals. `0.1 + 0.2` is `0.3`. What has no finite decimal is rounded,
//!   and the direction is in the name: a guarantee goes up, a budget goes down, so an error is paid by us.
//! - [`PrivacyUnit`] says whose privacy, and what it means for two databases to be neighbours.
//! - [`Event`] is what ran: parameters, never data. It is kept, so that a better accountant can later reread the past.
//! - [`Promise`] is what an event guarantees in numbers; a [`Guarantee`] is a promise *to* somebody. There is no
//!   `Guarantee` without a `PrivacyUnit`, hence no bare ε that leaves this crate as one.
//! - [`Budget`] is the limit, [`Spending`] the tally under it, valid for questions chosen after seeing the answers.
//!
//! What a plan costs is asked of an accountant. All read the same [`Event`]s, all are sound, and they differ in how much they give
//! away; [`Accountant`] has them side by side:
//!
//! - [`Curve`] is the certified answer: ε for δ and δ for ε, each between two proved ends, in milliseconds. For plans fixed in advance.
//! - [`renyi_divergence`], [`epsilon_of_renyi`], [`Event::concentrated`] and [`epsilon_of_concentrated`] sum one number per order, or one in all.
//! - [`optimal_epsilon`], [`advanced_epsilon`] and [`Event::promise`] know (ε, δ) of each event and nothing else.
//! - [`RenyiFilter`], [`RenyiOdometer`] and [`Spending`] hold when each event is chosen after seeing the earlier answers.
//! - [`shuffled_epsilon`] says what is left of a local ε when many reports are shuffled. [`Event::tree`], [`Event::truncated_poisson`] and
//!   [`Event::Selected`] are private learning by trees of sums, batches with an end, and the best of several runs.
//! - [`smallest_multiplier`] and [`smallest_training_multiplier`] go the other way: the least noise that keeps a target.
//!
//! A [`plan`] is how people write such events down, and [`Answers`] asks every accountant about it at once.
//!
//! Behind them stand the curves δ(ε) of single noises ([`delta_of_gaussian`] and its kin), computed with certified intervals from the
//! crate `exact`, and balls of floats for what must be fast. A heuristic may say where to look; only arithmetic that excludes the
//! wrong side lets an answer out.
//!
//! ```
//! use accounting::{Accountant, Delta, Epsilon, Event, NoiseSupport, Neighbors, PrivacyUnit, Ratio};
//!
//! // Compose: a thousand noisy counts at ε = 0.1 each, for a person who may be added or removed.
//! let count = Event::Laplace { ratio: Ratio::parse("0.1")?, on: NoiseSupport::Rounded };
//! let plan = Event::Repeated { event: Box::new(count), times: 1000 };
//! let person = PrivacyUnit::new("person", Neighbors::AddRemove);
//!
//! // Convert: what ε is that with δ = 1e-6? Summing says 100, the certified curve below 19.
//! let delta = Delta::parse("1e-6")?;
//! assert_eq!(Accountant::Basic.epsilon(&plan, &person, &delta)?, Epsilon::parse("100")?);
//! assert!(Accountant::Numerical.epsilon(&plan, &person, &delta)? < Epsilon::parse("18.951")?);
//! # Ok::<(), accounting::Error>(())
//! ```

mod accountant;
mod answers;
mod budget;
mod calibration;
mod composition;
mod concentrated;
mod curve;
mod discrete;
mod error;
mod event;
mod filter;
mod gaussian;
mod gaussian_dp;
mod group;
mod laplace;
mod mills;
mod overflow;
mod person;
pub mod plan;
mod promise;
mod quantity;
mod ratio;
mod renyi;
mod sampler;
mod selected;
mod shuffled;
mod theta;
mod tree;
mod unit;

pub use accountant::Accountant;
pub use answers::{Answer, Answers, Found, Quantity, Question, Row, times_certified};
pub use budget::{Budget, Spending};
pub use calibration::smallest_training_multiplier;
pub use composition::{advanced_epsilon, amplified_epsilon, closed_form_epsilon, optimal_epsilon};
pub use concentrated::{epsilon_of_concentrated, epsilon_of_renyi, rho_of_laplace, rho_of_pure};
pub use curve::{Between, Curve};
pub use discrete::{
    delta_of_discrete_gaussian, delta_of_discrete_laplace, delta_of_pure, epsilon_of_discrete_gaussian,
};
pub use error::Error;
pub use event::{Event, MAXIMUM_DEPTH, NoiseSupport};
pub use filter::{RenyiFilter, RenyiOdometer, RenyiOrders};
pub use gaussian::{classic_multiplier, delta_of_gaussian, epsilon_of_gaussian, smallest_multiplier};
pub use person::{Risk, what_it_means_for_one_person};
pub use promise::{Guarantee, Promise};
pub use quantity::{Delta, Epsilon, Rho};
pub use ratio::Ratio;
pub use renyi::renyi_divergence;
pub use sampler::Sampler;
pub use selected::Runs;
pub use shuffled::{shuffled_delta, shuffled_epsilon};
pub use unit::{Neighbors, Period, PrivacyUnit, distance};
