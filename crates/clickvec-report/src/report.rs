//! Reports: a list of blocks that is printed as text or shown as a page.

use comfy_table::{Cell as TextCell, CellAlignment, ContentArrangement, LineStyle, TableStyle};
use maud::{Markup, html};

use clickvec_tables::shown::printable;

/// Length of the longest bar of a text, in characters.
const BAR: f64 = 12.0;
/// Spaces after a label.
const LABEL_GAP: usize = 2;

/// What a command found, for readers.
#[derive(Default)]
pub struct Report {
    blocks: Vec<Block>,
}

/// A part of a report.
enum Block {
    /// A heading of this level.
    Heading(u8, String),
    /// A text with a short label in front of it.
    Line(&'static str, String),
    /// A line that begins a part; a page shows it as a heading, without its label.
    Subject(&'static str, String),
    Paragraph(String),
    /// A remark about what is shown above.
    Note(String),
    Table(Table),
    /// What only a page can show.
    Picture(Markup),
}

/// A table of a report.
#[derive(Default)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

/// A column of a table.
pub struct Column {
    head: Cell,
    form: Form,
}

/// What a column holds.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Text,
    /// Texts of several words, which a page breaks into lines.
    Long,
    Number,
    /// Numbers with bars; the longest bar stands for this value.
    Share(f64),
}

/// A cell of a table.
pub enum Cell {
    /// A text.
    Text(String),
    /// A number that stands out.
    Strong(String),
    /// Words, each with its marks.
    Words(Vec<Mark>),
    /// A share as it is shown, and its value.
    Share(String, f64),
}

/// A word with its marks.
pub struct Mark {
    /// The word.
    pub word: String,
    /// The words that it stands for, if it stands for several.
    pub stands_for: Option<String>,
    /// Whether it is a keyword.
    pub is_keyword: bool,
    /// Whether the model does not know it.
    pub is_unknown: bool,
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl From<Mark> for Cell {
    fn from(mark: Mark) -> Cell {
        Cell::Words(vec![mark])
    }
}

impl Column {
    /// Creates a column of texts.
    pub fn text(head: impl Into<Cell>) -> Column {
        Column { head: head.into(), form: Form::Text }
    }

    /// Creates a column of texts of several words.
    pub fn long(head: impl Into<Cell>) -> Column {
        Column { head: head.into(), form: Form::Long }
    }

    /// Creates a column of numbers.
    pub fn number(head: impl Into<Cell>) -> Column {
        Column { head: head.into(), form: Form::Number }
    }

    /// Creates a column of shares with bars, of which the longest stands for `largest`.
    pub fn share(head: impl Into<Cell>, largest: f64) -> Column {
        Column { head: head.into(), form: Form::Share(largest) }
    }
}

impl Cell {
    /// Creates a share with three decimals.
    pub fn share(value: f64) -> Cell {
        Cell::Share(format!("{value:+.3}"), value)
    }

    fn to_text(&self) -> String {
        match self {
            Cell::Text(text) | Cell::Share(text, _) => printable(text).into_owned(),
            Cell::Strong(text) => format!("*{text}"),
            Cell::Words(words) => words.iter().map(Mark::to_text).collect::<Vec<_>>().join(" "),
        }
    }

    fn to_markup(&self) -> Markup {
        html! {
            @match self {
                Cell::Text(text) | Cell::Share(text, _) => (text),
                Cell::Strong(text) => b { (text) },
                Cell::Words(words) => @for (position, word) in words.iter().enumerate() { @if position > 0 { " " } (word.to_markup()) },
            }
        }
    }
}

impl Mark {
    /// Creates a word without marks.
    pub fn plain(word: &str) -> Mark {
        Mark { word: word.to_owned(), stands_for: None, is_keyword: false, is_unknown: false }
    }

    fn to_text(&self) -> String {
        let word = printable(&self.word);
        let word = if self.is_keyword { format!("*{word}*") } else { word.into_owned() };
        if self.is_unknown { format!("{word} (unknown)") } else { word }
    }

    fn to_markup(&self) -> Markup {
        let stands_for = self.stands_for.as_deref();
        html! {
            @if self.is_keyword { b.key title=[stands_for] { (self.word) } }
            @else if self.is_unknown { s title="unknown to the model" { (self.word) } }
            @else if stands_for.is_some() { span title=[stands_for] { (self.word) } }
            @else { (self.word) }
        }
    }
}

impl Table {
    /// Creates a table without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Table {
        Table { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn add(&mut self, row: impl IntoIterator<Item = Cell>) {
        self.rows.push(row.into_iter().collect());
    }

    /// Returns whether any column has a head.
    fn has_head(&self) -> bool {
        self.columns.iter().any(|column| !matches!(&column.head, Cell::Text(head) if head.is_empty()))
    }

    /// Returns the table as aligned text with a line under the heads. It neither wraps nor colours, so a pipe gets the same as a
    /// terminal.
    pub fn to_text(&self) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(TableStyle::new().header_separator(LineStyle::none().fill('─')));
        table.set_content_arrangement(ContentArrangement::Disabled);
        let cells = |row: &mut dyn Iterator<Item = &Cell>| -> Vec<TextCell> {
            let mut cells = Vec::new();
            for (column, cell) in self.columns.iter().zip(row) {
                let is_text = matches!(column.form, Form::Text | Form::Long);
                let alignment = if is_text { CellAlignment::Left } else { CellAlignment::Right };
                cells.push(TextCell::new(cell.to_text()).set_alignment(alignment));
                if let Form::Share(largest) = column.form {
                    let bar = if let Cell::Share(_, value) = cell { bar(*value, largest) } else { String::new() };
                    cells.push(TextCell::new(bar));
                }
            }
            cells
        };
        if self.has_head() {
            table.set_header(cells(&mut self.columns.iter().map(|column| &column.head)));
        }
        for row in &self.rows {
            table.add_row(cells(&mut row.iter()));
        }
        if let Some(first) = table.column_mut(0) {
            first.set_padding((0, 1));
        }
        table.trim_fmt()
    }

    /// Returns the table for a page.
    pub fn to_markup(&self) -> Markup {
        let is_number = |form: Form| matches!(form, Form::Number | Form::Share(_));
        html! {
            div.wide {
                table {
                    @if self.has_head() {
                        thead { tr {
                            @for column in &self.columns {
                                th.n[is_number(column.form)] { (column.head.to_markup()) }
                                @if let Form::Share(_) = column.form { th.share {} }
                            }
                        } }
                    }
                    tbody {
                        @for row in &self.rows {
                            tr {
                                @for (column, cell) in self.columns.iter().zip(row) {
                                    td.n[is_number(column.form)].long[column.form == Form::Long] { (cell.to_markup()) }
                                    @if let Form::Share(largest) = column.form {
                                        td.share { @if let Cell::Share(_, value) = cell { (page_bar(*value, largest)) } }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

impl Report {
    /// Adds a heading of this level.
    pub fn heading(&mut self, level: u8, text: impl Into<String>) {
        self.blocks.push(Block::Heading(level, text.into()));
    }

    /// Adds a text with a label; `(empty)` stands for a text without visible characters.
    pub fn line(&mut self, label: &'static str, text: &str) {
        self.blocks.push(Block::Line(label, visible(text)));
    }

    /// Adds a line that begins a part, as [`Report::line`].
    pub fn subject(&mut self, label: &'static str, text: &str) {
        self.blocks.push(Block::Subject(label, visible(text)));
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Paragraph(text.into()));
    }

    /// Adds a remark about what is shown above.
    pub fn note(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Note(text.into()));
    }

    /// Adds a table, unless it has no rows.
    pub fn table(&mut self, table: Table) {
        if !table.rows.is_empty() {
            self.blocks.push(Block::Table(table));
        }
    }

    /// Adds what only a page can show.
    pub fn picture(&mut self, picture: Markup) {
        self.blocks.push(Block::Picture(picture));
    }

    /// Returns whether there is anything that only a page can show.
    pub fn has_picture(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::Picture(_)))
    }

    /// Returns the report for a terminal.
    pub fn to_text(&self) -> String {
        let width = |block: &Block| match block {
            Block::Line(label, _) | Block::Subject(label, _) if !label.is_empty() => label.len() + LABEL_GAP,
            _ => 0,
        };
        let width = self.blocks.iter().map(width).max().unwrap_or(0);
        let mut text = String::new();
        let mut before: Option<&Block> = None;
        for block in &self.blocks {
            let shown = match block {
                Block::Heading(_, heading) => printable(heading).into_owned(),
                Block::Line(label, line) | Block::Subject(label, line) => {
                    format!("{label:width$}{}", printable(line))
                }
                Block::Paragraph(lines) | Block::Note(lines) => {
                    lines.split('\n').map(printable).collect::<Vec<_>>().join("\n")
                }
                Block::Table(table) => table.to_text(),
                Block::Picture(_) => continue,
            };
            let has_gap = match (block, before) {
                (_, None) => false,
                (Block::Paragraph(_), Some(before)) => matches!(before, Block::Table(_) | Block::Note(_)),
                (Block::Line(..), Some(before)) => matches!(before, Block::Table(_)),
                (Block::Note(_), Some(before)) => !matches!(before, Block::Note(_) | Block::Table(_)),
                _ => true,
            };
            text.extend([if has_gap { "\n" } else { "" }, &shown, "\n"]);
            before = Some(block);
        }
        text
    }

    /// Returns the report as the contents of a page.
    pub fn to_markup(&self) -> Markup {
        html! {
            @for block in &self.blocks {
                @match block {
                    Block::Heading(2, text) | Block::Subject(_, text) => h2.text { (text) },
                    Block::Heading(_, text) => h3 { (text) },
                    Block::Line(label, text) => p.pair { span.soft { (label) } span.text { (text) } },
                    Block::Paragraph(text) => p { @for line in text.lines() { (line) br; } },
                    Block::Note(text) => p.note { @for line in text.lines() { (line) br; } },
                    Block::Table(table) => (table.to_markup()),
                    Block::Picture(picture) => (picture),
                }
            }
        }
    }
}

/// Returns a text, or `(empty)` for one without visible characters.
fn visible(text: &str) -> String {
    if text.trim().is_empty() { "(empty)".to_owned() } else { text.to_owned() }
}

/// Returns a share as a bar: dark if positive, light if negative.
fn bar(share: f64, largest: f64) -> String {
    let length = if largest > 0.0 { (share.abs() / largest * BAR).round() as usize } else { 0 };
    if share < 0.0 { "░" } else { "█" }.repeat(length)
}

/// Returns a share as a bar of a page: filled if positive, hollow if negative.
fn page_bar(share: f64, largest: f64) -> Markup {
    let length = if largest > 0.0 { (share.abs() / largest * 1000.0).round() / 1000.0 } else { 0.0 };
    html! { @if length > 0.0 { span.bar.minus[share < 0.0] style={ "--length:" (length) } {} } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_one_for_text_and_page() {
        let mut report = Report::default();
        report.line("query", " ");
        let mut table = Table::new([Column::text("word"), Column::number("n"), Column::share("along", 0.5)]);
        let mark = Mark { is_keyword: true, ..Mark::plain("<b>\u{1b}") };
        table.add([mark.into(), Cell::Strong("7".to_owned()), Cell::share(-0.25)]);
        report.table(table);
        report.note("that is all");
        report.picture(html! { svg {} });
        let lines = [
            "query  (empty)",
            "",
            "word   n   along",
            "──────────────────────────",
            "*<b>\u{fffd}*  *7  -0.250  ░░░░░░",
        ];
        let text = report.to_text();
        let shown: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        let expected: Vec<String> =
            lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(shown[..3], expected[..3], "{text}");
        assert_eq!((&shown[4], &shown[5][..]), (&expected[4], "that is all"), "{text}");
        let page = report.to_markup().into_string();
        for part in ["<b class=\"key\">&lt;b&gt;", "<b>7</b>", "class=\"bar minus\"", "<svg></svg>"] {
            assert!(page.contains(part), "no `{part}` in {page}");
        }
    }
}
