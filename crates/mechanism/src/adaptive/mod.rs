//! Tables of counts that are chosen and measured in rounds: each round may depend on what the rounds before it released.

mod score;
#[cfg(test)]
mod tests;

use crate::planned::sensitivity_of_rows;
use crate::{Accuracy, Aggregate, Cells, Error, Mechanism, Permit, Stated, Terms};
use accounting::{Epsilon, Event, Neighbors, NoiseSupport, Promise, Ratio, Rho};
use exact::Rational;
use noise::{DiscreteGaussian, ExponentialWeights, Keyed};
use score::Tables;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

/// Expected counts and scores are in steps of one over this many rows.
pub const STEPS_PER_ROW: i64 = 256;

/// No run has more rounds than this.
pub const MOST_ROUNDS: usize = 10_000;

/// So many samplers are kept for rounds to come.
const MOST_SAMPLERS: usize = 8;

/// No table of a round has more cells than this, and no choice more of them in all its tables.
const MOST_CELLS: u64 = 1 << 28;

/// Samplers, each with its variance.
type Samplers = Vec<(Rational, Arc<DiscreteGaussian>)>;

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Round {
    /// Counts rows by these attributes, and adds discrete Gaussian noise of this variance to each count.
    Measure {
        /// Which attributes, as places in ascending order; none for the total.
        attributes: Vec<usize>,
        /// σ², in squared rows.
        variance: Rational,
    },
    /// Chooses the candidate that its expected table fits worst, by the exponential mechanism.
    Choose {
        /// What is chosen among.
        candidates: Vec<Candidate>,
        /// How much the choice may tell.
        epsilon: Epsilon,
    },
    /// Says how far tables are from what is expected of them: for each, the sum of the distances of its counts in whole rows, rounded down, with discrete Gaussian noise of this variance. The noise is added to the
    /// sum of a table and not to its counts, so it makes no distance look larger than it is.
    Compare {
        /// The tables; at least one.
        tables: Vec<Expected>,
        /// σ², in squared rows.
        variance: Rational,
    },
}

/// A table with what is expected of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// Which attributes, as places in ascending order.
    pub attributes: Vec<usize>,
    /// What each of its cells is believed to count, in steps of 1/[`STEPS_PER_ROW`] rows, in row-major order.
    pub counts: Vec<i64>,
}

/// A table that may be worth measuring.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Which attributes, as places in ascending order.
    pub attributes: Vec<usize>,
    /// What each of its cells is believed to count, in steps of 1/[`STEPS_PER_ROW`] rows, in row-major order.
    pub expected: Vec<i64>,
    /// What a row that is wrongly counted is worth.
    pub weight: u32,
    /// Taken from the score: what noise alone would give, for instance.
    pub penalty: i64,
}

/// What a round released.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundResult {
    /// Noisy counts.
    Measured {
        /// By which attributes.
        attributes: Vec<usize>,
        /// 1/ρ of it for a unit that moves one count by one: twice the variance of the noise, rounded up.
        twice_variance: Ratio,
        /// The counts, in row-major order.
        counts: Vec<i64>,
    },
    /// A choice.
    Chosen {
        /// Which candidate.
        place: usize,
        /// Its attributes.
        attributes: Vec<usize>,
        /// Of how many.
        candidates: usize,
        /// What the choice was allowed to tell.
        epsilon: Epsilon,
    },
    /// How far tables are from what was expected.
    Compared {
        /// By which attributes each is.
        tables: Vec<Vec<usize>>,
        /// Twice the variance of the noise on each distance, rounded up.
        twice_variance: Ratio,
        /// Σ |count − expected| of each, in rows, with noise: it may be below zero.
        distances: Vec<i64>,
    },
}

/// What all rounds together released.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Rounds {
    /// What each round released, in order.
    pub results: Vec<RoundResult>,
    /// What they cost together; what is missing to the promise was charged and not used.
    pub spent: Rho,
}

/// Decides what is asked, from public things alone.
pub trait Strategy: Debug + Send + Sync {
    /// Begins a run.
    fn begin(&self) -> Box<dyn Asking + '_>;
}

/// One run of a [`Strategy`].
pub trait Asking {
    /// The next round, given what was released until now and how much may still be spent; `None` to stop. A round that would cost more stops the run.
    fn next(&mut self, released: &[RoundResult], left: &Rho) -> Option<Round>;
}

/// Chooses and measures tables of counts in rounds, each asked for after seeing what the rounds before it released.
///
/// A round is stated before it runs, so what it costs is known; a round that does not fit into what is left is not run, and the run ends.
/// Who asks sees what was released and nothing else: that is all that [`Asking::next`] is given.
///
/// # Privacy
/// Claim: ρ-zCDP, where a unit has at most r rows, for whatever strategy; all curves are those of ρ.
/// Proof: (1) Measuring: r rows that come or go move the counts of one table by a vector of ℓ₁-norm at most r, so by at most r² in ℓ₂²; a changed unit takes away at most r rows and adds at most r, which
/// moves them by a − b with non-negative a and b, so by at most ‖a‖² + ‖b‖² ≤ 2r². These are the norms of `Terms::sensitivity`. Independent discrete Gaussian noise of σ² on each count of integers is Δ₂²/2σ²-zCDP.
/// (2) Choosing: the score w·Σ_c |S·n_c − e_c| − p is an integer, S steps to a row. By the triangle inequality a unit moves it by at most w·S·Δ₁, Δ₁ = r (2r when changed), and cutting scores to 64 bits moves no
/// two of them apart. With Δ the largest of these over the candidates, P(i) ∝ e^(ε·uᵢ/2Δ) is the exponential mechanism of ε for scores that move by at most Δ. Its losses lie in a range of ε, so it is ε²/8-zCDP.
/// (3) Comparing: d = Σ_c |S·n_c − e_c| is an integer that a unit moves by at most S·Δ₁, as in (2). So it moves ⌊d/S⌋ by at most Δ₁, since ⌊(d + S·Δ₁)/S⌋ = ⌊d/S⌋ + Δ₁ and rounding down is monotone. Of K tables it moves the vector by at
/// most K·Δ₁² in ℓ₂². Independent discrete Gaussian noise of σ² on each is K·Δ₁²/2σ²-zCDP.
/// (4) All rounds: let ρ_t be what round t costs; it is a function of what rounds before t released, because the strategy is given nothing else. For α > 1 and neighbours with outputs P and Q, let L_t be the loss of the first t
/// rounds. Given the earlier outputs, round t multiplies E_Q[e^(αL)] by at most e^(α(α−1)ρ_t), so M_t = e^(αL_t − α(α−1)Σ_{s≤t}ρ_s) is a supermartingale under Q. The run ends before Σρ_s exceeds ρ, after at most
/// `MOST_ROUNDS` rounds, so E_Q[e^(αL)] ≤ e^(α(α−1)ρ)·E_Q[M_T] ≤ e^(α(α−1)ρ): a Rényi divergence of at most αρ, at every α. Adding one that is not asked for (the end of the run) is no release.
/// Source: Canonne, Kamath and Steinke 2020 (1, 3); Cesar and Rogers 2021 (2); Feldman and Zrnic 2021, Whitehouse et al. 2023 (4). Assumes: exact samplers; the bound r holds; 256 bits of a key are as good as random.
/// Audited by: `audit_adaptive_tables` (false alarm 1e-9, rejects 0.5 σ, scores whose sensitivity is halved, distances that are charged as one, and rounds that are not charged).
#[derive(Clone, Debug)]
pub struct AdaptiveTables {
    terms: Terms,
    rho: Rho,
    rows: u64,
    sizes: Vec<u32>,
    strategy: Arc<dyn Strategy>,
    /// Samplers that were used last, by variance: making the tables of one takes far longer than a draw.
    samplers: Arc<Mutex<Samplers>>,
    #[cfg(test)]
    pub(crate) mutant: Option<tests::Mutant>,
}

impl AdaptiveTables {
    /// At a cost of at most ρ for a unit that has at most `rows` rows, over attributes of so many values each.
    ///
    /// # Errors
    /// When ρ or `rows` is zero, or an attribute has no values.
    pub fn new(
        rho: Rho,
        sizes: Vec<u32>,
        rows: u64,
        neighbors: Neighbors,
        strategy: Arc<dyn Strategy>,
    ) -> Result<Self, Error> {
        if rho == Rho::ZERO {
            return Err(Error::OutOfRange {
                what: "ρ",
                range: "positive",
            });
        }
        if sizes.contains(&0) {
            return Err(Error::OutOfRange {
                what: "the number of values of an attribute",
                range: "positive",
            });
        }
        let terms = Terms::new(
            sensitivity_of_rows(rows, neighbors)?,
            Event::Concentrated { rho: rho.clone() },
            Promise::Concentrated(rho.clone()),
            Accuracy::DependsOnData,
        );
        Ok(Self {
            terms: terms.on(noise::Grid::new(0)).only_for(neighbors),
            rho,
            rows,
            sizes,
            strategy,
            samplers: Arc::default(),
            #[cfg(test)]
            mutant: None,
        })
    }

    /// What it may cost.
    pub fn rho(&self) -> &Rho {
        &self.rho
    }

    /// How many rows a unit may have.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// How many values each attribute has.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// Who decides what is asked.
    pub fn strategy(&self) -> &dyn Strategy {
        &*self.strategy
    }

    /// What a round costs, whatever the data; `None` for a round that cannot be run.
    pub fn cost(&self, round: &Round) -> Option<Rho> {
        let event = match round {
            Round::Measure { attributes, variance } => {
                self.cells(attributes)?;
                // Parameters that no sampler has are found out before anything is drawn.
                self.sampler(variance)?;
                Event::Gaussian {
                    multiplier_squared: Ratio::at_most(&(variance / self.terms.sensitivity().l2_squared())),
                    on: NoiseSupport::Discrete,
                }
            }
            Round::Choose { candidates, epsilon } => {
                let mut cells = 0u64;
                for candidate in candidates {
                    let size = self.cells(&candidate.attributes)?;
                    cells = cells.checked_add(size).filter(|cells| *cells <= MOST_CELLS)?;
                    if candidate.expected.len() as u64 != size {
                        return None;
                    }
                }
                self.scale(candidates, epsilon)?;
                #[cfg(test)]
                if self.mutant == Some(tests::Mutant::ChoicesAreFree) {
                    return Some(Rho::ZERO);
                }
                Event::Exponential {
                    epsilon: epsilon.clone(),
                }
            }
            Round::Compare { tables, variance } => {
                let mut cells = 0u64;
                for table in tables {
                    let size = self.cells(&table.attributes)?;
                    cells = cells.checked_add(size).filter(|cells| *cells <= MOST_CELLS)?;
                    if table.counts.len() as u64 != size {
                        return None;
                    }
                }
                self.sampler(variance)?;
                Event::Gaussian {
                    multiplier_squared: Ratio::at_most(&(variance / self.moved_squared(tables.len())?)),
                    on: NoiseSupport::Discrete,
                }
            }
        };
        event.concentrated().ok()
    }

    /// How far a unit moves the distances of so many tables, squared: K·Δ₁², see (3) in the proof. `None` for no tables.
    fn moved_squared(&self, tables: usize) -> Option<Rational> {
        #[cfg(test)]
        if self.mutant == Some(tests::Mutant::DistancesAreOne) {
            return Some(Rational::ONE);
        }
        let moved = self.terms.sensitivity().l1();
        (tables > 0).then(|| Rational::from(tables as u64) * moved * moved)
    }

    /// Noise of this variance. Which variances are asked for follows from what was released.
    fn sampler(&self, variance: &Rational) -> Option<Arc<DiscreteGaussian>> {
        let mut known = self.samplers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, sampler)) = known.iter().find(|(of, _)| of == variance) {
            return Some(Arc::clone(sampler));
        }
        let sampler = Arc::new(DiscreteGaussian::new(variance).ok()?);
        if known.len() == MOST_SAMPLERS {
            known.remove(0);
        }
        known.push((variance.clone(), Arc::clone(&sampler)));
        Some(sampler)
    }

    /// How many cells a table has; `None` if there is no such table, or it has too many.
    fn cells(&self, attributes: &[usize]) -> Option<u64> {
        if attributes.windows(2).any(|pair| pair[0] >= pair[1]) {
            return None;
        }
        let mut cells = 1u64;
        for place in attributes {
            cells = cells.checked_mul(u64::from(*self.sizes.get(*place)?))?;
        }
        (cells <= MOST_CELLS).then_some(cells)
    }

    /// Scores that differ by this much differ in probability by a factor e: 2Δ/ε.
    fn scale(&self, candidates: &[Candidate], epsilon: &Epsilon) -> Option<Rational> {
        let weight = candidates.iter().map(|candidate| candidate.weight).max()?;
        if weight == 0 || *epsilon == Epsilon::ZERO || candidates.len() > 1 << 20 {
            return None;
        }
        // Δ = w·S·Δ₁, see (2) in the proof.
        let sensitivity =
            Rational::from(weight) * Rational::from(STEPS_PER_ROW) * self.terms.sensitivity().l1();
        #[cfg(test)]
        if self.mutant == Some(tests::Mutant::HalfTheSensitivity) {
            return Some(sensitivity / epsilon.as_rational());
        }
        Some(Rational::from(2u8) * sensitivity / epsilon.as_rational())
    }

    /// Runs rounds until the strategy stops or one does not fit.
    fn run(&self, cells: &Cells, key: [u8; 32]) -> Rounds {
        let mut tables = Tables::new(cells, &self.sizes);
        let mut asking = self.strategy.begin();
        let mut results: Vec<RoundResult> = Vec::new();
        let mut spent = Rho::ZERO;
        while results.len() < MOST_ROUNDS {
            let Some(left) = self.rho.checked_sub(&spent) else {
                break;
            };
            let Some(round) = asking.next(&results, &left) else {
                break;
            };
            let Some(total) = self.cost(&round).map(|cost| &spent + &cost) else {
                break;
            };
            if total > self.rho {
                break;
            }
            // The noise of a round is a stream of the key of its own.
            let mut entropy = Keyed::new(key, results.len() as u64);
            let Some(result) = self.released(round, &mut tables, &mut entropy) else {
                break;
            };
            spent = total;
            results.push(result);
        }
        Rounds { results, spent }
    }

    /// Runs one round, which was paid for. It fails only for parameters that [`AdaptiveTables::cost`] refuses.
    fn released(&self, round: Round, tables: &mut Tables<'_>, entropy: &mut Keyed) -> Option<RoundResult> {
        Some(match round {
            Round::Measure { attributes, variance } => {
                let mut counts = tables.counts(&attributes).to_vec();
                self.sampler(&variance)?.add_to(&mut counts, entropy);
                RoundResult::Measured {
                    attributes,
                    twice_variance: Ratio::at_least(&(variance * Rational::from(2u8))),
                    counts,
                }
            }
            Round::Choose { candidates, epsilon } => {
                let scale = self.scale(&candidates, &epsilon)?;
                let scores = candidates.iter().map(|candidate| tables.score(candidate));
                let exponents = scores.map(|score| -Rational::from(score) / &scale).collect();
                let place = ExponentialWeights::new(exponents).ok()?.sample(entropy);
                RoundResult::Chosen {
                    place,
                    attributes: candidates[place].attributes.clone(),
                    candidates: candidates.len(),
                    epsilon,
                }
            }
            Round::Compare {
                tables: expected,
                variance,
            } => {
                let mut distances: Vec<i64> = expected.iter().map(|table| tables.distance(table)).collect();
                self.sampler(&variance)?.add_to(&mut distances, entropy);
                RoundResult::Compared {
                    tables: expected.into_iter().map(|table| table.attributes).collect(),
                    twice_variance: Ratio::at_least(&(variance * Rational::from(2u8))),
                    distances,
                }
            }
        })
    }
}

impl Stated for AdaptiveTables {
    fn terms(&self) -> &Terms {
        &self.terms
    }
}

impl Mechanism<Cells> for AdaptiveTables {
    type Output = Rounds;

    fn draw(&self, input: Aggregate<Cells>, permit: Permit<'_>) -> Rounds {
        let key = crate::account::key_from(permit.entropy());
        self.run(&input.open(), key)
    }
}
