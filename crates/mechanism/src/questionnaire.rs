//! A question with a list of possible answers, as a survey asks it: answers by name, randomized one by one, and reports as text.
//!
//! A report is text, one for each respondent: an answer, a word of bits, or `seed:bucket`.

use crate::survey::{Estimate, Frequencies};
use crate::{
    Account, Aggregate, BitReports, Error, HashedReport, LocalHashing, Mechanism, MemoryLedger,
    RandomizedResponse, Receipt, Sensitive, UnaryEncoding,
};
use accounting::{Budget, Epsilon, Neighbors, PrivacyUnit};
use exact::Rational;
use std::collections::BTreeMap;

/// Which mechanism randomizes answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalMechanism {
    /// Truth with a stated probability, otherwise any other answer. Best for few answers.
    RandomizedResponse,
    /// One random bit for each answer (optimized unary encoding). Best for many answers.
    Unary,
    /// One random bit for each answer, flipped alike (basic RAPPOR).
    UnarySymmetric,
    /// A random hash of the answer. As good as unary, in short reports.
    LocalHashing,
}

/// How much noise a survey has.
#[derive(Clone, Debug, PartialEq)]
pub enum LocalNoise {
    /// The truth with probability 1/2 + γ, between two answers: ε = ln((1+2γ)/(1−2γ)).
    Gamma(Rational),
    /// ln of the largest likelihood ratio of a report.
    Epsilon(Epsilon),
}

/// A question with its possible answers, and how they are randomized. A name that is none of the answers counts as the last one.
///
/// ```
/// use mechanism::{LocalMechanism, LocalNoise, Questionnaire, Sensitive};
///
/// let answers = ["yes", "no"].map(str::to_owned).to_vec();
/// let noise = LocalNoise::Epsilon(accounting::Epsilon::parse("1")?);
/// let question = Questionnaire::new(answers, LocalMechanism::RandomizedResponse, &noise)?;
///
/// let (texts, _) = question.randomize(Sensitive::new(vec![0, 1, 1, 0]), "who cheated?")?;
/// let mut reports = question.reports()?;
/// assert!(texts.iter().all(|text| reports.push(text.as_bytes()).is_some()));
/// assert!(reports.push(b"perhaps").is_none());
/// assert_eq!(reports.estimate(0.95)?.len(), 2);
/// # Ok::<(), mechanism::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Questionnaire {
    answers: Vec<String>,
    randomizer: Randomizer,
}

/// One of the mechanisms.
#[derive(Clone, Debug)]
enum Randomizer {
    Response(RandomizedResponse),
    Unary(UnaryEncoding),
    Hashing(LocalHashing),
}

/// Whom every survey protects: the number of respondents is public, what each of them answered is not.
pub fn respondent() -> PrivacyUnit {
    PrivacyUnit::new("respondent", Neighbors::ChangeOne)
}

impl Questionnaire {
    /// A question with these answers, of which spaces around them do not count.
    pub fn new(answers: Vec<String>, mechanism: LocalMechanism, noise: &LocalNoise) -> Result<Self, Error> {
        let wrong = |what, hint| Err(Error::BadAnswers { what, hint });
        let answers: Vec<String> = answers.iter().map(|answer| answer.trim().to_owned()).collect();
        if answers.iter().any(String::is_empty) {
            return wrong("has an empty answer", "write it like --answers yes,no");
        }
        if answers.iter().any(|answer| answer.contains(['\n', '\r'])) {
            return wrong(
                "has a line break in an answer",
                "every report is one line, so an answer must fit on one",
            );
        }
        let mut sorted = answers.clone();
        sorted.sort();
        sorted.dedup();
        if sorted.len() < answers.len() {
            return wrong("names an answer twice", "every answer must be different");
        }
        let count = u32::try_from(answers.len()).unwrap_or(u32::MAX);
        if count < 2 {
            return wrong("names fewer than two answers", "write it like --answers yes,no");
        }
        Ok(Self {
            randomizer: Randomizer::new(count, mechanism, noise)?,
            answers,
        })
    }

    /// The possible answers, in order.
    pub fn answers(&self) -> &[String] {
        &self.answers
    }

    /// What an answer counts as that is none of the possible ones.
    pub fn catch_all(&self) -> &str {
        self.answers.last().map_or("", String::as_str)
    }

    /// The number of each answer, by its bytes.
    pub fn numbers(&self) -> BTreeMap<&[u8], u32> {
        self.answers
            .iter()
            .map(|answer| answer.as_bytes())
            .zip(0..)
            .collect()
    }

    /// Its ε.
    pub fn epsilon(&self) -> &Epsilon {
        match &self.randomizer {
            Randomizer::Response(response) => response.epsilon(),
            Randomizer::Unary(encoding) => encoding.epsilon(),
            Randomizer::Hashing(hashing) => hashing.epsilon(),
        }
    }

    /// What n reports tell.
    pub fn frequencies(&self) -> &Frequencies {
        match &self.randomizer {
            Randomizer::Response(response) => response.frequencies(),
            Randomizer::Unary(encoding) => encoding.frequencies(),
            Randomizer::Hashing(hashing) => hashing.frequencies(),
        }
    }

    /// Randomizes all answers in one release, charged to an account that can pay for exactly that.
    pub fn randomize(
        &self,
        answers: Sensitive<Vec<u32>>,
        purpose: &str,
    ) -> Result<(Vec<String>, Receipt), Error> {
        match &self.randomizer {
            Randomizer::Response(response) => {
                let (reports, receipt) = release_answers(response, answers, purpose)?;
                let text = reports
                    .into_iter()
                    .map(|report| self.answers[report as usize].clone());
                Ok((text.collect(), receipt))
            }
            Randomizer::Unary(encoding) => {
                let (reports, receipt) = release_answers(encoding, answers, purpose)?;
                let text = reports
                    .iter()
                    .map(|report| report.map(|bit| if bit { '1' } else { '0' }).collect());
                Ok((text.collect(), receipt))
            }
            Randomizer::Hashing(hashing) => {
                let (reports, receipt) = release_answers(hashing, answers, purpose)?;
                let text = reports
                    .iter()
                    .map(|report| format!("{}:{}", report.seed, report.bucket));
                Ok((text.collect(), receipt))
            }
        }
    }

    /// No reports yet, to be read from text.
    pub fn reports(&self) -> Result<SurveyReports<'_>, Error> {
        Ok(SurveyReports(match &self.randomizer {
            Randomizer::Response(response) => Reports::Response(response, self.numbers(), Vec::new()),
            Randomizer::Unary(encoding) => Reports::Unary(encoding, BitReports::new(encoding.answers())?),
            Randomizer::Hashing(hashing) => Reports::Hashing(hashing, Vec::new()),
        }))
    }
}

impl Randomizer {
    fn new(answers: u32, mechanism: LocalMechanism, noise: &LocalNoise) -> Result<Self, Error> {
        let epsilon = match noise {
            LocalNoise::Gamma(gamma) => {
                let response = RandomizedResponse::binary(gamma)?;
                if mechanism != LocalMechanism::RandomizedResponse || answers != 2 {
                    return Err(Error::GammaIsBinary);
                }
                return Ok(Self::Response(response));
            }
            LocalNoise::Epsilon(epsilon) => epsilon.clone(),
        };
        match mechanism {
            LocalMechanism::RandomizedResponse => {
                RandomizedResponse::new(epsilon, answers).map(Self::Response)
            }
            LocalMechanism::Unary => UnaryEncoding::optimized(epsilon, answers).map(Self::Unary),
            LocalMechanism::UnarySymmetric => UnaryEncoding::symmetric(epsilon, answers).map(Self::Unary),
            LocalMechanism::LocalHashing => LocalHashing::new(epsilon, answers).map(Self::Hashing),
        }
    }
}

/// One release on a fresh account. Its budget is what the release costs: whoever runs it again spends again.
pub fn release_answers<M: Mechanism<Vec<u32>>>(
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

/// Reports read back from text, beside the mechanism that made them.
#[derive(Debug)]
pub struct SurveyReports<'question>(Reports<'question>);

#[derive(Debug)]
enum Reports<'question> {
    Response(
        &'question RandomizedResponse,
        BTreeMap<&'question [u8], u32>,
        Vec<u32>,
    ),
    Unary(&'question UnaryEncoding, BitReports),
    Hashing(&'question LocalHashing, Vec<HashedReport>),
}

impl SurveyReports<'_> {
    /// Adds a report, or returns `None` if the mechanism makes none like it.
    pub fn push(&mut self, text: &[u8]) -> Option<()> {
        let text = text.trim_ascii();
        match &mut self.0 {
            Reports::Response(_, numbers, reports) => reports.push(*numbers.get(text)?),
            Reports::Unary(_, reports) => {
                if text.iter().any(|byte| !matches!(byte, b'0' | b'1')) {
                    return None;
                }
                reports.push(text.iter().map(|byte| *byte == b'1')).ok()?;
            }
            Reports::Hashing(hashing, reports) => {
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
    pub fn len(&self) -> usize {
        match &self.0 {
            Reports::Response(_, _, reports) => reports.len(),
            Reports::Unary(_, reports) => reports.len(),
            Reports::Hashing(_, reports) => reports.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The fraction of each answer.
    pub fn estimate(&self, confidence: f64) -> Result<Vec<Estimate>, Error> {
        match &self.0 {
            Reports::Response(response, _, reports) => response.estimate(reports, confidence),
            Reports::Unary(encoding, reports) => encoding.estimate(reports, confidence),
            Reports::Hashing(hashing, reports) => hashing.estimate(reports, confidence),
        }
    }
}
