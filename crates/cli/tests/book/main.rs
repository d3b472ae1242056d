//! Runs every console block of README and of the book: it must print what the page says it prints.
//!
//! A page is one session. Its blocks run one after the other in a folder of their own, under a home of their
//! own, as the analyst `ann`. The session begins with the sample data as it is after the first command, which
//! is made once for all pages. Lines that begin with `$ ` are commands of a shell, which go on in lines that
//! begin with `> `. The lines after them are what they print, on standard output and standard error together.
//! Numbers, keys and tokens may differ, and `…` alone on a line stands for any lines. A command that ends
//! with `&` stays until the page ends.
//!
//! `DENIABLE_UPDATE_BOOK=1 cargo nextest run -p deniable-cli --test book` writes what differs into the pages.
//! It replaces lines of `…` too: look at the changes.

mod masked;
mod session;

use session::{Sample, Session};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A command, and what it prints.
struct Step {
    command: String,
    printed: Vec<String>,
}

/// A page in pieces: text, which is kept as it is, and console blocks.
enum Piece {
    Text(String),
    Console(Vec<Step>),
}

fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = vec![Piece::Text(String::new())];
    for line in text.lines() {
        let in_block = matches!(pieces.last(), Some(Piece::Console(_)));
        if in_block && line == "```" {
            pieces.push(Piece::Text("```\n".to_owned()));
        } else if let (true, Some(Piece::Console(steps))) = (in_block, pieces.last_mut()) {
            match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push(Step {
                    command: command.to_owned(),
                    printed: Vec::new(),
                }),
                (None, Some(step)) if step.printed.is_empty() && line.starts_with("> ") => {
                    step.command += "\n";
                    step.command += line.strip_prefix("> ").unwrap_or(line);
                }
                (None, Some(step)) => step.printed.push(line.to_owned()),
                (None, None) => panic!("a console block begins with `$ `, and not with {line:?}"),
            }
        } else {
            if let Some(Piece::Text(kept)) = pieces.last_mut() {
                kept.push_str(line);
                kept.push('\n');
            }
            if line == "```console" {
                pieces.push(Piece::Console(Vec::new()));
            }
        }
    }
    pieces
}

fn text_of(pieces: &[Piece]) -> String {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(kept) => text += kept,
            Piece::Console(steps) => {
                for step in steps {
                    text += &format!("$ {}\n", step.command.replace('\n', "\n> "));
                    for line in &step.printed {
                        text += line;
                        text += "\n";
                    }
                }
            }
        }
    }
    text
}

/// Runs a page and says what it prints otherwise than it says.
fn page(path: &str, sample: &Sample) -> Vec<String> {
    let file = root().join(path);
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut pieces = pieces(&text);
    assert_eq!(text_of(&pieces), text, "{path} is read and written as it is");
    let updating = std::env::var_os("DENIABLE_UPDATE_BOOK").is_some();
    let mut session = Session::new(sample);
    let mut wrong = Vec::new();
    for step in pieces.iter_mut().flat_map(|piece| match piece {
        Piece::Console(steps) => steps.as_mut_slice(),
        Piece::Text(_) => &mut [],
    }) {
        let printed = session.run(&step.command, &step.printed);
        if masked::matches(&step.printed, &printed) {
            continue;
        }
        if updating {
            step.printed = printed;
        } else {
            wrong.push(format!(
                "{path}: `{}` prints something else than the page says\n--- the page\n{}\n--- printed\n{}\n",
                step.command,
                step.printed.join("\n"),
                printed.join("\n")
            ));
        }
    }
    if updating {
        std::fs::write(file, text_of(&pieces)).unwrap();
    }
    wrong
}

/// README and the pages of the book that have a console block.
fn pages() -> Vec<String> {
    let mut found = vec![root().join("README.md")];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    let has_block = |path: &PathBuf| std::fs::read_to_string(path).unwrap().contains("\n```console\n");
    let mut pages: Vec<String> = found
        .iter()
        .filter(|path| has_block(path))
        .map(|path| {
            path.strip_prefix(root())
                .unwrap()
                .to_string_lossy()
                .replace('\\', "/")
        })
        .collect();
    pages.sort();
    pages
}

#[test]
fn every_console_block_prints_what_its_page_says() {
    let pages = pages();
    let some = [
        "README.md",
        "docs/account.md",
        "docs/ask.md",
        "docs/curate.md",
        "docs/start.md",
    ];
    assert!(
        some.iter().all(|page| pages.iter().any(|found| found == page)),
        "{pages:?}"
    );
    let sample = Sample::new();
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let running: Vec<_> = pages
            .iter()
            .map(|path| scope.spawn(|| page(path, &sample)))
            .collect();
        running
            .into_iter()
            .flat_map(|page| page.join().unwrap())
            .collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_page_is_read_in_pieces() {
    let text = "# Title\n\n```console\n$ one \\\n>   two\nprinted\n$ three\n```\n\n```sh\n$ four\n```\n";
    let pieces = pieces(text);
    assert_eq!(text_of(&pieces), text);
    let steps: Vec<(&str, usize)> = pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Console(steps) => Some(steps),
            Piece::Text(_) => None,
        })
        .flatten()
        .map(|step| (step.command.as_str(), step.printed.len()))
        .collect();
    assert_eq!(steps, [("one \\\n  two", 1), ("three", 0)]);
}
