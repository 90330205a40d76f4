//! `clickvec index`, and `clickvec search` with an index.

use std::process::Command;

use crate::harness::{Folder, Run, program};

const INDEX: [&str; 7] = ["index", "--model", "model.safetensors", "--titles", "titles.tsv", "--output", "shop.index"];
const QUERIES: [&str; 7] = ["-k", "1000", "red hammer", "laddr", "日本", "", "white shelf 20 in"];

fn search(folder: &Folder, more: &[&str]) -> Run {
    folder.run(&[&["search", "shop.index"], &QUERIES[..], more].concat())
}

#[test]
fn titles_that_cannot_be_found_do_not_replace_an_index() {
    let folder = Folder::with_index();
    folder.write("titles.tsv", "id\ttitle\nx\t日本\ny\t!!!\n");
    folder.run(&INDEX).code(2).says(
        "shop.index: expected titles with words that the model knows, found none among 2; is this the right model?",
    );
    folder.run(&["search", "shop.index", "red hammer"]).code(0);
}

#[test]
fn an_index_has_everything_that_a_search_needs() {
    let folder = Folder::with_model();
    folder.run(&INDEX).code(0).says("shop.index: written; 144 titles, fingerprint ").prints_nothing();
    let titles = folder.read("titles.tsv") + "x1\t日本\n";
    folder.write("titles.tsv", titles);
    folder.run(&INDEX).code(0).says("shop.index: written; 145 titles");
    for more in [&[][..], &["--json"]] {
        assert!(search(&folder, more).code(0).stdout().lines().count() >= 5);
    }
    let lines = folder.run_with(&["search", "shop.index", "--json"], "red\nblue\n").code(0).json_lines();
    assert_eq!((lines.len(), &lines[1]["query"]), (2, &"blue".into()));
    std::fs::remove_file(folder.path("model.safetensors")).unwrap();
    std::fs::remove_file(folder.path("titles.tsv")).unwrap();
    search(&folder, &[]).code(0);
}

#[test]
fn a_search_needs_an_index() {
    let folder = Folder::with_model();
    folder.run(&["search"]).code(2).says("<INDEX>").prints_nothing();
    let expected = "model.safetensors: expected an index, which is a folder";
    folder.run(&["search", "model.safetensors", "red"]).code(2).says(expected).prints_nothing();
}

#[test]
fn only_an_index_is_replaced() {
    let folder = Folder::with_index();
    folder.run(&INDEX).code(0);
    folder.write("shop.index/notes.txt", "mine");
    folder.run(&INDEX).code(2).says("shop.index: expected an index to replace, or nothing, found one with `notes.txt`");
    let to = |output: &str| folder.run(&[&INDEX[..6], &[output]].concat());
    to("titles.tsv").code(2).says("titles.tsv: expected an index to replace, or nothing, found a file");
    to(".").code(2).says("found a folder with other files in it");
    to("no/index").code(2).says("expected a folder");
    assert_eq!(folder.read("shop.index/notes.txt"), "mine");
    folder.run(&["search", "shop.index", "red"]).code(0);
}

/// What is not of it would be lost when it is replaced, so it could not be compacted either.
#[test]
fn nothing_else_is_written_into_an_index() {
    let folder = Folder::with_index();
    let names = || {
        let mut names: Vec<_> =
            std::fs::read_dir(folder.path("shop.index")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    for command in [
        "index --model model.safetensors --titles titles.tsv --output shop.index/other.index",
        "lab simulate --set pairs=10 --output shop.index/log",
        "man --output shop.index/man",
        "man --output shop.index",
        "demo --pairs 100 --output shop.index/demo.html",
        "demo --pairs 100 --output demo.html --keep shop.index/keep",
        "evaluate --judged judged.tsv bm25 --output shop.index/runs",
        "evaluate --judged judged.tsv bm25 --save-rankers shop.index/rankers",
    ] {
        folder.run(&command.split(' ').collect::<Vec<_>>()).code(2).says("expected an output outside");
        assert_eq!(names(), before, "{command}");
    }
}

/// The library for words shows this error in a form of its own.
#[cfg(unix)]
#[test]
fn too_many_open_files_are_told() {
    let folder = Folder::with_model();
    folder.write("two.tsv", "id\ttitle\n1\tred hammer\n2\tblue hammer\n");
    let limited = |files: u32| {
        let index = "index --model model.safetensors --titles two.tsv --output two.index";
        let script = format!("ulimit -n {files}; exec {} {index}", program().display());
        let output = Command::new("bash").args(["-c", &script]).current_dir(folder.path("")).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let refused: Vec<String> =
        (6..30).map(limited).map_while(|(code, said)| (code != Some(0)).then_some(said)).collect();
    assert!((2..22).contains(&refused.len()), "{refused:?}");
    for said in refused {
        assert!(said.contains("Too many open files (os error 24); raise the limit with `ulimit -n`"), "{said}");
        assert!(!said.contains("IoError") && said.lines().count() == 1, "{said}");
    }
}

#[test]
fn a_column_is_stored_once() {
    let folder = Folder::with_index();
    folder.write("more.tsv", "id\ttitle\tbrand\na\tred lamp\tacme\n");
    let base = ["index", "--model=model.safetensors", "--titles=more.tsv", "--output=more.index"];
    folder.run(&[&base[..], &["--store=brand,brand"]].concat()).code(2).says("found `brand` twice");
    assert!(!folder.path("more.index").exists());
}

#[test]
fn an_index_that_cannot_be_read() {
    let folder = Folder::with_index();
    let search = |index: &str| folder.run(&["search", index, "red"]).code(2).prints_nothing();
    search("none").says("none: cannot open");
    search("titles.tsv").says("titles.tsv: expected an index");
    search(".").says("expected an index, found a folder without `manifest.json`; make one with `clickvec index`");
    let titles = folder.read("shop.index/titles.tsv");
    folder.write("shop.index/titles.tsv", titles.replacen("red", "rad", 1));
    folder.run(&["inspect", "shop.index"]).code(1).prints("titles.tsv: expected the checksum ");
    folder.write("shop.index/titles.tsv", &titles[..titles.len() - 1]);
    search("shop.index").says(&format!("shop.index/titles.tsv: expected {} bytes", titles.len()));
    folder.write("shop.index/titles.tsv", titles);
    let other = ["--set", "loss.gamma=3", "--set", "shared_towers=false"];
    folder.train("shop.index/model.safetensors", &other).code(2).says("expected an output outside the index ");
    folder.train("other.safetensors", &other).code(0);
    std::fs::rename(folder.path("other.safetensors"), folder.path("shop.index/model.safetensors")).unwrap();
    // Its size may be another one.
    search("shop.index").says("shop.index").says("rebuild the index");
}

#[test]
fn an_index_in_the_place_of_a_model_is_known() {
    let folder = Folder::with_index();
    let full = "shop.index: expected a model, found an index; add `--full`";
    folder.run(&["evaluate", "--judged", "judged.tsv", "shop.index"]).code(2).says(full).prints_nothing();
    let index =
        |model: &str| folder.run(&["index", "--model", model, "--titles", "titles.tsv", "--output", "second.index"]);
    for model in ["shop.index", "shop.index/model.safetensors"] {
        index(model).code(0);
    }
    std::fs::create_dir(folder.path("empty")).unwrap();
    index("empty").code(2).says("expected a file, found a folder").prints_nothing();
}

#[test]
fn json_and_inspect_say_what_is_in_it() {
    let folder = Folder::with_model();
    let [made] = folder.run(&[&INDEX[..], &["--json"]].concat()).code(0).json_lines().try_into().unwrap();
    assert_eq!((&made["titles"], &made["without_vector"], &made["dimension"]), (&144.into(), &0.into(), &8.into()));
    let [found] = folder.run(&["inspect", "shop.index", "--json"]).code(0).json_lines().try_into().unwrap();
    for name in ["titles", "without_vector", "dimension", "model", "fingerprint"] {
        assert_eq!(found[name], made[name], "{name}");
    }
    assert_eq!((&found["encoder"]["kind"], &found["files"]["vectors.npy"]), (&"lstm".into(), &(128 + 144 * 32).into()));
    let text = folder.run(&["inspect", "shop.index"]).code(0).stdout();
    for part in ["shop.index", "144", "encoder.cells", "titles.tsv", made["fingerprint"].as_str().unwrap()] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn shards_joined_are_the_index_of_one_run() {
    let folder = Folder::with_index();
    for shard in ["1/3", "2/3", "3/3"] {
        let output = format!("{}.index", &shard[..1]);
        folder.run(&[&INDEX[..6], &[&output, "--shard", shard]].concat()).code(0);
    }
    let join = ["index", "--join", "1.index", "2.index", "3.index", "--output", "joined.index"];
    let [report] = folder.run(&[&join[..], &["--json"]].concat()).code(0).json_lines().try_into().unwrap();
    assert_eq!((&report["titles"], &report["without_vector"]), (&144.into(), &0.into()));
    for name in ["manifest.json", "model.safetensors", "titles.tsv", "vectors.npy"] {
        let read = |index: &str| std::fs::read(folder.path(index).join(name)).unwrap();
        assert!(read("joined.index") == read("shop.index"), "{name}");
    }
    folder.run(&["search", "2.index", "red"]).code(0);
    let refused = |flags: &[&str], message: &str| {
        folder.run(&[&["index"], flags, &["--output", "no.index"]].concat()).code(2).says(message).prints_nothing();
        assert!(!folder.path("no.index").exists());
    };
    // Shards say which they are: their order does not matter, and none may be missing or there twice.
    folder.run(&["index", "--join", "3.index", "1.index", "2.index", "--output", "other.index"]).code(0);
    assert_eq!(folder.read("other.index/manifest.json"), folder.read("joined.index/manifest.json"));
    let missing =
        "1.index: expected all 3 shards of this collection to join, found none with the number 2; name them too";
    refused(&["--join", "1.index", "3.index"], missing);
    refused(&["--join", "2.index"], "found none with the number 1, 3; name them too");
    refused(&["--join", "1.index", "2.index", "1.index"], "expected each shard once, found 1 of 3 again");
    folder.run(&[&INDEX[..6], &["half.index", "--shard", "1/2"]].concat()).code(0);
    refused(
        &["--join", "1.index", "half.index"],
        "expected one of 3 shards of 144 titles, as `1.index` is, found one of 2 of 144 titles",
    );
    let [found] = folder.run(&["inspect", "2.index", "--json"]).code(0).json_lines().try_into().unwrap();
    assert_eq!((&found["shard"]["number"], &found["shard"]["of"]), (&2.into(), &3.into()));
    refused(&["--join", "shop.index", "shop.index"], "expected ids that no other index to join has");
    refused(&["--join", "1.index", "--model", "model.safetensors"], "cannot be used with");
    refused(&["--titles", "titles.tsv"], "--model");
    let shard = |shard: &str, titles: &str, message: &str| {
        refused(&["--model", "model.safetensors", "--titles", titles, "--shard", shard], message);
    };
    shard("4/3", "titles.tsv", "expected I/N with I from 1 to N, as 1/4");
    shard("1/3", "-", "expected a file of titles for `--shard`");
}

#[test]
fn shards_linked_are_searched_as_one() {
    let folder = Folder::with_index();
    for shard in ["1/2", "2/2"] {
        folder.run(&[&INDEX[..6], &[&shard[..1], "--shard", shard]].concat()).code(0);
    }
    let link = ["index", "--join", "2", "1", "--link", "--output", "all"];
    let [report] = folder.run(&[&link[..], &["--json"]].concat()).code(0).json_lines().try_into().unwrap();
    assert_eq!(report["titles"], 144);
    for mode in ["fused", "words", "vectors"] {
        let hits = |index| {
            let [mut answer] = folder
                .run(&["search", index, "red hammer", "--mode", mode, "--json"])
                .code(0)
                .json_lines()
                .try_into()
                .unwrap();
            answer["hits"].take()
        };
        assert_eq!(hits("all"), hits("shop.index"), "{mode}");
    }
    let [found] = folder.run(&["inspect", "all", "--json"]).code(0).json_lines().try_into().unwrap();
    assert_eq!((found["links"].as_array().unwrap().len(), &found["integrity"]["sound"]), (2, &true.into()));
    folder.run(&["evaluate", "--full", "--judged", "judged.tsv", "all"]).code(0);
    let update = ["update", "all", "--clicks=clicks.tsv", "--titles=titles.tsv"];
    folder.run(&update).code(2).says("expected an index with titles of its own, found one that links to others");
    folder.run(&["embed", "all", "--side=query", "judged.tsv"]).code(0);
    folder.run(&["explain", "match", "all", "hammer", "red hammer"]).code(0);
    folder.run(&["lab", "neighbours", "all", "hammer"]).code(0);
    // Links that lead nowhere can be replaced.
    std::fs::rename(folder.path("1"), folder.path("first")).unwrap();
    folder.run(&["search", "all", "red"]).code(2).says("link the indexes anew");
    folder.run(&["index", "--join", "2", "first", "--link", "--output", "all"]).code(0);
    folder.run(&["update", "all", "--compact"]).code(2).says("name those that it links to");
    folder.run(&[&link[..], &["--weights", "words=1"]].concat()).code(2).says("cannot be used with");
}

/// A shard stays one when titles change, and is not made anew from all titles.
#[test]
fn a_shard_that_was_updated_joins_with_the_others() {
    let folder = Folder::with_index();
    for shard in ["1/2", "2/2"] {
        folder.run(&[&INDEX[..6], &[&shard[..1], "--shard", shard]].concat()).code(0);
    }
    folder.write("one.tsv", "id\ttitle\nlater\tred hammer\n");
    folder.run(&["update", "1", "--add", "one.tsv"]).code(0);
    let join = ["index", "--join", "1", "2", "--output", "joined"];
    folder.run(&["inspect", "1"]).code(0).prints("shard");
    folder.run(&join).code(0);
    folder.run(&["search", "joined", "--json", "-k", "200", "red hammer"]).code(0).prints("later");
    let update = ["update", "1", "--clicks=clicks.tsv", "--titles=titles.tsv"];
    folder.run(&update).code(2).says("expected an index of all titles, found shard 1 of 2");
}

#[test]
fn titles_that_are_lost_because_of_their_bytes_are_loud() {
    let folder = Folder::with_model();
    let latin = |row: &str| row.bytes().collect::<Vec<u8>>();
    let mut bytes = latin(&folder.read("titles.tsv"));
    for number in 0..9 {
        bytes.extend_from_slice(format!("l{number}\tporte en ch").as_bytes());
        bytes.extend_from_slice(b"\xeane\n");
    }
    folder.write("latin.tsv", &bytes);
    let index =
        |titles: &str| folder.run(&["index", "--model=model.safetensors", &format!("--titles={titles}"), "--output=i"]);
    let warned = "warning: latin.tsv: 9 lines are not UTF-8 and lost; save it as UTF-8 text (iconv -f ENCODING -t UTF-8) and \
                  run this again";
    index("latin.tsv")
        .code(0)
        .says("latin.tsv: skipped 9 broken lines:")
        .says("latin.tsv:146: expected UTF-8")
        .says(warned);
    let csv: Vec<u8> = bytes.iter().map(|&byte| if byte == b',' { b' ' } else { byte }).collect();
    let csv: Vec<u8> = csv.iter().map(|&byte| if byte == b'\t' { b',' } else { byte }).collect();
    folder.write("latin.csv", csv);
    index("latin.csv")
        .code(0)
        .says("latin.csv: skipped 9 broken lines:")
        .says("warning: latin.csv: 9 lines are not UTF-8 and lost");
    let clicks = folder.read("clicks.tsv").into_bytes();
    folder.write("clicks.tsv", [&clicks[..], b"ch\xeane\tporte en ch\xeane\n"].concat());
    folder.train("m", &[]).code(0).says("warning: clicks.tsv: 1 line is not UTF-8 and lost;");
    // UTF-16 is known by its mark, or by the zeros of a header.
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let titles = folder.read("titles.tsv");
    let clicks = String::from_utf8(clicks).unwrap();
    for mark in [&[0xff, 0xfe][..], &[]] {
        folder.write("wide.tsv", [mark, &wide(&titles)].concat());
        let told = "wide.tsv: expected UTF-8, found UTF-16; save it as UTF-8 text (iconv -f UTF-16 -t UTF-8)";
        index("wide.tsv").code(2).says(told);
        folder.write("clicks.tsv", [mark, &wide(&clicks)].concat());
        folder.train("m", &[]).code(2).says("clicks.tsv: expected UTF-8, found UTF-16; save it as UTF-8 text (iconv");
        folder.write("wide-judged.tsv", [mark, &wide(&folder.read("judged.tsv"))].concat());
        let judged = ["evaluate", "--judged=wide-judged.tsv", "model.safetensors"];
        folder.run(&judged).code(2).says("wide-judged.tsv: expected UTF-8, found UTF-16");
    }
}

#[test]
fn what_a_change_would_not_use_is_refused() {
    let folder = Folder::with_index();
    folder.write("gone.txt", "t0010\n");
    let fingerprint = || folder.run(&["inspect", "shop.index", "--json"]).json_lines()[0]["fingerprint"].clone();
    let before = fingerprint();
    let refused = |arguments: &[&str]| folder.run(arguments).code(2).prints_nothing();
    let join = ["index", "--output=shop.index", "--join=shop.index"];
    for more in ["--store=price", "--field=body"] {
        refused(&[&join[..], &[more]].concat()).says("cannot be used with").says("--join");
    }
    let alone = "expected `--titles FILE` with `--columns`, which names its columns, found none";
    refused(&[&join[..], &["--columns", "id=id"]].concat()).says(alone);
    refused(&["update", "shop.index", "--delete=gone.txt", "--columns", "id=id"]).says(alone);
    refused(&["update", "shop.index", "--add=titles.tsv", "--titles=titles.tsv"]).says("cannot be used with");
    refused(&["update", "shop.index", "--titles=titles.tsv"]).says("--clicks");
    refused(&["update", "shop.index"]).says("--clicks");
    assert_eq!(fingerprint(), before);
}
