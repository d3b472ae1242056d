use super::*;
use crate::Seeded;
use crate::published::{Attribute, Condition, Domain, Group, Rule, Statistic, census, males_of_the_census};
use exact::{Rational, ratio};

fn up_to(limit: usize) -> Effort {
    Effort::up_to(limit)
}

/// Age, sex (F, M), race (B, W), status (single, married).
fn the_seven() -> Vec<Record> {
    vec![
        vec![8, 0, 0, 0],
        vec![18, 1, 1, 0],
        vec![24, 0, 1, 0],
        vec![30, 1, 1, 1],
        vec![36, 0, 0, 1],
        vec![66, 0, 0, 1],
        vec![84, 1, 0, 1],
    ]
}

#[test]
fn the_census_table_has_one_solution() {
    let findings = reconstruct(&census(), &up_to(10)).unwrap();
    assert_eq!(findings.solutions, [the_seven()]);
    assert!(findings.complete && !findings.out_of_time);
    assert_eq!(findings.certain, the_seven());
}

#[test]
fn the_men_alone_have_thirty() {
    let findings = reconstruct(&males_of_the_census(), &up_to(100)).unwrap();
    assert!(findings.complete);
    let mut found = findings.solutions;
    found.sort();
    let all: Vec<Vec<Record>> = (1..=30)
        .map(|age| vec![vec![age], vec![30], vec![102 - age]])
        .collect();
    assert_eq!(found, all);
}

/// Which solver searches changes neither what is found nor what is proved.
#[cfg(feature = "cadical")]
#[test]
fn cadical_finds_the_same() {
    for table in [census(), males_of_the_census()] {
        let mut found = [Engine::BatSat, Engine::CaDiCaL].map(|engine| {
            let effort = Effort { engine, ..up_to(100) };
            reconstruct(&table, &effort).unwrap()
        });
        found.iter_mut().for_each(|findings| findings.solutions.sort());
        assert_eq!(found[0].solutions, found[1].solutions);
        assert_eq!(found[0].certain, found[1].certain);
        assert!(found.iter().all(|findings| findings.complete));
    }
}

#[test]
fn a_limit_is_no_proof_of_completeness() {
    let males = males_of_the_census();
    let some = reconstruct(&males, &up_to(29)).unwrap();
    assert_eq!((some.solutions.len(), some.complete), (29, false));
    let all = reconstruct(&males, &up_to(30)).unwrap();
    assert_eq!((all.solutions.len(), all.complete), (30, true));
    // The man in the middle is certain either way; the other two are not, however few solutions were looked
    // at.
    for limit in [1, 2, 29, 30] {
        let findings = reconstruct(&males, &up_to(limit)).unwrap();
        assert_eq!(findings.certain, [vec![30]], "{limit}");
    }
}

#[test]
fn each_number_that_is_left_out_can_only_add_solutions() {
    let influences = influence(&census(), &up_to(20), |_| {}).unwrap();
    assert_eq!(influences.len(), 21);
    let without = |name: &str| {
        let found = influences
            .iter()
            .find(|influence| influence.cell.to_string() == name)
            .unwrap();
        (found.solutions, found.complete)
    };
    // Women and men add up to everybody, so the total says nothing new.
    assert_eq!(without("1A.count"), (Some(1), true));
    assert!(influences.iter().all(|influence| influence.solutions >= Some(1)));
    assert!(influences.iter().any(|influence| influence.solutions > Some(1)));
}

#[test]
fn fewer_numbers_are_enough() {
    let table = census();
    let enough = enough(&table, &up_to(1)).unwrap().unwrap();
    assert!(!enough.is_empty() && enough.len() < table.cells().len());
    let mut alone = table.clone();
    for group in &mut alone.groups {
        let kept = |kind| {
            enough
                .iter()
                .any(|cell| cell.group == group.id && cell.kind == kind)
        };
        group.statistics.retain(|statistic| kept(statistic.kind()));
    }
    assert_eq!(reconstruct(&alone, &up_to(2)).unwrap().solutions, [the_seven()]);
    for cell in &enough {
        let fewer = reconstruct(&alone.without(cell), &up_to(2));
        assert!(fewer.is_err() || fewer.unwrap().solutions.len() == 2, "{cell}");
    }
    assert!(
        super::enough(&males_of_the_census(), &up_to(1))
            .unwrap()
            .is_none()
    );
}

fn count_of(id: &str, members: Vec<Condition>, count: u32) -> Group {
    Group {
        id: id.to_owned(),
        name: id.to_owned(),
        members,
        statistics: vec![Statistic::count(count)],
    }
}

#[test]
fn contradictions_are_named_and_nothing_else() {
    let mut table = census();
    // Two women and three men are not seven people.
    let women = table.groups.iter_mut().find(|group| group.id == "2A").unwrap();
    women.statistics[0] = Statistic::count(2);
    assert!(reconstruct(&table, &up_to(1)).unwrap().solutions.is_empty());
    let conflict = conflict(&table, &up_to(1)).unwrap().unwrap();
    assert!(conflict.minimal);
    let names: Vec<String> = conflict.cells.iter().map(Cell::to_string).collect();
    assert_eq!(names, ["1A.count", "2A.count", "2B.count"]);
    // Every number in it is needed.
    let mut alone = table.clone();
    for group in &mut alone.groups {
        group.statistics.retain(|statistic| {
            conflict
                .cells
                .iter()
                .any(|cell| cell.group == group.id && cell.kind == statistic.kind())
        });
    }
    let possible =
        |table: &Table| reconstruct(table, &up_to(1)).map(|findings| !findings.solutions.is_empty());
    assert!(!possible(&alone).unwrap());
    for cell in &conflict.cells {
        // An error says that nothing bounds the people any more, so there are solutions.
        assert!(possible(&alone.without(cell)).unwrap_or(true), "{cell}");
    }
    assert!(super::conflict(&census(), &up_to(1)).unwrap().is_none());
}

#[test]
fn people_without_bound_are_refused() {
    let mut table = census();
    for id in ["1A", "2B"] {
        assert!(table.suppress(id, None));
    }
    // Black and white people still cover everybody.
    assert!(reconstruct(&table, &up_to(1)).is_ok());
    assert!(table.suppress("2D", Some(StatisticKind::Count)));
    let error = reconstruct(&table, &up_to(1)).unwrap_err().to_string();
    assert!(
        error.contains("nothing bounds how many people there are"),
        "{error}"
    );
    table.people = Some(7);
    assert!(reconstruct(&table, &up_to(1)).is_ok());
}

/// All multisets of at most `most` records, in order.
fn multisets(records: &[Record], most: usize) -> Vec<Vec<Record>> {
    let mut all = vec![vec![]];
    let mut last: Vec<(usize, Vec<Record>)> = vec![(0, vec![])];
    for _ in 0..most {
        let longer = last.iter().flat_map(|(from, people)| {
            (*from..records.len()).map(|next| {
                let mut people = people.clone();
                people.push(records[next].clone());
                (next, people)
            })
        });
        last = longer.collect();
        all.extend(last.iter().map(|(_, people)| people.clone()));
    }
    all
}

/// A synthetic table about synthetic people: it has at least one solution unless `spoiled`.
fn made_up(random: &mut Seeded, attributes: &[Attribute], people: &[Record], spoiled: bool) -> Table {
    let condition = |random: &mut Seeded| {
        let attribute = random.below(attributes.len() as u64) as usize;
        let (low, high) = attributes[attribute].domain.bounds();
        let value = |random: &mut Seeded| low + random.below((high - low + 1) as u64) as i64;
        let (one, other) = (value(random), value(random));
        let mut ranges = vec![(one.min(other), one.max(other))];
        if random.below(4) == 0 {
            ranges.push((high, high));
        }
        Condition { attribute, ranges }
    };
    let measured: Vec<usize> = (0..attributes.len())
        .filter(|&attribute| matches!(attributes[attribute].domain, Domain::Integers { .. }))
        .collect();
    let groups = (0..1 + random.below(4))
        .map(|number| {
            let members: Vec<Condition> = (0..random.below(3)).map(|_| condition(random)).collect();
            let mut group = count_of(&number.to_string(), members, 0);
            group.statistics.clear();
            let inside: Vec<&Record> = people.iter().filter(|record| group.has(record)).collect();
            let of = measured[random.below(measured.len() as u64) as usize];
            let mut values: Vec<i64> = inside.iter().map(|record| record[of]).collect();
            values.sort_unstable();
            let sum: i64 = values.iter().sum();
            let wrong = i64::from(spoiled && random.below(4) == 0);
            if random.below(2) == 0 {
                group
                    .statistics
                    .push(Statistic::count(inside.len() as u32 + wrong as u32));
            }
            if random.below(4) == 0 {
                group.statistics.push(Statistic::Sum {
                    of,
                    low: sum - random.below(2) as i64,
                    high: sum + wrong,
                });
            }
            if !values.is_empty() && random.below(2) == 0 {
                let twice = values[(values.len() - 1) / 2] + values[values.len() / 2] + wrong;
                group.statistics.push(Statistic::Median {
                    of,
                    twice_low: twice - (random.below(3) / 2) as i64,
                    twice_high: twice,
                });
            }
            if !values.is_empty() && random.below(2) == 0 {
                let decimals = random.below(2) as u32;
                let unit = 10i64.pow(decimals);
                let printed = (ratio(sum * unit, values.len() as u64) + ratio(1, 2)).floor();
                let printed = Rational::from(printed) / Rational::from(unit);
                group.statistics.push(Statistic::mean(of, &printed, decimals));
            }
            group
        })
        .collect();
    let rules = (0..random.below(2)).map(|_| Rule {
        when: vec![condition(random)],
        then: vec![condition(random)],
    });
    let mut table = Table {
        attributes: attributes.to_vec(),
        rules: rules.collect(),
        groups,
        people: None,
    };
    table
        .rules
        .retain(|rule| people.iter().all(|record| rule.holds(record)));
    table
}

/// The solver's list against the definition, on tables small enough to try every multiset of people.
fn agrees_with_brute_force(attributes: &[Attribute], seed: u64, tables: usize, most: usize) {
    let mut random = Seeded::new(seed);
    let records: Vec<Record> = attributes.iter().fold(vec![vec![]], |records, attribute| {
        let (low, high) = attribute.domain.bounds();
        let longer = records.iter().flat_map(|record| {
            (low..=high).map(|value| record.iter().copied().chain([value]).collect::<Record>())
        });
        longer.collect()
    });
    let everything = multisets(&records, most);
    let (mut solved, mut impossible, mut unique) = (0, 0, 0);
    for number in 0..tables {
        let people: Vec<Record> = (0..random.below(most as u64 + 1))
            .map(|_| records[random.below(records.len() as u64) as usize].clone())
            .collect();
        let spoiled = number % 4 == 0;
        let mut table = made_up(&mut random, attributes, &people, spoiled);
        match table.most_people() {
            // If no count bounds the people, say how many there are.
            Err(_) => table.people = Some(people.len() as u32),
            Ok(bound) if bound > most as u32 => continue,
            Ok(_) => {}
        }
        let mut expected: Vec<Vec<Record>> = everything
            .iter()
            .filter(|people| table.allows(people))
            .map(|people| {
                let mut people = people.clone();
                people.sort();
                people
            })
            .collect();
        expected.sort();
        let findings = reconstruct(&table, &up_to(10_000)).unwrap();
        assert!(findings.complete);
        let mut found: Vec<Vec<Record>> = findings.solutions.clone();
        for people in &mut found {
            people.sort();
        }
        found.sort();
        assert_eq!(found, expected, "seed {seed}, table {number}: {table:?}");
        solved += 1;
        impossible += usize::from(expected.is_empty());
        unique += usize::from(expected.len() == 1);
        // What is certain from one solution is what all share.
        let first = reconstruct(&table, &up_to(1)).unwrap();
        let mut certain = first.certain;
        certain.sort();
        let mut shared: Vec<Record> = shared(&expected)
            .into_iter()
            .flat_map(|(record, count)| std::iter::repeat_n(record, count))
            .collect();
        shared.sort();
        assert_eq!(certain, shared, "seed {seed}, table {number}: {table:?}");
    }
    assert!(
        solved > tables / 2 && impossible > 0 && unique > 0,
        "{solved} {impossible} {unique}"
    );
}

fn integers(name: &str, low: i64, high: i64) -> Attribute {
    Attribute {
        name: name.to_owned(),
        domain: Domain::Integers { low, high },
    }
}

#[test]
fn brute_force_agrees_with_one_number_and_one_category() {
    let sex = Attribute {
        name: "sex".to_owned(),
        domain: Domain::Categories(vec!["F".to_owned(), "M".to_owned()]),
    };
    agrees_with_brute_force(&[integers("age", -1, 3), sex], 1, 120, 4);
}

#[test]
fn brute_force_agrees_with_two_numbers() {
    agrees_with_brute_force(&[integers("age", 0, 3), integers("children", 0, 2)], 2, 120, 4);
}
