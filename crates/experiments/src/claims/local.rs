//! Small shared pieces of the rows: an account with room, neighbours, and an auditor with the stated
//! false-alarm rate.

use super::Fault;
use accounting::{Budget, Delta, Epsilon, Neighbors, PrivacyUnit, Promise};
use audit::black_box::BlackBox;
use mechanism::{Account, Aggregate, MemoryLedger, Sensitive, Sensitivity};
use noise::Grid;

/// The probability with which a right claim is called wrong.
pub(super) const FALSE_ALARM: f64 = 1e-9;

/// A person, added or removed.
pub(super) fn person() -> PrivacyUnit {
    PrivacyUnit::new("person", Neighbors::AddRemove)
}

/// A person, whose answer changes.
pub(super) fn respondent() -> PrivacyUnit {
    PrivacyUnit::new("respondent", Neighbors::ChangeOne)
}

/// An account that no row exhausts: rows are about single releases.
pub(super) fn plenty(unit: PrivacyUnit) -> Result<Account<MemoryLedger>, Fault> {
    let limit = Promise::Approximate(Epsilon::parse("1e12")?, Delta::parse("0.999")?);
    Ok(Account::open(MemoryLedger::new(Budget::new(limit, unit)))?)
}

/// A count of one of two neighbouring databases.
pub(super) fn count(value: i64, sensitivity: &Sensitivity) -> Aggregate<i64> {
    Aggregate::claimed(Sensitive::new(value), sensitivity.clone(), person(), Grid::new(0))
}

/// An auditor with the stated false-alarm rate.
pub(super) fn auditor(samples_per_side: u64) -> BlackBox {
    BlackBox {
        samples_per_side,
        delta: 0.0,
        confidence: 1.0 - FALSE_ALARM,
    }
}
