//! Which noise, and how much.

use crate::accounting::{delta, epsilon};
use crate::errors::of_parameter;
use accounting::{Delta, Epsilon, Ratio, Rho, smallest_multiplier};
use exact::{Interval, Rational, ratio};
use mechanism::{Account, Aggregate, Error, Gaussian, Ledger, Points, Release, Request, SquaredMultiplier};
use pyo3::prelude::*;

/// Noise to add.
#[derive(Clone)]
pub(crate) enum Noise {
    /// Laplace noise for ε.
    Laplace(Epsilon),
    /// The least Gaussian noise for (ε, δ).
    Analytic(Epsilon, Delta),
    /// Gaussian noise with this σ/Δ₂.
    Multiplier(Rational),
    /// Discrete Gaussian noise for ρ.
    Rho(Rho),
}

/// In which norm a sensitivity is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Norm {
    One,
    Two,
    Infinity,
}

impl<'py> FromPyObject<'_, 'py> for Noise {
    type Error = PyErr;

    /// A name, and its parameters as text.
    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (name, parameters): (String, Vec<String>) = given.extract()?;
        match (name.as_str(), parameters.as_slice()) {
            ("laplace", [text]) => Ok(Self::Laplace(epsilon(text)?)),
            ("gaussian", [of_epsilon, of_delta]) => {
                Ok(Self::Analytic(epsilon(of_epsilon)?, delta(of_delta)?))
            }
            ("multiplier", [text]) => Ratio::parse(text)
                .map(|multiplier| Self::Multiplier(multiplier.as_rational().clone()))
                .map_err(of_parameter),
            ("rho", [text]) => Rho::parse(text).map(Self::Rho).map_err(of_parameter),
            _ => Err(of_parameter(
                "there is no such noise\nhint: say how much with ε, with ε and δ, with a noise multiplier or with ρ",
            )),
        }
    }
}

impl Noise {
    /// The norm that its sensitivity is in.
    pub(crate) fn norm(&self) -> Norm {
        match self {
            Self::Laplace(_) => Norm::One,
            Self::Analytic(..) | Self::Multiplier(_) | Self::Rho(_) => Norm::Two,
        }
    }

    /// How large it is for a sensitivity of 1, roughly: a grid is chosen by it.
    pub(crate) fn scale(&self) -> Result<Rational, Error> {
        let zero = |what| Error::OutOfRange {
            what,
            range: "positive",
        };
        let scale = match self {
            Self::Laplace(epsilon) if *epsilon == Epsilon::ZERO => return Err(Error::NoEpsilon),
            Self::Laplace(epsilon) => Rational::ONE / epsilon.as_rational(),
            Self::Analytic(_, delta) if *delta == Delta::ZERO => return Err(Error::NoDelta),
            Self::Analytic(epsilon, delta) => smallest_multiplier(epsilon, delta)?,
            Self::Multiplier(multiplier) => multiplier.clone(),
            Self::Rho(rho) if *rho == Rho::ZERO => return Err(zero("ρ")),
            Self::Rho(rho) => Interval::sqrt_of(&(ratio(1, 2) / rho.as_rational()), 64).upper(),
        };
        if scale <= Rational::ZERO {
            return Err(zero("a noise multiplier"));
        }
        Ok(scale)
    }

    /// Charges, then draws.
    pub(crate) fn add<P: Points, L: Ledger>(
        self,
        account: &mut Account<L>,
        aggregate: Aggregate<P>,
        purpose: &str,
    ) -> Result<Release<P>, Error> {
        match self {
            Self::Laplace(epsilon) => account.release(aggregate.laplace(epsilon)?.for_purpose(purpose)),
            Self::Analytic(epsilon, delta) => {
                account.release(aggregate.gaussian(epsilon, delta)?.for_purpose(purpose))
            }
            Self::Multiplier(multiplier) => {
                let square = SquaredMultiplier::of(&multiplier);
                let (sensitivity, grid) = (aggregate.sensitivity().clone(), aggregate.grid());
                let mechanism = Gaussian::with_squared_multiplier(&square, sensitivity, grid)?;
                account.release(Request::new(mechanism, aggregate).for_purpose(purpose))
            }
            Self::Rho(rho) => account.release(aggregate.concentrated(rho)?.for_purpose(purpose)),
        }
    }
}
