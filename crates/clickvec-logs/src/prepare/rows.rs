//! From rows to counts.

use std::collections::BTreeMap;

use clickvec::internals::clicks::query_hash;
use clickvec::internals::text::words;
use clickvec_tables::table::{RowFault, flag, no_text};
use clickvec_tables::{decoded, null_text};
use xxhash_rust::xxh3::xxh3_64;

use super::config::Config;
use super::deferred::{self, Deferred};
use super::seen::{Fate, Reason, Seen};
use super::user_query::{UserQuery, user_query, who};
use crate::Result;
use crate::columns::Role;
use crate::distinct::Distinct;
use crate::error::{bad_time, bad_value};
use crate::events::Event;
use crate::gather::{Gatherer, Sighting};
use crate::join::Searches;
use crate::privacy::{self, Removed};
use crate::report::LeftOut;
use crate::robots::{Robots, SharedCounts};
use crate::tables::{Options, Record};
use crate::text;
use crate::time::Time;
use crate::titles::TitleTexts;

/// The largest count of a row: the largest weight that `train` takes. A sum of fewer than 18 million rows is exact then, and no
/// number of a damaged column takes the place of all others.
const MAX_COUNT: u64 = 1_000_000_000_000;
/// The largest position. Any further down counts as this one.
const MAX_POSITION: u16 = 100;

/// Facts found while counting.
#[derive(Default)]
pub(super) struct Found {
    pub(super) left_out: LeftOut,
    pub(super) personal: Removed,
    pub(super) clicks: u64,
    pub(super) users: Distinct,
    pub(super) items: Distinct,
    pub(super) without_title: Distinct,
    pub(super) times: Option<(Time, Time)>,
    /// Rows that are a search, which clicks refer to.
    pub(super) searches: u64,
    pub(super) null_texts: BTreeMap<&'static str, u64>,
    /// Queries and titles in which HTML entities were decoded.
    pub(super) with_entities: u64,
}

impl Found {
    /// Counts the user and the time of any row.
    #[inline]
    fn sees(&mut self, time: Option<Time>, user: Option<u64>) {
        if let Some(time) = time {
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
        }
        if let Some(user) = user {
            self.users.add(user);
        }
    }

    /// Counts the fate of a row from a person, and returns the sighting to count, if any. Without positions, a title that was
    /// shown and not clicked is left out of the clicks.
    #[inline]
    fn settles<T>(&mut self, seen: Seen<T>, weighs_positions: bool) -> Option<Sighting<T>> {
        let left = &mut self.left_out;
        self.personal.add(seen.removed);
        if let Some(item) = seen.item {
            self.items.add(item);
        }
        let reason = match seen.fate {
            Fate::LeftOut(reason) => reason,
            Fate::Counted(sighting) => {
                self.clicks = self.clicks.saturating_add(sighting.clicks);
                left.not_clicked += u64::from(sighting.clicks == 0 && !weighs_positions);
                return Some(sighting);
            }
        };
        let count = match reason {
            Reason::NotClicked => &mut left.not_clicked,
            Reason::CountZero => &mut left.count_zero,
            Reason::WithoutSearch => &mut left.without_search,
            Reason::WithoutQuery => &mut left.without_query,
            Reason::OnlyPersonal => &mut left.only_personal,
            Reason::WithoutItem => &mut left.without_item,
            Reason::NullText => &mut left.null_text,
            Reason::WithoutTitle => {
                seen.item.into_iter().for_each(|item| self.without_title.add(item));
                &mut left.without_title
            }
        };
        *count += 1;
        None
    }
}

/// A counter that takes row by row.
pub(super) struct Counter<'a> {
    reader: Reader<'a>,
    found: Found,
}

impl<'a> Counter<'a> {
    pub(super) fn new(
        config: &'a Config,
        has: impl Fn(Role) -> bool,
        titles: Option<&'a TitleTexts>,
        searches: Option<&'a Searches>,
    ) -> Counter<'a> {
        let reader = Reader {
            config,
            titles,
            searches,
            has_clicked: has(Role::Clicked),
            has_count: has(Role::Count),
            query: String::new(),
            title: String::new(),
            null_texts: BTreeMap::new(),
            with_entities: 0,
        };
        Counter { reader, found: Found::default() }
    }

    /// Returns whether any row had a time.
    pub(super) fn saw_a_time(&self) -> bool {
        self.found.times.is_some()
    }

    pub(super) fn finish(self) -> Found {
        let Reader { null_texts, with_entities, .. } = self.reader;
        Found { null_texts, with_entities, ..self.found }
    }

    /// Counts a row. Returns its fault, if it has one; a row that merely is not a click is counted here.
    #[inline]
    pub(super) fn row(
        &mut self,
        record: &Record,
        robots: &Robots,
        gatherer: &mut Gatherer,
        options: &Options,
    ) -> Result<Option<RowFault>> {
        if record.is_search() {
            self.found.searches += 1;
            return Ok(None);
        }
        let values = match self.reader.values(record, options) {
            Ok(values) => values,
            Err(fault) => return Ok(Some(fault)),
        };
        let user = who(record);
        self.found.sees(values.time, user);
        if user.is_some_and(|user| !robots.is_empty() && robots.contains(&user)) {
            self.found.left_out.robots += 1;
            return Ok(None);
        }
        let weighs_positions = self.reader.config.position_weighting.is_some();
        let seen = self.reader.read(record, &values, user);
        if let Some(sighting) = self.found.settles(seen, weighs_positions) {
            gatherer.add(sighting)?;
        }
        Ok(None)
    }

    /// Lets a row wait until robots are known, and counts its query in `queries`.
    #[inline]
    pub(super) fn defer(
        &mut self,
        record: &Record,
        queries: &mut SharedCounts,
        deferred: &mut Deferred,
        options: &Options,
    ) -> Result<Option<RowFault>> {
        let values = self.reader.values(record, options);
        let time = match &values {
            Ok(values) => values.time,
            Err(_) => record.get(Role::Time).and_then(|text| options.time(text)),
        };
        let user_query = user_query(record, time);
        if let Some(UserQuery { user, query, .. }) = user_query {
            queries.add(user, query);
        }
        let user = user_query.map(|user_query| user_query.user);
        match values {
            Ok(values) => {
                self.found.sees(time, user);
                deferred.add(user_query, Some(self.reader.read(record, &values, user)))?;
                Ok(None)
            }
            Err(fault) => {
                deferred.add(user_query, None)?;
                Ok(Some(fault))
            }
        }
    }

    /// Counts a row that waited.
    #[inline]
    pub(super) fn judge(&mut self, row: deferred::Row, robots: &Robots) -> Option<Sighting<u32>> {
        let seen = row.seen?;
        if row.user_query.is_some_and(|user_query| !robots.is_empty() && robots.contains(&user_query.user)) {
            self.found.left_out.robots += 1;
            return None;
        }
        self.found.settles(seen, self.reader.config.position_weighting.is_some())
    }
}

/// A reader of a row's values.
struct Reader<'a> {
    config: &'a Config,
    titles: Option<&'a TitleTexts>,
    searches: Option<&'a Searches>,
    has_clicked: bool,
    has_count: bool,
    query: String,
    title: String,
    null_texts: BTreeMap<&'static str, u64>,
    with_entities: u64,
}

impl Reader<'_> {
    /// Reads a row whose user is a person.
    #[inline]
    fn read(&mut self, record: &Record, values: &Values, user: Option<u64>) -> Seen<&str> {
        let left_out = |reason| Seen { removed: Removed::default(), item: None, fate: Fate::LeftOut(reason) };
        if values.clicks > 0 || (values.shown > 0 && self.config.position_weighting.is_some()) {
            return self.read_texts(record, values, user);
        }
        if values.shown == 0 {
            return left_out(Reason::CountZero);
        }
        if self.config.impressions == 0.0 {
            return left_out(Reason::NotClicked);
        }
        // In any case, it is no click.
        let most = self.config.impressions * u64::MAX as f64;
        match self.read_texts(record, values, user).fate {
            Fate::Counted(sighting) if query_hash(&words(sighting.query).join(" ")) as f64 <= most => {
                Seen { removed: Removed::default(), item: None, fate: Fate::Counted(sighting) }
            }
            _ => left_out(Reason::NotClicked),
        }
    }

    /// Reads the texts of a row that is to be counted.
    #[inline]
    fn read_texts(&mut self, record: &Record, values: &Values, user: Option<u64>) -> Seen<&str> {
        let mut removed = Removed::default();
        let without = |removed, item, reason| Seen { removed, item, fate: Fate::LeftOut(reason) };
        // A click has its query, or a key that leads to it.
        let own = record.get(Role::Query).filter(|query| !query.trim().is_empty());
        let query = match (own, self.searches, record.get(Role::Key)) {
            (Some(query), _, _) => query,
            (None, Some(searches), Some(key)) => match searches.find(key.trim(), values.time) {
                Some(query) => query,
                None => return without(removed, None, Reason::WithoutSearch),
            },
            (None, _, _) => "",
        };
        let query = decoded(query, &mut self.with_entities);
        text::clean_query(&query, !self.config.keep_case, &mut self.query);
        // Some logs have `-` for an empty query.
        if !self.query.chars().any(char::is_alphanumeric) {
            return without(removed, None, Reason::WithoutQuery);
        }
        if let Some(null) = null_text(&self.query) {
            *self.null_texts.entry(null).or_default() += 1;
            return without(removed, None, Reason::NullText);
        }
        if !self.config.keep_personal {
            removed = privacy::remove_personal(&mut self.query);
            if self.query.is_empty() {
                return without(removed, None, Reason::OnlyPersonal);
            }
        }
        let item = record.get(Role::Item).map(str::trim).filter(|item| !item.is_empty());
        let hash = item.map(|item| xxh3_64(item.as_bytes()));
        match (self.titles, item) {
            (Some(titles), Some(item)) => match titles.get(item) {
                // This title was cleaned when it was read.
                Some(title) => {
                    self.title.clear();
                    self.title.push_str(title);
                }
                None => return without(removed, hash, Reason::WithoutTitle),
            },
            (Some(_), None) => self.title.clear(),
            (None, Some(item)) if self.config.item_as_title => text::clean(item, false, &mut self.title),
            (None, _) if self.config.item_as_title => self.title.clear(),
            (None, _) => {
                let title = decoded(record.get(Role::Title).unwrap_or_default(), &mut self.with_entities);
                text::clean(&title, false, &mut self.title);
            }
        }
        if self.title.is_empty() {
            return without(removed, hash, Reason::WithoutItem);
        }
        if let Some(null) = null_text(&self.title) {
            *self.null_texts.entry(null).or_default() += 1;
            return without(removed, hash, Reason::NullText);
        }
        let &Values { position, shown, clicks, .. } = values;
        let sighting = Sighting { query: &*self.query, title: &*self.title, position, shown, clicks, user };
        Seen { removed, item: hash, fate: Fate::Counted(sighting) }
    }

    fn values(&self, record: &Record, options: &Options) -> Result<Values, RowFault> {
        let bad = |role: Role, found: &str| {
            let of_events = options.extract.filter(|_| role == Role::Time && !options.columns.is_named(role));
            let column = of_events.map_or(options.columns.get(role), |extract| Some(extract.time_column()));
            let column = column.unwrap_or(role.name()).to_owned();
            match &options.time_format {
                Some(form) if role == Role::Time => bad_time(form, &column, found),
                _ => bad_value(role, &column, found),
            }
        };
        for role in [Role::Query, Role::Title] {
            if let Some(found) = record.get(role).and_then(json_in) {
                let column = options.columns.get(role).unwrap_or(role.name());
                return Err(RowFault::expected("bad value", format_args!("a text in column `{column}`"), found));
            }
        }
        let count = match record.get(Role::Count) {
            None if self.has_count => return Err(bad(Role::Count, "")),
            None => 1,
            Some(text) => count_of(text).ok_or_else(|| bad(Role::Count, text))?,
        };
        let (shown, clicks) = match (record.event, record.get(Role::Clicked)) {
            (Some(Event::Clicks(clicks)), _) => (0, clicks),
            (Some(Event::Showing | Event::Search), _) => (1, 0),
            (None, None) if self.has_clicked => return Err(bad(Role::Clicked, "")),
            (None, None) => (count, count),
            (None, Some(text)) => match clicked(text.trim(), options.judgments) {
                Some(true) => (count, count),
                Some(false) => (count, 0),
                None => return Err(bad(Role::Clicked, text)),
            },
        };
        let position = match (self.config.position_weighting, record.get(Role::Position)) {
            (None, _) => 0,
            (Some(_), text) => {
                let position = text.and_then(|text| integer(text)?.parse::<u64>().ok());
                let text = text.unwrap_or_default();
                position.ok_or_else(|| bad(Role::Position, text))?.min(u64::from(MAX_POSITION)) as u16
            }
        };
        let time = match record.get(Role::Time) {
            // A time that is not needed may be missing, but if present it must be valid.
            Some(text) if !is_missing(text) => Some(options.time(text).ok_or_else(|| bad(Role::Time, text))?),
            _ => None,
        };
        Ok(Values { shown, clicks, position, time })
    }
}

struct Values {
    shown: u64,
    clicks: u64,
    position: u16,
    time: Option<Time>,
}

/// Returns the fault of an invalid count, click or time. Other roles take any text, or (positions) are not always read.
pub fn value_fault(role: Role, column: &str, text: &str) -> Option<RowFault> {
    let is_fine = match role {
        Role::Count => count_of(text).is_some(),
        Role::Clicked => flag(text.trim()).is_some(),
        Role::Time => is_missing(text) || Time::parse(text).is_some(),
        _ => true,
    };
    (!is_fine).then(|| bad_value(role, column, text))
}

/// Returns what the JSON of a field is if it is no text, as tables made of nested data have it.
fn json_in(field: &str) -> Option<String> {
    let field = field.trim_start();
    if !field.starts_with(['{', '[']) {
        return None;
    }
    let value = serde_json::from_str(field).ok()?;
    no_text(&value).map(|found| format!("the JSON of {found}"))
}

fn count_of(text: &str) -> Option<u64> {
    // In some languages `1.000` is a thousand.
    let is_unclear = text.split_once('.').is_some_and(|(_, zeros)| zeros.trim_end() == "000");
    integer(text)?.parse().ok().filter(|count| *count <= MAX_COUNT && !is_unclear)
}

/// Returns whether a field of times has none. pandas writes `NaT`.
fn is_missing(text: &str) -> bool {
    text.trim().is_empty() || null_text(text).is_some() || text.trim().eq_ignore_ascii_case("nat")
}

/// Returns whether a field means that a title was clicked.
fn clicked(text: &str, judgments: bool) -> Option<bool> {
    if judgments { text.parse::<i64>().ok().map(|grade| grade >= 1) } else { flag(text) }
}

/// Returns a whole number without its fraction of zeros: where a column has missing numbers, some programs write all as fractions.
fn integer(text: &str) -> Option<&str> {
    let text = text.trim();
    match text.split_once('.') {
        None => Some(text),
        Some((integer, zeros)) => zeros.bytes().all(|byte| byte == b'0').then_some(integer),
    }
}
