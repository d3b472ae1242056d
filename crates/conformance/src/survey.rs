//! Randomized answers: the report of one person, which does not depend on the others.

use crate::subject::{Plan, Subject};
use crate::{Error, explained};
use accounting::{Epsilon, Neighbors};
use audit::black_box::Feature;
use audit::exact_audit::Finite;
use audit::report::Claim;
use exact::Rational;
use mechanism::{BitReports, HashedReport, LocalHashing, RandomizedResponse, UnaryEncoding};

/// How many answers there are to choose from.
const ANSWERS: u32 = 3;

fn epsilon(stretch: &Rational) -> Result<Epsilon, Error> {
    Epsilon::exactly_or_up(stretch).map_err(explained)
}

/// Every two answers.
fn all_pairs() -> Vec<[u32; 2]> {
    vec![[0, 1], [0, 2], [1, 2]]
}

/// Any draw tells the same, so that few are needed for the fit.
const PLAN: Plan = Plan {
    exact_lack: 5,
    drawn_lack: [20, 10],
    draws: [40_000, 500_000],
    fitted: [20_000, 300_000],
};

/// k-ary randomized response.
#[derive(Clone)]
pub(crate) struct Response;

impl Subject for Response {
    const NAME: &'static str = "RandomizedResponse";
    const NEIGHBORS: Neighbors = Neighbors::ChangeOne;
    type Data = u32;
    type Input = Vec<u32>;
    type Output = Vec<u32>;
    type Mechanism = RandomizedResponse;

    fn claim(&self) -> Result<Claim, Error> {
        Ok(Claim::pure(Rational::ONE))
    }

    fn build(&self, stretch: &Rational) -> Result<RandomizedResponse, Error> {
        RandomizedResponse::new(epsilon(stretch)?, ANSWERS).map_err(explained)
    }

    fn input(&self, data: &u32) -> Vec<u32> {
        vec![*data]
    }

    fn pairs(&self) -> Vec<[u32; 2]> {
        all_pairs()
    }

    fn drawn(&self) -> [u32; 2] {
        [0, 2]
    }

    fn features(&self) -> Vec<Feature<Vec<u32>>> {
        vec![Feature::values("report", |reports: &Vec<u32>| {
            report(reports) as i64
        })]
    }

    fn cells(&self, mechanism: &RandomizedResponse, data: &u32) -> Result<Finite, Error> {
        let frequencies = mechanism.frequencies();
        let mass = |report| match report == *data {
            true => frequencies.true_support().clone(),
            false => frequencies.false_support().clone(),
        };
        Finite::from_rationals((0..ANSWERS).map(mass).collect()).map_err(explained)
    }

    fn cell(&self, _: &RandomizedResponse, output: &Vec<u32>) -> usize {
        report(output)
    }

    fn plan(&self) -> Plan {
        PLAN
    }
}

/// The one report there is; none at all is no cell.
fn report(reports: &[u32]) -> usize {
    reports.first().map_or(usize::MAX, |report| *report as usize)
}

/// One randomized bit for each answer.
#[derive(Clone)]
pub(crate) struct Unary;

impl Subject for Unary {
    const NAME: &'static str = "UnaryEncoding";
    const NEIGHBORS: Neighbors = Neighbors::ChangeOne;
    type Data = u32;
    type Input = Vec<u32>;
    type Output = BitReports;
    type Mechanism = UnaryEncoding;

    fn claim(&self) -> Result<Claim, Error> {
        Ok(Claim::pure(Rational::ONE))
    }

    fn build(&self, stretch: &Rational) -> Result<UnaryEncoding, Error> {
        UnaryEncoding::optimized(epsilon(stretch)?, ANSWERS).map_err(explained)
    }

    fn input(&self, data: &u32) -> Vec<u32> {
        vec![*data]
    }

    fn pairs(&self) -> Vec<[u32; 2]> {
        all_pairs()
    }

    fn drawn(&self) -> [u32; 2] {
        [0, 2]
    }

    fn features(&self) -> Vec<Feature<BitReports>> {
        vec![Feature::values("bits", |reports: &BitReports| {
            bits(reports) as i64
        })]
    }

    /// Bit by bit: the bit of the answer is set with one probability, each other bit with another.
    fn cells(&self, mechanism: &UnaryEncoding, data: &u32) -> Result<Finite, Error> {
        let frequencies = mechanism.frequencies();
        let bit = |place: u32, report: u32| {
            let set = match place == *data {
                true => frequencies.true_support(),
                false => frequencies.false_support(),
            };
            match report >> place & 1 == 1 {
                true => set.clone(),
                false => Rational::ONE - set,
            }
        };
        let mass = |report| (0..ANSWERS).fold(Rational::ONE, |product, place| product * bit(place, report));
        Finite::from_rationals((0..1 << ANSWERS).map(mass).collect()).map_err(explained)
    }

    fn cell(&self, _: &UnaryEncoding, output: &BitReports) -> usize {
        bits(output)
    }

    fn plan(&self) -> Plan {
        PLAN
    }
}

/// The bits of the one report as a number.
fn bits(reports: &BitReports) -> usize {
    let Some(report) = reports.iter().next() else {
        return usize::MAX;
    };
    report
        .enumerate()
        .map(|(place, bit)| usize::from(bit) << place)
        .sum()
}

/// A hash function and a randomized bucket.
#[derive(Clone)]
pub(crate) struct Hashing;

impl Hashing {
    /// h(x) = Σ aᵢ over the set bits i of x modulo g, where the aᵢ are the digits of the seed in base g.
    fn hash(buckets: u32, mut seed: u128, answer: u32) -> u32 {
        let mut sum = 0;
        for place in 0..u32::BITS {
            let digit = (seed % u128::from(buckets)) as u32;
            seed /= u128::from(buckets);
            sum += digit * (answer >> place & 1);
        }
        sum % buckets
    }

    fn place(buckets: u32, report: &HashedReport) -> usize {
        report.seed as usize * buckets as usize + report.bucket as usize
    }
}

impl Subject for Hashing {
    const NAME: &'static str = "LocalHashing";
    const NEIGHBORS: Neighbors = Neighbors::ChangeOne;
    type Data = u32;
    type Input = Vec<u32>;
    type Output = Vec<HashedReport>;
    type Mechanism = LocalHashing;

    fn claim(&self) -> Result<Claim, Error> {
        Ok(Claim::pure(Rational::ONE))
    }

    fn build(&self, stretch: &Rational) -> Result<LocalHashing, Error> {
        LocalHashing::new(epsilon(stretch)?, ANSWERS).map_err(explained)
    }

    fn input(&self, data: &u32) -> Vec<u32> {
        vec![*data]
    }

    fn pairs(&self) -> Vec<[u32; 2]> {
        all_pairs()
    }

    fn drawn(&self) -> [u32; 2] {
        [1, 2]
    }

    fn features(&self) -> Vec<Feature<Vec<HashedReport>>> {
        // Any number that tells seeds and buckets apart will do.
        vec![Feature::values(
            "seed and bucket",
            |reports: &Vec<HashedReport>| {
                reports
                    .first()
                    .map_or(-1, |report| Self::place(1 << 8, report) as i64)
            },
        )]
    }

    fn cells(&self, mechanism: &LocalHashing, data: &u32) -> Result<Finite, Error> {
        let buckets = mechanism.buckets();
        let truth = mechanism.frequencies().true_support();
        let other = (Rational::ONE - truth) / Rational::from(buckets - 1);
        let seeds = Rational::from(mechanism.seeds());
        let outcomes = (0..mechanism.seeds()).flat_map(|seed| (0..buckets).map(move |bucket| (seed, bucket)));
        let mass = |(seed, bucket)| match Self::hash(buckets, seed, *data) == bucket {
            true => truth / &seeds,
            false => &other / &seeds,
        };
        Finite::from_rationals(outcomes.map(mass).collect()).map_err(explained)
    }

    fn cell(&self, mechanism: &LocalHashing, output: &Vec<HashedReport>) -> usize {
        output
            .first()
            .map_or(usize::MAX, |report| Self::place(mechanism.buckets(), report))
    }

    fn plan(&self) -> Plan {
        PLAN
    }
}
