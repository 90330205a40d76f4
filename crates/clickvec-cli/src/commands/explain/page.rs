//! The frame of every page: one file, no network, readable without script, light and dark.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::heat;

const STYLE: &str = "\
:root{color-scheme:light dark;--back:#fff;--ink:#1b1b1b;--soft:#5b5b5b;--line:#d5d5d5;--mark:#0b57d0}\
@media(prefers-color-scheme:dark){:root{--back:#161616;--ink:#ececec;--soft:#a8a8a8;--line:#3c3c3c;--mark:#8ab4f8}}\
body{background:var(--back);color:var(--ink);font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:72rem;padding:1rem}\
h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2.2rem;border-top:1px solid var(--line);padding-top:1rem}\
h3{font-size:1rem;margin-bottom:.2rem}p{max-width:46rem}.soft{color:var(--soft)}\
.wide{overflow-x:auto}table{border-collapse:collapse;margin:.5rem 0}\
th,td{padding:.15rem .6rem;text-align:start;border-bottom:1px solid var(--line);unicode-bidi:plaintext}\
th{font-weight:600}td.n,th.n{text-align:end;font-variant-numeric:tabular-nums}\
.text{unicode-bidi:plaintext}b.key{text-decoration:underline;text-decoration-color:var(--mark);text-decoration-thickness:2px}\
.bar{display:inline-block;height:.6em;background:var(--mark);vertical-align:middle}.bar.minus{background:none;outline:1px solid var(--mark)}\
svg.heat{display:block;shape-rendering:crispEdges}svg text{fill:var(--ink);font:11px system-ui,sans-serif;text-rendering:auto}\
svg text.unit{text-anchor:end;fill:var(--soft);font-size:9px}svg rect.empty{fill:none;stroke:var(--line)}\
.own,.own-legend{display:none}#own:checked~main .own,#own:checked~main .own-legend{display:revert}#own:checked~main .common{display:none}\
.legend{display:flex;gap:.5rem;align-items:center;margin:.2rem 0}label.switch{display:inline-block;margin:.5rem 0;cursor:pointer}\
.panels{display:flex;flex-wrap:wrap;gap:1rem}details>summary{cursor:pointer}";

/// A page around its contents. `heat` says whether there are heat maps, which have a switch.
pub(super) fn page(title: &str, has_heat: bool, contents: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(heat::styles())) }
            }
            body {
                h1 { (title) }
                @if has_heat {
                    input #own type="checkbox";
                    label.switch for="own" { " each heat map in its own range of colours" }
                }
                main { (contents) }
            }
        }
    }
}

/// A share as a bar and a number: filled above zero, an outline below.
pub(super) fn share(value: f64, largest: f64) -> Markup {
    let width = if largest > 0.0 { (value.abs() / largest * 4.0 * 100.0).round() / 100.0 } else { 0.0 };
    html! {
        td.n { (format!("{value:+.3}")) }
        td { span.bar.minus[value < 0.0] style={ "width:" (width) "em" } {} }
    }
}
