//! Which columns of a file are what, guessed from their names.

/// What a column can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Query,
    Title,
    Item,
    Grade,
    Clicked,
    Count,
    Position,
    Time,
    User,
    Session,
}

/// All meanings, in the order in which they are shown.
pub(super) const MEANINGS: [Meaning; 10] = [
    Meaning::Query,
    Meaning::Title,
    Meaning::Item,
    Meaning::Grade,
    Meaning::Clicked,
    Meaning::Count,
    Meaning::Position,
    Meaning::Time,
    Meaning::User,
    Meaning::Session,
];

impl Meaning {
    /// The name that `prepare` expects.
    pub(super) fn name(self) -> &'static str {
        match self {
            Meaning::Query => "query",
            Meaning::Title => "title",
            Meaning::Item => "item",
            Meaning::Grade => "grade",
            Meaning::Clicked => "clicked",
            Meaning::Count => "count",
            Meaning::Position => "position",
            Meaning::Time => "time",
            Meaning::User => "user",
            Meaning::Session => "session",
        }
    }

    /// Names of columns that mean this, the likeliest first, in small letters and without what separates words.
    fn names(self) -> &'static [&'static str] {
        match self {
            Meaning::Query => &[
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
            ],
            Meaning::Title => &[
                "title",
                "producttitle",
                "itemtitle",
                "doctitle",
                "documenttitle",
                "name",
                "productname",
                "itemname",
                "headline",
            ],
            Meaning::Item => &[
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
            Meaning::Grade => &["grade", "relevance", "relevancegrade", "rating", "judgment", "judgement", "label"],
            Meaning::Clicked => &["clicked", "isclick", "isclicked", "click"],
            Meaning::Count => &["count", "clicks", "clickcount", "n", "frequency"],
            Meaning::Position => &["position", "rank", "pos", "itemrank"],
            Meaning::Time => &[
                "time",
                "timestamp",
                "datetime",
                "date",
                "querytime",
                "clicktime",
                "eventtime",
                "createdat",
                "ts",
                "day",
            ],
            Meaning::User => {
                &["user", "userid", "visitor", "visitorid", "clientid", "anonid", "uid", "customerid", "userpseudoid"]
            }
            Meaning::Session => &["session", "sessionid", "visit", "visitid"],
        }
    }
}

/// The column of each meaning, for those that have one. No column has two meanings.
pub(super) fn guess(names: &[String]) -> Vec<(Meaning, String)> {
    let plain =
        |name: &str| -> String { name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect() };
    let mut free: Vec<(String, &String)> = names.iter().map(|name| (plain(name), name)).collect();
    let mut found = Vec::new();
    for meaning in MEANINGS {
        let place = meaning.names().iter().find_map(|wanted| free.iter().position(|(name, _)| name == wanted));
        if let Some(place) = place {
            found.push((meaning, free.remove(place).1.clone()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guessed(names: &[&str]) -> Vec<(Meaning, String)> {
        guess(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn columns_are_known_by_their_usual_names() {
        let found = guessed(&["AnonID", "Query", "QueryTime", "ItemRank", "ClickURL"]);
        let meanings: Vec<Meaning> = found.iter().map(|(meaning, _)| *meaning).collect();
        assert_eq!(meanings, [Meaning::Query, Meaning::Item, Meaning::Position, Meaning::Time, Meaning::User]);
        assert_eq!(found[4].1, "AnonID");
        assert_eq!(guessed(&["search_term", "SKU", "date"])[0], (Meaning::Query, "search_term".to_owned()));
        assert_eq!(guessed(&["id", "name"]), [(Meaning::Title, "name".to_owned()), (Meaning::Item, "id".to_owned())]);
        assert!(guessed(&["weight", "colour", ""]).is_empty());
    }
}
