//! What `prepare` makes of logs as other programs write them.

use std::ops::ControlFlow;

use clickvec_logs::columns::Role;
use clickvec_logs::preset::Preset;
use clickvec_logs::{Config, Error, Report, prepare};

/// Prepares logs, each with its name. Returns the pairs, without the header, and the report.
fn prepared(logs: &[(&str, &str)], more: impl FnOnce(&mut Config)) -> Result<(Vec<String>, Report), Error> {
    let folder = tempfile::tempdir().unwrap();
    let mut inputs = Vec::new();
    for (name, text) in logs {
        inputs.push(folder.path().join(name));
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let output = folder.path().join("clicks.tsv");
    let mut config = Config::new(inputs, output.clone());
    config.min_users = Some(1);
    more(&mut config);
    let report = prepare(&config, &mut std::io::sink(), &mut |_| ControlFlow::Continue(()))?;
    let written = std::fs::read_to_string(output).unwrap();
    Ok((written.lines().skip(1).map(str::to_owned).collect(), report))
}

#[track_caller]
fn pairs(name: &str, log: &str) -> Vec<String> {
    prepared(&[(name, log)], |_| {}).unwrap().0
}

#[track_caller]
fn refused(name: &str, log: &str) -> String {
    prepared(&[(name, log)], |_| {}).map(|(pairs, _)| pairs).unwrap_err().to_string()
}

#[test]
fn a_column_of_clicks_is_read_by_its_usual_names() {
    for name in ["clicked", "click", "is_click", "Is Clicked", "wasClicked", "click_flag"] {
        for (yes, no) in [("1", "0"), ("true", "false"), ("1.0", "0.0"), ("Yes", "No")] {
            let log = format!("query,title,{name}\nred hose,Hose,{yes}\nred hose,Desk lamp,{no}\n");
            assert_eq!(pairs("log.csv", &log), ["red hose\tHose\t1"], "{name} {yes}");
        }
    }
    let nested = "{\"query\":\"red hose\",\"title\":\"Hose\",\"event\":{\"click\":1}}\n\
                  {\"query\":\"red hose\",\"title\":\"Lamp\",\"event\":{\"click\":0}}\n";
    assert_eq!(pairs("log.jsonl", nested), ["red hose\tHose\t1"]);
}

#[test]
fn a_column_that_may_say_what_was_clicked_is_asked_about() {
    let log = |name: &str, values: [&str; 2]| {
        format!("query,title,{name}\nred hose,Hose,{}\nred hose,Desk lamp,{}\n", values[0], values[1])
    };
    for (name, values) in [("bought", ["1", "0"]), ("opened", ["TRUE", "false"]), ("click", ["7", "0"])] {
        let expected = format!("expected to know which column says what was clicked, found `{name}`");
        assert!(refused("log.csv", &log(name, values)).contains(&expected), "{name}");
    }
    for (name, values) in [("label", ["1", "0"]), ("relevance", ["3", "0"]), ("rating", ["4.5", "3.5"])] {
        let expected = format!("expected a log, found judged titles: the column `{name}`");
        assert!(refused("log.csv", &log(name, values)).contains(&expected), "{name}");
    }
    for (name, values) in [("price", ["4.5", "3.5"]), ("stock", ["1", "17"]), ("version", ["1", "1"]), ("x", ["", ""])]
    {
        assert_eq!(pairs("log.csv", &log(name, values)).len(), 2, "{name}");
    }
    for (head, row) in
        [("query,title,weight", "red hose,Hose,0.5"), ("query,title,count,Weight", "red hose,Hose,2,0.5")]
    {
        let log = format!("{head}\n{row}\n");
        assert!(refused("log.csv", &log).contains("found `weight`, whose weights of clicks would be lost"), "{head}");
        // Who clicked on a parcel of this weight.
        assert_eq!(pairs("log.csv", &format!("{head},user\n{row},u\n")).len(), 1, "{head}");
    }
    let named = |role: Option<&str>| {
        let log = log("label", ["1", "0"]);
        let name = |config: &mut Config| match role {
            Some(name) => config.table.columns.name(Role::Clicked, name),
            None => config.table.columns.leave_out(Role::Clicked),
        };
        prepared(&[("log.csv", &log)], name).unwrap().0.len()
    };
    assert_eq!((named(Some("label")), named(None)), (1, 2));
}

#[test]
fn a_field_is_never_a_mark() {
    let log = "query,title,clicked\nred hose,Hose,showing\n";
    assert!(refused("log.csv", log).contains("expected 0 or 1 (or false, true, no, yes) in column `clicked`"));
    // Two visits whose users and numbers are the same text when they are joined.
    let event = |name: &str, user: &str, session: &str, more: &str| {
        format!(
            r#"{{"event_name":"{name}","event_timestamp":1,"user_pseudo_id":"{user}","event_params":[{{"key":"ga_session_id","value":{{"string_value":"{session}"}}}}{more}"#
        )
    };
    let term = r#",{"key":"search_term","value":{"string_value":"red hose"}}]}"#;
    let item = r#"],"items":[{"item_name":"Hose"}]}"#;
    let log = [
        event("search", "a\\u001fb", "c", term),
        event("select_item", "a", "b\\u001fc", item),
        event("select_item", "a/b", "c", item),
    ];
    let error = prepared(&[("log.jsonl", &log.join("\n"))], |config| config.preset = Some(Preset::Ga4)).unwrap_err();
    assert!(error.to_string().contains("2 without their search"), "{error}");
}

#[test]
fn a_repeated_header_is_counted_and_left_out() {
    for (name, log) in [
        ("a.csv", "query,title\na,b\n\u{feff}query,title\nc,d\n"),
        ("a.csv", "query,title\na,b\n\u{feff}\"query\",\"title\"\nc,d\n"),
        ("a.csv", "\"query\",\"title\"\na,b\nQuery, TITLE\nc,d\n"),
        ("a.tsv", "query\ttitle\na\tb\n\u{feff}query\ttitle\nc\td\n"),
        ("a.tsv", "query\ttitle\r\na\tb\r\n\"QUERY\"\t\"Title\"\r\nc\td\r\n"),
        ("a.csv", "query;title\na;b\nquery;title\nc;d\n"),
    ] {
        let (pairs, report) = prepared(&[(name, log)], |_| {}).unwrap();
        assert_eq!((pairs.len(), report.left_out.headers), (2, 1), "{log}");
    }
}

#[test]
fn html_entities_become_characters() {
    let log = "query,title\nmen&#39;s shoe,Black &amp; Decker\nat&t; phone,R&D\n";
    let (pairs, report) = prepared(&[("log.csv", log)], |_| {}).unwrap();
    assert_eq!(pairs, ["at&t; phone\tR&D\t1", "men's shoe\tBlack & Decker\t1"]);
    assert_eq!(report.with_entities, 2);
}

#[test]
fn a_text_that_means_nothing_is_none() {
    let log = "query,title,user\nNULL,Hose,1\n\\N,Hose,1\nred hose,nan,1\n(not set),Hose,1\nnone,Hose,2\nnull hose,None More,2\n\
               red,undefined,2\n";
    let (pairs, report) = prepared(&[("log.csv", log)], |_| {}).unwrap();
    assert_eq!(pairs, ["null hose\tNone More\t1"]);
    assert_eq!(report.left_out.null_text, 6);
    let named: Vec<_> = report.null_texts.into_iter().collect();
    assert_eq!(named, [("(not set)", 1), ("\\n", 1), ("nan", 1), ("none", 1), ("null", 1), ("undefined", 1)]);
}

#[test]
fn whole_numbers_may_have_a_fraction_of_zeros() {
    assert_eq!(pairs("log.csv", "query,title,count\nred hose,Hose,3.0\n"), ["red hose\tHose\t3"]);
    assert_eq!(
        pairs("log.jsonl", "{\"query\":\"red hose\",\"title\":\"Hose\",\"count\":3.0}\n"),
        ["red hose\tHose\t3"]
    );
    assert!(refused("log.csv", "query,title,count\nred hose,Hose,3.5\n").contains("found `3.5`"));
}

#[test]
fn lists_of_objects_and_of_ids_are_no_texts() {
    let refused = |row: &str| refused("log.jsonl", row);
    let found = refused(r#"{"query":[{"text":"red hose"}],"title":"Hose"}"#);
    assert!(found.contains("in column `query`, found a list of more than texts and numbers"), "{found}");
    let found = refused(r#"{"query":"red hose","title":"Hose","item":["7","8"]}"#);
    assert!(found.contains("expected one id in column `item`, found a list of 2"), "{found}");
    assert_eq!(pairs("log.jsonl", r#"{"query":["red","hose"],"title":"Hose","item":["7"]}"#), ["red hose\tHose\t1"]);
    let event = UBI.lines().nth(2).unwrap().replace("\"A\"", "[\"A\",\"B\"]");
    let ubi =
        prepared(&[("ubi.jsonl", &format!("{UBI}{event}\n"))], |config| config.preset = Some(Preset::Ubi)).unwrap_err();
    assert!(ubi.to_string().contains("ubi.jsonl:8: expected a text as item, found a list of several"), "{ubi}");
}

#[test]
fn json_in_a_field_is_no_text() {
    for (row, column, found) in [
        (r#""{""text"":""red hose""}",Hose"#, "query", "an object"),
        (r#"red hose,"[{""name"":""Hose""}]""#, "title", "a list of more than texts and numbers"),
    ] {
        let expected = format!("expected a text in column `{column}`, found the JSON of {found}");
        assert!(refused("log.csv", &format!("query,title\n{row}\n")).contains(&expected), "{row}");
    }
    let texts = "query\ttitle\n[red] hose\t{Hose}\n[7]\t[\"a\"]\n";
    assert_eq!(pairs("log.tsv", texts), ["[7]\t[\"a\"]\t1", "[red] hose\t{Hose}\t1"]);
}

#[test]
fn other_forms_of_times_are_read_by_name() {
    let log = |time: &str| format!("query,title,time\nred hose,Hose,\"{time}\"\n");
    let error = refused("log.csv", &log("2/15/2012 11:53:16 AM"));
    assert!(error.contains("found a time of the form `%m/%d/%Y %I:%M:%S %p`; name the form of times as"), "{error}");
    let (_, report) = prepared(&[("log.csv", &log("15.03.2025 10:00"))], |config| {
        config.table.time_format = Some("%d.%m.%Y %H:%M".to_owned());
    })
    .unwrap();
    assert_eq!(report.days, Some(("2025-03-15".to_owned(), "2025-03-15".to_owned())));
    for none in ["null", "NaT"] {
        assert_eq!(pairs("log.csv", &log(none)).len(), 1);
    }
    let error = refused("log.csv", &log("45987.5"));
    assert!(error.contains("found a day of a spreadsheet; save such cells as dates, or name the form `%s`"), "{error}");
    let (_, report) = prepared(&[("log.csv", &log("45987"))], |config| {
        config.table.time_format = Some("%s".to_owned());
    })
    .unwrap();
    assert_eq!(report.days, Some(("1970-01-01".to_owned(), "1970-01-01".to_owned())));
    assert!(refused("log.csv", &log("soon")).contains("; name the form of times as `time_format`"));
}

const UBI: &str = r#"{"query_id":"q1","client_id":"c","user_query":"hose","timestamp":"2025-03-04T10:00:00Z"}
{"action_name":"impression","query_id":"q1","client_id":"c","event_attributes":{"rank":1,"object":{"object_id":"A","name":"Hose"}}}
{"action_name":"click","query_id":"q1","client_id":"c","event_attributes":{"rank":0,"object":{"object_id":"A","name":"Hose"}}}
{"action_name":"click","query_id":"q1","client_id":"c","user_query":"garden hose","event_attributes":{"rank":0,"object":{"object_id":"B","name":"Hose B"}}}
{"action_name":"click","query_id":"q9","client_id":"c","user_query":"lamp","event_attributes":{"rank":0,"object":{"object_id":"C","name":"Lamp"}}}
{"action_name":"purchase","query_id":"q1","client_id":"c","event_attributes":{"rank":0,"object":{"object_id":"A","name":"Hose"}}}
{"action_name":"add_to_cart","query_id":"q1","client_id":"c"}
"#;

fn ubi(more: impl FnOnce(&mut Config)) -> Result<(Vec<String>, Report), Error> {
    prepared(&[("ubi.jsonl", UBI)], |config| {
        config.preset = Some(Preset::Ubi);
        more(config);
    })
}

#[test]
fn events_of_ubi_have_their_own_query_and_other_actions_are_named() {
    let (pairs, report) = ubi(|_| {}).unwrap();
    assert_eq!(pairs, ["garden hose\tHose B\t1", "hose\tHose\t1", "lamp\tLamp\t1"]);
    let named: Vec<_> = report.other_event_names.into_iter().collect();
    assert_eq!(named, [("add_to_cart".to_owned(), 1), ("purchase".to_owned(), 1)]);
    let actions = [("purchase".to_owned(), 5), ("purchace".to_owned(), 5)];
    let (pairs, report) = ubi(|config| config.table.actions = actions.into()).unwrap();
    assert_eq!((pairs[1].as_str(), report.absent_actions), ("hose\tHose\t6", vec!["purchace".to_owned()]));
}

#[test]
fn what_events_have_as_a_query_is_as_it_was_written_or_a_fault() {
    let search = r#"{"query_id":7.0,"client_id":"c","user_query":1e3}"#;
    let click =
        r#"{"action_name":"click","query_id":7.0,"client_id":"c","event_attributes":{"object":{"object_id":1.50}}}"#;
    let ubi = |lines: &[&str]| {
        prepared(&[("ubi.jsonl", &lines.join("\n"))], |config| {
            (config.preset, config.item_as_title) = (Some(Preset::Ubi), true);
            config.max_bad = 0.5;
        })
    };
    assert_eq!(ubi(&[search, click]).unwrap().0, ["1e3\t1.50\t1"]);
    // A query that means nothing is none, and the search has another.
    let null = click.replace("\"query_id\"", "\"user_query\":\"NULL\",\"query_id\"");
    assert_eq!(ubi(&[search, &null]).unwrap().0, ["1e3\t1.50\t1"]);
    let object = click.replace("\"query_id\"", "\"user_query\":{\"text\":\"hose\"},\"query_id\"");
    let (_, report) = ubi(&[search, click, &object]).unwrap();
    assert_eq!(report.first_broken[0].reason, "expected a text as query, found an object");

    let ga4 = |value: &str| {
        let visit = r#""event_params":[{"key":"ga_session_id","value":{"int_value":"9"}}"#;
        let user = r#""user_pseudo_id":"5.6","event_timestamp":"1715934600000000""#;
        let search =
            format!(r#"{{"event_name":"search",{user},{visit},{{"key":"search_term","value":{{{value}}}}}]}}"#);
        let click =
            format!(r#"{{"event_name":"select_item",{user},{visit}],"items":[{{"item_id":"7","item_name":"Hose"}}]}}"#);
        let log = format!("{search}\n{click}\n");
        prepared(&[("ga4.jsonl", &log)], |config| config.preset = Some(Preset::Ga4)).unwrap().0
    };
    for value in ["\"string_value\":1e3", "\"double_value\":1e3", "\"string_value\":null,\"float_value\":1e3"] {
        assert_eq!(ga4(value), ["1e3\tHose\t1"], "{value}");
    }
}

#[test]
fn named_columns_take_precedence_over_those_of_ubi() {
    for role in [Role::Item, Role::User, Role::Time, Role::Key, Role::Query] {
        let error = ubi(|config| config.table.columns.name(role, "no.such.column")).unwrap_err();
        assert!(error.to_string().contains("expected a column `no.such.column`"), "{error}");
    }
    let (pairs, _) = ubi(|config| config.table.columns.name(Role::Title, "event_attributes.object.object_id")).unwrap();
    assert_eq!(pairs[1], "hose\tA\t1");
}

#[test]
fn ordinals_of_ubi_may_start_at_0() {
    let mut log = String::new();
    for (search, [first, second]) in [["A", "B"], ["B", "A"], ["A", "B"]].into_iter().enumerate() {
        log +=
            &format!("{{\"query_id\":\"q{search}\",\"user_query\":\"hose\",\"timestamp\":\"2025-03-04T10:00:00Z\"}}\n");
        let clicked = if search == 2 { (second, 1) } else { (first, 0) };
        for (action, (item, ordinal)) in [("impression", (first, 0)), ("impression", (second, 1)), ("click", clicked)] {
            log += &format!(
                "{{\"action_name\":\"{action}\",\"query_id\":\"q{search}\",\"event_attributes\":{{\"object\":{{\"object_id\":\
                 \"{item}\"}},\"position\":{{\"ordinal\":{ordinal}}}}}}}\n"
            );
        }
    }
    let (_, report) = prepared(&[("ubi.jsonl", &log)], |config| {
        (config.preset, config.item_as_title) = (Some(Preset::Ubi), true);
        config.position_weighting = Some(clickvec_logs::options::weighting("").unwrap());
    })
    .unwrap();
    let positions = report.positions.unwrap().positions;
    let counts: Vec<_> =
        positions.iter().map(|position| (position.position, position.shown, position.clicks)).collect();
    assert_eq!(counts, [(0, 3, 2), (1, 3, 1)]);
}

#[test]
fn tables_of_ubi_are_read_as_its_documents() {
    let queries = "application,query_id,client_id,user_query,timestamp\nshop,q0,c1,hose,2025-03-04T10:00:00Z\n";
    let events = "object_id,rank,action_name,query_id,client_id,timestamp\nA,0,impression,q0,c1,2025-03-04T10:00:00Z\n\
                  A,0,click,q0,c1,2025-03-04T10:00:01Z\n";
    let attributes = "action_name,query_id,client_id,event_attributes\n\
                      click,q0,c1,\"{\"\"object\"\":{\"\"object_id\"\":\"\"A\"\"}}\"\n";
    let paths = "action_name,query_id,client_id,event_attributes.object.object_id\nclick,q0,c1,A\n";
    for events in [events, attributes, paths] {
        let (pairs, _) = prepared(&[("queries.csv", queries), ("events.csv", events)], |config| {
            (config.preset, config.item_as_title) = (Some(Preset::Ubi), true);
        })
        .unwrap();
        assert_eq!(pairs, ["hose\tA\t1"], "{events}");
    }
}
