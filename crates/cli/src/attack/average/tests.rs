use super::*;
use clap::{Args as _, Command, FromArgMatches as _};

fn arguments(words: &str) -> Arguments {
    let command = Arguments::augment_args(Command::new("average").no_binary_name(true));
    let matches = command
        .try_get_matches_from(words.split_whitespace())
        .expect("arguments");
    Arguments::from_arg_matches(&matches).expect("arguments")
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (words, expected) in [
        ("--epsilon 2 --budget 1", "more than the whole budget"),
        ("--epsilon 0", "nothing may be learned"),
        ("--budget many", "not a finite number"),
        ("--epsilon 0.0001 --budget 1", "more than 1000 questions"),
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
fn the_ledger_stops_every_form_and_every_account() {
    let arguments = arguments(
        "--runs 1 --targets 2 --people 60 --times 400 --epsilon 0.25 --budget 1.5 --accounts 3 --quiet",
    );
    let plan = Plan::new(&arguments).expect("a plan");
    let results = results(&plan, &arguments).expect("results");
    let [forgetful, equal, rewritten] = results.fared.as_slice() else {
        panic!("three rows")
    };
    assert_eq!(forgetful.courses[0].fresh, 400);
    // Off by √2/ε/√400 = 0.28 standard deviations' worth; the seed is fixed.
    assert!(
        forgetful.error(plan.truth) < 1.5,
        "{}",
        forgetful.error(plan.truth)
    );
    assert_eq!((equal.courses[0].fresh, equal.courses[0].repeated), (1, 7));
    // Six forms at ε = 0.25 each, then nothing. A double negation is recognised as the question that was answered, in both rounds.
    let course = &rewritten.courses[0];
    assert_eq!((course.fresh, course.repeated, course.refused), (6, 2, 2));
    assert_eq!(rewritten.spent, Some(plan.budget.clone()));
    assert_eq!((results.singled.exactly, results.singled.refused), (2, 0));
    // And it is reported: to people, to programs, and in a figure.
    let text = report::text(&plan, &results, &arguments);
    let reported: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("Deniable, rewritten"))
        .collect();
    let words: Vec<&str> = reported[0].split_whitespace().collect();
    assert_eq!(&words[4..8], ["10", "6", "2", "2"], "{text}");
    // 1/sinh 1.5, by a table of hyperbolic functions.
    assert!(reported[0].ends_with("0.470 (ε = 1.5)"), "{text}");
    let object = report::json(&plan, &results, &arguments);
    assert_eq!(object["ledger_held"], true);
    assert_eq!(object["averaging"][2]["refused"], 2);
    assert_eq!(
        object["differencing"]["at_most"],
        attack::bound::right_guesses(1.5, 0.0)
    );
    let drawn = report::drawn(&plan, &results, &arguments).to_svg();
    assert!(drawn.contains("Deniable, rewritten each time") && drawn.contains("at least, ε = 1.5"));
    assert_eq!(
        report::page(&plan, &results, &arguments)
            .to_html()
            .matches("<tr><td")
            .count(),
        4
    );
}

#[test]
fn right_too_often_is_noticed() {
    let singled = |privately| Singled {
        targets: 100,
        exactly: 100,
        privately,
        refused: 0,
    };
    let at_most = attack::bound::right_guesses(0.1, 0.0);
    assert!(singled(100).broken(at_most));
    assert!(!singled(60).broken(at_most));
}
