use super::*;
use crate::remote::{self, Needs};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_expr::expressions::Column as PhysicalColumn;
use datafusion::physical_expr::{Partitioning, PhysicalExpr};
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{collect as run_plan, displayable};

/// The plan with rows dealt out by unit below the operator, which went through bytes; nothing if it has no such operator.
fn dealt(
    plan: Arc<dyn ExecutionPlan>,
    parts: usize,
    context: &SessionContext,
) -> Option<Arc<dyn ExecutionPlan>> {
    let state = context.state();
    let transformed = plan.transform_up(|node| {
        if remote::needs(&node) != Some(Needs::UnitsTogether) {
            return Ok(Transformed::no(node));
        }
        let input = Arc::clone(node.children()[0]);
        let unit: Arc<dyn PhysicalExpr> = Arc::new(PhysicalColumn::new("unit", 0));
        let exchange = RepartitionExec::try_new(input, Partitioning::Hash(vec![unit], parts))?;
        let dealt = remote::over_dealt(&node, Arc::new(exchange))?;
        let bytes = remote::operator_to_bytes(&dealt)?.unwrap();
        let read = remote::operator_from_bytes(&bytes, Arc::clone(dealt.children()[0]), &state)?;
        assert_eq!(remote::operator_to_bytes(&read)?.unwrap(), bytes);
        assert!(
            displayable(read.as_ref())
                .one_line()
                .to_string()
                .contains("dealt out by unit")
        );
        Ok(Transformed::yes(read))
    });
    let transformed = transformed.unwrap();
    transformed.transformed.then_some(transformed.data)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_that_are_dealt_out_by_unit_give_the_same(
        table in table(), question in question(), runs in [run(), run()], parts in 1usize..5,
    ) {
        wait(async {
            let secret = Secret::new("0123456789abcdef").unwrap();
            let question = Question { secret, ..question };
            let expected = ask(&table, &runs[0], &question, Form::Relational).await.unwrap();
            let context = table.context(&runs[1], Arc::default());
            let bounding = question.bounding(&table, input(&context).await);
            let plan = bounding.plan(Form::Partitioned).unwrap();
            let planned = context.state().create_physical_plan(&plan).await.unwrap();
            let Some(planned) = dealt(planned, parts, &context) else {
                return Ok(());
            };
            let batches = run_plan(planned, context.task_ctx()).await.unwrap();
            prop_assert_eq!(question.with_all(answer(&batches, question.numbers())), expected);
            Ok(())
        })?;
    }
}

/// One machine's share of a plan over sorted rows, and the operator whose share it is; nothing if the plan has no such operator. Going through bytes gives the same operator, but for ties of hashes, which
/// tests alone provoke.
async fn share(table: &Table, run: &Run, question: &Question) -> Option<[Arc<dyn ExecutionPlan>; 2]> {
    let context = table.context(run, Arc::default());
    let bounding = question.bounding(table, input(&context).await);
    let plan = bounding.plan(Form::Clustered).unwrap();
    let plan = context.state().create_physical_plan(&plan).await.unwrap();
    let bounding = operator(&plan, "ContributionBoundExec")?;
    assert_eq!(remote::needs(&bounding), Some(Needs::SortedParts));
    let rows = Arc::clone(bounding.children()[0]);
    let parts = remote::over_sorted_parts(&bounding, Arc::clone(&rows)).unwrap();
    let bytes = remote::operator_to_bytes(&parts).unwrap().unwrap();
    let read = remote::operator_from_bytes(&bytes, rows, &context.state()).unwrap();
    assert_eq!(read.schema(), parts.schema());
    assert_eq!(remote::operator_to_bytes(&read).unwrap().unwrap(), bytes);
    // What joins parts is never sent.
    let joined = remote::joined(&bounding, Arc::clone(&parts)).unwrap();
    let bytes = remote::operator_to_bytes(&joined).unwrap().unwrap();
    let read = remote::operator_from_bytes(&bytes, Arc::clone(&parts), &context.state());
    assert!(read.is_err());
    Some([parts, bounding])
}

/// The sums of totals by key.
fn summed(batches: &[RecordBatch], numbers: usize) -> Answer {
    let mut sums = Answer::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            for (name, values) in answer(&[batch.slice(row, 1)], numbers) {
                let sum = sums.entry(name).or_insert_with(|| vec![0; numbers]);
                sum.iter_mut()
                    .zip(values)
                    .for_each(|(sum, value)| *sum = sum.wrapping_add(value));
            }
        }
    }
    sums
}

/// How rows come to machines.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Layout {
    /// Sorted, and cut.
    Sorted,
    /// In any order, and cut.
    Any,
    /// Sorted on each machine, and one after the other to the machines in turn: units between the ends of one machine are on others too.
    InTurn,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// Sorted rows on several machines, in several parts on each: a unit may begin in one and end in another. Rows that are not sorted, or lie on several machines between the ends of one, are answered as well, or refused as what they are.
    #[test]
    fn sorted_parts_of_several_machines_give_the_same(
        table in table(), question in question(), runs in prop::collection::vec((run(), 0usize..60), 1..4),
        layout in prop_oneof![3 => Just(Layout::Sorted), 1 => Just(Layout::Any), 2 => Just(Layout::InTurn)],
    ) {
        wait(async {
            let expected = ask(&table, &runs[0].0, &question, Form::Relational).await.unwrap();
            let table = if layout == Layout::Any { table } else { table.sorted() };
            let mut rows = table.rows.clone();
            let in_turn = |machine: usize| table.rows.iter().skip(machine).step_by(runs.len()).cloned().collect();
            let (mut shares, mut whole) = (Vec::new(), None);
            for (place, (run, cut)) in runs.iter().enumerate() {
                let cut = if place + 1 == runs.len() { rows.len() } else { (*cut).min(rows.len()) };
                let left = rows.split_off(cut);
                let cut = std::mem::replace(&mut rows, left);
                let rows = if layout == Layout::InTurn { in_turn(place) } else { cut };
                let some = Table { rows, ..table.clone() };
                let Some([share, bounding]) = share(&some, run, &question).await else {
                    return Ok(());
                };
                // No message has more rows than a batch.
                let context = SessionContext::new();
                if let Ok(batches) = run_plan(Arc::clone(&share), context.task_ctx()).await {
                    prop_assert!(batches.iter().all(|batch| batch.num_rows() <= run.batch_size));
                }
                shares.push(share);
                whole = Some(bounding);
            }
            let shares = UnionExec::try_new(shares).unwrap();
            let joined = remote::joined(&whole.unwrap(), shares).unwrap();
            let context = SessionContext::new();
            match run_plan(joined, context.task_ctx()).await {
                Ok(batches) => {
                    let mut found = summed(&batches, question.numbers());
                    if table.keys.is_empty() {
                        // All rows are one group, also where there are none.
                        found.entry(String::new()).or_insert_with(|| vec![0; question.numbers()]);
                    }
                    prop_assert_eq!(question.with_all(found), expected);
                }
                Err(error) => prop_assert!(layout != Layout::Sorted && crate::is_not_clustered(&error), "{error}"),
            }
            Ok(())
        })?;
    }
}

#[test]
fn operators_of_other_shapes_are_not_read() {
    let table = Table {
        unit: Kind::Int,
        keys: vec![Kind::Text],
        rows: Vec::new(),
    };
    let run = Run {
        threads: 2,
        batch_size: 8,
        cuts: Vec::new(),
    };
    wait(async {
        let context = table.context(&run, Arc::default());
        let secret = Secret::new("0123456789abcdef").unwrap();
        let partials = [Partial::Rows { most: 3 }];
        let plan = table.bounding(input(&context).await, &partials, Some(2), secret);
        let plan = context
            .state()
            .create_physical_plan(&plan.plan(Form::Partitioned).unwrap())
            .await
            .unwrap();
        let bounding = operator(&plan, "ContributionBoundExec").unwrap();
        let bytes = remote::operator_to_bytes(&bounding).unwrap().unwrap();
        let rows = Arc::clone(bounding.children()[0]);
        let state = context.state();
        let read = |bytes: &[u8]| remote::operator_from_bytes(bytes, Arc::clone(&rows), &state);
        assert!(read(&bytes).is_ok());
        let text = String::from_utf8(bytes).unwrap();
        for (from, to) in [
            ("\"keys\":1", "\"keys\":9"),
            ("\"groups\":2", "\"groups\":0"),
            ("\"most\":3", "\"most\":0"),
            ("\"most\":3", "\"most\":3,\"more\":1"),
            ("0123456789abcdef", "not hexadecimal"),
            ("{", "["),
        ] {
            assert!(text.contains(from), "{text}");
            let changed = text.replacen(from, to, 1);
            // A partial may carry keys that nobody reads; everything else that is off is refused.
            let outcome = read(changed.as_bytes());
            assert_eq!(outcome.is_ok(), to.contains("more"), "{changed}");
        }
    });
}
