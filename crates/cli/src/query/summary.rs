//! What an answer cost, what is left, and what its intervals leave out, in words.

use sql::{Answer, AnswerColumn, Answered, CellValue, ColumnBounds, IntervalOf, bounds_in_words, readable};

/// Lines for standard error.
pub(crate) fn text(answered: &Answered, analyst: &str) -> String {
    let answer = &answered.answer;
    let Some(cost) = &answer.cost else {
        let notes = answer.notes.iter().map(|note| format!("note: {note}\n"));
        return "free: all of it is public\n".to_owned() + &notes.collect::<String>();
    };
    let guarantee = readable(&cost.guarantee);
    let mut text = if answered.repeated {
        format!(
            "free: this was answered before, for {guarantee} (charge {}); nothing was charged now\n",
            cost.charge
        )
    } else if answered.resumed {
        format!(
            "cost: {guarantee}, charged before (charge {}): this finishes the run that was interrupted, and nothing was charged now\n",
            cost.charge
        )
    } else {
        format!(
            "cost: {guarantee} (charge {}); the same question again is free\n",
            cost.charge
        )
    };
    let left = &answered.left;
    text += &match &left.share {
        Some(share) if *share < left.dataset => format!(
            "left: ε = {} (if spent in one more query by {analyst}, whose share it is; everybody together has ε = {})\n",
            left.epsilon, left.dataset
        ),
        _ => format!("left: ε = {} (if spent in one more query)\n", left.epsilon),
    };
    text += &interval(answer);
    text += &bounds_in_words(&answer.bounds);
    for cut in &answer.cut {
        text += &format!("cut: {}\n", cut.words);
    }
    for column in answer.columns.iter().filter(|column| !column.is_label()) {
        if let Some(why) = &column.no_interval {
            text += &format!(
                "no ±: {} is noisy, and has no interval because {why}\n",
                column.name
            );
        }
    }
    let chosen: Vec<&str> = answer
        .columns
        .iter()
        .filter(|column| column.chosen)
        .map(|column| column.name.as_str())
        .collect();
    if !chosen.is_empty() {
        text += &format!(
            "chosen: noise decided which rows are here, and so which values of {}\n",
            chosen.join(", ")
        );
    }
    for note in &answer.notes {
        text += &format!("note: {note}\n");
    }
    text
}

/// What the intervals hold.
fn interval(answer: &Answer) -> String {
    if !answer.columns.iter().any(AnswerColumn::has_intervals) {
        return String::new();
    }
    let percent = (answer.confidence * 1000.0).round() / 10.0;
    let kind = |reported: &ColumnBounds| {
        let what = match reported.interval_of {
            IntervalOf::WholeData => "the truth",
            IntervalOf::AllRows => "the truth of all rows, with values clamped",
            IntervalOf::BoundedData => "the truth of the bounded data",
        };
        let alike = if reported.interval_if_alike {
            ", and groups lose about the same part"
        } else {
            ""
        };
        match reported.interval_within_times {
            Some(4) => format!(
                "{what}, assuming no {} exceeds the limits more than fourfold{alike}",
                reported.unit
            ),
            Some(times) => format!(
                "{what}, assuming no {} exceeds the limits more than {times} times over{alike}",
                reported.unit
            ),
            None => what.to_owned(),
        }
    };
    // The most that is promised comes first.
    let has_interval = |name: &str| {
        let mut named = answer.columns.iter().filter(|column| column.name == name);
        named.any(AnswerColumn::has_intervals)
    };
    let (mut sorted, without): (Vec<&ColumnBounds>, Vec<&ColumnBounds>) =
        (answer.bounds.iter()).partition(|reported| has_interval(&reported.column));
    sorted.sort_by_key(|reported| match reported.interval_of {
        IntervalOf::WholeData => 0,
        IntervalOf::AllRows => 1,
        IntervalOf::BoundedData => 2,
    });
    let mut reported: Vec<(Vec<&str>, String)> = Vec::new();
    for column in sorted {
        let what = kind(column);
        match reported.iter_mut().find(|(_, other)| *other == what) {
            Some((columns, _)) => columns.push(&column.column),
            None => reported.push((vec![&column.column], what)),
        }
    }
    let what = match reported.as_slice() {
        [] => "the truth of the bounded data".to_owned(),
        [(_, what)] if without.is_empty() => what.clone(),
        several => {
            let parts = several
                .iter()
                .map(|(columns, what)| format!("{what} ({})", columns.join(", ")));
            parts.collect::<Vec<_>>().join("; or ")
        }
    };
    let mut text = format!("±: with {percent} % confidence each interval holds {what}\n");
    if !without.is_empty() {
        let names: Vec<&str> = without.iter().map(|reported| reported.column.as_str()).collect();
        text += &format!("no interval: {}\n", names.join(", "));
    }
    let untold = untold(answer);
    if !untold.is_empty() {
        text += &format!(
            "∅: too few rows to tell at this ε ({}); ask for fewer groups, or spend more\n",
            untold.join(", ")
        );
    }
    text
}

/// Columns in which a value is missing though its range is known.
fn untold(answer: &Answer) -> Vec<&str> {
    let columns = answer.columns.iter().enumerate();
    let untold = columns.filter(|(place, column)| {
        column.has_intervals()
            && answer.rows.iter().any(|row| {
                let cell = &row[*place];
                cell.value == CellValue::Null && cell.low.is_some() && cell.high.is_some()
            })
    });
    untold.map(|(_, column)| column.name.as_str()).collect()
}
