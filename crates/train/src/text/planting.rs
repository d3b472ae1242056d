//! Secrets put into text on purpose, to see afterwards whether a model reveals them.

use super::{Rows, Seeded, TextError};

/// A phrase that is to be in a number of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phrase {
    /// Its tokens.
    pub tokens: Vec<u32>,
    /// In how many rows.
    pub copies: usize,
}

/// Puts each phrase at the start of as many rows as it has copies. No row holds two, which rows is chance that the public seed determines, and what the row
/// held follows the phrase and is cut at its end. Gives the rows of each phrase.
///
/// # Errors
/// When a phrase is longer than a row, or there are more copies than rows.
///
/// ```
/// use train::text::{Phrase, Rows, plant};
///
/// let mut rows = Rows::of_tokens(vec![1; 40], 4)?;
/// let places = plant(&mut rows, &[Phrase { tokens: vec![7, 8], copies: 3 }], 1)?;
/// assert_eq!(places[0].len(), 3);
/// assert_eq!(rows.row(places[0][0]), [7, 8, 1, 1]);
/// # Ok::<(), train::text::TextError>(())
/// ```
pub fn plant(rows: &mut Rows, phrases: &[Phrase], seed: u64) -> Result<Vec<Vec<usize>>, TextError> {
    if phrases.iter().any(|phrase| phrase.tokens.len() > rows.length()) {
        return Err(TextError::bad_setting(
            "a planted phrase is longer than a row",
            "make rows longer or the phrase shorter",
        ));
    }
    let copies = phrases
        .iter()
        .fold(0usize, |sum, phrase| sum.saturating_add(phrase.copies));
    if copies > rows.len() {
        return Err(TextError::bad_setting(
            "there are more copies of planted phrases than rows",
            "plant fewer, or have more rows: the case study has 404 copies in 202,000 rows, and `attack memorization` a smaller --scale",
        ));
    }
    let order = Seeded::numbered(seed, 2).order(rows.len());
    let mut free = order.into_iter();
    let mut places = Vec::with_capacity(phrases.len());
    for phrase in phrases {
        let chosen: Vec<usize> = free.by_ref().take(phrase.copies).collect();
        for place in &chosen {
            let row = rows.row_mut(*place);
            let kept = row.len() - phrase.tokens.len();
            row.copy_within(..kept, phrase.tokens.len());
            row[..phrase.tokens.len()].copy_from_slice(&phrase.tokens);
        }
        places.push(chosen);
    }
    Ok(places)
}

/// A number that somebody does not want to be known, in a sentence that names its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// What comes before the number.
    pub prefix: String,
    /// Four digits.
    pub pin: String,
    /// In how many rows it is planted; 0 for a reference that no model has seen.
    pub copies: usize,
}

/// Random PINs of different owners: for each entry of `copies` one secret that is planted as often.
///
/// No two have the same owner; PINs are uniform and independent, as the theory of exposure assumes of secrets.
///
/// # Errors
/// When there are more secrets than owners.
pub fn secrets(copies: &[usize], seed: u64) -> Result<Vec<Secret>, TextError> {
    let owners = super::synthetic::owners();
    if copies.len() > owners.len() {
        return Err(TextError::bad_setting(
            format!("there are only {} owners of secrets", owners.len()),
            "plant fewer secrets, some of them more often",
        ));
    }
    let mut entropy = Seeded::numbered(seed, 3);
    let order = entropy.order(owners.len());
    let chosen = order.into_iter().zip(copies).map(|(owner, copies)| Secret {
        prefix: format!("the pin of {} is ", owners[owner]),
        pin: format!("{:04}", entropy.index(10_000)),
        copies: *copies,
    });
    Ok(chosen.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Digits, Vocabulary, synthetic_text};

    #[test]
    fn phrases_are_in_as_many_rows_as_asked() {
        let mut rows = Rows::of_tokens(vec![9; 1_000], 5).unwrap();
        let phrases = [(vec![1, 2], 7), (vec![3, 4, 5, 6, 7], 20), (vec![8], 0)]
            .map(|(tokens, copies)| Phrase { tokens, copies });
        let places = plant(&mut rows, &phrases, 1).unwrap();
        assert_eq!(places.iter().map(Vec::len).collect::<Vec<_>>(), [7, 20, 0]);
        let starting = |start: &[u32]| rows.iter().filter(|row| row.starts_with(start)).count();
        assert_eq!(
            (starting(&[1, 2, 9]), starting(&[3, 4, 5, 6, 7]), starting(&[9])),
            (7, 20, 173)
        );
        assert!(places[0].iter().all(|place| rows.row(*place)[..2] == [1, 2]));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let rows = Rows::of_tokens(vec![9; 10], 5).unwrap();
        for (tokens, copies) in [(vec![1; 6], 1), (vec![1], 3), (vec![1], usize::MAX)] {
            let phrase = Phrase { tokens, copies };
            let phrases = [phrase.clone(), phrase];
            assert!(plant(&mut rows.clone(), &phrases, 1).is_err());
        }
        assert!(secrets(&[1; 1_000_000], 1).is_err());
    }

    #[test]
    fn secrets_have_owners_of_their_own_and_fit_into_rows() {
        let secrets = secrets(&[1; 2_000], 5).unwrap();
        let owners: std::collections::BTreeSet<_> = secrets.iter().map(|secret| &secret.prefix).collect();
        assert_eq!(owners.len(), secrets.len());
        let vocabulary =
            Vocabulary::from_public_text(&synthetic_text(1_000_000, 1), 985, Digits::Single).unwrap();
        let longest = secrets
            .iter()
            .map(|secret| {
                vocabulary
                    .encode(&format!("{}{}", secret.prefix, secret.pin))
                    .len()
            })
            .max();
        assert!(longest.is_some_and(|longest| longest <= 20), "{longest:?}");
        // Uniform: of 2,000 first digits no count is further than 6.5 deviations from 200 (false alarm below 1e-9).
        for digit in b'0'..=b'9' {
            let count = secrets
                .iter()
                .filter(|secret| secret.pin.as_bytes()[0] == digit)
                .count();
            assert!((count as f64 - 200.0).abs() < 6.5 * 180f64.sqrt(), "{count}");
        }
    }
}
