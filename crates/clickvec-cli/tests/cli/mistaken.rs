//! Files in the place of others: what was given, and what was meant.

use crate::harness::{Folder, SMALL};

/// `train` on this file, quickly.
fn train<'a>(clicks: &'a str, output: &'a str) -> Vec<&'a str> {
    [&["train", "--clicks", clicks, "--output", output, "--held-out=0"], &SMALL[..]].concat()
}

#[test]
fn judged_titles_are_not_learnt_as_clicks() {
    let folder = Folder::with_model();
    let clicks = "judged.tsv: expected clicks, found judged titles: the column `grade`; if these are clicks, rename it";
    folder.run(&train("judged.tsv", "m")).code(2).says(clicks);
    let update = ["update", "model.safetensors", "--titles=titles.tsv", "--clicks", "judged.tsv"];
    folder.run(&update).code(2).says(clicks);
    let learns = ["lab", "table", "--judged=judged.tsv", "--clicks=judged.tsv", "--titles=titles.tsv", "--ranker=wtm"];
    folder.run(&learns).code(2).says(clicks);
    let log = "judged.tsv: expected a log, found judged titles: the column `grade`";
    folder.run(&["prepare", "judged.tsv", "--output", "c.tsv"]).code(2).says(log);
    assert!(!folder.path("m").exists() && !folder.path("c.tsv").exists());
    // With counts they are clicks: a simulated log has grades too.
    let counted = folder.read("judged.tsv").replace('\n', "\t1\n").replacen("grade\t1", "grade\tcount", 1);
    folder.write("counted.tsv", counted);
    folder.run(&train("counted.tsv", "m")).code(0);
    folder.run(&["prepare", "counted.tsv", "--output", "c.tsv"]).code(0);
}

#[test]
fn marks_of_rare_queries_are_not_lost() {
    let folder = Folder::with_data();
    let marked = folder.read("clicks.tsv").replace('\n', "\t1\n").replacen("title\t1", "title\trare", 1);
    folder.write("private.tsv", marked);
    let message = "private.tsv: expected a raw log, found a private table, whose marks of rare queries would be lost";
    folder.run(&["prepare", "private.tsv", "--output", "c.tsv"]).code(2).says(message);
    assert!(!folder.path("c.tsv").exists());
    folder.run(&train("private.tsv", "m")).code(0);
    folder.run(&["inspect", "private.tsv"]).code(0).prints("  rare   column `rare`");
}

#[test]
fn a_raw_log_is_learnt_with_a_warning() {
    let folder = Folder::with_data();
    let log = folder.read("clicks.tsv").replace('\n', "\tu1\n").replacen("title\tu1", "title\tuser", 1);
    folder.write("log.tsv", log);
    let looks = "warning: log.tsv: looks like a raw log; `clickvec prepare` counts its clicks";
    folder.run(&train("log.tsv", "m")).code(0).says(looks);
    let plain = folder.run(&train("clicks.tsv", "m")).code(0).stderr();
    assert!(!plain.contains("raw log"), "{plain}");
}

#[test]
fn a_model_is_no_table() {
    let folder = Folder::with_model();
    let message = "model.safetensors: expected a table, found a model or another file of tensors";
    for arguments in [
        train("model.safetensors", "m"),
        vec!["prepare", "model.safetensors", "--output", "c.tsv"],
        vec!["evaluate", "--judged", "model.safetensors", "bm25"],
        vec!["index", "--model", "model.safetensors", "--titles", "model.safetensors", "--output", "i"],
        vec!["train", "--titles", "model.safetensors", "--output", "m"],
    ] {
        folder.run(&arguments).code(2).says(message).prints_nothing();
    }
}

#[test]
fn titles_with_other_columns_or_in_an_index() {
    let folder = Folder::with_model();
    let titles = folder.read("titles.tsv").replacen("id\ttitle", "sku\tname", 1);
    folder.write("named.tsv", titles);
    let index = |titles: &str, more: &[&str]| {
        let base = ["index", "--model", "model.safetensors", "--titles", titles, "--output", "i"];
        folder.run(&[&base[..], more].concat())
    };
    let named = "`--columns` names the columns of titles";
    index("named.tsv", &[]).code(2).says("expected a column `id`").says(named);
    index("named.tsv", &["--columns=id=sku,title=name"]).code(0);
    index("i", &[]).code(2).says("expected a file, or a BEIR folder").says("found a folder without `corpus.jsonl`");
}

#[test]
fn queries_in_a_table_that_does_not_say_so() {
    let folder = Folder::with_data();
    folder.write("terms.tsv", "id\tsearch_term\n1\tred hammer\n");
    let judge = ["judge", "shop.index", "--against=bm25", "--queries=terms.tsv", "--output=s.tsv"];
    let message = "found a table with `id`, `search_term`; rename its column of queries";
    folder.run(&judge).code(2).says(message);
    assert!(!folder.path("s.tsv").exists());
}

#[test]
fn a_sheet_with_open_rows_is_not_judged() {
    let folder = Folder::with_data();
    folder.write("sheet.tsv", "query\ttitle_id\ttitle\tgrade\nred hammer\tt1\thammer in red\t\n");
    let evaluate = ["evaluate", "--judged=sheet.tsv", "bm25"];
    folder.run(&evaluate).code(2).says("sheet.tsv: expected judged titles below the header, found none");
    // What it lacks is counted, and grades of a sheet are 0 to 4.
    folder.write("sheet.tsv", "query\ttitle_id\ttitle\tgrade\nred hammer\tt1\thammer\t3\nladder\tt2\tladder\t\n");
    folder.run(&evaluate).code(0).says("sheet.tsv: left out 1 row without a grade").prints("1 query;");
    folder.write("sheet.tsv", "query\ttitle_id\ttitle\tgrade\nred hammer\tt1\thammer\t7\nladder\tt2\tladder\t\n");
    folder.run(&["inspect", "sheet.tsv"]).code(1).prints("expected a grade from 0 to 4 in column `grade`, found `7`");
}

#[test]
fn texts_that_are_no_lines() {
    let folder = Folder::with_model();
    let base = ["embed", "model.safetensors", "--side", "title"];
    let embed = |text: &str, more: &[&str]| folder.run_with(&[&base[..], more].concat(), text);
    for array in ["[{\"title\": \"red\"}]", "[\n{\"title\": \"red\"}\n]", "[\"red\"]"] {
        let told = "standard input: expected texts, one a line, or JSON lines, found a JSON array";
        embed(array, &[]).code(2).says(told);
        let explain = ["explain", "keywords", "model.safetensors", "--file=-"];
        folder.run_with(&explain, array).code(2).says(told).prints_nothing();
    }
    assert_eq!(embed("[red] hammer\n", &[]).code(0).json_lines()[0]["text"], "[red] hammer");
    folder.write("empty.txt", "");
    embed("", &["empty.txt"]).code(0).prints_nothing().says("warning: empty.txt: empty, so no vector is written");
    // The ids of a table stay where its column is named.
    let lines = embed("id\ttitle\tname\nt1\tx\tred hammer\n", &["--text-column=name"]).code(0).json_lines();
    assert_eq!((&lines[0]["id"], &lines[0]["text"]), (&"t1".into(), &"red hammer".into()));
}
