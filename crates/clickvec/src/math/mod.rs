//! Numerical kernels: matrices and their products, activations, sums of rows, and products of codes.
//!
//! Every kernel exists once, generic over the processor's vector width, and is compiled for each [`Level`]. The level
//! is picked at run time, so one binary serves every processor.

pub(crate) mod activation;
pub(crate) mod buffer;
pub(crate) mod byte_lanes;
pub(crate) mod eigen;
pub(crate) mod gemm;
pub(crate) mod lanes;
pub(crate) mod level;
pub(crate) mod matrix;
pub(crate) mod nibbles;
pub(crate) mod prefetch;
pub(crate) mod rows;
pub(crate) mod score;
pub(crate) mod sparse;
pub(crate) mod vector;

pub use buffer::{Buffer, OutOfMemory};
pub use level::Level;
pub use matrix::Matrix;
