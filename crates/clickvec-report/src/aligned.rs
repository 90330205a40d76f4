//! Aligned tables with a line under the headings, and nothing else.

use std::ops::Range;

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

/// Returns an empty table. It neither wraps nor colours, so a pipe gets the same as a terminal.
pub fn plain() -> Table {
    let mut table = Table::new();
    table.load_style(TableStyle::new().header_separator(LineStyle::none().fill('─')));
    table.set_content_arrangement(ContentArrangement::Disabled);
    table
}

/// Aligns columns of numbers to the right.
pub fn align_right(table: &mut Table, columns: Range<usize>) {
    for number in columns {
        if let Some(column) = table.column_mut(number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// Returns the table as text, without trailing spaces.
pub fn show(table: &mut Table) -> String {
    if let Some(first) = table.column_mut(0) {
        first.set_padding((0, 1));
    }
    table.trim_fmt()
}
