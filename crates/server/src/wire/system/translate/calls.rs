//! Functions of PostgreSQL, one value for one row.

use super::super::Error;
use super::super::names::DATABASE;
use super::{Translator, Ty, Typed, quoted};

/// What `version()` says.
const VERSION: &str = "PostgreSQL 15.0 (Deniable 0.1.0)";

/// Functions which describe something that no table here has: definitions, comments, partitions. They give
/// null.
const NULL_TEXTS: &[&str] = &[
    "col_description",
    "encode",
    "inet_client_addr",
    "oidvectortypes",
    "inet_server_addr",
    "obj_description",
    "pg_describe_object",
    "pg_get_constraintdef",
    "pg_get_expr",
    "pg_get_function_arg_default",
    "pg_get_function_arguments",
    "pg_get_function_identity_arguments",
    "pg_get_function_result",
    "pg_get_function_sqlbody",
    "pg_get_functiondef",
    "pg_get_indexdef",
    "pg_get_partition_constraintdef",
    "pg_get_partkeydef",
    "pg_get_publication_tables",
    "pg_get_ruledef",
    "pg_get_serial_sequence",
    "pg_get_statisticsobjdef",
    "pg_get_statisticsobjdef_columns",
    "pg_get_statisticsobjdef_expressions",
    "pg_get_triggerdef",
    "pg_get_viewdef",
    "pg_relation_filepath",
    "shobj_description",
    "pg_last_wal_receive_lsn",
    "pg_last_wal_replay_lsn",
    "pg_last_xact_replay_timestamp",
    "pg_stat_get_last_analyze_time",
    "pg_stat_get_last_vacuum_time",
];

/// Functions about sizes and use: nothing may depend on the data, so they give 0.
const ZEROS: &[&str] = &[
    "age",
    "mxid_age",
    "pg_column_size",
    "pg_database_size",
    "pg_indexes_size",
    "pg_relation_size",
    "pg_table_size",
    "pg_tablespace_size",
    "pg_total_relation_size",
    "pg_relation_filenode",
];

/// Functions that ask whether something can be named without its schema. Everything but `information_schema`
/// can.
const VISIBLE: &[&str] = &[
    "pg_collation_is_visible",
    "pg_conversion_is_visible",
    "pg_function_is_visible",
    "pg_opclass_is_visible",
    "pg_operator_is_visible",
    "pg_opfamily_is_visible",
    "pg_statistics_obj_is_visible",
    "pg_ts_config_is_visible",
    "pg_ts_dict_is_visible",
    "pg_ts_parser_is_visible",
    "pg_ts_template_is_visible",
    "pg_type_is_visible",
];

impl Translator<'_> {
    /// A function that gives many rows: the JSON array of its rows, and their type.
    pub(super) fn rows_function(
        &mut self,
        name: &str,
        values: &[Typed],
    ) -> Result<Option<(String, Ty)>, Error> {
        Ok(match (name, values) {
            ("unnest", [array]) => Some(self.unnested(array.clone())),
            ("generate_series", [from, to]) => {
                Some((format!("x_series({}, {}, 1)", from.sql, to.sql), Ty::Int4))
            }
            ("generate_series", [from, to, step]) => Some((
                format!("x_series({}, {}, {})", from.sql, to.sql, step.sql),
                Ty::Int4,
            )),
            ("generate_subscripts", [array, _]) => {
                let first = i64::from(array.ty != Ty::Vector);
                Some((
                    format!("x_series({first}, x_length({}) - 1 + {first}, 1)", array.sql),
                    Ty::Int4,
                ))
            }
            ("_pg_expandarray", [array]) => Some((format!("x_expand({})", array.sql), Ty::Row)),
            // Nothing here has an access control list.
            ("aclexplode", [_]) => Some(("'[]'".to_owned(), Ty::Row)),
            ("json_array_elements" | "jsonb_array_elements", [array]) => Some((array.sql.clone(), Ty::Json)),
            ("json_array_elements_text" | "jsonb_array_elements_text", [array]) => {
                Some((array.sql.clone(), Ty::Text))
            }
            ("regexp_split_to_table" | "string_to_table", [text, separator]) => Some((
                format!("x_json(x_string_to_array({}, {}), 1)", text.sql, separator.sql),
                Ty::Text,
            )),
            _ => None,
        })
    }

    /// The elements of an array as a JSON array.
    pub(super) fn unnested(&mut self, array: Typed) -> (String, Ty) {
        let texts = u8::from(array.ty == Ty::Texts);
        (format!("x_json({}, {texts})", array.sql), array.ty.element())
    }

    /// Calls a function with translated arguments.
    pub(super) fn call_with(&mut self, name: &str, values: &[Typed]) -> Result<Typed, Error> {
        let text = |sql: String| Ok(Typed::new(sql, Ty::Text));
        let truth = |value: bool| Ok(Typed::new(u8::from(value).to_string(), Ty::Bool));
        if NULL_TEXTS.contains(&name) {
            return text("NULL".to_owned());
        }
        if ZEROS.contains(&name) || name.starts_with("pg_stat_get_") {
            return Ok(Typed::new("0", Ty::Int8));
        }
        if VISIBLE.contains(&name) {
            return truth(true);
        }
        match (name, values) {
            ("version", []) => text(quoted(VERSION)),
            ("current_database" | "current_catalog", []) => {
                Ok(Typed::new(quoted(&self.names.database), Ty::Name))
            }
            ("current_schema", []) => Ok(Typed::new("'public'", Ty::Name)),
            ("current_user" | "session_user" | "user" | "current_role" | "getpgusername", []) => {
                Ok(Typed::new(quoted(self.user), Ty::Name))
            }
            ("current_schemas", [implicit]) => {
                let implicit = self.to_bool(implicit.clone())?.sql;
                let sql =
                    format!("(CASE WHEN {implicit} THEN '{{pg_catalog,public}}' ELSE '{{public}}' END)");
                Ok(Typed::new(sql, Ty::Texts))
            }
            ("pg_client_encoding" | "getdatabaseencoding", []) => Ok(Typed::new("'UTF8'", Ty::Name)),
            ("pg_encoding_to_char", [number]) => Ok(Typed::new(
                format!(
                    "(CASE {} WHEN 6 THEN 'UTF8' WHEN 0 THEN 'SQL_ASCII' ELSE '' END)",
                    number.sql
                ),
                Ty::Name,
            )),
            ("pg_char_to_encoding", [name]) => Ok(Typed::new(
                format!(
                    "(CASE replace(upper({}), '-', '') WHEN 'UTF8' THEN 6 ELSE -1 END)",
                    name.sql
                ),
                Ty::Int4,
            )),
            ("inet_server_port" | "inet_client_port", []) => Ok(Typed::new("NULL", Ty::Int4)),
            ("pg_backend_pid", []) => Ok(Typed::new("1", Ty::Int4)),
            ("txid_current" | "pg_current_xact_id", []) => Ok(Typed::new("1", Ty::Int8)),
            ("pg_my_temp_schema", []) => Ok(Typed::new("0", Ty::Oid)),
            (
                "pg_is_in_recovery"
                | "pg_is_wal_replay_paused"
                | "pg_is_other_temp_schema"
                | "pg_relation_is_publishable",
                _,
            ) => truth(false),
            (
                "now"
                | "current_timestamp"
                | "transaction_timestamp"
                | "statement_timestamp"
                | "clock_timestamp"
                | "localtimestamp"
                | "pg_postmaster_start_time"
                | "pg_conf_load_time",
                _,
            ) => text("strftime('%Y-%m-%d %H:%M:%f+00', 'now')".to_owned()),
            ("current_date", _) => text("date('now')".to_owned()),
            ("pg_tablespace_location", [_]) => text("''".to_owned()),
            ("pg_get_userbyid", [oid]) => Ok(Typed::new(self.role_name(&oid.sql), Ty::Name)),
            ("format_type", [oid, modifier]) => text(format!("x_format_type({}, {})", oid.sql, modifier.sql)),
            ("pg_table_is_visible", [oid]) => Ok(Typed::new(format!("x_visible({})", oid.sql), Ty::Bool)),
            ("to_regclass", [name]) => Ok(Typed::new(format!("x_regclass({}, 0)", name.sql), Ty::RegClass)),
            ("to_regtype", [name]) => Ok(Typed::new(format!("x_regtype({}, 0)", name.sql), Ty::RegType)),
            ("to_regnamespace", [name]) => Ok(Typed::new(
                format!("x_regnamespace({}, 0)", name.sql),
                Ty::RegNamespace,
            )),
            ("to_regproc" | "to_regprocedure", [name]) => {
                Ok(Typed::new(format!("x_regproc({}, 0)", name.sql), Ty::RegProc))
            }
            ("current_setting", [name]) => text(format!("x_setting({}, 0)", name.sql)),
            ("current_setting", [name, missing]) => {
                let missing = self.to_bool(missing.clone())?;
                text(format!("x_setting({}, {})", name.sql, missing.sql))
            }
            // It says the value back and changes nothing.
            ("set_config", [_, value, _]) => text(self.to_text(value)),
            ("pg_has_role", _) => truth(true),
            // Pools of connections say it before they lend one again. There are no locks here.
            ("pg_advisory_unlock_all", []) => text("''".to_owned()),
            _ if name.starts_with("has_") && name.ends_with("_privilege") => match values.last() {
                Some(privilege) => Ok(Typed::new(format!("x_privilege({})", privilege.sql), Ty::Bool)),
                None => Err(Error::unknown(format!("{name}()"))),
            },
            ("acldefault", [_, _]) => Ok(Typed::new("NULL", Ty::Texts)),
            ("pg_sequence_last_value", [_]) => Ok(Typed::new("NULL", Ty::Int8)),
            ("pg_sequence_parameters", [_]) => Ok(Typed::new("NULL", Ty::Json)),
            ("pg_size_pretty", [size]) => text(format!("x_cat({}, ' bytes')", size.sql)),
            ("pg_typeof", [value]) => {
                let name = match value.ty {
                    Ty::Bool => "bool",
                    Ty::Int2 => "int2",
                    Ty::Int4 => "int4",
                    Ty::Int8 => "int8",
                    Ty::Oid => "oid",
                    Ty::Float8 => "float8",
                    Ty::Name => "name",
                    Ty::Unknown => "unknown",
                    Ty::Char => "\"char\"",
                    Ty::Texts => "text[]",
                    _ => "text",
                };
                Ok(Typed::new(format!("x_regtype({}, 1)", quoted(name)), Ty::RegType))
            }
            ("oid", [one]) => Ok(Typed::new(&one.sql, Ty::Oid)),
            ("pg_database_oid", []) => Ok(Typed::new(DATABASE.to_string(), Ty::Oid)),
            _ => match self.array_call(name, values) {
                Some(value) => Ok(value),
                None => self.plain_call(name, values),
            },
        }
    }

    fn array_call(&mut self, name: &str, values: &[Typed]) -> Option<Typed> {
        let ty = values
            .iter()
            .map(|value| value.ty)
            .find(|ty| ty.is_array())
            .unwrap_or(Ty::Texts);
        Some(match (name, values) {
            ("array_to_string", [array, separator]) => Typed::new(
                format!("x_array_to_string({}, {}, NULL)", array.sql, separator.sql),
                Ty::Text,
            ),
            ("array_to_string", [array, separator, null]) => Typed::new(
                format!(
                    "x_array_to_string({}, {}, {})",
                    array.sql, separator.sql, null.sql
                ),
                Ty::Text,
            ),
            ("string_to_array", [whole, separator]) => Typed::new(
                format!("x_string_to_array({}, {})", whole.sql, separator.sql),
                Ty::Texts,
            ),
            ("array_length" | "array_upper", [array, _]) => {
                let last = i64::from(name == "array_upper" && array.ty == Ty::Vector);
                Typed::new(format!("(nullif(x_length({}), 0) - {last})", array.sql), Ty::Int4)
            }
            ("array_lower", [array, _]) => {
                let first = i64::from(array.ty != Ty::Vector);
                Typed::new(
                    format!("(CASE WHEN x_length({}) > 0 THEN {first} END)", array.sql),
                    Ty::Int4,
                )
            }
            ("cardinality", [array]) => Typed::new(format!("x_length({})", array.sql), Ty::Int4),
            ("array_cat", [left, right]) => {
                Typed::new(format!("x_array_cat({}, {})", left.sql, right.sql), ty)
            }
            ("array_append", [array, one]) => {
                Typed::new(format!("x_append({}, {})", array.sql, self.to_text(one)), ty)
            }
            ("array_prepend", [one, array]) => Typed::new(
                format!("x_array_cat(x_array({}), {})", self.to_text(one), array.sql),
                ty,
            ),
            ("array_position", [array, one]) => Typed::new(
                format!("x_position_in({}, {})", array.sql, self.to_text(one)),
                Ty::Int4,
            ),
            ("parse_ident", [name] | [name, _]) => {
                Typed::new(format!("x_parse_ident({})", name.sql), Ty::Texts)
            }
            ("json_build_object" | "jsonb_build_object", _) => {
                let mut list = Vec::new();
                for (at, value) in values.iter().enumerate() {
                    list.push(if at % 2 == 0 {
                        self.to_text(value)
                    } else {
                        self.to_json(value)
                    });
                }
                Typed::new(format!("x_text(json_object({}))", list.join(", ")), Ty::Json)
            }
            ("json_build_array" | "jsonb_build_array", _) => {
                let list: Vec<String> = values.iter().map(|value| self.to_json(value)).collect();
                Typed::new(format!("x_text(json_array({}))", list.join(", ")), Ty::Json)
            }
            ("to_json" | "to_jsonb" | "array_to_json", [value]) => {
                let value = self.to_json(value);
                Typed::new(format!("x_text(json_quote({value}))"), Ty::Json)
            }
            _ => return None,
        })
    }

    fn plain_call(&mut self, name: &str, values: &[Typed]) -> Result<Typed, Error> {
        let texts: Vec<String> = values.iter().map(|value| self.to_text(value)).collect();
        let all = texts.join(", ");
        let ty = values.iter().fold(Ty::Unknown, |ty, value| ty.or(value.ty));
        let (sql, ty) = match (name, texts.as_slice()) {
            ("coalesce" | "greatest" | "least", [_, ..]) => {
                let mut list = Vec::new();
                for value in values {
                    list.push(self.branch(value.clone(), ty)?);
                }
                let function = match (name, list.len()) {
                    (_, 1) => "",
                    ("coalesce", _) => "coalesce",
                    ("greatest", _) => "max",
                    _ => "min",
                };
                (format!("{function}({})", list.join(", ")), ty)
            }
            ("nullif", [_, _]) => {
                let second = self.fit(values[1].clone(), values[0].ty)?;
                (format!("nullif({}, {})", values[0].sql, second.sql), values[0].ty)
            }
            ("lower" | "upper", [_]) => (format!("{name}({all})"), Ty::Text),
            ("length" | "char_length" | "character_length", [_]) => (format!("length({all})"), Ty::Int4),
            ("octet_length", [_]) => (format!("octet_length({all})"), Ty::Int4),
            ("substring", [_, _]) if matches!(values[1].ty, Ty::Unknown | Ty::Text) => {
                (format!("x_regexp_substr({all})"), Ty::Text)
            }
            ("substr" | "substring", [whole, _]) => (format!("substr({whole}, {})", values[1].sql), Ty::Text),
            ("substr" | "substring", [whole, _, _]) => (
                format!("substr({whole}, {}, {})", values[1].sql, values[2].sql),
                Ty::Text,
            ),
            ("strpos" | "position", [_, _]) => (format!("x_strpos({all})"), Ty::Int4),
            ("btrim" | "ltrim" | "rtrim", [whole]) => (trimmed(whole, "' '", name), Ty::Text),
            ("btrim" | "ltrim" | "rtrim", [whole, characters]) => {
                (trimmed(whole, characters, name), Ty::Text)
            }
            ("replace" | "split_part", [_, _, _]) => (format!("x_{name}({all})"), Ty::Text),
            ("left" | "right" | "repeat", [whole, _]) => {
                (format!("x_{name}({whole}, {})", values[1].sql), Ty::Text)
            }
            ("regexp_replace", [_, _, _]) => (format!("x_regexp_replace({all}, '')"), Ty::Text),
            ("regexp_replace", [_, _, _, _]) => (format!("x_regexp_replace({all})"), Ty::Text),
            ("concat" | "concat_ws" | "format", [_, ..]) => (format!("x_{name}({all})"), Ty::Text),
            ("quote_ident" | "quote_literal", [_]) => (format!("x_{name}({all})"), Ty::Text),
            ("quote_nullable", [_]) => (format!("coalesce(x_quote_literal({all}), 'NULL')"), Ty::Text),
            ("chr", [_]) => (format!("char({})", values[0].sql), Ty::Text),
            ("ascii", [_]) => (format!("unicode({all})"), Ty::Int4),
            ("abs", [_]) => (format!("abs({})", values[0].sql), values[0].ty),
            ("round", [_]) => (format!("round({})", values[0].sql), Ty::Float8),
            ("round", [_, _]) => (format!("round({}, {})", values[0].sql, values[1].sql), Ty::Float8),
            ("mod", [_, _]) => (format!("({} % {})", values[0].sql, values[1].sql), values[0].ty),
            ("bool" | "text" | "name" | "varchar" | "bpchar" | "host", [one]) => match name {
                "bool" => return self.to_bool(values[0].clone()),
                "name" => (one.clone(), Ty::Name),
                _ => (one.clone(), Ty::Text),
            },
            ("to_char", [one, _]) => (one.clone(), Ty::Text),
            _ => {
                return Err(Error::new(
                    format!(
                        "function {name}() with {} arguments is not known in the system catalogs",
                        values.len()
                    ),
                    "ask a simpler query; functions over the data are for queries of the dataset's tables",
                ));
            }
        };
        Ok(Typed::new(sql, ty))
    }
}

/// A text without these characters at the ends that the function looks at.
pub(super) fn trimmed(whole: &str, characters: &str, function: &str) -> String {
    let ends = match function {
        "ltrim" => 1,
        "rtrim" => 2,
        _ => 0,
    };
    format!("x_trim({whole}, {characters}, {ends})")
}
