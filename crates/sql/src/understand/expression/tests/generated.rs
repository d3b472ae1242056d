//! Random expressions over bad and good data: nothing fails, and what was said of the results holds.

use super::*;
use proptest::prelude::*;

/// Decisions, which shrink to the simplest ones when they run out.
pub(super) struct Tape<'a> {
    pub(super) decisions: std::slice::Iter<'a, u8>,
    pub(super) depth: usize,
}

impl Tape<'_> {
    fn next(&mut self, choices: usize) -> usize {
        usize::from(*self.decisions.next().unwrap_or(&0)) % choices
    }

    fn pick(&mut self, choices: &[&str]) -> String {
        choices[self.next(choices.len())].to_string()
    }

    /// An expression of a kind, as SQL. Early choices are leaves.
    pub(super) fn expression(&mut self, kind: Kind) -> String {
        self.depth += 1;
        let choice = if self.depth > 7 { 0 } else { self.next(24) };
        let written = match kind {
            Kind::Bool => self.boolean(choice),
            Kind::Int => self.integer(choice),
            Kind::Float => self.float(choice),
            Kind::Text => self.text(choice),
            Kind::Date => self.date(choice),
            Kind::Timestamp => self.moment(choice),
        };
        self.depth -= 1;
        written
    }

    /// Comparisons of sums, products, quotients and casts: what the engine computes on statistics before it reads rows.
    pub(super) fn simple_filter(&mut self) -> String {
        let comparisons: Vec<_> = (0..1 + self.next(3)).map(|_| self.simple_comparison()).collect();
        comparisons.join(" AND ")
    }

    fn simple_comparison(&mut self) -> String {
        let operator = self.pick(&["=", "<", "<=", ">", ">="]);
        let sides = [0, 1].map(|_| match self.next(12) {
            0 => "CAST(b AS BIGINT)".to_string(),
            1 => "CAST(CAST(i AS BOOLEAN) AS BIGINT)".to_string(),
            2 => "EXTRACT(EPOCH FROM d)".to_string(),
            3 => "EXTRACT(YEAR FROM m)".to_string(),
            4 => "(d - DATE '2020-01-01')".to_string(),
            _ => self.simple_number(3),
        });
        match self.next(8) {
            0 => format!("d {operator} CAST(m AS DATE)"),
            1 => format!("m {operator} d"),
            2 => format!("m + INTERVAL '1 day' {operator} TIMESTAMP '2020-01-01'"),
            3 => format!("CAST(j AS VARCHAR) {operator} CAST(i AS VARCHAR)"),
            _ => format!("{} {operator} {}", sides[0], sides[1]),
        }
    }

    fn simple_number(&mut self, depth: usize) -> String {
        if depth == 0 || self.next(3) == 0 {
            return self.pick(&[
                "i",
                "j",
                "u",
                "k",
                "f",
                "g",
                "0",
                "1",
                "(-3)",
                "2.5",
                "1e308",
                "9223372036854775807",
            ]);
        }
        let operator = self.pick(&["+", "-", "*", "/", "%"]);
        format!(
            "({} {operator} {})",
            self.simple_number(depth - 1),
            self.simple_number(depth - 1)
        )
    }

    fn bool(&mut self) -> String {
        self.expression(Kind::Bool)
    }

    fn number(&mut self) -> String {
        let kind = [Kind::Int, Kind::Float][self.next(2)];
        self.expression(kind)
    }

    fn temporal(&mut self) -> String {
        let kind = [Kind::Date, Kind::Timestamp][self.next(2)];
        self.expression(kind)
    }

    fn any(&mut self) -> String {
        let kind = self.kind();
        self.expression(kind)
    }

    fn kind(&mut self) -> Kind {
        [
            Kind::Int,
            Kind::Float,
            Kind::Text,
            Kind::Bool,
            Kind::Date,
            Kind::Timestamp,
        ][self.next(6)]
    }

    /// Text that is not a constant: one that cannot be read as another kind is refused.
    fn read_text(&mut self) -> String {
        let text = self.expression(Kind::Text);
        if text.starts_with('\'') { "s".into() } else { text }
    }

    fn same(&mut self, kind: Kind, choice: usize) -> String {
        let (a, b, c) = (self.bool(), self.expression(kind), self.expression(kind));
        match choice % 8 {
            0 => format!("CASE WHEN {a} THEN {b} ELSE {c} END"),
            1 => format!("CASE WHEN {a} THEN {b} END"),
            2 => format!("CASE {b} WHEN {c} THEN {b} WHEN NULL THEN {c} ELSE NULL END"),
            3 => format!("coalesce({b}, {c})"),
            4 => format!("nullif({b}, {c})"),
            5 => format!("greatest({b}, {c}, NULL)"),
            6 => format!("least({b}, {c})"),
            _ => format!("nvl2({c}, {b}, {c})"),
        }
    }

    fn boolean(&mut self, choice: usize) -> String {
        match choice {
            0 | 1 => self.pick(&["b", "TRUE", "FALSE", "CAST(NULL AS BOOLEAN)"]),
            2..=6 => {
                let kind = self.kind();
                let operator = self.pick(&[
                    "=",
                    "<>",
                    "<",
                    "<=",
                    ">",
                    ">=",
                    "IS DISTINCT FROM",
                    "IS NOT DISTINCT FROM",
                ]);
                format!("({} {operator} {})", self.expression(kind), self.expression(kind))
            }
            7 => format!(
                "({} BETWEEN {} AND {})",
                self.number(),
                self.number(),
                self.number()
            ),
            8 => {
                let kind = self.kind();
                let not = self.pick(&["", "NOT "]);
                let list: Vec<_> = (0..1 + self.next(5)).map(|_| self.expression(kind)).collect();
                format!("({} {not}IN ({}))", self.expression(kind), list.join(", "))
            }
            9 => {
                let like = self.pick(&["LIKE", "ILIKE", "NOT LIKE", "NOT ILIKE"]);
                let pattern = self.pick(&["%", "", "a%", "%e_", "_%ß%", "%\\%%", "İ", "ΐ%", "a\\", "%.*(["]);
                format!("({} {like} '{pattern}')", self.expression(Kind::Text))
            }
            10 => format!("({} AND {} AND {})", self.bool(), self.bool(), self.bool()),
            11 => format!("({} OR {} OR {})", self.bool(), self.bool(), self.bool()),
            12 => format!("(NOT {})", self.bool()),
            13 => {
                let test = self.pick(&["NULL", "NOT NULL"]);
                format!("({} IS {test})", self.any())
            }
            14 => {
                let test = self.pick(&["TRUE", "FALSE", "UNKNOWN", "NOT TRUE", "NOT FALSE", "NOT UNKNOWN"]);
                format!("({} IS {test})", self.bool())
            }
            15 => {
                let name = self.pick(&["starts_with", "ends_with", "contains"]);
                format!(
                    "{name}({}, {})",
                    self.expression(Kind::Text),
                    self.expression(Kind::Text)
                )
            }
            16 if self.pick(&["cast", "match"]) == "match" => {
                let pattern = self.pick(&["~ '^\\w+$'", "!~* 'É|s'", "SIMILAR TO '%(a|b)_'"]);
                format!("({} {pattern})", self.expression(Kind::Text))
            }
            16 => format!("CAST({} AS BOOLEAN)", self.read_text()),
            17 => format!("CAST({} AS BOOLEAN)", self.expression(Kind::Int)),
            choice => self.same(Kind::Bool, choice),
        }
    }

    fn integer(&mut self, choice: usize) -> String {
        match choice {
            0 | 1 => self.pick(&[
                "i",
                "j",
                "u",
                "k",
                "0",
                "1",
                "(-1)",
                "9223372036854775807",
                "(-9223372036854775808)",
                "CAST(NULL AS BIGINT)",
            ]),
            2..=5 => {
                let operator = self.pick(&["+", "-", "*", "%"]);
                let sides = [0, 1].map(|_| self.expression(Kind::Int));
                format!("({} {operator} {})", sides[0], sides[1])
            }
            6 | 7 => {
                // A cast makes an integer of what PostgreSQL divides with a fraction.
                let sides = [0, 1].map(|_| self.expression(Kind::Int));
                format!("(CAST({} AS BIGINT) / CAST({} AS BIGINT))", sides[0], sides[1])
            }
            8 => format!("CAST({} AS BIGINT)", self.number()),
            9 => format!("CAST({} AS INT)", self.read_text()),
            10 => format!("CAST({} AS BIGINT)", self.bool()),
            11 | 12 => {
                let parts = [
                    "YEAR",
                    "MONTH",
                    "DAY",
                    "DOW",
                    "DOY",
                    "QUARTER",
                    "WEEK",
                    "HOUR",
                    "MINUTE",
                    "SECOND",
                    "MILLISECOND",
                    "MICROSECOND",
                    "ISOYEAR",
                    "ISODOW",
                ];
                format!("EXTRACT({} FROM {})", self.pick(&parts), self.temporal())
            }
            13 => format!("length({})", self.expression(Kind::Text)),
            14 => format!(
                "strpos({}, {})",
                self.expression(Kind::Text),
                self.expression(Kind::Text)
            ),
            15 => format!(
                "({} - {})",
                self.expression(Kind::Date),
                self.expression(Kind::Date)
            ),
            16 => format!("abs({})", self.expression(Kind::Int)),
            17 => format!("sign({})", self.expression(Kind::Int)),
            18 => {
                let bounds = self.pick(&["0, 1, 3", "-5.5, 1e6, 100", "-1e308, 0, 1", "0, 5e-324, 2"]);
                format!("width_bucket({}, {bounds})", self.number())
            }
            19 => {
                let function = self.pick(&["round", "trunc"]);
                let places = self.pick(&["2", "-1", "-15"]);
                format!("{function}({}, {places})", self.expression(Kind::Int))
            }
            choice => self.same(Kind::Int, choice),
        }
    }

    fn float(&mut self, choice: usize) -> String {
        match choice {
            0 | 1 => self.pick(&[
                "f",
                "g",
                "0.0",
                "1.5",
                "(-2.5e-3)",
                "1e308",
                "CAST(NULL AS DOUBLE)",
                "1e18",
            ]),
            2..=5 => {
                let operator = self.pick(&["+", "-", "*"]);
                format!("({} {operator} {})", self.expression(Kind::Float), self.number())
            }
            6 => format!("({} / {})", self.number(), self.expression(Kind::Float)),
            7 => format!("({} / {})", self.expression(Kind::Float), self.number()),
            8 => format!("({} % {})", self.expression(Kind::Float), self.number()),
            9 => format!("(- {})", self.expression(Kind::Float)),
            10 => {
                let function = self.pick(&["abs", "ceil", "floor", "round", "trunc", "sign", "sqrt"]);
                format!("{function}({})", self.expression(Kind::Float))
            }
            11 => {
                let function = self.pick(&["ln", "log", "log10", "log2", "exp", "sqrt"]);
                format!("{function}({})", self.number())
            }
            12 => {
                let places = self.pick(&["0", "2", "15", "(-3)", "-15"]);
                let function = self.pick(&["round", "trunc"]);
                format!("{function}({}, {places})", self.expression(Kind::Float))
            }
            13 => {
                let exponent = self.pick(&["2", "3", "0.5", "-1", "-2", "0", "-0.5", "1", "1000"]);
                format!("power({}, {exponent})", self.number())
            }
            14 => {
                let base = self.pick(&["2", "0.5", "1e300", "1"]);
                format!("power({base}, {})", self.number())
            }
            15 => format!("CAST({} AS DOUBLE)", self.read_text()),
            16 => format!("CAST({} AS DOUBLE)", self.expression(Kind::Int)),
            17 => format!("EXTRACT(EPOCH FROM {})", self.temporal()),
            18 => format!("log({}, {})", self.number(), self.number()),
            19 => format!("(floor({}) / 3)", self.expression(Kind::Int)),
            choice => self.same(Kind::Float, choice),
        }
    }

    fn text(&mut self, choice: usize) -> String {
        match choice {
            0 | 1 => self.pick(&[
                "s",
                "c",
                "''",
                "'ß'",
                "'2020-01-01'",
                "'İ a'",
                "CAST(NULL AS VARCHAR)",
            ]),
            2 | 3 => {
                let function = self.pick(&["lower", "upper", "reverse", "trim", "ltrim", "rtrim"]);
                format!("{function}({})", self.expression(Kind::Text))
            }
            4 => {
                let function = self.pick(&["btrim", "ltrim", "rtrim"]);
                format!("{function}({}, 'aß')", self.expression(Kind::Text))
            }
            5 | 6 => {
                let arguments = self.pick(&[
                    "1",
                    "2, 3",
                    "-5, 7",
                    "0, 0",
                    "9223372036854775807, 9223372036854775807",
                    "-9223372036854775807, 5",
                    "3, 9223372036854775807",
                ]);
                format!("substr({}, {arguments})", self.expression(Kind::Text))
            }
            7 => {
                let function = self.pick(&["left", "right"]);
                let count = self.pick(&["1", "0", "-1", "9223372036854775807", "-9223372036854775807"]);
                format!("{function}({}, {count})", self.expression(Kind::Text))
            }
            8 => format!("concat({}, {})", self.any(), self.any()),
            9 => format!("({} || {})", self.expression(Kind::Text), self.any()),
            10 => {
                let replacement = self.pick(&["'a', 'bb'", "'ß', ''", "' ', '-'", "'e', '\u{1F600}'"]);
                format!("replace({}, {replacement})", self.expression(Kind::Text))
            }
            11 => {
                let arguments = self.pick(&[
                    "',', 1",
                    "'', 1",
                    "'-', 2",
                    "',', -1",
                    "'ß', 9223372036854775807",
                    "'a', -9223372036854775807",
                ]);
                format!("split_part({}, {arguments})", self.expression(Kind::Text))
            }
            12 => {
                let pattern = self.pick(&[
                    "YYYY-MM-DD HH24:MI:SS.US",
                    "FMMonth Day IYYY IW",
                    "\"é\"Q WW W D DDD AM",
                ]);
                format!("to_char({}, '{pattern}')", self.temporal())
            }
            13 => {
                let call = self.pick(&[
                    "regexp_replace(TEXT, '(.)(.?)', '\\2\\1\\&', 'g')",
                    "regexp_replace(TEXT, '', 'e\u{301}', 'g')",
                    "regexp_substr(TEXT, '[^a-z]+$')",
                ]);
                call.replace("TEXT", &self.expression(Kind::Text))
            }
            14 => format!("CAST({} AS VARCHAR)", self.any()),
            choice => self.same(Kind::Text, choice),
        }
    }

    fn date(&mut self, choice: usize) -> String {
        match choice {
            0..=2 => self.pick(&[
                "d",
                "DATE '2020-02-29'",
                "DATE '0001-01-01'",
                "CAST(NULL AS DATE)",
            ]),
            3..=7 => format!("CAST({} AS DATE)", self.expression(Kind::Timestamp)),
            8..=10 => format!("CAST({} AS DATE)", self.read_text()),
            11..=15 => {
                let interval = self.pick(&[
                    "+ INTERVAL '1 day'",
                    "- INTERVAL '13 months'",
                    "+ INTERVAL '999 years'",
                    "- INTERVAL '1000 days'",
                ]);
                format!("({} {interval})", self.expression(Kind::Date))
            }
            choice => self.same(Kind::Date, choice),
        }
    }

    fn moment(&mut self, choice: usize) -> String {
        match choice {
            0..=2 => self.pick(&[
                "m",
                "TIMESTAMP '2020-02-29 12:34:56.789'",
                "TIMESTAMP '1700-01-01'",
                "CAST(NULL AS TIMESTAMP)",
            ]),
            3..=5 => format!("CAST({} AS TIMESTAMP)", self.expression(Kind::Date)),
            6..=8 => format!("CAST({} AS TIMESTAMP)", self.read_text()),
            12 => {
                let stride = self.pick(&["15 minutes", "7 days", "36500 days", "1 microsecond"]);
                format!(
                    "date_bin(INTERVAL '{stride}', {}, TIMESTAMP '2001-02-16 20:05:00')",
                    self.temporal()
                )
            }
            9..=11 => {
                let unit = self.pick(&[
                    "year",
                    "quarter",
                    "month",
                    "week",
                    "day",
                    "hour",
                    "minute",
                    "second",
                    "millisecond",
                    "microsecond",
                ]);
                format!("date_trunc('{unit}', {})", self.temporal())
            }
            13..=15 => {
                let interval = self.pick(&[
                    "+ INTERVAL '1 hour'",
                    "- INTERVAL '1 month'",
                    "+ INTERVAL '90 years'",
                    "- INTERVAL '1 microsecond'",
                    "+ INTERVAL '36500 days'",
                ]);
                format!("({} {interval})", self.expression(Kind::Timestamp))
            }
            choice => self.same(Kind::Timestamp, choice),
        }
    }
}

/// Size, and a constant that is out of range, are the only reasons to refuse what the generator writes.
pub(super) fn expected(error: &Error) -> bool {
    let error = error.to_string();
    [
        "too large",
        "times longer",
        "nests",
        "operators",
        "a constant in the query",
    ]
    .iter()
    .any(|reason| error.contains(reason))
}

pub(super) fn check(
    kind: Kind,
    decisions: &[u8],
    worst: &SessionContext,
    best: &SessionContext,
) -> Result<bool, TestCaseError> {
    let sql = Tape {
        decisions: decisions.iter(),
        depth: 0,
    }
    .expression(kind);
    if let Err(error) = crate::understand::dialect::read(&format!("SELECT {sql}")) {
        prop_assert!(expected(&error), "{sql}: {error}");
        return Ok(false);
    }
    let typed = match accept(&planned(worst, &sql), &scope()) {
        Ok(typed) => typed,
        Err(error) => {
            prop_assert!(expected(&error), "{sql}: {error}");
            return Ok(false);
        }
    };
    prop_assert_eq!(typed.facts.kind, kind, "{}", sql);
    let ran = run(worst, &typed);
    prop_assert!(ran.is_ok(), "{}: {:?}", sql, ran.err());
    let ran = run(best, &typed);
    prop_assert!(ran.is_ok(), "{}: {:?}", sql, ran.as_ref().err());
    holds(&sql, &typed, &ran.unwrap())?;
    Ok(true)
}

/// What the facts say is so.
fn holds(sql: &str, typed: &Typed, results: &ArrayRef) -> Result<(), TestCaseError> {
    let facts = &typed.facts;
    let listed = typed.enumerable();
    for row in 0..results.len() {
        if results.is_null(row) {
            prop_assert!(facts.nullable, "{sql} is NULL");
            continue;
        }
        let value = value_at(results, row);
        let number = match value {
            Some(Value::Int(value)) => Some(value as f64),
            Some(Value::Float(value)) => Some(value),
            _ => None,
        };
        prop_assert!(value.is_some(), "{sql} is not finite");
        if let (Some(number), Some(range)) = (number, facts.range) {
            prop_assert!(
                (range.low..=range.high).contains(&number),
                "{sql} is {number}, not in {range:?}"
            );
        }
        if let (Some(number), true) = (number, typed.integral) {
            prop_assert_eq!(number.fract(), 0.0, "{} is not whole", sql);
        }
        if let (Some(value), Some(listed)) = (&value, &listed) {
            // Public floats do not tell the zeros apart.
            let equal = |other: &Value| match (value, other) {
                (Value::Float(value), Value::Float(other)) => value == other,
                _ => value == other,
            };
            prop_assert!(
                listed.iter().any(equal),
                "{sql} is {value:?}, which is not public"
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(400), failure_persistence: None, ..ProptestConfig::default() })]

    /// Over the worst data nothing fails; over good data everything that was said of the results is true.
    #[test]
    fn whatever_is_taken_is_total(kind in 0usize..6, decisions in prop::collection::vec(any::<u8>(), 1..80)) {
        thread_local! {
            static ENGINES: (SessionContext, SessionContext) = (engine(&worst()), engine(&best()));
        }
        let kind = [Kind::Bool, Kind::Int, Kind::Float, Kind::Text, Kind::Date, Kind::Timestamp][kind];
        ENGINES.with(|(worst, best)| check(kind, &decisions, worst, best))?;
    }
}
