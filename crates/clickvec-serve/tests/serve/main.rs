//! The service as a whole, over real sockets; every answer is held against the description that the service gives.

mod api;
mod clicks;
mod damage;
mod fields;
mod harness;
mod hostile;
mod limits;
mod openai;
mod reload;
mod schema;
#[path = "../../../clickvec-transformer/tests/tiny/mod.rs"]
mod tiny;
mod tokens;
