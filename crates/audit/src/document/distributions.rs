//! From a mechanism in words to the two distributions that the verifier compares.
//!
//! Each parameter must be in a range in which the verifier answers in seconds, and [`ranges`] states it. A
//! value outside is a matter of units, or noise that hides nothing.

use super::claim::{LARGEST_EPSILON, SMALLEST_DELTA};
use super::file::{LARGEST_EXPONENT, MOST_OUTCOMES, MOST_PIECES};
use super::{MechanismKind, Mistake, Pair, Parameters, fail};
use crate::Error;
use crate::exact_audit::{Distribution, Finite, Gaussian, Lattice, Piecewise};
use exact::{Rational, ratio};
use std::collections::BTreeMap;

/// Sizes beyond this are a matter of units, and would make numbers that no computer can hold.
const LARGEST: u32 = 1_000_000_000;
/// A true value this many noise scales away from its neighbour's is not hidden at all.
const MOST_SCALES: u32 = 1000;
/// For normal noise, whose tails are thinner and dearer to compute.
const MOST_DEVIATIONS: u32 = 20;
/// The answers of randomized response are summed one by one.
const MOST_ANSWERS: u32 = 1024;
/// The largest ε of randomized response, as in the mechanism itself: with more, a lie is never reported.
const LARGEST_RESPONSE: u32 = 64;

/// What is answered, for people to read. The limits that are numerals here are the verifier's own, and stand
/// in its errors.
pub fn ranges() -> String {
    format!(
        "\
Ranges. What lies outside is refused, so that an answer takes seconds at most:
  ε           at most {LARGEST_EPSILON}; a smallest ε above 4096 is not looked for
  δ           0, or at least {SMALLEST_DELTA} and below 1
  sizes       at most {LARGEST}; a scale, sigma or spacing at least 1/{LARGEST}
  shift       at most {MOST_SCALES} scales of the noise, or {MOST_DEVIATIONS} standard deviations
  answers     2 to {MOST_ANSWERS}; with --epsilon, an ε up to {LARGEST_RESPONSE}
  files       up to {MOST_OUTCOMES} probabilities with a common denominator below 2^8192, or up
              to {MOST_PIECES} pieces with exponents up to {LARGEST_EXPONENT} at their ends"
    )
}

impl Parameters {
    /// The two distributions, or what is missing, superfluous or out of range.
    pub fn pair(&self) -> Result<Pair, Mistake> {
        let Some(kind) = self.kind else {
            return fail(
                "no mechanism is described",
                "say --mechanism laplace --scale 2, or --file mechanism.toml; --help shows both",
            );
        };
        let mut given = Given::new(kind, self);
        let pair = match kind {
            MechanismKind::Uniform => given.uniform(),
            MechanismKind::Laplace | MechanismKind::ExponentialNoise => given.continuous(),
            MechanismKind::Gaussian => given.gaussian(),
            MechanismKind::DiscreteLaplace => given.discrete_laplace(),
            MechanismKind::DiscreteGaussian => given.discrete_gaussian(),
            MechanismKind::RandomizedResponse => given.randomized_response(),
        }?;
        given.finish()?;
        Ok(pair)
    }
}

/// The parameters that were given and have not been used yet.
struct Given {
    kind: MechanismKind,
    left: BTreeMap<&'static str, Rational>,
}

impl Given {
    fn new(kind: MechanismKind, parameters: &Parameters) -> Self {
        let left = parameters
            .named()
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?.0.clone())))
            .collect();
        Self { kind, left }
    }

    fn name(&self) -> &'static str {
        self.kind.name()
    }

    fn required(&mut self, name: &'static str) -> Result<Rational, Mistake> {
        match self.left.remove(name) {
            Some(value) => bounded(name, value),
            None => fail(
                format!("{} needs {name}", self.name()),
                format!("add --{name} on the command line, or {name} = \"…\" in the file"),
            ),
        }
    }

    fn positive(&mut self, name: &'static str) -> Result<Rational, Mistake> {
        let value = self.required(name)?;
        if value < ratio(1, u64::from(LARGEST)) {
            return fail(
                format!("{name} must be positive, and at least 1e-9"),
                "noise of no width hides nothing; for a tiny width, choose another unit",
            );
        }
        Ok(value)
    }

    fn or(&mut self, name: &'static str, default: Rational) -> Result<Rational, Mistake> {
        self.left
            .remove(name)
            .map_or(Ok(default), |value| bounded(name, value))
    }

    /// Nothing may be left over: a parameter that does nothing is a misunderstanding.
    fn finish(self) -> Result<(), Mistake> {
        match self.left.keys().next() {
            None => Ok(()),
            Some(name) => fail(
                format!("{} has no {name}", self.name()),
                "leave it out, or choose the mechanism that has it; --help lists them",
            ),
        }
    }

    /// The distance between neighbours, at most this many widths of the noise.
    fn shift(&mut self, width: &Rational, most: u32) -> Result<Rational, Mistake> {
        let shift = self.or("shift", Rational::ONE)?;
        if magnitude(&shift) > width * Rational::from(most) {
            return fail(
                format!("the neighbours are more than {most} widths of the noise apart"),
                "such noise hides nothing: check the units of shift, scale, sigma and spacing",
            );
        }
        Ok(shift)
    }

    fn uniform(&mut self) -> Result<Pair, Mistake> {
        let (lower, upper) = (self.required("lower")?, self.required("upper")?);
        let shift = self.or("shift", Rational::ONE)?;
        let distribution =
            |by: &Rational| Piecewise::uniform(&(&lower + by), &(&upper + by)).map(Distribution::from);
        pair(
            distribution(&Rational::ZERO),
            distribution(&shift),
            format!("uniform noise on [{}, {}]", shown(&lower), shown(&upper)),
            &shift,
        )
    }

    fn continuous(&mut self) -> Result<Pair, Mistake> {
        let scale = self.positive("scale")?;
        let shift = self.shift(&scale, MOST_SCALES)?;
        let (distribution, word): (fn(&Rational, &Rational) -> _, _) = if self.kind == MechanismKind::Laplace
        {
            (Piecewise::laplace, "Laplace")
        } else {
            (Piecewise::exponential, "one-sided exponential")
        };
        let distribution = |by: &Rational| distribution(by, &scale).map(Distribution::from);
        let words = format!("{word} noise of scale {}", shown(&scale));
        pair(distribution(&Rational::ZERO), distribution(&shift), words, &shift)
    }

    fn gaussian(&mut self) -> Result<Pair, Mistake> {
        let sigma = self.positive("sigma")?;
        let shift = self.shift(&sigma, MOST_DEVIATIONS)?;
        let distribution = |by: &Rational| Gaussian::new(by, &(&sigma * &sigma)).map(Distribution::from);
        let words = format!("Gaussian noise of standard deviation {}", shown(&sigma));
        pair(distribution(&Rational::ZERO), distribution(&shift), words, &shift)
    }

    fn discrete_laplace(&mut self) -> Result<Pair, Mistake> {
        let scale = self.positive("scale")?;
        let words = format!("geometric noise of scale {}", shown(&scale));
        let noise = Lattice::discrete_laplace(&scale);
        self.on_grid(noise, &scale, MOST_SCALES, words)
    }

    fn discrete_gaussian(&mut self) -> Result<Pair, Mistake> {
        let sigma = self.positive("sigma")?;
        let words = format!("integer Gaussian noise of σ = {}", shown(&sigma));
        let noise = Lattice::discrete_gaussian(&(&sigma * &sigma));
        self.on_grid(noise, &sigma, MOST_DEVIATIONS, words)
    }

    fn on_grid(
        &mut self,
        noise: Result<Lattice, Error>,
        width: &Rational,
        most: u32,
        words: String,
    ) -> Result<Pair, Mistake> {
        let spacing = match self.left.contains_key("spacing") {
            true => self.positive("spacing")?,
            false => Rational::ONE,
        };
        let offset = self.or("offset", Rational::ZERO)?;
        let shift = self.shift(&(width * &spacing), most)?;
        let grid = noise.and_then(|noise| noise.on_grid(&offset, &spacing))?;
        pair(
            Ok(grid.clone().into()),
            Ok(grid.shifted(&shift).into()),
            format!("{words} on a grid of step {}", shown(&spacing)),
            &shift,
        )
    }

    fn randomized_response(&mut self) -> Result<Pair, Mistake> {
        let answers = self.or("answers", Rational::from(2u8))?;
        let count = u32::try_from(answers.floor()).unwrap_or(0);
        if !answers.is_int() || !(2..=MOST_ANSWERS).contains(&count) {
            return fail(
                format!("answers must be an integer between 2 and {MOST_ANSWERS}"),
                "with one answer there is nothing to hide",
            );
        }
        let ([first, second], words) = match self.left.remove("gamma") {
            Some(gamma) => (
                response_by_gamma(&gamma, count)?,
                format!("γ = {}", shown(&gamma)),
            ),
            None => {
                let epsilon = self.required("epsilon")?;
                if epsilon < Rational::ZERO || epsilon > Rational::from(LARGEST_RESPONSE) {
                    return fail(
                        format!(
                            "the epsilon of randomized response must lie between 0 and {LARGEST_RESPONSE}"
                        ),
                        "1 is a usual choice",
                    );
                }
                (
                    response_by_epsilon(&epsilon, count),
                    format!("ε = {}", shown(&epsilon)),
                )
            }
        };
        Ok(Pair {
            first: first?.into(),
            second: second?.into(),
            words: format!(
                "randomized response with {words} among {count} answers; neighbours give two of them"
            ),
        })
    }
}

/// The distributions of the report when the true answer is the first, and when it is the second.
type Responses = [Result<Finite, Error>; 2];

/// Between two answers, the true one with probability ½ + γ.
fn response_by_gamma(gamma: &Rational, count: u32) -> Result<Responses, Mistake> {
    let half = ratio(1, 2);
    if *gamma < Rational::ZERO || *gamma > half {
        return fail("gamma must lie between 0 and 1/2", "1/4 gives ε = ln 3");
    }
    if count != 2 {
        return fail(
            "gamma describes randomized response between two answers only",
            "leave out --answers, or give --epsilon instead of --gamma",
        );
    }
    let (truth, lie) = (&half + gamma, &half - gamma);
    Ok([
        Finite::from_rationals(vec![truth.clone(), lie.clone()]),
        Finite::from_rationals(vec![lie, truth]),
    ])
}

/// Among k answers, the true one e^ε times as likely as each other.
fn response_by_epsilon(epsilon: &Rational, count: u32) -> Responses {
    [0, 1].map(|truth| {
        let mut exponents = vec![Rational::ZERO; count as usize];
        exponents[truth] = epsilon.clone();
        Finite::from_exponents(&exponents)
    })
}

fn pair(
    first: Result<Distribution, Error>,
    second: Result<Distribution, Error>,
    words: String,
    shift: &Rational,
) -> Result<Pair, Mistake> {
    Ok(Pair {
        first: first?,
        second: second?,
        words: format!("{words}; neighbours {} apart", shown(&magnitude(shift))),
    })
}

fn bounded(name: &str, value: Rational) -> Result<Rational, Mistake> {
    if magnitude(&value) > Rational::from(LARGEST) {
        return fail(
            format!("{name} is larger than {LARGEST}"),
            "choose another unit: only ratios matter",
        );
    }
    Ok(value)
}

pub(super) fn magnitude(value: &Rational) -> Rational {
    if *value < Rational::ZERO {
        -value.clone()
    } else {
        value.clone()
    }
}

fn shown(value: &Rational) -> String {
    exact::format_decimal(value)
}
