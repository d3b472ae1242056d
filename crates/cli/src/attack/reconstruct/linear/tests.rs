use super::*;
use crate::delivery::parsed;
use ::report::Findings;

fn study(words: &str) -> Result<Study, CliError> {
    parsed::<Arguments>(words)?.study()
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
        let error = study(words).expect_err(words);
        assert!(
            error.message.contains(expected) && error.hint.is_some(),
            "{words}: {error}"
        );
    }
}

/// A small attack from a fixed seed.
fn small() -> Findings {
    let words = "--people 32 --runs 2 --noise none,uniform,gaussian,laplace --alpha 0.5 --epsilon 1,30";
    let study = study(words).expect("a study");
    let rows = study.of_a_model(&|_, _| true).expect("rows");
    let delta = Delta::parse("1e-6").expect("a number");
    linear::findings(&study, &rows, linear::Against::Model, &delta).expect("findings")
}

#[test]
fn a_report_for_people() {
    insta::assert_snapshot!(small().text, @r"
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
    let findings = small();
    let object = &findings.json;
    assert_eq!(object["rows"][0]["recovered"]["least_squares"], 1.0);
    assert_eq!(object["rows"][0]["at_most"], serde_json::Value::Null);
    assert_eq!(object["rows"][1]["alpha"], 0.5);
    assert_eq!(
        (&object["rows"][2]["noise"], &object["rows"][2]["epsilon"]),
        (&"gaussian".into(), &"1".into())
    );
    let drawn = findings.figures[0].to_svg();
    for name in [
        "uniform noise, linear program",
        "Gaussian noise, least squares",
        "most that (ε, δ) allows",
        "a coin",
    ] {
        assert!(drawn.contains(name), "{name}");
    }
    let page = findings.to_html();
    assert_eq!(page.matches("<tr><td").count(), 6);
    assert!(page.contains("nothing is promised") && page.contains("<svg"));
}
