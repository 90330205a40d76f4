//! Logs in public formats, with the names of their columns. docs/reference/prepare.md gives the sources.

use crate::columns::{Columns, Role};
use crate::events::Extract;
use crate::tables::{Format, Options};
use crate::{Error, ErrorKind, Result};
use clickvec_tables::named;

named! {
    /// A log in a known format.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Preset {
        /// User Behavior Insights 1.3.0, as OpenSearch keeps it in `ubi_queries` and `ubi_events`.
        Ubi = "ubi",
        /// Events of Google Analytics 4, exported to BigQuery and from there as JSON lines.
        Ga4 = "ga4",
        /// Enriched events of Snowplow as JSON, with its site search and ecommerce schemas.
        Snowplow = "snowplow",
        /// ORCAS, `orcas.tsv`.
        Orcas = "orcas",
        /// Judgments of MS MARCO's passages, `qrels.train.tsv`.
        MsmarcoPassage = "msmarco-passage",
        /// Judgments of MS MARCO's documents, `msmarco-doctrain-qrels.tsv`.
        MsmarcoDocument = "msmarco-document",
        /// The log of AOL, 2006, `user-ct-test-collection-01.txt`.
        Aol = "aol",
        /// The logs of TripClick, JSON lines.
        TripClick = "tripclick",
    }
}

impl Preset {
    /// Sets the options of the log, except for columns that have been named.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Setting`] if `options` have another format, or a header.
    pub fn log(self, options: &mut Options) -> Result<()> {
        if options.header.is_some() && self != Preset::Aol {
            let message =
                format!("a log of `{}` has fixed columns; expected no names for them, found some", self.name());
            return Err(Error::new(ErrorKind::Setting, message)
                .help("leave the list of names out of `columns`")
                .settings(&["columns"]));
        }
        // A search of TripClick without a click has the document 0.
        options.judgments = matches!(self, Preset::MsmarcoPassage | Preset::MsmarcoDocument | Preset::TripClick);
        let format = match self {
            // Its data generator writes CSV.
            Preset::Ubi => return events_of(options, Extract::Ubi),
            Preset::Ga4 | Preset::Snowplow | Preset::TripClick => Format::Json,
            Preset::MsmarcoDocument => Format::Csv,
            Preset::Orcas | Preset::MsmarcoPassage | Preset::Aol => Format::Tsv,
        };
        match options.format {
            Some(Format::Csv | Format::Tsv) if options.judgments => {}
            Some(found) if found != format => {
                let (preset, expected, found) = (self.name(), format.name(), found.name());
                let message = format!("a log of `{preset}` is {expected}, found the format `{found}`");
                return Err(Error::new(ErrorKind::Setting, message).help("leave `format` out").settings(&["format"]));
            }
            _ => options.format = Some(format),
        }
        let (header, names): (Option<&[&str]>, &[(Role, &str)]) = match self {
            Preset::Ubi | Preset::Ga4 => return events_of(options, Extract::Ga4),
            Preset::Snowplow => return events_of(options, Extract::Snowplow),
            Preset::Orcas => (Some(&["qid", "query", "did", "url"]), &[(Role::Query, "query"), (Role::Item, "did")]),
            Preset::MsmarcoPassage | Preset::MsmarcoDocument => (
                Some(&["qid", "0", "docid", "relevance"]),
                &[(Role::Key, "qid"), (Role::Item, "docid"), (Role::Clicked, "relevance")],
            ),
            Preset::TripClick => {
                let names = &[
                    (Role::Query, "Keywords"),
                    (Role::Item, "DocumentId"),
                    (Role::Clicked, "DocumentId"),
                    (Role::Session, "SessionId"),
                ];
                (None, names)
            }
            Preset::Aol => {
                options.short_rows = true;
                let names = &[
                    (Role::User, "AnonID"),
                    (Role::Query, "Query"),
                    (Role::Time, "QueryTime"),
                    (Role::Position, "ItemRank"),
                    (Role::Item, "ClickURL"),
                ];
                (None, names)
            }
        };
        if let Some(names) = header {
            options.header = Some(names.iter().map(|&name| name.to_owned()).collect());
        }
        name_all(&mut options.columns, names);
        Ok(())
    }

    /// Returns the options for its table of titles; `None` if they are the usual ones.
    pub fn titles(self) -> Option<Options> {
        let header: &[&str] = match self {
            Preset::MsmarcoPassage => &["id", "title"],
            Preset::Orcas | Preset::MsmarcoDocument => &["id", "url", "title", "body"],
            Preset::TripClick => &["id", "title", "url"],
            _ => return None,
        };
        Some(headerless(header))
    }

    /// Returns the options for its table of queries, if the log has only their ids.
    pub fn queries(self) -> Option<Options> {
        match self {
            Preset::MsmarcoPassage | Preset::MsmarcoDocument => Some(headerless(&["query_id", "query"])),
            _ => None,
        }
    }
}

fn headerless(header: &[&str]) -> Options {
    let header = Some(header.iter().map(|&name| name.to_owned()).collect());
    Options { format: Some(Format::Tsv), header, ..Options::default() }
}

fn events_of(options: &mut Options, extract: Extract) -> Result<()> {
    options.extract = Some(extract);
    Ok(())
}

/// Names the columns that have no name yet, and leaves out all others.
fn name_all(columns: &mut Columns, names: &[(Role, &str)]) {
    for &(role, name) in names {
        if !columns.is_named(role) {
            columns.name(role, name);
        }
    }
    Role::ALL.into_iter().for_each(|role| columns.leave_out(role));
}
