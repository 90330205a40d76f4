//! What the grades show: a sentence and a table.

use std::path::Path;

use clickvec_eval::{Agreement, Finding, Standing};
use clickvec_report::comparison::means_table;
use clickvec_report::numbers::difference;
use clickvec_tables::shown::{agreeing, count, counted, printable, shown};
use serde::Serialize;

/// Two systems compared by the grades of a person.
#[derive(Serialize)]
pub struct Verdict {
    /// The systems with their means.
    pub systems: [Standing; 2],
    /// The mean difference of nDCG@10, the first system minus the second.
    pub difference: f64,
    /// Its interval, which holds at any time.
    pub interval: [f64; 2],
    /// The number of queries whose titles all have a grade.
    pub queries: usize,
    /// The number of searches drawn that have one of them.
    pub searches: usize,
    /// What the grades show.
    pub finding: Finding,
    /// Whether all titles have a grade.
    #[serde(skip)]
    pub(super) is_complete: bool,
    /// How far other judges agree with the sheet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agreements: Vec<Agreed>,
}

/// How far the grades of a file agree with those of the sheet.
#[derive(Serialize)]
pub struct Agreed {
    /// The file.
    pub file: String,
    #[serde(flatten)]
    /// The agreement.
    pub agreement: Agreement,
}

impl Verdict {
    /// Returns what is shown, in a sentence.
    pub fn sentence(&self) -> String {
        let [ours, theirs] = [0, 1].map(|system| printable(&self.systems[system].name));
        let searches = self.searches();
        match self.finding {
            Finding::Better => format!("{ours} finds better titles than {theirs} ({searches})"),
            Finding::Worse => format!("{ours} finds worse titles than {theirs} ({searches})"),
            Finding::Alike => {
                format!("{ours} and {theirs} are equally good: they differ by less than 0.02 ({searches})")
            }
            Finding::Open => {
                let more = if self.is_complete { "" } else { "; judge more queries" };
                format!("{searches} do not show whether {ours} or {theirs} finds better titles{more}")
            }
        }
    }

    /// Returns the report for people.
    pub fn text(&self, sheet: &Path) -> String {
        let table = means_table("", &self.systems, |metric| metric.heading());
        let [least, most] = self.interval.map(difference);
        let agreements = self.agreements.iter().map(|Agreed { file, agreement }| format!("{file}: {agreement}\n"));
        format!(
            "{}\n\n{}\n\ndifference of NDCG@10 {}, 95 % interval {least} to {most} (valid however often you look)\n\
             {} drawn at random from {} whose first ten titles are all judged\ngrades: {}\n{}",
            self.sentence(),
            table.to_text(),
            difference(self.difference),
            self.searches(),
            counted(self.queries as u64, "query"),
            shown(sheet),
            agreements.collect::<String>()
        )
    }

    fn searches(&self) -> String {
        let searches = self.searches as u64;
        format!("{} {}", count(searches), agreeing(searches, "search", "searches"))
    }
}
