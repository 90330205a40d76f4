//! Numbers: the matrix, the product of matrices, activations, sums of rows, and products of codes.
//!
//! Every kernel exists once, generic over the processor's vector width, and is compiled for
//! each [`Level`]; the level is picked at run time, so one binary serves every processor.

pub mod activation;
pub mod bf16;
pub mod buffer;
pub(crate) mod byte_lanes;
pub mod gemm;
pub(crate) mod lanes;
pub mod level;
pub mod matrix;
pub(crate) mod nibbles;
pub(crate) mod prefetch;
pub(crate) mod score;
pub mod sparse;
pub mod vector;

pub use bf16::Precision;
pub use buffer::Buffer;
pub use level::Level;
pub use matrix::Matrix;
