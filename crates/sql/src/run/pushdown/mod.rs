//! Exact integers computed inside a PostgreSQL database: filters, joins, contribution bounding and sums. All plans of a question are written into one statement, as far as that does not
//! become too long, and run in one transaction.
//!
//! What is written is the plan of built-in operators alone (`bound::to_relational`), as the question says it and before any optimiser saw it: a general writer of SQL has dropped windows
//! from such plans, and a dropped ROW_NUMBER is unlimited contribution. The lists of operators, functions and types are closed, and each entry says why PostgreSQL computes the same and
//! cannot raise an error that depends on data. For everything else rows are fetched, with the same result.
//!
//! The database sees what it holds already, the text of the statement, the key that chooses groups (as a parameter) and public rows that a question joins. It computes exact numbers of
//! groups, which come here and get their noise here.

mod constants;
mod expression;
mod functions;
mod relation;
mod scan;
mod text;
mod writer;

#[cfg(test)]
pub(crate) use constants::normal_text;
#[cfg(test)]
pub(crate) use functions::float_on_grid;

use crate::Error;
use crate::catalog::{Catalog, Source};
use crate::run::engine::BoundedPlans;
use crate::run::publics::Publics;
use crate::sources::{Inside, Statement};
use crate::understand::relation::table_of;
use bound::to_relational;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::TableReference;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::LogicalPlan;
use relation::Known;
use std::collections::HashMap;
use verify::Verified;
use writer::{Relation, Writer};

/// Why a plan is not computed inside of the database. Depends on the question, the catalog and the schema of the database.
#[derive(Debug)]
pub(crate) struct NotWritten(pub(crate) String);

impl NotWritten {
    fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// Statements that a database has planned.
pub(crate) struct Pushed {
    inside: Inside,
    statements: Vec<Statement>,
    /// For each plan of the statements, in their order: which aggregation of the question asked for it.
    aggregations: Vec<usize>,
}

impl Pushed {
    /// Runs the statements in the transaction in which they were planned, and gives the rows of each plan with the number of its aggregation.
    ///
    /// # Errors
    /// An incident: the database cannot be reached any more, gave up at the curator's timeout, or has no room. The charge is kept, as for every failure after it, and asking again goes on
    /// under it: nothing was drawn.
    pub(crate) async fn run(self, _: &Verified) -> Result<Vec<(usize, Vec<RecordBatch>)>, Error> {
        let rows = self.inside.run(&self.statements).await?;
        Ok(self.aggregations.into_iter().zip(rows).collect())
    }

    /// The texts of the statements.
    #[cfg(test)]
    pub(crate) fn texts(&self) -> Vec<&str> {
        self.statements
            .iter()
            .map(|statement| statement.sql.as_str())
            .collect()
    }
}

/// What databases compute of a question.
pub(crate) struct Written {
    /// One for each database.
    pub(crate) databases: Vec<Pushed>,
    /// For each aggregation of the question, whether it is among them.
    pub(crate) aggregations: Vec<Result<(), NotWritten>>,
}

/// An aggregation that may be written.
struct Candidate {
    number: usize,
    plans: Vec<LogicalPlan>,
    /// Where its tables are in the database.
    tables: HashMap<TableReference, String>,
}

/// Writes the plans of a question's aggregations as statements for the databases in which their tables are, and has these plan them. Reads schemas, and no rows of private tables.
///
/// # Errors
/// When a database cannot be reached.
pub(crate) async fn pushed(
    question: &[BoundedPlans],
    publics: &Publics,
    catalog: &Catalog,
) -> Result<Written, Error> {
    let mut aggregations = Vec::new();
    let mut databases: Vec<(String, Vec<Candidate>)> = Vec::new();
    for (number, plans) in question.iter().enumerate() {
        match candidate(number, plans, publics, catalog)? {
            Ok((connection, candidate)) => {
                match databases.iter_mut().find(|(known, _)| *known == connection) {
                    Some((_, candidates)) => candidates.push(candidate),
                    None => databases.push((connection, vec![candidate])),
                }
                aggregations.push(Ok(()));
            }
            Err(why) => aggregations.push(Err(why)),
        }
    }
    let mut written = Written {
        databases: Vec::new(),
        aggregations,
    };
    for (connection, candidates) in databases {
        let pushed = in_one_database(&connection, candidates, question, publics, catalog, &mut written);
        if let Some(pushed) = pushed.await? {
            written.databases.push(pushed);
        }
    }
    Ok(written)
}

/// The plans of an aggregation in built-in operators alone, and the database in which all of its tables are.
fn candidate(
    number: usize,
    plans: &BoundedPlans,
    publics: &Publics,
    catalog: &Catalog,
) -> Result<Result<(String, Candidate), NotWritten>, Error> {
    let mut lowered = Vec::new();
    for plan in plans.plans() {
        match to_relational(publics.put_into(plan)?) {
            Ok(plan) => lowered.push(plan),
            Err(_) => {
                return Ok(Err(NotWritten::new(
                    "windows over private rows are computed by this program alone",
                )));
            }
        }
    }
    Ok(
        places(&names(&lowered), publics, catalog).map(|(connection, tables)| {
            let candidate = Candidate {
                number,
                plans: lowered,
                tables,
            };
            (connection, candidate)
        }),
    )
}

/// Writes what can be written of these aggregations for one database, and says of the others why not.
async fn in_one_database(
    connection: &str,
    candidates: Vec<Candidate>,
    question: &[BoundedPlans],
    publics: &Publics,
    catalog: &Catalog,
    written: &mut Written,
) -> Result<Option<Pushed>, Error> {
    let inside = Inside::open("the database of the tables", connection).await?;
    if let Some(why) = inside.unsuitable().await? {
        for candidate in candidates {
            written.aggregations[candidate.number] = Err(NotWritten::new(why.clone()));
        }
        return Ok(None);
    }
    let mut tables = HashMap::new();
    for (name, table) in candidates.iter().flat_map(|candidate| &candidate.tables) {
        if !tables.contains_key(name)
            && let Some(described) = inside.described(table).await?
        {
            tables.insert(name.clone(), described);
        }
    }
    let mut statements = Statements::default();
    for candidate in candidates {
        let known = Known {
            catalog,
            publics,
            tables: &tables,
            secret: &question[candidate.number].secret,
        };
        if candidate.tables.keys().any(|name| !tables.contains_key(name)) {
            written.aggregations[candidate.number] = Err(NotWritten::new(
                "a table of it is none of the database, but a view or the like, or has row security or columns that are generated when they are read",
            ));
        } else if let Err(why) = statements.add(&candidate, &known) {
            written.aggregations[candidate.number] = Err(why);
        }
    }
    inside.settle(&catalog.engine).await?;
    let mut pushed = Pushed {
        inside,
        statements: Vec::new(),
        aggregations: Vec::new(),
    };
    for (statement, aggregations) in statements.finish() {
        match pushed.inside.planned(&statement).await? {
            None => {
                pushed.statements.push(statement);
                pushed.aggregations.extend(aggregations);
            }
            Some(why) => {
                for number in aggregations {
                    written.aggregations[number] = Err(NotWritten::new(why.clone()));
                }
            }
        }
    }
    Ok(Some(pushed).filter(|pushed| !pushed.statements.is_empty()))
}

/// A statement in the making, and the plans that it gives the rows of, with the numbers of their aggregations.
type Unfinished = (Writer, Vec<(usize, Relation)>);

/// Statements in the making.
#[derive(Default)]
struct Statements(Vec<Unfinished>);

impl Statements {
    /// Writes all plans of an aggregation into the last statement, or into a new one where it does not fit.
    fn add(&mut self, candidate: &Candidate, known: &Known<'_>) -> Result<(), NotWritten> {
        if let Some(last) = self.0.last_mut()
            && let Ok(longer) = with_plans(last.clone(), candidate, known)
        {
            *last = longer;
            return Ok(());
        }
        self.0
            .push(with_plans((Writer::new(), Vec::new()), candidate, known)?);
        Ok(())
    }

    /// The statements, each with the numbers of the aggregations of its plans.
    fn finish(self) -> impl Iterator<Item = (Statement, Vec<usize>)> {
        self.0.into_iter().map(|(writer, plans)| {
            let (aggregations, relations): (Vec<usize>, Vec<Relation>) = plans.into_iter().unzip();
            let (sql, parameters, layout) = writer.finish(&relations);
            let statement = Statement {
                sql,
                parameters,
                kinds: layout.kinds,
                plans: layout.plans,
            };
            (statement, aggregations)
        })
    }
}

fn with_plans(
    (mut writer, mut written): Unfinished,
    candidate: &Candidate,
    known: &Known<'_>,
) -> Result<Unfinished, NotWritten> {
    for plan in &candidate.plans {
        let all = (0..plan.schema().fields().len()).collect();
        let relation = known.write(plan, &all, &mut writer)?;
        written.push((candidate.number, relation));
    }
    Ok((writer, written))
}

/// The tables that plans read.
fn names(plans: &[LogicalPlan]) -> Vec<TableReference> {
    let mut names = Vec::new();
    for plan in plans {
        let _ = plan.apply_with_subqueries(|node| {
            if let LogicalPlan::TableScan(scan) = node {
                names.push(scan.table_name.clone());
            }
            Ok(TreeNodeRecursion::Continue)
        });
    }
    names
}

/// The database in which all of these tables are, and where they are in it.
fn places(
    names: &[TableReference],
    publics: &Publics,
    catalog: &Catalog,
) -> Result<(String, HashMap<TableReference, String>), NotWritten> {
    let mut database: Option<String> = None;
    let mut places = HashMap::new();
    for name in names {
        if publics.rows_of(name).is_some() {
            continue;
        }
        let source = table_of(catalog, name).map(|(_, table)| &table.source);
        let Some(Source::Postgres { connection, table }) = source else {
            return Err(NotWritten::new(format!(
                "table {} is not in a PostgreSQL database",
                name.table()
            )));
        };
        if database.get_or_insert_with(|| connection.clone()) != connection {
            return Err(NotWritten::new("its tables are not in one database"));
        }
        places.insert(name.clone(), table.clone());
    }
    match database {
        Some(database) => Ok((database, places)),
        None => Err(NotWritten::new("it reads no table of a database")),
    }
}
