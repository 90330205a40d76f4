//! The library from outside: gradients, batches, optimisers, training, model files.

mod batches;
mod checkpoints;
mod embedding;
mod files;
mod gradients;
mod optimizers;
mod support;
mod training;
