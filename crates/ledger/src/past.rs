//! A ledger as it was when one of its entries was the last.

use crate::backend::Backend;
use crate::chain::{Head, OpenedBody, RecordKind, RulesBody};
use crate::history::{Entry, charges_until, walk_after};
use crate::{Error, Rules};

/// Everything that a ledger says up to one of its entries, which does not change any more whatever is charged
/// later.
#[derive(Clone, Debug, PartialEq)]
pub struct Past {
    /// The hash of the first entry, which tells ledgers apart.
    pub ledger: String,
    /// When the first entry was written, in milliseconds since 1970.
    pub opened: i64,
    /// The last entry that counts.
    pub head: Head,
    /// The rules in force after it.
    pub rules: Rules,
    /// How often the rules were changed.
    pub rules_changed: u64,
    /// Every charge up to it, the oldest first.
    pub charges: Vec<Entry>,
}

/// The past up to this entry, or to the last one.
pub(crate) fn past(backend: &mut dyn Backend, until: Option<u64>) -> Result<Past, Error> {
    let last = until.unwrap_or(u64::MAX);
    let mut first: Option<(String, i64, Rules)> = None;
    let mut changed = Vec::new();
    let head = walk_after(backend, None, |record, kind| {
        match kind {
            RecordKind::Opened => {
                let opened: OpenedBody = record.body()?;
                first = Some((record.hash.clone(), record.time, opened.rules));
            }
            RecordKind::Rules => changed.push(record.body::<RulesBody>()?.rules),
            RecordKind::Charge | RecordKind::Answer | RecordKind::Log => {}
        }
        Ok(record.number < last)
    })?;
    let (Some(head), Some((ledger, opened, rules))) = (head, first) else {
        return Err(crate::history::no_entries());
    };
    if until.is_some_and(|until| until != head.number) {
        return Err(Error::Rewound { number: last });
    }
    Ok(Past {
        ledger,
        opened,
        rules_changed: changed.len() as u64,
        rules: changed.pop().unwrap_or(rules),
        charges: charges_until(backend, head.number)?,
        head,
    })
}
