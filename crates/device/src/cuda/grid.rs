//! Whole numbers on the GPU: to their grid and back, their polynomials, and their noise.

use super::*;
use crate::{Elsewhere, QuickNoise};

/// Places that a thread has, and threads that have the places of one group: every sixteenth each.
const LANES: usize = 16;

impl Cuda {
    pub(super) fn put_on_grid(&self, scale: f64, values: &Numbers, integers: &mut Vector<i64>) {
        let len = values.len();
        self.gpu.over(
            "to_grid",
            len,
            arguments![len, scale, values.at(0, len), integers.at(0, len)],
        );
    }

    pub(super) fn take_off_grid(&self, unit: f64, integers: &Vector<i64>, values: &mut Numbers) {
        let len = values.len();
        self.gpu.over(
            "from_grid",
            len,
            arguments![len, unit, integers.at(0, len), values.at(0, len)],
        );
    }
}

/// Threads that left places, at most; where there are more, all masks are read.
const MOST_LEFT: usize = 1 << 16;

/// Numbers in the GPU's memory.
pub(super) struct OnGpu<'a> {
    pub(super) gpu: &'a Gpu,
    pub(super) numbers: &'a mut Vector<i64>,
}

impl Elsewhere for OnGpu<'_> {
    fn polynomials(&self, points: [u64; 2], chunk: usize) -> Vec<Option<[u64; 2]>> {
        let len = self.numbers.len();
        let chunks = len.div_ceil(chunk);
        let ends = self.gpu.zeros::<u64>(3 * chunks);
        self.gpu.launch(
            "polynomials",
            (chunks, 1),
            arguments![
                len,
                chunk,
                points[0],
                points[1],
                self.numbers.at(0, len),
                ends.at(0, 3 * chunks)
            ],
        );
        let ends = self.gpu.read(&ends, 0..3 * chunks);
        ends.chunks_exact(3)
            .map(|end| (end[2] == 0).then_some([end[0], end[1]]))
            .collect()
    }

    fn add_noise(&mut self, noise: &QuickNoise<'_>) -> Vec<usize> {
        let len = self.numbers.len();
        let threads = len.div_ceil(LANES * LANES) * LANES;
        assert!(
            noise.entries.len() == 1 << 12 && noise.aboves.len() == noise.lows.len(),
            "tables of another kind"
        );
        let (entries, lows, aboves) = (
            self.gpu.sent(noise.entries),
            self.gpu.sent(noise.lows),
            self.gpu.sent(noise.aboves),
        );
        let left = self.gpu.zeros::<u16>(threads);
        let key = |part: usize| {
            let bytes = noise.key[8 * part..8 * part + 8].try_into();
            u64::from_le_bytes(bytes.expect("eight bytes"))
        };
        self.gpu.over(
            "add_noise",
            threads,
            arguments![
                len,
                key(0),
                key(1),
                key(2),
                key(3),
                entries.at(0, noise.entries.len()),
                noise.lows.len(),
                lows.at(0, noise.lows.len()),
                aboves.at(0, noise.aboves.len()),
                u64::from(noise.last),
                noise.steepness,
                u64::from(noise.cut),
                noise.half,
                u64::from(noise.shift),
                self.numbers.at(0, len),
                left.at(0, threads),
            ],
        );
        let left = self.masks_left(&left, threads);
        let places = |(thread, mask): (usize, u16)| {
            let first = thread / LANES * LANES * LANES + thread % LANES;
            let rows = (0..LANES).filter(move |row| mask >> row & 1 == 1);
            rows.map(move |row| first + LANES * row)
        };
        let open = left.into_iter();
        let mut open: Vec<usize> = open.flat_map(places).collect();
        open.sort_unstable();
        open
    }

    fn change(&mut self, places: &[usize], made: &mut dyn FnMut(usize, i64) -> i64) {
        let (count, len) = (places.len(), self.numbers.len());
        assert!(places.iter().all(|place| *place < len), "a place beyond the end");
        let wide: Vec<u64> = places.iter().map(|place| *place as u64).collect();
        let wide = self.gpu.sent(&wide);
        let mut values = self.gpu.zeros::<i64>(count);
        let arguments = arguments![
            count,
            wide.at(0, count),
            self.numbers.at(0, len),
            values.at(0, count)
        ];
        self.gpu.over("take_at", count, arguments);
        let mut host = self.gpu.read(&values, 0..count);
        for (value, place) in host.iter_mut().zip(places) {
            *value = made(*place, *value);
        }
        self.gpu.write(&host, 0, &mut values);
        self.gpu.over("put_at", count, arguments);
        // What the numbers were is in them no more, and nowhere else.
        self.gpu.clear(&mut values, 0..count);
    }

    fn read(&self, start: usize, len: usize) -> Vec<i64> {
        self.gpu.read(self.numbers, start..start + len)
    }
}

impl OnGpu<'_> {
    /// The threads that left places, each with its mask, in no particular order. Few do, and reading the masks of all would take longer than making the noise.
    fn masks_left(&self, masks: &Vector<u16>, threads: usize) -> Vec<(usize, u16)> {
        let (count, left) = (self.gpu.zeros::<u64>(1), self.gpu.zeros::<u64>(MOST_LEFT));
        self.gpu.over(
            "list_left",
            threads,
            arguments![
                threads,
                masks.at(0, threads),
                MOST_LEFT,
                count.at(0, 1),
                left.at(0, MOST_LEFT)
            ],
        );
        let found = self.gpu.read(&count, 0..1)[0] as usize;
        if found > MOST_LEFT {
            let all = self.gpu.read(masks, 0..threads).into_iter().enumerate();
            return all.filter(|(_, mask)| *mask != 0).collect();
        }
        let left = self.gpu.read(&left, 0..found).into_iter();
        left.map(|entry| ((entry >> 16) as usize, entry as u16)).collect()
    }
}
