//! A run of planned steps: charged once, drawn step by step, resumed without a second charge.

use super::SampledGaussian;
use super::fingerprint::Fingerprint;
use super::summed::Summed;
use crate::{Account, Aggregate, Charge, Error, Ledger, Receipt, Stated};
use accounting::{Guarantee, PrivacyUnit};
use noise::{PlacedGaussian, RoundedGaussian};
use sha2::{Digest, Sha256};
use zeroize::Zeroize;

/// A key for one purpose: SHA-256 of the purpose, the run's key, a number and what else it depends on.
pub(crate) fn key_for(purpose: &str, key: &[u8; 32], number: u64, depends_on: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update((purpose.len() as u64).to_le_bytes());
    hash.update(purpose.as_bytes());
    hash.update(key);
    hash.update(number.to_le_bytes());
    hash.update(depends_on);
    hash.finalize().into()
}

/// What the charge says of a key, and of what it is for, without telling either. It names the way noise is drawn, too: a run that was begun with another would get other noise for the same sums.
fn name_of(key: &[u8; 32], subject: &str) -> String {
    hexadecimal(
        &key_for(
            "name, noise by place, sixteen blocks side by side",
            key,
            0,
            subject.as_bytes(),
        )[..16],
    )
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// 32 bytes from the digits that [`hexadecimal`] wrote, or `None`.
pub(crate) fn key_from_hexadecimal(digits: &str) -> Option<[u8; 32]> {
    if digits.len() != 64 || !digits.is_ascii() {
        return None;
    }
    let mut key = [0u8; 32];
    for (place, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * place..2 * place + 2], 16).ok()?;
    }
    Some(key)
}

fn purpose_of(purpose: &str, key: &[u8; 32], subject: &str) -> String {
    format!("{purpose} (training run {})", name_of(key, subject))
}

/// Adds the noise of step `number` to its sum. Places have noise of their own, so that it does not matter where or on how many threads it is made.
pub(super) fn add_noise(
    noise: &RoundedGaussian,
    sum: &mut impl Summed,
    number: u64,
    key: &[u8; 32],
    threads: usize,
) {
    let fingerprint = Fingerprint::new(&key_for("fingerprint", key, 0, &[]));
    let prints = sum.fingerprints(&fingerprint, threads);
    let mut stream = key_for("noise", key, number, prints.as_flattened());
    sum.add(&PlacedGaussian::new(noise, stream), threads);
    stream.zeroize();
}

/// Steps that were charged and not all drawn yet.
///
/// It can be saved and resumed: see [`Training::save`]. Nothing is paid back for steps that are never drawn.
pub struct Training {
    mechanism: SampledGaussian,
    unit: PrivacyUnit,
    receipt: Receipt,
    key: [u8; 32],
    drawn: u64,
    process: u32,
    threads: usize,
}

impl std::fmt::Debug for Training {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "Training({} of {} steps drawn)",
            self.drawn, self.mechanism.steps
        )
    }
}

impl Drop for Training {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

impl Training {
    /// What was charged, for all steps.
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// What is drawn.
    pub fn mechanism(&self) -> &SampledGaussian {
        &self.mechanism
    }

    /// How many steps were drawn.
    pub fn drawn(&self) -> u64 {
        self.drawn
    }

    /// Makes noise on up to this many threads; it is the same noise.
    pub fn on_threads(&mut self, threads: usize) {
        self.threads = threads.max(1);
    }

    /// The next step on this many units: draws which of them are in. A step that is dropped without being released is the next one again, with the same units.
    ///
    /// # Errors
    /// When all planned steps were drawn, or the process forked since.
    pub fn step(&mut self, units: u64) -> Result<Step<'_>, Error> {
        if self.process != std::process::id() {
            return Err(Error::Forked);
        }
        if self.drawn >= self.mechanism.steps {
            return Err(Error::NotReserved);
        }
        let members = self.mechanism.parts.members(units, self.drawn, &self.key);
        Ok(Step {
            training: self,
            members,
        })
    }

    /// What a later process needs to go on. It holds the key: with it and an answer, the sum is known. Guard it like the data.
    pub fn save(&self) -> SavedTraining {
        SavedTraining {
            number: self.receipt.number,
            purpose: self.receipt.charge.purpose.clone(),
            key: self.key,
            drawn: self.drawn,
        }
    }
}

/// One step: its units, and leave to release one sum over them.
#[derive(Debug)]
pub struct Step<'training> {
    training: &'training mut Training,
    members: Vec<u64>,
}

impl Step<'_> {
    /// Which units are in, by number. That is as private as the data.
    pub fn members(&self) -> &[u64] {
        &self.members
    }

    /// Noises the sum over the members and counts the step.
    ///
    /// # Errors
    /// When the sum is about another unit, on another grid, or moves further than the mechanism was calibrated for. Then nothing was drawn or counted.
    pub fn release<S: Summed>(self, sum: Aggregate<S>) -> Result<S, Error> {
        let Training {
            mechanism,
            unit,
            key,
            drawn,
            threads,
            ..
        } = self.training;
        if *sum.unit() != *unit {
            return Err(Error::UnitMismatch);
        }
        mechanism.terms().check(&sum)?;
        let mut sum = sum.open();
        add_noise(&mechanism.noise, &mut sum, *drawn, key, *threads);
        *drawn += 1;
        Ok(sum)
    }
}

/// A run between two processes.
pub struct SavedTraining {
    number: u64,
    purpose: String,
    key: [u8; 32],
    drawn: u64,
}

impl std::fmt::Debug for SavedTraining {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "SavedTraining({} steps drawn, ..)", self.drawn)
    }
}

impl Drop for SavedTraining {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

impl SavedTraining {
    /// How many steps were drawn.
    pub fn drawn(&self) -> u64 {
        self.drawn
    }

    /// The place of the charge in its ledger.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Everything, key and all, as text for a file that nobody else may read.
    pub fn to_secret_text(&self) -> String {
        format!(
            "{} {} {} {}",
            self.number,
            self.drawn,
            hexadecimal(&self.key),
            self.purpose
        )
    }

    /// What [`SavedTraining::to_secret_text`] wrote, or `None` when the text is something else.
    pub fn from_secret_text(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, ' ');
        let (number, drawn) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let key = key_from_hexadecimal(parts.next()?)?;
        Some(Self {
            number,
            drawn,
            key,
            purpose: parts.next()?.to_owned(),
        })
    }
}

impl<L: Ledger> Account<L> {
    /// Charges for all steps of `mechanism`. When this returns, the charge is durable, and the data may be read.
    ///
    /// `subject` is everything else that the sums depend on: data, model, recipe. The charge is for that and for nothing else: a run that goes on must name the same, because another sum
    /// would get noise of its own, which would be a release that nobody paid for.
    ///
    /// # Errors
    /// When the mechanism is not proved for the account's neighbours, or the ledger refuses; then nothing was spent.
    pub fn begin_training(
        &mut self,
        mechanism: &SampledGaussian,
        purpose: &str,
        subject: &str,
    ) -> Result<Training, Error> {
        let key = self.key();
        let unit = self.ledger().budget().unit().clone();
        if mechanism.sampling.neighbors() != unit.neighbors {
            return Err(Error::NeighborsMismatch);
        }
        let charge = Charge {
            event: mechanism.event().clone(),
            guarantee: Guarantee::new(mechanism.terms().promise().clone(), unit.clone()),
            purpose: purpose_of(purpose, &key, subject),
        };
        let receipt = self.ledger_mut().charge(charge)?;
        Ok(Training {
            mechanism: mechanism.clone(),
            unit,
            receipt,
            key,
            drawn: 0,
            process: std::process::id(),
            threads: 1,
        })
    }

    /// Goes on with a run whose charge this ledger holds. It is not charged again: each step draws what it would have drawn, so steps that were drawn after the run was saved come
    /// out the same.
    ///
    /// # Errors
    /// When the ledger cannot be read, or holds no charge of this number for this mechanism, this key and this subject.
    pub fn resume_training(
        &mut self,
        mechanism: &SampledGaussian,
        saved: &SavedTraining,
        subject: &str,
    ) -> Result<Training, Error> {
        let unit = self.ledger().budget().unit().clone();
        let charge = self.ledger_mut().taken(saved.number)?;
        let named = format!("(training run {})", name_of(&saved.key, subject));
        let charge = charge.filter(|charge| {
            charge.event == *mechanism.event()
                && *charge.guarantee.unit() == unit
                && charge.purpose == saved.purpose
                && charge.purpose.ends_with(&named)
        });
        let Some(charge) = charge.filter(|_| saved.drawn <= mechanism.steps) else {
            return Err(Error::NotCharged);
        };
        Ok(Training {
            mechanism: mechanism.clone(),
            unit,
            receipt: Receipt {
                number: saved.number,
                charge,
            },
            key: saved.key,
            drawn: saved.drawn,
            process: std::process::id(),
            threads: 1,
        })
    }
}
