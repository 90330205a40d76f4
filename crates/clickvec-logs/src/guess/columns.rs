//! The roles of a file's columns, guessed from their names.

use serde::{Serialize, Serializer};

use clickvec_tables::table::{CLICKED, CLICKS, GRADES, plain_name};

use crate::columns::Role;

/// The role of grades, which logs do not have, as judged titles have no keys of events.
pub const GRADE: Role = Role::Key;

/// The usual names of each role's column, the likeliest first, in small letters and without what separates words; the roles in the
/// order in which they are shown.
const USUAL: [(Role, &[&str]); 10] = [
    (
        Role::Query,
        &[
            "query",
            "q",
            "searchterm",
            "searchquery",
            "userquery",
            "querytext",
            "search",
            "keywords",
            "keyword",
            "term",
            "terms",
            "searchphrase",
            "phrase",
            "suchanfrage",
            "suchbegriff",
            "requête",
            "consulta",
            "查询",
            "搜索词",
        ],
    ),
    (
        Role::Title,
        &[
            "title",
            "producttitle",
            "itemtitle",
            "doctitle",
            "documenttitle",
            "name",
            "productname",
            "itemname",
            "headline",
            "titel",
            "titre",
            "título",
            "标题",
        ],
    ),
    (
        Role::Item,
        &[
            "item",
            "itemid",
            "sku",
            "productid",
            "product",
            "articleid",
            "docid",
            "documentid",
            "titleid",
            "asin",
            "objectid",
            "clickurl",
            "url",
            "id",
            "productuid",
        ],
    ),
    (GRADE, &GRADES),
    (Role::Clicked, &CLICKED),
    (Role::Count, &CLICKS),
    (Role::Position, &["position", "rank", "pos", "itemrank"]),
    (
        Role::Time,
        &["time", "timestamp", "datetime", "date", "querytime", "clicktime", "eventtime", "createdat", "ts", "day"],
    ),
    (
        Role::User,
        &["user", "userid", "visitor", "visitorid", "clientid", "anonid", "uid", "customerid", "userpseudoid"],
    ),
    (Role::Session, &["session", "sessionid", "visit", "visitid"]),
];

/// Members that only mark a value as text, so that the name of the object is its name.
const TEXTS: [&str; 5] = ["text", "value", "string", "raw", "name"];

/// Returns the possible names of a column: its name; of a path of members, its last one and that with the one before it.
fn keys(name: &str) -> Vec<String> {
    let mut members = name.rsplit('.');
    let (last, before) = (members.next().unwrap_or_default(), members.next());
    let mut keys = vec![plain_name(name), plain_name(last)];
    if let Some(before) = before {
        keys.push(plain_name(before) + &plain_name(last));
        if TEXTS.contains(&&*plain_name(last)) {
            keys.remove(1);
            keys.push(plain_name(before));
        }
    }
    keys
}

/// The columns with a role, each with its name. No column has two roles.
#[derive(Debug, Clone, Default)]
pub struct GuessedColumns(Vec<(Role, String)>);

impl GuessedColumns {
    /// Guesses the roles of these columns, by their names or the ends of their paths.
    pub fn guess(names: &[String]) -> GuessedColumns {
        let mut free: Vec<(Vec<String>, &String)> = names.iter().map(|name| (keys(name), name)).collect();
        // A column less deep in an object is likelier.
        free.sort_by_key(|(_, name)| name.matches('.').count());
        let mut found = Vec::new();
        for (role, usual) in USUAL {
            let position =
                usual.iter().find_map(|usual| free.iter().position(|(keys, _)| keys.iter().any(|key| key == usual)));
            if let Some(position) = position {
                found.push((role, free.remove(position).1.clone()));
            }
        }
        GuessedColumns(found)
    }

    /// Returns the roles and the names of their columns.
    pub fn iter(&self) -> impl Iterator<Item = (Role, &str)> {
        self.0.iter().map(|(role, name)| (*role, name.as_str()))
    }

    /// Returns the name of a role's column.
    pub fn name(&self, role: Role) -> Option<&str> {
        self.iter().find_map(|(other, name)| (other == role).then_some(name))
    }

    /// Returns the name of a role's column if it is not the `expected` one.
    pub fn other_name(&self, role: Role, expected: &str) -> Option<&str> {
        self.name(role).filter(|name| !is_name(name, expected))
    }
}

impl Serialize for GuessedColumns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(role, name)| (role_name(role), name)))
    }
}

/// Returns the name of a role, which is that of its column in files of this program.
pub fn role_name(role: Role) -> &'static str {
    if role == GRADE { "grade" } else { role.name() }
}

/// Returns whether one of the columns has this name.
pub fn has(names: &[String], wanted: &str) -> bool {
    names.iter().any(|name| is_name(name, wanted))
}

fn is_name(name: &str, wanted: &str) -> bool {
    name.trim().eq_ignore_ascii_case(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guess(names: &[&str]) -> Vec<(Role, String)> {
        GuessedColumns::guess(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>()).0
    }

    #[test]
    fn columns_are_known_by_their_usual_names() {
        let found = guess(&["AnonID", "Query", "QueryTime", "ItemRank", "ClickURL"]);
        let roles: Vec<Role> = found.iter().map(|(role, _)| *role).collect();
        assert_eq!(roles, [Role::Query, Role::Item, Role::Position, Role::Time, Role::User]);
        assert_eq!(found[4].1, "AnonID");
        assert_eq!(guess(&["search_term", "SKU", "date"])[0], (Role::Query, "search_term".to_owned()));
        assert_eq!(guess(&["id", "name"]), [(Role::Title, "name".to_owned()), (Role::Item, "id".to_owned())]);
        let nested = guess(&["ts", "search.text", "event.object.id", "visitor", "event.kind"]);
        assert_eq!(nested[0], (Role::Query, "search.text".to_owned()));
        assert_eq!(nested[1], (Role::Item, "event.object.id".to_owned()));
        assert_eq!(nested.len(), 4);
        assert_eq!(guess(&["product.name", "product.id"]).len(), 2);
        assert!(guess(&["weight", "colour", ""]).is_empty());
    }
}
