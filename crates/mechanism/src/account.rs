use crate::{Aggregate, Charge, Error, Ledger, Receipt, Release, Request, Terms};
use accounting::Guarantee;
use noise::{Entropy, OsEntropy};

/// A way to make private data public, with a proof of what that costs.
///
/// Whatever can fail fails when the mechanism is built; `draw` is total, because by then the charge is spent.
///
/// Only this crate implements it: a foreign implementation could state one cost and forward its permit to a mechanism of another.
pub trait Mechanism<Input>: Stated {
    /// What comes out.
    type Output;

    /// Runs once. Takes the input and the permit, so neither can be used again.
    fn draw(&self, input: Aggregate<Input>, permit: Permit<'_>) -> Self::Output;
}

/// What states its terms before it sees data: the mechanisms of this crate, whatever their input.
pub trait Stated: sealed::Sealed {
    /// Sensitivity, grid, neighbours, event, promise and accuracy: parameters only.
    fn terms(&self) -> &Terms;
}

mod sealed {
    /// Not nameable outside this crate, so nothing else can be a mechanism.
    pub trait Sealed {}
}

macro_rules! closed_list {
    ($($name:ident),* $(,)?) => {
        $(impl sealed::Sealed for crate::$name {})*

        /// The names of the mechanisms that are proved: all of them, in one place. Each has its conformance checks.
        pub const MECHANISMS: &[&str] = &[$(stringify!($name)),*];
    };
}

closed_list![
    AboveThreshold,
    AdaptiveTables,
    ExponentialMechanism,
    Gaussian,
    GaussianOnIntegers,
    GaussianThreshold,
    Laplace,
    LaplaceThreshold,
    LocalHashing,
    NoisyMax,
    OptimalThreshold,
    PermuteAndFlip,
    PlannedTables,
    ProposeTestRelease,
    Quantile,
    Quantiles,
    RandomizedResponse,
    RunningTotals,
    SampledGaussian,
    SmoothMedian,
    UnaryEncoding,
];

/// Leave to open one private value once.
///
/// Only [`Account`] makes one, after its ledger took the charge. It carries the entropy, so there is no noise without it.
///
/// ```compile_fail
/// // No constructor outside this crate.
/// let permit = mechanism::Permit { };
/// ```
pub struct Permit<'account> {
    entropy: &'account mut dyn Entropy,
}

impl std::fmt::Debug for Permit<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Permit(..)")
    }
}

impl<'account> Permit<'account> {
    pub(crate) fn entropy(self) -> &'account mut dyn Entropy {
        self.entropy
    }
}

/// A ledger and a source of noise: where releases are made.
pub struct Account<L> {
    ledger: L,
    entropy: Box<dyn Entropy + Send>,
}

impl<L: Ledger> std::fmt::Debug for Account<L> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "Account({}, {} left)",
            self.ledger.budget(),
            self.ledger.remaining()
        )
    }
}

impl<L: Ledger> Account<L> {
    /// Opens an account on a ledger, with noise from the operating system.
    pub fn open(ledger: L) -> Result<Self, Error> {
        Ok(Self {
            ledger,
            entropy: Box::new(OsEntropy::new()?),
        })
    }

    /// Opens an account whose noise comes from somewhere else: known answers, simulations. Whoever knows the bits knows the data.
    pub fn with_entropy(ledger: L, entropy: impl Entropy + Send + 'static) -> Self {
        Self {
            ledger,
            entropy: Box::new(entropy),
        }
    }

    /// The ledger.
    pub fn ledger(&self) -> &L {
        &self.ledger
    }

    /// The ledger, to write down what belongs beside a charge.
    pub fn ledger_mut(&mut self) -> &mut L {
        &mut self.ledger
    }

    /// Charges, then draws: `account.release(count.laplace(epsilon)?)`. An error means that nothing was drawn.
    ///
    /// # Errors
    /// When the request is about another unit than the ledger protects, its mechanism was made for another sensitivity or grid, or the ledger refuses.
    pub fn release<I, M: Mechanism<I>>(
        &mut self,
        request: Request<I, M>,
    ) -> Result<Release<M::Output>, Error> {
        self.release_by(&request.mechanism, request.input, &request.purpose)
    }

    /// The same with a mechanism that is used more than once.
    ///
    /// # Errors
    /// As [`Account::release`].
    pub fn release_by<I, M: Mechanism<I>>(
        &mut self,
        mechanism: &M,
        input: Aggregate<I>,
        purpose: &str,
    ) -> Result<Release<M::Output>, Error> {
        let (receipt, permit) = self.permit(mechanism, &input, purpose)?;
        let grid = input.grid();
        let value = mechanism.draw(input, permit);
        Ok(Release::new(
            value,
            mechanism.terms().accuracy().clone(),
            grid,
            receipt,
        ))
    }

    /// Checks, charges, and only then mints a permit.
    pub(crate) fn permit<I, M: Mechanism<I>>(
        &mut self,
        mechanism: &M,
        input: &Aggregate<I>,
        purpose: &str,
    ) -> Result<(Receipt, Permit<'_>), Error> {
        if input.unit() != self.ledger.budget().unit() {
            return Err(Error::UnitMismatch);
        }
        let terms = mechanism.terms();
        terms.check(input)?;
        let guarantee = Guarantee::new(terms.promise().clone(), input.unit().clone());
        let charge = Charge {
            event: terms.event().clone(),
            guarantee,
            purpose: purpose.to_owned(),
        };
        let receipt = self.ledger.charge(charge)?;
        Ok((receipt, self.mint()))
    }

    /// A fresh key, for a run that draws more than once.
    pub(crate) fn key(&mut self) -> [u8; 32] {
        key_from(&mut *self.entropy)
    }

    /// A permit. Whoever calls this has a receipt.
    pub(crate) fn mint(&mut self) -> Permit<'_> {
        Permit {
            entropy: &mut *self.entropy,
        }
    }
}

/// 256 fresh bits.
pub(crate) fn key_from(entropy: &mut dyn Entropy) -> [u8; 32] {
    entropy.refresh();
    let mut key = [0u8; 32];
    for bytes in key.chunks_exact_mut(8) {
        bytes.copy_from_slice(&entropy.bits(64).to_le_bytes());
    }
    key
}
