//! Options that name columns, as in `id=sku,title=name`.

/// Names of columns, each for one of the columns `C` that a command reads.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnNames<C>(Vec<(C, String)>);

impl<C: Copy + PartialEq> ColumnNames<C> {
    /// Parses `COLUMN=NAME,…`, where COLUMN is one of those in `known`.
    ///
    /// # Errors
    ///
    /// What was expected.
    pub fn parse(text: &str, known: &[(&str, C)]) -> Result<ColumnNames<C>, String> {
        let column = |name: &str| known.iter().find(|(known, _)| *known == name).map(|(_, column)| *column);
        let mut names: Vec<(C, String)> = Vec::new();
        for part in text.split(',') {
            let pair = part.split_once('=').and_then(|(name, value)| Some((column(name.trim())?, value)));
            match (pair, names.last_mut()) {
                (Some((column, name)), _) if !name.is_empty() => names.push((column, name.to_owned())),
                // A comma may be part of a name; what has a `=` is more likely a column that is misspelt.
                (None, Some((_, name))) if !part.contains('=') => *name += &format!(",{part}"),
                _ => {
                    let known: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
                    return Err(format!("expected COLUMN=NAME with one of the columns {}", known.join(", ")));
                }
            }
        }
        Ok(ColumnNames(names))
    }

    /// Returns the last name for a column.
    pub fn last<'a>(all: impl IntoIterator<Item = &'a ColumnNames<C>>, column: C) -> Option<&'a str>
    where
        C: 'a,
    {
        let names = all.into_iter().flat_map(|ColumnNames(names)| names);
        names.filter(|(known, _)| *known == column).last().map(|(_, name)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_may_be_in_a_name_and_the_last_name_counts() {
        let known = [("id", 'i'), ("title", 't')];
        let parse = |text: &str| ColumnNames::parse(text, &known);
        let names = [parse("id=a,b,title=c").unwrap(), parse("title=d").unwrap()];
        assert_eq!(['i', 't'].map(|column| ColumnNames::last(&names, column)), [Some("a,b"), Some("d")]);
        let expected = "expected COLUMN=NAME with one of the columns id, title";
        for text in ["", "id", "id=", "sku=id", "id=a,titel=b"] {
            assert_eq!(parse(text).unwrap_err(), expected, "{text}");
        }
    }
}
