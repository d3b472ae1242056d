//! Statements that run inside a database, where its tables are: one read-only transaction, of one state of the data, under settings of ours.

use super::rows::Rows;
use super::{BEGIN, connected, sent, sent_as_identifier, unreachable, with_loose_collations, words};
use crate::Error;
use crate::catalog::{Engine, quoted, quoted_name};
use crate::sources::incident::incident;
use crate::values::facts::Kind;
use datafusion::arrow::array::{AsArray, BooleanArray, RecordBatch};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use datafusion::error::DataFusionError;
use futures::{StreamExt, pin_mut};
use std::sync::Arc;
use tokio_postgres::types::{Kind as PostgresKind, ToSql, Type};
use tokio_postgres::{Client, Error as Failure};

/// The versions that were held against the engine of this program, and whose Unicode is among those for which `bound::canonical_text` is the same.
const VERSIONS: std::ops::Range<i32> = 150_000..190_000;

/// The MiB that each sort takes before it goes to disk, unless the catalog says otherwise; a hash table takes twice as much. The database's own default is 4 MiB: a hash table of a million persons, which
/// grouping by person needs, would go to disk.
const MEMORY: u64 = 128;

/// The operators of PostgreSQL's plans that may see private rows. The statement says what is computed; this says that nothing was put into its tables, by views, that looks at
/// more than rows: no limits, no samples, no writing.
const OPERATORS: [&str; 27] = [
    "Aggregate",
    "Append",
    "Bitmap Heap Scan",
    "Bitmap Index Scan",
    "BitmapAnd",
    "BitmapOr",
    "CTE Scan",
    "Function Scan",
    "Gather",
    "Gather Merge",
    "Group",
    "Hash",
    "Hash Join",
    "Incremental Sort",
    "Index Only Scan",
    "Index Scan",
    "Materialize",
    "Memoize",
    "Merge Append",
    "Merge Join",
    "Nested Loop",
    "Result",
    "Seq Scan",
    "Sort",
    "Subquery Scan",
    // A GROUP BY of nothing but keys.
    "Unique",
    // ROW_NUMBER and DENSE_RANK.
    "WindowAgg",
];

/// A value that a statement is given beside its text.
pub(crate) enum Parameter {
    /// The key that chooses groups.
    Text(String),
    /// A column of public rows.
    Bools(Vec<Option<bool>>),
    /// A column of public rows.
    Integers(Vec<Option<i64>>),
    /// A column of public rows.
    Floats(Vec<Option<f64>>),
    /// A column of public rows; days and moments are texts too.
    Texts(Vec<Option<String>>),
}

impl Parameter {
    fn as_sql(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Text(value) => value,
            Self::Bools(values) => values,
            Self::Integers(values) => values,
            Self::Floats(values) => values,
            Self::Texts(values) => values,
        }
    }
}

/// A statement for several plans and what comes out of it. No Debug: a parameter is the key.
pub(crate) struct Statement {
    /// The text: names of tables and columns, and constants of the query.
    pub(crate) sql: String,
    /// What `$1`, `$2`, … stand for.
    pub(crate) parameters: Vec<Arc<Parameter>>,
    /// The kinds of its columns. The first says to which plan a row belongs.
    pub(crate) kinds: Vec<Kind>,
    /// For each plan, which columns are its own.
    pub(crate) plans: Vec<Vec<usize>>,
}

impl Statement {
    fn parameters(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.parameters
            .iter()
            .map(|parameter| parameter.as_sql())
            .collect()
    }

    fn schema(&self) -> SchemaRef {
        let field =
            |(place, kind): (usize, &Kind)| Field::new(format!("column{place}"), kind.data_type(), true);
        Arc::new(Schema::new(
            self.kinds.iter().enumerate().map(field).collect::<Vec<_>>(),
        ))
    }

    /// The rows of each plan.
    fn dealt(&self, batches: &[RecordBatch]) -> Result<Vec<Vec<RecordBatch>>, Stopped> {
        let mut all = Vec::new();
        for (number, columns) in self.plans.iter().enumerate() {
            let mut own = Vec::new();
            for batch in batches {
                let plans = batch.column(0).as_primitive::<Int64Type>();
                let mask = plans.iter().map(|plan| Some(plan == i64::try_from(number).ok()));
                let rows = filter_record_batch(batch, &mask.collect::<BooleanArray>());
                let rows = rows.and_then(|rows| rows.project(columns));
                own.push(rows.map_err(DataFusionError::from)?);
            }
            all.push(own);
        }
        Ok(all)
    }
}

/// A table as its database describes it.
pub(crate) struct Described {
    /// Its name with its schema, quoted: found by the search path of the connection, as a scan finds it.
    pub(crate) name: String,
    /// Its columns, by name, and their types there.
    columns: Vec<(String, Type)>,
    /// Enums that somebody has defined a cast of.
    recast: Vec<u32>,
    /// Columns in which different texts are equal.
    loose: Vec<String>,
}

impl Described {
    /// How a column is asked for as a value of a declared kind, before that is put in canonical form.
    ///
    /// The same as a scan makes of it (`sent`, and then `typed::converted`), for the pairs of types for which that is certain: `None` for others. No expression raises an error.
    pub(crate) fn column(&self, column: &str, kind: Kind, identifies: bool) -> Option<Asked> {
        let (_, of) = self.columns.iter().find(|(name, _)| name == column)?;
        let cast = matches!(
            *of,
            Type::BOOL
                | Type::INT2
                | Type::INT4
                | Type::INT8
                | Type::FLOAT4
                | Type::FLOAT8
                | Type::DATE
                | Type::TIMESTAMP
                | Type::TIMESTAMPTZ
        );
        let simple = match kind {
            Kind::Text => matches!(*of, Type::TEXT | Type::VARCHAR),
            _ => cast,
        };
        let name = quoted(column);
        let (asked, arrives) = match identifies {
            // A scan says what is wrong with it.
            true if self.loose.iter().any(|loose| loose == column) => return None,
            true => sent_as_identifier(&name, of, kind)?,
            false => sent(&name, of, Some(kind)),
        };
        let days = "BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'";
        let moments = "BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59.999999'";
        // Text of these types does not depend on settings of the connection. A cast of an enum may be a function of the schema, which could fail for one value.
        let text = matches!(
            *of,
            Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::UUID | Type::NUMERIC
        ) || (is_enum(of) && !self.recast.contains(&of.oid()));
        let sql = match (kind, &arrives) {
            (Kind::Bool, DataType::Boolean)
            | (Kind::Int, DataType::Int64)
            | (Kind::Float, DataType::Float64) => format!("({asked})"),
            (Kind::Float, DataType::Int64) => format!("(({asked})::float8)"),
            (Kind::Bool, DataType::Int64) => format!("(({asked}) <> 0)"),
            (Kind::Text, DataType::Int64) => format!("(({asked})::text)"),
            (Kind::Text, DataType::Utf8View) if text => format!("({asked})"),
            (Kind::Date, DataType::Date32) => format!("(CASE WHEN {name} {days} THEN {name} END)"),
            (Kind::Timestamp, DataType::Date32) => {
                format!("(CASE WHEN {name} {days} THEN {name}::timestamp END)")
            }
            (Kind::Timestamp | Kind::Date, DataType::Timestamp(..)) => {
                let moment = match *of {
                    Type::TIMESTAMPTZ => format!("({name} AT TIME ZONE 'UTC')"),
                    _ => name,
                };
                let cast = if kind == Kind::Date { "::date" } else { "" };
                format!("(CASE WHEN {moment} {moments} THEN {moment}{cast} END)")
            }
            _ => return None,
        };
        Some(Asked { sql, simple })
    }
}

fn is_enum(of: &Type) -> bool {
    matches!(of.kind(), PostgresKind::Enum(_))
}

/// How a column is asked for.
pub(crate) struct Asked {
    pub(crate) sql: String,
    /// Whether that takes a cast or two comparisons at most, so that it may as well be computed several times.
    pub(crate) simple: bool,
}

/// A read-only transaction in a database, of one state of the data, in which statements are planned and run.
///
/// It begins before a question is charged and lasts until its statements have run. Tables that it has looked at are locked against changes of their schema, so that what is run is what was planned.
pub(crate) struct Inside {
    what: String,
    client: Client,
}

impl Inside {
    /// Connects and begins. `what` is what errors call the database.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub(crate) async fn open(what: &str, connection: &str) -> Result<Self, Error> {
        let client = connected(connection)
            .await
            .map_err(|error| unreachable(what, &error))?;
        let inside = Self {
            what: what.to_owned(),
            client,
        };
        inside.execute(BEGIN).await?;
        Ok(inside)
    }

    async fn execute(&self, commands: &str) -> Result<(), Error> {
        let done = self.client.batch_execute(commands).await;
        done.map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &Failure) -> Error {
        incident(self.what.as_str(), words(error))
    }

    /// Why statements of ours may not mean the same in this database; nothing where they do. Reads no table.
    pub(crate) async fn unsuitable(&self) -> Result<Option<String>, Error> {
        let asked = "SELECT current_setting('server_version_num')::int4, current_setting('server_encoding'), current_setting('integer_datetimes'), current_setting('temp_file_limit', true)";
        let row = self
            .client
            .query_one(asked, &[])
            .await
            .map_err(|error| self.failed(&error))?;
        let (version, encoding, whole): (i32, String, String) = (row.get(0), row.get(1), row.get(2));
        if !VERSIONS.contains(&version) {
            return Ok(Some(
                "the database is no PostgreSQL of version 15 to 18".to_owned(),
            ));
        }
        if encoding != "UTF8" || whole != "on" {
            return Ok(Some("the database does not keep its texts as UTF-8".to_owned()));
        }
        // One person with many rows could reach it, and then there were no answer.
        if row.get::<_, Option<String>>(3).is_some_and(|limit| limit != "-1") {
            return Ok(Some("the database limits its temporary files".to_owned()));
        }
        // A server may be set up to have no MD5.
        let digest = self.client.query_one("SELECT md5('deniable')", &[]).await;
        Ok(match digest {
            Ok(_) => None,
            Err(_) => Some("the database has no MD5".to_owned()),
        })
    }

    /// Looks up a table and its columns. Reads none of its rows.
    ///
    /// # Errors
    /// When the database fails. `None` where there is no such table, which a scan of it says, or it is a view, a foreign table or one with row security, which is read by a scan.
    pub(crate) async fn described(&self, name: &str) -> Result<Option<Described>, Error> {
        let Some(name) = quoted_name(name) else {
            return Ok(None);
        };
        // Views, policies and columns that are generated when they are read compute with settings and names of their own, per row: of other tables it is known that reading them is all that happens.
        let asked = "SELECT n.nspname::text, c.relname::text, c.relkind IN ('r', 'p', 'm') AND NOT c.relrowsecurity \
             AND NOT EXISTS (SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attgenerated = 'v') \
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = pg_catalog.to_regclass($1::text)::oid";
        let found = self.client.query_opt(asked, &[&name]).await;
        let Some(found) = found.map_err(|error| self.failed(&error))? else {
            return Ok(None);
        };
        if !found.get::<_, bool>(2) {
            return Ok(None);
        }
        let name = format!(
            "{}.{}",
            quoted(&found.get::<_, String>(0)),
            quoted(&found.get::<_, String>(1))
        );
        let statement = self.client.prepare(&format!("SELECT * FROM {name}")).await;
        let statement = statement.map_err(|error| self.failed(&error))?;
        let columns = statement.columns().iter();
        let columns: Vec<(String, Type)> = columns
            .map(|column| (column.name().to_owned(), column.type_().clone()))
            .collect();
        let enums: Vec<u32> = columns
            .iter()
            .filter(|(_, of)| is_enum(of))
            .map(|(_, of)| of.oid())
            .collect();
        let asked = "SELECT castsource FROM pg_catalog.pg_cast WHERE castsource = ANY($1::pg_catalog.oid[])";
        let recast = self.client.query(asked, &[&enums]).await;
        let recast = recast.map_err(|error| self.failed(&error))?;
        let loose = with_loose_collations(&self.client, &name).await;
        Ok(Some(Described {
            loose: loose.map_err(|error| self.failed(&error))?,
            name,
            columns,
            recast: recast.iter().map(|row| row.get(0)).collect(),
        }))
    }

    /// Puts our settings in force until the end of the transaction. Tables are looked up before, by the search path of the connection.
    pub(crate) async fn settle(&self, engine: &Engine) -> Result<(), Error> {
        self.execute(&settings(engine)).await
    }

    /// Has the database plan a statement, and says why it is not run there; nothing where it may. Does not run it.
    pub(crate) async fn planned(&self, statement: &Statement) -> Result<Option<String>, Error> {
        self.execute("SAVEPOINT planned").await?;
        let Some(plan) = self.plan_of(statement).await else {
            self.execute("ROLLBACK TO SAVEPOINT planned").await?;
            return Ok(Some("the database does not take the statement".to_owned()));
        };
        let mut known = true;
        operators(&plan, &mut |operator| known &= OPERATORS.contains(&operator));
        // Not which: the database chooses among operators by statistics of its tables.
        Ok((!known).then(|| "the database would use an operator that is not on the list".to_owned()))
    }

    /// The plan of a statement whose columns are of the types that we expect.
    async fn plan_of(&self, statement: &Statement) -> Option<serde_json::Value> {
        let prepared = self.client.prepare(&statement.sql).await;
        #[cfg(test)]
        if let Err(error) = &prepared {
            eprintln!("{}", words(error));
        }
        let prepared = prepared.ok()?;
        let types: Vec<&Type> = prepared.columns().iter().map(|column| column.type_()).collect();
        let expected: Vec<Type> = statement.kinds.iter().map(|kind| postgres_type(*kind)).collect();
        if types != expected.iter().collect::<Vec<_>>() {
            return None;
        }
        let explain = format!("EXPLAIN (COSTS OFF, FORMAT JSON) {}", statement.sql);
        let row = self.client.query_one(&explain, &statement.parameters()).await;
        #[cfg(test)]
        if let Err(error) = &row {
            eprintln!("{}", words(error));
        }
        let Raw(text) = row.ok()?.try_get::<_, Raw>(0).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Runs statements, gives the rows of each of their plans, and ends the transaction.
    ///
    /// # Errors
    /// An incident, whose words stay here: they may quote data.
    pub(crate) async fn run(self, statements: &[Statement]) -> Result<Vec<Vec<RecordBatch>>, Error> {
        let mut all = Vec::new();
        for statement in statements {
            let plans = self.collect(statement).await;
            all.extend(plans.map_err(|error| match error {
                Stopped::Database(error) => self.failed(&error),
                Stopped::Rows(error) => incident(self.what.as_str(), error),
            })?);
        }
        self.execute("COMMIT").await?;
        Ok(all)
    }

    async fn collect(&self, statement: &Statement) -> Result<Vec<Vec<RecordBatch>>, Stopped> {
        const ROWS: usize = 8192;
        let found = self
            .client
            .query_raw(&statement.sql, statement.parameters())
            .await?;
        pin_mut!(found);
        let mut rows = Rows::new(statement.schema(), ROWS);
        let mut batches = Vec::new();
        while let Some(row) = found.next().await {
            rows.push(&row?)?;
            if rows.len() == ROWS {
                batches.push(rows.finish()?);
            }
        }
        if rows.len() > 0 {
            batches.push(rows.finish()?);
        }
        statement.dealt(&batches)
    }
}

#[derive(Debug, thiserror::Error)]
enum Stopped {
    #[error(transparent)]
    Database(#[from] Failure),
    #[error(transparent)]
    Rows(#[from] DataFusionError),
}

/// The bytes of a column of JSON.
struct Raw(String);

impl<'a> tokio_postgres::types::FromSql<'a> for Raw {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(std::str::from_utf8(raw)?.to_owned()))
    }

    fn accepts(of: &Type) -> bool {
        *of == Type::JSON
    }
}

/// The names of all operators in a plan.
fn operators(plan: &serde_json::Value, found: &mut dyn FnMut(&str)) {
    match plan {
        serde_json::Value::Array(parts) => parts.iter().for_each(|part| operators(part, found)),
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str() {
                    Some(operator) if name == "Node Type" => found(operator),
                    _ => operators(value, found),
                }
            }
        }
        _ => {}
    }
}

/// The type that a value of a kind has in a statement.
fn postgres_type(kind: Kind) -> Type {
    match kind {
        Kind::Bool => Type::BOOL,
        Kind::Int => Type::INT8,
        Kind::Float => Type::FLOAT8,
        Kind::Text => Type::TEXT,
        Kind::Date => Type::DATE,
        Kind::Timestamp => Type::TIMESTAMP,
    }
}

/// Every setting on which the meaning of a text depends, the curator's timeout, and memory.
///
/// Hash tables that several processes share are off: they lie in shared memory, of which a container may have little.
fn settings(engine: &Engine) -> String {
    let timeout = engine.timeout.map_or(0, |timeout| timeout.as_millis());
    let memory = engine.work_mem.unwrap_or(MEMORY);
    format!(
        "SET LOCAL search_path = pg_catalog, pg_temp; \
         SET LOCAL standard_conforming_strings = on; \
         SET LOCAL client_encoding = 'UTF8'; \
         SET LOCAL timezone = 'UTC'; \
         SET LOCAL datestyle = 'ISO, YMD'; \
         SET LOCAL intervalstyle = 'postgres'; \
         SET LOCAL extra_float_digits = 1; \
         SET LOCAL transform_null_equals = off; \
         SET LOCAL jit = off; \
         SET LOCAL enable_parallel_hash = off; \
         SET LOCAL statement_timeout = {timeout}; \
         SET LOCAL work_mem = '{memory}MB'; \
         SET LOCAL hash_mem_multiplier = 2"
    )
}
