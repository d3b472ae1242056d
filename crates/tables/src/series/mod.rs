//! A series that a job releases month after month: one charge, one file, running totals, and windows for nothing.
//!
//! A job is started by a clock, is killed, is started twice. So the state of a series is a file, which is written whole and reaches the disk before noise is drawn, and a second run for the same month gives the numbers of
//! the first. What a job passes is the month's number and what is new in it; what it gets are totals since the beginning with their deviations. Sums over the last year or any other window are differences of two totals.

use crate::{Error, Estimate};
use files::{Readable, Whole};
use mechanism::{Account, Aggregate, Ledger, Release, RunningTotals, SavedSeries, Series, Stated};
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

/// Running totals whose state is in a file. Nobody else can go on with it while this is open.
#[derive(Debug)]
pub struct SeriesFile {
    series: Series,
    path: PathBuf,
    /// Held for as long as this lives.
    _lock: File,
}

/// The totals of one period, since the beginning.
#[derive(Clone, Debug, PartialEq)]
pub struct Totals {
    period: u64,
    values: Vec<f64>,
    deviation: f64,
    /// The step of the grid that numbers were rounded to.
    step: f64,
}

impl SeriesFile {
    /// Charges for all periods, and begins the file, which must not exist yet.
    ///
    /// `subject` is what the series is about: the table, the query, the first period. Nothing else can go on with it.
    ///
    /// # Errors
    /// When there is a file already, it cannot be written, or the ledger refuses. Where the charge was taken and the file could not be written, the charge stays spent.
    pub fn begin<L: Ledger>(
        account: &mut Account<L>,
        mechanism: &RunningTotals,
        purpose: &str,
        subject: &str,
        path: &Path,
    ) -> Result<Self, Error> {
        let lock = lock(path)?;
        if path.exists() {
            return Err(Error::SeriesExists);
        }
        let series = account.begin_series(mechanism, purpose, subject)?;
        let file = Whole::at(path, Readable::ByOwner).new_only();
        let text = series.save().to_secret_text();
        file.write(|file| file.write_all(text.as_bytes())).map_err(kept)?;
        Ok(Self {
            series,
            path: path.to_owned(),
            _lock: lock,
        })
    }

    /// Goes on with the series of a file, under the charge that it began with.
    ///
    /// # Errors
    /// When the file cannot be read or is not whole, somebody else has it open, or the ledger holds no charge for it.
    pub fn resume<L: Ledger>(
        account: &mut Account<L>,
        mechanism: &RunningTotals,
        subject: &str,
        path: &Path,
    ) -> Result<Self, Error> {
        let lock = lock(path)?;
        let text = std::fs::read_to_string(path).map_err(kept)?;
        let saved = SavedSeries::from_secret_text(&text).ok_or(Error::SeriesDamaged)?;
        let series = account.resume_series(mechanism, &saved, subject)?;
        Ok(Self {
            series,
            path: path.to_owned(),
            _lock: lock,
        })
    }

    /// The number of the next period; the first is 0.
    pub fn next(&self) -> u64 {
        self.series.next()
    }

    /// What was charged, and how exact it is.
    pub fn series(&self) -> &Series {
        &self.series
    }

    /// The totals up to and with `period`: the next one, whose own numbers are `increments`, or the last one again, whatever `increments` are.
    ///
    /// # Errors
    /// When it is another period, the increments are about something else, or the file cannot be written. Nothing was released then.
    pub fn release(&mut self, period: u64, increments: Aggregate<Vec<i64>>) -> Result<Totals, Error> {
        let path = &self.path;
        let keep = |state: &SavedSeries| {
            let text = state.to_secret_text();
            let file = Whole::at(path, Readable::ByOwner);
            file.write(|file| file.write_all(text.as_bytes()))
                .map_err(|error| error.to_string())
        };
        let release = self.series.release(period, increments, keep)?;
        Ok(Totals::of(period, &release, self.series.mechanism()))
    }

    /// What the windows that end with `later` have: its totals less those of an earlier period, or all of them where there is none.
    ///
    /// # Errors
    /// When the two are not in this order, or not of this series.
    pub fn window(&self, later: &Totals, earlier: Option<&Totals>) -> Result<Vec<Estimate>, Error> {
        window(self.series.mechanism(), later, earlier)
    }
}

impl Totals {
    fn of(period: u64, release: &Release<Vec<i64>>, mechanism: &RunningTotals) -> Self {
        let step = release.grid().value(1);
        Self {
            period,
            values: release.reals(),
            deviation: mechanism.deviation(period) * step,
            step,
        }
    }

    /// Which period they end with; the first is 0.
    pub fn period(&self) -> u64 {
        self.period
    }

    /// The totals.
    pub fn estimates(&self) -> Vec<Estimate> {
        let variance = self.deviation * self.deviation + rounding(self.step);
        self.values
            .iter()
            .map(|value| Estimate {
                value: *value,
                variance,
                gaussian: true,
            })
            .collect()
    }
}

/// The sums over the periods after `earlier` up to and with `later`: unbiased, with the variance of their noise.
///
/// # Errors
/// When the two are not in this order, or not of such a series.
pub fn window(
    mechanism: &RunningTotals,
    later: &Totals,
    earlier: Option<&Totals>,
) -> Result<Vec<Estimate>, Error> {
    let Some(earlier) = earlier else {
        return Ok(later.estimates());
    };
    let fits = earlier.period < later.period
        && later.period < mechanism.periods()
        && earlier.values.len() == later.values.len()
        && mechanism
            .terms()
            .grid()
            .is_some_and(|grid| grid.value(1) == later.step);
    if !fits {
        return Err(Error::OtherSeries);
    }
    let deviation = mechanism.window_deviation(later.period, later.period - earlier.period) * later.step;
    let variance = deviation * deviation + 2.0 * rounding(later.step);
    let pairs = later.values.iter().zip(&earlier.values);
    Ok(pairs
        .map(|(later, earlier)| Estimate {
            value: later - earlier,
            variance,
            gaussian: true,
        })
        .collect())
}

/// The variance that rounding to a grid adds.
fn rounding(step: f64) -> f64 {
    step * step / 12.0
}

/// A lock beside the file, which a process loses when it ends, however it ends.
fn lock(path: &Path) -> Result<File, Error> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(name)
        .map_err(kept)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::SeriesInUse),
        Err(TryLockError::Error(error)) => Err(kept(error)),
    }
}

fn kept(error: std::io::Error) -> Error {
    Error::SeriesFile(error.to_string())
}

#[cfg(test)]
mod tests;
