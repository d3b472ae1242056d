//! The functions that markers call, so that the engine's planner can resolve them.

use crate::values::facts::Kind;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, internal_err, plan_err};
use datafusion::functions_aggregate::median::median_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, Expr, GroupsAccumulator, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use datafusion::logical_expr::{cast, lit, when};
use std::sync::Arc;

/// Ties a `SELECT` to its options.
pub(crate) const SELECT: &str = "__deniable_select";
/// Bounds what a unit adds to a group.
pub(crate) const PER_GROUP: &str = "__deniable_per_group";
/// Bounds each value.
pub(crate) const PER_ROW: &str = "__deniable_per_row";
/// A quantile, as an aggregate.
pub(crate) const QUANTILE: &str = "__deniable_quantile";
/// The most frequent value, as an aggregate.
pub(crate) const MODE: &str = "__deniable_mode";
/// Which of `n` equal buckets between two numbers a value falls into. Not a marker: it can be evaluated.
pub(crate) const WIDTH_BUCKET: &str = "width_bucket";

/// All functions that a query read here may call and the engine does not have.
pub(crate) fn marker_functions() -> (Vec<ScalarUDF>, Vec<AggregateUDF>) {
    // Nothing may compute a marker before the private planner has seen it, not even when its arguments are constants.
    let select = Marker {
        name: SELECT,
        returns: Some(DataType::Boolean),
        signature: Signature::any(1, Volatility::Volatile),
    };
    let bounds = |name| Marker {
        name,
        returns: None,
        signature: Signature::any(3, Volatility::Immutable),
    };
    let mut scalars = vec![
        ScalarUDF::new_from_impl(select),
        ScalarUDF::new_from_impl(bounds(PER_GROUP)),
        ScalarUDF::new_from_impl(bounds(PER_ROW)),
        ScalarUDF::new_from_impl(WidthBucket {
            signature: Signature::any(4, Volatility::Immutable),
        }),
    ];
    scalars.extend(
        crate::values::scalar::functions()
            .iter()
            .map(|function| function.as_ref().clone()),
    );
    let quantile = Quantile {
        signature: Signature::any(2, Volatility::Immutable),
    };
    let mode = Mode {
        signature: Signature::any(1, Volatility::Immutable),
    };
    let median = Median {
        inner: median_udaf(),
        signature: Signature::one_of(
            vec![
                TypeSignature::Numeric(1),
                TypeSignature::Exact(vec![Kind::Date.data_type()]),
                TypeSignature::Exact(vec![Kind::Timestamp.data_type()]),
            ],
            Volatility::Immutable,
        ),
    };
    let aggregates = vec![
        AggregateUDF::new_from_impl(median),
        AggregateUDF::new_from_impl(quantile),
        AggregateUDF::new_from_impl(mode),
    ];
    (scalars, aggregates)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Marker {
    name: &'static str,
    /// `None`: what the first argument is.
    returns: Option<DataType>,
    signature: Signature,
}

impl ScalarUDFImpl for Marker {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match (&self.returns, arguments) {
            (Some(data_type), _) => Ok(data_type.clone()),
            (None, [first, ..]) => Ok(first.clone()),
            (None, []) => plan_err!("{} needs arguments", self.name),
        }
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("the marker {} was left in a plan", self.name)
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Quantile {
    signature: Signature,
}

impl AggregateUDFImpl for Quantile {
    fn name(&self) -> &str {
        QUANTILE
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Of dates one of them, else a number.
    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(match arguments.first() {
            Some(date @ (DataType::Date32 | DataType::Timestamp(..))) => date.clone(),
            _ => DataType::Float64,
        })
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        internal_err!("the marker {QUANTILE} was left in a plan")
    }
}

/// The engine's median, which can also be asked of private dates. Of released numbers it is computed; of released dates it is not.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Median {
    inner: Arc<AggregateUDF>,
    signature: Signature,
}

impl AggregateUDFImpl for Median {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments.first() {
            Some(date @ (DataType::Date32 | DataType::Timestamp(..))) => Ok(date.clone()),
            _ => self.inner.return_type(arguments),
        }
    }

    fn accumulator(&self, arguments: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.inner.accumulator(arguments)
    }

    fn state_fields(&self, arguments: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(arguments)
    }

    fn groups_accumulator_supported(&self, arguments: AccumulatorArgs) -> bool {
        self.inner.groups_accumulator_supported(arguments)
    }

    fn create_groups_accumulator(&self, arguments: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        self.inner.create_groups_accumulator(arguments)
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Mode {
    signature: Signature,
}

impl AggregateUDFImpl for Mode {
    fn name(&self) -> &str {
        MODE
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [value] => Ok(value.clone()),
            _ => plan_err!("MODE takes one value"),
        }
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        internal_err!("the marker {MODE} was left in a plan")
    }
}

/// SQL's `width_bucket(x, low, high, n)`: 0 below `low`, n + 1 from `high` on, and which of n equal parts in between.
#[derive(Debug, PartialEq, Eq, Hash)]
struct WidthBucket {
    signature: Signature,
}

impl ScalarUDFImpl for WidthBucket {
    fn name(&self) -> &str {
        WIDTH_BUCKET
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("{WIDTH_BUCKET} is computed by the expression that it simplifies to")
    }

    /// Over released results the engine computes it, as this expression.
    fn simplify(&self, arguments: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let Ok([value, low, high, buckets]) = <[Expr; 4]>::try_from(arguments) else {
            return plan_err!("{WIDTH_BUCKET} takes a value, two bounds and a number of buckets");
        };
        let float = |expression| cast(expression, DataType::Float64);
        let integer = |expression| cast(expression, DataType::Int64);
        let (value, low, high) = (float(value), float(low), float(high));
        let place = (value.clone() - low.clone()) / (high.clone() - low.clone()) * float(buckets.clone());
        let place =
            datafusion::functions::expr_fn::least(vec![integer(place) + lit(1i64), integer(buckets.clone())]);
        let bucket = when(value.clone().lt(low), lit(0i64))
            .when(value.clone().gt_eq(high), integer(buckets) + lit(1i64))
            .when(value.is_not_null(), place)
            .end()?;
        Ok(ExprSimplifyResult::Simplified(bucket))
    }
}
