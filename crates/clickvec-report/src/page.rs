//! The frame of every HTML page: a self-contained file, light or dark like the reader's system, and fit for printing.

use maud::{Markup, PreEscaped, html};

/// The style of all pages.
const STYLE: &str = include_str!("page.css");

/// Returns a complete page. `style` is added to the style of all pages.
pub fn page(title: &str, style: &'static str, body: &Markup) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Column, Table};

    #[test]
    fn texts_from_outside_are_escaped() {
        let mut table = Table::new([Column::text("<i>"), Column::number("n")]);
        table.add(["<b>".into(), "\"&".into()]);
        let body = html! { p title=("\"><script>") { ("</script>") } (table.to_markup()) };
        let page = page("</title><script>", "", &body);
        assert!(page.starts_with("<!doctype html>\n<html lang=\"en\">") && page.ends_with("</html>\n"), "{page}");
        for hostile in ["<script", "</script", "<b>", "<i>"] {
            assert!(!page.contains(hostile), "{hostile} in {page}");
        }
        assert!(page.contains("<td class=\"\">&lt;b&gt;</td><td class=\"n\">&quot;&amp;</td>"), "{page}");
    }
}
