//! The result of a statement, and how it is written to the client.

use super::copies;
use super::statement::CopyFormat;
use super::values::{self, Column, Value};
use crate::failure::Failure;
use crate::memory::{Reservation, Room};
use bytes::BytesMut;
use futures::{Sink, SinkExt as _, stream};
use pgwire::api::results::{FieldFormat, FieldInfo, QueryResponse, Response};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::data::DataRow;
use pgwire::messages::response::NoticeResponse;
use std::sync::Arc;

/// What a table counts for at most: messages of the client have to fit beside one that it reads in parts.
const MOST_BYTES: usize = 12 << 20;

/// A table that leaves, with its bytes reserved as long as anybody reads it.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<Value>>,
    reserved: Reservation,
}

impl Table {
    /// Reserves room for a table that is there already.
    pub(super) fn new(
        columns: Vec<Column>,
        rows: Vec<Vec<Value>>,
        room: &Room,
    ) -> Result<Arc<Self>, Failure> {
        let cell = |value: &Value| size_of::<Value>() + value.as_ref().map_or(0, String::len);
        let row = |row: &Vec<Value>| size_of::<Vec<Value>>() + row.iter().map(cell).sum::<usize>();
        let bytes = rows.iter().map(row).sum::<usize>() + size_of::<Self>();
        Ok(Arc::new(Self {
            columns,
            rows,
            reserved: room.reserve_for_answer(bytes.min(MOST_BYTES))?,
        }))
    }

    /// How many bytes it counts for.
    pub(super) fn bytes(&self) -> usize {
        self.reserved.bytes()
    }
}

/// What a query answers.
pub(super) struct Shown {
    pub(super) table: Arc<Table>,
    /// The notices beside it.
    pub(super) notice: Option<String>,
}

/// The result of a statement, before it is written.
pub(super) enum Outcome {
    Rows(Shown),
    /// Some rows of a table, by their places.
    Fetched(Arc<Table>, Vec<usize>),
    Copy(Shown, CopyFormat),
    Done(Response, Option<String>),
}

/// Rows as messages, each written when it is sent. `format` says how each column is written.
fn rows(
    table: Arc<Table>,
    places: impl Iterator<Item = usize> + Send + 'static,
    format: impl Fn(usize) -> FieldFormat,
) -> QueryResponse {
    let fields: Vec<FieldInfo> = table
        .columns
        .iter()
        .enumerate()
        .map(|(place, column)| column.field(format(place)))
        .collect();
    let formats: Vec<FieldFormat> = fields.iter().map(FieldInfo::format).collect();
    let count = i16::try_from(table.columns.len()).unwrap_or(i16::MAX);
    let messages = places.map(move |place| {
        let mut data = BytesMut::new();
        let row = table.rows.get(place).into_iter().flatten();
        for ((value, column), format) in row.zip(&table.columns).zip(&formats) {
            values::put(&mut data, value.as_deref(), &column.kind, *format);
        }
        Ok(DataRow::new(data, count))
    });
    QueryResponse::new(Arc::new(fields), stream::iter(messages))
}

/// The answer to a client, after the notices beside it.
pub(super) async fn respond<C>(
    client: &mut C,
    outcome: Outcome,
    format: impl Fn(usize) -> FieldFormat,
) -> PgWireResult<Response>
where
    C: Sink<PgWireBackendMessage> + Unpin,
    PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
{
    let (response, said) = match outcome {
        Outcome::Rows(Shown { table, notice }) => {
            let places = 0..table.rows.len();
            (Response::Query(rows(table, places, format)), notice)
        }
        Outcome::Fetched(table, places) => {
            let mut response = rows(table, places.into_iter(), format);
            response.set_command_tag("FETCH");
            (Response::Query(response), None)
        }
        Outcome::Copy(Shown { table, notice }, format) => {
            (Response::CopyOut(copies::response(table, format)), notice)
        }
        Outcome::Done(response, said) => (response, said),
    };
    if let Some(said) = said {
        notice(client, said).await?;
    }
    Ok(response)
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
