//! Searches and clicks in the events of UBI, GA4 and Snowplow.
//!
//! In these logs a click does not name its query. A search is an event of its own, and an id (UBI) or the visit (GA4,
//! Snowplow) connects the two. Both are read here, with the id or the visit as the key.

use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::columns::Role;
use crate::user::user;
use clickvec_tables::null_text;
use clickvec_tables::table::{lookup, no_text, scalar};

const PRODUCTS: &str = "contexts_com_snowplowanalytics_snowplow_ecommerce_product_1";
const ACTION: &str = "unstruct_event_com_snowplowanalytics_snowplow_ecommerce_snowplow_ecommerce_action_1";
const SITE_SEARCH: &str = "unstruct_event_com_snowplowanalytics_snowplow_site_search_1";

/// The source of the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extract {
    /// User Behavior Insights.
    Ubi,
    /// Google Analytics 4.
    Ga4,
    /// Snowplow.
    Snowplow,
}

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A query, which clicks refer to by its key.
    Search,
    /// This many clicks. Showings are events of their own, so these are no further showings.
    Clicks(u64),
    /// A title that was shown.
    Showing,
}

/// A row made from an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// Its kind.
    pub event: Event,
    /// The fields.
    pub fields: Vec<(Role, String)>,
    /// The role of a field that is no text, and what it is.
    pub fault: Option<(Role, &'static str)>,
}

/// An action of UBI that counts as clicks, and as how many.
pub type Action = (String, u64);

impl Extract {
    /// Returns the roles of the rows.
    pub fn roles(self) -> &'static [Role] {
        &[
            Role::Query,
            Role::Title,
            Role::Item,
            Role::Clicked,
            Role::Position,
            Role::Time,
            Role::User,
            Role::Session,
            Role::Key,
        ]
    }

    /// Returns the column of times.
    pub fn time_column(self) -> &'static str {
        match self {
            Extract::Ubi => "timestamp",
            Extract::Ga4 => "event_timestamp",
            Extract::Snowplow => "collector_tstamp",
        }
    }

    /// Returns whether a click belongs to the last search before it, rather than to any search with its key.
    pub fn is_by_time(self) -> bool {
        self != Extract::Ubi
    }

    /// Appends the rows of an event. There are none unless it is a search, a click, a showing or one of the `actions`; then
    /// returns the name of the event.
    pub fn read<'e>(self, event: &'e Value, actions: &[Action], rows: &mut VecDeque<Draft>) -> &'e str {
        match self {
            Extract::Ubi => ubi(event, actions, rows),
            Extract::Ga4 => ga4(event, rows),
            Extract::Snowplow => snowplow(event, rows),
        }
        let name = match self {
            Extract::Ubi => source(event).get("action_name"),
            Extract::Ga4 => event.get("event_name"),
            Extract::Snowplow => event.get("event_name").or(event.get("event")),
        };
        name.and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the object whose members are the columns of an event.
    pub fn columns(self, event: &Value) -> &Value {
        if self == Extract::Ubi { source(event) } else { event }
    }
}

impl Draft {
    fn new(event: Event) -> Draft {
        Draft { event, fields: Vec::new(), fault: None }
    }

    fn with(mut self, role: Role, value: Option<&Value>) -> Draft {
        self.set(role, value);
        self
    }

    /// Sets the field of a role, and forgets what it was.
    pub fn set(&mut self, role: Role, value: Option<&Value>) {
        self.fields.retain(|(other, _)| *other != role);
        self.fault = self.fault.filter(|(other, _)| *other != role);
        let Some(value) = value else { return };
        let is_flag = value.is_boolean() && matches!(role, Role::Query | Role::Title | Role::Item);
        let is_id = matches!(role, Role::Item | Role::User | Role::Session | Role::Key);
        let has_several = is_id && value.as_array().is_some_and(|ids| ids.len() > 1);
        let fault = is_flag.then_some("true or false").or(has_several.then_some("a list of several"));
        if let Some(found) = no_text(value).or(fault) {
            self.fault = self.fault.or(Some((role, found)));
        } else if let Some(text) = scalar(value) {
            self.fields.push((role, text));
        }
    }

    fn text(mut self, role: Role, text: impl Into<String>) -> Draft {
        self.fields.push((role, text.into()));
        self
    }
}

/// Returns a document, which is bare or in the `_source` of a dump.
fn source(event: &Value) -> &Value {
    event.get("_source").filter(|source| source.is_object()).unwrap_or(event)
}

/// Reads a document of `ubi_queries` or `ubi_events`, or a row of the tables that UBI's data generator writes.
fn ubi(event: &Value, actions: &[Action], rows: &mut VecDeque<Draft>) {
    let event = source(event);
    // A person who logs in half-way gets a user_id and is still the same person.
    let user = known(event.get("client_id")).or(event.get("user_id"));
    let common = |draft: Draft| {
        draft
            .with(Role::Key, event.get("query_id"))
            .with(Role::Time, event.get("timestamp"))
            .with(Role::User, user)
            .with(Role::Session, event.get("session_id"))
    };
    let query = event.get("user_query").filter(|query| !query.is_null());
    let Some(action) = event.get("action_name") else {
        if query.is_some() {
            rows.push_back(common(Draft::new(Event::Search)).with(Role::Query, query));
        }
        return;
    };
    let Some(action) = action.as_str() else { return };
    let weight = actions.iter().find_map(|(name, clicks)| (name == action).then_some(*clicks));
    let event_kind = match (weight, action) {
        (Some(clicks), _) => Event::Clicks(clicks),
        (None, "click" | "click_through") => Event::Clicks(1),
        (None, "impression") => Event::Showing,
        _ => return,
    };
    // In a table, one field may have all attributes.
    let attributes = event.get("event_attributes").and_then(Value::as_str);
    let parsed = attributes
        .and_then(|text| serde_json::from_str(text).ok())
        .map(|value: Value| json!({"event_attributes": value}));
    let with_attributes = parsed.as_ref().unwrap_or(event);
    let object = |key: &str| lookup(with_attributes, &format!("event_attributes.object.{key}"));
    let position = lookup(with_attributes, "event_attributes.position.ordinal");
    rows.push_back(
        common(Draft::new(event_kind))
            .with(Role::Query, own(query))
            .with(Role::Item, object("object_id").or_else(|| event.get("object_id")))
            .with(Role::Title, object("name").or_else(|| object("description")))
            .with(Role::Position, position.or_else(|| event.get("rank")).or_else(|| event.get("position"))),
    );
}

/// Reads a row of a table `events_YYYYMMDD`.
fn ga4(event: &Value, rows: &mut VecDeque<Draft>) {
    let parameter = |name: &str| {
        let parameters = event.get("event_params")?.as_array()?;
        let value = parameters.iter().find(|parameter| parameter.get("key").and_then(Value::as_str) == Some(name))?;
        let value = value.get("value")?;
        ["string_value", "int_value", "double_value", "float_value"]
            .iter()
            .find_map(|kind| value.get(kind).filter(|value| !value.is_null()))
    };
    let user = known(event.get("user_pseudo_id"));
    let session = set(parameter("ga_session_id"));
    // Session numbers are unique only for a user. Without a user, one number would stand for visits of many people.
    let key = match (user.and_then(scalar), session.and_then(scalar)) {
        (Some(user), Some(session)) => format!("{}:{user}/{session}", user.len()),
        _ => return,
    };
    let common = |draft: Draft| {
        draft
            .text(Role::Key, key.as_str())
            .with(Role::Time, event.get("event_timestamp"))
            .with(Role::User, user)
            .text(Role::Session, key.as_str())
    };
    let term = set(parameter("search_term"));
    let event_kind = match event.get("event_name").and_then(Value::as_str) {
        Some("search" | "view_search_results") => {
            rows.push_back(common(Draft::new(Event::Search)).with(Role::Query, term));
            return;
        }
        Some("select_item") => Event::Clicks(1),
        Some("view_item_list") => Event::Showing,
        _ => return,
    };
    for item in event.get("items").and_then(Value::as_array).into_iter().flatten() {
        rows.push_back(
            common(Draft::new(event_kind))
                .with(Role::Query, own(term))
                .with(Role::Item, set(item.get("item_id")))
                .with(Role::Title, set(item.get("item_name")))
                .with(Role::Position, item.get("item_list_index").filter(|index| is_index(index))),
        );
    }
}

/// Returns the value, unless it means "missing": BigQuery writes `(not set)`.
fn set(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| {
        scalar(value).is_some_and(|text| !matches!(text.trim().to_ascii_lowercase().as_str(), "" | "(not set)"))
    })
}

/// Returns the query of a click, unless it means nothing; then that of the search counts.
fn own(query: Option<&Value>) -> Option<&Value> {
    query.filter(|query| scalar(query).is_none_or(|text| null_text(&text).is_none()))
}

/// Returns the id, if it identifies a user.
fn known(id: Option<&Value>) -> Option<&Value> {
    id.filter(|id| scalar(id).is_some_and(|text| user(&text).is_some()))
}

fn is_index(value: &Value) -> bool {
    scalar(value).is_some_and(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Reads an enriched event, either as JSON of the analytics SDKs or as a row of the warehouse.
fn snowplow(event: &Value, rows: &mut VecDeque<Draft>) {
    let either = |first: &str, second: &str| event.get(first).filter(|value| !value.is_null()).or(event.get(second));
    let session = event.get("domain_sessionid");
    let common = |draft: Draft| {
        draft
            .with(Role::Key, session)
            .with(Role::Time, either("derived_tstamp", "collector_tstamp"))
            .with(Role::User, known(event.get("domain_userid")).or(event.get("network_userid")))
            .with(Role::Session, session)
    };
    if let Some(search) = entity(event, SITE_SEARCH) {
        rows.push_back(common(Draft::new(Event::Search)).with(Role::Query, search.get("terms")));
        return;
    }
    let event_kind = match entity(event, ACTION).and_then(|action| action.get("type")?.as_str()) {
        Some("list_click") => Event::Clicks(1),
        Some("list_view") => Event::Showing,
        _ => return,
    };
    for product in entity_of(event, PRODUCTS).and_then(Value::as_array).into_iter().flatten() {
        rows.push_back(
            common(Draft::new(event_kind))
                .with(Role::Item, product.get("id"))
                .with(Role::Title, product.get("name"))
                .with(Role::Position, product.get("position")),
        );
    }
}

/// Returns the value whose key names a schema with its major version. BigQuery's older loader appends `_0_0` and the like.
fn entity_of<'a>(event: &'a Value, name: &str) -> Option<&'a Value> {
    if let Some(value) = event.get(name) {
        return Some(value).filter(|value| !value.is_null());
    }
    let of = |key: &str| key.strip_prefix(name).is_some_and(|rest| rest.starts_with('_'));
    event.as_object()?.iter().find(|(key, value)| of(key) && !value.is_null()).map(|(_, value)| value)
}

fn entity<'a>(event: &'a Value, name: &str) -> Option<&'a Value> {
    entity_of(event, name).filter(|value| value.is_object())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(extract: Extract, event: &str) -> Vec<(Event, String)> {
        let mut rows = VecDeque::new();
        extract.read(&serde_json::from_str(event).unwrap(), &[("purchase".to_owned(), 5)], &mut rows);
        let field = |(role, text): &(Role, String)| format!("{}={text}", role.name());
        let text = |row: &Draft| row.fields.iter().map(field).collect::<Vec<_>>().join(" ");
        rows.iter().map(|row| (row.event, text(row))).collect()
    }

    #[test]
    fn user_behavior_insights() {
        let query = r#"{"_index":"ubi_queries","_source":{"query_id":"q1","client_id":"c1","user_query":"red shoes",
            "timestamp":"2024-05-17T08:30:00Z","query_response_hit_ids":["7","8"]}}"#;
        let expected = "query_id=q1 time=2024-05-17T08:30:00Z user=c1 query=red shoes";
        assert_eq!(rows(Extract::Ubi, query), [(Event::Search, expected.to_owned())]);
        let event = r#"{"action_name":"ACTION","query_id":"q1","client_id":"c1","timestamp":"2024-05-17T08:30:09Z",
            "event_attributes":{"object":{"object_id":7,"object_id_field":"sku"},"position":{"ordinal":3}}}"#;
        let expected = "query_id=q1 time=2024-05-17T08:30:09Z user=c1 item=7 position=3".to_owned();
        for (action, kind) in [
            ("click", Event::Clicks(1)),
            ("click_through", Event::Clicks(1)),
            ("impression", Event::Showing),
            ("purchase", Event::Clicks(5)),
        ] {
            assert_eq!(rows(Extract::Ubi, &event.replace("ACTION", action)), [(kind, expected.clone())]);
        }
        let own = event.replace("\"query_id\":\"q1\"", "\"query_id\":\"q1\",\"user_query\":\"boots\"");
        assert!(rows(Extract::Ubi, &own.replace("ACTION", "click"))[0].1.contains(" query=boots "));
        let generated = r#"{"action_name":"click","query_id":"q1","object_id":"7","rank":"0"}"#;
        assert_eq!(rows(Extract::Ubi, generated)[0].1, "query_id=q1 item=7 position=0");
        assert!(rows(Extract::Ubi, &event.replace("ACTION", "add_to_cart")).is_empty());
    }

    #[test]
    fn who_logs_in_stays_one_person() {
        let user = |extract, event: &str| {
            let rows = rows(extract, event);
            rows[0].1.split(' ').find_map(|field| field.strip_prefix("user=")).map(str::to_owned)
        };
        for (ids, expected) in [
            (r#""client_id":"c""#, Some("c")),
            (r#""client_id":"c","user_id":"u""#, Some("c")),
            (r#""client_id":"null","user_id":"u""#, Some("u")),
            (r#""client_id":" ","user_id":"u""#, Some("u")),
            (r#""user_id":"u""#, Some("u")),
        ] {
            let event = format!(r#"{{"query_id":"q","user_query":"shoes",{ids}}}"#);
            assert_eq!(user(Extract::Ubi, &event).as_deref(), expected, "{ids}");
        }
        for (domain, expected) in [("d", "d"), ("", "n"), ("unknown", "n")] {
            let event =
                format!(r#"{{"domain_userid":"{domain}","network_userid":"n","{SITE_SEARCH}":{{"terms":"a"}}}}"#);
            assert_eq!(user(Extract::Snowplow, &event).as_deref(), Some(expected), "{domain}");
        }
    }

    #[test]
    fn google_analytics_4() {
        let event = r#"{"event_name":"NAME","event_timestamp":"1715934600000000","user_pseudo_id":"5.6",
            "event_params":[{"key":"ga_session_id","value":{"string_value":null,"int_value":"9"}}PARAM],
            "items":[{"item_id":"7","item_name":"Shoes","item_list_index":"2"},
                     {"item_id":"8","item_name":"Boots","item_list_index":"(not set)"}]}"#;
        let term = r#",{"key":"search_term","value":{"string_value":"red shoes"}}"#;
        let search = event.replace("NAME", "view_search_results").replace("PARAM", term);
        let expected = "query_id=3:5.6/9 time=1715934600000000 user=5.6 session=3:5.6/9 query=red shoes";
        assert_eq!(rows(Extract::Ga4, &search), [(Event::Search, expected.to_owned())]);
        let click = rows(Extract::Ga4, &event.replace("NAME", "select_item").replace("PARAM", ""));
        assert!(click[0].1.ends_with("item=7 title=Shoes position=2"), "{click:?}");
        assert!(click[1].1.ends_with("item=8 title=Boots"), "{click:?}");
        for nobody in ["(not set)", "", "null"] {
            let search = search.replace("5.6", nobody);
            assert!(rows(Extract::Ga4, &search).is_empty(), "{nobody}");
        }
        for no_visit in ["(not set)", ""] {
            let search = search.replace("\"9\"", &format!("\"{no_visit}\""));
            assert!(rows(Extract::Ga4, &search).is_empty(), "{no_visit}");
        }
        for nothing in ["(not set)", "(Not Set)", " "] {
            let term = term.replace("red shoes", nothing);
            let search = rows(Extract::Ga4, &event.replace("NAME", "search").replace("PARAM", &term));
            assert!(search[0].1.ends_with("session=3:5.6/9"), "{search:?}");
            let event = event.replace("Shoes", nothing).replace("\"8\"", &format!("\"{nothing}\""));
            let click = rows(Extract::Ga4, &event.replace("NAME", "select_item").replace("PARAM", &term));
            assert!(click[0].1.ends_with("item=7 position=2"), "{click:?}");
            assert!(click[1].1.ends_with("title=Boots"), "{click:?}");
        }
        assert!(rows(Extract::Ga4, &event.replace("NAME", "purchase").replace("PARAM", "")).is_empty());
    }

    #[test]
    fn snowplow() {
        let search = format!(
            r#"{{"domain_userid":"u","domain_sessionid":"s","derived_tstamp":"2024-05-17T08:30:00Z",
            "{SITE_SEARCH}":{{"terms":["red","shoes"]}}}}"#
        );
        let expected = "query_id=s time=2024-05-17T08:30:00Z user=u session=s query=red shoes";
        assert_eq!(rows(Extract::Snowplow, &search), [(Event::Search, expected.to_owned())]);
        for version in ["", "_0_0"] {
            let click = format!(
                r#"{{"network_userid":"n","domain_userid":null,"domain_sessionid":"s","collector_tstamp":"2024-05-17",
                "{ACTION}{version}":{{"type":"list_click"}},"{PRODUCTS}{version}":[{{"id":"7","name":"Shoes","position":1}}]}}"#
            );
            let expected = "query_id=s time=2024-05-17 user=n session=s item=7 title=Shoes position=1";
            assert_eq!(rows(Extract::Snowplow, &click), [(Event::Clicks(1), expected.to_owned())]);
        }
    }
}
