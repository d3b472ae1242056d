//! A formula with what the catalog declares: which cells rows are counted in, which numbers are summed, and the columns of the design.

use crate::{Error, Formula, Outcome, Part, Term};
use serde::{Deserialize, Serialize};

/// Which distribution the response has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// Least squares: the response is a number, and differences are in its unit.
    #[default]
    Linear,
    /// The response happens or not: coefficients are differences of log odds.
    Logistic,
    /// The response is a count: coefficients are differences of the log of the mean.
    Poisson,
}

/// A variable as it is declared, never as the data has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Variable {
    /// Values of a list: rows are counted by them.
    Listed(Listed),
    /// A number between bounds: sums are measured.
    Bounded {
        /// Its least value; what is smaller is clamped.
        low: f64,
        /// Its largest value.
        high: f64,
    },
}

/// Values of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Listed {
    /// What the values are called, in order.
    pub labels: Vec<String>,
    /// The number that each stands for, where values are numbers or bins of them.
    pub scores: Option<Vec<f64>>,
    /// The place of NULL among them; its rows are left out.
    pub missing: Option<usize>,
    /// Whether values are bins, so that a score is only the middle of one.
    pub binned: bool,
}

/// An axis of the cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// The column.
    pub name: String,
    /// Its values.
    pub listed: Listed,
    /// The value that others are compared with, for a factor.
    pub reference: usize,
}

/// A number that is summed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summed {
    /// The column.
    pub name: String,
    /// Its least value.
    pub low: f64,
    /// Its largest value.
    pub high: f64,
}

impl Summed {
    /// The middle of its bounds, which is 0 in units of the design.
    pub fn middle(&self) -> f64 {
        0.5 * (self.low + self.high)
    }

    /// From the middle to a bound, which is 1 in units of the design.
    pub fn half(&self) -> f64 {
        0.5 * (self.high - self.low)
    }
}

/// Where a number of the design comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Source {
    /// The score of an axis.
    Scored(usize),
    /// The number at this place among those that are summed.
    Summed(usize),
}

/// One column of the design: a product of indicators and at most one number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// The axis and the value for which it is not zero.
    pub(crate) levels: Vec<(usize, usize)>,
    pub(crate) number: Option<Source>,
    /// The place of its term in the formula; `None` for the intercept.
    pub(crate) term: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Response {
    /// Whether the axis has this value.
    Event { axis: usize, code: usize },
    /// The number itself.
    Number(Source),
}

/// A model: what has to be measured for it, and how it is fitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    formula: Formula,
    family: Family,
    pub(crate) axes: Vec<Axis>,
    pub(crate) summed: Vec<Summed>,
    pub(crate) response: Response,
    pub(crate) columns: Vec<Column>,
}

/// More coefficients than this are not fitted.
pub const MOST_COLUMNS: usize = 200;

/// More cells than this are not asked for.
pub const MOST_CELLS: usize = 1_000_000;

/// More coefficients than this are refused.
fn within(columns: usize) -> Result<(), Error> {
    match columns <= MOST_COLUMNS {
        true => Ok(()),
        false => Err(Error::TooLarge {
            what: format!("this model has more than {MOST_COLUMNS} coefficients"),
            hint: "leave out an interaction, or use fewer values".to_owned(),
        }),
    }
}

impl Model {
    /// Puts a formula together with the declarations of its columns. `references` names the value that others of a factor are compared with, where it
    /// is not the first.
    ///
    /// # Errors
    /// When a column is not declared so that the formula can use it.
    pub fn new(
        formula: Formula,
        family: Family,
        variables: &[(String, Variable)],
        references: &[(String, String)],
    ) -> Result<Self, Error> {
        let mut model = Self {
            family,
            axes: Vec::new(),
            summed: Vec::new(),
            response: Response::Number(Source::Summed(0)),
            columns: vec![Column {
                name: "(Intercept)".to_owned(),
                levels: Vec::new(),
                number: None,
                term: None,
            }],
            formula,
        };
        let mut known: Vec<(Part, Use)> = Vec::new();
        for part in model.formula.regressors() {
            let used = model.take(&part, find(variables, &part.name)?, references)?;
            known.push((part, used));
        }
        let outcome = model.formula.response().clone();
        model.response = model.outcome(&outcome, find(variables, &outcome.name)?)?;
        model.check_references(references)?;
        for (place, term) in model.formula.terms().to_vec().iter().enumerate() {
            model.check_margins(term)?;
            let columns = model.columns_of(term, place, &known)?;
            within(model.columns.len() + columns.len())?;
            model.columns.extend(columns);
        }
        if model.cells().is_none_or(|cells| cells > MOST_CELLS) {
            return Err(Error::TooLarge {
                what: format!(
                    "the values of {} have more than {MOST_CELLS} combinations",
                    model.axis_names().join(", ")
                ),
                hint: "use wider bins, or fewer factors".to_owned(),
            });
        }
        Ok(model)
    }

    /// The formula.
    pub fn formula(&self) -> &Formula {
        &self.formula
    }

    /// The family.
    pub fn family(&self) -> Family {
        self.family
    }

    /// The columns by whose values rows are counted.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// The columns that are summed.
    pub fn summed(&self) -> &[Summed] {
        &self.summed
    }

    /// The products of summed columns that are measured in each cell, beside the count, which is first: `None` stands for 1. Numbers are in units in which
    /// bounds are −1 and 1, so each of them is moved by at most 1 by a row.
    pub fn statistics(&self) -> Vec<(Option<usize>, Option<usize>)> {
        let mut statistics = vec![(None, None)];
        statistics.extend((0..self.summed.len()).map(|place| (None, Some(place))));
        if self.family == Family::Linear {
            for one in 0..self.summed.len() {
                statistics.extend((one..self.summed.len()).map(|other| (Some(one), Some(other))));
            }
        }
        statistics
    }

    /// Whether what a fit computes fits in memory. Told by the declarations alone, so before anything is charged.
    ///
    /// # Errors
    /// When it does not.
    pub fn check_size(&self) -> Result<(), Error> {
        crate::moments::check_size(self)
    }

    /// How many cells there are; `None` for more than any machine counts.
    pub fn cells(&self) -> Option<usize> {
        self.axes.iter().try_fold(1usize, |product, axis| {
            product.checked_mul(axis.listed.labels.len())
        })
    }

    /// The codes of the cell at this place: row-major, the last axis fastest.
    pub fn cell_at(&self, place: usize) -> Vec<usize> {
        let mut rest = place;
        let mut cell: Vec<usize> = self
            .axes
            .iter()
            .rev()
            .map(|axis| {
                let size = axis.listed.labels.len();
                let code = rest % size;
                rest /= size;
                code
            })
            .collect();
        cell.reverse();
        cell
    }

    /// The names of the coefficients, the intercept first.
    pub fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|column| column.name.as_str()).collect()
    }

    /// What the response is called.
    pub fn response_name(&self) -> String {
        let outcome = self.formula.response();
        match self.response {
            Response::Event { axis, code } => {
                format!("{} = {}", outcome.name, self.axes[axis].listed.labels[code])
            }
            Response::Number(_) => outcome.name.clone(),
        }
    }

    /// Columns that are numbers only as the middles of bins.
    pub fn binned(&self) -> Vec<&str> {
        let uses_score = |axis: usize| {
            self.response == Response::Number(Source::Scored(axis))
                || self
                    .columns
                    .iter()
                    .any(|column| column.number == Some(Source::Scored(axis)))
        };
        let axes = self.axes.iter().enumerate();
        axes.filter(|(place, axis)| axis.listed.binned && uses_score(*place))
            .map(|(_, axis)| axis.name.as_str())
            .collect()
    }

    fn axis_names(&self) -> Vec<&str> {
        self.axes.iter().map(|axis| axis.name.as_str()).collect()
    }

    fn take(
        &mut self,
        part: &Part,
        variable: &Variable,
        references: &[(String, String)],
    ) -> Result<Use, Error> {
        match variable {
            Variable::Listed(listed) => {
                let usable = listed.labels.len() - usize::from(listed.missing.is_some());
                if usable < 2 {
                    return Err(Error::variable(
                        format!("{} has one value, so nothing differs by it", part.name),
                        "leave it out",
                    ));
                }
                let numeric = listed.scores.is_some() && !part.factor;
                let first = (0..listed.labels.len()).find(|code| Some(*code) != listed.missing);
                let mut reference = first.unwrap_or(0);
                if let Some((_, wanted)) = references.iter().find(|(name, _)| *name == part.name) {
                    let found = listed.labels.iter().position(|label| label == wanted);
                    reference = found
                        .filter(|code| Some(*code) != listed.missing)
                        .ok_or_else(|| {
                            Error::variable(
                                format!("{} has no value {wanted}", part.name),
                                format!("its values are {}", some_of(&listed.labels)),
                            )
                        })?;
                }
                self.axes.push(Axis {
                    name: part.name.clone(),
                    listed: listed.clone(),
                    reference,
                });
                let axis = self.axes.len() - 1;
                Ok(match numeric {
                    true => Use::Number(Source::Scored(axis)),
                    false => Use::Factor(axis),
                })
            }
            Variable::Bounded { low, high } => {
                if part.factor {
                    return Err(Error::variable(
                        format!("{} has no list of values, so it is no factor", part.name),
                        "declare `values` of the column in the catalog, or use it as a number",
                    ));
                }
                check_bounds(&part.name, *low, *high)?;
                if self.family != Family::Linear {
                    return Err(Error::variable(
                        format!("{} has no bins, and this family counts rows by bins", part.name),
                        "give it bins: --bins COLUMN=WIDTH",
                    ));
                }
                self.summed.push(Summed {
                    name: part.name.clone(),
                    low: *low,
                    high: *high,
                });
                Ok(Use::Number(Source::Summed(self.summed.len() - 1)))
            }
        }
    }

    fn outcome(&mut self, outcome: &Outcome, variable: &Variable) -> Result<Response, Error> {
        let name = &outcome.name;
        match (variable, self.family) {
            (Variable::Listed(listed), family) => {
                let wants_number = family != Family::Logistic && outcome.value.is_none();
                if wants_number && listed.scores.is_none() {
                    return Err(Error::variable(
                        format!("{name} is no number"),
                        format!("name the value that counts: --family logistic with {name} = 'value' ~ …"),
                    ));
                }
                self.axes.push(Axis {
                    name: name.clone(),
                    listed: listed.clone(),
                    reference: 0,
                });
                let axis = self.axes.len() - 1;
                if wants_number {
                    return Ok(Response::Number(Source::Scored(axis)));
                }
                let event = match &outcome.value {
                    Some(value) => listed.labels.iter().position(|label| label == value),
                    // As in R, the second of two values is what happens.
                    None => {
                        let mut usable =
                            (0..listed.labels.len()).filter(|code| Some(*code) != listed.missing);
                        let (_, second, third) = (usable.next(), usable.next(), usable.next());
                        second.filter(|_| third.is_none())
                    }
                };
                let code = event
                    .filter(|code| Some(*code) != listed.missing)
                    .ok_or_else(|| {
                        Error::variable(
                            format!("it is not said which value of {name} counts as 1"),
                            format!(
                                "write {name} = 'value' ~ …; its values are {}",
                                some_of(&listed.labels)
                            ),
                        )
                    })?;
                Ok(Response::Event { axis, code })
            }
            (Variable::Bounded { .. }, Family::Logistic) => Err(Error::variable(
                format!("{name} is a number, and a logistic model explains whether something happens"),
                "use a column with two values, or another family",
            )),
            (Variable::Bounded { low, high }, family) => {
                check_bounds(name, *low, *high)?;
                if outcome.value.is_some() {
                    return Err(Error::variable(
                        format!("{name} has no list of values"),
                        "declare `values` of the column in the catalog",
                    ));
                }
                if family == Family::Poisson && *low < 0.0 {
                    return Err(Error::variable(
                        format!("{name} may be below 0, and counts are not"),
                        "declare bounds from 0 on, or use the linear family",
                    ));
                }
                self.summed.push(Summed {
                    name: name.clone(),
                    low: *low,
                    high: *high,
                });
                Ok(Response::Number(Source::Summed(self.summed.len() - 1)))
            }
        }
    }

    fn check_references(&self, references: &[(String, String)]) -> Result<(), Error> {
        let unknown = references.iter().find(|(name, _)| !self.columns_named(name));
        match unknown {
            Some((name, _)) => Err(Error::variable(
                format!("{name} is no factor of this model"),
                "a reference is for a column on the right of ~",
            )),
            None => Ok(()),
        }
    }

    fn columns_named(&self, name: &str) -> bool {
        self.formula.regressors().iter().any(|part| part.name == name)
    }

    /// Every part of an interaction stands in the model by itself, so that no coefficient depends on where a number has its zero.
    fn check_margins(&self, term: &Term) -> Result<(), Error> {
        for left_out in 0..term.parts.len() {
            let mut margin: Vec<&Part> = term.parts.iter().collect();
            margin.remove(left_out);
            let has = margin.is_empty()
                || self.formula.terms().iter().any(|other| {
                    other.parts.len() == margin.len() && margin.iter().all(|part| other.parts.contains(part))
                });
            if !has {
                let written: Vec<String> = term.parts.iter().map(ToString::to_string).collect();
                return Err(Error::Formula {
                    what: format!("the interaction {term} stands without its parts"),
                    hint: format!("write {}", written.join(" * ")),
                });
            }
        }
        Ok(())
    }

    fn columns_of(&self, term: &Term, place: usize, known: &[(Part, Use)]) -> Result<Vec<Column>, Error> {
        let mut columns = vec![Column {
            name: String::new(),
            levels: Vec::new(),
            number: None,
            term: Some(place),
        }];
        for part in &term.parts {
            let used = known.iter().find(|(other, _)| other.name == part.name);
            let used = used.map(|(_, used)| *used).ok_or(Error::OtherCells)?;
            // Counted before they are made: factors multiply.
            if let Use::Factor(axis) = used {
                within(columns.len() * self.axes[axis].listed.labels.len().saturating_sub(2))?;
            }
            columns = columns
                .into_iter()
                .map(|column| self.crossed(&column, part, used))
                .collect::<Result<Vec<_>, Error>>()?
                .concat();
        }
        Ok(columns)
    }

    fn crossed(&self, column: &Column, part: &Part, used: Use) -> Result<Vec<Column>, Error> {
        let between = if column.name.is_empty() { "" } else { ":" };
        match used {
            Use::Number(_) if column.number.is_some() => Err(Error::Formula {
                what: "an interaction of two numbers is not fitted".to_owned(),
                hint: format!("use one of them as a factor: factor({})", part.name),
            }),
            Use::Number(source) => Ok(vec![Column {
                name: format!("{}{between}{}", column.name, part.name),
                number: Some(source),
                ..column.clone()
            }]),
            Use::Factor(axis) => {
                let of = &self.axes[axis];
                let codes = (0..of.listed.labels.len())
                    .filter(|code| *code != of.reference && Some(*code) != of.listed.missing);
                Ok(codes
                    .map(|code| {
                        let mut levels = column.levels.clone();
                        levels.push((axis, code));
                        Column {
                            name: format!("{}{between}{} {}", column.name, part.name, of.listed.labels[code]),
                            levels,
                            ..column.clone()
                        }
                    })
                    .collect())
            }
        }
    }

    /// The middle and the half width of a number's range: in units of the design its bounds are −1 and 1.
    pub(crate) fn scale(&self, source: Source) -> (f64, f64) {
        match source {
            Source::Summed(place) => (self.summed[place].middle(), self.summed[place].half()),
            Source::Scored(axis) => {
                let listed = &self.axes[axis].listed;
                let scores = listed.scores.as_deref().unwrap_or_default().iter().enumerate();
                let used = scores.filter(|(code, _)| Some(*code) != listed.missing);
                let (low, high) = used.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (_, score)| {
                    (low.min(*score), high.max(*score))
                });
                (
                    0.5 * (low + high),
                    if high > low { 0.5 * (high - low) } else { 1.0 },
                )
            }
        }
    }

    /// The score of a cell in units of the design.
    pub(crate) fn score(&self, axis: usize, code: usize) -> f64 {
        let (middle, half) = self.scale(Source::Scored(axis));
        let scores = self.axes[axis].listed.scores.as_deref().unwrap_or_default();
        (scores.get(code).copied().unwrap_or(middle) - middle) / half
    }
}

/// How a regressor is used.
#[derive(Clone, Copy, Debug)]
enum Use {
    Factor(usize),
    Number(Source),
}

fn find<'a>(variables: &'a [(String, Variable)], name: &str) -> Result<&'a Variable, Error> {
    let found = variables.iter().find(|(known, _)| known == name);
    found.map(|(_, variable)| variable).ok_or_else(|| {
        let names: Vec<String> = variables.iter().map(|(name, _)| name.clone()).collect();
        Error::variable(
            format!("there is no column {name} here"),
            format!("there are {}", some_of(&names)),
        )
    })
}

fn check_bounds(name: &str, low: f64, high: f64) -> Result<(), Error> {
    match low.is_finite() && high.is_finite() && low < high {
        true => Ok(()),
        false => Err(Error::variable(
            format!("{name} has no bounds, and noise covers what a value can be"),
            "declare `bounds` of the column in the catalog",
        )),
    }
}

fn some_of(names: &[String]) -> String {
    let mut shown: Vec<&str> = names.iter().take(12).map(String::as_str).collect();
    if names.len() > shown.len() {
        shown.push("…");
    }
    shown.join(", ")
}
