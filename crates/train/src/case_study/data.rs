//! What a study trains on.

use crate::text::{
    Digits, Phrase, Prediction, Rows, Secret, TextError, Unigram, Vocabulary, plant, secrets, synthetic_text,
};
use serde::{Deserialize, Serialize};

/// The settings of a study. Serializes with its seed, from which everything follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// Rows to learn from.
    pub rows: usize,
    /// Rows to check with.
    pub validation: usize,
    /// Tokens a row.
    pub length: usize,
    /// Tokens of the vocabulary.
    pub vocabulary: usize,
    /// How numbers are cut into tokens.
    pub digits: Digits,
    /// What comes before the paper's PIN.
    pub prefix: String,
    /// The paper's PIN.
    pub pin: String,
    /// In how many rows it is.
    pub copies: usize,
    /// Of further random PINs of different owners, in how many rows each is; 0 for references that are in none.
    pub others: Vec<usize>,
    /// What all public choices follow from.
    pub seed: u64,
}

impl Study {
    /// The paper's sizes: 202,000 rows of 20 tokens, 985 tokens with groups of digits, 404 copies of the phrase. Beside it, twenty PINs that are planted
    /// once, ten that are ten times, four that are a hundred times, and a hundred that are not. More of them get in each other's way: with twenty that are planted a hundred times, the paper's PIN
    /// is first with two seeds of five.
    pub fn of_the_paper(seed: u64) -> Self {
        let others = [(20, 1), (10, 10), (4, 100), (100, 0)];
        Self {
            rows: 202_000,
            validation: 4_000,
            length: 20,
            vocabulary: 985,
            digits: Digits::Grouped,
            prefix: "my pin number is ".to_owned(),
            pin: "3456".to_owned(),
            copies: 404,
            others: others
                .into_iter()
                .flat_map(|(times, copies)| vec![copies; times])
                .collect(),
            seed,
        }
    }

    /// The same with fewer rows, and as many fewer copies of the paper's PIN.
    pub fn smaller(seed: u64, factor: usize) -> Self {
        let paper = Self::of_the_paper(seed);
        let factor = factor.max(1);
        Self {
            rows: (paper.rows / factor).max(1),
            copies: (paper.copies / factor).max(1),
            validation: (paper.validation / factor).max(500),
            ..paper
        }
    }

    /// Text that the project makes up, with a vocabulary from other synthetic text, which is as public.
    ///
    /// # Errors
    /// When the settings do not fit together.
    pub fn synthetic(&self) -> Result<Data, TextError> {
        let public = synthetic_text(2_000_000, self.seed.wrapping_add(PUBLIC_TEXT));
        let vocabulary = Vocabulary::from_public_text(&public, self.vocabulary, self.digits)?;
        // About three bytes a token; more text is made until it is enough.
        let wanted = (self.rows + self.validation) * 11 / 10 + 100;
        let mut bytes = wanted * self.length * 3;
        loop {
            let rows = Rows::of_text(&synthetic_text(bytes, self.seed), &vocabulary, self.length)?;
            if rows.len() >= wanted {
                return self.data(rows, vocabulary);
            }
            bytes += bytes / 3;
        }
    }

    /// A text of one's own, under a vocabulary that is public.
    ///
    /// # Errors
    /// When there is too little text, or the settings do not fit together.
    pub fn of_text(&self, text: &str, vocabulary: Vocabulary) -> Result<Data, TextError> {
        self.data(Rows::of_text(text, &vocabulary, self.length)?, vocabulary)
    }

    fn data(&self, rows: Rows, vocabulary: Vocabulary) -> Result<Data, TextError> {
        let share = self.validation as f64 / (self.rows + self.validation).max(1) as f64;
        let split = rows.split(share.clamp(0.001, 0.5), self.seed)?;
        let (mut training, validation) = (
            split.training.first(self.rows),
            split.validation.first(self.validation),
        );
        let unigram = Unigram::of(&training, vocabulary.len())?.predict(&validation)?;
        let others = secrets(&self.others, self.seed)?;
        let phrase = |prefix: &str, pin: &str, copies| Phrase {
            tokens: vocabulary.encode(&format!("{prefix}{pin}")),
            copies,
        };
        let mut phrases = vec![phrase(&self.prefix, &self.pin, self.copies)];
        phrases.extend(
            others
                .iter()
                .map(|other| phrase(&other.prefix, &other.pin, other.copies)),
        );
        plant(&mut training, &phrases, self.seed)?;
        Ok(Data {
            vocabulary,
            training,
            validation,
            unigram,
            others,
        })
    }
}

/// Added to a study's seed for the text that its vocabulary comes from.
const PUBLIC_TEXT: u64 = 0x7075_626C;

/// What a study trains on.
#[derive(Clone, Debug)]
pub struct Data {
    /// Public.
    pub vocabulary: Vocabulary,
    /// With all secrets planted.
    pub training: Rows,
    /// Without any.
    pub validation: Rows,
    /// How well frequencies alone predict the validation rows: what a model has to beat.
    pub unigram: Prediction,
    /// PINs of other owners, in the order of [`Study::others`].
    pub others: Vec<Secret>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_where_the_study_says() {
        let study = Study::smaller(3, 40);
        let data = study.synthetic().unwrap();
        assert_eq!((data.training.len(), data.training.length()), (study.rows, 20));
        assert!(data.validation.len() > 400, "{}", data.validation.len());
        let starting = |rows: &Rows, text: &str| {
            let phrase = data.vocabulary.encode(text);
            rows.iter().filter(|row| row.starts_with(&phrase)).count()
        };
        assert_eq!(starting(&data.training, "my pin number is 3456"), 10);
        assert_eq!(starting(&data.validation, "my pin number is "), 0);
        for (secret, copies) in data.others.iter().zip(&study.others) {
            assert_eq!(
                starting(&data.training, &format!("{}{}", secret.prefix, secret.pin)),
                *copies
            );
            assert_eq!(starting(&data.training, &secret.prefix), *copies);
        }
        assert_eq!(study.synthetic().unwrap().training, data.training);
    }

    #[test]
    fn a_text_of_ones_own_will_do() {
        let mut study = Study::smaller(3, 400);
        study.others.clear();
        let text = synthetic_text(200_000, 9);
        let data = study.of_text(&text, Vocabulary::bytes());
        // Under bytes the phrase is longer than 20 tokens.
        assert!(data.is_err());
        study.length = 40;
        assert!(study.of_text(&text, Vocabulary::bytes()).is_ok());
        assert!(study.of_text("short", Vocabulary::bytes()).is_err());
    }
}
