//! Questions that count the rows of a question's groups, written as SQL.

use crate::understand::dialect::as_parsed;
use datafusion::sql::sqlparser::ast::{Expr, GroupByExpr, Select, SelectItem, SetExpr, Value};

/// What counts the rows of groups.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Counting {
    /// Counts the rows of each group, in its last column.
    pub(crate) by_group: String,
    /// Counts the rows of all groups together.
    pub(crate) of_all: String,
    /// The column in which the question itself counts the rows of its groups.
    pub(crate) own_column: Option<usize>,
}

/// What counts the rows of the groups of this query; `None` where that is not seen from its text.
pub(crate) fn counting(sql: &str) -> Option<Counting> {
    let query = as_parsed(sql)?;
    let SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    if select.distinct.is_some() || select.from.is_empty() {
        return None;
    }
    let keys = keys(select)?;
    let with = query
        .with
        .as_ref()
        .map_or(String::new(), |with| format!("{with} "));
    let tables: Vec<String> = select.from.iter().map(ToString::to_string).collect();
    let condition = select.selection.as_ref();
    let condition = condition.map_or(String::new(), |condition| format!(" WHERE {condition}"));
    let rows = format!("FROM {}{condition}", tables.join(", "));
    let of_all = format!("{with}SELECT COUNT(*) {rows}");
    let by_group = match keys.join(", ") {
        none if none.is_empty() => of_all.clone(),
        keys => format!("{with}SELECT {keys}, COUNT(*) {rows} GROUP BY {keys}"),
    };
    let counts = |item: &SelectItem| {
        written(item).is_some_and(|expr| expr.to_string().eq_ignore_ascii_case("COUNT(*)"))
    };
    Some(Counting {
        by_group,
        of_all,
        own_column: select.projection.iter().position(counts),
    })
}

/// What is grouped by, without numbers of columns and names that the query itself gives.
fn keys(select: &Select) -> Option<Vec<String>> {
    let GroupByExpr::Expressions(keys, modifiers) = &select.group_by else {
        return None;
    };
    if !modifiers.is_empty() {
        return None;
    }
    keys.iter()
        .map(|key| match key {
            Expr::Rollup(_) | Expr::Cube(_) | Expr::GroupingSets(_) => None,
            Expr::Value(number) => match &number.value {
                Value::Number(place, _) => {
                    let place = place.to_string().parse::<usize>().ok()?.checked_sub(1)?;
                    Some(written(select.projection.get(place)?)?.to_string())
                }
                _ => None,
            },
            key => {
                let named = select.projection.iter().find_map(|item| match item {
                    SelectItem::ExprWithAlias { expr, alias } if alias.to_string() == key.to_string() => {
                        Some(expr)
                    }
                    _ => None,
                });
                Some(named.unwrap_or(key).to_string())
            }
        })
        .collect()
}

fn written(item: &SelectItem) -> Option<&Expr> {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_of_a_question_are_counted() {
        let found = |sql: &str| counting(sql).map(|counting| (counting.by_group, counting.own_column));
        for (sql, expected, own) in [
            (
                "SELECT sex, AVG(income) FROM people WHERE age > 30 GROUP BY sex HAVING COUNT(*) > 5 ORDER BY 2 LIMIT 3",
                "SELECT sex, COUNT(*) FROM people WHERE age > 30 GROUP BY sex",
                None,
            ),
            (
                "SELECT date_trunc('month', day) AS m, count(*), SUM(cost) FROM visits v GROUP BY 1",
                "SELECT date_trunc('month', day), COUNT(*) FROM visits v GROUP BY date_trunc('month', day)",
                Some(1),
            ),
            (
                "WITH w AS (SELECT * FROM visits) SELECT ward AS w2, SUM(cost) FROM w GROUP BY w2",
                "WITH w AS (SELECT * FROM visits) SELECT ward, COUNT(*) FROM w GROUP BY ward",
                None,
            ),
            (
                "SELECT AVG(income) FROM people",
                "SELECT COUNT(*) FROM people",
                None,
            ),
        ] {
            assert_eq!(found(sql), Some((expected.to_owned(), own)), "{sql}");
        }
        for sql in [
            "SELECT sex, COUNT(*) FROM people GROUP BY ROLLUP (sex)",
            "SELECT DISTINCT sex FROM people",
            "SELECT COUNT(*) FROM a UNION ALL SELECT COUNT(*) FROM b",
            "SELECT 1",
            "no query",
        ] {
            assert_eq!(found(sql), None, "{sql}");
        }
    }
}
