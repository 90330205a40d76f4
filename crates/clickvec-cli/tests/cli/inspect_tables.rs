//! `clickvec inspect` of tables: what they seem to be, and what comes next.

use crate::harness::Folder;

#[test]
fn a_raw_log_and_its_titles_give_the_whole_command() {
    let folder = Folder::new();
    folder.write(
        "my log.csv",
        "search_term,SKU,date,visitor\nred lamp,l1,2024-05-01,u1\n,l2,2024-05-02,u2\nsofa,l3,soon,u3\n",
    );
    folder.write("titles.csv", "sku,name\nl1,\"Lamp, red\"\n");
    let run = folder.run(&["inspect", "my log.csv", "titles.csv"]).code(1);
    let expected = "next: clickvec prepare 'my log.csv' --columns query=search_term,item=SKU,time=date,user=visitor \
                    --titles titles.csv --columns titles.id=sku,titles.title=name --private --output clicks.tsv";
    let run = run
        .prints("my log.csv: a raw click log, csv, 4 columns, 3 rows")
        .prints("  query  column `search_term`")
        .prints("  1 fault:")
        .prints("my log.csv:4: expected a time (2024-05-17, 2024-05-17 08:30:00, RFC 3339, or seconds since 1970) in column `date`, found other text (4 characters)")
        .prints("titles.csv: titles, csv, 2 columns, 1 row");
    assert!(!run.stdout().contains("clickvec prepare"), "{}", run.stdout());
    // The command works, but for the broken row.
    let log = folder.read("my log.csv");
    folder.write("my log.csv", log.replace("soon", "2024-05-03"));
    folder.run(&["inspect", "my log.csv", "titles.csv"]).code(0).prints(expected);
    folder.write("my log.csv", log);
    folder
        .run(&[
            "prepare",
            "my log.csv",
            "--columns",
            "query=search_term,item=SKU,time=date,user=visitor",
            "--titles",
            "titles.csv",
            "--columns",
            "titles.id=sku,titles.title=name",
            "--output",
            "clicks.tsv",
            "--max-bad",
            "50%",
            "--min-users",
            "1",
        ])
        .code(1);
    assert_eq!(folder.read("clicks.tsv"), "query\ttitle\tcount\nred lamp\tLamp, red\t1\n");
}

#[test]
fn files_of_this_program_are_known() {
    let folder = Folder::with_model();
    folder.run(&["index", "--model", "model.safetensors", "--titles", "titles.tsv", "--output", "shop.index"]).code(0);
    folder.write("q.qrels", "1 0 d1 1\n");
    folder.write("r.run", "1 Q0 d1 1 0.5 t\n");
    folder.write("corpus.jsonl", "{\"_id\":\"1\",\"title\":\"a\",\"text\":\"b\"}\n");
    folder.write("ubi.jsonl", "{\"action_name\":\"click\",\"query_id\":\"1\",\"client_id\":\"c\"}\n");
    let files = [
        "clicks.tsv",
        "judged.tsv",
        "titles.tsv",
        "model.safetensors",
        "shop.index",
        "q.qrels",
        "r.run",
        "corpus.jsonl",
        "ubi.jsonl",
    ];
    let found = folder.run(&[&["inspect", "--json"], &files[..]].concat()).code(0).json_lines();
    let kinds: Vec<_> = found.iter().map(|file| file["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["clicks", "judged", "titles", "model", "index", "qrels", "run", "corpus", "preset"]);
    let next = |place: usize| found[place]["next"].as_str().unwrap().to_owned();
    assert_eq!(next(0), "clickvec train --titles titles.tsv --clicks clicks.tsv --output model-2.safetensors");
    let judge = "clickvec evaluate bm25 trigram model.safetensors --judged judged.tsv --titles titles.tsv";
    assert_eq!(next(1), judge);
    assert_eq!(next(2), "clickvec index --model model.safetensors --titles titles.tsv --output titles.index");
    assert_eq!(next(6), "clickvec evaluate r.run --judged q.qrels");
    assert_eq!((&found[0]["rows"], &found[0]["faults"]), (&144.into(), &0.into()));
    let alone = folder.run(&["inspect", "titles.tsv"]).code(0);
    alone.prints("next: clickvec train --titles titles.tsv --output model-2.safetensors");
    // What it says can be done.
    folder.run(&judge.split(' ').skip(1).collect::<Vec<_>>()).code(0);
}

/// Lines that are no rows are told in the logs of presets too; which fields a row needs, only `prepare` knows.
#[test]
fn broken_lines_of_a_preset_are_told() {
    let folder = Folder::new();
    let click = "{\"action_name\":\"click\",\"query_id\":\"1\",\"client_id\":\"c\"}\n";
    let query = "{\"query_id\":\"1\",\"user_query\":\"red lamp\",\"timestamp\":\"2024-05-17T08:30:00Z\"}\n";
    folder.write("ubi.jsonl", format!("{click}{query}"));
    folder.run(&["inspect", "ubi.jsonl"]).code(0).prints("preset `ubi`, json").prints("2 rows");
    // Searches alone are no log, whose command would fail.
    folder.write("queries.jsonl", query);
    let command = "next: clickvec prepare queries.jsonl REST_OF_THE_LOG --preset ubi";
    folder.run(&["inspect", "queries.jsonl"]).code(0).prints(command);
    folder.write("ubi.jsonl", format!("{click}{query}{{\"query_id\n"));
    let run = folder.run(&["inspect", "ubi.jsonl"]).code(1);
    run.prints("1 fault").prints("ubi.jsonl:3: expected a JSON object, found the end of the line in column");
}

#[test]
fn what_is_not_known_is_no_success() {
    let folder = Folder::new();
    // A shell takes the advice on items for a comment.
    folder.write("items.csv", "query,sku\nred lamp,l1\n");
    let advice = "--titles TITLES --output clicks.tsv  # if the items are titles: --item-as-title";
    folder.run(&["inspect", "items.csv"]).code(0).prints(advice);
    folder.write("colours.csv", "colour,day\nred,1\n");
    folder
        .run(&["inspect", "colours.csv"])
        .code(1)
        .prints("nothing that clickvec knows")
        .prints("columns: `colour`, `day`");
    folder.write("typed.tsv", "secret illness\tpills\n");
    let run = folder.run(&["inspect", "typed.tsv"]).code(1);
    assert!(!run.stdout().contains("illness"), "{}", run.stdout());
    run.prints("expected a header with the names of columns");
    folder.write("empty", "");
    folder.run(&["inspect", "empty"]).code(1).prints("expected a header line, found nothing");
    folder.write("noise", [0xff, 0xfe, 0, 1, 2, 3]);
    folder.run(&["inspect", "noise"]).code(1);
    folder.write("blank.tsv", "id\ttitle\n1\t-\n2\t\n");
    folder.run(&["inspect", "blank.tsv"]).code(1).prints("blank.tsv:1: expected titles with words, found none");
    folder.run(&["inspect", "missing"]).code(2).says("missing: cannot open");
    folder.run(&["inspect"]).code(2);
    folder.write("judged.tsv", "query\ttitle\tgrade\na\tb\t17\na\tc\t1\n");
    folder
        .run(&["inspect", "judged.tsv"])
        .code(1)
        .prints("judged.tsv:2: expected a grade from 0 to 10 in column `grade`, found `17`");
}

/// What `inspect` calls fine `train` learns, line by line, and what it does not `train` does not.
#[test]
fn a_click_log_is_fine_where_train_takes_it() {
    let folder = Folder::with_data();
    let clicks = folder.read("clicks.tsv");
    let long = "x ".repeat(2 << 20);
    for (name, text, lost) in [
        ("long.tsv", format!("{clicks}red hammer\t{long}\n"), 0),
        ("nul.tsv", format!("{clicks}red\0 hammer\thammer\0\n"), 0),
        ("more.tsv", format!("{clicks}red hammer\thammer in red\tmore\n"), 0),
        ("count.tsv", clicks.replace("query\ttitle", "query\ttitle\tcount").replace(" in.\n", " in.\t1.5\n"), 0),
        ("fewer.tsv", format!("{clicks}red hammer\n"), 1),
        ("weight.tsv", clicks.replace("query\ttitle", "query\ttitle\tweight").replace(" in.\n", " in.\t3e38\n"), 144),
        ("empty.tsv", format!("{clicks}\thammer\n"), 1),
        ("header.tsv", "query\ttitle\n".to_owned(), 1),
        ("nothing.tsv", "query\ttitle\tclicked\na\tb\t0\n".to_owned(), 1),
        ("twice.tsv", "query\tquery\ttitle\na\tb\tc\n".to_owned(), 1),
    ] {
        folder.write(name, text);
        let checked = folder.run(&["inspect", name, "--json"]).code(i32::from(lost > 0)).json_lines();
        let kind = if name == "twice.tsv" { "unknown" } else { "clicks" };
        assert_eq!((&checked[0]["kind"], &checked[0]["faults"]), (&kind.into(), &lost.into()), "{}", checked[0]);
        let trained =
            folder.run(&["train", "--clicks", name, "--output", "m", "--set", "encoder.cells=4", "--epochs", "1"]);
        let said = trained.stderr();
        match lost {
            0 => assert!(trained.code(0).stderr().contains(": 14") && !said.contains("skipped"), "{name}: {said}"),
            1 if ["fewer.tsv", "empty.tsv"].contains(&name) => {
                assert!(trained.code(0).stderr().contains(": 144 pairs"), "{name}");
                assert!(said.contains("skipped 1 broken line") || said.contains("left out 1 pair"), "{name}: {said}");
            }
            _ => drop(trained.code(2)),
        }
    }
}

/// The same for titles and judged titles.
#[test]
fn titles_and_judged_titles_are_fine_where_they_are_read() {
    let folder = Folder::with_model();
    let (titles, judged) = (folder.read("titles.tsv"), folder.read("judged.tsv"));
    let long = "x ".repeat(2 << 20);
    let index = "index --model=model.safetensors --output=i --titles=";
    let evaluate = "evaluate model.safetensors --judged=";
    for (name, text, kind, read, faults) in [
        ("long.tsv", format!("{titles}long\t{long}\n"), "titles", index, 0),
        ("nul.tsv", format!("{titles}nul\ta\0b\n"), "titles", index, 0),
        ("twice.tsv", format!("{titles}{}\n", titles.lines().nth(1).unwrap()), "titles", index, 1),
        ("none.tsv", "id\ttitle\n".to_owned(), "titles", index, 1),
        ("judged-long.tsv", format!("{judged}red hammer\t{long}\t1\n"), "judged", evaluate, 0),
        ("judged-none.tsv", "query\ttitle\tgrade\n".to_owned(), "judged", evaluate, 1),
        ("judged-two.tsv", format!("{judged}a\tb\t1\na\tb\t2\n"), "judged", evaluate, 1),
        ("judged-name.tsv", judged.replace("\tgrade\n", "\trelevance\n"), "judged", evaluate, 0),
    ] {
        folder.write(name, text);
        let checked = folder.run(&["inspect", name, "--json"]).code(i32::from(faults > 0)).json_lines();
        assert_eq!((&checked[0]["kind"], &checked[0]["faults"]), (&kind.into(), &faults.into()), "{}", checked[0]);
        let command = format!("{read}{name}");
        let run = folder.run(&command.split(' ').collect::<Vec<_>>()).code(if faults > 0 { 2 } else { 0 });
        assert!(!run.stderr().contains("skipped"), "{name}: {}", run.stderr());
    }
}

#[test]
fn a_simulated_log_a_sheet_and_typed_queries_are_known() {
    let folder = Folder::with_model();
    folder
        .run(&[
            "lab",
            "simulate",
            "--titles",
            "titles.tsv",
            "--set=pairs=300",
            "--set=impressions=true",
            "--set=judged=5",
            "--output",
            "log",
        ])
        .code(0);
    folder
        .run(&["inspect", "log/log.tsv", "titles.tsv"])
        .code(0)
        .prints("log/log.tsv: a raw click log")
        .prints("next: clickvec prepare log/log.tsv ")
        .prints(" --titles titles.tsv");
    folder.write("sheet.tsv", "query\ttitle_id\ttitle\tgrade\nred hammer\tt1\thammer in red\t\n");
    folder
        .run(&["inspect", "sheet.tsv"])
        .code(0)
        .prints("sheet.tsv: a sheet of `judge` with grades to fill in")
        .prints("next: clickvec judge INDEX --against bm25 --queries QUERIES --output sheet.tsv");
    // A spreadsheet writes blank rows.
    folder.write("sheet.tsv", folder.read("sheet.tsv").replace("\t\n", "\t1\n") + "\t\t\t\n");
    folder.run(&["inspect", "sheet.tsv"]).code(0).prints("sheet.tsv: judged titles");
    folder.write("typed.txt", "red hammer\nblue ladder\n");
    folder
        .run(&["inspect", "typed.txt"])
        .code(0)
        .prints("typed.txt: queries, one a line")
        .prints("next: clickvec judge INDEX --against bm25 --queries typed.txt");
}

#[test]
fn a_pipe_is_not_looked_at() {
    let folder = Folder::with_data();
    let said =
        "standard input: expected a file, because it is read more than once, found a pipe; write it to a file first";
    folder.run_with(&["inspect", "-"], folder.read("clicks.tsv")).code(2).says(said);
    if cfg!(unix) {
        let said = "/dev/null: expected a file, because it is read more than once, found a device; name another";
        folder.run(&["inspect", "/dev/null"]).code(2).says(said);
    }
}

#[test]
fn what_only_tabs_can_separate_is_not_proposed() {
    let folder = Folder::new();
    folder.write("judged.csv", "query,title,grade\nred lamp,Red Lamp,3\n");
    folder.write("commas.tsv", "query,title\nred lamp,Red Lamp\n");
    let run = folder.run(&["inspect", "judged.csv", "commas.tsv"]).code(1);
    run.prints("next: clickvec evaluate bm25 trigram MODEL --judged judged.csv")
        .prints("commas.tsv:1: expected tabs between columns, because of the file's name");
    folder.write("titles.tsv", "id\ttitle\n1\tRed Lamp\n2\tDesk\n");
    folder.run(&["evaluate", "bm25", "--judged", "judged.csv", "--titles", "titles.tsv"]).code(0);
    folder.write("quepid.csv", "query,docid,rating\nred lamp,1,3\nred lamp,2,0\n");
    folder.run(&["inspect", "quepid.csv"]).code(0).prints("quepid.csv: judged titles, csv, 3 columns, 2 rows");
    folder.run(&["evaluate", "bm25", "--judged", "quepid.csv", "--titles", "titles.tsv"]).code(0);
}

#[test]
fn files_that_cannot_be_opened_do_not_hide_the_others() {
    let folder = Folder::new();
    folder.write("judged.tsv", "query\ttitle\tgrade\nred lamp\tRed Lamp\t3\n");
    let run = folder.run(&["inspect", "none", "judged.tsv", "nor-this"]).code(2);
    run.prints("judged.tsv: judged titles").says("error: none: cannot open").says("error: nor-this: cannot open");
}

#[test]
fn what_trec_and_beir_have_wrong_is_found() {
    let folder = Folder::new();
    for (name, text, fault) in [
        ("comment.qrels", "# judged in May\nq1 0 d1 2\n", "comment.qrels:1: expected a grade"),
        ("three.qrels", "q1 d1 2\n", "three.qrels:1: expected 4 fields"),
        ("five.run", "q1 Q0 d1 1 2.5\n", "five.run:1: expected 6 fields"),
        ("ranklib.txt", "2 qid:1 1:3.0 2:0.5 # 101\n", "found features for learning to rank"),
        ("bulk.jsonl", "{\"index\": {\"_id\": \"1\"}}\n{\"query\": \"a\"}\n", "found a request of `_bulk`"),
        ("topics.jsonl", "{\"query_id\": \"1\", \"query\": \"\"}\n", "topics.jsonl:1: expected a text, found nothing"),
        ("negative.qrels", "q1 0 d1 -1\n", "no title was judged"),
        ("program.txt", "import os\n\ndef run():\n    x = [1]\n    return x\n", "nothing that clickvec knows"),
        ("pointer.csv", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "found a pointer of Git LFS"),
    ] {
        folder.write(name, text);
        let run = folder.run(&["inspect", name]).code(1).prints(fault);
        assert!(!run.stdout().contains("next:"), "{}", run.stdout());
        folder.write("grades.csv", "search_term,sku,score,user\nred hose,h1,1,a\nred hose,l1,0,b\n");
        folder
            .run(&["inspect", "grades.csv"])
            .code(1)
            .prints("    grades.csv:1: expected to know which column says what was clicked, found `score`")
            .prints("name it as `clicked=score` in `--columns`");
        folder.write("scores.csv", "search_term,sku,score\nred hose,h1,3\nred hose,l1,0\n");
        let run = folder.run(&["inspect", "scores.csv"]).code(1).prints("`score`, which may be a grade");
        assert!(!run.stdout().contains("next:"), "{}", run.stdout());
    }
    folder.write("good.run", "q1 Q0 d1 1 2.5 my new run\n");
    folder.write("good.qrels", "q1 0 d1 2\n");
    folder
        .run(&["inspect", "good.run", "good.qrels"])
        .code(0)
        .prints("good.run: a TREC run, 1 row")
        .prints("good.qrels: judg");
    std::fs::create_dir_all(folder.path("beir/qrels")).unwrap();
    folder.write("beir/corpus.jsonl", "{\"_id\":\"1\",\"title\":\"Hose\",\"text\":\"\"}\n");
    folder.write("beir/queries.jsonl", "{\"_id\":\"q\",\"text\":\"hose\"}\n");
    folder.write("beir/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq\t1\t0.7\n");
    folder.run(&["inspect", "beir"]).code(1).prints("test.tsv:2: expected a grade");
    folder.write("beir/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq\t1\t1\n");
    folder.run(&["inspect", "beir"]).code(0).prints("next: clickvec evaluate bm25 MODEL --judged beir");
    folder.run(&["inspect", "beir/queries.jsonl"]).code(0).prints("queries.jsonl: queries with ids (topics), json");
    folder
        .run(&["inspect", "beir/corpus.jsonl"])
        .code(0)
        .prints("a corpus of titles in BEIR's form, json, 3 columns, 1 row");
}

#[test]
fn queries_with_ids_are_told_from_other_tables() {
    let folder = Folder::new();
    for (name, text) in [
        ("tagged.topics", "<top>\n<num> Number: 1\n<title> red hose\n</top>\n"),
        (
            "xml.topics",
            "<?xml version=\"1.0\"?>\n<topics><topic number=\"1\"><query>red hose</query></topic></topics>\n",
        ),
        ("marco.tsv", "1\tred hose\n2\tblue hose\n"),
        ("named.tsv", "qid\tquery\n1\tred hose\n"),
    ] {
        folder.write(name, text);
        folder.run(&["inspect", name]).code(0).prints(": queries with ids (topics)");
    }
    folder.write("good.qrels", "1 0 d1 2\n");
    folder
        .run(&["inspect", "good.qrels", "named.tsv"])
        .code(0)
        .prints("next: clickvec evaluate bm25 MODEL --judged good.qrels --topics named.tsv --titles TITLES");
    folder.write("twice.tsv", "1\tred hose\n1\tblue hose\n");
    folder.run(&["inspect", "twice.tsv"]).code(1).prints("twice.tsv:2: expected a new id");
}

#[test]
fn what_is_proposed_was_tried() {
    let folder = Folder::new();
    // Of a column of 0 and 1 beside query and title, only its owner knows the meaning.
    folder.write("flags.csv", "query,title,user,bought\nred hose,Hose,a,1\nred hose,Lamp,b,0\n");
    let run = folder.run(&["inspect", "flags.csv"]).code(1).prints("bought");
    assert!(!run.stdout().contains("next:"), "{}", run.stdout());
    folder.write("log's.csv", "query,title,Zeit (€),\nred hose,Hose,2024-01-01,\n");
    folder.run(&["inspect", "log's.csv"]).code(0).prints(r"next: clickvec prepare 'log'\''s.csv' --output clicks.tsv");
    folder.write(
        "ratings.json",
        "{\n\"judgmentRatings\": [{\"query\": \"a\", \"ratings\": [{\"docId\": 1, \"rating\": \"2.000\"}]}]}",
    );
    folder
        .run(&["inspect", "ratings.json"])
        .code(0)
        .prints("ratings.json: judged titles, json")
        .prints("next: clickvec evaluate bm25 trigram MODEL --judged ratings.json --titles TITLES");
    folder.write("two.tsv", "query\ttitle\nred hose\tHose\nquery\ttitle\nblue hose\tHose\n");
    folder
        .run(&["inspect", "two.tsv"])
        .code(0)
        .prints("two.tsv: a click log, ready for `train`, tsv, 2 columns, 2 rows");
}
