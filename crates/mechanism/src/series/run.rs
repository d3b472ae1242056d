//! A series that goes on for months: charged once, released period by period, saved before each release.

use super::RunningTotals;
use crate::training::{Fingerprint, hexadecimal, key_for, key_from_hexadecimal};
use crate::{Account, Aggregate, Charge, Error, Ledger, Receipt, Release, Stated};
use accounting::{Guarantee, PrivacyUnit};
use sha2::{Digest, Sha256};
use zeroize::Zeroize;

/// The key of a period's noise: chosen by the run's key, by all earlier periods, and by this one's numbers.
pub(super) fn next_key(key: &[u8; 32], earlier: &[[u8; 32]], increments: &[i64]) -> [u8; 32] {
    let fingerprint = Fingerprint::new(&key_for("series, fingerprint", key, 0, &[]));
    let chunks = increments
        .chunks(Fingerprint::CHUNK)
        .map(|chunk| fingerprint.of(chunk));
    let mut depends_on: Vec<[u8; 32]> = earlier.last().copied().into_iter().collect();
    depends_on.extend(chunks);
    let made = key_for(
        "series, noise",
        key,
        earlier.len() as u64,
        depends_on.as_flattened(),
    );
    depends_on.zeroize();
    made
}

/// What the charge says of a key and of what it is for, without telling either: of the mechanism with all its parameters, too.
fn name_of(key: &[u8; 32], mechanism: &RunningTotals, subject: &str) -> String {
    let text = format!("{}\n{subject}", mechanism.description());
    hexadecimal(&key_for("series, name", key, 0, text.as_bytes())[..16])
}

/// Everything that a later process needs. With it, whoever has the releases has the data: guard it as the data.
#[derive(Clone, PartialEq, Eq)]
pub struct SavedSeries {
    number: u64,
    purpose: String,
    key: [u8; 32],
    /// Exact totals up to the last period.
    sums: Vec<i128>,
    /// Of each period that was taken.
    keys: Vec<[u8; 32]>,
}

impl std::fmt::Debug for SavedSeries {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "SavedSeries({} periods, ..)", self.keys.len())
    }
}

impl Drop for SavedSeries {
    fn drop(&mut self) {
        self.key.zeroize();
        self.keys.zeroize();
        self.sums.zeroize();
    }
}

/// The first word of the text.
const FORMAT: &str = "series-1";

impl SavedSeries {
    /// How many periods were taken.
    pub fn periods(&self) -> u64 {
        self.keys.len() as u64
    }

    /// The place of the charge in its ledger.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Everything, key and totals and all, as text for a file that nobody else may read.
    pub fn to_secret_text(&self) -> String {
        let sums: Vec<String> = self.sums.iter().map(i128::to_string).collect();
        let keys: Vec<String> = self.keys.iter().map(|key| hexadecimal(key)).collect();
        let text = format!(
            "{FORMAT}\n{}\n{}\n{}\n{}\n{}\n",
            self.number,
            hexadecimal(&self.key),
            sums.join(" "),
            keys.join(" "),
            self.purpose
        );
        let check = hexadecimal(&Sha256::digest(text.as_bytes())[..]);
        format!("{text}{check}\n")
    }

    /// What [`SavedSeries::to_secret_text`] wrote, or `None` when the text is something else or not all of it.
    pub fn from_secret_text(text: &str) -> Option<Self> {
        let (body, check) = text.strip_suffix('\n')?.rsplit_once('\n')?;
        let body = format!("{body}\n");
        if hexadecimal(&Sha256::digest(body.as_bytes())[..]) != check {
            return None;
        }
        let mut lines = body.splitn(6, '\n');
        lines.next().filter(|format| *format == FORMAT)?;
        let number = lines.next()?.parse().ok()?;
        let key = key_from_hexadecimal(lines.next()?)?;
        let sums: Result<Vec<i128>, _> = lines.next()?.split_whitespace().map(str::parse).collect();
        let keys: Option<Vec<[u8; 32]>> = lines
            .next()?
            .split_whitespace()
            .map(key_from_hexadecimal)
            .collect();
        Some(Self {
            number,
            purpose: lines.next()?.strip_suffix('\n')?.to_owned(),
            key,
            sums: sums.ok()?,
            keys: keys?,
        })
    }
}

/// Running totals that were charged and not all released yet.
///
/// A period is released in three steps, in this order: its numbers are added to the state, the state is saved, the noise is drawn. So a crash at any moment leaves a state from which the same release follows.
pub struct Series {
    mechanism: RunningTotals,
    unit: PrivacyUnit,
    receipt: Receipt,
    state: SavedSeries,
    process: u32,
}

impl std::fmt::Debug for Series {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "Series({} of {} periods released)",
            self.next(),
            self.mechanism.periods()
        )
    }
}

impl Series {
    /// What was charged, for all periods.
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// What is drawn.
    pub fn mechanism(&self) -> &RunningTotals {
        &self.mechanism
    }

    /// The number of the next period; the first is 0.
    pub fn next(&self) -> u64 {
        self.state.periods()
    }

    /// What a later process needs to go on.
    pub fn save(&self) -> SavedSeries {
        self.state.clone()
    }

    /// The totals up to and with `period`: the next one, or the last that was taken.
    ///
    /// For the next one, `increments` are what this period adds. `keep` has to write the state down durably, and only then is the noise drawn. For the last one the same numbers come out again, from the state
    /// alone: `increments` are not read, so that a second run of a job releases what the first did, whatever has changed in the data.
    ///
    /// # Errors
    /// When it is another period, when all were released, when the increments are about another unit, grid or sensitivity, when `keep` fails, or the process forked since. Nothing was drawn then, and nothing has changed.
    pub fn release(
        &mut self,
        period: u64,
        increments: Aggregate<Vec<i64>>,
        keep: impl FnOnce(&SavedSeries) -> Result<(), String>,
    ) -> Result<Release<Vec<i64>>, Error> {
        if self.process != std::process::id() {
            return Err(Error::Forked);
        }
        if period.checked_add(1) == Some(self.next()) {
            return Ok(self.last().expect("a period was taken"));
        }
        if period != self.next() || period >= self.mechanism.periods() {
            return Err(Error::NotTheNextPeriod {
                asked: period,
                next: self.next(),
            });
        }
        if *increments.unit() != self.unit {
            return Err(Error::UnitMismatch);
        }
        self.mechanism.terms().check(&increments)?;
        let next = self.advanced(&increments.open());
        keep(&next).map_err(Error::NotSaved)?;
        self.state = next;
        Ok(self.last().expect("a period was taken"))
    }

    /// The totals of the last period that was taken, again; `None` when there is none.
    pub fn last(&self) -> Option<Release<Vec<i64>>> {
        let period = self.state.keys.len().checked_sub(1)?;
        let keys = &self.state.keys;
        let row = |period: usize| self.mechanism.row(&keys[period]);
        let value = self.mechanism.released(&self.state.sums, keys, row);
        let grid = self.mechanism.terms().grid()?;
        let accuracy = self.mechanism.accuracy(period);
        Some(Release::new(value, accuracy, grid, self.receipt.clone()))
    }

    fn advanced(&self, increments: &[i64]) -> SavedSeries {
        let mut next = self.state.clone();
        // Never how many numbers the data has.
        let increments = &increments[..increments.len().min(next.sums.len())];
        next.keys.push(next_key(&next.key, &next.keys, increments));
        for (sum, value) in next.sums.iter_mut().zip(increments) {
            *sum += i128::from(*value);
        }
        next
    }
}

impl<L: Ledger> Account<L> {
    /// Charges for all periods of `mechanism`. When this returns, the charge is durable, and the data may be read.
    ///
    /// `subject` is everything else that the numbers depend on: the table, the query, the first period. The charge is for that and for nothing else.
    ///
    /// # Errors
    /// When the mechanism is not proved for the account's neighbours, or the ledger refuses; then nothing was spent.
    pub fn begin_series(
        &mut self,
        mechanism: &RunningTotals,
        purpose: &str,
        subject: &str,
    ) -> Result<Series, Error> {
        let key = self.key();
        let unit = self.ledger().budget().unit().clone();
        let terms = mechanism.terms();
        if terms
            .requires()
            .is_some_and(|neighbors| neighbors != unit.neighbors)
        {
            return Err(Error::NeighborsMismatch);
        }
        let charge = Charge {
            event: terms.event().clone(),
            guarantee: Guarantee::new(terms.promise().clone(), unit.clone()),
            purpose: format!("{purpose} (series {})", name_of(&key, mechanism, subject)),
        };
        let receipt = self.ledger_mut().charge(charge)?;
        let state = SavedSeries {
            number: receipt.number,
            purpose: receipt.charge.purpose.clone(),
            key,
            sums: vec![0; mechanism.width()],
            keys: Vec::new(),
        };
        Ok(Series {
            mechanism: mechanism.clone(),
            unit,
            receipt,
            state,
            process: std::process::id(),
        })
    }

    /// Goes on with a series whose charge this ledger holds. It is not charged again.
    ///
    /// # Errors
    /// When the ledger cannot be read, or holds no charge of this number for this mechanism, this key and this subject.
    pub fn resume_series(
        &mut self,
        mechanism: &RunningTotals,
        saved: &SavedSeries,
        subject: &str,
    ) -> Result<Series, Error> {
        let unit = self.ledger().budget().unit().clone();
        let charge = self.ledger_mut().taken(saved.number)?;
        let named = format!("(series {})", name_of(&saved.key, mechanism, subject));
        let charge = charge.filter(|charge| {
            charge.event == *mechanism.terms().event()
                && *charge.guarantee.promise() == *mechanism.terms().promise()
                && *charge.guarantee.unit() == unit
                && charge.purpose == saved.purpose
                && charge.purpose.ends_with(&named)
        });
        let fits = saved.periods() <= mechanism.periods() && saved.sums.len() == mechanism.width();
        let Some(charge) = charge.filter(|_| fits) else {
            return Err(Error::NotCharged);
        };
        let receipt = Receipt {
            number: saved.number,
            charge,
        };
        Ok(Series {
            mechanism: mechanism.clone(),
            unit,
            receipt,
            state: saved.clone(),
            process: std::process::id(),
        })
    }
}
