//! Joins that are put into a plan, and joins of a plan that become others.

use super::super::Seeded;
use super::expressions::{column, columns_of, value};
use super::mutations::{Material, Plan, same_types};
use datafusion::common::{JoinType, NullEquality};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::projection::ProjectionExec;
use std::sync::Arc;

const KINDS: [JoinType; 8] = [
    JoinType::Inner,
    JoinType::Left,
    JoinType::Right,
    JoinType::Full,
    JoinType::LeftSemi,
    JoinType::RightSemi,
    JoinType::LeftAnti,
    JoinType::RightAnti,
];

/// The rows joined to those of another operator.
pub(super) fn join(plan: &Plan, material: &Material<'_>, seeded: &mut Seeded) -> Option<Plan> {
    let other = match seeded.once_in(2) {
        true => Arc::clone(&material.public),
        false => Arc::clone(seeded.pick(&material.others)),
    };
    let (mine, theirs) = (plan.schema(), other.schema());
    let place = seeded.below(mine.fields().len().max(1));
    let partners = columns_of(&theirs, mine.fields().get(place)?.data_type());
    let partner = partners.get(seeded.below(partners.len().max(1)))?;
    let on = vec![(column(&theirs, *partner), column(&mine, place))];
    let kind = *seeded.pick(&KINDS);
    let held: Plan = Arc::new(CoalescePartitionsExec::new(other));
    let joined = HashJoinExec::try_new(
        held,
        Arc::clone(plan),
        on,
        None,
        &kind,
        None,
        PartitionMode::CollectLeft,
        NullEquality::NullEqualsNothing,
        false,
    );
    let joined: Plan = Arc::new(joined.ok()?);
    // The columns of the right side are the last ones.
    let width = joined.schema().fields().len();
    let first = width.checked_sub(mine.fields().len())?;
    let back = mine.fields().iter().enumerate();
    let back = back.map(|(place, field)| (column(&joined.schema(), first + place), field.name().clone()));
    Some(Arc::new(
        ProjectionExec::try_new(back.collect::<Vec<_>>(), joined).ok()?,
    ))
}

/// Another kind of a join, or other columns that are compared, or no further condition.
pub(super) fn joining(plan: &Plan, _: &Material<'_>, seeded: &mut Seeded) -> Option<Plan> {
    let join = plan.downcast_ref::<HashJoinExec>()?;
    let (mut kind, mut on, mut filter, mut mode) = (
        *join.join_type(),
        join.on().to_vec(),
        join.filter().cloned(),
        *join.partition_mode(),
    );
    match seeded.below(4) {
        0 => kind = *seeded.pick(&KINDS),
        1 => filter = None,
        2 => mode = PartitionMode::Partitioned,
        _ => {
            let schema = join.right().schema();
            let one = on.first_mut()?;
            let of = one.1.data_type(&schema).ok()?;
            one.1 = value(&of, &schema, seeded)?;
        }
    }
    let projection = join.projection.as_ref().map(|places| places.to_vec());
    let (left, right) = (Arc::clone(join.left()), Arc::clone(join.right()));
    let joined = HashJoinExec::try_new(
        left,
        right,
        on,
        filter,
        &kind,
        projection,
        mode,
        NullEquality::NullEqualsNothing,
        false,
    )
    .ok()?;
    same_types(&joined.schema(), &plan.schema()).then(|| Arc::new(joined) as Plan)
}
