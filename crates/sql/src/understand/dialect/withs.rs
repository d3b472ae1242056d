//! What WITH unfolds to, counted before anything unfolds it.
//!
//! The engine's planner puts the plan of a WITH wherever its name stands. So a short text can stand for a plan that doubles with each line, or that is as deep as
//! the text has lines, and whatever walks the plan afterwards recurses once a level.

use super::NESTING;
use crate::Error;
use datafusion::sql::sqlparser::ast::{ObjectName, Query, Visit, Visitor};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// How often tables and queries may be mentioned, those behind a WITH once for each use. Mentions of private tables are counted again, more strictly, when it is known which they are.
const MENTIONS: usize = 2048;

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
    /// Tables that are mentioned, and queries: one that reads no table has a plan too.
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

/// The key of a name. The planner tells more names apart: it keeps the case of quoted ones, and lowers ASCII letters alone. Where several have one key, the largest counts,
/// so no spelling makes a query look smaller than it is.
fn key(parts: &[&str]) -> String {
    parts.join(".").to_lowercase()
}

impl Size {
    fn or_larger(self, other: Self) -> Self {
        Self {
            depth: self.depth.max(other.depth),
            mentions: self.mentions.max(other.mentions),
        }
    }
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
                    (place, key(&[&cte.alias.name.value]))
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
            mentions: frame.size.mentions.saturating_add(1),
        };
        if size.depth > NESTING {
            return ControlFlow::Break(Error::refused(
                format!("more than {NESTING} queries are built on one another by WITH and subqueries"),
                "say the same in fewer steps",
            ));
        }
        if size.mentions > MENTIONS {
            return ControlFlow::Break(Error::refused(
                format!("this query mentions tables and subqueries more than {MENTIONS} times"),
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
                    let known = around.known.entry(name).or_default();
                    *known = known.or_larger(size);
                }
                None => around.add(size),
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<Error> {
        let parts: Option<Vec<&str>> = relation
            .0
            .iter()
            .map(|part| Some(part.as_ident()?.value.as_str()))
            .collect();
        let mention = Size {
            depth: 0,
            mentions: 1,
        };
        let size = parts.map_or(mention, |parts| {
            let key = key(&parts);
            let known = self.frames.iter().filter_map(|frame| frame.known.get(&key));
            known.fold(mention, |largest, size| largest.or_larger(*size))
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
        assert!(refused(&doubled).contains("mentions tables and subqueries more than 2048 times"));
        let joined = chain(30, "SELECT * FROM ? WHERE id IN (SELECT id FROM ?)");
        assert!(refused(&joined).contains("more than 2048 times"));
        let deep = chain(200, "SELECT * FROM ?");
        assert!(refused(&deep).contains("more than 50 queries are built on one another"));
        // No table, other spellings, and a name with a dot: each is the same plan to the planner.
        let double = "SELECT * FROM ? UNION ALL SELECT * FROM ?";
        let without_table = chain(40, double).replace("SELECT * FROM people", "SELECT 1 AS x");
        assert!(refused(&without_table).contains("more than 2048 times"));
        for (small, name) in [("\"A12\"", "a12"), ("\u{c4}12", "\u{e4}12")] {
            let spelled = chain(30, double).replace("a12", name).replace("A12", name);
            let hidden = spelled.replacen(", A13 AS", &format!(", {small} AS (SELECT 1 AS x), A13 AS"), 1);
            assert_ne!(hidden, spelled);
            assert!(refused(&hidden).contains("more than 2048 times"), "{small}");
        }
        let dotted: String = (1..=30)
            .map(|number| {
                let before = number - 1;
                format!(
                    ", \"s.a{number}\" AS (SELECT * FROM s.a{before} UNION ALL SELECT * FROM s.a{before})"
                )
            })
            .collect();
        let dotted = format!("WITH \"s.a0\" AS (SELECT * FROM people){dotted} SELECT COUNT(*) FROM s.a30");
        assert!(refused(&dotted).contains("more than 2048 times"));
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
