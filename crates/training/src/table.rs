//! How well a classifier or a regressor does on public rows.

use crate::Error;
use crate::description::Tabular;
use crate::examples::Numbers;
use sql::arrow::array::RecordBatch;
use train::model::Model;
use train::models::{Features, Targets};
use train::private::Examples;

/// Rows that go through a model at once.
const PREDICTED_AT_ONCE: usize = 1000;

/// e^logit over the sum of all of them; the largest is taken off first, so that nothing overflows.
fn to_probabilities(logits: &mut [f64]) {
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    logits
        .iter_mut()
        .for_each(|logit| *logit = (*logit - largest).exp());
    let all: f64 = logits.iter().sum();
    logits.iter_mut().for_each(|share| *share /= all);
}

/// What was measured on public rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RowsEvaluation {
    /// Of a classifier.
    Classes {
        /// The share of rows whose class was predicted.
        accuracy: f64,
        /// The mean loss.
        loss: f64,
    },
    /// Of a regressor.
    Numbers {
        /// In the units of the column.
        root_mean_squared_error: f64,
    },
}

impl Tabular {
    /// The model's predictions for rows, in their order: the probability of each class, or the number, in the
    /// units of the column. They cost nothing: a private model is public, and so is everything that follows
    /// from it and from rows that the asker has anyway.
    ///
    /// # Errors
    /// When the rows lack a column that the model learned from.
    pub fn predict(&mut self, rows: &RecordBatch) -> Result<Vec<Vec<f64>>, Error> {
        let (width, classes) = (
            self.encoding.width(),
            self.encoding.classes().map(<[String]>::len),
        );
        let features = self.encoding.features_of(rows)?;
        let mut answers = Vec::with_capacity(rows.num_rows());
        for some in features.chunks(PREDICTED_AT_ONCE * width) {
            let count = some.len() / width;
            // What is to be predicted is not looked at.
            let targets = match classes {
                Some(_) => Targets::Classes(vec![0; count]),
                None => Targets::Numbers(vec![0.0; count]),
            };
            let batch = Features::new(width, classes.unwrap_or(1), some.to_vec(), targets)?;
            answers.extend(self.model.predict(&self.parameters, &batch));
        }
        match &self.encoding.label.1 {
            sql::Coding::OneOf { .. } => answers.iter_mut().for_each(|logits| to_probabilities(logits)),
            // From [−1, 1] to the units of the column.
            sql::Coding::Number { low, high, .. } => answers
                .iter_mut()
                .flatten()
                .for_each(|number| *number = (low + high) / 2.0 + *number * (high - low) / 2.0),
        }
        Ok(answers)
    }

    /// Measures the model on public rows, coded as it was trained. What is measured is reported without
    /// noise.
    ///
    /// # Errors
    /// When there is no row with a label.
    pub fn evaluate(&mut self, rows: sql::Examples) -> Result<RowsEvaluation, Error> {
        let numbers = Numbers::new(String::new(), rows, &self.encoding);
        if numbers.count() == 0 {
            return Err(Error::input(
                "there are no rows with a label",
                "name a table with the columns that the model learned from",
            ));
        }
        let (mut right, mut loss, mut squares) = (0usize, 0.0, 0.0);
        let all: Vec<usize> = (0..numbers.count()).collect();
        for some in all.chunks(1000) {
            let batch = numbers.gather(some);
            loss += self.model.losses(&self.parameters, &batch).iter().sum::<f64>();
            let answers = self.model.predict(&self.parameters, &batch);
            match batch.targets() {
                Targets::Classes(classes) => {
                    right += answers
                        .iter()
                        .zip(classes)
                        .filter(|(answer, class)| {
                            let best = answer.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
                            best.is_some_and(|(place, _)| place == **class as usize)
                        })
                        .count();
                }
                Targets::Numbers(numbers) => {
                    let pairs = answers.iter().flatten().zip(numbers);
                    squares += pairs
                        .map(|(answer, number)| (answer - f64::from(*number)).powi(2))
                        .sum::<f64>();
                }
            }
        }
        let count = all.len() as f64;
        Ok(match &self.encoding.label.1 {
            sql::Coding::OneOf { .. } => RowsEvaluation::Classes {
                accuracy: right as f64 / count,
                loss: loss / count,
            },
            // From [−1, 1] to the units of the column.
            sql::Coding::Number { low, high, .. } => RowsEvaluation::Numbers {
                root_mean_squared_error: (squares / count).sqrt() * (high - low) / 2.0,
            },
        })
    }
}
