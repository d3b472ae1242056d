//! Columns that only tell which one something is. Neither a sum nor a bound of them means anything, so no part of the budget is spent on them.

use crate::catalog::{Catalog, Table, names_something};

/// Why no limits of this column are looked for, if it is such a one. Declared bounds or values say that it is more than that. Follows from the catalog alone.
pub(super) fn why_none(catalog: &Catalog, table: &Table, column: &str) -> Option<String> {
    let whose = &catalog.unit.whose;
    if table.identifies(column) {
        return Some(format!("it leads to the {whose} of rows of other tables"));
    }
    let declared = table.column(column);
    if declared.is_some_and(|facts| facts.range.is_some() || facts.values.is_some()) {
        return None;
    }
    if names_something(column) {
        return Some(
            "by its name it only tells which one something is; declare `bounds` if it is to be summed"
                .to_owned(),
        );
    }
    let mut identifiers = catalog.tables.values().flat_map(|table| &table.identifiers);
    identifiers
        .any(|name| name.eq_ignore_ascii_case(column))
        .then(|| format!("in another table it tells whose rows these are, or leads to their {whose}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const CATALOG: &str = r#"
name = "clinic"
[unit]
whose = "person"
[budget]
epsilon = 1
ledger = "none.ledger"
[tables.people]
source = "people.csv"
unit = "tag"
[tables.people.columns]
tag = { kind = "int" }
[tables.stays]
source = "stays.csv"
unit = "owner"
[tables.stays.columns]
owner = { kind = "int" }
stay = { kind = "int" }
visit_id = { kind = "int" }
room_id = { kind = "int", bounds = [1, 9] }
tag = { kind = "int" }
cost = { kind = "int" }
[tables.meals]
source = "meals.csv"
unit_through = { column = "stay", table = "stays", key = "stay" }
[tables.meals.columns]
stay = { kind = "int" }
"#;

    #[test]
    fn numbers_of_things_are_left_alone() {
        let catalog = Catalog::parse(CATALOG, Path::new("")).unwrap();
        let stays = catalog.table("stays").unwrap();
        let why = |column: &str| why_none(&catalog, stays, column).unwrap_or_default();
        assert!(why("stay").contains("leads to the person"), "{}", why("stay"));
        assert!(
            why("visit_id").contains("declare `bounds`"),
            "{}",
            why("visit_id")
        );
        assert!(why("tag").contains("in another table"), "{}", why("tag"));
        assert_eq!(why("room_id"), "", "its bounds say that it is summed");
        assert_eq!(why("cost"), "");
    }
}
