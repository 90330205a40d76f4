//! The sheet as a page that is filled in by keyboard and saves itself as a table.

use anyhow::{Context, Result};
use maud::{PreEscaped, html};
use xxhash_rust::xxh3::Xxh3;

use super::Row;
use crate::page;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The whole page, which saves the filled sheet under the name `file`.
pub(super) fn page(rows: &[Row], file: &str) -> Result<String> {
    let data: Vec<[&str; 3]> =
        rows.iter().map(|row| [row.query.as_str(), row.id.as_str(), row.title.as_str()]).collect();
    let mut name = Xxh3::new();
    for text in data.iter().flatten() {
        name.update(text.as_bytes());
        name.update(b"\n");
    }
    // In a script `<` could begin an end tag.
    let json = serde_json::to_string(&data).context("cannot write the sheet")?.replace('<', "\\u003c");
    let body = html! {
        main {
            header {
                h1 { "How well does each title answer the query?" }
                p.keys {
                    kbd { "4" } " perfect " kbd { "3" } " excellent " kbd { "2" } " good " kbd { "1" } " fair " kbd { "0" } " bad · "
                    kbd { "↑" } kbd { "↓" } " move · " kbd { "space" } " leave open · " kbd { "u" } " undo · " kbd { "s" } " save"
                }
                progress #done max=(rows.len()) value="0" aria-label="titles judged" {}
                p #count role="status" {}
            }
            section #sheet aria-label="titles to judge" {}
            p { button #save type="button" { "Save the sheet" } " Grades are also kept in this browser until you save them." }
            noscript { "This page needs JavaScript; fill in the table instead." }
        }
        script #data type="application/json" data-name=(format!("{:016x}", name.digest())) data-file=(file) { (PreEscaped(json)) }
        script { (PreEscaped(SCRIPT)) }
    };
    Ok(page::page("Judge titles", STYLE, &body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_cannot_end_the_script() {
        let row = |title: &str| Row { query: "q".to_owned(), id: "1".to_owned(), title: title.to_owned() };
        let page = page(&[row("</script><script>alert(1)</script>"), row("\"é & 'b'")], "judged-\">.tsv").unwrap();
        assert_eq!(page.matches("</script>").count(), 2);
        assert!(page.contains("[\"q\",\"1\",\"\\u003c/script>\\u003cscript>alert(1)\\u003c/script>\"]"), "{page}");
        assert!(page.contains("data-file=\"judged-&quot;&gt;.tsv\""), "{page}");
    }
}
