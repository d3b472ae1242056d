//! Generators of synthetic rows, attacked and audited on people that are made up: one that keeps its claim, and two that must be caught.
//!
//! # The audit
//! Each canary is a person with a value of a column that nobody else has; a coin of its own says whether she is in the data. A generator runs once. Who guesses sees synthetic rows and nothing else: of those canaries whose value is
//! in the most rows it says that they were in. Neighbouring data differ in one person, and each canary is one, so (ε, δ) bounds how many guesses can be right (`audit::one_run`, with its proof and false-alarm rate). Rows that are made of exact marginals have
//! the value of a canary exactly if she was in the data, although no row is a copy of anybody.
//!
//! # The attacks
//! Canaries who were in are members, the others strangers, of the same population. `attack::rows` looks how close synthetic rows are to both, and guesses a column of theirs from the others.

mod report;

pub use report::findings;

use accounting::{Budget, Delta, Epsilon, Neighbors, PrivacyUnit, Promise, Rho};
use attack::membership::Scores;
use attack::rows::{Inferred, membership};
use audit::document::{Claim, Number};
use audit::one_run::{Judged, Secrets, Tries, plant};
use mechanism::{Account, Aggregate, Cells, MemoryLedger, Sensitive};
use noise::{Entropy, Seeded};
use synthesis::{Method, Plan, Release, Settings, rho_for};
use tables::{Attribute, Domain};

/// People who are in the data whatever the coins say, for each canary.
const OTHERS: usize = 2;
/// Columns besides the one that canaries are told apart by.
const COLUMNS: usize = 6;
/// How many values each of them has.
const VALUES: u32 = 6;
/// Rows are drawn as often as this many data sets, to tell the model's counts to a part of a row: more rows are free.
const DRAWN: usize = 20;
/// How many cells a model may have.
const MODEL_CELLS: u64 = 20_000;

/// Codes, column by column.
type Rows = Vec<Vec<u32>>;

/// What is studied.
#[derive(Clone, Debug)]
pub struct Study {
    /// How tables are chosen.
    pub method: Method,
    /// What every generator claims.
    pub epsilon: Epsilon,
    /// At this δ.
    pub delta: Delta,
    /// How many canaries there are.
    pub canaries: usize,
    /// One minus the probability that the generator that keeps the claim is refuted.
    pub confidence: f64,
    /// What determines people and canaries; not their coins, and not the noise.
    pub seed: u64,
}

/// A way to make rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generator {
    /// As `deniable synthesize` does: it keeps the claim.
    Private,
    /// The same from exact counts: rows are drawn from the marginals of the data, and none is a copy.
    ExactMarginals,
    /// Rows of the data in another order.
    Copies,
}

/// All of them.
pub const GENERATORS: [Generator; 3] = [Generator::Private, Generator::ExactMarginals, Generator::Copies];

impl Generator {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Private => "from noisy counts, under one charge",
            Self::ExactMarginals => "from exact marginals",
            Self::Copies => "copies of the data",
        }
    }

    /// Whether it keeps what it claims.
    pub fn is_private(self) -> bool {
        self == Self::Private
    }
}

/// A generator, attacked and audited.
#[derive(Clone, Debug)]
pub struct Audited {
    /// Which.
    pub generator: Generator,
    /// What the coins say.
    pub judged: Judged,
    /// How close rows are to members and to strangers.
    pub membership: Scores,
    /// Guesses of a column of members, and of strangers.
    pub inferred: [Inferred; 2],
}

impl Audited {
    /// What is right about a right auditor: the claim is refuted exactly where it is not kept.
    pub fn is_right(&self) -> bool {
        self.judged.refuted() != self.generator.is_private()
    }
}

/// Why nothing was studied.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The audit refused its parameters.
    #[error(transparent)]
    Audit(#[from] audit::document::Mistake),
    /// The planner refused its parameters.
    #[error(transparent)]
    Synthesis(#[from] synthesis::Error),
    /// The mechanism refused.
    #[error(transparent)]
    Mechanism(#[from] mechanism::Error),
    /// A domain that does not exist.
    #[error(transparent)]
    Tables(#[from] tables::Error),
}

fn person() -> PrivacyUnit {
    PrivacyUnit::new("person", Neighbors::AddRemove)
}

/// People and coins, the same for all generators.
struct People {
    domain: Domain,
    secrets: Secrets,
    coins: Vec<bool>,
    /// Columns of all canaries.
    canaries: Vec<Vec<u32>>,
    /// Columns of the data.
    data: Vec<Vec<u32>>,
}

impl People {
    fn new(study: &Study, entropy: &mut impl Entropy) -> Result<Self, Error> {
        // Coins are tossed as for texts; the lines are not used.
        let planted = plant("a line\n", study.canaries, "rows", &mut |count| {
            entropy.bits(count)
        })?;
        let coins = planted.secrets.coins();
        let mut random = Seeded::new(study.seed);
        let own = study.canaries as u32;
        let mut person = |mark: u32| {
            let mut codes = vec![mark];
            codes.extend((0..COLUMNS).map(|_| random.below(u64::from(VALUES)) as u32));
            // The last column mostly follows from two others.
            if random.chance(0.6) {
                codes[COLUMNS] = (codes[1] + codes[2]) % VALUES;
            }
            codes
        };
        let canaries: Vec<Vec<u32>> = (0..own).map(&mut person).collect();
        let mut data: Vec<Vec<u32>> = (0..OTHERS * study.canaries).map(|_| person(own)).collect();
        let inside = canaries.iter().zip(&coins).filter(|(_, inside)| **inside);
        data.extend(inside.map(|(canary, _)| canary.clone()));
        let mut attributes = vec![Attribute::new("mark", own + 1)?];
        for place in 1..=COLUMNS {
            attributes.push(Attribute::new(format!("c{place}"), VALUES)?);
        }
        Ok(Self {
            domain: Domain::new(attributes)?,
            secrets: planted.secrets,
            coins,
            canaries: columns(&canaries),
            data: columns(&data),
        })
    }

    /// Canaries whose coins fell this way.
    fn canaries(&self, inside: bool) -> Vec<Vec<u32>> {
        let chosen = |column: &Vec<u32>| {
            let codes = column.iter().zip(&self.coins);
            codes
                .filter(|(_, coin)| **coin == inside)
                .map(|(code, _)| *code)
                .collect()
        };
        self.canaries.iter().map(chosen).collect()
    }
}

/// Rows as columns.
fn columns(rows: &[Vec<u32>]) -> Vec<Vec<u32>> {
    (0..=COLUMNS)
        .map(|place| rows.iter().map(|row| row[place]).collect())
        .collect()
}

impl Study {
    /// Attacks and audits generators, one after another, on the same people; ends early where `go_on` says so.
    ///
    /// # Errors
    /// When the number of canaries, the price or the confidence cannot be used.
    pub fn run(
        &self,
        generators: &[Generator],
        entropy: &mut impl Entropy,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<Vec<Audited>, Error> {
        let people = People::new(self, entropy)?;
        let tries = Tries::new(self.canaries, None)?;
        let mut audited = Vec::new();
        for generator in generators {
            if !go_on() {
                break;
            }
            let (many, rows) = self.made(*generator, &people, entropy)?;
            // How many rows have the value of each canary: of two with as many, their places decide, which were there before the coins.
            let mut counts = vec![0.0; self.canaries + 1];
            many[0].iter().for_each(|mark| counts[*mark as usize] += 1.0);
            counts.truncate(self.canaries);
            let claim = Claim {
                epsilon: Some(Number(self.epsilon.as_rational().clone())),
                delta: Some(Number(self.delta.as_rational().clone())),
            };
            let judged = Judged::new(&people.secrets, &counts, &tries, claim, self.confidence)?;
            let [members, strangers] = [true, false].map(|inside| people.canaries(inside));
            audited.push(Audited {
                generator: *generator,
                judged,
                membership: membership(&rows, &members, &strangers),
                inferred: [&members, &strangers].map(|people| Inferred::of(&rows, people, COLUMNS)),
            });
        }
        Ok(audited)
    }

    /// Many rows, and as many as the data has.
    fn made(
        &self,
        generator: Generator,
        people: &People,
        entropy: &mut impl Entropy,
    ) -> Result<(Rows, Rows), Error> {
        let rho = match generator {
            Generator::Copies => return Ok((people.data.clone(), people.data.clone())),
            Generator::Private => rho_for(&self.epsilon, &self.delta)?,
            // The mutant: noise is so small that counts are exact but once in millions, and what it claims pays for far more of it.
            Generator::ExactMarginals => Rho::parse("1000").map_err(synthesis::Error::from)?,
        };
        let settings = Settings {
            method: self.method,
            cells: MODEL_CELLS.max(4 * self.canaries as u64),
            ..Settings::default()
        };
        let plan = Plan::new(people.domain.clone(), settings, rho.clone(), 1, &person())?;
        let budget = Budget::new(Promise::Concentrated(rho), person());
        let mut key = [0u8; 32];
        key.iter_mut().for_each(|byte| *byte = entropy.bits(8) as u8);
        let mut account = Account::with_entropy(MemoryLedger::new(budget), noise::Keyed::new(key, 0));
        let cells = Sensitive::new(Cells::of_rows(people.data.clone()));
        let input = Aggregate::of_rows(cells, 1, person())?;
        let rounds = account
            .release_by(plan.mechanism(), input, "synthetic rows")?
            .into_value();
        let release = Release::new(&plan, rounds)?;
        let (model, count) = (release.model()?, people.data[0].len());
        Ok((
            model.rows(DRAWN * count, release.seed()),
            model.rows(count, release.seed()),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study(method: Method) -> Study {
        Study {
            method,
            epsilon: Epsilon::parse("1").unwrap(),
            // Well below the false-alarm rate: else what δ allows hides what exact marginals tell.
            delta: Delta::parse("1e-13").unwrap(),
            canaries: 300,
            // A test of three generators by three methods: false alarms of 1e-9 each.
            confidence: 1.0 - 1e-9,
            seed: 5,
        }
    }

    /// The generator that keeps its claim is refuted with a probability of 1e-9; exact marginals and copies are caught.
    #[test]
    fn audit_generators() {
        let mut entropy = noise::OsEntropy::new().unwrap();
        for method in [Method::Independent, Method::Mst, Method::Aim] {
            let found = study(method).run(&GENERATORS, &mut entropy, || true).unwrap();
            for one in &found {
                eprintln!(
                    "{method:?} {}: ε ≥ {:.2}, area {:.3}, inferred {:.2} and {:.2}",
                    one.generator.name(),
                    one.judged.found.epsilon,
                    one.membership.area(),
                    one.inferred[0].share(),
                    one.inferred[1].share()
                );
                assert!(one.is_right(), "{method:?} {:?}", one.generator);
            }
            let text = findings(&study(method), &found, false).text;
            assert!(text.contains("refuted") && text.contains("consistent"), "{text}");
            // Closeness finds copies, and not what exact marginals tell.
            assert!(found[2].membership.area() > 0.95);
        }
    }

    #[test]
    fn what_cannot_be_studied_is_refused() {
        let mut entropy = Seeded::new(1);
        let few = Study {
            canaries: 3,
            ..study(Method::Aim)
        };
        assert!(few.run(&GENERATORS, &mut entropy, || true).is_err());
        let none = study(Method::Aim).run(&GENERATORS, &mut entropy, || false);
        assert!(none.unwrap().is_empty());
    }
}
