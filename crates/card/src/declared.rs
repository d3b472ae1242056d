//! What the catalog declares: the bounds on one unit's part, the groups, and which of these are enforced.

use chrono::{DateTime, TimeDelta};
use ledger::Rules;
use serde::Serialize;
use sql::catalog::{Catalog, Limits, Owner, PlannedRelease, Table};
use sql::{Facts, Kind, Range};

/// What is known to tell something beside the answers, whatever the catalog says.
pub(crate) const SIDE_CHANNELS: &[&str] = &[
    "Floating point: values and noise are integers on a grid, and every bit of noise is decided by exact arithmetic; low bits tell nothing. Sums in training are floats unless it runs with exact sums.",
    "Time: how long a question takes depends on the data. A server answers at moments T, 2T, 4T, … after the request, so that an analyst learns in which of these steps it ended; at a terminal everything is seen.",
    "Errors: what a question means, whether it is accepted and what it costs depend on the question and the catalog alone; expressions are total; a failure of the engine shows as a random number.",
    "Refusals: the budget refuses by what was charged, which depends on parameters and never on data.",
    "Randomness: noise is drawn with ChaCha12 under keys of the operating system, so the guarantee is against whoever cannot break that.",
    "Not covered: power, caches and speculative execution of the machine, and whoever can read its files or memory.",
];

/// Everything that is declared.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Declared {
    pub(crate) data_version: String,
    pub(crate) data_version_every: Option<String>,
    /// Limits that hold where a table states none.
    pub(crate) limits: LimitsLine,
    pub(crate) tables: Vec<TableLine>,
    /// Releases of many tables that are planned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) releases: Vec<PlannedLine>,
    pub(crate) statements: Vec<Statement>,
    /// What a question takes that states no ε.
    pub(crate) query_epsilon: Option<String>,
    pub(crate) query_delta: String,
    /// Whether the catalog states the rules that the ledger keeps.
    pub(crate) budget_is_the_ledgers: bool,
}

/// How much of one unit counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct LimitsLine {
    pub(crate) groups: Option<u64>,
    pub(crate) rows_per_group: Option<u64>,
    pub(crate) rows: Option<u64>,
    /// What one unit's sum of a column is clamped to.
    pub(crate) sums: Vec<(String, f64, f64)>,
    /// For questions that group by this column.
    pub(crate) by: Vec<(String, LimitsLine)>,
}

impl LimitsLine {
    fn of(limits: &Limits) -> Self {
        let sums = |(column, range): (&String, &Range)| (column.clone(), range.low, range.high);
        Self {
            groups: limits.groups,
            rows_per_group: limits.rows_per_group,
            rows: limits.rows,
            sums: limits.sums.iter().map(sums).collect(),
            by: limits
                .by
                .iter()
                .map(|(column, limits)| (column.clone(), Self::of(limits)))
                .collect(),
        }
    }

    pub(crate) fn in_words(&self) -> String {
        let number = |name: &str, limit: Option<u64>| limit.map(|limit| format!("{name} {limit}"));
        let mut parts: Vec<String> = [
            number("groups of one unit:", self.groups),
            number("rows in a group:", self.rows_per_group),
            number("rows in all:", self.rows),
        ]
        .into_iter()
        .flatten()
        .collect();
        parts.extend(
            self.sums
                .iter()
                .map(|(column, low, high)| format!("sum of {column}: {low} to {high}")),
        );
        for (column, limits) in &self.by {
            parts.push(format!("by {column} ({})", limits.in_words()));
        }
        if parts.is_empty() {
            "none are declared; a question states its own, or is refused".to_owned()
        } else {
            parts.join("; ")
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct TableLine {
    pub(crate) name: String,
    pub(crate) public: bool,
    /// Whose rows it holds, in words.
    pub(crate) owner: String,
    pub(crate) rows_per_unit: Option<u64>,
    pub(crate) limits: LimitsLine,
    pub(crate) columns: Vec<ColumnLine>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct ColumnLine {
    pub(crate) name: String,
    pub(crate) kind: String,
    /// What values are clamped to.
    pub(crate) low: Option<String>,
    pub(crate) high: Option<String>,
    /// How many groups follow from the catalog alone; none if names of groups are private.
    pub(crate) declared_groups: Option<usize>,
}

/// A release of many tables that is planned.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PlannedLine {
    pub(crate) name: String,
    /// The table of which rows are counted.
    pub(crate) table: String,
    /// What rows are told apart by.
    pub(crate) attributes: Vec<String>,
    /// How many tables are wanted, each at every level of its attributes.
    pub(crate) tables: usize,
    /// What it may cost.
    pub(crate) price: String,
}

impl PlannedLine {
    fn of(release: &PlannedRelease) -> Self {
        Self {
            name: release.name.clone(),
            table: release.table.clone(),
            attributes: release
                .attributes
                .iter()
                .map(|attribute| attribute.name.clone())
                .collect(),
            tables: release.marginals.len(),
            price: release.price.to_string(),
        }
    }
}

/// One statement of the catalog, and what backs it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Statement {
    pub(crate) says: String,
    /// `enforced` or `asserted`.
    pub(crate) how: &'static str,
    pub(crate) because: &'static str,
}

const ENFORCED: &str = "enforced";
const ASSERTED: &str = "asserted";

impl Declared {
    pub(crate) fn of(catalog: &Catalog, rules: &Rules) -> Self {
        let whose = &catalog.unit.whose;
        let table = |(name, table): (&String, &Table)| TableLine {
            name: name.clone(),
            public: table.owner == Owner::Public,
            owner: owner(table, whose),
            rows_per_unit: table.rows_per_unit,
            limits: LimitsLine::of(&table.limits),
            columns: table
                .columns
                .iter()
                .map(|(name, facts)| column(name, facts))
                .collect(),
        };
        let limit =
            accounting::Promise::Approximate(catalog.budget.epsilon.clone(), catalog.budget.delta.clone());
        let stated = match rules.budget.limit() {
            accounting::Promise::Pure(epsilon) => {
                accounting::Promise::Approximate(epsilon.clone(), accounting::Delta::ZERO)
            }
            other => other.clone(),
        };
        Self {
            data_version: catalog.data.word.clone(),
            data_version_every: catalog
                .data
                .every
                .map(|every| format!("{every:?}").to_lowercase()),
            limits: LimitsLine::of(&catalog.limits),
            tables: catalog.tables.iter().map(table).collect(),
            releases: catalog.releases.values().map(PlannedLine::of).collect(),
            statements: statements(catalog),
            query_epsilon: catalog.budget.query_epsilon.as_ref().map(ToString::to_string),
            query_delta: catalog.budget.query_delta.to_string(),
            budget_is_the_ledgers: limit == stated && *rules.budget.unit() == catalog.unit,
        }
    }

    pub(crate) fn private_tables(&self) -> impl Iterator<Item = &TableLine> {
        self.tables.iter().filter(|table| !table.public)
    }
}

fn owner(table: &Table, whose: &str) -> String {
    match &table.owner {
        Owner::Public => "public: nobody's".to_owned(),
        Owner::EachRow => format!("each row is a {whose} of its own"),
        Owner::Column(column) => format!("column {column} names the {whose}"),
        Owner::Through { column, table, key } => {
            format!("column {column} leads to the {whose} through {key} of {table}")
        }
    }
}

fn column(name: &str, facts: &Facts) -> ColumnLine {
    let end = |value: f64| match facts.kind {
        Kind::Date => moment(value * 86_400.0, "%Y-%m-%d"),
        Kind::Timestamp => moment(value / 1e6, "%Y-%m-%dT%H:%M:%S"),
        _ => value.to_string(),
    };
    ColumnLine {
        name: name.to_owned(),
        kind: facts.kind.to_string(),
        low: facts.range.map(|range| end(range.low)),
        high: facts.range.map(|range| end(range.high)),
        declared_groups: groups(facts),
    }
}

/// Whole numbers and days are listed up to this many, as questions list them.
const LISTED: f64 = 10_000.0;

/// How many groups there are by a column that are public: declared values, truth values, and few whole
/// numbers or days between bounds.
fn groups(facts: &Facts) -> Option<usize> {
    match (&facts.values, facts.kind, facts.range) {
        (Some(values), _, _) => Some(values.len()),
        (None, Kind::Bool, _) => Some(2),
        (None, Kind::Int | Kind::Date, Some(range)) if range.high - range.low < LISTED => {
            Some((range.high - range.low) as usize + 1)
        }
        _ => None,
    }
}

fn moment(seconds: f64, format: &str) -> String {
    let since = TimeDelta::try_seconds(seconds as i64)
        .and_then(|since| DateTime::UNIX_EPOCH.checked_add_signed(since));
    since.map_or_else(|| seconds.to_string(), |moment| moment.format(format).to_string())
}

/// What the guarantee rests on, table by table.
fn statements(catalog: &Catalog) -> Vec<Statement> {
    let whose = &catalog.unit.whose;
    let mut statements = vec![Statement {
        says: format!("a {whose} is what has to be protected"),
        how: ASSERTED,
        because: "which harm is meant, and whether this unit covers it, is the curator's decision",
    }];
    let mut add = |says: String, how, because| statements.push(Statement { says, how, because });
    for (name, table) in &catalog.tables {
        match &table.owner {
            Owner::Public => add(
                format!("the rows of {name} are public"),
                ASSERTED,
                "they are joined and shown without noise",
            ),
            Owner::EachRow => add(
                format!("each row of {name} is another {whose}"),
                ASSERTED,
                "a person with two rows has half of the protection",
            ),
            Owner::Column(column) => add(
                format!("column {column} of {name} names the {whose}, and one {whose} has one name"),
                ASSERTED,
                "names are compared byte for byte; one with two names is protected as two",
            ),
            Owner::Through { column, table, key } => add(
                format!("column {column} of {name} leads to one {whose}: {key} is unique in {table}"),
                ASSERTED,
                "`deniable check` compares it with the data, not privately, for the curator",
            ),
        }
        if let Some(rows) = table.rows_per_unit {
            add(
                format!("a {whose} has at most {rows} rows in {name}"),
                ASSERTED,
                "if it does not hold, neither does the guarantee; `deniable check` verifies it, not privately, for the curator",
            );
        }
        if table.owner != Owner::Public {
            let described = table.columns.iter().filter(|(_, facts)| facts.of_unit);
            let described: Vec<&str> = described.map(|(name, _)| name.as_str()).collect();
            if table.rows_per_unit != Some(1) && !described.is_empty() {
                add(
                    format!(
                        "all rows of one {whose} in {name} agree in {}",
                        described.join(", ")
                    ),
                    ASSERTED,
                    "it is the curator's word; groups of one unit are counted by it",
                );
            }
            if table.columns.iter().any(|(_, facts)| facts.range.is_some()) {
                add(
                    format!("values of {name} lie within the declared bounds"),
                    ENFORCED,
                    "what lies beyond is clamped: wrong bounds cost accuracy, never privacy",
                );
            }
            if table.columns.iter().any(|(_, facts)| facts.values.is_some()) {
                add(
                    format!("groups of {name} are those that are declared"),
                    ENFORCED,
                    "all declared groups appear, also empty ones; other values are left out or read as the stated one",
                );
            }
        }
    }
    add(
        format!("limits on groups, rows and sums of one {whose}"),
        ENFORCED,
        "the rows of each unit are cut to them before anything is summed, by a rule that looks at that unit's rows alone",
    );
    add(
        "the budget".to_owned(),
        ENFORCED,
        "a charge is on disk, in a chain of hashes, before data is read; what does not fit is refused",
    );
    add(
        "one ledger is kept for one body of data".to_owned(),
        ASSERTED,
        "nothing can tell that two ledgers are about the same people",
    );
    statements
}
