//! Numbers: the matrix, the product of matrices, activations, and sums of rows.
//!
//! Every kernel exists once, generic over the processor's vector width, and is compiled for
//! each [`Level`]; the level is picked at run time, so one binary serves every processor.

pub mod activation;
pub mod gemm;
pub(crate) mod lanes;
pub mod level;
pub mod matrix;
pub(crate) mod prefetch;
pub mod sparse;
pub mod vector;

pub use level::Level;
pub use matrix::Matrix;
