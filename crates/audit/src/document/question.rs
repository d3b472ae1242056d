//! Does a claim about two output distributions hold, and which one would? The question as people ask it, and
//! the answer for them and for programs.

use super::{Claim, Mistake, Number, Pair, check_delta, check_epsilon, fail};
use crate::exact_audit::{Answer, satisfies, smallest_delta, smallest_epsilon};
use exact::{Interval, Rational, decimal_at_least, decimal_at_most, format_decimal};
use serde_json::{Value, json};

/// What to ask of the verifier.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Ask for the smallest δ at this ε.
    pub epsilon: Option<Number>,
    /// Ask for the smallest ε at this δ.
    pub delta: Option<Number>,
    /// Is this true?
    pub claim: Claim,
}

/// What the verifier found.
#[derive(Debug)]
pub struct Verified {
    /// The two distributions.
    pub pair: Pair,
    /// The smallest ε at a δ.
    pub epsilon: Option<(Number, Answer)>,
    /// The smallest δ at an ε.
    pub delta: Option<(Number, Interval)>,
    /// The claim and whether it holds.
    pub verdict: Option<(Claim, bool)>,
}

/// Asks the verifier. A claim asks both questions at its own ε and δ, unless others are asked.
/// A claimed ε without a δ of its own is judged at the δ that is asked for.
///
/// ```
/// use audit::document::{Format, Question, answer, parse};
///
/// let pair = parse("[mechanism]\nkind = \"laplace\"\nscale = 2\n", Format::Toml)?;
/// let verified = answer(pair, Question::default())?;
/// assert_eq!(verified.to_text().lines().nth(1), Some("  smallest ε at δ = 0: 0.5"));
/// # Ok::<(), audit::document::Mistake>(())
/// ```
///
/// # Errors
/// When a number is out of range, a claim is half, or too close to the truth to be decided.
pub fn answer(pair: Pair, mut question: Question) -> Result<Verified, Mistake> {
    check_epsilon("--epsilon", question.epsilon.as_ref())?;
    check_delta("--delta", question.delta.as_ref())?;
    question.claim.check_as("--claim-epsilon", "--claim-delta")?;
    if question.claim.delta.is_some() && question.claim.epsilon.is_none() {
        return fail(
            "--claim-delta without --claim-epsilon is half a claim",
            "add --claim-epsilon, or ask with --delta for the smallest ε",
        );
    }
    if question.claim.epsilon.is_some() && question.claim.delta.is_none() {
        question.claim.delta = question.delta.clone();
    }
    let (p, q) = (&pair.first, &pair.second);
    let at_epsilon = question
        .epsilon
        .clone()
        .or_else(|| question.claim.epsilon.clone());
    let at_delta = match (&question.delta, &question.claim.epsilon, &question.epsilon) {
        (Some(delta), _, _) => Some(delta.clone()),
        (None, Some(_), _) => Some(question.claim.delta_or_zero()),
        (None, None, None) => Some(Number::ZERO),
        (None, None, Some(_)) => None,
    };
    let epsilon = match at_delta {
        Some(delta) => {
            let least = smallest_epsilon(p, q, &delta.0)?;
            Some((delta, least))
        }
        None => None,
    };
    let delta = match at_epsilon {
        Some(epsilon) => {
            let least = least_delta(&pair, &epsilon.0)?;
            Some((epsilon, least))
        }
        None => None,
    };
    let verdict = match &question.claim.epsilon {
        Some(claimed) => Some((question.claim.clone(), holds(&pair, claimed, &question.claim)?)),
        None => None,
    };
    Ok(Verified {
        pair,
        epsilon,
        delta,
        verdict,
    })
}

/// The smallest δ at ε. An enclosure that reaches down to zero is zero if the largest privacy loss proves it.
fn least_delta(pair: &Pair, epsilon: &Rational) -> Result<Interval, Mistake> {
    let (p, q) = (&pair.first, &pair.second);
    let least = smallest_delta(p, q, epsilon)?;
    let nothing = least.lower().is_zero() && satisfies(p, q, epsilon, &Rational::ZERO) == Ok(true);
    Ok(if nothing {
        Interval::from_integer(0, least.bits())
    } else {
        least
    })
}

/// Whether the claim holds. One too close to the truth to be decided gets the nearest claim that can be.
fn holds(pair: &Pair, epsilon: &Number, claim: &Claim) -> Result<bool, Mistake> {
    let delta = claim.delta_or_zero();
    let (p, q) = (&pair.first, &pair.second);
    satisfies(p, q, &epsilon.0, &delta.0).map_err(|error| {
        let undecided = matches!(error, crate::Error::Undecided { .. });
        match smallest_epsilon(p, q, &delta.0) {
            Ok(Answer::Finite(least)) if undecided => Mistake::new(
                format!(
                    "the claim {} is too close to the truth to be decided: the smallest ε is {}",
                    claim.words(),
                    interval_words(&least)
                ),
                format!(
                    "claim ε = {}, which can be proved",
                    format_decimal(&decimal_at_least(&least.upper(), DIGITS))
                ),
            ),
            _ => error.into(),
        }
    })
}

/// Significant digits that people read; rounded outward, so the words stay true.
const DIGITS: u32 = 12;

/// The number when it is known exactly, otherwise what it lies between.
pub(super) fn interval_words(interval: &Interval) -> String {
    let low = decimal_at_most(&interval.lower(), DIGITS);
    let high = decimal_at_least(&interval.upper(), DIGITS);
    if low == high {
        format_decimal(&low)
    } else if low.is_zero() {
        format!("at most {}", format_decimal(&decimal_at_least(&high, 3)))
    } else {
        format!("between {} and {}", format_decimal(&low), format_decimal(&high))
    }
}

fn interval_json(interval: &Interval) -> Value {
    json!({ "lower": interval.to_f64_down(), "upper": interval.to_f64_up() })
}

fn answer_words(answer: &Answer) -> String {
    match answer {
        Answer::Finite(least) => interval_words(least),
        Answer::NoFinite { smallest_delta } if smallest_delta.upper().is_zero() => {
            "no finite ε; δ falls towards 0 as ε grows and never reaches it".to_string()
        }
        Answer::NoFinite { smallest_delta } => {
            let least = decimal_at_most(&smallest_delta.lower(), DIGITS);
            format!(
                "no finite ε; δ is at least {}, whatever ε is",
                format_decimal(&least)
            )
        }
    }
}

/// `smallest ε at δ = 0: 0.5`.
pub fn epsilon_words(delta: &Number, least: &Answer) -> String {
    format!("smallest ε at δ = {delta}: {}", answer_words(least))
}

/// `smallest δ at ε = 1: 0`.
pub fn delta_words(epsilon: &Number, least: &Interval) -> String {
    format!("smallest δ at ε = {epsilon}: {}", interval_words(least))
}

impl Verified {
    /// For people: what it is about, and a line an answer.
    pub fn to_text(&self) -> String {
        let mut lines = vec![self.pair.words.clone()];
        if let Some((delta, least)) = &self.epsilon {
            lines.push(format!("  {}", epsilon_words(delta, least)));
        }
        if let Some((epsilon, least)) = &self.delta {
            lines.push(format!("  {}", delta_words(epsilon, least)));
        }
        if let Some((claim, holds)) = &self.verdict {
            let verdict = verdict_word(*holds);
            lines.push(format!("  claim {}: {verdict}", claim.words()));
        }
        lines.push(String::new());
        lines.join("\n")
    }

    /// For programs; `mechanism` is what was described.
    pub fn to_json(&self, mechanism: Value) -> Value {
        let epsilon = self.epsilon.as_ref().map(|(delta, least)| match least {
            Answer::Finite(least) => {
                json!({ "delta": delta, "finite": true, "epsilon": interval_json(least) })
            }
            Answer::NoFinite { smallest_delta } => {
                json!({ "delta": delta, "finite": false, "delta_at_least": interval_json(smallest_delta) })
            }
        });
        let delta = self
            .delta
            .as_ref()
            .map(|(epsilon, least)| json!({ "epsilon": epsilon, "delta": interval_json(least) }));
        let claim = self.verdict.as_ref().map(|(claim, holds)| {
            json!({ "epsilon": claim.epsilon, "delta": claim.delta_or_zero(), "verdict": verdict_word(*holds) })
        });
        json!({
            "mechanism": mechanism,
            "words": self.pair.words,
            "smallest_epsilon": epsilon,
            "smallest_delta": delta,
            "claim": claim,
        })
    }
}

fn verdict_word(holds: bool) -> &'static str {
    if holds { "proved" } else { "refuted" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exact::ratio;

    #[test]
    fn intervals_are_reported_without_losing_the_truth() {
        let half = Interval::from_rational(&ratio(1, 2), 64);
        assert_eq!(interval_words(&half), "0.5");
        let third = Interval::from_rational(&ratio(1, 3), 64);
        assert_eq!(
            interval_words(&third),
            "between 0.333333333333 and 0.333333333334"
        );
        let tiny = Interval::between(&Rational::ZERO, &ratio(1, 1 << 40), 64);
        assert_eq!(interval_words(&tiny), "at most 9.1e-13");
        assert_eq!(interval_words(&Interval::from_integer(0, 64)), "0");
    }
}
