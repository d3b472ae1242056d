//! What a published table reveals about the people behind it.

use accounting::Epsilon;
use attack::Error;
use attack::published::{
    self, Cell, Conflict, Domain, Effort, Findings, Influence, Record, Table, privately,
};
use noise::Seeded;
use report::{DynamicTable, Heading, Row, significant};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What the search found, to be reported.
#[derive(Clone, Debug)]
pub struct Report<'r> {
    /// What to call the table.
    pub name: &'r str,
    /// The table.
    pub table: &'r Table,
    /// Numbers that were suppressed first.
    pub dropped: &'r [String],
    /// The people that it allows.
    pub findings: &'r Findings,
    /// What it allows without each of its numbers.
    pub influences: &'r [Influence],
    /// Numbers that leave no other solution by themselves.
    pub enough: Option<&'r [Cell]>,
    /// What the same table says with noise.
    pub private: Option<&'r Private>,
    /// The ε of that release.
    pub epsilon: &'r Epsilon,
    /// Where its noise starts from.
    pub seed: u64,
}

/// What an attacker makes of the private release of a table about these people.
#[derive(Clone, Debug)]
pub struct Private {
    at_face_value: Findings,
    with_margins: Findings,
    confidence: f64,
}

/// Enough to see that a private release singles nobody out.
const ENOUGH_PRIVATE: usize = 20;

impl Private {
    /// Releases the table of these people with ε, and attacks it as the table itself.
    ///
    /// # Errors
    /// When the mechanism cannot be built, or the solver fails.
    pub fn of(
        table: &Table,
        people: &[Record],
        epsilon: &Epsilon,
        seed: u64,
        effort: &Effort,
    ) -> Result<Self, Error> {
        let noisy = privately(table, people, epsilon, Seeded::new(seed))?;
        let effort = Effort {
            limit: ENOUGH_PRIVATE,
            ..effort.clone()
        };
        Ok(Self {
            at_face_value: published::reconstruct(&noisy.at_face_value, &effort)?,
            with_margins: published::reconstruct(&noisy.with_margins, &effort)?,
            confidence: noisy.confidence,
        })
    }
}

/// Which numbers cannot all be true, each with its line where that is known.
pub fn contradiction(conflict: &Conflict, lines: &BTreeMap<String, usize>) -> String {
    let mut names: Vec<String> = conflict
        .cells
        .iter()
        .map(|cell| match lines.get(&cell.to_string()) {
            Some(line) => format!("{cell} (line {line})"),
            None => cell.to_string(),
        })
        .collect();
    match (names.pop(), names.is_empty()) {
        (Some(last), false) => format!("{} and {last} cannot all be true", names.join(", ")),
        (Some(only), true) => format!("{only} cannot be true"),
        (None, _) => "nobody obeys its rules".to_owned(),
    }
}

/// Solutions shown in full to a person.
const SHOWN: usize = 3;

impl Report<'_> {
    fn to_text(&self) -> String {
        let mut text = String::new();
        let numbers = self.table.cells().len();
        let _ = write!(text, "{}: {numbers} published numbers", self.name);
        if !self.dropped.is_empty() {
            let _ = write!(text, ", without {}", self.dropped.join(", "));
        }
        let _ = writeln!(text, "\n\n{}\n", self.verdict());
        for (number, people) in self.findings.solutions.iter().take(SHOWN).enumerate() {
            if self.findings.solutions.len() > 1 {
                let _ = writeln!(text, "solution {}", number + 1);
            }
            let _ = writeln!(text, "{}", self.people(people));
        }
        let more = self.findings.solutions.len().saturating_sub(SHOWN);
        if more > 0 {
            let _ = writeln!(text, "… and {more} more; --json prints all of them\n");
        }
        if self.findings.solutions.len() != 1 || !self.findings.complete {
            let certain = &self.findings.certain;
            if certain.is_empty() {
                let _ = writeln!(text, "Nobody is in every solution.\n");
            } else {
                let _ = writeln!(text, "In every solution, proved:\n{}", self.people(certain));
            }
        }
        if !self.influences.is_empty() {
            let _ = writeln!(text, "{}", self.without());
        }
        if let Some(enough) = self.enough {
            let names: Vec<String> = enough.iter().map(Cell::to_string).collect();
            let _ = writeln!(
                text,
                "Enough by themselves, and none of them can be left out: {}.\n",
                names.join(", ")
            );
        }
        let _ = writeln!(text, "{}", self.bound());
        if let Some(private) = self.private {
            let _ = writeln!(text, "{}", self.released(private));
        }
        text
    }

    /// How many solutions, and what is proved about them.
    fn verdict(&self) -> String {
        let Findings {
            solutions,
            complete,
            out_of_time,
            clauses,
            elapsed,
            ..
        } = self.findings;
        let what = match (solutions.len(), complete) {
            (1, true) => "One solution, proved to be the only one".to_owned(),
            (count, true) => format!("{count} solutions, proved to be all"),
            (0, false) => "No solution found yet, and none ruled out".to_owned(),
            (count, false) => format!("At least {count} solutions: there may be more"),
        };
        let time = significant(elapsed.as_secs_f64(), 2);
        let late = if *out_of_time { "; time was up" } else { "" };
        format!("{what} ({clauses} clauses, {time} s{late}).")
    }

    fn people(&self, people: &[Record]) -> String {
        let attributes = &self.table.attributes;
        let mut table = DynamicTable::new(
            attributes
                .iter()
                .map(|attribute| match attribute.domain {
                    Domain::Integers { .. } => Heading::right(&attribute.name),
                    Domain::Categories(_) => Heading::left(&attribute.name),
                })
                .collect(),
        );
        for record in people {
            table.row(self.shown(record));
        }
        table.to_string()
    }

    fn shown(&self, record: &Record) -> Vec<String> {
        let values = record.iter().zip(&self.table.attributes);
        values
            .map(|(value, attribute)| attribute.domain.show(*value))
            .collect()
    }

    /// What each number is worth to the attacker.
    fn without(&self) -> String {
        let mut table = DynamicTable::new(vec![
            Heading::left("without"),
            Heading::left("of"),
            Heading::right("solutions"),
            Heading::left(""),
        ]);
        for influence in self.influences {
            let group = self
                .table
                .groups
                .iter()
                .find(|group| group.id == influence.cell.group);
            let remark = match influence.solutions {
                None => "nothing bounds how many people there are",
                Some(_) if says_nothing(influence, self.findings) => "the others say the same",
                Some(_) => "",
            };
            table.row(vec![
                influence.cell.to_string(),
                group.map_or_else(String::new, |group| group.name.clone()),
                counted(influence.solutions, influence.complete),
                remark.to_owned(),
            ]);
        }
        table.to_string()
    }

    /// The chance that a guess at one person's record is right: before anything is published, and the most it
    /// can be after an ε-private release.
    ///
    /// By Bayes, the odds of a record after an output y are P(y|record)·p over the sum of
    /// P(y|other)·p(other), and changing one record changes the probability of y by a factor of at most e^ε:
    /// the odds grow by at most that.
    fn chances(&self) -> (f64, f64) {
        let before = 1.0 / self.table.possible_records().max(1.0);
        let factor = self.epsilon.to_f64_up().exp();
        (before, factor * before / (1.0 - before + factor * before))
    }

    /// What was recovered beside what differential privacy would allow.
    fn bound(&self) -> String {
        let (before, after) = self.chances();
        let people = self.findings.solutions.first().map_or(0, Vec::len);
        format!(
            "Recovered with certainty: {} of {people} people.\n\
             A guess at one person's record among the {} possible is right with probability {} %;\n\
             after a release with ε = {} (one person's record protected), with at most {} %.",
            self.findings.certain.len(),
            self.table.possible_records(),
            significant(100.0 * before, 2),
            self.epsilon,
            significant(100.0 * after, 2),
        )
    }

    fn released(&self, private: &Private) -> String {
        let face = match (
            private.at_face_value.solutions.len(),
            private.at_face_value.complete,
        ) {
            (0, true) => "no solution: nobody can be behind these numbers".to_owned(),
            (count, complete) => format!("{} solutions", counted(Some(count), complete)),
        };
        let margins = &private.with_margins;
        format!(
            "The same table released with ε = {} (seed {}):\n  \
             taken at face value   {face}\n  \
             within its margins    {} solutions, {} people in all of them (margins that all hold with probability {})",
            self.epsilon,
            self.seed,
            counted(Some(margins.solutions.len()), margins.complete),
            margins.certain.len(),
            private.confidence,
        )
    }

    fn to_json(&self) -> Value {
        let people = |people: &Vec<Record>| -> Value {
            let records = people.iter().map(|record| {
                let fields = self
                    .table
                    .attributes
                    .iter()
                    .zip(record)
                    .map(|(attribute, value)| {
                        let value = match attribute.domain {
                            Domain::Integers { .. } => json!(value),
                            Domain::Categories(_) => json!(attribute.domain.show(*value)),
                        };
                        (attribute.name.clone(), value)
                    });
                Value::Object(fields.collect())
            });
            Value::Array(records.collect())
        };
        let (before, after) = self.chances();
        let found = |findings: &Findings| {
            json!({
                "solutions": findings.solutions.len(),
                "complete": findings.complete,
                "certain": people(&findings.certain),
            })
        };
        json!({
            "table": self.name,
            "dropped": self.dropped,
            "complete": self.findings.complete,
            "out_of_time": self.findings.out_of_time,
            "solutions": self.findings.solutions.iter().map(people).collect::<Vec<_>>(),
            "certain": people(&self.findings.certain),
            "clauses": self.findings.clauses,
            "seconds": self.findings.elapsed.as_secs_f64(),
            "without": self.influences.iter().map(|influence| json!({
                "cell": influence.cell.to_string(),
                "solutions": influence.solutions,
                "complete": influence.complete,
            })).collect::<Vec<_>>(),
            "enough": self.enough.map(|enough| enough.iter().map(Cell::to_string).collect::<Vec<_>>()),
            "chance_of_a_guess": {"before": before, "epsilon": self.epsilon.to_string(), "at_most_after_a_private_release": after},
            "private_release": self.private.map(|private| json!({
                "epsilon": self.epsilon.to_string(),
                "seed": self.seed,
                "at_face_value": found(&private.at_face_value),
                "within_margins": found(&private.with_margins),
                "confidence_of_margins": private.confidence,
            })),
        })
    }

    /// In words, as an object, and on a page.
    pub fn findings(&self) -> ::report::Findings {
        let (_, after) = self.chances();
        let allowed = format!(
            "at most {} % for anybody at ε = {}",
            significant(100.0 * after, 2),
            self.epsilon
        );
        let people = self.findings.solutions.first().map_or(0, Vec::len);
        let certain = self.findings.certain.len();
        let mut row = Row::new(
            "table",
            "the published numbers tell nobody's record",
            allowed.clone(),
            format!("{certain} of {people} people with certainty"),
            certain == 0,
        );
        for solution in self.findings.solutions.iter().take(SHOWN) {
            row = row.note(self.people(solution));
        }
        if !self.influences.is_empty() {
            row = row.note(self.without());
        }
        let private = self.private.map(|private| {
            let certain = private.at_face_value.certain.len() + private.with_margins.certain.len();
            Row::new(
                "private",
                "nor do those of the same table with differential privacy",
                allowed,
                format!("{certain} people with certainty"),
                certain == 0,
            )
            .note(self.released(private))
        });
        ::report::Findings {
            text: self.to_text(),
            json: self.to_json(),
            title: "Reconstruction from a published table",
            introduction: format!("{}: {}\n\n{}", self.name, self.verdict(), self.bound()),
            rows: [row].into_iter().chain(private).collect(),
            figures: Vec::new(),
        }
    }
}

/// `≥ 20` where there may be more.
fn counted(solutions: Option<usize>, complete: bool) -> String {
    match (solutions, complete) {
        (None, _) => "∞".to_owned(),
        (Some(count), true) => count.to_string(),
        (Some(count), false) => format!("≥ {count}"),
    }
}

/// Whether the number adds anything to the others: without it, is there more than there was?
fn says_nothing(influence: &Influence, findings: &Findings) -> bool {
    findings.complete && influence.complete && influence.solutions == Some(findings.solutions.len())
}
