//! `clickvec compare`.

use crate::harness::Folder;

#[test]
fn differences_are_marked_and_the_most_changed_query_is_first() {
    let folder = Folder::with_index();
    let titles = folder.read("titles.tsv");
    // One title less, and one more that is found first.
    let first = folder.run(&["search", "shop.index", "--json", "-k", "1", "red hammer"]).code(0).json_lines();
    let gone = first[0]["results"][0]["id"].as_str().unwrap().to_owned();
    let left: String =
        titles.lines().filter(|line| !line.starts_with(&format!("{gone}\t"))).map(|l| format!("{l}\n")).collect();
    folder.write("fewer.tsv", left);
    let output = ["index", "--model", "model.safetensors", "--titles", "fewer.tsv", "--output", "fewer.index"];
    folder.run(&output).code(0);
    folder.write("queries.txt", "blue ladder\nred hammer\n");
    let compare = |before: &str, more: &[&str]| {
        folder.run(&[&["compare", before, "fewer.index", "--queries", "queries.txt"], more].concat())
    };
    let compared = compare("shop.index", &["--json"]).code(0).json_lines();
    assert_eq!((compared.len(), &compared[0]["query"]), (2, &"red hammer".into()));
    assert_eq!((&compared[0]["before"][0]["id"], &compared[0]["before"][0]["other"]), (&gone.into(), &().into()));
    assert_eq!((&compared[0]["before"][1]["other"], &compared[0]["correlation"]), (&1.into(), &1.0.into()));
    let text = compare("shop.index", &["--html", "page.html"]).code(0).stdout();
    assert!(text.contains("fewer.index compared with shop.index: ") && text.contains("\nred hammer "), "{text}");
    let page = folder.read("page.html");
    assert!(page.contains("<b>gone</b>") && page.contains("↑1"), "{page}");
    let same = compare("fewer.index", &[]).code(0).stdout();
    assert!(same.contains("2 of 2 queries find the same titles in the same order; on average 100.0 %"), "{same}");
    folder.write("none.txt", "\n");
    folder
        .run(&["compare", "shop.index", "fewer.index", "--queries", "none.txt"])
        .code(2)
        .says("expected queries, found none");
}
