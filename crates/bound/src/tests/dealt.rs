use super::*;
use crate::remote::{self, Needs};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_expr::expressions::Column as PhysicalColumn;
use datafusion::physical_expr::{Partitioning, PhysicalExpr};
use datafusion::physical_plan::repartition::RepartitionExec;
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
        table in table(), partials in partials(), groups in groups(), runs in [run(), run()], parts in 1usize..5,
    ) {
        wait(async {
            let secret = Secret::new("0123456789abcdef").unwrap();
            let question = Question { partials, groups, secret };
            let expected = ask(&table, &runs[0], &question, Form::Relational).await.unwrap();
            let context = table.context(&runs[1], Arc::default());
            let secret = question.secret.clone();
            let bounding = table.bounding(input(&context).await, &question.partials, question.groups, secret);
            let plan = bounding.plan(Form::Partitioned).unwrap();
            let planned = context.state().create_physical_plan(&plan).await.unwrap();
            let Some(planned) = dealt(planned, parts, &context) else {
                return Ok(());
            };
            let batches = run_plan(planned, context.task_ctx()).await.unwrap();
            prop_assert_eq!(answer(&batches, question.partials.len()), expected);
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
