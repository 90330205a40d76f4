//! The report: as JSON, and for readers.

use std::borrow::Cow;
use std::time::Duration;

use clickvec_logs::Report;
use clickvec_logs::report::{Bar, BrokenRow, Count, Counts, Histogram, PositionReport, SideTable};
use clickvec_tables::shown::shortened;
use serde::Serialize;

use super::args::Args;
use crate::report::{Cell, Column, Report as Shown, Table};
use crate::{output, progress};

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

/// Returns the number of robots, or why it is unknown.
fn robots(report: &Report) -> String {
    let why = match (report.robots, report.users, &report.days) {
        (Some(robots), _, _) => return output::count(robots),
        (None, None, _) => "cannot be told without users and times",
        (None, Some(_), None) => "cannot be told without times",
        (None, Some(_), Some(_)) => "not looked for: no limit was set",
    };
    why.to_owned()
}

/// Returns the report for readers.
pub(super) fn shown(args: &Args, report: &Report, time: Duration) -> Shown {
    let mut shown = Shown::default();
    let rate = progress::rate(report.rows as f64 / time.as_secs_f64().max(1e-9));
    let (rows, time) = (output::counted(report.rows, "row"), progress::duration(time));
    shown.paragraph(format!("read {rows} in {time}, {rate} rows/s"));
    cost_of_privacy(report).into_iter().for_each(|cost| shown.paragraph(cost));
    shown.table(pairs(["", ""], facts(report)));
    let broken = |row: &BrokenRow| format!("  {}:{}: {}", row.path, row.line, row.reason);
    let mut lines: Vec<String> = report.first_broken.iter().map(broken).collect();
    let more = report.broken - report.first_broken.len() as u64;
    lines.extend((more > 0).then(|| format!("  and {} more", output::count(more))));
    for table in report.side_tables.iter().filter(|table| table.broken > 0) {
        let (broken_rows, rows) = (output::count(table.broken), output::counted(table.rows, "row"));
        lines.push(format!("{}: left out {broken_rows} broken of {rows}", table.path));
        lines.extend(table.first_broken.iter().map(broken));
    }
    lines.extend(report.side_tables.iter().flat_map(faults_of_side_table));
    if !lines.is_empty() {
        shown.note(lines.join("\n"));
    }
    shown.table(pairs(["left out", ""], left_out(report)));
    for (name, histogram) in histograms(report) {
        shown.table(bars(name, histogram));
    }
    if let Some(positions) = &report.positions {
        add_positions(&mut shown, positions);
    }
    shown.paragraph(format!("{}: written; {}", args.output.display(), counts(&report.training)));
    if let (Some(path), Some(written)) = (args.validation(), &report.validation) {
        shown.paragraph(format!("{}: written; {}", path.display(), counts(written)));
    }
    shown.paragraph(privacy(args, report));
    if let Some(name) = &report.read_as_clicked {
        shown.paragraph(format!(
            "column `{}`: read as whether a title was clicked; `--columns clicked=-` takes every row as a click",
            output::printable(name)
        ));
    }
    if !report.looks_like_user.is_empty() {
        let names: Vec<String> = report.looks_like_user.iter().map(|name| format!("`{name}`")).collect();
        shown.paragraph(format!(
            "warning: {} may identify users and {} not used; name one with --columns user=NAME",
            names.join(", "),
            output::agreeing(names.len() as u64, "is", "are")
        ));
    }
    shown
}

/// Returns a table of names and values.
fn pairs(heads: [&str; 2], rows: Vec<(String, String)>) -> Table {
    let mut table = Table::new(heads.map(Column::text));
    rows.into_iter().for_each(|(name, value)| table.add([name.into(), value.into()]));
    table
}

/// Returns a histogram as a table with bars.
fn bars(name: &str, histogram: &Histogram) -> Table {
    let most = histogram.bars.iter().map(|bar| bar.count).max().unwrap_or(0) as f64;
    let mut table = Table::new([Column::number(name), Column::share("", most)]);
    for bar in &histogram.bars {
        table.add([label(bar).into(), Cell::Share(output::count(bar.count), bar.count as f64)]);
    }
    table
}

/// Adds how often each position is looked at, and what a click there weighs.
fn add_positions(shown: &mut Shown, report: &PositionReport) {
    let most = report.positions.iter().filter_map(|position| position.examination).fold(1.0, f64::max);
    let [position, shows, clicks] = ["position", "shown", "clicks"].map(Column::number);
    let [error, attraction, weight] = ["± s.e.", "attraction", "weight"].map(Column::number);
    let examination = Column::share("looked at", most);
    let mut table = Table::new([position, shows, clicks, examination, error, attraction, weight]);
    let decimals = |number: Option<f64>, decimals: usize| {
        number.map_or(String::new(), |number| format!("{number:.decimals$}")).into()
    };
    for position in &report.positions {
        let examination = position.examination.map(|theta| Cell::Share(format!("{theta:.3}"), theta));
        table.add([
            position.position.to_string().into(),
            output::count(position.shown).into(),
            output::count(position.clicks).into(),
            examination.unwrap_or("not measured".into()),
            decimals(position.standard_error, 3),
            decimals(position.attraction, 2),
            decimals(Some(position.weight), 2),
        ]);
    }
    shown.table(table);
    let (clip, trust, reference) = (report.clip, report.trust, report.reference);
    shown.note(format!(
        "looked at, attraction (clicks when looked at): relative to position {reference}\n\
         weight of a click: 1 / looked at (at most {clip}) times attraction (at most 1) to the power of {trust}"
    ));
    if report.positions.first().is_some_and(|first| first.position != reference) {
        shown.note("warning: the log cannot compare the first position with any other");
    }
}

/// Returns what the outputs say of rare queries.
fn privacy(args: &Args, report: &Report) -> String {
    match report.min_users {
        Some(least) if report.private => {
            let mut text = format!(
                "rare: {}, of fewer than {least} users, are in {} (--private): keep it where the log is. A model that `train` makes \
                 of it has no letter trigram that only they have",
                counts(&report.rare),
                args.output.display()
            );
            if let (Some(path), Some(_)) = (args.validation(), &report.validation) {
                text += &format!(
                    "\nrare: {}, of fewer than {least} users, are in {}, which does not mark them: keep it where the log is too. \
                     `train --validation` only judges by it",
                    counts(&report.rare_validation),
                    path.display()
                );
            }
            text
        }
        Some(least) => format!("at least {least} users clicked for each written query in its file (--min-users)"),
        None => {
            let why = if report.users.is_some() {
                "(--min-users 1)"
            } else {
                "since the log has no users (--columns user=NAME)"
            };
            let comma = if report.users.is_some() { "" } else { "," };
            format!("it may contain queries that only one person typed{comma} {why}: treat it as carefully as the log")
        }
    }
}

/// Returns what leaving out queries of few users costs in clicks and queries; a warning if it is much.
fn cost_of_privacy(report: &Report) -> Option<String> {
    let (few, least) = (&report.too_few_users, report.min_users?);
    if report.private || few.clicks == 0 {
        return None;
    }
    let validation = report.validation.unwrap_or_default();
    let queries = report.training.queries + validation.queries + few.queries;
    let share = few.clicks as f64 / report.clicks.max(1) as f64;
    let (warning, keep) = if share < WORTH_KNOWING {
        ("", String::new())
    } else {
        let keep = if least > 2 { "`--min-users 2` keeps more of them" } else { "`--min-users 1` keeps them all" };
        ("warning: ", format!("; {keep}; `--private` keeps and marks them all, to learn from here"))
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

/// Returns a share for people: never 0 % of something, never 100 % of less than all.
fn percent(part: u64, all: u64) -> String {
    match 100.0 * part as f64 / all.max(1) as f64 {
        share if part > 0 && share < 1.0 => "less than 1 %".to_owned(),
        share if part < all && share > 99.0 => "more than 99 %".to_owned(),
        share => format!("{share:.0} %"),
    }
}

/// Returns a warning if most of what could be learnt was left out, for other reasons than limits that the user set.
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
        ("with a query or title that means nothing", left.null_text),
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
        "most clicks were left out, because of too few users; set `--min-users` yourself if that is meant".to_owned()
    })
}

/// Returns what is wrong with rows of a table of titles or queries: empty, repeated or contradictory.
fn faults_of_side_table(table: &SideTable) -> Vec<String> {
    let mut faults = Vec::new();
    if table.empty > 0 {
        faults.push(format!("{}: {} without an id or a text", table.path, output::counted(table.empty, "row")));
    }
    if table.repeated > 0 {
        let (rows, other) = (output::counted(table.repeated, "row"), output::count(table.contradicting));
        let path = &table.path;
        faults.push(format!(
            "{path}: {rows} with an id that came before, {other} of them with another text; the first counts"
        ));
    }
    faults
}

/// Returns the figures, as names and values.
fn facts(report: &Report) -> Vec<(String, String)> {
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

/// Returns why rows, queries and pairs were left out, with their numbers.
fn left_out(report: &Report) -> Vec<(String, String)> {
    let left = &report.left_out;
    let named = |name: String, count: &u64| format!("{name} {}", output::count(*count));
    let events: Vec<_> =
        report.other_event_names.iter().map(|(name, n)| named(format!("`{}`", shortened(name)), n)).collect();
    let nulls: Vec<_> = report.null_texts.iter().map(|(null, n)| named(format!("`{null}`"), n)).collect();
    let event = &format!("event unknown to the preset{}", listed(&events));
    let null = &format!("query or title that means nothing{}", listed(&nulls));
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
        (event, left.other_events),
        (null, left.null_text),
    ];
    let rows = rows.into_iter().filter(|&(_, count)| count > 0);
    let mut all: Vec<_> = rows.map(|(reason, count)| (reason.to_owned(), output::counted(count, "row"))).collect();
    if report.too_few_users.queries > 0 {
        let least = report.min_users.unwrap_or(0);
        all.push((format!("query of fewer than {least} users"), counts(&report.too_few_users)));
    }
    all
}

/// Returns `: a, b`, or nothing.
fn listed(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) }
}

/// Returns the histograms with their names.
fn histograms(report: &Report) -> [(&'static str, &Histogram); 3] {
    [
        ("clicks of a query", &report.clicks_per_query),
        ("words of a query", &report.query_words),
        ("words of a title", &report.title_words),
    ]
}

/// Returns `262 queries, 280 pairs, 1,024 clicks`.
fn counts(counts: &Counts) -> String {
    let Counts { queries, pairs, clicks } = *counts;
    [(queries, "query"), (pairs, "pair"), (clicks, "click")]
        .map(|(number, noun)| output::counted(number, noun))
        .join(", ")
}

/// Returns the label of a bar, such as `3–4` or `12 or more`.
fn label(bar: &Bar) -> String {
    match bar {
        Bar { from, to, .. } if from == to => output::count(*from),
        Bar { from, to: u64::MAX, .. } => format!("{}+", output::count(*from)),
        Bar { from, to, .. } => format!("{}–{}", output::count(*from), output::count(*to)),
    }
}

fn about(count: Count) -> String {
    format!("{}{}", if count.exact { "" } else { "about " }, output::count(count.count))
}
