//! The report, as text and as JSON.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

use clickvec_logs::Report;
use clickvec_logs::report::{Bar, Count, Counts, Histogram, SideTable};
use serde::Serialize;

use super::args::Args;
use crate::{aligned, output, progress};

/// The length of the longest bar in a histogram.
const BAR_WIDTH: usize = 40;
/// The share of clicks from which the cost of the user limit is a warning.
const WORTH_KNOWING: f64 = 0.1;

/// The report as JSON.
#[derive(Serialize)]
pub(super) struct Object<'a> {
    pub(super) output: Cow<'a, str>,
    pub(super) validation_output: Option<Cow<'a, str>>,
    #[serde(flatten)]
    pub(super) report: &'a Report,
}

/// The number of robots, or why nobody knows.
fn robots(report: &Report) -> String {
    let why = match (report.robots, report.users, &report.days) {
        (Some(robots), _, _) => return output::count(robots),
        (None, None, _) => "cannot be told without users and times",
        (None, Some(_), None) => "cannot be told without times",
        (None, Some(_), Some(_)) => "not looked for: no limit was set",
    };
    why.to_owned()
}

/// The report as text.
pub(super) fn text(args: &Args, report: &Report, time: Duration) -> String {
    let mut text = String::new();
    let mut facts = aligned::plain();
    for (name, value) in facts_of(report) {
        facts.add_row([name, value]);
    }
    let rate = progress::rate(report.rows as f64 / time.as_secs_f64().max(1e-9));
    let _ = writeln!(text, "read {} rows in {}, {rate} rows/s", output::count(report.rows), progress::duration(time));
    if let Some(cost) = cost_of_privacy(report) {
        let _ = writeln!(text, "{cost}");
    }
    let _ = writeln!(text, "{}", aligned::show(&mut facts));
    for row in &report.first_broken {
        let reason = output::printable(&row.reason);
        let _ = writeln!(text, "  {}:{}: {reason}", row.path, row.line);
    }
    let more = report.broken - report.first_broken.len() as u64;
    if more > 0 {
        let _ = writeln!(text, "  and {} more", output::count(more));
    }
    for table in report.side_tables.iter().filter(|table| table.broken > 0) {
        let (broken, rows) = (output::count(table.broken), output::counted(table.rows, "row"));
        let _ = writeln!(text, "{}: left out {broken} broken of {rows}", table.path);
        for row in &table.first_broken {
            let _ = writeln!(text, "  {}:{}: {}", row.path, row.line, output::printable(&row.reason));
        }
    }
    for table in &report.side_tables {
        let _ = side_table(&mut text, table);
    }
    let left = left_out(report);
    if !left.is_empty() {
        let mut rows = aligned::plain();
        rows.set_header(["left out", ""]);
        for (reason, what) in left {
            rows.add_row([reason, what]);
        }
        let _ = writeln!(text, "\n{}", aligned::show(&mut rows));
    }
    for (name, histogram) in pictures(report) {
        let _ = write!(text, "\n{name}\n{}", bars(histogram));
    }
    if let Some(positions) = &report.positions {
        let mut rows = aligned::plain();
        rows.set_header(["position", "shown", "clicks", "looked at", "± s.e.", "attraction", "weight"]);
        for position in &positions.positions {
            rows.add_row([
                position.position.to_string(),
                output::count(position.shown),
                output::count(position.clicks),
                position.examination.map_or("not measured".to_owned(), |theta| format!("{theta:.3}")),
                position.standard_error.map_or(String::new(), |error| format!("{error:.3}")),
                position.attraction.map_or(String::new(), |attraction| format!("{attraction:.2}")),
                format!("{:.2}", position.weight),
            ]);
        }
        aligned::align_right(&mut rows, 0..7);
        let (clip, trust, reference) = (positions.clip, positions.trust, positions.reference);
        let _ = writeln!(
            text,
            "\n{}\nlooked at, attraction (clicks when looked at): relative to position {reference}\n\
             weight of a click: 1 / looked at (at most {clip}) times attraction (at most 1) to the power of {trust}",
            aligned::show(&mut rows)
        );
        if positions.positions.first().is_some_and(|first| first.position != reference) {
            let _ = writeln!(text, "warning: the log cannot compare the first position with any other");
        }
    }
    let _ = writeln!(text, "\n{}: written; {}", output::path(&args.output), counts(&report.training));
    if let (Some(path), Some(written)) = (args.validation(), &report.validation) {
        let _ = writeln!(text, "{}: written; {}", output::path(path), counts(written));
    }
    match report.min_users {
        Some(least) if report.private => {
            let _ = writeln!(
                text,
                "rare: {}, of fewer than {least} users, are in {} (--private): keep it where the log is. A model that `train` makes \
                 of it has no letter trigram that only they have",
                counts(&report.rare),
                output::path(&args.output)
            );
            if let (Some(path), Some(_)) = (args.validation(), &report.validation) {
                let rare = &report.rare_validation;
                let _ = writeln!(
                    text,
                    "rare: {}, of fewer than {least} users, are in {}, which does not mark them: keep it where the log is too. \
                     `train --validation` only judges by it",
                    counts(rare),
                    output::path(path)
                );
            }
        }
        Some(least) => {
            text.push_str(&format!(
                "at least {least} users clicked for each written query in its file (--min-users)\n"
            ));
        }
        None if report.users.is_some() => text.push_str(
            "it may contain queries that only one person typed (--min-users 1): treat it as carefully as the log\n",
        ),
        None => text.push_str(
            "it may contain queries that only one person typed, since the log has no users (--user-column): treat it \
             as carefully as the log\n",
        ),
    }
    if !report.looks_like_user.is_empty() {
        let names: Vec<String> = report.looks_like_user.iter().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(
            text,
            "warning: {} may identify users and {} not used; name one with --user-column",
            output::printable(&names.join(", ")),
            output::agreeing(names.len() as u64, "is", "are")
        );
    }
    text
}

/// What leaving out queries of few users costs in clicks and queries; a warning if it is much.
fn cost_of_privacy(report: &Report) -> Option<String> {
    let (few, least) = (&report.too_few_users, report.min_users?);
    if report.private || few.clicks == 0 {
        return None;
    }
    let validation = report.validation.unwrap_or_default();
    let queries = report.training.queries + validation.queries + few.queries + report.too_few_clicks.queries;
    let share = few.clicks as f64 / report.clicks.max(1) as f64;
    let (warning, keep) = if share < WORTH_KNOWING {
        ("", String::new())
    } else {
        let fewer = if least > 2 { "`--min-users 2` keeps more of them; " } else { "" };
        ("warning: ", format!("; {fewer}`--private` keeps them all, to learn from here"))
    };
    Some(format!(
        "{warning}{} of the clicks and {} of the queries are left out, {} of {} and {} of {}: fewer than {least} users clicked \
         for their query{keep}",
        percent(few.clicks, report.clicks),
        percent(few.queries, queries),
        output::count(few.clicks),
        output::count(report.clicks),
        output::count(few.queries),
        output::count(queries),
    ))
}

/// A share for people: never 0 % of something, never 100 % of less than all.
fn percent(part: u64, all: u64) -> String {
    match 100.0 * part as f64 / all.max(1) as f64 {
        share if part > 0 && share < 1.0 => "less than 1 %".to_owned(),
        share if part < all && share > 99.0 => "more than 99 %".to_owned(),
        share => format!("{share:.0} %"),
    }
}

/// That most of what could be learnt was left out, for other reasons than limits that were asked for.
pub(super) fn most_left_out(args: &Args, report: &Report) -> Option<String> {
    let left = &report.left_out;
    // Rows that are no clicks by themselves are no loss, as a search is of which nothing was clicked.
    let no_clicks =
        left.not_clicked + left.headers + left.robots + left.other_events + left.without_item + report.searches;
    let candidates = report.rows.saturating_sub(no_clicks);
    let reasons = [
        ("broken", report.broken),
        ("without a query", left.without_query + left.only_personal),
        ("without their search", left.without_search),
        ("items without a title", left.without_title),
        ("with a count of 0", left.count_zero),
    ];
    let lost: u64 = reasons.iter().map(|(_, rows)| rows).sum();
    if 2 * lost > candidates {
        let worst = reasons.iter().max_by_key(|(_, rows)| *rows).map_or("", |(reason, _)| reason);
        let (lost, all) = (output::count(lost), output::count(candidates));
        return Some(format!("most rows that could be clicks were left out, {lost} of {all}, above all {worst}"));
    }
    let few = &report.too_few_users;
    (args.min_users.is_none() && 2 * few.clicks > report.clicks).then(|| {
        "most clicks were left out, because of too few users; `--min-users 2` says that this is meant".to_owned()
    })
}

/// Reports rows of a table of titles or queries that are empty, repeated or contradictory.
fn side_table(text: &mut String, table: &SideTable) -> std::fmt::Result {
    if table.empty > 0 {
        let rows = output::counted(table.empty, "row");
        writeln!(text, "{}: {rows} without an id or a text", table.path)?;
    }
    if table.repeated > 0 {
        let (rows, other) = (output::counted(table.repeated, "row"), output::count(table.contradicting));
        writeln!(
            text,
            "{}: {rows} with an id that came before, {other} of them with another text; the first counts",
            table.path
        )?;
    }
    Ok(())
}

/// The figures, as names and values.
pub(super) fn facts_of(report: &Report) -> Vec<(String, String)> {
    let mut facts = vec![("rows".to_owned(), output::count(report.rows))];
    if report.files.len() > 1 {
        facts.push(("files".to_owned(), output::count(report.files.len() as u64)));
    }
    let mut add = |name: &str, value: String| facts.push((name.to_owned(), value));
    match report.broken {
        0 => add("broken rows", "none".to_owned()),
        broken => {
            let kinds = report.broken_by_kind.iter().map(|(kind, count)| format!("{kind} {}", output::count(*count)));
            let kinds: Vec<String> = kinds.collect();
            add("broken rows", format!("{} ({})", output::count(broken), kinds.join(", ")));
        }
    }
    if report.searches > 0 {
        add("searches", output::count(report.searches));
    }
    if report.repeated_searches > 0 {
        let [all, other] = [report.repeated_searches, report.contradicting_searches].map(output::count);
        add(
            "searches with the id of another",
            format!("{all}, {other} of them with another query; the earliest counts"),
        );
    }
    add("clicks", output::count(report.clicks));
    if let Some((first, last)) = &report.days {
        add("days", format!("{first} to {last}"));
    }
    if let Some(users) = report.users {
        add("users", about(users));
    }
    add("robots", robots(report));
    if let Some(items) = report.items {
        add("items", about(items));
    }
    if let (Some(items), Some(without)) = (report.items, report.items_without_title) {
        add("items without a title", format!("{} of {}", about(without), about(items)));
    }
    let personal = report.personal;
    if personal.total() > 0 {
        let [emails, phones, cards] = [personal.emails, personal.phones, personal.cards].map(output::count);
        add("removed from queries", format!("e-mail addresses {emails}, phone numbers {phones}, card numbers {cards}"));
    }
    add("titles written", about(report.titles));
    if report.spills > 0 {
        add("times memory was full", output::count(report.spills as u64));
    }
    facts
}

/// Why rows, queries and pairs were left out, with their numbers.
pub(super) fn left_out(report: &Report) -> Vec<(String, String)> {
    let left = &report.left_out;
    let rows = [
        ("shown, not clicked", left.not_clicked),
        ("repeated header", left.headers),
        ("of a robot", left.robots),
        ("no query", left.without_query),
        ("nothing but an address or number", left.only_personal),
        ("search missing in the log", left.without_search),
        ("no item or title", left.without_item),
        ("item without a title", left.without_title),
        ("count of 0", left.count_zero),
        ("event unknown to the preset", left.other_events),
    ];
    let rows = rows.into_iter().filter(|&(_, count)| count > 0);
    let mut all: Vec<_> = rows.map(|(reason, count)| (reason.to_owned(), output::counted(count, "row"))).collect();
    if report.too_few_users.queries > 0 {
        let least = report.min_users.unwrap_or(0);
        all.push((format!("query of fewer than {least} users"), counts(&report.too_few_users)));
    }
    if report.too_few_clicks.pairs > 0 {
        all.push((format!("pair of fewer than {} clicks", report.min_count), counts(&report.too_few_clicks)));
    }
    all
}

/// The histograms with their names.
pub(super) fn pictures(report: &Report) -> [(&'static str, &Histogram); 3] {
    [
        ("clicks of a query", &report.clicks_per_query),
        ("words of a query", &report.query_words),
        ("words of a title", &report.title_words),
    ]
}

/// `262 queries, 280 pairs, 1,024 clicks`.
pub(super) fn counts(counts: &Counts) -> String {
    let Counts { queries, pairs, clicks } = *counts;
    [(queries, "query"), (pairs, "pair"), (clicks, "click")]
        .map(|(number, noun)| output::counted(number, noun))
        .join(", ")
}

/// The label of a bar, such as `3–4` or `12 or more`.
pub(super) fn label(bar: &Bar) -> String {
    match bar {
        Bar { from, to, .. } if from == to => output::count(*from),
        Bar { from, to: u64::MAX, .. } => format!("{}+", output::count(*from)),
        Bar { from, to, .. } => format!("{}–{}", output::count(*from), output::count(*to)),
    }
}

fn about(count: Count) -> String {
    format!("{}{}", if count.exact { "" } else { "about " }, output::count(count.count))
}

fn bars(histogram: &Histogram) -> String {
    let most = histogram.bars.iter().map(|bar| bar.count).max().unwrap_or(0).max(1);
    let labels: Vec<String> = histogram.bars.iter().map(label).collect();
    let counts: Vec<String> = histogram.bars.iter().map(|bar| output::count(bar.count)).collect();
    let width = |texts: &[String]| texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
    let (label_width, count_width) = (width(&labels), width(&counts));
    let mut text = String::new();
    for ((bar, label), count) in histogram.bars.iter().zip(labels).zip(counts) {
        let length = (bar.count as f64 / most as f64 * BAR_WIDTH as f64).ceil() as usize;
        let line = format!("  {label:>label_width$}  {count:>count_width$}  {}", "█".repeat(length));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}
