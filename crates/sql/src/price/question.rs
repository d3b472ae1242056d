//! A query, understood and priced, before anything is spent or read.

use crate::Error;
use crate::catalog::Catalog;
use crate::price::cut::{self, Cut};
use crate::price::together::{PlannedSets, SetErrors};
use crate::price::{Noise, Price, price, quantity};
use crate::understand::aggregation::{Aggregation, Measure, Selection, Statistic};
use crate::understand::frontier::{self, Split};
use crate::understand::mistakes::unplannable;
use crate::understand::planner::{Planned, Planner};
use crate::understand::relation::table_of;
use crate::understand::same::{self, Mark, Marks};
use crate::understand::unknown_values;
use crate::understand::unstated::{LimitsFound, Search, Unstated};
use accounting::{Delta, Epsilon, Guarantee, PrivacyUnit, Promise};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::{Expr, LogicalPlan};
use exact::{Rational, ratio};
use mechanism::{Charge, Sensitivity, Stated};
use std::collections::BTreeSet;

/// What is asked, by whom, and for how much.
#[derive(Clone, Debug)]
pub struct QueryRequest {
    /// The SQL.
    pub sql: String,
    /// Who asks.
    pub analyst: String,
    /// What it may cost, where the SQL does not say; else the catalog's default.
    pub epsilon: Option<Epsilon>,
    /// Likewise.
    pub delta: Option<Delta>,
    /// Whether what the limits cut is to be estimated, for a share of ε. A query may say how large a share.
    pub cut_estimate: bool,
    /// What the ledger will say it was for; else the SQL.
    pub purpose: Option<String>,
    /// Whether a question that states no ε anywhere is refused, rather than asked for the catalog's default. For programs that ask on their own.
    pub explicit_epsilon: bool,
    /// Limits of the account that asks, beside the budget and its share.
    pub caps: ledger::Caps,
    /// Whether it is asked of the data even if a planned release that was made tells it for nothing.
    pub fresh: bool,
    /// The request, where it is to be charged once however often it is sent.
    pub once: Option<ledger::Once>,
}

impl QueryRequest {
    /// A question with nothing but its SQL, asked by `analyst`.
    pub fn new(sql: impl Into<String>, analyst: impl Into<String>) -> Self {
        Self {
            sql: sql.into(),
            analyst: analyst.into(),
            epsilon: None,
            delta: None,
            cut_estimate: true,
            purpose: None,
            explicit_epsilon: false,
            fresh: false,
            caps: ledger::Caps::default(),
            once: None,
        }
    }
}

/// One part of a question: what it releases, and how it is called.
pub(crate) struct Piece<'a> {
    pub(crate) aggregation: &'a Aggregation,
    pub(crate) price: &'a Price,
    pub(crate) marks: &'a Marks,
    pub(crate) mark: Mark,
}

/// What is charged for plans, and what is drawn of them: what plans are held against before they run.
pub(crate) struct Claims<'a> {
    /// What is measured.
    pub(crate) aggregations: &'a [Aggregation],
    /// For each aggregation, how far one unit moves each of its statistics, and the noise that it gets.
    pub(crate) drawn: Vec<Vec<(&'a Sensitivity, &'a dyn Stated)>>,
    /// For all of them together.
    pub(crate) charge: Charge,
}

impl<'a> Claims<'a> {
    /// A number of a statistic, as it is released: its place in the order in which all are drawn comes first.
    pub(crate) fn release(
        &self,
        aggregation: usize,
        statistic: usize,
    ) -> Option<(usize, &'a Sensitivity, &'a dyn Stated)> {
        let before: usize = self.drawn.iter().take(aggregation).map(Vec::len).sum();
        let (sensitivity, noise) = *self.drawn.get(aggregation)?.get(statistic)?;
        Some((before + statistic, sensitivity, noise))
    }
}

/// A query, understood and priced.
#[derive(Debug)]
pub(crate) struct Question {
    /// Why it is not asked as it stands, where it compares a column with a constant that the column does not have.
    pub(crate) unknown_value: Option<Error>,
    /// The plan as the query wrote it.
    pub(crate) written: LogicalPlan,
    pub(crate) split: Split,
    pub(crate) prices: Vec<Price>,
    /// How many of the aggregations the query itself asks for; the others estimate what was cut.
    pub(crate) visible: usize,
    /// What is estimated of it.
    pub(crate) cuts: Vec<Cut>,
    /// The δ of all its releases together.
    pub(crate) delta: Delta,
    /// Its sets of groups, where they are planned together: then one mechanism draws all that it releases.
    pub(crate) together: Option<PlannedSets>,
    /// How far off its sets of groups are, together and one by one, where both ways are there.
    pub(crate) set_errors: Option<SetErrors>,
    /// What the ledger will say it was for.
    pub(crate) purpose: String,
    /// The part of its ε that finding its limits has left.
    left: Rational,
    /// What finds limits for it before it is answered, where that was not done yet.
    pub(crate) search: Option<Search>,
}

impl Question {
    /// Understands and prices. Reads no data, and depends on none.
    pub(crate) async fn new(ask: &QueryRequest, catalog: &Catalog, planner: &Planner) -> Result<Self, Error> {
        Self::within(ask, None, catalog, planner).await
    }

    /// The same under limits that were found for what it groups by, for a share of its ε.
    pub(crate) async fn within(
        ask: &QueryRequest,
        found: Option<LimitsFound>,
        catalog: &Catalog,
        planner: &Planner,
    ) -> Result<Self, Error> {
        let Planned { plan, mut said } = planner.plan(&ask.sql, catalog).await?;
        let left = match (&found, &catalog.budget.find_limits) {
            (Some(_), Some(share)) => Rational::ONE - share.clone(),
            _ => Rational::ONE,
        };
        said.found = found;
        let mut split = frontier::split(&plan, &said, catalog)?;
        let unknown_value = unknown_values::check(&plan, &said.selects, catalog).err();
        let visible = split.aggregations.len();
        let states_none = |aggregation: &Aggregation| aggregation.options.epsilon.is_none();
        if ask.explicit_epsilon && ask.epsilon.is_none() && split.aggregations.iter().any(states_none) {
            return Err(Error::NoEpsilon);
        }
        let cuts = cut::plan(&mut split.aggregations, ask.cut_estimate)?;
        cut::mark(&mut split, &cuts, catalog)?;
        let priced = prices(&split, visible, &cuts, (ask, None, &left), catalog)?;
        Ok(Self {
            left,
            search: None,
            unknown_value,
            written: plan,
            split,
            prices: priced.prices,
            visible,
            cuts,
            delta: priced.delta,
            together: priced.together,
            set_errors: priced.set_errors,
            purpose: match &ask.purpose {
                Some(purpose) => purpose.clone(),
                None => ask.sql.split_whitespace().collect::<Vec<_>>().join(" "),
            },
        })
    }

    /// Whether all of it is public, so that it is answered for nothing: it reads public tables, or what the catalog declares.
    pub(crate) fn is_public(&self) -> bool {
        self.split.aggregations.is_empty()
    }

    /// What it promises: of a public question that nobody's rows have a part in it.
    pub(crate) fn guarantee(&self, catalog: &Catalog) -> Result<Guarantee, Error> {
        if self.is_public() {
            return Ok(Guarantee::new(Promise::Pure(Epsilon::ZERO), catalog.unit.clone()));
        }
        Ok(self.charge(catalog)?.guarantee)
    }

    /// What everything together will cost. A public question has no charge.
    pub(crate) fn charge(&self, catalog: &Catalog) -> Result<Charge, Error> {
        charged(&self.mechanisms(), &catalog.unit, &self.delta, &self.purpose)
    }

    /// What its plans are held against.
    pub(crate) fn claims(&self, catalog: &Catalog) -> Result<Claims<'_>, Error> {
        Ok(Claims {
            aggregations: self.measured(),
            drawn: match &self.together {
                Some(sets) => {
                    let mechanism = sets.plan.mechanism();
                    vec![vec![(mechanism.terms().sensitivity(), mechanism as &dyn Stated)]]
                }
                None => self.prices.iter().map(Price::drawn).collect(),
            },
            charge: self.charge(catalog)?,
        })
    }

    /// What is measured of the rows: its aggregations, or the cells that they are sums of.
    pub(crate) fn measured(&self) -> &[Aggregation] {
        match (&self.together, &self.split.together) {
            (Some(_), Some(sets)) => std::slice::from_ref(&sets.tabulation.aggregation),
            _ => &self.split.aggregations,
        }
    }

    /// What it would cost for another ε. Where every SELECT states its own, none takes more than this.
    pub(crate) fn for_epsilon(
        &self,
        ask: &QueryRequest,
        epsilon: &Epsilon,
        catalog: &Catalog,
    ) -> Result<Charge, Error> {
        let ask = QueryRequest {
            epsilon: Some(epsilon.clone()),
            ..ask.clone()
        };
        let most = self.states_its_price().then_some(epsilon);
        let priced = self.priced(&ask, most, catalog)?;
        charged(&priced.mechanisms(), &catalog.unit, &priced.delta, &self.purpose)
    }

    /// The same question with the prices for another request, which asks the same for another ε or δ.
    pub(crate) fn reprice(&mut self, ask: &QueryRequest, catalog: &Catalog) -> Result<(), Error> {
        let priced = self.priced(ask, None, catalog)?;
        (self.prices, self.delta) = (priced.prices, priced.delta);
        (self.together, self.set_errors) = (priced.together, priced.set_errors);
        Ok(())
    }

    fn priced(&self, ask: &QueryRequest, most: Option<&Epsilon>, catalog: &Catalog) -> Result<Priced, Error> {
        prices(
            &self.split,
            self.visible,
            &self.cuts,
            (ask, most, &self.left),
            catalog,
        )
    }

    /// What it groups by, where limits for that are to be found before it is answered, and its own ε.
    pub(crate) fn unstated(&self, ask: &QueryRequest, catalog: &Catalog) -> Option<(&Unstated, Epsilon)> {
        let [aggregation] = &self.split.aggregations[..self.visible] else {
            return None;
        };
        let unstated = aggregation.unstated.as_ref()?;
        // Persons alone are counted once each.
        let units = |statistic: &Statistic| statistic.measure == Measure::Units;
        if aggregation.keys.is_empty() && aggregation.statistics.iter().all(units) {
            return None;
        }
        let epsilon = own_epsilon(aggregation, (ask, None), &Rational::ONE, catalog).ok()?;
        Some((unstated, epsilon))
    }

    /// Whether every SELECT of it says what it may cost.
    pub(crate) fn states_its_price(&self) -> bool {
        let mut parts = self.split.aggregations.iter().take(self.visible);
        parts.all(|aggregation| aggregation.options.epsilon.is_some())
    }

    /// The mechanisms, in the order of the reservation.
    pub(crate) fn mechanisms(&self) -> Vec<&dyn Stated> {
        mechanisms(&self.prices, self.together.as_ref())
    }

    /// The place of an aggregation's first mechanism among them.
    pub(crate) fn first_drawn(&self, aggregation: usize) -> usize {
        let before = self.prices.iter().take(aggregation);
        before.map(|price| price.noise.len()).sum()
    }

    /// Which rows an aggregation is about, and under which limits: the same for every question about them.
    pub(crate) fn about(&self, place: usize) -> String {
        let aggregation = &self.split.aggregations[place];
        let keys: Vec<String> = aggregation.keys.iter().map(|key| key.expr.to_string()).collect();
        let mut limits: Vec<String> = aggregation
            .statistics
            .iter()
            .map(|statistic| {
                let size = statistic.steps.size();
                format!(
                    "{} {}..{}",
                    statistic.name,
                    statistic.low as f64 * size,
                    statistic.high as f64 * size
                )
            })
            .collect();
        limits.sort();
        format!(
            "{}; by {}; {} groups; {}",
            aggregation.rows.story.join("; "),
            keys.join(", "),
            aggregation.groups.per_unit,
            limits.join(", ")
        )
    }

    /// The declared tables that it reads, also those through which it reaches owners.
    pub(crate) fn tables(&self, catalog: &Catalog) -> BTreeSet<String> {
        let mut tables = BTreeSet::new();
        let read = self
            .split
            .aggregations
            .iter()
            .map(|aggregation| &aggregation.rows.plan);
        for plan in read.chain([&self.written]) {
            let _ = plan.apply_with_subqueries(|node| {
                if let LogicalPlan::TableScan(scan) = node
                    && let Some((name, _)) = table_of(catalog, &scan.table_name)
                {
                    tables.insert(name.to_owned());
                }
                Ok(TreeNodeRecursion::Continue)
            });
        }
        tables
    }

    /// What its parts release, in the order of the aggregations.
    pub(crate) fn pieces(&self, catalog: &Catalog) -> Vec<Piece<'_>> {
        self.pieces_for(&self.prices, catalog)
    }

    fn pieces_for<'p>(&'p self, prices: &'p [Price], catalog: &Catalog) -> Vec<Piece<'p>> {
        let parts = self.split.aggregations.iter().zip(&self.split.marks);
        parts
            .zip(prices)
            .map(|((aggregation, marks), price)| Piece {
                aggregation,
                price,
                marks,
                mark: marks.release(
                    aggregation,
                    &price.epsilon,
                    &price.delta,
                    price.noise.first().map(Noise::name),
                    catalog,
                ),
            })
            .collect()
    }

    /// What makes two questions the same: what they release, of which version of the data, and for how much. Not who asks, not how it is written, and not
    /// what is done with what is released.
    pub(crate) fn digest(&self, catalog: &Catalog) -> String {
        let pieces = self.pieces(catalog);
        same::together(pieces.iter().map(|piece| piece.mark).collect()).hexadecimal()
    }

    /// What it would be for another ε, where no SELECT of it states its own.
    pub(crate) fn digest_for(
        &self,
        ask: &QueryRequest,
        epsilon: &Epsilon,
        catalog: &Catalog,
    ) -> Result<String, Error> {
        let ask = QueryRequest {
            epsilon: Some(epsilon.clone()),
            ..ask.clone()
        };
        let priced = self.priced(&ask, None, catalog)?;
        let pieces = self.pieces_for(&priced.prices, catalog);
        Ok(same::together(pieces.iter().map(|piece| piece.mark).collect()).hexadecimal())
    }

    /// The question as it is written, to the letter, but for white space.
    pub(crate) fn as_written(&self) -> Result<Mark, Error> {
        same::as_written(&self.written).map_err(unplannable)
    }

    /// Which groups appear, for people. What bounds the numbers in them is reported column by column: see `bounds`.
    pub(crate) fn notes(&self, catalog: &Catalog) -> Vec<String> {
        let whose = &catalog.unit.whose;
        let mut notes = Vec::new();
        let asked = self.split.aggregations.iter().take(self.visible);
        for (aggregation, price) in asked.zip(&self.prices) {
            let groups = &aggregation.groups;
            if let Some(threshold) = price.noise.iter().find_map(|noise| noise.threshold()) {
                notes.push(format!(
                    "groups of fewer than about {threshold} {whose}s do not appear: their names are private"
                ));
            } else if !aggregation.keys.is_empty() && matches!(groups.selection, Selection::Listed(_)) {
                notes.push(
                    "all declared groups appear, empty ones included; values that are not declared do not"
                        .to_owned(),
                );
            }
        }
        if self.left != Rational::ONE {
            notes.push("limits for what it groups by were found first, for a part of its ε that was charged by itself".to_owned());
        }
        if self.split.lists {
            notes.push(
                "these are the values that the catalog declares, whether rows have them or not".to_owned(),
            );
        }
        notes.extend(subtotals(&self.written));
        if let Some(errors) = self.set_errors.filter(|_| self.together.is_some()) {
            notes.push(errors.agree());
        }
        let mut seen = BTreeSet::new();
        notes.retain(|note| seen.insert(note.clone()));
        notes
    }
}

fn charged(
    mechanisms: &[&dyn Stated],
    unit: &PrivacyUnit,
    delta: &Delta,
    purpose: &str,
) -> Result<Charge, Error> {
    Charge::for_all(mechanisms, unit, delta, purpose).map_err(|error| quantity(error.into()))
}

/// How to tell a row of subtotals from a group that is called NULL, where a query has subtotals and does not ask for GROUPING itself.
fn subtotals(written: &LogicalPlan) -> Option<String> {
    let mut keys: Option<Vec<String>> = None;
    let _ = written.apply_with_subqueries(|node| {
        if let LogicalPlan::Aggregate(aggregate) = node
            && let [Expr::GroupingSet(sets)] = aggregate.group_expr.as_slice()
        {
            let called = |expr: &Expr| matches!(expr.clone().unalias(), Expr::AggregateFunction(call) if call.func.name() == "grouping");
            if !aggregate.aggr_expr.iter().any(called) {
                let name = |expr: &&Expr| match (*expr).clone().unalias() {
                    Expr::Column(column) => column.name,
                    other => other.human_display().to_string(),
                };
                keys.get_or_insert(sets.distinct_expr().iter().map(name).collect());
            }
        }
        Ok(TreeNodeRecursion::Continue)
    });
    let keys = keys.filter(|keys| !keys.is_empty())?;
    let calls: Vec<String> = keys.iter().map(|key| format!("GROUPING({key})")).collect();
    let are = if calls.len() == 1 { "is" } else { "are" };
    Some(format!(
        "NULL in {} is a subtotal or a group of its own: {} {are} 1 where it is a subtotal",
        keys.join(", "),
        calls.join(", "),
    ))
}

/// What a question costs, for some ε and δ.
struct Priced {
    prices: Vec<Price>,
    delta: Delta,
    together: Option<PlannedSets>,
    set_errors: Option<SetErrors>,
}

impl Priced {
    fn mechanisms(&self) -> Vec<&dyn Stated> {
        mechanisms(&self.prices, self.together.as_ref())
    }
}

/// What draws, in the order of the reservation.
fn mechanisms<'p>(prices: &'p [Price], together: Option<&'p PlannedSets>) -> Vec<&'p dyn Stated> {
    if let Some(sets) = together {
        return vec![sets.plan.mechanism()];
    }
    let noise = prices.iter().flat_map(|price| &price.noise);
    noise.map(Noise::stated).collect()
}

/// The price of each aggregation, and the δ of all. What a SELECT states itself is cut to `most`, and of each ε a part is left for the answer. Numbers that cannot be used are the mistake of whoever asks.
fn prices(
    split: &Split,
    visible: usize,
    cuts: &[Cut],
    wanted: (&QueryRequest, Option<&Epsilon>, &Rational),
    catalog: &Catalog,
) -> Result<Priced, Error> {
    let (mut prices, delta) =
        priced(&split.aggregations, visible, cuts, wanted, catalog).map_err(quantity)?;
    let sets = split.together.as_ref().filter(|_| cuts.is_empty());
    let planned = sets.and_then(|sets| PlannedSets::new(sets, &prices, &delta, &catalog.unit));
    let set_errors = planned.as_ref().map(|sets| sets.errors(&prices));
    let together = planned.filter(|_| set_errors.is_some_and(SetErrors::is_less));
    if let Some(sets) = &together {
        for (price, noise) in prices.iter_mut().zip(sets.noise()) {
            price.noise = vec![Noise::Shared(noise)];
        }
    }
    Ok(Priced {
        prices,
        delta,
        together,
        set_errors,
    })
}

/// What one aggregation may cost: what its SELECT states, else its part of what the question may cost.
fn own_epsilon(
    aggregation: &Aggregation,
    (ask, most): (&QueryRequest, Option<&Epsilon>),
    part: &Rational,
    catalog: &Catalog,
) -> Result<Epsilon, Error> {
    let default = ask.epsilon.as_ref().or(catalog.budget.query_epsilon.as_ref());
    match (&aggregation.options.epsilon, default) {
        (Some(stated), _) => {
            let stated = Epsilon::parse(stated)?;
            Ok(match most {
                Some(most) => stated.min(most.clone()),
                None => stated,
            })
        }
        (None, Some(default)) => Ok(Epsilon::rounded_down(&(default.as_rational() * part))?),
        (None, None) => Err(Error::refused(
            "nothing says how much this query may cost",
            "pass --epsilon 0.5, write OPTIONS(epsilon = 0.5), or set `epsilon` under [budget.query] in the catalog",
        )),
    }
}

/// What an estimate of the cut takes is taken from its own aggregation: half for the overview, half for the wide limits, both without δ.
fn priced(
    all: &[Aggregation],
    visible: usize,
    cuts: &[Cut],
    (ask, most, left): (&QueryRequest, Option<&Epsilon>, &Rational),
    catalog: &Catalog,
) -> Result<(Vec<Price>, Delta), Error> {
    let aggregations = &all[..visible];
    let silent = aggregations
        .iter()
        .filter(|one| one.options.epsilon.is_none())
        .count()
        .max(1);
    let part = Rational::ONE / Rational::from(silent as u64);
    let default_delta = match &ask.delta {
        Some(delta) => delta.clone(),
        None if catalog.budget.delta == Delta::ZERO => Delta::ZERO,
        None => catalog.budget.query_delta.clone(),
    };
    let parts = Rational::ONE / Rational::from(aggregations.len().max(1) as u64);
    let shared_delta = Delta::rounded_down(&(default_delta.as_rational() * parts))?;
    let mut prices = Vec::new();
    let mut hidden = Vec::new();
    let mut total = Delta::ZERO;
    for (place, aggregation) in aggregations.iter().enumerate() {
        let epsilon = own_epsilon(aggregation, (ask, most), &part, catalog)?;
        let epsilon = match *left == Rational::ONE {
            true => epsilon,
            false => Epsilon::rounded_down(&(epsilon.as_rational() * left))?,
        };
        let delta = match &aggregation.options.delta {
            Some(stated) => Delta::parse(stated)?,
            None => shared_delta.clone(),
        };
        total = total.plus(&delta)?;
        let Some(cut) = cuts.iter().find(|cut| cut.question == place) else {
            prices.push(price(aggregation, &epsilon, &delta, &catalog.unit)?);
            continue;
        };
        let part = |part: &Rational| Epsilon::rounded_down(&(epsilon.as_rational() * part));
        let own = part(&(Rational::ONE - cut.share.clone()))?;
        prices.push(price(aggregation, &own, &delta, &catalog.unit)?);
        let half = part(&(&cut.share * ratio(1, 2)))?;
        for extra in [cut.overview, cut.wide] {
            hidden.push(price(&all[extra], &half, &Delta::ZERO, &catalog.unit)?);
        }
    }
    prices.extend(hidden);
    Ok((prices, total))
}
