//! Exact integers computed inside a PostgreSQL database: filters, joins, contribution bounding and sums, written as one statement for each plan.
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
mod writer;

#[cfg(test)]
pub(crate) use constants::normal_text;

use crate::Error;
use crate::catalog::{Catalog, Engine, Source};
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
use writer::Writer;

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
    connection: String,
    statements: Vec<Statement>,
    engine: Engine,
}

const WHAT: &str = "the database of the tables";

impl Pushed {
    /// Runs the statements in one transaction.
    ///
    /// # Errors
    /// An incident: the database cannot be reached any more, gave up at the curator's timeout, or has no room. The charge is kept, as for every failure after it, and asking again goes on
    /// under it: nothing was drawn.
    pub(crate) async fn run(self) -> Result<Vec<Vec<RecordBatch>>, Error> {
        let inside = Inside::open(WHAT, &self.connection).await?;
        inside.run(&self.statements, &self.engine).await
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

/// Writes plans as statements for the database in which their tables are, and has it plan them. Reads schemas, and no rows of private tables.
///
/// # Errors
/// When the database cannot be reached.
pub(crate) async fn pushed(
    plans: &BoundedPlans,
    publics: &Publics,
    catalog: &Catalog,
) -> Result<Result<Pushed, NotWritten>, Error> {
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
    let names = names(&lowered);
    let places = match places(&names, publics, catalog) {
        Ok(places) => places,
        Err(why) => return Ok(Err(why)),
    };
    let Some((_, (connection, _))) = places.iter().next() else {
        return Ok(Err(NotWritten::new("it reads no table of a database")));
    };
    let inside = Inside::open(WHAT, connection).await?;
    if let Some(why) = inside.unsuitable().await? {
        return Ok(Err(NotWritten::new(why)));
    }
    let mut tables = HashMap::new();
    for (name, (_, table)) in &places {
        match inside.described(table).await? {
            Some(described) => tables.insert(name.clone(), described),
            None => {
                return Ok(Err(NotWritten::new(
                    "a table of it is none of the database, but a view or the like, or has row security",
                )));
            }
        };
    }
    let known = Known {
        catalog,
        publics,
        tables,
        secret: &plans.secret,
    };
    let mut statements = Vec::new();
    for plan in &lowered {
        match statement(plan, &known) {
            Ok(statement) => statements.push(statement),
            Err(why) => return Ok(Err(why)),
        }
    }
    if let Some(why) = inside.planned(&statements, &catalog.engine).await? {
        return Ok(Err(NotWritten::new(why)));
    }
    Ok(Ok(Pushed {
        connection: connection.clone(),
        statements,
        engine: catalog.engine.clone(),
    }))
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

/// Where each table is, by connection and name: all of them in one database.
fn places(
    names: &[TableReference],
    publics: &Publics,
    catalog: &Catalog,
) -> Result<HashMap<TableReference, (String, String)>, NotWritten> {
    let mut places: HashMap<TableReference, (String, String)> = HashMap::new();
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
        if places.values().any(|(other, _)| other != connection) {
            return Err(NotWritten::new("its tables are not in one database"));
        }
        places.insert(name.clone(), (connection.clone(), table.clone()));
    }
    Ok(places)
}

fn statement(plan: &LogicalPlan, known: &Known<'_>) -> Result<Statement, NotWritten> {
    let mut writer = Writer::new();
    let all = (0..plan.schema().fields().len()).collect();
    let last = known.write(plan, &all, &mut writer)?;
    let kinds = last.columns.iter().flatten().map(|cell| cell.kind).collect();
    let (sql, parameters) = writer.finish(&last);
    Ok(Statement {
        sql,
        parameters,
        kinds,
    })
}
