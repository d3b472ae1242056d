//! Plans that keep their promise.

use crate::common::{
    bounded, bounded_as, bounding, closed, leaves_with_one_visit, meant, moves, planned, row_bounding, tree,
};
use accounting::Neighbors::{AddRemove, ChangeOne};
use bound::{Follower, Form, Frame, Length, Meeting, Norm, OwnerJoin, OwnerWindow, Partial, WindowValue};
use datafusion::common::Column;
use verify::{Number, sensitivity};

/// With k groups of A each, of a width W: k, kA, kA², A for one unit more or less, and for a changed one 2k, 2kA, k·max(W², 2A²), W.
#[test]
fn the_numbers_of_a_bounding_step_move_as_it_enforces() {
    for form in [Form::Partitioned, Form::Clustered, Form::Relational] {
        let plan = bounded_as(&closed(), "SELECT * FROM visits", form);
        let each = |column, neighbors| moves(&plan, Number::OfGroups(column), neighbors);
        assert_eq!(each(1, AddRemove), [2, 2, 2, 1], "{form:?}");
        assert_eq!(each(2, AddRemove), [2, 10, 50, 5], "{form:?}");
        assert_eq!(each(3, AddRemove), [2, 20, 200, 10], "{form:?}");
        assert_eq!(each(2, ChangeOne), [4, 20, 100, 5], "{form:?}");
        assert_eq!(each(3, ChangeOne), [4, 40, 400, 13], "{form:?}");
    }
}

#[test]
fn without_groups_there_is_one_number() {
    let mut asked = bounding(meant(&closed(), "SELECT * FROM visits"));
    asked.keys.clear();
    asked.groups = None;
    let plan = planned(&closed(), &asked.plan(Form::Partitioned).unwrap());
    assert_eq!(moves(&plan, Number::OfGroups(2), AddRemove), [1, 10, 100, 10]);
    assert_eq!(moves(&plan, Number::OfGroups(2), ChangeOne), [1, 13, 169, 13]);
}

#[test]
fn one_row_of_each_unit_is_in_one_group() {
    let context = closed();
    let mut asked = bounding(meant(
        &context,
        "SELECT 1 AS person, answer AS ward, age AS cost FROM answers",
    ));
    asked.partials = vec![Partial::Sum {
        argument: 0,
        low: 0,
        high: 9,
    }];
    let plan = planned(&context, &asked.plan(Form::Plain).unwrap());
    assert_eq!(moves(&plan, Number::OfGroups(1), AddRemove), [1, 9, 81, 9]);
    let promised = bounded_as(&context, "SELECT * FROM visits", Form::Plain);
    let found = sensitivity(&promised, &leaves_with_one_visit, Number::OfGroups(3), AddRemove).unwrap();
    assert_eq!(found.coordinates(), 1);
}

#[test]
fn bins_of_rows_and_distinct_values_move_as_their_rankings_leave_rows() {
    let context = closed();
    let bins = row_bounding(&context, "SELECT * FROM visits")
        .histogram(false)
        .unwrap();
    let plan = planned(&context, &bins);
    let three_levels = Number::Bins { column: 2, levels: 3 };
    assert_eq!(moves(&plan, three_levels, AddRemove), [24, 24, 96, 4]);
    assert_eq!(moves(&plan, three_levels, ChangeOne), [48, 48, 192, 4]);
    let values = row_bounding(&context, "SELECT * FROM visits")
        .distinct(false)
        .unwrap();
    let plan = planned(&context, &values);
    assert_eq!(moves(&plan, Number::OfGroups(1), AddRemove), [2, 8, 32, 4]);
    assert_eq!(moves(&plan, Number::OfGroups(1), ChangeOne), [4, 16, 64, 4]);
}

/// What may happen to rows on their way to the bounding step.
#[test]
fn rows_keep_their_owner_on_many_ways() {
    let ways = [
        "SELECT person, ward, cost * 2 + 1 AS cost FROM visits WHERE cost > 3 AND person IS NOT NULL",
        "SELECT person, CASE WHEN cost > 3 THEN ward ELSE 'low' END AS ward, day AS cost FROM visits",
        "SELECT person, ward_name AS ward, cost FROM wards JOIN visits ON ward = ward_name",
        "SELECT person, ward, floor AS cost FROM wards RIGHT JOIN visits ON ward = ward_name",
        "SELECT person, ward, cost FROM wards CROSS JOIN visits",
        "SELECT person, ward, cost FROM wards RIGHT SEMI JOIN visits ON ward = ward_name",
        "SELECT person, ward, cost FROM wards RIGHT ANTI JOIN visits ON ward = ward_name AND cost > floor",
        "SELECT person, ward, cost FROM visits UNION ALL SELECT traveller, place, km FROM trips",
        "SELECT person, max(ward) AS ward, count(*) AS cost FROM visits GROUP BY person",
        "SELECT person, ward, sum(cost) AS cost FROM visits GROUP BY ward, person",
        "SELECT person, ward, cost FROM visits GROUP BY person, ward, cost",
        "SELECT person, ward, cost / 7 AS cost FROM visits WHERE coalesce(lower(ward), 'x') <> 'y'",
    ];
    for way in ways {
        let context = closed();
        let plan = bounded_as(&context, way, Form::Partitioned);
        let tree = tree(&plan).unwrap_or_else(|defect| panic!("{way}: {defect:?}"));
        assert!(tree.to_text().contains("owned"), "{}", tree.to_text());
    }
    assert!(bounded("SELECT * FROM visits").name().contains("Projection"));
}

#[test]
fn rows_of_two_tables_meet_by_owner() {
    let context = closed();
    for meeting in [
        Meeting::Pairs,
        Meeting::PairsAndRest,
        Meeting::Whether("found".to_owned()),
    ] {
        let join = OwnerJoin {
            left: meant(&context, "SELECT * FROM visits"),
            right: meant(&context, "SELECT * FROM trips"),
            left_key: Column::from_name("person"),
            right_key: Column::from_name("traveller"),
            filter: None,
            meeting,
            most_left: 100,
            most_right: 10,
        };
        let plan = bounding(join.plan().unwrap()).plan(Form::Partitioned).unwrap();
        assert_eq!(
            moves(&planned(&context, &plan), Number::OfGroups(1), AddRemove),
            [2, 2, 2, 1]
        );
    }
}

#[test]
fn windows_of_one_owner_keep_it() {
    let context = closed();
    let window = OwnerWindow {
        input: meant(&context, "SELECT * FROM visits"),
        owner: Column::from_name("person"),
        partition: vec![Column::from_name("ward")],
        order: Vec::new(),
        values: vec![(
            WindowValue::Sum(Column::from_name("cost"), Frame::UpToPeers),
            "so_far".to_owned(),
        )],
        most: 1000,
    };
    let plan = bounding(window.plan().unwrap()).plan(Form::Partitioned).unwrap();
    assert_eq!(
        moves(&planned(&context, &plan), Number::OfGroups(1), AddRemove),
        [2, 2, 2, 1]
    );
}

/// Of a vector whose length is bounded no more moves than its length, and than two of them where a unit is changed. Its steps are finer.
#[test]
fn a_vector_moves_by_its_length() {
    let context = closed();
    for (norm, added, changed) in [
        (Norm::One, [2, 8, 64, 8], [4, 16, 128, 8]),
        (Norm::Two, [2, 16, 64, 8], [4, 32, 256, 8]),
    ] {
        let mut asked = bounding(meant(&context, "SELECT * FROM visits"));
        asked.lengths = vec![Length {
            of: 1,
            norm,
            finer: 2,
            most: 8,
            with: vec![Follower {
                place: 2,
                each: 2,
                finer: 1,
            }],
        }];
        let plan = planned(&context, &asked.plan(Form::Partitioned).unwrap());
        assert_eq!(moves(&plan, Number::OfGroups(2), AddRemove), added);
        assert_eq!(moves(&plan, Number::OfGroups(2), ChangeOne), changed);
        // Two for each row, of which there are two in whole steps: no more than four, which are eight in its own steps.
        let with = moves(&plan, Number::OfGroups(3), AddRemove);
        assert_eq!((with[0], with[2], with[3]), (2, 64, 8));
    }
}

/// Whoever is asked whether they have a row elsewhere has no more rows afterwards.
#[test]
fn a_promise_survives_being_asked_for_a_partner() {
    let context = closed();
    let join = OwnerJoin {
        left: meant(&context, "SELECT * FROM visits"),
        right: meant(&context, "SELECT * FROM trips"),
        left_key: Column::from_name("person"),
        right_key: Column::from_name("traveller"),
        filter: None,
        meeting: Meeting::Whether("found".to_owned()),
        most_left: u64::MAX,
        most_right: 1,
    };
    let plan = planned(
        &context,
        &bounding(join.plan().unwrap()).plan(Form::Plain).unwrap(),
    );
    let found = sensitivity(&plan, &leaves_with_one_visit, Number::OfGroups(1), AddRemove);
    assert_eq!(found.unwrap().coordinates(), 1);
}

/// The engine leaves out of a sort what is the same in all rows, and what is NULL nowhere.
#[test]
fn rankings_over_constants_are_sorted() {
    let context = closed();
    let sql = "SELECT person, arrow_cast('x', 'Utf8View') AS ward, 7 AS cost FROM visits";
    let values = row_bounding(&context, sql).distinct(false).unwrap();
    let plan = planned(&context, &values);
    assert_eq!(moves(&plan, Number::OfGroups(1), AddRemove), [2, 8, 32, 4]);
}
