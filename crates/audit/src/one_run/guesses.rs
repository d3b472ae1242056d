//! Guesses which canaries were in, for the audit that needs one run only (Steinke, Nasr and Jagielski 2023).
//!
//! Many canaries are planted or left out, each by a coin of its own. From the finished model each gets a
//! score. Canaries with the highest scores were probably in, those with the lowest probably out, and for the
//! rest no guess is needed. How many guesses can be right is bounded by ε, so the number of right guesses is
//! a lower bound on it.

use crate::document::{Mistake, fail};

/// How guesses turned out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guessed {
    /// Canaries in all.
    pub canaries: usize,
    /// On how many a guess was made.
    pub guesses: usize,
    /// How many guesses were right.
    pub correct: usize,
}

/// How many guesses to try on each side: nearly all canaries, then half of that, and so on, as long as there
/// are some. Nearly, since coins fall unevenly, and then some of all guesses must be wrong.
///
/// It depends on the number of canaries alone, so it is decided before any coin is looked at. Few guesses are
/// right oftener, many count for more; which is better nobody knows beforehand.
pub fn sides(canaries: usize) -> Vec<usize> {
    const FEWEST: usize = 8;
    let halves = std::iter::successors(Some(canaries * 9 / 20), |side| Some(side / 2));
    let mut sides: Vec<usize> = halves.take_while(|side| *side >= FEWEST).collect();
    if sides.is_empty() {
        sides.push(canaries / 2);
    }
    sides
}

/// "In" for the `top` highest scores, "out" for the `bottom` lowest, and no guess for the rest. A score that
/// is no number is in the middle.
///
/// Which of two equal scores is guessed depends on their places alone, which tell nothing if coins were fair.
///
/// # Errors
/// When there are more guesses than canaries.
pub fn guess(scores: &[f64], top: usize, bottom: usize) -> Result<Vec<Option<bool>>, Mistake> {
    let scored: Vec<usize> = (0..scores.len())
        .filter(|place| !scores[*place].is_nan())
        .collect();
    if top
        .checked_add(bottom)
        .is_none_or(|guesses| guesses > scored.len())
    {
        return fail(
            "there are more guesses than canaries with a score",
            "guess on fewer: those of which one is surest",
        );
    }
    let mut order = scored;
    order.sort_by(|left, right| scores[*right].total_cmp(&scores[*left]));
    let mut guesses = vec![None; scores.len()];
    for place in &order[..top] {
        guesses[*place] = Some(true);
    }
    for place in &order[order.len() - bottom..] {
        guesses[*place] = Some(false);
    }
    Ok(guesses)
}

/// Counts right guesses.
///
/// # Errors
/// When there are not as many canaries as guesses.
pub fn judge(guesses: &[Option<bool>], inside: &[bool]) -> Result<Guessed, Mistake> {
    if guesses.len() != inside.len() {
        return fail(
            "there are not as many canaries as guesses",
            "give each canary its guess or none",
        );
    }
    let made = guesses
        .iter()
        .zip(inside)
        .filter_map(|(guess, truth)| guess.map(|guess| guess == *truth));
    Ok(Guessed {
        canaries: inside.len(),
        guesses: made.clone().count(),
        correct: made.filter(|right| *right).count(),
    })
}

#[cfg(test)]
mod tests {
    use super::sides;

    #[test]
    fn numbers_of_guesses_follow_from_the_number_of_canaries() {
        assert_eq!(sides(1000), [450, 225, 112, 56, 28, 14]);
        assert_eq!(sides(40), [18, 9]);
        for canaries in 0..200 {
            let sides = sides(canaries);
            assert!(!sides.is_empty() && sides.iter().all(|side| 2 * side <= canaries));
        }
    }
}
