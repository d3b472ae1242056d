//! The same arithmetic in PostgreSQL, which has to be there: `scripts/with-postgres`. Where it raises an error we have NULL; everywhere else we have what it has.

use super::*;
use tokio_postgres::{NoTls, SimpleQueryMessage};

/// Expressions of numbers that mean something in PostgreSQL too.
struct Writer {
    state: u64,
}

impl Writer {
    fn below(&mut self, choices: usize) -> usize {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as usize % choices
    }

    fn pick(&mut self, choices: &[&str]) -> String {
        choices[self.below(choices.len())].to_owned()
    }

    /// An integer. With `pure` nothing in it is a float on the way.
    fn integer(&mut self, depth: usize, pure: bool) -> String {
        if depth == 0 {
            return self.pick(&["i", "j", "j", "i", "2", "7", "(-3)", "10", "0", "1", "(-1)"]);
        }
        let choices = if pure { 12 } else { 15 };
        match self.below(choices) {
            0..=6 => {
                let operator = self.pick(&["+", "-", "*", "/", "/", "%"]);
                let sides = [0, 1].map(|_| self.integer(depth - 1, pure));
                format!("({} {operator} {})", sides[0], sides[1])
            }
            7 => format!("abs({})", self.integer(depth - 1, pure)),
            8 => format!("(- {})", self.integer(depth - 1, pure)),
            9 => {
                let parts = [0, 1, 2].map(|_| self.integer(depth - 1, pure));
                format!(
                    "CASE WHEN {} > {} THEN {} ELSE 0 END",
                    parts[0], parts[1], parts[2]
                )
            }
            10 => {
                let function = self.pick(&["coalesce", "nullif", "greatest", "least", "mod"]);
                let sides = [0, 1].map(|_| self.integer(depth - 1, pure));
                format!("{function}({}, {})", sides[0], sides[1])
            }
            11 => self.integer(0, pure),
            12 => format!("CAST({} AS BIGINT)", self.float(depth - 1)),
            13 => format!("CAST({} AS BIGINT)", self.numeric(depth - 1)),
            _ => format!("CAST(div({}, 2) AS BIGINT)", self.integer(depth - 1, pure)),
        }
    }

    /// A `double precision`.
    fn float(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.pick(&["f", "g", "CAST(i AS DOUBLE PRECISION)"]);
        }
        match self.below(9) {
            0..=2 => {
                let operator = self.pick(&["+", "-", "*", "/"]);
                format!(
                    "({} {operator} {})",
                    self.float(depth - 1),
                    self.integer(depth - 1, false)
                )
            }
            3 => {
                let operator = self.pick(&["+", "-", "*", "/"]);
                format!("({} {operator} {})", self.numeric(0), self.float(depth - 1))
            }
            4 | 5 => {
                let function = self.pick(&["floor", "ceil", "round", "trunc", "abs", "sign"]);
                format!("{function}({})", self.float(depth - 1))
            }
            6 => {
                let function = self.pick(&["floor", "ceil", "trunc"]);
                format!("({function}({}) / 4)", self.integer(depth - 1, false))
            }
            7 => format!("power({}, 2)", self.float(depth - 1)),
            _ => format!("greatest({}, {})", self.float(depth - 1), self.integer(0, false)),
        }
    }

    /// A `numeric` that a float holds exactly.
    fn numeric(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.pick(&["0.5", "2.0", "4.0", "(-1.5)", "(i * 0.5)", "(i / 4.0)"]);
        }
        match self.below(8) {
            6 => format!("(CAST({} AS NUMERIC) / 4)", self.integer(depth - 1, false)),
            7 => format!(
                "CAST({} AS NUMERIC(12, 1))",
                self.pick(&["f", "g", "i", "(i / 4.0)"])
            ),
            0 | 1 => {
                let operator = self.pick(&["+", "-", "*"]);
                format!(
                    "({} {operator} {})",
                    self.numeric(depth - 1),
                    self.integer(0, false)
                )
            }
            2 | 3 => {
                let function = self.pick(&["floor", "ceil", "round", "trunc", "abs"]);
                format!("{function}({})", self.numeric(depth - 1))
            }
            4 => format!("round({}, {})", self.numeric(depth - 1), self.pick(&["0", "-1"])),
            _ => {
                let function = self.pick(&["round", "trunc"]);
                format!("({function}({}, -1) / 4)", self.integer(depth - 1, false))
            }
        }
    }
}

/// Two integers and two floats.
type Row = (Option<i64>, Option<i64>, Option<f64>, Option<f64>);

/// Small numbers, and halves.
const MODERATE: [Row; 9] = [
    (Some(7), Some(2), Some(2.5), Some(-2.5)),
    (Some(-7), Some(2), Some(-0.5), Some(0.5)),
    (Some(0), Some(-7), Some(3.5), Some(0.0)),
    (Some(15), Some(0), Some(1.5), Some(-1.5)),
    (Some(-25), Some(10), Some(0.0), Some(1000.25)),
    (Some(999), Some(-1), Some(-3.75), Some(4.5)),
    (Some(1), None, Some(1e6), None),
    (None, Some(3), None, Some(0.125)),
    (Some(85), Some(1000), Some(-100.5), Some(7.0)),
];

/// The smallest and the largest, with which floats would not be exact.
const EXTREME: [Row; 5] = [
    (Some(i64::MIN), Some(-1), None, None),
    (Some(-1), Some(i64::MIN), None, None),
    (Some(i64::MAX), Some(i64::MIN + 1), None, None),
    (Some(i64::MAX), Some(0), None, None),
    (Some(3), Some(i64::MAX / 2 + 1), None, None),
];

type Rows = [(Option<i64>, Option<i64>, Option<f64>, Option<f64>)];

fn batch(rows: &Rows) -> RecordBatch {
    let schema = schema();
    let arrays = schema.fields().iter().map(|field| -> ArrayRef {
        match field.name().as_str() {
            "i" => Arc::new(rows.iter().map(|row| row.0).collect::<Int64Array>()),
            "j" => Arc::new(rows.iter().map(|row| row.1).collect::<Int64Array>()),
            "f" => Arc::new(rows.iter().map(|row| row.2).collect::<Float64Array>()),
            "g" => Arc::new(rows.iter().map(|row| row.3).collect::<Float64Array>()),
            _ => new_null_array(field.data_type(), rows.len()),
        }
    });
    RecordBatch::try_new(schema.clone(), arrays.collect()).unwrap()
}

/// The first column of a result.
async fn texts(client: &tokio_postgres::Client, sql: &str) -> Vec<Option<String>> {
    let found = client.simple_query(sql).await;
    let found = found.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    let texts = found.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0).map(str::to_owned)),
        _ => None,
    });
    texts.collect()
}

/// What PostgreSQL makes of each expression in each row: its type, and the values as text, or that it raises an error.
async fn asked(rows: &Rows, expressions: &[String]) -> Vec<(String, Vec<Option<String>>)> {
    let connection = std::env::var("DENIABLE_TEST_POSTGRES").expect(
        "DENIABLE_TEST_POSTGRES is not set: run the tests as `scripts/with-postgres cargo nextest run --workspace`",
    );
    let (client, task) = tokio_postgres::connect(&connection, NoTls).await.unwrap();
    tokio::spawn(task);
    client
        .batch_execute(
            "CREATE TEMPORARY TABLE t (row int, i bigint, j bigint, f double precision, g double precision);
             CREATE FUNCTION pg_temp.attempt(expression text, place int) RETURNS text LANGUAGE plpgsql AS $$
             DECLARE result text;
             BEGIN
                 EXECUTE format('SELECT (%s)::text FROM t WHERE row = %s', expression, place) INTO result;
                 RETURN result;
             EXCEPTION WHEN division_by_zero OR numeric_value_out_of_range THEN RETURN 'raised';
             END $$;",
        )
        .await
        .unwrap();
    let written = |value: Option<String>| value.unwrap_or_else(|| "NULL".to_owned());
    for (place, (i, j, f, g)) in rows.iter().enumerate() {
        let values = [
            written(i.map(|value| format!("'{value}'"))),
            written(j.map(|value| format!("'{value}'"))),
            written(f.map(|value| format!("'{value}'"))),
            written(g.map(|value| format!("'{value}'"))),
        ];
        let insert = format!("INSERT INTO t VALUES ({place}, {})", values.join(", "));
        client.batch_execute(&insert).await.unwrap();
    }
    let mut all = Vec::new();
    for expression in expressions {
        let quoted = expression.replace('\'', "''");
        let sql = format!("SELECT pg_temp.attempt('{quoted}', row) FROM t ORDER BY row");
        let values = texts(&client, &sql).await;
        // Of a view the type is known before anything is computed.
        let view = format!("CREATE TEMPORARY VIEW typed AS SELECT {expression} AS value FROM t");
        let name = "SELECT format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = 'pg_temp.typed'::regclass AND attnum = 1";
        client.batch_execute(&view).await.unwrap();
        let name = texts(&client, name).await.remove(0);
        client.batch_execute("DROP VIEW pg_temp.typed").await.unwrap();
        all.push((name.unwrap_or_default(), values));
    }
    all
}

fn compare(rows: &Rows, expressions: &[String], exactly: bool) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let theirs = runtime.block_on(asked(rows, expressions));
    let context = engine(&batch(rows));
    for (expression, (name, theirs)) in expressions.iter().zip(theirs) {
        let typed = accept(&planned(&context, expression), &scope());
        let typed = typed.unwrap_or_else(|error| panic!("{expression}: {error}"));
        let facts = &typed.facts;
        let same = match name.as_str() {
            "integer" | "bigint" => facts.kind == Kind::Int && !facts.numeric && !facts.double,
            "numeric" => facts.numeric,
            // The whole part of an integer stays one here, and is divided as a float is.
            "double precision" => !facts.numeric && (facts.kind == Kind::Float || facts.double),
            _ => false,
        };
        assert!(same, "{expression} is {name} there, and here {facts:?}");
        let ours = shown(&context, expression);
        for (row, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            let theirs = theirs.as_deref().unwrap_or("NULL");
            if theirs == "raised" {
                // The part that raises is NULL here, and so is what is made of it, except where a NULL is passed over.
                let passed_over = ["CASE", "coalesce", "nullif", "greatest", "least"];
                let passed_over = passed_over.iter().any(|name| expression.contains(name));
                assert!(
                    passed_over || ours == "NULL",
                    "{expression} in row {row}: {ours}, and in PostgreSQL an error"
                );
                continue;
            }
            let equal = match (ours.parse::<f64>(), theirs.parse::<f64>()) {
                (Ok(ours), Ok(theirs)) if !exactly => (ours - theirs).abs() <= theirs.abs() * 1e-12,
                _ => ours == theirs,
            };
            assert!(
                equal,
                "{expression} in row {row}: {ours}, and in PostgreSQL {theirs}"
            );
        }
    }
}

#[test]
fn integers_are_those_of_postgresql() {
    let mut writer = Writer { state: 7 };
    let expressions: Vec<String> = (0..120)
        .map(|place| writer.integer(1 + place % 3, true))
        .collect();
    compare(&EXTREME, &expressions, true);
    compare(&MODERATE, &expressions, true);
}

#[test]
fn numbers_are_those_of_postgresql() {
    let mut writer = Writer { state: 11 };
    let expressions: Vec<String> = (0..240)
        .map(|place| match place % 3 {
            0 => writer.integer(1 + place % 4, false),
            1 => writer.float(1 + place % 4),
            _ => writer.numeric(1 + place % 4),
        })
        .collect();
    compare(&MODERATE, &expressions, false);
}
