//! Tables drawn under the hypothesis, with their noise: what a statistic is like where no formula tells.

use super::{Against, TableNoise, TwoWay, against};
use noise::Seeded;

/// How likely a table of independent columns, with noise, says as much against independence. The draws are those of a fixed seed: the same table has the same p-value.
pub(super) fn p_value(table: &TwoWay, found: &Against, draws: u32) -> f64 {
    let TableNoise::Apart { variance, gaussian } = table.noise else {
        return f64::NAN;
    };
    let width = table.columns.len();
    let mut seeded = Seeded::new(0x7ab1e5);
    let mut as_large = 1u32;
    let mut drawn = table.clone();
    let whole: f64 = found.shares.0.iter().sum::<f64>() * found.shares.1.iter().sum::<f64>();
    for _ in 0..draws {
        let mut rows = found.total.round();
        let mut share = whole;
        for (place, count) in drawn.counts.iter_mut().enumerate() {
            let of_cell = found.shares.0[place / width] * found.shares.1[place % width];
            let rows_here = binomial(&mut seeded, rows, (of_cell / share).clamp(0.0, 1.0));
            rows -= rows_here;
            share = (share - of_cell).max(f64::MIN_POSITIVE);
            *count = rows_here + deviation(&mut seeded, variance, gaussian);
        }
        if against(&drawn).is_none_or(|drawn| drawn.statistic >= found.statistic) {
            as_large += 1;
        }
    }
    f64::from(as_large) / f64::from(draws + 1)
}

/// A number of this variance around zero.
pub(super) fn deviation(seeded: &mut Seeded, variance: f64, gaussian: bool) -> f64 {
    if gaussian {
        return variance.sqrt() * seeded.normal();
    }
    let part = seeded.unit() - 0.5;
    let scale = (variance / 2.0).sqrt();
    -scale * part.signum() * (1.0 - 2.0 * part.abs()).max(f64::MIN_POSITIVE).ln()
}

/// How many of `rows` have a property of this probability: counted where few have it or lack it, else normal.
fn binomial(seeded: &mut Seeded, rows: f64, probability: f64) -> f64 {
    if probability > 0.5 {
        return rows - binomial(seeded, rows, 1.0 - probability);
    }
    let mean = rows * probability;
    if mean <= 0.0 {
        return 0.0;
    }
    if mean > 60.0 {
        let drawn = mean + (mean * (1.0 - probability)).sqrt() * seeded.normal();
        return drawn.round().clamp(0.0, rows);
    }
    // Gaps between those that have it are geometric.
    let log = (-probability).ln_1p();
    let (mut at, mut count) = (0.0, 0.0);
    loop {
        at += ((1.0 - seeded.unit()).ln() / log).floor() + 1.0;
        if at > rows {
            return count;
        }
        count += 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_mean_and_variance_that_they_should() {
        let mut seeded = Seeded::new(5);
        for (rows, probability) in [(50.0, 0.1), (400.0, 0.5), (30.0, 0.9), (10_000.0, 0.3)] {
            let drawn: Vec<f64> = (0..20_000)
                .map(|_| binomial(&mut seeded, rows, probability))
                .collect();
            check(
                &drawn,
                rows * probability,
                rows * probability * (1.0 - probability),
            );
        }
        for gaussian in [true, false] {
            let drawn: Vec<f64> = (0..20_000)
                .map(|_| deviation(&mut seeded, 9.0, gaussian))
                .collect();
            check(&drawn, 0.0, 9.0);
        }
    }

    /// Within 5 standard errors of a mean, and 10 % of a variance: false alarms are below 1e-5.
    fn check(drawn: &[f64], mean: f64, variance: f64) {
        let count = drawn.len() as f64;
        let found = drawn.iter().sum::<f64>() / count;
        let spread = drawn.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        assert!(
            (found - mean).abs() < 5.0 * (variance / count).sqrt(),
            "{found} against {mean}"
        );
        assert!(
            (spread / variance - 1.0).abs() < 0.1,
            "{spread} against {variance}"
        );
    }
}
