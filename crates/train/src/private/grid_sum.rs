//! A sum on the grid, where the device that computed it keeps it.

use device::{Device, Elsewhere, Numbers, QuickNoise};
use mechanism::{Fingerprint, Summed};
use noise::PlacedGaussian;

/// Whole numbers on a device: gradients in grid steps, and what else a step releases after them. Private until noise was added.
pub(crate) struct GridSum<D: Device> {
    device: D,
    integers: D::Integers,
}

impl<D: Device> GridSum<D> {
    /// `len` zeros.
    pub(crate) fn new(device: &D, len: usize) -> Self {
        Self {
            device: device.clone(),
            integers: device.integers(len),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.device.integers_len(&self.integers)
    }

    /// Puts a vector, times `scale`, at the start.
    pub(crate) fn put(&mut self, scale: f64, values: &D::Buffer) {
        self.device.put_on_grid(scale, values, &mut self.integers);
    }

    /// The start, times `unit`, as a vector.
    pub(crate) fn take(&self, unit: f64, values: &mut D::Buffer) {
        self.device.take_off_grid(unit, &self.integers, values);
    }

    pub(crate) fn write(&mut self, values: &[i64], start: usize) {
        self.device.write_integers(values, start, &mut self.integers);
    }

    pub(crate) fn read(&self, start: usize, len: usize) -> Vec<i64> {
        self.device.read_integers(&self.integers, start, len)
    }

    /// A copy of all.
    pub(crate) fn numbers(&self) -> Vec<i64> {
        self.read(0, self.len())
    }
}

impl<D: Device> Summed for GridSum<D> {
    fn fingerprints(&mut self, fingerprint: &Fingerprint, threads: usize) -> Vec<[u8; 32]> {
        let len = self.len();
        match self.device.numbers(&mut self.integers) {
            Numbers::Here(numbers) => numbers.fingerprints(fingerprint, threads),
            Numbers::Elsewhere(elsewhere) => fingerprints_elsewhere(&*elsewhere, len, fingerprint),
        }
    }

    fn add(&mut self, noise: &PlacedGaussian<'_>, threads: usize) {
        match self.device.numbers(&mut self.integers) {
            Numbers::Here(numbers) => numbers.add(noise, threads),
            Numbers::Elsewhere(mut elsewhere) => add_elsewhere(&mut *elsewhere, noise),
        }
    }
}

// Where the host does not reach the numbers, the device does to them what the host would, and what it leaves out the host does.

fn fingerprints_elsewhere(elsewhere: &dyn Elsewhere, len: usize, fingerprint: &Fingerprint) -> Vec<[u8; 32]> {
    let values = elsewhere.polynomials(fingerprint.points(), Fingerprint::CHUNK);
    // Numbers without a fingerprint would not choose the noise, and a step that is taken again with others could get the same.
    assert_eq!(
        values.len(),
        len.div_ceil(Fingerprint::CHUNK),
        "a device answers for every chunk"
    );
    let chunks = (0..len).step_by(Fingerprint::CHUNK).zip(values);
    chunks
        .map(|(start, values)| {
            let len = Fingerprint::CHUNK.min(len - start);
            match values {
                Some(values) => Fingerprint::of_polynomials(values, len),
                None => fingerprint.of(&elsewhere.read(start, len)),
            }
        })
        .collect()
}

fn add_elsewhere(elsewhere: &mut dyn Elsewhere, noise: &PlacedGaussian<'_>) {
    let tables = noise.tables();
    let left = elsewhere.add_noise(&QuickNoise {
        key: noise.key(),
        entries: tables.entries,
        lows: tables.lows,
        aboves: tables.aboves,
        last: tables.last,
        steepness: tables.steepness,
        cut: tables.cut,
        half: tables.half,
        shift: tables.shift,
    });
    elsewhere.change(&left, &mut |place, value| noise.added(place as u64, value));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::private::Parameters;
    use accounting::{Budget, Delta, Ratio};
    use device::{Cpu, Cuda, Products};
    use mechanism::{Account, Aggregate, MemoryLedger, Sensitive, Stated};
    use noise::{Keyed, RoundedGaussian};

    /// Numbers of all sizes, some of which noise takes to the ends of `i64`.
    fn values(len: usize) -> Vec<i64> {
        let value = |place: usize| match place % 1000 {
            7 => i64::MAX - 5,
            8 => i64::MIN + 5,
            rest => (rest as i64 - 500) * 0x1_2345_6789,
        };
        (0..len).map(value).collect()
    }

    fn noised<D: Device>(device: &D, values: &[i64], noise: &PlacedGaussian<'_>) -> Vec<i64> {
        let mut sum = GridSum::new(device, values.len());
        sum.write(values, 0);
        sum.add(noise, 2);
        sum.numbers()
    }

    /// Releases a sum of this many numbers as the first step of a run, with the same key each time.
    fn release(len: usize, sum: &mut dyn Summed) {
        let delta = Delta::parse("1e-5").expect("a number");
        let one = Ratio::parse("1").expect("a number");
        let parameters = Parameters::poisson("row", 50, 1000, 1.0, 3, delta).expect("parameters");
        let plan = parameters.with_multiplier(one).expect("a plan");
        let mechanism = plan.mechanism(len).expect("a mechanism");
        let budget = Budget::new(plan.guarantee().promise().clone(), plan.unit());
        let mut account = Account::with_entropy(MemoryLedger::new(budget), Keyed::new([4; 32], 0));
        let mut run = account
            .begin_training(&mechanism, "a test", "a subject")
            .expect("within the budget");
        let sensitivity = mechanism.terms().sensitivity().clone();
        let step = run.step(10).expect("three steps");
        step.release(Aggregate::claimed(
            Sensitive::new(sum),
            sensitivity,
            plan.unit(),
            plan.grid(),
        ))
        .expect("the sum that was planned");
    }

    /// A device that leaves every third place to the host, and forgets one where it is broken.
    struct Lazy<'a> {
        numbers: Vec<i64>,
        noise: &'a PlacedGaussian<'a>,
        forgets: Option<usize>,
    }

    impl Elsewhere for Lazy<'_> {
        fn polynomials(&self, _: [u64; 2], chunk: usize) -> Vec<Option<[u64; 2]>> {
            vec![None; self.numbers.len().div_ceil(chunk)]
        }

        fn add_noise(&mut self, quick: &QuickNoise<'_>) -> Vec<usize> {
            assert_eq!(quick.key, self.noise.key());
            let places = 0..self.numbers.len();
            for place in places.clone().filter(|place| place % 3 != 0) {
                self.numbers[place] = self.noise.added(place as u64, self.numbers[place]);
            }
            places
                .filter(|place| place % 3 == 0 && Some(*place) != self.forgets)
                .collect()
        }

        fn change(&mut self, places: &[usize], made: &mut dyn FnMut(usize, i64) -> i64) {
            for place in places {
                self.numbers[*place] = made(*place, self.numbers[*place]);
            }
        }

        fn read(&self, start: usize, len: usize) -> Vec<i64> {
            self.numbers[start..start + len].to_vec()
        }
    }

    #[test]
    fn what_a_device_leaves_out_the_host_does() {
        let noise = RoundedGaussian::with_scale(&exact::ratio(1 << 30, 1)).expect("a scale");
        let placed = PlacedGaussian::new(&noise, [3; 32]);
        let values = values(10_001);
        let mut right = values.clone();
        right.add(&placed, 1);
        for forgets in [None, Some(300)] {
            let mut lazy = Lazy {
                numbers: values.clone(),
                noise: &placed,
                forgets,
            };
            add_elsewhere(&mut lazy, &placed);
            assert_eq!(lazy.numbers == right, forgets.is_none());
        }
    }

    /// A device whose fingerprints leave out the end of a sum.
    #[test]
    #[should_panic(expected = "a device answers for every chunk")]
    fn a_device_that_answers_for_too_few_numbers_is_found_out() {
        /// Answers for all numbers but the last.
        struct Short<'a>(Lazy<'a>);

        impl Summed for Short<'_> {
            fn fingerprints(&mut self, fingerprint: &Fingerprint, _: usize) -> Vec<[u8; 32]> {
                fingerprints_elsewhere(&self.0, self.0.numbers.len() + 1, fingerprint)
            }

            fn add(&mut self, noise: &PlacedGaussian<'_>, _: usize) {
                add_elsewhere(&mut self.0, noise);
            }
        }

        let noise = RoundedGaussian::with_scale(&exact::ratio(1 << 30, 1)).expect("a scale");
        release(
            Fingerprint::CHUNK + 1,
            &mut Short(Lazy {
                numbers: values(Fingerprint::CHUNK),
                noise: &PlacedGaussian::new(&noise, [3; 32]),
                forgets: None,
            }),
        );
    }

    /// Wherever it is made, it is the same noise, bit for bit; and noise of another key is not.
    #[test]
    fn noise_does_not_depend_on_the_device() {
        let values = values(1 << 20 | 77);
        let cuda = Cuda::open(0, Products::Full);
        if let Err(error) = &cuda {
            eprintln!("SKIPPED, nothing ran on a GPU: {error}");
        }
        for scale in ["0.4", "17.5", "12345.678", "1073741824", "1e13"] {
            let scale = exact::parse_decimal(scale).expect("a number");
            let noise = RoundedGaussian::with_scale(&scale).expect("a scale");
            let placed = PlacedGaussian::new(&noise, [3; 32]);
            let mut right = values.clone();
            placed.add_to(0, &mut right);
            assert!(noised(&Cpu::<f32>::new(), &values, &placed) == right, "{scale}");
            if let Ok(cuda) = &cuda {
                assert!(
                    noised(cuda, &values, &placed) == right,
                    "{scale} on {}",
                    cuda.name()
                );
                let other = PlacedGaussian::new(&noise, [4; 32]);
                assert!(noised(cuda, &values, &other) != right, "{scale}");
            }
        }
    }

    /// The noise of a step is chosen by the fingerprint of its sum, so this holds the fingerprints against each other, too: of numbers of ordinary size, and of some that only the host tells apart.
    #[test]
    fn a_released_sum_does_not_depend_on_the_device() {
        let cuda = match Cuda::open(0, Products::Full) {
            Ok(cuda) => cuda,
            Err(error) => return eprintln!("SKIPPED, nothing ran on a GPU: {error}"),
        };
        let len = 3 * Fingerprint::CHUNK - 1000;
        let mut values: Vec<i64> = (0..len as i64)
            .map(|place| (place - 70_000) * 0x1_2345_6789)
            .collect();
        for large in [None, Some(1 << 59), Some(i64::MIN)] {
            if let Some(large) = large {
                values[len - 1] = large;
            }
            let mut here = values.clone();
            release(len, &mut here);
            let mut there = GridSum::new(&cuda, len);
            there.write(&values, 0);
            release(len, &mut there);
            assert!(there.numbers() == here && here != values);
        }
    }
}
