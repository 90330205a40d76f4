//! `clickvec explain`: the numbers of cells, and what is read as queries.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::harness::Folder;

const TOPICS: [&str; 7] = ["lab", "topics", "model.safetensors", "--file", "queries.txt", "--keyword", "threshold=0"];

#[test]
fn a_cell_has_the_same_number_in_text_and_json() {
    let folder = Folder::with_model();
    folder.write("queries.txt", "red hammer\nblue paint for kitchens\nwhite shelf\n");
    let numbers =
        |values: &[Value], key: &str| -> Vec<u64> { values.iter().map(|value| value[key].as_u64().unwrap()).collect() };
    // The first column of each row of a table in text.
    let column = |text: &str| -> Vec<u64> {
        text.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect()
    };
    let cells = numbers(&folder.run(&[&TOPICS[..], &["--json"]].concat()).code(0).json_lines(), "cell");
    let text = folder.run(&TOPICS).code(0).stdout();
    assert_eq!(column(&text)[..cells.len()], cells, "{text}");
    assert!(cells.iter().all(|cell| (1..=8).contains(cell)), "{cells:?}");
    let rows = folder.run(&[&TOPICS[..], &["--table", "20", "--json"]].concat()).code(0).json_lines();
    let in_rows: BTreeSet<u64> =
        rows.iter().flat_map(|row| numbers(row["cells"].as_array().unwrap(), "cell")).collect();
    assert!(cells.iter().all(|cell| in_rows.contains(cell)), "{in_rows:?} {cells:?}");

    let pair = ["explain", "match", "model.safetensors", "red hammer", "hammer in red"];
    let [found] = folder.run(&[&pair[..], &["--json"]].concat()).code(0).json_lines().try_into().unwrap();
    let model = &found["models"][0];
    let shared = model["shared"].as_array().unwrap();
    let text = folder.run(&pair).code(0).stdout();
    let units = column(text.split("\n\n").find(|part| part.contains("query word")).unwrap());
    assert_eq!(numbers(shared, "unit"), units, "{text}");
    // The first number of the shares is that of cell 1.
    for unit in shared {
        let place = unit["unit"].as_u64().unwrap() as usize - 1;
        assert_eq!(model["units"][place], unit["share"]);
    }
    let counts = &model["query"]["cells"][0];
    let active: Vec<u64> =
        counts["most_active"].as_array().unwrap().iter().map(|cell| cell.as_u64().unwrap()).collect();
    assert_eq!(active.iter().copied().collect::<BTreeSet<_>>(), (1..=8).collect(), "all 8 cells are among 10");
    assert!(counts["assigned"][1].as_array().unwrap().iter().all(|cell| active.contains(&cell.as_u64().unwrap())));
}

#[test]
fn a_table_is_not_explained_as_texts() {
    let folder = Folder::with_model();
    let csv = "query,title\nred hammer,hammer in red\n";
    for (name, table) in [("table.tsv", csv.replace(',', "\t")), ("table.csv", csv.to_owned())] {
        folder.write(name, &table);
        folder.write("queries.txt", &table);
        let said =
            ": expected texts, one a line, found a table with `query`, `title`; write its column of texts to a file";
        folder.run(&TOPICS).code(2).says(&format!("queries.txt{said}")).prints_nothing();
        let keywords = ["explain", "keywords", "model.safetensors", "--file"];
        folder.run(&[&keywords[..], &[name]].concat()).code(2).says(&format!("{name}{said}"));
        folder.run_with(&[&keywords[..], &["-"]].concat(), table).code(2).says(&format!("standard input{said}"));
    }
    folder.write("queries.txt", "{\"query\": \"red hammer\"}\n");
    folder.run(&TOPICS).code(2).says("found a table with `query`");
    // Words are words, with commas or not.
    for first in ["title, name", "title,name"] {
        folder.write("queries.txt", format!("{first}\nred hammer for kitchens\n"));
        folder.run(&TOPICS).code(0);
    }
}
