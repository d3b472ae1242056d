//! Synthetic people with one secret bit each, behind Deniable, in a folder that is gone afterwards.
//!
//! ```
//! use accounting::{Delta, Epsilon, Neighbors};
//! use attack::averaging::Reply;
//! use experiments::people::People;
//!
//! let (budget, each) = (Epsilon::parse("1")?, Epsilon::parse("0.5")?);
//! let mut people = People::new(&[true, false, true], Neighbors::AddRemove, &budget, &Delta::ZERO)?;
//! let mut ledger = people.fresh_ledger()?;
//! let count = "SELECT COUNT(*) FROM people WHERE secret = 1";
//! assert!(matches!(people.ask(&mut ledger, "mallory", count, &each)?, Reply::Fresh(_)));
//! assert!(matches!(people.ask(&mut ledger, "mallory", count, &each)?, Reply::Repeated(_)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use accounting::{Delta, Epsilon, Neighbors};
use attack::averaging::Reply;
use ledger::{Place, Store};
use sql::blocking::Dataset;
use sql::{Catalog, QueryRequest};
use tempfile::TempDir;

/// A table `people` of (id, age, secret), a row a person. Everybody knows who has which id and age.
pub struct People {
    folder: TempDir,
    dataset: Dataset,
    /// How many ledgers were made.
    ledgers: u64,
}

/// The age of a person.
pub fn age(id: usize) -> usize {
    18 + id * 37 % 70
}

impl People {
    /// People with these bits, and what may be learned about them on one ledger.
    pub fn new(
        secrets: &[bool],
        neighbors: Neighbors,
        epsilon: &Epsilon,
        delta: &Delta,
    ) -> Result<Self, Error> {
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
        let catalog = Catalog::parse(&catalog, folder.path())?;
        Ok(Self {
            dataset: Dataset::new(catalog)?,
            folder,
            ledgers: 0,
        })
    }

    /// A ledger on which nothing was charged.
    pub fn fresh_ledger(&mut self) -> Result<Store, Error> {
        self.ledgers += 1;
        let place = self.folder.path().join(format!("ledger-{}", self.ledgers));
        let rules = self.dataset.rules()?;
        Ok(Store::open(&Place::File(place), &rules)?)
    }

    /// The one number that a query asks for, charged to this ledger.
    pub fn ask(
        &self,
        store: &mut Store,
        analyst: &str,
        sql: &str,
        epsilon: &Epsilon,
    ) -> Result<Reply, Error> {
        let ask = QueryRequest {
            epsilon: Some(epsilon.clone()),
            // A count needs none.
            delta: Some(Delta::ZERO),
            ..QueryRequest::new(sql, analyst)
        };
        let answered = match self.dataset.query_with(&ask, store) {
            Ok(answered) => answered,
            Err(sql::Error::OverBudget(_)) => return Ok(Reply::Refused),
            Err(error) => return Err(error.into()),
        };
        let cell = answered.answer.rows.first().and_then(|row| row.first());
        let value = cell.and_then(|cell| cell.value.as_f64());
        let value = value.ok_or(Error::NoNumber)?;
        Ok(if answered.repeated {
            Reply::Repeated(value)
        } else {
            Reply::Fresh(value)
        })
    }
}

fn no_folder(cause: std::io::Error) -> Error {
    Error::Folder(cause.kind())
}

/// Why synthetic people cannot be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no place for their data.
    #[error(
        "the synthetic data cannot be written: {0}\nhint: is there room in the folder for temporary files?"
    )]
    Folder(std::io::ErrorKind),
    /// The query was refused, for another reason than the budget.
    #[error(transparent)]
    Query(#[from] sql::Error),
    /// The ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
    /// Settings that make no sense, or an attack that cannot be carried out.
    #[error(transparent)]
    Attack(#[from] attack::Error),
    /// A quantity of the accounting does not exist.
    #[error(transparent)]
    Accounting(#[from] accounting::Error),
    /// The answer is no number.
    #[error("Deniable answered without a number\nhint: ask for one count")]
    NoNumber,
}
