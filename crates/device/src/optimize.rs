//! What an optimizer's step is made of.

/// One step of Adam or AdamW, with what is known about the gradient's noise.
///
/// With m ← β₁m + (1−β₁)g and v ← β₂v + (1−β₂)g², the parameters become p − rate·(m̂ / (√max(v̂ − noise, floor) + epsilon) + decay·p), where
/// m̂ = m·`first_correction` and v̂ = v·`second_correction`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    /// The learning rate of this step.
    pub rate: f64,
    /// β₁.
    pub first: f64,
    /// β₂.
    pub second: f64,
    /// 1 / (1 − β₁ᵗ) for step t, counted from 1.
    pub first_correction: f64,
    /// 1 / (1 − β₂ᵗ).
    pub second_correction: f64,
    /// Added to the root.
    pub epsilon: f64,
    /// Decoupled weight decay.
    pub decay: f64,
    /// The variance that noise adds to every coordinate of the gradient: subtracted from the second moment. 0 without noise.
    pub noise: f64,
    /// What the corrected second moment is at least. 0 without noise.
    pub floor: f64,
}

/// One step of gradient descent with momentum: u ← momentum·u + g, p ← p − rate·(u + decay·p).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Momentum {
    /// The learning rate of this step.
    pub rate: f64,
    /// How much of the last update stays.
    pub momentum: f64,
    /// Decoupled weight decay.
    pub decay: f64,
}
