//! What the name of a column or a table gives away, before anybody has declared anything. Names are public; a guess made of one is a proposal, and decides nothing.

/// How people are called in the names of columns and tables, the likeliest first.
const PEOPLE: [&str; 21] = [
    "person",
    "user",
    "customer",
    "patient",
    "client",
    "member",
    "employee",
    "student",
    "participant",
    "respondent",
    "subject",
    "household",
    "account",
    "device",
    "passenger",
    "resident",
    "citizen",
    "pupil",
    "subscriber",
    "donor",
    "guest",
];
/// What stands behind them in the name of a column that tells which one it is.
const WHICH: [&str; 6] = ["id", "uid", "key", "no", "nr", "number"];
/// Of these, a column has the name alone. A `subject` or an `account` is often something else.
const ALONE: [&str; 7] = [
    "person", "user", "customer", "patient", "client", "employee", "student",
];
/// Names of columns that say it in another way.
const OTHERS: [(&str, &str); 4] = [
    ("uid", "user"),
    ("mrn", "patient"),
    ("email", "person"),
    ("ssn", "person"),
];

/// A column that names persons by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NamesPersons {
    /// Whom.
    pub(crate) whose: &'static str,
    /// The smaller, the likelier.
    pub(crate) rank: usize,
}

/// Whom a column of this name may name.
pub(crate) fn names_persons(column: &str) -> Option<NamesPersons> {
    let plain = plain(column);
    let numbers = |person: &&str| {
        let rest = plain.strip_prefix(person);
        rest.is_some_and(|rest| WHICH.contains(&rest))
    };
    if let Some(rank) = PEOPLE.iter().position(numbers) {
        let whose = PEOPLE[rank];
        return Some(NamesPersons { whose, rank });
    }
    let alone = ALONE.iter().map(|name| (*name, *name));
    let mut others = alone.chain(OTHERS).enumerate();
    let (place, (_, whose)) = others.find(|(_, (name, _))| *name == plain)?;
    Some(NamesPersons {
        whose,
        rank: PEOPLE.len() + place,
    })
}

/// Whom each row of a table of this name may be: there a column `id` names them.
pub(crate) fn holds_persons(table: &str) -> Option<&'static str> {
    let plain = plain(table);
    let singular = match plain.as_str() {
        "people" => "person",
        other => other.strip_suffix('s').unwrap_or(other),
    };
    PEOPLE.into_iter().find(|person| *person == singular)
}

/// Whether a column of this name tells which one something is: `visit_id`, `OrderID`, `uuid`. What can be computed of its values means nothing.
pub(crate) fn names_something(column: &str) -> bool {
    let mut words = column.split(|letter: char| !letter.is_alphanumeric());
    let Some(last) = words.rfind(|word| !word.is_empty()) else {
        return false;
    };
    // The last word of `OrderID` and `orderId`, and not that of `paid` or `Covid`.
    let begins = last.char_indices().rev().find(|(place, letter)| {
        let before = last[..*place].chars().next_back();
        letter.is_uppercase() && before.is_some_and(char::is_lowercase)
    });
    let last = begins.map_or(last, |(place, _)| &last[place..]);
    matches!(last.to_lowercase().as_str(), "id" | "uuid" | "guid") || names_persons(column).is_some()
}

/// A name without what people write in several ways.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn persons_are_named_in_many_ways() {
        for (column, whose) in [
            ("person_id", Some("person")),
            ("CustomerID", Some("customer")),
            ("patient no", Some("patient")),
            ("USERID", Some("user")),
            ("customer", Some("customer")),
            ("mrn", Some("patient")),
            ("subject", None),
            ("id", None),
            ("visit_id", None),
            ("username", None),
            ("", None),
        ] {
            assert_eq!(names_persons(column).map(|named| named.whose), whose, "{column}");
        }
        let rank = |column: &str| names_persons(column).map(|named| named.rank);
        assert!(rank("person_id") < rank("account_id") && rank("account_id") < rank("email"));
        for (table, whose) in [
            ("people", Some("person")),
            ("Patients", Some("patient")),
            ("user", Some("user")),
            ("", None),
            ("visits", None),
        ] {
            assert_eq!(holds_persons(table), whose, "{table}");
        }
    }

    #[test]
    fn numbers_of_things_are_told_from_words_that_end_alike() {
        for name in [
            "id", "visit_id", "VISIT_ID", "OrderID", "orderId", "uuid", "customer",
        ] {
            assert!(names_something(name), "{name}");
        }
        for name in ["paid", "Covid", "grid", "cost", "identity", "", "___", "PAID"] {
            assert!(!names_something(name), "{name}");
        }
    }
}
