//! S2 and S3: what goes wrong with noise scaled to the data at hand, and with floats; and the repairs.

use super::local::{FALSE_ALARM, auditor, respondent};
use super::{Claim, Fault, Outcome};
use accounting::{Delta, Epsilon};
use attack::bits::{TextbookLaplace, grid_noise};
use audit::binomial::lower_limit;
use audit::black_box::{Feature, Finding, FindingVerdict, Side, lowest_bit_exponent};
use exact::Rational;
use mechanism::{
    Aggregate, Bounds, Column, Mechanism, ProposeTestRelease, Sensitive, Sensitivity, SmoothMedian,
};
use noise::{DiscreteLaplace, Entropy, Grid, OsEntropy};
use report::{Figure, Scale, significant};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "S2",
        claim: "local sensitivity leaks; smooth sensitivity and propose-test-release repair it",
        run: medians,
    },
    Claim {
        id: "S3",
        claim: "floating-point rounding destroys privacy; noise on a grid does not",
        run: floats,
    },
];

/// Values from 0 to 1000: this many zeros, this many in the middle, and the rest at the upper end.
fn data(zeros: usize, middles: usize, rows: usize) -> Vec<i64> {
    (0..rows)
        .map(|row| {
            if row < zeros {
                0
            } else if row < zeros + middles {
                500
            } else {
                1000
            }
        })
        .collect()
}

/// The textbook mistake: noise for how far one change moves the median of *this* data, which is one of the
/// gaps beside it.
fn with_local_noise(sorted: &[i64], entropy: &mut OsEntropy) -> Result<i64, Fault> {
    let middle = sorted.len() / 2;
    let local = (sorted[middle] - sorted[middle - 1]).max(sorted[middle + 1] - sorted[middle]);
    let noise = if local == 0 {
        0
    } else {
        DiscreteLaplace::new(&Rational::from(local))?.sample(entropy)
    };
    Ok(sorted[middle] + noise)
}

fn medians() -> Result<Outcome, Fault> {
    let grid = Grid::new(0);
    let bounds = Bounds::new(0, 1000, grid)?;
    // Seven zeros of eleven, or six: the median is 0 in both, and nothing moves it, or one change moves it to 1000.
    let (calm, edge, beyond) = (data(7, 0, 11), data(6, 0, 11), data(5, 0, 11));
    let mut entropy = OsEntropy::new()?;
    with_local_noise(&edge, &mut entropy)?;
    let draw = |side: Side| {
        let values = if side == Side::First { &calm } else { &edge };
        with_local_noise(values, &mut entropy).expect("it was drawn before")
    };
    let leak = auditor(2_000).audit(draw, &Feature::<i64>::standard())?;
    // The repair, where one change moves the median from one end to the other.
    let smooth = SmoothMedian::new(Epsilon::parse("1")?, bounds)?;
    let repaired = audit_median(&smooth, [&edge, &beyond], 24_000, |answer| *answer)?;
    let tested = ProposeTestRelease::new(
        &Epsilon::parse("0.5")?,
        &Epsilon::parse("0.5")?,
        Delta::parse("1e-6")?,
        10,
        bounds,
    )?;
    // And where the test is about to fail: as many changes from data that moves more as its threshold, and
    // one fewer.
    let rows = 201;
    let reach = tested.threshold() as usize;
    let nearly = |distance: usize| data(rows / 2 - distance, 2 * distance + 1, rows);
    let pair = [nearly(reach), data(rows / 2 - reach + 1, 2 * reach, rows)];
    let proposed = audit_median(&tested, [&pair[0], &pair[1]], 100_000, |answer| {
        answer.unwrap_or(i64::MIN)
    })?;
    // And they are of use: on a thousand values close together both medians land near the middle.
    let values: Vec<i64> = (0..1001).map(|index| 450 + index / 10).collect();
    let close = |answer: i64| (answer - 500).abs() <= 60;
    let (mut smooth_close, mut tested_close) = (0, 0);
    for _ in 0..40 {
        smooth_close += usize::from(close(release(&smooth, &values, grid)?));
        tested_close += usize::from(release(&tested, &values, grid)?.is_some_and(close));
    }
    // Nine in ten land there; half of forty miss with probability under 1e-9.
    let useful = smooth_close >= 20 && tested_close >= 20;
    let refuted = leak.verdict(1.0, 0.0) == FindingVerdict::Refuted;
    let kept = repaired.verdict(1.0, 0.0) == FindingVerdict::Consistent
        && proposed.verdict(1.0, 1e-6) == FindingVerdict::Consistent
        // An audit that finds nothing at all shows nothing.
        && repaired.epsilon_lower > 0.0
        && proposed.epsilon_lower > 0.0;
    let measured = format!(
        "local: ε ≥ {}; smooth: ≥ {}; propose-test-release: ≥ {}; {smooth_close} and {tested_close} of 40 medians close",
        significant(leak.epsilon_lower, 3),
        significant(repaired.epsilon_lower, 3),
        significant(proposed.epsilon_lower, 3)
    );
    Ok(Outcome::new("local refuted at ε = 1; both repairs within ε = 1, and useful", measured, refuted && kept && useful)
        .note(format!("All audits have a false-alarm rate of {FALSE_ALARM:e}; smooth sensitivity draws are slow, so it is audited on fewer.")))
}

fn release<M: Mechanism<Column>>(mechanism: &M, values: &[i64], grid: Grid) -> Result<M::Output, Fault> {
    let mut account = super::local::plenty(respondent())?;
    Ok(account
        .release_by(mechanism, column(values, grid)?, "a median")?
        .into_value())
}

fn column(values: &[i64], grid: Grid) -> Result<Aggregate<Column>, Fault> {
    let value = Sensitive::new(Column::new(values.to_vec()));
    Ok(Aggregate::claimed(
        value,
        Sensitivity::scalar(1)?,
        respondent(),
        grid,
    ))
}

fn audit_median<M: Mechanism<Column>>(
    mechanism: &M,
    neighbours: [&[i64]; 2],
    samples: u64,
    key: impl Fn(&M::Output) -> i64 + 'static,
) -> Result<Finding, Fault> {
    let mut account = super::local::plenty(respondent())?;
    let sensitivity = Sensitivity::scalar(1)?;
    let draw = |side: Side| {
        let values = Column::new(neighbours[usize::from(side == Side::Second)].to_vec());
        let input = Aggregate::claimed(
            Sensitive::new(values),
            sensitivity.clone(),
            respondent(),
            Grid::new(0),
        );
        key(&account
            .release_by(mechanism, input, "audit")
            .expect("budget")
            .into_value())
    };
    Ok(auditor(samples).audit(draw, &Feature::<i64>::standard())?)
}

fn floats() -> Result<Outcome, Fault> {
    // The textbook: a random sign times ln(u), in floating point.
    let floats = TextbookLaplace::new(1.0)?;
    let mut entropy = OsEntropy::new()?;
    let textbook = auditor(200_000).audit(
        |side| floats.draw(if side == Side::First { 0.0 } else { 1.0 }, &mut entropy),
        &Feature::<f64>::standard(),
    )?;
    // The stronger attack: single answers that no random bits make from the other value.
    let exposed = floats.exposure([0.0, 1.0], 20_000, entropy.bits(64), &|_| true);
    let least = lower_limit(exposed.given_away, exposed.draws, FALSE_ALARM);
    let unexposed = grid_noise(&Epsilon::parse("1")?, 500_000, &|_| true)?;
    // The same attack on the same question, answered on a grid.
    let (scale, one) = (Rational::ONE, Rational::ONE);
    let grid = Grid::for_noise(&scale, &one);
    let noise = DiscreteLaplace::new(&grid.scale(&scale))?;
    let mut entropy = OsEntropy::new()?;
    let mut ours = |side: Side| {
        let mut steps = [grid.round(if side == Side::First { 0.0 } else { 1.0 })];
        noise.add_to(&mut steps, &mut entropy);
        grid.value(steps[0])
    };
    let grid_finding = auditor(200_000).audit(&mut ours, &Feature::<f64>::standard())?;
    // What an attacker sees: where the lowest bit of an answer stands.
    let mut entropy = OsEntropy::new()?;
    let mut lowest = |value: f64| -> Vec<(f64, f64)> {
        let mut counts = std::collections::BTreeMap::<i64, f64>::new();
        for _ in 0..50_000 {
            *counts
                .entry(lowest_bit_exponent(floats.draw(value, &mut entropy)))
                .or_default() += 1.0;
        }
        counts
            .into_iter()
            .filter(|(place, _)| (-70..=0).contains(place))
            .map(|(place, count)| (place as f64, count))
            .collect()
    };
    let figure = Figure::new("Where the lowest bit of a textbook answer stands, on 0 and on 1")
        .x_axis("2 to the power of", Scale::Linear)
        .y_axis("answers of 50,000", Scale::Linear)
        .line("truth is 0", &lowest(0.0))
        .line("truth is 1", &lowest(1.0));
    let pass = textbook.verdict(1.0, 0.0) == FindingVerdict::Refuted
        && grid_finding.verdict(1.0, 0.0) == FindingVerdict::Consistent
        && grid_finding.epsilon_lower > 0.7
        // About two thirds, with room for chance; and of a decision that finds its own answers impossible
        // nothing would follow.
        && least > 0.6
        && exposed.unexplained == 0
        && unexposed.given_away() == 0
        && unexposed.points_compared > 100;
    let measured = format!(
        "textbook: ε ≥ {}, {} % of single answers on 0 exclude 1; on the grid: ε ≥ {}, {} of {} exclude the other",
        significant(textbook.epsilon_lower, 3),
        significant(100.0 * exposed.given_away as f64 / exposed.draws as f64, 3),
        significant(grid_finding.epsilon_lower, 3),
        unexposed.given_away(),
        unexposed.draws.iter().sum::<u64>()
    );
    let expected = "textbook refuted at ε = 1, about two thirds of single answers exclude the truth's neighbour; grid within it, none";
    Ok(Outcome::new(expected, measured, pass)
        .note(format!("What gave the textbook away: {}.", textbook.event))
        .figure(figure))
}
