//! `clickvec index` with words and stored columns, its changes, and what kills and a full disk leave.
#![cfg(feature = "serve")]

use std::process::Stdio;
use std::time::Duration;

use crate::harness::{Folder, program};

/// A folder with a model and an index of titles with a brand and a price each.
fn with_index() -> Folder {
    let folder = Folder::with_model();
    let titles = folder.read("titles.tsv");
    let stored = titles.lines().enumerate().map(|(number, line)| match number {
        0 => format!("{line}\tbrand\tprice\n"),
        _ => format!("{line}\tbrand {}\t{}.5\n", number % 3, number),
    });
    folder.write("stored.tsv", stored.collect::<String>());
    folder.run(&INDEX).code(0);
    folder
}

const INDEX: [&str; 9] = [
    "index",
    "--model",
    "model.safetensors",
    "--titles",
    "stored.tsv",
    "--store",
    "brand,price",
    "--output",
    "shop.index",
];

/// The ids that a search finds.
fn ids(folder: &Folder, arguments: &[&str]) -> Vec<String> {
    let lines = folder.run(&[&["search", "--index", "shop.index", "--json"], arguments].concat()).json_lines();
    let results = lines[0]["results"].as_array().unwrap();
    results.iter().map(|found| found["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn modes_filters_and_pages() {
    let folder = with_index();
    let query = "red hammer";
    assert_eq!(ids(&folder, &["--mode", "vectors", query]), ids(&folder, &[query]));
    let words = ids(&folder, &["--mode", "words", query]);
    assert!(words[..3].iter().all(|id| id.starts_with("t00")), "{words:?}");
    let both = ids(&folder, &["--mode", "both", "-k", "6", query]);
    assert_eq!(ids(&folder, &["--mode", "both", "-k", "4", "--offset", "2", query]), both[2..]);
    let found = folder.run(&[
        "search",
        "--index",
        "shop.index",
        "--json",
        "--filter",
        "brand=brand 1",
        "--filter",
        "price:..20",
        query,
    ]);
    let lines = found.code(0).json_lines();
    let results = lines[0]["results"].as_array().unwrap();
    assert!(!results.is_empty());
    for found in results {
        assert_eq!(found["fields"]["brand"], "brand 1");
        assert!(found["fields"]["price"].as_str().unwrap().parse::<f64>().unwrap() <= 20.0);
    }
    let search = |more: &[&str]| folder.run(&[&["search", "--index", "shop.index"], more].concat());
    search(&["--filter", "colour=red", query]).code(2).says("a stored field of the index (`brand`, `price`)");
    search(&["--filter", "brand", query]).code(2).says("field=value");
    search(&["--mode", "bm25", query]).code(2).says("`vectors`, `words` or `both`");
    search(&["--mode", "words", "zzzz"]).code(1).says("no title has anything of it");
    folder
        .run(&["search", "--model", "model.safetensors", "--titles", "titles.tsv", "--mode", "words", query])
        .code(2)
        .says("expected `--index INDEX` with `--mode`");
}

#[test]
fn titles_are_added_replaced_and_deleted() {
    let folder = with_index();
    folder
        .write("new.tsv", "id\ttitle\tbrand\tprice\nn1\tgreen hammer of brass\tnew\t1\nt0010\tyellow drill\tnew\t2\n");
    folder.write("gone.txt", "t0020\nt9999\n");
    let update = ["index", "--update", "new.tsv", "--delete", "gone.txt", "--output", "shop.index"];
    folder.run(&update).code(0).says("1 added, 1 replaced, 1 deleted; 144 titles").says("1 id to delete");
    let check = || {
        assert_eq!(ids(&folder, &["--mode", "words", "-k", "1", "green hammer of brass"]), ["n1"]);
        let all = ids(&folder, &["-k", "1000", "hammer"]);
        assert!(all.len() == 144 && all.contains(&"n1".to_owned()) && !all.contains(&"t0020".to_owned()));
    };
    check();
    // What reads vectors alone says what to do.
    folder.run(&["inspect", "shop.index"]).code(2).says("`clickvec index --compact --output INDEX`");
    folder
        .run(&["index", "--compact", "--output", "shop.index"])
        .code(0)
        .says("2 segments made one, 2 old titles cleared");
    check();
    folder.run(&["inspect", "shop.index"]).code(0);
    let line = folder.run(&["index", "--delete", "gone.txt", "--output", "shop.index", "--json"]).code(0).json_lines();
    assert_eq!((&line[0]["updated"]["deleted"], &line[0]["updated"]["missing"]), (&0.into(), &2.into()));
    folder.write("bad.tsv", "id\ttitle\nn2\tgreen\n");
    folder.run(&["index", "--update", "bad.tsv", "--output", "shop.index"]).code(2).says("`brand`");
    check();
}

#[test]
fn shards_are_completed_as_they_are_joined() {
    let folder = with_index();
    for number in ["1", "2"] {
        let (shard, output) = (format!("{number}/2"), format!("part{number}"));
        folder.run(&[&INDEX[..7], &["--shard", &shard, "--output", &output]].concat()).code(0);
    }
    folder.run(&["index", "--join", "part2", "part1", "--output", "joined"]).code(0);
    let read = |name: &str| std::fs::read(folder.path(name)).unwrap();
    for name in ["manifest.json", "titles.tsv", "codes.bin", "fields.json", "words/meta.json"] {
        assert!(read(&format!("joined/{name}")) == read(&format!("shop.index/{name}")), "{name}");
    }
}

/// Starts the program, kills it after a while, and returns whether it had ended by itself.
fn killed(folder: &Folder, arguments: &[&str], after: Duration) -> bool {
    let mut child = std::process::Command::new(program())
        .args(arguments)
        .current_dir(folder.path("."))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(after);
    let _ = child.kill();
    child.wait().unwrap().success()
}

#[test]
fn a_kill_leaves_the_old_index_or_the_new_one() {
    let folder = with_index();
    let started = std::time::Instant::now();
    folder.write("new.tsv", "id\ttitle\tbrand\tprice\nn0\tgreen hammer 0\tnew\t1\n");
    folder.run(&["index", "--update", "new.tsv", "--output", "shop.index"]).code(0);
    let usual = started.elapsed();
    let (mut last, mut ended) = (0, 0);
    for round in 1..=16u32 {
        folder.write("new.tsv", format!("id\ttitle\tbrand\tprice\nn0\tgreen hammer {round}\tnew\t1\n"));
        let arguments: &[&str] = match round % 4 {
            0 => &["index", "--compact", "--output", "shop.index"],
            _ => &["index", "--update", "new.tsv", "--output", "shop.index"],
        };
        let done = killed(&folder, arguments, usual * (round % 8) / 7);
        let run =
            folder.run(&["search", "--index", "shop.index", "--mode", "words", "-k", "1", "--json", "green hammer"]);
        let found = run.code(0).json_lines();
        let title = found[0]["results"][0]["title"].as_str().unwrap();
        let now: u32 = title.rsplit(' ').next().unwrap().parse().unwrap();
        assert!(now == last || now == round, "{now} after {last} in round {round}");
        assert!(!done || round % 4 == 0 || now == round, "what was acknowledged is lost: {now} in round {round}");
        (last, ended) = (now, ended + u32::from(done));
    }
    assert!(ended < 16, "nothing was killed");
    // Nothing is in the way of the next change.
    folder.run(&["index", "--update", "new.tsv", "--output", "shop.index"]).code(0);
    folder.run(&["index", "--compact", "--output", "shop.index"]).code(0);
    let left = std::fs::read_dir(folder.path("shop.index")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(left.iter().all(|name| !name.starts_with("changes-") && !name.starts_with(".clickvec")), "{left:?}");
}

/// A limit on the size of files stands for a full disk: writing fails in the middle.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_old_index() {
    let folder = with_index();
    let before = folder.read("shop.index/manifest.json");
    folder.write("new.tsv", folder.read("stored.tsv"));
    for (blocks, arguments) in [
        (0, "--update new.tsv --output shop.index"),
        (1, "--update new.tsv --output shop.index"),
        (8, "--update new.tsv --output shop.index"),
        (4, "--compact --output shop.index"),
        (16, "--model model.safetensors --titles stored.tsv --store brand,price --output shop.index"),
    ] {
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec {} index {arguments}", program().display());
        let output =
            std::process::Command::new("sh").args(["-c", &script]).current_dir(folder.path(".")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{blocks} {arguments}: {said}");
        assert!(said.contains("cannot write") || said.contains("too large"), "{said}");
        assert_eq!(folder.read("shop.index/manifest.json"), before);
        assert_eq!(ids(&folder, &["--mode", "both", "-k", "3", "red hammer"]).len(), 3);
    }
}
