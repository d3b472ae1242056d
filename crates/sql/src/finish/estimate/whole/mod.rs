//! What released numbers say about all data, beyond the limits: best estimates and intervals. Post-processing: nothing here sees data.
//!
//! Three releases tell of a number that limits cut: the question's own (*near*: little noise, and what is cut is missing), the same under wide limits (*far*: much noise, and nothing is
//! missing, as long as nobody is over the wide limits too), and the part of everything that is cut (*c*, one number for all groups).
//!
//! # The best estimate
//! Without groups the truth is near plus what is cut. With groups, each loses about the same part, so that near/(1 − c) is close to the truth m. It errs by
//! - the noise of near, over 1 − c;
//! - the noise of c, times m/(1 − c);
//! - chance: what is cut comes in lumps, one for each unit over a limit. If a lump is ℓ on average and of any size about as likely as an exponential number, the lumps of a group
//!   have a variance of 2·ℓ·c·m;
//! - groups that are unlike: of a group [`UNEQUAL`] of c more or less may be cut.
//!
//! The far value tells the same number with an error of its own, so the two are weighed by their precision. It also shows whether groups lose less equally than that: if they are
//! farther apart than their errors allow, the part that groups differ by is taken from what was seen, and a group whose two values contradict each other is told by its far value alone.
//!
//! What the interval assumes beyond the noise is said in the answer: nobody is over the wide limits, and groups lose about the same part.

use super::{CONFIDENCE, Estimate, Reading, Seen, normal_quantile};
use crate::understand::aggregation::Output;

/// A number that noise was added to, and half of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Noisy {
    pub(crate) value: f64,
    pub(crate) half: f64,
}

/// The part of a statistic that is cut in all groups together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CutShare {
    /// Which statistic of the question it is about.
    pub(crate) statistic: usize,
    /// Units over a limit.
    pub(crate) over: Noisy,
    /// What all units have.
    pub(crate) everything: Noisy,
    /// What of it is cut.
    pub(crate) cut: Noisy,
}

/// How much more or less of a group may be cut than of all, as a part of what is cut of all: one standard deviation.
const UNEQUAL: f64 = 0.3;

/// The part must be known to be less than this; of more, too little is left to tell the rest from.
const TELLING: f64 = 0.8;

/// A wide value stands in for one that was cut short where half of its interval is at most this part of it.
const TRUSTED: f64 = 0.2;

/// An upper end says nothing where it is so many times as far above the value as the value above zero.
const TOO_FAR: f64 = 9.0;

/// Two values of a group contradict each other so many deviations apart.
const CONTRADICTION: f64 = 4.0;

impl CutShare {
    /// The part, and its standard deviation; `None` where it is not telling.
    fn part(&self) -> Option<(f64, f64)> {
        let z = normal_quantile(f64::midpoint(1.0, CONFIDENCE));
        let (cut, everything) = (self.cut, self.everything);
        if everything.value <= 0.0 || everything.half >= everything.value {
            return None;
        }
        let part = (cut.value / everything.value).clamp(0.0, 1.0);
        let deviation = cut.half.hypot(part * everything.half) / everything.value / z;
        (part + z * deviation < TELLING).then_some((part, deviation))
    }

    /// What is cut of a unit over a limit, on average.
    fn lump(&self) -> f64 {
        // At least one unit is over where anything is cut.
        self.cut.value.max(0.0) / self.over.value.max(1.0)
    }
}

/// The estimates of an output for all data.
pub(crate) struct Whole {
    pub(crate) estimates: Vec<Estimate>,
    /// Whether they rest on groups losing about the same part.
    pub(crate) alike: bool,
}

/// The estimates of an output for all data, from the question, the same under wide limits and the part that is cut; `None` where nothing shows that anything was cut.
///
/// A count, or a sum of what is not negative, only grows with what counts: it is at least what the question itself saw.
pub(crate) fn whole_data(
    (question, output): (&Seen<'_>, &Output),
    (wide, wide_output): (&Seen<'_>, &Output),
    cut: Option<&CutShare>,
    noticed: bool,
) -> Option<Whole> {
    let (near, far) = (question.reader(), wide.reader());
    let statistic = match output {
        Output::Plain { statistic } => Some(*statistic),
        _ => None,
    };
    let grows = statistic.is_some_and(|statistic| question.aggregation.statistics[statistic].low >= 0);
    let groups = question.released.groups.len();
    // Also where the overview saw nothing, a value may be too low for the wide limits.
    let sure = 1.0 - 0.01 / groups.max(1) as f64;
    let too_low = |group: usize| {
        let ends = near
            .read(output, group, sure)
            .1
            .zip(far.read(wide_output, group, sure).1);
        grows && ends.is_some_and(|(near, far)| near.1 < far.0)
    };
    if !noticed && !(0..groups).any(too_low) {
        return None;
    }
    let share = cut.filter(|cut| grows && statistic == Some(cut.statistic));
    let best = share.and_then(|share| {
        let pairs = (0..groups).map(|group| Pair {
            near: noisy(near.read(output, group, CONFIDENCE)),
            far: noisy(far.read(wide_output, group, CONFIDENCE)),
        });
        corrected(
            share,
            &pairs.collect::<Vec<_>>(),
            !question.aggregation.keys.is_empty(),
        )
    });
    if let Some(best) = best {
        let estimates = best.into_iter().map(Best::estimate).collect();
        let alike = !question.aggregation.keys.is_empty();
        return Some(Whole { estimates, alike });
    }
    let read = |group: usize, confidence: f64| -> Reading {
        let each = f64::midpoint(1.0, confidence);
        let own = near.read(output, group, each);
        let ends = far.read(wide_output, group, if grows { each } else { confidence });
        by_far(own, ends, grows)
    };
    let estimates = (0..groups).map(|group| {
        let (value, interval) = read(group, CONFIDENCE);
        let (_, wide) = read(group, f64::midpoint(1.0, CONFIDENCE));
        Estimate {
            value,
            interval,
            wide,
        }
    });
    Some(Whole {
        estimates: estimates.collect(),
        alike: false,
    })
}

/// What the value under wide limits tells of a group, beside the question's own.
///
/// Under wide limits nothing is cut, as long as nobody is over them, so their interval holds the truth of all data. Of what only grows the lower end is the higher one of both. Three
/// ends may fail, each with a quarter of what is left of the confidence. A value that lies outside is known to be cut short, and the wide one stands in its place, where it is
/// precise enough; else the interval is widened to hold both. An upper end that says nothing is left open.
fn by_far(own: Reading, far: Reading, grows: bool) -> Reading {
    let ((value, own), (wide_value, ends)) = (own, far);
    let Some((low, high)) = ends else {
        return (value, None);
    };
    let low = match own {
        Some((least, _)) if grows => low.max(least),
        _ => low,
    };
    let high = high.max(low);
    // Of many groups, those whose wide value is large by chance would be the first in any order: so it stands in only where its own noise is small beside it.
    let trusted = wide_value.filter(|wide| (high - low) / 2.0 <= TRUSTED * wide.abs());
    let (value, (low, high)) = match (value, trusted) {
        (Some(value), _) if low <= value && value <= high => (Some(value), (low, high)),
        (_, Some(wide)) => (Some(wide.clamp(low, high)), (low, high)),
        (Some(value), None) => (Some(value), (low.min(value), high.max(value))),
        (None, None) => (None, (low, high)),
    };
    let says_nothing = value.is_some_and(|value| low > 0.0 && high - value > TOO_FAR * value);
    let high = if grows && says_nothing {
        f64::INFINITY
    } else {
        high
    };
    (value, Some((low, high)))
}

/// A value with half of its interval, where it has both.
fn noisy((value, interval): Reading) -> Option<Noisy> {
    let (value, (low, high)) = value.zip(interval)?;
    Some(Noisy {
        value,
        half: (high - low) / 2.0,
    })
}

/// What is known of one group.
#[derive(Clone, Copy, Debug)]
struct Pair {
    near: Option<Noisy>,
    far: Option<Noisy>,
}

/// Where half as much may lie outside, an interval of Laplace noise is so many times as wide as at 95 %: ln 40 / ln 20. That of Gaussian noise is 1.14 times.
const TAILS: f64 = 1.2314;

/// A best estimate: its value, its standard deviation, and what it is at least.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Best {
    value: f64,
    deviation: f64,
    /// What the question itself saw, and the deviation of its noise.
    least: (f64, f64),
}

impl Best {
    /// Within so many deviations. The lower end is the higher of two, so what the question saw has half of the rest of the confidence.
    fn interval(self, deviations: f64) -> (f64, f64) {
        let least = self.least.0 - TAILS * deviations * self.least.1;
        let low = (self.value - deviations * self.deviation).max(least);
        (low, (self.value + deviations * self.deviation).max(low))
    }

    fn estimate(self) -> Estimate {
        let deviations = normal_quantile(f64::midpoint(1.0, CONFIDENCE));
        let interval = self.interval(deviations);
        Estimate {
            value: Some(self.value.clamp(interval.0, interval.1)),
            interval: Some(interval),
            wide: Some(self.interval(TAILS * deviations)),
        }
    }
}

/// The best estimates of all groups; `None` where the part that is cut is not telling, or a group has no value.
fn corrected(share: &CutShare, pairs: &[Pair], grouped: bool) -> Option<Vec<Best>> {
    let (part, deviation) = share.part()?;
    let z = normal_quantile(f64::midpoint(1.0, CONFIDENCE));
    let spread = |noisy: Noisy| noisy.half / z;
    let nears: Vec<Noisy> = pairs.iter().map(|pair| pair.near).collect::<Option<_>>()?;
    if !grouped {
        let all = nears.iter().zip(pairs).map(|(near, pair)| {
            let deviation = spread(*near).hypot(spread(share.cut));
            let value = near.value + share.cut.value.max(0.0);
            weighed(
                (value, deviation),
                pair.far.map(|far| (far.value, spread(far))),
                *near,
                z,
            )
        });
        return Some(all.collect());
    }
    let left = 1.0 - part;
    // The error of a group's value but for groups that are unlike, and what that is to be multiplied with.
    let errors = |near: Noisy| {
        let whole = near.value.max(0.0) / left;
        let noise = spread(near) / left;
        let of_part = whole / left * deviation;
        let lumps = 2.0 * share.lump() * part * whole;
        let unlike = whole / left * part;
        (noise * noise + of_part * of_part + lumps, unlike)
    };
    let seen: Vec<(f64, f64, f64)> = nears
        .iter()
        .zip(pairs)
        .filter_map(|(near, pair)| {
            let far = pair.far?;
            let (variance, unlike) = errors(*near);
            Some((
                far.value - near.value / left,
                variance + spread(far).powi(2),
                unlike,
            ))
        })
        .collect();
    let unequal = UNEQUAL.max(seen_unequal(&seen));
    let all = nears.iter().zip(pairs).map(|(near, pair)| {
        let (variance, unlike) = errors(*near);
        let deviation = (variance + (unequal * unlike).powi(2)).sqrt();
        let far = pair.far.map(|far| (far.value, spread(far)));
        let own = (near.value / left, deviation);
        let contradicts = far.filter(|far| (far.0 - own.0).abs() > CONTRADICTION * own.1.hypot(far.1));
        match contradicts {
            Some((value, deviation)) => Best {
                value,
                deviation,
                least: (near.value, spread(*near)),
            },
            None => weighed(own, far, *near, z),
        }
    });
    Some(all.collect())
}

/// Two values of one number, each with its deviation, weighed by precision.
fn weighed(own: (f64, f64), far: Option<(f64, f64)>, near: Noisy, z: f64) -> Best {
    let least = (near.value, near.half / z);
    let (value, deviation) = match far {
        // Without any noise there is nothing to weigh.
        Some(far) if own.1 > 0.0 => {
            let both = own.1.hypot(far.1);
            let part = (own.1 / both).powi(2);
            (own.0 + part * (far.0 - own.0), own.1 * (far.1 / both))
        }
        _ => own,
    };
    Best {
        value,
        deviation,
        least,
    }
}

/// By how much groups differ in the part that is cut of them, where differences show more than noise explains: each is (difference, its variance without that, what the part is multiplied with).
///
/// The squares of differences over what is expected average to one where groups differ as assumed. The smallest factor that brings the average to one is looked for by halving.
fn seen_unequal(seen: &[(f64, f64, f64)]) -> f64 {
    let average = |unequal: f64| {
        let squares = seen.iter().map(|(difference, variance, unlike)| {
            difference.powi(2) / (variance + (unequal * unlike).powi(2))
        });
        squares.sum::<f64>() / seen.len() as f64
    };
    let chance = 1.0 + 2.0 * (2.0 / seen.len() as f64).sqrt();
    if seen.is_empty() || average(UNEQUAL) <= chance {
        return UNEQUAL;
    }
    let (mut low, mut high) = (UNEQUAL, 1e3);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if average(middle) > 1.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// About how wide half of a best interval is of a group of this size, if this part of it is cut: for explanations, before anything is known of the data.
pub(crate) fn expected_half_width(near: f64, far: f64, size: f64, part: f64) -> f64 {
    let z = normal_quantile(f64::midpoint(1.0, CONFIDENCE));
    let left = 1.0 - part;
    let own = (near / left).hypot(z * UNEQUAL * part * size / left);
    (own.powi(-2) + far.powi(-2)).sqrt().recip()
}

#[cfg(test)]
mod tests;
