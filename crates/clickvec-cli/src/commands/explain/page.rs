//! What the pages of explanations have besides the frame of all pages: heat maps with their switch, bars for shares, and
//! a small script that says what the mouse points at. Without the script they can be read all the same.

use maud::{Markup, PreEscaped, html};

use crate::page;

/// What these pages add to the look of all, with the colours of heat maps.
pub(super) const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// A page around its contents. `has_heat` says whether there are heat maps, which have a switch.
pub(super) fn page(title: &str, has_heat: bool, contents: &Markup) -> String {
    let body = html! {
        @if has_heat { input #own type="checkbox" aria-label="each heat map in its own range of colours"; }
        main {
            h1 { (title) }
            (contents)
        }
        script { (PreEscaped(SCRIPT)) }
    };
    page::page(title, STYLE, &body)
}

/// What gives each heat map its own range of colours, or all of them one.
pub(super) fn switch() -> Markup {
    html! { label.switch for="own" { "each heat map in its own range of colours" } }
}

/// A share as a number and a bar: filled above zero, an outline below.
pub(super) fn share(value: f64, largest: f64) -> Markup {
    let width = if largest > 0.0 { (value.abs() / largest * 4.0 * 100.0).round() / 100.0 } else { 0.0 };
    html! {
        td.n { (format!("{value:+.3}")) }
        td.share { @if width >= 0.01 { span.bar.minus[value < 0.0] style={ "width:" (width) "em" } {} } }
    }
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
        assert_eq!(page.matches("</script>").count(), 1, "what a text says ends no script");
        let (before, _) = page.split_once("<script>").expect("a script");
        assert!(before.contains("<main>") && before.ends_with("</main>"), "all is there before the script");
    }
}
