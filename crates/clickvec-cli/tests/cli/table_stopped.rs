//! `clickvec lab table`, stopped and started again.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

use crate::harness::{DATA, Folder, SMALL, program, row, small_row};

/// The processes whose command line has this text.
#[cfg(target_os = "linux")]
fn processes_of(text: &str) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let has = |id: &u32| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").contains(text)
    };
    all.filter(has).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn a_table_that_is_killed_leaves_no_training_behind() {
    let folder = Folder::with_data();
    folder.write("spec.toml", row("a", ENDLESS));
    let cache = folder.path("own.cache").display().to_string();
    let spec = folder.path("spec.toml");
    let mut table = std::process::Command::new(program());
    table.args(["lab", "table"]).arg(&spec).args([
        "--judged",
        "judged.tsv",
        "--clicks",
        "clicks.tsv",
        "--cache",
        &cache,
    ]);
    table.current_dir(folder.path("")).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut table = table.spawn().unwrap();
    let has_trained = || {
        let mut models = std::fs::read_dir(folder.path("own.cache/models")).into_iter().flatten().flatten();
        models.any(|entry| entry.path().extension().is_some_and(|extension| extension == "json"))
    };
    until(has_trained, "no epoch was finished");
    assert_eq!(processes_of(&cache), [table.id()], "it trains in a process of its own");
    // Like `kill -9`: the table cannot react.
    table.kill().unwrap();
    table.wait().unwrap();
    until(|| processes_of(&cache).is_empty(), "the training goes on");
    // The next table removes what this one was writing.
    folder.write("own.cache/models/.clickvec-x.json-1.tmp", "half");
    folder.write("spec.toml", row("a", "ranker = \"bm25\""));
    folder
        .run(&["lab", "table", "spec.toml", "--judged", "judged.tsv", "--clicks", "clicks.tsv", "--cache", &cache])
        .code(0);
    let names = |place: &str| -> Vec<String> {
        let entries = std::fs::read_dir(folder.path(place)).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let all = [names("own.cache"), names("own.cache/models")].concat();
    assert!(!all.iter().any(|name| name.starts_with(".clickvec-")), "{all:?}");
}

/// Waits until `done` is true.
#[track_caller]
fn until(done: impl Fn() -> bool, what: &str) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed().as_secs() < 60, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Every finished point and model in the cache, with the time it was written.
fn finished(folder: &Folder) -> BTreeMap<String, SystemTime> {
    let of = |place: &str| -> Vec<(String, SystemTime)> {
        let Ok(entries) = std::fs::read_dir(folder.path(place)) else { return Vec::new() };
        // A file that is renamed while the folder is read will be found under its new name next time.
        let whole = entries.filter_map(|entry| {
            let entry = entry.unwrap();
            let about = entry.metadata().ok().filter(|about| about.is_file())?;
            Some((format!("{place}/{}", entry.file_name().display()), about.modified().unwrap()))
        });
        whole.collect()
    };
    let all = of("spec.cache").into_iter().chain(of("spec.cache/models"));
    let is_whole = |name: &str| !name.starts_with("spec.cache/lock") && !name.contains(".clickvec-");
    all.filter(|(name, _)| (name.ends_with(".json") || name.ends_with(".safetensors")) && is_whole(name)).collect()
}

/// Changes a stored value in a file of the cache, with a matching checksum.
fn edit_kept(folder: &Folder, name: &str, change: impl Fn(&mut Value)) {
    let mut kept: Value = serde_json::from_str(&folder.read(name)).unwrap();
    change(&mut kept["value"]);
    let value = kept["value"].to_string();
    let checksum = xxhash_rust::xxh3::xxh3_128(value.as_bytes());
    folder.write(name, format!("{{\"checksum\":\"{checksum:032x}\",\"value\":{value}}}"));
}

#[test]
fn scores_that_were_changed_are_made_again_and_that_is_said() {
    let folder = Folder::with_data();
    folder.write("spec.toml", format!("{DATA}{}", row("a", "ranker = \"bm25\"")));
    let expected = report(&folder);
    let names: Vec<String> = finished(&folder).into_keys().collect();
    let point = names.iter().find(|name| name.ends_with("-scores.json")).unwrap();
    let whole = folder.read(point);
    // Negated scores, as valid as the originals.
    let negated = whole.replace("[[", "[[-").replace(",[", ",[-").replace("--", "");
    assert_ne!(negated, whole);
    folder.write(point, negated);
    let run =
        folder.run(&["lab", "table", "spec.toml", "--json"]).code(0).says("-scores.json: this cached file is damaged");
    // The judged queries of this folder are also clicked, which is said each time.
    let said = run.stderr().lines().filter(|line| !line.contains("are also in clicks.tsv")).count();
    assert_eq!(said, 1, "{}", run.stderr());
    assert!(!folder.read(point).contains("[[-"));
    assert_eq!(report(&folder), expected);
    // A ranker of another training under its name, equally valid.
    let model = names.iter().find(|name| name.ends_with(".safetensors")).unwrap();
    folder.write("other.tsv", "id\ttitle\n1\tred hammer\n");
    let other = ["--titles=other.tsv", "bm25", "--save-rankers=other"];
    folder.run(&[&["evaluate", "--judged=judged.tsv"], &other[..]].concat()).code(0);
    std::fs::copy(folder.path("other/bm25.safetensors"), folder.path(model)).unwrap();
    std::fs::remove_file(folder.path(point)).unwrap();
    folder.run(&["lab", "table", "spec.toml", "--json"]).code(0).says(".safetensors: this cached file is damaged");
    assert_eq!(report(&folder), expected);
}

/// The output of the table, except for times and memory.
fn report(folder: &Folder) -> Value {
    let [mut report] = folder.run(&["lab", "table", "spec.toml", "--json"]).code(0).json_lines().try_into().unwrap();
    for system in report["systems"].as_array_mut().unwrap() {
        system["train_seconds"] = 0.into();
        system["peak_bytes"] = 0.into();
    }
    report
}

/// A training that takes until it is killed.
const ENDLESS: &str = "train = { encoder.cells = 8, batch_size = 8, epochs = 1000000 }";

#[test]
#[cfg(target_os = "linux")]
fn a_table_that_is_interrupted_keeps_what_is_finished_and_says_so() {
    let folder = Folder::with_data();
    folder.write("spec.toml", format!("{DATA}{}{}", row("first", "ranker = \"bm25\""), row("a", ENDLESS)));
    let mut table = std::process::Command::new(program());
    table.args(["lab", "table", "spec.toml"]).current_dir(folder.path(""));
    table.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let table = table.spawn().unwrap();
    let trainings = || {
        let names = finished(&folder).into_keys();
        names.filter(|name| name.starts_with("spec.cache/models/") && name.ends_with(".json")).count()
    };
    until(|| trainings() == 2, "the last training was not started");
    let interrupted = std::process::Command::new("kill").args(["-INT", &table.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    let output = table.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(output.stdout.is_empty() && stderr.contains("stopping; the same command resumes"), "{stderr}");
    let models = std::fs::read_dir(folder.path("spec.cache/models")).unwrap();
    let names: Vec<String> = models.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.iter().any(|name| name.ends_with(".checkpoint")), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with(".clickvec-")), "{names:?}");
    folder.write("spec.toml", format!("{DATA}{}", row("first", "ranker = \"bm25\"")));
    let kept = finished(&folder);
    folder.run(&["lab", "table", "spec.toml"]).code(0);
    assert_eq!(finished(&folder), kept);
}

#[test]
fn a_table_that_was_killed_goes_on_with_the_same_rows() {
    let first = [
        row("BM25", "ranker = \"bm25\"\ngrid = { k1 = [0.5, 2] }"),
        row("PLSA", "ranker = \"plsa:topics=4\"\ngrid = { lambda = [0.3, 0.7] }"),
        small_row("small", "", ""),
    ];
    let last =
        [small_row("gamma", ", loss.gamma = 5", ""), row("all", "fusion = [\"BM25\", \"PLSA\", \"small\", \"gamma\"]")];
    let spec = |between: &str| format!("{DATA}{}{between}{}", first.concat(), last.concat());
    let undisturbed = Folder::with_data();
    undisturbed.write("spec.toml", spec(""));
    let expected = report(&undisturbed);

    let folder = Folder::with_data();
    folder.write("spec.toml", spec(&row("endless", ENDLESS)));
    let mut table = std::process::Command::new(program());
    table.args(["lab", "table", "spec.toml"]).current_dir(folder.path(""));
    table.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut table = table.spawn().unwrap();
    // The endless training has finished an epoch: it stores its progress next to the model, which does not exist yet.
    let trainings = |ending: &str| {
        let names = finished(&folder).into_keys();
        names.filter(|name| name.starts_with("spec.cache/models/") && name.ends_with(ending)).count()
    };
    until(|| trainings(".json") == 4, "the last training was not started");
    table.kill().unwrap();
    table.wait().unwrap();
    assert_eq!(trainings(".safetensors"), 3, "BM25, PLSA and the small model");
    let kept = finished(&folder);
    let is_endless = |name: &String| {
        name.starts_with("spec.cache/models/") && !kept.contains_key(&name.replace(".json", ".safetensors"))
    };
    let before: BTreeMap<&String, &SystemTime> = kept.iter().filter(|(name, _)| !is_endless(name)).collect();
    // Two points of BM25, two of PLSA, one of the small model; three models, each with its times.
    assert_eq!((before.len(), kept.len()), (5 + 6, 5 + 6 + 1), "{kept:?}");

    folder.write("spec.toml", spec(""));
    let found = report(&folder);
    assert_eq!(found, expected);
    let after = finished(&folder);
    for (name, written) in before {
        assert_eq!(after.get(name), Some(written), "{name} was made again");
    }
    // One point and a model with its times for `gamma`, and two folds of the fusion.
    assert_eq!(after.len() - kept.len(), 3 + 2, "{after:?}");
    // Once more nothing is new.
    assert_eq!(report(&folder), expected);
    assert_eq!(finished(&folder), after);
}

#[test]
#[ignore = "slow; .ci/run runs it"]
fn a_training_that_was_killed_goes_on_at_its_last_checkpoint() {
    let spec = DATA.to_owned() + &row("a", "train = { encoder.cells = 16, batch_size = 8, epochs = 300 }");
    let models = |folder: &Folder, ending: &str| -> Vec<std::path::PathBuf> {
        let Ok(entries) = std::fs::read_dir(folder.path("spec.cache/models")) else { return Vec::new() };
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.to_string_lossy().ends_with(ending)).collect()
    };
    let undisturbed = Folder::with_data();
    undisturbed.write("spec.toml", &spec);
    undisturbed.run(&["lab", "table", "spec.toml"]).code(0);
    let [expected] = models(&undisturbed, ".safetensors").try_into().unwrap();

    // Killed at the first of two checkpoints; repeated if the kill came too late.
    let killed = || {
        let folder = Folder::with_data();
        folder.write("spec.toml", &spec);
        let mut table = std::process::Command::new(program());
        table.args(["lab", "table", "spec.toml"]).current_dir(folder.path(""));
        table.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut table = table.spawn().unwrap();
        while models(&folder, ".checkpoint").is_empty() && table.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = table.kill();
        table.wait().unwrap();
        (models(&folder, ".safetensors").is_empty() && !models(&folder, ".checkpoint").is_empty()).then_some(folder)
    };
    for damaged in [false, true] {
        let folder = (0..10).find_map(|_| killed()).expect("no kill came before the end");
        let [checkpoint] = models(&folder, ".checkpoint").try_into().unwrap();
        if damaged {
            let whole = std::fs::read(&checkpoint).unwrap();
            std::fs::write(&checkpoint, &whole[..whole.len() / 2]).unwrap();
        }
        let run = folder.run(&["lab", "table", "spec.toml"]).code(0);
        assert_eq!(run.stderr().contains("this cached file is damaged"), damaged, "{}", run.stderr());
        let [model] = models(&folder, ".safetensors").try_into().unwrap();
        assert!(std::fs::read(model).unwrap() == std::fs::read(&expected).unwrap());
        assert!(models(&folder, ".checkpoint").is_empty());
    }
}

#[test]
fn a_model_whose_log_was_not_looked_at_again_is_trained_anew() {
    let folder = Folder::with_data();
    folder.write("spec.toml", DATA.to_owned() + &small_row("a", "", ""));
    let expected = report(&folder);
    let kept = || {
        let names: Vec<String> = finished(&folder).into_keys().collect();
        let with = |start: &str, ending: &str| {
            let mut of = names.iter().filter(|name| name.starts_with(start) && name.ends_with(ending));
            of.next().unwrap_or_else(|| panic!("no {start}*{ending} in {names:?}")).clone()
        };
        [
            with("spec.cache/models/", ".safetensors"),
            with("spec.cache/models/", ".json"),
            with("spec.cache/", "-scores.json"),
        ]
    };
    let [model, training, point] = kept();
    let bytes = std::fs::read(folder.path(&model)).unwrap();
    // The state after the log changed while it was read and the table was killed right after training.
    let clicks = folder.read("clicks.tsv").replace("red hammer\t", "red ladder\t");
    folder.write("other.tsv", clicks);
    folder.run(&[&["train", "--clicks=other.tsv", "--output=other.safetensors"], &SMALL[..]].concat()).code(0);
    std::fs::copy(folder.path("other.safetensors"), folder.path(&model)).unwrap();
    edit_kept(&folder, &training, |training| {
        assert!(training["fingerprint"].is_string(), "{training}");
        training["fingerprint"] = Value::Null;
    });
    std::fs::remove_file(folder.path(&point)).unwrap();

    assert_eq!(report(&folder), expected);
    assert!(std::fs::read(folder.path(&model)).unwrap() == bytes, "not the model of this log");
    assert_eq!(kept(), [model, training, point]);
}
