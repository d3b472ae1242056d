//! A fit as people read it: the table of R's `summary(lm)`, LaTeX, and a forest plot.

use crate::hypothesis::{Mean, Test};
use crate::{Coefficient, Family, Fit};
use report::{Column, Effect, Table, significant};

/// A p-value as R prints it.
fn p_value(p: f64) -> String {
    if p < 2e-16 {
        return "< 2e-16".to_owned();
    }
    significant(p, 3)
}

/// As many stars as R has for a p-value.
fn stars(p: f64) -> &'static str {
    match p {
        _ if p < 0.001 => "***",
        _ if p < 0.01 => "**",
        _ if p < 0.05 => "*",
        _ if p < 0.1 => ".",
        _ => "",
    }
}

fn family(fit: &Fit) -> (&'static str, &'static str) {
    match fit.family {
        Family::Linear => ("linear regression (least squares)", "t"),
        Family::Logistic => ("logistic regression (coefficients are log odds)", "z"),
        Family::Poisson => ("Poisson regression (coefficients are logs of means)", "z"),
    }
}

fn table_of(coefficients: &[Coefficient], first: &'static str, letter: &'static str) -> String {
    let statistic = if letter == "t" { "t value" } else { "z value" };
    let probability = if letter == "t" { "Pr(>|t|)" } else { "Pr(>|z|)" };
    let mut table = Table::new([
        Column::Left(first),
        Column::Right("estimate"),
        Column::Right("std. error"),
        Column::Right("of it noise"),
        Column::Right(statistic),
        Column::Right(probability),
        Column::Left(""),
        Column::Right("2.5 %"),
        Column::Right("97.5 %"),
    ]);
    for known in coefficients {
        table.row([
            known.name.clone(),
            significant(known.estimate, 5),
            significant(known.error, 3),
            significant(known.noise_error, 3),
            significant(known.statistic, 3),
            p_value(known.p),
            stars(known.p).to_owned(),
            significant(known.low, 5),
            significant(known.high, 5),
        ]);
    }
    table.to_string()
}

const LEGEND: &str = "*** below 0.001, ** below 0.01, * below 0.05, . below 0.1\n\
    std. error: over samples of rows and over noise; of it noise: over noise alone, as if the rows were everybody\n";

/// The table of coefficients and what goes with it, as text.
pub fn text(fit: &Fit) -> String {
    let (name, letter) = family(fit);
    let mut text = format!("{}\n{name}\n\n", fit.formula);
    text.push_str(&table_of(&fit.coefficients, "", letter));
    text.push_str(LEGEND);
    for name in &fit.left_out {
        text.push_str(&format!("not estimated, too few rows for this noise: {name}\n"));
    }
    text.push('\n');
    text.push_str(&format!(
        "rows: {} ± {}\n",
        report::grouped(fit.rows.value.max(0.0).round() as u64),
        significant(1.96 * fit.rows.deviation, 2)
    ));
    if let Some(error) = fit.residual_error {
        text.push_str(&format!("residual standard error: {}\n", significant(error, 4)));
    }
    if let Some(share) = fit.r_squared {
        let name = if fit.family == Family::Linear {
            "R²"
        } else {
            "McFadden's R²"
        };
        text.push_str(&format!("{name}: {}", significant(share, 4)));
        if let Some(adjusted) = fit.adjusted_r_squared {
            text.push_str(&format!(", adjusted {}", significant(adjusted, 4)));
        }
        text.push('\n');
    }
    if let Some(overall) = &fit.overall {
        let of = match overall.denominator {
            Some(rest) => format!(
                "F = {} on {} and {} degrees of freedom",
                significant(overall.statistic, 4),
                overall.freedom,
                report::grouped(rest.max(0.0) as u64)
            ),
            None => format!(
                "χ² = {} on {} degrees of freedom",
                significant(overall.statistic, 4),
                overall.freedom
            ),
        };
        text.push_str(&format!("all slopes are 0: {of}, p = {}\n", p_value(overall.p)));
    }
    for note in &fit.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    text
}

/// Means of groups and their differences, as text.
pub fn means_text(means: &[Mean], contrasts: &[Coefficient]) -> String {
    let mut table = Table::new([
        Column::Left("group"),
        Column::Right("rows"),
        Column::Right("mean"),
        Column::Right("std. error"),
        Column::Right("of it noise"),
        Column::Right("2.5 %"),
        Column::Right("97.5 %"),
        Column::Right("std. deviation"),
    ]);
    for group in means {
        table.row([
            group.mean.name.clone(),
            report::grouped(group.rows.max(0.0).round() as u64),
            significant(group.mean.estimate, 5),
            significant(group.mean.error, 3),
            significant(group.mean.noise_error, 3),
            significant(group.mean.low, 5),
            significant(group.mean.high, 5),
            significant(group.deviation, 4),
        ]);
    }
    let mut text = table.to_string();
    if !contrasts.is_empty() {
        text.push('\n');
        text.push_str(&table_of(contrasts, "difference", "t"));
        text.push_str("p-values are adjusted for how many differences there are (Holm); intervals are not\n");
    }
    text
}

/// The result of a test, as text.
pub fn test_text(test: &Test) -> String {
    let mut text = format!("{}\n", test.name);
    if !test.estimates.is_empty() {
        text.push_str(&table_of(
            &test.estimates,
            "",
            if test.name.contains("means") { "t" } else { "z" },
        ));
        text.push_str(LEGEND);
    }
    match test.freedom {
        Some(freedom) => text.push_str(&format!(
            "χ² = {} on {freedom} degrees of freedom, p = {}\n",
            significant(test.statistic, 4),
            p_value(test.p)
        )),
        None => text.push_str(&format!(
            "statistic = {}, p = {}\n",
            significant(test.statistic, 4),
            p_value(test.p)
        )),
    }
    if let Some(strength) = test.strength {
        text.push_str(&format!("strength (Cramér's V): {}\n", significant(strength, 3)));
    }
    text.push_str(&format!("p-value: {}\n", test.method));
    for note in &test.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    text
}

/// The table of coefficients for a paper. It needs the package `booktabs`. `caption` says whose privacy was kept how.
pub fn latex(fit: &Fit, caption: &str) -> String {
    let (name, letter) = family(fit);
    let mut text = format!(
        "\\begin{{table}}\n\\centering\n\\caption{{{}: {name}. {}}}\n\\begin{{tabular}}{{lrrrrrr}}\n\\toprule\n\
         & Estimate & Std.\\ error & of it noise & ${letter}$ & $p$ & 95\\,\\% interval \\\\\n\\midrule\n",
        escaped(&fit.formula),
        escaped(caption)
    );
    for known in &fit.coefficients {
        let p = p_value(known.p).replace("< 2e-16", "$<2\\cdot10^{-16}$");
        text.push_str(&format!(
            "{} & {} & {} & {} & {} & {p} & {} to {} \\\\\n",
            escaped(&known.name),
            math(known.estimate, 5),
            math(known.error, 3),
            math(known.noise_error, 3),
            math(known.statistic, 3),
            math(known.low, 4),
            math(known.high, 4),
        ));
    }
    text.push_str("\\midrule\n");
    let mut line = |what: &str, value: String| text.push_str(&format!("{what} & {value} \\\\\n"));
    line("Rows", format!("{:.0}", fit.rows.value));
    if let Some(share) = fit.r_squared {
        line("$R^2$", math(share, 3));
    }
    if let Some(error) = fit.residual_error {
        line("Residual std.\\ error", math(error, 4));
    }
    text.push_str("\\bottomrule\n\\end{tabular}\n\\end{table}\n");
    text
}

fn math(value: f64, digits: usize) -> String {
    let written = significant(value, digits);
    match written.split_once('e') {
        Some((digits, exponent)) => format!("${digits}\\cdot10^{{{exponent}}}$"),
        None => format!("${written}$"),
    }
}

/// Text that LaTeX prints as it is.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            '~' => escaped.push_str("$\\sim$"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '\\' => escaped.push_str("\\textbackslash{}"),
            'ε' => escaped.push_str("$\\varepsilon$"),
            'δ' => escaped.push_str("$\\delta$"),
            'ρ' => escaped.push_str("$\\rho$"),
            '−' => escaped.push_str("$-$"),
            _ if letter.is_control() => escaped.push(' '),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// A forest plot of the coefficients, without the intercept, as SVG.
pub fn forest(fit: &Fit) -> String {
    let scale = match fit.family {
        Family::Linear => format!("difference of {}", fit.response),
        Family::Logistic => format!("difference of the log odds of {}", fit.response),
        Family::Poisson => format!("difference of the log of {}", fit.response),
    };
    report::forest(
        &fit.formula,
        &scale,
        0.0,
        &effects(fit.coefficients.iter().skip(1)),
    )
}

fn effects<'a>(coefficients: impl Iterator<Item = &'a Coefficient>) -> Vec<Effect> {
    coefficients
        .map(|known| Effect {
            name: known.name.clone(),
            value: known.estimate,
            interval: (known.low, known.high),
            noise: Some((
                known.estimate - 1.96 * known.noise_error,
                known.estimate + 1.96 * known.noise_error,
            )),
        })
        .collect()
}
