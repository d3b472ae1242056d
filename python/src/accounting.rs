//! The certified accountant. Events arrive in the text form in which a ledger keeps them.

use crate::errors::of_parameter;
use crate::work::waiting;
use accounting::{
    Accountant, Curve, Delta, Epsilon, Error, Event, Neighbors, PrivacyUnit, Ratio, Sampler, plan,
    renyi_divergence, smallest_multiplier, smallest_training_multiplier,
};
use exact::{Interval, Rational, decimal_at_least, to_f64_nearest, to_f64_up};
use pyo3::prelude::*;
use serde_json::Value;
use std::sync::Arc;

/// Digits with which a float prints as what it was read from.
const DIGITS: u32 = 15;

/// Those that know some events by their moments or their (ε, δ) alone.
const WITHOUT_A_CURVE: [Accountant; 5] = [
    Accountant::Renyi,
    Accountant::Concentrated,
    Accountant::Optimal,
    Accountant::Advanced,
    Accountant::Basic,
];

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PrivacyCurve>()?;
    module.add_function(wrap_pyfunction!(event_checked, module)?)?;
    module.add_function(wrap_pyfunction!(multiplier_squared, module)?)?;
    module.add_function(wrap_pyfunction!(logarithm_up, module)?)?;
    module.add_function(wrap_pyfunction!(training_multiplier, module)?)?;
    module.add_function(wrap_pyfunction!(gaussian_multiplier, module)?)?;
    Ok(())
}

/// What one further unit of a kind means, as Python says it.
pub(crate) fn neighbors(name: &str) -> PyResult<Neighbors> {
    match name {
        "add_remove" => Ok(Neighbors::AddRemove),
        "change_one" => Ok(Neighbors::ChangeOne),
        _ => Err(of_parameter(
            "neighbors is neither \"add_remove\" nor \"change_one\"\nhint: \"add_remove\" where one unit is added or removed, \"change_one\" where one unit's data may change",
        )),
    }
}

pub(crate) fn epsilon(text: &str) -> PyResult<Epsilon> {
    Epsilon::parse(text).map_err(of_parameter)
}

pub(crate) fn delta(text: &str) -> PyResult<Delta> {
    Delta::parse(text).map_err(of_parameter)
}

fn event(text: &str) -> PyResult<Event> {
    serde_json::from_str(text).map_err(|error| {
        of_parameter(format!(
            "this is no event: {error}\nhint: write it as a ledger does, such as {{\"pure\":{{\"epsilon\":\"0.5\"}}}}"
        ))
    })
}

/// What a plan costs, for any δ or ε.
#[pyclass(frozen, module = "deniable._deniable")]
struct PrivacyCurve {
    plan: Arc<Plan>,
}

struct Plan {
    event: Event,
    unit: PrivacyUnit,
    /// `None` where something in it is known by its moments alone.
    curve: Option<Curve>,
}

impl Plan {
    fn of(event: Event, unit: PrivacyUnit) -> Result<Self, Error> {
        let curve = match Curve::of(&event, &unit) {
            Ok(curve) => Some(curve),
            Err(Error::NoCurve { .. }) => None,
            Err(error) => return Err(error),
        };
        Ok(Self { event, unit, curve })
    }

    /// The least that one of the other accountants proves. Each is sound, so any of them may be the one.
    fn least<T: Ord>(&self, ask: impl Fn(Accountant) -> Result<T, Error>) -> Result<T, Error> {
        let mut least: Option<T> = None;
        let mut first = None;
        for accountant in WITHOUT_A_CURVE {
            match ask(accountant) {
                Ok(found) => {
                    least = Some(match least {
                        Some(least) => least.min(found),
                        None => found,
                    });
                }
                Err(error) => first = first.or(Some(error)),
            }
        }
        least.ok_or_else(|| first.unwrap_or(Error::NeedsDelta))
    }

    fn epsilon(&self, delta: &Delta) -> Result<(f64, f64), Error> {
        let Some(curve) = &self.curve else {
            let upper = self.least(|accountant| accountant.epsilon(&self.event, &self.unit, delta))?;
            return Ok((0.0, upper.to_f64_up()));
        };
        let between = curve.epsilon(delta)?;
        Ok((between.lower.to_f64_down(), between.upper.to_f64_up()))
    }

    fn delta(&self, epsilon: &Epsilon) -> Result<(f64, f64), Error> {
        let Some(curve) = &self.curve else {
            let upper = self.least(|accountant| accountant.delta(&self.event, &self.unit, epsilon))?;
            return Ok((0.0, upper.to_f64_up()));
        };
        let between = curve.delta(epsilon)?;
        Ok((between.lower.to_f64_down(), between.upper.to_f64_up()))
    }
}

#[pymethods]
impl PrivacyCurve {
    #[new]
    fn new(py: Python<'_>, event: &str, unit: String, neighbors: &str) -> PyResult<Self> {
        let event = self::event(event)?;
        let unit = PrivacyUnit::new(unit, self::neighbors(neighbors)?);
        let plan = waiting(py, move || Plan::of(event, unit))?.map_err(of_parameter)?;
        Ok(Self { plan: Arc::new(plan) })
    }

    /// Two ends between which the smallest ε for this δ certainly lies.
    fn epsilon(&self, py: Python<'_>, delta: &str) -> PyResult<(f64, f64)> {
        let (plan, delta) = (self.plan.clone(), self::delta(delta)?);
        waiting(py, move || plan.epsilon(&delta))?.map_err(of_parameter)
    }

    /// Two ends between which the smallest δ for this ε certainly lies.
    fn delta(&self, py: Python<'_>, epsilon: &str) -> PyResult<(f64, f64)> {
        let (plan, epsilon) = (self.plan.clone(), self::epsilon(epsilon)?);
        waiting(py, move || plan.delta(&epsilon))?.map_err(of_parameter)
    }

    /// Whether a mechanism that the events describe has no smaller ε or δ than the lower ends say.
    fn is_attained(&self) -> bool {
        self.plan.curve.as_ref().is_some_and(Curve::is_attained)
    }

    /// An ε by one accountant.
    fn epsilon_by(&self, py: Python<'_>, method: &str, delta: &str) -> PyResult<f64> {
        let (plan, accountant) = (self.plan.clone(), accountant(method)?);
        let delta = self::delta(delta)?;
        waiting(py, move || accountant.epsilon(&plan.event, &plan.unit, &delta))?
            .map(|epsilon| epsilon.to_f64_up())
            .map_err(of_parameter)
    }

    /// A δ by one accountant.
    fn delta_by(&self, py: Python<'_>, method: &str, epsilon: &str) -> PyResult<f64> {
        let (plan, accountant) = (self.plan.clone(), accountant(method)?);
        let epsilon = self::epsilon(epsilon)?;
        waiting(py, move || accountant.delta(&plan.event, &plan.unit, &epsilon))?
            .map(|delta| delta.to_f64_up())
            .map_err(of_parameter)
    }

    /// At least the Rényi divergence of each order.
    fn renyi(&self, py: Python<'_>, orders: Vec<f64>) -> PyResult<Vec<f64>> {
        let plan = self.plan.clone();
        waiting(py, move || {
            orders
                .into_iter()
                .map(|order| renyi_divergence(&plan.event, &plan.unit, order))
                .collect::<Result<Vec<f64>, Error>>()
        })?
        .map_err(of_parameter)
    }

    /// The ρ of everything.
    fn rho(&self, py: Python<'_>) -> PyResult<f64> {
        let plan = self.plan.clone();
        waiting(py, move || plan.event.concentrated())?
            .map(|rho| rho.to_f64_up())
            .map_err(of_parameter)
    }
}

fn accountant(name: &str) -> PyResult<Accountant> {
    let found = Accountant::ALL
        .into_iter()
        .find(|accountant| accountant.name() == name);
    found.ok_or_else(|| {
        let names = Accountant::ALL.map(Accountant::name).join(", ");
        of_parameter(format!("there is no such accountant\nhint: one of {names}"))
    })
}

/// The event as a ledger writes it, or why it is none.
#[pyfunction]
fn event_checked(text: &str) -> PyResult<String> {
    serde_json::to_string(&event(text)?).map_err(of_parameter)
}

/// σ²/Δ² for a noise multiplier σ/Δ, as an event keeps it.
#[pyfunction]
fn multiplier_squared(multiplier: &str) -> PyResult<String> {
    plan::multiplier_squared(multiplier)
        .map(|square| square.to_string())
        .map_err(of_mistake)
}

fn of_mistake(mistake: plan::Mistake) -> PyErr {
    of_parameter(format!("{}\nhint: {}", mistake.message(), mistake.hint()))
}

/// An ε that is at least ln of this ratio, which is at least 1.
#[pyfunction]
fn logarithm_up(ratio: &str) -> PyResult<String> {
    let ratio = Ratio::parse(ratio).map_err(of_parameter)?;
    if *ratio.as_rational() < Rational::ONE {
        return Err(of_parameter(
            "a ratio of probabilities is below 1\nhint: divide the larger one by the smaller one",
        ));
    }
    Epsilon::at_least(&Interval::ln_of(ratio.as_rational(), 256))
        .map(|epsilon| epsilon.to_string())
        .map_err(of_parameter)
}

/// The smallest noise multiplier that keeps (ε, δ) in private training, rounded up to a float that prints as no less.
#[pyfunction]
fn training_multiplier(
    py: Python<'_>,
    sampler: &str,
    steps: u64,
    epsilon: &str,
    delta: &str,
) -> PyResult<f64> {
    let sampler: Value = serde_json::from_str(sampler).map_err(of_parameter)?;
    let sampler: Sampler = serde_json::from_value(sampler).map_err(of_parameter)?;
    let (epsilon, delta) = (self::epsilon(epsilon)?, self::delta(delta)?);
    let found = waiting(py, move || {
        smallest_training_multiplier(&sampler, steps, &epsilon, &delta)
    })?;
    found
        .map(|multiplier| printed_up(multiplier.as_rational()))
        .map_err(of_parameter)
}

/// The smallest noise multiplier of one Gaussian that keeps (ε, δ), rounded up likewise.
#[pyfunction]
fn gaussian_multiplier(py: Python<'_>, epsilon: &str, delta: &str) -> PyResult<f64> {
    let (epsilon, delta) = (self::epsilon(epsilon)?, self::delta(delta)?);
    let found = waiting(py, move || smallest_multiplier(&epsilon, &delta))?;
    found
        .map(|multiplier| printed_up(&multiplier))
        .map_err(of_parameter)
}

/// A float whose shortest decimal, which is how Python prints it and how it is read back here, is not below `value`.
fn printed_up(value: &Rational) -> f64 {
    if value.is_zero() {
        return 0.0;
    }
    // Decimals of 15 digits are what the nearest float prints as.
    let nearest = to_f64_nearest(&decimal_at_least(value, DIGITS));
    if nearest.is_finite() {
        nearest
    } else {
        to_f64_up(value)
    }
}
