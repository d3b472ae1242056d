//! Was she in the data? Tracing a person from published means.
//!
//! A study publishes how common each of d attributes was among its n people: genetic variants, purchases,
//! pages visited. An adversary who knows a person's attributes, and how common each is in the population,
//! asks on which side of the population's frequencies the study lies: towards her or away. Each attribute
//! says next to nothing; together they say it all once d is larger than n (Homer et al. 2008; Dwork, Smith,
//! Steinke, Ullman and Vadhan 2015).
//!
//! Differential privacy bounds every such test at once. If the release is (ε, δ)-DP when one person is
//! exchanged for another, then a test that accuses an innocent with probability p_fp accuses a member with
//! probability p_tp ≤ e^ε·p_fp + δ, whatever the adversary knows.
//!
//! ```text
//! Population ──► data of n people ──► Noise ──► Published means ──► Weights ──► a score for anybody
//!                                                                                  │ one member and one stranger a data set
//!                                                   Limit (ε, δ), Gaussian ◄──► Roc ◄──┘
//! ```

mod population;
mod roc;
mod sheets;
mod suspect;

pub use population::Population;
pub use roc::{Accusations, GaussianLimit, Limit, Scores, upper_tail};
pub use sheets::{PublishedMeans, suspects};
pub use suspect::{Suspect, Tracing};

use crate::parallel::share;
use crate::{Error, Seeded, Watch};
use accounting::{Budget, Delta, Epsilon, Neighbors, PrivacyUnit, Promise, smallest_multiplier};
use exact::to_f64_nearest;
use mechanism::{Account, Aggregate, Gaussian, Laplace, Mechanism, MemoryLedger, Sensitive, Sensitivity};
use noise::Grid;
use population::Sample;

/// How the means are protected.
#[derive(Clone, Debug, PartialEq)]
pub enum Noise {
    /// Not at all.
    None,
    /// Gaussian noise, the least that keeps (ε, δ) for all means together.
    Gaussian(Epsilon, Delta),
    /// Laplace noise that keeps ε for all means together.
    Laplace(Epsilon),
}

/// How an adversary weighs attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Score {
    /// Σ (y − p)·(m − p): on which side of the population the means are. Needs to know nothing of the noise.
    InnerProduct,
    /// The logarithm of how much likelier the means are with her than without her.
    LikelihoodRatio,
}

/// Both scores, in the order in which results are given.
pub const SCORES: [Score; 2] = [Score::InnerProduct, Score::LikelihoodRatio];

/// The unit of the game: one person in the data, or another in her place. How many people there are is
/// public.
pub fn unit() -> PrivacyUnit {
    PrivacyUnit::new("person", Neighbors::ChangeOne)
}

/// One person's whole record changes: each of d sums of zeros and ones moves by at most 1, so ℓ₁ = d and ℓ₂ =
/// √d (d/n and √d/n of the means). It is the same if she is added or removed and the sums are divided by a
/// public n: a record of ones moves every sum by 1.
fn sensitivity(attributes: usize) -> Result<Sensitivity, Error> {
    Ok(Sensitivity::vector(attributes as u64, 1)?)
}

/// A mechanism of ours, ready for the sums.
#[derive(Debug)]
enum Protection {
    None,
    Gaussian(Box<Gaussian>),
    Laplace(Box<Laplace>),
}

impl Protection {
    fn new(noise: &Noise, attributes: usize) -> Result<Self, Error> {
        let (sensitivity, grid) = (sensitivity(attributes)?, Grid::new(0));
        Ok(match noise {
            Noise::None => Self::None,
            Noise::Gaussian(epsilon, delta) => Self::Gaussian(Box::new(Gaussian::analytic(
                epsilon.clone(),
                delta.clone(),
                sensitivity,
                grid,
            )?)),
            Noise::Laplace(epsilon) => {
                Self::Laplace(Box::new(Laplace::new(epsilon.clone(), sensitivity, grid)?))
            }
        })
    }

    /// The sums as they are published, through the boundary that every release passes.
    fn release(&self, sums: &[i64], entropy: Seeded) -> Result<Vec<i64>, Error> {
        match self {
            Self::None => Ok(sums.to_vec()),
            Self::Gaussian(gaussian) => released(&**gaussian, sums, entropy),
            Self::Laplace(laplace) => released(&**laplace, sums, entropy),
        }
    }
}

fn released<M>(mechanism: &M, sums: &[i64], entropy: Seeded) -> Result<Vec<i64>, Error>
where
    M: Mechanism<Vec<i64>, Output = Vec<i64>>,
{
    let terms = mechanism.terms();
    let ledger = MemoryLedger::new(Budget::new(terms.promise().clone(), unit()));
    let mut account = Account::with_entropy(ledger, entropy);
    let sums = Sensitive::new(sums.to_vec());
    let aggregate = Aggregate::claimed(sums, terms.sensitivity().clone(), unit(), Grid::new(0));
    Ok(account.release_by(mechanism, aggregate, "means")?.into_value())
}

impl Noise {
    /// What it promises. `None` for no noise, which promises nothing.
    pub fn promise(&self) -> Option<Promise> {
        match self {
            Self::None => None,
            Self::Gaussian(epsilon, delta) => Some(Promise::Approximate(epsilon.clone(), delta.clone())),
            Self::Laplace(epsilon) => Some(Promise::Pure(epsilon.clone())),
        }
    }

    /// The most that any test can do.
    pub fn limit(&self) -> Option<Limit> {
        match self {
            Self::None => None,
            Self::Gaussian(epsilon, delta) => Some(Limit {
                epsilon: epsilon.to_f64_up(),
                delta: delta.to_f64_up(),
            }),
            Self::Laplace(epsilon) => Some(Limit {
                epsilon: epsilon.to_f64_up(),
                delta: 0.0,
            }),
        }
    }

    /// The most that any test can do against Gaussian noise of this size, which is less than (ε, δ) alone
    /// allows.
    ///
    /// # Errors
    /// When δ = 0.
    pub fn gaussian_limit(&self) -> Result<Option<GaussianLimit>, Error> {
        match self {
            Self::Gaussian(epsilon, delta) => Ok(Some(GaussianLimit {
                shift: 1.0 / to_f64_nearest(&smallest_multiplier(epsilon, delta)?),
            })),
            _ => Ok(None),
        }
    }

    /// The noise of each mean of this many attributes of this many people: its standard deviation (Gaussian)
    /// or scale (Laplace).
    ///
    /// # Errors
    /// When there is no such noise.
    pub fn size(&self, attributes: usize, people: u32) -> Result<f64, Error> {
        Ok(match Protection::new(self, attributes)? {
            Protection::None => 0.0,
            Protection::Gaussian(gaussian) => to_f64_nearest(gaussian.variance()).sqrt(),
            Protection::Laplace(laplace) => to_f64_nearest(laplace.scale()),
        } / f64::from(people))
    }
}

/// What was published, and what everybody knows.
#[derive(Clone, Copy, Debug)]
pub struct Published<'data> {
    /// How many people were in the data.
    pub people: u32,
    /// The published means.
    pub means: &'data [f64],
    /// How common each attribute is in the population.
    pub frequencies: &'data [f64],
    /// What kind of noise the means have.
    pub noise: &'data Noise,
    /// Its size: the standard deviation of Gaussian noise, the scale of Laplace noise.
    pub size: f64,
}

/// What each attribute adds to a person's score: if she has it, and if she has not.
#[derive(Clone, Debug)]
pub struct Weights {
    pairs: Vec<[f64; 2]>,
}

impl Published<'_> {
    /// What each attribute says.
    pub fn weights(&self, score: Score) -> Weights {
        let pairs = self
            .means
            .iter()
            .zip(self.frequencies)
            .map(|(mean, frequency)| [1.0, 0.0].map(|has| self.weight(score, has, *mean, *frequency)));
        Weights {
            pairs: pairs.collect(),
        }
    }

    fn weight(&self, score: Score, has: f64, mean: f64, frequency: f64) -> f64 {
        let people = f64::from(self.people);
        let (towards, away) = (has - frequency, mean - frequency);
        match (score, self.noise) {
            (Score::InnerProduct, _) => towards * away,
            // The sum s of n people is Binomial(n, p) without her and y + Binomial(n−1, p) with her. For y =
            // 1 the ratio is C(n−1, s−1)/(C(n, s)·p) = (s/n)/p = m/p, for y = 0 likewise (1−m)/(1−p). A mean
            // of zero excludes who has the attribute.
            (Score::LikelihoodRatio, Noise::None) if has == 1.0 => (mean / frequency).ln(),
            (Score::LikelihoodRatio, Noise::None) => ((1.0 - mean) / (1.0 - frequency)).ln(),
            // Sums of many are Gaussian before the noise already: N(p + (y−p)/n, v(n−1)/n² + σ²) against N(p,
            // v/n + σ²), v = p(1−p).
            (Score::LikelihoodRatio, Noise::Gaussian(..)) => {
                let spread = frequency * (1.0 - frequency) / people;
                let noise = self.size * self.size;
                let (inside, outside) = (spread * (people - 1.0) / people + noise, spread + noise);
                let beside = away - towards / people;
                (away * away / outside - beside * beside / inside + (outside / inside).ln()) / 2.0
            }
            // Against Laplace noise much wider than the sampling error: ln of the ratio of the densities
            // e^(−|m−p−(y−p)/n|/b) and e^(−|m−p|/b).
            (Score::LikelihoodRatio, Noise::Laplace(_)) => {
                (away.abs() - (away - towards / people).abs()) / self.size
            }
        }
    }
}

impl Weights {
    /// The score of a person with these attributes.
    pub fn score(&self, attributes: impl IntoIterator<Item = bool>) -> f64 {
        let picked = self.pairs.iter().zip(attributes);
        picked.map(|(pair, has)| pair[usize::from(!has)]).sum()
    }

    /// Mean and standard deviation of the score of a stranger, given what was published: she has each
    /// attribute with its frequency, independently.
    pub fn of_a_stranger(&self, frequencies: &[f64]) -> (f64, f64) {
        let (mut mean, mut variance) = (0.0, 0.0);
        for (pair, frequency) in self.pairs.iter().zip(frequencies) {
            mean += frequency * pair[0] + (1.0 - frequency) * pair[1];
            variance += frequency * (1.0 - frequency) * (pair[0] - pair[1]).powi(2);
        }
        (mean, variance.sqrt())
    }
}

/// Many independent studies, each tried on one of its members and on one stranger.
#[derive(Clone, Debug)]
pub struct Experiment<'data> {
    /// Where people come from.
    pub population: &'data Population,
    /// How many are in each study.
    pub people: u32,
    /// How its means are protected; every study is released in each of these ways.
    pub noises: &'data [Noise],
    /// How many studies.
    pub trials: u64,
    /// What determines all draws.
    pub seed: u64,
}

/// More people or attributes than anybody waits for.
const MOST_CELLS: u64 = 1 << 33;

impl Experiment<'_> {
    /// The scores of members and strangers under each noise, by both ways of scoring. Trials are independent
    /// of one another.
    ///
    /// # Errors
    /// When a noise cannot be made, or the study is empty or enormous.
    pub fn run(&self, watch: &Watch<'_>) -> Result<Vec<[Scores; 2]>, Error> {
        let attributes = self.population.frequencies().len();
        let cells = u64::from(self.people) * attributes as u64;
        if self.people == 0 || attributes == 0 || cells > MOST_CELLS {
            return Err(Error::bad_setting(
                "a study needs people and attributes, at most 2^33 cells of them",
                "100 people and 5000 attributes are traced without fail",
            ));
        }
        let protections = self
            .noises
            .iter()
            .map(|noise| Protection::new(noise, attributes))
            .collect::<Result<Vec<_>, Error>>()?;
        let sizes = self
            .noises
            .iter()
            .map(|noise| noise.size(attributes, self.people))
            .collect::<Result<Vec<_>, Error>>()?;
        // Each protection is tried once where an error can be reported.
        for protection in &protections {
            protection.release(&[0], Seeded::new(self.seed))?;
        }
        let states = share(self.trials, watch, Vec::new, |trials, trial| {
            trials.push((trial, self.trial(trial, &protections, &sizes)));
        });
        let mut trials: Vec<_> = states.into_iter().flatten().collect();
        trials.sort_unstable_by_key(|(trial, _)| *trial);
        let mut found = vec![[Scores::default(), Scores::default()]; self.noises.len()];
        for (_, scores) in trials {
            for (all, these) in found.iter_mut().zip(scores?) {
                for (scores, [inside, outside]) in all.iter_mut().zip(these) {
                    scores.inside.push(inside);
                    scores.outside.push(outside);
                }
            }
        }
        Ok(found)
    }

    /// For each noise and each score, the member's and the stranger's.
    fn trial(
        &self,
        trial: u64,
        protections: &[Protection],
        sizes: &[f64],
    ) -> Result<Vec<[[f64; 2]; 2]>, Error> {
        let streams = protections.len() as u64 + 1;
        let stream = |number: u64| Seeded::numbered(self.seed, trial * streams + number);
        let Sample {
            sums,
            member,
            stranger,
        } = self.population.sample(self.people, &mut stream(0));
        let frequencies = self.population.frequencies();
        let mut found = Vec::with_capacity(protections.len());
        for (place, protection) in protections.iter().enumerate() {
            let published = protection.release(&sums, stream(place as u64 + 1))?;
            let means: Vec<f64> = published
                .iter()
                .map(|sum| *sum as f64 / f64::from(self.people))
                .collect();
            let published = Published {
                people: self.people,
                means: &means,
                frequencies,
                noise: &self.noises[place],
                size: sizes[place],
            };
            found.push(SCORES.map(|score| {
                let weights = published.weights(score);
                [&member, &stranger].map(|person| weights.score(person.iter().copied()))
            }));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests;
