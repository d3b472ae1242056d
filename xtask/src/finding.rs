//! How a check reports: a summary line when all is well, or what is wrong, where, and what to do about it.

use std::fmt;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// `file:line`, or the manifest.
    pub(crate) place: String,
    /// What is wrong there.
    pub(crate) what: String,
    /// What to do about it.
    pub(crate) hint: String,
}

impl Finding {
    pub(crate) fn new(place: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            what: what.into(),
            hint: hint.into(),
        }
    }
}

/// Everything a check found wrong; never empty.
#[derive(Debug)]
pub(crate) struct Findings(Vec<Finding>);

impl Findings {
    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.0.iter()
    }
}

impl From<Finding> for Findings {
    fn from(finding: Finding) -> Self {
        Self(vec![finding])
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Finding { place, what, hint } in &self.0 {
            writeln!(formatter, "error: {place}: {what}\nhint: {hint}\n")?;
        }
        Ok(())
    }
}

/// A check's summary line, or its findings.
pub(crate) type Outcome = Result<String, Findings>;

/// The summary if nothing was found; the findings in the order of their places otherwise.
pub(crate) fn outcome(mut findings: Vec<Finding>, summary: impl FnOnce() -> String) -> Outcome {
    if findings.is_empty() {
        return Ok(summary());
    }
    findings.sort();
    findings.dedup();
    Err(Findings(findings))
}
