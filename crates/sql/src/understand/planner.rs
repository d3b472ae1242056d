//! From SQL to a logical plan, by the engine's own planner over tables that are not there: nothing is read.

use crate::catalog::{Catalog, Table};
use crate::understand::dialect::{self, Read, SelectOptions};
use crate::understand::groupings::Groupings;
use crate::understand::mistakes::unplannable;
use crate::understand::unstated::LimitsFound;
use crate::understand::{mistakes, series, spelling, today};
use crate::{Error, Kind};
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::catalog::default_table_source::provider_as_source;
use datafusion::datasource::empty::EmptyTable;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, VisitMut as _, VisitorMut};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// A query as the engine's planner understands it.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) plan: LogicalPlan,
    pub(crate) said: Said,
}

/// What decides how a query is bounded, beside its plan.
#[derive(Debug)]
pub(crate) struct Said {
    /// The options of its SELECTs.
    pub(crate) selects: Vec<SelectOptions>,
    /// Expressions for which the catalog states limits.
    pub(crate) groupings: Arc<Groupings>,
    /// Limits that were found for what it groups by.
    pub(crate) found: Option<LimitsFound>,
}

/// The columns that a query may name.
pub(crate) fn schema(table: &Table) -> SchemaRef {
    let fields: Vec<Field> = table
        .columns
        .iter()
        .map(|(name, facts)| Field::new(name, Kind::data_type(facts.kind), true))
        .collect();
    Arc::new(Schema::new(fields))
}

/// The scan of a declared table, before anybody knows where its rows are.
pub(crate) fn scan(name: &str, table: &Table) -> Result<LogicalPlan, Error> {
    let source = provider_as_source(Arc::new(EmptyTable::new(schema(table))));
    LogicalPlanBuilder::scan(name, source, None)
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)
}

/// The engine's planner, with the tables' shapes and no rows.
pub(crate) struct Planner {
    session: SessionContext,
    groupings: OnceCell<Arc<Groupings>>,
}

impl Planner {
    /// A planner that knows the tables of a catalog.
    pub(crate) fn new(catalog: &Catalog) -> Result<Self, Error> {
        let mut config = SessionConfig::new();
        // Names without quotes are lower case, but for those that `spelling` has found in the catalog.
        config.options_mut().sql_parser.enable_ident_normalization = true;
        let session = SessionContext::new_with_config(config);
        for (name, table) in &catalog.tables {
            session
                .register_table(
                    datafusion::common::TableReference::bare(name.clone()),
                    Arc::new(EmptyTable::new(schema(table))),
                )
                .map_err(unplannable)?;
        }
        let (scalar, aggregate) = dialect::marker_functions();
        for function in scalar {
            session.register_udf(function);
        }
        for function in aggregate {
            session.register_udaf(function);
        }
        Ok(Self {
            session,
            groupings: OnceCell::new(),
        })
    }

    /// Expressions for which the catalog states limits.
    async fn groupings(&self, catalog: &Catalog) -> Arc<Groupings> {
        let planned = async {
            let mut groupings = Groupings::default();
            for (key, sql) in Groupings::candidates(catalog) {
                if let Ok((plan, _)) = self.planned(&sql, catalog).await {
                    groupings.add(key, &plan);
                }
            }
            Arc::new(groupings)
        };
        self.groupings.get_or_init(|| planned).await.clone()
    }

    /// Plans a query.
    pub(crate) async fn plan(&self, sql: &str, catalog: &Catalog) -> Result<Planned, Error> {
        let (plan, selects) = self.planned(sql, catalog).await?;
        let groupings = self.groupings(catalog).await;
        Ok(Planned {
            plan,
            said: Said {
                selects,
                groupings,
                found: None,
            },
        })
    }

    async fn planned(
        &self,
        sql: &str,
        catalog: &Catalog,
    ) -> Result<(LogicalPlan, Vec<SelectOptions>), Error> {
        let Read {
            mut query,
            selects,
            headings,
        } = dialect::read(sql)?;
        check_columns(&mut query)?;
        today::write(&mut query, catalog)?;
        series::write_out(&mut query)?;
        let called = spelling::respell(&mut query, catalog);
        let statement = Statement::Statement(Box::new(ast::Statement::Query(query.clone())));
        let planned = self.session.state().statement_to_plan(statement).await;
        let plan = planned.map_err(|error| mistakes::explained(&error, &query, catalog))?;
        let plan = as_called(plan, &called, headings).map_err(unplannable)?;
        Ok((plan, selects))
    }
}

/// How many columns the SELECTs of a query list, all together. The engine's planner finds each column among all others, so its work grows with their square.
const MOST_COLUMNS: usize = 1200;

/// Refuses a query that lists more columns than are planned in reasonable time.
fn check_columns(query: &mut ast::Query) -> Result<(), Error> {
    struct Columns(usize);
    impl VisitorMut for Columns {
        type Break = ();

        fn pre_visit_select(&mut self, select: &mut ast::Select) -> ControlFlow<()> {
            self.0 += select.projection.len();
            ControlFlow::Continue(())
        }
    }
    let mut columns = Columns(0);
    let _ = query.visit(&mut columns);
    if columns.0 > MOST_COLUMNS {
        return Err(Error::refused(
            format!(
                "the SELECTs of this query list {} columns, and at most {MOST_COLUMNS} are planned at once",
                columns.0
            ),
            "ask for fewer columns at once, in several queries",
        ));
    }
    Ok(())
}

/// The result with its columns as the query calls them, where `spelling` wrote them otherwise, or the engine made up a name for an expression without one.
fn as_called(
    plan: LogicalPlan,
    called: &BTreeMap<String, String>,
    headings: Vec<Option<String>>,
) -> Result<LogicalPlan, datafusion::error::DataFusionError> {
    let columns = plan.schema().columns();
    // Where a star stands for columns, nobody knows which heading is whose.
    let headings = if headings.len() == columns.len() {
        headings
    } else {
        vec![None; columns.len()]
    };
    let names = columns.iter().zip(headings).map(|(column, heading)| {
        let spelled = called.get(&column.name).filter(|_| column.relation.is_none());
        let engines = mistakes::names_a_constant(&column.name).then(|| mistakes::readable(&column.name));
        heading.or_else(|| spelled.cloned()).or(engines)
    });
    let names = dialect::distinguished(names.collect(), &columns);
    if names.iter().all(Option::is_none) {
        return Ok(plan);
    }
    let columns: Vec<Expr> = columns
        .into_iter()
        .zip(names)
        .map(|(column, name)| match name {
            Some(name) => Expr::Column(column).alias(name),
            None => Expr::Column(column),
        })
        .collect();
    LogicalPlanBuilder::from(plan).project(columns)?.build()
}
