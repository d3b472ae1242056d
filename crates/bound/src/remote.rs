//! Plans that run on other machines: which operator bounds, how its rows are to reach it there, and both the operator and our functions as bytes.
//!
//! # Privacy
//! Claim: [`over_dealt`] gives the totals of the operator that it is made of, if every part of its input holds all rows of the units of which it holds any.
//! Proof: what a unit adds is a function of its own rows and of the key ([`super`]); here all of them are in one part, and one thread keeps their states. The totals are sums over
//! units, which commute, so that it does not matter how many parts there are, nor which unit is in which, nor that the totals of several operators are summed later.
//! The condition is up to who builds the exchange: `cluster::spread`.
//!
//! Claim: where the rows of an operator are in any parts on any machines, [`joined`] over [`over_sorted_parts`] gives the totals of the operator, or fails as the operator itself does
//! where rows are not sorted.
//! Proof: each part checks that its units ascend, so that the rows of a unit follow each other in it. It adds up the units between its first and its last, and hands on the states of those
//! two with the two units themselves. Joining compares the spans of all parts: unless each begins where the one before ends, or after, it fails. So no unit but the first or last of a part is
//! in two parts, and all states of those are joined before they are bounded: states are sums modulo 2⁶⁴ of a unit's rows in the groups of smallest hash, and a group that a part dropped has as many smaller ones there, so that it is not among the smallest of all parts either.
//! The condition, that each row is in one part, is up to who deals out files: `cluster::spread`.
//! Audited by: `tests::dealt`, and in `sql` by the tests that hold the engines against each other.

use super::canonical::{Canonical, CanonicalForm};
use super::exec::BoundExec;
use super::node::Native;
use super::planner::bounding;
use super::{Beside, Kind, Length, Partial, Rule, Secret, ValueGrid, canonical_form_of, grid_of, rules};
use datafusion::arrow::datatypes::DataType;
use datafusion::catalog::Session;
use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::ScalarUDF;
use datafusion::physical_plan::ExecutionPlan;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How the rows of a unit have to reach an operator that bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Each unit has one row: it does not matter where.
    Nothing,
    /// All rows of a unit in one place; the unit is the first column.
    UnitsTogether,
    /// Parts of the rows in any place, each sorted by unit, and what they give in one place.
    SortedParts,
}

/// Whether an operator bounds, and what it needs.
pub fn needs(plan: &Arc<dyn ExecutionPlan>) -> Option<Needs> {
    let bounding = plan.downcast_ref::<BoundExec>()?;
    Some(match bounding.native() {
        Native::Single => Needs::Nothing,
        Native::Clustered => Needs::SortedParts,
        Native::Partitioned | Native::Dealt => Needs::UnitsTogether,
        // These are spread already.
        Native::SortedParts | Native::JoinedParts => return None,
    })
}

/// An operator that bounds, over rows that were dealt out: each part of the input has all rows of the units of which it has any.
///
/// # Errors
/// If the operator does not bound.
pub fn over_dealt(
    plan: &Arc<dyn ExecutionPlan>,
    dealt: Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    bounding_over(plan, dealt, Native::Dealt)
}

/// An operator that bounds, over some of its rows, which are sorted by unit in each part. What it gives is for [`joined`] to read.
///
/// # Errors
/// If the operator does not bound.
pub fn over_sorted_parts(
    plan: &Arc<dyn ExecutionPlan>,
    parts: Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    bounding_over(plan, parts, Native::SortedParts)
}

/// The operator whose parts gave what [`over_sorted_parts`] gives: all of it, each row once.
///
/// # Errors
/// If the operator does not bound.
pub fn joined(
    plan: &Arc<dyn ExecutionPlan>,
    parts: Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    bounding_over(plan, parts, Native::JoinedParts)
}

fn bounding_over(
    plan: &Arc<dyn ExecutionPlan>,
    input: Arc<dyn ExecutionPlan>,
    native: Native,
) -> Result<Arc<dyn ExecutionPlan>> {
    match plan.downcast_ref::<BoundExec>() {
        Some(bounding) => Ok(Arc::new(bounding.over(input, native))),
        None => plan_err!("{} does not bound anything", plan.name()),
    }
}

/// Whether all that a plan reads is in memory, and public.
pub fn is_public(plan: &Arc<dyn ExecutionPlan>) -> bool {
    rules::in_memory(plan)
}

/// Refuses a plan that has an operator that is neither an exchange nor on the closed list of what may see private rows.
///
/// # Errors
/// With the name of the operator.
pub fn check(
    plan: &Arc<dyn ExecutionPlan>,
    is_exchange: &dyn Fn(&Arc<dyn ExecutionPlan>) -> bool,
) -> Result<()> {
    rules::check_with(plan, is_exchange)
}

/// The settings that the closed lists rely on.
pub fn configure(options: &mut ConfigOptions) {
    rules::configure(options);
}

/// An operator that bounds, without its input. The types of units and keys are those of the input's columns.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Operator {
    native: Native,
    keys: usize,
    partials: Vec<Partial>,
    groups: Option<u64>,
    lengths: Vec<Length>,
    beside: Option<Beside>,
    /// Chooses which groups count. Whoever executes the operator has to know it.
    secret: String,
}

/// An operator that bounds as bytes, or nothing if it is another one. They hold the key of the query: nobody but who executes it may see them.
///
/// # Errors
/// If they cannot be written.
pub fn operator_to_bytes(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Vec<u8>>> {
    let Some(bounding) = plan.downcast_ref::<BoundExec>() else {
        return Ok(None);
    };
    let rule = bounding.rule();
    let operator = Operator {
        native: bounding.native(),
        keys: rule.keys.len(),
        partials: rule.partials.clone(),
        groups: rule.groups,
        lengths: rule.lengths.clone(),
        beside: rule.beside.clone(),
        secret: rule.secret.digits().to_owned(),
    };
    serde_json::to_vec(&operator).map(Some).map_err(|_| unreadable())
}

/// The operator that [`operator_to_bytes`] wrote, over its input.
///
/// # Errors
/// If the bytes are not those of an operator, or do not fit the input.
pub fn operator_from_bytes(
    bytes: &[u8],
    input: Arc<dyn ExecutionPlan>,
    session: &dyn Session,
) -> Result<Arc<dyn ExecutionPlan>> {
    let operator: Operator = serde_json::from_slice(bytes).map_err(|_| unreadable())?;
    let schema = input.schema();
    let mut types = schema.fields().iter().map(|field| field.data_type().clone());
    let known = |data_type: &DataType| Kind::of(data_type).is_some_and(|kind| kind.data_type() == *data_type);
    let unit = types.next().filter(known).ok_or_else(unreadable)?;
    let keys: Vec<DataType> = types.by_ref().take(operator.keys).collect();
    let arguments: Vec<DataType> = types.collect();
    let fits = keys.len() == operator.keys
        && keys.iter().all(known)
        && arguments.iter().all(|argument| *argument == DataType::Int64)
        && operator.groups != Some(0)
        // Its input has other columns, and it is never sent.
        && operator.native != Native::JoinedParts
        && (operator.native != Native::Single || (operator.beside.is_none() && operator.lengths.is_empty()));
    let rule = Rule {
        unit,
        keys,
        partials: operator.partials,
        groups: operator.groups,
        lengths: operator.lengths,
        beside: operator.beside,
        secret: Secret::new(operator.secret)?,
    };
    if !fits || !rule.makes_sense(arguments.len()) {
        return Err(unreadable());
    }
    Ok(Arc::new(bounding(input, rule, operator.native, session)?))
}

/// A function of this crate.
#[derive(Serialize, Deserialize)]
enum Function {
    /// Floats as bits.
    CanonicalFloat(Option<[u64; 2]>),
    CanonicalText,
    CanonicalIdentifier,
    CanonicalInteger,
    OnGrid {
        integers: bool,
        exponent: i32,
        low: i64,
        high: i64,
    },
}

/// A function of this crate as bytes, or nothing if it is not one.
pub fn function_to_bytes(function: &ScalarUDF) -> Option<Vec<u8>> {
    let function = match (canonical_form_of(function), grid_of(function)) {
        (Some(CanonicalForm::Float(bounds)), _) => {
            Function::CanonicalFloat(bounds.map(|ends| ends.map(f64::to_bits)))
        }
        (Some(CanonicalForm::Text), _) => Function::CanonicalText,
        (Some(CanonicalForm::Identifier), _) => Function::CanonicalIdentifier,
        (Some(CanonicalForm::Integer), _) => Function::CanonicalInteger,
        (None, Some(grid)) => Function::OnGrid {
            integers: grid.kind == Kind::Int,
            exponent: grid.exponent,
            low: grid.low,
            high: grid.high,
        },
        (None, None) => return None,
    };
    serde_json::to_vec(&function).ok()
}

/// The function that [`function_to_bytes`] wrote.
///
/// # Errors
/// If the bytes are not those of a function.
pub fn function_from_bytes(bytes: &[u8]) -> Result<ScalarUDF> {
    let function: Function = serde_json::from_slice(bytes).map_err(|_| unreadable())?;
    let canonical = |form| Ok(Canonical::function(form));
    match function {
        Function::CanonicalFloat(bounds) => {
            canonical(CanonicalForm::Float(bounds.map(|ends| ends.map(f64::from_bits))))
        }
        Function::CanonicalText => canonical(CanonicalForm::Text),
        Function::CanonicalIdentifier => canonical(CanonicalForm::Identifier),
        Function::CanonicalInteger => canonical(CanonicalForm::Integer),
        Function::OnGrid { low, high, .. } if low > high => Err(unreadable()),
        Function::OnGrid {
            integers,
            exponent,
            low,
            high,
        } => Ok(ValueGrid {
            kind: if integers { Kind::Int } else { Kind::Float },
            exponent,
            low,
            high,
        }
        .function()),
    }
}

fn unreadable() -> datafusion::error::DataFusionError {
    plan_datafusion_err!(
        "a part of a plan cannot be read\nhint: the coordinator and its workers must be of the same version"
    )
}
