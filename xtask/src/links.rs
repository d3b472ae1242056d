//! `cargo xtask links`: every relative link in the Markdown files at the root leads to a file of the repository.

use crate::finding::{Finding, Outcome, outcome};
use std::path::Path;

/// Checks the Markdown files in `root`.
pub(crate) fn run(root: &Path) -> Outcome {
    let unreadable =
        |error: std::io::Error| Finding::new(".", error.to_string(), "the root must be readable");
    let mut findings = Vec::new();
    let (mut documents, mut links) = (0, 0);
    for entry in std::fs::read_dir(root).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let text = std::fs::read_to_string(&path).map_err(unreadable)?;
        documents += 1;
        for (line, target) in relative_targets(&text) {
            links += 1;
            let file = target
                .split(['#', '?'])
                .next()
                .unwrap_or_default()
                .replace("%20", " ");
            if !file.is_empty() && (file.starts_with('/') || !root.join(&file).exists()) {
                let hint = "links are relative to the document, and case counts";
                findings.push(Finding::new(
                    format!("{name}:{line}"),
                    format!("`{target}` leads nowhere"),
                    hint,
                ));
            }
        }
    }
    outcome(findings, || {
        format!("links: {links} relative links in {documents} documents, all resolve")
    })
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
            "# Title\n[good](README.md)\n[bad](Missing.md)\n",
        )
        .unwrap();
        let findings = run(&root).unwrap_err().to_string();
        std::fs::remove_dir_all(&root).unwrap();
        assert!(
            findings.starts_with("error: README.md:3: `Missing.md` leads nowhere\nhint:"),
            "{findings}"
        );
        assert_eq!(findings.matches("error:").count(), 1);
    }
}
