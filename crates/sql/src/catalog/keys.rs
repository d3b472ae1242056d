//! Every key that a catalog may have: one table, which the parser asks what there is, and of which `docs/catalog.md` is made.
//!
//! To add a key, add a row here and take it in the parser ([`Section::take`](super::document::Section::take) refuses to take what has no row). The tests say whether every row is taken, and
//! write the document anew where they are told to.

/// One key.
#[derive(Debug)]
pub(super) struct Key {
    /// The section that it stands in, with `*` for names that the curator chooses; empty for the top of the file.
    pub(super) section: &'static str,
    pub(super) name: &'static str,
    /// What is written behind it.
    pub(super) value: &'static str,
    /// What holds without it; empty where it must be there.
    pub(super) default: &'static str,
    pub(super) meaning: &'static str,
    /// A line as it may stand in a catalog.
    pub(super) example: &'static str,
}

/// A section, what the document calls it, and what it is for.
struct SectionKind {
    section: &'static str,
    title: &'static str,
    about: &'static str,
}

const SECTIONS: &[SectionKind] = &[
    SectionKind {
        section: "",
        title: "The top of the file",
        about: "A catalog is a TOML file. Everything that decides whether a query is accepted, and what it costs, is in it, and it is public: put no secrets in it. Paths start at its directory.",
    },
    SectionKind {
        section: "unit",
        title: "`[unit]`",
        about: "Whose privacy is protected.",
    },
    SectionKind {
        section: "budget",
        title: "`[budget]`",
        about: "How much all answers together may reveal.",
    },
    SectionKind {
        section: "budget.query",
        title: "`[budget.query]`",
        about: "The ε and δ of queries that state none.",
    },
    SectionKind {
        section: "budget.analysts",
        title: "`[budget.analysts]`",
        about: "Shares of the budget. Where some analysts are listed, others may spend nothing.",
    },
    SectionKind {
        section: "data",
        title: "`[data]`",
        about: "Which version of the data is meant. A saved answer belongs to a version, and a question about another one is new. It is your word, and never follows from files: that a file changed is itself about the data. `deniable data release` raises it.",
    },
    SectionKind {
        section: "engine",
        title: "`[engine]`",
        about: "Who computes the exact numbers of a question from private rows, before noise is added here. It changes where rows are read, and nothing of what a question means, costs or guarantees.",
    },
    SectionKind {
        section: "limits",
        title: "`[limits]`",
        about: "Contribution bounds: how much one unit may contribute to an answer. Larger limits keep more of the data; smaller ones need less noise. The limits of a table, and those in a query, come before these.",
    },
    SectionKind {
        section: "limits.sums",
        title: "`[limits.sums]`",
        about: "The range to which one unit's sums are clamped.",
    },
    SectionKind {
        section: "limits.by",
        title: "`[limits.by]`",
        about: "Limits of queries that group by one column or expression.",
    },
    SectionKind {
        section: "limits.by.*",
        title: "`[limits.by.COLUMN]`",
        about: "Limits of queries that group by this column or expression.",
    },
    SectionKind {
        section: "limits.by.*.sums",
        title: "`[limits.by.COLUMN.sums]`",
        about: "The range to which one unit's sums in one group are clamped.",
    },
    SectionKind {
        section: "tables",
        title: "`[tables]`",
        about: "The tables of the dataset.",
    },
    SectionKind {
        section: "tables.*",
        title: "`[tables.NAME]`",
        about: "One table. Exactly one of `unit`, `unit_through`, `each_row` and `public` says whose rows it holds. The keys from `delimiter` to `decimal` say how CSV files are written; what they do not say is taken from the bytes of the header line alone, never from rows.",
    },
    SectionKind {
        section: "tables.*.unit_through",
        title: "`unit_through` of a table",
        about: "How a row leads to the unit that owns it, through a row of another private table.",
    },
    SectionKind {
        section: "tables.*.impossible",
        title: "`impossible` of a table",
        about: "Rows that cannot be (structural zeros). A row breaks a rule if, in every column that the rule names, it has one of the values that are said. Synthetic rows never break one; nothing else depends on rules, and they cost nothing. Declare what cannot be, not what you do not see in the data.",
    },
    SectionKind {
        section: "tables.*.impossible.*",
        title: "Values of a column that a rule names",
        about: "A value, a list of values, or one of these.",
    },
    SectionKind {
        section: "tables.*.limits",
        title: "`[tables.NAME.limits]`",
        about: "Limits of this table, instead of those of `[limits]`.",
    },
    SectionKind {
        section: "tables.*.limits.sums",
        title: "`[tables.NAME.limits.sums]`",
        about: "The range to which one unit's sums are clamped.",
    },
    SectionKind {
        section: "tables.*.limits.by",
        title: "`[tables.NAME.limits.by]`",
        about: "Limits of queries that group by one column or expression.",
    },
    SectionKind {
        section: "tables.*.limits.by.*",
        title: "`[tables.NAME.limits.by.COLUMN]`",
        about: "Limits of queries that group by this column or expression.",
    },
    SectionKind {
        section: "tables.*.limits.by.*.sums",
        title: "`[tables.NAME.limits.by.COLUMN.sums]`",
        about: "The range to which one unit's sums in one group are clamped.",
    },
    SectionKind {
        section: "tables.*.columns",
        title: "`[tables.NAME.columns]`",
        about: "The columns that queries may use. Names are those of the data, upper and lower case apart; queries may write them in any case.",
    },
    SectionKind {
        section: "tables.*.columns.*",
        title: "A column",
        about: "What is known of a column before anybody looks at data. Declare what you know, not what you see in the data: `deniable check` tells you, and nobody else, where the two differ.",
    },
    SectionKind {
        section: "releases",
        title: "`[releases]`",
        about: "Planned releases: many tables of counts that are measured together, with the least noise, from one charge ([docs/tables.md](tables.md)). `deniable tables` plans, explains, makes and shows them.",
    },
    SectionKind {
        section: "releases.*",
        title: "`[releases.NAME]`",
        about: "One planned release. Which tables are wanted is said by at least one of `up_to` and `marginals`; what it may cost by one of `epsilon` and `rho`.",
    },
    SectionKind {
        section: "releases.*.attributes",
        title: "`[releases.NAME.attributes]`",
        about: "What the tables are by. All cells of an attribute are declared, here or by the column, so which cells there are tells nothing about data. A row with a value that is in no cell counts nowhere.",
    },
    SectionKind {
        section: "releases.*.attributes.*",
        title: "An attribute",
        about: "Where nothing is said, a cell is a value of the column: those of its `values`, whole numbers between its `bounds`, or true and false. Where the column may be NULL, NULL is a cell of its own, the last one.",
    },
    SectionKind {
        section: "releases.*.weights",
        title: "`[releases.NAME.weights]`",
        about: "How much the errors of some tables count beside those of the others, which count 1.",
    },
];

/// A row of the table.
const fn key(
    section: &'static str,
    name: &'static str,
    value: &'static str,
    default: &'static str,
    meaning: &'static str,
    example: &'static str,
) -> Key {
    Key {
        section,
        name,
        value,
        default,
        meaning,
        example,
    }
}

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("", "name", "text", "", "The name of the dataset.", r#"name = "clinic""#),
    key("", "unit", "section", "", "Whose privacy is protected.", r#"unit = { whose = "patient" }"#),
    key("", "budget", "section", "", "How much all answers together may reveal.", "budget = { epsilon = 1 }"),
    key("", "data", "section", "version 1", "The version of the data.", r#"data = { version = "2026-11" }"#),
    key("", "engine", "section", "this program", "Who computes exact numbers from private rows.", r#"engine = { kind = "postgres" }"#),
    key("", "limits", "section", "no limits", "Contribution bounds: how much one unit may contribute to an answer.", "limits = { groups = 4 }"),
    key("", "tables", "section", "", "The tables, at least one.", "[tables.people]"),
    key("", "releases", "section", "none", "Releases of many tables that are planned, each as `[releases.NAME]`.", "releases = {}"),

    key("unit", "whose", "text", "", "Who a unit is: a person, a patient, a household.", r#"whose = "patient""#),
    key("unit", "neighbors", r#""add_remove" or "change_one""#, r#""add_remove""#, "How neighbouring datasets differ: by one unit added or removed, or by what is said of one unit (then the number of units is public).", r#"neighbors = "change_one""#),

    key("budget", "epsilon", "number above 0", "", "The maximum ε of all answers together. 1 is strict, 10 is lenient.", "epsilon = 1"),
    key("budget", "delta", "number of at least 0 and below 1", "0", "The maximum δ of all answers together: well below one over the number of units. 0 is pure differential privacy.", "delta = 1e-6"),
    key("budget", "ledger", "path, or `postgres://…`", r#""deniable.ledger""#, "The ledger: where charges are written down. Without it everything could be spent again.", r#"ledger = "clinic.ledger""#),
    key("budget", "query", "section", "nothing", "The ε and δ of queries that state none.", "query = { epsilon = 0.1 }"),
    key("budget", "analysts", "section", "nobody is listed", "The shares of analysts.", "analysts = { alice = 0.25 }"),

    key("budget.query", "epsilon", "number above 0", "a query must say", "The ε of a query that states none.", "epsilon = 0.1"),
    key("budget.query", "delta", "number of at least 0 and below 1", "0", "The δ of a query that states none.", "delta = 1e-9"),
    key("budget.query", "find_limits", "number above 0 and at most 0.5", "none", "The share of a query's ε that finds limits for what it groups by, where no limits are stated for that.", "find_limits = 0.1"),

    key("budget.analysts", "*", "number above 0 and at most 1", "nothing", "The share of the analyst of this name.", "alice = 0.25"),

    key("data", "version", "text", r#""1""#, "The name of the present state of all data.", r#"version = "2026-11""#),
    key("data", "version_every", r#""day", "week", "month", "quarter" or "year""#, "no schedule", "Data that is new on a public schedule: the period of the calendar (UTC) is part of the version.", r#"version_every = "month""#),

    key("engine", "kind", r#""local", "postgres" or "cluster""#, r#""local""#, "`local`: this program reads all rows. `postgres`: a question over tables of one PostgreSQL database (15 to 18, UTF-8) is computed there and sends back numbers of groups alone, where it can be written in the database's SQL; other questions are answered as by `local`, with the same numbers. `cluster`: a question over Parquet files is computed by workers (`deniable worker`), where it is known how; others as by `local`. `deniable explain` says which.", r#"kind = "postgres""#),
    key("engine", "timeout", "whole number of seconds", "no timeout", "A statement in the database, or an attempt of the workers, is given up after so long. The charge is kept, and asking again goes on under it. Set it well above what the largest question takes: whether it is met may depend on one unit's rows.", "timeout = 3600"),
    key("engine", "work_mem", "whole number of MiB", "128", "How much memory each sort in the database takes before it goes to disk; a hash table takes twice as much. A question has a few of them, on each processor that the database uses for it.", "work_mem = 256"),

    key("engine", "workers", "list of texts", "none", "The workers of a cluster.", r#"workers = ["https://10.0.0.7:7411"]"#),
    key("engine", "authority", "text", "none", "The certificate of the authority that signed those of the coordinator and of all workers, in PEM.", r#"authority = "cluster/authority.pem""#),
    key("engine", "certificate", "text", "none", "The certificate of the coordinator, in PEM.", r#"certificate = "cluster/coordinator.pem""#),
    key("engine", "key", "text", "none", "The private key of the coordinator, in PEM.", r#"key = "cluster/coordinator.key""#),
    key("engine", "threads", "whole number of at least 1", "as many as this machine has", "How many threads each worker uses for a stage of a question.", "threads = 8"),

    key("limits", "groups", "whole number of at least 1", "no limit: a query that groups must say", "The maximum number of groups of a query to which one unit contributes.", "groups = 4"),
    key("limits", "rows_per_group", "whole number of at least 1", "no limit: a query must say where it matters", "The maximum number of rows that one unit contributes to each group.", "rows_per_group = 4"),
    key("limits", "rows", "whole number of at least 1", "as many as in one group", "The maximum number of rows that one unit contributes to all groups together, and to a query without GROUP BY. With GROUP BY a unit with more is scaled down as a whole, so that noise covers these rows, and not as many as all of its groups could hold.", "rows = 20"),
    key("limits", "sums", "section", "none", "The ranges to which one unit's sums of columns are clamped in a query without GROUP BY. With GROUP BY a unit with more in all groups together is scaled down as a whole.", "sums = { cost = [0, 5000] }"),
    key("limits", "by", "section", "none", "The limits of queries that group by one column, by its name, or by one expression of columns, as text.", "by = { ward = { groups = 2, rows_per_group = 5 } }"),

    key("limits.sums", "*", "[lowest, highest]", "what follows from the rows that count and the `bounds` of the column", "The range to which one unit's sum of this column is clamped; it includes 0.", "cost = [0, 5000]"),

    key("limits.by", "*", "section", "none", "The limits of queries that group by this column or expression alone. An expression is found however a query spells it.", "\"date_trunc('month', day)\" = { groups = 2 }"),

    key("limits.by.*", "groups", "whole number of at least 1", "that of the section around it", "The maximum number of groups of a query to which one unit contributes.", "groups = 2"),
    key("limits.by.*", "rows_per_group", "whole number of at least 1", "that of the section around it", "The maximum number of rows that one unit contributes to each group.", "rows_per_group = 5"),
    key("limits.by.*", "rows", "whole number of at least 1", "that of the section around it", "The maximum number of rows that one unit contributes to all groups of such a query together. A unit with more is scaled down as a whole.", "rows = 30"),
    key("limits.by.*", "sums", "section", "none", "The ranges to which one unit's sums of columns are clamped in one group.", "sums = { cost = [0, 900] }"),

    key("limits.by.*.sums", "*", "[lowest, highest]", "what follows from the rows that count and the `bounds` of the column", "The range to which one unit's sum of this column in one group is clamped; it includes 0.", "cost = [0, 900]"),

    key("tables", "*", "section", "", "A table, by the name that queries use, in any case.", "[tables.visits]"),

    key("releases", "*", "section", "none", "A release, by its name.", "[releases.census]"),

    key("releases.*", "table", "name of a table", "", "The private table of which rows are counted.", r#"table = "people""#),
    key("releases.*", "where", "condition in SQL", "all rows", "Only rows that fulfil this condition count. It is what could stand behind WHERE in a query of this table alone.", r#"where = "age >= 18""#),
    key("releases.*", "attributes", "section", "", "What the tables are by.", "attributes = { sex = {} }"),
    key("releases.*", "up_to", "whole number of at least 1", "no such tables", "All tables by up to so many attributes are wanted, the total among them.", "up_to = 3"),
    key("releases.*", "marginals", "list of lists of attributes", "[]", "Tables that are wanted; `[]` is the total.", r#"marginals = [["region", "sex"], ["age"]]"#),
    key("releases.*", "cross", "name of an attribute", "none", "Each wanted table is also wanted by this attribute.", r#"cross = "region""#),
    key("releases.*", "weights", "section", "each counts 1", "How much the errors of some tables count.", r#"weights = { "region, sex" = 4 }"#),
    key("releases.*", "objective", r#""sum" or "worst""#, r#""sum""#, "What is made small: the sum of the variances of all cells, or the largest of them.", r#"objective = "worst""#),
    key("releases.*", "epsilon", "number above 0", "`rho` must be there", "The ε of the whole release.", "epsilon = 1"),
    key("releases.*", "delta", "number above 0 and below 1", "that of `[budget.query]`", "The δ of the whole release.", "delta = 1e-9"),
    key("releases.*", "rho", "number above 0", "`epsilon` must be there", "The ρ of the whole release, in zero-concentrated differential privacy. It is reported as an ε for `delta`.", "rho = 0.1"),
    key("releases.*", "rows", "whole number of at least 1", "`rows_per_unit` of the table, else `rows` of its limits", "How many rows of one unit count in all cells together; which ones is drawn at random. Noise grows in proportion to it.", "rows = 10"),

    key("releases.*.attributes", "*", "section", "none", "An attribute, by its name in the tables.", "age = { width = 10 }"),

    key("releases.*.attributes.*", "column", "name of a column", "that of the attribute", "The column that it is read from.", r#"column = "day""#),
    key("releases.*.attributes.*", "bins", "list of ascending numbers", "a cell for each value", "The edges of bins. A bin has its lower edge and not its upper one; the last has both, unless `beyond` is said.", "bins = [0, 18, 65, 120]"),
    key("releases.*.attributes.*", "width", "number above 0", "a cell for each value", "Bins of this width between the `bounds` of the column; the last one may be narrower.", "width = 10"),
    key("releases.*.attributes.*", "beyond", "true or false", "false", "Whether numbers below the first edge have a bin, and those from the last edge on. Else they are in no cell.", "beyond = true"),
    key("releases.*.attributes.*", "period", r#""day", "week", "month", "quarter" or "year""#, "a cell for each value", "For days and moments with `bounds`: a cell for each such period with a day between them.", r#"period = "month""#),
    key("releases.*.attributes.*", "hierarchy", "name of a public table", "none", "The table that tells to which larger parts a value belongs.", r#"hierarchy = "regions""#),
    key("releases.*.attributes.*", "levels", "list of its columns", "must be there with `hierarchy`, and nowhere else", "The levels of the hierarchy, from the coarsest to the finest, which has the values of the attribute.", r#"levels = ["country", "region"]"#),

    key("releases.*.weights", "*", "number above 0", "1", "The weight of a table, by the names of its attributes with commas between, or `total`.", r#""region, sex" = 4"#),

    key("tables.*", "source", "path, `s3://…`, `gs://…`, `az://…` or `postgres://…`", "", "Where the rows are: a CSV or Parquet file, a directory of such files, Parquet files in an object store, or a database. The credentials of an object store come from the environment (docs/scale.md). `${NAME}` in a connection string is the environment variable of that name. `memory` stands for rows that a program gives (`Catalog::provide_batches`).", r#"source = "visits.csv""#),
    key("tables.*", "format", r#""csv" or "parquet""#, "by the ending of `source`", "The format of files whose names do not tell.", r#"format = "csv""#),
    key("tables.*", "table", "text", "must be there for a database, and nowhere else", "The table of a database, as `name` or `schema.name`.", r#"table = "clinic.visits""#),
    key("tables.*", "partitions", "list of names of columns", "[]", "For Parquet files: the columns whose values are the names of directories, from the outermost, as in `year=2026/region=north/part-0.parquet`. A query with conditions on them reads rows of those directories alone. A column that names units, or leads to them, cannot be one.", r#"partitions = ["year", "region"]"#),
    key("tables.*", "delimiter", r#"one character, or "tab""#, "found in the header; without one `,`, and a tab for .tsv", "The character between the fields of a CSV file.", r#"delimiter = ";""#),
    key("tables.*", "quote", r#"one character, or "none""#, r#"found in the header; without one `"`"#, "The character around fields that hold delimiters or line breaks. Doubled inside a field, it stands for itself.", r#"quote = "'""#),
    key("tables.*", "trim", "true or false", "true", "Whether spaces and tabs around names and values are left out. Inside of quotes they are always kept. Names of units are trimmed alike.", "trim = false"),
    key("tables.*", "nulls", "list of texts", "[]", "Values that stand for NULL, in every column. (Empty values of columns that are not text are NULL anyway.) A row whose unit is NULL belongs to nobody and is left out.", r#"nulls = ["?", "NA", ""]"#),
    key("tables.*", "encoding", r#""utf-8", "latin1" or "iso-8859-15""#, r#""utf-8""#, "The character encoding of CSV files. Latin-1 is read as Windows-1252. What is not UTF-8 in a file that is said to be is NULL. UTF-16 is refused: write such files anew in UTF-8.", r#"encoding = "latin1""#),
    key("tables.*", "header", "true, false, or a list of names", "true", "Whether the first line names the columns. Where it does not, list the names of all columns of the file in order; with `false` they are those of `columns`, in that order.", "header = false"),
    key("tables.*", "decimal", r#""." or ",""#, r#"".""#, "The decimal separator of numbers in CSV files. With a comma, points between thousands are read too: `1.234,5`.", r#"decimal = ",""#),
    key("tables.*", "unit", "name of a column", "another of the four", "The column that tells whose row it is: whole numbers or text (or days, moments or truth values that are kept as such; not floats, nor decimals with a scale). Two identifiers never become one: a whole number that is kept as text counts in its one spelling, `7` and not `007` or `+7`. A row whose identifier is NULL, or cannot be read so, is left out; `deniable check` counts them.", r#"unit = "patient""#),
    key("tables.*", "each_row", "true or false", "false", "Whether each row is a unit of its own, and no unit has two rows.", "each_row = true"),
    key("tables.*", "public", "true or false", "false", "Whether the rows are nobody's, and are read without noise.", "public = true"),
    key("tables.*", "unit_through", "section", "another of the four", "The way to the unit through a row of another private table.", r#"unit_through = { column = "visit", table = "visits", key = "id" }"#),
    key("tables.*", "rows_per_unit", "whole number of at least 1", "no maximum is known", "The maximum number of rows that any unit has. With 1, answers are more exact. It is your word: if it does not hold, neither does the guarantee. `deniable check` verifies it.", "rows_per_unit = 1"),
    key("tables.*", "clustered", "true or false", "false", "Whether the rows of a unit lie next to each other: queries are then faster. Where that is not true they are right all the same.", "clustered = true"),
    key("tables.*", "keys", "list of lists of columns", "[]", "For public tables: sets of columns that identify a row, because no two rows agree in all of them.", r#"keys = [["code"], ["year", "region"]]"#),
    key("tables.*", "impossible", "list of sections", "[]", "Rows that cannot be: none of them is ever a synthetic row.", r#"impossible = [{ age = { below = 16 }, marital = ["married", "widowed"] }]"#),
    key("tables.*", "limits", "section", "those of `[limits]`", "The limits of this table.", "limits = { groups = 1 }"),
    key("tables.*", "version", "text", "that of `[data]` alone", "The name of the present state of this table, beside the version of all data.", r#"version = "2026-11""#),
    key("tables.*", "columns", "section", "", "The columns that queries may use.", r#"columns = { id = { kind = "int" } }"#),

    key("tables.*.unit_through", "column", "name of a column", "", "The column here that names a row of the other table.", r#"column = "visit""#),
    key("tables.*.unit_through", "table", "name of a table", "", "The other table.", r#"table = "visits""#),
    key("tables.*.unit_through", "key", "name of a column", "", "The column of the other table that equals `column`. No two rows there have the same value, which is your word.", r#"key = "id""#),

    key("tables.*.impossible", "*", "value, list of values, or section", "a rule names at least one", "A column, with the values that it does not have together with those of the other columns of the rule. Single values are among the declared `values`, whole numbers, or true and false.", r#"marital = ["married", "widowed"]"#),

    key("tables.*.impossible.*", "from", "number, day or moment", "no lower end", "The first value that is meant.", "from = 75"),
    key("tables.*.impossible.*", "below", "number, day or moment", "no upper end", "The first value that is no longer meant.", "below = 16"),
    key("tables.*.impossible.*", "not", "value or list of values", "nothing", "All values are meant but these and NULL.", r#"not = "single""#),
    key("tables.*.impossible.*", "null", "true or false", "nothing", "With `true`, NULL is meant; with `false`, every value that is not NULL.", "null = false"),

    key("tables.*.limits", "groups", "whole number of at least 1", "that of `[limits]`", "The maximum number of groups of a query to which one unit contributes.", "groups = 1"),
    key("tables.*.limits", "rows_per_group", "whole number of at least 1", "that of `[limits]`", "The maximum number of rows that one unit contributes to each group.", "rows_per_group = 2"),
    key("tables.*.limits", "rows", "whole number of at least 1", "as many as in one group", "The maximum number of rows that one unit contributes to all groups together, and to a query without GROUP BY. With GROUP BY a unit with more is scaled down as a whole, so that noise covers these rows, and not as many as all of its groups could hold.", "rows = 20"),
    key("tables.*.limits", "sums", "section", "none", "The ranges to which one unit's sums of columns are clamped in a query without GROUP BY. With GROUP BY a unit with more in all groups together is scaled down as a whole.", "sums = { cost = [0, 5000] }"),
    key("tables.*.limits", "by", "section", "none", "The limits of queries that group by one column, by its name, or by one expression of columns, as text.", "by = { ward = { groups = 2, rows_per_group = 5 } }"),

    key("tables.*.limits.sums", "*", "[lowest, highest]", "what follows from the rows that count and the `bounds` of the column", "The range to which one unit's sum of this column is clamped; it includes 0.", "cost = [0, 5000]"),

    key("tables.*.limits.by", "*", "section", "none", "The limits of queries that group by this column or expression alone. An expression is found however a query spells it.", "\"date_trunc('month', day)\" = { groups = 2 }"),

    key("tables.*.limits.by.*", "groups", "whole number of at least 1", "that of the section around it", "The maximum number of groups of a query to which one unit contributes.", "groups = 2"),
    key("tables.*.limits.by.*", "rows_per_group", "whole number of at least 1", "that of the section around it", "The maximum number of rows that one unit contributes to each group.", "rows_per_group = 5"),
    key("tables.*.limits.by.*", "rows", "whole number of at least 1", "that of the section around it", "The maximum number of rows that one unit contributes to all groups of such a query together. A unit with more is scaled down as a whole.", "rows = 30"),
    key("tables.*.limits.by.*", "sums", "section", "none", "The ranges to which one unit's sums of columns are clamped in one group.", "sums = { cost = [0, 900] }"),

    key("tables.*.limits.by.*.sums", "*", "[lowest, highest]", "what follows from the rows that count and the `bounds` of the column", "The range to which one unit's sum of this column in one group is clamped; it includes 0.", "cost = [0, 900]"),

    key("tables.*.columns", "*", "section", "", "A column, by its name in the data.", r#"age = { kind = "int", bounds = [0, 120] }"#),

    key("tables.*.columns.*", "kind", r#""bool", "int", "float", "text", "date" or "timestamp""#, "", "The type of its values. A value of another type is NULL.", r#"kind = "int""#),
    key("tables.*.columns.*", "bounds", "[lowest, highest]", "unknown: it cannot be summed", "Sums, averages, quantiles and extremes count numbers beyond as the nearest bound. Conditions (`WHERE`, `FILTER`, joins) and `COUNT` see them as they are, and where a query groups by the column and its groups are listed, they are in none. Of days and moments, `[\"2020-01-01\", \"2023-12-31\"]`: months, weeks and the like between them are public groups, so that grouping by them costs no δ; days beyond are in none of these groups, and conditions see them as they are.", "bounds = [0, 120]"),
    key("tables.*.columns.*", "periods", r#""day", "week", "month", "quarter" or "year""#, "none", "For days and moments with `bounds`: the values are the beginnings of these periods, and are listed as groups.", r#"periods = "month""#),
    key("tables.*.columns.*", "other", "text", "other texts are in no group", "For text with `values`: any other text is read as this value, which is the last group: everywhere in a query, conditions included. NULL stays NULL.", r#"other = "other""#),
    key("tables.*.columns.*", "values", "list", "unknown", "All values that it can have. Grouped by it, each is shown, also if nobody has it. A row with another value is in no group of such a query, not even in that of NULL (but it takes up one of the `groups` in which its unit counts). Conditions and `COUNT` see the value as it is; sums count a number below or above all listed ones as the nearest of them. Which groups an expression over the column has, and which bounds, follows from the listed values alone.", r#"values = ["yes", "no"]"#),
    key("tables.*.columns.*", "nullable", "true or false", "true", "Whether it may be NULL: then a query that groups by it has a group for NULL. Where `false` is not true, such rows are in no group.", "nullable = false"),
    key("tables.*.columns.*", "of_unit", "true or false", "false; true where a unit has one row", "Whether all rows of a unit have the same value, which is your word.", "of_unit = true"),
];

/// The keys of a section.
pub(super) fn of(section: &str) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| key.section == section)
}

/// What the entry of this name is called in the table of keys: `*` where names are the curator's choice.
pub(super) fn name_in<'n>(section: &str, name: &'n str) -> &'n str {
    if of(section).any(|key| key.name == "*") {
        "*"
    } else {
        name
    }
}

/// The first section that has a key of this name.
pub(super) fn elsewhere(name: &str) -> Option<String> {
    let found = KEYS.iter().find(|key| key.name == name)?;
    let kind = SECTIONS.iter().find(|kind| kind.section == found.section)?;
    Some(match kind.section {
        "" => "the top of the file".to_owned(),
        "tables.*.columns.*" => "a column".to_owned(),
        _ => kind.title.to_owned(),
    })
}

/// The reference of all keys, as Markdown: `docs/catalog.md`.
pub fn reference() -> String {
    let mut text = String::from(
        "# The catalog\n\n\
         <!-- Made from the table in crates/sql/src/catalog/keys.rs. Do not edit: change the table, and run\n     \
         DENIABLE_WRITE_DOCS=1 cargo nextest run --workspace -E 'test(the_reference_is_the_document)' -->\n\n\
         Every key that `deniable.toml` may have. `deniable init` writes a first draft. A key that is not listed here is a mistake, and named.\n",
    );
    for kind in SECTIONS {
        text += &format!(
            "\n## {}\n\n{}\n\n| key | value | without it | meaning | example |\n|---|---|---|---|---|\n",
            kind.title, kind.about
        );
        for key in of(kind.section) {
            let name = match key.name {
                "*" => "*a name*".to_owned(),
                name => format!("`{name}`"),
            };
            let default = match key.default {
                "" => "must be there",
                default => default,
            };
            let cells = [
                name,
                key.value.to_owned(),
                default.to_owned(),
                key.meaning.to_owned(),
                format!("`{}`", key.example),
            ];
            let cells = cells.map(|cell| cell.replace('|', "\\|"));
            text += &format!("| {} |\n", cells.join(" | "));
        }
    }
    text
}
