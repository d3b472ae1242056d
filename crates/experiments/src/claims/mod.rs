//! Runs every claim of the theory: expected against measured.
//!
//! A row that cannot fail is not a row. Each compares what the theory says with what this code computes or
//! draws. If chance is involved, it fails by chance with probability 1e-9 or less.

mod agreement;
mod attacks;
mod choice;
mod composition;
mod definitions;
mod gaussian;
mod laplace;
mod local;
mod regression;
mod repairs;
mod response;
mod sql;
mod synthesis;
mod tables;
mod training;
mod verifier;

use report::Figure;

/// What a row found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What the theory says.
    pub expected: String,
    /// The result.
    pub measured: String,
    /// Whether they agree.
    pub pass: bool,
    /// What else there is to say, for a report.
    pub notes: Vec<String>,
    /// Figures, for a report.
    pub figures: Vec<Figure>,
}

impl Outcome {
    fn new(expected: impl Into<String>, measured: impl Into<String>, pass: bool) -> Self {
        Self {
            expected: expected.into(),
            measured: measured.into(),
            pass,
            notes: Vec::new(),
            figures: Vec::new(),
        }
    }

    fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    fn figure(mut self, figure: Figure) -> Self {
        self.figures.push(figure);
        self
    }
}

/// A row could not be run at all: a fault of this program, not of a claim.
type Fault = Box<dyn std::error::Error>;

/// One claim and how to run it.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Its short name, a letter and a number.
    pub id: &'static str,
    /// What the theory says, in a sentence.
    pub claim: &'static str,
    run: fn() -> Result<Outcome, Fault>,
}

/// Every row, in the order of the theory.
pub fn all() -> Vec<Claim> {
    [
        definitions::CLAIMS,
        composition::CLAIMS,
        response::CLAIMS,
        laplace::CLAIMS,
        choice::CLAIMS,
        gaussian::CLAIMS,
        training::CLAIMS,
        repairs::CLAIMS,
        sql::CLAIMS,
        attacks::CLAIMS,
        verifier::CLAIMS,
        tables::CLAIMS,
        agreement::CLAIMS,
        regression::CLAIMS,
        synthesis::CLAIMS,
    ]
    .into_iter()
    .flatten()
    .copied()
    .collect()
}

/// The rows with these ids, or whose ids begin with these letters; all of them, when there are none.
///
/// # Errors
/// When an id names no row.
pub fn chosen(ids: &[String]) -> Result<Vec<Claim>, NoSuchClaim> {
    let all = all();
    let names = |claim: &Claim, id: &str| {
        claim.id.eq_ignore_ascii_case(id)
            || (id.chars().all(char::is_alphabetic)
                && claim.id.to_lowercase().starts_with(&id.to_lowercase()))
    };
    for id in ids {
        if id.is_empty() || !all.iter().any(|claim| names(claim, id)) {
            let known: Vec<&str> = all.iter().map(|claim| claim.id).collect();
            return Err(NoSuchClaim {
                id: id.clone(),
                known: known.join(", "),
            });
        }
    }
    Ok(all
        .into_iter()
        .filter(|claim| ids.is_empty() || ids.iter().any(|id| names(claim, id)))
        .collect())
}

/// An id that no row has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no claim has the id `{id}`\nhint: the ids are {known}")]
pub struct NoSuchClaim {
    id: String,
    known: String,
}

impl Claim {
    /// Runs it. A row that cannot even run has not passed.
    pub fn run(&self) -> Outcome {
        (self.run)()
            .unwrap_or_else(|fault| Outcome::new("it runs", format!("it does not run: {fault}"), false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_found() {
        let ids: Vec<&str> = all().iter().map(|claim| claim.id).collect();
        let distinct: std::collections::BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(ids.len(), distinct.len());
        let count = |ids: &[&str]| {
            chosen(&ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>()).map(|rows| rows.len())
        };
        assert_eq!(count(&["v1"]).unwrap(), 1);
        assert_eq!(count(&["V"]).unwrap(), 3);
        assert_eq!(count(&["V", "V1"]).unwrap(), 3);
        assert_eq!(count(&[]).unwrap(), ids.len());
        assert_eq!(count(&["V9"]).unwrap_err().known.split(", ").count(), ids.len());
        assert_eq!(count(&[""]).unwrap_err().known.split(", ").count(), ids.len());
    }

    #[test]
    fn every_claim_that_must_run_is_here() {
        let ids: Vec<&str> = all().iter().map(|claim| claim.id).collect();
        for id in "D1 D2 D3 D4 D5 D6 R1 R2 R3 R4 L1 L2 L3 L4 L5 L6 L7 E1 E2 G1 G2 G3 P1 P2 P3 P4 S1 S2 S3 S4 A1 A2 A3 A4 M1 V1 V2 V3 T11 T12 T13 Y10 Y11"
            .split(' ')
        {
            assert!(ids.contains(&id), "{id}");
        }
    }
}
