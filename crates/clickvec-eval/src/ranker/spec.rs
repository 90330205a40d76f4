//! The description of a ranker, such as `plsa:topics=500,lambda=0.5` or `vectors:file=words.vec`.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use clickvec_tables::shown::shortened;
use clickvec_tables::{Error, ErrorKind, Result};

/// The names of parameters that are files. All others are numbers.
const FILES: [&str; 4] = ["file", "queries", "titles", "encoder"];

/// A ranker's name and its parameters, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RankerSpec {
    /// The name of the system.
    pub name: String,
    /// Distinct names with finite values.
    pub parameters: Vec<(String, f64)>,
    /// Distinct names with files that another program trained.
    pub files: Vec<(String, PathBuf)>,
}

impl RankerSpec {
    /// The value of a parameter, if there is one.
    pub fn get(&self, parameter: &str) -> Option<f64> {
        self.parameters.iter().find(|(name, _)| name == parameter).map(|&(_, value)| value)
    }

    /// Checks that all numbers are in `known` and all files in `files`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Setting`] for the first one that is not.
    pub(crate) fn allow(&self, known: &[&'static str], files: &[&'static str]) -> Result<()> {
        let numbers = self.parameters.iter().map(|(name, _)| name).filter(|name| !known.contains(&name.as_str()));
        let mut unknown =
            numbers.chain(self.files.iter().map(|(name, _)| name).filter(|name| !files.contains(&name.as_str())));
        let Some(name) = unknown.next() else { return Ok(()) };
        let expected = match [files, known].concat()[..] {
            [] => "no parameters".to_owned(),
            ref all => format!("one of the parameters {}", all.join(", ")),
        };
        Err(self.fault(expected, format!("`{}`", shortened(name))))
    }

    /// Returns the error of this description: `ranker X: expected …, found …`.
    pub(crate) fn fault(&self, expected: String, found: String) -> Error {
        fault(&self.name, expected, found)
    }

    /// The value of a parameter in `range`, or `default`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Setting`] for a value outside the range.
    pub(crate) fn number(&self, parameter: &'static str, default: f64, range: RangeInclusive<f64>) -> Result<f64> {
        match self.get(parameter) {
            None => Ok(default),
            Some(value) if range.contains(&value) => Ok(value),
            Some(found) => {
                let expected = format!("{} to {} for `{parameter}`", range.start(), range.end());
                Err(self.fault(expected, found.to_string()))
            }
        }
    }
}

fn fault(ranker: &str, expected: impl Into<Cow<'static, str>>, found: String) -> Error {
    Error::expected(ErrorKind::Setting, expected, found).within(format!("ranker `{}`", shortened(ranker)))
}

impl FromStr for RankerSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<RankerSpec> {
        let (name, list) = text.split_once(':').map_or((text, None), |(name, list)| (name, Some(list)));
        let name = name.trim();
        if name.is_empty() {
            return Err(fault(text, "a name such as `bm25`", "none".to_owned()));
        }
        let mut spec = RankerSpec { name: name.to_owned(), ..RankerSpec::default() };
        for assignment in list.into_iter().flat_map(|list| list.split(',')) {
            let parts = assignment.split_once('=').map(|(parameter, value)| (parameter.trim(), value.trim()));
            let Some((parameter, value)) = parts.filter(|(parameter, _)| !parameter.is_empty()) else {
                let found = format!("`{}`", shortened(assignment));
                return Err(fault(name, "parameters as `name=value,name=value`", found));
            };
            if spec.get(parameter).is_some() || spec.files.iter().any(|(name, _)| name == parameter) {
                return Err(fault(name, "each parameter once", format!("`{}` again", shortened(parameter))));
            }
            if FILES.contains(&parameter) {
                if value.is_empty() {
                    return Err(fault(name, format!("a file for `{parameter}`"), "none".to_owned()));
                }
                spec.files.push((parameter.to_owned(), value.into()));
                continue;
            }
            let Some(number) = value.parse::<f64>().ok().filter(|number| number.is_finite()) else {
                let expected = format!("a number for `{}`", shortened(parameter));
                return Err(fault(name, expected, format!("`{}`", shortened(value))));
            };
            spec.parameters.push((parameter.to_owned(), number));
        }
        Ok(spec)
    }
}

impl fmt::Display for RankerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        let files = self.files.iter().map(|(name, path)| format!("{name}={}", path.display()));
        let numbers = self.parameters.iter().map(|(name, value)| format!("{name}={value}"));
        for (position, assignment) in files.chain(numbers).enumerate() {
            write!(f, "{}{assignment}", if position == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        text.parse::<RankerSpec>().unwrap_err().to_string()
    }

    #[test]
    fn a_spec_is_read_and_shown_alike() {
        for text in
            ["bm25", "bm25:k1=0.9,b=0.4", "plsa:topics=500,lambda=0.5", "skip-thought", "vectors:file=a/b.vec,idf=1"]
        {
            assert_eq!(text.parse::<RankerSpec>().unwrap().to_string(), text);
        }
        let spec: RankerSpec = " plsa: topics = 5e2 ,lambda=.5".parse().unwrap();
        assert_eq!(spec.name, "plsa");
        assert_eq!(spec.parameters, [("topics".to_owned(), 500.0), ("lambda".to_owned(), 0.5)]);
        assert_eq!((spec.get("lambda"), spec.get("k")), (Some(0.5), None));
        let spec: RankerSpec = "vectors:idf=1, titles = 7 ,queries=b.vec".parse().unwrap();
        assert_eq!(spec.to_string(), "vectors:titles=7,queries=b.vec,idf=1");
    }

    #[test]
    fn each_fault_is_named() {
        assert_eq!(fault(""), "ranker ``: expected a name such as `bm25`, found none");
        assert_eq!(fault(":k1=1"), "ranker `:k1=1`: expected a name such as `bm25`, found none");
        let form = "ranker `bm25`: expected parameters as `name=value,name=value`, found";
        assert_eq!(fault("bm25:"), format!("{form} ``"));
        assert_eq!(fault("bm25:k1"), format!("{form} `k1`"));
        assert_eq!(fault("bm25:k1=1,"), format!("{form} ``"));
        assert_eq!(fault("bm25:=1"), format!("{form} `=1`"));
        for bad in ["", "x", "nan", "inf", "1=2"] {
            let message = fault(&format!("bm25:k1={bad}"));
            assert_eq!(message, format!("ranker `bm25`: expected a number for `k1`, found `{bad}`"));
        }
        assert_eq!(fault("vectors:file="), "ranker `vectors`: expected a file for `file`, found none");
        assert_eq!(
            fault("vectors:file=a,file=b"),
            "ranker `vectors`: expected each parameter once, found `file` again"
        );
        assert_eq!(fault("bm25:k1=1,k1=2"), "ranker `bm25`: expected each parameter once, found `k1` again");
    }

    #[test]
    fn values_are_checked() {
        let spec: RankerSpec = "plsa:topics=500,lambda=1.5".parse().unwrap();
        assert_eq!(spec.number("lambda", 0.5, 0.0..=2.0).unwrap(), 1.5);
        let message = |error: Error| error.to_string();
        assert_eq!(
            message(spec.number("lambda", 0.5, 0.0..=1.0).unwrap_err()),
            "ranker `plsa`: expected 0 to 1 for `lambda`, found 1.5"
        );
        assert_eq!(
            message(spec.allow(&["topics", "seed"], &[]).unwrap_err()),
            "ranker `plsa`: expected one of the parameters topics, seed, found `lambda`"
        );
        assert_eq!(message(spec.allow(&[], &[]).unwrap_err()), "ranker `plsa`: expected no parameters, found `topics`");
        assert!(spec.allow(&["lambda", "topics"], &[]).is_ok());
        let spec: RankerSpec = "plsa:file=a".parse().unwrap();
        assert_eq!(
            message(spec.allow(&["topics"], &[]).unwrap_err()),
            "ranker `plsa`: expected one of the parameters topics, found `file`"
        );
        assert!(spec.allow(&[], &["file"]).is_ok());
    }
}
