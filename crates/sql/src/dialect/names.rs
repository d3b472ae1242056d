//! Names of columns in whatever case they are written.
//!
//! The engine's planner turns names without quotes into lower case, so a column that the catalog calls `Salary` would only be found in quotes. Here a name without quotes becomes the catalog's own, where all tables that have
//! such a column spell it alike; everywhere in the query, aliases too, so that what was equal stays equal. Where tables spell it differently, quotes say which is meant.

use super::on_a_large_stack;
use crate::Error;
use crate::catalog::Catalog;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, JoinConstraint, JoinOperator, ObjectNamePart, Query, Select, SelectItem, TableAlias,
    TableFactor, VisitMut, VisitorMut,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// Spells columns as the catalog does. Depends on the query and the catalog alone.
///
/// # Errors
/// When the system allows no further thread.
pub(crate) fn as_declared(query: &mut Query, catalog: &Catalog) -> Result<(), Error> {
    let mut names = Names {
        declared: spellings(catalog),
    };
    if names.declared.is_empty() {
        return Ok(());
    }
    on_a_large_stack(|| {
        let _ = query.visit(&mut names);
        Ok(())
    })
}

/// Names that are not in lower case, by what they are in lower case, where all tables agree.
fn spellings(catalog: &Catalog) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for table in catalog.tables.values() {
        for (name, _) in &table.columns {
            found.entry(name.to_lowercase()).or_default().insert(name);
        }
    }
    let one = |(lower, names): (String, BTreeSet<&str>)| match names.first() {
        Some(name) if names.len() == 1 && **name != lower => Some((lower, (*name).to_owned())),
        _ => None,
    };
    found.into_iter().filter_map(one).collect()
}

struct Names {
    declared: BTreeMap<String, String>,
}

impl Names {
    fn spell(&self, name: &mut Ident) {
        if name.quote_style.is_none()
            && let Some(declared) = self.declared.get(&name.value.to_lowercase())
        {
            name.value.clone_from(declared);
            name.quote_style = Some('"');
        }
    }

    fn spell_columns(&self, alias: &mut Option<TableAlias>) {
        let columns = alias.iter_mut().flat_map(|alias| &mut alias.columns);
        columns.for_each(|column| self.spell(&mut column.name));
    }

    fn spell_join(&self, join: &mut JoinOperator) {
        let (JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)) = join
        else {
            return;
        };
        if let JoinConstraint::Using(columns) = constraint {
            let last = columns.iter_mut().filter_map(|column| column.0.last_mut());
            for part in last {
                if let ObjectNamePart::Identifier(name) = part {
                    self.spell(name);
                }
            }
        }
    }
}

impl VisitorMut for Names {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let tables = query.with.iter_mut().flat_map(|with| &mut with.cte_tables);
        for column in tables.flat_map(|table| &mut table.alias.columns) {
            self.spell(&mut column.name);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                self.spell(alias);
            }
        }
        let joins = select.from.iter_mut().flat_map(|table| &mut table.joins);
        joins.for_each(|join| self.spell_join(&mut join.join_operator));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<()> {
        match table {
            TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. } => {
                self.spell_columns(alias);
            }
            TableFactor::NestedJoin {
                table_with_joins,
                alias,
            } => {
                let joins = table_with_joins.joins.iter_mut();
                joins.for_each(|join| self.spell_join(&mut join.join_operator));
                self.spell_columns(alias);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        match expression {
            Expr::Identifier(name) => self.spell(name),
            // What stands before the last dot is a table.
            Expr::CompoundIdentifier(parts) => {
                if let Some(name) = parts.last_mut() {
                    self.spell(name);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
