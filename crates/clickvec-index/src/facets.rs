//! Stored fields of the titles that a search found: counts of values, and boosts by numbers.

use std::collections::{BTreeMap, HashMap};

use clickvec::index::Hit as Found;
use clickvec_tables::shown::shortened;

use crate::answer::{Facet, FacetValue};
use crate::error::{Result, bad_request};
use crate::open::Index;
use crate::request::Boost;
use crate::search::unknown_field;
use crate::segment::fields::{Column, folded};

/// The most values of a facet.
const MOST_VALUES: usize = 20;

impl Index {
    /// Adds boosts to the scores of a list and sorts it. Returns the addition to each title.
    pub(crate) fn boost(&self, boosts: &[Boost], list: &mut [Found]) -> Result<HashMap<u32, f32>> {
        let mut adds = HashMap::new();
        if boosts.is_empty() {
            return Ok(adds);
        }
        for Boost { field, weight } in boosts {
            let columns = self.columns("boosts", field)?;
            let all: u64 = columns.iter().map(|column| column.titles_below(f64::INFINITY)).sum();
            if all == 0 {
                return Err(bad_request("boosts", "a field with numbers", format!("`{}`", shortened(field))));
            }
            for found in list.iter() {
                let (segment, position) = self.segment_of(found.position);
                let number = columns[segment].number(position);
                // A title without a number is below no other.
                let below: u64 = columns.iter().map(|column| column.titles_below(number)).sum();
                *adds.entry(found.position).or_insert(0.0) += (weight * below as f64 / all as f64) as f32;
            }
        }
        list.iter_mut().for_each(|found| found.score += adds[&found.position]);
        list.sort_unstable_by(Found::best_first);
        Ok(adds)
    }

    /// Counts the values of stored fields among titles.
    pub(crate) fn facets(&self, fields: &[String], titles: &[u32]) -> Result<Vec<Facet>> {
        let facet = |field: &String| {
            let columns = self.columns("facets", field)?;
            let mut spellings: HashMap<&str, u64> = HashMap::new();
            let mut range: Option<(f64, f64)> = None;
            for &title in titles {
                let (segment, position) = self.segment_of(title);
                let (value, number) = (columns[segment].text(position), columns[segment].number(position));
                if !value.is_empty() {
                    *spellings.entry(value).or_insert(0) += 1;
                }
                if !number.is_nan() {
                    let (least, most) = range.unwrap_or((number, number));
                    range = Some((least.min(number), most.max(number)));
                }
            }
            let mut spellings: Vec<(&str, u64)> = spellings.into_iter().collect();
            spellings.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
            let mut values: BTreeMap<String, FacetValue> = BTreeMap::new();
            for (value, titles) in spellings {
                let first = || FacetValue { value: value.to_owned(), titles: 0 };
                values.entry(folded(value)).or_insert_with(first).titles += titles;
            }
            let mut values: Vec<FacetValue> = values.into_values().collect();
            let distinct = values.len();
            values.sort_by_key(|value| std::cmp::Reverse(value.titles));
            values.truncate(MOST_VALUES);
            Ok(Facet { field: field.clone(), values, distinct, range })
        };
        fields.iter().map(facet).collect()
    }

    /// Returns the columns of a field, one for each segment.
    fn columns(&self, request_field: &'static str, field: &str) -> Result<Vec<&Column>> {
        let columns = self.segments.iter().map(|opened| opened.segment.fields.get(field));
        columns.collect::<Option<_>>().ok_or_else(|| unknown_field(request_field, field, self.stored_fields()))
    }
}
