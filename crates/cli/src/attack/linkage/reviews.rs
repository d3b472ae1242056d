//! Matching ratings without names to public reviews.

use super::matches::{judged_json, judged_words, write};
use super::{Arguments, Beside};
use crate::attack::outputs::Outputs;
use crate::attack::table::Source;
use crate::terminal::{CliError, Interrupt, explained, fail};
use ::report::{Findings, grouped};
use attack::linkage::{self, Candidate, Judged, Matching, Rating, Ratings};
use report::{Figure, Scale, significant};
use serde_json::json;
use std::path::Path;

/// Somebody's public reviews, and the best record for them.
pub(super) struct Reviewer {
    pub(super) reviews: Vec<Rating>,
    /// Whether the truth has a record for them at all.
    pub(super) findable: Option<bool>,
}

/// What matching found: for each reviewer the best record, if any was near.
pub(super) struct Matched {
    pub(super) candidates: Vec<Option<Candidate>>,
    pub(super) stopped: bool,
}

/// Matches every reviewer.
pub(super) fn matched(
    ratings: &Ratings,
    reviewers: &[Reviewer],
    matching: &Matching,
    outputs: &Outputs,
    interrupt: &Interrupt,
) -> Matched {
    let progress = outputs.progress("reviewers", reviewers.len() as u64);
    let mut candidates = Vec::with_capacity(reviewers.len());
    for reviewer in reviewers {
        if interrupt.was_pressed() {
            break;
        }
        candidates.push(ratings.best(&reviewer.reviews, matching));
        progress.advance(1);
    }
    Matched {
        candidates,
        stopped: interrupt.was_pressed(),
    }
}

impl Matched {
    /// Reviewers and records that were accepted as the same.
    pub(super) fn accepted(&self) -> impl Iterator<Item = (usize, &Candidate)> {
        self.candidates
            .iter()
            .enumerate()
            .filter_map(|(reviewer, found)| Some((reviewer, found.as_ref()?)))
            .filter(|(_, found)| found.accepted)
    }

    /// How right they are, if `is_right` knows.
    pub(super) fn judged(
        &self,
        reviewers: &[Reviewer],
        is_right: impl Fn(usize, u32) -> bool,
    ) -> Option<Judged> {
        // Known only if it is known of every reviewer.
        let known = reviewers.iter().take(self.candidates.len());
        let findable: Vec<bool> = known
            .map(|reviewer| reviewer.findable)
            .collect::<Option<Vec<bool>>>()?;
        let right = self
            .accepted()
            .filter(|(reviewer, found)| is_right(*reviewer, found.record))
            .count();
        Some(Judged {
            right,
            wrong: self.accepted().count() - right,
            findable: findable.iter().filter(|findable| **findable).count(),
        })
    }
}

pub(super) fn run(
    arguments: &Arguments,
    [file, other]: [&Path; 2],
    beside: &Beside,
    interrupt: &Interrupt,
) -> Result<Findings, CliError> {
    let columns: Vec<&str> = arguments.ratings.iter().map(|name| name.trim()).collect();
    let (who, what, value, day) = match columns[..] {
        [who, what, value] => (who, what, value, None),
        [who, what, value, day] => (who, what, value, Some(day)),
        _ => {
            return fail(
                "--ratings takes three or four columns",
                "who, what, rating and perhaps day: --ratings user,film,stars,day",
            );
        }
    };
    let mut items = linkage::Table::new([what.to_owned()]);
    let mut people = linkage::Table::new(arguments.truth.clone());
    let mut read = |path: &Path| -> Result<Side, CliError> {
        let mut source = Source::open(path)?;
        let places = [who, what, value].map(|name| source.column(name));
        let [who, what, place] = places;
        let (who, what, place) = (who?, what?, place?);
        let days = day.map(|name| source.column(name)).transpose()?;
        let truth = arguments
            .truth
            .as_ref()
            .map(|name| source.column(name))
            .transpose()?;
        let mut side = Side::default();
        let progress = arguments.outputs.progress("reading", source.bytes());
        let mut owners = linkage::Table::new([String::new()]);
        source.each(&progress, |line, record| {
            let field = |place: usize| record.get(place).unwrap_or_default();
            owners.push([field(who)]).map_err(explained)?;
            items.push([field(what)]).map_err(explained)?;
            people.push(truth.map(field)).map_err(explained)?;
            let last = |table: &linkage::Table| table.codes(0)[table.rows() - 1];
            let owner = last(&owners) as usize;
            if owner == side.owners.len() {
                side.owners.push(Vec::new());
                side.names.push(field(who).to_vec());
                side.people.extend(truth.map(|_| last(&people)));
            }
            side.owners[owner].push(Rating {
                item: last(&items),
                value: number(path, line, value, field(place))?,
                day: match (day, days) {
                    (Some(name), Some(place)) => moment(path, line, name, field(place))?,
                    _ => f32::NAN,
                },
            });
            Ok(())
        })?;
        Ok(side)
    };
    let (records, public) = (read(file)?, read(other)?);
    let mut ratings = Ratings::default();
    for (number, record) in (0u32..).zip(&records.owners) {
        record.iter().for_each(|rating| ratings.add(number, *rating));
    }
    let mut known = records.people.clone();
    known.sort_unstable();
    let reviewers: Vec<Reviewer> = public
        .owners
        .iter()
        .enumerate()
        .map(|(place, reviews)| Reviewer {
            reviews: reviews.clone(),
            findable: public
                .people
                .get(place)
                .map(|person| known.binary_search(person).is_ok()),
        })
        .collect();
    let matching = Matching {
        eccentricity: arguments.eccentricity,
        ..Matching::default()
    };
    let found = matched(&ratings, &reviewers, &matching, &arguments.outputs, interrupt);
    let judged = found.judged(&reviewers, |reviewer, record| {
        public.people[reviewer] == records.people[record as usize]
    });
    if let Some(path) = &arguments.matches {
        write(
            path,
            ["who", "name", "eccentricity"],
            found.accepted().map(|(reviewer, candidate)| {
                [
                    (&records.names[candidate.record as usize][..]).into(),
                    (&public.names[reviewer][..]).into(),
                    significant(candidate.eccentricity, 4).into_bytes().into(),
                ]
            }),
        )?;
    }
    Ok(findings(
        &found,
        ratings.records(),
        judged.as_ref(),
        &matching,
        beside,
    ))
}

/// One file of ratings.
#[derive(Default)]
struct Side {
    owners: Vec<Vec<Rating>>,
    names: Vec<Vec<u8>>,
    /// Who each owner is, where the truth is known.
    people: Vec<u32>,
}

fn number(path: &Path, line: u64, column: &str, field: &[u8]) -> Result<f32, CliError> {
    let parsed = std::str::from_utf8(field)
        .ok()
        .and_then(|text| text.trim().parse::<f32>().ok())
        .filter(|value| value.is_finite());
    match parsed {
        Some(value) => Ok(value),
        None => fail(
            format!("`{}`, line {line}: `{column}` is not a number", path.display()),
            "a rating is a number, such as 4 or 3.5",
        ),
    }
}

/// A day: a date, or a number of days. Empty is not known.
fn moment(path: &Path, line: u64, column: &str, field: &[u8]) -> Result<f32, CliError> {
    let text = std::str::from_utf8(field).map(str::trim).unwrap_or("?");
    if text.is_empty() {
        return Ok(f32::NAN);
    }
    if let Some(day) = days(text) {
        return Ok(day);
    }
    match text.parse::<f32>() {
        Ok(day) if day.is_finite() => Ok(day),
        _ => fail(
            format!("`{}`, line {line}: `{column}` is not a day", path.display()),
            "write 2005-12-31, or a number of days, or nothing",
        ),
    }
}

/// Days of a date from 1970 on, in the Gregorian calendar (Hinnant's algorithm).
fn days(text: &str) -> Option<f32> {
    let date = text.get(..10)?;
    let mut parts = date.splitn(3, '-');
    let mut part = |most: i64| {
        let digits = parts.next()?;
        let digits = digits
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then_some(digits)?;
        digits.parse::<i64>().ok().filter(|value| *value <= most)
    };
    let (year, month, day) = (part(9999)?, part(12)?, part(31)?);
    if month == 0 || day == 0 {
        return None;
    }
    // Years begin in March, so that the leap day is their last.
    let year = if month <= 2 { year - 1 } else { year };
    let (century, of_century) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let of_era = of_century * 365 + of_century / 4 - of_century / 100 + of_year;
    Some((century * 146_097 + of_era - 719_468) as f32)
}

/// What was matched, for everybody.
pub(super) fn findings(
    found: &Matched,
    records: u32,
    judged: Option<&Judged>,
    matching: &Matching,
    beside: &Beside,
) -> Findings {
    let accepted = found.accepted().count();
    let introduction = format!(
        "{} people with public reviews, {} records of ratings without names; a record is accepted when it is {} standard deviations ahead of the second best.",
        grouped(found.candidates.len() as u64),
        grouped(u64::from(records)),
        significant(matching.eccentricity, 2)
    );
    let stopped = if found.stopped {
        "\nStopped before the end: this is what was found by then."
    } else {
        ""
    };
    let mut ahead: Vec<f64> = found
        .candidates
        .iter()
        .flatten()
        .map(|candidate| candidate.eccentricity)
        .collect();
    ahead.sort_unstable_by(f64::total_cmp);
    let all = ahead.len().max(1) as f64;
    let curve: Vec<(f64, f64)> = (0u32..)
        .zip(&ahead)
        .map(|(below, eccentricity)| (*eccentricity, 1.0 - f64::from(below) / all))
        .collect();
    Findings {
        text: format!(
            "{introduction}\n\n{} of them got a record. {}\n{}{stopped}\n",
            grouped(accepted as u64),
            judged_words(judged),
            beside.words()
        ),
        json: json!({
            "command": "attack linkage",
            "reviewers": found.candidates.len(),
            "records": records,
            "eccentricity": matching.eccentricity,
            "accepted": accepted,
            "judged": judged_json(judged),
            "right_guesses_allowed": beside.right_guesses(),
            "stopped_early": found.stopped,
        }),
        title: "Deniable: matching ratings to public reviews",
        introduction,
        rows: vec![beside.row(
            "reviews",
            "people with public reviews whose record was found",
            accepted,
            judged,
        )],
        figures: vec![
            Figure::new("How far the best record is ahead of the second")
                .x_axis("standard deviations of all scores", Scale::Linear)
                .y_axis("share of reviewers at least so far ahead", Scale::Linear)
                .y_at_most(1.0)
                .line("reviewers", &curve)
                .vertical("accepted from here on", matching.eccentricity),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days() {
        for (text, expected) in [
            ("1970-01-01", Some(0.0)),
            ("1970-03-01", Some(59.0)),
            ("2000-02-29", Some(11_016.0)),
            ("2005-12-31", Some(13_148.0)),
            ("2005-12-31T10:00", Some(13_148.0)),
            ("1969-12-31", Some(-1.0)),
            ("2005-13-01", None),
            ("2005-1-1", None),
            ("yesterday!", None),
        ] {
            assert_eq!(days(text), expected, "{text}");
        }
    }
}
