//! The library from outside: gradients, batches, optimisers, training, model files, indexes.

mod batches;
mod checkpoints;
mod embedding;
mod explanations;
mod files;
mod gradients;
mod holding_out;
mod optimizers;
mod projecting;
mod scores;
mod states;
mod support;
mod tails;
mod teaching;
mod titles;
mod together;
mod training;
