//! Casts.

use sqlparser::ast::DataType;

use super::super::Error;
use super::super::names::{OWNER, OWNER_NAME, USER};
use super::{Translator, Ty, Typed, quoted};

/// The name of a type as `pg_type` has it, with whether it is an array, and the name that a result of a cast
/// gets.
pub(super) fn type_name(data_type: &DataType, array: bool) -> (bool, String) {
    let written = data_type.to_string().to_lowercase();
    let mut name = written.trim();
    let mut is_array = array;
    while let Some((before, _)) = name.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) {
        (name, is_array) = (before.trim_end(), true);
    }
    let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
    let quoted_name = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
    // The length in varchar(10) changes nothing here.
    let name = quoted_name.unwrap_or_else(|| name.split('(').next().unwrap_or_default().trim_end());
    let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
    let name = match name {
        "int" | "integer" => "int4",
        "bigint" => "int8",
        "smallint" => "int2",
        "boolean" => "bool",
        "character varying" | "char varying" | "nvarchar" => "varchar",
        "char" | "character" if quoted_name.is_none() => "bpchar",
        "double precision" | "float" | "double" => "float8",
        "real" => "float4",
        "decimal" | "dec" => "numeric",
        "timestamp without time zone" => "timestamp",
        "timestamp with time zone" => "timestamptz",
        other => other,
    };
    (is_array, name.to_owned())
}

impl Translator<'_> {
    pub(super) fn cast(&mut self, value: Typed, data_type: &DataType, array: bool) -> Result<Typed, Error> {
        let (is_array, name) = type_name(data_type, array);
        if is_array {
            let ty = match name.as_str() {
                "oid" | "int2" | "int4" | "int8" | "float4" | "float8" | "numeric" | "regclass"
                | "regtype" => Ty::Ints,
                _ => Ty::Texts,
            };
            return Ok(Typed::new(value.sql, ty));
        }
        let named = |value: Typed, function: &str, ty: Ty| {
            let is_text = matches!(value.ty, Ty::Unknown | Ty::Text | Ty::Name | Ty::Char);
            let sql = if is_text {
                format!("{function}({}, 1)", value.sql)
            } else {
                value.sql
            };
            Ok(Typed::new(sql, ty))
        };
        match name.as_str() {
            "text" | "varchar" | "bpchar" | "citext" | "unknown" | "cstring" => {
                Ok(Typed::new(self.to_text(&value), Ty::Text))
            }
            "name" => Ok(Typed::new(self.to_text(&value), Ty::Name)),
            "char" => Ok(Typed::new(
                format!("substr({}, 1, 1)", self.to_text(&value)),
                Ty::Char,
            )),
            "int2" => self.to_int(value, Ty::Int2),
            "int4" => self.to_int(value, Ty::Int4),
            "int8" => self.to_int(value, Ty::Int8),
            "oid" | "xid" => self.to_int(value, Ty::Oid),
            "float4" | "float8" | "numeric" => {
                Ok(Typed::new(format!("CAST({} AS REAL)", value.sql), Ty::Float8))
            }
            "bool" => self.to_bool(value),
            "regclass" => named(value, "x_regclass", Ty::RegClass),
            "regtype" => named(value, "x_regtype", Ty::RegType),
            "regnamespace" => named(value, "x_regnamespace", Ty::RegNamespace),
            "regrole" => Ok(self.to_role(value)),
            "regproc" | "regprocedure" => named(value, "x_regproc", Ty::RegProc),
            "regoper" | "regoperator" | "regconfig" | "regdictionary" | "regcollation" => {
                Ok(Typed::new(value.sql, Ty::Text))
            }
            "json" | "jsonb" => Ok(Typed::new(value.sql, Ty::Json)),
            "timestamp" | "timestamptz" | "date" | "time" | "timetz" | "interval" | "inet" | "cidr"
            | "uuid" | "bytea" | "pg_node_tree" | "pg_lsn" | "int2vector" | "oidvector" | "money" | "xml" => {
                Ok(Typed::new(self.to_text(&value), Ty::Text))
            }
            // A null may have any type, such as the row type of a table.
            _ if value.sql == "NULL" => Ok(Typed::new("NULL", Ty::Text)),
            _ => Err(Error::unknown(format!("the type {name:?}"))),
        }
    }

    /// A value as PostgreSQL writes it.
    pub(super) fn to_text(&self, value: &Typed) -> String {
        let sql = &value.sql;
        match value.ty {
            Ty::Bool => format!("(CASE {sql} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END)"),
            Ty::Int2 | Ty::Int4 | Ty::Int8 | Ty::Oid | Ty::Float8 => format!("CAST({sql} AS TEXT)"),
            Ty::RegClass => format!("x_regclass_text({sql})"),
            Ty::RegType => format!("x_format_type({sql}, NULL)"),
            Ty::RegNamespace => format!("x_regnamespace_text({sql})"),
            Ty::RegRole => self.role_name(sql),
            Ty::RegProc => format!("x_regproc_text({sql})"),
            Ty::Text
            | Ty::Name
            | Ty::Char
            | Ty::Unknown
            | Ty::Texts
            | Ty::Ints
            | Ty::Vector
            | Ty::Json
            | Ty::Row => sql.clone(),
        }
    }

    fn to_int(&self, value: Typed, ty: Ty) -> Result<Typed, Error> {
        let sql = match value.ty {
            Ty::Bool | Ty::Int2 | Ty::Int4 | Ty::Int8 | Ty::Oid => value.sql,
            Ty::RegClass | Ty::RegType | Ty::RegProc | Ty::RegNamespace | Ty::RegRole => value.sql,
            Ty::Float8 => format!("CAST(round({}) AS INTEGER)", value.sql),
            _ if value.sql == "NULL" => value.sql,
            _ => format!("x_int({})", value.sql),
        };
        Ok(Typed::new(sql, ty))
    }

    pub(super) fn to_bool(&self, value: Typed) -> Result<Typed, Error> {
        let sql = match value.ty {
            Ty::Bool => value.sql,
            Ty::Int2 | Ty::Int4 | Ty::Int8 => format!("({} <> 0)", value.sql),
            _ if value.sql == "NULL" => value.sql,
            Ty::Unknown | Ty::Text | Ty::Name | Ty::Char => format!("x_bool({})", value.sql),
            _ => {
                return Err(Error::new(
                    "a value is not a truth value",
                    "compare it with something",
                ));
            }
        };
        Ok(Typed::new(sql, Ty::Bool))
    }

    fn to_role(&self, value: Typed) -> Typed {
        if value.ty.is_number() {
            return Typed::new(value.sql, Ty::RegRole);
        }
        let (sql, user, owner) = (value.sql, quoted(self.user), quoted(OWNER_NAME));
        Typed::new(
            format!("(CASE {sql} WHEN {user} THEN {USER} WHEN {owner} THEN {OWNER} END)"),
            Ty::RegRole,
        )
    }

    /// The name of the role with this number.
    pub(super) fn role_name(&self, oid: &str) -> String {
        format!("x_role_text({oid}, {})", quoted(self.user))
    }
}
