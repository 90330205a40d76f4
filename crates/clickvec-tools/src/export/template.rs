//! A form of export as a template: the files of the export, each with how often it is rendered.
//!
//! Text above the first file describes the form. Then each file has a line `==> NAME` with its template below, in Jinja's language
//! ([`minijinja`]). Behind the name may stand:
//!
//! | | the template is rendered | with |
//! | --- | --- | --- |
//! | | once | |
//! | `\| each title` | for each title | `title.number`, `id`, `title`, `vector` (a JSON list), `fields` |
//! | `\| each 256 titles` | for at most that many titles | `titles` |
//! | `\| each query` | for each judged query | `query.number`, `id`, `text`, `titles` with `id`, `title`, `grade`, `features` |
//!
//! Every template knows `name`, `dimension`, `model` (a fingerprint), `field`, `fusion` (`method`, `words`, `vectors`, `rank_constant`, `custom`),
//! `features` (what each feature is), and the filter `json`.

use std::path::{Path, PathBuf};

use clickvec_tables::{Error, ErrorKind, Result};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;

/// The beginning of the line above each file.
const FILE: &str = "==> ";

/// A form of export.
pub(super) struct Template {
    /// Where it was read from, for messages.
    path: PathBuf,
    pub(super) files: Vec<File>,
    environment: Environment<'static>,
}

/// A file of an export.
pub(super) struct File {
    pub(super) name: String,
    pub(super) each: Each,
    /// The line in the form where its template begins.
    line: u64,
}

/// What a file is rendered for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Each {
    Export,
    Title,
    Titles(usize),
    Query,
}

impl Template {
    /// Parses a form that was read from `path`. `globals` are known to every file.
    ///
    /// # Errors
    ///
    /// A line of a file that is not understood, a name that is no plain name, or a template with a fault of syntax.
    pub(super) fn parse(path: &Path, text: &str, globals: &impl Serialize) -> Result<Template> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        // No file is HTML, whatever its name.
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build();
        environment.set_syntax(syntax.map_err(|error| Error::new(ErrorKind::Setting, error.to_string()))?);
        environment.add_filter("json", |value: &Value| {
            serde_json::to_string(value)
                .map_err(|error| minijinja::Error::new(minijinja::ErrorKind::BadSerialization, error.to_string()))
        });
        let globals = Value::from(Serde(globals));
        for name in globals.try_iter().into_iter().flatten() {
            if let (Some(name), Ok(value)) = (name.as_str(), globals.get_item(&name)) {
                environment.add_global(name.to_owned(), value);
            }
        }
        let mut template = Template { path: path.to_owned(), files: Vec::new(), environment };
        let mut source = String::new();
        for (line, text) in (1..).zip(text.split_inclusive('\n')) {
            match text.strip_prefix(FILE) {
                Some(head) => {
                    template.add_source(&source)?;
                    source.clear();
                    template.add_file(head.trim(), line)?;
                }
                None => source.push_str(text),
            }
        }
        template.add_source(&source)?;
        if template.files.is_empty() {
            let expected = "a line `==> NAME` above the template of each file";
            return Err(Error::expected(ErrorKind::Malformed, expected, "none").at(path));
        }
        Ok(template)
    }

    fn add_file(&mut self, head: &str, line: u64) -> Result<()> {
        let malformed = |expected: &str, found: &str| {
            let found = format!("`{}`", clickvec_tables::shown::shortened(found));
            Error::expected(ErrorKind::Malformed, expected.to_owned(), found).at_line(&self.path, line)
        };
        let (name, each) = head.split_once('|').map_or((head, ""), |(name, each)| (name.trim_end(), each.trim_start()));
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
            return Err(malformed("the name of a file in letters, digits, `.`, `_` and `-`", name));
        }
        if name == super::MARK || self.files.iter().any(|file| file.name == name) {
            return Err(malformed("another name for each file", name));
        }
        let titles = || each.strip_prefix("each ")?.strip_suffix(" titles")?.parse().ok().filter(|&count| count > 0);
        let each = match each {
            "" => Each::Export,
            "each title" => Each::Title,
            "each query" => Each::Query,
            _ => Each::Titles(titles().ok_or_else(|| {
                malformed("`each title`, `each N titles` or `each query` behind the name of a file", each)
            })?),
        };
        self.files.push(File { name: name.to_owned(), each, line });
        Ok(())
    }

    /// Adds the template of the last file.
    fn add_source(&mut self, source: &str) -> Result<()> {
        let Some(file) = self.files.last() else { return Ok(()) };
        let added = self.environment.add_template_owned(file.name.clone(), source.to_owned());
        added.map_err(|error| told(&self.path, file, &error))
    }

    /// Renders a file with the values of `context`.
    pub(super) fn render(&self, file: &File, context: Value) -> Result<String> {
        let rendered = self.environment.get_template(&file.name).and_then(|template| template.render(context));
        rendered.map_err(|error| told(&self.path, file, &error))
    }
}

/// Returns the error of a template, with its line in the form.
fn told(path: &Path, file: &File, error: &minijinja::Error) -> Error {
    let detail = error.detail().map_or_else(String::new, |detail| format!(": {detail}"));
    let message = format!("cannot render `{}`: {}{detail}", file.name, error.kind());
    let line = file.line + error.line().unwrap_or(1) as u64;
    Error::new(ErrorKind::Malformed, message).at_line(path, line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use minijinja::context;

    #[derive(Serialize)]
    struct Globals {
        name: &'static str,
    }

    fn parse(text: &str) -> Result<Template> {
        Template::parse(Path::new("form.jinja"), text, &Globals { name: "shop" })
    }

    #[test]
    fn every_file_is_rendered_for_what_its_line_says() {
        let form =
            "About the form.\n==> a.json | each title\n{{ title|json }}<\n==> b | each 16 titles\n==> c\n{{ name }}\n";
        let form = parse(form).unwrap();
        let files: Vec<(&str, Each)> = form.files.iter().map(|file| (file.name.as_str(), file.each)).collect();
        assert_eq!(files, [("a.json", Each::Title), ("b", Each::Titles(16)), ("c", Each::Export)]);
        let context = context! { title => "<\"é\">" };
        assert_eq!(form.render(&form.files[0], context).unwrap(), "\"<\\\"é\\\">\"<\n");
        assert_eq!(form.render(&form.files[2], context! {}).unwrap(), "shop\n");
    }

    #[test]
    fn a_fault_is_told_with_its_line() {
        for (form, expected) in [
            ("about\n", "form.jinja: expected a line `==> NAME` above the template of each file, found none"),
            (
                "==> ../a\n",
                "form.jinja:1: expected the name of a file in letters, digits, `.`, `_` and `-`, found `../a`",
            ),
            ("==> a\n==> a\n", "form.jinja:2: expected another name for each file, found `a`"),
            (
                "==> a | each 0 titles\n",
                "form.jinja:1: expected `each title`, `each N titles` or `each query` behind the name of a file, \
                 found `each 0 titles`",
            ),
            ("==> a\nx\n{% if %}\n", "form.jinja:3: cannot render `a`: syntax error: "),
        ] {
            let error = parse(form).err().expect(form).to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        let form = parse("==> a\n\n{{ unknown }}\n").unwrap();
        let error = form.render(&form.files[0], context! {}).unwrap_err().to_string();
        assert_eq!(error, "form.jinja:3: cannot render `a`: undefined value");
    }
}
