//! The modules of the workspace: which file each is, what it defines, and where a path that is written in it leads, through `use`, `super`, re-exports and globs.
//!
//! A path is followed by names alone. Which method a call `value.method()` means is a matter of types, which are not known here; see `methods` for what is done about it.

use crate::source::{is_for_tests, read_folder};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use syn::{Item, UseTree};

/// The names from a crate to a module.
pub(crate) type Way = Vec<String>;

/// No path in a program has more names.
const LONGEST: usize = 12;

/// A module.
#[derive(Default)]
struct Module {
    file: String,
    items: BTreeSet<String>,
    children: BTreeSet<String>,
    /// A name, and what it stands for.
    uses: Vec<(String, Vec<String>)>,
    globs: Vec<Vec<String>>,
    /// Types that have functions here.
    implemented: Vec<(Vec<String>, Vec<String>)>,
}

/// All shipped modules of the workspace.
#[derive(Default)]
pub(crate) struct Modules {
    modules: BTreeMap<Way, Module>,
    /// The text of each file, and its module.
    pub(crate) files: BTreeMap<String, (Way, String)>,
}

/// Where a path leads: to a module, or to something that a module defines, with what is left of the path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Module(Way),
    Item(Way, String, Vec<String>),
}

impl Modules {
    /// Reads the crates of the workspace at `root`.
    pub(crate) fn read(root: &Path) -> Result<Self, String> {
        let mut sources = Vec::new();
        let folders = std::fs::read_dir(root.join("crates")).map_err(|error| error.to_string())?;
        for folder in folders {
            let folder = folder.map_err(|error| error.to_string())?;
            let path = format!("crates/{}", folder.file_name().to_string_lossy());
            let Ok(manifest) = std::fs::read_to_string(root.join(&path).join("Cargo.toml")) else {
                continue;
            };
            let name = library(&manifest).ok_or_else(|| format!("{path}/Cargo.toml has no name"))?;
            let files = read_folder(root, &format!("{path}/src")).map_err(|error| error.to_string())?;
            let files = files.into_iter().map(|source| (source.path, source.text));
            sources.push((name, format!("{path}/src"), files.collect()));
        }
        Self::of(sources)
    }

    /// Of crates: the name, the folder, and the text of each file.
    pub(crate) fn of(crates: Vec<(String, String, BTreeMap<String, String>)>) -> Result<Self, String> {
        let mut all = Self::default();
        for (name, folder, files) in crates {
            let root = format!("{folder}/lib.rs");
            if files.contains_key(&root) {
                all.add_file(vec![name], &root, &files)?;
            }
        }
        Ok(all)
    }

    fn add_file(&mut self, way: Way, path: &str, files: &BTreeMap<String, String>) -> Result<(), String> {
        let text = files.get(path).ok_or_else(|| format!("there is no {path}"))?;
        let file = syn::parse_file(text).map_err(|error| format!("{path} is not Rust: {error}"))?;
        self.files.insert(path.to_owned(), (way.clone(), text.clone()));
        self.add_items(way, path, file.items, files)
    }

    fn add_items(
        &mut self,
        way: Way,
        path: &str,
        items: Vec<Item>,
        files: &BTreeMap<String, String>,
    ) -> Result<(), String> {
        let mut module = Module {
            file: path.to_owned(),
            ..Module::default()
        };
        let mut inner = Vec::new();
        for item in items {
            if is_for_tests(attributes(&item)) {
                continue;
            }
            match item {
                Item::Use(item) => spread(&item.tree, &mut Vec::new(), &mut module),
                Item::Mod(item) => {
                    let name = item.ident.to_string();
                    module.children.insert(name.clone());
                    inner.push((name, item.content));
                }
                Item::Impl(item) if item.trait_.is_none() => module.implemented.extend(implemented(&item)),
                item => module.items.extend(name_of(&item)),
            }
        }
        self.modules.insert(way.clone(), module);
        for (name, content) in inner {
            let child = [way.as_slice(), std::slice::from_ref(&name)].concat();
            match content {
                Some((_, items)) => self.add_items(child, path, items, files)?,
                None => {
                    let found = places(path, &way, &name);
                    let found = found.iter().find(|place| files.contains_key(*place));
                    let found =
                        found.ok_or_else(|| format!("{path} names a module {name} that has no file"))?;
                    self.add_file(child, found, files)?;
                }
            }
        }
        Ok(())
    }

    /// The file of a module.
    pub(crate) fn file(&self, way: &Way) -> &str {
        self.modules.get(way).map_or("", |module| &module.file)
    }

    /// Where a path leads that is written in a module; `None` if out of the workspace.
    pub(crate) fn resolve(&self, from: &Way, path: &[String]) -> Option<Target> {
        self.follow(from, path, &mut BTreeSet::new())
    }

    fn follow(&self, from: &Way, path: &[String], seen: &mut BTreeSet<(Way, Vec<String>)>) -> Option<Target> {
        // `use verify::verify` would otherwise lead to itself, one name longer each time.
        if path.len() > LONGEST || !seen.insert((from.clone(), path.to_vec())) {
            return None;
        }
        let (first, rest) = path.split_first()?;
        let start = match first.as_str() {
            "crate" => Some(vec![from.first()?.clone()]),
            "self" => Some(from.clone()),
            "super" => Some(from[..from.len().checked_sub(1)?].to_vec()),
            _ => None,
        };
        if let Some(start) = start {
            return match rest {
                [] => Some(Target::Module(start)),
                _ => self.within(&start, rest, seen),
            };
        }
        self.within(from, path, seen).or_else(|| {
            let root = vec![first.clone()];
            let known = self.modules.contains_key(&root);
            match (known, rest) {
                (false, _) => None,
                (true, []) => Some(Target::Module(root)),
                (true, _) => self.within(&root, rest, seen),
            }
        })
    }

    /// A path that begins with a name of a module.
    fn within(&self, at: &Way, path: &[String], seen: &mut BTreeSet<(Way, Vec<String>)>) -> Option<Target> {
        let module = self.modules.get(at)?;
        let (first, rest) = path.split_first()?;
        if first == "super" || first == "self" {
            return self.follow(at, path, seen);
        }
        let is_item = module.items.contains(first);
        if module.children.contains(first) && !(rest.is_empty() && is_item) {
            let child = [at.as_slice(), std::slice::from_ref(first)].concat();
            return match rest {
                [] => Some(Target::Module(child)),
                _ => self.within(&child, rest, seen),
            };
        }
        if is_item {
            return Some(Target::Item(at.clone(), first.clone(), rest.to_vec()));
        }
        let onward = |target: &[String]| [target, rest].concat();
        let named = module.uses.iter().filter(|(name, _)| name == first);
        let named: Vec<Vec<String>> = named.map(|(_, target)| onward(target)).collect();
        if let Some(found) = named.iter().find_map(|path| self.follow(at, path, seen)) {
            return Some(found);
        }
        let globs: Vec<Vec<String>> = module.globs.iter().map(|glob| [glob, path].concat()).collect();
        globs.iter().find_map(|path| self.follow(at, path, seen))
    }

    /// Functions of types, each with the module of the type, the type, and the file that the function is in.
    pub(crate) fn functions(&self) -> impl Iterator<Item = ((Way, String), &str, &str)> {
        self.modules.iter().flat_map(move |(way, module)| {
            module.implemented.iter().flat_map(move |(of, functions)| {
                let of = match self.resolve(way, of) {
                    Some(Target::Item(at, name, _)) => Some((at, name)),
                    _ => None,
                };
                let file = module.file.as_str();
                functions
                    .iter()
                    .filter_map(move |function| Some((of.clone()?, function.as_str(), file)))
            })
        })
    }
}

/// The name of a crate's library, as its manifest says.
fn library(manifest: &str) -> Option<String> {
    let table: toml::Table = manifest.parse().ok()?;
    let name = |section: &str| Some(table.get(section)?.get("name")?.as_str()?.replace('-', "_"));
    name("lib").or_else(|| name("package"))
}

/// Where the file of a module may be that `path` declares.
fn places(path: &str, way: &Way, name: &str) -> [String; 2] {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let folder = match file {
        "lib.rs" | "mod.rs" => folder.to_owned(),
        _ => format!("{folder}/{}", way.last().map_or("", String::as_str)),
    };
    [format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs")]
}

fn spread(tree: &UseTree, before: &mut Vec<String>, module: &mut Module) {
    let with = |before: &[String], name: &syn::Ident| [before, &[name.to_string()]].concat();
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            spread(&path.tree, before, module);
            before.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| spread(tree, before, module)),
        UseTree::Name(name) if name.ident == "self" => {
            let last = before.last().cloned().unwrap_or_default();
            module.uses.push((last, before.clone()));
        }
        UseTree::Name(name) => module
            .uses
            .push((name.ident.to_string(), with(before, &name.ident))),
        UseTree::Rename(name) => module
            .uses
            .push((name.rename.to_string(), with(before, &name.ident))),
        UseTree::Glob(_) => module.globs.push(before.clone()),
    }
}

fn implemented(item: &syn::ItemImpl) -> Option<(Vec<String>, Vec<String>)> {
    let syn::Type::Path(of) = item.self_ty.as_ref() else {
        return None;
    };
    let of = of.path.segments.iter().map(|segment| segment.ident.to_string());
    let functions = item.items.iter().filter_map(|item| match item {
        syn::ImplItem::Fn(function) if !is_for_tests(&function.attrs) => Some(function.sig.ident.to_string()),
        _ => None,
    });
    Some((of.collect(), functions.collect()))
}

fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

fn attributes(item: &Item) -> &[syn::Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(files: &[(&str, &str)]) -> Modules {
        let mut crates: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
        for (path, text) in files {
            let (name, _) = path.split_once('/').unwrap();
            let files = crates.entry(name).or_default();
            files.insert((*path).to_owned(), (*text).to_owned());
        }
        let crates = crates.into_iter();
        let crates = crates.map(|(name, files)| (name.to_owned(), format!("{name}/src"), files));
        Modules::of(crates.collect()).unwrap()
    }

    /// The file of what a path stands for.
    fn leads(modules: &Modules, from: &str, path: &str) -> String {
        let names = |path: &str| path.split("::").map(str::to_owned).collect::<Vec<_>>();
        match modules.resolve(&names(from), &names(path)) {
            Some(Target::Module(way) | Target::Item(way, ..)) => modules.file(&way).to_owned(),
            None => "elsewhere".to_owned(),
        }
    }

    #[test]
    fn paths_are_followed_through_what_gives_names() {
        let modules = modules(&[
            (
                "low/src/lib.rs",
                "mod deep; mod other; pub use deep::inner::{Thing, made as built}; pub use other::*; use std::fmt;",
            ),
            ("low/src/deep/mod.rs", "pub(crate) mod inner; pub struct Near;"),
            (
                "low/src/deep/inner.rs",
                "use super::Near; use super::super::other::Far; pub struct Thing; pub fn made() {}",
            ),
            (
                "low/src/other.rs",
                "pub struct Far; mod sealed { pub trait Seal {} use super::Far; }",
            ),
            (
                "high/src/lib.rs",
                "use low as under; use low::{self, Far}; mod low_too; #[cfg(test)] mod tests;",
            ),
            ("high/src/low_too.rs", "use super::*; fn low() {}"),
        ]);
        for (from, path, file) in [
            ("high", "low::Thing", "low/src/deep/inner.rs"),
            ("high", "under::built", "low/src/deep/inner.rs"),
            ("high", "Far::new", "low/src/other.rs"),
            ("high", "crate::Far", "low/src/other.rs"),
            ("high::low_too", "Far", "low/src/other.rs"),
            ("high::low_too", "low", "high/src/low_too.rs"),
            ("low::deep::inner", "Near", "low/src/deep/mod.rs"),
            ("low::deep::inner", "Far", "low/src/other.rs"),
            ("low::deep::inner", "super::inner::Thing", "low/src/deep/inner.rs"),
            ("low::other::sealed", "Far", "low/src/other.rs"),
            ("low", "fmt::Display", "elsewhere"),
            ("low", "std::fmt", "elsewhere"),
        ] {
            assert_eq!(leads(&modules, from, path), file, "{path} in {from}");
        }
    }

    #[test]
    fn a_name_that_leads_to_itself_ends() {
        let modules = modules(&[("verify/src/lib.rs", "use verify::verify; pub use verify::Thing;")]);
        assert_eq!(leads(&modules, "verify", "verify::verify"), "elsewhere");
    }

    #[test]
    fn functions_of_a_type_may_be_in_another_file() {
        let modules = modules(&[
            (
                "low/src/lib.rs",
                "mod more; pub struct Thing; impl Clone for Thing { fn clone(&self) {} }",
            ),
            (
                "low/src/more.rs",
                "use crate::Thing; impl Thing { fn act(&self) {} #[cfg(test)] fn no() {} }",
            ),
        ]);
        let found: Vec<_> = modules.functions().collect();
        let thing = (vec!["low".to_owned()], "Thing".to_owned());
        assert_eq!(found, [(thing, "act", "low/src/more.rs")]);
    }
}
