//! What the catalog says of the scans of a plan, for whoever verifies it. A scan has the name of its table (`sources::typed_scan`), and nothing else is known of it.

use crate::Error;
use crate::catalog::{Catalog, Owner, Table};
use crate::sources;
use bound::operators::{Operator, operator};
use datafusion::physical_plan::ExecutionPlan;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use verify::{Defect, Leaf, Naming};

/// The declared tables, and public rows that were read before the charge.
pub(crate) struct Facts(BTreeMap<String, Leaf>);

impl Facts {
    /// `held`: the names of public rows that are held in memory, and the columns in which no two of them agree.
    pub(crate) fn new<'p>(
        catalog: &Catalog,
        held: impl Iterator<Item = (String, &'p [BTreeSet<String>])>,
    ) -> Self {
        let public = |keys: &[BTreeSet<String>]| Leaf::Public {
            unique: keys.to_vec(),
        };
        let mut leaves: BTreeMap<String, Leaf> = held.map(|(name, keys)| (name, public(keys))).collect();
        // What is declared comes later, so that nothing private is ever taken for what was read.
        let declared = catalog.tables.iter();
        leaves.extend(declared.map(|(name, table)| (name.clone(), leaf(name, table, Some(catalog)))));
        Self(leaves)
    }

    /// One table, by itself.
    pub(crate) fn of_table(name: &str, table: &Table) -> Self {
        Self(BTreeMap::from([(name.to_owned(), leaf(name, table, None))]))
    }

    /// What is said of a scan.
    pub(crate) fn leaf(&self, plan: &Arc<dyn ExecutionPlan>) -> Option<Leaf> {
        match operator(plan.as_ref()) {
            Some(Operator::Label(name)) => self.0.get(name).cloned(),
            _ => None,
        }
    }
}

/// What the catalog says of a table.
fn leaf(name: &str, table: &Table, catalog: Option<&Catalog>) -> Leaf {
    let key_of = |table: &str, key: &str| format!("{table}.{key}");
    let owner = match &table.owner {
        Owner::Public => return Leaf::Public { unique: Vec::new() },
        Owner::EachRow => Naming::EachRow,
        Owner::Column(column) => Naming::Column(column.clone()),
        Owner::Through { column, table, key } => Naming::Through {
            column: column.clone(),
            key: key_of(table, key),
        },
    };
    let others = catalog.into_iter().flat_map(|catalog| catalog.tables.values());
    let led_here = others.filter_map(|other| match &other.owner {
        Owner::Through { table, key, .. } if table == name => Some((key.clone(), key_of(name, key))),
        _ => None,
    });
    let keys: BTreeMap<String, String> = led_here.collect();
    Leaf::Private {
        owner,
        rows: table.rows_per_unit,
        keys: keys.into_iter().collect(),
    }
}

/// A plan that could not be verified, before the charge. Where in it, the curator finds among the incidents.
pub(crate) fn unverified(defect: Defect) -> Error {
    let _ = sources::incident("a plan", format!("{defect}\n{}", defect.at));
    Error::Unverified(defect)
}

/// A plan that was made after the charge, and could not be verified.
pub(crate) fn too_late(defect: Defect) -> Error {
    sources::incident("the tables", format!("{defect}\n{defect:?}"))
}
