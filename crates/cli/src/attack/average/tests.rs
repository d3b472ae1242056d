use super::*;
use crate::delivery::parsed;

fn asked(words: &str) -> Result<Study, CliError> {
    study(&parsed::<Arguments>(words)?)
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (words, expected) in [
        ("--epsilon 2 --budget 1", "more than the whole budget"),
        ("--epsilon 0", "nothing may be learned"),
        ("--budget many", "not a finite number"),
        ("--epsilon 0.0001 --budget 1", "more than 1000 questions"),
    ] {
        let error = asked(words).expect_err(words);
        assert!(
            error.message.contains(expected) && error.hint.is_some(),
            "{words}: {error}"
        );
    }
}

/// The same findings for people, for programs, and on a page.
#[test]
fn what_was_found_is_reported_to_everybody() {
    let words = "--runs 1 --targets 2 --people 60 --times 400 --epsilon 0.25 --budget 1.5 --accounts 3";
    let study = asked(words).expect("a study");
    let findings = averaging::findings(&study, &study.run(&|_, _| true).expect("results"));
    let text = &findings.text;
    let reported: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("Deniable, rewritten"))
        .collect();
    let words: Vec<&str> = reported[0].split_whitespace().collect();
    assert_eq!(&words[4..8], ["10", "6", "2", "2"], "{text}");
    // 1/sinh 1.5, by a table of hyperbolic functions.
    assert!(reported[0].ends_with("0.470 (ε = 1.5)"), "{text}");
    let object = &findings.json;
    assert_eq!(object["ledger_held"], true);
    assert_eq!(object["averaging"][2]["refused"], 2);
    assert_eq!(
        object["differencing"]["at_most"],
        attack::bound::right_guesses(1.5, 0.0)
    );
    let drawn = findings.figures[0].to_svg();
    assert!(drawn.contains("Deniable, rewritten each time") && drawn.contains("at least, ε = 1.5"));
    assert_eq!(findings.to_html().matches("<tr><td").count(), 4);
}
