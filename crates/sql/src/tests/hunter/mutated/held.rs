//! A plan over rows of people, run on all of them and on each alone, and held against what the verifier says of it.

use super::super::Seeded;
use super::mutations::{Plan, is_number, over};
use accounting::Neighbors;
use bound::operators::{Operator, operator};
use datafusion::arrow::array::{Array, AsArray, BooleanArray, RecordBatch, UInt32Array, new_null_array};
use datafusion::arrow::compute::{concat_batches, filter_record_batch, take_record_batch};
use datafusion::arrow::datatypes::{DataType, Int64Type, Schema};
use datafusion::catalog::memory::{DataSourceExec, MemorySourceConfig};
use datafusion::common::{Result, ScalarValue};
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::collect;
use exact::{Integer, Rational};
use mechanism::Sensitivity;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use verify::{Leaf, Leaves, Naming, Node, Number, Rule, derive, sensitivity};

/// What was found, in words.
type Outcome<T> = std::result::Result<T, String>;

/// The column of people's names in the table of private rows.
pub(super) const OWNER: &str = "u";

/// The rows of a scan in memory.
fn held_rows(plan: &Plan) -> Option<&MemorySourceConfig> {
    plan.downcast_ref::<DataSourceExec>()?
        .data_source()
        .downcast_ref()
}

fn column(schema: &Schema, name: &str) -> Option<usize> {
    schema.fields().iter().position(|field| field.name() == name)
}

/// What is true of the scans: each row of the private table is owned by its column `u`; what has another name was read before, and is public, as are the rows that a change brings in.
pub(super) fn truth(scan: &Plan, rows: Option<u64>) -> Option<Leaf> {
    let owned = || Leaf::Private {
        owner: Naming::Column(OWNER.to_owned()),
        rows,
        keys: Vec::new(),
    };
    let public = || Leaf::Public { unique: Vec::new() };
    match operator(scan.as_ref()) {
        Some(Operator::Label("t")) => Some(owned()),
        Some(Operator::Label(_)) => Some(public()),
        _ => column(&held_rows(scan)?.original_schema(), OWNER)
            .is_none()
            .then(public),
    }
}

/// A number that may be released, with how far it moves as the verifier says.
struct Released {
    number: Number,
    added: Sensitivity,
    changed: Sensitivity,
}

/// What the verifier says of a plan that it accepts.
pub(super) struct Accepted {
    plan: Plan,
    keys: Vec<usize>,
    released: Vec<Released>,
    /// Counts of distinct values, which are not sums over units.
    distinct: bool,
}

impl Accepted {
    /// `None` where the plan is refused, or nothing of it may be released.
    pub(super) fn of(plan: &Plan, leaves: &Leaves<'_>) -> Option<Self> {
        let tree = derive(plan, leaves).ok()?;
        let (mut keys, mut released) = (Vec::new(), Vec::new());
        for (column, field) in plan.schema().fields().iter().enumerate() {
            let numbers = [
                Number::OfGroups(column),
                Number::OfAll(column),
                Number::Bins { column, levels: 1 },
            ];
            for number in numbers {
                let moves = |neighbors| sensitivity(plan, leaves, number, neighbors);
                match (moves(Neighbors::AddRemove), moves(Neighbors::ChangeOne)) {
                    (Ok(added), Ok(changed)) if is_number(field.data_type()) => released.push(Released {
                        number,
                        added,
                        changed,
                    }),
                    (Err(defect), _) if defect.at == "a column that is no number" => keys.push(column),
                    _ => {}
                }
            }
        }
        keys.dedup();
        let accepted = Self {
            plan: Arc::clone(plan),
            keys,
            released,
            distinct: has(&tree, Rule::Distincts),
        };
        (!accepted.released.is_empty()).then_some(accepted)
    }
}

fn has(tree: &Node, rule: Rule) -> bool {
    tree.rule == rule || tree.inputs.iter().any(|input| has(input, rule))
}

/// The values of a group, and the number in it.
type Vector = BTreeMap<Vec<String>, i64>;

/// The numbers that a plan gives: for each release its vector.
type Numbers = Vec<Vector>;

/// Parts of such a plan may wait for each other for ever, and how long others take is no matter of additivity.
const STUCK: &str = "it does not end";

/// An operator that keeps the schema of the inputs that it was made over says of a column that it has no NULL. The verifier does not look at that, and the engine fails where one comes.
const STALE: &str = "is declared as non-nullable but contains null values";

/// Whose rows are run; nobody's have no name.
type Wanted<'a> = dyn Fn(Option<i64>) -> bool + 'a;

/// Runs plans.
pub(super) struct Runner<'a> {
    pub(super) runtime: &'a Runtime,
    pub(super) context: Arc<TaskContext>,
    /// Whether each person has the first of their rows alone.
    pub(super) one_row: bool,
    /// The column that names people in truth.
    pub(super) owner: &'static str,
}

impl Runner<'_> {
    /// The plan over those rows of private tables that these people have, dealt out anew.
    fn run(&self, accepted: &Accepted, wanted: &Wanted<'_>, seeded: &mut Seeded) -> Outcome<Numbers> {
        let plan = self.over(&accepted.plan, wanted, seeded)?;
        let run = async {
            tokio::time::timeout(Duration::from_secs(10), collect(plan, Arc::clone(&self.context))).await
        };
        let batches = self.runtime.block_on(run).map_err(|_| STUCK.to_owned())?;
        let batches = batches.map_err(|error| error.strip_backtrace())?;
        accepted
            .released
            .iter()
            .map(|one| numbers(accepted, one.number, &batches))
            .collect()
    }

    /// Holds what an accepted plan gives for everybody against what it gives for each.
    ///
    /// `Ok(false)` where nobody's rows can be run.
    pub(super) fn hold(&self, accepted: &Accepted, people: &[i64], seeded: &mut Seeded) -> Outcome<bool> {
        let mut alone = Vec::new();
        for person in people {
            alone.push(self.run(accepted, &|other| other == Some(*person), seeded));
        }
        let known = |name: Option<i64>| name.is_none_or(|name| people.contains(&name));
        let all = self.run(accepted, &known, seeded);
        let runs = || alone.iter().chain([&all]);
        let stuck = |run: &Outcome<Numbers>| {
            run.as_ref()
                .is_err_and(|error| error == STUCK || error.contains(STALE))
        };
        if runs().all(Outcome::is_err) || runs().any(stuck) {
            return Ok(false);
        }
        let failed = |error: String| format!("it fails for some people and not for others: {error}");
        let all = all.map_err(failed)?;
        let alone = alone.into_iter().collect::<Outcome<Vec<_>>>().map_err(failed)?;
        if accepted.distinct {
            let mut rest = Vec::new();
            for person in people {
                rest.push(
                    self.run(accepted, &|other| known(other) && other != Some(*person), seeded)
                        .map_err(failed)?,
                );
            }
            for (place, one) in accepted.released.iter().enumerate() {
                one.moves(rest.iter().map(|rest| (&all[place], &rest[place])), &one.added)?;
                one.moves(pairs(&rest, place), &one.changed)?;
            }
            return Ok(true);
        }
        let nothing = Vector::new();
        for (place, one) in accepted.released.iter().enumerate() {
            let mut sum = Vector::new();
            for (group, number) in alone.iter().flat_map(|alone| &alone[place]) {
                let so_far = sum.entry(group.clone()).or_insert(0i64);
                *so_far = so_far.wrapping_add(*number);
            }
            if let Some((all, parts)) = differ(&all[place], &sum) {
                return Err(format!(
                    "{:?} is {all} for all, and {parts} when people are added up",
                    one.number
                ));
            }
            one.moves(alone.iter().map(|alone| (&alone[place], &nothing)), &one.added)?;
            one.moves(pairs(&alone, place), &one.changed)?;
        }
        Ok(true)
    }
}

/// Each with each other.
fn pairs(all: &[Numbers], place: usize) -> impl Iterator<Item = (&Vector, &Vector)> {
    all.iter()
        .flat_map(move |one| all.iter().map(move |other| (&one[place], &other[place])))
}

impl Released {
    /// Whether no two of these are further apart than is said.
    fn moves<'a>(
        &self,
        pairs: impl Iterator<Item = (&'a Vector, &'a Vector)>,
        most: &Sensitivity,
    ) -> Outcome<()> {
        let whole = |value: u128| Rational::from(Integer::from(value));
        for (one, other) in pairs {
            let groups: BTreeSet<_> = one.keys().chain(other.keys()).collect();
            let at =
                |vector: &Vector, group: &Vec<String>| i128::from(vector.get(group).copied().unwrap_or(0));
            let moves: Vec<u128> = groups
                .into_iter()
                .map(|group| (at(one, group) - at(other, group)).unsigned_abs())
                .filter(|moved| *moved > 0)
                .collect();
            let largest = moves.iter().copied().max().unwrap_or(0);
            let squares = moves
                .iter()
                .try_fold(0u128, |sum, moved| sum.checked_add(moved.checked_mul(*moved)?));
            let far = moves.len() as u64 > most.coordinates()
                || whole(largest) > *most.l_infinity()
                || whole(moves.iter().sum()) > *most.l1()
                || squares.is_none_or(|squares| whole(squares) > *most.l2_squared());
            if far {
                return Err(format!(
                    "{:?} moves by {moves:?}, and the most is {most:?}",
                    self.number
                ));
            }
        }
        Ok(())
    }
}

/// Where two vectors differ; what is not there is zero.
fn differ(one: &Vector, other: &Vector) -> Option<(i64, i64)> {
    let groups = one.keys().chain(other.keys());
    let at = |vector: &Vector, group| vector.get(group).copied().unwrap_or(0);
    groups
        .map(|group| (at(one, group), at(other, group)))
        .find(|(one, other)| one != other)
}

/// A name that no two values share: days that no calendar has are all written alike.
fn named(value: &ScalarValue) -> String {
    match value {
        ScalarValue::Date32(day) => format!("{day:?}"),
        other => format!("{other:?}"),
    }
}

/// What a plan gives, as a release reads it.
fn numbers(accepted: &Accepted, number: Number, batches: &[RecordBatch]) -> Outcome<Vector> {
    let (column, together) = match number {
        Number::OfGroups(column) | Number::Bins { column, .. } => (column, false),
        Number::OfAll(column) => (column, true),
    };
    let mut vector = Vector::new();
    for batch in batches {
        let values = batch.column(column).as_primitive::<Int64Type>();
        for row in 0..batch.num_rows() {
            let key = |place: &usize| {
                ScalarValue::try_from_array(batch.column(*place), row).map(|value| named(&value))
            };
            let group: Vec<String> = match together {
                true => Vec::new(),
                false => accepted
                    .keys
                    .iter()
                    .map(key)
                    .collect::<Result<_>>()
                    .map_err(|error| error.to_string())?,
            };
            let value = if values.is_null(row) { 0 } else { values.value(row) };
            let so_far = vector.get(&group).copied();
            if so_far.is_some() && !together {
                return Err("a group is there twice".to_owned());
            }
            vector.insert(group, so_far.unwrap_or(0).wrapping_add(value));
        }
    }
    Ok(vector)
}

impl Runner<'_> {
    /// The plan, each of its operators made anew, over some of the private rows. They come in another order, and lie in other parts.
    fn over(&self, plan: &Plan, wanted: &Wanted<'_>, seeded: &mut Seeded) -> Outcome<Plan> {
        let failed = |error: DataFusionError| error.strip_backtrace();
        if let Some(rows) = held_rows(plan)
            && column(&rows.original_schema(), OWNER).is_some()
            && let Some(owner) = column(&rows.original_schema(), self.owner)
        {
            let kept = self.kept(rows, owner, wanted).map_err(failed)?;
            let parts = dealt(&kept, rows.partitions().len(), seeded).map_err(failed)?;
            let scan =
                MemorySourceConfig::try_new_exec(&parts, rows.original_schema(), rows.projection().clone());
            return Ok(scan.map_err(failed)?);
        }
        let children = plan
            .children()
            .into_iter()
            .map(|child| self.over(child, wanted, seeded));
        let children: Vec<Plan> = children.collect::<Outcome<_>>()?;
        let plan = Arc::clone(plan).reset_state().map_err(failed)?;
        over(&plan, children).ok_or_else(|| "it cannot be made anew".to_owned())
    }

    /// The rows of those who are wanted. Where nobody's are, two rows have no name.
    fn kept(&self, rows: &MemorySourceConfig, owner: usize, wanted: &Wanted<'_>) -> Result<RecordBatch> {
        let schema = rows.original_schema();
        let all = concat_batches(&schema, rows.partitions().iter().flatten())?;
        let owners = all.column(owner).as_primitive::<Int64Type>();
        let mut seen = BTreeSet::new();
        let first = |name: i64, seen: &mut BTreeSet<i64>| seen.insert(name) || !self.one_row;
        let kept = owners
            .iter()
            .map(|name| Some(name.is_some_and(|name| first(name, &mut seen)) && wanted(name)));
        let kept = filter_record_batch(&all, &kept.collect::<BooleanArray>())?;
        if !wanted(None) {
            return Ok(kept);
        }
        let mut nobody = all.slice(0, all.num_rows().min(2)).columns().to_vec();
        nobody[owner] = new_null_array(&DataType::Int64, nobody[owner].len());
        let nobody = RecordBatch::try_new(Arc::clone(&schema), nobody)?;
        Ok(concat_batches(&schema, [&kept, &nobody])?)
    }
}

/// The rows in another order and in so many parts.
fn dealt(rows: &RecordBatch, parts: usize, seeded: &mut Seeded) -> Result<Vec<Vec<RecordBatch>>> {
    let mut order: Vec<u32> = (0..rows.num_rows() as u32).collect();
    for place in 1..order.len() {
        order.swap(place, seeded.below(place + 1));
    }
    let mut dealt = vec![Vec::new(); parts.max(1)];
    for few in order.chunks(1 + seeded.below(5)) {
        let batch = take_record_batch(rows, &UInt32Array::from(few.to_vec()))?;
        let part = seeded.below(dealt.len());
        dealt[part].push(batch);
    }
    Ok(dealt)
}
