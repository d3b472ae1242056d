//! What of a file is shipped: its tokens, without comments, documentation and what is compiled for tests alone.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use std::collections::BTreeSet;

/// A token and the lines that it is on.
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) first: usize,
    last: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Word(String),
    Mark(char),
    Literal,
    Open(char),
    Close(char),
}

/// The shipped tokens of a file.
pub(crate) fn shipped(text: &str) -> Result<Vec<Token>, String> {
    let stream: TokenStream = text
        .parse()
        .map_err(|error| format!("this is not Rust: {error}"))?;
    let mut tokens = Vec::new();
    flatten(stream, &mut tokens);
    Ok(tokens)
}

/// How many lines have a token.
pub(crate) fn lines(tokens: &[Token]) -> usize {
    let lines: BTreeSet<usize> = tokens.iter().flat_map(|token| token.first..=token.last).collect();
    lines.len()
}

fn flatten(stream: TokenStream, into: &mut Vec<Token>) {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let mut at = 0;
    while at < trees.len() {
        if let Some((length, attribute)) = attribute(&trees[at..]) {
            if is_documentation(attribute) {
                at += length;
                continue;
            }
            if is_for_tests(attribute) {
                at += length;
                at += item(&trees[at..]);
                continue;
            }
        }
        push(&trees[at], into);
        at += 1;
    }
}

fn push(tree: &TokenTree, into: &mut Vec<Token>) {
    let span = tree.span();
    let mut token = |kind, first: usize, last: usize| into.push(Token { kind, first, last });
    let (first, last) = (span.start().line, span.end().line);
    match tree {
        TokenTree::Ident(word) => token(Kind::Word(word.to_string()), first, last),
        TokenTree::Punct(mark) => token(Kind::Mark(mark.as_char()), first, last),
        TokenTree::Literal(_) => token(Kind::Literal, first, last),
        TokenTree::Group(group) => {
            let (open, close) = match group.delimiter() {
                Delimiter::Parenthesis => ('(', ')'),
                Delimiter::Bracket => ('[', ']'),
                Delimiter::Brace => ('{', '}'),
                Delimiter::None => return flatten(group.stream(), into),
            };
            token(Kind::Open(open), first, first);
            flatten(group.stream(), into);
            into.push(Token {
                kind: Kind::Close(close),
                first: last,
                last,
            });
        }
    }
}

/// The attribute with which these tokens begin, and how many tokens it takes.
fn attribute(trees: &[TokenTree]) -> Option<(usize, &Group)> {
    let is_mark = |at: usize, mark: char| matches!(trees.get(at), Some(TokenTree::Punct(found)) if found.as_char() == mark);
    if !is_mark(0, '#') {
        return None;
    }
    let at = if is_mark(1, '!') { 2 } else { 1 };
    match trees.get(at) {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Bracket => Some((at + 1, group)),
        _ => None,
    }
}

fn is_documentation(attribute: &Group) -> bool {
    let mut tokens = attribute.stream().into_iter();
    let (word, mark) = (tokens.next(), tokens.next());
    matches!(word, Some(TokenTree::Ident(word)) if word == "doc")
        && matches!(mark, Some(TokenTree::Punct(mark)) if mark.as_char() == '=')
}

/// `#[cfg(test)]`, `#[cfg(all(test, …))]` and `#[test]`.
fn is_for_tests(attribute: &Group) -> bool {
    let said: String = attribute.stream().to_string().split_whitespace().collect();
    let condition = said.strip_prefix("cfg(").and_then(|rest| rest.strip_suffix(')'));
    let all = condition.and_then(|condition| condition.strip_prefix("all(")?.strip_suffix(')'));
    said == "test"
        || condition == Some("test")
        || all.is_some_and(|parts| parts.split(',').any(|part| part == "test"))
}

/// How many tokens an item, a statement, a field or an arm takes: up to its block, or the end of its line.
fn item(trees: &[TokenTree]) -> usize {
    let mut at = 0;
    while let Some((length, _)) = attribute(&trees[at..]) {
        at += length;
    }
    let mut angles = 0i32;
    let mut before = ' ';
    for (place, tree) in trees.iter().enumerate().skip(at) {
        match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return place + 1,
            TokenTree::Punct(mark) => {
                match mark.as_char() {
                    ';' => return place + 1,
                    ',' if angles <= 0 => return place + 1,
                    '<' => angles += 1,
                    '>' if before != '-' && before != '=' => angles -= 1,
                    _ => {}
                }
                before = mark.as_char();
            }
            _ => before = ' ',
        }
    }
    trees.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_blanks_documentation_and_tests_are_not_counted() {
        let text = "\
//! Why.

/// Says.
#[derive(Debug)]
pub struct One; // a comment

/* two
lines */
fn two() {
    let text = \"three
lines // of text\";
}

#[cfg(test)]
#[allow(dead_code)]
fn planted<A, B>() -> Result<A, B> {
    never();
}

#[cfg(all(test, unix))]
use crate::{a, b};

#[cfg(test)]
mod tests {
    #[test]
    fn it() {}
}
fn last() {}
";
        // derive, struct, fn, two lines of text, brace, the `;` behind the braces of a `use`, fn.
        let tokens = shipped(text).unwrap();
        assert_eq!(lines(&tokens), 8);
        let words = |wanted: &str| {
            let found = tokens.iter();
            found
                .filter(|token| token.kind == Kind::Word(wanted.to_owned()))
                .count()
        };
        assert_eq!((words("never"), words("it"), words("last")), (0, 0, 1));
    }

    #[test]
    fn a_field_for_tests_ends_at_its_comma() {
        let tokens = shipped("struct A { #[cfg(test)] one: Map<u8, u8>,\n two: u8 }").unwrap();
        let is = |wanted: &str| {
            tokens
                .iter()
                .any(|token| token.kind == Kind::Word(wanted.to_owned()))
        };
        assert!(!is("one") && is("two"));
    }
}
