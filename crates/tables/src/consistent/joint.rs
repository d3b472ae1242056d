//! Intervals that hold for all cells of a release at once.
//!
//! An interval of 95 % for one cell says little about a thousand: about fifty of them do not hold the truth. Joint intervals hold all of them together with the stated probability, and are wider: at 95 %, 4.05 deviations instead of 1.96
//! for a thousand cells.

use crate::{Error, Estimate};
use mechanism::Accuracy;

/// How wide intervals are that hold together, in standard deviations of each cell, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct JointIntervals {
    multiplier: f64,
    /// Half a step for each measured number that is rounded, as it reaches a cell.
    slack: f64,
    basis: &'static str,
}

impl JointIntervals {
    /// By Šidák's inequality: for a Gaussian vector with any correlations, P(all |Zᵢ| ≤ c) ≥ Π P(|Zᵢ| ≤ c) (Šidák 1967). So c is the two-sided quantile of confidence^(1/cells).
    ///
    /// Exact where cells are independent, and wider than needed where they are correlated. It is proved for linear functions of Gaussian noise. Where measurements are that noise rounded, each is off by at
    /// most half a step, and what of that can reach a cell is the `slack`; pass 0 to leave it out, which is right to within 1/(24·σ²) of the width where σ, in steps, is large.
    ///
    /// # Errors
    /// When the confidence is not between 0 and 1, there are no cells, or the slack is negative.
    pub fn for_gaussian(confidence: f64, cells: u64, slack: f64) -> Result<Self, Error> {
        check(confidence, cells, slack)?;
        // 1 − confidence^(1/cells), without cancellation.
        let risk = -(confidence.ln() / cells as f64).exp_m1();
        Ok(Self {
            multiplier: two_sided(risk),
            slack,
            basis: "Šidák's inequality for Gaussian noise",
        })
    }

    /// By the tail of sub-Gaussian noise: P(|Σaᵢkᵢ| > c·σ·‖a‖) ≤ 2e^(−c²/2) where each kᵢ is discrete Gaussian noise of parameter σ² (Canonne, Kamath and Steinke 2020), summed over the cells.
    ///
    /// Certified for every linear function of discrete Gaussian noise, also where its deviation is below a step, and for the Gaussian. At a thousand cells it is a seventh wider than Šidák's.
    ///
    /// # Errors
    /// When the confidence is not between 0 and 1, or there are no cells.
    pub fn for_integers(confidence: f64, cells: u64) -> Result<Self, Error> {
        check(confidence, cells, 0.0)?;
        Ok(Self {
            multiplier: (2.0 * (2.0 * cells as f64 / (1.0 - confidence)).ln()).sqrt() * (1.0 + 1e-12),
            slack: 0.0,
            basis: "the tail of sub-Gaussian noise and a union bound",
        })
    }

    /// By simulating the largest of all standardised errors: see [`simulated_maximum`]. The tightest where cells are correlated.
    ///
    /// # Errors
    /// As [`simulated_maximum`].
    pub fn simulated(
        confidence: f64,
        times: u32,
        largest: impl FnMut(u32) -> f64,
        slack: f64,
    ) -> Result<Self, Error> {
        check(confidence, 1, slack)?;
        Ok(Self {
            multiplier: simulated_maximum(confidence, times, largest)?,
            slack,
            basis: "simulated largest error, of at least this coverage but for one run in a million",
        })
    }

    /// How many standard deviations of its cell an interval reaches to both sides.
    pub fn multiplier(&self) -> f64 {
        self.multiplier
    }

    /// What proves them.
    pub fn basis(&self) -> &'static str {
        self.basis
    }

    /// The interval of one cell; `None` where its noise is Laplace, for which nothing here is proved.
    pub fn around(&self, estimate: &Estimate) -> Option<(f64, f64)> {
        let half = self.multiplier * estimate.deviation() + self.slack;
        estimate
            .gaussian
            .then_some((estimate.value - half, estimate.value + half))
    }
}

fn check(confidence: f64, cells: u64, slack: f64) -> Result<(), Error> {
    if confidence > 0.0 && confidence < 1.0 && cells > 0 && slack >= 0.0 {
        return Ok(());
    }
    Err(Error::BadConfidence)
}

/// A z that |N(0,1)| exceeds with probability at most `risk`.
fn two_sided(risk: f64) -> f64 {
    let unit = Accuracy::Gaussian { deviation: 1.0 };
    // A union bound over as many cells as make a float of the confidence harmless; the half is for rounding, which is not in here.
    let (confidence, cells) = if risk < 1e-3 {
        (0.999, (1e-3 / risk).floor() as usize)
    } else {
        (1.0 - risk, 1)
    };
    // 1e-3 over a whole number is at least the risk: a little more is asked for, which makes z larger by a hair.
    let cells = if risk < 1e-3 { cells + 1 } else { cells };
    unit.half_width(confidence, cells).unwrap_or(f64::INFINITY) - 0.5
}

/// A number that the largest standardised error stays below with at least this confidence, but for one simulation in a million.
///
/// `largest` draws all errors of one release, number `time` of `times`, and gives the largest of |error|/deviation. The result is an order statistic of these: the smallest k-th for which P(Binomial(times, confidence) ≥ k) ≤ 1e-6. If the k-th
/// smallest were below the quantile, at least k of the draws were below it, and that is so rare (it holds for every distribution, also one with steps).
///
/// # Errors
/// When the confidence is not between 0 and 1, or so few simulations show nothing: 0.95 takes 270.
pub fn simulated_maximum(confidence: f64, times: u32, largest: impl FnMut(u32) -> f64) -> Result<f64, Error> {
    check(confidence, 1, 0.0)?;
    let Some(place) = certain_place(confidence, times) else {
        return Err(Error::TooFewSimulations {
            needed: (1e-6f64.ln() / confidence.ln()).ceil() as u64,
        });
    };
    let mut all: Vec<f64> = (0..times).map(largest).collect();
    all.sort_unstable_by(f64::total_cmp);
    Ok(all[place - 1])
}

/// The smallest k with P(Binomial(times, p) ≥ k) ≤ 1e-6, if it is at most `times`.
fn certain_place(p: f64, times: u32) -> Option<usize> {
    // From the top: P(= times) = p^times, and P(= k−1)/P(= k) = k(1−p)/((times−k+1)p).
    let mut log = f64::from(times) * p.ln();
    let (mut tail, mut place) = (log.exp(), times);
    if times == 0 || tail > 1e-6 {
        return None;
    }
    while place > 1 {
        let ratio = f64::from(place) * (1.0 - p) / (f64::from(times - place + 1) * p);
        log += ratio.ln();
        tail += log.exp();
        if tail > 1e-6 {
            break;
        }
        place -= 1;
    }
    Some(place as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multipliers_are_those_of_the_tables() {
        for (cells, z) in [(1, 1.959_964), (1000, 4.049_9), (1_000_000, 5.439)] {
            let joint = JointIntervals::for_gaussian(0.95, cells, 0.0).unwrap();
            assert!(
                joint.multiplier() >= z - 2e-3 && joint.multiplier() < z + 1.2e-2,
                "{cells}: {joint:?}"
            );
            let certified = JointIntervals::for_integers(0.95, cells).unwrap();
            assert!(certified.multiplier() > joint.multiplier());
        }
        let mut estimate = Estimate {
            value: 10.0,
            variance: 4.0,
            gaussian: true,
        };
        let (low, high) = JointIntervals::for_gaussian(0.95, 1, 0.5)
            .unwrap()
            .around(&estimate)
            .unwrap();
        assert!((low - 5.58).abs() < 1e-2 && (high - 14.42).abs() < 1e-2);
        estimate.gaussian = false;
        assert_eq!(
            JointIntervals::for_integers(0.95, 1).unwrap().around(&estimate),
            None
        );
        assert!(
            JointIntervals::for_gaussian(1.0, 1, 0.0).is_err()
                && JointIntervals::for_gaussian(0.9, 0, 0.0).is_err()
        );
    }

    #[test]
    fn order_statistics_are_high_enough() {
        assert_eq!(certain_place(0.95, 100), None);
        assert!(simulated_maximum(0.95, 100, |_| 0.0).is_err());
        assert_eq!(certain_place(0.95, 270), Some(270));
        let place = certain_place(0.95, 2000).unwrap();
        // 1900 + 4.75·√(2000·0.95·0.05) = 1946.
        assert!((1944..=1950).contains(&place), "{place}");
        assert_eq!(
            simulated_maximum(0.95, 2000, f64::from).unwrap(),
            place as f64 - 1.0
        );
    }
}
