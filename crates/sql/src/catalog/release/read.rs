//! Reads `[releases.NAME]`, and refuses what cannot be planned before anybody asks for it.

use super::attribute::Attribute;
use super::cells::attributes;
use super::{Marginal, Objective, PlannedRelease, ReleasePrice};
use crate::Error;
use crate::catalog::document::{Node, Section};
use crate::catalog::quantity::{delta, epsilon};
use crate::catalog::table::Declared;
use crate::catalog::{Budgets, Owner};
use accounting::{Delta, Rho};
use exact::Rational;
use std::collections::{BTreeMap, BTreeSet};

/// More tables than this are not planned in one release.
const MOST_MARGINALS: usize = 200_000;

/// Tables of more cells than this, all together, are not planned: they would not fit in memory.
const MOST_CELLS_IN_ALL: u64 = 100_000_000;

/// What surrounds releases: the tables, by name in lower case, and the budget.
pub(in crate::catalog) struct Known<'a> {
    pub(in crate::catalog) tables: &'a BTreeMap<String, Declared>,
    pub(in crate::catalog) budget: &'a Budgets,
}

/// All releases of a catalog.
pub(in crate::catalog) fn releases(
    section: Section<'_>,
    known: &Known<'_>,
) -> Result<BTreeMap<String, PlannedRelease>, Error> {
    let mut releases = BTreeMap::new();
    for (name, node) in section.named() {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(node.wrong(
                "this cannot be the name of a release",
                "use letters, digits, underscores and dashes, as [releases.people_by_region]",
            ));
        }
        releases.insert(name.to_owned(), release(name, &node, known)?);
    }
    Ok(releases)
}

fn release(name: &str, node: &Node<'_>, known: &Known<'_>) -> Result<PlannedRelease, Error> {
    let mut section = node.section()?;
    let named = section.need("table", "say which private table it counts: table = \"people\"")?;
    let table_name = named.name()?.to_lowercase();
    let table = match known.tables.get(&table_name) {
        None => {
            return Err(named.wrong(
                "there is no such table",
                "name one that is declared under [tables]",
            ));
        }
        Some(declared) if declared.table.owner == Owner::Public => {
            return Err(named.wrong(
                "this table is public: its rows are counted without noise, by any query",
                "name a private table",
            ));
        }
        Some(declared) => &declared.table,
    };
    let condition = section.take("where").map(|node| node.name()).transpose()?;
    let attributes = attributes(&mut section, table, known)?;
    let marginals = marginals(&mut section, &attributes)?;
    let objective = match section.take("objective") {
        None => Objective::Sum,
        Some(node) => match node.text()? {
            "sum" => Objective::Sum,
            "worst" => Objective::Worst,
            _ => return Err(node.wrong("there is no such objective", "expected \"sum\" or \"worst\"")),
        },
    };
    let price = price(&mut section, known.budget)?;
    let rows = section.take("rows").map(|node| node.count()).transpose()?;
    if rows.is_none() && table.rows_per_unit.is_none() && table.limits.rows.is_none() {
        return Err(section.place().wrong(
            "nothing says how many rows of one unit count in all cells together",
            "say rows = 10 here, or `rows` in the limits of the table; noise grows with it, and rows beyond are left out",
        ));
    }
    section.finish()?;
    let release = PlannedRelease {
        name: name.to_owned(),
        table: table_name,
        condition: condition.map(str::to_owned),
        attributes,
        marginals,
        objective,
        price,
        rows,
    };
    fits(&release, node)?;
    Ok(release)
}

/// That the wanted tables fit in memory; else which would.
fn fits(release: &PlannedRelease, node: &Node<'_>) -> Result<(), Error> {
    let mut left = MOST_CELLS_IN_ALL;
    for marginal in &release.marginals {
        let cells = release.cells_of(&marginal.attributes);
        match cells.and_then(|cells| left.checked_sub(cells)) {
            Some(rest) => left = rest,
            None => {
                let of = release.name_of(&marginal.attributes);
                let cells = cells.map_or("more cells than can be counted".to_owned(), |cells| {
                    format!("{cells} cells")
                });
                return Err(node.wrong(
                    format!(
                        "the tables have more than {MOST_CELLS_IN_ALL} cells together; {of} alone has {cells}"
                    ),
                    format!(
                        "list fewer `marginals`, lower `up_to`, or use wider bins: {}",
                        what_fits(release)
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// What would fit, for a hint: all tables of how many attributes.
fn what_fits(release: &PlannedRelease) -> String {
    let places: Vec<usize> = (0..release.attributes.len()).collect();
    // The total is a cell.
    let mut all = 1u64;
    let mut ways = None;
    for way in 1..=places.len() {
        if binomial(places.len(), way) > MOST_MARGINALS {
            break;
        }
        let sets = subsets(&places, way);
        let cells = sets
            .iter()
            .try_fold(0u64, |sum, set| sum.checked_add(release.cells_of(set)?));
        match cells.and_then(|cells| all.checked_add(cells)) {
            Some(sum) if sum <= MOST_CELLS_IN_ALL => (all, ways) = (sum, Some(way)),
            _ => break,
        }
    }
    match ways {
        Some(way) => format!("all tables by up to {way} attributes have {all} cells"),
        None => "even tables by one attribute have too many".to_owned(),
    }
}

fn price(section: &mut Section<'_>, budget: &Budgets) -> Result<ReleasePrice, Error> {
    let rho = section.take("rho");
    let wanted = section.take("epsilon");
    let stated = section.take("delta");
    let most = |node: &Node<'_>| {
        node.wrong(
            "one release would take more than there is in all",
            "make it smaller, or that of [budget] larger",
        )
    };
    let delta = match &stated {
        Some(node) => delta(node)?,
        None => budget.query_delta.clone(),
    };
    let place = section.place();
    if let Some(node) = rho.as_ref().filter(|_| delta == Delta::ZERO) {
        let hint = "say delta = 1e-9 here or in [budget.query], and a larger one in [budget]";
        return Err(node.wrong("the noise of a release with a `rho` needs a δ above 0", hint));
    }
    if let Some(node) = stated.as_ref().filter(|_| delta > budget.delta) {
        return Err(most(node));
    }
    match (rho, wanted) {
        (Some(node), Some(_)) => Err(node.wrong("both `rho` and `epsilon` are stated", "drop one of them")),
        (Some(node), None) => {
            let rho = Rho::parse(node.decimal()?).ok();
            let rho = rho.filter(|rho| *rho > Rho::ZERO);
            let wrong = || node.wrong("expected a number above 0", "write it as 0.5 or 0.01");
            Ok(ReleasePrice::Concentrated(rho.ok_or_else(wrong)?, delta))
        }
        (None, Some(node)) => match epsilon(&node)? {
            epsilon if epsilon > budget.epsilon => Err(most(&node)),
            epsilon => Ok(ReleasePrice::Approximate(epsilon, delta)),
        },
        (None, None) => Err(place.wrong(
            "nothing says what the release may cost",
            "say epsilon = 1, or rho = 0.1",
        )),
    }
}

/// Which tables are wanted: all up to a number of attributes, those that are listed, and each of these crossed with an attribute.
fn marginals(section: &mut Section<'_>, attributes: &[Attribute]) -> Result<Vec<Marginal>, Error> {
    let place_of = |name: &str| {
        attributes
            .iter()
            .position(|one| one.name.eq_ignore_ascii_case(name.trim()))
    };
    let unknown = |node: &Node<'_>| {
        node.wrong(
            "there is no such attribute",
            "name those of [releases.NAME.attributes]",
        )
    };
    let mut sets: BTreeSet<Vec<usize>> = BTreeSet::new();
    let all: Vec<usize> = (0..attributes.len()).collect();
    let too_many = |node: &Node<'_>| {
        node.wrong(
            format!("more than {MOST_MARGINALS} tables are not planned in one release"),
            "choose a smaller `up_to`, or list `marginals`",
        )
    };
    if let Some(node) = section.take("up_to") {
        let ways = usize::try_from(node.count()?)
            .unwrap_or(usize::MAX)
            .min(all.len());
        for way in 0..=ways {
            if binomial(all.len(), way) > MOST_MARGINALS {
                return Err(too_many(&node));
            }
            sets.extend(subsets(&all, way));
        }
    }
    if let Some(node) = section.take("marginals") {
        for listed in node.array()? {
            let mut set = BTreeSet::new();
            for name in listed.array()? {
                set.insert(place_of(name.name()?).ok_or_else(|| unknown(&name))?);
            }
            sets.insert(set.into_iter().collect());
        }
    }
    if let Some(node) = section.take("cross") {
        let with = place_of(node.name()?).ok_or_else(|| unknown(&node))?;
        for set in sets.clone() {
            let crossed: BTreeSet<usize> = set.into_iter().chain([with]).collect();
            sets.insert(crossed.into_iter().collect());
        }
    }
    if sets.is_empty() {
        return Err(section.place().wrong(
            "nothing says which tables are wanted",
            "say up_to = 2 for all tables by up to two attributes, or list them: marginals = [[\"region\", \"sex\"], [\"age\"]]",
        ));
    }
    if sets.len() > MOST_MARGINALS {
        return Err(section.place().wrong(
            format!("more than {MOST_MARGINALS} tables are not planned in one release"),
            "list fewer",
        ));
    }
    let mut marginals: Vec<Marginal> = sets
        .into_iter()
        .map(|attributes| Marginal {
            attributes,
            weight: Rational::ONE,
        })
        .collect();
    marginals.sort_by_key(|marginal| (marginal.attributes.len(), marginal.attributes.clone()));
    for (name, node) in section.section("weights")?.named() {
        let places: Option<BTreeSet<usize>> = match name.trim() {
            "total" => Some(BTreeSet::new()),
            name => name.split(',').map(place_of).collect(),
        };
        let places: Vec<usize> = places.ok_or_else(|| unknown(&node))?.into_iter().collect();
        let Some(marginal) = marginals
            .iter_mut()
            .find(|marginal| marginal.attributes == places)
        else {
            return Err(node.wrong(
                "this table is not among those of the release",
                "name one that is, as \"region, sex\" = 4",
            ));
        };
        let weight = exact::parse_decimal(node.decimal()?).ok();
        let weight = weight.filter(|weight| *weight > Rational::ZERO);
        marginal.weight =
            weight.ok_or_else(|| node.wrong("expected a number above 0", "write it as 4 or 0.5"))?;
    }
    Ok(marginals)
}

/// All sets of this many of the places, in lexicographic order.
fn subsets(places: &[usize], size: usize) -> Vec<Vec<usize>> {
    let Some(rest) = size.checked_sub(1) else {
        return vec![Vec::new()];
    };
    let mut all = Vec::new();
    for (at, first) in places.iter().enumerate() {
        for tail in subsets(&places[at + 1..], rest) {
            all.push([&[*first], tail.as_slice()].concat());
        }
    }
    all
}

/// How many such sets there are; the largest number where it is larger.
fn binomial(of: usize, size: usize) -> usize {
    let mut sets = 1usize;
    for step in 0..size.min(of) {
        match sets.checked_mul(of - step) {
            Some(product) => sets = product / (step + 1),
            None => return usize::MAX,
        }
    }
    sets
}
