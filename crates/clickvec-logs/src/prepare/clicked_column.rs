//! Finds the column that says what was clicked.

use std::path::Path;

use clickvec_tables::table::{ClickColumn, ClickColumns, FIRST_ROWS, Next, Record};

use super::config::Config;
use super::inputs::{Copied, open_table};
use crate::columns::Role;
use crate::error::ask;
use crate::tables::Options;
use crate::{Error, ErrorKind, Result};

/// The column of a click log with factors of the loss, which logs do not have.
const WEIGHT: &str = "weight";

/// Names the column of clicks, or of their counts, in `options` if the logs have one by its name and values. Returns its role and name.
///
/// # Errors
///
/// [`ErrorKind::Setting`] if a column may be one of clicks, or has grades, and `options` do not settle it.
pub(super) fn settle(config: &Config, copied: &Copied, options: &mut Options) -> Result<Option<(Role, String)>> {
    let columns = &options.columns;
    if options.extract.is_some() || columns.is_named(Role::Clicked) || columns.get(Role::Clicked).is_none() {
        return Ok(None);
    }
    let mut found: Option<(Role, String)> = None;
    for path in &config.inputs {
        let column = detect(path, copied, options)?;
        if found.is_none() {
            found = column;
        }
    }
    if let Some((role, name)) = &found {
        options.columns.name(*role, name.clone());
    }
    options.watches_clicks = !matches!(found, Some((Role::Clicked, _)));
    Ok(found)
}

/// Returns the column of clicks of one log, unless it has its usual name.
fn detect(path: &Path, copied: &Copied, options: &Options) -> Result<Option<(Role, String)>> {
    let mut table = open_table(path, copied, options)?;
    if table.has(Role::Clicked.name()) {
        return Ok(None);
    }
    let columns = &options.columns;
    let has = |role: Role| columns.names_of(role).any(|name| table.has(name));
    // With counts they are clicks: a simulated log has grades too.
    let is_weighted = table.has(WEIGHT) && columns.is_free(WEIGHT);
    let is_counted = columns.is_named(Role::Count) || has(Role::Count) || is_weighted;
    let is_logged = [Role::User, Role::Time, Role::Position, Role::Session].into_iter().any(has);
    let mut free = ClickColumns::new(&mut table, |name| columns.is_free(name));
    let mut record = Record::default();
    for _ in 0..FIRST_ROWS {
        match table.next(&mut record) {
            Ok(Next::Row) => drop(free.add(&record)),
            // The log's reader reports any fault.
            Ok(Next::End) | Err(_) => break,
            Ok(Next::Header | Next::Broken(_)) => {}
        }
    }
    match free.finding(is_counted, is_logged) {
        None if is_weighted && !is_logged => Err(ask(path, WEIGHT, "whose weights of clicks would be lost")),
        None => Ok(None),
        Some(ClickColumn::Flag(name)) => Ok(Some((Role::Clicked, name.to_owned()))),
        Some(ClickColumn::Count(name)) => Ok(Some((Role::Count, name.to_owned()))),
        Some(ClickColumn::Unclear(name, why)) => Err(ask(path, name, why)),
        Some(ClickColumn::Grade(name)) => {
            let found = format!("judged titles: the column `{name}`");
            let help = "`evaluate` reads them; if these are clicks, name the column that says so as `clicked=NAME` in `columns`, or \
                        `clicked=-` if every row is one";
            Err(Error::expected(ErrorKind::Setting, "a log", found).help(help).settings(&["columns"]).at(path))
        }
    }
}
