//! Which columns there are.

use crate::Facts;
use datafusion::common::Column;
use datafusion::common::TableReference;

/// The columns that an expression may use. In the engine each has exactly the type of its kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// Whose column it is, its name, and what is known of it.
    pub(crate) columns: Vec<(Option<TableReference>, String, Facts)>,
}

impl Scope {
    /// What is known of a column; `None` when there is none of that name, or several.
    pub(crate) fn find(&self, column: &Column) -> Option<&Facts> {
        let matches = |relation: &Option<TableReference>| match (&column.relation, relation) {
            (None, _) => true,
            (Some(wanted), Some(relation)) => wanted == relation || wanted.resolved_eq(relation),
            (Some(_), None) => false,
        };
        let mut found = self
            .columns
            .iter()
            .filter(|(relation, name, _)| *name == column.name && matches(relation));
        let (_, _, facts) = found.next()?;
        found.next().is_none().then_some(facts)
    }
}
