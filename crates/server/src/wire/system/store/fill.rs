//! The rows of the catalogs which do not depend on the tables.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::super::functions::{KEYWORDS, SETTINGS};
use super::super::names::{DATABASE, Names, OWNER, OWNER_NAME, PG_CATALOG, RELEASES, SCHEMAS, USER};

pub(super) fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

pub(super) fn int(value: i64) -> Value {
    Value::Integer(value)
}

/// Writes the rows.
pub(super) struct Fill<'a> {
    pub(super) connection: &'a Connection,
    pub(super) names: &'a Names,
}

impl Fill<'_> {
    /// Writes one row; the columns that are not named hold null.
    pub(super) fn row(&self, table: &str, values: &[(&str, Value)]) -> rusqlite::Result<()> {
        let columns: Vec<String> = values.iter().map(|(column, _)| format!("\"{column}\"")).collect();
        let marks = vec!["?"; values.len()].join(", ");
        let sql = format!("INSERT INTO {table} ({}) VALUES ({marks})", columns.join(", "));
        self.connection
            .prepare_cached(&sql)?
            .execute(params_from_iter(values.iter().map(|(_, value)| value)))
            .map(|_| ())
    }

    pub(super) fn schemas(&self) -> rusqlite::Result<()> {
        let listed = |(_, oid): &(&str, i64)| *oid != RELEASES || self.names.has_releases();
        for (name, oid) in SCHEMAS.into_iter().filter(listed) {
            self.row(
                "pg_catalog.pg_namespace",
                &[
                    ("oid", int(oid)),
                    ("nspname", text(name)),
                    ("nspowner", int(OWNER)),
                ],
            )?;
            self.row(
                "information_schema.schemata",
                &[
                    ("catalog_name", text(&self.names.database)),
                    ("schema_name", text(name)),
                    ("schema_owner", text(OWNER_NAME)),
                ],
            )?;
        }
        Ok(())
    }

    pub(super) fn types(&self) -> rusqlite::Result<()> {
        const FIELDS: [&str; 25] = [
            "typname",
            "typlen",
            "typbyval",
            "typtype",
            "typcategory",
            "typispreferred",
            "typdelim",
            "typrelid",
            "typsubscript",
            "typelem",
            "typarray",
            "typinput",
            "typoutput",
            "typreceive",
            "typsend",
            "typmodin",
            "typmodout",
            "typanalyze",
            "typalign",
            "typstorage",
            "typnotnull",
            "typbasetype",
            "typtypmod",
            "typndims",
            "typcollation",
        ];
        const FUNCTION_FIELDS: [&str; 8] = [
            "typsubscript",
            "typinput",
            "typoutput",
            "typreceive",
            "typsend",
            "typmodin",
            "typmodout",
            "typanalyze",
        ];
        for one in &self.names.types {
            let mut values = vec![
                ("oid", int(one.oid)),
                ("typnamespace", int(PG_CATALOG)),
                ("typowner", int(OWNER)),
                ("typisdefined", int(1)),
            ];
            for (field, value) in FIELDS.iter().zip(&one.fields) {
                let is_function = FUNCTION_FIELDS.contains(field);
                values.push((
                    field,
                    if is_function {
                        self.function(value)
                    } else {
                        text(value)
                    },
                ));
            }
            self.row("pg_catalog.pg_type", &values)?;
        }
        const RANGES: [(i64, i64, i64); 6] = [
            (3904, 23, 4451),
            (3906, 1700, 4532),
            (3908, 1114, 4533),
            (3910, 1184, 4534),
            (3912, 1082, 4535),
            (3926, 20, 4536),
        ];
        for (oid, subtype, multirange) in RANGES {
            self.row(
                "pg_catalog.pg_range",
                &[
                    ("rngtypid", int(oid)),
                    ("rngsubtype", int(subtype)),
                    ("rngmultitypid", int(multirange)),
                    ("rngcollation", int(0)),
                    ("rngcanonical", int(0)),
                    ("rngsubdiff", int(0)),
                ],
            )?;
        }
        Ok(())
    }

    /// The number of a function.
    pub(super) fn function(&self, name: &str) -> Value {
        int(self.names.function(name).unwrap_or(0))
    }

    pub(super) fn functions(&self) -> rusqlite::Result<()> {
        for (oid, fields) in &self.names.functions {
            let [name, result, volatility, strict, rows, count, arguments] = fields.as_slice() else {
                continue;
            };
            self.row(
                "pg_catalog.pg_proc",
                &[
                    ("oid", int(*oid)),
                    ("proname", text(name)),
                    ("pronamespace", int(PG_CATALOG)),
                    ("proowner", int(OWNER)),
                    ("prolang", int(12)),
                    ("procost", int(1)),
                    ("prorows", int(0)),
                    ("provariadic", int(0)),
                    ("prosupport", int(0)),
                    ("prokind", text("f")),
                    ("prosecdef", int(0)),
                    ("proleakproof", int(0)),
                    ("proisstrict", text(strict)),
                    ("proretset", text(rows)),
                    ("provolatile", text(volatility)),
                    ("proparallel", text("s")),
                    ("pronargs", text(count)),
                    ("pronargdefaults", int(0)),
                    ("prorettype", text(result)),
                    (
                        "proargtypes",
                        text(&arguments.trim_start_matches('-').replace(',', " ")),
                    ),
                    ("prosrc", text(name)),
                ],
            )?;
        }
        Ok(())
    }

    pub(super) fn roles_and_database(&self) -> rusqlite::Result<()> {
        for (oid, name, login) in [(OWNER, OWNER_NAME, 0), (USER, "", 1)] {
            for table in ["pg_authid", "pg_roles"] {
                self.row(
                    &format!("pg_catalog.{table}"),
                    &[
                        ("oid", int(oid)),
                        ("rolname", text(name)),
                        ("rolsuper", int(0)),
                        ("rolinherit", int(1)),
                        ("rolcreaterole", int(0)),
                        ("rolcreatedb", int(0)),
                        ("rolcanlogin", int(login)),
                        ("rolreplication", int(0)),
                        ("rolbypassrls", int(0)),
                        ("rolconnlimit", int(-1)),
                    ],
                )?;
            }
        }
        for table in ["pg_user", "pg_shadow"] {
            self.row(
                &format!("pg_catalog.{table}"),
                &[
                    ("usename", text("")),
                    ("usesysid", int(USER)),
                    ("usecreatedb", int(0)),
                    ("usesuper", int(0)),
                    ("userepl", int(0)),
                    ("usebypassrls", int(0)),
                    ("passwd", text("********")),
                ],
            )?;
        }
        self.row("information_schema.enabled_roles", &[("role_name", text(""))])?;
        self.row(
            "pg_catalog.pg_database",
            &[
                ("oid", int(DATABASE)),
                ("datname", text(&self.names.database)),
                ("datdba", int(OWNER)),
                ("encoding", int(6)),
                ("datlocprovider", text("c")),
                ("datistemplate", int(0)),
                ("datallowconn", int(1)),
                ("datconnlimit", int(-1)),
                ("datfrozenxid", text("1")),
                ("datminmxid", text("1")),
                ("dattablespace", int(1663)),
                ("datcollate", text("C")),
                ("datctype", text("C")),
            ],
        )?;
        self.row(
            "information_schema.information_schema_catalog_name",
            &[("catalog_name", text(&self.names.database))],
        )
    }

    pub(super) fn small_tables(&self) -> rusqlite::Result<()> {
        for (oid, name) in [(1663, "pg_default"), (1664, "pg_global")] {
            let values = [
                ("oid", int(oid)),
                ("spcname", text(name)),
                ("spcowner", int(OWNER)),
            ];
            self.row("pg_catalog.pg_tablespace", &values)?;
        }
        for (oid, name, handler, kind) in [
            (2, "heap", "heap_tableam_handler", "t"),
            (403, "btree", "bthandler", "i"),
        ] {
            let values = [
                ("oid", int(oid)),
                ("amname", text(name)),
                ("amhandler", self.function(handler)),
                ("amtype", text(kind)),
            ];
            self.row("pg_catalog.pg_am", &values)?;
        }
        for (oid, name) in [(12, "internal"), (13, "c"), (14, "sql")] {
            self.row(
                "pg_catalog.pg_language",
                &[
                    ("oid", int(oid)),
                    ("lanname", text(name)),
                    ("lanowner", int(OWNER)),
                    ("lanispl", int(0)),
                    ("lanpltrusted", int(i64::from(oid == 14))),
                    ("lanplcallfoid", int(0)),
                    ("laninline", int(0)),
                    ("lanvalidator", int(0)),
                ],
            )?;
        }
        for (oid, name, provider) in [(100, "default", "d"), (950, "C", "c"), (951, "POSIX", "c")] {
            self.row(
                "pg_catalog.pg_collation",
                &[
                    ("oid", int(oid)),
                    ("collname", text(name)),
                    ("collnamespace", int(PG_CATALOG)),
                    ("collowner", int(OWNER)),
                    ("collprovider", text(provider)),
                    ("collisdeterministic", int(1)),
                    ("collencoding", int(-1)),
                ],
            )?;
        }
        for line in SETTINGS.lines() {
            let fields: Vec<&str> = line.split('|').collect();
            let [name, value, kind, category, description] = fields.as_slice() else {
                continue;
            };
            self.row(
                "pg_catalog.pg_settings",
                &[
                    ("name", text(name)),
                    ("setting", text(value)),
                    ("vartype", text(kind)),
                    ("category", text(category)),
                    ("short_desc", text(description)),
                    (
                        "context",
                        text(if *category == "Preset Options" {
                            "internal"
                        } else {
                            "user"
                        }),
                    ),
                    ("source", text("default")),
                    ("boot_val", text(value)),
                    ("reset_val", text(value)),
                    ("pending_restart", int(0)),
                ],
            )?;
        }
        for line in KEYWORDS.lines() {
            let fields: Vec<&str> = line.split(':').collect();
            let [word, category, bare] = fields.as_slice() else {
                continue;
            };
            self.row(
                "pg_catalog.pg_get_keywords",
                &[
                    ("word", text(word)),
                    ("catcode", text(category)),
                    ("barelabel", text(bare)),
                ],
            )?;
        }
        Ok(())
    }
}
