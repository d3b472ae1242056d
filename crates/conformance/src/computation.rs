//! Computations made of Deniable's mechanisms, for the grey box: each right, and with one mistake.

use crate::boundary::{Boundary, call, limits};
use crate::check::{Check, Effort, Expected, Work};
use crate::median::{Ordered, PROPOSAL, scores};
use crate::{Error, explained};
use accounting::{Delta, Epsilon, Neighbors};
use audit::grey_box::{Call, GreyBox, Input, Limits, Neighbours, Recorder};
use audit::report::{Judgement, Method};
use exact::{Rational, power_of_two, ratio};
use mechanism::{
    AboveThreshold, Aggregate, Bounds, Column, ExponentialMechanism, Gaussian, Laplace, LaplaceThreshold,
    ProposeTestRelease, Quantile, Sensitive, Sensitivity, SmoothMedian,
};
use noise::Grid;
use std::fmt::Debug;

/// All of them, and their mutants.
pub(crate) fn checks(effort: Effort) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut add = |mechanism, mistake: &str, work: fn(bool, u64) -> Judged| {
        let mistake = Expected::Refuted(mistake.to_string());
        for (expected, mistaken) in [(Expected::Holds, false), (mistake, true)] {
            let work: Work = Box::new(move |seed| work(mistaken, seed));
            checks.push(Check::new(mechanism, Method::GreyBox, expected, work));
        }
    };
    add("Laplace", "a sum that is not clipped", mean);
    add(
        "Gaussian",
        "a histogram whose change of one answer counts once",
        histogram,
    );
    add(
        "ExponentialMechanism",
        "a branch on the exact counts",
        select_then_measure,
    );
    add(
        "LaplaceThreshold",
        "groups of a unit that are not cut to two",
        groups,
    );
    add("Quantile", "a range read off the data", quantile);
    add("Quantiles", "a range read off the data", quantiles);
    add(
        "AboveThreshold",
        "a stop that the data decides",
        adaptive_threshold,
    );
    add("SmoothMedian", "noise for the local sensitivity", smooth_scale);
    let proposed = match effort {
        Effort::Quick => propose_quickly,
        Effort::Full => propose_test_release,
    };
    add("ProposeTestRelease", "no test", proposed);
    checks
}

type Judged = Result<Judgement, Error>;

/// Synthetic data, values to drop in, and what is claimed for a computation on them.
struct Trial<'a, T> {
    claim: GreyBox,
    units: &'a [T],
    strange: &'a [T],
    neighbors: Neighbors,
    seed: u64,
}

impl<T: Clone + Debug> Trial<'_, T> {
    /// Compares the data with all its neighbours. A computation that fails is no evidence: its error is the
    /// answer.
    fn judge<R: PartialEq>(
        &self,
        mut computation: impl FnMut(&Boundary, &[T], &mut Recorder) -> Result<R, Error>,
    ) -> Judged {
        let boundary = Boundary::new(self.neighbors, self.seed);
        let neighbours = match self.neighbors {
            Neighbors::AddRemove => Neighbours::AddRemove,
            Neighbors::ChangeOne => Neighbours::ChangeOne,
        };
        let mut failed = None;
        let found = self
            .claim
            .search(self.units, self.strange, neighbours, |units, recorder| {
                let result = computation(&boundary, units, recorder);
                result.map_err(|error| failed.get_or_insert(error).clone()).ok()
            });
        match failed {
            Some(error) => Err(error),
            None => Ok(Judgement::grey_box(&self.claim, &found, Some(self.seed))),
        }
    }
}

fn epsilon(value: &Rational) -> Result<Epsilon, Error> {
    Epsilon::exactly_or_up(value).map_err(explained)
}

fn pure(value: Rational) -> GreyBox {
    GreyBox::new(value, Rational::ZERO)
}

/// A count and a clipped sum, from which the asker makes a mean.
fn mean(mistaken: bool, seed: u64) -> Judged {
    let ages = [1.0, 3.0, 4.0, 4.0, 3.0, 55.0, 1.0];
    let strange = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1e300,
        -1e300,
        61.0,
        -0.0,
    ];
    let (grid, half) = (Grid::new(-4), epsilon(&ratio(1, 2))?);
    let count = |boundary: &Boundary, ages: &[f64]| {
        let people = Sensitive::new(vec![true; ages.len()]);
        Ok(Aggregate::count(&people, boundary.unit()))
    };
    let sum = |boundary: &Boundary, ages: &[f64]| {
        let values = Sensitive::new(ages.to_vec());
        let clipped =
            Aggregate::bounded_sum(&values, -1.0, 60.0, grid, boundary.unit()).map_err(explained)?;
        if !mistaken {
            return Ok(clipped);
        }
        let sum = values.map(|ages| {
            ages.iter()
                .map(|age| grid.round(*age))
                .fold(0, i64::saturating_add)
        });
        Ok(Aggregate::claimed(
            sum,
            clipped.sensitivity().clone(),
            boundary.unit(),
            grid,
        ))
    };
    // Noise for what one person can do, whoever they are.
    let template = Boundary::new(Neighbors::AddRemove, seed);
    let (one, sixty) = (count(&template, &[])?, sum(&template, &[])?);
    let for_count = Laplace::new(half.clone(), one.sensitivity().clone(), one.grid()).map_err(explained)?;
    let for_sum = Laplace::new(half, sixty.sensitivity().clone(), grid).map_err(explained)?;
    let trial = Trial {
        claim: pure(Rational::ONE),
        units: &ages,
        strange: &strange,
        neighbors: Neighbors::AddRemove,
        seed,
    };
    trial.judge(|boundary, ages, recorder| {
        let how_many = boundary.release(recorder, "Laplace", &for_count, || count(boundary, ages))?;
        let together = boundary.release(recorder, "Laplace", &for_sum, || sum(boundary, ages))?;
        Ok((how_many, together))
    })
}

/// A histogram with Gaussian noise, when one answer changes.
fn histogram(mistaken: bool, seed: u64) -> Judged {
    const BINS: u32 = 4;
    let (epsilon, delta) = (epsilon(&Rational::ONE)?, Delta::parse("0.01").map_err(explained)?);
    let auditor = GreyBox::new(Rational::ONE, ratio(1, 100));
    let (answers, strange) = ([0, 1, 1, 2, 0, 3], [0, 3, u32::MAX]);
    let counts = |boundary: &Boundary, answers: &[u32]| {
        let answers = Sensitive::new(answers.to_vec());
        if !mistaken {
            return Aggregate::histogram(&answers, BINS, boundary.unit()).map_err(explained);
        }
        let counts = answers.map(|answers| {
            let count = |bin| answers.iter().filter(|answer| **answer == bin).count() as i64;
            (0..BINS).map(count).collect::<Vec<i64>>()
        });
        let once = Sensitivity::vector(1, 1).map_err(explained)?;
        Ok(Aggregate::claimed(counts, once, boundary.unit(), Grid::new(0)))
    };
    let template = counts(&Boundary::new(Neighbors::ChangeOne, seed), &[])?;
    let gaussian = Gaussian::analytic(epsilon, delta, template.sensitivity().clone(), template.grid());
    let gaussian = gaussian.map_err(explained)?;
    let trial = Trial {
        claim: auditor,
        units: &answers,
        strange: &strange,
        neighbors: Neighbors::ChangeOne,
        seed,
    };
    trial.judge(|boundary, answers, recorder| {
        boundary.release(recorder, "Gaussian", &gaussian, || counts(boundary, answers))
    })
}

/// Chooses the most common answer privately, and then counts it.
fn select_then_measure(mistaken: bool, seed: u64) -> Judged {
    const BINS: usize = 3;
    let (half, one) = (epsilon(&ratio(1, 2))?, Sensitivity::scalar(1).map_err(explained)?);
    let choice = ExponentialMechanism::new(half.clone(), one.clone(), BINS).map_err(explained)?;
    let laplace = Laplace::new(half, one.clone(), Grid::new(0)).map_err(explained)?;
    // A tie, so that one more answer decides it.
    let (answers, strange) = ([0, 1, 1, 2, 0], [0, 2, 7]);
    let trial = Trial {
        claim: pure(Rational::ONE),
        units: &answers,
        strange: &strange,
        neighbors: Neighbors::AddRemove,
        seed,
    };
    trial.judge(|boundary, answers, recorder| {
        let make = || {
            Aggregate::histogram(&Sensitive::new(answers.to_vec()), BINS as u32, boundary.unit())
                .map_err(explained)
        };
        let mut chosen = boundary.release(recorder, "ExponentialMechanism", &choice, make)?;
        let count = |bin: usize| answers.iter().filter(|answer| **answer as usize == bin).count() as i64;
        if mistaken {
            // "It was a tie anyway": the exact counts decide which.
            chosen = (0..BINS).max_by_key(|bin| count(*bin)).unwrap_or(chosen);
        }
        let counted = boundary.release(recorder, "Laplace", &laplace, || {
            let value = Sensitive::new(count(chosen));
            Ok(Aggregate::claimed(
                value,
                one.clone(),
                boundary.unit(),
                Grid::new(0),
            ))
        })?;
        Ok((chosen, counted))
    })
}

/// Which groups occur, with at most two of each unit.
fn groups(mistaken: bool, seed: u64) -> Judged {
    const PER_UNIT: u64 = 2;
    let (epsilon, delta) = (epsilon(&Rational::ONE)?, Delta::parse("0.01").map_err(explained)?);
    let auditor = GreyBox::new(Rational::ONE, ratio(1, 100));
    let sensitivity = Sensitivity::vector(PER_UNIT, 1).map_err(explained)?;
    let threshold = LaplaceThreshold::new(epsilon, delta, sensitivity).map_err(explained)?;
    let units: [&[&str]; 4] = [&["a"], &["a", "b"], &["b", "b", "b"], &["a"]];
    let strange: [&[&str]; 3] = [&[], &["a", "b", "c", "d", "e"], &["z"]];
    let trial = Trial {
        claim: auditor,
        units: &units,
        strange: &strange,
        neighbors: Neighbors::AddRemove,
        seed,
    };
    trial.judge(|boundary, units, recorder| {
        let rows: Vec<(usize, String)> = units
            .iter()
            .enumerate()
            .flat_map(|(unit, groups)| groups.iter().map(move |group| (unit, (*group).to_string())))
            .collect();
        let make =
            || Aggregate::groups(&Sensitive::new(rows.clone()), PER_UNIT, boundary.unit()).map_err(explained);
        let sensitivity = make()?.sensitivity().clone();
        let input = boundary.read_groups(&rows, if mistaken { 99 } else { PER_UNIT })?;
        let call = call("LaplaceThreshold", &threshold)?.moving(limits(&sensitivity));
        recorder.draw(call, input, || boundary.draw(&threshold, make()?))
    })
}

/// The end of the range of medians here.
const UPPER: i64 = 6;

/// The scores by which one median is chosen, each of which a changed value moves by at most 1.
fn one_median(
    boundary: &Boundary,
    recorder: &mut Recorder,
    data: &[i64],
    share: &Rational,
    mistaken: bool,
) -> Result<i64, Error> {
    let upper = if mistaken {
        data.iter().copied().max().unwrap_or(UPPER)
    } else {
        UPPER
    };
    let bounds = Bounds::new(0, upper, Grid::new(0)).map_err(explained)?;
    let quantile =
        Quantile::new(epsilon(share)?, &ratio(1, 2), bounds, Neighbors::ChangeOne).map_err(explained)?;
    let call = call("Quantile", &quantile)?.moving(Limits::l_infinity(Rational::ONE));
    let answers: Vec<Result<i64, Error>> = (0..=upper).map(Ok).collect();
    recorder.choose(call, scores(data, upper), &answers, || {
        let column = Sensitive::new(Column::new(data.to_vec()));
        let one_row = Sensitivity::scalar(1).map_err(explained)?;
        boundary.draw(
            &quantile,
            Aggregate::claimed(column, one_row, boundary.unit(), Grid::new(0)),
        )
    })
}

fn quantile(mistaken: bool, seed: u64) -> Judged {
    let (data, strange) = ([0, 2, 3, 3], [0, UPPER]);
    let trial = Trial {
        claim: pure(Rational::ONE),
        units: &data,
        strange: &strange,
        neighbors: Neighbors::ChangeOne,
        seed,
    };
    trial.judge(|boundary, data, recorder| one_median(boundary, recorder, data, &Rational::ONE, mistaken))
}

/// Two medians, and a third if they are far apart: which is decided by the answers.
fn quantiles(mistaken: bool, seed: u64) -> Judged {
    let share = ratio(1, 4);
    let (data, strange) = ([0, 2, 3], [0, UPPER]);
    let trial = Trial {
        claim: pure(ratio(3, 4)),
        units: &data,
        strange: &strange,
        neighbors: Neighbors::ChangeOne,
        seed,
    };
    trial.judge(|boundary, data, recorder| {
        let mut one = || one_median(boundary, recorder, data, &share, mistaken);
        let (first, second) = (one()?, one()?);
        let third = if first.abs_diff(second) > 2 {
            Some(one()?)
        } else {
            None
        };
        Ok((first, second, third))
    })
}

/// One charge, and then questions each of which depends on the answers before it: where do counts cross a
/// level?
fn adaptive_threshold(mistaken: bool, seed: u64) -> Judged {
    const POSITIVES: u32 = 2;
    let (data, strange) = ([1, 3, 3, 8, 15], [0, 15]);
    let one = Sensitivity::scalar(1).map_err(explained)?;
    let watch = AboveThreshold::new(epsilon(&Rational::ONE)?, 2, POSITIVES, one.clone(), Grid::new(0));
    let watch = watch.map_err(explained)?;
    let trial = Trial {
        claim: pure(Rational::ONE),
        units: &data,
        strange: &strange,
        neighbors: Neighbors::AddRemove,
        seed,
    };
    trial.judge(|boundary, data, recorder| {
        let mut account = boundary.account();
        let mut session = account.above_threshold(&watch, "audit self").map_err(explained)?;
        // The whole session is paid for when it begins.
        recorder.choose(call("AboveThreshold", &watch)?, Vec::<i64>::new(), &[()], || ());
        let (mut low, mut high, mut positives) = (0, 16, 0);
        while high - low > 1 && positives < POSITIVES {
            let middle = (low + high) / 2;
            let below = data.iter().filter(|value| **value < middle).count() as i64;
            // "This many are clearly enough."
            if mistaken && below > 3 {
                break;
            }
            let free = Call::new("query", Rational::ZERO).moving(Limits::l_infinity(Rational::ONE));
            let answers = [Ok(Some(false)), Ok(Some(true))];
            let above = recorder.choose(free, below, &answers, || {
                let query =
                    Aggregate::claimed(Sensitive::new(below), one.clone(), boundary.unit(), Grid::new(0));
                session.ask(query).map_err(explained)
            })?;
            if above == Some(true) {
                positives += 1;
                high = middle;
            } else {
                low = middle;
            }
        }
        Ok((low, high))
    })
}

/// The logarithm of the smooth sensitivity, which a changed value moves by at most β = ε/2: half of the
/// argument for the smooth median.
fn smooth_scale(mistaken: bool, seed: u64) -> Judged {
    let (data, strange) = ([0, 3, 3, 3, 4, 4, 6], [0, 3, UPPER]);
    let bounds = Bounds::new(0, UPPER, Grid::new(0)).map_err(explained)?;
    let decay = ratio(1, 2);
    let smooth = SmoothMedian::new(epsilon(&Rational::ONE)?, bounds).map_err(explained)?;
    let trial = Trial {
        claim: pure(decay.clone()),
        units: &data,
        strange: &strange,
        neighbors: Neighbors::ChangeOne,
        seed,
    };
    trial.judge(|boundary, data, recorder| {
        let ordered = Ordered::new(data, UPPER);
        // With a decay so fast, only what one change does counts.
        let used = if mistaken { ratio(100, 1) } else { decay.clone() };
        let logarithm = ordered.smooth(&used, 192).ln();
        let logarithm = logarithm.ok_or_else(|| Error::new("a scale of zero"))?;
        // Enclosed to 192 bits: a hair more than β is allowed.
        let limit = Limits::l_infinity(&decay + power_of_two(-100));
        let call = Call::new("SmoothMedian", decay.clone()).moving(limit);
        let answers: Vec<Result<i64, Error>> = (0..=UPPER).map(Ok).collect();
        recorder.choose(call, logarithm.lower(), &answers, || {
            let column = Sensitive::new(Column::new(data.to_vec()));
            let one_row = Sensitivity::scalar(1).map_err(explained)?;
            boundary.draw(
                &smooth,
                Aggregate::claimed(column, one_row, boundary.unit(), Grid::new(0)),
            )
        })
    })
}

fn propose_test_release(mistaken: bool, seed: u64) -> Judged {
    proposed(mistaken, seed, 4_000)
}

fn propose_quickly(mistaken: bool, seed: u64) -> Judged {
    proposed(mistaken, seed, 200)
}

/// A noisy test, and an answer if it passes. Where the proposal is false on both sides the test passes with
/// probability δ at most: transcripts on which it does are bad.
fn proposed(mistaken: bool, seed: u64, runs: u64) -> Judged {
    const WIDE: i64 = 40;
    let bounds = Bounds::new(0, WIDE, Grid::new(0)).map_err(explained)?;
    let (one, delta) = (epsilon(&Rational::ONE)?, Delta::parse("0.01").map_err(explained)?);
    let real = ProposeTestRelease::new(&one, &one, delta, PROPOSAL, bounds).map_err(explained)?;
    // The distance moves by 1, and so does the median as proposed.
    let sensitivity = Sensitivity::scalar(PROPOSAL).map_err(explained)?;
    let laplace = Laplace::new(one, sensitivity.clone(), Grid::new(0)).map_err(explained)?;
    let auditor = GreyBox::new(ratio(2, 1), ratio(1, 100)).with_runs(runs);
    let threshold = if mistaken { i64::MIN } else { real.threshold() };
    let (data, strange) = ([0, 0, 20, WIDE, WIDE], [0, WIDE]);
    let trial = Trial {
        claim: auditor,
        units: &data,
        strange: &strange,
        neighbors: Neighbors::ChangeOne,
        seed,
    };
    trial.judge(|boundary, data, recorder| {
        let ordered = Ordered::new(data, WIDE);
        let mut noisy = |what: &str, value: i64| {
            let call = call(what, &laplace)?.moving(limits(&sensitivity));
            recorder.draw(call, Input::from(value), || {
                let value = Aggregate::claimed(
                    Sensitive::new(value),
                    sensitivity.clone(),
                    boundary.unit(),
                    Grid::new(0),
                );
                boundary.draw(&laplace, value)
            })
        };
        let distance = noisy("Laplace on the distance", ordered.distance(PROPOSAL))?;
        let passes = distance >= threshold;
        Ok(if passes {
            Some(noisy("Laplace on the median", ordered.median())?)
        } else {
            None
        })
    })
}
