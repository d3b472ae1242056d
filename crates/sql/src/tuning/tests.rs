//! Limits from histograms that are known, and catalogs that keep their comments.

use super::choice::{Histogram, Noise, Tail};
use super::spread::{GroupLimits, best_limits, in_proportion};
use super::*;
use crate::finish::answer::Cost;
use accounting::{Epsilon, Guarantee, Neighbors, PrivacyUnit, Promise};

const NOISE: Noise = Noise {
    laplace: std::f64::consts::SQRT_2,
    gaussian: None,
};

/// A histogram of numbers, with noise of a fixed pattern of mean zero and this deviation.
fn histogram(values: impl Iterator<Item = f64>, edges: Vec<f64>, deviation: f64) -> Histogram {
    let mut counts = vec![0.0; edges.len() + 1];
    for value in values {
        counts[edges.partition_point(|edge| *edge < value)] += 1.0;
    }
    let pattern = [1.0, -1.0, 0.5, -0.7, 1.3, -1.1];
    for (place, count) in counts.iter_mut().enumerate() {
        *count += deviation * pattern[place % pattern.len()];
    }
    Histogram {
        whole: edges[0] == 1.0,
        edges,
        counts,
        deviation,
    }
}

fn count_edges() -> Vec<f64> {
    let table = Table::undeclared(crate::catalog::Source::Csv("unused.csv".into()));
    UnitQuantity::Rows.edges(&table)
}

/// bias² + noise² of a limit, from the numbers themselves.
fn error(values: &[f64], limit: f64, noise: f64) -> f64 {
    let bias: f64 = values.iter().map(|value| (value - limit).max(0.0)).sum();
    (bias.powi(2) + (noise * limit).powi(2)).sqrt()
}

/// Quantiles of distributions with light and heavy tails: 20,000 units.
fn distributions() -> Vec<(&'static str, Vec<f64>)> {
    let uniform = |place: usize| (place as f64 + 0.5) / 20_000.0;
    let exponential = |place: usize| (-10.0 * uniform(place).ln()).ceil();
    let power = |place: usize| (5.0 * uniform(place).powf(-1.0 / 3.0)).ceil();
    let narrow = |place: usize| 8.0 + (uniform(place) * 5.0).floor();
    vec![
        ("exponential", (0..20_000).map(exponential).collect()),
        ("power", (0..20_000).map(power).collect()),
        ("narrow", (0..20_000).map(narrow).collect()),
    ]
}

#[test]
fn limits_err_less_than_twice_as_much_as_the_best() {
    for (name, values) in distributions() {
        // Noise of ε = 0.05: half of 0.1, as rows get it.
        let seen = histogram(values.iter().copied(), count_edges(), 28.0);
        let found = Tail::of(&seen).unwrap().best_limit(true, &NOISE);
        let best = (1..2000)
            .map(|limit| error(&values, f64::from(limit), NOISE.laplace))
            .fold(f64::INFINITY, f64::min);
        let ratio = error(&values, found, NOISE.laplace) / best;
        assert!(ratio < 2.0, "{name}: limit {found}, {ratio} times the best error");
    }
}

/// A bucket far out that only noise filled does not move the mean, nor what a row is taken to have.
#[test]
fn noise_far_out_moves_no_mean() {
    let rows = || (0..20_000).map(|unit| f64::from(1 + unit % 19));
    let quiet = histogram(rows(), count_edges(), 30.0);
    let mut deceived = quiet.clone();
    let far = deceived.edges.len() - 10;
    deceived.counts[far] += 9.0 * deceived.deviation;
    let (quiet, deceived) = (Tail::of(&quiet).unwrap(), Tail::of(&deceived).unwrap());
    assert!(
        deceived.largest > 1000.0,
        "the bucket is seen: {}",
        deceived.largest
    );
    for tail in [&quiet, &deceived] {
        assert!((tail.mean - 10.0).abs() < 1.0, "{}", tail.mean);
    }
    let sums = histogram(rows().map(|rows| 120.0 * rows), count_edges(), 30.0);
    let sums = Tail::of(&sums).unwrap();
    for tail in [&quiet, &deceived] {
        let (_, a_row) = in_proportion(tail, &sums);
        assert!((90.0..160.0).contains(&a_row), "{a_row}");
    }
}

/// Where the noise hides the whole upper part of the units, they are still counted, with what they have.
#[test]
fn who_is_beyond_what_is_seen_is_counted() {
    for (name, values) in distributions() {
        for deviation in [28.0, 170.0] {
            let tail = Tail::of(&histogram(values.iter().copied(), count_edges(), deviation)).unwrap();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let (units, mean) = (tail.units / values.len() as f64, tail.mean / mean);
            assert!(
                (0.97..1.03).contains(&units),
                "{name}, {deviation}: {units} of the units"
            );
            assert!(
                (0.93..1.07).contains(&mean),
                "{name}, {deviation}: {mean} times the mean"
            );
        }
    }
}

#[test]
fn nothing_is_seen_in_noise() {
    assert!(Tail::of(&histogram(std::iter::empty(), count_edges(), 10.0)).is_none());
}

#[test]
fn where_nobody_is_in_many_groups_few_count() {
    let groups = histogram(
        (0..20_000).map(|unit| f64::from(1 + unit % 3)),
        count_edges(),
        30.0,
    );
    let rows = histogram(
        (0..20_000).map(|unit| f64::from(2 + unit % 4)),
        count_edges(),
        30.0,
    );
    let (groups, rows) = (Tail::of(&groups).unwrap(), Tail::of(&rows).unwrap());
    let found = best_limits(&groups, &rows, &rows, 10.0, &NOISE);
    let all = found.in_all.unwrap_or(found.groups * found.in_group);
    assert!((2.0..=10.0).contains(&found.groups), "{found:?}");
    assert!((4.0..=6.0).contains(&all.min(found.in_group)), "{found:?}");
}

/// The rows of 20,000 units in their groups, of ten: a heavy tail of rows, spread evenly or mostly in one group, over few groups that have nothing to do with rows.
fn spread(first: f64) -> Vec<Vec<f64>> {
    (0..20_000u32)
        .map(|unit| {
            let rank = (f64::from(unit) + 0.5) / 20_000.0;
            let rows = (5.0 * rank.powf(-1.0 / 3.0)).ceil();
            let groups = f64::from(1 + unit * 7919 % 4);
            let one = (rows * (1.0 / groups + first * (1.0 - 1.0 / groups))).round();
            let others = (rows - one) / (groups - 1.0).max(1.0);
            std::iter::once(one)
                .chain((1..groups as usize).map(move |_| others))
                .collect()
        })
        .collect()
}

/// The rows of 20,000 units in their groups, each row in any of ten.
fn by_chance() -> Vec<Vec<f64>> {
    let mut state = 20_261_u64;
    (0..20_000u32)
        .map(|unit| {
            let rank = (f64::from(unit) + 0.5) / 20_000.0;
            let mut groups = [0.0; 10];
            for _ in 0..(5.0 * rank.powf(-1.0 / 3.0)).ceil() as usize {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                groups[(state >> 33) as usize % 10] += 1.0;
            }
            groups.into_iter().filter(|rows| *rows > 0.0).collect()
        })
        .collect()
}

/// The error of one group's count.
fn error_of_pair(units: &[Vec<f64>], k: f64, m: f64, noise: &Noise) -> f64 {
    let cut = |groups: &Vec<f64>| {
        let kept: f64 = groups.iter().map(|rows| rows.min(m)).sum();
        groups.iter().sum::<f64>() - kept * (k / groups.len() as f64).min(1.0)
    };
    (units.iter().map(cut).sum::<f64>() / 10.0).hypot(noise.of(k, m))
}

/// The same where rows in all groups together may be limited too.
fn error_of_limits(units: &[Vec<f64>], found: &GroupLimits, noise: &Noise) -> f64 {
    let (k, m) = (found.groups, found.in_group);
    let Some(all) = found.in_all else {
        return error_of_pair(units, k, m, noise);
    };
    let cut = |groups: &Vec<f64>| {
        let kept: f64 = groups.iter().map(|rows| rows.min(m)).sum();
        groups.iter().sum::<f64>() - (kept * (k / groups.len() as f64).min(1.0)).min(all)
    };
    (units.iter().map(cut).sum::<f64>() / 10.0).hypot(noise.of_all(all.min(k * m), m))
}

#[test]
fn limits_of_groups_err_hardly_more_than_the_best() {
    for (name, most, units) in [
        ("evenly", 1.2, spread(0.0)),
        ("mostly in one", 1.2, spread(0.5)),
        ("by chance", 0.95, by_chance()),
    ] {
        let of = |number: fn(&Vec<f64>) -> f64, deviation: f64| {
            Tail::of(&histogram(units.iter().map(number), count_edges(), deviation)).unwrap()
        };
        let rows = of(|groups| groups.iter().sum(), 28.0);
        let groups = of(|groups| groups.len() as f64, 170.0);
        let in_group = of(|groups| groups.iter().copied().fold(0.0, f64::max), 113.0);
        let found = best_limits(&groups, &in_group, &rows, 10.0, &NOISE);
        let best = (1..=10)
            .flat_map(|k| {
                (1..20)
                    .chain((20..400).step_by(5))
                    .map(move |m| (f64::from(k), f64::from(m)))
            })
            .map(|(k, m)| error_of_pair(&units, k, m, &NOISE))
            .fold(f64::INFINITY, f64::min);
        let ratio = error_of_limits(&units, &found, &NOISE) / best;
        eprintln!("{name}: {found:?} {ratio}");
        assert!(
            ratio < most,
            "{name}: {found:?}, {ratio} times the best error without a limit of rows in all groups"
        );
    }
}

#[test]
fn sums_in_proportion_to_rows_are_seen_as_such() {
    let rows: Vec<f64> = distributions().swap_remove(1).1;
    let seen = histogram(rows.iter().copied(), count_edges(), 28.0);
    let table = Table::undeclared(crate::catalog::Source::Csv("unused.csv".into()));
    let edges = UnitQuantity::Sum("unused".to_owned()).edges(&table);
    let sums = histogram(rows.iter().map(|rows| 3.0 * rows), edges, 170.0);
    let (rows, sums) = (Tail::of(&seen).unwrap(), Tail::of(&sums).unwrap());
    let (tail, scale) = in_proportion(&rows, &sums);
    assert!((2.7..3.5).contains(&scale), "{scale}");
    let (of_rows, of_sums) = (rows.best_limit(true, &NOISE), tail.best_limit(true, &NOISE));
    assert!((2.4..4.2).contains(&(of_sums / of_rows)), "{of_sums} {of_rows}");
}

const CATALOG: &str = r#"
name = "clinic"  # a comment
[unit]
whose = "person"
neighbors = "add_remove"
[budget]
epsilon = 10
ledger = "unused.ledger"
[limits]
groups = 4
[tables.visits]
source = "visits.csv"
unit = "person"
[tables.visits.limits]
# an old limit
groups = 1
[tables.visits.columns]
# what queries may use
person = { kind = "int" }
ward = { kind = "text", values = ["a", "b"] }  # where
cost = { kind = "float" }  # in money
"#;

fn found() -> FoundLimits {
    let by = Limits {
        groups: Some(2),
        rows_per_group: Some(7),
        ..Limits::default()
    };
    FoundLimits {
        table: "visits".to_owned(),
        limits: Limits {
            rows: Some(31),
            groups: Some(2),
            rows_per_group: Some(7),
            sums: BTreeMap::from([("odd name".to_owned(), Range { low: 0.0, high: 2.5 })]),
            by: BTreeMap::from([("ward".to_owned(), by)]),
        },
        bounds: BTreeMap::from([(
            "cost".to_owned(),
            Range {
                low: 0.0,
                high: 512.0,
            },
        )]),
        profiles: Vec::new(),
        left_out: Vec::new(),
        question_epsilon: 1.0,
        answer: Answer {
            columns: Vec::new(),
            rows: Vec::new(),
            confidence: 0.95,
            bounds: Vec::new(),
            cut: Vec::new(),
            notes: Vec::new(),
            cost: Some(Cost {
                guarantee: Guarantee::new(
                    Promise::Pure(Epsilon::parse("0.1").unwrap()),
                    PrivacyUnit::new("person", Neighbors::AddRemove),
                ),
                charge: 3,
            }),
        },
        repeated: false,
    }
}

#[test]
fn the_rest_of_a_catalog_stays_as_it_is() {
    let directory = std::path::Path::new(".");
    let once = with_limits(CATALOG, &found(), directory).unwrap();
    for kept in [
        "name = \"clinic\"  # a comment",
        "# what queries may use",
        "# where",
        "# in money",
    ] {
        assert!(once.contains(kept), "{kept}: {once}");
    }
    assert!(
        !once.contains("an old limit")
            && once.contains("bounds = [0, 512] }  # bounds found by `deniable limits`  # in money"),
        "{once}"
    );
    let catalog = Catalog::parse(&once, directory).unwrap();
    assert_eq!(catalog.tables["visits"].limits, found().limits);
    // The second time replaces the first.
    let again = FoundLimits {
        bounds: BTreeMap::new(),
        ..found()
    };
    assert_eq!(with_limits(&once, &again, directory).unwrap(), once);
    assert_eq!(with_limits(&once, &found(), directory).unwrap(), once);
    let wider = FoundLimits {
        bounds: BTreeMap::from([("cost".to_owned(), Range { low: -0.5, high: 9.0 })]),
        ..found()
    };
    let wider = with_limits(&once, &wider, directory).unwrap();
    assert!(wider.contains("bounds = [-0.5, 9] }  # bounds found"), "{wider}");
    // What was found can be looked for again; what the curator wrote stays.
    let looked_for = without_found_bounds(&once, "visits");
    assert!(
        looked_for.contains("cost = { kind = \"float\" }  # in money"),
        "{looked_for}"
    );
    let own = CATALOG.replace("\"float\" }", "\"float\", bounds = [0, 5] }");
    assert_eq!(without_found_bounds(&own, "visits"), own);
}

/// Intervals of units over a limit hold as often as they say: on noise of the distribution that is drawn, from a fixed source.
#[test]
fn intervals_of_units_over_a_limit_hold() {
    let mut state = 20_261u64;
    let mut uniform = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let scale = 20.0;
    let mut held = 0;
    for _ in 0..1000 {
        let mut seen = histogram((0..5000).map(|unit| f64::from(1 + unit % 40)), count_edges(), 0.0);
        for count in &mut seen.counts {
            let exponential = |uniform: f64| -scale * (1.0 - uniform).ln();
            *count += exponential(uniform()) - exponential(uniform());
        }
        seen.deviation = scale * std::f64::consts::SQRT_2;
        // 30 is an edge, and 31 is not: of those over it one hears between two edges.
        let (low, high) = seen.over(31.0, 0.95);
        held += i32::from(low <= 1125.0 && 1125.0 <= high);
    }
    assert!(held >= 950, "{held} of 1000");
}

#[test]
fn a_largest_number_is_not_far_beyond_all_numbers() {
    let table = Table::undeclared(crate::catalog::Source::Csv("unused.csv".into()));
    let edges = UnitQuantity::Largest("cost".to_owned()).edges(&table);
    let seen = histogram((0..2000).map(|unit| f64::from(unit % 37)), edges, 20.0);
    assert_eq!(Tail::of(&seen).unwrap().largest, 64.0);
}

#[test]
fn no_more_groups_are_looked_for_than_there_can_be() {
    let facts = |kind: Kind| Facts {
        nullable: false,
        ..Facts::unknown(kind)
    };
    assert_eq!(possible_groups(&facts(Kind::Bool)), Some(2.0));
    assert_eq!(possible_groups(&Facts::unknown(Kind::Bool)), Some(3.0));
    assert_eq!(possible_groups(&facts(Kind::Text)), None);
    let months = Facts {
        range: Range::new(1.0, 12.0),
        ..facts(Kind::Int)
    };
    assert_eq!(possible_groups(&months), Some(12.0));
}

#[test]
fn what_cannot_be_edited_is_reported() {
    let inline = CATALOG
        .replace("[tables.visits.limits]\n# an old limit\ngroups = 1\n", "")
        .replace(
            "unit = \"person\"\n",
            "unit = \"person\"\nlimits = { groups = 1 }\n",
        );
    let error = with_limits(&inline, &found(), std::path::Path::new("."))
        .unwrap_err()
        .to_string();
    assert!(error.contains("rows = 31"), "{error}");
}
