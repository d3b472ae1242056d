//! Where sorted keys are divided into cells.

/// Where to cut keys: around each key that repeats often (or around every key, if they are few), and at
/// quantiles of the rest.
pub(super) fn cut_keys(
    mut keys: Vec<i64>,
    most_atoms: usize,
    rarest_atom: usize,
    parts: usize,
    tails: bool,
) -> Vec<i64> {
    keys.sort_unstable();
    let all = keys.len();
    let mut runs: Vec<(i64, usize)> = Vec::new();
    for key in &keys {
        match runs.last_mut() {
            Some((last, count)) if last == key => *count += 1,
            _ => runs.push((*key, 1)),
        }
    }
    let few = runs.len() <= most_atoms && runs.len() * 8 <= all;
    let is_atom = |count: usize| few || count * rarest_atom > all;
    let mut cuts = Vec::new();
    let mut rest = Vec::new();
    for (key, count) in runs {
        if is_atom(count) {
            cuts.extend([key, key.saturating_add(1)]);
        } else {
            rest.extend(std::iter::repeat_n(key, count));
        }
    }
    cuts.extend(ranks(rest.len(), parts, tails).map(|rank| rest[rank]));
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

/// Ranks to cut a sorted sample at: this many equal parts, and ever finer ones towards both ends if asked.
pub(super) fn ranks(length: usize, parts: usize, tails: bool) -> impl Iterator<Item = usize> {
    let even = (1..parts).map(move |part| length * part / parts);
    let fine = (0..if tails { 8 * 24 } else { 0 }).flat_map(move |step| {
        // Eight steps an octave, from 4 draws at the end.
        let rank = (4.0 * (f64::from(step) / 8.0).exp2()) as usize;
        [rank, length.saturating_sub(rank)]
    });
    let mut ranks: Vec<usize> = even
        .chain(fine)
        .filter(|rank| *rank > 0 && *rank < length)
        .collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks.into_iter()
}
