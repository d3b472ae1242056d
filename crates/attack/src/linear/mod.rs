//! Rebuilds a column of bits from noisy answers to subset queries (Dinur and Nissim 2003).
//!
//! Everybody has one secret bit. A query names a set of people and gets the number of them whose bit is set,
//! with noise. Each answer alone says little. But a few times as many answers as people are linear equations
//! with errors. Solved, and rounded at one half, they give nearly everybody's bit as long as the noise stays
//! below the order of √n, whatever else is done to the answers. Differential privacy makes the noise large
//! enough, or the answers few enough.
//!
//! ```text
//! Queries ──► Oracle (a model, or Deniable itself) ──► answers ──► Method: least squares │ linear program ──► bits
//! ```
//!
//! With m answers that are off by σ each, least squares is off by about 2σ/√(m − n) for each person, so about
//! Φ(√(m − n)/4σ) of the bits come out right ([`expected_of_least_squares`]): all of them for σ ≪ √n, half of
//! them, which is nothing, for σ ≫ √n.
//! ```
//! use accounting::Epsilon;
//! use attack::Seeded;
//! use attack::linear::{Method, Model, Noise, Queries, estimate, interrogate, right, rounded, secrets};
//!
//! let (people, answers) = (64, 640);
//! let mut seeded = Seeded::new(1);
//! let secrets = secrets(people, &mut seeded);
//! let queries = Queries::random(people, answers, &mut seeded)?;
//! let mut recovered = |noise| -> Result<u64, Box<dyn std::error::Error>> {
//!     let mut oracle = Model::new(&secrets, noise, Seeded::new(2));
//!     let answers = interrogate(&mut oracle, &queries, || ())?;
//!     let guesses = rounded(&estimate(&queries, &answers, Method::LeastSquares)?);
//!     Ok(right(&guesses, &secrets))
//! };
//! // Each answer is off by up to two people, and everybody's bit is known.
//! assert_eq!(recovered(Noise::uniform(0.25, people))?, 64);
//! // The same answers under a budget of ε = 1 for all of them: about as good as guessing.
//! assert!(recovered(Noise::laplace_for(&Epsilon::parse("1")?, answers as u64)?)? < 48);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cholesky;
mod least_squares;
mod matrix;
mod model;
mod program;
mod queries;
mod threads;

pub use model::{Model, Noise};
pub use program::Fit;
pub use queries::{Queries, Subset};

use crate::{Error, Seeded};
use exact::Interval;

/// Who answers subset queries.
pub trait Oracle {
    /// Why it could not answer, other than by refusing.
    type Error;

    /// About how many of these people have their bit set; nothing if the answer is refused.
    ///
    /// # Errors
    /// When something went wrong.
    fn answer(&mut self, subset: Subset<'_>) -> Result<Option<f64>, Self::Error>;
}

/// Asks the queries in order until they are all answered or one is refused, and gives the answers so far.
/// `after_each` sees how it goes on.
///
/// # Errors
/// Those of the oracle.
pub fn interrogate<O: Oracle>(
    oracle: &mut O,
    queries: &Queries,
    mut after_each: impl FnMut(),
) -> Result<Vec<f64>, O::Error> {
    let mut answers = Vec::new();
    for index in 0..queries.count() {
        match oracle.answer(queries.subset(index))? {
            Some(answer) => answers.push(answer),
            None => break,
        }
        after_each();
    }
    Ok(answers)
}

/// How bits are computed from answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// The point closest to all answers in the sum of squares.
    LeastSquares,
    /// A point with coordinates from 0 to 1 that fits the answers, by an interior-point method.
    LinearProgram(Fit),
}

/// What each person's bit seems to be, as a number around 0 or 1. `answers` may be fewer than the queries:
/// they are those to the first ones.
///
/// # Errors
/// When there are more answers than queries, one is no number, or nothing fits them.
pub fn estimate(queries: &Queries, answers: &[f64], method: Method) -> Result<Vec<f64>, Error> {
    if answers.len() > queries.count() {
        return Err(Error::bad_setting(
            format!("{} answers to {} queries", answers.len(), queries.count()),
            "give the answers in the order of the queries, one each",
        ));
    }
    if answers.iter().any(|answer| !answer.is_finite()) {
        return Err(Error::bad_setting(
            "an answer is no finite number",
            "leave out the queries that have no answer",
        ));
    }
    if answers.is_empty() {
        // Nothing is known of anybody.
        return Ok(vec![0.5; queries.people()]);
    }
    let asked = queries.first(answers.len());
    match method {
        Method::LeastSquares => Ok(least_squares::solve(&asked, answers)),
        Method::LinearProgram(fit) => program::solve(&asked, answers, fit),
    }
}

/// Estimates rounded to bits. An estimate exactly between becomes 1 or 0 by its place, so that knowing
/// nothing is right half of the time.
pub fn rounded(estimates: &[f64]) -> Vec<bool> {
    estimates
        .iter()
        .enumerate()
        .map(|(place, estimate)| *estimate > 0.5 || (*estimate == 0.5 && place % 2 == 1))
        .collect()
}

/// How many of the bits are right.
pub fn right(guesses: &[bool], secrets: &[bool]) -> u64 {
    guesses
        .iter()
        .zip(secrets)
        .filter(|(guess, secret)| guess == secret)
        .count() as u64
}

/// Random bits for this many people.
pub fn secrets(people: usize, seeded: &mut Seeded) -> Vec<bool> {
    (0..people).map(|_| seeded.below(2) == 1).collect()
}

/// Which part of the bits least squares gets right, about, when `queries` answers are off by this standard
/// deviation.
///
/// Subsets are random, so a column of the equations is ½ ± ½: its random part has length √m/2, of which the
/// other n − 1 people explain a part n/m. The estimate of one bit is therefore off by σ/(½·√(m − n)), and the
/// guess is right when that is below one half.
pub fn expected_of_least_squares(people: usize, queries: usize, deviation: f64) -> f64 {
    const BITS: u32 = 64;
    let spare = queries.saturating_sub(people) as f64;
    // Beyond nine deviations nothing shows in a fraction.
    let argument = (spare.sqrt() / (4.0 * deviation)).min(9.0);
    match exact::from_f64(argument) {
        Some(argument) if deviation > 0.0 => Interval::from_rational(&argument, BITS)
            .normal_cdf()
            .to_f64_nearest(),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests;
