//! Search by tantivy behind a plain server, to compare with.
//!
//! cargo run --release -p clickvec-bench --bin serve_tantivy -- TITLES.tsv
//!
//! `bench/serve.py` starts it. `GET /search?q=…` answers with the ten best titles for any of the words, by tantivy's BM25 with its
//! own tokenizer, from an index in memory that is made at the start. Prints its address.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use clap::Parser;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tantivy::collector::TopDocs;
use tantivy::query::QueryParser;
use tantivy::schema::{STORED, Schema, TEXT, Value as _};
use tantivy::{Index, Searcher, TantivyDocument};
use tokio::net::TcpListener;

const FOUND: usize = 10;
const WRITER_BYTES: usize = 200 << 20;

#[derive(Parser)]
struct Args {
    /// A table with a column `title`.
    titles: PathBuf,
}

struct Peer {
    searcher: Searcher,
    parser: QueryParser,
    title: tantivy::schema::Field,
}

fn main() -> Result<()> {
    let peer = Arc::new(Peer::new(&Args::parse().titles)?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        println!("http://{}", listener.local_addr()?);
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let peer = Arc::clone(&peer);
            let service = service_fn(move |request| {
                let peer = Arc::clone(&peer);
                async move { Ok::<_, Infallible>(peer.respond(&request)) }
            });
            tokio::spawn(async move {
                // A client that goes away is no fault.
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
        }
    })
}

impl Peer {
    fn new(path: &PathBuf) -> Result<Peer> {
        let text = std::fs::read_to_string(path).context("titles")?;
        let mut lines = text.lines();
        let header = lines.next().context("expected a line of names, found an empty file")?;
        let column =
            header.split('\t').position(|name| name == "title").context("expected a column `title`, found none")?;
        let mut schema = Schema::builder();
        let title = schema.add_text_field("title", TEXT | STORED);
        let index = Index::create_in_ram(schema.build());
        let mut writer = index.writer_with_num_threads(1, WRITER_BYTES)?;
        for line in lines {
            let mut document = TantivyDocument::default();
            document.add_text(title, line.split('\t').nth(column).unwrap_or_default());
            writer.add_document(document)?;
        }
        writer.commit()?;
        writer.wait_merging_threads()?;
        let searcher = index.reader()?.searcher();
        Ok(Peer { searcher, parser: QueryParser::for_index(&index, vec![title]), title })
    }

    fn respond(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let given = request.uri().query().unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("q="));
        let (status, body) = match self.search(&decoded(given.unwrap_or_default())) {
            Ok(body) => (200, body),
            Err(error) => (500, serde_json::json!({ "error": error.to_string() })),
        };
        let response = Response::builder().status(status).header("content-type", "application/json");
        response.body(Full::new(Bytes::from(body.to_string()))).expect("a status and a header that are valid")
    }

    fn search(&self, query: &str) -> Result<serde_json::Value> {
        // What people type may look like the syntax of queries: it is taken for words.
        let (query, _) = self.parser.parse_query_lenient(query);
        let hits = self.searcher.search(&query, &TopDocs::with_limit(FOUND).order_by_score())?;
        let result = |(score, address)| -> Result<serde_json::Value> {
            let document: TantivyDocument = self.searcher.doc(address)?;
            let title = document.get_first(self.title).and_then(|value| value.as_str()).unwrap_or_default();
            Ok(serde_json::json!({ "title": title, "score": score }))
        };
        Ok(serde_json::json!({ "results": hits.into_iter().map(result).collect::<Result<Vec<_>>>()? }))
    }
}

/// The text of a value in an address.
fn decoded(value: &str) -> String {
    let value = value.replace('+', " ");
    percent_encoding::percent_decode_str(&value).decode_utf8_lossy().into_owned()
}
