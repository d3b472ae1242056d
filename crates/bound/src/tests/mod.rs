//! Random tables, made to be unpleasant, and what the plans say about them.

mod beside;
mod dealt;
mod files;
mod forms;
mod grid;
mod joins;
mod memory;
mod rows;
mod vectors;
mod windows;

use super::{
    AmountOfVector, Beside, Bounding, Coarse, Follower, Form, Length, Norm, Partial, Secret, session,
};
use crate::Kind;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringViewArray,
    TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::common::{Column, ScalarValue};
use datafusion::datasource::MemTable;
use datafusion::error::Result;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

const KINDS: [Kind; 6] = [
    Kind::Int,
    Kind::Float,
    Kind::Text,
    Kind::Bool,
    Kind::Date,
    Kind::Timestamp,
];
/// How many different values a column has at most, NULL included.
const VALUES: u8 = 9;
const LONG: &str = "a text of more than twelve bytes";

/// Values of a kind, NULL first, then ascending once −0.0 is 0.0 and every NaN is the same.
fn column(kind: Kind, picks: impl Iterator<Item = u8>) -> ArrayRef {
    let minus_nan = f64::from_bits(0xfff8_0000_0000_0001);
    let floats = [
        f64::NEG_INFINITY,
        -1.5,
        -0.0,
        0.0,
        2.25,
        f64::INFINITY,
        f64::NAN,
        minus_nan,
    ];
    let integers = [i64::MIN, -7, -1, 0, 1, 10, 11, i64::MAX];
    let texts = ["", "1:n", LONG, "b", "n", "n1:b", "näh", "z"];
    let pick = |pick: u8| (usize::from(pick) + 8) % 9;
    match kind {
        Kind::Int => Arc::new(Int64Array::from_iter(
            picks.map(|place| integers.get(pick(place)).copied()),
        )),
        Kind::Float => Arc::new(Float64Array::from_iter(
            picks.map(|place| floats.get(pick(place)).copied()),
        )),
        Kind::Text => Arc::new(StringViewArray::from_iter(
            picks.map(|place| texts.get(pick(place)).copied()),
        )),
        Kind::Bool => Arc::new(BooleanArray::from_iter(
            picks.map(|place| (place > 0).then_some(place > 4)),
        )),
        Kind::Date => Arc::new(Date32Array::from_iter(picks.map(|place| {
            integers
                .get(pick(place))
                .map(|value| (*value).clamp(-1 << 31, (1 << 31) - 1) as i32)
        }))),
        Kind::Timestamp => Arc::new(TimestampMicrosecondArray::from_iter(
            picks.map(|place| integers.get(pick(place)).copied()),
        )),
    }
}

/// One row: picks of the values of its columns.
#[derive(Clone, Debug)]
struct Row {
    unit: u8,
    keys: [u8; 2],
    arguments: [Option<i64>; 2],
}

/// A table, and where it is cut.
#[derive(Clone, Debug)]
struct Table {
    unit: Kind,
    keys: Vec<Kind>,
    rows: Vec<Row>,
}

fn kind() -> impl Strategy<Value = Kind> {
    (0..KINDS.len()).prop_map(|place| KINDS[place])
}

fn argument() -> impl Strategy<Value = Option<i64>> {
    prop_oneof![
        2 => Just(None),
        6 => (-9i64..9).prop_map(Some),
        1 => Just(Some(i64::MAX)),
        1 => Just(Some(i64::MIN)),
    ]
}

fn row(units: u8, groups: u8) -> impl Strategy<Value = Row> {
    let keys = [0..groups, 0..groups.min(3)];
    (0..units, keys, [argument(), argument()]).prop_map(|(unit, keys, arguments)| Row {
        unit,
        keys,
        arguments,
    })
}

/// Tables of few or many units, in one group or in many, with zero to two key columns; also without rows.
fn table() -> impl Strategy<Value = Table> {
    let shape = (
        1..=VALUES,
        1..=VALUES,
        kind(),
        prop::collection::vec(kind(), 0..=2),
    );
    shape.prop_flat_map(|(units, groups, unit, keys)| {
        prop::collection::vec(row(units, groups), 0..60).prop_map(move |rows| Table {
            unit,
            keys: keys.clone(),
            rows,
        })
    })
}

fn partial() -> impl Strategy<Value = Partial> {
    let bounds = prop_oneof![
        Just((-3i64, 5i64)),
        Just((2, 4)),
        Just((-4, -2)),
        Just((0, 0)),
        Just((i64::MIN, i64::MAX)),
        Just((i64::MIN, 0)),
    ];
    let bounded = (0usize..2, 1i64..4, bounds);
    prop_oneof![
        Just(Partial::Units),
        (1i64..4).prop_map(|most| Partial::Rows { most }),
        (0usize..2, 1i64..4).prop_map(|(argument, most)| Partial::Present { argument, most }),
        bounded
            .clone()
            .prop_map(|(argument, _, (low, high))| Partial::Sum { argument, low, high }),
        bounded.prop_map(|(argument, most, (low, high))| Partial::Mean {
            argument,
            most,
            low,
            high
        }),
    ]
}

fn partials() -> impl Strategy<Value = Vec<Partial>> {
    prop::collection::vec(partial(), 1..6)
}

fn groups() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![1 => Just(None), 4 => (1u64..5).prop_map(Some), 1 => (5u64..70).prop_map(Some)]
}

/// Where rows are cut into batches, and whether a part begins there that is read by a thread of its own.
type Cut = (usize, bool);

/// How a query is run: none of it may change the answer.
#[derive(Clone, Debug)]
struct Run {
    threads: usize,
    batch_size: usize,
    cuts: Vec<Cut>,
}

fn run() -> impl Strategy<Value = Run> {
    let cuts = prop::collection::vec((0usize..60, any::<bool>()), 0..6);
    let batch_size = prop_oneof![Just(1usize), 2usize..9, Just(8192usize)];
    (1usize..4, batch_size, cuts).prop_map(|(threads, batch_size, mut cuts)| {
        cuts.sort();
        Run {
            threads,
            batch_size,
            cuts,
        }
    })
}

impl Table {
    fn sorted(&self) -> Self {
        let mut table = self.clone();
        table.rows.sort_by_key(|row| row.unit);
        table
    }

    /// Without all rows of one unit: as the engine tells units apart, not as picks do.
    fn without(&self, unit: u8) -> Self {
        let same = |other: u8| same_value(self.unit, unit, other);
        let mut table = self.clone();
        table.rows.retain(|row| !same(row.unit));
        table
    }

    fn batch(&self, rows: &[Row]) -> RecordBatch {
        let mut columns = vec![(
            "u".to_string(),
            column(self.unit, rows.iter().map(|row| row.unit)),
        )];
        for (place, kind) in self.keys.iter().enumerate() {
            let picks = rows.iter().map(|row| row.keys[place]);
            columns.push((format!("k{place}"), column(*kind, picks)));
        }
        for place in 0..2 {
            let values = rows.iter().map(|row| row.arguments[place]);
            columns.push((format!("x{place}"), Arc::new(Int64Array::from_iter(values))));
        }
        let fields: Vec<Field> = columns
            .iter()
            .map(|(name, column)| Field::new(name, column.data_type().clone(), true))
            .collect();
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
    }

    fn parts(&self, cuts: &[Cut]) -> Vec<Vec<RecordBatch>> {
        let mut parts = vec![Vec::new()];
        let mut from = 0;
        for (cut, new_part) in cuts {
            let cut = (*cut).min(self.rows.len()).max(from);
            parts.last_mut().unwrap().push(self.batch(&self.rows[from..cut]));
            if *new_part {
                parts.push(Vec::new());
            }
            from = cut;
        }
        parts.last_mut().unwrap().push(self.batch(&self.rows[from..]));
        parts
    }

    fn context(&self, run: &Run, runtime: Arc<RuntimeEnv>) -> SessionContext {
        let config = SessionConfig::new()
            .with_target_partitions(run.threads)
            .with_batch_size(run.batch_size);
        let context = session(config, runtime);
        let schema = self.batch(&[]).schema();
        let table = MemTable::try_new(schema, self.parts(&run.cuts)).unwrap();
        context.register_table("t", Arc::new(table)).unwrap();
        context
    }

    fn keys(&self) -> Vec<Column> {
        (0..self.keys.len())
            .map(|place| Column::new(Some("t"), format!("k{place}")))
            .collect()
    }

    fn bounding(
        &self,
        input: LogicalPlan,
        partials: &[Partial],
        groups: Option<u64>,
        secret: Secret,
    ) -> Bounding {
        Bounding {
            input,
            unit: Column::new(Some("t"), "u"),
            keys: self.keys(),
            arguments: (0..2)
                .map(|place| Column::new(Some("t"), format!("x{place}")))
                .collect(),
            partials: partials.to_vec(),
            groups,
            lengths: Vec::new(),
            beside: None,
            secret,
        }
    }
}

fn same_value(kind: Kind, one: u8, other: u8) -> bool {
    match kind {
        Kind::Bool => (one > 0, one > 4) == (other > 0, other > 4),
        Kind::Float => {
            let class = |pick: u8| match pick {
                4 => 3,
                8 => 7,
                _ => pick,
            };
            class(one) == class(other)
        }
        // The ends of 64 bits are cut to those of 32.
        _ => one == other,
    }
}

/// Groups by name, with their numbers.
type Answer = BTreeMap<String, Vec<i64>>;

/// The first columns name a row, the last `numbers` are its numbers.
fn answer(batches: &[RecordBatch], numbers: usize) -> Answer {
    let mut answer = Answer::new();
    for batch in batches {
        let keys = batch.num_columns() - numbers;
        for row in 0..batch.num_rows() {
            let value = |place: usize| ScalarValue::try_from_array(batch.column(place), row).unwrap();
            let name: Vec<String> = (0..keys).map(|place| named(&value(place))).collect();
            let numbers = (keys..batch.num_columns())
                .map(|place| match value(place) {
                    ScalarValue::Int64(Some(number)) => number,
                    _ => panic!("not an integer"),
                })
                .collect();
            assert!(
                answer.insert(name.join(", "), numbers).is_none(),
                "a group came twice"
            );
        }
    }
    answer
}

/// What a value is called. No calendar names all days, so days and moments are called by their numbers.
fn named(value: &ScalarValue) -> String {
    match value {
        ScalarValue::Date32(day) => format!("{day:?}"),
        ScalarValue::TimestampMicrosecond(moment, _) => format!("{moment:?}"),
        other => format!("{other:?}"),
    }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(future)
}

async fn collect(context: &SessionContext, plan: LogicalPlan, numbers: usize) -> Result<Answer> {
    let batches = context.execute_logical_plan(plan).await?.collect().await?;
    Ok(answer(&batches, numbers))
}

async fn input(context: &SessionContext) -> LogicalPlan {
    context.table("t").await.unwrap().into_unoptimized_plan()
}

async fn ask(table: &Table, run: &Run, question: &Question, form: Form) -> Result<Answer> {
    let table = match form {
        Form::Clustered => table.sorted(),
        _ => table.clone(),
    };
    let context = table.context(run, Arc::default());
    let bounding = question.bounding(&table, input(&context).await);
    let answer = collect(&context, bounding.plan(form)?, question.numbers()).await?;
    Ok(question.with_all(answer))
}

/// What is asked.
#[derive(Clone, Debug)]
struct Question {
    partials: Vec<Partial>,
    groups: Option<u64>,
    lengths: Vec<Length>,
    beside: Option<Beside>,
    secret: Secret,
}

/// Where the numbers are that describe all units.
const ALL: &str = "all units";

impl Question {
    fn bounding(&self, table: &Table, input: LogicalPlan) -> Bounding {
        let question = self.over(table);
        Bounding {
            lengths: question.lengths,
            beside: question.beside,
            ..table.bounding(input, &self.partials, self.groups, self.secret.clone())
        }
    }

    /// The same as it can be asked of a table: where there is one group, no vector is bounded.
    fn over(&self, table: &Table) -> Self {
        let mut question = self.clone();
        if table.keys.is_empty() {
            question.lengths = Vec::new();
        }
        if let Some(beside) = &mut question.beside {
            if table.keys.is_empty() {
                beside.lengths = Vec::new();
            }
            beside.vector = beside.vector.take().filter(|_| !question.lengths.is_empty());
        }
        question
    }

    /// The same without what is read beside the totals.
    fn alone(&self) -> Self {
        Self {
            beside: None,
            ..self.clone()
        }
    }

    /// The same where no vector is bounded.
    fn without_lengths(&self) -> Self {
        let mut question = self.clone();
        question.lengths = Vec::new();
        if let Some(beside) = &mut question.beside {
            beside.lengths = Vec::new();
            beside.vector = None;
        }
        question
    }

    /// How far a unit moves a number in a group.
    fn bounds(&self) -> Vec<u64> {
        let bound = |(place, partial): (usize, &Partial)| {
            let length = self.lengths.iter().find(|length| length.of == place);
            let with = self
                .lengths
                .iter()
                .flat_map(|length| length.with.iter().map(move |with| (length, with)));
            let follows = with.clone().find(|(_, with)| with.place == place);
            match (length, follows) {
                (Some(length), _) => (partial.bound() << length.finer).min(length.most),
                (_, Some((length, with))) => length.follows(with),
                _ => partial.bound(),
            }
        };
        let own = self.partials.iter().enumerate().map(bound);
        let beside = self.beside.iter();
        let beside = beside.flat_map(|beside| (0..beside.partials.len()).map(|place| beside.farthest(place)));
        own.chain(beside).collect()
    }

    fn numbers(&self) -> usize {
        self.partials.len() + self.beside.as_ref().map_or(0, Beside::numbers)
    }

    /// Puts the numbers that describe all units, which are in any groups, in a place of their own.
    fn with_all(&self, mut answer: Answer) -> Answer {
        if self.beside.is_some() {
            let mut all = vec![0i64; crate::beside::NUMBERS];
            for numbers in answer.values_mut() {
                let own = numbers.split_off(numbers.len() - all.len());
                all.iter_mut()
                    .zip(own)
                    .for_each(|(all, own)| *all = all.wrapping_add(own));
            }
            answer.insert(ALL.to_owned(), all);
        }
        answer
    }
}

/// Bounds that are not so wide that nothing could be rounded.
fn modest(partial: &Partial) -> Partial {
    let near = |end: i64| end.clamp(-1 << 40, 1 << 40);
    match *partial {
        Partial::Sum { argument, low, high } => Partial::Sum {
            argument,
            low: near(low),
            high: near(high),
        },
        Partial::Mean {
            argument,
            most,
            low,
            high,
        } => Partial::Mean {
            argument,
            most,
            low: near(low),
            high: near(high),
        },
        other => other,
    }
}

fn beside(groups: u64) -> impl Strategy<Value = Beside> {
    let pairs = prop::collection::vec((partial(), partial()), 0..3);
    let coarse = (partial(), 0u32..4).prop_map(|(partial, bits)| Coarse {
        partial: if bits > 0 { modest(&partial) } else { partial },
        bits,
    });
    (
        prop::collection::vec(coarse, 0..3),
        pairs,
        (partial(), partial()),
        0u32..3,
        0u64..6,
    )
        .prop_map(move |(partials, limits, amount, bits, more)| Beside {
            groups: Some(groups + more),
            partials,
            limits,
            amount: (modest(&amount.0), modest(&amount.1)),
            lengths: Vec::new(),
            vector: None,
            bits,
        })
}

/// Bounds on the lengths of some of so many numbers.
fn lengths(numbers: usize) -> impl Strategy<Value = Vec<Length>> {
    let norm = prop_oneof![Just(Norm::One), Just(Norm::Two)];
    let length = (
        norm,
        0u32..11,
        1u64..3000,
        prop::collection::vec((0u64..7, 0u32..5), 0..3),
    );
    let order = Just((0..numbers).collect::<Vec<usize>>()).prop_shuffle();
    (prop::collection::vec(length, 0..3), order).prop_map(|(lengths, mut order)| {
        let mut bounded = Vec::new();
        for (norm, finer, most, each) in lengths {
            let Some(of) = order.pop() else { break };
            let with = each
                .into_iter()
                .map_while(|(each, finer)| order.pop().map(|place| Follower { place, each, finer }));
            let with = with.collect();
            bounded.push(Length {
                of,
                norm,
                finer,
                most,
                with,
            });
        }
        bounded
    })
}

/// A question and bounds on its vectors.
fn with_vectors(question: Question) -> impl Strategy<Value = Question> {
    let own = lengths(question.partials.len());
    let wide = lengths(question.beside.as_ref().map_or(0, |beside| beside.partials.len()));
    (Just(question), own, wide, prop::option::of(1u64..5000)).prop_map(|(mut question, own, wide, most)| {
        if question.groups.is_none() {
            return question;
        }
        if !own.is_empty() {
            question
                .partials
                .iter_mut()
                .for_each(|partial| *partial = modest(partial));
        }
        if let Some(beside) = &mut question.beside {
            if !wide.is_empty() {
                let partials = beside.partials.iter_mut();
                partials.for_each(|coarse| coarse.partial = modest(&coarse.partial));
            }
            beside.lengths = wide;
            let vector = |(length, most): (&Length, u64)| AmountOfVector {
                of: length.of,
                finer: length.finer,
                most,
            };
            beside.vector = own.first().zip(most).map(vector);
        }
        question.lengths = own;
        question
    })
}

fn question() -> impl Strategy<Value = Question> {
    let modulus = prop_oneof![Just(None), (1i64..4).prop_map(Some)];
    let limits = groups().prop_flat_map(|groups| {
        let beside = match groups {
            Some(groups) => prop::option::of(beside(groups)).boxed(),
            None => Just(None).boxed(),
        };
        (Just(groups), beside)
    });
    let question = (partials(), limits, "[0-9a-f]{32}", modulus);
    let question = question.prop_map(|(partials, limits, digits, modulus)| {
        let secret = Secret::new(digits).unwrap();
        let (groups, beside) = limits;
        Question {
            partials,
            groups,
            lengths: Vec::new(),
            beside,
            secret: match modulus {
                Some(modulus) => secret.with_ties(modulus),
                None => secret,
            },
        }
    });
    question.prop_flat_map(|question| prop_oneof![Just(question.clone()), with_vectors(question)])
}

/// An operator of a plan, by its name.
fn operator(plan: &Arc<dyn ExecutionPlan>, name: &str) -> Option<Arc<dyn ExecutionPlan>> {
    if plan.name() == name {
        return Some(Arc::clone(plan));
    }
    plan.children()
        .into_iter()
        .find_map(|child| operator(child, name))
}
