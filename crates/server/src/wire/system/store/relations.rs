//! The rows of the catalogs which list relations and their columns.

use rusqlite::params_from_iter;
use rusqlite::types::Value;

use super::super::names::{
    INFORMATION_SCHEMA, Names, OWNER, OWNER_NAME, PG_CATALOG, PUBLIC, RELEASES, RELEASES_NAME, type_name,
};
use super::super::{Cell, ColumnType, Table};
use super::fill::{Fill, int, text};

impl Fill<'_> {
    pub(super) fn system_relations(&self) -> rusqlite::Result<()> {
        let numbers = self.names.type_numbers();
        for relation in &self.names.relations {
            let schema = if relation.schema == "pg_catalog" {
                PG_CATALOG
            } else {
                INFORMATION_SCHEMA
            };
            let kind = relation.kind.to_string();
            let columns = relation
                .columns
                .iter()
                .map(|column| ListedColumn {
                    name: column.name,
                    type_oid: numbers.get(column.type_name).copied().unwrap_or(25),
                    type_name: column.type_name,
                    not_null: column.not_null,
                })
                .collect();
            self.relation(&Listed {
                oid: relation.oid,
                row_type: 0,
                schema,
                schema_name: relation.schema,
                name: relation.name,
                kind: &kind,
                columns,
            })?;
        }
        Ok(())
    }

    pub(super) fn table(&self, place: usize, table: &Table) -> rusqlite::Result<()> {
        let numbers = self.names.type_numbers();
        let oid = Names::table_oid(place);
        let columns = table
            .columns
            .iter()
            .map(|column| {
                let type_name = type_name(column.kind);
                let type_oid = numbers.get(type_name).copied().unwrap_or(25);
                ListedColumn {
                    name: &column.name,
                    type_oid,
                    type_name,
                    not_null: !column.nullable,
                }
            })
            .collect();
        let (schema, schema_name) = match table.released {
            None => (PUBLIC, "public"),
            Some(_) => (RELEASES, RELEASES_NAME),
        };
        self.relation(&Listed {
            oid,
            row_type: oid + 2,
            schema,
            schema_name,
            name: &table.name,
            kind: "r",
            columns,
        })?;
        for (oid, name, kind, category, relation, element, array) in [
            (oid + 2, table.name.clone(), "c", "C", oid, 0, oid + 1),
            (oid + 1, format!("_{}", table.name), "b", "A", 0, oid + 2, 0),
        ] {
            let record = kind == "c";
            let function = |record_name: &str, array_name: &str| {
                self.function(if record { record_name } else { array_name })
            };
            self.row(
                "pg_catalog.pg_type",
                &[
                    ("oid", int(oid)),
                    ("typname", text(&name)),
                    ("typnamespace", int(schema)),
                    ("typowner", int(OWNER)),
                    ("typlen", int(-1)),
                    ("typbyval", int(0)),
                    ("typtype", text(kind)),
                    ("typcategory", text(category)),
                    ("typispreferred", int(0)),
                    ("typisdefined", int(1)),
                    ("typdelim", text(",")),
                    ("typrelid", int(relation)),
                    ("typsubscript", function("-", "array_subscript_handler")),
                    ("typelem", int(element)),
                    ("typarray", int(array)),
                    ("typinput", function("record_in", "array_in")),
                    ("typoutput", function("record_out", "array_out")),
                    ("typreceive", function("record_recv", "array_recv")),
                    ("typsend", function("record_send", "array_send")),
                    ("typmodin", int(0)),
                    ("typmodout", int(0)),
                    ("typanalyze", function("-", "array_typanalyze")),
                    ("typalign", text("d")),
                    ("typstorage", text("x")),
                    ("typnotnull", int(0)),
                    ("typbasetype", int(0)),
                    ("typtypmod", int(-1)),
                    ("typndims", int(0)),
                    ("typcollation", int(0)),
                ],
            )?;
        }
        Ok(())
    }

    /// Writes the rows of a table that was released.
    pub(super) fn released(&self, place: usize, table: &Table, rows: &[Vec<Cell>]) -> rusqlite::Result<()> {
        let columns: Vec<String> = (1..)
            .zip(&table.columns)
            .map(|(at, column)| match column.kind {
                ColumnType::Float8 => format!("c{at} REAL"),
                _ => format!("c{at} TEXT"),
            })
            .collect();
        let columns = columns.join(", ");
        let create = format!("CREATE TABLE {RELEASES_NAME}.t{place} ({columns})");
        self.connection.execute_batch(&create)?;
        let marks = vec!["?"; table.columns.len()].join(", ");
        let insert = format!("INSERT INTO {RELEASES_NAME}.t{place} VALUES ({marks})");
        let mut insert = self.connection.prepare(&insert)?;
        for row in rows {
            let values = row.iter().map(|cell| match cell {
                Cell::Text(value) => text(value),
                Cell::Float(value) => Value::Real(*value),
                Cell::Null => Value::Null,
            });
            insert.execute(params_from_iter(values))?;
        }
        Ok(())
    }

    /// Writes a relation and its columns to every catalog that lists them.
    fn relation(&self, relation: &Listed<'_>) -> rusqlite::Result<()> {
        let Listed {
            oid,
            row_type,
            schema,
            schema_name,
            name,
            kind,
            columns,
        } = relation;
        let table = *kind == "r";
        self.row(
            "pg_catalog.pg_class",
            &[
                ("oid", int(*oid)),
                ("relname", text(name)),
                ("relnamespace", int(*schema)),
                ("reltype", int(*row_type)),
                ("reloftype", int(0)),
                ("relowner", int(OWNER)),
                ("relam", int(if table { 2 } else { 0 })),
                ("relfilenode", int(0)),
                ("reltablespace", int(0)),
                ("relpages", int(0)),
                ("reltuples", int(-1)),
                ("relallvisible", int(0)),
                ("reltoastrelid", int(0)),
                ("relhasindex", int(0)),
                ("relisshared", int(0)),
                ("relpersistence", text("p")),
                ("relkind", text(kind)),
                ("relnatts", int(i64::try_from(columns.len()).unwrap_or(0))),
                ("relchecks", int(0)),
                ("relhasrules", int(0)),
                ("relhastriggers", int(0)),
                ("relhassubclass", int(0)),
                ("relrowsecurity", int(0)),
                ("relforcerowsecurity", int(0)),
                ("relispopulated", int(1)),
                (
                    "relreplident",
                    text(if [PUBLIC, RELEASES].contains(schema) {
                        "d"
                    } else {
                        "n"
                    }),
                ),
                ("relispartition", int(0)),
                ("relrewrite", int(0)),
                ("relfrozenxid", text("0")),
                ("relminmxid", text("0")),
            ],
        )?;
        let database = text(&self.names.database);
        self.row(
            "information_schema.tables",
            &[
                ("table_catalog", database.clone()),
                ("table_schema", text(schema_name)),
                ("table_name", text(name)),
                ("table_type", text(if table { "BASE TABLE" } else { "VIEW" })),
                ("is_insertable_into", text("NO")),
                ("is_typed", text("NO")),
            ],
        )?;
        self.row(
            "information_schema.table_privileges",
            &[
                ("grantor", text(OWNER_NAME)),
                ("grantee", text("PUBLIC")),
                ("table_catalog", database.clone()),
                ("table_schema", text(schema_name)),
                ("table_name", text(name)),
                ("privilege_type", text("SELECT")),
                ("is_grantable", text("NO")),
                ("with_hierarchy", text("YES")),
            ],
        )?;
        if table {
            self.row(
                "pg_catalog.pg_tables",
                &[
                    ("schemaname", text(schema_name)),
                    ("tablename", text(name)),
                    ("tableowner", text(OWNER_NAME)),
                    ("hasindexes", int(0)),
                    ("hasrules", int(0)),
                    ("hastriggers", int(0)),
                    ("rowsecurity", int(0)),
                ],
            )?;
        } else {
            let values = [
                ("schemaname", text(schema_name)),
                ("viewname", text(name)),
                ("viewowner", text(OWNER_NAME)),
            ];
            self.row("pg_catalog.pg_views", &values)?;
            let values = [
                ("table_catalog", database),
                ("table_schema", text(schema_name)),
                ("table_name", text(name)),
            ];
            self.row("information_schema.views", &values)?;
        }
        for (place, column) in (1..).zip(columns) {
            self.column(relation, place, column)?;
        }
        Ok(())
    }

    fn column(&self, relation: &Listed<'_>, place: i64, column: &ListedColumn<'_>) -> rusqlite::Result<()> {
        let one = self.names.types.iter().find(|one| one.oid == column.type_oid);
        let field = |at: usize| one.and_then(|one| one.fields.get(at)).copied().unwrap_or("");
        let title = one.map_or("text", |one| one.title.as_str());
        self.row(
            "pg_catalog.pg_attribute",
            &[
                ("attrelid", int(relation.oid)),
                ("attname", text(column.name)),
                ("atttypid", int(column.type_oid)),
                ("attstattarget", int(-1)),
                ("attlen", text(field(1))),
                ("attnum", int(place)),
                ("attndims", int(i64::from(field(4) == "A"))),
                ("attcacheoff", int(-1)),
                ("atttypmod", int(-1)),
                ("attbyval", text(field(2))),
                ("attalign", text(field(18))),
                ("attstorage", text(field(19))),
                ("attcompression", text("")),
                ("attnotnull", int(i64::from(column.not_null))),
                ("atthasdef", int(0)),
                ("atthasmissing", int(0)),
                ("attidentity", text("")),
                ("attgenerated", text("")),
                ("attisdropped", int(0)),
                ("attislocal", int(1)),
                ("attinhcount", int(0)),
                ("attcollation", text(field(24))),
            ],
        )?;
        let mut values = vec![
            ("table_catalog", text(&self.names.database)),
            ("table_schema", text(relation.schema_name)),
            ("table_name", text(relation.name)),
            ("column_name", text(column.name)),
            ("ordinal_position", int(place)),
            ("is_nullable", text(if column.not_null { "NO" } else { "YES" })),
            ("data_type", text(if field(4) == "A" { "ARRAY" } else { title })),
            ("udt_catalog", text(&self.names.database)),
            ("udt_schema", text("pg_catalog")),
            ("udt_name", text(column.type_name)),
            ("dtd_identifier", text(&place.to_string())),
            ("is_self_referencing", text("NO")),
            ("is_identity", text("NO")),
            ("identity_cycle", text("NO")),
            ("is_generated", text("NEVER")),
            ("is_updatable", text("NO")),
        ];
        match column.type_name {
            "text" | "varchar" => values.push(("character_octet_length", int(1_073_741_824))),
            "int2" => values.extend(numeric(16, 2, Some(0))),
            "int4" => values.extend(numeric(32, 2, Some(0))),
            "int8" => values.extend(numeric(64, 2, Some(0))),
            "float4" => values.extend(numeric(24, 2, None)),
            "float8" => values.extend(numeric(53, 2, None)),
            "date" => values.push(("datetime_precision", int(0))),
            "timestamp" | "timestamptz" => values.push(("datetime_precision", int(6))),
            _ => {}
        }
        self.row("information_schema.columns", &values)
    }
}

fn numeric(precision: i64, radix: i64, scale: Option<i64>) -> Vec<(&'static str, Value)> {
    let mut values = vec![
        ("numeric_precision", int(precision)),
        ("numeric_precision_radix", int(radix)),
    ];
    values.extend(scale.map(|scale| ("numeric_scale", int(scale))));
    values
}

/// A relation to be listed.
struct Listed<'a> {
    oid: i64,
    row_type: i64,
    schema: i64,
    schema_name: &'a str,
    name: &'a str,
    kind: &'a str,
    columns: Vec<ListedColumn<'a>>,
}

/// A column of it.
struct ListedColumn<'a> {
    name: &'a str,
    type_oid: i64,
    type_name: &'a str,
    not_null: bool,
}
