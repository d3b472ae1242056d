//! Scores that somebody else computed.

use crate::document::{Mistake, fail};
use std::path::Path;

/// The score of each of `count` canaries, from a file of numbers (from 1) and scores.
pub fn read_scores(path: &Path, count: usize) -> Result<Vec<f64>, Mistake> {
    const HINT: &str =
        "write a line for each canary: its number as in the list of `plant --list`, a comma, its score";
    let name = path.display();
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_path(path)
        .map_err(|_| Mistake::new(format!("cannot read `{name}`"), HINT))?;
    let mut scores: Vec<Option<f64>> = vec![None; count];
    for (line, record) in (1u64..).zip(reader.records()) {
        let Ok(record) = record else {
            return fail(format!("line {line} of `{name}` is not text"), HINT);
        };
        let fields = (record.get(0), record.get(1), record.get(2));
        let (Some(number), Some(score), None) = fields else {
            return fail(format!("line {line} of `{name}` has not two fields"), HINT);
        };
        let (number, score) = (number.parse::<usize>(), score.parse::<f64>());
        if line == 1 && number.is_err() && score.is_err() {
            // Headings.
            continue;
        }
        let place = number.ok().and_then(|number| number.checked_sub(1));
        let Some(place) = place.filter(|place| *place < count) else {
            return fail(
                format!("line {line} of `{name}` names no canary from 1 to {count}"),
                "score the canaries of these secrets: `plant --list` wrote them",
            );
        };
        let Some(score) = score.ok().filter(|score| score.is_finite()) else {
            return fail(
                format!("the score of canary {} in `{name}` is no number", place + 1),
                "a higher score is likelier to be in; where a model has no answer, give the canary the score in the middle",
            );
        };
        if scores[place].replace(score).is_some() {
            return fail(format!("canary {} has two scores in `{name}`", place + 1), HINT);
        }
    }
    let missing = scores.iter().filter(|score| score.is_none()).count();
    if missing > 0 {
        return fail(
            format!("{missing} of {count} canaries have no score in `{name}`"),
            "score all of them, in and out alike: which are left out must not depend on their coins",
        );
    }
    Ok(scores.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::read_scores;

    fn read(text: &str) -> Result<Vec<f64>, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("scores.csv");
        std::fs::write(&path, text).expect("written");
        read_scores(&path, 3).map_err(|error| error.to_string())
    }

    #[test]
    fn scores_come_in_any_order_with_headings_or_without() {
        assert_eq!(
            read("canary,score\n2, -1.5\n3,2e1\n1,0\n"),
            Ok(vec![0.0, -1.5, 20.0])
        );
        assert_eq!(read("1,1\n2,2\n3,3"), Ok(vec![1.0, 2.0, 3.0]));
    }

    #[test]
    fn bad_scores_are_refused_with_their_place() {
        for (text, expected) in [
            ("1,1\n2,2\n", "1 of 3 canaries have no score"),
            ("", "3 of 3 canaries"),
            ("1,1\n2,NaN\n3,1\n", "canary 2"),
            ("1,1\n2,inf\n3,1\n", "canary 2"),
            ("1,1\n2,\n3,1\n", "canary 2"),
            ("1,1\n1,2\n3,1\n", "canary 1 has two scores"),
            ("1,1\n4,2\n3,1\n", "line 2"),
            ("0,1\n1,2\n3,1\n", "line 1"),
            ("1,1\n-2,2\n3,1\n", "line 2"),
            ("1,1,1\n2,2\n3,1\n", "line 1"),
            ("1\n2\n3\n", "line 1"),
            ("canary,score\ncanary,score\n1,1\n2,2\n3,3\n", "line 2"),
        ] {
            let error = read(text).expect_err(text);
            assert!(
                error.contains(expected) && error.contains("hint:"),
                "{text}: {error}"
            );
        }
    }
}
