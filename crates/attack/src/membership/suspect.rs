//! Traces named people from published means.

use super::{Published, Score, Weights, upper_tail};

/// One person's standing.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspect {
    /// Who it is.
    pub name: String,
    /// Standard deviations above a stranger.
    pub above: f64,
    /// How often a stranger scores as high, by the normal approximation.
    pub chance: f64,
    /// The likelihood ratio, as a power of ten.
    pub ratio: f64,
}

/// Published means, ready to be held against one person after the other.
#[derive(Clone, Debug)]
pub struct Tracing {
    inner: Weights,
    ratio: Weights,
    mean: f64,
    deviation: f64,
}

impl Tracing {
    /// What these means say about a stranger.
    pub fn new(published: &Published<'_>) -> Self {
        let inner = published.weights(Score::InnerProduct);
        let (mean, deviation) = inner.of_a_stranger(published.frequencies);
        Self {
            ratio: published.weights(Score::LikelihoodRatio),
            inner,
            mean,
            deviation,
        }
    }

    /// The standing of somebody with these attributes.
    pub fn suspect(&self, name: String, attributes: &[bool]) -> Suspect {
        let above = if self.deviation > 0.0 {
            (self.inner.score(attributes.iter().copied()) - self.mean) / self.deviation
        } else {
            0.0
        };
        Suspect {
            name,
            above,
            chance: upper_tail(above),
            ratio: self.ratio.score(attributes.iter().copied()) / std::f64::consts::LN_10,
        }
    }
}
