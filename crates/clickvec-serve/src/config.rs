//! The settings that a service is started with.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::generation::Canary;
use crate::limits::Limits;
use crate::tokens::Tokens;

/// The settings of a service.
#[derive(Debug, Clone)]
pub struct Config {
    /// The address to listen on; port 0 takes any that is free.
    pub listen: SocketAddr,
    /// Whether the address may be one that others can reach. Set it only behind something that speaks TLS.
    pub public: bool,
    /// The indexes: the name of each and its folder. The first one answers requests that name none.
    pub indexes: Vec<(String, PathBuf)>,
    /// Queries that a new generation must answer before it is taken.
    pub canaries: Vec<Canary>,
    /// The table of titles that have a rank of their own for a query, or that it never finds. It is read anew when it changes.
    pub pins: Option<PathBuf>,
    /// Queries that people type and that the page may show, the most frequent first.
    pub queries: Vec<String>,
    /// The limits.
    pub limits: Limits,
    /// The tokens that allow searching, and those that allow reloading and rolling back. Without the former every client may
    /// search; without the latter none may reload.
    pub tokens: Tokens,
    /// The folder of `clicks.jsonl`, to which clicks are appended, and of `judgments.tsv`, the table of judgments. It is made if it is
    /// not there; `None` refuses both.
    pub record: Option<PathBuf>,
    /// Whether clicks are also written in the form of OpenSearch's User Behavior Insights 1.3, to `ubi_queries.jsonl` and
    /// `ubi_events.jsonl` of that folder.
    pub ubi: bool,
    /// The names that requests may be sent to, besides `localhost` and numbers, as `search.example`: the header Host, which a
    /// proxy in front may pass on. A service that others can reach takes every name if there are none.
    pub hosts: Vec<String>,
    /// The origins whose pages may send requests, as `https://shop.example`.
    pub origins: Vec<String>,
    /// Whether the client of a request is the last one in the header X-Forwarded-For.
    pub forwarded: bool,
    /// Whether the log has the queries. They are personal.
    pub log_queries: bool,
}

impl Config {
    /// Creates the settings of a service of these indexes on port 7700 of this machine alone, with the usual limits.
    pub fn new(indexes: Vec<(String, PathBuf)>) -> Config {
        Config {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7700),
            public: false,
            indexes,
            canaries: Vec::new(),
            pins: None,
            queries: Vec::new(),
            limits: Limits::default(),
            tokens: Tokens::default(),
            record: None,
            ubi: false,
            hosts: Vec::new(),
            origins: Vec::new(),
            forwarded: false,
            log_queries: false,
        }
    }
}
