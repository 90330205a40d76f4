//! Rows with a column of their own, such as the body of a document instead of its title.

use super::Plan;
use clickvec_eval::{Judgments, read_test_set};
use clickvec_tables::Result;
use clickvec_tables::shown::shortened;
use clickvec_tables::{Error, ErrorKind};

/// A column of a table other than that of `[data]`.
pub(super) struct Field {
    /// The plan with this column instead of the table's.
    pub(super) plan: Plan,
    /// The same queries and grades, with the texts of this column.
    pub(super) judgments: Judgments,
}

/// Reads the other columns of the rows, each once.
pub(super) fn fields(plan: &Plan, judgments: &Judgments) -> Result<Vec<Field>> {
    let mut fields: Vec<Field> = Vec::new();
    for name in plan.entries.iter().filter_map(|entry| entry.other_field(&plan.data)) {
        if fields.iter().any(|field| field.plan.data.field == name) {
            continue;
        }
        let mut other = plan.clone();
        name.clone_into(&mut other.data.field);
        let found = read_test_set(&other.data.test_set())?.judgments;
        if let Some(Difference { query, titles, found }) = difference(judgments, &found) {
            let expected = format!("the same judged titles in column `{name}` as in `{}`", plan.data.field);
            let found = if titles == found {
                "other queries or grades from".to_owned()
            } else {
                format!("{found} of {titles} for")
            };
            return Err(Error::expected(
                ErrorKind::Mismatch,
                expected,
                format!("{found} the query `{}`", shortened(query)),
            )
            .help("each judged title needs a text in both")
            .at(&plan.data.judged));
        }
        fields.push(Field { plan: other, judgments: found });
    }
    Ok(fields)
}

/// A query whose judged titles differ, and the number of them in either.
struct Difference<'a> {
    query: &'a str,
    titles: usize,
    found: usize,
}

/// Returns the first query whose judged titles differ in their number or their grades.
fn difference<'a>(one: &'a Judgments, other: &'a Judgments) -> Option<Difference<'a>> {
    let grades = |judgments: &Judgments, position: usize| -> Option<(String, Vec<u8>)> {
        let query = judgments.queries.get(position)?;
        Some((query.text.clone(), query.titles.iter().map(|title| title.grade).collect()))
    };
    let mut positions = 0..one.queries.len().max(other.queries.len());
    let differs = positions.find(|&position| grades(one, position) != grades(other, position))?;
    let query = one.queries.get(differs).or(other.queries.get(differs))?.text.as_str();
    let titles = |of: &Judgments| of.queries.iter().find(|of| of.text == query).map_or(0, |of| of.titles.len());
    Some(Difference { query, titles: titles(one), found: titles(other) })
}
