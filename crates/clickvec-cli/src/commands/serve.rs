//! `clickvec serve`: answers searches over HTTP.

use std::collections::HashMap;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, anyhow, bail};
use clickvec::internals::clicks::ClickReader;
use clickvec::tables::TITLE;
use clickvec::train::Weighting;
use clickvec_logs::privacy::remove_personal;
use clickvec_serve::{Canary, Config, Limits, Server, Tokens};
use clickvec_tables::shown::listed;
use clickvec_tables::table::{Options, Record, Table};

use crate::answer::Answer;
use crate::console;
use crate::interrupt::Interrupt;
use crate::output_files;

/// The most queries that are suggested.
const MOST_QUERIES: usize = 10_000;

/// Answer searches over HTTP, and show a page to search with.
///
/// The page is at the address that is printed. Titles are found by vectors, by words, or by both; `/openapi.json` describes
/// everything that programs can ask. The service notices a new index in the folder, at once after SIGHUP, tests it and takes
/// it without losing a request. If a test fails, the old index stays. SIGTERM and Ctrl-C end the service when running
/// requests are answered.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The indexes to serve: folders that `clickvec index` wrote, each with a name for requests if it is not that of the
    /// folder. Requests that name none get the first.
    #[arg(value_name = "[NAME=]INDEX", required = true)]
    indexes: Vec<NamedIndex>,

    /// The address and port to listen on, or a port of 127.0.0.1; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7700", value_parser = address)]
    listen: SocketAddr,

    /// Listen on an address that others can reach. Use it only behind a proxy that provides TLS.
    #[arg(long)]
    public: bool,

    /// Tokens, one per line: `search TOKEN` allows searching, `admin TOKEN` reloading and rolling back as well. Without a line for
    /// searching every client may search; without one for administration there is no way to reload over HTTP.
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,

    /// Queries that a new index must answer before it is taken: a table with the columns query and id.
    #[arg(long, value_name = "FILE")]
    canaries: Option<PathBuf>,

    /// Titles that have a rank of their own for a query, or that it never finds: a table with the columns query, id, and rank,
    /// which is a number from 1 or `block`. It is read anew when it changes.
    #[arg(long, value_name = "FILE")]
    pins: Option<PathBuf>,

    /// Queries that people type, for examples and suggestions on the page: the clicks that `clickvec prepare` wrote. Queries of few
    /// users (`prepare --private`) and personal data are never shown.
    #[arg(long, value_name = "CLICKS")]
    queries: Option<PathBuf>,

    /// Record clicks and judgments in this folder: clicks.jsonl for `clickvec prepare`, judgments.tsv for `clickvec evaluate`.
    #[arg(long, value_name = "FOLDER")]
    record: Option<PathBuf>,

    /// Also record clicks in the form of OpenSearch's User Behavior Insights 1.3: ubi_queries.jsonl and ubi_events.jsonl.
    #[arg(long, requires = "record", hide_short_help = true)]
    ubi: bool,

    /// A name that requests may be sent to (the header Host), such as search.example; may be repeated. localhost and addresses
    /// in numbers always work; with --public and without names, every name does.
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,

    /// An origin whose pages may ask through a browser, such as https://shop.example; may be repeated.
    #[arg(long = "origin", value_name = "ORIGIN")]
    origins: Vec<String>,

    /// Take the client's address from the header X-Forwarded-For, which the proxy in front must set.
    #[arg(long)]
    forwarded: bool,

    /// Write queries to the log. They are personal.
    #[arg(long)]
    log_queries: bool,

    /// Change a limit, such as queue=4096, request=5 or watch=0; may be repeated. docs/reference/service.md describes all of them.
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    limits: Vec<String>,
}

/// Parses an address with a port, or a port of this machine alone.
fn address(text: &str) -> Result<SocketAddr, &'static str> {
    let own = |port: &str| port.parse().map(|port: u16| SocketAddr::from(([127, 0, 0, 1], port)));
    let address = text.parse().ok().or_else(|| own(text).ok());
    let address = address.or_else(|| text.strip_prefix("localhost:").and_then(|port| own(port).ok()));
    address.ok_or("expected an address in numbers with a port, as 127.0.0.1:7701, or a port, as 7701")
}

/// An index and its name, by default that of its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NamedIndex {
    name: String,
    path: PathBuf,
}

impl FromStr for NamedIndex {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<NamedIndex, &'static str> {
        // A folder may have a `=` in its name, and then it comes after another folder's.
        if let Some((name, path)) = text.split_once('=').filter(|(name, _)| !name.contains('/')) {
            return Ok(NamedIndex { name: name.to_owned(), path: path.into() });
        }
        let path = Path::new(text);
        let name =
            path.file_stem().and_then(|name| name.to_str()).ok_or("expected NAME=INDEX or a folder with a name")?;
        Ok(NamedIndex { name: name.to_owned(), path: path.to_owned() })
    }
}

/// Returns the usual limits, except those that `name=value` changes.
fn limits(changes: &[String]) -> Result<Limits> {
    let usual = serde_json::to_value(Limits::default())?;
    let names: Vec<&String> = usual.as_object().into_iter().flat_map(|fields| fields.keys()).collect();
    let mut changed = serde_json::Map::new();
    for text in changes {
        let pair =
            text.split_once('=').and_then(|(name, value)| Some((name, value.parse::<serde_json::Number>().ok()?)));
        let Some((name, value)) = pair.filter(|(name, _)| names.iter().any(|known| known == name)) else {
            bail!(
                "--limit: expected NAME=NUMBER with one of the names {}, found `{}`",
                listed(&names, names.len()),
                console::printable(text)
            );
        };
        changed.insert(name.to_owned(), value.into());
    }
    serde_json::from_value(changed.into()).map_err(|error| anyhow!("--limit: {error}"))
}

/// Serves until a signal comes.
pub(crate) fn run(args: Args) -> Result<Answer> {
    let mut config = Config::new(args.indexes.into_iter().map(|NamedIndex { name, path }| (name, path)).collect());
    config.listen = args.listen;
    config.public = args.public;
    config.tokens = args.tokens.as_deref().map(Tokens::read).transpose()?.unwrap_or_default();
    config.canaries = args.canaries.as_deref().map(canaries).transpose()?.unwrap_or_default();
    config.pins = args.pins;
    config.queries = args.queries.as_deref().map(frequent_queries).transpose()?.unwrap_or_default();
    args.record.as_deref().map(output_files::refuse_folder_in_index).transpose()?;
    config.record = args.record;
    config.ubi = args.ubi;
    config.hosts = args.hosts;
    for origin in &args.origins {
        anyhow::ensure!(
            is_origin(origin),
            "--origin: expected scheme, host and perhaps a port, as https://shop.example:8443, found `{}`",
            console::printable(origin)
        );
    }
    config.origins = args.origins;
    config.forwarded = args.forwarded;
    config.log_queries = args.log_queries;
    config.limits = limits(&args.limits)?;
    let interrupt = Interrupt::watch()?;
    let reload = Arc::new(AtomicBool::new(false));
    #[cfg(unix)]
    signal_hook::flag::register(signal_hook::consts::SIGHUP, Arc::clone(&reload)).context("cannot watch for SIGHUP")?;
    let server = Server::start(config, std::io::stderr())?;
    let mut out = console::stdout();
    console::written(writeln!(out, "http://{}", server.address()).and_then(|()| out.flush()))?;
    interrupt.wait_while(|| {
        if reload.swap(false, Ordering::Relaxed) {
            server.reload();
        }
        true
    });
    server.stop();
    // It was asked to stop and did: that is no failure.
    Ok(Answer::Done)
}

/// Returns whether a browser could send this as the header Origin.
fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    host.is_some_and(|host| !host.is_empty() && host.chars().all(|c| c.is_ascii_graphic() && !"/?#@\\".contains(c)))
}

/// Returns the most frequent queries of a table of clicks that may be shown, the most frequent first.
fn frequent_queries(path: &Path) -> Result<Vec<String>> {
    let mut clicks = ClickReader::open(path, TITLE, Weighting::default())?;
    let mut counts: HashMap<String, f64> = HashMap::new();
    while let Some(click) = clicks.next()? {
        if !click.rare {
            *counts.entry(click.query.trim().to_owned()).or_insert(0.0) += click.worth;
        }
    }
    counts.retain(|query, _| remove_personal(&mut query.clone()).total() == 0);
    let mut queries: Vec<(String, f64)> = counts.into_iter().collect();
    queries.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    queries.truncate(MOST_QUERIES);
    Ok(queries.into_iter().map(|(query, _)| query).collect())
}

/// Reads the queries that a new index must answer.
pub(crate) fn canaries(path: &Path) -> Result<Vec<Canary>> {
    let mut rows = Table::open(path, &Options::default())?;
    let (query, id) = (rows.require("query")?, rows.require("id")?);
    let (mut canaries, mut record) = (Vec::new(), Record::default());
    // A test that silently lost a line would let a worse index through.
    while rows.next_row(&mut record)? {
        let field = |column| record.get(column).unwrap_or_default().to_owned();
        canaries.push(Canary { query: field(query), id: field(id) });
    }
    anyhow::ensure!(!canaries.is_empty(), "{}: expected queries below the header, found none", console::path(path));
    Ok(canaries)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn addresses_and_ports() {
        let told = |text: &str| address(text).map(|address| address.to_string());
        for (text, expected) in [
            ("127.0.0.1:7701", "127.0.0.1:7701"),
            ("7701", "127.0.0.1:7701"),
            ("localhost:0", "127.0.0.1:0"),
            ("[::1]:80", "[::1]:80"),
            ("0.0.0.0:80", "0.0.0.0:80"),
        ] {
            assert_eq!(told(text).unwrap(), expected);
        }
        for text in ["", ":7701", "127.0.0.1", "70000", "shop.example:80", "http://127.0.0.1:80", "-1"] {
            assert!(told(text).unwrap_err().contains("as 127.0.0.1:7701"), "{text}");
        }
    }

    #[test]
    fn limits_have_names() {
        let changes = ["queue=3000", "request=2.5", "workers=4"].map(str::to_owned);
        let expected = Limits { queue: 3000, request: Duration::from_secs_f64(2.5), workers: 4, ..Limits::default() };
        assert_eq!(limits(&changes).unwrap(), expected);
        for (wrong, told) in [
            ("queues=3", "the names `answers`"),
            ("queue", "found `queue`"),
            ("queue=many", "found `queue=many`"),
            ("queue=-1", "invalid value"),
            ("request=-1", "expected seconds from 0 to 86400"),
        ] {
            let error = limits(&[wrong.to_owned()]).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }

    #[test]
    fn queries_that_are_suggested_are_frequent_and_not_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clicks.tsv");
        let rows =
            "lamp\tA lamp\t2\t0\nsofa\tA sofa\t1\t0\nsofa\tB sofa\t4\t0\nann@shop.example\tA\t9\t0\nrare\tC\t9\t1\n";
        std::fs::write(&path, format!("query\ttitle\tcount\trare\n{rows}")).unwrap();
        assert_eq!(frequent_queries(&path).unwrap(), ["sofa", "lamp"]);
    }

    #[test]
    fn an_index_has_a_name() {
        for (text, name, path) in [
            ("shop=a/b.index", "shop", "a/b.index"),
            ("a/shop.index", "shop", "a/shop.index"),
            ("shop", "shop", "shop"),
            ("a/b=c.index", "b=c", "a/b=c.index"),
            ("shop=", "shop", ""),
        ] {
            assert_eq!(text.parse(), Ok(NamedIndex { name: name.to_owned(), path: path.into() }), "{text}");
        }
        assert!("..".parse::<NamedIndex>().is_err());
    }
}
