//! `deniable completions` and `deniable man`: the commands and options, for shells and as manual pages. Both
//! are made from the commands themselves, so they cannot fall behind.

use crate::terminal::{self, CliError, fail};
use clap::{Args, Command};
use clap_complete::Shell;
use std::path::{Path, PathBuf};

/// Print completions for a shell, so that Tab completes commands and options
#[derive(Args)]
#[command(after_help = "Examples:
  deniable completions bash > ~/.local/share/bash-completion/completions/deniable
  deniable completions zsh > ~/.zfunc/_deniable            with ~/.zfunc in $fpath
  deniable completions fish > ~/.config/fish/completions/deniable.fish
  deniable completions powershell >> $PROFILE")]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Print the manual page, or write the pages of all commands
#[derive(Args)]
#[command(after_help = "Examples:
  deniable man | man -l -
  deniable man train classifier | man -l -
  deniable man --output ~/.local/share/man/man1            then: man deniable-query")]
pub(crate) struct ManArguments {
    /// The command that the page is about [default: deniable itself]
    #[arg(value_name = "COMMAND", conflicts_with = "output")]
    command: Vec<String>,
    /// Write a page for each command into this folder, which is made if it is not there
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// Runs `deniable completions`.
pub(crate) fn completions(arguments: &CompletionsArguments, mut all: Command) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut all, "deniable", &mut script);
    terminal::print_bytes(&script)
}

/// Runs `deniable man`.
pub(crate) fn man(arguments: &ManArguments, mut all: Command) -> Result<(), CliError> {
    // Now every command knows its whole name.
    all.build();
    if let Some(folder) = &arguments.output {
        if let Err(error) = std::fs::create_dir_all(folder) {
            return fail(
                format!("the folder {} cannot be made: {}", folder.display(), error.kind()),
                "name another with --output",
            );
        }
        return write_all(&all, folder);
    }
    let mut command = &all;
    for name in &arguments.command {
        command = match command.find_subcommand(name) {
            Some(command) => command,
            None => {
                return fail(
                    format!("`{}` has no command `{name}`", whole_name(command)),
                    "`deniable --help` lists the commands",
                );
            }
        };
    }
    terminal::print_bytes(&page(command)?)
}

/// `deniable train lm`.
fn whole_name(command: &Command) -> String {
    command.get_bin_name().unwrap_or(command.get_name()).to_owned()
}

/// The page of one command.
fn page(command: &Command) -> Result<Vec<u8>, CliError> {
    // A page is called as its file is, and its synopsis as it is typed.
    let name = whole_name(command).replace(' ', "-");
    let manual = clap_mangen::Man::new(command.clone().disable_help_subcommand(true))
        .title(name.to_uppercase())
        .source(concat!("deniable ", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    let rendered = manual
        .render_title(&mut text)
        .and_then(|()| manual.render_name_section(&mut text))
        .and_then(|()| manual.render_synopsis_section(&mut text))
        .and_then(|()| manual.render_description_section(&mut text))
        .and_then(|()| manual.render_options_section(&mut text));
    let rendered = match command.has_subcommands() {
        true => rendered.and_then(|()| manual.render_subcommands_section(&mut text)),
        false => rendered,
    };
    if rendered.is_err() {
        return fail("the page could not be made", "there may be too little memory");
    }
    if let Some(notes) = command.get_after_help() {
        text.extend(as_written(&notes.to_string()).into_bytes());
    }
    Ok(text)
}

/// A section whose lines stay as they are: examples are laid out in columns.
fn as_written(notes: &str) -> String {
    let mut section = String::from(".SH \"EXAMPLES AND NOTES\"\n.nf\n");
    for line in notes.lines() {
        // A line that begins with a dot or an apostrophe would be a command of the typesetter.
        if line.starts_with(['.', '\'']) {
            section.push_str("\\&");
        }
        section.push_str(&line.replace('\\', "\\e").replace('-', "\\-"));
        section.push('\n');
    }
    section + ".fi\n"
}

/// A page for this command and for each below it.
fn write_all(command: &Command, folder: &Path) -> Result<(), CliError> {
    let file = folder.join(format!("{}.1", whole_name(command).replace(' ', "-")));
    terminal::write_file_atomically(&file, &page(command)?)?;
    let below = command.get_subcommands();
    below
        .filter(|command| command.get_name() != "help" && !command.is_hide_set())
        .try_for_each(|command| write_all(command, folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn all() -> Command {
        let mut all = crate::Arguments::command();
        all.build();
        all
    }

    #[test]
    fn every_shell_is_reported_every_command() {
        for shell in [
            Shell::Bash,
            Shell::Zsh,
            Shell::Fish,
            Shell::PowerShell,
            Shell::Elvish,
        ] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut crate::Arguments::command(), "deniable", &mut script);
            let script = String::from_utf8(script).unwrap();
            for command in crate::Arguments::command().get_subcommands() {
                assert!(
                    script.contains(command.get_name()),
                    "{shell}: {}",
                    command.get_name()
                );
            }
            assert!(
                script.contains("noise-multiplier"),
                "{shell}: options of commands below commands"
            );
        }
    }

    #[test]
    fn pages_have_options_and_examples() {
        let all = all();
        let train = all.find_subcommand("train").unwrap();
        let page = String::from_utf8(page(train.find_subcommand("classifier").unwrap()).unwrap()).unwrap();
        for word in [
            ".TH DENIABLE-TRAIN-CLASSIFIER 1",
            "deniable train classifier",
            "target\\-epsilon",
            ".nf\nExamples:\n  deniable train classifier \\-\\-table people",
        ] {
            assert!(page.contains(word), "{word}: {page}");
        }
    }

    #[test]
    fn a_folder_gets_a_page_for_each_command() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("share/man1");
        let arguments = ManArguments {
            command: Vec::new(),
            output: Some(folder.clone()),
        };
        man(&arguments, crate::Arguments::command()).unwrap();
        let mut names: Vec<String> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        for name in ["deniable.1", "deniable-query.1", "deniable-train-classifier.1"] {
            assert!(names.iter().any(|other| other == name), "{name}: {names:?}");
        }
        assert!(!names.iter().any(|name| name.contains("help")), "{names:?}");
        // What a page names is there to be read.
        let page = std::fs::read_to_string(folder.join("deniable-train.1")).unwrap();
        assert!(
            page.contains("deniable\\-train\\-lm") || page.contains("deniable-train-lm"),
            "{page}"
        );
        let unknown = ManArguments {
            command: vec!["train".to_owned(), "nothing".to_owned()],
            output: None,
        };
        let error = man(&unknown, crate::Arguments::command()).unwrap_err();
        assert!(
            error
                .message
                .contains("`deniable train` has no command `nothing`"),
            "{error:?}"
        );
    }
}
