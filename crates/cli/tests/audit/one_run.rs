//! Models that were trained once: planted, trained and judged by the built binary.

use super::{assert_refused, object, stderr, stdout};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A folder with a text and its canaries.
struct Folder(TempDir);

impl Folder {
    fn new(canaries: usize) -> Self {
        let folder = Self(tempfile::tempdir().expect("a folder"));
        let text: String = (0..300)
            .map(|line| format!("line {line} of my notes\n"))
            .collect();
        std::fs::write(folder.path("notes.txt"), text).expect("a text");
        let output = folder.run(&format!(
            "audit one-run plant --text notes.txt --canaries {canaries} --out planted.txt --secrets secrets.json --list list.csv"
        ));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("a file")
    }

    fn run(&self, words: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_deniable"))
            .args(words.split_whitespace())
            .current_dir(self.0.path())
            .env("DENIABLE_ANALYST", "ann")
            .stdin(Stdio::null())
            .output()
            .expect("the binary runs")
    }

    fn judge(&self, words: &str) -> Output {
        self.run(&format!("audit one-run judge --secrets secrets.json {words}"))
    }

    fn coins(&self) -> Vec<bool> {
        let secrets: Value = serde_json::from_str(&self.read("secrets.json")).expect("JSON");
        let canaries = secrets["canaries"].as_array().expect("canaries").iter();
        canaries
            .map(|canary| canary["inside"].as_bool().expect("a coin"))
            .collect()
    }

    /// Writes what a mechanism says of each coin.
    fn score(&self, mut says: impl FnMut(bool) -> f64) {
        let rows = (1..).zip(self.coins());
        let text: String = rows
            .map(|(number, coin)| format!("{number},{}\n", says(coin)))
            .collect();
        std::fs::write(self.path("scores.csv"), format!("canary,score\n{text}")).expect("scores");
    }
}

/// Numbers in [0, 1) from a public seed.
fn uniform(mut state: u64) -> impl FnMut() -> f64 {
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[test]
fn canaries_are_planted_and_kept_secret() {
    let folder = Folder::new(200);
    let planted = folder.read("planted.txt");
    let list = folder.read("list.csv");
    let canaries: Vec<&str> = list
        .lines()
        .skip(1)
        .map(|line| line.split_once(',').expect("two").1)
        .collect();
    assert_eq!(canaries.len(), 200);
    for (canary, inside) in canaries.iter().zip(folder.coins()) {
        assert_eq!(planted.lines().any(|line| line == *canary), inside);
    }
    assert_eq!(
        planted.lines().filter(|line| line.starts_with("line ")).count(),
        300
    );
    #[cfg(unix)]
    for name in ["secrets.json", "planted.txt"] {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(folder.path(name))
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o077, 0, "nobody else may read {name}");
    }
    // Coins that were tossed once are not tossed away.
    let again = folder.run("audit one-run plant --text notes.txt --out other.txt --secrets secrets.json");
    assert_refused(&again, "is there already");
    assert!(!folder.path("other.txt").exists());
}

/// Randomized response at ε = 1 tells as much as ε = 1 allows, and is refuted with a probability of at most
/// 1e-9; its mutants are refuted.
#[test]
fn what_is_right_is_not_refuted_and_what_is_wrong_is() {
    let folder = Folder::new(1000);
    let judge = "--scores scores.csv --epsilon 1 --delta 1e-13 --confidence 99.9999999% --json";
    let respond = |honest: f64| {
        let mut random = uniform(5);
        folder.score(|coin| {
            let reported = if random() < honest { coin } else { !coin };
            f64::from(reported) + 1e-3 * random()
        });
        folder.judge(judge)
    };
    let right = respond(1f64.exp() / (1.0 + 1f64.exp()));
    assert_eq!(right.status.code(), Some(0), "{}", stderr(&right));
    let reported = object(&right);
    assert_eq!(reported["claim"]["verdict"], "consistent");
    let found = reported["epsilon_at_least"].as_f64().expect("a number");
    assert!(found > 0.3 && found <= 1.0, "{found}");
    // Half of the noise, in the sense of ε = 2; and none.
    for honest in [2f64.exp() / (1.0 + 2f64.exp()), 1.0] {
        let wrong = respond(honest);
        assert_eq!(wrong.status.code(), Some(4), "{}", stdout(&wrong));
        assert!(stderr(&wrong).contains("refuted"), "{}", stderr(&wrong));
        assert_eq!(object(&wrong)["claim"]["verdict"], "refuted");
    }
    let output = folder.judge("--scores scores.csv --epsilon 3 --plot a.svg --html a.html --guesses 400");
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("800 of 800 right (100 %)"),
        "{}",
        stdout(&output)
    );
    assert!(folder.read("a.svg").contains("share of them"));
    assert!(folder.read("a.html").contains("<svg"));
    // Without a claim there is a bound, and nothing to refute.
    let bound = folder.judge("--scores scores.csv");
    assert_eq!(bound.status.code(), Some(0), "{}", stderr(&bound));
    assert!(!stdout(&bound).contains("claim  "), "{}", stdout(&bound));
}

#[test]
fn a_model_of_ours_is_judged_by_its_own_claim() {
    let folder = Folder::new(100);
    let small = "--public-text notes.txt --hidden 12 --embedding 8 --tokens 280 --batch 40 --size 350 --steps 10 --target-epsilon 3";
    let train = |words: &str| {
        let output = folder.run(&format!("train lm {small} {words}"));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    };
    train("--text planted.txt --each-line --out lines.safetensors");
    let output = folder.judge("--model lines.safetensors --text planted.txt --json");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let reported = object(&output);
    assert_eq!(reported["claim"]["verdict"], "consistent");
    assert_eq!(reported["claim"]["epsilon"], "3");
    assert_eq!(reported["claim"]["delta"], "0.000001");
    assert_eq!(reported["canaries"], 100);
    // A promise to rows of tokens is no promise to lines.
    train("--text planted.txt --ledger other.ledger --out rows.safetensors");
    assert_refused(&folder.judge("--model rows.safetensors"), "each row of 20 tokens");
    // Neither is a model of another text judged by these secrets.
    let elsewhere = format!(
        "{}one line more than the public text has\n",
        folder.read("notes.txt")
    );
    std::fs::write(folder.path("elsewhere.txt"), elsewhere).expect("written");
    train("--text elsewhere.txt --each-line --out elsewhere.safetensors");
    assert_refused(
        &folder.judge("--model elsewhere.safetensors"),
        "trained on `elsewhere.txt`, and these are the secrets of `planted.txt`",
    );
    assert_refused(
        &folder.judge("--model lines.safetensors --text elsewhere.txt"),
        "the secrets of another text",
    );
}

#[test]
fn bad_questions_are_refused() {
    let folder = Folder::new(50);
    folder.score(f64::from);
    let good = folder.read("scores.csv");
    let write = |name: &str, text: &str| std::fs::write(folder.path(name), text).expect("written");
    write("missing.csv", good.rsplit_once("\n50,").expect("the last").0);
    write("nan.csv", &good.replace("\n7,", "\n7,NaN\n#"));
    write(
        "seven.csv",
        &good
            .replacen("\n7,1", "\n7,NaN", 1)
            .replacen("\n7,0", "\n7,NaN", 1),
    );
    write("empty.txt", "");
    let secrets = folder.read("secrets.json");
    write("equal.json", &secrets.replace("false", "true"));
    for (words, expected) in [
        ("judge --secrets secrets.json", "required"),
        (
            "judge --secrets secrets.json --scores scores.csv --model m",
            "cannot be used with",
        ),
        ("judge --secrets nowhere.json --scores scores.csv", "cannot read"),
        (
            "judge --secrets notes.txt --scores scores.csv",
            "holds no canaries",
        ),
        ("judge --secrets equal.json --scores scores.csv", "not fair"),
        ("judge --secrets secrets.json --scores nowhere.csv", "cannot read"),
        (
            "judge --secrets secrets.json --scores missing.csv",
            "1 of 50 canaries have no score",
        ),
        ("judge --secrets secrets.json --scores nan.csv", "in `nan.csv`"),
        (
            "judge --secrets secrets.json --scores seven.csv",
            "the score of canary 7",
        ),
        ("judge --secrets secrets.json --model notes.txt", "no model"),
        (
            "judge --secrets secrets.json --scores scores.csv --epsilon -1",
            "--epsilon must not be negative",
        ),
        (
            "judge --secrets secrets.json --scores scores.csv --delta 1",
            "--delta must be",
        ),
        (
            "judge --secrets secrets.json --scores scores.csv --confidence 100%",
            "below 1",
        ),
        (
            "judge --secrets secrets.json --scores scores.csv --guesses 26",
            "between 1 and 25",
        ),
        (
            "judge --secrets secrets.json --scores scores.csv --plot a.png",
            ".svg",
        ),
        ("plant --text empty.txt --out a --secrets b", "the text is empty"),
        (
            "plant --text nowhere.txt --out a --secrets b",
            "could not be read",
        ),
        (
            "plant --text notes.txt --out a --secrets b --canaries 3",
            "between 40",
        ),
        (
            "plant --text notes.txt --out no/such/place --secrets b",
            "no/such/place",
        ),
        ("--epsilon none", "not a finite number"),
        ("--canaries 3", "between 40"),
    ] {
        let output = folder.run(&format!("audit one-run {words}"));
        assert_refused(&output, expected);
        assert!(
            stderr(&output).contains("hint:") || stderr(&output).contains("help"),
            "{words}"
        );
    }
    assert!(!Path::new(&folder.path("a")).exists());
}

/// The whole, smaller: what was trained with privacy is refuted with a probability of at most 1e-9, what was
/// trained without it is.
#[test]
fn two_models_are_reported_apart() {
    let folder = Folder::new(40);
    let output = folder.run(
        "audit one-run --canaries 400 --epsilon 1 --delta 1e-13 --confidence 0.999999999 --json --plot a.svg --html a.html",
    );
    let reported = object(&output);
    assert_eq!(output.status.code(), Some(0), "{}: {reported}", stderr(&output));
    let verdict = |place: usize| &reported["models"][place]["audit"]["claim"]["verdict"];
    assert_eq!(
        (verdict(0), verdict(1)),
        (&"consistent".into(), &"refuted".into())
    );
    let bound = reported["models"][1]["audit"]["epsilon_at_least"]
        .as_f64()
        .expect("a number");
    assert!(bound > 1.0, "{bound}");
    assert!(folder.read("a.svg").contains("<svg") && folder.read("a.html").contains("private"));
}
