//! The texts of queries that TREC qrels know by number: topics in the forms that people have.

use std::collections::HashMap;
use std::io::{BufRead, Read};
use std::path::Path;

use super::trec::{fields_of, read_lines};
use crate::clicks::{JsonLine, JsonLines, Line, TableReader, beir_query};
use crate::error::{Error, Result, TableFault, TestSetFault, shortened};
use crate::files;

/// The most bytes of tagged topics; TREC's own files have some ten thousand.
const MAX_TAGGED: usize = 64 << 20;
/// What the header of a table of topics may call the id.
const ID_COLUMNS: [&str; 3] = ["query_id", "qid", "id"];
/// What it may call the text.
const TEXT_COLUMN: &str = "query";

/// A query and its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// What qrels and runs call it.
    pub id: String,
    /// What was asked.
    pub text: String,
}

/// Reads topics: a table of `id`, tab, `query`, with or without a header; TREC's topics between `<top>` and `</top>`, or
/// `<topic>` and `</topic>`, with their `<query>` or, without one, `<title>`; or JSON lines with `_id` and `text`, as
/// BEIR has them. The first line that is not blank decides.
///
/// # Errors
///
/// Those of [`files::open`]; [`Error::ReadAt`] and [`Error::Io`] if reading fails; [`Error::Table`] for a broken line or
/// topic and for an id that stands twice; [`Error::TestSet`] where there is no topic at all.
pub fn read_topics(path: &Path) -> Result<Vec<Topic>> {
    let (first, reader) = files::first_line(files::open(path)?, path)?;
    let mut topics = Topics { path, topics: Vec::new(), lines: HashMap::new() };
    match first.trim_start().chars().next() {
        Some('<') => topics.tagged(reader)?,
        Some('{') => topics.json(reader)?,
        _ => match header(&first) {
            Some(columns) => topics.table(reader, columns)?,
            None => topics.lines(reader)?,
        },
    }
    if topics.topics.is_empty() {
        return Err(Error::TestSet { path: path.to_owned(), fault: TestSetFault::NoTopic });
    }
    Ok(topics.topics)
}

/// The names of id and text, if the line is a header.
fn header(line: &str) -> Option<[&'static str; 2]> {
    let has = |name: &&str| line.split('\t').any(|found| found.trim().eq_ignore_ascii_case(name));
    let id = ID_COLUMNS.into_iter().find(has)?;
    has(&TEXT_COLUMN).then_some([id, TEXT_COLUMN])
}

struct Topics<'p> {
    path: &'p Path,
    topics: Vec<Topic>,
    /// The first line of each id.
    lines: HashMap<String, u64>,
}

impl Topics<'_> {
    fn fault(&self, line: u64, fault: TableFault) -> Error {
        Error::Table { path: self.path.to_owned(), line: Some(line), fault }
    }

    fn add(&mut self, line: u64, id: &str, text: &str) -> Result<(), TableFault> {
        if id.is_empty() {
            return Err(TableFault::EmptyId { column: ID_COLUMNS[0] });
        }
        if let Some(first_line) = self.lines.insert(id.to_owned(), line) {
            return Err(TableFault::DuplicateId { id: shortened(id), first_line });
        }
        self.topics.push(Topic { id: id.to_owned(), text: text.to_owned() });
        Ok(())
    }

    fn table(&mut self, reader: Box<dyn BufRead + Send>, [id, text]: [&str; 2]) -> Result<()> {
        let mut table = TableReader::from_reader(self.path, reader)?;
        let [id, text] = [table.require(id)?, table.require(text)?];
        while let Some(line) = table.next()? {
            let (line, added) = match line {
                Line::Broken { line, fault } => (line, Err(fault)),
                Line::Whole(row) => {
                    let [id, text] = [id, text].map(|column| row.get(column).unwrap_or_default().trim());
                    (row.line, self.add(row.line, id, text))
                }
            };
            added.map_err(|fault| self.fault(line, fault))?;
        }
        Ok(())
    }

    fn lines(&mut self, reader: impl BufRead) -> Result<()> {
        let path = self.path;
        read_lines(reader, path, |line, text| {
            let [id, query] = fields_of(text.split('\t'), "id, a tab, query")?;
            self.add(line, id.trim(), query.trim())
        })?;
        Ok(())
    }

    fn json(&mut self, reader: Box<dyn BufRead + Send>) -> Result<()> {
        let mut lines = JsonLines::new(self.path, reader);
        while let Some(JsonLine { line, object }) = lines.next()? {
            let added = object.and_then(|object| beir_query(&object)).and_then(|(id, text)| self.add(line, &id, &text));
            added.map_err(|fault| self.fault(line, fault))?;
        }
        Ok(())
    }

    fn tagged(&mut self, reader: impl BufRead) -> Result<()> {
        let text = self.whole(reader)?;
        let mut open: Option<Partial> = None;
        let mut lines = LineCounter { text: &text, at: 0, line: 1 };
        let mut from = 0;
        while let Some(tag) = Tag::next(&text, from) {
            from = tag.end;
            if tag.name.eq_ignore_ascii_case("top") || tag.name.eq_ignore_ascii_case("topic") {
                // A topic ends where its tag is closed, or where the next one begins.
                if let Some(topic) = open.take() {
                    let line = topic.line;
                    topic
                        .finish(&text[..tag.start])
                        .and_then(|(id, query)| self.add(line, &id, &query))
                        .map_err(|fault| self.fault(line, fault))?;
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
            Some(Partial { line, .. }) => {
                Err(self.fault(line, TableFault::IncompleteTopic { missing: "a closing tag, `</top>`," }))
            }
        }
    }

    /// Tagged topics are no lines: all is read at once.
    fn whole(&self, reader: impl BufRead) -> Result<String> {
        let mut bytes = Vec::new();
        let read = reader.take(MAX_TAGGED as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|source| Error::io(self.path, "read", source))?;
        if bytes.len() > MAX_TAGGED {
            let fault = TestSetFault::TopicsTooLong { limit: MAX_TAGGED };
            return Err(Error::TestSet { path: self.path.to_owned(), fault });
        }
        String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let before = &error.as_bytes()[..valid];
            let line = 1 + memchr::memchr_iter(b'\n', before).count() as u64;
            let byte = valid - memchr::memrchr(b'\n', before).map_or(0, |end| end + 1) + 1;
            self.fault(line, TableFault::NotUtf8 { byte })
        })
    }
}

/// Counts lines as it goes.
struct LineCounter<'t> {
    text: &'t str,
    at: usize,
    line: u64,
}

impl LineCounter<'_> {
    /// The line of a byte, which must not stand before the last one that was asked for.
    fn line_of(&mut self, at: usize) -> u64 {
        self.line += memchr::memchr_iter(b'\n', &self.text.as_bytes()[self.at..at]).count() as u64;
        self.at = at;
        self.line
    }
}

/// What a part of a topic is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Number,
    Query,
    Title,
    /// A description, a narrative: not read.
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
    /// The first tag that is no known part's: of a part that is never closed, it is the end.
    other: Option<usize>,
}

/// A topic that has begun.
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

    /// A tag within the topic. One that is no known part's belongs to the part around it if that is closed, as `<b>`
    /// does; otherwise it is a part of its own, as `<dom>`.
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

    /// Takes the part that ends where `text` does, with its own closing tag or not; the first of each kind counts.
    fn end_part(&mut self, text: &str, own_end: bool) {
        let Some(Open { part, start, other }) = self.part.take() else { return };
        let text = match other {
            Some(other) if !own_end => &text[..other],
            _ => text,
        };
        let (place, prefix) = match part {
            Part::Number => (&mut self.number, "number:"),
            Part::Query => (&mut self.query, ""),
            Part::Title => (&mut self.title, "topic:"),
            Part::Other => return,
        };
        let plain = plain(&text[start..]);
        let starts = plain.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
        let content = if starts { plain[prefix.len()..].trim_start() } else { &plain };
        if place.is_none() && !content.is_empty() {
            *place = Some(content.to_owned());
        }
    }

    /// Id and query of the topic that ends where `text` does.
    fn finish(mut self, text: &str) -> Result<(String, String), TableFault> {
        self.end_part(text, false);
        let number = self.number.ok_or(TableFault::IncompleteTopic { missing: "a number, `<num>`," })?;
        let query = self.query.or(self.title);
        Ok((number, query.ok_or(TableFault::IncompleteTopic { missing: "a query, `<title>` or `<query>`," })?))
    }
}

/// `<name attributes>` or `</name>`.
struct Tag<'t> {
    name: &'t str,
    attributes: &'t str,
    closes: bool,
    /// Of `<`, and behind `>`.
    start: usize,
    end: usize,
}

impl<'t> Tag<'t> {
    /// The next tag at or behind `from`. Comments, `<?…>` and a `<` that begins nothing are passed over.
    fn next(text: &'t str, mut from: usize) -> Option<Tag<'t>> {
        loop {
            let start = from + text[from..].find('<')?;
            let rest = &text[start + 1..];
            if let Some(comment) = rest.strip_prefix("!--") {
                from = comment.find("-->").map(|end| start + 4 + end + 3)?;
                continue;
            }
            let closes = rest.starts_with('/');
            let inner = rest.strip_prefix('/').unwrap_or(rest);
            match inner.find(['<', '>']) {
                Some(end) if inner[end..].starts_with('>') && inner.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                    let (name, attributes) =
                        inner[..end].split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((&inner[..end], ""));
                    let name = name.trim_end_matches('/');
                    let end = start + 1 + usize::from(closes) + end + 1;
                    return Some(Tag { name, attributes, closes, start, end });
                }
                _ => from = start + 1,
            }
        }
    }

    /// The value of `name="value"`, if it is not empty.
    fn attribute(&self, name: &str) -> Option<String> {
        let mut rest = self.attributes;
        while let Some((before, after)) = rest.split_once('=') {
            let after = after.trim_start();
            let quote = after.chars().next().filter(|c| ['"', '\''].contains(c))?;
            let (value, behind) = after[1..].split_once(quote)?;
            if before.trim().eq_ignore_ascii_case(name) && !value.trim().is_empty() {
                return Some(plain(value));
            }
            rest = behind;
        }
        None
    }
}

/// Text without tags and with its entities resolved; white space is one space.
fn plain(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut from = 0;
    while let Some(tag) = Tag::next(text, from) {
        bare.push_str(&text[from..tag.start]);
        bare.push(' ');
        from = tag.end;
    }
    bare.push_str(&text[from..]);
    // `&amp;` comes last, so that `&amp;lt;` is `&lt;`.
    for (entity, character) in
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&#39;", "'"), ("&amp;", "&")]
    {
        bare = bare.replace(entity, character);
    }
    bare.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Topic>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("topics");
        std::fs::write(&path, text).unwrap();
        read_topics(&path)
    }

    fn pairs(text: &str) -> Vec<(String, String)> {
        read(text).unwrap().into_iter().map(|topic| (topic.id, topic.text)).collect()
    }

    fn message(text: &str) -> String {
        let message = read(text).unwrap_err().to_string();
        message.split_once("topics").unwrap().1.to_owned()
    }

    fn expected(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(id, text)| ((*id).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn tables_with_and_without_a_header() {
        let both = expected(&[("1", "red shoes"), ("ü2", "sofa, 6 ft.")]);
        assert_eq!(pairs("1\tred shoes\n\nü2\tsofa, 6 ft.\n"), both);
        assert_eq!(pairs("\u{feff}1\tred shoes\r\nü2\tsofa, 6 ft.\r\n"), both);
        assert_eq!(pairs("qid\tquery\n1\tred shoes\nü2\tsofa, 6 ft."), both);
        assert_eq!(pairs("\u{feff}Query\tx\tquery_id\nred shoes\t\t1\nsofa, 6 ft.\t\tü2"), both);
    }

    #[test]
    fn json_lines() {
        let text = "{\"_id\":\"1\",\"text\":\"red\\nshoes\",\"metadata\":{}}\r\n\n{\"_id\":2,\"text\":\"sofa\"}\n";
        assert_eq!(pairs(text), expected(&[("1", "red shoes"), ("2", "sofa")]));
        assert!(message("{\"_id\":\"1\",\"text\":\"a\"}\n{\n").starts_with(":2: expected a JSON object, found"));
        assert!(message("{\"_id\":\"1\"}\n").starts_with(":1: expected a text in the member `text`, found nothing"));
    }

    #[test]
    fn topics_as_trec_wrote_them_first() {
        let text = "<top>\n<head> Tipster Topic Description\n<num> Number:  051\n<dom> Domain:  Law\n\
                    <title> Topic:  Airbus\n  Subsidies &amp; AT&T\n\n<desc> Description:\nA <title> is none.\n</top>\n\n\
                    <top>\n\n<num> Number: 301 \n<title> International Organized Crime \n\n<desc> Description: \nx < y\n\
                    <narr> Narrative: \nz\n</top>";
        // The second title of a topic does not count.
        let both = [("051", "Airbus Subsidies & AT&T"), ("301", "International Organized Crime")];
        assert_eq!(pairs(text), expected(&both));
        assert_eq!(pairs(&format!("\u{feff}{}", text.replace('\n', "\r\n"))), expected(&both));
    }

    #[test]
    fn topics_in_xml() {
        let text = "<?xml version=\"1.0\"?>\n<!-- <topic number=\"9\"> -->\n<topics task='x'>\n\
                    <topic number=\"1\" type=\"faceted\">\n<query>obama <b>family</b> tree</query>\n<title>no</title>\n\
                    <description>d</description><subtopic number=\"1\" type=\"nav\">e</subtopic></topic>\n\
                    <topic id='2'><title>a &lt; b &amp;lt;</title></topic>\n\
                    <topic><num>3</num><title>c</title></topic></topics>";
        assert_eq!(pairs(text), expected(&[("1", "obama family tree"), ("2", "a < b &lt;"), ("3", "c")]));
    }

    #[test]
    fn each_fault_names_its_line() {
        assert!(message("1\ta\n1\tb\n").starts_with(":2: expected a new id, found `1`, which stands in line 1"));
        assert!(message("1\ta\n2 b\n").starts_with(":2: expected 2 fields, `id, a tab, query`, found 1"));
        assert!(message("1\ta\tb\n").starts_with(":1: expected 2 fields"));
        assert!(message("1\ta\n \tb\n").starts_with(":2: expected an id in column `query_id`, found nothing"));
        assert!(message("qid\tquery\n1\n").starts_with(":2: expected at least 2 columns, found 1"));
        for nothing in ["", "\n\n", "<topics></topics>", "qid\tquery\n"] {
            assert!(message(nothing).starts_with(": expected topics, found none"), "{nothing:?}");
        }
        let top = "<top>\n<num> 1\n<title> a\n</top>\n";
        assert!(
            message(&format!("{top}<top>\n<title> a\n</top>")).starts_with(":5: expected a number, `<num>`, in the")
        );
        assert!(
            message(&format!("{top}<top><num> 2 <title> </top>")).starts_with(":5: expected a query, `<title>` or")
        );
        assert!(message(&format!("{top}<top><num> 2 <title> a")).starts_with(":5: expected a closing tag"));
        assert!(message(&format!("{top}{top}")).starts_with(":5: expected a new id, found `1`"));
    }

    #[test]
    fn nothing_makes_it_panic() {
        let pieces = [
            "<top>",
            "</top>",
            "<num>",
            " Number:",
            "1",
            "<title>",
            "</title>",
            "<",
            ">",
            "</",
            "<!--",
            "-->",
            "é",
            "<topic number='",
            "\"",
            "=",
            "&amp;",
            "&",
            "\n",
            "<b/>",
            "<q",
            "Topic:",
        ];
        // Numbers that look like chance, the same each time.
        let mut state = 1u64;
        for _ in 0..20_000 {
            let mut text = String::from("<");
            for _ in 0..12 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text.push_str(pieces[(state >> 33) as usize % pieces.len()]);
            }
            let mut topics = Topics { path: Path::new("t"), topics: Vec::new(), lines: HashMap::new() };
            let result = topics.tagged(text.as_bytes());
            assert!(
                result.is_err() || topics.topics.iter().all(|topic| !topic.id.is_empty() && !topic.text.is_empty())
            );
        }
    }

    #[test]
    fn tagged_topics_must_be_utf_8() {
        let mut reader = Topics { path: Path::new("t"), topics: Vec::new(), lines: HashMap::new() };
        let fault = reader.tagged(&b"<top>\n<num> 1 <title> caf\xe9 </top>"[..]).unwrap_err();
        assert!(fault.to_string().starts_with("t:2: expected UTF-8, found another byte at place 20"), "{fault}");
    }
}
