//! The search service: HTTP in front of the indexes that `clickvec-index` opens.
//!
//! ```no_run
//! use clickvec_serve::{Config, Server};
//!
//! # fn main() -> clickvec_serve::Result<()> {
//! let indexes = vec![("shop".to_owned(), "shop.index".into())];
//! let server = Server::start(Config::new(indexes))?;
//! println!("http://{}", server.address());
//! # server.stop();
//! # Ok(())
//! # }
//! ```
//!
//! A request goes through three gates: a bound on connections, past which only health and figures are told; a bounded queue with a deadline, from which a random one is
//! turned away when it is full; and as many workers as there are cores. Everything else that a request may ask for has a
//! limit in [`Limits`] too.

mod call;
mod clicks;
mod clients;
mod config;
mod connection;
mod dispatch;
mod error;
mod fault;
#[cfg(fuzzing)]
pub mod fuzzing;
mod generation;
mod hosts;
mod judgments;
mod limits;
mod log;
mod metrics;
mod openapi;
mod places;
mod routes;
mod server;
mod service;
mod tokens;
mod workers;

pub use config::{Advice, Config};
pub use error::{Error, JudgmentsFault, LimitFault, NameFault, Result, SelfTestFault, TokenFault};
pub use generation::Canary;
pub use limits::Limits;
pub use server::Server;
pub use tokens::Tokens;
