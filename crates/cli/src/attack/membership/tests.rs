use super::*;
use crate::delivery::parsed;
use std::path::Path;

fn ask(words: &str) -> Result<(Findings, bool), CliError> {
    findings(&parsed::<Arguments>(words)?)
}

fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file");
    path.display().to_string()
}

#[test]
fn members_are_traced_without_noise_and_not_with_it() {
    let (findings, within) =
        ask("--people 20 --attributes 400 --trials 300 --epsilon 1,0.1").expect("an answer");
    assert!(within);
    let area = |place: usize, score: &str| {
        findings.json["releases"][place][score]["area"]
            .as_f64()
            .expect("a number")
    };
    assert!(area(0, "inner_product") > 0.97 && area(0, "likelihood_ratio") > 0.97);
    assert!(area(1, "inner_product") < 0.65);
    // (1, 1e-5): the area under e·f + δ up to the knee and its mirror image.
    let allowed = findings.json["releases"][1]["area_allowed"]
        .as_f64()
        .expect("a number");
    let knee = (1.0 - 1e-5) / (1.0 + std::f64::consts::E);
    assert!((allowed - (1.0 - knee)).abs() < 1e-4, "{allowed} {knee}");
    assert_eq!(findings.json["releases"][0]["promise"], serde_json::Value::Null);
    for expected in [
        "300 studies of 20 people and 400 attributes",
        "Gaussian, ε = 0.1",
        "Nobody is traced more often than (ε, δ) allows.",
        "Seed 1.",
    ] {
        assert!(findings.text.contains(expected), "{expected}: {}", findings.text);
    }
    assert_eq!(findings.rows.len(), 3);
    assert!(findings.figures[0].to_svg().contains("a coin"));
}

#[test]
fn laplace_noise_has_no_delta() {
    let (findings, within) =
        ask("--people 10 --attributes 20 --trials 40 --epsilon 2 --laplace").expect("an answer");
    assert!(within);
    assert_eq!(findings.json["releases"][1]["promise"], "ε = 2");
    // d/(n·ε).
    assert_eq!(findings.json["releases"][1]["size_on_a_mean"], 1.0);
    assert!(findings.json["releases"][1]["area_allowed_by_gaussian_noise"].is_null());
}

#[test]
fn named_people_are_traced_from_files() {
    let folder = tempfile::tempdir().expect("a folder");
    // A study of one person: its means are her attributes.
    let attributes = 40;
    let has = |attribute: usize| attribute.is_multiple_of(3);
    let mut means = String::from("attribute,mean,frequency\n");
    let (mut header, mut member, mut stranger) =
        (String::from("who"), String::from("Ann"), String::from("Bob"));
    for attribute in 0..attributes {
        means += &format!("a{attribute},{},0.4\n", u8::from(has(attribute)));
        header += &format!(",a{attribute}");
        member += &format!(",{}", u8::from(has(attribute)));
        stranger += &format!(",{}", u8::from(attribute.is_multiple_of(5)));
    }
    let means = file(folder.path(), "means.csv", &means);
    let targets = file(
        folder.path(),
        "targets.csv",
        &format!("{header}\n{stranger}\n{member}\n"),
    );
    let (findings, _) = ask(&format!(
        "--means {means} --targets {targets} --names who --people 1"
    ))
    .expect("an answer");
    let first = &findings.json["targets"][0];
    assert_eq!(first["who"], "Ann");
    // She is the study, and it would be a coincidence of 0.4^14·0.6^26 otherwise.
    let expected = -(14.0 * 0.4f64.log10() + 26.0 * 0.6f64.log10());
    let found = first["log10_likelihood_ratio"].as_f64().expect("a number");
    assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    assert!(first["stranger_probability"].as_f64().expect("a number") < 1e-4);
    // What a study of one excludes for certain has no ratio.
    assert_eq!(findings.json["targets"][1]["who"], "Bob");
    assert!(findings.json["targets"][1]["log10_likelihood_ratio"].is_null());
    assert!(findings.text.contains("10^11.3"), "{}", findings.text);
    // With noise the same file is worth what ε allows.
    let (findings, _) = ask(&format!(
        "--means {means} --targets {targets} --people 1 --epsilon 1"
    ))
    .expect("an answer");
    assert!(
        findings
            .text
            .contains("no test that accuses 1 % of strangers accuses more than 2.72 % of members"),
        "{}",
        findings.text
    );
}

#[test]
fn nonsense_is_refused_without_quoting_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let good = file(folder.path(), "good.csv", "attribute,mean,frequency\nx,0.5,0.5\n");
    let bad = file(
        folder.path(),
        "bad.csv",
        "attribute,mean,frequency\nx,0.5,0.5\ny,secret,0.5\n",
    );
    let certain = file(
        folder.path(),
        "certain.csv",
        "attribute,mean,frequency\nx,0.5,1\n",
    );
    let unnamed = file(folder.path(), "unnamed.csv", "attribute,mean\nx,0.5\n");
    let targets = file(folder.path(), "targets.csv", "x\nsecret\n");
    let other = file(folder.path(), "other.csv", "y\n1\n");
    for (words, expected) in [
        ("--people 0".to_owned(), "people and attributes"),
        ("--attributes 0".to_owned(), "people and attributes"),
        ("--trials 3".to_owned(), "--trials must lie"),
        ("--epsilon x".to_owned(), "not a finite number"),
        (
            "--epsilon 0 --laplace --trials 20 --attributes 5".to_owned(),
            "ε must be positive",
        ),
        (
            "--delta 0 --epsilon 1 --trials 20 --attributes 5".to_owned(),
            "needs δ > 0",
        ),
        (format!("--means {good}"), "--targets"),
        (
            format!("--means {bad} --targets {targets}"),
            "line 3: `mean` is not a number",
        ),
        (
            format!("--means {certain} --targets {targets}"),
            "strictly between 0 and 1",
        ),
        (
            format!("--means {unnamed} --targets {targets}"),
            "no column `frequency`",
        ),
        (
            format!("--means {good} --targets {targets}"),
            "line 2: `x` is neither 0 nor 1",
        ),
        (format!("--means {good} --targets {other}"), "no column `x`"),
        (
            format!("--means {good} --targets {targets} --epsilon 1,2"),
            "one noise",
        ),
        (
            format!("--means /nowhere.csv --targets {targets}"),
            "cannot read `/nowhere.csv`",
        ),
    ] {
        let error = ask(&words).expect_err(&words);
        assert_eq!(error.code, 2);
        let said = error.to_string();
        assert!(
            said.contains(expected) && !said.contains("secret"),
            "{words}: {said}"
        );
    }
}
