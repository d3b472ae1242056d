//! Examples that models take.

use super::ModelError;
use super::error::size;
use std::ops::Range;

/// A batch that can be cut between examples.
pub trait Part: Sized + Sync {
    /// How many examples.
    fn len(&self) -> usize;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// How many rows go through the layers of a model, of all examples together: what work is counted in.
    fn rows(&self) -> usize {
        self.len()
    }
    /// Some of them.
    fn part(&self, examples: Range<usize>) -> Self;
    /// Those with these numbers, in this order: a sample.
    fn pick(&self, examples: &[usize]) -> Self;
    /// Everything that a model sees of one of them: equal for equal examples, wherever they stand.
    fn bytes(&self, example: usize) -> Vec<u8>;
}

/// Rows of tokens, each as long as its length says and then padded. Every token after the first is predicted from those before it.
///
/// ```
/// use train::models::{Part, Tokens};
///
/// let rows = Tokens::ragged(10, &[vec![0, 3, 4], vec![0, 7]])?;
/// assert_eq!((rows.len(), rows.row(1)), (2, &[0, 7][..]));
/// assert!(Tokens::ragged(5, &[vec![0, 7]]).is_err());
/// # Ok::<(), train::models::ModelError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Tokens {
    vocabulary: usize,
    width: usize,
    tokens: Vec<u32>,
    lengths: Vec<u32>,
}

// Without the text, which may be private.
impl std::fmt::Debug for Tokens {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Tokens(..)")
    }
}

impl Tokens {
    /// Rows of `width` tokens below `vocabulary`. `lengths` says how many tokens of each row count; whatever is after them is padding.
    pub fn new(
        vocabulary: usize,
        width: usize,
        tokens: Vec<u32>,
        lengths: Vec<u32>,
    ) -> Result<Self, ModelError> {
        size("the width of rows of tokens", width)?;
        let expected = lengths.len() * width;
        if tokens.len() != expected {
            let found = tokens.len();
            return Err(ModelError::Length {
                what: "tokens",
                expected,
                found,
            });
        }
        if lengths.iter().any(|&length| length as usize > width) {
            return Err(ModelError::Range {
                what: "length of a row",
                limit: width + 1,
            });
        }
        let padded = tokens.chunks_exact(width).zip(&lengths);
        if padded.clone().any(|(row, &length)| {
            row[..length as usize]
                .iter()
                .any(|&token| token as usize >= vocabulary)
        }) {
            return Err(ModelError::Range {
                what: "token",
                limit: vocabulary,
            });
        }
        Ok(Self {
            vocabulary,
            width,
            tokens,
            lengths,
        })
    }

    /// Rows without padding.
    pub fn full(vocabulary: usize, width: usize, tokens: Vec<u32>) -> Result<Self, ModelError> {
        size("the width of rows of tokens", width)?;
        let lengths = vec![width as u32; tokens.len() / width];
        Self::new(vocabulary, width, tokens, lengths)
    }

    /// Rows of any length, padded to the longest.
    pub fn ragged(vocabulary: usize, rows: &[impl AsRef<[u32]>]) -> Result<Self, ModelError> {
        let width = rows
            .iter()
            .map(|row| row.as_ref().len())
            .max()
            .unwrap_or(0)
            .max(1);
        let mut tokens = vec![0; rows.len() * width];
        for (into, row) in tokens.chunks_exact_mut(width).zip(rows) {
            into[..row.as_ref().len()].copy_from_slice(row.as_ref());
        }
        let lengths = rows.iter().map(|row| row.as_ref().len() as u32).collect();
        Self::new(vocabulary, width, tokens, lengths)
    }

    /// What tokens are below.
    pub fn vocabulary(&self) -> usize {
        self.vocabulary
    }

    /// Tokens in the longest row, less one: the steps that a model takes.
    pub fn steps(&self) -> usize {
        self.lengths
            .iter()
            .max()
            .map_or(0, |&length| (length as usize).saturating_sub(1))
    }

    /// The tokens of a row that count.
    pub fn row(&self, example: usize) -> &[u32] {
        &self.tokens[example * self.width..][..self.lengths[example] as usize]
    }
}

impl Part for Tokens {
    fn len(&self) -> usize {
        self.lengths.len()
    }

    fn rows(&self) -> usize {
        self.tokens.len()
    }

    fn part(&self, examples: Range<usize>) -> Self {
        Self {
            tokens: self.tokens[examples.start * self.width..examples.end * self.width].to_vec(),
            lengths: self.lengths[examples].to_vec(),
            ..*self
        }
    }

    fn pick(&self, examples: &[usize]) -> Self {
        let row = |&example: &usize| &self.tokens[example * self.width..][..self.width];
        Self {
            tokens: examples.iter().flat_map(row).copied().collect(),
            lengths: examples.iter().map(|&example| self.lengths[example]).collect(),
            ..*self
        }
    }

    fn bytes(&self, example: usize) -> Vec<u8> {
        let tokens = self.row(example).iter();
        tokens.flat_map(|token| token.to_le_bytes()).collect()
    }
}

/// What rows of numbers are to predict.
#[derive(Clone, PartialEq)]
pub enum Targets {
    /// A class each.
    Classes(Vec<u32>),
    /// Some numbers each.
    Numbers(Vec<f32>),
}

/// Rows of numbers with what they are to predict.
///
/// ```
/// use train::models::{Features, Part, Targets};
///
/// // Two rows of three features, each of one of two classes.
/// let rows = Features::new(3, 2, vec![0.0; 6], Targets::Classes(vec![1, 0]))?;
/// assert_eq!((rows.len(), rows.inputs(), rows.outputs()), (2, 3, 2));
/// assert!(Features::new(3, 2, vec![0.0; 6], Targets::Classes(vec![2, 0])).is_err());
/// # Ok::<(), train::models::ModelError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Features {
    inputs: usize,
    outputs: usize,
    values: Vec<f32>,
    targets: Targets,
}

// Without the values, which may be private.
impl std::fmt::Debug for Features {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Features(..)")
    }
}

impl Features {
    /// Rows of `inputs` numbers; `outputs` is the number of classes, or of numbers to predict.
    pub fn new(
        inputs: usize,
        outputs: usize,
        values: Vec<f32>,
        targets: Targets,
    ) -> Result<Self, ModelError> {
        size("the number of features", inputs)?;
        size("the number of outputs", outputs)?;
        let examples = match &targets {
            Targets::Classes(classes) => classes.len(),
            Targets::Numbers(numbers) => numbers.len() / outputs,
        };
        if values.len() != examples * inputs {
            return Err(ModelError::Length {
                what: "features",
                expected: examples * inputs,
                found: values.len(),
            });
        }
        match &targets {
            Targets::Classes(classes) if classes.iter().any(|&class| class as usize >= outputs) => {
                Err(ModelError::Range {
                    what: "label",
                    limit: outputs,
                })
            }
            Targets::Numbers(numbers) if numbers.len() % outputs != 0 => Err(ModelError::Length {
                what: "numbers to predict",
                expected: examples * outputs,
                found: numbers.len(),
            }),
            _ => Ok(Self {
                inputs,
                outputs,
                values,
                targets,
            }),
        }
    }

    /// Numbers in a row.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Classes, or numbers to predict.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// All rows.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// What they are to predict.
    pub fn targets(&self) -> &Targets {
        &self.targets
    }
}

fn picked<T: Copy>(values: &[T], width: usize, examples: &[usize]) -> Vec<T> {
    examples
        .iter()
        .flat_map(|&example| &values[example * width..][..width])
        .copied()
        .collect()
}

impl Part for Features {
    fn len(&self) -> usize {
        self.values.len() / self.inputs
    }

    fn part(&self, examples: Range<usize>) -> Self {
        self.pick(&examples.collect::<Vec<_>>())
    }

    fn pick(&self, examples: &[usize]) -> Self {
        Self {
            values: picked(&self.values, self.inputs, examples),
            targets: match &self.targets {
                Targets::Classes(classes) => Targets::Classes(picked(classes, 1, examples)),
                Targets::Numbers(numbers) => Targets::Numbers(picked(numbers, self.outputs, examples)),
            },
            ..*self
        }
    }

    fn bytes(&self, example: usize) -> Vec<u8> {
        let one = self.pick(&[example]);
        let values = one.values.iter().flat_map(|value| value.to_le_bytes());
        match &one.targets {
            Targets::Classes(classes) => values
                .chain(classes.iter().flat_map(|class| class.to_le_bytes()))
                .collect(),
            Targets::Numbers(numbers) => values
                .chain(numbers.iter().flat_map(|number| number.to_le_bytes()))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_and_picked() {
        let tokens = Tokens::ragged(9, &[vec![1, 2, 3], vec![4], vec![5, 6]]).unwrap();
        assert_eq!((tokens.len(), tokens.steps()), (3, 2));
        assert_eq!(tokens.part(1..3).row(1), [5, 6]);
        assert_eq!(tokens.pick(&[2, 0]).row(1), [1, 2, 3]);
        assert!(tokens.part(1..1).is_empty());
        let features = Features::new(2, 3, vec![1.0, 2.0, 3.0, 4.0], Targets::Classes(vec![0, 2])).unwrap();
        assert_eq!(features.pick(&[1]).values(), [3.0, 4.0]);
        // What one looks like depends on nothing around it: neither on its place nor on padding.
        assert_eq!(features.bytes(1), features.pick(&[1]).bytes(0));
        assert_ne!(features.bytes(0), features.bytes(1));
        assert_eq!(tokens.bytes(1), Tokens::ragged(9, &[vec![4]]).unwrap().bytes(0));
    }

    #[test]
    fn what_does_not_fit_is_refused_without_saying_it() {
        let error = Tokens::full(5, 2, vec![1, 77]).unwrap_err();
        assert!(!error.to_string().contains("77"), "{error}");
        assert!(Tokens::full(5, 0, vec![]).is_err());
        assert!(Tokens::full(5, 2, vec![1, 2, 3]).is_err());
        assert!(Tokens::new(5, 2, vec![1, 2], vec![3]).is_err());
        assert!(Features::new(2, 2, vec![1.0], Targets::Classes(vec![0])).is_err());
        assert!(Features::new(1, 2, vec![1.0], Targets::Classes(vec![2])).is_err());
        assert!(Features::new(1, 2, vec![1.0], Targets::Numbers(vec![0.5; 3])).is_err());
        // Padding is not looked at.
        assert!(Tokens::new(5, 2, vec![1, 99], vec![1]).is_ok());
    }
}
