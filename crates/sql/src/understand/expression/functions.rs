//! The list of functions.

use super::draft::Draft;
use super::{choice, dates, math, patterns, refuse, text};
use crate::Error;
use crate::understand::dialect::WIDTH_BUCKET;
use crate::values::scalar::{DATE_BIN, REGEXP_COUNT, REGEXP_LIKE, REGEXP_REPLACE, REGEXP_SUBSTR, TO_CHAR};

/// A call whose arguments were taken.
pub(super) struct Call {
    pub(super) name: &'static str,
    pub(super) arguments: Vec<Draft>,
}

impl Call {
    /// Exactly as many arguments as the caller has names for.
    pub(super) fn take<const N: usize>(&mut self) -> Result<[Draft; N], Error> {
        <[Draft; N]>::try_from(std::mem::take(&mut self.arguments)).map_err(|_| self.wrong())
    }

    /// At least one argument.
    pub(super) fn some(self) -> Result<Vec<Draft>, Error> {
        match self.arguments.is_empty() {
            true => Err(self.wrong()),
            false => Ok(self.arguments),
        }
    }

    pub(super) fn wrong(&self) -> Error {
        Error::refused(
            format!("{} is called with the wrong number of arguments", self.name),
            "see the list of functions",
        )
    }
}

/// A function over private rows.
pub(super) struct Function {
    /// Its name in the engine.
    pub(super) name: &'static str,
    meaning: &'static str,
    read: fn(Call) -> Result<Draft, Error>,
}

const fn function(
    name: &'static str,
    meaning: &'static str,
    read: fn(Call) -> Result<Draft, Error>,
) -> Function {
    Function { name, meaning, read }
}

/// Everything that can be called. Other names of the same functions (`length`, `pow`, `ifnull`, …) are resolved by the engine's planner.
pub(super) const FUNCTIONS: [Function; 45] = [
    function("abs", "the absolute value", math::absolute),
    function(
        "ceil",
        "the smallest whole number that is not less",
        math::ceiling,
    ),
    function("floor", "the largest whole number that is not more", math::floor),
    function(
        "round",
        "the nearest whole number, or round(x, places); halves go away from zero, and in columns of floats without places to the even neighbour",
        math::round,
    ),
    function("trunc", "the whole part, or trunc(x, places)", math::truncate),
    function("signum", "−1, 0 or 1; also written sign", math::sign),
    function("sqrt", "the square root; NULL below zero", math::square_root),
    function(
        "ln",
        "the natural logarithm; NULL up to zero",
        math::natural_logarithm,
    ),
    function(
        "log",
        "the logarithm to base 10, or log(base, x); NULL up to zero",
        math::logarithm,
    ),
    function(
        "log10",
        "the logarithm to base 10; NULL up to zero",
        math::logarithm,
    ),
    function(
        "log2",
        "the logarithm to base 2; NULL up to zero",
        math::binary_logarithm,
    ),
    function(
        "exp",
        "e to a power; NULL beyond the largest float",
        math::exponential,
    ),
    function(
        "power",
        "power(x, 2) or power(2, x), one of them constant; NULL where undefined; also written pow",
        math::power,
    ),
    function(
        WIDTH_BUCKET,
        "width_bucket(x, low, high, n): 0 below low, n + 1 from high on, else which of n equal parts",
        math::width_bucket,
    ),
    function("coalesce", "the first that is not NULL", choice::coalesce),
    function(
        "nvl",
        "the first that is not NULL; also written ifnull",
        choice::coalesce,
    ),
    function("nvl2", "nvl2(x, a, b): a unless x is NULL, else b", choice::nvl2),
    function(
        "nullif",
        "nullif(a, b): NULL where both are equal, else a",
        choice::nullif,
    ),
    function("greatest", "the largest that is not NULL", choice::largest),
    function("least", "the smallest that is not NULL", choice::smallest),
    function("lower", "in small letters", text::lower),
    function("upper", "in capital letters", text::upper),
    function("reverse", "the characters in reverse", text::reverse),
    function(
        "btrim",
        "without spaces, or given characters, at both ends; also written trim",
        text::trim,
    ),
    function("ltrim", "without them at the start", text::trim_left),
    function("rtrim", "without them at the end", text::trim_right),
    function(
        "character_length",
        "how many characters; also written length, char_length",
        text::length,
    ),
    function(
        "strpos",
        "where a text begins in another, counted from 1, else 0; also written position, instr",
        text::position,
    ),
    function(
        "starts_with",
        "whether a text starts with another",
        text::starts_with,
    ),
    function("ends_with", "whether a text ends with another", text::ends_with),
    function("contains", "whether a text contains another", text::contains),
    function(
        "substr",
        "substr(x, start, length), constants; also written substring",
        text::substring,
    ),
    function(
        "left",
        "the first n characters, n constant; all but the last −n when n is negative",
        text::left,
    ),
    function(
        "right",
        "the last n characters, n constant; all but the first −n when n is negative",
        text::right,
    ),
    function("concat", "texts one after the other, without NULLs", text::concat),
    function(
        "replace",
        "replace(x, 'old', 'new') in the first 1,000 characters",
        text::replace,
    ),
    function(
        "split_part",
        "split_part(x, ',', n): the n-th part, n constant; from the end when negative",
        text::split,
    ),
    function(
        REGEXP_LIKE,
        "regexp_like(x, 'pattern', 'i'): whether a regular expression matches, the flag being optional; also written x ~ 'pattern'",
        patterns::like,
    ),
    function(
        REGEXP_SUBSTR,
        "regexp_substr(x, 'pattern'): the first match, or NULL",
        patterns::substring,
    ),
    function(
        REGEXP_COUNT,
        "regexp_count(x, 'pattern'): matches in the first 1,000 characters",
        patterns::count,
    ),
    function(
        REGEXP_REPLACE,
        "regexp_replace(x, 'pattern', 'new', 'g'): the first match replaced, or with g all of them in the first 1,000 characters; \\1 is the first group of the pattern, \\& the match",
        patterns::replace,
    ),
    function(
        "date_part",
        "EXTRACT(part FROM x): year, isoyear, quarter, month, week, day, doy, dow, isodow, hour, minute, second, millisecond, microsecond, epoch",
        dates::part,
    ),
    function(
        "date_trunc",
        "date_trunc('month', x): the start of the year, quarter, month, week, day, hour, minute, second, … as a timestamp; NULL outside the years 1700 to 2261",
        dates::truncate,
    ),
    function(
        DATE_BIN,
        "date_bin(INTERVAL '15 minutes', x, origin): the start of the stride in which x lies, strides being counted from a constant origin, or from 1970-01-01",
        dates::bin,
    ),
    function(
        TO_CHAR,
        "to_char(x, 'YYYY-MM'): a date or timestamp as text, by a constant pattern; NULL outside the years 1 to 9999",
        dates::to_char,
    ),
];

/// The operators, for whoever documents them.
pub(crate) const OPERATORS: [(&str, &str); 16] = [
    (
        "+ - *",
        "an integer if both sides are, else a float; NULL beyond 64 bits and beyond the largest float",
    ),
    (
        "/",
        "of integers cut towards zero, else with a fraction; NULL by zero; div(a, b) is cut in any case",
    ),
    (
        "%",
        "the remainder with the sign of the dividend; NULL by zero; also written mod(a, b)",
    ),
    ("date - date", "days between"),
    (
        "date + INTERVAL",
        "later or earlier by a constant; NULL outside the years 1 to 9999",
    ),
    ("= <> < <= > >=", "comparisons; NULL when a side is"),
    ("IS [NOT] DISTINCT FROM", "comparisons for which NULL is a value"),
    ("IS [NOT] NULL, TRUE, FALSE, UNKNOWN", "tests that are never NULL"),
    ("AND OR NOT", "three-valued logic"),
    ("BETWEEN, IN (…)", "comparisons with a range and with a list"),
    ("LIKE, ILIKE", "constant patterns of at most 1000 bytes"),
    (
        "~ ~* !~ !~*",
        "constant regular expressions of at most 1000 bytes, in linear time; with * letters of either case",
    ),
    (
        "SIMILAR TO",
        "constant patterns of the whole text: % _ | * + ? {} () []",
    ),
    ("||", "texts one after the other; NULL when one is"),
    ("CASE", "both forms"),
    (
        "CAST, TRY_CAST, ::",
        "between BOOLEAN, BIGINT, DOUBLE, VARCHAR, DATE and TIMESTAMP; NULL for what cannot be read; floats become the nearest integer; NUMERIC(digits, places) is a rounded DOUBLE",
    ),
];

/// Everything that may be used over private rows, with its meaning: operators first, then functions.
pub fn allowed_functions() -> Vec<(&'static str, &'static str)> {
    let functions = FUNCTIONS.iter().map(|function| (function.name, function.meaning));
    OPERATORS.into_iter().chain(functions).collect()
}

/// The names of functions, in the order of the list.
pub(crate) fn function_names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|function| function.name)
}

/// Takes a call by the name that the engine gave it.
pub(super) fn read(name: &str, arguments: Vec<Draft>) -> Result<Draft, Error> {
    match FUNCTIONS.iter().find(|function| function.name == name) {
        Some(function) => (function.read)(Call {
            name: function.name,
            arguments,
        }),
        None => Err(refuse::function(name)),
    }
}
