//! Which names an expression can see.

use super::super::Error;
use super::{Ty, Typed};

/// Something in `FROM`.
#[derive(Clone)]
pub(super) struct Item {
    /// The schema, where the client may name it: not after an alias.
    pub(super) schema: Option<String>,
    pub(super) name: String,
    pub(super) fields: Vec<Field>,
    /// The number of the relation, 0 for none.
    pub(super) oid: i64,
}

/// A column of it.
#[derive(Clone)]
pub(super) struct Field {
    pub(super) name: String,
    /// How SQLite calls it.
    pub(super) sql: String,
    pub(super) ty: Ty,
    /// Whether `USING` made it one with a column to the left.
    pub(super) merged: bool,
}

/// A query of `WITH`.
#[derive(Clone)]
pub(super) struct Common {
    pub(super) name: String,
    /// How SQLite calls it.
    pub(super) sql: String,
    pub(super) columns: Vec<(String, Ty)>,
}

/// What can be seen at one place, and from there outwards.
pub(super) struct Scope<'a> {
    parent: Option<&'a Scope<'a>>,
    pub(super) items: Vec<Item>,
    pub(super) commons: Vec<Common>,
}

impl<'a> Scope<'a> {
    pub(super) fn outermost() -> Self {
        Self {
            parent: None,
            items: Vec::new(),
            commons: Vec::new(),
        }
    }

    pub(super) fn inside(parent: &'a Scope<'a>) -> Self {
        Self {
            parent: Some(parent),
            items: Vec::new(),
            commons: Vec::new(),
        }
    }

    /// The query of `WITH` with this name.
    pub(super) fn common(&self, name: &str) -> Option<&Common> {
        let here = self.commons.iter().rev().find(|common| common.name == name);
        here.or_else(|| self.parent.and_then(|parent| parent.common(name)))
    }

    /// The column with this name, for example `oid`, `c.oid` or `pg_catalog.pg_class.oid`.
    pub(super) fn column(&self, parts: &[String]) -> Result<Option<Typed>, Error> {
        let Some((column, qualifier)) = parts.split_last() else {
            return Ok(None);
        };
        let mut found = None;
        for item in self.items.iter().filter(|item| item.is_called(qualifier)) {
            for field in item.fields.iter().filter(|field| field.name == *column) {
                if field.merged && qualifier.is_empty() {
                    continue;
                }
                if found.is_some() {
                    return Err(Error::new(
                        format!("column reference {column:?} is ambiguous"),
                        "write the table's name or alias before it",
                    ));
                }
                found = Some(Typed::new(&field.sql, field.ty));
            }
        }
        // The columns which every table of PostgreSQL has.
        if found.is_none() {
            let mut items = self
                .items
                .iter()
                .filter(|item| item.is_called(qualifier) && item.oid != 0);
            if let Some(item) = items.next() {
                found = match column.as_str() {
                    "xmin" | "xmax" => Some(Typed::new("'1'", Ty::Text)),
                    "tableoid" => Some(Typed::new(item.oid.to_string(), Ty::Oid)),
                    "ctid" => Some(Typed::new("'(0,1)'", Ty::Text)),
                    _ => None,
                };
            }
        }
        match (found, self.parent) {
            (Some(found), _) => Ok(Some(found)),
            (None, Some(parent)) => parent.column(parts),
            (None, None) => Ok(None),
        }
    }

    /// The item with this name.
    pub(super) fn item(&self, qualifier: &[String]) -> Option<&Item> {
        let here = self.items.iter().find(|item| item.is_called(qualifier));
        here.or_else(|| self.parent.and_then(|parent| parent.item(qualifier)))
    }
}

impl Item {
    /// Whether a qualifier means this item. No qualifier means every item.
    fn is_called(&self, qualifier: &[String]) -> bool {
        match qualifier {
            [] => true,
            [name] => *name == self.name,
            [schema, name] => *name == self.name && Some(schema) == self.schema.as_ref(),
            _ => false,
        }
    }
}
