//! Everything at once on synthetic people, whose truth is known.

use super::uniqueness::{Search, Uniqueness};
use super::{Arguments, Beside, pair, reviews};
use crate::delivery::watched;
use crate::terminal::{CliError, Interrupt};
use ::report::Findings;
use attack::linkage::{Matching, Reviewer, census, judge, link, matched};
use serde_json::json;

/// Records of ratings and reviewers: as many for this many people.
const PEOPLE_A_RECORD: u64 = 20;
const PEOPLE_A_REVIEWER: u64 = 1_000;

const CENSUS: &str = "\
Synthetic people: whole ZIP codes, whose populations are log-normal with a mean of 8,800 and at most 115,000; ages as in the census of the United States of 2000; birthdays even over \
the years; sexes equally many. Sweeney found 87 % singled out for 1990, Golle 63 % for 2000.";
const HOSPITAL: &str = "\
A hospital's table without names (one in ten of these people) and a voter list with names (seven in ten from 18 on):";
const REVIEWS: &str = "\
Ratings of 2,000 films without names, and eight public reviews each of people of whom a quarter are not in the data; one film is wrong, one rating in four is a star off, days are up to 14 off:";

pub(super) fn run(
    arguments: &Arguments,
    beside: &Beside,
    interrupt: &Interrupt,
) -> Result<Findings, CliError> {
    let data = census(arguments.people, arguments.seed);
    let search = Search {
        identifying: arguments.identifying,
        largest: arguments.largest,
        beside,
        outputs: &arguments.outputs,
        interrupt,
    };
    let unique = Uniqueness::of(&data.people, &search)?;
    let links = link(&data.both, data.patients);
    let judged = judge(&links.pairs, &data.who, data.patients);
    let rows = [data.patients, data.who.len() - data.patients];
    let linked = pair::findings(&links, rows, &unique.columns, Some(&judged), beside);

    let records = (arguments.people / PEOPLE_A_RECORD).max(100) as u32;
    let count = (arguments.people / PEOPLE_A_REVIEWER).clamp(50, 5_000) as u32;
    let films = attack::linkage::reviews(records, count, arguments.seed);
    let (reviewers, truth): (Vec<Reviewer>, Vec<Option<u32>>) = films
        .reviewers
        .into_iter()
        .map(|(reviews, record)| {
            let reviewer = Reviewer {
                reviews,
                findable: Some(record.is_some()),
            };
            (reviewer, record)
        })
        .unzip();
    let matching = Matching {
        eccentricity: arguments.eccentricity,
        ..Matching::default()
    };
    let found = {
        let progress = arguments.outputs.progress("reviewers", reviewers.len() as u64);
        matched(
            &films.ratings,
            &reviewers,
            &matching,
            &watched(&progress, interrupt),
        )
    };
    let judged = found.judged(&reviewers, |reviewer, record| truth[reviewer] == Some(record));
    let rated = reviews::findings(
        &found,
        films.ratings.records(),
        judged.as_ref(),
        &matching,
        beside,
    );
    Ok(Findings {
        text: format!(
            "{CENSUS}\n\n{}\n{HOSPITAL}\n{}\n{REVIEWS}\n{}\nSeed {}.\n",
            unique.text(),
            linked.text,
            rated.text,
            arguments.seed
        ),
        json: json!({
            "command": "attack linkage",
            "seed": arguments.seed,
            "census": unique.json("attack linkage"),
            "hospital": linked.json,
            "ratings": rated.json,
        }),
        title: "Deniable: whom do rows without names belong to?",
        introduction: format!("{CENSUS}\n\n{HOSPITAL}\n\n{REVIEWS}"),
        rows: [vec![unique.row()], linked.rows, rated.rows].concat(),
        figures: [vec![unique.figure()], rated.figures].concat(),
    })
}
