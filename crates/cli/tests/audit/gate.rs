//! `deniable audit self`: the gate that continuous integration runs.

use super::{assert_refused, line, object, stderr, stdout};
use serde_json::Value;

/// The seed is fixed, so that a verdict by chance would be one for good: with fresh bits it has a probability
/// below 1e-7 for all checks together.
#[test]
fn every_mechanism_passes_the_quick_gate() {
    let output = line("self --quick --seed 1 --json");
    let found = object(&output);
    let wrong: Vec<&Value> = mechanisms(&found)
        .iter()
        .flat_map(|mechanism| mechanism["checks"].as_array().expect("a list"))
        .filter(|check| check["right"] != true)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(
        (&found["passed"], &found["checks"]),
        (&true.into(), &found["right"])
    );
    for mechanism in mechanisms(&found) {
        assert_eq!(mechanism["verdict"], "proved", "{}", mechanism["name"]);
        let checks = mechanism["checks"].as_array().expect("a list");
        assert!(
            checks.iter().any(|check| check["verdict"] == "refuted"),
            "it can fail: {mechanism}"
        );
    }
    assert!(found["false_alarm_at_most"].as_f64().expect("a number") < 1e-7);
}

fn mechanisms(found: &Value) -> &Vec<Value> {
    found["mechanisms"].as_array().expect("a list")
}

#[test]
fn one_mechanism_alone_and_the_same_again() {
    let page = std::env::temp_dir().join(format!("deniable-audit-self-{}.html", std::process::id()));
    let words = format!(
        "self --quick --only randomizedresponse --seed 3 --html {}",
        page.display()
    );
    let output = line(&words);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(
        text.contains("RandomizedResponse  ε = 1  proved") && text.contains("2 of 2"),
        "{text}"
    );
    let html = std::fs::read_to_string(&page).expect("a page");
    let _ = std::fs::remove_file(&page);
    assert!(
        html.contains("RandomizedResponse with a mistake, 5 % of the noise missing"),
        "{html}"
    );
    // What it found can be shown again: the command is on the page, and draws the same.
    assert!(html.contains("deniable audit self --only RandomizedResponse --seed 3 --quick"));
    let seen = |output: &str| output.lines().take(3).map(str::to_string).collect::<Vec<_>>();
    let again = stdout(&line(
        "self --quick --only RandomizedResponse --seed 3 --threads 1",
    ));
    assert_eq!(seen(&text), seen(&again));
}

#[test]
fn what_the_gate_cannot_do_is_refused() {
    assert_refused(&line("self --only nothing"), "no mechanism is called `nothing`");
    assert_refused(&line("self --threads 0"), "--threads must lie between");
    assert!(stdout(&line("self --help")).contains("Examples:"));
}
