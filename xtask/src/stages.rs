//! `cargo xtask arrows`, inside `crates/sql`: a question walks through the stages once, and no stage knows a later one.
//!
//! Reads the sources and compares every path that starts with `crate::`, outside the tests, with [`STAGES`]. Modules of one stage must not go round in circles either.

use crate::finding::{Finding, Outcome, outcome};
use crate::source::{Source, is_for_tests, read_folder};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use syn::visit::{self, Visit};
use syn::{ItemUse, UseTree};

const FOLDER: &str = "crates/sql/src";

/// The modules of the crate and their levels. A module names lower ones only; equal levels do not know each other.
///
/// `sources`, which reads data, stands above `price`: what a question means and costs cannot depend on data that it cannot read.
const STAGES: &[(&str, u8)] = &[
    ("error", 0),
    // Defects that tests plant.
    ("mutants", 0),
    ("values", 1),
    ("catalog", 2),
    ("understand", 3),
    ("price", 4),
    ("sources", 5),
    ("run", 6),
    ("finish", 7),
    ("dataset", 8),
    // What is around questions.
    ("draft", 9),
    ("reference", 9),
    ("sample", 9),
    ("tuning", 9),
];

const HINT: &str = "move what both need into a lower stage, or pass it in as an argument; the picture is at the top of crates/sql/src/lib.rs";

/// What `sql` may not call: the crate `verify` binds exact numbers to how far they move.
const CLAIMED: &str = "::claimed(";
const CLAIMED_HINT: &str = "take a `verify::Verified`, and let its `aggregate` do it";

/// A module and its part that names or is named: `("understand", "planner")`.
type Module = (String, String);

/// Checks the workspace at `root`.
pub(crate) fn run(root: &Path) -> Outcome {
    let sources = read_folder(root, FOLDER).map_err(|error| {
        Finding::new(
            FOLDER,
            format!("cannot be read: {error}"),
            "run this in the workspace",
        )
    })?;
    check(&sources)
}

fn level(stage: &str) -> Option<u8> {
    STAGES
        .iter()
        .find(|(known, _)| *known == stage)
        .map(|(_, level)| *level)
}

fn check(sources: &[Source]) -> Outcome {
    let mut findings = Vec::new();
    let reexports = reexports(sources);
    let mut arrows: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    let mut stages = BTreeSet::new();
    for source in sources {
        let Some(own) = module_of(&source.path) else {
            continue;
        };
        let Some(own_level) = level(&own.0) else {
            let what = format!("the module `{}` is not in the table of stages", own.0);
            let hint = "give it its level in STAGES in xtask/src/stages.rs";
            findings.push(Finding::new(&source.path, what, hint));
            continue;
        };
        stages.insert(own.0.clone());
        let Ok(file) = syn::parse_file(&source.text) else {
            findings.push(Finding::new(&source.path, "cannot be parsed", "does it compile?"));
            continue;
        };
        if source.text.contains(CLAIMED) {
            let what = format!("`{CLAIMED}…)` binds numbers to a sensitivity that nobody verified");
            findings.push(Finding::new(&source.path, what, CLAIMED_HINT));
        }
        let mut named = Named::default();
        named.visit_file(&file);
        for path in named.paths {
            let Some(to) = resolve(&path, &reexports) else {
                continue;
            };
            match level(&to.0) {
                Some(to_level) if to.0 != own.0 && to_level >= own_level => {
                    let what = format!(
                        "`{}` names `crate::{}`, of a later stage than its own",
                        own.0,
                        path.join("::")
                    );
                    findings.push(Finding::new(&source.path, what, HINT));
                }
                Some(_) => {
                    if to.0 == own.0 && to.1 != own.1 && !to.1.is_empty() && !own.1.is_empty() {
                        arrows.entry(own.clone()).or_default().insert(to);
                    }
                }
                None => {
                    let what = format!(
                        "names `crate::{}`, which is in no stage and not re-exported from one",
                        path.join("::")
                    );
                    findings.push(Finding::new(&source.path, what, HINT));
                }
            }
        }
    }
    if let Some(around) = circle(&arrows) {
        let names: Vec<String> = around
            .iter()
            .map(|(stage, part)| format!("{stage}::{part}"))
            .collect();
        let what = format!("modules name each other in a circle: {}", names.join(" → "));
        findings.push(Finding::new(FOLDER, what, HINT));
    }
    if stages.is_empty() {
        let hint = "a check that looks at nothing passes always: where is the crate `sql`?";
        findings.push(Finding::new(FOLDER, "no module was found", hint));
    }
    outcome(findings, || {
        format!(
            "stages: {} modules of `sql`, each naming earlier ones only, and no circles in them",
            stages.len()
        )
    })
}

/// The stage of a file, and its part in it; `None` for the root and for tests.
fn module_of(path: &str) -> Option<Module> {
    let mut parts = path
        .strip_prefix(FOLDER)?
        .strip_prefix('/')?
        .split('/')
        .map(without_ending);
    let stage = parts.next()?;
    let rest: Vec<&str> = parts.collect();
    if ["lib", "tests"].contains(&stage) || rest.iter().any(|part| part.starts_with("tests")) {
        return None;
    }
    let part = rest
        .first()
        .copied()
        .filter(|part| *part != "mod")
        .unwrap_or_default();
    Some((stage.to_owned(), part.to_owned()))
}

fn without_ending(name: &str) -> &str {
    name.strip_suffix(".rs").unwrap_or(name)
}

/// Where a path that follows `crate::` leads: to a module, or through the re-exports of the root.
fn resolve(path: &[String], reexports: &BTreeMap<String, Module>) -> Option<Module> {
    let first = path.first()?;
    if let Some(module) = reexports.get(first) {
        return Some(module.clone());
    }
    // `crate::{self}`, and macros, which have no stage.
    if first == "self" || first == "*" {
        return None;
    }
    let part = path.get(1).map(String::as_str).unwrap_or_default();
    let part = if part.starts_with(char::is_uppercase) {
        ""
    } else {
        part
    };
    Some((first.clone(), part.to_owned()))
}

/// What the root gives other names: `pub use values::facts::Kind` makes `crate::Kind` a name of `values`.
fn reexports(sources: &[Source]) -> BTreeMap<String, Module> {
    let root = sources
        .iter()
        .find(|source| source.path == format!("{FOLDER}/lib.rs"));
    let file = root.and_then(|root| syn::parse_file(&root.text).ok());
    let mut found = BTreeMap::new();
    for item in file.into_iter().flat_map(|file| file.items) {
        if let syn::Item::Use(item) = item {
            let mut paths = Vec::new();
            spread(&item.tree, &mut Vec::new(), &mut paths);
            for path in paths {
                if let (Some(stage), Some(name)) = (path.first(), path.last())
                    && level(stage).is_some()
                {
                    let part = if path.len() > 2 {
                        path[1].clone()
                    } else {
                        String::new()
                    };
                    found.insert(name.clone(), (stage.clone(), part));
                }
            }
        }
    }
    found
}

/// All paths of a `use`.
fn spread(tree: &UseTree, before: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            spread(&path.tree, before, paths);
            before.pop();
        }
        UseTree::Group(group) => {
            for item in &group.items {
                spread(item, before, paths);
            }
        }
        UseTree::Name(name) if name.ident == "self" => paths.push(before.clone()),
        UseTree::Name(name) => paths.push([before.as_slice(), &[name.ident.to_string()]].concat()),
        UseTree::Rename(rename) => paths.push([before.as_slice(), &[rename.ident.to_string()]].concat()),
        UseTree::Glob(_) => paths.push([before.as_slice(), &["*".to_owned()]].concat()),
    }
}

/// Every path after `crate::`, outside what is compiled for tests alone.
#[derive(Default)]
struct Named {
    paths: Vec<Vec<String>>,
}

impl<'ast> Visit<'ast> for Named {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let mut paths = Vec::new();
        spread(&item.tree, &mut Vec::new(), &mut paths);
        let inside = paths
            .into_iter()
            .filter(|path| path.first().is_some_and(|first| first == "crate"));
        self.paths.extend(inside.map(|path| path[1..].to_vec()));
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        if segments.len() > 1 && segments[0] == "crate" {
            self.paths.push(segments[1..].to_vec());
        }
        visit::visit_path(self, path);
    }
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        _ => &[],
    }
}

/// Modules that name each other in a circle, the first one at the end again; `None` where there is none.
fn circle(arrows: &BTreeMap<Module, BTreeSet<Module>>) -> Option<Vec<Module>> {
    fn walk(
        at: &Module,
        arrows: &BTreeMap<Module, BTreeSet<Module>>,
        way: &mut Vec<Module>,
        done: &mut BTreeSet<Module>,
    ) -> Option<Vec<Module>> {
        if let Some(start) = way.iter().position(|module| module == at) {
            return Some(way[start..].iter().chain([at]).cloned().collect());
        }
        if !done.insert(at.clone()) {
            return None;
        }
        way.push(at.clone());
        let found = arrows
            .get(at)
            .into_iter()
            .flatten()
            .find_map(|next| walk(next, arrows, way, done));
        way.pop();
        found
    }
    let mut done = BTreeSet::new();
    arrows
        .keys()
        .find_map(|module| walk(module, arrows, &mut Vec::new(), &mut done))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "pub use error::Error; pub use values::facts::{Kind, Range}; mod values;";

    fn judged(files: &[(&str, &str)]) -> Result<String, String> {
        let sources: Vec<Source> = [("lib.rs", ROOT)]
            .iter()
            .chain(files)
            .map(|(path, text)| Source {
                path: format!("{FOLDER}/{path}"),
                text: (*text).to_owned(),
            })
            .collect();
        check(&sources).map_err(|findings| findings.to_string())
    }

    #[test]
    fn earlier_stages_may_be_named() {
        let said = judged(&[
            (
                "price/question.rs",
                "use crate::{Error, Kind, catalog::Catalog}; use crate::understand::frontier;",
            ),
            ("finish/release.rs", "fn f() { crate::run::engine::g(); }"),
        ]);
        assert!(said.unwrap().starts_with("stages: 2 modules"));
    }

    #[test]
    fn later_stages_may_not() {
        for text in [
            "use crate::run::engine::Measured;",
            "use crate::{Error, sources};",
            "fn f(answer: &crate::finish::answer::Answer) {}",
            "impl T { fn f(x: &crate::run::engine::Measured) {} }",
        ] {
            let said = judged(&[("price/cut.rs", text)]).unwrap_err();
            assert!(said.contains("of a later stage"), "{text}: {said}");
        }
        let said = judged(&[("values/steps.rs", "use crate::catalog::Catalog;")]).unwrap_err();
        assert!(said.contains("of a later stage"), "{said}");
    }

    #[test]
    fn numbers_are_bound_by_the_verifier_alone() {
        let text = "fn f() { Aggregate::<i64>::claimed(value, sensitivity, unit, grid) }";
        let said = judged(&[("finish/release.rs", text)]).unwrap_err();
        assert!(said.contains("nobody verified"), "{said}");
    }

    /// A name that the root re-exports counts as what it is.
    #[test]
    fn names_of_the_root_have_their_stage() {
        assert!(judged(&[("catalog/mod.rs", "use crate::Kind;")]).is_ok());
        assert!(judged(&[("error.rs", "use crate::Kind;")]).is_err());
        assert!(judged(&[("price/mod.rs", "use crate::Elsewhere;")]).is_err());
    }

    #[test]
    fn tests_may_name_everything() {
        let text = "#[cfg(test)] mod tests { use crate::dataset::Dataset; } #[cfg(test)] use crate::tuning;";
        assert!(
            judged(&[
                ("values/facts.rs", text),
                ("price/tests/mod.rs", "use crate::dataset::Dataset;")
            ])
            .is_ok()
        );
    }

    #[test]
    fn circles_are_caught() {
        let one = ("understand/planner.rs", "use crate::understand::relation::rows;");
        let other = (
            "understand/relation/mod.rs",
            "use crate::understand::mistakes::reported;",
        );
        let third = ("understand/mistakes/types.rs", "use crate::understand::planner;");
        assert!(judged(&[one, other]).is_ok());
        let said = judged(&[one, other, third]).unwrap_err();
        assert!(said.contains("in a circle: understand::"), "{said}");
    }

    #[test]
    fn unknown_modules_and_nothing_at_all_are_caught() {
        assert!(
            judged(&[("extra.rs", "")])
                .unwrap_err()
                .contains("not in the table of stages")
        );
        assert!(judged(&[]).unwrap_err().contains("no module was found"));
    }
}
