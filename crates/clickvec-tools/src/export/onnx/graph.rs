//! A graph under construction: each node is added with its inputs and gives the name of its output.

use prost::Message as _;

use super::proto::{
    AttributeProto, DimensionProto, FLOAT, GraphProto, INT64, IR_VERSION, ModelProto, NodeProto, OPERATORS,
    OperatorSetIdProto, StringStringEntryProto, TensorProto, TensorShapeProto, TensorTypeProto, TypeProto,
    ValueInfoProto,
};

/// A graph under construction.
#[derive(Default)]
pub(super) struct Graph {
    nodes: Vec<NodeProto>,
    constants: Vec<TensorProto>,
}

/// A size of an input or output.
#[derive(Clone, Copy)]
pub(super) enum Size {
    /// It is always this.
    Fixed(usize),
    /// It differs from run to run.
    Named(&'static str),
}

/// Returns an attribute of a node that is a whole number.
pub(super) fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto { name: name.to_owned(), i: value, r#type: 2, ..AttributeProto::default() }
}

/// Returns an attribute of a node that is a list of whole numbers.
pub(super) fn ints(name: &str, values: &[i64]) -> AttributeProto {
    AttributeProto { name: name.to_owned(), ints: values.to_vec(), r#type: 7, ..AttributeProto::default() }
}

/// Returns an attribute of a node that is a text.
pub(super) fn string(name: &str, value: &str) -> AttributeProto {
    AttributeProto { name: name.to_owned(), s: value.as_bytes().to_vec(), r#type: 3, ..AttributeProto::default() }
}

impl Graph {
    /// Adds a constant of 32-bit floats with this shape.
    pub(super) fn floats(&mut self, shape: &[usize], values: impl IntoIterator<Item = f32>) -> String {
        let raw_data: Vec<u8> = values.into_iter().flat_map(f32::to_le_bytes).collect();
        debug_assert_eq!(raw_data.len(), 4 * shape.iter().product::<usize>(), "{shape:?}");
        self.constant(shape, FLOAT, raw_data)
    }

    /// Adds a constant list of whole numbers.
    pub(super) fn integers(&mut self, values: &[i64]) -> String {
        self.constant(&[values.len()], INT64, values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }

    /// Adds a constant whole number.
    pub(super) fn integer(&mut self, value: i64) -> String {
        self.constant(&[], INT64, value.to_le_bytes().to_vec())
    }

    fn constant(&mut self, shape: &[usize], data_type: i32, raw_data: Vec<u8>) -> String {
        let name = format!("constant{}", self.constants.len());
        let dims = shape.iter().map(|&size| size as i64).collect();
        self.constants.push(TensorProto { dims, data_type, name: name.clone(), raw_data });
        name
    }

    /// Adds a node with one output.
    pub(super) fn node(&mut self, operator: &str, inputs: &[&str], attributes: Vec<AttributeProto>) -> String {
        self.nth_output(operator, inputs, attributes, 0)
    }

    /// Adds a node of which only one output is used.
    pub(super) fn nth_output(
        &mut self,
        operator: &str,
        inputs: &[&str],
        attributes: Vec<AttributeProto>,
        output: usize,
    ) -> String {
        let name = format!("{}{}", operator.to_ascii_lowercase(), self.nodes.len());
        // An output without a name is not computed.
        let mut outputs = vec![String::new(); output];
        outputs.push(name.clone());
        self.nodes.push(NodeProto {
            input: inputs.iter().map(|&input| input.to_owned()).collect(),
            output: outputs,
            name: name.clone(),
            op_type: operator.to_owned(),
            attribute: attributes,
        });
        name
    }

    /// Calls what is called `from` so far `to`.
    pub(super) fn rename(&mut self, from: &str, to: &str) {
        let names = self.nodes.iter_mut().flat_map(|node| node.input.iter_mut().chain(&mut node.output));
        names.filter(|name| *name == from).for_each(|name| to.clone_into(name));
    }

    /// Returns the bytes of the model: inputs of whole numbers and an output of floats, each with its name and sizes.
    pub(super) fn finish(
        self,
        inputs: &[(&str, &[Size])],
        output: (&str, &[Size]),
        metadata: &[(&str, &str)],
    ) -> Vec<u8> {
        let value = |(name, sizes): (&str, &[Size]), elem_type| ValueInfoProto {
            name: name.to_owned(),
            r#type: Some(TypeProto {
                tensor_type: Some(TensorTypeProto {
                    elem_type,
                    shape: Some(TensorShapeProto { dim: sizes.iter().copied().map(dimension).collect() }),
                }),
            }),
        };
        let graph = GraphProto {
            node: self.nodes,
            name: "clickvec".to_owned(),
            initializer: self.constants,
            input: inputs.iter().map(|&input| value(input, INT64)).collect(),
            output: vec![value(output, FLOAT)],
        };
        let entry =
            |&(key, value): &(&str, &str)| StringStringEntryProto { key: key.to_owned(), value: value.to_owned() };
        let model = ModelProto {
            ir_version: IR_VERSION,
            producer_name: "clickvec".to_owned(),
            producer_version: env!("CARGO_PKG_VERSION").to_owned(),
            graph: Some(graph),
            opset_import: vec![OperatorSetIdProto { domain: String::new(), version: OPERATORS }],
            metadata_props: metadata.iter().map(entry).collect(),
        };
        model.encode_to_vec()
    }
}

fn dimension(size: Size) -> DimensionProto {
    match size {
        Size::Fixed(size) => DimensionProto { dim_value: Some(size as i64), dim_param: None },
        Size::Named(name) => DimensionProto { dim_value: None, dim_param: Some(name.to_owned()) },
    }
}
