//! Values as the PostgreSQL wire writes them, as text and in binary; and parameters as literals.

use crate::failure::{Code, Failure};
use bytes::{BufMut as _, BytesMut};
use chrono::{DateTime, NaiveDate, NaiveDateTime};
use pgwire::api::Type;
use pgwire::api::results::{FieldFormat, FieldInfo};
use sql::{Answer, AnswerColumn, CellKind, CellValue};

use super::system::{self, SystemKind};
use super::text;

/// A column as a client sees it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Type,
}

impl Column {
    pub(super) fn field(&self, format: FieldFormat) -> FieldInfo {
        let size = match self.kind {
            Type::BOOL | Type::CHAR => 1,
            Type::INT2 => 2,
            Type::INT4 | Type::DATE | Type::OID => 4,
            Type::INT8 | Type::FLOAT8 | Type::TIMESTAMP => 8,
            Type::NAME => 64,
            _ => -1,
        };
        FieldInfo::new(self.name.clone(), None, None, self.kind.clone(), format).with_type_size(size)
    }
}

impl From<system::AnswerColumn> for Column {
    fn from(column: system::AnswerColumn) -> Self {
        let kind = match column.kind {
            SystemKind::Bool => Type::BOOL,
            SystemKind::Int2 => Type::INT2,
            SystemKind::Int4 => Type::INT4,
            SystemKind::Int8 => Type::INT8,
            SystemKind::Oid => Type::OID,
            SystemKind::Float8 => Type::FLOAT8,
            SystemKind::Name => Type::NAME,
            SystemKind::Text => Type::TEXT,
            SystemKind::Char => Type::CHAR,
            SystemKind::TextArray => Type::TEXT_ARRAY,
        };
        Self {
            name: column.name,
            kind,
        }
    }
}

/// A value, as text; `None` is NULL.
pub(super) type Value = Option<String>;

/// The columns of an answer, with the ends of intervals after each noisy column where they are wanted.
pub(super) fn columns(columns: &[AnswerColumn], intervals: bool) -> Vec<Column> {
    let mut shown = Vec::new();
    for column in columns {
        let kind = match column.kind {
            CellKind::Bool => Type::BOOL,
            CellKind::Int => Type::INT8,
            CellKind::Float => Type::FLOAT8,
            CellKind::Date => Type::DATE,
            CellKind::Timestamp => Type::TIMESTAMP,
            CellKind::Text => Type::TEXT,
        };
        shown.push(Column {
            name: column.name.clone(),
            kind,
        });
        if intervals && column.has_intervals() {
            for end in ["low", "high"] {
                shown.push(Column {
                    name: format!("{}_{end}", column.name),
                    kind: Type::FLOAT8,
                });
            }
        }
    }
    shown
}

/// The rows of an answer under those columns.
pub(super) fn rows(answer: &Answer, intervals: bool) -> Vec<Vec<Value>> {
    let row = |row: &Vec<sql::Cell>| {
        let mut values = Vec::new();
        for (column, cell) in answer.columns.iter().zip(row) {
            values.push(match &cell.value {
                CellValue::Null => None,
                CellValue::Bool(value) => Some(if *value { "t" } else { "f" }.to_owned()),
                CellValue::Text(moment) if column.kind == CellKind::Timestamp => {
                    Some(moment.replacen('T', " ", 1))
                }
                value => Some(value.to_string()),
            });
            if intervals && column.has_intervals() {
                let (low, high) = cell.interval(column.kind);
                values.extend([low, high].map(|end| end.map(|end| end.to_string())));
            }
        }
        values
    };
    answer.rows.iter().map(row).collect()
}

/// Writes a value after its length, as rows and binary copies have it. What cannot be written in binary is a
/// defect, and is NULL rather than something else.
pub(super) fn put(buffer: &mut BytesMut, value: Option<&str>, kind: &Type, format: FieldFormat) {
    let bytes = match (value, format) {
        (None, _) => None,
        (Some(text), FieldFormat::Text) => Some(text.as_bytes().to_vec()),
        (Some(text), FieldFormat::Binary) => binary(text, kind),
    };
    match bytes {
        None => buffer.put_i32(-1),
        Some(bytes) => {
            buffer.put_i32(i32::try_from(bytes.len()).unwrap_or(i32::MAX));
            buffer.put_slice(&bytes);
        }
    }
}

fn binary(text: &str, kind: &Type) -> Option<Vec<u8>> {
    Some(match *kind {
        Type::BOOL => vec![u8::from(text == "t" || text == "true")],
        Type::INT2 => text.parse::<i16>().ok()?.to_be_bytes().to_vec(),
        Type::INT4 => text.parse::<i32>().ok()?.to_be_bytes().to_vec(),
        Type::OID => text.parse::<u32>().ok()?.to_be_bytes().to_vec(),
        Type::INT8 => text.parse::<i64>().ok()?.to_be_bytes().to_vec(),
        Type::FLOAT8 => text.parse::<f64>().ok()?.to_be_bytes().to_vec(),
        Type::DATE => {
            let day: NaiveDate = text.parse().ok()?;
            let days = day.signed_duration_since(epoch().date()).num_days();
            i32::try_from(days).ok()?.to_be_bytes().to_vec()
        }
        Type::TIMESTAMP => {
            let moment: NaiveDateTime = text.replacen(' ', "T", 1).parse().ok()?;
            let since = moment.signed_duration_since(epoch()).num_microseconds()?;
            since.to_be_bytes().to_vec()
        }
        Type::TEXT_ARRAY => return array(text),
        _ => text.as_bytes().to_vec(),
    })
}

/// An array of texts without quotes or commas in them, such as `{a,b}`, in binary.
fn array(text: &str) -> Option<Vec<u8>> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    let items: Vec<&str> = match inner {
        "" => Vec::new(),
        inner => inner.split(',').map(|item| item.trim_matches('"')).collect(),
    };
    let mut bytes = BytesMut::new();
    bytes.put_i32(i32::from(!items.is_empty()));
    bytes.put_i32(0);
    bytes.put_u32(Type::TEXT.oid());
    if !items.is_empty() {
        bytes.put_i32(i32::try_from(items.len()).ok()?);
        bytes.put_i32(1);
        for item in items {
            put(&mut bytes, Some(item), &Type::TEXT, FieldFormat::Text);
        }
    }
    Some(bytes.to_vec())
}

/// From which PostgreSQL counts days and microseconds.
fn epoch() -> NaiveDateTime {
    DateTime::from_timestamp(946_684_800, 0)
        .unwrap_or_default()
        .naive_utc()
}

/// A parameter as a literal of SQL.
pub(super) fn parameter(value: Option<&[u8]>, kind: &Type, format: FieldFormat) -> Result<String, Failure> {
    let wrong = || {
        Failure::new(
            Code::BadRequest,
            format!("a parameter is not a value of type {}", kind.name()),
            "parameters are booleans, integers, floats, numerics as text, texts, dates and timestamps",
        )
    };
    let Some(bytes) = value else {
        return Ok("NULL".to_owned());
    };
    let as_text = match format {
        FieldFormat::Text => std::str::from_utf8(bytes).map_err(|_| wrong())?.to_owned(),
        FieldFormat::Binary => from_binary(bytes, kind).ok_or_else(wrong)?,
    };
    if as_text.contains('\0') {
        return Err(wrong());
    }
    Ok(match *kind {
        Type::BOOL => match as_text.to_lowercase().as_str() {
            "t" | "true" | "1" | "on" | "yes" => "TRUE".to_owned(),
            "f" | "false" | "0" | "off" | "no" => "FALSE".to_owned(),
            _ => return Err(wrong()),
        },
        Type::INT2 | Type::INT4 | Type::INT8 | Type::OID => {
            as_text.trim().parse::<i64>().map_err(|_| wrong())?.to_string()
        }
        Type::FLOAT4 | Type::FLOAT8 | Type::NUMERIC => {
            let number: f64 = as_text.trim().parse().map_err(|_| wrong())?;
            // What is no number in SQL is written as one in quotes; digits stay as they are.
            match number.is_finite() {
                true => as_text.trim().to_owned(),
                false => return Err(wrong()),
            }
        }
        Type::DATE => {
            as_text.parse::<NaiveDate>().map_err(|_| wrong())?;
            format!("DATE {}", text::literal(&as_text))
        }
        Type::TIMESTAMP | Type::TIMESTAMPTZ => format!("TIMESTAMP {}", text::literal(&as_text)),
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::UNKNOWN | Type::CHAR => {
            text::literal(&as_text)
        }
        _ => return Err(wrong()),
    })
}

fn from_binary(bytes: &[u8], kind: &Type) -> Option<String> {
    Some(match *kind {
        Type::BOOL => match bytes {
            [0] => "f".to_owned(),
            [1] => "t".to_owned(),
            _ => return None,
        },
        Type::INT2 => i16::from_be_bytes(bytes.try_into().ok()?).to_string(),
        Type::INT4 => i32::from_be_bytes(bytes.try_into().ok()?).to_string(),
        Type::OID => u32::from_be_bytes(bytes.try_into().ok()?).to_string(),
        Type::INT8 => i64::from_be_bytes(bytes.try_into().ok()?).to_string(),
        Type::FLOAT4 => f32::from_be_bytes(bytes.try_into().ok()?).to_string(),
        Type::FLOAT8 => f64::from_be_bytes(bytes.try_into().ok()?).to_string(),
        Type::DATE => {
            let days = i32::from_be_bytes(bytes.try_into().ok()?);
            let day = epoch()
                .date()
                .checked_add_signed(chrono::TimeDelta::days(i64::from(days)))?;
            day.to_string()
        }
        Type::TIMESTAMP => {
            let since = i64::from_be_bytes(bytes.try_into().ok()?);
            let moment = epoch().checked_add_signed(chrono::TimeDelta::microseconds(since))?;
            moment.format("%Y-%m-%d %H:%M:%S%.f").to_string()
        }
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::UNKNOWN => {
            std::str::from_utf8(bytes).ok()?.to_owned()
        }
        _ => return None,
    })
}

/// A literal of the type of a parameter, to find out what a statement would answer before its parameters are
/// known.
pub(super) fn sample(kind: &Type) -> &'static str {
    match *kind {
        Type::BOOL => "TRUE",
        Type::INT2 | Type::INT4 | Type::INT8 | Type::OID => "1",
        Type::FLOAT4 | Type::FLOAT8 | Type::NUMERIC => "0.5",
        Type::DATE => "DATE '2000-01-01'",
        Type::TIMESTAMP | Type::TIMESTAMPTZ => "TIMESTAMP '2000-01-01 00:00:00'",
        _ => "'1'",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_values_are_those_of_postgresql() {
        let written = |text: &str, kind: Type| binary(text, &kind).unwrap();
        assert_eq!(written("-2", Type::INT8), (-2i64).to_be_bytes());
        assert_eq!(written("1.5", Type::FLOAT8), 1.5f64.to_be_bytes());
        assert_eq!(written("2000-01-02", Type::DATE), 1i32.to_be_bytes());
        assert_eq!(
            written("1999-12-31 23:59:59.5", Type::TIMESTAMP),
            (-500_000i64).to_be_bytes()
        );
        assert_eq!(written("t", Type::BOOL), [1]);
        assert_eq!(binary("x", &Type::INT8), None);
        assert_eq!(array("{}").unwrap().len(), 12);
        assert_eq!(array("{a,bc}").unwrap().len(), 12 + 8 + 4 + 1 + 4 + 2);
    }

    #[test]
    fn parameters_become_literals_and_nothing_else() {
        let text = |value: &str, kind: &Type| parameter(Some(value.as_bytes()), kind, FieldFormat::Text);
        assert_eq!(text("x' OR ''='", &Type::TEXT).unwrap(), "'x'' OR ''''='''");
        assert_eq!(text("12", &Type::INT4).unwrap(), "12");
        assert_eq!(text("1e-3", &Type::NUMERIC).unwrap(), "1e-3");
        for (value, kind) in [
            ("1; DROP", Type::INT4),
            ("1 OR 1=1", Type::FLOAT8),
            ("NaN", Type::FLOAT8),
            ("2000-01-01' OR '1'='1", Type::DATE),
            ("maybe", Type::BOOL),
            ("{1}", Type::INT4_ARRAY),
            ("a\0b", Type::TEXT),
        ] {
            assert!(text(value, &kind).is_err(), "{value}");
        }
        assert_eq!(
            parameter(Some(&7i64.to_be_bytes()), &Type::INT8, FieldFormat::Binary).unwrap(),
            "7"
        );
        assert!(parameter(Some(&[0]), &Type::INT8, FieldFormat::Binary).is_err());
        assert_eq!(parameter(None, &Type::TEXT, FieldFormat::Binary).unwrap(), "NULL");
    }
}
