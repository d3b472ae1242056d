//! The answers, reported to a person or to a program.

use super::explained;
use super::question::Asked;
use crate::terminal::CliError;
use accounting::{
    Accountant, Answer, Answers, Curve, Delta, Epsilon, Error, Event, Found, PrivacyUnit, Promise, Quantity,
    Risk, Row, times_certified, what_it_means_for_one_person,
};
use exact::{Rational, decimal_at_least, decimal_at_most, format_decimal, ratio, to_f64_nearest};
use report::{Column, Figure, Findings, Table, significant};
use serde_json::{Map, Value, json};

/// Significant digits that people read; rounded outward, so that the words stay true.
const DIGITS: u32 = 7;
/// From here on, ε says little.
const WEAK: u32 = 10;

/// What a plan costs, ready to be reported.
#[derive(Debug)]
pub(super) struct Report {
    words: String,
    event: Event,
    unit: PrivacyUnit,
    question: Asked,
    answers: Answers,
    /// (ε, δ) that certainly holds, and what it means for one person.
    meaning: Meaning,
}

#[derive(Debug)]
struct Meaning {
    epsilon: Epsilon,
    delta: Delta,
    risks: Vec<(Rational, Risk)>,
}

/// The answers once: for people, for programs, and on a page.
pub(super) fn findings(text: String, json: Value, figure: Option<Figure>) -> Findings {
    Findings {
        introduction: text.clone(),
        text,
        json,
        title: "What these releases cost together",
        rows: Vec::new(),
        figures: figure.into_iter().collect(),
    }
}

impl Report {
    /// Asks every accountant; an error if none has an answer.
    pub(super) fn new(
        words: String,
        event: Event,
        unit: PrivacyUnit,
        question: Asked,
    ) -> Result<Self, CliError> {
        // One reason for all accountants is an error, not a table of seven refusals.
        event.check_unit(&unit).map_err(explained)?;
        let answers = Answers::of(&event, &unit, &question.answers);
        if let Some(error) = answers.silence() {
            return Err(explained(error));
        }
        if let Some(accountant) = answers.contradiction() {
            return Err(CliError::check_failed(format!(
                "the accountant `{}` promises more than the certified answer allows: one of them is wrong, so neither is reported",
                accountant.name()
            ))
            .with_hint("this is a fault of deniable; please report it with the command line"));
        }
        let (epsilon, delta) = match (
            answers.best_epsilon(),
            &question.answers.delta,
            answers.best_delta(),
            &question.answers.epsilon,
        ) {
            (Some(epsilon), Some(delta), _, _) => (epsilon.clone(), delta.clone()),
            (_, _, Some(delta), Some(epsilon)) => (epsilon.clone(), delta.clone()),
            _ => {
                return Err(
                    CliError::bad_input("no accountant has an answer").with_hint("ask with --delta 1e-6")
                );
            }
        };
        let priors = match &question.prior {
            Some(prior) => vec![prior.clone()],
            None => vec![ratio(1, 100), ratio(1, 2)],
        };
        let risks = priors
            .into_iter()
            .map(|prior| {
                let risk = what_it_means_for_one_person(&prior, &epsilon, &delta)?;
                Ok((prior, risk))
            })
            .collect::<Result<Vec<_>, Error>>()
            .map_err(explained)?;
        Ok(Self {
            words,
            event,
            unit,
            question,
            answers,
            meaning: Meaning {
                epsilon,
                delta,
                risks,
            },
        })
    }

    pub(super) fn unit(&self) -> &PrivacyUnit {
        &self.unit
    }

    pub(super) fn question(&self) -> &Asked {
        &self.question
    }

    /// What a reader should know besides the numbers.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if *self.meaning.epsilon.as_rational() > Rational::from(WEAK) {
            let factor = Promise::Approximate(self.meaning.epsilon.clone(), self.meaning.delta.clone());
            warnings.push(format!(
                "{} protects little: what happens to somebody can become e^ε times as likely",
                short_promise(&factor)
            ));
        }
        let failed = self.answers.certified().and_then(|row| {
            let epsilon = row.epsilon.as_ref().and_then(|answer| answer.as_ref().err());
            epsilon.or_else(|| row.delta.as_ref().and_then(|answer| answer.as_ref().err()))
        });
        if let Some(error) = failed {
            warnings.push(format!("there is no certified answer: {}", first_line(error)));
        } else if !Curve::of(&self.event, &self.unit).is_ok_and(|curve| curve.is_attained()) {
            warnings
                .push("the certified answer is a bound on these events: the truth may be smaller".to_owned());
        } else if self.is_wide() {
            warnings.push(
                "the certified interval is wide; its upper end holds, and fewer different releases would make it tighter".to_owned(),
            );
        }
        warnings
    }

    /// Whether the ends of the certified interval are more than a hundredth apart.
    fn is_wide(&self) -> bool {
        fn wide<T: Quantity>(answer: Option<&Answer<T>>) -> bool {
            let Some(Ok(Found {
                lower: Some(lower),
                upper,
            })) = answer
            else {
                return false;
            };
            lower.value() * exact::ratio(101, 100) < *upper.value()
        }
        self.answers
            .certified()
            .is_some_and(|row| wide(row.epsilon.as_ref()) || wide(row.delta.as_ref()))
    }

    pub(super) fn to_text(&self) -> String {
        self.to_text_with(&self.warnings())
    }

    /// The same, with the warnings of a command that has more of them.
    pub(super) fn to_text_with(&self, warnings: &[String]) -> String {
        let mut text = format!("{}\nfor {}\n", self.words, self.unit);
        if let Some(delta) = &self.question.answers.delta {
            text += &format!(
                "\nat δ = {delta}:\n{}",
                self.table("ε", |row| row.epsilon.as_ref())
            );
        }
        if let Some(epsilon) = &self.question.answers.epsilon {
            text += &format!(
                "\nat ε = {epsilon}:\n{}",
                self.table("δ", |row| row.delta.as_ref())
            );
        }
        if let Some(size) = self.question.answers.group {
            text += &format!("\nto any {size} of them together:\n{}", self.group_table());
        }
        text += &format!("\n{}", self.meaning_words());
        for warning in warnings {
            text += &format!("warning: {warning}\n");
        }
        text
    }

    /// What each accountant says of one quantity, beside the certified answer; below, why some say nothing.
    fn table<T: Quantity>(
        &self,
        symbol: &'static str,
        answer: impl Fn(&Row) -> Option<&Answer<T>>,
    ) -> String {
        let mut table = Table::new([
            Column::Left("accountant"),
            Column::Right(symbol),
            Column::Right("× certified"),
        ]);
        let certified = self.answers.certified().and_then(&answer);
        let mut silent = String::new();
        for row in &self.answers.rows {
            let name = full_name(row.accountant);
            match answer(row) {
                Some(Ok(found)) => {
                    let times = certified.and_then(|certified| times_certified(found, certified));
                    let times = times.map_or(String::new(), |times| significant(times, 4));
                    table.row([name.to_owned(), found_words(found), times]);
                }
                Some(Err(error)) => silent += &format!("{name}: not applicable: {}\n", first_line(error)),
                None => {}
            }
        }
        format!("{table}{silent}")
    }

    fn group_table(&self) -> String {
        let mut table = Table::new([Column::Left("accountant"), Column::Left("promised to the group")]);
        for row in &self.answers.rows {
            let said = match &row.group {
                Some(Ok(promise)) => short_promise(promise),
                Some(Err(Error::DeltaTooLarge { .. })) => "nothing: its δ would be 1 or more".to_owned(),
                Some(Err(error)) => format!("nothing: {}", first_line(error)),
                None => continue,
            };
            table.row([full_name(row.accountant).to_owned(), said]);
        }
        table.to_string()
    }

    fn meaning_words(&self) -> String {
        let Meaning {
            epsilon,
            delta,
            risks,
        } = &self.meaning;
        let promise = Promise::Approximate(epsilon.clone(), delta.clone());
        let mut text = format!(
            "What {} means for one {}, whatever is done with the answers:\n",
            short_promise(&promise),
            self.unit.whose
        );
        for (prior, risk) in risks {
            text += &format!(
                "  a risk of {} for someone who stays out is between {} and {} for someone who takes part\n",
                percent(prior, decimal_at_least),
                percent(&risk.at_least, decimal_at_most),
                percent(&risk.at_most, decimal_at_least),
            );
            if let Some(cost) = &self.question.cost {
                text += &format!(
                    "  insuring a loss of {} at that risk is worth {} for the first, and at most {} for the second\n",
                    format_decimal(cost),
                    money(&(prior * cost)),
                    money(&risk.fair_price_at_most(cost)),
                );
            }
        }
        text
    }

    /// One object with everything.
    pub(super) fn to_json(&self) -> Value {
        Value::Object(self.object())
    }

    /// The same, for a command that has more to say.
    pub(super) fn object(&self) -> Map<String, Value> {
        let question = &self.question.answers;
        let certified = self.answers.certified();
        let epsilon = certified.and_then(|row| row.epsilon.as_ref()?.as_ref().ok());
        let delta = certified.and_then(|row| row.delta.as_ref()?.as_ref().ok());
        // Every accountant's bound holds: without the certified one, the best of the others is still an upper
        // end.
        let epsilon_upper = epsilon.map(|found| &found.upper).or(self.answers.best_epsilon());
        let delta_upper = delta.map(|found| &found.upper).or(self.answers.best_delta());
        let fields = [
            ("plan", json!(self.words)),
            ("unit", json!(self.unit)),
            (
                "delta",
                json!(
                    question
                        .delta
                        .as_ref()
                        .map(|delta| to_f64_nearest(delta.as_rational()))
                ),
            ),
            ("delta_exact", json!(question.delta)),
            (
                "epsilon_lower",
                json!(
                    // If nothing is known to be needed, 0 is what certainly is.
                    epsilon.map(|found| found.lower.as_ref().map_or(0.0, Epsilon::to_f64_down))
                ),
            ),
            ("epsilon_upper", json!(epsilon_upper.map(Epsilon::to_f64_up))),
            (
                "epsilon",
                json!(
                    question
                        .epsilon
                        .as_ref()
                        .map(|epsilon| to_f64_nearest(epsilon.as_rational()))
                ),
            ),
            ("epsilon_exact", json!(question.epsilon)),
            (
                "delta_lower",
                json!(delta.map(|found| found.lower.as_ref().map_or(0.0, Delta::to_f64_down))),
            ),
            ("delta_upper", json!(delta_upper.map(Delta::to_f64_up))),
            (
                "accountants",
                self.answers.rows.iter().map(|row| self.row_json(row)).collect(),
            ),
            ("group", json!(question.group)),
            ("meaning", self.meaning_json()),
            ("warnings", json!(self.warnings())),
            ("event", json!(self.event)),
        ];
        fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    fn row_json(&self, row: &Row) -> Value {
        let certified = self.answers.certified();
        let why_no_epsilon = row.epsilon.as_ref().and_then(|answer| answer.as_ref().err());
        let why_no_delta = row.delta.as_ref().and_then(|answer| answer.as_ref().err());
        let epsilon = row.epsilon.as_ref().and_then(|answer| answer.as_ref().ok());
        let delta = row.delta.as_ref().and_then(|answer| answer.as_ref().ok());
        let times = epsilon
            .zip(certified.and_then(|row| row.epsilon.as_ref()))
            .and_then(|(found, certified)| times_certified(found, certified))
            .or_else(|| {
                let pair = delta.zip(certified.and_then(|row| row.delta.as_ref()));
                pair.and_then(|(found, certified)| times_certified(found, certified))
            });
        json!({
            "name": row.accountant.name(),
            "epsilon": epsilon.map(|found| found.upper.to_f64_up()),
            "epsilon_exact": epsilon.map(|found| &found.upper),
            "delta": delta.map(|found| found.upper.to_f64_up()),
            "delta_exact": delta.map(|found| &found.upper),
            "times_certified": times,
            "group": row.group.as_ref().map(|group| match group {
                Ok(promise) => json!(promise),
                Err(error) => json!({ "nothing": first_line(error) }),
            }),
            "why_no_epsilon": why_no_epsilon.map(first_line),
            "why_no_delta": why_no_delta.map(first_line),
        })
    }

    fn meaning_json(&self) -> Value {
        let Meaning {
            epsilon,
            delta,
            risks,
        } = &self.meaning;
        let risks: Vec<Value> = risks
            .iter()
            .map(|(prior, risk)| {
                json!({
                    "prior": format_decimal(prior),
                    "at_least": format_decimal(&risk.at_least),
                    "at_most": format_decimal(&risk.at_most),
                    "cost": self.question.cost.as_ref().map(format_decimal),
                    "fair_price_at_most": self
                        .question
                        .cost
                        .as_ref()
                        .map(|cost| format_decimal(&risk.fair_price_at_most(cost))),
                })
            })
            .collect();
        json!({ "epsilon": epsilon, "delta": delta, "risks": risks })
    }
}

/// What people call an accountant.
pub(crate) fn full_name(accountant: Accountant) -> &'static str {
    match accountant {
        Accountant::Basic => "basic: sums",
        Accountant::Advanced => "advanced composition",
        Accountant::Optimal => "optimal composition",
        Accountant::Concentrated => "zCDP: sums of ρ",
        Accountant::Renyi => "Rényi",
        Accountant::Gaussian => "Gaussian DP",
        Accountant::Numerical => "certified",
    }
}

/// `2.5`, or `2.499999 to 2.500001` where both ends are known and differ.
fn found_words<T: Quantity>(found: &Found<T>) -> String {
    let upper = decimal_at_least(found.upper.value(), DIGITS);
    match found
        .lower
        .as_ref()
        .map(|lower| decimal_at_most(lower.value(), DIGITS))
    {
        Some(lower) if lower != upper => format!("{} to {}", format_decimal(&lower), format_decimal(&upper)),
        _ => format_decimal(&upper),
    }
}

/// A promise with the digits that people read, rounded up.
pub(crate) fn short_promise(promise: &Promise) -> String {
    let up = |value: &Rational| format_decimal(&decimal_at_least(value, DIGITS));
    match promise {
        Promise::Pure(epsilon) => format!("ε = {}", up(epsilon.as_rational())),
        Promise::Approximate(epsilon, delta) if *delta == Delta::ZERO => {
            format!("ε = {}", up(epsilon.as_rational()))
        }
        Promise::Approximate(epsilon, delta) => {
            format!(
                "ε = {}, δ = {}",
                up(epsilon.as_rational()),
                up(delta.as_rational())
            )
        }
        Promise::Concentrated(rho) => format!("ρ = {}", up(rho.as_rational())),
    }
}

/// A probability in per cent, to six digits.
fn percent(value: &Rational, round: fn(&Rational, u32) -> Rational) -> String {
    format!("{} %", format_decimal(&round(&(value * ratio(100, 1)), 6)))
}

/// An amount with two decimals, rounded up.
fn money(value: &Rational) -> String {
    let cents = (value * ratio(100, 1)).ceil();
    let text = format_decimal(&(Rational::from(cents) / ratio(100, 1)));
    match text.split_once('.') {
        None => text,
        Some((_, fraction)) if fraction.len() == 2 => text,
        Some(_) => format!("{text}0"),
    }
}

/// What an error says, without its hint.
pub(crate) fn first_line(error: &Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}
