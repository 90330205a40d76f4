//! Stored fields as columns, for conditions on them: for each field its distinct values, sorted, and for each title the
//! number of its value.

use std::sync::OnceLock;

use clickvec::internals::index::Shared;
use clickvec::train::{Accents, TextConfig, Tokens};
use rayon::slice::ParallelSliceMut as _;
use serde::{Deserialize, Serialize};

use clickvec_tables::shown::shortened;

use crate::error::{Result, malformed};
use crate::facts::FieldFacts;
use crate::folder::{Folder, FolderWriter};
use crate::map::Map;
use crate::request::Condition;
use crate::titles::TitleLines;

/// The columns of all fields.
pub(crate) struct Fields(pub(crate) Vec<Column>);

/// The column of a field.
pub(crate) struct Column {
    pub(crate) header: ColumnHeader,
    /// The value of each title, by its number.
    pub(crate) codes: Shared<u32>,
    /// The start of each value in `text`, and the end of the last one.
    pub(crate) starts: Shared<u64>,
    /// The distinct values, in order of their bytes, one after the other.
    pub(crate) text: Shared<u8>,
    /// Each value as a number; NaN if it is not a number.
    pub(crate) numbers: Shared<f64>,
    /// The values in order of their folded texts, once a condition needs them.
    by_folded: OnceLock<Vec<u32>>,
    /// The distinct numbers in ascending order, and the number of titles that have each or a smaller one, once a boost needs them.
    cumulative: OnceLock<Vec<(f64, u64)>>,
}

/// The contents of `fields.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    fields: Vec<ColumnHeader>,
}

/// The contents of `fields.json` for a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ColumnHeader {
    pub(crate) name: String,
    /// The number of distinct values.
    pub(crate) values: u64,
    /// The number of these that are numbers.
    pub(crate) numbers: u64,
}

const FIELDS_FILE: &str = "fields.json";

/// Returns the files of a field: the value of each title, the values, and the values as numbers.
fn files(field: usize) -> [String; 3] {
    ["codes", "values", "numbers"].map(|kind| format!("field-{field}.{kind}"))
}

impl Fields {
    /// Creates the columns of titles in memory.
    pub(crate) fn new(titles: &TitleLines) -> Fields {
        let column = |(field, name): (usize, &String)| {
            let value = |position| titles.get(position).and_then(|line| line.values().nth(field)).unwrap_or("");
            let all: Vec<&str> = (0..titles.len() as u32).map(value).collect();
            let value = |position: u32| all[position as usize];
            let mut order: Vec<u32> = (0..titles.len() as u32).collect();
            order.par_sort_unstable_by_key(|&position| value(position));
            let mut codes = vec![0; order.len()];
            let (mut starts, mut text, mut numbers) = (vec![0u64], Vec::new(), Vec::new());
            for alike in order.chunk_by(|&a, &b| value(a) == value(b)) {
                alike.iter().for_each(|&position| codes[position as usize] = numbers.len() as u32);
                let value = value(alike[0]);
                text.extend_from_slice(value.as_bytes());
                starts.push(text.len() as u64);
                numbers.push(number(value));
            }
            let values = numbers.len() as u64;
            let are_numbers = numbers.iter().filter(|number: &&f64| !number.is_nan()).count() as u64;
            Column {
                header: ColumnHeader { name: name.clone(), values, numbers: are_numbers },
                codes: codes.into(),
                starts: starts.into(),
                text: text.into(),
                numbers: numbers.into(),
                by_folded: OnceLock::new(),
                cumulative: OnceLock::new(),
            }
        };
        Fields(titles.fields().iter().enumerate().map(column).collect())
    }

    /// Opens the columns of a segment.
    pub(crate) fn open(folder: &Folder, titles: usize) -> Result<Fields> {
        let Header { fields } = folder.json(FIELDS_FILE)?;
        let column = |(field, header): (usize, &ColumnHeader)| {
            let names = files(field);
            let [codes, values, numbers] = [folder.map(&names[0])?, folder.map(&names[1])?, folder.map(&names[2])?];
            let bytes = [&codes, &values, &numbers].map(|map| map.bytes().len());
            Fields::column(header, titles, [codes, values, numbers]).ok_or_else(|| {
                let name = shortened(&header.name);
                let expected =
                    format!("{} values of the field `{name}` and one for each of {titles} titles", header.values);
                let [codes, texts, numbers] = bytes;
                let found =
                    format!("{codes} bytes for the titles, {texts} for the values and {numbers} for their numbers");
                malformed(&folder.path().join(&names[0]), expected, found)
            })
        };
        Ok(Fields(fields.iter().enumerate().map(column).collect::<Result<_>>()?))
    }

    /// Writes the columns.
    pub(crate) fn write(&self, folder: &mut FolderWriter) -> Result<()> {
        let mut files_of_all = Vec::new();
        for (field, column) in self.0.iter().enumerate() {
            let [codes, values, numbers] = files(field);
            folder.write(&codes, &[bytemuck::cast_slice(&column.codes)])?;
            folder.write(&values, &[bytemuck::cast_slice(&column.starts), &column.text])?;
            folder.write(&numbers, &[bytemuck::cast_slice(&column.numbers)])?;
            files_of_all.extend([codes, values, numbers]);
        }
        let header = Header { fields: self.0.iter().map(|column| column.header.clone()).collect() };
        folder.json(FIELDS_FILE, &header)?;
        files_of_all.push(FIELDS_FILE.to_owned());
        folder.part("fields", "columns", &files_of_all);
        Ok(())
    }

    /// Reads the column of a field in mapped files; `None` if their sizes do not fit.
    fn column(header: &ColumnHeader, titles: usize, files: [Map; 3]) -> Option<Column> {
        let [codes, values, numbers] = files;
        let count = usize::try_from(header.values).ok()?;
        let starts = 0..count.checked_add(1)?.checked_mul(8)?;
        let text = starts.end..values.bytes().len();
        let column = Column {
            header: header.clone(),
            codes: codes.all()?,
            starts: values.numbers(starts)?,
            text: values.numbers(text)?,
            numbers: numbers.all()?,
            by_folded: OnceLock::new(),
            cumulative: OnceLock::new(),
        };
        (column.codes.len() == titles && column.numbers.len() == count).then_some(column)
    }

    /// Returns the column of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Column> {
        self.0.iter().find(|column| column.header.name == name)
    }
}

impl Column {
    /// Returns the bits of the titles that meet a condition, in words of 64.
    pub(crate) fn matching(&self, condition: &Condition) -> Vec<u64> {
        let mut wanted = vec![false; self.numbers.len()];
        let mut want = |value: &str| {
            self.alike(value).for_each(|code| wanted[code as usize] = true);
            let wanted_number = number(value);
            if !wanted_number.is_nan() {
                wanted
                    .iter_mut()
                    .zip(self.numbers.iter())
                    .for_each(|(wanted, number)| *wanted |= *number == wanted_number);
            }
        };
        match condition {
            Condition::Is(value) => want(value),
            Condition::In(values) => values.iter().for_each(|value| want(value)),
            Condition::Range { from, to } => {
                let inside = |number: f64| from.is_none_or(|from| number >= from) && to.is_none_or(|to| number <= to);
                for (wanted, &number) in wanted.iter_mut().zip(self.numbers.iter()) {
                    *wanted = !number.is_nan() && inside(number);
                }
            }
        }
        let bit = |code: &u32| u64::from(wanted.get(*code as usize).copied().unwrap_or(false));
        let word = |codes: &[u32]| codes.iter().rev().fold(0u64, |word, code| word << 1 | bit(code));
        self.codes.chunks(64).map(word).collect()
    }

    /// Returns the facts of this column.
    pub(crate) fn facts(&self) -> FieldFacts {
        let ColumnHeader { name, values, numbers } = self.header.clone();
        FieldFacts { name, values, numbers }
    }

    /// Returns the text of a title's value, empty if its place is damaged.
    pub(crate) fn text(&self, position: u32) -> &str {
        self.codes.get(position as usize).map_or("", |&code| self.value(code))
    }

    /// Returns the number of a title; NaN if it has none.
    pub(crate) fn number(&self, position: u32) -> f64 {
        let number = |&code: &u32| self.numbers.get(code as usize).copied();
        self.codes.get(position as usize).and_then(number).unwrap_or(f64::NAN)
    }

    /// Returns the number of titles with a number below `bound`, those that are gone among them; 0 for NaN.
    pub(crate) fn titles_below(&self, bound: f64) -> u64 {
        let cumulative = self.cumulative.get_or_init(|| {
            let mut titles = vec![0u64; self.numbers.len()];
            self.codes.iter().for_each(|&code| titles.get_mut(code as usize).into_iter().for_each(|count| *count += 1));
            let counted = self.numbers.iter().copied().zip(titles).filter(|(number, _)| !number.is_nan());
            let mut counted: Vec<(f64, u64)> = counted.collect();
            counted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            let mut sum = 0;
            counted.iter_mut().for_each(|(_, count)| {
                sum += *count;
                *count = sum;
            });
            counted
        });
        let below = cumulative.partition_point(|&(number, _)| number < bound);
        below.checked_sub(1).map_or(0, |last| cumulative[last].1)
    }

    /// Returns the text of a value, empty if its place is damaged.
    fn value(&self, code: u32) -> &str {
        let at = |value: usize| usize::try_from(*self.starts.get(value)?).ok();
        let range = || Some(at(code as usize)?..at(code as usize + 1)?);
        let bytes = range().and_then(|range| self.text.get(range)).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    /// Returns the numbers of the values that differ from `value` in case and accents at most.
    fn alike(&self, value: &str) -> impl Iterator<Item = u32> {
        let folded = |code: u32| folded(self.value(code));
        let order = self.by_folded.get_or_init(|| {
            let mut order: Vec<u32> = (0..self.numbers.len() as u32).collect();
            order.par_sort_by_cached_key(|&code| folded(code));
            order
        });
        let wanted = self::folded(value);
        let first = order.partition_point(|&code| folded(code) < wanted);
        order[first..].iter().copied().take_while(move |&code| folded(code) == wanted)
    }
}

/// Returns a text in lower case, without accents.
pub(crate) fn folded(text: &str) -> String {
    TextConfig { accents: Accents::Fold, tokens: Tokens::Spaces }.words(text).join(" ")
}

/// Parses a value as a number; NaN if it is not a number.
fn number(value: &str) -> f64 {
    value.trim().parse::<f64>().ok().filter(|number| number.is_finite()).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_met_by_the_right_titles() {
        let brands = ["acme", "", "zed", "acme", "Acmé"];
        let prices = ["10", "x", "-3.5", "1e2", ""];
        let table: String = (0..200).map(|n| format!("{n}\tt\t{}\t{}\n", brands[n % 5], prices[n % 5])).collect();
        let titles =
            TitleLines::from_table(format!("id\ttitle\tbrand\tprice\n{table}").into_bytes().into(), "t".as_ref())
                .unwrap();
        let fields = Fields::new(&titles);
        let found = |field: &str, condition: Condition| -> Vec<usize> {
            let bits = fields.get(field).unwrap().matching(&condition);
            assert_eq!(bits.len(), 4);
            let found: Vec<usize> = (0..256).filter(|n| bits[n / 64] >> (n % 64) & 1 == 1).collect();
            // The same five many times.
            assert!(found.iter().all(|n| found.contains(&(n % 5)) && *n < 200) && found.len().is_multiple_of(40));
            found.into_iter().filter(|&n| n < 5).collect()
        };
        let range = |from, to| Condition::Range { from, to };
        for brand in ["acme", "ACME", "Ácmé"] {
            assert_eq!(found("brand", Condition::Is(brand.to_owned())), [0, 3, 4], "{brand}");
        }
        assert!(found("brand", Condition::Is("ac".to_owned())).is_empty());
        assert_eq!(found("brand", Condition::In(vec!["zed".to_owned(), String::new(), "no".to_owned()])), [1, 2]);
        assert_eq!(found("price", range(Some(0.0), None)), [0, 3]);
        assert_eq!(found("price", range(None, Some(10.0))), [0, 2]);
        assert_eq!(found("price", range(Some(10.0), Some(10.0))), [0]);
        assert_eq!(found("price", range(None, None)), [0, 2, 3]);
        assert_eq!(found("price", Condition::Is("100.0".to_owned())), [3]);
        assert_eq!(found("price", Condition::Is("X".to_owned())), [1]);
        assert!(fields.get("colour").is_none());
        let facts = fields.get("price").unwrap().facts();
        assert_eq!((facts.values, facts.numbers), (5, 3));
        let below = |number: f64| fields.get("price").unwrap().titles_below(number);
        assert_eq!([-4.0, 10.0, 10.5, f64::INFINITY, f64::NAN].map(below), [0, 40, 80, 120, 0]);
    }
}
