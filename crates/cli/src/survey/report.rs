//! Reports as text, one in each row of a file: an answer, a word of bits, or `seed:bucket`.

use accounting::Budget;
use mechanism::{
    Account, Aggregate, BitReports, Error, Estimate, HashedReport, LocalHashing, Mechanism, MemoryLedger,
    RandomizedResponse, Receipt, Sensitive, UnaryEncoding,
};
use std::collections::BTreeMap;

use super::method::{Method, Randomizer, respondent};

/// Randomizes all answers in one release, charged to an account that can pay for exactly that.
pub(super) fn randomize(
    method: &Method,
    answers: Sensitive<Vec<u32>>,
    purpose: &str,
) -> Result<(Vec<String>, Receipt), Error> {
    match &method.mechanism {
        Randomizer::Response(response) => {
            let (reports, receipt) = release(response, answers, purpose)?;
            Ok((
                reports
                    .into_iter()
                    .map(|report| method.answers[report as usize].clone())
                    .collect(),
                receipt,
            ))
        }
        Randomizer::Unary(encoding) => {
            let (reports, receipt) = release(encoding, answers, purpose)?;
            let text = reports
                .iter()
                .map(|report| report.map(|bit| if bit { '1' } else { '0' }).collect());
            Ok((text.collect(), receipt))
        }
        Randomizer::Hashing(hashing) => {
            let (reports, receipt) = release(hashing, answers, purpose)?;
            Ok((
                reports
                    .iter()
                    .map(|report| format!("{}:{}", report.seed, report.bucket))
                    .collect(),
                receipt,
            ))
        }
    }
}

/// One release on a fresh account. Its budget is what the release costs: whoever runs it again spends again.
pub(super) fn release<M: Mechanism<Vec<u32>>>(
    mechanism: &M,
    answers: Sensitive<Vec<u32>>,
    purpose: &str,
) -> Result<(M::Output, Receipt), Error> {
    let budget = Budget::new(mechanism.terms().promise().clone(), respondent());
    let mut account = Account::open(MemoryLedger::new(budget))?;
    let release = account.release_by(mechanism, Aggregate::answers(answers, respondent()), purpose)?;
    let receipt = release.receipt().clone();
    Ok((release.into_value(), receipt))
}

/// The number of each answer, by its bytes.
pub(super) fn numbers(answers: &[String]) -> BTreeMap<&[u8], u32> {
    answers.iter().map(|answer| answer.as_bytes()).zip(0..).collect()
}

/// Reports read back from text, beside the mechanism that made them.
#[derive(Debug)]
pub(super) enum Reports<'method> {
    Response(
        &'method RandomizedResponse,
        BTreeMap<&'method [u8], u32>,
        Vec<u32>,
    ),
    Unary(&'method UnaryEncoding, BitReports),
    Hashing(&'method LocalHashing, Vec<HashedReport>),
}

impl<'method> Reports<'method> {
    /// None yet.
    pub(super) fn new(method: &'method Method) -> Result<Self, Error> {
        Ok(match &method.mechanism {
            Randomizer::Response(response) => Self::Response(response, numbers(&method.answers), Vec::new()),
            Randomizer::Unary(encoding) => Self::Unary(encoding, BitReports::new(encoding.answers())?),
            Randomizer::Hashing(hashing) => Self::Hashing(hashing, Vec::new()),
        })
    }

    /// Adds a report, or returns `None` if the mechanism makes none like it.
    pub(super) fn push(&mut self, text: &[u8]) -> Option<()> {
        let text = text.trim_ascii();
        match self {
            Self::Response(_, numbers, reports) => reports.push(*numbers.get(text)?),
            Self::Unary(_, reports) => {
                if text.iter().any(|byte| !matches!(byte, b'0' | b'1')) {
                    return None;
                }
                reports.push(text.iter().map(|byte| *byte == b'1')).ok()?;
            }
            Self::Hashing(hashing, reports) => {
                let (seed, bucket) = std::str::from_utf8(text).ok()?.split_once(':')?;
                let report = HashedReport {
                    seed: seed.parse().ok()?,
                    bucket: bucket.parse().ok()?,
                };
                if report.seed >= hashing.seeds() || report.bucket >= hashing.buckets() {
                    return None;
                }
                reports.push(report);
            }
        }
        Some(())
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Response(_, _, reports) => reports.len(),
            Self::Unary(_, reports) => reports.len(),
            Self::Hashing(_, reports) => reports.len(),
        }
    }

    /// The fraction of each answer.
    pub(super) fn estimate(&self, confidence: f64) -> Result<Vec<Estimate>, Error> {
        match self {
            Self::Response(response, _, reports) => response.estimate(reports, confidence),
            Self::Unary(encoding, reports) => encoding.estimate(reports, confidence),
            Self::Hashing(hashing, reports) => hashing.estimate(reports, confidence),
        }
    }
}
