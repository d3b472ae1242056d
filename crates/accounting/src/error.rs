//! The one way in which accounting fails: parameters that make no promise, never data.

/// Why a parameter was refused, or why two promises do not add up.
///
/// Messages quote parameters. Parameters are public, data is not, and no data enters this crate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is no number.
    #[error("{quantity} {text:?} is not a finite number\nhint: write it as 0.1, 2 or 1e-6")]
    NotANumber {
        /// `ε`, `δ`, `ρ` or `ratio`.
        quantity: &'static str,
        /// What was written, cut to a readable length.
        text: String,
    },
    /// A fraction such as 1/3, which no decimal equals.
    #[error(
        "{quantity} {text:?} is not a finite decimal, so it could only be kept after rounding\nhint: round it yourself: up for a guarantee, down for a budget"
    )]
    NotADecimal {
        /// `ε`, `δ` or `ρ`.
        quantity: &'static str,
        /// What was written, cut to a readable length.
        text: String,
    },
    /// Below zero.
    #[error(
        "{quantity} = {text} is negative, and a negative loss of privacy means nothing\nhint: use 0 or more"
    )]
    Negative {
        /// `ε`, `δ`, `ρ` or `ratio`.
        quantity: &'static str,
        /// The number, cut to a readable length.
        text: String,
    },
    /// δ = 1 allows publishing everything.
    #[error(
        "δ = {text} is 1 or more, which promises nothing\nhint: choose δ well below one over the number of people, such as 1e-6"
    )]
    DeltaTooLarge {
        /// The number, cut to a readable length.
        text: String,
    },
    /// Larger or finer than is kept exactly.
    #[error(
        "{quantity} = {text} is out of range, because numbers are kept exactly\nhint: stay below 1e30 and within 300 decimal places"
    )]
    OutOfRange {
        /// `ε`, `δ`, `ρ` or `ratio`.
        quantity: &'static str,
        /// The number, cut to a readable length.
        text: String,
    },
    /// A probability outside [0, 1].
    #[error("{text} is not a probability\nhint: use a number from 0 to 1, such as 0.02 for 2 %")]
    NotAProbability {
        /// The number, cut to a readable length.
        text: String,
    },
    /// A number of runs that is none.
    #[error(
        "the number of runs has no such distribution\nhint: write a mean above 0, or a probability to stop between 0 and 1"
    )]
    NoRuns,
    /// Nothing is shuffled, or too much.
    #[error("{count} shuffled reports are out of range\nhint: count from 1 to 1000000000")]
    NoReports {
        /// How many.
        count: u64,
    },
    /// A tree in which nobody takes part.
    #[error(
        "a tree without leaves, without participations, or with participations 0 steps apart, is none\nhint: count the steps of the tree, how often one unit takes part at most, and how many steps lie between (1 where that is not known)"
    )]
    NoTree,
    /// A selection, of which nothing else is known.
    #[error(
        "the best of a random number of runs is known by its Rényi divergences alone\nhint: ask the accountant \"renyi\", or a Rényi filter"
    )]
    RenyiOnly,
    /// Sums of (ε, δ) and sums of ρ do not mix.
    #[error(
        "an (ε, δ) promise and a concentrated one (ρ) were composed, but neither sum bounds the other\nhint: state both as ρ, or convert the ρ total once, at the end, with epsilon_of_concentrated"
    )]
    MixedPromises,
    /// Two guarantees about different people, or with different neighbours.
    #[error(
        "guarantees for different privacy units were composed: {left}; and {right}\nhint: restate both for one unit (see for_group and under_change_one)"
    )]
    DifferentUnits {
        /// One unit.
        left: String,
        /// The other.
        right: String,
    },
    /// Databases of different size are no number of changes apart.
    #[error(
        "databases of {left} and {right} records differ in size, so no number of changed records leads from one to the other\nhint: compare them with Neighbors::AddRemove"
    )]
    SizesDiffer {
        /// Records in one.
        left: u128,
        /// Records in the other.
        right: u128,
    },
    /// Gaussian noise, and whatever is known by its ρ alone, has unbounded privacy loss.
    #[error(
        "at δ = 0 no finite ε holds for Gaussian noise or for a release that is known by its ρ (zCDP)\nhint: allow a small δ such as 1e-9, or use Laplace noise"
    )]
    NeedsDelta,
    /// σ = 0.
    #[error(
        "the noise has no width, so the answer is exact and nothing is promised\nhint: use a noise multiplier above 0"
    )]
    NoNoise,
    /// Outside the classic theorem.
    #[error(
        "the classic Gaussian calibration was asked for ε = {epsilon}, but its proof holds for 0 < ε ≤ 1 only\nhint: use smallest_multiplier, which holds for every ε and is never larger"
    )]
    ClassicRange {
        /// The ε asked for.
        epsilon: String,
    },
    /// Events bring more δ than the caller allows.
    #[error(
        "the events carry δ = {own} of their own, more than the δ = {allowed} to be promised\nhint: promise a δ of at least {own}"
    )]
    DeltaExceeded {
        /// What the events carry.
        own: String,
        /// What was to be promised.
        allowed: String,
    },
    /// The next charge does not fit.
    #[error(
        "a cost of {cost} does not fit: {remaining} remains of {limit}\nhint: ask less precisely, or ask whoever holds the budget for more"
    )]
    OverBudget {
        /// What was to be charged.
        cost: String,
        /// What remains.
        remaining: String,
        /// The limit.
        limit: String,
    },
    /// Two samplers in one plan hold for different neighbours.
    #[error(
        "a plan has samplers whose bounds are about different neighbours: Poisson samples about a unit added or removed, batches of a fixed size and shuffled ones about a unit that changes\nhint: account for each kind in a plan of its own, or choose every batch in the same way"
    )]
    MixedNeighbors,
    /// The unit has other neighbours than the samplers.
    #[error(
        "the samplers in this plan are about {demanded}, but the privacy of {unit} was asked for\nhint: {hint}"
    )]
    OtherNeighbors {
        /// What the bounds of the samplers are about.
        demanded: &'static str,
        /// The unit asked for.
        unit: String,
        /// What to do.
        hint: &'static str,
    },
    /// An accountant that cannot read an event.
    #[error("the accountant {accountant:?} cannot read {what}\nhint: {hint}")]
    Unreadable {
        /// Its name.
        accountant: &'static str,
        /// What it met.
        what: &'static str,
        /// What to do.
        hint: &'static str,
    },
    /// A bound that trades δ for ε was given no δ.
    #[error(
        "{what} trades a small δ for a smaller ε, and no δ is left to trade\nhint: allow a δ such as 1e-9, or sum up with basic composition"
    )]
    NothingToTrade {
        /// Which bound.
        what: &'static str,
    },
    /// No δ brings ε down to what was asked.
    #[error(
        "no δ below 1 is known with which ε = {epsilon} holds\nhint: ask for a larger ε, or ask another accountant"
    )]
    NoDelta {
        /// The ε asked for.
        epsilon: String,
    },
    /// More than is computed in reasonable time.
    #[error("{what}: {count}, and at most {most} are computed one by one\nhint: {hint}")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How many.
        count: usize,
        /// How many are too many.
        most: usize,
        /// What to do.
        hint: &'static str,
    },
    /// An (ε, δ) event, and no δ set aside for it.
    #[error(
        "an event carries δ = {own} of its own, and of the δ set aside for such events {left} is left\nhint: set a part of δ aside with RenyiFilter::with_reserve before anything runs, or charge what ran by its noise instead of by (ε, δ)"
    )]
    ReserveExceeded {
        /// What the event carries.
        own: String,
        /// What is left.
        left: String,
    },
    /// No order of an odometer, and no sum of pure ε, is finite any more.
    #[error(
        "after this event no finite ε would hold at any of the orders\nhint: add noise, or open the odometer with smaller orders and a δ above 0"
    )]
    NothingBounds,
    /// A grid of Rényi orders that cannot be used.
    #[error(
        "these are no Rényi orders: {what}\nhint: give 1 to 256 different numbers from 1.000001 to 1e6, or take RenyiOrders::suited_to"
    )]
    BadOrders {
        /// What is wrong.
        what: String,
    },
    /// What was read is not what a filter or an odometer wrote.
    #[error(
        "this is not the state of a filter or odometer: {what}\nhint: nothing may be released under a tally that was lost, nor under an older one, which forgets what was spent since; find the newest state that was written"
    )]
    NotAState {
        /// What is wrong.
        what: String,
    },
    /// Nothing is known about the distribution of its losses.
    #[error(
        "{what} has no privacy curve: only a bound on its moments is known\nhint: use the zCDP or Rényi accountant for this plan"
    )]
    NoCurve {
        /// What it is.
        what: &'static str,
    },
    /// More different events than can be composed in reasonable time.
    #[error(
        "the plan has more than {most} different events\nhint: round their parameters (ε up, σ down) so that many become equal"
    )]
    TooManyEvents {
        /// The limit.
        most: usize,
    },
    /// More repetitions than numbers count exactly.
    #[error("an event is repeated more than 9e15 times\nhint: nothing runs that often; check the number")]
    TooOften,
    /// Not above 1, or absurdly large.
    #[error("a Rényi divergence of order {order} was asked for\nhint: use an order above 1, such as 8")]
    NoOrder {
        /// The order.
        order: String,
    },
    /// With a positive probability everything is revealed.
    #[error(
        "an event that carries its own δ has no finite Rényi divergence\nhint: use the basic, optimal or numerical accountant"
    )]
    NoDivergence,
    /// No noise in reach keeps the target.
    #[error(
        "no noise multiplier between 0.01 and 1e9 was certified to keep this target\nhint: allow a larger ε or δ, or take fewer steps"
    )]
    NoMultiplier,
    /// Certified arithmetic gave up.
    #[error(
        "{what} could not be certified with a million bits\nhint: the parameters are extreme; change them in the last digit"
    )]
    Undecided {
        /// What was computed.
        what: &'static str,
    },
}

/// A number as text that fits in a message.
pub(crate) fn shown(text: &str) -> String {
    if text.chars().count() <= 60 {
        return text.to_owned();
    }
    text.chars().take(57).chain("...".chars()).collect()
}
