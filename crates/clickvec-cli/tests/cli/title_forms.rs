//! Titles as CSV, JSON lines or under other names: every command reads them as `prepare` does.

use crate::harness::Folder;

/// The titles of [`Folder::with_data`] as CSV and as JSON lines, under other names.
fn folder() -> Folder {
    let folder = Folder::with_model();
    let (mut csv, mut json) = ("sku,price,name\n".to_owned(), String::new());
    for line in folder.read("titles.tsv").lines().skip(1) {
        let (id, title) = line.split_once('\t').unwrap();
        csv.push_str(&format!("{id},9.99,\"{title}\"\n"));
        json.push_str(&format!("{{\"sku\":\"{id}\",\"price\":9.99,\"name\":\"{title}\"}}\n"));
    }
    folder.write("titles.csv", csv);
    folder.write("titles.jsonl", json);
    folder
}

const NAMES: [&str; 2] = ["--columns", "id=sku,title=name"];

#[test]
fn a_search_finds_the_same_in_any_form() {
    let folder = folder();
    let csv = folder.read("titles.csv");
    folder.write("plain.csv", csv.replace("sku,price,name", "id,price,title"));
    folder.write("named.tsv", folder.read("titles.tsv").replace("id\ttitle", "sku\tname"));
    let found = |file: &str, more: &[&str], input: &str| {
        let index = ["index", "--model", "model.safetensors", "--output", "any.index", "--titles", file];
        folder.run_with(&[&index[..], more].concat(), input).code(0);
        folder.run(&["search", "any.index", "-k", "5", "red hammer"]).code(0).stdout()
    };
    let expected = found("titles.tsv", &[], "");
    for file in ["titles.csv", "titles.jsonl", "named.tsv"] {
        assert_eq!(found(file, &NAMES, ""), expected, "{file}");
    }
    // From a pipe, too; and plain names need no option.
    assert_eq!(found("-", &NAMES, &csv), expected);
    assert_eq!(found("plain.csv", &[], ""), expected);
}

#[test]
fn blanks_around_an_id_are_no_part_of_it_in_any_form() {
    let folder = Folder::with_model();
    for (name, table) in [
        ("a.csv", "id,title\n t1 ,red hammer\n\" t2\",blue hammer\n"),
        ("a.tsv", "id\ttitle\n t1 \tred hammer\n t2\tblue hammer\n"),
        ("a.jsonl", "{\"id\":\" t1 \",\"title\":\"red hammer\"}\n{\"id\":\" t2\",\"title\":\"blue hammer\"}\n"),
    ] {
        folder.write(name, table);
        folder.index("model.safetensors", name).code(0);
        let found = folder.run(&["search", "shop.index", "--json", "red hammer"]).code(0).json_lines();
        assert_eq!([&found[0]["results"][0]["id"], &found[0]["results"][1]["id"]], ["t1", "t2"], "{name}");
    }
}

#[test]
fn every_command_that_takes_titles_takes_them() {
    let folder = folder();
    let with = |command: &[&str]| folder.run(&[command, &["--titles", "titles.csv"], &NAMES].concat()).code(0);
    with(&["index", "--model", "model.safetensors", "--output", "a.index"]);
    folder.run(&["index", "--model", "model.safetensors", "--titles", "titles.tsv", "--output", "b.index"]).code(0);
    let file = |index: &str, name: &str| std::fs::read(folder.path(&format!("{index}/{name}"))).unwrap();
    assert!(["titles.tsv", "vectors.npy"].iter().all(|name| file("a.index", name) == file("b.index", name)));
    with(&["evaluate", "--judged", "judged.tsv", "bm25"]);
    with(&["evaluate", "--full", "--judged", "judged.tsv", "bm25", "model.safetensors"]);
    let train = [
        "train",
        "--set",
        "encoder.cells=8",
        "--encoder",
        "lstm",
        "--set",
        "titles.epochs=1",
        "--set",
        "seed=7",
        "--output",
    ];
    with(&[&train[..], &["csv.safetensors"]].concat()).says("titles.csv: 144 titles");
    folder.run(&[&train[..], &["tsv.safetensors", "--titles", "titles.tsv"]].concat()).code(0);
    let bytes = |name: &str| std::fs::read(folder.path(name)).unwrap();
    assert!(bytes("csv.safetensors") == bytes("tsv.safetensors"), "the form of the titles is in the model");
}

#[test]
fn messages_name_the_file_and_not_its_copy() {
    let folder = folder();
    folder.write("signs.csv", "id,title\n1,...\n2,!!!\n");
    let run = folder.run(&["train", "--titles", "signs.csv", "--output", "m.safetensors"]).code(2).says("signs.csv");
    assert!(!run.stderr().contains("/proc/"), "{}", run.stderr());
}

#[test]
fn what_is_wrong_with_them_is_told() {
    let folder = folder();
    let index = |file: &str, more: &[&str]| {
        folder.run(&[&["index", "--model", "model.safetensors", "--output", "i", "--titles", file], more].concat())
    };
    let missing = "titles.csv: expected a column `id` in the header, found `sku`, `price`, `name`";
    index("titles.csv", &["--columns", "title=name"])
        .code(2)
        .says(missing)
        .says("`--columns` names the columns of titles")
        .prints_nothing();
    index("titles.csv", &["--columns", "id=sku"]).code(2).says("expected a column `title` in the header");
    folder.write("twice.csv", "id,title\n1,a\n1,b\n");
    index("twice.csv", &[]).code(2).says("twice.csv:3: expected a new id, found `1`, which line 2 has already");
    folder.write("none.csv", "id,title\n");
    index("none.csv", &[]).code(2).says("none.csv: expected titles");
    folder.write("some.csv", "id,title\n1,red hammer\n,lost\n2,blue ladder\n3\n");
    index("some.csv", &[]).code(0).says("some.csv: skipped 2 broken lines:").says("some.csv:3: expected an id");
    folder.write("nulls.csv", "id,title\n1,red hammer\n2,NULL\n3,nan\n4,null\n");
    index("nulls.csv", &[]).code(0).says("nulls.csv: 3 titles read as empty: `nan` 1, `null` 2");
    folder.write("most.csv", "id,title\n1,red hammer\n2\n3\n");
    index("most.csv", &[]).code(2).says("most.csv: expected a table of titles, found 2 broken lines of 3");
    folder.write("most.tsv", "id\ttitle\n1\tred hammer\n2\n3\n");
    index("most.tsv", &[])
        .code(2)
        .says("most.tsv: expected a table of titles, found 2 broken lines of 3; fix them first");
}

#[test]
fn embed_reads_tables_and_writes_ids() {
    let folder = folder();
    let embed = ["embed", "model.safetensors", "--side", "title"];
    let lines = |more: &[&str]| folder.run(&[&embed[..], more].concat()).code(0).json_lines();
    let found = lines(&["titles.tsv"]);
    assert_eq!(found.len(), 144);
    let first = folder.read("titles.tsv").lines().nth(1).unwrap().to_owned();
    let (id, title) = first.split_once('\t').unwrap();
    assert_eq!((found[0]["id"].as_str(), found[0]["text"].as_str()), (Some(id), Some(title)));
    let plain = folder.run_with(&embed, format!("{title}\n")).code(0).json_lines();
    assert_eq!(plain[0]["vector"], found[0]["vector"]);
    assert_eq!(lines(&["titles.tsv", "--text-column", "title"])[0]["id"], found[0]["id"]);
    // A table is not taken for lines of text, whatever its form and wherever it comes from.
    let rows = folder.read("titles.tsv");
    let rows: Vec<(&str, &str)> = rows.lines().skip(1).map(|line| line.split_once('\t').unwrap()).collect();
    let csv = rows.iter().map(|(id, title)| format!("{id},\"{title}\"\n")).collect::<String>();
    let json = rows.iter().map(|(id, title)| format!("{{\"id\":\"{id}\",\"title\":\"{title}\"}}\n"));
    let (csv, json) = (format!("id,title\n{csv}"), json.collect::<String>());
    for (name, table) in [("t.csv", &csv), ("t.txt", &csv), ("t.jsonl", &json), ("t.tsv", &folder.read("titles.tsv"))] {
        folder.write(name, table);
        assert_eq!(lines(&[name]), found, "{name}");
        assert_eq!(folder.run_with(&embed, table.as_str()).code(0).json_lines(), found, "{name} in a pipe");
    }
    folder
        .run(&[&embed[..], &["titles.csv"]].concat())
        .code(2)
        .says("expected a column `title` in the header, found")
        .prints_nothing();
    let npy = [&embed[..], &["t.csv", "--format", "npy"]].concat();
    assert_eq!(folder.run(&npy).code(0).stdout_bytes().len(), 128 + 144 * 8 * 4);
    // Texts are texts, tabs, commas and braces or not.
    let texts = ["red\tlamp", "red lamp, size 8", "{red lamp}", "title", ""];
    for text in texts {
        let found = folder.run_with(&embed, format!("{text}\nblue\n")).code(0).json_lines();
        assert_eq!((found.len(), found[0]["text"].as_str(), found[0].get("id")), (2, Some(text), None));
    }
    folder.write("bad.tsv", "id\ttitle\n1\n");
    folder.run(&[&embed[..], &["bad.tsv"]].concat()).code(2).says("bad.tsv:2: expected 2 columns");
    folder
        .run(&[&embed[..], &["titles.tsv", "--text-column", "body"]].concat())
        .code(2)
        .says("`--text-column` names another");
}

#[test]
fn columns_of_titles_that_nobody_gave_are_refused() {
    let folder = folder();
    folder.run(&["index", "--model=model.safetensors", "--titles=titles.tsv", "--output=shop.index"]).code(0);
    folder.write("q.qrels", "1 0 t1 1\n");
    folder.write("r.run", "1 Q0 t1 1 0.5 r\n");
    let commands: [&[&str]; 6] = [
        &["train", "--clicks=clicks.tsv", "--output=new"],
        &["evaluate", "--judged=judged.tsv", "model.safetensors"],
        &["evaluate", "--judged=judged.tsv", "--full", "shop.index"],
        &["evaluate", "--judged=q.qrels", "r.run"],
        &["lab", "simulate", "--set=pairs=100", "--output=new"],
        &["lab", "errors", "model.safetensors", "--judged=judged.tsv"],
    ];
    for command in commands {
        for names in ["title=name", "id=name"] {
            let said = "expected `--titles FILE` with `--columns`, which names its columns, found none";
            folder.run(&[command, &["--columns", names]].concat()).code(2).says(said).prints_nothing();
        }
    }
    assert!(!folder.path("new").exists());
}

#[test]
fn a_column_that_is_read_under_the_name_of_another_is_told() {
    let folder = folder();
    folder.write("plain.csv", folder.read("titles.csv").replace("sku,price,name", "id,price,title"));
    // A plain table has ids under this name too.
    for (name, id) in [("plain.csv", "id"), ("titles.tsv", "id"), ("titles.tsv", "ID"), ("-", "id")] {
        let found = format!("{name}: expected a column of texts, found `--field {id}`, under which ids are read");
        let index = ["index", "--model=model.safetensors", "--output=new", "--titles", name, "--field", id];
        folder.run_with(&index, folder.read("titles.tsv")).code(2).says(&found).prints_nothing();
    }
    let train = ["train", "--titles=titles.tsv", "--field=id", "--output=new"];
    folder.run(&train).code(2).says("titles.tsv: expected a column of texts, found `--field id`");
    assert!(!folder.path("new").exists());
    // The ids and the texts may be stored too, and other columns of these names may not.
    let index = |titles: &str, more: &[&str]| {
        let base = ["index", "--model=model.safetensors", "--output=shop.index", "--titles", titles];
        folder.run(&[&base[..], more].concat())
    };
    index("plain.csv", &["--store=title,price,id"]).code(0);
    let found = folder.run(&["search", "shop.index", "--mode=vectors", "--json", "red hammer"]).code(0).json_lines();
    let first = &found[0]["results"][0];
    assert_eq!((&first["fields"]["title"], &first["fields"]["id"]), (&first["title"], &first["id"]));
    index("titles.csv", &[&NAMES[..], &["--store=name"]].concat()).code(0);
    let titled = folder.read("titles.csv").replace("sku,price,name", "sku,title,name");
    folder.write("titled.csv", titled);
    index("titled.csv", &[&NAMES[..], &["--store=title"]].concat()).code(0);
}

#[test]
fn columns_of_a_folder_are_refused() {
    let folder = folder();
    std::fs::create_dir(folder.path("beir")).unwrap();
    let documents = "{\"_id\":\"a\",\"title\":\"number one\",\"text\":\"red hammer\"}\n";
    folder.write("beir/corpus.jsonl", documents);
    let index = |titles: &str, more: &[&str]| {
        let base = ["index", "--model=model.safetensors", "--output=shop.index", "--titles", titles];
        folder.run(&[&base[..], more].concat())
    };
    let search = || folder.run(&["search", "shop.index", "red hammer"]).code(0);
    index("beir", &[]).code(0);
    search().prints("number one");
    for names in ["title=text", "id=text"] {
        let said = "beir: expected a file of titles with `--columns`, found a BEIR collection; give its `corpus.jsonl`";
        index("beir", &["--columns", names]).code(2).says(said).prints_nothing();
    }
    index("beir/corpus.jsonl", &["--columns=id=_id,title=text"]).code(0);
    search().prints("red hammer");
}

#[test]
fn two_names_for_the_texts_are_refused_where_only_titles_are_read() {
    let folder = folder();
    let two = [&NAMES[..], &["--field=price"]].concat();
    let commands: [&[&str]; 2] = [
        &["index", "--model=model.safetensors", "--output=new"],
        &["train", "--set", "encoder.cells=8", "--encoder", "lstm", "--set", "titles.epochs=1", "--output=new"],
    ];
    for command in commands {
        let said = "expected one name for the column with the texts, found `--field price` and `--columns title=name`; leave one";
        let run = folder.run(&[command, &["--titles=titles.csv"], &two].concat());
        run.code(2).says(said).prints_nothing();
    }
    assert!(!folder.path("new").exists());
    // The judged titles may be in a column of another name than the collection's.
    folder.write("judged.tsv", folder.read("judged.tsv").replace("\ttitle\t", "\tlabel\t"));
    let evaluate = ["evaluate", "--judged=judged.tsv", "bm25", "--titles=titles.csv", "--field=label"];
    folder.run(&[&evaluate[..], &NAMES].concat()).code(0);
}

#[test]
fn a_key_that_stands_twice_is_a_broken_row() {
    let folder = folder();
    let said = "t.jsonl:2: expected a JSON object, found the key `title` a second time in column ";
    // As JSON lines, and as BEIR's.
    for id in ["id", "_id"] {
        let twice = "\"title\":\"blue ladder\",\"title\":\"red ladder\"";
        let rows = format!("{{\"{id}\":\"a\",\"title\":\"red hammer\"}}\n{{\"{id}\":\"b\",{twice}}}\n");
        folder.write("t.jsonl", rows);
        folder.index("model.safetensors", "t.jsonl").code(0).says(said);
        let found = folder.run(&["search", "shop.index", "red hammer"]).code(0).stdout();
        assert!(found.contains("red hammer") && !found.contains("ladder"), "{found}");
    }
    // In a log it is counted like any other broken row, however deep it stands.
    let event = |id: u32, more: &str| {
        format!(
            "{{\"action_name\":\"click\",\"query_id\":\"q\",\"client_id\":\"c\",\"event_attributes\":{{\"object\":{{\"object_id\":\"{id}\",\
             \"name\":\"red hammer\"{more}}}}}}}\n"
        )
    };
    let query = "{\"query_id\":\"q\",\"user_query\":\"red hammer\",\"client_id\":\"c\"}\n";
    folder.write("ubi.jsonl", [query, &event(1, ""), &event(2, ",\"object_id\":\"3\"")].concat());
    let prepare = ["prepare", "ubi.jsonl", "--preset=ubi", "--min-users=1", "--output=c.tsv"];
    folder.run(&prepare).code(2).says("ubi.jsonl:3: expected a JSON object, found the key `object_id` a second time");
    folder.run(&[&prepare[..], &["--max-bad=50%"]].concat()).code(0);
    assert_eq!(folder.read("c.tsv"), "query\ttitle\tcount\nred hammer\tred hammer\t1\n");
}
