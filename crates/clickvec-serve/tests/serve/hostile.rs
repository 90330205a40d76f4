//! Clients that are slow, broken or hostile.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use clickvec_serve::Limits;

use crate::harness::{Reply, Service};

fn impatient() -> Service {
    Service::with(|config, _| {
        config.limits = Limits { idle: Duration::from_millis(400), connections: 8, ..config.limits.clone() };
    })
}

/// How long until the service closes the connection.
fn closes(mut stream: TcpStream) -> Duration {
    let begun = Instant::now();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    begun.elapsed()
}

#[test]
fn bodies_that_are_no_request_are_refused() {
    let service = Service::start();
    for body in [
        &b"{\"query\":\"a\""[..],
        b"{'query':'a'}",
        b"\xff\xfe",
        b"{\"query\":\"\xc3\x28\"}",
        b"{\"query\":\"\\ud800\"}",
        b"",
    ] {
        service.ask("POST", "/search", &[("content-type", "application/json")], body).refuses(400, "JSON");
    }
    service.post("/search", "[".repeat(500_000)).refuses(422, "sequence");
    let deep = format!("{{\"input\":{}", "[".repeat(500_000));
    service.post("/v1/embeddings", deep).refuses(400, "JSON");
    service.ask("POST", "/search", &[("content-type", "text/plain")], b"{\"query\":\"a\"}").refuses(415, "text/plain");
    service.ask("POST", "/search", &[], b"{\"query\":\"a\"}").refuses(415, "none");
    service.get("/search?q=sofa").is(200);
}

/// RFC 9112, 3.2: one header Host, which only programs that speak HTTP/1.0 may leave out.
#[test]
fn a_request_names_its_host_once() {
    let service = Service::start();
    let send = |head: &str| service.send(format!("{head}Connection: close\r\n\r\n").as_bytes());
    for path in ["/search?q=sofa", "/health/live", "/", "http://localhost/search?q=sofa", "/nowhere"] {
        send(&format!("GET {path} HTTP/1.1\r\n")).refuses(400, "one header Host, found none");
        let two = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nhost: localhost\r\n");
        send(&two).refuses(400, "one header Host, found 2");
    }
    send("OPTIONS /search HTTP/1.1\r\n").refuses(400, "one header Host");
    service.send(b"GET /health/live HTTP/1.1\r\nHost: caf\xe9\r\nConnection: close\r\n\r\n").refuses(400, "Host");
    send("GET /search?q=sofa HTTP/1.1\r\nHost: localhost\r\n").is(200);
    send("GET /search?q=sofa HTTP/1.0\r\n").is(200);
    send("GET /search?q=sofa HTTP/1.0\r\nHost: evil.example\r\n").refuses(403, "`evil.example`");
    send("GET http://evil.example/search?q=sofa HTTP/1.0\r\n").refuses(403, "`evil.example`");
}

#[test]
fn a_body_of_100_mb_is_refused_whether_or_not_it_says_its_size() {
    let service = Service::start();
    let piece = vec![b' '; 1 << 20];
    for is_chunked in [false, true] {
        let mut stream = service.connect();
        let length = if is_chunked { "Transfer-Encoding: chunked" } else { "Content-Length: 104857600" };
        let head = format!(
            "POST /search HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n{length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        for _ in 0..100 {
            if is_chunked {
                stream.write_all(b"100000\r\n").unwrap();
            }
            stream.write_all(&piece).unwrap();
            if is_chunked {
                stream.write_all(b"\r\n").unwrap();
            }
        }
        if is_chunked {
            stream.write_all(b"0\r\n\r\n").unwrap();
        }
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        Reply::parse(&answer).refuses(413, "1048576 bytes");
    }
    service.get("/search?q=sofa").is(200);
}

#[test]
fn a_body_that_is_coded_is_refused() {
    let service = Service::start();
    for coding in [
        "gzip, chunked",
        "gzip\r\nTransfer-Encoding: chunked",
        "chunked, chunked",
        "chunked\r\nTransfer-Encoding: chunked",
    ] {
        let head = format!(
            "POST /search HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: {coding}\r\n\r\n"
        );
        let reply = service.send((head + "5\r\nabcde\r\n0\r\n\r\n").as_bytes());
        assert_eq!(reply.status, 400, "{coding}");
    }
}

#[test]
fn heads_without_end_are_refused() {
    let service = Service::start();
    let mut many = "GET /health/live HTTP/1.1\r\nHost: localhost\r\n".to_owned();
    (0..500).for_each(|number| many += &format!("x-{number}: 1\r\n"));
    let mut long = "GET /health/live HTTP/1.1\r\nHost: localhost\r\nx: ".to_owned();
    long += &"a".repeat(1 << 20);
    let address = format!("GET /search?q={} HTTP/1.1\r\nHost: localhost\r\n", "a".repeat(1 << 17));
    for head in [many, long, address] {
        let mut stream = service.connect();
        // It may be refused before all is sent.
        let _ = stream.write_all((head + "\r\n\r\n").as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let text = String::from_utf8_lossy(&answer);
        assert!(text.is_empty() || text.starts_with("HTTP/1.1 4"), "{text}");
    }
    for bytes in [
        &b"\0\0\0\0\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n",
    ] {
        let mut stream = service.connect();
        stream.write_all(bytes).unwrap();
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let text = String::from_utf8_lossy(&answer);
        assert!(text.is_empty() || text.starts_with("HTTP/1.1 4"), "{text}");
    }
    service.get("/search?q=sofa").is(200);
}

#[test]
#[ignore = "some seconds; .ci/run runs it"]
fn silent_and_slow_clients_lose_their_connection() {
    let service = impatient();
    let silent = service.connect();
    let mut half = service.connect();
    half.write_all(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n").unwrap();
    let mut dripping = service.connect();
    let drip = std::thread::spawn(move || {
        let begun = Instant::now();
        for byte in b"GET /health/live HTTP/1.1\r\nHost: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
            .iter()
            .cycle()
        {
            if dripping.write_all(&[*byte]).is_err() || begun.elapsed() > Duration::from_secs(15) {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        begun.elapsed()
    });
    for (name, took) in
        [("silent", closes(silent)), ("half a head", closes(half)), ("a byte at a time", drip.join().unwrap())]
    {
        assert!(took < Duration::from_secs(10), "{name}: {took:?}");
    }
    // A connection that is kept for the next request has longer, but not for ever.
    let mut kept = service.connect();
    for _ in 0..2 {
        kept.write_all(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = [0; 4096];
        assert!(kept.read(&mut answer).unwrap() > 0);
        std::thread::sleep(Duration::from_millis(150));
    }
    assert!(closes(kept) < Duration::from_secs(10));
    service.get("/search?q=sofa").is(200);
}

#[test]
fn slow_clients_do_not_keep_others_out() {
    let service = impatient();
    // All places are taken by clients that say nothing; the next one gets a place when their time is over.
    let _silent: Vec<TcpStream> = (0..8).map(|_| service.connect()).collect();
    let begun = Instant::now();
    service.get("/search?q=sofa").is(200);
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_body_that_does_not_arrive_is_given_up() {
    let service = Service::with(|config, _| {
        let time = Duration::from_millis(300);
        config.limits = Limits { request: time, wait: time, ..config.limits.clone() };
    });
    let mut stream = service.connect();
    stream
        .write_all(
            b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
        )
        .unwrap();
    let mut answer = [0; 4096];
    let read = stream.read(&mut answer).unwrap();
    Reply::parse(&answer[..read]).refuses(408, "complete request");
    // One that is announced as too large is refused for that, at once if it would not be read to its end.
    for (length, patience) in [("99999999999", Duration::from_millis(200)), ("9999999", Duration::from_secs(10))] {
        let mut stream = service.connect();
        let head = "POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length";
        let begun = Instant::now();
        stream.write_all(format!("{head}: {length}\r\n\r\n{{").as_bytes()).unwrap();
        let read = stream.read(&mut answer).unwrap();
        Reply::parse(&answer[..read]).refuses(413, "a body of at most");
        assert!(begun.elapsed() < patience, "{length}: {:?}", begun.elapsed());
    }
}

#[test]
fn it_stops_while_clients_are_connected_and_finishes_what_runs() {
    let service = Service::start();
    let mut idle = service.connect();
    idle.write_all(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = [0; 4096];
    assert!(idle.read(&mut answer).unwrap() > 0);
    let address = service.address;
    let begun = Instant::now();
    let log = service.stop();
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    assert!(log.lines().last().unwrap().contains("\"event\":\"end\""));
    assert!(closes(idle) < Duration::from_secs(1));
    assert!(TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_err());
}

/// The rest of a request that is on its way is waited for, but not as long as a client may take otherwise.
#[test]
fn half_a_request_does_not_keep_it_from_stopping() {
    let service = Service::start();
    let mut half = service.connect();
    half.write_all(b"GET /search?q=red HTTP/1.1\r\nHo").unwrap();
    // One whose rest comes after the end has begun.
    let mut late = service.connect();
    late.write_all(b"GET /search?q=red HTTP/1.1\r\nHo").unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let rest = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        late.write_all(b"st: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        late.read_to_string(&mut answer).unwrap();
        answer
    });
    let started = Instant::now();
    service.stop();
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    let answer = rest.join().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}
