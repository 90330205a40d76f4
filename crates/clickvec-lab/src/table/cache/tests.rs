//! Tests of the cache of a table.

use super::*;

fn open(folder: &Path) -> Cache {
    Cache::open(folder, &std::env::current_exe().unwrap()).unwrap()
}

#[test]
fn whatever_is_damaged_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let mut cache = open(&folder.path().join("cache"));
    let judgments = Judgments::default();
    let training = TrainingFacts { seconds: 1.5, losses: vec![0.25, 0.125], ..TrainingFacts::default() };
    let found = vec![vec![(7, 0.25f32.to_bits())], Vec::new()];
    let parameters = "bm25".to_owned();
    let point =
        Point { parameters, scores: Vec::new(), training, score_seconds: 0.5, bytes: 1234, weights: None, found };
    cache.put("a", &point).unwrap();
    assert_eq!(cache.get("a", &judgments).as_ref(), Some(&point));
    assert_eq!(cache.get("b", &judgments), None);
    assert!(cache.take_damaged().is_empty());
    let path = cache.file("a");
    let whole = std::fs::read(&path).unwrap();
    // Every byte matters, wherever the file is cut.
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        for bytes in [&damaged[..], &whole[..at]] {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(cache.get("a", &judgments), None, "{}", String::from_utf8_lossy(bytes));
            assert_eq!(cache.take_damaged(), std::slice::from_ref(&path));
        }
    }
    // Another number that is as valid as the first.
    std::fs::write(&path, String::from_utf8(whole).unwrap().replace("1234", "-234")).unwrap();
    assert_eq!(cache.get("a", &judgments), None);
}

#[test]
fn a_killed_tables_temporary_files_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    drop(open(&cache));
    let left = [cache.join(".clickvec-a.json-123.tmp"), cache.join("models/.clickvec-b.safetensors-4.tmp")];
    left.iter().for_each(|path| std::fs::write(path, "half").unwrap());
    std::fs::write(cache.join("models/mine"), "").unwrap();
    drop(open(&cache));
    assert!(left.iter().all(|path| !path.exists()) && cache.join("models/mine").exists());
}

#[test]
fn another_program_file_role_or_parameter_is_another_point() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (name, bytes) in [("judged", "a"), ("same", "a"), ("other", "b")] {
        std::fs::write(path(name), bytes).unwrap();
    }
    let mut cache = open(&path("cache"));
    let mut key = |program: &str, files: &[(&str, Option<&str>)], more: &[&str]| {
        cache.program = program.to_owned();
        let files: Vec<(&str, Option<PathBuf>)> = files.iter().map(|(role, name)| (*role, name.map(path))).collect();
        let files: Vec<(&str, Option<&Path>)> = files.iter().map(|(role, path)| (*role, path.as_deref())).collect();
        cache.key(&files, more).unwrap()
    };
    let judged = [("judged", Some("judged"))];
    let first = key("1 avx2", &judged, &["title", "bm25", "k1=0.9"]);
    // The name of a file does not matter, only its contents.
    assert_eq!(first, key("1 avx2", &[("judged", Some("same")), ("clicks", None)], &["title", "bm25", "k1=0.9"]));
    let all = [
        key("2 avx2", &judged, &["title", "bm25", "k1=0.9"]),
        key("1 plain", &judged, &["title", "bm25", "k1=0.9"]),
        key("1 avx2", &[("judged", Some("other"))], &["title", "bm25", "k1=0.9"]),
        key("1 avx2", &[("clicks", Some("judged"))], &["title", "bm25", "k1=0.9"]),
        key("1 avx2", &[judged[0], ("clicks", Some("judged"))], &["title", "bm25", "k1=0.9"]),
        key("1 avx2", &judged, &["title", "bm25", "k1=1"]),
        key("1 avx2", &judged, &["body", "bm25", "k1=0.9"]),
        key("1 avx2", &judged, &["title", "bm25"]),
        first,
    ];
    let distinct: std::collections::HashSet<&String> = all.iter().collect();
    assert_eq!(distinct.len(), all.len(), "{all:?}");
}

#[test]
fn this_program_and_what_lies_in_a_folder_count() {
    let folder = tempfile::tempdir().unwrap();
    let mut cache = open(&folder.path().join("cache"));
    let program = cache.hash_of(&std::env::current_exe().unwrap()).unwrap();
    assert!(cache.program.starts_with(&program), "{}", cache.program);
    assert!(cache.program.ends_with(Level::current().name()), "{}", cache.program);
    let encoder = |name: &str, files: &[(&str, &str)]| {
        let encoder = folder.path().join(name);
        std::fs::create_dir(&encoder).unwrap();
        files.iter().for_each(|(file, bytes)| std::fs::write(encoder.join(file), bytes).unwrap());
        encoder
    };
    let all = [
        encoder("a", &[("x", "1"), ("y", "2")]),
        encoder("b", &[("x", "1"), ("y", "3")]),
        encoder("c", &[("x", "1"), ("z", "2")]),
        encoder("d", &[("x", "1")]),
    ];
    let hashes: std::collections::HashSet<String> = all.iter().map(|path| cache.hash_of(path).unwrap()).collect();
    assert_eq!(hashes.len(), 4);
    let again = encoder("e", &[("y", "2"), ("x", "1")]);
    assert_eq!(cache.hash_of(&again).unwrap(), cache.hash_of(&all[0]).unwrap());
    // Files further down count too, but not the cache itself.
    let [deep, deeper] = ["f", "g"].map(|name| encoder(name, &[("x", "1"), ("y", "2")]));
    for (folder, text) in [(&deep, "3"), (&deeper, "4")] {
        std::fs::create_dir(folder.join("below")).unwrap();
        std::fs::write(folder.join("below/z"), text).unwrap();
    }
    let hashes = [&all[0], &deep, &deeper].map(|path| cache.hash_of(path).unwrap());
    assert!(hashes[0] != hashes[1] && hashes[1] != hashes[2], "{hashes:?}");
    let with_cache = folder.path();
    cache.hash_of(with_cache).unwrap();
    std::fs::write(with_cache.join("cache/models/x"), "new").unwrap();
    cache.refuse_changed(&[("load", Some(with_cache))]).unwrap();
    std::fs::write(deeper.join("below/z"), "5").unwrap();
    cache.refuse_changed(&[("load", Some(with_cache))]).unwrap_err();
}

#[test]
fn a_file_that_changes_is_told_and_one_that_is_written_alike_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let clicks = folder.path().join("clicks.tsv");
    std::fs::write(&clicks, "a").unwrap();
    let mut cache = open(&folder.path().join("cache"));
    let files = [("clicks", Some(clicks.as_path())), ("titles", None)];
    cache.key(&files, &[]).unwrap();
    cache.refuse_changed(&files).unwrap();
    let later = SystemTime::now() + std::time::Duration::from_secs(60);
    let write = |text: &str| {
        std::fs::write(&clicks, text).unwrap();
        File::options().write(true).open(&clicks).unwrap().set_modified(later).unwrap();
    };
    write("a");
    cache.refuse_changed(&files).unwrap();
    write("b");
    let error = cache.refuse_changed(&files).unwrap_err().to_string();
    assert!(error.contains("clicks.tsv: expected it to stay as it is"), "{error}");
    std::fs::remove_file(&clicks).unwrap();
    cache.refuse_changed(&files).unwrap_err();
}
