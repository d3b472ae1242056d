//! A2: the census table of seven people.

use crate::claims::{Fault, Outcome};
use accounting::Epsilon;
use attack::published::{Effort, Table, census, males_of_the_census, privately, reconstruct};
use noise::Seeded;

/// The people, as the table's own words for them.
const EXPECTED: &str = "8 F B single, 18 M W single, 24 F W single, 30 M W married, 36 F B married, \
                        66 F B married, 84 M B married";

/// The noise of the private release starts here: the row comes out the same every time.
const SEED: u64 = 1;

pub(super) fn rebuilt() -> Result<Outcome, Fault> {
    let table = census();
    let findings = reconstruct(&table, &Effort::up_to(10))?;
    let found: Vec<String> = findings
        .solutions
        .iter()
        .map(|people| in_words(&table, people))
        .collect();
    let males = reconstruct(&males_of_the_census(), &Effort::up_to(100))?;

    // The same table with noise: at face value nobody can be behind it; read with its margins of error, very
    // many can, and nobody is certain.
    let people = findings
        .solutions
        .first()
        .ok_or("the census table has no solution")?;
    let noisy = privately(&table, people, &Epsilon::parse("1")?, Seeded::new(SEED))?;
    let at_face_value = reconstruct(&noisy.at_face_value, &Effort::up_to(1))?;
    let with_margins = reconstruct(&noisy.with_margins, &Effort::up_to(5))?;

    let one = findings.complete && found == [EXPECTED];
    let thirty = males.complete && males.solutions.len() == 30;
    let hidden = at_face_value.complete
        && at_face_value.solutions.is_empty()
        && with_margins.solutions.len() == 5
        && with_margins.certain.is_empty();
    let proved = |complete: bool| if complete { "proved" } else { "not proved" };
    Ok(Outcome::new(
        format!("only {EXPECTED}; 30 for the males alone; with ε = 1 nobody"),
        format!(
            "{} ({}); {} for the males alone ({}); with ε = 1 at face value {}, within margins at least {} with {} people certain",
            found.join(" or "),
            proved(findings.complete),
            males.solutions.len(),
            proved(males.complete),
            at_face_value.solutions.len(),
            with_margins.solutions.len(),
            with_margins.certain.len(),
        ),
        one && thirty && hidden,
    )
    .note(format!(
        "{} clauses, solved and proved in {:.3} s. The noise of the private release has seed {SEED}.",
        findings.clauses,
        findings.elapsed.as_secs_f64()
    )))
}

fn in_words(table: &Table, people: &[attack::published::Record]) -> String {
    let records = people.iter().map(|record| {
        let values = record.iter().zip(&table.attributes);
        let words: Vec<String> = values
            .map(|(value, attribute)| attribute.domain.show(*value))
            .collect();
        words.join(" ")
    });
    records.collect::<Vec<String>>().join(", ")
}
