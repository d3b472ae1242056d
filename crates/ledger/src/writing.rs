//! How entries are written.

use crate::backend::{Access, Backend, Snapshot};
use crate::chain::{ChargeBody, Content, FORMAT, Head, OpenedBody, Record, RecordKind};
use crate::tally::Tally;
use crate::{Error, Rules};
use mechanism::Charge;
use noise::{Entropy as _, OsEntropy};
use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};

/// Makes a ledger, unless another process just did.
pub(crate) fn make(backend: &mut dyn Backend, rules: &Rules) -> Result<(), Error> {
    backend.begin(Access::Create)?;
    let made = (|| {
        if backend.exists()? {
            return Ok(());
        }
        backend.create()?;
        let body = json(&OpenedBody {
            format: FORMAT,
            rules: rules.clone(),
        })?;
        let content = |tally| Content {
            kind: RecordKind::Opened,
            analyst: "",
            question: "",
            purpose: "",
            body,
            tally,
        };
        append(backend, None, &Tally::new(rules)?, content).map(|_| ())
    })();
    match made {
        Ok(()) => Ok(backend.commit()?),
        Err(error) => {
            backend.rollback();
            Err(error)
        }
    }
}

/// Inside a transaction: an entry, and the sums after it.
pub(crate) fn append<'a>(
    backend: &mut dyn Backend,
    head: Option<&Head>,
    tally: &Tally,
    content: impl FnOnce(String) -> Content<'a>,
) -> Result<Head, Error> {
    let (text, digest) = tally.write()?;
    let record = Record::after(head, now(), content(digest));
    backend.append(&record)?;
    backend.keep_snapshot(&Snapshot {
        number: record.number,
        hash: record.hash.clone(),
        tally: text,
    })?;
    Ok(record.head())
}

/// What is charged, as text that will certainly be read back: an entry that cannot be read stops the ledger
/// for ever.
pub(crate) fn body_of(charge: &Charge) -> Result<String, Error> {
    let body = ChargeBody {
        event: charge.event.clone(),
        guarantee: charge.guarantee.clone(),
    };
    let text = json(&body)?;
    match serde_json::from_str::<ChargeBody>(&text) {
        Ok(read) if read == body => Ok(text),
        _ => Err(Error::unusable(
            "what is to run cannot be written so that it is read back",
            "nest its events less deeply",
        )),
    }
}

/// PostgreSQL keeps no text with a zero character.
pub(crate) fn check_text(text: &str) -> Result<(), Error> {
    if text.contains('\0') {
        return Err(Error::unusable(
            "a name, question or purpose has a zero character in it",
            "leave it out",
        ));
    }
    Ok(())
}

pub(crate) fn json(body: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(body).map_err(|_| {
        Error::unusable(
            "an entry cannot be written as text",
            "this is a mistake in the program; report it",
        )
    })
}

/// For a message inside a message.
pub(crate) fn in_one_line(error: &Error) -> String {
    error.to_string().replace("\nhint: ", "; ")
}

pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// 128 random bits, as text.
pub(crate) fn salt() -> Result<String, Error> {
    let mut entropy = OsEntropy::new().map_err(|_| {
        Error::unusable(
            "the system gives no random bytes",
            "try again; where it lasts, see what the system lacks",
        )
    })?;
    Ok(format!("{:016x}{:016x}", entropy.bits(64), entropy.bits(64)))
}
