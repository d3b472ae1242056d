//! Every text is read or refused, every plan that is read has an answer, and the answers are reported to
//! people and programs.

use super::{Arguments, Command, answered, explained, sgd};
use crate::terminal::CliError;
use clap::{Args, FromArgMatches};
use proptest::prelude::*;
use serde_json::Value;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

fn arguments(words: &[&str]) -> Result<Arguments, CliError> {
    let command = Arguments::augment_args(clap::Command::new("account").no_binary_name(true));
    let matches = command.try_get_matches_from(words).map_err(explained)?;
    Arguments::from_arg_matches(&matches).map_err(explained)
}

/// What a person and a program read, or the error that a person would see.
fn ask(words: &[&str]) -> Result<(String, Value), CliError> {
    let arguments = arguments(words)?;
    match &arguments.command {
        Some(Command::Sgd(arguments)) => {
            let answer = sgd::answered(arguments)?;
            Ok((answer.to_text(), Value::Object(answer.to_json())))
        }
        None => {
            let (report, _) = answered(&arguments)?;
            Ok((report.to_text(), report.to_json()))
        }
    }
}

/// Asks a line of words without spaces in them.
fn line(text: &str) -> Result<(String, Value), CliError> {
    ask(&text.split_whitespace().collect::<Vec<_>>())
}

#[test]
fn other_ways_to_learn_are_read_from_the_command_line() {
    let (text, _) =
        line("--tree 11,1024x2 --truncated-training 0.01,1,40,1000x10 --delta 1e-6").expect("an answer");
    assert!(text.contains("2 × Gaussian noise at σ/Δ₂ = about 3.31"), "{text}");
    assert!(text.contains("10 × Gaussian noise at σ/Δ₂ = 1 on a Poisson sample at rate 0.01 and any mechanism with ε = 0, δ = "), "{text}");
    let (text, _) =
        line("--training-change-one 0.01,1x10 --delta 1e-6 --neighbors change-one").expect("an answer");
    assert!(
        text.contains("on a Poisson sample at rate 0.01, of which a unit may change"),
        "{text}"
    );
    let (text, _) =
        line("sgd --rate 0.01 --sigma 2 --steps 10 --sampler poisson-change-one").expect("an answer");
    assert!(
        text.contains("of which a unit may change") && text.contains("two clipping norms"),
        "{text}"
    );
    for (words, expected) in [
        ("--tree 11 --delta 1e-6", "a number of leaves"),
        ("--tree 11,0 --delta 1e-6", "the number of leaves"),
        ("--truncated-training 0.01,1 --delta 1e-6", "the largest batch"),
        (
            "--truncated-training 0.5,1,40,1000 --delta 1e-6",
            "promises nothing",
        ),
        (
            "--training-change-one 0.01,1 --delta 1e-6 --neighbors add-remove",
            "a unit that changes",
        ),
    ] {
        let refused = line(words).expect_err(words).to_string();
        assert!(refused.contains(expected), "{words}: {refused}");
    }
}

#[test]
fn every_mechanism_is_read_from_the_command_line() {
    let (text, _) = line(
        "--laplace 0.1x10 --laplace 1/3 --gaussian 5×2 --randomized-response 1.1/4x3 --exponential 0.2 --pure 0.3x1e2 \
         --approximate 0.5,1e-9x2 --delta 1e-6",
    )
    .expect("an answer");
    for expected in [
        "10 × Laplace noise at ε = 0.1;",
        "1 × Laplace noise at ε = 1/3;",
        "2 × Gaussian noise at σ/Δ₂ = 5;",
        "3 × randomized response among 4 answers at ε = 1.1;",
        "1 × exponential mechanism at ε = 0.2;",
        "100 × any mechanism with ε = 0.3;",
        "2 × other releases\n",
        "for each person, added or removed\n",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let (text, _) = line("--concentrated 0.1x7 --unit household --neighbors change-one").expect("an answer");
    assert!(
        text.starts_with("7 × any mechanism with ρ = 0.1\nfor each household, whose data may change\n"),
        "{text}"
    );
}

#[test]
fn equal_releases_are_one() {
    let (text, _) = line("--pure 0.1 --pure 0.10x4 --laplace 0.1").expect("an answer");
    assert!(
        text.starts_with("1 × Laplace noise at ε = 0.1; 5 × any mechanism with ε = 0.1\n"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_used_is_refused_with_a_hint() {
    for (words, expected) in [
        ("", "no releases are described"),
        ("--laplace -1", "laplace: ε = -1 is negative"),
        ("--laplace NaN", "not a finite number"),
        ("--laplace inf", "not a finite number"),
        ("--laplace 1e999", "laplace: "),
        ("--laplace 1e99999", "laplace: "),
        ("--laplace 1e-200", "below 1e-12"),
        ("--pure 20000", "above 10000"),
        ("--pure 1/3", "not a finite decimal"),
        ("--pure 1x0", "not a whole number from 1"),
        ("--pure 1x-5", "not a whole number from 1"),
        ("--pure 1x2.5", "not a whole number from 1"),
        ("--pure 1x1e30", "not a whole number from 1"),
        ("--pure 1xmany", "is not a number"),
        ("--pure 1x6e8 --gaussian 1x6e8", "more than 1000000000 releases"),
        ("--pure x", "the number after `x` is an empty number"),
        ("--gaussian 0", "noise multiplier must be"),
        ("--gaussian -2", "negative"),
        ("--gaussian 1e-200", "noise multiplier must be"),
        ("--gaussian 1e20", "noise multiplier must be"),
        ("--gaussian 1e300", "out of range"),
        ("--randomized-response 1/1", "two answers or more"),
        ("--randomized-response 1/two", "the number of answers"),
        ("--approximate 1", "with a comma between"),
        ("--approximate 1,1", "δ = 1 is 1 or more"),
        ("--approximate 1,-1e-6", "negative"),
        ("--training 1.5,1", "not a probability"),
        ("--training 0,1", "nothing is ever sampled"),
        ("--pure 1 --delta 1", "1 or more"),
        ("--pure 1 --delta -0.1", "negative"),
        ("--pure 1 --delta NaN", "not a finite number"),
        ("--pure 1 --delta 1e-200", "below 1e-100"),
        ("--pure 1 --epsilon -1", "negative"),
        ("--pure 1 --epsilon 1e20", "must not be above 10000"),
        ("--pure 1 --prior 2", "--prior is out of range"),
        ("--pure 1 --prior 0.1 --cost 1e300", "--cost is out of range"),
        ("--pure 1 --cost 1", "--prior"),
        ("--pure 1 --group 0", "--group is not a whole number"),
        ("--pure 1 --group 1e9", "--group is larger"),
        ("--training 0.01,1 --neighbors change-one", "was asked for"),
        ("--events nowhere.toml", "cannot read `nowhere.toml`"),
        ("sgd --rate 0.01 --sigma 1", "neither --steps nor --epochs"),
        (
            "sgd --rate 0.01 --steps 10",
            "neither a noise multiplier nor a target",
        ),
        ("sgd --sigma 1 --steps 10", "how much of the data a step sees"),
        ("sgd --rate 1.1 --sigma 1 --steps 10", "not a probability"),
        ("sgd --rate -1 --sigma 1 --steps 10", "negative"),
        ("sgd --rate 0 --sigma 1 --steps 10", "nothing is ever sampled"),
        (
            "sgd --rate 0.01 --sigma -1 --steps 10",
            "--sigma: a noise multiplier = -1 is negative",
        ),
        ("sgd --rate 0.01 --sigma NaN --steps 10", "not a finite number"),
        (
            "sgd --rate 0.01 --sigma 1 --steps 0",
            "--steps is not a whole number",
        ),
        (
            "sgd --rate 0.01 --sigma 1 --steps 1e12",
            "--steps is not a whole number",
        ),
        ("sgd --rate 0.01 --sigma 1 --steps 10 --delta 2", "1 or more"),
        (
            "sgd --rate 0.01 --sigma 1 --epochs 3",
            "how many steps an epoch has",
        ),
        (
            "sgd --batch 9 --of 8 --sigma 1 --steps 1",
            "--batch is larger than --of",
        ),
        (
            "sgd --batch 8 --of 80 --sigma 1 --epochs -1",
            "--epochs is not a positive number",
        ),
        (
            "sgd --batch 8 --of 80 --sigma 1 --epochs 1e20",
            "the number of steps is not",
        ),
        (
            "sgd --rate 0.01 --sampler fixed-size --sigma 1 --steps 9",
            "--rate is about Poisson",
        ),
        (
            "sgd --sampler shuffled --sigma 1 --steps 9",
            "how many steps make an epoch",
        ),
    ] {
        let error = line(words).expect_err(words);
        assert!(error.to_string().contains(expected), "{words}: {error}");
        assert!(error.hint.is_some() && error.code == 2, "{words}: {error}");
    }
}

#[test]
fn the_table_has_every_accountant_and_says_what_it_means() {
    let (text, _) = line("--gaussian 5x10 --delta 1e-6 --epsilon 1 --group 4").expect("an answer");
    for expected in [
        "at δ = 0.000001:\n",
        "at ε = 1:\n",
        "to any 4 of them together:\n",
        "basic: sums",
        "advanced composition",
        "optimal composition",
        "zCDP: sums of ρ",
        "Rényi",
        "Gaussian DP",
        "certified",
        "a risk of 1 % for someone who stays out",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let (text, _) = line("--laplace 1 --delta 0").expect("an answer");
    assert!(text.contains("Gaussian DP: not applicable: "), "{text}");
}

/// At δ = 0 it is the δ that is missing, whichever accountant is asked.
#[test]
fn releases_that_need_a_delta_say_so() {
    for words in [
        "--concentrated 0.1 --delta 0",
        "--pure 1 --concentrated 0.1 --delta 0",
        "--pure 1 --gaussian 5 --delta 0",
    ] {
        let error = line(words).unwrap_err();
        assert!(
            error.message.contains("at δ = 0 no finite ε holds"),
            "{words}: {error}"
        );
        assert!(error.hint.unwrap().contains("small δ"), "{words}");
    }
    // Releases that are ε-DP have an answer, and the accountants without one say why.
    let (text, _) = line("--pure 1 --delta 0").expect("an answer");
    assert!(
        text.contains("zCDP: sums of ρ: not applicable: at δ = 0 no finite ε holds"),
        "{text}"
    );
}

#[test]
fn alice_and_her_premium() {
    let (text, json) = line("--pure 0.01 --delta 0 --prior 0.02 --cost 100000").expect("an answer");
    assert!(
        text.contains("worth 2000 for the first, and at most 2020.11 for the second"),
        "{text}"
    );
    let risk = &json["meaning"]["risks"][0];
    assert_eq!(risk["prior"], "0.02");
    assert_eq!(risk["fair_price_at_most"], "2020.11");
}

#[test]
fn a_program_finds_numbers_and_exact_decimals() {
    let (_, json) =
        line("--laplace 0.1x100 --gaussian 5 --delta 1e-6 --epsilon 2 --group 2").expect("an answer");
    let names: Vec<&str> = json["accountants"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| row["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(
        names,
        [
            "basic",
            "advanced",
            "optimal",
            "zcdp",
            "renyi",
            "gdp",
            "numerical"
        ]
    );
    assert_eq!(
        (json["delta"].as_f64(), json["delta_exact"].as_str()),
        (Some(1e-6), Some("0.000001"))
    );
    let (lower, upper) = (json["epsilon_lower"].as_f64(), json["epsilon_upper"].as_f64());
    assert!(lower.expect("a number") <= upper.expect("a number"));
    let (lower, upper) = (json["delta_lower"].as_f64(), json["delta_upper"].as_f64());
    assert!(lower.expect("a number") <= upper.expect("a number"));
    for row in json["accountants"].as_array().expect("a list") {
        let said = row["epsilon"].is_f64() && row["epsilon_exact"].is_string();
        assert!(said != row["why_no_epsilon"].is_string(), "{row}");
        if said {
            assert!(row["epsilon"].as_f64() >= json["epsilon_lower"].as_f64(), "{row}");
        }
    }
    assert_eq!(json["unit"]["neighbors"], "add_remove");
    assert_eq!(json["group"], 2);
    assert!(json["event"]["composed"].is_array());
}

#[test]
fn training_is_reported_with_its_sampler_and_its_neighbours() {
    let (text, json) = line("sgd --rate 1/100 --sigma 0.8 --steps 100").expect("an answer");
    assert!(text.contains("for each example, added or removed\n"), "{text}");
    assert!(text.contains("one unit added or removed"), "{text}");
    assert_eq!(
        (json["sampler"].as_str(), json["steps"].as_u64()),
        (Some("poisson"), Some(100))
    );
    assert!(
        json["epsilon_lower"].as_f64().expect("a number")
            <= json["epsilon_upper"].as_f64().expect("a number")
    );
    assert_eq!(
        (json["delta"].as_f64(), json["sigma"].as_f64()),
        (Some(1e-5), Some(0.8))
    );

    let (text, json) =
        line("sgd --batch 10 --of 1000 --sampler fixed-size --sigma 2 --epochs 1").expect("an answer");
    assert!(
        text.contains("for each example, whose data may change\n"),
        "{text}"
    );
    assert!(text.contains("two clipping norms"), "{text}");
    assert_eq!(json["steps"], 100);

    // 15 epochs of 67 batches, of which the last holds 10: steps / (1000/15) rounded up.
    let (text, json) =
        line("sgd --batch 15 --of 1000 --sampler shuffled --sigma 2 --steps 1000 --delta 0.01")
            .expect("an answer");
    assert_eq!(
        (json["epochs"].as_u64(), json["steps"].as_u64()),
        (Some(15), Some(1000))
    );
    assert!(text.contains("no amplification"), "{text}");
    assert!(text.contains("choose δ well below 1/1000"), "{text}");
    // A replaced example moves the sum by two clipping norms: σ = 2 is one Gaussian of multiplier 1.
    let (_, json) = line("sgd --sampler shuffled --sigma 2 --epochs 1 --delta 1e-6").expect("an answer");
    let (_, plain) = line("--gaussian 1 --delta 1e-6").expect("an answer");
    assert_eq!(json["epsilon_upper"], plain["epsilon_upper"]);
    let (_, json) =
        line("sgd --sampler shuffled --target-epsilon 1 --epochs 1 --delta 1e-6").expect("an answer");
    assert!(json["sigma"].as_f64().is_some_and(|sigma| sigma > 8.4), "{json}");
    let (_, json) = line("sgd --sampler shuffled --sigma 2 --epochs 2.5").expect("an answer");
    assert_eq!((json["epochs"].as_u64(), json["steps"].as_u64()), (Some(3), None));
}

#[test]
fn a_weak_promise_is_called_weak() {
    let (text, json) = line("--pure 11").expect("an answer");
    assert!(text.contains("protects little"), "{text}");
    assert_eq!(json["warnings"].as_array().map(Vec::len), Some(1), "{json}");
    let (text, _) = line("--pure 1").expect("an answer");
    assert!(!text.contains("protects little"), "{text}");
}

#[test]
fn noise_is_calibrated_to_a_target() {
    let (text, json) = line("sgd --rate 1/100 --steps 100 --target-epsilon 2").expect("an answer");
    assert!(
        text.contains("is the smallest noise multiplier that keeps ε = 2 at δ = 0.00001\n"),
        "{text}"
    );
    let (sigma, epsilon) = (json["sigma"].as_f64(), json["epsilon_upper"].as_f64());
    assert!(sigma.expect("a number") > 0.1);
    assert!((1.9..=2.0).contains(&epsilon.expect("a number")), "{json}");
    assert!(json["sigma_exact"].is_string());
}

/// Text that is often, but not always, a number.
fn numberish() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[0-9]{1,2}\\.[0-9]{1,3}",
        2 => "0\\.0{0,4}[1-9]",
        1 => "-?[0-9]{1,5}",
        1 => "[0-9]{1,2}/[0-9]{1,2}",
        1 => "-?[0-9]{1,2}e-?[0-9]{1,3}",
        1 => "NaN|inf|-inf|1/0||1e9999",
        1 => "\\PC{0,8}",
    ]
}

/// One release, often a good one.
fn release() -> impl Strategy<Value = [String; 2]> {
    const KINDS: [&str; 8] = [
        "laplace",
        "gaussian",
        "randomized-response",
        "exponential",
        "pure",
        "approximate",
        "concentrated",
        "training",
    ];
    let times = prop_oneof![
        3 => Just(String::new()),
        3 => "x[1-9][0-9]{0,3}",
        1 => "x[1-9]e[0-9]{1,2}",
        1 => "x\\PC{0,3}",
    ];
    (prop::sample::select(&KINDS[..]), numberish(), numberish(), times).prop_map(
        |(kind, first, second, times)| {
            let number = match kind {
                "approximate" => format!("{first},{second}e-6"),
                "training" => format!("0{first},{second}"),
                _ => first,
            };
            [format!("--{kind}"), format!("{number}{times}")]
        },
    )
}

/// When a command line is taken to hang: far longer than any takes, also on a machine that does much else at
/// once, where some calibrations were seen to take a minute.
const PATIENCE: Duration = Duration::from_secs(900);

/// Whether the command line returns, with an answer that has content or with an error that has a hint.
fn returns(words: Vec<String>) -> Result<(), TestCaseError> {
    let reported = format!("{words:?}");
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let sound = match ask(&words) {
            Ok((text, json)) => {
                let number = |name: &str| {
                    json[name]
                        .as_f64()
                        .is_none_or(|number| number.is_finite() && number >= 0.0)
                };
                text.contains("accountant") && number("epsilon_upper") && number("delta_upper")
            }
            Err(error) => error.code == 2 && error.hint.is_some(),
        };
        // A panic drops the sender, which the receiver notices.
        let _ = sender.send(sound);
    });
    match receiver.recv_timeout(PATIENCE) {
        Ok(sound) => prop_assert!(sound, "{reported}: neither an answer nor an error with a hint"),
        Err(RecvTimeoutError::Timeout) => prop_assert!(false, "{reported}: still at work after {PATIENCE:?}"),
        Err(RecvTimeoutError::Disconnected) => prop_assert!(false, "{reported}: it panicked"),
    }
    Ok(())
}

proptest! {
    // Not shrunk: a case that runs into its limit leaves a thread at work, which slows all that follow.
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 0, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_command_line_makes_a_panic(
        releases in prop::collection::vec(release(), 0..4),
        delta in prop::option::of(numberish()), epsilon in prop::option::of(numberish()),
        group in prop::option::of("[0-9]{1,3}"), prior in prop::option::of(numberish()),
    ) {
        let mut words: Vec<String> = releases.into_iter().flatten().collect();
        for (name, value) in [("delta", delta), ("epsilon", epsilon), ("group", group), ("prior", prior)] {
            words.extend(value.into_iter().flat_map(|value| [format!("--{name}"), value]));
        }
        returns(words)?;
    }

    #[test]
    fn no_training_makes_a_panic(
        sampler in prop::sample::select(&["poisson", "fixed-size", "shuffled"][..]),
        rate in prop::option::weighted(0.3, numberish()), sizes in (numberish(), numberish()),
        batch in 1u64..200, sigma in numberish(), steps in "[1-9][0-9]{0,4}|[1-9]e[0-9]{1,2}",
        calibrate in prop::bool::weighted(0.2), delta in prop::option::of(numberish()), odd in prop::bool::weighted(0.2),
    ) {
        let mut words: Vec<String> = ["sgd", "--sampler", sampler, "--steps", &steps].map(str::to_owned).into();
        match rate {
            Some(rate) => words.extend(["--rate".to_owned(), rate]),
            None if odd => words.extend(["--batch".to_owned(), sizes.0, "--of".to_owned(), sizes.1]),
            None => words.extend(["--batch", &batch.to_string(), "--of", "10000"].map(str::to_owned)),
        }
        words.extend([if calibrate { "--target-epsilon" } else { "--sigma" }.to_owned(), sigma]);
        words.extend(delta.into_iter().flat_map(|delta| ["--delta".to_owned(), delta]));
        returns(words)?;
    }
}
