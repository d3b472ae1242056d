//! The extended protocol: statements are prepared, bound to values as portals, described and run.

use super::handler::{Handler, connection, failed};
use super::prepared::{Parser, Prepared, bound, format_of};
use super::shown::respond;
use async_trait::async_trait;
use futures::{Sink, SinkExt as _};
use pgwire::api::portal::Portal;
use pgwire::api::query::{ExtendedQueryHandler, send_describe_response, send_ready_for_query};
use pgwire::api::results::{
    DescribePortalResponse, DescribeResponse as _, DescribeStatementResponse, FieldFormat, Response,
};
use pgwire::api::stmt::StoredStatement;
use pgwire::api::store::{Entry, PortalStore};
use pgwire::api::{ClientInfo, ClientPortalStore, DEFAULT_NAME, Type};
use pgwire::error::{ErrorInfo, PgWireError, PgWireResult};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::extendedquery::{
    Bind, BindComplete, Close, CloseComplete, Describe, Parse, ParseComplete, Sync as PgSync,
    TARGET_TYPE_BYTE_PORTAL, TARGET_TYPE_BYTE_STATEMENT,
};
use std::fmt::Debug;
use std::sync::Arc;

fn malformed(what: &str) -> PgWireError {
    PgWireError::UserError(Box::new(ErrorInfo::new(
        "ERROR".to_owned(),
        "08P01".to_owned(),
        what.to_owned(),
    )))
}

#[async_trait]
impl ExtendedQueryHandler for Handler {
    type Statement = Prepared;
    type QueryParser = Parser;

    fn query_parser(&self) -> Arc<Parser> {
        Arc::new(Parser {
            catalogs: Arc::clone(&self.catalogs),
            columns: Arc::clone(&self.columns),
        })
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
        let parameters = parsed.as_ref().map_or(0, |parsed| parsed.statement.parameters());
        let types = size_of::<Option<Type>>() * (parameters + message.type_oids.len());
        let bytes = message.query.len() + types;
        connection.held().keep_statement(&name, bytes).map_err(failed)?;
        match parsed {
            Some(statement) => client.portal_store().put_statement(Arc::new(statement)),
            None => client.portal_store().put_empty_statement(&name),
        }
        client
            .send(PgWireBackendMessage::ParseComplete(ParseComplete::new()))
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
        let formats = message.parameter_format_codes.len();
        if formats > 1 && formats != message.parameters.len() {
            return Err(malformed("there are other formats than parameters"));
        }
        let name = message.statement_name.as_deref().unwrap_or(DEFAULT_NAME);
        let portal = message.portal_name.as_deref().unwrap_or(DEFAULT_NAME);
        let Some(entry) = client.portal_store().get_statement(name) else {
            return Err(PgWireError::StatementNotFound(name.to_owned()));
        };
        let parameters = entry
            .value()
            .map_or(0, |statement| statement.statement.parameters());
        if message.parameters.len() != parameters {
            return Err(malformed("the statement has another number of parameters"));
        }
        let values: usize = message.parameters.iter().flatten().map(|value| value.len()).sum();
        let each = size_of::<Option<bytes::Bytes>>() * parameters;
        let codes = size_of::<i16>() * (formats + message.result_column_format_codes.len());
        let connection = connection(client)?;
        connection
            .held()
            .keep_portal(portal, values + each + codes)
            .map_err(failed)?;
        match entry {
            Entry::Value(statement) => {
                let portal = Portal::try_new(&message, statement)?;
                client.portal_store().put_portal(Arc::new(portal));
            }
            Entry::Empty => client.portal_store().put_empty_portal(portal),
        }
        client
            .send(PgWireBackendMessage::BindComplete(BindComplete::new()))
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
        let connection = connection(client)?;
        match message.target_type {
            TARGET_TYPE_BYTE_STATEMENT => {
                client.portal_store().rm_statement(name);
                connection.held().close_statement(name);
            }
            _ => {
                client.portal_store().rm_portal(name);
                let mut held = connection.held();
                held.close_portal(name);
                // A cursor is a portal, too.
                held.close_cursor(Some(name));
            }
        }
        client
            .send(PgWireBackendMessage::CloseComplete(CloseComplete::new()))
            .await?;
        Ok(())
    }

    /// Outside of a transaction portals end here.
    async fn on_sync<C>(&self, client: &mut C, _: PgSync) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = Prepared>,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let connection = connection(client)?;
        if connection.held().is_in_transaction() {
            client.portal_store().rm_portal(DEFAULT_NAME);
            connection.held().close_portal(DEFAULT_NAME);
        } else {
            client.portal_store().clear_portals();
            connection.held().close_portals();
        }
        let status = client.transaction_status();
        send_ready_for_query(client, status).await
    }

    async fn on_describe<C>(&self, client: &mut C, message: Describe) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = Prepared>,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let name = message.name.as_deref().unwrap_or(DEFAULT_NAME);
        let connection = connection(client)?;
        // A cursor is a portal that can be described by its name.
        if message.target_type == TARGET_TYPE_BYTE_PORTAL && client.portal_store().get_portal(name).is_none()
        {
            let table = connection
                .held()
                .cursor(name)
                .map(|cursor| Arc::clone(cursor.table()));
            if let Some(table) = table {
                let fields = table.columns.iter().map(|column| column.field(FieldFormat::Text));
                let described = DescribePortalResponse::new(fields.collect());
                return send_describe_response(client, &described).await;
            }
        }
        self._on_describe(client, message).await
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
        self.refresh().await;
        // The system catalogs tell their columns without values for parameters.
        let system = self
            .catalogs
            .columns(connection.who.name(), &prepared.sql)
            .await
            .map_err(failed)?;
        let columns = match system {
            Some(columns) => Some(columns.into_iter().map(Into::into).collect()),
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
        let outcome = self.run(&connection, client.portal_store(), &statement).await;
        let format = portal.result_column_format.clone();
        respond(client, outcome.map_err(failed)?, |place| {
            format_of(&format, place)
        })
        .await
    }
}
