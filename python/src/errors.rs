//! Errors as exceptions of `deniable._errors`, with the hint apart from what is wrong.

use accounting::Epsilon;
use exact::{decimal_at_most, to_f64_nearest};
use pyo3::prelude::*;
use std::fmt::Display;

/// The exceptions that this crate raises.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Class {
    Parameter,
    Catalog,
    Query,
    Budget,
    Ledger,
    Engine,
    File,
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Self::Parameter => "ParameterError",
            Self::Catalog => "CatalogError",
            Self::Query => "QueryError",
            Self::Budget => "BudgetError",
            Self::Ledger => "LedgerError",
            Self::Engine => "EngineError",
            Self::File => "FileError",
        }
    }

    /// An exception that says this. The crates below write a hint after `\nhint: `.
    pub(crate) fn raise(self, said: impl Display) -> PyErr {
        let said = said.to_string();
        let (what, hint) = said.split_once("\nhint: ").unwrap_or((said.as_str(), ""));
        Python::attach(|py| match self.exception(py, what, hint) {
            Ok(exception) => PyErr::from_value(exception),
            // The package itself is broken, and that is what to report.
            Err(broken) => broken,
        })
    }

    fn exception<'py>(self, py: Python<'py>, what: &str, hint: &str) -> PyResult<Bound<'py, PyAny>> {
        py.import("deniable._errors")?
            .getattr(self.name())?
            .call1((what, hint))
    }
}

/// What the query engine and its ledger say.
pub(crate) fn of_sql(error: sql::Error) -> PyErr {
    use mechanism::{Error::Refused, Refusal};
    use sql::Error;
    let class = match &error {
        Error::Catalog { .. } => Class::Catalog,
        Error::Syntax { .. } | Error::Refused { .. } | Error::NoEpsilon => Class::Query,
        Error::OverBudget(over) => return over_budget(over),
        Error::Ledger(_) | Error::Mechanism(Refused(Refusal::NotRecorded(_) | Refusal::NoRoom(_))) => {
            Class::Ledger
        }
        Error::Mechanism(_) | Error::Accounting(_) | Error::Quantity { .. } => Class::Parameter,
        Error::Engine { .. } => Class::Engine,
        Error::File { .. } => Class::File,
        _ => Class::Query,
    };
    class.raise(error)
}

/// The same of what is asked for by keywords that are options of the command line.
pub(crate) fn of_asked(error: sql::Error) -> PyErr {
    match error {
        sql::Error::Refused { what, hint } => {
            Class::Query.raise(format!("{what}\nhint: {}", sql::keywords_for_options(&hint)))
        }
        error => of_sql(error),
    }
}

fn over_budget(over: &sql::OverBudget) -> PyErr {
    // The hint is written for the command line.
    let hint = sql::keywords_for_options(&over.hint.replace("--epsilon ", "epsilon="));
    Python::attach(|py| {
        let made = Class::Budget
            .exception(py, &over.what, &hint)
            .and_then(|exception| {
                exception.setattr("cost", &over.cost)?;
                exception.setattr("left", epsilon_that_fits(&over.left))?;
                exception.setattr("fits", over.fits.as_ref().map(epsilon_that_fits))?;
                Ok(exception)
            });
        made.map_or_else(|broken| broken, PyErr::from_value)
    })
}

/// A quantity that does not exist: an ε that is not positive, and the like.
pub(crate) fn of_parameter(error: impl Display) -> PyErr {
    Class::Parameter.raise(error)
}

/// An ε that is left, as a float that is no more than it however it is printed and read back: a cost that
/// fits.
pub(crate) fn epsilon_that_fits(epsilon: &Epsilon) -> f64 {
    if *epsilon == Epsilon::ZERO {
        return 0.0;
    }
    to_f64_nearest(&decimal_at_most(epsilon.as_rational(), 15))
}
