//! Reads a line of the shell: a query, or a command that begins with a backslash.

/// What somebody typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    Nothing,
    /// A question in SQL: its price is shown, and then it is asked if that is wanted.
    Question(String),
    /// This question, or the one before, without asking back.
    Go(Option<String>),
    /// What this question, or the one before, would do.
    Explain(Option<String>),
    Tables,
    Describe(String),
    /// The ε that questions take from now on; without one, which it is.
    Epsilon(Option<String>),
    Budget,
    Help,
    Quit,
    /// No command is called so, or this one takes something else.
    Unknown(String),
}

/// The commands: how each is written, and what it does.
pub(super) const COMMANDS: [(&str, &str); 8] = [
    (
        "\\go [QUESTION]",
        "ask this question, or the one before, without asking back",
    ),
    (
        "\\explain [QUESTION]",
        "everything about its plan, cost and errors; spends nothing",
    ),
    ("\\tables", "the tables"),
    ("\\describe TABLE", "the columns of a table"),
    (
        "\\epsilon [E | default]",
        "what questions may cost from now on, where they do not say it",
    ),
    ("\\budget", "who spent what, and what is left"),
    ("\\help", "this list"),
    ("\\quit", "leave; so does Ctrl-D"),
];

impl Line {
    /// Reads what was typed.
    pub(super) fn of(text: &str) -> Self {
        let text = text.trim();
        if text.is_empty() {
            return Self::Nothing;
        }
        if !text.starts_with('\\') {
            return Self::Question(text.to_owned());
        }
        let (command, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        let more = || (!rest.is_empty()).then(|| rest.to_owned());
        match command.to_lowercase().as_str() {
            "\\go" | "\\g" => Self::Go(more()),
            "\\explain" => Self::Explain(more()),
            "\\epsilon" => Self::Epsilon(more()),
            "\\describe" | "\\d" if !rest.is_empty() => Self::Describe(rest.trim_end_matches(';').to_owned()),
            "\\tables" | "\\d" if rest.is_empty() => Self::Tables,
            "\\budget" if rest.is_empty() => Self::Budget,
            "\\help" | "\\h" | "\\?" if rest.is_empty() => Self::Help,
            "\\quit" | "\\q" | "\\exit" if rest.is_empty() => Self::Quit,
            _ => Self::Unknown(text.to_owned()),
        }
    }
}

/// Whether this is a whole line: a command, a question that ends with a semicolon, or one behind which a line
/// was left empty.
pub(super) fn is_whole(text: &str) -> bool {
    let begun = text.trim_start();
    let left_empty = text
        .rsplit_once('\n')
        .is_some_and(|(_, last)| last.trim().is_empty());
    begun.is_empty() || begun.starts_with('\\') || text.trim_end().ends_with(';') || left_empty
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_begin_with_a_backslash() {
        let text = |text: &str| Some(text.to_owned());
        for (typed, line) in [
            ("  ", Line::Nothing),
            (" SELECT 1; ", Line::Question("SELECT 1;".to_owned())),
            ("\\go", Line::Go(None)),
            ("\\GO  SELECT 1", Line::Go(text("SELECT 1"))),
            ("\\explain", Line::Explain(None)),
            ("\\epsilon 0.1", Line::Epsilon(text("0.1"))),
            ("\\describe people;", Line::Describe("people".to_owned())),
            ("\\d", Line::Tables),
            ("\\describe", Line::Unknown("\\describe".to_owned())),
            ("\\quit now", Line::Unknown("\\quit now".to_owned())),
            ("\\sell", Line::Unknown("\\sell".to_owned())),
            ("\\q", Line::Quit),
        ] {
            assert_eq!(Line::of(typed), line, "{typed}");
        }
    }

    #[test]
    fn every_command_of_the_list_is_understood() {
        for (written, _) in COMMANDS {
            let typed = written.split(['[', '|']).next().unwrap_or_default();
            let line = Line::of(typed);
            assert!(!matches!(line, Line::Unknown(_) | Line::Question(_)), "{written}");
        }
    }

    #[test]
    fn a_question_ends_with_a_semicolon_or_an_empty_line() {
        for whole in [
            "",
            " \n",
            "\\go",
            "SELECT 1;",
            "SELECT\n1 ;\n",
            "SELECT 1\n",
            "SELECT 1\n  ",
        ] {
            assert!(is_whole(whole), "{whole:?}");
        }
        for begun in ["SELECT 1", "SELECT\n1", " SELECT ';' AS x"] {
            assert!(!is_whole(begun), "{begun:?}");
        }
    }
}
