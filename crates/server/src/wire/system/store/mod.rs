//! The in-memory SQLite database that holds the catalogs.

mod fill;
mod relations;

use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;

use super::functions::{self, LONGEST_TEXT, Work};
use super::names::{Names, Relation};
use super::translate::Ty;
use super::{Error, Table};
use fill::Fill;

/// The catalogs, ready to be asked.
pub(super) struct Store {
    pub(super) connection: Connection,
    pub(super) names: Arc<Names>,
    /// How much the statement under way has done.
    pub(super) work: Work,
    /// The login name that the catalogs show at the moment.
    pub(super) user: String,
}

impl Store {
    pub(super) fn new(names: Arc<Names>, tables: &[Table]) -> Result<Self, Error> {
        build(names, tables).map_err(|error| {
            Error::new(
                format!("the system catalogs could not be built: {error}"),
                "this is a defect of the server; report it with the names of the tables",
            )
        })
    }
}

fn build(names: Arc<Names>, tables: &[Table]) -> rusqlite::Result<Store> {
    let mut connection = Connection::open_in_memory()?;
    connection
        .execute_batch("ATTACH ':memory:' AS pg_catalog; ATTACH ':memory:' AS information_schema; ATTACH ':memory:' AS releases; BEGIN")?;
    for relation in &names.relations {
        create(&connection, relation)?;
    }
    connection.execute_batch("CREATE TABLE pg_catalog.pg_get_keywords (word TEXT, catcode TEXT, barelabel INTEGER, catdesc TEXT, baredesc TEXT)")?;
    let fill = Fill {
        connection: &connection,
        names: &names,
    };
    fill.schemas()?;
    fill.types()?;
    fill.functions()?;
    fill.roles_and_database()?;
    fill.small_tables()?;
    fill.system_relations()?;
    for (place, table) in tables.iter().enumerate() {
        fill.table(place, table)?;
        if let Some(rows) = &table.released {
            fill.released(place, table, rows)?;
        }
    }
    for (table, column) in [
        ("pg_class", "oid"),
        ("pg_class", "relname"),
        ("pg_attribute", "attrelid"),
        ("pg_type", "oid"),
        ("pg_type", "typrelid"),
        ("pg_namespace", "oid"),
    ] {
        connection.execute_batch(&format!(
            "CREATE INDEX pg_catalog.{table}_{column} ON {table} ({column})"
        ))?;
    }
    connection.execute_batch("COMMIT; ANALYZE")?;
    let work = Work::default();
    functions::register(&connection, &names, &work)?;
    let counted = work.clone();
    connection.progress_handler(Work::EVERY, Some(move || counted.instructions()))?;
    // Names in double quotes never count as texts, and no statement may change how the schema is stored.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.authorizer(Some(|context: AuthContext<'_>| allowed(&context.action)))?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_TEXT as i32)?;
    connection.set_limit(Limit::SQLITE_LIMIT_SQL_LENGTH, 1_000_000)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 3)?;
    Ok(Store {
        connection,
        names,
        work,
        user: String::new(),
    })
}

/// Statements may read. The server itself also writes the login name into the catalogs of roles.
fn allowed(action: &AuthAction<'_>) -> Authorization {
    let allowed = match action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => true,
        AuthAction::Function { function_name } => !function_name.eq_ignore_ascii_case("load_extension"),
        AuthAction::Update { column_name, .. } => ["rolname", "usename", "role_name"].contains(column_name),
        _ => false,
    };
    if allowed {
        Authorization::Allow
    } else {
        Authorization::Deny
    }
}

fn create(connection: &Connection, relation: &Relation) -> rusqlite::Result<()> {
    let columns: Vec<String> = relation
        .columns
        .iter()
        .map(|column| {
            // The affinity makes SQLite compare `oid = '16385'` as numbers.
            let affinity = match column.ty() {
                Ty::Bool | Ty::Int2 | Ty::Int4 | Ty::Int8 | Ty::Oid | Ty::RegType | Ty::RegProc => "INTEGER",
                Ty::Float8 => "REAL",
                _ => "TEXT",
            };
            format!("\"{}\" {affinity}", column.name)
        })
        .collect();
    connection.execute_batch(&format!(
        "CREATE TABLE {}.\"{}\" ({})",
        relation.schema,
        relation.name,
        columns.join(", ")
    ))
}
