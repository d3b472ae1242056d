//! `cargo xtask claims`: each mechanism has its claim, proof, source and audit beside its code, each sampler its
//! proof of exactness, and the tests they name exist and run.

use crate::doc_section::{Section, backticked_names};
use crate::finding::{Finding, Outcome, outcome};
use crate::source::{self, Source, Survey, Type};
use std::collections::BTreeSet;
use std::path::Path;

/// Where the mechanisms and their audits live.
const MECHANISM_CRATE: &str = "crates/mechanism";
/// Where the samplers and their tests live.
const NOISE_CRATE: &str = "crates/noise";

/// The samplers that everything else is built from: none may lose its proof by being renamed.
const REQUIRED_SAMPLERS: [&str; 9] = [
    "Inversion",
    "Bernoulli",
    "Geometric",
    "DiscreteLaplace",
    "DiscreteGaussian",
    "RoundedGaussian",
    "PlacedGaussian",
    "UniformInteger",
    "ExponentialWeights",
];

/// What a section of a doc comment owes.
struct Rule {
    section: &'static str,
    /// The lines it must have; the last names the tests.
    labels: &'static [&'static str],
    /// What the last field must state, and why.
    phrases: &'static [(&'static str, &'static str)],
    example: &'static str,
}

const PRIVACY: Rule = Rule {
    section: "Privacy",
    labels: &["Claim:", "Proof:", "Source:", "Audited by:"],
    phrases: &[
        (
            "false alarm",
            "how often the audit is wrong about a right mechanism",
        ),
        ("rejects", "which wrong mechanism the audit catches"),
    ],
    example: "Audited by: `audit_laplace` (false alarm 1e-9, rejects 1.05 ε).",
};

const EXACTNESS: Rule = Rule {
    section: "Exactness",
    labels: &["Proof:", "Tested by:"],
    phrases: &[],
    example: "Tested by: `enumerates_short_tapes`, `matches_its_law`.",
};

/// Reads the two crates at `root` and checks them.
pub(crate) fn run(root: &Path) -> Outcome {
    let read = |folder: &str| {
        source::read_folder(root, folder)
            .map_err(|error| Finding::new(folder, error.to_string(), "every source file must be readable"))
    };
    check(&read(MECHANISM_CRATE)?, &read(NOISE_CRATE)?)
}

fn check(mechanism_sources: &[Source], noise_sources: &[Source]) -> Outcome {
    let mut findings = Vec::new();
    let mechanisms = check_mechanisms(source::survey(mechanism_sources), &mut findings);
    let samplers = check_samplers(source::survey(noise_sources), &mut findings);
    outcome(findings, || {
        format!(
            "claims: {mechanisms} mechanisms, {samplers} samplers, all with claim, proof, source and audit"
        )
    })
}

/// Checks every type that implements `Mechanism` or carries `# Privacy`; returns how many implement it.
fn check_mechanisms(mut survey: Survey, findings: &mut Vec<Finding>) -> usize {
    findings.append(&mut survey.unreadable);
    let mut mechanisms = BTreeSet::new();
    for implementation in &survey.mechanisms {
        let place = format!("{}:{}", implementation.file, implementation.line);
        let Some(name) = &implementation.name else {
            let hint = "write `impl Mechanism for` a named struct: its doc comment carries the claim";
            findings.push(Finding::new(
                place,
                "`Mechanism` is implemented for no type with a name",
                hint,
            ));
            continue;
        };
        // A type of the same file wins over a namesake elsewhere.
        let namesakes = || survey.types.iter().filter(|known| known.name == *name);
        let here = namesakes().find(|known| known.file == implementation.file);
        let Some(mechanism) = here.or_else(|| namesakes().next()) else {
            let what = format!(
                "`{name}` implements `Mechanism`, but no `struct {name}` is in {MECHANISM_CRATE}/src"
            );
            findings.push(Finding::new(
                place,
                what,
                "define the struct beside its `impl Mechanism`",
            ));
            continue;
        };
        mechanisms.insert((mechanism.file.clone(), mechanism.name.clone()));
        if Section::find(&mechanism.doc, PRIVACY.section).is_none() {
            findings.push(missing_section(mechanism, &PRIVACY));
        }
    }
    for documented in &survey.types {
        check_section(documented, &PRIVACY, &survey, findings);
    }
    if survey.mechanisms.is_empty() {
        let what = "no `impl Mechanism for` was found";
        let hint =
            "a check that looks at nothing passes always: did the crate move, or the trait's name change?";
        findings.push(Finding::new(format!("{MECHANISM_CRATE}/src"), what, hint));
    }
    mechanisms.len()
}

/// Checks every type that carries `# Exactness`, and that the required ones do; returns how many there are.
fn check_samplers(mut survey: Survey, findings: &mut Vec<Finding>) -> usize {
    findings.append(&mut survey.unreadable);
    for required in REQUIRED_SAMPLERS {
        let found = survey
            .types
            .iter()
            .find(|known| known.name == required && known.public);
        match found {
            None => {
                let what = format!("the sampler `pub struct {required}` is missing");
                let hint = "if it was renamed, rename it in REQUIRED_SAMPLERS in xtask/src/claims.rs too";
                findings.push(Finding::new(format!("{NOISE_CRATE}/src"), what, hint));
            }
            Some(sampler) if Section::find(&sampler.doc, EXACTNESS.section).is_none() => {
                findings.push(missing_section(sampler, &EXACTNESS));
            }
            Some(_) => {}
        }
    }
    survey
        .types
        .iter()
        .filter(|known| check_section(known, &EXACTNESS, &survey, findings))
        .count()
}

fn missing_section(documented: &Type, rule: &Rule) -> Finding {
    let Rule { section, labels, .. } = rule;
    let what = format!(
        "`{}` has no `# {section}` section in its doc comment",
        documented.name
    );
    let labels = labels.join(" … ");
    Finding::new(
        documented.place(),
        what,
        format!("add `/// # {section}` with the lines {labels} …"),
    )
}

/// Checks the section that `rule` is about; returns whether the type has it.
fn check_section(documented: &Type, rule: &Rule, survey: &Survey, findings: &mut Vec<Finding>) -> bool {
    let Some(section) = Section::find(&documented.doc, rule.section) else {
        return false;
    };
    let name = &documented.name;
    let mut report = |what: String, hint: String| findings.push(Finding::new(documented.place(), what, hint));

    for label in rule.labels {
        let field = section.field(label, rule.labels);
        let says_something = field
            .as_deref()
            .is_some_and(|text| text.contains(char::is_alphanumeric) && !text.contains("TODO"));
        if !says_something {
            let missing = if field.is_some() {
                "says nothing after"
            } else {
                "has no line starting"
            };
            let what = format!("the `# {}` section of `{name}` {missing} `{label}`", rule.section);
            report(
                what,
                format!("write `/// {label} …` on a line of its own in that section"),
            );
        }
    }
    let Some(label) = rule.labels.last() else {
        return true;
    };
    // Its absence was reported above.
    let Some(tests) = section
        .field(label, rule.labels)
        .filter(|field| !field.is_empty())
    else {
        return true;
    };
    let names = backticked_names(&tests);
    if names.is_empty() {
        report(
            format!("`{label}` of `{name}` names no test in backticks"),
            format!("as in `{}`", rule.example),
        );
    }
    for test in names {
        match survey.tests.get(test) {
            Some(true) => {}
            Some(false) => report(
                format!("`{name}` relies on the test `{test}`, which is #[ignore]d"),
                "let it run by default, or name a test that does".to_owned(),
            ),
            None => report(
                format!("`{name}` relies on the test `{test}`, and no `#[test] fn {test}` exists"),
                format!("write it in the same crate; after `{label}` only test names stand in backticks"),
            ),
        }
    }
    let stated = tests.to_lowercase().replace("false-alarm", "false alarm");
    for (phrase, why) in rule.phrases {
        if !stated.contains(phrase) {
            let what = format!("`{label}` of `{name}` does not say `{phrase}`");
            report(what, format!("state {why}, as in `{}`", rule.example));
        }
    }
    true
}

#[cfg(test)]
mod tests;
