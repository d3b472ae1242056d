//! How the rows of a unit spread over the groups that it is in. Post-processing of noisy histograms: nothing here sees data.
//!
//! How many rows units have is seen well, in how many groups they are is seen well enough, and how many rows they have in one group is seen badly, where it matters: far out, where there
//! are few units. So that is not read from its own histogram alone. Either groups have nothing to do with units, and each row is in any of them by chance, as visits are in months. Or units
//! have groups of their own; then it follows from the other two histograms and from two numbers: how much of a unit's rows is in its first group rather than spread evenly, and how much
//! the number of groups grows with the number of rows. The histogram of rows in one group says which of these models are likely, and limits are chosen for the least error in the mean
//! over all that are.

use super::choice::{Histogram, Noise, Tail, least};
use std::collections::BTreeMap;

/// How much of a unit's rows is in its first group beyond an even share.
const FIRST: [f64; 8] = [0.0, 0.06, 0.12, 0.2, 0.32, 0.48, 0.7, 0.9];
/// How far the number of groups does not depend on the number of rows.
const APART: [f64; 3] = [0.0, 0.5, 1.0];
/// The tails of rows are looked at by this many curves.
const CURVES: usize = 12;
/// Histograms are compared where this part of the units is over, and beyond.
const COMPARED_FROM: f64 = 0.5;
/// No model is right: expected numbers are trusted up to this part of them.
const SLACK: f64 = 0.05;
/// Models that are less likely than the best by this factor say nothing.
const UNLIKELY: f64 = 0.02;
/// This many different numbers of groups are distinguished.
const GROUPS: usize = 16;
/// What a row has where units have many is taken to be what rows have in the mean, give or take this many octaves, as far as histograms do not say otherwise.
const OCTAVES: f64 = 0.5;

/// Sums of n rows lie around n times what a row has, on both sides: a number of rows is taken to reach half a row below it and above.
const HALF: f64 = 0.5;

/// Where rows in all groups together are limited, fewer groups and rows in each are taken that err hardly more.
const TOLERATED: f64 = 1.05;

/// Units of which all have about as many rows and groups.
struct Alike {
    units: f64,
    rows: f64,
    groups: f64,
}

/// How the rows of units spread over groups.
#[derive(Clone, Copy)]
enum Model {
    /// Each row is in any of all groups, by chance.
    ByChance,
    /// Units have groups of their own: numbers of `FIRST` and of `APART`.
    OfUnits { first: f64, apart: f64 },
}

/// Limits of a unit for one grouping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct GroupLimits {
    /// In how many groups it counts.
    pub(super) groups: f64,
    /// With how many rows in each.
    pub(super) in_group: f64,
    /// With how many rows in all groups together, where that is what noise covers.
    pub(super) in_all: Option<f64>,
}

/// In how many groups a unit counts, with how many rows in each and in all of them, so that the error of one group's count is least. What is cut is taken to be spread over the
/// groups evenly.
pub(super) fn best_limits(
    groups: &Tail,
    in_group: &Tail,
    rows: &Tail,
    all_groups: f64,
    noise: &Noise,
) -> GroupLimits {
    let all_groups = all_groups.max(1.0);
    let in_groups = numbers_of_groups(groups, all_groups);
    let curves = rows.few_curves(CURVES);
    let mean = rows.mean_curve();
    let of_units = FIRST
        .iter()
        .flat_map(|first| APART.map(|apart| Model::OfUnits { first: *first, apart }));
    let models: Vec<Model> = std::iter::once(Model::ByChance).chain(of_units).collect();
    let mut distributions = Distributions::of_groups(all_groups);
    let misfits: Vec<f64> = models
        .iter()
        .map(|model| {
            let units = alike(rows, &mean, &in_groups, all_groups, model);
            misfit(&units, model, &mut distributions, in_group.histogram())
        })
        .collect();
    let best = misfits.iter().copied().fold(f64::INFINITY, f64::min);
    let likely: Vec<(f64, Model)> = misfits
        .iter()
        .zip(&models)
        .map(|(misfit, model)| ((-(misfit - best) / 2.0).exp(), *model))
        .filter(|(weight, _)| *weight > UNLIKELY)
        .collect();
    let most_groups: Vec<f64> = (1..=64)
        .map(f64::from)
        .chain(groups.candidates(true).into_iter().filter(|k| *k > 64.0))
        .filter(|k| *k < all_groups)
        .chain([all_groups])
        .collect();
    let most_rows = rows.candidates(true);
    let in_all = best_in_all(&curves, rows, all_groups, noise);
    let all = |groups: f64, in_group: f64| in_all.min(groups * in_group);
    // The error of each pair, in the mean over models and curves: where its groups and rows alone are limited, and where rows in all groups together are too.
    let mut errors = [
        vec![0.0; most_groups.len() * most_rows.len()],
        vec![0.0; most_groups.len() * most_rows.len()],
    ];
    for (weight, model) in &likely {
        for (part, curve) in &curves {
            let units = alike(rows, curve, &in_groups, all_groups, model);
            let everything: f64 = units.iter().map(|one| one.units * one.rows).sum();
            let over = units.iter().map(|one| one.units * (one.rows - in_all).max(0.0));
            let over = over.sum::<f64>() / all_groups;
            // What is kept in all groups for each limit of rows, by the number of groups.
            let mut kept: Vec<(f64, Vec<f64>)> = Vec::new();
            for one in &units {
                let place = match kept.iter().position(|(groups, _)| *groups == one.groups) {
                    Some(place) => place,
                    None => {
                        kept.push((one.groups, vec![0.0; most_rows.len()]));
                        kept.len() - 1
                    }
                };
                let distribution = distributions.of(one, model);
                for (sum, m) in kept[place].1.iter_mut().zip(&most_rows) {
                    *sum += one.units * distribution.kept(*m);
                }
            }
            for m_place in 0..most_rows.len() {
                for (k_place, k) in most_groups.iter().enumerate() {
                    let kept: f64 = kept
                        .iter()
                        .map(|(groups, all)| all[m_place] * (k / groups).min(1.0))
                        .sum();
                    let bias = (everything - kept).max(0.0) / all_groups;
                    let m = most_rows[m_place];
                    let place = m_place * most_groups.len() + k_place;
                    errors[0][place] += weight * part * bias.hypot(noise.of(*k, m));
                    // What both cut is counted twice.
                    errors[1][place] += weight * part * (bias + over).hypot(noise.of_all(all(*k, m), m));
                }
            }
        }
    }
    let pair = |place: usize| {
        let (groups, rows) = (place % most_groups.len(), place / most_groups.len());
        (most_groups[groups], most_rows[rows])
    };
    let found = |errors: &Vec<f64>, tolerated: f64, in_all: Option<f64>| {
        let best = errors.iter().copied().fold(f64::INFINITY, f64::min);
        let good = (0..errors.len()).filter(|place| errors[*place] <= best * tolerated);
        let place = least(good.collect(), |place: &usize| pair(*place).0 * pair(*place).1)?;
        let (groups, in_group) = pair(place);
        let limits = GroupLimits {
            groups,
            in_group,
            in_all,
        };
        Some((errors[place], limits))
    };
    let [by_group, together] = &errors;
    let by_group = found(by_group, 1.0, None);
    // Medians and distinct counts pay for the groups and the rows in each.
    let together = found(together, TOLERATED, Some(in_all));
    let together = together.filter(|(_, limits)| in_all < limits.groups * limits.in_group);
    let best = match (by_group, together) {
        (Some(one), Some(other)) if other.0 < one.0 => Some(other),
        (one, other) => one.or(other),
    };
    best.map_or(
        GroupLimits {
            groups: 1.0,
            in_group: 1.0,
            in_all: None,
        },
        |(_, limits)| limits,
    )
}

/// How many rows of a unit count in all groups together, so that the error of one group's count is least where nothing else limits them.
fn best_in_all(curves: &[(f64, Vec<f64>)], rows: &Tail, all_groups: f64, noise: &Noise) -> f64 {
    let edges = rows.edges();
    // Units over each number of rows, summed up from there, are the rows beyond it.
    let beyond = |over: &[f64], limit: f64| -> f64 {
        let mut sum = 0.0;
        for place in 0..edges.len() {
            let low = place
                .checked_sub(1)
                .map_or(0.0, |before| edges[before])
                .max(limit);
            let high = edges[place];
            let before = place.checked_sub(1).map_or(rows.units, |before| over[before]);
            if high > low {
                sum += (high - low) * f64::midpoint(before, over[place]);
            }
        }
        sum
    };
    let error = |limit: &f64| -> f64 {
        let of_curve = |(part, over): &(f64, Vec<f64>)| {
            part * (beyond(over, *limit) / all_groups).hypot(noise.of_all(*limit, *limit))
        };
        curves.iter().map(of_curve).sum()
    };
    least(rows.candidates(true), error).unwrap_or(1.0)
}

/// Which part of the units is in how many groups, in ascending order.
fn numbers_of_groups(groups: &Tail, all_groups: f64) -> Vec<(f64, f64)> {
    let mut found: Vec<(f64, f64)> = Vec::new();
    let seen = groups.histogram();
    let mut before = groups.units;
    for ((edge, over), counted) in groups.edges().iter().zip(groups.mean_curve()).zip(&seen.counts) {
        // What is seen needs no curve. Beyond it, a curve says how many there are; nobody is in more groups than there are.
        let here = if *edge <= groups.largest {
            *counted
        } else {
            before - over
        };
        before = before.min(over);
        if here > 0.0 {
            let groups = edge.min(all_groups);
            match found.last_mut() {
                Some((last, sum)) if *last == groups => *sum += here,
                _ => found.push((groups, here)),
            }
        }
    }
    while found.len() > GROUPS {
        let pairs: Vec<(f64, f64)> = found
            .chunks(2)
            .map(|pair| {
                let units: f64 = pair.iter().map(|(_, units)| units).sum();
                let all: f64 = pair.iter().map(|(groups, units)| groups * units).sum();
                (all / units, units)
            })
            .collect();
        found = pairs;
    }
    if found.is_empty() {
        return vec![(1.0, 1.0)];
    }
    let all: f64 = found.iter().map(|(_, units)| units).sum();
    found
        .into_iter()
        .map(|(groups, units)| (groups, units / all))
        .collect()
}

/// Units by their rows, as a curve says, and groups.
fn alike(rows: &Tail, over: &[f64], in_groups: &[(f64, f64)], all_groups: f64, model: &Model) -> Vec<Alike> {
    let edges = rows.edges();
    let all = over.iter().copied().fold(rows.units, f64::max);
    let mut below = 0.0;
    let mut units = Vec::new();
    for place in 0..edges.len() {
        let (before, edge_before) = match place.checked_sub(1) {
            Some(before) => (over[before], edges[before]),
            None => (all, edges[0] - 1.0),
        };
        let here = (before - over[place]).max(0.0);
        if here <= 0.0 {
            continue;
        }
        let rows = if edges[place] - edge_before <= 1.0 {
            edges[place]
        } else {
            f64::midpoint(edge_before, edges[place])
        };
        let Model::OfUnits { apart, .. } = model else {
            // As many as are not empty, in the mean.
            let groups = -all_groups * (rows * (-1.0 / all_groups).ln_1p()).exp_m1();
            units.push(Alike {
                units: here,
                rows,
                groups,
            });
            continue;
        };
        let (from, to) = (below / all, (below + here) / all);
        below += here;
        let mut reached = 0.0;
        for (groups, part) in in_groups {
            // As many groups as the units of this rank have, if those with more rows have more groups.
            let overlap = ((reached + part).min(to) - f64::max(reached, from)).max(0.0) / (to - from);
            reached += part;
            let share = apart * part + (1.0 - apart) * overlap;
            if share > 0.0 {
                units.push(Alike {
                    units: here * share,
                    rows,
                    groups: groups.min(rows).round().max(1.0),
                });
            }
        }
    }
    units
}

/// How the rows of units that are alike spread over groups.
struct Distribution {
    groups: f64,
    first: Binomial,
    others: Binomial,
}

impl Distribution {
    fn new(one: &Alike, all_groups: f64, model: &Model) -> Self {
        let Model::OfUnits { first, .. } = model else {
            let any = || Binomial::new(0.0, one.rows, 1.0 / all_groups);
            return Self {
                groups: all_groups,
                first: any(),
                others: any(),
            };
        };
        // One row in each of the unit's groups, and every other row in one of them by chance.
        let groups = one.groups.round().max(1.0);
        let more = (one.rows.round() - groups).max(0.0);
        let share = 1.0 / groups + first * (1.0 - 1.0 / groups);
        let rest = if groups > 1.0 {
            (1.0 - share) / (groups - 1.0)
        } else {
            0.0
        };
        Self {
            groups,
            first: Binomial::new(1.0, more, share),
            others: Binomial::new(1.0, more, rest),
        }
    }

    /// What is kept in all groups together where at most this many rows count in each.
    fn kept(&self, most: f64) -> f64 {
        self.first.kept(most) + (self.groups - 1.0) * self.others.kept(most)
    }

    /// How likely no group has more than this many rows.
    fn none_over(&self, rows: f64) -> f64 {
        self.first.up_to(rows) * self.others.up_to(rows).powf(self.groups - 1.0)
    }
}

/// The number of successes of this many trials, and `least` more.
struct Binomial {
    least: f64,
    trials: f64,
    chance: f64,
    /// For `least`, `least` + 1 and so on: how likely it is at most that, and the mean of it where whatever is more counts as that. Empty where the normal distribution stands for it.
    table: Vec<(f64, f64)>,
}

/// From this mean on the normal distribution stands for the binomial.
const NORMAL_FROM: f64 = 60.0;

impl Binomial {
    fn new(least: f64, trials: f64, chance: f64) -> Self {
        let mut table = Vec::new();
        let certain = chance >= 1.0 || trials * chance <= 0.0;
        if !certain && trials * chance < NORMAL_FROM && trials * (1.0 - chance) >= 1.0 {
            let odds = chance / (1.0 - chance);
            let mut likely = (trials * (-chance).ln_1p()).exp();
            let (mut up_to, mut kept) = (0.0, least);
            for successes in 0..1000 {
                up_to += likely;
                table.push((up_to, kept));
                kept += (1.0 - up_to).max(0.0);
                let successes = f64::from(successes);
                likely *= (trials - successes).max(0.0) / (successes + 1.0) * odds;
                if 1.0 - up_to < 1e-9 {
                    break;
                }
            }
        }
        Self {
            least,
            trials,
            chance,
            table,
        }
    }

    fn mean(&self) -> f64 {
        self.least + self.trials * self.chance
    }

    fn deviation(&self) -> f64 {
        (self.trials * self.chance * (1.0 - self.chance)).max(0.0).sqrt()
    }

    /// The mean of it, and of `most` where it is more.
    fn kept(&self, most: f64) -> f64 {
        if !self.table.is_empty() {
            let place = (most.floor() - self.least).max(0.0) as usize;
            return self.table[place.min(self.table.len() - 1)].1;
        }
        let (mean, deviation) = (self.mean(), self.deviation());
        if deviation < 1e-9 {
            return mean.min(most);
        }
        let distance = (mean - most) / deviation;
        let density = (-distance * distance / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
        mean - deviation * (distance * normal(distance) + density).max(0.0)
    }

    /// How likely it is at most this.
    fn up_to(&self, number: f64) -> f64 {
        if !self.table.is_empty() {
            let place = number.floor() - self.least;
            return match self.table.get(place.max(0.0) as usize) {
                _ if place < 0.0 => 0.0,
                Some((up_to, _)) => *up_to,
                None => 1.0,
            };
        }
        let (mean, deviation) = (self.mean(), self.deviation());
        if deviation < 1e-9 {
            return f64::from(u8::from(mean <= number));
        }
        normal((number + 0.5 - mean) / deviation)
    }
}

/// Distributions by rows, groups and the share of the first group: the same for all curves.
struct Distributions {
    all_groups: f64,
    known: BTreeMap<(u64, u64, Option<u64>), Distribution>,
}

impl Distributions {
    fn of_groups(all_groups: f64) -> Self {
        Self {
            all_groups,
            known: BTreeMap::new(),
        }
    }

    fn of(&mut self, one: &Alike, model: &Model) -> &Distribution {
        let first = match model {
            Model::ByChance => None,
            Model::OfUnits { first, .. } => Some(first.to_bits()),
        };
        self.known
            .entry((one.rows.to_bits(), one.groups.to_bits(), first))
            .or_insert_with(|| Distribution::new(one, self.all_groups, model))
    }
}

/// How badly a model agrees with the histogram of rows in one group.
fn misfit(units: &[Alike], model: &Model, distributions: &mut Distributions, seen: &Histogram) -> f64 {
    let mut expected = vec![0.0; seen.counts.len()];
    for one in units {
        let distribution = distributions.of(one, model);
        let mut before = 0.0;
        for (bucket, edge) in seen.edges.iter().enumerate() {
            let up_to = distribution.none_over(*edge);
            expected[bucket] += one.units * (up_to - before);
            before = up_to;
            if up_to > 1.0 - 1e-9 {
                break;
            }
        }
    }
    disagreement(&expected, seen)
}

/// How badly expected numbers agree with those of a histogram, in its upper part, in steps of half an octave.
fn disagreement(expected: &[f64], seen: &Histogram) -> f64 {
    let all: f64 = expected.iter().sum();
    let mut over = all;
    let mut sum = 0.0;
    let (mut buckets, mut counted, mut wanted) = (0u32, 0.0, 0.0);
    let mut start: Option<f64> = None;
    let last = expected.iter().rposition(|units| *units >= 1.0).unwrap_or(0);
    let end = 8.0 * seen.edges[last.min(seen.edges.len() - 1)];
    for (bucket, edge) in seen.edges.iter().enumerate() {
        over -= expected[bucket];
        let Some(from) = start else {
            start = (over <= COMPARED_FROM * all).then_some(*edge);
            continue;
        };
        // Some way beyond what is expected, what is there speaks against it; further out there is only noise.
        if *edge > end {
            break;
        }
        buckets += 1;
        counted += seen.counts[bucket];
        wanted += expected[bucket];
        if *edge >= 1.4 * from.max(1e-300) {
            let variance =
                f64::from(buckets) * seen.deviation.powi(2) + wanted.abs() + (SLACK * wanted).powi(2);
            sum += (counted - wanted).powi(2) / variance;
            start = Some(*edge);
            (buckets, counted, wanted) = (0, 0.0, 0.0);
        }
    }
    sum
}

/// What units have of something of which each row has a part, as a sum: its tail is taken to fall as that of rows does, by a scale that agrees with its histogram. With the likeliest scale: what one
/// row has, where units have much.
pub(super) fn in_proportion(rows: &Tail, sums: &Tail) -> (Tail, f64) {
    let seen = sums.histogram();
    let mean = rows.mean_curve();
    let to_sums = sums.units / rows.units;
    let first = sums.mean / rows.mean.max(f64::MIN_POSITIVE);
    let scales: Vec<(f64, f64)> = (-24..=48)
        .map(|step| f64::from(step) / 24.0)
        .map(|octaves| (octaves, first * octaves.exp2()))
        .collect();
    let misfits: Vec<f64> = scales
        .iter()
        .map(|(octaves, scale)| {
            let over = |edge: f64| rows.over_by(&mean, edge / scale - HALF) * to_sums;
            let mut before = sums.units;
            let mut expected: Vec<f64> = Vec::new();
            for edge in &seen.edges {
                let here = over(*edge);
                expected.push((before - here).max(0.0));
                before = before.min(here);
            }
            expected.push(before);
            disagreement(&expected, seen) + (octaves / OCTAVES).powi(2)
        })
        .collect();
    let best = misfits.iter().copied().fold(f64::INFINITY, f64::min);
    let mut curves = Vec::new();
    let (mut weights, mut logarithms) = (0.0, 0.0);
    let edges: Vec<f64> = rows.edges().iter().map(|edge| edge * first).collect();
    for (misfit, (_, scale)) in misfits.iter().zip(&scales) {
        let weight = (-(misfit - best) / 2.0).exp();
        if weight < UNLIKELY {
            continue;
        }
        weights += weight;
        logarithms += weight * scale.ln();
        for (part, curve) in rows.few_curves(CURVES) {
            let over = |edge: &f64| rows.over_by(&curve, edge / scale - HALF) * to_sums;
            curves.push((weight * part, edges.iter().map(over).collect()));
        }
    }
    (sums.with_curves(edges, curves), (logarithms / weights).exp())
}

/// The standard normal distribution, to a few ten-thousandths.
fn normal(number: f64) -> f64 {
    1.0 / (1.0 + (-1.5976 * number - 0.070_56 * number.powi(3)).exp())
}
