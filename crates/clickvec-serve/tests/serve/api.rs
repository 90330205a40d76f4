//! What each route answers.

use clickvec_index::{Fusion, Teacher};
use clickvec_serve::Tokens;
use serde_json::{Value, json};

use crate::harness::{SHOES, Service, write_fused_index, write_index, write_index_of};
use crate::{schema, tiny};

fn ids(answer: &Value) -> Vec<&str> {
    answer["results"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap()).collect()
}

#[test]
fn search_finds_titles_by_get_and_by_post() {
    let service = Service::start();
    let got = service.get("/search?q=leather+sofa&k=3&mode=words").is(200);
    let posted = service.post("/search", r#"{"query":"leather sofa","k":3,"mode":"words"}"#).is(200);
    assert_eq!(got, posted);
    assert_eq!(ids(&got)[0], "t1");
    assert_eq!(got["results"][0]["rank"], 1);
    service.get("/search?q=sofa&q=sofa").refuses(422, "several");
    let both = service.get("/search?q=leather%20sofa").is(200);
    assert_eq!((&both["mode"], &both["total"], &both["index"]), (&json!("fused"), &json!(6), &json!("shop")));
    assert!(both["results"][0]["parts"]["vectors"].is_object() && both["results"][0]["parts"]["words"].is_object());
    let vectors = service.get("/search?q=leather+sofa&mode=vectors&keywords=true").is(200);
    assert_eq!(ids(&vectors).len(), 6);
    assert!(vectors["keywords"].is_array() && vectors["results"][0]["keywords"].is_array());
    assert!(vectors["results"][0]["matched"].is_null());
    let matched = service.get("/search?q=leather+SOFAS&mode=words&matched=true").is(200);
    assert_eq!(matched["results"][0]["matched"], json!(["leather", "sofa"]), "{matched}");
    let posted = service.post("/search", r#"{"query":"leather SOFAS","mode":"words","matched":true}"#).is(200);
    assert_eq!(posted, matched);
}

#[test]
fn typing_errors_are_corrected_unless_the_words_are_to_stay_as_typed() {
    let service = Service::start();
    let corrected = service.get("/search?q=leathr+sofa&min_confidence=0").is(200);
    assert_eq!((&corrected["corrected"], &corrected["weak"]), (&json!("leather sofa"), &json!(false)), "{corrected}");
    let typed = service.get("/search?q=leathr+sofa&min_confidence=0&as_typed=true").is(200);
    assert!(typed["corrected"].is_null(), "{typed}");
    let body = json!({"query": "leathr sofa", "min_confidence": 0, "as_typed": true}).to_string();
    assert_eq!(service.post("/search", body).is(200), typed);
    for least in ["2", "-0.1", "-1e-225", "NaN", "x"] {
        service.get(&format!("/search?q=sofa&min_confidence={least}")).refuses(422, "a probability from 0 to 1");
    }
}

#[test]
fn suggestions_are_frequent_queries_and_titles() {
    let queries = ["leather sofa", "desk lamp", "sofa"].map(str::to_owned);
    let service = Service::with(|config, _| config.queries = queries.to_vec());
    assert_eq!(service.get("/suggest?q=").is(200), json!({"queries": queries, "titles": []}));
    let typed = service.get("/suggest?q=lether+so").is(200);
    assert_eq!((&typed["queries"], &typed["titles"][0]["id"]), (&json!(["leather sofa"]), &json!("t1")), "{typed}");
    service.get("/suggest").refuses(422, "query");
    service.get("/suggest?q=a&index=other").refuses(404, "shop");
}

#[test]
fn a_teachers_part_is_in_answers_and_explanations() {
    let service = Service::with(|config, folder| {
        let (transformer, taught) = (folder.join("transformer"), folder.join("taught"));
        tiny::write(&transformer);
        let fusion = Fusion::default().with_teacher(Teacher::load(&transformer).unwrap());
        write_fused_index("format-1/lstm", &taught, &SHOES, &fusion);
        config.indexes = vec![("taught".to_owned(), taught)];
    });
    let answer = service.get("/search?q=leather+sofa&k=5").is(200);
    let hit = &answer["results"][0];
    let adds = |part: &str| hit["parts"][part]["adds"].as_f64().unwrap_or(0.0);
    let matches = |name: &str| hit["title_match"][name].as_f64().unwrap();
    let parts: f64 = ["vectors", "words", "trigrams", "teacher"].map(adds).iter().sum();
    let sum = parts + ["head", "numbers", "pairs"].map(matches).iter().sum::<f64>();
    assert!((sum - hit["score"].as_f64().unwrap()).abs() < 1e-4 && adds("teacher") > 0.0, "{answer}");
    let [first, second] = [0, 1].map(|place| ids(&answer)[place].to_owned());
    let explained =
        service.post("/explain", json!({"query": "leather sofa", "id": first, "other": second}).to_string()).is(200);
    let near = |a: &Value, b: &Value| (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 1e-5;
    assert!(near(&explained["title"]["scores"]["teacher"], &hit["parts"]["teacher"]["score"]), "{explained}");
    assert!(explained["gap"]["scores"]["teacher"].is_number(), "{explained}");
    let facts = service.get("/indexes").is(200).to_string();
    assert!(facts.contains("\"teacher\":{\""), "{facts}");
}

#[test]
fn pages_follow_each_other() {
    let service = Service::start();
    let all = service.get("/search?q=leather+sofa&mode=vectors&k=6").is(200);
    let first = service.get("/search?q=leather+sofa&mode=vectors&k=2").is(200);
    let second = service.get("/search?q=leather+sofa&mode=vectors&k=2&offset=2").is(200);
    assert_eq!([ids(&first), ids(&second)].concat(), ids(&all)[..4]);
    assert_eq!(second["results"][0]["rank"], 3);
    assert_eq!(ids(&service.get("/search?q=leather+sofa&mode=vectors&offset=100").is(200)), Vec::<&str>::new());
}

#[test]
fn a_batch_answers_as_each_query_alone() {
    let service = Service::start();
    let batch = service.post("/search", r#"{"queries":["sofa","lamp",""],"k":2}"#).is(200);
    let answers = batch["answers"].as_array().unwrap();
    for (answer, query) in answers.iter().zip(["sofa", "lamp", ""]) {
        assert_eq!(*answer, service.post("/search", json!({"query": query, "k": 2}).to_string()).is(200));
    }
    assert_eq!(answers.len(), 3);
}

#[test]
fn queries_of_every_kind_have_an_answer() {
    let service = Service::start();
    for query in
        ["", " ", "?!", "日本語", "🛋️", "a\u{0}b", "\u{202e}x", "qqqqzzzz", "ß", "' OR 1=1 --", "+-&|!(){}[]^\"~*?:\\"]
    {
        for mode in ["vectors", "words", "fused"] {
            let answer =
                service.post("/search", json!({"query": query, "mode": mode, "keywords": true}).to_string()).is(200);
            assert_eq!(answer["query"], query);
        }
    }
}

#[test]
fn what_cannot_be_asked_is_refused_with_the_field() {
    let service = Service::start();
    for (body, field, text) in [
        (r#"{}"#, "query", "none of them"),
        (r#"{"query":"a","queries":["b"]}"#, "query", "both"),
        (r#"{"query":"a","k":0}"#, "k", "1 to 1000"),
        (r#"{"query":"a","k":1001}"#, "k", "1001"),
        (r#"{"query":"a","k":1,"offset":10000}"#, "offset", "10000"),
        (r#"{"query":"a","offset":18446744073709551615}"#, "offset", "first 10000"),
        (r#"{"query":"a","filters":["brand"]}"#, "filters", "brand"),
        (r#"{"query":"a","filters":["brand=x"]}"#, "filters", "brand"),
        (r#"{"query":"a","filters":["price:20..10"]}"#, "filters", "price:20..10"),
        (r#"{"query":"a","generation":"next"}"#, "generation", "previous"),
        (r#"{"queries":[]}"#, "query", "1 to 1024"),
    ] {
        let reply = service.post("/search", body);
        reply.refuses(422, text);
        assert_eq!(reply.json()["error"]["param"], field, "{body}");
    }
    for body in [
        r#"{"query":1}"#,
        r#"{"query":"a","k":-1}"#,
        r#"{"query":"a","k":1.5}"#,
        r#"{"query":"a","x":1}"#,
        r#"{"query":"a","mode":"bm25"}"#,
        r#"{"query":"a","mode":1}"#,
        r#"{"query":"a","mode":{"fused":1}}"#,
        "[]",
        "null",
        "\"a\"",
    ] {
        service.post("/search", body).refuses(422, "/openapi.json");
    }
    for (path, expected) in [
        ("/search", "expected an object with `query` or `queries`"),
        ("/explain", "expected an object with `query` and `id`"),
        ("/v1/embeddings", "expected an object with `input` and `model`"),
    ] {
        service.post(path, "\"a\"").refuses(422, expected);
    }
    for path in ["/search?k=1", "/search?filter=brand:acme", "/explain?units=3"] {
        let reply = service.post(path, r#"{"query":"a"}"#);
        reply.refuses(422, "no parameters in the address, found");
    }
    service.post("/v1/embeddings?api-version=2024", r#"{"input":"a","model":"shop"}"#).is(200);
    service.post("/search", r#"{"query":"a","index":"other"}"#).refuses(404, "shop");
    service.post("/search", r#"{"query":"a","generation":"previous"}"#).refuses(404, "nothing was reloaded");
    service.post("/search", r#"{"query":"a","query":"b"}"#).refuses(422, "duplicate field `query`");
    let packed = [("content-type", "application/json"), ("content-encoding", "gzip")];
    service.ask("POST", "/search", &packed, b"\x1f\x8b").refuses(415, "without Content-Encoding, found `gzip`");
    service.get("/search").refuses(422, "`q`");
    service.get("/search?q=a&x=1").refuses(422, "x");
    service.get("/search?q=a&k=many").refuses(422, "k");
    service.get("/search?q=%ff").refuses(400, "UTF-8");
}

#[test]
fn embeddings_are_unit_vectors_of_both_towers() {
    let service = Service::start();
    for model in ["shop:query", "shop:title"] {
        let body = json!({"input": ["leather sofa", "?"], "model": model});
        let answer = service.post("/v1/embeddings", body.to_string()).is(200);
        let vector: Vec<f64> = serde_json::from_value(answer["data"][0]["embedding"].clone()).unwrap();
        assert!((vector.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-5);
        assert!(answer["data"][1]["embedding"].as_array().unwrap().iter().all(|x| x.as_f64() == Some(0.0)), "no word");
    }
}

#[test]
fn explain_agrees_with_search() {
    let service = Service::start();
    let found = service.get("/search?q=leather+sofa&k=6").is(200);
    for hit in found["results"].as_array().unwrap() {
        let body = json!({"query": "leather sofa", "id": hit["id"], "units": 1000});
        let title = &service.post("/explain", body.to_string()).is(200)["title"];
        assert_eq!(title["scores"]["vectors"], hit["parts"]["vectors"]["score"], "bit for bit");
        let sum =
            |list: &Value, of: &str| list.as_array().unwrap().iter().map(|x| x[of].as_f64().unwrap()).sum::<f64>();
        let cosine = title["scores"]["vectors"].as_f64().unwrap();
        assert!((sum(&title["units"], "share") - cosine).abs() < 1e-5);
        assert!((sum(&title["query"]["words"], "along") - cosine).abs() < 1e-5);
        assert!((sum(&title["bm25"], "share") - title["scores"]["words"].as_f64().unwrap()).abs() < 1e-4);
        for text in ["query", "text"] {
            for heat in title[text]["heat"].as_array().unwrap() {
                let words = title[text]["words"].as_array().unwrap().len();
                assert_eq!(heat["units"].as_array().unwrap().len(), heat["values"].as_array().unwrap().len());
                assert!(heat["values"].as_array().unwrap().iter().all(|row| row.as_array().unwrap().len() == words));
            }
        }
    }
    assert!(
        !service.post("/explain", r#"{"query":"sofa","id":"t1"}"#).is(200)["title"]["text"]["heat"]
            .as_array()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn explain_draws_cells_where_a_projection_mixes_them() {
    // Six cells make four dimensions.
    let service = Service::with(|config, folder| {
        let index = folder.join("projected.index");
        write_index_of("format-1/projected", &index, &SHOES);
        config.indexes = vec![("shop".to_owned(), index)];
    });
    let cells = |units: u32| {
        let body = json!({"query": "leather sofa", "id": "t1", "units": units});
        let answer = service.post("/explain", body.to_string()).is(200);
        let title = &answer["title"];
        assert_eq!((&answer["unit"], title["units"].as_array().unwrap().len() as u32), (&json!("dimension"), units));
        let heat = ["query", "text"].map(|text| title[text]["heat"].as_array().unwrap().clone()).concat();
        // The same cells in all four pictures: activations and input gates of both texts.
        assert!(heat.len() == 4 && heat.iter().all(|of| of["units"] == heat[0]["units"]), "{heat:?}");
        heat
    };
    let heat = cells(4);
    let largest = |place: usize| {
        let activations = heat.iter().filter(|heat| heat["state"] == "activation");
        let rows = activations.flat_map(|heat| heat["values"][place].as_array().unwrap());
        rows.map(|value| value.as_f64().unwrap().abs()).fold(0.0, f64::max)
    };
    assert!((0..4).map(largest).is_sorted_by(|a, b| a >= b));
    assert_eq!(cells(1)[0]["units"][0], heat[0]["units"][0]);
}

#[test]
fn explain_says_why_one_title_is_above_another() {
    let service = Service::start();
    let answer = service.post("/explain", r#"{"query":"leather sofa","id":"t1","other":"t5"}"#).is(200);
    assert_eq!(answer["unit"], "cell");
    let gap = &answer["gap"];
    let score = |title: &str, of: &str| answer[title]["scores"][of].as_f64().unwrap();
    assert!(
        (gap["scores"]["vectors"].as_f64().unwrap() - (score("title", "vectors") - score("other", "vectors"))).abs()
            < 1e-6
    );
    let sum = |of: &str| gap["by_word"].as_array().unwrap().iter().map(|word| word[of].as_f64().unwrap()).sum::<f64>();
    assert!((sum("vectors") - gap["scores"]["vectors"].as_f64().unwrap()).abs() < 1e-5);
    assert!((sum("words") - gap["scores"]["words"].as_f64().unwrap()).abs() < 1e-4);
    service.post("/explain", r#"{"query":"sofa","id":"nobody"}"#).refuses(404, "nobody");
    service.post("/explain", r#"{"query":"","id":"t1","other":"t2"}"#).is(200);
}

#[test]
fn several_indexes_have_names() {
    let service = Service::with(|config, folder| {
        let second = folder.join("lamps.index");
        write_index(&second, &[("l1", "Floor lamp"), ("l2", "Table lamp")]);
        config.indexes.push(("lamps".to_owned(), second));
    });
    assert_eq!(service.get("/search?q=lamp&index=lamps").is(200)["total"], 2);
    assert_eq!(service.get("/search?q=lamp").is(200)["total"], SHOES.len());
    let indexes = service.get("/indexes").is(200);
    assert_eq!(indexes["indexes"][1]["name"], "lamps");
    assert_eq!(indexes["indexes"][1]["current"]["facts"]["titles"], 2);
}

#[test]
fn health_figures_and_the_page() {
    let service = Service::start();
    assert_eq!(service.get("/health/live").is(200)["status"], "live");
    assert_eq!(service.get("/health/ready").is(200)["status"], "ready");
    service.get("/search?q=sofa");
    service.get("/nothing");
    let figures = service.get("/metrics").text();
    for line in [
        "clickvec_requests_total{route=\"/search\",status=\"200\"} 1",
        "clickvec_requests_total{route=\"none\",status=\"404\"} 1",
        "clickvec_request_seconds_bucket{route=\"/search\",le=\"0.000001\"}",
        "clickvec_stage_seconds_count{stage=\"queue\"} 1",
        "clickvec_titles{index=\"shop\"} 6",
        "clickvec_generation{index=\"shop\"} 1",
        "clickvec_log_dropped_total 0",
    ] {
        assert!(figures.contains(line), "{line} in\n{figures}");
    }
    for path in ["/", "/page.css", "/cards.js", "/page.js", "/explain.js"] {
        let reply = service.get(path);
        assert_eq!(reply.status, 200);
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        let text = reply.text();
        for other in ["http://", "https://", " onclick", "style=", "innerHTML", "eval("] {
            assert!(!text.replace("http://www.w3.org/2000/svg", "").contains(other), "{path} has {other}");
        }
    }
}

#[test]
fn answers_say_where_the_time_went_and_carry_the_clients_name_for_the_request() {
    let service = Service::start();
    let reply = service.ask("GET", "/search?q=leather+sofa", &[("X-Request-Id", "mine-1")], b"");
    assert_eq!(reply.header("x-request-id"), Some("mine-1"));
    let timing = reply.header("server-timing").unwrap();
    for stage in ["queue;dur=", "encode;dur=", "vectors;dur=", "words;dur=", "total;dur="] {
        assert!(timing.contains(stage), "{timing}");
    }
    let hostile = service.ask("GET", "/search?q=leather+sofa", &[("X-Request-Id", "<script>")], b"");
    assert_ne!(hostile.header("x-request-id"), Some("<script>"));
}

#[test]
fn the_log_has_the_trace_that_a_request_belongs_to() {
    let service = Service::start();
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let parents = [
        format!("00-{trace}-00f067aa0ba902b7-01"),
        format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
        format!("00-{trace}-00f067aa0ba902b7"),
        format!("00-{}-00f067aa0ba902b7-01", trace.to_uppercase()),
    ];
    for parent in &parents {
        service.ask("GET", "/search?q=sofa", &[("traceparent", parent)], b"").is(200);
    }
    let log = service.stop();
    assert_eq!(log.matches(&format!(r#""trace":"{trace}""#)).count(), 1, "{log}");
    assert_eq!(log.matches(r#""trace""#).count(), 1, "{log}");
}

#[test]
fn methods_and_addresses_that_are_not_there() {
    let service = Service::start();
    service.ask("DELETE", "/search", &[], b"").refuses(405, "found DELETE");
    service.get("/explain").refuses(405, "Allow");
    assert_eq!(service.get("/explain").header("allow"), Some("POST"));
    for path in ["/nothing", "/search/", "//search", "/Search", "/admin", "/../etc/passwd", "/%2e%2e/", "/page.css/.."]
    {
        service.get(path).refuses(404, "/openapi.json");
    }
    let head = service.ask("HEAD", "/health/live", &[], b"");
    assert_eq!((head.status, head.body.len()), (200, 0));
}

/// The description has the methods of each address, and says which of them need a token.
#[test]
fn the_description_is_true_of_addresses() {
    let service = Service::with(|config, folder| {
        let path = folder.join("tokens");
        std::fs::write(&path, "search a-token-of-many-letters\nadmin another-token-of-many-letters\n").unwrap();
        config.tokens = Tokens::read(&path).unwrap();
    });
    let description = service.get("/openapi.json").is(200);
    for (path, methods) in description["paths"].as_object().unwrap() {
        let described = |method: &str| methods.get(method.to_lowercase());
        let path = path.replace("{id}", "shop");
        for method in ["GET", "POST", "PUT", "DELETE"] {
            let request = format!(
                "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            );
            let status = service.send(request.as_bytes()).status;
            let expected = match described(method) {
                None => 405,
                Some(operation) if operation.get("security").is_some() => 401,
                Some(_) => 200,
            };
            assert_eq!(status, expected, "{method} {path}");
        }
    }
}

/// The examples of the description are requests that work, and what it forbids is refused.
#[test]
fn the_description_is_true_of_requests() {
    let service = Service::with(|config, folder| config.record = Some(folder.join("record")));
    let description = service.get("/openapi.json").is(200);
    let mut seen = 0;
    for (path, methods) in description["paths"].as_object().unwrap() {
        let Some(body) = methods.get("post").and_then(|post| post.get("requestBody")) else { continue };
        let content = &body["content"]["application/json"];
        let mut example = content["example"].clone();
        let name = content["schema"]["$ref"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        assert!(schema::allows(&description, &name, &example), "{path}");
        if example.get("id").is_some() {
            example["id"] = "t1".into();
        }
        service.post(path, example.to_string()).is(200);
        let told = description["components"]["schemas"][&name].clone();
        // Every field that is described is known, and no other.
        for field in told["properties"].as_object().unwrap().keys() {
            let mut wrong = example.clone();
            wrong[field] = json!({"an": "object"});
            assert!(!schema::allows(&description, &name, &wrong), "{path} {field}");
            let reply = service.post(path, wrong.to_string());
            reply.refuses(422, "");
            assert!(!reply.text().contains("unknown field"), "{path} {field}: {}", reply.text());
            // What may be null says nothing.
            let mut empty = example.clone();
            empty[field] = Value::Null;
            let status = service.post(path, empty.to_string()).status;
            assert_eq!(
                status == 200,
                schema::allows(&description, &name, &empty),
                "{path} {field}: null gave {status}"
            );
        }
        if told.get("additionalProperties").is_some() {
            example["surplus"] = 1.into();
            service.post(path, example.to_string()).refuses(422, "surplus");
        }
        seen += 1;
    }
    assert_eq!(seen, 5);
}

#[test]
fn the_log_has_requests_and_queries_only_if_asked_for() {
    let secret = "a query that nobody should read";
    for (is_asked, log) in [(false, false), (true, true)].map(|(asked, expected)| {
        let service = Service::with(|config, _| config.log_queries = asked);
        service.post("/search", json!({"query": secret}).to_string()).is(200);
        service.post("/search", json!({"query": "x", "index": secret}).to_string()).refuses(404, "");
        service.post("/explain", json!({"query": secret, "id": "t1"}).to_string()).is(200);
        (expected, service.stop())
    }) {
        assert_eq!(log.contains(secret), is_asked, "{log}");
        let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of = |event: &str| lines.iter().filter(|line| line["event"] == event).count();
        assert_eq!((of("request"), of("start"), of("stop"), of("end")), (4, 1, 1, 1), "{log}");
        let request = lines.iter().find(|line| line["route"] == "/search").unwrap();
        assert_eq!(
            (&request["status"], &request["index"], &request["texts"]),
            (&json!(200), &json!("shop"), &json!(1))
        );
    }
}
