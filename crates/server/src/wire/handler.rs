//! Answers statements, in the simple and in the extended protocol.

use super::sign_in::{Connection, reported};
use super::statement::{CopyFormat, Statement, understand};
use super::catalogs::Catalogs;
use super::system::System;
use super::values::{self, Column, Value};
use super::{copies, text};
use crate::failure::{Code, Failure};
use crate::service::{Identity, MOST_BYTES_OF_SQL, Service};
use async_trait::async_trait;
use bytes::BytesMut;
use futures::{Sink, SinkExt as _, stream};
use pgwire::api::portal::{Format, Portal};
use pgwire::api::query::{ExtendedQueryHandler, SimpleQueryHandler};
use pgwire::api::results::{
    DescribePortalResponse, DescribeResponse as _, DescribeStatementResponse, FieldFormat, FieldInfo,
    QueryResponse, Response, Tag,
};
use pgwire::api::stmt::{QueryParser, StoredStatement};
use pgwire::api::store::{Entry, PortalStore};
use pgwire::api::{ClientInfo, ClientPortalStore, DEFAULT_NAME, Type};
use pgwire::error::{ErrorInfo, PgWireError, PgWireResult};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::data::DataRow;
use pgwire::messages::extendedquery::{
    Bind, BindComplete, Close, CloseComplete, Parse, ParseComplete, TARGET_TYPE_BYTE_STATEMENT,
};
use pgwire::messages::response::NoticeResponse;
use sql::Answered;
use std::fmt::Debug;
use std::sync::{Arc, PoisonError};

/// Parameters of a statement at most.
const MOST_PARAMETERS: usize = 1000;
/// Statements and portals that a connection may hold, and bytes of them.
const MOST_HELD: usize = 256;
const MOST_BYTES_HELD: usize = 8 << 20;

/// Answers statements.
pub(super) struct Handler {
    service: Arc<Service>,
    catalogs: Catalogs,
}

/// A table that leaves: what a query answers.
struct Shown {
    columns: Vec<Column>,
    rows: Vec<Vec<Value>>,
    /// What is said beside it.
    notice: Option<String>,
}

/// What came of a statement, before it is written.
enum Outcome {
    Rows(Shown),
    Copy(Shown, CopyFormat),
    Done(Response, Option<String>),
}

fn failed(failure: Failure) -> PgWireError {
    reported(&failure, "ERROR")
}

fn connection(client: &impl ClientInfo) -> PgWireResult<Arc<Connection>> {
    client
        .session_extensions()
        .get::<Connection>()
        .ok_or(PgWireError::NotReadyForQuery)
}

impl Handler {
    pub(super) fn new(service: Arc<Service>, system: System) -> Self {
        Self {
            service,
            catalogs: Catalogs::new(system),
        }
    }

    /// Runs one statement whose parameters are bound.
    async fn run(&self, connection: &Connection, statement: &Statement) -> Result<Outcome, Failure> {
        let done = |tag: &str| Outcome::Done(Response::Execution(Tag::new(tag)), None);
        let settings = || connection.settings.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(match statement {
            Statement::Select(sql) => Outcome::Rows(self.select(connection, sql).await?),
            Statement::Copy { select, format } => {
                Outcome::Copy(self.select(connection, select).await?, *format)
            }
            Statement::Set { name, value } => {
                settings().set(name, value.as_deref())?;
                done("SET")
            }
            Statement::ResetAll => {
                *settings() = Default::default();
                done("RESET")
            }
            Statement::Show(name) => Outcome::Rows(Shown {
                rows: vec![vec![Some(settings().show(name)?)]],
                columns: vec![Column {
                    name: name.clone(),
                    kind: Type::TEXT,
                }],
                notice: None,
            }),
            Statement::Begin => Outcome::Done(
                Response::TransactionStart(Tag::new("BEGIN")),
                Some(
                    "there are no transactions here: what is charged stays charged, whatever is rolled back"
                        .to_owned(),
                ),
            ),
            Statement::Commit => Outcome::Done(Response::TransactionEnd(Tag::new("COMMIT")), None),
            Statement::Rollback => Outcome::Done(
                Response::TransactionEnd(Tag::new("ROLLBACK")),
                Some("nothing that was charged is given back".to_owned()),
            ),
            Statement::RollbackTo => Outcome::Done(Response::TransactionStart(Tag::new("ROLLBACK")), None),
            Statement::Nothing(tag) => done(tag),
        })
    }

    /// Answers a query: from the catalog where it asks that, else privately.
    async fn select(&self, connection: &Connection, sql: &str) -> Result<Shown, Failure> {
        let who = self.service.still_signed_in(&connection.who).await?;
        if let Some(shown) = self.answered_by_system(&who, sql).await? {
            return Ok(shown);
        }
        let settings = connection
            .settings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let answered = self.service.ask(&who, &settings.question(sql), None).await?;
        Ok(Shown {
            columns: values::columns(&answered.answer.columns, settings.intervals),
            rows: values::rows(&answered.answer, settings.intervals),
            notice: cost(&answered),
        })
    }

    /// What the system catalogs answer; `None` where they are not asked.
    async fn answered_by_system(&self, who: &Identity, sql: &str) -> Result<Option<Shown>, Failure> {
        let Some(answer) = self.catalogs.query(who.name(), sql).await? else {
            return Ok(None);
        };
        Ok(Some(Shown {
            columns: answer.columns.into_iter().map(Into::into).collect(),
            rows: answer.rows,
            notice: None,
        }))
    }

    /// The columns of what the system catalogs answer; `None` where they are not asked.
    async fn columns_of_system(&self, who: &Identity, sql: &str) -> Result<Option<Vec<Column>>, Failure> {
        let columns = self.catalogs.columns(who.name(), sql).await?;
        Ok(columns.map(|columns| columns.into_iter().map(Into::into).collect()))
    }

    /// The columns that a statement will have, without running it. Plans and prices, and charges nothing.
    async fn columns(
        &self,
        connection: &Connection,
        statement: &Statement,
    ) -> Result<Option<Vec<Column>>, Failure> {
        match statement {
            Statement::Select(sql) => {
                let who = self.service.still_signed_in(&connection.who).await?;
                if let Some(columns) = self.columns_of_system(&who, sql).await? {
                    return Ok(Some(columns));
                }
                let settings = connection
                    .settings
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .clone();
                let columns = self.service.columns(&who, &settings.question(sql)).await?;
                Ok(Some(values::columns(&columns, settings.intervals)))
            }
            Statement::Show(name) => Ok(Some(vec![Column {
                name: name.clone(),
                kind: Type::TEXT,
            }])),
            _ => Ok(None),
        }
    }
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
    let mut lines = vec![format!(
        "{paid}; for one further release you have at most ε = {left} left"
    )];
    lines.extend(answered.answer.notes.iter().cloned());
    Some(lines.join("\n"))
}

async fn notice<C>(client: &mut C, text: String) -> PgWireResult<()>
where
    C: Sink<PgWireBackendMessage> + Unpin,
    PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
{
    let fields = [(b'S', "NOTICE"), (b'V', "NOTICE"), (b'C', "00000")];
    let mut fields: Vec<(u8, String)> = fields
        .into_iter()
        .map(|(kind, text)| (kind, text.to_owned()))
        .collect();
    fields.push((b'M', text));
    client
        .feed(PgWireBackendMessage::NoticeResponse(NoticeResponse::new(fields)))
        .await?;
    Ok(())
}

/// Rows as messages. `format` says how each column is written.
fn rows(shown: Shown, format: impl Fn(usize) -> FieldFormat) -> QueryResponse {
    let fields: Vec<FieldInfo> = shown
        .columns
        .iter()
        .enumerate()
        .map(|(place, column)| column.field(format(place)))
        .collect();
    let formats: Vec<FieldFormat> = fields.iter().map(FieldInfo::format).collect();
    let columns = shown.columns;
    let count = i16::try_from(columns.len()).unwrap_or(i16::MAX);
    let messages = shown.rows.into_iter().map(move |row| {
        let mut data = BytesMut::new();
        for ((value, column), format) in row.iter().zip(&columns).zip(&formats) {
            values::put(&mut data, value.as_deref(), &column.kind, *format);
        }
        Ok(DataRow::new(data, count))
    });
    QueryResponse::new(Arc::new(fields), stream::iter(messages))
}

async fn respond<C>(
    client: &mut C,
    outcome: Outcome,
    format: impl Fn(usize) -> FieldFormat,
) -> PgWireResult<Response>
where
    C: Sink<PgWireBackendMessage> + Unpin,
    PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
{
    let (response, said) = match outcome {
        Outcome::Rows(mut shown) => {
            let said = shown.notice.take();
            (Response::Query(rows(shown, format)), said)
        }
        Outcome::Copy(mut shown, format) => {
            let said = shown.notice.take();
            (
                Response::CopyOut(copies::response(&shown.columns, &shown.rows, format)),
                said,
            )
        }
        Outcome::Done(response, said) => (response, said),
    };
    if let Some(said) = said {
        notice(client, said).await?;
    }
    Ok(response)
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
        // One message that asks several questions would be charged for some of them when a later one is refused.
        let selects: Vec<String> = statements
            .iter()
            .filter_map(|statement| match statement {
                Statement::Select(sql) | Statement::Copy { select: sql, .. } => Some(sql.clone()),
                _ => None,
            })
            .collect();
        let several = selects.len() > 1;
        let questions = self.catalogs.count_others(connection.who.name(), selects);
        if several && questions.await.map_err(failed)? > 1 {
            return Err(failed(Failure::new(
                Code::Refused,
                "a message may hold one question",
                "send the questions one after the other; nothing was charged",
            )));
        }
        if statements.is_empty() {
            return Ok(vec![Response::EmptyQuery]);
        }
        let mut responses = Vec::new();
        for statement in &statements {
            let outcome = self.run(&connection, statement).await.map_err(failed)?;
            responses.push(respond(client, outcome, |_| FieldFormat::Text).await?);
        }
        Ok(responses)
    }
}

/// A statement that was prepared.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    sql: String,
    parameters: usize,
}

impl Prepared {
    fn kinds(&self, given: &[Option<Type>]) -> Vec<Type> {
        (0..self.parameters)
            .map(|place| match given.get(place).cloned().flatten() {
                // What a client leaves open is a text, which is what PostgreSQL makes of a literal in quotes.
                None | Some(Type::UNKNOWN) => Type::TEXT,
                Some(kind) => kind,
            })
            .collect()
    }

    /// The statement with sample values for its parameters.
    fn sampled(&self, given: &[Option<Type>]) -> Result<Statement, Failure> {
        let literals: Vec<String> = self
            .kinds(given)
            .iter()
            .map(|kind| values::sample(kind).to_owned())
            .collect();
        self.bound(&literals)
    }

    fn bound(&self, literals: &[String]) -> Result<Statement, Failure> {
        // Names in backticks are no part of PostgreSQL; what is quoted has to be clear where values are put in.
        if self.parameters > 0 && self.sql.contains('`') {
            return Err(Failure::new(
                Code::Refused,
                "a statement with parameters has no backticks",
                "quote names in double quotes",
            ));
        }
        let sql = text::bound(&self.sql, literals, MOST_BYTES_OF_SQL).ok_or_else(|| {
            Failure::new(
                Code::BadRequest,
                "a parameter has no value, or the statement is too long with its values",
                "parameters are numbered from $1 on, and a statement has 256 KiB at most",
            )
        })?;
        understand(&sql)
    }
}

/// Reads statements, without understanding them yet.
#[derive(Debug)]
pub(super) struct Parser;

#[async_trait]
impl QueryParser for Parser {
    type Statement = Prepared;

    async fn parse_sql<C>(&self, _: &C, sql: &str, _: &[Option<Type>]) -> PgWireResult<Option<Prepared>>
    where
        C: ClientInfo + Unpin + Send + Sync,
    {
        let mut statements = text::statements(sql);
        let Some(first) = statements.pop() else {
            return Ok(None);
        };
        if !statements.is_empty() {
            return Err(failed(Failure::new(
                Code::Syntax,
                "a prepared statement is one statement",
                "prepare them one by one",
            )));
        }
        if first.len() > MOST_BYTES_OF_SQL {
            return Err(failed(Failure::new(
                Code::BadRequest,
                "the SQL is longer than 256 KiB",
                "send a shorter query",
            )));
        }
        let parameters = text::parameters(&first);
        if parameters > MOST_PARAMETERS {
            return Err(failed(Failure::new(
                Code::BadRequest,
                "a statement has 1,000 parameters at most",
                "write some of the values into the statement",
            )));
        }
        // What is on no list is refused now.
        let prepared = Prepared {
            sql: first,
            parameters,
        };
        prepared.sampled(&[]).map_err(failed)?;
        Ok(Some(prepared))
    }

    fn get_parameter_types(&self, _: &Prepared) -> PgWireResult<Vec<Type>> {
        Ok(Vec::new())
    }

    fn get_result_schema(&self, _: &Prepared, _: Option<&Format>) -> PgWireResult<Vec<FieldInfo>> {
        Ok(Vec::new())
    }
}

/// How a column is written. A client that states formats states one, or one for each column; it is checked where their number is known.
fn format_of(format: &Format, place: usize) -> FieldFormat {
    match format {
        Format::UnifiedText => FieldFormat::Text,
        Format::UnifiedBinary => FieldFormat::Binary,
        Format::Individual(codes) => codes
            .get(place)
            .map_or(FieldFormat::Text, |code| FieldFormat::from(*code)),
    }
}

#[async_trait]
impl ExtendedQueryHandler for Handler {
    type Statement = Prepared;
    type QueryParser = Parser;

    fn query_parser(&self) -> Arc<Parser> {
        Arc::new(Parser)
    }

    async fn on_parse<C>(&self, client: &mut C, message: Parse) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = Prepared>,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let connection = connection(client)?;
        self.service.check_rate(connection.who.name()).map_err(failed)?;
        let name = message.name.clone().unwrap_or_else(|| DEFAULT_NAME.to_owned());
        let parsed = StoredStatement::parse(client, &message, self.query_parser()).await?;
        hold(&connection, &format!("S{name}"), message.query.len())?;
        match parsed {
            Some(statement) => client.portal_store().put_statement(Arc::new(statement)),
            None => client.portal_store().put_empty_statement(&name),
        }
        client
            .send(PgWireBackendMessage::ParseComplete(ParseComplete::new()))
            .await?;
        Ok(())
    }

    async fn on_close<C>(&self, client: &mut C, message: Close) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = Prepared>,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let name = message.name.as_deref().unwrap_or(DEFAULT_NAME);
        match message.target_type {
            TARGET_TYPE_BYTE_STATEMENT => {
                client.portal_store().rm_statement(name);
                release(&*connection(client)?, &format!("S{name}"));
            }
            _ => {
                client.portal_store().rm_portal(name);
                release(&*connection(client)?, &format!("P{name}"));
            }
        }
        client
            .send(PgWireBackendMessage::CloseComplete(CloseComplete::new()))
            .await?;
        Ok(())
    }

    async fn on_bind<C>(&self, client: &mut C, message: Bind) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = Prepared>,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let malformed = |what: &str| {
            PgWireError::UserError(Box::new(ErrorInfo::new(
                "ERROR".to_owned(),
                "08P01".to_owned(),
                what.to_owned(),
            )))
        };
        let formats = message.parameter_format_codes.len();
        if formats > 1 && formats != message.parameters.len() {
            return Err(malformed("there are other formats than parameters"));
        }
        let name = message.statement_name.as_deref().unwrap_or(DEFAULT_NAME);
        let portal = message.portal_name.as_deref().unwrap_or(DEFAULT_NAME);
        match client.portal_store().get_statement(name) {
            Some(Entry::Value(statement)) => {
                if message.parameters.len() != statement.statement.parameters {
                    return Err(malformed("the statement has another number of parameters"));
                }
                let bytes = message.parameters.iter().flatten().map(|value| value.len()).sum();
                hold(&*connection(client)?, &format!("P{portal}"), bytes)?;
                let portal = Portal::try_new(&message, statement)?;
                client.portal_store().put_portal(Arc::new(portal));
            }
            Some(Entry::Empty) => client.portal_store().put_empty_portal(portal),
            None => return Err(PgWireError::StatementNotFound(name.to_owned())),
        }
        client
            .send(PgWireBackendMessage::BindComplete(BindComplete::new()))
            .await?;
        Ok(())
    }

    async fn do_describe_statement<C>(
        &self,
        client: &mut C,
        target: &StoredStatement<Prepared>,
    ) -> PgWireResult<DescribeStatementResponse>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = Prepared>,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let connection = connection(client)?;
        let prepared = &target.statement;
        // The system catalogs tell their columns without values for parameters.
        let columns = match self
            .columns_of_system(&connection.who, &prepared.sql)
            .await
            .map_err(failed)?
        {
            Some(columns) => Some(columns),
            None => {
                let statement = prepared.sampled(&target.parameter_types).map_err(failed)?;
                self.columns(&connection, &statement).await.map_err(failed)?
            }
        };
        let fields = columns
            .iter()
            .flatten()
            .map(|column| column.field(FieldFormat::Text));
        Ok(DescribeStatementResponse::new(
            prepared.kinds(&target.parameter_types),
            fields.collect(),
        ))
    }

    async fn do_describe_portal<C>(
        &self,
        client: &mut C,
        target: &Portal<Prepared>,
    ) -> PgWireResult<DescribePortalResponse>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = Prepared>,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let connection = connection(client)?;
        let statement = bound(target).map_err(failed)?;
        let Some(columns) = self.columns(&connection, &statement).await.map_err(failed)? else {
            return Ok(DescribePortalResponse::no_data());
        };
        let fields = columns
            .iter()
            .enumerate()
            .map(|(place, column)| column.field(format_of(&target.result_column_format, place)));
        Ok(DescribePortalResponse::new(fields.collect()))
    }

    async fn do_query<C>(&self, client: &mut C, portal: &Portal<Prepared>, _: usize) -> PgWireResult<Response>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = Prepared>,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let connection = connection(client)?;
        let statement = bound(portal).map_err(failed)?;
        let outcome = self.run(&connection, &statement).await.map_err(failed)?;
        let format = portal.result_column_format.clone();
        respond(client, outcome, |place| format_of(&format, place)).await
    }
}

/// Notes that a connection holds a statement or a portal of this name; one in place of another where there is one.
fn hold(connection: &Connection, name: &str, bytes: usize) -> PgWireResult<()> {
    let mut held = connection.held.lock().unwrap_or_else(PoisonError::into_inner);
    let others: usize = held
        .iter()
        .filter(|(other, _)| *other != name)
        .map(|(_, bytes)| bytes)
        .sum();
    if held.len() >= MOST_HELD && !held.contains_key(name) || others + bytes > MOST_BYTES_HELD {
        return Err(failed(Failure::new(
            Code::Refused,
            "this connection holds too many prepared statements and portals",
            "close those that are not needed, or DISCARD ALL",
        )));
    }
    held.insert(name.to_owned(), bytes);
    Ok(())
}

fn release(connection: &Connection, name: &str) {
    connection
        .held
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .remove(name);
}

/// The statement of a portal with its parameters in place.
fn bound(portal: &Portal<Prepared>) -> Result<Statement, Failure> {
    let prepared = &portal.statement.statement;
    let kinds = prepared.kinds(&portal.statement.parameter_types);
    let literals = kinds
        .iter()
        .enumerate()
        .map(|(place, kind)| {
            let value = portal.parameters.get(place).and_then(Option::as_ref);
            values::parameter(
                value.map(|bytes| bytes.as_ref()),
                kind,
                format_of(&portal.parameter_format, place),
            )
        })
        .collect::<Result<Vec<_>, _>>()?;
    prepared.bound(&literals)
}
