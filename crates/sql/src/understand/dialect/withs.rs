//! What WITH unfolds to, counted before anything unfolds it.
//!
//! The engine's planner puts the plan of a WITH wherever its name stands. So a short text can stand for a plan that doubles with each line, or that is as deep as
//! the text has lines, and whatever walks the plan afterwards recurses once a level.

use super::NESTING;
use crate::Error;
use datafusion::sql::sqlparser::ast::{ObjectName, Query, Visit, Visitor};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// How often tables may be mentioned, those behind a WITH once for each use. Mentions of private tables are counted again, more strictly, when it is known which they are.
const MENTIONS: usize = 1024;

/// Refuses a query whose plan would be too large or too deep to be made.
pub(super) fn check(query: &Query) -> Result<(), Error> {
    match query.visit(&mut Walk::default()) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// What a query unfolds to.
#[derive(Clone, Copy, Default)]
struct Size {
    /// Queries above one another.
    depth: usize,
    /// Tables that are mentioned.
    mentions: usize,
}

/// A query that is being walked.
#[derive(Default)]
struct Frame {
    /// The queries of its own WITH, by their place in memory, and their names.
    defined: Vec<(*const Query, String)>,
    /// Those of them that were walked.
    known: BTreeMap<String, Size>,
    /// What was met outside of them.
    size: Size,
}

impl Frame {
    fn add(&mut self, size: Size) {
        self.size.depth = self.size.depth.max(size.depth);
        self.size.mentions = self.size.mentions.saturating_add(size.mentions);
    }
}

#[derive(Default)]
struct Walk {
    frames: Vec<Frame>,
}

impl Visitor for Walk {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Error> {
        let withs = query.with.iter().flat_map(|with| &with.cte_tables);
        self.frames.push(Frame {
            defined: withs
                .map(|cte| {
                    let place: *const Query = &*cte.query;
                    (place, cte.alias.name.value.to_lowercase())
                })
                .collect(),
            ..Frame::default()
        });
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<Error> {
        let Some(frame) = self.frames.pop() else {
            return ControlFlow::Continue(());
        };
        let size = Size {
            depth: frame.size.depth + 1,
            ..frame.size
        };
        if size.depth > NESTING {
            return ControlFlow::Break(Error::refused(
                format!("more than {NESTING} queries are built on one another by WITH and subqueries"),
                "say the same in fewer steps",
            ));
        }
        if size.mentions > MENTIONS {
            return ControlFlow::Break(Error::refused(
                format!("this query mentions tables more than {MENTIONS} times"),
                "unite and join fewer subqueries; a WITH counts once for each use",
            ));
        }
        if let Some(around) = self.frames.last_mut() {
            let named = around
                .defined
                .iter()
                .find(|(place, _)| std::ptr::eq(*place, query));
            match named.map(|(_, name)| name.clone()) {
                Some(name) => {
                    around.known.insert(name, size);
                }
                None => around.add(size),
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<Error> {
        let name = match relation.0.as_slice() {
            [part] => part.as_ident().map(|name| name.value.to_lowercase()),
            _ => None,
        };
        let known = name.and_then(|name| self.frames.iter().rev().find_map(|frame| frame.known.get(&name)));
        let size = known.copied().unwrap_or(Size {
            depth: 0,
            mentions: 1,
        });
        if let Some(frame) = self.frames.last_mut() {
            frame.add(size);
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use crate::understand::dialect::read;

    /// WITH a0 AS (…), a1 AS (… a0 …), … with this way to use the one before.
    fn chain(length: usize, step: &str) -> String {
        let steps: String = (1..=length)
            .map(|number| {
                let step = step.replace('?', &format!("a{}", number - 1));
                format!(", A{number} AS ({step})")
            })
            .collect();
        format!("WITH a0 AS (SELECT * FROM people){steps} SELECT COUNT(*) FROM a{length}")
    }

    #[test]
    fn withs_that_unfold_without_end_are_refused() {
        let refused = |sql: &str| read(sql).expect_err("the query was read").to_string();
        // Eight hundred million tables in 30 lines.
        let doubled = chain(30, "SELECT * FROM ? UNION ALL SELECT * FROM ?");
        assert!(refused(&doubled).contains("mentions tables more than 1024 times"));
        let joined = chain(30, "SELECT * FROM ? WHERE id IN (SELECT id FROM ?)");
        assert!(refused(&joined).contains("more than 1024 times"));
        let deep = chain(200, "SELECT * FROM ?");
        assert!(refused(&deep).contains("more than 50 queries are built on one another"));
        // Each half is allowed.
        let half = chain(20, "SELECT * FROM ?");
        let nested = format!("{}{half}{}", "SELECT * FROM (".repeat(40), ") AS t".repeat(40));
        assert!(refused(&nested).contains("hint:"));
    }

    #[test]
    fn ordinary_withs_are_read() {
        for sql in [
            chain(40, "SELECT * FROM ?"),
            chain(9, "SELECT * FROM ? UNION ALL SELECT * FROM ?"),
            // A name that is used again inside means the inner one.
            "WITH a AS (SELECT * FROM people) SELECT COUNT(*) FROM (WITH a AS (SELECT * FROM a) SELECT * FROM a) AS t".to_owned(),
            "WITH a AS (SELECT * FROM people), b AS (SELECT * FROM a), c AS (SELECT * FROM a) SELECT COUNT(*) FROM b JOIN c USING (id)".to_owned(),
        ] {
            read(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
    }
}
