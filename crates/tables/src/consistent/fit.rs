//! Numbers that add up over a hierarchy: the best linear unbiased estimate, in two passes.
//!
//! Every node was measured by itself: y = truth + noise. The truth of a node is the sum of its children's. Generalised least squares finds the numbers that add up and are closest to what was measured, each weighed by
//! its variance; of all linear unbiased estimates, each of them has the least variance (Gauss and Markov). Over a tree that takes two passes (as Hay et al. 2010 did for one variance, and as Kalman's filter and smoother do in time):
//!
//! - *up*: the best estimate z of a node from its own subtree, with variance a. Its children's estimates are independent, so their sum has variance Σa; it is averaged with the node's own measurement of variance v by inverse variances, so
//!   1/a = 1/v + 1/Σa;
//! - *down*: what the final estimate x of a node differs from Σz of its children is given to each child in proportion to its variance: x_c = z_c + (a_c/Σa)·(x − Σz). Then Var x_c = a_c − (a_c/Σa)²·(Σa − Var x).
//!
//! Proof of the second: given the truth t of the node, the children's subtrees say nothing more of each other than Σ = t, and what is outside the subtree says nothing of the children but through t. With a flat prior that
//! is E[t_c | t, subtree] = z_c + (a_c/Σa)(t − Σz), with variance a_c − a_c²/Σa; taking the mean over t | everything, which has mean x and variance Var x, gives both lines. The means of a Gaussian posterior under a flat prior are the
//! generalised least squares.
//!
//! All this reads what was released, so floats do.

use super::Tree;
use crate::Error;

/// How numbers over a tree are combined: what each node weighs, and how exact it becomes. It depends on variances alone, never on what was measured.
#[derive(Clone, Debug)]
pub struct Fit {
    tree: Tree,
    /// For each level and node: the weight of its own measurement against its children's sum.
    own: Vec<Vec<f64>>,
    /// The part of its parent's correction that each node takes.
    shares: Vec<Vec<f64>>,
    /// The variance of the estimate from the subtree.
    below: Vec<Vec<f64>>,
    /// The variance of the final estimate.
    variances: Vec<Vec<f64>>,
}

impl Fit {
    /// For measurements of these variances, by level and node. 0 is for what is known exactly, infinity for what was not measured.
    ///
    /// # Errors
    /// When there are more or fewer variances than nodes, one is negative or no number, or a node of the last level was not measured.
    pub fn new(tree: Tree, measured: &[Vec<f64>]) -> Result<Self, Error> {
        let fits = measured.len() == tree.levels()
            && measured
                .iter()
                .enumerate()
                .all(|(level, of)| of.len() == tree.size(level));
        if !fits {
            return Err(Error::OtherHierarchy);
        }
        let leaves = measured
            .last()
            .is_some_and(|leaves| leaves.iter().all(|variance| variance.is_finite()));
        if !leaves
            || measured
                .iter()
                .flatten()
                .any(|variance| variance.is_nan() || *variance < 0.0)
        {
            return Err(Error::BadVariance);
        }
        let mut below: Vec<Vec<f64>> = measured.to_vec();
        let mut own: Vec<Vec<f64>> = measured.iter().map(|of| vec![1.0; of.len()]).collect();
        let mut shares = own.clone();
        for level in (0..tree.levels() - 1).rev() {
            for node in 0..tree.size(level) {
                let children = tree.children(level, node);
                let sum: f64 = children
                    .iter()
                    .map(|child| below[level + 1][*child as usize])
                    .sum();
                for child in children {
                    let part = below[level + 1][*child as usize];
                    // Where all children are known exactly, there is nothing to correct.
                    shares[level + 1][*child as usize] = if sum > 0.0 { part / sum } else { 0.0 };
                }
                let variance = measured[level][node];
                let weight = if variance.is_infinite() {
                    0.0
                } else if variance + sum > 0.0 {
                    sum / (variance + sum)
                } else {
                    1.0
                };
                own[level][node] = weight;
                below[level][node] = if variance.is_infinite() {
                    sum
                } else {
                    weight * variance
                };
            }
        }
        let root = below[0][0];
        let mut fit = Self {
            variances: below.clone(),
            tree,
            own,
            shares,
            below,
        };
        fit.spread_variances(root);
        Ok(fit)
    }

    /// The same for measurements whose variances depend on the level alone.
    ///
    /// # Errors
    /// As [`Fit::new`].
    pub fn by_level(tree: Tree, measured: &[f64]) -> Result<Self, Error> {
        if measured.len() != tree.levels() {
            return Err(Error::OtherHierarchy);
        }
        let of = |(level, variance): (usize, &f64)| vec![*variance; tree.size(level)];
        let all: Vec<Vec<f64>> = measured.iter().enumerate().map(of).collect();
        Self::new(tree, &all)
    }

    /// The same where this tree is a part of a larger one, whose fit gives the root this variance: see [`Fit::estimates_under`].
    #[must_use]
    pub fn under(mut self, root_variance: f64) -> Self {
        self.spread_variances(root_variance);
        self
    }

    fn spread_variances(&mut self, root: f64) {
        self.variances[0][0] = root;
        for level in 0..self.tree.levels() - 1 {
            for node in 0..self.tree.size(level) {
                let children = self.tree.children(level, node);
                let sum: f64 = children
                    .iter()
                    .map(|child| self.below[level + 1][*child as usize])
                    .sum();
                let missing = sum - self.variances[level][node];
                for child in children {
                    let child = *child as usize;
                    let share = self.shares[level + 1][child];
                    let variance = self.below[level + 1][child] - share * share * missing;
                    self.variances[level + 1][child] = variance.max(0.0);
                }
            }
        }
    }

    /// The hierarchy.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The variance of the final estimate of a node, the same for each of its numbers.
    ///
    /// # Panics
    /// When there is no such node.
    pub fn variance(&self, level: usize, node: usize) -> f64 {
        self.variances[level][node]
    }

    /// Estimates that add up, from measurements: for each level the numbers of its nodes one after the other, `width` of them each. They replace the measurements.
    ///
    /// # Panics
    /// When there are not `width` numbers a node.
    pub fn estimates(&self, numbers: &mut [Vec<f64>], width: usize) {
        self.upward(numbers, width);
        self.downward(numbers, width);
    }

    /// The first pass alone: the numbers become the best estimates from what is below each node. With it, a large hierarchy is done part by part: the root of a part, with [`Fit::variance`] before
    /// [`Fit::under`], is a measurement for the hierarchy above; then [`Fit::estimates_under`] finishes the part.
    ///
    /// # Panics
    /// When there are not `width` numbers a node.
    pub fn upward(&self, numbers: &mut [Vec<f64>], width: usize) {
        self.check(numbers, width);
        for level in (0..self.tree.levels() - 1).rev() {
            let (above, below) = numbers.split_at_mut(level + 1);
            let (above, below) = (&mut above[level], &below[0]);
            let mut sum = vec![0.0; width];
            for node in 0..self.tree.size(level) {
                add_children(self.tree.children(level, node), below, &mut sum);
                let weight = self.own[level][node];
                for (number, sum) in above[node * width..(node + 1) * width].iter_mut().zip(&sum) {
                    // What was not measured may be anything.
                    *number = if weight == 0.0 {
                        *sum
                    } else {
                        sum + weight * (*number - sum)
                    };
                }
            }
        }
    }

    /// Estimates that add up to a root that was estimated elsewhere.
    ///
    /// # Panics
    /// When there are not `width` numbers a node.
    pub fn estimates_under(&self, root: &[f64], numbers: &mut [Vec<f64>], width: usize) {
        self.upward(numbers, width);
        numbers[0].copy_from_slice(root);
        self.downward(numbers, width);
    }

    fn downward(&self, numbers: &mut [Vec<f64>], width: usize) {
        let mut sum = vec![0.0; width];
        for level in 0..self.tree.levels() - 1 {
            let (above, below) = numbers.split_at_mut(level + 1);
            let (above, below) = (&above[level], &mut below[0]);
            for node in 0..self.tree.size(level) {
                let children = self.tree.children(level, node);
                add_children(children, below, &mut sum);
                let parent = &above[node * width..(node + 1) * width];
                for child in children {
                    let child = *child as usize;
                    let share = self.shares[level + 1][child];
                    let numbers = &mut below[child * width..(child + 1) * width];
                    for ((number, parent), sum) in numbers.iter_mut().zip(parent).zip(&sum) {
                        *number += share * (parent - sum);
                    }
                }
            }
        }
    }

    fn check(&self, numbers: &[Vec<f64>], width: usize) {
        let fits = numbers.len() == self.tree.levels()
            && numbers
                .iter()
                .enumerate()
                .all(|(level, of)| of.len() == self.tree.size(level) * width);
        assert!(fits, "as many numbers as nodes times the width");
    }
}

fn add_children(children: &[u32], below: &[f64], sum: &mut [f64]) {
    let width = sum.len();
    sum.fill(0.0);
    for child in children {
        let numbers = &below[*child as usize * width..][..width];
        for (sum, number) in sum.iter_mut().zip(numbers) {
            *sum += number;
        }
    }
}
