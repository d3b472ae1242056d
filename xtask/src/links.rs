//! `cargo xtask links`: every relative link in the documents leads to a file of the repository, and to a heading where it names one; and the contents of the book list all of its pages.

use crate::finding::{Finding, Outcome, outcome};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Where documents are: the root, the book, and the pages of folders that people look into.
const FOLDERS: [(&str, bool); 5] = [
    ("", false),
    ("docs", true),
    ("python", false),
    ("bench", false),
    ("fuzz", false),
];

/// The contents of the book.
const CONTENTS: &str = "docs/SUMMARY.md";

/// Checks the documents of the repository at `root`.
pub(crate) fn run(root: &Path) -> Outcome {
    let unreadable =
        |error: std::io::Error| Finding::new(".", error.to_string(), "the root must be readable");
    let mut documents = Vec::new();
    for (folder, deep) in FOLDERS {
        markdown(root, Path::new(folder), deep, &mut documents).map_err(unreadable)?;
    }
    let mut findings = Vec::new();
    let mut links = 0;
    let mut listed = BTreeSet::new();
    for document in &documents {
        let text = std::fs::read_to_string(root.join(document)).map_err(unreadable)?;
        let folder = document.parent().unwrap_or(Path::new(""));
        for (line, target) in relative_targets(&text) {
            links += 1;
            let (file, place) = target.split_once('#').unwrap_or((&target, ""));
            let file = file.split('?').next().unwrap_or_default().replace("%20", " ");
            let path = match file.as_str() {
                "" => document.clone(),
                file => folder.join(file),
            };
            let wrong = match () {
                () if file.starts_with('/') || !root.join(&path).exists() => "leads nowhere",
                () if !place.is_empty() && !has_heading(&root.join(&path), place) => {
                    "leads to a page that has no such heading"
                }
                () => "",
            };
            if !wrong.is_empty() {
                let hint = "links are relative to the document, and case counts";
                let at = format!("{}:{line}", document.display());
                findings.push(Finding::new(at, format!("`{target}` {wrong}"), hint));
            }
            if document == Path::new(CONTENTS) {
                listed.insert(path);
            }
        }
    }
    for page in documents.iter().filter(|page| page.starts_with("docs")) {
        if root.join(CONTENTS).exists() && page != Path::new(CONTENTS) && !listed.contains(page) {
            let what = "is a page of the book, and its contents do not list it";
            let hint = format!("add it to {CONTENTS}");
            findings.push(Finding::new(page.to_string_lossy(), what, hint));
        }
    }
    outcome(findings, || {
        format!(
            "links: {links} relative links in {} documents, all resolve",
            documents.len()
        )
    })
}

/// The Markdown files of a folder, by their paths from the root; a folder that is not there has none.
fn markdown(root: &Path, folder: &Path, deep: bool, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if !root.join(folder).exists() {
        return Ok(());
    }
    for entry in std::fs::read_dir(root.join(folder))? {
        let path = folder.join(entry?.file_name());
        if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        } else if deep && root.join(&path).is_dir() {
            markdown(root, &path, deep, found)?;
        }
    }
    Ok(())
}

/// Whether a page has a heading of this name, as GitHub and mdBook write names. Only pages are looked into.
fn has_heading(path: &Path, place: &str) -> bool {
    if path.extension().is_none_or(|extension| extension != "md") {
        return true;
    }
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let headings = text.lines().filter_map(|line| line.strip_prefix('#'));
    headings
        .map(|line| line.trim_start_matches('#').trim())
        .any(|heading| name_of(heading) == place)
}

fn name_of(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|symbol| symbol.is_alphanumeric() || " -_".contains(*symbol));
    kept.flat_map(char::to_lowercase)
        .map(|symbol| if symbol == ' ' { '-' } else { symbol })
        .collect()
}

/// The targets of `[text](target)`, `[name]: target` and `src="target"` that are not addresses on the network,
/// each with its line. Code is skipped.
fn relative_targets(text: &str) -> Vec<(usize, String)> {
    let mut targets = Vec::new();
    let mut in_code = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            continue;
        }
        if in_code {
            continue;
        }
        // Every second piece between backticks is code.
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let mut found: Vec<&str> = Vec::new();
        for (opening, closing) in [("](", ')'), ("src=\"", '"'), ("href=\"", '"')] {
            found.extend(
                prose
                    .split(opening)
                    .skip(1)
                    .filter_map(|rest| rest.split(closing).next()),
            );
        }
        if prose.starts_with('[') {
            found.extend(prose.split_once("]:").map(|(_, target)| target));
        }
        for target in found {
            // A title may follow the target.
            let target = target
                .split_whitespace()
                .next()
                .unwrap_or_default()
                .trim_matches(['<', '>']);
            let elsewhere = target.contains("://") || target.starts_with("mailto:");
            if !target.is_empty() && !elsewhere {
                targets.push((index + 1, target.to_owned()));
            }
        }
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_relative_links_and_skips_code_and_addresses() {
        let text = "see [a](A.md#part) and ![b](docs/b.svg \"title\"), not [c](https://example.org)\n\
                    ```\n[d](D.md)\n```\n\
                    `[e](E.md)` then [f](F.md)\n\
                    [g]: <G.md>\n<img src=\"h.png\">\n";
        let targets = relative_targets(text);
        let expected = [
            (1, "A.md#part"),
            (1, "docs/b.svg"),
            (5, "F.md"),
            (6, "G.md"),
            (7, "h.png"),
        ];
        assert_eq!(targets, expected.map(|(line, target)| (line, target.to_owned())));
    }

    #[test]
    fn a_broken_link_is_caught_with_its_line() {
        let root = std::env::temp_dir().join(format!("deniable-xtask-links-{}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        std::fs::write(
            root.join("README.md"),
            "# A Title\n[good](README.md#a-title)\n[bad](Missing.md)\n[bad](#another)\n",
        )
        .unwrap();
        let findings = run(&root).unwrap_err().to_string();
        std::fs::remove_dir_all(&root).unwrap();
        assert!(
            findings.starts_with("error: README.md:3: `Missing.md` leads nowhere\nhint:"),
            "{findings}"
        );
        assert!(
            findings.contains("README.md:4: `#another` leads to a page"),
            "{findings}"
        );
        assert_eq!(findings.matches("error:").count(), 2);
    }
}
