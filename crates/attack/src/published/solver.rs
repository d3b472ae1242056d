//! The SAT solvers behind one small interface.

use super::formula::Formula;
use crate::{Error, Patience};
use rustsat::solvers::{Solve, SolverResult};
use rustsat::types::{Clause, Lit, TernaryVal, Var};

/// Which solver searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// BatSat, in Rust.
    #[default]
    BatSat,
    /// CaDiCaL, in C++; stronger on hard tables.
    #[cfg(feature = "cadical")]
    CaDiCaL,
}

impl Engine {
    /// A solver that knows these clauses and gives up when patience is over.
    pub(super) fn start(self, formula: &Formula, patience: &Patience) -> Result<Box<dyn Solver>, Error> {
        let mut solver: Box<dyn Solver> = match self {
            Engine::BatSat => Box::new(BatSat::new(formula.variables(), patience)?),
            #[cfg(feature = "cadical")]
            Engine::CaDiCaL => Box::new(CaDiCaL::new(patience)),
        };
        for clause in formula.clauses() {
            solver.add(clause)?;
        }
        Ok(solver)
    }
}

/// What a search ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Satisfiability {
    /// There is a model, and [`Solver::holds`] reads it.
    Model,
    /// There is none.
    Impossible,
    /// Time was up.
    OutOfTime,
}

/// What this crate needs of a solver.
pub(super) trait Solver {
    fn add(&mut self, clause: &[Lit]) -> Result<(), Error>;
    fn search(&mut self) -> Result<Satisfiability, Error>;
    fn holds(&self, lit: Lit) -> bool;
}

struct BatSat(rustsat_batsat::BasicSolver);

impl BatSat {
    fn new(variables: u32, patience: &Patience) -> Result<Self, Error> {
        let mut solver = rustsat_batsat::BasicSolver::default();
        let patience = patience.clone();
        solver.batsat_mut().cb_mut().set_stop(move || patience.is_over());
        solver
            .reserve(Var::new(variables.saturating_sub(1)))
            .map_err(|error| Error::solver(&error))?;
        Ok(Self(solver))
    }
}

impl Solver for BatSat {
    fn add(&mut self, clause: &[Lit]) -> Result<(), Error> {
        let clause: Clause = clause.iter().copied().collect();
        self.0.add_clause(clause).map_err(|error| Error::solver(&error))
    }

    fn search(&mut self) -> Result<Satisfiability, Error> {
        match self.0.solve().map_err(|error| Error::solver(&error))? {
            SolverResult::Sat => Ok(Satisfiability::Model),
            SolverResult::Unsat => Ok(Satisfiability::Impossible),
            SolverResult::Interrupted => Ok(Satisfiability::OutOfTime),
        }
    }

    fn holds(&self, lit: Lit) -> bool {
        // A literal that no clause mentions may be anything, and nothing depends on it.
        self.0.lit_val(lit).is_ok_and(|value| value == TernaryVal::True)
    }
}

#[cfg(feature = "cadical")]
struct CaDiCaL(cadical::Solver<Waiting>);

#[cfg(feature = "cadical")]
struct Waiting(Patience);

#[cfg(feature = "cadical")]
impl cadical::Callbacks for Waiting {
    fn terminate(&mut self) -> bool {
        self.0.is_over()
    }
}

#[cfg(feature = "cadical")]
impl CaDiCaL {
    fn new(patience: &Patience) -> Self {
        let mut solver = cadical::Solver::new();
        solver.set_callbacks(Some(Waiting(patience.clone())));
        Self(solver)
    }
}

#[cfg(feature = "cadical")]
impl Solver for CaDiCaL {
    fn add(&mut self, clause: &[Lit]) -> Result<(), Error> {
        self.0.add_clause(clause.iter().map(|lit| lit.to_ipasir()));
        Ok(())
    }

    fn search(&mut self) -> Result<Satisfiability, Error> {
        Ok(match self.0.solve() {
            Some(true) => Satisfiability::Model,
            Some(false) => Satisfiability::Impossible,
            None => Satisfiability::OutOfTime,
        })
    }

    fn holds(&self, lit: Lit) -> bool {
        // Asked about the variable: for negative literals the binding's answer has the wrong sign.
        let value = self.0.value(lit.var().to_ipasir()).unwrap_or(false);
        value == lit.is_pos()
    }
}
