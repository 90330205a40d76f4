//! The search service: HTTP in front of the indexes that `clickvec-index` opens.
//!
//! ```no_run
//! use clickvec_serve::{Config, Server};
//!
//! # fn main() -> clickvec_serve::Result<()> {
//! let indexes = vec![("shop".to_owned(), "shop.index".into())];
//! let server = Server::start(Config::new(indexes), std::io::stderr())?;
//! println!("http://{}", server.address());
//! # server.stop();
//! # Ok(())
//! # }
//! ```
//!
//! A request passes a bound on connections, past which only health and figures are answered; then a bounded queue with a
//! deadline; then as many workers as there are cores. [`Limits`] has every bound.
//!
//! [`JudgePage`] serves another page, to one person: titles to grade, which go to a [`Sheet`].

mod answer;
mod clicks;
mod clients;
mod clock;
mod config;
mod connection;
mod error;
mod fault;
mod front;
#[cfg(fuzzing)]
pub mod fuzzing;
mod generation;
mod growing;
mod hosts;
mod judging;
mod limits;
mod log;
mod memory;
mod metrics;
mod openapi;
mod permits;
mod pins;
mod records;
mod request;
mod routes;
mod server;
mod service;
mod sheet;
mod suggestions;
mod tokens;
mod workers;

pub use config::Config;
pub use error::{Error, Result};
pub use generation::Canary;
pub use judging::{JudgePage, Step};
pub use limits::Limits;
pub use server::Server;
pub use sheet::{Sheet, SheetRow};
pub use tokens::Tokens;
