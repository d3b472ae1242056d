//! Regression and tests: measured by one ordinary query, or read from a planned release for nothing.

use super::{Dataset, Stage};
use crate::Error;
use crate::dataset::explain::Explanation;
use crate::dataset::planned::ReleaseRequest;
use crate::dataset::regression::{
    Finding, Measured, Regressed, RegressionRequest, TestOf, refused, two_columns, variables_of,
};
use crate::price::bounds::shown_outputs;
use crate::price::question::{QueryRequest, Question};
use crate::understand::aggregation::{Output, Selection};
use regression::hypothesis::{
    TwoWay, check_means, check_size, difference_of_means, difference_of_proportions, independence, means,
};
use regression::{Cells, Formula, Model, fit, fit_release};

/// What NULL is called among the values of an attribute.
const NULL: &str = "∅";

impl Dataset {
    /// What the query of a model would do and cost, and its SQL. Spends nothing, reads no data.
    ///
    /// # Errors
    /// When the formula or the query is refused.
    pub fn explain_regression(&self, request: &RegressionRequest) -> Result<(String, Explanation), Error> {
        let formula = formula(request)?;
        let (measured, _) = self.what_is_measured(&formula, request)?;
        let ask = ask(request, &measured.sql);
        Ok((measured.sql, self.explain(&ask, 1000)?))
    }

    /// Fits a model, or tests. What was released before for the same formula, in whatever order, is free; so is a planned release.
    ///
    /// # Errors
    /// When the formula or the query is refused, its price does not fit, or the noise is too large for the model. A model that is too noisy was charged all the same: fewer regressors
    /// from the same release are free only if the release has them.
    pub fn regress(
        &self,
        request: &RegressionRequest,
        watch: &mut dyn FnMut(Stage),
    ) -> Result<Regressed, Error> {
        let formula = formula(request)?;
        match &request.release {
            Some(release) => self.regress_planned(&formula, release, request),
            None => self.measured_anew(&formula, request, watch),
        }
    }

    fn what_is_measured(
        &self,
        formula: &Formula,
        request: &RegressionRequest,
    ) -> Result<(Measured, Option<Model>), Error> {
        match &request.test {
            Some(TestOf::Independence | TestOf::Proportions(_)) => {
                Ok((two_columns(formula, request, self.catalog())?, None))
            }
            None | Some(TestOf::Means(_)) => {
                let (measured, model) = Measured::of(formula, request, self.catalog())?;
                Ok((measured, Some(model)))
            }
        }
    }

    fn measured_anew(
        &self,
        formula: &Formula,
        request: &RegressionRequest,
        watch: &mut dyn FnMut(Stage),
    ) -> Result<Regressed, Error> {
        let (measured, model) = self.what_is_measured(formula, request)?;
        // Whatever can be refused is refused before the charge.
        check(&measured, model.as_ref(), formula, request)?;
        let ask = ask(request, &measured.sql);
        let noise = noise(&self.understand(&ask)?, measured.statistics)?;
        let answered = self.query_watched(&ask, watch)?;
        // What follows reads what was released, and is work all the same.
        watch(Stage::Computing);
        let numbers = measured.numbers(&answered.answer)?;
        let finding = match &model {
            Some(model) => {
                let variances = noise.iter().map(|(variance, _)| *variance).collect();
                let cells = Cells::new(model, numbers, variances).map_err(|error| refused(&error))?;
                finding(model, &cells, request)?
            }
            None => {
                let (variance, gaussian) = noise[0];
                let [counts] = <[Vec<f64>; 1]>::try_from(numbers)
                    .map_err(|_| refused(&regression::Error::OtherCells))?;
                let table = TwoWay::new(measured.labels(0), measured.labels(1), counts, variance, gaussian);
                tested(&table.map_err(|error| refused(&error))?, formula, request)?
            }
        };
        let mut notes = Vec::new();
        let table = self.catalog().tables.get(&request.table);
        if table.is_some_and(|table| table.rows_per_unit != Some(1)) {
            notes.push(format!(
                "a {} may have several rows: errors of sampling take rows for independent, so they are too small where rows of one {0} are alike",
                self.catalog().unit.whose
            ));
        }
        Ok(Regressed {
            finding,
            cost: answered.answer.cost,
            repeated: answered.repeated,
            resumed: answered.resumed,
            left: answered.left,
            receipt: answered.receipt,
            sql: Some(measured.sql),
            release: None,
            notes,
        })
    }

    fn regress_planned(
        &self,
        formula: &Formula,
        release: &str,
        request: &RegressionRequest,
    ) -> Result<Regressed, Error> {
        if request.condition.is_some() || !request.bins.is_empty() {
            return Err(Error::refused(
                "a planned release has its own rows and bins",
                "leave out --where and --bins, or leave out --release to measure anew",
            ));
        }
        let wanted = ReleaseRequest {
            epsilon: request.epsilon.clone(),
            ..ReleaseRequest::new(release, &request.analyst)
        };
        let Some(released) = self.released_tables(&wanted)? else {
            return Err(Error::refused(
                format!("the release `{release}` was not made yet, of this version of the data"),
                format!(
                    "`deniable tables release {release}` makes it; `deniable tables explain {release}` says what it costs"
                ),
            ));
        };
        let declared = self.catalog().releases.get(release);
        let variables = declared.map(variables_of).unwrap_or_default();
        let told = match &request.test {
            None => fit_release(
                formula,
                request.family,
                released.measurements(),
                &variables,
                &request.references,
            )
            .map(|fit| Finding::Model {
                fit: Box::new(fit),
                means: Vec::new(),
                contrasts: Vec::new(),
            })
            .map_err(|error| refused(&error))?,
            Some(TestOf::Means(groups)) => {
                let model = Model::new(formula.clone(), request.family, &variables, &request.references);
                let model = model.map_err(|error| refused(&error))?;
                let cells =
                    Cells::of_release(&model, released.measurements()).map_err(|error| refused(&error))?;
                mean_test(&model, &cells, groups.as_ref())?
            }
            Some(TestOf::Independence | TestOf::Proportions(_)) => {
                let regressors = formula.regressors();
                let [only] = regressors.as_slice() else {
                    return Err(Error::refused(
                        "this test is of two columns",
                        "write it as: smoker ~ education",
                    ));
                };
                let response = &formula.response().name;
                let table = TwoWay::of_release(released.measurements(), &only.name, response, NULL);
                tested(&table.map_err(|error| refused(&error))?, formula, request)?
            }
        };
        let mut notes = vec![format!(
            "from the release `{release}` (charge {}), for nothing; a query of its own has the exact sums of numbers and not bins, for a charge",
            released.cost.charge
        )];
        if let Some(condition) = &released.condition {
            notes.push(format!("only rows where {condition}"));
        }
        Ok(Regressed {
            finding: told,
            cost: Some(released.cost.clone()),
            repeated: true,
            resumed: false,
            left: released.left.clone(),
            receipt: released.receipt.clone(),
            sql: None,
            release: Some(release.to_owned()),
            notes,
        })
    }
}

/// What declarations and the request alone refuse: sizes, names of groups and of values.
fn check(
    measured: &Measured,
    model: Option<&Model>,
    formula: &Formula,
    request: &RegressionRequest,
) -> Result<(), Error> {
    if let Some(model) = model {
        model.check_size().map_err(|error| refused(&error))?;
    }
    let check_groups = |named: &Option<(String, String)>| {
        let groups = measured.labels(0);
        let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
        two_of(named.as_ref(), &groups).map(|_| ())
    };
    match &request.test {
        None => Ok(()),
        Some(TestOf::Means(named)) => {
            if let Some(model) = model {
                check_means(model).map_err(|error| refused(&error))?;
            }
            check_groups(named)
        }
        Some(TestOf::Proportions(named)) => {
            event(formula, &measured.labels(1))?;
            check_groups(named)
        }
        Some(TestOf::Independence) => {
            check_size(measured.labels(0).len(), measured.labels(1).len()).map_err(|error| refused(&error))
        }
    }
}

/// The value of the response that counts.
fn event<'a>(formula: &'a Formula, values: &'a [String]) -> Result<&'a str, Error> {
    let response = formula.response();
    match (&response.value, values) {
        (Some(value), _) if values.contains(value) => Ok(value),
        (Some(value), _) => Err(Error::refused(
            format!("{} has no value `{value}`", response.name),
            format!("there are {}", values.join(", ")),
        )),
        // The second of two, as in R.
        (None, [_, second]) => Ok(second),
        (None, _) => Err(Error::refused(
            format!("it is not said which value of {} counts", response.name),
            format!("write {} = 'value' ~ …", response.name),
        )),
    }
}

fn formula(request: &RegressionRequest) -> Result<Formula, Error> {
    Formula::parse(&request.formula).map_err(|error| refused(&error))
}

fn ask(request: &RegressionRequest, sql: &str) -> QueryRequest {
    QueryRequest {
        epsilon: request.epsilon.clone(),
        delta: request.delta.clone(),
        // All of ε goes to what is fitted.
        cut_estimate: false,
        purpose: Some(format!("regress {} of {}", request.formula, request.table)),
        // Its numbers are read with the noise that it is priced with.
        fresh: true,
        caps: request.caps.clone(),
        once: request.once.clone(),
        ..QueryRequest::new(sql, &request.analyst)
    }
}

/// For each statistic, s0 and on, the variance of its noise and whether it is Gaussian.
fn noise(question: &Question, statistics: usize) -> Result<Vec<(f64, bool)>, Error> {
    let not_listed = || {
        Error::refused(
            "the groups of this model are private",
            "declare `values` of each factor, and bounds of each number; nothing was charged",
        )
    };
    let all_listed = question.split.aggregations.iter().all(|aggregation| {
        aggregation.keys.is_empty() || matches!(aggregation.groups.selection, Selection::Listed(_))
    });
    if !all_listed {
        return Err(not_listed());
    }
    let shown = shown_outputs(question);
    (0..statistics)
        .map(|statistic| {
            let name = format!("s{statistic}");
            let (_, (part, output)) = shown
                .iter()
                .find(|(known, _)| *known == name)
                .ok_or_else(not_listed)?;
            let aggregation = &question.split.aggregations[*part];
            let Some(Output::Plain { statistic }) = aggregation.outputs.get(*output) else {
                return Err(not_listed());
            };
            let noise = &question.prices[*part].noise[*statistic];
            let deviation = noise.deviation() * aggregation.statistics[*statistic].steps.size();
            Ok((deviation * deviation, noise.name() == "Gaussian"))
        })
        .collect()
}

fn finding(model: &Model, cells: &Cells, request: &RegressionRequest) -> Result<Finding, Error> {
    if let Some(TestOf::Means(groups)) = &request.test {
        return mean_test(model, cells, groups.as_ref());
    }
    let fit = fit(model, cells).map_err(|error| refused(&error))?;
    let contrasts = fit.contrasts();
    let means = match contrasts.is_empty() {
        true => Vec::new(),
        false => means(model, cells).unwrap_or_default(),
    };
    Ok(Finding::Model {
        fit: Box::new(fit),
        means,
        contrasts,
    })
}

fn mean_test(model: &Model, cells: &Cells, groups: Option<&(String, String)>) -> Result<Finding, Error> {
    let axis = model
        .axes()
        .first()
        .ok_or_else(|| refused(&regression::Error::OtherCells))?;
    let labels: Vec<&str> = (0..axis.listed.labels.len())
        .filter(|code| Some(*code) != axis.listed.missing)
        .map(|code| axis.listed.labels[code].as_str())
        .collect();
    let (one, other) = two_of(groups, &labels)?;
    let test = difference_of_means(model, cells, (one, other));
    test.map(Finding::Test).map_err(|error| refused(&error))
}

fn tested(table: &TwoWay, formula: &Formula, request: &RegressionRequest) -> Result<Finding, Error> {
    let test = match &request.test {
        Some(TestOf::Proportions(groups)) => {
            let labels: Vec<&str> = table.rows().iter().map(String::as_str).collect();
            let groups = two_of(groups.as_ref(), &labels)?;
            let event = event(formula, table.columns())?;
            difference_of_proportions(table, event, groups)
        }
        _ => independence(table),
    };
    test.map(Finding::Test).map_err(|error| refused(&error))
}

/// The groups that are compared: those that are named, or the only two.
fn two_of<'a>(groups: Option<&'a (String, String)>, labels: &[&'a str]) -> Result<(&'a str, &'a str), Error> {
    match (groups, labels) {
        (Some((one, other)), _) if one == other => Err(Error::refused(
            "the two groups are the same",
            "name two values: --groups a,b",
        )),
        (Some((one, other)), labels) => {
            match [one, other]
                .into_iter()
                .find(|name| !labels.contains(&name.as_str()))
            {
                None => Ok((one, other)),
                Some(name) => Err(Error::refused(
                    format!("there is no group `{name}`"),
                    format!("there are {}", labels.join(", ")),
                )),
            }
        }
        (None, [one, other]) => Ok((one, other)),
        (None, _) => Err(Error::refused(
            "this test compares two groups, and there are more",
            format!(
                "name two: --groups {}",
                labels.iter().take(2).copied().collect::<Vec<_>>().join(",")
            ),
        )),
    }
}
