use super::*;
use clap::{Args as _, Command, FromArgMatches as _};

fn arguments(words: &str) -> Arguments {
    let command = Arguments::augment_args(Command::new("linear").no_binary_name(true));
    let matches = command
        .try_get_matches_from(words.split_whitespace())
        .expect("arguments");
    Arguments::from_arg_matches(&matches).expect("arguments")
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (words, expected) in [
        ("--people 0", "nobody to attack"),
        ("--runs 0", "no data set"),
        ("--alpha -1", "positive number"),
        ("--alpha nan", "positive number"),
        ("--epsilon zero", "not a finite number"),
        ("--epsilon 0 --noise laplace", "ε must be positive"),
        ("--delta 0", "δ"),
        ("--against deniable --noise uniform", "chooses its noise itself"),
        ("--against deniable --people 5000", "cannot list the ids"),
    ] {
        let Err(error) = Plan::new(&arguments(words)) else {
            panic!("{words} was taken")
        };
        assert!(
            error.message.contains(expected) && error.hint.is_some(),
            "{words}: {error}"
        );
    }
}

#[test]
fn noise_below_the_root_gives_everything_away_and_private_noise_does_not() {
    let words =
        "--people 64 --runs 2 --noise none,uniform,gaussian,laplace --alpha 0.1 --epsilon 0.5 --quiet";
    let plan = Plan::new(&arguments(words)).expect("a plan");
    let rows = model::attack(&plan, &Interrupt::default()).expect("rows");
    let fractions: Vec<(f64, f64)> = rows
        .iter()
        .map(|row| (row.fraction(0), row.fraction(1)))
        .collect();
    assert_eq!(&fractions[..2], [(1.0, 1.0); 2]);
    // 128 fair coins and a seed: within 0.2 of what a coin gets, and of the bound 0.622.
    for (squares, program) in &fractions[2..] {
        assert!(
            (squares - 0.5).abs() < 0.2 && (program - 0.5).abs() < 0.2,
            "{fractions:?}"
        );
    }
    assert!(rows.iter().all(|row| !row.broken()));
}

#[test]
fn more_than_was_promised_is_noticed() {
    let plan = Plan::new(&arguments("--people 64 --noise gaussian --epsilon 0.1")).expect("a plan");
    let mut row = Row {
        setting: &plan.settings[0],
        right: vec![40, 64],
        bits: 64,
        ledger: None,
    };
    assert!(row.broken());
    row.right = vec![40, 33];
    assert!(!row.broken());
}

#[test]
fn deniable_stops_answering() {
    let plan = Plan::new(&arguments(
        "--against deniable --people 8 --queries 6 --epsilon 1 --quiet",
    ))
    .expect("a plan");
    let rows = deniable::attack(&plan, &Interrupt::default()).expect("rows");
    let ledger = rows[0].ledger.clone().expect("a ledger");
    assert!(
        ledger.refused && (6..=11).contains(&ledger.answered),
        "{}",
        ledger.answered
    );
    assert!(!rows[0].broken());
}

/// A small attack from a fixed seed.
const SMALL: &str =
    "--people 32 --runs 2 --noise none,uniform,gaussian,laplace --alpha 0.5 --epsilon 1,30 --quiet";

#[test]
fn a_report_for_people() {
    let arguments = arguments(SMALL);
    let plan = Plan::new(&arguments).expect("a plan");
    let rows = model::attack(&plan, &Interrupt::default()).expect("rows");
    insta::assert_snapshot!(report::text(&plan, &rows, &arguments), @r"
    32 people with a secret bit each; 128 random sets of them answered by a model; 2 data sets, seed 1.
    The part of the bits that came out right:

    noise                       deviation  least squares  linear program   at most
    ──────────────────────────  ─────────  ─────────────  ──────────────  ────────
    none                                0          1.000           1.000  no limit
    uniform, ±0.5·√n                 1.63          0.953           0.984  no limit
    Gaussian, ε = 1, δ = 1e-6        47.8          0.562           0.578     0.731
    Gaussian, ε = 30, δ = 1e-6       2.57          0.812           0.812     1.000
    Laplace, ε = 1                    181          0.484           0.469     0.731
    Laplace, ε = 30                  6.03          0.688           0.797     1.000

    A coin gets one half. At most: (e^ε + δ)/(1 + e^ε), on average, for any attack; by chance a measured part is off by about ±0.06.
    ");
}

#[test]
fn a_report_for_programs_and_a_page() {
    let arguments = arguments(SMALL);
    let plan = Plan::new(&arguments).expect("a plan");
    let rows = model::attack(&plan, &Interrupt::default()).expect("rows");
    let object = report::json(&plan, &rows, &arguments);
    assert_eq!(object["rows"][0]["recovered"]["least_squares"], 1.0);
    assert_eq!(object["rows"][0]["at_most"], serde_json::Value::Null);
    assert_eq!(object["rows"][1]["alpha"], 0.5);
    assert_eq!(
        (&object["rows"][2]["noise"], &object["rows"][2]["epsilon"]),
        (&"gaussian".into(), &"1".into())
    );
    let drawn = report::drawn(&plan, &rows, &arguments)
        .expect("a figure")
        .to_svg();
    for name in [
        "uniform noise, linear program",
        "Gaussian noise, least squares",
        "most that (ε, δ) allows",
        "a coin",
    ] {
        assert!(drawn.contains(name), "{name}");
    }
    let page = report::page(&plan, &rows, &arguments).expect("a page").to_html();
    assert_eq!(page.matches("<tr><td").count(), rows.len());
    assert!(page.contains("nothing is promised") && page.contains("<svg"));
}

#[test]
fn ctrl_c_keeps_the_runs_that_were_done() {
    let arguments = arguments("--people 16 --noise none --runs 5 --method ls --quiet");
    let plan = Plan::new(&arguments).expect("a plan");
    let interrupt = Interrupt::default();
    interrupt.press();
    let rows = model::attack(&plan, &interrupt).expect("rows");
    assert!(!rows.is_empty());
    assert!(rows.iter().all(|row| row.bits == 16 && row.right[0] <= 16));
}
