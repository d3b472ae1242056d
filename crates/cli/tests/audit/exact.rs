//! `deniable audit exact`: known answers, claims, files and figures.

use super::{assert_refused, audit, line, object, stderr, stdout};

/// A file that is gone after the test.
fn file(name: &str, text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(name), text).expect("written");
    folder
}

#[test]
fn uniform_noise_has_no_finite_epsilon() {
    let output = line("exact --mechanism uniform --lower -1 --upper 1 --shift 1 --json");
    assert_eq!(output.status.code(), Some(0));
    let answer = &object(&output)["smallest_epsilon"];
    assert_eq!(answer["finite"], false);
    assert_eq!(answer["delta_at_least"]["lower"], 0.5);
    assert_eq!(answer["delta_at_least"]["upper"], 0.5);
    let text = stdout(&line("exact --mechanism uniform --lower -1 --upper 1"));
    assert!(text.contains("no finite ε; δ is at least 0.5"), "{text}");
}

#[test]
fn integer_noise_on_a_real_sum_hides_nothing() {
    let output = line("exact --mechanism geometric --scale 4 --shift 1/2 --epsilon 3 --delta 0 --json");
    let found = object(&output);
    assert_eq!(found["smallest_delta"]["delta"]["lower"], 1.0);
    assert_eq!(found["smallest_epsilon"]["delta_at_least"]["lower"], 1.0);
    // The grid may lie anywhere; only the distance counts.
    let moved = line("exact --mechanism geometric --scale 4 --shift 1/2 --offset -7/3 --json");
    assert_eq!(object(&moved)["smallest_epsilon"]["finite"], false);
}

#[test]
fn integer_noise_on_a_rounded_sum() {
    let output = line("exact --mechanism discrete-laplace --spacing 1/100 --shift 1 --scale 4 --json");
    let answer = object(&output)["smallest_epsilon"].clone();
    assert_eq!(answer["epsilon"]["lower"], 25.0);
    assert_eq!(answer["epsilon"]["upper"], 25.0);
}

#[test]
fn claims_are_proved_or_refuted() {
    let laplace = "exact --mechanism laplace --scale 2 --claim-epsilon";
    let proved = line(&format!("{laplace} 0.5"));
    assert_eq!(proved.status.code(), Some(0));
    assert!(stdout(&proved).contains("claim ε = 0.5, δ = 0: proved"));

    let refuted = line(&format!("{laplace} 0.499999 --json"));
    assert_eq!(refuted.status.code(), Some(4));
    assert_eq!(object(&refuted)["claim"]["verdict"], "refuted");
    assert_eq!(
        stderr(&refuted),
        "error: the claim ε = 0.499999, δ = 0 is refuted\n"
    );

    let gaussian = "exact --mechanism gaussian --sigma 4 --claim-epsilon 1.1 --claim-delta";
    assert_eq!(line(&format!("{gaussian} 1e-6")).status.code(), Some(0));
    assert_eq!(line(&format!("{gaussian} 1e-9")).status.code(), Some(4));
    // A claim without a δ of its own is judged at the δ that is asked for, and with one at its own.
    let asked = line("exact --mechanism gaussian --sigma 4 --claim-epsilon 1.1 --delta 1e-6");
    assert!(stdout(&asked).contains("claim ε = 1.1, δ = 0.000001: proved"));
    assert_eq!(
        line(&format!("{gaussian} 1e-9 --delta 1e-6")).status.code(),
        Some(4)
    );

    let response = "exact --mechanism randomized-response --epsilon 1 --answers 4 --claim-epsilon";
    assert_eq!(line(&format!("{response} 1.000001")).status.code(), Some(0));
    assert_eq!(line(&format!("{response} 0.999999")).status.code(), Some(4));
}

#[test]
fn certified_intervals_contain_the_known_answers() {
    let found = object(&line("exact --mechanism randomized-response --gamma 1/4 --json"));
    let epsilon = &found["smallest_epsilon"]["epsilon"];
    let ends = (
        epsilon["lower"].as_f64().expect("a number"),
        epsilon["upper"].as_f64().expect("a number"),
    );
    assert!(
        ends.0 <= 3f64.ln() && 3f64.ln() <= ends.1 && ends.1 - ends.0 < 1e-12,
        "{ends:?}"
    );
    // 1 − e^(−1/3).
    let found = object(&line("exact --mechanism exponential-noise --scale 3 --json"));
    let delta = found["smallest_epsilon"]["delta_at_least"]["lower"]
        .as_f64()
        .expect("a number");
    assert!((delta - (1.0 - (-1.0f64 / 3.0).exp())).abs() < 1e-12);
    let found = object(&line(
        "exact --mechanism discrete-gaussian --sigma 10 --delta 1e-6 --json",
    ));
    let epsilon = found["smallest_epsilon"]["epsilon"]["upper"]
        .as_f64()
        .expect("a number");
    assert!((0.35..0.45).contains(&epsilon), "{epsilon}");
}

#[test]
fn mechanisms_from_files() {
    let folder = file(
        "pair.toml",
        "first = [\"1/2\", \"1/2\"]\nsecond = [\"1/4\", \"3/4\"]\n",
    );
    let path = folder.path().join("pair.toml");
    let path = path.to_str().expect("text");
    let output = audit(&["exact", "--file", path, "--claim-epsilon", "0.7", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(object(&output)["mechanism"]["file"], path);
    let refuted = audit(&["exact", "--file", path, "--claim-epsilon", "0.6"]);
    assert_eq!(refuted.status.code(), Some(4));
    assert_refused(
        &audit(&["exact", "--file", path, "--scale", "1"]),
        "described twice",
    );

    for (name, text, expected) in [
        ("empty.toml", "", "the file is empty"),
        ("half.json", "{\"first\": [1]}", "without the other"),
        (
            "float.toml",
            "first = [0.5, 0.5]\nsecond = [1, 0]\n",
            "must be text",
        ),
        ("mechanism.yaml", "kind: laplace", "neither a .toml nor a .json"),
    ] {
        let folder = file(name, text);
        let path = folder.path().join(name);
        assert_refused(
            &audit(&["exact", "--file", path.to_str().expect("text")]),
            expected,
        );
    }
    assert_refused(&line("exact --file /nowhere/at/all.toml"), "cannot read");
}

#[test]
fn plots_are_figures_in_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("delta.svg");
    let output = audit(&[
        "exact",
        "--mechanism",
        "gaussian",
        "--sigma",
        "2",
        "--delta",
        "1e-5",
        "--plot",
        path.to_str().expect("text"),
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let svg = std::fs::read_to_string(&path).expect("written");
    assert!(svg.starts_with("<svg") && svg.contains("smallest δ"));
}
