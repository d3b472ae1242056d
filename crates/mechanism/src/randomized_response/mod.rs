use crate::survey::{Estimate, Frequencies, check_answers, check_epsilon, likelihood_ratio, terms};
use crate::{Aggregate, Error, Mechanism, Permit, Stated, Terms};
use accounting::{Epsilon, Event};
use exact::{Interval, Rational, ratio};
use noise::{Bernoulli, Entropy, UniformInteger};

/// Each unit tells its true answer with probability p, and otherwise one of the k − 1 other answers, all equally likely.
///
/// An answer that is not below k counts as answer 0, so that nothing can fail for a reason that is in the data. How many random
/// bits are taken, and which instructions run, does not depend on the answers.
///
/// # Privacy
/// Claim: ε-DP for inputs that differ in one unit's answer; also locally, for each report on its own and any two answers.
/// Proof: p = r/(r+k−1) for a rational 1 < r ≤ e^ε, so each other answer has probability (1−p)/(k−1) = 1/(r+k−1). A report y given two
/// answers has the likelihood ratio r if y is the first, 1/r if it is the second, and 1 otherwise: at most e^ε. Reports are independent
/// and neighbours differ in one, so the ratio of all reports together is that of one. From γ: r = (½+γ)/(½−γ) exactly, p = ½+γ,
/// and ε is ln r rounded up.
/// Source: Warner 1965; Kairouz, Oh and Viswanath 2014, "Extremal mechanisms for local differential privacy". Assumes: exact coins; the number of units is public, hence neighbours that change one.
/// Audited by: `audit_randomized_response`, `black_box_randomized_response`, `randomized_response_fits` (false alarm 1e-9, rejects 1.05 ε).
#[derive(Clone, Debug)]
pub struct RandomizedResponse {
    terms: Terms,
    answers: u32,
    epsilon: Epsilon,
    truth: Bernoulli,
    other: UniformInteger,
    frequencies: Frequencies,
}

impl RandomizedResponse {
    /// Among `answers` answers, as truthful as ε allows: p = e^ε/(e^ε+k−1), rounded down.
    pub fn new(epsilon: Epsilon, answers: u32) -> Result<Self, Error> {
        check_epsilon(&epsilon)?;
        let ratio = likelihood_ratio(epsilon.as_rational());
        Self::with_ratio(&ratio, answers, epsilon)
    }

    /// Between two answers, with truth reported with probability ½ + γ for 0 < γ < ½: ε = ln((1+2γ)/(1−2γ)).
    pub fn binary(gamma: &Rational) -> Result<Self, Error> {
        let half = ratio(1, 2);
        let out_of_range = Error::OutOfRange {
            what: "γ",
            range: "strictly between 0 and 1/2, with ln((1+2γ)/(1−2γ)) between 1e-9 and 64\nhint: try 0.25",
        };
        if *gamma <= Rational::ZERO || *gamma >= half {
            return Err(out_of_range);
        }
        let ratio = (&half + gamma) / (&half - gamma);
        let epsilon = Epsilon::at_least(&Interval::ln_of(&ratio, 128))?;
        check_epsilon(&epsilon).map_err(|_| out_of_range)?;
        Self::with_ratio(&ratio, 2, epsilon)
    }

    fn with_ratio(ratio: &Rational, answers: u32, epsilon: Epsilon) -> Result<Self, Error> {
        check_answers(answers)?;
        let others = Rational::from(answers - 1);
        let truth = ratio / (ratio + &others);
        let each_other = (Rational::ONE - &truth) / &others;
        // With two answers, one interval is the other one turned around, so both hold or neither does.
        let statements = if answers == 2 { 1 } else { answers };
        let coin = Bernoulli::new(&truth)?;
        let frequencies = Frequencies::new(answers, truth, each_other, statements);
        let event = Event::RandomizedResponse {
            answers: u64::from(answers),
            epsilon: epsilon.clone(),
        };
        Ok(Self {
            terms: terms(event, epsilon.clone(), &frequencies),
            answers,
            epsilon,
            truth: coin,
            other: UniformInteger::new(u64::from(answers - 1))?,
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

    /// How many reports support each answer: those that name it. A report that names none supports none.
    pub fn supports(&self, reports: &[u32]) -> Vec<u64> {
        let mut supports = vec![0u64; self.answers as usize];
        for report in reports {
            if let Some(count) = supports.get_mut(*report as usize) {
                *count += 1;
            }
        }
        supports
    }

    /// The fraction of units with each answer, from their reports, with intervals that hold together with probability `confidence`:
    /// see [`Frequencies::estimate`].
    pub fn estimate(&self, reports: &[u32], confidence: f64) -> Result<Vec<Estimate>, Error> {
        self.frequencies
            .estimate(&self.supports(reports), reports.len() as u64, confidence)
    }

    /// The report of one unit. The coins are tossed before the answer is looked at, and it is used without a branch.
    pub(crate) fn respond(&self, answer: u32, entropy: &mut (impl Entropy + ?Sized)) -> u32 {
        let lie = u64::from(!self.truth.sample(entropy));
        // Uniform over the others, as the distance from the true answer around the circle of answers.
        let distance = if self.answers == 2 {
            1
        } else {
            1 + self.other.sample(entropy)
        };
        let (answer, answers) = (u64::from(answer), u64::from(self.answers));
        let known = answer * u64::from(answer < answers);
        let moved = known + lie * distance;
        (moved - answers * u64::from(moved >= answers)) as u32
    }
}

impl Stated for RandomizedResponse {
    fn terms(&self) -> &Terms {
        &self.terms
    }
}

impl Mechanism<Vec<u32>> for RandomizedResponse {
    type Output = Vec<u32>;

    fn draw(&self, input: Aggregate<Vec<u32>>, permit: Permit<'_>) -> Vec<u32> {
        let entropy = permit.entropy();
        let mut answers = input.open();
        for answer in &mut answers {
            *answer = self.respond(*answer, entropy);
        }
        answers
    }
}

#[cfg(test)]
mod tests;
