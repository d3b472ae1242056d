//! Names of columns and tables in queries, in whatever case they are written.
//!
//! The engine's planner turns every name without quotes into lower case, and finds a column `Age` only as `"Age"`. Here a name without quotes that differs from a declared column in case alone becomes that
//! column's name. It becomes so wherever it stands, as an alias too, so that names that were equal stay equal. A name in quotes means what it says, so where a query writes
//! the name in lower case and in quotes, nothing is changed about it. Tables are found in any case, in quotes or not. All of it depends on the query and the catalog.

use crate::catalog::Catalog;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, JoinConstraint, JoinOperator, ObjectName, ObjectNamePart, Query, Select, SelectItem,
    SetExpr, TableAlias, TableFactor, VisitMut, VisitorMut,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// Writes the names of a query as the catalog does. Returns the columns of its result that the query calls otherwise, by the name that they have now.
pub(crate) fn respell(query: &mut Query, catalog: &Catalog) -> BTreeMap<String, String> {
    let mut seen = Seen::default();
    let _ = query.visit(&mut seen);
    let mut spelling = Spelling {
        columns: BTreeMap::new(),
        seen,
        catalog,
    };
    for table in spelling
        .seen
        .relations
        .iter()
        .filter_map(|name| catalog.table(name))
    {
        for (column, _) in &table.columns {
            let spellings = spelling.columns.entry(column.to_lowercase()).or_default();
            if !spellings.contains(column) {
                spellings.push(column.clone());
            }
        }
    }
    let mut called = BTreeMap::new();
    if let SetExpr::Select(select) = query.body.as_ref() {
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item
                && let Some(declared) = spelling.declared(alias)
            {
                called.insert(declared, alias.value.to_ascii_lowercase());
            }
        }
    }
    let _ = query.visit(&mut spelling);
    called
}

/// What a query mentions.
#[derive(Default)]
struct Seen {
    /// Relations, in lower case.
    relations: BTreeSet<String>,
    /// What it calls relations itself, as written.
    aliases: BTreeSet<String>,
    /// Names in quotes.
    quoted: BTreeSet<String>,
}

impl Seen {
    fn name(&mut self, name: &Ident) {
        if name.quote_style.is_some() {
            self.quoted.insert(name.value.clone());
        }
    }

    fn alias(&mut self, alias: &TableAlias) {
        self.aliases.insert(alias.name.value.clone());
        for column in &alias.columns {
            self.name(&column.name);
        }
    }
}

impl VisitorMut for Seen {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        for table in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.alias(&table.alias);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                self.name(alias);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let Some(alias) = alias_of(factor) {
            self.alias(alias);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<()> {
        if let Some(name) = last(relation) {
            self.relations.insert(name.value.to_lowercase());
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        match expression {
            Expr::Identifier(name) => self.name(name),
            Expr::CompoundIdentifier(parts) => parts.iter().for_each(|part| self.name(part)),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// How names are to be written.
struct Spelling<'c> {
    /// Declared names of columns of the tables that are mentioned, by their lower case.
    columns: BTreeMap<String, Vec<String>>,
    seen: Seen,
    catalog: &'c Catalog,
}

impl Spelling<'_> {
    /// The declared column that this name means, where the planner would not find it.
    fn declared(&self, name: &Ident) -> Option<String> {
        let found_as = name.value.to_ascii_lowercase();
        if name.quote_style.is_some() || self.seen.quoted.contains(&found_as) {
            return None;
        }
        let spellings = self.columns.get(&name.value.to_lowercase())?;
        if spellings.contains(&found_as) {
            return None;
        }
        let exact = spellings.iter().find(|spelling| **spelling == name.value);
        match (exact, spellings.as_slice()) {
            (Some(exact), _) => Some(exact.clone()),
            (None, [only]) => Some(only.clone()),
            (None, _) => None,
        }
    }

    fn column(&self, name: &mut Ident) {
        if let Some(declared) = self.declared(name) {
            name.value = declared;
            name.quote_style = Some('"');
        }
    }

    /// A table that is written in quotes, which the planner would look for in that case.
    fn table(&self, name: &mut Ident) {
        let lower = name.value.to_lowercase();
        let declared = self.catalog.tables.contains_key(&lower) && !self.seen.aliases.contains(&name.value);
        if declared && name.value != lower {
            name.value = lower;
            name.quote_style = Some('"');
        }
    }

    fn alias(&self, alias: &mut TableAlias) {
        for column in &mut alias.columns {
            self.column(&mut column.name);
        }
    }
}

impl VisitorMut for Spelling<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        for table in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            self.alias(&mut table.alias);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                self.column(alias);
            }
        }
        for join in select.from.iter_mut().flat_map(|table| &mut table.joins) {
            for name in using(&mut join.join_operator) {
                if let Some(ObjectNamePart::Identifier(name)) = name.0.last_mut() {
                    self.column(name);
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let Some(alias) = alias_of(factor) {
            self.alias(alias);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<()> {
        if let Some(name) = last(relation) {
            self.table(name);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        match expression {
            Expr::Identifier(name) => self.column(name),
            Expr::CompoundIdentifier(parts) => {
                if let Some((name, before)) = parts.split_last_mut() {
                    self.column(name);
                    before.iter_mut().for_each(|part| self.table(part));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn last(name: &mut ObjectName) -> Option<&mut Ident> {
    match name.0.last_mut() {
        Some(ObjectNamePart::Identifier(name)) => Some(name),
        _ => None,
    }
}

fn alias_of(factor: &mut TableFactor) -> Option<&mut TableAlias> {
    match factor {
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::NestedJoin { alias, .. } => alias.as_mut(),
        _ => None,
    }
}

/// The columns that a join is USING.
fn using(operator: &mut JoinOperator) -> &mut [ObjectName] {
    match operator {
        JoinOperator::Join(JoinConstraint::Using(names))
        | JoinOperator::Inner(JoinConstraint::Using(names))
        | JoinOperator::Left(JoinConstraint::Using(names))
        | JoinOperator::LeftOuter(JoinConstraint::Using(names))
        | JoinOperator::Right(JoinConstraint::Using(names))
        | JoinOperator::RightOuter(JoinConstraint::Using(names))
        | JoinOperator::FullOuter(JoinConstraint::Using(names)) => names,
        _ => &mut [],
    }
}
