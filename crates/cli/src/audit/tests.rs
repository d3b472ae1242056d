//! Parsing survives any text, and the verifier answers for everything that parsing accepts.

use super::explained;
use super::parameters::{Kind, Parameters};
use crate::terminal::CliError;
use audit::document::{Claim, Format, Number, Question, answer, parse};
use audit::exact_audit::Distribution;
use clap::{Args, Command, FromArgMatches, ValueEnum};
use exact::{Interval, ratio};
use proptest::prelude::*;

fn parameters(words: &[&str]) -> Result<Parameters, clap::Error> {
    let command = Parameters::augment_args(Command::new("exact").no_binary_name(true));
    Parameters::from_arg_matches(&command.try_get_matches_from(words)?)
}

fn number(text: &str) -> Number {
    text.parse().expect("a number")
}

/// The whole answer as text, or the error that a person would see.
fn ask(words: &[&str], question: Question) -> Result<String, CliError> {
    let pair = parameters(words).map_err(explained)?.read().pair()?;
    Ok(answer(pair, question)?.to_text())
}

#[test]
fn the_answers_of_the_section_notes() {
    let cases: [(&[&str], &str); 7] = [
        (
            &["--mechanism", "uniform", "--lower", "-1", "--upper", "1"],
            "δ is at least 0.5,",
        ),
        (
            &["--mechanism", "geometric", "--scale", "4", "--shift", "1/2"],
            "δ is at least 1,",
        ),
        (
            &["--mechanism", "geometric", "--scale", "4", "--spacing", "1/100"],
            "δ = 0: 25\n",
        ),
        (&["--mechanism", "laplace", "--scale", "2"], "δ = 0: 0.5\n"),
        (
            &["--mechanism", "laplace", "--scale", "2", "--shift", "-3"],
            "δ = 0: 1.5\n",
        ),
        (&["--mechanism", "gaussian", "--sigma", "2"], "never reaches it"),
        (
            &["--mechanism", "randomized-response", "--gamma", "1/4"],
            "between 1.09861228866 and 1.09861228867",
        ),
    ];
    for (words, expected) in cases {
        let text = ask(words, Question::default()).expect("an answer");
        assert!(text.contains(expected), "{words:?}: {text}");
    }
}

#[test]
fn what_is_missing_superfluous_or_out_of_range_is_named() {
    let cases: [(&[&str], &str); 10] = [
        (&[], "no mechanism is described"),
        (&["--mechanism", "laplace"], "laplace needs scale"),
        (
            &["--mechanism", "laplace", "--scale", "0"],
            "scale must be positive",
        ),
        (
            &["--mechanism", "laplace", "--scale", "1", "--sigma", "1"],
            "laplace has no sigma",
        ),
        (
            &["--mechanism", "gaussian", "--sigma", "1e12"],
            "sigma is larger than",
        ),
        (
            &["--mechanism", "laplace", "--scale", "1e-8"],
            "widths of the noise apart",
        ),
        (
            &["--mechanism", "discrete-gaussian", "--sigma", "2e9"],
            "sigma is larger than",
        ),
        (
            &["--mechanism", "uniform", "--lower", "1", "--upper", "1"],
            "width must be positive",
        ),
        (
            &[
                "--mechanism",
                "randomized-response",
                "--gamma",
                "1/2",
                "--answers",
                "3",
            ],
            "two answers only",
        ),
        (
            &[
                "--mechanism",
                "randomized-response",
                "--gamma",
                "1/4",
                "--answers",
                "2.5",
            ],
            "answers must be",
        ),
    ];
    for (words, expected) in cases {
        let error = ask(words, Question::default()).expect_err("refused");
        assert!(error.message.contains(expected), "{words:?}: {error}");
        assert!(error.hint.is_some() && error.code == 2, "{words:?}: {error}");
    }
}

#[test]
fn the_same_mechanism_in_both_kinds_of_file() {
    let toml = "[mechanism]\nkind = \"geometric\"\nscale = 4\nspacing = \"0.01\"\n";
    let json = r#"{"mechanism": {"kind": "discrete-laplace", "scale": "4", "spacing": "1/100", "shift": 1}}"#;
    for (text, format) in [(toml, Format::Toml), (json, Format::Json)] {
        let pair = parse(text, format).expect("a mechanism");
        let text = answer(pair, Question::default()).expect("an answer").to_text();
        assert!(text.contains("δ = 0: 25\n"), "{text}");
    }
}

#[test]
fn rows_of_probabilities_and_densities_in_pieces() {
    let rows = "first = [\"1/2\", \"1/2\"]\nsecond = [\"1/4\", \"3/4\"]\n";
    let pair = parse(rows, Format::Toml).expect("two distributions");
    assert!(matches!(pair.first, Distribution::Finite(_)));
    // ln 2 against ln 1.5.
    let text = answer(pair, Question::default()).expect("an answer").to_text();
    assert!(text.contains("between 0.69314718055"), "{text}");

    // Laplace of scale 1, around 0 and around 1, by hand.
    let pieces = r#"{
        "first": [{"right": 0, "coefficient": "1/2", "slope": 1}, {"left": 0, "coefficient": "1/2", "slope": -1}],
        "second": [{"right": 1, "coefficient": "1/2", "slope": 1, "intercept": -1},
                   {"left": 1, "coefficient": "1/2", "slope": -1, "intercept": 1}]}"#;
    let pair = parse(pieces, Format::Json).expect("two distributions");
    let text = answer(pair, Question::default()).expect("an answer").to_text();
    assert!(text.contains("δ = 0: 1\n"), "{text}");
}

#[test]
fn a_claim_on_the_edge_gets_one_that_can_be_proved() {
    let claim = |epsilon: Number| Question {
        claim: Claim {
            epsilon: Some(epsilon),
            delta: None,
        },
        ..Question::default()
    };
    let response = || {
        let text = "[mechanism]\nkind = \"randomized-response\"\ngamma = \"1/4\"\n";
        parse(text, Format::Toml).expect("a mechanism")
    };
    // Closer to ln 3 than the verifier looks.
    let edge = Number(Interval::ln_of(&ratio(3, 1), 1 << 14).lower());
    let error = answer(response(), claim(edge)).expect_err("undecided");
    assert_eq!(error.hint(), "claim ε = 1.09861228867, which can be proved");
    let text = answer(response(), claim(number("1.09861228867")))
        .expect("decided")
        .to_text();
    assert!(text.contains("proved"), "{text}");
}

/// A corner of the ranges, and what it must say. Each took minutes or gigabytes once, and takes a fraction of
/// a second.
#[test]
fn the_corners_of_the_ranges_are_answered() {
    let cases: [(&str, &str, &str, &[&str]); 11] = [
        ("laplace --scale 999", "9999", "", &["ε = 9999: 0\n"]),
        (
            "laplace --scale 1e-9 --shift 1e-6",
            "9999",
            "1e-99",
            &["ε = 9999: 0\n", "and 1000\n"],
        ),
        ("laplace --scale 3", "1/3", "", &["ε = 1/3: 0\n"]),
        ("geometric --scale 3", "1/3", "", &["ε = 1/3: 0\n"]),
        (
            "gaussian --sigma 1 --shift 20",
            "2000",
            "1e-99",
            &["ε = 2000: at most", "between 622.621579687 and 622.621579688\n"],
        ),
        (
            "discrete-gaussian --sigma 9999",
            "",
            "1e-99",
            &["between 0.00205822472958 and 0.00205822472964\n"],
        ),
        (
            "discrete-gaussian --sigma 9999 --shift 199980",
            "9999",
            "1e-99",
            &["between 622.621579927 and 622.621579928\n"],
        ),
        (
            "discrete-gaussian --sigma 1 --shift 20",
            "9999",
            "1e-99",
            &["between 619.9985501 and 619.998550101\n"],
        ),
        // So wide that the grid is not felt: the continuous answer.
        (
            "discrete-gaussian --sigma 1e9 --shift 1e9",
            "",
            "1e-6",
            &["between 4.88655411746"],
        ),
        (
            "randomized-response --gamma 0.4999999999999999999999999999999999999999",
            "9999",
            "1e-99",
            &["ε = 9999: 0\n"],
        ),
        (
            "uniform --lower 0 --upper 1 --shift 1e-90",
            "9999",
            "",
            &["ε = 9999: at most"],
        ),
    ];
    for (mechanism, epsilon, delta, expected) in cases {
        let words: Vec<&str> = ["--mechanism"].into_iter().chain(mechanism.split(' ')).collect();
        let question = Question {
            epsilon: epsilon.parse().ok(),
            delta: delta.parse().ok(),
            claim: Claim::default(),
        };
        let text = ask(&words, question).expect("an answer");
        for part in expected {
            assert!(text.contains(part), "{mechanism}: {text}");
        }
    }
}

/// Rows whose sum is a fraction of enormous numbers are refused, and rows with enormous losses are not.
#[test]
fn rows_of_awkward_fractions_are_no_trap() {
    let harmonic: Vec<String> = (0..4000u64)
        .map(|k| format!("1/{}", 99_999_999_999 - 2 * k))
        .collect();
    let text = serde_json::json!({ "first": harmonic, "second": harmonic }).to_string();
    let error = parse(&text, Format::Json).expect_err("refused");
    assert!(
        error.message().contains("no common denominator below 2^8192"),
        "{error}"
    );

    let nines = (1..400).map(|k| format!("9e-{k}")).chain(["1e-399".to_string()]);
    let first: Vec<String> = nines.collect();
    let second: Vec<&String> = first.iter().rev().collect();
    let text = serde_json::json!({ "first": first, "second": second }).to_string();
    let pair = parse(&text, Format::Json).expect("two rows");
    let question = Question {
        epsilon: Some(number("9999")),
        delta: Some(number("1e-99")),
        claim: Claim::default(),
    };
    let text = answer(pair, question).expect("an answer").to_text();
    assert!(text.contains("ε = 9999: 0\n"), "{text}");
    // ln(0.9·10^399) = 918.626…
    assert!(text.contains("between 918.6"), "{text}");
}

/// The losses of a quick fall against a slow one have no bound, and δ = 1e-99 is reached far out.
#[test]
fn an_epsilon_beyond_any_use_is_not_looked_for() {
    let text = r#"{"first": [{"left": 0, "coefficient": 1, "slope": -1}],
        "second": [{"left": 0, "coefficient": "0.001", "slope": "-0.001"}]}"#;
    let question = Question {
        delta: Some(number("1e-99")),
        ..Question::default()
    };
    let pair = parse(text, Format::Json).expect("two densities");
    let error = answer(pair, question).expect_err("refused");
    assert!(
        error.message().contains("smallest epsilon is at least 4096"),
        "{error}"
    );
    assert!(!error.hint().is_empty(), "{error}");
}

/// Text that is often, but not always, a number.
fn numberish() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?[0-9]{1,4}",
        "[0-9]{1,3}\\.[0-9]{1,4}",
        "[0-9]{1,2}/[0-9]{1,2}",
        "-?[0-9]{1,2}e-?[0-9]{1,3}",
        "NaN|inf|-inf|1/0||1e9999",
        "\\PC{0,8}",
    ]
}

const NAMES: [&str; 9] = [
    "shift", "scale", "sigma", "lower", "upper", "spacing", "offset", "gamma", "answers",
];

/// The parameters that a kind needs, so that most cases get as far as the verifier.
fn needed(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Uniform => &["lower", "upper"],
        Kind::Laplace | Kind::ExponentialNoise | Kind::DiscreteLaplace => &["scale"],
        Kind::Gaussian | Kind::DiscreteGaussian => &["sigma"],
        Kind::RandomizedResponse => &["gamma"],
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_command_line_makes_a_panic(
        kind in prop::sample::select(Kind::value_variants()),
        values in prop::collection::vec(numberish(), 3),
        extra in prop::option::of(prop::sample::select(&NAMES[..])),
        epsilon in prop::option::of(numberish()), delta in prop::option::of(numberish()),
    ) {
        let name = kind.to_possible_value().expect("each has a name").get_name().to_string();
        let mut words = vec!["--mechanism".to_string(), name];
        for (parameter, value) in needed(kind).iter().copied().chain(extra).zip(&values) {
            words.extend([format!("--{parameter}"), value.clone()]);
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let read = |text: Option<String>| text.and_then(|text| text.parse().ok());
        let question = Question { epsilon: read(epsilon), delta: read(delta), claim: Claim::default() };
        // An answer or an error: either way it returns.
        if let Ok(text) = ask(&words, question) {
            prop_assert!(text.contains("smallest"));
        }
    }

    #[test]
    fn no_row_makes_a_panic(
        first in prop::collection::vec(numberish(), 0..4), second in prop::collection::vec(numberish(), 0..4),
    ) {
        let text = serde_json::json!({ "first": first, "second": second }).to_string();
        let _ = parse(&text, Format::Json).map(|pair| answer(pair, Question::default()).map(drop));
    }

    /// Weights made into rows that add up to 1, so that all of them reach the verifier.
    #[test]
    fn every_row_of_probabilities_has_an_answer(
        first in prop::collection::vec(0u64..20, 3), second in prop::collection::vec(0u64..20, 3), delta in 0u64..20,
    ) {
        let (p, q) = (first.iter().sum::<u64>(), second.iter().sum::<u64>());
        prop_assume!(p > 0 && q > 0);
        let row = |weights: &[u64], total: u64| weights.iter().map(|weight| format!("{weight}/{total}")).collect::<Vec<_>>();
        let text = serde_json::json!({ "first": row(&first, p), "second": row(&second, q) }).to_string();
        let pair = parse(&text, Format::Json).expect("two rows");
        let delta = Number(ratio(delta as i64, 20));
        let question = Question { delta: Some(delta), ..Question::default() };
        prop_assert!(answer(pair, question).is_ok());
    }

    #[test]
    fn no_piece_makes_a_panic(
        numbers in prop::collection::vec(numberish(), 5), ends in 0u8..4,
    ) {
        let [left, right, coefficient, slope, intercept] = &numbers[..] else { unreachable!("five of them") };
        let mut piece = serde_json::json!({ "coefficient": coefficient, "slope": slope, "intercept": intercept });
        if ends & 1 == 0 {
            piece["left"] = serde_json::json!(left);
        }
        if ends & 2 == 0 {
            piece["right"] = serde_json::json!(right);
        }
        let text = serde_json::json!({ "first": [piece], "second": [piece] }).to_string();
        let _ = parse(&text, Format::Json).map(|pair| answer(pair, Question::default()).map(drop));
    }
}
