//! Synthetic people with one secret bit each, behind Deniable, in a folder that is gone afterwards.

use crate::terminal::{CliError, explained};
use accounting::{Delta, Epsilon, Neighbors};
use attack::averaging::Reply;
use ledger::{Place, Store};
use sql::blocking::Dataset;
use sql::{Ask, Catalog, Error};
use tempfile::TempDir;

/// A table `people` of (id, age, secret), a row a person. Who has which id and age is known to everybody.
pub(super) struct People {
    folder: TempDir,
    dataset: Dataset,
    /// How many ledgers were made.
    ledgers: u64,
}

/// The age of a person.
pub(super) fn age(id: usize) -> usize {
    18 + id * 37 % 70
}

impl People {
    /// People with these bits, and what may be learned about them on one ledger.
    pub(super) fn new(
        secrets: &[bool],
        neighbors: Neighbors,
        epsilon: &Epsilon,
        delta: &Delta,
    ) -> Result<Self, CliError> {
        let folder = tempfile::tempdir().map_err(no_folder)?;
        let mut csv = "id,age,secret\n".to_owned();
        for (id, secret) in secrets.iter().enumerate() {
            csv += &format!("{id},{},{}\n", age(id), u8::from(*secret));
        }
        std::fs::write(folder.path().join("people.csv"), csv).map_err(no_folder)?;
        let neighbors = match neighbors {
            Neighbors::AddRemove => "add_remove",
            Neighbors::ChangeOne => "change_one",
        };
        let catalog = format!(
            "name = \"attacked\"\n\
             [unit]\nwhose = \"person\"\nneighbors = \"{neighbors}\"\n\
             [budget]\nepsilon = \"{epsilon}\"\ndelta = \"{delta}\"\n\
             [tables.people]\nsource = \"people.csv\"\neach_row = true\n\
             [tables.people.columns]\n\
             id = {{ kind = \"int\", bounds = [0, {}], nullable = false }}\n\
             age = {{ kind = \"int\", bounds = [0, 120], nullable = false }}\n\
             secret = {{ kind = \"int\", bounds = [0, 1], nullable = false }}\n",
            secrets.len()
        );
        let catalog = Catalog::parse(&catalog, folder.path()).map_err(explained)?;
        Ok(Self {
            dataset: Dataset::new(catalog).map_err(explained)?,
            folder,
            ledgers: 0,
        })
    }

    /// A ledger on which nothing was charged.
    pub(super) fn fresh_ledger(&mut self) -> Result<Store, CliError> {
        self.ledgers += 1;
        let place = self.folder.path().join(format!("ledger-{}", self.ledgers));
        let rules = self.dataset.rules().map_err(explained)?;
        Store::open(&Place::File(place), &rules).map_err(explained)
    }

    /// The one number that a query asks for, charged to this ledger.
    pub(super) fn ask(
        &self,
        store: &mut Store,
        analyst: &str,
        sql: &str,
        epsilon: &Epsilon,
    ) -> Result<Reply, CliError> {
        let ask = Ask {
            epsilon: Some(epsilon.clone()),
            // A count needs none.
            delta: Some(Delta::ZERO),
            ..Ask::new(sql, analyst)
        };
        let answered = match self.dataset.query_with(&ask, store) {
            Ok(answered) => answered,
            Err(Error::OverBudget(_)) => {
                return Ok(Reply::Refused);
            }
            Err(error) => return Err(explained(error)),
        };
        let cell = answered.answer.rows.first().and_then(|row| row.first());
        let value = cell.and_then(|cell| cell.value.as_f64());
        let value = value.ok_or_else(|| CliError::bad_input("Deniable answered without a number"))?;
        Ok(if answered.repeated {
            Reply::Repeated(value)
        } else {
            Reply::Fresh(value)
        })
    }
}

fn no_folder(cause: std::io::Error) -> CliError {
    CliError::bad_input(format!("the synthetic data cannot be written: {}", cause.kind()))
        .with_hint("is there room in the folder for temporary files?")
}
