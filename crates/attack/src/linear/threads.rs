//! Work on the rows of a matrix, shared among the processors. Each row is computed by one of them, so results
//! do not depend on how many there are.

/// How the work is spread over the rows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Share {
    /// Every row takes equally long.
    Even,
    /// Row i takes as long as it has entries up to the diagonal.
    Triangle,
}

/// Below this many steps of work, starting a thread takes longer than it saves.
const WORTH_A_THREAD: u64 = 200_000;

/// Cuts `data` into runs of whole rows and gives each to `task` on a thread of its own, with the number of
/// its first row.
pub(super) fn by_rows(
    data: &mut [f64],
    width: usize,
    share: Share,
    work: u64,
    task: impl Fn(usize, &mut [f64]) + Sync,
) {
    let rows = data.len() / width.max(1);
    let threads = if work < WORTH_A_THREAD {
        1
    } else {
        std::thread::available_parallelism()
            .map_or(1, usize::from)
            .min(rows)
    };
    if threads <= 1 {
        return task(0, data);
    }
    let end = |part: usize| -> usize {
        let fraction = part as f64 / threads as f64;
        let cut = match share {
            Share::Even => fraction,
            // The first √f of the rows of a triangle hold f of its entries.
            Share::Triangle => fraction.sqrt(),
        };
        if part == threads {
            rows
        } else {
            (cut * rows as f64) as usize
        }
    };
    std::thread::scope(|scope| {
        let (mut left, mut first) = (data, 0);
        for part in 1..=threads {
            let (mine, rest) = std::mem::take(&mut left).split_at_mut((end(part) - first) * width);
            let (task, start) = (&task, first);
            if part == threads {
                // The last part runs here.
                task(start, mine);
            } else {
                scope.spawn(move || task(start, mine));
            }
            (left, first) = (rest, end(part));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_worked_on_once() {
        for share in [Share::Even, Share::Triangle] {
            for (rows, work) in [(1, 0), (7, u64::MAX), (100, u64::MAX)] {
                let mut data = vec![0.0; rows * 3];
                by_rows(&mut data, 3, share, work, |first, part| {
                    for (offset, row) in part.chunks_exact_mut(3).enumerate() {
                        row.iter_mut().for_each(|entry| *entry += (first + offset) as f64);
                    }
                });
                let expected: Vec<f64> = (0..rows * 3).map(|place| (place / 3) as f64).collect();
                assert_eq!(data, expected);
            }
        }
    }
}
