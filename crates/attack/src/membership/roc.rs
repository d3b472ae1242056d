//! How well scores tell members from strangers, and the most that privacy allows.

/// Scores of members and of strangers, of independent trials.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    /// Of members.
    pub inside: Vec<f64>,
    /// Of strangers.
    pub outside: Vec<f64>,
}

/// What a threshold does that was fixed before these trials were looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accusations {
    /// Members who are accused.
    pub true_positives: u64,
    /// Strangers who are accused.
    pub false_positives: u64,
    /// How many of each were tried.
    pub trials: u64,
}

impl Scores {
    /// The area under the curve: how often a member scores higher than a stranger, ties counting half (Mann
    /// and Whitney).
    pub fn area(&self) -> f64 {
        let (members, _) = self.placements();
        mean(&members)
    }

    /// The standard error of [`Scores::area`] (DeLong, DeLong and Clarke-Pearson 1988).
    pub fn area_error(&self) -> f64 {
        let (members, strangers) = self.placements();
        let part = |placements: &[f64]| {
            let (middle, count) = (mean(placements), placements.len() as f64);
            let squares: f64 = placements.iter().map(|place| (place - middle).powi(2)).sum();
            squares / (count - 1.0).max(1.0) / count
        };
        (part(&members) + part(&strangers)).sqrt()
    }

    /// For each member the share of strangers below her, and for each stranger the share of members above.
    fn placements(&self) -> (Vec<f64>, Vec<f64>) {
        let (inside, outside) = (sorted(&self.inside), sorted(&self.outside));
        let share = |score: f64, others: &[f64], above: bool| {
            let below = others.partition_point(|other| *other < score);
            let up_to = others.partition_point(|other| *other <= score);
            let (clear, equal) = (if above { others.len() - up_to } else { below }, up_to - below);
            (clear as f64 + equal as f64 / 2.0) / others.len() as f64
        };
        (
            self.inside
                .iter()
                .map(|score| share(*score, &outside, false))
                .collect(),
            self.outside
                .iter()
                .map(|score| share(*score, &inside, true))
                .collect(),
        )
    }

    /// The curve: for every threshold the share of strangers and of members above it, from (0, 0) to (1, 1).
    pub fn curve(&self) -> Vec<(f64, f64)> {
        let (inside, outside) = (sorted(&self.inside), sorted(&self.outside));
        let mut curve = vec![(0.0, 0.0)];
        let (mut members, mut strangers) = (inside.len(), outside.len());
        while members > 0 || strangers > 0 {
            // The next lower score is a step; equal scores are one step.
            let last = |scores: &[f64], count: usize| count.checked_sub(1).map(|place| scores[place]);
            let next = match (last(&inside, members), last(&outside, strangers)) {
                (Some(member), Some(stranger)) => member.max(stranger),
                (Some(score), None) | (None, Some(score)) => score,
                (None, None) => break,
            };
            members = inside.partition_point(|score| *score < next);
            strangers = outside.partition_point(|score| *score < next);
            let share = |count: usize, all: &[f64]| (all.len() - count) as f64 / all.len() as f64;
            curve.push((share(strangers, &outside), share(members, &inside)));
        }
        curve
    }

    /// Fixes a threshold that accuses at most this share of strangers in the first half of the trials, and
    /// counts in the second half. The counts are binomial, because what is counted did not choose the
    /// threshold.
    pub fn accusations(&self, false_positive_rate: f64) -> Accusations {
        let half = self.outside.len() / 2;
        let (first, second) = self.outside.split_at(half);
        let first = sorted(first);
        let allowed = (false_positive_rate * half as f64).floor() as usize;
        // This many of the first half are above the score in this place.
        let threshold = match half.checked_sub(allowed + 1) {
            Some(place) => first[place],
            None => f64::NEG_INFINITY,
        };
        let above = |scores: &[f64]| scores.iter().filter(|score| **score > threshold).count() as u64;
        Accusations {
            true_positives: above(&self.inside[half..]),
            false_positives: above(second),
            trials: second.len() as u64,
        }
    }
}

fn sorted(scores: &[f64]) -> Vec<f64> {
    let mut sorted = scores.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// What (ε, δ) allows every test of whether somebody was in the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// ε.
    pub epsilon: f64,
    /// δ.
    pub delta: f64,
}

impl Limit {
    /// The most members that a test accuses which accuses this share of strangers.
    ///
    /// With the release on one side of "neighbours" p_tp ≤ e^ε·p_fp + δ. With the sides exchanged, for people
    /// who are acquitted, 1 − p_fp ≤ e^ε·(1 − p_tp) + δ.
    pub fn true_positives(&self, false_positives: f64) -> f64 {
        let accused = self.epsilon.exp() * false_positives + self.delta;
        let acquitted = 1.0 - (-self.epsilon).exp() * (1.0 - false_positives - self.delta);
        accused.min(acquitted).min(1.0)
    }

    /// The corners of the limit, from p_fp = 0 to 1.
    pub fn corners(&self) -> [(f64, f64); 4] {
        // Both bounds meet where e^ε·f + δ = 1 − e^(−ε)(1−f−δ): at f = (1−δ)/(1+e^ε), on the other diagonal.
        let knee = (1.0 - self.delta) / (1.0 + self.epsilon.exp());
        [
            (0.0, self.delta),
            (knee, 1.0 - knee),
            (1.0 - self.delta, 1.0),
            (1.0, 1.0),
        ]
    }

    /// The most area under a curve: that under the limit itself.
    pub fn area(&self) -> f64 {
        let trapezoid = |pair: &[(f64, f64)]| (pair[1].0 - pair[0].0) * (pair[0].1 + pair[1].1) / 2.0;
        self.corners().windows(2).map(trapezoid).sum()
    }
}

/// What Gaussian noise allows: no test does better than telling N(0, 1) from N(μ, 1) (Dong, Roth and Su
/// 2022).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianLimit {
    /// μ: the sensitivity in standard deviations of the noise.
    pub shift: f64,
}

impl GaussianLimit {
    /// The most members that a test accuses which accuses this share of strangers: Φ(μ + Φ⁻¹(p_fp)).
    pub fn true_positives(&self, false_positives: f64) -> f64 {
        if false_positives <= 0.0 || false_positives >= 1.0 {
            return false_positives.clamp(0.0, 1.0);
        }
        // Bisection for the quantile; Φ is monotone.
        let (mut low, mut high) = (-40.0, 40.0);
        for _ in 0..100 {
            let middle = f64::midpoint(low, high);
            if normal_distribution(middle) < false_positives {
                low = middle
            } else {
                high = middle
            }
        }
        normal_distribution(self.shift + high)
    }

    /// The curve through `points` points, evenly in the threshold.
    pub fn curve(&self, points: u32) -> Vec<(f64, f64)> {
        let (first, last) = (-6.0, 6.0 + self.shift);
        (0..=points)
            .map(|point| last - (last - first) * f64::from(point) / f64::from(points.max(1)))
            .map(|threshold| {
                (
                    normal_distribution(-threshold),
                    normal_distribution(self.shift - threshold),
                )
            })
            .collect()
    }

    /// The most area under a curve: P[N(μ, 1) > N(0, 1)] = Φ(μ/√2).
    pub fn area(&self) -> f64 {
        normal_distribution(self.shift / std::f64::consts::SQRT_2)
    }
}

/// How often a standard normal number is at least this large: 1 − Φ.
pub fn upper_tail(value: f64) -> f64 {
    normal_distribution(-value)
}

/// Φ.
pub(super) fn normal_distribution(value: f64) -> f64 {
    libm::erfc(-value / std::f64::consts::SQRT_2) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(inside: &[f64], outside: &[f64]) -> Scores {
        Scores {
            inside: inside.to_vec(),
            outside: outside.to_vec(),
        }
    }

    #[test]
    fn areas_of_small_samples() {
        assert_eq!(scores(&[3.0, 4.0], &[1.0, 2.0]).area(), 1.0);
        assert_eq!(scores(&[1.0, 2.0], &[3.0, 4.0]).area(), 0.0);
        assert_eq!(scores(&[1.0, 1.0], &[1.0, 1.0]).area(), 0.5);
        assert_eq!(scores(&[2.0, 0.0], &[1.0, 1.0]).area(), 0.5);
        // (2 > 1, 2 = 2, 3 > 1, 3 > 2): 3.5 of 4; and impossible people score minus infinity.
        assert_eq!(scores(&[2.0, 3.0], &[1.0, 2.0]).area(), 0.875);
        assert_eq!(scores(&[2.0, 3.0], &[f64::NEG_INFINITY; 2]).area(), 1.0);
        assert_eq!(scores(&[3.0, 4.0], &[1.0, 2.0]).area_error(), 0.0);
        assert!(scores(&[2.0, 0.0, 1.5], &[1.0, 1.0, 3.0]).area_error() > 0.1);
    }

    #[test]
    fn the_area_is_that_under_the_curve() {
        let scores = scores(&[2.0, 3.0, 0.5, 2.0], &[1.0, 2.0, 0.0, 0.5]);
        let curve = scores.curve();
        assert_eq!((curve[0], curve[curve.len() - 1]), ((0.0, 0.0), (1.0, 1.0)));
        let area: f64 = curve
            .windows(2)
            .map(|pair| (pair[1].0 - pair[0].0) * (pair[0].1 + pair[1].1) / 2.0)
            .sum();
        assert!((area - scores.area()).abs() < 1e-12);
    }

    #[test]
    fn thresholds_are_chosen_on_one_half_and_counted_on_the_other() {
        // In the first half strangers score 0..9; a tenth of them is above 8, so 9 alone. In the second half
        // all score 100.
        let mut outside: Vec<f64> = (0..10).map(f64::from).collect();
        outside.extend([100.0; 10]);
        let inside = [[100.0; 10], [8.5; 10]].concat();
        let found = scores(&inside, &outside).accusations(0.1);
        assert_eq!(
            found,
            Accusations {
                true_positives: 10,
                false_positives: 10,
                trials: 10
            }
        );
        // None of them: above the largest.
        assert_eq!(scores(&inside, &outside).accusations(0.0).true_positives, 0);
        assert_eq!(scores(&inside, &outside).accusations(1.0).true_positives, 10);
        assert_eq!(Scores::default().accusations(0.5).trials, 0);
    }

    #[test]
    fn limits_are_what_the_formulas_say() {
        let limit = Limit {
            epsilon: 1.0,
            delta: 1e-2,
        };
        let e = std::f64::consts::E;
        assert!((limit.true_positives(0.1) - (0.1 * e + 0.01)).abs() < 1e-12);
        assert!((limit.true_positives(0.9) - (1.0 - (0.1 - 0.01) / e)).abs() < 1e-12);
        assert_eq!(limit.true_positives(1.0), 1.0);
        // Corners lie on the limit, and the area is that of a fine sum.
        for (false_positives, true_positives) in limit.corners() {
            assert!((limit.true_positives(false_positives) - true_positives).abs() < 1e-12);
        }
        let sum: f64 = (0..100_000)
            .map(|step| limit.true_positives((f64::from(step) + 0.5) / 1e5) / 1e5)
            .sum();
        assert!((sum - limit.area()).abs() < 1e-8, "{sum} {}", limit.area());
        // Without privacy loss a test is a coin.
        let none = Limit {
            epsilon: 0.0,
            delta: 0.0,
        };
        assert!((none.area() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn gaussian_limits_are_what_the_formulas_say() {
        let limit = GaussianLimit { shift: 1.0 };
        // Φ(1 + Φ⁻¹(0.5)) = Φ(1); Φ(1/√2).
        assert!((limit.true_positives(0.5) - 0.841_344_746_068_543).abs() < 1e-12);
        assert!((limit.area() - 0.760_249_938_906_524).abs() < 1e-12);
        assert_eq!(limit.true_positives(0.0), 0.0);
        for (false_positives, true_positives) in limit.curve(50) {
            assert!((limit.true_positives(false_positives) - true_positives).abs() < 1e-9);
        }
    }
}
