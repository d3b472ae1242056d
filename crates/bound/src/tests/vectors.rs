//! Bounds on the lengths of what units add to all groups together.

use super::*;

/// The length of a vector, rounded up, computed otherwise than in the product.
fn length(norm: Norm, numbers: impl Iterator<Item = i64>) -> u128 {
    let distances = numbers.map(|number| u128::from(number.unsigned_abs()));
    match norm {
        Norm::One => distances.sum(),
        Norm::Two => {
            let squares: u128 = distances.map(|distance| distance * distance).sum();
            let mut root = (squares as f64).sqrt() as u128;
            while root * root > squares {
                root -= 1;
            }
            while root * root < squares {
                root += 1;
            }
            root
        }
    }
}

/// What a unit alone adds where its vectors are bounded, from what it adds where they are not.
fn scaled(free: &Answer, lengths: &[Length]) -> Answer {
    let mut scaled = free.clone();
    for bound in lengths {
        let own = |numbers: &Vec<i64>| numbers[bound.of] << bound.finer;
        let long = length(bound.norm, free.values().map(own)).max(u128::from(bound.most));
        let part = |number: i64| (i128::from(number) * i128::from(bound.most) / long as i128) as i64;
        for (group, numbers) in &mut scaled {
            let one = free[group][bound.of];
            numbers[bound.of] = part(one << bound.finer);
            for follower in &bound.with {
                let most = one.abs() * follower.each as i64;
                numbers[follower.place] = part(numbers[follower.place].clamp(-most, most) << follower.finer);
            }
        }
    }
    scaled
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_vector_is_no_longer_than_its_bound(
        table in table(), question in question(), unit in 1..VALUES, run in run(), form in 0usize..3,
    ) {
        let question = question.over(&table);
        let mut alone = table.clone();
        alone.rows.retain(|row| same_value(table.unit, row.unit, unit));
        if alone.rows.is_empty() || question.lengths.is_empty() {
            return Ok(());
        }
        let form = [Form::Relational, Form::Partitioned, Form::Clustered][form];
        wait(async {
            let mut counted = ask(&alone, &run, &question, form).await.unwrap();
            counted.remove(ALL);
            for bound in &question.lengths {
                let of = |place: usize| length(bound.norm, counted.values().map(|numbers| numbers[place]));
                prop_assert!(of(bound.of) <= u128::from(bound.most));
                for follower in &bound.with {
                    prop_assert!(of(follower.place) <= u128::from(bound.follows(follower)));
                }
            }
            if let Some(beside) = &question.beside {
                let own = question.partials.len();
                for bound in &beside.lengths {
                    let of = |place: usize| length(bound.norm, counted.values().map(|numbers| numbers[own + place]));
                    prop_assert!(of(bound.of) <= u128::from(bound.most >> beside.partials[bound.of].bits));
                    for follower in &bound.with {
                        prop_assert!(of(follower.place) <= u128::from(bound.follows(follower)));
                    }
                }
            }
            let question = question.alone();
            let free = ask(&alone, &run, &question.without_lengths(), Form::Relational).await.unwrap();
            let counted = ask(&alone, &run, &question, form).await.unwrap();
            prop_assert_eq!(counted, scaled(&free, &question.lengths));
            Ok(())
        })?;
    }

    /// What is said of all units: how many are too long, how much they have, and how much of it does not count.
    #[test]
    fn what_a_length_cuts_is_known(table in table(), question in question(), run in run(), form in 0usize..3) {
        let question = question.over(&table);
        let Some((beside, vector)) = question.beside.as_ref().and_then(|beside| Some((beside, beside.vector.as_ref()?))) else {
            return Ok(());
        };
        let form = [Form::Relational, Form::Partitioned, Form::Clustered][form];
        let mut expected = vec![0i64; crate::beside::NUMBERS];
        wait(async {
            for unit in 1..VALUES {
                let earlier = (1..unit).any(|earlier| same_value(table.unit, earlier, unit));
                let mut alone = table.clone();
                alone.rows.retain(|row| same_value(table.unit, row.unit, unit));
                if earlier || alone.rows.is_empty() {
                    continue;
                }
                let there = Question { partials: vec![beside.amount.1], groups: beside.groups, ..question.alone().without_lengths() };
                let there = ask(&alone, &run, &there, Form::Relational).await.unwrap();
                let everything: i64 = there.values().map(|numbers| numbers[0].abs() << vector.finer).sum();
                let everything = everything.min(vector.most as i64);
                let counted = ask(&alone, &run, &question.alone(), Form::Relational).await.unwrap();
                let kept: i64 = counted.values().map(|numbers| numbers[vector.of].abs()).sum();
                let free = ask(&alone, &run, &question.alone().without_lengths(), Form::Relational).await.unwrap();
                let long = |bound: &Length| {
                    let numbers = free.values().map(|numbers| numbers[bound.of] << bound.finer);
                    length(bound.norm, numbers) > u128::from(bound.most)
                };
                let limits = Question { lengths: Vec::new(), beside: Some(Beside { lengths: Vec::new(), vector: None, ..beside.clone() }), ..question.clone() };
                let over = ask(&alone, &run, &limits, Form::Relational).await.unwrap()[ALL][1] > 0;
                expected[0] += 1;
                expected[1] += i64::from(over || question.lengths.iter().any(long));
                expected[2] += crate::beside::coarse(everything, beside.bits);
                expected[3] += crate::beside::coarse((everything - kept).max(0), beside.bits);
            }
            let all = ask(&table, &run, &question, form).await.unwrap();
            prop_assert_eq!(&all[ALL], &expected);
            Ok(())
        })?;
    }
}

#[test]
fn a_vector_of_many_groups_costs_its_length_alone() {
    // One row in each of nine groups, where rows of a length of two count.
    let rows = (1..VALUES).map(|key| Row {
        unit: 1,
        keys: [key, 0],
        arguments: [None, None],
    });
    let table = Table {
        unit: Kind::Int,
        keys: vec![Kind::Text],
        rows: rows.collect(),
    };
    let run = Run {
        threads: 2,
        batch_size: 3,
        cuts: Vec::new(),
    };
    let question = |norm, most| Question {
        partials: vec![Partial::Rows { most: 4 }],
        groups: Some(20),
        lengths: vec![Length {
            of: 0,
            norm,
            finer: 10,
            most,
            with: Vec::new(),
        }],
        beside: None,
        secret: Secret::new("00").unwrap(),
    };
    let groups = i64::from(VALUES) - 1;
    wait(async {
        for (norm, long) in [(Norm::One, groups * 1024), (Norm::Two, 2897)] {
            let answer = ask(&table, &run, &question(norm, 2048), Form::Partitioned)
                .await
                .unwrap();
            let each = 1024 * 2048 / long;
            assert!(answer.values().all(|numbers| numbers == &[each]), "{answer:?}");
            let free = ask(&table, &run, &question(norm, 1 << 20), Form::Partitioned)
                .await
                .unwrap();
            assert!(free.values().all(|numbers| numbers == &[1024]));
        }
    });
}

#[test]
fn lengths_that_make_no_sense_are_refused() {
    let table = Table {
        unit: Kind::Int,
        keys: vec![Kind::Text],
        rows: Vec::new(),
    };
    let run = Run {
        threads: 1,
        batch_size: 8,
        cuts: Vec::new(),
    };
    let length = |of, finer, most, with| Length {
        of,
        norm: Norm::One,
        finer,
        most,
        with,
    };
    let follower = |place, each| {
        vec![Follower {
            place,
            each,
            finer: 0,
        }]
    };
    let planned = |groups, lengths: Vec<Length>, form| {
        let question = Question {
            partials: vec![
                Partial::Rows { most: 4 },
                Partial::Sum {
                    argument: 0,
                    low: -(1 << 40),
                    high: 1 << 40,
                },
            ],
            groups,
            lengths,
            beside: None,
            secret: Secret::new("00").unwrap(),
        };
        wait(async {
            let context = table.context(&run, Arc::default());
            let bounding = question.bounding(&table, input(&context).await);
            bounding.plan(form).is_ok()
        })
    };
    let fine = || length(0, 10, 1 << 20, follower(1, 9));
    assert!(planned(Some(9), vec![fine()], Form::Partitioned));
    for (groups, lengths) in [
        (None, vec![fine()]),
        (Some(1025), vec![fine()]),
        (Some(9), vec![fine(), fine()]),
        (Some(9), vec![length(2, 0, 9, Vec::new())]),
        (Some(9), vec![length(0, 0, 0, Vec::new())]),
        (Some(9), vec![length(0, 51, 9, Vec::new())]),
        (Some(9), vec![length(1, 13, 9, Vec::new())]),
        (Some(9), vec![length(0, 0, 9, follower(0, 1))]),
        (Some(9), vec![length(1, 0, 9, follower(0, 1 << 23))]),
    ] {
        assert!(
            !planned(groups, lengths.clone(), Form::Partitioned),
            "{groups:?} {lengths:?}"
        );
    }
    assert!(!planned(Some(9), vec![fine()], Form::Plain));
}
