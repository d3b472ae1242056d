//! How a ledger fails. Each failure means that nothing may be released.

use crate::Rules;

/// What can go wrong with a ledger.
///
/// A message never holds the address of a database, which may carry a password, nor anything that was asked
/// or answered.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The ledger cannot be read or written.
    #[error("the ledger cannot be used: {what}\nhint: {hint}")]
    Unusable {
        /// What happened.
        what: String,
        /// What to do.
        hint: String,
    },
    /// There is no room where the ledger is kept. What is in it is as it was, and nothing was added.
    #[error(
        "the ledger has no room: {what}\nhint: make room where it is kept, and ask again. The ledger is intact, and nothing was added to it: whatever was charged before stands, and a charge without an answer is used, not made twice. Keep the file, and what lies beside it, where they are"
    )]
    NoRoom {
        /// What was reported.
        what: String,
    },
    /// Rules under which nothing could be admitted soundly.
    #[error("invalid ledger configuration: {what}\nhint: {hint}")]
    BadRules {
        /// What is wrong.
        what: String,
        /// What to do.
        hint: String,
    },
    /// The ledger keeps other rules than those given.
    #[error(
        "the ledger keeps other rules ({stored}) than those given ({given})\nhint: if the change is meant, the curator makes it with `deniable budget adopt`, and everything that was ever charged counts under the new rules"
    )]
    OtherRules {
        /// The rules in the ledger.
        stored: Box<Rules>,
        /// The rules given.
        given: Box<Rules>,
    },
    /// An entry is not what was written.
    #[error(
        "entry {number} of the ledger is wrong: {what}\nhint: release nothing, keep the ledger as it is, and find out who wrote to it. An older copy in its place forgets what was charged since: it is refused, and no way to go on"
    )]
    Broken {
        /// The first wrong entry.
        number: u64,
        /// What is wrong with it.
        what: String,
    },
    /// The kept sums are not those of the entries.
    #[error(
        "the sums kept beside the ledger are wrong: {what}\nhint: the entries decide, and a charge counts them anew when the sums do not belong to them; but somebody wrote to the ledger, so find out who"
    )]
    Snapshot {
        /// What is wrong with them.
        what: String,
    },
    /// Entries that this process saw, or that the kept sums are about, are gone.
    #[error(
        "the ledger went back: entry {number} was there and is not any more\nhint: release nothing; what was charged since would be forgotten, and could be spent twice. Put the ledger back that has this entry, or let the database recover fully, and start again. Only where it is lost for good may a curator decide to go on without it, with `deniable budget accept-restored`: what the lost entries released is then promised on top of the budget"
    )]
    Rewound {
        /// The entry that is missing or was replaced.
        number: u64,
    },
    /// There is no ledger where there was one.
    #[error(
        "the ledger is gone: there was one here, with {entries} entries, and what was spent by then is not known any more\nhint: release nothing, and put the ledger back that was here. Only where it is lost for good may a curator decide to go on without it, with `deniable budget accept-restored --new-ledger`: what the lost one released is then promised on top of a new budget"
    )]
    Vanished {
        /// How many entries it had when it was last seen.
        entries: u64,
    },
    /// An analyst without a name.
    #[error(
        "an analyst has no name, once white space and what is not seen are left out\nhint: give each analyst a name that can be read, such as alice"
    )]
    Nameless,
    /// The rules list who may spend, and this analyst is not listed.
    #[error(
        "the rules of the ledger list who may spend, and {analyst:?} is not among them\nhint: ask under a name that [budget.analysts] of the catalog lists; the curator adds one there and makes it hold with `deniable budget adopt`"
    )]
    NoShare {
        /// The name.
        analyst: String,
    },
    /// An answer that belongs to no charge.
    #[error(
        "no answer can be kept for entry {number}: {what}\nhint: keep each answer once, under the receipt of its own charge"
    )]
    NotAnswerable {
        /// The number on the receipt.
        number: u64,
        /// Why not.
        what: String,
    },
    /// Somebody else answered the same question between the look for a saved answer and the charge. Nothing
    /// was charged.
    #[error(
        "the same question was answered meanwhile, under entry {charge}\nhint: ask again: the saved answer costs nothing"
    )]
    AnsweredMeanwhile {
        /// The number of the charge that paid for it.
        charge: u64,
    },
    /// The question costs more than one question of this account may.
    #[error(
        "this question costs ε = {cost}, and one question of yours may cost ε = {cap} at most\nhint: ask with a smaller ε; nothing was charged. The curator sets this limit with `deniable user set`"
    )]
    OverQuestionCap {
        /// What it costs.
        cost: String,
        /// The limit.
        cap: String,
    },
    /// The question costs more than is left of what this account may spend in a day.
    #[error(
        "this question costs ε = {cost}, and of the ε = {cap} that you may spend in 24 hours {left} is left\nhint: ask with a smaller ε, or later; nothing was charged. The curator sets this limit with `deniable user set`"
    )]
    OverDayCap {
        /// What it costs.
        cost: String,
        /// What is left of the limit.
        left: String,
        /// The limit.
        cap: String,
    },
    /// The request was charged before, noise was drawn, and the answer was lost before it was saved.
    #[error(
        "this request was charged before, under entry {charge}, and its answer was lost when the program ended\nhint: it is never charged again under the same idempotency key; send it with a new key to ask, and pay, anew"
    )]
    Lost {
        /// The number of the charge.
        charge: u64,
    },
    /// The idempotency key was used for another request.
    #[error(
        "this idempotency key was used for another request\nhint: make a new key for each new request; nothing was charged"
    )]
    KeyReused,
    /// Somebody else draws for the same question right now. Nothing was charged.
    #[error(
        "the same question is being answered, under entry {charge}\nhint: ask again: the saved answer costs nothing"
    )]
    BeingAnswered {
        /// The number of the charge that pays for it.
        charge: u64,
    },
}

impl Error {
    /// The stable name of the rule that refused a charge, if it was one that has nothing to do with the
    /// budget.
    pub fn rule(&self) -> Option<&'static str> {
        match self {
            Self::OverQuestionCap { .. } => Some("question-cap"),
            Self::OverDayCap { .. } => Some("day-cap"),
            Self::Lost { .. } => Some("answer-lost"),
            Self::KeyReused => Some("idempotency-key-reused"),
            _ => None,
        }
    }

    pub(crate) fn unusable(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Unusable {
            what: what.into(),
            hint: hint.into(),
        }
    }

    pub(crate) fn broken(number: u64, what: impl Into<String>) -> Self {
        Self::Broken {
            number,
            what: what.into(),
        }
    }
}
