//! The text of a finished statement.
//!
//! Each step, and each of its layers, becomes a subquery that hands on the columns that somebody behind it reads. PostgreSQL leaves others out by itself where it puts a subquery into the next one;
//! where it keeps the rows of one for several others it would keep all columns of it.

use super::constants::{integer, null};
use super::writer::{Body, From, Relation, Shape, Writer};
use crate::sources::Parameter;
use crate::values::facts::Kind;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The columns of a finished statement.
pub(super) struct Layout {
    /// The kinds of its columns, of which the first says to which plan a row belongs.
    pub(super) kinds: Vec<Kind>,
    /// For each plan, which columns are its own.
    pub(super) plans: Vec<Vec<usize>>,
}

/// A subquery over others.
struct Subquery<'w> {
    name: String,
    single_rows: bool,
    what: What<'w>,
}

enum What<'w> {
    Select {
        /// The subqueries that it reads.
        reads: Vec<usize>,
        from: String,
        rest: &'w str,
        /// What it computes: names, and what they stand for.
        columns: &'w [(String, String)],
        /// Whether it hands on columns of what it reads.
        passes: bool,
        /// Whether it computes what nobody reads too: without an aggregate it would be no aggregation, and a number that nobody reads would hide a filter that is missing.
        whole: bool,
    },
    Union {
        reads: Vec<usize>,
        sides: &'w [(usize, Vec<String>)],
        names: &'w [String],
    },
}

impl What<'_> {
    fn reads(&self) -> &[usize] {
        match self {
            Self::Select { reads, .. } | Self::Union { reads, .. } => reads,
        }
    }
}

/// The names of columns in a text: all of them, and possibly what only looks like one inside of a constant.
fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    words.filter(|word| super::writer::is_column(word))
}

impl Writer {
    /// The whole statement, which gives the rows of these plans one after the other, each with the number of its plan before it.
    pub(super) fn finish(self, plans: &[Relation]) -> (String, Vec<Arc<Parameter>>, Layout) {
        let (subqueries, last) = self.subqueries();
        let layout = layout(plans);
        let mut needed: Vec<BTreeSet<&str>> = vec![BTreeSet::new(); subqueries.len()];
        for plan in plans {
            let cells = plan.columns.iter().flatten();
            needed[last[plan.step]].extend(cells.flat_map(|cell| names_in(&cell.sql)));
        }
        // Whoever reads a subquery comes behind it.
        for (number, subquery) in subqueries.iter().enumerate().rev() {
            let mut read: BTreeSet<&str> = BTreeSet::new();
            match &subquery.what {
                What::Select {
                    rest,
                    columns,
                    passes,
                    whole,
                    ..
                } => {
                    read.extend(names_in(rest));
                    let used = columns
                        .iter()
                        .filter(|(name, _)| *whole || needed[number].contains(name.as_str()));
                    read.extend(used.flat_map(|(_, sql)| names_in(sql)));
                    if *passes {
                        read.extend(&needed[number]);
                    }
                }
                What::Union { sides, .. } => {
                    let cells = sides.iter().flat_map(|(_, cells)| cells);
                    read.extend(cells.flat_map(|cell| names_in(cell)));
                }
            }
            for before in subquery.what.reads() {
                needed[*before].extend(&read);
            }
        }
        let mut there: Vec<Vec<&str>> = Vec::new();
        let mut texts = Vec::new();
        for (subquery, needed) in subqueries.iter().zip(&needed) {
            let (text, columns) = subquery.text(needed, &there, &subqueries);
            // What is grouped and used twice is computed once and kept; single rows are read again.
            let how = match subquery.single_rows {
                true => "AS NOT MATERIALIZED",
                false => "AS",
            };
            texts.push(format!("{} {how} (\n  {text}\n)", subquery.name));
            there.push(columns);
        }
        let selects: Vec<String> = plans
            .iter()
            .zip(&layout.plans)
            .enumerate()
            .map(|(number, (plan, taken))| {
                let mut list: Vec<String> = layout.kinds.iter().map(|kind| null(*kind)).collect();
                list[0] = integer(number as i64);
                for (cell, place) in plan.columns.iter().flatten().zip(taken) {
                    list[*place] = cell.sql.clone();
                }
                format!(
                    "SELECT {} FROM {}",
                    list.join(", "),
                    subqueries[last[plan.step]].name
                )
            })
            .collect();
        let text = format!("WITH {}\n{}", texts.join(", "), selects.join("\nUNION ALL\n"));
        (text, self.parameters.clone(), layout)
    }

    /// The steps and their layers one after the other, and for each step the last of them, which others read.
    fn subqueries(&self) -> (Vec<Subquery<'_>>, Vec<usize>) {
        let mut subqueries: Vec<Subquery<'_>> = Vec::new();
        let mut last: Vec<usize> = Vec::new();
        for (number, step) in self.steps.iter().enumerate() {
            let called = |step: &usize| subqueries[last[*step]].name.clone();
            let what = match &step.body {
                Body::Select {
                    from,
                    shape,
                    rest,
                    columns,
                } => {
                    let (reads, from) = match from {
                        From::Table(table) => (Vec::new(), table.clone()),
                        From::Step(step) => (vec![last[*step]], called(step)),
                        From::Join(left, how, right) => (
                            vec![last[*left], last[*right]],
                            format!("{} AS l {how} {} AS r", called(left), called(right)),
                        ),
                    };
                    What::Select {
                        reads,
                        from,
                        rest,
                        columns,
                        passes: matches!(shape, Shape::Kept | Shape::Numbered),
                        whole: matches!(shape, Shape::Grouped | Shape::Numbered),
                    }
                }
                Body::Union { sides, names } => What::Union {
                    reads: sides.iter().map(|(step, _)| last[*step]).collect(),
                    sides,
                    names,
                },
            };
            subqueries.push(Subquery {
                name: format!("r{number}"),
                single_rows: step.single_rows,
                what,
            });
            for (place, layer) in step.layers.iter().enumerate() {
                let before = subqueries.len() - 1;
                subqueries.push(Subquery {
                    name: format!("r{number}_{}", place + 1),
                    single_rows: step.single_rows,
                    what: What::Select {
                        reads: vec![before],
                        from: subqueries[before].name.clone(),
                        rest: " OFFSET 0",
                        columns: layer,
                        passes: true,
                        whole: false,
                    },
                });
            }
            last.push(subqueries.len() - 1);
        }
        (subqueries, last)
    }
}

impl<'w> Subquery<'w> {
    /// The text that gives these columns, where there are such in what it reads, and which columns it gives.
    fn text(
        &self,
        needed: &BTreeSet<&str>,
        there: &[Vec<&'w str>],
        all: &[Subquery<'w>],
    ) -> (String, Vec<&'w str>) {
        match &self.what {
            What::Select {
                reads,
                from,
                rest,
                columns,
                passes,
                whole,
            } => {
                let mut given: Vec<&str> = Vec::new();
                if *passes {
                    let before = reads.iter().flat_map(|read| &there[*read]).copied();
                    given.extend(before.filter(|name| needed.contains(name)));
                }
                let mut list: Vec<String> = given.iter().map(|name| (*name).to_owned()).collect();
                let wanted = |name: &str| *whole || needed.contains(name);
                for (name, sql) in columns.iter().filter(|(name, _)| wanted(name)) {
                    list.push(format!("{sql} AS {name}"));
                    given.push(name);
                }
                (format!("SELECT {} FROM {from}{rest}", list.join(", ")), given)
            }
            What::Union { reads, sides, names } => {
                let texts = sides.iter().zip(reads).map(|((_, cells), read)| {
                    let list: Vec<String> = cells
                        .iter()
                        .zip(*names)
                        .map(|(sql, name)| format!("{sql} AS {name}"))
                        .collect();
                    format!("SELECT {} FROM {}", list.join(", "), all[*read].name)
                });
                let text = texts.collect::<Vec<_>>().join(" UNION ALL ");
                (text, names.iter().map(String::as_str).collect())
            }
        }
    }
}

/// Which columns of the statement each plan takes: the first ones of its kinds that it has not taken.
fn layout(plans: &[Relation]) -> Layout {
    let mut layout = Layout {
        kinds: vec![Kind::Int],
        plans: Vec::new(),
    };
    for plan in plans {
        let mut taken = Vec::new();
        for cell in plan.columns.iter().flatten() {
            let free = (1..layout.kinds.len())
                .find(|place| layout.kinds[*place] == cell.kind && !taken.contains(place));
            taken.push(free.unwrap_or(layout.kinds.len()));
            if free.is_none() {
                layout.kinds.push(cell.kind);
            }
        }
        layout.plans.push(taken);
    }
    layout
}
