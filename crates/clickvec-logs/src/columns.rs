//! The columns of a log: their meanings and names.

/// Returns whether the name of a column suggests that it identifies users.
pub(crate) fn looks_like_user(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["user", "visitor", "client_id", "clientid"].iter().any(|part| name.contains(part))
        && !name.contains("agent")
        && !name.contains("query")
}

use clickvec_tables::named;
pub use clickvec_tables::table::is_header;
use serde::Serialize;

named! {
    /// The role of a column.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
    #[serde(rename_all = "lowercase")]
    #[repr(usize)]
    pub enum Role {
        /// The query that was typed.
        Query = "query",
        /// The title that was shown or clicked.
        Title = "title",
        /// The id of the item that was shown or clicked.
        Item = "item",
        /// Whether it was clicked. Without this column every row is a click.
        Clicked = "clicked",
        /// The number of times. Without this column it is 1.
        Count = "count",
        /// The position in the list of results.
        Position = "position",
        /// The time.
        Time = "time",
        /// The user.
        User = "user",
        /// The visit.
        Session = "session",
        /// The key that connects a click with the query before it, if they are in different rows.
        Key = "query_id",
    }
}

impl Role {
    /// Describes the role, for messages.
    pub(crate) fn what(self) -> &'static str {
        match self {
            Role::Query => "a column of queries",
            Role::Title => "a column of titles",
            Role::Item => "a column of items",
            Role::Clicked => "a column that says whether a title was clicked, and rows for titles that were not",
            Role::Count => "a column of counts",
            Role::Position => "a column of positions in the list",
            Role::Time => "a column of times",
            Role::User => "a column of users",
            Role::Session => "a column of visits",
            Role::Key => "a column of query ids",
        }
    }

    /// Describes valid values of this role, for messages.
    pub(crate) fn value(self) -> &'static str {
        match self {
            Role::Clicked => "0 or 1 (or false, true, no, yes)",
            Role::Count => "a count, a whole number from 0 to 1,000,000,000,000",
            Role::Position => "a position, a whole number",
            Role::Time => "a time (2024-05-17, 2024-05-17 08:30:00, RFC 3339, or seconds since 1970)",
            Role::Query | Role::Title | Role::Item | Role::User | Role::Session | Role::Key => "a text",
        }
    }
}

/// The name of each role's column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Columns {
    named: [Option<String>; Role::ALL.len()],
    /// Roles that a preset says the log does not have.
    absent: [bool; Role::ALL.len()],
}

impl Columns {
    /// Sets the name of a role's column. The column is then required.
    pub fn name(&mut self, role: Role, name: impl Into<String>) {
        self.named[role as usize] = Some(name.into());
        self.absent[role as usize] = false;
    }

    /// Records that no column has this role, whatever it is called.
    pub fn leave_out(&mut self, role: Role) {
        if self.named[role as usize].is_none() {
            self.absent[role as usize] = true;
        }
    }

    /// Returns whether the name of this role's column was set.
    pub fn is_named(&self, role: Role) -> bool {
        self.named[role as usize].is_some()
    }

    /// Returns the name of this role's column; `None` if the log has no such column.
    pub fn get(&self, role: Role) -> Option<&str> {
        match &self.named[role as usize] {
            Some(name) => Some(name),
            None if self.absent[role as usize] || role == Role::Key => None,
            None => Some(role.name()),
        }
    }

    /// Returns whether no role has this column.
    pub(crate) fn is_free(&self, name: &str) -> bool {
        let is_same = |other: &str| other.trim().eq_ignore_ascii_case(name.trim());
        name.trim() != "-" && !Role::ALL.into_iter().any(|role| self.names_of(role).any(is_same))
    }

    /// Returns the possible names of this role's column, the likeliest first.
    pub fn names_of(&self, role: Role) -> impl Iterator<Item = &str> {
        let other = (role == Role::User && !self.is_named(role) && !self.absent[role as usize]).then_some("user_id");
        self.get(role).into_iter().chain(other)
    }
}
