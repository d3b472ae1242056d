use super::{SMALL, WHOLE, read};

/// What is said about `text` with `old` replaced by `new`.
fn said(text: &str, old: &str, new: &str) -> String {
    assert!(text.contains(old), "nothing to replace: {old}");
    match read(&text.replacen(old, new, 1)) {
        Ok(_) => panic!("accepted: {new}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_mistake_is_reported_by_its_place() {
    #[rustfmt::skip]
    let mistakes = [
        ("name = \"clinic\"", "nome = \"clinic\"", "line 1: `name` is missing"),
        ("name = \"clinic\"", "name = 7", "line 2, name: expected text"),
        ("name = \"clinic\"", "name = \"clinic\"\nname = \"clinic\"", "line 3: duplicate key"),
        ("name = \"clinic\"", "name = \" \"", "line 2, name: expected text that is not empty"),
        ("name = \"clinic\"", "name = \"c\"\nsecret = 1", "line 3: there is no key `secret` here"),
        ("whose = \"patient\"", "", "line 3, unit: `whose` is missing"),
        ("change_one", "swap", "line 5, unit.neighbors: there are no such neighbours"),
        ("epsilon = 10", "", "line 6, budget: `epsilon` is missing"),
        ("epsilon = 10", "epsilon = 0", "line 7, budget.epsilon: expected a number above 0"),
        ("epsilon = 10", "epsilon = -1", "line 7, budget.epsilon: expected a number above 0"),
        ("epsilon = 10", "epsilon = inf", "line 7, budget.epsilon: expected a number above 0"),
        ("epsilon = 10", "epsilon = true", "line 7, budget.epsilon: expected a decimal number"),
        ("epsilon = 10", "epsilon = 0x10", "line 7, budget.epsilon: expected a decimal number"),
        ("epsilon = 10", "epsilon = \"ten\"", "line 7, budget.epsilon: expected a number above 0"),
        ("delta = 1e-6", "delta = 1", "line 8, budget.delta: expected a number of at least 0 and below 1"),
        ("epsilon = \"0.1\"", "epsilon = 10.5", "line 11, budget.query.epsilon: one query would take more than there is in all"),
        ("delta = 1e-9", "delta = 1e-5", "line 12, budget.query.delta: one query would take more than there is in all"),
        ("delta = 1e-9", "gamma = 1", "line 12, budget.query: there is no key `gamma` here"),
        ("alice = 0.25", "alice = 0", "line 14, budget.analysts.alice: expected a share above 0 and at most 1"),
        ("alice = 0.25", "alice = 1.01", "line 14, budget.analysts.alice: expected a share above 0 and at most 1"),
        ("[limits]", "[engine]\nkind = \"cluster\"\n[limits]", "line 16, engine: `workers` is missing"),
        ("[limits]", "[engine]\nkind = \"cluster\"\nworkers = []\n[limits]", "line 18, engine.workers: this is no list of workers"),
        ("[limits]", "[engine]\nkind = \"cluster\"\nworkers = [\"http://a:1\"]\n[limits]", "line 18, engine.workers[0]: this is not the address of a worker"),
        ("[limits]", "[engine]\nkind = \"cluster\"\nworkers = [\"https://u:p@a:1\"]\n[limits]", "line 18, engine.workers[0]: this is not the address of a worker"),
        ("[limits]", "[engine]\nworkers = [\"https://a:1\"]\n[limits]", "line 17, engine.workers: this is for an engine of kind \"cluster\""),
        ("[limits]", "[engine]\nthreads = 3\n[limits]", "line 17, engine.threads: this is for an engine of kind \"cluster\""),
        ("[limits]", "[engine]\nkind = \"spark\"\n[limits]", "line 17, engine.kind: there is no such engine"),
        ("[limits]", "[engine]\nkind = 1\n[limits]", "line 17, engine.kind: expected text"),
        ("[limits]", "[engine]\ntimeout = 5\n[limits]", "line 17, engine.timeout: this is for an engine of kind \"postgres\""),
        ("[limits]", "[engine]\nkind = \"postgres\"\ntimeout = 0\n[limits]", "line 18, engine.timeout: expected a whole number of at least 1"),
        ("[limits]", "[engine]\nkind = \"postgres\"\nwork_mem = 9000000\n[limits]", "line 18, engine.work_mem: this is more than the engine takes"),
        ("[limits]", "[engine]\nmemory = 1\n[limits]", "line 17, engine: there is no key `memory` here"),
        ("groups = 4", "groups = 0", "line 17, limits.groups: expected a whole number of at least 1"),
        ("groups = 4", "groups = 1.5", "line 17, limits.groups: expected a whole number of at least 1"),
        ("[tables.accounts]", "[tables.people]", "line 36, tables.people: another table differs from this one in upper and lower case only"),
        ("[tables.People]", "[tables.\"a.b\"]", "line 19, tables.a.b: this cannot be the name of a table"),
        ("source = \"people.parquet\"", "", "line 19, tables.People: `source` is missing"),
        ("people.parquet", "people", "line 20, tables.People.source: what format is this in?"),
        ("format = \"csv\"", "format = \"xls\"", "tables.accounts.format: there is no such format"),
        ("people.parquet", "s3://key:secret@b/x", "line 20, tables.People.source: this is not the address of objects"),
        ("people.parquet", "s3:///x", "line 20, tables.People.source: this is not the address of objects"),
        ("source = \"people.parquet\"", "source = \"gs://b/x\"\nformat = \"csv\"", "line 21, tables.People.format: in an object store only Parquet files are read"),
        ("source = \"people.parquet\"", "source = \"people\"\npartitions = [\"nobody\"]", "line 19, tables.People: one of `partitions` is not among `columns`"),
        ("source = \"people.parquet\"", "source = \"az://b/x\"\npartitions = [\"person_id\"]", "tables.People.unit: a column that names units, or leads to them, is one of `partitions`"),
        ("source = \"people.parquet\"", "source = \"people\"\npartitions = [\"a\", \"a\"]", "this column is named twice"),
        ("account = { kind = \"text\" }", "account = { kind = \"text\", values = [\"a\"], other = \"b\" }", "tables.accounts.unit: a column that names units, or leads to them, has an `other` value"),
        ("from = { kind = \"text\" }", "from = { kind = \"text\", values = [\"a\"], other = \"b\" }", "tables.payments.unit_through: a column that names units, or leads to them, has an `other` value"),
        ("format = \"csv\"", "format = \"csv\"\npartitions = [\"id\"]", "tables.accounts.partitions: CSV files are read from one directory"),
        ("table = \"ledger.payments\"", "table = \"x\"\npartitions = [\"id\"]", "tables.payments.partitions: a database has no directories"),
        ("format = \"csv\"", "table = \"x\"", "tables.accounts.table: a file has no tables inside"),
        ("table = \"ledger.payments\"", "", "tables.payments.source: which table of the database?"),
        ("table = \"ledger.payments\"", "table = \"a.b.c\"", "tables.payments.table: this is not the name of a table"),
        ("table = \"ledger.payments\"", "table = \"x\"\nformat = \"csv\"", "tables.payments.format: a database has no file format"),
        ("${SECRET}", "${OTHER}", "tables.payments.source: an environment variable that is named here is not set"),
        ("${SECRET}", "${SECRET", "tables.payments.source: `${` without `}`"),
        ("@localhost/bank", "@localhost:port/bank", "tables.payments.source: this is not a connection string of PostgreSQL"),
        ("unit = \"person_id\"", "", "line 19, tables.People: whose rows are these?"),
        ("unit = \"person_id\"", "each_row = false", "line 19, tables.People: whose rows are these?"),
        ("unit = \"person_id\"", "unit = \"id\"", "line 21, tables.People.unit: the column that is named here is not among `columns`"),
        ("unit = \"person_id\"", "unit = \"Person_id\"", "line 21, tables.People.unit: the column that is named here is not among `columns`"),
        ("unit = \"person_id\"", "unit = \"income\"", "line 21, tables.People.unit: a unit cannot be named by floats"),
        ("unit = \"person_id\"", "unit = \"person_id\"\npublic = true", "line 22, tables.People.public: the owner of the rows is declared twice"),
        ("unit = \"person_id\"", "unit = \"zodiac\"", "units are named by another kind of column here than in another table"),
        ("rows_per_unit = 1", "rows_per_unit = 0", "line 22, tables.People.rows_per_unit: expected a whole number of at least 1"),
        ("rows_per_unit = 1", "rows_per_unit = -3", "line 22, tables.People.rows_per_unit: expected a whole number of at least 1"),
        ("clustered = true", "clustered = 1", "line 23, tables.People.clustered: expected true or false"),
        ("each_row = true", "each_row = true\nclustered = true", "tables.votes.clustered: rows can be clustered by a unit column only"),
        ("each_row = true", "each_row = true\nrows_per_unit = 2", "tables.votes.rows_per_unit: each row is a unit, so a unit has 1 row"),
        ("public = true", "public = true\nrows_per_unit = 2", "tables.codes.rows_per_unit: a public table has no units"),
        ("public = true", "public = true\nlimits = { groups = 1 }", "tables.codes: limits on a public table"),
        ("version = \"2026-11\"", "version = 2026", "line 24, tables.People.version: expected text"),
        ("version = \"2026-11\"", "keys = [[\"age\"]]", "line 24, tables.People.keys: keys are for public tables"),
        ("[[\"code\"], ", "[[\"kode\"], ", "tables.codes.keys[0][0]: the column that is named here is not among `columns`"),
        ("[[\"code\"], ", "[[], ", "tables.codes.keys[0]: a key without columns"),
        ("[[\"code\"], ", "[\"code\", ", "tables.codes.keys[0]: expected a list"),
        ("table = \"Accounts\"", "table = \"nowhere\"", "tables.payments.unit_through: there is no such table"),
        ("table = \"Accounts\"", "table = \"codes\"", "tables.payments.unit_through: that table is public, so its rows lead to nobody"),
        ("key = \"account\"", "key = \"number\"", "tables.payments.unit_through: that table declares no such key column"),
        ("key = \"account\"", "key = \"owner\"", "tables.payments.unit_through: the column and the key are of different kinds"),
        ("column = \"from\"", "column = \"to\"", "tables.payments.unit_through: the column that is named here is not among `columns`"),
        ("column = \"from\", ", "", "tables.payments.unit_through: `column` is missing"),
        ("choice = { kind = \"text\" }", "", "tables.votes.columns: no columns"),
        ("choice = { kind = \"text\" }", "choice = \"text\"", "tables.votes.columns.choice: expected keys and values"),
        ("choice = { kind = \"text\" }", "choice = {}", "tables.votes.columns.choice: `kind` is missing"),
        ("choice = { kind = \"text\" }", "choice = { kind = \"uuid\" }", "tables.votes.columns.choice.kind: there is no such kind"),
        ("choice = { kind = \"text\" }", "choice = { kind = \"text\", bound = 1 }", "tables.votes.columns.choice: there is no key `bound` here"),
        ("choice = { kind = \"text\" }", "choice = { kind = \"text\" }\nChoice = { kind = \"text\" }", "tables.votes.columns.Choice: another column differs"),
        ("choice = { kind = \"text\" }", "choice = { kind = \"text\", bounds = [0, 1] }", "tables.votes.columns.choice.bounds: bounds are for numbers, dates and timestamps, and this column is of kind text"),
        ("bounds = [0, 120]", "bounds = [120, 0]", "line 30, tables.People.columns.age.bounds: the first bound is above the second"),
        ("bounds = [0, 120]", "bounds = [0]", "line 30, tables.People.columns.age.bounds: expected two numbers"),
        ("bounds = [0, 120]", "bounds = 120", "line 30, tables.People.columns.age.bounds: expected a list"),
        ("bounds = [0, 120]", "bounds = [0, 1.5]", "line 30, tables.People.columns.age.bounds[1]: expected a whole number"),
        ("bounds = [0, 120]", "bounds = [0, 9007199254740993000]", "line 30, tables.People.columns.age.bounds[1]: expected a whole number"),
        ("bounds = [-1.5, 2e5]", "bounds = [-inf, 2e5]", "line 31, tables.People.columns.income.bounds[0]: expected a finite number"),
        ("bounds = [-1.5, 2e5]", "bounds = [nan, 2e5]", "line 31, tables.People.columns.income.bounds[0]: expected a finite number"),
        ("bounds = [-1.5, 2e5]", "bounds = [0, 1e999]", "line 31, tables.People.columns.income.bounds[1]: expected a finite number"),
        ("bounds = [-1.5, 2e5]", "bounds = [0, \"9\"]", "line 31, tables.People.columns.income.bounds[1]: expected a finite number"),
        ("values = [3, -1, 2]", "values = []", "line 32, tables.People.columns.rank.values: an empty list of values"),
        ("values = [3, -1, 2]", "values = [3, -1, 3]", "line 32, tables.People.columns.rank.values[2]: this value is listed twice"),
        ("values = [3, -1, 2]", "values = [3, 1.5]", "line 32, tables.People.columns.rank.values[1]: expected a whole number of 64 bits"),
        ("values = [3, -1, 2]", "values = [3, 99999999999999999999]", "line 32, tables.People.columns.rank.values[1]: expected a whole number of 64 bits"),
        ("values = [3, -1, 2]", "bounds = [0, 5], values = [3, -1]", "line 32, tables.People.columns.rank.values: a value lies outside of `bounds`"),
        ("values = [\"lion\", \"fish\"]", "values = [\"lion\", \"lion\"]", "line 29, tables.People.columns.zodiac.values[1]: this value is listed twice"),
        ("values = [\"lion\", \"fish\"]", "values = [\"lion\", 2]", "line 29, tables.People.columns.zodiac.values[1]: expected text in double quotes"),
        ("values = [true, false]", "values = [\"yes\"]", "line 33, tables.People.columns.member.values[0]: expected true or false"),
        ("2020-01-01, ", "2020-01-01T00:00:00, ", "line 34, tables.People.columns.since.values[0]: expected a day"),
        ("2020-01-01T00:00:01Z", "2020-01-01", "line 35, tables.People.columns.seen.values[0]: expected a moment"),
        ("code = { kind = \"text\"", "code = { of_unit = true, kind = \"text\"", "tables.codes.columns.code.of_unit: a public table has no units"),
    ];
    let mut wrong = Vec::new();
    for (old, new, expected) in mistakes {
        let said = said(WHOLE, old, new);
        if !said.contains(expected) || !said.contains("\nhint: ") {
            wrong.push(format!("{new}:\n  said     {said}\n  expected {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_hint_tells_what_is_allowed() {
    assert_eq!(
        said(SMALL, "whose = \"person\"", "whose = \"person\"\nwho = 1"),
        "line 5, unit: there is no key `who` here\nhint: expected one of whose, neighbors"
    );
    assert_eq!(
        read(&SMALL.replace("[tables.", "[table."))
            .unwrap_err()
            .to_string(),
        "line 1: `tables` is missing\nhint: line 7 says `table`: did you mean `tables`?"
    );
    assert_eq!(
        said(SMALL, "unit = \"id\"", ""),
        "line 7, tables.people: whose rows are these?\nhint: say one of: unit = \"column that names the person\", each_row = true, public = true, or unit_through = { column = \"…\", table = \"…\", key = \"…\" }"
    );
}

/// At every level, what is not known is named, with what was probably meant.
#[test]
fn unknown_keys_are_named_with_the_nearest() {
    #[rustfmt::skip]
    let mistakes = [
        ("name = \"clinic\"", "nome = \"clinic\"", "`name` is missing", "line 2 says `nome`: did you mean `name`?"),
        ("[limits]", "[limit]", "line 16: there is no key `limit` here", "did you mean `limits`?"),
        ("neighbors =", "neighbours =", "unit: there is no key `neighbours` here", "did you mean `neighbors`?"),
        ("ledger =", "leger =", "budget: there is no key `leger` here", "did you mean `ledger`?"),
        ("[budget.query]\nepsilon", "[budget.query]\nepsilom", "budget.query: there is no key `epsilom` here", "did you mean `epsilon`?"),
        ("rows_per_group = 3", "rows_per_groups = 3", "limits: there is no key `rows_per_groups` here", "did you mean `rows_per_group`?"),
        ("clustered = true", "clusterd = true", "tables.People: there is no key `clusterd` here", "did you mean `clustered`?"),
        ("clustered = true", "rows-per-unit = 1", "tables.People: there is no key `rows-per-unit` here", "did you mean `rows_per_unit`?"),
        ("clustered = true", "epsilon = 1", "tables.People: there is no key `epsilon` here", "`epsilon` belongs in `[budget]`"),
        ("[tables.votes.columns]", "[tables.votes.colums]", "tables.votes: `columns` is missing", "says `colums`: did you mean `columns`?"),
        ("key = \"account\"", "kee = \"account\"", "`key` is missing", "say one of"),
        ("bounds = [0, 120]", "bound = [0, 120]", "tables.People.columns.age: there is no key `bound` here", "did you mean `bounds`?"),
    ];
    for (old, new, expected, hint) in mistakes {
        let said = said(WHOLE, old, new);
        assert!(said.contains(expected) && said.contains(hint), "{new}:\n{said}");
    }
    // What is no key by its looks may be data.
    for key in [
        "\"Ada Lovelace\"",
        "AdaLovelace",
        "\"ada@lovelace.org\"",
        "ada1815",
    ] {
        let said = said(WHOLE, "clustered = true", &format!("{key} = 36"));
        assert!(
            said.contains("tables.People: there is no such key here"),
            "{said}"
        );
        assert!(!said.to_lowercase().contains("ada"), "{said}");
    }
}

#[test]
fn circles_are_noticed() {
    let text = SMALL.replace(
        "unit = \"id\"",
        "unit_through = { column = \"id\", table = \"others\", key = \"id\" }",
    ) + "[tables.others]\nsource = \"o.csv\"\nunit_through = { column = \"id\", table = \"people\", key = \"id\" }\ncolumns = { id = { kind = \"int\" } }\n";
    let said = read(&text).unwrap_err().to_string();
    assert!(said.contains("lead to each other in a circle"), "{said}");
    let own = SMALL.replace(
        "unit = \"id\"",
        "unit_through = { column = \"id\", table = \"people\", key = \"id\" }",
    );
    let said = read(&own).unwrap_err().to_string();
    assert!(said.contains("lead to each other in a circle"), "{said}");
}

#[test]
fn nothing_else_of_the_file_is_reported() {
    // Somebody passes a file of data, or pastes some into the catalog.
    for text in [
        "name,age\nAda Lovelace,36\n",
        "Ada Lovelace\n",
        "name = \"x\"\n\"Ada Lovelace\" = 36\n",
        "name = \"x\"\n[unit]\nwhose = \"person\"\n[budget]\nepsilon = \"Ada Lovelace\"\n",
        "name = \"x\"\n[unit]\nwhose = \"person\"\nneighbors = \"Ada Lovelace\"\n",
        "name = \"x\"\n[unit]\nwhose = \"person\"\n[budget]\nepsilon = 1\nledger = \"postgres://Ada:Lovelace@localhost:port/x\"\n",
    ] {
        let error = read(text).unwrap_err();
        assert!(!error.to_string().contains("Lovelace"), "{error}");
        assert!(!format!("{error:?}").contains("Lovelace"), "{error:?}");
    }
    assert_eq!(
        read("name,age\nAda Lovelace,36\n")
            .unwrap_err()
            .to_string()
            .lines()
            .next(),
        Some("line 1: this is not TOML")
    );
}
