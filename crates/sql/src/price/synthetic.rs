//! What synthetic rows are made of, what they cost, and what is known of them before a row is read.

use crate::Error;
use crate::catalog::{
    Attribute, Catalog, ChosenColumns, ImpossibleRows, Objective, Owner, PlannedRelease, ReleasePrice, Table,
    of_columns,
};
use crate::price::quantity;
use crate::price::question::Claims;
use crate::understand::tabulation::{Tabulation, labels_of};
use crate::values::facts::{Kind, Value};
use accounting::{Delta, Epsilon, PrivacyUnit};
use mechanism::{Charge, Stated};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use synthesis::{CodesOf, Field, Impossible, Method, Plan, Settings, Wanted};
use tables::Domain;

/// Which way of making rows a saved release is of: raised when the same request comes to mean something else.
const MEANING: &str = "1";

/// More cells than this are not in a model: it would take too long, and too much memory.
const MOST_CELLS: u64 = 5_000_000;

/// Which rows are to be made.
#[derive(Clone, Debug)]
pub(crate) struct WantedRows<'a> {
    pub(crate) table: &'a str,
    pub(crate) condition: Option<&'a str>,
    pub(crate) columns: &'a [String],
    pub(crate) bins: &'a BTreeMap<String, u32>,
    pub(crate) wanted: &'a [Vec<String>],
    pub(crate) method: Method,
    pub(crate) cells: u64,
    pub(crate) rows: Option<u64>,
    pub(crate) epsilon: Option<&'a Epsilon>,
    pub(crate) delta: Option<&'a Delta>,
}

/// Rows to be made, with what is declared of their columns.
#[derive(Clone, Debug)]
pub(crate) struct DeclaredRows {
    /// The columns as a release without tables: what is counted is decided while it is measured.
    pub(crate) release: PlannedRelease,
    pub(crate) left_out: Vec<(String, &'static str)>,
    /// Declared rules that every row keeps, as people read them.
    pub(crate) kept: Vec<String>,
    /// Declared rules that name a column of which no rows are made.
    pub(crate) not_kept: Vec<String>,
    pub(crate) epsilon: Epsilon,
    pub(crate) delta: Delta,
    settings: Settings,
    domain: Domain,
}

impl DeclaredRows {
    /// Reads a request by the catalog alone.
    ///
    /// # Errors
    /// When the table is not private, a column has no declared values or bounds, or nothing says what it may cost.
    pub(crate) fn new(asked: &WantedRows<'_>, catalog: &Catalog) -> Result<Self, Error> {
        let name = asked.table.to_lowercase();
        let table = catalog.tables.get(&name).ok_or_else(|| {
            let known: Vec<&str> = catalog.tables.keys().map(String::as_str).collect();
            Error::refused(
                format!("there is no table `{}`", asked.table),
                format!("the catalog declares {}", known.join(", ")),
            )
        })?;
        if table.owner == Owner::Public {
            return Err(Error::refused(
                format!("the table `{name}` is public: its own rows may be handed out"),
                "name a private table",
            ));
        }
        let (epsilon, delta) = price(asked, catalog)?;
        let ChosenColumns {
            mut attributes,
            left_out,
        } = of_columns(table, asked.columns, asked.bins)?;
        let rules = Rules::new(table, &mut attributes)?;
        if !(1..=MOST_CELLS).contains(&asked.cells) {
            return Err(Error::refused(
                format!("a model has between 1 and {MOST_CELLS} cells"),
                "200000 are enough for most tables; more take longer",
            ));
        }
        let settings = Settings {
            method: asked.method,
            wanted: wanted(asked.wanted, &attributes)?,
            cells: asked.cells,
            impossible: rules.of_codes,
        };
        let labelled = attributes.iter().map(|attribute| {
            let labels = labels_of(&attribute.cells);
            tables::Attribute::with_labels(&attribute.name, labels)
        });
        let labelled: Result<Vec<tables::Attribute>, tables::Error> = labelled.collect();
        let domain = labelled.and_then(Domain::new).map_err(super::planned::refused)?;
        let release = PlannedRelease {
            name: format!("synthetic rows of {name}"),
            table: name,
            condition: asked.condition.map(str::to_owned),
            attributes,
            marginals: Vec::new(),
            objective: Objective::Sum,
            price: ReleasePrice::Approximate(epsilon.clone(), delta.clone()),
            rows: asked.rows,
        };
        Ok(Self {
            release,
            left_out,
            kept: rules.kept,
            not_kept: rules.not_kept,
            epsilon,
            delta,
            settings,
            domain,
        })
    }

    /// What makes two requests the same: what is measured of which version of the data, and for how much. Not how many rows are made of it.
    pub(crate) fn digest(&self, tabulation: &Tabulation, catalog: &Catalog) -> String {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text.as_bytes());
        };
        add("synthetic rows");
        add(MEANING);
        add(&catalog.unit.to_string());
        add(&self.release.table);
        add(self.release.condition.as_deref().unwrap_or_default());
        // A condition may name other tables, and the day of the data.
        for (name, table) in &catalog.tables {
            add(name);
            add(&catalog.version_of(table));
        }
        add(&catalog.data.day().unwrap_or_default());
        for attribute in &self.release.attributes {
            add(&attribute.column);
            add(&format!("{:?}", attribute.cells));
        }
        add(&serde_json::json!(self.settings).to_string());
        add(&format!("{:?}", self.release.price));
        add(&tabulation.rows.to_string());
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Chooses the noise.
    ///
    /// # Errors
    /// When a unit would count more than is charged, or there is no noise for the price.
    pub(crate) fn planned(self, tabulation: Tabulation, catalog: &Catalog) -> Result<RowsPlan, Error> {
        tabulation.check(catalog.unit.neighbors)?;
        let rho = synthesis::rho_for(&self.epsilon, &self.delta).map_err(refused)?;
        let plan = Plan::new(
            self.domain.clone(),
            self.settings.clone(),
            rho,
            tabulation.rows,
            &catalog.unit,
        );
        Ok(RowsPlan {
            plan: plan.map_err(|error| self.refused(error))?,
            declared: self,
            tabulation,
        })
    }
}

impl DeclaredRows {
    /// What the planner of rows says, with the names of columns.
    fn refused(&self, error: synthesis::Error) -> Error {
        let synthesis::Error::RulesTooLarge { cells, most, widest } = &error else {
            return refused(error);
        };
        let names: Vec<&str> = widest
            .iter()
            .filter_map(|place| self.release.attributes.get(*place))
            .map(|attribute| attribute.name.as_str())
            .collect();
        let fits = match *cells <= MOST_CELLS as f64 {
            true => format!("say --model-cells {cells:.0}, which fits"),
            false => format!(
                "at most {MOST_CELLS} cells fit: use wider bins with --bins, or fewer columns with --columns"
            ),
        };
        Error::refused(
            format!(
                "the rows that are declared impossible hold columns together, {} for one, that need a model of {cells:.0} cells, and it may have {most}",
                names.join(" and "),
            ),
            format!("{fits}; nothing was charged"),
        )
    }
}

/// Declared rules for the columns that rows are made with.
struct Rules {
    of_codes: Vec<Impossible>,
    kept: Vec<String>,
    not_kept: Vec<String>,
}

impl Rules {
    /// Cuts bins where rules begin and end, so that each cell keeps a rule or does not, whichever of its values is drawn.
    fn new(table: &Table, attributes: &mut [Attribute]) -> Result<Self, Error> {
        let mut rules = Self {
            of_codes: Vec::new(),
            kept: Vec::new(),
            not_kept: Vec::new(),
        };
        let place_of = |attributes: &[Attribute], name: &str| {
            attributes.iter().position(|attribute| attribute.column == name)
        };
        // What a rule says without one of its columns is nothing: with the right value there, every row is possible.
        let (named, others): (Vec<&ImpossibleRows>, Vec<&ImpossibleRows>) =
            table.impossible.iter().partition(|rule| {
                let mut columns = rule.columns.iter();
                columns.all(|(name, _)| place_of(attributes, name).is_some())
            });
        rules.not_kept = others.iter().map(ToString::to_string).collect();
        for (name, among) in named.iter().flat_map(|rule| &rule.columns) {
            if let Some(place) = place_of(attributes, name) {
                attributes[place].cells = attributes[place].cells.cut(&among.cuts());
            }
        }
        for rule in named {
            let mut parts = Vec::new();
            for (name, among) in &rule.columns {
                let Some(attribute) = place_of(attributes, name) else {
                    continue;
                };
                let codes = among.codes(&attributes[attribute].cells).map_err(|_| {
                    Error::refused(
                        format!("the rule `{rule}` would cut a period of `{name}` in two"),
                        "write a day or moment at which one of its periods begins under `impossible` in the catalog; `--explain` without the rule shows them; nothing was charged",
                    )
                })?;
                parts.push(CodesOf { attribute, codes });
            }
            parts.sort_by_key(|part| part.attribute);
            rules.kept.push(rule.to_string());
            // A rule that says of a column what none of its values is forbids nothing.
            if parts.iter().all(|part| !part.codes.is_empty()) {
                rules.of_codes.push(Impossible { parts });
            }
        }
        Ok(rules)
    }
}

/// Rows to be made, with their noise.
#[derive(Clone, Debug)]
pub(crate) struct RowsPlan {
    pub(crate) declared: DeclaredRows,
    pub(crate) tabulation: Tabulation,
    pub(crate) plan: Plan,
}

impl RowsPlan {
    /// What the ledger will say it was for.
    pub(crate) fn purpose(&self) -> String {
        self.declared.release.name.clone()
    }

    /// What the plans of its pass are held against: all rounds together are one release of the counts of cells.
    pub(crate) fn claims(&self, catalog: &Catalog) -> Result<Claims<'_>, Error> {
        let mechanism = self.plan.mechanism();
        Ok(Claims {
            aggregations: std::slice::from_ref(&self.tabulation.aggregation),
            drawn: vec![vec![(mechanism.terms().sensitivity(), mechanism as &dyn Stated)]],
            charge: self.charge(&catalog.unit)?,
        })
    }

    /// What it will cost: all rounds together.
    pub(crate) fn charge(&self, unit: &PrivacyUnit) -> Result<Charge, Error> {
        let charge = Charge::for_all(
            &[self.plan.mechanism()],
            unit,
            &self.declared.delta,
            &self.purpose(),
        );
        charge.map_err(|error| quantity(error.into()))
    }
}

/// What rows may cost: as asked, or as the catalog has it for one query.
fn price(asked: &WantedRows<'_>, catalog: &Catalog) -> Result<(Epsilon, Delta), Error> {
    let epsilon = asked
        .epsilon
        .or(catalog.budget.query_epsilon.as_ref())
        .ok_or_else(|| Error::refused("nothing says what the rows may cost", "say --epsilon 1"))?;
    if *epsilon == Epsilon::ZERO {
        return Err(Error::refused(
            "at ε = 0 rows may not depend on the data",
            "say --epsilon 1",
        ));
    }
    let delta = asked.delta.unwrap_or(&catalog.budget.query_delta);
    if *delta == Delta::ZERO {
        return Err(Error::refused(
            "synthetic rows need a δ above 0: their noise is Gaussian",
            "say --delta 1e-9, and a larger delta under [budget]; a common choice is well below one over the number of people",
        ));
    }
    Ok((epsilon.clone(), delta.clone()))
}

/// The tables that matter, by places.
fn wanted(named: &[Vec<String>], attributes: &[Attribute]) -> Result<Vec<Wanted>, Error> {
    let mut weights: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
    for names in named {
        let mut places = Vec::new();
        for name in names {
            let place = attributes
                .iter()
                .position(|attribute| attribute.name.eq_ignore_ascii_case(name.trim()));
            places.push(place.ok_or_else(|| {
                let known: Vec<&str> = attributes
                    .iter()
                    .map(|attribute| attribute.name.as_str())
                    .collect();
                Error::refused(
                    format!(
                        "a wanted table names `{}`, of which no rows are made",
                        name.trim()
                    ),
                    format!("name some of {}", known.join(", ")),
                )
            })?);
        }
        places.sort_unstable();
        places.dedup();
        if places.is_empty() || places.len() > 12 {
            return Err(Error::refused(
                "a wanted table is by 1 to 12 columns",
                "write --workload age,income for one table by both; repeat it for more",
            ));
        }
        let weight = weights.entry(places).or_default();
        *weight = weight.saturating_add(1);
    }
    let each = |(attributes, weight)| Wanted { attributes, weight };
    Ok(weights.into_iter().map(each).collect())
}

/// How the codes of a column are turned into values, and the values that are listed.
pub(crate) fn field(attribute: &Attribute) -> (Field, Vec<Value>) {
    let null = attribute.cells.null().is_some();
    match attribute.cells.edges() {
        None => {
            let values = attribute.cells.listed().unwrap_or_default().to_vec();
            let field = Field::Listed {
                values: u32::try_from(values.len()).unwrap_or(u32::MAX),
                null,
            };
            (field, values)
        }
        Some((edges, closed, open)) => {
            let field = match attribute.kind {
                Kind::Float => Field::Real {
                    edges: edges.iter().map(real).collect(),
                    open,
                    null,
                },
                _ => Field::Whole {
                    edges: edges.iter().map(whole).collect(),
                    closed,
                    open,
                    null,
                },
            };
            (field, Vec::new())
        }
    }
}

fn real(value: &Value) -> f64 {
    match value {
        Value::Float(value) => *value,
        other => whole(other) as f64,
    }
}

fn whole(value: &Value) -> i64 {
    match value {
        Value::Int(value) | Value::Timestamp(value) => *value,
        Value::Date(day) => i64::from(*day),
        _ => 0,
    }
}

/// What the planner of rows says, as a refusal.
pub(crate) fn refused(error: synthesis::Error) -> Error {
    let text = error.to_string();
    let (what, hint) = text
        .split_once("\nhint: ")
        .unwrap_or((&text, "see `deniable synthesize --help`"));
    Error::refused(what, format!("{hint}; nothing was charged"))
}
