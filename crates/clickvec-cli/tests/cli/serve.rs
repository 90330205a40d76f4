//! `clickvec serve`: the service as a program, and what comes back from it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Folder, program};

/// A running service; it is killed if a test fails.
struct Service {
    child: Child,
    address: String,
}

impl Service {
    fn start(folder: &Folder, more: &[&str]) -> Service {
        let mut command = Command::new(program());
        Service::run(folder, command.args(["serve", "shop.index", "--listen", "127.0.0.1:0"]).args(more))
    }

    fn run(folder: &Folder, command: &mut Command) -> Service {
        let mut child = command
            .current_dir(folder.path(""))
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(folder.path("serve.log")).unwrap())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let address = first.trim().strip_prefix("http://").unwrap_or_else(|| {
            panic!("{first}{}", folder.read("serve.log"));
        });
        Service { address: address.to_owned(), child }
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + body).as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap())
    }

    fn total(&self) -> u64 {
        self.ask("GET", "/search?q=red+hammer", "").1["total"].as_u64().unwrap()
    }

    fn signal(&self, name: &str) {
        let done = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap();
        assert!(done.success());
    }

    fn end(mut self) -> i32 {
        self.signal("TERM");
        self.child.wait().unwrap().code().unwrap()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn indexed() -> Folder {
    let folder = Folder::with_model();
    let index = ["index", "--model", "model.safetensors", "--titles", "titles.tsv", "--output", "shop.index"];
    folder.run(&index).code(0);
    folder
}

/// The circle: what is clicked and judged in the service is learnt from and judged with, and the new index is taken.
#[cfg(unix)]
#[test]
fn clicks_and_judgments_come_back() {
    let folder = indexed();
    let service = Service::start(&folder, &["--record", "record", "--limit", "watch=0"]);
    let all = service.total();
    for (query, id) in
        [("red hammer", "t0010"), ("red hammer", "t0020"), ("blue ladder", "t1110"), ("green paint", "t2220")]
    {
        let click = json!({"query": query, "id": id, "shown": ["t7510", id], "session": "s"});
        assert_eq!(service.ask("POST", "/click", &click.to_string()).0, 200);
        for (id, grade) in [(id, "up"), ("t7510", "down")] {
            let judgment = json!({"query": query, "id": id, "grade": grade});
            assert_eq!(service.ask("POST", "/judge", &judgment.to_string()).0, 200);
        }
    }
    folder.run(&["prepare", "record/clicks.jsonl", "--output", "log.tsv"]).code(0).says("4 clicks");
    assert!(folder.read("log.tsv").contains("red hammer\thammer in red, 10 in.\t1"));
    folder.run(&["evaluate", "--judged", "record/judgments.tsv", "bm25"]).code(0).prints("bm25");
    let few: String = folder.read("titles.tsv").lines().take(30).map(|line| format!("{line}\n")).collect();
    folder.write("titles.tsv", &few);
    folder.run(&["index", "--model", "model.safetensors", "--titles", "titles.tsv", "--output", "shop.index"]).code(0);
    assert_eq!(service.total(), all);
    service.signal("HUP");
    let begun = Instant::now();
    while service.total() != 29 {
        assert!(begun.elapsed() < Duration::from_secs(20), "{}", folder.read("serve.log"));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(service.end(), 0);
    let log = folder.read("serve.log");
    assert!(log.contains("\"event\":\"reload\"") && log.ends_with('\n'), "{log}");
    assert!(log.lines().last().unwrap().contains("\"event\":\"end\""), "{log}");
    assert!(!log.contains("hammer"), "queries are personal: {log}");
}

#[test]
fn members_in_fewer_numbers_are_served() {
    let folder = Folder::with_data();
    folder
        .train(
            "model.safetensors",
            &["--encoder", "members", "--set", "encoder.members=2", "--set", "encoder.dimension=6"],
        )
        .code(0);
    let index = ["index", "--model=model.safetensors", "--titles=titles.tsv", "--output=shop.index"];
    folder.run(&index).code(0);
    let service = Service::start(&folder, &[]);
    let (status, vectors) = service.ask("POST", "/v1/embeddings", r#"{"model": "shop", "input": "red hammer"}"#);
    assert_eq!((status, vectors["data"][0]["embedding"].as_array().map(Vec::len)), (200, Some(6)), "{vectors}");
    let (_, found) = service.ask("GET", "/search?q=red+hammer&mode=vectors&k=3", "");
    let search = ["search", "shop.index", "--mode=vectors", "-k", "3", "--json", "red hammer"];
    let expected = folder.run(&search).code(0).json_lines()[0]["results"].clone();
    for place in 0..3 {
        assert_eq!(found["results"][place]["id"], expected[place]["id"], "{found}");
    }
    assert_eq!(service.end(), 0);
}

#[test]
fn few_files_lower_the_limit_of_connections() {
    let folder = indexed();
    let serve = |files: u32| {
        let mut command = Command::new("sh");
        let script = format!("ulimit -n {files}; exec \"$0\" serve shop.index --listen 127.0.0.1:0");
        command.arg("-c").arg(script).arg(program());
        command
    };
    assert_eq!(Service::run(&folder, &mut serve(120)).end(), 0);
    let said = folder.read("serve.log");
    assert!(said.contains(r#""connections":24,"event":"limits","reason":"only 120 files may be open""#), "{said}");
    let refused = serve(96).current_dir(folder.path("")).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("expected at least 97 files that may be open, found 96"), "{said}");
}

/// hyper dates every answer, and panics if the clock has no such date.
#[cfg(target_os = "linux")]
#[test]
fn a_clock_past_the_year_9999_closes_connections_until_it_is_set() {
    let folder = indexed();
    folder.write(
        "clock.c",
        r#"
        #include <sys/syscall.h>
        #include <time.h>
        #include <unistd.h>
        int clock_gettime(clockid_t clock, struct timespec *time) {
            int result = syscall(SYS_clock_gettime, clock, time);
            if (clock == CLOCK_REALTIME && access("later", F_OK) == 0) time->tv_sec += 8000L * 31556952;
            if (clock == CLOCK_REALTIME && access("earlier", F_OK) == 0) time->tv_sec = -1;
            return result;
        }
        "#,
    );
    let mut build = Command::new("cc");
    build.args(["-shared", "-fPIC", "-o", "clock.so", "clock.c"]).current_dir(folder.path(""));
    assert!(build.status().unwrap().success());
    let serve = || {
        let mut command = Command::new(program());
        command.args(["serve", "shop.index", "--listen", "127.0.0.1:0", "--record", "record", "--limit", "watch=0"]);
        command.env("LD_PRELOAD", folder.path("clock.so"));
        command
    };
    let service = Service::run(&folder, &mut serve());
    let click = json!({"query": "red hammer", "id": "t0010"}).to_string();
    for set in ["later", "earlier"] {
        assert_eq!(service.ask("POST", "/click", &click).0, 200);
        folder.write(set, "");
        let mut stream = TcpStream::connect(&service.address).unwrap();
        // It may be closed before the request is sent.
        let _ = stream.write_all(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert_eq!(String::from_utf8_lossy(&answer), "", "{set}");
        let refused = serve().current_dir(folder.path("")).output().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(said.contains("error: expected a clock in the years 1970 to 9999, found "), "{said}");
        assert!(said.contains("set the clock of this machine") && refused.status.code() == Some(2), "{said}");
        std::fs::remove_file(folder.path(set)).unwrap();
    }
    assert_eq!(service.ask("POST", "/click", &click).0, 200);
    assert_eq!(service.end(), 0);
    let log = folder.read("serve.log");
    let times = |event: &str| -> Vec<String> {
        let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["event"] == event).map(|line| line["time"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(times("clock"), ["9999-12-30T22:00:00.999Z", "1970-01-01T00:00:00.000Z"], "{log}");
    assert_eq!(times("request").len(), 3, "{log}");
    folder.run(&["prepare", "record/clicks.jsonl", "--output", "log.tsv"]).code(0).says("3 clicks");
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "some seconds; .ci/run runs it"]
fn memory_of_large_requests_is_given_back() {
    use std::sync::atomic::{AtomicU64, Ordering};

    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    const CLIENTS: usize = 1024;
    const AT_ONCE: usize = 64;
    let folder = indexed();
    // Of a client each, and of what else runs in this process.
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    let service = Service::start(&folder, &["--limit", "watch=0"]);
    let megabytes = || crate::harness::anonymous_memory(service.child.id()) >> 20;
    let before = megabytes();
    let body = json!({"model": "shop", "input": vec!["red hammer ".repeat(700); 120]}).to_string();
    let head = "POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length";
    let request = format!("{head}: {}\r\n\r\n{body}", body.len());
    let (clients, most) = (std::sync::Mutex::new(Vec::new()), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                for _ in 0..CLIENTS / AT_ONCE {
                    let mut client = TcpStream::connect(&service.address).unwrap();
                    // Some are refused, before all is sent.
                    let _ = client.write_all(request.as_bytes());
                    let _ = client.read(&mut [0; 1]);
                    most.fetch_max(megabytes(), Ordering::Relaxed);
                    clients.lock().unwrap().push(client);
                }
            });
        }
    });
    let most = most.into_inner();
    drop(clients);
    let closed = Instant::now();
    while megabytes() > before + 48 && closed.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(100));
    }
    let after = megabytes();
    println!("{before} MB, with {CLIENTS} clients {most} MB, {after} MB {:?} later", closed.elapsed());
    assert!(most > before + 96, "{before} MB and {most} MB, which tests nothing");
    assert!(after <= before + 48, "{before} MB, with clients {most} MB, without {after} MB");
    assert_eq!(service.end(), 0);
}

/// A program that starts threads before it knows whether there is room for them waits for itself for ever.
#[test]
#[ignore = "slow; .ci/run runs it"]
fn little_memory_ends_it_or_it_answers() {
    let folder = Folder::with_model();
    folder.run(&["index", "--model", "model.safetensors", "--titles", "titles.tsv", "--output", "shop.index"]).code(0);
    let (mut ended, mut answered) = (0, 0);
    // In KiB, up to more than is needed; threads reserve some for their stacks.
    for limit in (80_000..=440_000).step_by(20_000) {
        let serve = format!("{} serve shop.index --listen 127.0.0.1:0", program().display());
        let script = format!("ulimit -v {limit}; exec {serve}");
        let mut command = Command::new("timeout");
        command.args(["--kill-after=20", "1", "sh", "-c", &script]).current_dir(folder.path(""));
        let output = command.env("RUST_BACKTRACE", "1").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_ne!(output.status.code(), Some(137), "{limit}: it does not end\n{said}");
        if output.stdout.starts_with(b"http://") {
            answered += 1;
        } else {
            ended += 1;
        }
    }
    assert!(ended > 0 && answered > 0, "{ended} ended, {answered} answered");
}

#[test]
fn what_cannot_be_served_says_which_option_helps() {
    let folder = indexed();
    let run =
        |more: &[&str]| folder.run(&[&["serve", "--listen", "127.0.0.1:0"], more].concat()).code(2).prints_nothing();
    run(&["nowhere"]).says("nowhere");
    run(&[]).says("INDEX");
    run(&["shop.index", "--limit=queue=10"]).says("queue: expected at least the limit `batch`");
    run(&["shop.index", "--limit=wait=3"]).says("wait: expected at most the limit `request`");
    run(&["shop.index", "--listen", "0.0.0.0:0"]).says("--listen");
    folder.run(&["serve", "shop.index", "--listen", "0.0.0.0:0"]).code(2).says("set `--public` if");
    run(&["a b=shop.index"]).says("NAME=INDEX");
    run(&["shop.index", "shop=shop.index"]).says("twice");
    run(&["shop.index", "--record", "shop.index"]).says("expected an output outside");
    run(&["shop.index", "--record", "no/folder"]).says("no/folder: cannot make");
    run(&["shop.index", "--record", "titles.tsv"]).says("titles.tsv/");
    run(&["shop.index", "--limit=workers=100000"]).says("workers: expected a number from 1 to 1024");
    run(&["shop.index", "--limit=places=3"]).says("--limit: expected NAME=NUMBER with one of the names `answers`");
    for origin in ["shop.example", "https://", "https://shop.example/", "*", "null", "https://a b"] {
        run(&["shop.index", "--origin", origin]).says(&format!(
            "--origin: expected scheme, host and perhaps a port, as https://shop.example:8443, found `{origin}`"
        ));
    }
    if cfg!(target_os = "linux") {
        run(&["shop.index", "--tokens", "/dev/zero"]).says("at most 1048576 bytes, found more");
    }
    folder.write("tokens", "search short\n");
    run(&["shop.index", "--tokens", "tokens"]).says("tokens:1");
    folder.write("canaries.tsv", "query\tid\nred hammer\tnobody\n");
    run(&["shop.index", "--canaries", "canaries.tsv"]).says("`nobody`");
    folder.write("canaries.tsv", "query\tid\n");
    run(&["shop.index", "--canaries", "canaries.tsv"]).says("found none");
    std::fs::create_dir(folder.path("record")).unwrap();
    folder.write("record/judgments.tsv", "query\ttitle\n");
    run(&["shop.index", "--record", "record"]).says("record/judgments.tsv:1");
    // As `simulate` writes it.
    folder.write("record/judgments.tsv", "query\ttitle\tgrade\tkind\nred hammer\thammer in red\t4\tcommon\n");
    run(&["shop.index", "--record", "record"])
        .says(
            "expected the columns query, title_id, title, grade and no other, found `query`, `title`, `grade`, `kind`",
        )
        .says("name a sheet that this program wrote");
    run(&["model.safetensors"]).says("expected an index").says("make one with `clickvec index`");
    let listen = folder.run(&["serve", "shop.index", "--listen", "shop:x"]).code(2);
    listen.says("expected an address in numbers with a port, as 127.0.0.1:7701, or a port, as 7701");
}
