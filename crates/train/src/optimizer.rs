//! From a gradient to the next parameters. Private or not, the rules are the same; the variance of a private gradient's noise is a number that they are given.

use device::{Adam, Device, Momentum};
use serde::{Deserialize, Serialize};

/// How parameters follow gradients.
///
/// ```
/// use train::Rule;
///
/// assert_eq!(Rule::adam(), Rule::adamw(0.0));
/// assert_ne!(Rule::adam(), Rule::noise_corrected_adam(1e-12));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Rule {
    /// Gradient descent with momentum.
    Sgd {
        /// How much of the last update stays; 0 for none.
        momentum: f64,
        /// Decoupled weight decay; 0 for none.
        decay: f64,
    },
    /// Adam, or AdamW when it decays.
    Adam {
        /// β₁.
        first: f64,
        /// β₂.
        second: f64,
        /// Added to the root of the second moment.
        epsilon: f64,
        /// Decoupled weight decay; 0 for none.
        decay: f64,
        /// Takes the known variance of the noise off the second moment, and keeps this much at least (Tang, Shpilevskiy and Lécuyer 2024, "DP-AdamBC"). Without it the noise drowns what the second
        /// moment is for, and Adam becomes gradient descent with momentum. `None` leaves the noise in.
        noise_floor: Option<f64>,
    },
}

impl Rule {
    /// Adam with the usual numbers, the noise left in.
    pub fn adam() -> Self {
        Rule::Adam {
            first: 0.9,
            second: 0.999,
            epsilon: 1e-8,
            decay: 0.0,
            noise_floor: None,
        }
    }

    /// Adam whose second moment is freed of the noise.
    pub fn noise_corrected_adam(floor: f64) -> Self {
        Rule::Adam {
            first: 0.9,
            second: 0.999,
            epsilon: 1e-8,
            decay: 0.0,
            noise_floor: Some(floor),
        }
    }

    /// AdamW with this weight decay.
    pub fn adamw(decay: f64) -> Self {
        Rule::Adam {
            first: 0.9,
            second: 0.999,
            epsilon: 1e-8,
            decay,
            noise_floor: None,
        }
    }

    /// Plain gradient descent.
    pub fn sgd(momentum: f64) -> Self {
        Rule::Sgd { momentum, decay: 0.0 }
    }

    /// The names of what it remembers between steps.
    pub(crate) fn moments(&self) -> &'static [&'static str] {
        match self {
            Rule::Sgd { .. } => &["velocity"],
            Rule::Adam { .. } => &["first_moment", "second_moment"],
        }
    }

    /// Whether its numbers make sense.
    pub(crate) fn check(&self) -> Result<(), crate::Error> {
        let share = |value: f64| (0.0..1.0).contains(&value);
        let size = |value: f64| value.is_finite() && value >= 0.0;
        let right = match *self {
            Rule::Sgd { momentum, decay } => share(momentum) && size(decay),
            Rule::Adam {
                first,
                second,
                epsilon,
                decay,
                noise_floor,
            } => {
                share(first)
                    && share(second)
                    && size(decay)
                    && size(epsilon)
                    && (epsilon > 0.0 || noise_floor.is_some_and(|floor| floor > 0.0))
                    && noise_floor.is_none_or(size)
            }
        };
        if right {
            Ok(())
        } else {
            Err(crate::Error::OutOfRange {
                what: "the numbers of an optimizer",
                range: "finite and not negative, and momenta below 1",
            })
        }
    }
}

/// A rule with what it remembers.
pub(crate) struct Optimizer<D: Device> {
    rule: Rule,
    pub(crate) moments: Vec<D::Buffer>,
    pub(crate) taken: u64,
}

impl<D: Device> Optimizer<D> {
    pub(crate) fn new(rule: Rule, device: &D, parameters: usize) -> Self {
        let moments = rule.moments().iter().map(|_| device.zeros(parameters)).collect();
        Self {
            rule,
            moments,
            taken: 0,
        }
    }

    /// One step. `noise` is the variance that noise adds to each coordinate of the gradient, which is public; 0 without.
    pub(crate) fn update(
        &mut self,
        device: &D,
        gradient: &D::Buffer,
        parameters: &mut D::Buffer,
        rate: f64,
        noise: f64,
    ) {
        self.taken += 1;
        match (self.rule, &mut self.moments[..]) {
            (Rule::Sgd { momentum, decay }, [velocity]) => {
                let step = Momentum {
                    rate,
                    momentum,
                    decay,
                };
                device.momentum(step, gradient, parameters, velocity);
            }
            (
                Rule::Adam {
                    first,
                    second,
                    epsilon,
                    decay,
                    noise_floor,
                },
                [mean, square],
            ) => {
                let taken = i32::try_from(self.taken).unwrap_or(i32::MAX);
                let step = Adam {
                    rate,
                    first,
                    second,
                    first_correction: 1.0 / (1.0 - first.powi(taken)),
                    second_correction: 1.0 / (1.0 - second.powi(taken)),
                    epsilon: if noise_floor.is_some() { 0.0 } else { epsilon },
                    decay,
                    noise: if noise_floor.is_some() { noise } else { 0.0 },
                    floor: noise_floor.unwrap_or(0.0),
                };
                device.adam(step, gradient, parameters, mean, square);
            }
            _ => unreachable!("a rule has as many vectors as it names"),
        }
    }
}

/// How the learning rate changes.
///
/// ```
/// use train::Schedule;
///
/// assert_eq!(Schedule::Linear.factor(5, 10), 0.5);
/// assert_eq!(Schedule::WarmUpCosine { warm_up: 4 }.factor(0, 12), 0.25);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Schedule {
    /// It does not.
    Constant,
    /// Straight to 0 at the end.
    Linear,
    /// Up from 0 over the first steps, then down to 0 along a cosine.
    WarmUpCosine {
        /// How many steps it rises.
        warm_up: u64,
    },
}

impl Schedule {
    /// The part of the full rate at step `step` (from 0) of `steps`.
    pub fn factor(&self, step: u64, steps: u64) -> f64 {
        let part = |done: u64, all: u64| done as f64 / all.max(1) as f64;
        match *self {
            Schedule::Constant => 1.0,
            Schedule::Linear => 1.0 - part(step, steps),
            Schedule::WarmUpCosine { warm_up } if step < warm_up => part(step + 1, warm_up),
            Schedule::WarmUpCosine { warm_up } => {
                let turned = part(step - warm_up, steps.saturating_sub(warm_up));
                0.5 * (1.0 + (std::f64::consts::PI * turned.min(1.0)).cos())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::Cpu;

    fn after(rule: Rule, gradients: &[f64], noise: f64) -> f64 {
        let device = Cpu::<f64>::new();
        let mut parameters = device.upload(&[1.0]);
        let mut optimizer = Optimizer::new(rule, &device, 1);
        for gradient in gradients {
            optimizer.update(&device, &device.upload(&[*gradient]), &mut parameters, 0.1, noise);
        }
        device.download(&parameters)[0]
    }

    #[test]
    fn rules_do_what_their_formulas_say() {
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        // u = 2, then 0.5·2 + 4 = 5.
        close(
            after(Rule::sgd(0.5), &[2.0, 4.0], 0.0),
            1.0 - 0.1 * 2.0 - 0.1 * 5.0,
        );
        // The first step of Adam is the sign of the gradient.
        close(after(Rule::adam(), &[7.0], 0.0), 1.0 - 0.1 * 7.0 / (7.0 + 1e-8));
        close(
            after(Rule::adamw(0.5), &[7.0], 0.0),
            1.0 - 0.1 * (7.0 / (7.0 + 1e-8) + 0.5),
        );
        // v̂ = 25; with a noise of variance 9 taken off, 5/√16.
        close(
            after(Rule::noise_corrected_adam(1e-8), &[5.0], 9.0),
            1.0 - 0.1 * 5.0 / 4.0,
        );
        // All of it is noise: the floor is what is left.
        close(
            after(Rule::noise_corrected_adam(4.0), &[5.0], 24.0),
            1.0 - 0.1 * 5.0 / 2.0,
        );
        // Without the correction the noise is not heard of.
        close(after(Rule::adam(), &[5.0], 9.0), after(Rule::adam(), &[5.0], 0.0));
    }

    #[test]
    fn rates_rise_and_fall() {
        assert_eq!(Schedule::Constant.factor(7, 10), 1.0);
        assert_eq!(
            (Schedule::Linear.factor(0, 10), Schedule::Linear.factor(5, 10)),
            (1.0, 0.5)
        );
        let cosine = Schedule::WarmUpCosine { warm_up: 4 };
        assert_eq!(
            (cosine.factor(0, 12), cosine.factor(3, 12), cosine.factor(4, 12)),
            (0.25, 1.0, 1.0)
        );
        assert!((cosine.factor(8, 12) - 0.5).abs() < 1e-12 && cosine.factor(12, 12) < 1e-12);
        assert!(Schedule::WarmUpCosine { warm_up: 20 }.factor(25, 10) >= 0.0);
    }
}
