use super::*;
use crate::RowBounding;
use std::collections::BTreeSet;

/// The value that is counted is the first argument.
async fn ask_rows(table: &Table, run: &Run, question: &RowQuestion) -> Answer {
    let context = table.context(run, Arc::default());
    let bounding = RowBounding {
        input: input(&context).await,
        unit: Column::new(Some("t"), "u"),
        keys: table.keys(),
        value: Column::new(Some("t"), "x0"),
        rows: question.rows,
        groups: question.groups,
        in_all: question.in_all,
        secret: question.secret.clone(),
    };
    let plan = match question.distinct {
        true => bounding.distinct(question.one_row_per_unit).unwrap(),
        false => bounding.histogram(question.one_row_per_unit).unwrap(),
    };
    collect(&context, plan, 1).await.unwrap()
}

#[derive(Clone, Debug)]
struct RowQuestion {
    distinct: bool,
    one_row_per_unit: bool,
    rows: u64,
    groups: Option<u64>,
    in_all: Option<u64>,
    secret: Secret,
}

fn row_question() -> impl Strategy<Value = RowQuestion> {
    let in_all = prop::option::of(1u64..6);
    (any::<bool>(), 1u64..4, in_all, question()).prop_map(|(distinct, rows, in_all, question)| RowQuestion {
        distinct,
        one_row_per_unit: false,
        rows,
        groups: question.groups,
        in_all,
        secret: question.secret,
    })
}

/// The group that a row of a histogram belongs to: its name without the value.
fn group_of(name: &str) -> String {
    name.rsplit_once(", ")
        .map_or(String::new(), |(group, _)| group.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_unit_moves_few_rows(
        table in table(), question in row_question(), unit in 1..VALUES, runs in [run(), run()],
    ) {
        let without = table.without(unit);
        wait(async {
            let with = ask_rows(&table, &runs[0], &question).await;
            let without = ask_rows(&without, &runs[1], &question).await;
            let names: BTreeSet<&String> = with.keys().chain(without.keys()).collect();
            let mut moved: BTreeMap<String, u64> = BTreeMap::new();
            for name in names {
                let number = |answer: &Answer| answer.get(name).map_or(0, |numbers| numbers[0]);
                let group = if question.distinct { name.clone() } else { group_of(name) };
                *moved.entry(group).or_default() += number(&with).abs_diff(number(&without));
            }
            moved.retain(|_, by| *by > 0);
            prop_assert!(moved.values().all(|by| *by <= question.rows));
            prop_assert!(moved.len() as u64 <= question.groups.unwrap_or(u64::MAX));
            prop_assert!(moved.values().sum::<u64>() <= question.in_all.unwrap_or(u64::MAX));
            Ok(())
        })?;
    }

    #[test]
    fn a_unit_alone_has_the_groups_that_bounding_chooses(
        table in table(), question in row_question(), unit in 1..VALUES, runs in [run(), run()],
    ) {
        let mut alone = table.clone();
        alone.rows.retain(|row| same_value(table.unit, row.unit, unit));
        let question = RowQuestion { in_all: None, ..question };
        wait(async {
            let chosen = Question {
                lengths: Vec::new(),
                beside: None,
                partials: vec![Partial::Units, Partial::Present { argument: 0, most: i64::MAX }],
                groups: question.groups,
                secret: question.secret.clone(),
            };
            let chosen = ask(&alone, &runs[0], &chosen, Form::Relational).await.unwrap();
            let answer = ask_rows(&alone, &runs[1], &question).await;
            if question.distinct {
                prop_assert_eq!(answer.keys().collect::<Vec<_>>(), chosen.keys().collect::<Vec<_>>());
            } else {
                let with_values = chosen.iter().filter(|(_, numbers)| numbers[1] > 0);
                let expected: BTreeMap<String, i64> = with_values
                    .map(|(name, numbers)| (name.clone(), numbers[1].min(question.rows as i64)))
                    .collect();
                let mut counted: BTreeMap<String, i64> = BTreeMap::new();
                for (name, numbers) in &answer {
                    *counted.entry(group_of(name)).or_default() += numbers[0];
                }
                prop_assert_eq!(counted, expected);
            }
            Ok(())
        })?;
    }

    #[test]
    fn without_limits_all_rows_count(table in table(), distinct in any::<bool>(), runs in [run(), run()]) {
        let unlimited = RowQuestion {
            distinct,
            one_row_per_unit: false,
            rows: u64::MAX,
            groups: None,
            in_all: None,
            secret: Secret::new("00").unwrap(),
        };
        let plain = RowQuestion {
            one_row_per_unit: true,
            ..unlimited.clone()
        };
        wait(async {
            let expected = ask_rows(&table, &runs[0], &plain).await;
            prop_assert_eq!(&ask_rows(&table, &runs[1], &unlimited).await, &expected);
            let mut values: BTreeMap<Option<i64>, i64> = BTreeMap::new();
            for row in table.rows.iter().filter(|row| row.unit != 0) {
                *values.entry(row.arguments[0]).or_default() += 1;
            }
            values.remove(&None);
            if table.keys.is_empty() {
                if distinct {
                    prop_assert_eq!(expected.into_values().collect::<Vec<_>>(), [[values.len() as i64]]);
                } else {
                    let total: i64 = expected.values().map(|numbers| numbers[0]).sum();
                    prop_assert_eq!(total, values.values().sum::<i64>());
                    prop_assert_eq!(expected.len(), values.len());
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn values_of_every_kind_are_counted_once(
        kind in kind(), picks in prop::collection::vec((1u8..5, 0..VALUES), 0..40), run in run(),
    ) {
        let table = Table {
            unit: Kind::Int,
            keys: vec![kind],
            rows: picks
                .iter()
                .map(|(unit, pick)| Row { unit: *unit, keys: [*pick, 0], arguments: [None, None] })
                .collect(),
        };
        let mut expected: Vec<u8> = Vec::new();
        for (_, pick) in picks.iter().filter(|(_, pick)| *pick > 0) {
            if !expected.iter().any(|other| same_value(kind, *other, *pick)) {
                expected.push(*pick);
            }
        }
        wait(async {
            let context = table.context(&run, Arc::default());
            for one_row_per_unit in [false, true] {
                let bounding = RowBounding {
                    input: input(&context).await,
                    unit: Column::new(Some("t"), "u"),
                    keys: Vec::new(),
                    value: Column::new(Some("t"), "k0"),
                    rows: u64::from(VALUES),
                    groups: Some(1),
                    in_all: None,
                    secret: Secret::new("00").unwrap(),
                };
                let plan = bounding.distinct(one_row_per_unit).unwrap();
                let answer = collect(&context, plan, 1).await.unwrap();
                prop_assert_eq!(answer.into_values().collect::<Vec<_>>(), [[expected.len() as i64]]);
            }
            Ok(())
        })?;
    }
}
