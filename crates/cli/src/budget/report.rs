//! What was spent, reported to a person or to a program.

use crate::account::report::{first_line, full_name, short_promise};
use crate::train::TRAINING;
use accounting::{Accountant, Delta, Epsilon, Promise};
use exact::{Rational, decimal_at_least, format_decimal, to_f64_nearest};
use ledger::{More, Spent, epsilon_of, utc};
use report::{Column, DynamicTable, Heading, Table, cut, grouped, significant};
use serde_json::{Value, json};

/// Significant digits that people read; rounded up, so that the words stay true.
const DIGITS: u32 = 5;
/// Purposes are reported in at least this many columns.
const LEAST_PURPOSE: usize = 20;

/// Tables as wide as the terminal; `verbose` counts the same charges in other ways too.
pub(super) fn text(spent: &Spent, width: usize, verbose: bool) -> String {
    let mut text = format!("{}: {}\n", spent.dataset, spent.rules);
    if let Some(other) = &spent.other_rules {
        text += &format!(
            "warning: the catalog states other rules, and no query is answered until they agree: {other}\nhint: if the change is meant: deniable budget adopt\n"
        );
    }
    if let Some(last) = spent.charges.last() {
        text += &spent_words(spent, last);
    }
    text += &left_words(spent, verbose);
    if let Some(verified) = &spent.verified {
        text += &format!(
            "the chain is whole: {} entries, head {}\n",
            verified.entries, verified.head
        );
    }
    if spent.charges.is_empty() {
        text += "nothing was charged yet; `deniable query` asks something, and `deniable explain` says what it would cost\n";
    }
    if !spent.analysts().is_empty() {
        text += &format!("\n{}", analysts(spent, verbose));
    }
    if spent.charges.is_empty() {
        return text;
    }
    if verbose {
        text += &format!("\n{}", guarantees(spent));
    }
    text += &format!("\n{}", charges(spent, width));
    if !verbose {
        text += "\nwhat all charges guarantee together, as each accountant counts it: deniable budget --verbose\n";
    }
    text
}

/// All in one line: how much, of how much, by how many charges, and when the last one was. The number is the
/// one that is enforced.
fn spent_words(spent: &Spent, last: &ledger::Entry) -> String {
    let many = spent.charges.len();
    let used = spent.used.as_ref().map(|used| &used.promise);
    let how_much = match (used, spent.rules.budget.limit()) {
        (None, _) => String::new(),
        (Some(None), _) => "more than the budget allows, under earlier rules, by ".to_owned(),
        (
            Some(Some(Promise::Pure(used) | Promise::Approximate(used, _))),
            Promise::Pure(limit) | Promise::Approximate(limit, _),
        ) => format!("ε = {} of {limit}, by ", up(used)),
        (Some(Some(Promise::Concentrated(used))), Promise::Concentrated(limit)) => {
            format!("ρ = {} of {limit}, by ", short(used.as_rational()))
        }
        (Some(Some(other)), _) => format!("{other}, by "),
    };
    let mut words = format!(
        "spent: {how_much}{many} charge{}, the last on {} UTC by {}\n",
        if many == 1 { "" } else { "s" },
        utc(last.time),
        last.analyst
    );
    if spent.rules.reserve != Delta::ZERO
        && let Some(used) = &spent.used
    {
        words += &format!(
            "spent of the δ set aside for private groups: {} of {}\n",
            short(used.reserve.as_rational()),
            spent.rules.reserve
        );
    }
    words
}

fn left_words(spent: &Spent, verbose: bool) -> String {
    let left = &spent.left;
    let mut words = format!("left: ε = {} (if spent in one more query", left.epsilon);
    if left.share.as_ref().is_some_and(|share| *share < left.dataset) {
        words += &format!(
            " by {}, whose share it is; everybody together has ε = {}",
            spent.analyst, left.dataset
        );
    }
    words += ")";
    if let Some(typical) = &spent.typical {
        words += &format!(
            "; {} more queries at ε = {}, the usual of this catalog",
            about(typical.more),
            typical.epsilon
        );
    }
    words += "\n";
    if verbose && enforces_divergences(spent) {
        words += "note: \"spent\" is what the ledger enforces, counted by Rényi divergences. \"left\" is for an ε-DP release: training and\n      Gaussian noise have a δ of their own, and may fit at a larger ε or only at a smaller one\n";
    }
    words
}

/// A number of queries, as people say it.
fn about(more: More) -> String {
    match (more.count, more.at_least) {
        (0, _) => "no".to_owned(),
        (count, true) => format!("at least {}", grouped(count)),
        (count, false) => format!("about {}", grouped(count)),
    }
}

/// Whether the budget is an (ε, δ), so that what is enforced is no sum that people could do themselves.
fn enforces_divergences(spent: &Spent) -> bool {
    matches!(spent.rules.budget.limit(), Promise::Approximate(_, delta) if *delta != Delta::ZERO)
}

/// What everything together guarantees.
fn guarantees(spent: &Spent) -> String {
    let delta = spent.delta();
    let at = if delta == Delta::ZERO {
        String::new()
    } else {
        format!(" at δ = {delta}")
    };
    let mut table = Table::new([Column::Left("everything so far"), Column::Right("ε")]);
    let used = spent.used.as_ref().and_then(|used| used.promise.as_ref());
    let used = used.and_then(epsilon_of);
    let limit = epsilon_of(spent.rules.budget.limit());
    if enforces_divergences(spent)
        && let (Some(used), Some(limit)) = (used, limit)
    {
        table.row([format!("spent, which may be {limit} at most"), up(used)]);
    }
    let sum = spent.sum().as_ref().and_then(epsilon_of).map(up);
    if let Some(sum) = &sum {
        table.row(["sums of what each promised".to_owned(), sum.clone()]);
    }
    // An accountant with nothing to say about what ran is left out: another one has. So is one that says the
    // same as the sums.
    for (accountant, epsilon) in &spent.accountants {
        if let Ok(epsilon) = epsilon
            && !(*accountant == Accountant::Basic && sum.as_ref() == Some(&up(epsilon)))
        {
            table.row([full_name(*accountant).to_owned(), up(epsilon)]);
        }
    }
    if let Ok(epsilon) = &spent.odometer {
        table.row(["odometer: whenever one stops".to_owned(), up(epsilon)]);
    }
    let mut text = format!("what {} charges guarantee{at}:\n{table}", spent.charges.len());
    if enforces_divergences(spent) {
        text += "Only the first number is enforced. The others count the same charges in other ways: sums know least and may be above the budget; the\n\
                 accountants hold if all charges had been fixed in advance; the odometer holds whenever one stops, and pays for that.\n";
    }
    text
}

fn analysts(spent: &Spent, verbose: bool) -> String {
    let typical = spent.typical.as_ref();
    let queries = typical.map(|typical| format!("more queries at ε = {}", typical.epsilon));
    let mut columns = vec![
        Heading::left("analyst"),
        Heading::right("charges"),
        Heading::right("spent, as a sum of ε"),
        Heading::right("left, ε of one query"),
    ];
    columns.extend(queries.as_deref().map(Heading::right));
    columns.push(Heading::left("may spend"));
    if verbose {
        columns.push(Heading::right("of what was spent"));
    }
    let mut table = DynamicTable::new(columns);
    let all = spent.sum();
    let all = all.as_ref().and_then(epsilon_of);
    for (name, analyst) in spent.analysts() {
        let epsilon = analyst.sum.as_ref().and_then(epsilon_of);
        let part = epsilon
            .zip(all)
            .filter(|(_, all)| **all > Epsilon::ZERO)
            .map(|(epsilon, all)| {
                let part = to_f64_nearest(&(epsilon.as_rational() / all.as_rational()));
                format!("{} %", significant(part * 100.0, 3))
            });
        let share = spent.rules.share_of(name);
        let left = spent.left_of.get(name).map(ToString::to_string);
        let mut row = vec![
            name.to_owned(),
            analyst.charges.to_string(),
            epsilon.map_or("—".to_owned(), up),
            left.unwrap_or_default(),
        ];
        row.extend(typical.map(|typical| typical.more_of.get(name).copied().map_or_else(String::new, about)));
        row.push(match share {
            Some(share) => format!("{} of the budget", format_decimal(share)),
            None if spent.rules.shares.is_empty() => "what is left".to_owned(),
            None => "none".to_owned(),
        });
        if verbose {
            row.push(part.unwrap_or_default());
        }
        table.row(row);
    }
    let of_rho = |charge: &ledger::Entry| matches!(charge.guarantee.promise(), Promise::Concentrated(_));
    let note = match epsilon_of(spent.rules.budget.limit()).is_some() && spent.charges.iter().any(of_rho) {
        true => format!(
            "in sums, all that promises a ρ counts together, as an ε at δ = {}\n",
            spent.delta()
        ),
        false => String::new(),
    };
    format!("{table}{note}")
}

fn charges(spent: &Spent, width: usize) -> String {
    let rows: Vec<[String; 6]> = spent
        .charges
        .iter()
        .map(|charge| {
            [
                charge.number.to_string(),
                utc(charge.time),
                charge.analyst.clone(),
                short_promise(charge.guarantee.promise()),
                match (is_training(charge), charge.answered) {
                    (true, _) => "training",
                    (false, true) => "yes",
                    (false, false) => "no",
                }
                .to_owned(),
                charge.purpose.clone(),
            ]
        })
        .collect();
    // What the other columns leave, with two spaces between each.
    let columns: usize = (0..5)
        .map(|place| {
            rows.iter()
                .map(|row| row[place].chars().count())
                .max()
                .unwrap_or(0)
        })
        .zip([6, 16, 7, 8, 8])
        .map(|(cells, heading)| cells.max(heading) + 2)
        .sum();
    let room = width.saturating_sub(columns).max(LEAST_PURPOSE);
    let mut table = Table::new([
        Column::Right("charge"),
        Column::Left("when (UTC)"),
        Column::Left("analyst"),
        Column::Left("promises"),
        Column::Left("answered"),
        Column::Left("what for"),
    ]);
    for mut row in rows {
        row[5] = cut(&row[5], room);
        table.row(row);
    }
    table.to_string()
}

/// Whether a charge is for training a model. Of a question the ledger keeps a digest in this place.
fn is_training(charge: &ledger::Entry) -> bool {
    charge.question.starts_with(TRAINING)
}

fn up(epsilon: &Epsilon) -> String {
    short(epsilon.as_rational())
}

fn short(value: &Rational) -> String {
    format_decimal(&decimal_at_least(value, DIGITS))
}

/// How many more queries fit, for a program.
fn queries(more: &More) -> Value {
    json!({ "count": more.count, "at_least": more.at_least })
}

/// One object with everything.
pub(super) fn json(spent: &Spent) -> Value {
    let numbers = |promise: Option<&Promise>| match promise {
        Some(Promise::Pure(epsilon)) => json!({ "epsilon": epsilon, "delta": Delta::ZERO }),
        Some(Promise::Approximate(epsilon, delta)) => json!({ "epsilon": epsilon, "delta": delta }),
        Some(Promise::Concentrated(rho)) => json!({ "rho": rho }),
        None => Value::Null,
    };
    let accountants: Vec<Value> = spent
        .accountants
        .iter()
        .map(|(accountant, epsilon)| {
            json!({
                "name": accountant.name(),
                "epsilon": epsilon.as_ref().ok(),
                "why_no_epsilon": epsilon.as_ref().err().map(first_line),
            })
        })
        .collect();
    let analysts: Vec<Value> = spent
        .analysts()
        .into_iter()
        .map(|(name, analyst)| {
            json!({
                "name": name,
                "charges": analyst.charges,
                "sum": numbers(analyst.sum.as_ref()),
                "share": spent.rules.share_of(name).map(format_decimal),
                "left": spent.left_of.get(name),
                "typical_queries": spent.typical.as_ref().and_then(|typical| typical.more_of.get(name)).map(queries),
            })
        })
        .collect();
    let charges: Vec<Value> = spent
        .charges
        .iter()
        .map(|charge| {
            json!({
                "number": charge.number,
                "milliseconds": charge.time,
                "time": utc(charge.time),
                "analyst": charge.analyst,
                "promise": numbers(Some(charge.guarantee.promise())),
                "kind": if is_training(charge) { "training" } else { "question" },
                // Nobody writes down how far a run of training came: that depends on the data.
                "answered": (!is_training(charge)).then_some(charge.answered),
                "purpose": charge.purpose,
                "event": charge.event,
            })
        })
        .collect();
    json!({
        "dataset": spent.dataset,
        "summary": {
            "releases": spent.charges.len(),
            "epsilon_spent": spent.used.as_ref().and_then(|used| epsilon_of(used.promise.as_ref()?)),
            "epsilon_limit": epsilon_of(spent.rules.budget.limit()),
            "last": spent.charges.last().map(|last| json!({
                "number": last.number,
                "time": utc(last.time),
                "analyst": last.analyst,
            })),
        },
        "rules": spent.rules,
        "catalog_states_other_rules": spent.other_rules,
        "verified": spent.verified.as_ref().map(|verified| json!({
            "entries": verified.entries,
            "charges": verified.charges,
            "head": verified.head,
        })),
        "analyst": spent.analyst,
        "enforced": {
            "by": if enforces_divergences(spent) { "renyi" } else { "sums" },
            "spent": numbers(spent.used.as_ref().and_then(|used| used.promise.as_ref())),
            "limit": numbers(Some(spent.rules.budget.limit())),
            "over": spent.used.as_ref().is_some_and(|used| used.promise.is_none()),
            "reserve_spent": spent.used.as_ref().map(|used| &used.reserve),
            "reserve": spent.rules.reserve,
        },
        "left": {
            "epsilon": spent.left.epsilon,
            "dataset": spent.left.dataset,
            "share": spent.left.share,
            "typical_queries": spent.typical.as_ref().map(|typical| queries(&typical.more)),
        },
        "typical_epsilon": spent.typical.as_ref().map(|typical| &typical.epsilon),
        "delta": spent.delta(),
        "sum": numbers(spent.sum().as_ref()),
        "accountants": accountants,
        "odometer": {
            "epsilon": spent.odometer.as_ref().ok(),
            "why_no_epsilon": spent.odometer.as_ref().err().map(first_line),
        },
        "analysts": analysts,
        "charges": charges,
    })
}
