//! From counts to rows, with every method, on people that are made up.

use accounting::{Budget, Delta, Epsilon, Neighbors, PrivacyUnit, Promise, Rho};
use mechanism::{Account, Aggregate, Cells, MemoryLedger, RoundResult, Sensitive};
use noise::Seeded;
use synthesis::{
    Check, CodesOf, Connection, Error, Impossible, Method, Plan, Release, Report, Settings, Standing, Wanted,
    rho_for,
};
use tables::{Attribute, Domain};

const ROWS: usize = 8_000;

/// Ten attributes, most of which depend on one or two others; the last two on nothing.
fn people(rows: usize, seed: u64) -> (Domain, Vec<Vec<u32>>) {
    let sizes = [2u32, 5, 16, 8, 6, 10, 4, 3, 7, 2];
    let attribute = |(place, size): (usize, &u32)| Attribute::new(format!("a{place}"), *size).unwrap();
    let domain = Domain::new(sizes.iter().enumerate().map(attribute).collect()).unwrap();
    let mut random = Seeded::new(seed);
    let mut columns = vec![Vec::with_capacity(rows); sizes.len()];
    for _ in 0..rows {
        let mut near =
            |value: u32, size: u32, spread: u64| (value + random.below(spread) as u32).min(size - 1);
        let zero = near(0, 2, 2);
        let one = near(zero, 5, 3);
        let two = near(one * 2, 16, 6);
        let three = near(two / 3 + zero, 8, 3);
        let four = near(three / 2, 6, 3);
        let five = near(one + four / 2, 10, 4);
        let six = near(five / 3, 4, 2);
        let seven = near(u32::from(six == zero), 3, 2);
        let row = [
            zero,
            one,
            two,
            three,
            four,
            five,
            six,
            seven,
            near(0, 7, 9),
            near(0, 2, 2),
        ];
        row.iter()
            .zip(&mut columns)
            .for_each(|(code, column)| column.push(*code));
    }
    (domain, columns)
}

fn person() -> PrivacyUnit {
    PrivacyUnit::new("person", Neighbors::AddRemove)
}

fn rho(epsilon: &str) -> Rho {
    rho_for(&Epsilon::parse(epsilon).unwrap(), &Delta::parse("1e-6").unwrap()).unwrap()
}

fn plan(domain: &Domain, settings: Settings, rho: Rho) -> Plan {
    Plan::new(domain.clone(), settings, rho, 1, &person()).unwrap()
}

fn released(plan: &Plan, columns: &[Vec<u32>], key: u8) -> Release {
    let budget = Budget::new(Promise::Concentrated(plan.mechanism().rho().clone()), person());
    let entropy = noise::Keyed::new([key; 32], 0);
    let mut account = Account::with_entropy(MemoryLedger::new(budget), entropy);
    let cells = Sensitive::new(Cells::of_rows(columns.to_vec()));
    let input = Aggregate::of_rows(cells, 1, person()).unwrap();
    let rounds = account
        .release_by(plan.mechanism(), input, "rows")
        .unwrap()
        .into_value();
    Release::new(plan, rounds).unwrap()
}

/// 1000 times one less the mean distance of all tables by three attributes: what SDNist calls the k-marginal score.
fn score(domain: &Domain, one: &[Vec<u32>], other: &[Vec<u32>]) -> f64 {
    let shares = |columns: &[Vec<u32>], by: [usize; 3]| -> Vec<f64> {
        let sizes = by.map(|place| domain.attributes()[place].size() as usize);
        let mut table = vec![0.0; sizes.iter().product()];
        for row in 0..columns[0].len() {
            let code = |axis: usize| columns[by[axis]][row] as usize;
            table[(code(0) * sizes[1] + code(1)) * sizes[2] + code(2)] += 1.0 / columns[0].len() as f64;
        }
        table
    };
    let (mut sum, mut count) = (0.0, 0.0);
    for first in 0..one.len() {
        for second in first + 1..one.len() {
            for third in second + 1..one.len() {
                let by = [first, second, third];
                let pairs = shares(one, by);
                let distance: f64 = pairs
                    .iter()
                    .zip(shares(other, by))
                    .map(|(one, other)| (one - other).abs())
                    .sum();
                sum += 0.5 * distance;
                count += 1.0;
            }
        }
    }
    1000.0 * (1.0 - sum / count)
}

fn with(method: Method) -> Settings {
    Settings {
        method,
        cells: 60_000,
        ..Settings::default()
    }
}

#[test]
fn better_methods_make_better_rows() {
    let (domain, columns) = people(ROWS, 1);
    let scores = [Method::Independent, Method::Mst, Method::Aim].map(|method| {
        let plan = plan(&domain, with(method), rho("1"));
        let release = released(&plan, &columns, 7);
        // Everything is within the charge, and hardly anything of it is left over.
        let spent = release.rounds().spent.to_f64_up() / plan.mechanism().rho().to_f64_up();
        assert!(spent <= 1.0 + 1e-12 && spent > 0.97, "{method:?}: {spent}");
        let model = release.model().unwrap();
        let rows = model.rows(ROWS, release.seed());
        assert!((model.total() - ROWS as f64).abs() < 0.05 * ROWS as f64);
        (score(&domain, &columns, &rows) * 10.0).round() / 10.0
    });
    eprintln!("scores of independent, mst, aim: {scores:?}");
    assert!(
        scores[1] > scores[0] + 50.0 && scores[2] > scores[1] + 5.0,
        "{scores:?}"
    );
    assert!(scores[2] > 920.0, "{scores:?}");
}

#[test]
fn the_same_release_gives_the_same_rows() {
    let (domain, columns) = people(2_000, 2);
    let plan = plan(&domain, with(Method::Aim), rho("1"));
    let release = released(&plan, &columns, 1);
    assert_eq!(release, released(&plan, &columns, 1));
    assert_ne!(release, released(&plan, &columns, 2));
    // As a ledger keeps it.
    let text = serde_json::to_string(&release).unwrap();
    let read: Release = serde_json::from_str(&text).unwrap();
    assert_eq!(read, release);
    let rows = release.model().unwrap().rows(3_000, release.seed());
    assert_eq!(rows, read.model().unwrap().rows(3_000, read.seed()));
    assert!(rows.iter().zip(domain.attributes()).all(|(codes, attribute)| {
        codes.len() == 3_000 && codes.iter().all(|code| *code < attribute.size())
    }));
}

/// Read from a file that somebody changed, a release is refused, not believed.
#[test]
fn releases_of_other_domains_are_refused() {
    let (domain, columns) = people(500, 3);
    let plan = plan(&domain, with(Method::Independent), rho("1"));
    let release = released(&plan, &columns, 1);
    let mut value = serde_json::to_value(&release).unwrap();
    value["rounds"]["results"][0]["measured"]["attributes"] = serde_json::json!([77]);
    let changed: Release = serde_json::from_value(value).unwrap();
    assert!(changed.model().is_err());
    let mut rounds = release.rounds().clone();
    if let RoundResult::Measured { counts, .. } = &mut rounds.results[0] {
        counts.push(1);
    }
    assert!(Release::new(&plan, rounds).is_err());
}

#[test]
fn what_is_wanted_is_measured_and_the_rest_is_reported() {
    let (domain, columns) = people(ROWS, 4);
    let wanted = |attributes: &[usize]| Wanted {
        attributes: attributes.to_vec(),
        weight: 1,
    };
    let settings = Settings {
        wanted: vec![wanted(&[1, 2]), wanted(&[4, 5, 8])],
        ..with(Method::Aim)
    };
    let plan = plan(&domain, settings, rho("2"));
    let release = released(&plan, &columns, 3);
    let allowed = |attributes: &[usize]| {
        attributes.len() == 1
            || attributes.iter().all(|place| [1, 2].contains(place))
            || attributes.iter().all(|place| [4, 5, 8].contains(place))
    };
    assert!(
        release
            .tables()
            .iter()
            .all(|(attributes, _, _)| allowed(attributes))
    );
    let model = release.model().unwrap();
    let rows = model.rows(20_000, release.seed());
    let report = Report::new(&release, &model, &rows);
    assert_eq!(report.pairs.len(), 45);
    assert!(report.pairs_with(Connection::Independent) >= 40);
    assert!(report.pairs_with(Connection::Measured) >= 1);
    assert!((report.estimated_rows - ROWS as f64).abs() < 200.0);
    // Rows that were made of the measurements agree with them.
    let good = report
        .measured
        .iter()
        .filter(|table| table.standing != Standing::Off)
        .count();
    assert!(good * 10 >= report.measured.len() * 9, "{:#?}", report.measured);
}

#[test]
fn little_budget_and_small_models_still_give_rows() {
    let (domain, columns) = people(300, 5);
    for (epsilon, cells) in [("0.01", 100), ("0.05", 2_000), ("20", 500)] {
        for method in [Method::Independent, Method::Mst, Method::Aim] {
            let settings = Settings {
                cells,
                ..with(method)
            };
            let plan = plan(&domain, settings, rho(epsilon));
            let release = released(&plan, &columns, 9);
            let model = release.model().unwrap();
            assert!(
                model.cells() as u64 <= cells.max(8_000),
                "{method:?}: {}",
                model.cells()
            );
            assert_eq!(model.rows(100, 1)[0].len(), 100);
        }
    }
}

fn impossible(parts: &[(usize, &[u32])]) -> Impossible {
    let part = |(attribute, codes): &(usize, &[u32])| CodesOf {
        attribute: *attribute,
        codes: codes.to_vec(),
    };
    Impossible {
        parts: parts.iter().map(part).collect(),
    }
}

/// Columns that no method would measure together are held together by rules; the data itself breaks them, as data does.
#[test]
fn rows_that_cannot_be_are_never_made() {
    let (domain, columns) = people(2_000, 6);
    let rules = vec![
        impossible(&[(0, &[0]), (8, &[1, 2, 3])]),
        impossible(&[(2, &[0, 1, 2, 3]), (5, &[7, 8, 9]), (9, &[1])]),
        impossible(&[(8, &[4]), (9, &[0])]),
        impossible(&[(4, &[5])]),
    ];
    let broken = |rows: &[Vec<u32>]| {
        (0..rows[0].len())
            .filter(|row| {
                let codes: Vec<u32> = rows.iter().map(|column| column[*row]).collect();
                rules.iter().any(|rule| rule.forbids(&codes))
            })
            .count()
    };
    assert!(broken(&columns) > 100);
    for method in [Method::Independent, Method::Mst, Method::Aim] {
        for (epsilon, cells) in [("0.02", 2_000), ("1", 60_000)] {
            let without = Settings {
                cells,
                ..with(method)
            };
            let settings = Settings {
                impossible: rules.clone(),
                ..without.clone()
            };
            let kept = released(&plan(&domain, settings, rho(epsilon)), &columns, 8);
            let model = kept.model().unwrap();
            assert!(model.cells() as u64 <= cells, "{method:?}: {}", model.cells());
            for (count, seed) in [(50_000, kept.seed()), (999, 1), (1, 2), (0, 3)] {
                assert_eq!(broken(&model.rows(count, seed)), 0, "{method:?} {epsilon}");
            }
            // Rules change what is made of measurements, and nothing of these: the same key has the same noise on the first tables, and rows without rules break them.
            let free = released(&plan(&domain, without, rho(epsilon)), &columns, 8);
            assert_eq!(kept.rounds().results[..10], free.rounds().results[..10]);
            assert!(broken(&free.model().unwrap().rows(50_000, 1)) > 100);
            let text = serde_json::to_string(&kept).unwrap();
            let read: Release = serde_json::from_str(&text).unwrap();
            assert_eq!(read.model().unwrap().rows(500, 4), model.rows(500, 4));
        }
    }
}

/// Where the data keeps the rules, rows are as good with them as without; what is measured is met.
#[test]
fn rules_that_hold_make_rows_no_worse() {
    let (domain, columns) = people(ROWS, 7);
    // In the data the second attribute is never 4 where the first is 0.
    let rule = impossible(&[(0, &[0]), (1, &[3, 4])]);
    let settings = Settings {
        impossible: vec![rule],
        ..with(Method::Aim)
    };
    let kept = released(&plan(&domain, settings, rho("1")), &columns, 5);
    let free = released(&plan(&domain, with(Method::Aim), rho("1")), &columns, 5);
    let of = |release: &Release| {
        let rows = release.model().unwrap().rows(ROWS, release.seed());
        score(&domain, &columns, &rows)
    };
    let (kept, free) = (of(&kept), of(&free));
    eprintln!("with the rule {kept:.1}, without {free:.1}");
    assert!(kept > free - 8.0 && kept > 920.0, "{kept} {free}");
}

#[test]
fn rules_that_cannot_be_kept_are_refused_before_a_charge() {
    let (domain, _) = people(1, 1);
    let refused = |rules: Vec<Impossible>, cells| {
        let settings = Settings {
            impossible: rules,
            cells,
            ..Settings::default()
        };
        Plan::new(domain.clone(), settings, rho("1"), 1, &person()).err()
    };
    let wide = impossible(&[(2, &[0]), (3, &[0]), (5, &[0]), (8, &[0])]);
    assert!(refused(vec![wide.clone()], 20_000).is_none());
    let Some(Error::RulesTooLarge { cells, widest, .. }) = refused(vec![wide], 5_000) else {
        panic!("16 × 8 × 10 × 7 cells")
    };
    // The other attributes are there too.
    assert!((cells - 8_982.0).abs() < 0.5 && widest == [2, 3, 5, 8], "{cells}");
    let one = impossible(&[(0, &[0])]);
    let other = impossible(&[(0, &[1])]);
    assert_eq!(refused(vec![one, other], 20_000), Some(Error::NoRowIsPossible));
    assert_eq!(
        refused(vec![impossible(&[(0, &[2])])], 20_000),
        Some(Error::NoSuchRule)
    );
}

fn checked(check: &Check, columns: &[Vec<u32>], key: u8) -> mechanism::Rounds {
    let budget = Budget::new(Promise::Concentrated(check.mechanism().rho().clone()), person());
    let mut account = Account::with_entropy(
        MemoryLedger::new(budget),
        noise::Keyed::new([key; 32], u64::from(key)),
    );
    let cells = Sensitive::new(Cells::of_rows(columns.to_vec()));
    let input = Aggregate::of_rows(cells, 1, person()).unwrap();
    let release = account.release_by(check.mechanism(), input, "check").unwrap();
    release.into_value()
}

/// Half the sum of differences of shares.
fn distance(domain: &Domain, one: &[Vec<u32>], other: &[Vec<u32>], by: &[String]) -> f64 {
    let place = |name: &String| domain.attributes().iter().position(|other| other.name() == name);
    let places: Vec<usize> = by.iter().filter_map(place).collect();
    let size = |place: &usize| domain.attributes()[*place].size() as usize;
    let mut table = vec![0.0; places.iter().map(size).product()];
    for (columns, sign) in [(one, 1.0), (other, -1.0)] {
        let each = sign / columns[0].len() as f64;
        let mut cells = vec![0; columns[0].len()];
        for place in &places {
            for (cell, code) in cells.iter_mut().zip(&columns[*place]) {
                *cell = *cell * size(place) + *code as usize;
            }
        }
        cells.iter().for_each(|cell: &usize| table[*cell] += each);
    }
    0.5 * table.iter().map(|value| value.abs()).sum::<f64>()
}

/// Of tables that were not measured, the true distances are in the intervals as often as these say, and estimates are not off to one side, however little is spent.
#[test]
fn a_check_finds_how_far_rows_are_off() {
    let (domain, columns) = people(ROWS, 8);
    let release = released(&plan(&domain, with(Method::Mst), rho("1")), &columns, 6);
    let model = release.model().unwrap();
    let rows = model.rows(model.total().round() as usize, release.seed());
    for (epsilon, widest) in [("1", 0.02), ("0.1", 0.2), ("0.02", 0.9)] {
        let check = Check::new(&release, &model, rho(epsilon), 1, &person()).unwrap();
        let (mut inside, mut means, mut runs) = (0, 0, 0.0);
        let (mut bias, mut sum) = (0.0, 0.0);
        for key in 0..60 {
            let rounds = checked(&check, &columns, key);
            assert_eq!(rounds.results.len(), 1);
            let report = check.report(&rounds).unwrap();
            assert_eq!((report.tables.len(), report.rows), (40, rows[0].len()));
            let truths: Vec<f64> = report
                .tables
                .iter()
                .map(|table| distance(&domain, &columns, &rows, &table.by))
                .collect();
            for (table, truth) in report.tables.iter().zip(&truths) {
                inside += usize::from((table.distance.low..=table.distance.high).contains(truth));
                assert!(table.distance.high - table.distance.low < 2.0 * widest);
            }
            let truth = truths.iter().sum::<f64>() / 40.0;
            means += usize::from((report.distance.low..=report.distance.high).contains(&truth));
            bias += report.distance.value - truth;
            sum += truth;
            runs += 1.0;
            assert!((report.score - 1000.0 * (1.0 - report.distance.value)).abs() < 1e-9);
        }
        let (bias, truth) = (bias / runs, sum / runs);
        eprintln!(
            "ε = {epsilon}: {inside} of 2400 tables and {means} of 60 means inside; bias {bias:.5} of {truth:.4}"
        );
        // Of 2400 tables at least 95 % with 4 deviations below, of 60 means all but 9.
        assert!(inside >= 2_237 && means >= 51, "{inside} {means}");
        // Noise on counts instead would add 0.4·σ·cells/rows: several times the distance itself.
        let deviation = check.report(&checked(&check, &columns, 1)).unwrap().deviation;
        let off = 4.0 * 0.5 * deviation / (40.0 * runs).sqrt() / ROWS as f64;
        assert!(bias.abs() < off + 0.002, "{epsilon}: {bias} {off}");
    }
}

#[test]
fn checks_look_at_what_was_not_measured_and_say_no_where_nothing_is() {
    let (domain, columns) = people(2_000, 9);
    let wanted = |attributes: &[usize]| Wanted {
        attributes: attributes.to_vec(),
        weight: 1,
    };
    let settings = Settings {
        wanted: vec![wanted(&[1]), wanted(&[0, 1]), wanted(&[8, 9])],
        ..with(Method::Independent)
    };
    let release = released(&plan(&domain, settings, rho("1")), &columns, 2);
    let model = release.model().unwrap();
    let new = |epsilon| Check::new(&release, &model, rho(epsilon), 1, &person());
    let check = new("0.5").unwrap();
    let rounds = checked(&check, &columns, 3);
    let report = check.report(&rounds).unwrap();
    let mut by: Vec<String> = report.tables.iter().map(|table| table.by.join(" ")).collect();
    by.sort();
    assert_eq!(
        (by, report.held_out),
        (vec!["a0 a1".to_owned(), "a8 a9".to_owned()], 2)
    );
    // The first two depend on each other, which rows of independent columns do not show; the last two do not.
    let of = |name: &str| {
        report
            .tables
            .iter()
            .find(|table| table.by[0] == name)
            .unwrap()
            .distance
    };
    assert!(of("a0").low > 0.1 && of("a8").high < 0.1, "{report:?}");
    // What is of another check is not read as this one's.
    let mut other = rounds.clone();
    if let RoundResult::Compared { tables, .. } = &mut other.results[0] {
        tables.swap(0, 1);
    }
    assert!(check.report(&other).is_err() && check.report(release.rounds()).is_err());
    let settings = Settings {
        wanted: vec![wanted(&[1])],
        ..with(Method::Independent)
    };
    let measured = released(&plan(&domain, settings, rho("1")), &columns, 2);
    let model = measured.model().unwrap();
    let refused = Check::new(&measured, &model, rho("1"), 1, &person()).err();
    assert_eq!(refused, Some(Error::NothingHeldOut));
    assert_eq!(new("0.000001").err(), Some(Error::CheckTooSmall));
}

#[test]
fn what_is_refused() {
    let (domain, _) = people(1, 1);
    let refused = |settings: Settings| Plan::new(domain.clone(), settings, rho("1"), 1, &person()).is_err();
    assert!(refused(Settings {
        cells: 10,
        ..Settings::default()
    }));
    let wanted = |attributes: Vec<usize>, weight| Settings {
        wanted: vec![Wanted { attributes, weight }],
        ..Settings::default()
    };
    assert!(refused(wanted(vec![0, 99], 1)));
    assert!(refused(wanted(vec![1, 1], 1)));
    assert!(refused(wanted(vec![1, 2], 0)));
    assert!(!refused(wanted(vec![1, 2], 1)));
    let none = Domain::new(Vec::new()).unwrap();
    assert!(Plan::new(none, Settings::default(), rho("1"), 1, &person()).is_err());
}
