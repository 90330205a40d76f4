//! The parts that only pages about models have: the switch of the heat maps, and a small script that
//! shows the value under the pointer. The pages can be read without the script.

use maud::{Markup, PreEscaped, html};

use crate::page;

/// The styles that these pages add to those of all pages, with the colours of heat maps.
pub const STYLE: &str = include_str!("explanation.css");
const SCRIPT: &str = include_str!("explanation.js");

/// Returns a page with these contents. `has_heat` says whether there are heat maps, which need a switch.
pub fn page(title: &str, has_heat: bool, contents: &Markup) -> String {
    let body = html! {
        @if has_heat { input #own type="checkbox" aria-label="give each heat map its own colour range"; }
        main {
            h1 { (title) }
            (contents)
        }
        script { (PreEscaped(SCRIPT)) }
    };
    page::page(title, STYLE, &body)
}

/// Returns the switch that gives each heat map its own colour range instead of a common one.
pub fn switch() -> Markup {
    html! { label.switch for="own" { "give each heat map its own colour range" } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_needs_nothing_from_outside_and_no_script_to_be_read() {
        let page = page("<Why>", true, &html! { p { "</script>" } (switch()) });
        for outside in ["http:", "https:", "src=", "@import", "url(", "<Why>"] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert_eq!(page.matches("</script>").count(), 1, "a text cannot end the script");
        let (before, _) = page.split_once("<script>").expect("a script");
        assert!(before.contains("<main>") && before.ends_with("</main>"), "the page is complete before the script");
    }
}
