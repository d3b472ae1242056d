//! How to divide outputs into cells: recipes that make a partition from rows.

use super::additive::Additive;
use super::cells::Partition;
use super::view::{Lens, View};

/// A view, or a score that is learned from several.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Recipe {
    Keys(View),
    Score(&'static str, Vec<View>),
}

impl Recipe {
    /// Everything worth trying on rows like these, what is simplest last.
    pub(super) fn all(rows: &[Vec<f64>], lens: Lens) -> Vec<Self> {
        let views = View::of(rows, lens);
        let of = |wanted: fn(&View) -> bool| views.iter().copied().filter(wanted).collect::<Vec<_>>();
        let scores = [
            ("all values", of(|view| matches!(view, View::Value(_)))),
            (
                "all differences",
                of(|view| matches!(view, View::Value(0) | View::Difference(_))),
            ),
            ("all lowest bits", of(|view| matches!(view, View::LowestBit(_)))),
        ];
        let several = scores.into_iter().filter(|(_, views)| views.len() > 1);
        several
            .map(|(name, views)| Self::Score(name, views))
            .chain(views.iter().copied().map(Self::Keys))
            .collect()
    }

    /// The cells that these rows suggest.
    pub(super) fn partition(&self, rows: &[Vec<f64>], first: &[bool]) -> Partition {
        match self {
            Self::Keys(view) => Partition::of_keys(*view, rows.iter().map(|row| view.key(row)).collect()),
            Self::Score(name, views) => {
                let model = Additive::fit(views.clone(), name, rows, first);
                let scores = rows.iter().map(|row| model.score(row)).collect();
                Partition::of_score(model, scores)
            }
        }
    }
}
