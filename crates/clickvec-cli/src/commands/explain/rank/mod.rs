//! `clickvec explain rank`: why a search of an index ranks one title above another.

mod ranked;

use std::path::PathBuf;

use anyhow::Result;
use clickvec::internals::text::words;
use clickvec_index::{Index, Mode, Part, Request};

use super::printer::Form;
use crate::answer::Answer;
use crate::console;
use crate::report::{Cell, Column, Report, Table};
use ranked::{PartGap, QueryWord, RankedTitle, Ranking, score_name};

/// Show why one title of an index ranks above another: what each word of the query adds to BM25 and to the cosine of the
/// vectors, and what each part of the search adds to the score.
///
/// The titles, their order and the sums are those of `clickvec search`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The index that `clickvec index` wrote.
    #[arg(value_name = "INDEX")]
    index: PathBuf,

    /// The query.
    #[arg(value_name = "QUERY")]
    query: String,

    /// The number of titles to show.
    #[arg(long, short = 'k', value_name = "N", default_value_t = 5, value_parser = crate::numbers::at_least_one::<usize>)]
    top: usize,

    /// Compare the titles with these ids, separated by commas, instead of the best ones.
    #[arg(long, value_name = "IDS", value_delimiter = ',', conflicts_with = "top")]
    ids: Vec<String>,

    #[command(flatten)]
    form: Form,
}

/// Shows the titles. The answer is no if no word of the query is known.
pub(super) fn run(args: &Args) -> Result<Answer> {
    let mut printer = args.form.printer([&args.index])?;
    let query = console::printable(&args.query);
    if words(&args.query).is_empty() {
        console::note(format_args!("`{query}`: expected words, found none"));
        return Ok(Answer::No);
    }
    let index = Index::open(&args.index)?;
    let Some(ranking) = Ranking::search(args, &index)? else {
        console::note(format_args!("`{query}`: no title has any of its words, and the model knows none of them"));
        return Ok(Answer::No);
    };
    if let Some(corrected) = index.search(&Request::new(args.query.as_str(), Mode::Fused))?.query.corrected {
        let corrected = console::printable(&corrected);
        console::note(format_args!(
            "`{query}`: explained as typed; `search` without `--as-typed` searches for `{corrected}`"
        ));
    }
    ranking.titles.iter().try_for_each(|title| printer.line(title))?;
    printer.report(&report(&ranking))?;
    printer.finish("Why this order")?;
    Ok(Answer::Done)
}

/// Returns the titles, what each word adds, and why each title ranks above the next.
fn report(ranking: &Ranking) -> Report {
    let mut report = Report::default();
    report.line("query", &ranking.query);
    report.line("model", &format!("{}; {}", ranking.model, console::counted(ranking.index_size, "title")));
    report.table(sums(ranking));
    report.heading(3, "What each word of the query adds to BM25");
    report.table(by_word(ranking, |word| format!("{:.2}", word.bm25)));
    report.heading(3, "What each word of the query adds to the cosine of the vectors");
    report.table(by_word(ranking, |word| format!("{:+.3}", word.along)));
    let gaps: Vec<String> = ranking.titles.windows(2).map(|pair| why(ranking, &pair[0], &pair[1])).collect();
    if !gaps.is_empty() {
        report.heading(3, "Why each title ranks above the next: differences in the sum");
        report.paragraph(gaps.join("\n"));
    }
    report.note(ranking.meaning());
    report
}

/// Returns the sum of each title and its parts; what did not find a title adds nothing.
fn sums(ranking: &Ranking) -> Table {
    let parts = || ranking.summands.iter().map(|summand| summand.part);
    let largest = |title: &RankedTitle| parts().map(|part| title.added(part).abs()).fold(0.0, f64::max);
    let largest = ranking.titles.iter().map(|title| largest(title).max(title.looked())).fold(0.0, f64::max);
    let mut columns = vec![Column::number(""), Column::number("sum")];
    columns.extend(parts().map(|part| Column::share(part.name(), largest)));
    columns.extend(ranking.has_looks().then(|| Column::share("title", largest)));
    columns.extend(parts().map(|part| Column::number(score_name(part).trim_start_matches("the "))));
    columns.push(Column::long("title"));
    let mut table = Table::new(columns);
    for title in &ranking.titles {
        let mut row: Vec<Cell> = vec![title.rank.to_string().into(), ranking.signed(title.sum).into()];
        row.extend(parts().map(|part| {
            let added = title.added(part);
            if title.is_found_by(part) { Cell::Share(ranking.signed(added), added) } else { "–".into() }
        }));
        row.extend(ranking.has_looks().then(|| Cell::Share(ranking.signed(title.looked()), title.looked())));
        let score = |part: Part| title.scores.get(part).map_or_else(String::new, |score| format!("{score:.3}"));
        row.extend(parts().map(|part| score(part).into()));
        row.push(title.title.as_str().into());
        table.add(row);
    }
    table
}

/// Returns a table with a number for each title and each word of the query.
fn by_word(ranking: &Ranking, value: impl Fn(&QueryWord) -> String) -> Table {
    let words = ranking.words().iter().map(|word| Column::number(word.word.as_str()));
    let mut table = Table::new(std::iter::once(Column::number("")).chain(words));
    for title in &ranking.titles {
        let cells = title.query.iter().map(|word| value(word).into());
        table.add(std::iter::once(title.rank.to_string().into()).chain(cells));
    }
    table
}

/// Returns `1 above 2 by 0.37: words +0.20 (hotels +0.20), vectors +0.17 (hotels +0.20, in -0.03)`. Words whose number would be zero
/// are left out.
fn why(ranking: &Ranking, above: &RankedTitle, below: &RankedTitle) -> String {
    let least = 0.5 / 10f64.powi(ranking.digits() as i32);
    let part = |part: &PartGap| {
        let mut words: Vec<&(String, f64)> = part.words.iter().filter(|(_, adds)| adds.abs() >= least).collect();
        words.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        let words: Vec<String> = words.iter().map(|(word, adds)| format!("{word} {}", ranking.signed(*adds))).collect();
        let words = if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) };
        format!("{} {}{words}", part.part, ranking.signed(part.adds))
    };
    let mut parts: Vec<String> = ranking.gap(above, below).iter().map(part).collect();
    parts.extend(ranking.has_looks().then(|| format!("title {}", ranking.signed(above.looked() - below.looked()))));
    let sum = ranking.signed(above.sum - below.sum);
    format!("{} above {} by {}: {}", above.rank, below.rank, sum.trim_start_matches('+'), parts.join(", "))
}
