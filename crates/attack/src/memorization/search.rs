//! Finds the likeliest continuations without listing all: it searches the tree of what may come next, the
//! likeliest first.
//!
//! The cost of a step is −ln of its probability, which is never negative. So a continuation that is finished
//! when it is taken from the queue is likelier than all that are left (Dijkstra). A model that is sure of a
//! secret gives it after a handful of queries. A model that is not sure makes the search as wide as the list.

use super::{Remembers, log_probability};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What a beginning of a continuation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It may go on.
    Open,
    /// It is complete.
    Done,
    /// It is nothing that is looked for.
    Dead,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Extraction {
    /// The likeliest continuations and ln of their probabilities, the likeliest first.
    pub found: Vec<(Vec<u32>, f64)>,
    /// How often the model was asked.
    pub asked: usize,
    /// Whether no question was left over: the list is then provably the likeliest, or all there are.
    pub complete: bool,
}

struct Open {
    cost: f64,
    tokens: Vec<u32>,
}

impl PartialEq for Open {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Open {}
impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Open {
    /// The heap gives the largest first: the cheapest, and of equals the first by its tokens.
    fn cmp(&self, other: &Self) -> Ordering {
        other
            .cost
            .total_cmp(&self.cost)
            .then_with(|| other.tokens.cmp(&self.tokens))
    }
}

/// The `wanted` likeliest complete continuations of a prefix, asking the model at most `questions` times.
///
/// `step` judges beginnings: for PINs, digits are open until there are four.
pub fn most_likely(
    model: &mut impl Remembers,
    prefix: &[u32],
    step: impl Fn(&[u32]) -> Step,
    wanted: usize,
    questions: usize,
) -> Extraction {
    let mut queue = BinaryHeap::from([Open {
        cost: 0.0,
        tokens: Vec::new(),
    }]);
    let mut extraction = Extraction {
        found: Vec::new(),
        asked: 0,
        complete: true,
    };
    let mut context = prefix.to_vec();
    while extraction.found.len() < wanted
        && let Some(Open { cost, tokens }) = queue.pop()
    {
        if !tokens.is_empty() && step(&tokens) == Step::Done {
            extraction.found.push((tokens, -cost));
            continue;
        }
        if extraction.asked == questions {
            extraction.complete = false;
            break;
        }
        context.truncate(prefix.len());
        context.extend_from_slice(&tokens);
        let answer = model.next(&context);
        extraction.asked += 1;
        for token in 0..answer.len() as u32 {
            let log_probability = log_probability(&answer, token);
            if log_probability == f64::NEG_INFINITY {
                continue;
            }
            let mut longer = tokens.clone();
            longer.push(token);
            if step(&longer) != Step::Dead {
                // A probability rounded above 1 must not make a path cheaper.
                queue.push(Open {
                    cost: cost - log_probability.min(0.0),
                    tokens: longer,
                });
            }
        }
    }
    extraction
}
