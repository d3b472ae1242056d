//! What is read beside the totals, held against questions of their own and against each unit alone.

use super::*;

/// What a question says of a table without anything beside it, group by group.
async fn separately(
    table: &Table,
    run: &Run,
    question: &Question,
    partials: Vec<Partial>,
    groups: Option<u64>,
) -> Answer {
    let question = Question {
        partials,
        groups,
        ..question.alone().without_lengths()
    };
    ask(table, run, &question, Form::Relational).await.unwrap()
}

/// The four numbers that describe all units, from what is said of each unit alone.
async fn of_each(table: &Table, run: &Run, question: &Question, beside: &Beside) -> Vec<i64> {
    let mut all = vec![0i64; crate::beside::NUMBERS];
    let pairs: Vec<(Partial, Partial)> = beside.limits.iter().copied().chain([beside.amount]).collect();
    let (narrow, wide): (Vec<Partial>, Vec<Partial>) = pairs.into_iter().unzip();
    for unit in 1..VALUES {
        if (1..unit).any(|earlier| same_value(table.unit, earlier, unit)) {
            continue;
        }
        let mut alone = table.clone();
        alone.rows.retain(|row| same_value(table.unit, row.unit, unit));
        if alone.rows.is_empty() {
            continue;
        }
        // What counts in the groups that count, what would count in all that count under wider limits, and what is there.
        let counted = separately(&alone, run, question, narrow.clone(), question.groups).await;
        let limited = separately(&alone, run, question, narrow.clone(), beside.groups).await;
        let there = separately(&alone, run, question, wide.clone(), beside.groups).await;
        let mut over = there.len() > counted.len();
        let last = narrow.len() - 1;
        for (group, there) in &there {
            let pairs = beside.limits.len();
            over |= there[..pairs] != limited[group][..pairs];
            let kept = counted.get(group).map_or(0, |numbers| numbers[last].abs());
            let everything = there[last].abs();
            let cut = (everything - kept).max(0);
            for (total, added) in all[2..].iter_mut().zip([everything, cut]) {
                *total += crate::beside::coarse(added, beside.bits);
            }
        }
        all[0] += 1;
        all[1] += i64::from(over);
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_pass_gives_what_separate_ones_give(
        table in table(), mut question in question(), run in run(), form in 0usize..3,
    ) {
        question = question.without_lengths();
        let Some(mut beside) = question.beside.clone() else {
            return Ok(());
        };
        // Rounding a sum is not the sum of what is rounded, so steps stay as they are where sums are compared.
        beside.partials.iter_mut().for_each(|coarse| coarse.bits = 0);
        question.partials.insert(0, Partial::Units);
        question.beside = Some(beside.clone());
        let form = [Form::Relational, Form::Partitioned, Form::Clustered][form];
        wait(async {
            let mut together = ask(&table, &run, &question, form).await.unwrap();
            let all = together.remove(ALL).unwrap();
            prop_assert_eq!(all, of_each(&table, &run, &question, &beside).await);
            let own = question.partials.len();
            let totals = separately(&table, &run, &question, question.partials.clone(), question.groups).await;
            let partials: Vec<Partial> = std::iter::once(Partial::Units)
                .chain(beside.partials.iter().map(|coarse| coarse.partial))
                .collect();
            let wide = separately(&table, &run, &question, partials, beside.groups).await;
            prop_assert_eq!(together.keys().collect::<Vec<_>>(), wide.keys().collect::<Vec<_>>());
            for (group, numbers) in &together {
                prop_assert_eq!(&numbers[own..], &wide[group][1..]);
                // A group that counts for nobody is none of the totals.
                match totals.get(group) {
                    Some(totals) => prop_assert_eq!(&numbers[..own], &totals[..]),
                    None => prop_assert!(numbers[..own].iter().all(|number| *number == 0)),
                }
            }
            Ok(())
        })?;
    }
}

#[test]
fn what_is_wider_is_not_narrower() {
    wait(async {
        let table = Table {
            unit: Kind::Int,
            keys: vec![Kind::Text],
            rows: Vec::new(),
        };
        let run = Run {
            threads: 1,
            batch_size: 8192,
            cuts: Vec::new(),
        };
        let context = table.context(&run, Arc::default());
        let input = input(&context).await;
        let rows = |most| Partial::Rows { most };
        let beside = |groups, bits| Beside {
            groups,
            partials: Vec::new(),
            limits: Vec::new(),
            amount: (rows(1), rows(4)),
            lengths: Vec::new(),
            vector: None,
            bits,
        };
        let planned = |groups, beside, form| {
            let secret = Secret::new("00").unwrap();
            let bounding = Bounding {
                beside: Some(beside),
                ..table.bounding(input.clone(), &[rows(1)], groups, secret)
            };
            bounding.plan(form).is_ok()
        };
        assert!(planned(Some(2), beside(Some(2), 0), Form::Partitioned));
        assert!(!planned(Some(2), beside(Some(1), 0), Form::Partitioned));
        assert!(!planned(None, beside(Some(9), 0), Form::Partitioned));
        assert!(!planned(Some(2), beside(None, 0), Form::Partitioned));
        assert!(!planned(Some(2), beside(Some(8), 62), Form::Partitioned));
        assert!(!planned(Some(2), beside(Some(8), 0), Form::Plain));
        assert_eq!(beside(Some(8), 1).most(true), 16);
        assert_eq!(beside(Some(8), 1).most(false), 2);
    });
}
