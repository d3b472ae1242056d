//! What several seeds found, in words and a figure.

use super::super::{Across, Spread};
use ::report::{Column, Figure, Scale, Table, percent, significant};

/// `3 (1 to 40)`.
pub(super) fn spread(spread: &Spread, digits: usize) -> String {
    let [median, least, most] =
        [spread.median, spread.least, spread.most].map(|value| significant(value, digits));
    format!("{median} ({least} to {most})")
}

/// The same for what is counted: up to 10,000, so no digit is rounded away.
pub(super) fn counted(spread: &Spread) -> String {
    format!("{} ({} to {})", spread.median, spread.least, spread.most)
}

/// How much of other people's PINs is remembered, by how often they were in the text. `None` without any.
pub(super) fn figure(across: &[Across]) -> Option<Figure> {
    let planted = |model: &Across| -> Vec<(f64, f64)> {
        let planted = model.others.iter().filter(|others| others.copies > 0);
        planted
            .map(|others| (others.copies as f64, others.mean_exposure.median))
            .collect()
    };
    let models = across.iter().map(|model| (model, planted(model)));
    let mut models = models.filter(|(_, points)| !points.is_empty()).peekable();
    models.peek()?;
    let figure = Figure::new("Other people's PINs: what is remembered of them")
        .x_axis("copies in the text", Scale::Log10)
        .y_axis("mean exposure, bits", Scale::Linear)
        .horizontal("never in the text", std::f64::consts::LOG2_E);
    Some(models.fold(figure, |figure, (model, points)| {
        figure.line(&model.name, &points)
    }))
}

/// Medians and ranges, and how much they rest on.
pub(super) fn text(across: &[Across], runs: usize) -> String {
    if runs < 2 {
        return "All of this rests on one seed, and a rank of one seed may be chance: --seeds 5 repeats it.\n".to_owned();
    }
    let mut models = Table::new([
        Column::Left("median (range) over seeds"),
        Column::Right("seeds"),
        Column::Right("PIN's rank"),
        Column::Right("its exposure, bits"),
        Column::Right("perplexity"),
    ]);
    let mut secrets = Table::new([
        Column::Left("other people's PINs"),
        Column::Right("seeds"),
        Column::Right("copies"),
        Column::Right("mean exposure, bits"),
        Column::Right("rank first"),
    ]);
    for model in across {
        models.row([
            model.name.clone(),
            model.seeds.to_string(),
            counted(&model.rank),
            spread(&model.exposure, 3),
            spread(&model.perplexity, 4),
        ]);
        for others in &model.others {
            secrets.row([
                model.name.clone(),
                model.seeds.to_string(),
                others.copies.to_string(),
                spread(&others.mean_exposure, 3),
                percent(others.first),
            ]);
        }
    }
    format!(
        "All {runs} seeds together. A claim about a model rests on as many seeds as its row says.\n\n{models}\n{secrets}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_are_written_for_people() {
        let three = Spread {
            median: 3.5,
            least: 1.0,
            most: 9.0,
        };
        assert_eq!(counted(&three), "3.5 (1 to 9)");
        assert_eq!(spread(&three, 3), "3.50 (1.00 to 9.00)");
    }

    #[test]
    fn a_row_says_how_many_seeds_it_rests_on() {
        let rank = Spread {
            median: 2.0,
            least: 1.0,
            most: 3.0,
        };
        let model = Across {
            name: "ordinary".to_owned(),
            seeds: 3,
            rank,
            exposure: rank,
            perplexity: rank,
            others: Vec::new(),
        };
        let text_of_three = text(&[model], 3);
        assert!(
            text_of_three.contains("All 3 seeds together") && text_of_three.contains("2 (1 to 3)"),
            "{text_of_three}"
        );
        assert!(text(&[], 1).contains("one seed"));
    }
}
