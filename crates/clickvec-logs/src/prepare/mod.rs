//! Preparing a log: raw logs in, tables of counted pairs out.

mod clicked_column;
mod config;
mod deferred;
mod inputs;
mod positions;
mod rows;
mod seen;
mod user_query;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clickvec_tables::files::{self, Claim};
use clickvec_tables::outputs::{self, Kind};
use clickvec_tables::shown::shortened;

use crate::columns::Role;
use crate::emit::Emission;
use crate::error::needs_column;
use crate::gather::{Gatherer, Stay};
use crate::guess;
use crate::join::Searches;
use crate::paths::{is_special, is_standard_output};
use crate::preset::Preset;
use crate::report::{Count, LeftOut, Report};
use crate::robots::{Limits, Robots, SharedCounts, UserCounts};
use crate::tables::Options;
use crate::time::Time;
use crate::titles::TitleTexts;
use crate::{Error, ErrorKind, Result};
use deferred::Deferred;
use inputs::Inputs;
use rows::Counter;

pub use config::{Config, DEFAULT_MIN_USERS, DEFAULT_PER_DAY, DEFAULT_PRIVATE_USERS};
pub use positions::PositionWeighting;
pub use rows::value_fault;

/// A function that gets the number of rows read so far, and may break.
pub type OnProgress<'f> = dyn FnMut(u64) -> ControlFlow<()> + 'f;

/// The share of memory for counting pairs. Titles, searches and users share the rest.
const COUNTING: f64 = 0.6;

/// Reads and counts logs, writes the table or nothing, and returns a report. With the path `-` the table goes to `standard_output`.
/// `progress` gets the number of rows read now and then, and may break.
///
/// # Errors
///
/// [`Error`], [`ErrorKind::Interrupted`] if `progress` broke; a file at the output is then untouched.
pub fn prepare(
    config: &Config,
    standard_output: &mut dyn std::io::Write,
    progress: &mut OnProgress<'_>,
) -> Result<Report> {
    check_files(config)?;
    let mut options = config.table.clone();
    if let Some(preset) = config.preset {
        preset.log(&mut options)?;
    }
    if let Some(form) = options.time_format.as_deref().filter(|form| !Time::is_form(form)) {
        let found = format!("`{}`", shortened(form));
        let error = Error::expected(ErrorKind::Setting, "a form of dates, such as %d.%m.%Y %H:%M", found);
        return Err(error.help("see `strftime` for its parts").settings(&["time_format"]));
    }
    refuse_redirections(config)?;
    let folder = temporary_folder(config)?;
    let is_file = !is_special(&config.output);
    let _claim = is_file.then(|| Claim::new(&files::resolved(&config.output))).transpose()?;
    if is_file {
        files::remove_abandoned(&config.output);
    }
    let budget = |share: f64| (config.memory as f64 * share) as usize;
    // The memory for everything but counting.
    let mut left = budget(1.0 - COUNTING);
    let mut report = Report::default();

    let titles = match &config.titles {
        None => None,
        Some(titles) => {
            let options = config.preset.and_then(Preset::titles).unwrap_or_default();
            let titles = TitleTexts::read(titles, &options, left, config.max_bad)?;
            left = left.saturating_sub(titles.bytes());
            report.side_tables.push(titles.table.clone());
            report.titles_read = Some(titles.len() as u64);
            Some(titles)
        }
    };
    let queries = match (&config.queries, config.preset) {
        (Some(path), preset) => {
            let options = preset.and_then(Preset::queries).unwrap_or_default();
            let (searches, table) = Searches::read(path, options, left, config.max_bad)?;
            left = left.saturating_sub(searches.bytes());
            report.side_tables.push(table);
            Some(searches)
        }
        (None, Some(preset)) if preset.queries().is_some() => {
            let message = format!(
                "a log of `{}` has only the ids of queries; expected a table of their texts, found none",
                preset.name()
            );
            return Err(Error::new(ErrorKind::Setting, message).help("name it as `queries`").settings(&["queries"]));
        }
        (None, _) => None,
    };

    let copied = inputs::copy_streams(config, &folder)?;
    report.read_as_clicked = clicked_column::settle(config, &copied, &mut options)?;
    let inputs = Inputs::open(config, &options, copied)?;
    check_columns(config, &inputs, &options, titles.is_some(), queries.is_some())?;
    let has_users = inputs.has(Role::User);
    let min_users = match config.min_users {
        _ if config.private && !has_users => {
            return Err(needs_column("a private table", "private", Role::User));
        }
        Some(least) if least > 1 && !has_users => {
            return Err(needs_column("a least number of users", "min_users", Role::User));
        }
        None if config.private => Some(DEFAULT_PRIVATE_USERS),
        Some(least) => (least > 1).then_some(least),
        None => has_users.then_some(DEFAULT_MIN_USERS),
    };
    report.min_users = min_users;
    report.private = config.private;
    report.looks_like_user = inputs.look_like_user();

    // Without times there are no days.
    let day = config.limits.day.filter(|_| inputs.has(Role::Time));
    let mut limits = Limits { day, ..config.limits };
    let limited = has_users && (limits.day.is_some() || limits.log.is_some());
    let mut gatherer = Gatherer::new(budget(COUNTING), &folder, min_users.unwrap_or(0));
    let mut searches = queries;
    let mut robots = Robots::default();
    if let Some(extract) = options.extract {
        // Searches must be known before the first click is counted.
        let mut users = UserCounts::new(limits, left / 2, &folder);
        let mut found = Searches::new(left / 2, extract.is_by_time());
        inputs.scan(config, &options, limited.then_some(&mut users), &mut found, progress)?;
        (report.repeated_searches, report.contradicting_searches) = (found.repeated, found.contradicting);
        found.sort();
        searches = Some(found);
        let users = if users.saw_a_day() { users } else { users.without_days() };
        robots = users.robots()?;
    }
    let mut counter = Counter::new(config, |role| inputs.has(role), titles.as_ref(), searches.as_ref());
    if limited && options.extract.is_none() {
        // A user whose queries in the whole log do not exceed the daily limit is not a robot.
        let limit = limits.log.into_iter().chain(limits.day).min().unwrap_or(u64::MAX);
        let mut queries = SharedCounts::new(left / 4);
        let mut deferred = Deferred::new(budget(COUNTING) / 2, &folder)?;
        inputs.each(config, &options, &mut report, progress, |_, record| {
            counter.defer(record, &mut queries, &mut deferred, &options)
        })?;
        if let Some(suspects) = queries.over(limit) {
            limits.day = limits.day.filter(|_| counter.saw_a_time());
            let mut users = UserCounts::new(limits, left / 2, &folder);
            deferred.each_user_query(|user_query| {
                if suspects.contains(user_query.user) {
                    users.add(user_query.user, user_query.day.map(i64::from), user_query.query)
                } else {
                    Ok(())
                }
            })?;
            robots = users.robots()?;
        }
        deferred.count(&mut gatherer, |row| counter.judge(row, &robots))?;
    } else {
        inputs.each(config, &options, &mut report, progress, |_, record| {
            counter.row(record, &robots, &mut gatherer, &options)
        })?;
    }
    report.robots = limited.then_some(robots.len() as u64);
    let found = counter.finish();
    // Headers and events that are unknown were counted while reading.
    let LeftOut { headers, other_events, .. } = report.left_out;
    report.left_out = LeftOut { headers, other_events, ..found.left_out };
    report.personal = found.personal;
    report.searches = found.searches;
    report.null_texts = found.null_texts;
    report.with_entities = found.with_entities + titles.as_ref().map_or(0, |titles| titles.table.with_entities);
    report.clicks = found.clicks;
    report.users = has_users.then(|| Count::from(&found.users));
    report.items = inputs.has(Role::Item).then(|| Count::from(&found.items));
    report.items_without_title = titles.is_some().then(|| Count::from(&found.without_title));
    report.days = found.times.map(|(first, last)| (first.date(), last.date()));
    drop((titles, searches, robots));
    report.spills = gatherer.spills();

    // The click model is fitted to all queries, and a private table has them all.
    let stay = if config.position_weighting.is_none() && !config.private { Stay::WithUsers } else { Stay::All };
    let gathered = gatherer.finish(stay)?;
    report.too_few_users = gathered.few;
    let weights = match config.position_weighting {
        None => Vec::new(),
        Some(weighting) => {
            let (weights, positions) = positions::fit(&gathered, weighting)?;
            report.positions = Some(positions);
            weights
        }
    };
    let emission = Emission {
        output: &config.output,
        min_users,
        private: config.private,
        weights: &weights,
        impressions: config.impressions > 0.0,
    };
    emission.write(&gathered, &mut report, standard_output)?;
    Ok(report)
}

/// Refuses logs that are there twice or are no raw logs, and an output that would replace something else.
fn check_files(config: &Config) -> Result<()> {
    if let Some(counted) = config.inputs.iter().find(|log| has_rare(log)) {
        let what = "a private table, whose marks of rare queries would be lost";
        let help = "prepare the log again, or leave the column `rare` out";
        return Err(Error::expected(ErrorKind::Setting, "a raw log", what).help(help).at(counted));
    }
    outputs::refuse_repeated(&config.inputs, "log")?;
    let titles = config.titles.as_ref().map(|titles| &titles.path);
    let read = || config.inputs.iter().chain(titles).chain(&config.queries);
    if read().filter(|path| path.as_path() == Path::new("-")).count() > 1 {
        let error = Error::expected(ErrorKind::Setting, "standard input, `-`, once", "it several times");
        return Err(error.help("name files"));
    }
    if !is_standard_output(&config.output) {
        outputs::check([&config.output], read())?;
        outputs::refuse_other(&config.output, Kind::Table("query\ttitle\tcount"))?;
    }
    Ok(())
}

/// Returns whether a file has the marks of rare queries that a private preparation writes.
fn has_rare(path: &Path) -> bool {
    guess::header(path).is_some_and(|header| header.kind == guess::Kind::Clicks && guess::has(&header.names, "rare"))
}

/// Refuses an output that the shell has redirected to a file: replacing the file would leave its reader with the old
/// one.
fn refuse_redirections(config: &Config) -> Result<()> {
    let output = &config.output;
    let named = ["/dev/fd", "/proc/self/fd"].iter().any(|folder| output.starts_with(folder));
    let is_file = output.metadata().is_ok_and(|metadata| metadata.is_file());
    if (named || output == Path::new("/dev/stderr")) && !is_standard_output(output) && is_file {
        let expected = "a file, a pipe or standard output";
        let error = Error::expected(ErrorKind::Setting, expected, "a redirection to a file");
        return Err(error.help("name the file itself").at(output));
    }
    Ok(())
}

/// Returns the folder for temporary files: that of the output, or the current one if the output is a pipe or a device. Reports in
/// advance anything that would keep the output from being written.
fn temporary_folder(config: &Config) -> Result<PathBuf> {
    if is_special(&config.output) {
        return Ok(PathBuf::from("."));
    }
    files::check_writable(&config.output)?;
    Ok(files::folder_of(&files::resolved(&config.output)))
}

/// Checks that the log has the columns that the settings need.
fn check_columns(
    config: &Config,
    inputs: &Inputs,
    options: &Options,
    has_titles: bool,
    has_queries: bool,
) -> Result<()> {
    if options.extract.is_none() {
        let role = if has_queries { Role::Key } else { Role::Query };
        inputs.require(role, &options.columns)?;
        if has_titles || config.item_as_title {
            inputs.require(Role::Item, &options.columns)?;
        } else if !inputs.has(Role::Title) && inputs.has(Role::Item) {
            let error = Error::expected(ErrorKind::Setting, "a title for each item", "only items");
            let help = "name a table that gives each item its title as `titles`, or set `item_as_title`";
            return Err(error.help(help).settings(&["titles", "item_as_title"]));
        } else {
            inputs.require(Role::Title, &options.columns)?;
        }
    }
    let needs = |what, setting, role: Role| {
        if inputs.has(role) { Ok(()) } else { Err(needs_column(what, setting, role)) }
    };
    if config.limits.log.is_some() {
        needs("a limit of queries for each user", "max_queries", Role::User)?;
    }
    if config.needs_day_limit && config.limits.day.is_some() {
        needs("a limit of queries for each user and day", "max_queries", Role::User)?;
        needs("a limit of queries for each user and day", "max_queries", Role::Time)?;
    }
    if config.position_weighting.is_some() {
        needs("the correction of position bias", "correct_position_bias", Role::Position)?;
        needs("the correction of position bias", "correct_position_bias", Role::Clicked)?;
    }
    Ok(())
}
