//! Prepared statements. Their parameters become values, and are never a part of the SQL.

use super::catalogs::Catalogs;
use super::handler::{connection, failed};
use super::parameters::{self, Columns};
use super::statement::{Statement, understand};
use super::{text, values};
use crate::failure::{Code, Failure};
use crate::service::MOST_BYTES_OF_SQL;
use async_trait::async_trait;
use pgwire::api::portal::{Format, Portal};
use pgwire::api::results::{FieldFormat, FieldInfo};
use pgwire::api::stmt::QueryParser;
use pgwire::api::{ClientInfo, Type};
use pgwire::error::PgWireResult;
use std::sync::Arc;

/// Parameters of a statement at most.
const MOST_PARAMETERS: usize = 1000;

/// A statement that was prepared.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    pub(super) sql: String,
    /// For each parameter its type where the statement tells it.
    parameters: Vec<Option<Type>>,
}

impl Prepared {
    /// How many parameters it has.
    pub(super) fn parameters(&self) -> usize {
        self.parameters.len()
    }

    /// The types of its parameters; those that the client gave come first.
    pub(super) fn kinds(&self, given: &[Option<Type>]) -> Vec<Type> {
        let kinds = self.parameters.iter().enumerate();
        kinds
            .map(|(place, told)| match given.get(place).cloned().flatten() {
                // What nobody says is a text, which is what PostgreSQL makes of a literal in quotes.
                None | Some(Type::UNKNOWN) => told.clone().unwrap_or(Type::TEXT),
                Some(kind) => kind,
            })
            .collect()
    }

    /// The statement with sample values for its parameters.
    pub(super) fn sampled(&self, given: &[Option<Type>]) -> Result<Statement, Failure> {
        let literals: Vec<String> = self
            .kinds(given)
            .iter()
            .map(|kind| values::sample(kind).to_owned())
            .collect();
        self.bound(&literals)
    }

    fn bound(&self, literals: &[String]) -> Result<Statement, Failure> {
        // Names in backticks are no part of PostgreSQL; what is quoted must be clear where values are put in.
        if !self.parameters.is_empty() && self.sql.contains('`') {
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

/// The statement of a portal with its parameters in place.
pub(super) fn bound(portal: &Portal<Prepared>) -> Result<Statement, Failure> {
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

/// How a column is written. A client that states formats states one, or one for each column; it is checked
/// where their number is known.
pub(super) fn format_of(format: &Format, place: usize) -> FieldFormat {
    match format {
        Format::UnifiedText => FieldFormat::Text,
        Format::UnifiedBinary => FieldFormat::Binary,
        Format::Individual(codes) => codes
            .get(place)
            .map_or(FieldFormat::Text, |code| FieldFormat::from(*code)),
    }
}

/// Reads statements, without understanding them yet.
pub(super) struct Parser {
    pub(super) catalogs: Arc<Catalogs>,
    pub(super) columns: Arc<Columns>,
}

#[async_trait]
impl QueryParser for Parser {
    type Statement = Prepared;

    async fn parse_sql<C>(
        &self,
        client: &C,
        sql: &str,
        given: &[Option<Type>],
    ) -> PgWireResult<Option<Prepared>>
    where
        C: ClientInfo + Unpin + Send + Sync,
    {
        let mut statements = text::statements(sql);
        let Some(sql) = statements.pop() else {
            return Ok(None);
        };
        let refused = |code, what: &str, hint: &str| Err(failed(Failure::new(code, what, hint)));
        if !statements.is_empty() {
            return refused(
                Code::Syntax,
                "a prepared statement is one statement",
                "prepare them one by one",
            );
        }
        if sql.len() > MOST_BYTES_OF_SQL {
            return refused(
                Code::BadRequest,
                "the SQL is longer than 256 KiB",
                "send a shorter query",
            );
        }
        let count = text::parameters(&sql);
        if count > MOST_PARAMETERS {
            return refused(
                Code::BadRequest,
                "a statement has 1,000 parameters at most",
                "write some of the values into the statement",
            );
        }
        let open =
            (0..count).any(|place| matches!(given.get(place), None | Some(None | Some(Type::UNKNOWN))));
        let mut prepared = Prepared {
            sql,
            parameters: vec![None; count],
        };
        // What is on no list is refused now.
        let statement = prepared.sampled(&[]).map_err(failed)?;
        if open && statement.select().is_some() {
            let statement = understand(&prepared.sql).map_err(failed)?;
            let select = statement.select().unwrap_or_default().to_owned();
            let who = connection(client)?;
            let columns = Arc::clone(&self.columns);
            let infer = move |_: &_, _: &_| parameters::infer(&select, count, &columns);
            prepared.parameters = self
                .catalogs
                .in_turn(who.who.name(), infer)
                .await
                .map_err(failed)?;
        }
        Ok(Some(prepared))
    }

    fn get_parameter_types(&self, _: &Prepared) -> PgWireResult<Vec<Type>> {
        Ok(Vec::new())
    }

    fn get_result_schema(&self, _: &Prepared, _: Option<&Format>) -> PgWireResult<Vec<FieldInfo>> {
        Ok(Vec::new())
    }
}
