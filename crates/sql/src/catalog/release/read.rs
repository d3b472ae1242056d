//! Reads `[releases.NAME]`, and refuses what cannot be planned before anybody asks for it.

use super::attribute::{Attribute, Cells, Hierarchy};
use super::{MOST_ATTRIBUTES, Marginal, Objective, PlannedRelease, ReleasePrice};
use crate::Error;
use crate::catalog::document::{Node, Section};
use crate::catalog::file::{delta, epsilon};
use crate::catalog::table::Declared;
use crate::catalog::{Budgets, Owner, Table};
use crate::values::facts::{Facts, Kind, Value};
use crate::values::scalar::calendar;
use accounting::{Delta, Rho};
use exact::Rational;
use std::collections::{BTreeMap, BTreeSet};

/// More cells than this are not listed of one attribute.
const MOST_CELLS: usize = 10_000;

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
    let mut all = 0u64;
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

fn attributes(section: &mut Section<'_>, table: &Table, known: &Known<'_>) -> Result<Vec<Attribute>, Error> {
    const HINT: &str = "list them as [releases.NAME.attributes] with lines such as sex = {} for a column with declared values, or age = { bins = [0, 18, 65, 120] }";
    let node = section.need("attributes", HINT)?;
    let mut attributes: Vec<Attribute> = Vec::new();
    let mut seen = BTreeSet::new();
    for (name, node) in node.section()?.named() {
        if name.trim().is_empty() || name.contains(',') {
            return Err(node.wrong("this cannot be the name of an attribute", HINT));
        }
        if !seen.insert(name.to_lowercase()) {
            return Err(node.wrong(
                "another attribute differs from this one in upper and lower case only",
                "rename one of them",
            ));
        }
        attributes.push(attribute(name, &node, table, known)?);
    }
    if attributes.is_empty() {
        return Err(node.wrong("no attributes", HINT));
    }
    if attributes.len() > MOST_ATTRIBUTES {
        return Err(node.wrong(
            format!(
                "{} attributes, and at most {MOST_ATTRIBUTES} are planned together",
                attributes.len()
            ),
            "make two releases of them",
        ));
    }
    Ok(attributes)
}

fn attribute(name: &str, node: &Node<'_>, table: &Table, known: &Known<'_>) -> Result<Attribute, Error> {
    let mut section = node.section()?;
    let column = match section.take("column") {
        Some(node) => node.name()?.to_owned(),
        None => name.to_owned(),
    };
    let Some(facts) = table.column(&column) else {
        return Err(node.wrong(
            format!("the table declares no column `{column}`"),
            "say column = \"…\" as it is written there, upper and lower case apart",
        ));
    };
    if table.identifies(&column) {
        return Err(node.wrong(
            "this column says whose row it is, and tables with a cell for each person are never released",
            "choose columns that many share",
        ));
    }
    let hierarchy = match section.take("hierarchy") {
        None => None,
        Some(node) => Some(hierarchy(&node, &mut section, &column, facts, known)?),
    };
    let cells = cells(&mut section, node, facts)?;
    if cells.len() > MOST_CELLS {
        return Err(node.wrong(
            format!(
                "{} cells of one attribute, and at most {MOST_CELLS} are planned",
                cells.len()
            ),
            "use wider bins, or longer periods",
        ));
    }
    if hierarchy.is_some() && cells.listed().is_none() {
        return Err(node.wrong(
            "a hierarchy is over values, and these are bins",
            "drop `bins`, `width` and `period`, or the hierarchy",
        ));
    }
    section.finish()?;
    Ok(Attribute {
        name: name.to_owned(),
        column,
        kind: facts.kind,
        cells,
        hierarchy,
    })
}

/// The coarser levels of an attribute.
fn hierarchy(
    node: &Node<'_>,
    section: &mut Section<'_>,
    column: &str,
    facts: &Facts,
    known: &Known<'_>,
) -> Result<Hierarchy, Error> {
    let table = node.name()?.to_lowercase();
    let public = known
        .tables
        .get(&table)
        .filter(|declared| declared.table.owner == Owner::Public);
    let Some(public) = public else {
        return Err(node.wrong(
            "there is no such public table",
            "name a table with public = true that has a row for each value of the column",
        ));
    };
    let levels = section.need(
        "levels",
        "list the columns of the hierarchy from the coarsest to the finest: levels = [\"country\", \"region\"]",
    )?;
    let mut names = Vec::new();
    for level in levels.array()? {
        let name = level.name()?;
        match public.table.column(name) {
            None => {
                return Err(level.wrong(
                    "the public table declares no such column",
                    "names are compared as written, upper and lower case apart",
                ));
            }
            Some(_) if names.iter().any(|other| other == name) => {
                return Err(level.wrong("this level is named twice", "name each level once"));
            }
            Some(_) => names.push(name.to_owned()),
        }
    }
    let finest = names.last().and_then(|name| public.table.column(name));
    if names.len() < 2 || finest.map(|finest| finest.kind) != Some(facts.kind) {
        return Err(levels.wrong(
            format!("the last of at least two levels has the values of `{column}`, so it is of its kind"),
            "list the columns from the coarsest to the finest: levels = [\"country\", \"region\"]",
        ));
    }
    Ok(Hierarchy { table, levels: names })
}

fn cells(section: &mut Section<'_>, node: &Node<'_>, facts: &Facts) -> Result<Cells, Error> {
    let (bins, width, period) = (
        section.take("bins"),
        section.take("width"),
        section.take("period"),
    );
    let beyond = match section.take("beyond") {
        Some(node) => node.flag()?,
        None => false,
    };
    let stated = [&bins, &width, &period].into_iter().flatten().count();
    if stated > 1 {
        return Err(node.wrong(
            "`bins`, `width` and `period` are three ways to say one thing",
            "keep one of them",
        ));
    }
    if beyond && bins.is_none() && width.is_none() {
        return Err(node.wrong(
            "`beyond` is for bins of numbers",
            "drop it, or say bins = [18, 30, 65]",
        ));
    }
    if let Some(node) = bins {
        return Ok(Cells::between(edges(&node, facts)?, beyond, facts.nullable));
    }
    if let Some(node) = width {
        return Ok(Cells::between(even_edges(&node, facts)?, beyond, facts.nullable));
    }
    if let Some(node) = period {
        return periods(&node, facts);
    }
    let values = values(facts).ok_or_else(|| {
        node.wrong(
            "nothing says which values this attribute has",
            match facts.kind {
                Kind::Int | Kind::Float => {
                    "say bins = [0, 18, 65, 120] or width = 10 here, or declare `values` of the column"
                }
                Kind::Date | Kind::Timestamp => {
                    "say period = \"month\" here, and declare `bounds` of the column"
                }
                Kind::Text | Kind::Bool => "declare `values` of the column",
            },
        )
    })?;
    Ok(Cells::values(values, facts.nullable))
}

/// All values of a column, if the catalog says them.
fn values(facts: &Facts) -> Option<Vec<Value>> {
    if let Some(values) = &facts.values {
        return Some(values.to_vec());
    }
    match (facts.kind, facts.range) {
        (Kind::Bool, _) => Some(vec![Value::Bool(false), Value::Bool(true)]),
        (Kind::Int, Some(range)) if range.high - range.low < MOST_CELLS as f64 => {
            Some((range.low as i64..=range.high as i64).map(Value::Int).collect())
        }
        _ => None,
    }
}

const ASCENDING: &str = "write at least two numbers in ascending order, as bins = [0, 18, 65, 120]: the cells are 0 to 17, 18 to 64 and 65 to 120";

/// The edges of bins as they are listed.
fn edges(node: &Node<'_>, facts: &Facts) -> Result<Vec<Value>, Error> {
    let mut edges: Vec<f64> = Vec::new();
    for element in node.array()? {
        let edge = element
            .float()
            .ok_or_else(|| element.wrong("expected a finite number", ASCENDING))?;
        if edges.last().is_some_and(|last| *last >= edge) {
            return Err(element.wrong("this edge is not above the one before it", ASCENDING));
        }
        edges.push(edge);
    }
    if edges.len() < 2 {
        return Err(node.wrong("expected at least two edges", ASCENDING));
    }
    edges
        .into_iter()
        .map(|edge| edge_of(edge, facts.kind, node))
        .collect()
}

/// Edges that are evenly apart, from the least value of the column to its largest.
fn even_edges(node: &Node<'_>, facts: &Facts) -> Result<Vec<Value>, Error> {
    let Some(range) = facts.range.filter(|_| facts.kind.is_number()) else {
        return Err(node.wrong(
            "bins of one width need a column of numbers with `bounds`",
            "declare bounds = [0, 120] of the column, or list `bins`",
        ));
    };
    let width = node.float().filter(|width| *width > 0.0);
    let width = width.ok_or_else(|| node.wrong("expected a number above 0", "write it as 10 or 0.5"))?;
    let bins = ((range.high - range.low) / width).ceil();
    if !(1.0..=MOST_CELLS as f64).contains(&bins) {
        return Err(node.wrong(
            format!("the bounds of the column hold more than {MOST_CELLS} such bins, or none"),
            "choose another width",
        ));
    }
    let mut edges = Vec::new();
    for step in 0..bins as u32 {
        edges.push(edge_of(range.low + f64::from(step) * width, facts.kind, node)?);
    }
    edges.push(edge_of(range.high, facts.kind, node)?);
    // A width below the distance of neighbouring floats would give one twice.
    match edges.windows(2).all(|pair| number(&pair[0]) < number(&pair[1])) {
        true => Ok(edges),
        false => Err(node.wrong("bins of this width are not told apart", "choose a larger width")),
    }
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Int(value) => *value as f64,
        Value::Float(value) => *value,
        _ => f64::NAN,
    }
}

fn edge_of(edge: f64, kind: Kind, node: &Node<'_>) -> Result<Value, Error> {
    /// Whole numbers up to here are floats too.
    const WHOLE: f64 = 9_007_199_254_740_992.0;
    match kind {
        Kind::Float => Ok(Value::Float(edge + 0.0)),
        Kind::Int if edge.fract() == 0.0 && edge.abs() <= WHOLE => Ok(Value::Int(edge as i64)),
        Kind::Int => Err(node.wrong(
            "an edge is no whole number of at most 2^53, and the column is of kind int",
            "write whole numbers",
        )),
        _ => Err(node.wrong(
            format!("bins are for numbers, and the column is of kind {kind}"),
            "for days and moments say period = \"month\"; for text declare `values` of the column",
        )),
    }
}

/// Every period with a day between the bounds of the column.
fn periods(node: &Node<'_>, facts: &Facts) -> Result<Cells, Error> {
    let name = node.text()?;
    if !calendar::PERIODS.contains(&name) {
        return Err(node.wrong(
            "there is no such period",
            "expected \"day\", \"week\", \"month\", \"quarter\" or \"year\"",
        ));
    }
    let dates = matches!(facts.kind, Kind::Date | Kind::Timestamp);
    let Some(range) = facts.range.filter(|_| dates) else {
        return Err(node.wrong(
            "periods need a column of days or moments with `bounds`",
            "declare bounds = [\"2024-01-01\", \"2025-12-31\"] of the column",
        ));
    };
    let day = |end: f64| match facts.kind {
        Kind::Date => end as i64,
        _ => (end as i64).div_euclid(calendar::DAY),
    };
    let (low, high) = (day(range.low), day(range.high));
    if (high - low) / 366 > MOST_CELLS as i64 {
        return Err(node.wrong("too many periods", "declare bounds that are nearer to each other"));
    }
    let mut starts = calendar::periods(name, low, high);
    // Where the last period ends, the next begins.
    let last = *starts.last().unwrap_or(&low);
    starts.extend(calendar::periods(name, last, last + 366).get(1));
    let value = |start: i64| match facts.kind {
        Kind::Date => i32::try_from(start).ok().map(Value::Date),
        _ => start.checked_mul(calendar::DAY).map(Value::Timestamp),
    };
    let edges: Option<Vec<Value>> = starts.into_iter().map(value).collect();
    let edges =
        edges.ok_or_else(|| node.wrong("there is no such day in the calendar", "declare other bounds"))?;
    Ok(Cells::periods(edges, name, facts.nullable))
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
