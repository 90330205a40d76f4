//! A service to ask, and a client that checks every answer.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clickvec::model::Model;
use clickvec::tables::Title;
use clickvec_index::{Fusion, IndexBuilder};
use clickvec_serve::{Config, Limits, Server, Tokens};
use serde_json::Value;
use tempfile::TempDir;

use crate::schema;

/// Nothing in these tests takes longer.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) const SHOES: [(&str, &str); 6] = [
    ("t1", "Leather sofa with three seats"),
    ("t2", "Velvet sofa, two seats"),
    ("t3", "Desk lamp of brass"),
    ("t4", "Oak table for six"),
    ("t5", "Garden hose, 20 m"),
    ("t6", "Sofa cover, grey"),
];

/// A service, its folder, and what it logged.
pub(crate) struct Service {
    pub(crate) folder: TempDir,
    server: Option<Server>,
    pub(crate) address: SocketAddr,
    log: Log,
    description: Value,
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes an index of these titles.
pub(crate) fn write_index(path: &Path, titles: &[(&str, &str)]) {
    write_index_of("format-1/lstm", path, titles);
}

/// Writes an index of these titles with a model of `testdata/frozen`.
pub(crate) fn write_index_of(model: &str, path: &Path, titles: &[(&str, &str)]) {
    write_fused_index(model, path, titles, &Fusion::default());
}

/// [`write_index_of`] with a fusion.
pub(crate) fn write_fused_index(model: &str, path: &Path, titles: &[(&str, &str)], fusion: &Fusion) {
    let frozen = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/frozen");
    let model = frozen.join(format!("{model}.safetensors"));
    let model = Model::load(&model).unwrap();
    let mut builder = IndexBuilder::new(&model, path).unwrap();
    for (id, title) in titles {
        builder.add(Title { id: (*id).to_owned(), title: (*title).to_owned() }).unwrap();
    }
    clickvec_index::finish(builder, &model, fusion, Default::default()).unwrap();
}

/// Writes an index of these titles with all parts: words, canaries, a stored field.
pub(crate) fn write_whole_index(path: &Path, titles: &[(&str, &str)]) {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/frozen/format-1/lstm.safetensors");
    let model = Model::load(&model).unwrap();
    let mut builder = IndexBuilder::with_fields(&model, path, &["brand".to_owned()]).unwrap();
    for (id, title) in titles {
        builder.add_with_fields(Title { id: (*id).to_owned(), title: (*title).to_owned() }, &["acme"]).unwrap();
    }
    clickvec_index::finish(builder, &model, &Default::default(), Default::default()).unwrap();
}

/// The header of an administrator.
pub(crate) const ADMIN: (&str, &str) = ("authorization", "Bearer admin-token-of-many-letters");

/// A service with an administrator.
pub(crate) fn with_admin(change: impl FnOnce(&mut Config)) -> Service {
    Service::with(|config, folder| {
        let path = folder.join("admin");
        std::fs::write(&path, "admin admin-token-of-many-letters\n").unwrap();
        config.tokens = Tokens::read(&path).unwrap();
        change(config);
    })
}

impl Service {
    pub(crate) fn start() -> Service {
        Service::with(|_, _| ())
    }

    /// A service of the index `shop`, changed before it starts.
    pub(crate) fn with(change: impl FnOnce(&mut Config, &Path)) -> Service {
        Service::try_with(change).unwrap()
    }

    /// The same, if it starts.
    pub(crate) fn try_with(change: impl FnOnce(&mut Config, &Path)) -> clickvec_serve::Result<Service> {
        let folder = tempfile::tempdir().unwrap();
        let index = folder.path().join("shop.index");
        write_index(&index, &SHOES);
        let log = Log::default();
        let mut config = Config::new(vec![("shop".to_owned(), index)]);
        config.listen.set_port(0);
        config.limits.watch = Duration::ZERO;
        config.limits = Limits { request: PATIENCE, wait: PATIENCE, ..Limits::default() };
        change(&mut config, folder.path());
        let server = Server::start(config, log.clone())?;
        let address = server.address();
        let mut service = Service { folder, server: Some(server), address, log, description: Value::Null };
        let reply = service.send(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        service.description = serde_json::from_slice(&reply.body).unwrap();
        Ok(service)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.path("shop.index")
    }

    pub(crate) fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    /// Stops it, as SIGTERM does, and returns what it logged.
    pub(crate) fn stop(mut self) -> String {
        self.server.take().unwrap().stop();
        String::from_utf8(self.log.0.lock().unwrap().clone()).unwrap()
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, &[], b"")
    }

    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: impl AsRef<str>) -> Reply {
        self.ask("POST", path, &[("content-type", "application/json")], body.as_ref().as_bytes())
    }

    /// Asks, and checks that the answer is as described.
    #[track_caller]
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.address);
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        if method == "POST" {
            request += &format!("Content-Length: {}\r\n", body.len());
        }
        let mut bytes = (request + "\r\n").into_bytes();
        bytes.extend_from_slice(body);
        let reply = self.send(&bytes);
        schema::check(&self.description, method, path, &reply);
        reply
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends these bytes and reads the answer to the end of the connection.
    #[track_caller]
    pub(crate) fn send(&self, bytes: &[u8]) -> Reply {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        Reply::parse(&answer)
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    #[track_caller]
    pub(crate) fn parse(bytes: &[u8]) -> Reply {
        let text = String::from_utf8_lossy(bytes);
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or_else(|| panic!("no head: {text}"));
        let head = std::str::from_utf8(&bytes[..end]).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let header = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
        Reply { status, headers: lines.filter_map(header).collect(), body: bytes[end + 4..].to_vec() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Checks the status, and returns the answer as JSON.
    #[track_caller]
    pub(crate) fn is(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        self.json()
    }

    /// Checks that it is a fault of a field with a message that has this text.
    #[track_caller]
    pub(crate) fn refuses(&self, status: u16, text: &str) {
        let message = self.is(status)["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.starts_with("expected ") && message.contains(text), "{message}");
    }
}
