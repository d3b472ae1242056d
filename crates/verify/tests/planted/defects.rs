//! Plans with a defect.

use crate::common::{
    Plan, bounded, bounded_as, bounded_openly, bounding, closed, is_refused, leaves, meant, of_sql, open,
    planned, row_bounding,
};
use bound::operators::{Way, bounding_over};
use bound::{Form, Meeting, OwnerJoin, OwnerWindow, Partial, WindowValue};
use datafusion::common::Column;
use datafusion::functions_aggregate::min_max::max_udaf;
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::Partitioning;
use datafusion::physical_expr::aggregate::AggregateExprBuilder;
use datafusion::physical_expr::expressions::{BinaryExpr, col, lit};
use datafusion::physical_plan::ExecutionPlanProperties;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use std::sync::Arc;
use verify::{Kind, derive};

#[test]
fn an_owner_that_is_lost_or_replaced() {
    let replaced = [
        "ward",
        "'ada'",
        "upper(person)",
        "coalesce(person, 'nobody')",
        "substr(person, 1, 3)",
        "concat(person, ward)",
        "CASE WHEN cost > 3 THEN person ELSE 'ada' END",
        "CASE WHEN cost > 3 THEN person ELSE ward END",
        "nullif(person, 'ada')",
        "md5(person)",
    ];
    for owner in replaced {
        let plan = bounded_openly(&format!(
            "SELECT arrow_cast({owner}, 'Utf8View') AS person, ward, cost FROM visits"
        ));
        is_refused(&plan, Kind::Owner);
    }
    // The owner travels, and something else is taken for it.
    let plan = bounded_openly("SELECT ward AS person, person AS ward, cost FROM visits");
    is_refused(&plan, Kind::Owner);
}

#[test]
fn an_owner_that_is_converted_so_that_two_become_one() {
    for kind in ["BIGINT", "DATE", "DOUBLE"] {
        let sql = format!("SELECT TRY_CAST(person AS {kind}) AS person, ward, cost FROM visits");
        if kind == "DOUBLE" {
            is_refused(&bounded_openly(&sql), Kind::Owner);
            continue;
        }
        is_refused(&bounded_openly(&sql), Kind::Owner);
    }
}

#[test]
fn a_group_by_without_the_owner() {
    for sql in [
        "SELECT max(person) AS person, ward, max(cost) AS cost FROM visits GROUP BY ward",
        "SELECT ward AS person, ward, sum(cost) AS cost FROM visits WHERE person IS NOT NULL GROUP BY ward",
    ] {
        is_refused(
            &bounded_openly(sql),
            if sql.contains("IS NOT") {
                Kind::Unbounded
            } else {
                Kind::Nobody
            },
        );
    }
    is_refused(
        &bounded_openly(
            "SELECT ward AS person, ward, cost FROM (SELECT DISTINCT ward, cost FROM visits WHERE person IS NOT NULL)",
        ),
        Kind::Totals,
    );
}

#[test]
fn a_union_that_exchanges_columns() {
    for other in [
        "SELECT ward, person, cost FROM visits",
        "SELECT place, traveller, km FROM trips",
        "SELECT ward_name, ward_name AS ward, floor FROM wards",
        "SELECT answer, answer AS ward, age FROM answers",
    ] {
        let sql = format!("SELECT person, ward, cost FROM visits UNION ALL {other}");
        is_refused(&bounded_openly(&sql), Kind::Union);
    }
}

#[test]
fn a_join_in_which_private_rows_meet_others() {
    for sql in [
        // On another column; on the owner by an operator that holds private rows; on nothing.
        "SELECT person, ward, km AS cost FROM visits JOIN trips ON ward = place",
        "SELECT person, ward, km AS cost FROM visits JOIN trips ON person = traveller",
        "SELECT person, ward, km AS cost FROM visits CROSS JOIN trips",
        "SELECT person, ward, km AS cost FROM visits JOIN trips ON cost < km",
        "SELECT person, ward, cost FROM visits WHERE ward IN (SELECT place FROM trips)",
        // Public rows stay, where nobody has one.
        "SELECT person, ward_name AS ward, cost FROM wards LEFT JOIN visits ON ward = ward_name",
        "SELECT person, ward_name AS ward, cost FROM wards FULL JOIN visits ON ward = ward_name",
    ] {
        is_refused(&bounded_openly(sql), Kind::Join);
    }
}

fn owner_join(right_key: &str) -> Plan {
    let context = open();
    let join = OwnerJoin {
        left: meant(&context, "SELECT * FROM visits"),
        right: meant(&context, "SELECT * FROM trips"),
        left_key: Column::from_name("person"),
        right_key: Column::from_name(right_key),
        filter: None,
        meeting: Meeting::Pairs,
        most_left: u64::MAX,
        most_right: 10,
    };
    let plan = bounding(join.plan().unwrap()).plan(Form::Partitioned).unwrap();
    planned(&context, &plan)
}

#[test]
fn a_join_of_owners_by_another_column() {
    is_refused(&owner_join("place"), Kind::Join);
    assert!(derive(&owner_join("traveller"), &leaves).is_ok());
}

#[test]
fn a_window_without_the_owner() {
    for sql in [
        "SELECT person, ward, cost FROM (SELECT *, row_number() OVER (PARTITION BY ward ORDER BY cost) AS n FROM visits) WHERE n < 4",
        "SELECT person, ward, cost FROM (SELECT *, dense_rank() OVER (ORDER BY cost) AS n FROM visits) WHERE n < 4",
        // Which of two equal rows is first depends on where they lie.
        "SELECT person, ward, cost FROM (SELECT *, row_number() OVER (PARTITION BY person ORDER BY ward) AS n FROM visits) WHERE n < 4",
    ] {
        is_refused(&bounded_openly(sql), Kind::Window);
    }
    let context = open();
    let window = OwnerWindow {
        input: meant(&context, "SELECT * FROM visits"),
        owner: Column::from_name("ward"),
        partition: Vec::new(),
        order: Vec::new(),
        values: vec![(WindowValue::RowNumber, "n".to_owned())],
        most: 10,
    };
    let plan = bounding(window.plan().unwrap()).plan(Form::Partitioned).unwrap();
    is_refused(&planned(&context, &plan), Kind::Window);
}

#[test]
fn a_limit() {
    for sql in [
        "SELECT person, ward, cost FROM visits LIMIT 10",
        "SELECT person, ward, cost FROM visits ORDER BY cost LIMIT 10",
        "SELECT person, ward, cost FROM visits OFFSET 1",
    ] {
        let kind = if sql.contains("OFFSET") {
            Kind::Operator
        } else {
            Kind::Limit
        };
        is_refused(&bounded_openly(sql), kind);
    }
    let plan: Plan = Arc::new(GlobalLimitExec::new(bounded("SELECT * FROM visits"), 0, Some(3)));
    is_refused(&plan, Kind::Limit);
}

#[test]
fn a_function_that_is_not_one_of_its_row_or_may_raise() {
    for cost in [
        "CAST(random() * 10 AS BIGINT)",
        "CAST(ward AS BIGINT)",
        "cost / day",
        "cost % day",
        "cost / 0",
        "cost / -1",
        "CAST(CAST(cost AS DOUBLE) AS BIGINT)",
        // Digits of a digest look like the first, and floats that were cut like the others.
        "CAST(translate(ward, 'abcdef', '012345') AS BIGINT)",
        "CAST(least(CAST(cost AS DOUBLE), 5.0) AS BIGINT)",
        "CAST(least(greatest(CAST(cost AS DOUBLE), -1e300), 5.0) AS BIGINT)",
        "CAST(greatest(least(CAST(cost AS DOUBLE), 5.0), -5.0) AS BIGINT)",
        "-cost",
        "factorial(cost)",
    ] {
        let plan = bounded_openly(&format!("SELECT person, ward, {cost} AS cost FROM visits"));
        is_refused(&plan, Kind::Expression);
    }
    is_refused(
        &bounded_openly("SELECT person, ward, cost FROM visits WHERE random() < 0.5"),
        Kind::Expression,
    );
    is_refused(
        &bounded_openly("SELECT person, ward, cost FROM visits WHERE 10 / day > 1"),
        Kind::Expression,
    );
    is_refused(
        &bounded_openly(
            "SELECT person, ward, cost FROM visits JOIN wards ON ward = ward_name AND cost / floor > 1",
        ),
        Kind::Expression,
    );
}

#[test]
fn an_aggregate_that_depends_on_the_order_of_rows() {
    for measure in [
        "CAST(sum(CAST(cost AS DOUBLE)) > 3 AS BIGINT)",
        "first_value(cost)",
        "first_value(cost ORDER BY day)",
        "count(DISTINCT cost) + count(DISTINCT day)",
        "CAST(avg(CAST(cost AS DOUBLE)) > 3 AS BIGINT)",
        "sum(cost) FILTER (WHERE day > 3)",
        "CAST(octet_length(string_agg(ward, ',')) AS BIGINT)",
    ] {
        let plan = bounded_openly(&format!(
            "SELECT person, max(ward) AS ward, {measure} AS cost FROM visits GROUP BY person"
        ));
        is_refused(&plan, Kind::Aggregate);
    }
    is_refused(
        &bounded_openly("SELECT person, ward, count(*) AS cost FROM visits GROUP BY ROLLUP (person, ward)"),
        Kind::Aggregate,
    );
}

#[test]
fn one_row_a_unit_that_nobody_promised() {
    is_refused(
        &bounded_as(&open(), "SELECT * FROM visits", Form::Plain),
        Kind::OneRow,
    );
    // Each row is one person, until it meets several public rows.
    let sql = "SELECT 1 AS person, answer AS ward, age AS cost FROM wards CROSS JOIN answers";
    is_refused(&bounded_as(&closed(), sql, Form::Plain), Kind::OneRow);
    let sql = "SELECT 1 AS person, answer AS ward, age AS cost FROM wards JOIN answers ON age = floor";
    is_refused(&bounded_as(&closed(), sql, Form::Plain), Kind::OneRow);
    let sql = "SELECT 1 AS person, answer AS ward, age AS cost FROM answers";
    is_refused(&bounded_as(&open(), sql, Form::Partitioned), Kind::Owner);
}

#[test]
fn a_bounding_step_without_a_bound() {
    let context = open();
    let mut asked = bounding(meant(&context, "SELECT * FROM visits"));
    asked.groups = None;
    // Of all groups of a unit; as built-in operators too.
    is_refused(
        &planned(&context, &asked.plan(Form::Partitioned).unwrap()),
        Kind::Unbounded,
    );
    is_refused(
        &of_sql("SELECT ward, sum(cost) FROM visits WHERE person IS NOT NULL GROUP BY ward"),
        Kind::Unbounded,
    );
    is_refused(
        &of_sql("SELECT count(*) FROM visits WHERE person IS NOT NULL"),
        Kind::Unbounded,
    );
    is_refused(
        &of_sql(
            "SELECT ward, sum(c) FROM (SELECT person, ward, sum(cost) AS c FROM visits WHERE person IS NOT NULL GROUP BY person, ward) GROUP BY ward",
        ),
        Kind::Unbounded,
    );
    is_refused(
        &of_sql("SELECT ward, max(cost) FROM visits WHERE person IS NOT NULL GROUP BY ward"),
        Kind::Unbounded,
    );
    is_refused(
        &of_sql(
            "SELECT ward, sum(CASE WHEN cost < 0 THEN 0 ELSE cost END) FROM visits WHERE person IS NOT NULL GROUP BY ward",
        ),
        Kind::Unbounded,
    );
}

#[test]
fn a_ranking_that_is_not_the_owners_or_is_not_asked_for() {
    let ranked = |window: &str, condition: &str| {
        format!(
            "SELECT ward, count(*) FROM (SELECT person, ward, row_number() OVER ({window}) AS n FROM (SELECT DISTINCT person, ward FROM visits WHERE person IS NOT NULL)) WHERE {condition} GROUP BY ward"
        )
    };
    let by_person = "PARTITION BY person ORDER BY ward";
    assert!(derive(&of_sql(&ranked(by_person, "n <= 2")), &leaves).is_ok());
    for condition in ["n > 2", "n <> 2", "n <= 2 OR ward = 'x'", "n >= 1"] {
        is_refused(&of_sql(&ranked(by_person, condition)), Kind::Unbounded);
    }
    is_refused(
        &of_sql(&ranked("PARTITION BY ward ORDER BY person", "n <= 2")),
        Kind::Window,
    );
}

#[test]
fn rows_of_nobody_that_are_counted() {
    let context = open();
    let sql = "SELECT ward, count(*) FROM (SELECT person, ward, row_number() OVER (PARTITION BY person ORDER BY ward) AS n FROM (SELECT DISTINCT person, ward FROM visits)) WHERE n <= 2 GROUP BY ward";
    is_refused(&planned(&context, &meant(&context, sql)), Kind::Nobody);
}

/// The operator that bounds, alone.
fn step(way: Way) -> Plan {
    let context = open();
    let input = of_sql("SELECT person AS unit, ward AS key0, cost AS argument0 FROM visits");
    let partials = vec![Partial::Sum {
        argument: 0,
        low: 0,
        high: 5,
    }];
    bounding_over(input, (way, 1, Some(2)), partials, &context.state()).unwrap()
}

/// A sum over units by a column, or something else.
fn summed(input: &Plan, by: &[&str], of: &str, max: bool) -> Plan {
    let schema = input.schema();
    let by = by
        .iter()
        .map(|name| (col(name, &schema).unwrap(), (*name).to_owned()))
        .collect();
    let function = if max { max_udaf() } else { sum_udaf() };
    let call = AggregateExprBuilder::new(function, vec![col(of, &schema).unwrap()])
        .schema(Arc::clone(&schema))
        .alias("total")
        .build()
        .unwrap();
    // What is in several parts is grouped in each of them, as the engine does it where an exchange brought groups together.
    let mode = match input.output_partitioning().partition_count() {
        1 => AggregateMode::Single,
        _ => AggregateMode::SinglePartitioned,
    };
    let aggregate = AggregateExec::try_new(
        mode,
        PhysicalGroupBy::new_single(by),
        vec![Arc::new(call)],
        vec![None],
        Arc::clone(input),
        schema,
    );
    Arc::new(aggregate.unwrap())
}

#[test]
fn something_else_than_the_sum_of_what_was_bounded() {
    let bounded = step(Way::AllRows);
    assert!(derive(&summed(&bounded, &["key0"], "partial0", false), &leaves).is_ok());
    // By no key, by a number, and the largest instead of the sum.
    is_refused(&summed(&bounded, &[], "partial0", false), Kind::Unbounded);
    is_refused(
        &summed(&bounded, &["partial0"], "partial0", false),
        Kind::Unbounded,
    );
    is_refused(&summed(&bounded, &["key0"], "partial0", true), Kind::Unbounded);
    is_refused(&step(Way::SomeRows), Kind::Operator);
    is_refused(&step(Way::OneRow), Kind::OneRow);
}

#[test]
fn something_between_the_bounding_step_and_the_sum() {
    let bounded = step(Way::AllRows);
    let schema = bounded.schema();
    let number = col("partial0", &schema).unwrap();
    let positive = Arc::new(BinaryExpr::new(Arc::clone(&number), Operator::Gt, lit(0i64)));
    // A filter that moved across the bounding step would look at numbers of many units.
    let filtered: Plan = Arc::new(FilterExec::try_new(positive, Arc::clone(&bounded)).unwrap());
    is_refused(&summed(&filtered, &["key0"], "partial0", false), Kind::Totals);
    let twice = Arc::new(BinaryExpr::new(
        Arc::clone(&number),
        Operator::Multiply,
        lit(2i64),
    ));
    let columns = vec![
        (col("key0", &schema).unwrap(), "key0".to_owned()),
        (
            twice as Arc<dyn datafusion::physical_expr::PhysicalExpr>,
            "partial0".to_owned(),
        ),
    ];
    let doubled: Plan = Arc::new(ProjectionExec::try_new(columns, bounded).unwrap());
    is_refused(&summed(&doubled, &["key0"], "partial0", false), Kind::Totals);
}

#[test]
fn something_after_the_sum() {
    let totals = bounded("SELECT * FROM visits");
    let schema = totals.schema();
    let number = col("partial2", &schema).unwrap();
    let large = Arc::new(BinaryExpr::new(Arc::clone(&number), Operator::Gt, lit(100i64)));
    let filtered: Plan = Arc::new(FilterExec::try_new(large, Arc::clone(&totals)).unwrap());
    is_refused(&filtered, Kind::Totals);
    let twice = Arc::new(BinaryExpr::new(Arc::clone(&number), Operator::Plus, number));
    let columns = vec![(
        twice as Arc<dyn datafusion::physical_expr::PhysicalExpr>,
        "twice".to_owned(),
    )];
    let doubled: Plan = Arc::new(ProjectionExec::try_new(columns, Arc::clone(&totals)).unwrap());
    is_refused(&doubled, Kind::Totals);
    is_refused(&summed(&totals, &["ward"], "partial2", false), Kind::Totals);
}

#[test]
fn rows_of_one_group_in_several_places() {
    let input = of_sql("SELECT person, ward, cost FROM visits");
    let dealt: Plan = Arc::new(RepartitionExec::try_new(input, Partitioning::RoundRobinBatch(3)).unwrap());
    is_refused(&summed(&dealt, &["person", "ward"], "cost", false), Kind::Place);
    let by_ward = |by: &str| -> Plan {
        let input = of_sql("SELECT person, ward, cost FROM visits");
        let by = col(by, &input.schema()).unwrap();
        Arc::new(RepartitionExec::try_new(input, Partitioning::Hash(vec![by], 3)).unwrap())
    };
    assert!(
        derive(
            &summed(&by_ward("ward"), &["person", "ward"], "cost", false),
            &leaves
        )
        .is_ok()
    );
    is_refused(
        &summed(&by_ward("cost"), &["person", "ward"], "cost", false),
        Kind::Place,
    );
}

#[test]
fn scans_that_nobody_knows_and_tables_that_are_taken_for_others() {
    let plan = bounded("SELECT * FROM visits");
    assert_eq!(derive(&plan, &|_| None).unwrap_err().kind, Kind::Scan);
    // As a public table it would have no owner.
    let public = |scan: &Plan| leaves(scan).map(|_| verify::Leaf::Public { unique: Vec::new() });
    assert_eq!(derive(&plan, &public).unwrap_err().kind, Kind::Owner);
    // With another column as its owner.
    let other = |scan: &Plan| {
        leaves(scan)?;
        Some(verify::Leaf::Private {
            owner: verify::Naming::Column("ward".to_owned()),
            rows: None,
            keys: Vec::new(),
        })
    };
    assert_eq!(derive(&plan, &other).unwrap_err().kind, Kind::Owner);
}

#[test]
fn bins_and_values_by_other_rankings() {
    let context = open();
    // Of all groups.
    let mut rows = row_bounding(&context, "SELECT * FROM visits");
    rows.groups = None;
    let unlimited = planned(&context, &rows.clone().histogram(false).unwrap());
    let bins = verify::Number::Bins { column: 2, levels: 1 };
    let found = verify::sensitivity(&unlimited, &leaves, bins, accounting::Neighbors::AddRemove);
    assert_eq!(found.unwrap_err().kind, Kind::Unbounded);
    let unlimited = planned(&context, &rows.distinct(false).unwrap());
    assert_eq!(derive(&unlimited, &leaves).unwrap_err().kind, Kind::Unbounded);
    // As if each unit had one row.
    let rows = row_bounding(&context, "SELECT * FROM visits")
        .histogram(true)
        .unwrap();
    assert_eq!(
        derive(&planned(&closed(), &rows), &leaves).unwrap_err().kind,
        Kind::Unbounded
    );
}
