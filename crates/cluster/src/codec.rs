//! Our operators and functions on their way to workers.
//!
//! The exchange encodes a plan node by node. It asks us for the nodes that the engine does not know, but
//! never for functions: it sends those by name alone. So a function with parameters (the ends of a range,
//! say) would arrive without them, or as another function of the same name. Therefore every node that holds
//! expressions travels as one of ours ([`Shipped`]), which encodes it by itself, with its functions.

use crate::seal::SealExec;
use crate::spread::over;
use bound::remote;
use datafusion::catalog::Session;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err, not_impl_err, plan_err};
use datafusion::execution::context::SessionState;
use datafusion::execution::{FunctionRegistry, SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{AggregateUDF, ScalarUDF, WindowUDF};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, displayable};
use datafusion_proto::bytes::{
    physical_plan_from_bytes_with_extension_codec, physical_plan_to_bytes_with_extension_codec,
};
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use std::fmt::{Debug, Formatter};
use std::sync::Arc;

/// Functions of the program that uses a cluster, as bytes.
pub trait Functions: Debug + Send + Sync {
    /// A function as bytes, or nothing if it is not one of these.
    fn encode(&self, function: &ScalarUDF) -> Option<Vec<u8>>;

    /// The function that [`Functions::encode`] wrote.
    ///
    /// # Errors
    /// If the bytes are not those of a function.
    fn decode(&self, bytes: &[u8]) -> Result<ScalarUDF>;
}

/// Whose function it is.
const OF_BOUND: u8 = b'b';
const GIVEN: u8 = b'g';

/// What a node of ours is.
const BOUNDING: u8 = b'b';
const SHIPPED: u8 = b's';
const SEAL: u8 = b'e';

/// The codec of both ends.
#[derive(Clone)]
pub(crate) struct Codec {
    functions: Arc<dyn Functions>,
    /// Knows the engine's own functions, and plans the expressions of our operators.
    session: Arc<SessionState>,
}

impl Codec {
    pub(crate) fn new(functions: Arc<dyn Functions>, session: SessionState) -> Self {
        Self {
            functions,
            session: Arc::new(session),
        }
    }

    /// Whether a node is read as it was written: what cannot be sent, or would arrive as something else, is
    /// found before anything is charged.
    pub(crate) fn check(&self, node: &Arc<dyn ExecutionPlan>) -> Result<()> {
        let bytes = self.node_to_bytes(node)?;
        let children: Vec<_> = node.children().into_iter().cloned().collect();
        let read = self.node_from_bytes(&bytes, &children)?;
        let words = |node: &Arc<dyn ExecutionPlan>| displayable(node.as_ref()).one_line().to_string();
        let same = self.node_to_bytes(&read)? == bytes && words(&read) == words(node);
        match same && read.schema() == node.schema() {
            true => Ok(()),
            false => internal_err!("{} is not read as it was written", node.name()),
        }
    }

    /// The node, if it is.
    pub(crate) fn checked(&self, node: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        self.check(&node)?;
        Ok(node)
    }

    /// A node without what is below it.
    fn node_to_bytes(&self, node: &Arc<dyn ExecutionPlan>) -> Result<Vec<u8>> {
        let nothing = |child: &&Arc<dyn ExecutionPlan>| {
            Arc::new(EmptyExec::new(child.schema())) as Arc<dyn ExecutionPlan>
        };
        let children = node.children().iter().map(nothing).collect();
        let alone = over(node, children)?;
        Ok(physical_plan_to_bytes_with_extension_codec(alone, self)?.to_vec())
    }

    fn node_from_bytes(
        &self,
        bytes: &[u8],
        children: &[Arc<dyn ExecutionPlan>],
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let context = self.session.task_ctx();
        let node = physical_plan_from_bytes_with_extension_codec(bytes, &context, self)?;
        if node.children().len() != children.len() {
            return plan_err!("a node of a plan has lost its inputs");
        }
        over(&node, children.to_vec())
    }
}

impl Debug for Codec {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Codec")
    }
}

impl PhysicalExtensionCodec for Codec {
    fn try_decode(
        &self,
        bytes: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        _: &TaskContext,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (bytes.split_first(), inputs) {
            (Some((&BOUNDING, bytes)), [input]) => {
                remote::operator_from_bytes(bytes, Arc::clone(input), &*self.session as &dyn Session)
            }
            (Some((&SHIPPED, bytes)), inputs) => self.node_from_bytes(bytes, inputs),
            (Some((&SEAL, [])), [input]) => Ok(Arc::new(SealExec::adding(Arc::clone(input)))),
            _ => plan_err!("a node of a plan is not known here"),
        }
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        bytes: &mut Vec<u8>,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        if let Some(shipped) = node.downcast_ref::<Shipped>() {
            bytes.push(SHIPPED);
            bytes.extend(&shipped.bytes);
            return Ok(());
        }
        if node.downcast_ref::<SealExec>().is_some_and(SealExec::adds) {
            bytes.push(SEAL);
            return Ok(());
        }
        match remote::operator_to_bytes(&node)? {
            Some(written) => {
                bytes.push(BOUNDING);
                bytes.extend(written);
                Ok(())
            }
            None => not_impl_err!("{} is not sent to workers", node.name()),
        }
    }

    fn try_decode_udf(&self, name: &str, bytes: &[u8]) -> Result<Arc<ScalarUDF>> {
        let function = match bytes.split_first() {
            Some((&OF_BOUND, bytes)) => remote::function_from_bytes(bytes)?,
            Some((&GIVEN, bytes)) => self.functions.decode(bytes)?,
            _ => return plan_err!("function {name} is not known here"),
        };
        match function.name() == name {
            true => Ok(Arc::new(function)),
            false => plan_err!("function {name} is not what it is called"),
        }
    }

    /// One of the engine's own is known by its name, if it is the one that everybody knows by that name.
    fn try_encode_udf(&self, function: &ScalarUDF, bytes: &mut Vec<u8>) -> Result<()> {
        let (whose, written) = match remote::function_to_bytes(function) {
            Some(written) => (OF_BOUND, written),
            None => match self.functions.encode(function) {
                Some(written) => (GIVEN, written),
                None if self
                    .session
                    .udf(function.name())
                    .is_ok_and(|known| *known == *function) =>
                {
                    return Ok(());
                }
                None => return not_impl_err!("function {} is not sent to workers", function.name()),
            },
        };
        bytes.push(whose);
        bytes.extend(written);
        Ok(())
    }

    fn try_encode_udaf(&self, function: &AggregateUDF, _: &mut Vec<u8>) -> Result<()> {
        match self
            .session
            .udaf(function.name())
            .is_ok_and(|known| *known == *function)
        {
            true => Ok(()),
            false => not_impl_err!("function {} is not sent to workers", function.name()),
        }
    }

    fn try_encode_udwf(&self, function: &WindowUDF, _: &mut Vec<u8>) -> Result<()> {
        match self
            .session
            .udwf(function.name())
            .is_ok_and(|known| *known == *function)
        {
            true => Ok(()),
            false => not_impl_err!("function {} is not sent to workers", function.name()),
        }
    }
}

/// A node of the engine that is encoded by us; a worker has the node itself.
#[derive(Debug)]
pub(crate) struct Shipped {
    node: Arc<dyn ExecutionPlan>,
    bytes: Vec<u8>,
}

impl Shipped {
    /// The node, encoded at once: what cannot be sent is found before anything is charged. What was encoded
    /// is decoded and encoded again, and must be the same.
    pub(crate) fn new(node: Arc<dyn ExecutionPlan>, codec: &Codec) -> Result<Self> {
        codec.check(&node)?;
        let bytes = codec.node_to_bytes(&node)?;
        Ok(Self { node, bytes })
    }
}

impl DisplayAs for Shipped {
    fn fmt_as(&self, format: DisplayFormatType, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        self.node.fmt_as(format, formatter)
    }
}

impl ExecutionPlan for Shipped {
    fn name(&self) -> &str {
        self.node.name()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.node.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.node.children()
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.node.apply_expressions(visit)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self {
            node: over(&self.node, children)?,
            bytes: self.bytes.clone(),
        }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.node.execute(partition, context)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        self.node.metrics()
    }
}
