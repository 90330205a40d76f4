//! The report for readers: as text, as a page, and what to warn of.

use std::time::Duration;

use clickvec_report::page;
use clickvec_report::report::{Cell, Column, Report as Shown, Table};
use clickvec_tables::shown::{agreeing, count, counted, duration, named_counts, printable, rate, shortened};
use maud::html;

use crate::columns::Role;
use crate::report::{Bar, BrokenRow, Count, Counts, Histogram, PositionReport, SideTable};
use crate::{Config, Report};

/// The share of clicks from which the cost of the user limit is a warning.
const WORTH_KNOWING: f64 = 0.1;

/// The day from which numbers of seconds count.
const EPOCH: &str = "1970-01-01";

/// Returns what a program calls a setting, such as `--min-users`.
pub type Naming<'n> = dyn Fn(&str) -> String + 'n;

/// Returns the report as a page.
pub fn page(shown: &Shown) -> String {
    let body = html! { h1 { "What was in the log" } (shown.to_markup()) };
    page::page("clickvec prepare", "", &body)
}

/// Returns what the user should know of: above all, much that was left out. The last one may be a loss; see [`lost_most`].
pub fn warnings(config: &Config, report: &Report, naming: &Naming<'_>) -> Vec<String> {
    let cost = cost_of_privacy(report, naming).filter(|(is_much, _)| *is_much).map(|(_, cost)| cost);
    let unused = unused_users(report, naming);
    let on_epoch = report.days.as_ref().is_some_and(|(first, last)| first == EPOCH && last == EPOCH);
    let years = on_epoch.then(|| {
        format!(
            "all times are on {EPOCH}, because numbers count as seconds since then; if the column has only years, or times since \
             another date, everything that depends on days is wrong"
        )
    });
    let positions = report.positions.as_ref();
    let incomparable =
        positions.is_some_and(|of| of.positions.first().is_some_and(|first| first.position != of.reference));
    let incomparable = incomparable.then(|| "the log cannot compare the first position with any other".to_owned());
    let absent: Vec<String> = report.absent_actions.iter().map(|action| format!("`{}`", shortened(action))).collect();
    let absent = (!absent.is_empty()).then(|| format!("no event is called {}", absent.join(" or ")));
    let all = cost.into_iter().chain(incomparable).chain(absent);
    all.chain(unused).chain(years).chain(lost_most(config, report, naming)).collect()
}

/// Returns the number of robots, or why it is unknown.
fn robots(report: &Report) -> String {
    let why = match (report.robots, report.users, &report.days) {
        (Some(robots), _, _) => return count(robots),
        (None, None, _) => "unknown without users and times",
        (None, Some(_), None) => "unknown without times",
        (None, Some(_), Some(_)) => "not searched for: no limit was set",
    };
    why.to_owned()
}

/// Returns the report for readers, warnings first.
pub fn shown(config: &Config, report: &Report, time: Duration, naming: &Naming<'_>) -> Shown {
    let mut shown = Shown::default();
    let rate = rate(report.rows as f64 / time.as_secs_f64().max(1e-9));
    let (rows, time) = (counted(report.rows, "row"), duration(time));
    shown.paragraph(format!("read {rows} in {time}, {rate} rows/s"));
    warnings(config, report, naming).iter().for_each(|warning| shown.paragraph(format!("warning: {warning}")));
    if let Some((false, cost)) = cost_of_privacy(report, naming) {
        shown.paragraph(cost);
    }
    shown.table(pairs(["", ""], facts(report)));
    let broken = |row: &BrokenRow| format!("  {}:{}: {}", row.path, row.line, row.reason);
    let mut lines: Vec<String> = report.first_broken.iter().map(broken).collect();
    let more = report.broken - report.first_broken.len() as u64;
    lines.extend((more > 0).then(|| format!("  and {} more", count(more))));
    for table in report.side_tables.iter().filter(|table| table.broken > 0) {
        let (broken_rows, rows) = (count(table.broken), counted(table.rows, "row"));
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
    shown.paragraph(format!("{}: written; {}", config.output.display(), counts(&report.training)));
    shown.paragraph(privacy(config, report, naming));
    if let Some((role, name)) = &report.read_as_clicked {
        let what = if *role == Role::Count { "the number of clicks" } else { "whether a title was clicked" };
        shown.paragraph(format!(
            "column `{}`: read as {what}; `clicked=-` in `{}` takes every row as a click",
            printable(name),
            naming("columns")
        ));
    }
    shown
}

/// Returns what is to say of columns that may identify users, if none does.
fn unused_users(report: &Report, naming: &Naming<'_>) -> Option<String> {
    let names: Vec<String> = report.looks_like_user.iter().map(|name| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| {
        format!(
            "{} may identify users and {} not used; name one as `user=NAME` in `{}`",
            names.join(", "),
            agreeing(names.len() as u64, "is", "are"),
            naming("columns")
        )
    })
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
        table.add([label(bar).into(), Cell::Share(count(bar.count), bar.count as f64)]);
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
            count(position.shown).into(),
            count(position.clicks).into(),
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
}

/// Returns what the outputs say of rare queries.
fn privacy(config: &Config, report: &Report, naming: &Naming<'_>) -> String {
    match report.min_users {
        Some(least) if report.private => format!(
            "rare: {}, of fewer than {least} users, are in {} ({}): keep it where the log is. A model trained on it has no letter \
             trigrams that only these queries have",
            counts(&report.rare),
            config.output.display(),
            naming("private")
        ),
        Some(least) => format!("at least {least} users clicked for each written query ({})", naming("min_users")),
        None => {
            let why = if report.users.is_some() {
                format!(" ({} is 1):", naming("min_users"))
            } else {
                format!(", since the log has no users (`user=NAME` in {}):", naming("columns"))
            };
            format!("it may contain queries that only one person typed{why} treat it as carefully as the log")
        }
    }
}

/// Returns what leaving out queries of few users costs in clicks and queries, and whether that is much.
fn cost_of_privacy(report: &Report, naming: &Naming<'_>) -> Option<(bool, String)> {
    let (few, least) = (&report.too_few_users, report.min_users?);
    if report.private || few.clicks == 0 {
        return None;
    }
    let queries = report.training.queries + few.queries;
    let is_much = few.clicks as f64 / report.clicks.max(1) as f64 >= WORTH_KNOWING;
    let keep = if is_much {
        let (lower, what) = if least > 2 { (2, "more of them") } else { (1, "them all") };
        let (users, private) = (naming("min_users"), naming("private"));
        format!(
            "; `{users}` of {lower} keeps {what}; `{private}` keeps and marks them all, for training next to the log"
        )
    } else {
        String::new()
    };
    let cost = format!(
        "{} of the clicks and {} of the queries are left out, {} of {} and {} of {}: fewer than {least} users clicked for their \
         query{keep}",
        percent(few.clicks, report.clicks),
        percent(few.queries, queries),
        count(few.clicks),
        count(report.clicks),
        count(few.queries),
        count(queries),
    );
    Some((is_much, cost))
}

/// Returns a share for people: never 0 % of something, never 100 % of less than all.
fn percent(part: u64, all: u64) -> String {
    match 100.0 * part as f64 / all.max(1) as f64 {
        share if part > 0 && share < 1.0 => "less than 1 %".to_owned(),
        share if part < all && share > 99.0 => "more than 99 %".to_owned(),
        share => format!("{share:.0} %"),
    }
}

/// Returns what to warn of if most of what could be learnt was left out, for other reasons than limits that the user set.
pub fn lost_most(config: &Config, report: &Report, naming: &Naming<'_>) -> Option<String> {
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
        let (lost, all) = (count(lost), count(candidates));
        return Some(format!("most rows that could be clicks were left out, {lost} of {all}, mostly {worst}"));
    }
    let few = &report.too_few_users;
    (config.min_users.is_none() && 2 * few.clicks > report.clicks).then(|| {
        let least = naming("min_users");
        format!("most clicks were left out because of too few users; set `{least}` yourself if that is intended")
    })
}

/// Returns what is wrong with rows of a table of titles or queries: empty, repeated or contradictory.
fn faults_of_side_table(table: &SideTable) -> Vec<String> {
    let mut faults = Vec::new();
    if table.headers > 0 {
        faults.push(format!("{}: {}", table.path, counted(table.headers, "repeated header")));
    }
    if table.empty > 0 {
        let nulls = &table.null_texts;
        let named = if nulls.is_empty() { String::new() } else { format!(" ({})", named_counts(nulls)) };
        faults.push(format!("{}: {} without an id or a text{named}", table.path, counted(table.empty, "row")));
    }
    if table.repeated > 0 {
        let (rows, other) = (counted(table.repeated, "row"), count(table.contradicting));
        let path = &table.path;
        faults.push(format!("{path}: {rows} with an earlier id, {other} of them with another text; the first counts"));
    }
    faults
}

/// Returns the figures, as names and values.
fn facts(report: &Report) -> Vec<(String, String)> {
    let mut facts = vec![("rows".to_owned(), count(report.rows))];
    if report.files.len() > 1 {
        facts.push(("files".to_owned(), count(report.files.len() as u64)));
    }
    let mut add = |name: &str, value: String| facts.push((name.to_owned(), value));
    match report.broken {
        0 => add("broken rows", "none".to_owned()),
        broken => {
            let kinds = report.broken_by_kind.iter().map(|(kind, rows)| format!("{kind} {}", count(*rows)));
            let kinds: Vec<String> = kinds.collect();
            add("broken rows", format!("{} ({})", count(broken), kinds.join(", ")));
        }
    }
    if report.searches > 0 {
        add("searches", count(report.searches));
    }
    if report.repeated_searches > 0 {
        let [all, other] = [report.repeated_searches, report.contradicting_searches].map(count);
        add(
            "searches with the id of another",
            format!("{all}, {other} of them with another query; the earliest counts"),
        );
    }
    add("clicks", count(report.clicks));
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
        let [emails, phones, cards] = [personal.emails, personal.phones, personal.cards].map(count);
        add("removed from queries", format!("e-mail addresses {emails}, phone numbers {phones}, card numbers {cards}"));
    }
    if report.with_entities > 0 {
        let texts = counted(report.with_entities, "text");
        add("HTML entities decoded", format!("in {texts}, such as &#39; or &amp;"));
    }
    add("titles written", about(report.titles));
    if report.spills > 0 {
        add("times memory was full", count(report.spills as u64));
    }
    facts
}

/// Returns why rows, queries and pairs were left out, with their numbers.
fn left_out(report: &Report) -> Vec<(String, String)> {
    let left = &report.left_out;
    let named = |name: String, rows: &u64| format!("{name} {}", count(*rows));
    let events: Vec<_> =
        report.other_event_names.iter().map(|(name, n)| named(format!("`{}`", shortened(name)), n)).collect();
    let event = &format!("event unknown to the preset{}", listed(&events));
    let null = &format!("query or title that means nothing: {}", named_counts(&report.null_texts));
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
    let mut all: Vec<_> = rows.map(|(reason, count)| (reason.to_owned(), counted(count, "row"))).collect();
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
    [(queries, "query"), (pairs, "pair"), (clicks, "click")].map(|(number, noun)| counted(number, noun)).join(", ")
}

/// Returns the label of a bar, such as `3–4` or `12 or more`.
fn label(bar: &Bar) -> String {
    match bar {
        Bar { from, to, .. } if from == to => count(*from),
        Bar { from, to: u64::MAX, .. } => format!("{}+", count(*from)),
        Bar { from, to, .. } => format!("{}–{}", count(*from), count(*to)),
    }
}

fn about(values: Count) -> String {
    format!("{}{}", if values.exact { "" } else { "about " }, count(values.count))
}
