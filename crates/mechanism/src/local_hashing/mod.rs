use crate::survey::{Estimate, Frequencies, check_answers, check_epsilon, likelihood_ratio, terms};
use crate::{Aggregate, Error, Mechanism, Permit, RandomizedResponse, Stated, Terms};
use accounting::Epsilon;
use exact::{Rational, ratio};
use noise::{Entropy, UniformInteger};

/// More buckets than this are never worth their random bits.
const MOST_BUCKETS: u32 = 1 << 16;

/// The report of one unit: which hash function it drew, and a randomized bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashedReport {
    /// The hash function, independent of the answer: below [`LocalHashing::seeds`].
    pub seed: u128,
    /// The bucket reported: below [`LocalHashing::buckets`].
    pub bucket: u32,
}

/// Each unit draws a hash function from the k answers to g buckets, and answers with it and with randomized response among the buckets.
///
/// As accurate as optimized unary encoding, with reports of a few bytes however many answers there are. g is the integer nearest to e^ε + 1,
/// which is best, or less if the seed would not fit in 127 bits. An answer that is not below k counts as answer 0. How many random bits
/// are taken, and which instructions run, does not depend on the answers.
///
/// The hash function is h(x) = Σ aᵢ over the set bits i of x, modulo g, for a seed (a₀, a₁, …) of independent uniform numbers modulo g. Two
/// different answers differ in some bit i, so h(x) − h(y) is ±aᵢ plus something independent of aᵢ: exactly uniform modulo g. Hence two answers
/// collide with probability exactly 1/g, which is all that the estimate needs to be without bias: a report supports the answers that hash to
/// its bucket, the true one with probability p, and any other with p/g + (1−1/g)·(1−p)/(g−1) = 1/g.
///
/// # Privacy
/// Claim: ε-DP for inputs that differ in one unit's answer; also locally, for each report on its own and any two answers.
/// Proof: the seed is drawn without looking at the answer, so P[seed, bucket|x]/P[seed, bucket|x'] = P[bucket|h(x)]/P[bucket|h(x')], which is at most
/// e^ε because randomized response among the g buckets is ε-DP for any two buckets. That holds for every hash function. Reports are independent and
/// neighbours differ in one.
/// Source: Wang, Blocki, Li and Jha 2017, "Locally differentially private protocols for frequency estimation". Assumes: exact coins; the number of units is public.
/// Audited by: `audit_local_hashing`, `local_hashing_fits` (false alarm 1e-9, rejects 1.05 ε).
#[derive(Clone, Debug)]
pub struct LocalHashing {
    terms: Terms,
    answers: u32,
    /// Among the buckets. Boxed because it has terms of its own.
    response: Box<RandomizedResponse>,
    coefficients: u32,
    coefficient: UniformInteger,
    frequencies: Frequencies,
}

impl LocalHashing {
    /// For `answers` answers, with as many buckets as suit ε.
    pub fn new(epsilon: Epsilon, answers: u32) -> Result<Self, Error> {
        check_epsilon(&epsilon)?;
        check_answers(answers)?;
        // One coefficient for each bit of the largest answer.
        let coefficients = u32::BITS - (answers - 1).leading_zeros();
        // All seeds are numbers below g^coefficients, which must fit: g ≤ 2^⌊127/coefficients⌋.
        let most = 1u32 << (127 / coefficients).min(MOST_BUCKETS.ilog2());
        let best = (likelihood_ratio(epsilon.as_rational()) + ratio(3, 2)).floor();
        let buckets = u32::try_from(best).unwrap_or(most).clamp(2, most);
        let response = RandomizedResponse::new(epsilon, buckets)?;
        let truth = response.frequencies().true_support().clone();
        let chance = Rational::ONE / Rational::from(buckets);
        let frequencies = Frequencies::new(answers, truth, chance, answers);
        // Given the seed it is randomized response among the buckets, or, where two answers collide, no information at all.
        let event = response.terms().event().clone();
        Ok(Self {
            terms: terms(event, response.epsilon().clone(), &frequencies),
            answers,
            coefficients,
            coefficient: UniformInteger::new(u64::from(buckets))?,
            frequencies,
            response: Box::new(response),
        })
    }

    /// How many answers there are.
    pub fn answers(&self) -> u32 {
        self.answers
    }

    /// g: how many buckets there are.
    pub fn buckets(&self) -> u32 {
        self.response.answers()
    }

    /// How many hash functions there are.
    pub fn seeds(&self) -> u128 {
        u128::from(self.buckets()).pow(self.coefficients)
    }

    /// Its ε.
    pub fn epsilon(&self) -> &Epsilon {
        self.response.epsilon()
    }

    /// What n reports will tell, known before they are drawn.
    pub fn frequencies(&self) -> &Frequencies {
        &self.frequencies
    }

    /// How many reports support each answer: those whose hash function carries it to their bucket. Work of n·k.
    pub fn supports(&self, reports: &[HashedReport]) -> Vec<u64> {
        let mut supports = vec![0u64; self.answers as usize];
        let mut hashes = vec![0u32; self.answers as usize];
        for report in reports {
            let coefficients = self.unpack(report.seed);
            for answer in 0..self.answers as usize {
                // h(x) is h of x without its lowest set bit, plus the coefficient of that bit.
                hashes[answer] = match answer {
                    0 => 0,
                    _ => self.add(
                        hashes[answer & (answer - 1)],
                        coefficients[answer.trailing_zeros() as usize],
                    ),
                };
                supports[answer] += u64::from(hashes[answer] == report.bucket);
            }
        }
        supports
    }

    /// The fraction of units with each answer, from their reports, with intervals that hold together with probability `confidence`:
    /// see [`Frequencies::estimate`].
    pub fn estimate(&self, reports: &[HashedReport], confidence: f64) -> Result<Vec<Estimate>, Error> {
        self.frequencies
            .estimate(&self.supports(reports), reports.len() as u64, confidence)
    }

    /// The sum modulo g of two numbers below g.
    fn add(&self, a: u32, b: u32) -> u32 {
        let sum = a + b;
        sum - self.buckets() * u32::from(sum >= self.buckets())
    }

    /// The coefficients of a seed: its digits in base g.
    fn unpack(&self, mut seed: u128) -> [u32; 32] {
        let mut coefficients = [0; 32];
        for coefficient in &mut coefficients[..self.coefficients as usize] {
            *coefficient = (seed % u128::from(self.buckets())) as u32;
            seed /= u128::from(self.buckets());
        }
        coefficients
    }

    /// The report of one unit. Each coefficient is added or not by a multiplication with a bit of the answer, without a branch.
    fn respond(&self, answer: u32, entropy: &mut (impl Entropy + ?Sized)) -> HashedReport {
        let known = answer * u32::from(answer < self.answers);
        let (mut seed, mut place, mut hash) = (0u128, 1u128, 0u32);
        for bit in 0..self.coefficients {
            let coefficient = self.coefficient.sample(entropy) as u32;
            // The last place is below g^coefficients < 2^128; one more is never used.
            seed += u128::from(coefficient) * place;
            place = place.wrapping_mul(u128::from(self.buckets()));
            hash = self.add(hash, coefficient * (known >> bit & 1));
        }
        HashedReport {
            seed,
            bucket: self.response.respond(hash, entropy),
        }
    }
}

impl Stated for LocalHashing {
    fn terms(&self) -> &Terms {
        &self.terms
    }
}

impl Mechanism<Vec<u32>> for LocalHashing {
    type Output = Vec<HashedReport>;

    fn draw(&self, input: Aggregate<Vec<u32>>, permit: Permit<'_>) -> Vec<HashedReport> {
        let entropy = permit.entropy();
        input
            .open()
            .into_iter()
            .map(|answer| self.respond(answer, entropy))
            .collect()
    }
}

#[cfg(test)]
mod tests;
