//! What was verified, and what takes that: reading private rows, and binding what came out to how far it moves.

use super::defect::{Defect, Kind};
use super::judgement::{Owner, Places, Rows};
use super::release::{Number, check, sensitivity};
use super::{Leaf, Leaves, Node, Part, Plan, judge};
use accounting::{Neighbors, PrivacyUnit};
use bound::operators::{Operator, operator};
use datafusion::arrow::array::RecordBatch;
use datafusion::error::Result as EngineResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::{collect, execute_stream};
use mechanism::{Aggregate, Sensitive, Sensitivity};
use noise::Grid;
use std::sync::Arc;

/// Plans that were verified, with what is released of them. Only this crate makes one.
///
/// ```compile_fail,E0451
/// fn made_up(unit: accounting::PrivacyUnit) -> verify::Verified {
///     verify::Verified { parts: Vec::new(), unit }
/// }
/// ```
#[derive(Debug)]
pub struct Verified {
    pub(crate) parts: Vec<Proved>,
    pub(crate) unit: PrivacyUnit,
}

/// One part of a question.
#[derive(Debug)]
pub(crate) struct Proved {
    tree: Node,
    claims: Vec<Claim>,
}

/// A number of a plan, how far it moves as was claimed, and how far it moves as the plan enforces it.
#[derive(Debug)]
struct Claim {
    drawn: usize,
    number: Number,
    claimed: Sensitivity,
    computed: Sensitivity,
}

impl Proved {
    pub(crate) fn new(part: &Part<'_>, leaves: &Leaves<'_>, neighbors: Neighbors) -> Result<Self, Defect> {
        let mut judged = part.plans.iter().map(|plan| judge(plan, leaves));
        let none = || Defect::new(Kind::Number, "a part without a plan");
        let (judgement, tree) = judged.next().ok_or_else(none)??;
        let claim = |release: &super::Release<'_>| {
            Ok(Claim {
                drawn: release.drawn,
                number: release.number,
                claimed: release.sensitivity.clone(),
                computed: check(&judgement.rows, release, neighbors)?,
            })
        };
        let claims = part.releases.iter().map(claim).collect::<Result<_, Defect>>()?;
        let proved = Self { tree, claims };
        judged.try_for_each(|other| proved.holds_of(&other?.0.rows, neighbors))?;
        Ok(proved)
    }

    /// Whether the numbers of these rows move no further than was claimed.
    fn holds_of(&self, rows: &Rows, neighbors: Neighbors) -> Result<(), Defect> {
        self.claims.iter().try_for_each(|claim| {
            match claim.claimed.covers(&sensitivity(rows, claim.number, neighbors)?) {
                true => Ok(()),
                false => Err(Defect::new(Kind::Sensitivity, format!("{:?}", claim.number))),
            }
        })
    }
}

impl Verified {
    /// For each part, what was derived of its operators.
    pub fn trees(&self) -> impl Iterator<Item = &Node> {
        self.parts.iter().map(|part| &part.tree)
    }

    /// For each part and each of its releases, how far one unit moves it, as the plan enforces it.
    pub fn sensitivities(&self) -> impl Iterator<Item = Vec<&Sensitivity>> {
        let parts = self.parts.iter();
        parts.map(|part| part.claims.iter().map(|claim| &claim.computed).collect())
    }

    /// For each part and each of its releases, its place among all, how far one unit moves it as was claimed, and as the plan enforces it.
    pub fn claims(&self) -> impl Iterator<Item = Vec<(usize, &Sensitivity, &Sensitivity)>> {
        let parts = self.parts.iter();
        parts.map(|part| {
            let claims = part.claims.iter();
            claims
                .map(|one| (one.drawn, &one.claimed, &one.computed))
                .collect()
        })
    }

    /// A plan of a part that may read private rows now.
    ///
    /// # Errors
    /// As [`super::verify`]: a plan that is made after the charge is looked at like those before.
    pub fn readable(&self, part: usize, plan: Plan, leaves: &Leaves<'_>) -> Result<Readable, Defect> {
        let none = || Defect::new(Kind::Number, "a part that was not verified");
        let proved = self.parts.get(part).ok_or_else(none)?;
        let (judgement, _) = judge(&plan, leaves)?;
        proved.holds_of(&judgement.rows, self.unit.neighbors)?;
        Ok(Readable { plan })
    }

    /// Exact numbers, bound to how far one unit moves them. `drawn` is the release that they are for.
    ///
    /// # Errors
    /// If there is no such release.
    pub fn aggregate<T>(&self, drawn: usize, exact: T, grid: Grid) -> Result<Aggregate<T>, Defect> {
        let mut claims = self.parts.iter().flat_map(|part| &part.claims);
        let claim = claims.find(|claim| claim.drawn == drawn);
        let claim = claim.ok_or_else(|| Defect::new(Kind::Number, "a release that was not verified"))?;
        let exact = Sensitive::new(exact);
        Ok(Aggregate::claimed(
            exact,
            claim.claimed.clone(),
            self.unit.clone(),
            grid,
        ))
    }
}

/// A plan that may read private rows, once. Only this crate makes one.
///
/// ```compile_fail,E0451
/// fn made_up(plan: std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>) -> verify::Readable {
///     verify::Readable { plan }
/// }
/// ```
#[derive(Debug)]
pub struct Readable {
    plan: Plan,
}

impl Readable {
    /// Runs it, and gives its rows.
    ///
    /// # Errors
    /// When the engine fails.
    pub async fn collect(self, context: Arc<TaskContext>) -> EngineResult<Vec<RecordBatch>> {
        collect(self.plan, context).await
    }

    /// Runs it, and gives its rows as they come.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn stream(self, context: Arc<TaskContext>) -> EngineResult<SendableRecordBatchStream> {
        execute_stream(self.plan, context)
    }

    /// The plan, for other machines to run.
    pub fn into_plan(self) -> Plan {
        self.plan
    }
}

/// A plan whose rows are read as rows of units: those of the owner in a column, or each row that of another.
///
/// # Errors
/// As [`super::verify`], or when they are rows of others.
pub fn owned(plan: Plan, leaves: &Leaves<'_>, owner: Option<usize>) -> Result<Readable, Defect> {
    let (judgement, _) = judge(&plan, leaves)?;
    let holds = match (&judgement.rows, owner) {
        (Rows::Owned(rows), Some(column)) => rows.is_owner(column),
        (Rows::Owned(rows), None) => rows.owner == Owner::Hidden && rows.rows_in(&Places::new()) == Some(1),
        _ => false,
    };
    match holds {
        true => Ok(Readable { plan }),
        false => Err(Defect::new(Kind::Owner, "rows that are not those of the owner")),
    }
}

/// A plan that reads no private table, whatever its operators are.
///
/// # Errors
/// When it reads one, or a table that nobody knows.
pub fn public(plan: Plan, leaves: &Leaves<'_>) -> Result<Readable, Defect> {
    fn check(plan: &Plan, leaves: &Leaves<'_>) -> Result<(), Defect> {
        if let Some(Operator::Label(label)) = operator(plan.as_ref())
            && !matches!(leaves(plan), Some(Leaf::Public { .. }))
        {
            return Err(Defect::new(Kind::Scan, label));
        }
        plan.children()
            .into_iter()
            .try_for_each(|child| check(child, leaves))
    }
    check(&plan, leaves)?;
    Ok(Readable { plan })
}
