//! Advice about flags for a log that cannot be prepared.

use clickvec_logs::Error;
use clickvec_logs::columns::{self, Role};
use clickvec_logs::error::{Asked, InputTable, Need, Reason, TableFault};

/// Returns the error, with advice if a flag can help.
pub(super) fn with_advice(error: Error) -> anyhow::Error {
    match advice(&error) {
        // The last line of the message is the last row shown.
        Some(advice) if matches!(error, Error::TooManyBroken { .. }) => anyhow::anyhow!("{error}{advice}"),
        Some(advice) => anyhow::anyhow!("{error}; {advice}"),
        None => error.into(),
    }
}

fn advice(error: &Error) -> Option<String> {
    let advice = match error {
        Error::TooManyBroken { .. } => {
            "mend the log, check `--format` and the columns, or allow more with `--max-bad`".to_owned()
        }
        Error::Table { fault, .. } => return of_table(fault),
        Error::Asked(asked) => return of_asked(asked),
        Error::NothingLeft { reasons, .. } => {
            let flags: Vec<String> =
                reasons.iter().flat_map(|(reason, _)| of_reason(*reason)).map(|flag| format!("`{flag}`")).collect();
            if flags.is_empty() {
                return None;
            }
            format!("see {}", flags.join(", "))
        }
        Error::EmptyPart { is_validation: true, .. } => {
            "no click that is kept is that late, or the part is too small; see `--validation-split`".to_owned()
        }
        Error::EmptyPart { .. } => {
            "all clicks that are kept are that late, or the part is too large; see `--validation-split`".to_owned()
        }
        _ => return None,
    };
    Some(advice)
}

fn of_table(fault: &TableFault) -> Option<String> {
    Some(match fault {
        TableFault::MissingColumn { of: InputTable::Titles | InputTable::Queries, .. } => return None,
        TableFault::MissingColumn { role: Role::Title, .. } => {
            "name it with `--columns title=NAME`, or name the column of item ids with `--columns item=NAME` and the table of their \
             titles with `--titles`"
                .to_owned()
        }
        TableFault::MissingColumn { role, found, .. } => {
            let has_header = found.is_empty() || columns::is_header(found);
            let header = if has_header { "" } else { ", or give all names with `--header` if the first line is none" };
            format!("name it with `{}`{header}", option(*role))
        }
        TableFault::LateColumn { role, .. } => {
            format!("say what it is with `{}`, or give it another name", option(*role))
        }
        TableFault::TooLarge { .. } => "give more with `--memory`".to_owned(),
        _ => return None,
    })
}

fn of_asked(asked: &Asked) -> Option<String> {
    Some(match asked {
        Asked::NeedsColumn { need, role } => {
            format!("name the column with `{}`, or leave `{}` out", option(*role), flag(*need))
        }
        Asked::NoPositions(_) => "run without `--correct-position-bias`".to_owned(),
        Asked::NoTitles => {
            "name a table that gives each item its title with `--titles`, or say with `--item-as-title` that items are \
             titles"
                .to_owned()
        }
        Asked::PresetNeedsQueries { .. } => "name it with `--queries`".to_owned(),
        Asked::PresetHeader { .. } => "leave `--header` out".to_owned(),
        Asked::PresetFormat { .. } => "leave `--format` out".to_owned(),
        Asked::QueryTooLarge { .. } => "give more with `--memory`".to_owned(),
        _ => return None,
    })
}

/// Returns the flags that leave rows out for this reason, or keep them.
fn of_reason(reason: Reason) -> &'static [&'static str] {
    match reason {
        Reason::Robots => &["--max-queries-per-day", "--max-queries"],
        Reason::WithoutTitle => &["--titles"],
        Reason::FewUsers(_) => &["--min-users"],
        Reason::FewClicks(_) => &["--min-count"],
        _ => &[],
    }
}

fn flag(need: Need) -> &'static str {
    match need {
        Need::MinUsers => "--min-users",
        Need::MaxQueries => "--max-queries",
        Need::MaxQueriesPerDay => "--max-queries-per-day",
        Need::ValidationAfter => "--validation-split",
        Need::PositionBias => "--correct-position-bias",
        Need::Private => "--private",
    }
}

/// Returns the option that sets the column of a role.
fn option(role: Role) -> String {
    format!("--columns {}=NAME", role.name())
}
