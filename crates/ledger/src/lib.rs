//! The durable budget: what was charged is never forgotten, whatever happens.
//!
//! Differential privacy is a promise about everything that is ever answered. So the sum of what was spent
//! must survive crashes, full disks, two processes that ask at the same moment, and a colleague who opens the
//! file in an editor. A [`Store`] is that sum, kept as the list of what was charged: one SQLite file, or a
//! PostgreSQL database that many machines share.
//!
//! - **Charge, then draw.** [`Store::charge`] gives a receipt only after the entry is on disk. A crash
//!   between the two loses budget, never privacy; so does a commit whose outcome nobody learns. There is no
//!   refund: a charge without an answer stays spent. Several charges at the same time wait for the disk
//!   together (group commit), and each gets its receipt when the disk has the entry.
//! - **One at a time.** A charge reads what was spent, decides and writes in one transaction. It excludes all
//!   other charges, in any process and on any machine.
//! - **Everybody shares one budget.** An analyst may be held to a share of it; analysts who collude still
//!   have the one budget. A charge is admitted only if the filter of the data and that of the analyst both
//!   admit it. Names that differ in spelling alone are one ([`Analyst`]). If rules list who has a share,
//!   nobody else has one.
//! - **Nothing is forgotten.** Entries are appended, never changed: the database refuses it, and a chain of
//!   hashes shows it. The filters' sums are kept beside the entries so that a charge need not read them all.
//!   Each entry holds the digest of the sums after it. Sums that do not match are not used, and are counted
//!   anew from the entries.
//! - **A repeated query is free.** Answers are kept, and the same answer again says nothing new.
//!
//! # Privacy
//! Claim: under rules that were fixed before the first answer, everything charged together keeps the budget,
//! for queries chosen after seeing earlier answers, by any number of analysts who share what they see.
//! Source: [`RenyiFilter`](accounting::RenyiFilter) for (ε, δ) and [`Spending`](accounting::Spending) for ε
//! and ρ, which is where the proofs are. Both count events in the order of the entries, whoever asked.
//! Assumes: the database does what it promises (a commit is durable, transactions exclude each other), and
//! nobody who can write to it means harm.
//!
//! *When rules change*, everything charged before counts under the new ones, as if they had held from the
//! start. If that is already too much, nothing more is admitted. For the filter of the new rules the past was
//! admitted like everything else. So its claim holds for them, if they were chosen without looking at
//! answers. If they were chosen by looking, among k sets of rules, then the mean in the filter's proof splits
//! into k parts by which set ends up in force. Then the largest ε holds, with the sum of the k δ.
//!
//! # What the chain of hashes shows, and what it does not
//!
//! Each entry carries the hash of the one before it. So [`Store::verify`] finds an entry that is changed,
//! removed from the middle or added there.
//!
//! The owner of the database can do more: take off the newest entries together with the kept sums, put an
//! older copy in its place, delete it, or write the whole chain anew. No hash in the same file shows that. So
//! the last verified entry is kept in a file beside it (`LEDGER.head`). Every charge begins there, in its own
//! transaction: that entry must still be there, and each link after it must hold, or nothing is charged. A
//! ledger that is gone while its head is there is not begun anew without a word. A ledger that a verification
//! found wrong is not charged until a verification finds it right.
//!
//! Anyone who can write to both can forge both. So keep [`Store::head`] somewhere else as well: in a mail, on
//! paper, in another system. Compare it later with [`Store::entry_hash`]: as long as that entry has that
//! hash, everything up to it is what it was.
//!
//! With PostgreSQL, the user that charges needs SELECT and INSERT on `deniable_entries` and SELECT, INSERT
//! and UPDATE on `deniable_snapshot`, and should not own them. A standby that takes over must have every
//! commit: use synchronous replication.
//!
//! ```
//! use accounting::{Budget, Epsilon, Neighbors, PrivacyUnit, Promise};
//! use ledger::{Place, Rules, Store};
//! use mechanism::{Account, Aggregate, Laplace, Sensitive};
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("ledger.db");
//! let person = PrivacyUnit::new("person", Neighbors::AddRemove);
//! let rules = Rules::new(Budget::new(Promise::Pure(Epsilon::parse("1")?), person.clone()));
//! let mut store = Store::open(&Place::File(path), &rules)?;
//!
//! let smokers = Sensitive::new(vec![true, false, true, true]);
//! let count = Aggregate::count(&smokers, person);
//! let laplace = Laplace::new(Epsilon::parse("0.4")?, count.sensitivity().clone(), count.grid())?;
//! let mut account = Account::open(store.session("ann", "how many smokers?")?)?;
//! let release = account.release_by(&laplace, count, "the yearly report")?;
//! # let number = release.receipt().number;
//!
//! store.record_answer(number, "how many smokers?", "ann", &release.value().to_string())?;
//! assert_eq!(store.left("ann")?.epsilon, Epsilon::parse("0.6")?);
//! assert_eq!(store.verify()?.charges, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod analyst;
mod backend;
mod blocks;
mod chain;
mod encryption;
mod error;
mod forecast;
mod gate;
mod head_file;
mod history;
mod left;
mod limits;
mod moment;
mod past;
mod place;
mod receipt;
mod rules;
mod session;
mod spending;
mod store;
mod tally;
mod used;
mod writing;

pub use analyst::Analyst;
pub use blocks::{BlockReceipt, BlockRules, BlockSession, BlockStore};
pub use chain::Head;
pub use encryption::Encryption;
pub use error::Error;
pub use forecast::{Forecast, More};
pub use history::{Entry, StoredAnswer, Verified};
pub use left::Left;
pub use limits::{Caps, Once};
pub use moment::utc;
pub use past::Past;
pub use place::{Place, Temporary};
pub use receipt::{
    PublicKey, Receipt, Released, Sha256Text, SigningKey, canonical_json, sha256_of, write_canonical,
};
pub use rules::Rules;
pub use session::Session;
pub use spending::{MOST_TYPICAL, Spent, SpentByAnalyst, Sum, Typical, composed, epsilon_of};
pub use store::{Accepted, Administration, LogEntry, Logged, Store};
pub use used::{Excess, Used, used_after};
