//! A4: who is singled out, and who is found.

use crate::claims::{Fault, Outcome};
use accounting::{Delta, Epsilon};
use attack::linkage::{
    Matching, Partition, census, identifying_sets, judge, link, reviews, shown_groups, shown_probability,
};
use report::{Figure, Scale, significant};

/// The people are the same in every run; the private release is not.
const SEED: u64 = 1;
const PEOPLE: u64 = 90_000;
const RECORDS: u32 = 1_000;
const REVIEWERS: u32 = 60;

pub(super) fn singled_out() -> Result<Outcome, Fault> {
    let synthetic = census(PEOPLE, SEED);
    let profile = Partition::of(&synthetic.people, &[0, 1, 2]).profile();
    // Two thirds of the people, and by no fewer than all three columns.
    let least = profile.rows * 2 / 3;
    let sets = identifying_sets(&synthetic.people, &[0, 1, 2], least, 3, &|_| true);
    let all_needed = sets.len() == 1 && sets[0].columns == [0, 1, 2];
    let links = link(&synthetic.both, synthetic.patients);
    let judged = judge(&links.pairs, &synthetic.who, synthetic.patients);

    let films = reviews(RECORDS, REVIEWERS, SEED);
    let (mut right, mut wrong, mut findable) = (0usize, 0usize, 0usize);
    for (public, truth) in &films.reviewers {
        findable += usize::from(truth.is_some());
        let found = films
            .ratings
            .best(public, &Matching::default())
            .filter(|found| found.accepted);
        if let Some(found) = found {
            if *truth == Some(found.record) {
                right += 1
            } else {
                wrong += 1
            }
        }
    }
    // The same groups released privately. Of fewer than 1e5 people each is shown with probability 1e-15:
    // 1e-10 in all.
    let (epsilon, delta) = (Epsilon::parse("1")?, Delta::parse("1e-15")?);
    let shown = shown_groups(&profile, &epsilon, &delta)?;
    let alone = shown_probability(&epsilon, &delta, &[1])?[0];

    let pass = profile.singled_out() > 0.5
        && all_needed
        && judged.precision() > 0.8
        && judged.recall() > 0.5
        && right * 10 >= findable * 8
        && wrong * 10 <= right
        && shown.singled_out() == 0
        && alone <= 1.0001e-15;
    let percent = |share: f64| significant(100.0 * share, 3);
    let measured = format!(
        "{} % of {} people; {} of {} findable patients got their name, {} % of links right; {right} of {findable} reviewers found, {wrong} wrong; private release: {} singled out",
        percent(profile.singled_out()),
        profile.rows,
        judged.right,
        judged.findable,
        percent(judged.precision()),
        shown.singled_out()
    );
    let rows =
        |(size, groups): (&usize, &usize)| (*size as f64, (size * groups) as f64 / profile.rows as f64);
    let figure = Figure::new("People who agree on ZIP code, sex and birth date")
        .x_axis("people in the same group", Scale::Linear)
        .y_axis("share of all people", Scale::Linear)
        .points(
            "groups of this size",
            &profile.groups.iter().map(rows).collect::<Vec<_>>(),
        );
    Ok(Outcome::new(
        "most people singled out, two thirds by all three columns only; most patients and reviewers found; privately nobody",
        measured,
        pass,
    )
    .note(
        "Synthetic people of whole ZIP codes, with the sizes and ages of the United States in 2000. Sweeney found 87 % for 1990, Golle 63 % for 2000.",
    )
    .figure(figure))
}
