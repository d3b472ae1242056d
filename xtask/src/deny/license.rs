//! Expressions of licences, as SPDX writes them: `(MIT OR Apache-2.0) AND Unicode-3.0`, and the older `MIT/Apache-2.0`.

/// Whether an expression allows use under licences that are allowed; `None` when it is no expression.
pub(super) fn allows(expression: &str, allowed: &dyn Fn(&str) -> bool) -> Option<bool> {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader {
        words: &words,
        allowed,
    };
    let answer = reader.either()?;
    reader.words.is_empty().then_some(answer)
}

struct Reader<'a> {
    words: &'a [&'a str],
    allowed: &'a dyn Fn(&str) -> bool,
}

impl<'a> Reader<'a> {
    /// Takes this word, if it is the next.
    fn take(&mut self, word: &str) -> bool {
        match self.words.split_first() {
            Some((first, rest)) if *first == word => {
                self.words = rest;
                true
            }
            _ => false,
        }
    }

    fn either(&mut self) -> Option<bool> {
        let mut answer = self.both()?;
        while self.take("OR") {
            answer |= self.both()?;
        }
        Some(answer)
    }

    fn both(&mut self) -> Option<bool> {
        let mut answer = self.one()?;
        while self.take("AND") {
            answer &= self.one()?;
        }
        Some(answer)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let answer = self.either()?;
            return self.take(")").then_some(answer);
        }
        let id = self.id()?;
        if self.take("WITH") {
            // What is allowed with an exception is allowed as a whole.
            let exception = self.id()?;
            return Some((self.allowed)(&format!("{id} WITH {exception}")));
        }
        Some((self.allowed)(id))
    }

    fn id(&mut self) -> Option<&'a str> {
        let (first, rest) = self.words.split_first()?;
        if ["OR", "AND", "WITH", "(", ")"].contains(first) {
            return None;
        }
        self.words = rest;
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_judged() {
        let judged = |expression| {
            allows(expression, &|id| {
                ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].contains(&id)
            })
        };
        for allowed in [
            "MIT",
            "MIT OR GPL-3.0",
            "GPL-3.0/MIT",
            "GPL-3.0 / MIT",
            "(MIT OR GPL-3.0) AND ISC",
            "GPL-3.0 OR MIT AND ISC",
            "Apache-2.0 WITH LLVM-exception OR GPL-3.0",
        ] {
            assert_eq!(judged(allowed), Some(true), "{allowed}");
        }
        for refused in [
            "GPL-3.0",
            "mit",
            "MIT AND GPL-3.0",
            "(MIT OR ISC) AND GPL-3.0",
            "MIT AND GPL-3.0 OR GPL-2.0",
            "Apache-2.0",
            "MIT WITH LLVM-exception",
        ] {
            assert_eq!(judged(refused), Some(false), "{refused}");
        }
        for nonsense in [
            "", "OR", "MIT OR", "MIT ISC", "(MIT", "MIT)", "()", "WITH MIT", "MIT WITH",
        ] {
            assert_eq!(judged(nonsense), None, "{nonsense}");
        }
    }
}
