use crate::{Aggregate, Error, Gaussian, GaussianOnIntegers, Laplace, Mechanism, Points};
use accounting::{Delta, Epsilon, Rho};

/// An aggregate together with a mechanism that was made for it: for its sensitivity and its grid. [`Account::release`](crate::Account::release) charges and draws it.
#[derive(Debug)]
pub struct Request<I, M> {
    pub(crate) mechanism: M,
    pub(crate) input: Aggregate<I>,
    pub(crate) purpose: String,
}

impl<I, M: Mechanism<I>> Request<I, M> {
    /// A request by any mechanism. That it was made for this aggregate is checked when it is released, before it is charged.
    pub fn new(mechanism: M, input: Aggregate<I>) -> Self {
        Self {
            mechanism,
            input,
            purpose: String::new(),
        }
    }

    /// Says what it is for: the words stand in the ledger beside the charge.
    #[must_use]
    pub fn for_purpose(self, purpose: impl Into<String>) -> Self {
        Self {
            purpose: purpose.into(),
            ..self
        }
    }

    /// The mechanism: what it will cost, and how far the result will be off, before anything is charged.
    pub fn mechanism(&self) -> &M {
        &self.mechanism
    }
}

impl<P: Points> Aggregate<P>
where
    Laplace: Mechanism<P>,
{
    /// Laplace noise for this ε.
    ///
    /// # Errors
    /// When ε is zero, or no sampler has so little or so much noise.
    pub fn laplace(self, epsilon: Epsilon) -> Result<Request<P, Laplace>, Error> {
        let mechanism = Laplace::new(epsilon, self.sensitivity().clone(), self.grid())?;
        Ok(Request::new(mechanism, self))
    }
}

impl<P: Points> Aggregate<P>
where
    Gaussian: Mechanism<P>,
{
    /// The least Gaussian noise for this (ε, δ) (Balle and Wang 2018).
    ///
    /// # Errors
    /// When ε or δ is zero, or no sampler has so little or so much noise.
    pub fn gaussian(self, epsilon: Epsilon, delta: Delta) -> Result<Request<P, Gaussian>, Error> {
        let mechanism = Gaussian::analytic(epsilon, delta, self.sensitivity().clone(), self.grid())?;
        Ok(Request::new(mechanism, self))
    }
}

impl<P: Points> Aggregate<P>
where
    GaussianOnIntegers: Mechanism<P>,
{
    /// Discrete Gaussian noise for ρ-zCDP.
    ///
    /// # Errors
    /// When ρ is zero, or no sampler has so little or so much noise.
    pub fn concentrated(self, rho: Rho) -> Result<Request<P, GaussianOnIntegers>, Error> {
        let mechanism = GaussianOnIntegers::concentrated(rho, self.sensitivity().clone(), self.grid())?;
        Ok(Request::new(mechanism, self))
    }
}
