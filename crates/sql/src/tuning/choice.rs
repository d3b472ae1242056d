//! Choosing limits from noisy histograms of units. Post-processing: nothing here sees data.
//!
//! The best limit is where what it cuts and the noise that it needs are together least. With the noise of a usual question that is where a handful of units are over it,
//! and a histogram for a tenth of that ε does not see a handful. So the tail is looked at where it is seen, and continued by curves that agree with it: power laws, parabolas in
//! logarithms (as of lognormal distributions) and stretched exponentials. Each counts with its likelihood, and the limit is that of the least error in the mean over them, in parts of the least that each allows, because a
//! limit that is too low costs far more than one that is too high.

/// Noisy numbers of units by bucket: bucket j holds those over `edges[j − 1]` and not over `edges[j]`; the last, those over all edges.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    pub(super) edges: Vec<f64>,
    pub(super) counts: Vec<f64>,
    /// The standard deviation of each number: that of Laplace noise.
    pub(super) deviation: f64,
    /// Whether only whole numbers are put into buckets.
    pub(super) whole: bool,
}

/// The noise of a question, as a standard deviation, for a unit that moves one number by one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noise {
    pub(super) laplace: f64,
    pub(super) gaussian: Option<f64>,
}

impl Noise {
    /// Where a unit moves this many numbers, each by at most `step`.
    pub(super) fn of(&self, numbers: f64, step: f64) -> f64 {
        let laplace = self.laplace * numbers * step;
        let gaussian = self
            .gaussian
            .map_or(f64::INFINITY, |one| one * numbers.sqrt() * step);
        laplace.min(gaussian)
    }

    /// Where a unit moves numbers by at most `all` together, and each by at most `step`.
    pub(super) fn of_all(&self, all: f64, step: f64) -> f64 {
        let laplace = self.laplace * all;
        let gaussian = self
            .gaussian
            .map_or(f64::INFINITY, |one| one * (all * step.min(all)).sqrt());
        laplace.min(gaussian)
    }
}

/// A bucket is seen when it, or it and the ones before it together, are this many deviations above nothing. Of some thousand looks, one is deceived in eight histograms
/// or fewer; then a limit is larger than it need be.
const SEEN: f64 = 6.0;
/// This many buckets at most are looked at together.
const TOGETHER: usize = 8;
/// Curves begin where this part of the units is over.
const BEGIN: f64 = 0.3;
/// They begin further out where that agrees better. Each bucket that is taken as it is instead costs this misfit, since a number of its own always fits: between Akaike's criterion (2) and
/// Schwarz's (the logarithm of the number of units, 10 where there are 20,000). With less, tails that fall evenly are seen worse; with more, those that have a shoulder.
const AS_IT_IS: f64 = 6.0;
/// They are compared with the next this many buckets: six octaves.
const COMPARED: usize = 48;
/// Curves that are less likely than the best by e to this power say nothing.
const UNLIKELY: f64 = 12.0;

/// How many units are over each of many numbers, as the curves say that agree with a histogram.
#[derive(Clone, Debug)]
pub(super) struct Tail {
    /// Ascending, beyond all that was seen.
    edges: Vec<f64>,
    /// For each curve its weight and the units over each edge.
    curves: Vec<(f64, Vec<f64>)>,
    pub(super) units: f64,
    /// The mean of what was put into buckets.
    pub(super) mean: f64,
    /// The end of the last bucket that was seen.
    pub(super) largest: f64,
    /// What it was made of.
    seen: Histogram,
}

impl Tail {
    /// `None` where nothing is seen above the noise.
    pub(super) fn of(histogram: &Histogram) -> Option<Self> {
        let Histogram {
            edges,
            counts,
            deviation,
            ..
        } = histogram;
        // The least number of buckets from this one on that are seen together. The last bucket has no end: who is in it is over all limits, whatever they are.
        let seen = |from: usize| {
            (1..=TOGETHER.min(edges.len() - from)).find(|width| {
                let sum: f64 = counts[from..from + width].iter().sum();
                sum > SEEN * deviation * (*width as f64).sqrt()
            })
        };
        let last = (0..edges.len())
            .filter_map(|from| seen(from).map(|width| from + width - 1))
            .max()?;
        let units: f64 = counts[..=last].iter().sum::<f64>().max(1.0);
        // Units over edge j, as far as buckets are seen; made to fall.
        let mut over: Vec<f64> = (0..=last)
            .map(|edge| counts[edge + 1..=last].iter().sum::<f64>().max(0.0))
            .collect();
        for edge in (0..last).rev() {
            over[edge] = over[edge].max(over[edge + 1]);
        }
        let blur = |edge: usize| deviation * ((last - edge).max(1) as f64).sqrt();
        let surely = |part: f64, times: f64| {
            (0..=last)
                .rev()
                .find(|edge| edges[*edge] > 0.0 && over[*edge] > (part * units).max(times * blur(*edge)))
        };
        let (edges, curves, unseen) = match surely(BEGIN, 8.0).or_else(|| surely(0.0, 4.0)) {
            Some(begin) => {
                let end = edges.len().min(begin + 1 + COMPARED);
                // Where curves do not agree with the next buckets, those are taken as they are, and curves begin further out.
                let begins = begin..=surely(0.0, 8.0).map_or(begin, |last| last.clamp(begin, end - 1));
                let mut found: Vec<(f64, Vec<f64>)> = Vec::new();
                for from in begins {
                    let penalty = AS_IT_IS * (from - begin) as f64;
                    let here =
                        curves_from(&edges[from..end], &counts[from + 1..end], last - from, *deviation);
                    // Those that are unlikely so far will not become likely: there would be very many.
                    let best = here.iter().map(|(misfit, _)| misfit + penalty);
                    let best = best.chain(found.iter().map(|(misfit, _)| *misfit));
                    let best = best.fold(f64::INFINITY, f64::min);
                    found.retain(|(misfit, _)| misfit - best < UNLIKELY);
                    let here = here
                        .into_iter()
                        .filter(|(misfit, _)| misfit + penalty - best < UNLIKELY);
                    for (misfit, tail) in here {
                        // Who is beyond all that is seen is over every edge before it too.
                        let unseen = tail[0] - over[from];
                        let head = over[..from].iter().map(|units| units + unseen);
                        found.push((misfit + penalty, head.chain(tail.iter().copied()).collect()));
                    }
                }
                let curves = likely(found);
                let unseen = mean(
                    curves
                        .iter()
                        .map(|(weight, curve)| (*weight, curve[begin] - over[begin])),
                );
                (edges[..end].to_vec(), curves, unseen)
            }
            // All are in the first buckets: nobody is over the last that is seen.
            None => (edges[..=last].to_vec(), vec![(1.0, over)], 0.0),
        };
        let mut tail = Self {
            edges,
            curves,
            units: (units + unseen).max(1.0),
            mean: 0.0,
            largest: histogram.edges[last],
            seen: histogram.clone(),
        };
        tail.mean = tail.mean_of_curves();
        Some(tail)
    }

    /// The mean of what was put into buckets, as the curves say. Not from the buckets themselves: far out, where nobody is, the noise of one of them times its place is more than all that units have.
    fn mean_of_curves(&self) -> f64 {
        let (mut before, mut from, mut sum, mut units) = (self.units, 0.0_f64, 0.0, 0.0);
        for (place, (edge, over)) in self.edges.iter().zip(self.mean_curve()).enumerate() {
            let here = (before - over).max(0.0);
            let middle = match place {
                0 => *edge,
                _ if self.seen.whole => f64::midpoint(from.floor() + 1.0, edge.floor()).max(from),
                _ => f64::midpoint(from, *edge),
            };
            sum += here * middle;
            units += here;
            (before, from) = (before.min(over), *edge);
        }
        sum / units.max(1.0)
    }

    pub(super) fn edges(&self) -> &[f64] {
        &self.edges
    }

    /// Units over any number, by the units over each edge.
    pub(super) fn over_by(&self, curve: &[f64], number: f64) -> f64 {
        let above = self.edges.partition_point(|edge| *edge < number);
        let Some(edge) = self.edges.get(above) else {
            return 0.0;
        };
        let (before, edge_before) = match above.checked_sub(1) {
            Some(before) => (curve[before], self.edges[before]),
            None => (self.units, 0.0),
        };
        before + (number - edge_before) / (edge - edge_before) * (curve[above] - before)
    }

    /// The same units with other curves.
    pub(super) fn with_curves(&self, edges: Vec<f64>, curves: Vec<(f64, Vec<f64>)>) -> Self {
        Self {
            edges,
            curves,
            ..self.clone()
        }
    }

    pub(super) fn histogram(&self) -> &Histogram {
        &self.seen
    }

    /// Units over each edge, in the mean over the curves.
    pub(super) fn mean_curve(&self) -> Vec<f64> {
        (0..self.edges.len()).map(|edge| self.mean_over(edge)).collect()
    }

    /// A few curves that stand for all, in the order of what they have far out: each with the weight of those that it stands for.
    pub(super) fn few_curves(&self, number: usize) -> Vec<(f64, Vec<f64>)> {
        let mut all: Vec<(f64, f64, &Vec<f64>)> = self
            .curves
            .iter()
            .map(|(weight, over)| (over[over.len() / 2..].iter().sum::<f64>(), *weight, over))
            .collect();
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        let weights: f64 = all.iter().map(|(_, weight, _)| weight).sum();
        let mut few = Vec::new();
        let mut below = 0.0;
        for (_, weight, over) in all {
            below += weight;
            while few.len() < number && below >= (few.len() as f64 + 0.5) / number as f64 * weights {
                few.push((1.0 / number as f64, over.clone()));
            }
        }
        few
    }

    fn mean_over(&self, edge: usize) -> f64 {
        mean(self.curves.iter().map(|(weight, over)| (*weight, over[edge])))
    }

    /// What all units have over a limit, together, by each curve: Σ (t − limit)₊ = ∫ over(x) dx from the limit on.
    fn excesses(&self, limit: f64) -> Vec<(f64, f64)> {
        let from = self.edges.partition_point(|edge| *edge <= limit);
        let excess = |over: &[f64]| {
            let mut sum: f64 = (from.max(1)..self.edges.len())
                .skip(usize::from(from > 0))
                .map(|place| {
                    (self.edges[place] - self.edges[place - 1]) * f64::midpoint(over[place - 1], over[place])
                })
                .sum();
            match (from.checked_sub(1), self.edges.get(from)) {
                (Some(below), Some(next)) => {
                    let width = next - self.edges[below];
                    let here = over[below] + (limit - self.edges[below]) / width * (over[from] - over[below]);
                    sum += (next - limit) * f64::midpoint(here, over[from]);
                }
                (None, Some(first)) => sum += (first - limit) * self.units,
                _ => {}
            }
            sum
        };
        self.curves
            .iter()
            .map(|(weight, over)| (*weight, excess(over)))
            .collect()
    }

    /// The mean over the curves.
    fn excess(&self, limit: f64) -> f64 {
        mean(self.excesses(limit).into_iter())
    }

    /// Units over a limit, in the mean over the curves.
    fn over(&self, limit: f64) -> f64 {
        match self.edges.iter().position(|edge| *edge >= limit) {
            Some(place) => self.mean_over(place),
            None => 0.0,
        }
    }

    /// Limits to choose from.
    pub(super) fn candidates(&self, whole: bool) -> Vec<f64> {
        let rounded = |edge: &f64| if whole { edge.ceil().max(1.0) } else { *edge };
        let mut all: Vec<f64> = self.edges.iter().map(rounded).collect();
        all.dedup();
        all
    }

    /// The limit of one number for which √(bias² + noise²), beside the least that any limit reaches on the same curve, is least in the mean over the curves. Not the error itself: curves with
    /// long tails have large errors whatever the limit, and would decide alone.
    pub(super) fn best_limit(&self, whole: bool, noise: &Noise) -> f64 {
        let limits = self.candidates(whole);
        // By limit and curve.
        let errors: Vec<Vec<f64>> = limits
            .iter()
            .map(|limit| {
                let noise = noise.of(1.0, *limit);
                let biases = self.excesses(*limit).into_iter();
                biases.map(|(_, bias)| bias.hypot(noise)).collect()
            })
            .collect();
        let weights: Vec<f64> = self
            .curves
            .iter()
            .enumerate()
            .map(|(curve, (weight, _))| {
                let errors = errors.iter().map(|errors| errors[curve]);
                weight / errors.fold(f64::INFINITY, f64::min).max(f64::MIN_POSITIVE)
            })
            .collect();
        let best = least((0..limits.len()).collect(), |limit: &usize| {
            let of_curves = errors[*limit].iter().zip(&weights);
            of_curves.map(|(error, weight)| error * weight).sum()
        });
        best.map_or(self.largest, |limit| limits[limit])
    }

    /// What is said of a limit; `cuts` where what is over it is cut off, and not whole units.
    pub(super) fn profile(&self, of: String, limit: f64, cuts: bool) -> super::Profile {
        let (low, high) = self.seen.over(limit, CONFIDENCE);
        let whole = (self.units * self.mean).max(f64::MIN_POSITIVE);
        let part = |excess: f64| (excess / whole).clamp(0.0, 1.0);
        let mut parts: Vec<(f64, f64)> = self.excesses(limit);
        parts.sort_by(|one, other| one.1.total_cmp(&other.1));
        let rest = (1.0 - CONFIDENCE) / 2.0;
        super::Profile {
            of,
            limit,
            units_over: super::Between {
                estimate: self.over(limit).clamp(low, high),
                low,
                high,
            },
            cut: cuts.then(|| super::Between {
                estimate: part(self.excess(limit)),
                low: part(quantile(&parts, rest)),
                high: part(quantile(&parts, 1.0 - rest)),
            }),
        }
    }
}

/// How sure intervals are.
pub(super) const CONFIDENCE: f64 = 0.95;

impl Histogram {
    /// How many units are over a limit: an interval of this confidence, whatever the units have. It follows from the distribution of the noise alone.
    pub(super) fn over(&self, limit: f64, confidence: f64) -> (f64, f64) {
        // Who is over the first edge that is not below the limit surely is; who is over the last that is not above it may be.
        let surely = self.edges.partition_point(|edge| *edge < limit);
        let maybe = self.edges.partition_point(|edge| *edge <= limit);
        let end = |first: usize| {
            let buckets = self.counts.get(first..).unwrap_or_default();
            let width = half_width(buckets.len(), self.deviation, confidence);
            (buckets.iter().sum::<f64>(), width)
        };
        let ((least, below), (most, above)) = (end(surely + 1), end(maybe));
        let low = (least - below).max(0.0);
        (low, (most + above).max(low))
    }
}

/// How far the sum of the noise of this many buckets is from zero at most, with this probability.
///
/// Chernoff's bound: with the scale b of Laplace noise, E exp(λ·noise) ≤ 1/(1 − λ²b²), so that t is reached on either side with probability at most
/// 2·exp(−λt)/(1 − λ²b²)ⁿ for each λ below 1/b. Noise on whole numbers of the same ε = 1/b has E exp(λ·noise) = (cosh ε − 1)/(cosh ε − cosh λ), which is no more, because
/// cosh √x is convex.
fn half_width(buckets: usize, deviation: f64, confidence: f64) -> f64 {
    if buckets == 0 {
        return 0.0;
    }
    let scale = deviation / std::f64::consts::SQRT_2;
    let failing = (2.0 / (1.0 - confidence)).ln();
    (1..400)
        .map(|step| {
            let part = f64::from(step) / 400.0;
            scale * (failing - buckets as f64 * (-part * part).ln_1p()) / part
        })
        .fold(f64::INFINITY, f64::min)
}

/// The number below which this part of all weights is, of numbers in ascending order.
fn quantile(weighted: &[(f64, f64)], part: f64) -> f64 {
    let all: f64 = weighted.iter().map(|(weight, _)| weight).sum();
    let mut below = 0.0;
    for (weight, number) in weighted {
        below += weight;
        if below >= part * all {
            return *number;
        }
    }
    weighted.last().map_or(0.0, |(_, number)| *number)
}

/// The mean of numbers with their weights.
fn mean(weighted: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (weights, sum) = weighted.fold((0.0, 0.0), |(weights, sum), (weight, number)| {
        (weights + weight, sum + weight * number)
    });
    sum / f64::max(weights, f64::MIN_POSITIVE)
}

/// Curves, and how badly each agrees with noisy counts, which are those of the buckets that end at the edges after the first. Each has as many units as were counted in the first `seen`
/// buckets, and beyond them as many more as it says itself: to leave those out would make every tail too short.
fn curves_from(edges: &[f64], counts: &[f64], seen: usize, deviation: f64) -> Vec<(f64, Vec<f64>)> {
    let distances: Vec<f64> = edges.iter().map(|edge| (edge / edges[0]).ln()).collect();
    let seen = seen.min(counts.len());
    let counted: f64 = counts[..seen].iter().sum::<f64>().max(1.0);
    let mut found: Vec<(f64, Vec<f64>)> = Vec::new();
    let mut consider = |falls: &dyn Fn(f64) -> f64| {
        let within = -(-falls(distances[seen])).exp_m1();
        // A curve that puts most of the units where nothing is seen is none that agrees.
        if within < 0.5 {
            return;
        }
        let units = counted / within;
        let over: Vec<f64> = distances
            .iter()
            .map(|distance| units * (-falls(*distance)).exp())
            .collect();
        // What does not come to an end within what is compared is no tail.
        if over.last().is_some_and(|last| *last > 1.0) && over.len() > COMPARED {
            return;
        }
        let misfit: f64 = counts
            .iter()
            .zip(over.windows(2))
            .map(|(count, ends)| {
                let expected = ends[0] - ends[1];
                (count - expected).powi(2) / (deviation * deviation + expected)
            })
            .sum();
        found.push((misfit, over));
    };
    for slope in (0..100).map(|place| 0.25 * 1.04f64.powi(place)) {
        consider(&|distance| slope * distance);
        for bend in (0..36).map(|place| 0.05 * 1.16f64.powi(place)) {
            consider(&|distance| slope * distance + bend * distance * distance);
        }
        for power in [0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 9.0, 16.0] {
            consider(&|distance| slope * ((power * distance).exp() - 1.0) / power);
        }
    }
    found
}

/// Of curves with their misfits, those that are likely, by their weights.
fn likely(found: Vec<(f64, Vec<f64>)>) -> Vec<(f64, Vec<f64>)> {
    let best = found
        .iter()
        .map(|(misfit, _)| *misfit)
        .fold(f64::INFINITY, f64::min);
    found
        .into_iter()
        .filter(|(misfit, _)| misfit - best < UNLIKELY)
        .map(|(misfit, over)| ((-(misfit - best) / 2.0).exp(), over))
        .collect()
}

pub(super) fn least<T>(candidates: Vec<T>, error: impl Fn(&T) -> f64) -> Option<T> {
    let mut best: Option<(f64, T)> = None;
    for candidate in candidates {
        let error = error(&candidate);
        if best.as_ref().is_none_or(|(least, _)| error < *least) {
            best = Some((error, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}
