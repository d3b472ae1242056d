//! Uniqueness and linkage of tables.

use super::{quantity, stoppable};
use crate::errors::of_parameter;
use crate::work::waiting;
use accounting::{Delta, Epsilon};
use attack::linkage::{self, Partition};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3_arrow::PyRecordBatchReader;
use sql::arrow::array::{Array, RecordBatch};
use sql::arrow::datatypes::DataType;
use sql::arrow::util::display::{ArrayFormatter, FormatOptions};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::Ordering;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<CodedTable>()?;
    module.add_function(wrap_pyfunction!(attack_columns, module)?)?;
    module.add_function(wrap_pyfunction!(attack_uniqueness, module)?)?;
    module.add_function(wrap_pyfunction!(attack_link, module)?)?;
    Ok(())
}

/// A table whose values are integers: equal values have equal codes. The values themselves are not kept.
#[pyclass(module = "deniable._deniable")]
struct CodedTable {
    table: linkage::Table,
}

#[pymethods]
impl CodedTable {
    #[new]
    fn new(names: Vec<String>) -> Self {
        Self {
            table: linkage::Table::new(names),
        }
    }

    /// Adds rows, given as columns of texts that are all of one length.
    fn push_columns(&mut self, columns: Vec<Vec<PyBackedStr>>) -> PyResult<()> {
        let rows = columns.first().map_or(0, Vec::len);
        if columns.len() != self.table.columns() || columns.iter().any(|column| column.len() != rows) {
            return Err(of_parameter(
                "the columns are not all of one length\nhint: every row needs a value in every column; None is one",
            ));
        }
        for row in 0..rows {
            self.table
                .push(columns.iter().map(|column| column[row].as_bytes()))
                .map_err(of_parameter)?;
        }
        Ok(())
    }

    /// Adds the rows of an Arrow stream, of these of its columns.
    fn push_stream(
        &mut self,
        py: Python<'_>,
        stream: PyRecordBatchReader,
        columns: Vec<String>,
    ) -> PyResult<()> {
        let reader = stream.into_reader()?;
        let schema = reader.schema();
        let places = columns
            .iter()
            .map(|name| {
                schema.index_of(name).map_err(|_| {
                    of_parameter(format!(
                        "there is no column `{name}`\nhint: names are taken to the letter"
                    ))
                })
            })
            .collect::<PyResult<Vec<usize>>>()?;
        for batch in reader {
            let batch = batch.map_err(|_| unreadable())?;
            self.push_batch(&batch, &places)?;
            py.check_signals()?;
        }
        Ok(())
    }

    /// How many rows there are.
    fn rows(&self) -> usize {
        self.table.rows()
    }
}

fn unreadable() -> PyErr {
    of_parameter(
        "the table cannot be read\nhint: give a data frame that can be exported to Arrow, or a dict of columns",
    )
}

impl CodedTable {
    fn push_batch(&mut self, batch: &RecordBatch, places: &[usize]) -> PyResult<()> {
        let options = FormatOptions::default();
        let columns = places
            .iter()
            .map(|place| {
                let column = batch.column(*place);
                let formatter =
                    ArrayFormatter::try_new(column.as_ref(), &options).map_err(|_| unreadable())?;
                Ok((formatter, is_float(column.as_ref())))
            })
            .collect::<PyResult<Vec<_>>>()?;
        let mut texts = vec![String::new(); columns.len()];
        for row in 0..batch.num_rows() {
            for ((formatter, float), text) in columns.iter().zip(&mut texts) {
                text.clear();
                write!(text, "{}", formatter.value(row)).map_err(|_| unreadable())?;
                // Whole numbers are the same whether a column holds them as integers or as floats, as one
                // with gaps often does; and not a number is a gap.
                if *float {
                    match text.as_str() {
                        "NaN" => text.clear(),
                        "-0.0" => "0".clone_into(text),
                        whole if whole.ends_with(".0") => text.truncate(text.len() - 2),
                        _ => {}
                    }
                }
            }
            self.table
                .push(texts.iter().map(String::as_bytes))
                .map_err(of_parameter)?;
        }
        Ok(())
    }
}

fn is_float(column: &dyn Array) -> bool {
    match column.data_type() {
        DataType::Dictionary(_, value) => value.is_floating(),
        other => other.is_floating(),
    }
}

/// The names of a stream's columns.
#[pyfunction]
fn attack_columns(stream: PyRecordBatchReader) -> PyResult<Vec<String>> {
    let schema = stream.schema_ref()?;
    Ok(schema.fields().iter().map(|field| field.name().clone()).collect())
}

/// Whom columns single out.
#[derive(IntoPyObject)]
struct Unique {
    rows: usize,
    /// How many groups of equal rows there are of each size.
    groups: BTreeMap<usize, usize>,
    sets: Vec<(Vec<String>, usize)>,
    /// The largest probability with which a private release shows a group of one.
    shown_alone: Option<f64>,
}

/// How many rows all columns single out, and the smallest sets of columns that single out so many.
#[pyfunction]
#[pyo3(signature = (table, least, largest, epsilon, delta))]
fn attack_uniqueness(
    py: Python<'_>,
    table: PyRef<'_, CodedTable>,
    least: usize,
    largest: usize,
    epsilon: Option<&str>,
    delta: &str,
) -> PyResult<Unique> {
    let shown_alone = match epsilon {
        None => None,
        Some(text) => {
            let epsilon = quantity(Epsilon::parse(text))?;
            let delta = quantity(Delta::parse(delta))?;
            let shown = linkage::shown_probability(&epsilon, &delta, &[1]).map_err(of_parameter)?;
            shown.first().copied()
        }
    };
    let table = table.table.clone();
    stoppable(py, move |flag| {
        let columns: Vec<usize> = (0..table.columns()).collect();
        let profile = Partition::of(&table, &columns).profile();
        let sets = linkage::identifying_sets(&table, &columns, least.max(1), largest, &|_| {
            !flag.load(Ordering::Relaxed)
        });
        let named = |set: linkage::Identifying| {
            let names = set.columns.iter().map(|column| table.name(*column).to_owned());
            (names.collect(), set.alone)
        };
        Unique {
            rows: table.rows(),
            groups: profile.groups,
            sets: sets.into_iter().map(named).collect(),
            shown_alone,
        }
    })
}

/// What two tables have to do with each other.
#[derive(IntoPyObject)]
struct Linked {
    pairs: Vec<(u32, u32)>,
    alone_in_first: usize,
    several: usize,
    unmatched: usize,
    right: Option<usize>,
    wrong: Option<usize>,
    findable: Option<usize>,
}

/// Links the first rows of a table to the rest, and judges the links where a table of one column says who each row is.
#[pyfunction]
#[pyo3(signature = (both, first_rows, truth))]
fn attack_link(
    py: Python<'_>,
    both: PyRef<'_, CodedTable>,
    first_rows: usize,
    truth: Option<PyRef<'_, CodedTable>>,
) -> PyResult<Linked> {
    let table = both.table.clone();
    let people = truth.map(|truth| truth.table.codes(0).to_vec());
    if first_rows > table.rows() || people.as_ref().is_some_and(|people| people.len() != table.rows()) {
        return Err(of_parameter(
            "the two tables and the truth about them are not of one length\nhint: say of every row of both tables who it is",
        ));
    }
    waiting(py, move || {
        let links = linkage::link(&table, first_rows);
        let judged = people.map(|people| linkage::judge(&links.pairs, &people, first_rows));
        Linked {
            pairs: links.pairs,
            alone_in_first: links.alone_in_first,
            several: links.several,
            unmatched: links.unmatched,
            right: judged.map(|judged| judged.right),
            wrong: judged.map(|judged| judged.wrong),
            findable: judged.map(|judged| judged.findable),
        }
    })
}
