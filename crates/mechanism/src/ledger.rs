use accounting::{Budget, Event, Guarantee, Promise, Spending};

/// What is about to run, and what it costs. Parameters only, never data.
#[derive(Clone, Debug, PartialEq)]
pub struct Charge {
    /// What will run.
    pub event: Event,
    /// What it promises, and to whom.
    pub guarantee: Guarantee,
    /// What for, in the asker's words.
    pub purpose: String,
}

/// Proof that a charge was taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    /// The place of the charge in its ledger.
    pub number: u64,
    /// What was charged.
    pub charge: Charge,
}

/// Why a charge was not taken. Nothing was drawn, and nothing was spent.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The budget does not allow it.
    #[error(transparent)]
    Budget(accounting::Error),
    /// The ledger could not be written; nothing may be drawn.
    #[error(
        "the charge could not be recorded: {0}\nhint: nothing was released; whether it counts as spent, the ledger tells when it can be read again"
    )]
    NotRecorded(String),
    /// There is no room where the ledger is kept. Nothing was charged.
    #[error("{0}")]
    NoRoom(String),
    /// The same was released elsewhere, or is being released right now. Nothing was charged.
    #[error("{0}\nhint: nothing was charged; ask again, and the saved answer costs nothing")]
    Elsewhere(String),
    /// A further rule of the ledger does not allow it. Nothing was charged.
    #[error("{what}")]
    Rule {
        /// A stable name of the rule, for programs.
        rule: &'static str,
        /// In words, with a hint.
        what: String,
    },
}

/// Where charges are recorded before anything is drawn.
///
/// An implementation is trusted: when `charge` returns a receipt, the charge must survive whatever happens next, and the total of
/// all charges it ever took must stay within the budget.
pub trait Ledger {
    /// Records a charge for good, or refuses it and leaves everything as it was.
    fn charge(&mut self, charge: Charge) -> Result<Receipt, Refusal>;

    /// The charge of this number, or `None` when there is none: so that a run goes on after a crash without being charged again.
    ///
    /// A ledger that cannot look back has none.
    fn taken(&mut self, _number: u64) -> Result<Option<Charge>, Refusal> {
        Ok(None)
    }

    /// Whom the budget protects, and how much it allows.
    fn budget(&self) -> &Budget;

    /// What is left.
    fn remaining(&self) -> Promise;
}

/// A ledger that lives as long as the process: for surveys, tests and simulations.
///
/// It cannot be cloned: a copy would be a second budget for the same data.
#[derive(Debug)]
pub struct MemoryLedger {
    spending: Spending,
    taken: Vec<Charge>,
}

impl MemoryLedger {
    /// With nothing spent.
    pub fn new(budget: Budget) -> Self {
        Self {
            spending: Spending::none(budget),
            taken: Vec::new(),
        }
    }

    /// Every charge taken, in order.
    pub fn charges(&self) -> &[Charge] {
        &self.taken
    }
}

impl Ledger for MemoryLedger {
    fn charge(&mut self, charge: Charge) -> Result<Receipt, Refusal> {
        self.spending.charge(&charge.guarantee).map_err(Refusal::Budget)?;
        self.taken.push(charge.clone());
        Ok(Receipt {
            number: self.taken.len() as u64,
            charge,
        })
    }

    fn taken(&mut self, number: u64) -> Result<Option<Charge>, Refusal> {
        let place = usize::try_from(number)
            .ok()
            .and_then(|number| number.checked_sub(1));
        Ok(place.and_then(|place| self.taken.get(place)).cloned())
    }

    fn budget(&self) -> &Budget {
        self.spending.budget()
    }

    fn remaining(&self) -> Promise {
        self.spending.remaining()
    }
}
