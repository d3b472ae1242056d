//! `deniable audit rows`: the generator keeps its claim, and generators that do not are refuted.

use super::{audit, object, stderr};

#[test]
fn generators_are_judged_rightly() {
    let output = audit(&[
        "rows",
        "--method",
        "independent",
        "--canaries",
        "300",
        "--delta",
        "1e-13",
        "--confidence",
        "0.999999999",
        "--json",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let found = object(&output);
    let generators = found["generators"].as_array().expect("generators");
    let verdicts: Vec<&str> = generators
        .iter()
        .filter_map(|one| one["verdict"].as_str())
        .collect();
    assert_eq!(verdicts, ["consistent", "refuted", "refuted"]);
    // Copies are close to members; exact marginals are not, and are refuted all the same.
    let area = |place: usize| generators[place]["closest"]["area"].as_f64().expect("an area");
    assert!(area(2) > 0.9 && area(1) < 0.9, "{found}");
}

#[test]
fn what_cannot_be_audited_is_refused() {
    for (wrong, word) in [
        (["--canaries", "3"], "canaries"),
        (["--canaries", "1000000"], "canaries"),
        (["--epsilon", "much"], "hint"),
        (["--delta", "0"], "hint"),
    ] {
        let output = audit(&[&["rows"][..], &wrong].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert!(stderr(&output).contains(word), "{}", stderr(&output));
    }
}
