//! ε against the number of releases, one curve an accountant.

use crate::terminal::{self, CliError, Progress, fail};
use accounting::plan::ReleasePlan;
use accounting::{Accountant, Delta, Event, PrivacyUnit};
use report::{Figure, Scale, counts};
use std::path::Path;

/// A single release is drawn as if it were repeated so often.
const REPEATED: u64 = 100;

/// The curves that are drawn, and what they are called. Gaussian DP is the certified one wherever it applies.
const DRAWN: [(Accountant, &str); 6] = [
    (Accountant::Basic, "basic"),
    (Accountant::Advanced, "advanced"),
    (Accountant::Optimal, "optimal"),
    (Accountant::Concentrated, "zCDP"),
    (Accountant::Renyi, "Rényi"),
    (Accountant::Numerical, "certified"),
];

/// What is drawn, but for the events themselves.
pub(super) struct Drawing<'asked> {
    pub(super) title: String,
    /// What the horizontal axis counts.
    pub(super) counted: &'static str,
    /// How far it counts.
    pub(super) most: u64,
    pub(super) unit: &'asked PrivacyUnit,
    pub(super) delta: &'asked Delta,
    /// Whether to show no progress.
    pub(super) quiet: bool,
}

/// The figure of a plan: its first 1, 2, … releases in the order of their description.
pub(super) fn of_releases(
    plan: &ReleasePlan,
    unit: &PrivacyUnit,
    delta: &Delta,
    quiet: bool,
) -> Result<Figure, CliError> {
    let all = plan.releases();
    let drawing = Drawing {
        title: format!("{}, δ = {delta}", plan.words()),
        counted: if all == 1 { "times repeated" } else { "releases" },
        most: if all == 1 { REPEATED } else { all },
        unit,
        delta,
        quiet,
    };
    drawing.draw(|count| {
        if all == 1 {
            plan.repeated(count)
        } else {
            plan.first(count)
        }
    })
}

impl Drawing<'_> {
    /// ε at each of about 40 counts, evenly in their logarithm, by every accountant that has an answer.
    pub(super) fn draw(&self, event: impl Fn(u64) -> Event) -> Result<Figure, CliError> {
        let counts = counts(self.most);
        let progress = Progress::new("drawing", (counts.len() * DRAWN.len()) as u64, self.quiet);
        let mut figure = Figure::new(self.title.clone())
            .x_axis(self.counted, Scale::Log10)
            .y_axis("ε", Scale::Log10);
        let mut drawn = 0;
        for (accountant, name) in DRAWN {
            progress.label(name);
            let curve: Vec<(f64, f64)> = counts
                .iter()
                .map(|count| {
                    // What has no answer is left out, and breaks the line.
                    let epsilon = accountant
                        .epsilon(&event(*count), self.unit, self.delta)
                        .map_or(f64::NAN, |epsilon| epsilon.to_f64_up());
                    progress.advance(1);
                    (*count as f64, epsilon)
                })
                .collect();
            if curve.iter().any(|(_, epsilon)| *epsilon > 0.0) {
                figure = figure.line(name, &curve);
                drawn += 1;
            }
        }
        if drawn == 0 {
            return fail(
                "no accountant has an ε above 0 to draw",
                "leave out --plot: the table says why",
            );
        }
        Ok(figure)
    }
}

/// Refuses a path where no figure can be written, before anything is computed for it.
pub(crate) fn check(path: Option<&Path>) -> Result<(), CliError> {
    let Some(path) = path else { return Ok(()) };
    if !path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("svg"))
    {
        return fail("--plot writes SVG", "let the name end in .svg");
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return fail(
            "the folder of --plot does not exist",
            "make it first, or name another",
        );
    }
    Ok(())
}

/// Writes the figure whole or not at all, and says so.
pub(crate) fn save(path: &Path, figure: &Figure) -> Result<(), CliError> {
    terminal::write_file_atomically(path, figure.to_svg().as_bytes())?;
    eprintln!("wrote {}", path.display());
    Ok(())
}
