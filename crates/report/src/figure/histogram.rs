//! Counting values into bars.

use super::axis::plottable;

/// Counts `values` into `bins` bars `(x0, x1, count)` of equal width, for
/// [`Figure::bars`](super::Figure::bars).
///
/// Values that cannot be drawn are not counted. The bars span exactly the values; when all are equal there is
/// one bar around them, and when there are none there is no bar.
/// ```
/// use report::histogram;
///
/// let bars = histogram(&[0.0, 1.0, 1.5, 4.0, f64::NAN], 2);
/// assert_eq!(bars, [(0.0, 2.0, 3.0), (2.0, 4.0, 1.0)]);
/// ```
pub fn histogram(values: &[f64], bins: usize) -> Vec<(f64, f64, f64)> {
    let values: Vec<f64> = values.iter().copied().filter_map(plottable).collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if values.is_empty() {
        return Vec::new();
    }
    if low == high {
        let reach = if low == 0.0 { 0.5 } else { low.abs() * 0.05 };
        return vec![(low - reach, high + reach, values.len() as f64)];
    }

    let bins = bins.max(1);
    let edge = |index: usize| {
        if index == bins {
            high
        } else {
            low + (high - low) * (index as f64 / bins as f64)
        }
    };
    let edges: Vec<f64> = (0..=bins).map(edge).collect();
    let mut counts = vec![0_u64; bins];
    for value in values {
        // Compared with the very edges that are drawn, so a bar holds what it seems to hold. The last bin is
        // closed.
        let above = edges.partition_point(|edge| *edge <= value);
        counts[(above - 1).min(bins - 1)] += 1;
    }
    edges
        .windows(2)
        .zip(counts)
        .map(|(pair, count)| (pair[0], pair[1], count as f64))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::histogram;

    #[test]
    fn every_value_is_counted_once_and_the_last_bin_is_closed() {
        let bars = histogram(&[0.0, 0.5, 1.0, 1.0, 2.0, 4.0], 4);
        assert_eq!(
            bars,
            [(0.0, 1.0, 2.0), (1.0, 2.0, 2.0), (2.0, 3.0, 1.0), (3.0, 4.0, 1.0)]
        );
    }

    #[test]
    fn what_cannot_be_drawn_is_not_counted() {
        let bars = histogram(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.0, 3.0], 2);
        assert_eq!(bars, [(1.0, 2.0, 1.0), (2.0, 3.0, 1.0)]);
    }

    #[test]
    fn degenerate_data_has_a_shape() {
        assert!(histogram(&[], 10).is_empty());
        assert!(histogram(&[f64::NAN], 10).is_empty());
        assert_eq!(histogram(&[0.0; 3], 10), [(-0.5, 0.5, 3.0)]);
        let around = histogram(&[-40.0; 7], 10);
        assert_eq!(around, [(-42.0, -38.0, 7.0)]);
        assert_eq!(histogram(&[1.0, 2.0], 0), [(1.0, 2.0, 2.0)]);
    }
}
