//! Calls that the engine's planner does not know, turned into those it does, or into markers.

use super::markers::{MODE, PER_GROUP, PER_ROW, QUANTILE};
use crate::Error;
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, CaseWhen, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgOperator, FunctionArgumentList, FunctionArguments, Ident, ObjectName, ObjectNamePart,
    SelectItem, Subscript, UnaryOperator, Value,
};

/// The aggregates whose contributions can be bounded in the call.
const BOUNDED: [&str; 17] = [
    "sum",
    "avg",
    "mean",
    "count",
    "countif",
    "min",
    "max",
    "median",
    "var",
    "variance",
    "var_samp",
    "var_sample",
    "var_pop",
    "var_population",
    "stddev",
    "stddev_samp",
    "stddev_pop",
];

/// Other names of quantiles, each with a value and a fraction.
pub(super) const QUANTILES: [&str; 5] = [
    "percentile_cont",
    "percentile_disc",
    "quantile",
    "quantile_cont",
    "approx_percentile_cont",
];

/// Many quantiles in one call.
pub(super) const APPROXIMATE: &str = "approx_quantiles";

/// Aggregates that are known here and not to the engine.
pub(super) const AGGREGATES: [&str; 13] = [
    "anon_count",
    "anon_sum",
    "anon_avg",
    "mean",
    "variance",
    "countif",
    "count_if",
    "every",
    "percentile_disc",
    "quantile",
    "mode",
    "approx_count_distinct",
    APPROXIMATE,
];

/// How many quantiles one call may ask for.
const PIECES: u64 = 1000;

/// Rewrites one node; whoever walks the tree comes to its children afterwards.
pub(super) fn rewrite(expression: &mut Expr) -> Result<(), Error> {
    match expression {
        Expr::CompoundFieldAccess { root, access_chain } => {
            if let Expr::Function(function) = root.as_mut()
                && name_of(function).as_deref() == Some(APPROXIMATE)
                && let [AccessExpr::Subscript(Subscript::Index { index })] = access_chain.as_slice()
            {
                let place = place(index)?;
                let (value, pieces) = approximate_quantiles(function)?;
                if place > pieces {
                    return Err(Error::refused(
                        format!("APPROX_QUANTILES(…, {pieces}) has no element {place}"),
                        format!("its elements are 0 to {pieces}"),
                    ));
                }
                *expression = piece(&value, place, pieces, function);
                return Ok(());
            }
            if let [AccessExpr::Subscript(Subscript::Index { index })] = access_chain.as_slice()
                && let Some(parts) = several_quantiles(root)?
            {
                // PostgreSQL counts the elements of an array from 1.
                let place = whole(index).and_then(|place| usize::try_from(place).ok());
                let part = place.and_then(|place| parts.get(place.checked_sub(1)?));
                let (_, part) = part.ok_or_else(|| {
                    Error::refused(
                        format!("an array of {} quantiles has no such element", parts.len()),
                        format!("its elements are 1 to {}", parts.len()),
                    )
                })?;
                *expression = part.clone();
                return rewrite(expression);
            }
            Ok(())
        }
        Expr::Function(function) => match rewrite_call(function)? {
            Some(replacement) => {
                *expression = replacement;
                Ok(())
            }
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// `APPROX_QUANTILES(x, n)` as a whole is n + 1 columns.
pub(super) fn expand(item: SelectItem) -> Result<Vec<SelectItem>, Error> {
    let (expression, alias) = match &item {
        SelectItem::UnnamedExpr(expression) => (expression, None),
        SelectItem::ExprWithAlias { expr, alias } => (expr, Some(alias)),
        _ => return Ok(vec![item]),
    };
    if let Some(parts) = several_quantiles(expression)? {
        let called = match alias {
            Some(alias) => alias.value.clone(),
            None => "quantile".to_owned(),
        };
        let column = |(fraction, expr): (String, Expr)| SelectItem::ExprWithAlias {
            expr,
            alias: Ident::with_quote('"', format!("{called}_{fraction}")),
        };
        return Ok(parts.into_iter().map(column).collect());
    }
    let Expr::Function(function) = expression else {
        return Ok(vec![item]);
    };
    if name_of(function).as_deref() != Some(APPROXIMATE) {
        return Ok(vec![item]);
    }
    let mut function = function.clone();
    let (value, pieces) = approximate_quantiles(&mut function)?;
    let named = |place: u64| match alias {
        Some(alias) => Ident {
            value: format!("{}_{place}", alias.value),
            ..alias.clone()
        },
        None => Ident::new(format!("q{place}")),
    };
    let column = |place| SelectItem::ExprWithAlias {
        expr: piece(&value, place, pieces, &function),
        alias: named(place),
    };
    Ok((0..=pieces).map(column).collect())
}

/// The quantiles of `percentile_cont(ARRAY[0.25, 0.5]) WITHIN GROUP (ORDER BY x)`, each with its fraction as it is written; `None` for any other expression.
fn several_quantiles(expression: &Expr) -> Result<Option<Vec<(String, Expr)>>, Error> {
    let function = match expression {
        Expr::Nested(inner) => return several_quantiles(inner),
        Expr::Function(function) => function,
        _ => return Ok(None),
    };
    let quantile = name_of(function).is_some_and(|name| QUANTILES.contains(&name.as_str()));
    let FunctionArguments::List(arguments) = &function.args else {
        return Ok(None);
    };
    let fractions = arguments
        .args
        .iter()
        .enumerate()
        .find_map(|(place, argument)| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => {
                Some((place, super::spelling::members(argument)?))
            }
            _ => None,
        });
    let (Some((place, fractions)), true) = (fractions, quantile && function.over.is_none()) else {
        return Ok(None);
    };
    if fractions.is_empty() || fractions.len() as u64 > PIECES {
        return Err(Error::refused(
            format!("an array of quantiles has 1 to {PIECES} fractions"),
            "write for example PERCENTILE_CONT(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY x)",
        ));
    }
    let one = |fraction: Expr| {
        let mut function = function.clone();
        let written = fraction.to_string();
        if let Some(arguments) = list(&mut function) {
            arguments.args[place] = FunctionArg::Unnamed(FunctionArgExpr::Expr(fraction));
        }
        (written, Expr::Function(function))
    };
    Ok(Some(fractions.into_iter().map(one).collect()))
}

/// Rewrites a call in place, or returns what stands for it.
fn rewrite_call(function: &mut Function) -> Result<Option<Expr>, Error> {
    let Some(name) = name_of(function) else {
        return Ok(None);
    };
    let distinct = matches!(name.as_str(), "approx_count_distinct" | "approx_distinct");
    let (name, new_name) = match name.as_str() {
        "anon_count" => ("count", Some("count")),
        "anon_sum" => ("sum", Some("sum")),
        "anon_avg" | "mean" => ("avg", Some("avg")),
        "variance" => ("var", Some("var")),
        "sign" => ("sign", Some("signum")),
        "countif" | "count_if" => ("countif", Some("count")),
        "approx_count_distinct" | "approx_distinct" => ("count", Some("count")),
        "every" => ("bool_and", Some("bool_and")),
        other => (other, None),
    };
    if let (true, Some(arguments)) = (distinct, list(function)) {
        // What COUNT(DISTINCT …) counts exactly before its noise is what it would approximate.
        arguments.duplicate_treatment = Some(DuplicateTreatment::Distinct);
    }
    if let Some(new_name) = new_name {
        function.name = ObjectName::from(Ident::new(new_name));
    }
    match name {
        APPROXIMATE => Err(Error::refused(
            "APPROX_QUANTILES gives many values, and here is room for one",
            "take one of them with [OFFSET(i)], or select the call alone to get a column for each",
        )),
        "mod" => Ok(of_two(function, BinaryOperator::Modulo)),
        "div" => Ok(of_two(function, BinaryOperator::Divide).map(whole_part)),
        "countif" => {
            conditional_count(function);
            bound(function, name).map(|()| None)
        }
        "mode" if function.over.is_none() => mode(function).map(Some),
        // As a window function it is the engine's.
        _ if QUANTILES.contains(&name) && function.over.is_none() => quantile(function, name).map(Some),
        _ => bound(function, name).map(|()| None),
    }
}

/// The name of the function, as the engine's planner spells it, when it is a plain one.
pub(super) fn name_of(function: &Function) -> Option<String> {
    match function.name.0.as_slice() {
        [ObjectNamePart::Identifier(name)] if name.quote_style.is_none() => {
            Some(name.value.to_ascii_lowercase())
        }
        [ObjectNamePart::Identifier(name)] => Some(name.value.clone()),
        _ => None,
    }
}

fn list(function: &mut Function) -> Option<&mut FunctionArgumentList> {
    match &mut function.args {
        FunctionArguments::List(list) => Some(list),
        _ => None,
    }
}

/// `DIV(a, b)` is `trunc(a / b)`.
fn whole_part(quotient: Expr) -> Expr {
    Expr::Function(call("trunc", vec![quotient]))
}

/// `MOD(a, b)` is `a % b`, and so on.
fn of_two(function: &mut Function, operator: BinaryOperator) -> Option<Expr> {
    let arguments = list(function)?;
    let [
        FunctionArg::Unnamed(FunctionArgExpr::Expr(left)),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(right)),
    ] = arguments.args.as_slice()
    else {
        return None;
    };
    let nested = |expression: &Expr| Box::new(Expr::Nested(Box::new(expression.clone())));
    Some(Expr::Nested(Box::new(Expr::BinaryOp {
        left: nested(left),
        op: operator,
        right: nested(right),
    })))
}

/// `COUNTIF(condition)` counts the ones of `CASE WHEN condition THEN 1 END`.
fn conditional_count(function: &mut Function) {
    let Some(arguments) = list(function) else { return };
    if let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(condition))) = arguments.args.first_mut() {
        let case = Expr::Case {
            case_token: AttachedToken::empty(),
            end_token: AttachedToken::empty(),
            operand: None,
            conditions: vec![CaseWhen {
                condition: condition.clone(),
                result: number("1"),
            }],
            else_result: None,
        };
        *condition = case;
    }
}

/// Named bounds become markers around the first argument.
fn bound(function: &mut Function, name: &str) -> Result<(), Error> {
    let Some(arguments) = list(function) else {
        return Ok(());
    };
    let mut bounds: [Option<[Expr; 2]>; 2] = [None, None];
    let mut kept = Vec::with_capacity(arguments.args.len());
    for argument in std::mem::take(&mut arguments.args) {
        let FunctionArg::Named {
            name: argument_name,
            arg,
            operator,
        } = argument
        else {
            kept.push(argument);
            continue;
        };
        let written = argument_name.value.to_lowercase();
        let place = match written.as_str() {
            "contribution_bounds_per_row" => 0,
            "contribution_bounds_per_group" => 1,
            _ if BOUNDED.contains(&name) || QUANTILES.contains(&name) || name == APPROXIMATE => {
                return Err(Error::refused(
                    format!("{} has no argument named {written}", name.to_uppercase()),
                    "the named arguments are contribution_bounds_per_group and contribution_bounds_per_row",
                ));
            }
            _ => {
                kept.push(FunctionArg::Named {
                    name: argument_name,
                    arg,
                    operator,
                });
                continue;
            }
        };
        if !(BOUNDED.contains(&name) || QUANTILES.contains(&name) || name == APPROXIMATE) {
            return Err(Error::refused(
                format!("{written} has no meaning in a call of {}", name.to_uppercase()),
                "contributions are bounded in SUM, AVG, COUNT, VAR, STDDEV, MIN, MAX, MEDIAN and quantiles",
            ));
        }
        if operator != FunctionArgOperator::RightArrow {
            return Err(malformed_bounds());
        }
        if bounds[place].replace(pair(arg)?).is_some() {
            return Err(Error::refused(
                format!("{written} is given twice"),
                "give each bound once",
            ));
        }
    }
    arguments.args = kept;
    for (marker, bounds) in [PER_ROW, PER_GROUP].into_iter().zip(bounds) {
        let Some([low, high]) = bounds else { continue };
        let value = match arguments.args.first_mut() {
            Some(FunctionArg::Unnamed(value)) => value,
            _ => return Err(malformed_bounds()),
        };
        let inner = match value {
            FunctionArgExpr::Expr(expression) => expression.clone(),
            // COUNT(*) counts ones.
            FunctionArgExpr::Wildcard if name == "count" => number("1"),
            _ => return Err(malformed_bounds()),
        };
        *value = FunctionArgExpr::Expr(Expr::Function(call(marker, vec![inner, low, high])));
    }
    Ok(())
}

/// `(low, high)`, two literals in order.
fn pair(argument: FunctionArgExpr) -> Result<[Expr; 2], Error> {
    let FunctionArgExpr::Expr(Expr::Tuple(ends)) = argument else {
        return Err(malformed_bounds());
    };
    let [low, high] = <[Expr; 2]>::try_from(ends).map_err(|_| malformed_bounds())?;
    let (Some(low_value), Some(high_value)) = (literal(&low), literal(&high)) else {
        return Err(malformed_bounds());
    };
    if low_value > high_value {
        return Err(malformed_bounds());
    }
    Ok([low, high])
}

fn malformed_bounds() -> Error {
    Error::Syntax {
        what: "contribution bounds are two numbers in order".into(),
        hint: "write for example SUM(x, contribution_bounds_per_group => (0, 100))".into(),
    }
}

/// A number with a sign; `None` for anything else.
fn literal(expression: &Expr) -> Option<f64> {
    match expression {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits
                .replace('_', "")
                .parse()
                .ok()
                .filter(|value: &f64| value.is_finite()),
            _ => None,
        },
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => literal(expr).map(|value| -value),
        Expr::UnaryOp {
            op: UnaryOperator::Plus,
            expr,
        } => literal(expr),
        Expr::Nested(expression) => literal(expression),
        _ => None,
    }
}

/// `PERCENTILE_CONT(x, f)`, `PERCENTILE_CONT(f) WITHIN GROUP (ORDER BY x)` and their other names.
fn quantile(function: &mut Function, name: &str) -> Result<Expr, Error> {
    let shape = || Error::Syntax {
        what: format!("{} takes a value and a fraction", name.to_uppercase()),
        hint: format!(
            "write {0}(x, 0.25) or {0}(0.25) WITHIN GROUP (ORDER BY x)",
            name.to_uppercase()
        ),
    };
    if let [order] = function.within_group.as_slice() {
        if order.options.asc == Some(false) {
            return Err(Error::refused(
                format!("{} is only computed in ascending order", name.to_uppercase()),
                "leave out DESC, and use one minus the fraction",
            ));
        }
        let value = order.expr.clone();
        let arguments = list(function).ok_or_else(shape)?;
        arguments
            .args
            .insert(0, FunctionArg::Unnamed(FunctionArgExpr::Expr(value)));
    } else if !function.within_group.is_empty() {
        return Err(shape());
    }
    let (value, fraction) = two_arguments(function, name)?.ok_or_else(shape)?;
    match literal(&fraction) {
        Some(fraction) if (0.0..=1.0).contains(&fraction) => {}
        _ => {
            return Err(Error::refused(
                format!(
                    "the fraction of {} is not a number from 0 to 1",
                    name.to_uppercase()
                ),
                "write it as a literal: 0.5 is the median; an array of fractions stands alone between the commas of SELECT, and becomes a column for each",
            ));
        }
    }
    Ok(quantile_marker(value, fraction, function))
}

/// `MODE() WITHIN GROUP (ORDER BY x)` and `MODE(x)`.
fn mode(function: &mut Function) -> Result<Expr, Error> {
    let shape = || Error::Syntax {
        what: "MODE takes one value".into(),
        hint: "write MODE() WITHIN GROUP (ORDER BY x) or MODE(x)".into(),
    };
    let ordered = function.within_group.first().map(|order| order.expr.clone());
    let several = function.within_group.len() > 1;
    let arguments = list(function).ok_or_else(shape)?;
    if several || arguments.duplicate_treatment.is_some() || !arguments.clauses.is_empty() {
        return Err(shape());
    }
    let value = match (ordered, arguments.args.as_slice()) {
        (Some(value), []) => value,
        (None, [FunctionArg::Unnamed(FunctionArgExpr::Expr(value))]) => value.clone(),
        _ => return Err(shape()),
    };
    Ok(Expr::Function(Function {
        filter: function.filter.clone(),
        ..call(MODE, vec![value])
    }))
}

/// The two arguments of a quantile, the first one with its bounds.
fn two_arguments(function: &mut Function, name: &str) -> Result<Option<(Expr, Expr)>, Error> {
    bound(function, name)?;
    let Some(arguments) = list(function) else {
        return Ok(None);
    };
    if arguments.duplicate_treatment.is_some() || !arguments.clauses.is_empty() {
        return Err(Error::refused(
            format!("{} takes neither DISTINCT nor clauses", name.to_uppercase()),
            "give it a value and a number only",
        ));
    }
    Ok(match arguments.args.as_slice() {
        [
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)),
            FunctionArg::Unnamed(FunctionArgExpr::Expr(fraction)),
        ] => Some((value.clone(), fraction.clone())),
        _ => None,
    })
}

/// The value and the number of pieces of `APPROX_QUANTILES(x, n)`.
fn approximate_quantiles(function: &mut Function) -> Result<(Expr, u64), Error> {
    let shape = || Error::Syntax {
        what: format!("APPROX_QUANTILES takes a value and a number of pieces from 1 to {PIECES}"),
        hint: "write APPROX_QUANTILES(x, 4)".into(),
    };
    let (value, pieces) = two_arguments(function, APPROXIMATE)?.ok_or_else(shape)?;
    let pieces = whole(&pieces)
        .filter(|pieces| (1..=PIECES).contains(pieces))
        .ok_or_else(shape)?;
    Ok((value, pieces))
}

/// Element `place` of `APPROX_QUANTILES(value, pieces)`.
fn piece(value: &Expr, place: u64, pieces: u64, function: &Function) -> Expr {
    let fraction = number(&format!("{}", place as f64 / pieces as f64));
    quantile_marker(value.clone(), fraction, function)
}

fn quantile_marker(value: Expr, fraction: Expr, function: &Function) -> Expr {
    Expr::Function(Function {
        filter: function.filter.clone(),
        over: function.over.clone(),
        ..call(QUANTILE, vec![value, fraction])
    })
}

/// The place in `[i]`, `[OFFSET(i)]` or `[ORDINAL(i)]`, counted from 0.
fn place(index: &Expr) -> Result<u64, Error> {
    let found = match index {
        Expr::Function(function) => match (name_of(function).as_deref(), &function.args) {
            (Some(name), FunctionArguments::List(list)) => match list.args.as_slice() {
                [FunctionArg::Unnamed(FunctionArgExpr::Expr(place))] => match name {
                    "offset" | "safe_offset" => whole(place),
                    "ordinal" | "safe_ordinal" => whole(place).and_then(|place| place.checked_sub(1)),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        },
        other => whole(other),
    };
    found.ok_or_else(|| Error::Syntax {
        what: "an element of APPROX_QUANTILES has a number".into(),
        hint: "write APPROX_QUANTILES(x, 4)[OFFSET(2)]".into(),
    })
}

fn whole(expression: &Expr) -> Option<u64> {
    match expression {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn number(digits: &str) -> Expr {
    Expr::Value(Value::Number(digits.into(), false).with_empty_span())
}

/// A plain call.
pub(super) fn call(name: &str, arguments: Vec<Expr>) -> Function {
    let arguments = arguments
        .into_iter()
        .map(|argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)));
    Function {
        name: ObjectName::from(Ident::new(name)),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: arguments.collect(),
            clauses: vec![],
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: vec![],
    }
}
