//! A section of a doc comment (`# Privacy`) and its labelled fields (`Claim: …`).

/// The lines under one heading, up to the next heading.
pub(crate) struct Section(Vec<String>);

impl Section {
    /// The section of `doc` under `# title`, if there is one. A `#` inside a code fence is no heading.
    pub(crate) fn find(doc: &str, title: &str) -> Option<Self> {
        let mut lines: Option<Vec<String>> = None;
        let mut in_code = false;
        for line in doc.lines().map(str::trim) {
            if line.starts_with("```") {
                in_code = !in_code;
            } else if !in_code && is_heading(line) {
                if lines.is_some() {
                    break;
                }
                if line.trim_start_matches('#').trim() == title {
                    lines = Some(Vec::new());
                }
                continue;
            }
            if let Some(lines) = &mut lines {
                lines.push(line.to_owned());
            }
        }
        lines.map(Self)
    }

    /// What stands behind `label` up to the next of `labels`, on one line; `None` if no line starts with it.
    pub(crate) fn field(&self, label: &str, labels: &[&str]) -> Option<String> {
        let mut words: Option<Vec<&str>> = None;
        let mut open = false;
        for line in &self.0 {
            if let Some(other) = labels.iter().find(|other| line.starts_with(**other)) {
                open = *other == label;
                if open {
                    words
                        .get_or_insert_default()
                        .extend(line[label.len()..].split_whitespace());
                }
            } else if open {
                words.get_or_insert_default().extend(line.split_whitespace());
            }
        }
        words.map(|words| words.join(" "))
    }
}

fn is_heading(line: &str) -> bool {
    let text = line.trim_start_matches('#');
    text.len() < line.len() && text.starts_with(' ')
}

/// The names of functions inside backticks: `` `audit_laplace` `` and `` `tests::audit_laplace` ``, but no formulas.
pub(crate) fn backticked_names(field: &str) -> Vec<&str> {
    let code = field.split('`').skip(1).step_by(2);
    let is_identifier = |word: &str| {
        word.starts_with(|first: char| first.is_alphabetic() || first == '_')
            && word
                .chars()
                .all(|letter| letter.is_alphanumeric() || letter == '_')
    };
    code.filter(|code| code.split("::").all(is_identifier))
        .map(|path| path.rsplit("::").next().unwrap_or(path))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABELS: &[&str] = &["Claim:", "Proof:"];

    #[test]
    fn a_section_ends_at_the_next_heading_and_not_in_code() {
        let doc = "Why.\n# Privacy\nClaim: a\n```\n# not a heading\n```\nProof: b\n\n * c\n# Examples\nClaim: other\n";
        let section = Section::find(doc, "Privacy").unwrap();
        assert_eq!(
            section.field("Claim:", LABELS).unwrap(),
            "a ``` # not a heading ```"
        );
        assert_eq!(section.field("Proof:", LABELS).unwrap(), "b * c");
        assert!(Section::find(doc, "Exactness").is_none());
        assert!(Section::find("# Privacy and more\n", "Privacy").is_none());
    }

    #[test]
    fn a_missing_label_differs_from_an_empty_one() {
        let section = Section::find("# Privacy\nClaim:\n", "Privacy").unwrap();
        assert_eq!(section.field("Claim:", LABELS).as_deref(), Some(""));
        assert_eq!(section.field("Proof:", LABELS), None);
    }

    #[test]
    fn names_are_identifiers_or_paths() {
        let names = backticked_names("`audit_a`, `tests::audit_b` (rejects `1.05 ε`, `e^ε`)");
        assert_eq!(names, ["audit_a", "audit_b"]);
    }
}
