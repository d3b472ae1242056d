//! What a crate's source says, as far as the claims need it: documented types, `impl Mechanism`, and tests.

use crate::finding::Finding;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::BTreeMap;
use std::path::Path;
use syn::visit::{self, Visit};

/// The trait whose implementations owe a claim.
const MECHANISM: &str = "Mechanism";

/// One file of a crate.
pub(crate) struct Source {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
}

/// Reads the `.rs` files under `folder` of the workspace at `root`, in the order of their paths.
pub(crate) fn read_folder(root: &Path, folder: &str) -> std::io::Result<Vec<Source>> {
    let mut sources = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        if !root.join(&folder).is_dir() {
            continue;
        }
        for entry in std::fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if path.ends_with(".rs") {
                let text = std::fs::read_to_string(entry.path())?;
                sources.push(Source { path, text });
            }
        }
    }
    sources.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(sources)
}

/// A struct or enum outside the tests.
pub(crate) struct Type {
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) public: bool,
    /// The doc comment, one line for each line.
    pub(crate) doc: String,
}

impl Type {
    pub(crate) fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// `impl Mechanism for name`, outside the tests.
pub(crate) struct Implementation {
    /// `None` where the implementing type has no name of its own: `impl<M> Mechanism for M`, or a macro's `$name`.
    pub(crate) name: Option<String>,
    pub(crate) file: String,
    pub(crate) line: usize,
}

/// What the files of one crate say.
#[derive(Default)]
pub(crate) struct Survey {
    pub(crate) types: Vec<Type>,
    pub(crate) mechanisms: Vec<Implementation>,
    /// Each test function, and whether it runs: an `#[ignore]`d test does not.
    pub(crate) tests: BTreeMap<String, bool>,
    /// Files that could not be parsed.
    pub(crate) unreadable: Vec<Finding>,
}

/// Reads all `sources` of one crate: `src/` for types and implementations, and every file for tests.
pub(crate) fn survey(sources: &[Source]) -> Survey {
    let mut survey = Survey::default();
    let mut files = Vec::new();
    for source in sources {
        let library = source.path.contains("/src/");
        match syn::parse_file(&source.text) {
            Ok(file) => files.push((source.path.as_str(), library, file)),
            // Files under tests/ may be meant not to compile (trybuild); a broken test shows when it is built.
            Err(_) if !library => {}
            Err(error) => {
                let place = format!("{}:{}", source.path, error.span().start().line);
                let what = format!("this is not Rust: {error}");
                survey
                    .unreadable
                    .push(Finding::new(place, what, "`cargo check` says more"));
            }
        }
    }
    let test_modules: Vec<String> = files
        .iter()
        .flat_map(|(path, _, file)| outline_test_modules(path, file))
        .collect();
    for (path, library, file) in &files {
        let is_test_module = test_modules.iter().any(|module| {
            path.strip_prefix(module.as_str())
                .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        });
        let in_tests = !library || is_test_module || is_for_tests(&file.attrs);
        let mut reader = Reader {
            survey: &mut survey,
            path,
            in_tests,
        };
        reader.visit_file(file);
    }
    survey
}

/// The paths, without `.rs`, of the modules that `file` declares as `#[cfg(test)] mod name;`.
fn outline_test_modules(path: &str, file: &syn::File) -> Vec<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let folder = match name {
        "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
        _ => path.trim_end_matches(".rs").to_owned(),
    };
    let modules = file.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) if module.content.is_none() && is_for_tests(&module.attrs) => Some(module),
        _ => None,
    });
    modules
        .map(|module| format!("{folder}/{}", module.ident))
        .collect()
}

/// Whether the item exists in tests only: `#[test]`, `#[cfg(test)]` or `#[cfg(all(test, …))]`.
pub(crate) fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        if attribute.path().is_ident("test") {
            return true;
        }
        let syn::Meta::List(list) = &attribute.meta else {
            return false;
        };
        let condition: String = list.tokens.to_string().split_whitespace().collect();
        let all = condition
            .strip_prefix("all(")
            .and_then(|rest| rest.strip_suffix(')'));
        list.path.is_ident("cfg")
            && (condition == "test" || all.is_some_and(|parts| parts.split(',').any(|part| part == "test")))
    })
}

fn doc_of(attributes: &[syn::Attribute]) -> String {
    let mut doc = String::new();
    for attribute in attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("doc"))
    {
        if let syn::Meta::NameValue(pair) = &attribute.meta
            && let syn::Expr::Lit(syn::ExprLit {
                lit: syn::Lit::Str(text),
                ..
            }) = &pair.value
        {
            doc.push_str(&text.value());
            doc.push('\n');
        }
    }
    doc
}

/// Walks one file.
struct Reader<'a> {
    survey: &'a mut Survey,
    path: &'a str,
    in_tests: bool,
}

impl Reader<'_> {
    /// Visits an item's inside, which is a test's when the item is.
    fn inside(&mut self, attributes: &[syn::Attribute], visit: impl FnOnce(&mut Self)) {
        let outside = self.in_tests;
        self.in_tests |= is_for_tests(attributes);
        visit(self);
        self.in_tests = outside;
    }

    fn add_type(&mut self, ident: &syn::Ident, visibility: &syn::Visibility, attributes: &[syn::Attribute]) {
        if !self.in_tests && !is_for_tests(attributes) {
            self.survey.types.push(Type {
                name: ident.to_string(),
                file: self.path.to_owned(),
                line: ident.span().start().line,
                public: matches!(visibility, syn::Visibility::Public(_)),
                doc: doc_of(attributes),
            });
        }
    }

    fn add_mechanism(&mut self, name: Option<String>, line: usize) {
        if !self.in_tests {
            self.survey.mechanisms.push(Implementation {
                name,
                file: self.path.to_owned(),
                line,
            });
        }
    }

    fn add_test(&mut self, name: String, ignored: bool) {
        *self.survey.tests.entry(name).or_default() |= !ignored;
    }

    /// Inside a macro call there is no syntax tree: look for `#[test] fn name` (as in `proptest!`) and for
    /// `Mechanism for name`.
    fn scan_macro(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let (mut is_test, mut ignored) = (false, false);
        for (index, token) in tokens.iter().enumerate() {
            match (token, tokens.get(index + 1)) {
                (TokenTree::Punct(hash), Some(TokenTree::Group(group)))
                    if hash.as_char() == '#' && group.delimiter() == Delimiter::Bracket =>
                {
                    let first = group.stream().into_iter().next().map(|token| token.to_string());
                    is_test |= first.as_deref() == Some("test");
                    ignored |= first.as_deref() == Some("ignore");
                }
                (TokenTree::Ident(word), Some(TokenTree::Ident(name))) if word == "fn" => {
                    if is_test {
                        self.add_test(name.to_string(), ignored);
                    }
                    (is_test, ignored) = (false, false);
                }
                (TokenTree::Ident(word), Some(TokenTree::Ident(next)))
                    if word == MECHANISM && next == "for" =>
                {
                    let name = match tokens.get(index + 2) {
                        Some(TokenTree::Ident(name)) => Some(name.to_string()),
                        _ => None,
                    };
                    self.add_mechanism(name, word.span().start().line);
                }
                _ => {}
            }
            if let TokenTree::Group(group) = token {
                self.scan_macro(group.stream());
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.inside(&module.attrs, |reader| visit::visit_item_mod(reader, module));
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        let has = |name: &str| {
            let last_is = |path: &syn::Path| path.segments.last().is_some_and(|last| last.ident == name);
            function.attrs.iter().any(|attribute| last_is(attribute.path()))
        };
        if has("test") {
            self.add_test(function.sig.ident.to_string(), has("ignore"));
        }
        self.inside(&function.attrs, |reader| visit::visit_item_fn(reader, function));
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.add_type(&item.ident, &item.vis, &item.attrs);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.add_type(&item.ident, &item.vis, &item.attrs);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        self.inside(&item.attrs, |reader| {
            let last_of = |path: &syn::Path| path.segments.last().map(|segment| segment.ident.clone());
            if let Some((None, path, _)) = &item.trait_
                && last_of(path).is_some_and(|last| last == MECHANISM)
            {
                let is_parameter = |name: &syn::Ident| {
                    item.generics
                        .type_params()
                        .any(|parameter| parameter.ident == *name)
                };
                let name = match &*item.self_ty {
                    syn::Type::Path(of) => last_of(&of.path).filter(|name| !is_parameter(name)),
                    _ => None,
                };
                let line = item.impl_token.span.start().line;
                reader.add_mechanism(name.map(|name| name.to_string()), line);
            }
            visit::visit_item_impl(reader, item);
        });
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        self.inside(&item.attrs, |reader| visit::visit_item_macro(reader, item));
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.scan_macro(call.tokens.clone());
    }
}
