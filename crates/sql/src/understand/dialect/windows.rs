//! `WINDOW w AS (…)`: each window is written where it is used, because the engine's planner finds names of windows after SELECT only.

use super::LENGTH;
use crate::Error;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, NamedWindowDefinition, NamedWindowExpr, Query, Select, SetExpr, VisitMut, VisitorMut,
    WindowSpec, WindowType, visit_expressions,
};
use std::ops::ControlFlow;
use std::rc::Rc;

/// Writes every window after the OVER that names it, and takes the WINDOW clauses out.
pub(super) fn write_out(query: &mut Query) -> Result<(), Error> {
    let mut windows = Windows {
        scopes: Vec::new(),
        written: 0,
    };
    match query.visit(&mut windows) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// A window and its name.
struct Named {
    name: Ident,
    spec: WindowSpec,
    /// How long it is as text.
    length: usize,
}

type Scope = Rc<Vec<Named>>;

struct Windows {
    /// The windows of the queries and SELECTs around, the innermost last.
    scopes: Vec<Scope>,
    /// How much text was written in place of names: a few letters may stand for very much of it.
    written: usize,
}

impl Windows {
    fn scope(&mut self, clause: &mut Vec<NamedWindowDefinition>) -> Result<Scope, Error> {
        let mut named = Vec::new();
        for NamedWindowDefinition(name, window) in std::mem::take(clause) {
            if find(&named, &name).is_some() {
                return Err(Error::refused(
                    format!("two windows are called {name}"),
                    "give each window its own name",
                ));
            }
            let spec = match window {
                NamedWindowExpr::NamedWindow(other) => find(&named, &other)
                    .map(|other| other.spec.clone())
                    .ok_or_else(|| unknown(&other))?,
                NamedWindowExpr::WindowSpec(spec) => self.completed(spec, &named)?,
            };
            // One that named itself would be written out for ever.
            let nested = visit_expressions(&spec, |expression| match expression {
                Expr::Function(call) if call.over.is_some() => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            });
            if nested.is_break() {
                return Err(Error::refused(
                    format!("the window {name} has a window function in it"),
                    "compute it in a subquery",
                ));
            }
            let length = spec.to_string().len();
            named.push(Named { name, spec, length });
        }
        Ok(Rc::new(named))
    }

    /// A window with what another one, which it names, says of it.
    fn completed(&mut self, spec: WindowSpec, named: &[Named]) -> Result<WindowSpec, Error> {
        let Some(name) = &spec.window_name else {
            return Ok(spec);
        };
        let base = find(named, name).ok_or_else(|| unknown(name))?;
        let twice = !spec.partition_by.is_empty()
            || (!spec.order_by.is_empty() && !base.spec.order_by.is_empty())
            || base.spec.window_frame.is_some();
        if twice {
            return Err(Error::refused(
                format!("the window {name} says already what is said again after it"),
                format!("write OVER {name}, or a whole window in parentheses"),
            ));
        }
        let order_by = match spec.order_by.is_empty() {
            true => base.spec.order_by.clone(),
            false => spec.order_by,
        };
        self.count(base.length)?;
        Ok(WindowSpec {
            window_name: None,
            partition_by: base.spec.partition_by.clone(),
            order_by,
            window_frame: spec.window_frame,
        })
    }

    fn count(&mut self, length: usize) -> Result<(), Error> {
        self.written += length;
        match self.written > LENGTH {
            true => Err(Error::refused(
                "with its windows written out the query is longer than a mebibyte",
                "ask for fewer columns at once",
            )),
            false => Ok(()),
        }
    }

    fn write(&mut self, window: &mut WindowType) -> Result<(), Error> {
        let scope = self.scopes.last().cloned().unwrap_or_default();
        *window = match window {
            WindowType::NamedWindow(name) => {
                let named = find(&scope, name).ok_or_else(|| unknown(name))?;
                self.count(named.length)?;
                WindowType::WindowSpec(named.spec.clone())
            }
            WindowType::WindowSpec(spec) => WindowType::WindowSpec(self.completed(spec.clone(), &scope)?),
        };
        Ok(())
    }
}

fn find<'a>(named: &'a [Named], name: &Ident) -> Option<&'a Named> {
    let spelled = |name: &Ident| match name.quote_style {
        None => name.value.to_lowercase(),
        Some(_) => name.value.clone(),
    };
    named.iter().find(|other| spelled(&other.name) == spelled(name))
}

fn unknown(name: &Ident) -> Error {
    Error::refused(
        format!("there is no window {name}"),
        format!(
            "add WINDOW {name} AS (PARTITION BY … ORDER BY …) after the last clause before ORDER BY, or write the window after OVER, in parentheses"
        ),
    )
}

impl VisitorMut for Windows {
    type Break = Error;

    /// The windows of a SELECT are known in the ORDER BY of its query too.
    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let mut none = Vec::new();
        let clause = match query.body.as_mut() {
            SetExpr::Select(select) => &mut select.named_window,
            _ => &mut none,
        };
        match self.scope(clause) {
            Ok(scope) => self.scopes.push(scope),
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    /// A side of a UNION has windows of its own; those of a SELECT that is a whole query were taken with the query.
    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        let scope = match select.named_window.is_empty() {
            true => Ok(self.scopes.last().cloned().unwrap_or_default()),
            false => self.scope(&mut select.named_window),
        };
        match scope {
            Ok(scope) => self.scopes.push(scope),
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<Error> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<Error> {
        if let Expr::Function(call) = expression
            && let Some(window) = &mut call.over
            && let Err(error) = self.write(window)
        {
            return ControlFlow::Break(error);
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use crate::understand::dialect::read;

    fn written(sql: &str) -> String {
        read(sql).map_or_else(|error| error.to_string(), |read| read.query.to_string())
    }

    #[test]
    fn windows_are_written_where_they_are_named() {
        for (named, whole) in [
            (
                "SELECT sum(x) OVER w AS s, rank() OVER (w ORDER BY y) AS r FROM t WINDOW w AS (PARTITION BY z) ORDER BY lag(x) OVER W",
                "SELECT sum(x) OVER (PARTITION BY z) AS s, rank() OVER (PARTITION BY z ORDER BY y) AS r FROM t ORDER BY lag(x) OVER (PARTITION BY z)",
            ),
            (
                "SELECT rank() OVER b AS r FROM t WINDOW a AS (PARTITION BY z), b AS (a ORDER BY y), c AS b",
                "SELECT rank() OVER (PARTITION BY z ORDER BY y) AS r FROM t",
            ),
            // Each SELECT has its own.
            (
                "SELECT rank() OVER w AS r FROM t WINDOW w AS (ORDER BY x) UNION ALL SELECT rank() OVER w AS r FROM u WINDOW w AS (ORDER BY y)",
                "SELECT rank() OVER (ORDER BY x) AS r FROM t UNION ALL SELECT rank() OVER (ORDER BY y) AS r FROM u",
            ),
            (
                "SELECT rank() OVER w AS r FROM (SELECT rank() OVER w AS x FROM t WINDOW w AS (ORDER BY y)) AS q WINDOW w AS (ORDER BY x)",
                "SELECT rank() OVER (ORDER BY x) AS r FROM (SELECT rank() OVER (ORDER BY y) AS x FROM t) AS q",
            ),
        ] {
            assert_eq!(written(named), written(whole), "{named}");
            assert!(written(named).starts_with("SELECT"), "{}", written(named));
        }
    }

    #[test]
    fn windows_that_cannot_be_meant_are_refused() {
        for (sql, named) in [
            ("SELECT rank() OVER w FROM t", "there is no window w"),
            (
                "SELECT x FROM (SELECT rank() OVER w AS x FROM t) AS q WINDOW w AS (ORDER BY x)",
                "there is no window w",
            ),
            (
                "SELECT rank() OVER (w PARTITION BY y) FROM t WINDOW w AS (PARTITION BY x)",
                "says already",
            ),
            (
                "SELECT rank() OVER (w ORDER BY y) FROM t WINDOW w AS (ORDER BY x)",
                "says already",
            ),
            (
                "SELECT rank() OVER w FROM t WINDOW w AS (ORDER BY rank() OVER w)",
                "has a window function in it",
            ),
            (
                "SELECT rank() OVER w FROM t WINDOW w AS (ORDER BY x), W AS (ORDER BY y)",
                "two windows are called",
            ),
        ] {
            let said = written(sql);
            assert!(said.contains(named) && said.contains("\nhint: "), "{sql}: {said}");
        }
    }

    /// A name of one letter may stand for very much.
    #[test]
    fn names_do_not_make_a_query_longer_than_it_may_be() {
        let long = vec!["abs(x)"; 2_000].join(", ");
        let calls = vec!["sum(x) OVER w"; 200].join(", ");
        let said = written(&format!(
            "SELECT {calls} FROM t WINDOW w AS (PARTITION BY {long})"
        ));
        assert!(said.contains("longer than a mebibyte"), "{said}");
    }
}
