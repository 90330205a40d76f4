//! TREC topics with tags, in their original form and in XML.

use std::io::{BufRead, Read};

use super::Topics;
use super::markup::{Tag, plain};
use clickvec_tables::table::RowFault;
use clickvec_tables::{Error, ErrorKind, Result};

/// The limit of tagged topics in bytes; TREC's own files have some ten thousand.
const MAX_TAGGED: usize = 64 << 20;

impl Topics<'_> {
    /// Reads topics between tags.
    pub(super) fn tagged(&mut self, reader: impl BufRead) -> Result<()> {
        let text = self.read_text(reader)?;
        let mut open: Option<Partial> = None;
        let mut lines = LineCounter { text: &text, at: 0, line: 1 };
        let mut from = 0;
        while let Some(tag) = Tag::next(&text, from) {
            from = tag.end;
            if tag.name.eq_ignore_ascii_case("top") || tag.name.eq_ignore_ascii_case("topic") {
                // A topic ends at its closing tag or at the beginning of the next topic.
                if let Some(topic) = open.take() {
                    let line = topic.line;
                    topic
                        .finish(&text[..tag.start])
                        .and_then(|(id, query)| self.add(line, &id, &query))
                        .map_err(|fault| fault.at_line(self.path, line))?;
                }
                if !tag.closes {
                    open = Some(Partial::new(lines.line_of(tag.start), &tag));
                }
            } else if let Some(topic) = &mut open {
                topic.tag(&text, &tag);
            }
        }
        match open {
            None => Ok(()),
            Some(Partial { line, .. }) => Err(incomplete("a closing tag, `</top>`,").at_line(self.path, line)),
        }
    }

    /// Reads all topics at once, since a tag may span lines.
    fn read_text(&self, reader: impl BufRead) -> Result<String> {
        let mut bytes = Vec::new();
        let read = reader.take(MAX_TAGGED as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|source| Error::io(self.path, "read", source))?;
        if bytes.len() > MAX_TAGGED {
            let expected = format!("topics of at most {MAX_TAGGED} bytes");
            let error = Error::expected(ErrorKind::Malformed, expected, "more");
            return Err(error.help("is this a file of topics?").at(self.path));
        }
        String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let before = &error.as_bytes()[..valid];
            let line = 1 + memchr::memchr_iter(b'\n', before).count() as u64;
            let start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
            let rest = &error.as_bytes()[start..];
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            RowFault::not_utf8(&rest[..end]).at_line(self.path, line)
        })
    }
}

fn incomplete(missing: &str) -> RowFault {
    let expected = format!("{missing} in the topic that begins here");
    RowFault::expected("incomplete topic", expected, "none; see docs/reference/tables.md")
}

/// A counter of lines for scanning forward.
struct LineCounter<'t> {
    text: &'t str,
    at: usize,
    line: u64,
}

impl LineCounter<'_> {
    /// Returns the line of a byte, which must not be before the previous one.
    fn line_of(&mut self, at: usize) -> u64 {
        self.line += memchr::memchr_iter(b'\n', &self.text.as_bytes()[self.at..at]).count() as u64;
        self.at = at;
        self.line
    }
}

/// The kind of a part of a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Number,
    Query,
    Title,
    /// A description or a narrative, which is not read.
    Other,
}

impl Part {
    const NAMES: [(&'static str, Part); 11] = [
        ("num", Part::Number),
        ("number", Part::Number),
        ("query", Part::Query),
        ("title", Part::Title),
        ("desc", Part::Other),
        ("description", Part::Other),
        ("narr", Part::Other),
        ("narrative", Part::Other),
        ("question", Part::Other),
        ("subtopic", Part::Other),
        ("summary", Part::Other),
    ];

    fn named(name: &str) -> Option<Part> {
        Part::NAMES.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, part)| part)
    }
}

/// A part that has begun.
#[derive(Clone, Copy)]
struct Open {
    part: Part,
    start: usize,
    /// The first tag that is not a known part. It ends a part that is never closed.
    other: Option<usize>,
}

/// An unfinished topic.
struct Partial {
    line: u64,
    number: Option<String>,
    query: Option<String>,
    title: Option<String>,
    /// The part that is being read.
    part: Option<Open>,
}

impl Partial {
    fn new(line: u64, tag: &Tag<'_>) -> Partial {
        let number = ["number", "num", "id", "qid"].into_iter().find_map(|name| tag.attribute(name));
        Partial { line, number, query: None, title: None, part: None }
    }

    /// Handles a tag within the topic. A tag that is not a known part belongs to the part around it if that part is
    /// closed, as with `<b>`; otherwise it is a part of its own, as with `<dom>`.
    fn tag(&mut self, text: &str, tag: &Tag<'_>) {
        match (Part::named(tag.name), &mut self.part) {
            (Some(part), open) => {
                let own_end = tag.closes && open.is_some_and(|open| open.part == part);
                self.end_part(&text[..tag.start], own_end);
                if !tag.closes {
                    self.part = Some(Open { part, start: tag.end, other: None });
                }
            }
            (None, Some(open)) => open.other = open.other.or(Some(tag.start)),
            (None, None) => {}
        }
    }

    /// Takes the part that ends where `text` ends, with or without its own closing tag. The first part of each kind
    /// counts.
    fn end_part(&mut self, text: &str, own_end: bool) {
        let Some(Open { part, start, other }) = self.part.take() else { return };
        let text = match other {
            Some(other) if !own_end => &text[..other],
            _ => text,
        };
        let (position, prefix) = match part {
            Part::Number => (&mut self.number, "number:"),
            Part::Query => (&mut self.query, ""),
            Part::Title => (&mut self.title, "topic:"),
            Part::Other => return,
        };
        let plain = plain(&text[start..]);
        let starts = plain.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
        let content = if starts { plain[prefix.len()..].trim_start() } else { &plain };
        if position.is_none() && !content.is_empty() {
            *position = Some(content.to_owned());
        }
    }

    /// Returns the id and the query of the topic that ends where `text` ends.
    fn finish(mut self, text: &str) -> Result<(String, String), RowFault> {
        self.end_part(text, false);
        let number = self.number.ok_or_else(|| incomplete("a number, `<num>`,"))?;
        let query = self.query.or(self.title);
        Ok((number, query.ok_or_else(|| incomplete("a query, `<title>` or `<query>`,"))?))
    }
}
