use crate::survey::{Estimate, Frequencies, check_answers, check_epsilon, likelihood_ratio, terms};
use crate::{Aggregate, Error, Mechanism, Permit, Stated, Terms};
use accounting::{Epsilon, Event};
use exact::{Rational, ratio};
use noise::{Bernoulli, Entropy};

/// Reports of one bit for each answer, packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitReports {
    answers: u32,
    words_each: usize,
    words: Vec<u64>,
}

impl BitReports {
    /// None yet, of this many bits each.
    pub fn new(answers: u32) -> Result<Self, Error> {
        check_answers(answers)?;
        Ok(Self {
            answers,
            words_each: answers.div_ceil(64) as usize,
            words: Vec::new(),
        })
    }

    /// Adds one report, or says that it has not as many bits as there are answers and adds nothing.
    pub fn push(&mut self, bits: impl ExactSizeIterator<Item = bool>) -> Result<(), Error> {
        if bits.len() != self.answers as usize {
            return Err(Error::OutOfRange {
                what: "the length of a report",
                range: "one bit for each answer",
            });
        }
        self.add(bits);
        Ok(())
    }

    fn add(&mut self, bits: impl Iterator<Item = bool>) {
        let start = self.words.len();
        self.words.resize(start + self.words_each, 0);
        for (index, bit) in bits.enumerate() {
            self.words[start + index / 64] |= u64::from(bit) << (index % 64);
        }
    }

    /// How many bits each has.
    pub fn answers(&self) -> u32 {
        self.answers
    }

    /// How many reports there are.
    pub fn len(&self) -> usize {
        self.words.len() / self.words_each
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The reports in order, each as its bits in the order of answers.
    pub fn iter(&self) -> impl Iterator<Item = impl Iterator<Item = bool> + '_> + '_ {
        let bit = |words: &[u64], index: u32| words[index as usize / 64] >> (index % 64) & 1 == 1;
        self.words
            .chunks_exact(self.words_each)
            .map(move |words| (0..self.answers).map(move |index| bit(words, index)))
    }
}

/// Each unit writes its answer as k bits of which one is set, and each bit is randomized on its own: a set bit stays set with probability
/// p, any other becomes set with probability q.
///
/// Better than randomized response when there are many answers: the error does not grow with their number. An answer that is not below k
/// counts as answer 0. How many random bits are taken, and which instructions run, does not depend on the answers.
///
/// # Privacy
/// Claim: ε-DP for inputs that differ in one unit's answer; also locally, for each report on its own and any two answers.
/// Proof: two answers differ in two bits, one set in each; the other bits have the same distribution. The likelihood ratio of the two bits together is
/// at most p(1−q) / (q(1−p)), reached by (1, 0). Symmetric: p = r/(r+1), q = 1/(r+1) for a rational 1 < r ≤ e^(ε/2), so that ratio is r² ≤ e^ε.
/// Optimized: p = ½, q = 1/(r+1) for a rational 1 < r ≤ e^ε, so it is (1−q)/q = r ≤ e^ε. Reports are independent and neighbours differ in one.
/// Source: Erlingsson, Pihur and Korolova 2014 (basic one-time RAPPOR); Wang, Blocki, Li and Jha 2017. Assumes: exact coins; the number of units is public.
/// Audited by: `audit_unary_encoding`, `unary_encoding_fits` (false alarm 1e-9, rejects 1.05 ε).
#[derive(Clone, Debug)]
pub struct UnaryEncoding {
    terms: Terms,
    answers: u32,
    epsilon: Epsilon,
    set: Bernoulli,
    unset: Bernoulli,
    frequencies: Frequencies,
}

impl UnaryEncoding {
    /// Both kinds of bits are flipped with the same probability 1/(e^(ε/2)+1), rounded up: basic one-time RAPPOR.
    pub fn symmetric(epsilon: Epsilon, answers: u32) -> Result<Self, Error> {
        check_epsilon(&epsilon)?;
        let likelihood = likelihood_ratio(&(epsilon.as_rational() / Rational::from(2u8)));
        let flip = Rational::ONE / (likelihood + Rational::ONE);
        Self::with_probabilities(Rational::ONE - &flip, flip, answers, epsilon)
    }

    /// The set bit is a fair coin, and the others are set with probability 1/(e^ε+1), rounded up: the least variance for rare answers.
    pub fn optimized(epsilon: Epsilon, answers: u32) -> Result<Self, Error> {
        check_epsilon(&epsilon)?;
        let likelihood = likelihood_ratio(epsilon.as_rational());
        Self::with_probabilities(
            ratio(1, 2),
            Rational::ONE / (likelihood + Rational::ONE),
            answers,
            epsilon,
        )
    }

    fn with_probabilities(
        set: Rational,
        unset: Rational,
        answers: u32,
        epsilon: Epsilon,
    ) -> Result<Self, Error> {
        check_answers(answers)?;
        let coins = (Bernoulli::new(&set)?, Bernoulli::new(&unset)?);
        let frequencies = Frequencies::new(answers, set, unset, answers);
        let event = Event::Pure {
            epsilon: epsilon.clone(),
        };
        Ok(Self {
            terms: terms(event, epsilon.clone(), &frequencies),
            answers,
            epsilon,
            set: coins.0,
            unset: coins.1,
            frequencies,
        })
    }

    /// How many answers there are.
    pub fn answers(&self) -> u32 {
        self.answers
    }

    /// Its ε.
    pub fn epsilon(&self) -> &Epsilon {
        &self.epsilon
    }

    /// What n reports will tell, known before they are drawn.
    pub fn frequencies(&self) -> &Frequencies {
        &self.frequencies
    }

    /// How many reports support each answer: those whose bit for it is set, where they have one.
    pub fn supports(&self, reports: &BitReports) -> Vec<u64> {
        let mut supports = vec![0u64; self.answers as usize];
        for report in reports.iter() {
            for (count, bit) in supports.iter_mut().zip(report) {
                *count += u64::from(bit);
            }
        }
        supports
    }

    /// The fraction of units with each answer, from their reports, with intervals that hold together with probability `confidence`:
    /// see [`Frequencies::estimate`].
    pub fn estimate(&self, reports: &BitReports, confidence: f64) -> Result<Vec<Estimate>, Error> {
        if reports.answers != self.answers {
            return Err(Error::OutOfRange {
                what: "the length of the reports",
                range: "one bit for each answer",
            });
        }
        self.frequencies
            .estimate(&self.supports(reports), reports.len() as u64, confidence)
    }

    /// The report of one unit. A coin is tossed for the true answer and one for every answer, and then each bit is selected without
    /// a branch: whatever the answer, as many coins are tossed, in the same order.
    fn respond(&self, answer: u32, reports: &mut BitReports, entropy: &mut (impl Entropy + ?Sized)) {
        let known = answer * u32::from(answer < self.answers);
        let set = self.set.sample(entropy);
        reports.add((0..self.answers).map(|index| {
            let unset = self.unset.sample(entropy);
            let is_answer = index == known;
            (is_answer & set) | (!is_answer & unset)
        }));
    }
}

impl Stated for UnaryEncoding {
    fn terms(&self) -> &Terms {
        &self.terms
    }
}

impl Mechanism<Vec<u32>> for UnaryEncoding {
    type Output = BitReports;

    fn draw(&self, input: Aggregate<Vec<u32>>, permit: Permit<'_>) -> BitReports {
        let entropy = permit.entropy();
        let answers = input.open();
        let mut reports = BitReports::new(self.answers).expect("the number of answers was checked");
        for answer in answers {
            self.respond(answer, &mut reports, entropy);
        }
        reports
    }
}

#[cfg(test)]
mod tests;
