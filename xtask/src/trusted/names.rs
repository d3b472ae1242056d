//! What a file names: the paths in it, and the methods that it calls.

use super::modules::{Modules, Target, Way};
use super::tokens::{Kind, Token};

/// A path or a method in a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) path: Vec<String>,
    pub(crate) line: usize,
    /// The names of modules inside the file in which it stands.
    pub(crate) inside: Vec<String>,
    /// Whether it is called on a value: `value.method(…)`.
    pub(crate) method: bool,
}

/// What leads to a file.
pub(crate) struct Use {
    pub(crate) file: String,
    pub(crate) path: String,
    pub(crate) line: usize,
}

/// Every path and method that shipped tokens name.
pub(crate) fn named(tokens: &[Token]) -> Vec<Named> {
    let mut found = Vec::new();
    // Modules that are open, each with the depth of its braces.
    let mut inside: Vec<(String, usize)> = Vec::new();
    let mut depth = 0;
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at].kind {
            Kind::Open(_) => depth += 1,
            Kind::Close(_) => {
                depth -= 1;
                inside.retain(|(_, opened)| *opened <= depth);
            }
            Kind::Word(word) if word == "mod" => {
                if let (Some(Kind::Word(name)), Some(Kind::Open('{'))) =
                    (kind(tokens, at + 1), kind(tokens, at + 2))
                {
                    inside.push((name.clone(), depth + 1));
                }
                at += 1;
            }
            // But not `impl Trait + use<'a>`.
            Kind::Word(word) if word == "use" && kind(tokens, at + 1) != Some(&Kind::Mark('<')) => {
                let end = (at..tokens.len()).find(|end| tokens[*end].kind == Kind::Mark(';'));
                let end = end.unwrap_or(tokens.len());
                let way: Vec<String> = inside.iter().map(|(name, _)| name.clone()).collect();
                spread(&tokens[at + 1..end], &way, &mut found);
                at = end;
            }
            Kind::Word(word) => {
                let (path, next) = path(tokens, at, word);
                let method = at > 0 && tokens[at - 1].kind == Kind::Mark('.') && !is_range(tokens, at);
                found.push(Named {
                    path,
                    line: tokens[at].first,
                    inside: inside.iter().map(|(name, _)| name.clone()).collect(),
                    method,
                });
                at = next;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

fn kind(tokens: &[Token], at: usize) -> Option<&Kind> {
    tokens.get(at).map(|token| &token.kind)
}

/// `..name`, which is no method.
fn is_range(tokens: &[Token], at: usize) -> bool {
    at > 1 && tokens[at - 2].kind == Kind::Mark('.')
}

fn is_colons(tokens: &[Token], at: usize) -> bool {
    kind(tokens, at) == Some(&Kind::Mark(':')) && kind(tokens, at + 1) == Some(&Kind::Mark(':'))
}

/// The names that follow each other with `::`, and where the next token is.
fn path(tokens: &[Token], at: usize, first: &str) -> (Vec<String>, usize) {
    let mut names = vec![first.to_owned()];
    let mut at = at + 1;
    while is_colons(tokens, at)
        && let Some(Kind::Word(name)) = kind(tokens, at + 2)
    {
        names.push(name.clone());
        at += 3;
    }
    (names, at)
}

/// The paths of a `use`.
fn spread(tokens: &[Token], inside: &[String], into: &mut Vec<Named>) {
    let mut before: Vec<Vec<String>> = vec![Vec::new()];
    let mut now: Vec<String> = Vec::new();
    let mut line = 0;
    let mut renamed = false;
    let mut finish = |now: &mut Vec<String>, before: &[Vec<String>], line: usize| {
        if !now.is_empty() {
            let mut path = [before.concat(), std::mem::take(now)].concat();
            if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
                path.pop();
            }
            into.push(Named {
                path,
                line,
                inside: inside.to_vec(),
                method: false,
            });
        }
    };
    for token in tokens {
        match &token.kind {
            Kind::Word(word) if word == "as" => renamed = true,
            Kind::Word(word) if !renamed => {
                line = token.first;
                now.push(word.clone());
            }
            Kind::Open(_) => before.push(std::mem::take(&mut now)),
            Kind::Close(_) => {
                finish(&mut now, &before, line);
                before.pop();
                renamed = false;
            }
            Kind::Mark(',') => {
                finish(&mut now, &before, line);
                renamed = false;
            }
            _ => {}
        }
    }
    finish(&mut now, &before, line);
}

/// Where the paths of a file lead in the workspace: the files of what they name, not of what passes the name on.
pub(crate) fn uses(modules: &Modules, way: &Way, named: &[Named]) -> Vec<Use> {
    let mut found = Vec::new();
    for name in named.iter().filter(|name| !name.method) {
        let from = [way.as_slice(), &name.inside].concat();
        if let Some(Target::Item(at, ..)) = modules.resolve(&from, &name.path) {
            found.push(Use {
                file: modules.file(&at).to_owned(),
                path: name.path.join("::"),
                line: name.line,
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trusted::tokens::shipped;

    #[test]
    fn paths_and_methods_are_found() {
        let text = "
use a::{b::C, self, d as e, f::*};
fn caught() -> impl A + use<'a> { t::u() }
mod inner { fn g() { super::h(..i); j.k::<L>(m::N { o: 1 }) } }
fn p() { format!(\"{}\", q::r()) }";
        let found = named(&shipped(text).unwrap());
        let all: Vec<String> = found
            .iter()
            .map(|name| {
                let inside = if name.inside.is_empty() { "" } else { "inner " };
                let dot = if name.method { "." } else { "" };
                format!("{inside}{dot}{}", name.path.join("::"))
            })
            .collect();
        for wanted in [
            "a::b::C",
            "a",
            "a::d",
            "a::f",
            "inner super::h",
            "inner i",
            "inner .k",
            "inner L",
            "inner m::N",
            "q::r",
            "t::u",
        ] {
            assert!(
                all.iter().any(|name| name == wanted),
                "{wanted} is not in {all:?}"
            );
        }
        assert_eq!(found.iter().find(|name| name.path == ["q", "r"]).unwrap().line, 5);
    }
}
