//! The names of relations and types, with their numbers.

use std::collections::{BTreeMap, BTreeSet};

use super::idents::{parse_ident, quote_ident};
use super::translate::Ty;
use super::{ColumnType, Error, Table};

/// The relations of PostgreSQL 15's two system schemas: number, kind, name, and the columns with their types,
/// `!` for not null.
const RELATIONS: &str = include_str!("data/relations.txt");
/// PostgreSQL 15's built-in types: the columns of `pg_type` after its name spaces and owners, and what
/// `format_type` says.
const TYPES: &str = include_str!("data/types.txt");

/// Functions of PostgreSQL 15: those which read and write the types, and those which are emulated here.
/// Number, name, type of the result, volatility, strictness, whether it gives rows, number of arguments,
/// their types.
const FUNCTIONS: &str = include_str!("data/functions.txt");

/// The number of the role that owns everything: a role that PostgreSQL has itself, whose name nobody can log
/// in with.
pub(super) const OWNER: i64 = 6_171;
/// Its name.
pub(super) const OWNER_NAME: &str = "pg_database_owner";
/// The number of the role that asks.
pub(super) const USER: i64 = 16_383;
/// The number of the database.
pub(super) const DATABASE: i64 = 16_384;
/// The number of the first table. Each takes five: itself, the array of its rows, its row type.
const FIRST_TABLE: i64 = 16_385;
/// The number of the schema `pg_catalog`.
pub(super) const PG_CATALOG: i64 = 11;
/// The number of the schema `public`.
pub(super) const PUBLIC: i64 = 2_200;
/// The number of the schema `information_schema`.
pub(super) const INFORMATION_SCHEMA: i64 = 13_207;
/// The number of the schema `releases`.
pub(super) const RELEASES: i64 = 16_382;
/// Its name.
pub(super) const RELEASES_NAME: &str = "releases";
/// The schemas with their numbers.
pub(super) const SCHEMAS: [(&str, i64); 5] = [
    ("pg_toast", 99),
    ("pg_catalog", PG_CATALOG),
    ("public", PUBLIC),
    ("information_schema", INFORMATION_SCHEMA),
    (RELEASES_NAME, RELEASES),
];

/// A relation of a system schema.
pub(super) struct Relation {
    pub(super) oid: i64,
    /// `r` for a table, `v` for a view.
    pub(super) kind: char,
    pub(super) schema: &'static str,
    pub(super) name: &'static str,
    pub(super) columns: Vec<RelationColumn>,
}

/// A column of a [`Relation`].
pub(super) struct RelationColumn {
    pub(super) name: &'static str,
    /// The name of its type in `pg_type`.
    pub(super) type_name: &'static str,
    pub(super) not_null: bool,
}

impl RelationColumn {
    /// The type that the translation works with.
    pub(super) fn ty(&self) -> Ty {
        match self.type_name {
            "bool" => Ty::Bool,
            "int2" => Ty::Int2,
            "int4" => Ty::Int4,
            "int8" => Ty::Int8,
            "oid" => Ty::Oid,
            "float4" | "float8" | "numeric" => Ty::Float8,
            "name" => Ty::Name,
            "char" => Ty::Char,
            "regproc" => Ty::RegProc,
            "regtype" => Ty::RegType,
            "int2vector" | "oidvector" => Ty::Vector,
            "_oid" | "_int2" | "_float4" | "_float8" | "_bool" => Ty::Ints,
            other if other.starts_with('_') || other == "anyarray" => Ty::Texts,
            _ => Ty::Text,
        }
    }
}

/// A built-in type.
pub(super) struct Type {
    pub(super) oid: i64,
    pub(super) name: &'static str,
    /// What `format_type` says.
    pub(super) title: String,
    /// The row of `pg_type` from `typname` on, as texts.
    pub(super) fields: Vec<&'static str>,
}

/// What a relation's name means.
pub(super) enum Found<'a> {
    /// A relation of a system schema.
    System(&'a Relation),
    /// A table that was released.
    Released(&'a Released),
    /// A name in a system schema which is not emulated.
    Missing,
    /// Anything else: a table of the dataset, or nothing.
    Other,
}

/// A table of the dataset, or one that was released.
pub(super) struct Named {
    pub(super) schema: &'static str,
    pub(super) name: String,
}

/// A table that was released, as SQLite has it: its own name never gets there.
pub(super) struct Released {
    pub(super) oid: i64,
    pub(super) name: String,
    /// Its name in SQLite.
    pub(super) sql_name: String,
    /// Its columns; in SQLite they are called `c1`, `c2` and so on.
    pub(super) columns: Vec<(String, Ty)>,
}

/// Everything that has a name.
pub(super) struct Names {
    pub(super) database: String,
    pub(super) relations: Vec<Relation>,
    pub(super) types: Vec<Type>,
    /// The functions, with their fields of `functions.txt`.
    pub(super) functions: Vec<(i64, Vec<&'static str>)>,
    /// The dataset's tables, and those that were released, in the order of their numbers.
    pub(super) tables: Vec<Named>,
    pub(super) released: Vec<Released>,
}

impl Names {
    pub(super) fn new(database: &str, tables: &[Table]) -> Result<Self, Error> {
        let mut seen = BTreeSet::new();
        let mut is_new = |table: &&Table| seen.insert((table.released.is_some(), table.name.clone()));
        if let Some(table) = tables.iter().find(|table| !is_new(table)) {
            return Err(Error::new(
                format!("there are two tables with the name {:?}", table.name),
                "give every table a name of its own",
            ));
        }
        Ok(Self {
            database: database.to_owned(),
            relations: RELATIONS.lines().filter_map(relation).collect(),
            types: TYPES.lines().filter_map(built_in_type).collect(),
            functions: FUNCTIONS.lines().filter_map(function).collect(),
            tables: tables.iter().map(named).collect(),
            released: tables.iter().enumerate().filter_map(released).collect(),
        })
    }

    /// Whether the schema `releases` has tables.
    pub(super) fn has_releases(&self) -> bool {
        !self.released.is_empty()
    }

    /// The table of the schema `releases` with this name.
    fn released(&self, name: &str) -> Option<&Released> {
        self.released.iter().find(|table| table.name == name)
    }

    /// Finds a relation by the parts of its name.
    pub(super) fn relation(&self, parts: &[String]) -> Found<'_> {
        let (schema, name) = match parts {
            [name] => (None, name),
            [schema, name] => (Some(schema.as_str()), name),
            [database, schema, name] if *database == self.database => (Some(schema.as_str()), name),
            _ => return Found::Other,
        };
        match schema {
            None => {
                let is_meant =
                    |table: &Named| table.schema == "public" && table.name.eq_ignore_ascii_case(name);
                if self.tables.iter().any(is_meant) {
                    return Found::Other;
                }
                match (self.system("pg_catalog", name), self.released(name)) {
                    (Some(relation), _) => Found::System(relation),
                    (None, Some(released)) => Found::Released(released),
                    (None, None) => Found::Other,
                }
            }
            Some(RELEASES_NAME) => self.released(name).map_or(Found::Missing, Found::Released),
            Some(schema @ ("pg_catalog" | "information_schema")) => {
                self.system(schema, name).map_or(Found::Missing, Found::System)
            }
            Some(_) => Found::Other,
        }
    }

    fn system(&self, schema: &str, name: &str) -> Option<&Relation> {
        self.relations
            .iter()
            .find(|relation| relation.schema == schema && relation.name == name)
    }

    /// The number of a function; 0 for `-`, which stands for none.
    pub(super) fn function(&self, name: &str) -> Option<i64> {
        let name = name.trim().split('(').next().unwrap_or_default().trim_end();
        let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
        if name == "-" {
            return Some(0);
        }
        let found = self
            .functions
            .iter()
            .find(|(_, fields)| fields.first() == Some(&name))
            .map(|(oid, _)| *oid);
        found.or_else(|| name.parse().ok())
    }

    /// What `regproc` writes for this number.
    pub(super) fn function_text(&self, oid: i64) -> String {
        let found = self
            .functions
            .iter()
            .find(|(number, _)| *number == oid)
            .and_then(|(_, fields)| fields.first());
        match found {
            Some(name) => (*name).to_owned(),
            None if oid == 0 => "-".to_owned(),
            None => oid.to_string(),
        }
    }

    /// The number of the table at this place of the list.
    pub(super) fn table_oid(place: usize) -> i64 {
        FIRST_TABLE + 5 * i64::try_from(place).unwrap_or(0)
    }

    /// The schema and the name of the relation with this number.
    pub(super) fn relation_of(&self, oid: i64) -> Option<(&str, &str)> {
        if oid >= FIRST_TABLE {
            let place = usize::try_from((oid - FIRST_TABLE) / 5).ok()?;
            let exact = (oid - FIRST_TABLE) % 5 == 0;
            return self
                .tables
                .get(place)
                .filter(|_| exact)
                .map(|table| (table.schema, table.name.as_str()));
        }
        self.relations
            .iter()
            .find(|relation| relation.oid == oid)
            .map(|relation| (relation.schema, relation.name))
    }

    /// What `regclass` writes for this number.
    pub(super) fn regclass_text(&self, oid: i64) -> String {
        match self.relation_of(oid) {
            Some(("information_schema", name)) => format!("information_schema.{}", quote_ident(name)),
            Some((_, name)) => quote_ident(name),
            None if oid == 0 => "-".to_owned(),
            None => oid.to_string(),
        }
    }

    /// The number that `regclass` finds for this text.
    pub(super) fn regclass(&self, text: &str) -> Option<i64> {
        if let Ok(oid) = text.trim().parse() {
            return Some(oid);
        }
        let parts = parse_ident(text)?;
        let (schema, name) = match parts.as_slice() {
            [name] => (None, name),
            [schema, name] => (Some(schema.as_str()), name),
            _ => return None,
        };
        let system = |schema: &str| self.system(schema, name).map(|relation| relation.oid);
        let ours = |schema: &str| {
            let is_meant = |table: &Named| table.schema == schema && table.name == *name;
            self.tables.iter().position(is_meant).map(Self::table_oid)
        };
        match schema {
            None => system("pg_catalog")
                .or_else(|| ours("public"))
                .or_else(|| ours(RELEASES_NAME)),
            Some(schema @ ("public" | RELEASES_NAME)) => ours(schema),
            Some(schema) => system(schema),
        }
    }

    /// The number that `regtype` finds for this text.
    pub(super) fn regtype(&self, text: &str) -> Option<i64> {
        let text = text.trim();
        if let Ok(oid) = text.parse() {
            return Some(oid);
        }
        let lower = text.to_lowercase();
        let lower = lower.strip_prefix("pg_catalog.").unwrap_or(&lower);
        let lower = lower
            .split_once('(')
            .map_or(lower, |(before, _)| before.trim_end());
        let name = match lower {
            "int" => "integer",
            "decimal" => "numeric",
            "float" => "double precision",
            "timestamp" => "timestamp without time zone",
            "timestamptz" => "timestamp with time zone",
            other => other,
        };
        let built_in = self
            .types
            .iter()
            .find(|one| one.name == name || one.title == name)
            .map(|one| one.oid);
        built_in.or_else(|| {
            let parts = parse_ident(text)?;
            let name = parts.last()?;
            self.tables
                .iter()
                .position(|table| table.name == *name)
                .map(|place| Self::table_oid(place) + 2)
        })
    }

    /// What `format_type` writes for this number.
    pub(super) fn format_type(&self, oid: i64, modifier: Option<i64>) -> String {
        if oid == 0 {
            return "-".to_owned();
        }
        if let Some(found) = self.types.iter().find(|one| one.oid == oid) {
            return match (found.name, modifier) {
                ("varchar" | "bpchar", Some(modifier)) if modifier > 4 => {
                    format!("{}({})", found.title, modifier - 4)
                }
                ("numeric", Some(modifier)) if modifier > 4 => {
                    format!(
                        "numeric({},{})",
                        (modifier - 4) >> 16 & 0xffff,
                        (modifier - 4) & 0x7ff
                    )
                }
                _ => found.title.clone(),
            };
        }
        if oid < FIRST_TABLE {
            return "???".to_owned();
        }
        match (oid - FIRST_TABLE) % 5 {
            2 if self.relation_of(oid - 2).is_some() => self.regclass_text(oid - 2),
            1 if self.relation_of(oid - 1).is_some() => format!("{}[]", self.regclass_text(oid - 1)),
            _ => "???".to_owned(),
        }
    }

    /// The schema with this number.
    pub(super) fn schema_of(oid: i64) -> Option<&'static str> {
        SCHEMAS
            .iter()
            .find(|(_, number)| *number == oid)
            .map(|(name, _)| *name)
    }

    /// The number of the schema with this name.
    pub(super) fn schema(name: &str) -> Option<i64> {
        let parts = parse_ident(name)?;
        SCHEMAS
            .iter()
            .find(|(schema, _)| parts.len() == 1 && *schema == parts[0])
            .map(|(_, oid)| *oid)
    }

    /// The numbers of the types by their names.
    pub(super) fn type_numbers(&self) -> BTreeMap<&'static str, i64> {
        self.types.iter().map(|one| (one.name, one.oid)).collect()
    }
}

/// The name in `pg_type` of the type of a column of the dataset.
pub(super) fn type_name(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::Bool => "bool",
        ColumnType::Int8 => "int8",
        ColumnType::Float8 => "float8",
        ColumnType::Text => "text",
        ColumnType::Date => "date",
        ColumnType::Timestamp => "timestamp",
    }
}

fn named(table: &Table) -> Named {
    Named {
        schema: match table.released {
            None => "public",
            Some(_) => RELEASES_NAME,
        },
        name: table.name.clone(),
    }
}

fn released((place, table): (usize, &Table)) -> Option<Released> {
    table.released.as_ref()?;
    let columns = table.columns.iter().map(|column| {
        let ty = match column.kind {
            ColumnType::Bool => Ty::Bool,
            ColumnType::Int8 => Ty::Int8,
            ColumnType::Float8 => Ty::Float8,
            ColumnType::Text | ColumnType::Date | ColumnType::Timestamp => Ty::Text,
        };
        (column.name.clone(), ty)
    });
    Some(Released {
        oid: Names::table_oid(place),
        name: table.name.clone(),
        sql_name: format!("{RELEASES_NAME}.t{place}"),
        columns: columns.collect(),
    })
}

fn relation(line: &'static str) -> Option<Relation> {
    let mut words = line.split(' ');
    let oid = words.next()?.parse().ok()?;
    let kind = words.next()?.chars().next()?;
    let (schema, name) = words.next()?.split_once('.')?;
    let columns = words
        .filter_map(|word| {
            let (name, type_name) = word.split_once(':')?;
            let stripped = type_name.strip_suffix('!');
            Some(RelationColumn {
                name,
                type_name: stripped.unwrap_or(type_name),
                not_null: stripped.is_some(),
            })
        })
        .collect();
    Some(Relation {
        oid,
        kind,
        schema,
        name,
        columns,
    })
}

fn function(line: &'static str) -> Option<(i64, Vec<&'static str>)> {
    let (oid, rest) = line.split_once(' ')?;
    Some((oid.parse().ok()?, rest.split(' ').collect()))
}

fn built_in_type(line: &'static str) -> Option<Type> {
    let mut fields: Vec<&str> = line.split(' ').collect();
    let title = fields.pop()?.replace('~', " ");
    let oid = fields.first()?.parse().ok()?;
    fields.remove(0);
    Some(Type {
        oid,
        name: fields.first()?,
        title,
        fields,
    })
}
