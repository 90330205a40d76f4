//! The frame of every HTML page: one file that needs nothing else, light or dark as the reader's system is, and fit to
//! print.

use maud::{Markup, PreEscaped, Render, html};

/// What all pages look like.
const STYLE: &str = include_str!("page.css");

/// A whole page; `style` is what it adds to the look of all.
pub(crate) fn page(title: &str, style: &'static str, body: &Markup) -> String {
    let page = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(style)) }
            }
            body { (body) }
        }
        (PreEscaped("\n"))
    };
    page.into_string()
}

/// A table of rows; the columns from `numbers_from` on are numbers.
pub(crate) fn table<T: Render>(head: &[&str], numbers_from: usize, rows: &[Vec<T>]) -> Markup {
    html! {
        div.wide {
            table {
                @if !head.is_empty() {
                    thead { tr { @for (place, cell) in head.iter().enumerate() { th.n[place >= numbers_from] { (cell) } } } }
                }
                tbody {
                    @for row in rows {
                        tr { @for (place, cell) in row.iter().enumerate() { td.n[place >= numbers_from] { (cell) } } }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_from_outside_are_escaped() {
        let rows = [vec!["<b>".to_owned(), "\"&".to_owned()]];
        let body = html! { p title=("\"><script>") { ("</script>") } (table(&["<i>", "n"], 1, &rows)) };
        let page = page("</title><script>", "", &body);
        assert!(page.starts_with("<!doctype html>\n<html lang=\"en\">") && page.ends_with("</html>\n"), "{page}");
        for hostile in ["<script", "</script", "<b>", "<i>"] {
            assert!(!page.contains(hostile), "{hostile} in {page}");
        }
        assert!(page.contains("<td class=\"\">&lt;b&gt;</td><td class=\"n\">&quot;&amp;</td>"), "{page}");
    }
}
