//! Clicks and judgments.

use std::io::{BufRead as _, BufReader, Write as _};

use serde_json::{Value, json};

use crate::harness::{Service, write_index};

fn keeping() -> Service {
    Service::with(|config, folder| config.record = Some(folder.join("record")))
}

fn rows(service: &Service) -> Vec<Value> {
    let text = std::fs::read_to_string(service.path("record/clicks.jsonl")).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_click_and_what_was_shown_are_rows_that_prepare_reads() {
    let service = keeping();
    let click = json!({"query": "leather\tsofa", "id": "t2", "session": "s1", "shown": ["t1", "t2", "t3"]});
    assert_eq!(service.post("/click", click.to_string()).is(200)["rows"], 3);
    service.post("/click", r#"{"query":"lamp","id":"t3","position":7}"#).is(200);
    service.post("/click", r#"{"query":"oak","shown":["t4"]}"#).is(200);
    let rows = rows(&service);
    let of = |name: &str| rows.iter().map(|row| row[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("item"), ["t1", "t2", "t3", "t3", "t4"]);
    assert_eq!(of("clicked"), [0, 1, 0, 1, 0]);
    assert_eq!(of("position"), [1, 2, 3, 7, 1]);
    assert_eq!(rows[1]["title"], "Velvet sofa, two seats");
    assert_eq!(
        (&rows[0]["query"], &rows[0]["session"], &rows[3]["session"]),
        (&json!("leather\tsofa"), &json!("s1"), &Value::Null)
    );
}

#[test]
fn clicks_are_queries_and_events_of_user_behavior_insights_too() {
    let service = Service::with(|config, folder| {
        config.record = Some(folder.join("record"));
        config.ubi = true;
    });
    let click = json!({"query": "leather sofa", "id": "t2", "session": "s1", "shown": ["t1", "t2"]});
    service.post("/click", click.to_string()).is(200);
    service.post("/click", r#"{"query":"lamp","id":"t3","position":7}"#).is(200);
    let read = |name: &str| -> Vec<Value> {
        let text = std::fs::read_to_string(service.path("record").join(name)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let (queries, events, rows) = (read("ubi_queries.jsonl"), read("ubi_events.jsonl"), rows(&service));
    assert_eq!((queries.len(), rows.len()), (2, 3));
    assert_eq!(
        (&queries[0]["user_query"], &queries[0]["query_response_hit_ids"]),
        (&json!("leather sofa"), &json!(["t1", "t2"]))
    );
    assert_ne!(queries[0]["query_id"], queries[1]["query_id"]);
    let told: Vec<(&Value, &Value, &Value)> = events
        .iter()
        .map(|event| {
            (
                &event["action_name"],
                &event["event_attributes"]["object"]["object_id"],
                &event["event_attributes"]["position"]["ordinal"],
            )
        })
        .collect();
    let expected = json!([["impression", "t1", 1], ["impression", "t2", 2], ["click", "t2", 2], ["click", "t3", 7]]);
    assert_eq!(json!(told), expected);
    assert!(events[..3].iter().all(|event| event["query_id"] == queries[0]["query_id"] && event["session_id"] == "s1"));
    assert_eq!((&events[3]["query_id"], &events[3]["timestamp"]), (&queries[1]["query_id"], &rows[2]["time"]));
}

#[test]
fn what_is_no_click_is_refused_and_leaves_no_row() {
    let service = keeping();
    for (body, status, text) in [
        (json!({"query": "a"}), 422, "neither"),
        (json!({"query": "", "id": "t1"}), 422, "expected a query, found none"),
        (json!({"query": " \t", "shown": ["t1"]}), 422, "expected a query, found none"),
        (json!({"query": "\u{1}\u{1b}", "id": "t1"}), 422, "expected a query, found none"),
        (json!({"query": "\u{200b} \u{2060}", "id": "t1"}), 422, "expected a query, found none"),
        (json!({"query": "a", "id": "t9"}), 404, "t9"),
        (json!({"query": "a", "id": "t1", "shown": ["t1", "t9"]}), 404, "t9"),
        (
            json!({"query": "a", "id": "t1", "shown": ["t1", "t2", "t1"]}),
            422,
            "expected each title once, found `t1` twice",
        ),
        (json!({"query": "a", "id": "t1", "position": 0}), 422, "counted from 1"),
        (
            json!({"query": "a", "id": "t1", "position": 7, "shown": ["t2", "t1"]}),
            422,
            "the position of `id` in `shown`, 2",
        ),
        (json!({"query": "a", "id": "t1", "session": "s".repeat(129)}), 422, "128"),
        (json!({"query": "x".repeat(9000), "id": "t1"}), 422, "8192"),
    ] {
        service.post("/click", body.to_string()).refuses(status, text);
    }
    assert!(rows(&service).is_empty());
    let other = Service::start();
    other.post("/click", r#"{"query":"a","id":"t1"}"#).refuses(404, "start it with a folder for them");
    other.post("/judge", r#"{"query":"a","id":"t1","grade":"up"}"#).refuses(404, "start it with a folder for them");
}

#[test]
fn many_clients_at_once_lose_nothing() {
    let service = keeping();
    std::thread::scope(|scope| {
        for client in 0..8 {
            let service = &service;
            scope.spawn(move || {
                for number in 0..25 {
                    let body = json!({"query": format!("{client}-{number}"), "id": "t1"});
                    service.post("/click", body.to_string()).is(200);
                }
            });
        }
    });
    let mut queries: Vec<String> = rows(&service).iter().map(|row| row["query"].as_str().unwrap().to_owned()).collect();
    queries.sort();
    queries.dedup();
    assert_eq!(queries.len(), 200);
}

#[test]
fn judgments_are_a_table() {
    let without = Service::start();
    without
        .post("/judge", r#"{"query":"sofa","id":"t1","grade":"up"}"#)
        .refuses(404, "start it with a folder for them");
    without.post("/click", r#"{"query":"sofa","id":"t1"}"#).refuses(404, "start it with a folder for them");
    let service = keeping();
    let judge =
        |id: &str, grade: Value| service.post("/judge", json!({"query": "sofa", "id": id, "grade": grade}).to_string());
    assert_eq!(judge("t1", json!("up")).is(200)["judgments"], 1);
    judge("t5", json!("down")).is(200);
    judge("t2", json!(2)).is(200);
    judge("t2", Value::Null).is(200);
    judge("t3", json!(5)).refuses(422, "0 to 4");
    for wrong in [json!("sideways"), json!(5), json!(-1), json!(2.5), json!(true), json!([1])] {
        judge("t3", wrong)
            .refuses(422, "expected a grade, which is \"up\", \"down\", a whole number from 0 to 4 or null");
    }
    judge("t2", json!(3.0)).is(200);
    judge("t2", Value::Null).is(200);
    judge("t9", json!("up")).refuses(404, "t9");
    for query in [" ", "\u{200b}\u{2060}"] {
        service.post("/judge", json!({"query": query, "id": "t1", "grade": "up"}).to_string()).refuses(422, "a query");
    }
    let table = std::fs::read_to_string(service.path("record/judgments.tsv")).unwrap();
    assert_eq!(
        table,
        "query\ttitle_id\ttitle\tgrade\nsofa\tt1\tLeather sofa with three seats\t4\nsofa\tt5\tGarden hose, 20 m\t0\n"
    );
}

#[test]
fn a_fault_of_judgments_shows_no_path_of_the_server() {
    let service = keeping();
    let judge = || service.post("/judge", r#"{"query":"sofa","id":"t1","grade":"up"}"#);
    judge().is(200);
    let table = service.path("record/judgments.tsv");
    std::fs::remove_file(&table).unwrap();
    std::fs::create_dir(&table).unwrap();
    let reply = judge();
    assert_eq!(reply.status, 503, "{}", reply.text());
    let folder = table.parent().unwrap().to_str().unwrap();
    assert!(!reply.text().contains(folder) && !reply.text().contains("judgments.tsv"), "{}", reply.text());
}

#[test]
fn an_id_that_is_another_title_elsewhere_is_not_judged() {
    let service = Service::with(|config, folder| {
        let lamps = folder.join("lamps.index");
        write_index(&lamps, &[("t1", "Lamp"), ("t3", "Desk lamp of brass"), ("t9", "Lamp shade")]);
        config.indexes.push(("lamps".to_owned(), lamps));
        config.record = Some(folder.join("record"));
    });
    let judge = |index: &str, id: &str| {
        service.post("/judge", json!({"query": "lamp", "id": id, "grade": "up", "index": index}).to_string())
    };
    judge("shop", "t3").is(200);
    judge("lamps", "t3").is(200);
    judge("lamps", "t9").is(200);
    judge("shop", "t1").refuses(422, "found `Lamp` in the index lamps");
    judge("lamps", "t1").refuses(422, "found `Leather sofa with three seats` in the index shop");
    let table = std::fs::read_to_string(service.path("record/judgments.tsv")).unwrap();
    assert_eq!(table, "query\ttitle_id\ttitle\tgrade\nlamp\tt3\tDesk lamp of brass\t4\nlamp\tt9\tLamp shade\t4\n");
}

#[test]
fn a_log_that_was_moved_away_is_begun_anew() {
    let service = Service::with(|config, folder| {
        config.record = Some(folder.join("record"));
        config.limits.clicks = 4096;
    });
    let click = |number: usize| json!({"query": format!("sofa {number}"), "id": "t1"}).to_string();
    service.post("/click", click(0)).is(200);
    std::fs::rename(service.path("record/clicks.jsonl"), service.path("record/moved.jsonl")).unwrap();
    for number in 1..200 {
        service.post("/click", click(number)).is(200);
    }
    let lines = |path: &std::path::Path| std::fs::read_to_string(path).unwrap().lines().count();
    let names = std::fs::read_dir(service.path("record/clicks.jsonl").parent().unwrap()).unwrap();
    let logs = names.map(|name| name.unwrap().path()).filter(|path| path.extension().is_some_and(|of| of == "jsonl"));
    let counts: Vec<usize> = logs.map(|path| lines(&path)).collect();
    assert!(counts.len() > 2 && counts.iter().sum::<usize>() == 200, "{counts:?}");
}

/// The name of the variable that makes this test program a service that is killed.
const KILLED: &str = "CLICKVEC_SERVE_KILLED";

/// Not a test by itself: `kill_9_loses_no_acknowledged_click` runs it in a process of its own.
#[test]
fn a_service_that_is_killed() {
    let Some(folder) = std::env::var_os(KILLED) else { return };
    let folder = std::path::PathBuf::from(folder);
    let service = Service::with(|config, _| {
        config.record = Some(folder.join("record"));
        config.limits.clicks = 4096;
    });
    println!("\naddress {}", service.address);
    std::io::stdout().flush().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(60));
}

#[cfg(unix)]
#[test]
fn kill_9_loses_no_acknowledged_click() {
    let (folder, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut acknowledged = Vec::new();
    for round in 0..4 {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["clicks::a_service_that_is_killed", "--exact", "--nocapture"])
            .env(KILLED, folder.path())
            .env("TMPDIR", scratch.path())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines.find_map(|line| line.unwrap().strip_prefix("address ").map(str::to_owned)).unwrap();
        let kept = std::sync::Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for client in 0..4 {
                let (address, kept) = (&address, &kept);
                scope.spawn(move || {
                    for number in 0.. {
                        let query = format!("{round}-{client}-{number}");
                        let Some(200) = click(address, &query) else { return };
                        kept.lock().unwrap().push(query);
                    }
                });
            }
            std::thread::sleep(std::time::Duration::from_millis(60 + 70 * round));
            child.kill().unwrap();
        });
        child.wait().unwrap();
        acknowledged.extend(kept.into_inner().unwrap());
    }
    assert!(acknowledged.len() > 20, "only {} were acknowledged", acknowledged.len());
    // What the last kill left is mended by the next start.
    drop(Service::with(|config, _| config.record = Some(folder.path().join("record"))));
    let mut found = std::collections::HashSet::new();
    let mut files = 0;
    for entry in std::fs::read_dir(folder.path().join("record")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        let text = std::fs::read_to_string(path).unwrap();
        files += 1;
        for line in text.lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            assert!(found.insert(row["query"].as_str().unwrap().to_owned()), "{line} twice");
        }
    }
    assert!(files > 1, "none was put aside");
    let lost: Vec<&String> = acknowledged.iter().filter(|query| !found.contains(*query)).collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
}

/// Posts a click and returns the status, if there was an answer.
#[cfg(unix)]
fn click(address: &str, query: &str) -> Option<u16> {
    use std::io::Read as _;
    let mut stream = std::net::TcpStream::connect(address).ok()?;
    let body = json!({"query": query, "id": "t1"}).to_string();
    let head = format!(
        "POST /click HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let text = String::from_utf8_lossy(&answer);
    text.split(' ').nth(1)?.parse().ok()
}
