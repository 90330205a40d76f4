//! A page to grade titles on, for the person who started it: at an address of this machine that no other user can guess.

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::http::header::X_CONTENT_TYPE_OPTIONS;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use clickvec_tables::{Error, ErrorKind};
use serde::Deserialize;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::clock;
use crate::error::{Result, no_threads};
use crate::fault::{Fault, Kind, json_response};
use crate::routes::PAGE_POLICY;

/// How long an answer may take after the page is to end.
const TO_FINISH: Duration = Duration::from_secs(1);

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

/// What a person does on the page.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "step", rename_all = "lowercase", deny_unknown_fields)]
pub enum Step {
    /// Looks at what is to be graded.
    Look,
    /// Grades a title, or takes its grade back.
    Grade {
        /// The query.
        query: String,
        /// The title's id.
        id: String,
        /// The grade from 0 to 4.
        grade: Option<u8>,
    },
    /// Leaves a query out.
    Skip {
        /// The query.
        query: String,
    },
    /// Ends.
    Finish,
}

/// What answers a step: what the page shows next, as its script knows it.
type Answer = dyn FnMut(Step) -> Result<Value> + Send;

/// A page that is served. If it is dropped, it ends.
pub struct JudgePage {
    address: String,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl JudgePage {
    /// Serves the page from now on, on a thread of its own. Each step of the person is answered before the next is taken.
    ///
    /// # Errors
    ///
    /// If there is no free port or no thread, or the clock is set to a year past 9999.
    pub fn start(answer: impl FnMut(Step) -> Result<Value> + Send + 'static) -> Result<JudgePage> {
        clock::check()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(no_threads)?;
        let listen = |source: io::Error| {
            Error::new(ErrorKind::Io, format!("cannot listen: {source}")).within("127.0.0.1").caused_by(source)
        };
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = runtime.block_on(TcpListener::bind(address)).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let key = key();
        let router = router(&key, Box::new(answer));
        let (stop, stopped) = watch::channel(false);
        let serve = move || {
            runtime.block_on(accept(listener, router, stopped));
            runtime.shutdown_timeout(TO_FINISH);
        };
        let thread = std::thread::Builder::new().name("page".to_owned()).spawn(serve).map_err(no_threads)?;
        Ok(JudgePage { address: format!("http://{address}/{key}/"), stop, thread: Some(thread) })
    }

    /// Returns the address of the page.
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for JudgePage {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns a part of the address that another user of this machine, or the page of another site, cannot guess: it is made of the
/// random keys of the standard library, which come from the system.
fn key() -> String {
    let [first, second] = [0, 1].map(|number| RandomState::new().hash_one(number));
    format!("{first:016x}{second:016x}")
}

fn router(key: &str, answer: Box<Answer>) -> Router {
    let answer = Arc::new(Mutex::new(answer));
    let step = move |body: Bytes| async move { take(&answer, &body).unwrap_or_else(Fault::into_response) };
    let file = |media: &'static str, text: &'static str| {
        get(move || async move { ([(CONTENT_TYPE, media), (CONTENT_SECURITY_POLICY, PAGE_POLICY)], text) })
    };
    Router::new()
        .route(&format!("/{key}/"), file(HTML, include_str!("../page/judge.html")))
        .route(&format!("/{key}/judge.css"), file(CSS, include_str!("../page/judge.css")))
        .route(&format!("/{key}/judge.js"), file(JS, include_str!("../page/judge.js")))
        .route(&format!("/{key}/step"), post(step))
        .layer(axum::middleware::map_response(with_headers))
}

/// Answers a step.
fn take(answer: &Mutex<Box<Answer>>, body: &[u8]) -> Result<Response, Fault> {
    let step = serde_json::from_slice(body)
        .map_err(|error| Fault::new(Kind::UNPROCESSABLE, "a step of the page", error.to_string()))?;
    let mut answer = answer.lock().expect("no holder panics");
    let shown = answer(step).map_err(|error| match error.kind() {
        ErrorKind::Io => Fault::not_written("grade", &error),
        _ => Fault { kind: Kind::UNPROCESSABLE, error, retry_after: None },
    })?;
    Ok(json_response(shown.to_string()))
}

async fn with_headers(mut response: Response) -> Response {
    let headers: [(HeaderName, &str); 3] =
        [(CACHE_CONTROL, "no-store"), (REFERRER_POLICY, "no-referrer"), (X_CONTENT_TYPE_OPTIONS, "nosniff")];
    for (name, value) in headers {
        response.headers_mut().insert(name, axum::http::HeaderValue::from_static(value));
    }
    response
}

/// Takes connections until the page is to end. What is being answered then has a moment left.
async fn accept(listener: TcpListener, router: Router, stop: watch::Receiver<bool>) {
    let stopped = |mut stop: watch::Receiver<bool>| async move { drop(stop.changed().await) };
    let late = async {
        stopped(stop.clone()).await;
        tokio::time::sleep(TO_FINISH).await;
    };
    tokio::select! {
        _ = axum::serve(listener, router).with_graceful_shutdown(stopped(stop.clone())) => {}
        () = late => {}
    }
}
