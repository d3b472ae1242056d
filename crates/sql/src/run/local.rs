//! The engine of this program: reads all rows, and computes here.

use crate::run::engines::Engines;
use crate::run::facts::{Facts, too_late};
use crate::understand::mistakes::unplannable;
use crate::values::facts::Kind;
use crate::{Error, sources};
use bound::{is_not_clustered, rows_of_texts, texts_in};
use datafusion::arrow::array::RecordBatch;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::DataFusionError;
use datafusion::execution::{SessionState, TaskContext};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;
use std::sync::Arc;
use verify::{Readable, Verified};

/// A plan over data that the engine, or the closed list of operators, does not take. Of what is said about it the first line alone is reported: the rest may print the plan,
/// in which are the places of the curator's files.
fn unexecutable(error: DataFusionError) -> Error {
    let said = error.strip_backtrace();
    Error::refused(
        format!(
            "the engine cannot execute this: {}",
            said.lines().next().unwrap_or_default()
        ),
        "write it in a simpler way, for example with a subquery for each step; nothing was charged",
    )
}

/// A step of a query has this many texts at once at most.
const MOST_TEXTS: usize = 1024;

/// The most texts that any step of a plan has of one row: those that it gives, and those that it computes on the way. What the texts of a batch take is bounded by how many rows it has.
fn most_texts(plan: &LogicalPlan) -> Result<usize, Error> {
    let mut most = 0;
    let walked = plan.apply_with_subqueries(|node| {
        let inputs: Vec<_> = node
            .inputs()
            .iter()
            .map(|input| input.schema().as_ref().clone())
            .collect();
        let mut known = DFSchema::empty();
        inputs.iter().for_each(|input| known.merge(input));
        let computed = node
            .expressions()
            .iter()
            .map(|expr| texts_of(expr, &known))
            .sum::<usize>();
        most = most.max(computed.max(texts_in(node.schema().as_arrow())));
        Ok(TreeNodeRecursion::Continue)
    });
    walked.map_err(unplannable)?;
    if most > MOST_TEXTS {
        return Err(Error::refused(
            format!(
                "a step of this query handles {most} texts of each row, and at most {MOST_TEXTS} are allowed"
            ),
            "ask for fewer columns of text at once",
        ));
    }
    Ok(most)
}

/// Whether an expression, or what an aggregate is computed of, is text.
fn texts_of(expr: &Expr, known: &DFSchema) -> usize {
    let is_text = |expr: &Expr| {
        let data_type = expr.get_type(known);
        usize::from(data_type.is_ok_and(|data_type| Kind::of(&data_type) == Some(Kind::Text)))
    };
    match expr.clone().unalias() {
        Expr::AggregateFunction(call) => call.params.args.iter().map(is_text).sum(),
        expr => is_text(&expr),
    }
}

/// Has the engine plan the execution of a plan over data, in batches of as many rows as its texts allow.
///
/// # Errors
/// If it has too many texts, or an operator that is not on the closed list.
pub(crate) async fn planned(
    plan: &LogicalPlan,
    mut state: SessionState,
) -> Result<(Arc<dyn ExecutionPlan>, SessionState), Error> {
    let needed = state.optimize(plan).map_err(unplannable)?;
    let texts = most_texts(&needed)?;
    let rows = state.config().batch_size().min(rows_of_texts(texts));
    *state.config_mut() = state.config().clone().with_batch_size(rows);
    let planner = Arc::clone(state.query_planner());
    let planned = planner.create_physical_plan(&needed, &state).await;
    Ok((planned.map_err(unexecutable)?, state))
}

/// What lets plans over private rows run: that the question was verified, which of its parts this is, and what is said of scans.
#[derive(Clone, Copy)]
pub(crate) struct Leave<'a> {
    pub(crate) verified: &'a Verified,
    pub(crate) part: usize,
    pub(crate) facts: &'a Facts,
}

impl Leave<'_> {
    /// Leave to run this plan.
    ///
    /// # Errors
    /// If it is none that was verified, and does not hold what was.
    pub(crate) fn readable(&self, plan: Arc<dyn ExecutionPlan>) -> Result<Readable, Error> {
        #[cfg(test)]
        if crate::mutants::is_unverified() {
            let nobodys = |_: &Arc<dyn ExecutionPlan>| Some(verify::Leaf::Public { unique: Vec::new() });
            return verify::public(plan, &nobodys).map_err(too_late);
        }
        let leaves = |scan: &Arc<dyn ExecutionPlan>| self.facts.leaf(scan);
        let readable = self.verified.readable(self.part, plan, &leaves);
        readable.map_err(too_late)
    }

    /// Leave for the next part.
    pub(crate) fn next(&mut self) -> Self {
        let now = *self;
        self.part += 1;
        now
    }
}

/// One plan over data, and what to do when it does not run to its end.
///
/// Whether there is an answer must not depend on any one person. So rows that are not sorted as the catalog promises are read again in any order, and a plan that
/// ran out of memory is given more. The result is the same to the last bit, since every attempt uses the same key; that there was more than one shows in the time alone.
pub(crate) struct Step {
    plan: LogicalPlan,
    /// The same for rows in any order.
    unsorted: Option<LogicalPlan>,
    /// Both as the engine would run them now.
    planned: Arc<dyn ExecutionPlan>,
    planned_unsorted: Option<Arc<dyn ExecutionPlan>>,
    context: Arc<TaskContext>,
}

impl Step {
    /// A plan over data, which the engine takes.
    pub(crate) async fn new(
        plan: LogicalPlan,
        unsorted: Option<LogicalPlan>,
        session: &SessionContext,
    ) -> Result<Self, Error> {
        let planned_unsorted = match &unsorted {
            Some(unsorted) => Some(planned(unsorted, session.state()).await?.0),
            None => None,
        };
        let (planned, state) = planned(&plan, session.state()).await?;
        Ok(Self {
            planned,
            planned_unsorted,
            context: state.task_ctx(),
            plan,
            unsorted,
        })
    }

    /// The plans that it may run.
    pub(crate) fn plans(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        std::iter::once(&self.planned)
            .chain(&self.planned_unsorted)
            .collect()
    }

    /// How many rows it handles at once.
    #[cfg(test)]
    pub(crate) fn batch_size(&self) -> usize {
        self.context.session_config().batch_size()
    }

    /// How many of its operators read a source.
    #[cfg(test)]
    pub(crate) fn scans(&self) -> usize {
        fn leaves(plan: &Arc<dyn ExecutionPlan>) -> usize {
            match plan.children().as_slice() {
                [] => 1,
                children => children.iter().map(|child| leaves(child)).sum(),
            }
        }
        leaves(&self.planned)
    }

    /// Runs it to its end.
    pub(crate) async fn run(
        mut self,
        engines: &Engines,
        leave: Leave<'_>,
    ) -> Result<Vec<RecordBatch>, Error> {
        let mut attempt = 0;
        loop {
            let failure = match leave.readable(self.planned)?.collect(self.context).await {
                Ok(batches) => return Ok(batches),
                Err(failure) => failure,
            };
            if is_not_clustered(&failure)
                && let Some(unsorted) = self.unsorted.take()
            {
                self.plan = unsorted;
            } else if matches!(failure.find_root(), DataFusionError::ResourcesExhausted(_)) {
                attempt += 1;
            } else {
                return Err(sources::incident("the tables", &failure));
            }
            let Some(session) = engines.private(attempt)? else {
                return Err(sources::incident("the tables", &failure));
            };
            self = Self::new(self.plan, self.unsorted, &session).await?;
        }
    }
}
