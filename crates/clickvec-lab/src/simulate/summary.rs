//! The figures of a simulation, and what is said of them.

use clickvec_tables::shown::{count, counted};
use serde::Serialize;

use super::{QueryKind, SimulateConfig};

/// The figures of a simulation.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Rows of `clicks.tsv`: a query and a title clicked for it on one day.
    pub pairs: u64,
    /// Clicks in these rows.
    pub clicks: u64,
    /// Clicks on titles of grade 3 or 4.
    pub relevant_clicks: u64,
    /// Lists that were shown.
    pub impressions: u64,
    /// Lists for a misspelt query.
    pub misspelt: u64,
    /// Days of the log.
    pub days: u64,
    /// Titles that can be shown.
    pub titles: u64,
    /// Rows of `judged.tsv`.
    pub judged: u64,
    /// Rows of `validation.tsv`.
    pub validation: u64,
    /// The kinds for which fewer judged queries were found than requested.
    pub fewer_judged: Vec<Fewer>,
    /// The number of queries in the validation set, if fewer were found than requested.
    pub fewer_validation: Option<u64>,
}

/// A kind with fewer judged queries than requested.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fewer {
    /// The kind.
    pub kind: QueryKind,
    /// The number found. If it is 0, there is no table for this kind.
    pub found: u64,
}

impl Summary {
    /// Returns how much was written.
    pub fn size(&self) -> String {
        format!(
            "{} from {} in {} shown, {}",
            counted(self.pairs, "pair"),
            counted(self.clicks, "click"),
            counted(self.impressions, "list"),
            counted(self.titles, "title"),
        )
    }

    /// Returns how many queries are misspelt, and how good clicked titles are.
    pub fn shares(&self) -> String {
        let percent = |part: u64, all: u64| 100.0 * part as f64 / all.max(1) as f64;
        format!(
            "{:.0} % of the queries are misspelt, {:.0} % of the clicks are on titles of grade 3 or 4",
            percent(self.misspelt, self.impressions),
            percent(self.relevant_clicks, self.clicks),
        )
    }

    /// Returns whether more queries are misspelt than chance explains: by four standard errors and at least a twentieth of all.
    fn has_too_many_misspelt(&self, config: &SimulateConfig) -> bool {
        let (share, all) = (config.misspelt, self.impressions);
        let deviation = (share * (1.0 - share) / all.max(1) as f64).sqrt();
        self.misspelt as f64 > (share + (4.0 * deviation).max(0.05)) * all as f64
    }

    /// Returns a line for each thing that is not as the settings say: more misspelt queries, fewer judged ones.
    pub fn shortfalls(&self, config: &SimulateConfig) -> Vec<String> {
        let kinds = self.fewer_judged.iter().map(|fewer| match (fewer.kind.name(), fewer.found) {
            (kind, 0) => format!("no judged queries of the kind {kind} were found: there is no judged-{kind}.tsv"),
            (kind, found) => {
                let (found, wanted) = (count(found), counted(u64::from(config.judged), "judged query"));
                format!("only {found} of {wanted} of the kind {kind} were found")
            }
        });
        let validation = self.fewer_validation.map(|found| match found {
            0 => "no queries for validation were found: there is no validation.tsv".to_owned(),
            found => {
                let (found, wanted) = (count(found), counted(u64::from(config.validation), "query"));
                format!("only {found} of {wanted} for validation were found")
            }
        });
        let misspelt = self.has_too_many_misspelt(config).then(|| {
            format!(
                "{}; this is more than the {:.0} % that were to be: with so few titles, too many of the correctly spelt queries are \
                 judged queries, which the log must not contain; use more titles, or fewer judged queries (`judged`, `validation`)",
                self.shares(),
                100.0 * config.misspelt,
            )
        });
        misspelt.into_iter().chain(kinds).chain(validation).collect()
    }
}
