//! What makes two questions the same: that they release the same statistics of the same rows.
//!
//! A question is compared by what it means below the frontier, not by how it is written: names given with AS are gone, columns are what they are of the tables, and
//! whatever may stand in any order is put in one. What is above the frontier is no part of it, since it is computed anew from what was released.
//!
//! Every part of a plan gets a [`Mark`], a hash of what it computes. A relation has the mark of its rows and one for each of its columns, which says what function
//! of a row the column is. So a projection changes marks of columns alone, and an alias changes nothing.
//!
//! Each rule keeps the meaning of SQL over total expressions, of which no order of evaluation can be seen: AND and OR are associative, commutative and idempotent
//! in three-valued logic; `=`, `<>`, `+` and `*` are commutative, on floats too (and not associative, so sums are not flattened); `a > b` is `b < a`; a list of constants of one
//! type after IN is a chain of OR, and after NOT IN one of AND (constants of several types are compared in a type of their own, so such a list is a set of its own); BETWEEN is two
//! comparisons where its ends are constants of one type, for the same reason; NOT turns a comparison, whose order is total, into its opposite, AND into OR, and IS NULL into IS NOT NULL; ORDER BY without LIMIT keeps rows; keys of
//! GROUP BY are a set. A subquery is compared as it is written, together with what the outer columns are that it names. What no rule knows is compared as it is written, names and
//! all: two questions that are the same may be taken for different ones and paid twice. Should two that differ be taken for the same, the second gets the answer of
//! the first: wrong, but paid for.

mod conditions;
mod releases;
mod rows;

pub(crate) use releases::Marks;

use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{LogicalPlan, lit};
use sha2::{Digest, Sha256};

/// A hash of what something computes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark([u8; 32]);

impl Mark {
    pub(crate) fn hexadecimal(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl std::fmt::Debug for Mark {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.hexadecimal()[..8])
    }
}

/// Parts of a hash, each after its length, so that no two lists of parts are hashed alike.
struct Parts(Sha256);

impl Parts {
    fn of(what: &str) -> Self {
        Self(Sha256::new()).text(what)
    }

    fn text(mut self, text: &str) -> Self {
        self.0.update((text.len() as u64).to_be_bytes());
        self.0.update(text.as_bytes());
        self
    }

    fn debug(self, value: impl std::fmt::Debug) -> Self {
        self.text(&format!("{value:?}"))
    }

    fn mark(mut self, mark: Mark) -> Self {
        self.0.update(mark.0);
        self
    }

    fn marks(self, marks: impl IntoIterator<Item = Mark>) -> Self {
        let marks: Vec<Mark> = marks.into_iter().collect();
        let counted = self.debug(marks.len());
        marks.into_iter().fold(counted, Self::mark)
    }

    fn end(self) -> Mark {
        Mark(self.0.finalize().into())
    }
}

/// A plan as it is written, so that no two plans have one mark. What the engine prints of a plan is for people: it cuts long lists, and does not escape texts. So operators
/// and expressions are written one by one, each part with its length before it, and expressions from their leaves up, as in a postfix notation: what was written already
/// stands as NULL in what is written next. So each part is written once, however deep it lies.
pub(crate) fn as_written(plan: &LogicalPlan) -> Result<Mark, DataFusionError> {
    let mut parts = Parts::of("plan");
    let mut add = |text: &str| {
        let before = std::mem::replace(&mut parts, Parts(Sha256::new()));
        parts = before.text(text);
    };
    plan.apply_with_subqueries(|node| {
        let expressions = node.expressions();
        add(&node.display().to_string());
        add(&format!("{} {}", node.inputs().len(), expressions.len()));
        for expression in expressions {
            expression.transform_up(|part| {
                let mut below = 0u64;
                part.apply_children(|_| {
                    below += 1;
                    Ok(TreeNodeRecursion::Continue)
                })?;
                add(&format!("{} {below}", part.variant_name()));
                add(&part.to_string());
                Ok(Transformed::yes(lit(ScalarValue::Null)))
            })?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(parts.end())
}

/// Which meaning of SQL a saved answer is of: raised when the same words come to mean something else, as when integers were first divided without a fraction. That
/// further ways to write a question are taken for the same is no reason: what was answered under a mark that is still made is still the answer. That a mark was given to
/// questions which differ is one: what was saved under it may be the answer to another.
const MEANING: &str = "3";

/// The mark of a whole question: what its parts release, in any order.
pub(crate) fn together(mut releases: Vec<Mark>) -> Mark {
    releases.sort();
    Parts::of("question").text(MEANING).marks(releases).end()
}
