//! Answers statements in the simple protocol.

use super::catalogs::Catalogs;
use super::connection::Connection;
use super::cursors::{self, Cursor};
use super::parameters::Columns;
use super::released::Released;
use super::shown::{Outcome, Shown, Table, respond};
use super::sign_in::reported;
use super::statement::{Statement, understand};
use super::system::System;
use super::text;
use super::values::{self, Column};
use crate::failure::{Code, Failure};
use crate::service::Service;
use async_trait::async_trait;
use futures::Sink;
use pgwire::api::query::SimpleQueryHandler;
use pgwire::api::results::{FieldFormat, Response, Tag};
use pgwire::api::store::PortalStore;
use pgwire::api::{ClientInfo, ClientPortalStore, Type};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::PgWireBackendMessage;
use sql::Answered;
use std::fmt::Debug;
use std::sync::Arc;

/// Statements of one message at most.
const MOST_STATEMENTS: usize = 1000;

/// Answers statements.
pub(super) struct Handler {
    pub(super) service: Arc<Service>,
    pub(super) catalogs: Arc<Catalogs>,
    pub(super) columns: Arc<Columns>,
    pub(super) released: Arc<Released>,
}

pub(super) fn failed(failure: Failure) -> PgWireError {
    reported(&failure, "ERROR")
}

pub(super) fn connection(client: &impl ClientInfo) -> PgWireResult<Arc<Connection>> {
    client
        .session_extensions()
        .get::<Connection>()
        .ok_or(PgWireError::NotReadyForQuery)
}

impl Handler {
    pub(super) fn new(service: Arc<Service>, system: System) -> Self {
        let columns = Columns::of(service.dataset().catalog());
        Self {
            service,
            catalogs: Arc::new(Catalogs::new(system)),
            columns: Arc::new(columns),
            released: Arc::default(),
        }
    }

    /// Has the tables that were released by now among those of the system catalogs.
    pub(super) async fn refresh(&self) {
        Released::refresh(&self.released, &self.service, &self.catalogs).await;
    }

    /// Runs one statement whose parameters are bound. What it closes is removed from the store of statements
    /// and portals.
    pub(super) async fn run(
        &self,
        connection: &Connection,
        store: &impl PortalStore,
        statement: &Statement,
    ) -> Result<Outcome, Failure> {
        let done = |tag: &str| Outcome::Done(Response::Execution(Tag::new(tag)), None);
        Ok(match statement {
            Statement::Select(sql) => Outcome::Rows(self.select(connection, sql).await?),
            Statement::Copy { select, format } => {
                Outcome::Copy(self.select(connection, select).await?, *format)
            }
            Statement::Declare { name, select, hold } => {
                let reserved = connection.held().reserve_cursor(name, *hold)?;
                let Shown { table, notice } = self.select(connection, select).await?;
                let cursor = Cursor::new(table, *hold)?;
                connection.held().keep_cursor(name.clone(), cursor, reserved);
                Outcome::Done(Response::Execution(Tag::new("DECLARE CURSOR")), notice)
            }
            Statement::Fetch(motion, name) => {
                let mut held = connection.held();
                let cursor = held.cursor(name).ok_or_else(|| cursors::missing(name))?;
                let places = cursor.go(*motion);
                Outcome::Fetched(Arc::clone(cursor.table()), places)
            }
            Statement::Move(motion, name) => {
                let mut held = connection.held();
                let cursor = held.cursor(name).ok_or_else(|| cursors::missing(name))?;
                let passed = cursor.go(*motion).len();
                Outcome::Done(Response::Execution(Tag::new("MOVE").with_rows(passed)), None)
            }
            Statement::Close(name) => {
                let closed = connection.held().close_cursor(name.as_deref());
                match name {
                    Some(name) if !closed => return Err(cursors::missing(name)),
                    Some(_) => done("CLOSE CURSOR"),
                    None => done("CLOSE CURSOR ALL"),
                }
            }
            Statement::Deallocate(Some(name)) => {
                connection.held().close_statement(name);
                store.rm_statement(name);
                done("DEALLOCATE")
            }
            Statement::Deallocate(None) => {
                deallocate_all(connection, store);
                done("DEALLOCATE ALL")
            }
            Statement::DiscardAll => {
                *connection.settings() = Default::default();
                deallocate_all(connection, store);
                store.clear_portals();
                let mut held = connection.held();
                held.close_portals();
                held.close_cursor(None);
                done("DISCARD ALL")
            }
            Statement::Set { name, value } => {
                connection.settings().set(name, value.as_deref())?;
                done("SET")
            }
            Statement::ResetAll => {
                *connection.settings() = Default::default();
                done("RESET")
            }
            Statement::Show(name) => {
                let rows = vec![vec![Some(connection.settings().show(name)?)]];
                Outcome::Rows(Shown {
                    table: Table::new(setting(name), rows, &connection.room)?,
                    notice: None,
                })
            }
            Statement::Begin => {
                connection.held().begin();
                Outcome::Done(
                    Response::TransactionStart(Tag::new("BEGIN")),
                    Some(
                        "there are no transactions here: what is charged stays charged, whatever is rolled back"
                            .to_owned(),
                    ),
                )
            }
            Statement::Commit => {
                end_transaction(connection, store);
                Outcome::Done(Response::TransactionEnd(Tag::new("COMMIT")), None)
            }
            Statement::Rollback => {
                end_transaction(connection, store);
                Outcome::Done(
                    Response::TransactionEnd(Tag::new("ROLLBACK")),
                    Some("nothing that was charged is given back".to_owned()),
                )
            }
            Statement::RollbackTo => Outcome::Done(Response::TransactionStart(Tag::new("ROLLBACK")), None),
            Statement::Nothing(tag) => done(tag),
        })
    }

    /// Answers a query: from the catalog if it asks the catalog, else privately.
    async fn select(&self, connection: &Connection, sql: &str) -> Result<Shown, Failure> {
        let who = self.service.still_signed_in(&connection.who).await?;
        self.refresh().await;
        if let Some(answer) = self.catalogs.query(who.name(), sql).await? {
            let columns = answer.columns.into_iter().map(Into::into).collect();
            return Ok(Shown {
                table: Table::new(columns, answer.rows, &connection.room)?,
                notice: None,
            });
        }
        let settings = connection.settings().clone();
        let answered = self.service.ask(&who, &settings.question(sql), None).await?;
        let columns = values::columns(&answered.answer.columns, settings.intervals);
        let rows = values::rows(&answered.answer, settings.intervals);
        Ok(Shown {
            table: Table::new(columns, rows, &connection.room)?,
            notice: cost(&answered),
        })
    }

    /// The columns that a statement will have, without running it. Plans and prices, and charges nothing.
    pub(super) async fn columns(
        &self,
        connection: &Connection,
        statement: &Statement,
    ) -> Result<Option<Vec<Column>>, Failure> {
        match statement {
            Statement::Select(sql) => {
                let who = self.service.still_signed_in(&connection.who).await?;
                self.refresh().await;
                if let Some(columns) = self.catalogs.columns(who.name(), sql).await? {
                    return Ok(Some(columns.into_iter().map(Into::into).collect()));
                }
                let settings = connection.settings().clone();
                let columns = self.service.columns(&who, &settings.question(sql)).await?;
                Ok(Some(values::columns(&columns, settings.intervals)))
            }
            Statement::Fetch(_, name) => {
                let mut held = connection.held();
                let cursor = held.cursor(name).ok_or_else(|| cursors::missing(name))?;
                Ok(Some(cursor.table().columns.clone()))
            }
            Statement::Show(name) => Ok(Some(setting(name))),
            _ => Ok(None),
        }
    }
}

/// The column of a setting.
fn setting(name: &str) -> Vec<Column> {
    vec![Column {
        name: name.to_owned(),
        kind: Type::TEXT,
    }]
}

fn deallocate_all(connection: &Connection, store: &impl PortalStore) {
    for name in connection.held().close_statements() {
        store.rm_statement(&name);
    }
}

fn end_transaction(connection: &Connection, store: &impl PortalStore) {
    connection.held().end();
    store.clear_portals();
}

/// What an answer cost, for a NOTICE.
fn cost(answered: &Answered) -> Option<String> {
    let cost = answered.answer.cost.as_ref()?;
    let left = &answered.left.epsilon;
    let paid = match answered.repeated {
        true => format!(
            "this was released before, under charge {}, and costs nothing",
            cost.charge
        ),
        false => format!("charge {}: {}", cost.charge, cost.guarantee),
    };
    let mut lines = vec![format!("{paid}; left: ε = {left} (if spent in one more query)")];
    lines.extend(answered.answer.notes.iter().cloned());
    Some(lines.join("\n"))
}

#[async_trait]
impl SimpleQueryHandler for Handler {
    async fn do_query<C>(&self, client: &mut C, query: &str) -> PgWireResult<Vec<Response>>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let connection = connection(client)?;
        let statements = text::statements(query)
            .iter()
            .map(|sql| understand(sql))
            .collect::<Result<Vec<_>, _>>()
            .map_err(failed)?;
        if statements.len() > MOST_STATEMENTS {
            return Err(failed(Failure::new(
                Code::TooLarge,
                "a message may hold 1,000 statements",
                "send them in several messages",
            )));
        }
        // One message that asks several questions would be charged for some of them when a later one is
        // refused.
        let selects: Vec<String> = statements
            .iter()
            .filter_map(|statement| statement.select().map(str::to_owned))
            .collect();
        if selects.len() > 1 {
            self.refresh().await;
            let questions = self.catalogs.count_others(connection.who.name(), selects).await;
            if questions.map_err(failed)? > 1 {
                return Err(failed(Failure::new(
                    Code::Refused,
                    "a message may hold one question",
                    "send the questions one after the other; nothing was charged",
                )));
            }
        }
        if statements.is_empty() {
            return Ok(vec![Response::EmptyQuery]);
        }
        let mut responses = Vec::new();
        for statement in &statements {
            let outcome = self.run(&connection, client.portal_store(), statement).await;
            let outcome = outcome.map_err(failed)?;
            responses.push(respond(client, outcome, |_| FieldFormat::Text).await?);
        }
        Ok(responses)
    }
}
