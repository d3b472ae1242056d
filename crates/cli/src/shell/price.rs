//! The cost of a query and the error of its answer, in a few lines, before it is asked.

use report::significant;
use sql::{Explanation, Forecast, OutputLine, readable};

/// Significant digits of an error: it is an expectation, not a measurement.
const DIGITS: usize = 2;

/// The price, the errors, and how far the budget goes.
pub(super) fn text(explanation: &Explanation, forecast: Option<&Forecast>) -> String {
    let mut text = format!("cost: {}\n", readable(&explanation.guarantee));
    let asked = explanation.parts.iter().filter(|part| !part.estimates_cut);
    let errors: Vec<String> = asked.flat_map(|part| &part.outputs).map(error).collect();
    if !errors.is_empty() {
        text += &format!(
            "expected error, in a group of {} rows: {}\n",
            explanation.group_size,
            errors.join("; ")
        );
    }
    if let Some(forecast) = forecast {
        text += &forecast.to_text();
    }
    text
}

fn error(line: &OutputLine) -> String {
    let Some(expected) = line.expected_error else {
        return format!("{} depends on the data", line.name);
    };
    let within = line.half_width.map_or(String::new(), |half| {
        format!(
            ", and within ± {} with 95 % confidence",
            significant(half, DIGITS)
        )
    });
    let counted = match line.error_in {
        "units of the value" => String::new(),
        other => format!(" {other}"),
    };
    format!(
        "{} about {}{counted}{within}",
        line.name,
        significant(expected, DIGITS)
    )
}
