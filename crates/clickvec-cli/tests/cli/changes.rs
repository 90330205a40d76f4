//! `clickvec index` with words and stored columns, its changes, and what kills and a full disk leave.

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
    let lines = folder.run(&[&["search", "shop.index", "--json"], arguments].concat()).json_lines();
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
    let both = ids(&folder, &["--mode", "fused", "-k", "6", query]);
    assert_eq!(ids(&folder, &["--mode", "fused", "-k", "4", "--offset", "2", query]), both[2..]);
    let found =
        folder.run(&["search", "shop.index", "--json", "--filter", "brand=brand 1", "--filter", "price:..20", query]);
    let lines = found.code(0).json_lines();
    let results = lines[0]["results"].as_array().unwrap();
    assert!(!results.is_empty());
    for found in results {
        assert_eq!(found["fields"]["brand"], "brand 1");
        assert!(found["fields"]["price"].as_str().unwrap().parse::<f64>().unwrap() <= 20.0);
    }
    let search = |more: &[&str]| folder.run(&[&["search", "shop.index"], more].concat());
    let plain = search(&["--json", query]).code(0).json_lines();
    assert!(plain[0]["results"][0]["fields"]["brand"].is_string(), "{}", plain[0]);
    search(&["--filter", "colour=red", query]).code(2).says("a stored field of the index (`brand`, `price`)");
    search(&["--filter", "brand", query]).code(2).says("field:value");
    let above = "expected a range whose first number is not above its last, found `price:20..10`";
    search(&["--filter", "price:20..10", query]).code(2).says(above).prints_nothing();
    search(&["--mode", "bm25", query])
        .code(2)
        .says("'--mode <MODE>': expected a mode (`vectors`, `words`, `trigrams`, `teacher`, `fused`)");
    search(&["--mode", "words", "zzzz"]).code(1).says("no title has any of these words");
    search(&["--mode", "words", "zzzz", "--offset", "5"]).code(1).says("no title has any of these words");
    search(&["--filter", "brand=none", query]).code(1).says("no title meets the conditions of --filter");
    let both = ["--mode", "words", "zzzz", "--filter", "brand=brand 1"];
    search(&both).code(1).says("no title that meets the conditions of --filter has any of these words");
    for mode in ["vectors", "words", "fused"] {
        search(&["--mode", mode, query, "--offset", "1000"]).code(1).says("the list ends before --offset 1000");
    }
}

#[test]
fn titles_are_added_replaced_and_deleted() {
    let folder = with_index();
    folder
        .write("new.tsv", "id\ttitle\tbrand\tprice\nn1\tgreen hammer of brass\tnew\t1\nt0010\tyellow drill\tnew\t2\n");
    folder.write("gone.txt", "t9998\nt0020\nt9999\nt9997\nt9996\n");
    let update = ["update", "shop.index", "--add", "new.tsv", "--delete", "gone.txt"];
    folder
        .run(&update)
        .code(0)
        .says("1 added, 1 replaced, 1 deleted; 144 titles")
        .says("4 ids to delete not in the index: `t9996`, `t9997`, `t9998` and 1 more\n");
    let check = || {
        assert_eq!(ids(&folder, &["--mode", "words", "-k", "1", "green hammer of brass"]), ["n1"]);
        let all = ids(&folder, &["-k", "1000", "hammer"]);
        assert!(all.len() == 144 && all.contains(&"n1".to_owned()) && !all.contains(&"t0020".to_owned()));
    };
    check();
    // What reads vectors alone finds all segments, without the titles that are gone.
    let told = folder.run(&["inspect", "--json", "shop.index"]).code(0).json_lines();
    assert_eq!(told[0]["titles"], 144);
    assert!(told[0]["files"].as_object().unwrap().contains_key("changes-000001/vectors.npy"));
    let ranked = folder.run(&["explain", "rank", "shop.index", "green hammer of brass", "--json"]);
    assert_eq!(ranked.code(0).json_lines()[0]["id"], "n1");
    folder.run(&["evaluate", "--judged", "judged.tsv", "--full", "shop.index"]).code(0);
    // Joining leaves out what updates have deleted.
    folder.run(&["index", "--join", "shop.index", "--output", "joined.index"]).code(0).says("144 titles");
    let exact = ids(&folder, &["--mode=vectors", "-k", "144", "red drill"]);
    folder.run(&["update", "shop.index", "--compact"]).code(0).says("merged 2 segments, removed 2 old titles");
    check();
    assert_eq!(ids(&folder, &["--mode=vectors", "-k", "144", "red drill"]), exact);
    folder.run(&["inspect", "shop.index"]).code(0);
    let line = folder.run(&["update", "shop.index", "--delete", "gone.txt", "--json"]).code(0).json_lines();
    assert_eq!((&line[0]["updated"]["deleted"], &line[0]["updated"]["missing"]), (&0.into(), &5.into()));
    folder.write("bad.tsv", "id\ttitle\nn2\tgreen\n");
    folder.run(&["update", "shop.index", "--add", "bad.tsv"]).code(2).says("`brand`");
    check();
}

#[test]
fn an_update_compacts_only_what_is_far_too_much() {
    let folder = with_index();
    let delete = |ids: std::ops::Range<usize>| {
        let lines = folder.read("stored.tsv");
        let ids: Vec<&str> = lines.lines().skip(1 + ids.start).take(ids.len()).map(|line| &line[..5]).collect();
        folder.write("gone.txt", ids.join("\n"));
        folder.run(&["update", "shop.index", "--delete", "gone.txt"]).code(0)
    };
    // A sixth, a quarter, more than half.
    let few = delete(0..24).stderr().to_owned();
    assert!(few.contains("24 deleted") && !few.contains("compact"), "{few}");
    delete(24..36).says("12 deleted").says("`clickvec update shop.index --compact` removes them");
    assert!(std::fs::exists(folder.path("shop.index/changes-000002.json")).unwrap());
    delete(36..80).says("44 deleted").says("compacted; merged 1 segment, removed 80 old titles");
    assert!(!std::fs::exists(folder.path("shop.index/changes-000003.json")).unwrap());
}

/// Another process may be compacting the index, which takes its time.
#[test]
fn changes_at_once_wait_for_each_other() {
    let folder = with_index();
    let children: Vec<_> = (0..6)
        .map(|number| {
            let name = format!("new{number}.tsv");
            folder.write(&name, format!("id\ttitle\tbrand\tprice\nn{number}\tgreen hammer of brass\tnew\t1\n"));
            let arguments: Vec<&str> = match number {
                3 => vec!["update", "shop.index", "--compact"],
                _ => vec!["update", "shop.index", "--add", &name],
            };
            let mut command = std::process::Command::new(program());
            command.args(arguments).current_dir(folder.path(".")).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let found = ids(&folder, &["-k", "1000", "green hammer of brass"]);
    assert!([0, 1, 2, 4, 5].iter().all(|number| found.contains(&format!("n{number}"))), "{found:?}");
}

/// However many columns a table of another form has, they can be stored.
#[test]
fn many_columns_are_stored() {
    let folder = Folder::with_model();
    let names: Vec<String> = (0..23).map(|number| format!("c{number}")).collect();
    let mut table = format!("sku,title,{}\n", names.join(","));
    let mut lines = String::new();
    for row in 0..40 {
        let values: Vec<String> = (0..23).map(|column| format!("v{row}-{column}")).collect();
        table += &format!("s{row},\"red hammer, {row}\",{}\n", values.join(","));
        let fields: Vec<String> =
            names.iter().zip(&values).map(|(name, value)| format!("\"{name}\":\"{value}\"")).collect();
        lines += &format!("{{\"sku\":\"s{row}\",\"title\":\"red hammer, {row}\",{}}}\n", fields.join(","));
        if row == 7 {
            table += "broken\n";
            lines += "{broken\n";
        }
    }
    folder.write("titles.csv", &table);
    folder.write("titles.jsonl", &lines);
    let all = names.join(",");
    let index = |titles: &str, store: &str, output: &str| {
        let arguments = ["index", "--model", "model.safetensors", "--columns", "id=sku", "--titles", titles];
        folder.run(&[&arguments[..], &["--store", store, "--output", output]].concat())
    };
    for (titles, output) in [("titles.csv", "csv.index"), ("titles.jsonl", "jsonl.index")] {
        index(titles, &all, output).code(0).says("skipped 1 broken line");
        let run = folder.run(&["search", output, "--json", "-k", "40", "--filter", "c22=v31-22", "hammer"]);
        let lines = run.code(0).json_lines();
        let found = &lines[0]["results"][0];
        assert_eq!((&found["id"], lines[0]["results"].as_array().unwrap().len()), (&"s31".into(), 1));
        for column in 0..23 {
            assert_eq!(found["fields"][format!("c{column}")], format!("v31-{column}"));
        }
        index(titles, &format!("{all},c23"), "none").code(2).says("expected a column `c23`");
    }
    let read = |name: &str| folder.read(&format!("{name}/titles.tsv"));
    assert_eq!(read("csv.index"), read("jsonl.index"));
    let piped = [
        &["index", "--model", "model.safetensors", "--columns", "id=sku", "--titles", "-"][..],
        &["--store", &all, "--output", "none"],
    ];
    folder.run_with(&piped.concat(), table).code(0).says("40 titles");
    assert_eq!(read("none"), read("csv.index"));
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

#[test]
fn indexes_that_are_joined_keep_their_form() {
    let folder = with_index();
    let (stored, model) = (folder.read("stored.tsv"), ["--model", "model.safetensors", "--store", "brand,price"]);
    let lines: Vec<&str> = stored.lines().collect();
    let half = |range: std::ops::Range<usize>| [&lines[..1], &lines[range]].concat().join("\n");
    for (name, titles, form) in
        [("one", half(1..70), "f16"), ("two", half(70..lines.len()), "f16"), ("other", half(70..lines.len()), "int8")]
    {
        folder.write("part.tsv", titles);
        let index = [&["index", "--titles", "part.tsv", "--vectors", form, "--output", name], &model[..]].concat();
        folder.run(&index).code(0);
    }
    let form =
        |name: &str| folder.run(&["inspect", "--json", name]).code(0).json_lines()[0]["parts"]["vectors"].clone();
    folder.run(&["index", "--join", "one", "two", "--output", "joined"]).code(0);
    assert_eq!(form("joined"), "f16");
    folder
        .run(&["index", "--join", "one", "other", "--output", "joined"])
        .code(2)
        .says("other: expected vectors")
        .says("or choose one");
    assert_eq!(form("joined"), "f16");
    folder.run(&["index", "--join", "one", "other", "--vectors", "int8", "--output", "joined"]).code(0);
    assert_eq!(form("joined"), "int8");
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
    folder.write("new.tsv", "id\ttitle\tbrand\tprice\nn0\tgreen hammer 0\tnew\t1\n");
    let update = ["update", "shop.index", "--add", "new.tsv"];
    let compact = ["update", "shop.index", "--compact"];
    let took = |arguments: &[&str]| {
        let started = std::time::Instant::now();
        folder.run(arguments).code(0);
        started.elapsed()
    };
    let usual = took(&update).min(took(&compact));
    let mut last = 0;
    let (mut killed_updates, mut killed_compactions) = (0, 0);
    for round in 1..=16u32 {
        folder.write("new.tsv", format!("id\ttitle\tbrand\tprice\nn0\tgreen hammer {round}\tnew\t1\n"));
        let arguments: &[&str] = if round % 4 == 0 { &compact } else { &update };
        // Compactions are killed after two to five eighths.
        let done = killed(&folder, arguments, usual * (1 + round % 5) / 8);
        let run = folder.run(&["search", "shop.index", "--mode", "words", "-k", "1", "--json", "green hammer"]);
        let found = run.code(0).json_lines();
        let title = found[0]["results"][0]["title"].as_str().unwrap();
        let now: u32 = title.rsplit(' ').next().unwrap().parse().unwrap();
        assert!(now == last || now == round, "{now} after {last} in round {round}");
        assert!(!done || round % 4 == 0 || now == round, "what was acknowledged is lost: {now} in round {round}");
        last = now;
        let killed = if round % 4 == 0 { &mut killed_compactions } else { &mut killed_updates };
        *killed += u32::from(!done);
    }
    assert!(
        killed_updates > 0 && killed_compactions > 0,
        "{killed_updates} updates and {killed_compactions} compactions"
    );
    // Nothing is in the way of the next change.
    folder.run(&update).code(0);
    folder.run(&compact).code(0);
    let left = std::fs::read_dir(folder.path("shop.index")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(left.iter().all(|name| !name.starts_with("changes-") && !name.starts_with(".clickvec")), "{left:?}");
}

/// Whatever a build that is killed leaves, the next one is not disturbed, and there is never half an index.
#[test]
#[ignore = "some seconds; .ci/run runs it"]
fn a_killed_first_build_leaves_no_index() {
    let folder = with_index();
    let index = [&INDEX[..8], &["new.index"]].concat();
    let started = std::time::Instant::now();
    folder.run(&index).code(0);
    let (usual, whole) = (started.elapsed(), folder.read("new.index/manifest.json"));
    let mut left = 0;
    for round in 0..12 {
        std::fs::remove_dir_all(folder.path("new.index")).unwrap();
        killed(&folder, &index, usual * round / 11);
        left += usize::from(!folder.path("new.index").exists());
        if folder.path("new.index").exists() {
            assert_eq!(folder.read("new.index/manifest.json"), whole, "half an index in round {round}");
        }
        folder.run(&index).code(0);
        assert_eq!(folder.read("new.index/manifest.json"), whole);
    }
    assert!(left > 0, "nothing was killed");
    let names = std::fs::read_dir(folder.path("")).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.iter().all(|name| !name.contains(".tmp") && !name.starts_with(".clickvec")), "{names:?}");
}

/// With too little memory a change fails, and what was there stays.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "some seconds; .ci/run runs it"]
fn little_memory_leaves_the_old_index() {
    let folder = with_index();
    let (mut last, mut failed, mut done) = (0, 0, 0);
    // In KiB, up to more than is needed; threads reserve some for their stacks.
    for step in 1..=24 {
        folder.write("new.tsv", format!("id\ttitle\tbrand\tprice\nn0\tgreen hammer {step}\tnew\t1\n"));
        let limit = step * 25_000;
        let run = |arguments: &str| {
            let script = format!("ulimit -v {limit}; exec {} {arguments}", program().display());
            // A list of what called what takes memory too; without it, the program waited for itself for ever.
            let mut command = std::process::Command::new("timeout");
            command.args(["60", "sh", "-c", &script]).current_dir(folder.path(".")).env("RUST_BACKTRACE", "1");
            let output = command.output().unwrap();
            assert_ne!(output.status.code(), Some(124), "{limit}: it never ends");
            output
        };
        // The system ends a program that does not fit itself, without a word of it.
        if !run("--version").status.success() {
            continue;
        }
        let output = run("update shop.index --add new.tsv");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.is_empty(), "{limit}: {:?}", output.status);
        let run = folder.run(&["search", "shop.index", "--mode", "words", "--json", "green hammer"]);
        let lines = run.code(0).json_lines();
        let results = lines[0]["results"].as_array().unwrap();
        let new = results.iter().find(|found| found["id"] == "n0");
        let now: u32 = new.map_or(0, |found| found["title"].as_str().unwrap()[13..].parse().unwrap());
        assert!(results.len() > 3 && (now == last || now == step), "{now} after {last} in step {step}: {said}");
        if output.status.success() {
            assert_eq!(now, step, "what was acknowledged is lost")
        } else {
            failed += 1
        }
        (last, done) = (now, done + u32::from(output.status.success()));
    }
    assert!(failed > 0 && done > 0, "{failed} failed, {done} done");
}

/// The text of tantivy's panic on damaged words is not shown: there is one message, and it says what to do.
#[test]
#[ignore = "some seconds; .ci/run runs it"]
fn damaged_words_are_told_in_one_line() {
    let folder = with_index();
    for entry in std::fs::read_dir(folder.path("shop.index/words")).unwrap() {
        let path = entry.unwrap().path();
        let good = std::fs::read(&path).unwrap();
        for place in (0..24).map(|part| good.len() * part / 24) {
            let mut bad = good.clone();
            if let Some(byte) = bad.get_mut(place) {
                *byte ^= 0xff;
            }
            std::fs::write(&path, &bad).unwrap();
            let run = folder.run(&["search", "shop.index", "--mode", "words", "red hammer"]);
            let said = run.stderr();
            assert!(!said.contains("panicked") && said.lines().count() <= 1, "{}: {said}", path.display());
        }
        std::fs::write(&path, &good).unwrap();
    }
}

/// A limit on the size of files acts like a full disk: writing fails in the middle.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_old_index() {
    let folder = with_index();
    let before = folder.read("shop.index/manifest.json");
    folder.write("new.tsv", folder.read("stored.tsv"));
    for (blocks, arguments) in [
        (0, "update shop.index --add new.tsv"),
        (1, "update shop.index --add new.tsv"),
        (8, "update shop.index --add new.tsv"),
        (4, "update shop.index --compact"),
        (16, "index --model model.safetensors --titles stored.tsv --store brand,price --output shop.index"),
    ] {
        let script = format!("ulimit -f {blocks}; exec {} {arguments}", program().display());
        let output =
            std::process::Command::new("sh").args(["-c", &script]).current_dir(folder.path(".")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{blocks} {arguments}: {said}");
        assert!(said.contains("cannot write") || said.contains("too large"), "{said}");
        assert_eq!(folder.read("shop.index/manifest.json"), before);
        assert_eq!(ids(&folder, &["--mode", "fused", "-k", "3", "red hammer"]).len(), 3);
    }
}

#[test]
fn vectors_in_fewer_bits() {
    let folder = with_index();
    let exact = ids(&folder, &["-k", "5", "red hammer"]);
    let bytes = |index: &str, file: &str| {
        let told = folder.run(&["inspect", "--json", index]).code(0).json_lines();
        told[0]["files"][file].as_u64()
    };
    let all = bytes("shop.index", "vectors.npy").unwrap();
    for form in ["f16", "int8"] {
        folder.run(&[&INDEX[..], &["--vectors", form]].concat()).code(0);
        let left = bytes("shop.index", "vectors.npy");
        assert_eq!(left.is_some(), form == "f16");
        assert!(left.unwrap_or(0) < all * 6 / 10);
        let found = ids(&folder, &["-k", "5", "red hammer"]);
        assert!(found.iter().filter(|id| exact.contains(id)).count() >= 3, "{form}: {found:?} {exact:?}");
        assert!(!ids(&folder, &["--mode", "fused", "red hammer"]).is_empty());
        folder.write("new.tsv", "id\ttitle\tbrand\tprice\nn1\tgreen hammer of brass\tnew\t1\n");
        folder.run(&["update", "shop.index", "--add", "new.tsv"]).code(0);
        assert!(ids(&folder, &["-k", "1000", "green hammer of brass"]).contains(&"n1".to_owned()), "{form}");
    }
    folder.run(&[&INDEX[..], &["--vectors", "int4"]].concat()).code(2).says("f32, f16 or int8");
}

#[test]
fn a_title_of_unknown_words_takes_the_place_of_another() {
    let folder = with_index();
    let [id] = ids(&folder, &["--mode", "fused", "-k", "1", "red hammer"]).try_into().unwrap();
    folder.write("new.tsv", format!("id\ttitle\tbrand\tprice\n{id}\tжжж\tnew\t1\nother\tззз\tnew\t1\n"));
    let update = ["update", "shop.index", "--add", "new.tsv"];
    folder.run(&update).code(0).says("2 titles found by words alone: the model knows none of their words");
    let found = ids(&folder, &["--mode", "fused", "-k", "1000", "red hammer"]);
    assert!(!found.contains(&id), "{found:?}");
    assert_eq!(ids(&folder, &["--mode", "fused", "жжж"]), [id]);
    let report = folder.run(&[&update[..], &["--json"]].concat()).code(0).json_lines();
    assert_eq!((&report[0]["updated"]["without_vector"], &report[0]["updated"]["replaced"]), (&2.into(), &2.into()));
}

/// Its new checksum would say that it is sound.
#[test]
fn a_damaged_index_is_not_compacted() {
    let folder = with_index();
    folder.write("gone.txt", "t0020\n");
    folder.run(&["update", "shop.index", "--delete", "gone.txt"]).code(0);
    let titles = folder.read("shop.index/titles.tsv");
    let at = titles.find("hammer").unwrap();
    folder.write("shop.index/titles.tsv", [&titles[..at], "hummer", &titles[at + 6..]].concat());
    folder.run(&["update", "shop.index", "--compact"]).code(2).says("titles.tsv");
    folder.run(&["inspect", "shop.index"]).code(1).prints("titles.tsv");
}

/// `.` is the index too: two names would be two locks.
#[test]
#[cfg(unix)]
fn an_index_is_changed_from_within() {
    let folder = with_index();
    folder.write("gone.txt", "t0020\n");
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(crate::harness::program());
        command.args(arguments).current_dir(folder.path("shop.index")).output().unwrap()
    };
    let held = clickvec_tables::files::Claim::new(&folder.path("shop.index")).unwrap();
    let mut waiting = std::process::Command::new(crate::harness::program());
    waiting.args(["update", ".", "--delete", "../gone.txt"]).current_dir(folder.path("shop.index"));
    let mut waiting = waiting.stderr(std::process::Stdio::null()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(waiting.try_wait().unwrap().is_none(), "it waits for whoever changes the index");
    drop(held);
    assert!(waiting.wait().unwrap().success());
    let compacted = run(&["update", ".", "--compact"]);
    assert!(compacted.status.success(), "{}", String::from_utf8_lossy(&compacted.stderr));
    folder.run(&["inspect", "shop.index"]).code(0);
}
