//! The description of a ranker, such as `plsa:topics=500,lambda=0.5`.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use clickvec_tables::shown::shortened;
use clickvec_tables::{Error, ErrorKind, Result};

/// A ranker's name and the given parameters, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct RankerSpec {
    /// The name of the system.
    pub name: String,
    /// Distinct names with finite values.
    pub parameters: Vec<(String, f64)>,
}

impl RankerSpec {
    /// The value of a parameter, if it was given.
    pub fn get(&self, parameter: &str) -> Option<f64> {
        self.parameters.iter().find(|(name, _)| name == parameter).map(|&(_, value)| value)
    }

    /// Checks that only parameters in `known` were given.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Setting`] for the first one that is not.
    pub(crate) fn allow(&self, known: &[&'static str]) -> Result<()> {
        match self.parameters.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, _)) => {
                let expected = match known {
                    [] => "no parameters".to_owned(),
                    known => format!("one of the parameters {}", known.join(", ")),
                };
                Err(self.fault(expected, format!("`{}`", shortened(name))))
            }
        }
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
        let mut spec = RankerSpec { name: name.to_owned(), parameters: Vec::new() };
        for assignment in list.into_iter().flat_map(|list| list.split(',')) {
            let parts = assignment.split_once('=').map(|(parameter, value)| (parameter.trim(), value.trim()));
            let Some((parameter, value)) = parts.filter(|(parameter, _)| !parameter.is_empty()) else {
                let found = format!("`{}`", shortened(assignment));
                return Err(fault(name, "parameters as `name=value,name=value`", found));
            };
            let Some(number) = value.parse::<f64>().ok().filter(|number| number.is_finite()) else {
                let expected = format!("a number for `{}`", shortened(parameter));
                return Err(fault(name, expected, format!("`{}`", shortened(value))));
            };
            if spec.get(parameter).is_some() {
                return Err(fault(name, "each parameter once", format!("`{}` again", shortened(parameter))));
            }
            spec.parameters.push((parameter.to_owned(), number));
        }
        Ok(spec)
    }
}

impl fmt::Display for RankerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        for (i, (parameter, value)) in self.parameters.iter().enumerate() {
            write!(f, "{}{parameter}={value}", if i == 0 { ':' } else { ',' })?;
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
        for text in ["bm25", "bm25:k1=0.9,b=0.4", "plsa:topics=500,lambda=0.5", "skip-thought"] {
            assert_eq!(text.parse::<RankerSpec>().unwrap().to_string(), text);
        }
        let spec: RankerSpec = " plsa: topics = 5e2 ,lambda=.5".parse().unwrap();
        assert_eq!(spec.name, "plsa");
        assert_eq!(spec.parameters, [("topics".to_owned(), 500.0), ("lambda".to_owned(), 0.5)]);
        assert_eq!((spec.get("lambda"), spec.get("k")), (Some(0.5), None));
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
            message(spec.allow(&["topics", "seed"]).unwrap_err()),
            "ranker `plsa`: expected one of the parameters topics, seed, found `lambda`"
        );
        assert_eq!(message(spec.allow(&[]).unwrap_err()), "ranker `plsa`: expected no parameters, found `topics`");
        assert!(spec.allow(&["lambda", "topics"]).is_ok());
    }
}
