//! One model on several threads.
//!
//! A batch is cut into parts that depend on the batch and the model alone, each part has a copy of the model to itself, and sums are made in the order of the parts. So a result is the same to the last bit on
//! any number of threads, and a run may be resumed with another number of them than it began with.
//!
//! Whoever trains does not wait for a thread to start: parts are taken one by one from a shared list, by the calling thread as by its helpers. On a busy machine a helper may come late; then the
//! calling thread has done its work already. Helpers sleep while there is nothing to take, and what is too small to be worth waking anybody is done on the spot.

use super::Part;
use crate::model::{Model, OneByOne, Parameter};
use device::{Device, Span, SpanMut};
use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;

/// The most parts of a batch, and so the most threads that have something to do.
const MOST_PARTS: usize = 16;

/// Rows times parameters that a part has at least: some hundred microseconds of work, where waking a thread takes tens.
const WORK: u64 = 1 << 22;

/// Examples that a part has at least: layers that go step by step multiply matrices with this many rows, and adding up the parts' gradients is to be little beside making them.
const EXAMPLES: usize = 32;

/// Splits each batch among copies of a model. The result is the same on any number of threads, to the last bit.
///
/// ```
/// use device::Cpu;
/// use train::model::Model;
/// use train::models::{Network, Sharded, Tokens};
///
/// let network = Network::Lstm { embedding: 4, hidden: 4, dropout: 0.0 };
/// let rows = Tokens::full(9, 3, (0..240).map(|place| place % 9).collect())?;
/// let losses = |threads| {
///     let model = Sharded::new(&Cpu::<f32>::new(), threads, || network.build(Cpu::new(), 9))?;
///     let mut model = model.splitting_all();
///     let parameters = model.initial(1);
///     Ok::<_, train::models::ModelError>(model.losses(&parameters, &rows))
/// };
/// assert_eq!(losses(1)?, losses(3)?);
/// # Ok::<(), train::models::ModelError>(())
/// ```
pub struct Sharded<D: Device, M: Model<D>> {
    /// Takes batches that are not worth splitting, whole.
    front: M,
    /// What is done with all others; `None` where none is split.
    workshop: Option<Arc<Workshop<D, M>>>,
    /// How many threads work at once, the calling one among them.
    threads: usize,
    /// Started when they are needed first.
    helpers: Vec<JoinHandle<()>>,
    /// The parts of the last batch; empty where `front` has it.
    parts: Vec<Range<usize>>,
    /// Examples of each unit of the next batches, where units are what norms are of.
    sizes: Option<Vec<usize>>,
    /// What a part has at least.
    least: (u64, usize),
}

/// A part of a batch with a model of its own, and what came of it.
struct Slot<D: Device, M: Model<D>> {
    device: D,
    model: M,
    batch: Option<M::Batch>,
    weights: Vec<f64>,
    gradient: D::Buffer,
    numbers: Vec<f64>,
}

/// What is done with each part.
#[derive(Clone, Copy)]
enum Job {
    Backward,
    SquaredNorms,
    Accumulate,
    Losses,
}

/// The list of parts from which threads take.
struct Desk {
    job: Job,
    /// The next part that nobody took.
    next: usize,
    /// How many there are.
    count: usize,
    /// How many of them are not done yet.
    open: usize,
    panic: Option<Box<dyn Any + Send>>,
    closed: bool,
}

struct Workshop<D: Device, M: Model<D>> {
    slots: Vec<Mutex<Slot<D, M>>>,
    parameters: RwLock<D::Buffer>,
    desk: Mutex<Desk>,
    /// There is something to take, or no more will come.
    more: Condvar,
    /// All parts are done.
    done: Condvar,
}

// A panic is caught before any lock is given back, so no lock guards anything half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<D: Device, M: Model<D>> Workshop<D, M> {
    /// Does one part.
    fn one(&self, job: Job, part: usize) {
        let mut slot = lock(&self.slots[part]);
        let Slot {
            device,
            model,
            batch,
            weights,
            gradient,
            numbers,
        } = &mut *slot;
        let parameters = self.parameters.read().unwrap_or_else(PoisonError::into_inner);
        *numbers = match (job, batch) {
            (Job::Backward, Some(batch)) => model.backward(&parameters, batch),
            (Job::Losses, Some(batch)) => model.losses(&parameters, batch),
            (Job::SquaredNorms, _) => model.squared_norms(),
            (Job::Accumulate, _) => {
                device.clear(gradient);
                model.accumulate(weights, gradient);
                Vec::new()
            }
            (Job::Backward | Job::Losses, None) => Vec::new(),
        };
    }

    /// Takes parts while there are any. Gives the lock back to sleep with.
    fn take_all<'d>(&'d self, mut desk: MutexGuard<'d, Desk>) -> MutexGuard<'d, Desk> {
        while desk.next < desk.count {
            let (job, part) = (desk.job, desk.next);
            desk.next += 1;
            drop(desk);
            let ended = catch_unwind(AssertUnwindSafe(|| self.one(job, part)));
            desk = lock(&self.desk);
            if let Err(panic) = ended {
                desk.panic = Some(panic);
            }
            desk.open -= 1;
            if desk.open == 0 {
                self.done.notify_all();
            }
        }
        desk
    }

    fn help(&self) {
        let mut desk = lock(&self.desk);
        while !desk.closed {
            desk = self.take_all(desk);
            if !desk.closed && desk.next == desk.count {
                desk = self.more.wait(desk).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Does a job with the first `count` parts, on this thread and on as many others as are awake in time.
    fn all(&self, job: Job, count: usize, helpers: usize) {
        let mut desk = lock(&self.desk);
        desk.job = job;
        (desk.next, desk.count, desk.open) = (0, count, count);
        for _ in 0..helpers.min(count.saturating_sub(1)) {
            self.more.notify_one();
        }
        desk = self.take_all(desk);
        // What is not done now is being done.
        while desk.open > 0 {
            desk = self.done.wait(desk).unwrap_or_else(PoisonError::into_inner);
        }
        let panic = desk.panic.take();
        drop(desk);
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// What the first `count` parts came to, in their order.
    fn numbers(&self, count: usize) -> Vec<f64> {
        let slots = self.slots[..count].iter();
        slots
            .flat_map(|slot| std::mem::take(&mut lock(slot).numbers))
            .collect()
    }
}

impl<D, M> Sharded<D, M>
where
    D: Device + 'static,
    D::Buffer: Sync,
    M: Model<D> + Send + 'static,
    M::Batch: Part + Send,
{
    /// A model that `make` makes as often as there can be parts, on up to `threads` threads.
    ///
    /// # Errors
    ///
    /// Where `make` fails.
    ///
    /// # Panics
    ///
    /// Where it makes models with different layouts.
    pub fn new<E>(device: &D, threads: usize, mut make: impl FnMut() -> Result<M, E>) -> Result<Self, E> {
        let front = make()?;
        let len = front.layout().iter().map(Parameter::len).sum();
        let slots = (0..MOST_PARTS)
            .map(|_| {
                let model = make()?;
                assert!(model.layout() == front.layout(), "copies of different models");
                Ok(Mutex::new(Slot {
                    device: device.clone(),
                    model,
                    batch: None,
                    weights: Vec::new(),
                    // As long as a gradient when the first batch is split.
                    gradient: device.zeros(0),
                    numbers: Vec::new(),
                }))
            })
            .collect::<Result<Vec<_>, E>>()?;
        let workshop = Workshop {
            slots,
            parameters: RwLock::new(device.zeros(len)),
            desk: Mutex::new(Desk {
                job: Job::Backward,
                next: 0,
                count: 0,
                open: 0,
                panic: None,
                closed: false,
            }),
            more: Condvar::new(),
            done: Condvar::new(),
        };
        let mut sharded = Self::whole(front);
        sharded.workshop = Some(Arc::new(workshop));
        sharded.threads = threads.clamp(1, MOST_PARTS);
        Ok(sharded)
    }

    /// A model that takes every batch whole, for a device that needs no threads to be busy.
    pub fn whole(model: M) -> Self {
        Self {
            front: model,
            workshop: None,
            threads: 1,
            helpers: Vec::new(),
            parts: Vec::new(),
            sizes: None,
            least: (WORK, EXAMPLES),
        }
    }

    /// Splits batches however small they are: for tests.
    pub fn splitting_all(mut self) -> Self {
        self.least = (1, 1);
        self
    }

    /// The model that the calling thread may use by itself.
    pub fn first(&mut self) -> &mut M {
        &mut self.front
    }

    /// The parts of a batch: a function of the batch and of the model, and of nothing else. Empty where it is not split.
    fn parts_of(&self, batch: &M::Batch) -> Vec<Range<usize>> {
        let (examples, rows) = (batch.len(), batch.rows() as u64);
        let parameters: u64 = self.front.layout().iter().map(|part| part.len() as u64).sum();
        let (work, least) = self.least;
        let by_work = rows.saturating_mul(parameters) / work;
        let count = (examples / least).min(by_work.min(MOST_PARTS as u64) as usize);
        if count < 2 {
            return Vec::new();
        }
        let cuts = (0..=count).map(|part| examples * part / count);
        let Some(sizes) = &self.sizes else {
            return cuts
                .clone()
                .zip(cuts.skip(1))
                .map(|(start, end)| start..end)
                .collect();
        };
        // No unit is cut in two: a part ends where a unit does, at that place or after it.
        let ends: Vec<usize> = sizes
            .iter()
            .scan(0, |end, size| {
                *end += size;
                Some(*end)
            })
            .collect();
        let mut cuts: Vec<usize> = cuts
            .map(|cut| match cut {
                0 => 0,
                _ => ends[ends.partition_point(|end| *end < cut)],
            })
            .collect();
        cuts.dedup();
        match cuts.len() {
            0..=2 => Vec::new(),
            _ => cuts.windows(2).map(|cut| cut[0]..cut[1]).collect(),
        }
    }

    /// The units of a part, whose examples are all in it.
    fn sizes_of(&self, part: &Range<usize>) -> Option<Vec<usize>> {
        let mut start = 0;
        let within = |size: &&usize| {
            let here = part.contains(&start);
            start += **size;
            here
        };
        let sizes = self.sizes.as_ref()?.iter();
        Some(sizes.filter(within).copied().collect())
    }

    /// Splits a batch and does the job with each part, or `None` where the batch is for `front`.
    fn split(&mut self, job: Job, parameters: &D::Buffer, batch: &M::Batch) -> Option<Vec<f64>> {
        self.parts = match &self.workshop {
            Some(_) => self.parts_of(batch),
            None => Vec::new(),
        };
        let workshop = self.workshop.as_ref().filter(|_| !self.parts.is_empty())?;
        while self.helpers.len() + 1 < self.threads {
            let workshop = Arc::clone(workshop);
            self.helpers.push(std::thread::spawn(move || workshop.help()));
        }
        for (slot, part) in workshop.slots.iter().zip(&self.parts) {
            let mut slot = lock(slot);
            slot.batch = Some(batch.part(part.clone()));
            slot.model.group(self.sizes_of(part).as_deref());
            let len = slot.device.len(parameters);
            if slot.device.len(&slot.gradient) != len {
                slot.gradient = slot.device.zeros(len);
            }
        }
        {
            let slot = lock(&workshop.slots[0]);
            let mut copy = workshop
                .parameters
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            let len = slot.device.len(parameters);
            slot.device
                .copy(Span::new(parameters, 0), SpanMut::new(&mut copy, 0), len);
        }
        workshop.all(job, self.parts.len(), self.helpers.len());
        Some(workshop.numbers(self.parts.len()))
    }
}

impl<D: Device, M: Model<D>> Drop for Sharded<D, M> {
    fn drop(&mut self) {
        if let Some(workshop) = &self.workshop {
            lock(&workshop.desk).closed = true;
            workshop.more.notify_all();
        }
        for helper in self.helpers.drain(..) {
            let _ = helper.join();
        }
    }
}

impl<D, M> Model<D> for Sharded<D, M>
where
    D: Device + 'static,
    D::Buffer: Sync,
    M: Model<D> + Send + 'static,
    M::Batch: Part + Send,
{
    type Batch = M::Batch;

    fn layout(&self) -> &[Parameter] {
        self.front.layout()
    }

    fn computes(&self) -> String {
        self.front.computes()
    }

    fn initial(&self, seed: u64) -> Vec<f32> {
        self.front.initial(seed)
    }

    fn examples(&self, batch: &M::Batch) -> usize {
        batch.len()
    }

    fn begin_step(&mut self, step: u64) {
        self.front.begin_step(step);
        for slot in self.workshop.iter().flat_map(|workshop| &workshop.slots) {
            lock(slot).model.begin_step(step);
        }
    }

    // Units without examples are in no part: the caller leaves them out.
    fn group(&mut self, sizes: Option<&[usize]>) -> bool {
        assert!(
            sizes.is_none_or(|sizes| !sizes.contains(&0)),
            "units without examples"
        );
        let groups = self.front.group(sizes);
        if groups {
            self.sizes = sizes.map(<[usize]>::to_vec);
        }
        groups
    }

    fn backward(&mut self, parameters: &D::Buffer, batch: &M::Batch) -> Vec<f64> {
        match self.split(Job::Backward, parameters, batch) {
            Some(losses) => losses,
            None => self.front.backward(parameters, batch),
        }
    }

    fn squared_norms(&mut self) -> Vec<f64> {
        match &self.workshop {
            Some(workshop) if !self.parts.is_empty() => {
                workshop.all(Job::SquaredNorms, self.parts.len(), self.helpers.len());
                workshop.numbers(self.parts.len())
            }
            _ => self.front.squared_norms(),
        }
    }

    fn accumulate(&mut self, weights: &[f64], gradient: &mut D::Buffer) {
        let workshop = match &self.workshop {
            Some(workshop) if !self.parts.is_empty() => workshop,
            _ => return self.front.accumulate(weights, gradient),
        };
        let slots = &workshop.slots[..self.parts.len()];
        for (slot, part) in slots.iter().zip(&self.parts) {
            lock(slot).weights = weights[part.clone()].to_vec();
        }
        workshop.all(Job::Accumulate, self.parts.len(), self.helpers.len());
        for slot in slots {
            let slot = lock(slot);
            slot.device.axpy(1.0, &slot.gradient, gradient);
        }
    }

    fn losses(&mut self, parameters: &D::Buffer, batch: &M::Batch) -> Vec<f64> {
        match self.split(Job::Losses, parameters, batch) {
            Some(losses) => losses,
            None => self.front.losses(parameters, batch),
        }
    }

    fn one_by_one(&self, parameters: &D::Buffer) -> Option<Box<dyn OneByOne<D::Scalar, M::Batch> + '_>> {
        self.front.one_by_one(parameters)
    }
}
