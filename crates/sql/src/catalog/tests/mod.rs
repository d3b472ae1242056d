mod files;
mod keys;
mod mistakes;
mod releases;

use super::Catalog;
use super::file::parse;
use super::table::Surroundings;
use crate::Error;
use std::path::Path;

/// A catalog in which everything is said.
const WHOLE: &str = r#"
name = "clinic"
[unit]
whose = "patient"
neighbors = "change_one"
[budget]
epsilon = 10
delta = 1e-6
ledger = "spent.ledger"
[budget.query]
epsilon = "0.1"
delta = 1e-9
[budget.analysts]
alice = 0.25
bob = "1/3"
[limits]
groups = 4
rows_per_group = 3
[tables.People]
source = "people.parquet"
unit = "person_id"
rows_per_unit = 1
clustered = true
version = "2026-11"
[tables.People.limits]
groups = 1
[tables.People.columns]
person_id = { kind = "int" }
zodiac = { kind = "text", values = ["lion", "fish"], nullable = false }
age = { kind = "int", bounds = [0, 120], nullable = false }
income = { kind = "float", bounds = [-1.5, 2e5] }
rank = { kind = "int", values = [3, -1, 2] }
member = { kind = "bool", values = [true, false] }
since = { kind = "date", values = [2020-01-01, "2021-01-01"] }
seen = { kind = "timestamp", values = [2020-01-01T00:00:01Z] }
[tables.accounts]
source = "/data/accounts"
format = "csv"
unit = "owner"
[tables.accounts.columns]
account = { kind = "text" }
owner = { kind = "int" }
country = { kind = "text", of_unit = true }
[tables.payments]
source = "postgres://reader:${SECRET}@localhost/bank"
table = "ledger.payments"
unit_through = { column = "from", table = "Accounts", key = "account" }
[tables.payments.columns]
from = { kind = "text" }
amount = { kind = "float", bounds = [0, 1000] }
[tables.votes]
source = "votes.csv"
each_row = true
[tables.votes.columns]
choice = { kind = "text" }
[tables.codes]
source = "codes.csv"
public = true
keys = [["code"], ["year", "name"]]
[tables.codes.columns]
code = { kind = "text", values = ["a", "b"], nullable = false }
year = { kind = "int" }
name = { kind = "text" }
[releases.census]
table = "People"
where = "age >= 18"
up_to = 2
cross = "sign"
objective = "worst"
epsilon = 1
delta = 1e-8
[releases.census.attributes]
sign = { column = "zodiac", hierarchy = "codes", levels = ["name", "code"] }
age = { bins = [0, 18, 65, 121] }
income = { width = 50_000, beyond = true }
member = {}
[releases.census.weights]
"Age, sign" = 4
total = "0.5"
"#;

/// The smallest catalog there is.
const SMALL: &str = r#"
name = "small"
[unit]
whose = "person"
[budget]
epsilon = 1
[tables.people]
source = "people.csv"
unit = "id"
[tables.people.columns]
id = { kind = "int" }
age = { kind = "int" }
"#;

fn read(text: &str) -> Result<Catalog, Error> {
    let surroundings = Surroundings {
        directory: Path::new("/catalogs"),
        variable: &|name| (name == "SECRET").then(|| "hunter2".to_owned()),
    };
    parse(text, &surroundings)
}
