//! `COPY … TO STDOUT`: rows as text, CSV or binary.

use super::shown::Table;
use super::statement::CopyFormat;
use super::values::{self, Column, Value};
use bytes::{BufMut as _, BytesMut};
use futures::stream;
use pgwire::api::results::{CopyResponse, FieldFormat};
use pgwire::messages::copy::CopyData;
use std::sync::Arc;

/// What a binary copy begins with: its signature, no flags, nothing more.
const BINARY: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// The rows, a message each, written when it is sent.
pub(super) fn response(table: Arc<Table>, format: CopyFormat) -> CopyResponse {
    let (columns, count) = (table.columns.len(), table.rows.len());
    let head = match format {
        CopyFormat::Csv { header: true } => {
            let names = table.columns.iter().map(|column| Some(column.name.clone()));
            Some(csv(&names.collect::<Vec<Value>>()))
        }
        // In one message with the first row: the number of messages is the number of rows that the client is
        // told.
        CopyFormat::Binary if count == 0 => Some(BytesMut::from(BINARY)),
        _ => None,
    };
    let lines = (0..count).map(move |place| {
        let row = &table.rows[place];
        match format {
            CopyFormat::Text => text(row),
            CopyFormat::Csv { .. } => csv(row),
            CopyFormat::Binary => {
                let mut line = BytesMut::from(if place == 0 { BINARY } else { &[] });
                line.unsplit(binary(row, &table.columns));
                line
            }
        }
    });
    let messages = head
        .into_iter()
        .chain(lines)
        .map(|line| Ok(CopyData::new(line.freeze())));
    CopyResponse::new(
        i8::from(format == CopyFormat::Binary),
        columns,
        stream::iter(messages),
    )
}

/// Tabs between values, and backslashes before what would be mistaken.
fn text(row: &[Value]) -> BytesMut {
    let mut line = BytesMut::new();
    for (place, value) in row.iter().enumerate() {
        if place > 0 {
            line.put_u8(b'\t');
        }
        match value {
            None => line.put_slice(b"\\N"),
            Some(value) => {
                for byte in value.bytes() {
                    match byte {
                        b'\\' => line.put_slice(b"\\\\"),
                        b'\t' => line.put_slice(b"\\t"),
                        b'\n' => line.put_slice(b"\\n"),
                        b'\r' => line.put_slice(b"\\r"),
                        byte => line.put_u8(byte),
                    }
                }
            }
        }
    }
    line.put_u8(b'\n');
    line
}

/// NULL is nothing, and a text of no characters is two quotes.
fn csv(row: &[Value]) -> BytesMut {
    let mut line = BytesMut::new();
    for (place, value) in row.iter().enumerate() {
        if place > 0 {
            line.put_u8(b',');
        }
        if let Some(value) = value {
            let quoted = value.is_empty() || value == "\\." || value.contains([',', '"', '\n', '\r']);
            match quoted {
                true => line.put_slice(format!("\"{}\"", value.replace('"', "\"\"")).as_bytes()),
                false => line.put_slice(value.as_bytes()),
            }
        }
    }
    line.put_u8(b'\n');
    line
}

fn binary(row: &[Value], columns: &[Column]) -> BytesMut {
    let mut line = BytesMut::new();
    line.put_i16(i16::try_from(columns.len()).unwrap_or(i16::MAX));
    for (value, column) in row.iter().zip(columns) {
        values::put(&mut line, value.as_deref(), &column.kind, FieldFormat::Binary);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_written_as_postgresql_writes_them() {
        let row = [
            Some("a\tb\\".to_owned()),
            None,
            Some(String::new()),
            Some("x,\"y\"".to_owned()),
        ];
        assert_eq!(&text(&row)[..], b"a\\tb\\\\\t\\N\t\tx,\"y\"\n");
        assert_eq!(&csv(&row)[..], b"a\tb\\,,\"\",\"x,\"\"y\"\"\"\n");
        assert_eq!(BINARY.len(), 19);
    }
}
