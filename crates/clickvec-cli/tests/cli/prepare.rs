//! `clickvec prepare`.

use std::fmt::Write as _;
use std::io::Write as _;

use serde_json::Value;

use crate::harness::{Folder, Run};

pub(crate) const LOG: &str = "query\ttitle\tuser\ttime\n\
    Red shoes\tShoes, red\tu1\t2024-05-01 10:00:00\n\
    red  shoes\tShoes, red\tu2\t2024-05-02 10:00:00\n\
    red shoes\tBoots, red\tu3\t2024-05-03 10:00:00\n\
    sofa\tCouch\tu1\t2024-05-01 11:00:00\n";

pub(crate) fn prepare(folder: &Folder, more: &[&str]) -> Run {
    folder.run(&[&["prepare", "log.tsv", "--output", "clicks.tsv"], more].concat())
}

#[track_caller]
pub(crate) fn json(run: Run) -> Value {
    run.code(0).json_lines().remove(0)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn pairs_are_counted_in_order() {
    let folder = Folder::new();
    folder.write("log.tsv", LOG);
    prepare(&folder, &["--min-users", "1"])
        .code(0)
        .prints_nothing()
        .says("clicks.tsv: written; 2 queries, 3 pairs, 4 clicks");
    let expected = "query\ttitle\tcount\nred shoes\tBoots, red\t1\nred shoes\tShoes, red\t2\nsofa\tCouch\t1\n";
    assert_eq!(folder.read("clicks.tsv"), expected);
    prepare(&folder, &["--min-users", "9"]).code(2).says("found none left");
    assert_eq!(folder.read("clicks.tsv"), expected, "the former output stays");
    prepare(&folder, &["--min-users", "1", "--keep", "case"]).code(0).says("3 queries, 4 pairs, 4 clicks");
    assert!(folder.read("clicks.tsv").contains("Red shoes\tShoes, red\t1\nred shoes\t"));
}

#[test]
fn columns_of_any_name_are_read() {
    let folder = Folder::new();
    let log =
        "q,i,c,n,u,s\nred shoes,1,yes,2,u1,v1\nred shoes,1,no,5,u2,v1\nsofa,2,yes,3,u2,v2\nred shoes,1,yes,1,u2,v3\n";
    folder.write("log.csv", log);
    folder.write("titles.tsv", "id\ttitle\n1\tShoes\n2\tCouch\n");
    let columns = [
        ["--columns", "query=q"],
        ["--columns", "item=i"],
        ["--columns", "clicked=c"],
        ["--columns", "count=n"],
        ["--columns", "user=u"],
        ["--columns", "session=s"],
        ["--min-users", "1"],
    ];
    let command = ["prepare", "log.csv", "--titles", "titles.tsv", "--output", "clicks.tsv"];
    folder.run(&[&command[..], &columns.concat()].concat()).code(0).says("not clicked  1 row");
    assert_eq!(folder.read("clicks.tsv"), "query\ttitle\tcount\nred shoes\tShoes\t3\nsofa\tCouch\t3\n");
    // Queries by their ids.
    folder.write("ids.csv", "k,title\n7,Shoes\n");
    folder.write("queries.tsv", "query_id\tquery\n7\tred shoes\n");
    let command =
        ["prepare", "ids.csv", "--columns", "query_id=k", "--queries", "queries.tsv", "--output", "clicks.tsv"];
    folder.run(&command).code(0);
    assert_eq!(folder.read("clicks.tsv"), "query\ttitle\tcount\nred shoes\tShoes\t1\n");
}

#[test]
fn train_takes_what_prepare_wrote() {
    let folder = Folder::with_data();
    let report = json(folder.run(&["prepare", "clicks.tsv", "--output", "prepared.tsv", "--json"]));
    assert_eq!((&report["rows"], &report["training"]["queries"]), (&144.into(), &48.into()));
    folder
        .run(&[
            "train",
            "--clicks",
            "prepared.tsv",
            "--output",
            "m.safetensors",
            "--set",
            "encoder.cells=8",
            "--epochs",
            "1",
        ])
        .code(0);
}

#[test]
fn formats_files_and_pipes_give_the_same_bytes() {
    let folder = Folder::new();
    folder.write("log.tsv", LOG);
    prepare(&folder, &["--min-users", "1"]).code(0);
    let expected = folder.read("clicks.tsv");
    let csv = "\u{feff}time,user,Title,QUERY\r\n2024-05-01T10:00:00Z,u1,\"Shoes, red\",Red shoes\r\n\
        1714644000,u2,\"Shoes, red\",red shoes\r\n2024-05-03,u3,\"Boots, red\",\" red\nshoes\"\r\n2024-05-01,u1,Couch,sofa";
    let json = "{\"q\":{\"text\":\"Red shoes\"},\"title\":\"Shoes, red\"}\n{\"q\":{\"text\":\"red shoes\"},\"title\":\"Shoes, red\"}\n\
        {\"q\":{\"text\":\"red\\tshoes\"},\"title\":\"Boots, red\"}\n{\"q\":{\"text\":\"sofa\"},\"title\":\"Couch\",\"other\":[7]}\n";
    folder.write("log.csv", csv);
    folder.write("log.csv.gz", gzip(csv.as_bytes()));
    folder.write("noname", csv);
    let check = |run: Run| {
        run.code(0);
        assert_eq!(folder.read("again.tsv"), expected);
    };
    for name in ["log.csv", "log.csv.gz", "noname"] {
        check(folder.run(&["prepare", name, "-o", "again.tsv", "--min-users", "1"]));
    }
    check(folder.run_with(&["prepare", "-", "-o", "again.tsv", "--min-users", "1"], LOG));
    check(folder.run_with(&["prepare", "-", "-o", "again.tsv", "--min-users", "1"], gzip(LOG.as_bytes())));
    check(folder.run_with(&["prepare", "-", "-o", "again.tsv", "--columns", "query=q.text"], json));
    let (head, tail) = LOG.split_at(LOG.find("red  shoes").unwrap());
    folder.write("a.tsv", head);
    folder.write("b.tsv", format!("query\ttitle\tuser\ttime\n{tail}"));
    check(folder.run(&["prepare", "a.tsv", "b.tsv", "-o", "again.tsv", "--min-users", "1"]));
    folder.write("both.tsv", format!("{head}query\ttitle\tuser\ttime\n{tail}"));
    check(folder.run(&["prepare", "both.tsv", "-o", "again.tsv", "--min-users", "1", "--memory", "16M"]));
    folder.write("bare.csv", "sofa;x;Couch\nred shoes;x;Shoes, red\nRed Shoes;x;Shoes, red\nred shoes;x;Boots, red\n");
    let header = ["--columns", "query,-,title", "--format", "csv:;"];
    check(folder.run(&[&["prepare", "bare.csv", "-o", "again.tsv"], &header[..]].concat()));
}

#[test]
fn queries_of_few_users_are_left_out() {
    let folder = Folder::new();
    let mut log = "query\ttitle\tuser\ttime\n".to_owned();
    for query in 1..=9 {
        for user in 0..query {
            for day in 1..3 {
                let _ = writeln!(log, "q{query}\tt{query}\tu{user}\t2024-05-0{day}");
            }
        }
        let _ = writeln!(log, "q{query}\tt{query}\t\t2024-05-01");
    }
    folder.write("log.tsv", log);
    let queries = || -> Vec<String> {
        let table = folder.read("clicks.tsv");
        table.lines().skip(1).map(|line| line.split('\t').next().unwrap().to_owned()).collect()
    };
    let run = prepare(&folder, &["--min-users", "5"]).code(0).says("query of fewer than 5 users").says("4 queries");
    run.says(
        "warning: 24 % of the clicks and 44 % of the queries are left out, 24 of 99 and 4 of 9: fewer than 5 users",
    )
    .says("`--min-users` of 2 keeps more of them; `--private` keeps and marks them all, for training next to the log");
    assert_eq!(queries(), ["q5", "q6", "q7", "q8", "q9"]);
    prepare(&folder, &["--min-users", "8"]).code(0);
    assert_eq!(queries(), ["q8", "q9"]);
}

#[test]
fn a_log_of_which_most_is_lost_is_no_success() {
    let folder = Folder::new();
    folder.write("titles.csv", "sku,name\ns1,\"Lamp, red\"\n");
    folder.write("log.csv", "query,item\nlamp,s1\nsofa,s2\ncouch,s3\n");
    let titles = ["--titles", "titles.csv", "--columns", "titles.id=sku", "--columns", "titles.title=name"];
    let run = folder.run(&[&["prepare", "log.csv", "-o", "out.tsv"], &titles[..]].concat()).code(1);
    run.says("warning: most rows that could be clicks were left out, 2 of 3, mostly items without a title");
    assert_eq!(folder.read("out.tsv"), "query\ttitle\tcount\nlamp\tLamp, red\t1\n");
    // Half of them is not most of them, and titles that were only shown are no loss.
    folder.write("log.csv", "query,item,clicked\nlamp,s1,1\nsofa,s2,1\ncouch,s3,0\ncouch,s1,0\n");
    folder.run(&[&["prepare", "log.csv", "-o", "out.tsv"], &titles[..]].concat()).code(0);
    // Most clicks of single users: the default says so, a limit that was asked for is meant.
    folder.write("log.tsv", "query\ttitle\tuser\na\tt\tu1\na\tt\tu2\nb\tt\tu1\nc\tt\tu1\nd\tt\tu1\n");
    prepare(&folder, &[]).code(1).says("warning: most clicks were left out because of too few users");
    prepare(&folder, &["--min-users", "2"]).code(0);
}

#[test]
fn robots_and_what_is_personal_stay_out() {
    let folder = Folder::new();
    let mut log = "query\ttitle\tuser\ttime\n".to_owned();
    for i in 0..300 {
        let _ = writeln!(log, "q{i}\tt\trobot\t2024-05-01 00:{:02}:{:02}", i / 60, i % 60);
        let _ = writeln!(log, "q{i}\tt\tperson{}\t2024-05-01 00:{:02}:{:02}", i % 10, i / 60, i % 60);
    }
    log.push_str("write to jane@example.com\tt\tperson1\t2024-05-01\n+49 30 1234567\tt\tperson1\t2024-05-01\n");
    folder.write("log.tsv", &log);
    let report = json(prepare(&folder, &["--min-users", "1", "--json"]));
    assert_eq!((&report["robots"], &report["left_out"]["robots"]), (&1.into(), &300.into()));
    assert_eq!(report["personal"], serde_json::json!({"emails": 1, "phones": 1, "cards": 0}));
    assert_eq!(report["left_out"]["only_personal"], 1);
    let text = folder.read("clicks.tsv");
    assert!(text.contains("\nwrite to\tt\t1\n") && !text.contains("example.com"));
    assert!(text.contains("\nq7\tt\t1\n"));
    let run = prepare(&folder, &["--min-users", "1", "--max-queries", "0/day", "--keep", "personal"]).code(0);
    assert!(!run.stderr().contains("jane"));
    assert!(folder.read("clicks.tsv").contains("jane@example.com"));
    assert!(folder.read("clicks.tsv").contains("\nq7\tt\t2\n"));
    // Another limit for the log leaves the one a day as it is; 0 alone sets none.
    for (limit, robots) in [("5000", Some(1)), ("0", None)] {
        let report = json(prepare(&folder, &["--min-users", "1", "--max-queries", limit, "--json"]));
        assert_eq!(report["robots"].as_u64(), robots, "{limit}");
    }
}

#[test]
fn items_get_their_titles() {
    let folder = Folder::new();
    folder.write("log.csv", "query,sku\nred shoes,1\nred shoes,2\nsofa,3\n");
    folder.write("titles.tsv", "id\ttitle\n1\tShoes, red\n3\tCouch\n3\tOther\n");
    let join = ["prepare", "log.csv", "-o", "clicks.tsv", "--columns", "item=sku"];
    folder
        .run(&join)
        .code(2)
        .says("name a table that gives each item its title as `--titles`, or set `--item-as-title`");
    folder.run(&join[..4]).code(2).says("expected a column `title`, found `query`, `sku`").says("`item=NAME`");
    let run = folder.run(&[&join[..], &["--titles", "titles.tsv"]].concat()).code(0);
    run.says("1 of 3");
    assert_eq!(folder.read("clicks.tsv"), "query\ttitle\tcount\nred shoes\tShoes, red\t1\nsofa\tCouch\t1\n");
    std::fs::create_dir(folder.path("beir")).unwrap();
    folder.run(&[&join[..], &["--titles", "beir"]].concat()).code(2).says("without `corpus.jsonl`");
    let corpus =
        "{\"_id\":\"1\",\"title\":\"Shoes, red\",\"text\":\"of leather\"}\n{\"_id\":\"3\",\"text\":\"Couch\"}\n";
    folder.write("beir/corpus.jsonl", corpus);
    let joined = folder.read("clicks.tsv");
    for titles in ["beir", "beir/corpus.jsonl"] {
        folder.write("clicks.tsv", "");
        folder.run(&[&join[..], &["--titles", titles]].concat()).code(0).says("1 of 3");
        assert_eq!(folder.read("clicks.tsv"), joined);
    }
    folder.run(&[&join[..], &["--item-as-title"]].concat()).code(0);
    assert_eq!(folder.read("clicks.tsv"), "query\ttitle\tcount\nred shoes\t1\t1\nred shoes\t2\t1\nsofa\t3\t1\n");
}

#[test]
fn presets_join_searches_and_clicks() {
    let folder = Folder::new();
    let click = |query: &str, action: &str, item: u32| {
        format!(
            "{{\"action_name\":\"{action}\",\"query_id\":\"{query}\",\"client_id\":\"c\",\"timestamp\":\"2024-05-17T08:30:09Z\",\
             \"event_attributes\":{{\"object\":{{\"object_id\":\"{item}\"}},\"position\":{{\"ordinal\":1}}}}}}\n"
        )
    };
    // Clicks may come before their search, and in their own file.
    folder
        .write("events.ndjson", [click("a", "click", 1), click("b", "impression", 1), click("x", "click", 1)].concat());
    folder.write(
        "queries.ndjson",
        "{\"query_id\":\"a\",\"user_query\":\"red shoes\",\"client_id\":\"c\"}\n{\"query_id\":\"b\",\"user_query\":\"sofa\",\"client_id\":\"c\"}\n",
    );
    folder.write("titles.tsv", "id\ttitle\n1\tShoes, red\n");
    let ubi = [
        "prepare",
        "events.ndjson",
        "queries.ndjson",
        "-o",
        "clicks.tsv",
        "--preset",
        "ubi",
        "--titles",
        "titles.tsv",
        "--min-users",
        "1",
    ];
    let report = json(folder.run(&[&ubi[..], &["--json"]].concat()));
    assert_eq!((&report["left_out"]["without_search"], &report["left_out"]["not_clicked"]), (&1.into(), &1.into()));
    // Every row is accounted for.
    assert_eq!((&report["rows"], &report["searches"], &report["clicks"]), (&5.into(), &2.into(), &1.into()));
    let expected = "query\ttitle\tcount\nred shoes\tShoes, red\t1\n";
    assert_eq!(folder.read("clicks.tsv"), expected);
    // An id is one search, so a second one with it is counted and told.
    folder.write(
        "twice.ndjson",
        ["red shoes", "Red  Shoes ", "redshoes", "boots"]
            .map(|query| format!("{{\"query_id\":\"a\",\"user_query\":\"{query}\",\"client_id\":\"c\"}}\n"))
            .concat(),
    );
    let twice = [&["prepare", "events.ndjson", "twice.ndjson", "-o", "twice.tsv"], &ubi[5..]].concat();
    let repeated = json(folder.run(&[&twice[..], &["--json"]].concat()));
    assert_eq!((&repeated["repeated_searches"], &repeated["contradicting_searches"]), (&3.into(), &2.into()));
    assert_eq!((&report["repeated_searches"], folder.read("twice.tsv").as_str()), (&0.into(), expected));
    let told = folder.run(&twice).code(0);
    let text = format!("{}{}", told.stdout(), told.stderr());
    let words: Vec<&str> =
        text.lines().find(|line| line.contains("the id of another")).unwrap().split_whitespace().collect();
    assert_eq!(words.join(" "), "searches with the id of another 3, 2 of them with another query; the earliest counts");
    // An input that is read twice may also come from a compressed pipe.
    let (events, queries) = (folder.read("events.ndjson"), folder.read("queries.ndjson"));
    let all = ["prepare", "-", "-o", "piped.tsv"];
    let split = ["prepare", "-", "queries.ndjson", "-o", "piped.tsv"];
    for (command, input) in [(&all[..], gzip(format!("{events}{queries}").as_bytes())), (&split[..], events.into())] {
        folder.run_with(&[command, &ubi[5..]].concat(), input).code(0);
        assert_eq!(folder.read("piped.tsv"), expected);
        std::fs::remove_file(folder.path("piped.tsv")).unwrap();
    }
    let twice = [&["prepare", "-", "-", "-o", "piped.tsv"], &ubi[5..]].concat();
    folder.run_with(&twice, queries).code(2).says("expected standard input, `-`, once");

    // A click belongs to the last search of the visit before it.
    let event = |name: &str, time: u64, more: &str| {
        format!(
            "{{\"event_name\":\"{name}\",\"event_timestamp\":\"{time}000000\",\"user_pseudo_id\":\"u\",\
             \"event_params\":[{{\"key\":\"ga_session_id\",\"value\":{{\"int_value\":\"5\"}}}}{more}}}\n"
        )
    };
    let term = |text: &str| format!(",{{\"key\":\"search_term\",\"value\":{{\"string_value\":\"{text}\"}}}}]");
    let item = "],\"items\":[{\"item_id\":\"1\",\"item_name\":\"Couch\"}]";
    let events = [
        event("select_item", 1_715_934_650, item),
        event("view_search_results", 1_715_934_700, &term("boots")),
        event("view_search_results", 1_715_934_600, &term("sofa")),
        event("select_item", 1_715_934_500, item),
    ];
    folder.write("ga4.json", events.concat());
    let ga4 = ["prepare", "ga4.json", "-o", "clicks.tsv", "--preset", "ga4", "--min-users", "1"];
    assert_eq!(json(folder.run(&[&ga4[..], &["--json"]].concat()))["left_out"]["without_search"], 1);
    let expected = "query\ttitle\tcount\nsofa\tCouch\t1\n";
    assert_eq!(folder.read("clicks.tsv"), expected);
    // Unknown users are many people and not one visit.
    let nobody = events.concat().replace("\"u\"", "\"(not set)\"");
    folder.write("ga4.json", [events.concat(), nobody.replace("sofa", "lamp").replace("boots", "lamp")].concat());
    assert_eq!(json(folder.run(&[&ga4[..], &["--json"]].concat()))["left_out"]["other_events"], 4);
    assert_eq!(folder.read("clicks.tsv"), expected);
    let piped = ["prepare", "-", "-o", "clicks.tsv", "--preset", "ga4", "--min-users", "1"];
    folder.run_with(&piped, folder.read("ga4.json")).code(0);
    assert_eq!(folder.read("clicks.tsv"), expected);
    folder
        .run(&[&ga4[..], &["--format", "csv"]].concat())
        .code(2)
        .says("a log of `ga4` is json, found the format `csv`; leave `--format` out");
}

#[test]
fn presets_of_public_collections() {
    let folder = Folder::new();
    folder.write("orcas.tsv", "1\tred shoes\tD1\thttp://a\n2\tsofa\tD2\thttp://b\n");
    folder.write("docs.tsv", "D1\thttp://a\tShoes, red\tbody text\nD2\thttp://b\tCouch\tbody\n");
    folder.run(&["prepare", "orcas.tsv", "-o", "out.tsv", "--preset", "orcas", "--titles", "docs.tsv"]).code(0);
    let expected = "query\ttitle\tcount\nred shoes\tShoes, red\t1\nsofa\tCouch\t1\n";
    assert_eq!(folder.read("out.tsv"), expected);

    folder.write("queries.tsv", "7\tred shoes\n8\tSofa\n");
    // Quotes are ordinary characters there and need not close.
    folder.write("collection.tsv", "0\t\"Never clicked, it says.\n1\tShoes, red\n2\tCouch\n");
    folder.write("qrels.tsv", "7\t0\t1\t1\n8\t0\t2\t1\n");
    let passage =
        ["prepare", "qrels.tsv", "-o", "out.tsv", "--preset", "msmarco-passage", "--titles", "collection.tsv"];
    folder.run(&passage).code(2).says("expected a table of their texts, found none; name it as `--queries`");
    folder.run(&[&passage[..], &["--queries", "queries.tsv"]].concat()).code(0);
    assert_eq!(folder.read("out.tsv"), expected);

    folder.write("doc-qrels.tsv", "7 0 D1 1\n8 0 D2 1\n");
    let document = [
        "prepare",
        "doc-qrels.tsv",
        "-o",
        "out.tsv",
        "--preset",
        "msmarco-document",
        "--titles",
        "docs.tsv",
        "--queries",
        "queries.tsv",
    ];
    folder.run(&document).code(0);
    assert_eq!(folder.read("out.tsv"), expected);

    let aol = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n\
        1\tred shoes\t2006-03-01 07:17:12\t2\thttp://a\n1\tsofa\t2006-03-01 07:18:00\t\t\n2\tsofa\t2006-03-01 07:18:00\n\
        3\t-\t2006-03-01 07:18:00\t1\thttp://c\n-\t?!\t2006-03-01 07:18:00\t1\thttp://c\n";
    folder.write("aol.txt", aol);
    // Two of three clicks have no query.
    let aol =
        ["prepare", "aol.txt", "-o", "out.tsv", "--preset", "aol", "--item-as-title", "--min-users", "1", "--json"];
    let report = folder.run(&aol).code(1).says("2 of 3, mostly without a query").json_lines().remove(0);
    assert_eq!((&report["broken"], &report["left_out"]["without_item"]), (&0.into(), &2.into()));
    assert_eq!((&report["left_out"]["without_query"], &report["users"]["count"]), (&2.into(), &3.into()));
    assert_eq!(folder.read("out.tsv"), "query\ttitle\tcount\nred shoes\thttp://a\t1\n");

    let search = |keywords: &str, document: u32| {
        format!(
            "{{\"DateCreated\":\"/Date(1354314248673)/\",\"SessionId\":\"s1\",\"Keywords\":\"{keywords}\",\"Documents\":[1,2],\"DocumentId\":{document}}}\n"
        )
    };
    folder
        .write("2013.json", [search("red shoes", 1), search("sofa", 2), search("sofa", 0), search("lamp", 0)].concat());
    folder.write("allarticles.txt", "Id\tTitle\tUrl\n1\tShoes, red\thttp://a\n2\tCouch\thttp://b\n(2 rows affected)\n");
    let tripclick =
        ["prepare", "2013.json", "-o", "out.tsv", "--preset", "tripclick", "--titles", "allarticles.txt", "--json"];
    let report = folder.run(&[&tripclick[..], &["--max-bad", "50%"]].concat()).code(0).json_lines().remove(0);
    assert_eq!((&report["left_out"]["not_clicked"], &report["side_tables"][0]["broken"]), (&2.into(), &1.into()));
    assert_eq!(folder.read("out.tsv"), expected);
}

#[test]
fn position_bias_is_weighed_away() {
    let folder = Folder::new();
    // Two titles, each at both positions, with half as many clicks at the second.
    let mut log = "query\ttitle\tposition\tclicked\n".to_owned();
    for i in 0..400 {
        for (title, place) in [("a", 1 + i % 2), ("b", 2 - i % 2)] {
            let clicked = i % (4 * place) < 2;
            let _ = writeln!(log, "q\t{title}\t{place}\t{}", u8::from(clicked));
        }
    }
    folder.write("log.tsv", log);
    let report = json(prepare(&folder, &["--correct-position-bias", "--json"]));
    let examination = report["positions"]["positions"][1]["examination"].as_f64().unwrap();
    assert!((examination - 0.5).abs() < 1e-5, "{report}");
    // Weights times counts are as if all clicks had been at the first position.
    for line in folder.read("clicks.tsv").lines().skip(1) {
        let fields: Vec<f64> = line.split('\t').skip(2).map(|field| field.parse().unwrap()).collect();
        assert!((fields[0] * fields[1] - 200.0).abs() < 0.01, "{line}");
    }
    let clipped = json(prepare(&folder, &["--correct-position-bias=clip=1.5", "--json"]));
    assert_eq!(clipped["positions"]["positions"][1]["weight"], 1.5);
    prepare(&folder, &["--correct-position-bias"]).code(0).says("looked at");
    folder.write("log.tsv", "query\ttitle\tposition\tclicked\nq\ta\t1\t1\nq\tb\t2\t1\n");
    prepare(&folder, &["--correct-position-bias"]).code(2).says("shown at two comparable positions");
    // The same titles at both positions, and no title that was shown without a click: all positions would seem alike.
    folder.write("log.tsv", "query\ttitle\tposition\tclicked\nq\ta\t1\t1\nq\ta\t2\t1\nq\tb\t1\t1\nq\tb\t2\t1\n");
    prepare(&folder, &["--correct-position-bias"]).code(2).says("no rows of titles that were shown and not clicked");
    for wrong in ["clip=0.5", "trust=11", "clip", "power=1"] {
        let wrong = format!("--correct-position-bias={wrong}");
        prepare(&folder, &[&wrong]).code(2).says("expected clip=W with a finite number of 1 or more");
    }
}

#[test]
fn the_page_needs_nothing_else() {
    let folder = Folder::new();
    folder.write("log.tsv", LOG.replace("u1", "<u>"));
    prepare(&folder, &["--min-users", "1", "--report", "report.html"]).code(0);
    let page = folder.read("report.html");
    assert!(
        page.starts_with("<!doctype html>") && page.ends_with("</html>\n") && page.contains("style=\"--length:1\"")
    );
    assert!(!page.contains("http") && !page.contains("<script") && !page.contains("red shoes"));
}

#[test]
fn columns_of_json_come_in_any_row() {
    let folder = Folder::new();
    // The user is not in the first line, but k-anonymity is on all the same.
    let row = |more: &str| format!("{{\"query\":\"a\",\"title\":\"t\"{more}}}\n");
    folder.write("log.json", [row(""), row(",\"user\":\"u1\"")].concat());
    let run = folder.run(&["prepare", "log.json", "-o", "out.tsv"]).code(2);
    run.says("clicks of queries with fewer than 2 users");
    // A row that does not say whether there was a click is broken.
    folder.write("log.json", [row(",\"clicked\":1"), row(""), row(",\"clicked\":null")].concat());
    let run = folder.run(&["prepare", "log.json", "-o", "out.tsv", "--max-bad", "100%"]).code(1);
    run.says("bad click 2")
        .says("1 pair, 1 click")
        .says("most rows that could be clicks were left out, 2 of 3, mostly broken");
    folder.write("log.json", row("").repeat(3));
    let run = folder.run(&["prepare", "log.json", "-o", "out.tsv", "--columns", "user=who"]).code(2);
    run.says("expected a column `who`, found `query`, `title`");
    folder.write("log.json", row("").repeat(1500) + &row(",\"user\":\"u\""));
    let run = folder.run(&["prepare", "log.json", "-o", "out.tsv"]).code(2);
    run.says("found a column `user` in line 1501").says("`user=NAME`");
}

#[test]
fn placeholders_are_no_users_and_letter_case_makes_no_other() {
    let folder = Folder::new();
    let users = ["null", "-", "(not set)", "undefined", "None", "N/A", "Jane", "jane", " JANE "];
    let rows: String = users.iter().map(|user| format!("a\tt\t{user}\n")).collect();
    folder.write("log.tsv", format!("query\ttitle\tuser_id\n{rows}"));
    prepare(&folder, &["--min-users", "2"]).code(2).says("with fewer than 2 users");
    folder.write("log.tsv", format!("query\ttitle\tvisitor\n{rows}"));
    prepare(&folder, &[]).code(0).says("warning: `visitor` may identify users and is not used");
}

#[test]
fn messages_repeat_nothing_that_was_typed() {
    let folder = Folder::new();
    folder.write("log.tsv", "secret illness\tpills\t1\n");
    let run = prepare(&folder, &[]).code(2);
    assert!(!run.stderr().contains("illness") && !run.stderr().contains("pills"), "{}", run.stderr());
    folder.write("log.tsv", "query\ttitle\tcount\nshoes\tt\tsecret illness\nshoes\tt\t1\n");
    let run = prepare(&folder, &["--max-bad", "100%"]).code(0).says("found other text (14 characters)");
    assert!(!run.stderr().contains("illness"));
    folder.write("log.json", "{\"query\":\"a\",\"title\":\"t\"}\n\"secret illness\"\n");
    let run = folder.run(&["prepare", "log.json", "-o", "out.tsv", "--max-bad", "100%"]).code(0);
    assert!(!run.says("found a text").stderr().contains("illness"));
    folder.write(
        "log.json",
        "{\"query\":\"a\",\"title\":\"t\"}\n{\"secret illness, and more\":1,\"secret illness, and more\":2}\n",
    );
    let run = folder.run(&["prepare", "log.json", "-o", "out.tsv", "--max-bad", "100%"]).code(0);
    let told = "expected a JSON object, found a key a second time in column 56; its 24 characters are not shown";
    assert!(!run.says(told).stderr().contains("illness"));
}

#[test]
fn robots_are_known_by_the_ids_of_queries() {
    let folder = Folder::new();
    let (mut log, mut queries) = ("query_id\ttitle\tuser\ttime\n".to_owned(), "query_id\tquery\n".to_owned());
    for i in 0..20 {
        let _ = writeln!(log, "{i}\tt\trobot \t2024-05-01");
        let _ = writeln!(queries, "{i}\tq{i}");
    }
    log.push_str("3\tt\tperson\t2024-05-01\n");
    folder.write("log.tsv", log);
    folder.write("queries.tsv", format!("{queries}broken\n"));
    let more = ["--queries", "queries.tsv", "--max-queries", "9/day", "--min-users", "1"];
    prepare(&folder, &more).code(2).says("queries.tsv:22: expected 2 columns");
    prepare(&folder, &[&more[..], &["--max-bad", "10%"]].concat()).code(0).says("left out 1 broken of 21 rows");
    assert_eq!(folder.read("clicks.tsv"), "query\ttitle\tcount\nq3\tt\t1\n");
}

#[test]
fn judgments_have_grades_and_blanks_or_tabs() {
    let folder = Folder::new();
    folder.write("queries.tsv", "7\tred shoes\n8\tsofa\n");
    folder.write("collection.tsv", "1\tShoes, red\n2\tCouch\n");
    let tables = ["--titles", "collection.tsv", "--queries", "queries.tsv"];
    for qrels in ["7 0 1 2\n8 0 2 0\n", "7\t0\t1\t3\n8\t0\t2\t-1\n"] {
        folder.write("qrels.tsv", qrels);
        let run = ["prepare", "qrels.tsv", "-o", "out.tsv", "--preset", "msmarco-passage"];
        folder.run(&[&run[..], &tables[..]].concat()).code(0);
        assert_eq!(folder.read("out.tsv"), "query\ttitle\tcount\nred shoes\tShoes, red\t1\n");
        folder
            .run(&[&run[..], &tables[..], &["--columns", "a,b"]].concat())
            .code(2)
            .says("expected no names for them, found some; leave the list of names out of `--columns`");
    }
    folder.write("titles.tsv", "sku\ttitle\n1\tShoes\n");
    folder.write("log.tsv", "query\titem\na\t1\n");
    let missing =
        "titles.tsv: expected a column `id` in the header, found `sku`, `title`; see docs/reference/tables.md";
    prepare(&folder, &["--titles", "titles.tsv"]).code(2).says(missing);
}

#[test]
fn json_that_cannot_be_read_is_not_called_invalid() {
    let folder = Folder::new();
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(200), "]".repeat(200));
    let large = "{\"query\":\"a\",\"title\":\"t\",\"price\":1e999}";
    let good = "{\"query\":\"a\",\"title\":\"t\"}\n";
    folder.write("log.json", format!("{good}{deep}\n{large}\n{}", good.repeat(3)));
    let run = folder.run(&["prepare", "log.json", "-o", "out.tsv", "--max-bad", "100%"]).code(0);
    run.says(
        "log.json:2: expected a JSON object, found more than 127 arrays and objects inside each other at column 132",
    )
    .says("log.json:3: expected a JSON object, found a number beyond ±1.8e308 at column");
}
