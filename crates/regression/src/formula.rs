//! Formulas as R writes them: `income ~ age + education`.

use crate::Error;
use crate::model::MOST_COLUMNS;
use serde::{Deserialize, Serialize};

/// A parsed formula.
///
/// ```
/// use regression::Formula;
///
/// let formula = Formula::parse("income ~ age * sex + factor(region)").unwrap();
/// assert_eq!(formula.response().name, "income");
/// let terms: Vec<String> = formula.terms().iter().map(ToString::to_string).collect();
/// assert_eq!(terms, ["age", "sex", "factor(region)", "age:sex"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Formula {
    response: Outcome,
    terms: Vec<Term>,
}

/// What is explained: a column, or that a column has a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The column.
    pub name: String,
    /// The value that counts as 1, where one is named.
    pub value: Option<String>,
}

/// A regressor, or several that act together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Term {
    /// Its columns: one, or those of an interaction.
    pub parts: Vec<Part>,
}

/// A column in a term.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Whether it was written `factor(name)`: one coefficient a value, even where values are numbers.
    pub factor: bool,
}

impl std::fmt::Display for Part {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.factor {
            true => write!(formatter, "factor({})", self.name),
            false => formatter.write_str(&self.name),
        }
    }
}

impl std::fmt::Display for Term {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (place, part) in self.parts.iter().enumerate() {
            let between = if place == 0 { "" } else { ":" };
            write!(formatter, "{between}{part}")?;
        }
        Ok(())
    }
}

impl std::fmt::Display for Formula {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.response.name)?;
        if let Some(value) = &self.response.value {
            write!(formatter, " = '{value}'")?;
        }
        let terms: Vec<String> = self.terms.iter().map(ToString::to_string).collect();
        match terms.is_empty() {
            true => formatter.write_str(" ~ 1"),
            false => write!(formatter, " ~ {}", terms.join(" + ")),
        }
    }
}

impl Formula {
    /// Reads a formula: `response ~ term + term`, where a term is a column, `factor(column)`, an interaction `a:b`, or `a * b` for `a + b + a:b`.
    /// The response may be `column = 'value'`. Names with other characters stand in double quotes or backticks. There is always an intercept.
    ///
    /// # Errors
    /// When it is no formula, with what is missing.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let tokens = tokens(text)?;
        let mut reader = Reader { tokens, at: 0 };
        let response = reader.response()?;
        let mut terms: Vec<Term> = Vec::new();
        loop {
            for term in reader.product()? {
                if !terms.contains(&term) {
                    within(terms.len() + 1)?;
                    terms.push(term);
                }
            }
            match reader.next() {
                None => break,
                Some(Token::Plus) => {}
                Some(Token::Minus) => {
                    return Err(wrong(
                        "terms cannot be taken away, and a model always has its intercept",
                        "list what is in the model: income ~ age + education",
                    ));
                }
                Some(_) => return Err(wrong("two terms stand side by side", "put + between terms")),
            }
        }
        if terms
            .iter()
            .flat_map(|term| &term.parts)
            .any(|part| part.name == response.name)
        {
            return Err(wrong(
                &format!("{} stands on both sides of ~", response.name),
                "leave it out on the right",
            ));
        }
        // Main effects first, as in R.
        terms.sort_by_key(|term| term.parts.len());
        Ok(Self { response, terms })
    }

    /// What is explained.
    pub fn response(&self) -> &Outcome {
        &self.response
    }

    /// The terms, main effects first.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The columns on the right side, each once, in order, and whether each is used as a factor.
    pub fn regressors(&self) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        for part in self.terms.iter().flat_map(|term| &term.parts) {
            match parts.iter_mut().find(|known| known.name == part.name) {
                Some(known) => known.factor |= part.factor,
                None => parts.push(part.clone()),
            }
        }
        parts
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Name(String),
    Text(String),
    Tilde,
    Plus,
    Minus,
    Times,
    Colon,
    Equal,
    Open,
    Close,
}

fn wrong(what: &str, hint: &str) -> Error {
    Error::Formula {
        what: format!("this is no formula: {what}"),
        hint: hint.to_owned(),
    }
}

/// Columns in one interaction.
const MOST_PARTS: usize = 10;

/// More terms than a model has coefficients are refused.
fn within(terms: usize) -> Result<(), Error> {
    match terms <= MOST_COLUMNS {
        true => Ok(()),
        false => Err(wrong(
            &format!("it has more than {MOST_COLUMNS} terms"),
            "a * b * c has all interactions: list those that matter, as a + b + a:b",
        )),
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, Error> {
    let mut tokens = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(first) = rest.next() {
        let token = match first {
            _ if first.is_whitespace() => continue,
            '~' => Token::Tilde,
            '+' => Token::Plus,
            '-' => Token::Minus,
            '*' => Token::Times,
            ':' => Token::Colon,
            '=' => Token::Equal,
            '(' => Token::Open,
            ')' => Token::Close,
            '"' | '`' | '\'' => {
                let mut inside = String::new();
                loop {
                    match rest.next() {
                        Some(next) if next == first => break,
                        Some(next) => inside.push(next),
                        None => return Err(wrong("a quote is not closed", "close it, or leave it out")),
                    }
                }
                match first {
                    '\'' => Token::Text(inside),
                    _ => Token::Name(inside),
                }
            }
            _ if first.is_alphanumeric() || first == '_' || first == '.' => {
                let mut name = String::from(first);
                while let Some(next) =
                    rest.next_if(|next| next.is_alphanumeric() || *next == '_' || *next == '.')
                {
                    name.push(next);
                }
                Token::Name(name)
            }
            _ => {
                return Err(wrong(
                    &format!("the sign {first} has no meaning here"),
                    "write it as: income ~ age + education; names with other signs stand in double quotes",
                ));
            }
        };
        tokens.push(token);
    }
    Ok(tokens)
}

struct Reader {
    tokens: Vec<Token>,
    at: usize,
}

impl Reader {
    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    fn took(&mut self, token: &Token) -> bool {
        let is = self.tokens.get(self.at) == Some(token);
        self.at += usize::from(is);
        is
    }

    fn response(&mut self) -> Result<Outcome, Error> {
        const SHOWN: &str = "write it as: income ~ age + education";
        let Some(Token::Name(name)) = self.next() else {
            return Err(wrong("it begins with no column", SHOWN));
        };
        let value = match self.took(&Token::Equal) {
            false => None,
            true => match self.next() {
                Some(Token::Name(value) | Token::Text(value)) => Some(value),
                _ => return Err(wrong("no value follows =", "write it as: smoker = 'yes' ~ age")),
            },
        };
        match self.next() {
            Some(Token::Tilde) => Ok(Outcome { name, value }),
            _ => Err(wrong("there is no ~ after what is explained", SHOWN)),
        }
    }

    /// Terms joined by `*` and `:`.
    fn product(&mut self) -> Result<Vec<Term>, Error> {
        let mut terms = self.interaction()?;
        while self.took(&Token::Times) {
            let right = self.interaction()?;
            // Each * may double the terms, so they are counted before they are made.
            within(terms.len() + right.len() + terms.len() * right.len())?;
            let mut crossed = Vec::new();
            for one in &terms {
                for other in &right {
                    crossed.push(joined(one, other)?);
                }
            }
            terms.extend(right);
            terms.extend(crossed);
        }
        Ok(terms)
    }

    /// Columns joined by `:`; none for the intercept.
    fn interaction(&mut self) -> Result<Vec<Term>, Error> {
        if self.took(&Token::Name("1".to_owned())) {
            return Ok(Vec::new());
        }
        let mut term = Term {
            parts: vec![self.part()?],
        };
        while self.took(&Token::Colon) {
            let part = Term {
                parts: vec![self.part()?],
            };
            term = joined(&term, &part)?;
        }
        Ok(vec![term])
    }

    fn part(&mut self) -> Result<Part, Error> {
        match self.next() {
            Some(Token::Name(name)) if name == "0" => Err(wrong(
                "a model always has its intercept",
                "leave 0 out; group means are shown by --means",
            )),
            Some(Token::Name(name)) => {
                if !self.took(&Token::Open) {
                    return Ok(Part { name, factor: false });
                }
                if !name.eq_ignore_ascii_case("factor") && name != "C" {
                    return Err(wrong(
                        &format!("{name}(…) is not computed here"),
                        "declare a column of that name in a view of the table, or use factor(column)",
                    ));
                }
                match (self.next(), self.next()) {
                    (Some(Token::Name(name)), Some(Token::Close)) => Ok(Part { name, factor: true }),
                    _ => Err(wrong("factor( ) holds no column", "write it as: factor(age)")),
                }
            }
            _ => Err(wrong(
                "a term is missing",
                "write it as: income ~ age + education",
            )),
        }
    }
}

fn joined(one: &Term, other: &Term) -> Result<Term, Error> {
    let mut parts = one.parts.clone();
    for part in &other.parts {
        if parts.iter().any(|known| known.name == part.name) {
            return Err(wrong(
                &format!("{} meets itself in an interaction", part.name),
                "use each column once in a term",
            ));
        }
        parts.push(part.clone());
    }
    match parts.len() <= MOST_PARTS {
        true => Ok(Term { parts }),
        false => Err(wrong(
            &format!("an interaction has more than {MOST_PARTS} columns"),
            "use fewer in one term",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        Formula::parse(text).unwrap().to_string()
    }

    #[test]
    fn a_short_formula_of_many_terms_is_refused_at_once() {
        let crossed = |names: usize| {
            let names: Vec<String> = (0..names).map(|place| format!("x{place}")).collect();
            format!("y ~ {}", names.join(" * "))
        };
        assert_eq!(Formula::parse(&crossed(7)).unwrap().terms().len(), 127);
        for names in [8, 40, 2_000] {
            let refused = Formula::parse(&crossed(names)).unwrap_err().to_string();
            assert!(refused.contains("more than 200 terms"), "{refused}");
        }
        let many: Vec<String> = (0..5_000).map(|place| format!("x{place}")).collect();
        assert!(Formula::parse(&format!("y ~ {}", many.join(" + "))).is_err());
        assert!(Formula::parse(&format!("y ~ {}", many.join(" : "))).is_err());
    }

    #[test]
    fn formulas_are_read_as_r_reads_them() {
        assert_eq!(shown("y~a+b"), "y ~ a + b");
        assert_eq!(shown("y ~ a*b + c"), "y ~ a + b + c + a:b");
        assert_eq!(shown("y ~ a*b*c"), "y ~ a + b + c + a:b + a:c + b:c + a:b:c");
        assert_eq!(shown("y ~ 1"), "y ~ 1");
        assert_eq!(shown("y ~ 1 + a + a"), "y ~ a");
        assert_eq!(
            shown("smoker = 'yes' ~ \"years of age\""),
            "smoker = 'yes' ~ years of age"
        );
        assert_eq!(shown("y ~ factor(a):b"), "y ~ factor(a):b");
    }

    #[test]
    fn what_is_no_formula_is_refused_with_a_hint() {
        for text in [
            "",
            "y",
            "y ~",
            "y ~ a +",
            "y ~ a b",
            "~ a",
            "y ~ a - b",
            "y ~ 0 + a",
            "y ~ log(a)",
            "y ~ a:a",
            "y ~ y",
            "y ~ 'a",
            "y = ~ a",
            "y ~ a ^ 2",
            "y ~ (a",
            "y ~ factor(a",
        ] {
            let error = Formula::parse(text).unwrap_err().to_string();
            assert!(error.contains("\nhint: "), "{text}: {error}");
        }
    }
}
