//! The ranking of titles for a terminal.

use std::fmt::Write as _;

use super::{Gap, GapOfPart, Placed, Ranked, RankedBy};
use crate::{aligned, output};

/// The text of a table's cell for a word of the query and one title.
type WordCell<'a> = &'a dyn Fn(&Placed, usize) -> String;

/// The titles, what each word adds, and why each title ranks above the next.
pub(super) fn text(ranked: &Ranked) -> String {
    let mut rows = aligned::plain();
    let parts = ranked.parts.iter().map(|part| part.kind.name());
    let has = |kind: RankedBy| ranked.parts.iter().any(|part| part.kind == kind);
    let mut scores = vec!["bm25", "cosine of vectors"];
    scores.extend(has(RankedBy::Trigrams).then_some("cosine of trigrams"));
    scores.extend(has(RankedBy::Teacher).then_some("cosine of teacher"));
    if scores.len() == 2 {
        scores[1] = "cosine";
    }
    rows.set_header(["", "sum"].into_iter().chain(parts).chain(scores.iter().copied()).chain(["title"]));
    for placed in &ranked.titles {
        let mut row = vec![placed.rank.to_string(), ranked.signed(placed.sum())];
        // What did not find a title adds nothing.
        row.extend(placed.shares.iter().map(|of| of.map_or_else(|| "–".to_owned(), |of| ranked.signed(of.adds))));
        row.extend([format!("{:.2}", placed.bm25), format!("{:.3}", placed.cosine())]);
        row.extend([placed.trigrams, placed.teacher].into_iter().flatten().map(|cosine| format!("{cosine:.3}")));
        row.push(output::printable(&placed.title.title).into_owned());
        rows.add_row(row);
    }
    aligned::align_right(&mut rows, 0..ranked.parts.len() + 2 + scores.len());
    let mut text = format!(
        "query  {}\nmodel  {}; {}\n\n{}\n",
        output::printable(&ranked.query),
        ranked.model,
        output::counted(ranked.of as u64, "title"),
        aligned::show(&mut rows)
    );
    let parts: [(&str, WordCell<'_>); 2] = [
        ("to BM25", &|placed, place| format!("{:.2}", placed.lexical[place])),
        ("to the cosine", &|placed, place| format!("{:+.3}", placed.along(place))),
    ];
    for (name, value) in parts {
        let _ = writeln!(text, "\nWhat each word of the query adds {name}\n");
        let mut by_word = aligned::plain();
        let words = ranked.words.iter().map(|word| output::printable(word).into_owned());
        by_word.set_header(std::iter::once(String::new()).chain(words));
        for placed in &ranked.titles {
            let cells = (0..ranked.words.len()).map(|place| value(placed, place));
            by_word.add_row(std::iter::once(placed.rank.to_string()).chain(cells));
        }
        aligned::align_right(&mut by_word, 0..ranked.words.len() + 1);
        let _ = writeln!(text, "{}", aligned::show(&mut by_word));
    }
    let gaps = ranked.gaps();
    if !gaps.is_empty() {
        text.push_str("\nWhy each title ranks above the next: differences in the sum\n\n");
    }
    for gap in &gaps {
        let _ = writeln!(text, "{}", why(ranked, gap));
    }
    let _ = writeln!(text, "\n{}", ranked.sum_of());
    text
}

/// Reads `1 above 2 by 0.37: words +0.20 (hotels +0.20), vectors +0.17 (hotels +0.20, in -0.03)`. Words whose number would be zero are
/// left out.
pub(super) fn why(ranked: &Ranked, gap: &Gap<'_>) -> String {
    let least = 0.5 / 10f64.powi(ranked.digits() as i32);
    let part = |part: &GapOfPart| {
        let mut words: Vec<(&String, f64)> =
            ranked.words.iter().zip(part.words.iter().copied()).filter(|(_, x)| x.abs() >= least).collect();
        words.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        let words: Vec<String> = words
            .iter()
            .map(|(word, difference)| format!("{} {}", output::printable(word), ranked.signed(*difference)))
            .collect();
        let words = if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) };
        format!("{} {}{words}", part.kind.name(), ranked.signed(part.adds))
    };
    let parts: Vec<String> = gap.parts.iter().map(part).collect();
    let sum = ranked.signed(gap.sum());
    format!("{} above {} by {}: {}", gap.above.rank, gap.below.rank, sum.trim_start_matches('+'), parts.join(", "))
}
