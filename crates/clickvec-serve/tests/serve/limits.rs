//! How much one may ask for, how many may wait, and for how long.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clickvec_serve::{Config, Limits, Server};
use serde_json::json;

use crate::harness::{Reply, Service};

#[test]
fn texts_and_batches_have_limits_and_the_description_says_them() {
    let service = Service::with(|config, _| {
        config.limits = Limits { text: 20, batch: 3, results: 5, batch_results: 12, depth: 8, ..config.limits.clone() };
    });
    let exactly = "é".repeat(20);
    service.post("/search", json!({"query": exactly}).to_string()).is(200);
    service.post("/search", json!({"query": exactly + "é"}).to_string()).refuses(422, "20 characters, found 21");
    service.post("/search", json!({"queries": ["a", "b", "c", "d"]}).to_string()).refuses(422, "1 to 3 texts, found 4");
    let embed = |texts: &[&str]| service.post("/v1/embeddings", json!({"input": texts, "model": "shop"}).to_string());
    embed(&["a", "b", "c"]).is(200);
    embed(&["a", "b", "c", "d"]).refuses(422, "1 to 3");
    service.get("/search?q=a&k=5&offset=3").is(200);
    service.get("/search?q=a&k=6").refuses(422, "1 to 5");
    service.get("/search?q=a&k=5&offset=4").refuses(422, "first 8");
    service.post("/search", json!({"queries": ["a", "b"], "k": 5}).to_string()).is(200);
    let refused = service.post("/search", json!({"queries": ["a", "b", "c"], "k": 5}).to_string());
    refused.refuses(422, "at most 12 titles in all answers, found 3 queries with 5 titles each");
    assert_eq!(refused.json()["error"]["param"], "k");
    service.post("/search", json!({"queries": ["a", "b", "c"], "k": 4}).to_string()).is(200);
    let description = service.get("/openapi.json").is(200);
    let request = &description["components"]["schemas"]["SearchRequest"]["properties"];
    let said = [
        &request["query"]["maxLength"],
        &request["queries"]["maxItems"],
        &request["k"]["maximum"],
        &request["offset"]["maximum"],
        &request["queries"]["x-batch-results"],
    ];
    assert_eq!(said, [20, 3, 5, 7, 12]);
}

#[test]
fn titles_are_explained_however_small_a_batch_is() {
    let service = Service::with(|config, _| {
        config.limits = Limits { batch: 1, queue: 1, client_rate: 1.0, ..config.limits.clone() };
    });
    service.post("/explain", r#"{"query":"sofa","id":"t1","other":"t2"}"#).is(200);
}

#[test]
fn a_client_has_its_own_limit() {
    let service = Service::with(|config, folder| {
        config.limits = Limits { client_rate: 0.001, batch: 4, ..config.limits.clone() };
        config.forwarded = true;
        config.record = Some(folder.join("record"));
    });
    let ask = |client: &str, texts: usize| {
        let body = json!({"input": vec!["sofa"; texts], "model": "shop"}).to_string();
        let headers = [("content-type", "application/json"), ("x-forwarded-for", client)];
        service.ask("POST", "/v1/embeddings", &headers, body.as_bytes())
    };
    ask("10.0.0.1", 3).is(200);
    ask("10.0.0.1", 1).is(200);
    let refused = ask("10.0.0.1", 1);
    refused.refuses(429, "texts a second");
    assert!(refused.header("retry-after").unwrap().parse::<u64>().unwrap() > 900);
    ask("10.0.0.2", 4).is(200);
    // The proxy adds its client last; what that client made up comes before.
    ask("10.0.0.3, 10.0.0.1", 1).refuses(429, "");
    // Judgments count too.
    let judge = || {
        let headers = [("content-type", "application/json"), ("x-forwarded-for", "10.0.0.4")];
        service.ask("POST", "/judge", &headers, br#"{"query":"sofa","id":"t1","grade":"up"}"#)
    };
    (0..4).for_each(|_| drop(judge().is(200)));
    judge().refuses(429, "texts a second");
}

/// Clients that never read their large answers take a bounded part of the memory, and are told of it.
#[test]
fn answers_that_are_not_taken_have_a_bound() {
    let service = Service::with(|config, _| {
        config.limits = Limits { answers: 16 << 20, batch: 120_000, queue: 120_000, ..config.limits.clone() };
    });
    // Some 6 MB each, more than the buffers of the system take.
    let body = json!({"input": vec!["sofa"; 120_000], "model": "shop"}).to_string();
    let ask = || {
        let mut stream = service.connect();
        let head = "POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n";
        let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes()).unwrap();
        stream
    };
    let status = |stream: &mut TcpStream| {
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        String::from_utf8_lossy(&head[9..]).into_owned()
    };
    let mut untaken: Vec<TcpStream> = Vec::new();
    loop {
        let mut stream = ask();
        if status(&mut stream) == "503" {
            break;
        }
        untaken.push(stream);
        assert!(untaken.len() < 8, "no answer is refused");
    }
    service.get("/search?q=sofa").is(200);
    assert!(service.get("/metrics").text().contains("clickvec_shed_total{reason=\"answers\"} 1"));
    drop(untaken);
    let begun = Instant::now();
    while status(&mut ask()) != "200" {
        assert!(begun.elapsed() < Duration::from_secs(20), "the room is not given back");
    }
}

/// The usual limits let through the largest batch with the usual number of titles.
#[test]
fn the_largest_batch_fits() {
    let limits = Limits::default();
    assert!(limits.batch * clickvec_index::DEFAULT_K <= limits.batch_results);
    assert!(limits.batch_results < limits.batch * limits.results);
}

/// All connections are taken by clients that go on asking, and more come than there is room for.
#[test]
fn idle_connections_make_room_for_one_that_asks() {
    let service = Service::with(|config, _| config.limits.connections = 4);
    let mut idle: Vec<_> = (0..4).map(|_| service.connect()).collect();
    for stream in &mut idle {
        stream.write_all(b"GET /search?q=sofa HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
    }
    std::thread::sleep(Duration::from_millis(1100));
    service.get("/search?q=sofa").is(200);
    // The first of the idle ones has made room.
    let mut rest = Vec::new();
    idle[0].read_to_end(&mut rest).unwrap();
}

#[test]
fn health_is_told_past_the_limit_of_connections() {
    let service = Service::with(|config, _| {
        let (wait, request) = (Duration::from_millis(500), Duration::from_secs(20));
        config.limits = Limits { connections: 4, wait, request, ..config.limits.clone() };
    });
    let health = || {
        for path in ["/health/live", "/health/ready", "/metrics"] {
            let begun = Instant::now();
            let reply = service.get(path);
            assert_eq!((reply.status, reply.header("connection")), (200, Some("close")), "{}", reply.text());
            // Far less than any other wait here.
            assert!(begun.elapsed() < Duration::from_secs(5), "{path}: {:?}", begun.elapsed());
        }
    };
    let ask = |stream: &mut TcpStream| {
        stream.write_all(b"GET /search?q=sofa HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = [0; 1 << 16];
        let read = stream.read(&mut answer).unwrap();
        Reply::parse(&answer[..read])
    };
    let mut kept: Vec<TcpStream> = (0..4).map(|_| service.connect()).collect();
    for stream in &mut kept {
        ask(stream).is(200);
    }
    let is_asking = AtomicBool::new(true);
    let silent = std::thread::scope(|scope| {
        // An idle connection would have to make room. A test that fails stops nothing, so this ends by itself.
        let end = Instant::now() + Duration::from_secs(60);
        let is_asking = &is_asking;
        let kept = &mut kept;
        scope.spawn(move || {
            while is_asking.load(Ordering::Relaxed) && Instant::now() < end {
                for stream in kept.iter_mut() {
                    ask(stream).is(200);
                }
            }
        });
        health();
        // Who says nothing past the limit leaves for those who come later, and so does who waits for a search.
        let silent: Vec<TcpStream> = (0..100).map(|_| service.connect()).collect();
        health();
        let ask_and_wait = |_| {
            let mut stream = service.connect();
            stream.write_all(b"GET /search?q=sofa HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
            stream
        };
        let waiting: Vec<TcpStream> = (0..60).map(ask_and_wait).collect();
        health();
        // Every client gets an answer, whether it waits until its time is over or has to leave for later ones.
        for mut stream in waiting {
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).unwrap();
            let reply = Reply::parse(&answer);
            reply.refuses(503, "one of 4 connections");
            assert_eq!((reply.header("retry-after"), reply.header("connection")), (Some("1"), Some("close")));
        }
        assert!(service.get("/metrics").text().contains("clickvec_shed_total{reason=\"connections\"}"));
        is_asking.store(false, Ordering::Relaxed);
        silent
    });
    // Those within the limit noticed nothing, and when one goes, who waits gets its place and keeps it.
    for stream in &mut kept {
        ask(stream).is(200);
    }
    let mut next = service.connect();
    next.write_all(b"GET /search?q=sofa HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    drop(kept.pop());
    let mut answer = [0; 1 << 16];
    let read = next.read(&mut answer).unwrap();
    Reply::parse(&answer[..read]).is(200);
    ask(&mut next).is(200);
    drop(silent);
}

/// Many slow requests at a service with one worker: some are answered, the others are told when to come again, and none
/// waits for ever.
#[test]
fn more_than_fits_is_turned_away_with_the_time_to_come_again() {
    let service = Service::with(|config, _| {
        let wait = Duration::from_millis(300);
        config.limits = Limits { workers: 1, queue: 64, batch: 64, wait, ..config.limits.clone() };
    });
    let body = json!({"input": vec!["leather sofa with three seats ".repeat(250); 64], "model": "shop"}).to_string();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let ask = || {
            let reply = service.post("/v1/embeddings", &body);
            if reply.status == 503 {
                reply.refuses(503, "Retry-After");
                assert!(reply.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
            }
            reply.status
        };
        let asked: Vec<_> = (0..24).map(|_| scope.spawn(ask)).collect();
        asked.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    let count = |status: u16| statuses.iter().filter(|&&of| of == status).count();
    assert!(count(200) >= 1 && count(503) >= 1, "{statuses:?}");
    assert_eq!(count(200) + count(503), 24, "{statuses:?}");
    let begun = Instant::now();
    while !service.get("/metrics").text().contains("clickvec_queue_texts 0") {
        assert!(begun.elapsed() < Duration::from_secs(20), "something waits for ever");
    }
    assert!(service.get("/metrics").text().contains("clickvec_shed_total{reason=\"full\"}"));
}

#[test]
fn a_request_that_takes_too_long_is_told_so() {
    let service = Service::with(|config, _| {
        let (wait, request) = (Duration::from_millis(5), Duration::from_millis(10));
        config.limits =
            Limits { wait, request, batch: 50_000, queue: 50_000, batch_results: 500_000, ..config.limits.clone() };
    });
    let queries = vec!["leather sofa"; 50_000];
    let begun = Instant::now();
    let reply = service.post("/search", json!({"queries": queries}).to_string());
    // On a busy machine, reading the body or waiting for the worker may take the time already.
    assert!([408, 503, 504].contains(&reply.status), "{}", reply.status);
    assert!(begun.elapsed() < Duration::from_secs(10));
    // The worker has given up too: the next request does not wait for it.
    while service.post("/search", r#"{"query":"sofa"}"#).status != 200 {
        assert!(begun.elapsed() < Duration::from_secs(10), "the worker goes on");
    }
}

#[test]
fn what_cannot_work_does_not_start() {
    let start = |change: &dyn Fn(&mut Config)| {
        let service = Service::start();
        let mut config = Config::new(vec![("shop".to_owned(), service.index())]);
        config.listen.set_port(0);
        change(&mut config);
        Server::start(config, std::io::sink()).map(drop)
    };
    let refuses = |change: &dyn Fn(&mut Config), expected: &str| {
        let error = start(change).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    start(&|_| ()).unwrap();
    let address = "0.0.0.0:0".parse().unwrap();
    refuses(&|config| config.listen = address, "0.0.0.0:0: expected a loopback address");
    start(&|config| (config.listen, config.public) = (address, true)).unwrap();
    refuses(&|config| config.indexes.clear(), "expected an index to serve, found none");
    refuses(&|config| config.limits.queue = 1, "queue: expected at least the limit `batch`, which is 1024, found 1");
    for name in ["", "a b", "a:query", "../x", &"x".repeat(65)] {
        refuses(&|config| config.indexes[0].0 = name.to_owned(), "expected a name of letters");
    }
    refuses(&|config| config.indexes.push(config.indexes[0].clone()), "found `shop` twice");
    refuses(&|config| config.hosts = vec!["http://x".to_owned()], "expected a name without scheme");
    refuses(&|config| config.indexes[0].1 = "/nowhere".into(), "/nowhere");
    let taken = Service::start();
    refuses(&|config| config.listen = taken.address, "cannot listen");
}
