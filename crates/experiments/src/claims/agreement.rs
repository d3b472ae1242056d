//! T11 to T13: numbers that agree over a hierarchy, intervals that hold together, running totals.

use super::local::person;
use super::{Claim, Fault, Outcome};
use accounting::Rho;
use audit::binomial::clopper_pearson;
use exact::{from_f64, to_f64_nearest};
use mechanism::{
    Account, Aggregate, Participation, RunningTotals, Sensitive, Sensitivity, Stated, UnlimitedLedger,
};
use noise::{DiscreteGaussian, Entropy, Grid, OsEntropy};
use report::{Figure, Scale, significant};
use tables::Estimate;
use tables::consistent::{Fit, JointIntervals, Tree, simulated_maximum, top_down};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "T11",
        claim: "Least squares over a hierarchy: totals agree, with the least variance there is, also as whole numbers of at least 0",
        run: agreement,
    },
    Claim {
        id: "T12",
        claim: "Joint intervals at 95 % hold all cells of a release together in at least 95 % of releases",
        run: coverage,
    },
    Claim {
        id: "T13",
        claim: "365 running totals need 2.94 units of noise by the square root of the sums, 19.1 when each is released by itself",
        run: series,
    },
];

/// σ² of the noise on each measured number.
const VARIANCE: f64 = 9.0;

/// A root, 4 regions, 24 districts, and 144 blocks of which many are empty.
fn country() -> Result<(Fit, Vec<Vec<i64>>), Fault> {
    let parents = |count: u32, each: u32| (0..count).map(|node| node / each).collect::<Vec<u32>>();
    let tree = Tree::new(&[vec![0; 4], parents(24, 6), parents(144, 6)])?;
    let mut levels = vec![
        (0..144i64)
            .map(|block| if block % 3 == 0 { 0 } else { block * block % 97 })
            .collect::<Vec<i64>>(),
    ];
    for each in [6, 6, 4] {
        levels.push(
            levels
                .last()
                .into_iter()
                .flat_map(|level| level.chunks(each))
                .map(|chunk| chunk.iter().sum())
                .collect(),
        );
    }
    levels.reverse();
    Ok((Fit::by_level(tree, &[VARIANCE; 4])?, levels))
}

/// Measurements with discrete Gaussian noise, and estimates from them.
fn estimated(
    fit: &Fit,
    truth: &[Vec<i64>],
    noise: &DiscreteGaussian,
    entropy: &mut dyn Entropy,
) -> Vec<Vec<f64>> {
    let measured = |level: &Vec<i64>| {
        let mut numbers = level.clone();
        noise.add_to(&mut numbers, entropy);
        numbers.into_iter().map(|number| number as f64).collect()
    };
    let mut numbers: Vec<Vec<f64>> = truth.iter().map(measured).collect();
    fit.estimates(&mut numbers, 1);
    numbers
}

fn discrete() -> Result<DiscreteGaussian, Fault> {
    Ok(DiscreteGaussian::new(
        &from_f64(VARIANCE).ok_or("a finite variance")?,
    )?)
}

fn agreement() -> Result<Outcome, Fault> {
    let (fit, truth) = country()?;
    let (noise, mut entropy) = (discrete()?, OsEntropy::new()?);
    let times = 4000;
    let (mut largest_gap, mut negative, mut disagree) = (0.0f64, 0u32, 0u32);
    let mut squares = vec![0.0; truth.len()];
    for _ in 0..times {
        let numbers = estimated(&fit, &truth, &noise, &mut entropy);
        let whole = top_down(&fit, &numbers, 1)?;
        for level in 0..truth.len() - 1 {
            for node in 0..truth[level].len() {
                let children = fit.tree().children(level, node);
                let sum: f64 = children
                    .iter()
                    .map(|child| numbers[level + 1][*child as usize])
                    .sum();
                largest_gap = largest_gap.max((sum - numbers[level][node]).abs());
                let sum: i64 = children
                    .iter()
                    .map(|child| whole[level + 1][*child as usize])
                    .sum();
                disagree += u32::from(sum != whole[level][node]);
            }
        }
        negative += u32::from(whole.iter().flatten().any(|number| *number < 0));
        for (square, (numbers, truth)) in squares.iter_mut().zip(numbers.iter().zip(&truth)) {
            *square += (numbers[0] - truth[0] as f64).powi(2);
        }
    }
    let predicted: Vec<f64> = (0..truth.len()).map(|level| fit.variance(level, 0)).collect();
    let ratios: Vec<f64> = squares
        .iter()
        .zip(&predicted)
        .map(|(square, variance)| square / f64::from(times) / variance)
        .collect();
    // A mean of 4000 squares is off by 6.2 times √(2/4000) once in a billion.
    let as_predicted = ratios
        .iter()
        .all(|ratio| (ratio - 1.0).abs() < 6.2 * (2.0 / f64::from(times)).sqrt() + 0.01);
    let better = predicted.iter().all(|variance| *variance < VARIANCE);
    let pass = as_predicted && better && largest_gap < 1e-9 && negative == 0 && disagree == 0;
    let list = |numbers: &[f64]| {
        numbers
            .iter()
            .map(|number| significant(*number, 3))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let measured = format!(
        "largest gap {}; {negative} negative, {disagree} sums of whole numbers off; variances by level {} of 9, measured {} times that",
        significant(largest_gap, 2),
        list(&predicted),
        list(&ratios)
    );
    Ok(Outcome::new(
        "no gap, none negative, all sums right, variances as computed and below 9",
        measured,
        pass,
    ))
}

fn coverage() -> Result<Outcome, Fault> {
    let (fit, truth) = country()?;
    let (noise, mut entropy) = (discrete()?, OsEntropy::new()?);
    let cells: usize = truth.iter().map(Vec::len).sum();
    // The largest standardised error of one release: of the same law whatever the truth is.
    let mut largest = || {
        let numbers = estimated(&fit, &truth, &noise, &mut entropy);
        let all = numbers
            .iter()
            .zip(&truth)
            .enumerate()
            .flat_map(|(level, (numbers, truth))| {
                let off = |(node, (number, truth)): (usize, (&f64, &i64))| {
                    (number - *truth as f64).abs() / fit.variance(level, node).sqrt()
                };
                numbers.iter().zip(truth).enumerate().map(off).collect::<Vec<_>>()
            });
        all.fold(0.0, f64::max)
    };
    let simulated = simulated_maximum(0.95, 4000, |_| largest())?;
    let sidak = JointIntervals::for_gaussian(0.95, cells as u64, 0.0)?;
    let certified = JointIntervals::for_integers(0.95, cells as u64)?;
    let single = Estimate {
        value: 0.0,
        variance: 1.0,
        gaussian: true,
    }
    .interval(0.95)
    .1;
    let times = 4000u64;
    let drawn: Vec<f64> = (0..times).map(|_| largest()).collect();
    let covered = |multiplier: f64| drawn.iter().filter(|largest| **largest <= multiplier).count() as u64;
    let counts = [certified.multiplier(), sidak.multiplier(), simulated, single].map(covered);
    // What holds in fewer than 95 % of releases is seen as often as this once in a billion.
    let holds = |count: u64| clopper_pearson(count, times, 1.0 - 1e-9).1 >= 0.95;
    let pass = counts[..3].iter().all(|count| holds(*count))
        && !holds(counts[3])
        && simulated < certified.multiplier();
    let percent = |count: u64| significant(100.0 * count as f64 / times as f64, 3);
    let measured = format!(
        "{} % at {} deviations (certified), {} % at {} (Šidák), {} % at {} (simulated); intervals of single cells: {} %",
        percent(counts[0]),
        significant(certified.multiplier(), 3),
        percent(counts[1]),
        significant(sidak.multiplier(), 3),
        percent(counts[2]),
        significant(simulated, 3),
        percent(counts[3])
    );
    Ok(Outcome::new(
        "at least 95 % for each of the three, and far less for intervals of single cells",
        measured,
        pass,
    ))
}

fn series() -> Result<Outcome, Fault> {
    let rho = Rho::parse("0.5")?;
    let made = |periods: u64| {
        RunningTotals::concentrated(
            &rho,
            periods,
            Participation::ONCE,
            Sensitivity::scalar(1)?,
            Grid::new(0),
        )
    };
    // One release at ρ = ½ has σ = 1.
    let year = made(365)?;
    let (units, separate) = (year.deviation(364), 365f64.sqrt());
    // Drawn: the last of 40 totals, where rounding to whole steps adds a twelfth.
    let wide = RunningTotals::concentrated(
        &Rho::parse("0.00005")?,
        40,
        Participation::ONCE,
        Sensitivity::scalar(1)?,
        Grid::new(0),
    )?;
    let mut account = Account::open(UnlimitedLedger::new(person()))?;
    let times = 1500;
    let mut square = 0.0;
    for _ in 0..times {
        let sensitivity = wide.terms().sensitivity().clone();
        let nobody = Aggregate::claimed(Sensitive::new(Vec::new()), sensitivity, person(), Grid::new(0));
        let totals: Vec<Vec<i64>> = account.release_by(&wide, nobody, "running totals")?.into_value();
        let last = totals
            .last()
            .and_then(|total| total.first())
            .ok_or("as many totals as periods")?;
        square += (*last as f64).powi(2);
    }
    let ratio = square / f64::from(times) / wide.deviation(39).powi(2);
    let drawn = (ratio - 1.0).abs() < 6.2 * (2.0 / f64::from(times)).sqrt();
    let pass = (2.93..2.945).contains(&units) && (separate - 19.1).abs() < 0.1 && drawn;
    let curve: Vec<(f64, f64)> = (0..365u64)
        .map(|day| (day as f64 + 1.0, year.deviation(day)))
        .collect();
    let alone: Vec<(f64, f64)> = (1..=365u32).map(|day| (f64::from(day), separate)).collect();
    let window: Vec<(f64, f64)> = (0..365u64)
        .map(|day| (day as f64 + 1.0, year.window_deviation(day, 7)))
        .collect();
    let figure = Figure::new("Noise of 365 daily running totals, in units of one release")
        .x_axis("day", Scale::Linear)
        .y_axis("standard deviation", Scale::Linear)
        .line("square root of the sums", &curve)
        .line("the last seven days, free", &window)
        .line("each total by itself", &alone);
    let measured = format!(
        "{} units against {}; variance of drawn totals {} times what is stated",
        significant(units, 4),
        significant(separate, 4),
        significant(ratio, 3)
    );
    let exactly = to_f64_nearest(year.variance());
    Ok(Outcome::new("2.94 and 19.1", measured, pass)
        .note(format!(
            "One unit moves what noise is added to by √{} counts.",
            significant(exactly, 5)
        ))
        .figure(figure))
}
