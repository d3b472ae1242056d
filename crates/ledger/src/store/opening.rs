//! Opens a ledger: makes one if there is none, and checks it from where it was last verified.

use super::receipts::Keys;
use super::{NOBODY, Store, check_marked, with_shares};
use crate::backend::{self, Access, Backend};
use crate::chain::Head;
use crate::head_file::{HeadFile, Kept};
use crate::history;
use crate::writing::{make, now};
use crate::{Error, Place, Rules};

/// What was taken as it is by [`Store::accept_restored`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The last entry of the ledger; `None` if there is no ledger, and a new one may begin.
    pub head: Option<Head>,
    /// How many entries are gone, with whatever was charged by them.
    pub lost: u64,
}

impl Store {
    /// Opens a ledger that keeps these rules, or makes it.
    ///
    /// # Errors
    /// When it keeps other rules, is not what it was when it was last verified, is gone, or cannot be used.
    pub fn open(place: &Place, rules: &Rules) -> Result<Self, Error> {
        rules.check_names()?;
        let rules = rules.normalised();
        let mut store = match Self::opened_and_checked(place)? {
            Opened::Ledger(store) => *store,
            Opened::Empty(mut backend) => {
                rules.check()?;
                make(&mut *backend, &rules)?;
                let mut store = Self::read(backend, place)?;
                store.check_as_opened(None)?;
                store
            }
            Opened::Nothing => return Err(not_made()),
        };
        store.demanded = Some(rules);
        let stored = store.rules.clone();
        store.backend.begin(Access::Read)?;
        let checked = store.check_rules(&stored);
        store.backend.rollback();
        checked?;
        Ok(store)
    }

    /// Opens a ledger whatever its rules are and whatever state it is in, to look at it; `None` when there
    /// never was one.
    ///
    /// # Errors
    /// When it is gone, so that nobody takes what is left of it for a new one, or cannot be used.
    pub fn open_existing(place: &Place) -> Result<Option<Self>, Error> {
        let file = HeadFile::of(place);
        match Self::open_with(place, false)? {
            Opened::Ledger(store) => Ok(Some(*store)),
            Opened::Empty(_) | Opened::Nothing => match file.map(|file| file.read()).transpose()?.flatten() {
                Some(kept) => Err(Error::Vanished {
                    entries: kept.head.number,
                }),
                None => Ok(None),
            },
        }
    }

    /// Opens a ledger and changes its rules to these, or makes it.
    ///
    /// Everything that was ever charged counts under the new rules. When that is more than they allow,
    /// nothing more is admitted.
    ///
    /// # Errors
    /// When these are no rules, the chain is broken, or the ledger cannot be used.
    pub fn adopt(place: &Place, rules: &Rules) -> Result<Self, Error> {
        rules.check()?;
        let rules = rules.normalised();
        let mut store = match Self::opened_and_checked(place)? {
            Opened::Ledger(store) => *store,
            Opened::Empty(_) | Opened::Nothing => return Self::open(place, &rules),
        };
        store.backend.begin(Access::Write)?;
        let changed = (|| {
            let with_accounts = with_shares(&rules, store.shares_of_accounts()?);
            with_accounts.check()?;
            store.change_rules(&with_accounts)
        })();
        store.finish(changed)?;
        store.demanded = Some(rules);
        store.refresh(NOBODY)?;
        Ok(store)
    }

    /// Takes the ledger as it is now, after a verification of all of it: an older copy that was restored. The
    /// charges of the entries that are gone are forgotten. So from now on the budget holds for the entries
    /// that are there, and whatever the lost ones promised comes on top of it. If there is no ledger and
    /// `anew` is set, the next charge begins one with nothing spent.
    ///
    /// # Errors
    /// When the ledger that is there is wrong in itself, there is none and `anew` is not set, or it cannot be
    /// used.
    pub fn accept_restored(place: &Place, anew: bool) -> Result<Accepted, Error> {
        let Some(file) = HeadFile::of(place) else {
            return Err(Error::unusable(
                "this machine keeps no head of it",
                "there is nothing to accept",
            ));
        };
        // One that cannot be read is what this mends.
        let before = file.read().ok().flatten().map_or(0, |kept| kept.head.number);
        let Opened::Ledger(mut store) = Self::open_with(place, false)? else {
            if !anew {
                return Err(Error::Vanished { entries: before });
            }
            file.remove()?;
            return Ok(Accepted {
                head: None,
                lost: before,
            });
        };
        let head = store.reading(history::verify)?.head;
        file.write(&Kept {
            head: head.clone(),
            wrong: None,
        })?;
        let lost = before.saturating_sub(head.number);
        Ok(Accepted {
            head: Some(head),
            lost,
        })
    }

    /// What is at a place, to charge it: with the head that is kept beside it, a ledger must be there, and
    /// must be what it was.
    fn opened_and_checked(place: &Place) -> Result<Opened, Error> {
        let file = HeadFile::of(place);
        let kept = file.as_ref().map(HeadFile::read).transpose()?.flatten();
        match (Self::open_with(place, kept.is_none())?, kept) {
            (Opened::Ledger(mut store), kept) => {
                store.check_as_opened(kept.as_ref())?;
                Ok(Opened::Ledger(store))
            }
            (_, Some(kept)) => Err(Error::Vanished {
                entries: kept.head.number,
            }),
            (other, None) => Ok(other),
        }
    }

    /// Checks the chain from the kept head on, and some of it before; and sees that there is a head to begin
    /// from next time.
    fn check_as_opened(&mut self, kept: Option<&Kept>) -> Result<(), Error> {
        check_marked(kept)?;
        let chance = now().unsigned_abs();
        let verified =
            self.reading(|backend| history::check_opened(backend, kept.map(|kept| &kept.head), chance));
        let head = verified?;
        if let (None, Some(file)) = (kept, &self.head_file) {
            file.begin(head)?;
        }
        Ok(())
    }

    fn open_with(place: &Place, make: bool) -> Result<Opened, Error> {
        let Some(mut backend) = backend::connect(place, make)? else {
            return Ok(Opened::Nothing);
        };
        backend.begin(Access::Read)?;
        let exists = backend.exists();
        backend.rollback();
        Ok(if exists? {
            Opened::Ledger(Box::new(Self::read(backend, place)?))
        } else {
            Opened::Empty(backend)
        })
    }

    pub(super) fn read(mut backend: Box<dyn Backend>, place: &Place) -> Result<Self, Error> {
        backend.begin(Access::Read)?;
        let current = (|| {
            let last = backend.last()?.ok_or_else(history::no_entries)?;
            history::load(&mut *backend, &last, NOBODY)
        })();
        backend.rollback();
        let current = current?;
        Ok(Self {
            backend,
            demanded: None,
            rules: current.tally.rules().clone(),
            seen: current.head.clone(),
            current: Some(current),
            head_file: HeadFile::of(place),
            keys: Keys::of(place),
            signing: None,
        })
    }
}

/// What is at a place.
enum Opened {
    Ledger(Box<Store>),
    /// A database without a ledger.
    Empty(Box<dyn Backend>),
    Nothing,
}

fn not_made() -> Error {
    Error::unusable("it could not be made", "check that you may write there")
}
