//! How many rows some columns single out, and which columns suffice.

use super::Beside;
use ::report::{Column, Figure, Findings, Row, Scale, Table, grouped, percent, significant};
use attack::linkage::{
    self, Identifying, Partition, Profile, Shown, identifying_sets, shown_groups, shown_probability,
};
use attack::{Error, Watch};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};

/// Sizes of groups that are counted together.
const SIZES: [(usize, usize); 6] = [(1, 1), (2, 4), (5, 9), (10, 49), (50, 999), (1000, usize::MAX)];
/// Groups up to this size are drawn as bars.
const WIDEST: usize = 40;
/// Sets of columns that the text shows; the object has all.
const SHOWN_SETS: usize = 20;

/// What was found of one table.
#[derive(Clone, Debug)]
pub struct Uniqueness {
    pub(super) columns: Vec<String>,
    profile: Profile,
    /// How probable it is at most that a private release shows a group, for each of the sizes: at the upper
    /// end of it.
    shown_at_most: Vec<f64>,
    /// What one private release showed.
    shown: Shown,
    /// The least number of rows that an identifying set singles out.
    least: usize,
    largest: usize,
    sets: Vec<(Vec<String>, usize)>,
    stopped: bool,
    promise: String,
}

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Search<'asked> {
    /// Which share of rows a set of columns must single out to be called identifying.
    pub identifying: f64,
    /// The largest set of columns to look at.
    pub largest: usize,
    /// The private release that is shown beside it.
    pub beside: &'asked Beside,
}

impl Search<'_> {
    /// How many sets of columns of this table there are to look at.
    pub fn sets(&self, table: &linkage::Table) -> u64 {
        sets_up_to(table.columns(), self.largest)
    }
}

impl Uniqueness {
    /// Looks at all columns of a table; `watch` is told of each set of columns, and may end the search.
    ///
    /// # Errors
    /// When no release has this ε and δ.
    pub fn of(table: &linkage::Table, search: &Search<'_>, watch: &Watch<'_>) -> Result<Self, Error> {
        let columns: Vec<usize> = (0..table.columns()).collect();
        let profile = Partition::of(table, &columns).profile();
        let least = ((search.identifying * table.rows() as f64).ceil() as usize).max(1);
        let stopped = AtomicBool::new(false);
        let watch = |sets| {
            let go_on = watch(sets);
            stopped.fetch_or(!go_on, Ordering::Relaxed);
            go_on
        };
        let sets = identifying_sets(table, &columns, least, search.largest, &watch);
        let named = |set: Identifying| {
            let names = set.columns.iter().map(|column| table.name(*column).to_owned());
            (names.collect(), set.alone)
        };
        let Beside { epsilon, delta } = search.beside;
        let largest = profile.groups.keys().next_back().copied().unwrap_or(1);
        let ends: Vec<usize> = SIZES.iter().map(|(_, end)| (*end).min(largest)).collect();
        Ok(Self {
            columns: columns
                .iter()
                .map(|column| table.name(*column).to_owned())
                .collect(),
            shown_at_most: shown_probability(epsilon, delta, &ends)?,
            shown: shown_groups(&profile, epsilon, delta)?,
            profile,
            least,
            largest: search.largest,
            sets: sets.into_iter().map(named).collect(),
            stopped: stopped.into_inner(),
            promise: format!("({epsilon}, {delta})"),
        })
    }

    /// All of it; `introduction` says what the table is.
    pub fn findings(&self, introduction: String) -> Findings {
        Findings {
            text: self.text(),
            json: self.json("attack linkage"),
            title: "Deniable: whom do these columns single out?",
            introduction,
            rows: vec![self.row()],
            figures: vec![self.figure()],
        }
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let mut table = Table::new([
            Column::Right("rows that agree"),
            Column::Right("groups"),
            Column::Right("rows"),
            Column::Right("share of rows"),
            Column::Right("a private release shows a group"),
            Column::Right("shown in one"),
        ]);
        for ((first, last), most) in SIZES.iter().zip(&self.shown_at_most) {
            let (groups, rows) = self.profile.within(*first..=*last);
            if groups == 0 {
                continue;
            }
            let shown: usize = self
                .shown
                .groups
                .range(*first..=*last)
                .map(|(_, shown)| shown)
                .sum();
            table.row([
                match (*first, *last) {
                    (1, 1) => "1 (singled out)".to_owned(),
                    (first, usize::MAX) => format!("{first} or more"),
                    (first, last) => format!("{first} to {last}"),
                },
                grouped(groups as u64),
                grouped(rows as u64),
                percent(rows as f64 / self.profile.rows as f64),
                format!("at most {}", significant(*most, 2)),
                grouped(shown as u64),
            ]);
        }
        let mut text = format!(
            "{} rows, by {}: {} are singled out; the smallest group is {} (k-anonymity).\n\n{table}\n",
            grouped(self.profile.rows as u64),
            self.columns.join(", "),
            percent(self.profile.singled_out()),
            self.profile.smallest()
        );
        text += &self.private_words();
        text += "\n\n";
        text + &self.sets_text()
    }

    fn private_words(&self) -> String {
        format!(
            "A release of these groups with {} differential privacy shows a group of one with probability at most δ; one was drawn: {} of {} groups shown, {} of a \
             single row.",
            self.promise,
            grouped(self.shown.all() as u64),
            grouped(self.profile.groups.values().sum::<usize>() as u64),
            match self.shown.singled_out() {
                0 => "none".to_owned(),
                some => grouped(some as u64),
            }
        )
    }

    fn sets_text(&self) -> String {
        let wanted = percent(self.least as f64 / self.profile.rows as f64);
        let stopped = if self.stopped {
            " Stopped before the end: there may be more."
        } else {
            ""
        };
        if self.sets.is_empty() {
            return format!(
                "No set of at most {} columns singles out {wanted} of the rows.{stopped}\n",
                self.largest
            );
        }
        let mut table = Table::new([
            Column::Left("columns that suffice, none to spare"),
            Column::Right("rows singled out"),
            Column::Right("share"),
        ]);
        for (columns, alone) in self.sets.iter().take(SHOWN_SETS) {
            table.row([
                columns.join(", "),
                grouped(*alone as u64),
                percent(*alone as f64 / self.profile.rows as f64),
            ]);
        }
        let more = match self.sets.len().saturating_sub(SHOWN_SETS) {
            0 => String::new(),
            more => format!("and {more} more; --json has them all\n"),
        };
        format!(
            "Sets of at most {} columns that single out {wanted} of the rows:{stopped}\n\n{table}{more}",
            self.largest
        )
    }

    /// For programs.
    pub(super) fn json(&self, command: &str) -> Value {
        let groups: Vec<Value> = self
            .profile
            .groups
            .iter()
            .map(|(size, groups)| json!({ "size": size, "groups": groups }))
            .collect();
        let sets: Vec<Value> = self
            .sets
            .iter()
            .map(|(columns, alone)| json!({ "columns": columns, "rows_singled_out": alone }))
            .collect();
        json!({
            "command": command,
            "columns": self.columns,
            "rows": self.profile.rows,
            "singled_out": self.profile.singled_out(),
            "smallest_group": self.profile.smallest(),
            "groups": groups,
            "identifying_sets": sets,
            "stopped_early": self.stopped,
            "private_release": {
                "promise": self.promise,
                "group_of_one_shown_with_probability_at_most": self.shown_at_most[0],
                "groups_shown": self.shown.all(),
                "groups_of_one_shown": self.shown.singled_out(),
            },
        })
    }

    /// For a page.
    pub(super) fn row(&self) -> Row {
        Row::new(
            "uniqueness",
            format!("rows that {} single out", self.columns.join(", ")),
            "none",
            percent(self.profile.singled_out()),
            self.profile.smallest() > 1,
        )
        .note(self.private_words())
        .note(match &self.sets[..] {
            [] => format!("No set of at most {} columns is identifying.", self.largest),
            sets => {
                let named: Vec<String> = sets.iter().map(|(columns, _)| columns.join(", ")).collect();
                format!("Identifying sets of columns: {}.", named.join("; "))
            }
        })
    }

    /// Rows by the size of their group.
    pub(super) fn figure(&self) -> Figure {
        let share = |size: usize, groups: usize| (size * groups) as f64 / self.profile.rows as f64;
        let sizes = self
            .profile
            .groups
            .iter()
            .map(|(size, groups)| (*size, share(*size, *groups)));
        let figure = Figure::new(format!("Rows that agree on {}", self.columns.join(", ")));
        let largest = self.profile.groups.keys().next_back().copied().unwrap_or(1);
        if largest <= WIDEST {
            let bars: Vec<(f64, f64, f64)> = sizes
                .map(|(size, share)| (size as f64 - 0.4, size as f64 + 0.4, share))
                .collect();
            return figure
                .x_axis("rows in the same group", Scale::Linear)
                .y_axis("share of all rows", Scale::Linear)
                .bars("groups of this size", &bars);
        }
        let points: Vec<(f64, f64)> = sizes.map(|(size, share)| (size as f64, share)).collect();
        figure
            .x_axis("rows in the same group", Scale::Log10)
            .y_axis("share of all rows", Scale::Linear)
            .points("groups of this size", &points)
    }
}

/// How many sets of 1 to `largest` of this many columns there are.
fn sets_up_to(columns: usize, largest: usize) -> u64 {
    let mut sets = 0u64;
    let mut of_this_size = 1u64;
    for size in 1..=largest.min(columns) as u64 {
        of_this_size = of_this_size.saturating_mul(columns as u64 - size + 1) / size;
        sets = sets.saturating_add(of_this_size);
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::sets_up_to;

    #[test]
    fn sets_are_counted() {
        assert_eq!(sets_up_to(3, 3), 7);
        assert_eq!(sets_up_to(5, 2), 15);
        assert_eq!(sets_up_to(1, 8), 1);
    }
}
