use crate::wide_laplace::WideLaplace;
use crate::{
    Account, Accuracy, Aggregate, Error, Ledger, Mechanism, Permit, Receipt, Sensitive, Sensitivity, Stated,
    Terms,
};
use accounting::{Epsilon, Event, Neighbors, PrivacyUnit, Promise};
use exact::{Rational, ratio, to_f64_up};
use noise::{Entropy, Grid};

/// The sparse vector technique: for many queries, tells which are about at or above a threshold, and stops after c that are.
///
/// The cost does not depend on how many queries there are, only on c. One noisy threshold serves them all; each query has fresh
/// noise; nothing but the comparisons is released. As a [`Mechanism`] it takes all queries in order and answers until the c-th
/// `true`; [`Account::above_threshold`] asks them one by one, each chosen after seeing the answers so far. The number of queries is public.
///
/// Δ is the sensitivity's ℓ∞, the most that a unit can move any one query: together they may move as much as they like.
///
/// # Privacy
/// Claim: ε-DP for queries that each move by at most Δ, however many and however adaptive; with [`AboveThreshold::monotone`], half the noise on queries is ε-DP when they all move the same way.
/// Proof: ε = ε₁ + ε₂; the threshold T gets discrete Laplace noise of scale b₁ = Δ/ε₁, each query of scale b₂ = 2cΔ/ε₂. Integers move by at most d = ⌊Δ⌋. Fix a sequence of
/// answers with at most c positives; it determines the queries asked. P[answers|q] = Σ_z P[ρ=z]·Π⊥ P[qᵢ+ν < T+z]·Π⊤ P[qᵢ+ν ≥ T+z]. Compare the term z under q with the term z+d
/// under q': (1) P[ρ=z] ≤ e^(d/b₁)·P[ρ=z+d]; (2) q'ᵢ−d ≤ qᵢ, so P[qᵢ+ν < T+z] ≤ P[q'ᵢ+ν < T+z+d]; (3) qᵢ ≤ q'ᵢ+d, so P[qᵢ+ν ≥ T+z] ≤ P[ν ≥ T+z+d−q'ᵢ−2d] ≤ e^(2d/b₂)·P[q'ᵢ+ν ≥ T+z+d],
/// because P[ν ≥ r] ≤ e^(1/b₂)·P[ν ≥ r+1] for every integer r. There are at most c factors (3), so the ratio is at most e^(d/b₁+2cd/b₂) ≤ e^(ε₁+ε₂), and z+d runs over all integers as z does.
/// Monotone, b₂ = cΔ/ε₂: if no query falls from q to q', then qᵢ ≤ q'ᵢ makes (3) P[qᵢ+ν ≥ T+z] ≤ e^(d/b₂)·P[q'ᵢ+ν ≥ T+z+d]. If none rises, compare z with z: ⊥ factors
/// do not fall, ⊤ factors lose at most e^(d/b₂), and the noise of the threshold costs nothing.
/// Source: Lyu, Su and Li 2017, Algorithm 1, and its monotone case; here on the integers. Assumes: exact sampler whose tail has no end; ε₁ + ε₂ = ε as rationals.
/// Audited by: `audit_above_threshold`, `above_threshold_keeps_its_claim_on_neighbours` (false alarm 1e-9, rejects noise that ignores c and a threshold without noise).
#[derive(Clone, Debug)]
pub struct AboveThreshold {
    terms: Terms,
    epsilon: Epsilon,
    threshold: i64,
    positives: u32,
    threshold_noise: WideLaplace,
    query_noise: WideLaplace,
}

impl AboveThreshold {
    /// Answers until `positives` queries were about at or above `threshold` (in grid steps).
    pub fn new(
        epsilon: Epsilon,
        threshold: i64,
        positives: u32,
        sensitivity: Sensitivity,
        grid: Grid,
    ) -> Result<Self, Error> {
        if epsilon == Epsilon::ZERO {
            return Err(Error::NoEpsilon);
        }
        if positives == 0 {
            return Err(Error::OutOfRange {
                what: "the number of positive answers",
                range: "at least 1",
            });
        }
        let (threshold_noise, query_noise) = noises(&epsilon, positives, &sensitivity, false)?;
        let event = Event::Pure {
            epsilon: epsilon.clone(),
        };
        // How often an answer is wrong depends on how close the query is to the threshold.
        let accuracy = Accuracy::DependsOnData;
        let terms = Terms::new(sensitivity, event, Promise::Pure(epsilon.clone()), accuracy).on(grid);
        Ok(Self {
            terms,
            epsilon,
            threshold,
            positives,
            threshold_noise,
            query_noise,
        })
    }

    /// For queries that never move in opposite directions: a unit that is added raises them all or lowers them all (or leaves some).
    /// Counts are such queries. This is a claim that nothing checks, and only neighbours by adding or removing have it.
    #[must_use]
    pub fn monotone(mut self) -> Self {
        // ε₁ does not fall, so its scale does not rise. The other becomes (1−ε₁/ε)/(2(1−ε₁'/ε)) of what it was, at most 1, because ε₁' ≤ ε/2.
        let noises = noises(&self.epsilon, self.positives, self.terms.sensitivity(), true);
        (self.threshold_noise, self.query_noise) = noises.expect("scales no larger than those accepted");
        self.terms = self.terms.only_for(Neighbors::AddRemove);
        self
    }

    /// The scales of the noise: on the threshold, and on each query.
    pub fn scales(&self) -> (&Rational, &Rational) {
        (self.threshold_noise.scale(), self.query_noise.scale())
    }

    /// The noisy threshold, and how many positive answers are left.
    fn begin(&self, entropy: &mut dyn Entropy) -> Watch {
        let level = i128::from(self.threshold) + self.threshold_noise.sample(entropy);
        Watch {
            level,
            left: self.positives,
            process: std::process::id(),
        }
    }

    /// One comparison; `None` when no positive answers are left.
    fn compare(&self, watch: &mut Watch, query: i64, entropy: &mut dyn Entropy) -> Option<bool> {
        if watch.left == 0 {
            return None;
        }
        let positive = i128::from(query) + self.query_noise.sample(entropy) >= watch.level;
        watch.left -= u32::from(positive);
        Some(positive)
    }
}

/// Noise for the threshold (ε₁) and for each query (ε₂ = ε − ε₁).
fn noises(
    epsilon: &Epsilon,
    positives: u32,
    sensitivity: &Sensitivity,
    monotone: bool,
) -> Result<(WideLaplace, WideLaplace), Error> {
    let moves = if monotone { 1u8 } else { 2u8 };
    let factor = Rational::from(moves) * Rational::from(positives);
    // ε₂/ε₁ = factor^(2/3) makes the comparison's variance smallest (Lyu, Su and Li 2017). Any split is private, so a float may choose.
    let best = 65536.0 / (1.0 + to_f64_up(&factor).cbrt().powi(2));
    let share = ratio(best.round().clamp(1.0, 65535.0) as i64, 65536);
    let first = epsilon.as_rational() * &share;
    let second = epsilon.as_rational() - &first;
    let step = sensitivity.l_infinity();
    Ok((
        WideLaplace::new(step / first)?,
        WideLaplace::new(factor * step / second)?,
    ))
}

/// What is kept between queries. The level is as private as the data: with it, an answer tells more than was charged.
struct Watch {
    level: i128,
    left: u32,
    /// Whose it is: a forked child holds a copy, and two that answer would give twice what was charged.
    process: u32,
}

impl Stated for AboveThreshold {
    fn terms(&self) -> &Terms {
        &self.terms
    }
}

impl Mechanism<Vec<i64>> for AboveThreshold {
    type Output = Vec<bool>;

    fn draw(&self, input: Aggregate<Vec<i64>>, permit: Permit<'_>) -> Vec<bool> {
        let entropy = permit.entropy();
        let mut watch = self.begin(entropy);
        let queries = input.open();
        queries
            .into_iter()
            .map_while(|query| self.compare(&mut watch, query, entropy))
            .collect()
    }
}

/// Queries asked one by one under one charge: see [`Account::above_threshold`].
pub struct ThresholdSession<'account> {
    mechanism: &'account AboveThreshold,
    unit: PrivacyUnit,
    watch: Watch,
    entropy: &'account mut dyn Entropy,
    receipt: Receipt,
}

impl std::fmt::Debug for ThresholdSession<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "ThresholdSession({} left)", self.watch.left)
    }
}

impl ThresholdSession<'_> {
    /// Whether the query is about at or above the threshold; `None` when the positive answers are used up.
    ///
    /// # Errors
    /// When the process forked, or the query is about another unit, on another grid, or moves further than the mechanism was calibrated for. Then nothing was
    /// drawn, and the session goes on as before.
    pub fn ask(&mut self, query: Aggregate<i64>) -> Result<Option<bool>, Error> {
        if self.watch.process != std::process::id() {
            return Err(Error::Forked);
        }
        if *query.unit() != self.unit {
            return Err(Error::UnitMismatch);
        }
        if Some(query.grid()) != self.mechanism.terms.grid() {
            return Err(Error::GridMismatch);
        }
        if query.sensitivity().l_infinity() > self.mechanism.terms.sensitivity().l_infinity() {
            return Err(Error::SensitivityMismatch);
        }
        Ok(self
            .mechanism
            .compare(&mut self.watch, query.open(), self.entropy))
    }

    /// How many positive answers are left.
    pub fn left(&self) -> u32 {
        self.watch.left
    }

    /// What the session cost, however it is used.
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }
}

impl<L: Ledger> Account<L> {
    /// Charges once, then answers queries until the mechanism's positive answers are used up.
    ///
    /// # Errors
    /// When the ledger refuses, or the mechanism is not proved for the account's neighbours.
    pub fn above_threshold<'account>(
        &'account mut self,
        mechanism: &'account AboveThreshold,
        purpose: &str,
    ) -> Result<ThresholdSession<'account>, Error> {
        let unit = self.ledger().budget().unit().clone();
        // No query yet: what is checked now are unit and neighbours; each query is checked when it is asked.
        let none = Aggregate::claimed(
            Sensitive::new(Vec::<i64>::new()),
            mechanism.terms.sensitivity().clone(),
            unit.clone(),
            mechanism.terms.grid().expect("a constructor that asks for one"),
        );
        let (receipt, permit) = self.permit(mechanism, &none, purpose)?;
        let entropy = permit.entropy();
        let watch = mechanism.begin(entropy);
        Ok(ThresholdSession {
            mechanism,
            unit,
            watch,
            entropy,
            receipt,
        })
    }
}

#[cfg(test)]
mod tests;
