//! Searches and clicks in the events of UBI, GA4 and Snowplow.
//!
//! In these logs a click does not name its query. A search is an event of its own, and an id (UBI) or the visit (GA4,
//! Snowplow) connects the two. Both are read here, with the id or the visit as the key.

use std::collections::VecDeque;

use serde_json::Value;

use crate::columns::Role;
use crate::user::user;
use clickvec_tables::table::{lookup, scalar};

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

/// A row made from an event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Draft {
    /// Whether it is a query, which clicks refer to by its key.
    pub is_search: bool,
    /// The fields. `clicked` is `click` if showings are events of their own; then a click does not count as another
    /// showing.
    pub fields: Vec<(Role, String)>,
}

impl Extract {
    /// The roles of the rows.
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

    /// Whether a click belongs to the last search before it, rather than to any search with its key.
    pub fn is_by_time(self) -> bool {
        self != Extract::Ubi
    }

    /// Appends the rows of an event. There are none unless it is a search, a click or a showing.
    pub fn read(self, event: &Value, rows: &mut VecDeque<Draft>) {
        match self {
            Extract::Ubi => ubi(event, rows),
            Extract::Ga4 => ga4(event, rows),
            Extract::Snowplow => snowplow(event, rows),
        }
    }
}

impl Draft {
    fn new(is_search: bool) -> Draft {
        Draft { is_search, fields: Vec::new() }
    }

    fn with(mut self, role: Role, value: Option<&Value>) -> Draft {
        if let Some(text) = value.and_then(scalar) {
            self.fields.push((role, text));
        }
        self
    }

    fn text(mut self, role: Role, text: impl Into<String>) -> Draft {
        self.fields.push((role, text.into()));
        self
    }
}

/// Reads a document of `ubi_queries` or `ubi_events`, either bare or in the `_source` of a dump.
fn ubi(event: &Value, rows: &mut VecDeque<Draft>) {
    let event = event.get("_source").filter(|source| source.is_object()).unwrap_or(event);
    // A person who logs in half-way gets a user_id and is still the same person.
    let user = known(event.get("client_id")).or(event.get("user_id"));
    let common = |draft: Draft| {
        draft
            .with(Role::Key, event.get("query_id"))
            .with(Role::Time, event.get("timestamp"))
            .with(Role::User, user)
            .with(Role::Session, event.get("session_id"))
    };
    let Some(action) = event.get("action_name") else {
        if event.get("user_query").is_some_and(Value::is_string) {
            rows.push_back(common(Draft::new(true)).with(Role::Query, event.get("user_query")));
        }
        return;
    };
    let clicked = match action.as_str() {
        Some("click" | "click_through") => "click",
        Some("impression") => "0",
        _ => return,
    };
    let object = |key: &str| lookup(event, &format!("event_attributes.object.{key}"));
    rows.push_back(
        common(Draft::new(false))
            .text(Role::Clicked, clicked)
            .with(Role::Item, object("object_id"))
            .with(Role::Title, object("name").or_else(|| object("description")))
            .with(Role::Position, lookup(event, "event_attributes.position.ordinal")),
    );
}

/// Reads a row of a table `events_YYYYMMDD`.
fn ga4(event: &Value, rows: &mut VecDeque<Draft>) {
    let parameter = |name: &str| {
        let parameters = event.get("event_params")?.as_array()?;
        let value = parameters.iter().find(|parameter| parameter.get("key").and_then(Value::as_str) == Some(name))?;
        let value = value.get("value")?;
        ["string_value", "int_value"].iter().find_map(|kind| value.get(kind).filter(|value| !value.is_null()))
    };
    let user = known(event.get("user_pseudo_id"));
    let session = set(parameter("ga_session_id"));
    // Session numbers are unique only for a user. Without a user, one number would stand for visits of many people.
    let key = match (user.and_then(scalar), session.and_then(scalar)) {
        (Some(user), Some(session)) => format!("{user}\u{1f}{session}"),
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
    let clicked = match event.get("event_name").and_then(Value::as_str) {
        Some("search" | "view_search_results") => {
            rows.push_back(common(Draft::new(true)).with(Role::Query, term));
            return;
        }
        Some("select_item") => "click",
        Some("view_item_list") => "0",
        _ => return,
    };
    for item in event.get("items").and_then(Value::as_array).into_iter().flatten() {
        rows.push_back(
            common(Draft::new(false))
                .text(Role::Clicked, clicked)
                .with(Role::Query, term)
                .with(Role::Item, set(item.get("item_id")))
                .with(Role::Title, set(item.get("item_name")))
                .with(Role::Position, item.get("item_list_index").filter(|index| is_index(index))),
        );
    }
}

/// The value, unless it means "missing": BigQuery writes `(not set)`.
fn set(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| {
        scalar(value).is_some_and(|text| !matches!(text.trim().to_ascii_lowercase().as_str(), "" | "(not set)"))
    })
}

/// The id, if it identifies a user.
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
        rows.push_back(common(Draft::new(true)).with(Role::Query, search.get("terms")));
        return;
    }
    let clicked = match entity(event, ACTION).and_then(|action| action.get("type")?.as_str()) {
        Some("list_click") => "click",
        Some("list_view") => "0",
        _ => return,
    };
    for product in entity_of(event, PRODUCTS).and_then(Value::as_array).into_iter().flatten() {
        rows.push_back(
            common(Draft::new(false))
                .text(Role::Clicked, clicked)
                .with(Role::Item, product.get("id"))
                .with(Role::Title, product.get("name"))
                .with(Role::Position, product.get("position")),
        );
    }
}

/// The value whose key names a schema with its major version. BigQuery's older loader appends `_0_0` and the like.
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

    fn rows(extract: Extract, event: &str) -> Vec<(bool, String)> {
        let mut rows = VecDeque::new();
        extract.read(&serde_json::from_str(event).unwrap(), &mut rows);
        let field = |(role, text): &(Role, String)| format!("{}={}", role.name(), text.replace('\u{1f}', "/"));
        let text = |row: &Draft| row.fields.iter().map(field).collect::<Vec<_>>().join(" ");
        rows.iter().map(|row| (row.is_search, text(row))).collect()
    }

    #[test]
    fn user_behavior_insights() {
        let query = r#"{"_index":"ubi_queries","_source":{"query_id":"q1","client_id":"c1","user_query":"red shoes",
            "timestamp":"2024-05-17T08:30:00Z","query_response_hit_ids":["7","8"]}}"#;
        let expected = "query_id=q1 time=2024-05-17T08:30:00Z user=c1 query=red shoes";
        assert_eq!(rows(Extract::Ubi, query), [(true, expected.to_owned())]);
        let event = r#"{"action_name":"ACTION","query_id":"q1","client_id":"c1","timestamp":"2024-05-17T08:30:09Z",
            "event_attributes":{"object":{"object_id":7,"object_id_field":"sku"},"position":{"ordinal":3}}}"#;
        let clicked =
            |word: &str| format!("query_id=q1 time=2024-05-17T08:30:09Z user=c1 clicked={word} item=7 position=3");
        for (action, word) in [("click", "click"), ("click_through", "click"), ("impression", "0")] {
            assert_eq!(rows(Extract::Ubi, &event.replace("ACTION", action)), [(false, clicked(word))]);
        }
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
        let expected = "query_id=5.6/9 time=1715934600000000 user=5.6 session=5.6/9 query=red shoes";
        assert_eq!(rows(Extract::Ga4, &search), [(true, expected.to_owned())]);
        let click = rows(Extract::Ga4, &event.replace("NAME", "select_item").replace("PARAM", ""));
        assert!(click[0].1.ends_with("clicked=click item=7 title=Shoes position=2"), "{click:?}");
        assert!(click[1].1.ends_with("clicked=click item=8 title=Boots"), "{click:?}");
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
            assert!(search[0].1.ends_with("session=5.6/9"), "{search:?}");
            let event = event.replace("Shoes", nothing).replace("\"8\"", &format!("\"{nothing}\""));
            let click = rows(Extract::Ga4, &event.replace("NAME", "select_item").replace("PARAM", &term));
            assert!(click[0].1.ends_with("clicked=click item=7 position=2"), "{click:?}");
            assert!(click[1].1.ends_with("clicked=click title=Boots"), "{click:?}");
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
        assert_eq!(rows(Extract::Snowplow, &search), [(true, expected.to_owned())]);
        for version in ["", "_0_0"] {
            let click = format!(
                r#"{{"network_userid":"n","domain_userid":null,"domain_sessionid":"s","collector_tstamp":"2024-05-17",
                "{ACTION}{version}":{{"type":"list_click"}},"{PRODUCTS}{version}":[{{"id":"7","name":"Shoes","position":1}}]}}"#
            );
            let expected = "query_id=s time=2024-05-17 user=n session=s clicked=click item=7 title=Shoes position=1";
            assert_eq!(rows(Extract::Snowplow, &click), [(false, expected.to_owned())]);
        }
    }
}
