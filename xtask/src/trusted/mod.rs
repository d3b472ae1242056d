//! `cargo xtask trusted`: the modules that TRUSTED-BASE.md lists name none that it does not list, they are as long as it says, and not too long.
//!
//! What a listed module names, and nothing of the guarantee rests on, stands on the page with the reason: words of errors, reports, what SQL never reaches.
//!
//! `cargo xtask trusted --write` writes the figures.

mod modules;
mod names;
mod page;
mod tokens;

use crate::finding::{Finding, Outcome, outcome};
use modules::{Modules, Target, Way};
use names::Named;
use page::Row;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tokens::Token;

const PAGE: &str = "TRUSTED-BASE.md";

/// It may get smaller, and larger only where more was always trusted than the page said: planned tables answer questions, too. The aim is 20,000.
const MOST_LINES: usize = 27_400;

const UNLISTED: &str = "list the module in TRUSTED-BASE.md, or move what is needed of it into a listed one";

/// Checks the workspace at `root`.
pub(crate) fn run(root: &Path) -> Outcome {
    let page = read_page(root)?;
    let modules = read_modules(root)?;
    check(&modules, &page)
}

/// Writes the figures into the page of the workspace at `root`.
pub(crate) fn write(root: &Path) -> Outcome {
    let page = read_page(root)?;
    let shipped = Shipped::of(&read_modules(root)?)?;
    let written = page::with_figures(&page, |row| shipped.lines(row));
    std::fs::write(root.join(PAGE), written)
        .map_err(|error| Finding::new(PAGE, error.to_string(), "may this folder be written to?"))?;
    Ok(format!("trusted: the figures of {PAGE} are written"))
}

fn read_page(root: &Path) -> Result<String, Finding> {
    std::fs::read_to_string(root.join(PAGE))
        .map_err(|error| Finding::new(PAGE, error.to_string(), "it lists the trusted modules"))
}

fn read_modules(root: &Path) -> Result<Modules, Finding> {
    Modules::read(root).map_err(|what| Finding::new("crates", what, "`cargo check` says more"))
}

/// The shipped tokens of each file.
struct Shipped(BTreeMap<String, Vec<Token>>);

impl Shipped {
    fn of(modules: &Modules) -> Result<Self, Finding> {
        let mut shipped = BTreeMap::new();
        for (file, (_, text)) in &modules.files {
            let tokens =
                tokens::shipped(text).map_err(|what| Finding::new(file, what, "`cargo check` says more"))?;
            shipped.insert(file.clone(), tokens);
        }
        Ok(Self(shipped))
    }

    /// How many lines the files of a row have.
    fn lines(&self, row: &Row) -> usize {
        let files = self.0.iter().filter(|(file, _)| row.lists(file));
        files.map(|(_, tokens)| tokens::lines(tokens)).sum()
    }
}

fn check(modules: &Modules, page: &str) -> Outcome {
    let shipped = Shipped::of(modules)?;
    let rows = page::rows(page);
    let mut findings = Vec::new();
    let mut listed = BTreeSet::new();
    for row in &rows {
        let place = format!("{PAGE}:{}", row.line);
        for path in &row.paths {
            let one = Row {
                line: row.line,
                paths: vec![path.clone()],
            };
            let files: Vec<&String> = shipped.0.keys().filter(|file| one.lists(file)).collect();
            if files.is_empty() {
                findings.push(Finding::new(
                    &place,
                    format!("there is no {path}"),
                    "remove the row",
                ));
            }
            for file in files {
                if !listed.insert(file.clone()) {
                    findings.push(Finding::new(
                        &place,
                        format!("{file} is listed twice"),
                        "list it once",
                    ));
                }
            }
        }
    }
    if listed.is_empty() {
        let hint = "a check that looks at nothing passes always";
        findings.push(Finding::new(PAGE, "it lists no module", hint));
    }
    let excused = page::excused(page);
    for row in excused.iter().filter(|row| !row.has_reason) {
        let what = format!("{} has no reason", row.row.paths.join(", "));
        findings.push(Finding::new(
            format!("{PAGE}:{}", row.row.line),
            what,
            "say why nothing rests on it",
        ));
    }
    let functions = Functions::of(modules, &listed);
    let mut used = BTreeSet::new();
    for file in &listed {
        let (way, _) = &modules.files[file];
        let named = names::named(&shipped.0[file]);
        let mut found = unlisted_names(modules, &listed, file, way, &named);
        found.extend(functions.unlisted(modules, file, way, &named));
        for (other, finding) in found {
            match excused.iter().find(|excuse| excuse.row.lists(&other)) {
                Some(excuse) => {
                    used.insert(excuse.row.line);
                }
                None => findings.push(finding),
            }
        }
    }
    for excuse in excused.iter().filter(|excuse| !used.contains(&excuse.row.line)) {
        let what = format!("no listed module names {}", excuse.row.paths.join(", "));
        findings.push(Finding::new(
            format!("{PAGE}:{}", excuse.row.line),
            what,
            "remove the row",
        ));
    }
    if let Some(file) = listed
        .iter()
        .find(|file| excused.iter().any(|excuse| excuse.row.lists(file)))
    {
        let what = format!("{file} is trusted, and excused too");
        findings.push(Finding::new(PAGE, what, "list it once"));
    }
    let lines: usize = rows.iter().map(|row| shipped.lines(row)).sum();
    if lines > MOST_LINES {
        let what = format!("the trusted modules have {lines} lines, more than {MOST_LINES}");
        findings.push(Finding::new(PAGE, what, "take something out of them"));
    }
    if page::with_figures(page, |row| shipped.lines(row)) != page {
        let what = "its figures are those of other modules";
        findings.push(Finding::new(
            PAGE,
            what,
            "`cargo xtask trusted --write` writes them",
        ));
    }
    outcome(findings, || {
        format!(
            "trusted: {lines} lines in {} files, which name no others but {} with a reason",
            listed.len(),
            excused.len()
        )
    })
}

/// What a listed file names that is in a file which is not.
fn unlisted_names(
    modules: &Modules,
    listed: &BTreeSet<String>,
    file: &str,
    way: &Way,
    named: &[Named],
) -> Vec<(String, Finding)> {
    let uses = names::uses(modules, way, named).into_iter();
    let others = uses.filter(|one| !listed.contains(&one.file));
    let mut seen = BTreeSet::new();
    others
        .filter(|one| seen.insert((one.file.clone(), one.path.clone())))
        .map(|one| {
            let place = format!("{file}:{}", one.line);
            let what = format!("names `{}`, of {}, which is not listed", one.path, one.file);
            (one.file, Finding::new(place, what, UNLISTED))
        })
        .collect()
}

/// Functions of listed types that stand in files which are not listed.
struct Functions<'a> {
    others: Vec<((Way, String), &'a str, &'a str)>,
    /// Names of functions of types that stand in listed files.
    known: BTreeSet<&'a str>,
}

impl<'a> Functions<'a> {
    fn of(modules: &'a Modules, listed: &BTreeSet<String>) -> Self {
        let (known, others): (Vec<_>, Vec<_>) = modules
            .functions()
            .partition(|(_, _, file)| listed.contains(*file));
        let of_listed = |(at, _): &(Way, String)| listed.contains(modules.file(at));
        Self {
            known: known.into_iter().map(|(_, name, _)| name).collect(),
            others: others.into_iter().filter(|(of, ..)| of_listed(of)).collect(),
        }
    }

    /// `Type::function` is told by its type; of `value.function()` only the name is known, and no other listed type may have it.
    fn unlisted(&self, modules: &Modules, file: &str, way: &Way, named: &[Named]) -> Vec<(String, Finding)> {
        let mut findings = Vec::new();
        for name in named {
            let last = name.path.last().map_or("", String::as_str);
            let from = [way.as_slice(), &name.inside].concat();
            let of = match modules.resolve(&from, &name.path) {
                Some(Target::Item(at, of, rest)) if !rest.is_empty() => Some((at, of)),
                _ => None,
            };
            let found = self.others.iter().find(|(other, function, _)| {
                *function == last
                    && match name.method {
                        true => !self.known.contains(last),
                        false => of.as_ref() == Some(other),
                    }
            });
            if let Some(((_, of), function, other)) = found {
                let place = format!("{file}:{}", name.line);
                let what = format!("calls `{of}::{function}`, of {other}, which is not listed");
                findings.push(((*other).to_owned(), Finding::new(place, what, UNLISTED)));
            }
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: &str = "\
# Base
<!-- lines -->4<!-- end -->
## Low: `low/src`
| `lib.rs`, `deep/` | 3 | |
| together | 3 | |
## High: `high/src`
| `lib.rs` | 1 | |
";

    fn judged(page: &str, deep: &str, high: &str) -> Result<String, String> {
        let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let low = [
            file("low/src/lib.rs", "pub mod deep;\npub mod pages;"),
            file("low/src/deep/mod.rs", deep),
            file(
                "low/src/pages.rs",
                "pub struct Page; pub use crate::deep::Base; impl Base { fn show(&self) {} }",
            ),
        ];
        let high = [file("high/src/lib.rs", high)];
        let crates = [
            ("low", low.into_iter().collect()),
            ("high", high.into_iter().collect()),
        ];
        let crates = crates
            .map(|(name, files): (&str, BTreeMap<_, _>)| (name.to_owned(), format!("{name}/src"), files));
        check(&Modules::of(crates.into()).unwrap(), page).map_err(|findings| findings.to_string())
    }

    const DEEP: &str = "pub struct Base;";

    #[test]
    fn listed_modules_that_name_each_other_pass() {
        // Who passes a name on need not be trusted, and tests may name everything.
        let high = "use low::pages::Base; #[cfg(test)] mod tests { use low::pages::Page; }";
        let said = judged(LISTED, DEEP, high);
        assert_eq!(
            said.unwrap(),
            "trusted: 4 lines in 3 files, which name no others but 0 with a reason"
        );
    }

    #[test]
    fn what_is_not_listed_is_caught() {
        for high in [
            "use low::pages::Page;",
            "use low::{deep, pages::{self, *}}; struct Kept(Page);",
            "use low as under; fn f() { dbg!(under::pages::Page) }",
            "use low::pages as p; fn f(x: p::Page) {}",
        ] {
            let said = judged(LISTED, DEEP, high).unwrap_err();
            assert!(said.contains("high/src/lib.rs:1: names"), "{said}");
            assert!(
                said.contains("of low/src/pages.rs, which is not listed"),
                "{said}"
            );
        }
        let said = judged(
            LISTED,
            "pub struct Base; fn f() -> super::pages::Page { todo!() }",
            "fn f() {}",
        );
        assert!(
            said.unwrap_err()
                .contains("low/src/deep/mod.rs:1: names `super::pages::Page`")
        );
    }

    #[test]
    fn what_is_excused_has_a_reason_and_is_used() {
        let excused = format!("{LISTED}## Named, and not trusted: `low/src`\n| `pages.rs` | Words. |\n");
        let high = "use low::pages::Page;";
        assert!(judged(&excused, DEEP, high).is_ok());
        let said = judged(&excused.replace("Words.", ""), DEEP, high).unwrap_err();
        assert!(said.contains("pages.rs has no reason"), "{said}");
        let said = judged(&excused, DEEP, "fn f() {}").unwrap_err();
        assert!(said.contains("no listed module names low/src/pages.rs"), "{said}");
        let twice = excused.replace("| `pages.rs`", "| `deep/`, `pages.rs`");
        let said = judged(&twice, DEEP, high).unwrap_err();
        assert!(
            said.contains("low/src/deep/mod.rs is trusted, and excused too"),
            "{said}"
        );
    }

    #[test]
    fn functions_of_listed_types_in_other_files_are_caught() {
        for high in [
            "fn f(base: low::deep::Base) { base.show() }",
            "use low::deep::Base; fn f() { Base::show(&b) }",
        ] {
            let said = judged(LISTED, DEEP, high).unwrap_err();
            assert!(said.contains("calls `Base::show`, of low/src/pages.rs"), "{said}");
        }
    }

    #[test]
    fn a_page_that_is_out_of_date_is_caught() {
        let high = "fn f() {}";
        let said = judged(LISTED, "pub struct Base;\npub struct Other;", high).unwrap_err();
        assert!(said.contains("its figures"), "{said}");
        let twice = LISTED.replace("`deep/`", "`deep/`, `deep/mod.rs`, `gone.rs`");
        let said = judged(&twice, DEEP, high).unwrap_err();
        assert!(
            said.contains("is listed twice") && said.contains("there is no low/src/gone.rs"),
            "{said}"
        );
        assert!(
            judged("# Base\n", DEEP, high)
                .unwrap_err()
                .contains("it lists no module")
        );
        let long = "fn f() {}\n".repeat(MOST_LINES);
        assert!(
            judged(LISTED, &long, high)
                .unwrap_err()
                .contains(&format!("more than {MOST_LINES}"))
        );
    }
}
