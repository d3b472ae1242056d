//! Filters and odometers: accounting for events that are chosen one by one, each after seeing all earlier answers.
//!
//! Whoever looks at an answer and then decides what to ask next, how precisely, and when to stop, runs no plan. Which sums may be
//! watched meanwhile is a theorem, not a habit:
//!
//! | what is kept | the filter | why |
//! |---|---|---|
//! | ε, or (ε, δ) by sums | [`Spending`](crate::Spending) | Rogers, Roth, Ullman and Vadhan 2016, "Privacy odometers and filters" |
//! | ρ | [`Spending`](crate::Spending), charged with [`Event::concentrated`](crate::Event::concentrated) | Feldman and Zrnic 2021, "Individual privacy accounting via a Rényi filter" |
//! | (ε, δ) by Rényi divergences | [`RenyiFilter`] | the same, and the proof there |
//! | no limit, a running ε | [`RenyiOdometer`] | Ville's inequality, and the proof there |
//!
//! # Why a curve cannot be continued
//!
//! A [`Curve`](crate::Curve) is tighter than all of these. It is the exact δ(ε) of *one* plan, and says nothing about the choice
//! between two. Take ε = 12 and δ = 0.0003, and a first question whose loss is 2 with probability 0.02 and else about 0. Continue
//! - with A, whose loss is 10.118 with probability 0.13: only together with the rare first loss does it pass 12; or
//! - with B, whose loss is 12.693 with probability 0.0006: it passes 12 by itself.
//!
//! Each of the two plans, the first question and then A, the first question and then B, has δ(12) < 0.0003 by its curve. But an
//! analyst who asks A after the large first loss and B after the small one has the bad cases of both: 1.9 times the δ. The first curve
//! spent its δ where A is chosen and the second where B is, and each was computed as if the other did not exist. With k branches
//! the factor is k. (`tests/filters.rs` computes this example.) A sum of Rényi divergences of one order survives, because
//! e^((α−1)·loss) is multiplied step by step whatever the branch, and its mean stays bounded; the price of several orders, or of not
//! stopping at a fixed time, is paid in advance in δ.
//!
//! So filters and odometers are charged with an [`Event`](crate::Event), never with a curve, and a curve cannot be extended or joined to
//! another: `tests/boundary/` holds the programs that must not compile. What no type can see is somebody who writes a longer plan after
//! looking at answers and asks a curve again; the curve's claim is about plans fixed in advance.

mod divergence;
mod odometer;
mod orders;
mod renyi_filter;
mod tally;
mod weights;

pub use odometer::RenyiOdometer;
pub use orders::RenyiOrders;
pub use renyi_filter::RenyiFilter;
