//! Whatever is written is read or refused, with a place, a hint, and nothing of the document.

use super::file::guessed;
use super::*;
use proptest::prelude::*;

fn words(text: &str, format: Format) -> String {
    let parts = parse(text, format).unwrap_or_else(|error| panic!("{text}: {error}"));
    ReleasePlan::new(parts).expect("a plan").words()
}

#[test]
fn the_same_plan_in_both_kinds_of_file() {
    let toml = "[[event]]\nlaplace = \"0.1\"\ntimes = 1000\n\n[[event]]\ngaussian = 5\n\n\
                [[event]]\napproximate = [\"0.5,1e-6\", \"0.1,1e-9x20\"]\n";
    let json = r#"[{"repeated": {"event": {"composed": [{"laplace": {"ratio": "0.1", "on": "rounded"}}]}, "times": 1000}},
        {"gaussian": {"multiplier_squared": 25, "on": "rounded"}},
        {"composed": [{"approximate": {"epsilon": "0.5", "delta": "1e-6"}},
                      {"repeated": {"event": {"approximate": {"epsilon": "0.1", "delta": "1e-9"}}, "times": 20}}]}]"#;
    assert_eq!(words(toml, Format::Toml), words(json, Format::Json));
    assert_eq!(
        words(r#"{"laplace": {"ratio": 2, "on": "rounded"}}"#, Format::Json),
        "1 × Laplace noise at ε = 2"
    );
}

#[test]
fn files_that_describe_no_plan_are_refused_with_a_place_and_a_hint() {
    for (text, format, expected) in [
        (" \n", Format::Toml, "the file is empty"),
        ("", Format::Json, "the file is empty"),
        ("# nothing\n", Format::Toml, "it describes no releases"),
        ("[]", Format::Json, "it describes no releases"),
        (
            "[[event]]\n",
            Format::Toml,
            "the event at line 1 names no mechanism",
        ),
        (
            "[[event]]\nlaplace = 1\n\n[[event]]\nlaplase = \"0.1\"\n",
            Format::Toml,
            "line 5: there is no key `laplase` here",
        ),
        (
            "[[event]]\nlaplace = 0.1\n",
            Format::Toml,
            ": expected text as on the command line",
        ),
        (
            "[[event]]\n\nlaplace = \"-1\"\n",
            Format::Toml,
            "the event at line 1: laplace: ε = -1 is negative",
        ),
        (
            "[[event]]\nlaplace = 1\ntimes = 0\n",
            Format::Toml,
            "runs 0 times",
        ),
        (
            "[[event]]\nlaplace = 1\ntimes = -1\n",
            Format::Toml,
            "line 3: `times` is not a whole number from 1 to 1000000000",
        ),
        (
            "[[event]]\nlaplace = 1\ntimes = \"many\"\n",
            Format::Toml,
            "line 3: `times` is not a whole number",
        ),
        (
            "[[event]]\nlaplace = 1\ntimes = 99999999999999999999999\n",
            Format::Toml,
            "line 3: `times` is not a whole number from 1 to 1000000000",
        ),
        (
            "delta = \"1e-6\"\n[[event]]\nlaplace = 1\n",
            Format::Toml,
            "line 1: there is no key `delta` here",
        ),
        (
            "[event]\nlaplace = 1\n",
            Format::Toml,
            "line 1: an event has two brackets",
        ),
        ("event = 3\n", Format::Toml, "line 1: `event` is not a list"),
        (
            "[[event]]\nlaplace = 1\nlaplace = 2\n",
            Format::Toml,
            "line 3: duplicate key",
        ),
        (
            "[[event]]\nlaplace = 1\n",
            Format::Json,
            "this is TOML, and a file whose name ends in .json holds JSON",
        ),
        (
            "{\"laplace\": {}}",
            Format::Toml,
            "line 1: this is JSON, and a file whose name ends in .toml holds TOML",
        ),
        (
            "[[event]]\nlaplace = 1\ntimes = 9000000000000000000\n",
            Format::Toml,
            "line 3: `times` is not a whole number from 1 to 1000000000",
        ),
        ("[[event]\n", Format::Toml, "this is not TOML"),
        (
            "{",
            Format::Json,
            "line 1, column 1: this is not JSON: it ends too early",
        ),
        (
            "[\n{\"laplase\": {}}]",
            Format::Json,
            "line 2, column 10: expected one of `laplace`, `gaussian`",
        ),
        (
            r#"{"laplace": {"ratio": 0.1}}"#,
            Format::Json,
            "expected a decimal in quotes",
        ),
        (
            r#"{"laplace": {"ratio": "1e999"}}"#,
            Format::Json,
            "such as a number that is finite",
        ),
        (
            r#"{"gaussian": {"multiplier_squared": 0, "on": "rounded"}}"#,
            Format::Json,
            "noise multiplier must be",
        ),
        (
            r#"{"repeated": {"event": {"laplace": {"ratio": 1, "on": "rounded"}}, "times": 0}}"#,
            Format::Json,
            "runs 0 times",
        ),
        (
            r#"{"repeated": {"event": {"repeated": {"event": {"laplace": {"ratio": 1, "on": "rounded"}}, "times": 9000000000000000000}}, "times": 9000000000000000000}}"#,
            Format::Json,
            "more than 1000000000",
        ),
        (
            r#"{"sampled_gaussian": {"sampler": {"fixed_size": {"batch": 3, "of": 2}}, "multiplier_squared": 1}}"#,
            Format::Json,
            "not a probability",
        ),
    ] {
        let error = parse(text, format).expect_err(text);
        assert!(error.message().contains(expected), "{text}: {error}");
        assert!(!error.hint().is_empty(), "{text}: {error}");
    }
    let deep = "[".repeat(100_000);
    assert!(parse(&deep, Format::Json).is_err());
    assert!(parse(&format!("event = {deep}"), Format::Toml).is_err());
    let nested = format!(
        "{}1{}",
        r#"{"repeated": {"times": 1, "event": "#.repeat(40),
        "}}".repeat(40)
    );
    assert!(parse(&nested, Format::Json).is_err());
}

#[test]
fn many_different_releases_are_refused_and_many_equal_ones_are_not() {
    let different: String = (1..=2000)
        .map(|step| format!("[[event]]\npure = \"0.{step:04}\"\n"))
        .collect();
    let parts = parse(&different, Format::Toml).expect("readable");
    let error = ReleasePlan::new(parts).expect_err("too many");
    assert!(error.message().contains("1000 different"), "{error}");
    let equal = "[[event]]\npure = \"0.1\"\n".repeat(5000);
    assert_eq!(words(&equal, Format::Toml), "5000 × any mechanism with ε = 0.1");
}

#[test]
fn nothing_of_a_file_is_in_an_error() {
    for text in [
        "SECRET",
        "SECRET = 1",
        "[[event]]\nSECRET = 1",
        "[[event]]\nlaplace = [[\"SECRET\"]]",
        "[[event]]\n\"SECRET, expected SECRET\" = 1",
        "event = \"SECRET, expected SECRET\"",
        "[[event]]\ntimes = \"SECRET\"",
        "\"SECRET",
    ] {
        let json = text.parse::<toml::Table>().map_or_else(
            |_| format!("{{\"SECRET\": {text}}}"),
            |table| serde_json::json!(table).to_string(),
        );
        for (text, format) in [(text, Format::Toml), (&json, Format::Json)] {
            let error = parse(text, format).expect_err("refused");
            assert!(!error.to_string().contains("SECRET"), "{text}: {error}");
            assert!(error.message().contains("line "), "{text}: {error}");
        }
    }
}

#[test]
fn the_text_tells_its_format() {
    for (text, format) in [
        (" {\"laplace\": {\"ratio\": 1}}", Format::Json),
        ("[\n{}]", Format::Json),
        ("[[event]]\n", Format::Toml),
        ("# a plan\n[[event]]\n", Format::Toml),
    ] {
        assert_eq!(guessed(text), format, "{text}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_a_panic(text in "\\PC{0,200}") {
        let _ = parse(&text, Format::Toml);
        let _ = parse(&text, Format::Json);
    }
}
