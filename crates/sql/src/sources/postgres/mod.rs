//! Tables of a PostgreSQL database, streamed.
//!
//! Each scan is one statement in one read-only transaction, so it sees one state of the table; two scans of one query may see two. The statement converts nothing in
//! a way that could raise an error there: what PostgreSQL's casts would refuse is sent as text, or tested first. Connections are encrypted unless they
//! stay on this machine.

use super::identifier::{self, NUMERIC};
use super::incident::incident;
use crate::Error;
use crate::catalog::{Table, quoted, quoted_name};
#[cfg(test)]
use crate::mutants::{Mutant, planted};
use crate::values::facts::Kind;
use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::exec_datafusion_err;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures::{StreamExt, pin_mut};
use ledger::Encryption;
use std::fmt;
use std::sync::Arc;
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, NoTls};

mod inside;
mod rows;

pub(crate) use inside::{Described, Inside, Parameter, Statement};

use rows::Rows;

/// Begins a transaction that sees one state of the data and writes nothing.
///
/// It has no timeouts, not even the database's or the role's: whether an answer exists must not depend on how long one person's rows take.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \
     SET LOCAL statement_timeout = 0; \
     SET LOCAL lock_timeout = 0; \
     SET LOCAL idle_in_transaction_session_timeout = 0; \
     SELECT pg_catalog.set_config(name, '0', true) FROM pg_catalog.pg_settings WHERE name = 'transaction_timeout'";

/// A table of a database. Printed without the connection string, which may hold a password.
#[derive(Clone)]
struct Database {
    connection: Arc<str>,
    /// The table, quoted.
    name: String,
    schema: SchemaRef,
    /// Of each column, the expression that yields it.
    expressions: Arc<[String]>,
}

impl fmt::Debug for Database {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Database")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A table of a database as a table of the engine. Asks for its columns, and reads none of its rows.
pub(super) async fn provider(
    what: &str,
    connection: &str,
    name: &str,
    table: &Table,
) -> Result<Arc<dyn TableProvider>, Error> {
    let name = quoted_name(name).ok_or_else(|| {
        Error::catalog(
            format!("{what}: this is not the name of a table of a database"),
            "write it as name or schema.name; a part with a dot in it goes in double quotes",
        )
    })?;
    let client = connected(connection)
        .await
        .map_err(|error| unreachable(what, &error))?;
    let statement = client
        .prepare(&format!("SELECT * FROM {name}"))
        .await
        .map_err(|error| match error.code() {
            Some(&SqlState::UNDEFINED_TABLE | &SqlState::INVALID_SCHEMA_NAME) => Error::catalog(
                format!("{what}: the database has no table {name}"),
                "names are taken as written, upper and lower case apart; add the schema if it is not the default one",
            ),
            _ => incident(what, words(&error)),
        })?;
    let mut fields = Vec::new();
    let mut expressions = Vec::new();
    for column in statement.columns() {
        let kind = table.column(column.name()).map(|facts| facts.kind);
        let sent = match kind.filter(|_| table.identifies(column.name())) {
            Some(kind) => sent_as_identifier(&quoted(column.name()), column.type_(), kind)
                .ok_or_else(|| identifier::refused(what, column.name(), column.type_().name(), kind))?,
            None => sent(&quoted(column.name()), column.type_(), kind),
        };
        let (expression, data_type) = sent;
        let mut field = Field::new(column.name(), data_type, true);
        if *column.type_() == Type::NUMERIC {
            field = field.with_metadata([(NUMERIC.to_owned(), String::new())].into());
        }
        fields.push(field);
        expressions.push(expression);
    }
    if !table.identifiers.is_empty() {
        identifiers_can_be_read(what, &client, &name, table, &expressions).await?;
    }
    Ok(Arc::new(Database {
        connection: connection.into(),
        name,
        schema: Arc::new(Schema::new(fields)),
        expressions: expressions.into(),
    }))
}

/// The names of all tables and views of a database that are not its own.
pub(crate) async fn table_names(what: &str, connection: &str) -> Result<Vec<String>, Error> {
    let client = connected(connection)
        .await
        .map_err(|error| unreachable(what, &error))?;
    let rows = client
        .query(
            "SELECT table_schema::text, table_name::text FROM information_schema.tables \
             WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2",
            &[],
        )
        .await
        .map_err(|error| incident(what, words(&error)))?;
    let plain = |name: &str| !name.contains(['.', '"']);
    Ok(rows
        .iter()
        .map(|row| [row.get::<_, String>(0), row.get::<_, String>(1)])
        .map(|parts| parts.map(|part| if plain(&part) { part } else { quoted(&part) }))
        .map(|[schema, name]| format!("{schema}.{name}"))
        .collect())
}

/// All that the server said, for the curator alone: it may quote data.
fn words(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(said) => format!(
            "{} {}: {}\n{}",
            said.severity(),
            said.code().code(),
            said.message(),
            said.detail().unwrap_or_default()
        ),
        None => error.to_string(),
    }
}

/// Why there is no connection. The server's own words are left out: they may name users and hosts.
fn unreachable(what: &str, error: &Unconnected) -> Error {
    let error = match error {
        Unconnected::Encryption(error) => {
            let words = error.to_string();
            let (why, hint) = words.split_once("\nhint: ").unwrap_or((&words, ""));
            return Error::catalog(format!("{what}: {why}"), hint);
        }
        Unconnected::Database(error) => error,
    };
    match error.code() {
        None => Error::catalog(
            format!("{what}: its database cannot be reached"),
            "check host and port in the connection string, and that the server runs. Connections to other machines are encrypted, and the server's certificate is verified: see PGSSLROOTCERT; sslmode=disable does without",
        ),
        Some(_) => Error::catalog(
            format!("{what}: its database does not let us in"),
            "check user, password and database in the connection string",
        ),
    }
}

/// How a column is asked for, and what then arrives. `kind` is what the catalog declares, if it does.
///
/// No expression raises an error, whatever the value. `numeric` reaches beyond floats and integers at both ends, where the casts would raise.
fn sent(column: &str, of: &Type, kind: Option<Kind>) -> (String, DataType) {
    match *of {
        Type::BOOL => (column.to_owned(), DataType::Boolean),
        Type::INT2 | Type::INT4 | Type::INT8 => (format!("{column}::int8"), DataType::Int64),
        Type::FLOAT4 | Type::FLOAT8 => (format!("{column}::float8"), DataType::Float64),
        Type::DATE => (column.to_owned(), DataType::Date32),
        // Both arrive in microseconds; the one with a time zone at UTC.
        Type::TIMESTAMP | Type::TIMESTAMPTZ => (column.to_owned(), Kind::Timestamp.data_type()),
        Type::NUMERIC if kind == Some(Kind::Int) => (
            format!(
                "CASE WHEN {column} BETWEEN -9223372036854775808 AND 9223372036854775807 THEN trunc({column})::int8 END"
            ),
            DataType::Int64,
        ),
        Type::NUMERIC if kind != Some(Kind::Text) => (
            format!(
                "CASE WHEN abs({column}) < 1e-300 THEN 0::float8 WHEN abs({column}) <= 1e308 THEN {column}::float8 END"
            ),
            DataType::Float64,
        ),
        _ => (format!("{column}::text"), DataType::Utf8View),
    }
}

/// The same for a column that tells whose rows these are ([`identifier`]): a closed list of types, each with an expression that is the same for values that PostgreSQL calls
/// equal, so that what the column takes for one person is one unit, and differs for those that it does not. `None` for all others: a `citext` is equal in other spellings, a float
/// has two zeros, and of types that others define nobody knows.
fn sent_as_identifier(column: &str, of: &Type, kind: Kind) -> Option<(String, DataType)> {
    #[cfg(test)]
    if planted(Mutant::LossyIdentifiers) {
        return Some(sent(column, of, Some(kind)));
    }
    let text = |expression: String| (expression, DataType::Utf8View);
    Some(match (of, kind) {
        (&Type::BOOL, Kind::Bool | Kind::Int | Kind::Text)
        | (&Type::INT2 | &Type::INT4 | &Type::INT8, Kind::Int | Kind::Text)
        | (&Type::DATE, Kind::Date | Kind::Timestamp)
        | (&Type::TIMESTAMP | &Type::TIMESTAMPTZ, Kind::Timestamp) => sent(column, of, Some(kind)),
        // 1 and 1.00 are equal. What is not whole is nobody's.
        (&Type::NUMERIC, Kind::Int) => (
            format!(
                "CASE WHEN {column} BETWEEN -9223372036854775808 AND 9223372036854775807 AND {column} = pg_catalog.trunc({column}) THEN {column}::int8 END"
            ),
            DataType::Int64,
        ),
        (&Type::NUMERIC, Kind::Text) => text(format!("pg_catalog.trim_scale({column})::text")),
        // Blanks that fill up a char(n) are no part of its value, and a cast drops them.
        (&Type::TEXT | &Type::VARCHAR | &Type::BPCHAR, Kind::Text | Kind::Int)
        | (&Type::UUID, Kind::Text) => text(format!("{column}::text")),
        (&Type::BYTEA, Kind::Text) => text(format!(
            // More is too long for an identifier, and still more could not be written as text.
            "CASE WHEN pg_catalog.octet_length({column}) <= {} THEN pg_catalog.encode({column}, 'hex') END",
            bound::MOST_TEXT / 2
        )),
        _ => return None,
    })
}

/// The columns of a table whose collation takes different texts for equal ones. Reads no row.
async fn with_loose_collations(client: &Client, name: &str) -> Result<Vec<String>, tokio_postgres::Error> {
    // Versions before 12 have no such collations, and no such column.
    let asked = "SELECT a.attname::text FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_collation c ON c.oid = a.attcollation \
         WHERE a.attrelid = pg_catalog.to_regclass($1::text)::oid AND pg_catalog.to_jsonb(c)->>'collisdeterministic' = 'false'";
    let rows = client.query(asked, &[&name]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// The columns of a table that lead, by foreign keys, to a column which takes more values for equal than they do. Reads no row.
///
/// PostgreSQL checks a foreign key by the equality of the column that it refers to: `'ann '` of a `text` column refers to `'ann'` of a `char(5)`, and `'ANN'` does under a collation that ignores
/// case. The database then takes for one person what would be several units here. So the columns on the way have to compare as the first one does.
async fn with_looser_references(client: &Client, name: &str) -> Result<Vec<String>, tokio_postgres::Error> {
    let compares_as = |kind: &str| {
        format!(
            "(SELECT CASE WHEN t.typname IN ('int2', 'int4', 'int8', 'numeric') THEN 'number' WHEN t.typname IN ('text', 'varchar') THEN 'text' ELSE t.typname::text END \
              FROM pg_catalog.pg_type d JOIN pg_catalog.pg_type t ON t.oid = coalesce(nullif(d.typbasetype, 0), d.oid) WHERE d.oid = {kind})"
        )
    };
    let asked = format!(
        "WITH RECURSIVE led(relation, attribute, named, onwards) AS (
             SELECT a.attrelid, a.attnum, a.attname::text, false FROM pg_catalog.pg_attribute a
             WHERE a.attrelid = pg_catalog.to_regclass($1::text)::oid AND a.attnum > 0 AND NOT a.attisdropped
             UNION
             SELECT f.confrelid, f.confkey[place], led.named, true
             FROM led JOIN pg_catalog.pg_constraint f ON f.contype = 'f' AND f.conrelid = led.relation
             CROSS JOIN LATERAL pg_catalog.generate_subscripts(f.conkey, 1) AS place
             WHERE f.conkey[place] = led.attribute)
         SELECT DISTINCT led.named FROM led
         JOIN pg_catalog.pg_attribute r ON r.attrelid = led.relation AND r.attnum = led.attribute
         JOIN pg_catalog.pg_attribute o ON o.attrelid = pg_catalog.to_regclass($1::text)::oid AND o.attname = led.named
         LEFT JOIN pg_catalog.pg_collation c ON c.oid = r.attcollation
         WHERE led.onwards AND (pg_catalog.to_jsonb(c)->>'collisdeterministic' = 'false' OR {} IS DISTINCT FROM {})",
        compares_as("r.atttypid"),
        compares_as("o.atttypid"),
    );
    let rows = client.query(&asked, &[&name]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// That the columns which tell whose rows these are compare texts byte for byte, and that the database understands how they are asked for. Reads no row.
///
/// Under a collation that is not deterministic two spellings are equal, and one person would be two units.
async fn identifiers_can_be_read(
    what: &str,
    client: &Client,
    name: &str,
    table: &Table,
    expressions: &[String],
) -> Result<(), Error> {
    let loose = with_loose_collations(client, name).await;
    let loose = loose.map_err(|error| incident(what, words(&error)))?;
    if let Some(column) = loose.iter().find(|column| table.identifies(column)) {
        return Err(Error::catalog(
            format!(
                "{what}: column `{column}` tells whose rows these are, and its collation takes different texts for equal ones"
            ),
            "use a column with a deterministic collation, such as \"C\", or one that names persons by whole numbers",
        ));
    }
    let looser = with_looser_references(client, name).await;
    let looser = looser.map_err(|error| incident(what, words(&error)))?;
    if let Some(column) = looser.iter().find(|column| table.identifies(column)) {
        return Err(Error::catalog(
            format!(
                "{what}: column `{column}` tells whose rows these are, and refers to a column that takes different values of it for one"
            ),
            "give both columns one type and a deterministic collation, or use a view over their join that shows the identifier of the other table",
        ));
    }
    let asked = format!("SELECT {} FROM {name}", expressions.join(", "));
    match client.prepare(&asked).await {
        Ok(_) => Ok(()),
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_FUNCTION) => Err(Error::catalog(
            format!("{what}: its database cannot write the identifiers of units in one way"),
            "a `numeric` column that names units needs PostgreSQL 13 or newer; or name units by integers or text",
        )),
        Err(error) => Err(incident(what, words(&error))),
    }
}

/// A connection whose background task ends when the client is dropped. Encrypted unless it stays on this machine.
async fn connected(connection: &str) -> Result<Client, Unconnected> {
    // What goes wrong with a connection later is reported to whoever waits for rows.
    Ok(match Encryption::of(connection)? {
        Encryption::None => {
            let (client, task) = tokio_postgres::connect(connection, NoTls).await?;
            tokio::spawn(async move { drop(task.await) });
            client
        }
        Encryption::Tls(tls) => {
            let mut config: tokio_postgres::Config = connection.parse()?;
            config.ssl_mode(SslMode::Require);
            let (client, task) = config.connect(tls).await?;
            tokio::spawn(async move { drop(task.await) });
            client
        }
    })
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unconnected {
    #[error(transparent)]
    Encryption(#[from] ledger::Error),
    #[error(transparent)]
    Database(#[from] tokio_postgres::Error),
}

#[async_trait]
impl TableProvider for Database {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        let mut part = self.clone();
        if let Some(projection) = projection {
            part.schema = Arc::new(self.schema.project(projection)?);
            part.expressions = projection
                .iter()
                .map(|&column| self.expressions[column].clone())
                .collect();
        }
        let schema = Arc::clone(&part.schema);
        let plan = StreamingTableExec::try_new(schema, vec![Arc::new(part)], None, [], false, limit)?;
        Ok(Arc::new(plan))
    }
}

impl PartitionStream for Database {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let part = self.clone();
        let most = context.session_config().batch_size();
        let mut builder = RecordBatchReceiverStream::builder(Arc::clone(&self.schema), 2);
        let sender = builder.tx();
        builder.spawn(async move {
            let external = |error: tokio_postgres::Error| exec_datafusion_err!("{}", words(&error));
            let client = connected(&part.connection)
                .await
                .map_err(|error| exec_datafusion_err!("{error}"))?;
            client.batch_execute(BEGIN).await.map_err(external)?;
            // A list of no columns is what PostgreSQL takes for a count of rows.
            let statement = format!("SELECT {} FROM {}", part.expressions.join(", "), part.name);
            let none: [&(dyn ToSql + Sync); 0] = [];
            let found = client.query_raw(&statement, none).await.map_err(external)?;
            pin_mut!(found);
            let mut rows = Rows::new(Arc::clone(&part.schema), most);
            while let Some(row) = found.next().await {
                rows.push(&row.map_err(external)?)?;
                if rows.len() == most && sender.send(Ok(rows.finish()?)).await.is_err() {
                    // Nobody listens any more; the transaction ends with the connection.
                    return Ok(());
                }
            }
            if rows.len() > 0 && sender.send(Ok(rows.finish()?)).await.is_err() {
                return Ok(());
            }
            client.batch_execute("COMMIT").await.map_err(external)
        });
        builder.build()
    }
}
