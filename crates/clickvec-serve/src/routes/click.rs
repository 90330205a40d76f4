//! `POST /click` and `/judge`: what people did with an answer.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::{FromRequest as _, Request, State};
use clickvec::internals::text::is_invisible;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::answer::{Record, Recorded};
use crate::clicks::LATER;
use crate::clients::Caller;
use crate::clock;
use crate::fault::{Fault, Kind, quoted};
use crate::generation::Generation;
use crate::request::{JsonBody, WholeNumber, nullable};
use crate::service::Service;
use crate::sheet::{DOWN, SheetRow, UP};

/// A visit's name is at most this long.
const SESSION: usize = 128;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with `query`, and `id` or `shown`")]
pub(super) struct Clicked {
    query: String,
    /// The title that was clicked; none if people only looked.
    id: Option<String>,
    /// Its rank, counted from 1.
    position: Option<WholeNumber>,
    session: Option<String>,
    /// The titles that were shown, the first one first. One post for a search, since each makes rows of its own.
    #[serde(default, deserialize_with = "nullable")]
    shown: Vec<String>,
    index: Option<String>,
}

/// A line of the log, in the form that `prepare` reads.
#[derive(Serialize)]
struct Line<'a> {
    time: &'a str,
    index: &'a str,
    query: &'a str,
    item: &'a str,
    title: &'a str,
    clicked: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
}

/// A line of `ubi_queries` of User Behavior Insights 1.3.
#[derive(Serialize)]
struct UbiQuery<'a> {
    timestamp: &'a str,
    application: &'a str,
    query_id: &'a str,
    user_query: &'a str,
    object_id_field: &'a str,
    query_response_hit_ids: &'a [String],
}

/// A line of `ubi_events`.
#[derive(Serialize)]
struct UbiEvent<'a> {
    timestamp: &'a str,
    application: &'a str,
    action_name: &'a str,
    query_id: &'a str,
    user_query: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
    event_attributes: Value,
}

/// Returns the lines of the queries and the events of User Behavior Insights for those of the log of clicks.
fn ubi(rows: &[Line<'_>], shown: &[String]) -> Result<[Vec<u8>; 2], Fault> {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    const ID: &str = "id";
    let [mut queries, mut events] = [Vec::new(), Vec::new()];
    let Some(&Line { time: timestamp, index: application, query: user_query, .. }) = rows.first() else {
        return Ok([queries, events]);
    };
    let (number, since) = (NUMBER.fetch_add(1, Ordering::Relaxed), clock::timestamp().as_nanosecond());
    let query_id = &format!("{:x}-{since:x}-{number:x}", std::process::id());
    let query =
        UbiQuery { timestamp, application, query_id, user_query, object_id_field: ID, query_response_hit_ids: shown };
    serde_json::to_writer(&mut queries, &query)?;
    queries.push(b'\n');
    for Line { item, title, clicked, position, session, .. } in rows {
        let object = json!({"object_id": item, "object_id_field": ID, "name": title});
        let event_attributes = match position {
            Some(position) => json!({"object": object, "position": {"ordinal": position}}),
            None => json!({"object": object}),
        };
        let actions = [("impression", shown.iter().any(|id| id == item)), ("click", *clicked == 1)];
        for (action_name, _) in actions.into_iter().filter(|(_, is_meant)| *is_meant) {
            let (session_id, event_attributes) = (*session, event_attributes.clone());
            let event =
                UbiEvent { timestamp, application, action_name, query_id, user_query, session_id, event_attributes };
            serde_json::to_writer(&mut events, &event)?;
            events.push(b'\n');
        }
    }
    Ok([queries, events])
}

/// Records a click and the titles shown.
pub(super) async fn click(
    State(service): State<Arc<Service>>,
    caller: Caller,
    request: Request,
) -> Result<Recorded, Fault> {
    let records = service.records.as_ref().ok_or_else(no_records)?;
    let JsonBody(clicked) = JsonBody::from_request(request, &service).await?;
    let Clicked { query, id, position, session, shown, index } = clicked;
    check_query(&service, &query)?;
    if let Some(session) = session.as_ref().filter(|session| session.chars().count() > SESSION) {
        let expected = format!("a session of at most {SESSION} characters");
        return Err(Fault::field("session", expected, session.chars().count().to_string()));
    }
    if shown.len() > service.config.limits.batch {
        let expected = format!("at most {} titles", service.config.limits.batch);
        return Err(Fault::field("shown", expected, shown.len().to_string()));
    }
    let mut once = HashSet::new();
    if let Some(twice) = shown.iter().find(|id| !once.insert(id.as_str())) {
        return Err(Fault::field("shown", "each title once", format!("{} twice", quoted(twice))));
    }
    if id.is_none() && shown.is_empty() {
        return Err(Fault::field("id", "`id`, `shown` or both", "neither"));
    }
    let position = position.map(|WholeNumber(position)| position);
    if let Some(found) = position.filter(|position| !(1..=u32::MAX as usize).contains(position)) {
        let expected = format!("a position counted from 1, at most {}", u32::MAX);
        return Err(Fault::field("position", expected, found.to_string()));
    }
    let rank = id.as_ref().and_then(|id| shown.iter().position(|shown| shown == id)).map(|rank| rank + 1);
    if let (Some(rank), Some(found)) = (rank, position.filter(|position| Some(*position) != rank)) {
        let expected = format!("the position of `id` in `shown`, {rank}, or no position");
        return Err(Fault::field("position", expected, found.to_string()));
    }
    let rows = shown.len() + usize::from(id.is_some() && rank.is_none());
    service.take_share(&caller, rows)?;
    let generation = service.generation(index.as_deref(), None)?;
    let time = clock::now();
    let mut listed: Vec<(&str, bool, Option<usize>)> =
        (1..).zip(&shown).map(|(at, shown)| (shown.as_str(), rank == Some(at), Some(at))).collect();
    listed.extend(id.as_deref().filter(|_| rank.is_none()).map(|id| (id, true, position)));
    let titles = listed.iter().map(|(id, ..)| find_title(&generation, id)).collect::<Result<Vec<String>, Fault>>()?;
    let line = |(listed, title)| {
        let &(item, clicked, position): &(&'_ str, bool, Option<usize>) = listed;
        let (index, clicked, session) = (generation.name.as_str(), u8::from(clicked), session.as_deref());
        Line { time: &time, index, query: &query, item, title, clicked, position, session }
    };
    let rows_of_log: Vec<Line<'_>> = listed.iter().zip(titles.iter().map(String::as_str)).map(line).collect();
    let mut lines = Vec::new();
    for line in &rows_of_log {
        serde_json::to_writer(&mut lines, line)?;
        lines.push(b'\n');
    }
    if let Some([queries, events]) = &records.ubi {
        let [query, actions] = ubi(&rows_of_log, &shown)?;
        queries.append(query).await?;
        events.append(actions).await?;
    }
    records.clicks.append(lines).await?;
    service.metrics.recorded("click", usize::from(id.is_some()));
    service.metrics.recorded("shown", shown.len());
    Ok(Recorded(json!({"rows": rows}), Record { index: Some(generation.name.clone()), ..Record::default() }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with `query`, `id` and `grade`")]
pub(super) struct Judged {
    query: String,
    id: String,
    /// A thumb, a grade from 0 to 4, or nothing to take a judgment back.
    grade: Value,
    index: Option<String>,
}

/// Reads a grade; `None` takes a judgment back.
fn read_grade(grade: &Value) -> Result<Option<u8>, Fault> {
    let number = WholeNumber::deserialize(grade).ok().and_then(|WholeNumber(number)| u8::try_from(number).ok());
    match (grade, grade.as_str(), number) {
        (Value::Null, ..) => Ok(None),
        (_, Some("up"), _) => Ok(Some(UP)),
        (_, Some("down"), _) => Ok(Some(DOWN)),
        (_, _, Some(number)) if number <= UP => Ok(Some(number)),
        _ => {
            let expected = r#"a grade, which is "up", "down", a whole number from 0 to 4 or null"#;
            Err(Fault::field("grade", expected, quoted(&grade.to_string())))
        }
    }
}

/// Records a judgment.
pub(super) async fn judge(
    State(service): State<Arc<Service>>,
    caller: Caller,
    request: Request,
) -> Result<Recorded, Fault> {
    if service.records.is_none() {
        return Err(no_records());
    }
    let JsonBody(Judged { query, id, grade, index }) = JsonBody::from_request(request, &service).await?;
    check_query(&service, &query)?;
    let grade = read_grade(&grade)?;
    service.take_share(&caller, 1)?;
    let generation = service.generation(index.as_deref(), None)?;
    let (name, service) = (generation.name.clone(), Arc::clone(&service));
    let sheet = Arc::clone(&service.records.as_ref().ok_or_else(no_records)?.judgments);
    // One at a time: a disk that is behind must not fill the service with requests.
    let Ok(mut sheet) = tokio::time::timeout(service.config.limits.wait, sheet.lock_owned()).await else {
        service.metrics.shed("judgments");
        return Err(Fault::overloaded("room for judgments", "too many that wait for the disk", LATER));
    };
    let written = tokio::task::spawn_blocking(move || {
        let title = find_title(&generation, &id)?;
        if grade.is_some() {
            check_other_indexes(&service, &generation.name, &id, &title)?;
        }
        let row = SheetRow::new(&query, &id, &title, grade);
        let written = if grade.is_some() { sheet.grade(row) } else { sheet.take_back(&row) };
        written.map_err(|error| Fault::not_written("judgment", &error.message()))?;
        service.metrics.recorded("judgment", 1);
        Ok::<usize, Fault>(sheet.graded())
    });
    let judgments = written.await??;
    Ok(Recorded(json!({"judgments": judgments}), Record { index: Some(name), ..Record::default() }))
}

/// Refuses an id that has another text in another index: the table of judgments has one text for each id.
fn check_other_indexes(service: &Service, own: &str, id: &str, title: &str) -> Result<(), Fault> {
    for slot in service.slots.iter().filter(|slot| slot.name != own) {
        // One that is damaged answers nothing, so it has no say either.
        let Ok(generation) = service.generation(Some(&slot.name), None) else { continue };
        let Ok(other) = generation.index.get(id) else { continue };
        if let Some(other) = other.filter(|other| other.title != title) {
            let (expected, found) =
                (format!("an id of one title in all indexes, {}", quoted(title)), quoted(&other.title));
            let fault = Fault::field("id", expected, format!("{found} in the index {}", slot.name));
            return Err(fault.help("keep judgments of several collections with a service for each"));
        }
    }
    Ok(())
}

/// Refuses a query that is too long, or none: what people did with an answer has a query.
fn check_query(service: &Service, query: &str) -> Result<(), Fault> {
    service.check_text("query", query)?;
    let says_nothing = query.chars().all(|c| c.is_whitespace() || c.is_control() || is_invisible(c));
    if says_nothing { Err(Fault::field("query", "a query", "none")) } else { Ok(()) }
}

fn find_title(generation: &Generation, id: &str) -> Result<String, Fault> {
    generation
        .index
        .get(id)?
        .map(|document| document.title)
        .ok_or_else(|| Fault::new(Kind::NOT_FOUND, "the id of a title in the index", quoted(id)).param("id"))
}

fn no_records() -> Fault {
    let fault = Fault::new(Kind::NOT_FOUND, "a service that records clicks and judgments", "one that does not");
    fault.help("start it with a folder for them")
}
