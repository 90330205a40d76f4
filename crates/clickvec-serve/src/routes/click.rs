//! `POST /click` and `/judge`: what people did with an answer.

use std::collections::HashSet;
use std::fmt::{self, Formatter};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequest as _, Request, State};
use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::answer::Answer;
use crate::clicks::Lost;
use crate::fault::{Fault, Kind, quoted};
use crate::generation::Generation;
use crate::judgments::{DOWN, UP};
use crate::log::now;
use crate::request::{Asker, JsonBody, Whole};
use crate::service::{Service, fault_of};

/// A disk that is behind is given this time.
const DISK: Duration = Duration::from_secs(1);
/// A visit's name is at most this long.
const SESSION: usize = 128;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with `query`, and `id` or `shown`")]
pub(super) struct Clicked {
    query: String,
    /// The title that was clicked; none if people only looked.
    id: Option<String>,
    /// Its place, counted from 1.
    position: Option<Whole>,
    session: Option<String>,
    /// The titles that were shown, from the first place on. One post for a search, since each makes rows of its own.
    #[serde(default)]
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

#[derive(Serialize)]
struct Kept {
    kept: usize,
}

/// Keeps a click and what was shown.
pub(super) async fn click(
    State(service): State<Arc<Service>>,
    asker: Asker,
    request: Request,
) -> Result<Answer, Fault> {
    let Some(log) = &service.clicks else { return Err(off("clicks")) };
    let JsonBody(clicked) = JsonBody::from_request(request, &service).await?;
    let Clicked { query, id, position, session, shown, index } = clicked;
    check_query(&service, &query)?;
    if let Some(session) = session.as_ref().filter(|session| session.chars().count() > SESSION) {
        let expected = format!("a session of at most {SESSION} characters");
        return Err(Fault::field("session", expected, session.chars().count().to_string()));
    }
    if shown.len() > service.limits.batch {
        let expected = format!("at most {} titles", service.limits.batch);
        return Err(Fault::field("shown", expected, shown.len().to_string()));
    }
    let mut once = HashSet::new();
    if let Some(twice) = shown.iter().find(|id| !once.insert(id.as_str())) {
        return Err(Fault::field("shown", "each title once", format!("{} twice", quoted(twice))));
    }
    if id.is_none() && shown.is_empty() {
        return Err(Fault::field("id", "`id`, `shown` or both", "neither"));
    }
    let position = position.map(|Whole(position)| position);
    if let Some(found) = position.filter(|position| !(1..=u32::MAX as usize).contains(position)) {
        let expected = format!("a position counted from 1, at most {}", u32::MAX);
        return Err(Fault::field("position", expected, found.to_string()));
    }
    let place = id.as_ref().and_then(|id| shown.iter().position(|shown| shown == id)).map(|place| place + 1);
    if let (Some(place), Some(found)) = (place, position.filter(|position| Some(*position) != place)) {
        let expected = format!("the place of `id` in `shown`, {place}, or no position");
        return Err(Fault::field("position", expected, found.to_string()));
    }
    let rows = shown.len() + usize::from(id.is_some() && place.is_none());
    service.take_share(&asker, rows)?;
    let slot = service.slot(index.as_deref())?;
    let generation = service.generation(slot, None)?;
    let (time, mut lines, mut kept) = (now(), Vec::new(), 0);
    let mut row = |id: &str, clicked: bool, position: Option<usize>| -> Result<(), Fault> {
        let title = title_of(&generation, id)?;
        let line = Line {
            time: &time,
            index: &slot.name,
            query: &query,
            item: id,
            title: &title,
            clicked: u8::from(clicked),
            position,
            session: session.as_deref(),
        };
        serde_json::to_writer(&mut lines, &line).map_err(|error| Fault::internal(&error))?;
        lines.push(b'\n');
        kept += 1;
        Ok(())
    };
    for (at, shown) in (1..).zip(&shown) {
        row(shown, place == Some(at), Some(at))?;
    }
    if let (Some(id), None) = (&id, place) {
        row(id, true, position)?;
    }
    log.append(lines).await.map_err(|lost| match lost {
        Lost::Full => Fault::overloaded("room for clicks", "too many that wait for the disk", DISK),
        Lost::Io(error) => Fault::new(Kind::UNAVAILABLE, "to write the click to the disk", error.to_string())
            .help("nothing was kept; try again"),
    })?;
    service.metrics.kept("click", usize::from(id.is_some()));
    service.metrics.kept("shown", shown.len());
    let mut answer = Answer::of(&Kept { kept });
    answer.record.index = Some(slot.name.clone());
    Ok(answer)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with `query`, `id` and `grade`")]
pub(super) struct Judged {
    query: String,
    id: String,
    /// A thumb, a grade from 0 to 4, or nothing to take a judgment back.
    grade: Grade,
    index: Option<String>,
}

enum Grade {
    Number(u64),
    Up,
    Down,
    None,
}

impl<'de> Deserialize<'de> for Grade {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Grade, D::Error> {
        deserializer.deserialize_any(GradeVisitor)
    }
}

struct GradeVisitor;

impl Visitor<'_> for GradeVisitor {
    type Value = Grade;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a grade, which is \"up\", \"down\", a whole number from 0 to 4 or null")
    }

    fn visit_u64<E: de::Error>(self, grade: u64) -> Result<Grade, E> {
        match grade {
            0..=4 => Ok(Grade::Number(grade)),
            _ => Err(E::invalid_value(Unexpected::Unsigned(grade), &self)),
        }
    }

    // 3.0 is 3: JSON does not tell them apart.
    fn visit_f64<E: de::Error>(self, grade: f64) -> Result<Grade, E> {
        if grade.fract() == 0.0 && (0.0..=4.0).contains(&grade) {
            Ok(Grade::Number(grade as u64))
        } else {
            Err(E::invalid_value(Unexpected::Float(grade), &self))
        }
    }

    fn visit_str<E: de::Error>(self, thumb: &str) -> Result<Grade, E> {
        match thumb {
            "up" => Ok(Grade::Up),
            "down" => Ok(Grade::Down),
            _ => Err(E::invalid_value(Unexpected::Str(thumb), &self)),
        }
    }

    fn visit_unit<E: de::Error>(self) -> Result<Grade, E> {
        Ok(Grade::None)
    }
}

#[derive(Serialize)]
struct Judgments {
    judgments: usize,
}

/// Keeps a judgment.
pub(super) async fn judge(
    State(service): State<Arc<Service>>,
    asker: Asker,
    request: Request,
) -> Result<Answer, Fault> {
    if service.judgments.is_none() {
        return Err(off("judgments"));
    }
    let JsonBody(Judged { query, id, grade, index }) = JsonBody::from_request(request, &service).await?;
    check_query(&service, &query)?;
    service.take_share(&asker, 1)?;
    let grade = match grade {
        Grade::Number(grade) => Some(grade as u8),
        Grade::Up => Some(UP),
        Grade::Down => Some(DOWN),
        Grade::None => None,
    };
    let slot = service.slot(index.as_deref())?;
    let generation = service.generation(slot, None)?;
    let (name, service) = (slot.name.clone(), Arc::clone(&service));
    let of_slot = name.clone();
    let written = tokio::task::spawn_blocking(move || {
        let title = title_of(&generation, &id)?;
        if grade.is_some() {
            check_other_indexes(&service, &of_slot, &id, &title)?;
        }
        let judgments = service.judgments.as_ref().ok_or_else(|| off("judgments"))?;
        let kept = judgments.judge(&query, &id, &title, grade).map_err(|error| {
            Fault::new(Kind::UNAVAILABLE, "to write the judgment to the disk", error.to_string())
                .help("nothing was kept; try again")
        })?;
        service.metrics.kept("judgment", 1);
        Ok::<usize, Fault>(kept)
    });
    let judgments = written.await.map_err(|error| Fault::internal(&error))??;
    let mut answer = Answer::of(&Judgments { judgments });
    answer.record.index = Some(name);
    Ok(answer)
}

/// Refuses an id that has another text in another index: the table of judgments has one text for each id.
fn check_other_indexes(service: &Service, own: &str, id: &str, title: &str) -> Result<(), Fault> {
    for slot in service.slots.iter().filter(|slot| slot.name != own) {
        // One that is damaged answers nothing, so it has no say either.
        let Ok(generation) = service.generation(slot, None) else { continue };
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
    if query.trim().is_empty() { Err(Fault::field("query", "a query", "none")) } else { Ok(()) }
}

fn title_of(generation: &Generation, id: &str) -> Result<String, Fault> {
    let document = generation.index.get(id).map_err(|error| fault_of(&error))?;
    document
        .map(|document| document.title)
        .ok_or_else(|| Fault::new(Kind::NOT_FOUND, "the id of a title in the index", quoted(id)).param("id"))
}

fn off(what: &str) -> Fault {
    Fault::new(Kind::NOT_FOUND, format!("a service that keeps {what}"), "one that does not")
        .help(format!("start it with a file for {what}"))
}
