//! A release as one object with everything, for programs.

use super::ReleasedTables;
use crate::Error;
use crate::finish::answer::Cost;
use crate::finish::estimate::CONFIDENCE;
use crate::price::planned::name_of;
use accounting::Epsilon;
use ledger::Receipt;
use serde::ser::{Error as _, SerializeSeq};
use serde::{Serialize, Serializer};
use std::io::Write;
use tables::Measurements;

#[derive(Serialize)]
struct Everything<'a> {
    release: &'a str,
    table: &'a str,
    condition: &'a Option<String>,
    unit: &'a str,
    rows_per_unit: u64,
    guarantee: String,
    cost: &'a Cost,
    confidence: f64,
    repeated: bool,
    resumed: bool,
    tables: Tables<'a>,
    measurements: &'a Measurements,
    receipt: &'a Option<Receipt>,
    left: Left<'a>,
}

#[derive(Serialize)]
struct Left<'a> {
    epsilon: &'a Epsilon,
}

/// All tables, each put together when it is written: none is there beside another.
struct Tables<'a>(&'a ReleasedTables);

impl Serialize for Tables<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Named<'a, T: Serialize> {
            name: &'a str,
            #[serde(flatten)]
            table: T,
        }
        let measurements = self.0.measurements();
        let mut written = serializer.serialize_seq(Some(measurements.wanted().len()))?;
        for shape in measurements.wanted() {
            let answer = self.0.table_of(shape);
            let answer = answer.map_err(|_| S::Error::custom("a table does not follow"))?;
            let name = name_of(measurements.domain(), shape);
            written.serialize_element(&Named {
                name: &name,
                table: answer.table_as_json(),
            })?;
        }
        written.end()
    }
}

impl ReleasedTables {
    fn everything(&self) -> Everything<'_> {
        Everything {
            release: &self.release,
            table: &self.table,
            condition: &self.condition,
            unit: &self.unit,
            rows_per_unit: self.rows_per_unit,
            guarantee: self.cost.guarantee.to_string(),
            cost: &self.cost,
            confidence: CONFIDENCE,
            repeated: self.repeated,
            resumed: self.resumed,
            tables: Tables(self),
            measurements: self.measurements(),
            receipt: &self.receipt,
            left: Left {
                epsilon: &self.left.epsilon,
            },
        }
    }

    /// One object with everything, for programs: tables, measurements, cost and receipt. To write a large one, use [`ReleasedTables::write_json`]: as a [`serde_json::Value`] it takes several times as much.
    ///
    /// # Errors
    /// When the saved measurements are not of this release.
    pub fn to_json(&self) -> Result<serde_json::Value, Error> {
        serde_json::to_value(self.everything()).map_err(|_| broken())
    }

    /// Writes the same.
    ///
    /// # Errors
    /// As [`ReleasedTables::to_json`], or when it cannot be written.
    pub fn write_json(&self, to: &mut impl Write) -> Result<(), Error> {
        serde_json::to_writer(to, &self.everything()).map_err(|_| broken())
    }
}

fn broken() -> Error {
    Error::refused(
        "the saved measurements do not tell the tables of this release",
        "was the ledger written by another version of Deniable?",
    )
}
