use super::*;
use crate::to_relational;
use datafusion::physical_plan::displayable;

/// The answer, computed without an engine, where all groups count.
fn by_hand(table: &Table, partials: &[Partial]) -> Answer {
    let normal = |kind: Kind, pick: u8| -> String {
        let representative = (0..VALUES).find(|other| same_value(kind, *other, pick)).unwrap();
        let representative = match (kind, representative) {
            // Of −0.0 and 0.0 the second is the normal one.
            (Kind::Float, 3) => 4,
            _ => representative,
        };
        let value = column(kind, std::iter::once(representative));
        named(&ScalarValue::try_from_array(&value, 0).unwrap())
    };
    let mut states: BTreeMap<(String, String), Vec<&Row>> = BTreeMap::new();
    for row in table.rows.iter().filter(|row| row.unit != 0) {
        let keys = table.keys.iter().enumerate();
        let name: Vec<String> = keys.map(|(place, kind)| normal(*kind, row.keys[place])).collect();
        let place = (normal(table.unit, row.unit), name.join(", "));
        states.entry(place).or_default().push(row);
    }
    let mut answer = Answer::new();
    if table.keys.is_empty() {
        answer.insert(String::new(), vec![0; partials.len()]);
    }
    for ((_, group), rows) in states {
        let totals = answer.entry(group).or_insert_with(|| vec![0; partials.len()]);
        for (partial, total) in partials.iter().zip(totals) {
            let values = |argument: usize| rows.iter().filter_map(move |row| row.arguments[argument]);
            let sum = |argument: usize| values(argument).fold(0i64, i64::wrapping_add);
            let contribution = match *partial {
                Partial::Units => 1,
                Partial::Rows { most } => most.min(rows.len() as i64),
                Partial::Present { argument, most } => most.min(values(argument).count() as i64),
                Partial::Sum { argument, low, high } => match values(argument).count() {
                    0 => 0,
                    _ => sum(argument).max(low).min(high),
                },
                Partial::Mean {
                    argument,
                    most,
                    low,
                    high,
                } => match values(argument).count() as i64 {
                    0 => 0,
                    rows if rows > most => {
                        let scaled = (sum(argument) as f64 * (most as f64 / rows as f64)).floor();
                        (scaled as i64).max(low).min(high)
                    }
                    _ => sum(argument).max(low).min(high),
                },
            };
            *total = total.wrapping_add(contribution);
        }
    }
    answer
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_forms_agree(table in table(), question in question(), runs in [run(), run(), run()]) {
        wait(async {
            let expected = ask(&table, &runs[0], &question, Form::Relational).await.unwrap();
            let partitioned = ask(&table, &runs[1], &question, Form::Partitioned).await.unwrap();
            prop_assert_eq!(&partitioned, &expected);
            let clustered = ask(&table, &runs[2], &question, Form::Clustered).await.unwrap();
            prop_assert_eq!(&clustered, &expected);
            if question.groups.is_none() && question.beside.is_none() {
                prop_assert_eq!(&by_hand(&table, &question.partials), &expected);
            }
            Ok(())
        })?;
    }

    #[test]
    fn one_row_per_unit_needs_no_bounding(table in table(), question in question(), runs in [run(), run()]) {
        let question = question.alone().without_lengths();
        let mut table = table;
        let mut seen = Vec::new();
        table.rows.retain(|row| {
            let new = !seen.iter().any(|unit| same_value(table.unit, *unit, row.unit));
            seen.push(row.unit);
            new
        });
        wait(async {
            let expected = ask(&table, &runs[0], &question, Form::Relational).await.unwrap();
            let plain = ask(&table, &runs[1], &question, Form::Plain).await.unwrap();
            prop_assert_eq!(&plain, &expected);
            prop_assert_eq!(&by_hand(&table, &question.partials), &expected);
            Ok(())
        })?;
    }

    #[test]
    fn each_unit_counts_in_as_many_groups_as_it_may(table in table(), groups in 1u64..4, run in run()) {
        let question = Question {
            partials: vec![Partial::Units],
            groups: Some(groups),
            lengths: Vec::new(),
            beside: None,
            secret: Secret::new("5ec2e7").unwrap(),
        };
        let mut units = BTreeMap::new();
        for unit in 1..VALUES {
            let first = (0..VALUES).find(|other| same_value(table.unit, *other, unit)).unwrap();
            let mut alone = table.clone();
            alone.rows.retain(|row| same_value(table.unit, row.unit, unit));
            units.insert(first, by_hand(&alone, &question.partials).values().filter(|total| total[0] > 0).count());
        }
        let limit = if table.keys.is_empty() { u64::MAX } else { groups };
        let expected: u64 = units.values().map(|has| (*has as u64).min(limit)).sum();
        wait(async {
            for form in [Form::Relational, Form::Partitioned, Form::Clustered] {
                let answer = ask(&table, &run, &question, form).await.unwrap();
                prop_assert_eq!(answer.values().map(|total| total[0] as u64).sum::<u64>(), expected);
            }
            Ok(())
        })?;
    }

    #[test]
    fn one_unit_moves_at_most_its_bounds(
        table in table(), question in question(), unit in 1..VALUES, runs in [run(), run()],
        forms in [0usize..3, 0usize..3], seed in any::<u64>(),
    ) {
        // Whether the other rows come in the same order must not matter.
        let mut without = table.without(unit);
        shuffle(&mut without.rows, seed);
        let form = |place: usize| [Form::Relational, Form::Partitioned, Form::Clustered][place];
        wait(async {
            let with = ask(&table, &runs[0], &question, form(forms[0])).await.unwrap();
            let without = ask(&without, &runs[1], &question, form(forms[1])).await.unwrap();
            let zeros = vec![0; question.numbers()];
            // In how many groups the totals move, and the numbers beside them.
            let mut moved = [0; 2];
            let question = question.over(&table);
            let bounds = question.bounds();
            let names: std::collections::BTreeSet<&String> = with.keys().chain(without.keys()).collect();
            for name in names {
                let one = with.get(name).unwrap_or(&zeros);
                let other = without.get(name).unwrap_or(&zeros);
                // Totals wrap around, so they differ modulo 2⁶⁴.
                let moves: Vec<u64> = one.iter().zip(other).map(|(one, other)| one.wrapping_sub(*other).unsigned_abs()).collect();
                if let Some(beside) = question.beside.as_ref().filter(|_| name == ALL) {
                    let most = beside.most(!table.keys.is_empty());
                    prop_assert!(moves.iter().zip([1, 1, most, most]).all(|(moved, most)| *moved <= most), "{:?}", moves);
                    continue;
                }
                prop_assert!(moves.iter().zip(&bounds).all(|(moved, bound)| moved <= bound));
                let (totals, beside) = moves.split_at(question.partials.len());
                for (moved, moves) in moved.iter_mut().zip([totals, beside]) {
                    *moved += u64::from(moves.iter().any(|moved| *moved > 0));
                }
            }
            let wide = question.beside.as_ref().map_or(Some(0), |beside| beside.groups);
            prop_assert!(moved[0] <= question.groups.unwrap_or(u64::MAX));
            prop_assert!(moved[1] <= wide.unwrap_or(u64::MAX));
            Ok(())
        })?;
    }

    #[test]
    fn a_native_plan_becomes_relational(table in table(), question in question(), run in run()) {
        wait(async {
            let expected = ask(&table, &run, &question, Form::Relational).await.unwrap();
            let context = table.context(&run, Arc::default());
            let input = input(&context).await;
            for form in [Form::Partitioned, Form::Clustered] {
                let bounding = question.bounding(&table, input.clone());
                let plan = to_relational(bounding.plan(form).unwrap()).unwrap();
                prop_assert!(!plan.display_indent().to_string().contains("ContributionBound"));
                // A session that knows nothing of ours.
                let stock = SessionContext::new();
                let found = collect(&stock, plan, question.numbers()).await.unwrap();
                prop_assert_eq!(&question.with_all(found), &expected);
            }
            Ok(())
        })?;
    }
}

fn shuffle(rows: &mut [Row], mut seed: u64) {
    for last in (1..rows.len()).rev() {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        rows.swap(last, (seed >> 33) as usize % (last + 1));
    }
}

fn small(units: &[u8]) -> Table {
    let row = |unit: &u8| Row {
        unit: *unit,
        keys: [1, 1],
        arguments: [Some(1), None],
    };
    Table {
        unit: Kind::Int,
        keys: vec![Kind::Text],
        rows: units.iter().map(row).collect(),
    }
}

fn count_of_units() -> Question {
    Question {
        partials: vec![Partial::Units],
        groups: Some(2),
        lengths: Vec::new(),
        beside: None,
        secret: Secret::new("00").unwrap(),
    }
}

/// Asks for the clustered form without sorting first.
async fn ask_unsorted(table: &Table, cuts: &[Cut]) -> Result<Answer> {
    let run = Run {
        threads: 2,
        batch_size: 8192,
        cuts: cuts.to_vec(),
    };
    let context = table.context(&run, Arc::default());
    let question = count_of_units();
    let bounding = table.bounding(
        input(&context).await,
        &question.partials,
        question.groups,
        question.secret,
    );
    collect(&context, bounding.plan(Form::Clustered)?, 1).await
}

#[test]
fn a_broken_promise_of_sorted_rows_is_noticed() {
    wait(async {
        // In one batch, from batch to batch, from part to part; and a part inside another.
        let cases: [(&[u8], &[Cut]); 5] = [
            (&[1, 2, 1], &[]),
            (&[2, 1], &[(1, false)]),
            (&[1, 3, 2, 4], &[(2, true)]),
            (&[1, 5, 2, 3], &[(2, true)]),
            (&[2, 3, 1, 3], &[(2, true)]),
        ];
        for (units, cuts) in cases {
            let error = ask_unsorted(&small(units), cuts).await.unwrap_err().to_string();
            assert!(error.contains("not sorted by the unit"), "{units:?} {error}");
            assert!(error.contains("hint:"));
        }
        // Sorted, though the parts do not come in order; and a unit that fills whole parts.
        let answer = ask_unsorted(&small(&[3, 4, 4, 1, 2, 3]), &[(3, true)])
            .await
            .unwrap();
        assert_eq!(answer.into_values().collect::<Vec<_>>(), [[4]]);
        let answer = ask_unsorted(&small(&[1, 2, 2, 2, 2, 3]), &[(2, true), (3, true), (5, true)])
            .await
            .unwrap();
        assert_eq!(answer.into_values().collect::<Vec<_>>(), [[3]]);
    });
}

#[test]
fn output_has_the_names_and_types_of_the_keys() {
    wait(async {
        let table = Table {
            keys: vec![Kind::Text, Kind::Float],
            ..small(&[1])
        };
        let run = Run {
            threads: 2,
            batch_size: 8192,
            cuts: Vec::new(),
        };
        let context = table.context(&run, Arc::default());
        let input = input(&context).await;
        for form in [Form::Plain, Form::Clustered, Form::Partitioned, Form::Relational] {
            let question = count_of_units();
            let bounding = table.bounding(
                input.clone(),
                &question.partials,
                question.groups,
                question.secret,
            );
            let plan = bounding.plan(form).unwrap();
            let names: Vec<String> = plan.schema().columns().iter().map(Column::flat_name).collect();
            assert_eq!(names, ["t.k0", "t.k1", "partial0"]);
            let batches = context
                .execute_logical_plan(plan)
                .await
                .unwrap()
                .collect()
                .await
                .unwrap();
            let types: Vec<_> = batches[0]
                .columns()
                .iter()
                .map(|column| column.data_type().clone())
                .collect();
            assert_eq!(types, [Kind::Text, Kind::Float, Kind::Int].map(Kind::data_type));
        }
    });
}

#[test]
fn native_plans_do_not_print_the_key() {
    wait(async {
        let table = small(&[1]);
        let run = Run {
            threads: 2,
            batch_size: 8192,
            cuts: Vec::new(),
        };
        let context = table.context(&run, Arc::default());
        let input = input(&context).await;
        for form in [Form::Clustered, Form::Partitioned] {
            let secret = Secret::new("5ec2e75ec2e7").unwrap();
            let bounding = table.bounding(input.clone(), &[Partial::Units], Some(1), secret);
            assert!(!format!("{bounding:?}").contains("5ec2e7"));
            let plan = bounding.plan(form).unwrap();
            assert!(!format!("{plan:?} {}", plan.display_indent()).contains("5ec2e7"));
            let plan = context
                .execute_logical_plan(plan)
                .await
                .unwrap()
                .create_physical_plan()
                .await
                .unwrap();
            let shown = displayable(plan.as_ref()).indent(true).to_string();
            assert!(shown.contains("groups per unit"));
            assert!(!format!("{plan:?} {shown}").contains("5ec2e7"));
        }
    });
}

#[test]
fn what_has_no_meaning_is_refused() {
    wait(async {
        let table = small(&[1]);
        let run = Run {
            threads: 1,
            batch_size: 8192,
            cuts: Vec::new(),
        };
        let context = table.context(&run, Arc::default());
        let input = input(&context).await;
        let secret = Secret::new("00").unwrap();
        let refused = |partial: Partial, groups: Option<u64>| {
            let bounding = table.bounding(input.clone(), &[partial], groups, secret.clone());
            bounding
                .plan(Form::Relational)
                .unwrap_err()
                .to_string()
                .contains("hint:")
        };
        assert!(refused(Partial::Units, Some(0)));
        assert!(refused(Partial::Rows { most: 0 }, Some(1)));
        assert!(refused(Partial::Present { argument: 2, most: 1 }, Some(1)));
        assert!(refused(
            Partial::Sum {
                argument: 0,
                low: 1,
                high: 0
            },
            Some(1)
        ));
        let mut bounding = table.bounding(input, &[Partial::Units], None, secret);
        bounding.arguments = vec![Column::new(Some("t"), "k0")];
        assert!(
            bounding
                .plan(Form::Plain)
                .unwrap_err()
                .to_string()
                .contains("grid")
        );
    });
}
