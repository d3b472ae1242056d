//! A constant that a column does not have: `department = 'Cardiology'` where the catalog declares `cardiology`.
//!
//! Such a comparison is true of no declared value, so the answer would be noise around nothing, and paid for. It is told before anything is spent, from the query and the
//! catalog alone. Rows may hold values that nobody declared; whoever asks about those says so with `OPTIONS (unknown_values = true)`.

use crate::Error;
use crate::catalog::{Catalog, Owner};
use crate::understand::dialect::SelectOptions;
use crate::understand::mistakes::unplannable;
use crate::understand::relation::table_of;
use crate::values::facts::{Facts, Value};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::utils::datafusion_strsim::levenshtein;
use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::{BinaryExpr, Distinct, Expr, LogicalPlan, Operator};

/// Longer texts are neither compared with what there is nor repeated.
const MOST_BYTES: usize = 200;
/// Values that are listed in a hint at most.
const MOST_LISTED: usize = 12;

/// Refuses the first comparison of a private column with a constant that is none of its declared values.
pub(crate) fn check(plan: &LogicalPlan, selects: &[SelectOptions], catalog: &Catalog) -> Result<(), Error> {
    if selects.iter().any(|select| select.unknown_values == Some(true)) {
        return Ok(());
    }
    let mut found = None;
    plan.apply_with_subqueries(|node| {
        for expr in node.expressions() {
            expr.apply(|part| {
                for (column, constant) in comparisons(part) {
                    if found.is_none() {
                        found = unknown(column, constant, node, catalog);
                    }
                }
                Ok(TreeNodeRecursion::Continue)
            })?;
        }
        Ok(match found {
            Some(_) => TreeNodeRecursion::Stop,
            None => TreeNodeRecursion::Continue,
        })
    })
    .map_err(unplannable)?;
    found.map_or(Ok(()), Err)
}

/// The columns and constants that an expression compares for being equal.
fn comparisons(expr: &Expr) -> Vec<(&Column, &ScalarValue)> {
    let (operand, constants): (&Expr, Vec<&Expr>) = match expr {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Eq | Operator::NotEq | Operator::IsDistinctFrom | Operator::IsNotDistinctFrom,
            right,
        }) => match left.as_ref() {
            Expr::Literal(..) => (right, vec![left]),
            _ => (left, vec![right]),
        },
        Expr::InList(list) => (&list.expr, list.list.iter().collect()),
        Expr::Case(case) => match &case.expr {
            Some(operand) => (
                operand,
                case.when_then_expr
                    .iter()
                    .map(|(when, _)| when.as_ref())
                    .collect(),
            ),
            None => return Vec::new(),
        },
        _ => return Vec::new(),
    };
    let Expr::Column(column) = operand else {
        return Vec::new();
    };
    let constants = constants.into_iter().filter_map(|constant| match constant {
        Expr::Literal(value, _) => Some((column, value)),
        _ => None,
    });
    constants.collect()
}

/// What is wrong with a comparison, if the column is one of a private table whose values are declared and the constant is none of them.
fn unknown(column: &Column, constant: &ScalarValue, node: &LogicalPlan, catalog: &Catalog) -> Option<Error> {
    let asked = match constant {
        ScalarValue::Utf8(Some(text))
        | ScalarValue::Utf8View(Some(text))
        | ScalarValue::LargeUtf8(Some(text)) => Value::Text(text.clone()),
        ScalarValue::Int64(Some(number)) => Value::Int(*number),
        _ => return None,
    };
    let mut inputs = node.inputs().into_iter();
    let (name, facts) = inputs.find_map(|input| {
        let place = input.schema().maybe_index_of_column(column)?;
        origin(input, place, catalog)
    })?;
    let values = facts.values.as_deref()?;
    let same_kind = |value: &Value| std::mem::discriminant(value) == std::mem::discriminant(&asked);
    if !values.iter().any(same_kind) || values.contains(&asked) {
        return None;
    }
    let written = written(&asked);
    Some(Error::refused(
        format!(
            "{written} is no declared value of `{name}`, so this would be asked about nothing; nothing was charged"
        ),
        format!(
            "{} To ask about rows with values that are not declared, write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (unknown_values = true) …",
            instead(&asked, values)
        ),
    ))
}

/// The column of a private table that a column of a plan is, unchanged, with what is declared of it.
fn origin<'a>(plan: &LogicalPlan, place: usize, catalog: &'a Catalog) -> Option<(String, &'a Facts)> {
    let again = |expr: &Expr, input: &LogicalPlan| match expr.clone().unalias() {
        Expr::Column(column) => origin(input, input.schema().maybe_index_of_column(&column)?, catalog),
        _ => None,
    };
    match plan {
        LogicalPlan::TableScan(scan) => {
            let (_, table) = table_of(catalog, &scan.table_name)?;
            let name = scan.projected_schema.field(place).name();
            let mut columns = table.columns.iter();
            let (name, facts) = columns.find(|(column, _)| column == name)?;
            (table.owner != Owner::Public).then(|| (name.clone(), facts))
        }
        LogicalPlan::Projection(projection) => again(projection.expr.get(place)?, &projection.input),
        LogicalPlan::Aggregate(aggregate) => again(aggregate.group_expr.get(place)?, &aggregate.input),
        LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::Window(_)
        | LogicalPlan::Distinct(Distinct::All(_)) => {
            let input = *plan.inputs().first()?;
            (place < input.schema().fields().len())
                .then(|| origin(input, place, catalog))
                .flatten()
        }
        LogicalPlan::Join(join) => {
            let column = Column::from(join.schema.qualified_field(place));
            plan.inputs()
                .into_iter()
                .find_map(|input| origin(input, input.schema().maybe_index_of_column(&column)?, catalog))
        }
        _ => None,
    }
}

/// What may have been meant, or what there is.
fn instead(asked: &Value, values: &[Value]) -> String {
    if let Value::Text(asked) = asked
        && asked.len() <= MOST_BYTES
    {
        let texts = || {
            values.iter().filter_map(|value| match value {
                Value::Text(text) => Some(text),
                _ => None,
            })
        };
        let lower = asked.to_lowercase();
        let distance = |text: &&String| levenshtein(&lower, &text.trim().to_lowercase());
        let letters = |text: &str| {
            let mut letters: Vec<char> = text.to_lowercase().chars().collect();
            letters.sort_unstable();
            letters
        };
        // One letter of three is another, or they stand in another order.
        let near = |text: &&String| {
            distance(text) <= (asked.chars().count() / 3).max(1) || letters(text) == letters(asked)
        };
        if let Some(meant) = texts().filter(near).min_by_key(distance) {
            return format!("did you mean {}?", written(&Value::Text(meant.clone())));
        }
    }
    let mut listed: Vec<String> = values.iter().take(MOST_LISTED).map(written).collect();
    if values.len() > MOST_LISTED {
        listed.push(format!("and {} more", values.len() - MOST_LISTED));
    }
    format!("its values are {}.", listed.join(", "))
}

/// A value as SQL writes it.
fn written(value: &Value) -> String {
    match value {
        Value::Text(text) if text.len() > MOST_BYTES => "this text".to_owned(),
        Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
        Value::Int(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}
