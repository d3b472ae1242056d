//! Tables, and plans over them.

use bound::{Bounding, Form, GivenRows, Partial, RowBounding, Secret, session, session_with_all_rules};
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::catalog::memory::{DataSourceExec, MemorySourceConfig};
use datafusion::common::Column;
use datafusion::datasource::MemTable;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use std::collections::BTreeSet;
use std::sync::Arc;
use verify::{Defect, Kind, Leaf, Naming, Node, Number, derive, sensitivity};

pub(crate) type Plan = Arc<dyn ExecutionPlan>;

/// `visits` and `trips` are owned by `person`; in `answers` each row is one person; `wards` is public, and `ward_name` is its key.
fn tables() -> [(&'static str, SchemaRef); 4] {
    let schema = |columns: &[(&str, DataType)]| {
        let field = |(name, of): &(&str, DataType)| Field::new(*name, of.clone(), true);
        Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
    };
    let (text, whole) = (DataType::Utf8View, DataType::Int64);
    [
        (
            "visits",
            schema(&[
                ("person", text.clone()),
                ("ward", text.clone()),
                ("cost", whole.clone()),
                ("day", whole.clone()),
            ]),
        ),
        (
            "trips",
            schema(&[
                ("traveller", text.clone()),
                ("place", text.clone()),
                ("km", whole.clone()),
            ]),
        ),
        (
            "answers",
            schema(&[("answer", text.clone()), ("age", whole.clone())]),
        ),
        ("wards", schema(&[("ward_name", text), ("floor", whole)])),
    ]
}

fn rows(schema: &SchemaRef) -> RecordBatch {
    let column = |field: &Arc<Field>| -> ArrayRef {
        match field.data_type() {
            DataType::Int64 => Arc::new(Int64Array::from(vec![1, 2, 3])),
            _ => Arc::new(StringViewArray::from(vec!["ada", "ada", "bob"])),
        }
    };
    RecordBatch::try_new(Arc::clone(schema), schema.fields().iter().map(column).collect()).unwrap()
}

fn with_tables(context: SessionContext) -> SessionContext {
    for (name, schema) in tables() {
        let batch = rows(&schema);
        let table: Arc<dyn TableProvider> = match name {
            "wards" => Arc::new(MemTable::try_new(schema, vec![vec![batch]]).unwrap()),
            _ => Arc::new(GivenRows::new(schema, vec![batch]).unwrap()),
        };
        context.register_table(name, table).unwrap();
    }
    context
}

/// The session of private rows.
pub(crate) fn closed() -> SessionContext {
    with_tables(session(
        SessionConfig::new().with_target_partitions(3),
        Arc::default(),
    ))
}

/// The engine with all of its rules and operators.
pub(crate) fn open() -> SessionContext {
    let mut config = SessionConfig::new().with_target_partitions(3);
    // A filter that is learned would be refused before anything else.
    config.options_mut().optimizer.enable_dynamic_filter_pushdown = false;
    let optimizer = &mut config.options_mut().optimizer;
    optimizer.enable_join_dynamic_filter_pushdown = false;
    optimizer.enable_topk_dynamic_filter_pushdown = false;
    optimizer.enable_aggregate_dynamic_filter_pushdown = false;
    with_tables(session_with_all_rules(config, Arc::default()))
}

fn done<T>(task: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(task)
}

/// What a SELECT means, before any rule of the engine.
pub(crate) fn meant(context: &SessionContext, sql: &str) -> LogicalPlan {
    done(context.sql(sql)).unwrap().into_unoptimized_plan()
}

pub(crate) fn planned(context: &SessionContext, plan: &LogicalPlan) -> Plan {
    done(context.state().create_physical_plan(plan)).unwrap()
}

/// The plan of a SELECT.
pub(crate) fn of_sql(sql: &str) -> Plan {
    let context = open();
    planned(&context, &meant(&context, sql))
}

pub(crate) fn secret() -> Secret {
    Secret::new("00112233445566778899aabbccddeeff").unwrap()
}

/// Two groups of a person; a sum between −3 and 10, and five rows.
pub(crate) fn bounding(input: LogicalPlan) -> Bounding {
    Bounding {
        input,
        unit: Column::from_name("person"),
        keys: vec![Column::from_name("ward")],
        arguments: vec![Column::from_name("cost")],
        partials: vec![
            Partial::Units,
            Partial::Rows { most: 5 },
            Partial::Sum {
                argument: 0,
                low: -3,
                high: 10,
            },
        ],
        groups: Some(2),
        lengths: Vec::new(),
        beside: None,
        secret: secret(),
    }
}

pub(crate) fn bounded_as(context: &SessionContext, sql: &str, form: Form) -> Plan {
    let plan = bounding(meant(context, sql)).plan(form).unwrap();
    planned(context, &plan)
}

/// A SELECT of `person`, `ward` and `cost`, bounded.
pub(crate) fn bounded(sql: &str) -> Plan {
    bounded_as(&closed(), sql, Form::Partitioned)
}

/// The same made by the engine with all of its rules.
pub(crate) fn bounded_openly(sql: &str) -> Plan {
    bounded_as(&open(), sql, Form::Partitioned)
}

/// Four rows of a person in each of two groups.
pub(crate) fn row_bounding(context: &SessionContext, sql: &str) -> RowBounding {
    RowBounding {
        input: meant(context, sql),
        unit: Column::from_name("person"),
        keys: vec![Column::from_name("ward")],
        value: Column::from_name("cost"),
        rows: 4,
        in_all: None,
        groups: Some(2),
        secret: secret(),
    }
}

/// What the catalog says: told by the first column that a table has.
pub(crate) fn leaves(scan: &Plan) -> Option<Leaf> {
    let source = scan.downcast_ref::<DataSourceExec>()?.data_source();
    let schema = source.downcast_ref::<MemorySourceConfig>()?.original_schema();
    let owned = |owner| {
        Some(Leaf::Private {
            owner,
            rows: None,
            keys: Vec::new(),
        })
    };
    match schema.field(0).name().as_str() {
        name @ ("person" | "traveller") => owned(Naming::Column(name.to_owned())),
        "answer" => owned(Naming::EachRow),
        "ward_name" => Some(Leaf::Public {
            unique: vec![BTreeSet::from(["ward_name".to_owned()])],
        }),
        _ => None,
    }
}

/// The same, where the catalog promises that a person has one visit.
pub(crate) fn leaves_with_one_visit(scan: &Plan) -> Option<Leaf> {
    match leaves(scan)? {
        Leaf::Private { owner, keys, .. } if owner != Naming::EachRow => Some(Leaf::Private {
            owner,
            rows: Some(1),
            keys,
        }),
        other => Some(other),
    }
}

pub(crate) fn tree(plan: &Plan) -> Result<Node, Defect> {
    derive(plan, &leaves)
}

fn shown(plan: &Plan) -> String {
    datafusion::physical_plan::displayable(plan.as_ref())
        .indent(false)
        .to_string()
}

#[track_caller]
pub(crate) fn is_refused(plan: &Plan, kind: Kind) {
    match tree(plan) {
        Ok(tree) => panic!("accepted:\n{}\n{}", tree.to_text(), shown(plan)),
        Err(defect) => assert_eq!(defect.kind, kind, "{defect:?}\n{}", shown(plan)),
    }
}

/// The sensitivity as four numbers: ℓ₀, ℓ₁, ℓ₂², ℓ∞.
#[track_caller]
pub(crate) fn moves(plan: &Plan, number: Number, neighbors: accounting::Neighbors) -> [u64; 4] {
    match sensitivity(plan, &leaves, number, neighbors) {
        Ok(found) => {
            let whole = |value: &exact::Rational| u64::try_from(value.numerator()).unwrap();
            [
                found.coordinates(),
                whole(found.l1()),
                whole(found.l2_squared()),
                whole(found.l_infinity()),
            ]
        }
        Err(defect) => panic!("{defect:?}\n{}", shown(plan)),
    }
}
